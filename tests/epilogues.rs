//! Products with epilogues against float64: every function, odd sizes, operands by rows and by columns, strides; what does not fit is
//! refused; the texts neither spill nor serialise.

use layout_cuda::{Arch, Device, E4m3, Element, Error, ParamSet, ParamValue, Tensor, bf16, f16};
use layout_kernels::kernels::gemm::gemm_then;
use layout_kernels::kernels::gemm_tcgen05::gemm_tcgen05_then;
use layout_kernels::product::{Epilogue, Workspace, multiply_then};
use layout_tests::support::cubin::{becomes_fast_code, becomes_fast_code_of};
use layout_tests::support::data::doubles;
use layout_tests::support::gpu::hopper;
use layout_tests::support::parallel::in_parallel;

/// What an epilogue makes of a sum, at a place.
type Wanted<'a> = &'a dyn Fn(f64, usize) -> f64;

/// Those with Hopper's kernel, and the simulator in place of cards that have others.
fn devices(others: &[Arch]) -> Vec<Device> {
    let others = others.iter().map(|arch| Device::simulator_of(*arch));
    [Some(Device::simulator()), hopper()].into_iter().flatten().chain(others).collect()
}

/// Numbers within -1 and 1, rounded.
fn values<T>(count: usize, seed: u64, round: fn(f64) -> T) -> Vec<T> {
    doubles(count, seed).into_iter().map(|value| round(value % 1.0)).collect()
}

/// A matrix by rows or by columns: its values by rows, and the tensor.
fn matrix<T: Element>(
    device: &Device,
    [rows, columns]: [usize; 2],
    by_rows: bool,
    seed: u64,
    round: fn(f64) -> T,
) -> Result<(Vec<T>, Tensor<T, 2>), Error> {
    let by_row = values(rows * columns, seed, round);
    let ordered = match by_rows {
        true => by_row.clone(),
        false => (0..rows * columns).map(|at| by_row[at % rows * columns + at / rows]).collect(),
    };
    let strides = if by_rows { [columns, 1] } else { [1, rows] };
    let tensor = device.upload_strided(&ordered, [rows, columns], strides)?;
    Ok((by_row, tensor))
}

/// Sums of products in float64 and of their sizes.
fn sums<T: Element + Into<f64>>(a: &[T], b: &[T], [m, n, k]: [usize; 3]) -> Vec<(f64, f64)> {
    let of = |at: usize| {
        let pair = |l: usize| a[at / n * k + l].into() * b[l * n + at % n].into();
        ((0..k).map(pair).sum(), (0..k).map(|l| pair(l).abs()).sum())
    };
    (0..m * n).map(of).collect()
}

fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044_715 * x * x * x)).tanh())
}

const SIZES: [[usize; 3]; 4] = [[1, 1, 1], [130, 259, 70], [64, 8, 200], [200, 264, 0]];

