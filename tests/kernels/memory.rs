//! The kernels at the speed of memory, at the edges of their tiles; the bounds are those that their heads state.

use crate::support::case::{Case, Outcome, Run, around, around_tile, output_of};
use crate::support::data::{floats, integers};
use layout_compiler::{Elem, ParamValue};
use layout_cuda::{Element, Error, bf16};
use layout_kernels::kernels::memory::*;
use layout_kernels::memory::{PARTS, SPLITS};

/// Lengths around a tile and around several blocks' tiles.
fn lengths(tile: usize) -> Vec<[usize; 3]> {
    [0, 1, 31, 33, tile - 1, tile, tile + 1, 3 * tile + 5].map(|n| [n, 1, 1]).to_vec()
}

/// Sizes around the tile of `conv2d`, and two with a block that is inside with all that it reads.
fn with_a_block_inside() -> Vec<[usize; 3]> {
    [around_tile([32, 128, 1]), vec![[70, 261, 1], [70, 264, 1]]].concat()
}

/// The part that block `p` takes of tiles of 4096.
fn part(n: usize, p: usize) -> std::ops::Range<usize> {
    (p * 4096).min(n)..((p + 1) * 4096).min(n)
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    [reductions(), axes(), rows(), anywhere(), plain(), prefix(), stencils(), turned()]
        .into_iter()
        .flatten()
        .collect()
}

fn reductions() -> Vec<Case> {
    vec![
        Case::new(&sum_of_parts::DEFINITION, lengths(4096), |run| {
            let [n, ..] = run.size;
            let x = floats(n, 1);
            let parts = output_of!(run, sum_of_parts(x: [n]) -> [PARTS]);
            // Multiples of a quarter below 2^14: every order gives the same sum.
            Ok(Outcome::exact(parts, (0..PARTS).map(|p| x[part(n, p)].iter().fold(0.0, |a, b| a + b))))
        }),
        Case::new(&dot_of_parts::DEFINITION, lengths(4096), |run| {
            let [n, ..] = run.size;
            let (x, y) = (floats(n, 1), floats(n, 2));
            let parts = output_of!(run, dot_of_parts(x: [n], y: [n]) -> [PARTS]);
            let of = |p: usize| part(n, p).fold(0.0, |sum, i| sum + x[i] * y[i]);
            Ok(Outcome::exact(parts, (0..PARTS).map(of)))
        }),
        Case::new(&max_of_parts::DEFINITION, lengths(4096), |run| {
            let [n, ..] = run.size;
            let x: Vec<f32> = floats(n, 1).iter().map(|x| x - 10.0).collect();
            let parts = output_of!(run, max_of_parts(x: [n]) -> [PARTS]);
            let of = |p: usize| x[part(n, p)].iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
            Ok(Outcome::exact(parts, (0..PARTS).map(of)))
        }),
        Case::new(&total_sum::DEFINITION, vec![[1; 3], [2; 3]], |run| {
            let x = floats(PARTS, run.size[0] as u64);
            let out = output_of!(run, total_sum(x: [PARTS]) -> [1]);
            Ok(Outcome::exact(out, [x.iter().sum()]))
        }),
        Case::new(&total_max::DEFINITION, vec![[1; 3], [2; 3]], |run| {
            let x = floats(PARTS, run.size[0] as u64);
            let out = output_of!(run, total_max(x: [PARTS]) -> [1]);
            Ok(Outcome::exact(out, [x.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b))]))
        }),
        Case::new(&histogram::DEFINITION, lengths(8192), how_often),
        Case::new(&bincount::DEFINITION, lengths(2048), weighted::<u32>)
            .with("K", ParamValue::Type(Elem::U32)),
        Case::new(&bincount::DEFINITION, lengths(2048), weighted::<i32>)
            .with("K", ParamValue::Type(Elem::I32)),
    ]
}

