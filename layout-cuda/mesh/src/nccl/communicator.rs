//! One rank's communicator.
//!
//! Law: a call is made only after all ranks of the group have announced to each other that they make the same one; the memory that it
//! reads and writes is that of views that it borrows, ordered by cudarc's events like any launch's.

use super::library::{Comm, Config, Nccl, UniqueId, nccl};
use crate::error::{MeshError, Result};
use crate::sum::Reduction;
use layout_cuda::cudarc::driver::CudaStream;
use layout_cuda::{Elem, Element, Stream, TensorArg, TensorView, TensorViewMut};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Mutex;
use std::sync::PoisonError;

/// A communicator. Aborted when it is dropped: what is in flight then is lost, so that nothing can hang there.
#[derive(Debug)]
pub(crate) struct Communicator {
    /// Null once it is aborted.
    comm: Mutex<Comm>,
}

// SAFETY: NCCL lets any thread call with a communicator, one at a time, which the lock sees to.
unsafe impl Send for Communicator {}
// SAFETY: as above.
unsafe impl Sync for Communicator {}

/// NCCL's bytes, for what is moved and not added.
const BYTES: c_int = 1;

fn number(value: usize) -> c_int {
    // A mesh has at most 1024 ranks.
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

/// NCCL's number of an element type that it can add.
fn data_type(elem: Elem) -> Result<c_int> {
    Ok(match elem {
        Elem::I8 => 0,
        Elem::U8 => 1,
        Elem::I32 => 2,
        Elem::U32 => 3,
        Elem::I64 => 4,
        Elem::U64 => 5,
        Elem::F16 => 6,
        Elem::F32 => 7,
        Elem::F64 => 8,
        Elem::Bf16 => 9,
        _ => return Err(MeshError::Elements { elem: elem.to_string() }),
    })
}

fn operation(how: Reduction) -> c_int {
    match how {
        Reduction::Sum => 0,
        Reduction::Max => 2,
        Reduction::Min => 3,
    }
}

/// What is done with one buffer to read and one to write.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    AllGather,
    ReduceScatter(Reduction),
    AllReduce(Reduction),
    Broadcast(usize),
}

impl Communicator {
    /// Bytes of what [`Communicator::unique_id`] gives.
    pub(crate) const ID: usize = 128;

    /// What the ranks of a new group find each other by; one of them makes it.
    pub(crate) fn unique_id() -> Result<Vec<u8>> {
        let nccl = nccl()?;
        let mut id = UniqueId([0; 128]);
        // SAFETY: the pointer is to a live value of the type that NCCL writes.
        nccl.check("ncclGetUniqueId", unsafe { (nccl.get_unique_id)(&mut id) })?;
        Ok(id.0.to_vec())
    }

    /// Rank `rank` of `size`, on the current device of the stream's context. Waits for the others, who have said that they come.
    pub(crate) fn new(
        stream: &CudaStream,
        id: &[u8],
        [rank, size]: [usize; 2],
        blocks: Option<u32>,
    ) -> Result<Communicator> {
        let nccl = nccl()?;
        stream.context().bind_to_thread().map_err(failed)?;
        let mut own = UniqueId([0; 128]);
        let len = id.len().min(128);
        own.0[..len].copy_from_slice(&id[..len]);
        let mut comm: Comm = ptr::null_mut();
        let mut config = Config::new(blocks);
        // SAFETY: the pointers are to a live handle and to a configuration of the size that it says; the context is this thread's.
        let made = unsafe { (nccl.init_rank)(&mut comm, number(size), own, number(rank), &mut config) };
        nccl.check("ncclCommInitRankConfig", made)?;
        Ok(Communicator { comm: Mutex::new(comm) })
    }

