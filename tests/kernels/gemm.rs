//! Hopper's matrix products. TMA wants addresses and pitches of 16 bytes: the tensors are pitched so, and a
//! skewed one begins 16 bytes later.

use super::examples::product;
use crate::support::case::{Case, Outcome, Run};
use crate::support::data::{Operand, doubles, floats, untouched};
use layout_core::kernel::{Elem, ParamValue};
use layout_cuda::{E4m3, Element, Error, TensorView, TensorViewMut, bf16, f16};
use layout_examples::kernels::gemm::{gemm, gemm_by_columns, gemm_swapped};
use layout_examples::kernels::{gemm_pair, gemm_split, sgemm_fed, sgemm_sliced_fed};

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

/// The cases, one for each element type; f16, which differs from bf16 in its rounding alone, at the larger sizes.
pub fn cases() -> Vec<Case> {
    let (large, large_split) = (SIZES[5..].to_vec(), SPLIT_SIZES[5..].to_vec());
    vec![
        Case::new(&gemm::DEFINITION, SIZES.to_vec(), |run| either::<bf16>(run, bf16::from_f64))
            .of(Elem::Bf16),
        Case::new(&gemm::DEFINITION, large, |run| either::<f16>(run, f16::from_f64)).of(Elem::F16),
        Case::new(&gemm_by_columns::DEFINITION, SIZES.to_vec(), |run| columns(run, bf16::from_f32))
            .of(Elem::Bf16),
        Case::new(&gemm_by_columns::DEFINITION, SIZES.to_vec(), |run| columns(run, |value| value))
            .of(Elem::F32),
        Case::new(&gemm_by_columns::DEFINITION, SIZES.to_vec(), |run| columns(run, E4m3::from_f32))
            .of(Elem::E4m3),
        Case::new(&sgemm_fed::DEFINITION, SIZES.to_vec(), |run| {
            plain(run, |a, b, c| sgemm_fed::launch_with(run.config(), &run.stream(), a, b, c))
        }),
        Case::new(&sgemm_sliced_fed::DEFINITION, SIZES.to_vec(), |run| {
            plain(run, |a, b, c| sgemm_sliced_fed::launch_with(run.config(), &run.stream(), a, b, c))
        }),
        Case::new(&gemm_swapped::DEFINITION, SIZES.to_vec(), swapped),
        Case::new(&gemm_pair::DEFINITION, SPLIT_SIZES.to_vec(), |run| pair::<bf16>(run, bf16::from_f64))
            .of(Elem::Bf16),
        Case::new(&gemm_pair::DEFINITION, large_split.clone(), |run| pair::<f16>(run, f16::from_f64))
            .of(Elem::F16),
        Case::new(&gemm_split::DEFINITION, SPLIT_SIZES.to_vec(), |run| split::<bf16>(run, bf16::from_f64))
            .of(Elem::Bf16),
        Case::new(&gemm_split::DEFINITION, large_split, |run| split::<f16>(run, f16::from_f64)).of(Elem::F16),
    ]
}

/// In float32 in full.
fn plain(
    run: &Run<'_>,
    launch: impl Fn(
        &TensorView<'_, f32, 2>,
        &TensorView<'_, f32, 2>,
        &mut TensorViewMut<'_, f32, 2>,
    ) -> Result<(), Error>,
) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let a = matrix(run, &floats(m * k, 3), [m, k])?;
    let b = matrix(run, &floats(k * n, 4), [k, n])?;
    let mut c = matrix(run, &vec![untouched::<f32>(); m * n], [m, n])?;
    launch(&a.view()?, &b.view()?, &mut c.view_mut()?)?;
    Ok(Outcome::within(0.0, c.read()?, product(&doubles(m * k, 3), &doubles(k * n, 4), run.size)))
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

/// The same, by columns where the set's parameter `mode` says so.
fn lying<T: Element>(
    run: &Run<'_>,
    mode: &str,
    values: &[T],
    shape: [usize; 2],
) -> Result<Operand<T, 2>, Error> {
    if run.set.get(mode) == Some(ParamValue::Int(1)) {
        return matrix(run, values, shape);
    }
    let sixteen = 16 / size_of::<T>();
    let pitch = shape[0].next_multiple_of(sixteen).max(sixteen);
    Operand::new(run.device, values, run.skew * sixteen, shape, [1, pitch])
}

