//! The words of the kernel language, as Rust sees them.
//!
//! A kernel is never run as Rust: `#[tiled_kernel]` turns it into CUDA C. The items here have the names and types of the
//! language and no meaning: rustc checks a kernel's body against them, and an editor completes it. The meaning of each word
//! is given by [`crate::kernel::specialise`](crate::kernel). A kernel has all of these words in scope, and nothing else.
//!
//! Law: each member of [`Intrinsic`](crate::kernel::intrinsic::Intrinsic) has a stub here or a method of Rust's own
//! numbers that stands for it; a test names them all.
//!
//! | group | words |
//! |---|---|
//! | arguments | [`LayoutTensor`] with [`RowMajor`], [`ColMajor`], [`Pitched`], [`Contiguous`], [`Strided`] |
//! | elements | `f64 f32 i64 i32 i16 i8 u64 u32 u16 u8 bool`, [`struct@f16`], [`bf16`], [`e4m3`], [`e5m2`] |
//! | **[`vocabulary`]** | every word, by purpose, a line each |
//! | **[`numbers`]** | wrap-around, indices, precision, contraction, `fast_math` |
//! | constants | `f32::INFINITY`, `u32::MAX` and the like, [`Constants`] of a type parameter, `std::f32::consts::PI`, [`consts`] |
//! | places | [`shared`], [`local`] |
//! | layouts | [`row_major`], [`col_major`], [`layout`], [`Layout::swizzle`] |
//! | views | [`Tensor`]: `tile`, `window`, `vectorize`, `distribute`, `transpose`, `pad`, `dim`, `view[[i, j]]` |
//! | movement | [`Tensor::fill`], [`Tensor::copy_from`], [`Tensor::copy_from_async`], [`Tensor::to_local`], [`copy_dram_to_sram`], [`copy_dram_to_sram_async`], [`async_copy_commit_group`], [`async_copy_wait_group`], [`async_copy_wait_all`] |
//! | threads | [`thread_idx`], [`block_idx`], [`block_dim`], [`grid_dim`], [`lane_id`], [`warp_id`], [`barrier`], [`sync_warp`] |
//! | threads together | [`Number::shuffle`], `shuffle_up`, `shuffle_down`, `shuffle_xor`, [`Number::warp_sum`], `warp_max`, `warp_min`, [`Number::warp_prefix_sum`], [`Number::block_sum`], `block_max`, `block_min`, `block_prefix_sum`, [`ballot`], [`any`], [`all`], [`Atomic::atomic_add`], `atomic_max`, `atomic_min` |
//! | TMA, matrix units | [`mbarriers`], [`pipeline_state`], [`tma_load`], [`tma_store`], [`tma_add`], [`bulk_commit_group`], [`fence_async_proxy`], [`fence_async_proxy_global`], [`accumulator`], [`wgmma`], [`wgmma_commit_group`], [`wgmma_wait_group`], [`store_matrix`], [`warp_group`], [`elect_one`], [`set_max_registers`], [`named_barrier`], [`cluster_rank`], [`cluster_barrier`], `map_shared_rank`, [`store_async`], [`grid_dependency_wait`], [`launch_dependents`] |
//! | flags between blocks | [`Atomic::load_acquire`], [`Atomic::store_release`], `load_relaxed`, `store_relaxed`; between which threads: [`Atomic::block_scope`], `system_scope` |
//! | hints to the caches | [`Hinted::evict_first`], `evict_last`, `no_allocate` |
//! | matrix units | [`mma_atom`] with [`TensorCore::load_a`], `load_b`, `mma`, `store_d` |
//! | orders of tiles | [`grouped`], [`hilbert`] |
//! | sums | [`group_sum`], [`group_max`], [`add_compensated`] |
//! | arithmetic | operators, `as`, [`Number::cast`], [`select`], [`outer_product_acc`], `div_ceil` |
//! | functions of floats | [`Float`]: `sin` to `hypot`, `floor` to `fract`, `min`, `max`, `clamp`, `mul_add`, `to_bits`; [`Approximate`]: `exp2_approx` and the like |
//! | functions of integers | [`Whole`]: `count_ones` to `swap_bytes`, `pow`, `wrapping_add` and the like, `saturating_add` and the like; [`byte_perm`], [`funnel_shift_left`], [`funnel_shift_right`], [`dot4`] |
//! | control | `for` over a range, `.step_by(n)`, `.rev()`, [`unroll`], `while`, `loop`, `if`, `break`, `continue`, `assert!` |
//!
//! ```
//! use layout_core::lang::*;
//!
//! const BLOCK: usize = 256;
//! fn vector_add<const N: usize>(
//!     a: &LayoutTensor<f32, RowMajor<N>>,
//!     b: &LayoutTensor<f32, RowMajor<N>>,
//!     c: &mut LayoutTensor<f32, RowMajor<N>>,
//! ) {
//!     let i = block_idx.x * BLOCK + thread_idx.x;
//!     if i < N {
//!         c[[i]] = a[[i]] + b[[i]];
//!     }
//! }
//! ```

