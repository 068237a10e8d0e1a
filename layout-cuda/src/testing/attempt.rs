//! One launch of a kernel under test: values, memory, the run, and the comparison with the reference.
//!
//! Law: the arguments of a launch depend on the seed and the shapes alone, so every device gets the same.

use layout_compiler::launch::PlanArgumentKind;
use layout_compiler::{BindError, Constant, Elem};
use layout_simulator::Report;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::case::{Case, Given};
use super::count::exceeded;
use super::failure::{Failure, WrongElement, WrongTensor};
use super::number::{Number, Source, element, number, usual};
use super::operand::Layout;
use super::sizes::Sizes;
use super::sum::Sum;
use super::trial::{Reference, Trial, mix, runner};
use crate::argument::{Argument, Kind};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::launch::{LaunchConfig, launch};
use crate::launch_error::LaunchError;
use crate::simulator;
use crate::tensor::Tensor;
use crate::view::{TensorView, TensorViewMut};

/// How many different numbers a tensor holds at most; its elements are drawn from so many.
const POOL: usize = 512;
/// How many wrong elements of a tensor are reported.
const REPORTED: usize = 4;

/// What the arguments hold at some sizes, and what they are to hold afterwards, once that was asked.
pub(super) struct Shape {
    pub(super) sizes: Sizes,
    pub(super) given: Vec<Given>,
    pub(super) expected: Option<Vec<Option<Vec<Sum>>>>,
}

/// How a launch ended.
pub(super) enum Ending {
    Right,
    Refused(String),
    Wrong(Box<Failure>),
}

