//! What the lanes of a warp know. A warp acts as one until its lanes diverge; then lanes with equal knowledge are a strand.
//!
//! ```text
//! if lane == 0 { full.wait(p) }     lane 0 knows more than the others: two groups
//! sync_warp()                       all know what any of them knew: one strand
//! ```
//! Law: what a lane acquires, waits for or releases counts for that lane alone. Of another lane of its warp it knows what
//! was done before they last met, at a barrier or at `sync_warp`. Where lanes exchanged registers or votes, a later release
//! by one of them covers what all of them did before, and each knows what the others knew. Their own accesses are not
//! ordered by that, since CUDA gives a shuffle no memory ordering (CUDA C++ Programming Guide, warp shuffle functions).

use super::vector_clock::VectorClock;
use crate::register::LANES;

/// The lanes of a warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneClocks {
    /// The warp's number in its cluster.
    warp: usize,
    /// The lanes that are threads.
    live: u32,
    /// The warp's time.
    time: u32,
    /// The time at which the lanes exchanged something last.
    exchanged: u32,
    /// What all lanes know.
    all: VectorClock,
    /// Lanes that know more, and what they know.
    diverged: Vec<(u32, VectorClock)>,
    /// Whether anybody asks: else nothing is learnt.
    tracked: bool,
}

impl LaneClocks {
    /// A warp that begins, and knows this; what happens before what is kept in mind where somebody asks.
    pub(crate) fn new(warp: usize, live: u32, all: VectorClock, tracked: bool) -> LaneClocks {
        LaneClocks { warp, live, time: 1, exchanged: 1, all, diverged: Vec::new(), tracked }
    }

    /// The lanes that are threads.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    /// The warp's time now.
    pub(crate) fn time(&self) -> u32 {
        self.time
    }

    /// What a lane knows; of a lane that there is not, what all know.
    pub(crate) fn of(&self, lane: usize) -> &VectorClock {
        let own = self.diverged.iter().find(|(lanes, _)| lane < LANES && lanes >> lane & 1 != 0);
        own.map_or(&self.all, |(_, vector_clock)| vector_clock)
    }

    /// Whether all lanes know the same.
    pub(crate) fn is_converged(&self) -> bool {
        self.diverged.is_empty()
    }

    /// These lanes, those together that know the same.
    pub(crate) fn groups(&self, lanes: u32) -> impl Iterator<Item = u32> {
        let rest = self.diverged.iter().fold(lanes, |rest, (own, _)| rest & !own);
        let diverged = self.diverged.iter().map(move |(own, _)| lanes & own);
        std::iter::once(rest).chain(diverged).filter(|lanes| *lanes != 0)
    }

    /// These lanes learn something.
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

    /// What these lanes tell: what they know, what they did, and what the warp's lanes did before they exchanged
    /// something last. What they do from here on is later.
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

    /// Time goes on.
    pub(crate) fn tick(&mut self) {
        self.time = self.time.saturating_add(1);
    }

    /// The lanes know what any of them knows.
    pub(crate) fn exchange(&mut self) {
        for (_, vector_clock) in std::mem::take(&mut self.diverged) {
            self.all.join(&vector_clock);
        }
        self.tick();
        self.exchanged = self.time;
    }

    /// The lanes meet: besides, what one did happened before what the others do.
    pub(crate) fn join(&mut self) {
        self.exchange();
        if self.tracked {
            self.all.clock.advance(self.warp, self.live, self.live, self.time);
        }
    }

    /// The lanes, which have met, know this, which is no less than they know.
    pub(crate) fn assign(&mut self, other: &VectorClock) {
        if self.tracked {
            self.all.set(other);
        }
    }

    /// What all lanes know.
    pub(crate) fn all(&self) -> &VectorClock {
        &self.all
    }

    /// Whether one of the lanes knows what a lane of a warp did at a time.
    pub(crate) fn any_acquired(&self, warp: usize, lane: u32, time: u32) -> bool {
        let knows = |vector_clock: &VectorClock| vector_clock.clock.unknown(warp, 1 << lane, time) == 0;
        knows(&self.all) || self.diverged.iter().any(|(_, vector_clock)| knows(vector_clock))
    }
}

