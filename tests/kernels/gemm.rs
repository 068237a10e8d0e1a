//! Hopper's and Blackwell's matrix products. TMA wants addresses and pitches of 16 bytes: the tensors are pitched so, and a
//! skewed one begins 16 bytes later.

use super::examples::product;
use crate::support::case::{Case, Outcome, Run};
use crate::support::data::{Operand, doubles, untouched};
use layout_compiler::{Elem, ParamValue};
use layout_cuda::{E4m3, Element, Error, TensorView, TensorViewMut, bf16, f16};
use layout_kernels::kernels::gemm::{gemm, gemm_swapped, gemm_then};
use layout_kernels::kernels::gemm_mma::{gemm_mma, gemm_mma_then};
use layout_kernels::kernels::gemm_tcgen05::{gemm_tcgen05, gemm_tcgen05_then};
use layout_kernels::kernels::{few_rows, gemm_pair, gemm_split, sgemm_fed};

/// Empty in each mode, the smallest, one tile, one around it, several tiles and stages. TMA writes whole 16
/// bytes, so rows of C are of these: a host function moves others.
const SIZES: [[usize; 3]; 8] = [
    [0, 256, 64],
    [128, 0, 64],
    [128, 256, 0],
    [1, 8, 1],
    [128, 256, 64],
    [127, 248, 63],
    [129, 264, 65],
    [200, 272, 520],
];

/// The same where C is stored by the threads, and may have any rows; fewer columns of A than blocks share.
const SPLIT_SIZES: [[usize; 3]; 8] = [
    [0, 256, 64],
    [128, 0, 64],
    [128, 128, 0],
    [1, 1, 1],
    [128, 128, 256],
    [127, 131, 130],
    [129, 12, 65],
    [200, 137, 1100],
];

/// The same of few rows.
const FEW_SIZES: [[usize; 3]; 8] =
    [[0, 40, 64], [3, 0, 64], [3, 40, 0], [1, 1, 1], [1, 15, 63], [8, 16, 512], [9, 17, 520], [17, 33, 1030]];

/// Operands of 8 bits are of whole vectors of 16 bytes along `k`.
const BYTE_SIZES: [[usize; 3]; 7] =
    [[0, 128, 64], [128, 0, 64], [128, 128, 0], [1, 1, 16], [128, 128, 64], [129, 127, 80], [200, 133, 304]];

/// The cases, one for each element type; f16, which differs from bf16 in its rounding alone, at the larger sizes.
pub fn cases() -> Vec<Case> {
    let (large, large_split) = (SIZES[5..].to_vec(), SPLIT_SIZES[5..].to_vec());
    let case = |run| Case::new(&gemm::DEFINITION, SIZES.to_vec(), run);
    vec![
        case(|run| any::<bf16>(run, bf16::from_f64)).of(Elem::Bf16),
        Case { sizes: large, ..case(|run| any::<f16>(run, f16::from_f64)).of(Elem::F16) },
        case(|run| any(run, |value| value as f32)).of(Elem::F32),
        case(|run| any(run, |value| E4m3::from_f32(value as f32))).of(Elem::E4m3),
        Case::new(&sgemm_fed::DEFINITION, SIZES.to_vec(), |run| {
            by(run, float32, float32, matrix, |a, b, c| {
                sgemm_fed::launch_with(run.config(), &run.stream(), a, b, c)
            })
        }),
        Case::new(&gemm_swapped::DEFINITION, SIZES.to_vec(), |run| {
            by(run, float32, float32, matrix, |a, b, c| {
                gemm_swapped::launch_with(run.config(), &run.stream(), a, b, c)
            })
        }),
        Case::new(&gemm_mma::DEFINITION, SPLIT_SIZES.to_vec(), |run| by_warps(run, bf16::from_f64))
            .of(Elem::Bf16),
        Case::new(&gemm_mma::DEFINITION, large_split.clone(), |run| by_warps(run, f16::from_f64))
            .of(Elem::F16),
        Case::new(&gemm_mma::DEFINITION, BYTE_SIZES.to_vec(), bytes_by_warps).of(Elem::E4m3),
        Case::new(&gemm_mma::DEFINITION, BYTE_SIZES.to_vec(), |run| {
            by(
                run,
                |value| (4.0 * value) as i8,
                |value| (16.0 * value) as i32,
                anywhere,
                |a, b, c| gemm_mma::launch_with(run.config(), &run.stream(), a, b, c),
            )
        })
        .of(Elem::I8),
        Case::new(&gemm_tcgen05::DEFINITION, SIZES.to_vec(), |run| any::<bf16>(run, bf16::from_f64))
            .of(Elem::Bf16),
        Case::new(&gemm_tcgen05::DEFINITION, SIZES[5..].to_vec(), |run| any::<f16>(run, f16::from_f64))
            .of(Elem::F16),
        Case::new(&gemm_tcgen05::DEFINITION, SIZES.to_vec(), |run| {
            any(run, |value| E4m3::from_f32(value as f32))
        })
        .of(Elem::E4m3),
        Case::new(&few_rows::DEFINITION, FEW_SIZES.to_vec(), |run| few(run, bf16::from_f64)).of(Elem::Bf16),
        Case::new(&few_rows::DEFINITION, FEW_SIZES[4..].to_vec(), |run| few(run, f16::from_f64))
            .of(Elem::F16),
        Case::new(&gemm_pair::DEFINITION, SPLIT_SIZES.to_vec(), |run| pair(run, bf16::from_f64))
            .of(Elem::Bf16),
        Case::new(&gemm_pair::DEFINITION, large_split.clone(), |run| pair(run, f16::from_f64)).of(Elem::F16),
        Case::new(&gemm_split::DEFINITION, SPLIT_SIZES.to_vec(), |run| split(run, bf16::from_f64))
            .of(Elem::Bf16),
        Case::new(&gemm_split::DEFINITION, large_split, |run| split(run, f16::from_f64)).of(Elem::F16),
    ]
}

