//! Attention by heads, and a transformer's block of it, against one device: with numbers that no sum rounds the same bits, with any
//! numbers the same heads, and the block within what rounding the terms may do.

use layout_core::mesh::Mesh;
use layout_cuda::{Device, Tensor, bf16};
use layout_kernels::attention::{Attention, Mask, Packed};
use layout_kernels::mesh::{Beside, Block, ByHeads, Heads, Layers};
use layout_mesh::{Member, MeshError, Result, World};

/// Elements of a head, and of a token.
const D: usize = 64;
const WIDTH: usize = 64;
const LENGTH: usize = 16;
const SEQUENCES: usize = 3;
const TOKENS: usize = SEQUENCES * LENGTH;
const HIDDEN: usize = 192;

/// A matrix by its elements.
type Matrix<'a> = &'a (dyn Fn(usize, usize) -> f32 + Sync);

/// These rows and columns of it on the rank's device.
fn upload(member: &Member, of: Matrix<'_>, rows: &[usize], columns: &[usize]) -> Result<Tensor<bf16, 2>> {
    let all = rows.iter().flat_map(|row| columns.iter().map(|column| bf16::from_f32(of(*row, *column))));
    Ok(member.device().upload(&all.collect::<Vec<_>>(), [rows.len(), columns.len()])?)
}

/// The columns of heads, one after the other.
fn wide(heads: &[usize]) -> Vec<usize> {
    heads.iter().flat_map(|head| head * D..(head + 1) * D).collect()
}

/// Heads over ranks: a mesh, heads of queries and of keys, and which axes split what.
struct Case {
    axes: &'static [(&'static str, i64)],
    heads: [usize; 2],
    groups: &'static [&'static str],
    within: &'static [&'static str],
}

const CASES: [Case; 5] = [
    Case { axes: &[("gpu", 1)], heads: [6, 3], groups: &["gpu"], within: &[] },
    // Two groups and one.
    Case { axes: &[("gpu", 2)], heads: [6, 3], groups: &["gpu"], within: &[] },
    // Two, two and none.
    Case { axes: &[("gpu", 3)], heads: [4, 4], groups: &["gpu"], within: &[] },
    // Fewer heads of keys than ranks: two queries of a group of three here, one there.
    Case { axes: &[("group", 2), ("part", 2)], heads: [6, 2], groups: &["group"], within: &["part"] },
    Case { axes: &[("part", 4)], heads: [4, 1], groups: &[], within: &["part"] },
];

impl Case {
    fn made(&self) -> Heads {
        let mesh = Mesh::new(self.axes.iter().copied()).expect("a mesh");
        let (groups, within) = (self.groups.iter().copied(), self.within.iter().copied());
        Heads::new(&mesh, self.heads, groups, within).expect("heads")
    }

    /// The same heads on one rank.
    fn alone(&self) -> Case {
        Case { axes: &[("gpu", 1)], heads: self.heads, groups: &["gpu"], within: &[] }
    }
}

/// The weights: of Q, K, V and the output.
struct Weights<'a>([Matrix<'a>; 4]);

/// A rank's attention, of its heads.
fn by_heads(member: &Member, heads: &Heads, weights: &Weights<'_>) -> Result<ByHeads<bf16>> {
    let own = heads.of(member.rank())?;
    let [q, k, v, out] = weights.0;
    let (queries, keys, all) = (wide(&own.queries), wide(&own.keys), (0..WIDTH).collect::<Vec<_>>());
    let places: Vec<(usize, usize)> = queries
        .iter()
        .map(|column| (0, *column))
        .chain(keys.iter().map(|column| (1, *column)))
        .chain(keys.iter().map(|column| (2, *column)))
        .collect();
    let of = |row: usize, place: usize| [q, k, v][places[place].0](row, places[place].1);
    let into = upload(member, &of, &all, &(0..places.len()).collect::<Vec<_>>())?;
    let out = upload(member, out, &queries, &all)?;
    let rows = TOKENS / member.size();
    ByHeads::new(member, &member.device().stream(), (heads, D), (into, out), [SEQUENCES, rows])
}

/// A rank's tokens.
fn tokens(member: &Member) -> Vec<usize> {
    let rows = TOKENS / member.size();
    (member.rank() * rows..(member.rank() + 1) * rows).collect()
}

