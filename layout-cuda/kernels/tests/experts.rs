//! A mixture of experts against float64, on the simulator: gating in every type and form, the sort by expert, the whole; ties, one expert
//! for all tokens, experts without any, no token; NaN; shapes that disagree.

mod support;

use layout_cuda::{Device, Error, Tensor, bf16, f16};
use layout_kernels::experts::{Gating, Mixture, Score, Workspace, combine, gate, sort_by_expert, swiglu};
use support::Wide;

const TOKENS: [usize; 5] = [0, 1, 63, 65, 257];
const CHOICES: [[usize; 2]; 8] = [[1, 1], [3, 1], [3, 2], [8, 1], [8, 2], [8, 8], [64, 2], [64, 8]];

fn noise(at: usize, seed: usize) -> usize {
    (at.wrapping_mul(0x9e37_79b9).wrapping_add(seed.wrapping_mul(0x85eb_ca6b)) ^ (at >> 7))
        .wrapping_mul(0xc2b2_ae35)
        >> 16
}

/// Multiples of 1/8 from -2 to 2.
fn values<T: Wide>(n: usize, seed: usize) -> Vec<T> {
    (0..n).map(|at| T::near((noise(at, seed) % 33) as f64 / 8.0 - 2.0)).collect()
}

const GATINGS: [Gating; 4] = [
    Gating { score: Score::Softmax, normalised: true, scale: 1.0 },
    Gating { score: Score::Softmax, normalised: false, scale: 1.0 },
    Gating { score: Score::Sigmoid, normalised: true, scale: 2.5 },
    Gating { score: Score::Sigmoid, normalised: false, scale: -1.0 },
];

/// The experts of a token and their weights, by the law's words.
fn chosen(logits: &[f64], k: usize, gating: Gating) -> (Vec<u32>, Vec<f64>) {
    let mut order: Vec<usize> = (0..logits.len()).collect();
    let before = |a: f64, b: f64| {
        b.is_nan().cmp(&a.is_nan()).then(b.partial_cmp(&a).unwrap_or(std::cmp::Ordering::Equal))
    };
    order.sort_by(|a, b| before(logits[*a], logits[*b]).then(a.cmp(b)));
    let most = logits[order[0]];
    let score = |at: &usize| match (gating.score, logits[*at]) {
        (Score::Softmax, x) => (x - most).exp(),
        // Where none is above zero, all of them relative to the first.
        (Score::Sigmoid, x) if gating.normalised && most < 0.0 => (x - most).exp() / (1.0 + x.exp()),
        (Score::Sigmoid, x) => 1.0 / (1.0 + (-x).exp()),
    };
    let sum: f64 = match gating {
        Gating { normalised: true, .. } => order[..k].iter().map(score).sum(),
        Gating { score: Score::Softmax, .. } => order.iter().map(score).sum(),
        _ => 1.0,
    };
    let weights = order[..k].iter().map(|at| score(at) / sum * f64::from(gating.scale)).collect();
    (order[..k].iter().map(|at| *at as u32).collect(), weights)
}

fn gated<T: Wide>(m: usize, [e, k]: [usize; 2], gap: usize) -> Result<(), Error> {
    let device = Device::simulator();
    let mut logits: Vec<T> = values(m * e, 1);
    let rows = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, -300.0, 300.0];
    for (row, special) in rows.into_iter().enumerate().filter(|(row, _)| 3 * row < m) {
        logits[3 * row * e + noise(row, e) % e] = T::near(special);
        if 3 * row + 1 < m {
            logits[(3 * row + 1) * e..(3 * row + 2) * e].fill(T::near(special));
        }
    }
    let mut padded = vec![T::near(f64::NAN); m * (e + gap)];
    for row in 0..m {
        padded[row * (e + gap)..][..e].copy_from_slice(&logits[row * e..][..e]);
    }
    let on_logits =
        device.upload_strided(&padded[..(m * (e + gap)).saturating_sub(gap)], [m, e], [e + gap, 1])?;
    for gating in GATINGS {
        let mut experts = device.upload(&vec![77u32; m * k], [m, k])?;
        let mut weights = device.upload(&vec![77f32; m * k], [m, k])?;
        gate(&device.stream(), gating, &on_logits, &mut experts, &mut weights)?;
        let (experts, weights) = (experts.download()?, weights.download()?);
        for row in 0..m {
            let line: Vec<f64> = logits[row * e..][..e].iter().map(|x| x.wide()).collect();
            let (wanted, shares) = chosen(&line, k, gating);
            let what = format!("{gating:?}, {k} of {e} of {:?}, row {row} of {m}: {line:?}", T::ELEM);
            assert_eq!(&experts[row * k..][..k], wanted, "{what}");
            for (found, exact) in weights[row * k..][..k].iter().zip(shares) {
                let near = (f64::from(*found) - exact).abs() <= 2e-6 * exact.abs() + 1e-37;
                assert!(near || found.is_nan() && exact.is_nan(), "{what}: {found}, not {exact}");
            }
        }
    }
    Ok(())
}

