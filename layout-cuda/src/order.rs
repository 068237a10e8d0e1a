//! Order between streams: which work on an allocation waits for which.
//!
//! Law: of two uses of one allocation, one of which writes, the later waits for the earlier; two that read do not wait for each
//! other; and an allocation is freed after all of its uses.
//!
//! cudarc has two events for an allocation: one for its last writer, one for its last reader. The second is recorded anew by each
//! reader, so that of two readers on two streams only one is waited for. Here the readers of a [`Tensor`](crate::Tensor) are a
//! list, with an event for each stream ([`Order`]). Memory of the caller's has no list, since cudarc frees it: there the
//! allocation's own stream waits for a reader on another one, and cudarc's event is recorded behind that wait.
//!
//! With one stream nothing is recorded and nothing waits, which is cudarc's own rule. cudarc counts streams, and forgets its
//! events when the last extra one is dropped, although its work may go on: [`keep`] holds the count above zero.

use std::mem::forget;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DevicePtr, DevicePtrMut, SyncOnDrop, result, sys};

use crate::driver::check;
use crate::error::{Error, Result};

/// `CU_STREAM_PER_THREAD`: another stream in each thread.
const PER_THREAD: usize = 2;

/// What a stream is called: `CU_STREAM_LEGACY` is the null stream.
pub(crate) fn handle(stream: &CudaStream) -> usize {
    match stream.cu_stream() as usize {
        1 => 0,
        handle => handle,
    }
}

/// Whether work on one stream comes after what was given to the other before, without an event.
pub(crate) fn same(a: &CudaStream, b: &CudaStream) -> bool {
    Arc::ptr_eq(a.context(), b.context()) && handle(a) == handle(b)
}

/// Refuses a stream on which events do not order work.
///
/// # Errors
/// [`Error::PerThreadStream`].
pub(crate) fn refuse_per_thread(stream: &CudaStream) -> Result<()> {
    match handle(stream) {
        PER_THREAD => Err(Error::PerThreadStream),
        _ => Ok(()),
    }
}

/// Keeps one stream of this value of cudarc's for the life of the process, so that its events stay in force when the last
/// stream of the user's is dropped. Before the first one, cudarc waits for all work of the context.
///
/// # Errors
/// The failure of a call.
pub(crate) fn keep(context: &Arc<CudaContext>) -> Result<()> {
    static KEPT: Mutex<Vec<Arc<CudaStream>>> = Mutex::new(Vec::new());
    // The list is only ever pushed to, so that it is whole even if a holder of the lock panicked.
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if !kept.iter().any(|stream| Arc::ptr_eq(stream.context(), context)) {
        kept.push(check("cuStreamCreate", context.new_stream())?);
    }
    Ok(())
}

/// Whether cudarc keeps events for the memory of this value of a context.
pub(crate) fn managed(context: &CudaContext) -> bool {
    context.is_managing_stream_synchronization()
}

/// The event that cudarc's guard would record; the guard itself records nothing any more.
fn event_of<'a>(guard: SyncOnDrop<'a>) -> Option<&'a CudaEvent> {
    let event = match &guard {
        SyncOnDrop::Record(Some((event, _))) => Some(*event),
        SyncOnDrop::Record(None) | SyncOnDrop::Sync(_) => None,
    };
    forget(guard);
    event
}

/// Records an event, or waits for the stream where that fails, so that what is not recorded has ended.
pub(crate) fn record(event: &CudaEvent, stream: &CudaStream) -> Result<()> {
    let Err(error) = check("cuEventRecord", event.record(stream)) else { return Ok(()) };
    check("cuStreamSynchronize", stream.synchronize())?;
    Err(error.into())
}

/// Lets one stream wait for all work of another so far, or waits for it here where that fails.
pub(crate) fn join(stream: &CudaStream, other: &CudaStream) -> Result<()> {
    if same(stream, other) {
        return Ok(());
    }
    let Err(error) = check("cuStreamWaitEvent", stream.join(other)) else { return Ok(()) };
    check("cuStreamSynchronize", other.synchronize())?;
    Err(error.into())
}

/// The users of one tensor's memory that are not in cudarc's two events.
#[derive(Debug)]
pub(crate) struct Order {
    users: Mutex<Vec<User>>,
    /// cudarc's events of the last reader and of the last writer; null where it has none.
    events: [Handle; 2],
    /// Whether the memory was read, and whether it was written, by other streams than its own since a graph last looked.
    abroad: [AtomicBool; 2],
    /// Whether calls of cudarc may have read the memory since the last write.
    lent: AtomicBool,
    /// Whether anything but the memory's own stream has ever used it. Until then that stream waits for no user, and needs no lock.
    shared: AtomicBool,
}

