//! C = A B on the matrix units, and in float32: ours beside cuBLAS and the best of cuBLASLt's algorithms, by turns in one
//! process.
//!
//! Law: before anything is timed, every candidate's C is poisoned, computed and compared in full with the float64 product.

use crate::options::{Common, L2, Records};
use crate::truth::{Bound, Host, Truth, Verdict};
use crate::turns::{Candidate, Length, take_turns};
use clap::{Args, ValueEnum};
use layout_cuda::cublas::{Blas, Compute};
use layout_cuda::cublaslt::Product;
use layout_cuda::{
    Definition, Device, E4m3, Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, TensorView,
    bf16,
};
use layout_examples::gemm::{
    Workspace, gemm, gemm_by_columns, gemm_pair, gemm_split, gemm_swapped, gemm_turned, sgemm,
};
use layout_examples::kernels::gemm as kernels;
use layout_examples::kernels::{gemm_pair as pair, gemm_split as split, sgemm_fed};
use layout_examples::record::{Record, table_head, table_row};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::cell::RefCell;
use std::rc::Rc;

/// The options of `gemm`.
#[derive(Args)]
pub struct Options {
    /// Element types; several times for several
    #[arg(long, value_enum)]
    dtype: Vec<Dtype>,
    /// How A lies; both without it, by rows for types other than bf16
    #[arg(long, value_enum)]
    a: Option<Lies>,
    /// How B lies; both without it
    #[arg(long, value_enum)]
    b: Option<Lies>,
    /// M, N and K of C (M x N) = A (M x K) B (K x N); every size of the type's list without it
    #[arg(long, num_args = 3, value_names = ["M", "N", "K"])]
    size: Option<Vec<usize>>,
    /// Another parameter set to time beside the kernel's own, as `BN=128,STAGES=6`; several times for several
    #[arg(long, value_name = "NAME=VALUE,..")]
    set: Vec<String>,
    /// Rounds of two seconds a candidate, at the power that the device can hold
    #[arg(long)]
    sustained: bool,
}

/// What is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Dtype {
    /// bfloat16, C likewise
    Bf16,
    /// float32, rounded to TF32
    Tf32,
    /// 8-bit floats, C of bfloat16
    E4m3,
    /// float32 in full
    F32,
}

/// How an operand lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Lies {
    Rows,
    Columns,
}

impl Lies {
    /// The strides of a compact matrix.
    fn strides(self, [rows, columns]: [usize; 2]) -> [usize; 2] {
        match self {
            Lies::Rows => [columns, 1],
            Lies::Columns => [1, rows],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Lies::Rows => "rows",
            Lies::Columns => "columns",
        }
    }
}

const ODD: [usize; 3] = [4095, 4097, 4093];
const SMALL: [[usize; 3]; 2] = [[256, 512, 256], [200, 264, 328]];

fn cube(side: usize) -> [usize; 3] {
    [side; 3]
}

impl Dtype {
    fn name(self) -> &'static str {
        match self {
            Dtype::Bf16 => "bf16",
            Dtype::Tf32 => "tf32",
            Dtype::E4m3 => "e4m3",
            Dtype::F32 => "f32",
        }
    }

    fn shapes(self) -> Vec<[usize; 3]> {
        match self {
            Dtype::Bf16 => {
                vec![cube(4096), cube(8192), cube(16384), cube(2048), [1024, 512, 2048], ODD]
            }
            Dtype::Tf32 => vec![cube(4096), cube(8192), ODD],
            Dtype::E4m3 => vec![cube(4096), cube(8192)],
            Dtype::F32 => vec![cube(2048), cube(4096), cube(8192)],
        }
    }
}

/// Measures what is asked for.
pub fn run(
    device: &Device,
    common: &Common,
    options: &Options,
) -> Result<Records, Box<dyn std::error::Error>> {
    let dtypes = match options.dtype.as_slice() {
        [] => vec![Dtype::Bf16, Dtype::Tf32, Dtype::E4m3, Dtype::F32],
        chosen => chosen.to_vec(),
    };
    let mut records = Records::new();
    for dtype in dtypes {
        let shapes = match options.size.as_deref() {
            Some([m, n, k]) => vec![[*m, *n, *k]],
            _ if device.is_simulator() => SMALL.to_vec(),
            _ => dtype.shapes(),
        };
        for shape in shapes {
            let both = [Lies::Rows, Lies::Columns];
            for (a_lies, lies) in both.into_iter().flat_map(|a| both.map(|b| (a, b))) {
                // The other types want `k` contiguous in A.
                let known = dtype == Dtype::Bf16 || a_lies == Lies::Rows;
                let asked =
                    options.a.is_none_or(|only| only == a_lies) && options.b.is_none_or(|only| only == lies);
                if known && asked {
                    records.extend(of_type(&Work { device, common, options, dtype, a_lies, lies, shape })?);
                }
            }
        }
    }
    Ok(records)
}

