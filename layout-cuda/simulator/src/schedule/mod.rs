//! The scheduler: which cluster, warp or asynchronous work goes on next; and who waits for what when nobody can.
//!
//! Law: whoever can go on does so eventually, in every schedule. A schedule is a number, and repeats exactly.

mod deadlock;
pub(super) mod difference;
pub(super) mod residents;
mod run;
mod wake;