/// Keys from -2 on: as `u32` the first two are large.
fn weighted<K: Element>(run: &Run<'_>) -> Result<Outcome, Error> {
    let ([n, ..], bins) = (run.size, 37);
    let keys: Vec<i64> = integers(n, 2, bins as i64 + 1).iter().map(|key| key.abs() - 2).collect();
    let own: Vec<K> = keys.iter().map(|key| K::from_bits(*key as u32 as u64)).collect();
    let (weights, mut wanted) = (floats(n, 3), vec![0.5f32; bins]);
    let (on_keys, on_weights) = (run.tensor(&own, [n])?, run.tensor(&weights, [n])?);
    let mut out = run.tensor(&wanted, [bins])?;
    let copies = if run.set.get("SHARED") == Some(ParamValue::Bool(true)) { 4 } else { 0 };
    let (keys_of, by, mut to) = (on_keys.view()?, on_weights.view()?, out.view_mut()?);
    bincount::launch_with(run.config(), &run.stream(), &keys_of, &by, &mut to, copies)?;
    for (key, weight) in keys.iter().zip(&weights) {
        if let Some(sum) = usize::try_from(*key).ok().and_then(|key| wanted.get_mut(key)) {
            *sum += weight;
        }
    }
    Ok(Outcome::exact(out.read()?, wanted))
}

fn how_often(run: &Run<'_>) -> Result<Outcome, Error> {
    let [n, ..] = run.size;
    let x: Vec<u8> = integers(n, 1, 255).iter().map(|v| v.unsigned_abs() as u8).collect();
    let (on_x, mut counts) = (run.tensor(&x, [n])?, run.tensor(&[7u32; 256], [256])?);
    histogram::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut counts.view_mut()?)?;
    let mut wanted = [7u32; 256];
    x.iter().for_each(|value| wanted[usize::from(*value)] += 1);
    Ok(Outcome::exact(counts.read()?, wanted))
}

fn axes() -> Vec<Case> {
    vec![
        Case::new(&row_sums::DEFINITION, around_tile([2, 2048, 1]), |run| {
            let [m, n, ..] = run.size;
            let x = floats(m * n, 1);
            let out = output_of!(run, row_sums(x: [m, n]) -> [m]);
            let row = |i: usize| x[i * n..(i + 1) * n].iter().fold(0.0, |a, b| a + b);
            Ok(Outcome::exact(out, (0..m).map(row)))
        }),
        Case::new(&column_sums_of_parts::DEFINITION, around_tile([32, 128, 1]), |run| {
            let [m, n, ..] = run.size;
            let x = floats(m * n, 1);
            let parts = output_of!(run, column_sums_of_parts(x: [m, n]) -> [SPLITS, n]);
            let of = |split: usize, j: usize| {
                let rows = (0..m).filter(|row| row / 32 % SPLITS == split);
                rows.fold(0.0, |sum, row| sum + x[row * n + j])
            };
            Ok(Outcome::exact(parts, (0..SPLITS * n).map(|at| of(at / n, at % n))))
        }),
        Case::new(&column_sums::DEFINITION, around(128), |run| {
            let [n, ..] = run.size;
            let x = floats(SPLITS * n, 1);
            let out = output_of!(run, column_sums(x: [SPLITS, n]) -> [n]);
            let column = |j: usize| (0..SPLITS).fold(0.0, |sum, split| sum + x[split * n + j]);
            Ok(Outcome::exact(out, (0..n).map(column)))
        }),
    ]
}

/// Rows that a case's set holds: of `GROUP` threads, of a cluster of blocks.
fn row_sizes(run_of: [usize; 2]) -> Vec<[usize; 3]> {
    let [rows, most] = run_of;
    [[0, 7], [1, 1], [rows + 1, 31], [rows, most], [rows - 1, most - 1], [3, most / 2 + 4]]
        .map(|[m, n]| [m, n, 1])
        .to_vec()
}

fn soft(x: &[f32], n: usize) -> Vec<f64> {
    let mut wanted = Vec::new();
    for row in x.chunks(n.max(1)) {
        let most = row.iter().fold(f64::NEG_INFINITY, |a, b| a.max(f64::from(*b)));
        let parts: Vec<f64> = row.iter().map(|x| (f64::from(*x) - most).exp()).collect();
        let total: f64 = parts.iter().sum();
        wanted.extend(parts.iter().map(|part| part / total));
    }
    wanted
}

fn normal(x: &[f32], n: usize, scale: &[f32], shift: &[f32]) -> Vec<f64> {
    let mut wanted = Vec::new();
    for row in x.chunks(n.max(1)) {
        let mean = row.iter().map(|x| f64::from(*x)).sum::<f64>() / n as f64;
        let variance = row.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / n as f64;
        let factor = 1.0 / (variance + 0.25).sqrt();
        let of = |(j, x): (usize, &f32)| {
            (f64::from(*x) - mean) * factor * f64::from(scale[j]) + f64::from(shift[j])
        };
        wanted.extend(row.iter().enumerate().map(of));
    }
    wanted
}

