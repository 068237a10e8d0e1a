//! Views that are no tensors, on the simulator: with gaps, of elements that overlap, that begin between multiples of 16 bytes, of one row.
//!
//! Law: a view is computed as a copy of it without gaps would be, or the operation refuses it before anything is written.

use layout_cuda::{Device, Element, Error, LaunchError, Tensor, TensorView, bf16};
use layout_kernels::attention::{Attention, Packed};
use layout_kernels::convolution::Convolution;
use layout_kernels::product::{Epilogue, Workspace, multiply_then};
use layout_kernels::{absmax, backward, decode, grouped_matmul, matmul, movement, pooling, selection};

fn half(value: f32) -> bf16 {
    bf16::from_f32(value)
}

fn halves(count: usize) -> Vec<bf16> {
    (0..count).map(|i| half((i % 7) as f32 / 4.0 - 0.75)).collect()
}

fn is_refused(outcome: &Result<(), Error>) -> bool {
    matches!(outcome, Err(Error::Launch(LaunchError::Arguments { .. })))
}

/// Launches of parts see no overlap of the whole.
#[test]
fn elements_that_overlap_are_not_written() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let (m, n, k) = (2048, 257, 16);
    let (a, b) = (device.upload(&vec![1.0f32; m * k], [m, k])?, device.upload(&vec![1.0; k * n], [k, n])?);
    let mut c = device.upload(&vec![9.0; (m - 1) * 256 + n], [(m - 1) * 256 + n])?;
    assert!(is_refused(&matmul(&stream, &a, &b, &mut c.part_mut(0, [m, n], [256, 1])?)));
    assert!(c.download()?.iter().all(|c| *c == 9.0));

    let (x, mut out) = (device.upload(&[1.0f32, 2.0, 3.0], [3, 1])?, device.upload(&[9.0f32; 6], [6])?);
    let parts = [x.view(), x.view()];
    assert!(is_refused(&movement::concat(&stream, 1, &parts, &mut out.part_mut(0, [3, 2], [1, 1])?)));
    assert_eq!(out.download()?, [9.0; 6]);

    let x = device.upload(&halves(256), [1, 4, 4, 16])?;
    let (filters, mut out) = (device.upload(&halves(32), [4, 1, 1, 8])?, device.zeros([300])?);
    let groups = Convolution { groups: 2, ..Convolution::default() };
    let mut pixels = out.part_mut(0, [1, 4, 4, 4], [32, 8, 2, 1])?;
    assert!(is_refused(&groups.run(&stream, &x, &filters, &mut pixels)));

    let what = Attention::default();
    let [q, d_o] = [1, 2].map(|_| device.upload(&halves(256), [1, 1, 4, 64]));
    let (q, d_o, mut o, mut logs) = (q?, d_o?, device.zeros([1, 1, 4, 64])?, device.zeros([1, 1, 4])?);
    what.run(&stream, &q, &q, &q, &mut o, &mut logs)?;
    let forward = backward::Forward { q: &q.view(), k: &q.view(), v: &q.view(), o: &o.view(), logs: &logs };
    for strides in [[256, 256, 0, 1], [512, 512, 128, 2]] {
        let [mut d_k, mut d_v] = [device.upload(&halves(256), [1, 1, 4, 64])?, device.zeros([1, 1, 4, 64])?];
        let mut d_q = device.zeros([600])?;
        let mut d_q = d_q.part_mut(0, [1, 1, 4, 64], strides)?;
        let to = backward::Changes { q: &mut d_q, k: &mut d_k.view_mut(), v: &mut d_v.view_mut() };
        assert!(is_refused(&what.backward(&stream, &forward, &d_o, &mut backward::Workspace::default(), to)));
        assert_eq!(d_k.download()?, halves(256));
    }
    Ok(())
}

