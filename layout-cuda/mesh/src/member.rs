//! `Member`: one rank of a group, and what it does together with the others.
//!
//! Law: what a rank calls is announced to the others and held against what they call before any of it starts. Where that does not
//! fit, or a rank refuses its own arguments, every rank of the group has the same error and nothing was sent.

use crate::board::{Board, Key, Post, Reading};
use crate::call::Call;
use crate::copies::{self, Kept};
use crate::error::{MeshError, Result};
use crate::nccl::{Communicator, Work};
use crate::remote::Remote;
use crate::sum::{Reduction, reduce};
use layout_cuda::cudarc::driver::{CudaContext, result};
use layout_cuda::{Device, Element, Stream, TensorArg, TensorArgMut, TensorView, TensorViewMut};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Where this rank meets the others.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// The ranks are threads of this process, and may reach one another's memory.
    Here(Arc<Board>),
    /// This is rank 0 of a world of processes: the board is here, the other ranks are not. What they post is of another process.
    First(Arc<Board>),
    /// Another process has the board.
    There(Arc<Remote>),
}

impl Place {
    fn meet(&self, rank: usize, key: &Key, post: Post, limit: Duration) -> Result<Arc<Vec<Post>>> {
        match self {
            Place::Here(board) | Place::First(board) => board.meet(rank, key, post, limit),
            Place::There(remote) => remote.meet(key, &post),
        }
    }

    /// Why the others will not go on, as far as is known.
    fn trouble(&self) -> Option<MeshError> {
        match self {
            Place::Here(board) | Place::First(board) => board.broken(),
            Place::There(remote) => remote.broken(),
        }
    }

    fn fail(&self, error: &MeshError) {
        match self {
            Place::Here(board) | Place::First(board) => board.fail(error.clone()),
            Place::There(remote) => remote.fail(error),
        }
    }

    /// The board of ranks that are all in this process: only they may give each other addresses.
    pub(crate) fn shared(&self) -> Option<&Arc<Board>> {
        match self {
            Place::Here(board) => Some(board),
            Place::First(_) | Place::There(_) => None,
        }
    }
}

/// Where memory is: on the host, or on the GPU of a context value of cudarc's, which orders the streams that it made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    Host,
    Gpu { ordinal: usize, context: usize },
}

impl Home {
    fn of_context(context: &Arc<CudaContext>) -> Home {
        Home::Gpu { ordinal: context.ordinal(), context: Arc::as_ptr(context) as usize }
    }

    fn of<T: Element, const R: usize>(view: &TensorView<'_, T, R>) -> Home {
        view.context().map_or(Home::Host, Home::of_context)
    }

    /// What is wrong with memory that is used where nothing orders it, in words.
    fn misplaced(self, memory: impl IntoIterator<Item = (&'static str, Home)>) -> Option<String> {
        let (what, other) = memory.into_iter().find(|(_, home)| *home != self)?;
        let words = |home: Home| match home {
            Home::Host => "on the host".to_owned(),
            Home::Gpu { ordinal, .. } => format!("on GPU {ordinal}"),
        };
        let of_another_value = match (self, other) {
            (Home::Gpu { ordinal, .. }, Home::Gpu { ordinal: other, .. }) if ordinal == other => {
                ", by another context value"
            }
            _ => "",
        };
        Some(format!("{what} is {}{of_another_value}; the stream is {}", words(other), words(self)))
    }
}

/// What holds for all ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// The time that a wait for others may take.
    pub(crate) limit: Duration,
    /// The thread blocks that NCCL may take on a GPU.
    pub(crate) blocks: Option<u32>,
}

