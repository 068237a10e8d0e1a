//! Bisection of sorted rows, and elements by mask or run in one pass.

use crate::support::case::{Case, Outcome, Run};
use crate::support::data::{integers, untouched};
use crate::support::special::Float;
use layout_compiler::{Elem, ParamValue};
use layout_cuda::{Error, bf16};
use layout_kernels::kernels::selection::{keep, search};

/// Rows, their elements, values of a row.
const ROWS: [[usize; 3]; 6] = [[0, 3, 2], [2, 0, 3], [2, 3, 0], [1, 1, 1], [3, 40, 7], [2, 257, 300]];

/// Elements around a tile, the room for those that are kept, without a mask for the last.
const KEPT: [[usize; 3]; 7] =
    [[1, 1, 0], [31, 31, 1], [300, 7, 0], [4095, 4095, 0], [4096, 4096, 1], [4097, 4000, 0], [9000, 9000, 5]];

/// The cases of this file, one for each type.
pub fn cases() -> Vec<Case> {
    let of = |definition, sizes: &[[usize; 3]], run| Case::new(definition, sizes.to_vec(), run);
    vec![
        of(&search::DEFINITION, &ROWS, searched::<f32>).of(Elem::F32),
        of(&search::DEFINITION, &ROWS, searched::<bf16>).of(Elem::Bf16),
        of(&keep::DEFINITION, &KEPT, kept::<f32>).of(Elem::F32),
        of(&keep::DEFINITION, &KEPT, kept::<bf16>).of(Elem::Bf16),
    ]
}

fn values<T: Float>(count: usize, seed: u64, range: i64) -> Vec<T> {
    integers(count, seed, range).into_iter().map(|x| T::rounded(x as f64)).collect()
}

fn searched<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let (mut sorted, own) = (values::<T>(m * n, 1, 9), values::<T>(m * k, 2, 10));
    sorted.chunks_mut(n.max(1)).for_each(|row| row.sort_by(|a, b| a.wide().total_cmp(&b.wide())));
    let (on_sorted, on_own) = (run.tensor(&sorted, [m, n])?, run.tensor(&own, [m, k])?);
    let mut out = run.output::<u32, 2>([m, k])?;
    let (from, by, mut to) = (on_sorted.view()?, on_own.view()?, out.view_mut()?);
    search::launch_with(run.config(), &run.stream(), &from, &by, &mut to)?;
    let is_right = run.set.get("RIGHT") == Some(ParamValue::Bool(true));
    let wanted = (0..m * k).map(|at| {
        let value = own[at].wide();
        let is_before = |x: &&T| x.wide() < value || is_right && x.wide() == value;
        sorted[at / k * n..][..n].iter().filter(is_before).count() as u32
    });
    Ok(Outcome::exact(out.read()?, wanted.collect::<Vec<_>>()))
}

fn kept<T: Float>(run: &Run<'_>) -> Result<Outcome, Error> {
    let [n, room, seed] = run.size;
    let x = values::<T>(n, 3 + seed as u64, 1);
    let mask: Vec<u8> = integers(n - seed, 4, 1).into_iter().map(|x| x.unsigned_abs() as u8).collect();
    let (on_x, on_mask) = (run.tensor(&x, [n])?, run.tensor(&mask, [n - seed])?);
    let (mut out, mut places) = (run.output::<T, 1>([room])?, run.output::<u32, 1>([room / 2])?);
    let (mut count, mut state) =
        (run.output::<u32, 1>([1])?, run.device.zeros::<u32, 1>([n.div_ceil(4096)])?);
    let (from, by, mut to) = (on_x.view()?, on_mask.view()?, out.view_mut()?);
    let (mut at, mut of) = (places.view_mut()?, count.view_mut()?);
    keep::launch_with(run.config(), &run.stream(), &from, &by, &mut to, &mut at, &mut of, &mut state)?;
    let is_run = run.set.get("RUNS") == Some(ParamValue::Bool(true));
    let is_kept = |at: &usize| match is_run {
        true => *at == 0 || x[*at].wide() != x[*at - 1].wide(),
        false => mask.get(*at).is_some_and(|mask| *mask != 0),
    };
    let kept: Vec<usize> = (0..n).filter(is_kept).collect();
    let of_places = (0..room / 2).map(|k| kept.get(k).map_or(untouched(), |at| *at as u32));
    let elements = (0..room).map(|k| kept.get(k).map_or(untouched(), |at| x[*at]));
    let found = Outcome::exact(out.read()?, elements.collect::<Vec<_>>());
    let found = found.and(Outcome::exact(places.read()?, of_places.collect::<Vec<_>>()));
    Ok(found.and(Outcome::exact(count.read()?, [kept.len() as u32])))
}
