//! Strands against vector clocks of single threads: one of each thread for each lane, and nothing put together.

use crate::bytecode::{FULL, LANES};
use crate::memory::clock::Clock;
use crate::memory::knowledge::Knowledge;
use crate::memory::strands::Strands;

const WARPS: usize = 3;

/// Of each thread the time before which all that it did is known.
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

    fn tell(&mut self, lanes: u32) -> Plain {
        let mut told = vec![1; WARPS * LANES];
        for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
            join(&mut told, &self.known[lane]);
        }
        self.own(FULL).for_each(|thread| told[thread] = told[thread].max(self.exchanged));
        self.own(lanes).for_each(|thread| told[thread] = told[thread].max(self.time + 1));
        self.time += 1;
        told
    }

    fn learn(&mut self, lanes: u32, told: &Plain) {
        (0..LANES).filter(|lane| lanes >> lane & 1 != 0).for_each(|lane| join(&mut self.known[lane], told));
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

    fn meet(&mut self) {
        self.exchange();
        let threads: Vec<usize> = self.own(FULL).collect();
        for known in &mut self.known {
            threads.iter().for_each(|thread| known[*thread] = known[*thread].max(self.time));
        }
    }
}

#[test]
fn strands_know_what_each_lane_knows() {
    for seed in 1..200u64 {
        let mut state = seed;
        let mut below = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        let begin = Knowledge { clock: Clock::start(WARPS), ..Knowledge::default() };
        let mut strands: Vec<Strands> =
            (0..WARPS).map(|warp| Strands::new(warp, FULL, begin.clone(), true)).collect();
        let plain = || vec![vec![1; WARPS * LANES]; LANES];
        let lanes = |warp| Lanes { warp, time: 1, exchanged: 1, known: plain() };
        let mut naive: Vec<Lanes> = (0..WARPS).map(lanes).collect();
        let mut told: Vec<(Knowledge, Plain)> = Vec::new();
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
                0..4 => told.push((strands[warp].tell(lanes), naive[warp].tell(lanes))),
                4..8 if !told.is_empty() => {
                    let (knowledge, plain) = &told[below(told.len() as u64) as usize];
                    strands[warp].learn(lanes, |known| known.join(knowledge));
                    naive[warp].learn(lanes, plain);
                }
                8 => {
                    strands[warp].exchange();
                    naive[warp].exchange();
                }
                _ => {
                    strands[warp].meet();
                    naive[warp].meet();
                }
            }
            assert_eq!(strands[warp].time(), naive[warp].time);
            for lane in 0..LANES {
                let clock = &strands[warp].of(lane).clock;
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