/// One rank of a group. Collectives are methods of it, which every rank of the group calls, in one order.
///
/// On a GPU they start in the stream and come back; [`Member::wait`] waits for them, within the time limit. On the simulator
/// they are done when they come back.
///
/// ```
/// use layout_mesh::{Reduction, World};
///
/// let sums = World::simulators(4)?.run(|member| {
///     let stream = member.device().stream();
///     let own = stream.upload(&[member.rank() as f32, 1.0], [2])?;
///     let mut sum = stream.zeros::<f32, 1>([2])?;
///     member.all_reduce(&stream, Reduction::Sum, &own, &mut sum)?;
///     member.wait(&stream)?;
///     Ok(sum.download()?)
/// })?;
/// assert_eq!(sums, vec![[6.0, 4.0]; 4]);
/// # Ok::<(), layout_mesh::MeshError>(())
/// ```
#[derive(Debug)]
pub struct Member {
    /// Which member of the process it is: what is prepared is prepared for one.
    number: u64,
    rank: usize,
    /// The ranks of the group, as numbers of the world.
    group: Vec<usize>,
    path: Vec<u64>,
    next: AtomicU64,
    device: Device,
    pub(crate) place: Place,
    terms: Terms,
    nccl: Option<Communicator>,
    /// The streams that something was started in.
    streams: Mutex<Vec<Stream>>,
    trusting: AtomicBool,
    /// Whether the other GPUs may reach this one's memory, and the events of the last two exchanges by copies.
    copies: Mutex<(bool, [Kept; 2])>,
}

impl Member {
    pub(crate) fn new(
        rank: usize,
        group: Vec<usize>,
        path: Vec<u64>,
        device: Device,
        place: Place,
        terms: Terms,
    ) -> Result<Member> {
        static MEMBERS: AtomicU64 = AtomicU64::new(0);
        let mut member = Member {
            number: MEMBERS.fetch_add(1, Ordering::Relaxed),
            rank,
            group,
            path,
            next: AtomicU64::new(0),
            device,
            place,
            terms,
            nccl: None,
            streams: Mutex::default(),
            trusting: AtomicBool::new(false),
            copies: Mutex::default(),
        };
        member.connect()?;
        Ok(member)
    }

    /// A communicator of NCCL's, on a GPU, in a group of several.
    fn connect(&mut self) -> Result<()> {
        let stream = self.device.stream();
        let Some(cuda) = stream.cuda() else { return Ok(()) };
        if self.size() == 1 {
            return Ok(());
        }
        // A rank that lacks NCCL says so, and the others need not wait for it.
        let id = if self.rank == 0 { Communicator::unique_id() } else { crate::nccl::nccl().map(|_| vec![]) };
        let call = match &id {
            Ok(_) => self.call("start NCCL", "", 0, String::new()),
            Err(error) => Call::Refused { why: error.to_string() },
        };
        let posts = self.meet(call, id.unwrap_or_default())?;
        if posts[0].bytes.len() != Communicator::ID {
            let why = format!("{} bytes came as NCCL's id of {}", posts[0].bytes.len(), Communicator::ID);
            return Err(MeshError::Refused { rank: self.group[0], why });
        }
        self.nccl =
            Some(Communicator::new(cuda, &posts[0].bytes, [self.rank, self.size()], self.terms.blocks)?);
        Ok(())
    }

    /// Its number among the members of this process.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The rank in the group, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many ranks the group has.
    pub fn size(&self) -> usize {
        self.group.len()
    }

    /// The ranks of the group as they are numbered in the world.
    pub fn group(&self) -> &[usize] {
        &self.group
    }

    /// This rank's device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The time that a wait for others may take.
    pub fn limit(&self) -> Duration {
        self.terms.limit
    }

    /// From now on calls on GPUs are not held against the others' before they start, which costs a meeting of the host's threads
    /// or processes each: for programs whose calls were found to fit. The simulator holds them against each other anyway.
    ///
    /// # Safety
    /// - While a rank trusts, all ranks of the group make the same calls in one order, of the same element type and of numbers of
    ///   elements that fit; one that ends instead is found at the limit. NCCL writes as many elements as the sender has, wherever
    ///   the receiver's memory ends.
    pub unsafe fn trust(&self, trusting: bool) {
        self.trusting.store(trusting, Ordering::Relaxed);
    }

