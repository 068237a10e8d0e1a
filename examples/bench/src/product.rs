//! One product, `C = A B`, by ours and by its peers: each candidate checked, then all of them timed by turns.
//!
//! Law: before anything is timed, every candidate's C is poisoned, computed and compared in full with the float64 product; a
//! kernel's peer is the library in the same run, at the same precision.

use super::Result;
use super::cublas::{Blas, Compute, Prepared};
use super::ledger::Ledger;
use super::options::{Common, L2, assignments};
use super::race::{Candidate, Length, race};
use super::record::Record;
use super::truth::{Bound, Host, Truth, Verdict};
use layout_cuda::roofline;
use layout_cuda::{Device, Element, LaunchConfig, ParamSet, ParamValue, Tensor};
use layout_kernels::product::{Kernel, Options, Precision, Workspace, multiply};
use layout_kernels::quantized::{self, Bits, Format, QuantizedMatrix};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::cell::{Cell, RefCell};

/// The order of an operand's elements in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Order {
    /// Row by row.
    Rows,
    /// Column by column.
    Columns,
}

impl Order {
    /// The strides of a compact matrix.
    fn strides(self, [rows, columns]: [usize; 2]) -> [usize; 2] {
        match self {
            Order::Rows => [columns, 1],
            Order::Columns => [1, rows],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Order::Rows => "rows",
            Order::Columns => "columns",
        }
    }
}

/// What is measured, where and how.
pub struct Work<'a> {
    pub device: &'a Device,
    pub common: &'a Common,
    pub workload: &'static str,
    pub shape: [usize; 3],
    /// The orders of A and B.
    pub orders: [Order; 2],
    pub length: Length,
}

/// One of ours: its name, its type in the records, and how it is launched.
pub struct Ours {
    pub name: String,
    pub dtype: &'static str,
    pub kernel: Option<Kernel>,
    pub set: Option<ParamSet>,
}

impl Ours {
    /// A kernel, with these of its parameters replaced: `BM=64,STAGES=2`.
    ///
    /// # Errors
    /// A text of another form, and a parameter that the kernel has not.
    pub fn of(kernel: Kernel, dtype: &'static str, set: Option<&str>) -> Result<Ours> {
        let name = set.map_or(kernel.name().to_owned(), |set| format!("{kernel} {set}"));
        let set = set.map(|text| parameters(kernel, text)).transpose()?;
        Ok(Ours { name, dtype, kernel: Some(kernel), set })
    }

    /// The kernels with each of these sets; of those that cannot be, the reason is printed.
    pub fn those_that_can(kernels: &[Kernel], dtype: &'static str, sets: &[String]) -> Vec<Ours> {
        let made = |set| {
            let (taken, refused): (Vec<_>, Vec<_>) =
                kernels.iter().map(|kernel| Ours::of(*kernel, dtype, Some(set))).partition(Result::is_ok);
            if taken.is_empty() {
                refused
                    .into_iter()
                    .find_map(Result::err)
                    .iter()
                    .for_each(|error| println!("left out: {error}"));
            }
            taken.into_iter().flatten().collect::<Vec<_>>()
        };
        sets.iter().flat_map(|set| made(set)).collect()
    }
}

/// The attribute's first set with some values replaced: `BM=64,DIRECT=true`. Types, and what follows from others, are the
/// launch's.
fn parameters(kernel: Kernel, text: &str) -> Result<ParamSet> {
    let computed = kernel.definition().kernel()?.parameters;
    let follows = |name: &str| computed.iter().any(|own| own.name == name && own.computed.is_some());
    let first = kernel.sets().next().unwrap_or_default().iter();
    let own = first.filter(|(name, value)| !matches!(value, ParamValue::Type(_)) && !follows(name));
    let own = ParamSet(own.map(|(name, value)| ((*name).to_owned(), *value)).collect());
    assignments(text, &[])?.into_iter().try_fold(own, |set, (name, value)| match set.get(name) {
        Some(_) => Ok(set.with(name, value)),
        None => Err(format!("`--set {text}`: {kernel} has no `{name}`, only {}", set.key()).into()),
    })
}

/// A library to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// cuBLAS.
    Cublas(Compute),
    /// The best of cuBLASLt's algorithms.
    CublasLt,
}

/// One product, ready to be measured.
pub struct Bench<'a, T: Element, U: Element> {
    work: &'a Work<'a>,
    /// A and B on the host, as they are stored.
    pub host: [Vec<T>; 2],
    truth: Truth,
    /// The operands; several of the same where each launch takes others.
    operands: Vec<(Tensor<T, 2>, Tensor<T, 2>)>,
    next: Cell<usize>,
    c: RefCell<Tensor<U, 2>>,
}

