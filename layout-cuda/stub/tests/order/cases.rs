//! Order, case by case: two readers, streams that end, contexts, graphs; and what does not wait.

use crate::stub::{N, launch, plus_one, with_stub};
use layout_cuda::cudarc::driver::CudaContext;
use layout_cuda::graph::Graph;
use layout_cuda::{Device, Error, LaunchError, Stream, Tensor};

type Vector = Tensor<f32, 1>;

fn zeros(stream: &Stream) -> Vector {
    stream.zeros([N]).expect("a tensor")
}

/// Two readers on two streams, the earlier one not waited for by anybody.
fn two_readers(device: &Device) -> (Vector, [Stream; 2], [Vector; 2]) {
    let streams = [(); 2].map(|()| device.new_stream().expect("a stream"));
    let x = zeros(&device.stream());
    let mut results = [zeros(&streams[0]), zeros(&streams[1])];
    for (stream, y) in streams.iter().zip(&mut results) {
        launch(stream, &x, y).expect("a launch");
    }
    (x, streams, results)
}

#[test]
fn a_write_waits_for_all_readers() {
    with_stub("a_write_waits_for_all_readers", |stub| {
        let device = stub.device();
        let writes: [fn(&Device, &mut Vector); 5] = [
            |_, x| x.write(&[2.0; N]).expect("written"),
            |_, x| x.poison().expect("poisoned"),
            |_, x| x.write_bytes(3, &[0; 8]).expect("written"),
            |device, x| x.copy_from(&zeros(&device.stream())).expect("copied"),
            |device, x| {
                let third = device.new_stream().expect("a stream");
                launch(&third, &zeros(&third), x).expect("a launch");
            },
        ];
        for (number, write) in writes.into_iter().enumerate() {
            let (mut x, streams, results) = two_readers(&device);
            assert!(!stub.waits(&streams[1], &streams[0]), "a reader does not wait for a reader");
            write(&device, &mut x);
            // A write that cudarc makes, and one more reader after it.
            launch(&streams[0], &x, &mut zeros(&streams[0])).expect("a launch");
            stub.is_right(&format!("write {number}"));
            drop((x, streams, results));
            stub.is_right(&format!("write {number}, dropped"));
        }
    });
}

#[test]
fn an_end_waits_for_all_readers() {
    with_stub("an_end_waits_for_all_readers", |stub| {
        let device = stub.device();
        for turn in 0..3 {
            let (mut x, streams, results) = two_readers(&device);
            match turn {
                0 => drop(x),
                1 => x.wait_for_users().expect("waited"),
                _ => {
                    // What cudarc writes.
                    let mut slice = x.cuda_slice_mut().expect("a GPU's");
                    streams[1].cuda().expect("a GPU's").memset_zeros(&mut slice).expect("set");
                    drop(x);
                }
            }
            if turn == 1 {
                assert!(streams.iter().all(|stream| stub.waits(&device.stream(), stream)));
            }
            stub.is_right(&format!("end {turn}"));
            drop((streams, results));
        }
    });
}

#[test]
fn cudarcs_memory_is_ordered_too() {
    with_stub("cudarcs_memory_is_ordered_too", |stub| {
        let device = stub.device();
        let streams = [(); 3].map(|()| device.new_stream().expect("a stream"));
        let cuda = |stream: usize| streams[stream].cuda().expect("a GPU's");
        for turn in 0..6 {
            let mut x = cuda(0).alloc_zeros::<f32>(N).expect("memory");
            let mut y = [zeros(&streams[1]), zeros(&streams[2])];
            plus_one::launch(&streams[1], &x, &mut y[0]).expect("a launch");
            plus_one::launch(&streams[2], &x, &mut y[1]).expect("a launch");
            match turn {
                0 => {}
                // A reader of cudarc's, which records the one event anew.
                1 => drop(cuda(0).clone_dtod(&x).expect("a copy")),
                2 => cuda(2).memset_zeros(&mut x).expect("set"),
                // Before the launch that records the one event anew, too.
                3 | 4 => {
                    drop(cuda(1).clone_dtod(&x).expect("a copy"));
                    plus_one::launch(&streams[if turn == 3 { 0 } else { 2 }], &x, &mut y[1])
                        .expect("a launch");
                }
                _ => plus_one::launch(&streams[1], &y[1], &mut x).expect("a launch"),
            }
            drop(x);
            stub.is_right(&format!("turn {turn}"));
        }
    });
}

#[test]
fn the_last_stream_may_end() {
    with_stub("the_last_stream_may_end", |stub| {
        let device = stub.device();
        let kept = zeros(&device.stream());
        for turn in 0..8 {
            let mut y = zeros(&device.stream());
            {
                let other = device.new_stream().expect("a stream");
                // A tensor that has been read holds the stream; one that has ended does not.
                let own = zeros(&other);
                launch(&other, if turn < 4 { &own } else { &kept }, &mut y).expect("a launch");
            }
            let x = &kept;
            match turn % 4 {
                0 => drop(y.download().expect("data")),
                1 => y.write(&[1.0; N]).expect("written"),
                // One with the same handle, which has not come after the first.
                2 => launch(&device.new_stream().expect("a stream"), x, &mut y).expect("a launch"),
                _ => drop(y),
            }
            stub.is_right(&format!("turn {turn}"));
        }
        drop(kept);
        stub.is_right("a tensor that many streams have read");
    });
}