/// Softmax of rows by one of the kernels.
macro_rules! softmax_case {
    ($kernel:ident, $sizes:expr $(, $aligned:ident)?) => {
        Case::new(&$kernel::DEFINITION, $sizes, |run| {
            $(let run = &run.$aligned();)?
            let [m, n, ..] = run.size;
            let x: Vec<f32> = floats(m * n, 1).iter().map(|x| 10.0 * x).collect();
            let (on_x, mut out) = (run.tensor(&x, [m, n])?, run.output([m, n])?);
            $kernel::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut out.view_mut()?)?;
            // Up to three exponentials of two units each, the roundings of the sum, of its inverse and of the product.
            Ok(Outcome::within(4e-6, out.read()?, soft(&x, n)))
        })
    };
}

/// Layer norm of rows by one of the kernels.
macro_rules! layer_norm_case {
    ($kernel:ident, $sizes:expr $(, $aligned:ident)?) => {
        Case::new(&$kernel::DEFINITION, $sizes, |run| {
            $(let run = &run.$aligned();)?
            let [m, n, ..] = run.size;
            let x: Vec<f32> = floats(m * n, 1);
            // Without a zero in sight, so that the relative bound means something.
            let (scale, shift) = (floats(n, 2), vec![1000.0; n]);
            let (on_x, mut out) = (run.tensor(&x, [m, n])?, run.output([m, n])?);
            let (on_scale, on_shift) = (run.tensor(&scale, [n])?, run.tensor(&shift, [n])?);
            let (x_view, scales, shifts) = (on_x.view()?, on_scale.view()?, on_shift.view()?);
            let (config, stream, mut on_out) = (run.config(), run.stream(), out.view_mut()?);
            $kernel::launch_with(config, &stream, &x_view, &scales, &shifts, &mut on_out, 0.25)?;
            Ok(Outcome::within(1e-6, out.read()?, normal(&x, n, &scale, &shift)))
        })
    };
}

fn rows() -> Vec<Case> {
    // Fewer blocks, and more rows than clusters.
    let staged = [("PARTS", 2), ("THREADS", 64), ("CLUSTERS", 1), ("TURNS", 2)];
    let long = || vec![[1, 4, 1], [2, 5000, 1], [7, 8188, 1], [3, 8192, 1]];
    vec![
        softmax_case!(softmax, row_sizes([65, 128])).with("ODD", ParamValue::Bool(false)),
        softmax_case!(softmax, row_sizes([65, 125])).with("ODD", ParamValue::Bool(true)),
        softmax_case!(softmax_in_parts, vec![[1, 5, 1], [2, 40_001, 1], [1, 131_072, 1]])
            .with("ODD", ParamValue::Bool(false)),
        softmax_case!(softmax_in_parts, vec![[3, 5, 1], [3, 40_001, 1], [1, 131_069, 1]])
            .with("ODD", ParamValue::Bool(true)),
        softmax_case!(softmax_in_passes, row_sizes([3, 8192])),
        layer_norm_case!(layer_norm_in_passes, row_sizes([3, 8192])),
        softmax_case!(softmax_staged, long(), aligned).at(&staged, &[]),
        layer_norm_case!(layer_norm_staged, long(), aligned).at(&staged, &[]),
        layer_norm_case!(layer_norm, row_sizes([65, 128])).with("ODD", ParamValue::Bool(false)),
        layer_norm_case!(layer_norm, row_sizes([65, 125])).with("ODD", ParamValue::Bool(true)),
        layer_norm_case!(layer_norm_in_parts, vec![[1, 5, 1], [5, 20_011, 1], [1, 131_072, 1]])
            .with("ODD", ParamValue::Bool(false)),
        layer_norm_case!(layer_norm_in_parts, vec![[3, 5, 1], [5, 20_011, 1], [1, 131_069, 1]])
            .with("ODD", ParamValue::Bool(true)),
    ]
}