/// So many simulators, and so many GPUs that the kernels run on, if they are there.
fn worlds(ranks: usize) -> Vec<World> {
    let mut worlds = vec![World::simulators(ranks).expect("a world")];
    let hopper = |ordinal| {
        let gpu = Device::gpu(ordinal).ok()?;
        Some(gpu.properties()?.compute_capability == (9, 0))
    };
    if (0..ranks).all(|ordinal| hopper(ordinal) == Some(true)) {
        worlds.push(World::gpus(0..ranks).expect("GPUs and NCCL"));
    }
    worlds
}

/// The result, all tokens one under the other; and of each head what it gave for each token.
fn attended(
    (case, world): (&Case, &World),
    mask: Mask,
    x: Matrix<'_>,
    weights: &Weights<'_>,
) -> (Vec<bf16>, Vec<Vec<bf16>>) {
    let heads = case.made();
    let what = Attention { mask, ..Attention::default() };
    let parts = world.run(|member| {
        let stream = member.device().stream();
        let mut attention = by_heads(member, &heads, weights)?;
        let all: Vec<usize> = (0..WIDTH).collect();
        let own = upload(member, x, &tokens(member), &all)?;
        let mut y = stream.zeros([TOKENS / member.size(), WIDTH])?;
        let beside = Beside::new(member, 0)?;
        // Twice: buffers are used again.
        for _ in 0..2 {
            attention.run(member, (&stream, &beside), &what, &own, &mut y)?;
        }
        // The same of tokens that every rank has, by an all-reduce.
        let (whole, shape) = (upload(member, x, &(0..TOKENS).collect::<Vec<_>>(), &all)?, [TOKENS, WIDTH]);
        let (mut term, mut sum) = (stream.zeros(shape)?, stream.zeros::<bf16, 2>(shape)?);
        attention.run_on_copies(member, &stream, &what, &whole, [&mut term, &mut sum])?;
        member.wait(&stream)?;
        Ok((y.download()?, sum.download()?, attention.attended().download()?))
    });
    let parts = parts.unwrap_or_else(|error| panic!("{:?}: {error}", case.heads));
    let mut each = vec![Vec::new(); case.heads[0]];
    for (rank, (_, _, attended)) in parts.iter().enumerate() {
        let own = heads.of(rank).expect("heads").queries;
        for (place, head) in own.iter().enumerate() {
            let rows = attended.chunks(own.len() * D);
            each[*head] = rows.flat_map(|row| row[place * D..(place + 1) * D].to_vec()).collect();
        }
    }
    let y: Vec<bf16> = parts.iter().flat_map(|(y, ..)| y.clone()).collect();
    // Terms in another order: equal where nothing is rounded, and nowhere far.
    for (_, sum, _) in &parts {
        let far = sum
            .iter()
            .zip(&y)
            .find(|(a, b)| (a.to_f32() - b.to_f32()).abs() > 0.03 * (1.0 + b.to_f32().abs()));
        assert_eq!(far, None, "{:?}: an all-reduce gives another sum", case.heads);
    }
    (y, each)
}

/// The bit of a token's place in its sequence, as a sign.
fn sign(token: usize, bit: usize) -> f32 {
    if ((token % LENGTH) >> bit) & 1 == 0 { 1.0 } else { -1.0 }
}

/// The token that a head looks at: one of the bits of its place turned over.
fn seen(token: usize, head: usize) -> usize {
    token ^ (1 << (head % 4))
}

/// 1 and -1, and 0 of most: two of `of` are not.
fn few(of: usize, row: usize, column: usize) -> f32 {
    match (row * 7 + column * 5 + (row + of) * (column + 3)) % of {
        0 => 1.0,
        1 => -1.0,
        _ => 0.0,
    }
}

