//! `Reshard`: what each rank sends to each other rank when a tensor changes its distribution.
//!
//! Law: every element that exists on a rank afterwards receives each of its terms once, from a rank that holds it. Of
//! several copies the sender is the one at the receiver's own position among the copies, so a rank receives nothing that it
//! has. [`Reshard::verify`] holds this against the layouts, element by element.

use super::collective::recognise;
use super::pieces::pieces;
use super::{Collective, Distributed};
use crate::{Layout, LayoutError};
use std::ops::Add;

pub(super) const NAME: &str = "reshard";

/// Elements at regular steps in both memories: element i is at `from + source(i)` and goes to `to + target(i)`.
///
/// ```
/// use layout_core::mesh::{Distributed, Mesh, Reshard};
/// let mesh = Mesh::new([("gpu", 2)])?;
/// let rows = Distributed::new(&mesh, [2, 4])?.split(0, ["gpu"])?;
/// let columns = Distributed::new(&mesh, [2, 4])?.split(1, ["gpu"])?;
/// let plan = Reshard::new(&rows, &columns)?;
/// let piece = &plan.between(1, 0).expect("a message").pieces[0];
/// assert_eq!((piece.from, piece.to, piece.source.to_string()), (0, 2, "2:1".to_string()));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The first element's offset in the sender's memory.
    pub from: i64,
    /// The first element's offset in the receiver's memory.
    pub to: i64,
    /// The offsets in the sender's memory from there on. Both layouts have one shape, and its order is the message's.
    pub source: Layout,
    /// The offsets in the receiver's memory from there on.
    pub target: Layout,
}

/// What one rank gives another; a rank that keeps something gives it to itself.
///
/// ```
/// use layout_core::mesh::{Distributed, Mesh, Reshard};
/// let mesh = Mesh::new([("gpu", 2)])?;
/// let half = Distributed::new(&mesh, [8])?.split(0, ["gpu"])?;
/// let plan = Reshard::new(&half, &Distributed::new(&mesh, [8])?)?;
/// assert_eq!(plan.transfers()[1].to_string(), "1 -> 0: 0 + 4:1 -> 4 + 4:1");
/// assert_eq!(plan.transfers()[1].size(), 4);
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The sender.
    pub from: usize,
    /// The receiver.
    pub to: usize,
    /// Whether the receiver adds it to what came before; else it is the first to arrive.
    pub adds: bool,
    /// Its elements, in the order of the message.
    pub pieces: Vec<Piece>,
}

impl Transfer {
    /// How many elements it has.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh, Reshard};
    /// let all = Distributed::new(&Mesh::new([("gpu", 2)])?, [8])?;
    /// assert_eq!(Reshard::new(&all, &all)?.transfers()[0].size(), 8); // rank 0 keeps what it has
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn size(&self) -> i64 {
        self.pieces.iter().map(|piece| piece.source.size()).sum()
    }
}

/// The plan of a redistribution.
///
/// ```
/// use layout_core::mesh::{Collective, Distributed, Mesh, Reshard};
///
/// let mesh = Mesh::new([("gpu", 4)])?;
/// let sums = Distributed::new(&mesh, [16])?.partial(["gpu"])?;
/// let parts = Distributed::new(&mesh, [16])?.split(0, ["gpu"])?;
/// assert_eq!(Reshard::new(&sums, &parts)?.collective(), Collective::ReduceScatter);
/// assert_eq!(Reshard::new(&parts, &Distributed::new(&mesh, [16])?)?.collective(), Collective::AllGather);
/// assert_eq!(Reshard::new(&sums, &Distributed::new(&mesh, [16])?)?.collective(), Collective::AllReduce);
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reshard {
    from: Distributed,
    to: Distributed,
    pub(super) transfers: Vec<Transfer>,
    pub(super) zeroed: Vec<usize>,
    collective: Collective,
    groups: Vec<Vec<usize>>,
}

/// A rank's coordinate on a mesh, its place among the copies and the number of its term.
pub(super) struct Place {
    at: Vec<i64>,
    copy: Vec<i64>,
    pub(super) term: i64,
}

