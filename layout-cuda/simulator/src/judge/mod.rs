//! Judges: what is reported of a launch beside its results.
//!
//! Law: a judge changes no value, no clock and no order. It keeps what it needs to know, and execution asks it nothing. A
//! new judge is a file with its law, and a line of `bench`.

mod arithmetic;
mod coverage;
mod ended;
mod initialisation;
mod meeting;
mod phases;
mod races;
mod traffic;
mod updates;
mod views;

use super::bytecode::{Program, Target};
use super::event::Judge;
use super::{Options, SimulateError, SimulatorArgument};
use coverage::{Coverage, Written};
use layout_compiler::bind::Bound;

/// The judges of a launch, in the order in which they observe an event: of several findings about one access the first judge's is the
/// cause.
pub(super) fn bench(
    program: &Program,
    bound: &Bound,
    arguments: &[SimulatorArgument<'_>],
    options: &Options,
) -> Result<Vec<Box<dyn Judge>>, SimulateError> {
    let mut bench: Vec<Box<dyn Judge>> = Vec::new();
    if options.findings {
        let elements: Vec<Option<usize>> =
            (0..).zip(arguments).map(|(number, argument)| elements(program, number, argument)).collect();
        let too_large = |argument: usize| SimulateError::TooLarge {
            what: format!("a tensor of {} elements with findings", elements[argument].unwrap_or_default()),
        };
        bench.push(Box::new(races::Races::of(&elements, program).map_err(too_large)?));
        bench.push(Box::new(initialisation::Initialisation));
        bench.push(Box::new(meeting::Meetings));
        bench.push(Box::new(phases::Phases));
        bench.push(Box::new(ended::Ended));
        bench.push(Box::new(views::Views));
        if options.coverage {
            let mut tensors = Vec::new();
            for (number, elements) in elements.iter().enumerate() {
                tensors.push(match (elements, &arguments[number]) {
                    (Some(elements), SimulatorArgument::Write(bytes)) => {
                        let modes = bound.modes(number).collect();
                        Some(Coverage::new(*elements, bytes, modes).ok_or_else(|| too_large(number))?)
                    }
                    _ => None,
                });
            }
            bench.push(Box::new(Written(tensors)));
        }
        bench.push(Box::new(arithmetic::Arithmetic(program.arithmetic)));
        if program.updates {
            bench.push(Box::new(updates::Updates::default()));
        }
    }
    if options.counters {
        bench.push(Box::new(traffic::Traffic));
    }
    Ok(bench)
}

/// The elements of an argument, of a tensor that the kernel writes and touches.
fn elements(program: &Program, number: u32, argument: &SimulatorArgument<'_>) -> Option<usize> {
    let SimulatorArgument::Write(bytes) = argument else { return None };
    let site = program.sites.iter().find(|site| site.target == Target::Global(number))?;
    Some(bytes.len() / site.bytes.max(1) as usize)
}
