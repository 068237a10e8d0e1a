//! Runs the matrix multiplications of the ladder on a GPU or on the simulator, checks every element, and times them.
//! `cargo run --release -p layout-bench -- matmul` sets cuBLAS and the CPU beside them.
//!
//! `cargo run --release --example matmul -- --help`

use clap::Parser;
use layout_cuda::bench::{self, time};
use layout_cuda::{Device, Promises, prepare};
use layout_examples::programs::ladder::{LADDER, find};
use layout_examples::programs::reference::{LONGEST, integers, product};
use layout_examples::programs::{Result, exit};
use layout_kernels::product::{Kernel, Workspace, multiply};
use std::process::ExitCode;

/// Matrix multiplications in the kernel language: every element checked, timed.
#[derive(Parser)]
struct Command {
    /// gpu or simulator; the GPU where there is one without it
    #[arg(long)]
    device: Option<String>,
    /// M, N and K of C (M x N) = A (M x K) B (K x N); every size of the default list without it
    #[arg(long, num_args = 3, value_names = ["M", "N", "K"])]
    size: Option<Vec<usize>>,
    /// Only this kernel, by its name; may be given several times
    #[arg(long, value_parser = find)]
    kernel: Vec<Kernel>,
    /// Prints the CUDA C of the kernels, and runs nothing
    #[arg(long)]
    source: bool,
}

/// Sizes for the simulator, a second or two each: most of them no tile divides.
const SMALL: [[usize; 3]; 6] =
    [[256, 256, 256], [255, 257, 253], [100, 76, 52], [65, 33, 129], [1, 1, 1], [31, 97, 1]];
/// Sizes for a GPU.
const LARGE: [[usize; 3]; 4] =
    [[4096, 4096, 4096], [2048, 2048, 2048], [1024, 512, 2048], [4095, 4097, 4093]];

fn main() -> ExitCode {
    sigpipe::reset();
    exit(run(&Command::parse()))
}

/// Gives the number of kernels with a wrong result.
fn run(command: &Command) -> Result<usize> {
    let device = match command.device.as_deref() {
        None => Device::best(),
        Some("gpu") => Device::gpu(0)?,
        Some("simulator") => Device::simulator(),
        Some(other) => return Err(format!("`--device {other}`: there are `gpu` and `simulator`").into()),
    };
    println!("device: {}", device.describe());
    let kernels: Vec<Kernel> = match command.kernel.as_slice() {
        [] => LADDER.into_iter().filter(|kernel| kernel.runs_on(&device)).collect(),
        chosen => chosen.to_vec(),
    };
    if command.source {
        for kernel in kernels {
            let ready = prepare(kernel.definition(), &device, None, Promises::USUAL)?;
            println!("// {kernel}\n{}", ready.text()?);
        }
        return Ok(0);
    }
    let shapes = match command.size.as_deref() {
        Some([m, n, k]) => vec![[*m, *n, *k]],
        _ if device.is_simulator() => SMALL.to_vec(),
        _ => LARGE.to_vec(),
    };
    let mut wrong = 0;
    for shape in shapes {
        wrong += at(&device, &kernels, shape)?;
    }
    if device.is_simulator() {
        println!("\ntimes are the simulator's on this CPU");
    }
    Ok(wrong)
}

/// Every kernel at one size.
fn at(device: &Device, kernels: &[Kernel], shape: [usize; 3]) -> Result<usize> {
    let [m, n, k] = shape;
    if k > LONGEST {
        return Err(format!("`--size`: K is {k}; results are exact up to {LONGEST}").into());
    }
    println!("\nC ({m} x {n}) = A ({m} x {k}) B ({k} x {n}), float32, integers from -8 to 8");
    println!("{:<24} {:>12} {:>10} {:>10}  result", "kernel", "ms", "TFLOP/s", "x first");
    let (a, b) = (integers(m * k, 1), integers(k * n, 2));
    let wanted = product(&a, &b, shape);
    let (a, b) = (device.upload(&a, [m, k])?, device.upload(&b, [k, n])?);
    let (stream, samples) = (device.stream(), if device.is_simulator() { 1 } else { 20 });
    let options = bench::Options { samples, warm_up: usize::from(samples > 1), ..bench::Options::default() };
    let (mut first, mut wrong) = (None, 0);
    for kernel in kernels {
        let (mut c, mut workspace) = (device.zeros::<f32, 2>([m, n])?, Workspace::default());
        c.poison()?;
        let ms = time(&stream, &options, || multiply(&stream, *kernel, &mut workspace, &a, &b, &mut c))?;
        let (ms, found) = (ms.median_ms(), c.download()?);
        let differ = found.iter().zip(&wanted).position(|(found, wanted)| found != wanted);
        let verdict = differ.map_or("right".to_owned(), |at| {
            format!("WRONG: row {}, column {}: {}, not {}", at / n, at % n, found[at], wanted[at])
        });
        wrong += usize::from(differ.is_some());
        let rate = 2.0 * m as f64 * n as f64 * k as f64 / ms * 1e-9;
        let first = first.get_or_insert(ms);
        println!("{:<24} {ms:>12.4} {rate:>10.4} {:>10.2}  {verdict}", kernel.name(), *first / ms);
    }
    Ok(wrong)
}
