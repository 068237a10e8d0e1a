//! What programs share: the rows that the command `layout` answers.

pub mod rows;