#[test]
fn by_heads_it_is_one_devices_to_the_bit() {
    // Four columns of a token say its place. Even heads look at one other token alone: another one's weight is 0. Odd heads
    // look at all tokens alike: 16 of them, whose mean is exact.
    let x = |token, column| if column < 4 { sign(token, column) } else { few(13, token, column) };
    for case in &CASES {
        let [queries, keys] = case.heads;
        let q = |row: usize, column: usize| {
            let (head, column) = (column / D, column % D);
            let turned = if row == head % 4 { -4096.0 } else { 4096.0 };
            if row < 4 && row == column && head % 2 == 0 { turned } else { 0.0 }
        };
        let k = |row: usize, column: usize| f32::from(u8::from(row < 4 && row == column % D));
        let v = |row: usize, column: usize| if row < 4 { 0.0 } else { few(31, row, column) };
        let out = |row, column| few(97, row, column);
        let value = |token: usize, column: usize| (0..WIDTH).map(|e| x(token, e) * v(e, column)).sum::<f32>();
        let mut want = Vec::new();
        for token in 0..TOKENS {
            let attended: Vec<f32> = (0..queries * D)
                .map(|column| {
                    let (head, column) = (column / D, column / D * keys / queries * D + column % D);
                    let all = token / LENGTH * LENGTH..(token / LENGTH + 1) * LENGTH;
                    match head % 2 {
                        0 => value(seen(token, head), column),
                        _ => all.map(|token| value(token, column)).sum::<f32>() / LENGTH as f32,
                    }
                })
                .collect();
            let of = |column| attended.iter().enumerate().map(|(row, o)| o * out(row, column)).sum::<f32>();
            want.extend((0..WIDTH).map(of));
        }
        assert!(want.iter().any(|value| *value != value.trunc()), "means show");
        for world in worlds(case.made().ranks()) {
            let (y, _) = attended((case, &world), Mask::Every, &x, &Weights([&q, &k, &v, &out]));
            let wrong = y.iter().zip(&want).position(|(found, want)| found.to_f32() != *want);
            let shown = wrong.map(|at| (at / WIDTH, at % WIDTH, y[at], want[at]));
            assert_eq!(shown, None, "{:?} over {:?}: token, column, found, wanted", case.heads, case.axes);
        }
    }
}

/// A number between -1 and 1.
fn any(seed: u64, row: usize, column: usize) -> f32 {
    let mut x = (row as u64) << 32 ^ column as u64 ^ seed << 20;
    x = (x ^ x >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x >> 40) as f32 / (1 << 23) as f32 - 1.0
}

#[test]
fn each_head_is_one_devices_to_the_bit() {
    let x = |row, column| any(1, row, column);
    let [q, k, v, out] = [2, 3, 4, 5].map(|seed| move |row, column| any(seed, row, column) / 4.0);
    for case in &CASES[1..4] {
        let weights = Weights([&q, &k, &v, &out]);
        let world = |ranks| World::simulators(ranks).expect("a world");
        let own = (case, &world(case.made().ranks()));
        let (y, each) = attended(own, Mask::Causal, &x, &weights);
        let (whole, all) = attended((&case.alone(), &world(1)), Mask::Causal, &x, &weights);
        assert!(each == all && each.iter().all(|head| head.len() == TOKENS * D), "{:?}", case.heads);
        for (place, (found, want)) in y.iter().zip(&whole).enumerate() {
            let (found, want) = (found.to_f32(), want.to_f32());
            assert!((found - want).abs() <= 0.02 * (1.0 + want.abs()), "{place}: {found}, alone {want}");
        }
    }
}