    /// With the communicator, unless it is aborted.
    fn with<R>(&self, call: impl FnOnce(&'static Nccl, Comm) -> Result<R>) -> Result<R> {
        // The handle is whole even if a holder of the lock panicked.
        let comm = self.comm.lock().unwrap_or_else(PoisonError::into_inner);
        match comm.is_null() {
            true => Err(MeshError::Broken { by: "the communicator was aborted".into() }),
            false => call(nccl()?, *comm),
        }
    }

    /// Starts it in the stream.
    pub(crate) fn work<T: Element, const R: usize, const S: usize>(
        &self,
        work: Work,
        stream: &Stream,
        source: &TensorView<'_, T, R>,
        target: &mut TensorViewMut<'_, T, S>,
    ) -> Result<()> {
        let Some(cuda) = stream.cuda() else { return Ok(()) };
        cuda.context().bind_to_thread().map_err(failed)?;
        let size = size_of::<T>();
        let (count, into) = (source.len(), target.view().len());
        let (Some((from, reads)), Some((to, writes))) = (source.read_on(stream)?, target.write_on(stream)?)
        else {
            return Ok(());
        };
        let (from, to, cuda) = (from as *const c_void, to as *mut c_void, cuda.cu_stream().cast());
        let started = self.with(|nccl, comm| {
            // SAFETY: both addresses are of as many elements as the call says: of all-gather the target, of reduce-scatter the
            // source has as many times more as there are ranks, which `Member::unfit` has checked. The other ranks' counts are this
            // one's: they have met (`Member::agree`), or `Member::trust`'s caller promises it. `read_on`, `write_on` and `end` keep the
            // order.
            let (name, code) = unsafe {
                match work {
                    Work::AllGather => {
                        ("ncclAllGather", (nccl.all_gather)(from, to, count * size, BYTES, comm, cuda))
                    }
                    Work::ReduceScatter(how) => {
                        let (elem, how) = (data_type(T::ELEM)?, operation(how));
                        ("ncclReduceScatter", (nccl.reduce_scatter)(from, to, into, elem, how, comm, cuda))
                    }
                    Work::AllReduce(how) => {
                        let (elem, how) = (data_type(T::ELEM)?, operation(how));
                        ("ncclAllReduce", (nccl.all_reduce)(from, to, count, elem, how, comm, cuda))
                    }
                    Work::Broadcast(root) => {
                        let root = number(root);
                        ("ncclBroadcast", (nccl.broadcast)(from, to, count * size, BYTES, root, comm, cuda))
                    }
                }
            };
            nccl.check(name, code)
        });
        let ended = reads.end().and(writes.end());
        started.and(ended.map_err(MeshError::from))
    }

    /// Starts messages between pairs, all at once.
    pub(crate) fn exchange<T: Element>(
        &self,
        stream: &Stream,
        sends: &[(usize, TensorView<'_, T, 1>)],
        receives: &mut [(usize, TensorViewMut<'_, T, 1>)],
    ) -> Result<()> {
        let Some(cuda) = stream.cuda() else { return Ok(()) };
        let size = size_of::<T>();
        let (mut uses, mut addresses, mut targets) = (Vec::new(), Vec::new(), Vec::new());
        for (peer, view) in sends {
            let bytes = view.len() * size;
            let Some((from, reads)) = view.read_on(stream)? else { continue };
            uses.push(reads);
            addresses.push((*peer, from, bytes));
        }
        for (peer, view) in receives {
            let bytes = view.view().len() * size;
            let Some((to, writes)) = view.write_on(stream)? else { continue };
            uses.push(writes);
            targets.push((*peer, to, bytes));
        }
        // SAFETY: the addresses are of views that are borrowed here, of so many bytes, and the ranks' counts fit, as in `work`, which
        // says what keeps the order.
        let started = unsafe { self.exchange_at(cuda, &addresses, &targets) };
        let ended = uses.into_iter().map(|used| used.end()).fold(Ok(()), std::result::Result::and);
        started.and(ended.map_err(MeshError::from))
    }

    /// The same of addresses: (peer, address, bytes).
    ///
    /// # Safety
    /// - So many bytes are there until the stream has done it; nobody else writes what is sent meanwhile, or touches what is
    ///   received.
    pub(crate) unsafe fn exchange_at(
        &self,
        stream: &CudaStream,
        sends: &[(usize, u64, usize)],
        receives: &[(usize, u64, usize)],
    ) -> Result<()> {
        stream.context().bind_to_thread().map_err(failed)?;
        let cuda: *mut c_void = stream.cu_stream().cast();
        self.with(|nccl, comm| {
            // SAFETY: as the caller promises; the group is ended whatever happens in between.
            unsafe {
                nccl.check("ncclGroupStart", (nccl.group_start)())?;
                let mut done = Ok(());
                for (peer, from, bytes) in sends.iter().filter(|(_, _, bytes)| *bytes > 0) {
                    let code = (nccl.send)(*from as *const c_void, *bytes, BYTES, number(*peer), comm, cuda);
                    done = done.and(nccl.check("ncclSend", code));
                }
                for (peer, to, bytes) in receives.iter().filter(|(_, _, bytes)| *bytes > 0) {
                    let code = (nccl.receive)(*to as *mut c_void, *bytes, BYTES, number(*peer), comm, cuda);
                    done = done.and(nccl.check("ncclRecv", code));
                }
                done.and(nccl.check("ncclGroupEnd", (nccl.group_end)()))
            }
        })
    }

    /// What went wrong on the device since, if anything.
    pub(crate) fn trouble(&self) -> Result<()> {
        self.with(|nccl, comm| {
            let mut state = 0;
            // SAFETY: the communicator is alive, and the pointer is to a live integer.
            nccl.check("ncclCommGetAsyncError", unsafe { (nccl.async_error)(comm, &mut state) })?;
            nccl.check("a collective", state)
        })
    }

    /// Closes it, when all that was started is done.
    pub(crate) fn close(&self) {
        let mut comm = self.comm.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Ok(nccl), false) = (nccl(), comm.is_null()) {
            // SAFETY: the communicator is alive, and used no more: it is null from here on.
            let _ = unsafe { (nccl.destroy)(*comm) };
            *comm = ptr::null_mut();
        }
    }

    /// Gives up what is in flight: every kernel of NCCL on this device ends.
    pub(crate) fn abort(&self) {
        let mut comm = self.comm.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Ok(nccl), false) = (nccl(), comm.is_null()) {
            // SAFETY: the communicator is alive, and used no more: it is null from here on.
            let _ = unsafe { (nccl.abort)(*comm) };
            *comm = ptr::null_mut();
        }
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        self.abort();
    }
}

/// A failure of the driver, which is not formatted.
fn failed(error: layout_cuda::cudarc::driver::DriverError) -> MeshError {
    MeshError::Nccl { call: "cuCtxSetCurrent", code: error.0 as i32, words: format!("{:?}", error.0) }
}
