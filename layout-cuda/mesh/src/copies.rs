//! Messages between GPUs of one process by the devices' copy engines: they take no multiprocessor, so a kernel beside them has all.
//!
//! Law: a receiver copies when the sender's stream has come to its call, and the sender's stream goes on when everything that it
//! sent is copied. The events that say so are kept until the ranks have met again, by when everybody waits for them. A rank that
//! fails gives nothing back before no rank reads another's memory. Addresses and events are of this process, or not looked at.

use crate::board::{Board, Post, Reading};
use crate::call::{Call, Reader};
use crate::error::{MeshError, Result};
use crate::member::Member;
use layout_cuda::cudarc::driver::{CudaEvent, CudaStream, result, sys};
use layout_cuda::{Element, Stream, TensorArg, TensorView, TensorViewMut};
use std::sync::Arc;

fn failed(call: &'static str) -> impl Fn(result::DriverError) -> MeshError {
    move |error| MeshError::Nccl { call, code: error.0 as i32, words: format!("{:?}", error.0) }
}

/// Whether each of so many GPUs reaches the memory of every other one.
pub(crate) fn all_reach(gpus: usize) -> bool {
    let number = |ordinal: usize| i32::try_from(ordinal).unwrap_or(i32::MAX);
    let reaches = |(one, other): (usize, usize)| {
        let mut can = 0;
        // SAFETY: the driver is ready, since the GPUs were counted; the pointer is to a live integer.
        let asked = unsafe { sys::cuDeviceCanAccessPeer(&mut can, number(one), number(other)) };
        asked.result().is_ok() && can != 0
    };
    let pairs = (0..gpus).flat_map(|one| (0..gpus).map(move |other| (one, other)));
    pairs.filter(|(one, other)| one != other).all(reaches)
}

/// Lets every other GPU of the machine that can reach this one's memory do so: the pool's that cudarc allocates from. Gives whether
/// all can.
pub(crate) fn open(stream: &CudaStream) -> Result<bool> {
    let own = stream.context().ordinal();
    let count = layout_cuda::driver::device_count().map_err(layout_cuda::Error::from)?;
    stream.context().bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
    // Ordinals are of `c_int`, as the driver counts them.
    let number = |ordinal: usize| i32::try_from(ordinal).unwrap_or(i32::MAX);
    let mut all = true;
    for other in (0..count).filter(|other| *other != own) {
        let (mut can, mut pool) = (0, std::ptr::null_mut());
        // SAFETY: the driver is ready, as there is a stream; the pointers are to live values, and both devices are there.
        unsafe {
            sys::cuDeviceCanAccessPeer(&mut can, number(other), number(own))
                .result()
                .map_err(failed("cuDeviceCanAccessPeer"))?;
            if can == 0 {
                all = false;
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
    Ok(all)
}

/// The events of an exchange, as they are kept.
pub(crate) type Kept = Vec<CudaEvent>;

fn wait(stream: &CudaStream, event: u64) -> Result<()> {
    // SAFETY: the event is of a rank of this process, as `Place::shared` says. Its owner keeps it while this rank is `Reading`, which
    // it is until it has waited, and until the ranks have met again.
    let waited = unsafe { sys::cuStreamWaitEvent(stream.cu_stream(), event as sys::CUevent, 0) };
    waited.result().map_err(failed("cuStreamWaitEvent"))
}

/// What the ranks have offered one of them: addresses that it may read until its stream comes to the end of the offer.
pub(crate) struct Offers<'a> {
    posts: &'a [Post],
    rank: usize,
    stream: &'a CudaStream,
}

impl Offers<'_> {
    /// The addresses that a rank offers, in the order of its offers. From here on the stream comes after what that rank's stream had
    /// before them.
    pub(crate) fn of(&self, peer: usize) -> Result<Vec<u64>> {
        let mut reader = Reader(self.posts.get(peer).map_or(&[], |post| &post.bytes));
        let Some(event) = reader.number() else { return Ok(vec![]) };
        let pairs = std::iter::from_fn(|| Some((reader.number()?, reader.number()?)));
        let own = pairs.filter(|(to, _)| *to == self.rank as u64).map(|(_, address)| address).collect();
        wait(self.stream, event)?;
        Ok(own)
    }
}

/// Offers these addresses to these ranks, and takes what they offer in `body`, in the stream's order; gives the events to keep. The
/// stream goes on when all that was offered is taken.
pub(crate) fn offered(
    member: &Member,
    stream: &Arc<CudaStream>,
    call: Call,
    offers: &[(usize, u64)],
    body: impl FnOnce(&Offers<'_>) -> Result<()>,
) -> Result<Kept> {
    let Some(board) = member.place.shared() else {
        // Nobody comes here with such a member.
        return Err(MeshError::Broken { by: "ranks of other processes have no memory here".into() });
    };
    stream.context().bind_to_thread().map_err(failed("cuCtxSetCurrent"))?;
    let mut under_way = UnderWay { member, board, stream, events: Vec::new(), reading: None };
    let ready = stream.record_event(None).map_err(failed("cuEventRecord"))?;
    let mut message = (ready.cu_event() as u64).to_le_bytes().to_vec();
    for (peer, address) in offers {
        message.extend((*peer as u64).to_le_bytes());
        message.extend(address.to_le_bytes());
    }
    under_way.events.push(ready);
    let (posts, reading) = member.offer(board, call, message)?;
    under_way.reading = Some(reading);
    body(&Offers { posts: &posts, rank: member.rank(), stream })?;
    let done = stream.record_event(None).map_err(failed("cuEventRecord"))?;
    let copied =
        Call::Collective { name: "copied".into(), elem: String::new(), count: 0, how: String::new() };
    let own = (done.cu_event() as u64).to_le_bytes().to_vec();
    under_way.events.push(done);
    let posts = member.meet(copied, own)?;
    let mut receivers: Vec<usize> = offers.iter().map(|(peer, _)| *peer).collect();
    receivers.sort_unstable();
    receivers.dedup();
    for peer in receivers.into_iter().filter(|peer| *peer != member.rank()) {
        if let Some(event) = Reader(&posts[peer].bytes).number() {
            wait(stream, event)?;
        }
    }
    Ok(under_way.done())
}

/// What an exchange by addresses holds while it is under way. Where it fails, or panics, the views that it borrows go back to their
/// owner, and its events are destroyed: not before this rank's device has done what it copies, and no other rank copies either.
struct UnderWay<'a> {
    member: &'a Member,
    board: &'a Board,
    stream: &'a CudaStream,
    events: Kept,
    reading: Option<Reading<'a>>,
}

impl UnderWay<'_> {
    /// It has gone well: the others' streams wait for this one's events, which are to be kept until the ranks have met again.
    fn done(mut self) -> Kept {
        self.reading = None;
        std::mem::take(&mut self.events)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if self.reading.is_some() {
            // The others need not wait for this rank. The first error that was noted stays.
            let by =
                format!("rank {} of {:?} failed while they copied", self.member.rank(), self.member.group());
            self.board.fail(MeshError::Broken { by });
            // A device that fails does not read any more.
            let _ = self.stream.synchronize();
            self.reading = None;
            self.member.unread(self.board);
        }
    }
}

