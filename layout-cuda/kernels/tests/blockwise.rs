//! `matmul_block_scaled` against float64: extents around those of tiles and blocks, a K that is no multiple of 128, operands in every order,
//! rows of C anywhere, scales of any strides; shapes that disagree. On the simulator.

use layout_cuda::{Device, E4m3, Error, bf16, f16};
use layout_kernels::Real;
use layout_kernels::product::{Scaled, Workspace, multiply_block_scaled};

/// Multiples of 1/4 from -2 to 2.
fn values(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + seed * 104_729) / 13 % 17) as f32 / 4.0 - 2.0).collect()
}

/// Powers of two, so that each step is exact.
fn scales(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| f32::exp2(((i * 31 + seed) / 3 % 4) as f32 - 2.0)).collect()
}

/// Rows or columns of A and B one after the other, by `orders`; scales by columns where `turned`.
fn check<U: Real>(
    round: fn(f32) -> U,
    [m, n, k]: [usize; 3],
    orders: [bool; 2],
    (turned, gap): (bool, usize),
) -> Result<(), Error> {
    let device = Device::simulator();
    let (blocks, wide) = (k.div_ceil(128), n.div_ceil(128));
    let (a, b) = (values(m * k, 1), values(k * n, 2));
    let (of_a, of_b) = (scales(m * blocks, 1), scales(blocks * wide, 2));
    // What element number `at` of a matrix in memory is, by rows or by columns.
    let order = |values: &[f32], [rows, columns]: [usize; 2], by_columns: bool| -> Vec<f32> {
        let place = |at: usize| if by_columns { at % rows * columns + at / rows } else { at };
        (0..rows * columns).map(|at| values[place(at)]).collect()
    };
    let strides =
        |[rows, columns]: [usize; 2], by_columns: bool| if by_columns { [1, rows] } else { [columns, 1] };
    let eight = |values: Vec<f32>| values.into_iter().map(E4m3::from_f32).collect::<Vec<_>>();
    let on_a =
        device.upload_strided(&eight(order(&a, [m, k], orders[0])), [m, k], strides([m, k], orders[0]))?;
    let on_b =
        device.upload_strided(&eight(order(&b, [k, n], orders[1])), [k, n], strides([k, n], orders[1]))?;
    let on_scales = |values: &[f32], shape: [usize; 2]| {
        device.upload_strided(&order(values, shape, turned), shape, strides(shape, turned))
    };
    let (a_scales, b_scales) = (on_scales(&of_a, [m, blocks])?, on_scales(&of_b, [blocks, wide])?);
    let mut c = device.upload(&vec![round(-77.0); m * (n + gap)], [m * (n + gap)])?;
    let (scaled_a, scaled_b) =
        (Scaled { matrix: &on_a, scales: &a_scales }, Scaled { matrix: &on_b, scales: &b_scales });
    let mut to = c.part_mut(0, [m, n], [n + gap, 1])?;
    multiply_block_scaled(&device.stream(), &mut Workspace::default(), scaled_a, scaled_b, &mut to)?;
    for (at, found) in c.download()?.into_iter().enumerate() {
        let (i, j) = (at / (n + gap), at % (n + gap));
        let term = |l: usize| {
            let scale = f64::from(of_a[i * blocks + l / 128]) * f64::from(of_b[l / 128 * wide + j / 128]);
            scale * f64::from(a[i * k + l]) * f64::from(b[l * n + j])
        };
        let wanted = if j < n { (0..k).map(term).fold(0.0, |sum, term| sum + term) } else { -77.0 };
        let shape = (m, n, k, orders, turned, gap);
        assert_eq!(found.to_bits(), round(wanted as f32).to_bits(), "{shape:?}: row {i}, column {j}");
    }
    Ok(())
}

#[test]
fn extents_around_those_of_tiles() -> Result<(), Error> {
    for extents in [[1, 8, 16], [127, 136, 128], [128, 128, 256], [129, 264, 272], [257, 120, 1040]] {
        check(bf16::from_f32, extents, [false, true], (false, 0))?;
    }
    check(f16::from_f32, [130, 136, 400], [false, true], (true, 8))
}

#[test]
fn any_extent_and_order() -> Result<(), Error> {
    for orders in [[false, true], [true, true], [false, false], [true, false]] {
        check(bf16::from_f32, [33, 131, 201], orders, (true, 0))?;
        check(f16::from_f32, [5, 1, 1], orders, (false, 3))?;
    }
    for extents in [[0, 8, 16], [8, 0, 16], [8, 8, 0], [0, 0, 0]] {
        check(bf16::from_f32, extents, [false, true], (false, 8))?;
    }
    Ok(())
}

#[test]
fn what_does_not_fit_is_named() -> Result<(), Error> {
    let device = Device::simulator();
    let run = |of_a: [usize; 2], of_b: [usize; 2], c: [usize; 2]| {
        let (a, b) = (device.zeros::<E4m3, 2>([4, 200])?, device.zeros::<E4m3, 2>([200, 130])?);
        let (a_scales, b_scales) = (device.zeros::<f32, 2>(of_a)?, device.zeros::<f32, 2>(of_b)?);
        let mut c = device.zeros::<bf16, 2>(c)?;
        let (a, b) = (Scaled { matrix: &a, scales: &a_scales }, Scaled { matrix: &b, scales: &b_scales });
        layout_kernels::matmul_block_scaled(&device.stream(), a, b, &mut c)
    };
    assert!(run([4, 2], [2, 2], [4, 130]).is_ok());
    for (run, words) in [
        (run([3, 2], [2, 2], [4, 130]), ["`a.scales`", "3", "4"]),
        (run([4, 1], [2, 2], [4, 130]), ["`a.scales`", "1", "2"]),
        (run([4, 2], [3, 2], [4, 130]), ["`b.scales`", "3", "2"]),
        (run([4, 2], [2, 1], [4, 130]), ["`b.scales`", "1", "2"]),
        (run([4, 2], [2, 2], [4, 131]), ["`c`", "131", "130"]),
    ] {
        let message = run.expect_err("what does not fit").to_string();
        assert!(words.iter().all(|word| message.contains(word)), "{words:?}: {message}");
    }
    Ok(())
}
