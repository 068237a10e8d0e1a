//! What only a GPU can show: the caller's memory and streams, CUDA graphs, the cost of a launch, a kernel that fails.

use cudarc::driver::CudaContext;
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};

use crate::argument::Argument;
use crate::launch::{LaunchConfig, launch};
use crate::test_gpu::gpu;
use crate::test_kernels::scale_add;
use crate::view::{TensorArg, TensorArgMut};
use crate::{Device, Stream, TensorView, TensorViewMut, bench};

fn run(
    stream: &Stream,
    a: &impl TensorArg<f32, 1>,
    b: &impl TensorArg<f32, 1>,
    c: &mut impl TensorArgMut<f32, 1>,
) {
    let (a, b, mut c) = (a.view(), b.view(), c.view_mut());
    let mut arguments =
        [Argument::read(&a), Argument::read(&b), Argument::write(&mut c), Argument::scalar(2.0f32)];
    launch(scale_add(), stream, LaunchConfig::default(), &mut arguments).expect("a launch");
}

/// A context of its own for tests that change its state.
fn own_context() -> Option<Device> {
    gpu()?;
    let context = CudaContext::new_non_primary(0, 0).expect("a context");
    Some(Device::from_cudarc(context).expect("a device"))
}

#[test]
fn callers_memory_and_streams() {
    let Some(device) = own_context() else {
        return;
    };
    let context = device.context().expect("a GPU").clone();
    let (here, there) = (context.new_stream().expect("a stream"), context.new_stream().expect("a stream"));
    let data: Vec<f32> = (0..1_000_000).map(|i| (i % 100) as f32).collect();
    let (a, b) = (here.clone_htod(&data).expect("a"), here.clone_htod(&data).expect("b"));
    let mut c = there.alloc_zeros::<f32>(data.len()).expect("c");
    let stream = Stream::from_cudarc(there.clone()).expect("a stream");
    assert_eq!(stream.device(), &device);

    run(&stream, &a, &b, &mut c);
    let triple: Vec<f32> = data.iter().map(|value| value * 3.0).collect();
    assert!(here.clone_dtoh(&c).expect("data") == triple, "cudarc's events order the streams");

    let half = data.len() / 2;
    let view = TensorView::over(a.slice(..half), [half]).expect("a view");
    let mut out = TensorViewMut::over(c.slice_mut(half..), [half]).expect("a view");
    run(&stream, &view, &view, &mut out);
    let back = there.clone_dtoh(&c).expect("data");
    assert!(back[half..] == triple[..half]);
    assert!(TensorView::<f32, 2>::over(a.as_view(), [3, 5]).is_err());
}

#[test]
fn graphs_capture_launches() {
    let Some(device) = own_context() else {
        return;
    };
    let context = device.context().expect("a GPU");
    // SAFETY: one stream is used, and every tensor of this context lives to the end of the test.
    unsafe { context.disable_event_tracking() };
    let stream = device.new_stream().expect("a stream");
    let (a, b) =
        (stream.upload(&[1.0f32; 64], [64]).expect("a"), stream.upload(&[1.0f32; 64], [64]).expect("b"));
    let mut c = stream.zeros::<f32, 1>([64]).expect("c");
    run(&stream, &a, &b, &mut c); // compiled and loaded before the capture
    c.poison().expect("poisoned");
    stream.synchronize().expect("done");

    let cuda = stream.cuda().expect("a GPU");
    cuda.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).expect("a capture");
    run(&stream, &a, &b, &mut c);
    let graph = cuda.end_capture(CUgraphInstantiate_flags(0)).expect("captured").expect("a graph");
    assert!(c.download().expect("data").iter().all(|value| value.is_nan()), "nothing has run yet");
    graph.launch().expect("replayed");
    assert_eq!(c.download().expect("data"), [3.0; 64]);
}

#[test]
fn events_time_a_launch() {
    let Some(device) = gpu() else {
        return;
    };
    let stream = device.stream();
    let len = 1 << 24;
    let up = || stream.upload(&vec![1.0f32; len], [len]).expect("a tensor");
    let (a, b, mut c) = (up(), up(), up());
    let timing = bench::time(&stream, &bench::Options::default(), || {
        run(&stream, &a, &b, &mut c);
        Ok::<(), crate::Error>(())
    });
    let timing = timing.expect("times");
    assert_eq!(timing.clock, bench::Clock::Events);
    let rate = timing.giga_per_second(3.0 * 4.0 * len as f64);
    println!("{timing}, {rate:.0} GB/s");
    assert!((10.0..20_000.0).contains(&rate), "{rate} GB/s");
}
