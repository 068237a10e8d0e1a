//! Decoding: one query over the keys of each sequence, checked against float64 on sampled heads and timed beside the bytes of K and V.
//!
//! Law: what is timed was checked before; the bytes are those of K and V, each read once.

use super::Result;
use super::ledger::Ledger;
use super::trial::{Case, Errors, Operands, Run, Trial, weighted};
use layout_cuda::{Element, ParamSet, ParamValue, bf16, roofline};
use layout_kernels::attention::Kernel;
use layout_kernels::decode::{Decoding, Workspace};
use std::cell::RefCell;

/// Sequences, keys of each, heads of Q and of K and V, elements of a head, keys of a page where there are pages.
pub struct Decode {
    name: String,
    sequences: usize,
    length: usize,
    heads: [usize; 2],
    depth: usize,
    page: Option<usize>,
}

/// Sequences and their length, heads and groups of them, the head dimension, and keys of a page.
type Shape = ([usize; 2], [usize; 2], usize, Option<usize>);

/// Heads that are sampled.
const SAMPLES: usize = 16;

impl Decode {
    fn bytes(&self) -> f64 {
        4.0 * (self.sequences * self.length * self.heads[1] * self.depth) as f64
    }

    /// Sequences and heads that are looked at.
    fn samples(&self) -> Vec<[usize; 2]> {
        let pairs = self.sequences * self.heads[0];
        let count = SAMPLES.min(pairs);
        let of = |at: usize| at * (pairs - 1) / (count - 1).max(1);
        (0..count).map(|at| [of(at) / self.heads[0], of(at) % self.heads[0]]).collect()
    }

    /// Keys of a page and pages of a sequence: one of all keys where there are none.
    fn pages(&self) -> [usize; 2] {
        let keys = self.page.unwrap_or(self.length);
        [keys, self.length.div_ceil(keys)]
    }

    /// The page of a sequence's `i`-th keys: neighbours are apart.
    fn page_of(&self, sequence: usize, i: usize) -> usize {
        let [_, pages] = self.pages();
        let all = self.sequences * pages;
        // Odd and no factor of the count: each page once.
        let step = [7919, 7907, 7901, 1].into_iter().find(|step| !all.is_multiple_of(*step)).unwrap_or(1);
        (sequence * pages + i) * step % all
    }

    fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "decode": true, "sequences": self.sequences, "length": self.length, "heads": self.heads,
            "depth": self.depth, "page": self.page, "bytes": self.bytes(), "samples": self.samples(),
        })
    }

    /// The errors of the sampled heads.
    fn errors(&self, [q, k, v]: [&Operands; 3], o: &[bf16]) -> Errors {
        let scale = 1.0 / (self.depth as f64).sqrt();
        let [keys, _] = self.pages();
        Errors::of(&self.samples(), |[sequence, head]| {
            let group = head * self.heads[1] / self.heads[0];
            let query: Vec<f64> = q.row([*sequence, *head], 0).collect();
            let place = |key: usize| match self.page {
                Some(_) => ([self.page_of(*sequence, key / keys), group], key % keys),
                None => ([*sequence, group], key),
            };
            let score = |key: usize| {
                let (at, row) = place(key);
                k.row(at, row).zip(&query).map(|(a, b)| a * b).sum::<f64>() * scale
            };
            let scores: Vec<f64> = (0..self.length).map(score).collect();
            let (exact, size) = weighted(&scores, self.depth, |key| {
                let (at, row) = place(key);
                v.row(at, row)
            });
            let mut errors = Errors::default();
            for (found, (exact, size)) in
                o[q.first([*sequence, *head], 0)..].iter().zip(exact.iter().zip(size))
            {
                errors.add(*found, *exact, size / 128.0 + 1e-6);
            }
            errors
        })
    }
}

impl Case for Decode {
    const RATES: &'static str = "GB/s";

