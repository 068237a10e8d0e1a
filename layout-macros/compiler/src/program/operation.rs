//! Operations on more than one element, at the scalar level.
//!
//! An operation of the *asynchronous proxy* sees an ordinary write only after a [`Signal::AsyncProxyFence`] of the thread
//! that wrote and something that orders it before the operation.
//!
//! | operation | reads and writes | completed by |
//! |---|---|---|
//! | [`Operation::AsyncCopy`] | global → shared | the thread's copy group |
//! | [`TensorLoad`] | global → shared | its mbarrier, by bytes |
//! | [`TensorStore`] | shared → global | the thread's bulk group |
//! | [`Wgmma`] | shared, registers → registers | the warpgroup's matrix group |
//! | [`TensorProduct`] | shared, tensor → tensor | the mbarriers of the thread's commits, by an arrival |
//! | [`TensorMove`] | tensor ↔ registers | the warp's wait for loads, or for stores; of the generic proxy |
//! | [`RemoteStore`] | registers → shared, of another block | that block's mbarrier, by bytes; needs no fence |
//!
//! [`Signal::AsyncProxyFence`]: super::Signal::AsyncProxyFence

use super::walk::{access, barrier, value};
use super::{
    Access, BarrierAt, LeftMatrix, LoadMatrix, MatrixSource, Mma, Part, StoreMatrix, TensorAt, TensorLoad,
    TensorMove, TensorProduct, TensorStore, Wgmma,
};

/// The scalar level's operations on more than one element.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// `destination = source`, `width` elements at once; both widths are equal, neither has a mask.
    Move {
        /// Written.
        destination: Access,
        /// Read.
        source: Access,
    },
    /// `cp.async`: from global to shared memory, `width` elements (4, 8 or 16 bytes). Read and written at some time
    /// between here and the wait that completes it. Where the source's mask does not hold, nothing is read and zeros
    /// are written. The destination has no mask. Proxy: generic. Completed by: the thread's copy group.
    AsyncCopy {
        /// Written, in shared memory.
        destination: Access,
        /// Read, in global memory; its mask decides between data and zeros.
        source: Access,
    },
    /// A hint: L2 fetches the line of an element of global memory, where the mask holds. Nothing is read.
    Prefetch(Access),
    /// A hint: this tensor map will be used soon.
    PrefetchMap(u32),
    /// A box of a tensor to shared memory. Proxy: asynchronous. Completed by: an mbarrier.
    TensorLoad(TensorLoad),
    /// A box of a tensor from shared memory. Proxy: asynchronous. Completed by: the thread's bulk group.
    TensorStore(TensorStore),
    /// Registers to shared memory of another block. Proxy: generic. Completed by: an mbarrier of that block.
    RemoteStore(Box<RemoteStore>),
    /// A product of matrices. Proxy: asynchronous. Completed by: the warpgroup's matrix group.
    Wgmma(Box<Wgmma>),
    /// A product of matrices by one thread. Proxy: asynchronous. Completed by: the mbarriers of the thread's commits.
    TensorProduct(Box<TensorProduct>),
    /// Tensor memory to or from registers. Proxy: generic. Completed by: the warp's wait.
    TensorMove(Box<TensorMove>),
    /// Four matrices of 8 x 8 to shared memory. Proxy: generic. Completed at once.
    StoreMatrix(StoreMatrix),
    /// A product of matrices by a warp. Proxy: generic. Completed at once.
    Mma(Box<Mma>),
    /// Matrices from shared memory by a warp. Proxy: generic. Completed at once.
    LoadMatrix(LoadMatrix),
}

/// What moves the bytes of an access.
///
/// ```
/// # use layout_compiler::{ParamSet, ParamValue, Promises, compile, explain, Transport};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
/// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
/// let explanation = explain(&compile(&double::DEFINITION.kernel()?, &set, Promises::USUAL)?);
/// assert!(explanation.accesses.iter().all(|access| access.means == Transport::Thread));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A load or a store of a thread.
    Thread,
    /// An atomic operation of a thread.
    Atomic,
    /// `cp.async`: the thread goes on at once.
    CopyAsync,
    /// A box, by TMA.
    Tma,
    /// `ldmatrix`, `stmatrix`.
    Matrix,
    /// The matrix units read shared memory by themselves.
    MatrixUnits,
    /// `st.async`, to another block of the cluster.
    RemoteShared,
}

