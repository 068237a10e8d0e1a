//! The state of execution as plain records: warps, mbarriers, copies in flight, the schedule.
//!
//! Law: a record has no access to the machine. `actors` and `schedule` change the records.

pub(super) mod cluster;
pub(super) mod endless_loop;
pub(super) mod lanes;
pub(super) mod mbarrier;
pub(super) mod policy;
pub(super) mod proxy;
pub(super) mod tensor_memory;
pub(super) mod warp;
pub(super) mod watch;
