//! Kernels as operations of candle's: on the CPU by the simulator, with the feature `cuda` on candle's own context, stream and
//! memory.
//!
//! An [`Operation`] says which launch its operands become; [`Launched`] makes it a `CustomOp1`, `2` or `3`. What is here is made so:
//! [`rms_norm`], [`rope`], [`linear`], [`linear_then`], [`attention`], and of
//! these a transformer's [`Block`].
//!
//! Law: no element is copied on the way in or out; operands are as candle has them, strides and offsets too. A launch is in the
//! order of candle's stream. What does not fit is an error, and nothing has run.

mod attention;
mod block;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod kernels;
mod launch;
mod norm;
mod operation;
mod product;
mod rope;

pub use attention::{Attention, attention};
pub use block::{Block, Sizes};
pub use norm::{RmsNorm, rms_norm};
pub use operation::{Call, Launched, Operand, Operation, Slot};
pub use product::{MatMul, MatMulThen, Then, linear, linear_then};
pub use rope::{Rope, rope};
