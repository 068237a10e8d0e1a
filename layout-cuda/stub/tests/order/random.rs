//! Random sequences: streams that come and go, tensors, memory of cudarc's, graphs, a second value for the context, and calls
//! that fail.
//!
//! Law: nothing is left unordered, nothing is used after its end, and nothing leaks where no call fails. The seed is printed;
//! `STUB_SEED` repeats it, and `STUB_SEQUENCES` says how many.

use crate::stub::{N, Stub, launch, plus_one, with_stub};
use layout_cuda::cudarc::driver::{CudaContext, CudaSlice};
use layout_cuda::graph::Graph;
use layout_cuda::{Device, Result, Stream, Tensor};
use std::time::SystemTime;

type Vector = Tensor<f32, 1>;

struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % count.max(1)
    }
}

/// What a sequence has.
struct Bench<'a> {
    stub: &'a Stub,
    dice: Dice,
    devices: [Device; 2],
    streams: Vec<Stream>,
    tensors: Vec<Vector>,
    slices: Vec<CudaSlice<f32>>,
    graphs: Vec<Graph<[Vector; 2]>>,
    /// Whether calls fail.
    fails: bool,
    done: Vec<String>,
}

impl Bench<'_> {
    fn stream(&mut self) -> Stream {
        let place = self.dice.below(self.streams.len());
        self.streams[place].clone()
    }

    /// Two tensors, the second out of the list.
    fn pair(&mut self) -> Option<(usize, Vector)> {
        if self.tensors.len() < 2 {
            return None;
        }
        let written = self.tensors.swap_remove(self.dice.below(self.tensors.len()));
        Some((self.dice.below(self.tensors.len()), written))
    }

    fn streams_and_tensors(&mut self, kind: usize) -> Result<()> {
        let stream = self.stream();
        match kind {
            0 if self.streams.len() < 6 => {
                let device = &self.devices[self.dice.below(2)];
                self.streams.push(device.new_stream()?);
            }
            1 if self.streams.len() > 2 => {
                let place = 2 + self.dice.below(self.streams.len() - 2);
                self.streams.swap_remove(place);
            }
            2 | 3 if self.tensors.len() < 5 => self.tensors.push(match kind {
                2 => stream.zeros([N])?,
                _ => stream.upload(&[1.0; N], [N])?,
            }),
            4 if !self.tensors.is_empty() => {
                let place = self.dice.below(self.tensors.len());
                self.tensors.swap_remove(place);
            }
            5 if !self.tensors.is_empty() => {
                let place = self.dice.below(self.tensors.len());
                let bytes = [0; 8];
                match self.dice.below(3) {
                    0 => self.tensors[place].write(&[2.0; N])?,
                    1 => self.tensors[place].write_bytes(1, &bytes)?,
                    _ => self.tensors[place].poison()?,
                }
            }
            6 if !self.tensors.is_empty() => {
                let place = self.dice.below(self.tensors.len());
                stream.download(&self.tensors[place])?;
            }
            _ => {
                let Some((read, mut written)) = self.pair() else { return Ok(()) };
                let made = match kind {
                    7 => written.copy_from(&self.tensors[read]),
                    8 => written.wait_for_users(),
                    _ => launch(&stream, &self.tensors[read], &mut written),
                };
                self.tensors.push(written);
                made?;
            }
        }
        Ok(())
    }

    /// Memory of cudarc's, and tensors that cudarc uses. Where a call fails, cudarc's own errors are not ours.
    fn cudarc(&mut self, kind: usize) -> Result<()> {
        let stream = self.stream();
        let cuda = stream.cuda().expect("a GPU's");
        let failed = |_| layout_cuda::Error::OutOfMemory { bytes: 0, free: None };
        if self.slices.is_empty() || kind == 0 {
            self.slices.push(cuda.alloc_zeros(N).map_err(failed)?);
            return Ok(());
        }
        let place = self.dice.below(self.slices.len());
        let tensor = self.dice.below(self.tensors.len());
        match kind {
            1 => drop(self.slices.swap_remove(place)),
            2 | 3 if !self.tensors.is_empty() => {
                plus_one::launch(&stream, &self.slices[place], &mut self.tensors[tensor])?
            }
            4 if !self.tensors.is_empty() => {
                plus_one::launch(&stream, &self.tensors[tensor], &mut self.slices[place])?
            }
            5 => drop(self.slices[place].try_clone().map_err(failed)?),
            6 => cuda.memset_zeros(&mut self.slices[place]).map_err(failed)?,
            7 if !self.tensors.is_empty() => {
                let slice = self.tensors[tensor].cuda_slice().expect("a GPU's");
                drop(cuda.clone_dtod(&slice).map_err(failed)?);
            }
            8 if !self.tensors.is_empty() => {
                let mut slice = self.tensors[tensor].cuda_slice_mut().expect("a GPU's");
                cuda.memset_zeros(&mut slice).map_err(failed)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn graph(&mut self, kind: usize) -> Result<()> {
        let stream = self.stream();
        if self.graphs.is_empty() || kind == 0 && self.graphs.len() < 2 {
            let state = [stream.zeros([N])?, stream.zeros([N])?];
            // SAFETY: the tensors are the graph's own, and stay in it.
            let graph = unsafe {
                Graph::record(&stream, state, |stream, [x, y]: &mut [Vector; 2]| launch(stream, x, y))
            };
            self.graphs.push(graph?);
            return Ok(());
        }
        let place = self.dice.below(self.graphs.len());
        let which = self.dice.below(2);
        let graph = &mut self.graphs[place];
        match kind {
            1 => drop(self.graphs.swap_remove(place)),
            2 => stream.download(&graph.state()[which]).map(drop)?,
            3 => graph.state_mut()[which].write(&[1.0; N])?,
            4 => graph.update()?,
            5 if !self.tensors.is_empty() => {
                let place = self.dice.below(self.tensors.len());
                launch(&stream, &graph.state()[which], &mut self.tensors[place])?;
            }
            6 if !self.tensors.is_empty() => {
                let place = self.dice.below(self.tensors.len());
                launch(&stream, &self.tensors[place], &mut graph.state_mut()[which])?;
            }
            7 if !self.fails => {
                let slice = graph.state()[which].cuda_slice().expect("a GPU's");
                let copy = stream.cuda().expect("a GPU's").clone_dtod(&slice);
                drop(copy.expect("a copy of cudarc's"));
            }
            _ => graph.launch()?,
        }
        Ok(())
    }

    fn step(&mut self) {
        let (family, kind) = (self.dice.below(8), self.dice.below(12));
        let injected = self.fails && self.dice.below(4) == 0;
        if injected {
            self.stub.fail(self.dice.below(12) as u64);
        }
        self.done.push(format!("{family} {kind}"));
        let made = match family {
            0 | 1 if !self.fails => self.cudarc(kind),
            2 | 3 => self.graph(kind),
            _ => self.streams_and_tensors(kind),
        };
        if injected && self.stub.heal() {
            self.done.push("failed".into());
        }
        assert!(made.is_ok() || self.fails, "{made:?}, {:?}", self.done);
    }

    /// Everything ends, in any order.
    fn end(mut self) -> Vec<String> {
        while !(self.tensors.is_empty() && self.slices.is_empty() && self.graphs.is_empty()) {
            match self.dice.below(3) {
                0 => drop(self.tensors.pop()),
                1 => drop(self.slices.pop()),
                _ => drop(self.graphs.pop()),
            }
        }
        self.done
    }
}

#[test]
fn random_sequences() {
    with_stub("random_sequences", |stub| {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let now = || {
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64)
        };
        let seed = number("STUB_SEED").unwrap_or_else(now) | 1;
        let sequences = number("STUB_SEQUENCES").unwrap_or(500);
        println!("STUB_SEED={seed}, {sequences} sequences");
        stub.chance(seed);
        let ours = stub.device();
        let theirs = Device::from_cudarc(CudaContext::new(0).expect("a context")).expect("a device");
        let mut dice = Dice(seed);
        let (mut steps, mut before) = (0, None);
        for sequence in 0..sequences {
            let fails = sequence % 4 == 3;
            let streams = vec![ours.stream(), theirs.stream()];
            let devices = [ours.clone(), theirs.clone()];
            let own = Dice(dice.below(1 << 30) as u64 * 2 + 1);
            let (tensors, slices, graphs, done) = (vec![], vec![], vec![], vec![]);
            let mut bench = Bench { stub, dice: own, devices, streams, tensors, slices, graphs, fails, done };
            let length = 10 + bench.dice.below(50);
            (0..length).for_each(|_| bench.step());
            steps += length;
            let done = bench.end();
            let what = format!("STUB_SEED={seed}, sequence {sequence}: {done:?}");
            stub.is_right(&what);
            let live = stub.live();
            stub.restart();
            match before {
                // What failed to end stays.
                _ if fails || sequence < 8 => before = None,
                None => before = Some(live),
                Some(before) => assert_eq!(live, before, "{what}"),
            }
            for device in [&ours, &theirs] {
                let _ = device.context().expect("a GPU").check_err();
            }
        }
        println!("{steps} steps");
    });
}
