//! Convolutions on the simulator, by both kernels, against float64: odd sizes, strides, dilation, padding, groups, channels that are copied,
//! views, empty tensors, extents that disagree.

mod support;

use layout_cuda::{Device, Element, Error, bf16, f16};
use layout_kernels::convolution::{Activation, Convolution, Kernel};
use support::Wide;

/// A number of a sequence that looks like none, in eighths between -1 and 1: products of them are exact in float32.
fn some<T: Wide>(count: usize, salt: usize) -> Vec<T> {
    let mixed = |index: usize| (index + salt).wrapping_mul(0x9E37_79B9) >> 5;
    (0..count).map(|index| T::near((mixed(index) % 17) as f64 / 8.0 - 1.0)).collect()
}

/// The convolution in float64.
fn exact<T: Wide + Element>(
    of: &Convolution<'_, T>,
    (x, [_, h, w, c]): (&[T], [usize; 4]),
    (filters, [k, r, s, own]): (&[T], [usize; 4]),
    bias: &[T],
    [n, p, q, _]: [usize; 4],
) -> Vec<f64> {
    let mut all = Vec::new();
    for at in 0..n * p * q * k {
        let (image, i, j, filter) = (at / (p * q * k), at / (q * k) % p, at / k % q, at % k);
        let mut sum = if of.bias.is_some() { bias[filter].wide() } else { 0.0 };
        for (row, column) in (0..r).flat_map(|row| (0..s).map(move |column| (row, column))) {
            let from = (i * of.stride[0] + row * of.dilation[0]).checked_sub(of.padding[0]);
            let beside = (j * of.stride[1] + column * of.dilation[1]).checked_sub(of.padding[1]);
            let (Some(from), Some(beside)) = (from, beside) else { continue };
            if from >= h || beside >= w {
                continue;
            }
            for channel in 0..own {
                let first = filter / (k / of.groups) * own;
                let pixel = x[((image * h + from) * w + beside) * c + first + channel];
                sum += pixel.wide() * filters[((filter * r + row) * s + column) * own + channel].wide();
            }
        }
        all.push(match of.activation {
            Activation::None => sum,
            Activation::Relu => sum.max(0.0),
            Activation::Silu => sum / (1.0 + (-sum).exp()),
        });
    }
    all
}

/// Within one rounding of float64.
fn check<T: Wide + Element>(of: Convolution<'_, T>, x: [usize; 4], filters: [usize; 4]) -> Result<(), Error> {
    let device = Device::simulator();
    let shape @ [.., k] = of.shape(x, filters);
    let (on, weights) = (some::<T>(x.iter().product(), 1), some::<T>(filters.iter().product(), 7));
    let numbers = some::<T>(k, 3);
    let bias = device.upload(&numbers, [k])?;
    let of = Convolution { bias: of.bias.map(|_| &bias), ..of };
    let mut out = device.upload(&vec![T::near(9.0); shape.iter().product()], shape)?;
    of.run(&device.stream(), &device.upload(&on, x)?, &device.upload(&weights, filters)?, &mut out)?;
    let wanted = exact(&of, (&on, x), (&weights, filters), &numbers, shape);
    for (at, (found, wanted)) in out.download()?.into_iter().zip(wanted).enumerate() {
        let room = 1e-4 + wanted.abs() * T::ROUNDING;
        assert!(
            (found.wide() - wanted).abs() <= room,
            "{of:?}, {x:?} by {filters:?}: element {at} is {}, not {wanted}",
            found.wide()
        );
    }
    Ok(())
}

const KERNELS: [Kernel; 2] = [Kernel::Warps, Kernel::Warpgroups];

