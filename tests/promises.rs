//! Variants differ in speed only.
//!
//! Law: for each kernel and parameter set, what the variant of each set of promises writes is the same, byte for byte, at
//! sizes where every promise holds and at others. A run takes a fifth of a kernel's sets, by `PROMISES_SEED`, and at least one;
//! `PROMISES=all` takes each.

use layout_compiler::launch::{Extent, PlanArgumentKind, PlanLayout};
use layout_compiler::{
    BindError, Checked, Constant, Definition, Elem, LaunchArgument, ParamSet, ParamValue, Promises, compile,
};
use layout_cuda::{bf16, f16};
use layout_simulator::{Options, SimulatorArgument, simulate};
use layout_tests::kernels::{cases, definitions, memory};
use layout_tests::support::case::Case;
use layout_tests::support::data::{floats, noise};
use std::collections::BTreeMap;

/// What a launch is given for one argument.
enum Given {
    Tensor { elem: Elem, shape: Vec<usize>, strides: Vec<usize>, bytes: Vec<u8>, mutable: bool },
    Scalar(Constant),
    Index(i64),
}

#[test]
fn variants_write_the_same() {
    let (cases, small) = (cases(), memory::smallest());
    let seed: u64 = std::env::var("PROMISES_SEED").map_or(0, |seed| seed.parse().expect("a number"));
    let all = std::env::var("PROMISES").is_ok_and(|which| which == "all");
    println!("PROMISES_SEED={seed}");
    for (kernel_number, definition) in (0u64..).zip(definitions()) {
        let kernel = definition.kernel().expect("bytes of this version");
        // Clusters of many threads take minutes: the corpus has smaller sets of these.
        let own = |cases: &[Case]| {
            let cases = cases.iter().filter(|case| std::ptr::eq(case.definition, definition));
            let sets: Option<Vec<ParamSet>> = cases.map(|case| case.own.clone()).collect();
            sets.filter(|sets| !sets.is_empty())
        };
        let mut sets =
            own(&small).or_else(|| own(&cases)).unwrap_or_else(|| kernel.parameter_sets().to_vec());
        // Of persistent blocks each has more to do.
        for set in sets.iter_mut().filter(|set| set.get("SMS").is_some()) {
            *set = set.clone().with("SMS", ParamValue::Int(4));
        }
        let first = seed.wrapping_add(kernel_number) % sets.len().max(1) as u64;
        sets.rotate_left(first as usize);
        let mut compared = 0;
        for (number, set) in sets.iter().enumerate() {
            // Beside the sample, sets are run until two variants were compared.
            if !all && number % SAMPLE != 0 && compared > 1 {
                continue;
            }
            // Once something was compared, one extent is enough for a set, another for each: the first at which it runs.
            let by_turns = compared > 1;
            let variants = Variants::of(definition, set);
            for which in 0..EXTENTS.len() {
                let count = variants.agree(EXTENTS[(number + which) % EXTENTS.len()]);
                compared += count;
                if by_turns && count > 1 {
                    break;
                }
            }
        }
        // Of the few that take whole tiles alone.
        if compared == 0 {
            compared = sets.iter().map(|set| Variants::of(definition, set).agree(TILE)).sum();
        }
        assert!(compared > 1, "{}: {compared} variants of it run at extents {EXTENTS:?}", definition.name);
    }
}

/// One of so many sets of a kernel is run.
const SAMPLE: usize = 5;

/// Odd, where nothing divides; even, so that every `variant_if` holds; rows of whole 16 bytes, as TMA needs
/// them; and small, for kernels that require it.
const EXTENTS: [usize; 4] = [37, 40, 48, 3];

/// What every tile of such kernels divides.
const TILE: usize = 256;

/// The variants of a parameter set, compiled.
struct Variants(String, Vec<(Promises, Checked)>);

impl Variants {
    fn of(definition: &Definition, set: &ParamSet) -> Variants {
        let kernel = definition.kernel().expect("bytes of this version");
        let promised = (0..kernel.variant_if.len() as u32).map(|number| (true, true, Some(number)));
        let plain = [(true, true, None), (true, false, None), (false, true, None), (false, false, None)];
        let compiled = |(narrow, aligned, variant_if)| {
            let promises = Promises { narrow, aligned, variant_if };
            (promises, compile(&kernel, set, promises).expect("a kernel that the macro compiled"))
        };
        let name = format!("{} {}", definition.name, set.key());
        Variants(name, plain.into_iter().chain(promised).map(compiled).collect())
    }

    /// Runs each with each dimension of this extent; gives their number.
    fn agree(&self, extent: usize) -> usize {
        let mut first: Option<Vec<Vec<u8>>> = None;
        let mut count = 0;
        for (promises, checked) in &self.1 {
            let written = match run(checked, extent) {
                Ok(written) => written,
                // Not for this extent, whatever the variant.
                Err(BindError::Require { .. } | BindError::Map { .. }) if count == 0 => return 0,
                Err(BindError::Promise(_)) if promises.variant_if.is_some() => continue,
                Err(error) => panic!("{} {promises:?}: {error}", self.0),
            };
            count += 1;
            match &first {
                None => first = Some(written),
                Some(first) => assert_eq!(&written, first, "{} {promises:?}", self.0),
            }
        }
        count
    }
}

