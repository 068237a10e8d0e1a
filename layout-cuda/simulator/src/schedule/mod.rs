//! The scheduler: which cluster, warp or asynchronous work runs next; and deadlocks.
//!
//! Law: every schedule is fair and reproducible from its number.

mod deadlock;
pub(super) mod difference;
pub(super) mod residents;
pub(super) mod run;
mod wake;
