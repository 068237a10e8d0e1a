//! Moves against plain Rust, bit for bit, on the simulator: edges of blocks, every mode, views with gaps, indices beyond a tensor.
//!
//! Law: every operation is run here over tensors of every rank that it takes, and over none at all.

use layout_cuda::{Device, Element, Error, LaunchError, Tensor, bf16, f16};
use layout_kernels::movement::{concat, flip, gather, pad, permute, roll, scatter_add, select_rows};

/// Bits of any kind, NaNs among those of floats.
fn values<T: Element>(n: usize) -> Vec<T> {
    (0..n).map(|i| T::from_bits((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11)).collect()
}

fn bits<T: Element>(values: &[T]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// The offset of the element of this number in row-major order.
fn offset<const R: usize>(
    mut at: usize,
    shape: [usize; R],
    strides: [usize; R],
    map: impl Fn(usize, usize) -> usize,
) -> usize {
    let mut sum = 0;
    for mode in (0..R).rev() {
        sum += map(mode, at % shape[mode]) * strides[mode];
        at /= shape[mode];
    }
    sum
}

fn rows<T: Element>([n, m, d]: [usize; 3]) -> Result<(), Error> {
    let device = Device::simulator();
    let x = values::<T>(n * d);
    // The last two are beyond the table.
    let index: Vec<u32> = (0..m)
        .map(|i| if i + 2 < m { (i * 7 % n.max(1)) as u32 } else { [n as u32, u32::MAX][i % 2] })
        .collect();
    let mut out = device.upload(&values::<T>(m * d), [m, d])?;
    select_rows(&device.stream(), &device.upload(&x, [n, d])?, &device.upload(&index, [m])?, &mut out)?;
    let element = |at: usize| {
        let from = index[at / d] as usize;
        if from < n { x[from * d + at % d] } else { T::from_bits(0) }
    };
    let wanted: Vec<T> = (0..m * d).map(element).collect();
    assert_eq!(bits(&out.download()?), bits(&wanted), "{n} x {m} x {d}");
    Ok(())
}

#[test]
fn rows_by_index() -> Result<(), Error> {
    for shape in
        [[5, 9, 8], [5, 9, 7], [1, 3, 1], [3, 0, 8], [3, 4, 0], [0, 3, 4], [40, 33, 64], [9, 130, 24]]
    {
        rows::<f32>(shape)?;
        rows::<bf16>(shape)?;
        rows::<u8>(shape)?;
        rows::<i64>(shape)?;
    }
    Ok(())
}

#[test]
fn elements_by_index() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    for [a, n, b, i] in [
        [2, 5, 3, 4],
        [1, 300, 1, 257],
        [3, 1, 7, 9],
        [2, 4, 3, 0],
        [0, 4, 3, 2],
        [2, 0, 3, 2],
        [5, 6, 33, 8],
    ] {
        for axis in 0..3 {
            let around = |extent: usize| -> [usize; 3] {
                let mut shape = [a, b, b];
                shape.copy_within(axis.min(1)..2, axis.min(1) + 1);
                shape[axis] = extent;
                shape
            };
            let (of_x, of_index) = (around(n), around(i));
            let count = |shape: [usize; 3]| shape.iter().product::<usize>();
            let x = values::<bf16>(count(of_x));
            let index: Vec<u32> = (0..count(of_index)).map(|at| (at * 11 % (n + 1)) as u32).collect();
            let on_index = device.upload(&index, of_index)?;
            let mut out = device.upload(&values::<bf16>(index.len()), of_index)?;
            gather(&stream, axis, &device.upload(&x, of_x)?, &on_index, &mut out)?;
            let strides = [of_x[1] * of_x[2], of_x[2], 1];
            let from = |at: usize| {
                let to = index[at] as usize;
                (to < n)
                    .then(|| offset(at, of_index, strides, |mode, own| if mode == axis { to } else { own }))
            };
            let wanted: Vec<bf16> =
                (0..index.len()).map(|at| from(at).map_or(bf16::ZERO, |from| x[from])).collect();
            assert_eq!(bits(&out.download()?), bits(&wanted), "{axis} of {of_x:?} by {of_index:?}");
            // And back: integers, whose sums no order changes.
            let added: Vec<f16> = (0..index.len()).map(|at| f16::from_f32((at % 9) as f32)).collect();
            let mut sums = device.upload(&vec![2.0f32; x.len()], of_x)?;
            scatter_add(&stream, axis, &device.upload(&added, of_index)?, &on_index, &mut sums)?;
            let mut wanted = vec![2.0f32; x.len()];
            for (at, added) in added.iter().enumerate() {
                from(at).into_iter().for_each(|to| wanted[to] += added.to_f32());
            }
            assert_eq!(sums.download()?, wanted, "{axis} of {of_x:?} by {of_index:?}");
        }
    }
    Ok(())
}

/// A tensor with gaps between its rows.
fn with_gaps<T: Element, const R: usize>(
    device: &Device,
    x: &[T],
    shape: [usize; R],
) -> Result<Tensor<T, R>, Error> {
    let mut strides = [1; R];
    for mode in (1..R).rev() {
        strides[mode - 1] = strides[mode] * shape[mode] + usize::from(mode + 1 == R);
    }
    let length = (0..R).map(|mode| (shape[mode].max(1) - 1) * strides[mode]).sum::<usize>() + 1;
    let mut memory = values::<T>(length);
    for (at, x) in x.iter().enumerate() {
        memory[offset(at, shape, strides, |_, own| own)] = *x;
    }
    device.upload_strided(&memory, shape, strides)
}

fn moves<T: Element, const R: usize>(shape: [usize; R]) -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let count = |shape: [usize; R]| shape.iter().product::<usize>();
    let x = values::<T>(count(shape));
    let on_x = if count(shape) > 0 { with_gaps(&device, &x, shape)? } else { device.zeros(shape)? };
    let mut strides = [1; R];
    for mode in (1..R).rev() {
        strides[mode - 1] = strides[mode] * shape[mode];
    }
    for turn in 0..R {
        let order: [usize; R] = std::array::from_fn(|mode| if mode < 2 { 1 - mode } else { mode });
        let order: [usize; R] = std::array::from_fn(|mode| if R == 1 { 0 } else { (order[mode] + turn) % R });
        let turned = order.map(|mode| shape[mode]);
        let mut out = device.zeros::<T, R>(turned)?;
        permute(&stream, order, &on_x, &mut out)?;
        let by = order.map(|mode| strides[mode]);
        let wanted: Vec<T> = (0..x.len()).map(|at| x[offset(at, turned, by, |_, own| own)]).collect();
        assert_eq!(bits(&out.download()?), bits(&wanted), "{shape:?} in {order:?}");
    }
    for shift in [0, 1, -3, 1000] {
        let shifts: [isize; R] = std::array::from_fn(|mode| shift * (mode as isize + 1));
        let mut out = device.zeros::<T, R>(shape)?;
        roll(&stream, shifts, &on_x, &mut out)?;
        let from =
            |mode: usize, own: usize| (own as isize - shifts[mode]).rem_euclid(shape[mode] as isize) as usize;
        let wanted: Vec<T> = (0..x.len()).map(|at| x[offset(at, shape, strides, from)]).collect();
        assert_eq!(bits(&out.download()?), bits(&wanted), "{shape:?} by {shifts:?}");
    }
    for which in 0..1 << R {
        let modes: [bool; R] = std::array::from_fn(|mode| which >> mode & 1 == 1);
        let mut out = device.zeros::<T, R>(shape)?;
        flip(&stream, modes, &on_x, &mut out)?;
        let from = |mode: usize, own: usize| if modes[mode] { shape[mode] - 1 - own } else { own };
        let wanted: Vec<T> = (0..x.len()).map(|at| x[offset(at, shape, strides, from)]).collect();
        assert_eq!(bits(&out.download()?), bits(&wanted), "{shape:?} in {modes:?}");
    }
    let before: [usize; R] = std::array::from_fn(|mode| mode % 2 + 1);
    let large: [usize; R] = std::array::from_fn(|mode| shape[mode] + before[mode] + (mode + 1) % 2);
    let (value, mut out) = (T::from_bits(5), device.zeros::<T, R>(large)?);
    pad(&stream, before, value, &on_x, &mut out)?;
    let element = |at: usize| {
        let mut rest = at;
        let is_inside = (0..R).rev().all(|mode| {
            let own = rest % large[mode];
            rest /= large[mode];
            own >= before[mode] && own < before[mode] + shape[mode]
        });
        let from = |mode: usize, own: usize| own.wrapping_sub(before[mode]);
        if is_inside { x[offset(at, large, strides, from)] } else { value }
    };
    let wanted: Vec<T> = (0..count(large)).map(element).collect();
    assert_eq!(bits(&out.download()?), bits(&wanted), "{shape:?} from {before:?}");
    for axis in 0..R {
        let mut whole = shape;
        whole[axis] = 3 * shape[axis];
        let mut out = device.zeros::<T, R>(whole)?;
        concat(&stream, axis, &[on_x.view(), on_x.view(), on_x.view()], &mut out)?;
        let from = |mode: usize, own: usize| if mode == axis { own % shape[mode] } else { own };
        let wanted: Vec<T> = (0..count(whole)).map(|at| x[offset(at, whole, strides, from)]).collect();
        assert_eq!(bits(&out.download()?), bits(&wanted), "{shape:?} in {axis}");
    }
    Ok(())
}

