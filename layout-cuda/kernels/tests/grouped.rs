//! `grouped_matmul` against float64: groups around the extents of tiles, none, all in one, more of them than rows; ends that are out of
//! order or beyond the rows; views with gaps; shapes that disagree. On the simulator.

use layout_cuda::{Device, Element, Error, Tensor, bf16, f16};
use layout_kernels::product::{Kernel, grouped_matmul_by};

/// Multiples of 1/4 from -2 to 2, whose products and sums are exact in float32.
fn values(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + seed * 104_729) / 13 % 17) as f32 / 4.0 - 2.0).collect()
}

/// What no product leaves behind.
const UNTOUCHED: f32 = -77.0;

/// A tensor in memory with gaps, whose element at a coordinate is the value at its number in row-major order.
fn strided<T: Element, const R: usize>(
    device: &Device,
    values: &[T],
    shape: [usize; R],
    strides: [usize; R],
) -> Result<Tensor<T, R>, Error> {
    let place = |mut number: usize| {
        let mut place = 0;
        for mode in (0..R).rev() {
            place += number % shape[mode] * strides[mode];
            number /= shape[mode];
        }
        place
    };
    let reach = (0..values.len()).map(place).max().map_or(0, |last| last + 1);
    let mut memory = vec![T::from_bits(0); reach];
    values.iter().enumerate().for_each(|(number, value)| memory[place(number)] = *value);
    device.upload_strided(&memory, shape, strides)
}

/// The group of each row, by the law's words.
fn groups(ends: &[i32], m: usize) -> Vec<Option<usize>> {
    let (mut of, mut first) = (vec![None; m], 0);
    for (group, end) in ends.iter().enumerate() {
        let end = usize::try_from(*end).unwrap_or(0).min(m).max(first);
        of[first..end].fill(Some(group));
        first = end;
    }
    of
}

/// By both kernels, B by rows and by columns: lines of operands have `gap` more elements than they need.
fn check<T: Element>(
    round: fn(f32) -> T,
    [m, n, k]: [usize; 3],
    ends: &[i32],
    gap: usize,
) -> Result<(), Error> {
    let (device, of_rows) = (Device::simulator(), groups(ends, m));
    let stream = device.stream();
    let (a, b) = (values(m * k, 1), values(ends.len() * k * n, 2));
    let rounded = |values: &[f32]| values.iter().map(|x| round(*x)).collect::<Vec<T>>();
    let on_ends = device.upload(ends, [ends.len()])?;
    let on_a = strided(&device, &rounded(&a), [m, k], [k + gap, 1])?;
    for strides in [[k * (n + gap), n + gap, 1], [n * (k + gap), 1, k + gap]] {
        let on_b = strided(&device, &rounded(&b), [ends.len(), k, n], strides)?;
        for kernel in [Kernel::Gemm, Kernel::GemmMma] {
            let before = vec![round(UNTOUCHED); m * n];
            let mut c = strided(&device, &before, [m, n], [n + gap, 1])?;
            grouped_matmul_by(kernel, &stream, &on_a, &on_b, &on_ends, &mut c)?;
            let found = c.download()?;
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let found = found[row * (n + gap) + column];
                let wanted = of_rows[row].map_or(f64::from(UNTOUCHED), |group| {
                    let pair = |l| f64::from(a[row * k + l]) * f64::from(b[(group * k + l) * n + column]);
                    (0..k).map(pair).fold(0.0, |sum, product| sum + product)
                });
                let (wanted, found) = (round(wanted as f32).to_bits(), found.to_bits());
                let group = of_rows[row];
                assert_eq!(
                    found, wanted,
                    "{kernel}, {m} x {n} x {k}, {ends:?}, B by {strides:?}: row {row} of {group:?}, column {column}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn groups_around_the_extents_of_tiles() -> Result<(), Error> {
    check(bf16::from_f32, [511, 72, 72], &[0, 127, 127, 255, 384, 511, 511], 0)?;
    check(f16::from_f32, [390, 65, 33], &[1, 130, 260, 390], 0)?;
    check(bf16::from_f32, [300, 264, 64], &[300], 8)
}

#[test]
fn none_and_more_groups_than_rows() -> Result<(), Error> {
    check(bf16::from_f32, [3, 8, 24], &[0, 1, 1, 1, 2, 2, 3, 3, 3], 0)?;
    check(bf16::from_f32, [130, 16, 16], &[0, 0, 130, 130], 3)?;
    check(bf16::from_f32, [5, 8, 0], &[2, 4], 8)?;
    check(bf16::from_f32, [0, 8, 8], &[0, 0], 0)?;
    check(bf16::from_f32, [5, 0, 8], &[2, 5], 8)?;
    check(bf16::from_f32, [5, 8, 8], &[], 0)
}

#[test]
fn ends_that_are_wrong_touch_nothing_outside() -> Result<(), Error> {
    check(bf16::from_f32, [200, 16, 16], &[150, 20, -5, 170, i32::MAX, i32::MIN, 3], 0)?;
    check(f16::from_f32, [140, 16, 16], &[-1, 135], 0)?;
    check(bf16::from_f32, [9, 8, 8], &[i32::MIN, i32::MAX], 8)
}

#[test]
fn what_does_not_fit_is_named() -> Result<(), Error> {
    let device = Device::simulator();
    let run = |[m, k]: [usize; 2], b: [usize; 3], groups: usize, c: [usize; 2]| {
        let (a, b) = (device.zeros::<bf16, 2>([m, k])?, device.zeros::<bf16, 3>(b)?);
        let (ends, mut c) = (device.zeros::<i32, 1>([groups])?, device.zeros::<bf16, 2>(c)?);
        layout_kernels::grouped_matmul(&device.stream(), &a, &b, &ends, &mut c)
    };
    assert!(run([4, 8], [2, 8, 16], 2, [4, 16]).is_ok());
    for (run, words) in [
        (run([4, 8], [2, 9, 16], 2, [4, 16]), ["`b`", "9", "8"]),
        (run([4, 8], [2, 8, 16], 3, [4, 16]), ["`ends`", "3", "2"]),
        (run([4, 8], [2, 8, 16], 2, [5, 16]), ["`c`", "5", "4"]),
        (run([4, 8], [2, 8, 16], 2, [4, 15]), ["`c`", "15", "16"]),
    ] {
        let message = run.expect_err("what does not fit").to_string();
        assert!(words.iter().all(|word| message.contains(word)), "{words:?}: {message}");
    }
    Ok(())
}
