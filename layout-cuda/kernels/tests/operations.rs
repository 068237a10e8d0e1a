//! The operations by their usual names, on the simulator: tensors and views alike, empty shapes, shapes that disagree, rows with gaps.

use layout_cuda::{Arch, Device, E4m3, Element, Error, LaunchError, Tensor, bf16};
use layout_kernels as kernels;
use layout_kernels::product::{Options, Precision, Workspace, multiply};

fn half(value: f32) -> bf16 {
    bf16::from_f32(value)
}

/// A launch that was refused for its arguments.
fn is_refused(outcome: &Result<(), Error>) -> bool {
    matches!(outcome, Err(Error::Launch(LaunchError::Arguments { .. })))
}

#[test]
fn views_are_taken_as_tensors_are() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let values = |count: usize| (0..count).map(|i| half((i % 5) as f32 - 2.0)).collect::<Vec<_>>();
    // Matrices in the corners of others, and the transposed one of B.
    let (a, b) = (device.upload(&values(16 * 24), [16, 24])?, device.upload(&values(24 * 24), [24, 24])?);
    let (a_view, b_view) = (a.part(8, [5, 9], [24, 1])?, b.part(16, [9, 7], [1, 24])?);
    let mut c = device.zeros::<bf16, 2>([8, 16])?;
    kernels::matmul(&stream, &a_view, &b_view, &mut c.part_mut(0, [5, 7], [16, 1])?)?;
    let (a, b, c) = (a.download()?, b.download()?, c.download()?);
    for (row, column) in (0..8).flat_map(|row| (0..16).map(move |column| (row, column))) {
        let term = |k: usize| a[8 + 24 * row + k].to_f32() * b[16 + k + 24 * column].to_f32();
        let wanted = if row < 5 && column < 7 { (0..9).map(term).sum() } else { 0.0 };
        assert_eq!(c[16 * row + column].to_f32(), wanted, "row {row}, column {column}");
    }
    let x = device.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [8])?;
    let mut out = device.zeros::<f32, 1>([2])?;
    kernels::sum(&stream, &x.part(4, [3], [1])?, &mut out.part_mut(0, [1], [1])?)?;
    assert_eq!(out.download()?, [18.0, 0.0]);
    let mut rows = device.zeros::<f32, 2>([1, 4])?;
    kernels::softmax(&stream, &x.part(0, [1, 4], [4, 1])?, &mut rows)?;
    assert!((rows.download()?.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    Ok(())
}

#[test]
fn a_state_of_fewer_elements_is_refused() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let (x, mut out) = (device.zeros::<f32, 1>([40_000])?, device.zeros::<f32, 1>([40_000])?);
    let mut state = kernels::memory::ScanState::new(&stream, 5)?;
    let error = kernels::memory::inclusive_scan(&stream, &x, &mut out, &mut state).expect_err("too small");
    assert!(error.to_string().contains("`ScanState::new(stream, 40000)`"), "{error}");
    Ok(())
}

