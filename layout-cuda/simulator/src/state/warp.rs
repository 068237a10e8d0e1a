//! A warp: a program counter and a mask over registers of 32 lanes. It stops at a barrier and can be resumed.
//!
//! Invariant: `active` is a subset of `live`; `gone` holds the lanes that left the current round of the innermost loop.

use crate::bytecode::{AXES, Bank, FULL, LANES, Program, Sum};
use crate::memory::releases::LaneFences;
use layout_compiler::program::Participants;

/// The lane masks that a structured statement restores at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// The lanes before the `if`, and those of `else`.
    If { outer: u32, other: u32 },
    /// The lanes before the loop, and the state of the enclosing loop.
    Loop { outer: u32, round: u32, gone: u32, broken: u32 },
}

/// Whether a warp is ready, and what it waits for otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    /// At a barrier.
    Waiting(Participants, u32),
    /// For a phase of an mbarrier.
    Phase {
        barrier: u32,
        parity: i64,
        site: u32,
    },
    /// At a named barrier.
    Named {
        barrier: i64,
        /// Threads that complete the barrier.
        threads: u32,
        site: u32,
    },
    /// Until every warp of the warpgroup has committed this many groups.
    Products {
        groups: u32,
        site: u32,
    },
    /// For registers of other warps.
    Registers {
        /// Per thread.
        registers: u32,
        site: u32,
    },
    /// It exceeded the step limit, or its loop is endless.
    Exhausted(u32),
    Ended,
}

/// A `cp.async` of a warp in flight.
#[derive(Clone, Debug)]
pub(crate) struct PendingCopy {
    /// The lanes whose copy is incomplete.
    pub lanes: u32,
    /// The copy group of each lane.
    pub groups: [u32; LANES],
    /// The destination of each lane, in bytes of shared memory.
    pub offsets: [u32; LANES],
    pub data: [[u8; 16]; LANES],
    pub bytes: u32,
    pub site: u32,
    pub source: CopySource,
}

/// The source of a `cp.async`.
#[derive(Clone, Debug)]
pub(crate) struct CopySource {
    pub argument: u32,
    /// The first element of each lane.
    pub index: [i64; LANES],
    /// The lanes that read.
    pub active: u32,
    /// Elements of a lane.
    pub width: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Warp {
    /// Its number in the cluster.
    pub number: u32,
    /// The number of its block in the grid.
    pub block: u64,
    /// The byte at which its block's shared memory begins.
    pub shared: u32,
    pub pc: usize,
    pub state: State,
    /// The lanes that are threads.
    pub live: u32,
    pub active: u32,
    /// Lanes that take part in the current iteration of the innermost loop.
    pub round: u32,
    /// Lanes that left the iteration.
    pub gone: u32,
    /// Lanes that left the loop.
    pub broken: u32,
    pub frames: Vec<Frame>,
    /// Executed instructions, counted at jumps.
    pub steps: u64,
    pub f32: Vec<[f32; LANES]>,
    pub f64: Vec<[f64; LANES]>,
    pub int: Vec<[i64; LANES]>,
    pub mask: Vec<u32>,
    pub scalars: Vec<i64>,
    /// The oldest first.
    pub pending: Vec<PendingCopy>,
    /// Committed copy groups of each lane.
    pub committed: [u32; LANES],
    /// Committed bulk groups of each lane.
    pub bulk_committed: [u32; LANES],
    /// Accumulators of wgmmas in flight: group, first slot, number of slots.
    pub accumulators: Vec<(u32, u32, u32)>,
    /// Registers of loads of tensor memory in flight: first slot, number of slots.
    pub tensor_loads: Vec<(u32, u32)>,
    pub fences: LaneFences,
    /// The site of its last atomic operation with a result.
    pub wait_site: u32,
}

impl Warp {
    pub(crate) fn new(program: &Program, number: u32, block: [u32; 3]) -> Warp {
        let threads = block.iter().product::<u32>();
        let mine = threads.saturating_sub(number * LANES as u32).min(LANES as u32);
        let live = if mine == 32 { FULL } else { (1 << mine) - 1 };
        let mut int = vec![[0; LANES]; program.int as usize];
        for (axis, register) in int.iter_mut().take(AXES as usize).enumerate() {
            *register = std::array::from_fn(|lane| {
                let thread = u64::from(number) * LANES as u64 + lane as u64;
                i64::from(coordinates(thread, block)[axis])
            });
        }
        Warp {
            number,
            block: 0,
            shared: 0,
            pc: 0,
            state: State::Ended,
            live,
            active: 0,
            round: 0,
            gone: 0,
            broken: 0,
            frames: Vec::new(),
            steps: 0,
            f32: vec![[0.0; LANES]; program.f32 as usize],
            f64: vec![[0.0; LANES]; program.f64 as usize],
            int,
            mask: vec![0; program.mask as usize],
            scalars: vec![0; program.scalars as usize],
            pending: Vec::new(),
            committed: [0; LANES],
            bulk_committed: [0; LANES],
            accumulators: Vec::new(),
            tensor_loads: Vec::new(),
            fences: LaneFences::default(),
            wait_site: 0,
        }
    }

