//! A tile, a window, a slice is a promise about what a thread touches: an index outside of it is a mistake, inside of the
//! tensor or not; and one of shared memory or of registers is inside of it.

use super::zeros;
use layout_cuda::FindingKind::OutOfBounds;
use layout_cuda::{Device, tiled_kernel};

const SOURCE: &str = include_str!("views.rs");

/// A thread of a warp reads elements of views of a tensor.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5], block = [32], grid = [2])]
fn of_a_tensor<const M: usize>(
    x: &LayoutTensor<f32, RowMajor<M, 64>>,
    y: &mut LayoutTensor<f32, RowMajor<64>>,
) {
    let lane = lane_id();
    let tile = x.tile([4, 32], [0, block_idx.x]);
    let window = x.window([4, 8], [0, 8 * block_idx.x]);
    let next = if FLAW == 1 { 1 } else { 0 };
    let mut sum = tile[[3, (lane + next) % (32 + next)]]; // here: beyond a tile
    if FLAW == 2 {
        sum += tile[[lane / 7, 0]]; // here: below a tile
    }
    if FLAW == 3 {
        sum += window[[3, lane]]; // here: beyond a window
    } else {
        sum += window[[3, lane % 8]];
    }
    if FLAW == 4 {
        sum += tile.tile([2, 8], [0, 0])[[0, lane]]; // here: beyond a tile of a tile
    }
    if FLAW == 5 {
        sum += x.slice(1).tile([32], [0])[[lane + block_idx.x]]; // here: beyond a tile of a slice
    }
    let mut own = y.tile([32], [block_idx.x]);
    own[[lane]] = sum;
}

#[test]
fn an_index_outside_of_its_view() {
    let x = Device::simulator().zeros::<f32, 2>([8, 64]).expect("x");
    let found = |name| Some((OutOfBounds, name));
    table!(SOURCE, of_a_tensor(&x, &mut zeros(64)) {
        0 => None, 1 => found("beyond a tile"), 2 => found("below a tile"), 3 => found("beyond a window"),
        4 => found("beyond a tile of a tile"), 5 => found("beyond a tile of a slice"),
    });
    // The tail of a tensor is no mistake.
    let x = Device::simulator().zeros::<f32, 2>([2, 64]).expect("x");
    table!(SOURCE, of_a_tensor(&x, &mut zeros(64)) { 0 => None, });
}

/// Tiles, windows and slices of shared memory.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5], block = [32], grid = [1])]
fn of_shared_memory<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<32>>,
) {
    let mut s = shared::<f32>(row_major([4, 32]));
    let lane = lane_id();
    let from = x.tile([32], [0]);
    for row in 0..4 {
        let mut line = s.tile([1, 32], [row, 0]);
        line[[0, lane]] = from[[lane]];
    }
    sync_warp();
    let mut sum: f32 = 0.0;
    for row in 0..N {
        if FLAW == 1 {
            sum += s.tile([1, 32], [row, 0])[[0, lane]]; // here: a tile beyond
        } else if FLAW == 2 {
            sum += s.window([1, 8], [row, 0])[[0, lane % 8]]; // here: a window beyond
        } else if FLAW == 3 {
            sum += s.slice(row)[[lane]]; // here: a slice beyond
        } else if FLAW == 4 {
            sum += s.slice(0).tile([8], [1])[[lane]]; // here: beyond a shared tile
        } else if FLAW == 5 {
            let line = s.tile([1, 32], [row, 0]).distribute(row_major([1, 32]), lane);
            line.fill(1.0); // here: a fill beyond
        } else if row < 4 {
            sum += s.tile([1, 32], [row, 0])[[0, lane]]
                + s.window([1, 8], [row, 24])[[0, lane % 8]]
                + s.slice(row)[[lane]];
        }
    }
    y[[lane]] = sum;
}

#[test]
fn a_view_outside_of_shared_memory() {
    let x = zeros::<f32>(5);
    let found = |name| Some((OutOfBounds, name));
    table!(SOURCE, of_shared_memory(&x, &mut zeros(32)) {
        0 => None, 1 => found("a tile beyond"), 2 => found("a window beyond"), 3 => found("a slice beyond"),
        4 => found("beyond a shared tile"), 5 => found("a fill beyond"),
    });
}

/// Elements of a thread's registers.
#[tiled_kernel(FLAW = [0, 1, 2], block = [32], grid = [1])]
fn of_registers(y: &mut LayoutTensor<f32, RowMajor<32>>) {
    let mut own = local::<f32>(row_major([2, 4])).fill(1.0);
    // Under a condition of the run it is no error of the build.
    if FLAW == 1 {
        for k in unroll(2..4) {
            if k == 3 && y[[lane_id()]] == 0.0 {
                own.tile([1, 2], [0, 0])[[0, k]] = 2.0; // here: beyond a tile of registers
            }
        }
    } else if FLAW == 2 {
        for k in unroll(1..3) {
            if k == 2 && y[[lane_id()]] == 0.0 {
                own.slice(0).tile([2], [0])[[k]] = 2.0; // here: beyond a slice of registers
            }
        }
    } else {
        own.tile([1, 2], [0, 1])[[0, 1]] = 2.0;
    }
    y[[lane_id()]] = own[[0, 3]] + own[[0, 2]];
}

#[test]
fn an_index_outside_of_its_registers() {
    let found = |name| Some((OutOfBounds, name));
    table!(SOURCE, of_registers(&mut zeros(32)) {
        0 => None, 1 => found("beyond a tile of registers"), 2 => found("beyond a slice of registers"),
    });
}
