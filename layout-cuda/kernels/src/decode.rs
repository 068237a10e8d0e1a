//! Attention of few queries over many keys, contiguous or in pages: what is split, and how it is put together.
//!
//! Law: what [`Attention`](super::attention::Attention) computes of each sequence's first `lengths[b]` keys, the last query beside the
//! last key. Lengths are cut at what K has room for, negative ones are 0, and a page's number is taken as the nearest one that there is:
//! nothing outside is read, whatever the tables say. With a `span` of one's own a sequence's result does not depend on the others.

use crate::attention::{Kernel, Mask, Own, Score};
use crate::is_unaligned;
use crate::kernels::decode::{combine, decode};
use layout_cuda::{
    Argument, Elem, Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, TensorArg,
    TensorArgMut, TensorViewMut,
};

/// What is computed.
///
/// ```
/// use layout_cuda::{Device, bf16};
/// use layout_kernels::decode::{Decoding, Workspace};
///
/// // Two sequences, a token each; four heads on two; up to 100 keys, 70 and 3 of them in use.
/// let device = Device::simulator();
/// let some = |count| vec![bf16::from_f32(0.5); count];
/// let q = device.upload(&some(2 * 4 * 64), [2, 4, 1, 64])?;
/// let [k, v] = [device.upload(&some(2 * 2 * 100 * 64), [2, 2, 100, 64])?, device.upload(&some(2 * 2 * 100 * 64), [2, 2, 100, 64])?];
/// let lengths = device.upload(&[70, 3], [2])?;
/// let (mut o, mut logs) = (device.zeros::<bf16, 4>([2, 4, 1, 64])?, device.zeros::<f32, 3>([2, 4, 1])?);
/// let (stream, mut memory) = (device.stream(), Workspace::default());
/// Decoding::default().run(&stream, &q, &k, &v, &lengths, &mut memory, (&mut o, &mut logs))?;
/// assert_eq!(o.download()?[0].to_f32(), 0.5);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Clone, Copy, Default)]
pub struct Decoding<'a> {
    /// Which keys a query sees; one query that is the last one sees the same keys under `Every` and `Causal`.
    pub mask: Mask,
    /// What is done to a scaled product.
    pub score: Score,
    /// What products are multiplied with: 1 / sqrt(D) without it. Above zero.
    pub scale: Option<f32>,
    /// Functions of one's own, in place of mask and score: of `decode_with!`.
    pub own: Option<Own>,
    /// K and V in pages: entry `i` of a sequence's row is the page of its keys `i * N..(i + 1) * N`, where K and V have the shape
    /// pages, heads, N, elements; N is a multiple of 8.
    pub pages: Option<&'a Tensor<i32, 2>>,
    /// Keys of a split, rounded up to whole blocks; else as many as let all multiprocessors work, which depends on the batch.
    pub span: Option<usize>,
    /// The most keys that a sequence has, where that is known to be less than there is room for: of a longer one all are computed
    /// too, but not evenly.
    pub longest: Option<usize>,
    /// How K and V are loaded: by TMA, or by asynchronous copies of the warps, which run on every card from sm_80 on; the device's without it.
    pub kernel: Option<Kernel>,
}

/// Memory for the parts of splits, kept from launch to launch. It has none at first.
#[derive(Debug, Default)]
pub struct Workspace {
    parts: Option<Tensor<f32, 1>>,
    logs: Option<Tensor<f32, 1>>,
}

/// How a launch is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Splits {
    /// Of each sequence.
    pub count: usize,
    /// Keys of each: whole blocks.
    pub span: usize,
}

/// Shared memory of a multiprocessor for stages, bytes, where a block may have all of it.
const ROOM: usize = 210_000;

/// Shared memory besides the stages, bytes: Q, O and what the warps exchange.
const OTHERS: usize = 20_000;

/// The most bytes of stages that a block has on the stream's device, for a kernel that loads by TMA or, compiled for sm_80, does not.
fn room(stream: &Stream, kernel: Kernel) -> usize {
    let of_sm_80 = if kernel == Kernel::Warps { 163 << 10 } else { usize::MAX };
    stream.device().shared_bytes_per_block().min(of_sm_80).saturating_sub(OTHERS).min(ROOM)
}

