//! Flags, counts and locks between blocks: what the kindest order would hide.

use super::{empty, sevens, sevens_of};
use layout_cuda::FindingKind::{Deadlock, ReadWriteRace, WriteWriteRace};
use layout_cuda::tiled_kernel;

const SOURCE: &str = include_str!("flags.rs");

/// A flag that counts rounds, and its answer.
#[tiled_kernel(FLAW = [0, 1, 2, 3], block = [32], grid = [2])]
fn rounds_by_flag(
    d: &mut LayoutTensor<f32, RowMajor<32>>,
    f: &mut LayoutTensor<u32, RowMajor<2>>,
    y: &mut LayoutTensor<f32, RowMajor<3, 32>>,
) {
    for i in 0..3 {
        let round = i as u32 + 1;
        if block_idx.x == 0 {
            if lane_id() == 0 && FLAW != 2 {
                while f.load_acquire([1]) + 1 < round {}
            }
            sync_warp();
            d[[lane_id()]] = round as f32; // here: for this round
            sync_warp();
            if lane_id() == 0 {
                f.store_release([0], round);
            }
        } else {
            if lane_id() == 0 {
                while f.load_acquire([0]) < (if FLAW == 1 { 1 } else { round }) {}
            }
            sync_warp();
            y[[i, lane_id()]] = d[[lane_id()]]; // here: of this round
            if FLAW != 3 {
                sync_warp();
            }
            if lane_id() == 0 {
                f.store_release([1], round);
            }
        }
    }
}

#[test]
fn a_flag_has_its_answer() {
    table!(SOURCE, rounds_by_flag(&mut empty([32]), &mut empty([2]), &mut empty([3, 32])) {
        0 => None, 1 => Some((ReadWriteRace, "of this round")),
        2 => Some((ReadWriteRace, "of this round")), 3 => Some((ReadWriteRace, "for this round")),
    });
}

/// One flag represents all warps of a block.
#[tiled_kernel(FLAW = [0, 1, 2], block = [64], grid = [2])]
fn flag_of_all(
    d: &mut LayoutTensor<f32, RowMajor<64>>,
    f: &mut LayoutTensor<u32, RowMajor<1>>,
    y: &mut LayoutTensor<f32, RowMajor<64>>,
) {
    if block_idx.x == 0 {
        d[[thread_idx.x]] = 1.0;
        if FLAW == 0 {
            barrier();
            if thread_idx.x == 0 {
                f.store_release([0], 2);
            }
        } else if FLAW == 1 {
            sync_warp();
            if lane_id() == 0 {
                f.store_release([0], 2);
            }
        } else {
            sync_warp();
            if lane_id() == 0 {
                fence_device();
                f.atomic_add([0], 1);
            }
        }
    } else {
        while f.load_acquire([0]) < (if FLAW == 2 { 1 } else { 2 }) {}
        y[[thread_idx.x]] = d[[63 - thread_idx.x]]; // here: of all warps
    }
}

#[test]
fn a_flag_of_all_warps() {
    table!(SOURCE, flag_of_all(&mut empty([64]), &mut empty([1]), &mut empty([64])) {
        0 => None, 1 => Some((ReadWriteRace, "of all warps")), 2 => Some((ReadWriteRace, "of all warps")),
    });
}

/// Blocks add to a row in their order.
#[tiled_kernel(FLAW = [0, 1, 2, 3], block = [64], grid = [4])]
fn in_order(
    x: &LayoutTensor<f32, RowMajor<4, 64>>,
    turn: &mut LayoutTensor<u32, RowMajor<1>>,
    y: &mut LayoutTensor<f32, RowMajor<64>>,
) {
    if thread_idx.x == 0 {
        if FLAW == 1 {
            while turn.load_relaxed([0]) != block_idx.x as u32 {}
        } else {
            while turn.load_acquire([0]) != block_idx.x as u32 {}
        }
    }
    if FLAW != 2 {
        barrier();
    }
    y[[thread_idx.x]] += x[[block_idx.x, thread_idx.x]]; // here: in order
    if FLAW != 3 {
        barrier();
    }
    if thread_idx.x == 0 {
        turn.store_release([0], block_idx.x as u32 + 1);
    }
}

#[test]
fn blocks_add_in_order() {
    table!(SOURCE, in_order(&sevens([4, 64]), &mut empty([1]), &mut empty([64])) {
        0 => None, 1 => Some((ReadWriteRace, "in order")), 2 => Some((ReadWriteRace, "in order")),
        3 => Some((ReadWriteRace, "in order")),
    });
}

