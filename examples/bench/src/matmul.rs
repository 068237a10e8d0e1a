//! C = A B in float32: every kernel of the ladder, the CPU, and cuBLAS in full float32 and in TF32.

use super::ledger::Ledger;
use super::options::Common;
use super::product::{Bench, Order, Ours, Work, cublas};
use super::race::Length;
use super::{Result, cpu};
use clap::Args;
use layout_cuda::{Device, Promises, prepare, prepared};
use layout_examples::programs::ladder::{LADDER, find};
use layout_kernels::product::{Kernel, Precision};

/// The options of `matmul`.
#[derive(Args)]
pub struct Options {
    /// M, N and K of C (M x N) = A (M x K) B (K x N); every size of the default list without it
    #[arg(long, num_args = 3, value_names = ["M", "N", "K"])]
    size: Option<Vec<usize>>,
    /// Only this kernel, by its name; may be given several times
    #[arg(long, value_parser = find)]
    kernel: Vec<Kernel>,
    /// Tiles of the kernels other than their own, `BM=64,STAGES=2`; may be given several times
    #[arg(long)]
    set: Vec<String>,
    /// Leaves the CPU out
    #[arg(long)]
    no_cpu: bool,
    /// Prints the CUDA C of the kernels, and measures nothing
    #[arg(long)]
    source: bool,
}

/// Sizes for the simulator, a second or two each: most of them no tile divides.
const SMALL: [[usize; 3]; 6] =
    [[256, 256, 256], [255, 257, 253], [100, 76, 52], [65, 33, 129], [1, 1, 1], [31, 97, 1]];
/// Sizes for a GPU.
const LARGE: [[usize; 3]; 5] =
    [[4096, 4096, 4096], [2048, 2048, 2048], [8192, 8192, 8192], [1024, 512, 2048], [4095, 4097, 4093]];

/// Measures every kernel at every size.
///
/// # Errors
/// Sets that no kernel has, a device without memory, or a failing launch.
pub fn run(ledger: &mut Ledger, device: &Device, common: &Common, options: &Options) -> Result<()> {
    let shapes = match options.size.as_deref() {
        Some([m, n, k]) => vec![[*m, *n, *k]],
        _ if device.is_simulator() => SMALL.to_vec(),
        _ => LARGE.to_vec(),
    };
    let kernels = match options.kernel.as_slice() {
        [] => LADDER.into_iter().filter(|kernel| kernel.runs_on(device)).collect(),
        chosen => chosen.to_vec(),
    };
    let mut ours = Vec::new();
    for kernel in kernels {
        let dtype = kernel.precision().name();
        match options.set.as_slice() {
            [] => ours.push(Ours::of(kernel, dtype, None)?),
            sets => ours.extend(Ours::those_that_can(&[kernel], dtype, sets)),
        }
    }
    if ours.is_empty() {
        return Err("no kernel is left to measure".into());
    }
    if options.source {
        return sources(device, &ours);
    }
    for shape in shapes {
        let length = Length { rounds: common.samples.div_ceil(4).max(1), round_ms: 20.0, least: 1 };
        let work =
            Work { device, common, workload: "matmul", shape, orders: [Order::Rows, Order::Rows], length };
        let bench = Bench::<f32, f32>::new(&work, "float32", |value| value)?;
        bench.run(ledger, &[cublas(Precision::Float32), cublas(Precision::Tf32)], &ours)?;
        if !options.no_cpu {
            on_the_cpu(ledger, &bench, shape)?;
        }
        ledger.foot();
    }
    if !device.is_simulator() {
        usage(device, &ours)?;
    }
    Ok(())
}

/// The same product on the CPU: three loops, over as many rows as a second or two allows, and a library.
fn on_the_cpu(ledger: &mut Ledger, bench: &Bench<'_, f32, f32>, shape: [usize; 3]) -> Result<()> {
    let ([a, b], [m, n, _]) = (&bench.host, shape);
    let mut c = vec![f32::NAN; m * n];
    let ms = cpu::library(a, b, &mut c, shape)?;
    let library = bench.judge(&c, "f32");
    let (rows, naive_ms) = cpu::naive(a, b, &mut c, shape);
    // The rows that the loops did not reach hold the library's product, which is checked.
    let naive = bench.judge(&c, "f32");
    let name = if rows < m { format!("naive ({rows} rows)") } else { "naive".to_owned() };
    ledger.keep(&bench.record(("cpu", name, "f32"), (rows, naive_ms, 1), naive))?;
    ledger.keep(&bench.record(("cpu", "gemm".to_owned(), "f32"), (m, ms, 1), library))
}

/// The CUDA C of each kernel, as an aligned launch takes it.
fn sources(device: &Device, ours: &[Ours]) -> Result<()> {
    for Ours { name, kernel, set, .. } in ours {
        if let Some(kernel) = kernel {
            let ready = prepare(kernel.definition(), device, set.as_ref(), Promises::USUAL)?;
            println!("// {name}\n{}", ready.text()?);
        }
    }
    Ok(())
}

/// What the kernels that ran use of a multiprocessor.
fn usage(device: &Device, ours: &[Ours]) -> Result<()> {
    println!(
        "\n| {:<72} | {:>7} | {:>9} | {:>6} | {:>9} | {:>9} |",
        "kernel", "threads", "registers", "local", "shared", "warps/SM"
    );
    for Ours { kernel, set, .. } in ours {
        let Some(kernel) = kernel else { continue };
        for kernel in prepared(kernel.definition(), device, set.as_ref())? {
            if let Some(usage) = kernel.usage()? {
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
    }
    Ok(())
}
