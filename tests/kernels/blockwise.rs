//! Products of 8-bit floats with scales of blocks: powers of two, with which the sums are exact.

use super::examples::product;
use super::gemm::matrix;
use crate::support::case::{Case, Outcome, Run};
use crate::support::data::{Operand, doubles, untouched};
use layout_compiler::{Elem, ParamValue};
use layout_cuda::{E4m3, Element, Error, bf16, f16};
use layout_kernels::kernels::blockwise::gemm_blockwise;

/// Empty in each mode, the smallest, one tile and one block, one around them, several of each.
const SIZES: [[usize; 3]; 7] =
    [[0, 128, 16], [128, 0, 16], [128, 128, 0], [1, 8, 1], [128, 128, 128], [127, 136, 127], [130, 264, 400]];

/// The cases, one for each element type.
pub fn cases() -> Vec<Case> {
    let case = |sizes: &[[usize; 3]], run| Case::new(&gemm_blockwise::DEFINITION, sizes.to_vec(), run);
    vec![
        case(&SIZES, |run| scaled(run, bf16::from_f64)).with("U", ParamValue::Type(Elem::Bf16)),
        case(&SIZES[5..], |run| scaled(run, f16::from_f64)).with("U", ParamValue::Type(Elem::F16)),
    ]
}

/// The fewest stages and one block: more blocks of k than stages, more tiles than blocks, an edge.
pub fn smallest() -> Vec<Case> {
    let of = |direct| {
        let case = Case::new(&gemm_blockwise::DEFINITION, vec![[130, 72, 400], [128, 8, 144]], |run| {
            scaled(run, bf16::from_f64)
        });
        let numbers = [("BN", 64), ("STAGES", 2), ("SLABS", 1), ("SMS", 1)];
        case.at(&numbers, &[("U", ParamValue::Type(Elem::Bf16)), ("DIRECT", ParamValue::Bool(direct))])
    };
    vec![of(false), of(true)]
}

fn scaled<U: Element>(run: &Run<'_>, round: fn(f64) -> U) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let (blocks, wide) = (k.div_ceil(128), n.div_ceil(128));
    let (of_a, of_b) = (doubles(m * k, 3), doubles(k * n, 4));
    let powers = |count: usize, seed: usize| {
        (0..count).map(|i| ((i * 31 + seed) / 3 % 4) as f64 - 2.0).map(f64::exp2).collect::<Vec<f64>>()
    };
    let (a_scales, b_scales) = (powers(m * blocks, 1), powers(blocks * wide, 2));
    let eight = |values: &[f64]| values.iter().map(|x| E4m3::from_f32(*x as f32)).collect::<Vec<_>>();
    let single = |values: &[f64]| values.iter().map(|x| *x as f32).collect::<Vec<_>>();
    let a = matrix(run, &eight(&of_a), [m, k])?;
    let strides = [1, k.next_multiple_of(16).max(16)];
    let b = Operand::new(run.device, &eight(&of_b), 16 * run.skew, [k, n], strides)?;
    let (on_a, on_b) =
        (run.tensor(&single(&a_scales), [m, blocks])?, run.tensor(&single(&b_scales), [blocks, wide])?);
    let before = vec![untouched::<U>(); m * n];
    let direct = run.set.get("DIRECT") == Some(ParamValue::Bool(true));
    let mut c = if direct { run.tensor(&before, [m, n])? } else { matrix(run, &before, [m, n])? };
    gemm_blockwise::launch_with(
        run.config(),
        &run.stream(),
        &a.view()?,
        &b.view()?,
        &on_a.view()?,
        &on_b.view()?,
        &mut c.view_mut()?,
    )?;
    let scaled_a = (0..m * k).map(|at| of_a[at] * a_scales[at / k * blocks + at % k / 128]);
    let scaled_b = (0..k * n).map(|at| of_b[at] * b_scales[at / n / 128 * wide + at % n / 128]);
    let wanted = product(&scaled_a.collect::<Vec<_>>(), &scaled_b.collect::<Vec<_>>(), [m, n, k]);
    Ok(Outcome::exact(c.read()?, wanted.into_iter().map(round)))
}