/// The slowest of them with fewer and smaller blocks: more tiles than blocks, more rows than a block's, an edge.
pub fn smallest() -> Vec<Case> {
    let parts = |case: Case, odd| {
        let small = [("PARTS", 2), ("THREADS", 64), ("ROUNDS", 2), ("ROWS", 2)];
        case.at(&small, &[("ODD", ParamValue::Bool(odd))])
    };
    vec![
        Case::new(&histogram::DEFINITION, vec![[33, 1, 1], [5005, 1, 1]], how_often)
            .at(&[("BLOCKS", 2), ("THREADS", 256)], &[]),
        parts(layer_norm_case!(layer_norm_in_parts, vec![[1, 5, 1], [5, 1000, 1]]), false),
        parts(layer_norm_case!(layer_norm_in_parts, vec![[3, 5, 1], [5, 1003, 1]]), true),
        parts(softmax_case!(softmax_in_parts, vec![[1, 5, 1], [5, 1000, 1]]), false),
        parts(softmax_case!(softmax_in_parts, vec![[3, 5, 1], [5, 1003, 1]]), true),
    ]
}

fn plain() -> Vec<Case> {
    vec![
        Case::new(&copy::DEFINITION, lengths(4096), |run| {
            let [n, ..] = run.size;
            let x = floats(n, 1);
            let out = output_of!(run, copy(x: [n]) -> [n]);
            Ok(Outcome::exact(out, x))
        }),
        Case::new(&noise::DEFINITION, lengths(1024), |run| {
            let [n, ..] = run.size;
            let mut out = run.output([n])?;
            noise::launch_with(run.config(), &run.stream(), &mut out.view_mut()?, 7)?;
            Ok(Outcome::exact(out.read()?, (0..n).map(|i| layout_bench::noise::noise(i, 7))))
        }),
        Case::new(&argmax_of_parts::DEFINITION, lengths(4096), |run| {
            let [n, ..] = run.size;
            let x = floats(n, 1);
            let (on_x, mut parts, mut places) =
                (run.tensor(&x, [n])?, run.output::<f32, 1>([PARTS])?, run.output::<u32, 1>([PARTS])?);
            let (mut on_parts, mut on_places) = (parts.view_mut()?, places.view_mut()?);
            let (config, stream) = (run.config(), run.stream());
            argmax_of_parts::launch_with(config, &stream, &on_x.view()?, &mut on_parts, &mut on_places)?;
            let most = |p: usize| x[part(n, p)].iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
            let first = |p: usize| part(n, p).find(|i| x[*i] == most(p)).map_or(u32::MAX, |i| i as u32);
            let found = Outcome::exact(parts.read()?, (0..PARTS).map(most));
            Ok(found.and(Outcome::exact(places.read()?, (0..PARTS).map(first))))
        }),
        Case::new(&total_argmax::DEFINITION, vec![[1; 3], [2; 3]], |run| {
            let x = floats(PARTS, run.size[0] as u64);
            let places: Vec<u32> = (0..PARTS as u32).map(|p| 5 * PARTS as u32 - p).collect();
            let (on_x, on_places, mut out) =
                (run.tensor(&x, [PARTS])?, run.tensor(&places, [PARTS])?, run.output::<u32, 1>([1])?);
            let (config, stream, mut on_out) = (run.config(), run.stream(), out.view_mut()?);
            total_argmax::launch_with(config, &stream, &on_x.view()?, &on_places.view()?, &mut on_out)?;
            let most = x.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
            let first = (0..PARTS).filter(|p| x[*p] == most).map(|p| places[p]).min();
            Ok(Outcome::exact(out.read()?, first))
        }),
    ]
}

