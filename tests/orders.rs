//! The orders of tiles over every rectangle of up to 40 by 40 tiles.

use layout_core::lang::{grouped, hilbert};

/// The tiles in order; each of the rectangle is there once.
fn tiles(rows: usize, cols: usize, order: impl Fn(usize) -> (usize, usize)) -> Vec<(usize, usize)> {
    let list: Vec<(usize, usize)> = (0..rows * cols).map(order).collect();
    let mut seen = vec![false; rows * cols];
    for (row, col) in &list {
        assert!(*row < rows && *col < cols, "({row}, {col}) of {rows} by {cols}");
        assert!(
            !std::mem::replace(&mut seen[row * cols + col], true),
            "({row}, {col}) twice of {rows} by {cols}"
        );
    }
    list
}

fn rectangles() -> impl Iterator<Item = (usize, usize)> {
    (1..=40).flat_map(|rows| (1..=40).map(move |cols| (rows, cols)))
}

#[test]
fn a_hilbert_curve_goes_from_neighbour_to_neighbour() {
    for (rows, cols) in rectangles() {
        let list = tiles(rows, cols, |tile| hilbert(tile, rows, cols));
        let apart = |pair: &[(usize, usize)]| (pair[0].0.abs_diff(pair[1].0), pair[0].1.abs_diff(pair[1].1));
        let steps: Vec<(usize, usize)> = list.windows(2).map(apart).collect();
        let diagonal = steps.iter().filter(|step| **step == (1, 1)).count();
        let plain = steps.iter().filter(|(down, right)| down + right == 1).count();
        assert_eq!(diagonal + plain, steps.len(), "{rows} by {cols}");
        let allowed = rows.max(cols) % 2 == 1 && rows.min(cols) % 2 == 0;
        assert!(diagonal <= usize::from(allowed), "{diagonal} diagonal steps in {rows} by {cols}");
    }
}

#[test]
fn groups_hold_every_tile_once_and_end_before_the_next() {
    for (rows, cols) in rectangles() {
        for group in [1, 3, 16, 64] {
            let list = tiles(rows, cols, |tile| grouped(tile, rows, cols, group));
            assert!(list.windows(2).all(|pair| pair[0].0 / group <= pair[1].0 / group), "{rows} by {cols}");
        }
    }
}
