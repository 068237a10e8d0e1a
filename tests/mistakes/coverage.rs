//! What is written: every element of an output, by one thread, onto what something has set; and no update is lost.

use super::zeros;
use layout_cuda::FindingKind::{LostUpdate, Unset, Unwritten, WrittenTwice};
use layout_cuda::{Device, tiled_kernel};

const SOURCE: &str = include_str!("coverage.rs");

/// An output of 16 x 32: a step that is too wide, a bound rounded down, a tile one further, a layout of too many threads, swapped
/// coordinates, only the first warp.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5, 6, 7], block = [64], grid = [1])]
fn rows(y: &mut LayoutTensor<f32, RowMajor<16, 32>>) {
    let (warp, lane) = (warp_id(), lane_id());
    if FLAW == 0 {
        for row in (warp..16).step_by(2) {
            y[[row, lane]] = 1.0;
        }
    } else if FLAW == 1 {
        for row in (warp..16).step_by(3) {
            y[[row, lane]] = 1.0; // here: step
        }
    } else if FLAW == 2 {
        for step in 0..16 / 3 {
            for row in 0..3 {
                if warp == 0 {
                    y[[3 * step + row, lane]] = 1.0; // here: rounded down
                }
            }
        }
    } else if FLAW == 3 {
        for step in 0..4 {
            if step + 1 < 4 {
                y.tile([4, 32], [step + 1, 0]).distribute(row_major([2, 32]), thread_idx.x).fill(1.0); // here: further
            }
        }
    } else if FLAW == 4 {
        y.distribute(row_major([4, 32]), thread_idx.x).fill(1.0); // here: threads
    } else if FLAW == 5 {
        for column in (warp..32).step_by(2) {
            if lane < 16 && column < 16 {
                y[[column, lane]] = 1.0; // here: swapped
            }
        }
    } else if FLAW == 7 {
        for row in warp + 16..16 + grid_dim.x - 1 {
            y[[row, lane]] = 1.0; // here: no round
        }
    } else if warp == 0 {
        for row in (0..16).step_by(2) {
            y[[row, lane]] = 1.0; // here: one warp
        }
    }
}

#[test]
fn every_element_of_an_output_is_written() {
    let missed = |name| Some((Unwritten, name));
    let mut y = Device::simulator().zeros::<f32, 2>([16, 32]).expect("a tensor");
    table!(SOURCE, [coverage] rows(&mut y) {
        0 => None, 1 => missed("step"), 2 => missed("rounded down"), 3 => missed("further"), 4 => missed("threads"), 5 => missed("swapped"),
        6 => missed("one warp"), 7 => missed("no round"),
    });
}

/// Each block adds to the output what nothing has set, or sets it before; a sum over a loop; in place.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5], block = [32], grid = [2])]
fn sums(x: &LayoutTensor<f32, RowMajor<64>>, y: &mut LayoutTensor<f32, RowMajor<64>>) {
    let own = block_idx.x * 32 + thread_idx.x;
    if FLAW == 0 {
        y[[own]] = 0.0;
        for _ in 0..3 {
            y[[own]] += x[[own]];
        }
    } else if FLAW == 1 {
        y[[own]] += x[[own]]; // here: added
    } else if FLAW == 2 {
        for _ in 0..3 {
            y[[own]] = y[[own]] * 0.5 + x[[own]]; // here: accumulated
        }
    } else if FLAW == 3 {
        let mut tile = y.tile([32], [block_idx.x]);
        tile[[thread_idx.x]] -= 1.0; // here: of a tile
    } else if FLAW == 5 {
        let most = y[[own]].max(x[[own]]); // here: the largest so far
        y[[own]] = most;
    } else {
        y.atomic_add([own], 1.0);
    }
}

