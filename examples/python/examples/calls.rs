//! What a launch of the package's kernels costs from Rust, microseconds: of the host's time, and between the device's events. Needs a GPU.
//!
//! Law: what is launched is what `calls.py` beside it launches from Python: the same kernels, parameters, shapes and counts. `cargo run --release
//! --example calls`.

#[path = "../src/kernels.rs"]
#[allow(unused_imports)]
mod kernels;

use layout_cuda::bench::{self, Options};
use layout_cuda::{Argument, Device, Elem, Error, LaunchConfig, ParamSet, ParamValue, Stream, bf16, launch};
use layout_kernels::kernels::attention;
use std::time::Instant;

/// Launches in one sample; few enough that the stream's queue never fills.
const LAUNCHES: usize = 500;
const SAMPLES: usize = 41;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::gpu(0)?;
    let blocks = device.properties().map_or(1, |gpu| i64::from(gpu.multiprocessors));
    let stream = device.stream();
    println!("# {}", device.describe());

    let (rows, columns) = (4, 1024);
    let x = device.upload(&vec![bf16::from_f32(2.0); rows * columns], [rows, columns])?;
    let weight = device.upload(&vec![bf16::from_f32(3.0); columns], [columns])?;
    let mut out = device.zeros::<bf16, 2>([rows, columns])?;
    let mut scale = device.zeros::<f32, 1>([0])?;
    let set = ParamSet::default()
        .with("T", ParamValue::Type(Elem::Bf16))
        .with("SCALED", ParamValue::Bool(false))
        .with("THREADS", ParamValue::Int(256));
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    measure("rms_norm", &stream, || {
        let (x, weight, mut out, mut scale) = (x.view(), weight.view(), out.view_mut(), scale.view_mut());
        let mut given = [
            Argument::read(&x),
            Argument::read(&weight),
            Argument::write(&mut out),
            Argument::write(&mut scale),
            Argument::scalar(1e-6f32),
        ];
        launch(&kernels::rms_norm::DEFINITION, &stream, config, &mut given)
    })?;
    if out.download()?.iter().any(|x| *x != bf16::from_f32(3.0)) {
        return Err("rms_norm is wrong".into());
    }

    let shape = [1, 2, 128, 64];
    let ones = vec![bf16::ONE; shape.iter().product()];
    let [q, k, v] = [(); 3].map(|()| device.upload(&ones, shape));
    let (q, k, v) = (q?, k?, v?);
    let none = device.zeros::<i32, 1>([0])?;
    let (mut out, mut logs) = (device.zeros::<bf16, 4>(shape)?, device.zeros::<f32, 3>([1, 2, 128])?);
    // What `attention` of `layout_kernels/operators.py` takes for these shapes without a mask.
    let numbers = [("D", 64), ("DV", 64), ("BN", 128), ("CONSUMERS", 3), ("SMS", blocks)];
    let set = numbers.iter().fold(ParamSet::default(), |set, (name, x)| set.with(name, ParamValue::Int(*x)));
    let set = set
        .with("T", ParamValue::Type(Elem::Bf16))
        .with("PACKED", ParamValue::Bool(false))
        .with("BY_HEADS", ParamValue::Bool(true))
        .with("PAIRED", ParamValue::Bool(false))
        .with("KEEP", ParamValue::Function("every"))
        .with("RANGE", ParamValue::Function("all_keys"))
        .with("SCORE", ParamValue::Function("plain"));
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    measure("attention", &stream, || {
        let [q, k, v] = [q.view(), k.view(), v.view()];
        let (none, mut out, mut logs) = (none.view(), out.view_mut(), logs.view_mut());
        let mut given = [
            Argument::read(&q),
            Argument::read(&k),
            Argument::read(&v),
            Argument::read(&none),
            Argument::read(&none),
            Argument::write(&mut out),
            Argument::write(&mut logs),
            Argument::index(128),
            Argument::scalar(0.125f32),
            Argument::scalar(1.0f32),
            Argument::scalar(0i32),
        ];
        launch(&attention::attention::DEFINITION, &stream, config, &mut given)
    })?;
    if out.download()?.iter().any(|x| *x != bf16::ONE) {
        return Err("attention is wrong".into());
    }
    Ok(())
}

/// Prints the name, the host's microseconds a call, and those between events; medians.
fn measure(name: &str, stream: &Stream, mut call: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    // Compiles.
    call()?;
    let mut times = Vec::new();
    for _ in 0..SAMPLES {
        stream.synchronize()?;
        let start = Instant::now();
        for _ in 0..LAUNCHES {
            call()?;
        }
        times.push(start.elapsed().as_secs_f64() * 1e6 / LAUNCHES as f64);
    }
    times.sort_by(f64::total_cmp);
    stream.synchronize()?;
    let options = Options { warm_up: 1, samples: SAMPLES, calls: LAUNCHES, flush_l2: false };
    let events = bench::time(stream, &options, call)?;
    println!("{name} {:.2} {:.2}", times[SAMPLES / 2], events.median_ms() * 1e3);
    Ok(())
}
