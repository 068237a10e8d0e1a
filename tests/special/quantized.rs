//! Matrices of 4 and 8 bits: rounded and read again, and as an operand. A group with an infinity is NaN; NaN becomes the least of its group.

use super::bench::{Bench, Want};
use super::{Covered, Entry};
use layout_cuda::{Elem, Error, bf16, f16};
use layout_kernels::kernels::quantized as kernels;
use layout_kernels::quantized::{Format, QuantizedMatrix, Workspace, multiply};
use layout_tests::support::special::{Float, Kind};

/// Numbers of a column: a group of 128, and five.
const K: usize = 133;

pub fn entries() -> Vec<Entry> {
    let halves = [Elem::Bf16, Elem::F16];
    let all = [Elem::Bf16, Elem::F16, Elem::F32];
    let rounding = [&kernels::quantize::DEFINITION, &kernels::dequantize::DEFINITION];
    let rounding: Vec<Covered> =
        rounding.into_iter().flat_map(|of| all.map(|elem| Covered::of(of, elem))).collect();
    vec![
        Entry::new(&rounding, |bench| {
            rounded::<bf16>(bench)?;
            rounded::<f16>(bench)?;
            rounded::<f32>(bench)
        }),
        Entry::new(
            &halves.map(|elem| Covered::of(&kernels::few_rows_quantized::DEFINITION, elem)),
            |bench| {
                products::<bf16>(bench)?;
                products::<f16>(bench)
            },
        ),
    ]
}

fn rounded<T: Float>(bench: &Bench<'_>) -> Result<(), Error> {
    let stream = bench.stream();
    for (format, largest) in [(Format::INT4, 15.0), (Format::INT8, 255.0)] {
        for kind in Kind::ALL {
            let column: Vec<T> = bench.row(kind, K, 3);
            let matrix = QuantizedMatrix::round(&stream, format, &bench.device.upload(&column, [K, 1])?)?;
            let mut again = bench.device.upload_strided(&[T::rounded(f64::NAN); K], [K, 1], [1, K])?;
            matrix.dequantize(&stream, &mut again)?;
            let wanted = (0..K).map(|at| {
                let group = &column[at / 128 * 128..K.min(at / 128 * 128 + 128)];
                let numbers = || group.iter().map(|x| x.wide()).filter(|x| !x.is_nan());
                let (low, high) = (numbers().fold(0.0, f64::min), numbers().fold(0.0, f64::max));
                if low.is_infinite() || high.is_infinite() {
                    return Want::exact(f64::NAN);
                }
                let x = column[at].wide();
                let exact = if x.is_nan() { low } else { x };
                // Half a scale, what a scale is rounded by, and the least normal number.
                let step = (high - low) / largest * (1.0 + 2f64.powi(-14)) + 2f64.powi(-125);
                let off = if x.is_nan() { step } else { step / 2.0 };
                Want::Near(
                    exact,
                    off + (high - low) * 2f64.powi(-14) + exact.abs() * 2f64.powi(-T::DIGITS) + T::TINY,
                )
            });
            bench.check("quantize", &again.download()?, wanted, |_| format!("{kind:?} by {format:?}"));
        }
    }
    Ok(())
}

fn products<T: Float>(bench: &Bench<'_>) -> Result<(), Error> {
    let (stream, n) = (bench.stream(), 3);
    for (format, offset) in [(Format::INT4, 31.0), (Format::INT8, 527.0)] {
        let most = if format == Format::INT4 { 15 } else { 255 };
        let numbers: Vec<u8> = (0..K * n).map(|at| [0, most, 7, 1][at % 4]).collect();
        let matrix =
            QuantizedMatrix::new(&stream, format, [K, n], &numbers, &[0.5, 2.0, 1.0], &[8, 0, most])?;
        for kind in Kind::ALL {
            let row: Vec<T> = bench.row(kind, K, 3);
            let mut c = bench.device.upload(&[T::rounded(f64::NAN); 3], [1, n])?;
            multiply(
                &stream,
                &mut Workspace::default(),
                &bench.device.upload(&row, [1, K])?,
                &matrix,
                &mut c,
            )?;
            let wanted = (0..n).map(|column| {
                if row.iter().any(|x| !x.wide().is_finite()) {
                    return Want::exact(f64::NAN);
                }
                let (scale, zero) = ([0.5, 2.0, 1.0][column], f64::from([8, 0, most][column]));
                let term = |k: usize| row[k].wide() * scale * (f64::from(numbers[k * n + column]) - zero);
                let sum: f64 = (0..K).map(term).sum();
                let size = row.iter().map(|x| x.wide().abs()).sum::<f64>() * scale.max(1.0) * offset;
                Want::of(sum, size, size * 2f64.powi(-17) + sum.abs() * 2f64.powi(-T::DIGITS) + T::TINY)
            });
            bench.check("few_rows_quantized", &c.download()?, wanted, |_| format!("{kind:?} by {format:?}"));
        }
    }
    Ok(())
}
