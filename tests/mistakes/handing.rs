//! Roles that hand on what they have: rounds that differ, rows that one leaves out, phases that a wait takes for others.

use super::{empty, sevens};
use layout_cuda::FindingKind::{Deadlock, InFlightAtEnd, ReadWriteRace, Uninitialised};
use layout_cuda::tiled_kernel;

const SOURCE: &str = include_str!("handing.rs");

/// One role has a round more than the other.
#[tiled_kernel(FLAW = [0, 1, 2, 3], arch = "sm_90a", block = [64], grid = [1])]
fn rounds_of_roles(x: &LayoutTensor<f32, RowMajor<5, 32>>, y: &mut LayoutTensor<f32, RowMajor<5, 32>>) {
    let mut line = shared::<f32>(row_major([1, 32]));
    let (full, empty) = (mbarriers(1, 1), mbarriers(1, 32));
    barrier();
    let rows = 5;
    if warp_id() == 0 {
        if lane_id() == 0 {
            for i in 0..(if FLAW == 1 {
                rows / 2 * 2
            } else if FLAW == 2 {
                rows + 1
            } else {
                rows
            }) {
                empty.at(0).wait((i + 1) % 2); // here: a round less
                full.at(0).arrive_expect(128);
                tma_load(&mut line, &x.tile([1, 32], [i, 0]), full.at(0)); // here: one too many
            }
        }
    } else {
        for i in 0..rows {
            full.at(0).wait(i % 2); // here: a round more
            y[[i, lane_id()]] = line[[0, lane_id()]];
            if FLAW != 3 || i != 2 {
                empty.at(0).arrive();
            }
        }
    }
}

#[test]
fn roles_have_as_many_rounds() {
    table!(SOURCE, rounds_of_roles(&sevens([5, 32]), &mut empty([5, 32])) {
        0 => None, 1 => Some((Deadlock, "a round more")), 2 => Some((InFlightAtEnd, "one too many")),
        3 => Some((Deadlock, "a round less")),
    });
}

/// Roles that leave a row out where their conditions say so.
#[tiled_kernel(FLAW = [0, 1, 2], arch = "sm_90a", block = [64], grid = [1])]
fn left_out(x: &LayoutTensor<f32, RowMajor<6, 32>>, y: &mut LayoutTensor<f32, RowMajor<6, 32>>) {
    let mut line = shared::<f32>(row_major([1, 32]));
    let (full, empty) = (mbarriers(1, 1), mbarriers(1, 32));
    barrier();
    let mut next = pipeline_state(1);
    if warp_id() == 0 {
        if lane_id() == 0 {
            for i in 0..6 {
                if i % 3 != 1 {
                    empty.at(0).wait(1 - next.phase());
                    full.at(0).arrive_expect(128);
                    tma_load(&mut line, &x.tile([1, 32], [i, 0]), full.at(0));
                    next.advance();
                }
            }
        }
    } else {
        for i in 0..6 {
            if i % 3 != (if FLAW == 1 { 3 } else { 1 }) {
                full.at(0).wait(next.phase()); // here: a row of the other
                y[[i, lane_id()]] = line[[0, lane_id()]];
                empty.at(0).arrive();
            }
            if FLAW == 2 || i % 3 != 1 {
                next.advance();
            }
        }
    }
}

#[test]
fn roles_leave_out_the_same() {
    table!(SOURCE, left_out(&sevens([6, 32]), &mut empty([6, 32])) {
        0 => None, 1 => Some((Deadlock, "a row of the other")),
        2 => Some((Deadlock, "a row of the other")),
    });
}

/// The tile that a block works at is drawn by one warp and handed on by a ring.
#[tiled_kernel(FLAW = [0, 1, 2], arch = "sm_90a", block = [64], grid = [2])]
fn drawn(c: &mut LayoutTensor<u32, RowMajor<1>>, y: &mut LayoutTensor<f32, RowMajor<8, 32>>) {
    let mut tile = shared::<u32>(row_major([2]));
    let (full, empty) = (mbarriers(2, 1), mbarriers(2, 32));
    barrier();
    let mut i = 0;
    if warp_id() == 0 {
        if lane_id() == 0 {
            let mut more = true;
            while more {
                if FLAW != 1 {
                    empty.at(i % 2).wait((i / 2 + 1) % 2);
                }
                let drawn = c.atomic_add([0], 1);
                tile[[i % 2]] = drawn; // here: a number
                full.at(i % 2).arrive();
                more = drawn < 8;
                i += 1;
            }
        }
    } else {
        let mut more = true;
        while more {
            full.at(i % 2).wait(i / 2 % 2);
            if FLAW == 2 {
                empty.at(i % 2).arrive();
            }
            let own = tile[[i % 2]]; // here: the number
            if FLAW != 2 {
                empty.at(i % 2).arrive();
            }
            if own < 8 {
                y[[own as usize, lane_id()]] = 1.0;
            }
            more = own < 8;
            i += 1;
        }
    }
}

