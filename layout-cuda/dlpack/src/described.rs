//! What a DLPack description says, in a layout's numbers.
//!
//! Law: elements are `bytes` long from `first` on, as far as shape and strides reach; a stride is never negative. Nothing is
//! allocated, so that a description can be read at every call.

use crate::elem::elem;
use crate::error::DlpackError;
use dlpark::ffi::{DLDevice, DLTensor};
use dlpark::tensor::TensorRef;
use layout_cuda::Elem;

/// The most modes of a tensor.
pub const MODES: usize = 8;

/// A description, read and found to be one.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    word: (u8, u8, u16),
    elem: Option<Elem>,
    modes: usize,
    shape: [usize; MODES],
    strides: [usize; MODES],
    first: *mut u8,
    bytes: usize,
    device: DLDevice,
}

fn description(why: impl Into<String>) -> DlpackError {
    DlpackError::Description { why: why.into() }
}

/// How many elements from the first on a layout reaches; `None` beyond the address space.
fn reach(shape: &[usize], strides: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    let mut modes = shape.iter().zip(strides);
    modes.try_fold(1usize, |all, (extent, stride)| all.checked_add((extent - 1).checked_mul(*stride)?))
}

impl Described {
    /// Reads a description.
    ///
    /// # Errors
    /// [`DlpackError::Description`], [`DlpackError::Negative`].
    ///
    /// # Safety
    /// Shape and strides, where they are not null, are as many numbers as the description has modes, and the memory is there.
    pub unsafe fn new(tensor: &DLTensor) -> Result<Described, DlpackError> {
        // SAFETY: the caller promises shape and strides.
        let tensor = unsafe { TensorRef::from_raw(tensor) }?;
        let (extents, word) = (tensor.shape(), tensor.dtype());
        let modes = extents.len();
        if modes > MODES {
            return Err(description(format!("it has {modes} modes, and at most {MODES} are taken")));
        }
        let (mut shape, mut strides) = ([0; MODES], [0; MODES]);
        for (mode, (own, stride)) in extents.iter().zip(tensor.strides_or_compact()?.iter()).enumerate() {
            shape[mode] = usize::try_from(*own)
                .map_err(|_| description(format!("mode {mode} has the extent {own}")))?;
            // The stride of a single coordinate leads nowhere, whatever it is.
            let stride = if shape[mode] < 2 { (*own).min(1) } else { *stride };
            strides[mode] = usize::try_from(stride).map_err(|_| DlpackError::Negative { mode, stride })?;
        }
        let size = usize::from(word.bits).div_ceil(8) * usize::from(word.lanes);
        let bytes = reach(&shape[..modes], &strides[..modes]).and_then(|elements| elements.checked_mul(size));
        let bytes = bytes.filter(|bytes| isize::try_from(*bytes).is_ok());
        let bytes = bytes.ok_or_else(|| description("it is larger than the address space"))?;
        // SAFETY: the caller promises the memory; of an empty tensor the pointer is not used.
        let first = unsafe { tensor.offset_bytes_ptr() }?.cast_mut();
        if bytes > 0 && first.is_null() {
            return Err(description("it has elements and no address"));
        }
        let (elem, word) = (elem(word), (word.code.0, word.bits, word.lanes));
        let whole = elem.map_or(1, |elem| elem.bytes() as usize);
        if bytes > 0 && !(first as usize).is_multiple_of(whole) {
            return Err(description(format!("its address is no multiple of {whole} bytes, an element's")));
        }
        Ok(Described { word, elem, modes, shape, strides, first, bytes, device: tensor.device() })
    }

    /// Extents.
    pub fn shape(&self) -> &[usize] {
        &self.shape[..self.modes]
    }

    /// Strides, in elements.
    pub fn strides(&self) -> &[usize] {
        &self.strides[..self.modes]
    }

    /// The type of its elements, where kernels have it.
    pub fn elem(&self) -> Option<Elem> {
        self.elem
    }

    /// DLPack's code, bits and lanes of the type.
    pub fn word(&self) -> (u8, u8, u16) {
        self.word
    }

    /// The address of the first element; it may be null where there is none.
    pub fn first(&self) -> *mut u8 {
        self.first
    }

    /// How many bytes the elements reach from the first on.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where it is.
    pub fn device(&self) -> DLDevice {
        self.device
    }

    /// Refuses a tensor that may not be written in any order.
    ///
    /// # Errors
    /// [`DlpackError::Overlaps`].
    pub fn writable(&self) -> Result<(), DlpackError> {
        match overlaps(self.shape(), self.strides()) {
            true => {
                Err(DlpackError::Overlaps { shape: self.shape().to_vec(), strides: self.strides().to_vec() })
            }
            false => Ok(()),
        }
    }
}

/// Whether two coordinates may be in one place: modes in the order of their strides, each beyond all before it, never do.
fn overlaps(shape: &[usize], strides: &[usize]) -> bool {
    let mut modes = [(0, 0); MODES];
    let mut count = 0;
    for (stride, extent) in strides.iter().zip(shape).filter(|(_, extent)| **extent > 1) {
        modes[count] = (*stride, *extent);
        count += 1;
    }
    modes[..count].sort_unstable();
    let mut beyond = 1;
    !shape.contains(&0)
        && modes[..count].iter().any(|(stride, extent)| {
            let overlaps = *stride < beyond;
            beyond = beyond.saturating_add(stride.saturating_mul(extent - 1));
            overlaps
        })
}
