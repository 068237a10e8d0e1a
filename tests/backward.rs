//! Attention backward against float64: every mask and score, head dimensions, groups of heads, odd lengths, packed sequences; the same bits
//! twice; no spills.

use layout_compiler::Definition;
use layout_cuda::{Device, Elem, Element, Error, Options, ParamValue, Tensor, bf16, f16, testing};
use layout_kernels::attention::{Attention, Kernel, Mask, Packed, Score};
use layout_kernels::backward::{Changes, Forward, Workspace};
use layout_kernels::kernels::backward::{finish, of_keys, of_queries, prepare};
use layout_kernels::kernels::backward_mma::{of_keys_mma, of_queries_mma};
use layout_tests::support::cubin::{becomes_fast_code, becomes_fast_code_of};
use layout_tests::support::data::doubles;
use layout_tests::support::gpu::hopper;
use layout_tests::support::parallel::in_parallel;
use std::ops::Range;

/// The simulator, and a GPU with Hopper's units where there is one.
fn devices() -> Vec<Device> {
    [Some(Device::simulator()), hopper()].into_iter().flatten().collect()
}

/// Batches, heads of Q and of K, queries and keys, elements of a head and of a value, the description, and where packed sequences end.
#[derive(Clone, Copy, Debug)]
struct Problem {
    batches: usize,
    heads: [usize; 2],
    rows: [usize; 2],
    depth: [usize; 2],
    mask: Mask,
    score: Score,
    ends: Option<[&'static [i32]; 2]>,
    deterministic: bool,
    kernel: Kernel,
}

const SMALL: Problem = Problem {
    batches: 1,
    heads: [2, 1],
    rows: [70, 150],
    depth: [64, 64],
    mask: Mask::Causal,
    score: Score::Plain,
    ends: None,
    deterministic: false,
    kernel: Kernel::Warpgroups,
};

/// A tensor as the host has it: batch, head, row, element.
struct Values {
    shape: [usize; 4],
    all: Vec<f64>,
}

impl Values {
    fn new<T: Element + Into<f64>>(shape: [usize; 4], seed: u64, round: fn(f64) -> T) -> Values {
        let all = doubles(shape.iter().product(), seed).into_iter();
        Values { shape, all: all.map(|value| round(value % 2.0).into()).collect() }
    }

    fn zeros(shape: [usize; 4]) -> Values {
        Values { shape, all: vec![0.0; shape.iter().product()] }
    }

    fn place(&self, [batch, head, row]: [usize; 3]) -> usize {
        let [_, heads, rows, depth] = self.shape;
        ((batch * heads + head) * rows + row) * depth
    }

    fn row(&self, at: [usize; 3]) -> &[f64] {
        let first = self.place(at);
        &self.all[first..first + self.shape[3]]
    }

    /// Some rows of every head.
    fn part(&self, rows: &Range<usize>) -> Values {
        let [batches, heads, _, depth] = self.shape;
        let mut part = Values::zeros([batches, heads, rows.len(), depth]);
        for (head, row) in (0..heads).flat_map(|head| (0..rows.len()).map(move |row| (head, row))) {
            part.add([0, head, row], 1.0, self.row([0, head, rows.start + row]));
        }
        part
    }

    /// Puts rows of every head in the place of those from `first` on.
    fn put(&mut self, first: usize, part: &Values) {
        let [_, heads, rows, depth] = part.shape;
        for (head, row) in (0..heads).flat_map(|head| (0..rows).map(move |row| (head, row))) {
            let to = self.place([0, head, first + row]);
            self.all[to..to + depth].copy_from_slice(part.row([0, head, row]));
        }
    }

    fn add(&mut self, at: [usize; 3], factor: f64, row: &[f64]) {
        let first = self.place(at);
        for (to, value) in self.all[first..].iter_mut().zip(row) {
            *to += factor * value;
        }
    }

