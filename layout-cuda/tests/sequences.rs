//! Random sequences of streams, tensors, late kernels and graphs: on a GPU where there is one, else on the simulator.
//!
//! Law: every tensor has the value that the same sequence gives in order, whatever streams did it. The seed is printed;
//! `SEQUENCES_SEED` repeats it, and `SEQUENCES` says how many.

mod spin;

use layout_cuda::graph::Graph;
use layout_cuda::{Device, Result, Stream, Tensor};
use spin::late;
use std::time::SystemTime;

/// Elements of a tensor.
const N: usize = 2048;

type Vector = Tensor<f32, 1>;

struct Sequence {
    state: u64,
    device: Device,
    /// Steps of a late kernel.
    late: usize,
    streams: Vec<Stream>,
    /// Each with its value.
    tensors: Vec<(Vector, f32)>,
    graphs: Vec<(Graph<[Vector; 2]>, [f32; 2])>,
}

impl Sequence {
    fn below(&mut self, count: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 33) as usize % count.max(1)
    }

    fn stream(&mut self) -> Stream {
        let place = self.below(self.streams.len());
        self.streams[place].clone()
    }

    fn filled(&mut self) -> Result<(Vector, f32)> {
        let value = self.below(1000) as f32;
        Ok((self.stream().upload(&[value; N], [N])?, value))
    }

    fn step(&mut self) -> Result<()> {
        let (stream, count) = (self.stream(), self.tensors.len());
        let steps = if self.below(2) == 0 { 1 } else { self.late };
        match self.below(12) {
            0 if self.streams.len() < 5 => self.streams.push(self.device.new_stream()?),
            1 if self.streams.len() > 1 => {
                let place = self.below(self.streams.len());
                self.streams.swap_remove(place);
            }
            2 if count > 2 => {
                let place = self.below(count);
                self.tensors.swap_remove(place);
            }
            3 if count > 0 => {
                let (place, value) = (self.below(count), self.below(1000) as f32);
                self.tensors[place].0.write(&[value; N])?;
                self.tensors[place].1 = value;
            }
            4 if count > 0 => {
                let place = self.below(count);
                let (tensor, value) = &self.tensors[place];
                same(&stream.download(tensor)?, *value, "a download");
            }
            5 if self.graphs.len() < 2 => {
                let (own, value) = (self.device.new_stream()?, self.below(1000) as f32);
                let state = [own.upload(&[value; N], [N])?, own.upload(&[0.0; N], [N])?];
                let chain =
                    move |stream: &Stream, [x, y]: &mut [Vector; 2]| late::launch(stream, x, y, steps);
                // SAFETY: the tensors are the graph's own, and stay in it.
                let graph = unsafe { Graph::record(&own, state, chain) }?;
                self.graphs.push((graph, [value, f32::NAN]));
            }
            6 | 7 if !self.graphs.is_empty() => {
                let place = self.below(self.graphs.len());
                let (graph, values) = &mut self.graphs[place];
                graph.launch()?;
                values[1] = values[0] + 1.0;
                let [value, _] = *values;
                if count > 0 {
                    // What a replay reads is written by another stream.
                    let (tensor, from) = &self.tensors[0];
                    late::launch(&stream, tensor, &mut graph.state_mut()[0], steps)?;
                    values[0] = from + 1.0;
                }
                same(&stream.download(&graph.state()[1])?, value + 1.0, "a replay");
            }
            8 if self.graphs.len() > 1 => {
                self.graphs.swap_remove(0);
            }
            _ if count < 8 && self.below(3) == 0 => {
                let tensor = self.filled()?;
                self.tensors.push(tensor);
            }
            _ if count > 1 => {
                let place = self.below(count);
                let (mut to, _) = self.tensors.swap_remove(place);
                let place = self.below(count - 1);
                let (from, value) = &self.tensors[place];
                late::launch(&stream, from, &mut to, steps)?;
                let value = value + 1.0;
                self.tensors.push((to, value));
            }
            _ => {}
        }
        Ok(())
    }
}

fn same(found: &[f32], value: f32, what: &str) {
    assert!(found.iter().all(|own| *own == value), "{what}: {:?}, not {value}", &found[..4]);
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

#[test]
fn every_tensor_has_the_value_of_its_sequence() -> Result<()> {
    let now = SystemTime::UNIX_EPOCH.elapsed().map_or(1, |time| time.as_secs());
    let (first, count) = (number("SEQUENCES_SEED").unwrap_or(now), number("SEQUENCES").unwrap_or(20));
    let (device, late) = match Device::gpu(0) {
        Ok(device) => (device, 400_000),
        Err(error) => {
            let required = std::env::var("REQUIRE_GPU").is_ok_and(|value| value == "1");
            assert!(!required, "REQUIRE_GPU=1: {error}");
            (Device::simulator(), 3)
        }
    };
    println!("{count} sequences from seed {first} on {}", device.describe());
    for seed in first..first + count {
        let state = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let streams = vec![device.stream()];
        let mut sequence =
            Sequence { state, device: device.clone(), late, streams, tensors: vec![], graphs: vec![] };
        let ran = (0..60).try_for_each(|_| sequence.step());
        ran.unwrap_or_else(|error| panic!("SEQUENCES_SEED={seed} SEQUENCES=1: {error}"));
        for (tensor, value) in &sequence.tensors {
            same(&tensor.download()?, *value, &format!("SEQUENCES_SEED={seed} SEQUENCES=1: at the end"));
        }
    }
    Ok(())
}
