//! From a text and its arguments to CUDA C, results and a report.
//!
//! The variant is the one that a launch takes: of the first listed parameter set that the arguments meet, the first whose
//! promises hold.

use crate::data::{self, Given, Tensor};
use layout_compiler::launch::{LaunchPlan, PlanArgument, PlanArgumentKind};
use layout_compiler::{
    BindError, Bound, Checked, Errors, Kernel, LaunchArgument, ParamSet, Position, Promises, compile,
};
use layout_simulator::{Options, Report, SimulatorArgument, Timeline, simulate, timelines};
use std::fmt;

/// What is wrong, and where. Lines and columns count from 1; zeros where there is no place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where it begins.
    pub start: Position,
    /// Behind its last character; as `start` where only that is known.
    pub end: Position,
    /// What is wrong, and the way out.
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.start.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}, column {}: {}", self.start.column, self.message),
        }
    }
}

/// A mistake without a place.
fn nowhere(message: impl Into<String>) -> Vec<Mistake> {
    vec![Mistake { start: Position::default(), end: Position::default(), message: message.into() }]
}

/// The kernel of a text.
///
/// # Errors
/// All that is wrong with it.
pub fn read(text: &str) -> Result<Kernel, Vec<Mistake>> {
    let mistakes = |errors: Vec<layout_text::TextError>| {
        let one = |error: layout_text::TextError| Mistake {
            start: error.start,
            end: error.end,
            message: error.message,
        };
        errors.into_iter().map(one).collect()
    };
    layout_text::kernel(text).map_err(mistakes)
}

fn placed(kernel: &Kernel, errors: &Errors) -> Vec<Mistake> {
    let one = |error: &layout_compiler::KernelError| {
        let start = kernel.position(error.origin);
        Mistake { start, end: start, message: error.to_string() }
    };
    errors.as_slice().iter().map(one).collect()
}

/// A kernel, and the variant of it that a launch with certain arguments takes.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The variant.
    pub checked: Checked,
    /// Its parameters.
    pub set: ParamSet,
    /// Grid, dimensions and parameters of the launch.
    pub bound: Bound,
}

/// What a launch left behind.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Every argument that is a tensor, as it is afterwards; `None` for the others.
    pub tensors: Vec<Option<Tensor>>,
    /// Findings and counts.
    pub report: Report,
}

/// A tensor argument with the type and the strides that the kernel gives it.
struct Bytes {
    bytes: Vec<u8>,
    strides: Vec<usize>,
}

fn strides(shape: &[usize], first_is_contiguous: bool) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    let step = |strides: &mut Vec<usize>, to: usize, from: usize| {
        strides[to] = strides[from].saturating_mul(shape[from].max(1));
    };
    if first_is_contiguous {
        (1..shape.len()).for_each(|mode| step(&mut strides, mode, mode - 1));
    } else {
        (1..shape.len()).rev().for_each(|mode| step(&mut strides, mode - 1, mode));
    }
    strides
}

/// Whether the kernel wants mode 0 of this argument to be the contiguous one.
fn by_columns(argument: &PlanArgument) -> bool {
    use layout_compiler::launch::PlanLayout;
    match &argument.kind {
        PlanArgumentKind::Tensor { layout, extents, .. } => match layout {
            PlanLayout::ColMajor => true,
            PlanLayout::Contiguous(mode) => *mode == 0 && extents.len() > 1,
            PlanLayout::RowMajor | PlanLayout::Strided => false,
        },
        PlanArgumentKind::Scalar(_) | PlanArgumentKind::Index => false,
    }
}

/// The elements in the order of memory: of a tensor by columns the first coordinate is the fastest.
fn in_memory(tensor: &Tensor, first_is_contiguous: bool) -> Vec<f64> {
    match first_is_contiguous {
        false => tensor.values.clone(),
        true => {
            let mut out = vec![0.0; tensor.values.len()];
            let own = strides(&tensor.shape, true);
            for (value, at) in tensor.values.iter().zip(offsets(&tensor.shape, &own)) {
                out[at] = *value;
            }
            out
        }
    }
}

/// The place in memory of each element, the last coordinate fastest.
fn offsets<'a>(shape: &'a [usize], strides: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
    (0..shape.iter().product()).map(move |number: usize| {
        let (mut rest, mut at) = (number, 0);
        for (extent, stride) in shape.iter().zip(strides).rev() {
            at += rest % extent * stride;
            rest /= extent;
        }
        at
    })
}