/// An event's handle, which lives as long as its allocation.
#[derive(Clone, Copy, Debug)]
struct Handle(sys::CUevent);

// SAFETY: the driver's handle of an event, which any thread may record and wait for.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    fn of(guard: SyncOnDrop<'_>) -> Handle {
        Handle(event_of(guard).map_or(std::ptr::null_mut(), CudaEvent::cu_event))
    }

    /// # Safety
    /// - The event's memory is not freed yet.
    unsafe fn wait(self, stream: &CudaStream) -> Result<()> {
        if self.0.is_null() {
            return Ok(());
        }
        check("cuCtxSetCurrent", stream.context().bind_to_thread())?;
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: as the caller promises, cudarc's event is there; the stream is borrowed.
        let waits = unsafe { result::stream::wait_event(stream.cu_stream(), self.0, flags) };
        Ok(check("cuStreamWaitEvent", waits)?)
    }

    /// # Safety
    /// As [`Handle::wait`].
    unsafe fn record(self, stream: &CudaStream) -> Result<()> {
        if self.0.is_null() {
            return Ok(());
        }
        check("cuCtxSetCurrent", stream.context().bind_to_thread())?;
        // SAFETY: as above.
        let recorded = unsafe { result::event::record(self.0, stream.cu_stream()) };
        Ok(check("cuEventRecord", recorded)?)
    }
}

/// Waits for all work of the context where an event could not be recorded, for callers that return no error. Where that fails, too,
/// the context is lost, and so is the next call.
fn or_wait(ordered: Result<()>, context: &CudaContext) {
    if ordered.is_err() {
        context.record_err(context.synchronize());
    }
}

/// Work on the memory that others wait for.
#[derive(Debug)]
struct User {
    /// Kept, so that its handle becomes no other stream's.
    stream: Arc<CudaStream>,
    event: Arc<CudaEvent>,
    work: Work,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Reads that no write has waited for yet.
    Reads,
    /// None: a write has come after its reads. The event is used again.
    Past,
    /// The replays of a graph, which may read again, or write, at any time.
    Replays { writes: bool },
}

impl User {
    /// Whether a use has to wait for it.
    fn is_before(&self, writes: bool) -> bool {
        match self.work {
            Work::Reads => writes,
            Work::Past => false,
            Work::Replays { writes: wrote } => writes || wrote,
        }
    }

    /// Whether nothing has to wait for it any more.
    fn is_over(&self) -> bool {
        match self.work {
            Work::Reads => self.event.is_complete(),
            Work::Past => true,
            Work::Replays { .. } => Arc::strong_count(&self.event) == 1,
        }
    }
}

impl Order {
    /// Of memory that has not been used yet.
    pub(crate) fn new<T>(memory: &mut (impl DevicePtr<T> + DevicePtrMut<T>)) -> Order {
        let stream = memory.stream().clone();
        let read = Handle::of(memory.device_ptr(&stream).1);
        let write = Handle::of(memory.device_ptr_mut(&stream).1);
        Order {
            users: Mutex::default(),
            events: [read, write],
            abroad: Default::default(),
            lent: AtomicBool::new(false),
            shared: AtomicBool::new(false),
        }
    }

    /// An entry is pushed, changed in one field or removed, so that the list is whole even if a holder of the lock panicked.
    fn users(&self) -> MutexGuard<'_, Vec<User>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the memory's own stream wait as any other does, where there is another user.
    fn wait_own(&self, stream: &CudaStream, writes: bool) -> Result<()> {
        match self.shared.load(Ordering::Acquire) {
            true => self.wait(stream, writes),
            false => Ok(()),
        }
    }

    /// Lets a stream wait for the users that a use of this kind comes after.
    fn wait(&self, stream: &CudaStream, writes: bool) -> Result<()> {
        for user in self.users().iter().filter(|user| user.is_before(writes) && !same(&user.stream, stream)) {
            check("cuStreamWaitEvent", stream.wait(&user.event))?;
        }
        Ok(())
    }