/// The exchange, in the stream's order; gives the events to keep.
pub(crate) fn exchange<T: Element>(
    member: &Member,
    stream: &Stream,
    call: Call,
    sends: &[(usize, TensorView<'_, T, 1>)],
    receives: &mut [(usize, TensorViewMut<'_, T, 1>)],
) -> Result<Kept> {
    let Some(cuda) = stream.cuda() else { return Ok(vec![]) };
    let (mut uses, mut offers, mut targets) = (Vec::new(), Vec::new(), Vec::new());
    for (peer, view) in sends {
        let Some((address, reads)) = view.read_on(stream)? else { continue };
        uses.push(reads);
        offers.push((*peer, address));
    }
    for (peer, view) in receives {
        let bytes = view.view().len() * size_of::<T>();
        let Some((address, writes)) = view.write_on(stream)? else { continue };
        uses.push(writes);
        targets.push((*peer, address, bytes));
    }
    let kept = copied(member, cuda, call, &offers, targets);
    // From here on the stream comes after what the others copied.
    let ended = uses.into_iter().map(|used| used.end()).fold(Ok(()), std::result::Result::and);
    kept.and_then(|kept| ended.map(|()| kept).map_err(MeshError::from))
}

/// The same of addresses: what is offered to ranks, and where what they offer goes, with its bytes.
fn copied(
    member: &Member,
    stream: &Arc<CudaStream>,
    call: Call,
    offers: &[(usize, u64)],
    targets: Vec<(usize, u64, usize)>,
) -> Result<Kept> {
    offered(member, stream, call, offers, |offers| {
        let mut left: Vec<Option<std::vec::IntoIter<u64>>> = (0..member.size()).map(|_| None).collect();
        for (peer, to, bytes) in targets {
            if left[peer].is_none() {
                left[peer] = Some(offers.of(peer)?.into_iter());
            }
            let Some(from) = left[peer].as_mut().and_then(Iterator::next) else { continue };
            // SAFETY: both ends are of so many bytes, as the ranks have agreed at the meeting, which no trust leaves out. The sender's views
            // are borrowed by its call, which comes back when its stream waits for what is copied, or nobody reads (`UnderWay`); the
            // target is borrowed here, in this stream's order.
            let copied = unsafe { result::memcpy_dtod_async(to, from, bytes, stream.cu_stream()) };
            copied.map_err(failed("cuMemcpyDtoDAsync"))?;
        }
        Ok(())
    })
}

/// Rows of a copy: so many, of so many bytes, and how far apart they are on both sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines {
    pub(crate) count: usize,
    pub(crate) bytes: usize,
    pub(crate) from_pitch: usize,
    pub(crate) to_pitch: usize,
}

/// Copies rows by a copy engine, in the stream's order.
///
/// # Safety
/// - So many rows are at both addresses until the stream has done it; nobody writes the ones or touches the others meanwhile.
pub(crate) unsafe fn copy_lines(stream: &CudaStream, from: u64, to: u64, lines: Lines) -> Result<()> {
    let Lines { count, bytes, from_pitch, to_pitch } = lines;
    let unified = sys::CUmemorytype::CU_MEMORYTYPE_UNIFIED;
    let copy = sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: unified,
        srcHost: std::ptr::null(),
        srcDevice: from,
        srcArray: std::ptr::null_mut(),
        srcPitch: from_pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: unified,
        dstHost: std::ptr::null_mut(),
        dstDevice: to,
        dstArray: std::ptr::null_mut(),
        dstPitch: to_pitch,
        WidthInBytes: bytes,
        Height: count,
    };
    // SAFETY: as the caller promises; the description is read before the call comes back.
    unsafe { sys::cuMemcpy2DAsync_v2(&copy, stream.cu_stream()) }.result().map_err(failed("cuMemcpy2DAsync"))
}
