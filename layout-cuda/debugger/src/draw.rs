//! Pictures of tensors: a window of the last two modes, with who wrote, or read, an element last.
//!
//! Law: a small tensor is whole; of a large one the window is around a coordinate, and the head says which part it is.

use crate::engine::Engine;
use layout_cuda::debug::{Access, Tensor, TensorSpace, Value};
use std::ops::Range;

/// Rows and columns of a window.
const WINDOW: [i64; 2] = [16, 8];

/// An element in a window.
pub(crate) struct Cell {
    at: Vec<i64>,
    value: Option<Value>,
    /// The last access; `None` where it was not looked for.
    written: Option<Option<Access>>,
}

impl Cell {
    pub(crate) fn name(&self) -> String {
        format!("{:?}", self.at)
    }

    /// The value, and who wrote it.
    pub(crate) fn text(&self) -> String {
        let value = self.value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        match self.written {
            None => value,
            Some(None) => format!("{value} (no one)"),
            Some(Some(written)) => format!("{value} ({written})"),
        }
    }

    fn short(&self) -> String {
        let value = self.value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        match self.written {
            None => value,
            Some(None) => format!("{value} (-)"),
            Some(Some(Access { warp, lane: Some(lane), line, .. })) => {
                format!("{value} (w{warp}.{lane}:{line})")
            }
            Some(Some(written)) => format!("{value} (copy:{})", written.line),
        }
    }
}

/// One element with its writer.
pub(crate) fn cell(engine: &mut Engine<'_, '_>, warp: u32, tensor: &Tensor, at: &[i64]) -> Cell {
    let element = tensor.element(at);
    let written = element.and_then(|at| engine.session().writers(tensor, at, at).remove(&at));
    Cell { at: at.to_vec(), value: engine.moment().element(tensor, warp, at), written: Some(written) }
}

/// The coordinates of a window around `from`: a range of each mode.
fn ranges(tensor: &Tensor, from: &[i64]) -> Vec<Range<i64>> {
    let rank = tensor.modes.len();
    let range = |(mode, (extent, _)): (usize, &(i64, i64))| {
        let at = from.get(mode).copied().unwrap_or(0).clamp(0, (extent - 1).max(0));
        let window = match rank - mode {
            1 => WINDOW[1],
            2 => WINDOW[0],
            _ => 1,
        };
        let first = if *extent <= window { 0 } else { (at - window / 2).clamp(0, extent - window) };
        first..(first + window).min(*extent)
    };
    tensor.modes.iter().enumerate().map(range).collect()
}

/// The elements of a window, row after row.
pub(crate) fn window(
    engine: &mut Engine<'_, '_>,
    warp: u32,
    tensor: &Tensor,
    from: &[i64],
    writes: Option<bool>,
) -> Vec<Cell> {
    let ranges = ranges(tensor, from);
    let mut places = vec![Vec::new()];
    for range in &ranges {
        let longer = |place: &Vec<i64>, at: i64| place.iter().copied().chain([at]).collect();
        places = places.iter().flat_map(|place| range.clone().map(move |at| longer(place, at))).collect();
    }
    let elements: Vec<i64> = places.iter().filter_map(|at| tensor.element(at)).collect();
    let by = match (writes, elements.iter().min(), elements.iter().max()) {
        (Some(true), Some(least), Some(most)) => engine.session().writers(tensor, *least, *most),
        (Some(false), Some(least), Some(most)) => engine.session().readers(tensor, *least, *most),
        _ => Default::default(),
    };
    let moment = engine.moment();
    let cell = |at: Vec<i64>| {
        let written = tensor.element(&at).and_then(|element| by.get(&element).copied());
        Cell { value: moment.element(tensor, warp, &at), written: writes.map(|_| written), at }
    };
    places.into_iter().map(cell).collect()
}

/// A tensor around a coordinate, as text.
pub(crate) fn tensor(
    engine: &mut Engine<'_, '_>,
    tensor: &Tensor,
    from: &[i64],
    writes: Option<bool>,
) -> String {
    let shape: Vec<String> =
        tensor.modes.iter().map(|(extent, stride)| format!("{extent}:{stride}")).collect();
    let space = match tensor.space {
        TensorSpace::Global(_) => "global".to_owned(),
        TensorSpace::Shared(byte) => format!("shared, from byte {byte}"),
        TensorSpace::Registers(_) => format!("registers of lane {}", tensor.lane),
        _ => "memory".to_owned(),
    };
    let ranges = ranges(tensor, from);
    let part: Vec<String> = ranges.iter().map(|range| format!("{range:?}")).collect();
    let cells = window(engine, engine.focus().warp, tensor, from, writes);
    let texts: Vec<String> = cells.iter().map(Cell::short).collect();
    let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    let columns = ranges.last().map_or(1, |range| (range.end - range.start).max(1)) as usize;
    let row = |row: &[String]| {
        let row: Vec<String> = row.iter().map(|text| format!("{text:>width$}")).collect();
        format!("  {}\n", row.join("  "))
    };
    let rows: String = texts.chunks(columns).map(row).collect();
    format!(
        "{}: {} ({}), {space}, elements [{}]\n{rows}",
        tensor.name,
        tensor.elem,
        shape.join(", "),
        part.join(", ")
    )
}
