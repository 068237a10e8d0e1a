//! The matrix instructions of a warp: fragments are views of tiles, by the instructions' thread-value layouts.
//!
//! A tile is rearranged so that the thread's values are modes of a view. To load or store it is then a thread's own
//! copy, with its vectors and masks. `ldmatrix` replaces the copy where it can read the rows of shared memory: it
//! moves the same elements to the same registers.

use super::lower::{Failed, Lower, Out};
use crate::index::Index;
use crate::math::Math;
use crate::origin::Origin;
use crate::program::{
    Access, LoadMatrix, Mma, Operand, Operation, Scales, Selector, Space, Statement, StatementKind,
    TensorCore, Value, WARP,
};
use crate::view::View;

/// Bytes of a row of a matrix that `ldmatrix` loads.
const ROW_BYTES: i64 = 16;
/// Rows of it.
const ROWS: i64 = 8;

/// A new mode of a view: how many elements, and how far apart along each of the two old modes.
type Mode = (i64, Vec<i64>);

impl Lower {
    /// The fragments of a tile to registers.
    pub(super) fn load_fragments(
        &mut self,
        core: TensorCore,
        operand: Operand,
        destination: &View,
        source: &View,
        origin: Origin,
        out: &mut Out,
    ) -> Result<(), Failed> {
        if !self.load_matrices((core, operand), (destination, source), origin, out)? {
            let to = self.registers(core, operand, destination, origin)?;
            let from = self.partition(core, operand, source, origin, out)?;
            self.thread_copy((&to, &from), false, origin, out)?;
        }
        if core != TensorCore::Tf32 {
            return Ok(());
        }
        let extents = self.extents(destination, origin)?;
        self.nest(&extents, true, origin, out, &mut |this, coordinates, out| {
            let element = this.access(destination, coordinates, &[0, 0], origin)?;
            let rounded = Value::Math(Math::RoundTf32, vec![Value::Load(Box::new(element.clone()))]);
            out.push(Statement { kind: StatementKind::Store(element, rounded), origin });
            Ok(())
        })
    }

    /// An accumulator to a tile.
    pub(super) fn store_fragments(
        &mut self,
        core: TensorCore,
        destination: &View,
        source: &View,
        origin: Origin,
        out: &mut Out,
    ) -> Result<(), Failed> {
        let to = self.partition(core, Operand::C, destination, origin, out)?;
        let from = self.registers(core, Operand::C, source, origin)?;
        self.thread_copy((&to, &from), false, origin, out)
    }

