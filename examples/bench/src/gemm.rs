//! C = A B on the matrix units, and in float32: ours beside cuBLAS and the best of cuBLASLt's algorithms.

use super::Result;
use super::cublas::Compute;
use super::ledger::Ledger;
use super::options::Common;
use super::product::{Bench, Order, Ours, Peer, Work, cublas};
use super::race::Length;
use clap::{Args, ValueEnum};
use layout_cuda::{Device, E4m3, bf16};
use layout_kernels::product::{Kernel, Precision};
use layout_kernels::quantized::Format;

/// The options of `gemm`.
#[derive(Args)]
pub struct Options {
    /// Element types; several times for several
    #[arg(long, value_enum)]
    dtype: Vec<Dtype>,
    /// How A is laid out; both without it, by rows for types other than bf16
    #[arg(long, value_enum)]
    a: Option<Order>,
    /// How B is laid out; both without it
    #[arg(long, value_enum)]
    b: Option<Order>,
    /// M, N and K of C (M x N) = A (M x K) B (K x N); every size of the type's list without it
    #[arg(long, num_args = 3, value_names = ["M", "N", "K"])]
    size: Option<Vec<usize>>,
    /// Another parameter set to time beside the kernel's own, as `BN=128,STAGES=6`; several times for several
    #[arg(long, value_name = "NAME=VALUE,..")]
    set: Vec<String>,
    /// By `mma.sync` alone, as a card without Hopper's units runs it
    #[arg(long)]
    warps: bool,
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
    /// float64
    F64,
    /// bfloat16 by weights of 4 bits; the peers multiply in bfloat16
    Int4,
    /// The same by weights of 8 bits
    Int8,
}

const ODD: [usize; 3] = [4095, 4097, 4093];
/// Few rows, as a model's that makes a token at a time: with `k` contiguous in both operands alone.
const FEW: [[usize; 3]; 11] = [
    [1, 2048, 2048],
    [1, 8192, 2048],
    [1, 2048, 8192],
    [1, 32768, 8192],
    [1, 128_256, 2048],
    [16, 8192, 2048],
    [16, 2048, 8192],
    [16, 32768, 8192],
    [32, 8192, 2048],
    [64, 32768, 8192],
    [128, 32768, 8192],
];
const SMALL: [[usize; 3]; 2] = [[256, 512, 256], [200, 264, 328]];

impl Dtype {
    const ALL: [Dtype; 7] =
        [Dtype::Bf16, Dtype::Tf32, Dtype::E4m3, Dtype::F32, Dtype::F64, Dtype::Int4, Dtype::Int8];

    const fn name(self) -> &'static str {
        match self {
            Dtype::Bf16 => "bf16",
            Dtype::Tf32 => "tf32",
            Dtype::E4m3 => "e4m3",
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
            Dtype::Int4 => "int4",
            Dtype::Int8 => "int8",
        }
    }

    fn shapes(self) -> Vec<[usize; 3]> {
        match self {
            Dtype::Bf16 => {
                let large = [[4096; 3], [8192; 3], [16384; 3], [2048; 3], [1024, 512, 2048], ODD];
                large.into_iter().chain(FEW).collect()
            }
            Dtype::Tf32 => vec![[4096; 3], [8192; 3], ODD],
            Dtype::E4m3 => vec![[4096; 3], [8192; 3]],
            Dtype::F32 => vec![[2048; 3], [4096; 3], [8192; 3]],
            Dtype::Int4 | Dtype::Int8 => {
                let of = |m| [[m, 32768, 8192], [m, 2048, 2048], [m, 8192, 2048], [m, 2048, 8192]];
                [1, 16, 64].into_iter().flat_map(of).collect()
            }
            Dtype::F64 => vec![[2048; 3], [4096, 4096, 2048], [4096; 3], [8192; 3], ODD],
        }
    }

    /// The name of our way, the kernel where it is not left to the shape, and the kernels whose parameters may be set.
    /// Records keep the names that they had: 8-bit operands by rows are transposed first.
    fn way(self, b: Order) -> (&'static str, Option<Kernel>, &'static [Kernel]) {
        match (self, b) {
            (Dtype::Bf16, _) => {
                ("gemm", None, &[Kernel::Gemm, Kernel::GemmSplit, Kernel::GemmPair, Kernel::FewRows])
            }
            (Dtype::Tf32, Order::Rows) => ("gemm_swapped", Some(Kernel::GemmSwapped), &[Kernel::GemmSwapped]),
            (Dtype::E4m3, Order::Rows) => ("gemm_turned", Some(Kernel::Gemm), &[Kernel::Gemm]),
            (Dtype::Tf32 | Dtype::E4m3, Order::Columns) => {
                ("gemm_by_columns", Some(Kernel::Gemm), &[Kernel::Gemm])
            }
            (Dtype::F64, _) => ("dgemm", None, &[Kernel::Dgemm]),
            (Dtype::Int4 | Dtype::Int8, _) => ("matmul_quantized", None, &[]),
            (Dtype::F32, _) => ("sgemm_fed", Some(Kernel::SgemmFed), &[Kernel::SgemmFed]),
        }
    }

    fn peers(self) -> Vec<(Peer, &'static str)> {
        match self {
            Dtype::Bf16 | Dtype::Int4 | Dtype::Int8 => {
                vec![(Peer::Cublas(Compute::F32), "bf16"), (Peer::CublasLt, "bf16")]
            }
            Dtype::Tf32 => vec![cublas(Precision::Tf32), (Peer::CublasLt, "tf32")],
            Dtype::E4m3 => vec![(Peer::CublasLt, "e4m3")],
            Dtype::F32 => vec![cublas(Precision::Float32)],
            Dtype::F64 => vec![(Peer::Cublas(Compute::F32), "f64")],
        }
    }
}

