//! Every word of the kernel language, by purpose.
//!
//! Law: a test of the compiler makes this page from its tables, so no word is missing and none is described
//! wrongly.
#![doc = ""]
#![doc = include_str!("vocabulary.md")]