fn prefix() -> Vec<Case> {
    vec![
        Case::new(&scan::DEFINITION, lengths(16_384), |run| {
            let [n, ..] = run.size;
            let x = floats(n, 1);
            let tiles = n.div_ceil(16_384);
            // Nothing is there yet: NaN.
            let state = vec![f64::NAN; tiles + tiles.div_ceil(128)];
            let (on_x, mut out) = (run.tensor(&x, [n])?, run.output([n])?);
            let (mut state, mut ticket) = (run.tensor(&state, [state.len()])?, run.tensor(&[0u32], [1])?);
            let (mut on_out, mut on_state, mut on_ticket) =
                (out.view_mut()?, state.view_mut()?, ticket.view_mut()?);
            let (config, stream) = (run.config(), run.stream());
            scan::launch_with(config, &stream, &on_x.view()?, &mut on_out, &mut on_state, &mut on_ticket)?;
            let exclusive = run.set.get("EXCLUSIVE") == Some(ParamValue::Bool(true));
            let mut sum = 0.0f64;
            // Multiples of a quarter below 2^20: every order gives the same sums.
            let wanted: Vec<f64> = x
                .iter()
                .map(|x| {
                    let before = sum;
                    sum += f64::from(*x);
                    if exclusive { before } else { sum }
                })
                .collect();
            Ok(Outcome::within(0.0, out.read()?, wanted))
        }),
        Case::new(&scan_start::DEFINITION, around(256), |run| {
            let [n, ..] = run.size;
            let (mut state, mut ticket) = (run.tensor(&vec![1.0f64; n], [n])?, run.tensor(&[7u32], [1])?);
            let (mut on_state, mut on_ticket) = (state.view_mut()?, ticket.view_mut()?);
            scan_start::launch_with(run.config(), &run.stream(), &mut on_state, &mut on_ticket)?;
            let started = Outcome::exact(ticket.read()?, [if n == 0 { 7 } else { 0u32 }]);
            Ok(Outcome::exact(state.read()?, vec![f64::NAN; n]).and(started))
        }),
    ]
}

/// The element of a matrix, where there is one.
fn at(x: &[f32], [m, n]: [usize; 2], i: isize, j: isize) -> Option<f32> {
    let (i, j) = (usize::try_from(i).ok().filter(|i| *i < m)?, usize::try_from(j).ok().filter(|j| *j < n)?);
    Some(x[i * n + j])
}

/// Sum, mean or maximum of what there is.
fn pooled(kind: Option<ParamValue>, there: impl Iterator<Item = f32>) -> f64 {
    let there: Vec<f64> = there.map(f64::from).collect();
    match kind {
        Some(ParamValue::Int(0)) => there.iter().sum(),
        Some(ParamValue::Int(1)) => there.iter().sum::<f64>() / there.len() as f64,
        _ => there.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b)),
    }
}

fn stencils() -> Vec<Case> {
    vec![
        Case::new(&conv1d::DEFINITION, lengths(1024), |run| {
            let [n, ..] = run.size;
            let (x, taps) = (floats(n, 1), floats(5, 2));
            let (on_x, on_taps, mut out) = (run.tensor(&x, [n])?, run.tensor(&taps, [5])?, run.output([n])?);
            let (config, stream, mut on_out) = (run.config(), run.stream(), out.view_mut()?);
            conv1d::launch_with(config, &stream, &on_x.view()?, &on_taps.view()?, &mut on_out)?;
            let near = |i: isize| at(&x, [1, n], 0, i).unwrap_or(0.0);
            let of = |i: usize| (0..5).map(|k| taps[k] * near(i as isize + k as isize - 2)).sum();
            Ok(Outcome::exact(out.read()?, (0..n).map(of)))
        }),
        Case::new(&conv2d::DEFINITION, with_a_block_inside(), |run| {
            let [m, n, ..] = run.size;
            let Some(ParamValue::Int(size)) = run.set.get("SIZE") else {
                return Ok(Outcome::exact(vec![1.0f32], []));
            };
            let side = size as usize;
            let (x, weights) = (floats(m * n, 1), floats(side * side, 2));
            let (on_x, on_weights) = (run.tensor(&x, [m, n])?, run.tensor(&weights, [side, side])?);
            let mut out = run.output([m, n])?;
            let (config, stream, mut on_out) = (run.config(), run.stream(), out.view_mut()?);
            conv2d::launch_with(config, &stream, &on_x.view()?, &on_weights.view()?, &mut on_out)?;
            let of = |place: usize| {
                let (i, j) = ((place / n) as isize, (place % n) as isize);
                let near = |k: usize| {
                    let (k, l) = ((k / side) as isize, (k % side) as isize);
                    at(&x, [m, n], i + k - size as isize / 2, j + l - size as isize / 2).unwrap_or(0.0)
                };
                (0..side * side).map(|k| weights[k] * near(k)).sum()
            };
            Ok(Outcome::exact(out.read()?, (0..m * n).map(of)))
        }),
        Case::new(&pool1d::DEFINITION, lengths(2048), |run| {
            let [n, ..] = run.size;
            let x = floats(n, 1);
            let out = output_of!(run, pool1d(x: [n]) -> [n]);
            let of = |i: usize| {
                pooled(run.set.get("KIND"), (0..3).filter_map(|k| at(&x, [1, n], 0, i as isize - k)))
            };
            // A division by 3 is rounded once.
            Ok(Outcome::within(6e-8, out, (0..n).map(of)))
        }),
        Case::new(&pool2d::DEFINITION, around_tile([32, 128, 1]), |run| {
            let [m, n, ..] = run.size;
            let x = floats(m * n, 1);
            let out = output_of!(run, pool2d(x: [m, n]) -> [m, n]);
            let of = |place: usize| {
                let (i, j) = ((place / n) as isize, (place % n) as isize);
                let there = (0..9).filter_map(|k| at(&x, [m, n], i - k / 3, j - k % 3));
                pooled(run.set.get("KIND"), there)
            };
            Ok(Outcome::within(6e-8, out, (0..m * n).map(of)))
        }),
    ]
}

