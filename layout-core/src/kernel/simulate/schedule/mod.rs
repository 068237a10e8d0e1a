//! Who has the next turn: clusters, warps, asynchronous work; and who waits for what when nobody can go on.
//!
//! Law: whoever can go on does at last, by every schedule; a schedule is a number, and repeats itself.

pub(super) mod blocks;
mod run;
mod stuck;
pub(super) mod turns;
mod waits;