/// The last of all warps is known by a count of warps.
#[tiled_kernel(FLAW = [0, 1, 2, 3], block = [64], grid = [4])]
fn last_warp(
    x: &LayoutTensor<f32, RowMajor<4, 64>>,
    p: &mut LayoutTensor<f32, RowMajor<8>>,
    c: &mut LayoutTensor<u32, RowMajor<1>>,
    y: &mut LayoutTensor<f32, RowMajor<1>>,
) {
    let sum = x[[block_idx.x, thread_idx.x]].warp_sum();
    if lane_id() == 0 {
        p[[2 * block_idx.x + warp_id()]] = sum;
        if FLAW != 2 {
            fence_device();
        }
        let before = c.atomic_add([0], 1);
        if FLAW != 3 {
            fence_device();
        }
        if before == (if FLAW == 1 { 3 } else { 7 }) {
            let mut all = 0.0f32;
            for i in 0..8 {
                all += p[[i]]; // here: all parts
            }
            y[[0]] = all;
        }
    }
}

#[test]
fn the_last_warp_knows_of_all() {
    table!(SOURCE, last_warp(&sevens([4, 64]), &mut empty([8]), &mut empty([1]), &mut empty([1])) {
        0 => None, 1 => Some((ReadWriteRace, "all parts")), 2 => Some((ReadWriteRace, "all parts")),
        3 => Some((ReadWriteRace, "all parts")),
    });
}

/// What a lock guards is read before it is taken.
#[tiled_kernel(FLAW = [0, 1, 2, 3], block = [1], grid = [4])]
fn guarded(l: &mut LayoutTensor<u32, RowMajor<1>>, d: &mut LayoutTensor<f32, RowMajor<1>>) {
    let early = if FLAW == 1 { d[[0]] } else { 0.0 };
    while l.atomic_compare_exchange([0], 0, 1) != 0 {}
    if FLAW != 2 {
        fence_device();
    }
    let now = if FLAW == 1 { early } else { d[[0]] }; // here: looks
    d[[0]] = now + 1.0; // here: guarded
    if FLAW != 3 {
        fence_device();
    }
    l.store_relaxed([0], 0);
}

#[test]
fn a_lock_guards() {
    table!(SOURCE, guarded(&mut empty([1]), &mut empty([1])) {
        0 => None, 1 => Some((ReadWriteRace, "guarded")), 2 => Some((ReadWriteRace, "looks")),
        3 => Some((ReadWriteRace, "looks")),
    });
}

/// Two locks, taken in two orders.
#[tiled_kernel(FLAW = [0, 1], block = [1], grid = [2])]
fn two_locks(l: &mut LayoutTensor<u32, RowMajor<2>>, d: &mut LayoutTensor<u32, RowMajor<2>>) {
    let first = if FLAW == 1 { block_idx.x } else { 0 };
    while l.atomic_compare_exchange([first], 0, 1) != 0 {}
    fence_device();
    while l.atomic_compare_exchange([1 - first], 0, 1) != 0 {} // here: the second lock
    fence_device();
    d[[0]] += 1;
    d[[1]] += 1;
    fence_device();
    l.store_relaxed([1 - first], 0);
    fence_device();
    l.store_relaxed([first], 0);
}

#[test]
fn two_locks_have_one_order() {
    table!(SOURCE, two_locks(&mut empty([2]), &mut empty([2])) {
        0 => None, 1 => Some((Deadlock, "the second lock")),
    });
}

/// A frontier: who finds a vertex first claims it.
#[tiled_kernel(FLAW = [0, 1], block = [64], grid = [2])]
fn claimed(
    x: &LayoutTensor<i32, RowMajor<2, 64>>,
    seen: &mut LayoutTensor<u32, RowMajor<8>>,
    n: &mut LayoutTensor<u32, RowMajor<1>>,
    q: &mut LayoutTensor<u32, RowMajor<8>>,
) {
    let v = (x[[block_idx.x, thread_idx.x]] % 8) as usize;
    let first = if FLAW == 1 {
        let was = seen[[v]];
        seen[[v]] = 1; // here: claims
        was == 0
    } else {
        seen.atomic_exchange([v], 1) == 0
    };
    if first {
        let at = n.atomic_add([0], 1);
        if at < 8 {
            q[[at as usize]] = v as u32;
        }
    }
}

