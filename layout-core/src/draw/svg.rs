//! Pictures for people: a layout, a thread-value layout, a matrix atom, a swizzle with its banks.
//!
//! Law: the cell in row i, column j of a layout's picture says `L(i, j)`; of a thread-value layout's, which thread and
//! value are there, the colour being the thread's.

use super::grid::{Cell, Grid, document};
use super::shown::Shown;
use crate::analysis::{BANK_BYTES, BANKS};
use crate::atoms::MmaAtom;
use crate::{ComposedLayout, Layout, LayoutError};

/// The most cells of a picture.
const CELLS: i64 = 1 << 14;

/// A layout: offsets in a table of mode 0 by mode 1, coloured in steps of the offset modulo 8. Modes beyond the second
/// run along the columns. Of a view or a tensor the offsets are those in its storage; what is masked is an empty cell.
///
/// # Errors
/// [`LayoutError::Unsupported`] for more than 2^14 cells.
///
/// ```
/// use layout_core::{Layout, draw::layout_svg};
/// let svg = layout_svg(&Layout::row_major((2, 3))?)?;
/// assert!(svg.starts_with("<svg") && svg.contains(">5</text>"));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn layout_svg(shown: impl Into<Shown>) -> Result<String, LayoutError> {
    let shown = shown.into();
    let cell = |offset: i64| Cell::new(offset).coloured(offset.rem_euclid(8) as usize);
    Ok(document(&[Grid::offsets(shown.to_string(), shown, cell)?], &[(0, 0)]))
}

/// A swizzled layout of elements of `element_bytes`: each cell its offset and its bank, coloured by bank.
///
/// # Errors
/// As [`layout_svg`], and for an element of no bytes.
///
/// ```
/// use layout_core::draw::swizzle_svg;
/// let svg = swizzle_svg(&"Sw<2,0,2> o 0 o (4,4):(4,1)".parse()?, 4)?;
/// assert!(svg.contains(">b5</text>"));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn swizzle_svg(composed: &ComposedLayout, element_bytes: i64) -> Result<String, LayoutError> {
    if !(1..=16).contains(&element_bytes) {
        let detail = format!("elements of {element_bytes} bytes; give 1 to 16");
        return Err(LayoutError::Unsupported { operation: "swizzle_svg", detail });
    }
    let (shape, offsets) = (composed.layout().shape(), composed.offsets().map(Some));
    let grid = Grid::of(composed.to_string(), &shape, offsets, |offset| {
        // Offsets are below 2^62 and not negative; wrapping does not change the bank.
        let bank = offset.wrapping_mul(element_bytes).div_euclid(BANK_BYTES).rem_euclid(BANKS);
        Cell::new(format!("{offset}\nb{bank}")).coloured(bank as usize)
    })?;
    Ok(document(&[grid], &[(0, 0)]))
}

/// A thread-value layout over a tile of `rows` by `columns`, its indices counted down the columns: each cell its
/// thread and value, coloured by thread. Of several threads that share a cell the first is shown, with their number;
/// a cell that all share has no colour.
///
/// # Errors
/// [`LayoutError::Unsupported`] for more than 2^14 cells; [`LayoutError::Coordinate`] where the layout leaves the tile.
///
/// ```
/// use layout_core::draw::thread_value_svg;
/// let svg = thread_value_svg("C", &"((4,8),2):((16,1),8)".parse()?, 8, 8)?;
/// assert!(svg.contains(">T5</text>") && svg.contains(">V1</text>"));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn thread_value_svg(
    title: &str,
    layout: &Layout,
    rows: i64,
    columns: i64,
) -> Result<String, LayoutError> {
    Ok(document(&[thread_value_grid(title, layout, rows, columns, false)?], &[(0, 0)]))
}

/// A matrix atom: C in the corner, A to its left (M down, K across), B above it (K down, N across), its name in the
/// corner that is free.
///
/// # Errors
/// As [`thread_value_svg`].
///
/// ```
/// use layout_core::{atoms::MmaAtom, draw::mma_svg};
/// assert!(mma_svg(&MmaAtom::m16n8k16_f16()?)?.contains("mma.m16n8k16"));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn mma_svg(atom: &MmaAtom) -> Result<String, LayoutError> {
    let (m, n, k) = atom.shape;
    let a = thread_value_grid(&format!("A: {}", atom.a), &atom.a, m, k, false)?;
    let b = thread_value_grid(&format!("B: {}", atom.b), &atom.b, n, k, true)?;
    let c = thread_value_grid(&format!("C: {}", atom.c), &atom.c, m, n, false)?;
    let name = Grid { title: format!("{} ({})", atom.name, atom.types), ..Grid::default() };
    let (left, above) = (a.extent().0.max(name.extent().0), b.extent().1);
    Ok(document(&[name, a, b, c], &[(0, 0), (0, above), (left, 0), (left, above)]))
}

pub(super) fn too_large(operation: &'static str, cells: i64) -> Result<(), LayoutError> {
    if cells <= CELLS {
        return Ok(());
    }
    let detail = format!("{cells} cells; a picture has at most {CELLS}: draw one tile of it");
    Err(LayoutError::Unsupported { operation, detail })
}

/// The grid of a thread-value layout; `across` puts the tile's rows along the columns.
fn thread_value_grid(
    title: &str,
    layout: &Layout,
    rows: i64,
    columns: i64,
    across: bool,
) -> Result<Grid, LayoutError> {
    let size =
        rows.checked_mul(columns).filter(|size| rows > 0 && columns > 0 && *size >= 0).unwrap_or(i64::MAX);
    too_large("thread_value_svg", size)?;
    too_large("thread_value_svg", layout.size() / 128)?;
    let mut owners: Vec<Vec<(i64, i64)>> = vec![Vec::new(); size as usize];
    let threads = layout.mode(0).map_or(1, |mode| mode.size()).max(1);
    for (i, element) in (0..).zip(layout.offsets()) {
        let owner = usize::try_from(element).ok().and_then(|element| owners.get_mut(element));
        let error = LayoutError::Coordinate { mode: 0, coordinate: element, extent: size };
        owner.ok_or(error)?.push((i % threads, i / threads));
    }
    let cell = |element: i64| match owners.get(element as usize).map(Vec::as_slice) {
        Some([(_, value), others @ ..]) if threads > 1 && others.len() as i64 + 1 == threads => {
            Cell { lines: vec!["all".into(), format!("V{value}")], colour: None }
        }
        Some([(thread, value), others @ ..]) => {
            let more = if others.is_empty() { String::new() } else { format!("+{}", others.len()) };
            let lines = vec![format!("T{thread}{more}"), format!("V{value}")];
            Cell { lines, colour: usize::try_from(*thread).ok() }
        }
        _ => Cell::default(),
    };
    let (down, wide) = if across { (columns, rows) } else { (rows, columns) };
    let places =
        (0..down).flat_map(|i| (0..wide).map(move |j| if across { j + i * rows } else { i + j * rows }));
    Ok(Grid { title: title.into(), columns: wide as usize, cells: places.map(cell).collect() })
}
