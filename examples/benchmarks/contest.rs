//! A kernel at the speed of memory beside its peers, and the records that are kept of it.
//!
//! Law: every candidate is measured as often as every other, by turns, each sample with a cold L2 cache.

use super::cublas::Blas;
use super::noise::fill;
use super::race::{Candidate, Length, race};
use super::record::Record;
use super::{Result, parallel};
use crate::kernels::memory::copy;
use layout_cuda::{Device, Error, Stream};
use std::cell::RefCell;

/// What a check found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// Elements out of bound.
    pub wrong: usize,
    /// The largest error over the element's magnitude.
    pub max_rel_err: f64,
    /// The first wrong element.
    pub first: Option<usize>,
}

/// What is measured.
#[derive(Clone, Debug)]
pub struct Work {
    /// What is done: `sum`.
    pub workload: &'static str,
    /// On which elements.
    pub dtype: &'static str,
    /// The sizes.
    pub shape: Vec<usize>,
    /// Bytes read and written, each once.
    pub bytes: f64,
    /// Elements of the input.
    pub elements: f64,
}

/// What is measured on one device.
pub struct Bench {
    pub device: Device,
    pub stream: Stream,
    pub samples: usize,
    pub records: Vec<Record>,
}

impl Bench {
    /// The median time of each candidate, milliseconds, each launch with a cold L2 cache.
    fn race(&self, mut candidates: Vec<Candidate<'_>>) -> Result<Vec<f64>> {
        let length = Length { rounds: self.samples, round_ms: 0.0, least: 1 };
        race(&self.stream, length, true, &mut candidates)?;
        Ok(candidates.iter().map(Candidate::ms).collect())
    }

    /// Ours beside device copies of as many bytes: the driver's and a kernel's. The better one is the peer.
    ///
    /// # Errors
    /// A device without memory for the copies, or a failing launch.
    pub fn beside_copy(
        &mut self,
        work: &Work,
        found: Found,
        name: &str,
        ours: impl FnMut() -> std::result::Result<(), Error>,
    ) -> Result<()> {
        let elements = ((work.bytes / 8.0) as usize).max(1);
        let mut x = self.stream.zeros::<f32, 1>([elements])?;
        fill(&self.stream, &mut x, 1)?;
        let to = RefCell::new(self.stream.zeros::<f32, 1>([elements])?);
        let times = self.race(vec![
            Candidate::new(name, ours),
            Candidate::new("copy by the driver", || to.borrow_mut().copy_from(&x)),
            Candidate::new("copy by a kernel", || copy::launch(&self.stream, &x, &mut *to.borrow_mut())),
        ])?;
        let [ms, driver, kernel] = times[..] else { return Err("a race without its candidates".into()) };
        self.keep(work, found, name, ms, Some(("best device copy", driver.min(kernel))));
        let rate = |ms: f64| work.bytes / ms * 1e-6;
        println!("  copies: driver {:.0} GB/s, kernel {:.0} GB/s", rate(driver), rate(kernel));
        Ok(())
    }

    /// Ours beside cuBLAS's dot product of vectors of `n` elements; the peer's time is that of as many bytes as ours.
    ///
    /// # Errors
    /// No cuBLAS on a GPU, a device without memory for the vectors, or a failing launch.
    pub fn beside_dot(
        &mut self,
        work: &Work,
        found: Found,
        n: usize,
        name: &str,
        ours: impl FnMut() -> std::result::Result<(), Error>,
    ) -> Result<()> {
        let (mut x, mut y) = (self.stream.zeros::<f32, 1>([n])?, self.stream.zeros::<f32, 1>([n])?);
        fill(&self.stream, &mut x, 1)?;
        fill(&self.stream, &mut y, 2)?;
        let mut out = self.stream.zeros::<f32, 1>([1])?;
        let mut candidates = vec![Candidate::new(name, ours)];
        if !self.device.is_simulator() {
            let blas = Blas::new(&self.stream)?;
            candidates.push(Candidate::new("cublas sdot", move || blas.sdot(&x, &y, &mut out)));
        }
        let times = self.race(candidates)?;
        let peer = times.get(1).map(|peer| ("cublas sdot", peer * work.bytes / (8.0 * n as f64)));
        self.keep(work, found, name, times[0], peer);
        if let Some(peer) = times.get(1) {
            println!("  cublas sdot of 2 x {n}: {:.0} GB/s", 8.0 * n as f64 / peer * 1e-6);
        }
        Ok(())
    }

    fn keep(&mut self, work: &Work, found: Found, kernel: &str, ms: f64, peer: Option<(&str, f64)>) {
        let record = Record {
            workload: work.workload,
            kernel: kernel.to_owned(),
            place: if self.device.is_simulator() { "simulator" } else { "gpu" },
            dtype: work.dtype,
            shape: work.shape.clone(),
            ms,
            iters: self.samples,
            work: work.bytes,
            elements: work.elements,
            unit: "GB/s",
            peer: peer.map(|(name, ms)| (name.to_owned(), ms)),
            wrong: found.wrong,
            max_rel_err: found.max_rel_err,
        };
        println!(
            "{:<16} {:<28} {:?}: {:.4} ms, {:.0} GB/s, {:.3} of {}, {} wrong (error {:.2e}{})",
            work.workload,
            kernel,
            work.shape,
            ms,
            record.rate(),
            record.ratio().unwrap_or(f64::NAN),
            peer.map_or("nothing", |(name, _)| name),
            found.wrong,
            found.max_rel_err,
            found.first.map_or(String::new(), |first| format!(", first at {first}")),
        );
        self.records.push(record);
    }
}

/// Compares `found[i]` with `wanted(i)`: the value in float64 and the error that is allowed. Of more than 2^30 elements
/// every 16th stretch of 65536, and the last ones.
pub fn compare(found: &[f32], wanted: impl Fn(usize) -> (f64, f64) + Sync) -> Found {
    let n = found.len();
    let parts = parallel(n, |range| {
        let mut all = Found::default();
        for i in range.filter(|i| n <= 1 << 30 || (i >> 16) % 16 == 0 || i + (1 << 20) > n) {
            let (value, bound) = wanted(i);
            let error = (f64::from(found[i]) - value).abs();
            all.add(i, error, bound);
        }
        all
    });
    parts.into_iter().fold(Found::default(), Found::and)
}

impl Found {
    /// Notes the error of an element. The largest is kept in units of 1: callers say what it is relative to.
    pub fn add(&mut self, i: usize, error: f64, bound: f64) {
        if error > bound || error.is_nan() {
            self.wrong += 1;
            self.first = self.first.or(Some(i));
        }
        self.max_rel_err = self.max_rel_err.max(error);
    }

    /// Both.
    pub fn and(self, other: Found) -> Found {
        Found {
            wrong: self.wrong + other.wrong,
            max_rel_err: self.max_rel_err.max(other.max_rel_err),
            first: self.first.or(other.first),
        }
    }
}
