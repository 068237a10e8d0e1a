//! Products with weights of 4 and 8 bits, on the simulator, against float64 of the numbers that the matrices are made of: odd sizes, the
//! first and the last numbers, groups, GPTQ's tensors, shapes that disagree.

mod support;

use layout_cuda::{Device, Error, LaunchError};
use layout_cuda::{bf16, f16};
use layout_kernels::quantized::{Bits, Format, Group, QuantizedMatrix};
use layout_kernels::{Real, matmul_quantized};
use support::Wide;

/// A matrix by its numbers.
struct Numbers {
    format: Format,
    shape: [usize; 2],
    group: usize,
    q: Vec<u8>,
    scales: Vec<f32>,
    zeros: Vec<u8>,
}

/// A number of a sequence that looks like none.
fn mixed(index: usize, salt: usize) -> usize {
    (index.wrapping_mul(0x9E37_79B9) ^ salt.wrapping_mul(0x85EB_CA6B)).wrapping_mul(0xC2B2_AE35) >> 7
}

impl Numbers {
    fn new(format: Format, shape @ [k, n]: [usize; 2]) -> Numbers {
        let group = match format.group {
            Group::Of32 => 32,
            Group::Of64 => 64,
            Group::Of128 => 128,
        };
        let largest = if format.bits == Bits::Four { 15 } else { 255 };
        let groups = k.div_ceil(group);
        // The first and the last number and zero more often than others, powers of two between 2^-18 and 2^-3 as scales.
        let number = |index, salt| match mixed(index, salt) % 6 {
            0 => 0,
            1 => largest as u8,
            _ => (mixed(index, salt + 1) % (largest + 1)) as u8,
        };
        let scale = |index| {
            ((mixed(index, 5) % 15) as f32 - 18.0).exp2() * (1.0 + (mixed(index, 6) % 1024) as f32 / 1024.0)
        };
        Numbers {
            format,
            shape,
            group,
            q: (0..k * n).map(|index| number(index, 1)).collect(),
            scales: (0..groups * n).map(scale).collect(),
            zeros: (0..groups * n).map(|index| number(index, 3)).collect(),
        }
    }

    fn matrix(&self, device: &Device) -> Result<QuantizedMatrix, Error> {
        let Numbers { format, shape, q, scales, zeros, .. } = self;
        QuantizedMatrix::new(&device.stream(), *format, *shape, q, scales, zeros)
    }

    /// Scale, number less zero.
    fn at(&self, k: usize, n: usize) -> (f64, f64) {
        let [_, columns] = self.shape;
        let group = k / self.group * columns + n;
        (f64::from(self.scales[group]), f64::from(self.q[k * columns + n]) - f64::from(self.zeros[group]))
    }

    /// The product with so many rows of a type is within its law of float64.
    fn check<T: Wide + Real>(&self, m: usize) -> Result<(), Error> {
        let (device, [k, n]) = (Device::simulator(), self.shape);
        let of = |index| T::near((mixed(index, 9) % 2001) as f64 / 500.0 - 2.0);
        let a: Vec<T> = (0..m * k).map(of).collect();
        let mut c = device.upload(&vec![T::near(9.0); m * n], [m, n])?;
        matmul_quantized(&device.stream(), &device.upload(&a, [m, k])?, &self.matrix(&device)?, &mut c)?;
        let (offset, rounded) = (if self.format.bits == Bits::Four { 31.0 } else { 527.0 }, m > 64);
        for (index, found) in c.download()?.into_iter().enumerate() {
            let (row, column) = (index / n, index % n);
            let (mut sum, mut bound) = (0.0, 6e-8);
            for k in 0..k {
                let (a, (scale, q)) = (a[row * self.shape[0] + k].wide(), self.at(k, column));
                sum += a * scale * q;
                bound += a.abs() * scale * if rounded { q.abs() * T::ROUNDING + 1e-5 } else { offset * 8e-6 };
            }
            let (error, bound) = ((found.wide() - sum).abs(), bound + sum.abs() * T::ROUNDING);
            let what = format!("{m} x {:?} of {:?} at {row}, {column}", self.shape, self.format);
            assert!(
                error <= bound,
                "{what}: {} and not {sum}, off by {error}, at most {bound}",
                found.wide()
            );
        }
        Ok(())
    }
}

fn formats() -> Vec<Format> {
    let groups = [Group::Of32, Group::Of64, Group::Of128];
    groups
        .iter()
        .flat_map(|group| [Bits::Four, Bits::Eight].map(|bits| Format { bits, group: *group }))
        .collect()
}

#[test]
fn products_are_those_of_the_numbers() -> Result<(), Error> {
    for format in formats() {
        for (m, shape) in
            [(1, [256, 40]), (7, [384, 17]), (8, [128, 16]), (9, [32, 1]), (33, [160, 15]), (64, [2176, 9])]
        {
            Numbers::new(format, shape).check::<bf16>(m)?;
        }
        Numbers::new(format, [264, 33]).check::<f16>(16)?;
        Numbers::new(format, [1, 7]).check::<f16>(3)?;
        Numbers::new(format, [131, 19]).check::<bf16>(2)?;
    }
    Ok(())
}

#[test]
fn many_rows_are_those_of_the_matrix() -> Result<(), Error> {
    for format in [Format::INT4, Format { bits: Bits::Eight, group: Group::Of32 }] {
        Numbers::new(format, [136, 24]).check::<bf16>(65)?;
        Numbers::new(format, [99, 13]).check::<f16>(70)?;
    }
    Ok(())
}