    /// `accumulator += left right`, an instruction for each pair of fragments. Where several steps of K share a register of
    /// scales, the first of each come first: a selector is a constant of the instruction.
    pub(super) fn mma(
        &mut self,
        core: TensorCore,
        accumulator: &View,
        [left, right]: [&View; 2],
        scales: Option<&[View; 2]>,
        origin: Origin,
        out: &mut Out,
    ) -> Result<(), Failed> {
        let values = |operand| core.values(operand);
        let elem = scales.map(|[left, _]| self.tables.place(left.place).elem);
        // Steps that share a register of scales.
        let each = elem.and_then(|elem| core.scales(elem)).unwrap_or(Selector::BYTES);
        let shared = Selector::BYTES / each;
        let [m, n] = self.shape(accumulator, origin)?;
        let [_, k] = self.shape(left, origin)?;
        let extents = [k / values(Operand::A) / shared, m, n / values(Operand::C)];
        for first in 0..shared {
            // Products of one step of K are independent: that loop is the outermost.
            self.nest(&extents, true, origin, out, &mut |this, at, out| {
                let [group, row, column] = at else { return Ok(()) };
                let step = this.index(origin, group.scale(shared).and_then(|step| step.plus(first)))?;
                let scales = match (scales, elem) {
                    (Some([left, right]), Some(elem)) => Some(Scales {
                        elem,
                        left: this.fragment(left, row, group, values(Operand::ScalesOfA), origin)?,
                        right: this.fragment(right, column, group, values(Operand::ScalesOfB), origin)?,
                        selector: Selector { byte: (first * each) as u8, thread: 0 },
                    }),
                    (None, _) | (_, None) => None,
                };
                let mma = Mma {
                    core,
                    accumulator: this.fragment(accumulator, row, column, values(Operand::C), origin)?,
                    left: this.fragment(left, row, &step, values(Operand::A), origin)?,
                    right: this.fragment(right, column, &step, values(Operand::B), origin)?,
                    scales,
                };
                let kind = StatementKind::Operation(Operation::Mma(Box::new(mma)));
                out.push(Statement { kind, origin });
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Emits `ldmatrix` where the tile's layout and alignment allow it. Otherwise emits nothing and returns false.
    fn load_matrices(
        &mut self,
        (core, operand): (TensorCore, Operand),
        (destination, source): (&View, &View),
        origin: Origin,
        out: &mut Out,
    ) -> Result<bool, Failed> {
        if !core.has_matrix_loads() || matches!(operand, Operand::ScalesOfA | Operand::ScalesOfB) {
            return Ok(false);
        }
        let place = self.tables.place(source.place);
        let bytes = i64::from(core.elem().bytes());
        let one = Index::constant(1);
        let transposed = match [&source.modes[1].stride, &source.modes[0].stride] {
            [columns, _] if *columns == one => false,
            [_, rows] if *rows == one && bytes == 2 => true,
            _ => return Ok(false),
        };
        let width = ROW_BYTES / bytes;
        let shared = matches!(place.space, Space::Shared { .. });
        let unbroken = source.swizzle.is_none_or(|swizzle| width <= 1 << swizzle.base().min(16));
        if !shared || !unbroken || i64::from(place.align) < ROW_BYTES {
            return Ok(false);
        }
        let [rows, columns] = core.tile(operand);
        let [r, c] = self.shape(destination, origin)?;
        let c = c / core.values(operand);
        // The matrices of one fragment, in the order of its values; those in a register are one matrix's.
        let mut matrices: Vec<Vec<i64>> = Vec::new();
        let mut inside = 4 / bytes;
        for (extent, steps) in self.values(core, operand) {
            if inside > 1 {
                inside /= extent;
            } else {
                matrices.push(steps);
            }
        }
        // Four are loaded at once, if need be of two fragments that are neighbours in registers.
        let mut atoms = [1, 1];
        if matrices.len() == 1 {
            if c % 2 == 0 {
                matrices.push(vec![0, columns]);
                atoms = [1, 2];
            } else if c == 1 && r % 2 == 0 {
                matrices.push(vec![rows, 0]);
                atoms = [2, 1];
            }
        }
        if !matches!(matrices.len(), 1 | 2) {
            return Ok(false);
        }
        let shift = self.matrix_row(&matrices, transposed, origin)?;
        let modes = [(r / atoms[0], vec![atoms[0] * rows, 0]), (c / atoms[1], vec![0, atoms[1] * columns])];
        let from = source.rearrange(&shift, &modes);
        let from = self.index(origin, from)?;
        // The last element of each row, which is along K, or along the other mode where columns are received.
        let mut end = shift.clone();
        let contiguous = usize::from(!transposed);
        let last = end[contiguous].plus(width - 1);
        end[contiguous] = self.index(origin, last)?;
        let end = source.rearrange(&end, &modes);
        let end = self.index(origin, end)?;
        let extents = [modes[0].0, modes[1].0];
        if !self.rows_are_whole([&from, &end], &extents, width, origin)? {
            return Ok(false);
        }
        let part = self.steps(source, &shift, origin)?;
        let from = self.own(from, &part, "row", origin, out)?;
        let count = 1u32 << matrices.len();
        let values = i64::from(count) * 4 / bytes;
        self.nest(&extents, true, origin, out, &mut |this, at, out| {
            let mut read = this.access(&from, at, &[0, 0], origin)?;
            read.width = width as u32;
            let row = this.index(origin, at[0].scale(atoms[0]))?;
            let fragment = this.index(origin, at[1].scale(atoms[1]))?;
            let each = core.values(operand);
            let mut written = this.fragment(destination, &row, &fragment, each, origin)?;
            written.width = values as u32;
            let load = LoadMatrix { destination: written, source: read, count, transposed };
            let kind = StatementKind::Operation(Operation::LoadMatrix(load));
            out.push(Statement { kind, origin });
            Ok(())
        })?;
        Ok(true)
    }

    /// Where in the tile this thread's row of its matrix begins.
    fn matrix_row(
        &mut self,
        matrices: &[Vec<i64>],
        transposed: bool,
        origin: Origin,
    ) -> Result<Vec<Index>, Failed> {
        let lane = self.lane(origin)?;
        let row = self.atoms().rem(&lane, &Index::constant(ROWS));
        let row = self.index(origin, row)?;
        let mut shift = [Index::constant(0), Index::constant(0)];
        shift[usize::from(transposed)] = row;
        for (bit, steps) in matrices.iter().enumerate() {
            let by = Index::constant(ROWS << bit);
            let number = self.atoms().div(&lane, &by);
            let number = self.index(origin, number)?;
            let number = self.atoms().rem(&number, &Index::constant(2));
            let number = self.index(origin, number)?;
            for (mode, step) in steps.iter().enumerate() {
                let sum = shift[mode].add_scaled(&number, *step);
                shift[mode] = self.index(origin, sum)?;
            }
        }
        let names = if transposed { ["matrix_col", "matrix_row"] } else { ["matrix_row", "matrix_col"] };
        Ok(shift.iter().zip(names).map(|(index, name)| self.thread_index(name, index, origin)).collect())
    }

    /// Whether every row of 16 bytes is aligned and in range.
    fn rows_are_whole(
        &mut self,
        [view, end]: [&View; 2],
        extents: &[i64],
        width: i64,
        origin: Origin,
    ) -> Result<bool, Failed> {
        let anywhere: Vec<Index> = extents
            .iter()
            .map(|extent| match extent {
                1 => Index::constant(0),
                extent => self.counter("i", *extent, origin).1,
            })
            .collect();
        let offset = view.full_offset();
        let mut offset = self.index(origin, offset)?;
        for (mode, at) in view.modes.iter().zip(&anywhere) {
            let next = at.mul(&mode.stride).and_then(|step| offset.add(&step));
            offset = self.index(origin, next)?;
        }
        let aligned = self.tables.atoms.divisor(&offset) % width == 0;
        let first = self.access(view, &anywhere, &[0, 0], origin)?;
        let end = self.access(end, &anywhere, &[0, 0], origin)?;
        Ok(aligned && first.mask.is_empty() && end.mask.is_empty())
    }

    /// The thread's place in its warp.
    fn lane(&mut self, origin: Origin) -> Result<Index, Failed> {
        let thread = self.thread.clone();
        let lane = self.atoms().rem(&thread, &Index::constant(WARP));
        self.index(origin, lane)
    }

    /// The modes of a thread's values: extents, and steps along the rows and the columns of the tile.
    fn values(&self, core: TensorCore, operand: Operand) -> Vec<Mode> {
        self.leaves(core, operand, 1)
    }

    /// The leaves of mode `mode` of an operand's layout as steps in its tile.
    fn leaves(&self, core: TensorCore, operand: Operand, mode: usize) -> Vec<Mode> {
        let [rows, _] = core.tile(operand);
        let Some(layout) = core.layout(operand).and_then(|layout| layout.mode(mode)) else {
            return Vec::new();
        };
        let step = |stride: i64| if stride < rows { vec![stride, 0] } else { vec![0, stride / rows] };
        layout.leaves().map(|leaf| (leaf.shape, step(leaf.stride))).collect()
    }

    /// The elements of a tile that a thread holds: modes for the instruction's tiles, then for its values.
    fn partition(
        &mut self,
        core: TensorCore,
        operand: Operand,
        tile: &View,
        origin: Origin,
        out: &mut Out,
    ) -> Result<View, Failed> {
        let lane = self.lane(origin)?;
        let mut shift = [Index::constant(0), Index::constant(0)];
        let mut before = 1;
        let leaves = self.leaves(core, operand, 0);
        // Threads that differ only along a mode of stride 0 have the same elements; of a tile's two modes A's scales take the rows twice.
        let names =
            if leaves.len() == 2 { ["lane_col", "lane_row", ""] } else { ["lane_half", "", "lane_row"] };
        for ((extent, steps), name) in leaves.into_iter().zip(names) {
            if steps == [0, 0] {
                before *= extent;
                continue;
            }
            let own = self.atoms().div(&lane, &Index::constant(before));
            let own = self.index(origin, own)?;
            let own = self.atoms().rem(&own, &Index::constant(extent));
            let own = self.index(origin, own)?;
            let own = self.thread_index(name, &own, origin);
            for (mode, step) in steps.iter().enumerate() {
                let sum = shift[mode].add_scaled(&own, *step);
                shift[mode] = self.index(origin, sum)?;
            }
            before *= extent;
        }
        let [rows, columns] = core.tile(operand);
        let [r, c] = self.shape(tile, origin)?;
        let mut modes = vec![(r / rows, vec![rows, 0]), (c / columns, vec![0, columns])];
        modes.extend(self.values(core, operand));
        let view = tile.rearrange(&shift, &modes);
        let view = self.index(origin, view)?;
        let part = self.steps(tile, &shift, origin)?;
        self.own(view, &part, "own", origin, out)
    }

    /// Fragments in registers with the modes of [`Lower::partition`].
    fn registers(
        &mut self,
        core: TensorCore,
        operand: Operand,
        fragments: &View,
        origin: Origin,
    ) -> Result<View, Failed> {
        let [r, c] = self.shape(fragments, origin)?;
        let values = core.values(operand);
        let mut modes = vec![(r, vec![1, 0]), (c / values, vec![0, values])];
        let mut step = 1;
        for (extent, _) in self.values(core, operand) {
            modes.push((extent, vec![0, step]));
            step *= extent;
        }
        let view = fragments.rearrange(&[], &modes);
        self.index(origin, view)
    }

    /// Fragment `column` of row `row`.
    fn fragment(
        &mut self,
        fragments: &View,
        row: &Index,
        column: &Index,
        values: i64,
        origin: Origin,
    ) -> Result<Access, Failed> {
        let first = self.index(origin, column.scale(values))?;
        let mut access = self.access(fragments, &[row.clone(), first], &[0, 0], origin)?;
        access.width = values as u32;
        Ok(access)
    }

    /// Rows and columns of a view of rank 2; specialise has seen to it that it is one.
    fn shape(&mut self, view: &View, origin: Origin) -> Result<[i64; 2], Failed> {
        match self.extents(view, origin)?[..] {
            [rows, columns] => Ok([rows, columns]),
            _ => self.fail(origin, "a matrix instruction on a view that has not two modes", ""),
        }
    }
}