/// `x` through a block in float64: attention of the normed tokens, then two layers of the normed sums.
fn block(x: &mut [Vec<f64>], [queries, keys]: [usize; 2], weights: &[Matrix<'_>; 6]) {
    let [q, k, v, out, first, second] = weights;
    let at = |of: &Matrix<'_>, row, column| f64::from(bf16::from_f32(of(row, column)).to_f32());
    let times = |x: &[Vec<f64>], of: &Matrix<'_>, wide: usize| -> Vec<Vec<f64>> {
        let row = |x: &Vec<f64>| {
            (0..wide).map(|j| x.iter().enumerate().map(|(i, x)| x * at(of, i, j)).sum()).collect()
        };
        x.iter().map(row).collect()
    };
    let normed = |x: &[Vec<f64>]| -> Vec<Vec<f64>> {
        let row = |x: &Vec<f64>| {
            let mean = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
            x.iter().map(|x| x / (mean + 1e-5).sqrt()).collect()
        };
        x.iter().map(row).collect()
    };
    let own = normed(x);
    let (q, k, v) = (times(&own, q, queries * D), times(&own, k, keys * D), times(&own, v, keys * D));
    let mut attended = vec![vec![0.0; queries * D]; x.len()];
    for token in 0..x.len() {
        for head in 0..queries {
            let (from, group) = (head * D, head * keys / queries * D);
            let seen = token / LENGTH * LENGTH..token + 1;
            let score = |other: usize| {
                (0..D).map(|i| q[token][from + i] * k[other][group + i]).sum::<f64>() / (D as f64).sqrt()
            };
            let weights: Vec<f64> = seen.clone().map(|other| score(other).exp()).collect();
            let sum: f64 = weights.iter().sum();
            for i in 0..D {
                let all = seen.clone().zip(&weights).map(|(other, weight)| weight * v[other][group + i]);
                attended[token][from + i] = all.sum::<f64>() / sum;
            }
        }
    }
    let add = |x: &mut [Vec<f64>], more: Vec<Vec<f64>>| {
        x.iter_mut().flatten().zip(more.into_iter().flatten()).for_each(|(x, more)| *x += more);
    };
    add(x, times(&attended, out, WIDTH));
    let mut hidden = times(&normed(x), first, HIDDEN);
    hidden.iter_mut().flatten().for_each(|value| *value = value.max(0.0));
    add(x, times(&hidden, second, WIDTH));
}

#[test]
fn a_transformers_block_is_one_devices() {
    let x = |row, column| any(11, row, column);
    let small = |seed| move |row, column| any(seed, row, column) / 8.0;
    let weights = [12, 13, 14, 15, 16, 17].map(small);
    let each: [Matrix<'_>; 6] = std::array::from_fn(|number| &weights[number] as Matrix<'_>);
    for case in &CASES[..4] {
        let heads = case.made();
        let what = Attention { mask: Mask::Causal, ..Attention::default() };
        let parts = World::simulators(heads.ranks()).expect("a world").run(|member| {
            let (stream, rows) = (member.device().stream(), TOKENS / member.size());
            let wide: Vec<usize> = (0..WIDTH).collect();
            let share = HIDDEN / member.size();
            let hidden: Vec<usize> = (member.rank() * share..(member.rank() + 1) * share).collect();
            let attention = by_heads(member, &heads, &Weights([each[0], each[1], each[2], each[3]]))?;
            let layers = (upload(member, each[4], &wide, &hidden)?, upload(member, each[5], &hidden, &wide)?);
            let layers = Layers::new(member, &stream, layers, rows)?;
            let ones = || member.device().upload(&[bf16::from_f32(1.0); WIDTH], [WIDTH]);
            let mut block = Block::new(&stream, (attention, layers), [ones()?, ones()?], rows)?;
            let mut x = upload(member, &x, &tokens(member), &wide)?;
            let beside = Beside::new(member, 0)?;
            // One block behind the other.
            for _ in 0..2 {
                block.run(member, (&stream, &beside), &what, &mut x)?;
            }
            member.wait(&stream)?;
            Ok(x.download()?)
        });
        let found = parts.unwrap_or_else(|error| panic!("{:?}: {error}", case.heads)).concat();
        let start =
            |row| (0..WIDTH).map(|column| f64::from(bf16::from_f32(x(row, column)).to_f32())).collect();
        let mut want: Vec<Vec<f64>> = (0..TOKENS).map(start).collect();
        (0..2).for_each(|_| block(&mut want, case.heads, &each));
        // A unit of bf16 at the largest element, for each of the eight roundings of a block, twice.
        let largest = want.iter().flatten().fold(0.0_f64, |most, value| most.max(value.abs()));
        let most = found
            .iter()
            .zip(want.iter().flatten())
            .map(|(found, want)| (f64::from(found.to_f32()) - want).abs());
        let most = most.fold(0.0_f64, f64::max);
        println!("{:?} over {:?}: {most:.4} of {largest:.2}", case.heads, case.axes);
        assert!(most <= largest / 256.0 * 4.0, "{:?}: {most} of {largest}", case.heads);
        let moved = want.iter().flatten().zip((0..TOKENS * WIDTH).map(|i| x(i / WIDTH, i % WIDTH)));
        assert!(
            moved.into_iter().any(|(after, before)| (after - f64::from(before)).abs() > 8.0 * most),
            "it does something"
        );
    }
}

