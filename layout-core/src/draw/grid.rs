//! A grid of labelled, coloured cells as an SVG document: what every picture here is made of.
//!
//! Law: the document's view box holds every cell and every label; cells are wide enough for their longest line in a size
//! that can be read. Readable on light and on dark pages: the ground is transparent, the labels follow the page.

use std::fmt::Write;

/// The height of a cell, in user units, and its width at least.
pub(super) const CELL: usize = 40;
/// The least size of a cell's text. A digit is about 0.6 of its size wide.
const SMALL: usize = 9;
/// The margin that holds row and column numbers and the title.
pub(super) const MARGIN: usize = 38;

/// One cell: up to two lines of text, and a colour by number; no number is white.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    pub(super) lines: Vec<String>,
    pub(super) colour: Option<usize>,
}

/// A titled grid at a place in the picture.
#[derive(Clone, Debug, Default)]
pub(super) struct Grid {
    pub(super) title: String,
    pub(super) columns: usize,
    /// Row by row.
    pub(super) cells: Vec<Cell>,
}

impl Grid {
    pub(super) fn rows(&self) -> usize {
        self.cells.len().div_ceil(self.columns.max(1))
    }

    /// The width of every cell: a longer line makes them wider than high.
    fn cell_width(&self) -> usize {
        let lines = self.cells.iter().flat_map(|cell| &cell.lines);
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
            let longest = cell.lines.iter().map(|line| line.chars().count()).max().unwrap_or(1).max(1);
            let size = ((wide - 4) * 10 / (6 * longest)).clamp(SMALL, 14);
            let first = cy + CELL / 2 + size / 3 - (cell.lines.len().saturating_sub(1)) * size * 6 / 10;
            for (line, text) in cell.lines.iter().enumerate() {
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