fn laid_out(plan: &LaunchPlan, given: &[Given]) -> Result<Vec<Bytes>, Vec<Mistake>> {
    if plan.arguments.len() != given.len() {
        let (takes, has) = (plan.arguments.len(), given.len());
        return Err(nowhere(format!("the kernel takes {takes} arguments, {has} are given")));
    }
    let one = |(argument, given): (&PlanArgument, &Given)| match (&argument.kind, given) {
        (PlanArgumentKind::Tensor { elem, .. }, Given::Tensor(tensor)) => {
            let first = by_columns(argument);
            let bytes = data::bytes(*elem, &in_memory(tensor, first));
            Ok(Bytes { bytes, strides: strides(&tensor.shape, first) })
        }
        (PlanArgumentKind::Scalar(_), Given::Scalar(_)) | (PlanArgumentKind::Index, Given::Index(_)) => {
            Ok(Bytes { bytes: vec![], strides: vec![] })
        }
        (kind, _) => {
            let wanted = match kind {
                PlanArgumentKind::Tensor { elem, .. } => format!("a tensor of {elem}"),
                PlanArgumentKind::Scalar(elem) => format!("a value of {elem}"),
                PlanArgumentKind::Index => "an index".to_owned(),
            };
            Err(nowhere(format!(
                "argument `{}` is {wanted} in the kernel and something else here",
                argument.name
            )))
        }
    };
    plan.arguments.iter().zip(given).map(one).collect()
}

fn arguments<'a>(plan: &LaunchPlan, given: &'a [Given], memory: &'a [Bytes]) -> Vec<LaunchArgument<'a>> {
    let one = |((argument, given), memory): ((&PlanArgument, &'a Given), &'a Bytes)| match (
        &argument.kind,
        given,
    ) {
        (PlanArgumentKind::Tensor { elem, .. }, Given::Tensor(tensor)) => LaunchArgument::Tensor {
            elem: *elem,
            shape: &tensor.shape,
            strides: &memory.strides,
            address: 0,
            len: tensor.values.len(),
        },
        (PlanArgumentKind::Scalar(elem), Given::Scalar(value)) => {
            LaunchArgument::Scalar(*elem, data::constant(*elem, *value).bits)
        }
        (_, Given::Index(value)) => LaunchArgument::Index(*value),
        (_, Given::Tensor(_) | Given::Scalar(_)) => LaunchArgument::Index(0),
    };
    plan.arguments.iter().zip(given).zip(memory).map(one).collect()
}

/// The arguments as the simulator takes them.
fn simulated<'a>(plan: &LaunchPlan, given: &[Given], memory: &'a mut [Bytes]) -> Vec<SimulatorArgument<'a>> {
    let one =
        |((argument, given), memory): ((&PlanArgument, &Given), &'a mut Bytes)| match (&argument.kind, given)
        {
            (PlanArgumentKind::Tensor { mutable: true, .. }, _) => {
                SimulatorArgument::Write(&mut memory.bytes)
            }
            (PlanArgumentKind::Tensor { .. }, _) => SimulatorArgument::Read(&memory.bytes),
            (PlanArgumentKind::Scalar(elem), Given::Scalar(value)) => {
                SimulatorArgument::Scalar(data::constant(*elem, *value))
            }
            (_, Given::Index(value)) => SimulatorArgument::Index(*value),
            (_, Given::Tensor(_) | Given::Scalar(_)) => SimulatorArgument::Index(0),
        };
    plan.arguments.iter().zip(given).zip(memory).map(one).collect()
}

/// The promises of a launch, the fastest first, as a launch on a device tries them.
fn promises(kernel: &Kernel) -> Vec<Promises> {
    let mut order = vec![];
    for narrow in [true, false] {
        let fast = (0..kernel.variant_if.len() as u32).map(Some).chain([None]);
        order.extend(fast.map(|variant_if| Promises { narrow, aligned: true, variant_if }));
        order.push(Promises { narrow, aligned: false, variant_if: None });
    }
    order
}

/// The variant that a launch takes with these arguments; `grid` where the kernel says none.
///
/// # Errors
/// What the stages refuse, or what of the arguments does not fit.
pub fn prepare(
    kernel: &Kernel,
    set: Option<&ParamSet>,
    given: &[Given],
    grid: Option<[u32; 3]>,
) -> Result<Prepared, Vec<Mistake>> {
    prepare_knowing(kernel, set, given, grid, None)
}

/// As [`prepare`], where a variant of the kernel is at hand: it is not compiled again.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_knowing(
    kernel: &Kernel,
    set: Option<&ParamSet>,
    given: &[Given],
    grid: Option<[u32; 3]>,
    known: Option<(&ParamSet, &Checked)>,
) -> Result<Prepared, Vec<Mistake>> {
    let sets = kernel.listed().map_err(|errors| placed(kernel, &errors))?;
    let sets = match set {
        Some(set) => vec![set.clone()],
        None => sets,
    };
    let mut first = None;
    for set in sets {
        let known = known.filter(|(own, _)| **own == set).map(|(_, checked)| checked);
        match fitting(kernel, &set, given, grid, known) {
            Ok(prepared) => return Ok(prepared),
            Err(mistakes) => first = first.or(Some(mistakes)),
        }
    }
    Err(first.unwrap_or_else(|| nowhere("the attribute lists no parameter set")))
}

