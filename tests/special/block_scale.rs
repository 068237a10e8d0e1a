//! NVFP4: a row of any numbers alone, since the scale is that of the whole matrix. What is not finite has no scale; finite numbers are
//! within half a step of e2m1, of the largest of their blocks.

use super::bench::{Bench, Want};
use super::{Covered, Entry};
use layout_cuda::{Elem, Error};
use layout_kernels::Real;
use layout_kernels::block_scale::{Nvfp4, matmul, quantize};
use layout_kernels::kernels::block_scale::{largest, nvfp4_product, quantize as quantize_rows};
use layout_tests::support::special::{Float, Kind};

const NUMBERS: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
/// Numbers of a row.
const COLUMNS: usize = 133;

pub fn entries() -> Vec<Entry> {
    let all = [Elem::F32, Elem::Bf16, Elem::F16];
    let covered = |definitions: &[&'static layout_cuda::Definition]| -> Vec<Covered> {
        definitions.iter().flat_map(|of| all.map(|elem| Covered::of(of, elem))).collect()
    };
    vec![
        Entry::new(&covered(&[&quantize_rows::DEFINITION, &largest::DEFINITION]), |bench| {
            quantised::<f32>(bench)?;
            quantised::<layout_cuda::bf16>(bench)?;
            quantised::<layout_cuda::f16>(bench)
        }),
        Entry::new(&covered(&[&nvfp4_product::DEFINITION]), |bench| {
            products::<f32>(bench)?;
            products::<layout_cuda::bf16>(bench)?;
            products::<layout_cuda::f16>(bench)
        }),
    ]
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
