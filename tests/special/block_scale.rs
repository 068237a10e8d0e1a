//! NVFP4 and MXFP8. Of NVFP4 a row of any numbers alone, since the scale is that of the whole matrix. What is not finite has no scale; finite numbers are
//! within half a step of e2m1, of the largest of their blocks. Of MXFP8 a
//! block is NaN where a number of it is not finite.

use super::bench::{Bench, Want};
use super::{Covered, Entry};
use layout_cuda::{E4m3, E5m2, Elem, Error};
use layout_kernels::Real;
use layout_kernels::block_scale::{Byte, Mxfp8, Nvfp4, matmul, matmul_mxfp8, quantize, quantize_mxfp8};
use layout_kernels::kernels::block_scale as kernels;
use layout_tests::support::special::{Float, Kind};

const NUMBERS: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
/// Numbers of a row.
const COLUMNS: usize = 133;

pub fn entries() -> Vec<Entry> {
    let all = [Elem::F32, Elem::Bf16, Elem::F16];
    let covered = |definitions: &[&'static layout_cuda::Definition]| -> Vec<Covered> {
        definitions.iter().flat_map(|of| all.map(|elem| Covered::of(of, elem))).collect()
    };
    let bytes = [Elem::E4m3, Elem::E5m2].map(|elem| Covered::of(&kernels::mxfp8_product::DEFINITION, elem));
    vec![
        Entry::new(&covered(&[&kernels::quantize::DEFINITION, &kernels::largest::DEFINITION]), |bench| {
            quantised::<f32>(bench)?;
            quantised::<layout_cuda::bf16>(bench)?;
            quantised::<layout_cuda::f16>(bench)
        }),
        Entry::new(&covered(&[&kernels::nvfp4_product::DEFINITION]), |bench| {
            products::<f32>(bench)?;
            products::<layout_cuda::bf16>(bench)?;
            products::<layout_cuda::f16>(bench)
        }),
        Entry::new(&covered(&[&kernels::quantize_mxfp8::DEFINITION]), |bench| {
            quantised_bytes::<f32>(bench)?;
            quantised_bytes::<layout_cuda::bf16>(bench)?;
            quantised_bytes::<layout_cuda::f16>(bench)
        }),
        Entry::new(&bytes, |bench| {
            products_of_bytes::<E4m3>(bench)?;
            products_of_bytes::<E5m2>(bench)
        }),
    ]
}

fn quantised_bytes<T: Float + Real>(bench: &Bench<'_>) -> Result<(), Error> {
    for kind in Kind::ALL {
        let row: Vec<T> = bench.row(kind, COLUMNS, 3);
        let mut out = Mxfp8::<E4m3>::zeros(&bench.stream(), 1, COLUMNS)?;
        quantize_mxfp8(&bench.stream(), &bench.device.upload(&row, [1, COLUMNS])?, &mut out)?;
        let (bytes, scales) = (out.bytes.download()?, out.scales.download()?);
        let number = |at: usize| match scales[at / 32] {
            255 => f32::NAN,
            // The greatest power has no `f32` for 448 times it.
            bits => (bytes[at].wide() * (f64::from(bits) - 127.0).exp2()) as f32,
        };
        let found: Vec<f32> = (0..COLUMNS).map(number).collect();
        let wide: Vec<f64> = row.iter().map(|x| x.wide()).collect();
        let wanted = (0..COLUMNS).map(|at| {
            let block = &wide[at / 32 * 32..COLUMNS.min(at / 32 * 32 + 32)];
            let most = block.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            // Three bits of fraction; below the least normal byte, 2^-6 of a scale that is at most twice too large, steps of 2^-9.
            let room = wide[at].abs() / 16.0 + most.max(2f64.powi(-118)) / 448.0 * 2f64.powi(-9);
            let finite = block.iter().all(|x| x.is_finite());
            if finite { Want::Near(wide[at], room) } else { Want::exact(f64::NAN) }
        });
        bench.check("quantize_mxfp8", &found, wanted, |_| format!("{kind:?}"));
    }
    Ok(())
}

