//! The ring of stages between the producer and the consumers of a product on Hopper's matrix units.
//!
//! Law: a stage is read after TMA has filled it, and filled again after both consumers have released it.

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
}
