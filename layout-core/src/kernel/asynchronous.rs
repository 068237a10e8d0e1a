//! What Hopper does beside the threads: copies by tensor map, matrix products of a warpgroup, and what orders them.
//!
//! Both read and write memory through the *asynchronous proxy*: an ordinary write is seen there only after a
//! [`Signal::AsyncProxyFence`] of the thread that wrote and something that orders it before the operation.
//!
//! | operation | reads and writes | completed by |
//! |---|---|---|
//! | [`TensorLoad`] | global → shared | its mbarrier, by bytes |
//! | [`TensorStore`] | shared → global | the thread's bulk group |
//! | [`Wgmma`] | shared, registers → registers | the warpgroup's matrix group |
//! | [`RemoteStore`] | registers → shared, of another block | that block's mbarrier, by bytes; needs no fence |
//!
//! Source: PTX ISA, "Asynchronous warpgroup level matrix instructions", "cp.async.bulk.tensor", "mbarrier".

use super::elem::Elem;
use super::index::Index;
use super::program::{Access, Hint, PlaceId, Value};

/// One mbarrier of an array of them, in shared memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BarrierAt {
    /// The array: a shared place of 8-byte elements.
    pub place: PlaceId,
    /// The element.
    pub index: Index,
}

/// What orders asynchronous work. By one thread, unless said otherwise.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Signal {
    /// Makes an mbarrier whose phases end after so many arrivals. Phase 0 begins.
    BarrierInit {
        /// Which.
        barrier: BarrierAt,
        /// Arrivals of a phase.
        arrivals: u32,
    },
    /// A hint: this tensor map will be used soon.
    PrefetchMap(u32),
    /// Makes the thread's [`Signal::BarrierInit`]s seen by the asynchronous proxy and by the cluster.
    BarrierInitFence,
    /// Arrives, and makes the phase wait for so many bytes more. The thread's writes before are seen by who waits.
    BarrierArrive {
        /// Which.
        barrier: BarrierAt,
        /// Bytes that copies will report to this phase; 0 for none.
        expect: u32,
        /// The block of the cluster whose barrier it is; the own where there is none.
        rank: Option<Index>,
    },
    /// Waits until the phase of this parity (0 for the first, 1 for the second, …) has ended. Of a fresh barrier
    /// parity 1 has ended. It sees what those who arrived have seen and done, and the boxes that the phase was told of.
    BarrierWait {
        /// Which.
        barrier: BarrierAt,
        /// 0 or 1.
        parity: Index,
    },
    /// The thread's ordinary accesses to shared memory, or to global memory, before come before what the asynchronous
    /// proxy does after.
    AsyncProxyFence {
        /// Whether it is about global memory.
        global: bool,
    },
    /// Closes the group of the tensor stores that this thread issued since the last one.
    BulkCommit,
    /// Waits until at most `groups` of this thread's groups are in flight.
    BulkWait {
        /// Groups.
        groups: u32,
        /// Whether it is enough that the groups have read shared memory.
        read: bool,
    },
    /// By the warpgroup: its accesses to registers before come before the products after.
    MatrixFence,
    /// By the warpgroup: closes the group of its products since the last one.
    MatrixCommit,
    /// By the warpgroup: waits until at most so many of its groups are in flight. A group is done for the warpgroup when
    /// one of its warps has waited for it; each waits until all four have issued it.
    MatrixWait(u32),
    /// Waits until the launches before this one on the stream have ended, and sees what they wrote. A kernel that has it may
    /// begin before they end.
    DependencyWait,
    /// The next launch on the stream may begin, where it waits for this one by itself.
    LaunchDependents,
    /// By so many threads, whole warps: they wait for each other at a barrier of the block's sixteen.
    NamedBarrier {
        /// 1 to 15; 0 is the block's own.
        barrier: Index,
        /// Threads.
        threads: u32,
    },
    /// By the warpgroup: from here on each of its threads has so many registers.
    SetMaxRegisters {
        /// 24 to 256, a multiple of 8.
        registers: u32,
        /// Whether that is more than at the start.
        increase: bool,
    },
}

