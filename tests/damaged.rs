//! Bytes that are not a kernel any more, and kernels, plans and bindings that somebody changed: refused, or something else;
//! never a panic.

use layout_compiler::ir::Kernel;
use layout_compiler::launch::{Extent, KernelParameter, LaunchPlan, PlanArgumentKind, PlanLayout};
use layout_compiler::{Bound, Constant, Definition, LaunchArgument, Promises, compile, emit, wire};
use layout_kernels::kernels::{resize, sgemm, tensor_core};
use layout_simulator::{Options, SimulatorArgument, simulate};
use layout_tests::support::data::noise;

/// So many places of a kernel at most are tried; each of those that survive is compiled.
const PLACES: usize = 1500;

/// Those of the ladder and the puzzles, and some of the library.
fn kernels() -> impl Iterator<Item = &'static Definition> {
    let some = [&resize::DEFINITION, &tensor_core::DEFINITION, &sgemm::DEFINITION];
    layout_examples::kernels::definitions().into_iter().chain(some)
}

/// Bytes all over every kernel, changed in one of three ways, and as many ways to cut it short.
#[test]
fn changed_bytes_never_panic() {
    let (mut refused, mut compiled, mut torn) = (0, 0, 0);
    for definition in kernels() {
        let step = definition.bytes.len().div_ceil(PLACES);
        let places = || (0..definition.bytes.len()).step_by(step).enumerate();
        let mut tried: Vec<Vec<u8>> = places().map(|(_, end)| definition.bytes[..end].to_vec()).collect();
        for (number, at) in places() {
            let mut bytes = definition.bytes.to_vec();
            bytes[at] ^= [1, 3, 0x80][number % 3];
            tried.push(bytes);
        }
        for bytes in tried {
            let changed = Definition { bytes: bytes.leak(), variants: &[], ..*definition };
            let Ok(kernel) = changed.kernel() else {
                refused += 1;
                // A kernel that somebody made of it all the same is refused by the stages.
                if let Ok(kernel) = wire::decode::<Kernel>(changed.bytes) {
                    let set = kernel.parameter_sets().into_iter().next().unwrap_or_default();
                    assert!(compile(&kernel, &set, Promises::USUAL).is_err());
                    torn += 1;
                }
                continue;
            };
            let set = kernel.parameter_sets().into_iter().next().unwrap_or_default();
            if let Ok(checked) = compile(&kernel, &set, Promises::USUAL) {
                assert!(!emit(&checked).text.is_empty());
                compiled += 1;
            }
        }
    }
    assert!(
        refused > 1000 && compiled > 100 && torn > 100,
        "{refused} refused, {torn} of them kernels, {compiled} compiled"
    );
}

/// A plan with one of its public numbers changed.
fn change(plan: &mut LaunchPlan, mut dice: impl FnMut() -> u64) {
    const NUMBERS: [u64; 6] = [0, 1, 2, 7, 1 << 31, u64::MAX];
    let which = dice() % 9;
    let (number, place) = (NUMBERS[(dice() % 6) as usize], dice() as usize);
    let argument = plan.arguments.len().checked_sub(1).map(|last| place % (last + 1));
    match (which, argument) {
        (0, _) => plan.dims.truncate(place % 2),
        (1, _) => plan.cluster = [number as u32; 3],
        (2, _) => plan.parameters.push(KernelParameter::Dim(number as u32)),
        (3, _) => {
            plan.parameters.push(KernelParameter::Stride { argument: number as u32, mode: place as u32 })
        }
        (4, _) => plan.parameters.push(KernelParameter::Index(number as u32)),
        (5, Some(argument)) => {
            if let PlanArgumentKind::Tensor { extents, .. } = &mut plan.arguments[argument].kind {
                extents.iter_mut().for_each(|extent| *extent = Extent::Dim(number as u32));
            }
        }
        (6, Some(argument)) => {
            if let PlanArgumentKind::Tensor { extents, .. } = &mut plan.arguments[argument].kind {
                extents.clear();
            }
        }
        (7, _) => plan.maps.iter_mut().for_each(|map| map.argument = number as u32),
        _ => plan.maps.iter_mut().for_each(|map| {
            map.modes.iter_mut().for_each(|mode| *mode = number as u32);
            map.extents.iter_mut().for_each(|extent| *extent = number as u32);
            assert!(map.bytes() > 0 || map.extents.contains(&0));
        }),
    }
}

/// The plans of the corpus, each changed in 300 ways, bound to tensors of odd shapes and strides.
#[test]
fn changed_plans_never_panic() {
    const EXTENTS: [usize; 8] = [0, 1, 3, 4, 64, 1 << 20, 1 << 32, usize::MAX];
    let (mut bound, mut refused) = (0, 0);
    for definition in kernels() {
        let kernel = definition.kernel().expect("bytes of this version");
        let set = kernel.parameter_sets().into_iter().next().unwrap_or_default();
        let checked = compile(&kernel, &set, Promises::USUAL).expect("a kernel of the examples");
        for seed in 0..300 {
            let mut random = noise(4096, seed);
            let mut dice = || random.next().unwrap_or(0);
            let mut plan = checked.plan().clone();
            if seed > 20 {
                change(&mut plan, &mut dice);
            }
            let numbers: Vec<([usize; 5], [usize; 5])> = (0..plan.arguments.len())
                .map(|_| {
                    let mut five = || std::array::from_fn(|_| EXTENTS[(dice() % 8) as usize]);
                    if seed % 2 == 0 { (five(), five()) } else { ([64; 5], [4096, 4096, 4096, 64, 1]) }
                })
                .collect();
            let arguments: Vec<LaunchArgument<'_>> = plan
                .arguments
                .iter()
                .zip(&numbers)
                .map(|(argument, (shape, strides))| match &argument.kind {
                    PlanArgumentKind::Tensor { elem, extents, .. } => LaunchArgument::Tensor {
                        elem: *elem,
                        shape: &shape[..extents.len()],
                        strides: &strides[5 - extents.len()..],
                        address: 1 << 20,
                        len: 1 << 50,
                    },
                    PlanArgumentKind::Scalar(elem) => LaunchArgument::Scalar(*elem, 1),
                    PlanArgumentKind::Index => LaunchArgument::Index(3),
                })
                .collect();
            match plan.bind(&arguments, (!plan.has_grid()).then_some([1; 3])) {
                Ok(_) => bound += 1,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    refused += 1;
                }
            }
        }
    }
    assert!(bound > 500 && refused > 500, "{bound} bound, {refused} refused");
}

