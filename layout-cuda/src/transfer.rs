//! Copies between memory of the host and of a GPU.
//!
//! Law: when a copy returns, the driver does not touch the host's memory any more.

use std::ffi::c_void;
use std::mem::forget;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut, DeviceSlice, result};

use crate::allocation::Allocation;
use crate::driver::check;
use crate::element::{Element, from_bytes};
use crate::error::{Error, Result};
use crate::order::{Order, Use, end_all};

/// Writes bytes to a GPU's memory, in the stream's order.
///
/// # Errors
/// The failure of a call.
pub(crate) fn upload(
    stream: &Arc<CudaStream>,
    memory: &mut CudaViewMut<'_, u8>,
    order: &Order,
    bytes: &[u8],
) -> Result<()> {
    let (address, used) = Use::write(memory, Some(order), stream)?;
    check("cuCtxSetCurrent", stream.context().bind_to_thread())?;
    // SAFETY: the callers give as many bytes as the memory has, which is borrowed mutably. The driver has copied the source when it
    // returns, or is waited for below.
    let copied = unsafe { result::memcpy_htod_async(address, bytes, stream.cu_stream()) };
    check("cuMemcpyHtoDAsync", copied)?;
    let ended = end_all(&used);
    if is_read_later(stream.context(), bytes) {
        check("cuStreamSynchronize", stream.synchronize())?;
    }
    ended
}

/// Whether the driver may read this memory after an asynchronous copy has returned. It copies pageable memory before, unless the
/// GPU reads through the host's page tables; page-locked memory it reads when the stream has come so far.
fn is_read_later(context: &CudaContext, bytes: &[u8]) -> bool {
    let direct = Attribute::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES;
    let mut ends = [bytes.first(), bytes.last()].into_iter().flatten();
    ends.any(is_locked) || context.attribute(direct) != Ok(0)
}

/// Whether the driver has this address among those that it allocated or locked.
fn is_locked(byte: &u8) -> bool {
    let mut kind = 0u32;
    let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    let address = std::ptr::from_ref(byte) as u64;
    // SAFETY: the pointer is to a live integer of the attribute's size; the address is only looked up.
    let found = unsafe { sys::cuPointerGetAttribute((&raw mut kind).cast::<c_void>(), attribute, address) };
    found != sys::CUresult::CUDA_ERROR_INVALID_VALUE
}

/// Copies one allocation to another of as many elements, in the stream's order; they may be on two GPUs.
///
/// # Errors
/// The failure of a call.
pub(crate) fn between<T>(
    stream: &Arc<CudaStream>,
    to: &mut Allocation<T>,
    from: &Allocation<T>,
) -> Result<()> {
    let (from, from_order) = from.parts();
    let (mut to, to_order) = to.parts_mut();
    let bytes = from.num_bytes().min(to.num_bytes());
    if bytes == 0 {
        return Ok(());
    }
    let [here, there] = [stream.context(), from.stream().context()].map(|context| context.cu_ctx());
    let (source, read) = Use::read(&from, Some(from_order), stream)?;
    let (target, written) = Use::write(&mut to, Some(to_order), stream)?;
    check("cuCtxSetCurrent", stream.context().bind_to_thread())?;
    let cuda = stream.cu_stream();
    // SAFETY: both allocations have so many bytes, of the contexts that they are of, and the stream waits for their other users.
    let copied = unsafe {
        match here == there {
            true => result::memcpy_dtod_async(target, source, bytes, cuda),
            false => result::memcpy_peer_async(here, target, there, source, bytes, cuda),
        }
    };
    let ended = end_all(read.iter().chain(&written));
    check("cuMemcpyDtoDAsync", copied).map_err(Error::from).and(ended)
}

/// Sets every byte of a GPU's memory, in the stream's order.
///
/// # Errors
/// The failure of a call.
pub(crate) fn fill<T>(
    stream: &Arc<CudaStream>,
    memory: &mut CudaViewMut<'_, T>,
    order: Option<&Order>,
    byte: u8,
) -> Result<()> {
    let bytes = memory.num_bytes();
    if bytes == 0 {
        return Ok(());
    }
    check("cuCtxSetCurrent", stream.context().bind_to_thread())?;
    let (address, used) = Use::write(memory, order, stream)?;
    // SAFETY: the memory is `bytes` long, borrowed mutably, and the stream waits for its other users.
    let set = unsafe { result::memset_d8_async(address, byte, bytes, stream.cu_stream()) };
    end_all(&used).and(check("cuMemsetD8Async", set).map_err(Error::from))
}

/// Reads a GPU's memory back, and waits for it.
///
/// # Errors
/// [`Error::OutOfMemory`], or the failure of a call, also of a kernel before.
pub(crate) fn download<T: Element>(
    stream: &Arc<CudaStream>,
    memory: &CudaView<'_, T>,
    order: Option<&Order>,
) -> Result<Vec<T>> {
    let len = memory.len();
    if len == 0 {
        return Ok(Vec::new());
    }
    if T::ANY_BITS {
        // SAFETY: an element has no padding, and every pattern of its bytes is a value.
        return unsafe { read(stream, memory, order, zeros(len, T::from_bits(0))?) };
    }
    // SAFETY: the elements are bytes, as many as the memory has.
    let bytes = unsafe { read(stream, memory, order, zeros(len * size_of::<T>(), 0u8)?) }?;
    Ok(from_bytes(&bytes))
}

fn zeros<T: Clone>(len: usize, zero: T) -> Result<Vec<T>> {
    let mut values = Vec::new();
    let out_of_memory = |_| Error::OutOfMemory { bytes: len * size_of::<T>(), free: None };
    values.try_reserve_exact(len).map_err(out_of_memory)?;
    values.resize(len, zero);
    Ok(values)
}

/// Fills a buffer of as many bytes as the memory has.
///
/// # Safety
/// - A `V` has no padding, and every pattern of its bytes is a value.
unsafe fn read<T, V>(
    stream: &Arc<CudaStream>,
    memory: &CudaView<'_, T>,
    order: Option<&Order>,
    mut buffer: Vec<V>,
) -> Result<Vec<V>> {
    let (address, used) = Use::read(memory, order, stream)?;
    check("cuCtxSetCurrent", stream.context().bind_to_thread())?;
    let len = size_of_val(buffer.as_slice());
    // SAFETY: the bytes are the buffer's, of which each pattern is a value.
    let bytes = unsafe { std::slice::from_raw_parts_mut(buffer.as_mut_ptr().cast::<u8>(), len) };
    // SAFETY: the memory has as many bytes, and the buffer lives until the copy has ended.
    let copied = unsafe { result::memcpy_dtoh_async(bytes, address, stream.cu_stream()) };
    check("cuMemcpyDtoHAsync", copied)?;
    if let Err(error) = check("cuStreamSynchronize", stream.synchronize()) {
        // The copy may still run: later users wait for it, and the buffer is never freed.
        let _ = end_all(&used);
        forget(buffer);
        return Err(error.into());
    }
    Ok(buffer)
}
