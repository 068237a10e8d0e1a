//! Messages between GPUs of one process by the devices' copy engines: they take no multiprocessor, so a kernel beside them has all.
//!
//! Law: a receiver copies when the sender's stream has come to its call, and the sender's stream goes on when everything that it
//! sent is copied. The events that say so are kept until the ranks have met again, by when everybody waits for them.

use crate::call::{Call, Reader};
use crate::error::{MeshError, Result};
use crate::member::Member;
use layout_cuda::cudarc::driver::{CudaEvent, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, result, sys};
use layout_cuda::{Element, TensorView, TensorViewMut};
use std::sync::Arc;

fn failed(call: &'static str) -> impl Fn(result::DriverError) -> MeshError {
    move |error| MeshError::Nccl { call, code: error.0 as i32, words: format!("{:?}", error.0) }
}

/// Lets every other GPU of the machine that can reach this one's memory do so: the pool's that cudarc allocates from.
pub(crate) fn open(stream: &CudaStream) -> Result<()> {
    let own = stream.context().ordinal();
    let count = layout_cuda::driver::device_count().map_err(layout_cuda::Error::from)?;
    stream.context().bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
    // Ordinals are of `c_int`, as the driver counts them.
    let number = |ordinal: usize| i32::try_from(ordinal).unwrap_or(i32::MAX);
    for other in (0..count).filter(|other| *other != own) {
        let (mut can, mut pool) = (0, std::ptr::null_mut());
        // SAFETY: the driver is ready, as there is a stream; the pointers are to live values, and both devices are there.
        unsafe {
            sys::cuDeviceCanAccessPeer(&mut can, number(other), number(own))
                .result()
                .map_err(failed("cuDeviceCanAccessPeer"))?;
            if can == 0 {
                continue;
            }
            sys::cuDeviceGetDefaultMemPool(&mut pool, number(own))
                .result()
                .map_err(failed("cuDeviceGetDefaultMemPool"))?;
            let location = sys::CUmemLocation {
                type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                id: number(other),
            };
            let flags = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
            sys::cuMemPoolSetAccess(pool, &sys::CUmemAccessDesc { location, flags }, 1)
                .result()
                .map_err(failed("cuMemPoolSetAccess"))?;
        }
    }
    Ok(())
}

/// The events of an exchange, as they are kept.
pub(crate) type Kept = Vec<CudaEvent>;

fn wait(stream: &CudaStream, event: u64) -> Result<()> {
    // SAFETY: the event's owner keeps it until the ranks have met again, which they do after this.
    let waited = unsafe { sys::cuStreamWaitEvent(stream.cu_stream(), event as sys::CUevent, 0) };
    waited.result().map_err(failed("cuStreamWaitEvent"))
}

/// The exchange, in the stream's order; gives the events to keep.
pub(crate) fn exchange<T: Element>(
    member: &Member,
    stream: &Arc<CudaStream>,
    call: Call,
    sends: &[(usize, TensorView<'_, T, 1>)],
    receives: &mut [(usize, TensorViewMut<'_, T, 1>)],
) -> Result<Kept> {
    stream.context().bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
    let (mut guards, mut offered) = (Vec::new(), Vec::new());
    for (peer, view) in sends {
        let Some(memory) = view.cuda() else { continue };
        let (address, guard) = memory.device_ptr(stream);
        guards.push(guard);
        offered.push((*peer as u64, address));
    }
    let (mut written, mut targets) = (Vec::new(), Vec::new());
    for (peer, view) in receives {
        let Some(memory) = view.cuda_mut() else { continue };
        let bytes = memory.num_bytes();
        let (address, guard) = memory.device_ptr_mut(stream);
        written.push(guard);
        targets.push((*peer, address, bytes));
    }
    let ready = stream.record_event(None).map_err(failed("cuEventRecord"))?;
    let mut message = (ready.cu_event() as u64).to_le_bytes().to_vec();
    for (peer, address) in &offered {
        message.extend(peer.to_le_bytes());
        message.extend(address.to_le_bytes());
    }
    let posts = member.meet(call, message)?;
    // What each rank offers this one, in order, and the event from when on it is there.
    let offers = |rank: usize| -> Option<(u64, Vec<u64>)> {
        let mut reader = Reader(&posts[rank].bytes);
        let event = reader.number()?;
        let pairs = std::iter::from_fn(|| Some((reader.number()?, reader.number()?)));
        Some((
            event,
            pairs.filter(|(to, _)| *to == member.rank() as u64).map(|(_, address)| address).collect(),
        ))
    };
    let mut taken = vec![0; posts.len()];
    for (peer, to, bytes) in targets {
        let Some((event, addresses)) = offers(peer) else { continue };
        let Some(from) = addresses.get(taken[peer]) else { continue };
        if taken[peer] == 0 {
            wait(stream, event)?;
        }
        taken[peer] += 1;
        // SAFETY: both ends are of so many bytes, as the ranks have agreed. The sender's views are borrowed by its call, and its stream goes
        // on after the event below; the target is borrowed here, in this stream's order.
        let copied = unsafe { result::memcpy_dtod_async(to, *from, bytes, stream.cu_stream()) };
        copied.map_err(failed("cuMemcpyDtoDAsync"))?;
    }
    let done = stream.record_event(None).map_err(failed("cuEventRecord"))?;
    let copied =
        Call::Collective { name: "copied".into(), elem: String::new(), count: 0, how: String::new() };
    let posts = member.meet(copied, (done.cu_event() as u64).to_le_bytes().to_vec())?;
    let mut receivers: Vec<usize> = sends.iter().map(|(peer, _)| *peer).collect();
    receivers.sort_unstable();
    receivers.dedup();
    for peer in receivers.into_iter().filter(|peer| *peer != member.rank()) {
        if let Some(event) = Reader(&posts[peer].bytes).number() {
            wait(stream, event)?;
        }
    }
    Ok(vec![ready, done])
}
