//! Pooling on the simulator against loops of plain Rust: odd sizes, padding, NaN, infinities, equal numbers, what is refused.

mod support;

use layout_cuda::{Device, Error, bf16, f16};
use layout_kernels::pooling::Pool;
use support::Wide;

fn number(at: usize) -> f64 {
    let mixed = at.wrapping_mul(0x9E37_79B9) >> 5;
    match mixed % 23 {
        0 => f64::NAN,
        1 | 2 => f64::NEG_INFINITY,
        3 => f64::INFINITY,
        other => other as f64 / 4.0 - 3.0,
    }
}

fn check<T: Wide>(pool: Pool, shape @ [n, h, w, c]: [usize; 4], finite: bool) -> Result<(), Error> {
    let (device, to @ [_, p, q, _]) = (Device::simulator(), pool.shape(shape));
    let value = |at| if finite && !number(at).is_finite() { 9.0 } else { number(at) };
    let x: Vec<T> = (0..n * h * w * c).map(|at| T::near(value(at))).collect();
    let (on_x, stream) = (device.upload(&x, shape)?, device.stream());
    let (mut out, mut indices) = (device.zeros::<T, 4>(to)?, device.zeros::<u32, 4>(to)?);
    let elements = |at: usize| {
        let (image, i, j, channel) = (at / (p * q * c), at / (q * c) % p, at / c % q, at % c);
        let places = (0..pool.window[0]).flat_map(move |r| (0..pool.window[1]).map(move |s| (r, s)));
        let x = &x;
        places.filter_map(move |(r, s)| {
            let row = (i * pool.stride[0] + r).checked_sub(pool.padding[0]).filter(|row| *row < h)?;
            let column =
                (j * pool.stride[1] + s).checked_sub(pool.padding[1]).filter(|column| *column < w)?;
            Some((row * w + column, x[((image * h + row) * w + column) * c + channel].wide()))
        })
    };
    out.poison()?;
    pool.maximum(&stream, &on_x, &mut out, Some(&mut indices))?;
    let (found, places) = (out.download()?, indices.download()?);
    out.poison()?;
    pool.maximum(&stream, &on_x, &mut out, None)?;
    let alone = out.download()?;
    for at in 0..found.len() {
        let most = elements(at).reduce(|a, b| if b.1 > a.1 || b.1.is_nan() { b } else { a });
        let (place, most) = most.expect("a window is never outside of the image");
        let is_so = |found: T| found.wide() == most || found.wide().is_nan() && most.is_nan();
        assert!(is_so(found[at]) && is_so(alone[at]), "{pool:?}, {shape:?}: {} at {at}", found[at].wide());
        assert_eq!(places[at] as usize, place, "{pool:?}, {shape:?}, {at}");
    }
    for counts_padding in [false, true] {
        out.poison()?;
        pool.average(&stream, counts_padding, &on_x, &mut out)?;
        for (at, found) in out.download()?.into_iter().enumerate() {
            let count = if counts_padding { pool.window[0] * pool.window[1] } else { elements(at).count() };
            let wanted = elements(at).map(|(_, x)| x).sum::<f64>() / count as f64;
            let (found, is_number) = (found.wide(), wanted.is_finite());
            let is_near = (found - wanted).abs() <= 1e-5 + 1.1 * wanted.abs() * T::ROUNDING;
            let is_so =
                if is_number { is_near } else { found == wanted || found.is_nan() && wanted.is_nan() };
            assert!(is_so, "{pool:?}, {shape:?}, {at}: {found}, not {wanted}");
        }
    }
    Ok(())
}

#[test]
fn windows() -> Result<(), Error> {
    for (window, stride, padding) in [
        ([2, 2], [2, 2], [0, 0]),
        ([3, 3], [2, 1], [1, 1]),
        ([1, 7], [3, 2], [0, 3]),
        ([5, 4], [1, 5], [2, 2]),
    ] {
        let pool = Pool { window, stride, padding };
        for (shape, finite) in
            [([2, 7, 9, 8], true), ([1, 6, 5, 11], false), ([3, 5, 40, 16], false), ([1, 5, 4, 1], true)]
        {
            check::<f32>(pool, shape, finite)?;
            check::<bf16>(pool, shape, finite)?;
        }
        check::<f16>(pool, [1, 5, 6, 24], false)?;
    }
    check::<f32>(Pool { window: [8, 8], stride: [1, 1], padding: [4, 4] }, [1, 1, 1, 4], true)
}

#[test]
fn extremes() -> Result<(), Error> {
    let (device, pool) = (Device::simulator(), Pool { window: [1, 2], stride: [1, 2], padding: [0, 0] });
    let least = f32::from_bits(1);
    let x = [f32::MAX, f32::MAX, least, -least, -0.0, 0.0, f32::NEG_INFINITY, f32::NEG_INFINITY];
    let on_x = device.upload(&x, [1, 1, 8, 1])?;
    let (mut out, mut indices) = (device.zeros([1, 1, 4, 1])?, device.zeros([1, 1, 4, 1])?);
    pool.maximum(&device.stream(), &on_x, &mut out, Some(&mut indices))?;
    assert_eq!(
        (out.download()?, indices.download()?),
        (vec![f32::MAX, least, -0.0, f32::NEG_INFINITY], vec![0, 2, 4, 6])
    );
    Ok(())
}

#[test]
fn empty_and_refused() -> Result<(), Error> {
    let device = Device::simulator();
    let run = |pool: Pool, x: [usize; 4], out: [usize; 4]| {
        let (x, mut out) = (device.zeros::<f32, 4>(x)?, device.zeros::<f32, 4>(out)?);
        pool.average(&device.stream(), false, &x, &mut out)?;
        pool.maximum(&device.stream(), &x, &mut out, None)
    };
    let plain = Pool { window: [2, 2], stride: [1, 1], padding: [0, 0] };
    run(plain, [0, 4, 4, 8], [0, 3, 3, 8])?;
    run(plain, [1, 1, 4, 8], [1, 0, 3, 8])?;
    run(plain, [1, 4, 4, 0], [1, 3, 3, 0])?;
    run(Pool { padding: [1, 1], ..plain }, [1, 0, 4, 8], [1, 1, 5, 8])?;
    let message = |pool, x, out| run(pool, x, out).unwrap_err().to_string();
    let found = message(plain, [1, 4, 4, 8], [1, 3, 4, 8]);
    assert!(found.contains("`out` has extent 4 in mode 2") && found.contains('3'), "{found}");
    for wrong in [
        Pool { window: [0, 2], ..plain },
        Pool { stride: [1, 0], ..plain },
        Pool { padding: [2, 0], ..plain },
        Pool { window: [usize::MAX; 2], padding: [usize::MAX / 2; 2], ..plain },
    ] {
        let found = message(wrong, [1, 4, 4, 8], [1, 3, 3, 8]);
        assert!(found.contains(&format!("{:?}", wrong.window)) && found.contains("half a window"), "{found}");
    }
    let (x, mut out) = (device.zeros::<f32, 4>([1, 4, 4, 8])?, device.zeros::<f32, 4>([1, 3, 3, 8])?);
    let refused = plain.maximum(&device.stream(), &x, &mut out, Some(&mut device.zeros([1, 3, 3, 7])?));
    assert!(refused.is_err_and(|error| error.to_string().contains("`indices` has extent 7 in mode 3")));
    Ok(())
}