fn either<T: Element>(run: &Run<'_>, round: fn(f64) -> T) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let rounded = |values: Vec<f64>| values.into_iter().map(round).collect::<Vec<T>>();
    let a = lying(run, "A_MODE", &rounded(doubles(m * k, 3)), [m, k])?;
    let b = lying(run, "B_MODE", &rounded(doubles(k * n, 4)), [k, n])?;
    let mut c = matrix(run, &vec![untouched::<T>(); m * n], [m, n])?;
    gemm::launch_with(run.config(), &run.stream(), &a.view()?, &b.view()?, &mut c.view_mut()?)?;
    let wanted = product(&doubles(m * k, 3), &doubles(k * n, 4), [m, n, k]);
    Ok(Outcome::exact(c.read()?, rounded(wanted)))
}

fn split<T: Element>(run: &Run<'_>, round: fn(f64) -> T) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let rounded = |values: Vec<f64>| values.into_iter().map(round).collect::<Vec<T>>();
    let a = lying(run, "A_MODE", &rounded(doubles(m * k, 3)), [m, k])?;
    let b = lying(run, "B_MODE", &rounded(doubles(k * n, 4)), [k, n])?;
    let mut c = run.tensor(&vec![untouched::<T>(); m * n], [m, n])?;
    gemm_split::launch_with(run.config(), &run.stream(), &a.view()?, &b.view()?, &mut c.view_mut()?)?;
    let wanted = product(&doubles(m * k, 3), &doubles(k * n, 4), [m, n, k]);
    Ok(Outcome::exact(c.read()?, rounded(wanted)))
}

fn pair<T: Element>(run: &Run<'_>, round: fn(f64) -> T) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let rounded = |values: Vec<f64>| values.into_iter().map(round).collect::<Vec<T>>();
    let a = lying(run, "A_MODE", &rounded(doubles(m * k, 3)), [m, k])?;
    let b = lying(run, "B_MODE", &rounded(doubles(k * n, 4)), [k, n])?;
    let mut c = run.tensor(&vec![untouched::<T>(); m * n], [m, n])?;
    gemm_pair::launch_with(run.config(), &run.stream(), &a.view()?, &b.view()?, &mut c.view_mut()?)?;
    let wanted = product(&doubles(m * k, 3), &doubles(k * n, 4), [m, n, k]);
    Ok(Outcome::exact(c.read()?, rounded(wanted)))
}

fn swapped(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let (a, b) = (matrix(run, &floats(m * k, 3), [m, k])?, matrix(run, &floats(k * n, 4), [k, n])?);
    let mut c = matrix(run, &vec![untouched::<f32>(); m * n], [m, n])?;
    gemm_swapped::launch_with(run.config(), &run.stream(), &a.view()?, &b.view()?, &mut c.view_mut()?)?;
    let wanted = product(&doubles(m * k, 3), &doubles(k * n, 4), [m, n, k]);
    Ok(Outcome::exact(c.read()?, wanted.into_iter().map(|value| value as f32)))
}

/// B by columns: row `j` of the tensor is column `j` of the matrix.
fn columns<T: Element>(run: &Run<'_>, round: fn(f32) -> T) -> Result<Outcome, Error> {
    match run.set.get("U") {
        Some(ParamValue::Type(Elem::F32)) => columns_to::<T, f32>(run, round, |value| value as f32),
        _ => columns_to::<T, bf16>(run, round, bf16::from_f64),
    }
}

fn columns_to<T: Element, U: Element>(
    run: &Run<'_>,
    round: fn(f32) -> T,
    result: fn(f64) -> U,
) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let rounded = |values: Vec<f32>| values.into_iter().map(round).collect::<Vec<T>>();
    let a = matrix(run, &rounded(floats(m * k, 3)), [m, k])?;
    let b_values = floats(k * n, 4);
    let by_columns = (0..n * k).map(|at| b_values[at % k * n + at / k]).collect();
    let b = matrix(run, &rounded(by_columns), [n, k])?;
    let mut c = matrix(run, &vec![untouched::<U>(); m * n], [m, n])?;
    gemm_by_columns::launch_with(run.config(), &run.stream(), &a.view()?, &b.view()?, &mut c.view_mut()?)?;
    let wanted = product(&doubles(m * k, 3), &doubles(k * n, 4), [m, n, k]);
    Ok(Outcome::exact(c.read()?, wanted.into_iter().map(result)))
}
