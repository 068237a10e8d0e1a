//! Attention backward by the description of the forward: dQ, dK and dV from what the forward gave and the change of O.
//!
//! Law: where [`Attention::deterministic`] holds, and for packed sequences, the same inputs give the same bits: nothing is added by
//! atomic operations. What the description says is what is computed, or it
//! is an error before anything is launched.

use crate::attention::{Attention, Kernel, Score};
use crate::kernels::backward::{finish, of_keys, of_queries, prepare};
use crate::kernels::backward_mma::{of_keys_mma, of_queries_mma};
use crate::{is_unaligned, refused, separate};
use layout_cuda::{
    Device, Elem, Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, TensorArg, TensorView,
    TensorViewMut,
};

/// What the forward read and gave.
///
/// ```
/// use layout_cuda::{Device, bf16};
/// use layout_kernels::attention::Attention;
/// use layout_kernels::backward::{Changes, Forward, Workspace};
///
/// // One key: its weight is 1, whatever it is, so dV is dO, and Q and K change nothing.
/// let (device, shape) = (Device::simulator(), [1, 1, 1, 64]);
/// let of = |value: f32| device.upload(&[bf16::from_f32(value); 64], shape);
/// let (q, k, v, mut o, d_o) = (of(1.0)?, of(2.0)?, of(3.0)?, of(0.0)?, of(0.5)?);
/// let (mut d_q, mut d_k, mut d_v, mut logs) = (of(7.0)?, of(7.0)?, of(7.0)?, device.zeros([1, 1, 1])?);
/// let (stream, what) = (device.stream(), Attention::default());
/// what.run(&stream, &q, &k, &v, &mut o, &mut logs)?;
/// let forward = Forward { q: &q.view(), k: &k.view(), v: &v.view(), o: &o.view(), logs: &logs };
/// let to = Changes { q: &mut d_q.view_mut(), k: &mut d_k.view_mut(), v: &mut d_v.view_mut() };
/// what.backward(&stream, &forward, &d_o, &mut Workspace::default(), to)?;
/// assert_eq!([&d_q, &d_k, &d_v].map(|d| d.download().map(|d| d[0].to_f32()).unwrap_or(9.0)), [0.0, 0.0, 0.5]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub struct Forward<'a, T: Element> {
    /// Batch, head, query, element.
    pub q: &'a TensorView<'a, T, 4>,
    /// Batch, head, key, element.
    pub k: &'a TensorView<'a, T, 4>,
    /// Batch, head, key, element.
    pub v: &'a TensorView<'a, T, 4>,
    /// Batch, head, query, element.
    pub o: &'a TensorView<'a, T, 4>,
    /// The logarithms that [`Attention::run`] gave.
    pub logs: &'a Tensor<f32, 3>,
}

/// What the changes are written to: shapes as those of Q, K and V.
pub struct Changes<'a, 'b, T: Element> {
    /// Of Q.
    pub q: &'a mut TensorViewMut<'b, T, 4>,
    /// Of K.
    pub k: &'a mut TensorViewMut<'b, T, 4>,
    /// Of V.
    pub v: &'a mut TensorViewMut<'b, T, 4>,
}

/// Memory for the logarithms and `Σ dO O`, and for sums of dQ, kept from launch to launch. It has none at first.
#[derive(Debug, Default)]
pub struct Workspace(Option<Tensor<f32, 4>>, Option<Tensor<f32, 2>>);

