//! A kernel at the speed of memory beside its peers, and the records that are kept of it.
//!
//! Law: every candidate is measured as often as every other, by turns, each sample with a cold L2 cache.

use super::cublas::Blas;
use super::ledger::Ledger;
use super::noise::fill;
use super::race::{Candidate, Length, race};
use super::record::Record;
use super::{Result, parallel};
use layout_cuda::{Device, Error, Stream, roofline};
use layout_kernels::kernels::memory::copy;
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
    /// Elements of the input.
    elements: f64,
    /// Bytes read and written, each once.
    bytes: f64,
    /// Operations.
    flops: f64,
}

impl Work {
    /// On a tensor of these sizes; bytes and operations are those of one of its elements.
    pub fn new(workload: &'static str, dtype: &'static str, shape: &[usize], bytes: f64, flops: f64) -> Work {
        let elements = shape.iter().map(|extent| *extent as f64).product::<f64>();
        let shape = shape.to_vec();
        Work { workload, dtype, shape, elements, bytes: bytes * elements, flops: flops * elements }
    }
}

/// What is measured on one device.
pub struct Bench<'a> {
    pub device: Device,
    pub stream: Stream,
    pub samples: usize,
    pub ledger: &'a mut Ledger,
}

impl Bench<'_> {
    /// Times the candidates, each launch with a cold L2 cache.
    fn race(&self, candidates: &mut [Candidate<'_>]) -> Result<()> {
        let length = Length { rounds: self.samples, round_ms: 0.0, least: 1 };
        race(&self.stream, length, true, candidates).map(drop)
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
        let mut candidates = [
            Candidate::new(name, ours),
            Candidate::new("copy by the driver", || to.borrow_mut().copy_from(&x)),
            Candidate::new("copy by a kernel", || copy::launch(&self.stream, &x, &mut *to.borrow_mut())),
        ];
        self.race(&mut candidates)?;
        let [ours, driver, kernel] = &candidates;
        let best = if driver.ms() <= kernel.ms() { driver } else { kernel };
        let (mut record, peer) = (record(work, found, ours, self.place()), (best.name.clone(), best.ms()));
        record.peer = Some(peer);
        self.ledger.keep(&record)
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
        self.race(&mut candidates)?;
        let mut record = record(work, found, &candidates[0], self.place());
        let as_many = work.bytes / (8.0 * n as f64);
        record.peer = candidates.get(1).map(|peer| (peer.name.clone(), peer.ms() * as_many));
        self.ledger.keep(&record)
    }

    /// Ours with no peer but the roof, in TFLOP/s.
    ///
    /// # Errors
    /// A failing launch.
    pub fn under_roof(
        &mut self,
        work: &Work,
        found: Found,
        name: &str,
        ours: impl FnMut() -> std::result::Result<(), Error>,
    ) -> Result<()> {
        let mut candidates = [Candidate::new(name, ours)];
        self.race(&mut candidates)?;
        let record = Record { unit: "TFLOP/s", ..record(work, found, &candidates[0], self.place()) };
        self.ledger.keep(&record)
    }

    /// Ours beside another way to the same result, in TFLOP/s.
    ///
    /// # Errors
    /// A failing launch.
    pub fn beside(&mut self, work: &Work, found: Found, mut candidates: [Candidate<'_>; 2]) -> Result<()> {
        self.race(&mut candidates)?;
        let [ours, peer] = &candidates;
        let peer = Some((peer.name.clone(), peer.ms()));
        let record = Record { unit: "TFLOP/s", peer, ..record(work, found, ours, self.place()) };
        self.ledger.keep(&record)
    }

    fn place(&self) -> &'static str {
        if self.device.is_simulator() { "simulator" } else { "gpu" }
    }
}

fn record(work: &Work, found: Found, ours: &Candidate<'_>, place: &'static str) -> Record {
    Record {
        workload: work.workload,
        kernel: ours.name.clone(),
        place,
        dtype: work.dtype,
        shape: work.shape.clone(),
        ms: ours.ms(),
        iters: ours.times.len(),
        work: roofline::Work { flops: work.flops, bytes: work.bytes },
        elements: work.elements,
        unit: "GB/s",
        peer: None,
        steps: None,
        wrong: found.wrong,
        first_wrong: found.first,
        max_rel_err: found.max_rel_err,
        spread: ours.spread(),
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