#[test]
fn two_gpus_are_ordered() {
    with_stub("two_gpus_are_ordered", |stub| {
        let (device, other) = (stub.device(), Device::gpu(1).expect("the stub's second GPU"));
        for turn in 0..4 {
            let mut x = zeros(&device.stream());
            let mut y = zeros(&other.stream());
            // Now the second GPU's context is the thread's.
            match turn {
                0 => {}
                1 => y.copy_from(&x).expect("copied"),
                2 => {
                    y.copy_from(&x).expect("copied");
                    x.write(&[1.0; N]).expect("written");
                }
                _ => {
                    launch(&device.new_stream().expect("a stream"), &x, &mut zeros(&device.stream()))
                        .expect("a launch");
                    y.copy_from(&x).expect("copied");
                    let refused = launch(&other.stream(), &x, &mut y).expect_err("on the first GPU");
                    assert!(matches!(refused, Error::Launch(LaunchError::OtherDevice { .. })), "{refused}");
                }
            }
            zeros(&other.stream());
            drop(x);
            y.write(&[1.0; N]).expect("written");
            drop(y);
            stub.is_right(&format!("turn {turn}"));
        }
    });
}

#[test]
fn two_values_of_a_context_are_ordered() {
    with_stub("two_values_of_a_context_are_ordered", |stub| {
        let device = stub.device();
        for turn in 0..3 {
            let x = zeros(&device.stream());
            let theirs = Device::from_cudarc(CudaContext::new(0).expect("a context")).expect("a device");
            let stream = if turn == 0 { theirs.stream() } else { theirs.new_stream().expect("a stream") };
            let mut y = stream.zeros([N]).expect("a tensor");
            launch(&stream, &x, &mut y).expect("a launch");
            if turn == 2 {
                drop((stream, theirs));
            }
            drop(x);
            device.stream().download(&y).expect("data");
            stub.is_right(&format!("turn {turn}"));
        }
    });
}

/// A library that orders its own work has streams without events; the program's other streams keep theirs, also for tensors that
/// were made before.
#[test]
fn a_librarys_streams_leave_the_events_of_others_on() {
    with_stub("a_librarys_streams_leave_the_events_of_others_on", |stub| {
        let device = stub.device();
        let [x, mut y] = [(); 2].map(|()| zeros(&device.stream()));
        let owner = device.context().expect("a GPU").new_stream().expect("a stream");
        for (turn, raw) in [std::ptr::null_mut(), owner.cu_stream().cast()].into_iter().enumerate() {
            // SAFETY: the handles are the default stream's and one that is kept here; the tensors are used on no other stream.
            let theirs = unsafe { layout_dlpack::stream_of(0, raw) }.expect("a stream");
            launch(&theirs, &zeros(&theirs), &mut zeros(&theirs)).expect("a launch");
            theirs.synchronize().expect("done");
            for other in 0..2 {
                let stream = device.new_stream().expect("a stream");
                launch(&stream, &x, &mut y).expect("a launch");
                // An earlier tensor that is read, one that ends.
                if other == 0 {
                    assert_eq!(y.download().expect("data").len(), N);
                } else {
                    drop(std::mem::replace(&mut y, zeros(&device.stream())));
                }
                assert!(stub.waits(&device.stream(), &stream), "turn {turn}");
            }
            stub.is_right(&format!("turn {turn}"));
        }
    });
}

#[test]
fn streams_of_threads_are_refused() {
    with_stub("streams_of_threads_are_refused", |stub| {
        let device = stub.device();
        let theirs = device.context().expect("a GPU").per_thread_stream();
        assert_eq!(Stream::from_cudarc(theirs.clone()).expect_err("of a thread"), Error::PerThreadStream);
        let mut x = theirs.alloc_zeros::<f32>(N);
        let mut y = zeros(&device.stream());
        if let Ok(x) = &mut x {
            let stream = device.stream();
            assert_eq!(plus_one::launch(&stream, &*x, &mut y), Err(Error::PerThreadStream));
            assert_eq!(plus_one::launch(&stream, &y, x), Err(Error::PerThreadStream));
            assert_eq!(stream.download::<f32, 1>(&*x), Err(Error::PerThreadStream));
        }
        std::mem::forget(x);
        // The legacy stream is the null stream.
        let context = device.context().expect("a GPU");
        // SAFETY: the handle is CUDA's own for the null stream.
        let legacy = unsafe { context.wrap_borrowed_stream(1 as _) };
        launch(&Stream::from_cudarc(legacy).expect("a stream"), &zeros(&device.stream()), &mut y)
            .expect("a launch");
        drop(y);
        stub.is_right("streams by number");
    });
}

