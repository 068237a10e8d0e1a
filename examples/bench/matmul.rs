//! C = A B in float32: every kernel of the ladder, the CPU, and cuBLAS in full float32 and in TF32.
//!
//! Law: each row is checked, by [`super::product`]; a kernel's peer is cuBLAS in the same run and at the same precision.

use crate::cpu;
use crate::options::{Common, Records};
use crate::product::Product;
use crate::progress::Progress;
use clap::Args;
use layout_cuda::bench::{self, Timing};
use layout_cuda::cublas::{Blas, Compute};
use layout_cuda::{Device, Error, LaunchConfig, ParamSet, ParamValue, Tensor, Usage, prepared};
use layout_examples::algorithm::Algorithm;
use layout_examples::padded::Workspace;
use layout_examples::record::{Record, table_head, table_row};
use layout_examples::reference::{Comparison, Precision};
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// The options of `matmul`.
#[derive(Args)]
pub struct Options {
    /// M, N and K of C (M x N) = A (M x K) B (K x N); every size of the default list without it
    #[arg(long, num_args = 3, value_names = ["M", "N", "K"])]
    size: Option<Vec<usize>>,
    /// Only this kernel; may be given several times
    #[arg(long)]
    kernel: Vec<Algorithm>,
    /// Tiles of the kernels other than their own, `BM=64,STAGES=2`; may be given several times
    #[arg(long)]
    set: Vec<String>,
    /// Leaves the CPU out
    #[arg(long)]
    no_cpu: bool,
}

/// Sizes for the simulator.
const SMALL: [[usize; 3]; 2] = [[256, 256, 256], [255, 257, 253]];
/// Sizes for a GPU.
const LARGE: [[usize; 3]; 5] =
    [[4096, 4096, 4096], [2048, 2048, 2048], [8192, 8192, 8192], [1024, 512, 2048], [4095, 4097, 4093]];

/// cuBLAS, as each precision has it.
const PEERS: [(Compute, Precision, &str); 2] =
    [(Compute::F32, Precision::Float32, "cublas"), (Compute::Tf32, Precision::Tf32, "cublas tf32")];

type Matrix = Tensor<f32, 2>;
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Measures every kernel at every size.
pub fn run(device: &Device, common: &Common, options: &Options) -> Result<Records> {
    let shapes = match options.size.as_deref() {
        Some([m, n, k]) => vec![[*m, *n, *k]],
        _ if device.is_simulator() => SMALL.to_vec(),
        _ => LARGE.to_vec(),
    };
    let kernels = match options.kernel.as_slice() {
        [] => Algorithm::KERNELS.into_iter().filter(|algorithm| algorithm.runs_on(device)).collect(),
        chosen => chosen.to_vec(),
    };
    let mut records = Records::new();
    for shape in shapes {
        let steps = kernels.len() * options.set.len().max(1) + 1;
        let mut bench = Bench::new(device, common, shape, steps)?;
        bench.progress.start("the CPU and cuBLAS");
        bench.peers(options)?;
        bench.progress.step();
        for algorithm in &kernels {
            match options.set.as_slice() {
                [] => bench.kernel(*algorithm, None)?,
                sets => {
                    for text in sets {
                        bench.kernel(*algorithm, Some(text))?;
                    }
                }
            }
        }
        let Bench { records: of_shape, progress, .. } = bench;
        drop(progress);
        println!("{}", "-".repeat(110));
        records.extend(of_shape);
    }
    if !device.is_simulator() && options.set.is_empty() {
        report(device, &kernels)?;
    }
    Ok(records)
}

/// One shape.
struct Bench<'a> {
    device: &'a Device,
    common: &'a Common,
    shape: [usize; 3],
    host: [Vec<f32>; 2],
    /// The operands; several of the same where each sample takes others.
    operands: Vec<(Matrix, Matrix)>,
    c: Matrix,
    blas: Option<Blas>,
    wanted: Product,
    /// cuBLAS in full float32 and in TF32, milliseconds.
    peers: [Option<f64>; 2],
    records: Records,
    progress: Progress,
}