/// A transposition's case of an element type, of numbers that it holds.
macro_rules! turned {
    ($kernel:ident, $elem:ident, $sizes:expr, $number:expr) => {
        Case::new(&$kernel::DEFINITION, $sizes, |run| {
            let [m, n, ..] = run.size;
            let x: Vec<_> = (0..m * n).map($number).collect();
            let (on_x, mut out) = (run.tensor(&x, [m, n])?, run.output([n, m])?);
            $kernel::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut out.view_mut()?)?;
            Ok(Outcome::exact(out.read()?, (0..n * m).map(|at| x[at % m * n + at / m])))
        })
        .of(Elem::$elem)
    };
}

/// A number that few others are equal to, and not NaN.
fn half(i: usize) -> bf16 {
    bf16::from_bits(if i & 0x7f80 == 0x7f80 { 1 } else { i as u16 })
}

/// Sizes of `transpose_by_elements` and `transpose_by_pairs`: some have a block that is in the middle of the matrix, with rows
/// of even and odd length on both sides.
fn with_whole_tiles() -> Vec<[usize; 3]> {
    [
        around_tile([64, 64, 1]),
        vec![[256, 128, 1], [257, 259, 1], [258, 259, 1], [257, 260, 1], [258, 258, 1]],
    ]
    .concat()
}

fn turned() -> Vec<Case> {
    vec![
        turned!(transpose, F32, around_tile([64, 64, 1]), |i| i as f32),
        turned!(transpose, Bf16, around_tile([128, 128, 1]), half),
        turned!(transpose_by_elements, F32, with_whole_tiles(), |i| i as f32),
        turned!(transpose_by_pairs, Bf16, with_whole_tiles(), half),
        Case::new(
            &transpose_by_boxes::DEFINITION,
            vec![[32, 32, 1], [4, 4, 1], [36, 100, 1], [68, 32, 1]],
            |run| {
                // TMA addresses multiples of 16 bytes.
                let [m, n] = [run.size[0], run.size[1]].map(|extent| extent.next_multiple_of(4));
                let x: Vec<f32> = (0..m * n).map(|i| i as f32).collect();
                let (on_x, mut out) = (run.device.upload(&x, [m, n])?, run.device.zeros([n, m])?);
                transpose_by_boxes::launch_with(run.config(), &run.stream(), &on_x, &mut out)?;
                Ok(Outcome::exact(out.download()?, (0..n * m).map(|at| x[at % m * n + at / m])))
            },
        ),
    ]
}

fn halves(n: usize, seed: u64) -> Vec<bf16> {
    floats(n, seed).into_iter().map(bf16::from_f32).collect()
}