#[test]
fn empty_shapes_are_shapes() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    for [m, n, k] in [[0, 7, 5], [3, 0, 5], [3, 7, 0], [0, 0, 0]] {
        let (a, b) = (device.zeros::<bf16, 2>([m, k])?, device.zeros::<bf16, 2>([k, n])?);
        let mut c = device.upload(&vec![half(9.0); m * n], [m, n])?;
        kernels::matmul(&stream, &a, &b, &mut c)?;
        assert!(c.download()?.iter().all(|sum| sum.to_f32() == 0.0), "{m} x {n} x {k}");
    }
    for shape @ [m, n] in [[0, 8], [3, 0], [0, 40_000]] {
        let (x, mut out) = (device.zeros::<f32, 2>(shape)?, device.zeros::<f32, 2>(shape)?);
        kernels::softmax(&stream, &x, &mut out)?;
        let (scale, shift) = (device.zeros([n])?, device.zeros([n])?);
        kernels::layer_norm(&stream, &x, &scale, &shift, &mut out, 1e-5)?;
        kernels::transpose(&stream, &x, &mut device.zeros([n, m])?)?;
        kernels::gemv(&stream, &x, &scale, &mut device.zeros([m])?)?;
        kernels::column_sums(&stream, &x, &mut device.zeros([n])?)?;
        let halves = device.zeros::<bf16, 2>(shape)?;
        let (mut sums, mut norm) = (device.zeros(shape)?, device.zeros(shape)?);
        if n < 32_000 {
            kernels::add_rms_norm(
                &stream,
                &halves,
                &halves,
                &device.zeros([n])?,
                &mut sums,
                &mut norm,
                1e-5,
            )?;
        }
    }
    kernels::cross_entropy(&stream, &device.zeros([0, 8])?, &device.zeros([0])?, &mut device.zeros([0])?)?;
    let nothing = device.zeros::<f32, 1>([0])?;
    let mut out = device.upload(&[9.0f32], [1])?;
    kernels::sum(&stream, &nothing, &mut out)?;
    assert_eq!(out.download()?, [0.0]);
    kernels::dot(&stream, &nothing, &nothing, &mut out)?;
    assert_eq!(out.download()?, [0.0]);
    kernels::max(&stream, &nothing, &mut out)?;
    assert_eq!(out.download()?, [f32::NEG_INFINITY]);
    kernels::inclusive_scan(&stream, &nothing, &mut device.zeros([0])?)?;
    kernels::exclusive_scan(&stream, &nothing, &mut device.zeros([0])?)
}

/// Products, attention forward, backward and decoding, and rows, on a device.
fn some_of_each(device: &Device) -> Result<Vec<(String, Vec<f32>)>, Error> {
    use kernels::attention::Attention;
    use kernels::backward::{Changes, Forward, Workspace};
    use kernels::decode::Decoding;

    let (stream, mut found) = (device.stream(), Vec::new());
    let values =
        |count: usize| (0..count).map(|i| half((i * 7 % 23) as f32 / 11.0 - 1.0)).collect::<Vec<_>>();
    let wide = |x: Vec<bf16>| x.into_iter().map(bf16::to_f32).collect::<Vec<f32>>();
    for [m, n, k] in [[70, 90, 40], [3, 50, 64]] {
        let (a, b) = (device.upload(&values(m * k), [m, k])?, device.upload(&values(k * n), [k, n])?);
        let mut c = device.zeros::<bf16, 2>([m, n])?;
        kernels::matmul(&stream, &a, &b, &mut c)?;
        found.push((format!("matmul {m} {n} {k}"), wide(c.download()?)));
    }
    for d in [64, 128, 256] {
        let shape = [1, 2, 37, d];
        let of = || device.upload(&values(2 * 37 * d), shape);
        let (q, k, v, mut o, d_o, mut logs) = (of()?, of()?, of()?, of()?, of()?, device.zeros([1, 2, 37])?);
        let what = Attention::default();
        what.run(&stream, &q, &k, &v, &mut o, &mut logs)?;
        found.push((format!("attention of {d}"), wide(o.download()?)));
        if d < 256 {
            let (mut d_q, mut d_k, mut d_v) = (of()?, of()?, of()?);
            let forward = Forward { q: &q.view(), k: &k.view(), v: &v.view(), o: &o.view(), logs: &logs };
            let to = Changes { q: &mut d_q.view_mut(), k: &mut d_k.view_mut(), v: &mut d_v.view_mut() };
            what.backward(&stream, &forward, &d_o, &mut Workspace::default(), to)?;
            for (name, change) in [("dQ", &d_q), ("dK", &d_k), ("dV", &d_v)] {
                found.push((format!("{name} of {d}"), wide(change.download()?)));
            }
        }
        let (query, lengths) = (device.upload(&values(2 * d), [1, 2, 1, d])?, device.upload(&[37], [1])?);
        let (mut o, mut logs) = (device.zeros::<bf16, 4>([1, 2, 1, d])?, device.zeros([1, 2, 1])?);
        let mut memory = kernels::decode::Workspace::default();
        Decoding::default().run(&stream, &query, &k, &v, &lengths, &mut memory, (&mut o, &mut logs))?;
        found.push((format!("decoding of {d}"), wide(o.download()?)));
    }
    for n in [1000, 40_000] {
        let x: Vec<f32> = values(2 * n).into_iter().map(|x| x.to_f32()).collect();
        let mut out = device.zeros::<f32, 2>([2, n])?;
        kernels::softmax(&stream, &device.upload(&x, [2, n])?, &mut out)?;
        found.push((format!("softmax of {n}"), out.download()?));
    }
    Ok(found)
}

