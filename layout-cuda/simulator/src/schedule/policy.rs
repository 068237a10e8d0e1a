//! Schedules: which runnable warp goes on, and when asynchronous work completes.
//!
//! ```text
//! 0        warps in turn, each as far as it can, of clusters that run together one after the other, up to one that others may wait
//!          for; asynchronous work as late as the kernel allows
//! 1        clusters and warps from the last to the first, each cluster as long as it changes something; asynchronous work at once
//! 2, 4 ..  warp 0, 1, .. of a cluster, and cluster 0, 1, .., only where nobody else can, and now and then
//! 3, 5 ..  all of it by chance
//! ```
//! Law: a schedule is its number: the same number of the same launch gives the same run. Each is one that a GPU may take:
//! whoever can go on does so eventually.

use crate::actors::warp::State;
use crate::bytecode::{Op, Site, Target};
use crate::findings::Findings;
use crate::machine::{Launch, Machine};
use crate::memory::bytes::Global;
use crate::report::{Finding, FindingKind};
use layout_compiler::elem::Elem;
use layout_compiler::program::AtomicChange;

/// Rounds after which a starved warp has its turn.
const STARVED: u32 = 32;

/// A schedule of one host thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchedulePolicy {
    number: u64,
    state: u64,
    rounds: u32,
    /// The warp that begins in the usual schedule: the one behind the last that gave others something.
    next: usize,
}

impl SchedulePolicy {
    /// The schedule of this number.
    pub(crate) fn new(number: u64) -> SchedulePolicy {
        SchedulePolicy { number, state: number, rounds: 0, next: 0 }
    }

    /// A cluster begins: what was before it makes no difference.
    pub(crate) fn start(&mut self, cluster: u64) {
        let state = self.number ^ cluster.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        *self = SchedulePolicy { state, rounds: 0, next: 0, ..*self };
    }

    fn is_conservative(self) -> bool {
        self.number == 0
    }

    /// Whether asynchronous work is done at once.
    fn is_eager(self) -> bool {
        self.number == 1
    }

    fn is_random(self) -> bool {
        self.number > 1 && self.number % 2 == 1
    }

    /// The warp that is starved, of so many.
    fn starved_warp(self, warps: usize) -> Option<usize> {
        let which = (self.number > 1 && self.number.is_multiple_of(2))
            .then(|| (self.number / 2 - 1) % warps.max(1) as u64)?;
        Some(which as usize)
    }

    /// A number below `end`, by chance (splitmix64).
    pub(crate) fn random_below(&mut self, end: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % end.max(1) as u64) as usize
    }

    /// The numbers below `count`, in the order in which they have their turn.
    pub(crate) fn order(&mut self, count: usize) -> Vec<usize> {
        self.rounds = self.rounds.wrapping_add(1);
        let mut order: Vec<usize> = (0..count).collect();
        if self.is_eager() {
            order.reverse();
        } else if let Some(starved) = self.starved_warp(count) {
            order.retain(|number| *number != starved);
            order.push(starved);
        } else if self.is_random() {
            for at in (1..count).rev() {
                let other = self.random_below(at + 1);
                order.swap(at, other);
            }
        }
        order
    }

    /// Of clusters that run together, by their places, those that have their turn now, in order, and how many turns each has at
    /// most while it changes something.
    pub(crate) fn residents(&mut self, count: usize) -> Vec<(usize, u32)> {
        /// Turns of a cluster that goes on as long as it can.
        const MANY: u32 = 1 << 12;
        self.rounds = self.rounds.wrapping_add(1);
        let all = (0..count).rev();
        if self.is_eager() {
            return all.map(|at| (at, MANY)).collect();
        }
        if let Some(starved) = self.starved_warp(count) {
            let waits = count > 1 && !self.rounds.is_multiple_of(STARVED);
            return all.filter(|at| !waits || *at != starved).map(|at| (at, 1)).collect();
        }
        if !self.is_random() {
            return all.map(|at| (at, 1)).collect();
        }
        let order = self.order(count);
        let mut taken: Vec<(usize, u32)> = Vec::with_capacity(count);
        for at in order {
            match self.random_below(4) {
                0 if count > 1 => {}
                1 => taken.push((at, MANY)),
                turns => taken.push((at, turns as u32)),
            }
        }
        taken
    }

    /// Whether a warp that can go on waits nevertheless; `ran` says that another one went on in this round.
    fn delays(&mut self, warp: usize, warps: usize, ran: bool) -> bool {
        ran && match self.starved_warp(warps) {
            Some(starved) => starved == warp && !self.rounds.is_multiple_of(STARVED),
            None => self.is_random() && self.random_below(4) == 0,
        }
    }

    /// The cluster that begins as the one of this number, of so many.
    pub(crate) fn cluster(self, number: u64, clusters: u64) -> u64 {
        if self.is_eager() {
            return clusters - 1 - number;
        }
        if !self.is_random() || clusters < 2 {
            return number;
        }
        // A step that has no divisor with the count goes through all of them.
        let mut random = SchedulePolicy { state: self.number, ..self };
        let step = (0..64)
            .map(|_| random.random_below(clusters as usize) as u64)
            .find(|step| coprime(*step, clusters));
        let first = random.random_below(clusters as usize) as u64;
        ((u128::from(number) * u128::from(step.unwrap_or(1)) + u128::from(first)) % u128::from(clusters))
            as u64
    }
}

fn coprime(mut a: u64, mut b: u64) -> bool {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}