/// The same kernels with the fewest stages and columns, and one block: more blocks of k than stages, more tiles than blocks, an edge.
pub fn smallest() -> Vec<Case> {
    let gemm_of = |others: &[(&str, ParamValue)]| {
        let numbers = [("A_MODE", 1), ("B_MODE", 1), ("BN", 128), ("STAGES", 2), ("SLABS", 1), ("SMS", 1)];
        let case = Case::new(&gemm::DEFINITION, vec![[130, 72, 200]], |run| any::<bf16>(run, bf16::from_f64));
        case.at(&numbers, others)
    };
    let tensor_memory = |mode: usize, direct: bool| {
        let numbers =
            [("A_MODE", mode), ("B_MODE", mode), ("BN", 128), ("STAGES", 2), ("BUFFERS", 1), ("SMS", 1)];
        let size = vec![[257, 136, 200]];
        let case = Case::new(&gemm_tcgen05::DEFINITION, size, |run| any::<bf16>(run, bf16::from_f64));
        case.at(&numbers, &[("DIRECT", ParamValue::Bool(direct))])
    };
    let ring = [("STAGES", 2)];
    let then = |t: Elem, u: Elem, s: Elem, v: Elem, function: &'static str, mode: usize| {
        let numbers = [("B_MODE", mode), ("STAGES", 2), ("SMS", 1)];
        let types = [("T", t), ("U", u), ("S", s), ("V", v)].map(|(name, ty)| (name, ParamValue::Type(ty)));
        let others = [&types[..], &[("EPILOGUE", ParamValue::Function(function))]].concat();
        (numbers, others)
    };
    let (numbers, others) = then(Elem::Bf16, Elem::E4m3, Elem::F32, Elem::F32, "scaled", 1);
    let bytes = Case::new(&gemm_then::DEFINITION, vec![[130, 144, 200]], followed::<E4m3, f32>);
    let (numbers_beside, others_beside) = then(Elem::Bf16, Elem::Bf16, Elem::F32, Elem::Bf16, "plus", 1);
    let beside = Case::new(&gemm_then::DEFINITION, vec![[130, 136, 200]], followed::<bf16, bf16>);
    let (types, functions) = (numbers_beside[0], others_beside.clone());
    let by_warps = Case::new(&gemm_mma_then::DEFINITION, vec![[130, 136, 200]], followed::<bf16, bf16>);
    let of_tensor_memory =
        Case::new(&gemm_tcgen05_then::DEFINITION, vec![[130, 136, 200]], followed::<bf16, bf16>);
    let others_of_it: Vec<_> = others_beside.iter().copied().filter(|(name, _)| *name != "S").collect();
    vec![
        by_warps.at(&[types], &functions),
        tensor_memory(1, false),
        tensor_memory(0, true),
        of_tensor_memory.at(&[("BN", 128), ("STAGES", 2), ("SMS", 1)], &others_of_it),
        gemm_of(&[("DIRECT", ParamValue::Bool(false))]),
        gemm_of(&[("DIRECT", ParamValue::Bool(true))]),
        bytes.at(&numbers, &others),
        beside.at(&numbers_beside, &others_beside),
        Case::new(&gemm_swapped::DEFINITION, vec![[70, 64, 160]], |run| {
            by(run, float32, float32, matrix, |a, b, c| {
                gemm_swapped::launch_with(run.config(), &run.stream(), a, b, c)
            })
        })
        .at(&[("BM", 64), ("STAGES", 2), ("SMS", 1)], &[]),
        Case::new(&gemm_pair::DEFINITION, vec![[70, 63, 260]], |run| pair(run, bf16::from_f64))
            .at(&ring, &[]),
        Case::new(&gemm_split::DEFINITION, vec![[70, 63, 400]], |run| split(run, bf16::from_f64))
            .at(&ring, &[]),
    ]
}

