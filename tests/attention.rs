//! Attention against float64: every mask, score and head dimension, odd lengths, packed sequences, strides, groups of heads; the
//! simulator's findings, and bounds by element.

use layout_cuda::{
    Device, Elem, Element, Error, Options, ParamSet, ParamValue, Tensor, TensorView, TensorViewMut, bf16,
    f16, testing,
};
use layout_kernels::attention::{Attention, Kernel, Mask, Packed, Score};
use layout_kernels::kernels::attention::attention;
use layout_kernels::kernels::attention_mma::attention_mma;
use layout_tests::support::cubin::{becomes_fast_code, becomes_fast_code_of};
use layout_tests::support::data::doubles;
use layout_tests::support::gpu::hopper;
use layout_tests::support::parallel::in_parallel;

/// The simulator, and a GPU with Hopper's units where there is one.
fn devices() -> Vec<Device> {
    [Some(Device::simulator()), hopper()].into_iter().flatten().collect()
}

/// Sizes of a problem: batches, heads of Q, heads of K, queries, keys, elements of a head, of a value.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    batches: usize,
    heads: [usize; 2],
    rows: [usize; 2],
    depth: [usize; 2],
}

const SMALL: Sizes = Sizes { batches: 1, heads: [2, 1], rows: [65, 130], depth: [64, 64] };

/// Batch, place, head, element in memory, or batch, head, place, element; the strides of batch, head, place, element.
fn strides([_, heads, rows, depth]: [usize; 4], by_place: bool) -> [usize; 4] {
    match by_place {
        true => [rows * heads * depth, depth, heads * depth, 1],
        false => [heads * rows * depth, rows * depth, depth, 1],
    }
}

struct Operand<T: Element> {
    values: Vec<f64>,
    shape: [usize; 4],
    strides: [usize; 4],
    on_device: Tensor<T, 1>,
}

impl<T: Element + Into<f64>> Operand<T> {
    fn new(
        device: &Device,
        shape: [usize; 4],
        by_place: bool,
        seed: u64,
        round: fn(f64) -> T,
    ) -> Result<Self, Error> {
        let count = shape.iter().product::<usize>();
        let rounded: Vec<T> = doubles(count, seed).into_iter().map(|value| round(value % 2.0)).collect();
        let values = rounded.iter().map(|value| (*value).into()).collect();
        let on_device = device.upload(&rounded, [count])?;
        Ok(Operand { values, shape, strides: strides(shape, by_place), on_device })
    }

    fn view(&self) -> Result<TensorView<'_, T, 4>, Error> {
        self.on_device.part(0, self.shape, self.strides)
    }

    fn at(&self, [b, h, i, d]: [usize; 4]) -> f64 {
        let [sb, sh, si, sd] = self.strides;
        self.values[b * sb + h * sh + i * si + d * sd]
    }
}

fn seen(mask: Mask, query: i64, key: i64) -> bool {
    match mask {
        Mask::Every => true,
        Mask::Causal => key <= query,
        Mask::Sliding(window) => key <= query && query - key < window as i64,
    }
}

/// Launches of both kernels: their operands, and O and logarithms of each.
struct Launched<T: Element> {
    sizes: Sizes,
    plan: (Mask, Score),
    operands: [Operand<T>; 3],
    o_strides: [usize; 4],
    results: Vec<(Vec<f64>, Vec<f32>)>,
}

/// Other parameters than the description's, of Hopper's kernel.
type Change = fn(ParamSet) -> ParamSet;

/// What an element holds that nobody writes.
const UNTOUCHED: f64 = 77.0;

impl<T: Element + Into<f64>> Launched<T> {
    fn new(
        device: &Device,
        sizes: Sizes,
        plan: (Mask, Score),
        (by_place, ends): (bool, Option<[&[i32]; 2]>),
        round: fn(f64) -> T,
    ) -> Result<Self, Error> {
        let Sizes { batches, heads: [heads, groups], rows: [m, n], depth: [d, dv] } = sizes;
        let q = Operand::new(device, [batches, heads, m, d], by_place, 1, round)?;
        let k = Operand::new(device, [batches, groups, n, d], by_place, 2, round)?;
        let v = Operand::new(device, [batches, groups, n, dv], by_place, 3, round)?;
        Launched::of(device, (sizes, plan), [q, k, v], (by_place, ends), round)
    }

