//! The tile level: the operands and operations of [`Specialised`](super::Specialised) where the scalar level has
//! elements.

use crate::index::{Atoms, Index, IndexOverflow};
use crate::origin::Origin;
use crate::program::{BarrierAt, Operand, TensorCore, Value};
use crate::view::View;
use layout_core::Layout;

/// An element of a view.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TileAccess {
    /// The view.
    pub view: View,
    /// A coordinate for each mode.
    pub coordinates: Vec<Index>,
    /// Where it is written.
    pub origin: Origin,
}

/// An operation on whole views.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TileOperation {
    /// `destination[c] = source[c]` for every coordinate; extents and lanes agree.
    Copy {
        /// Written.
        destination: View,
        /// Read.
        source: View,
        /// The threads that share the work; without them each thread copies all of it.
        threads: Option<Layout>,
        /// Whether it is done by `cp.async`, where that can be.
        asynchronous: bool,
    },
    /// L2 fetches the line of an element of global memory.
    Prefetch(TileAccess),
    /// `destination[c] = value` for every coordinate, by each thread.
    Fill {
        /// Written.
        destination: View,
        /// The value.
        value: Value<TileAccess>,
    },
    /// By a warp: the fragments of a tile to registers. B's tile comes with its rows and columns exchanged.
    LoadFragments {
        /// Whose.
        core: TensorCore,
        /// A or B.
        operand: Operand,
        /// Written, local: for each row of the instruction's tiles a row of fragments.
        destination: View,
        /// Read.
        source: View,
    },
    /// By a warp: an accumulator to a tile.
    StoreFragments {
        /// Whose.
        core: TensorCore,
        /// Written.
        destination: View,
        /// Read, local.
        source: View,
    },
    /// By a warp: `accumulator += left right`; all are fragments.
    Mma {
        /// Which instruction.
        core: TensorCore,
        /// Read and written.
        accumulator: View,
        /// A.
        left: View,
        /// B.
        right: View,
        /// The scales of A and of B, four blocks of K a register.
        scales: Option<Box<[View; 2]>>,
    },
    /// `accumulator[i, j] += left[i] * right[j]`, by each thread.
    OuterProduct {
        /// Read and written; rank 2.
        accumulator: View,
        /// As many elements as the accumulator has rows.
        left: View,
        /// As many elements as the accumulator has columns.
        right: View,
    },
    /// By one thread: a tile to shared memory by TMA.
    TensorLoad {
        /// Written, in shared memory.
        destination: View,
        /// A tile of a tensor argument.
        source: View,
        /// The mbarrier that counts its bytes.
        barrier: BarrierAt,
        /// The blocks of the cluster that get it.
        multicast: Option<u32>,
    },
    /// By one thread: a tile from shared memory by TMA.
    TensorStore {
        /// A tile of a tensor argument.
        destination: View,
        /// Read, in shared memory.
        source: View,
        /// To what is there, rather than in its place.
        adds: bool,
    },
    /// By each thread: registers to shared memory of another block.
    RemoteStore {
        /// Written, in shared memory of another block.
        destination: View,
        /// Registers.
        source: View,
        /// The mbarrier that counts its bytes, in that block.
        barrier: BarrierAt,
    },
    /// By the warpgroup: `accumulator = a b`, or `+=`.
    Wgmma {
        /// In registers.
        accumulator: View,
        /// 64 rows.
        a: View,
        /// In shared memory; rows of `k`.
        b: View,
        /// Whether to add.
        accumulate: Value<TileAccess>,
    },
    /// By one thread: `d = a b`, or `+=`.
    TensorProduct {
        /// In tensor memory.
        d: View,
        /// In shared memory.
        a: View,
        /// In shared memory; rows of `k`.
        b: View,
        /// Whether to add.
        accumulate: Value<TileAccess>,
    },
    /// By a warp: its rows of tensor memory to registers, or from them.
    TensorMove {
        /// Whether it writes tensor memory.
        stores: bool,
        /// In tensor memory.
        tensor: View,
        /// A row.
        registers: View,
    },
    /// By the warpgroup: an accumulator to shared memory, rounded.
    StoreMatrix {
        /// Written, in shared memory.
        destination: View,
        /// Columns of an accumulator.
        source: View,
    },
}

impl TileOperation {
    /// The view whose elements it changes.
    pub(crate) fn written(&self) -> Option<&View> {
        Some(match self {
            TileOperation::Prefetch(_) => return None,
            TileOperation::Copy { destination, .. }
            | TileOperation::Fill { destination, .. }
            | TileOperation::LoadFragments { destination, .. }
            | TileOperation::StoreFragments { destination, .. }
            | TileOperation::TensorLoad { destination, .. }
            | TileOperation::TensorStore { destination, .. }
            | TileOperation::RemoteStore { destination, .. }
            | TileOperation::StoreMatrix { destination, .. } => destination,
            TileOperation::TensorProduct { d, .. } => d,
            TileOperation::TensorMove { stores: true, tensor, .. } => tensor,
            TileOperation::TensorMove { stores: false, registers, .. } => registers,
            TileOperation::Mma { accumulator, .. }
            | TileOperation::OuterProduct { accumulator, .. }
            | TileOperation::Wgmma { accumulator, .. } => accumulator,
        })
    }
}

/// The coordinate of a thread in each mode of a thread layout, its inverse: `(thread / stride) % extent`.
///
/// This inverts compact layouts and those with gaps; `thread` beyond the layout's size wraps.
pub(crate) fn thread_coordinates(
    layout: &Layout,
    atoms: &mut Atoms,
    thread: &Index,
) -> Result<Vec<Index>, IndexOverflow> {
    layout
        .leaves()
        .map(|mode| {
            if mode.shape == 1 {
                return Ok(Index::constant(0));
            }
            let quotient = atoms.div(thread, &Index::constant(mode.stride.max(1)))?;
            atoms.rem(&quotient, &Index::constant(mode.shape))
        })
        .collect()
}