/// By `gemm_then`, by `gemm_tcgen05_then`, whose sets have no `SLABS`, or by `gemm_mma_then`, whose sets have no `SMS`, to be held against the kernel itself: `tests/epilogues.rs` holds that against its definition.
fn followed<U: Element, V: Element>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let rounded = |count, seed| doubles(count, seed).into_iter().map(bf16::from_f64).collect::<Vec<bf16>>();
    let a = matrix(run, &rounded(m * k, 3), [m, k])?;
    let b = matrix(run, &rounded(k * n, 4), [k, n])?;
    let (columns, rows) = (run.output::<V, 1>([0])?, run.output::<f32, 1>([0])?);
    let own = run.set.get("BESIDE") == Some(ParamValue::Bool(true));
    let beside = if own { vec![V::from_bits(0x3f80); m * n] } else { Vec::new() };
    let beside = matrix(run, &beside, if own { [m, n] } else { [0, 0] })?;
    let mut c = matrix(run, &vec![untouched::<U>(); m * n], [m, n])?;
    let (config, stream) = (run.config(), run.stream());
    let (a, b, columns, rows, beside) = (a.view()?, b.view()?, columns.view()?, rows.view()?, beside.view()?);
    let mut to = c.view_mut()?;
    match ["SLABS", "SMS"].map(|name| run.set.get(name).is_some()) {
        [true, _] => {
            gemm_then::launch_with(config, &stream, &a, &b, &columns, &rows, &beside, &mut to, 0.125)?;
        }
        [false, true] => {
            gemm_tcgen05_then::launch_with(
                config, &stream, &a, &b, &columns, &rows, &beside, &mut to, 0.125,
            )?;
        }
        [false, false] => {
            gemm_mma_then::launch_with(config, &stream, &a, &b, &columns, &rows, &beside, &mut to, 0.125)?;
        }
    }
    Ok(Outcome::own(c.read()?))
}

fn float32(value: f64) -> f32 {
    value as f32
}

/// A matrix whose rows begin at multiples of 16 bytes.
pub(super) fn matrix<T: Element>(
    run: &Run<'_>,
    values: &[T],
    shape: [usize; 2],
) -> Result<Operand<T, 2>, Error> {
    let sixteen = 16 / size_of::<T>();
    let pitch = shape[1].next_multiple_of(sixteen).max(sixteen);
    Operand::new(run.device, values, run.skew * sixteen, shape, [pitch, 1])
}

/// A matrix whose rows begin anywhere.
fn anywhere<T: Element>(run: &Run<'_>, values: &[T], shape: [usize; 2]) -> Result<Operand<T, 2>, Error> {
    run.tensor(values, shape)
}

/// The same as [`matrix`], by columns where the set's parameter `mode` says so.
fn by_mode<T: Element>(
    run: &Run<'_>,
    mode: &str,
    values: &[T],
    shape: [usize; 2],
) -> Result<Operand<T, 2>, Error> {
    if run.set.get(mode) != Some(ParamValue::Int(0)) {
        return matrix(run, values, shape);
    }
    let sixteen = 16 / size_of::<T>();
    let pitch = shape[0].next_multiple_of(sixteen).max(sixteen);
    Operand::new(run.device, values, run.skew * sixteen, shape, [1, pitch])
}