#[test]
fn gates_of_every_type() -> Result<(), Error> {
    for choice in CHOICES {
        gated::<f32>(65, choice, 0)?;
        gated::<bf16>(63, choice, 3)?;
    }
    for m in TOKENS {
        gated::<f16>(m, [8, 2], 1)?;
        gated::<bf16>(m, [33, 32], 0)?;
    }
    Ok(())
}

/// Numbers of experts, `e` and more among them where `strays` is.
fn routes(m: usize, [e, k]: [usize; 2], kind: usize) -> Vec<u32> {
    let of = |at: usize| match kind {
        0 => noise(at, 3) % e,
        // All to one, all to every third, some to none.
        1 => e / 2,
        2 => noise(at, 4) % e / 3 * 3,
        _ => [noise(at, 5) % e, e, usize::MAX][noise(at, 6) % 3],
    };
    (0..m * k).map(|at| of(at) as u32).collect()
}

#[test]
fn tokens_are_sorted_by_expert() -> Result<(), Error> {
    let device = Device::simulator();
    for (m, [e, k]) in TOKENS.into_iter().flat_map(|m| CHOICES.map(|choice| (m, choice))) {
        for kind in 0..4 {
            let experts = routes(m, [e, k], kind);
            let on_experts = device.upload(&experts, [m, k])?;
            let mut tokens = device.upload(&vec![77u32; m * k], [m * k])?;
            let (mut places, mut ends) =
                (device.upload(&vec![77u32; m * k], [m, k])?, device.upload(&vec![77; e], [e])?);
            sort_by_expert(&device.stream(), &on_experts, &mut tokens, &mut places, &mut ends)?;
            let mut order: Vec<usize> = (0..m * k).collect();
            order.sort_by_key(|at| experts[*at].min(e as u32));
            let (mut of_places, mut of_tokens) = (vec![u32::MAX; m * k], vec![u32::MAX; m * k]);
            for (place, at) in order.into_iter().enumerate().filter(|(_, at)| experts[*at] < e as u32) {
                (of_places[at], of_tokens[place]) = (place as u32, (at / k) as u32);
            }
            let upto = |e: usize| experts.iter().filter(|own| **own as usize <= e).count() as i32;
            let what = format!("{m} tokens, {k} of {e} experts, kind {kind}");
            assert_eq!(ends.download()?, (0..e).map(upto).collect::<Vec<_>>(), "{what}");
            assert_eq!((tokens.download()?, places.download()?), (of_tokens, of_places), "{what}");
        }
    }
    Ok(())
}

/// A mixture's extents.
#[derive(Clone, Copy, Debug)]
struct Size {
    m: usize,
    d: usize,
    h: usize,
    e: usize,
    k: usize,
}

/// The matrices of the experts in memory, by rows or by columns.
fn matrices<T: Wide>(
    device: &Device,
    of: &[T],
    shape @ [_, k, n]: [usize; 3],
    by_columns: bool,
) -> Result<Tensor<T, 3>, Error> {
    if !by_columns {
        return device.upload(of, shape);
    }
    let turned: Vec<T> = (0..of.len()).map(|at| of[at / (k * n) * k * n + at % k * n + at / k % n]).collect();
    device.upload_strided(&turned, shape, [k * n, 1, k])
}

