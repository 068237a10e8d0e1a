//! `Resharding`: a plan of the algebra, carried out: packed, sent, unpacked.
//!
//! Law: afterwards each rank's target is what [`Reshard::apply`] says of the ranks' sources. Where a rank's tensors are not those of
//! the plan, every rank gets an error, before anything is sent.

mod collective;
mod pairs;
mod pieces;
mod reach;
mod side;

use crate::call::Call;
use crate::error::Result;
use crate::member::Member;
use collective::Collected;
use layout_core::mesh::{Collective, Distributed, Reshard};
use layout_cuda::{Element, Stream, TensorArg, TensorArgMut, TensorView, TensorViewMut};
use pairs::Pairs;
use pieces::Pace;
use reach::{Reach, Reached};

/// A part of a message has so many bytes at least, where nobody says otherwise.
const PART: usize = 4 << 20;
/// It has so many parts at most.
const PARTS: usize = 4;
/// So many blocks pack beside messages.
const BLOCKS: u32 = 64;

/// A redistribution of tensors, planned once.
///
/// ```
/// use layout_core::mesh::{Distributed, Mesh};
/// use layout_mesh::{Resharding, World};
///
/// let mesh = Mesh::new([("gpu", 2)])?;
/// let sums = Distributed::new(&mesh, [4])?.partial(["gpu"])?;
/// let plan = Resharding::new(&sums, &Distributed::new(&mesh, [4])?.split(0, ["gpu"])?)?;
/// let parts = World::simulators(2)?.run(|member| {
///     let stream = member.device().stream();
///     let source = stream.upload(&[1.0f32, 2.0, 3.0, 4.0], [4])?;
///     let mut target = stream.zeros::<f32, 1>([2])?;
///     plan.run(member, &stream, &source, &mut target)?;
///     Ok(target.download()?)
/// })?;
/// assert_eq!(parts, [[2.0, 4.0], [6.0, 8.0]]);
/// # Ok::<(), layout_mesh::MeshError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resharding {
    plan: Reshard,
    /// The least bytes of a part of a message, and the most parts.
    part: [usize; 2],
    pace: Pace,
    /// Without messages, where the ranks reach one another's memory.
    reach: Option<Reach>,
}

/// A redistribution with the buffers that this rank needs for it, to be run again and again.
#[derive(Debug)]
pub struct Prepared<'p, T: Element> {
    plan: &'p Reshard,
    /// Whose ranks were asked how, and whose device has the buffers.
    member: u64,
    way: Way<T>,
}

/// How it is done.
#[derive(Debug)]
enum Way<T: Element> {
    /// By a collective of NCCL's, within the rank's group.
    Collected(Box<Collected<T>>),
    /// By messages between pairs.
    Pairs(Pairs<T>),
    /// Each rank reads what it gets from the others' memory.
    Reached(Reached),
}

impl Resharding {
    /// The plan from one distribution to another.
    ///
    /// # Errors
    /// As [`Reshard::new`].
    pub fn new(from: &Distributed, to: &Distributed) -> Result<Resharding> {
        let plan = Reshard::new(from, to)?;
        Ok(Resharding { plan, part: [PART, PARTS], pace: Pace::Few(BLOCKS), reach: None })
    }

    /// With messages cut into up to four parts of so many bytes each, or more, instead of 4 MiB: while one is on its way the next
    /// is packed. The same on every rank.
    #[must_use]
    pub fn with_parts(mut self, bytes: usize) -> Resharding {
        self.part[0] = bytes.max(1);
        self
    }

    /// With messages cut into up to so many parts instead of four. The same on every rank.
    #[must_use]
    pub fn with_rounds(mut self, most: usize) -> Resharding {
        self.part[1] = most.max(1);
        self
    }

    /// With so many thread blocks instead of 64 for what is packed, and for what stays, while messages are on their way.
    #[must_use]
    pub fn with_blocks(mut self, blocks: u32) -> Resharding {
        self.pace = Pace::Few(blocks.max(1));
        self
    }

    /// With no messages between GPUs of one process that reach one another's memory: each reads what it gets there, by kernels, and
    /// nothing is packed. Elsewhere it is what it is without this. The same on every rank.
    ///
    /// Sources have to be in memory of the device's pool, as every [`layout_cuda::Tensor`] does; other GPUs do not reach what
    /// another library allocated.
    #[must_use]
    pub fn by_reading(mut self) -> Resharding {
        self.reach = Some(Reach::Kernels);
        self
    }

    /// As [`Resharding::by_reading`], but the copy engines read, which take no multiprocessor. What is added, kernels read.
    #[must_use]
    pub fn by_copies(mut self) -> Resharding {
        self.reach = Some(Reach::Copies);
        self
    }