/// A vector's extent is its shape's, not its memory's.
#[test]
fn vectors_with_gaps_and_of_other_extents() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let (x, filters) =
        (device.upload(&[half(0.0); 8], [1, 1, 1, 8])?, device.upload(&[half(0.0); 32], [4, 1, 1, 8])?);
    let run = |bias: &Tensor<bf16, 1>| -> Result<Vec<f32>, Error> {
        let mut out = device.zeros::<bf16, 4>([1, 1, 1, 4])?;
        let what = Convolution { bias: Some(bias), ..Convolution::default() };
        what.run(&stream, &x, &filters, &mut out)?;
        Ok(out.download()?.into_iter().map(f32::from).collect())
    };
    let values = [1.0, 9.0, 2.0, 9.0, 3.0, 9.0, 4.0].map(half);
    assert_eq!(run(&stream.upload_strided(&values, [4], [2])?)?, [1.0, 2.0, 3.0, 4.0]);
    assert!(run(&stream.upload_strided(&values[..4], [2], [2])?).is_err());
    assert!(run(&stream.upload_strided(&values[..4], [3], [1])?).is_err());

    let a = device.upload(&halves(64), [8, 8])?;
    let mut c = device.zeros::<bf16, 2>([8, 8])?;
    for (len, fits) in [(5, false), (8, true)] {
        let bias = stream.upload_strided(&vec![half(4.0); len + 3], [len], [1])?;
        let outcome =
            multiply_then(&stream, Epilogue::BiasGelu(&bias), &mut Workspace::default(), &a, &a, &mut c);
        assert_eq!(is_refused(&outcome), !fits, "{len}: {outcome:?}");
    }

    let x = device.upload(&[1.0f32, 20.0, 3.0, 40.0, 5.0, 6.0, 70.0, 8.0], [1, 2, 2, 2])?;
    let pool = pooling::Pool { window: [1, 1], stride: [1, 1], padding: [0, 0] };
    let (mut out, mut indices) =
        (device.zeros([1, 2, 2, 2])?, stream.zeros_strided::<u32, 4>([1, 2, 2, 2], [8, 2, 1, 4])?);
    assert!(is_refused(&pool.maximum(&stream, &x, &mut out, Some(&mut indices))));

    let mut scales = device.upload(&[5.0f32; 6], [6])?;
    let (x, mut out) = (device.zeros::<f32, 2>([3, 0])?, device.zeros::<i8, 2>([3, 0])?);
    let mut every_second = scales.part_mut(0, [3, 1], [2, 1])?;
    assert!(is_refused(&absmax::quantize(&stream, absmax::Group::Row, &x, &mut out, &mut every_second)));
    assert_eq!(scales.download()?, [5.0; 6]);

    // More elements than there is memory.
    let (x, mask) = (device.upload(&[7.0f32], [1])?, device.upload(&vec![1u8; 5000], [5000])?);
    let (mut out, mut count) = (device.zeros::<f32, 1>([5000])?, device.zeros([1])?);
    let same = x.view().part(0, [5000], [0])?;
    selection::select(&stream, &same, &mask, &mut out, &mut count, &mut selection::Workspace::default())?;
    assert_eq!((count.download()?, out.download()?), (vec![5000], vec![7.0; 5000]));
    Ok(())
}

/// The same elements where TMA can address them, and two bytes further.
fn twice(count: usize, device: &Device) -> Result<[(Tensor<bf16, 1>, usize); 2], Error> {
    let shifted: Vec<bf16> = [half(9.0)].into_iter().chain(halves(count)).collect();
    Ok([(device.upload(&halves(count), [count])?, 0), (device.upload(&shifted, [count + 1])?, 1)])
}

fn of<const R: usize>(
    (memory, start): &(Tensor<bf16, 1>, usize),
    shape: [usize; R],
) -> Result<TensorView<'_, bf16, R>, Error> {
    let mut strides = [1; R];
    (1..R).rev().for_each(|mode| strides[mode - 1] = strides[mode] * shape[mode]);
    memory.part(*start, shape, strides)
}

