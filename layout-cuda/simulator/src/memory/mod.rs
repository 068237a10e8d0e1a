//! Memory and clocks: bytes, addresses, and the happens-before relation.
//!
//! Law: this folder does not depend on actors. A thread's clock covers the work that happens-before its next step; a
//! proxy fence makes writes visible to the asynchronous proxy.

pub(super) mod bytes;
pub(super) mod fences;
pub(super) mod lane_clocks;
pub(super) mod reads;
pub(super) mod releases;
pub(super) mod tensor_map;
pub(super) mod vector_clock;
pub(super) mod warp_clock;
