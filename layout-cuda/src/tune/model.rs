//! The time a set will take, before it is measured: an estimate from its launch, and a regression over the measurements so
//! far.
//!
//! Law: an estimate only orders the trials; it never makes a set win or lose.

use layout_compiler::{ParamSet, ParamValue};
use layout_simulator::Counts;

use crate::probe::Planned;

/// Multiprocessors that the estimate goes by where no GPU reports: an H200's.
const MULTIPROCESSORS: f64 = 132.0;

/// The features of a set: its numbers in logarithms, their squares and products, and how its blocks fill the device.
pub(crate) fn features(set: &ParamSet, planned: &Planned, multiprocessors: u32) -> Vec<f64> {
    let number = |value: &ParamValue| match value {
        ParamValue::Int(value) => f64::from(u32::try_from(*value).unwrap_or(0).saturating_add(1)).log2(),
        ParamValue::Bool(value) => f64::from(u8::from(*value)),
        ParamValue::Type(elem) => elem.bytes() as f64,
        ParamValue::Function(name) => name.len() as f64,
    };
    let own: Vec<f64> = set.0.iter().map(|(_, value)| number(value)).collect();
    let mut all = own.clone();
    for (at, left) in own.iter().enumerate() {
        all.extend(own[at..].iter().map(|right| left * right));
    }
    let blocks = planned.blocks().max(1) as f64;
    let threads = f64::from(planned.threads().max(1));
    let at_once = blocks_at_once(planned);
    let places = at_once * f64::from(multiprocessors.max(1));
    let waves = (blocks / places).ceil().max(1.0);
    all.push(waves.log2());
    // The share of the places that work over all waves.
    all.push(blocks / (waves * places));
    all.push((at_once * threads / 32.0).log2());
    all.push((blocks * threads).log2());
    all.push((f64::from(planned.shared_bytes) + 1.0).log2());
    all
}

/// Blocks that a multiprocessor of 2048 threads and 228 KiB of shared memory holds, registers apart.
fn blocks_at_once(planned: &Planned) -> f64 {
    let by_threads = 2048.0 / f64::from(planned.threads().max(1));
    let by_memory = 233_472.0 / (f64::from(planned.shared_bytes) + 1024.0);
    by_threads.min(by_memory).floor().clamp(1.0, 32.0)
}

/// A guess before anything is measured, smaller is better: full places first, then much work a thread.
pub(crate) fn guess(planned: &Planned, multiprocessors: u32) -> f64 {
    let blocks = planned.blocks().max(1) as f64;
    let threads = f64::from(planned.threads().max(1));
    let places = f64::from(multiprocessors.max(1)) * blocks_at_once(planned);
    let waves = (blocks / places).ceil().max(1.0);
    let idle = 1.0 - (blocks / (waves * places)).min(1.0);
    // Many threads in all mean that each value that was loaded serves few results.
    idle + (blocks * threads).log2() / 16.0 + if threads < 64.0 { 0.5 } else { 0.0 }
}

/// Milliseconds by what the simulator counted: the longest of the ways that the work takes on an H200. Good for an order, no
/// more.
pub(crate) fn estimate(counts: &Counts) -> f64 {
    let clock = 1.7e6; // cycles a millisecond
    let memory = counts.global_sectors as f64 * 32.0 / 4.0e9;
    let banks = counts.shared_wavefronts as f64 / (MULTIPROCESSORS * clock);
    let issued = counts.instructions as f64 / (4.0 * MULTIPROCESSORS * clock);
    let requests = counts.global_requests as f64 * 4.0 / (MULTIPROCESSORS * clock);
    memory.max(banks).max(issued).max(requests) + (memory + banks + issued + requests) / 8.0
}

/// A ridge regression of logarithms of times.
pub(crate) struct Regression {
    mean: Vec<f64>,
    scale: Vec<f64>,
    weights: Vec<f64>,
    base: f64,
}

impl Regression {
    /// Fits `ln(ms)` over features, all of one length.
    pub(crate) fn fit(points: &[(Vec<f64>, f64)]) -> Option<Regression> {
        let (first, _) = points.first()?;
        let (count, width) = (points.len() as f64, first.len());
        let column =
            |at: usize| points.iter().map(move |(features, _)| features.get(at).copied().unwrap_or(0.0));
        let mean: Vec<f64> = (0..width).map(|at| column(at).sum::<f64>() / count).collect();
        let deviation = |at: usize| (column(at).map(|x| (x - mean[at]).powi(2)).sum::<f64>() / count).sqrt();
        let scale: Vec<f64> = (0..width).map(|at| deviation(at).max(1e-9)).collect();
        let base = points.iter().map(|(_, ms)| ms.ln()).sum::<f64>() / count;
        let mut regression = Regression { mean, scale, weights: vec![0.0; width], base };
        let rows: Vec<Vec<f64>> = points.iter().map(|(features, _)| regression.normal(features)).collect();
        let wanted: Vec<f64> = points.iter().map(|(_, ms)| ms.ln() - base).collect();
        // Coordinate descent: each weight in turn takes the best value that the ridge leaves it.
        let ridge = 0.3 * (1.0 + count).sqrt();
        let mut left = wanted;
        for _ in 0..60 {
            for at in 0..width {
                let old = regression.weights[at];
                let (mut with, mut size) = (0.0, ridge);
                for (row, left) in rows.iter().zip(&left) {
                    with += row[at] * (left + old * row[at]);
                    size += row[at] * row[at];
                }
                let new = with / size;
                regression.weights[at] = new;
                left.iter_mut().zip(&rows).for_each(|(left, row)| *left -= (new - old) * row[at]);
            }
        }
        Some(regression)
    }

    fn normal(&self, features: &[f64]) -> Vec<f64> {
        let each = |(at, x): (usize, &f64)| ((x - self.mean[at]) / self.scale[at]).clamp(-4.0, 4.0);
        features.iter().take(self.mean.len()).enumerate().map(each).collect()
    }

    /// `ln(ms)` of a set.
    pub(crate) fn predict(&self, features: &[f64]) -> f64 {
        let normal = self.normal(features);
        self.base + normal.iter().zip(&self.weights).map(|(x, weight)| x * weight).sum::<f64>()
    }

    /// How far a set is from all that were measured, in deviations of the features.
    pub(crate) fn distance(&self, features: &[f64], measured: &[(Vec<f64>, f64)]) -> f64 {
        let own = self.normal(features);
        let far = |other: &[f64]| {
            let other = self.normal(other);
            own.iter().zip(&other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
                / (own.len() as f64).sqrt()
        };
        measured.iter().map(|(other, _)| far(other)).fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::Regression;

    #[test]
    fn a_product_of_powers_is_found() {
        let time = |x: f64, y: f64| (0.3 * x - 0.7 * y + 1.0).exp();
        type Point = (Vec<f64>, f64);
        let all: Vec<Point> = (0..6)
            .flat_map(|x| (0..6).map(move |y| (vec![f64::from(x), f64::from(y)], time(x.into(), y.into()))))
            .collect();
        let some: Vec<Point> = all.iter().step_by(3).cloned().collect();
        let fitted = Regression::fit(&some).expect("points");
        let best = |score: &dyn Fn(&Point) -> f64| {
            all.iter().min_by(|a, b| score(a).total_cmp(&score(b))).map(|point| point.0.clone())
        };
        assert_eq!(best(&|point| fitted.predict(&point.0)), best(&|point| point.1));
        assert!(Regression::fit(&[]).is_none());
    }
}
