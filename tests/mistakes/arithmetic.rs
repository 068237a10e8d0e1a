//! Numbers: what leaves its type, what a conversion or a shift loses, and where a NaN or an infinity comes from.

use super::zeros;
use layout_cuda::FindingKind::{IndexOverflow, LossyCast, NotFinite, Overflow, ShiftTooFar};
use layout_cuda::{Device, tiled_kernel};

const SOURCE: &str = include_str!("arithmetic.rs");

/// Whole numbers of 0 to 31 in every way that they leave their types.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], block = [32], grid = [1])]
fn whole(x: &LayoutTensor<i32, RowMajor<32>>, y: &mut LayoutTensor<i32, RowMajor<32>>) {
    let i = thread_idx.x;
    let v = x[[i]];
    let u = v as u32;
    let mut out = v;
    if FLAW == 0 {
        let mixed = u.wrapping_sub(5).wrapping_mul(2654435769).wrapping_add(u.wrapping_neg());
        out = (mixed.wrapping_shl(40) >> 8) as i32;
    } else if FLAW == 1 {
        out = (u - 5) as i32; // here: below nothing
    } else if FLAW == 2 {
        out = v * 200000000; // here: product
    } else if FLAW == 3 {
        let byte = v as u8;
        out = (byte * 20) as i32; // here: byte
    } else if FLAW == 4 {
        out = ((v * 100) as u8) as i32; // here: cut
    } else if FLAW == 5 {
        out = (v - 3) as u32 as i32; // here: sign
    } else if FLAW == 6 {
        out = 1 << (v + 10); // here: width
    } else if FLAW == 7 {
        out = (v as f32 * 1.0e9) as i32; // here: float
    } else if FLAW == 8 {
        let mixed = u.wrapping_mul(2654435769);
        out = ((mixed + mixed) & 15) as i32; // here: mixed
    } else if FLAW == 9 {
        // What is not chosen is not computed.
        out = if u > 5 { (u - 5) as i32 } else { 0 };
        if u >= 5 && u - 5 < 10 {
            out += 1;
        }
    } else if FLAW == 10 {
        let mut least = -2147483640;
        least -= v; // here: assigned
        out = least / 2;
    } else if FLAW == 11 {
        out = (v - 1).abs() >> v;
    } else {
        out = v >> (u * 2); // here: right
    }
    y[[i]] = out;
}

#[test]
fn whole_numbers_stay_in_their_types() {
    let (over, cut) = (|name| Some((Overflow, name)), |name| Some((LossyCast, name)));
    let numbers: Vec<i32> = (0..32).collect();
    let x = Device::simulator().upload(&numbers, [32]).expect("a tensor");
    table!(SOURCE, [arithmetic] whole(&x, &mut zeros(32)) {
        0 => None, 1 => over("below nothing"), 2 => over("product"), 3 => over("byte"), 4 => cut("cut"), 5 => cut("sign"),
        6 => Some((ShiftTooFar, "width")), 7 => cut("float"), 8 => over("mixed"), 9 => None, 10 => over("assigned"),
        11 => None, 12 => Some((ShiftTooFar, "right")),
    });
}

/// What threads do together with whole numbers, and functions of them.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5, 6, 7, 8], block = [64], grid = [1])]
fn sums(c: &mut LayoutTensor<u32, RowMajor<64>>, y: &mut LayoutTensor<u32, RowMajor<64>>) {
    let i = thread_idx.x;
    let v = i as u32;
    let mut out = v;
    c[[i]] = 7;
    barrier();
    if FLAW == 0 {
        out = v.warp_sum() + v.block_prefix_sum() + (v % 3).pow(12) + (v + 1).ilog2() + 1u32.pow(1000);
        c.atomic_add([0], v);
        // Down by one, 7 times.
        if i < 7 {
            c.atomic_add([1], 0xffff_ffff);
        }
    } else if FLAW == 1 {
        out = (v + 200000000).warp_sum(); // here: of a warp
    } else if FLAW == 2 {
        out = (v + 200000000).warp_prefix_sum(); // here: up to a lane
    } else if FLAW == 3 {
        out = (v + 200000000).block_prefix_sum(); // here: up to a thread
    } else if FLAW == 4 {
        c.atomic_add([0], 200000000); // here: added together
    } else if FLAW == 5 {
        c.atomic_add([1], 0xffff_ffff); // here: below nothing together
    } else if FLAW == 6 {
        out = (v + 3).pow(15); // here: a power
    } else if FLAW == 7 {
        out = v.ilog2(); // here: a logarithm
    } else {
        out = (v as i32 - 2147483640).abs_diff(2147483640).min(5);
        out += (v as i32 * 100000000 / 64).warp_sum() as u32; // here: a sum with a sign
    }
    y[[i]] = out;
}

