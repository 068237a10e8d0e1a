//! A program that carries its kernels: it compiles nothing when it starts, and needs no NVRTC.
//!
//! `bundled` runs on the first GPU, or on the simulator where there is none; `bundled gpu` wants a GPU. It says what it took
//! and how long it was until the first launch was given to the device. `bundled doctor` says what the machine has and lacks.

mod kernels;

use layout_cuda::{Device, bundle};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let begin = Instant::now();
    let milliseconds = || begin.elapsed().as_secs_f64() * 1e3;
    // SAFETY: this package's build.rs made it.
    unsafe { bundle::take(include_bytes!(concat!(env!("OUT_DIR"), "/kernels.bundle")))? };
    if std::env::args().nth(1).as_deref() == Some("doctor") {
        println!("{}", layout_cuda::doctor());
        return Ok(());
    }
    let device = match std::env::args().nth(1).as_deref() {
        None => Device::best(),
        Some("gpu") => Device::gpu(0)?,
        Some(other) => return Err(format!("`{other}`: there are `gpu` and `doctor`, or nothing").into()),
    };
    println!("device   {}", device.describe());
    let ready = milliseconds();
    // A length that vectors divide and one that they do not: two variants.
    for length in [4096, 1001] {
        let x: Vec<f32> = (0..length).map(|i| i as f32).collect();
        let (x, mut y) = (device.upload(&x, [length])?, device.upload(&x, [length])?);
        let before = milliseconds();
        kernels::saxpy::launch(&device.stream(), 2.0, &x, &mut y)?;
        println!(
            "launch   {length} elements, {:.1} ms of {:.1} after the start",
            milliseconds() - before,
            milliseconds()
        );
        let y = y.download()?;
        if let Some(at) = (0..length).find(|at| y[*at] != 3.0 * *at as f32) {
            return Err(format!("element {at} is {}", y[at]).into());
        }
    }
    println!("device ready after {ready:.1} ms");
    Ok(())
}
