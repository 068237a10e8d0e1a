//! The scheduler: which cluster, warp or asynchronous work goes on next; and who waits for what when nobody can.
//!
//! Law: whoever can go on does so eventually, in every schedule. A schedule is a number, and repeats exactly.

pub(super) mod blocks;
mod run;
mod stuck;
pub(super) mod turns;
mod waits;