    /// The work that was given to the stream so far reads the memory.
    fn reads(&self, stream: &Arc<CudaStream>) -> Result<()> {
        let mut users = self.users();
        let own = |user: &User| same(&user.stream, stream) && !matches!(user.work, Work::Replays { .. });
        let place = match users.iter().position(own) {
            Some(place) => place,
            None => {
                users.retain(|user| !user.is_over());
                let event = check("cuEventCreate", stream.context().new_event(None));
                let event = event.or_else(|error| {
                    check("cuStreamSynchronize", stream.synchronize())?;
                    Err(error)
                })?;
                users.push(User { stream: stream.clone(), event: Arc::new(event), work: Work::Past });
                users.len() - 1
            }
        };
        record(&users[place].event, stream)?;
        users[place].work = Work::Reads;
        Ok(())
    }

    /// All readers so far are before something that everybody waits for.
    fn past(&self) {
        self.lent.store(false, Ordering::Release);
        for user in self.users().iter_mut().filter(|user| user.work == Work::Reads) {
            user.work = Work::Past;
        }
    }

    /// The replays of a graph, which come in the order of the memory's own stream and record this event, use the memory.
    pub(crate) fn replayed(&self, stream: &Arc<CudaStream>, event: &Arc<CudaEvent>, writes: bool) {
        let mut users = self.users();
        self.shared.store(true, Ordering::Release);
        users.retain(|user| !user.is_over());
        let (stream, event) = (stream.clone(), event.clone());
        users.push(User { stream, event, work: Work::Replays { writes } });
    }

    /// Lets the memory's own stream wait for what others have done since the last replay.
    ///
    /// # Safety
    /// - The memory is not freed yet.
    pub(crate) unsafe fn before_replay(&self, stream: &CudaStream, writes: bool) -> Result<()> {
        let [read, written] = [0, 1].map(|kind: usize| self.abroad[kind].load(Ordering::Acquire));
        if !(written || read && writes) {
            return Ok(());
        }
        self.abroad[1].store(false, Ordering::Release);
        // SAFETY: as the caller promises, the memory's events are there.
        let mut waited = unsafe { self.events[1].wait(stream) };
        if writes {
            self.abroad[0].store(false, Ordering::Release);
            // SAFETY: as above.
            waited =
                waited.and(unsafe { self.events[0].wait(stream) }).and_then(|()| self.wait(stream, true));
        }
        if waited.is_err() {
            self.abroad.iter().for_each(|abroad| abroad.store(true, Ordering::Release));
        }
        waited
    }

    /// The memory goes to calls of cudarc that read it: these wait for cudarc's event of the last writer alone.
    pub(crate) fn lend<T>(&self, memory: &impl DevicePtr<T>) {
        let owner = memory.stream();
        if managed(owner.context()) {
            self.note_abroad(false);
            let given = keep(owner.context()).and_then(|()| self.give_to_cudarc(owner));
            or_wait(given, owner.context());
        }
    }

    /// Puts the replays of graphs into cudarc's event of the last writer, and cudarc's last reader into the list, since cudarc
    /// forgets it at its next one.
    fn give_to_cudarc(&self, owner: &Arc<CudaStream>) -> Result<()> {
        let [read, written] = self.events;
        if self.lent.swap(true, Ordering::AcqRel) {
            // SAFETY: the memory is borrowed by the caller, so that its events are there.
            unsafe { read.wait(owner) }?;
            self.reads(owner)?;
        }
        let replayed = self.users().iter().any(|user| user.work == Work::Replays { writes: true });
        if replayed {
            // The replays are in the order of the memory's own stream.
            // SAFETY: as above.
            unsafe { written.wait(owner).and_then(|()| written.record(owner)) }?;
        }
        Ok(())
    }

    /// The memory goes to calls of cudarc that write it: these wait for cudarc's two events alone.
    pub(crate) fn lend_mut<T>(&self, memory: &mut (impl DevicePtr<T> + DevicePtrMut<T>)) {
        let owner = memory.stream().clone();
        if managed(owner.context()) {
            [false, true].into_iter().for_each(|writes| self.note_abroad(writes));
            let given = keep(owner.context()).and_then(|()| {
                Use::write(memory, Some(self), &owner)?;
                event_of(memory.device_ptr(&owner).1).map_or(Ok(()), |event| record(event, &owner))
            });
            or_wait(given, owner.context());
            self.past();
        }
    }

    fn note_abroad(&self, writes: bool) {
        self.shared.store(true, Ordering::Release);
        self.abroad[usize::from(writes)].store(true, Ordering::Release);
    }
}

