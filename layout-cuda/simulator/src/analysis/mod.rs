//! Analyses: the findings and counts of a launch.
//!
//! Law: an analysis changes no value, no clock and no order, and execution does not depend on it. A new analysis is a
//! file with its law, and a line of `analyses`.

mod arithmetic;
mod assumptions;
mod barrier_membership;
mod coverage;
mod exited_blocks;
mod initialisation;
mod messages;
mod phases;
mod races;
mod tensor_memory;
mod traffic;
mod updates;
mod views;

use crate::bytecode::{Program, Target};
use crate::error::SimulateError;
use crate::machine::Analysis;
use crate::options::{Options, SimulatorArgument};
use coverage::{Coverage, WriteCoverage};
use layout_compiler::bind::Bound;

/// The analyses of a launch, in the order in which they observe an event: the first finding about an access is the
/// cause of the others.
pub(super) fn analyses(
    program: &Program,
    bound: &Bound,
    arguments: &[SimulatorArgument<'_>],
    options: &Options,
) -> Result<Vec<Box<dyn Analysis>>, SimulateError> {
    let mut analyses: Vec<Box<dyn Analysis>> = Vec::new();
    if options.findings {
        let elements: Vec<Option<usize>> =
            (0..).zip(arguments).map(|(number, argument)| elements(program, number, argument)).collect();
        let too_large = |argument: usize| SimulateError::TooLarge {
            what: format!("a tensor of {} elements with findings", elements[argument].unwrap_or_default()),
        };
        analyses.push(Box::new(races::Races::of(&elements, program).map_err(too_large)?));
        if program.async_ops.tensor_memory() {
            analyses.push(Box::new(tensor_memory::TensorMemory));
        }
        analyses.push(Box::new(initialisation::Initialisation));
        analyses.push(Box::new(barrier_membership::BarrierMembership));
        analyses.push(Box::new(phases::Phases));
        analyses.push(Box::new(exited_blocks::ExitedBlocks));
        analyses.push(Box::new(views::Views));
        analyses.push(Box::new(assumptions::Assumptions));
        if options.coverage {
            let mut tensors = Vec::new();
            for (number, elements) in elements.iter().enumerate() {
                tensors.push(match (elements, &arguments[number]) {
                    (Some(elements), SimulatorArgument::Write(bytes)) => {
                        let modes = bound.modes(number).collect();
                        let parts = program.parts.get(number).map_or(1, |parts| *parts as usize);
                        Some(Coverage::new(elements / parts, bytes, modes).ok_or_else(|| too_large(number))?)
                    }
                    _ => None,
                });
            }
            analyses.push(Box::new(WriteCoverage(tensors)));
        }
        analyses.push(Box::new(arithmetic::Arithmetic(program.arithmetic)));
        if program.updates {
            analyses.push(Box::new(updates::Updates::default()));
        }
    }
    if !program.messages.is_empty() {
        analyses.push(Box::new(messages::Messages));
    }
    if options.counters {
        analyses.push(Box::new(traffic::Traffic));
    }
    Ok(analyses)
}

/// The number of elements of the shadow of a written tensor that the kernel accesses.
fn elements(program: &Program, number: u32, argument: &SimulatorArgument<'_>) -> Option<usize> {
    let SimulatorArgument::Write(bytes) = argument else { return None };
    let site = program.sites.iter().find(|site| site.target == Target::Global(number))?;
    Some(bytes.len() / (site.bytes / site.cells).max(1) as usize)
}
