//! Numbers of eight bits with scales on the simulator against the nearest of all 256 numbers: every group, odd extents, NaN, infinities, subnormal
//! numbers, zeros, what is refused.

#[allow(dead_code, reason = "one of its constants is not used here")]
mod support;

use layout_cuda::{Device, E4m3, E5m2, Error, bf16, f16};
use layout_kernels::absmax::{Group, Narrow, dequantize, quantize};
use support::Wide;

const GROUPS: [Group; 4] = [Group::Tensor, Group::Row, Group::Columns, Group::Block];

/// The finite numbers of a type, by their bits.
fn numbers<U: Narrow>() -> Vec<(u64, f64)> {
    let all = (0..256).map(|bits| (bits, U::from_bits(bits).constant().as_f64()));
    all.filter(|(bits, value)| value.is_finite() && (U::ELEM != layout_cuda::Elem::I8 || *bits != 128))
        .collect()
}

fn check<T: Wide, U: Narrow>(shape @ [m, n]: [usize; 2], value: fn(usize) -> f64) -> Result<(), Error> {
    let (device, numbers) = (Device::simulator(), numbers::<U>());
    let greatest = numbers.iter().fold(0.0, |most: f64, number| most.max(number.1)) as f32;
    let x: Vec<T> = (0..m * n).map(|at| T::near(value(at))).collect();
    let (on_x, stream) = (device.upload(&x, shape)?, device.stream());
    for group in GROUPS {
        let [rows, columns] = match group {
            Group::Tensor => [m, n],
            Group::Row => [1, n],
            Group::Columns => [1, 128],
            Group::Block => [128, 128],
        };
        let of @ [_, across] = group.scales(shape);
        let place = |at: usize| at / n / rows * across + at % n / columns;
        let mut sizes = vec![0.0f32; of[0] * across];
        for (at, x) in x.iter().enumerate() {
            let (size, most) = (x.wide().abs() as f32, &mut sizes[place(at)]);
            *most = if size.is_nan() || most.is_nan() { f32::NAN } else { most.max(size) };
        }
        let (mut out, mut scales) = (device.zeros::<U, 2>(shape)?, device.zeros::<f32, 2>(of)?);
        out.poison()?;
        scales.poison()?;
        quantize(&stream, group, &on_x, &mut out, &mut scales)?;
        let (found, found_scales) = (out.download()?, scales.download()?);
        for (found, size) in found_scales.iter().zip(&sizes) {
            let wanted = size / greatest;
            assert!(
                found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(),
                "{group:?}: {found}, not {wanted}"
            );
        }
        let mut back = device.zeros::<T, 2>(shape)?;
        back.poison()?;
        dequantize(&stream, group, &out, &scales, &mut back)?;
        for (at, (found, back)) in found.iter().zip(back.download()?).enumerate() {
            let scale = found_scales[place(at)];
            let exact = if scale == 0.0 { 0.0 } else { f64::from(x[at].wide() as f32 / scale) };
            let found = found.constant().as_f64();
            let distance = |number: &(u64, f64)| (number.1 - exact).abs();
            let least = numbers.iter().map(distance).fold(f64::INFINITY, f64::min);
            let nearest: Vec<_> = numbers.iter().filter(|number| distance(number) == least).collect();
            let is_near = nearest
                .iter()
                .any(|number| number.1 == found && (nearest.len() == 1 || number.0 % 2 == 0 || found == 0.0));
            // An integer has no NaN: 0, as Rust converts it.
            let is_none = if U::ELEM == layout_cuda::Elem::I8 { found == 0.0 } else { found.is_nan() };
            let is_so = if exact.is_nan() { is_none } else { is_near };
            assert!(is_so, "{group:?} of {shape:?}: {found} of {exact} at {at}");
            let wanted = T::near(f64::from(found as f32 * scale)).wide();
            assert!(
                back.wide() == wanted || back.wide().is_nan() && wanted.is_nan(),
                "{group:?}: {} at {at}",
                back.wide()
            );
        }
    }
    Ok(())
}

fn ordinary(at: usize) -> f64 {
    let mixed = at.wrapping_mul(0x9E37_79B9) >> 5;
    ((mixed % 4001) as f64 / 500.0 - 4.0) * f64::from(1 << (mixed / 4001 % 9))
}

/// Rows of zeros, of subnormal numbers, with an infinity, with a NaN.
fn special(at: usize) -> f64 {
    match at / 129 % 7 {
        1 => 0.0,
        2 => ordinary(at) * 1e-45,
        3 => ordinary(at) * 1e-39,
        4 if at % 129 == 77 => f64::NEG_INFINITY,
        5 if at % 129 == 128 => f64::NAN,
        6 => f64::from(f32::MAX) * (at % 2) as f64,
        _ => ordinary(at),
    }
}

#[test]
fn every_group_both_ways() -> Result<(), Error> {
    for shape in [[1, 1], [3, 127], [2, 128], [33, 129], [129, 40], [130, 264], [1, 9001]] {
        check::<f32, E4m3>(shape, ordinary)?;
        check::<bf16, E5m2>(shape, ordinary)?;
        check::<bf16, i8>(shape, ordinary)?;
    }
    check::<f16, E4m3>([5, 140], ordinary)?;
    check::<f32, E4m3>([14, 129], special)?;
    check::<f32, E5m2>([14, 129], special)?;
    check::<f32, i8>([14, 129], special)
}

#[test]
fn empty_and_refused() -> Result<(), Error> {
    let device = Device::simulator();
    let run = |group: Group, x: [usize; 2], out: [usize; 2], scales: [usize; 2]| {
        let (x, mut out) = (device.zeros::<f32, 2>(x)?, device.zeros::<i8, 2>(out)?);
        let mut scales = device.upload(&vec![7.0f32; scales[0] * scales[1]], scales)?;
        quantize(&device.stream(), group, &x, &mut out, &mut scales)?;
        let mut back = device.zeros::<f32, 2>(x.shape())?;
        dequantize(&device.stream(), group, &out, &scales, &mut back)?;
        scales.download()
    };
    for group in GROUPS {
        for shape in [[0, 5], [5, 0], [0, 0]] {
            let scales = run(group, shape, shape, group.scales(shape))?;
            assert!(scales.iter().all(|scale| *scale == 0.0), "{group:?} of {shape:?}");
        }
        let found = run(group, [3, 5], [3, 6], group.scales([3, 5])).unwrap_err().to_string();
        assert!(found.contains("`out` has extent 6 in mode 1"), "{found}");
        let found = run(group, [3, 5], [3, 5], [9, 1]).unwrap_err().to_string();
        assert!(found.contains("`scales` has extent 9 in mode 0"), "{found}");
    }
    Ok(())
}
