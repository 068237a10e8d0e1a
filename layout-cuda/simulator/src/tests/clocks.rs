//! `LaneClocks` against a reference: each lane has a vector clock with a component for each thread, and no lanes are
//! grouped.

use crate::bytecode::{FULL, LANES};
use crate::memory::lane_clocks::LaneClocks;
use crate::memory::vector_clock::VectorClock;
use crate::memory::warp_clock::WarpClock;

const WARPS: usize = 3;

/// A full vector clock: one component for each thread.
type Plain = Vec<u32>;

fn join(mine: &mut Plain, other: &Plain) {
    mine.iter_mut().zip(other).for_each(|(mine, other)| *mine = (*mine).max(*other));
}

/// A warp's lanes, each with a clock of its own.
struct Lanes {
    warp: usize,
    time: u32,
    exchanged: u32,
    known: Vec<Plain>,
}

impl Lanes {
    fn own(&self, lanes: u32) -> impl Iterator<Item = usize> {
        let first = self.warp * LANES;
        (0..LANES).filter(move |lane| lanes >> lane & 1 != 0).map(move |lane| first + lane)
    }

    fn release(&mut self, lanes: u32) -> Plain {
        let mut released = vec![1; WARPS * LANES];
        for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
            join(&mut released, &self.known[lane]);
        }
        self.own(FULL).for_each(|thread| released[thread] = released[thread].max(self.exchanged));
        self.own(lanes).for_each(|thread| released[thread] = released[thread].max(self.time + 1));
        self.time += 1;
        released
    }

    fn acquire(&mut self, lanes: u32, released: &Plain) {
        (0..LANES)
            .filter(|lane| lanes >> lane & 1 != 0)
            .for_each(|lane| join(&mut self.known[lane], released));
    }

    fn exchange(&mut self) {
        let all = self.known.iter().fold(vec![1; WARPS * LANES], |mut all, known| {
            join(&mut all, known);
            all
        });
        self.known.fill(all);
        self.time += 1;
        self.exchanged = self.time;
    }

    fn join(&mut self) {
        self.exchange();
        let threads: Vec<usize> = self.own(FULL).collect();
        for known in &mut self.known {
            threads.iter().for_each(|thread| known[*thread] = known[*thread].max(self.time));
        }
    }
}

#[test]
fn lane_clocks_know_what_each_lane_knows() {
    for seed in 1..200u64 {
        let mut state = seed;
        let mut below = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        let begin = VectorClock { clock: WarpClock::start(WARPS), ..VectorClock::default() };
        let mut lane_clocks: Vec<LaneClocks> =
            (0..WARPS).map(|warp| LaneClocks::new(warp, FULL, begin.clone(), true)).collect();
        let plain = || vec![vec![1; WARPS * LANES]; LANES];
        let lanes = |warp| Lanes { warp, time: 1, exchanged: 1, known: plain() };
        let mut naive: Vec<Lanes> = (0..WARPS).map(lanes).collect();
        let mut releases: Vec<(VectorClock, Plain)> = Vec::new();
        for _ in 0..60 {
            let warp = below(WARPS as u64) as usize;
            let lanes = match below(5) {
                0 => FULL,
                1 => 1,
                2 => 1 << below(32),
                3 => 0xffff,
                _ => (below(1 << 32) as u32).max(1),
            };
            match below(10) {
                0..4 => releases.push((lane_clocks[warp].release(lanes), naive[warp].release(lanes))),
                4..8 if !releases.is_empty() => {
                    let (vector_clock, plain) = &releases[below(releases.len() as u64) as usize];
                    lane_clocks[warp].acquire(lanes, |known| known.join(vector_clock));
                    naive[warp].acquire(lanes, plain);
                }
                8 => {
                    lane_clocks[warp].exchange();
                    naive[warp].exchange();
                }
                _ => {
                    lane_clocks[warp].join();
                    naive[warp].join();
                }
            }
            assert_eq!(lane_clocks[warp].time(), naive[warp].time);
            for lane in 0..LANES {
                let clock = &lane_clocks[warp].of(lane).clock;
                for thread in 0..WARPS * LANES {
                    let known = naive[warp].known[lane][thread];
                    let unknown = |time: u32| clock.unknown(thread / LANES, 1 << (thread % LANES), time) != 0;
                    assert!(
                        unknown(known) && !unknown(known - 1),
                        "seed {seed}, lane {lane} of warp {warp}, {thread}"
                    );
                }
            }
        }
    }
}
