//! The memory of one tensor on a GPU, and the order of its users.
//!
//! Law: it is freed in its own stream after all of its users; what may still be in use is leaked. One of no element lends none.

use std::marker::PhantomData;
use std::mem::{ManuallyDrop, transmute};
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut};

use crate::driver::{DriverError, check};
use crate::order::{Order, Use};

/// Memory of a GPU for so many values of `T`. To cudarc it is bytes, since it allocates for its own list of types alone.
#[derive(Debug)]
pub(crate) struct Allocation<T> {
    bytes: ManuallyDrop<CudaSlice<u8>>,
    len: usize,
    order: Arc<Order>,
    of: PhantomData<T>,
}

impl<T> Allocation<T> {
    /// Memory of so many elements. One of none has an address, too.
    ///
    /// # Errors
    /// The failure of a call.
    ///
    /// # Safety
    /// - The memory is set before it is read as values of `T`.
    /// - So many elements have a number of bytes.
    pub(crate) unsafe fn new(stream: &Arc<CudaStream>, len: usize) -> Result<Allocation<T>, DriverError> {
        let bytes = len.max(1) * size_of::<T>();
        // An unaligned vector is loaded by the aligned ones that hold it, of 16 bytes at most.
        let bytes = bytes.checked_next_multiple_of(16).unwrap_or(bytes);
        // SAFETY: as the caller promises.
        let mut bytes = check("cuMemAllocAsync", unsafe { stream.alloc::<u8>(bytes) })?;
        let order = Arc::new(Order::new(&mut bytes));
        Ok(Allocation { bytes: ManuallyDrop::new(bytes), len, order, of: PhantomData })
    }

    /// The memory, and its users.
    pub(crate) fn parts(&self) -> (CudaView<'_, T>, &Arc<Order>) {
        // SAFETY: the memory is of so many values of `T`, aligned as all of the driver's is.
        let memory = unsafe { self.bytes.as_view().transmute::<T>(self.len) };
        (memory.expect("as many bytes as the elements have"), &self.order)
    }

    /// The memory to be written, and its users.
    pub(crate) fn parts_mut(&mut self) -> (CudaViewMut<'_, T>, &Arc<Order>) {
        self.between_mut(0, self.len)
    }

    /// The memory between two elements, in order and not behind its end, to be written.
    pub(crate) fn between_mut(&mut self, start: usize, end: usize) -> (CudaViewMut<'_, T>, &Arc<Order>) {
        let mut bytes = self.bytes.slice_mut(start * size_of::<T>()..end * size_of::<T>());
        // SAFETY: as of `parts`, from an element's first byte on.
        let part = unsafe { bytes.transmute_mut::<T>(end - start) };
        let part = part.expect("as many bytes as the elements have");
        // SAFETY: the lifetime alone changes, from that of the local view to that of `self`, which both borrow mutably; the local one is
        // not used any more.
        (unsafe { transmute::<CudaViewMut<'_, T>, CudaViewMut<'_, T>>(part) }, &self.order)
    }
}

impl<T> Drop for Allocation<T> {
    fn drop(&mut self) {
        let stream = self.bytes.stream().clone();
        let context = stream.context();
        // cudarc frees in the null stream of whichever context is current. The first call may return an earlier failure instead.
        let bound = context.bind_to_thread().or_else(|_| context.bind_to_thread());
        let ordered = Use::write(&mut *self.bytes, Some(&self.order), &stream).map(drop);
        if (bound.is_err() || ordered.is_err()) && context.synchronize().is_err() {
            return;
        }
        // SAFETY: the slice is dropped here alone, and not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.bytes) };
    }
}
