//! Each member of the vocabulary against its stub. The match has no wildcard, so a new member without a stub does not
//! compile. The calls are type-checked and never run.

mod float;
mod vocabulary;
mod whole;

use crate::intrinsic::Intrinsic;
use crate::math::Math;
use layout_core::lang::*;

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
        Intrinsic::Assume => assume(x < 1.0),
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
        Intrinsic::AtomicAnd => drop(v.atomic_and([n, 0], x)),
        Intrinsic::AtomicOr => drop(v.atomic_or([n, 0], x)),
        Intrinsic::AtomicXor => drop(v.atomic_xor([n, 0], x)),
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
        let (floats, integers) = (float::stub(word, 1.0, 1, 1), whole::stub(word, 1, 1));
        assert!(floats != integers, "{word:?}");
    }
    let mut names: Vec<_> = Intrinsic::ALL.iter().map(|member| (member.name(), member.form())).collect();
    names.sort_by_key(|(name, _)| *name);
    names.dedup();
    assert_eq!(names.len(), Intrinsic::ALL.len());
}
