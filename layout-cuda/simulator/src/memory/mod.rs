//! Memory and clocks: bytes, addresses, and what happened before what.
//!
//! Law: nothing here knows actors. A clock says what a thread knows of others' work; a fence says what the asynchronous
//! proxy sees.

pub(super) mod bytes;
pub(super) mod clock;
pub(super) mod fences;
pub(super) mod knowledge;
pub(super) mod reads;
pub(super) mod strands;
pub(super) mod tensor_map;
