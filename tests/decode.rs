//! Decoding against float64: masks, scores, head dimensions, groups of heads, lengths, pages; splits on request give the same bits in
//! every batch; nothing outside is read, whatever the tables say.

use layout_compiler::{Definition, Kernel};
use layout_cuda::{Device, Elem, Element, Error, Options, ParamSet, ParamValue, bf16, f16, testing};
use layout_kernels::attention::{Kernel as Attending, Mask, Score};
use layout_kernels::decode::{Decoding, Workspace};
use layout_kernels::kernels::decode::{combine, decode};
use layout_tests::support::cubin::becomes_fast_code;
use layout_tests::support::data::doubles;
use layout_tests::support::gpu::hopper;
use layout_tests::support::parallel::in_parallel;

/// The simulator, and a GPU with Hopper's units where there is one.
fn devices() -> Vec<Device> {
    [Some(Device::simulator()), hopper()].into_iter().flatten().collect()
}

/// A problem: heads of Q and of K, queries, elements of a head and of a value, the lengths, and what there is room for: keys of a batch,
/// or pages, keys of each and the table.
#[derive(Clone)]
struct Problem {
    heads: [usize; 2],
    queries: usize,
    depth: [usize; 2],
    lengths: Vec<i32>,
    room: Room,
    mask: Mask,
    score: Score,
    span: Option<usize>,
    kernel: Attending,
}

#[derive(Clone)]
enum Room {
    Keys(usize),
    Pages { count: usize, keys: usize, table: Vec<Vec<i32>> },
}

const USUAL: Problem = Problem {
    heads: [4, 2],
    queries: 1,
    depth: [64, 64],
    lengths: Vec::new(),
    room: Room::Keys(300),
    mask: Mask::Causal,
    score: Score::Plain,
    span: None,
    kernel: Attending::Warpgroups,
};

fn seen(mask: Mask, query: i64, key: i64) -> bool {
    match mask {
        Mask::Every => true,
        Mask::Causal => key <= query,
        Mask::Sliding(window) => key <= query && query - key < window as i64,
    }
}

impl Problem {
    fn lengths(lengths: &[i32]) -> Problem {
        Problem { lengths: lengths.to_vec(), ..USUAL }
    }

    /// Batches of K, and keys of each.
    fn places(&self) -> [usize; 2] {
        match &self.room {
            Room::Keys(keys) => [self.lengths.len(), *keys],
            Room::Pages { count, keys, .. } => [*count, *keys],
        }
    }

    /// The length that counts.
    fn keys(&self, sequence: usize) -> usize {
        let room = match &self.room {
            Room::Keys(keys) => *keys,
            Room::Pages { count: 0, .. } => 0,
            Room::Pages { keys, table, .. } => keys * table[sequence].len(),
        };
        (self.lengths[sequence].max(0) as usize).min(room)
    }

    /// The batch and the row of a key.
    fn place(&self, sequence: usize, key: usize) -> [usize; 2] {
        match &self.room {
            Room::Keys(_) => [sequence, key],
            Room::Pages { count, keys, table } => {
                [table[sequence][key / keys].clamp(0, *count as i32 - 1) as usize, key % keys]
            }
        }
    }

