//! Views: coordinates of a tile, a window or a slice.
//!
//! Law: a coordinate outside the extents of its view is reported, even if the tensor has the element.

use crate::bytecode::{Op, Sum};
use crate::event::{CHECKS, Event};
use crate::machine::Machine;
use crate::machine::{Analysis, Observer};
use crate::report::FindingKind;
use crate::state::warp::{Warp, each_lane};

pub(crate) struct Views;

impl Analysis for Views {
    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(Views)
    }
}

impl Observer for Views {
    fn interests(&self) -> u8 {
        CHECKS
    }

    fn on_event(&mut self, event: &Event<'_>, machine: &Machine<'_>) {
        if let Event::Check(warp, Op::CheckView { at, end, site }) = event {
            claim(warp, (*at, *end), *site, machine);
        }
    }
}

/// Reports lanes whose coordinate is outside its view.
fn claim(warp: &Warp, (at, end): (Sum, Sum), number: u32, machine: &Machine<'_>) {
    if warp.active == 0 {
        return;
    }
    let (at, end) = (warp.lanes(at), warp.lanes(end));
    let wrong = each_lane(warp.active).filter(|lane| !(0..end[*lane]).contains(&at[*lane]));
    let wrong = wrong.fold(0u32, |lanes, lane| lanes | 1 << lane);
    if wrong == 0 {
        return;
    }
    let site = &machine.launch.program.sites[number as usize];
    let name = machine.launch.program.names.get(site.place as usize);
    let first = at[wrong.trailing_zeros() as usize];
    machine.report(FindingKind::OutOfBounds, number, warp.number, wrong, Some(first), |lane| {
        let name = name.map_or("", String::as_str);
        format!(
            "coordinate {first} of `{name}` is outside its view, whose extent is {} there: a tile, a window or a \
            slice, or the elements of one",
            end[lane].max(0)
        )
    });
}