/// What a launch was bound to, with one of its public numbers changed.
fn damage(bound: &mut Bound, mut dice: impl FnMut() -> u64) {
    const NUMBERS: [i64; 6] = [0, 1, -1, 5, i64::MAX, i64::MIN];
    let number = NUMBERS[(dice() % 6) as usize];
    match dice() % 7 {
        0 => bound.dims.truncate((dice() % 2) as usize),
        1 => bound.dims.fill(number),
        2 => bound.values.truncate((dice() % 4) as usize),
        3 => bound.values.fill(number),
        4 => bound.block = [dice() as u32 % 40, dice() as u32 % 3, 1],
        5 => bound.maps.clear(),
        _ => bound.maps.iter_mut().for_each(|map| {
            map.extents.truncate((dice() % 3) as usize);
            map.strides.fill(number as u64);
        }),
    }
}

/// Every kernel of the corpus on the simulator with what it was bound to changed: an error, findings or other results.
#[test]
fn changed_bindings_never_panic() {
    let (mut refused, mut run) = (0, 0);
    for definition in layout_tests::kernels::definitions() {
        let kernel = definition.kernel().expect("bytes of this version");
        let set = kernel.parameter_sets().into_iter().next().unwrap_or_default();
        let checked = compile(&kernel, &set, Promises::USUAL).expect("a kernel of the corpus");
        let plan = checked.plan();
        let shapes: Vec<(Vec<usize>, Vec<usize>)> = plan.arguments.iter().map(shape_of).collect();
        let arguments: Vec<LaunchArgument<'_>> = plan
            .arguments
            .iter()
            .zip(&shapes)
            .map(|(argument, (shape, strides))| match &argument.kind {
                PlanArgumentKind::Tensor { elem, .. } => {
                    LaunchArgument::Tensor { elem: *elem, shape, strides, address: 0, len: 1 << 20 }
                }
                PlanArgumentKind::Scalar(elem) => LaunchArgument::Scalar(*elem, 1),
                PlanArgumentKind::Index => LaunchArgument::Index(3),
            })
            .collect();
        let Ok(whole) = plan.bind(&arguments, (!plan.has_grid()).then_some([1; 3])) else { continue };
        for seed in 0..8 {
            let mut random = noise(64, seed);
            let mut bound = whole.clone();
            bound.grid = bound.grid.map(|blocks| blocks.min(2));
            damage(&mut bound, || random.next().unwrap_or(0));
            let mut bytes: Vec<Vec<u8>> = plan.arguments.iter().map(|_| vec![0; 4096]).collect();
            let mut given: Vec<SimulatorArgument<'_>> = plan
                .arguments
                .iter()
                .zip(&mut bytes)
                .map(|(argument, bytes)| match &argument.kind {
                    PlanArgumentKind::Tensor { mutable: true, .. } => SimulatorArgument::Write(bytes),
                    PlanArgumentKind::Tensor { .. } => SimulatorArgument::Read(bytes),
                    PlanArgumentKind::Scalar(elem) => {
                        SimulatorArgument::Scalar(Constant { elem: *elem, bits: 1 })
                    }
                    PlanArgumentKind::Index => SimulatorArgument::Index(3),
                })
                .collect();
            let options = Options { max_steps: 2000, threads: 1, ..Options::default() };
            match simulate(&checked, &bound, &mut given, &options) {
                Ok(_) => run += 1,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    refused += 1;
                }
            }
        }
    }
    assert!(run > 100, "{run} run, {refused} refused");
}

/// A small compact shape for an argument of a plan.
fn shape_of(argument: &layout_compiler::launch::PlanArgument) -> (Vec<usize>, Vec<usize>) {
    let PlanArgumentKind::Tensor { extents, layout, .. } = &argument.kind else { return Default::default() };
    let extent = |extent: &Extent| match extent {
        Extent::Static(known) => usize::try_from(*known).unwrap_or(1),
        Extent::Dim(_) | Extent::Computed(_) => 16,
    };
    let shape: Vec<usize> = extents.iter().map(extent).collect();
    let mut strides = vec![1; shape.len()];
    let from_the_left = matches!(layout, PlanLayout::ColMajor | PlanLayout::Contiguous(0));
    let mut step = 1;
    for place in 0..shape.len() {
        let mode = if from_the_left { place } else { shape.len() - 1 - place };
        strides[mode] = step;
        step *= shape[mode];
    }
    (shape, strides)
}
