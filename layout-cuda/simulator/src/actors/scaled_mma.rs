//! The matrix instructions of a warp with block scales.
//!
//! Laws: an element is its old value and the sum of its products, each product exact and multiplied by the two scales of its block
//! of K, rounded once; a GPU may round more often and drop low bits of small terms. A scale is read in the lane and the byte that
//! the selector names. A ue4m3 with a sign is none: its products are NaN, as those of a NaN.

use super::mma::{places, tile};
use crate::bytecode::{LANES, Scales};
use crate::state::warp::{Warp, each_lane};
use layout_compiler::elem::Elem;
use layout_compiler::program::TensorCore;
use layout_core::Layout;
use layout_core::atoms::MmaScales;
use layout_core::lang::{e2m1_value, ue8m0_value};
use std::sync::OnceLock;

/// Where each row's scales are read.
fn lanes() -> Option<&'static MmaScales> {
    static SCALES: OnceLock<Option<MmaScales>> = OnceLock::new();
    SCALES.get_or_init(|| MmaScales::new().ok()).as_ref()
}

/// `d += a b`, of consecutive registers, with the scales.
pub(crate) fn mma(warp: &mut Warp, core: TensorCore, [d, a, b]: [u32; 3], scales: Scales) {
    let [m, n, k] = core.shape().map(|extent| extent as usize);
    let (Some(count), Some(lanes)) = (core.scales(scales.elem).map(|count| count as usize), lanes()) else {
        return;
    };
    let places = places(core);
    let values = |first: u32, places: &[[usize; LANES]], rows: usize| match core {
        TensorCore::E2m1 => numbers(&tile(&warp.int, first, places, |word| word as u32), rows),
        _ => tile(&warp.f32, first, places, f64::from),
    };
    let (left, right) = (values(a, &places.a, m), values(b, &places.b, n));
    let left_scales = lines(warp, scales.left, &scales, (&lanes.a_lane, m), count);
    let right_scales = lines(warp, scales.right, &scales, (&lanes.b_lane, n), count);
    let mut sums = vec![-0.0; m * n];
    for step in 0..k {
        let block = step * count / k;
        for column in 0..n {
            let factor = right[step * n + column] * right_scales[block * n + column];
            for row in 0..m {
                sums[column * m + row] += left[step * m + row] * left_scales[block * m + row] * factor;
            }
        }
    }
    for (value, places) in places.c.iter().enumerate() {
        for lane in each_lane(warp.active) {
            let element = &mut warp.f32[d as usize + value][lane];
            *element = (f64::from(*element) + sums[places[lane]]) as f32;
        }
    }
}

/// The numbers of a tile of words of eight e2m1 along K, of so many rows; tiles are by columns.
fn numbers(words: &[u32], rows: usize) -> Vec<f64> {
    let columns = words.chunks_exact(rows);
    let each = columns.flat_map(|words| {
        (0..u32::BITS).step_by(4).flat_map(|at| words.iter().map(move |word| e2m1_value(word >> at).into()))
    });
    each.collect()
}

/// The scales of each row, block by block.
fn lines(warp: &Warp, first: u32, scales: &Scales, (lane, rows): (&Layout, usize), count: usize) -> Vec<f64> {
    let selector = scales.selector;
    let lane =
        |row: usize| lane.crd2idx(&(row as i64, i64::from(selector.thread)).into()).unwrap_or(0) as usize;
    let scale = |block: usize, row: usize| {
        let register = first as usize + usize::from(selector.byte) + block;
        match scales.elem {
            Elem::U8 => f64::from(ue8m0_value(warp.int[register][lane(row)] as u8)),
            _ => match warp.f32[register][lane(row)] {
                negative if negative.is_sign_negative() => f64::NAN,
                scale => f64::from(scale),
            },
        }
    };
    (0..count)
        .flat_map(|block| (0..rows).map(move |row| (block, row)))
        .map(|(block, row)| scale(block, row))
        .collect()
}