#[test]
fn a_number_is_drawn_once_it_was_taken() {
    table!(SOURCE, drawn(&mut empty([1]), &mut empty([8, 32])) {
        0 => None, 1 => Some((ReadWriteRace, "the number")), 2 => Some((ReadWriteRace, "a number")),
    });
}

/// Three roles: one loads, one computes, one stores; what is computed goes through two buffers.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4], arch = "sm_90a", block = [96], grid = [1])]
fn three_roles(x: &LayoutTensor<f32, RowMajor<6, 32>>, y: &mut LayoutTensor<f32, RowMajor<6, 32>>) {
    let ring = shared::<f32>(row_major([2, 1, 32]));
    let mut out = shared::<f32>(row_major([2, 32]));
    let (full, empty) = (mbarriers(2, 1), mbarriers(2, 32));
    let (done, free) = (mbarriers(2, 32), mbarriers(2, 32));
    barrier();
    if warp_id() == 0 {
        if lane_id() == 0 {
            for i in 0..6 {
                empty.at(i % 2).wait((i / 2 + 1) % 2);
                full.at(i % 2).arrive_expect(128);
                tma_load(&mut ring.slice(i % 2), &x.tile([1, 32], [i, 0]), full.at(i % 2));
            }
        }
    } else if warp_id() == 1 {
        for i in 0..6 {
            full.at(i % 2).wait(i / 2 % 2);
            if FLAW != 1 {
                free.at(i % 2).wait((i / 2 + 1) % 2);
            }
            out[[i % 2, lane_id()]] = 2.0 * ring[[i % 2, 0, 31 - lane_id()]]; // here: computed
            if FLAW == 2 {
                done.at((i + 1) % 2).arrive();
            } else {
                done.at(i % 2).arrive();
            }
            empty.at(i % 2).arrive();
        }
    } else {
        for i in 0..6 {
            done.at(i % 2).wait((if FLAW == 3 { i / 2 + 1 } else { i / 2 }) % 2);
            if FLAW == 4 {
                free.at(i % 2).arrive();
            }
            y[[i, lane_id()]] = out[[i % 2, 31 - lane_id()]]; // here: handed on
            if FLAW != 4 {
                free.at(i % 2).arrive();
            }
        }
    }
}

#[test]
fn each_of_three_roles_has_its_ring() {
    table!(SOURCE, three_roles(&sevens([6, 32]), &mut empty([6, 32])) {
        0 => None, 1 => Some((ReadWriteRace, "computed")), 2 => None,
        3 => Some((Uninitialised, "handed on")), 4 => Some((ReadWriteRace, "computed")),
    });
}

/// A ring by named barriers: one warp gives, two take.
#[tiled_kernel(FLAW = [0, 1, 2, 3], block = [96], grid = [1])]
fn given_to_two(y: &mut LayoutTensor<f32, RowMajor<4, 2, 32>>) {
    let mut line = shared::<f32>(row_major([2, 32]));
    for i in 0..4 {
        let stage = i % 2;
        if warp_id() == 0 {
            if i >= 2 && FLAW != 1 {
                named_barrier(3 + stage, 96); // here: gives
            }
            line[[stage, lane_id()]] = i as f32;
            named_barrier_arrive(1 + stage, 96);
        } else {
            named_barrier(1 + (if FLAW == 2 { 1 - stage } else { stage }), 96); // here: takes
            y[[i, warp_id() - 1, lane_id()]] = line[[stage, 31 - lane_id()]];
            if i < 2 && (FLAW != 3 || warp_id() == 1) {
                named_barrier_arrive(3 + stage, 96);
            }
        }
    }
}

#[test]
fn both_give_back() {
    table!(SOURCE, given_to_two(&mut empty([4, 2, 32])) {
        0 => None, 1 => Some((Deadlock, "takes")), 2 => None, 3 => Some((Deadlock, "gives")),
    });
}
