//! Orders in which the blocks of a persistent kernel take the tiles of a result, so that those in work at one time share
//! rows of one operand and columns of the other.
//!
//! These are functions of the kernel language, written in it. A kernel that calls one gets its text in front of its body
//! (see `kernel::library`); the host may call it as well.
//!
//! Law: each of `rows * cols` tiles has one position in the order; `(row, col)` is inside for every `tile < rows * cols`.

/// The tile at place `tile` of an order by groups of `group` rows: each group column by column.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // Three rows of four tiles, in groups of two rows.
/// #[tiled_kernel(block = [12], grid = [1])]
/// fn order(y: &mut LayoutTensor<u32, RowMajor<3, 4>>) {
///     let (row, col) = grouped(thread_idx.x, 3, 4, 2);
///     y[[row, col]] = thread_idx.x as u32;
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<u32, 2>([3, 4])?;
/// order::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [0, 2, 4, 6, 1, 3, 5, 7, 8, 9, 10, 11]);
/// assert_eq!(layout_core::lang::grouped(5, 3, 4, 2), (1, 2)); // on the host, too
/// # Ok::<(), layout_cuda::Error>(())
/// ```
///
/// # Panics
/// On the host, where `cols` or `group` is 0; with checks for overflow it may for a `tile` not below `rows * cols`.
pub fn grouped(tile: usize, rows: usize, cols: usize, group: usize) -> (usize, usize) {
    let first = tile / (group * cols) * group;
    let size = group.min(rows - first).max(1);
    let inside = tile % (group * cols);
    (first + inside % size, inside / size)
}

/// The tile at place `tile` of a Hilbert curve through any rectangle: neighbours in the order are neighbours in the
/// result, but for one diagonal step where the longer side is odd and the shorter one even. Of fewer than 2^31 tiles.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [16], grid = [1])]
/// fn order(y: &mut LayoutTensor<u32, RowMajor<4, 4>>) {
///     let (row, col) = hilbert(thread_idx.x, 4, 4);
///     y[[row, col]] = thread_idx.x as u32;
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<u32, 2>([4, 4])?;
/// order::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [0, 1, 14, 15, 3, 2, 13, 12, 4, 7, 8, 11, 5, 6, 9, 10]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
///
/// # Panics
/// On the host, with checks for overflow, it may for a `tile` not below `rows * cols`.
pub fn hilbert(tile: usize, rows: usize, cols: usize) -> (usize, usize) {
    // A rectangle that the curve goes through: its tiles along and across, its first tile, and of each side one more than
    // its step: 0 is back, 2 forth. `left` tiles of it come before the wanted one. Each round goes into a part of it.
    let mut left = tile as u32;
    let mut along = rows.max(cols) as u32;
    let mut across = rows.min(cols) as u32;
    let (mut row, mut col) = (0u32, 0u32);
    let (mut along_row, mut along_col) = (1u32, 2u32);
    let (mut across_row, mut across_col) = (2u32, 1u32);
    if cols < rows {
        along_row = 2;
        along_col = 1;
        across_row = 1;
        across_col = 2;
    }
    while along > 1 && across > 1 {
        let mut half = along / 2;
        if 2 * along > 3 * across {
            // Two parts, one after the other; the first of an even length.
            half += half % 2;
            if left < half * across {
                along = half;
            } else {
                left -= half * across;
                along -= half;
                row = row + half * along_row - half;
                col = col + half * along_col - half;
            }
        } else {
            // Three parts: one across, one along behind both others, one back.
            let mut depth = across / 2;
            if across > 2 {
                depth += depth % 2;
            }
            let first = depth * half;
            let second = first + along * (across - depth);
            if left >= first && left < second {
                left -= first;
                across -= depth;
                row = row + depth * across_row - depth;
                col = col + depth * across_col - depth;
            } else {
                // The sides change their places; the last part begins at the other corner and goes back.
                let (old_row, old_col) = (along_row, along_col);
                if left < first {
                    across = half;
                    along_row = across_row;
                    along_col = across_col;
                    across_row = old_row;
                    across_col = old_col;
                } else {
                    left -= second;
                    row = row + (along - 1) * old_row + (depth - 1) * across_row - (along + depth - 2);
                    col = col + (along - 1) * old_col + (depth - 1) * across_col - (along + depth - 2);
                    across = along - half;
                    along_row = 2 - across_row;
                    along_col = 2 - across_col;
                    across_row = 2 - old_row;
                    across_col = 2 - old_col;
                }
                along = depth;
            }
        }
    }
    if across == 1 {
        row = row + left * along_row - left;
        col = col + left * along_col - left;
    } else {
        row = row + left * across_row - left;
        col = col + left * across_col - left;
    }
    (row as usize, col as usize)
}
