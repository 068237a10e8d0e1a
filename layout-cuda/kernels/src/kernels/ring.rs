//! The ring of stages between the producer and the consumers of a product on Hopper's and Blackwell's matrix units.
//!
//! Law: a stage is read after TMA has filled it, and filled again after every consumer has released it.

use layout_cuda::tiled_kernels;

#[tiled_kernels(open = product_ring)]
mod functions {
    /// Releases the stage that was read last: the thread for which `arrives` holds arrives at its barrier.
    fn release(empty: Mbarriers, read: &mut PipelineState, arrives: bool) {
        if arrives {
            empty.at(read.stage()).arrive();
        }
        read.advance();
    }

    /// Fills stages with the blocks of k of a tile: `a` and `b` give the one of a number.
    fn fill<T: Element>(
        (a, b): (impl Fn(usize) -> View<T, Read>, impl Fn(usize) -> View<T, Read>),
        (a_smem, b_smem, full, empty): (View<T, Write>, View<T, Write>, Mbarriers, Mbarriers),
        next: &mut PipelineState,
        blocks: usize,
    ) {
        for block in 0..blocks {
            let stage = next.stage();
            let (mut a_stage, mut b_stage) = (a_smem.slice(stage), b_smem.slice(stage));
            empty.at(stage).wait(1 - next.phase());
            full.at(stage).arrive_expect(a_stage.bytes() + b_stage.bytes());
            tma_load(&mut a_stage, &a(block), full.at(stage));
            tma_load(&mut b_stage, &b(block), full.at(stage));
            next.advance();
        }
    }

    /// The producer: one thread fills the stages with the operands of each tile of C of this block.
    fn load<T: Element>(
        a: impl Tensor<Elem = T, Access = Read>,
        b: impl Tensor<Elem = T, Access = Read>,
        ring: (View<T, Write>, View<T, Write>, Mbarriers, Mbarriers),
        count: (usize, usize, usize, usize),
    ) {
        let ((rows, cols, tiles, blocks), mut next) = (count, pipeline_state(STAGES));
        for tile in (block_idx.x..tiles).step_by(SMS) {
            let (row, col) = grouped(tile, rows, cols, GROUP);
            let of_a = |block: usize| a.tile([BM, BK], [row, block]);
            let of_b = |block: usize| b.tile([BK, BN], [block, col]);
            fill((of_a, of_b), ring, &mut next, blocks);
        }
    }

    /// A consumer's sums over all blocks of k.
    fn accumulate<S: Element>(
        mut acc: View<S, Write>,
        (a_smem, b_smem, full, empty): (View<T, Write>, View<T, Write>, Mbarriers, Mbarriers),
        (next, read): (&mut PipelineState, &mut PipelineState),
        (consumer, leads, blocks): (usize, bool, usize),
    ) {
        for block in 0..blocks {
            let stage = next.stage();
            full.at(stage).wait(next.phase());
            wgmma(&mut acc, &a_smem.slice(stage).slice(consumer), &b_smem.slice(stage), block > 0);
            wgmma_commit_group();
            next.advance();
            wgmma_wait_group(AHEAD);
            if block >= AHEAD {
                release(empty, read, leads);
            }
        }
        wgmma_wait_group(0);
        if blocks >= AHEAD && AHEAD > 0 {
            release(empty, read, leads);
        }
    }

    /// Stores a consumer's rows of a tile of C, as far as `left` rows go: a whole one by TMA, a part by the threads, in vectors.
    fn store<E: Element>(
        c: impl Tensor<Elem = E, Access = Write>,
        c_smem: View<E, Write>,
        acc: View<f32, Write>,
        (first, col, left): (usize, usize, usize),
        leads: bool,
    ) {
        let (consumer, thread) = (warp_group() - 1, thread_idx.x % 128);
        let mut staged = c_smem.slice(consumer);
        for part in unroll(0..BN / (64 * SLABS)) {
            if leads {
                bulk_wait_group_read(0);
            }
            named_barrier(1 + consumer, 128);
            store_matrix(&mut staged, &acc.tile([2, 8 * SLABS], [0, part]));
            let mut to = c.window([64, 64 * SLABS], [first + 64 * consumer, col + part * 64 * SLABS]);
            if !DIRECT && left >= 64 * (consumer + 1) {
                fence_async_proxy();
                named_barrier(1 + consumer, 128);
                if leads {
                    tma_store(&mut to, &staged);
                    bulk_commit_group();
                }
            } else {
                named_barrier(1 + consumer, 128);
                for piece in unroll(0..4 * SLABS) {
                    let (line, vector) = (piece % 4 * 16 + thread / 8, thread % 8);
                    if 64 * consumer + line < left {
                        let from = staged.slice(piece / 4).tile([1, 8], [line, vector]).vectorize([1, 8]);
                        to.tile([1, 8], [line, piece / 4 * 8 + vector]).vectorize([1, 8]).copy_from(&from);
                    }
                }
            }
        }
    }
}
