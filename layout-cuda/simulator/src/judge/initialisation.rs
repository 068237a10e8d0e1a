//! Initialisation: registers that a thread reads before it has set them.
//!
//! Law: a variable, an element of a local array, and an accumulator that is added to hold a value once the thread has set
//! them; a read before that is reported. Shared memory is the judge of races' part.

use super::super::bytecode::{Op, Target};
use super::super::event::{Event, Hearing, Judge, LOOKS, OTHERS};
use super::super::machine::Machine;
use super::super::report::FindingKind;
use super::super::work::ProductUse;
use crate::actors::touch::{Kind, Touch};
use crate::actors::warp::{Warp, each_lane};

/// The judge.
pub(crate) struct Initialisation;

impl Judge for Initialisation {
    fn hearing(&self) -> Box<dyn Hearing + '_> {
        Box::new(Set::default())
    }
}

/// For each warp, of each tracked register the lanes in which it holds a value.
#[derive(Default)]
struct Set(Vec<Vec<u32>>);

impl Hearing for Set {
    fn hears(&self) -> u8 {
        LOOKS | OTHERS
    }

    fn see(&mut self, event: &Event<'_>, scene: &Machine<'_>) {
        match event {
            Event::Start => {
                self.0.resize(scene.count, Vec::new());
                for slots in &mut self.0 {
                    slots.clear();
                    slots.resize(scene.launch.program.slots as usize, 0);
                }
            }
            Event::Look(warp, op) => self.look(warp, **op, scene),
            Event::Local { warp, number, touch, kind, .. } => self.local(warp, *number, touch, *kind, scene),
            Event::Product { warp, product, adds, in_flight } => {
                self.product(warp, product, if *in_flight { 0 } else { *adds }, scene);
            }
            _ => {}
        }
    }
}

impl Set {
    fn slots(&mut self, warp: &Warp) -> &mut [u32] {
        self.0.get_mut(warp.number as usize).map_or(&mut [], Vec::as_mut_slice)
    }

    fn look(&mut self, warp: &Warp, op: Op, scene: &Machine<'_>) {
        let slots = self.slots(warp);
        match op {
            Op::CheckInitialised { slot, site } => {
                let missing = warp.active & !slots[slot as usize];
                if missing != 0 {
                    uninitialised(warp, slot, site, missing, scene);
                }
            }
            Op::MarkInitialised { slot, holds: true } => slots[slot as usize] |= warp.active,
            Op::MarkInitialised { slot, holds: false } => slots[slot as usize] &= !warp.active,
            _ => {}
        }
    }

    fn local(&mut self, warp: &Warp, number: u32, touch: &Touch, kind: Kind, scene: &Machine<'_>) {
        let Target::Local { slot, .. } = scene.launch.program.sites[number as usize].target else { return };
        let slots = self.slots(warp);
        let at = |lane: usize| slot as usize + touch.index[lane] as usize;
        if kind == Kind::Write {
            each_lane(touch.open).for_each(|lane| slots[at(lane)] |= 1 << lane);
            return;
        }
        let missing = each_lane(touch.open).fold(0, |lanes, lane| lanes | (!slots[at(lane)] & 1 << lane));
        if missing != 0 {
            let first = touch.index[missing.trailing_zeros() as usize];
            uninitialised(warp, slot + first as u32, number, missing, scene);
        }
    }

    fn product(&mut self, warp: &Warp, product: &ProductUse, adds: u32, scene: &Machine<'_>) {
        let first = product.slot as usize;
        let slots = &mut self.slots(warp)[first..first + product.n as usize / 2];
        if let Some(at) = slots.iter().position(|set| adds & !set != 0) {
            uninitialised(warp, product.slot + at as u32, product.site, adds & !slots[at], scene);
        }
        slots.iter_mut().for_each(|lanes| *lanes |= warp.active);
    }
}

/// A read of a tracked register that is not initialised in some lanes.
fn uninitialised(warp: &Warp, slot: u32, number: u32, lanes: u32, scene: &Machine<'_>) {
    let program = scene.launch.program;
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
    scene.report(FindingKind::Uninitialised, number, warp.number, lanes, index, |_| message);
}
