//! Orders of tiles: what a kernel computes is what the program does, and each tile is there once.

use crate::support::case::{Case, Outcome, Run};
use layout_core::lang::{grouped, hilbert};
use layout_cuda::{Error, tiled_kernel};

/// The place of each tile in both orders.
#[tiled_kernel(GROUP = [1, 4], block = [64], grid = [(M * N).div_ceil(64)])]
pub fn places<const M: usize, const N: usize>(
    groups: &mut LayoutTensor<u32, RowMajor<M, N>>,
    curve: &mut LayoutTensor<u32, RowMajor<M, N>>,
) {
    let tile = block_idx.x * 64 + thread_idx.x;
    if tile < M * N {
        let (row, col) = grouped(tile, M, N, GROUP);
        groups[[row, col]] = tile as u32;
        let (row, col) = hilbert(tile, M, N);
        curve[[row, col]] = tile as u32;
    }
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    let sizes =
        [[1, 1, 0], [1, 9, 0], [9, 1, 0], [2, 3, 0], [16, 16, 0], [5, 24, 0], [33, 12, 0], [40, 37, 0]];
    vec![Case::new(&places::DEFINITION, sizes.to_vec(), run_places)]
}

fn run_places(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, _] = run.size;
    let group = if run.set.key() == "GROUP4" { 4 } else { 1 };
    let (mut groups, mut curve) = (run.output([m, n])?, run.output([m, n])?);
    places::launch_with(run.config(), &run.stream(), &mut groups.view_mut()?, &mut curve.view_mut()?)?;
    let wanted = |order: &dyn Fn(usize) -> (usize, usize)| {
        let mut places = vec![u32::MAX; m * n];
        for tile in 0..m * n {
            let (row, col) = order(tile);
            places[row * n + col] = tile as u32;
        }
        places
    };
    let by_groups = Outcome::exact(groups.read()?, wanted(&|tile| grouped(tile, m, n, group)));
    Ok(by_groups.and(Outcome::exact(curve.read()?, wanted(&|tile| hilbert(tile, m, n)))))
}
