//! The clocks of a warp's lanes. Converged lanes share one vector clock; diverged lanes are groups with equal clocks.
//!
//! ```text
//! if lane == 0 { full.wait(p) }     the clock of lane 0 advances: two groups
//! sync_warp()                       the clocks are joined: one group
//! ```
//! Law: an acquire, a wait or a release counts for the lane that does it. Work of another lane of the warp
//! happens-before a lane's next step if it precedes their last join: a barrier or `sync_warp`. After an exchange of
//! registers or votes, a release by one lane covers the earlier work of all lanes, and all lanes have the joined clock.
//! An exchange does not order the lanes' own accesses, since CUDA gives a shuffle no memory ordering (CUDA C++
//! Programming Guide, warp shuffle functions).

use super::vector_clock::VectorClock;
use crate::register::LANES;

#[derive(Clone, Debug, Default)]
pub(crate) struct LaneClocks {
    /// The number of the warp in its cluster.
    warp: usize,
    /// The lanes that are threads.
    live: u32,
    time: u32,
    /// The time of the last exchange.
    exchanged: u32,
    /// The common clock.
    all: VectorClock,
    /// Lanes whose clock is ahead of the common one.
    diverged: Vec<(u32, VectorClock)>,
    /// Whether clocks are tracked: only if findings are on.
    tracked: bool,
}

impl LaneClocks {
    /// A warp that begins with this clock.
    pub(crate) fn new(warp: usize, live: u32, all: VectorClock, tracked: bool) -> LaneClocks {
        LaneClocks { warp, live, time: 1, exchanged: 1, all, diverged: Vec::new(), tracked }
    }

    /// The lanes that are threads.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    pub(crate) fn time(&self) -> u32 {
        self.time
    }

    /// The clock of a lane.
    pub(crate) fn of(&self, lane: usize) -> &VectorClock {
        let own = self.diverged.iter().find(|(lanes, _)| lane < LANES && lanes >> lane & 1 != 0);
        own.map_or(&self.all, |(_, vector_clock)| vector_clock)
    }

    pub(crate) fn is_converged(&self) -> bool {
        self.diverged.is_empty()
    }

    /// These lanes as groups with equal clocks.
    pub(crate) fn groups(&self, lanes: u32) -> impl Iterator<Item = u32> {
        let rest = self.diverged.iter().fold(lanes, |rest, (own, _)| rest & !own);
        let diverged = self.diverged.iter().map(move |(own, _)| lanes & own);
        std::iter::once(rest).chain(diverged).filter(|lanes| *lanes != 0)
    }

    /// Changes the clocks of these lanes.
    pub(crate) fn acquire(&mut self, lanes: u32, acquire: impl Fn(&mut VectorClock)) {
        if !self.tracked {
            return;
        }
        let mut rest = lanes & self.live;
        let mut new = Vec::new();
        for (own, vector_clock) in &mut self.diverged {
            let both = *own & rest;
            rest &= !both;
            if both == *own {
                acquire(vector_clock);
            } else if both != 0 {
                *own &= !both;
                let mut apart = vector_clock.clone();
                acquire(&mut apart);
                new.push((both, apart));
            }
        }
        self.diverged.extend(new);
        let unparted = self.diverged.iter().fold(self.live, |left, (own, _)| left & !own);
        if rest == unparted {
            acquire(&mut self.all);
        } else if rest != 0 {
            let mut apart = self.all.clone();
            acquire(&mut apart);
            self.diverged.push((rest, apart));
        }
    }

    /// The clock that these lanes release: their joined clocks, their own work, and the work of the whole warp before
    /// its last exchange. Their later work is not covered.
    pub(crate) fn release(&mut self, lanes: u32) -> VectorClock {
        if !self.tracked {
            return VectorClock::default();
        }
        let mut released: Option<VectorClock> = None;
        for group in self.groups(lanes) {
            let vector_clock = self.of(group.trailing_zeros() as usize);
            match &mut released {
                None => released = Some(vector_clock.clone()),
                Some(released) => released.join(vector_clock),
            }
        }
        let mut released = released.unwrap_or_default();
        released.clock.advance(self.warp, self.live, self.live, self.exchanged);
        released.clock.advance(self.warp, lanes & self.live, self.live, self.time + 1);
        self.tick();
        released
    }

    pub(crate) fn tick(&mut self) {
        self.time = self.time.saturating_add(1);
    }

    /// All lanes get the joined clock.
    pub(crate) fn exchange(&mut self) {
        for (_, vector_clock) in std::mem::take(&mut self.diverged) {
            self.all.join(&vector_clock);
        }
        self.tick();
        self.exchanged = self.time;
    }

    /// As an exchange, and the earlier work of each lane happens-before the later work of the others.
    pub(crate) fn join(&mut self) {
        self.exchange();
        if self.tracked {
            self.all.clock.advance(self.warp, self.live, self.live, self.time);
        }
    }

    /// Sets the clock of converged lanes to one that covers it.
    pub(crate) fn assign(&mut self, other: &VectorClock) {
        if self.tracked {
            self.all.set(other);
        }
    }

    /// The common clock.
    pub(crate) fn all(&self) -> &VectorClock {
        &self.all
    }

    /// Whether a lane's work at a time happens-before the next step of one of the lanes.
    pub(crate) fn any_acquired(&self, warp: usize, lane: u32, time: u32) -> bool {
        let knows = |vector_clock: &VectorClock| vector_clock.clock.unknown(warp, 1 << lane, time) == 0;
        knows(&self.all) || self.diverged.iter().any(|(_, vector_clock)| knows(vector_clock))
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Block {
    /// The number in the grid.
    pub number: u64,
    /// `block_idx`
    pub index: [u32; 3],
}

/// The running blocks and the clocks of their warps.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterClocks {
    /// By rank.
    pub blocks: Vec<Block>,
    pub warps: Vec<LaneClocks>,
}

