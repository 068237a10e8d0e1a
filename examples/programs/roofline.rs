//! The roofline's row of each puzzle: what it computes, what it must move, and what bounds it.
//!
//! Law: operations are those that the simulator counts at the puzzle's own size; bytes are those of the tensors, each moved
//! once. The puzzles' text counts a fused multiply-add as one operation; here it is two, as everywhere in this repository.

use super::Result;
use crate::kernels::puzzles::*;
use layout_cuda::roofline::{Bound, Peaks, Work};
use layout_cuda::{Argument, Definition, Device, LaunchConfig, Options, TensorView, TensorViewMut, simulate};
use std::fmt;

/// The GPU of the puzzles' text, an RTX 4000 Ada: float32, and its memory.
pub const OF_THE_TEXT: Peaks = Peaks { flops: 26.7e12, bytes: 360e9 };
/// An H200 on paper: 132 multiprocessors of 128 fused multiply-adds a cycle at 1.98 GHz, and its memory.
pub const OF_AN_H200: Peaks = Peaks { flops: 66.9e12, bytes: 4.8e12 };

/// A puzzle under the roofs.
pub struct Row {
    /// The puzzle and its kernel.
    pub name: String,
    /// Its operations, and the bytes of its tensors.
    pub work: Work,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { name, work } = self;
        let intensity = work.intensity();
        write!(f, "  {name:<30} {:>7} {:>7} {intensity:>9.3}", work.flops, work.bytes)?;
        for peaks in [OF_THE_TEXT, OF_AN_H200] {
            let bound = match peaks.bound(intensity) {
                Bound::Memory => "memory",
                Bound::Arithmetic => "arithmetic",
            };
            write!(f, "  {:>9.1} {bound:<10}", peaks.attainable(intensity) * 1e-9)?;
        }
        Ok(())
    }
}

