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
//! In a test that has `let _attached = layout_debugger::from_env()?;`, `LAYOUT_DEBUG=1 cargo test NAME -- --nocapture` opens the terminal, and
//! `LAYOUT_DEBUG=127.0.0.1:4711` waits for an editor whose `debugServer` is 4711. Both pass over launches in which nothing is found, unless
//! the variable begins with `all,`.
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

use layout_cuda::debug::Attached;

/// The variable that [`from_env`] reads.
const VARIABLE: &str = "LAYOUT_DEBUG";

/// Attaches the front end that `LAYOUT_DEBUG` names: `1`, a terminal, or an address at which an editor connects; `None` without it.
///
/// ```
/// let _attached = layout_debugger::from_env()?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Those of the address.
pub fn from_env() -> Result<Option<Attached>, std::io::Error> {
    let Ok(value) = std::env::var(VARIABLE) else { return Ok(None) };
    let (all, place) = value.strip_prefix("all,").map_or((false, value.as_str()), |place| (true, place));
    Ok(match (place, all) {
        ("" | "0", _) => None,
        ("1", true) => Some(attach(Terminal::stdio())),
        ("1", false) => Some(attach(Terminal::stdio().only_findings())),
        (address, true) => Some(attach(Adapter::listen(address)?)),
        (address, false) => Some(attach(Adapter::listen(address)?.only_findings())),
    })
}

pub use adapter::Adapter;
pub use condition::{Condition, ConditionError};
pub use engine::{Breakpoint, Engine, Focus, Move, Stop};
pub use layout_cuda::debug::attach;
pub use terminal::Terminal;