impl Operation {
    /// What moves the bytes of its accesses.
    pub fn means(&self) -> Transport {
        match self {
            Operation::AsyncCopy { .. } => Transport::CopyAsync,
            Operation::TensorLoad(_) | Operation::TensorStore(_) | Operation::PrefetchMap(_) => {
                Transport::Tma
            }
            Operation::RemoteStore(_) => Transport::RemoteShared,
            Operation::Wgmma(_) | Operation::TensorProduct(_) => Transport::MatrixUnits,
            Operation::LoadMatrix(_) | Operation::StoreMatrix(_) => Transport::Matrix,
            Operation::Move { .. }
            | Operation::Mma(_)
            | Operation::TensorMove(_)
            | Operation::Prefetch(_) => Transport::Thread,
        }
    }
}

/// By each thread: registers to shared memory of a block of the cluster. It reports its bytes to the mbarrier of that block.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteStore {
    /// Written: a place of another block, 1, 2 or 4 elements of 4 bytes, without a mask.
    pub destination: Access,
    /// Read, registers.
    pub source: Access,
    /// The mbarrier that counts its bytes, at this place of that block.
    pub barrier: BarrierAt,
}

impl Operation {
    /// Every part of it, what it reads before what it writes.
    pub(super) fn parts<'a>(&'a self, see: &mut impl FnMut(Part<'a>)) {
        match self {
            Operation::Move { destination, source } | Operation::AsyncCopy { destination, source } => {
                access(source, see);
                see(Part::Read(source));
                access(destination, see);
                see(Part::Write(destination));
            }
            Operation::Prefetch(line) => access(line, see),
            Operation::PrefetchMap(map) => see(Part::Map(*map)),
            Operation::TensorLoad(load) => {
                see(Part::Map(load.map));
                load.hint.into_iter().for_each(|hint| see(Part::Hint(hint)));
                load.coordinates.iter().for_each(|at| see(Part::Index(at)));
                barrier(&load.barrier, see);
                access(&load.destination, see);
                see(Part::Write(&load.destination));
            }
            Operation::TensorStore(store) => {
                see(Part::Map(store.map));
                store.hint.into_iter().for_each(|hint| see(Part::Hint(hint)));
                store.coordinates.iter().for_each(|at| see(Part::Index(at)));
                access(&store.source, see);
                see(Part::Read(&store.source));
            }
            Operation::Wgmma(product) => {
                value(&product.accumulate, see);
                match &product.a {
                    MatrixSource::Shared(matrix) => {
                        access(&matrix.first, see);
                        see(Part::Read(&matrix.first));
                    }
                    MatrixSource::Registers(parts) => {
                        for part in parts {
                            access(part, see);
                            see(Part::Read(part));
                        }
                    }
                }
                access(&product.b.first, see);
                see(Part::Read(&product.b.first));
                access(&product.accumulator, see);
                see(Part::Read(&product.accumulator));
                see(Part::Write(&product.accumulator));
            }
            Operation::TensorProduct(product) => {
                value(&product.accumulate, see);
                let left = match &product.a {
                    LeftMatrix::Shared(matrix) => Some(&**matrix),
                    LeftMatrix::Tensor(at) => {
                        tensor(at, see);
                        None
                    }
                };
                for matrix in left.into_iter().chain([&product.b]) {
                    access(&matrix.first, see);
                    see(Part::Read(&matrix.first));
                }
                tensor(&product.d, see);
            }
            Operation::TensorMove(moved) => {
                tensor(&moved.tensor, see);
                access(&moved.registers, see);
                see(match moved.stores {
                    true => Part::Read(&moved.registers),
                    false => Part::Write(&moved.registers),
                });
            }
            Operation::Mma(mma) => {
                let scales = mma.scales.iter().flat_map(|scales| [&scales.left, &scales.right]);
                for part in [&mma.left, &mma.right, &mma.accumulator].into_iter().chain(scales) {
                    access(part, see);
                    see(Part::Read(part));
                }
                see(Part::Write(&mma.accumulator));
            }
            Operation::RemoteStore(store) => {
                barrier(&store.barrier, see);
                access(&store.source, see);
                see(Part::Read(&store.source));
                access(&store.destination, see);
                see(Part::Write(&store.destination));
            }
            Operation::LoadMatrix(load) => {
                access(&load.source, see);
                see(Part::Read(&load.source));
                access(&load.destination, see);
                see(Part::Write(&load.destination));
            }
            Operation::StoreMatrix(store) => {
                store.values.iter().for_each(|part| value(part, see));
                access(&store.destination, see);
                see(Part::Write(&store.destination));
            }
        }
    }
}

fn tensor<'a>(at: &'a TensorAt, see: &mut impl FnMut(Part<'a>)) {
    see(Part::Variable(at.base));
    see(Part::Index(&at.address));
}