impl Trial<'_> {
    /// The values of the arguments.
    pub(super) fn given(&self, shapes: &[Vec<usize>]) -> std::result::Result<Vec<Given>, String> {
        let mut runner = runner(self.test.seed);
        let mut state = self.test.seed ^ 0x5eed;
        let mut given = Vec::with_capacity(shapes.len());
        for (argument, shape) in self.plan.arguments.iter().zip(shapes) {
            let elem = match argument.kind {
                PlanArgumentKind::Tensor { elem, .. } | PlanArgumentKind::Scalar(elem) => Some(elem),
                PlanArgumentKind::Index => None,
            };
            let named = |error: String| format!("argument `{}`: {error}", argument.name);
            let own = self.test.values.get(&argument.name);
            let scratch = self.test.scratch.contains(&argument.name);
            let source = own.cloned().unwrap_or_else(|| usual(elem));
            let mut draw = || drawn(&source, &mut runner);
            given.push(match argument.kind {
                PlanArgumentKind::Tensor { elem, mutable, .. } => {
                    let count = shape.iter().product::<usize>();
                    let zero = scratch && own.is_none();
                    let one = || if zero { Ok(Constant::zero(elem)) } else { element(elem, draw()?) };
                    let pool: std::result::Result<Vec<Constant>, String> =
                        std::iter::repeat_with(one).take(count.min(POOL)).collect();
                    let pool = pool.map_err(named)?;
                    let value = |number: usize| match pool.get(number) {
                        Some(value) => *value,
                        None => pool[mix(&mut state) as usize % pool.len()],
                    };
                    Given::Tensor {
                        elem,
                        mutable,
                        shape: shape.clone(),
                        values: (0..count).map(value).collect(),
                    }
                }
                PlanArgumentKind::Scalar(elem) => {
                    Given::Scalar(draw().and_then(|number| element(elem, number)).map_err(named)?)
                }
                PlanArgumentKind::Index => match draw().map_err(named)? {
                    Number::Whole(value) => Given::Index(i64::try_from(value).unwrap_or(i64::MAX)),
                    Number::Float(value) => return Err(named(format!("{value} is no index"))),
                },
            });
        }
        Ok(given)
    }

    /// One launch, compared with the reference.
    pub(super) fn launch(
        &self,
        shape: &mut Shape,
        device: &Device,
        skewed: bool,
        reference: &mut Reference<'_>,
    ) -> Ending {
        let place = if skewed { "tensors one element behind an aligned address" } else { "aligned tensors" };
        let place = format!("{}, {place}", device.describe());
        let layouts: Vec<Option<Layout>> = (self.plan.arguments.iter().zip(&shape.given))
            .map(|(argument, given)| match (&argument.kind, given) {
                (PlanArgumentKind::Tensor { layout, elem, .. }, Given::Tensor { shape, .. }) => {
                    Some(Layout::new(*layout, shape, *elem, skewed))
                }
                _ => None,
            })
            .collect();
        let failed = |error: String| {
            let failure = self.failure(shape.sizes.clone(), error);
            Ending::Wrong(Box::new(Failure { device: place.clone(), ..*failure }))
        };
        let (report, after) = match self.on_device(shape, &layouts, device, skewed) {
            Ok(outcome) => outcome,
            Err(Error::Launch(LaunchError::Arguments { error: BindError::NoGrid { why }, .. })) => {
                return failed(format!(
                    "the kernel gives no grid{why}; or say `.grid(|sizes| ..)` in its test"
                ));
            }
            Err(Error::Launch(
                error @ (LaunchError::Arguments { .. }
                | LaunchError::Simulator { .. }
                | LaunchError::Arch { .. }
                | LaunchError::SharedMemory { .. }),
            )) => return Ending::Refused(format!("at {}, {place}: {error}", shape.sizes)),
            Err(error) => return failed(error.to_string()),
        };
        let work = report.as_ref().map_or(0, |report| report.totals.instructions);
        self.work.set(self.work.get().saturating_add(work));
        if shape.expected.is_none() {
            let mut case = Case {
                sizes: &shape.sizes,
                set: &self.set,
                names: &self.names,
                given: &shape.given,
                expected: vec![None; self.names.len()],
            };
            reference(&mut case);
            shape.expected = Some(case.expected);
        }
        if let (false, Some(report)) = (skewed, &report)
            && let Some(error) = exceeded(&self.test.bounds, &shape.sizes, report, self.test.definition.file)
        {
            return failed(error);
        }
        let mut failure = self.failure(shape.sizes.clone(), String::new());
        (failure.error, failure.device) = (None, place);
        failure.blocks = report.as_ref().map(|report| report.blocks);
        failure.report = report.filter(|report| !report.clean());
        for (number, after) in after.into_iter().enumerate() {
            let Some((after, beside)) = after else { continue };
            let name = &self.names[number];
            if let Some(at) = beside {
                failure.beside.push(format!(
                    "{at} bytes from the first element of `{name}` something was written, in no element"
                ));
            }
            let expected = shape.expected.as_ref().and_then(|all| all.get(number)?.as_ref());
            failure.wrong.extend(self.compare(number, &shape.given[number], expected, &after));
        }
        match failure.report.is_none() && failure.wrong.is_empty() && failure.beside.is_empty() {
            true => Ending::Right,
            false => Ending::Wrong(failure),
        }
    }

    /// The elements of a tensor that are not what they should be.
    fn compare(
        &self,
        number: usize,
        given: &Given,
        expected: Option<&Vec<Sum>>,
        after: &[Constant],
    ) -> Option<WrongTensor> {
        let Given::Tensor { shape, values, elem, .. } = given else { return None };
        let name = &self.names[number];
        if expected.is_none() && self.test.scratch.contains(name) {
            return None;
        }
        let relative = self.test.within.get(name).copied();
        let wrong = |place: &usize| match expected {
            Some(sums) => !sums[*place].is_met(after[*place], relative),
            None => values[*place].bits != after[*place].bits,
        };
        let places: Vec<usize> = (0..after.len()).filter(wrong).collect();
        let wrong_element = |place: &usize| {
            let mut at = vec![0; shape.len()];
            let mut rest = *place;
            for mode in (0..shape.len()).rev() {
                at[mode] = rest % shape[mode];
                rest /= shape[mode];
            }
            let (wanted, bound) = match expected {
                Some(sums) => (sums[*place].text(), sums[*place].bound(*elem, relative)),
                None => (format!("{}, which it was before", number_of(values[*place])), 0.0),
            };
            WrongElement { at, found: number_of(after[*place]), wanted, bound }
        };
        let first = places.iter().take(REPORTED).map(wrong_element).collect();
        let kept = |place: &usize| values[*place].bits == after[*place].bits;
        (!places.is_empty()).then(|| WrongTensor {
            name: name.clone(),
            count: places.len(),
            of: after.len(),
            unchanged: places.iter().all(kept),
            first,
        })
    }

    /// Uploads, launches, downloads: the report of the simulator, and each tensor afterwards.
    #[allow(clippy::type_complexity)]
    fn on_device(
        &self,
        shape: &Shape,
        layouts: &[Option<Layout>],
        device: &Device,
        skewed: bool,
    ) -> Result<(Option<Report>, Vec<Option<(Vec<Constant>, Option<isize>)>>)> {
        enum Part<'a> {
            Read(TensorView<'a, u8, 1>),
            Write(TensorViewMut<'a, u8, 1>),
            None,
        }
        let mut memories: Vec<Option<Tensor<u8, 1>>> = Vec::with_capacity(layouts.len());
        for (layout, given) in layouts.iter().zip(&shape.given) {
            memories.push(match (layout, given) {
                (Some(layout), Given::Tensor { values, .. }) => Some(layout.upload(values, device)?),
                _ => None,
            });
        }
        let mut parts = Vec::with_capacity(layouts.len());
        for ((memory, layout), given) in memories.iter_mut().zip(layouts).zip(&shape.given) {
            parts.push(match (memory, layout, given) {
                (Some(memory), Some(layout), Given::Tensor { mutable: true, .. }) => {
                    Part::Write(layout.part_mut(memory)?)
                }
                (Some(memory), Some(layout), _) => Part::Read(layout.part(memory)?),
                _ => Part::None,
            });
        }
        let mut arguments: Vec<Argument<'_>> = Vec::with_capacity(layouts.len());
        for ((part, layout), given) in parts.iter_mut().zip(layouts).zip(&shape.given) {
            arguments.push(match (part, layout, given) {
                (Part::Write(part), Some(layout), _) => layout.write(part),
                (Part::Read(part), Some(layout), _) => layout.read(part),
                (_, _, Given::Index(value)) => Argument(Kind::Index(*value)),
                (_, _, Given::Scalar(constant)) => Argument(Kind::Scalar(*constant)),
                // A tensor has a layout and memory.
                (_, _, Given::Tensor { .. }) => continue,
            });
        }
        let config =
            LaunchConfig { set: Some(&self.set), grid: self.grid(&shape.sizes), ..LaunchConfig::default() };
        let report = if device.is_simulator() {
            // Once the variant that a launch takes, once the one that promises nothing: it is right for every input.
            let options = &self.test.options;
            simulator::run(&self.family, config, &mut arguments, options, skewed)?
        } else {
            launched(self.test.definition, device, config, &mut arguments)?;
            device.stream().synchronize()?;
            None
        };
        drop(arguments);
        drop(parts);
        let after = memories.iter().zip(layouts).map(|(memory, layout)| match (memory, layout) {
            (Some(memory), Some(layout)) => layout.download(memory).map(Some),
            _ => Ok(None),
        });
        Ok((report, after.collect::<Result<Vec<_>>>()?))
    }
}

/// A launch whose number of arguments is known now only.
fn launched(
    definition: &'static layout_compiler::Definition,
    device: &Device,
    config: LaunchConfig<'_>,
    arguments: &mut [Argument<'_>],
) -> Result<()> {
    macro_rules! of {
        ($($count:literal)*) => {$(
            if let Ok(arguments) = <&mut [Argument<'_>; $count]>::try_from(&mut *arguments) {
                return launch(definition, &device.stream(), config, arguments);
            }
        )*};
    }
    of!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24);
    let why = format!("a test launches at most 24 arguments, the kernel has {}", arguments.len());
    Err(LaunchError::Simulator { kernel: definition.name.to_string(), why }.into())
}

fn drawn(source: &Source, runner: &mut TestRunner) -> std::result::Result<Number, String> {
    source.new_tree(runner).map(|tree| tree.current()).map_err(|reason| format!("its strategy: {reason}"))
}

fn number_of(constant: Constant) -> String {
    match constant.elem {
        Elem::Bool => (constant.bits != 0).to_string(),
        _ => number(constant).to_string(),
    }
}
