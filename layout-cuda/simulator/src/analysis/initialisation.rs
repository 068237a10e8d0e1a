//! Initialisation: registers that a thread reads before it writes them.
//!
//! Law: a read of a variable, of an element of a local array, or of an accumulator before the thread has written it
//! is reported. The analysis of races reports uninitialised shared memory.

use crate::async_op::WgmmaOperands;
use crate::bytecode::{Op, Target};
use crate::event::{CHECKS, Event, OTHERS};
use crate::machine::Machine;
use crate::machine::{Analysis, Observer};
use crate::report::FindingKind;
use crate::state::lanes::{Direction, LaneElements};
use crate::state::warp::{Warp, each_lane};

pub(crate) struct Initialisation;

impl Analysis for Initialisation {
    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(Initialised::default())
    }
}

/// For each warp and tracked register the initialised lanes.
#[derive(Default)]
struct Initialised(Vec<Vec<u32>>);

impl Observer for Initialised {
    fn interests(&self) -> u8 {
        CHECKS | OTHERS
    }

    fn on_event(&mut self, event: &Event<'_>, machine: &Machine<'_>) {
        match event {
            Event::Start => {
                self.0.resize(machine.count, Vec::new());
                for slots in &mut self.0 {
                    slots.clear();
                    slots.resize(machine.launch.program.slots as usize, 0);
                }
            }
            Event::Check(warp, op) => self.check(warp, **op, machine),
            Event::Local { warp, number, elements, direction, .. } => {
                self.local(warp, *number, elements, *direction, machine)
            }
            Event::WgmmaIssued { warp, product, adds, in_flight } => {
                self.product(warp, product, if *in_flight { 0 } else { *adds }, machine);
            }
            _ => {}
        }
    }
}

impl Initialised {
    fn slots(&mut self, warp: &Warp) -> &mut [u32] {
        self.0.get_mut(warp.number as usize).map_or(&mut [], Vec::as_mut_slice)
    }

    fn check(&mut self, warp: &Warp, op: Op, machine: &Machine<'_>) {
        let slots = self.slots(warp);
        match op {
            Op::CheckInitialised { slot, site } => {
                let missing = warp.active & !slots[slot as usize];
                if missing != 0 {
                    uninitialised(warp, slot, site, missing, machine);
                }
            }
            Op::MarkInitialised { slot, holds: true } => slots[slot as usize] |= warp.active,
            Op::MarkInitialised { slot, holds: false } => slots[slot as usize] &= !warp.active,
            _ => {}
        }
    }

    fn local(
        &mut self,
        warp: &Warp,
        number: u32,
        elements: &LaneElements,
        direction: Direction,
        machine: &Machine<'_>,
    ) {
        let Target::Local { slot, .. } = machine.launch.program.sites[number as usize].target else { return };
        let slots = self.slots(warp);
        let at = |lane: usize| slot as usize + elements.index[lane] as usize;
        if direction == Direction::Write {
            each_lane(elements.active).for_each(|lane| slots[at(lane)] |= 1 << lane);
            return;
        }
        let missing =
            each_lane(elements.active).fold(0, |lanes, lane| lanes | (!slots[at(lane)] & 1 << lane));
        if missing != 0 {
            let first = elements.index[missing.trailing_zeros() as usize];
            uninitialised(warp, slot + first as u32, number, missing, machine);
        }
    }

    fn product(&mut self, warp: &Warp, product: &WgmmaOperands, adds: u32, machine: &Machine<'_>) {
        let first = product.slot as usize;
        let slots = &mut self.slots(warp)[first..first + product.n as usize / 2];
        if let Some(at) = slots.iter().position(|set| adds & !set != 0) {
            uninitialised(warp, product.slot + at as u32, product.site, adds & !slots[at], machine);
        }
        slots.iter_mut().for_each(|lanes| *lanes |= warp.active);
    }
}

/// Reports a read of an uninitialised register.
fn uninitialised(warp: &Warp, slot: u32, number: u32, lanes: u32, machine: &Machine<'_>) {
    let program = machine.launch.program;
    let site = &program.sites[number as usize];
    let (message, index) = match site.target {
        Target::Local { slot: first, .. } => {
            let index = i64::from(slot) - i64::from(first);
            let name = program.names.get(site.place as usize).map_or("", String::as_str);
            (format!("read of element {index} of `{name}`, which the thread has not written"), Some(index))
        }
        Target::Global(_) | Target::Shared(_) | Target::None => {
            ("read of a variable that the thread has not set".to_owned(), None)
        }
    };
    machine.report(FindingKind::Uninitialised, number, warp.number, lanes, index, |_| message);
}