    pub(crate) fn start(&mut self, program: &Program, block: [u32; 3]) {
        self.pc = 0;
        self.state = State::Ready;
        self.active = self.live;
        (self.round, self.gone, self.broken, self.steps) = (self.live, 0, 0, 0);
        self.frames.clear();
        self.pending.clear();
        (self.committed, self.bulk_committed) = ([0; LANES], [0; LANES]);
        self.accumulators.clear();
        self.tensor_loads.clear();
        // Inactive lanes of a wrong kernel read the same values whatever ran here before.
        self.f32.fill([0.0; LANES]);
        self.f64.fill([0.0; LANES]);
        self.int.iter_mut().skip(AXES as usize).for_each(|register| *register = [0; LANES]);
        self.mask.fill(0);
        self.scalars.fill(0);
        for (scalar, at) in self.scalars.iter_mut().zip(block) {
            *scalar = i64::from(at);
        }
        for (bank, first, count) in &program.arrays {
            for register in *first..first + count {
                self.poison(*bank, register, FULL);
            }
        }
    }

    /// Writes a value that a computation is unlikely to give.
    pub(crate) fn poison(&mut self, bank: Bank, register: u32, lanes: u32) {
        let at = register as usize;
        match bank {
            Bank::F32 => put(&mut self.f32[at], &[f32::from_bits(u32::MAX); LANES], lanes),
            Bank::F64 => put(&mut self.f64[at], &[f64::from_bits(u64::MAX); LANES], lanes),
            Bank::Int => put(&mut self.int[at], &[-1; LANES], lanes),
            Bank::Mask => self.mask[at] |= lanes,
        }
    }

    /// Bytes of its registers.
    pub(crate) fn bytes(&self) -> usize {
        LANES * (4 * self.f32.len() + 8 * (self.f64.len() + self.int.len()))
    }

    /// The value of a uniform sum.
    #[inline]
    pub(crate) fn uniform(&self, sum: Sum) -> i64 {
        sum.scalar.map_or(0, |scalar| self.scalars[scalar as usize]).wrapping_add(sum.constant)
    }

    /// The value of a sum in each lane.
    #[inline]
    pub(crate) fn lanes(&self, sum: Sum) -> [i64; LANES] {
        let base = self.uniform(sum);
        match sum.vector {
            None => [base; LANES],
            Some(register) => {
                let register = &self.int[register as usize];
                std::array::from_fn(|lane| register[lane].wrapping_add(base))
            }
        }
    }

    /// Writes the active lanes of a mask register.
    pub(crate) fn put_mask(&mut self, dst: u32, value: u32) {
        let register = &mut self.mask[dst as usize];
        *register = *register & !self.active | value & self.active;
    }

    /// The active lanes in which a mask holds.
    pub(crate) fn open(&self, mask: Option<u32>) -> u32 {
        mask.map_or(self.active, |mask| self.active & self.mask[mask as usize])
    }
}

/// Writes the given lanes.
#[inline]
pub(crate) fn put<T: Copy>(dst: &mut [T; LANES], value: &[T; LANES], lanes: u32) {
    if lanes == FULL {
        *dst = *value;
    } else {
        for lane in 0..LANES {
            dst[lane] = if lanes >> lane & 1 != 0 { value[lane] } else { dst[lane] };
        }
    }
}

/// The coordinates of a number in a box of these extents, the first fastest.
pub(crate) fn coordinates(number: u64, extents: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = extents.map(|extent| u64::from(extent.max(1)));
    [(number % x) as u32, (number / x % y) as u32, (number / x / y) as u32]
}

/// The lanes of a mask.
pub(crate) fn each_lane(mut lanes: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = (lanes != 0).then(|| lanes.trailing_zeros() as usize)?;
        lanes &= lanes - 1;
        Some(lane)
    })
}