    /// On a device as batch, row, head, element.
    fn upload<T: Element>(&self, device: &Device, round: fn(f64) -> T) -> Result<Tensor<T, 4>, Error> {
        let [batches, heads, rows, depth] = self.shape;
        let strides = [rows * heads * depth, depth, heads * depth, 1];
        let mut permuted = vec![T::from_bits(0); self.all.len()];
        for batch in 0..batches {
            for (head, row) in (0..heads).flat_map(|head| (0..rows).map(move |row| (head, row))) {
                for (e, value) in self.row([batch, head, row]).iter().enumerate() {
                    permuted[batch * strides[0] + head * strides[1] + row * strides[2] + e] = round(*value);
                }
            }
        }
        device.upload_strided(&permuted, self.shape, strides)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// O, the logarithms, and the three changes with the sizes of what they are sums of.
struct Exact {
    o: Values,
    logs: Vec<f32>,
    changes: [Values; 3],
    sizes: [Values; 3],
}

impl Problem {
    fn operands<T: Element + Into<f64>>(&self, round: fn(f64) -> T) -> [Values; 4] {
        let Problem { batches, heads: [heads, groups], rows: [m, n], depth: [d, dv], .. } = *self;
        let shapes = [
            [batches, heads, m, d],
            [batches, groups, n, d],
            [batches, groups, n, dv],
            [batches, heads, m, dv],
        ];
        let mut seed = 0;
        shapes.map(|shape| {
            seed += 1;
            Values::new(shape, seed, round)
        })
    }

    /// The score of a product, and what it grows by as the product does.
    fn score(&self, product: f64, head: usize, distance: i64) -> (f64, f64) {
        match self.score {
            Score::Plain => (product, 1.0),
            Score::SoftCap(cap) => {
                let part = (product / f64::from(cap)).tanh();
                (f64::from(cap) * part, 1.0 - part * part)
            }
            Score::Alibi => {
                let slope = 2f64.powf(-8.0 * (head + 1) as f64 / self.heads[0] as f64);
                (product - slope * distance.abs() as f64, 1.0)
            }
        }
    }

    /// The rows of the sequences of queries and of keys, ends out of range taken as the nearest that are in it.
    fn sequences(&self) -> Vec<[Range<usize>; 2]> {
        let Some(ends) = self.ends else { return vec![[0..self.rows[0], 0..self.rows[1]]] };
        let of = |which: usize, z: usize| {
            let rows = self.rows[which] as i32;
            let first = ends[which][z].clamp(0, rows);
            first as usize..ends[which][z + 1].clamp(first, rows) as usize
        };
        (0..ends[0].len() - 1).map(|z| [of(0, z), of(1, z)]).collect()
    }

    /// Each sequence as if it were alone; what belongs to none stays no number.
    fn exact(&self, operands: &[Values; 4]) -> Exact {
        if self.ends.is_none() {
            return self.alone(operands);
        }
        let [q, k, v, d_o] = operands;
        let (m, all) = (self.rows[0], || [q, k, v].map(|of| Values::zeros(of.shape)));
        let mut whole = Exact {
            o: Values::zeros(d_o.shape),
            logs: vec![f32::NEG_INFINITY; self.heads[0] * m],
            changes: all(),
            sizes: all(),
        };
        whole.changes.iter_mut().for_each(|change| change.all.fill(f64::NAN));
        for [queries, keys] in self.sequences() {
            let parts = [q.part(&queries), k.part(&keys), v.part(&keys), d_o.part(&queries)];
            let one = Problem { rows: [queries.len(), keys.len()], ends: None, ..*self }.alone(&parts);
            whole.o.put(queries.start, &one.o);
            for head in 0..self.heads[0] {
                let to = head * m + queries.start;
                let from = &one.logs[head * queries.len()..(head + 1) * queries.len()];
                whole.logs[to..to + queries.len()].copy_from_slice(from);
            }
            for (which, rows) in [&queries, &keys, &keys].into_iter().enumerate() {
                whole.changes[which].put(rows.start, &one.changes[which]);
                whole.sizes[which].put(rows.start, &one.sizes[which]);
            }
        }
        whole
    }

    fn alone(&self, [q, k, v, d_o]: &[Values; 4]) -> Exact {
        let Problem { batches, heads: [heads, groups], rows: [m, n], depth: [d, _], .. } = *self;
        let scale = 1.0 / (d as f64).sqrt();
        let mut o = Values::zeros(d_o.shape);
        let mut logs = Vec::new();
        let all = || [q, k, v].map(|of| Values::zeros(of.shape));
        let (mut changes, mut sizes) = (all(), all());
        let sized = |row: &[f64]| row.iter().map(|value| value.abs()).collect::<Vec<_>>();
        for row in 0..batches * heads * m {
            let at = [row / (heads * m), row / m % heads, row % m];
            let (group, place) = (at[1] * groups / heads, (at[2] + n) as i64 - m as i64);
            let seen = |key: &usize| match self.mask {
                Mask::Every => true,
                Mask::Causal => *key as i64 <= place,
                Mask::Sliding(window) => *key as i64 <= place && place - (*key as i64) < window as i64,
            };
            let keys: Vec<usize> = (0..n).filter(seen).collect();
            let scores: Vec<(f64, f64)> = keys
                .iter()
                .map(|key| {
                    let product = dot(q.row(at), k.row([at[0], group, *key])) * scale;
                    self.score(product, at[1], place - *key as i64)
                })
                .collect();
            let most = scores.iter().map(|(score, _)| *score).fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = scores.iter().map(|(score, _)| (score - most).exp()).sum();
            logs.push(if sum > 0.0 { (most + sum.ln()) as f32 } else { f32::NEG_INFINITY });
            let weights: Vec<f64> = scores.iter().map(|(score, _)| (score - most).exp() / sum).collect();
            for (key, weight) in keys.iter().zip(&weights) {
                o.add(at, *weight, v.row([at[0], group, *key]));
            }
            let whole = dot(d_o.row(at), o.row(at));
            for ((key, weight), (_, slope)) in keys.iter().zip(&weights).zip(&scores) {
                let there = [at[0], group, *key];
                let d_p = dot(d_o.row(at), v.row(there));
                let d_s = scale * slope * weight * (d_p - whole);
                // What rounding may lose: of dP and D, of the weight and of what is multiplied.
                let room = scale * weight * (dot(&sized(d_o.row(at)), &sized(v.row(there))) + whole.abs());
                changes[0].add(at, d_s, k.row(there));
                changes[1].add(there, d_s, q.row(at));
                changes[2].add(there, *weight, d_o.row(at));
                sizes[0].add(at, room, &sized(k.row(there)));
                sizes[1].add(there, room, &sized(q.row(at)));
                sizes[2].add(there, *weight, &sized(d_o.row(at)));
            }
        }
        Exact { o, logs, changes, sizes }
    }

    /// The three changes, from a device.
    fn run<T: Element + Into<f64>>(
        &self,
        device: &Device,
        (operands, exact): (&[Values; 4], &Exact),
        round: fn(f64) -> T,
    ) -> Result<[Vec<f64>; 3], Error> {
        let [q, k, v, d_o] = operands;
        let [q, k, v, d_o, o] = [
            q.upload(device, round)?,
            k.upload(device, round)?,
            v.upload(device, round)?,
            d_o.upload(device, round)?,
            exact.o.upload(device, round)?,
        ];
        let [batches, heads, m, _] = exact.o.shape;
        let logs = device.upload(&exact.logs, [batches, heads, m])?;
        let nothing = |of: &Tensor<T, 4>| {
            device.upload_strided(&vec![round(f64::NAN); of.len()], of.shape(), of.strides())
        };
        let (mut d_q, mut d_k, mut d_v) = (nothing(&q)?, nothing(&k)?, nothing(&v)?);
        let [q_ends, k_ends] = self.ends.unwrap_or([&[]; 2]).map(|ends| device.upload(ends, [ends.len()]));
        let (q_ends, k_ends) = (q_ends?, k_ends?);
        let packed = self.ends.map(|_| Packed { queries: &q_ends, keys: &k_ends, longest: m });
        let Problem { mask, score, deterministic, kernel, .. } = *self;
        let what =
            Attention { mask, score, packed, deterministic, kernel: Some(kernel), ..Attention::default() };
        {
            let of = Forward { q: &q.view(), k: &k.view(), v: &v.view(), o: &o.view(), logs: &logs };
            let (mut of_q, mut of_k, mut of_v) = (d_q.view_mut(), d_k.view_mut(), d_v.view_mut());
            let to = Changes { q: &mut of_q, k: &mut of_k, v: &mut of_v };
            what.backward(&device.stream(), &of, &d_o.view(), &mut Workspace::default(), to)?;
        }
        let by_head = |tensor: &Tensor<T, 4>| -> Result<Vec<f64>, Error> {
            let ([batches, heads, rows, depth], all) = (tensor.shape(), tensor.download()?);
            let of = |at: usize| {
                let (e, row, head) = (at % depth, at / depth % rows, at / (depth * rows) % heads);
                let batch = at / (depth * rows * heads);
                all[((batch * rows + row) * heads + head) * depth + e].into()
            };
            Ok((0..batches * heads * rows * depth).map(of).collect())
        };
        Ok([by_head(&d_q)?, by_head(&d_k)?, by_head(&d_v)?])
    }

    fn check<T: Element + Into<f64>>(&self, round: fn(f64) -> T) -> Result<(), Error> {
        self.check_of(&self.operands(round), round)
    }

    fn check_of<T: Element + Into<f64>>(
        &self,
        operands: &[Values; 4],
        round: fn(f64) -> T,
    ) -> Result<(), Error> {
        let exact = self.exact(operands);
        // Of the kernels by warps the bits are the same in every run, asked for or not.
        let kernels = [Kernel::Warpgroups, Kernel::Warps];
        let kernels = &kernels[..if self.deterministic { 1 } else { 2 }];
        let all =
            devices().into_iter().flat_map(|device| kernels.iter().map(move |one| (device.clone(), *one)));
        for (device, kernel) in all {
            let found = Problem { kernel, ..*self }.run(&device, (operands, &exact), round)?;
            for (name, at) in ["dQ", "dK", "dV"].into_iter().zip(0..) {
                let (wanted, sizes) = (&exact.changes[at], &exact.sizes[at]);
                for (i, value) in found[at].iter().enumerate() {
                    // Weights, dS, O and the result are rounded to 8 bits; `tanh_approx` is coarse.
                    let near = (value - wanted.all[i]).abs() <= sizes.all[i] / 64.0 + 1e-5
                        || value.is_nan() && wanted.all[i].is_nan();
                    assert!(
                        near,
                        "{kernel:?}, {self:?}: {name} {i}: {value}, not {} within {}",
                        wanted.all[i],
                        sizes.all[i] / 64.0
                    );
                }
            }
        }
        Ok(())
    }
}

#[test]
fn every_mask_and_score() -> Result<(), Error> {
    for mask in [Mask::Every, Mask::Causal, Mask::Sliding(40)] {
        for score in [Score::Plain, Score::SoftCap(2.0), Score::Alibi] {
            for deterministic in [false, true] {
                Problem { mask, score, deterministic, ..SMALL }.check(bf16::from_f64)?;
            }
        }
    }
    Ok(())
}

#[test]
fn every_head_dimension_and_group() -> Result<(), Error> {
    for (depth, heads) in [([128, 128], [3, 3]), ([96, 96], [4, 1]), ([32, 32], [2, 2]), ([128, 64], [2, 1])]
    {
        Problem { depth, heads, rows: [130, 129], ..SMALL }.check(f16::from_f64)?;
    }
    Ok(())
}

#[test]
fn every_length() -> Result<(), Error> {
    for rows in [[1, 1], [1, 300], [64, 63], [200, 3], [129, 257], [3, 0], [0, 3]] {
        for mask in [Mask::Every, Mask::Causal] {
            Problem { batches: 2, rows, mask, ..SMALL }.check(bf16::from_f64)?;
        }
    }
    Ok(())
}

/// Tiles of eight heads at once, and of the two that are left.
#[test]
fn ten_heads() -> Result<(), Error> {
    Problem { batches: 5, heads: [2, 2], rows: [140, 150], ..SMALL }.check(bf16::from_f64)
}

const PACKED: Problem = Problem {
    heads: [4, 2],
    rows: [260, 300],
    ends: Some([&[0, 1, 1, 200, 250], &[0, 30, 31, 140, 290]]),
    ..SMALL
};

/// One of a row, one without a query, some that reach over the end of a tile; and rows that belong to none.
#[test]
fn packed_sequences() -> Result<(), Error> {
    for mask in [Mask::Every, Mask::Causal, Mask::Sliding(33)] {
        Problem { mask, ..PACKED }.check(bf16::from_f64)?;
    }
    for (depth, score) in [([128, 128], Score::SoftCap(2.0)), ([96, 96], Score::Alibi)] {
        Problem { depth, score, heads: [2, 1], ..PACKED }.check(f16::from_f64)?;
    }
    Ok(())
}

/// What is no number in one sequence stays in it, although tiles of the other one reach over.
#[test]
fn a_sequence_knows_nothing_of_the_next() -> Result<(), Error> {
    let problem = Problem { mask: Mask::Every, ends: Some([&[0, 100, 260], &[0, 70, 300]]), ..PACKED };
    let mut operands = problem.operands(bf16::from_f64);
    for (operand, first) in operands.iter_mut().zip([100, 70, 70, 100]) {
        let [_, heads, rows, depth] = operand.shape;
        for head in 0..heads {
            operand.all[(head * rows + first) * depth..(head + 1) * rows * depth].fill(f64::NAN);
        }
    }
    problem.check_of(&operands, bf16::from_f64)
}

/// Ends beyond the tensor, and out of order, are the nearest ones within it.
#[test]
fn wrong_ends_reach_nothing_outside() -> Result<(), Error> {
    let ends: [&[i32]; 2] = [&[-5, 100, 400, 90], &[-3, 200, 1000, 7]];
    Problem { ends: Some(ends), ..PACKED }.check(bf16::from_f64)
}

/// Orders of warps, blocks and asynchronous copies: no finding, and the same bits.
#[test]
fn every_order() -> Result<(), Error> {
    let [long, packed] =
        [Problem { rows: [140, 200], deterministic: true, ..SMALL }, Problem { heads: [1, 1], ..PACKED }];
    let kernel = Kernel::Warps;
    for problem in [long, packed, Problem { kernel, ..long }, Problem { kernel, ..packed }] {
        let operands = problem.operands(bf16::from_f64);
        let exact = problem.exact(&operands);
        let device = Device::simulator();
        let usual = problem.run(&device, (&operands, &exact), bf16::from_f64)?;
        let options = Options { schedules: 6, ..Options::default() };
        let [keys, queries] = match problem.kernel {
            Kernel::Warpgroups => [&of_keys::DEFINITION, &of_queries::DEFINITION],
            Kernel::Warps => [&of_keys_mma::DEFINITION, &of_queries_mma::DEFINITION],
        };
        let again = testing::replaced(keys, keys, options, || {
            testing::replaced(queries, queries, options, || {
                problem.run(&device, (&operands, &exact), bf16::from_f64)
            })
        })?;
        let same =
            usual.iter().flatten().zip(again.iter().flatten()).all(|(a, b)| a.to_bits() == b.to_bits());
        assert!(same, "{problem:?}: another order gave other bits");
    }
    Ok(())
}

/// What a GPU runs: no spills, products that are not one after the other.
#[test]
fn the_texts_become_cubins() {
    let of = |definition: &'static Definition| definition.kernel().expect("bytes of this version");
    let device = Device::simulator();
    let [keys, queries, first, last] =
        [&of_keys::DEFINITION, &of_queries::DEFINITION, &prepare::DEFINITION, &finish::DEFINITION].map(of);
    let mut sets =
        vec![(&first, layout_cuda::ParamSet::default()), (&last, layout_cuda::ParamSet::default())];
    for depth in [[64, 64], [96, 96], [128, 128]] {
        for (mask, score) in [
            (Mask::Every, Score::Plain),
            (Mask::Causal, Score::SoftCap(1.0)),
            (Mask::Sliding(9), Score::Alibi),
        ] {
            let what = Attention { mask, score, ..Attention::default() };
            let [set, _] = what.backward_sets(&device, Elem::Bf16, depth);
            sets.push((&keys, set));
            let [set, _] =
                Attention { deterministic: true, ..what }.backward_sets(&device, Elem::Bf16, depth);
            sets.extend([&keys, &queries].map(|kernel| (kernel, set.clone())));
            if depth == [128, 128] {
                let packed = set.with("PACKED", ParamValue::Bool(true));
                sets.extend([&keys, &queries].map(|kernel| (kernel, packed.clone())));
            }
        }
    }
    in_parallel(&sets, |(kernel, set)| becomes_fast_code(kernel, set));
    let [keys, queries] = [&of_keys_mma::DEFINITION, &of_queries_mma::DEFINITION].map(of);
    let mut sets = Vec::new();
    for depth in [[32, 32], [64, 64], [96, 96], [128, 64], [128, 128]] {
        for mask in [Mask::Every, Mask::Causal, Mask::Sliding(9)] {
            for score in [Score::Plain, Score::SoftCap(1.0), Score::Alibi] {
                let what = Attention { mask, score, kernel: Some(Kernel::Warps), ..Attention::default() };
                let [of_k, of_q] = what.backward_sets(&device, Elem::Bf16, depth);
                let packed = |set: &layout_cuda::ParamSet| set.clone().with("PACKED", ParamValue::Bool(true));
                sets.extend([
                    (&keys, packed(&of_k)),
                    (&queries, packed(&of_q)),
                    (&keys, of_k),
                    (&queries, of_q),
                ]);
            }
        }
    }
    // The sums fill the registers, or ptxas takes half of them for two blocks at once: a few addresses are spilled.
    // Each set for the oldest architecture, and for one of the others by turns.
    let turns: Vec<_> = sets.iter().zip(["sm_89", "sm_90a", "sm_120"].into_iter().cycle()).collect();
    in_parallel(&turns, |((kernel, set), other)| {
        [&"sm_80", other].iter().for_each(|arch| becomes_fast_code_of(kernel, set, arch, 160));
    });
}