/// How a launch is laid out.
struct Plan {
    splits: Splits,
    /// Of a sequence and a tile of heads.
    pairs: usize,
    /// Of a tile.
    rows: usize,
    /// Blocks of a multiprocessor, and of all.
    each: usize,
    at_once: usize,
    /// Of a block's stages.
    bytes: usize,
}

impl Plan {
    /// What it takes, in keys of a multiprocessor: the blocks of one share its bandwidth; parts are written and read again, by a launch
    /// of its own.
    fn cost(&self) -> usize {
        let apart = if self.splits.count > 1 { 2 * self.each * self.rows + 192 } else { 0 };
        let blocks = self.pairs.saturating_mul(self.splits.count);
        let shared_by = blocks.div_ceil((self.at_once / self.each).max(1));
        let waves = blocks.div_ceil(self.at_once.max(1));
        shared_by.saturating_mul(self.splits.span).saturating_add(waves.saturating_mul(96 + apart))
    }
}

impl Decoding<'_> {
    /// The kernel's parameters for elements of a type, head dimensions of keys and values, rows that share a head of K and V, and keys
    /// of a page.
    pub fn set(&self, elem: Elem, [d, dv]: [usize; 2], rows: usize, page: usize) -> ParamSet {
        let keys = if d + dv <= 192 { 32 } else { 16 };
        let rows = if rows > 16 && d + dv <= 256 { 32 } else { 16 };
        // Rows that are in one page wherever a block begins; TMA writes whole swizzles of 8.
        let of_page = if self.pages.is_some() { page.trailing_zeros().clamp(3, 5) } else { 5 };
        let chunk = keys.min(1 << of_page);
        let [keep, range] = self.mask.functions();
        let set = crate::set(&[("D", d), ("DV", dv), ("ROWS", rows), ("BN", keys), ("CHUNK", chunk)])
            .with("T", ParamValue::Type(elem))
            .with("PAGED", ParamValue::Bool(self.pages.is_some()));
        if self.own.is_some() {
            return set;
        }
        set.with("KEEP", ParamValue::Function(keep))
            .with("RANGE", ParamValue::Function(range))
            .with("SCORE", ParamValue::Function(self.score.function()))
    }

    /// The parameters for Q, K and V of these shapes on a stream's device: those of [`Decoding::set`], with twice the stages where one
    /// block on a multiprocessor in place of two needs no splits.
    pub fn set_for(&self, stream: &Stream, elem: Elem, q: [usize; 4], [k, v]: [[usize; 4]; 2]) -> ParamSet {
        let ([_, heads, queries, d], [_, groups, page, _]) = (q, k);
        let rows = heads.checked_div(groups).unwrap_or(0).saturating_mul(queries);
        let usual = self.set(elem, [d, v[3]], rows, page);
        let kernel = self.kernel.unwrap_or_else(|| Kernel::of(stream.device()));
        let (room, usual) =
            (room(stream, kernel), usual.with("TMA", ParamValue::Bool(kernel == Kernel::Warpgroups)));
        let with = |stages: i64| usual.clone().with("STAGES", ParamValue::Int(stages));
        let plan = |set: &ParamSet| self.plan(set, stream, q, [k, v]);
        let own = plan(&usual);
        if own.bytes > room {
            return if plan(&with(2)).bytes <= room {
                with(2)
            } else {
                with(2).with("WARPS", ParamValue::Int(2))
            };
        }
        let (deep, other) = (with(6), plan(&with(6)));
        let is_deep = self.span.is_none() && other.bytes <= room && other.cost() < own.cost() / 100 * 98;
        if is_deep { deep } else { usual }
    }

    /// How `pairs` of a sequence and a tile of heads, with so many rows and up to so many keys each, are split for so many blocks at once
    /// of so many keys.
    pub fn splits(&self, pairs: usize, rows: usize, keys: usize, block: usize, at_once: usize) -> Splits {
        let whole = |span: usize| span.max(1).div_ceil(block) * block;
        let seen = match self.mask {
            Mask::Sliding(window) if self.own.is_none() => keys.min(window.saturating_add(rows + block)),
            Mask::Every | Mask::Causal | Mask::Sliding(_) => keys,
        };
        if let Some(span) = self.span {
            let span = whole(span.min(1 << 30));
            return Splits { count: seen.div_ceil(span).max(1), span };
        }
        let longest = self.longest.map_or(seen, |longest| longest.min(seen));
        // In keys: a block's beginning, and what is written and read again of a part.
        let cost = |count: usize| {
            let apart = if count > 1 { 2 * rows } else { 0 };
            (pairs.max(1).saturating_mul(count))
                .div_ceil(at_once)
                .saturating_mul(whole(longest.div_ceil(count)) + 96 + apart)
        };
        let most = longest.div_ceil(4 * block).clamp(1, 512);
        let count = (1..=most).min_by_key(|count| cost(*count)).unwrap_or(1);
        let span = whole(longest.div_ceil(count));
        Splits { count: seen.div_ceil(span).max(1), span }
    }

    /// `o = softmax(q kᵀ) v` for each head, and `logs` the natural logarithms of the sums of the exponentials. The modes of Q and O are
    /// batch, head, query, element; of K and V batch, head, key, element, or page, head, key of the page, element; in memory they may be
    /// in any order, the elements of a head contiguous.
    ///
    /// Elements are bf16 or f16; scores and sums are float32, the weights are rounded to the elements' type. A query that sees no key
    /// gets zeros, and minus infinity. The same inputs give the same bits. Tensors whose heads begin elsewhere than at multiples of 16
    /// bytes go by the slower kernel of the cards without TMA.
    ///
    /// # Errors
    /// Shapes that do not fit one another, heads of Q that are no multiple of those of K, a device without memory for the parts, and
    /// those of a launch.
    #[expect(clippy::too_many_arguments, reason = "what attention has, lengths and a workspace")]
    pub fn run<T: Element>(
        &self,
        stream: &Stream,
        q: &impl TensorArg<T, 4>,
        k: &impl TensorArg<T, 4>,
        v: &impl TensorArg<T, 4>,
        lengths: &impl TensorArg<i32, 1>,
        workspace: &mut Workspace,
        out: (&mut impl TensorArgMut<T, 4>, &mut impl TensorArgMut<f32, 3>),
    ) -> Result<(), Error> {
        let shapes = [k.view().shape(), v.view().shape()];
        let set = self.set_for(stream, T::ELEM, q.view().shape(), shapes);
        let (o, logs) = out;
        let done = self.run_with(&set, stream, q, k, v, lengths, workspace, (&mut *o, &mut *logs));
        if is_unaligned(&done) && self.kernel.is_none() && self.own.is_none() {
            let warps = Decoding { kernel: Some(Kernel::Warps), ..*self };
            return warps.run(stream, q, k, v, lengths, workspace, (o, logs));
        }
        done
    }

    /// How a set splits these shapes on a stream's device.
    fn plan(&self, set: &ParamSet, stream: &Stream, q: [usize; 4], [k, v]: [[usize; 4]; 2]) -> Plan {
        let [batches, heads, queries, d] = q;
        let ([_, groups, page, _], dv) = (k, v[3]);
        let rows = heads.checked_div(groups).unwrap_or(0).saturating_mul(queries);
        let of = |name: &str, usual: usize| match set.get(name) {
            Some(ParamValue::Int(value)) => usize::try_from(value).unwrap_or(usual).max(1),
            _ => usual,
        };
        let (tile, block, warps, stages) = (of("ROWS", 16), of("BN", 16), of("WARPS", 4), of("STAGES", 3));
        let room = self.pages.map_or(page, |pages| pages.shape()[1].saturating_mul(page));
        let pairs = batches.saturating_mul(groups).saturating_mul(rows.div_ceil(tile));
        let bytes = (warps * stages * block).saturating_mul(d + dv).saturating_mul(2);
        let multiprocessors = stream.device().properties().map_or(2, |gpu| gpu.multiprocessors as usize);
        let kernel =
            if set.get("TMA") == Some(ParamValue::Bool(false)) { Kernel::Warps } else { Kernel::Warpgroups };
        let each = (self::room(stream, kernel) / bytes.max(1)).clamp(1, 4);
        let splits = self.splits(pairs, rows.min(tile), room.min(1 << 30), block, multiprocessors * each);
        Plan { splits, pairs, rows: rows.min(tile), each, at_once: multiprocessors * each, bytes }
    }

    /// The same with parameters of one's own: [`Decoding::set`] with changes.
    ///
    /// # Errors
    /// As [`Decoding::run`].
    #[expect(clippy::too_many_arguments, reason = "those of `run`, and the set")]
    pub fn run_with<T: Element>(
        &self,
        set: &ParamSet,
        stream: &Stream,
        q: &impl TensorArg<T, 4>,
        k: &impl TensorArg<T, 4>,
        v: &impl TensorArg<T, 4>,
        lengths: &impl TensorArg<i32, 1>,
        workspace: &mut Workspace,
        (o, logs): (&mut impl TensorArgMut<T, 4>, &mut impl TensorArgMut<f32, 3>),
    ) -> Result<(), Error> {
        let (q, k, v, lengths) = (q.view(), k.view(), v.view(), lengths.view());
        let (mut o, mut logs) = (o.view_mut(), logs.view_mut());
        let [batches, heads, queries, d] = q.shape();
        let dv = v.shape()[3];
        let none = stream.zeros::<i32, 2>([0, 0])?;
        let pages = self.pages.unwrap_or(&none);
        let Splits { count, span } = self.plan(set, stream, q.shape(), [k.shape(), v.shape()]).splits;
        let scale = self.scale.unwrap_or(1.0 / (d as f32).sqrt());
        let (kernel, window, strength) = match self.own {
            Some(own) => (own.kernel, own.window, own.strength),
            None => (&decode::DEFINITION, self.mask.window(), self.score.strength(heads)),
        };
        let launch = |out: Elem, o: Argument<'_>, logs: &mut TensorViewMut<'_, f32, 3>| {
            let set = set.clone().with("U", ParamValue::Type(out));
            let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
            let pages = pages.view();
            let mut arguments = [
                Argument::read(&q),
                Argument::read(&k),
                Argument::read(&v),
                Argument::read(&lengths),
                Argument::read(&pages),
                o,
                Argument::write(logs),
                Argument::index(span),
                Argument::scalar(scale),
                Argument::scalar(strength),
                Argument::scalar(window),
            ];
            layout_cuda::launch(kernel, stream, config, &mut arguments)
        };
        if count == 1 {
            return launch(T::ELEM, Argument::write(&mut o), &mut logs);
        }
        let parts = count.saturating_mul(batches);
        let shape = [parts, heads, queries, dv];
        let [of_row, of_head] = [queries.saturating_mul(dv), queries];
        let strides = [heads.saturating_mul(of_row), of_row, dv, 1];
        let log_strides = [heads.saturating_mul(of_head), of_head, 1];
        let of_parts = kept(stream, parts.saturating_mul(strides[0]), &mut workspace.parts)?;
        let logs_of_parts = kept(stream, parts.saturating_mul(log_strides[0]), &mut workspace.logs)?;
        {
            let mut to = of_parts.part_mut(0, shape, strides)?;
            let mut to_logs = logs_of_parts.part_mut(0, [parts, heads, queries], log_strides)?;
            launch(Elem::F32, Argument::write(&mut to), &mut to_logs)?;
        }
        let dependent = set.get("TMA").unwrap_or(ParamValue::Bool(true));
        let set = crate::set(&[("DV", dv)]).with("T", ParamValue::Type(T::ELEM)).with("DEPENDENT", dependent);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let from = of_parts.part(0, shape, strides)?;
        let from_logs = logs_of_parts.part(0, [parts, heads, queries], log_strides)?;
        combine::launch_with(config, stream, &from, &from_logs, &mut o, &mut logs)
    }
}

/// The memory, made larger where it is too small.
fn kept<'m>(
    stream: &Stream,
    count: usize,
    memory: &'m mut Option<Tensor<f32, 1>>,
) -> Result<&'m mut Tensor<f32, 1>, Error> {
    if memory.as_ref().is_none_or(|memory| memory.len() < count) {
        *memory = None;
    }
    match memory {
        Some(memory) => Ok(memory),
        None => Ok(memory.insert(stream.zeros([count])?)),
    }
}