/// A use of memory by work of one stream, from before the work is given to the stream until after.
#[derive(Debug)]
pub(crate) struct Use<'a> {
    order: Option<&'a Order>,
    /// cudarc's, of this kind of use.
    event: &'a CudaEvent,
    stream: &'a Arc<CudaStream>,
    /// The memory's own stream, where the memory is read and has no [`Order`].
    owner: Option<Arc<CudaStream>>,
    writes: bool,
}

/// Refuses memory whose own stream events do not order. Two streams are several, even where cudarc's count, or that of another
/// value for the same context, says otherwise.
#[cold]
fn meet(owner: &CudaStream, stream: &CudaStream) -> Result<()> {
    refuse_per_thread(owner)?;
    if !Arc::ptr_eq(owner.context(), stream.context()) || !owner.context().is_in_multi_stream_mode() {
        keep(owner.context())?;
        keep(stream.context())?;
    }
    Ok(())
}

impl<'a> Use<'a> {
    /// The address of memory that work of the stream is going to read, behind its writers.
    ///
    /// # Errors
    /// [`Error::PerThreadStream`], or the failure of a call; then nothing may be given to the stream.
    pub(crate) fn read<T>(
        memory: &'a impl DevicePtr<T>,
        order: Option<&'a Order>,
        stream: &'a Arc<CudaStream>,
    ) -> Result<(u64, Option<Use<'a>>)> {
        let owner = memory.stream();
        let own = same(owner, stream);
        if !own {
            meet(owner, stream)?;
        }
        let (address, guard) = memory.device_ptr(stream);
        let event = event_of(guard);
        let Some(event) = event.filter(|_| managed(owner.context())) else { return Ok((address, None)) };
        check("cuStreamWaitEvent", stream.context().check_err())?;
        if let Some(order) = order {
            match own {
                true => order.wait_own(stream, false)?,
                false => order.wait(stream, false).map(|()| order.note_abroad(false))?,
            }
        }
        let owner = order.is_none().then(|| owner.clone());
        Ok((address, Some(Use { order, event, stream, owner, writes: false })))
    }

    /// The address of memory that work of the stream is going to write, behind all of its users.
    ///
    /// # Errors
    /// As [`Use::read`].
    pub(crate) fn write<T>(
        memory: &'a mut impl DevicePtrMut<T>,
        order: Option<&'a Order>,
        stream: &'a Arc<CudaStream>,
    ) -> Result<(u64, Option<Use<'a>>)> {
        let own = same(memory.stream(), stream);
        if !own {
            meet(memory.stream(), stream)?;
        }
        let managed = managed(memory.stream().context());
        let (address, guard) = memory.device_ptr_mut(stream);
        let event = event_of(guard);
        let Some(event) = event.filter(|_| managed) else { return Ok((address, None)) };
        check("cuStreamWaitEvent", stream.context().check_err())?;
        if let Some(order) = order {
            match own {
                true => order.wait_own(stream, true)?,
                false => order.wait(stream, true).map(|()| order.note_abroad(true))?,
            }
        }
        Ok((address, Some(Use { order, event, stream, owner: None, writes: true })))
    }

    /// The work was given to the stream: later uses wait for it. Without this they do not.
    ///
    /// # Errors
    /// The failure of a call; the work has then been waited for.
    fn end(&self) -> Result<()> {
        match (self.order, &self.owner) {
            (Some(order), _) if !self.writes => order.reads(self.stream),
            (Some(order), _) => record(self.event, self.stream).map(|()| order.past()),
            (None, None) => record(self.event, self.stream),
            (None, Some(owner)) => {
                // cudarc's event is recorded anew by each of its own readers, too. So the stream that frees the memory waits for
                // this one, and the event is recorded behind that and behind the readers before.
                join(owner, self.stream)?;
                check("cuStreamWaitEvent", owner.wait(self.event))?;
                record(self.event, owner)
            }
        }
    }
}

/// Ends all of a launch's uses, and returns the first failure.
pub(crate) fn end_all<'r, 'a: 'r>(uses: impl IntoIterator<Item = &'r Use<'a>>) -> Result<()> {
    let mut first = Ok(());
    for used in uses {
        if let Err(error) = used.end() {
            first = first.and(Err(error));
        }
    }
    first
}

/// The address alone, of memory whose uses nothing orders here.
pub(crate) fn address<T>(memory: &impl DevicePtr<T>) -> u64 {
    let (address, guard) = memory.device_ptr(memory.stream());
    event_of(guard);
    address
}
