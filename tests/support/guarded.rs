//! Tensors that are in the middle of others: what is written beside them is seen.

use super::gpu::devices;
use layout_cuda::{Device, Element, Error, Stream, Tensor, TensorViewMut};

/// Elements in front of the tensor and behind it.
const ZONE: usize = 1000;

/// Runs a kernel on `first` on the simulator, and on the GPU where there is one, at an address of 16 bytes and at an odd
/// one: each time it leaves `wanted`, and every element around the tensor as it was.
///
/// # Errors
/// Those of `run`.
pub fn guarded<T: Element + PartialEq + std::fmt::Debug>(
    first: &[T],
    beside: T,
    wanted: &[T],
    run: impl Fn(&Device, &Stream, &mut TensorViewMut<'_, T, 1>) -> Result<(), Error>,
) -> Result<(), Error> {
    for device in devices() {
        for start in [ZONE.next_multiple_of(64), ZONE + 1] {
            let mut whole = vec![beside; start + first.len() + ZONE];
            whole[start..start + first.len()].copy_from_slice(first);
            let mut memory: Tensor<T, 1> = device.upload(&whole, [whole.len()])?;
            run(&device, &device.stream(), &mut memory.part_mut(start, [first.len()], [1])?)?;
            let found = memory.download()?;
            let (name, end) = (device.describe(), start + first.len());
            assert_eq!(&found[start..end], wanted, "{name}, at {start}");
            let touched = (0..found.len()).find(|at| !(start..end).contains(at) && found[*at] != beside);
            assert_eq!(touched.map(|at| at as isize - start as isize), None, "{name}: outside of the tensor");
        }
    }
    Ok(())
}
