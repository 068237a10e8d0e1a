//! Which device holds which element of a distributed tensor, as text and as a picture.
//!
//! Law: the cell of an element names the ranks that hold it, with a Σ where they hold terms of it; in the picture also its
//! place in their memory, the colour being that of the first of them.

use super::grid::{Cell, Grid, document};
use crate::LayoutError;
use crate::mesh::Distributed;
use std::fmt::Write;

/// The most cells of a picture.
const CELLS: i64 = 1 << 14;

/// Rows and columns: mode 0 down, all others along the columns, mode 1 fastest.
fn cells(tensor: &Distributed) -> Result<(usize, Vec<Vec<i64>>), LayoutError> {
    let extents = tensor.extents();
    let size = extents.iter().try_fold(1_i64, |size, extent| size.checked_mul(*extent));
    if size.is_none_or(|size| size > CELLS) {
        let detail =
            format!("a tensor of {extents:?}; a picture has at most {CELLS} cells: draw a smaller one");
        return Err(LayoutError::Unsupported { operation: "mesh_table", detail });
    }
    let (rows, columns) = (extents[0], extents[1..].iter().product::<i64>());
    let coordinate = |row: i64, column: i64| {
        let mut rest = column;
        let others = extents[1..].iter().map(|extent| {
            let digit = rest % extent;
            rest /= extent;
            digit
        });
        [row].into_iter().chain(others).collect()
    };
    let all = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    Ok((columns as usize, all.map(|(row, column)| coordinate(row, column)).collect()))
}

/// The ranks of a list, neighbours as `2-5`.
fn ranks(holders: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &rank in holders {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => runs.push((rank, rank)),
        }
    }
    let text = |(first, last): &(usize, usize)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    };
    runs.iter().map(text).collect::<Vec<_>>().join(",")
}

fn label(tensor: &Distributed, coordinate: &[i64]) -> Result<(String, usize), LayoutError> {
    let holders = tensor.holders(coordinate)?;
    let sign = if tensor.terms() > 1 { "Σ" } else { "" };
    Ok((format!("{sign}{}", ranks(&holders)), holders.first().copied().unwrap_or(0)))
}

/// The distribution's text, and below it a table of who holds what: a row for each coordinate of mode 0, the others along the
/// columns.
///
/// # Errors
/// [`LayoutError::Unsupported`] for more than 2^14 elements.
///
/// ```
/// use layout_core::draw::mesh_table;
/// use layout_core::mesh::{Distributed, Mesh};
///
/// let mesh = Mesh::new([("row", 2), ("column", 2)])?;
/// let tiles = Distributed::new(&mesh, [2, 4])?.split(0, ["row"])?.split(1, ["column"])?;
/// assert_eq!(mesh_table(&tiles)?, "\
/// ((2,2),(),(1,2)):((1,4),(),(0,2)) over row=2,column=2
/// 0 0 1 1
/// 2 2 3 3
/// ");
/// let sums = Distributed::new(&mesh, [1, 2])?.split(1, ["column"])?.partial(["row"])?;
/// assert!(mesh_table(&sums)?.ends_with("\nΣ0,2 Σ1,3\n"));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn mesh_table(tensor: &Distributed) -> Result<String, LayoutError> {
    let (columns, coordinates) = cells(tensor)?;
    let labels: Vec<String> =
        coordinates.iter().map(|at| Ok(label(tensor, at)?.0)).collect::<Result<_, LayoutError>>()?;
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let mut text = format!("{tensor}\n");
    for row in labels.chunks(columns.max(1)) {
        let row: Vec<String> = row.iter().map(|label| format!("{label:width$}")).collect();
        let _ = writeln!(text, "{}", row.join(" ").trim_end());
    }
    Ok(text)
}

/// The picture of who holds what, and where in memory.
///
/// # Errors
/// As [`mesh_table`].
///
/// ```
/// use layout_core::draw::mesh_svg;
/// use layout_core::mesh::{Distributed, Mesh};
/// let rows = Distributed::new(&Mesh::new([("gpu", 2)])?, [4, 4])?.split(0, ["gpu"])?;
/// let svg = mesh_svg(&rows)?;
/// assert!(svg.contains(">1</text>") && svg.contains("@7</text>"));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn mesh_svg(tensor: &Distributed) -> Result<String, LayoutError> {
    let (columns, coordinates) = cells(tensor)?;
    let cell = |at: &Vec<i64>| {
        let (ranks, first) = label(tensor, at)?;
        Ok(Cell { lines: vec![ranks, format!("@{}", tensor.place(at)?)], colour: Some(first) })
    };
    let cells = coordinates.iter().map(cell).collect::<Result<_, LayoutError>>()?;
    Ok(document(&[Grid { title: tensor.to_string(), columns, cells }], &[(0, 0)]))
}