/// Measures what is asked for.
///
/// # Errors
/// A set that no kernel has, a device without memory, or a failing launch.
pub fn run(ledger: &mut Ledger, device: &Device, common: &Common, options: &Options) -> Result<()> {
    let dtypes = match options.dtype.as_slice() {
        [] => Dtype::ALL.to_vec(),
        chosen => chosen.to_vec(),
    };
    let length = match options.sustained {
        true => Length { rounds: 3, round_ms: 2000.0, least: 1 },
        false => Length { rounds: 5, round_ms: 20.0, least: 5 },
    };
    let workload = if options.sustained { "gemm_sustained" } else { "gemm" };
    for dtype in dtypes {
        let shapes = match options.size.as_deref() {
            Some([m, n, k]) => vec![[*m, *n, *k]],
            _ if device.is_simulator() => SMALL.to_vec(),
            _ => dtype.shapes(),
        };
        let both = [Order::Rows, Order::Columns];
        let orders: Vec<[Order; 2]> = both.into_iter().flat_map(|a| both.map(|b| [a, b])).collect();
        for (shape, orders @ [a, b]) in
            shapes.iter().flat_map(|shape| orders.iter().map(move |orders| (*shape, *orders)))
        {
            // The other types are measured with `k` contiguous in A, and float32 in full and float64 by rows.
            let known = match dtype {
                Dtype::Bf16 => !FEW.contains(&shape) || orders == [Order::Rows, Order::Columns],
                Dtype::Tf32 | Dtype::E4m3 => a == Order::Rows,
                Dtype::F32 | Dtype::F64 => orders == [Order::Rows; 2],
                Dtype::Int4 | Dtype::Int8 => orders == [Order::Rows, Order::Columns],
            };
            if known && options.a.is_none_or(|only| only == a) && options.b.is_none_or(|only| only == b) {
                let work = Work { device, common, workload, shape, orders, length };
                measure(ledger, &work, dtype, options)?;
            }
        }
    }
    Ok(())
}

/// One product.
fn measure(ledger: &mut Ledger, work: &Work<'_>, dtype: Dtype, options: &Options) -> Result<()> {
    // Which layouts a record is about, where the kernel's name does not say it.
    let suffix = match (dtype, work.orders) {
        (Dtype::Bf16, [Order::Rows, Order::Columns]) => ", B by columns",
        (Dtype::Bf16, [Order::Columns, Order::Rows]) => ", A by columns",
        (Dtype::Bf16, [Order::Columns, Order::Columns]) => ", A and B by columns",
        _ => "",
    };
    let (name, kernel, settable) = match (options.warps, dtype) {
        (true, Dtype::Bf16 | Dtype::E4m3) => ("gemm_mma", Some(Kernel::GemmMma), &[Kernel::GemmMma][..]),
        _ => dtype.way(work.orders[1]),
    };
    let mut ours = vec![Ours { name: format!("{name}{suffix}"), dtype: dtype.name(), kernel, set: None }];
    ours.extend(Ours::those_that_can(settable, dtype.name(), &options.set));
    let peers = dtype.peers();
    match dtype {
        Dtype::Bf16 => Bench::<bf16, bf16>::new(work, "bf16", bf16::from_f32)?.run(ledger, &peers, &ours),
        // Numbers that 4 and 8 bits have.
        Dtype::Int4 | Dtype::Int8 => {
            let (format, round): (_, fn(f32) -> bf16) = match dtype {
                Dtype::Int4 => (Format::INT4, |value| bf16::from_f32((value * 8.0).floor() / 8.0)),
                _ => (Format::INT8, |value| bf16::from_f32((value * 128.0).floor() / 128.0)),
            };
            let bench = Bench::<bf16, bf16>::new(work, dtype.name(), round)?;
            let own = bench.quantized(format!("{name} {}", dtype.name()), format)?;
            bench.run_beside(ledger, &peers, &[], vec![own])
        }
        // A third of a float32 has no end: products are rounded.
        Dtype::F64 => {
            Bench::<f64, f64>::new(work, "f64", |value| f64::from(value) / 3.0)?.run(ledger, &peers, &ours)
        }
        Dtype::E4m3 => Bench::<E4m3, bf16>::new(work, "e4m3", E4m3::from_f32)?.run(ledger, &peers, &ours),
        Dtype::Tf32 | Dtype::F32 => {
            Bench::<f32, f32>::new(work, dtype.name(), |value| value)?.run(ledger, &peers, &ours)
        }
    }
}