mod atomic;
mod float;
mod hint;
mod layout;
mod matrix;
mod mbarrier;
mod movement;
mod number;
mod tma;
#[doc = include_str!("numbers.md")]
pub mod numbers {}
mod order;
mod small_float;
mod sum;
mod tensor;
mod threads;
mod view;
pub mod vocabulary;
mod wgmma;
mod whole;

pub use atomic::*;
pub use float::{Approximate, Float};
pub use hint::*;
pub use layout::{ColMajor, Contiguous, Layout, Pitched, RowMajor, Strided, col_major, layout, row_major};
pub use matrix::*;
pub use mbarrier::*;
pub use movement::*;
pub use number::{Constants, Element, Integer, Literal, Number, select, unroll};
pub use order::{grouped, hilbert};
pub use small_float::{bf16, e4m3, e5m2, f16};
#[doc(no_inline)]
pub use std::f32::consts;
pub use sum::{add_compensated, group_max, group_sum};
pub use tensor::Tensor;
pub use threads::*;
pub use tma::*;
pub use view::{LayoutTensor, Read, View, Write, local, read_of, shared, view_of};
pub use wgmma::*;
pub use whole::*;

/// What a stub does when it is called after all.
fn device_only<T>() -> T {
    unreachable!("the words of the kernel language mean something inside of `#[tiled_kernel]` only")
}

#[cfg(test)]
mod tests {
    //! Each member of the vocabulary against its stub: the match has no wildcard, so that a new member without a stub
    //! does not compile; the calls are type-checked and never run.

    use super::*;
    use crate::kernel::intrinsic::Intrinsic;
    use crate::kernel::math::Math;