#[test]
fn views_begin_anywhere() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    // By two kernels, whose sums have two orders: within a rounding of the largest element.
    let near = |found: &[Vec<bf16>]| {
        let most = found[0].iter().map(|x| x.to_f32().abs()).fold(0.0, f32::max);
        let differ = |(a, b): &(&bf16, &bf16)| (a.to_f32() - b.to_f32()).abs() > most / 128.0;
        assert_eq!((found.len(), found[0].len()), (2, found[1].len()));
        let far = found[0].iter().zip(&found[1]).find(differ);
        assert!(far.is_none() && most > 0.0, "{far:?} of {most}");
    };
    let ends = device.upload(&[30, 64], [2])?;
    let mut found = vec![];
    for a in &twice(2 * 64 * 64, &device)? {
        let mut c = device.zeros([64, 64])?;
        grouped_matmul(&stream, &of(a, [64, 64])?, &of(a, [2, 64, 64])?, &ends, &mut c)?;
        found.push(c.download()?);
    }
    near(&found);
    found.clear();
    for a in &twice(64 * 64, &device)? {
        let (a, mut c) = (of(a, [64, 64])?, device.zeros([4097])?);
        let mut c_of = c.part_mut(found.len(), [64, 64], [64, 1])?;
        let scaled = Epilogue::<bf16>::Scaled(0.5);
        multiply_then(&stream, scaled, &mut Workspace::default(), &a, &a, &mut c_of)?;
        found.push(c.download()?[found.len()..][..4096].to_vec());
    }
    near(&found);
    let (mut forward, mut backward_of, mut decoded) = (vec![], vec![], vec![]);
    for q in &twice(2 * 5 * 64, &device)? {
        let q = of(q, [1, 2, 5, 64])?;
        let (mut o, mut logs) = (device.zeros([1, 2, 5, 64])?, device.zeros([1, 2, 5])?);
        let what = Attention::default();
        what.run(&stream, &q, &q, &q, &mut o, &mut logs)?;
        forward.push(o.download()?);
        let [mut d_q, mut d_k, mut d_v] =
            [(); 3].map(|()| device.zeros::<bf16, 4>([1, 2, 5, 64]).expect("room"));
        let of = backward::Forward { q: &q, k: &q, v: &q, o: &o.view(), logs: &logs };
        let to = backward::Changes { q: &mut d_q.view_mut(), k: &mut d_k.view_mut(), v: &mut d_v.view_mut() };
        what.backward(&stream, &of, &q, &mut backward::Workspace::default(), to)?;
        backward_of.push([d_q.download()?, d_k.download()?, d_v.download()?].concat());
        let lengths = device.upload(&[4], [1])?;
        let mut memory = decode::Workspace::default();
        decode::Decoding::default().run(&stream, &q, &q, &q, &lengths, &mut memory, (&mut o, &mut logs))?;
        decoded.push(o.download()?);
    }
    [forward, backward_of, decoded].iter().for_each(|found| near(found));
    Ok(())
}

/// One mode of a matrix of one row is contiguous, whatever its strides.
#[test]
fn rows_and_columns_alone() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let values: Vec<f32> = (0..40).map(|i| i as f32).collect();
    let memory = device.upload(&values, [40])?;
    let (a, b) = (memory.part(0, [1, 7], [5, 2])?, memory.part(1, [7, 1], [3, 2])?);
    let mut c = device.zeros::<f32, 2>([1, 1])?;
    matmul(&stream, &a, &b, &mut c)?;
    let wanted: f32 = (0..7).map(|k| values[2 * k] * values[1 + 3 * k]).sum();
    assert_eq!(c.download()?, [wanted]);
    // A C by columns is refused in words of a product.
    let (a, b) = (memory.part(0, [3, 2], [2, 1])?, memory.part(0, [2, 3], [3, 1])?);
    let mut c = device.zeros::<f32, 1>([9])?;
    let outcome = matmul(&stream, &a, &b, &mut c.part_mut(0, [3, 3], [1, 3])?);
    assert!(outcome.expect_err("by columns").to_string().contains("`c` is by rows"));
    Ok(())
}