impl Attention<'_> {
    /// The parameters of the two backward kernels on a device: of what is computed of keys, and of queries.
    pub fn backward_sets(&self, device: &Device, elem: Elem, [d, dv]: [usize; 2]) -> [ParamSet; 2] {
        let [keep, range] = self.mask.functions();
        let slope = if let Score::SoftCap(_) = self.score { "of_cap" } else { "one" };
        let set = crate::set(&[("D", d), ("DV", dv)])
            .with("T", ParamValue::Type(elem))
            .with("KEEP", ParamValue::Function(keep))
            .with("RANGE", ParamValue::Function(range))
            .with("SCORE", ParamValue::Function(self.score.function()))
            .with("SLOPE", ParamValue::Function(slope))
            .with("PACKED", ParamValue::Bool(self.packed.is_some()));
        match self.kernel_of(device) {
            Kernel::Warpgroups => {
                let set = set.with("SUMMED", ParamValue::Bool(self.summed(device)));
                [set.clone(), set]
            }
            Kernel::Warps => {
                let block = device.shared_bytes_per_block();
                // The rows that go by at once, as the kernels have them.
                [if d + dv > 128 { 32 } else { 64 }, 64].map(|rows| {
                    let two_stages = 2 * (d + dv) * (128 + 2 * rows) + 16 * rows;
                    let stages = if two_stages <= block.min(163 << 10) { 2 } else { 1 };
                    set.clone().with("STAGES", ParamValue::Int(stages))
                })
            }
        }
    }

    /// Whether dQ is summed in memory, in five products. A soft cap takes the registers for it.
    fn summed(&self, device: &Device) -> bool {
        self.kernel_of(device) == Kernel::Warpgroups
            && !self.deterministic
            && self.packed.is_none()
            && !matches!(self.score, Score::SoftCap(_))
    }

    /// How Q, K and V change a number whose derivative by O is `d_o`: `to` is written. Of the description `own` is not looked at.
    ///
    /// Of packed sequences every row has its change, also behind `longest` queries, so the forward must have been given no less than
    /// there are. Rows that no sequence holds stay as they are. Each block of threads looks for its sequence from the first one on.
    ///
    /// Elements are bf16 or f16, heads of 32 to 128 elements in multiples of 32; sums are float32, weights and what they change by are
    /// rounded to the elements' type. What TMA cannot address goes by the slower kernels, as in [`Attention::run`].
    ///
    /// # Errors
    /// Shapes that do not fit one another, heads of Q that are no multiple of those of K, lists of ends that are not equally long, a device
    /// without memory, and those of a launch.
    pub fn backward<T: Element>(
        &self,
        stream: &Stream,
        of: &Forward<'_, T>,
        d_o: &impl TensorArg<T, 4>,
        workspace: &mut Workspace,
        to: Changes<'_, '_, T>,
    ) -> Result<(), Error> {
        let [of_k, of_q] = self.backward_sets(stream.device(), T::ELEM, [of.q.shape()[3], of.v.shape()[3]]);
        let Changes { q, k, v } = to;
        let again = Changes { q: &mut *q, k: &mut *k, v: &mut *v };
        let done = self.backward_with([&of_k, &of_q], stream, of, d_o, workspace, again);
        if is_unaligned(&done) && self.kernel.is_none() && self.own.is_none() {
            let warps = Attention { kernel: Some(Kernel::Warps), ..*self };
            return warps.backward(stream, of, d_o, workspace, Changes { q, k, v });
        }
        done
    }

    /// The same with parameters of one's own for what is computed of keys and of queries.
    ///
    /// # Errors
    /// As [`Attention::backward`].
    pub fn backward_with<T: Element>(
        &self,
        [of_k, of_q]: [&ParamSet; 2],
        stream: &Stream,
        of: &Forward<'_, T>,
        d_o: &impl TensorArg<T, 4>,
        Workspace(kept, kept_sums): &mut Workspace,
        to: Changes<'_, '_, T>,
    ) -> Result<(), Error> {
        let [batches, heads, queries, d] = of.q.shape();
        self.fits(of.q.shape())?;
        // Before anything is launched: what writes dQ comes last.
        separate("attention backward", "dq", to.q)?;
        if d > 1 && to.q.strides()[3] != 1 {
            let values = format!("its stride in mode 3 is {}", to.q.strides()[3]);
            return refused("attention backward", "the elements of a head of `dq` are contiguous", values);
        }
        for (mode, (found, wanted)) in to.q.shape().into_iter().zip(of.q.shape()).enumerate() {
            crate::same("attention backward", "dq", mode, found, ("the extent", "q"), wanted)?;
        }
        let by_warps = self.kernel_of(stream.device()) == Kernel::Warps;
        // Packed sequences begin anywhere: four copies, of which TMA takes the one where they are aligned.
        let copies = if self.packed.is_some() && !by_warps { 4 } else { 1 };
        let places = (queries.saturating_add(2 * copies - 2)).div_ceil(128).max(1).saturating_mul(128);
        let shape = [batches, heads, 2 * copies, places];
        if kept.as_ref().is_none_or(|kept| kept.shape() != shape) {
            *kept = None;
        }
        let facts = match kept {
            Some(facts) => facts,
            None => kept.insert(stream.zeros(shape)?),
        };
        let rows = [heads, places / 64, d / 4].into_iter().fold(batches, usize::saturating_mul);
        let summed = self.summed(stream.device());
        let shape = [if summed { rows } else { 0 }, 256];
        if kept_sums.as_ref().is_none_or(|kept| kept.shape() != shape) {
            *kept_sums = None;
        }
        let sums = match kept_sums {
            Some(sums) => sums,
            None => kept_sums.insert(stream.zeros(shape)?),
        };
        let set = crate::set(&[("D", d), ("DV", of.v.shape()[3]), ("COPIES", copies)]);
        let set = set.with("T", ParamValue::Type(T::ELEM)).with("DEPENDENT", ParamValue::Bool(!by_warps));
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        prepare::launch_with(config, stream, of.o, d_o, of.logs, &mut *facts, &mut *sums)?;
        let scale = self.scale.unwrap_or(1.0 / (d as f32).sqrt());
        let (window, strength) = (self.mask.window(), self.score.strength(heads));
        let none = stream.zeros::<i32, 1>([0])?;
        let [q_ends, k_ends] = self.packed.map_or([&none; 2], |packed| [packed.queries, packed.keys]);
        let (q, k, v, facts) = (of.q, of.k, of.v, &*facts);
        let with = |set| LaunchConfig { set: Some(set), ..LaunchConfig::default() };
        let (keys, rest) = (with(of_k), with(of_q));
        if by_warps {
            of_keys_mma::launch_with(
                keys, stream, q, k, v, d_o, q_ends, k_ends, facts, to.k, to.v, scale, strength, window,
            )?;
            return of_queries_mma::launch_with(
                rest, stream, q, k, v, d_o, q_ends, k_ends, facts, to.q, scale, strength, window,
            );
        }
        of_keys::launch_with(
            keys, stream, q, k, v, d_o, q_ends, k_ends, facts, &mut *sums, to.k, to.v, scale, strength,
            window,
        )?;
        if summed {
            let set = crate::set(&[("D", d)]).with("T", ParamValue::Type(T::ELEM));
            return finish::launch_with(with(&set), stream, &*sums, to.q);
        }
        of_queries::launch_with(
            rest, stream, q, k, v, d_o, q_ends, k_ends, facts, to.q, scale, strength, window,
        )
    }
}
