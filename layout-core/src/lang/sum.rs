//! Sums over groups of lanes, and compensated sums of many terms.
//!
//! These are functions of the kernel language, written in it. A kernel that calls one gets its text in front of its body
//! (see `kernel::library`).
//!
//! Laws: every lane of a group has the same sum, or the same largest value, whatever the order of its neighbours; a compensated
//! sum's error does not grow with the number of terms.
#![allow(clippy::eq_op, reason = "a number less itself is 0 where it is finite, else none")]

use super::{Number, select};

/// The sum of `x` over the lanes of a group: so many neighbours of a warp, a power of two up to 32. Each lane has it.
///
/// By shuffles, in the order of [`Number::shuffle_xor`] from half the group down; where every lane of the warp takes part.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn sums(x: &mut LayoutTensor<f32, RowMajor<32>>) {
///     x[[lane_id()]] = group_sum(x[[lane_id()]], 8);
/// }
/// # let device = Device::simulator();
/// let mut x = device.upload(&[1.0f32; 32], [32])?;
/// sums::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?, [8.0; 32]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn group_sum(x: f32, group: usize) -> f32 {
    let mut sum = x;
    if group > 16 {
        sum += sum.shuffle_xor(16);
    }
    if group > 8 {
        sum += sum.shuffle_xor(8);
    }
    if group > 4 {
        sum += sum.shuffle_xor(4);
    }
    if group > 2 {
        sum += sum.shuffle_xor(2);
    }
    if group > 1 {
        sum += sum.shuffle_xor(1);
    }
    sum
}

/// The largest `x` of the lanes of a group, as [`group_sum`].
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn largest(x: &mut LayoutTensor<f32, RowMajor<32>>) {
///     x[[lane_id()]] = group_max(lane_id() as f32, 4);
/// }
/// # let device = Device::simulator();
/// let mut x = device.zeros::<f32, 1>([32])?;
/// largest::launch(&device.stream(), &mut x)?;
/// assert_eq!(x.download()?[..8], [3.0, 3.0, 3.0, 3.0, 7.0, 7.0, 7.0, 7.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn group_max(x: f32, group: usize) -> f32 {
    let mut most = x;
    if group > 16 {
        most = most.max(most.shuffle_xor(16));
    }
    if group > 8 {
        most = most.max(most.shuffle_xor(8));
    }
    if group > 4 {
        most = most.max(most.shuffle_xor(4));
    }
    if group > 2 {
        most = most.max(most.shuffle_xor(2));
    }
    if group > 1 {
        most = most.max(most.shuffle_xor(1));
    }
    most
}

/// A sum with one more term, and what rounding it lost, to be handed to the next call: Kahan's summation. The error of a sum
/// of any number of terms is two units in the last place of the sum of absolute values. Where the sum is not finite nothing
/// is kept, so that it stays what it is.
///
/// Source: W. Kahan, "Further remarks on reducing truncation errors", CACM 8 (1965).
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn total(x: &LayoutTensor<f32, RowMajor<1024>>, y: &mut LayoutTensor<f32, RowMajor<1>>) {
///     let mut sum: f32 = 16777216.0; // 2^24: the next float32 is two more
///     let mut lost: f32 = 0.0;
///     for i in 0..1024 {
///         let (next, rest) = add_compensated(sum, lost, x[[i]]);
///         sum = next;
///         lost = rest;
///     }
///     y[[0]] = sum;
/// }
/// # let device = Device::simulator();
/// let (x, mut y) = (device.upload(&[1.0f32; 1024], [1024])?, device.zeros::<f32, 1>([1])?);
/// total::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?, [16778240.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn add_compensated(sum: f32, lost: f32, term: f32) -> (f32, f32) {
    let added = term - lost;
    let next = sum + added;
    (next, select(next - next == 0.0, (next - sum) - added, 0.0))
}
