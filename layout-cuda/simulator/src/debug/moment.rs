//! The state in front of a step, to be read: warps, mbarriers, copies in flight, tensors.

use crate::bytecode::LANES;
use crate::machine::Machine;
use crate::state::warp::{State, Warp};
use layout_compiler::bind::Bound;
use layout_compiler::check::Checked;
use layout_compiler::elem::Elem;
use layout_core::Swizzle;

/// A moment of a run: the state in front of a step. Warps are numbered in their cluster.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// # use layout_cuda::debug::{Debugger, Launch, PauseAt, Session, attach};
/// #[tiled_kernel(block = [64], grid = [1])]
/// fn reverse(x: &mut LayoutTensor<i32, RowMajor<64>>) {
///     let mut held = shared::<i32>(row_major([64]));
///     let t = thread_idx.x;
///     held[[t]] = x[[t]];
///     barrier();
///     x[[t]] = held[[63 - t]];
/// }
/// struct Looks;
/// impl Debugger for Looks {
///     fn launched(&mut self, _: &Launch<'_>, session: &mut Session<'_>) {
///         session.go(session.steps());
///         let moment = session.moment();
///         assert_eq!(moment.row(1, "t").map(|row| row[3].number()), Some(35.0));
///         assert_eq!(moment.variables(1, 3)[0].0, "thread_idx.x");
///         assert_eq!((moment.warps().len(), moment.barriers().len(), moment.copies().len()), (2, 0, 0));
///     }
/// }
/// let attached = attach(Looks);
/// let device = Device::simulator();
/// reverse::launch(&device.stream(), &mut device.zeros::<i32, 1>([64])?)?;
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Moment<'s> {
    pub(super) machine: &'s Machine<'s>,
    pub(super) checked: &'s Checked,
    pub(super) bound: &'s Bound,
    /// For each argument its value, if it is an index.
    pub(super) indices: &'s [Option<i64>],
    pub(super) at: Option<u32>,
}

impl std::fmt::Debug for Moment<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Moment").field("warp", &self.at).field("warps", &self.warps()).finish_non_exhaustive()
    }
}

/// Whether a warp can run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// It can.
    Ready,
    /// It waits, for what the words say.
    Waiting(String),
    /// It took more steps than [`crate::Options::max_steps`], or its loop is endless.
    Exhausted,
    /// It has ended.
    Ended,
}

/// A warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarpState {
    /// Its number in the cluster.
    pub number: u32,
    /// The number of its block in the grid.
    pub block: u64,
    /// `block_idx`
    pub block_idx: [u32; 3],
    /// The number in its block.
    pub inside: u32,
    /// The line of its next statement, or of its wait.
    pub line: u32,
    /// The lanes that execute the statement.
    pub active: u32,
    /// The lanes that are threads.
    pub live: u32,
    /// Whether it can run.
    pub status: Status,
    /// Copies by `cp.async` in flight, each with its line and its bytes.
    pub copies: Vec<(u32, u32)>,
}

/// An mbarrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// Its array's name.
    pub name: String,
    /// Its number in the array.
    pub index: u32,
    /// The rank of its block in the cluster.
    pub rank: u32,
    /// The number of the phase, from 0.
    pub phase: u32,
    /// Arrivals that complete a phase; 0 before the initialisation.
    pub arrivals: u32,
    /// Arrivals that the phase lacks.
    pub pending: u32,
    /// Bytes that the phase expects and no copy has brought; negative where copies brought more.
    pub bytes: i64,
    /// The warps that wait for it.
    pub waiting: Vec<u32>,
}

/// An asynchronous copy in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copying {
    /// The operation, in words.
    pub what: &'static str,
    /// The warp and the lane that issued it.
    pub thread: (u32, u32),
    /// The line.
    pub line: u32,
    /// Its bytes.
    pub bytes: u64,
    /// The mbarrier that it signals, by its position in [`Moment::barriers`], and the phase.
    pub barrier: Option<(usize, u32)>,
}

/// The memory of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TensorSpace {
    /// A tensor argument, by number.
    Global(u32),
    /// The byte of the cluster's shared memory at which it begins.
    Shared(u32),
    /// The first register of a lane.
    Registers(u32),
}

/// A view: a layout over memory.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// # use layout_cuda::debug::{Debugger, Launch, PauseAt, Session, attach};
/// #[tiled_kernel(block = [64], grid = [1])]
/// fn reverse(x: &mut LayoutTensor<i32, RowMajor<64>>) {
///     let mut held = shared::<i32>(row_major([64]));
///     let t = thread_idx.x;
///     held[[t]] = x[[t]];
///     barrier();
///     x[[t]] = held[[63 - t]];
/// }
/// struct Looks;
/// impl Debugger for Looks {
///     fn launched(&mut self, _: &Launch<'_>, session: &mut Session<'_>) {
///         session.go(session.steps());
///         let tensors = session.moment().tensors(0, 0);
///         let held = tensors.iter().find(|tensor| tensor.name == "held").expect("the tile");
///         assert_eq!((held.modes.as_slice(), held.element(&[5])), (&[(64, 1)][..], Some(5)));
///         assert_eq!(session.moment().element(held, 0, &[5]).map(|value| value.number()), Some(0.0));
///         let written = session.writers(held, 5, 5)[&5];
///         assert_eq!((written.warp, written.lane), (0, Some(5)));
///     }
/// }
/// let attached = attach(Looks);
/// let device = Device::simulator();
/// reverse::launch(&device.stream(), &mut device.zeros::<i32, 1>([64])?)?;
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The user's name.
    pub name: String,
    /// The type of its elements.
    pub elem: Elem,
    /// The memory.
    pub space: TensorSpace,
    /// The element of the memory at the first coordinate.
    pub offset: i64,
    /// Extent and stride, in elements, of each mode.
    pub modes: Vec<(i64, i64)>,
    /// Over the element offsets.
    pub swizzle: Option<Swizzle>,
    /// The lane whose view it is.
    pub lane: u32,
}

