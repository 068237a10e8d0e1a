//! A forward pass: over the last token of every sequence, or over the next places of one.
//!
//! ```text
//! row + norm ─► layers ─► head ─► token
//! layer: QKV ─► bias, angles, cache ─► attention ─► out ─► + norm ─► gate ─► silu ─► down ─► + norm
//! ```
//!
//! Law: a sequence's logits depend on its own tokens alone. A step of all sequences allocates nothing and has the
//! same launches with the same shapes each time, so that one graph is every step.

use crate::kernels::{add_norm, append, argmax, embed_norm, gathered, swiglu};
use crate::weights::{Layer, Matrix, Weights};
use crate::{Config, Room};
use layout_cuda::{LaunchConfig, ParamSet, ParamValue, Result, Stream};
use layout_cuda::{Tensor, TensorArg, TensorArgMut, TensorView, bf16};
use layout_kernels::attention::{Attention, Mask};
use layout_kernels::decode::{self, Decoding};
use layout_kernels::product::{Options, Workspace, multiply};
use layout_kernels::random::{Sampling, sample};
use layout_kernels::{quantized, set};

/// The length of a slot without a sequence: far below zero, however often a step counts it up.
pub(crate) const IDLE: i32 = i32::MIN / 2;

/// Sees each launch of a pass, and makes it.
pub(crate) type Watch<'w> = dyn FnMut(&'static str, &mut dyn FnMut() -> Result<()>) -> Result<()> + 'w;

/// Tokens, a slot, and the first of the places that they are.
type Fill<'a> = (&'a Tensor<u32, 1>, [usize; 2]);

/// Memory of products: of whole matrices, of quantised ones.
type Products = (Workspace<bf16, bf16>, quantized::Workspace<bf16>);

/// Memory of a pass over so many rows.
struct Rows {
    /// What layers add to, the same normed, and what is to be added.
    hidden: [Tensor<bf16, 2>; 3],
    /// Q, K and V; what attention makes of them, and the logarithms of its sums.
    heads: [Tensor<bf16, 2>; 2],
    logs: Tensor<f32, 1>,
    /// The gate and what it gates; both as one.
    inner: [Tensor<bf16, 2>; 2],
    products: Products,
    parts: decode::Workspace,
}

impl Rows {
    fn new(stream: &Stream, config: &Config, rows: usize) -> Result<Rows> {
        let Config { hidden, heads: [heads, groups], depth, inner, .. } = *config;
        let of = |columns: usize| stream.zeros([rows, columns]);
        let hidden = [of(hidden)?, of(hidden)?, of(hidden)?];
        let heads = [of((heads + 2 * groups) * depth)?, of(heads * depth)?];
        let (inner, logs) = ([of(2 * inner)?, of(inner)?], stream.zeros([rows * config.heads[0]])?);
        Ok(Rows { hidden, heads, inner, logs, products: Products::default(), parts: Default::default() })
    }
}

/// A model with its cache: what a graph's launches take.
pub(crate) struct Model {
    pub config: Config,
    pub weights: Weights,
    angles: Tensor<f32, 2>,
    /// Keys and values of each layer: pages, heads of both, keys of a page, elements.
    cache: Vec<Tensor<bf16, 4>>,
    /// The pages of each slot, in order, and how many of its places are in the cache.
    pages: Tensor<i32, 2>,
    pub lengths: Tensor<i32, 1>,
    /// Keys and values of one sequence, one after the other.
    whole: Tensor<bf16, 1>,
    /// Of a step; of the last chunk of a prompt, which no graph has.
    few: Rows,
    many: Rows,
    /// Of each slot: the logits of the last step, the last token, a number in [0, 1) where tokens are drawn.
    pub logits: Tensor<bf16, 2>,
    pub tokens: Tensor<u32, 1>,
    pub numbers: Tensor<f32, 1>,
    sampling: Option<Sampling>,
}

impl Model {
    /// With room for sequences.
    pub fn new(stream: &Stream, config: Config, weights: Weights, room: Room) -> Result<Model> {
        let Room { slots, pages: [page, pages], context, chunk, drawn } = room;
        let (groups, depth) = (2 * config.heads[1], config.depth);
        let cache = |_| stream.zeros([pages, groups, page, depth]);
        Ok(Model {
            angles: stream.upload(&config.angles(context), [context, depth])?,
            cache: (0..config.layers).map(cache).collect::<Result<_>>()?,
            pages: stream.zeros([slots, context.div_ceil(page)])?,
            lengths: stream.upload(&vec![IDLE; slots], [slots])?,
            whole: stream.zeros([groups * context * depth])?,
            few: Rows::new(stream, &config, slots)?,
            many: Rows::new(stream, &config, chunk)?,
            logits: stream.zeros([slots, config.vocabulary])?,
            tokens: stream.zeros([slots])?,
            numbers: stream.zeros([slots])?,
            config,
            weights,
            sampling: drawn.map(|(sampling, _)| sampling),
        })
    }

