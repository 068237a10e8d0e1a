//! Products of groups of rows. Groups are in thirds: none, a third, none, the rest but the last row, which is of no group.

use super::gemm::matrix;
use crate::support::case::{Case, Outcome, Run};
use crate::support::data::{Operand, doubles, untouched};
use layout_compiler::{Elem, ParamValue};
use layout_cuda::{Element, Error, bf16, f16};
use layout_kernels::kernels::grouped::{grouped_gemm, grouped_gemm_mma};

/// Empty in each mode, fewer rows than groups, groups one less, as many and one more than the rows of a tile.
const SIZES: [[usize; 3]; 7] =
    [[0, 256, 64], [128, 0, 64], [3, 8, 0], [2, 8, 1], [382, 264, 63], [385, 8, 64], [388, 72, 136]];

/// The same where rows of C may begin anywhere.
const ODD_SIZES: [[usize; 3]; 7] =
    [[0, 128, 32], [128, 0, 32], [3, 8, 0], [2, 1, 1], [382, 137, 63], [385, 8, 32], [388, 131, 101]];

/// Both kernels in both types.
pub fn cases() -> Vec<Case> {
    let fed = |sizes: &[[usize; 3]], run| Case::new(&grouped_gemm::DEFINITION, sizes.to_vec(), run);
    let by_warps = |sizes: &[[usize; 3]], run| Case::new(&grouped_gemm_mma::DEFINITION, sizes.to_vec(), run);
    vec![
        fed(&SIZES, |run| grouped(run, bf16::from_f64)).of(Elem::Bf16),
        fed(&SIZES[4..], |run| grouped(run, f16::from_f64)).of(Elem::F16),
        by_warps(&ODD_SIZES, |run| grouped(run, bf16::from_f64)).of(Elem::Bf16),
        by_warps(&ODD_SIZES[4..], |run| grouped(run, f16::from_f64)).of(Elem::F16),
    ]
}

/// The same kernels with the fewest stages and columns, and one block: more blocks of k than stages, more tiles than blocks, an edge. By warps
/// a tile ends with copies to the stages that the next one fills first.
pub fn smallest() -> Vec<Case> {
    let fed = |direct| {
        let case = Case::new(&grouped_gemm::DEFINITION, vec![[390, 72, 200], [385, 8, 72]], |run| {
            grouped(run, bf16::from_f64)
        });
        let numbers = [("MODE", 2), ("BN", 128), ("STAGES", 2), ("SLABS", 1), ("SMS", 1)];
        case.at(&numbers, &[("T", ParamValue::Type(Elem::Bf16)), ("DIRECT", ParamValue::Bool(direct))])
    };
    let by_warps =
        Case::new(&grouped_gemm_mma::DEFINITION, vec![[390, 72, 184]], |run| grouped(run, bf16::from_f64));
    let tiles = [("MODE", 2), ("BM", 64), ("BN", 64), ("WM", 32), ("WN", 32), ("STAGES", 3), ("SMS", 1)];
    vec![fed(false), fed(true), by_warps.at(&tiles, &[("T", ParamValue::Type(Elem::Bf16))])]
}

fn grouped<T: Element>(run: &Run<'_>, round: fn(f64) -> T) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let third = m / 3;
    let ends = [0, third, third, m.saturating_sub(1)];
    let rounded = |values: Vec<f64>| values.into_iter().map(round).collect::<Vec<T>>();
    let (of_a, of_b) = (doubles(m * k, 3), doubles(ends.len() * k * n, 4));
    let fed = run.set.get("DIRECT").is_some();
    let direct = !fed || run.set.get("DIRECT") == Some(ParamValue::Bool(true));
    let place =
        |values: &[T], shape| if direct { run.tensor(values, shape) } else { matrix(run, values, shape) };
    let a = if fed {
        matrix(run, &rounded(of_a.clone()), [m, k])?
    } else {
        run.tensor(&rounded(of_a.clone()), [m, k])?
    };
    let sixteen = 16 / size_of::<T>();
    let pitch =
        |extent: usize| if fed { extent.next_multiple_of(sixteen).max(sixteen) } else { extent.max(1) };
    let strides = match run.number("MODE") {
        2 => [k.max(1) * pitch(n), pitch(n), 1],
        _ => [n.max(1) * pitch(k), 1, pitch(k)],
    };
    let start = run.skew * if fed { sixteen } else { 1 };
    let b = Operand::new(run.device, &rounded(of_b.clone()), start, [ends.len(), k, n], strides)?;
    let on_ends = run.tensor(&ends.map(|end| end as i32), [ends.len()])?;
    let mut c = place(&vec![untouched::<T>(); m * n], [m, n])?;
    let (config, stream) = (run.config(), run.stream());
    let (on_a, on_b, on_ends) = (a.view()?, b.view()?, on_ends.view()?);
    let mut to = c.view_mut()?;
    match fed {
        true => grouped_gemm::launch_with(config, &stream, &on_a, &on_b, &on_ends, &mut to)?,
        false => grouped_gemm_mma::launch_with(config, &stream, &on_a, &on_b, &on_ends, &mut to)?,
    }
    let wanted = (0..m * n).map(|at| {
        let (row, column) = (at / n, at % n);
        match ends.iter().position(|end| row < *end) {
            Some(group) => round(
                (0..k)
                    .map(|l| of_a[row * k + l] * of_b[(group * k + l) * n + column])
                    .fold(0.0, |x, y| x + y),
            ),
            None => untouched(),
        }
    });
    let found = c.read()?;
    Ok(Outcome::exact(found, wanted))
}