    fn of(
        device: &Device,
        (sizes, plan): (Sizes, (Mask, Score)),
        operands: [Operand<T>; 3],
        (by_place, ends): (bool, Option<[&[i32]; 2]>),
        round: fn(f64) -> T,
    ) -> Result<Self, Error> {
        Launched::changed(device, (sizes, plan), operands, (by_place, ends), (round, |set| set))
    }

    /// The same with other parameters.
    fn changed(
        device: &Device,
        (sizes, plan): (Sizes, (Mask, Score)),
        operands: [Operand<T>; 3],
        (by_place, ends): (bool, Option<[&[i32]; 2]>),
        (round, change): (fn(f64) -> T, Change),
    ) -> Result<Self, Error> {
        let Sizes { batches, heads: [heads, groups], rows: [m, n], depth: [d, dv] } = sizes;
        let o_shape = [batches, heads, m, dv];
        let (o_strides, count) = (strides(o_shape, by_place), o_shape.iter().product());
        let none: [&[i32]; 2] = [&[]; 2];
        let [queries, keys] = ends.unwrap_or(none);
        let longest = queries.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0).max(0) as usize;
        let (queries, keys) = (device.upload(queries, [queries.len()])?, device.upload(keys, [keys.len()])?);
        let packed = ends.map(|_| Packed { queries: &queries, keys: &keys, longest });
        let mut results = Vec::new();
        for kernel in [Kernel::Warpgroups, Kernel::Warps] {
            let mut o = device.upload(&vec![round(UNTOUCHED); count], [count])?;
            let mut logs =
                device.upload(&vec![UNTOUCHED as f32; batches * heads * m], [batches, heads, m])?;
            let what = Attention {
                mask: plan.0,
                score: plan.1,
                packed,
                kernel: Some(kernel),
                ..Attention::default()
            };
            let [q, k, v] = &operands;
            let mut out: TensorViewMut<'_, T, 4> = o.part_mut(0, o_shape, o_strides)?;
            let own = what.set(device, T::ELEM, [batches, heads, m, d], [batches, groups, n, dv]);
            let set = if kernel == Kernel::Warpgroups { change(own) } else { own };
            what.run_with(&set, &device.stream(), &q.view()?, &k.view()?, &v.view()?, &mut out, &mut logs)?;
            results.push((o.download()?.into_iter().map(Into::into).collect(), logs.download()?));
        }
        Ok(Launched { sizes, plan, operands, o_strides, results })
    }

    /// The weights of a query, not divided by their sum, and the logarithm of the sum.
    fn weights(
        &self,
        [batch, head, i]: [usize; 3],
        [q_from, k_from]: [usize; 2],
        place: i64,
        keys: usize,
    ) -> (Vec<f64>, f64) {
        let Sizes { heads: [heads, groups], depth: [d, _], .. } = self.sizes;
        let [q, k, _] = &self.operands;
        let (group, scale) = (head * groups / heads, 1.0 / (d as f64).sqrt());
        let score = |j: usize| {
            let product = |e: usize| q.at([batch, head, q_from + i, e]) * k.at([batch, group, k_from + j, e]);
            let score = (0..d).map(product).sum::<f64>() * scale;
            match self.plan.1 {
                Score::Plain => score,
                Score::SoftCap(cap) => f64::from(cap) * (score / f64::from(cap)).tanh(),
                Score::Alibi => {
                    score
                        - 2f64.powf(-8.0 * (head + 1) as f64 / heads as f64) * (place - j as i64).abs() as f64
                }
            }
        };
        let seen = |j: usize| seen(self.plan.0, place, j as i64);
        let scores: Vec<f64> =
            (0..keys).map(|j| if seen(j) { score(j) } else { f64::NEG_INFINITY }).collect();
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> =
            scores.iter().map(|score| if most.is_finite() { (score - most).exp() } else { 0.0 }).collect();
        let sum: f64 = weights.iter().sum();
        (weights, if sum > 0.0 { most + sum.ln() } else { f64::NEG_INFINITY })
    }

    /// Every element of these sequences (batch, rows of Q, rows of K) against the definition; no other one is written.
    fn check(&self, sequences: &[(usize, [usize; 2], [usize; 2])]) {
        self.results.iter().for_each(|(o, logs)| self.check_one(sequences, o, logs));
    }

    fn check_one(&self, sequences: &[(usize, [usize; 2], [usize; 2])], o: &[f64], logs: &[f32]) {
        let Sizes { heads: [heads, groups], rows: [m, _], depth: [_, dv], .. } = self.sizes;
        let about = format!("{:?} {:?}", self.sizes, self.plan);
        let mut written = vec![false; o.len()];
        for (batch, [q_from, q_to], [k_from, k_to]) in sequences.iter().copied() {
            let (queries, keys) = (q_to - q_from, k_to - k_from);
            for (head, i) in (0..heads).flat_map(|head| (0..queries).map(move |i| (head, i))) {
                let place = i as i64 + keys as i64 - queries as i64;
                let (weights, log) = self.weights([batch, head, i], [q_from, k_from], place, keys);
                let found = f64::from(logs[(batch * heads + head) * m + q_from + i]);
                // `tanh_approx` is the one coarse word.
                let room = if matches!(self.plan.1, Score::SoftCap(_)) { 2e-3 } else { 1e-5 };
                let close = (found - log).abs() <= room * (1.0 + log.abs()) || found == log;
                assert!(close, "{about}: logarithm of {batch} {head} {i}: {found}, not {log}");
                let sum = weights.iter().sum::<f64>().max(1e-300);
                for e in 0..dv {
                    let value = |j: usize| self.operands[2].at([batch, head * groups / heads, k_from + j, e]);
                    let part = |size: fn(f64) -> f64| {
                        (0..keys).map(|j| weights[j] * size(value(j))).sum::<f64>() / sum
                    };
                    let (exact, size) = (part(|value| value), part(f64::abs));
                    let [sb, sh, si, _] = self.o_strides;
                    let at = batch * sb + head * sh + (q_from + i) * si + e;
                    written[at] = true;
                    // Weights and result are rounded to 8 bits.
                    let near = (o[at] - exact).abs() <= size / 128.0 + 1e-6;
                    assert!(near, "{about}: {batch} {head} {i} {e}: {}, not {exact}", o[at]);
                }
            }
        }
        let stray = written.iter().zip(o).position(|(written, value)| !written && *value != UNTOUCHED);
        assert_eq!(stray, None, "{about}: an element that no sequence has was written");
    }
}

