//! Memory and clocks: bytes, addresses, and what happened before what.
//!
//! Law: nothing here knows actors. A clock says what a thread knows of others' work; a fence says what the asynchronous
//! proxy sees.

pub(super) mod bytes;
pub(super) mod fences;
pub(super) mod lane_clocks;
pub(super) mod reads;
pub(super) mod releases;
pub(super) mod tensor_map;
pub(super) mod vector_clock;
pub(super) mod warp_clock;
