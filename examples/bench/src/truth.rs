//! The float64 product that every candidate is compared with, and how far an element may be from it.
//!
//! Law: an element is wrong iff `|c - ref| > result * |ref| + terms * sum |a||b|`, or one of the two is not a number and
//! the other is. `terms` is that of a random walk, not of the worst case, so that a single missing product shows: see
//! [`Bound::of`].

use super::cublas::{Blas, Compute};
use super::{Result, parallel};
use layout_cuda::{Device, Element};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, Axis};

/// The product in float64, with the sum of the magnitudes of its terms, row-major.
pub struct Truth {
    values: Vec<f64>,
    magnitudes: Vec<f64>,
}

/// How far an element may be from the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Times the element: the rounding of the result.
    pub result: f64,
    /// Times the sum of magnitudes: the rounding of operands and sums.
    pub terms: f64,
    /// The most that the norm of all errors may be of the norm of the result.
    pub norm: f64,
}

/// What a comparison found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Elements out of bound.
    pub wrong: usize,
    /// The first of them.
    pub first: Option<usize>,
    /// The largest error over the sum of magnitudes.
    pub max_rel_err: f64,
    /// The norm of the errors over the norm of the result.
    pub norm_err: f64,
}

impl Bound {
    /// For sums of `k` products of random operands.
    ///
    /// | dtype | operands | sums | result |
    /// |---|---|---|---|
    /// | f32 | exact | `k` roundings to 24 bits | in the sums |
    /// | tf32 | rounded to 11 bits: six standard deviations of `k` random errors | as f32 | in the sums |
    /// | bf16 | exact | as f32, inside the matrix unit: 23 bits | 8 bits |
    /// | f64 | exact | `k` roundings to 53 bits, in the reference too | in the sums |
    /// | e4m3 | exact | 14 bits inside the matrix unit, 32 products at once | 8 bits |
    pub fn of(dtype: &str, k: usize) -> Bound {
        let root = (k.max(1) as f64).sqrt();
        let power = |exponent: i32| 2f64.powi(exponent);
        let sums = (4.0 + root) * power(-24);
        match dtype {
            "f32" => Bound { result: 0.0, terms: sums, norm: 1e-5 },
            "tf32" => Bound { result: 0.0, terms: sums + (8.0 / root).min(1.0) * power(-10), norm: 1e-3 },
            "f64" => Bound { result: 0.0, terms: (4.0 + root) * power(-52), norm: 1e-14 },
            "e4m3" => Bound { result: power(-8), terms: (4.0 + root) * power(-16), norm: 1e-2 },
            _ => Bound { result: power(-8), terms: 2.0 * sums, norm: 3e-3 },
        }
    }
}

/// A matrix on the host: its elements as they are stored, its shape, its strides.
pub struct Host<'a, T> {
    pub data: &'a [T],
    pub shape: [usize; 2],
    pub strides: [usize; 2],
}

impl<T: Element> Host<'_, T> {
    fn wide(&self, of: impl Fn(f64) -> f64 + Sync) -> Vec<f64> {
        parallel(self.data.len(), |range| {
            self.data[range].iter().map(|value| of(value.constant().as_f64())).collect::<Vec<f64>>()
        })
        .concat()
    }

    /// Row-major, whatever it was.
    fn rows(&self, of: impl Fn(f64) -> f64 + Sync) -> Vec<f64> {
        let wide = self.wide(of);
        let [rows, columns] = self.shape;
        let at = |i: usize| i / columns.max(1) * self.strides[0] + i % columns.max(1) * self.strides[1];
        (0..rows * columns).map(|i| wide[at(i)]).collect()
    }
}

impl Truth {
    /// The product of two matrices: by cuBLAS in float64 where it is, else here.
    pub fn product<T: Element>(device: &Device, a: &Host<'_, T>, b: &Host<'_, T>) -> Result<Truth> {
        let ([m, k], [_, n]) = (a.shape, b.shape);
        let Ok(blas) = Blas::new(&device.stream()) else {
            let product = |of: fn(f64) -> f64| multiply(&a.rows(of), &b.rows(of), [m, n, k]);
            return Ok(Truth { values: product(|x| x), magnitudes: product(f64::abs) });
        };
        let product = |of: fn(f64) -> f64| -> Result<Vec<f64>> {
            let on_a = device.upload_strided(&a.wide(of), a.shape, a.strides)?;
            let on_b = device.upload_strided(&b.wide(of), b.shape, b.strides)?;
            let mut c = device.zeros::<f64, 2>([m, n])?;
            blas.gemm(Compute::F32, &on_a, &on_b, &mut c)?;
            Ok(c.download()?)
        };
        Ok(Truth { values: product(|x| x)?, magnitudes: product(f64::abs)? })
    }

    /// Compares every element.
    pub fn compare<U: Element>(&self, found: &[U], bound: Bound) -> Verdict {
        if found.len() != self.values.len() {
            let wrong = self.values.len().max(1);
            return Verdict { wrong, first: Some(0), max_rel_err: f64::INFINITY, norm_err: f64::INFINITY };
        }
        let parts = parallel(found.len(), |range| {
            let mut part = Verdict::default();
            let (mut errors, mut squares) = (0.0, 0.0);
            for i in range {
                let (value, wanted, magnitude) =
                    (found[i].constant().as_f64(), self.values[i], self.magnitudes[i]);
                let error = (value - wanted).abs();
                let good = error <= bound.result * wanted.abs() + bound.terms * magnitude;
                if !(good || value.is_nan() && wanted.is_nan()) {
                    part.wrong += 1;
                    part.first = part.first.or(Some(i));
                }
                if magnitude > 0.0 {
                    part.max_rel_err = part.max_rel_err.max(error / magnitude);
                }
                errors += error * error;
                squares += wanted * wanted;
            }
            (part, errors, squares)
        });
        let (mut all, mut errors, mut squares) = (Verdict::default(), 0.0f64, 0.0f64);
        for (part, error, square) in parts {
            all.wrong += part.wrong;
            all.first = all.first.or(part.first);
            all.max_rel_err = all.max_rel_err.max(part.max_rel_err);
            errors += error;
            squares += square;
        }
        all.norm_err = if squares > 0.0 { (errors / squares).sqrt() } else { errors.sqrt() };
        if all.wrong == 0 && all.norm_err.partial_cmp(&bound.norm).is_none_or(|order| order.is_gt()) {
            all.wrong = 1;
        }
        all
    }
}

/// The product by ndarray, the rows of `a` shared among the machine's cores.
fn multiply(a: &[f64], b: &[f64], [m, n, k]: [usize; 3]) -> Vec<f64> {
    let mut c = Array2::<f64>::zeros((m, n));
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let rows = m.div_ceil(cores).max(1);
    let (a, b) = (ArrayView2::from_shape((m, k), a), ArrayView2::from_shape((k, n), b));
    let (Ok(a), Ok(b)) = (a, b) else { panic!("operands of {m}x{k} and {k}x{n} elements") };
    std::thread::scope(|scope| {
        for (mut part, rows) in c.axis_chunks_iter_mut(Axis(0), rows).zip(a.axis_chunks_iter(Axis(0), rows)) {
            scope.spawn(move || general_mat_mul(1.0, &rows, &b, 0.0, &mut part));
        }
    });
    c.into_raw_vec_and_offset().0
}
