//! Judges: what is told of a launch beside what it computes.
//!
//! Law: a judge changes no value, no clock and no order. What it needs to know is kept here, and execution asks it nothing.

pub(super) mod arithmetic;
pub(super) mod coverage;
pub(super) mod updates;
pub(super) mod whole;
