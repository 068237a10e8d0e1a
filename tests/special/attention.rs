//! Attention, decoding and backward: one operand has rows of every kind, the others are ordinary.
//!
//! Law: a query whose products leave float32 is not looked at. Else a query with a score that is NaN or infinite is NaN, and its
//! logarithm; one that sees nothing above minus infinity has zeros and minus infinity; and no other query's row is touched by it.

use super::bench::{Bench, Want};
use super::{Covered, Entry};
use layout_cuda::{Elem, Error, Tensor, bf16, f16};
use layout_kernels::attention::{Attention, Kernel, Mask, Packed};
use layout_kernels::backward::{Changes, Forward, Workspace};
use layout_kernels::decode::{Decoding, Workspace as Parts};
use layout_kernels::kernels::attention::attention;
use layout_kernels::kernels::attention_mma::attention_mma;
use layout_kernels::kernels::backward::{finish, of_keys, of_queries, prepare};
use layout_kernels::kernels::backward_mma::{of_keys_mma, of_queries_mma};
use layout_kernels::kernels::decode::{combine, decode};
use layout_tests::support::special::{Float, Kind, Rows};

/// Elements of a head.
const D: usize = 64;
const Q: usize = 0;
const K: usize = 1;
const V: usize = 2;
const D_O: usize = 3;

pub fn entries() -> Vec<Entry> {
    let halves = [Elem::Bf16, Elem::F16];
    let of = |all: &[&'static layout_cuda::Definition]| -> Vec<Covered> {
        all.iter().flat_map(|definition| halves.map(|elem| Covered::of(definition, elem))).collect()
    };
    vec![
        Entry::new(&of(&[&attention::DEFINITION, &attention_mma::DEFINITION]), |bench| {
            each::<bf16>(bench, [42, 40], &Kind::ALL, forward)?;
            each::<f16>(bench, [42, 40], &FEW, forward)?;
            large::<bf16>(bench, forward)?;
            packed(bench)
        }),
        Entry::new(&of(&[&decode::DEFINITION, &combine::DEFINITION]), |bench| {
            each::<bf16>(bench, [42, 70], &Kind::ALL, decoded)?;
            large::<bf16>(bench, decoded)?;
            each::<f16>(bench, [42, 70], &FEW, decoded)
        }),
        Entry::new(
            &of(&[
                &prepare::DEFINITION,
                &of_keys::DEFINITION,
                &of_queries::DEFINITION,
                &finish::DEFINITION,
                &of_keys_mma::DEFINITION,
                &of_queries_mma::DEFINITION,
            ]),
            |bench| {
                each::<bf16>(bench, [42, 40], &Kind::ALL, backward)?;
                each::<f16>(bench, [42, 40], &FEW, backward)
            },
        ),
    ]
}

/// One head: queries, keys, values, the change of O, each with rows of `D` elements.
struct Head<T> {
    all: [Vec<T>; 4],
    /// The same, row by row.
    wide: [Vec<Vec<f64>>; 4],
    rows: [usize; 2],
    mask: Mask,
    name: String,
}

fn ordinary<T: Float>(rows: usize, seed: usize) -> Vec<T> {
    (0..rows * D)
        .map(|at| T::rounded([0.5, -1.0, 0.25, 1.5, -0.75, 1.0, -0.5][(at * (seed + 3) + at / D) % 7]))
        .collect()
}

/// What a type that differs in its rounding alone has of keys and values.
const FEW: [Kind; 3] = [Kind::NanMiddle, Kind::Greatest, Kind::LargeSquares];

