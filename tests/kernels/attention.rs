//! Attention, decoding and their likes with the fewest stages and keys of a block: more blocks than stages, more tiles than blocks of
//! threads, an edge.
//!
//! Law: what comes out is held against the kernel itself; `tests/attention.rs`, `tests/decode.rs` and `tests/backward.rs` hold that
//! against its definition.

use crate::support::case::{Case, Outcome, Run};
use crate::support::data::doubles;
use layout_compiler::ParamValue;
use layout_cuda::{Error, Tensor, bf16};
use layout_kernels::kernels::attention::attention;
use layout_kernels::kernels::attention_mma::attention_mma;
use layout_kernels::kernels::backward::{finish, of_keys, of_queries, prepare};
use layout_kernels::kernels::backward_mma::{of_keys_mma, of_queries_mma};
use layout_kernels::kernels::decode::{combine, decode};

const EVERY: [(&str, ParamValue); 3] = [
    ("KEEP", ParamValue::Function("every")),
    ("RANGE", ParamValue::Function("all_keys")),
    ("SCORE", ParamValue::Function("plain")),
];
const CAUSAL: [(&str, ParamValue); 3] = [
    ("KEEP", ParamValue::Function("causal")),
    ("RANGE", ParamValue::Function("keys_before")),
    ("SCORE", ParamValue::Function("plain")),
];

/// A size is queries, keys, heads.
pub fn smallest() -> Vec<Case> {
    let forward = |sizes: &[[usize; 3]]| Case::new(&attention::DEFINITION, sizes.to_vec(), forward);
    let of = |d, keys| [("D", d), ("DV", d), ("BN", keys), ("SMS", 1)];
    let of_warps = |d, rows| [("D", d), ("DV", d), ("BM", 64), ("BN", 32), ("ROWS", rows)];
    let packed = |is| [&CAUSAL[..], &[("PACKED", ParamValue::Bool(is))]].concat();
    let decoding = |rows, d, paged, tma| {
        let numbers = [("D", d), ("DV", d), ("ROWS", rows), ("WARPS", 2), ("STAGES", 2), ("CHUNK", 8)];
        let others = packed(false).into_iter().map(|(name, value)| match name {
            "PACKED" => ("PAGED", ParamValue::Bool(paged)),
            _ => (name, value),
        });
        let others = others.chain([("TMA", ParamValue::Bool(tma))]);
        Case::new(&decode::DEFINITION, vec![[1, 150, 2]], decoded).at(&numbers, &others.collect::<Vec<_>>())
    };
    let back = |case: Case, packed: bool, summed: bool| {
        let own = [("PACKED", ParamValue::Bool(packed)), ("SUMMED", ParamValue::Bool(summed))];
        let rest = [&EVERY[..], &own].concat();
        let (consumers, moving) = if summed { (2, 64) } else { (1, 32) };
        case.at(&[("D", 32), ("DV", 32), ("CONSUMERS", consumers), ("MOVING", moving)], &rest)
    };
    let back_by_warps = |case: Case, packed: bool, stages| {
        let rest = [&CAUSAL[..], &[("PACKED", ParamValue::Bool(packed))]].concat();
        case.at(&[("D", 32), ("DV", 32), ("WARPS", 2), ("STAGES", stages)], &rest)
    };
    vec![
        forward(&[[130, 200, 1]]).at(&of(64, 64), &EVERY),
        forward(&[[40, 150, 1]]).at(&of(64, 64), &packed(true)),
        // There is no room for O beside, and products and weights are not computed at once.
        forward(&[[130, 100, 1]]).at(&of(256, 48), &EVERY),
        Case::new(&attention_mma::DEFINITION, vec![[130, 100, 2], [70, 0, 1]], forward_by_warps)
            .at(&of_warps(64, 1), &EVERY),
        Case::new(&attention_mma::DEFINITION, vec![[70, 100, 1]], forward_by_warps)
            .at(&of_warps(32, 2), &packed(true)),
        decoding(16, 64, false, true),
        decoding(32, 128, true, true),
        decoding(16, 64, true, false),
        Case::new(&combine::DEFINITION, vec![[2, 5, 3]], combined).at(&[("DV", 32), ("GROUPS", 4)], &[]),
        Case::new(&prepare::DEFINITION, vec![[70, 0, 2]], prepared).at(&[("DV", 32)], &[]),
        back(Case::new(&of_keys::DEFINITION, vec![[130, 70, 1]], changed_keys), false, false),
        back(Case::new(&of_queries::DEFINITION, vec![[70, 130, 1]], changed_queries), false, false),
        back(Case::new(&of_keys::DEFINITION, vec![[60, 100, 1]], changed_keys), true, false),
        back(Case::new(&of_queries::DEFINITION, vec![[100, 60, 1]], changed_queries), true, false),
        back(Case::new(&of_keys::DEFINITION, vec![[260, 130, 1]], changed_keys), false, true),
        back_by_warps(
            Case::new(&of_keys_mma::DEFINITION, vec![[130, 60, 2], [0, 40, 1]], keys_by_warps),
            false,
            2,
        ),
        back_by_warps(
            Case::new(&of_queries_mma::DEFINITION, vec![[60, 130, 2], [40, 0, 1]], queries_by_warps),
            false,
            1,
        ),
        back_by_warps(Case::new(&of_keys_mma::DEFINITION, vec![[200, 60, 1]], keys_by_warps), true, 1),
        back_by_warps(Case::new(&of_queries_mma::DEFINITION, vec![[60, 200, 1]], queries_by_warps), true, 2),
        Case::new(&finish::DEFINITION, vec![[70, 0, 2]], finished).at(&[("D", 32)], &[]),
    ]
}

