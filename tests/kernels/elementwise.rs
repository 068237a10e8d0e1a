//! One thread for each element: scalars, type parameters, mathematics, a grid that is smaller than the data.

use crate::support::case::{Case, Outcome, around};
use crate::support::data::{doubles, floats, integers};
use layout_core::kernel::Elem;
use layout_cuda::{LaunchConfig, tiled_kernel};

/// `y = alpha x + y`, for two element types and two block sizes.
#[tiled_kernel(T = [f32, f64], BLOCK = [64, 128], block = [BLOCK], grid = [N.div_ceil(BLOCK)])]
pub fn axpy<T, const N: usize>(
    alpha: T,
    x: &LayoutTensor<T, RowMajor<N>>,
    y: &mut LayoutTensor<T, RowMajor<N>>,
) {
    let i = block_idx.x * BLOCK + thread_idx.x;
    if i < N {
        y[[i]] += alpha * x[[i]];
    }
}

/// Each function of one variable, and those of two and three, a column for each.
#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
pub fn mathematics<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N, 9>>,
) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        let v = x[[i]];
        y[[i, 0]] = v.exp();
        y[[i, 1]] = v.exp2();
        y[[i, 2]] = (v + 2.0).ln();
        y[[i, 3]] = v.sqrt();
        y[[i, 4]] = v.tanh();
        y[[i, 5]] = (-v).abs();
        y[[i, 6]] = v.mul_add(v, 1.0);
        y[[i, 7]] = v.min(1.0).max(0.5);
        y[[i, 8]] = select(v < 1.0, v, 1.0 / v);
    }
}

/// The same in double precision, as far as it differs.
#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
pub fn mathematics_double<const N: usize>(
    x: &LayoutTensor<f64, RowMajor<N>>,
    y: &mut LayoutTensor<f64, RowMajor<N, 4>>,
) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        let v = x[[i]];
        y[[i, 0]] = v.exp();
        y[[i, 1]] = v.sqrt() / 3.0;
        y[[i, 2]] = v.mul_add(-v, 0.5);
        y[[i, 3]] = v.max(1.0) - v.min(1.0);
    }
}

/// Squares by a grid of three blocks, however long the vector is.
#[tiled_kernel(block = [32], grid = [3])]
pub fn grid_stride<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let mut i = block_idx.x * block_dim.x + thread_idx.x;
    while i < N {
        y[[i]] = x[[i]] * x[[i]];
        i += grid_dim.x * block_dim.x;
    }
}

/// The grid is the launch's to say.
#[tiled_kernel(block = [16])]
pub fn grid_of_the_launch<const N: usize>(from: usize, y: &mut LayoutTensor<i32, RowMajor<N>>) {
    let i = from + block_idx.x * 16 + thread_idx.x;
    if i < N {
        y[[i]] = (i + grid_dim.x) as i32;
    }
}

/// A polynomial by Horner's rule, its highest coefficient first.
#[tiled_kernel(block = [32], grid = [N.div_ceil(32)], require(C > 0))]
pub fn horner<const N: usize, const C: usize>(
    coefficients: &LayoutTensor<f32, RowMajor<C>>,
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let i = block_idx.x * 32 + thread_idx.x;
    if i < N {
        let mut sum = 0.0;
        for k in (0..C).rev() {
            sum = sum * x[[i]] + coefficients[[k]];
        }
        y[[i]] = sum;
    }
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new(&axpy::DEFINITION, around(128), |run| {
            let [n, ..] = run.size;
            let (x, y) = (floats(n, 1), floats(n, 2));
            let (on_x, mut on_y) = (run.tensor(&x, [n])?, run.tensor(&y, [n])?);
            axpy::launch_with(run.config(), &run.stream(), 1.5, &on_x.view()?, &mut on_y.view_mut()?)?;
            Ok(Outcome::exact(on_y.read()?, x.iter().zip(&y).map(|(x, y)| 1.5 * x + y)))
        })
        .of(Elem::F32),
        Case::new(&axpy::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let (x, y) = (doubles(n, 1), doubles(n, 2));
            let (on_x, mut on_y) = (run.tensor(&x, [n])?, run.tensor(&y, [n])?);
            axpy::launch_with(run.config(), &run.stream(), 1.5, &on_x.view()?, &mut on_y.view_mut()?)?;
            Ok(Outcome::exact(on_y.read()?, x.iter().zip(&y).map(|(x, y)| 1.5 * x + y)))
        })
        .of(Elem::F64),
        Case::new(&mathematics::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let x: Vec<f32> = integers(n, 5, 100).iter().map(|v| v.abs() as f32 / 32.0 + 0.125).collect();
            let (on_x, mut y) = (run.tensor(&x, [n])?, run.output([n, 9])?);
            mathematics::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut y.view_mut()?)?;
            let row = |v: f64| {
                let chosen = if v < 1.0 { v } else { 1.0 / v };
                let fitted = v.clamp(0.5, 1.0);
                [v.exp(), v.exp2(), (v + 2.0).ln(), v.sqrt(), v.tanh(), v, v * v + 1.0, fitted, chosen]
            };
            Ok(Outcome::within(3e-7, y.read()?, x.iter().flat_map(|v| row(f64::from(*v)))))
        }),
        Case::new(&mathematics_double::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let x: Vec<f64> = integers(n, 5, 100).iter().map(|v| v.abs() as f64 / 32.0 + 0.125).collect();
            let (on_x, mut y) = (run.tensor(&x, [n])?, run.output([n, 4])?);
            mathematics_double::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut y.view_mut()?)?;
            let row = |v: f64| [v.exp(), v.sqrt() / 3.0, 0.5 - v * v, v.max(1.0) - v.min(1.0)];
            Ok(Outcome::within(1e-15, y.read()?, x.iter().flat_map(|v| row(*v))))
        }),
        Case::new(&grid_stride::DEFINITION, around(96), |run| {
            let [n, ..] = run.size;
            let x = floats(n, 6);
            let (on_x, mut y) = (run.tensor(&x, [n])?, run.output([n])?);
            grid_stride::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut y.view_mut()?)?;
            Ok(Outcome::exact(y.read()?, x.iter().map(|x| x * x)))
        }),
        Case::new(&grid_of_the_launch::DEFINITION, around(16), |run| {
            let [n, ..] = run.size;
            let mut y = run.tensor(&vec![-1; n], [n])?;
            let config = LaunchConfig { grid: Some([2, 1, 1]), ..run.config() };
            grid_of_the_launch::launch_with(config, &run.stream(), 5, &mut y.view_mut()?)?;
            let value = |i: usize| if (5..37).contains(&i) { i as i32 + 2 } else { -1 };
            Ok(Outcome::exact(y.read()?, (0..n).map(value)))
        }),
        Case::new(&horner::DEFINITION, around(32), |run| {
            let [n, ..] = run.size;
            let (c, x) = (floats(4, 7), floats(n, 8));
            let (on_c, on_x, mut y) = (run.tensor(&c, [4])?, run.tensor(&x, [n])?, run.output([n])?);
            let (c_view, x_view) = (on_c.view()?, on_x.view()?);
            horner::launch_with(run.config(), &run.stream(), &c_view, &x_view, &mut y.view_mut()?)?;
            let value = |x: &f32| ((c[3] * x + c[2]) * x + c[1]) * x + c[0];
            Ok(Outcome::exact(y.read()?, x.iter().map(value)))
        }),
    ]
}
