//! The macro as a function of tokens.