#[test]
fn heads_that_no_layout_splits_are_refused() {
    let square = Mesh::new([("data", 2), ("model", 2)]).expect("a mesh");
    let heads = |queries, keys, groups: &[&'static str], within: &[&'static str]| {
        let made = Heads::new(&square, [queries, keys], groups.iter().copied(), within.iter().copied());
        made.map(drop).map_err(|error| error.to_string())
    };
    let cases = [
        (heads(7, 3, &["data", "model"], &[]), "7 heads of queries on 3 of keys; give a multiple"),
        (heads(0, 0, &["data", "model"], &[]), "0 heads of queries on 0"),
        (heads(8, 4, &["model"], &[]), "axis `data` of data=2,model=2 splits no heads, so that 2 devices"),
        (heads(8, 4, &["model"], &["model", "data"]), "axis `model` splits the tensor already"),
        (heads(8, 4, &["model", "data", "gpu"], &[]), "no axis is named `gpu`"),
    ];
    for (result, words) in cases {
        let error = result.expect_err(words);
        assert!(error.contains(words), "{error}");
    }
    assert_eq!(heads(8, 4, &["data"], &["model"]), Ok(()));

    // Weights of another shape on one rank are refused on all.
    let made = Heads::new(&Mesh::new([("gpu", 2)]).expect("a mesh"), [4, 2], ["gpu"], []).expect("heads");
    let result = World::simulators(2).expect("a world").run(|member| {
        let stream = member.device().stream();
        let columns = (2 + 2) * D + member.rank() * D;
        let weights = (stream.zeros::<bf16, 2>([WIDTH, columns])?, stream.zeros([2 * D, WIDTH])?);
        ByHeads::new(member, &stream, (&made, D), weights, [1, 8]).map(drop)
    });
    let error = result.expect_err("a wrong shape").to_string();
    assert!(
        error.contains("rank 1 refuses") && error.contains("weights of 64 x 320 and 128 x 64"),
        "{error}"
    );

    // Packed sequences are refused on all ranks, before anything is sent.
    let refused = World::simulators(2).expect("a world").run(|member| {
        let stream = member.device().stream();
        let weights = (stream.zeros::<bf16, 2>([WIDTH, 4 * D])?, stream.zeros([2 * D, WIDTH])?);
        let mut attention = ByHeads::new(member, &stream, (&made, D), weights, [1, 8])?;
        let ends = stream.upload(&[0, 16], [2])?;
        let packed = Some(Packed { queries: &ends, keys: &ends, longest: 16 });
        let what = Attention { packed, ..Attention::default() };
        let (x, mut y) = (stream.zeros([8, WIDTH])?, stream.zeros([8, WIDTH])?);
        let result = attention.run(member, (&stream, &Beside::new(member, 0)?), &what, &x, &mut y);
        Ok(matches!(result, Err(MeshError::Refused { .. })))
    });
    assert_eq!(refused, Ok(vec![true, true]));
}

#[test]
fn every_head_is_on_one_rank_with_its_keys() {
    for (ranks, keys, each) in
        (1..7).flat_map(|ranks| (1..6).flat_map(move |keys| (1..5).map(move |each| (ranks, keys, each))))
    {
        for inner in (1..=ranks).filter(|inner| ranks % inner == 0) {
            let mesh = Mesh::new([("outer", ranks / inner), ("inner", inner)]).expect("a mesh");
            let heads = Heads::new(&mesh, [keys * each, keys], ["outer"], ["inner"]).expect("heads");
            let mut seen = vec![0; keys * each];
            for rank in 0..ranks as usize {
                let own = heads.of(rank).expect("heads");
                for (place, head) in own.queries.iter().enumerate() {
                    seen[*head] += 1;
                    // What the kernel reads, in the rank's own numbers.
                    assert_eq!(own.keys[place * own.keys.len() / own.queries.len()], head / each);
                }
            }
            assert!(seen.iter().all(|count| *count == 1), "{ranks} ranks, {keys} of {each}: {seen:?}");
        }
    }
}