impl<'a> Bench<'a> {
    fn new(device: &'a Device, common: &'a Common, shape: [usize; 3], steps: usize) -> Result<Bench<'a>> {
        let [m, n, k] = shape;
        let mut random = StdRng::seed_from_u64(7);
        let mut values =
            |count: usize| (0..count).map(|_| random.random_range(-1.0f32..1.0)).collect::<Vec<f32>>();
        let host = [values(m * k), values(k * n)];
        let copies = common.copies(device, 4 * (m * k + k * n + m * n));
        let operands = (0..copies)
            .map(|_| Ok((device.upload(&host[0], [m, k])?, device.upload(&host[1], [k, n])?)))
            .collect::<std::result::Result<Vec<(Matrix, Matrix)>, Error>>()?;
        let blas = match device.is_simulator() {
            true => None,
            false => Some(Blas::new(&device.stream())?),
        };
        let wanted = Product::of(&host[0], &host[1], shape, device, blas.as_ref())?;
        println!(
            "\nC ({m} x {n}) = A ({m} x {k}) B ({k} x {n}), float32, random in [-1, 1), L2 {:?}\n{}",
            common.l2,
            table_head()
        );
        let c = device.zeros::<f32, 2>([m, n])?;
        let (peers, records, progress) = ([None; 2], Records::new(), Progress::new(steps));
        Ok(Bench { device, common, shape, host, operands, c, blas, wanted, peers, records, progress })
    }

    /// Keeps and prints a row; gives its time.
    fn keep(
        &mut self,
        (place, kernel, precision): (&'static str, String, Precision),
        (rows, ms, iters): (usize, f64, usize),
        found: Comparison,
        peer: Option<f64>,
    ) {
        let [m, n, k] = self.shape;
        let library = PEERS.iter().find(|(_, known, _)| *known == precision).map_or("", |(.., name)| *name);
        let record = Record {
            workload: "matmul",
            kernel,
            place,
            dtype: precision.name(),
            shape: vec![m, n, k],
            ms,
            iters,
            work: 2.0 * rows as f64 * n as f64 * k as f64,
            elements: rows as f64 * n as f64,
            unit: "TFLOP/s",
            peer: peer.map(|ms| (library.to_owned(), ms)),
            wrong: found.wrong,
            max_rel_err: found.max_rel_err,
        };
        self.progress.aside(|| {
            println!("{}", table_row(&record));
            if let Some(first) = found.first {
                println!("  first wrong element: row {}, column {}", first / n.max(1), first % n.max(1));
            }
        });
        self.records.push(record);
    }

    /// Times a call on the device and compares its result.
    fn time(
        &mut self,
        precision: Precision,
        call: &mut dyn FnMut(&Matrix, &Matrix, &mut Matrix) -> std::result::Result<(), Error>,
    ) -> Result<(Timing, Comparison)> {
        self.c.poison()?;
        let (mut next, c) = (self.operands.iter().cycle(), &mut self.c);
        let timing = bench::time(&self.device.stream(), &self.common.timer(self.device), || {
            next.next().map_or(Ok(()), |(a, b)| call(a, b, c))
        })?;
        Ok((timing, self.wanted.compare(&self.c.download()?, precision)))
    }

    /// The CPU and cuBLAS.
    fn peers(&mut self, options: &Options) -> Result<()> {
        let [m, n, _] = self.shape;
        if !options.no_cpu {
            let mut c = vec![f32::NAN; m * n];
            let ms = cpu::library(&self.host[0], &self.host[1], &mut c, self.shape)?;
            let found = self.wanted.compare(&c, Precision::Float32);
            let (rows, naive_ms) = cpu::naive(&self.host[0], &self.host[1], &mut c, self.shape);
            // The rows that the loops did not reach hold the library's product, which is checked.
            let naive = self.wanted.compare(&c, Precision::Float32);
            let name = if rows < m { format!("naive ({rows} rows)") } else { "naive".to_owned() };
            self.keep(("cpu", name, Precision::Float32), (rows, naive_ms, 1), naive, None);
            self.keep(("cpu", "gemm".to_owned(), Precision::Float32), (m, ms, 1), found, None);
        }
        let Some(blas) = self.blas.take() else { return Ok(()) };
        for (number, (compute, precision, name)) in PEERS.into_iter().enumerate() {
            let mut call = |a: &Matrix, b: &Matrix, c: &mut Matrix| Ok(blas.gemm(compute, a, b, c)?);
            let (timing, found) = self.time(precision, &mut call)?;
            self.peers[number] = Some(timing.median_ms());
            let time = (m, timing.median_ms(), timing.sorted_ms().len());
            self.keep(("", name.to_owned(), precision), time, found, None);
        }
        self.blas = Some(blas);
        Ok(())
    }

    /// A kernel, with tiles of its own or of `text`.
    fn kernel(&mut self, algorithm: Algorithm, text: Option<&String>) -> Result<()> {
        self.progress.start(algorithm.name());
        let set = text.map(|text| parameters(algorithm, text)).transpose()?;
        let stream = self.device.stream();
        let precision = algorithm.precision();
        let config = || LaunchConfig { set: set.as_ref(), ..LaunchConfig::default() };
        let mut workspace = Workspace::default();
        let mut call = |a: &Matrix, b: &Matrix, c: &mut Matrix| {
            algorithm.launch_in(&mut workspace, config(), &stream, a, b, c)
        };
        let (timing, found) = self.time(precision, &mut call)?;
        let place = if self.device.is_simulator() { "simulator" } else { "gpu" };
        let peer = PEERS.iter().position(|(_, known, _)| *known == precision).and_then(|at| self.peers[at]);
        let name = match text {
            Some(text) => format!("{} {text}", algorithm.name()),
            None => algorithm.name().to_owned(),
        };
        let time = (self.shape[0], timing.median_ms(), timing.sorted_ms().len());
        self.keep((place, name, precision), time, found, peer);
        if let (Some(set), Some(definition)) = (&set, algorithm.definition()) {
            let usage = usage(definition, self.device, Some(set))?;
            self.progress.aside(|| print_usage(&usage));
        }
        self.progress.step();
        Ok(())
    }
}