#[test]
fn sums_and_powers_stay_in_their_types() {
    let over = |name| Some((Overflow, name));
    table!(SOURCE, [arithmetic] sums(&mut zeros(64), &mut zeros(64)) {
        0 => None, 1 => over("of a warp"), 2 => over("up to a lane"), 3 => over("up to a thread"),
        4 => over("added together"), 5 => over("below nothing together"), 6 => over("a power"), 7 => over("a logarithm"),
        8 => over("a sum with a sign"),
    });
}

/// Floats that stop being numbers, and are stored, or are not.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], block = [32], grid = [1])]
fn floats(x: &LayoutTensor<f32, RowMajor<32>>, y: &mut LayoutTensor<f32, RowMajor<32>>) {
    let i = thread_idx.x;
    let v = x[[i]];
    let mut out = v;
    if FLAW == 0 {
        out = 1.0 / v;
        if v == 0.0 {
            out = 0.0;
        }
    } else if FLAW == 1 {
        out = v / v; // here: of nothing
    } else if FLAW == 2 {
        let mut sum = 0.0f32;
        for _ in 0..4 {
            sum += (v - 2.0).ln(); // here: logarithm
        }
        out = sum * 0.5;
    } else if FLAW == 3 {
        // The least of all numbers is meant.
        let mut most = f32::NEG_INFINITY;
        if v > 100.0 {
            most = v;
        }
        out = most;
    } else if FLAW == 4 {
        let power = (v * 20.0).exp(); // here: power
        out = power.warp_sum();
    } else if FLAW == 5 {
        out = (1.0 / v).min(1.0e9);
    } else if FLAW == 6 {
        let half = (1.0e30 * v).cast::<f16>(); // here: half
        out = half.cast::<f32>();
    } else if FLAW == 7 {
        let mut parts = local::<f32>(row_major([4]));
        for k in unroll(0..4) {
            parts[[k]] = 1.0 / (v - k as f32); // here: local
        }
        out = parts[[2]];
    } else if FLAW == 8 {
        let mut line = shared::<f32>(row_major([32]));
        line[[i]] = (v - 1.0).sqrt(); // here: shared
        barrier();
        out = line[[31 - i]];
    } else if FLAW == 10 {
        // Of a row with nothing in it.
        let mut most = f32::NEG_INFINITY;
        if v > 100.0 {
            most = v;
        }
        out = (most - most.warp_max()).exp(); // here: of infinities
    } else if FLAW == 11 {
        let power = (v * 20.0).exp(); // here: of an infinity
        out = power / power.warp_sum();
    } else {
        out = if v > 0.0 { 1.0 / v } else { 0.0 };
    }
    y[[i]] = out;
}

#[test]
fn floats_stay_numbers() {
    let born = |name| Some((NotFinite, name));
    let numbers: Vec<f32> = (0..32).map(|number| number as f32).collect();
    let x = Device::simulator().upload(&numbers, [32]).expect("a tensor");
    table!(SOURCE, [arithmetic] floats(&x, &mut zeros(32)) {
        0 => None, 1 => born("of nothing"), 2 => born("logarithm"), 3 => None, 4 => born("power"), 5 => None,
        6 => born("half"), 7 => born("local"), 8 => born("shared"), 9 => None, 10 => born("of infinities"),
        11 => born("of an infinity"),
    });
}

/// Indices that leave 64 bits, or are meant to.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5], block = [1], grid = [1])]
fn far(y: &mut LayoutTensor<i32, RowMajor<64>>, a: usize) {
    let mut state = 1usize;
    for i in 0..64 {
        if FLAW == 0 {
            y[[i.wrapping_mul(a).wrapping_mul(a) % 64]] = 7;
        } else if FLAW == 1 {
            y[[i * a * a % 64]] = 7; // here: far product
        } else if FLAW == 2 {
            let mixed = i * 6364136223846793005 + 1442695040888963407; // here: far mixed
            y[[mixed % 64]] = 7;
        } else if FLAW == 3 {
            // Far, and not too far.
            if i < 2 {
                y[[i * a * a % 64]] = 7;
            }
        } else if FLAW == 4 {
            state = state * a + 1; // here: state
            y[[state % 64]] = 7;
        } else {
            state = state.wrapping_mul(a).wrapping_add(1);
            y[[state % 64]] = 7;
        }
    }
}

#[test]
fn indices_stay_in_64_bits() {
    let far_away = |name| Some((IndexOverflow, name));
    table!(SOURCE, far(&mut zeros(64), 2_000_000_000) {
        0 => None, 1 => far_away("far product"), 2 => far_away("far mixed"), 3 => None, 5 => None,
    });
    // What a variable carries on is a number, and is asked for.
    table!(SOURCE, [arithmetic] far(&mut zeros(64), 2_000_000_000) {
        0 => None, 1 => far_away("far product"), 3 => None, 4 => far_away("state"), 5 => None,
    });
}
