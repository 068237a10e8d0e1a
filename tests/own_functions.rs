//! Attention with functions of one's own, by `attention_with!` and `decode_with!`: against float64, and what the library's own functions
//! make under them is the library's text.

use layout_compiler::{Definition, ParamSet, Promises, compile, emit};
use layout_cuda::{Device, Error, bf16};
use layout_kernels::attention::{Attention, Mask, Own};
use layout_kernels::decode::{Decoding, Workspace};
use layout_kernels::kernels;
use layout_tests::support::data::doubles;
use layout_tests::support::gpu::hopper;

layout_kernels::attention_with! {
    (KEEP = same_document, RANGE = of_documents, SCORE = nearer)
    mod documents {
        /// Documents of `window` keys; in an odd head of an even batch only every other key.
        fn same_document(batch: i32, head: i32, query: i32, key: i32, window: i32) -> bool {
            query / window == key / window && key <= query && (batch % 2 == 1 || head % 2 == 0 || key % 2 == 0)
        }

        fn of_documents(first: i32, last: i32, keys: i32, window: i32) -> (i32, i32, i32, i32) {
            ((first / window * window).clamp(0, keys), last.clamp(0, keys), 0, 0)
        }

        fn nearer(score: f32, _batch: i32, head: i32, query: i32, key: i32, strength: f32) -> f32 {
            score - strength * (head + 1) as f32 * (query - key) as f32
        }
    }
}

layout_kernels::decode_with! {
    (KEEP = every_third, RANGE = all_in_doubt, SCORE = plain)
    mod thirds {
        fn every_third(_batch: i32, head: i32, _query: i32, key: i32, window: i32) -> bool {
            key % window == head
        }

        fn all_in_doubt(_first: i32, _last: i32, keys: i32, _window: i32) -> (i32, i32, i32, i32) {
            (0, keys, 0, 0)
        }
    }
}

layout_kernels::attention_with! {
    (KEEP = causal, RANGE = keys_before, SCORE = plain)
    mod same_forward {}
}
layout_kernels::decode_with! {
    (KEEP = causal, RANGE = keys_before, SCORE = plain)
    mod same_decoding {}
}
layout_kernels::backward_with! {
    (KEEP = causal, RANGE = keys_before, SCORE = plain, SLOPE = one)
    mod same_backward {}
}

/// Tensors of batch, head, row, element, compact.
const DEPTH: usize = 64;

/// `softmax` of the scores that a function gives, `None` of what is not seen, times the values.
fn row(values: &[f64], scores: &[Option<f64>]) -> Vec<f64> {
    let most = scores.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    let weight = |score: &Option<f64>| score.map_or(0.0, |score| (score - most).exp());
    let sum: f64 = scores.iter().map(weight).sum();
    let of = |e: usize| {
        scores.iter().enumerate().map(|(key, score)| weight(score) * values[key * DEPTH + e]).sum::<f64>()
            / sum
    };
    (0..DEPTH).map(of).collect()
}

/// Two batches, two heads, so many rows: noise as bf16, and the same as doubles.
fn operand(rows: usize, seed: u64) -> (Vec<bf16>, Vec<f64>) {
    let values: Vec<bf16> =
        doubles(4 * rows * DEPTH, seed).into_iter().map(|value| bf16::from_f64(value % 2.0)).collect();
    let doubled = values.iter().map(|value| f64::from(*value)).collect();
    (values, doubled)
}

/// Each row of O against the definition with this score, `None` where a key is not seen.
fn check(
    [q, k, v]: [&[f64]; 3],
    [queries, keys]: [usize; 2],
    o: &[bf16],
    score: impl Fn([i64; 4], f64) -> Option<f64>,
) {
    for at in 0..4 * queries {
        let (batch, head, query) = (at / (2 * queries), at / queries % 2, at % queries);
        let place = (query + keys - queries) as i64;
        let (own, first) = (&q[at * DEPTH..(at + 1) * DEPTH], (at / queries) * keys * DEPTH);
        let of = |key: usize| {
            let other = &k[first + key * DEPTH..first + (key + 1) * DEPTH];
            let product = own.iter().zip(other).map(|(a, b)| a * b).sum::<f64>() / 8.0;
            score([batch as i64, head as i64, place, key as i64], product)
        };
        let exact = row(&v[first..], &(0..keys).map(of).collect::<Vec<_>>());
        for (e, exact) in exact.into_iter().enumerate() {
            let found = f64::from(o[at * DEPTH + e]);
            assert!((found - exact).abs() < 0.02, "{batch} {head} {query} {e}: {found}, not {exact}");
        }
    }
}