impl Signal {
    /// The mbarrier that it is about, where it is about one.
    pub(crate) fn barrier(&self) -> Option<&BarrierAt> {
        match self {
            Signal::BarrierInit { barrier, .. }
            | Signal::BarrierArrive { barrier, .. }
            | Signal::BarrierWait { barrier, .. } => Some(barrier),
            _ => None,
        }
    }

    /// Its indices beside that mbarrier's own: a rank, a parity, the number of a named barrier.
    pub(crate) fn index(&self) -> Option<&Index> {
        match self {
            Signal::BarrierArrive { rank, .. } => rank.as_ref(),
            Signal::BarrierWait { parity, .. } => Some(parity),
            Signal::NamedBarrier { barrier, .. } => Some(barrier),
            _ => None,
        }
    }
}

/// How a tensor argument is cut into boxes: what the launch encodes and the kernel takes as a parameter.
///
/// ```
/// # use layout_core::kernel::{Elem, ParamSet, Promises, compile};
/// # use layout_cuda::tiled_kernel;
/// #[tiled_kernel(arch = "sm_90a", block = [32], grid = [1])]
/// fn load(x: &LayoutTensor<f32, RowMajor<8, 32>>) {
///     let mut tile = shared::<f32>(row_major([4, 32]).swizzle_bytes(128));
///     let full = mbarriers(1, 1).at(0);
///     barrier();
///     if thread_idx.x == 0 {
///         full.arrive_expect(tile.bytes());
///         tma_load(&mut tile, &x.tile([4, 32], [1, 0]), full);
///     }
///     full.wait(0);
/// }
/// let checked = compile(&load::DEFINITION.kernel()?, &ParamSet::default(), Promises::USUAL)?;
/// let map = &checked.plan().maps[0];
/// assert_eq!((map.argument, map.elem, map.swizzle_bytes), (0, Elem::F32, 128));
/// assert_eq!((&map.modes[..], &map.extents[..]), (&[1, 0][..], &[32, 4][..])); // the contiguous mode first
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// The tensor argument.
    pub argument: u32,
    /// Of what.
    pub elem: Elem,
    /// The argument's modes, the contiguous one first.
    pub modes: Vec<u32>,
    /// The box's extents, in that order; each at most 256.
    pub extents: Vec<u32>,
    /// Bytes of the swizzle in shared memory: 32, 64, 128; 0 for none.
    pub swizzle_bytes: u32,
    /// Whether a copy to shared memory rounds each `f32` to the nearest tf32; else the matrix units cut it off.
    pub round_tf32: bool,
    /// Whether boxes are stored by it. The copy engine writes whole 16 bytes: a launch refuses a tensor whose rows end
    /// inside of 16 (seen on an H200, where the rest was overwritten).
    pub stored: bool,
}

impl TensorMap {
    /// Bytes of a box.
    ///
    /// ```
    /// use layout_core::kernel::{Elem, TensorMap};
    /// let map = TensorMap {
    ///     argument: 0,
    ///     elem: Elem::Bf16,
    ///     modes: vec![1, 0],
    ///     extents: vec![64, 128],
    ///     swizzle_bytes: 128,
    ///     round_tf32: false,
    ///     stored: false,
    /// };
    /// assert_eq!(map.bytes(), 64 * 128 * 2);
    /// ```
    pub fn bytes(&self) -> u32 {
        self.extents.iter().fold(self.elem.bytes(), |bytes, extent| bytes.saturating_mul(*extent))
    }
}

