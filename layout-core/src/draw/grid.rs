//! A grid of labelled, coloured cells as an SVG document: what every picture here is made of.
//!
//! Law: the document's view box holds every cell and every label; cells are wide enough for their longest line in a size
//! that can be read. Readable on light and on dark pages: the ground is transparent, the labels follow the page.

use super::shown::Shown;
use super::svg::too_large;
use crate::{IntTuple, LayoutError};
use std::fmt::Write;

/// The height of a cell, in user units, and its width at least.
pub(super) const CELL: usize = 40;
/// The least size of a cell's text. A digit is about 0.6 of its size wide.
const SMALL: usize = 9;
/// The margin that holds row and column numbers and the title.
pub(super) const MARGIN: usize = 38;

/// One cell: up to two lines of text, and a colour by number; no number is white.
///
/// ```
/// use layout_core::draw::Cell;
/// let cell = Cell::new("T3").coloured(1);
/// assert_eq!((cell.lines, cell.colour), (vec!["T3".to_owned()], Some(1)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The text; further lines than two are not drawn.
    pub lines: Vec<String>,
    /// The colour's number.
    pub colour: Option<usize>,
}

impl Cell {
    /// A white cell; each line of the text is one of its lines.
    ///
    /// ```
    /// # use layout_core::draw::Cell;
    /// assert_eq!(Cell::new("T3\nV0").lines.len(), 2);
    /// ```
    pub fn new(text: impl ToString) -> Self {
        Self { lines: text.to_string().lines().map(str::to_owned).collect(), colour: None }
    }

    /// The lines that are drawn.
    fn shown(&self) -> impl Iterator<Item = &String> {
        self.lines.iter().take(2)
    }

    /// The same cell in a colour.
    ///
    /// ```
    /// # use layout_core::draw::Cell;
    /// assert_eq!(Cell::default().coloured(2).colour, Some(2));
    /// ```
    #[must_use]
    pub fn coloured(self, number: usize) -> Self {
        Self { colour: Some(number), ..self }
    }
}

/// A titled grid of cells, for [`grids_svg`].
///
/// ```
/// use layout_core::draw::{Cell, Grid};
/// let grid = Grid::new("3 x 2", 3, 2, |row, column| Cell::new(row * 2 + column));
/// assert_eq!(grid.cells[3].lines, ["3"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// What is above the grid; a grid of no cells has only that.
    pub title: String,
    /// The cells of a row.
    pub columns: usize,
    /// Row by row.
    pub cells: Vec<Cell>,
}

impl Grid {
    /// A grid whose cells are a function of row and column.
    ///
    /// ```
    /// # use layout_core::draw::{Cell, Grid};
    /// assert_eq!(Grid::new("", 4, 5, |_, _| Cell::default()).cells.len(), 20);
    /// ```
    pub fn new(
        title: impl Into<String>,
        rows: usize,
        columns: usize,
        cell: impl Fn(usize, usize) -> Cell,
    ) -> Self {
        let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        Self { title: title.into(), columns, cells: cells.map(|(row, column)| cell(row, column)).collect() }
    }