/// A block of the cluster that runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Block {
    /// Its number in the grid.
    pub number: u64,
    /// `block_idx`
    pub index: [u32; 3],
}

/// The blocks that run and what their warps know.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterClocks {
    /// The blocks that run, by rank.
    pub blocks: Vec<Block>,
    /// For each warp.
    pub warps: Vec<LaneClocks>,
}

impl ClusterClocks {
    /// Lanes of a warp that access something.
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

    /// A warp.
    pub(crate) fn of(&mut self, warp: u32) -> &mut LaneClocks {
        &mut self.warps[warp as usize]
    }
}

/// Who accesses: lanes of a warp that know the same.
#[derive(Clone, Copy)]
pub(crate) struct Accessor<'c> {
    /// The warp.
    pub warp: u32,
    /// The lanes; none of them where the warp takes part as a whole.
    pub lanes: u32,
    clock: &'c VectorClock,
    lane_clocks: &'c LaneClocks,
    /// What any warp did before it is known.
    pub floor: u32,
    blocks: &'c [Block],
    /// Warps of the cluster.
    warps: usize,
}

impl<'c> Accessor<'c> {
    /// Other lanes of the same warp, that know the same.
    #[inline]
    pub(crate) fn lanes(self, lanes: u32) -> Accessor<'c> {
        if self.lane_clocks.diverged.is_empty() {
            return Accessor { lanes, ..self };
        }
        Accessor { lanes, clock: self.lane_clocks.of(lanes.trailing_zeros() as usize), ..self }
    }

    /// A lane of the same warp.
    #[inline]
    pub(crate) fn lane(self, lane: usize) -> Accessor<'c> {
        self.lanes(1 << lane)
    }

    /// The time of its warp.
    #[inline]
    pub(crate) fn now(self) -> u32 {
        self.lane_clocks.time
    }

    /// The time before which it knows what all lanes of its warp did.
    #[inline]
    pub(crate) fn own(self) -> u32 {
        self.clock.clock.of(self.warp as usize)
    }

    /// What it knows.
    pub(crate) fn vector_clock(self) -> &'c VectorClock {
        self.clock
    }

    /// Warps of its cluster.
    pub(crate) fn warps(self) -> usize {
        self.warps
    }

    /// Warps of a block.
    pub(crate) fn warps_of_block(self) -> usize {
        (self.warps / self.blocks.len().max(1)).max(1)
    }

    /// Its block.
    pub(crate) fn block(self) -> u64 {
        self.blocks.get(self.warp as usize / self.warps_of_block()).map_or(0, |block| block.number)
    }

    /// The rank of a block in its cluster.
    pub(crate) fn rank(self, block: u64) -> Option<usize> {
        self.blocks.iter().position(|known| known.number == block)
    }

    /// Of these lanes of an actor of the cluster, those whose doings at a time are not ordered before its next step.
    #[inline]
    pub(crate) fn unordered(self, actor: usize, lanes: u32, time: u32) -> u32 {
        if actor >= self.warps {
            let known = self.clock.engines.get(actor - self.warps).is_some_and(|known| time < *known);
            return if known { 0 } else { lanes };
        }
        let left = self.clock.clock.unknown(actor, lanes, time);
        // A thread's own doings are in order.
        let alone = actor == self.warp as usize && self.lanes.is_power_of_two();
        if alone { left & !self.lanes } else { left }
    }

    /// Whether the work of an engine at a time is not ordered before its next step, of the cluster that begins with this block.
    pub(crate) fn unordered_engine(self, cluster: u64, engine: usize, time: u32) -> u32 {
        match self.rank(cluster) {
            Some(_) => self.unordered(engine, 1, time),
            None => u32::from(!self.clock.blocks.engine(cluster, engine - self.warps, time)),
        }
    }

    /// The first block of its cluster.
    pub(crate) fn cluster(self) -> u64 {
        self.blocks.first().map_or(0, |block| block.number)
    }

    /// Likewise of a warp of any block, by its number in that.
    pub(crate) fn unordered_of(self, block: u64, warp: usize, lanes: u32, time: u32) -> u32 {
        match self.rank(block) {
            Some(rank) => self.unordered(rank * self.warps_of_block() + warp, lanes, time),
            None => self.clock.blocks.unknown(block, warp, lanes, time),
        }
    }
}
