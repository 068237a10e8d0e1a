//! Attention by one description: shapes checked, masks and scores by name, the tile sizes of each head dimension.
//!
//! Law: what the description says is what is computed, or it is an error before anything is launched; ends of packed sequences that
//! are out of range or out of order are taken as the nearest ones that are in it, so that nothing outside is read or written.

use crate::kernels::attention::attention;
use crate::kernels::attention_mma::attention_mma;
use crate::{is_unaligned, same};
use layout_cuda::{
    Arch, Argument, Definition, Device, Elem, Element, Error, LaunchConfig, ParamSet, ParamValue, Stream,
    Tensor, TensorArg, TensorArgMut,
};

/// Which keys a query sees. The last query of a sequence is beside its last key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mask {
    /// All.
    #[default]
    Every,
    /// Those up to its own place.
    Causal,
    /// The last so many up to its own place.
    Sliding(usize),
}

impl Mask {
    /// The kernel's functions `KEEP` and `RANGE`.
    pub(super) const fn functions(self) -> [&'static str; 2] {
        match self {
            Mask::Every => ["every", "all_keys"],
            Mask::Causal => ["causal", "keys_before"],
            Mask::Sliding(_) => ["sliding", "keys_within"],
        }
    }

    /// What the functions are given.
    pub(super) fn window(self) -> i32 {
        if let Mask::Sliding(keys) = self { keys.min(1 << 30) as i32 } else { 0 }
    }
}

/// What is done to a scaled product before the softmax.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Score {
    /// Nothing.
    #[default]
    Plain,
    /// `cap * tanh(score / cap)`
    SoftCap(f32),
    /// `score - 2^(-8 (head + 1) / heads) * distance`, of up to 2²² keys and queries
    Alibi,
}

impl Score {
    /// What the function is given: of ALiBi the heads.
    pub(super) fn strength(self, heads: usize) -> f32 {
        match self {
            Score::Plain => 1.0,
            Score::SoftCap(cap) => cap,
            Score::Alibi => heads as f32,
        }
    }

    /// The kernel's function `SCORE`.
    pub(super) const fn function(self) -> &'static str {
        match self {
            Score::Plain => "plain",
            Score::SoftCap(_) => "soft_cap",
            Score::Alibi => "alibi",
        }
    }
}

/// The kernels that attention may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Warpgroup products of tiles that TMA loads: Hopper's.
    Warpgroups,
    /// Products of each warp by `mma.sync`: every card from sm_80 on.
    Warps,
}

impl Kernel {
    /// The faster one of a device. The simulator is a Hopper card.
    pub fn of(device: &Device) -> Kernel {
        if device.arch().includes(Arch::SM_90A) { Kernel::Warpgroups } else { Kernel::Warps }
    }

    /// The kernel itself.
    pub fn definition(self) -> &'static Definition {
        match self {
            Kernel::Warpgroups => &attention::DEFINITION,
            Kernel::Warps => &attention_mma::DEFINITION,
        }
    }
}