    /// The offsets of a layout, a view or a tensor: mode 0 down, all others along the columns. `cell` says what an offset's cell is;
    /// what is masked has an empty one.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] for more than 2^14 cells.
    ///
    /// ```
    /// # use layout_core::{Layout, draw::{Cell, Grid}};
    /// let grid = Grid::offsets("columns", &Layout::col_major((2, 3))?, Cell::new)?;
    /// assert_eq!(grid.cells[1].lines, ["2"]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn offsets(
        title: impl Into<String>,
        shown: impl Into<Shown>,
        cell: impl Fn(i64) -> Cell,
    ) -> Result<Self, LayoutError> {
        let shown = shown.into();
        Self::of(title, &shown.layout.shape(), shown.offsets(), cell)
    }

    /// The same of any offsets of this shape, in the order of the linear index.
    pub(super) fn of(
        title: impl Into<String>,
        shape: &IntTuple,
        offsets: impl Iterator<Item = Option<i64>>,
        cell: impl Fn(i64) -> Cell,
    ) -> Result<Self, LayoutError> {
        let size = shape.product()?;
        too_large("layout_svg", size)?;
        // Of an empty layout any number of rows may be left, with nothing in them.
        let rows = if size == 0 { 0 } else { shape.mode(0).map_or(Ok(1), |mode| mode.product())? };
        let columns = size.checked_div(rows).unwrap_or(0);
        let down: Vec<Cell> = offsets.map(|offset| offset.map(&cell).unwrap_or_default()).collect();
        let (rows, columns) = (rows as usize, columns as usize);
        let at = |row: usize, column: usize| down.get(row + column * rows).cloned().unwrap_or_default();
        Ok(Self::new(title, rows, columns, at))
    }

    pub(super) fn rows(&self) -> usize {
        self.cells.len().div_ceil(self.columns.max(1))
    }

    /// The width of every cell: a longer line makes them wider than high.
    fn cell_width(&self) -> usize {
        let lines = self.cells.iter().flat_map(Cell::shown);
        let longest = lines.map(|line| line.chars().count()).max().unwrap_or(0);
        CELL.max(longest * SMALL * 6 / 10 + 6)
    }

    /// Width and height with margins. Titles that are wider than the grid count too.
    pub(super) fn extent(&self) -> (usize, usize) {
        let title = self.title.chars().count() * 8 + MARGIN;
        ((self.columns * self.cell_width() + 2 * MARGIN).max(title), self.rows() * CELL + 2 * MARGIN)
    }

    fn write(&self, out: &mut String, x: usize, y: usize) {
        let (left, top, wide) = (x + MARGIN, y + MARGIN, self.cell_width());
        let _ = writeln!(
            out,
            r#"<text class="layout-title" x="{left}" y="{}">{}</text>"#,
            y + 16,
            escape(&self.title)
        );
        for column in 0..self.columns {
            let (cx, cy) = (left + column * wide + wide / 2, top - 5);
            let _ = writeln!(out, r#"<text class="layout-axis" x="{cx}" y="{cy}">{column}</text>"#);
        }
        for row in 0..self.rows() {
            let cy = top + row * CELL + CELL / 2 + 4;
            let _ = writeln!(out, r#"<text class="layout-axis" x="{}" y="{cy}">{row}</text>"#, left - 12);
        }
        for (i, cell) in self.cells.iter().enumerate() {
            let (cx, cy) = (left + i % self.columns.max(1) * wide, top + i / self.columns.max(1) * CELL);
            let fill = cell.colour.map_or_else(|| "#ffffff".to_string(), colour);
            let _ = writeln!(
                out,
                r##"<rect x="{cx}" y="{cy}" width="{wide}" height="{CELL}" fill="{fill}" stroke="#555"/>"##
            );
            let longest = cell.shown().map(|line| line.chars().count()).max().unwrap_or(1).max(1);
            let size = ((wide - 4) * 10 / (6 * longest)).clamp(SMALL, 14);
            let first = cy + CELL / 2 + size / 3 - cell.shown().count().saturating_sub(1) * size * 6 / 10;
            for (line, text) in cell.shown().enumerate() {
                let (tx, ty) = (cx + wide / 2, first + line * size * 12 / 10);
                let _ = writeln!(
                    out,
                    r#"<text class="layout-cell" x="{tx}" y="{ty}" font-size="{size}">{}</text>"#,
                    escape(text)
                );
            }
        }
    }
}

/// Grids in rows and columns: each as wide as the widest of its column, as high as the highest of its row.
///
/// # Errors
/// [`LayoutError::Unsupported`] for more than 2^14 cells.
///
/// ```
/// use layout_core::Layout;
/// use layout_core::draw::{Cell, Grid, grids_svg};
/// let grid = |title: &str, layout| Grid::offsets(title, &layout, Cell::new);
/// let pair = [grid("by rows", Layout::row_major((2, 3))?)?, grid("by columns", Layout::col_major((2, 3))?)?];
/// assert_eq!(grids_svg(&[&pair])?.matches("<rect").count(), 12);
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn grids_svg(rows: &[&[Grid]]) -> Result<String, LayoutError> {
    let all = || rows.iter().flat_map(|row| row.iter());
    too_large("grids_svg", all().map(|grid| grid.cells.len() as i64).sum())?;
    let columns = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let wide =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|grid| grid.extent().0).max();
    let lefts: Vec<usize> = (0..columns)
        .scan(0, |left, column| {
            let own = *left;
            *left += wide(column).unwrap_or(0);
            Some(own)
        })
        .collect();
    let (mut places, mut top) = (Vec::new(), 0);
    for row in rows {
        places.extend(lefts.iter().take(row.len()).map(|left| (*left, top)));
        top += row.iter().map(|grid| grid.extent().1).max().unwrap_or(0);
    }
    Ok(document(&all().cloned().collect::<Vec<_>>(), &places))
}

/// The document with each grid at its place; `places` are the grids' upper left corners.
pub(super) fn document(grids: &[Grid], places: &[(usize, usize)]) -> String {
    let far = grids.iter().zip(places).map(|(grid, (x, y))| (x + grid.extent().0, y + grid.extent().1));
    let (width, height) = far.fold((1, 1), |(w, h), (x, y)| (w.max(x), h.max(y)));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"monospace\" text-anchor=\"middle\">\n<style>\n\
         .layout-title {{ font-size: 13px; text-anchor: start; fill: #222; }}\n.layout-axis {{ font-size: 11px; fill: #666; }}\n\
         .layout-cell {{ fill: #111; }}\n@media (prefers-color-scheme: dark) {{ .layout-title {{ fill: #eee; }} \
         .layout-axis {{ fill: #aaa; }} }}\n</style>\n"
    );
    for (grid, (x, y)) in grids.iter().zip(places) {
        grid.write(&mut out, *x, *y);
    }
    out.push_str("</svg>\n");
    out
}

/// A light colour for a number; the first 32 are all different, neighbours far apart in hue.
pub(super) fn colour(number: usize) -> String {
    // Hues in steps of 3/8 of the circle, in four rounds of eight that differ in how full and how light they are.
    const ROUNDS: [(f64, f64); 4] = [(0.85, 0.80), (0.45, 0.72), (0.90, 0.90), (0.30, 0.80)];
    let round = number / 8 % 4;
    let hue = (number * 3 % 8 * 45 + round * 11) as f64;
    let (saturation, lightness) = ROUNDS[round];
    let chroma = (1.0 - (2.0 * lightness - 1.0_f64).abs()) * saturation;
    let channel = |shift: f64| {
        let k = (shift + hue / 30.0) % 12.0;
        let value = lightness - chroma / 2.0 * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
        (value * 255.0).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(0.0), channel(8.0), channel(4.0))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
