//! Views of views: `tile`, `vectorize`, `distribute`.

use super::datum::{LayoutDatum, StaticValue};
use super::evaluator::{Evaluator, Failed, Outcome};
use super::tile::thread_coordinates;
use crate::index::Index;
use crate::origin::Origin;
use crate::program::Space;
use crate::view::View;
use layout_core::Layout;

impl Evaluator<'_> {
    pub(super) fn tile(&mut self, mut values: Vec<StaticValue>, origin: Origin) -> Outcome<StaticValue> {
        let coordinates = match values.remove(2) {
            StaticValue::Array(parts) | StaticValue::Tuple(parts) => parts,
            other => {
                return self.fail_help(
                    origin,
                    format!("the coordinates of `tile` are an array, not {}", other.kind()),
                    "extents and coordinates have one entry for each mode: `x.tile([32, 8], [i, j])`",
                );
            }
        };
        let sizes = self.sizes(values.remove(1), "tile", origin)?;
        let view = self.view(values.remove(0), "tile", origin)?;
        self.same_rank(&view, "tile", sizes.len(), origin)?;
        self.same_rank(&view, "tile", coordinates.len(), origin)?;
        if sizes.contains(&0) {
            return self.fail_help(origin, "a tile of no elements", "each extent of a tile is 1 or more");
        }
        let coordinates = self.coordinates(&view, coordinates, &sizes, origin)?;
        self.fits(&view, &sizes, &coordinates, origin)?;
        self.not_beyond((&view, "tile"), (&sizes, &sizes), &coordinates, origin)?;
        self.numbers_tiles(&view, &sizes, &coordinates, origin)?;
        let tile = view.tile(&sizes, &coordinates);
        Ok(StaticValue::View(self.index(origin, tile)?))
    }

    pub(super) fn window(&mut self, mut values: Vec<StaticValue>, origin: Origin) -> Outcome<StaticValue> {
        let start = match values.remove(2) {
            StaticValue::Array(parts) | StaticValue::Tuple(parts) => parts,
            other => {
                return self.fail(
                    origin,
                    format!("the first element of `window` is an array, not {}", other.kind()),
                );
            }
        };
        let sizes = self.sizes(values.remove(1), "window", origin)?;
        let view = self.view(values.remove(0), "window", origin)?;
        self.same_rank(&view, "window", sizes.len(), origin)?;
        self.same_rank(&view, "window", start.len(), origin)?;
        if sizes.contains(&0) {
            return self.fail_help(origin, "a window of no elements", "each extent of a window is 1 or more");
        }
        let start = self.coordinates(&view, start, &[], origin)?;
        self.not_beyond((&view, "window"), (&vec![1; sizes.len()], &sizes), &start, origin)?;
        let window = view.window(&sizes, &start);
        Ok(StaticValue::View(self.index(origin, window)?))
    }

    /// Refuses tiles of shared and local tensors that overhang: beyond their edge there is nothing to mask for.
    fn fits(&mut self, view: &View, sizes: &[i64], coordinates: &[Index], origin: Origin) -> Outcome<()> {
        let place = self.tables.place(view.place).clone();
        if matches!(place.space, Space::Global(_)) {
            return Ok(());
        }
        for (mode, (size, coordinate)) in sizes.iter().zip(coordinates).enumerate() {
            let Some(extent) = view.modes[mode].extent.as_constant() else { continue };
            let overhangs = match coordinate.as_constant() {
                Some(at) => at < 0 || at.saturating_add(1).saturating_mul(*size) > extent,
                None => extent % size != 0 || *size > extent,
            };
            if overhangs {
                let name = &place.name;
                let at = coordinate.as_constant().map(|at| format!(" at {at}")).unwrap_or_default();
                return self.fail_help(
                    origin,
                    format!("a tile of {size}{at} in mode {mode} does not fit `{name}`, whose extent there is {extent}"),
                    "choose tiles that divide the tensor, or a larger tensor",
                );
            }
        }
        Ok(())
    }

    pub(super) fn vectorize(&mut self, mut values: Vec<StaticValue>, origin: Origin) -> Outcome<StaticValue> {
        let lanes = self.sizes(values.remove(1), "vectorize", origin)?;
        let view = self.view(values.remove(0), "vectorize", origin)?;
        self.same_rank(&view, "vectorize", lanes.len(), origin)?;
        if view.lanes() != 1 {
            return self.fail(origin, "the view is vectorised already");
        }
        if lanes.contains(&0) || lanes.iter().product::<i64>() > 64 {
            return self.fail(origin, format!("vectors of {lanes:?} elements; at most 64 are possible"));
        }
        let atoms = &mut self.tables.atoms;
        let vectors = view.vectorize(&lanes, &mut |extent, by| atoms.div_ceil(extent, &Index::constant(by)));
        Ok(StaticValue::View(self.index(origin, vectors)?))
    }

    pub(super) fn distribute(
        &mut self,
        mut values: Vec<StaticValue>,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let thread = self.expect_index(values.remove(2), origin)?;
        let layout = values.remove(1);
        let view = self.view(values.remove(0), "distribute", origin)?;
        let layout = self.thread_layout(layout, "distribute", origin)?;
        self.same_rank(&view, "distribute", layout.rank(), origin)?;
        let shape: Vec<i64> = layout.leaves().map(|mode| mode.shape).collect();
        let own = thread_coordinates(&layout, &mut self.tables.atoms, &thread);
        let own = self.index(origin, own)?;
        let atoms = &mut self.tables.atoms;
        let part =
            view.distribute(&shape, &own, &mut |extent, by| atoms.div_ceil(extent, &Index::constant(by)));
        Ok(StaticValue::View(self.index(origin, part)?))
    }

    /// A layout of threads, which numbers each of `0..size` once: so each element has one owner.
    pub(super) fn thread_layout(
        &mut self,
        layout: StaticValue,
        name: &str,
        origin: Origin,
    ) -> Outcome<Layout> {
        let LayoutDatum { layout, swizzle, swizzle_bytes } = match layout {
            StaticValue::Layout(layout) => layout,
            StaticValue::Unknown => return Err(Failed),
            other => {
                return self
                    .fail(origin, format!("the threads of `{name}` are a layout, not {}", other.kind()));
            }
        };
        let whole = "`row_major([8, 4])`, `col_major([8, 4])` and `layout([8, 4], [1, 8])` number 32 threads";
        if swizzle.is_some_and(|swizzle| swizzle.bits() > 0) || swizzle_bytes.is_some() {
            return self.fail_help(
                origin,
                format!("the threads {layout} of `{name}` are swizzled"),
                "leave the swizzle out: it belongs to the shared tensor, `shared::<f32>(row_major([32, 32]).swizzle(5, 0, 5))`",
            );
        }
        if layout.size() == 0 {
            return self.fail_help(origin, format!("the threads {layout} of `{name}` are none"), whole);
        }
        if !layout.is_bijective() {
            return self.fail_help(
                origin,
                format!(
                    "the threads {layout} of `{name}` do not number each of 0 to {} once",
                    layout.size() - 1
                ),
                whole,
            );
        }
        Ok(layout)
    }

    /// Refuses other directions: `cp.async` goes from global to shared memory only.
    pub(super) fn only_to_shared(
        &mut self,
        to: &View,
        from: &View,
        name: &str,
        origin: Origin,
    ) -> Outcome<()> {
        let space = |view: &View| self.tables.place(view.place).space;
        match (space(to), space(from)) {
            (Space::Shared { .. }, Space::Global(_)) => Ok(()),
            _ => {
                let message = format!("`{name}` copies from a global tensor to a shared one");
                self.fail_help(origin, message, "use `copy_from` between other places")
            }
        }
    }

    pub(super) fn same_rank(&mut self, view: &View, name: &str, given: usize, origin: Origin) -> Outcome<()> {
        if view.rank() == given {
            return Ok(());
        }
        let place = self.tables.place(view.place).name.clone();
        let rank = view.rank();
        self.fail_help(
            origin,
            format!("`{name}` with {given} entries of a view of `{place}` of rank {rank}"),
            format!("give {rank}: one for each mode"),
        )
    }
}