/// Sequences that are all as long as the longest one: blocks of threads without a tile make none.
#[test]
fn packed_sequences_of_one_length() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    for (heads, ends) in [(1, vec![0, 6]), (3, vec![0, 6]), (1, vec![0, 2, 4, 6]), (1, vec![0, 300])] {
        let rows = ends[ends.len() - 1] as usize;
        let q = device.upload(&halves(heads * rows * 64), [1, heads, rows, 64])?;
        let ends = device.upload(&ends, [ends.len()])?;
        let (mut o, mut logs) =
            (device.zeros::<bf16, 4>([1, heads, rows, 64])?, device.zeros([1, heads, rows])?);
        let packed = Some(Packed { queries: &ends, keys: &ends, longest: rows });
        Attention { packed, ..Attention::default() }.run(&stream, &q, &q, &q, &mut o, &mut logs)?;
        assert!(o.download()?.iter().any(|o| o.to_f32() != 0.0));
        let two = device.zeros::<bf16, 4>([2, heads, rows, 64])?;
        let (mut o, mut logs) = (device.zeros([2, heads, rows, 64])?, device.zeros([2, heads, rows])?);
        let outcome =
            Attention { packed, ..Attention::default() }.run(&stream, &two, &two, &two, &mut o, &mut logs);
        assert!(is_refused(&outcome));
    }
    Ok(())
}

/// Elements of any type are moved, those that are no numbers too.
#[test]
fn truths_are_moved() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let x = device.upload(&[true, false, true, true, false, false], [2, 3])?;
    let mut out = device.zeros::<bool, 2>([3, 2])?;
    movement::permute(&stream, [1, 0], &x, &mut out)?;
    assert_eq!(out.download()?, [true, true, false, false, true, false]);
    let mut out = device.zeros::<bool, 2>([2, 3])?;
    movement::flip(&stream, [false, true], &x, &mut out)?;
    assert_eq!(out.download()?, [true, false, true, false, false, true]);
    movement::roll(&stream, [0, 1], &x, &mut out)?;
    assert_eq!(out.download()?, [true, true, false, false, true, false]);
    let index = device.upload(&[1u32, 0, 9], [3])?;
    let mut rows = device.zeros::<bool, 2>([3, 3])?;
    movement::select_rows(&stream, &x, &index, &mut rows)?;
    assert_eq!(rows.download()?, [true, false, false, true, false, true, false, false, false]);
    let (runs, mut out, mut places, mut count) =
        (x.part(0, [6], [1])?, device.zeros::<bool, 1>([6])?, device.zeros([6])?, device.zeros([1])?);
    selection::unique(
        &stream,
        &runs,
        &mut out,
        &mut places,
        &mut count,
        &mut selection::Workspace::default(),
    )?;
    assert_eq!((count.download()?, &out.download()?[..4]), (vec![4], &[true, false, true, false][..]));
    Ok(())
}

/// Extents whose product is beyond the numbers, next to one of 0.
#[test]
fn nothing_of_large_extents() -> Result<(), Error> {
    fn nothing<T: Element>(memory: &Tensor<T, 1>) -> Result<TensorView<'_, T, 3>, Error> {
        memory.part(0, [1 << 40, 1 << 40, 0], [0; 3])
    }
    let device = Device::simulator();
    let stream = device.stream();
    let (memory, mut own) = (device.zeros::<f32, 1>([1])?, device.zeros::<f32, 1>([1])?);
    let x = nothing(&memory)?;
    let mut out = own.part_mut(0, [1 << 40, 1 << 40, 0], [0; 3])?;
    layout_kernels::orders::sort(
        &stream,
        layout_kernels::orders::Order::Ascending,
        &x,
        &mut out,
        &mut Default::default(),
    )?;
    let scan = layout_kernels::memory::ScanState::tiled(&stream, usize::MAX);
    assert!(scan.is_err());
    let filters = device.zeros::<bf16, 4>([8, 2, 0, 8])?;
    let x = device.upload(&halves(32), [1, 2, 2, 8])?;
    let shape = Convolution::<bf16>::default().shape(x.shape(), filters.shape());
    let mut out = device.zeros::<bf16, 4>(shape)?;
    out.poison()?;
    layout_kernels::convolution(&stream, &x, &filters, &mut out)?;
    assert!(out.download()?.iter().all(|sum| sum.to_f32() == 0.0));
    Ok(())
}