fn sixteen_bits<T: Element + Into<f64>>(round: fn(f64) -> T, others: &[Arch]) -> Result<(), Error> {
    for (device, [m, n, k]) in devices(others).iter().flat_map(|device| SIZES.map(|size| (device, size))) {
        let (stream, mut c) = (device.stream(), device.zeros::<T, 2>([m, n])?);
        for by_rows in [true, false] {
            let (a_values, a) = matrix(device, [m, k], by_rows, 1, round)?;
            let (b_values, b) = matrix(device, [k, n], by_rows, 2, round)?;
            let (d_values, d) = matrix(device, [m, n], true, 3, round)?;
            let bias_values = values(n, 4, round);
            let bias = device.upload(&bias_values, [n])?;
            let all = sums(&a_values, &b_values, [m, n, k]);
            let cases: [(Epilogue<'_, T>, Wanted<'_>); 4] = [
                (Epilogue::BiasGelu(&bias), &|x, at| gelu(x + bias_values[at % n].into())),
                (Epilogue::Plus(&d, 0.5), &|x, at| x + 0.5 * d_values[at].into()),
                (Epilogue::SiluTimes(&d), &|x, at| silu(x) * d_values[at].into()),
                (Epilogue::Scaled(3.0), &|x, _| 3.0 * x),
            ];
            for (epilogue, wanted) in cases {
                c.poison()?;
                multiply_then(&stream, epilogue, &mut Workspace::default(), &a, &b, &mut c)?;
                for (at, (found, (sum, size))) in c.download()?.into_iter().zip(&all).enumerate() {
                    let (found, exact): (f64, f64) = (found.into(), wanted(*sum, at));
                    // Rounded to 8 bits; the tangent has 11, and sums are of float32.
                    let room = exact.abs() / 256.0 + size * 2e-6 + sum.abs() / 1024.0 + 2e-3;
                    let name = epilogue.name();
                    assert!((found - exact).abs() <= room, "{name} {m} {n} {k} {at}: {found}, not {exact}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn epilogues_of_bf16() -> Result<(), Error> {
    sixteen_bits(bf16::from_f64, &[Arch::SM_80, Arch::SM_100F])
}

#[test]
fn epilogues_of_f16() -> Result<(), Error> {
    sixteen_bits(f16::from_f64, &[Arch::SM_80, Arch::SM_75, Arch::SM_100F])
}

#[test]
fn scaled_to_a_narrower_type() -> Result<(), Error> {
    for (device, [m, n, k]) in
        devices(&[Arch::SM_89, Arch::SM_100F]).iter().flat_map(|device| SIZES.map(|size| (device, size)))
    {
        let (a_values, a) = matrix(device, [m, k], true, 1, bf16::from_f64)?;
        let (b_values, b) = matrix(device, [k, n], true, 2, bf16::from_f64)?;
        let mut c = device.zeros::<E4m3, 2>([m, n])?;
        let scale = Epilogue::<f32>::Scaled(8.0);
        multiply_then(&device.stream(), scale, &mut Workspace::default(), &a, &b, &mut c)?;
        for (found, (sum, size)) in c.download()?.into_iter().zip(sums(&a_values, &b_values, [m, n, k])) {
            let (found, exact) = (f64::from(found.to_f32()), (8.0 * sum).clamp(-448.0, 448.0));
            assert!((found - exact).abs() <= exact.abs() / 16.0 + size * 2e-5 + 2e-3, "{found}, not {exact}");
        }
    }
    Ok(())
}

/// Sums of `i8` are exact; what is left is one rounding to C's type, of so many bits, and those of the scales.
fn whole_numbers<U: Element + Into<f64>>(devices: &[Device], bits: i32) -> Result<(), Error> {
    for (device, [m, n, k]) in devices.iter().flat_map(|device| SIZES.map(|size| (device, size))) {
        for by_rows in [true, false] {
            let whole = |value: f64| (value * 127.0) as i8;
            let (a_values, a) = matrix(device, [m, k], !by_rows, 1, whole)?;
            let (b_values, b) = matrix(device, [k, n], by_rows, 2, whole)?;
            // Small enough for f16.
            let of_rows = values(m, 5, |x| x as f32 / 256.0);
            let of_columns = values(n, 6, |x| x as f32 / 4.0);
            let (rows, columns) = (device.upload(&of_rows, [m])?, device.upload(&of_columns, [n])?);
            let mut c = device.zeros::<U, 2>([m, n])?;
            let scales = Epilogue::ScaledBoth(&rows, &columns);
            multiply_then(&device.stream(), scales, &mut Workspace::default(), &a, &b, &mut c)?;
            let all = sums(&a_values, &b_values, [m, n, k]);
            for (at, (found, (sum, _))) in c.download()?.into_iter().zip(all).enumerate() {
                let exact = sum * f64::from(of_rows[at / n]) * f64::from(of_columns[at % n]);
                let found: f64 = found.into();
                let room = exact.abs() * 2f64.powi(-bits) * 1.004 + 2f64.powi(-25);
                assert!((found - exact).abs() <= room, "{at}: {found}, not {exact}");
            }
        }
    }
    Ok(())
}

#[test]
fn whole_numbers_with_scales() -> Result<(), Error> {
    whole_numbers::<bf16>(&devices(&[Arch::SM_80, Arch::SM_100F]), 8)?;
    whole_numbers::<f16>(&[Device::simulator_of(Arch::SM_75)], 11)
}

#[test]
fn what_does_not_fit_is_refused() -> Result<(), Error> {
    let device = Device::simulator();
    let zeros = |shape| device.zeros::<bf16, 2>(shape);
    let (a, b, mut c) = (zeros([3, 4])?, zeros([4, 5])?, zeros([3, 5])?);
    let (short, other) = (device.zeros::<bf16, 1>([4])?, zeros([5, 3])?);
    for (epilogue, word) in [
        (Epilogue::BiasGelu(&short), "columns"),
        (Epilogue::Plus(&other, 1.0), "beside"),
        (Epilogue::SiluTimes(&other), "beside"),
    ] {
        let mut workspace = Workspace::default();
        let error = multiply_then(&device.stream(), epilogue, &mut workspace, &a, &b, &mut c);
        let error = error.expect_err("it does not fit").to_string();
        assert!(error.contains(word), "{error}");
    }
    Ok(())
}

#[test]
fn the_texts_become_cubins() {
    let kernel = gemm_then::DEFINITION.kernel().expect("bytes of this version");
    let own = |parameters: &[(&str, ParamValue)]| {
        ParamSet(parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect())
    };
    let listed = gemm_then::variants().iter().map(|variant| own(variant.parameters));
    let direct =
        |set: &ParamSet| set.clone().with("DIRECT", ParamValue::Bool(true)).with("SLABS", ParamValue::Int(1));
    let sets: Vec<ParamSet> = listed.flat_map(|set| [direct(&set), set]).collect();
    in_parallel(&sets, |set| becomes_fast_code(&kernel, set));
    let kernel = gemm_tcgen05_then::DEFINITION.kernel().expect("bytes of this version");
    let listed = gemm_tcgen05_then::variants().iter().map(|variant| own(variant.parameters));
    let sets: Vec<ParamSet> =
        listed.flat_map(|set| [set.clone().with("DIRECT", ParamValue::Bool(true)), set]).collect();
    in_parallel(&sets, |set| becomes_fast_code_of(&kernel, set, "sm_100f", 0));
}