fn products_of_bytes<T: Float + Byte>(bench: &Bench<'_>) -> Result<(), Error> {
    let of = |row: &[T]| -> Result<Mxfp8<T>, Error> {
        let mut bytes = row.to_vec();
        bytes.resize(COLUMNS.next_multiple_of(128), T::rounded(0.0));
        let (padded, scales) = (bytes.len(), bytes.len() / 32);
        Ok(Mxfp8 {
            bytes: bench.device.upload(&bytes, [1, padded])?,
            scales: bench.device.upload(&vec![128u8; scales], [1, scales])?,
            columns: COLUMNS,
        })
    };
    let plain: Vec<T> = bench.row(Kind::Offset, COLUMNS, 5);
    for kind in Kind::ALL {
        let row: Vec<T> = bench.row(kind, COLUMNS, 3);
        let mut c = bench.device.upload(&[f32::NAN], [1, 1])?;
        matmul_mxfp8(&bench.stream(), &of(&row)?, &of(&plain)?, &mut c)?;
        // Both scales are 2.
        let terms = row.iter().zip(&plain).map(|(a, b)| 4.0 * a.wide() * b.wide());
        bench.check("mxfp8_product", &c.download()?, [Want::sum(terms, 16.0)], |_| format!("{kind:?}"));
    }
    Ok(())
}

fn of_row<T: Float + Real>(bench: &Bench<'_>, row: &[T]) -> Result<Nvfp4, Error> {
    let mut out = Nvfp4::zeros(&bench.stream(), 1, row.len())?;
    quantize(&bench.stream(), &bench.device.upload(row, [1, row.len()])?, &mut out)?;
    Ok(out)
}

/// What the bits of a row say.
fn numbers(x: &Nvfp4) -> Result<Vec<f64>, Error> {
    let (bits, scales, scale) =
        (x.words.download()?, x.scales.download()?, f64::from(x.scale.download()?[0]));
    let number = |at: usize| {
        let code = bits[at / 8] >> (at % 8 * 4) & 15;
        let sign = if code & 8 == 0 { scale } else { -scale };
        NUMBERS[code as usize & 7] * f64::from(scales[at / 16].to_f32()) * sign
    };
    Ok((0..x.columns).map(number).collect())
}

fn quantised<T: Float + Real>(bench: &Bench<'_>) -> Result<(), Error> {
    for kind in Kind::ALL {
        let row: Vec<T> = bench.row(kind, COLUMNS, 3);
        let found: Vec<f32> = numbers(&of_row(bench, &row)?)?.into_iter().map(|x| x as f32).collect();
        let wide: Vec<f64> = row.iter().map(|x| x.wide()).collect();
        let largest = |of: &[f64]| of.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let tensor = (largest(&wide) / 2688.0).max(f64::from(f32::MIN_POSITIVE));
        let finite = wide.iter().all(|x| x.is_finite());
        let wanted = (0..COLUMNS).map(|at| {
            let block = &wide[at / 16 * 16..COLUMNS.min(at / 16 * 16 + 16)];
            // A scale of a block is rounded by 1/16, or to a multiple of 2^-9.
            let room = largest(block) / 6.0 * 1.07 + 6.0 * tensor * 2f64.powi(-9);
            if finite { Want::Near(wide[at], room) } else { Want::exact(f64::NAN) }
        });
        bench.check("quantize", &found, wanted, |_| format!("{kind:?}"));
    }
    Ok(())
}

fn products<T: Float + Real>(bench: &Bench<'_>) -> Result<(), Error> {
    let plain: Vec<T> = bench.row(Kind::Equal, COLUMNS, 5);
    let plain = of_row(bench, &plain)?;
    let right = numbers(&plain)?;
    for kind in Kind::ALL {
        let row: Vec<T> = bench.row(kind, COLUMNS, 3);
        let own = of_row(bench, &row)?;
        let mut c = bench.device.upload(&[T::rounded(f64::NAN)], [1, 1])?;
        matmul(&bench.stream(), &own, &plain, &mut c)?;
        let terms = numbers(&own)?.into_iter().zip(&right).map(|(a, b)| a * b);
        let scales = f64::from(own.scale.download()?[0]) * f64::from(plain.scale.download()?[0]);
        let (sum, size) = (terms.clone().sum::<f64>(), terms.map(f64::abs).sum::<f64>());
        // The product of the scales may be below the least normal number.
        let room =
            1e-6 * size + size / scales * 2f64.powi(-149) + T::TINY + 2f64.powi(-T::DIGITS) * sum.abs();
        let want = if sum.is_nan() { Want::exact(f64::NAN) } else { Want::of(sum, size, room) };
        bench.check("nvfp4_product", &c.download()?, [want], |_| format!("{kind:?}"));
    }
    Ok(())
}
