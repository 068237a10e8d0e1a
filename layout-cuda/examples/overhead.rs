//! What a launch costs the host: ours from the cache beside the same launch by plain cudarc; and the way from a
//! process's start to its first launch. Needs a GPU.
//!
//! `cargo run --release -p layout-cuda --example overhead`; run it twice: the first run fills the cache on disk.

use layout_cuda::cudarc::driver::{CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg};
use layout_cuda::cudarc::nvrtc::Ptx;
use layout_cuda::{Device, Tensor, tiled_kernel};
use std::sync::Arc;
use std::time::Instant;

/// Adds two vectors.
#[tiled_kernel(BLOCK = 256, block = [BLOCK], grid = [N.div_ceil(BLOCK)])]
pub fn vector_add<const N: usize>(
    a: &LayoutTensor<f32, RowMajor<N>>,
    b: &LayoutTensor<f32, RowMajor<N>>,
    c: &mut LayoutTensor<f32, RowMajor<N>>,
) {
    let i = block_idx.x * BLOCK + thread_idx.x;
    if i < N {
        c[[i]] = a[[i]] + b[[i]];
    }
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Launches in one sample; small enough that the stream's queue never fills.
const LAUNCHES: usize = 500;
const SAMPLES: usize = 41;
const ELEMENTS: usize = 1024;

fn main() -> Outcome<()> {
    let start = Instant::now();
    let device = Device::gpu(0)?;
    let with_context = Instant::now();
    let stream = device.stream();
    let upload = |value: f32| device.upload(&[value; ELEMENTS], [ELEMENTS]);
    let (a, b, mut c) = (upload(1.0)?, upload(2.0)?, upload(0.0)?);
    let before_launch = Instant::now();
    vector_add::launch(&stream, &a, &b, &mut c)?;
    let launched = Instant::now();
    if c.download()? != vec![3.0f32; ELEMENTS] {
        return Err("the sum is wrong".into());
    }
    let ms = |from: Instant, to: Instant| (to - from).as_secs_f64() * 1e3;
    println!("device: {}", device.describe());
    println!(
        "context created                      {:9.3} ms after the start of main",
        ms(start, with_context)
    );
    println!("first launch                         {:9.3} ms", ms(before_launch, launched));
    println!("context to first launch, uploads too {:9.3} ms", ms(with_context, launched));

    let cuda = stream.cuda().ok_or("the device has no stream of cudarc")?.clone();
    let plain = plain_function(&device)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for sample in 0..SAMPLES {
        // Interleaved, the order swapped each time, so that clocks and caches favour neither.
        for turn in [sample % 2, 1 - sample % 2] {
            stream.synchronize()?;
            let start = Instant::now();
            if turn == 0 {
                for _ in 0..LAUNCHES {
                    vector_add::launch(&stream, &a, &b, &mut c)?;
                }
                ours.push(start.elapsed().as_secs_f64());
            } else {
                plain_launches(&cuda, &plain, &a, &b, &mut c)?;
                theirs.push(start.elapsed().as_secs_f64());
            }
        }
    }
    stream.synchronize()?;
    let (ours, theirs) = (microseconds(ours), microseconds(theirs));
    println!("launch from the cache                {ours:9.3} us");
    println!("the same launch by plain cudarc      {theirs:9.3} us");
    println!("ratio                                {:9.3}", ours / theirs);
    Ok(())
}

/// The kernel's own text, compiled and loaded by hand.
fn plain_function(device: &Device) -> Outcome<CudaFunction> {
    let (context, properties) = (device.context(), device.properties());
    let (Some(context), Some(properties)) = (context, properties) else { return Err("no GPU".into()) };
    let compiled = layout_cuda::nvrtc::compile(vector_add::SOURCE, &properties.arch, &[])?;
    let module =
        context.load_module(Ptx::from_binary(compiled.cubin)).map_err(|error| format!("{:?}", error.0))?;
    let entry = vector_add::variants()[0].entry;
    Ok(module.load_function(entry).map_err(|error| format!("{:?}", error.0))?)
}

fn plain_launches(
    stream: &Arc<CudaStream>,
    function: &CudaFunction,
    a: &Tensor<f32, 1>,
    b: &Tensor<f32, 1>,
    c: &mut Tensor<f32, 1>,
) -> Outcome<()> {
    let slices = (a.cuda_slice(), b.cuda_slice(), c.cuda_slice_mut());
    let (Some(a), Some(b), Some(c)) = slices else { return Err("tensors of no GPU".into()) };
    let (a, b, c): (&CudaSlice<f32>, &CudaSlice<f32>, &mut CudaSlice<f32>) = (a, b, c);
    let config = LaunchConfig {
        grid_dim: (ELEMENTS.div_ceil(256) as u32, 1, 1),
        block_dim: (256, 1, 1),
        shared_mem_bytes: 0,
    };
    let n = ELEMENTS as i32;
    for _ in 0..LAUNCHES {
        let mut builder = stream.launch_builder(function);
        builder.arg(a).arg(b).arg(&mut *c).arg(&n);
        // SAFETY: the function is the one of `vector_add`, whose three vectors have `n` elements.
        unsafe { builder.launch(config) }.map_err(|error| format!("{:?}", error.0))?;
    }
    Ok(())
}

/// The median time of one launch.
fn microseconds(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2] / LAUNCHES as f64 * 1e6
}