/// Batch, head, row, element.
fn values(run: &Run<'_>, shape: [usize; 4], seed: u64) -> Result<Tensor<bf16, 4>, Error> {
    let all = doubles(shape.iter().product(), seed).into_iter().map(bf16::from_f64);
    run.device.upload(&all.collect::<Vec<_>>(), shape)
}

fn is(run: &Run<'_>, name: &str) -> bool {
    run.set.get(name) == Some(ParamValue::Bool(true))
}

/// Where the two sequences of queries and of keys end, nothing where they are not packed.
fn ends(run: &Run<'_>) -> Result<[Tensor<i32, 1>; 2], Error> {
    let of = |rows: usize| {
        let all = [0, rows as i32 / 3, rows as i32];
        let all = if is(run, "PACKED") { &all[..] } else { &[] };
        run.device.upload(all, [all.len()])
    };
    Ok([of(run.size[0])?, of(run.size[1])?])
}

/// The operands of a forward and its launch.
macro_rules! forward {
    ($name:ident, $kernel:ident) => {
        fn $name(run: &Run<'_>) -> Result<Outcome, Error> {
            let ([m, n, heads], [d, dv]) = (run.size, ["D", "DV"].map(|name| run.number(name)));
            let (q, k) = (values(run, [1, heads, m, d], 1)?, values(run, [1, heads, n, d], 2)?);
            let v = values(run, [1, heads, n, dv], 3)?;
            let [q_ends, k_ends] = ends(run)?;
            let mut o = run.device.zeros::<bf16, 4>([1, heads, m, dv])?;
            let mut logs = run.device.zeros::<f32, 3>([1, heads, m])?;
            let (config, stream, scale) = (run.config(), run.stream(), 1.0 / (d as f32).sqrt());
            $kernel::launch_with(
                config, &stream, &q, &k, &v, &q_ends, &k_ends, &mut o, &mut logs, m, scale, 1.0, 0,
            )?;
            Ok(Outcome::own(o.download()?).and(Outcome::own(logs.download()?)))
        }
    };
}

forward!(forward, attention);
forward!(forward_by_warps, attention_mma);

