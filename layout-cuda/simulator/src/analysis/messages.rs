//! `println!`, and assertions that fail.
//!
//! Law: a text is printed once for each active lane. An assertion is reported at its line with the text that the first
//! failing lane has; execution continues unchanged, where a GPU stops.

use crate::bytecode::LANES;
use crate::bytecode::{MessagePiece, Op, Register};
use crate::event::{CHECKS, Event};
use crate::machine::{Analysis, Machine, Observer};
use crate::report::{FindingKind, Printed};
use crate::state::warp::{Warp, coordinates, each_lane};
use layout_compiler::elem::{Constant, Elem};
use layout_compiler::program::message::text;

pub(crate) struct Messages;

impl Analysis for Messages {
    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(Messages)
    }
}

impl Observer for Messages {
    fn interests(&self) -> u8 {
        CHECKS
    }

    fn on_event(&mut self, event: &Event<'_>, machine: &Machine<'_>) {
        let Event::Check(warp, op) = event else { return };
        match **op {
            Op::Print { number, site } => print(warp, number, site, machine),
            Op::Fail { number, site } if warp.active != 0 => {
                let kind = FindingKind::AssertionFailed;
                machine.report(kind, site, warp.number, warp.active, None, |lane| {
                    written(warp, number, lane, machine)
                });
            }
            _ => {}
        }
    }
}

fn print(warp: &Warp, number: u32, site: u32, machine: &Machine<'_>) {
    let launch = machine.launch;
    let first = machine.inside(warp.number as usize) as u32 * LANES as u32;
    let block = machine.clocks.blocks[machine.rank(warp.number as usize)].index;
    let mut diagnostics = machine.diagnostics.borrow_mut();
    for lane in each_lane(warp.active) {
        let thread = first + lane as u32;
        diagnostics.printing.add(warp.block, thread, || Printed {
            text: written(warp, number, lane, machine),
            line: launch.program.sites[site as usize].line,
            thread: coordinates(thread.into(), launch.block),
            block,
        });
    }
}

/// The text of a lane.
fn written(warp: &Warp, number: u32, lane: usize, machine: &Machine<'_>) -> String {
    let pieces = &machine.launch.program.messages[number as usize];
    let one = |piece: &MessagePiece| match piece {
        MessagePiece::Text(text) => text.clone(),
        MessagePiece::Value(register, elem, spec) => {
            let (elem, bits) = match *register {
                Register::Int(sum) => (*elem, warp.lanes(sum)[lane] as u64),
                // Small floats are in registers of `f32`.
                Register::F32(at) => (Elem::F32, warp.f32[at as usize][lane].to_bits().into()),
                Register::F64(at) => (Elem::F64, warp.f64[at as usize][lane].to_bits()),
                Register::Mask(at) => (Elem::Bool, u64::from(warp.mask[at as usize] >> lane & 1)),
            };
            text(Constant { elem, bits }, *spec)
        }
    };
    pieces.iter().map(one).collect()
}