/// In place of each kind of card the library picks kernels that such a card runs, within its shared memory, and they give what Hopper's give.
#[test]
fn every_card_has_kernels() -> Result<(), Error> {
    let wanted = some_of_each(&Device::simulator())?;
    for name in ["sm_80", "sm_86", "sm_89", "sm_100a", "sm_120a"] {
        let arch: Arch = name.parse().expect("an architecture");
        let found =
            some_of_each(&Device::simulator_of(arch)).unwrap_or_else(|error| panic!("{name}: {error}"));
        for ((what, found), (_, wanted)) in found.iter().zip(&wanted) {
            // A weight of attention and a result are rounded to bf16.
            let most = wanted.iter().fold(0.0f32, |most, x| most.max(x.abs()));
            let is_right = |(x, y): (&f32, &f32)| (x - y).abs() <= most / 64.0;
            assert!(
                found.len() == wanted.len() && found.iter().zip(wanted).all(is_right),
                "{name}, {what}: {found:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn attention_of_nothing() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    for [heads, queries, keys] in [[2, 0, 5], [2, 5, 0], [2, 0, 0]] {
        let of = |places: usize| device.upload(&vec![half(1.0); heads * places * 64], [1, heads, places, 64]);
        let (q, k, v, mut o) = (of(queries)?, of(keys)?, of(keys)?, of(queries)?);
        kernels::attention(&stream, &q, &k, &v, &mut o)?;
        assert!(o.download()?.iter().all(|mean| mean.to_f32() == 0.0), "{heads}, {queries}, {keys}");
    }
    Ok(())
}

#[test]
fn shapes_that_disagree_are_refused() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let matrix = |shape: [usize; 2]| device.zeros::<f32, 2>(shape);
    // In registers, in clusters, in passes.
    for n in [8, 40_000, 524_292] {
        let x = matrix([2, n])?;
        for mut out in [matrix([1, n])?, matrix([n, 2])?, matrix([2, n - 4])?] {
            assert!(is_refused(&kernels::softmax(&stream, &x, &mut out)), "{:?} of {n}", out.shape());
            let (scale, shift) = (device.zeros([n])?, device.zeros([n])?);
            let outcome = kernels::layer_norm(&stream, &x, &scale, &shift, &mut out, 1e-5);
            assert!(is_refused(&outcome), "{:?} of {n}", out.shape());
        }
    }
    let (a, mut c) = (matrix([3, 4])?, matrix([3, 3])?);
    assert!(is_refused(&kernels::matmul(&stream, &a, &a, &mut c)));
    Ok(())
}

/// Rows with gaps are not what these kernels take, however long they are: refused in the operation's name, with the way out.
#[test]
fn rows_with_gaps_are_refused() -> Result<(), Error> {
    let device = Device::simulator();
    let stream = device.stream();
    let refused = |of: &str, argument: &str, outcome: Result<(), Error>| {
        let text = outcome.expect_err(of).to_string();
        let begin =
            format!("kernel `{of}`: `require(the elements of `{argument}` follow one another without gaps)`");
        assert!(text.starts_with(&begin) && text.contains("`movement::permute` copies"), "{text}");
    };
    for n in [8, 40_000, 300_000] {
        let gaps: Tensor<f32, 2> = device.upload_strided(&vec![1.0; 2 * (n + 4)], [2, n], [n + 4, 1])?;
        let mut out = device.zeros::<f32, 2>([2, n])?;
        refused("softmax", "x", kernels::softmax(&stream, &gaps, &mut out));
        let (scale, shift) = (device.zeros([n])?, device.zeros([n])?);
        refused("layer_norm", "x", kernels::layer_norm(&stream, &gaps, &scale, &shift, &mut out, 1e-5));
        if n == 8 {
            refused("transpose", "x", kernels::transpose(&stream, &gaps, &mut device.zeros([n, 2])?));
            refused("gemv", "a", kernels::gemv(&stream, &gaps, &scale, &mut device.zeros([2])?));
            let every_second = gaps.part(0, [4], [2])?;
            refused("sum", "x", kernels::sum(&stream, &every_second, &mut device.zeros([1])?));
            refused(
                "inclusive_scan",
                "x",
                kernels::inclusive_scan(&stream, &every_second, &mut device.zeros([4])?),
            );
        }
    }
    Ok(())
}

/// Views that begin at no multiple of 16 bytes are multiplied as others are.
#[test]
fn products_of_views_that_begin_anywhere() -> Result<(), Error> {
    fn anywhere<T: Element, U: Element>(
        device: &Device,
        of: fn(usize) -> T,
        precision: Precision,
    ) -> Result<(), Error> {
        let stream = device.stream();
        let options = Options { precision, ..Options::default() };
        let (a, b) = (device.upload(&(0..6000).map(of).collect::<Vec<_>>(), [6000])?, [64, 1]);
        let mut all: Vec<Vec<u64>> = vec![];
        for [of_a, of_b, of_c] in [[0, 0, 0], [1, 0, 0], [0, 3, 0], [0, 0, 1], [5, 7, 3]] {
            // The same elements in each round, in memory that begins elsewhere.
            let moved = |by: usize| -> Result<Tensor<T, 1>, Error> {
                let values = a.download()?;
                device.upload(&(0..by).map(of).chain(values).collect::<Vec<_>>(), [6000 + by])
            };
            let (own_a, own_b) = (moved(of_a)?, moved(of_b)?);
            let mut c = device.zeros::<U, 1>([4200])?;
            let (a, b) = (own_a.part(of_a, [40, 48], b)?, own_b.part(of_b, [48, 56], b)?);
            multiply(
                &stream,
                options,
                &mut Workspace::default(),
                &a,
                &b,
                &mut c.part_mut(of_c, [40, 56], [64, 1])?,
            )?;
            let c = c.download()?;
            let own = (0..40).flat_map(|row| c[of_c + 64 * row..][..56].iter().map(|sum| sum.to_bits()));
            all.push(own.collect());
            assert!(c[..of_c].iter().chain(&c[of_c + 64 * 40..]).all(|left| left.to_bits() == 0));
        }
        assert!(all.iter().all(|own| *own == all[0]) && all[0].iter().any(|sum| *sum != 0), "{}", T::ELEM);
        Ok(())
    }
    let device = Device::simulator();
    anywhere::<bf16, bf16>(&device, |i| half((i % 5) as f32 - 2.0), Precision::Float32)?;
    anywhere::<f32, f32>(&device, |i| (i % 5) as f32 - 2.0, Precision::Float32)?;
    anywhere::<f32, f32>(&device, |i| (i % 5) as f32 - 2.0, Precision::Tf32)?;
    anywhere::<f64, f64>(&device, |i| (i % 5) as f64 - 2.0, Precision::Float32)?;
    anywhere::<i8, i32>(&device, |i| (i % 5) as i8 - 2, Precision::Float32)?;
    anywhere::<E4m3, bf16>(&device, |i| E4m3::from_f32((i % 5) as f32 - 2.0), Precision::Float32)
}