/// A kernel with functions of one's own in place of mask and score, that `attention_with!` or `decode_with!` made:
///
/// ```
/// use layout_cuda::{Device, bf16};
/// use layout_kernels::attention::{Attention, Own};
///
/// // Documents of `window` keys, one after the other: a query sees its own one's; what is farther counts less.
/// layout_kernels::attention_with! {
///     (KEEP = same_document, RANGE = of_documents, SCORE = nearer)
///     mod documents {
///         fn same_document(_batch: i32, _head: i32, query: i32, key: i32, window: i32) -> bool {
///             query / window == key / window
///         }
///         /// Of queries `first..last`: the keys `from..to` that some see, and those that all see, none if in doubt.
///         fn of_documents(first: i32, last: i32, keys: i32, window: i32) -> (i32, i32, i32, i32) {
///             let (from, to) = (first / window * window, ((last - 1) / window + 1) * window);
///             (from.clamp(0, keys), to.clamp(0, keys), 0, 0)
///         }
///         fn nearer(score: f32, _batch: i32, _head: i32, query: i32, key: i32, strength: f32) -> f32 {
///             score - strength * distance(query, key)
///         }
///     }
/// }
///
/// let device = Device::simulator();
/// let q = device.upload(&[bf16::from_f32(1.0); 64 * 100], [1, 1, 100, 64])?;
/// let mut o = device.zeros::<bf16, 4>([1, 1, 100, 64])?;
/// let mut logs = device.zeros::<f32, 3>([1, 1, 100])?;
/// let own = Own { kernel: &documents::attention::DEFINITION, window: 1, strength: 0.5 };
/// let what = Attention { own: Some(own), ..Attention::default() };
/// what.run(&device.stream(), &q, &q, &q, &mut o, &mut logs)?;
/// // Alone in its document a query's score is its product with itself.
/// assert_eq!((o.download()?[99], logs.download()?[99]), (bf16::from_f32(1.0), 8.0));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
///
/// The functions of the library are beside one's own: `KEEP = causal`, `RANGE = keys_before`, `SCORE = plain` and the like; `distance(query,
/// key)` is `(query - key).abs() as f32` of up to 2²² places without a conversion for each score, which would take as long as an exponential. So
/// would a division: `strength` is for what is the same for all keys, and `UNITS = of_caps` gives the score in units of it.
#[derive(Clone, Copy)]
pub struct Own {
    /// The kernel.
    pub kernel: &'static Definition,
    /// What the mask and its range are given.
    pub window: i32,
    /// What the score is given.
    pub strength: f32,
}

/// Sequences one after the other in one batch: number `z` has rows `queries[z]..queries[z + 1]` of Q and O, and
/// `keys[z]..keys[z + 1]` of K and V. Neither list may fall: rows that two sequences have are a race.
#[derive(Clone, Copy)]
pub struct Packed<'a> {
    /// Where each sequence's queries begin, and where the last one's end.
    pub queries: &'a Tensor<i32, 1>,
    /// The same of the keys.
    pub keys: &'a Tensor<i32, 1>,
    /// The most queries of a sequence; of a longer one the rest may not be computed.
    pub longest: usize,
}

/// What is computed.
#[derive(Clone, Copy, Default)]
pub struct Attention<'a> {
    /// Which keys a query sees.
    pub mask: Mask,
    /// What is done to a scaled product.
    pub score: Score,
    /// What products are multiplied with: 1 / sqrt(D) without it. Above zero.
    pub scale: Option<f32>,
    /// The sequences, where they are packed.
    pub packed: Option<Packed<'a>>,
    /// Functions of one's own, in place of mask and score.
    pub own: Option<Own>,
    /// In place of the device's faster one.
    pub kernel: Option<Kernel>,
    /// Whether the backward gives the same bits each time, in 7 products instead of 5; packed sequences always have it.
    pub deterministic: bool,
}

/// The parameters of head dimensions: D, DV, keys of a block, warpgroups that multiply. Of others that are multiples of 32 the last row's.
const TILES: [[usize; 4]; 6] = [
    [64, 64, 128, 3],
    [96, 96, 128, 2],
    [128, 128, 128, 2],
    [192, 128, 96, 2],
    [256, 256, 64, 2],
    [0, 0, 64, 2],
];