/// One launch against the definition in float64.
fn check<T: Element + Into<f64>>(
    device: &Device,
    sizes: Sizes,
    plan: (Mask, Score),
    by_place: bool,
    round: fn(f64) -> T,
) -> Result<(), Error> {
    let whole = |batch| (batch, [0, sizes.rows[0]], [0, sizes.rows[1]]);
    let sequences: Vec<_> = (0..sizes.batches).map(whole).collect();
    Launched::new(device, sizes, plan, (by_place, None), round)?.check(&sequences);
    Ok(())
}

/// The sequences that tables of ends say.
fn sequences([queries, keys]: [&[i32]; 2]) -> Vec<(usize, [usize; 2], [usize; 2])> {
    let pair = |ends: &[i32]| [ends[0] as usize, ends[1] as usize];
    queries.windows(2).zip(keys.windows(2)).map(|(q, k)| (0, pair(q), pair(k))).collect()
}

#[test]
fn every_mask_and_score() -> Result<(), Error> {
    for device in devices() {
        for mask in [Mask::Every, Mask::Causal, Mask::Sliding(40)] {
            for score in [Score::Plain, Score::SoftCap(2.0), Score::Alibi] {
                check(&device, SMALL, (mask, score), true, bf16::from_f64)?;
            }
        }
    }
    Ok(())
}

/// Of one tile to four for each head, and heads that fill the last round or do not.
#[test]
fn tiles_in_pairs() -> Result<(), Error> {
    for device in devices() {
        let masks = [Mask::Causal, Mask::Sliding(250)];
        for (turn, (rows, heads)) in
            [(70, [3, 1]), (200, [1, 1]), (390, [3, 3]), (580, [2, 1])].into_iter().enumerate()
        {
            // The simulator takes the masks by turns.
            let some = if device.is_simulator() { &masks[turn % 2..][..1] } else { &masks[..] };
            for mask in some.iter().copied() {
                let sizes = Sizes { heads, rows: [rows, rows + 7], depth: [64, 64], batches: 1 };
                let [shape, kv] = [[1, heads[0], rows, 64], [1, heads[1], rows + 7, 64]];
                let q = Operand::new(&device, shape, true, 1, bf16::from_f64)?;
                let k = Operand::new(&device, kv, true, 2, bf16::from_f64)?;
                let v = Operand::new(&device, kv, true, 3, bf16::from_f64)?;
                let change: Change = |set| set.with("PAIRED", ParamValue::Bool(true));
                let (plan, round) =
                    ((sizes, (mask, Score::Plain)), (bf16::from_f64 as fn(f64) -> bf16, change));
                Launched::changed(&device, plan, [q, k, v], (true, None), round)?.check(&[(
                    0,
                    [0, rows],
                    [0, rows + 7],
                )]);
            }
        }
    }
    Ok(())
}