impl<'a, T: Element, U: Element> Bench<'a, T, U> {
    /// Random operands in [-1, 1), each rounded once, and their product in float64.
    ///
    /// # Errors
    /// A device without memory for them.
    pub fn new(work: &'a Work<'a>, dtype: &str, round: fn(f32) -> T) -> Result<Bench<'a, T, U>> {
        let Work { device, common, shape: [m, n, k], orders, .. } = *work;
        let [a, b] = orders.map(Order::name);
        println!(
            "\nC ({m} x {n}) = A ({m} x {k}) B ({k} x {n}), {dtype}, A by {a}, B by {b}, random in [-1, 1)"
        );
        // The values of a table: rounding each number on its own takes longer than all the rest.
        let table: Vec<T> = (0..4096).map(|i| round(i as f32 / 2048.0 - 1.0)).collect();
        let mut random = StdRng::seed_from_u64(7);
        let mut values = |count: usize| -> Vec<T> {
            match T::ELEM.bytes() {
                4 | 8 => (0..count).map(|_| round(random.random_range(-1.0f32..1.0))).collect(),
                _ => (0..count).map(|_| table[random.random_range(0..table.len())]).collect(),
            }
        };
        let host = [values(m * k), values(k * n)];
        let (a_shape, b_shape) = ([m, k], [k, n]);
        let (a_strides, b_strides) = (orders[0].strides(a_shape), orders[1].strides(b_shape));
        let on_host = |data, shape, strides| Host { data, shape, strides };
        let truth = Truth::product(
            device,
            &on_host(&host[0], a_shape, a_strides),
            &on_host(&host[1], b_shape, b_strides),
        )?;
        let upload = |_| -> Result<_> {
            let a = device.upload_strided(&host[0], a_shape, a_strides)?;
            Ok((a, device.upload_strided(&host[1], b_shape, b_strides)?))
        };
        let copies = common.copies(device, (m * k + k * n) * size_of::<T>());
        let operands = (0..copies).map(upload).collect::<Result<Vec<_>>>()?;
        let c = RefCell::new(device.zeros::<U, 2>([m, n])?);
        Ok(Bench { work, host, truth, operands, next: Cell::new(0), c })
    }

    /// The operands of the next launch.
    fn next(&self) -> &(Tensor<T, 2>, Tensor<T, 2>) {
        let at = self.next.get();
        self.next.set((at + 1) % self.operands.len());
        &self.operands[at]
    }

    /// Compares a result with the product.
    pub fn judge(&self, c: &[U], dtype: &str) -> Verdict {
        self.truth.compare(c, Bound::of(dtype, self.work.shape[2]))
    }

    /// A record of so many rows of the product.
    pub fn record(
        &self,
        (place, kernel, dtype): (&'static str, String, &'static str),
        (rows, ms, iters): (usize, f64, usize),
        verdict: Verdict,
    ) -> Record {
        let [m, n, k] = self.work.shape;
        let [reads, writes] = [(rows * k + k * n) * size_of::<T>(), rows * n * size_of::<U>()];
        Record {
            workload: self.work.workload,
            kernel,
            place,
            dtype,
            shape: vec![m, n, k],
            ms,
            iters,
            work: roofline::Work {
                flops: 2.0 * rows as f64 * n as f64 * k as f64,
                bytes: (reads + writes) as f64,
            },
            elements: rows as f64 * n as f64,
            unit: "TFLOP/s",
            peer: None,
            steps: None,
            wrong: verdict.wrong,
            first_wrong: verdict.first,
            max_rel_err: verdict.norm_err,
            spread: None,
        }
    }

    /// Checks and times the peers and ours, and keeps a record of each. The steps of a record are ours in their order.
    ///
    /// # Errors
    /// A failing call of one of ours with its own parameters; other candidates may refuse the product.
    pub fn run(&self, ledger: &mut Ledger, peers: &[(Peer, &'static str)], ours: &[Ours]) -> Result<()> {
        self.run_beside(ledger, peers, ours, Vec::new())
    }

    /// The same, and candidates that read other bytes than A and B have, with the bytes that they read and write.
    ///
    /// # Errors
    /// As `run`.
    pub fn run_beside<'s>(
        &'s self,
        ledger: &mut Ledger,
        peers: &[(Peer, &'static str)],
        ours: &'s [Ours],
        more: Vec<(Candidate<'s>, f64)>,
    ) -> Result<()> {
        let Work { device, common, shape: [rows, ..], .. } = *self.work;
        let mut candidates = Vec::new();
        for (peer, dtype) in peers.iter().filter(|_| !device.is_simulator()) {
            match self.peer(*peer, dtype) {
                Ok(candidate) => candidates.push((candidate, *dtype, true, true, None)),
                Err(error) => println!("{dtype}: no peer: {error}"),
            }
        }
        // The host's function takes every shape; a single kernel's parameters, or a library, may refuse one.
        candidates
            .extend(ours.iter().map(|ours| (self.ours(ours), ours.dtype, false, ours.set.is_some(), None)));
        candidates.extend(more.into_iter().map(|(own, bytes)| (own, "bf16", false, false, Some(bytes))));
        let (mut checked, mut facts) = (Vec::new(), Vec::new());
        for (mut candidate, dtype, is_peer, may_refuse, bytes) in candidates {
            self.c.borrow_mut().poison()?;
            match (candidate.call)() {
                Ok(()) => {
                    facts.push((dtype, is_peer, self.judge(&self.c.borrow().download()?, dtype), bytes));
                    checked.push(candidate);
                }
                Err(error) if may_refuse => println!("{}: refused: {error}", candidate.name),
                Err(error) => return Err(error),
            }
        }
        let stream = device.stream();
        let launches = race(&stream, self.work.length, common.l2 == L2::Flush, &mut checked)?;
        ledger.head("GFLOPS/s");
        let place = if device.is_simulator() { "simulator" } else { "gpu" };
        let mut steps: Option<[f64; 2]> = None;
        for ((candidate, (dtype, is_peer, verdict, bytes)), launches) in
            checked.iter().zip(&facts).zip(launches)
        {
            let ms = candidate.ms();
            let row = (if *is_peer { "" } else { place }, candidate.name.clone(), *dtype);
            let mut record = self.record(row, (rows, ms, launches * candidate.times.len()), *verdict);
            let peer = checked.iter().zip(&facts).find(|(_, (known, peer, ..))| *peer && known == dtype);
            record.peer = peer
                .map(|(peer, _)| (peer.name.clone(), peer.ms()))
                .filter(|(name, _)| *name != candidate.name);
            record.spread = candidate.spread();
            record.work.bytes = bytes.unwrap_or(record.work.bytes);
            if !is_peer {
                record.steps = steps;
                steps = Some([steps.map_or(ms, |[first, _]| first), ms]);
            }
            ledger.keep(&record)?;
        }
        Ok(())
    }

    /// A library's product of these operands.
    fn peer<'s>(&'s self, peer: Peer, dtype: &str) -> Result<Candidate<'s>> {
        let stream = self.work.device.stream();
        if let Peer::Cublas(compute) = peer {
            let blas = Blas::new(&stream)?;
            let name =
                if dtype == "tf32" && self.work.workload == "matmul" { "cublas tf32" } else { "cublas" };
            return Ok(Candidate::new(name, move || {
                let (a, b) = self.next();
                blas.gemm(compute, a, b, &mut *self.c.borrow_mut())
            }));
        }
        let (a, b) = self.next();
        let mut product = Prepared::new(&stream, a, b, &mut *self.c.borrow_mut())?;
        product.tune(a, b, &mut *self.c.borrow_mut())?;
        println!("cublaslt: algorithm {} of {} is the fastest", product.chosen() + 1, product.algorithms());
        Ok(Candidate::new("cublaslt", move || {
            let (a, b) = self.next();
            product.run(a, b, &mut *self.c.borrow_mut())
        }))
    }

    /// One of ours, by the host's function.
    fn ours<'s>(&'s self, ours: &'s Ours) -> Candidate<'s> {
        let mut workspace = Workspace::default();
        let stream = self.work.device.stream();
        let precision = if ours.dtype == "tf32" { Precision::Tf32 } else { Precision::Float32 };
        Candidate::new(ours.name.clone(), move || {
            let (a, b) = self.next();
            let config = LaunchConfig { set: ours.set.as_ref(), ..LaunchConfig::default() };
            let options = Options { kernel: ours.kernel, precision, config };
            multiply(&stream, options, &mut workspace, a, b, &mut *self.c.borrow_mut())
        })
    }
}

impl<T: Element> Bench<'_, T, T> {
    /// A product by a quantised matrix of the numbers of B, by columns, from -1 on; with the bytes that it reads and writes.
    ///
    /// # Errors
    /// A device without memory.
    pub fn quantized<'s>(&'s self, name: String, format: Format) -> Result<(Candidate<'s>, f64)> {
        let Work { device, common, shape: [m, n, k], .. } = *self.work;
        let stream = device.stream();
        let levels = if format.bits == Bits::Four { 8.0 } else { 128.0 };
        let number =
            |at: usize| (self.host[1][at % n * k + at / n].constant().as_f64() * levels + levels) as u8;
        let q: Vec<u8> = (0..k * n).map(number).collect();
        let (scales, zeros) = (vec![1.0 / levels as f32; n], vec![levels as u8; n]);
        let of = || QuantizedMatrix::new(&stream, format, [k, n], &q, &scales, &zeros);
        let mut matrices = vec![of()?];
        let bytes = matrices[0].bytes();
        for _ in 1..common.copies(device, bytes) {
            matrices.push(of()?);
        }
        let (mut workspace, mut at) = (quantized::Workspace::default(), 0);
        let call = move || {
            at = (at + 1) % matrices.len();
            let (a, _) = self.next();
            let c = &mut *self.c.borrow_mut();
            quantized::multiply(&stream, &mut workspace, a, &matrices[at], c)
        };
        let moved = (m * k * size_of::<T>() + m * n * size_of::<T>()) as f64;
        Ok((Candidate::new(name, call), bytes as f64 + moved))
    }
}

/// cuBLAS at the precision of a float32 product.
pub const fn cublas(precision: Precision) -> (Peer, &'static str) {
    match precision {
        Precision::Float32 => (Peer::Cublas(Compute::F32), "f32"),
        Precision::Tf32 => (Peer::Cublas(Compute::Tf32), "tf32"),
    }
}
