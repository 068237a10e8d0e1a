//! The matrix units' instructions as data, each operand a thread-value layout: products ([`MmaAtom`]) with the scales of
//! their blocks ([`MmaScales`]), and the copies between shared memory and the registers that they work on ([`MatrixCopy`]).
//!
//! Law: an operand's layout takes (thread, value) to an index in its tile; it meets each element of the tile.

mod matrix_copy;
mod mma;
mod scales;

pub use matrix_copy::MatrixCopy;
pub use mma::MmaAtom;
pub use scales::MmaScales;