    /// With all of the device for what is packed, and for what stays, while messages are on their way, instead of a few blocks,
    /// which leave NCCL's kernels the other multiprocessors.
    #[must_use]
    pub fn at_once(mut self) -> Resharding {
        self.pace = Pace::Whole;
        self
    }

    /// The plan, to be printed, counted and verified.
    pub fn plan(&self) -> &Reshard {
        &self.plan
    }

    /// What this rank needs for it: groups, streams and buffers. Every rank calls this.
    ///
    /// # Errors
    /// [`MeshError`](crate::MeshError), on every rank.
    pub fn prepare<T: Element>(&self, member: &Member, stream: &Stream) -> Result<Prepared<'_, T>> {
        let ranks = self.plan.source().mesh().size();
        if member.size() != ranks {
            return member.refuse(format!("a plan for {ranks} ranks in a group of {}", member.size()));
        }
        let named = [Collective::AllGather, Collective::ReduceScatter, Collective::AllReduce];
        // Asked of every rank, so that all go one way.
        let how = match self.reach {
            Some(how) if member.reaches_all()? => Some(how),
            _ => None,
        };
        if let Some(how) = how {
            let way = Way::Reached(Reached::new(&self.plan, (how, self.pace), member)?);
            return Ok(Prepared { plan: &self.plan, member: member.number(), way });
        }
        let way = match named.contains(&self.plan.collective()) {
            true => Way::Collected(Box::new(Collected::new(&self.plan, member, stream)?)),
            false => Way::Pairs(Pairs::new(&self.plan, (self.part, self.pace), member, stream)?),
        };
        Ok(Prepared { plan: &self.plan, member: member.number(), way })
    }

    /// Carries it out once. Every rank calls this.
    ///
    /// # Errors
    /// [`MeshError`](crate::MeshError), on every rank.
    pub fn run<T: Element, const R: usize, const S: usize>(
        &self,
        member: &Member,
        stream: &Stream,
        source: &impl TensorArg<T, R>,
        target: &mut impl TensorArgMut<T, S>,
    ) -> Result<()> {
        self.prepare::<T>(member, stream)?.run(member, stream, source, target)
    }
}

impl<T: Element> Prepared<'_, T> {
    /// Carries it out, in the stream's order. Every rank calls this.
    ///
    /// # Errors
    /// [`MeshError`](crate::MeshError), on every rank: tensors that are not those of the plan, ranks that call otherwise, are gone or late.
    pub fn run<const R: usize, const S: usize>(
        &mut self,
        member: &Member,
        stream: &Stream,
        source: &impl TensorArg<T, R>,
        target: &mut impl TensorArgMut<T, S>,
    ) -> Result<()> {
        let (source, mut target) = (source.view(), target.view_mut());
        let how = format!("{} -> {}", self.plan.source(), self.plan.target());
        let call = match self.unfit(member, stream, &source, &target) {
            Some(why) => Call::Refused { why },
            None => Call::Collective {
                name: "reshard".into(),
                elem: T::ELEM.to_string(),
                // Ranks may hold unlike numbers of elements that exist, in memories of one size.
                count: source.len() as u64,
                how,
            },
        };
        member.agree(call, vec![])?;
        if self.plan.zeroed().contains(&member.rank()) {
            target.clear(stream)?;
        }
        match &mut self.way {
            Way::Collected(collected) => collected.run(stream, &source, &mut target),
            Way::Pairs(pairs) => pairs.run(member, stream, &source, &mut target),
            Way::Reached(reached) => reached.run(member, stream, &source, &mut target),
        }
    }

    /// What of this rank's tensors is not the plan's.
    fn unfit<const R: usize, const S: usize>(
        &self,
        member: &Member,
        stream: &Stream,
        source: &TensorView<'_, T, R>,
        target: &TensorViewMut<'_, T, S>,
    ) -> Option<String> {
        if member.number() != self.member {
            return Some("it was prepared with another member; prepare it with this one".into());
        }
        if let Some(why) = member.misplaced(stream, source, target) {
            return Some(why);
        }
        let alike = |what: &str, held: &Distributed, shape: &[usize], strides: &[usize]| {
            let memory = held.memory();
            let numbers =
                |list: &[usize]| layout_core::IntTuple::flat(list.iter().map(|value| *value as i64));
            let (shape, strides) = (numbers(shape), numbers(strides));
            // The stride of a single coordinate leads nowhere.
            let differ = memory
                .leaves()
                .zip(strides.leaves())
                .any(|(mode, own)| mode.shape > 1 && mode.stride != *own);
            (memory.shape() != shape || differ).then(|| {
                format!("the {what} is {shape}:{strides} and has to be {memory}, a rank's part of {held}")
            })
        };
        let own = alike("source", self.plan.source(), &source.shape(), &source.strides());
        own.or_else(|| alike("target", self.plan.target(), &target.shape(), &target.strides()))
    }
}