    /// A new stream for messages: on a GPU its work comes before that of other streams, whose blocks NCCL's would else wait for.
    ///
    /// # Errors
    /// A driver that makes no stream.
    pub fn stream_beside(&self) -> Result<Stream> {
        let Some(context) = self.device.context() else { return Ok(self.device.new_stream()?) };
        // Beyond the driver's range, which it is cut to.
        let made = context.new_stream_with_priority(-64).map_err(|error| MeshError::Nccl {
            call: "cuStreamCreateWithPriority",
            code: error.0 as i32,
            words: format!("{:?}", error.0),
        });
        Ok(Stream::from_cudarc(made?)?)
    }

    fn call(&self, name: &str, elem: &str, count: usize, how: String) -> Call {
        Call::Collective { name: name.into(), elem: elem.into(), count: count as u64, how }
    }

    /// Posts and waits for the others.
    pub(crate) fn meet(&self, call: Call, bytes: Vec<u8>) -> Result<Arc<Vec<Post>>> {
        self.meet_at(self.next_key(), Post { call, bytes: Arc::new(bytes), offers: false })
    }

    /// The same to offer addresses of this process; where that is, the board keeps count of who may read them.
    pub(crate) fn offer<'b>(
        &self,
        board: &'b Board,
        call: Call,
        bytes: Vec<u8>,
    ) -> Result<(Arc<Vec<Post>>, Reading<'b>)> {
        let key = self.next_key();
        let posts = self.meet_at(key.clone(), Post { call, bytes: Arc::new(bytes), offers: true })?;
        Ok((posts, board.reading(key)))
    }

    /// Waits until nobody reads what the ranks of this group have offered.
    pub(crate) fn unread(&self, board: &Board) {
        board.unread(&self.group, &self.path);
    }

    fn next_key(&self) -> Key {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (self.group.clone(), self.path.iter().copied().chain([number]).collect())
    }

    fn meet_at(&self, key: Key, post: Post) -> Result<Arc<Vec<Post>>> {
        let met = self.place.meet(self.group[self.rank], &key, post, self.terms.limit);
        if met.is_err() {
            // What is in flight may wait for a rank that does not come.
            self.abort();
        }
        met
    }

    /// The same, unless the calls are trusted.
    pub(crate) fn agree(&self, call: Call, bytes: Vec<u8>) -> Result<Option<Arc<Vec<Post>>>> {
        let refuses = matches!(call, Call::Refused { .. });
        if !refuses && self.nccl.is_some() && self.trusting.load(Ordering::Relaxed) {
            return Ok(None);
        }
        self.meet(call, bytes).map(Some)
    }

    pub(crate) fn abort(&self) {
        if let Some(nccl) = &self.nccl {
            nccl.abort();
        }
    }

    /// Announces to the others that this rank cannot go on, and why.
    ///
    /// # Errors
    /// Always: what the others have, too.
    pub fn refuse<T>(&self, why: impl Into<String>) -> Result<T> {
        let why = why.into();
        let rank = self.group[self.rank];
        self.meet(Call::Refused { why: why.clone() }, vec![])?;
        // It met nobody who did not have it refused.
        Err(MeshError::Refused { rank, why })
    }

    fn uses(&self, stream: &Stream) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |own: &Stream| match (own.cuda(), stream.cuda()) {
            (Some(one), Some(other)) => one.cu_stream() == other.cu_stream(),
            _ => false,
        };
        if stream.cuda().is_some() && !streams.iter().any(same) {
            streams.push(stream.clone());
        }
    }

    /// What is not where this rank works.
    pub(crate) fn misplaced<T: Element, const R: usize, const S: usize>(
        &self,
        stream: &Stream,
        source: &TensorView<'_, T, R>,
        target: &TensorViewMut<'_, T, S>,
    ) -> Option<String> {
        let views = [("the source", Home::of(source)), ("the target", Home::of(&target.view()))];
        self.foreign(stream).or_else(|| home(stream).misplaced(views))
    }

    fn foreign(&self, stream: &Stream) -> Option<String> {
        let (own, other) = (&self.device, stream.device());
        let words =
            || format!("the stream is of {}, the rank's device is {}", other.describe(), own.describe());
        (other != own).then(words)
    }

    /// What does not fit in a call of one buffer to read and one to write.
    fn unfit<T: Element, const R: usize, const S: usize>(
        &self,
        stream: &Stream,
        source: &TensorView<'_, T, R>,
        target: &TensorViewMut<'_, T, S>,
        [times_source, times_target]: [usize; 2],
    ) -> Option<String> {
        let lengths = [source.len(), target.view().len()];
        if let Some(why) = self.misplaced(stream, source, target) {
            return Some(why);
        }
        let want = lengths[0].checked_mul(times_source).zip(lengths[1].checked_mul(times_target));
        if want.is_none_or(|(source, target)| source != target) {
            let [source, target] = lengths;
            return Some(format!("{source} elements into {target} over {} ranks", self.size()));
        }
        None
    }

    /// The whole of a call: agree, then start it on a GPU, or compute it.
    #[allow(clippy::too_many_arguments)]
    fn together<T: Element, const R: usize, const S: usize>(
        &self,
        name: &str,
        how: String,
        (work, times): (Work, [usize; 2]),
        stream: &Stream,
        source: &TensorView<'_, T, R>,
        target: &mut TensorViewMut<'_, T, S>,
    ) -> Result<()> {
        let call = match self.unfit(stream, source, target, times) {
            Some(why) => Call::Refused { why: format!("{name}: {why}") },
            None => self.call(name, &T::ELEM.to_string(), source.len(), how),
        };
        let posts = self.agree(call, source.host().map(<[u8]>::to_vec).unwrap_or_default())?;
        if stream.cuda().is_some() {
            self.uses(stream);
            return match &self.nccl {
                Some(nccl) => nccl.work(work, stream, source, target),
                None => alone(stream, source, target),
            };
        }
        let (Some(posts), Some(target)) = (posts, target.host_mut()) else { return Ok(()) };
        self.whole::<T>(&posts)?;
        let all: Vec<Cow<'_, [u8]>> = posts.iter().map(|post| values::<T>(&post.bytes)).collect();
        match work {
            Work::AllGather => {
                target.copy_from_slice(&all.concat());
            }
            Work::Broadcast(root) => target.copy_from_slice(&all[root]),
            Work::AllReduce(how) | Work::ReduceScatter(how) => {
                let own = match work {
                    Work::ReduceScatter(_) => self.rank * target.len()..(self.rank + 1) * target.len(),
                    _ => 0..target.len(),
                };
                target.copy_from_slice(&all[0][own.clone()]);
                for post in &all[1..] {
                    reduce(T::ELEM, how, target, &post[own.clone()])
                        .ok_or_else(|| MeshError::Elements { elem: T::ELEM.to_string() })?;
                }
            }
        }
        Ok(())
    }

    /// Refuses posts of fewer or more bytes than the calls have elements: another process may post anything.
    fn whole<T: Element>(&self, posts: &[Post]) -> Result<()> {
        for (post, rank) in posts.iter().zip(&self.group) {
            let (bytes, call) = (post.bytes.len(), &post.call);
            if call.elements().and_then(|count| count.checked_mul(size_of::<T>())) != Some(bytes) {
                let error =
                    MeshError::Refused { rank: *rank, why: format!("{bytes} bytes came with {call}") };
                self.place.fail(&error);
                return Err(error);
            }
        }
        Ok(())
    }

    /// `target` becomes the ranks' `source`s, one after the other, in the order of their storage.
    ///
    /// # Errors
    /// [`MeshError`] on every rank: the calls differ, a length is not `size()` times the other, a rank is gone or late.
    pub fn all_gather<T: Element, const R: usize, const S: usize>(
        &self,
        stream: &Stream,
        source: &impl TensorArg<T, R>,
        target: &mut impl TensorArgMut<T, S>,
    ) -> Result<()> {
        let work = (Work::AllGather, [self.size(), 1]);
        self.together("all-gather", String::new(), work, stream, &source.view(), &mut target.view_mut())
    }

    /// `target` becomes this rank's part of what the ranks' `source`s are together.
    ///
    /// # Errors
    /// As [`Member::all_gather`]; [`MeshError::Elements`].
    pub fn reduce_scatter<T: Element, const R: usize, const S: usize>(
        &self,
        stream: &Stream,
        how: Reduction,
        source: &impl TensorArg<T, R>,
        target: &mut impl TensorArgMut<T, S>,
    ) -> Result<()> {
        let work = (Work::ReduceScatter(how), [1, self.size()]);
        let (source, mut target) = (source.view(), target.view_mut());
        self.together("reduce-scatter", how.to_string(), work, stream, &source, &mut target)
    }

    /// `target` becomes what the ranks' `source`s are together, on every rank.
    ///
    /// # Errors
    /// As [`Member::all_gather`]; [`MeshError::Elements`].
    pub fn all_reduce<T: Element, const R: usize, const S: usize>(
        &self,
        stream: &Stream,
        how: Reduction,
        source: &impl TensorArg<T, R>,
        target: &mut impl TensorArgMut<T, S>,
    ) -> Result<()> {
        let work = (Work::AllReduce(how), [1, 1]);
        let (source, mut target) = (source.view(), target.view_mut());
        self.together("all-reduce", how.to_string(), work, stream, &source, &mut target)
    }

    /// `target` becomes the `source` of rank `root`, on every rank. The others' sources have as many elements, which are not read.
    ///
    /// # Errors
    /// As [`Member::all_gather`].
    pub fn broadcast<T: Element, const R: usize, const S: usize>(
        &self,
        stream: &Stream,
        root: usize,
        source: &impl TensorArg<T, R>,
        target: &mut impl TensorArgMut<T, S>,
    ) -> Result<()> {
        if root >= self.size() {
            return self.refuse(format!("a broadcast from rank {root} of {}", self.size()));
        }
        let (work, how) = ((Work::Broadcast(root), [1, 1]), format!("from rank {root}"));
        self.together("broadcast", how, work, stream, &source.view(), &mut target.view_mut())
    }

    /// Part r of `source` goes to rank r, and part r of `target` comes from there.
    ///
    /// # Errors
    /// As [`Member::all_gather`], and where the lengths are no multiples of `size()`.
    pub fn all_to_all<T: Element, const R: usize, const S: usize>(
        &self,
        stream: &Stream,
        source: &impl TensorArg<T, R>,
        target: &mut impl TensorArgMut<T, S>,
    ) -> Result<()> {
        let (source, mut target, size) = (source.view(), target.view_mut(), self.size());
        let (from, to) = (source.len(), target.view().len());
        if from != to || from % size != 0 {
            return self.refuse(format!("all-to-all: {from} elements into {to} over {size} ranks"));
        }
        let each = from / size;
        // Nothing of nothing goes to anybody.
        let ranks = 0..if each == 0 { 0 } else { size };
        let part = |rank: usize| Ok((rank, source.part(rank * each, [each], [1])?));
        let sends: Vec<_> = ranks.map(part).collect::<Result<_>>()?;
        let mut receives: Vec<_> = target.chunks_exact_mut(each).into_iter().enumerate().collect();
        self.exchange(stream, &sends, &mut receives)
    }

    /// Messages between pairs, all at once: (peer, elements). Those from one rank to another arrive in the order in which they
    /// are here. Every rank of the group calls this, if with no message.
    ///
    /// # Errors
    /// As [`Member::all_gather`]; [`MeshError::Differ`] where one sends what the other does not receive.
    pub fn exchange<T: Element>(
        &self,
        stream: &Stream,
        sends: &[(usize, TensorView<'_, T, 1>)],
        receives: &mut [(usize, TensorViewMut<'_, T, 1>)],
    ) -> Result<()> {
        let call = self.exchanging(stream, sends, receives);
        let bytes = sends.iter().filter_map(|(_, view)| view.host()).flatten().copied().collect();
        let posts = self.agree(call, bytes)?;
        if stream.cuda().is_some() {
            self.uses(stream);
            return match &self.nccl {
                Some(nccl) => nccl.exchange(stream, sends, receives),
                None => {
                    let pairs = sends.iter().zip(receives);
                    pairs.into_iter().try_for_each(|((_, from), (_, to))| alone(stream, from, to))
                }
            };
        }
        let Some(posts) = posts else { return Ok(()) };
        self.whole::<T>(&posts)?;
        // How much of what each rank sends is taken already.
        let mut taken = vec![0; self.size()];
        for (peer, view) in receives {
            let Some(target) = view.host_mut() else { continue };
            let Call::Exchange { sends, .. } = &posts[*peer].call else { continue };
            let mut offset = 0;
            let mut own = sends.iter().filter_map(|(to, len)| {
                let at = offset;
                offset += *len as usize * size_of::<T>();
                (*to == self.rank as u64).then_some(at)
            });
            // It is there: the calls agree, and the bytes are as many as they say.
            let at = own.nth(taken[*peer]);
            if let Some(part) = at.and_then(|at| posts[*peer].bytes.get(at..at + target.len())) {
                target.copy_from_slice(&values::<T>(part));
            }
            taken[*peer] += 1;
        }
        Ok(())
    }

    /// What an exchange is called, or why it is refused.
    fn exchanging<T: Element>(
        &self,
        stream: &Stream,
        sends: &[(usize, TensorView<'_, T, 1>)],
        receives: &[(usize, TensorViewMut<'_, T, 1>)],
    ) -> Call {
        let elem = T::ELEM.to_string();
        let of = |peer: usize, len: usize| (peer as u64, len as u64);
        let sent: Vec<_> = sends.iter().map(|(peer, view)| of(*peer, view.len())).collect();
        let received: Vec<_> = receives.iter().map(|(peer, view)| of(*peer, view.view().len())).collect();
        let size = self.size() as u64;
        let far = sent.iter().chain(&received).find(|(peer, _)| *peer >= size);
        let views = sends.iter().map(|(_, view)| ("a message to send", Home::of(view)));
        let targets = receives.iter().map(|(_, view)| ("the place of a message", Home::of(&view.view())));
        let far = far.map(|(peer, _)| format!("a message with rank {peer} of {size}"));
        let why =
            far.or_else(|| self.foreign(stream)).or_else(|| home(stream).misplaced(views.chain(targets)));
        match why {
            Some(why) => Call::Refused { why },
            None => Call::Exchange { elem, sends: sent, receives: received },
        }
    }

    /// As [`Member::exchange`], but between GPUs of one process the receivers' copy engines move the elements, which take no
    /// multiprocessor: for messages beside kernels that want them all. Ranks in processes of their own, and simulators, do what
    /// `exchange` does.
    ///
    /// # Errors
    /// As there.
    pub fn exchange_by_copies<T: Element>(
        &self,
        stream: &Stream,
        sends: &[(usize, TensorView<'_, T, 1>)],
        receives: &mut [(usize, TensorViewMut<'_, T, 1>)],
    ) -> Result<()> {
        let (Some(cuda), Some(_), 2..) = (stream.cuda(), self.place.shared(), self.size()) else {
            return self.exchange(stream, sends, receives);
        };
        self.uses(stream);
        let mut own = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        if !own.0 {
            copies::open(cuda)?;
            own.0 = true;
        }
        let kept = copies::exchange(self, stream, self.exchanging(stream, sends, receives), sends, receives)?;
        // Those of the exchange before the last one: since then the ranks have met.
        own.1.swap(0, 1);
        own.1[0] = kept;
        Ok(())
    }

    /// Whether every rank of the group is a GPU of this process whose memory the others reach. Every rank calls this.
    pub(crate) fn reaches_all(&self) -> Result<bool> {
        let stream = self.device.stream();
        let own = match (stream.cuda(), self.place.shared()) {
            (Some(cuda), Some(_)) => copies::open(cuda)?,
            _ => false,
        };
        let posts = self.meet(self.call("reach", "", 0, String::new()), vec![u8::from(own)])?;
        // That a rank of another process says so makes its addresses none of this one's.
        Ok(self.place.shared().is_some() && posts.iter().all(|post| post.bytes[..] == [1]))
    }

    /// Offers these addresses to these ranks, and takes what they offer in `body`: of ranks that reach one another.
    pub(crate) fn offered(
        &self,
        stream: &Stream,
        offers: &[(usize, u64)],
        body: impl FnOnce(&copies::Offers<'_>) -> Result<()>,
    ) -> Result<()> {
        let Some(cuda) = stream.cuda() else { return Ok(()) };
        self.uses(stream);
        let mut own = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let call = self.call("offer", "", 0, String::new());
        let kept = copies::offered(self, cuda, call, offers, body)?;
        own.1.swap(0, 1);
        own.1[0] = kept;
        Ok(())
    }

    /// Messages between addresses on GPUs, of a plan that the ranks have agreed on: (peer, address, bytes).
    ///
    /// # Safety
    /// As of [`Communicator::exchange_at`].
    pub(crate) unsafe fn exchange_at(
        &self,
        stream: &Stream,
        sends: &[(usize, u64, usize)],
        receives: &[(usize, u64, usize)],
    ) -> Result<()> {
        self.uses(stream);
        match (&self.nccl, stream.cuda()) {
            // SAFETY: as the caller promises.
            (Some(nccl), Some(cuda)) => unsafe { nccl.exchange_at(cuda, sends, receives) },
            _ => Ok(()),
        }
    }

    /// Waits until every rank of the group is here. It does not wait for what is in flight on the devices.
    ///
    /// # Errors
    /// As [`Member::all_gather`].
    pub fn barrier(&self) -> Result<()> {
        self.meet(self.call("barrier", "", 0, String::new()), vec![]).map(drop)
    }

    /// Waits until what was started in the stream is done. A rank that is lost meanwhile, or a device that does not get done within
    /// the limit, is an error, and the communicator is aborted, so that nothing hangs.
    ///
    /// # Errors
    /// [`MeshError`].
    pub fn wait(&self, stream: &Stream) -> Result<()> {
        let Some(cuda) = stream.cuda() else { return self.place.trouble().map_or(Ok(()), Err) };
        let start = Instant::now();
        let driver = |error: layout_cuda::cudarc::driver::DriverError| MeshError::Nccl {
            call: "cuEventQuery",
            code: error.0 as i32,
            words: format!("{:?}", error.0),
        };
        let event = cuda.record_event(None).map_err(driver)?;
        loop {
            if event.try_is_complete().map_err(driver)? {
                return Ok(());
            }
            let waited = start.elapsed();
            let late = || MeshError::Late {
                call: "what was started in the stream".into(),
                limit: self.terms.limit,
                absent: vec![],
            };
            let device = self.nccl.as_ref().and_then(|nccl| nccl.trouble().err());
            let trouble = self.place.trouble().or(device).or_else(|| (waited >= self.terms.limit).then(late));
            if let Some(error) = trouble {
                self.place.fail(&error);
                self.abort();
                return Err(error);
            }
            if waited > Duration::from_millis(2) {
                std::thread::sleep(Duration::from_micros(50));
            }
        }
    }

    /// Waits for every stream that something was started in, and closes the communicator.
    pub(crate) fn finish(&self) -> Result<()> {
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner).clone();
        streams.iter().try_for_each(|stream| self.wait(stream))?;
        match (&self.nccl, self.place.trouble()) {
            (Some(nccl), None) => nccl.close(),
            // Closing would wait for those that go on no more.
            (Some(nccl), Some(_)) => nccl.abort(),
            (None, _) => {}
        }
        Ok(())
    }

    /// The group of this list that the rank is in, as a group of its own; none where it is in none. Every rank calls this with the
    /// same lists, of ranks of this group.
    ///
    /// # Errors
    /// As [`Member::all_gather`]; [`MeshError::Refused`] for a rank that is in two, or not there.
    pub fn split(&self, groups: &[Vec<usize>]) -> Result<Option<Member>> {
        let mut all: Vec<usize> = groups.concat();
        all.sort_unstable();
        let twice = all.windows(2).any(|pair| pair[0] == pair[1]);
        if twice || all.last().is_some_and(|rank| *rank >= self.size()) {
            return self.refuse(format!("groups {groups:?} of {} ranks", self.size()));
        }
        let number = self.next.load(Ordering::Relaxed);
        self.meet(self.call("split", "", 0, format!("{groups:?}")), vec![])?;
        let Some(group) = groups.iter().find(|group| group.contains(&self.rank)) else { return Ok(None) };
        let place = group.iter().position(|rank| *rank == self.rank).unwrap_or(0);
        let ranks = group.iter().map(|rank| self.group[*rank]).collect();
        let path = self.path.iter().copied().chain([number]).collect();
        let (device, meeting) = (self.device.clone(), self.place.clone());
        Member::new(place, ranks, path, device, meeting, self.terms).map(Some)
    }
}

impl Drop for Member {
    /// Another rank may not have come to its wait for this one's events.
    fn drop(&mut self) {
        if let Some(board) = self.place.shared() {
            self.unread(board);
        }
    }
}

/// The bytes as values of `T`: another process may post what is no `bool`.
fn values<T: Element>(bytes: &[u8]) -> Cow<'_, [u8]> {
    match T::ANY_BITS {
        true => Cow::Borrowed(bytes),
        false => bytes.iter().map(|byte| u8::from(*byte != 0)).collect(),
    }
}

/// Where memory has to be that work in this stream uses.
fn home(stream: &Stream) -> Home {
    stream.cuda().map_or(Home::Host, |cuda| Home::of_context(cuda.context()))
}

/// A group of one on a GPU: a copy.
fn alone<T: Element, const R: usize, const S: usize>(
    stream: &Stream,
    source: &TensorView<'_, T, R>,
    target: &mut TensorViewMut<'_, T, S>,
) -> Result<()> {
    let Some(cuda) = stream.cuda() else { return Ok(()) };
    let bytes = source.len().min(target.view().len()) * size_of::<T>();
    let (Some((from, reads)), Some((to, writes))) = (source.read_on(stream)?, target.write_on(stream)?)
    else {
        return Ok(());
    };
    let copied = cuda.context().bind_to_thread().and_then(|()| match bytes {
        0 => Ok(()),
        // SAFETY: so many bytes are at both addresses, of views that are borrowed here; `read_on`, `write_on` and `end` keep the order.
        bytes => unsafe { result::memcpy_dtod_async(to, from, bytes, cuda.cu_stream()) },
    });
    let ended = reads.end().and(writes.end());
    let copied = copied.map_err(|error| MeshError::Nccl {
        call: "cuMemcpyDtoDAsync",
        code: error.0 as i32,
        words: format!("{:?}", error.0),
    });
    copied.and(ended.map_err(MeshError::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_another_place_is_reported() {
        let gpu = |ordinal, context| Home::Gpu { ordinal, context };
        let own = gpu(0, 7);
        let cases = [
            (own, [own, own], None),
            (Home::Host, [Home::Host, Home::Host], None),
            (own, [own, Home::Host], Some("the target is on the host; the stream is on GPU 0")),
            (own, [Home::Host, own], Some("the source is on the host; the stream is on GPU 0")),
            (own, [gpu(1, 8), own], Some("the source is on GPU 1; the stream is on GPU 0")),
            (
                own,
                [own, gpu(0, 9)],
                Some("the target is on GPU 0, by another context value; the stream is on GPU 0"),
            ),
            (Home::Host, [Home::Host, own], Some("the target is on GPU 0; the stream is on the host")),
        ];
        for (stream, [source, target], why) in cases {
            let misplaced = stream.misplaced([("the source", source), ("the target", target)]);
            assert_eq!(misplaced.as_deref(), why);
        }
    }
}