/// The kernel's own set with some values replaced: `BM=64,STAGES=2`.
fn parameters(algorithm: Algorithm, text: &str) -> Result<ParamSet> {
    let definition = algorithm.definition().ok_or("`auto` has no tiles of its own")?;
    let first = definition.variants.first().map(|variant| variant.parameters).unwrap_or_default();
    let mut set = ParamSet(first.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect());
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').ok_or_else(|| format!("`{part}` is not NAME=VALUE"))?;
        set = set.with(name, ParamValue::Int(value.parse()?));
    }
    Ok(set)
}

/// What the kernels that ran use.
fn report(device: &Device, kernels: &[Algorithm]) -> Result<()> {
    println!(
        "\n| {:<72} | {:>7} | {:>9} | {:>6} | {:>9} | {:>9} |",
        "kernel", "threads", "registers", "local", "shared", "warps/SM"
    );
    for definition in kernels.iter().filter_map(|algorithm| algorithm.definition()) {
        print_usage(&usage(definition, device, None)?);
    }
    Ok(())
}

fn usage(
    definition: &'static layout_cuda::Definition,
    device: &Device,
    set: Option<&ParamSet>,
) -> std::result::Result<Vec<Usage>, Error> {
    let kernels = prepared(definition, device, set)?;
    Ok(kernels
        .iter()
        .map(|kernel| kernel.usage())
        .collect::<std::result::Result<Vec<_>, _>>()?
        .into_iter()
        .flatten()
        .collect())
}

fn print_usage(list: &[Usage]) {
    for usage in list {
        println!(
            "| {:<72} | {:>7} | {:>9} | {:>6} | {:>9} | {:>9} |",
            usage.entry,
            usage.threads,
            usage.registers,
            usage.local_bytes,
            usage.shared_bytes,
            usage.warps_per_multiprocessor()
        );
    }
}