impl Tensor {
    /// The element of the memory at these coordinates.
    pub fn element(&self, coordinates: &[i64]) -> Option<i64> {
        let mut at = self.offset;
        for (coordinate, (_, stride)) in coordinates.iter().zip(&self.modes) {
            at = at.checked_add(coordinate.checked_mul(*stride)?)?;
        }
        Some(self.swizzle.map_or(at, |swizzle| swizzle.apply(at)))
    }
}

impl Moment<'_> {
    /// The warp whose statement is next; `None` at the end of the run.
    pub fn warp(&self) -> Option<u32> {
        self.at
    }

    pub(super) fn warp_record(&self, number: u32) -> Option<&Warp> {
        self.machine.warps.get(number as usize)
    }

    /// The line of a warp's next statement, or of its wait.
    pub(super) fn line_of(&self, warp: &Warp) -> u32 {
        let program = self.machine.launch.program;
        let site = match warp.state {
            State::Ready | State::Ended => {
                // A warp that has ended is behind its last instruction.
                return program.lines.get(warp.pc).or(program.lines.last()).copied().unwrap_or(0);
            }
            State::Waiting(_, site)
            | State::Phase { site, .. }
            | State::Named { site, .. }
            | State::Products { site, .. }
            | State::Registers { site, .. }
            | State::Exhausted(site) => site,
        };
        program.sites.get(site as usize).map_or(0, |site| site.line)
    }

    /// Whether a warp can run.
    pub fn is_ready(&self, warp: u32) -> bool {
        self.warp_record(warp).is_some_and(|warp| warp.state == State::Ready)
    }

    /// The line of a warp's next statement, or of its wait; 0 where there is no such warp.
    pub fn line(&self, warp: u32) -> u32 {
        self.warp_record(warp).map_or(0, |warp| self.line_of(warp))
    }

    /// The lanes that execute a warp's next statement.
    pub fn active(&self, warp: u32) -> u32 {
        self.warp_record(warp).map_or(0, |warp| warp.active)
    }

    /// The number of a warp's block in the grid.
    pub fn block(&self, warp: u32) -> u64 {
        self.warp_record(warp).map_or(0, |warp| warp.block)
    }

    /// The warps of the cluster that runs.
    pub fn warps(&self) -> Vec<WarpState> {
        let machine = self.machine;
        let state = |(number, warp): (usize, &Warp)| WarpState {
            number: number as u32,
            block: warp.block,
            block_idx: machine.clocks.blocks.get(machine.rank(number)).map_or([0; 3], |block| block.index),
            inside: machine.inside(number) as u32,
            line: self.line_of(warp),
            active: warp.active,
            live: warp.live,
            status: match warp.state {
                State::Ready => Status::Ready,
                State::Exhausted(_) => Status::Exhausted,
                State::Ended => Status::Ended,
                waiting => {
                    let same = machine.warps.iter().enumerate().filter(|(_, other)| other.state == waiting);
                    let same: Vec<usize> = same.map(|(number, _)| number).collect();
                    Status::Waiting(machine.waits_for(waiting, &same))
                }
            },
            copies: {
                let site = |site: u32| &machine.launch.program.sites[site as usize];
                let copies = warp.pending.iter().filter(|copy| copy.lanes != 0);
                copies.map(|copy| (site(copy.site).line, copy.bytes * copy.lanes.count_ones())).collect()
            },
        };
        machine.warps.iter().enumerate().map(state).collect()
    }

    /// The mbarriers of the cluster that runs, block after block.
    pub fn barriers(&self) -> Vec<Barrier> {
        let program = self.machine.launch.program;
        let names = &program.async_ops.barrier_names;
        let each = names.len().max(1);
        let barrier = |(number, known): (usize, &crate::state::mbarrier::Mbarrier)| {
            let (place, index) = names.get(number % each).copied().unwrap_or_default();
            let waits = |warp: &&Warp| matches!(warp.state, State::Phase { barrier, .. } if barrier as usize == number);
            Barrier {
                name: program.names.get(place as usize).cloned().unwrap_or_default(),
                index,
                rank: (number / each) as u32,
                phase: known.phase,
                arrivals: known.arrivals,
                pending: known.pending,
                bytes: known.expected - known.landed,
                waiting: self.machine.warps.iter().filter(waits).map(|warp| warp.number).collect(),
            }
        };
        self.machine.proxy.barriers.iter().enumerate().map(barrier).collect()
    }

    /// The asynchronous copies of TMA in flight; those of `cp.async` are with their warps.
    pub fn copies(&self) -> Vec<Copying> {
        let program = self.machine.launch.program;
        let line = |site: u32| program.sites.get(site as usize).map_or(0, |site| site.line);
        let proxy = &self.machine.proxy;
        let loads = proxy.pending_loads.iter().map(|load| Copying {
            what: load.what,
            thread: (load.thread / LANES as u32, load.thread % LANES as u32),
            line: line(load.site),
            bytes: load.bytes,
            barrier: load.barrier,
        });
        let stores = proxy.pending_stores.iter().map(|store| Copying {
            what: "a tensor store",
            thread: store.by,
            line: line(store.sites.0),
            bytes: program.async_ops.boxes.get(store.plan as usize).map_or(0, |plan| plan.bytes()),
            barrier: None,
        });
        loads.chain(stores).collect()
    }
}
