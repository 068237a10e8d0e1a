//! Order between streams on a GPU: kernels that read and write late, and what must not overtake them. What the driver is asked
//! for, and random sequences of it, are tested without a GPU by `layout-cuda/stub`.
//!
//! Law: a late kernel reads what was there when it was launched, and what it writes is there for whoever comes after.

mod spin;

use layout_cuda::graph::Graph;
use layout_cuda::{Device, Stream, Tensor};
use spin::late;
use std::time::Instant;

/// Steps of a spin: some 50 ms at 1.7 GHz.
const LATE: usize = 20_000_000;

/// Elements of a tensor.
const N: usize = 1 << 16;

type Vector = Tensor<f32, 1>;

/// The first GPU; without one it says so, and fails under `REQUIRE_GPU=1`.
fn gpu() -> Option<Device> {
    match Device::gpu(0) {
        Ok(device) => Some(device),
        Err(error) => {
            let required = std::env::var("REQUIRE_GPU").is_ok_and(|value| value == "1");
            assert!(!required, "REQUIRE_GPU=1, and {error}");
            println!("skipped: no device ({error})");
            None
        }
    }
}

fn filled(stream: &Stream, value: f32) -> Vector {
    stream.upload(&vec![value; N], [N]).expect("a tensor")
}

/// The kernel is compiled, and all that was given to the streams is done.
fn ready(streams: &[&Stream]) {
    for stream in streams {
        late::launch(stream, &filled(stream, 0.0), &mut filled(stream, 0.0), 1).expect("a launch");
        stream.synchronize().expect("done");
    }
}

/// `x` is 1 when a late kernel on one stream and a quick one on another have been launched on it.
fn read_twice(device: &Device, act: impl FnOnce(Vector, &Stream)) {
    let [a, b] = [(); 2].map(|()| device.new_stream().expect("a stream"));
    ready(&[&a, &b, &device.stream()]);
    let x = filled(&device.stream(), 1.0);
    let (mut y, mut z) = (filled(&a, 0.0), filled(&b, 0.0));
    device.stream().synchronize().expect("done");
    late::launch(&a, &x, &mut y, LATE).expect("a launch");
    late::launch(&b, &x, &mut z, 1).expect("a launch");
    act(x, &b);
    assert!(y.download().expect("data").iter().all(|value| *value == 2.0), "the late reader");
    assert!(z.download().expect("data").iter().all(|value| *value == 2.0), "the quick reader");
}

#[test]
fn writes_wait_for_the_earlier_of_two_readers() {
    let Some(device) = gpu() else { return };
    read_twice(&device, |mut x, _| x.write(&vec![7.0; N]).expect("written"));
    read_twice(&device, |mut x, _| x.poison().expect("poisoned"));
    read_twice(&device, |mut x, b| {
        late::launch(b, &filled(b, 7.0), &mut x, 1).expect("a launch");
    });
    read_twice(&device, |mut x, b| {
        let mut slice = x.cuda_slice_mut().expect("a GPU's");
        b.cuda().expect("a GPU's").memset_zeros(&mut slice).expect("set");
    });
}

#[test]
fn an_end_waits_for_the_earlier_of_two_readers() {
    let Some(device) = gpu() else { return };
    read_twice(&device, |x, _| {
        drop(x);
        // One of these gets the same memory.
        let others: Vec<Vector> = (0..8).map(|_| filled(&device.stream(), 9.0)).collect();
        device.stream().synchronize().expect("done");
        drop(others);
    });
}

#[test]
fn work_of_a_stream_that_has_ended_is_waited_for() {
    let Some(device) = gpu() else { return };
    ready(&[&device.stream()]);
    let x = filled(&device.stream(), 1.0);
    for turn in 0..3 {
        let mut y = filled(&device.stream(), 0.0);
        {
            let only = device.new_stream().expect("a stream");
            late::launch(&only, &x, &mut y, LATE).expect("a launch");
        }
        match turn {
            0 => assert!(y.download().expect("data").iter().all(|value| *value == 2.0)),
            1 => {
                y.write(&vec![5.0; N]).expect("written");
                assert!(y.download().expect("data").iter().all(|value| *value == 5.0));
            }
            _ => {
                drop(y);
                let others: Vec<Vector> = (0..8).map(|_| filled(&device.stream(), 9.0)).collect();
                std::thread::sleep(std::time::Duration::from_millis(200));
                for other in &others {
                    assert!(other.download().expect("data").iter().all(|value| *value == 9.0));
                }
            }
        }
    }
}

