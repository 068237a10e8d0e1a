//! A warp: a program counter and a mask over registers of 32 lanes. It stops at a barrier and can be resumed.
//!
//! Invariant: `active` is a subset of `live`; `gone` holds the lanes that left the current round of the innermost loop.

use crate::bytecode::{AXES, Bank, FULL, LANES, Program, Sum};
use crate::memory::releases::LaneFences;
use layout_compiler::program::Participants;

/// What a structured statement restores when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// An `if`: the lanes before it, and those for `else`.
    If { outer: u32, other: u32 },
    /// A loop: the lanes before it, and the enclosing loop's state.
    Loop { outer: u32, round: u32, gone: u32, broken: u32 },
}

/// Whether a warp can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It can.
    Ready,
    /// It waits at a barrier.
    Waiting(Participants, u32),
    /// It waits for a phase of an mbarrier.
    Phase {
        /// Its number.
        barrier: u32,
        /// The parity of the phase.
        parity: i64,
        /// Where.
        site: u32,
    },
    /// It waits at a named barrier.
    Named {
        /// Its number.
        barrier: i64,
        /// How many threads meet there.
        threads: u32,
        /// Where.
        site: u32,
    },
    /// It waits for products: until every warp of the warpgroup has issued this many groups.
    Products {
        /// Groups.
        groups: u32,
        /// Where.
        site: u32,
    },
    /// It waits for registers.
    Registers {
        /// How many for each thread.
        registers: u32,
        /// Where.
        site: u32,
    },
    /// It took too many steps.
    Exhausted(u32),
    /// It has ended.
    Ended,
}

/// An asynchronous copy in flight.
#[derive(Clone, Debug)]
pub(crate) struct PendingCopy {
    /// The lanes whose part has not landed.
    pub lanes: u32,
    /// The number of each lane's copy group.
    pub groups: [u32; LANES],
    /// Where it lands, bytes of shared memory.
    pub offsets: [u32; LANES],
    /// What lands.
    pub data: [[u8; 16]; LANES],
    /// How many bytes.
    pub bytes: u32,
    /// The site.
    pub site: u32,
    /// What it reads.
    pub source: CopySource,
}

/// What an asynchronous copy reads.
#[derive(Clone, Debug)]
pub(crate) struct CopySource {
    /// The tensor's argument.
    pub argument: u32,
    /// Each lane's first element.
    pub index: [i64; LANES],
    /// The lanes that read.
    pub active: u32,
    /// How many elements.
    pub width: u32,
}

/// A warp.
#[derive(Clone, Debug)]
pub(crate) struct Warp {
    /// Its number in the cluster.
    pub number: u32,
    /// The number of its block in the grid.
    pub block: u64,
    /// Where its block's shared memory begins, bytes.
    pub shared: u32,
    /// The next instruction.
    pub pc: usize,
    /// Whether it can go on.
    pub state: State,
    /// The lanes that are threads.
    pub live: u32,
    /// The lanes that run now.
    pub active: u32,
    /// Lanes that take part in the current round of the innermost loop.
    pub round: u32,
    /// Lanes that left the round.
    pub gone: u32,
    /// Lanes that left the loop.
    pub broken: u32,
    /// Enclosing statements.
    pub frames: Vec<Frame>,
    /// Instructions so far, as counted at jumps.
    pub steps: u64,
    /// Registers.
    pub f32: Vec<[f32; LANES]>,
    /// Registers.
    pub f64: Vec<[f64; LANES]>,
    /// Registers.
    pub int: Vec<[i64; LANES]>,
    /// Registers.
    pub mask: Vec<u32>,
    /// Registers.
    pub scalars: Vec<i64>,
    /// Copies in flight, the oldest first.
    pub pending: Vec<PendingCopy>,
    /// Copy groups that each lane has closed.
    pub committed: [u32; LANES],
    /// Groups of tensor stores that each lane has closed.
    pub bulk_committed: [u32; LANES],
    /// Accumulators of products in flight: group, first slot, how many.
    pub accumulators: Vec<(u32, u32, u32)>,
    /// What its lanes' fences hold.
    pub fences: LaneFences,
    /// Where it last read what others may write.
    pub wait_site: u32,
}

impl Warp {
    /// A warp of a block of these extents, before its first block.
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
            fences: LaneFences::default(),
            wait_site: 0,
        }
    }

    /// The start of a block: local arrays hold no value.
    pub(crate) fn start(&mut self, program: &Program, block: [u32; 3]) {
        self.pc = 0;
        self.state = State::Ready;
        self.active = self.live;
        (self.round, self.gone, self.broken, self.steps) = (self.live, 0, 0, 0);
        self.frames.clear();
        self.pending.clear();
        (self.committed, self.bulk_committed) = ([0; LANES], [0; LANES]);
        self.accumulators.clear();
        // What a wrong kernel reads of lanes that do not take part is the same whatever ran here before.
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

    /// A value that no computation is likely to give.
    pub(crate) fn poison(&mut self, bank: Bank, register: u32, lanes: u32) {
        let at = register as usize;
        match bank {
            Bank::F32 => put(&mut self.f32[at], &[f32::from_bits(u32::MAX); LANES], lanes),
            Bank::F64 => put(&mut self.f64[at], &[f64::from_bits(u64::MAX); LANES], lanes),
            Bank::Int => put(&mut self.int[at], &[-1; LANES], lanes),
            Bank::Mask => self.mask[at] |= lanes,
        }
    }

    /// The value of a sum that is equal in all lanes.
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

    /// The active lanes where a mask holds.
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
