//! Attention by one description: shapes checked, masks and scores by name, the tile sizes of each head dimension.
//!
//! Law: what the description says is what is computed, or it is an error before anything is launched; ends of packed sequences that
//! are out of range or out of order are taken as the nearest ones that are in it, so that nothing outside is read or written.

use super::memory;
use crate::kernels::attention::attention;
use layout_cuda::{
    Device, Elem, Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, TensorView,
    TensorViewMut,
};

/// Which keys a query sees. The last query of a sequence stands beside its last key.
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
}

/// What is done to a scaled product before the softmax.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Score {
    /// Nothing.
    #[default]
    Plain,
    /// `cap * tanh(score / cap)`
    SoftCap(f32),
    /// `score - 2^(-8 (head + 1) / heads) * distance`
    Alibi,
}

impl Score {
    /// The kernel's function `SCORE`.
    pub(super) const fn function(self) -> &'static str {
        match self {
            Score::Plain => "plain",
            Score::SoftCap(_) => "soft_cap",
            Score::Alibi => "alibi",
        }
    }
}

/// Sequences one after the other in one batch: number `z` has rows `queries[z]..queries[z + 1]` of Q and O, and
/// `keys[z]..keys[z + 1]` of K and V.
#[derive(Clone, Copy)]
pub struct Packed<'a> {
    /// Where each sequence's queries begin, and where the last one's end.
    pub queries: &'a Tensor<i32, 1>,
    /// The same of the keys.
    pub keys: &'a Tensor<i32, 1>,
    /// The most queries of a sequence; of a longer one the rest is not computed.
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
    /// The kernel's parameters on a device, for elements of a type and head dimensions of keys and values.
    pub fn set(&self, device: &Device, elem: Elem, [d, dv]: [usize; 2]) -> ParamSet {
        let known = TILES.iter().find(|tiles| tiles[..2] == [d, dv]);
        let [.., keys, consumers] = *known.unwrap_or(&TILES[TILES.len() - 1]);
        // A score, or ends of sequences, take registers that three warpgroups do not leave, a tangent more than large heads do.
        let (keys, consumers) = match self.score {
            Score::Plain if self.packed.is_none() => (keys, consumers),
            Score::SoftCap(_) if d > 192 => (32, 2),
            _ => (keys, 2),
        };
        // Without any of these, and with no lower end, more keys at once.
        let bare =
            self.score == Score::Plain && self.packed.is_none() && !matches!(self.mask, Mask::Sliding(_));
        let keys = if [d, dv] == [256, 256] && bare { 80 } else { keys };
        let [keep, range] = self.mask.functions();
        // Two blocks on the simulator: what they do by turns is seen.
        let blocks = device.properties().map_or(2, |gpu| gpu.multiprocessors as usize);
        let set =
            memory::set(&[("D", d), ("DV", dv), ("BN", keys), ("CONSUMERS", consumers), ("SMS", blocks)]);
        set.with("T", ParamValue::Type(elem))
            .with("KEEP", ParamValue::Function(keep))
            .with("RANGE", ParamValue::Function(range))
            .with("SCORE", ParamValue::Function(self.score.function()))
            .with("PACKED", ParamValue::Bool(self.packed.is_some()))
            .with("BY_HEADS", ParamValue::Bool(self.mask == Mask::Every))
    }

    /// `o = softmax(q kᵀ) v` for each head, and `logs` the natural logarithms of the sums of the exponentials. The modes of the
    /// tensors are batch, head, place, element; in memory they may lie in any order, the elements of a head contiguous.
    ///
    /// Elements are bf16 or f16; scores and sums are float32, the weights are rounded to the elements' type. A query that sees no key
    /// gets zeros, and minus infinity.
    ///
    /// # Errors
    /// Shapes that do not fit one another, heads of Q that are no multiple of those of K, and those of a launch.
    pub fn run<T: Element>(
        &self,
        stream: &Stream,
        q: &TensorView<'_, T, 4>,
        [k, v]: [&TensorView<'_, T, 4>; 2],
        o: &mut TensorViewMut<'_, T, 4>,
        logs: &mut Tensor<f32, 3>,
    ) -> Result<(), Error> {
        let set = self.set(stream.device(), T::ELEM, [q.shape()[3], v.shape()[3]]);
        self.run_with(&set, stream, q, [k, v], o, logs)
    }

    /// The same with parameters of one's own: [`Attention::set`] with changes.
    ///
    /// # Errors
    /// As [`Attention::run`].
    pub fn run_with<T: Element>(
        &self,
        set: &ParamSet,
        stream: &Stream,
        q: &TensorView<'_, T, 4>,
        [k, v]: [&TensorView<'_, T, 4>; 2],
        o: &mut TensorViewMut<'_, T, 4>,
        logs: &mut Tensor<f32, 3>,
    ) -> Result<(), Error> {
        let [_, _, queries, d] = q.shape();
        let config = LaunchConfig { set: Some(set), ..LaunchConfig::default() };
        let scale = self.scale.unwrap_or(1.0 / (d as f32).sqrt());
        let strength = if let Score::SoftCap(cap) = self.score { cap } else { 1.0 };
        let window = if let Mask::Sliding(keys) = self.mask { keys.min(1 << 30) as i32 } else { 0 };
        let none = stream.zeros::<i32, 1>([0])?;
        let (ends, longest) = match self.packed {
            Some(packed) => ([packed.queries, packed.keys], packed.longest.min(queries)),
            None => ([&none; 2], queries),
        };
        let [q_ends, k_ends] = ends;
        attention::launch_with(
            config, stream, q, k, v, q_ends, k_ends, o, logs, longest, scale, strength, window,
        )
    }
}