    /// O and the logarithms, from a launch.
    fn run<T: Element + Into<f64>>(&self, device: &Device, round: fn(f64) -> T) -> Result<Found, Error> {
        let ([heads, groups], [d, dv], batches) = (self.heads, self.depth, self.lengths.len());
        let [places, rows] = self.places();
        // K and V as batch, key, head, element in memory; what no sequence uses is no number.
        let values = |shape: [usize; 4], seed: u64| -> Vec<T> {
            doubles(shape.iter().product(), seed).into_iter().map(|value| round(value % 2.0)).collect()
        };
        let q = values([batches, heads, self.queries, d], 1);
        let mut used = vec![false; places * rows];
        for sequence in 0..batches {
            for key in 0..self.keys(sequence) {
                let [place, row] = self.place(sequence, key);
                used[place * rows + row] = true;
            }
        }
        let masked = |mut all: Vec<T>, of_row: usize| {
            for (row, _) in used.iter().enumerate().filter(|(_, used)| !**used) {
                all[row * of_row..(row + 1) * of_row].fill(round(f64::NAN));
            }
            all
        };
        let k = masked(values([places, rows, groups, d], 2), groups * d);
        let v = masked(values([places, rows, groups, dv], 3), groups * dv);
        let on_device = (
            device.upload(&q, [batches, heads, self.queries, d])?,
            device.upload(&k, [k.len()])?,
            device.upload(&v, [v.len()])?,
        );
        let lengths = device.upload(&self.lengths, [batches])?;
        let pages = match &self.room {
            Room::Keys(_) => None,
            Room::Pages { table, .. } => {
                Some(device.upload(&table.concat(), [batches, table.first().map_or(0, Vec::len)])?)
            }
        };
        let mut o = device.upload(
            &vec![round(f64::NAN); batches * heads * self.queries * dv],
            [batches, heads, self.queries, dv],
        )?;
        let mut logs = device.zeros::<f32, 3>([batches, heads, self.queries])?;
        let what = Decoding {
            mask: self.mask,
            score: self.score,
            pages: pages.as_ref(),
            span: self.span,
            kernel: Some(self.kernel),
            ..Decoding::default()
        };
        let view = |of: usize, depth: usize| {
            ([places, groups, rows, depth], [rows * groups * depth, depth, groups * depth, 1], of)
        };
        {
            let ((shape, strides, _), (v_shape, v_strides, _)) = (view(0, d), view(1, dv));
            let (k, v) = (on_device.1.part(0, shape, strides)?, on_device.2.part(0, v_shape, v_strides)?);
            let mut workspace = Workspace::default();
            let out = (&mut o.view_mut(), &mut logs);
            what.run(&device.stream(), &on_device.0.view(), &k, &v, &lengths, &mut workspace, out)?;
        }
        let doubled = |all: Vec<T>| all.into_iter().map(Into::into).collect();
        let (o, logs) = (doubled(o.download()?), logs.download()?);
        Ok(Found { problem: self.clone(), q: doubled(q), k: doubled(k), v: doubled(v), o, logs })
    }

    fn check<T: Element + Into<f64>>(&self, round: fn(f64) -> T) -> Result<(), Error> {
        for device in devices() {
            for kernel in [Attending::Warpgroups, Attending::Warps] {
                Problem { kernel, ..self.clone() }.run(&device, round)?.check();
            }
        }
        Ok(())
    }
}

/// What came out, and what went in.
struct Found {
    problem: Problem,
    q: Vec<f64>,
    k: Vec<f64>,
    v: Vec<f64>,
    o: Vec<f64>,
    logs: Vec<f32>,
}

impl Found {
    /// Every element against the definition.
    fn check(&self) {
        let Problem { heads: [heads, groups], queries, depth: [d, dv], ref lengths, mask, score, .. } =
            self.problem;
        let [_, rows] = self.problem.places();
        let about = format!("{heads} on {groups}, {queries} queries, {d}, {lengths:?}, {mask:?}, {score:?}");
        for row in 0..lengths.len() * heads * queries {
            let (sequence, head, query) = (row / (heads * queries), row / queries % heads, row % queries);
            let keys = self.problem.keys(sequence);
            let place = keys as i64 - queries as i64 + query as i64;
            let element = |all: &[f64], depth: usize, key: usize, e: usize| {
                let [batch, line] = self.problem.place(sequence, key);
                all[((batch * rows + line) * groups + head * groups / heads) * depth + e]
            };
            let of = |key: usize| {
                let product = |e: usize| self.q[row * d + e] * element(&self.k, d, key, e);
                let product = (0..d).map(product).sum::<f64>() / (d as f64).sqrt();
                match score {
                    Score::Plain => product,
                    Score::SoftCap(cap) => f64::from(cap) * (product / f64::from(cap)).tanh(),
                    Score::Alibi => {
                        let slope = 2f64.powf(-8.0 * (head + 1) as f64 / heads as f64);
                        product - slope * (place - key as i64).abs() as f64
                    }
                }
            };
            let scores: Vec<(usize, f64)> =
                (0..keys).filter(|key| seen(mask, place, *key as i64)).map(|key| (key, of(key))).collect();
            let most = scores.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = scores.iter().map(|(_, score)| (score - most).exp()).sum();
            let log = if sum > 0.0 { most + sum.ln() } else { f64::NEG_INFINITY };
            let found = f64::from(self.logs[row]);
            // `tanh_approx` is the one coarse word.
            let room = if matches!(score, Score::SoftCap(_)) { 2e-3 } else { 1e-5 };
            let close = (found - log).abs() <= room * (1.0 + log.abs()) || found == log;
            assert!(close, "{about}: logarithm of {row}: {found}, not {log}");
            for e in 0..dv {
                let part = |size: fn(f64) -> f64| {
                    let each = scores
                        .iter()
                        .map(|(key, score)| (score - most).exp() * size(element(&self.v, dv, *key, e)));
                    each.sum::<f64>() / sum.max(1e-300)
                };
                let (exact, size) = (part(|value| value), part(f64::abs));
                // Weights and result are rounded to 8 bits.
                let near = (self.o[row * dv + e] - exact).abs() <= size / 128.0 + 1e-6;
                assert!(near, "{about}: {row} {e}: {}, not {exact}", self.o[row * dv + e]);
            }
        }
    }
}

