//! Softmax of rows: beside the best device copy of as many bytes.

use crate::contest::{Bench, Found, Result, Work, parallel};
use layout_cuda::Tensor;
use layout_examples::memory::{self, Meeting};
use layout_examples::noise::{fill, noise};

/// Softmax of an `m` by `n` matrix; every row is checked where there are up to 2^28 elements, else every 64th.
pub fn softmax(bench: &mut Bench, [m, n]: [usize; 2]) -> Result<()> {
    let stream = bench.stream.clone();
    let mut x = stream.zeros::<f32, 2>([m, n])?;
    fill(&stream, &mut x, 21)?;
    let mut out = stream.zeros::<f32, 2>([m, n])?;
    let work = Work {
        workload: "softmax",
        dtype: "f32",
        shape: vec![m, n],
        bytes: 8.0 * m as f64 * n as f64,
        elements: m as f64 * n as f64,
    };
    let mut ways: Vec<Vec<usize>> = Vec::new();
    for way in [vec![4, 1], vec![32, 8], vec![256, 1], vec![256, 8], vec![512, 8], vec![1024, 8]] {
        if n <= way[0] * way[1] * 4 && way[0] * way[1] * 4 < 2 * n {
            ways.push(way);
        }
    }
    for way in [
        vec![2, 512, 8, 132],
        vec![4, 512, 4, 66],
        vec![4, 1024, 8, 33],
        vec![8, 512, 8, 33],
        vec![16, 256, 8, 33],
        vec![16, 512, 4, 16],
        vec![16, 512, 4, 24],
    ] {
        let size = way[..3].iter().product::<usize>() * 4;
        if n <= size && size < 2 * n {
            ways.push(way);
        }
    }
    for way in ways {
        let mut meeting = Meeting::new(&stream, m, if way.len() == 4 { way[0] } else { 1 })?;
        let mut call = |out: &mut Tensor<f32, 2>| match way.as_slice() {
            [group, rounds] => memory::softmax_by_groups(&stream, [*group, *rounds], &x, out),
            _ => memory::softmax_in_parts(&stream, [way[0], way[1], way[2], way[3]], &x, out, &mut meeting),
        };
        out.poison()?;
        call(&mut out)?;
        let found = check(&stream, &out, [m, n])?;
        let name = format!("softmax {way:?}");
        bench.beside_copy(&work, found, &mut [(&name, &mut || call(&mut out))])?;
    }
    Ok(())
}

fn check(stream: &layout_cuda::Stream, out: &Tensor<f32, 2>, [m, n]: [usize; 2]) -> Result<Found> {
    let step = if m * n <= 1 << 28 { 1 } else { 64 };
    let rows = m.div_ceil(step);
    let found = stream.download(&out.part(0, [rows, n], [step * n, 1])?)?;
    let parts = parallel(rows, |range| {
        let mut all = Found::default();
        for row in range {
            let x = |j: usize| f64::from(noise(row * step * n + j, 21));
            let most = (0..n).map(x).fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = (0..n).map(|j| (x(j) - most).exp()).sum();
            for j in 0..n {
                let wanted = (x(j) - most).exp() / total;
                let error = (f64::from(found[row * step * n + j]) - wanted).abs() / wanted;
                all.add(row * n + j, error, 4e-6);
            }
        }
        all
    });
    Ok(parts.into_iter().fold(Found::default(), Found::and))
}

/// Layer norm of an `m` by `n` matrix, checked likewise.
pub fn layer_norm(bench: &mut Bench, [m, n]: [usize; 2]) -> Result<()> {
    let stream = bench.stream.clone();
    let mut x = stream.zeros::<f32, 2>([m, n])?;
    fill(&stream, &mut x, 21)?;
    let (mut scale, mut shift) = (stream.zeros::<f32, 1>([n])?, stream.zeros::<f32, 1>([n])?);
    fill(&stream, &mut scale, 22)?;
    fill(&stream, &mut shift, 23)?;
    let mut out = stream.zeros::<f32, 2>([m, n])?;
    let work = Work {
        workload: "layer_norm",
        dtype: "f32",
        shape: vec![m, n],
        bytes: 8.0 * m as f64 * n as f64,
        elements: m as f64 * n as f64,
    };
    for way in
        [[0, 4, 1, 0], [0, 32, 8, 0], [0, 256, 8, 0], [0, 512, 8, 0], [8, 512, 8, 33], [16, 256, 8, 33]]
    {
        let [parts, threads, rounds, _] = way;
        let size = parts.max(1) * threads * rounds * 4;
        if n > size || size >= 2 * n {
            continue;
        }
        let mut meeting = Meeting::new(&stream, m, parts)?;
        let mut call = |out: &mut Tensor<f32, 2>| match parts {
            0 => memory::layer_norm_by_groups(&stream, [threads, rounds], &x, [&scale, &shift], out, 1e-5),
            _ => memory::layer_norm_in_parts(&stream, way, &x, [&scale, &shift], out, (&mut meeting, 1e-5)),
        };
        out.poison()?;
        call(&mut out)?;
        let step = if m * n <= 1 << 28 { 1 } else { 64 };
        let rows = m.div_ceil(step);
        let found = stream.download(&out.part(0, [rows, n], [step * n, 1])?)?;
        let parts = parallel(rows, |range| {
            let mut all = Found::default();
            for row in range {
                let x = |j: usize| f64::from(noise(row * step * n + j, 21));
                let mean = (0..n).map(x).sum::<f64>() / n as f64;
                let variance = (0..n).map(|j| (x(j) - mean).powi(2)).sum::<f64>() / n as f64;
                let factor = 1.0 / (variance + 1e-5).sqrt();
                for j in 0..n {
                    let wanted = (x(j) - mean) * factor * f64::from(noise(j, 22)) + f64::from(noise(j, 23));
                    let error = (f64::from(found[row * step * n + j]) - wanted).abs();
                    all.add(row * n + j, error, 4e-6);
                }
            }
            all
        });
        let found = parts.into_iter().fold(Found::default(), Found::and);
        let name = format!("layer_norm {way:?}");
        bench.beside_copy(&work, found, &mut [(&name, &mut || call(&mut out))])?;
    }
    Ok(())
}
