//! The memory of one tensor on a GPU, and the order of its users.
//!
//! Law: it is freed in its own stream after all of its users; what may still be in use is leaked. One of no element lends none.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};

use crate::driver::{DriverError, check};
use crate::element::Element;
use crate::order::{Order, Use};

/// Memory of a GPU.
#[derive(Debug)]
pub(crate) struct Allocation<T> {
    slice: ManuallyDrop<CudaSlice<T>>,
    order: Arc<Order>,
}

impl<T: Element> Allocation<T> {
    /// Memory of so many elements. One of none has an address, too.
    ///
    /// # Errors
    /// The failure of a call.
    ///
    /// # Safety
    /// - The memory is set before it is read as values of `T`.
    pub(crate) unsafe fn new(stream: &Arc<CudaStream>, len: usize) -> Result<Allocation<T>, DriverError> {
        // SAFETY: as the caller promises.
        let mut slice = check("cuMemAllocAsync", unsafe { stream.alloc::<T>(len.max(1)) })?;
        if len == 0 {
            // cudarc panics where it gets no event for such a slice. So a context that gives none is found out before.
            check("cuEventCreate", stream.context().new_event(None))?;
            // SAFETY: the address is the allocation's, which the new slice frees; of no element none is unset.
            slice = unsafe { stream.upgrade_device_ptr(slice.leak(), 0) };
        }
        let order = Arc::new(Order::new(&mut slice));
        Ok(Allocation { slice: ManuallyDrop::new(slice), order })
    }
}

impl<T> Allocation<T> {
    /// The memory, and its users.
    pub(crate) fn parts(&self) -> (&CudaSlice<T>, &Arc<Order>) {
        (&self.slice, &self.order)
    }

    /// The memory to be written, and its users.
    pub(crate) fn parts_mut(&mut self) -> (&mut CudaSlice<T>, &Arc<Order>) {
        (&mut self.slice, &self.order)
    }
}

impl<T> Drop for Allocation<T> {
    fn drop(&mut self) {
        let stream = self.slice.stream().clone();
        let context = stream.context();
        // cudarc frees in the null stream of whichever context is current. The first call may return an earlier failure instead.
        let bound = context.bind_to_thread().or_else(|_| context.bind_to_thread());
        let ordered = Use::write(&mut *self.slice, Some(&self.order), &stream).map(drop);
        if (bound.is_err() || ordered.is_err()) && context.synchronize().is_err() {
            return;
        }
        // SAFETY: the slice is dropped here alone, and not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.slice) };
    }
}
