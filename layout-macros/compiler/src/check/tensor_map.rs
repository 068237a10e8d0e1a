//! Tiles of TMA copies: their boxes and tensor maps.
//!
//! Law: every accepted tile is one that the hardware can address; every other tile is an error that names the rule.
//! Source: the CUDA driver API's `cuTensorMapEncodeTiled`.

use super::lower::{Failed, Lower, Out};
use crate::elem::Elem;
use crate::index::Index;
use crate::ir::BinaryOp;
use crate::origin::Origin;
use crate::program::{
    BarrierAt, Comparison, Operation, Place, Space, Statement, StatementKind, TensorLoad, TensorMap,
    TensorStore,
};
use crate::view::View;

/// The largest extent of a box along a mode.
const BOX: i64 = 256;

/// A tile as boxes of one map.
struct Boxes {
    map: u32,
    /// Of each box: elements from the shared view's first one, and the first coordinate of the tensor.
    parts: Vec<(i64, Vec<Index>)>,
}

/// A box of a tile.
struct BoxShape {
    /// Elements along each mode of the tile.
    extents: Vec<i64>,
    /// The tile's modes, the contiguous one first, then as the shared view has them.
    order: Vec<usize>,
    /// The mode that is cut into slabs.
    cut: usize,
    slabs: i64,
    /// Elements from slab to slab of the shared view.
    slab: i64,
    swizzle: u32,
}

impl Lower {
    pub(super) fn tensor_load(
        &mut self,
        destination: &View,
        source: &View,
        barrier: &BarrierAt,
        multicast: Option<u32>,
        origin: Origin,
        out: &mut Out,
    ) -> Result<(), Failed> {
        let boxes = self.boxes(source, destination, "tma_load", origin)?;
        let first = self.first_element(destination, "tma_load", origin)?;
        for (offset, coordinates) in boxes.parts {
            let destination = self.moved(&first, offset, origin)?;
            let (map, barrier) = (boxes.map, barrier.clone());
            let load = TensorLoad { map, destination, coordinates, barrier, multicast, hint: source.hint };
            out.push(Statement { kind: StatementKind::Operation(Operation::TensorLoad(load)), origin });
        }
        Ok(())
    }

    pub(super) fn tensor_store(
        &mut self,
        destination: &View,
        source: &View,
        adds: bool,
        origin: Origin,
        out: &mut Out,
    ) -> Result<(), Failed> {
        let name = if adds { "tma_add" } else { "tma_store" };
        let elem = self.tables.place(destination.place).elem;
        if adds && !matches!(elem, Elem::F32 | Elem::I32 | Elem::U32) {
            let message = format!("`tma_add` to elements of {elem}");
            return self.fail(origin, message, "it adds f32, i32 and u32: keep the sums in one of these");
        }
        let boxes = self.boxes(destination, source, name, origin)?;
        let first = self.first_element(source, name, origin)?;
        let hint = destination.hint;
        for (offset, coordinates) in boxes.parts {
            let source = self.moved(&first, offset, origin)?;
            let store = TensorStore { map: boxes.map, source, coordinates, hint, adds };
            out.push(Statement { kind: StatementKind::Operation(Operation::TensorStore(store)), origin });
        }
        Ok(())
    }