#[test]
fn replays_and_other_streams_are_ordered() {
    let Some(device) = gpu() else { return };
    let [own, other] = [(); 2].map(|()| device.new_stream().expect("a stream"));
    ready(&[&own, &other]);
    let chain = |stream: &Stream, [x, y]: &mut [Vector; 2]| late::launch(stream, x, y, LATE);
    // SAFETY: the tensors are the graph's own, and stay in it.
    let graph = unsafe { Graph::record(&own, [filled(&own, 1.0), filled(&own, 0.0)], chain) };
    let mut graph = graph.expect("a graph");
    graph.launch().expect("a replay");
    let read = other.download(&graph.state()[1]).expect("data");
    assert!(read.iter().all(|value| *value == 2.0), "a download waits for the replay");

    graph.launch().expect("a replay");
    late::launch(&other, &filled(&other, 4.0), &mut graph.state_mut()[0], 1).expect("a launch");
    assert!(
        graph.state()[1].download().expect("data").iter().all(|value| *value == 2.0),
        "what a replay reads"
    );
    late::launch(&other, &filled(&other, 6.0), &mut graph.state_mut()[0], LATE).expect("a launch");
    graph.launch().expect("a replay");
    assert!(graph.state()[1].download().expect("data").iter().all(|value| *value == 8.0), "a replay waits");
}

#[test]
fn a_locked_source_may_change_when_an_upload_has_returned() {
    let Some(device) = gpu() else { return };
    let len = 1 << 26;
    let context = device.context().expect("a GPU");
    // SAFETY: the memory is set before it is read.
    let mut locked = unsafe { context.alloc_pinned::<f32>(len) }.expect("memory");
    let source = locked.as_mut_slice().expect("memory");
    source.fill(1.0);
    let tensor = device.upload(source, [len]).expect("a tensor");
    source.fill(2.0);
    assert!(tensor.download().expect("data").iter().all(|value| *value == 1.0));
}

#[test]
fn readers_of_one_tensor_overlap() {
    let Some(device) = gpu() else { return };
    let streams = [(); 4].map(|()| device.new_stream().expect("a stream"));
    ready(&streams.each_ref());
    // A block on one multiprocessor each.
    let small = |stream: &Stream| stream.upload(&[1.0f32; 32], [32]).expect("a tensor");
    let x = small(&device.stream());
    let mut results = streams.each_ref().map(small);
    device.stream().synchronize().expect("done");
    let mut time = |count: usize| {
        streams.iter().for_each(|stream| stream.synchronize().expect("done"));
        let start = Instant::now();
        for (stream, y) in streams.iter().zip(&mut results).take(count) {
            late::launch(stream, &x, y, LATE).expect("a launch");
        }
        streams.iter().for_each(|stream| stream.synchronize().expect("done"));
        start.elapsed().as_secs_f64()
    };
    time(4);
    let (one, four) = (time(1), time(4));
    println!("one reader {:.1} ms, four readers {:.1} ms", 1e3 * one, 1e3 * four);
    assert!(four < 1.5 * one, "{four} s and {one} s");
}

#[test]
fn a_thousand_launches_over_four_streams() {
    let Some(device) = gpu() else { return };
    let streams = [(); 4].map(|()| device.new_stream().expect("a stream"));
    ready(&streams.each_ref());
    let small = |stream: &Stream| stream.upload(&[1.0f32; 32], [32]).expect("a tensor");
    let weights = small(&device.stream());
    let mut own: Vec<[Vector; 2]> = streams.iter().map(|stream| [small(stream), small(stream)]).collect();
    let mut time = |count: usize| {
        streams.iter().for_each(|stream| stream.synchronize().expect("done"));
        let start = Instant::now();
        for round in 0..250 {
            for (stream, [x, y]) in streams.iter().zip(&mut own).take(count) {
                let (from, into) = if round % 2 == 0 { (&weights, &mut *x) } else { (&*x, &mut *y) };
                late::launch(stream, from, into, 20_000).expect("a launch");
            }
        }
        streams.iter().for_each(|stream| stream.synchronize().expect("done"));
        start.elapsed().as_secs_f64()
    };
    time(4);
    let (one, four) = (time(1), time(4));
    println!("250 launches on one stream {:.2} ms, 1,000 on four {:.2} ms", 1e3 * one, 1e3 * four);
    assert!(four < 1.5 * one, "{four} s and {one} s");
}
