//! One thread for each element: scalars, type parameters, mathematics, a grid that is smaller than the data.

use crate::support::tested::Tested;
use layout_cuda::testing::Sum;
use layout_cuda::tiled_kernel;

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

/// The tests of this file.
pub fn tests() -> Vec<Tested> {
    vec![
        Tested::new(&axpy::DEFINITION, |test| {
            test.run(|case| {
                let (alpha, x, y) = (case.scalar("alpha"), case.input("x"), case.input("y"));
                case.expect("y", |[i]| Sum::from(alpha * x[[i]]) + y[[i]]);
            })
        }),
        Tested::new(&mathematics::DEFINITION, |test| {
            test.values("x", 0.125..3.25f32).within("y", 3e-7).run(|case| {
                let x = case.input("x");
                case.expect("y", |[i, column]| {
                    let v = x[[i]];
                    let chosen = if v < 1.0 { v } else { 1.0 / v };
                    let fitted = v.clamp(0.5, 1.0);
                    [v.exp(), v.exp2(), (v + 2.0).ln(), v.sqrt(), v.tanh(), v, v * v + 1.0, fitted, chosen]
                        [column]
                });
            })
        }),
        Tested::new(&mathematics_double::DEFINITION, |test| {
            test.values("x", 0.125..3.25f64).within("y", 1e-15).run(|case| {
                let x = case.input("x");
                case.expect("y", |[i, column]| {
                    let v = x[[i]];
                    match column {
                        0 => Sum::from(v.exp()),
                        1 => Sum::from(v.sqrt() / 3.0),
                        // The terms cancel: the bound is theirs.
                        2 => Sum::from(0.5) - v * v,
                        _ => Sum::from(v.max(1.0)) - v.min(1.0),
                    }
                });
            })
        }),
        Tested::new(&grid_stride::DEFINITION, |test| {
            test.run(|case| {
                let x = case.input("x");
                case.expect("y", |[i]| x[[i]] * x[[i]]);
            })
        }),
        Tested::new(&grid_of_the_launch::DEFINITION, |test| {
            test.grid(|_| [2, 1, 1]).values("from", 0..7usize).run(|case| {
                let (from, before) = (case.index("from"), case.integers("y"));
                let written = from..from + 32;
                case.expect(
                    "y",
                    |[i]| if written.contains(&(i as i128)) { i as i128 + 2 } else { before[[i]] },
                );
            })
        }),
        Tested::new(&horner::DEFINITION, |test| {
            test.sizes("C", 1usize..9).run(|case| {
                let (c, x, degrees) = (case.input("coefficients"), case.input("x"), case.size("C"));
                case.expect("y", |[i]| {
                    let power = |k: usize| x[[i]].powi(k as i32);
                    (0..degrees).map(|k| c[[k]] * power(k)).sum::<Sum>()
                });
            })
        }),
    ]
}