#[test]
fn replays_are_ordered() {
    with_stub("replays_are_ordered", |stub| {
        let device = stub.device();
        let stream = device.new_stream().expect("a stream");
        let other = device.new_stream().expect("a stream");
        let state = [zeros(&stream), zeros(&stream)];
        // SAFETY: the tensors are the graph's own, and stay in it.
        let graph =
            unsafe { Graph::record(&stream, state, |stream, [x, y]: &mut [Vector; 2]| launch(stream, x, y)) };
        let mut graph = graph.expect("a graph");
        let mut z = zeros(&other);
        graph.launch().expect("a replay");
        other.download(&graph.state()[1]).expect("data");
        stub.is_right("what a replay has written is read");

        graph.launch().expect("a replay");
        assert!(!stub.waits(&other, &stream));
        launch(&other, &graph.state()[0], &mut z).expect("a launch");
        assert!(!stub.waits(&other, &stream), "two that read do not wait");
        launch(&other, &z, &mut graph.state_mut()[0]).expect("a launch");
        stub.is_right("what a replay has read is written");
        graph.launch().expect("a replay");
        stub.is_right("a replay reads what another stream has written");

        launch(&other, &graph.state()[1], &mut z).expect("a launch");
        graph.launch().expect("a replay");
        stub.is_right("a replay writes what another stream has read");

        let slice = graph.state()[1].cuda_slice().expect("a GPU's");
        let copy = other.cuda().expect("a GPU's").clone_dtod(&slice).expect("a copy of cudarc's");
        stub.is_right("cudarc reads what a replay has written");
        graph.launch().expect("a replay");
        stub.is_right("a replay writes what cudarc has read");
        let mut slice = graph.state_mut()[0].cuda_slice_mut().expect("a GPU's");
        other.cuda().expect("a GPU's").memset_zeros(&mut slice).expect("set");
        graph.launch().expect("a replay");
        stub.is_right("a replay reads what cudarc has written");
        drop((graph, copy, z));
        stub.is_right("the end");
    });
}

#[test]
fn a_recording_ends() {
    with_stub("a_recording_ends", |stub| {
        let stream = stub.device().stream();
        let (sender, kept) = std::sync::mpsc::channel();
        let chain = move |stream: &Stream, [x, y]: &mut [Vector; 2]| {
            let _ = sender.send(stream.clone());
            launch(stream, x, y)
        };
        // SAFETY: the tensors are the graph's own, and stay in it.
        let graph =
            unsafe { Graph::record(&stream, [zeros(&stream), zeros(&stream)], chain) }.expect("a graph");
        let kept = kept.recv().expect("the recording's stream");
        let refused = launch(&kept, &zeros(&stream), &mut zeros(&stream)).expect_err("it runs nowhere");
        assert!(matches!(refused, Error::Launch(LaunchError::NotInGraph { .. })), "{refused}");
        drop(graph);
        stub.is_right("the end");
    });
}

#[test]
fn streams_overlap() {
    with_stub("streams_overlap", |stub| {
        let device = stub.device();
        let streams = [(); 4].map(|()| device.new_stream().expect("a stream"));
        let weights = zeros(&device.stream());
        let mut own: Vec<[Vector; 2]> = streams.iter().map(|stream| [zeros(stream), zeros(stream)]).collect();
        streams.iter().for_each(|stream| stream.synchronize().expect("done"));
        for round in 0..250 {
            for (stream, [x, y]) in streams.iter().zip(&mut own) {
                let from = if round % 2 == 0 { &weights } else { &*x };
                launch(stream, from, y).expect("a launch");
            }
        }
        for (a, stream) in streams.iter().enumerate() {
            assert!(!stub.waits(&device.stream(), stream), "the owner of what is read waits for {a}");
            for (b, other) in streams.iter().enumerate().filter(|(b, _)| *b != a) {
                assert!(!stub.waits(stream, other), "{a} waits for {b}");
            }
        }
        drop((weights, own));
        stub.is_right("1,000 launches over four streams");
    });
}

#[test]
fn one_stream_makes_no_call_but_the_launch() {
    with_stub("one_stream_makes_no_call_but_the_launch", |stub| {
        let device = stub.device();
        let (x, mut y) = (zeros(&device.stream()), zeros(&device.stream()));
        let stream = device.stream();
        launch(&stream, &x, &mut y).expect("a launch");
        let before = stub.calls();
        launch(&stream, &x, &mut y).expect("a launch");
        // Which context the thread has, and the launch.
        assert_eq!(stub.calls() - before, 2);
        let other = device.new_stream().expect("a stream");
        let (x, mut y) = (zeros(&other), zeros(&other));
        launch(&other, &x, &mut y).expect("a launch");
        let before = stub.calls();
        launch(&other, &x, &mut y).expect("a launch");
        // And: a wait for each of cudarc's events, a record for each tensor, with the context before each.
        assert_eq!(stub.calls() - before, 12);
    });
}
