//! A tensor of ours for another library.

use crate::elem::word;
use crate::error::DlpackError;
use dlpark::allocation::dynamic::Initialized;
use dlpark::ffi::{DLDevice, DLManagedTensorVersioned};
use dlpark::metadata::Dynamic;
use dlpark::versioned;
use layout_cuda::{Element, Tensor};
use std::ffi::c_void;

/// A tensor that was given away, which the deleter drops.
struct Given<T: Element, const R: usize>(Tensor<T, R>);

impl<T: Element, const R: usize> Drop for Given<T, R> {
    /// A library calls the deleter when it lets go of the tensor, not when its streams, which cudarc has no events of, are done with it.
    fn drop(&mut self) {
        if let Some(context) = self.0.view().context() {
            // A context that has failed runs nothing any more.
            let _ = context.synchronize();
        }
    }
}

/// Gives a tensor away. It lives until the other library calls its deleter, which waits for the GPU: whatever stream of whatever library
/// used the tensor is then done with it. On a GPU this waits, too, for what was launched on any stream, readers among them, so that
/// any stream may go on and write.
///
/// # Errors
/// [`DlpackError::Tensor`] where a kernel before has failed; [`DlpackError::Description`] where an extent is beyond 63 bits.
pub fn export<T: Element, const R: usize>(
    mut tensor: Tensor<T, R>,
) -> Result<versioned::Dlpack, DlpackError> {
    let described = |why: String| DlpackError::Description { why };
    let numbers = |values: [usize; R]| {
        let each =
            values.iter().map(|value| i64::try_from(*value).map_err(|error| described(error.to_string())));
        each.collect::<Result<Vec<i64>, DlpackError>>()
    };
    let (shape, strides) = (numbers(tensor.shape())?, numbers(tensor.strides())?);
    let dtype = word(T::ELEM).ok_or_else(|| described(format!("DLPack has no word for {}", T::ELEM)))?;
    // What the elements are is in the box, and stays where it is when the box moves.
    tensor.wait_for_users()?;
    let (stream, view) = (tensor.device().stream(), tensor.view());
    let (address, device) = match (view.context(), view.read_on(&stream)?) {
        (Some(context), Some((address, used))) => {
            used.end()?;
            // Whoever was lent the memory through cudarc may use it in any stream of the GPU.
            let all = context.synchronize();
            all.map_err(|error| described(format!("cuCtxSynchronize failed: {:?}", error.0)))?;
            let ordinal = i32::try_from(context.ordinal()).unwrap_or(i32::MAX);
            (address as *mut c_void, DLDevice::cuda(ordinal))
        }
        _ => {
            let bytes = view.host().unwrap_or_default();
            (bytes.as_ptr().cast_mut().cast::<c_void>(), DLDevice::CPU)
        }
    };
    let address = if tensor.is_empty() { std::ptr::null_mut() } else { address };
    let prepared = Dynamic::new(shape, strides).prepare_as::<DLManagedTensorVersioned>();
    let prepared = prepared.map_err(|error| described(error.to_string()))?;
    let mut initialized: Initialized<DLManagedTensorVersioned> = prepared.initialize(Box::new(Given(tensor)));
    initialized.set_data(address);
    initialized.set_dtype(dtype);
    initialized.set_device(device);
    // SAFETY: data, type and device are set as the tensor has them, and the tensor is the context that the deleter drops.
    Ok(unsafe { initialized.finish() })
}
