//! What is promised to be the same in every launch is: attention forward, decoding with splits, and backward.
//!
//! Law: 10,000 launches on a GPU, two on the simulator, give the same bits, each over memory that held no numbers before.

use layout_cuda::{Device, Element, Error, Tensor, bf16};
use layout_kernels::attention::{Attention, Mask};
use layout_kernels::backward::{Changes, Forward, Workspace as OfKeys};
use layout_kernels::decode::{Decoding, Workspace};
use layout_tests::support::data::doubles;
use layout_tests::support::gpu::hopper;

/// Devices, and how often each launches.
fn devices() -> Vec<(Device, usize)> {
    let gpu = hopper().map(|device| (device, 10_000));
    [Some((Device::simulator(), 2)), gpu].into_iter().flatten().collect()
}

fn operand<const R: usize>(device: &Device, shape: [usize; R], seed: u64) -> Result<Tensor<bf16, R>, Error> {
    let all = doubles(shape.iter().product(), seed);
    let rounded: Vec<bf16> = all.into_iter().map(|value| bf16::from_f64(value % 2.0)).collect();
    device.upload(&rounded, shape)
}

/// The bits of a tensor, which hold no numbers afterwards.
fn taken<T: Element, const R: usize>(
    tensor: &mut Tensor<T, R>,
    bits: fn(T) -> u32,
) -> Result<Vec<u32>, Error> {
    let found = tensor.download()?.into_iter().map(bits).collect();
    tensor.poison()?;
    Ok(found)
}

/// Launches so often, and holds each result against the first.
fn repeated(
    what: &str,
    (device, launches): (&Device, usize),
    mut launch: impl FnMut() -> Result<Vec<Vec<u32>>, Error>,
) -> Result<(), Error> {
    let first = launch()?;
    for round in 1..launches {
        assert!(launch()? == first, "{what} on {}: launch {round} gave other bits", device.describe());
    }
    println!("{what} on {}: {launches} launches, the same bits", device.describe());
    Ok(())
}

#[test]
fn forward() -> Result<(), Error> {
    for (device, launches) in devices() {
        for (depth, mask) in [(64, Mask::Causal), (128, Mask::Every)] {
            let rows = if launches > 2 { 520 } else { 150 };
            let q = operand(&device, [2, 8, rows, depth], 1)?;
            let [k, v] =
                [operand(&device, [2, 2, rows, depth], 2)?, operand(&device, [2, 2, rows, depth], 3)?];
            let mut o = device.zeros::<bf16, 4>(q.shape())?;
            let mut logs = device.zeros::<f32, 3>([2, 8, rows])?;
            let what = Attention { mask, ..Attention::default() };
            repeated(&format!("forward, heads of {depth}"), (&device, launches), || {
                what.run(&device.stream(), &q, &k, &v, &mut o, &mut logs)?;
                Ok(vec![taken(&mut o, |x| x.to_bits().into())?, taken(&mut logs, f32::to_bits)?])
            })?;
        }
    }
    Ok(())
}

#[test]
fn decoding() -> Result<(), Error> {
    for (device, launches) in devices() {
        let keys = if launches > 2 { 3000 } else { 300 };
        let q = operand(&device, [2, 8, 1, 128], 1)?;
        let [k, v] = [operand(&device, [2, 2, keys, 128], 2)?, operand(&device, [2, 2, keys, 128], 3)?];
        let lengths = device.upload(&[keys as i32, keys as i32 - 77], [2])?;
        let (mut o, mut logs) = (device.zeros::<bf16, 4>(q.shape())?, device.zeros::<f32, 3>([2, 8, 1])?);
        let what = Decoding { span: Some(128), ..Decoding::default() };
        let mut workspace = Workspace::default();
        repeated("decoding", (&device, launches), || {
            let (stream, to) = (device.stream(), (&mut o.view_mut(), &mut logs));
            what.run(&stream, &q, &k, &v, &lengths, &mut workspace, to)?;
            Ok(vec![taken(&mut o, |x| x.to_bits().into())?, taken(&mut logs, f32::to_bits)?])
        })?;
    }
    Ok(())
}

#[test]
fn backward() -> Result<(), Error> {
    for (device, launches) in devices() {
        let rows = if launches > 2 { 520 } else { 140 };
        let operand = |heads, seed| operand(&device, [2, heads, rows, 64], seed);
        let (q, k, v, d_o) = (operand(4, 1)?, operand(2, 2)?, operand(2, 3)?, operand(4, 4)?);
        let mut o = device.zeros::<bf16, 4>(q.shape())?;
        let mut logs = device.zeros::<f32, 3>([2, 4, rows])?;
        let what = Attention { mask: Mask::Causal, deterministic: true, ..Attention::default() };
        what.run(&device.stream(), &q, &k, &v, &mut o, &mut logs)?;
        let mut d = [device.zeros(q.shape())?, device.zeros(k.shape())?, device.zeros::<bf16, 4>(k.shape())?];
        let mut workspace = OfKeys::default();
        repeated("backward", (&device, launches), || {
            let of = Forward { q: &q.view(), k: &k.view(), v: &v.view(), o: &o.view(), logs: &logs };
            let [d_q, d_k, d_v] = &mut d;
            let to = Changes { q: &mut d_q.view_mut(), k: &mut d_k.view_mut(), v: &mut d_v.view_mut() };
            what.backward(&device.stream(), &of, &d_o.view(), &mut workspace, to)?;
            d.iter_mut().map(|d| taken(d, |x| x.to_bits().into())).collect()
        })?;
    }
    Ok(())
}
