//! What a launch costs the host: ours from the cache beside the same launch by plain cudarc, alone and as one of a graph's; the memory of a
//! result; and the way from a process's start to its first launch. Needs a GPU.
//!
//! Law: what is compared is on streams of one kind. The null stream waits for others, and a replay on it costs more than one on a stream of
//! its own, whoever asks for it.
//!
//! `cargo run --release -p layout-cuda --example overhead`; run it twice: the first run fills the cache on disk.

use layout_cuda::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use layout_cuda::cudarc::driver::{
    CudaFunction, CudaStream, CudaView, CudaViewMut, LaunchConfig, PushKernelArg, result,
};
use layout_cuda::cudarc::nvrtc::Ptx;
use layout_cuda::graph::Graph;
use layout_cuda::{Device, Stream, Tensor, tiled_kernel};
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

type Vector = Tensor<f32, 1>;
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
                plain_launches(&cuda, &plain, &a, &b, &mut c, LAUNCHES)?;
                theirs.push(start.elapsed().as_secs_f64());
            }
        }
    }
    stream.synchronize()?;
    let (ours, theirs) = (microseconds(ours), microseconds(theirs));
    println!("launch from the cache                {ours:9.3} us");
    println!("the same launch by plain cudarc      {theirs:9.3} us");
    println!("ratio                                {:9.3}", ours / theirs);
    println!("a result's memory, taken and freed   {:9.3} us", allocation(&cuda)?);
    // SAFETY: from here on one stream at a time is used, and each is waited for.
    unsafe { device.context().ok_or("no GPU")?.disable_event_tracking() };
    let own = device.new_stream()?;
    for (kind, stream) in [("a stream of its own", &own), ("the null stream", &stream)] {
        for launches in [1, 20] {
            replays(stream, kind, &plain, launches)?;
        }
    }
    Ok(())
}

/// What the memory of a result costs the host beside a launch that makes one, microseconds.
fn allocation(cuda: &Arc<CudaStream>) -> Outcome<f64> {
    let mut times = Vec::new();
    for _ in 0..SAMPLES {
        let start = Instant::now();
        for _ in 0..LAUNCHES {
            // SAFETY: nobody reads it.
            drop(unsafe { cuda.alloc::<f32>(ELEMENTS) }.map_err(|error| format!("{:?}", error.0))?);
        }
        times.push(start.elapsed().as_secs_f64());
    }
    Ok(microseconds(times))
}

/// What a launch costs the host as one of a graph's, which has so many, on a stream of one kind: of ours, and of one that cudarc captured.
fn replays(stream: &Stream, kind: &str, plain: &CudaFunction, launches: usize) -> Outcome<()> {
    let upload = |value: f32| stream.upload(&[value; ELEMENTS], [ELEMENTS]);
    let state = (upload(1.0)?, upload(2.0)?, upload(0.0)?);
    let chain = move |stream: &Stream, (a, b, c): &mut (Vector, Vector, Vector)| {
        (0..launches).try_for_each(|_| vector_add::launch(stream, a, b, c))
    };
    // SAFETY: the tensors are the graph's own, and nobody replaces them.
    let mut ours = unsafe { Graph::record(stream, state, chain) }?;
    let context = stream.device().context().ok_or("no GPU")?;
    // The null stream cannot be captured.
    let captured = context.new_stream().map_err(|error| format!("{:?}", error.0))?;
    captured
        .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        .map_err(|error| format!("{:?}", error.0))?;
    let (a, b, c) = ours.state_mut();
    plain_launches(&captured, plain, a, b, c, launches)?;
    let theirs =
        captured.end_capture(CUgraphInstantiate_flags(0)).map_err(|error| format!("{:?}", error.0))?;
    let theirs = theirs.ok_or("an empty graph")?;
    let cuda = stream.cuda().ok_or("the device has no stream of cudarc")?;
    // Of the stream's kind: cudarc's own replay is always on the stream that was captured.
    let replay = || match cuda.cu_stream().is_null() {
        false => theirs.launch(),
        true => context.bind_to_thread().and_then(|()| {
            // SAFETY: the graph and the stream are live, of one context, and used by this thread alone.
            unsafe { result::graph::launch(theirs.cu_graph_exec(), cuda.cu_stream()) }
        }),
    };
    let wait = || {
        captured.synchronize().map_err(|error| format!("{:?}", error.0))?;
        stream.synchronize().map_err(|error| error.to_string())
    };
    const REPLAYS: usize = 50;
    let (mut of_ours, mut of_theirs) = (Vec::new(), Vec::new());
    for sample in 0..SAMPLES {
        for turn in [sample % 2, 1 - sample % 2] {
            wait()?;
            let start = Instant::now();
            for _ in 0..REPLAYS {
                match turn {
                    0 => ours.launch()?,
                    _ => replay().map_err(|error| format!("{:?}", error.0))?,
                }
            }
            let times = if turn == 0 { &mut of_ours } else { &mut of_theirs };
            times.push(start.elapsed().as_secs_f64() / (REPLAYS * launches) as f64 * LAUNCHES as f64);
        }
    }
    wait()?;
    let (ours, theirs) = (microseconds(of_ours), microseconds(of_theirs));
    println!("one of {launches:2} launches of a graph        {ours:9.3} us, on {kind}");
    println!("the same of one captured by cudarc   {theirs:9.3} us");
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
    count: usize,
) -> Outcome<()> {
    let slices = (a.cuda_slice(), b.cuda_slice(), c.cuda_slice_mut());
    let (Some(a), Some(b), Some(c)) = slices else { return Err("tensors of no GPU".into()) };
    let (a, b, mut c): (CudaView<f32>, CudaView<f32>, CudaViewMut<f32>) = (a, b, c);
    let config = LaunchConfig {
        grid_dim: (ELEMENTS.div_ceil(256) as u32, 1, 1),
        block_dim: (256, 1, 1),
        shared_mem_bytes: 0,
    };
    let n = ELEMENTS as i32;
    for _ in 0..count {
        let mut builder = stream.launch_builder(function);
        builder.arg(&a).arg(&b).arg(&mut c).arg(&n);
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