/// A tensor as a kernel takes it.
enum Face<'t> {
    Read1(TensorView<'t, f32, 1>),
    Read2(TensorView<'t, f32, 2>),
    Write1(TensorViewMut<'t, f32, 1>),
    Write2(TensorViewMut<'t, f32, 2>),
}

impl Face<'_> {
    fn argument(&mut self) -> Argument<'_> {
        match self {
            Face::Read1(view) => Argument::read(view),
            Face::Read2(view) => Argument::read(view),
            Face::Write1(view) => Argument::write(view),
            Face::Write2(view) => Argument::write(view),
        }
    }
}

/// The row of a kernel on tensors of zeros, of which it writes the first.
fn row(puzzle: &str, definition: &'static Definition, shapes: &[&[usize]], size: Option<i64>) -> Result<Row> {
    let device = Device::simulator();
    let len = |shape: &[usize]| shape.iter().product::<usize>();
    let mut tensors = vec![];
    for shape in shapes {
        tensors.push(device.zeros::<f32, 1>([len(shape)])?);
    }
    let mut faces = vec![];
    for (number, (tensor, shape)) in tensors.iter_mut().zip(shapes).enumerate() {
        faces.push(match (number, *shape) {
            (0, &[n]) => Face::Write1(tensor.part_mut(0, [n], [1])?),
            (0, &[m, n]) => Face::Write2(tensor.part_mut(0, [m, n], [n, 1])?),
            (_, &[n]) => Face::Read1(tensor.part(0, [n], [1])?),
            (_, &[m, n]) => Face::Read2(tensor.part(0, [m, n], [n, 1])?),
            (_, other) => {
                return Err(format!("a puzzle's tensors have one mode or two, not {}", other.len()).into());
            }
        });
    }
    let mut arguments: Vec<Argument<'_>> = faces.iter_mut().map(Face::argument).collect();
    arguments.extend(size.map(Argument::index));
    let report = simulate(definition, LaunchConfig::default(), &mut arguments, &Options::default())?;
    let bytes = 4 * shapes.iter().map(|shape| len(shape)).sum::<usize>();
    let work = Work { flops: report.totals.flops as f64, bytes: bytes as f64 };
    Ok(Row { name: format!("{puzzle} {}", definition.name), work })
}

/// Every puzzle.
///
/// # Errors
/// A launch's.
pub fn rows() -> Result<Vec<Row>> {
    let (two, eight): (&[usize], &[usize]) = (&[2, 2], &[8, 8]);
    let of = |puzzle, definition, shapes: &[&[usize]]| row(puzzle, definition, shapes, None);
    Ok(vec![
        of("p09", &pooling::DEFINITION, &[&[8], &[8]])?,
        of("p10", &dot_product::DEFINITION, &[&[1], &[8], &[8]])?,
        of("p11", &conv_1d_simple::DEFINITION, &[&[6], &[6], &[3]])?,
        of("p11", &conv_1d_block_boundary::DEFINITION, &[&[15], &[15], &[4]])?,
        of("p11", &conv_2d_halo::DEFINITION, &[&[12, 16], &[12, 16], &[3, 3]])?,
        of("p12", &prefix_sum_simple::DEFINITION, &[&[8], &[8]])?,
        of("p12", &prefix_sum_blelloch::DEFINITION, &[&[8], &[8]])?,
        of("p12", &prefix_sum_local::DEFINITION, &[&[17], &[15]])?,
        row("p12", &prefix_sum_add_totals::DEFINITION, &[&[17]], Some(15))?,
        of("p13", &row_sum::DEFINITION, &[&[4, 1], &[4, 6]])?,
        of("p13", &column_sum::DEFINITION, &[&[1, 6], &[4, 6]])?,
        of("p14", &matmul_naive::DEFINITION, &[two, two, two])?,
        of("p14", &matmul_naive::DEFINITION, &[&[3, 3], &[3, 3], &[3, 3]])?,
        of("p14", &matmul_shared::DEFINITION, &[two, two, two])?,
        of("p14", &matmul_tiled::DEFINITION, &[eight, eight, eight])?,
        of("p14", &matmul_layout_tensor::DEFINITION, &[eight, eight, eight])?,
    ])
}

/// The table that a person reads.
///
/// # Errors
/// A launch's.
pub fn table() -> Result<String> {
    let [text, h200] = [OF_THE_TEXT, OF_AN_H200].map(|peaks| peaks.critical_intensity());
    let mut lines = vec![
        format!(
            "critical intensity: {text:.1} flop/byte on the text's RTX 4000 Ada, {h200:.1} on an H200, both in float32"
        ),
        "a fused multiply-add is two operations here and one in the text, whose 3 x 3 product has 27"
            .to_owned(),
        format!(
            "  {:<30} {:>7} {:>7} {:>9}  {:<20}  {:<20}",
            "", "flop", "bytes", "flop/byte", "GFLOP/s, Ada", "GFLOP/s, H200"
        ),
    ];
    lines.extend(rows()?.iter().map(Row::to_string));
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_estimate_is_ours_with_its_own_count() {
        let rows = rows().expect("rows");
        let of = |name: &str, flops: f64| {
            rows.iter().find(|row| row.name.ends_with(name) && row.work.flops == flops).map(|row| row.work)
        };
        // 27 multiply-adds and 108 bytes: 0.25 of them a byte, 90 GFLOP/s.
        let naive = of("matmul_naive", 54.0).expect("the 3 x 3 product");
        assert_eq!((naive.flops / 2.0, naive.bytes, naive.intensity() / 2.0), (27.0, 108.0, 0.25));
        assert_eq!(OF_THE_TEXT.attainable(naive.intensity() / 2.0), 90e9);
        // What the text says of tiles in shared memory.
        let shared = Work { flops: 27.0, bytes: (36.0 + 36.0) / 3.0 + 36.0 };
        assert_eq!((shared.bytes, shared.intensity()), (60.0, 0.45));
        assert_eq!(OF_THE_TEXT.attainable(shared.intensity()), 162e9);
        assert!(rows.iter().all(|row| OF_AN_H200.bound(row.work.intensity()) == Bound::Memory));
    }
}