    /// A tile of an argument as boxes, each compact in the shared view.
    fn boxes(&mut self, global: &View, shared: &View, name: &str, origin: Origin) -> Result<Boxes, Failed> {
        let (to, from) = (self.tables.place(shared.place).clone(), self.tables.place(global.place).clone());
        let Space::Global(argument) = from.space else {
            return self.fail(
                origin,
                format!("`{name}` of `{}`, which is no argument", from.name),
                "one side is a tile of an argument, the other a `shared` tensor",
            );
        };
        if self.tables.memory(global.place) != global.place {
            let message = format!("`{name}` of `{}`, cast to {}", from.name, from.elem);
            let help = "TMA moves the argument's own type: take `bitcast` of the `shared` tensor that it is moved to";
            return self.fail(origin, message, help);
        }
        let parts = |place: &&Place| place.space == from.space && place.elem.bytes() < from.elem.bytes();
        if let Some(part) = self.tables.places.iter().find(parts) {
            let message = format!("`{name}` of `{}`, which is also cast to {}", from.name, part.elem);
            return self.fail(
                origin,
                message,
                "take `bitcast` of the `shared` tensor that it is moved to or from",
            );
        }
        if to.elem != from.elem {
            let message =
                format!("`{name}` between `{}` of {} and `{}` of {}", to.name, to.elem, from.name, from.elem);
            return self.fail(origin, message, "TMA converts nothing");
        }
        let shape = self.shape_of_box((global, shared), (&from, &to), name, origin)?;
        let BoxShape { extents: of_box, order, cut, slabs, slab, swizzle } = shape;
        let bytes = i64::from(from.elem.bytes());
        let rank = self.ranks.get(argument as usize).copied().unwrap_or(0);
        let (found, begins) = self.modes_of_tile(global, (rank, of_box.len()), (&from, name), origin)?;
        let mut modes: Vec<u32> = Vec::new();
        let mut box_extents: Vec<u32> = Vec::new();
        for mode in &order {
            if let Some(number) = found.iter().position(|found| *found == Some(*mode)) {
                modes.push(number as u32);
                box_extents.push(of_box[*mode] as u32);
            }
        }
        for number in (0..rank).filter(|number| found[*number].is_none()) {
            modes.push(number as u32);
            box_extents.push(1);
        }
        if modes.len() != rank || begins.len() != rank {
            return self.fail(
                origin,
                format!("`{name}` of a view of `{}` that is no plain tile", from.name),
                "",
            );
        }
        self.begins_aligned(&begins[modes[0] as usize], &from, name, origin)?;
        let map = TensorMap {
            argument,
            elem: from.elem,
            modes,
            extents: box_extents,
            swizzle_bytes: swizzle,
            round_tf32: false,
            stored: matches!(name, "tma_store" | "tma_add"),
        };
        let alignment = if swizzle > 0 { 8 * i64::from(swizzle) } else { 128 };
        let first = self.first_element(shared, name, origin)?;
        if self.alignment(shared, &first) % alignment.min(1024) != 0
            || slab * bytes % alignment.min(1024) != 0
        {
            return self.fail(
                origin,
                format!(
                    "`{name}`: the part of `{}` does not begin at a multiple of {alignment} bytes",
                    to.name
                ),
                "make a stage a multiple of it",
            );
        }
        let mut parts = Vec::new();
        for number in 0..slabs {
            let mut coordinates = Vec::new();
            for mode in &map.modes {
                let at = if found[*mode as usize] == Some(cut) {
                    begins[*mode as usize].plus(number * of_box[cut])
                } else {
                    Ok(begins[*mode as usize].clone())
                };
                let at = self.index(origin, at)?;
                coordinates.push(self.box_coordinate(&at, origin)?);
            }
            parts.push((number * slab, coordinates));
        }
        let known = self.maps.iter().position(|known| *known == (map.clone(), shared.place));
        let map = known.unwrap_or_else(|| {
            self.maps.push((map, shared.place));
            self.maps.len() - 1
        });
        Ok(Boxes { map: map as u32, parts })
    }

    /// The boxes that a tile is cut into, and how one is in the shared view.
    fn shape_of_box(
        &mut self,
        (global, shared): (&View, &View),
        (from, to): (&Place, &Place),
        name: &str,
        origin: Origin,
    ) -> Result<BoxShape, Failed> {
        let extents = self.extents(global, origin)?;
        let inside = self.extents(shared, origin)?;
        if global.lanes() != 1 || shared.lanes() != 1 {
            return self.fail(origin, format!("`{name}` of a vectorised view"), "leave `vectorize` out");
        }
        let contiguous = global.modes.iter().position(|mode| mode.stride == Index::constant(1));
        let Some(contiguous) = contiguous else {
            let message = format!("`{name}` of `{}` along modes of which none is contiguous", from.name);
            return self.fail(origin, message, "TMA needs one mode of stride 1 in the tile");
        };
        // The shared view has the tile's modes, or slabs of one of them first.
        let slabs = if inside.len() == extents.len() + 1 { inside[0] } else { 1 };
        let mut of_box = inside[inside.len().saturating_sub(extents.len())..].to_vec();
        let cut = |cut: &usize| {
            let whole = |mode| of_box[mode] * if mode == *cut { slabs } else { 1 };
            of_box.len() == extents.len() && (0..extents.len()).all(|mode| whole(mode) == extents[mode])
        };
        let cut = (0..extents.len()).find(cut);
        let Some(cut) = cut else {
            let message = format!(
                "`{name}` of a tile of extents {extents:?} and a part of `{}` of {inside:?}",
                to.name
            );
            let help = match extents.iter().product::<i64>() == inside.iter().product() {
                true => format!("the same elements in the tile's modes are `{}.reshape({extents:?})`", to.name),
                false => "both have the same extents, or the shared one slabs of one mode first: `[cols / 64, rows, 64]`".to_owned(),
            };
            return self.fail(origin, message, &help);
        };
        let skip = inside.len() - extents.len();
        let strides: Vec<Option<i64>> =
            shared.modes[skip..].iter().map(|mode| mode.stride.as_constant()).collect();
        let slab = if skip == 1 { shared.modes[0].stride.as_constant().unwrap_or(0) } else { 0 };
        // Slabs of rows of which each begins where the one before ends are one box; slabs of a row stay apart.
        let ends = strides[cut].and_then(|stride| stride.checked_mul(of_box[cut]));
        let one = cut != contiguous && ends == Some(slab) && extents[cut] <= BOX;
        let slabs = if one { 1 } else { slabs };
        if one {
            of_box[cut] = extents[cut];
        }
        let mut order: Vec<usize> = (0..extents.len()).collect();
        order.sort_by_key(|mode| (*mode != contiguous, strides[*mode]));
        let mut compact = 1;
        for mode in &order {
            if strides[*mode] != Some(compact) && of_box[*mode] != 1 {
                return self.fail(
                    origin,
                    format!(
                        "`{name}`: the part of `{}` is not compact with the tile's contiguous mode first",
                        to.name
                    ),
                    "TMA writes boxes densely: `row_major(..)` of the box, `.transpose()` where needed",
                );
            }
            compact *= of_box[*mode];
        }
        let bytes = i64::from(from.elem.bytes());
        let swizzle = self.swizzle_bytes(shared, name, origin)?;
        let row = of_box[contiguous] * bytes;
        if swizzle > 0 && row != i64::from(swizzle) {
            return self.fail(
                origin,
                format!("`{name}`: rows of {row} bytes with a swizzle over {swizzle}"),
                "a box's row is as long as the swizzle: cut the tile into slabs, `[cols / 64, rows, 64]`",
            );
        }
        if row % 16 != 0 {
            let message = format!("`{name}`: rows of {row} bytes; TMA moves multiples of 16");
            return self.fail(origin, message, "choose a wider tile");
        }
        if let Some(extent) = of_box.iter().find(|extent| **extent > BOX) {
            let message = format!("`{name}`: a box of {extent} elements along a mode; {BOX} are possible");
            return self.fail(origin, message, "cut the tile, or load it in two parts");
        }
        Ok(BoxShape { extents: of_box, order, cut, slabs, slab, swizzle })
    }