pub(super) fn places(tensor: &Distributed) -> Result<Vec<Place>, LayoutError> {
    let place = |rank| {
        let at = tensor.mesh().coordinate(rank)?;
        let (copy, term) = tensor.copy_and_term(&at);
        Ok(Place { at, copy, term })
    };
    (0..tensor.mesh().size()).map(place).collect()
}

impl Reshard {
    /// The plan from one distribution of a tensor to another. The meshes may differ, but for the number of ranks.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] for tensors of different extents, meshes of different sizes, or splits that share more than
    /// 2^16 runs of a mode.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh, Reshard};
    /// let (line, square) = (Mesh::new([("gpu", 4)])?, Mesh::new([("x", 2), ("y", 2)])?);
    /// let rows = Distributed::new(&line, [8, 8])?.split(0, ["gpu"])?;
    /// let tiles = Distributed::new(&square, [8, 8])?.split(0, ["x"])?.split(1, ["y"])?;
    /// assert_eq!(Reshard::new(&rows, &tiles)?.rounds(), 1);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn new(from: &Distributed, to: &Distributed) -> Result<Self, LayoutError> {
        let refuse = |detail| Err(LayoutError::Unsupported { operation: NAME, detail });
        if from.extents() != to.extents() {
            return refuse(format!("a tensor of {:?} as one of {:?}", from.extents(), to.extents()));
        }
        let ranks = from.mesh().size();
        if ranks != to.mesh().size() {
            return refuse(format!(
                "{ranks} ranks of {} as {} of {}",
                from.mesh(),
                to.mesh().size(),
                to.mesh()
            ));
        }
        let (before, after) = (places(from)?, places(to)?);
        let (mut transfers, mut zeroed) = (Vec::new(), Vec::new());
        for (receiver, end) in after.iter().enumerate() {
            if end.term >= from.terms() {
                zeroed.push(receiver);
                continue;
            }
            let copy = &before[receiver].copy;
            let mut arriving = Vec::new();
            for (sender, start) in before.iter().enumerate() {
                if start.copy != *copy || start.term % to.terms() != end.term {
                    continue;
                }
                let pieces = pieces(from, &start.at, to, &end.at)?;
                if !pieces.is_empty() {
                    let adds = start.term >= to.terms();
                    arriving.push((start.term, Transfer { from: sender, to: receiver, adds, pieces }));
                }
            }
            arriving.sort_by_key(|(term, transfer)| (*term, transfer.from));
            transfers.extend(arriving.into_iter().map(|(_, transfer)| transfer));
        }
        let (collective, groups) = recognise(ranks, &transfers);
        let (from, to) = (from.clone(), to.clone());
        Ok(Self { from, to, transfers, zeroed, collective, groups })
    }

    /// How the tensor is held before.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh, Reshard};
    /// let all = Distributed::new(&Mesh::new([("gpu", 2)])?, [8])?;
    /// assert_eq!(Reshard::new(&all, &all)?.source(), &all);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn source(&self) -> &Distributed {
        &self.from
    }

    /// How the tensor is held afterwards.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh, Reshard};
    /// let all = Distributed::new(&Mesh::new([("gpu", 2)])?, [8])?;
    /// assert_eq!(Reshard::new(&all, &all)?.target(), &all);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn target(&self) -> &Distributed {
        &self.to
    }

    /// All transfers, those that stay on a rank among them: by receiver, and in the order in which it adds them.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh, Reshard};
    /// let all = Distributed::new(&Mesh::new([("gpu", 2)])?, [8])?;
    /// assert_eq!(Reshard::new(&all, &all)?.transfers().len(), 2);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }

    /// What one rank gives another, if anything.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh, Reshard};
    /// let all = Distributed::new(&Mesh::new([("gpu", 2)])?, [8])?;
    /// assert!(Reshard::new(&all, &all)?.between(0, 1).is_none());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn between(&self, from: usize, to: usize) -> Option<&Transfer> {
        self.transfers.iter().find(|transfer| (transfer.from, transfer.to) == (from, to))
    }

    /// The ranks that receive nothing and hold a term: theirs is zero.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh, Reshard};
    /// let all = Distributed::new(&Mesh::new([("gpu", 2)])?, [8])?;
    /// assert_eq!(Reshard::new(&all, &all.clone().partial(["gpu"])?)?.zeroed(), [1]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn zeroed(&self) -> &[usize] {
        &self.zeroed
    }

    /// What the messages are together.
    ///
    /// ```
    /// use layout_core::mesh::{Collective, Distributed, Mesh, Reshard};
    /// let all = Distributed::new(&Mesh::new([("gpu", 2)])?, [8])?;
    /// assert_eq!(Reshard::new(&all, &all)?.collective(), Collective::Local);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn collective(&self) -> Collective {
        self.collective
    }

    /// The ranks that exchange anything, by those who do so together.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh, Reshard};
    /// let mesh = Mesh::new([("data", 2), ("model", 2)])?;
    /// let parts = Distributed::new(&mesh, [8])?.split(0, ["model"])?;
    /// assert_eq!(Reshard::new(&parts, &Distributed::new(&mesh, [8])?)?.groups(), [[0, 1], [2, 3]]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn groups(&self) -> &[Vec<usize>] {
        &self.groups
    }

    /// The messages: sender, receiver, elements.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh, Reshard};
    /// let mesh = Mesh::new([("gpu", 2)])?;
    /// let half = Distributed::new(&mesh, [8])?.split(0, ["gpu"])?;
    /// let plan = Reshard::new(&half, &Distributed::new(&mesh, [8])?)?;
    /// assert!(plan.messages().eq([(1, 0, 4), (0, 1, 4)]));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn messages(&self) -> impl Iterator<Item = (usize, usize, i64)> {
        let between = self.transfers.iter().filter(|transfer| transfer.from != transfer.to);
        between.map(|transfer| (transfer.from, transfer.to, transfer.size()))
    }

    /// The least number of rounds in which the messages can be sent one by one, where in a round each rank sends one and
    /// receives one: the most that any rank sends or receives (Kőnig's theorem on the edges of bipartite graphs).
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh, Reshard};
    /// let mesh = Mesh::new([("gpu", 4)])?;
    /// let parts = Distributed::new(&mesh, [8])?.split(0, ["gpu"])?;
    /// assert_eq!(Reshard::new(&parts, &Distributed::new(&mesh, [8])?)?.rounds(), 3);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn rounds(&self) -> usize {
        let mut counts = vec![0; 2 * self.from.mesh().size()];
        for (from, to, _) in self.messages() {
            counts[2 * from] += 1;
            counts[2 * to + 1] += 1;
        }
        counts.into_iter().max().unwrap_or(0)
    }

    /// What each rank's memory holds afterwards, of what it holds before: the plan as it is, on the host. Places past the
    /// tensor's end are the type's default.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] unless there is a memory of `source().memory().cosize()` elements for each rank.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh, Reshard};
    /// let mesh = Mesh::new([("gpu", 2)])?;
    /// let sums = Distributed::new(&mesh, [3])?.partial(["gpu"])?;
    /// let plan = Reshard::new(&sums, &Distributed::new(&mesh, [3])?)?;
    /// assert_eq!(plan.apply(&[vec![1, 2, 3], vec![10, 20, 30]])?, [[11, 22, 33], [11, 22, 33]]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn apply<T: Copy + Default + Add<Output = T>>(
        &self,
        held: &[Vec<T>],
    ) -> Result<Vec<Vec<T>>, LayoutError> {
        let (ranks, len) = (self.from.mesh().size(), self.from.memory().cosize() as usize);
        if held.len() != ranks || held.iter().any(|memory| memory.len() != len) {
            let detail =
                format!("{} memories; give one of {len} elements for each of {ranks} ranks", held.len());
            return Err(LayoutError::Unsupported { operation: NAME, detail });
        }
        let mut after = vec![vec![T::default(); self.to.memory().cosize() as usize]; ranks];
        for Transfer { from, to, adds, pieces } in &self.transfers {
            for piece in pieces {
                for (source, target) in piece.source.offsets().zip(piece.target.offsets()) {
                    let value = held[*from][(piece.from + source) as usize];
                    let place = &mut after[*to][(piece.to + target) as usize];
                    *place = if *adds { *place + value } else { value };
                }
            }
        }
        Ok(after)
    }
}
