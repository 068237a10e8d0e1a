//! A mixture of experts: which experts a token has, tokens sorted by expert, products of groups of rows with SwiGLU, the weighted sum.
//!
//! ```text
//! gate ─► sort_by_expert ─► select_rows ─► grouped_matmul ─► swiglu ─► grouped_matmul ─► combine
//! ```
//!
//! Law: seven launches, whatever the routing; no number is copied to the host, and none is summed by atomics, so that a result is the same
//! in every run. The order of a token's experts is total: NaN, then from the largest logit down, -0 as 0, equal ones by their number.

use crate::kernels::experts as kernels;
use crate::movement::select_rows;
use crate::{Real, grouped_matmul, kept, refused, same, set};
use layout_cuda::{
    Elem, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, TensorArg, TensorArgMut, TensorView,
};

/// The most experts of a token.
pub const MOST: usize = 32;

/// What a logit counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    /// Its share in the softmax over all experts.
    Softmax,
    /// `1 / (1 + exp(-x))`
    Sigmoid,
}

/// How logits become weights. By default a softmax of the token's own experts: one over all of them, normalised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gating {
    /// What a logit counts as.
    pub score: Score,
    /// Whether the scores of a token's experts are divided by their sum.
    pub normalised: bool,
    /// What the weights are multiplied by.
    pub scale: f32,
}

impl Default for Gating {
    fn default() -> Gating {
        Gating { score: Score::Softmax, normalised: true, scale: 1.0 }
    }
}

/// `experts[i, j]` and `weights[i, j]` of M x K: the expert number `j` in the order of the logits of token `i`, of M x E, and its weight.
/// Rows of logits may be any distance apart. Asynchronous.
///
/// A token with a NaN among its logits has that expert first, with the weight NaN; softmax and normalised weights are then all NaN. So are
/// those of a softmax with plus infinity, and softmax and normalised ones where all logits are minus infinity.
///
/// # Errors
/// A K that is 0, above [`MOST`] or above E, shapes that disagree, and those of a launch.
///
/// ```
/// use layout_kernels::experts::{Gating, gate};
///
/// let device = layout_cuda::Device::simulator();
/// let logits = device.upload(&[0.0f32, 2.0, -1.0, 2.0], [1, 4])?;
/// let (mut experts, mut weights) = (device.zeros([1, 2])?, device.zeros([1, 2])?);
/// gate(&device.stream(), Gating::default(), &logits, &mut experts, &mut weights)?;
/// assert_eq!((experts.download()?, weights.download()?), (vec![1, 3], vec![0.5, 0.5]));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn gate<T: Real>(
    stream: &Stream,
    gating: Gating,
    logits: &impl TensorArg<T, 2>,
    experts: &mut impl TensorArgMut<u32, 2>,
    weights: &mut impl TensorArgMut<f32, 2>,
) -> Result<(), Error> {
    may_choose("gate", experts.view_mut().shape()[1], logits.view().shape()[1])?;
    let set = ParamSet::default()
        .with("SIGMOID", ParamValue::Bool(gating.score == Score::Sigmoid))
        .with("NORMALISED", ParamValue::Bool(gating.normalised));
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::gate::launch_with(config, stream, logits, experts, weights, gating.scale)
}