impl Machine<'_> {
    /// Each ready warp runs until it waits, ends, or has changed or read what others may; whether one did, or the one that took
    /// too many steps. In the usual schedule none follows one that has changed such a thing: who waits for it has its turn before it
    /// learns of more by chance.
    pub(crate) fn run_warps(&mut self) -> Result<bool, (usize, u32)> {
        let mut ran = false;
        let conservative = self.policy.is_conservative();
        let order = if conservative { Vec::new() } else { self.policy.order(self.count) };
        for at in 0..self.count {
            let number = order.get(at).copied().unwrap_or((self.policy.next + at) % self.count);
            if self.warps[number].state == State::Ready && !self.policy.delays(number, self.count, ran) {
                ran = true;
                self.run_warp(number);
                self.progress |= self.warps[number].state == State::Ended;
            }
            if let State::Exhausted(site) = self.warps[number].state {
                return Err((number, site));
            }
            if std::mem::take(&mut self.wrote_atomically) && conservative {
                self.policy.next = number + 1;
                break;
            }
        }
        Ok(ran)
    }

    /// Does asynchronous work that has been issued, as the schedule has it; whether somebody goes on, or something is done.
    pub(crate) fn complete(&mut self, woken: bool) -> bool {
        if self.policy.is_eager() {
            self.read_boxes();
            let mut any = woken;
            while self.complete_load(0, true) {
                any = true;
            }
            return any;
        }
        if self.policy.is_random() {
            let (skip, eager) = (self.policy.random_below(3), self.policy.random_below(2) == 0);
            return woken | self.complete_load(skip, eager) || self.complete_load(0, false);
        }
        // As late as possible: nobody else goes on.
        woken || self.complete_load(0, false)
    }
}

/// A result that another schedule gives: the tensor's argument, the element, and both values in words.
struct Difference {
    argument: usize,
    element: usize,
    values: [String; 2],
}

/// Compares what two schedules made of the tensors, and reports the first difference.
pub(crate) fn compare(first: &Launch<'_>, other: &Launch<'_>, seeds: [u64; 2], findings: &mut Findings) {
    let program = first.program;
    let Some(Difference { argument, element, values }) = difference(first, other) else { return };
    // An atomic operation on the tensor rather than a plain store.
    let own = |site: u32| program.sites[site as usize].target == Target::Global(argument as u32);
    let atomic = program.code.iter().find_map(|op| match op {
        Op::Atomic { site, change, .. } if own(*site) && !matches!(change, AtomicChange::Load(_)) => {
            Some(*site)
        }
        _ => None,
    });
    let store = program.code.iter().find_map(|op| match op {
        Op::Store { site, .. } if own(*site) => Some(*site),
        _ => None,
    });
    let any = || program.sites.iter().position(|site| site.target == Target::Global(argument as u32));
    let site = atomic.or(store).or(any().map(|site| site as u32)).unwrap_or_default();
    let known = &program.sites[site as usize];
    let name = program.names.get(known.place as usize).cloned().unwrap_or_default();
    let message = format!(
        "element {element} of `{name}` is {} by the schedule of seed {}, and {} by that of seed {}",
        values[0], seeds[0], values[1], seeds[1]
    );
    findings.start_block(u64::MAX);
    findings.add(FindingKind::ScheduleDependent, site, 1, || Finding {
        kind: FindingKind::ScheduleDependent,
        message,
        line: known.line,
        thread: [0; 3],
        block: [0; 3],
        place: Some(name),
        index: Some(element as i64),
        count: 1,
    });
}

fn difference(first: &Launch<'_>, other: &Launch<'_>) -> Option<Difference> {
    let tensors = first.globals.iter().zip(&other.globals).enumerate();
    for (argument, (a, b)) in tensors {
        let own = |site: &&Site| site.target == Target::Global(argument as u32);
        let (Global::Write(words), Some(site)) = (a, first.program.sites.iter().find(own)) else { continue };
        let size = site.bytes as usize;
        let count = (4 * words.len()) / size;
        let bits = |of: &Global<'_>, element: usize| of.read(element * size, site.bytes);
        // Sums by atomic operations are rounded in their order: that is no difference.
        let largest = if first.program.sums && site.elem.is_float() {
            let values = (0..count).map(|element| float(bits(a, element), site.elem).abs());
            values.filter(|value| value.is_finite()).fold(0.0, f64::max)
        } else {
            0.0
        };
        let close = |x: u64, y: u64| {
            let (x, y) = (float(x, site.elem), float(y, site.elem));
            largest > 0.0 && (x - y).abs() <= largest * precision(site.elem)
        };
        let differ = |element: &usize| {
            let (x, y) = (bits(a, *element), bits(b, *element));
            x != y && !close(x, y)
        };
        if let Some(element) = (0..count).find(differ) {
            let text = |of| match site.elem.is_float() {
                true => float(bits(of, element), site.elem).to_string(),
                false => site.elem.wrap(bits(of, element) as i64).to_string(),
            };
            return Some(Difference { argument, element, values: [text(a), text(b)] });
        }
    }
    None
}

/// The value of a float's bits.
fn float(bits: u64, elem: Elem) -> f64 {
    match elem {
        Elem::F64 => f64::from_bits(bits),
        Elem::F32 => f32::from_bits(bits as u32).into(),
        small => layout_compiler::small_float::decode(bits as u32, small).into(),
    }
}

/// How far the sums of two orders may be apart, of the largest sum of a tensor.
fn precision(elem: Elem) -> f64 {
    match elem {
        Elem::F64 => 1e-12,
        Elem::F32 => 1e-5,
        _ => 1e-2,
    }
}