/// The bytes of the tensors that a variant writes.
fn run(checked: &Checked, extent: usize) -> Result<Vec<Vec<u8>>, BindError> {
    let plan = checked.plan();
    // Of four dimensions a sixth each, so that there are not millions of elements.
    let extent = if plan.dims.len() > 3 { extent.div_ceil(6) } else { extent };
    // Extents that follow from others are what binding says.
    let mut computed: BTreeMap<(String, usize), usize> = BTreeMap::new();
    let all = |computed: &BTreeMap<(String, usize), usize>| -> Vec<Given> {
        let given = (0u64..).zip(&plan.arguments).map(|(number, argument)| match &argument.kind {
            PlanArgumentKind::Tensor { elem, mutable, layout, extents } => {
                let shape: Vec<usize> = (0..)
                    .zip(extents)
                    .map(|(mode, known)| match known {
                        Extent::Static(known) => usize::try_from(*known).expect("an extent"),
                        // A place for each part of each row.
                        Extent::Dim(dim) if plan.dims[*dim as usize] == "MEETING" => 8 * extent,
                        Extent::Dim(_) => extent,
                        Extent::Computed(_) => {
                            computed.get(&(argument.name.clone(), mode)).copied().unwrap_or(extent)
                        }
                    })
                    .collect();
                tensor(*elem, *mutable, *layout, shape, number)
            }
            PlanArgumentKind::Scalar(elem) => Given::Scalar(match elem.is_float() {
                true => Constant::float(*elem, 1.5).expect("a float"),
                false => Constant { elem: *elem, bits: 1 },
            }),
            PlanArgumentKind::Index => Given::Index(3),
        });
        given.collect()
    };
    let (mut given, bound) = loop {
        let given = all(&computed);
        let plain: Vec<LaunchArgument<'_>> = given
            .iter()
            .map(|given| match given {
                Given::Tensor { elem, shape, strides, bytes, .. } => {
                    let len = bytes.len() / elem.bytes() as usize;
                    LaunchArgument::Tensor { elem: *elem, shape, strides, address: 0, len }
                }
                Given::Scalar(constant) => LaunchArgument::Scalar(constant.elem, constant.bits),
                Given::Index(value) => LaunchArgument::Index(*value),
            })
            .collect();
        match plan.bind(&plain, (!plan.has_grid()).then_some([3, 1, 1])) {
            Err(BindError::Computed { argument, mode, expected: Some(expected), .. })
                if !computed.contains_key(&(argument.clone(), mode)) =>
            {
                computed.insert((argument, mode), usize::try_from(expected).expect("an extent"));
            }
            bound => break (given, bound?),
        }
    };
    let mut arguments: Vec<SimulatorArgument<'_>> = given
        .iter_mut()
        .map(|given| match given {
            Given::Tensor { bytes, mutable: true, .. } => SimulatorArgument::Write(bytes),
            Given::Tensor { bytes, .. } => SimulatorArgument::Read(bytes),
            Given::Scalar(constant) => SimulatorArgument::Scalar(*constant),
            Given::Index(value) => SimulatorArgument::Index(*value),
        })
        .collect();
    simulate(checked, &bound, &mut arguments, &Options::default()).expect("a launch that was bound");
    let written = given.into_iter().filter_map(|given| match given {
        Given::Tensor { bytes, mutable: true, .. } => Some(bytes),
        _ => None,
    });
    Ok(written.collect())
}

/// A tensor of small numbers whose rows are aligned where its layout leaves that open.
fn tensor(elem: Elem, mutable: bool, layout: PlanLayout, shape: Vec<usize>, seed: u64) -> Given {
    let rank = shape.len();
    let mut strides = vec![1; rank];
    let pitch = |extent: usize, last: bool| match layout {
        PlanLayout::Contiguous(_) | PlanLayout::Strided if last => extent.next_multiple_of(16),
        _ => extent,
    };
    let order: Vec<usize> = match layout {
        PlanLayout::ColMajor => (0..rank).collect(),
        // The contiguous mode first, and the others in any order.
        PlanLayout::Contiguous(first) => {
            std::iter::once(first).chain((0..rank).rev().filter(|mode| *mode != first)).collect()
        }
        _ => (0..rank).rev().collect(),
    };
    let mut step = 1;
    for (place, mode) in order.into_iter().enumerate() {
        strides[mode] = step;
        step *= pitch(shape[mode], place == 0);
    }
    let bytes: Vec<u8> = match elem {
        Elem::F32 => floats(step, seed).iter().flat_map(|value| value.to_le_bytes()).collect(),
        Elem::F64 => floats(step, seed).iter().flat_map(|value| f64::from(*value).to_le_bytes()).collect(),
        Elem::F16 => {
            floats(step, seed).iter().flat_map(|value| f16::from_f32(*value).to_le_bytes()).collect()
        }
        Elem::Bf16 => {
            floats(step, seed).iter().flat_map(|value| bf16::from_f32(*value).to_le_bytes()).collect()
        }
        Elem::Bool => noise(step, seed).map(|bits| (bits & 1) as u8).collect(),
        _ => noise(step, seed)
            .flat_map(|bits| (bits % 100).to_le_bytes()[..elem.bytes() as usize].to_vec())
            .collect(),
    };
    Given::Tensor { elem, shape, strides, bytes, mutable }
}
