//! The reference: the product in float64, and for each element how far a float32 result may be from it.
//!
//! Law: an element is wrong iff `|c - ref| > f * sum |a||b|`, or one of the two is not a number and the other is. The
//! factor `f` is that of random walks, not of the worst case, so that a single missing product of the sum shows:
//! `(4 + sqrt(K)) * 2^-24` of K roundings of a float32 sum; of operands rounded to TF32 besides `min(1, 8 / sqrt(K)) *
//! 2^-10`, which is more than six standard deviations of the sum of K products with random errors of 2^-11.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, Axis};

/// A product in float64 with the magnitude that its bound scales.
pub struct Reference {
    /// The product, row-major.
    pub values: Vec<f64>,
    /// `sum |a||b|` of each element.
    magnitudes: Vec<f64>,
    /// K
    depth: usize,
}

/// What the operands of a product are rounded to before they are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Nothing: they are float32.
    Float32,
    /// 10 bits of fraction.
    Tf32,
}

impl Precision {
    /// How far an element of a product over `depth` may be off, relative to its magnitude.
    pub fn factor(self, depth: usize) -> f64 {
        let root = (depth as f64).sqrt();
        let sums = (4.0 + root) * 2f64.powi(-24);
        match self {
            Precision::Float32 => sums,
            Precision::Tf32 => sums + (8.0 / root).min(1.0) * 2f64.powi(-10),
        }
    }

    /// The name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Precision::Float32 => "f32",
            Precision::Tf32 => "tf32",
        }
    }
}

/// What a comparison found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Elements out of bound.
    pub wrong: usize,
    /// The first of them.
    pub first: Option<usize>,
    /// The largest error over the element's magnitude.
    pub max_rel_err: f64,
}

impl Reference {
    /// The product of `a` (`m` by `k`) and `b` (`k` by `n`), both row-major.
    pub fn product(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Reference {
        let wide = |values: &[f32]| values.iter().map(|v| f64::from(*v)).collect::<Vec<f64>>();
        let size = |values: &[f32]| values.iter().map(|v| f64::from(v.abs())).collect::<Vec<f64>>();
        Reference {
            values: multiply(&wide(a), &wide(b), [m, n, k]),
            magnitudes: multiply(&size(a), &size(b), [m, n, k]),
            depth: k,
        }
    }

    /// Compares every element.
    pub fn compare(&self, c: &[f32], precision: Precision) -> Comparison {
        let factor = precision.factor(self.depth);
        let mut found = Comparison::default();
        if c.len() != self.values.len() {
            return Comparison {
                wrong: self.values.len().max(1),
                first: Some(0),
                max_rel_err: f64::INFINITY,
            };
        }
        for (i, (value, wanted)) in c.iter().zip(&self.values).enumerate() {
            let error = (f64::from(*value) - wanted).abs();
            let magnitude = self.magnitudes[i];
            let good = error <= factor * magnitude || (value.is_nan() && wanted.is_nan());
            if !good {
                found.wrong += 1;
                found.first = found.first.or(Some(i));
            }
            if magnitude > 0.0 {
                found.max_rel_err = found.max_rel_err.max(error / magnitude);
            }
        }
        found
    }
}

/// The product by ndarray, the rows of `a` shared among the machine's cores.
pub fn multiply(a: &[f64], b: &[f64], [m, n, k]: [usize; 3]) -> Vec<f64> {
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
