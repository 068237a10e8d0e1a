//! Bytes of a file into a tensor, piece by piece.

use crate::error::{FileError, Wrong};
use crate::progress::Progress;
use crate::source::Source;
use layout_cuda::{Element, Stream, Tensor};

/// Bytes that go to the device at once.
const PIECE: usize = 64 << 20;

/// The number of elements of a shape; `None` where it, or its bytes, are beyond the address space.
pub(crate) fn elements(shape: &[usize], bytes: usize) -> Option<usize> {
    let count = shape.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent))?;
    count.checked_mul(bytes).map(|_| count)
}

/// Where the elements of a tensor are in a file.
pub(crate) struct Place<'a> {
    pub file: &'a Source,
    /// The first byte, and how many there are.
    pub start: u64,
    pub bytes: u64,
    pub shape: &'a [usize],
}

/// A tensor of these bytes; of column-major ones its strides are.
pub(crate) fn tensor<T: Element, const R: usize>(
    place: &Place<'_>,
    column_major: bool,
    stream: &Stream,
    progress: &mut dyn Progress,
) -> Result<Tensor<T, R>, FileError> {
    let failed = |wrong| FileError::new(&place.file.path, wrong);
    let shape: [usize; R] =
        place.shape.try_into().map_err(|_| failed(Wrong::Rank { shape: place.shape.to_vec(), asked: R }))?;
    let size = size_of::<T>();
    let needed = elements(&shape, size).map_or(u64::MAX, |count| (count * size) as u64);
    if needed != place.bytes {
        return Err(failed(Wrong::Length { needed, found: place.bytes }));
    }
    let device = |error| failed(Wrong::Device(Box::new(error)));
    let made = if column_major {
        let mut strides = [1usize; R];
        (1..R).for_each(|mode| strides[mode] = strides[mode - 1].saturating_mul(shape[mode - 1].max(1)));
        stream.zeros_strided(shape, strides)
    } else {
        stream.zeros(shape)
    };
    let mut tensor: Tensor<T, R> = made.map_err(device)?;
    let total = place.bytes;
    progress.moved(0, total);
    let most = (PIECE / size * size) as u64;
    let mut buffer = vec![0; total.min(most) as usize];
    let (mut first, mut moved) = (0, 0);
    while moved < total {
        let piece = &mut buffer[..(total - moved).min(most) as usize];
        place.file.read(place.start + moved, piece)?;
        tensor.write_bytes(first, piece).map_err(device)?;
        first += piece.len() / size;
        moved += piece.len() as u64;
        progress.moved(moved, total);
    }
    Ok(tensor)
}
