//! A layout as a table of offsets, one row for each coordinate of mode 0, one column for each of mode 1.
//!
//! Law: the cell in row i, column j is `L(i, j)`, and of a view the offset of that element in the storage; every cell is as wide
//! as the number of digits of the cosize, of a view its tensor's. For a swizzled layout that is the cosize of the layout inside, as
//! in CuTe: an offset in front of it may need more.

use super::shown::Shown;
use crate::nest::{Node, write_nest};
use crate::{ComposedLayout, IntTuple};
use std::fmt::Write;

/// The table of the offsets of a layout, or of a view or a tensor: there the offsets are those in its storage, and what is masked has
/// an empty cell. A layout of rank 1 has one column; one of a higher rank has a table for each
/// coordinate of the modes beyond the second, with that coordinate above it. Beyond 2^20 offsets there is one line instead.
///
/// ```
/// use layout_core::{Layout, draw::layout_table};
///
/// assert_eq!(layout_table(&Layout::row_major((2, 3))?), "\
/// \x20     0   1   2
///     +---+---+---+
///  0  | 0 | 1 | 2 |
///     +---+---+---+
///  1  | 3 | 4 | 5 |
///     +---+---+---+
/// ");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn layout_table(shown: impl Into<Shown>) -> String {
    let shown = shown.into();
    // A negative offset has a sign that the cosize does not.
    let widest = shown.offsets().take(CELLS).flatten().map(digits).max().unwrap_or(1);
    table(&shown.layout.shape(), shown.offsets(), widest.max(digits(shown.reach)))
}

/// How many characters a number is written in.
fn digits(value: i64) -> usize {
    value.to_string().len()
}

/// The table of a swizzled layout's offsets, as [`layout_table`], in columns as wide as CuTe's: as the cosize of the
/// layout behind the offset needs.
///
/// ```
/// use layout_core::draw::swizzle_table;
/// assert!(swizzle_table(&"Sw<1,0,1> o 0 o (4,4):(1,4)".parse()?).contains(" 2  |  3 |  7 | 11 | 15 |"));
/// assert_eq!(swizzle_table(&"Sw<1,0,1> o 96 o (1,3):(0,1)".parse()?), "\
/// \x20     0   1   2
///     +---+---+---+
///  0  | 96 | 97 | 99 |
///     +---+---+---+
/// ");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn swizzle_table(composed: &ComposedLayout) -> String {
    table(&composed.layout().shape(), composed.offsets().map(Some), digits(composed.layout().cosize()))
}

/// The most offsets that are written out; of more there is one line that says so.
const CELLS: usize = 1 << 20;

fn table(shape: &IntTuple, offsets: impl Iterator<Item = Option<i64>>, width: usize) -> String {
    let offsets: Vec<Option<i64>> = offsets.take(CELLS + 1).collect();
    if offsets.len() > CELLS {
        return format!("    more than {CELLS} offsets: print one tile\n");
    }
    // Offsets have been listed, so the products fit; an empty mode has no cell.
    let mut sizes = shape.modes().map(|mode| mode.product().unwrap_or(0));
    let (rows, columns) = (sizes.next().unwrap_or(1), sizes.next().unwrap_or(1));
    let slices: Vec<i64> = sizes.collect();
    let mut text = String::new();
    let page = usize::try_from(rows * columns).unwrap_or(usize::MAX).max(1);
    for (slice, page) in offsets.chunks(page).enumerate() {
        if !slices.is_empty() {
            let mut rest = slice as i64;
            let coordinate = slices.iter().map(|extent| {
                let digit = rest % extent;
                rest /= extent;
                digit.to_string()
            });
            let coordinate: Vec<String> = coordinate.collect();
            let _ = writeln!(text, "(_,_,{})", coordinate.join(","));
        }
        write_page(&mut text, page, rows, columns, width);
    }
    text
}

fn write_page(text: &mut String, offsets: &[Option<i64>], rows: i64, columns: i64, width: usize) {
    let mut header = String::from("    ");
    let mut divider = String::from("    ");
    for column in 0..columns {
        let _ = write!(header, "  {column:>width$} ");
        divider.push('+');
        divider.extend(std::iter::repeat_n('-', width + 2));
    }
    divider.push_str("+\n");
    text.push_str(header.trim_end());
    text.push('\n');
    for row in 0..rows {
        text.push_str(&divider);
        let _ = write!(text, "{row:>2}  ");
        for offset in offsets.iter().skip(row as usize).step_by(rows as usize) {
            let offset = offset.map(|offset| offset.to_string()).unwrap_or_default();
            let _ = write!(text, "| {offset:>width$} ");
        }
        text.push_str("|\n");
    }
    text.push_str(&divider);
}

/// The layout's text, `((2, 3):(3, 1))`, and below it its table, as Mojo's `print_layout` writes them; of a view or a tensor that
/// does not begin at offset 0 also where it begins.
///
/// ```
/// use layout_core::{Layout, draw::format_layout, tensor::View};
/// let matrix = Layout::row_major((2, 6))?;
/// assert!(format_layout(&matrix).starts_with("((2, 6):(6, 1))\n       0    1    2    3    4    5\n"));
/// let tile = View::new(matrix).tile(&[2, 2], &[0, 1])?;
/// assert_eq!(format_layout(&tile), "\
/// ((2, 2):(6, 1)) at 2
///        0    1
///     +----+----+
///  0  |  2 |  3 |
///     +----+----+
///  1  |  8 |  9 |
///     +----+----+
/// ");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn format_layout(shown: impl Into<Shown>) -> String {
    let shown = shown.into();
    // A tuple of one is written as its only mode.
    let nodes: Vec<_> = shown.layout.nodes().iter().copied().filter(|node| *node != Node::Tuple(1)).collect();
    let mut text = String::from("(");
    let _ = write_nest(&mut text, &nodes, ", ", |out, mode| write!(out, "{}", mode.shape));
    text.push(':');
    let _ = write_nest(&mut text, &nodes, ", ", |out, mode| write!(out, "{}", mode.stride));
    text.push(')');
    if shown.offset != 0 {
        let _ = write!(text, " at {}", shown.offset);
    }
    text.push('\n');
    text + &layout_table(shown)
}

/// Prints [`format_layout`] on standard output.
///
/// ```
/// use layout_core::{Layout, LayoutTensor, print_layout};
/// let matrix = LayoutTensor::new(vec![0; 12], Layout::row_major((2, 6))?)?;
/// print_layout(matrix.layout());
/// print_layout(&matrix.tile(&[2, 2], &[0, 1])?);
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn print_layout(shown: impl Into<Shown>) {
    print!("{}", format_layout(shown));
}