#[test]
fn functions_of_ones_own() -> Result<(), Error> {
    const ROWS: usize = 200;
    let [(q, q_values), (k, k_values), (v, v_values)] = [1, 2, 3].map(|seed| operand(ROWS, seed));
    for device in [Some(Device::simulator()), hopper()].into_iter().flatten() {
        let shape = [2, 2, ROWS, DEPTH];
        let [q, k, v] = [&q, &k, &v].map(|values| device.upload(values, shape));
        let (q, k, v) = (q?, k?, v?);
        let (mut o, mut logs) = (device.zeros::<bf16, 4>(shape)?, device.zeros::<f32, 3>([2, 2, ROWS])?);
        let own = Own { kernel: &documents::attention::DEFINITION, window: 70, strength: 0.25 };
        // What the description says besides of masks does not count.
        let what = Attention { own: Some(own), mask: Mask::Sliding(1), ..Attention::default() };
        what.run(&device.stream(), &q, &k, &v, &mut o, &mut logs)?;
        check(
            [&q_values, &k_values, &v_values],
            [ROWS; 2],
            &o.download()?,
            |[batch, head, query, key], product| {
                let seen = query / 70 == key / 70
                    && key <= query
                    && (batch % 2 == 1 || head % 2 == 0 || key % 2 == 0);
                seen.then_some(product - 0.25 * (head + 1) as f64 * (query - key) as f64)
            },
        );
    }
    Ok(())
}

#[test]
fn functions_of_ones_own_in_decoding() -> Result<(), Error> {
    const KEYS: usize = 150;
    let [(q, q_values), (k, k_values), (v, v_values)] =
        [(2, 1), (KEYS, 2), (KEYS, 3)].map(|(rows, seed)| operand(rows, seed));
    for device in [Some(Device::simulator()), hopper()].into_iter().flatten() {
        let q = device.upload(&q, [2, 2, 2, DEPTH])?;
        let [k, v] = [&k, &v].map(|values| device.upload(values, [2, 2, KEYS, DEPTH]));
        let (k, v, lengths) = (k?, v?, device.upload(&[KEYS as i32; 2], [2])?);
        let (mut o, mut logs) =
            (device.zeros::<bf16, 4>([2, 2, 2, DEPTH])?, device.zeros::<f32, 3>([2, 2, 2])?);
        let own = Own { kernel: &thirds::decode::DEFINITION, window: 3, strength: 1.0 };
        let what = Decoding { own: Some(own), span: Some(64), ..Decoding::default() };
        let (mut memory, out) = (Workspace::default(), (&mut o.view_mut(), &mut logs));
        what.run(&device.stream(), &q, &k, &v, &lengths, &mut memory, out)?;
        check([&q_values, &k_values, &v_values], [2, KEYS], &o.download()?, |[_, head, _, key], product| {
            (key % 3 == head).then_some(product)
        });
    }
    Ok(())
}

/// The text of a kernel's set, without its own name.
fn text(definition: &'static Definition, set: &ParamSet) -> String {
    let kernel = definition.kernel().expect("bytes of this version");
    let checked = compile(&kernel, &kernel.choose(set, &[]).expect("its parameters"), Promises::USUAL);
    let source = emit(&checked.expect("a set of the kernel"));
    source.text.replace(&source.entry, "kernel")
}

/// An opened module that binds what the library has is the library's.
#[test]
fn the_librarys_functions_give_the_librarys_text() {
    let device = Device::simulator();
    let causal = Attention { mask: Mask::Causal, ..Attention::default() };
    let set = |all: ParamSet| {
        ParamSet(all.0.into_iter().filter(|(name, _)| !BOUND.contains(&name.as_str())).collect())
    };
    const BOUND: [&str; 4] = ["KEEP", "RANGE", "SCORE", "SLOPE"];
    let forward = causal.set(&device, layout_cuda::Elem::Bf16, [1, 1, 64, 64], [1, 1, 64, 64]);
    let [backward, _] =
        Attention { deterministic: true, ..causal }.backward_sets(&device, layout_cuda::Elem::Bf16, [64, 64]);
    let decoding =
        Decoding { mask: Mask::Causal, ..Decoding::default() }.set(layout_cuda::Elem::Bf16, [64, 64], 4, 16);
    let cases: [(&'static Definition, &'static Definition, &ParamSet); 4] = [
        (&kernels::attention::attention::DEFINITION, &same_forward::attention::DEFINITION, &forward),
        (&kernels::decode::decode::DEFINITION, &same_decoding::decode::DEFINITION, &decoding),
        (&kernels::backward::of_keys::DEFINITION, &same_backward::of_keys::DEFINITION, &backward),
        (&kernels::backward::of_queries::DEFINITION, &same_backward::of_queries::DEFINITION, &backward),
    ];
    for (library, own, all) in cases {
        assert_eq!(text(library, all), text(own, &set(all.clone())), "{}", library.name);
    }
}