    fn stub(member: Intrinsic, v: View<f32, Write>, x: f32, n: usize) {
        let rows = row_major([4, 8]);
        match member {
            Intrinsic::RowMajor => drop(row_major([4, n])),
            Intrinsic::ColMajor => drop(col_major([4, n, 2])),
            Intrinsic::Layout => drop(layout([4, n], [1, 4])),
            Intrinsic::Swizzle => drop(rows.swizzle(3, 2, 3)),
            Intrinsic::Shared => drop(shared::<f32>(rows)),
            Intrinsic::Local => drop(local::<i32>(rows)),
            Intrinsic::Tile => drop(v.tile([4, 1], [n, 0])),
            Intrinsic::Window => drop(v.window([6, 12], [n - 1, n])),
            Intrinsic::Vectorize => drop(v.vectorize([1, 4])),
            Intrinsic::Distribute => drop(v.distribute(rows, thread_idx.x)),
            Intrinsic::Transpose => drop(v.transpose()),
            Intrinsic::Pad => drop(v.pad(0.0)),
            Intrinsic::DimOf => drop(v.dim(0)),
            Intrinsic::Fill => drop(v.fill(0.0)),
            Intrinsic::CopyFrom => v.copy_from(&v.vectorize([1, 4])),
            Intrinsic::CopyFromAsync => v.copy_from_async(v),
            Intrinsic::ToLocal => drop(v.to_local()),
            Intrinsic::CopyDramToSram => copy_dram_to_sram(v, v, rows),
            Intrinsic::CopyDramToSramAsync => copy_dram_to_sram_async(v, v, rows),
            Intrinsic::AsyncCopyCommitGroup => async_copy_commit_group(),
            Intrinsic::AsyncCopyWaitGroup => async_copy_wait_group(1),
            Intrinsic::AsyncCopyWaitAll => async_copy_wait_all(),
            Intrinsic::Barrier => barrier(),
            Intrinsic::SyncWarp => sync_warp(),
            Intrinsic::OuterProductAcc => outer_product_acc(v, v, v),
            Intrinsic::LaneId => drop(lane_id()),
            Intrinsic::WarpId => drop(warp_id()),
            Intrinsic::DivCeil => drop(n.div_ceil(4)),
            // Below, one by one.
            Intrinsic::Math(_) => {}
            Intrinsic::WrappingAdd => drop(n.wrapping_add(n)),
            Intrinsic::WrappingSub => drop(n.wrapping_sub(n)),
            Intrinsic::WrappingMul => drop(n.wrapping_mul(n)),
            Intrinsic::WrappingDiv => drop(n.wrapping_div(n)),
            Intrinsic::WrappingRem => drop(n.wrapping_rem(n)),
            Intrinsic::WrappingShl => drop(n.wrapping_shl(1)),
            Intrinsic::WrappingShr => drop(n.wrapping_shr(1)),
            Intrinsic::WrappingNeg => drop(n.wrapping_neg()),
            Intrinsic::DivEuclid => drop((n.div_euclid(n), x.div_euclid(x))),
            Intrinsic::RemEuclid => drop((n.rem_euclid(n), x.rem_euclid(x))),
            Intrinsic::Select => drop(select(x < 1.0, x, 0.0)),
            Intrinsic::Shuffle => drop(x.shuffle(n)),
            Intrinsic::ShuffleUp => drop(x.shuffle_up(1)),
            Intrinsic::ShuffleDown => drop(x.shuffle_down(n)),
            Intrinsic::ShuffleXor => drop(x.shuffle_xor(16)),
            Intrinsic::WarpSum => drop(x.warp_sum()),
            Intrinsic::WarpMax => drop(x.warp_max()),
            Intrinsic::WarpMin => drop(x.warp_min()),
            Intrinsic::WarpAnd => drop((n as u32).warp_and()),
            Intrinsic::WarpOr => drop((n as u32).warp_or()),
            Intrinsic::WarpXor => drop((n as u32).warp_xor()),
            Intrinsic::WarpPrefixSum => drop(x.warp_prefix_sum()),
            Intrinsic::BlockSum => drop(x.block_sum()),
            Intrinsic::BlockMax => drop(x.block_max()),
            Intrinsic::BlockMin => drop(x.block_min()),
            Intrinsic::BlockPrefixSum => drop(x.block_prefix_sum()),
            Intrinsic::Ballot => drop(ballot(x < 1.0)),
            Intrinsic::Any => drop(any(x < 1.0)),
            Intrinsic::All => drop(all(x < 1.0)),
            Intrinsic::MatchAny => drop(match_any(x)),
            Intrinsic::MatchAll => drop(match_all(x)),
            Intrinsic::ElectOne => drop(elect_one()),
            Intrinsic::AtomicAdd => drop(v.atomic_add([n, 0], x)),
            Intrinsic::AtomicMax => drop(v.atomic_max([n], x)),
            Intrinsic::AtomicMin => drop(v.atomic_min([0], 1.0)),
            Intrinsic::AtomicExchange => drop(v.atomic_exchange([n], x)),
            Intrinsic::AtomicCompareExchange => drop(v.atomic_compare_exchange([n], x, 1.0)),
            Intrinsic::FenceBlock => fence_block(),
            Intrinsic::FenceDevice => fence_device(),
            Intrinsic::FenceSystem => fence_system(),
            Intrinsic::SizeOf => drop(size_of::<f32>()),
            Intrinsic::Slice => drop(v.slice(n)),
            Intrinsic::Bytes => drop(v.bytes()),
            Intrinsic::SwizzleBytes => drop(rows.swizzle_bytes(128)),
            Intrinsic::WarpGroup => drop(warp_group()),
            Intrinsic::ClusterRank => drop(cluster_rank()),
            Intrinsic::MapSharedRank => drop(v.map_shared_rank(n)),
            Intrinsic::ClusterBarrier => cluster_barrier(),
            Intrinsic::GridBarrier => grid_barrier(),
            Intrinsic::GridDependencyWait => grid_dependency_wait(),
            Intrinsic::LaunchDependents => launch_dependents(),
            Intrinsic::NamedBarrier => named_barrier(1, 128),
            Intrinsic::NamedBarrierArrive => named_barrier_arrive(1, 128),
            Intrinsic::SetMaxRegisters => set_max_registers(40),
            Intrinsic::Mbarriers => drop(mbarriers(4, 1)),
            Intrinsic::At => drop(mbarriers(4, 1).at(n)),
            Intrinsic::Arrive => mbarriers(4, 1).at(n).arrive(),
            Intrinsic::ArriveExpect => mbarriers(4, 1).at(n).arrive_expect(v.bytes()),
            Intrinsic::ArriveRemote => mbarriers(4, 1).at(n).arrive_remote(cluster_rank()),
            Intrinsic::Wait => mbarriers(4, 1).at(n).wait(n % 2),
            Intrinsic::PipelineState => drop(pipeline_state(4)),
            Intrinsic::Stage => drop(pipeline_state(4).stage()),
            Intrinsic::Phase => drop(pipeline_state(4).phase()),
            Intrinsic::Advance => pipeline_state(4).advance(),
            Intrinsic::TmaLoad => tma_load(v, v, mbarriers(1, 1).at(0)),
            Intrinsic::TmaLoadMulticast => tma_load_multicast(v, v, mbarriers(1, 1).at(0), 3),
            Intrinsic::TmaStore => tma_store(v, v),
            Intrinsic::TmaAdd => tma_add(v, v),
            Intrinsic::StoreAsync => store_async(v.map_shared_rank(1), v.to_local(), mbarriers(1, 1).at(0)),
            Intrinsic::BulkCommitGroup => bulk_commit_group(),
            Intrinsic::BulkWaitGroup => bulk_wait_group(0),
            Intrinsic::BulkWaitGroupRead => bulk_wait_group_read(0),
            Intrinsic::FenceAsyncProxy => fence_async_proxy(),
            Intrinsic::FenceAsyncProxyGlobal => fence_async_proxy_global(),
            Intrinsic::Accumulator => drop(accumulator([64, 128])),
            Intrinsic::AccumulatorOf => drop(accumulator_of::<i32>([64, 128])),
            Intrinsic::Wgmma => wgmma(accumulator([64, 128]), v, v, n > 0),
            Intrinsic::WgmmaCommitGroup => wgmma_commit_group(),
            Intrinsic::WgmmaWaitGroup => wgmma_wait_group(0),
            Intrinsic::StoreMatrix => store_matrix(v, accumulator([64, 128])),
            Intrinsic::LoadRelaxed => drop(v.load_relaxed([n])),
            Intrinsic::LoadAcquire => drop(v.load_acquire([n, 0])),
            Intrinsic::StoreRelaxed => v.store_relaxed([n], x),
            Intrinsic::StoreRelease => v.store_release([0], 1.0),
            Intrinsic::BlockScope => drop(v.block_scope().load_acquire([n])),
            Intrinsic::SystemScope => drop(v.system_scope().atomic_add([n], x)),
            Intrinsic::EvictFirst => drop(v.evict_first()),
            Intrinsic::EvictLast => drop(v.evict_last()),
            Intrinsic::NoAllocate => drop(v.no_allocate()),
            Intrinsic::MmaAtom => drop(mma_atom::<f32>([16, 8, 8])),
            Intrinsic::LoadA => drop(mma_atom::<f32>([16, 8, 8]).load_a(v)),
            Intrinsic::LoadB => drop(mma_atom([16, 8, 8]).load_b(v)),
            Intrinsic::Mma => mma_atom([16, 8, 8]).mma(v, v, v),
            Intrinsic::StoreD => mma_atom::<bf16>([16, 8, 16]).store_d(v, v),
        }
    }

    #[test]
    fn every_member_has_a_stub() {
        let _: fn(Intrinsic, View<f32, Write>, f32, usize) = stub;
        for word in Math::ALL {
            let (floats, integers) = (float::tests::stub(word, 1.0, 1, 1), whole::tests::stub(word, 1, 1));
            assert!(floats != integers, "{word:?}");
        }
        let mut names: Vec<_> = Intrinsic::ALL.iter().map(|member| (member.name(), member.form())).collect();
        names.sort_by_key(|(name, _)| *name);
        names.dedup();
        assert_eq!(names.len(), Intrinsic::ALL.len());
    }
}