#[test]
fn odd_sizes() -> Result<(), Error> {
    for kernel in KERNELS {
        let of = Convolution { kernel: Some(kernel), padding: [1, 1], ..Convolution::default() };
        // Around a box and around a tile of filters, several blocks of channels, channels and filters that are no whole vectors.
        for (x, k) in [([1, 7, 9, 64], 65), ([2, 9, 8, 72], 128), ([3, 5, 5, 3], 10), ([1, 1, 1, 8], 129)] {
            check::<bf16>(of, x, [k, 3, 3, x[3]])?;
        }
        let of = Convolution { kernel: Some(kernel), padding: [1, 1], ..Convolution::default() };
        check::<f16>(of, [2, 8, 8, 8], [8, 3, 3, 8])?;
    }
    Ok(())
}

#[test]
fn any_description() -> Result<(), Error> {
    let device = Device::simulator();
    let bias = device.zeros::<bf16, 1>([0])?;
    for kernel in KERNELS {
        let plain = Convolution::<bf16> { kernel: Some(kernel), ..Convolution::default() };
        let strided = Convolution { stride: [2, 3], padding: [2, 0], dilation: [1, 2], ..plain };
        check(strided, [2, 9, 17, 16], [9, 4, 5, 16])?;
        check(Convolution { dilation: [3, 2], padding: [3, 5], ..plain }, [1, 12, 7, 8], [6, 3, 2, 8])?;
        check(Convolution { groups: 2, padding: [0, 1], ..plain }, [1, 5, 6, 12], [14, 2, 3, 6])?;
        let relu = Convolution { bias: Some(&bias), activation: Activation::Relu, ..plain };
        check(relu, [1, 6, 9, 24], [70, 2, 2, 24])?;
        check(Convolution { activation: Activation::Silu, ..relu }, [1, 1, 40, 8], [72, 1, 5, 8])?;
    }
    // A product.
    check::<bf16>(Convolution::default(), [2, 5, 7, 24], [20, 1, 1, 24])?;
    check::<bf16>(Convolution { stride: [2, 2], ..Convolution::default() }, [2, 5, 7, 24], [20, 1, 1, 24])
}

#[test]
fn filters_of_one_channel() -> Result<(), Error> {
    let device = Device::simulator();
    let bias = device.zeros::<bf16, 1>([0])?;
    let plain = |c| Convolution::<bf16> { groups: c, padding: [1, 1], ..Convolution::default() };
    // Around a strip, a block of strips and one of channels, in vectors and one by one.
    for (x, r, s) in [
        ([1, 5, 4, 8], 3, 3),
        ([2, 9, 37, 72], 3, 3),
        ([1, 3, 5, 7], 2, 1),
        ([1, 3, 9, 65], 3, 2),
        ([1, 12, 13, 16], 7, 7),
        ([1, 11, 12, 8], 9, 11),
        ([3, 1, 1, 1], 1, 1),
    ] {
        let filters = [x[3], r, s, 1];
        check(plain(x[3]), x, filters)?;
        let silu = Convolution { bias: Some(&bias), activation: Activation::Silu, ..plain(x[3]) };
        check(Convolution { stride: [1, 2], padding: [4, 6], ..silu }, x, filters)?;
        check(Convolution { stride: [2, 3], dilation: [2, 1], padding: [8, 5], ..silu }, x, filters)?;
        let relu = Convolution { activation: Activation::Relu, ..silu };
        check(Convolution { dilation: [1, 3], padding: [5, 17], ..relu }, x, filters)?;
    }
    check::<f16>(Convolution { groups: 24, ..Convolution::default() }, [1, 6, 9, 24], [24, 3, 3, 1])?;
    // A multiplier: two filters of each channel are no such convolution.
    check(plain(4), [1, 5, 6, 4], [8, 3, 3, 1])
}