    /// Which of the argument's modes each mode of the tile is, and where the tile begins along each of the argument's.
    fn modes_of_tile(
        &mut self,
        global: &View,
        (rank, modes): (usize, usize),
        (from, name): (&Place, &str),
        origin: Origin,
    ) -> Result<(Vec<Option<usize>>, Vec<Index>), Failed> {
        let mut begins = Vec::new();
        let mut found = vec![None; rank];
        for (number, bound) in global.bounds.iter().enumerate() {
            let unit = |mode: &usize| bound.steps[*mode] == Index::constant(1);
            let zero = |mode: usize| bound.steps[mode] == Index::constant(0);
            let mine = (0..modes).find(unit);
            let plain = (0..modes).all(|mode| Some(mode) == mine || zero(mode));
            if number >= rank || !plain {
                return self.fail(
                    origin,
                    format!("`{name}` of a view of `{}` that is no plain tile", from.name),
                    "take the tile from the argument itself, with extents that divide the outer tile's",
                );
            }
            found[number] = mine;
            begins.push(bound.base.clone());
        }
        Ok((found, begins))
    }

    /// Refuses a box that may begin between multiples of 16 bytes along the contiguous mode.
    fn begins_aligned(
        &mut self,
        first: &Index,
        from: &Place,
        name: &str,
        origin: Origin,
    ) -> Result<(), Failed> {
        let whole = 16 / i64::from(from.elem.bytes()).min(16);
        if self.tables.atoms.divides(first, whole) {
            return Ok(());
        }
        let message = format!(
            "`{name}`: a box of `{}` that may begin between multiples of {whole} elements along the contiguous mode",
            from.name
        );
        let help = format!(
            "TMA begins a row at a multiple of 16 bytes, else the GPU stops (an illegal instruction): begin at `x / {whole} * {whole}`, take {whole} \
             elements more, and read from `x % {whole}` on"
        );
        self.fail(origin, message, &help)
    }

    /// A coordinate as the 32 bits that TMA takes: one beyond them is beyond the tensor in any case.
    fn box_coordinate(&mut self, at: &Index, origin: Origin) -> Result<Index, Failed> {
        let atoms = &self.tables.atoms;
        let least =
            Comparison { op: BinaryOp::Ge, left: at.clone(), right: Index::constant(i32::MIN.into()) };
        let most = Comparison { op: BinaryOp::Le, left: at.clone(), right: Index::constant(i32::MAX.into()) };
        let holds = |bound: &Comparison| self.facts.holds(atoms, bound);
        if atoms.range(at).fits_i32() || (holds(&least) && holds(&most)) {
            return Ok(at.clone());
        }
        let clamped = self.atoms().clamp(at, i32::MIN.into(), i32::MAX.into());
        self.index(origin, clamped)
    }
}
