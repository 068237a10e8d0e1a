//! Bisection, compaction and runs against plain Rust, on the simulator: edges of tiles, gaps, NaN, outputs that are too short.

use layout_cuda::{Device, Element, Error, bf16};
use layout_kernels::selection::{Side, Workspace, searchsorted, select, unique};
use std::cmp::Ordering;

/// NaN above every number.
fn order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn places<T: Element + Into<f64>>(m: usize, n: usize, k: usize, near: fn(f64) -> T) -> Result<(), Error> {
    let device = Device::simulator();
    let of = |count: usize, step: usize| -> Vec<T> {
        let value = |at: usize| if at % 13 == 12 { f64::NAN } else { (at * step % 31) as f64 - 15.0 };
        (0..count).map(|at| near(value(at))).collect()
    };
    let (mut sorted, values) = (of(m * n, 7), of(m * k, 11));
    sorted.chunks_mut(n.max(1)).for_each(|row| row.sort_by(|a, b| order((*a).into(), (*b).into())));
    let (on_sorted, on_values) = (device.upload(&sorted, [m, n])?, device.upload(&values, [m, k])?);
    for side in [Side::Left, Side::Right] {
        let mut out = device.zeros::<u32, 2>([m, k])?;
        out.poison()?;
        searchsorted(&device.stream(), side, &on_sorted, &on_values, &mut out)?;
        let wanted: Vec<u32> = (0..m * k)
            .map(|at| {
                let row = &sorted[at / k * n..][..n];
                let is_before = |x: &T| match order((*x).into(), values[at].into()) {
                    Ordering::Less => true,
                    Ordering::Equal => side == Side::Right,
                    Ordering::Greater => false,
                };
                row.partition_point(is_before) as u32
            })
            .collect();
        assert_eq!(out.download()?, wanted, "{m} x {n}, {k}, {side:?}");
    }
    Ok(())
}

#[test]
fn places_in_sorted_rows() -> Result<(), Error> {
    for (m, n, k) in [
        (1, 1, 1),
        (3, 40, 7),
        (2, 257, 300),
        (1, 0, 3),
        (0, 3, 3),
        (3, 5, 0),
        (2, 5000, 4100),
        (1, 4096, 9000),
    ] {
        places(m, n, k, |x| x as f32)?;
        places(m, n, k, bf16::from_f64)?;
        places(m, n, k, |x| if x.is_nan() { 99 } else { x as i32 })?;
    }
    Ok(())
}

/// Outputs with gaps, as long as `room` says; what is beyond the count is as it was.
fn kept(n: usize, room: usize, runs: bool, odds: usize) -> Result<(), Error> {
    let (device, mut workspace) = (Device::simulator(), Workspace::default());
    let number = |at: usize| at.wrapping_mul(0x9e37_79b9) >> 9;
    let x: Vec<f32> = (0..n)
        .map(|at| if number(at).is_multiple_of(41) { f32::NAN } else { (number(at) % odds) as f32 })
        .collect();
    let mask: Vec<u8> = (0..n).map(|at| (number(at + 1) % odds) as u8).collect();
    let (on_x, on_mask) = (device.upload(&x, [n])?, device.upload(&mask, [n])?);
    let mut out = device.upload_strided(&vec![-1.0f32; (2 * room).saturating_sub(1)], [room], [2])?;
    let (mut places, mut count) = (device.upload(&vec![7u32; room], [room])?, device.upload(&[9u32], [1])?);
    // A second time with what the first has left in the workspace.
    for _ in 0..2 {
        match runs {
            true => unique(&device.stream(), &on_x, &mut out, &mut places, &mut count, &mut workspace)?,
            false => select(&device.stream(), &on_x, &on_mask, &mut out, &mut count, &mut workspace)?,
        }
    }
    let is_kept = |at: &usize| if runs { *at == 0 || x[*at] != x[*at - 1] } else { mask[*at] != 0 };
    let wanted: Vec<usize> = (0..n).filter(is_kept).collect();
    assert_eq!(count.download()?, [wanted.len() as u32]);
    let bits = |all: Vec<f32>, step| all.into_iter().step_by(step).map(f32::to_bits).collect::<Vec<_>>();
    let mut values: Vec<f32> = wanted.iter().map(|at| x[*at]).collect();
    values.resize(room, -1.0);
    assert_eq!(bits(out.download()?, 2), bits(values, 1), "{n}, {room}, {runs}");
    let mut at: Vec<u32> = wanted.iter().map(|at| *at as u32).collect();
    at.resize(if runs { room } else { 0 }, 7);
    at.resize(room, 7);
    assert_eq!(places.download()?, at, "{n}, {room}, {runs}");
    Ok(())
}

#[test]
fn elements_by_mask_or_run() -> Result<(), Error> {
    for n in [0, 1, 31, 4095, 4096, 4097, 13000] {
        for (runs, odds) in [(false, 3), (true, 2), (false, 1), (true, 1)] {
            kept(n, n, runs, odds)?;
            kept(n, n / 5, runs, odds)?;
        }
    }
    Ok(())
}
