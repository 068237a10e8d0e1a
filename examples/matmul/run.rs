//! One shape: random operands, every kernel, every element checked, cuBLAS beside them on a GPU.

use crate::options::Options;
use layout_cuda::bench::{self, Timing};
use layout_cuda::cublas::Blas;
use layout_cuda::{Device, Error, Stream, Tensor};
use layout_examples::kernels;
use layout_examples::record::{Record, table_head, table_row};
use layout_examples::reference::Reference;
use rand::{RngExt, SeedableRng, rngs::StdRng};

type Matrix = Tensor<f32, 2>;
type Launch = fn(&Stream, &Matrix, &Matrix, &mut Matrix) -> Result<(), Error>;

/// The kernels by name.
const KERNELS: [(&str, Launch); 3] = [
    ("naive", |stream, a, b, c| kernels::naive::launch(stream, a, b, c)),
    ("coalescing", |stream, a, b, c| kernels::coalescing::launch(stream, a, b, c)),
    ("tiled", |stream, a, b, c| kernels::tiled::launch(stream, a, b, c)),
];

/// Runs every kernel asked for on one shape and prints the table.
pub fn shape(
    device: &Device,
    [m, n, k]: [usize; 3],
    options: &Options,
) -> Result<Vec<Record>, Box<dyn std::error::Error>> {
    let chosen = chosen(&options.kernel)?;
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
    let mut measure = |(place, kernel): (&'static str, &str),
                       peer: Option<f64>,
                       c: &mut Matrix,
                       call: &mut dyn FnMut(&mut Matrix) -> Result<(), Error>| {
        c.poison()?;
        let timing: Timing = bench::time(&stream, &timer, || call(c))?;
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
        if let Some(first) = found.first {
            println!("  first wrong element: row {}, column {}", first / n.max(1), first % n.max(1));
        }
        let ms = record.ms;
        records.push(record);
        Ok::<f64, Error>(ms)
    };
    let peer = if device.is_simulator() {
        None
    } else {
        match Blas::new(&stream) {
            Ok(blas) => {
                let mut call = |c: &mut Matrix| blas.sgemm(&a, &b, c).map_err(Error::from);
                Some(measure(("", "cublas"), None, &mut c, &mut call)?)
            }
            Err(error) => {
                println!("| cublas: not measured: {error}");
                None
            }
        }
    };
    for (name, launch) in chosen {
        let place = if device.is_simulator() { "simulator" } else { "gpu" };
        measure((place, name), peer, &mut c, &mut |c| launch(&stream, &a, &b, c))?;
    }
    println!("{}", "-".repeat(102));
    Ok(records)
}

/// The kernels of these names; all of them for none.
fn chosen(names: &[String]) -> Result<Vec<(&'static str, Launch)>, String> {
    if names.is_empty() {
        return Ok(KERNELS.to_vec());
    }
    let known = || KERNELS.map(|(name, _)| name).join(", ");
    names
        .iter()
        .map(|name| {
            let found = KERNELS.into_iter().find(|(known, _)| known == name);
            found.ok_or_else(|| format!("there is no kernel `{name}`; there are {}", known()))
        })
        .collect()
}