impl ClusterClocks {
    /// Lanes of a warp that access an element.
    pub(crate) fn accessor(&self, warp: u32, lanes: u32) -> Accessor<'_> {
        let lane_clocks = &self.warps[warp as usize];
        let floor = lane_clocks.all.clock.floor();
        Accessor {
            warp,
            lanes,
            clock: &lane_clocks.all,
            lane_clocks,
            floor,
            blocks: &self.blocks,
            warps: self.warps.len(),
        }
        .lanes(lanes)
    }

    pub(crate) fn of(&mut self, warp: u32) -> &mut LaneClocks {
        &mut self.warps[warp as usize]
    }
}

/// The lanes of a warp that perform an access; their clocks are equal.
#[derive(Clone, Copy)]
pub(crate) struct Accessor<'c> {
    pub warp: u32,
    /// 0 if the warp accesses as a whole.
    pub lanes: u32,
    clock: &'c VectorClock,
    lane_clocks: &'c LaneClocks,
    /// The minimum of the clock over all warps.
    pub floor: u32,
    blocks: &'c [Block],
    /// The number of warps in the cluster.
    warps: usize,
}

impl<'c> Accessor<'c> {
    /// Other lanes of the same warp with the same clock.
    #[inline]
    pub(crate) fn lanes(self, lanes: u32) -> Accessor<'c> {
        if self.lane_clocks.diverged.is_empty() {
            return Accessor { lanes, ..self };
        }
        Accessor { lanes, clock: self.lane_clocks.of(lanes.trailing_zeros() as usize), ..self }
    }

    #[inline]
    pub(crate) fn lane(self, lane: usize) -> Accessor<'c> {
        self.lanes(1 << lane)
    }

    /// The time of the warp.
    #[inline]
    pub(crate) fn now(self) -> u32 {
        self.lane_clocks.time
    }

    /// The component of the clock for the own warp.
    #[inline]
    pub(crate) fn own(self) -> u32 {
        self.clock.clock.of(self.warp as usize)
    }

    pub(crate) fn vector_clock(self) -> &'c VectorClock {
        self.clock
    }

    /// The number of warps in the cluster.
    pub(crate) fn warps(self) -> usize {
        self.warps
    }

    /// The number of warps in a block.
    pub(crate) fn warps_of_block(self) -> usize {
        (self.warps / self.blocks.len().max(1)).max(1)
    }

    /// The number of the block in the grid.
    pub(crate) fn block(self) -> u64 {
        self.blocks.get(self.warp as usize / self.warps_of_block()).map_or(0, |block| block.number)
    }

    /// The rank of a block in the cluster.
    pub(crate) fn rank(self, block: u64) -> Option<usize> {
        self.blocks.iter().position(|known| known.number == block)
    }

    /// The subset of an actor's lanes whose work at a time does not happen-before the next step.
    #[inline]
    pub(crate) fn unordered(self, actor: usize, lanes: u32, time: u32) -> u32 {
        if actor >= self.warps {
            let known = self.clock.engines.get(actor - self.warps).is_some_and(|known| time < *known);
            return if known { 0 } else { lanes };
        }
        let left = self.clock.clock.unknown(actor, lanes, time);
        // A thread's own work is in program order.
        let alone = actor == self.warp as usize && self.lanes.is_power_of_two();
        if alone { left & !self.lanes } else { left }
    }

    /// 1 if the work of an engine at a time does not happen-before the next step. `cluster` is the number of its first
    /// block.
    pub(crate) fn unordered_engine(self, cluster: u64, engine: usize, time: u32) -> u32 {
        match self.rank(cluster) {
            Some(_) => self.unordered(engine, 1, time),
            None => u32::from(!self.clock.blocks.engine(cluster, engine - self.warps, time)),
        }
    }

    pub(crate) fn cluster(self) -> u64 {
        self.blocks.first().map_or(0, |block| block.number)
    }

    /// As [`Accessor::unordered`], of a warp of any block, by its number in that block.
    pub(crate) fn unordered_of(self, block: u64, warp: usize, lanes: u32, time: u32) -> u32 {
        match self.rank(block) {
            Some(rank) => self.unordered(rank * self.warps_of_block() + warp, lanes, time),
            None => self.clock.blocks.unknown(block, warp, lanes, time),
        }
    }
}
