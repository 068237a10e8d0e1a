//! Rows as numbers of eight bits with scales, and back: within half a step of the row's largest, or no number where a row has none.

use super::bench::Bench;
use super::{Covered, Entry};
use layout_cuda::{E4m3, E5m2, Elem, Error, bf16, f16};
use layout_kernels::Real;
use layout_kernels::absmax::{Group, Narrow, dequantize, quantize};
use layout_kernels::kernels::absmax as kernels;
use layout_tests::support::special::{Float, Rows};

pub fn entries() -> Vec<Entry> {
    let covers = kernels::definitions()
        .into_iter()
        .flat_map(|of| [Elem::F32, Elem::Bf16, Elem::F16].map(|elem| Covered::of(of, elem)));
    vec![Entry::new(&covers.collect::<Vec<_>>(), |bench| {
        for group in [Group::Row, Group::Columns] {
            rows::<f32, E4m3>(bench, group, [448.0, 2f64.powi(-4), 2f64.powi(-10)])?;
            rows::<bf16, E5m2>(bench, group, [57344.0, 2f64.powi(-3), 2f64.powi(-17)])?;
            rows::<bf16, i8>(bench, group, [127.0, 0.0, 0.5])?;
            rows::<f16, E4m3>(bench, group, [448.0, 2f64.powi(-4), 2f64.powi(-10)])?;
        }
        Ok(())
    })]
}

/// The greatest number of the type, its relative rounding, and half of its least number.
fn rows<T: Float + Real, U: Narrow>(
    bench: &Bench<'_>,
    group: Group,
    [greatest, relative, least]: [f64; 3],
) -> Result<(), Error> {
    let n = 100;
    let (x, stream) = (bench.rows::<T>(n), bench.stream());
    let on_x = bench.tensor(&x.values, [x.m, n])?;
    let (mut out, mut scales) =
        (bench.device.zeros::<U, 2>([x.m, n])?, bench.device.zeros::<f32, 2>([x.m, 1])?);
    let mut back = bench.output::<T, 2>([x.m, n])?;
    quantize(&stream, group, &on_x.view()?, &mut out, &mut scales)?;
    dequantize(&stream, group, &out, &scales, &mut back.view_mut()?)?;
    let (found, scales) = (back.read()?, scales.download()?);
    for (at, found) in found.iter().enumerate() {
        let (row, found, scale) = (x.row(at / n), found.wide(), f64::from(scales[at / n]));
        let largest = row
            .iter()
            .fold(0.0f64, |most, x| if x.is_nan() || most.is_nan() { f64::NAN } else { most.max(x.abs()) });
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b + 2e-45 || a == b || a.is_nan() && b.is_nan();
        // Scales of subnormal numbers have few bits.
        let room = |x: f64| {
            (relative * x.abs() + least * scale) * 1.01
                + 2f64.powi(-T::DIGITS) * x.abs()
                + T::TINY
                + greatest * 2e-45
        };
        let is_so = match row[at % n] {
            _ if !largest.is_finite() => !found.is_finite() || largest.is_infinite() && found == 0.0,
            x => (found - x).abs() <= room(x) || found.is_infinite() && x.abs() + room(x) > T::GREATEST,
        };
        bench.check_that(near(scale, largest / greatest) && is_so, || {
            format!(
                "{group:?} of {:?} as {:?}, {}: {found}, not {}, scale {scale}",
                T::ELEM,
                U::ELEM,
                Rows::<T>::name(at / n),
                row[at % n]
            )
        });
    }
    Ok(())
}
