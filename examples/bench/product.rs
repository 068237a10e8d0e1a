//! What a product has to be: float64 in full where that takes seconds, else cuBLAS in full and float64 at samples.

use layout_cuda::cublas::{Blas, BlasError, Compute};
use layout_cuda::{Device, Error};
use layout_examples::reference::{Comparison, Precision, Reference};

/// Operations up to which the whole product is made in float64 on the host.
const MOST_ON_HOST: f64 = 3e11;
/// Elements that are compared with float64 where it is not.
const SAMPLES: usize = 4096;

/// The product that results are compared with.
pub enum Product {
    /// In float64.
    Full(Reference),
    /// By cuBLAS in float32, with the magnitudes of its elements; and samples.
    Peer {
        /// Every element, in float32.
        values: Vec<f32>,
        /// `sum |a||b|` of each element, in float32.
        magnitudes: Vec<f32>,
        /// Numbers of elements, their values and magnitudes in float64.
        samples: Vec<(usize, f64, f64)>,
        /// K
        depth: usize,
    },
}

impl Product {
    /// Of `a` (`m` by `k`) and `b` (`k` by `n`); on the host where there is no cuBLAS.
    pub fn of(
        a: &[f32],
        b: &[f32],
        [m, n, k]: [usize; 3],
        device: &Device,
        blas: Option<&Blas>,
    ) -> Result<Product, Error> {
        let operations = 2.0 * m as f64 * n as f64 * k as f64;
        let Some(blas) = blas.filter(|_| operations > MOST_ON_HOST) else {
            return Ok(Product::Full(Reference::product(a, b, [m, n, k])));
        };
        let product = |a: &[f32], b: &[f32]| {
            let (a, b) = (device.upload(a, [m, k])?, device.upload(b, [k, n])?);
            let mut c = device.zeros::<f32, 2>([m, n])?;
            blas.gemm(Compute::F32, &a, &b, &mut c).map_err(|error: BlasError| Error::from(error))?;
            c.download()
        };
        let size = |values: &[f32]| values.iter().map(|v| v.abs()).collect::<Vec<f32>>();
        let sample = |number: usize| {
            // The corners first; then spread over all rows and columns, also within each vector.
            let corners = [0, n - 1, (m - 1) * n, m * n - 1];
            let at = corners.get(number).copied().unwrap_or(number * 2_654_435_761 % (m * n));
            let terms = (0..k).map(|l| f64::from(a[at / n * k + l]) * f64::from(b[l * n + at % n]));
            let (value, magnitude) = terms.fold((0.0, 0.0), |(v, s), term| (v + term, s + term.abs()));
            (at, value, magnitude)
        };
        Ok(Product::Peer {
            values: product(a, b)?,
            magnitudes: product(&size(a), &size(b))?,
            samples: (0..SAMPLES).map(sample).collect(),
            depth: k,
        })
    }

    /// Compares every element; those with a sample twice.
    pub fn compare(&self, c: &[f32], precision: Precision) -> Comparison {
        let (values, magnitudes, samples, depth) = match self {
            Product::Full(reference) => return reference.compare(c, precision),
            Product::Peer { values, magnitudes, samples, depth } => (values, magnitudes, samples, *depth),
        };
        let factor = precision.factor(depth);
        let mut found = Comparison::default();
        let mut see = |at: usize, wanted: f64, magnitude: f64, factor: f64| {
            let value = c.get(at).map_or(f64::NAN, |value| f64::from(*value));
            let error = (value - wanted).abs();
            if !(error <= factor * magnitude || (value.is_nan() && wanted.is_nan())) {
                found.wrong += 1;
                found.first = found.first.or(Some(at));
            }
            if magnitude > 0.0 {
                found.max_rel_err = found.max_rel_err.max(error / magnitude);
            }
        };
        // cuBLAS's own float32 sum may be off as far as one in full float32.
        let both = factor + Precision::Float32.factor(depth);
        for (at, (wanted, magnitude)) in values.iter().zip(magnitudes).enumerate() {
            see(at, f64::from(*wanted), f64::from(*magnitude), both);
        }
        samples.iter().for_each(|(at, wanted, magnitude)| see(*at, *wanted, *magnitude, factor));
        found
    }
}