/// One line of the table of goals.
struct Work<'a> {
    device: &'a Device,
    common: &'a Common,
    options: &'a Options,
    dtype: Dtype,
    a_lies: Lies,
    /// How B lies.
    lies: Lies,
    shape: [usize; 3],
}

/// A launch of one of our kernels. A B by columns, where it is not of 16 bits, is the tensor of its columns.
type Launch<T, U> = fn(
    &Stream,
    LaunchConfig<'_>,
    &mut Workspace<T, U>,
    &Tensor<T, 2>,
    &Tensor<T, 2>,
    &mut Tensor<U, 2>,
) -> Result<(), Error>;

/// One of our ways for these types: its name, the kernel whose parameters may be set, the launch.
type Way<T, U> = (&'static str, &'static Definition, Launch<T, U>);

fn of_type(work: &Work<'_>) -> Result<Records, Box<dyn std::error::Error>> {
    let (rows, columns) = (&kernels::gemm::DEFINITION, &kernels::gemm_by_columns::DEFINITION);
    match (work.dtype, work.lies) {
        (Dtype::Bf16, _) => work.measure(
            bf16::from_f32,
            &[
                ("gemm", rows, gemm::<bf16>),
                ("gemm_split", &split::DEFINITION, gemm_split::<bf16>),
                ("gemm_pair", &pair::DEFINITION, gemm_pair::<bf16>),
            ],
        ),
        (Dtype::Tf32, Lies::Rows) => {
            work.measure(|value| value, &[("gemm_swapped", &kernels::gemm_swapped::DEFINITION, gemm_swapped)])
        }
        (Dtype::Tf32, Lies::Columns) => {
            work.measure(|value| value, &[("gemm_by_columns", columns, gemm_by_columns::<f32, f32>)])
        }
        (Dtype::E4m3, Lies::Rows) => {
            work.measure(E4m3::from_f32, &[("gemm_turned", columns, gemm_turned::<E4m3, bf16>)])
        }
        (Dtype::E4m3, Lies::Columns) => {
            work.measure(E4m3::from_f32, &[("gemm_by_columns", columns, gemm_by_columns::<E4m3, bf16>)])
        }
        (Dtype::F32, Lies::Rows) => {
            work.measure(|value| value, &[("sgemm_fed", &sgemm_fed::DEFINITION, sgemm)])
        }
        (Dtype::F32, Lies::Columns) => {
            println!("\nf32, B by columns: there is no kernel for it");
            Ok(Records::new())
        }
    }
}

/// The operands of a measurement: several copies where samples are to come from memory.
struct Operands<T: Element> {
    copies: Vec<(Tensor<T, 2>, Tensor<T, 2>)>,
    /// Of B as a matrix.
    shape: [usize; 2],
    strides: [usize; 2],
    next: std::cell::Cell<usize>,
}

impl<T: Element> Operands<T> {
    fn next(&self) -> &(Tensor<T, 2>, Tensor<T, 2>) {
        let at = self.next.get();
        self.next.set((at + 1) % self.copies.len());
        &self.copies[at]
    }

    /// A and B as matrices.
    fn matrices(&self) -> Result<(&Tensor<T, 2>, TensorView<'_, T, 2>), Error> {
        let (a, b) = self.next();
        Ok((a, b.part(0, self.shape, self.strides)?))
    }
}