#[test]
fn empty_shapes_are_shapes() -> Result<(), Error> {
    for shape in [[0, 5], [5, 0], [0, 0]] {
        for m in [0, 3, 70] {
            Numbers::new(Format::INT4, shape).check::<bf16>(m)?;
        }
    }
    Numbers::new(Format::INT8, [64, 8]).check::<bf16>(0)
}

/// Every element is within half a scale of what it was rounded from.
#[test]
fn rounding_is_to_the_nearest() -> Result<(), Error> {
    fn of<T: Wide + Real>(format: Format, [k, n]: [usize; 2]) -> Result<(), Error> {
        let device = Device::simulator();
        let levels: f64 = if format.bits == Bits::Four { 15.0 } else { 255.0 };
        let group = [32, 64, 128]
            [[Group::Of32, Group::Of64, Group::Of128].iter().position(|g| *g == format.group).unwrap_or(0)];
        // Columns of zeros, of one sign, of subnormals and of large numbers among others.
        let value = |index: usize| {
            let number = (mixed(index, 1) % 4001) as f64 / 1000.0 - 2.0;
            T::near(match index % n % 5 {
                0 => 0.0,
                1 => -number.abs(),
                2 => number * 3e4,
                3 => number * 1e-6,
                _ => number,
            })
        };
        let values: Vec<T> = (0..k * n).map(value).collect();
        let b = QuantizedMatrix::round(&device.stream(), format, &device.upload(&values, [k, n])?)?;
        let mut whole = device.upload_strided(&vec![0.0f32; k * n], [k, n], [1, k])?;
        b.dequantize(&device.stream(), &mut whole)?;
        let whole = whole.download()?;
        for (index, wanted) in values.iter().enumerate() {
            let (row, column) = (index / n, index % n);
            let of_group = (row / group * group..((row / group + 1) * group).min(k))
                .map(|k| values[k * n + column].wide());
            let (low, high) = of_group.fold((0.0f64, 0.0f64), |(low, high), x| (low.min(x), high.max(x)));
            let error = (f64::from(whole[column * k + row]) - wanted.wide()).abs();
            let bound = (high - low) * (0.5001 / levels + 1e-6) + 1e-40;
            assert!(
                error <= bound,
                "{k} x {n} of {format:?} at {row}, {column}: off by {error}, at most {bound}"
            );
        }
        Ok(())
    }
    for format in formats() {
        of::<bf16>(format, [256, 11])?;
        of::<f32>(format, [131, 8])?;
    }
    of::<f16>(Format::INT4, [33, 20])
}

/// What GPTQ packs is what is unpacked from it by its own definition.
#[test]
fn tensors_of_gptq() -> Result<(), Error> {
    let (device, [k, n]) = (Device::simulator(), [64, 24]);
    let numbers = Numbers::new(Format { bits: Bits::Four, group: Group::Of32 }, [k, n]);
    let mut qweight = vec![0u32; k / 8 * n];
    for (index, q) in numbers.q.iter().enumerate() {
        qweight[index / n / 8 * n + index % n] |= u32::from(*q) << (4 * (index / n % 8));
    }
    let mut qzeros = vec![0u32; k / 32 * n / 8];
    let zeros: Vec<u8> = numbers.zeros.iter().map(|zero| zero % 15 + 1).collect();
    for (index, zero) in zeros.iter().enumerate() {
        qzeros[index / 8] |= u32::from(zero - 1) << (4 * (index % 8));
    }
    let stream = device.stream();
    let packed =
        QuantizedMatrix::gptq(&stream, Group::Of32, [k, n], [&qweight, &qzeros], &numbers.scales, 1)?;
    let plain = Numbers { zeros, ..numbers }.matrix(&device)?;
    let mut both = [device.zeros::<f32, 2>([n, k])?, device.zeros([n, k])?];
    for (matrix, whole) in [packed, plain].iter().zip(&mut both) {
        matrix.dequantize(&stream, &mut whole.part_mut(0, [k, n], [1, k])?)?;
    }
    assert_eq!(both[0].download()?, both[1].download()?);
    Ok(())
}

#[test]
fn shapes_that_disagree_are_refused() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let refused =
        |outcome: Result<(), Error>| matches!(outcome, Err(Error::Launch(LaunchError::Arguments { .. })));
    let b = Numbers::new(Format::INT4, [64, 16]).matrix(&device)?;
    for m in [3, 100] {
        for ([rows, depth], c) in [([m, 63], [m, 16]), ([m, 64], [m + 1, 16]), ([m, 64], [m, 15])] {
            let (a, mut c) = (device.zeros::<bf16, 2>([rows, depth])?, device.zeros::<bf16, 2>(c)?);
            assert!(refused(matmul_quantized(&stream, &a, &b, &mut c)), "{rows} x {depth}, {:?}", c.shape());
        }
    }
    let of = |q: usize, scales: usize, zeros: usize| {
        let (q, scales, zeros) = (vec![0; q], vec![1.0; scales], vec![0; zeros]);
        QuantizedMatrix::new(&stream, Format::INT4, [256, 3], &q, &scales, &zeros).map(drop)
    };
    assert!(of(768, 6, 6).is_ok() && of(768, 3, 3).is_ok());
    assert!(refused(of(767, 6, 6)) && refused(of(768, 5, 5)) && refused(of(768, 6, 3)));
    Ok(())
}