#[test]
fn every_element_from_its_place() -> Result<(), Error> {
    moves::<f32, 1>([1])?;
    moves::<f32, 1>([1025])?;
    moves::<u8, 1>([0])?;
    moves::<bf16, 2>([3, 5])?;
    moves::<i64, 2>([33, 31])?;
    moves::<f32, 2>([4, 0])?;
    moves::<f16, 3>([2, 7, 5])?;
    moves::<u16, 4>([2, 3, 5, 4])?;
    moves::<f32, 4>([3, 1, 2, 11])
}

#[test]
fn types_change_as_rusts() -> Result<(), Error> {
    let device = Device::simulator();
    let x = [1.75f32, -2.5, 300.0, f32::NAN, 1e30, -0.0];
    let on_x = device.upload(&x, [2, 3])?;
    let (mut halves, mut bytes) = (device.zeros::<bf16, 2>([3, 2])?, device.zeros::<u8, 2>([3, 2])?);
    permute(&device.stream(), [1, 0], &on_x, &mut halves)?;
    permute(&device.stream(), [1, 0], &on_x, &mut bytes)?;
    let turned = [x[0], x[3], x[1], x[4], x[2], x[5]];
    assert_eq!(bytes.download()?, turned.map(|x| x as u8));
    let found = halves.download()?;
    assert!(
        found.iter().zip(turned).all(|(a, b)| *a == bf16::from_f32(b) || a.is_nan() && b.is_nan()),
        "{found:?}"
    );
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let is_refused =
        |outcome: Result<(), Error>| matches!(outcome, Err(Error::Launch(LaunchError::Arguments { .. })));
    let x = device.zeros::<f32, 2>([2, 3])?;
    let out = |shape: [usize; 2]| device.zeros::<f32, 2>(shape);
    assert!(is_refused(permute(&stream, [0, 0], &x, &mut out([2, 2])?)));
    assert!(is_refused(permute(&stream, [1, 0], &x, &mut out([2, 3])?)));
    assert!(is_refused(pad(&stream, [1, 0], 0.0, &x, &mut out([2, 3])?)));
    assert!(is_refused(roll(&stream, [1, 0], &x, &mut out([3, 3])?)));
    assert!(is_refused(flip(&stream, [true; 2], &x, &mut out([3, 2])?)));
    assert!(is_refused(concat(&stream, 2, &[x.view()], &mut out([2, 3])?)));
    assert!(is_refused(concat(&stream, 0, &[x.view()], &mut out([4, 3])?)));
    assert!(is_refused(concat(&stream, 1, &[x.view()], &mut out([4, 3])?)));
    let index = device.zeros::<u32, 1>([4])?;
    assert!(is_refused(select_rows(&stream, &x, &index, &mut out([3, 3])?)));
    let index = device.zeros::<u32, 2>([2, 2])?;
    assert!(is_refused(gather(&stream, 0, &x, &index, &mut out([2, 2])?)));
    assert!(is_refused(scatter_add(&stream, 1, &x, &index, &mut out([2, 3])?)));
    Ok(())
}