impl Work<'_> {
    fn measure<T: Element, U: Element>(
        &self,
        round: fn(f32) -> T,
        ways: &[Way<T, U>],
    ) -> Result<Records, Box<dyn std::error::Error>> {
        let Work { device, common, options, dtype, a_lies, lies, shape: [m, n, k] } = *self;
        let stream = device.stream();
        println!(
            "\nC ({m} x {n}) = A ({m} x {k}) B ({k} x {n}), {}, A by {}, B by {}, random in [-1, 1){}",
            dtype.name(),
            a_lies.name(),
            lies.name(),
            if options.sustained { ", two seconds at a time" } else { "" }
        );
        // The values of a table: rounding each number on its own takes longer than all the rest.
        let table: Vec<T> = (0..4096).map(|i| round(i as f32 / 2048.0 - 1.0)).collect();
        let fine: fn(&mut StdRng) -> f32 = |random| random.random_range(-1.0f32..1.0);
        let mut random = StdRng::seed_from_u64(7);
        let mut values = |count: usize| -> Vec<T> {
            match T::ELEM.bytes() {
                4 => (0..count).map(|_| round(fine(&mut random))).collect(),
                _ => (0..count).map(|_| table[random.random_range(0..table.len())]).collect(),
            }
        };
        let (a_host, b_host) = (values(m * k), values(k * n));
        let (a_strides, b_strides) = (a_lies.strides([m, k]), lies.strides([k, n]));
        let a = Host { data: &a_host, shape: [m, k], strides: a_strides };
        let b = Host { data: &b_host, shape: [k, n], strides: b_strides };
        let truth = Truth::product(device, &a, &b)?;
        let bound = Bound::of(dtype.name(), k);
        let bytes = (m * k + k * n) * size_of::<T>();
        let columns = lies == Lies::Columns && dtype != Dtype::Bf16;
        let (b_shape, b_tensor) = if columns { ([n, k], [k, 1]) } else { ([k, n], b_strides) };
        let upload = || {
            let a = device.upload_strided(&a_host, [m, k], a_strides)?;
            Ok((a, device.upload_strided(&b_host, b_shape, b_tensor)?))
        };
        let copies =
            (0..common.copies(device, bytes)).map(|_| upload()).collect::<Result<Vec<_>, Error>>()?;
        let operands = Operands { copies, shape: [k, n], strides: b_strides, next: std::cell::Cell::new(0) };
        let c = RefCell::new(device.zeros::<U, 2>([m, n])?);

        let mut candidates = self.peers(&stream, &operands, &c)?;
        let peers = candidates.len();
        candidates.extend(self.ours(&stream, &operands, &c, ways)?);
        let mut checked: Vec<(Candidate<'_>, Verdict, bool)> = Vec::new();
        for (number, mut candidate) in candidates.into_iter().enumerate() {
            c.borrow_mut().poison()?;
            match (candidate.call)() {
                Ok(()) => {
                    let verdict = truth.compare(&c.borrow().download()?, bound);
                    checked.push((candidate, verdict, number < peers));
                }
                // The host function takes every shape; a single kernel, or a library, may refuse one.
                Err(error) if number == peers => return Err(error.into()),
                Err(error) => println!("{}: refused: {error}", candidate.name),
            }
        }
        let length = match options.sustained {
            true => Length { rounds: 3, round_ms: 2000.0, least: 1 },
            false => Length { rounds: 5, round_ms: 20.0, least: 5 },
        };
        let (mut candidates, facts): (Vec<_>, Vec<_>) =
            checked.into_iter().map(|(candidate, verdict, peer)| (candidate, (verdict, peer))).unzip();
        let launches = take_turns(&stream, length, common.l2 == L2::Flush, &mut candidates)?;
        let peer = candidates.iter().zip(&facts).find(|(_, (_, peer))| *peer);
        let peer = peer.map(|(peer, _)| (peer.name.clone(), peer.ms()));
        println!("{}", table_head());
        let mut records = Records::new();
        for ((candidate, (verdict, is_peer)), launches) in candidates.iter().zip(facts).zip(launches) {
            let own = peer.as_ref().is_some_and(|(name, _)| *name == candidate.name);
            let place = if device.is_simulator() { "simulator" } else { "gpu" };
            let record = Record {
                workload: if options.sustained { "gemm_sustained" } else { "gemm" },
                kernel: candidate.name.clone(),
                place: if is_peer { "" } else { place },
                dtype: dtype.name(),
                shape: vec![m, n, k],
                ms: candidate.ms(),
                iters: launches * candidate.times.len(),
                work: 2.0 * m as f64 * n as f64 * k as f64,
                elements: m as f64 * n as f64,
                unit: "TFLOP/s",
                peer: if own { None } else { peer.clone() },
                wrong: verdict.wrong,
                max_rel_err: verdict.max_rel_err,
            };
            println!(
                "{}  |e|/|c| {:.1e}, rounds differ by {:.3}{}",
                table_row(&record),
                verdict.norm_err,
                candidate.spread(),
                verdict.first.map_or(String::new(), |at| format!(
                    ", first wrong at [{}, {}]",
                    at / n.max(1),
                    at % n.max(1)
                ))
            );
            records.push(record);
        }
        Ok(records)
    }

    /// The libraries' products of these operands; none on the simulator.
    fn peers<'a, T: Element, U: Element>(
        &self,
        stream: &Stream,
        operands: &'a Operands<T>,
        c: &'a RefCell<Tensor<U, 2>>,
    ) -> Result<Vec<Candidate<'a>>, Error> {
        let mut list: Vec<Candidate<'a>> = Vec::new();
        if self.device.is_simulator() {
            return Ok(list);
        }
        if self.dtype != Dtype::E4m3 {
            let blas = Blas::new(stream)?;
            let compute = if self.dtype == Dtype::Tf32 { Compute::Tf32 } else { Compute::F32 };
            let call = move || {
                let (a, b) = operands.matrices()?;
                Ok(blas.gemm(compute, a, &b, &mut *c.borrow_mut())?)
            };
            list.push(Candidate { name: "cublas".into(), call: Box::new(call), times: Vec::new() });
        }
        if self.dtype != Dtype::F32 {
            let (a, b) = operands.matrices()?;
            let mut product = match Product::new(stream, a, &b, &mut *c.borrow_mut()) {
                Ok(product) => product,
                Err(error) => {
                    println!("cublaslt: {error}");
                    return Ok(list);
                }
            };
            product.tune(a, &b, &mut *c.borrow_mut())?;
            println!(
                "cublaslt: algorithm {} of {} is the fastest",
                product.chosen() + 1,
                product.algorithms()
            );
            let call = move || {
                let (a, b) = operands.matrices()?;
                product.run(a, &b, &mut *c.borrow_mut())
            };
            list.push(Candidate { name: "cublaslt".into(), call: Box::new(call), times: Vec::new() });
        }
        Ok(list)
    }

    /// Our first way as its host function has it, and each way with the sets asked for that name its kernel's parameters.
    fn ours<'a, T: Element, U: Element>(
        &self,
        stream: &Stream,
        operands: &'a Operands<T>,
        c: &'a RefCell<Tensor<U, 2>>,
        ways: &[Way<T, U>],
    ) -> Result<Vec<Candidate<'a>>, Box<dyn std::error::Error>> {
        // Which layouts a record is about, where the kernel's name does not say it.
        let lie = match (self.dtype, self.a_lies, self.lies) {
            (Dtype::Bf16, Lies::Rows, Lies::Columns) => ", B by columns",
            (Dtype::Bf16, Lies::Columns, Lies::Rows) => ", A by columns",
            (Dtype::Bf16, Lies::Columns, Lies::Columns) => ", A and B by columns",
            _ => "",
        };
        let mut sets: Vec<_> =
            ways.iter().take(1).map(|(name, _, launch)| (format!("{name}{lie}"), None, *launch)).collect();
        for text in &self.options.set {
            let mut refused = None;
            let before = sets.len();
            for (name, definition, launch) in ways {
                let own = definition.variants.first().map(|variant| variant.parameters).unwrap_or_default();
                let own = own.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
                match with(ParamSet(own), text) {
                    Ok(set) => sets.push((format!("{name}{lie} {text}"), Some(set), *launch)),
                    Err(error) => refused = Some(error),
                }
            }
            if let Some(error) = refused.filter(|_| sets.len() == before) {
                return Err(error.into());
            }
        }
        let workspace = Rc::new(RefCell::new(Workspace::new()));
        let candidate = |(name, set, launch): (String, Option<ParamSet>, Launch<T, U>)| {
            let (stream, workspace) = (stream.clone(), workspace.clone());
            let call = move || {
                let (a, b) = operands.next();
                let config = LaunchConfig { set: set.as_ref(), ..LaunchConfig::default() };
                launch(&stream, config, &mut workspace.borrow_mut(), a, b, &mut c.borrow_mut())
            };
            Candidate { name, call: Box::new(call) as Box<dyn FnMut() -> _>, times: Vec::new() }
        };
        Ok(sets.into_iter().map(candidate).collect())
    }
}

/// A set with the parameters of `NAME=VALUE,..` in it.
fn with(set: ParamSet, text: &str) -> Result<ParamSet, String> {
    text.split(',').try_fold(set, |set, part| {
        let (name, value) =
            part.split_once('=').ok_or(format!("`--set {text}`: `{part}` is no NAME=VALUE"))?;
        let value = match value {
            "true" => ParamValue::Bool(true),
            "false" => ParamValue::Bool(false),
            number => ParamValue::Int(number.parse().map_err(|_| format!("`--set {text}`: `{number}`?"))?),
        };
        if set.get(name).is_none() {
            return Err(format!("`--set {text}`: the kernel has no `{name}`, only {}", set.key()));
        }
        Ok(set.with(name, value))
    })
}