    /// From tokens to the last norm: of every slot's last one, or with `fill` of the places `start..` of a slot.
    fn forward(&mut self, stream: &Stream, fill: Option<Fill<'_>>, watch: &mut Watch<'_>) -> Result<()> {
        let Model { config, weights, angles, cache, pages, lengths, whole, few, many, tokens, .. } = self;
        let Config { heads: [heads, groups], depth, epsilon, .. } = *config;
        let (rows, step) = if fill.is_none() { (few, true) } else { (many, false) };
        let Rows { hidden: [x, h, y], heads: [qkv, all], logs, inner: [gate, inner], products, parts } = rows;
        let (tokens, [slot, start]) = fill.unwrap_or((tokens, [0, 0]));
        let ([m, width], own, at) = (qkv.shape(), set(&[("D", depth)]), [slot, start].map(|at| at as i32));
        let norm = set(&[("ROUNDS", config.hidden.div_ceil(2048))]);
        let [first, places] = [(&norm, "ADVANCE", step), (&own, "FILL", !step)]
            .map(|(set, name, is)| set.clone().with(name, ParamValue::Bool(is)));
        watch("row and norm", &mut || {
            let (table, scale) = (&weights.table, &weights.layers[0].norms[0]);
            embed_norm::launch_with(with(&first), stream, table, tokens, scale, lengths, x, h, epsilon)
        })?;
        for (layer, cache) in cache.iter_mut().enumerate() {
            let Layer { norms, bias, products: [fused, out, gates, down] } = &weights.layers[layer];
            let next = weights.layers.get(layer + 1).map_or(&weights.norm, |next| &next.norms[0]);
            watch("product: q, k, v", &mut || product(stream, products, h, fused, qkv))?;
            watch("angles and cache", &mut || {
                let (of, bias) = (with(&places), bias.part(0, [1, width], [width, 1])?);
                append::launch_with(of, stream, qkv, &bias, angles, cache, pages, lengths, at[0], at[1])
            })?;
            let [batch, queries] = if step { [m, 1] } else { [1, m] };
            let q = qkv.part(0, [batch, heads, queries, depth], [width, depth, width, 1])?;
            let mut o = all.part_mut(0, q.shape(), [heads * depth, depth, heads * depth, 1])?;
            let mut logs = logs.part_mut(0, [batch, heads, queries], [heads * queries, queries, 1])?;
            if step {
                let [k, v] = halves(cache, cache.shape())?;
                let what = Decoding { pages: Some(pages), ..Decoding::default() };
                watch("attention", &mut || {
                    what.run(stream, &q, &k, &v, lengths, parts, (&mut o, &mut logs))
                })?;
            } else {
                let (length, list) = (start + m, pages.shape()[1]);
                let list = pages.part(slot * list, [list], [1])?;
                let mut kv = whole.part_mut(0, [2 * groups, length, depth], [length * depth, depth, 1])?;
                gathered::launch_with(with(&own), stream, cache, &list, &mut kv)?;
                let [k, v] = halves(whole, [1, 2 * groups, length, depth])?;
                let what = Attention { mask: Mask::Causal, ..Attention::default() };
                what.run(stream, &q, &k, &v, &mut o, &mut logs)?;
            }
            watch("product: out", &mut || product(stream, products, all, out, y))?;
            let mut add = |y: &Tensor<bf16, 2>, h: &mut Tensor<bf16, 2>, scale: &Tensor<bf16, 1>| {
                add_norm::launch_with(with(&norm), stream, y, scale, x, h, epsilon)
            };
            watch("add and norm", &mut || add(y, h, &norms[1]))?;
            watch("product: gate", &mut || product(stream, products, h, gates, gate))?;
            watch("silu", &mut || swiglu::launch(stream, gate, inner))?;
            watch("product: down", &mut || product(stream, products, inner, down, y))?;
            watch("add and norm", &mut || add(y, h, next))?;
        }
        Ok(())
    }

    /// A step: every slot's token goes into the cache, and the one behind it into its place.
    pub fn step(&mut self, stream: &Stream, watch: &mut Watch<'_>) -> Result<()> {
        self.forward(stream, None, watch)?;
        let Model { weights, few: Rows { hidden: [_, h, _], products, .. }, logits, .. } = self;
        watch("product: head", &mut || whole(stream, &mut products.0, h, weights.head(), logits))?;
        watch("token", &mut || pick(stream, self.sampling, &self.logits, &self.numbers, &mut self.tokens))
    }

