//! Pooling of rows: the largest number of three neighbours, and their mean.

use super::bench::{Bench, Want};
use super::{Covered, Entry};
use layout_cuda::{Elem, Error, bf16, f16};
use layout_kernels::Real;
use layout_kernels::kernels::pooling as kernels;
use layout_kernels::pooling::Pool;
use layout_tests::support::special::{Float, Rows};

pub fn entries() -> Vec<Entry> {
    let of = |elem| Covered::of(&kernels::pool::DEFINITION, elem);
    vec![Entry::new(&[Elem::F32, Elem::Bf16, Elem::F16].map(of), |bench| {
        pooled::<f32>(bench)?;
        pooled::<bf16>(bench)?;
        pooled::<f16>(bench)
    })]
}

fn pooled<T: Float + Real>(bench: &Bench<'_>) -> Result<(), Error> {
    let (n, pool) = (67, Pool { window: [1, 3], stride: [1, 1], padding: [0, 1] });
    let (x, stream) = (bench.rows::<T>(n), bench.stream());
    let on_x = bench.tensor(&x.values, [x.m, 1, n, 1])?;
    let window = |at: usize| x.row(at / n)[(at % n).saturating_sub(1)..(at % n + 2).min(n)].to_vec();
    let mut out = bench.output::<T, 4>([x.m, 1, n, 1])?;
    pool.maximum(&stream, &on_x.view()?, &mut out.view_mut()?, None)?;
    let larger = |a: f64, b: f64| if a.is_nan() || a > b { a } else { b };
    let most = (0..x.m * n).map(|at| Want::exact(window(at).iter().copied().fold(f64::NEG_INFINITY, larger)));
    bench.check("maximum of windows", &out.read()?, most, |at| Rows::<T>::name(at / n));
    pool.average(&stream, false, &on_x.view()?, &mut out.view_mut()?)?;
    let means = (0..x.m * n).map(|at| {
        let (count, sum) = (window(at).len() as f64, window(at).iter().sum::<f64>());
        let size: f64 = window(at).iter().filter(|x| x.is_finite()).map(|x| x.abs()).sum();
        let (mean, room) = (sum / count, size * 2f64.powi(-22) + 4.0 * T::TINY);
        Want::of(mean, size, room + mean.abs() * 2f64.powi(-T::DIGITS))
    });
    bench.check("mean of windows", &out.read()?, means, |at| Rows::<T>::name(at / n));
    Ok(())
}
