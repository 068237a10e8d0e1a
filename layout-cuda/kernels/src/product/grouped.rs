//! Products of groups of rows, each by a matrix of its own: the layers of experts in a network.
//!
//! Law: `c[row] = a[row] b[g]` for each row of group `g`, sums in float32, rounded once, in one launch; the sizes of groups are read on the
//! device, so they cost no copy to the host.

use super::description::Machine;
use super::plan::{Changes, WIDTHS, numbers, tiles_of};
use super::{Kernel, Matrix};
use crate::kernels::grouped::{grouped_gemm, grouped_gemm_mma};
use crate::{is_unaligned, same};
use layout_cuda::{
    Definition, Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, TensorArg, TensorArgMut,
};

/// What TMA addresses: multiples of 16 bytes, of elements of 2.
const VECTOR: usize = 8;

/// The sets of `bf16`, B by rows, that grouped products on Hopper pick.
#[doc(hidden)]
pub fn grouped_picked() -> Vec<(&'static Definition, ParamSet)> {
    let of = |(_, _, changes): &(usize, usize, Changes)| {
        numbers(changes).fold(ParamSet::default(), |set, (name, value)| set.with(name, value))
    };
    WIDTHS.iter().map(|tiles| (&grouped_gemm::DEFINITION, of(tiles))).collect()
}

/// `c[row] = a[row] b[g]`, where group `g` has the rows `ends[g - 1]..ends[g]` of A and C, the first one those from 0 on; of M x K,
/// G x K x N and M x N. One launch, asynchronous.
///
/// Elements are `bf16` or `f16`; sums are float32, rounded once. A and C are by rows, each matrix of B by rows or by columns, in views
/// of any strides otherwise. A group may be empty. Rows behind the last end are left as they are. An empty K gives zeros.
///
/// An end below an earlier one is taken for that one, and an end above M for M: whatever `ends` holds, no row is of two groups, and nothing
/// outside of the tensors is touched.
///
/// On Hopper lines of A and B that do not begin at multiples of 16 bytes go by the slower kernel of the other cards.
///
/// # Errors
/// Shapes that disagree, a matrix that is otherwise, another type, more than 2²⁴ tiles of 128 rows, a card before sm_80, and those of a
/// launch. Nothing has run where the arguments do not fit.
///
/// ```
/// use layout_cuda::{Device, bf16};
///
/// let (device, of) = (Device::simulator(), bf16::from_f32);
/// let a = device.upload(&[of(1.0); 5 * 16], [5, 16])?;
/// // Three matrices of 16 x 8, all ones, twos and threes.
/// let b: Vec<bf16> = (0..3 * 128).map(|i| of((i / 128 + 1) as f32)).collect();
/// let b = device.upload(&b, [3, 16, 8])?;
/// // Two rows of the first, none of the second, three of the third.
/// let ends = device.upload(&[2, 2, 5], [3])?;
/// let mut c = device.zeros::<bf16, 2>([5, 8])?;
/// layout_kernels::grouped_matmul(&device.stream(), &a, &b, &ends, &mut c)?;
/// assert_eq!(c.download()?.iter().step_by(8).map(|sum| sum.to_f32()).collect::<Vec<_>>(), [16.0, 16.0, 48.0, 48.0, 48.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn grouped_matmul<T: Element>(
    stream: &Stream,
    a: &impl TensorArg<T, 2>,
    b: &impl TensorArg<T, 3>,
    ends: &impl TensorArg<i32, 1>,
    c: &mut impl TensorArgMut<T, 2>,
) -> Result<(), Error> {
    let kernel = Kernel::with_epilogues(Machine::of(stream.device()));
    grouped_matmul_by(kernel, stream, a, b, ends, c)
}

/// The same by [`Kernel::Gemm`]'s machinery, or by [`Kernel::GemmMma`]'s.
///
/// # Errors
/// As [`grouped_matmul`].
///
/// ```
/// use layout_cuda::{Device, bf16};
/// use layout_kernels::product::{Kernel, grouped_matmul_by};
///
/// let (device, half) = (Device::simulator(), bf16::from_f32(0.5));
/// let (a, b) = (device.upload(&[half; 6], [2, 3])?, device.upload(&[half; 24], [2, 3, 4])?);
/// let (ends, mut c) = (device.upload(&[1, 2], [2])?, device.zeros::<bf16, 2>([2, 4])?);
/// grouped_matmul_by(Kernel::GemmMma, &device.stream(), &a, &b, &ends, &mut c)?;
/// assert_eq!(c.download()?, [bf16::from_f32(0.75); 8]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn grouped_matmul_by<T: Element>(
    kernel: Kernel,
    stream: &Stream,
    a: &impl TensorArg<T, 2>,
    b: &impl TensorArg<T, 3>,
    ends: &impl TensorArg<i32, 1>,
    c: &mut impl TensorArgMut<T, 2>,
) -> Result<(), Error> {
    let (a, b, ends, mut c) = (a.view(), b.view(), ends.view(), c.view_mut());
    let ([m, k], [groups, _, n]) = (a.shape(), b.shape());
    same("grouped_matmul", "b", 1, b.shape()[1], ("K", "a"), k)?;
    same("grouped_matmul", "ends", 0, ends.shape()[0], ("G", "b"), groups)?;
    same("grouped_matmul", "c", 0, c.shape()[0], ("M", "a"), m)?;
    same("grouped_matmul", "c", 1, c.shape()[1], ("N", "b"), n)?;
    let mode = 1 + Matrix { shape: [k, n], strides: [b.strides()[1], b.strides()[2]] }.along();
    let lines = [a.strides()[0], b.strides()[0], b.strides()[3 - mode]];
    let by_warps = kernel != Kernel::Gemm || !lines.iter().all(|pitch| pitch.is_multiple_of(VECTOR));
    let machine = Machine::of(stream.device());
    let set = ParamSet::default()
        .with("T", ParamValue::Type(T::ELEM))
        .with("MODE", ParamValue::Int(mode as i64))
        .with("SMS", ParamValue::Int(machine.multiprocessors as i64));
    if by_warps {
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        return grouped_gemm_mma::launch_with(config, stream, &a, &b, &ends, &mut c);
    }
    let direct = !(c.strides()[0].is_multiple_of(VECTOR) && n.is_multiple_of(VECTOR));
    let set = set.with("DIRECT", ParamValue::Bool(direct));
    // The last tile of a group is half full on average.
    let set = numbers(tiles_of([m.saturating_add(64 * groups.min(m)), n]).1)
        .fold(set, |set, (name, value)| set.with(name, value));
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    let done = grouped_gemm::launch_with(config, stream, &a, &b, &ends, &mut c);
    if is_unaligned(&done) {
        return grouped_matmul_by(Kernel::GemmMma, stream, &a, &b, &ends, &mut c);
    }
    done
}
