//! C = A B in float32: every kernel of the ladder, the CPU, and cuBLAS in full float32 and in TF32.
//!
//! Law: each row is checked. Beside cuBLAS every element is compared with cuBLAS's own product in full float32, and
//! samples with float64; without it every element is compared with float64.

use crate::options::{Common, Records};
use clap::Args;
use layout_cuda::bench::{self, Timing};
use layout_cuda::cublas::{Blas, Compute};
use layout_cuda::{Device, Error, Tensor};
use layout_examples::algorithm::Algorithm;
use layout_examples::record::{Record, table_head, table_row};
use layout_examples::reference::Reference;
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
}

/// Sizes for the simulator.
const SMALL: [[usize; 3]; 2] = [[256, 256, 256], [255, 257, 253]];
/// Sizes for a GPU.
const LARGE: [[usize; 3]; 5] =
    [[4096, 4096, 4096], [2048, 2048, 2048], [8192, 8192, 8192], [1024, 512, 2048], [4095, 4097, 4093]];

/// Measures every kernel at every size.
pub fn run(
    device: &Device,
    common: &Common,
    options: &Options,
) -> Result<Records, Box<dyn std::error::Error>> {
    let shapes = match options.size.as_deref() {
        Some([m, n, k]) => vec![[*m, *n, *k]],
        _ if device.is_simulator() => SMALL.to_vec(),
        _ => LARGE.to_vec(),
    };
    let mut records = Records::new();
    for shape in shapes {
        records.extend(measure(device, shape, common, options)?);
    }
    Ok(records)
}

type Matrix = Tensor<f32, 2>;

fn measure(
    device: &Device,
    [m, n, k]: [usize; 3],
    common: &Common,
    options: &Options,
) -> Result<Records, Box<dyn std::error::Error>> {
    let chosen = match options.kernel.as_slice() {
        [] => Algorithm::KERNELS.to_vec(),
        chosen => chosen.to_vec(),
    };
    let mut random = StdRng::seed_from_u64(7);
    let mut values = |count: usize| (0..count).map(|_| random.random_range(-1.0f32..1.0)).collect::<Vec<_>>();
    let (a_host, b_host) = (values(m * k), values(k * n));
    let reference = Reference::product(&a_host, &b_host, [m, n, k]);
    let stream = device.stream();
    let operands = (0..common.copies(device, 4 * (m * k + k * n + m * n)))
        .map(|_| Ok((device.upload(&a_host, [m, k])?, device.upload(&b_host, [k, n])?)))
        .collect::<Result<Vec<(Matrix, Matrix)>, Error>>()?;
    let mut c = device.zeros::<f32, 2>([m, n])?;
    let timer = common.timer(device);
    println!("\nC ({m} x {n}) = A ({m} x {k}) B ({k} x {n}), float32, random in [-1, 1)\n{}", table_head());
    let mut records = Records::new();
    let mut time =
        |(place, kernel): (&'static str, &str),
         peer: Option<f64>,
         call: &mut dyn FnMut(&Matrix, &Matrix, &mut Matrix) -> Result<(), Error>| {
            c.poison()?;
            let mut next = operands.iter().cycle();
            let timing: Timing = bench::time(&stream, &timer, || match next.next() {
                Some((a, b)) => call(a, b, &mut c),
                None => Ok(()),
            })?;
            let found = reference.compare(&c.download()?);
            let record = Record {
                workload: "matmul",
                kernel: kernel.to_owned(),
                place,
                dtype: "f32",
                shape: vec![m, n, k],
                ms: timing.median_ms(),
                iters: timing.sorted_ms().len(),
                work: 2.0 * m as f64 * n as f64 * k as f64,
                elements: m as f64 * n as f64,
                unit: "TFLOP/s",
                peer: peer.map(|ms| ("cublas".to_owned(), ms)),
                wrong: found.wrong,
                max_rel_err: found.max_rel_err,
            };
            println!("{}", table_row(&record));
            let ms = record.ms;
            records.push(record);
            Ok::<f64, Error>(ms)
        };
    let blas = if device.is_simulator() { None } else { Some(Blas::new(&stream)?) };
    let mut peer = None;
    if let Some(blas) = &blas {
        let mut product = |a: &Matrix, b: &Matrix, c: &mut Matrix| Ok(blas.gemm(Compute::F32, a, b, c)?);
        peer = Some(time(("", "cublas"), None, &mut product)?);
    }
    let place = if device.is_simulator() { "simulator" } else { "gpu" };
    for algorithm in chosen {
        let mut product = |a: &Matrix, b: &Matrix, c: &mut Matrix| algorithm.launch(&stream, a, b, c);
        time((place, algorithm.name()), peer, &mut product)?;
    }
    println!("{}", "-".repeat(110));
    Ok(records)
}