/// What sorts tokens by expert, each `K` times: `experts` of M x K gives `tokens[p]`, the token at place `p` of M K, `places[i, j]`, where
/// the token `i` is for its expert `j`, and `ends[e]`, behind the last place of expert `e`, as [`grouped_matmul`] takes it. Asynchronous.
///
/// The sort is stable: an expert's tokens are in their order, one that has it twice by `j`. A number that is no expert, E or more, gives no
/// token: its place is `u32::MAX`, and so is the token of as many places behind the last end. There [`select_rows`] gives zeros, and
/// [`combine`] adds nothing.
///
/// # Errors
/// Shapes that disagree, tensors with gaps, 2³¹ places or more, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let experts = device.upload(&[2u32, 0, 2, 3, 0, 2], [3, 2])?;
/// let (mut tokens, mut places, mut ends) = (device.zeros([6])?, device.zeros([3, 2])?, device.zeros([4])?);
/// layout_kernels::experts::sort_by_expert(&device.stream(), &experts, &mut tokens, &mut places, &mut ends)?;
/// assert_eq!((tokens.download()?, ends.download()?), (vec![0, 2, 0, 1, 2, 1], vec![2, 2, 5, 6]));
/// assert_eq!(places.download()?, [2, 0, 3, 5, 1, 4]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn sort_by_expert(
    stream: &Stream,
    experts: &impl TensorArg<u32, 2>,
    tokens: &mut impl TensorArgMut<u32, 1>,
    places: &mut impl TensorArgMut<u32, 2>,
    ends: &mut impl TensorArgMut<i32, 1>,
) -> Result<(), Error> {
    let (experts, mut tokens, mut places) = (experts.view(), tokens.view_mut(), places.view_mut());
    let (shape @ [m, k], of) = (experts.shape(), "sort_by_expert");
    let count = m.saturating_mul(k);
    same(of, "tokens", 0, tokens.shape()[0], ("M K", "experts"), count)?;
    same(of, "places", 0, places.shape()[0], ("M", "experts"), m)?;
    same(of, "places", 1, places.shape()[1], ("K", "experts"), k)?;
    without_gaps(of, "experts", shape, experts.strides())?;
    without_gaps(of, "places", shape, places.strides())?;
    let (experts, mut places) = (experts.part(0, [count], [1])?, places.part_mut(0, [count], [1])?);
    kernels::sort_by_expert::launch(stream, &experts, &mut tokens, &mut places, ends, k as u32)
}

/// `out[i, j] = silu(x[i, j]) x[i, H + j]` of M x 2 H and M x H, rounded once. Asynchronous.
///
/// # Errors
/// Another number of columns than twice those of `out`, tensors with gaps, more than 2³² - 1024 elements, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[100.0f32, 0.0, 3.0, 4.0], [1, 4])?, device.zeros([1, 2])?);
/// layout_kernels::experts::swiglu(&device.stream(), &x, &mut out)?;
/// assert_eq!(out.download()?, [300.0, 0.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn swiglu<T: Real>(
    stream: &Stream,
    x: &impl TensorArg<T, 2>,
    out: &mut impl TensorArgMut<T, 2>,
) -> Result<(), Error> {
    let set = vectors::<T>(out.view_mut().shape()[1]);
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::swiglu::launch_with(config, stream, x, out)
}

/// `out[i]`: the sum over `j`, in its order, of `weights[i, j] y[places[i, j]]`, in float32, rounded once; a place beyond the rows of `y`
/// adds nothing. Asynchronous.
///
/// # Errors
/// Shapes that disagree, tensors with gaps, more than 2³² - 1024 elements, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (y, places) = (device.upload(&[1.0f32, 2.0, 3.0], [3, 1])?, device.upload(&[2u32, 0, 1, u32::MAX], [2, 2])?);
/// let (weights, mut out) = (device.upload(&[0.5f32, 4.0, 1.0, 1.0], [2, 2])?, device.zeros([2, 1])?);
/// layout_kernels::experts::combine(&device.stream(), &y, &places, &weights, &mut out)?;
/// assert_eq!(out.download()?, [5.5, 2.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn combine<T: Real>(
    stream: &Stream,
    y: &impl TensorArg<T, 2>,
    places: &impl TensorArg<u32, 2>,
    weights: &impl TensorArg<f32, 2>,
    out: &mut impl TensorArgMut<T, 2>,
) -> Result<(), Error> {
    let set = vectors::<T>(y.view().shape()[1]);
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::combine_experts::launch_with(config, stream, y, places, weights, out)
}

/// Experts, how many of them a token has, and how they are weighed: all but the tokens.
#[derive(Debug)]
pub struct Mixture<'a, T: Real> {
    /// The experts of a token.
    pub k: usize,
    /// How logits become weights.
    pub gating: Gating,
    /// The matrices of gate and up, side by side: E x D x 2 H, each by rows or by columns.
    pub gate_up: TensorView<'a, T, 3>,
    /// Those back: E x H x D.
    pub down: TensorView<'a, T, 3>,
}

/// Memory for what a mixture has on the way, kept from call to call. It has none at first, and grows to the largest call.
#[derive(Debug)]
pub struct Workspace<T: Real> {
    numbers: [Option<Tensor<u32, 1>>; 3],
    ends: Option<Tensor<i32, 1>>,
    weights: Option<Tensor<f32, 1>>,
    rows: [Option<Tensor<T, 1>>; 3],
}