impl Attention<'_> {
    /// The kernel's parameters on a device, for elements of a type, and tensors Q and V of these shapes.
    pub fn set(&self, device: &Device, elem: Elem, q: [usize; 4], v: [usize; 4]) -> ParamSet {
        match self.kernel_of(device) {
            Kernel::Warpgroups => self.set_of_warpgroups(device, elem, q, v),
            Kernel::Warps => self.set_of_warps(elem, [q[3], v[3]]),
        }
    }

    pub(crate) fn kernel_of(&self, device: &Device) -> Kernel {
        match self.own {
            Some(_) => Kernel::Warpgroups,
            None => self.kernel.unwrap_or_else(|| Kernel::of(device)),
        }
    }

    /// A warp has 16 queries where O has no room in its registers for more, and as many keys as its scores leave room for. Measured on an
    /// H100: of 64 elements 96 keys take 0.94 of the time of 64; of 128 elements 64 keys spill up to 68 bytes and take 0.93 of the time
    /// of 32, which spill none; of 256 elements 64 keys take 0.89 of the time of 32.
    fn set_of_warps(&self, elem: Elem, [d, dv]: [usize; 2]) -> ParamSet {
        let (queries, keys, rows) = match d.max(dv) {
            0..=63 => (128, 64, 2),
            64 if self.score == Score::Alibi => (128, 80, 2),
            64 => (128, 96, 2),
            65..=128 => (128, 64, 2),
            _ => (64, 64, 1),
        };
        let [keep, range] = self.mask.functions();
        crate::set(&[("D", d), ("DV", dv), ("BM", queries), ("BN", keys), ("ROWS", rows)])
            .with("T", ParamValue::Type(elem))
            .with("PACKED", ParamValue::Bool(self.packed.is_some()))
            .with("BY_HEADS", ParamValue::Bool(self.mask == Mask::Every))
            .with("KEEP", ParamValue::Function(keep))
            .with("RANGE", ParamValue::Function(range))
            .with("SCORE", ParamValue::Function(self.score.function()))
    }

    fn set_of_warpgroups(&self, device: &Device, elem: Elem, q: [usize; 4], v: [usize; 4]) -> ParamSet {
        let ([_, _, _, d], [_, _, length, dv]) = (q, v);
        let known = TILES.iter().find(|tiles| tiles[..2] == [d, dv]);
        let [.., keys, consumers] = *known.unwrap_or(&TILES[TILES.len() - 1]);
        // Functions of one's own may take registers that three warpgroups do not leave. Of short sequences that hide keys tiles of 192 queries
        // compute much that is hidden: on an H200 two warpgroups take 0.66 of the time at 512 keys, 0.89 at 2048.
        let (keys, consumers) = match self.own {
            Some(_) => (if d > 192 { 32 } else { keys }, 2),
            None if self.packed.is_some() || self.mask != Mask::Every && q[2] <= 2048 => (keys, 2),
            None => (keys, consumers),
        };
        // Without these, with no tangent, and with no lower end, more keys at once.
        let bare = self.own.is_none()
            && !matches!(self.score, Score::SoftCap(_))
            && self.packed.is_none()
            && !matches!(self.mask, Mask::Sliding(_));
        let full = bare && self.mask == Mask::Every;
        let keys = match [d, dv] {
            [256, 256] if bare && self.score == Score::Plain => 80,
            // A warpgroup less some registers, for the next packed tile.
            [256, 256] if self.packed.is_some() && self.own.is_none() => 48,
            // Measured on an H200: 2 % at 16384 keys, and the other way round at 4096.
            [128, 128] if bare && full && length >= 8192 => 160,
            _ => keys,
        };
        let [keep, range] = self.mask.functions();
        // Two blocks on the simulator: what they do by turns is seen.
        let blocks = device.properties().map_or(2, |gpu| gpu.multiprocessors as usize);
        let l2 = device.properties().map_or(60 << 20, |gpu| gpu.l2_bytes as usize);
        let set =
            crate::set(&[("D", d), ("DV", dv), ("BN", keys), ("CONSUMERS", consumers), ("SMS", blocks)]);
        let set = set
            .with("T", ParamValue::Type(elem))
            // Measured on an H200: without them 3 % at 64, with them 1 to 5 % at 128.
            .with("TURNS", ParamValue::Bool(d > 64))
            .with("PACKED", ParamValue::Bool(self.packed.is_some()))
            .with("BY_HEADS", ParamValue::Bool(self.own.is_none() && self.mask == Mask::Every))
            .with("PAIRED", ParamValue::Bool(self.in_pairs(q, v, (64 * consumers, blocks, l2))));
        if self.own.is_some() {
            return set;
        }
        set.with("KEEP", ParamValue::Function(keep))
            .with("RANGE", ParamValue::Function(range))
            .with("SCORE", ParamValue::Function(self.score.function()))
    }

    /// Whether tiles come in pairs. Tiles of all heads at once, the longest first, read K and V about eight times from memory where all of them
    /// are more than half of L2: a gigabyte at 16384 tokens of 16 heads of 128, which takes 0.26 ms at 4 TB/s. Pairs of one head after the
    /// other read them once, and may leave places of the last round empty: at most a sixteenth here. Of long sequences the products take longer.
    fn in_pairs(&self, q: [usize; 4], v: [usize; 4], (tile, blocks, l2): (usize, usize, usize)) -> bool {
        let ([batches, heads, queries, d], [_, groups, keys, dv]) = (q, v);
        let bytes = [batches, groups, keys, 2 * (d + dv)].into_iter().fold(1usize, usize::saturating_mul);
        let items = queries.div_ceil(tile).div_ceil(2).saturating_mul(batches.saturating_mul(heads));
        let rounds = items.div_ceil(blocks.max(1)).saturating_mul(blocks);
        let falls = self.own.is_none() && self.packed.is_none() && self.mask != Mask::Every;
        falls && bytes > l2 / 2 && queries <= 8192 && rounds - rounds / 17 <= items
    }

    /// `o = softmax(q kᵀ) v` for each head, and `logs` the natural logarithms of the sums of the exponentials. The modes of the
    /// tensors are batch, head, place, element; in memory they may be in any order, the elements of a head contiguous.
    ///
    /// Elements are bf16 or f16; scores and sums are float32, the weights are rounded to the elements' type. A query that sees no key
    /// gets zeros, and minus infinity.
    ///
    /// On Hopper tensors whose heads begin elsewhere than at multiples of 16 bytes go by the slower kernel of the other cards.
    ///
    /// # Errors
    /// Shapes that do not fit one another, heads of Q that are no multiple of those of K, packed sequences in several batches, and those of
    /// a launch.
    pub fn run<T: Element>(
        &self,
        stream: &Stream,
        q: &impl TensorArg<T, 4>,
        k: &impl TensorArg<T, 4>,
        v: &impl TensorArg<T, 4>,
        o: &mut impl TensorArgMut<T, 4>,
        logs: &mut impl TensorArgMut<f32, 3>,
    ) -> Result<(), Error> {
        let set = self.set(stream.device(), T::ELEM, q.view().shape(), v.view().shape());
        let done = self.run_with(&set, stream, q, k, v, o, logs);
        if is_unaligned(&done) && self.kernel.is_none() && self.own.is_none() {
            return Attention { kernel: Some(Kernel::Warps), ..*self }.run(stream, q, k, v, o, logs);
        }
        done
    }

    /// Packed sequences are one batch.
    pub(crate) fn fits(&self, q: [usize; 4]) -> Result<(), Error> {
        match self.packed {
            Some(_) => same("attention", "q", 0, q[0], ("the batch", "packed sequences"), 1),
            None => Ok(()),
        }
    }

    /// The same with parameters of one's own: [`Attention::set`] with changes.
    ///
    /// # Errors
    /// As [`Attention::run`].
    #[expect(clippy::too_many_arguments, reason = "those of `run`, and the set")]
    pub fn run_with<T: Element>(
        &self,
        set: &ParamSet,
        stream: &Stream,
        q: &impl TensorArg<T, 4>,
        k: &impl TensorArg<T, 4>,
        v: &impl TensorArg<T, 4>,
        o: &mut impl TensorArgMut<T, 4>,
        logs: &mut impl TensorArgMut<f32, 3>,
    ) -> Result<(), Error> {
        let (q, k, v, mut o) = (q.view(), k.view(), v.view(), o.view_mut());
        let [_, heads, queries, d] = q.shape();
        self.fits(q.shape())?;
        let config = LaunchConfig { set: Some(set), ..LaunchConfig::default() };
        let scale = self.scale.unwrap_or(1.0 / (d as f32).sqrt());
        let (kernel, window, strength) = match self.own {
            Some(own) => (own.kernel, own.window, own.strength),
            None => {
                (self.kernel_of(stream.device()).definition(), self.mask.window(), self.score.strength(heads))
            }
        };
        let none = stream.zeros::<i32, 1>([0])?;
        let (ends, longest) = match self.packed {
            Some(packed) => ([packed.queries, packed.keys], packed.longest.min(queries)),
            None => ([&none; 2], queries),
        };
        let (ends, mut logs) = (ends.map(Tensor::view), logs.view_mut());
        let mut arguments = [
            Argument::read(&q),
            Argument::read(&k),
            Argument::read(&v),
            Argument::read(&ends[0]),
            Argument::read(&ends[1]),
            Argument::write(&mut o),
            Argument::write(&mut logs),
            Argument::index(longest),
            Argument::scalar(scale),
            Argument::scalar(strength),
            Argument::scalar(window),
        ];
        layout_cuda::launch(kernel, stream, config, &mut arguments)
    }
}