/// Each token's sum in float64 from its logits on, rounded where the law says so, and the sizes of what was added.
fn exact<T: Wide>(
    size: Size,
    gating: Gating,
    [x, gate_up, down]: [&[T]; 3],
    logits: &[f32],
    at: [usize; 2],
) -> (f64, f64) {
    let (Size { d, h, e, k, .. }, [row, column]) = (size, at);
    let rounded = |x: f64| T::near(x).wide();
    let line: Vec<f64> = logits[row * e..][..e].iter().map(|x| f64::from(*x)).collect();
    let (experts, weights) = chosen(&line, k, gating);
    let (mut sum, mut all) = (0.0, 0.0);
    for (expert, weight) in experts.into_iter().zip(weights) {
        let product = |column: usize| {
            rounded(
                (0..d)
                    .map(|l| {
                        x[row * d + l].wide() * gate_up[(expert as usize * d + l) * 2 * h + column].wide()
                    })
                    .sum(),
            )
        };
        let (mut own, mut reach) = (0.0, 0.0);
        for l in 0..h {
            let (g, u) = (product(l), product(h + l));
            let term =
                rounded(g / (1.0 + (-g).exp()) * u) * down[(expert as usize * h + l) * d + column].wide();
            own += term;
            reach += term.abs();
        }
        sum += weight * rounded(own);
        all += weight.abs() * reach;
    }
    (sum, 2.0 * T::ROUNDING * all + T::ROUNDING * sum.abs() + 1e-6 * all)
}

/// `skewed` has all tokens at the experts of the same number.
fn mixed<T: Wide>(
    size: Size,
    gating: Gating,
    by_columns: bool,
    skewed: bool,
    workspace: &mut Workspace<T>,
) -> Result<(), Error> {
    let (device, Size { m, d, h, e, k }) = (Device::simulator(), size);
    let (x, gate_up, down) =
        (values::<T>(m * d, 1), values::<T>(e * d * 2 * h, 2), values::<T>(e * h * d, 3));
    let mut logits: Vec<f32> = values(m * e, 4);
    if skewed {
        (0..m * e).for_each(|at| logits[at] = -((at % e) as f32));
    }
    let (on_x, on_logits) = (device.upload(&x, [m, d])?, device.upload(&logits, [m, e])?);
    let on_gate_up = matrices(&device, &gate_up, [e, d, 2 * h], by_columns)?;
    let on_down = matrices(&device, &down, [e, h, d], by_columns)?;
    let mixture = Mixture { gating, ..Mixture::new(k, &on_gate_up, &on_down) };
    let mut out = device.upload(&vec![T::near(77.0); m * d], [m, d])?;
    mixture.run(&device.stream(), workspace, &on_x, &on_logits, &mut out)?;
    let found = out.download()?;
    for (at, own) in found.iter().enumerate() {
        let (exact, room) = exact(size, gating, [&x, &gate_up, &down], &logits, [at / d, at % d]);
        let near = (own.wide() - exact).abs() <= room;
        assert!(
            near,
            "{size:?}, {gating:?}, token {}, element {}: {:?}, not {exact} by {room}",
            at / d,
            at % d,
            own
        );
    }
    mixture.run(&device.stream(), workspace, &on_x, &on_logits, &mut out)?;
    assert_eq!(out.download()?, found, "{size:?}: the same bits again");
    Ok(())
}

#[test]
fn mixtures() -> Result<(), Error> {
    let mut workspace = Workspace::<bf16>::default();
    let size = |m, [d, h]: [usize; 2], [e, k]: [usize; 2]| Size { m, d, h, e, k };
    // The workspace is that of a larger call, with what that left there.
    mixed(size(257, [16, 8], [64, 8]), GATINGS[0], false, false, &mut workspace)?;
    for (at, m) in TOKENS.into_iter().enumerate() {
        mixed(size(m, [24, 40], [8, 2]), GATINGS[at % 4], at % 2 == 1, false, &mut workspace)?;
        mixed(size(m.min(65), [17, 9], [3, 2]), GATINGS[3 - at % 4], at % 2 == 1, at > 2, &mut workspace)?;
    }
    mixed(size(65, [16, 8], [8, 8]), GATINGS[1], false, true, &mut workspace)?;
    mixed(size(5, [16, 8], [1, 1]), GATINGS[0], true, true, &mut workspace)?;
    mixed(size(5, [16, 0], [3, 2]), GATINGS[0], false, false, &mut workspace)?;
    mixed(size(5, [0, 8], [3, 2]), GATINGS[0], false, false, &mut workspace)?;
    mixed::<f16>(size(63, [40, 16], [8, 2]), GATINGS[2], false, false, &mut Workspace::default())
}