/// Tiles come in pairs where K and V are read from memory again and again, and the last round is nearly full.
#[test]
fn which_tiles_come_in_pairs() {
    let device = Device::simulator();
    let paired = |mask, q, v| {
        let set = Attention { mask, ..Attention::default() }.set(&device, Elem::Bf16, q, v);
        set.get("PAIRED") == Some(ParamValue::Bool(true))
    };
    let of = |batches, heads, length| [batches, heads, length, 128];
    assert!(paired(Mask::Causal, of(4, 16, 4096), of(4, 16, 4096)));
    assert!(paired(Mask::Sliding(1024), of(32, 16, 512), of(32, 16, 512)));
    // Every key; K and V that stay in L2; long sequences; an odd number of items on the simulator's two blocks.
    assert!(!paired(Mask::Every, of(4, 16, 4096), of(4, 16, 4096)));
    assert!(!paired(Mask::Causal, of(4, 16, 4096), of(4, 2, 4096)));
    assert!(!paired(Mask::Causal, of(1, 16, 16384), of(1, 16, 16384)));
    assert!(!paired(Mask::Causal, of(5, 1, 200), of(5, 1, 12000)));
    // Any numbers are taken.
    assert!(paired(Mask::Causal, of(usize::MAX, 9, 200), of(usize::MAX, 9, 200)));
}

#[test]
fn every_head_dimension() -> Result<(), Error> {
    for device in devices() {
        for depth in [[96, 96], [128, 128], [192, 128], [256, 256], [32, 32]] {
            let sizes = Sizes { rows: [130, 129], depth, ..SMALL };
            check(&device, sizes, (Mask::Causal, Score::Plain), false, f16::from_f64)?;
        }
    }
    Ok(())
}

#[test]
fn every_length() -> Result<(), Error> {
    for device in devices() {
        for rows in [[1, 1], [1, 300], [64, 63], [200, 3], [193, 257], [3, 0], [0, 3]] {
            let sizes = Sizes { batches: 2, heads: [3, 3], rows, ..SMALL };
            for mask in [Mask::Every, Mask::Causal] {
                check(&device, sizes, (mask, Score::Plain), true, bf16::from_f64)?;
            }
        }
    }
    Ok(())
}

const PACKED: Sizes = Sizes { batches: 1, heads: [4, 2], rows: [260, 300], depth: [64, 64] };

#[test]
fn packed_sequences() -> Result<(), Error> {
    let ends: [&[i32]; 2] = [&[0, 1, 1, 200, 250], &[0, 30, 31, 140, 290]];
    for device in devices() {
        for mask in [Mask::Every, Mask::Causal, Mask::Sliding(33)] {
            let plan = (mask, Score::Plain);
            Launched::new(&device, PACKED, plan, (true, Some(ends)), bf16::from_f64)?.check(&sequences(ends));
        }
    }
    Ok(())
}

/// More than a warp counts at once, many of them empty, a long one among short ones.
#[test]
fn many_packed_sequences() -> Result<(), Error> {
    let mut ends = vec![0];
    for number in 0..70 {
        let length = [0, 1, 0, 3, 2, 0, 1][number % 7] + if number == 40 { 150 } else { 0 };
        ends.push((ends[number] + length).min(260));
    }
    let ends: [&[i32]; 2] = [&ends, &ends];
    for device in devices() {
        let plan = (Mask::Causal, Score::Plain);
        Launched::new(&device, PACKED, plan, (true, Some(ends)), bf16::from_f64)?.check(&sequences(ends));
    }
    Ok(())
}

/// Launches of both kernels with these options.
fn in_every_order<R>(options: Options, launches: impl FnOnce() -> R) -> R {
    let [first, second] = [Kernel::Warpgroups, Kernel::Warps].map(Kernel::definition);
    testing::replaced(first, first, options, || testing::replaced(second, second, options, launches))
}

