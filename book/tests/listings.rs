//! The listings of the book that no exercise runs: launched on the simulator, held against plain Rust.

use layout_book::*;
use layout_compiler::{ParamSet, ParamValue};
use layout_cuda::{Device, Error, LaunchConfig, Options, Tensor, bf16};

/// Small whole numbers, of which every sum is exact.
fn small(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i * 7 % 11) as f32 - 5.0).collect()
}

fn device() -> Device {
    Device::simulator()
}

#[test]
fn tiles_that_hang_over_the_end() -> Result<(), Error> {
    for n in [128, 100, 1, 256, 300] {
        let twice: Vec<f32> = small(n).iter().map(|x| 2.0 * x).collect();
        let (mut x, mut y) = (device().upload(&small(n), [n])?, device().upload(&small(n), [n])?);
        scaled::launch(&device().stream(), &mut x)?;
        guarded::launch(&device().stream(), &mut y)?;
        assert_eq!((x.download()?, y.download()?), (twice.clone(), twice.clone()));
        let mut z = device().upload(&small(n), [n])?;
        let whole = scaled_whole::launch(&device().stream(), &mut z);
        assert_eq!(whole.is_ok(), n % 128 == 0, "{n}");
        if n % 128 == 0 {
            assert_eq!(z.download()?, twice);
        }
    }
    Ok(())
}

#[test]
fn an_index_that_is_in_memory() -> Result<(), Error> {
    let keys: Vec<u32> = (0..70).map(|i| i * 5 % 8).collect();
    let (on_keys, table) = (device().upload(&keys, [70])?, device().upload(&small(8), [8])?);
    let mut y = device().zeros::<f32, 1>([70])?;
    gathered::launch(&device().stream(), &on_keys, &table, &mut y)?;
    assert_eq!(y.download()?, keys.iter().map(|key| small(8)[*key as usize]).collect::<Vec<f32>>());
    Ok(())
}

#[test]
fn epilogues() -> Result<(), Error> {
    let bias = device().upload(&small(64), [64])?;
    let sums = || (0..192).map(|i| small(192)[i] + small(64)[i % 64]);
    let (mut x, mut y) = (device().upload(&small(192), [3, 64])?, device().upload(&small(192), [3, 64])?);
    biased::launch(&device().stream(), &mut x, &bias)?;
    relu::launch(&device().stream(), &mut y, &bias)?;
    let mut row = [0.0; 64];
    row.copy_from_slice(&small(64));
    assert_eq!(rectify(&device(), &row)?, row.map(|x| (x + 1.0).max(0.0)));
    assert_eq!(x.download()?, sums().collect::<Vec<f32>>());
    assert_eq!(y.download()?, sums().map(|sum| sum.max(0.0)).collect::<Vec<f32>>());
    Ok(())
}

#[test]
fn an_activation_moves_nothing() -> Result<(), Error> {
    let bias = device().upload(&small(64), [64])?;
    let mut x = device().upload(&small(192), [3, 64])?;
    let (plain, activated) = (biased::simulate(&mut x, &bias)?.totals, relu::simulate(&mut x, &bias)?.totals);
    assert_eq!(plain.global_requests, activated.global_requests);
    assert_eq!(plain.global_sectors, activated.global_sectors);
    assert!(plain.global_sectors > 0);
    Ok(())
}

#[test]
fn softmax() -> Result<(), Error> {
    let (m, n) = (3, 200);
    let x = device().upload(&small(m * n), [m, n])?;
    let mut out = device().zeros([m, n])?;
    softmax_simple::launch(&device().stream(), &x, &mut out)?;
    for (row, found) in small(m * n).chunks(n).zip(out.download()?.chunks(n)) {
        let sum: f64 = row.iter().map(|x| f64::from(*x).exp()).sum();
        for (x, found) in row.iter().zip(found) {
            let wanted = f64::from(*x).exp() / sum;
            assert!((f64::from(*found) - wanted).abs() <= 1e-5 * wanted, "{found} and not {wanted}");
        }
    }
    Ok(())
}

#[test]
fn products_of_a_warpgroup() -> Result<(), Error> {
    for [m, n, k] in [[64, 64, 64], [72, 136, 200]] {
        let (a, b) = (small(m * k), small(k * n));
        let rounded = |values: &[f32]| values.iter().map(|x| bf16::from_f32(*x)).collect::<Vec<bf16>>();
        let (x, y) = (device().upload(&rounded(&a), [m, k])?, device().upload(&rounded(&b), [k, n])?);
        let mut c: Tensor<f32, 2> = device().zeros([m, n])?;
        let report =
            wgmma_simple::simulate_with(LaunchConfig::default(), &Options::default(), &x, &y, &mut c)?;
        assert!(report.clean(), "{report}");
        let wanted = |at: usize| (0..k).map(|l| a[at / n * k + l] * b[l * n + at % n]).sum::<f32>();
        assert_eq!(c.download()?, (0..m * n).map(wanted).collect::<Vec<f32>>());
    }
    Ok(())
}