#[test]
fn a_token_with_nan_is_alone() -> Result<(), Error> {
    let (device, one) = (Device::simulator(), bf16::from_f32(1.0));
    let (x, gate_up, down) = (
        device.upload(&[one; 4 * 8], [4, 8])?,
        device.upload(&[one; 3 * 8 * 16], [3, 8, 16])?,
        device.upload(&[one; 3 * 64], [3, 8, 8])?,
    );
    let mut logits = [0.5f32; 4 * 3];
    logits[4] = f32::NAN;
    let (logits, mut out) = (device.upload(&logits, [4, 3])?, device.zeros::<bf16, 2>([4, 8])?);
    layout_kernels::mixture_of_experts(&device.stream(), 2, &x, &logits, &gate_up, &down, &mut out)?;
    for (at, found) in out.download()?.iter().enumerate() {
        assert_eq!(found.to_f32().is_nan(), at / 8 == 1, "token {}: {found}", at / 8);
    }
    Ok(())
}

#[test]
fn swiglu_and_sums_of_every_type() -> Result<(), Error> {
    fn of<T: Wide>(m: usize, d: usize) -> Result<(), Error> {
        let (device, k, rows) = (Device::simulator(), 3, m + 2);
        let x = values::<T>(m * 2 * d, 1);
        let mut out = device.upload(&vec![T::near(77.0); m * d], [m, d])?;
        swiglu(&device.stream(), &device.upload(&x, [m, 2 * d])?, &mut out)?;
        for (at, found) in out.download()?.iter().enumerate() {
            let (g, u) = (x[at / d * 2 * d + at % d].wide(), x[at / d * 2 * d + d + at % d].wide());
            let exact = g / (1.0 + (-g).exp()) * u;
            assert!(
                (found.wide() - exact).abs() <= (T::ROUNDING + 1e-6) * exact.abs(),
                "{m} x {d}, {at}: {found:?}, not {exact}"
            );
        }
        let (y, weights) = (values::<T>(rows * d, 2), values::<f32>(m * k, 3));
        let places: Vec<u32> = (0..m * k).map(|at| (noise(at, 4) % (rows + 1)) as u32).collect();
        let (on_y, on_places) = (device.upload(&y, [rows, d])?, device.upload(&places, [m, k])?);
        combine(&device.stream(), &on_y, &on_places, &device.upload(&weights, [m, k])?, &mut out)?;
        for (at, found) in out.download()?.iter().enumerate() {
            let of = |j: usize| match places[at / d * k + j] as usize {
                place if place < rows => f64::from(weights[at / d * k + j]) * y[place * d + at % d].wide(),
                _ => 0.0,
            };
            let exact: f64 = (0..k).map(of).sum();
            assert!(
                (found.wide() - exact).abs() <= T::ROUNDING * exact.abs(),
                "{m} x {d}, {at}: {found:?}, not {exact}"
            );
        }
        Ok(())
    }
    for (m, d) in [(0, 8), (1, 1), (5, 33), (3, 64), (9, 20)] {
        of::<f32>(m, d)?;
        of::<bf16>(m, d)?;
        of::<f16>(m, d)?;
    }
    Ok(())
}