/// Orders of warps, blocks and asynchronous copies: no finding, and the definition's values.
#[test]
fn every_order() -> Result<(), Error> {
    let options = Options { schedules: 8, ..Options::default() };
    let device = Device::simulator();
    for (mask, depth) in [(Mask::Every, [128, 128]), (Mask::Causal, [64, 64]), (Mask::Sliding(50), [96, 96])]
    {
        let sizes = Sizes { rows: [193, 257], depth, ..SMALL };
        in_every_order(options, || check(&device, sizes, (mask, Score::Plain), true, bf16::from_f64))?;
    }
    let ends: [&[i32]; 2] = [&[0, 1, 1, 200, 250], &[0, 30, 31, 140, 290]];
    in_every_order(options, || {
        let plan = (Mask::Causal, Score::Plain);
        Launched::new(&device, PACKED, plan, (true, Some(ends)), bf16::from_f64)
    })?
    .check(&sequences(ends));
    Ok(())
}

/// What is no number in one sequence stays in it, although the other one's last block of keys reaches over.
#[test]
fn a_sequence_knows_nothing_of_the_next() -> Result<(), Error> {
    let ends: [&[i32]; 2] = [&[0, 100, 260], &[0, 70, 300]];
    for device in devices() {
        let Sizes { heads: [heads, groups], rows: [m, n], depth: [d, dv], .. } = PACKED;
        let q = Operand::new(&device, [1, heads, m, d], true, 1, bf16::from_f64)?;
        let k = Operand::new(&device, [1, groups, n, d], true, 2, bf16::from_f64)?;
        let mut v = Operand::new(&device, [1, groups, n, dv], true, 3, bf16::from_f64)?;
        let beyond = 70 * groups * dv;
        v.values[beyond..].fill(f64::NAN);
        let values: Vec<bf16> = v.values.iter().map(|value| bf16::from_f64(*value)).collect();
        v.on_device = device.upload(&values, [values.len()])?;
        let plan = (PACKED, (Mask::Every, Score::Plain));
        let launched = Launched::of(&device, plan, [q, k, v], (true, Some(ends)), bf16::from_f64)?;
        let [first, ..] = sequences(ends)[..] else { panic!("two sequences") };
        for (o, logs) in &launched.results {
            let (own, second) = o.split_at(100 * heads * dv);
            assert!(own.iter().all(|value| value.is_finite()));
            assert!(second.iter().all(|value| value.is_nan()), "its own values are no numbers");
            launched.check_one(&[first], &[own, &vec![UNTOUCHED; second.len()]].concat(), logs);
        }
    }
    Ok(())
}

/// Equal scores weigh equally, however low they are and however they are scaled, also where a query sees none of its first block.
#[test]
fn equal_scores_weigh_equally_at_any_size() -> Result<(), Error> {
    for device in devices() {
        // Products of -2¹⁰⁶, of -2⁶ and of zero.
        for (size, scale) in [(2f32.powi(50), None), (1.0, Some(1e9)), (0.0, Some(1e30))] {
            let queries = device.upload(&[bf16::from_f32(size); 70 * 64], [1, 1, 70, 64])?;
            let keys = device.upload(&[bf16::from_f32(-size); 130 * 64], [1, 1, 130, 64])?;
            let values = device.upload(&[bf16::from_f32(2.0); 130 * 64], [1, 1, 130, 64])?;
            for kernel in [Kernel::Warpgroups, Kernel::Warps].map(Some) {
                let mut o = device.zeros::<bf16, 4>([1, 1, 70, 64])?;
                let mut logs = device.zeros::<f32, 3>([1, 1, 70])?;
                let what = Attention { mask: Mask::Causal, scale, kernel, ..Attention::default() };
                let (q, k, v) = (queries.view(), keys.view(), values.view());
                what.run(&device.stream(), &q, &k, &v, &mut o.view_mut(), &mut logs)?;
                let (o, logs) = (o.download()?, logs.download()?);
                assert!(o.iter().all(|x| x.to_f32() == 2.0), "{size} {scale:?}: {o:?}");
                let product = -64.0 * size * size * scale.unwrap_or(0.125);
                let right = |(row, log): (usize, &f32)| {
                    (log - product - (61.0 + row as f32).ln()).abs() <= 1e-6 * product.abs().max(4.0)
                };
                assert!(logs.iter().enumerate().all(right), "{size} {scale:?}: {logs:?}");
            }
        }
    }
    Ok(())
}

