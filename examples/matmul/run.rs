//! One shape: random operands, every kernel, every element checked, cuBLAS beside them on a GPU.

use crate::options::Options;
use layout_cuda::bench::{self, Timing};
use layout_cuda::cublas::{Blas, Compute};
use layout_cuda::{Device, Error, Tensor};
use layout_examples::algorithm::Algorithm;
use layout_examples::record::{Record, table_head, table_row};
use layout_examples::reference::{Precision, Reference};
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// Runs every kernel asked for on one shape and prints the table.
pub fn shape(
    device: &Device,
    [m, n, k]: [usize; 3],
    options: &Options,
) -> Result<Vec<Record>, Box<dyn std::error::Error>> {
    let chosen = match options.kernel.as_slice() {
        [] => Algorithm::KERNELS.into_iter().filter(|algorithm| algorithm.runs_on(device)).collect(),
        chosen => chosen.to_vec(),
    };
    let mut random = StdRng::seed_from_u64(7);
    let mut values = |count: usize| (0..count).map(|_| random.random_range(-1.0f32..1.0)).collect::<Vec<_>>();
    let (a_host, b_host) = (values(m * k), values(k * n));
    let reference = Reference::product(&a_host, &b_host, [m, n, k]);
    let stream = device.stream();
    let (a, b) = (device.upload(&a_host, [m, k])?, device.upload(&b_host, [k, n])?);
    let mut c = device.zeros::<f32, 2>([m, n])?;
    let timer = bench::Options {
        samples: if device.is_simulator() { 1 } else { options.samples },
        flush_l2: false,
        ..bench::Options::default()
    };
    println!("\nC ({m} x {n}) = A ({m} x {k}) B ({k} x {n}), float32, random in [-1, 1)\n{}", table_head());
    let mut records = Vec::new();
    let mut measure = |(place, kernel, precision): (&'static str, &str, Precision),
                       peer: Option<(String, f64)>,
                       c: &mut Tensor<f32, 2>,
                       call: &mut dyn FnMut(&mut Tensor<f32, 2>) -> Result<(), Error>| {
        c.poison()?;
        let timing: Timing = bench::time(&stream, &timer, || call(c))?;
        let found = reference.compare(&c.download()?, precision);
        let record = Record {
            workload: "matmul",
            kernel: kernel.to_owned(),
            place,
            dtype: precision.name(),
            shape: vec![m, n, k],
            ms: timing.median_ms(),
            iters: timing.sorted_ms().len(),
            work: 2.0 * m as f64 * n as f64 * k as f64,
            elements: m as f64 * n as f64,
            unit: "TFLOP/s",
            peer,
            wrong: found.wrong,
            max_rel_err: found.max_rel_err,
        };
        println!("{}", table_row(&record));
        if let Some(first) = found.first {
            println!("  first wrong element: row {}, column {}", first / n.max(1), first % n.max(1));
        }
        let ms = record.ms;
        records.push(record);
        Ok::<f64, Error>(ms)
    };
    let mut peers: Vec<(Precision, &str, f64)> = Vec::new();
    if !device.is_simulator() {
        match Blas::new(&stream) {
            Ok(blas) => {
                let all = [
                    (Compute::F32, Precision::Float32, "cublas"),
                    (Compute::Tf32, Precision::Tf32, "cublas tf32"),
                ];
                for (compute, precision, name) in all {
                    let mut call =
                        |c: &mut Tensor<f32, 2>| blas.gemm(compute, &a, &b, c).map_err(Error::from);
                    let ms = measure(("", name, precision), None, &mut c, &mut call)?;
                    peers.push((precision, name, ms));
                }
            }
            Err(error) => println!("| cublas: not measured: {error}"),
        }
    }
    for algorithm in chosen {
        let place = if device.is_simulator() { "simulator" } else { "gpu" };
        let peer = peers.iter().find(|(precision, ..)| *precision == algorithm.precision());
        let peer = peer.map(|(_, name, ms)| (name.to_string(), *ms));
        let mut call = |c: &mut Tensor<f32, 2>| algorithm.launch(&stream, &a, &b, c);
        measure((place, algorithm.name(), algorithm.precision()), peer, &mut c, &mut call)?;
    }
    println!("{}", "-".repeat(110));
    Ok(records)
}