/// Puts a matrix of these values and extents into memory.
type Place<U> = fn(&Run<'_>, &[U], [usize; 2]) -> Result<Operand<U, 2>, Error>;

/// A product by `launch`: of operands that are as the set says, rounded, to a C that is as `place` puts it.
fn by<T: Element, U: Element>(
    run: &Run<'_>,
    round: fn(f64) -> T,
    result: fn(f64) -> U,
    place: Place<U>,
    launch: impl Fn(
        &TensorView<'_, T, 2>,
        &TensorView<'_, T, 2>,
        &mut TensorViewMut<'_, U, 2>,
    ) -> Result<(), Error>,
) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let rounded = |values: Vec<f64>| values.into_iter().map(round).collect::<Vec<T>>();
    let a = by_mode(run, "A_MODE", &rounded(doubles(m * k, 3)), [m, k])?;
    let b = by_mode(run, "B_MODE", &rounded(doubles(k * n, 4)), [k, n])?;
    let mut c = place(run, &vec![untouched::<U>(); m * n], [m, n])?;
    launch(&a.view()?, &b.view()?, &mut c.view_mut()?)?;
    let wanted = product(&doubles(m * k, 3), &doubles(k * n, 4), [m, n, k]);
    Ok(Outcome::exact(c.read()?, wanted.into_iter().map(result)))
}

/// By `gemm`, or by `gemm_tcgen05`, whose sets have no `SLABS`, to a C of the set's type.
fn any<T: Element>(run: &Run<'_>, round: fn(f64) -> T) -> Result<Outcome, Error> {
    fn to<T: Element, U: Element>(
        run: &Run<'_>,
        round: fn(f64) -> T,
        result: fn(f64) -> U,
    ) -> Result<Outcome, Error> {
        by(run, round, result, matrix, |a, b, c| match run.set.get("SLABS") {
            Some(_) => gemm::launch_with(run.config(), &run.stream(), a, b, c),
            None => gemm_tcgen05::launch_with(run.config(), &run.stream(), a, b, c),
        })
    }
    match run.set.get("U") {
        Some(ParamValue::Type(Elem::F32)) => to(run, round, float32),
        Some(ParamValue::Type(Elem::F16)) => to(run, round, f16::from_f64),
        _ => to(run, round, bf16::from_f64),
    }
}

fn split<T: Element>(run: &Run<'_>, round: fn(f64) -> T) -> Result<Outcome, Error> {
    by(run, round, round, anywhere, |a, b, c| gemm_split::launch_with(run.config(), &run.stream(), a, b, c))
}

fn by_warps<T: Element>(run: &Run<'_>, round: fn(f64) -> T) -> Result<Outcome, Error> {
    by(run, round, round, anywhere, |a, b, c| gemm_mma::launch_with(run.config(), &run.stream(), a, b, c))
}

/// To a C of the set's type.
fn bytes_by_warps(run: &Run<'_>) -> Result<Outcome, Error> {
    fn to<U: Element>(run: &Run<'_>, result: fn(f64) -> U) -> Result<Outcome, Error> {
        by(
            run,
            |value| E4m3::from_f32(value as f32),
            result,
            anywhere,
            |a, b, c| gemm_mma::launch_with(run.config(), &run.stream(), a, b, c),
        )
    }
    match run.set.get("U") {
        Some(ParamValue::Type(Elem::F32)) => to(run, float32),
        _ => to(run, bf16::from_f64),
    }
}

/// B by columns, as the kernel takes it.
fn few<T: Element>(run: &Run<'_>, round: fn(f64) -> T) -> Result<Outcome, Error> {
    let by_columns = run.set.clone().with("B_MODE", ParamValue::Int(0));
    let operands = Run { set: &by_columns, ..*run };
    by(&operands, round, round, anywhere, |a, b, c| {
        few_rows::launch_with(run.config(), &run.stream(), a, b, c)
    })
}

fn pair<T: Element>(run: &Run<'_>, round: fn(f64) -> T) -> Result<Outcome, Error> {
    by(run, round, round, anywhere, |a, b, c| gemm_pair::launch_with(run.config(), &run.stream(), a, b, c))
}