#[test]
fn what_does_not_fit_is_named() -> Result<(), Error> {
    let device = Device::simulator();
    let fits = ([4, 8], [4, 3], [3, 8, 10], [3, 5, 8], [4, 8], 2);
    type Shapes = ([usize; 2], [usize; 2], [usize; 3], [usize; 3], [usize; 2], usize);
    let run = |(x, logits, gate_up, down, out, k): Shapes| {
        let (x, logits) = (device.zeros::<bf16, 2>(x)?, device.zeros::<f32, 2>(logits)?);
        let (gate_up, down) = (device.zeros::<bf16, 3>(gate_up)?, device.zeros::<bf16, 3>(down)?);
        let mut out = device.zeros::<bf16, 2>(out)?;
        layout_kernels::mixture_of_experts(&device.stream(), k, &x, &logits, &gate_up, &down, &mut out)
    };
    run(fits)?;
    let gaps = || {
        let (wide, logits) = (device.zeros::<bf16, 2>([4, 9])?, device.zeros::<f32, 2>([4, 3])?);
        let (x, gate_up) = (wide.part(0, [4, 8], [9, 1])?, device.zeros::<bf16, 3>([3, 8, 10])?);
        let (down, mut out) = (device.zeros::<bf16, 3>([3, 5, 8])?, device.zeros::<bf16, 2>([4, 8])?);
        layout_kernels::mixture_of_experts(&device.stream(), 2, &x, &logits, &gate_up, &down, &mut out)
    };
    let of_f32 = || {
        let (x, logits) = (device.zeros::<f32, 2>([4, 8])?, device.zeros::<f32, 2>([4, 3])?);
        let (gate_up, down) = (device.zeros::<f32, 3>([3, 8, 10])?, device.zeros::<f32, 3>([3, 5, 8])?);
        let mut out = device.zeros::<f32, 2>([4, 8])?;
        layout_kernels::mixture_of_experts(&device.stream(), 2, &x, &logits, &gate_up, &down, &mut out)
    };
    let of_neither = || {
        let (x, logits) = (device.zeros::<bf16, 2>([4, 8])?, device.zeros::<f32, 2>([4, 3])?);
        let of_two = device.zeros::<bf16, 3>([3, 8, 20])?;
        let (gate_up, down) =
            (of_two.part(0, [3, 8, 10], [160, 20, 2])?, device.zeros::<bf16, 3>([3, 5, 8])?);
        let mut out = device.zeros::<bf16, 2>([4, 8])?;
        layout_kernels::mixture_of_experts(&device.stream(), 2, &x, &logits, &gate_up, &down, &mut out)
    };
    for (run, words) in [
        (run(([4, 8], [5, 3], fits.2, fits.3, fits.4, 2)), ["`logits`", "5", "4"]),
        (run(([4, 8], [4, 2], fits.2, fits.3, fits.4, 2)), ["`logits`", "2", "3"]),
        (run(([4, 7], [4, 3], fits.2, fits.3, [4, 7], 2)), ["`gate_up`", "8", "7"]),
        (run(([4, 8], [4, 3], [3, 8, 11], fits.3, fits.4, 2)), ["`gate_up`", "11", "10"]),
        (run(([4, 8], [4, 3], [2, 8, 10], fits.3, fits.4, 2)), ["`gate_up`", "2", "3"]),
        (run(([4, 8], [4, 3], fits.2, [3, 5, 9], fits.4, 2)), ["`down`", "9", "8"]),
        (run(([4, 8], [4, 3], fits.2, fits.3, [4, 9], 2)), ["`out`", "9", "8"]),
        (run(([4, 8], [4, 3], fits.2, fits.3, fits.4, 4)), ["K 4", "experts 3", "at most"]),
        (run(([4, 8], [4, 3], fits.2, fits.3, fits.4, 0)), ["K 0", "experts 3", "from 1"]),
        (run(([4, 8], [4, 40], [40, 8, 10], [40, 5, 8], fits.4, 33)), ["K 33", "experts 40", "32"]),
        (run(([4, 8], [4, 0], [0, 8, 10], [0, 5, 8], fits.4, 1)), ["K 1", "experts 0", "at most"]),
        (gaps(), ["x of [4, 8]", "[9, 1]", "permute"]),
        (of_f32(), ["bf16", "f16", "F32"]),
        (of_neither(), ["gate_up", "[160, 20, 2]", "by columns"]),
    ] {
        let message = run.expect_err("what does not fit").to_string();
        assert!(words.iter().all(|word| message.contains(word)), "{words:?}: {message}");
    }
    let (x, mut out) = (device.zeros::<f32, 2>([2, 7])?, device.zeros::<f32, 2>([2, 3])?);
    let message = swiglu(&device.stream(), &x, &mut out).expect_err("seven columns for three").to_string();
    assert!(["`x`", "7", "6"].iter().all(|word| message.contains(word)), "{message}");
    let (logits, mut weights) = (device.zeros::<f32, 2>([4, 3])?, device.zeros::<f32, 2>([4, 2])?);
    let message =
        gate(&device.stream(), GATINGS[0], &logits, &mut device.zeros::<u32, 2>([5, 2])?, &mut weights);
    let message = message.expect_err("five tokens of four").to_string();
    assert!(["`experts`", "5", "4"].iter().all(|word| message.contains(word)), "{message}");
    let (mut tokens, mut ends) = (device.zeros::<u32, 1>([5])?, device.zeros::<i32, 1>([3])?);
    let (experts, mut places) = (device.zeros::<u32, 2>([3, 2])?, device.zeros::<u32, 2>([3, 2])?);
    let message = sort_by_expert(&device.stream(), &experts, &mut tokens, &mut places, &mut ends);
    let message = message.expect_err("five places of six").to_string();
    assert!(["`tokens`", "5", "6"].iter().all(|word| message.contains(word)), "{message}");
    Ok(())
}