/// Heads that share one of K; pages of 24 keys out of order.
fn decoded(run: &Run<'_>) -> Result<Outcome, Error> {
    let ([m, n, heads], [d, dv]) = (run.size, ["D", "DV"].map(|name| run.number(name)));
    let paged = is(run, "PAGED");
    let (places, rows) = if paged { (n.div_ceil(24), 24) } else { (1, n) };
    let (q, k) = (values(run, [1, heads, m, d], 1)?, values(run, [places, 1, rows, d], 2)?);
    let v = values(run, [places, 1, rows, dv], 3)?;
    let lengths = run.device.upload(&[n as i32 - 3], [1])?;
    let table: Vec<i32> = if paged { (0..places as i32).rev().collect() } else { Vec::new() };
    let pages = run.device.upload(&table, [usize::from(paged), table.len()])?;
    let mut o = run.device.zeros::<f32, 4>([1, heads, m, dv])?;
    let mut logs = run.device.zeros::<f32, 3>([1, heads, m])?;
    let (config, stream, scale) = (run.config(), run.stream(), 1.0 / (d as f32).sqrt());
    decode::launch_with(
        config,
        &stream,
        &q,
        &k,
        &v,
        &lengths,
        &pages,
        &mut o,
        &mut logs,
        1 << 20,
        scale,
        1.0,
        0,
    )?;
    Ok(Outcome::own(o.download()?).and(Outcome::own(logs.download()?)))
}

/// A size is queries, splits, heads.
fn combined(run: &Run<'_>) -> Result<Outcome, Error> {
    let ([m, splits, heads], dv) = (run.size, run.number("DV"));
    let of = |shape: &[usize], seed| {
        let count = shape.iter().product();
        doubles(count, seed).into_iter().map(|value| value as f32).collect::<Vec<f32>>()
    };
    let parts = run.device.upload(&of(&[splits, heads, m, dv], 1), [splits, heads, m, dv])?;
    let logs = run.device.upload(&of(&[splits, heads, m], 2), [splits, heads, m])?;
    let mut o = run.device.zeros::<bf16, 4>([1, heads, m, dv])?;
    let mut of_all = run.device.zeros::<f32, 3>([1, heads, m])?;
    combine::launch_with(run.config(), &run.stream(), &parts, &logs, &mut o, &mut of_all)?;
    Ok(Outcome::own(o.download()?).and(Outcome::own(of_all.download()?)))
}

fn prepared(run: &Run<'_>) -> Result<Outcome, Error> {
    let ([m, _, heads], dv) = (run.size, run.number("DV"));
    let (o, d_o) = (values(run, [1, heads, m, dv], 1)?, values(run, [1, heads, m, dv], 2)?);
    let logs = run.device.zeros::<f32, 3>([1, heads, m])?;
    let mut facts = run.device.zeros::<f32, 4>([1, heads, 2, m.next_multiple_of(128)])?;
    let mut sums =
        run.device.zeros::<f32, 2>([heads * (m.next_multiple_of(128) / 64) * run.number("D") / 4, 256])?;
    prepare::launch_with(run.config(), &run.stream(), &o, &d_o, &logs, &mut facts, &mut sums)?;
    Ok(Outcome::own(facts.download()?))
}

fn finished(run: &Run<'_>) -> Result<Outcome, Error> {
    let ([m, _, heads], d) = (run.size, run.number("D"));
    let rows = heads * (m.next_multiple_of(128) / 64) * d / 4;
    let sums: Vec<f32> = doubles(rows * 256, 1).into_iter().map(|value| value as f32).collect();
    let sums = run.device.upload(&sums, [rows, 256])?;
    let mut d_q = run.device.zeros::<bf16, 4>([1, heads, m, d])?;
    finish::launch_with(run.config(), &run.stream(), &sums, &mut d_q)?;
    Ok(Outcome::own(d_q.download()?))
}

/// Q, K, V, the change of O, and of each query the logarithm and the sum.
type Backward = ([Tensor<bf16, 4>; 4], Tensor<f32, 4>);

fn backward(run: &Run<'_>) -> Result<Backward, Error> {
    backward_of(run, if is(run, "PACKED") { 4 } else { 1 })
}