impl<T: Real> Default for Workspace<T> {
    fn default() -> Workspace<T> {
        Workspace { numbers: [None, None, None], ends: None, weights: None, rows: [None, None, None] }
    }
}

impl<'a, T: Real> Mixture<'a, T> {
    /// One with the default gating.
    pub fn new(k: usize, gate_up: &'a impl TensorArg<T, 3>, down: &'a impl TensorArg<T, 3>) -> Self {
        Mixture { k, gating: Gating::default(), gate_up: gate_up.view(), down: down.view() }
    }

    /// `out` of M x D: of each token the sum over its `k` experts of the weight times `(silu(x g) * (x u)) d`, `g` and `u` the left and the
    /// right half of `gate_up[e]`, `d` `down[e]`. `x` is M x D, `logits` M x E of any of the three types. Seven launches, asynchronous.
    ///
    /// Elements are `bf16` or `f16`; sums are float32. What is rounded to the elements' type: both halves of the first product, what SwiGLU
    /// makes of them, the second product, and the weighted sum. A NaN among a token's elements or logits is in its own
    /// row of `out` alone.
    ///
    /// # Errors
    /// Shapes that disagree, a `k` that is 0, above [`MOST`] or above E, other types, an `x` or `out` with gaps, matrices neither by rows nor
    /// by columns, more than 2³² - 1024 elements or 2²⁴ tiles on the way, a device before sm_80 or without memory for the workspace, and
    /// those of a launch. Nothing has run where the arguments do not fit.
    ///
    /// ```
    /// use layout_cuda::{Device, bf16};
    /// use layout_kernels::experts::{Gating, Mixture, Score, Workspace};
    ///
    /// let (device, of) = (Device::simulator(), |value: f32, len: usize| vec![bf16::from_f32(value); len]);
    /// let (x, logits) = (device.upload(&of(1.0, 2 * 8), [2, 8])?, device.upload(&[9.0f32, -9.0, -9.0, 9.0], [2, 2])?);
    /// // The first expert gives silu(64) 64 times 1, the second that times 2.
    /// let gate_up = device.upload(&of(8.0, 2 * 8 * 16), [2, 8, 16])?;
    /// let down: Vec<bf16> = (0..2 * 64).map(|i| bf16::from_f32((i / 64 + 1) as f32 / 8.0)).collect();
    /// let down = device.upload(&down, [2, 8, 8])?;
    /// let gating = Gating { score: Score::Sigmoid, normalised: true, scale: 0.5 };
    /// let mixture = Mixture { gating, ..Mixture::new(1, &gate_up, &down) };
    /// let (mut workspace, mut out) = (Workspace::default(), device.zeros::<bf16, 2>([2, 8])?);
    /// mixture.run(&device.stream(), &mut workspace, &x, &logits, &mut out)?;
    /// assert_eq!(out.download()?.iter().step_by(8).map(|sum| sum.to_f32()).collect::<Vec<_>>(), [2048.0, 4096.0]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn run<L: Real>(
        &self,
        stream: &Stream,
        workspace: &mut Workspace<T>,
        x: &impl TensorArg<T, 2>,
        logits: &impl TensorArg<L, 2>,
        out: &mut impl TensorArgMut<T, 2>,
    ) -> Result<(), Error> {
        let (x, logits, mut out, k) = (x.view(), logits.view(), out.view_mut(), self.k);
        let ([m, d], [e, h, _]) = (x.shape(), self.down.shape());
        self.agree([m, d], logits.shape(), out.shape())?;
        without_gaps(OF, "x", [m, d], x.strides())?;
        without_gaps(OF, "out", [m, d], out.strides())?;
        if m == 0 || d == 0 {
            return Ok(());
        }
        let count = m * k;
        let Workspace { numbers: [experts, places, tokens], ends, weights, rows: [rows, wide, gated] } =
            workspace;
        let (mut experts, mut places) = (kept(stream, count, experts)?, kept(stream, count, places)?);
        let (mut tokens, mut ends) = (kept(stream, count, tokens)?, kept(stream, e, ends)?);
        let (mut weights, mut rows) = (kept(stream, count, weights)?, kept(stream, count * d, rows)?);
        let (mut wide, mut gated) = (kept(stream, count * 2 * h, wide)?, kept(stream, count * h, gated)?);
        let mut experts = experts.part_mut(0, [m, k], [k, 1])?;
        let mut places = places.part_mut(0, [m, k], [k, 1])?;
        let (mut tokens, mut ends) = (tokens.part_mut(0, [count], [1])?, ends.part_mut(0, [e], [1])?);
        let mut weights = weights.part_mut(0, [m, k], [k, 1])?;
        let mut rows = rows.part_mut(0, [count, d], [d, 1])?;
        let mut wide = wide.part_mut(0, [count, 2 * h], [2 * h.max(1), 1])?;
        let mut gated = gated.part_mut(0, [count, h], [h.max(1), 1])?;
        gate(stream, self.gating, &logits, &mut experts, &mut weights)?;
        sort_by_expert(stream, &experts.view(), &mut tokens, &mut places, &mut ends)?;
        select_rows(stream, &x, &tokens.view(), &mut rows)?;
        grouped_matmul(stream, &rows.view(), &self.gate_up, &ends.view(), &mut wide)?;
        swiglu(stream, &wide.view(), &mut gated)?;
        grouped_matmul(stream, &gated.view(), &self.down, &ends.view(), &mut rows)?;
        combine(stream, &rows.view(), &places.view(), &weights.view(), &mut out)
    }

    /// Whether all of it is one mixture that the kernels take: they would see the second half of it after the first had run.
    fn agree(&self, [m, d]: [usize; 2], logits: [usize; 2], out: [usize; 2]) -> Result<(), Error> {
        let ([e, h, _], of) = (self.down.shape(), "gate_up");
        same(OF, "logits", 0, logits[0], ("M", "x"), m)?;
        same(OF, "logits", 1, logits[1], ("E", "down"), e)?;
        same(OF, of, 0, self.gate_up.shape()[0], ("E", "down"), e)?;
        same(OF, of, 1, self.gate_up.shape()[1], ("D", "x"), d)?;
        same(OF, of, 2, self.gate_up.shape()[2], ("2 H", "down"), h.saturating_mul(2))?;
        same(OF, "down", 2, self.down.shape()[2], ("D", "x"), d)?;
        same(OF, "out", 0, out[0], ("M", "x"), m)?;
        same(OF, "out", 1, out[1], ("D", "x"), d)?;
        may_choose(OF, self.k, e)?;
        if !matches!(T::ELEM, Elem::Bf16 | Elem::F16) {
            return refused(OF, "elements are bf16 or f16", format!("{:?}", T::ELEM));
        }
        for (name, matrices) in [(of, &self.gate_up), ("down", &self.down)] {
            if !matrices.strides()[1..].contains(&1) {
                let values = format!("{name} has strides {:?}", matrices.strides());
                return refused(OF, "each matrix is by rows or by columns", values);
            }
        }
        let (count, widest) = (m.saturating_mul(self.k), d.max(h.saturating_mul(2)));
        let tiles = (count.div_ceil(128).saturating_add(e)).saturating_mul(widest.div_ceil(64));
        if count.saturating_mul(widest) >= 4_294_966_272 || tiles > 1 << 24 {
            let values = format!("M {m}, K {}, D {d}, H {h}, E {e}", self.k);
            return refused(OF, "M K max(D, 2 H) < 2^32 - 1024, and at most 2^24 tiles of 128 by 64", values);
        }
        Ok(())
    }
}

/// What errors of the whole are about.
const OF: &str = "mixture_of_experts";

/// The widest vectors of whole rows.
fn vectors<T: Real>(columns: usize) -> ParamSet {
    let of_vector = 16 / size_of::<T>();
    set(&[("V", if columns.is_multiple_of(of_vector) { of_vector } else { 1 })])
}

fn may_choose(of: &str, k: usize, experts: usize) -> Result<(), Error> {
    if k == 0 || k > MOST || k > experts {
        let values = format!("K {k}, experts {experts}");
        return refused(of, "a token has from 1 to 32 experts, at most all of them", values);
    }
    Ok(())
}

fn without_gaps(of: &str, name: &str, shape: [usize; 2], strides: [usize; 2]) -> Result<(), Error> {
    if !shape.contains(&0) && strides != [shape[1], 1] {
        let values = format!(
            "{name} of {shape:?} has strides {strides:?}; `movement::permute` copies it without gaps"
        );
        return refused(of, "rows follow one another without gaps", values);
    }
    Ok(())
}