/// Ends beyond the tensor, and out of order, are the nearest ones within it.
#[test]
fn wrong_ends_reach_nothing_outside() -> Result<(), Error> {
    let wrong: [&[i32]; 2] = [&[-5, 100, 400, 90], &[-3, 200, 1000, 7]];
    for device in devices() {
        let plan = (Mask::Causal, Score::Plain);
        let launched = Launched::new(&device, PACKED, plan, (false, Some(wrong)), bf16::from_f64)?;
        launched.check(&[(0, [0, 100], [0, 200]), (0, [100, 260], [200, 300])]);
    }
    Ok(())
}

/// What a GPU runs: no spills, products that are not one after the other. Each head dimension with each mask and score.
#[test]
fn the_texts_become_cubins() {
    let device = Device::simulator();
    let kernel = attention::DEFINITION.kernel().expect("bytes of this version");
    let mut sets = Vec::new();
    for depth in [[64, 64], [96, 96], [128, 128], [192, 128], [256, 256]] {
        for mask in [Mask::Every, Mask::Causal, Mask::Sliding(9)] {
            for score in [Score::Plain, Score::SoftCap(1.0), Score::Alibi] {
                sets.push(Attention { mask, score, ..Attention::default() }.set(
                    &device,
                    Elem::Bf16,
                    [1, 1, 64, depth[0]],
                    [1, 1, 64, depth[1]],
                ));
            }
        }
    }
    for mask in [Mask::Every, Mask::Causal] {
        let what = Attention { mask, ..Attention::default() };
        sets.push(what.set(&device, Elem::Bf16, [1, 1, 1 << 14, 128], [1, 1, 1 << 14, 128]));
    }
    let ends = device.upload(&[0, 1], [2]).expect("two numbers");
    let packed = Some(Packed { queries: &ends, keys: &ends, longest: 1 });
    for depth in [[64, 64], [128, 128], [256, 256]] {
        for mask in [Mask::Every, Mask::Causal, Mask::Sliding(9)] {
            let what = Attention { mask, packed, ..Attention::default() };
            sets.push(what.set(&device, Elem::Bf16, [1, 1, 64, depth[0]], [1, 1, 64, depth[1]]));
        }
    }
    // Tiles in pairs of all of them that fall.
    let falls = |set: &&ParamSet| {
        set.get("KEEP") != Some(ParamValue::Function("every"))
            && set.get("PACKED") == Some(ParamValue::Bool(false))
    };
    let paired = |set: &ParamSet| set.clone().with("PAIRED", ParamValue::Bool(true));
    let pairs: Vec<ParamSet> = sets.iter().filter(falls).map(paired).collect();
    sets.extend(pairs);
    in_parallel(&sets, |set| becomes_fast_code(&kernel, set));
    let kernel = attention_mma::DEFINITION.kernel().expect("bytes of this version");
    let of_warps = |what: Attention<'_>, [d, dv]: [usize; 2]| {
        let what = Attention { kernel: Some(Kernel::Warps), ..what };
        what.set(&device, Elem::Bf16, [1, 1, 64, d], [1, 1, 64, dv])
    };
    let mut sets = Vec::new();
    for depth in [[32, 32], [64, 64], [96, 96], [128, 128], [192, 128], [256, 256]] {
        // Two tiles of 16 queries of 96 and 128 elements fill the registers: a few addresses are spilled.
        let spilled = if depth[1] > 64 && depth[0] <= 128 { 160 } else { 0 };
        for mask in [Mask::Every, Mask::Causal, Mask::Sliding(9)] {
            for score in [Score::Plain, Score::SoftCap(1.0), Score::Alibi] {
                sets.push((of_warps(Attention { mask, score, ..Attention::default() }, depth), spilled));
            }
            sets.push((of_warps(Attention { mask, packed, ..Attention::default() }, depth), spilled));
        }
    }
    // Each set for the oldest architecture, and for one of the others by turns.
    let turns: Vec<_> = sets.iter().zip(["sm_89", "sm_90a", "sm_120"].into_iter().cycle()).collect();
    in_parallel(&turns, |((set, spilled), other)| {
        [&"sm_80", other].iter().for_each(|arch| becomes_fast_code_of(&kernel, set, arch, *spilled));
    });
}