    /// What the goals name, and pages.
    fn all(small: bool) -> Vec<Self> {
        let shapes: &[Shape] = match small {
            true => &[([2, 300], [4, 2], 64, None), ([2, 300], [4, 2], 128, Some(24))],
            false => &[
                ([64, 8192], [32, 8], 128, None),
                ([1, 131_072], [32, 8], 128, None),
                ([16, 8192], [64, 8], 128, None),
                ([64, 8192], [32, 8], 128, Some(64)),
                ([64, 8192], [32, 8], 128, Some(16)),
                ([64, 8192], [32, 8], 64, None),
                ([4, 1000], [32, 8], 128, None),
            ],
        };
        let of = |([sequences, length], heads, depth, page): &Shape| {
            let pages = page.map_or(String::new(), |page| format!(" pages of {page}"));
            let [all, groups] = *heads;
            let name = format!("decode {sequences} x {length} {all} on {groups} d {depth}{pages}");
            Decode { name, sequences: *sequences, length: *length, heads: *heads, depth: *depth, page: *page }
        };
        shapes.iter().map(of).collect()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn measure(&self, ledger: &mut Ledger, run: &Run<'_>) -> Result<()> {
        let (device, stream) = (run.device, run.device.stream());
        let Decode { sequences, length, heads: [heads, groups], depth, page, .. } = self;
        let [keys, pages] = self.pages();
        let places = if page.is_some() { sequences * pages } else { *sequences };
        let q = Operands::new(device, [*sequences, 1, *heads, *depth], 1)?;
        let k = Operands::new(device, [places, keys, *groups, *depth], 2)?;
        let v = Operands::new(device, [places, keys, *groups, *depth], 3)?;
        let lengths = device.upload(&vec![*length as i32; *sequences], [*sequences])?;
        let entries: Vec<i32> =
            (0..sequences * pages).map(|at| self.page_of(at / pages, at % pages) as i32).collect();
        let table = device.upload(&entries, [*sequences, pages])?;
        let o = device.zeros::<bf16, 4>([*sequences, *heads, 1, *depth])?;
        let logs = device.zeros::<f32, 3>([*sequences, *heads, 1])?;
        let ((q_shape, q_strides), (k_shape, k_strides)) = (q.view(), k.view());
        let q_view = q.on_device.part(0, q_shape, q_strides)?;
        let k_view = k.on_device.part(0, k_shape, k_strides)?;
        let v_view = v.on_device.part(0, k_shape, k_strides)?;
        let kernel = run.options.warps.then_some(Kernel::Warps);
        let what = Decoding { pages: page.map(|_| &table), kernel, ..Decoding::default() };
        let own = what.set_for(&stream, bf16::ELEM, q_shape, [k_shape; 2]);
        let (o, logs, memory) = (RefCell::new(o), RefCell::new(logs), RefCell::new(Workspace::default()));
        let launch = |set: &ParamSet| {
            let (mut o, mut logs, mut memory) = (o.borrow_mut(), logs.borrow_mut(), memory.borrow_mut());
            // `SPAN` is the host's.
            let span = match set.get("SPAN") {
                Some(ParamValue::Int(span)) => usize::try_from(span).ok(),
                _ => None,
            };
            let set = ParamSet(set.0.iter().filter(|(name, _)| name != "SPAN").cloned().collect());
            let what = Decoding { span, ..what };
            let out = (&mut o.view_mut(), &mut *logs);
            what.run_with(&set, &stream, &q_view, &k_view, &v_view, &lengths, &mut memory, out)
        };
        let elements = self.bytes() / 4.0;
        let trial = Trial {
            name: &self.name,
            kernel: format!("{}{}", self.name, if run.options.warps { " by warps" } else { "" }),
            own,
            launch: &launch,
            poison: &|| o.borrow_mut().poison(),
            errors: &|| Ok(self.errors([&q, &k, &v], &o.borrow().download()?)),
            about: self.json(),
            shape: vec![*sequences, self.length, *heads, *groups, *depth],
            work: roofline::Work { flops: 4.0 * elements * (heads / groups) as f64, bytes: self.bytes() },
            elements,
            unit: "GB/s",
        };
        trial.run(ledger, &stream, run)
    }
}