    /// Takes tokens as the places `start..` of a slot into the cache.
    pub fn fill(&mut self, stream: &Stream, slot: usize, start: usize, tokens: &[u32]) -> Result<()> {
        if self.many.hidden[0].shape()[0] != tokens.len() {
            self.many = Rows::new(stream, &self.config, tokens.len())?;
        }
        let tokens = stream.upload(tokens, [tokens.len()])?;
        self.forward(stream, Some((&tokens, [slot, start])), &mut |_, launch| launch())
    }

    /// The logits behind the places that were filled last, from one of them on.
    pub fn filled(&self, stream: &Stream, first: usize) -> Result<Tensor<bf16, 2>> {
        let Rows { hidden: [_, h, _], .. } = &self.many;
        let [rows, hidden] = h.shape();
        let mut logits = stream.zeros([rows - first, self.config.vocabulary])?;
        let h = h.part(first * hidden, [rows - first, hidden], [hidden, 1])?;
        whole(stream, &mut Workspace::default(), &h, self.weights.head(), &mut logits)?;
        Ok(logits)
    }

    /// Ends a prompt of so many places: the token behind it, which is the slot's.
    pub fn begin(&mut self, stream: &Stream, slot: usize, length: usize) -> Result<u32> {
        let logits = self.filled(stream, self.many.hidden[1].shape()[0] - 1)?;
        let number = self.numbers.part(slot, [1], [1])?;
        pick(stream, self.sampling, &logits, &number, &mut self.tokens.part_mut(slot, [1], [1])?)?;
        self.lengths.write_bytes(slot, &(length as i32).to_le_bytes())?;
        Ok(self.tokens.download()?[slot])
    }

    /// Gives a slot its pages.
    pub fn place(&mut self, slot: usize, pages: &[i32]) -> Result<()> {
        let bytes: Vec<u8> = pages.iter().flat_map(|page| page.to_le_bytes()).collect();
        self.pages.write_bytes(slot * self.pages.shape()[1], &bytes)
    }
}

fn with(set: &ParamSet) -> LaunchConfig<'_> {
    LaunchConfig { set: Some(set), ..LaunchConfig::default() }
}

/// Keys and values: of the heads of both the first half, and the second.
fn halves<const R: usize>(
    both: &Tensor<bf16, R>,
    [pages, heads, places, depth]: [usize; 4],
) -> Result<[TensorView<'_, bf16, 4>; 2]> {
    let (half, head) = (heads / 2, places * depth);
    let part = |first| both.part(first, [pages, half, places, depth], [heads * head, head, depth, 1]);
    Ok([part(0)?, part(half * head)?])
}

/// `y = x wᵀ`, in float32, rounded once. From the second call with the same shapes on nothing is allocated.
fn product(
    stream: &Stream,
    memory: &mut Products,
    x: &Tensor<bf16, 2>,
    w: &Matrix,
    y: &mut Tensor<bf16, 2>,
) -> Result<()> {
    match w {
        Matrix::Whole(w) => whole(stream, &mut memory.0, x, w, y),
        Matrix::Quantized(w) => quantized::multiply(stream, &mut memory.1, x, w, y),
    }
}

/// The same of a whole matrix.
fn whole(
    stream: &Stream,
    memory: &mut Workspace<bf16, bf16>,
    x: &impl TensorArg<bf16, 2>,
    w: &Tensor<bf16, 2>,
    y: &mut Tensor<bf16, 2>,
) -> Result<()> {
    let [rows, depth] = w.shape();
    multiply(stream, Options::default(), memory, x, &w.part(0, [depth, rows], [1, depth])?, y)
}

/// The largest logit of each row, or one that is drawn.
fn pick(
    stream: &Stream,
    sampling: Option<Sampling>,
    logits: &Tensor<bf16, 2>,
    numbers: &impl TensorArg<f32, 1>,
    out: &mut impl TensorArgMut<u32, 1>,
) -> Result<()> {
    if let Some(sampling) = sampling {
        return sample(stream, sampling, logits, numbers, out);
    }
    let [_, n] = logits.shape();
    let vector = if n.is_multiple_of(8) { 8 } else { 1 };
    let threads = (n / vector).div_ceil(4).next_multiple_of(32).clamp(32, 1024);
    argmax::launch_with(with(&set(&[("V", vector), ("THREADS", threads)])), stream, logits, out)
}