#[test]
fn every_mask_and_score() -> Result<(), Error> {
    for mask in [Mask::Every, Mask::Causal, Mask::Sliding(40)] {
        for score in [Score::Plain, Score::SoftCap(2.0), Score::Alibi] {
            Problem { mask, score, queries: 2, ..Problem::lengths(&[70, 0, 299]) }.check(bf16::from_f64)?;
            // As a device of many multiprocessors splits them.
            Problem { mask, score, queries: 2, span: Some(64), ..Problem::lengths(&[70, 0, 299]) }
                .check(bf16::from_f64)?;
        }
    }
    Ok(())
}

#[test]
fn every_head_dimension_and_group() -> Result<(), Error> {
    let shapes: [([usize; 2], [usize; 2], usize); 6] = [
        ([8, 1], [128, 128], 1),
        ([3, 3], [96, 96], 3),
        ([40, 1], [64, 64], 1),
        ([8, 2], [128, 128], 5),
        ([2, 1], [192, 128], 2),
        ([6, 2], [256, 256], 7),
    ];
    for (heads, depth, queries) in shapes {
        Problem { heads, depth, queries, ..Problem::lengths(&[131, 3]) }.check(f16::from_f64)?;
    }
    Ok(())
}

/// Lengths of every kind, also negative ones and those beyond what there is room for; none at all.
#[test]
fn every_length() -> Result<(), Error> {
    for lengths in
        [&[0, 1, 15, 16, 17, 63][..], &[64, 65, 127, 255, 299, 300], &[-7, 301, i32::MAX, i32::MIN], &[]]
    {
        for queries in [1, 3] {
            Problem { queries, ..Problem::lengths(lengths) }.check(bf16::from_f64)?;
        }
    }
    for keys in [0, 1, 5] {
        Problem { room: Room::Keys(keys), ..Problem::lengths(&[0, 2, 9]) }.check(bf16::from_f64)?;
    }
    Ok(())
}

/// Pages of any size, in any order; of numbers that no page has the nearest one is taken.
#[test]
fn pages_by_a_table() -> Result<(), Error> {
    let few: Vec<Vec<i32>> = vec![vec![4, 0, 2], vec![3, 1, 5]];
    for keys in [8, 16, 24, 64] {
        let room = Room::Pages { count: 6, keys, table: few.clone() };
        let lengths = [3 * keys as i32 - 1, 2 * keys as i32 + 7];
        Problem { room, ..Problem::lengths(&lengths) }.check(bf16::from_f64)?;
    }
    let odd = Room::Pages { count: 6, keys: 12, table: few.clone() };
    let refused =
        Problem { room: odd, ..Problem::lengths(&[3, 3]) }.run(&Device::simulator(), bf16::from_f64);
    let error = refused.map(|_| ()).expect_err("pages of 12 keys").to_string();
    assert!(error.contains("12"), "{error}");
    let wrong = vec![vec![-1, 9, i32::MAX], vec![i32::MIN, 1, 6]];
    for mask in [Mask::Causal, Mask::Sliding(50)] {
        let room = Room::Pages { count: 6, keys: 32, table: wrong.clone() };
        Problem { room, mask, ..Problem::lengths(&[96, 1000]) }.check(bf16::from_f64)?;
    }
    for (count, table) in [(0, few), (6, vec![vec![], vec![]])] {
        let room = Room::Pages { count, keys: 32, table };
        Problem { room, ..Problem::lengths(&[5, 0]) }.check(bf16::from_f64)?;
    }
    Ok(())
}