/// With so many copies of the facts.
fn backward_of(run: &Run<'_>, copies: usize) -> Result<Backward, Error> {
    let ([m, n, heads], [d, dv]) = (run.size, ["D", "DV"].map(|name| run.number(name)));
    let (q, k) = (values(run, [1, heads, m, d], 1)?, values(run, [1, 1, n, d], 2)?);
    let (v, d_o) = (values(run, [1, 1, n, dv], 3)?, values(run, [1, heads, m, dv], 4)?);
    let rows = (m + 2 * copies - 2).next_multiple_of(128);
    let facts = (0..heads * 2 * copies * rows).map(|at| {
        // Each copy is a place farther on.
        let (place, fact, copy) = (at % rows, at / rows % 2, at / (2 * rows) % copies);
        match (fact, place >= copy && place - copy < m) {
            (0, true) => 8.0,
            (0, false) => f32::INFINITY,
            _ => (place.saturating_sub(copy) % 7) as f32,
        }
    });
    let facts = run.device.upload(&facts.collect::<Vec<f32>>(), [1, heads, 2 * copies, rows])?;
    Ok(([q, k, v, d_o], facts))
}

fn changed_keys(run: &Run<'_>) -> Result<Outcome, Error> {
    let ([q, k, v, d_o], facts) = backward(run)?;
    let mut d_k = run.device.zeros::<bf16, 4>(k.shape())?;
    let mut d_v = run.device.zeros::<bf16, 4>(v.shape())?;
    let [_, heads, queries, d] = q.shape();
    let of_all = if is(run, "SUMMED") { heads * (queries.next_multiple_of(128) / 64) * (d / 4) } else { 0 };
    let mut sums = run.device.zeros::<f32, 2>([of_all, 256])?;
    let (config, stream) = (run.config(), run.stream());
    let [q_ends, k_ends] = ends(run)?;
    of_keys::launch_with(
        config, &stream, &q, &k, &v, &d_o, &q_ends, &k_ends, &facts, &mut sums, &mut d_k, &mut d_v, 0.125,
        1.0, 0,
    )?;
    let kept = Outcome::own(d_k.download()?).and(Outcome::own(d_v.download()?));
    Ok(kept.and(Outcome::own(sums.download()?)))
}

fn changed_queries(run: &Run<'_>) -> Result<Outcome, Error> {
    let ([q, k, v, d_o], facts) = backward(run)?;
    let mut d_q = run.device.zeros::<bf16, 4>(q.shape())?;
    let (config, stream) = (run.config(), run.stream());
    let [q_ends, k_ends] = ends(run)?;
    of_queries::launch_with(
        config, &stream, &q, &k, &v, &d_o, &q_ends, &k_ends, &facts, &mut d_q, 0.125, 1.0, 0,
    )?;
    Ok(Outcome::own(d_q.download()?))
}

fn keys_by_warps(run: &Run<'_>) -> Result<Outcome, Error> {
    let ([q, k, v, d_o], facts) = backward_of(run, 1)?;
    let mut d_k = run.device.zeros::<bf16, 4>(k.shape())?;
    let mut d_v = run.device.zeros::<bf16, 4>(v.shape())?;
    let (config, stream) = (run.config(), run.stream());
    let [q_ends, k_ends] = ends(run)?;
    of_keys_mma::launch_with(
        config, &stream, &q, &k, &v, &d_o, &q_ends, &k_ends, &facts, &mut d_k, &mut d_v, 0.125, 1.0, 0,
    )?;
    Ok(Outcome::own(d_k.download()?).and(Outcome::own(d_v.download()?)))
}

fn queries_by_warps(run: &Run<'_>) -> Result<Outcome, Error> {
    let ([q, k, v, d_o], facts) = backward_of(run, 1)?;
    let mut d_q = run.device.zeros::<bf16, 4>(q.shape())?;
    let (config, stream) = (run.config(), run.stream());
    let [q_ends, k_ends] = ends(run)?;
    of_queries_mma::launch_with(
        config, &stream, &q, &k, &v, &d_o, &q_ends, &k_ends, &facts, &mut d_q, 0.125, 1.0, 0,
    )?;
    Ok(Outcome::own(d_q.download()?))
}