#[test]
fn views() -> Result<(), Error> {
    let device = Device::simulator();
    // NCHW in memory, the filters too, and an output by channels.
    let ([n, h, w, c], k) = ([2, 5, 6, 10], 7);
    let (x, weights) = (some::<bf16>(n * h * w * c, 1), some::<bf16>(k * 9 * c, 2));
    let turned = |of: &[bf16], [n, h, w, c]: [usize; 4]| {
        let at = |i: usize| (i / (c * h * w), i / (h * w) % c, i % (h * w));
        (0..n * c * h * w).map(|i| of[at(i).0 * h * w * c + at(i).2 * c + at(i).1]).collect::<Vec<_>>()
    };
    let by_channels = |h: usize, w: usize, c: usize| [c * h * w, w, 1, h * w];
    let on_x = device.upload_strided(&turned(&x, [n, h, w, c]), [n, h, w, c], by_channels(h, w, c))?;
    let on_filters = turned(&weights, [k, 3, 3, c]);
    let on_filters = device.upload_strided(&on_filters, [k, 3, 3, c], by_channels(3, 3, c))?;
    let mut out =
        device.stream().zeros_strided::<bf16, 4>([n, h - 2, w - 2, k], by_channels(h - 2, w - 2, k))?;
    layout_kernels::convolution(&device.stream(), &on_x, &on_filters, &mut out)?;
    let shape = [n, h - 2, w - 2, k];
    let wanted = exact(&Convolution::default(), (&x, [n, h, w, c]), (&weights, [k, 3, 3, c]), &[], shape);
    let wanted: Vec<bf16> = wanted.into_iter().map(bf16::near).collect();
    assert_eq!(out.download()?, turned(&wanted, shape));
    Ok(())
}

#[test]
fn empty_and_refused() -> Result<(), Error> {
    let device = Device::simulator();
    let of = |shape| device.zeros::<bf16, 4>(shape);
    let run = |description: Convolution<'_, bf16>, x, filters, out| {
        description.run(&device.stream(), &of(x)?, &of(filters)?, &mut of(out)?)
    };
    let plain = Convolution::default();
    run(plain, [0, 4, 4, 8], [3, 3, 3, 8], [0, 2, 2, 3])?;
    run(plain, [1, 2, 4, 8], [3, 3, 3, 8], [1, 0, 2, 3])?;
    run(plain, [1, 4, 4, 8], [0, 3, 3, 8], [1, 2, 2, 0])?;
    let own = Convolution { groups: 8, ..plain };
    run(own, [0, 4, 4, 8], [8, 3, 3, 1], [0, 2, 2, 8])?;
    run(own, [1, 4, 4, 8], [8, 0, 3, 1], [1, 4, 2, 8])?;
    // Of no channels the sums are 0.
    let mut out = device.upload(&[bf16::near(3.0); 12], [1, 2, 2, 3])?;
    plain.run(&device.stream(), &of([1, 4, 4, 0])?, &of([3, 3, 3, 0])?, &mut out)?;
    assert!(out.download()?.iter().all(|x| x.wide() == 0.0));
    let said = |description, x, filters, out| run(description, x, filters, out).unwrap_err().to_string();
    let channels = said(plain, [1, 4, 4, 8], [3, 3, 3, 7], [1, 2, 2, 3]);
    assert!(channels.contains("filters") && channels.contains('7') && channels.contains('8'), "{channels}");
    let pixels = said(plain, [1, 4, 4, 8], [3, 3, 3, 8], [1, 2, 3, 3]);
    assert!(pixels.contains("out") && pixels.contains('3'), "{pixels}");
    let stride = said(Convolution { stride: [0, 1], ..plain }, [1, 4, 4, 8], [3, 3, 3, 8], [1, 2, 2, 3]);
    assert!(stride.contains("stride [0, 1]"), "{stride}");
    let groups = said(Convolution { groups: 3, ..plain }, [1, 4, 4, 8], [3, 3, 3, 8], [1, 2, 2, 3]);
    assert!(groups.contains("8 channels") && groups.contains("groups 3"), "{groups}");
    let filters = said(own, [1, 4, 4, 8], [8, 3, 3, 2], [1, 2, 2, 8]);
    assert!(filters.contains("filters") && filters.contains("channels of a group"), "{filters}");
    let far = Convolution { padding: [usize::MAX, 1], ..plain };
    assert!(said(far, [1, 4, 4, 8], [3, 3, 3, 8], [1, 2, 2, 3]).contains("2^30"));
    Ok(())
}
