//! Additions by TMA of every type that it adds.

use crate::support::case::{Case, Outcome};
use crate::support::data::{Operand, integers};
use layout_compiler::Elem;
use layout_cuda::tiled_kernel;

/// Two blocks add to each eight rows: what the one holds, then twice what the other does.
#[tiled_kernel(T = [f32, i32, u32], arch = "sm_90a", block = [32], grid = [2 * M.div_ceil(8)])]
pub fn added_boxes<T, const M: usize>(
    x: &LayoutTensor<T, RowMajor<2, M, 32>>,
    y: &mut LayoutTensor<T, RowMajor<M, 32>>,
) {
    let (own, at) = (block_idx.x % 2, block_idx.x / 2);
    let mut rows = shared::<T>(row_major([8, 32]));
    for row in 0..8 {
        rows[[row, lane_id()]] =
            if 8 * at + row < M { x[[own, 8 * at + row, lane_id()]] } else { (7i32).cast::<T>() };
    }
    fence_async_proxy();
    sync_warp();
    if elect_one() {
        for _ in 0..own + 1 {
            tma_add(&mut y.tile([8, 32], [at, 0]), &rows);
        }
        bulk_commit_group();
        bulk_wait_group(0);
    }
}

macro_rules! case {
    ($elem:ident, $T:ty) => {
        Case::new(&added_boxes::DEFINITION, [1, 7, 8, 9, 40].map(|m| [m, 1, 1]).to_vec(), |run| {
            let [m, ..] = run.size;
            let x: Vec<$T> = integers(2 * m * 32, 3, 100).iter().map(|v| v.unsigned_abs() as $T).collect();
            let before: Vec<$T> = integers(m * 32, 7, 100).iter().map(|v| v.unsigned_abs() as $T).collect();
            // TMA wants addresses of 16 bytes.
            let mut y = Operand::new(run.device, &before, 4 * run.skew, [m, 32], [32, 1])?;
            let on_x = run.tensor(&x, [2, m, 32])?;
            added_boxes::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut y.view_mut()?)?;
            let wanted = (0..m * 32).map(|i| before[i] + x[i] + 2 as $T * x[m * 32 + i]);
            Ok(Outcome::exact(y.read()?, wanted))
        })
        .of(Elem::$elem)
    };
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    vec![case!(F32, f32), case!(I32, i32), case!(U32, u32)]
}