/// With splits on request a sequence has the same bits alone and beside others; and as many splits as keys need.
#[test]
fn splits_on_request_know_nothing_of_the_batch() -> Result<(), Error> {
    for device in devices() {
        let of = |lengths: &[i32], span| {
            Problem { span: Some(span), room: Room::Keys(700), ..Problem::lengths(lengths) }
                .run(&device, bf16::from_f64)
        };
        for span in [1, 100, 128, 5000] {
            let alone = of(&[600], span)?;
            alone.check();
            let beside = of(&[600, 40, 700], span)?;
            beside.check();
            let count = alone.o.len();
            // The first sequence's operands are the same numbers in both.
            assert_eq!((&beside.o[..count], &beside.logs[..4]), (&alone.o[..], &alone.logs[..]), "{span}");
        }
    }
    Ok(())
}

/// Orders of warps, blocks and asynchronous copies: no finding, and the definition's values.
#[test]
fn every_order() -> Result<(), Error> {
    let options = Options { schedules: 12, ..Options::default() };
    let room = Room::Pages { count: 4, keys: 48, table: vec![vec![2, 0, 3, 1]; 2] };
    let problem = Problem { room, queries: 2, span: Some(96), ..Problem::lengths(&[190, 77]) };
    testing::replaced(&decode::DEFINITION, &decode::DEFINITION, options, || {
        testing::replaced(&combine::DEFINITION, &combine::DEFINITION, options, || {
            problem.run(&Device::simulator(), bf16::from_f64)
        })
    })?
    .check();
    Ok(())
}

/// What a GPU runs: no spills.
#[test]
fn the_texts_become_cubins() {
    let of = |definition: &'static Definition| definition.kernel().expect("bytes of this version");
    let (decoding, combining) = (of(&decode::DEFINITION), of(&combine::DEFINITION));
    let mut sets: Vec<(&Kernel, ParamSet)> = vec![(&combining, ParamSet::default())];
    let pages = Device::simulator().zeros::<i32, 2>([1, 1]).expect("a number");
    let kinds = [
        (Mask::Causal, Score::Plain, Some(&pages), 4, Elem::F32),
        (Mask::Every, Score::Plain, None, 32, Elem::Bf16),
        (Mask::Sliding(9), Score::SoftCap(1.0), None, 32, Elem::F32),
        (Mask::Every, Score::Plain, None, 32, Elem::F32),
        (Mask::Every, Score::Plain, None, 4, Elem::F32),
        (Mask::Causal, Score::Plain, None, 32, Elem::F32),
    ];
    for depth in [[64, 64], [96, 96], [128, 128], [192, 128], [256, 256]] {
        for (mask, score, pages, rows, out) in kinds {
            let what = Decoding { mask, score, pages, ..Decoding::default() };
            let set = what.set(Elem::Bf16, depth, rows, 16).with("U", ParamValue::Type(out));
            // Of every card: two stages of the widest heads fit a block of sm_80.
            let own = set.clone().with("TMA", ParamValue::Bool(false)).with("STAGES", ParamValue::Int(2));
            sets.extend([(&decoding, set), (&decoding, own)]);
        }
        for (rows, out) in [(4, Elem::F32), (32, Elem::F32), (32, Elem::F16)] {
            let set = Decoding::default().set(Elem::F16, depth, rows, 16);
            sets.push((&decoding, set.with("U", ParamValue::Type(out))));
        }
    }
    in_parallel(&sets, |(kernel, set)| becomes_fast_code(kernel, set));
}
