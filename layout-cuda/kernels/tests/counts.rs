//! Sums of weights by key on the simulator against float64: none, one and many sums, keys of none, what is refused.

use layout_cuda::{Device, Error};
use layout_kernels::memory::{Key, bincount};

fn check<K: Key>(n: usize, bins: usize, of: fn(i64) -> K) -> Result<(), Error> {
    let device = Device::simulator();
    let mixed = |at: usize| at.wrapping_mul(0x9E37_79B9) >> 7;
    let key = |at: usize| (mixed(at) % (bins + 3)) as i64 - 2;
    let weight = |at: usize| (mixed(at + 1) % 65) as f32 / 16.0 - 2.0;
    let keys: Vec<K> = (0..n).map(|at| of(key(at))).collect();
    let weights: Vec<f32> = (0..n).map(weight).collect();
    let mut out = device.upload(&vec![7.0f32; bins], [bins])?;
    bincount(&device.stream(), &device.upload(&keys, [n])?, &device.upload(&weights, [n])?, &mut out)?;
    let mut wanted = vec![0.0f32; bins];
    // Multiples of 1/16 that float32 sums exactly.
    for at in 0..n {
        if let Some(sum) = usize::try_from(key(at)).ok().and_then(|key| wanted.get_mut(key)) {
            *sum += weight(at);
        }
    }
    assert_eq!(out.download()?, wanted, "{n} keys of {bins}");
    Ok(())
}

#[test]
fn sums_by_key() -> Result<(), Error> {
    for (n, bins) in [
        (0, 3),
        (1, 1),
        (2047, 0),
        (2049, 1),
        (5000, 255),
        (4097, 257),
        (300, 8192),
        (9000, 8193),
        (2048, 20_000),
    ] {
        check::<u32>(n, bins, |key| key as u32)?;
        check::<i32>(n, bins, |key| key as i32)?;
    }
    Ok(())
}

#[test]
fn extremes() -> Result<(), Error> {
    let device = Device::simulator();
    let keys = device.upload(&[0, 1, 1, 2, 3, 3, i32::MIN, i32::MAX], [8])?;
    let weights = [f32::NAN, f32::MAX, f32::MAX, -f32::INFINITY, f32::MAX, -f32::MAX, 1.0, 1.0];
    let mut out = device.zeros::<f32, 1>([5])?;
    bincount(&device.stream(), &keys, &device.upload(&weights, [8])?, &mut out)?;
    let found = out.download()?;
    assert!(found[0].is_nan());
    assert_eq!(found[1..], [f32::INFINITY, f32::NEG_INFINITY, 0.0, 0.0]);
    let refused = bincount(&device.stream(), &keys, &device.zeros([7])?, &mut out);
    assert!(refused.is_err_and(|error| error.to_string().contains("`weights` has extent 7 in mode 0")));
    Ok(())
}