/// Queries and changes of O of every kind; keys and values with one row of each of `kinds`, one after another.
fn each<T: Float>(
    bench: &Bench<'_>,
    [m, n]: [usize; 2],
    kinds: &[Kind],
    run: fn(&Bench<'_>, &Head<T>) -> Result<(), Error>,
) -> Result<(), Error> {
    let plain = |[m, n]: [usize; 2]| [ordinary(m, 1), ordinary(n, 2), ordinary(n, 3), ordinary(m, 4)];
    for operand in [Q, D_O] {
        for mask in [Mask::Every, Mask::Causal] {
            let mut all = plain([m, n]);
            all[operand] = bench.rows(D).values;
            let name = format!("{:?}, rows of {}", T::ELEM, ["Q", "K", "V", "dO"][operand]);
            run(bench, &Head::new(all, [m, n], mask, name))?;
        }
    }
    for (operand, kind) in
        [K, V].into_iter().flat_map(|operand| kinds.iter().map(move |kind| (operand, *kind)))
    {
        let mut all = plain([3, n]);
        let row = n / 2;
        all[operand][row * D..(row + 1) * D].copy_from_slice(&bench.row(kind, D, 5));
        let name = format!("{:?}, a row of {}, {kind:?}", T::ELEM, ["Q", "K", "V", "dO"][operand]);
        run(bench, &Head::new(all, [3, n], Mask::Every, name))?;
    }
    Ok(())
}

/// A query's weights, the size of its largest score, infinite where its products leave float32, and the logarithm of the sum of the
/// exponentials.
struct Query {
    weights: Vec<f64>,
    size: f64,
    log: f64,
}

impl<T: Float> Head<T> {
    fn new(all: [Vec<T>; 4], rows: [usize; 2], mask: Mask, name: String) -> Head<T> {
        let by_row =
            |values: &Vec<T>| values.chunks(D).map(|row| row.iter().map(|x| x.wide()).collect()).collect();
        Head { wide: all.each_ref().map(by_row), all, rows, mask, name }
    }

    fn query(&self, i: usize) -> Query {
        let [m, n] = self.rows;
        let mut largest = 0.0f64;
        let seen = |j: usize| self.mask == Mask::Every || j + m <= i + n;
        let scores: Vec<f64> = (0..n)
            .map(|j| {
                if !seen(j) {
                    return f64::NEG_INFINITY;
                }
                let (product, size) = dot(&self.wide[Q][i], &self.wide[K][j]);
                let scale = 1.0 / (D as f64).sqrt();
                largest = largest.max(if size < f64::from(f32::MAX) { size * scale } else { f64::INFINITY });
                product * scale
            })
            .collect();
        let has_nan = scores.iter().any(|score| score.is_nan());
        let most = scores.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        if most == f64::NEG_INFINITY && !has_nan {
            return Query { weights: vec![0.0; n], size: largest, log: f64::NEG_INFINITY };
        }
        let weights: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let weights = weights.iter().map(|weight| weight / sum).collect();
        Query { weights, size: largest, log: most + sum.ln() }
    }

    /// The rows of O, and the logarithms; of splits, which are weighed by their logarithms in float32.
    fn forward(&self, in_splits: bool) -> (Vec<Option<Want>>, Vec<Option<Want>>) {
        let (mut o, mut logs) = (Vec::new(), Vec::new());
        for i in 0..self.rows[0] {
            let query = self.query(i);
            // Beyond 2^28 a row is NaN, or right. A score's own rounding is a part of its weight.
            let sure = |exact, room| match query.size {
                size if size.is_infinite() => None,
                size if size > 2f64.powi(28) => Some(Want::Loose(exact, room)),
                _ => Some(Want::Near(exact, room)),
            };
            let is_exact = self.name.ends_with("large scores");
            let rounding = if is_exact { 0.0 } else { query.size * 2f64.powi(-21) };
            let by_log = if in_splits { query.log.abs().min(1e30) * 2f64.powi(-22) } else { 0.0 };
            logs.push(sure(query.log, 1e-5 * (1.0 + query.log.abs())));
            for e in 0..D {
                let terms = query.weights.iter().zip(&self.wide[V]).map(|(weight, value)| weight * value[e]);
                let size: f64 = terms.clone().filter(|term| term.is_finite()).map(f64::abs).sum();
                o.push(sure(terms.sum(), size * (1.0 / 64.0 + rounding + by_log) + 1e-6));
            }
        }
        (o, logs)
    }
}

/// A product of rows, and the sum of the sizes of its finite terms.
fn dot(a: &[f64], b: &[f64]) -> (f64, f64) {
    let terms = a.iter().zip(b).map(|(a, b)| a * b);
    (terms.clone().sum(), terms.filter(|term| term.is_finite()).map(f64::abs).sum())
}

fn upload<T: Float>(bench: &Bench<'_>, values: &[T]) -> Result<Tensor<T, 4>, Error> {
    bench.device.upload(values, [1, 1, values.len() / D, D])
}

/// What is looked at of what came out.
fn check<T: Float>(bench: &Bench<'_>, name: &str, found: &[T], wanted: Vec<Option<Want>>, of_row: usize) {
    let sure =
        found.iter().zip(wanted).enumerate().filter_map(|(at, (found, want))| Some((at, *found, want?)));
    let (places, rest): (Vec<usize>, Vec<(T, Want)>) =
        sure.map(|(at, found, want)| (at, (found, want))).unzip();
    let (found, wanted): (Vec<T>, Vec<Want>) = rest.into_iter().unzip();
    bench.check(name, &found, wanted, |at| {
        let row = places[at] / of_row;
        match name.contains("rows of") && row < 2 * Kind::ALL.len() {
            true => format!("row {row}, {}", Rows::<T>::name(row)),
            false => format!("row {row}"),
        }
    });
}

fn forward<T: Float>(bench: &Bench<'_>, head: &Head<T>) -> Result<(), Error> {
    let [q, k, v] = [Q, K, V].map(|operand| upload(bench, &head.all[operand]));
    let (q, k, v) = (q?, k?, v?);
    for kernel in [Kernel::Warpgroups, Kernel::Warps].map(Some) {
        let mut o = upload(bench, &vec![T::rounded(f64::NAN); head.rows[0] * D])?;
        let mut logs = bench.device.zeros::<f32, 3>([1, 1, head.rows[0]])?;
        let what = Attention { mask: head.mask, kernel, ..Attention::default() };
        what.run(&bench.stream(), &q, &k, &v, &mut o, &mut logs)?;
        let (of_o, of_logs) = head.forward(false);
        let name = |what: &str| format!("{what} {kernel:?} {:?}, {}", head.mask, head.name);
        check(bench, &name("attention"), &o.download()?, of_o, D);
        check(bench, &name("attention's logarithms"), &logs.download()?, of_logs, 1);
    }
    Ok(())
}

/// Scores of ten million in several blocks of keys, many of which share the largest one: each has the same weight, whichever block it is in.
fn large<T: Float>(
    bench: &Bench<'_>,
    run: fn(&Bench<'_>, &Head<T>) -> Result<(), Error>,
) -> Result<(), Error> {
    let (m, n) = (3, 300);
    let by = |values: Vec<T>, factor: f64| {
        values.iter().map(|x| T::rounded(x.wide() * factor)).collect::<Vec<T>>()
    };
    let values = (0..n * D).map(|at| T::rounded((at / D / 30) as f64 / 4.0)).collect();
    let all = [by(ordinary(m, 1), 2048.0), by(ordinary(n, 2), 2048.0), values, Vec::new()];
    run(bench, &Head::new(all, [m, n], Mask::Every, format!("{:?}, large scores", T::ELEM)))
}

/// Two sequences one after the other: what the one holds is not seen by the other one.
fn packed(bench: &Bench<'_>) -> Result<(), Error> {
    for (first, kind) in [true, false]
        .into_iter()
        .flat_map(|first| [Kind::AllInfinity, Kind::NanMiddle, Kind::Greatest].map(|kind| (first, kind)))
    {
        let (m, n) = (30, 40);
        let all = [ordinary(m, 1), ordinary(n, 2), ordinary(n, 3), Vec::new()];
        let own = Head::<bf16>::new(all, [m, n], Mask::Causal, String::new());
        let beside = |rows: usize| {
            (0..rows).flat_map(|row| bench.row::<bf16>(kind, D, row as u64)).collect::<Vec<_>>()
        };
        let join = |own: &[bf16], rows: usize| {
            if first { [&beside(rows)[..], own].concat() } else { [own, &beside(rows)].concat() }
        };
        let (q, k, v) = (
            upload(bench, &join(&own.all[Q], m))?,
            upload(bench, &join(&own.all[K], n))?,
            upload(bench, &join(&own.all[V], n))?,
        );
        let (queries, keys) = (
            bench.device.upload(&[0, m as i32, 2 * m as i32], [3])?,
            bench.device.upload(&[0, n as i32, 2 * n as i32], [3])?,
        );
        let mut o = upload(bench, &vec![bf16::ZERO; 2 * m * D])?;
        let mut logs = bench.device.zeros::<f32, 3>([1, 1, 2 * m])?;
        let packed = Some(Packed { queries: &queries, keys: &keys, longest: m });
        let what = Attention { mask: Mask::Causal, packed, ..Attention::default() };
        what.run(&bench.stream(), &q, &k, &v, &mut o, &mut logs)?;
        let (of_o, from) = (own.forward(false).0, usize::from(first) * m * D);
        check(
            bench,
            &format!("packed behind or before {kind:?}"),
            &o.download()?[from..from + m * D],
            of_o,
            D,
        );
    }
    Ok(())
}

fn decoded<T: Float>(bench: &Bench<'_>, head: &Head<T>) -> Result<(), Error> {
    let [q, k, v] = [Q, K, V].map(|operand| upload(bench, &head.all[operand]));
    let (q, k, v) = (q?, k?, v?);
    let lengths = bench.device.upload(&[head.rows[1] as i32], [1])?;
    // Of 70 keys in one part, and in three.
    let ways =
        [Kernel::Warpgroups, Kernel::Warps].into_iter().flat_map(|kernel| [(1 << 20, kernel), (32, kernel)]);
    for (span, kernel) in ways {
        let mut o = upload(bench, &vec![T::rounded(f64::NAN); head.rows[0] * D])?;
        let mut logs = bench.device.zeros::<f32, 3>([1, 1, head.rows[0]])?;
        let what =
            Decoding { mask: head.mask, span: Some(span), kernel: Some(kernel), ..Decoding::default() };
        let out = (&mut o.view_mut(), &mut logs);
        what.run(&bench.stream(), &q, &k, &v, &lengths, &mut Parts::default(), out)?;
        let (of_o, of_logs) = head.forward(span < head.rows[1]);
        check(bench, &format!("decode {:?} by {span}, {}", head.mask, head.name), &o.download()?, of_o, D);
        check(
            bench,
            &format!("decode's logarithms {:?} by {span}, {}", head.mask, head.name),
            &logs.download()?,
            of_logs,
            1,
        );
    }
    Ok(())
}

/// The changes of Q, K and V, with the sizes of what they are sums of.
struct Exact {
    changes: [Vec<f64>; 3],
    sizes: [Vec<f64>; 3],
    /// The size of each query's largest score, infinite where something leaves float32.
    scores: Vec<f64>,
    /// The keys of which nothing is said.
    open: Vec<bool>,
}

impl<T: Float> Head<T> {
    fn exact(&self) -> Exact {
        let [m, n] = self.rows;
        let zeros = || [m, n, n].map(|rows| vec![0.0; rows * D]);
        let (mut changes, mut sizes, mut scores, mut open) = (zeros(), zeros(), Vec::new(), vec![false; n]);
        let scale = 1.0 / (D as f64).sqrt();
        let finite = |x: f64| if x.is_finite() { x.abs() } else { 0.0 };
        for i in 0..m {
            let (query, d_o, q) = (self.query(i), &self.wide[D_O][i], &self.wide[Q][i]);
            let mut o = vec![0.0; D];
            for (j, weight) in query.weights.iter().enumerate() {
                o.iter_mut().zip(&self.wide[V][j]).for_each(|(o, v)| *o += weight * v);
            }
            let (whole, whole_size) = dot(d_o, &o);
            let mut leaves = whole_size > f64::from(f32::MAX);
            for (j, weight) in query.weights.iter().enumerate() {
                if self.mask == Mask::Causal && j + m > i + n {
                    // What a query does not see has no part in anything, but that 0 · NaN is NaN in the same tile.
                    open[j] |= d_o.iter().chain(q).any(|value| !value.is_finite());
                    continue;
                }
                let (d_p, size) = dot(d_o, &self.wide[V][j]);
                leaves |= size > f64::from(f32::MAX);
                let (d_s, room) =
                    (scale * weight * (d_p - whole), finite(scale * weight * (size + whole_size)));
                let k = &self.wide[K][j];
                for e in 0..D {
                    for (which, row, change, of) in [
                        (0, i, d_s * k[e], room * finite(k[e])),
                        (1, j, d_s * q[e], room * finite(q[e])),
                        (2, j, weight * d_o[e], finite(weight * d_o[e])),
                    ] {
                        changes[which][row * D + e] += change;
                        sizes[which][row * D + e] += of;
                    }
                }
            }
            scores.push(if leaves { f64::INFINITY } else { query.size });
        }
        Exact { changes, sizes, scores, open }
    }
}

fn backward<T: Float>(bench: &Bench<'_>, head: &Head<T>) -> Result<(), Error> {
    let [q, k, v, d_o] = [Q, K, V, D_O].map(|operand| upload(bench, &head.all[operand]));
    let (q, k, v, d_o) = (q?, k?, v?, d_o?);
    let [m, n] = head.rows;
    let nothing = |rows: usize| upload(bench, &vec![T::rounded(7.0); rows * D]);
    let (mut o, mut logs) = (nothing(m)?, bench.device.zeros::<f32, 3>([1, 1, m])?);
    let exact = head.exact();
    let what = Attention { mask: head.mask, ..Attention::default() };
    what.run(&bench.stream(), &q, &k, &v, &mut o, &mut logs)?;
    // Of one row of a kind in K by the sums of dQ, in V by the other way.
    let ways = if m == 3 { &[head.name.contains("of V")][..] } else { &[false, true] };
    let kernel = Some(Kernel::Warps);
    let by_warps = Attention { kernel, ..what };
    let ways = ways.iter().map(|deterministic| Attention { deterministic: *deterministic, ..what });
    for what in ways.chain([by_warps]) {
        let (mut d_q, mut d_k, mut d_v) = (nothing(m)?, nothing(n)?, nothing(n)?);
        {
            let of = Forward { q: &q.view(), k: &k.view(), v: &v.view(), o: &o.view(), logs: &logs };
            let (mut of_q, mut of_k, mut of_v) = (d_q.view_mut(), d_k.view_mut(), d_v.view_mut());
            let to = Changes { q: &mut of_q, k: &mut of_k, v: &mut of_v };
            what.backward(&bench.stream(), &of, &d_o.view(), &mut Workspace::default(), to)?;
        }
        for (which, found) in [d_q, d_k, d_v].iter().enumerate() {
            let name = format!(
                "{} {:?}, deterministic: {}, {:?}, {}",
                ["dQ", "dK", "dV"][which],
                head.mask,
                what.deterministic,
                what.kernel,
                head.name
            );
            let largest = exact.scores.iter().fold(0.0f64, |a, b| a.max(*b));
            let wanted = exact.changes[which].iter().zip(&exact.sizes[which]).enumerate().map(
                |(at, (change, size))| {
                    let score = match which {
                        0 => exact.scores[at / D],
                        _ if exact.open[at / D] => f64::INFINITY,
                        _ => largest,
                    };
                    // Weights and dS are of the elements' type; a logarithm is float32.
                    let room = size * (1.0 / 32.0 + score * 2f64.powi(-20)) + 1e-5;
                    (score < 1e5 && *size < T::GREATEST / 64.0).then(|| change_of(*change, room))
                },
            );
            let wanted = wanted.collect();
            check(bench, &name, &found.download()?, wanted, D);
        }
    }
    Ok(())
}

/// A change that is not finite is of either kind: which of them depends on the order of a sum.
fn change_of(exact: f64, room: f64) -> Want {
    if exact.is_finite() { Want::Near(exact, room) } else { Want::NotFinite }
}