/// By one thread: a box of a tensor to shared memory, compact, the map's first mode fastest, swizzled; zeros where it is
/// beyond the tensor. It reports the box's bytes to the mbarrier.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TensorLoad {
    /// Of the plan's maps.
    pub map: u32,
    /// The first element written; before the swizzle, which is over the address.
    pub destination: Access,
    /// The box's first element, in the map's order of modes.
    pub coordinates: Vec<Index>,
    /// Who is told.
    pub barrier: BarrierAt,
    /// The blocks of the cluster that get it, bit `i` for rank `i`, each at the same place, and told at the same
    /// barrier; only the own where there is none.
    pub multicast: Option<u32>,
    /// How L2 is to keep what it reads.
    pub hint: Option<Hint>,
}

/// By one thread: a box in shared memory to a tensor; elements beyond the tensor are dropped.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TensorStore {
    /// Of the plan's maps.
    pub map: u32,
    /// The first element read, likewise.
    pub source: Access,
    /// The box's first element, in the map's order of modes.
    pub coordinates: Vec<Index>,
    /// How L2 is to keep what it writes.
    pub hint: Option<Hint>,
}

/// By each thread: registers to shared memory of a block of the cluster. It reports its bytes to the mbarrier of that block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RemoteStore {
    /// Written: a place of another block, 1, 2 or 4 elements of 4 bytes, without a mask.
    pub destination: Access,
    /// Read, registers.
    pub source: Access,
    /// Who is told: the mbarrier at this place of that block.
    pub barrier: BarrierAt,
}

/// By the warpgroup: `accumulator = a b`, or `+=`, in flight until [`Signal::MatrixWait`]. `a` has 64 rows and 32 bytes
/// of `k`, `b` has `n` columns. f32 operands are read as tf32: their low 13 bits are cut off. The accumulator's layout is `crate::atoms`' of wgmma:
/// register `4 j + 2 h + c` of thread `t` is element `(16 (t / 32) + t % 32 / 4 + 8 h, 8 j + 2 (t % 4) + c)`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wgmma {
    /// Columns, a multiple of 8 up to 256.
    pub n: u32,
    /// Of both operands.
    pub elem: Elem,
    /// Its first register; `n / 2` f32 follow each other.
    pub accumulator: Access,
    /// The left operand.
    pub a: MatrixSource,
    /// The right operand.
    pub b: SharedMatrix,
    /// A `bool`: whether to add to what the accumulator holds.
    pub accumulate: Value<Access>,
}

/// The left operand of [`Wgmma`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MatrixSource {
    /// In shared memory.
    Shared(SharedMatrix),
    /// In registers, in the atom's order: the elements of each 32 bits.
    Registers(Vec<Access>),
}

/// A matrix in shared memory as the descriptor says. With `s` = `swizzle_bytes`, element `(i, k)` (`i` a row of A or a
/// column of B) lies, before the swizzle, these bytes after the first:
///
/// - `k_major`: `i % 8 · s + i / 8 · stride_bytes + k · size`;
/// - else, with `w = s / size`: `i % w · size + i / w · leading_bytes + k % 8 · s + k / 8 · stride_bytes`.
///
/// The swizzle exchanges 16-byte pieces: address bits 4 and up, as many as `log2(s / 16)`, xor the bits 3 above them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SharedMatrix {
    /// The first element.
    pub first: Access,
    /// Whether `k` is contiguous.
    pub k_major: bool,
    /// 32, 64 or 128.
    pub swizzle_bytes: u32,
    /// Bytes to the next `w` columns, where `k` is not contiguous.
    pub leading_bytes: u32,
    /// Bytes to the next eight rows (of `k` where that is not contiguous).
    pub stride_bytes: u32,
}

/// By a warp: `stmatrix`, four matrices of 8 × 8 of 2-byte elements; lane `l` gives row `l % 8` of matrix `l / 8`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoreMatrix {
    /// The lane's row: eight elements, without a mask.
    pub destination: Access,
    /// Of each matrix the two neighbours that the lane holds: of row `lane / 4` columns `2 (lane % 4)` and the next.
    /// Each is an `f32`, rounded to the destination's type.
    pub values: Vec<Value<Access>>,
}