/// `softmax(scale q kᵀ) v` of one head in float64.
fn attention(q: &[f64], k: &[f64], v: &[f64], scale: f64, causal: bool) -> Vec<f64> {
    let mut out = vec![];
    for (i, query) in q.chunks(64).enumerate() {
        let keys = if causal { (i + 1).min(k.len() / 64) } else { k.len() / 64 };
        let dot = |key: &[f64]| key.iter().zip(query).map(|(x, y)| x * y).sum::<f64>();
        let scores: Vec<f64> = k.chunks(64).take(keys).map(|key| (scale * dot(key)).exp()).collect();
        let sum: f64 = scores.iter().sum();
        out.extend((0..64).map(|d| {
            scores.iter().zip(v.chunks(64)).map(|(score, value)| score * value[d]).sum::<f64>() / sum
        }));
    }
    out
}

#[test]
fn attention_at_every_length() -> Result<(), Error> {
    const H: usize = 2;
    // Any numbers that bf16 holds, a few of them large: so that the largest score of a row moves from tile to tile.
    let numbers = |n: usize, seed: usize| -> Vec<bf16> {
        (0..n)
            .map(|i| bf16::from_f32(((i * 37 + seed * 11 + i / 64 * 5) % 41) as f32 / 16.0 - 1.25))
            .collect()
    };
    let wide = |values: &[bf16]| values.iter().map(|x| x.to_f64()).collect::<Vec<f64>>();
    for ([m, n], causal) in
        [([64, 64], false), ([70, 45], false), ([1, 1], true), ([100, 100], true), ([40, 90], true)]
    {
        let (q, k, v) = (numbers(H * m * 64, 1), numbers(H * n * 64, 2), numbers(H * n * 64, 3));
        let (on_q, on_k, on_v) = (
            device().upload(&q, [H, m, 64])?,
            device().upload(&k, [H, n, 64])?,
            device().upload(&v, [H, n, 64])?,
        );
        let mut o: Tensor<f32, 3> = device().zeros([H, m, 64])?;
        let set = ParamSet::default().with("CAUSAL", ParamValue::Bool(causal));
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let options = Options::default();
        let report = attention_simple::simulate_with(config, &options, &on_q, &on_k, &on_v, &mut o, 0.125)?;
        assert!(report.clean(), "{report}");
        let wanted = (0..H).flat_map(|h| {
            let kv = h * n * 64..(h + 1) * n * 64;
            attention(
                &wide(&q[h * m * 64..(h + 1) * m * 64]),
                &wide(&k[kv.clone()]),
                &wide(&v[kv]),
                0.125,
                causal,
            )
        });
        for (at, (found, wanted)) in o.download()?.into_iter().zip(wanted).enumerate() {
            // The weights are rounded to bf16: 2^-9 of each, and the values are at most 1.25.
            assert!(
                (f64::from(found) - wanted).abs() < 1.25 / 256.0,
                "[{m}, {n}] {causal}, {at}: {found} and not {wanted}"
            );
        }
    }
    Ok(())
}

#[test]
fn a_block_for_each_element() -> Result<(), Error> {
    let [m, n, k] = [3, 5, 7];
    let (a, b) = (device().upload(&small(m * k), [m, k])?, device().upload(&small(k * n), [k, n])?);
    let mut c = device().zeros([m, n])?;
    one_each::launch(&device().stream(), &a, &b, &mut c)?;
    let wanted =
        |at: usize| (0..k).map(|l| small(m * k)[at / n * k + l] * small(k * n)[l * n + at % n]).sum::<f32>();
    assert_eq!(c.download()?, (0..m * n).map(wanted).collect::<Vec<f32>>());
    Ok(())
}

#[test]
fn on_memory_of_others() -> Result<(), Error> {
    let gpu = match Device::gpu(0) {
        Ok(gpu) => gpu,
        Err(error) => {
            println!("skipped: no device ({error})");
            assert_ne!(std::env::var("REQUIRE_GPU").as_deref(), Ok("1"), "no device: {error}");
            return Ok(());
        }
    };
    let stream = gpu.context().expect("a GPU has one").new_stream().expect("a stream");
    let x = stream.clone_htod(&small(100)).expect("a slice");
    let mut y = stream.alloc_zeros::<f32>(100).expect("a slice");
    on_cudarc(&stream, &x, &mut y)?;
    let wanted: Vec<f32> = small(100).iter().map(|x| x + 1.0).collect();
    assert_eq!(stream.clone_dtoh(&y).expect("a download"), wanted);
    Ok(())
}