#[test]
fn nothing_is_added_to_what_nothing_set() {
    let unset = |name| Some((Unset, name));
    table!(SOURCE, [coverage] sums(&zeros(64), &mut zeros(64)) {
        0 => None, 1 => unset("added"), 2 => unset("accumulated"), 3 => unset("of a tile"), 4 => None,
        5 => unset("the largest so far"),
    });
    // Where somebody put numbers there, it is meant.
    let set = super::set(&sums::DEFINITION, 1);
    let options = layout_cuda::Options { coverage: true, ..Default::default() };
    let mut y = Device::simulator().upload(&[1.0f32; 64], [64]).expect("a tensor");
    let report = sums::simulate_with(super::config(&set), &options, &zeros(64), &mut y).expect("it runs");
    assert!(report.clean(), "{report}");
}

/// All write; then all write elsewhere, with a barrier between: the first values are lost, or equal, or read before.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4], block = [64], grid = [1])]
fn again(y: &mut LayoutTensor<f32, RowMajor<64>>, z: &mut LayoutTensor<f32, RowMajor<64>>) {
    let own = thread_idx.x;
    y[[63 - own]] = if FLAW == 1 { own as f32 } else { 63.0 - own as f32 };
    barrier();
    if FLAW == 2 {
        z[[own]] = y[[own]];
        barrier();
    }
    if FLAW == 3 {
        y[[(own + 1) % 64]] = 2.5; // here: rotated
    } else if FLAW == 4 {
        if own < 32 {
            y[[own]] = -1.0; // here: half
        }
    } else {
        y[[own]] = own as f32 + if FLAW == 2 { 1.0 } else { 0.0 }; // here: reversed
    }
}

#[test]
fn no_value_is_lost_unread() {
    let twice = |name| Some((WrittenTwice, name));
    table!(SOURCE, [coverage] again(&mut zeros(64), &mut zeros(64)) {
        0 => None, 1 => twice("reversed"), 2 => None, 3 => twice("rotated"), 4 => twice("half"),
    });
}

/// Threads count by a load and a store; or find the largest; or say that one of them has come.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], block = [64], grid = [2])]
fn counts(c: &mut LayoutTensor<u32, RowMajor<1>>, most: &mut LayoutTensor<u32, RowMajor<1>>) {
    let mut s = shared::<u32>(row_major([1]));
    if thread_idx.x == 0 {
        s[[0]] = 0;
    }
    barrier();
    if FLAW == 0 {
        c.atomic_add([0], 1);
    } else if FLAW == 1 {
        let known = c.load_relaxed([0]);
        c.store_relaxed([0], known + 1); // here: counted
    } else if FLAW == 2 {
        if lane_id() == 0 {
            let doubled = s.load_relaxed([0]) * 2;
            s.store_relaxed([0], doubled + 1); // here: shared
        }
    } else if FLAW == 3 {
        let own = thread_idx.x as u32;
        if own > most.load_relaxed([0]) {
            most.store_relaxed([0], own); // here: largest
        }
    } else if FLAW == 4 {
        if c.load_relaxed([0]) == 0 {
            c.store_relaxed([0], 1);
        }
    } else if FLAW == 5 {
        if thread_idx.x == 0 {
            let known = c.load_acquire([0]);
            c.store_release([0], known + 1); // here: acquired
        }
    } else if FLAW == 7 {
        let known = c.load_relaxed([0]);
        c.atomic_exchange([0], known + 1); // here: exchanged
    } else if FLAW == 8 {
        let known = c.load_relaxed([0]);
        c.atomic_compare_exchange([0], known, known + 1); // here: compared
    } else if FLAW == 9 {
        let mut known = c.load_relaxed([0]);
        loop {
            let seen = c.atomic_compare_exchange([0], known, known + 1);
            if seen == known {
                break;
            }
            known = seen;
        }
    } else if thread_idx.x == 0 && block_idx.x == 0 {
        for _ in 0..4 {
            let known = c.load_relaxed([0]);
            c.store_relaxed([0], known + 1);
        }
    }
}

#[test]
fn no_update_is_lost() {
    let lost = |name| Some((LostUpdate, name));
    table!(SOURCE, counts(&mut zeros(1), &mut zeros(1)) {
        0 => None, 1 => lost("counted"), 2 => lost("shared"), 3 => lost("largest"), 4 => None, 5 => lost("acquired"),
        6 => None, 7 => lost("exchanged"), 8 => lost("compared"), 9 => None,
    });
}
