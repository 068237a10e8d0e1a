//! A mixture of experts, next to its two products alone: what gating, sorting, SwiGLU and the sum add. Some tokens are checked, evenly spread.
//! `breadth.py experts` is the same by PyTorch.

use super::breadth::{Measured, judge, values};
use super::contest::{Bench, Work};
use super::ledger::Ledger;
use super::options::Common;
use super::race::Candidate;
use super::{Result, parallel};
use layout_cuda::{Device, bf16};
use layout_kernels::experts::{Gating, Mixture, Workspace, gate, sort_by_expert, swiglu};
use layout_kernels::grouped_matmul;
use layout_kernels::movement::select_rows;

/// Tokens that are checked.
const CHECKED: usize = 16;

/// Of so many tokens of D elements, with K of E experts of H.
#[derive(Clone, Copy)]
struct Size {
    m: usize,
    d: usize,
    h: usize,
    e: usize,
    k: usize,
}

/// The host's copies.
struct Host {
    x: Vec<bf16>,
    logits: Vec<f32>,
    gate_up: Vec<bf16>,
    down: Vec<bf16>,
}

impl Host {
    /// The experts of a token, the weight of each, and what SwiGLU gives of its rows.
    fn hidden(&self, Size { d, h, e, k, .. }: Size, token: usize) -> Vec<(usize, f64, Vec<f64>)> {
        let line = &self.logits[token * e..][..e];
        let mut order: Vec<usize> = (0..e).collect();
        order.sort_by(|a, b| line[*b].total_cmp(&line[*a]).then(a.cmp(b)));
        let score = |expert: usize| f64::from(line[expert] - line[order[0]]).exp();
        let sum: f64 = order[..k].iter().map(|expert| score(*expert)).sum();
        let of = |expert: usize| {
            let mut products = vec![0.0; 2 * h];
            for l in 0..d {
                let (x, row) =
                    (self.x[token * d + l].wide(), &self.gate_up[(expert * d + l) * 2 * h..][..2 * h]);
                products.iter_mut().zip(row).for_each(|(sum, b)| *sum += x * b.wide());
            }
            let near = |x: f64| bf16::from_f64(x).wide();
            let gated = |l: usize| (near(products[l]), near(products[h + l]));
            (0..h).map(gated).map(|(gate, up)| near(gate / (1.0 + (-gate).exp()) * up)).collect()
        };
        order[..k].iter().map(|expert| (*expert, score(*expert) / sum, of(*expert))).collect()
    }
}

fn one(bench: &mut Bench<'_>, size @ Size { m, d, h, e, k }: Size) -> Result<()> {
    let stream = bench.stream.clone();
    let host = Host {
        x: values(m * d, 1),
        logits: values(m * e, 2),
        gate_up: values(e * d * 2 * h, 3),
        down: values(e * h * d, 4),
    };
    let (x, logits) = (bench.device.upload(&host.x, [m, d])?, bench.device.upload(&host.logits, [m, e])?);
    let gate_up = bench.device.upload(&host.gate_up, [e, d, 2 * h])?;
    let down = bench.device.upload(&host.down, [e, h, d])?;
    let (mixture, mut workspace) = (Mixture::new(k, &gate_up, &down), Workspace::default());
    let mut out = bench.device.zeros::<bf16, 2>([m, d])?;
    mixture.run(&stream, &mut workspace, &x, &logits, &mut out)?;
    let (result, checked) = (out.download()?, m.min(CHECKED));
    let token = |which: usize| which * m / checked;
    let of_tokens =
        parallel(checked, |range| range.map(|which| host.hidden(size, token(which))).collect::<Vec<_>>());
    let of_tokens = of_tokens.concat();
    let exact = |at: usize| {
        let (mut sum, mut reach) = (0.0, 0.0);
        for (expert, weight, hidden) in &of_tokens[at / d] {
            let term = |l: usize| hidden[l] * host.down[(expert * h + l) * d + at % d].wide();
            sum += weight * (0..h).map(term).sum::<f64>();
            reach += weight * (0..h).map(|l| term(l).abs()).sum::<f64>();
        }
        (sum, 2.0 * bf16::ROUNDING * reach)
    };
    let found = judge(checked * d, |at| result[token(at / d) * d + at % d].wide(), exact);

    // The products alone, of rows that are sorted already.
    let (mut experts, mut weights) = (bench.device.zeros([m, k])?, bench.device.zeros([m, k])?);
    let (mut tokens, mut places) = (bench.device.zeros([m * k])?, bench.device.zeros([m, k])?);
    let (mut ends, mut rows) = (bench.device.zeros([e])?, bench.device.zeros::<bf16, 2>([m * k, d])?);
    gate(&stream, Gating::default(), &logits, &mut experts, &mut weights)?;
    sort_by_expert(&stream, &experts, &mut tokens, &mut places, &mut ends)?;
    select_rows(&stream, &x, &tokens, &mut rows)?;
    let mut wide = bench.device.zeros::<bf16, 2>([m * k, 2 * h])?;
    let (mut gated, mut back) = (bench.device.zeros([m * k, h])?, bench.device.zeros::<bf16, 2>([m * k, d])?);
    // Numbers as the mixture has them: products of zeros take less power, and so a higher clock.
    grouped_matmul(&stream, &rows, &gate_up, &ends, &mut wide)?;
    swiglu(&stream, &wide, &mut gated)?;
    let visited = of_visited(&ends.download()?);
    // Each matrix of an expert that has a token, tokens and results once.
    let bytes = 2.0 * (2 * m * d + 3 * visited * d * h) as f64 / (m * d * h * e * k) as f64;
    let work = Work::new("experts", bf16::NAME, &[m, d, h, e, k], bytes, 6.0 / e as f64);
    let ours =
        Candidate::new("mixture_of_experts", || mixture.run(&stream, &mut workspace, &x, &logits, &mut out));
    let products = Candidate::new("the products alone", || {
        grouped_matmul(&stream, &rows, &gate_up, &ends, &mut wide)?;
        grouped_matmul(&stream, &gated, &down, &ends, &mut back)
    });
    bench.beside(&work, found, [ours, products])
}

/// Experts with a token.
fn of_visited(ends: &[i32]) -> usize {
    let first = usize::from(ends.first().is_some_and(|end| *end > 0));
    first + ends.windows(2).filter(|pair| pair[1] > pair[0]).count()
}

/// Checks and measures every one: of few large experts, of many small ones, for many tokens, few and one.
///
/// # Errors
/// A device without memory, or a failing launch.
pub fn run(ledger: &mut Ledger, device: &Device, common: &Common) -> Result<()> {
    let small = device.is_simulator();
    let (device, stream) = (device.clone(), device.stream());
    let mut bench = Bench { device, stream, samples: common.samples.max(1), ledger };
    bench.ledger.head("TFLOP/s");
    let shapes = if small {
        vec![[40, 16, 24, 3, 2], [9, 24, 8, 8, 4], [1, 16, 8, 4, 2]]
    } else {
        let few = [8192, 64, 1].map(|m| [m, 4096, 14336, 8, 2]);
        let many = [16384, 64, 1].map(|m| [m, 2048, 768, 128, 8]);
        [few, many].concat()
    };
    for [m, d, h, e, k] in shapes {
        one(&mut bench, Size { m, d, h, e, k })?;
    }
    bench.ledger.foot();
    Ok(())
}