/// Rows that begin anywhere: at each place of 16 bytes, around a block's tile.
fn anywhere() -> Vec<Case> {
    vec![
        Case::new(&gemv::DEFINITION, around_tile([32, 1024, 1]), |run| {
            let [m, n, ..] = run.size;
            let (a, x) = (floats(m * n, 1), floats(n, 2));
            let y = output_of!(run, gemv(a: [m, n], x: [n]) -> [m]);
            // Multiples of a sixteenth below 2^16: every order gives the same sum.
            let of = |i: usize| (0..n).fold(0.0, |sum, j| sum + a[i * n + j] * x[j]);
            Ok(Outcome::exact(y, (0..m).map(of)))
        }),
        Case::new(
            &rms_norm::DEFINITION,
            vec![[0, 7, 1], [1, 1, 1], [33, 31, 1], [9, 5001, 1], [3, 5112, 1]],
            |run| {
                let [m, n, ..] = run.size;
                let (x, residual, scale) = (halves(m * n, 1), halves(m * n, 2), halves(n, 3));
                let (on_x, on_residual, on_scale) =
                    (run.tensor(&x, [m, n])?, run.tensor(&residual, [m, n])?, run.tensor(&scale, [n])?);
                let (mut sums, mut out) = (run.output::<bf16, 2>([m, n])?, run.output::<bf16, 2>([m, n])?);
                let (config, stream, mut on_sums, mut on_out) =
                    (run.config(), run.stream(), sums.view_mut()?, out.view_mut()?);
                let (x_view, residual_view, scales) = (on_x.view()?, on_residual.view()?, on_scale.view()?);
                rms_norm::launch_with(
                    config,
                    &stream,
                    &x_view,
                    &residual_view,
                    &scales,
                    &mut on_sums,
                    &mut on_out,
                    0.25,
                )?;
                let added = |at: usize| bf16::from_f32(x[at].to_f32() + residual[at].to_f32());
                let roots: Vec<f64> = (0..m)
                    .map(|row| {
                        let squares =
                            (row * n..(row + 1) * n).map(|at| f64::from(added(at).to_f32()).powi(2));
                        (squares.sum::<f64>() / n as f64 + 0.25).sqrt()
                    })
                    .collect();
                let normal = (0..m * n).map(|at| {
                    f64::from(added(at).to_f32()) * f64::from(scale[at % n].to_f32()) / roots[at / n]
                });
                let found = Outcome::exact(sums.read()?, (0..m * n).map(added));
                Ok(found.and(Outcome::within(0.004, out.read()?, normal)))
            },
        ),
        Case::new(
            &cross_entropy::DEFINITION,
            vec![[0, 7, 1], [1, 5, 1], [9, 31, 1], [3, 16_383, 1], [9, 20_001, 1]],
            |run| {
                let [m, n, ..] = run.size;
                let logits = halves(m * n, 1);
                let targets: Vec<u32> = (0..m).map(|row| (row * 37 % n) as u32).collect();
                let (on_logits, on_targets) = (run.tensor(&logits, [m, n])?, run.tensor(&targets, [m])?);
                let mut loss = run.output::<f32, 1>([m])?;
                let (config, stream, mut on_loss) = (run.config(), run.stream(), loss.view_mut()?);
                cross_entropy::launch_with(
                    config,
                    &stream,
                    &on_logits.view()?,
                    &on_targets.view()?,
                    &mut on_loss,
                )?;
                let wanted = (0..m).map(|row| {
                    let logit = |j: usize| f64::from(logits[row * n + j].to_f32());
                    let most = (0..n).map(logit).fold(f64::NEG_INFINITY, f64::max);
                    // Far from zero, so that the relative bound means something.
                    let total: f64 = (0..n).map(|j| (logit(j) - most).exp()).sum();
                    most + total.ln() - logit(targets[row] as usize)
                });
                Ok(Outcome::within(2e-5, loss.read()?, wanted))
            },
        ),
        Case::new(
            &scale_bytes::DEFINITION,
            vec![[0, 7, 1], [1, 1, 1], [17, 31, 1], [3, 11_523, 1], [2, 12_289, 1]],
            |run| {
                let [m, n, ..] = run.size;
                let x: Vec<u8> = integers(m * n, 1, 255).iter().map(|v| v.unsigned_abs() as u8).collect();
                let (on_x, mut out) = (run.tensor(&x, [m, n])?, run.output::<u8, 2>([m, n])?);
                let (config, stream, mut on_out) = (run.config(), run.stream(), out.view_mut()?);
                scale_bytes::launch_with(config, &stream, &on_x.view()?, &mut on_out, 333)?;
                let of = |x: &u8| ((u32::from(*x) * 333 + 128) >> 8).min(255) as u8;
                Ok(Outcome::exact(out.read()?, x.iter().map(of)))
            },
        ),
    ]
}
