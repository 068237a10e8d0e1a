//! A debugger of tiled kernels without a GPU: over the simulator, whose runs are repeatable, so that it goes back as well as forward.
//!
//! ```
//! use layout_cuda::{Device, tiled_kernel};
//! use layout_debugger::{Terminal, attach};
//!
//! #[tiled_kernel(block = [32], grid = [1])]
//! fn squares(x: &mut LayoutTensor<i32, RowMajor<32>>) {
//!     let i = thread_idx.x;
//!     x[[i]] = (i * i) as i32;
//! }
//!
//! let commands = "w 0 5\np i\ns\nbs\nq\n"; // in a test of your own: `Terminal::stdio()`
//! let attached = attach(Terminal::new(commands.as_bytes(), std::io::stdout()));
//! let device = Device::simulator();
//! let mut x = device.zeros::<i32, 1>([32])?;
//! squares::launch(&device.stream(), &mut x)?;
//! drop(attached);
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | `engine.rs` | breakpoints, the chosen lane, moves |
//! | `condition.rs` | conditions of breakpoints |
//! | `draw.rs` | tensors as text |
//! | `terminal.rs` | commands, line by line |
//! | `adapter.rs`, `wire.rs` | the Debug Adapter Protocol, for editors |
#![forbid(unsafe_code)]
#![deny(unreachable_pub)]

mod adapter;
mod condition;
mod draw;
mod engine;
mod terminal;
mod wire;

pub use adapter::Adapter;
pub use condition::{Condition, ConditionError};
pub use engine::{Breakpoint, Engine, Focus, Move, Stop};
pub use layout_cuda::debug::attach;
pub use terminal::Terminal;
