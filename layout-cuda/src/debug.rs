//! Debuggers: what is handed the run of each launch on the simulator, to step through it forward and back.
//!
//! A front end is a [`Debugger`]; `layout-debugger` has two, for a terminal and for editors. Law: where none is attached a launch is
//! run as without this module; with one, its results and its report are the same, under the schedule [`Options::seed`](crate::Options::seed).
//!
//! ```
//! use layout_cuda::debug::{Debugger, Launch, Session, attach};
//! use layout_cuda::{Device, tiled_kernel};
//!
//! #[tiled_kernel(block = [32], grid = [1])]
//! fn squares(x: &mut LayoutTensor<i32, RowMajor<32>>) {
//!     let i = thread_idx.x;
//!     let square = (i * i) as i32;
//!     x[[i]] = square;
//! }
//!
//! struct Last;
//! impl Debugger for Last {
//!     fn launched(&mut self, _: &Launch<'_>, session: &mut Session<'_>) {
//!         session.go(session.steps() - 1);
//!         let variables = session.moment().variables(0, 5);
//!         assert!(variables.iter().any(|(name, value)| name == "square" && value.number() == 25.0));
//!     }
//! }
//!
//! let attached = attach(Last);
//! let device = Device::simulator();
//! let mut x = device.zeros::<i32, 1>([32])?;
//! squares::launch(&device.stream(), &mut x)?;
//! drop(attached);
//! assert_eq!(x.download()?[5], 25);
//! # Ok::<(), layout_cuda::Error>(())
//! ```

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;

pub use layout_simulator::{
    Access, Arrow, Barrier, Copying, Moment, PauseAt, Session, Span, Status, Tensor, TensorSpace, Timeline,
    Track, Value, WarpState,
};

use layout_compiler::bind::Bound;
use layout_compiler::check::Checked;
use layout_simulator::{Options, Report, SimulateError, SimulatorArgument};

/// A launch that was recorded.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Launch<'a> {
    /// The kernel.
    pub kernel: &'a str,
    /// The Rust file that the session's lines are of.
    pub file: &'a str,
}

/// A front end of a debugger: see [the module](self).
pub trait Debugger {
    /// A launch has run. When this returns, its results are written and the program goes on.
    fn launched(&mut self, launch: &Launch<'_>, session: &mut Session<'_>);
}

thread_local! {
    static ATTACHED: RefCell<Vec<Box<dyn Debugger>>> = const { RefCell::new(Vec::new()) };
}

/// A debugger that is attached as long as this is there.
#[must_use = "the debugger is detached where this is dropped"]
pub struct Attached(PhantomData<*const ()>);

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Attached")
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // A thread that ends has no debuggers to detach.
        let _ = ATTACHED.try_with(|all| all.borrow_mut().pop());
    }
}

/// Attaches a debugger to the launches of this thread on the simulator; the last one attached gets them.
pub fn attach(debugger: impl Debugger + 'static) -> Attached {
    ATTACHED.with(|all| all.borrow_mut().push(Box::new(debugger)));
    Attached(PhantomData)
}

/// Runs a launch on the simulator, in the debugger where one is attached.
pub(crate) fn simulate(
    launch: &Launch<'_>,
    checked: &Checked,
    bound: &Bound,
    arguments: &mut [SimulatorArgument<'_>],
    options: &Options,
) -> Result<Report, SimulateError> {
    // Taken out: what the debugger launches itself is not debugged.
    let all = ATTACHED.take();
    if all.is_empty() {
        return layout_simulator::simulate(checked, bound, arguments, options);
    }
    let mut all = all;
    let report = layout_simulator::debug(checked, bound, arguments, options, &mut |session| {
        if let Some(debugger) = all.last_mut() {
            debugger.launched(launch, session);
        }
    });
    ATTACHED.set(all);
    report
}
