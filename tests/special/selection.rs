//! Bisection and compaction, by their host functions: NaN is above every number and unlike each, zeros of both signs are equal, and
//! elements keep their bits.

use super::bench::Bench;
use super::{Covered, Entry};
use layout_cuda::{Elem, Error, bf16};
use layout_kernels::kernels::selection as kernels;
use layout_kernels::selection::{Side, Workspace, searchsorted, select, unique};
use layout_tests::support::special::{Float, Rows};
use std::cmp::Ordering;

pub fn entries() -> Vec<Entry> {
    let covered: Vec<Covered> = kernels::definitions()
        .iter()
        .flat_map(|of| [Elem::F32, Elem::Bf16].map(|elem| Covered::of(of, elem)))
        .collect();
    vec![Entry::new(&covered, |bench| {
        places::<f32>(bench)?;
        places::<bf16>(bench)?;
        kept::<f32>(bench)?;
        kept::<bf16>(bench)
    })]
}

fn order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Rows in order, and where their own elements go.
fn places<T: Float>(bench: &Bench<'_>) -> Result<(), Error> {
    for n in [5, 37] {
        let x = bench.rows::<T>(n);
        let mut sorted = x.values.clone();
        sorted.chunks_mut(n).for_each(|row| row.sort_by(|a, b| order(a.wide(), b.wide())));
        let (on_sorted, on_x) = (bench.tensor(&sorted, [x.m, n])?, bench.tensor(&x.values, [x.m, n])?);
        for side in [Side::Left, Side::Right] {
            let mut out = bench.device.zeros::<u32, 2>([x.m, n])?;
            searchsorted(&bench.stream(), side, &on_sorted.view()?, &on_x.view()?, &mut out)?;
            for (at, found) in out.download()?.into_iter().enumerate() {
                let row = &sorted[at / n * n..][..n];
                let most = if side == Side::Left { Ordering::Less } else { Ordering::Equal };
                let wanted = row.partition_point(|own| order(own.wide(), x.values[at].wide()) <= most);
                let name = || {
                    format!(
                        "searchsorted of {:?}, {}: {found}, not {wanted}",
                        T::ELEM,
                        Rows::<T>::name(at / n)
                    )
                };
                bench.check_that(found as usize == wanted, name);
            }
        }
    }
    Ok(())
}

fn kept<T: Float>(bench: &Bench<'_>) -> Result<(), Error> {
    let (x, mut workspace) = (bench.rows::<T>(100).values, Workspace::default());
    let (n, stream) = (x.len(), bench.stream());
    let mask: Vec<u8> = (0..n).map(|at| (at % 3) as u8 * 127).collect();
    let (on_x, on_mask) = (bench.tensor(&x, [n])?, bench.device.upload(&mask, [n])?);
    for runs in [false, true] {
        let (mut out, mut places) = (bench.output::<T, 1>([n])?, bench.device.zeros::<u32, 1>([n])?);
        let (mut count, from) = (bench.device.zeros::<u32, 1>([1])?, on_x.view()?);
        match runs {
            false => select(&stream, &from, &on_mask, &mut out.view_mut()?, &mut count, &mut workspace)?,
            true => unique(&stream, &from, &mut out.view_mut()?, &mut places, &mut count, &mut workspace)?,
        }
        let is_kept =
            |at: &usize| if runs { *at == 0 || x[*at].wide() != x[*at - 1].wide() } else { mask[*at] != 0 };
        let wanted: Vec<u64> = (0..n).filter(is_kept).map(|at| x[at].to_bits()).collect();
        let found: Vec<u64> = out.read()?.into_iter().take(wanted.len()).map(T::to_bits).collect();
        let is_so = found == wanted && count.download()? == [wanted.len() as u32];
        bench.check_that(is_so, || format!("kept of {:?}, runs {runs}", T::ELEM));
    }
    Ok(())
}