fn fitting(
    kernel: &Kernel,
    set: &ParamSet,
    given: &[Given],
    grid: Option<[u32; 3]>,
    known: Option<&Checked>,
) -> Result<Prepared, Vec<Mistake>> {
    let mut broken = None;
    for promises in promises(kernel) {
        let checked = match known.filter(|known| known.plan().promises == promises) {
            Some(known) => known.clone(),
            None => compile(kernel, set, promises).map_err(|errors| placed(kernel, &errors))?,
        };
        let plan = checked.plan();
        let memory = laid_out(plan, given)?;
        let own_grid = grid.filter(|_| !plan.has_grid());
        match plan.bind(&arguments(plan, given, &memory), own_grid) {
            Ok(bound) => return Ok(Prepared { checked, set: set.clone(), bound }),
            Err(error @ BindError::Promise(_)) => broken = Some(error),
            Err(error) => return Err(nowhere(error.to_string())),
        }
    }
    Err(nowhere(broken.map_or_else(String::new, |error| error.to_string())))
}

impl Prepared {
    /// Runs the launch on the simulator.
    ///
    /// # Errors
    /// What the simulator does not take: a grid beyond its size.
    pub fn run(&self, given: &[Given], options: &Options) -> Result<Outcome, Vec<Mistake>> {
        let plan = self.checked.plan();
        let mut memory = laid_out(plan, given)?;
        let mut list = simulated(plan, given, &mut memory);
        let report = simulate(&self.checked, &self.bound, &mut list, options);
        let report = report.map_err(|error| nowhere(error.to_string()))?;
        drop(list);
        let after =
            |((argument, given), memory): ((&PlanArgument, &Given), &Bytes)| match (&argument.kind, given) {
                (PlanArgumentKind::Tensor { elem, .. }, Given::Tensor(tensor)) => {
                    let found = data::values(*elem, &memory.bytes);
                    let values = offsets(&tensor.shape, &memory.strides).map(|at| found[at]).collect();
                    Some(Tensor { shape: tensor.shape.clone(), values })
                }
                _ => None,
            };
        let tensors = plan.arguments.iter().zip(given).zip(&memory).map(after).collect();
        Ok(Outcome { tensors, report })
    }

    /// The timelines of the launch on the simulator: see [`timelines`].
    ///
    /// # Errors
    /// As [`Prepared::run`].
    pub fn timelines(&self, given: &[Given], options: &Options) -> Result<Vec<Timeline>, Vec<Mistake>> {
        let plan = self.checked.plan();
        let mut memory = laid_out(plan, given)?;
        let list = simulated(plan, given, &mut memory);
        timelines(&self.checked, &self.bound, &list, options).map_err(|error| nowhere(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWICE: &str = "#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
fn twice<const N: usize>(x: &LayoutTensor<i32, ColMajor<N, 2>>, y: &mut LayoutTensor<f32, RowMajor<N, 2>>, by: i32, at: usize) {
    let i = block_idx.x * 32 + thread_idx.x;
    if i < N {
        y[[i, 0]] = (by * x[[i, 1]]) as f32;
        y[[i, 1]] = at as f32;
    }
}";

    fn arguments() -> Vec<Given> {
        vec![
            Tensor::of(&[3, 2], |i| i as f64).into(),
            Tensor::unwritten(&[3, 2]).into(),
            Given::Scalar(2.0),
            Given::Index(7),
        ]
    }

    #[test]
    fn a_text_runs() {
        let kernel = read(TWICE).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
        let prepared = prepare(&kernel, None, &arguments(), None).unwrap_or_else(|m| panic!("{m:?}"));
        let outcome = prepared.run(&arguments(), &Options::default()).unwrap_or_else(|m| panic!("{m:?}"));
        assert!(outcome.report.clean(), "{}", outcome.report);
        let wanted = Tensor::new(&[3, 2], vec![2.0, 7.0, 6.0, 7.0, 10.0, 7.0]);
        assert_eq!(outcome.tensors[1], Some(wanted));
        assert_eq!(
            outcome.tensors[0],
            Some(Tensor::of(&[3, 2], |i| i as f64)),
            "a tensor by columns comes back"
        );
    }

    #[test]
    fn arguments_that_do_not_fit_are_reported() {
        let kernel = read(TWICE).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
        let mut wrong = arguments();
        wrong[0] = Given::Index(1);
        let message = |given: &[Given]| match prepare(&kernel, None, given, None) {
            Ok(_) => String::new(),
            Err(mistakes) => mistakes[0].to_string(),
        };
        assert!(message(&wrong).contains("argument `x` is a tensor of i32"), "{}", message(&wrong));
        assert!(message(&wrong[1..]).contains("takes 4 arguments, 3 are given"));
        wrong[0] = Tensor::of(&[4, 2], |_| 0.0).into();
        assert!(message(&wrong).contains('4'), "{}", message(&wrong));
        let bad = read(&TWICE.replace("i < N", "i < Q")).expect_err("no Q");
        assert_eq!((bad[0].start.line, bad[0].start.column), (4, 12), "{}", bad[0]);
    }
}