#[test]
fn who_claims_does_so_undivided() {
    table!(SOURCE, claimed(&sevens_of([2, 64], |value| value as i32), &mut empty([8]), &mut empty([1]), &mut empty([8])) {
        0 => None, 1 => Some((ReadWriteRace, "claims")),
    });
}

/// Counts of each block are added to the sum of all.
#[tiled_kernel(FLAW = [0, 1, 2], block = [64], grid = [4])]
fn private_counts(x: &LayoutTensor<i32, RowMajor<4, 64>>, c: &mut LayoutTensor<u32, RowMajor<8>>) {
    let mut own = shared::<u32>(row_major([8]));
    if thread_idx.x < 8 {
        own[[thread_idx.x]] = 0;
    }
    barrier();
    let bin = (x[[block_idx.x, thread_idx.x]] % 8) as usize;
    if FLAW == 1 {
        own[[bin]] += 1; // here: counts
    } else {
        own.atomic_add([bin], 1);
    }
    barrier();
    if thread_idx.x < 8 {
        if FLAW == 2 {
            c[[thread_idx.x]] += own[[thread_idx.x]]; // here: adds
        } else {
            c.atomic_add([thread_idx.x], own[[thread_idx.x]]);
        }
    }
}

#[test]
fn counts_are_added_undivided() {
    table!(SOURCE, private_counts(&sevens_of([4, 64], |value| value as i32), &mut empty([8])) {
        0 => None, 1 => Some((ReadWriteRace, "counts")), 2 => Some((ReadWriteRace, "adds")),
    });
}

/// Slots that an atomic counter gives out, and who reads the counter.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4], block = [64], grid = [2])]
fn slots(
    x: &LayoutTensor<i32, RowMajor<2, 64>>,
    c: &mut LayoutTensor<u32, RowMajor<2>>,
    y: &mut LayoutTensor<i32, RowMajor<2, 64>>,
    n: &mut LayoutTensor<u32, RowMajor<2>>,
) {
    let mut count = shared::<u32>(row_major([1]));
    let t = thread_idx.x;
    if t == 0 {
        count[[0]] = 0;
    }
    barrier();
    if x[[block_idx.x, t]] > 0 {
        let place = count.atomic_add([0], 1);
        y[[block_idx.x, place as usize]] = 1;
    }
    if FLAW != 1 {
        barrier();
    }
    if t == 0 {
        let all = if FLAW == 4 { count.load_relaxed([0]) } else { count[[0]] }; // here: the count
        n[[block_idx.x]] = all;
        if FLAW == 2 {
            c.block_scope().atomic_add([0], all); // here: of the block
        } else if FLAW == 3 {
            c[[0]] += all; // here: not undivided
        } else {
            c.atomic_add([0], all);
        }
    }
}

#[test]
fn who_reads_a_count_comes_after() {
    table!(SOURCE, slots(&sevens_of([2, 64], |value| value as i32), &mut empty([2]), &mut empty([2, 64]), &mut empty([2])) {
        0 => None, 1 => Some((ReadWriteRace, "the count")), 2 => Some((WriteWriteRace, "of the block")),
        3 => Some((ReadWriteRace, "not undivided")), 4 => None,
    });
}

/// A flag of the block has its first value before anybody looks at it.
#[tiled_kernel(FLAW = [0, 1, 2, 3], block = [64], grid = [1])]
fn begun(x: &LayoutTensor<f32, RowMajor<32>>, y: &mut LayoutTensor<f32, RowMajor<32>>) {
    let mut line = shared::<f32>(row_major([32]));
    let mut ready = shared::<u32>(row_major([1]));
    if thread_idx.x == 0 {
        ready[[0]] = 0;
    }
    if FLAW == 0 || FLAW == 2 {
        barrier();
    }
    if warp_id() == 0 {
        line[[lane_id()]] = x[[lane_id()]];
        sync_warp();
        if lane_id() == 0 {
            ready.store_release([0], 1);
        }
    } else {
        let mut there = 0;
        while there == 0 {
            if FLAW < 2 {
                there = ready.load_acquire([0]); // here: acquires what may not have begun
            } else {
                there = ready.load_relaxed([0]); // here: looks at what may not have begun
            }
        }
        fence_block();
        y[[lane_id()]] = line[[31 - lane_id()]];
    }
}

#[test]
fn a_flag_begins_before_it_is_read() {
    table!(SOURCE, begun(&sevens([32]), &mut empty([32])) {
        0 => None, 1 => Some((ReadWriteRace, "acquires what may not have begun")),
        2 => None, 3 => Some((ReadWriteRace, "looks at what may not have begun")),
    });
}
