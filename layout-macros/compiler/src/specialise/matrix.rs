//! The matrix instructions of a warp: the tiles and accumulators that fit together.

use super::datum::{LayoutDatum, StaticValue};
use super::evaluator::{Evaluator, Outcome};
use super::tile::TileOperation;
use super::vocabulary::Call;
use crate::elem::Elem;
use crate::index::Index;
use crate::intrinsic::Intrinsic;
use crate::ir::TypeRef;
use crate::origin::Origin;
use crate::program::{Operand, Selector, Space, StatementKind, TensorCore, WARP};
use crate::view::{Mode, View};
use layout_core::{IntTuple, Layout};

impl Evaluator<'_> {
    /// A word about a warp's matrix instruction.
    pub(super) fn matrix(&mut self, call: Call<'_>) -> Outcome<StaticValue> {
        let Call { word: intrinsic, types, mut values, origin } = call;
        let name = intrinsic.name();
        if intrinsic == Intrinsic::MmaAtom {
            return self.mma_atom(types, values.remove(0), origin);
        }
        if intrinsic == Intrinsic::AccumulatorOf {
            let elem = match types {
                [ty] => self.elem(*ty, origin)?,
                _ => None,
            };
            let extents = self.sizes(values.remove(0), name, origin)?;
            return match elem {
                Some(elem @ (Elem::F32 | Elem::I32)) => self.accumulator(&extents, elem, origin),
                _ => self.fail(origin, "an accumulator of a warpgroup is of f32 or of i32"),
            };
        }
        let StaticValue::TensorCore(core) = values.remove(0) else {
            let message = format!("`{name}` applies to a matrix instruction");
            return self.fail_help(origin, message, "`let core = mma_atom::<bf16>([16, 8, 16]);`");
        };
        let threads: i64 = self.block.iter().map(|extent| i64::from(*extent)).product();
        if threads % WARP != 0 {
            return self.fail_help(
                origin,
                format!("`{name}` is about whole warps and the block has {threads} threads"),
                "make the block a multiple of 32 threads",
            );
        }
        match intrinsic {
            Intrinsic::LoadA => self.load_fragments(core, Operand::A, values, name, origin),
            Intrinsic::LoadB => self.load_fragments(core, Operand::B, values, name, origin),
            Intrinsic::LoadAScales => self.load_fragments(core, Operand::ScalesOfA, values, name, origin),
            Intrinsic::LoadBScales => self.load_fragments(core, Operand::ScalesOfB, values, name, origin),
            Intrinsic::StoreD => self.store_fragments(core, values, name, origin),
            _ => self.product_of_fragments(core, values, name, origin),
        }
    }

    /// `core.mma(&mut acc, &a, &b)` and `core.mma_scaled(&mut acc, &a, &b, &a_scales, &b_scales)`
    fn product_of_fragments(
        &mut self,
        core: TensorCore,
        mut values: Vec<StaticValue>,
        name: &str,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let right = self.view(values.remove(2), name, origin)?;
        let left = self.view(values.remove(1), name, origin)?;
        let accumulator = self.written(values.remove(0), name, origin)?;
        let core = self.with_sums(core, &accumulator);
        let [m, n] = self.fragments((core, Operand::C), &accumulator, core.sums(), None, name, origin)?;
        let [rows, steps] = self.fragments((core, Operand::A), &left, core.elem(), None, name, origin)?;
        let [columns, same] = self.fragments((core, Operand::B), &right, core.elem(), None, name, origin)?;
        if [m, n, steps] != [rows, columns, same] {
            let [tile_m, tile_n, tile_k] = core.shape();
            return self.fail_help(
                origin,
                format!(
                    "`{name}`: A of {} x {} and B of {} x {} for an accumulator of {} x {}",
                    rows * tile_m,
                    steps * tile_k,
                    same * tile_k,
                    columns * tile_n,
                    m * tile_m,
                    n * tile_n
                ),
                "A is M x K, B is K x N, the accumulator is M x N",
            );
        }
        let scales = match values.len() {
            0 if core == TensorCore::E2m1 => {
                let message = format!("`{name}` of e2m1, whose products have block scales");
                return self.fail_help(
                    origin,
                    message,
                    "`core.mma_scaled(&mut acc, &a, &b, &a_scales, &b_scales)`",
                );
            }
            0 => None,
            _ => Some(Box::new(self.scales(core, [rows, columns, steps], values, name, origin)?)),
        };
        let operation = TileOperation::Mma { core, accumulator, left, right, scales };
        self.effect(origin, StatementKind::Operation(operation))
    }

    /// The scales of a product of so many rows, columns and steps of fragments.
    fn scales(
        &mut self,
        core: TensorCore,
        [rows, columns, steps]: [i64; 3],
        mut values: Vec<StaticValue>,
        name: &str,
        origin: Origin,
    ) -> Outcome<[View; 2]> {
        let right = self.view(values.remove(1), name, origin)?;
        let left = self.view(values.remove(0), name, origin)?;
        let [elem, other] = [&left, &right].map(|view| self.tables.place(view.place).elem);
        let Some(each) = core.scales(elem).filter(|_| elem == other) else {
            let message = format!("`{name}`: scales of {elem} and {other} for operands of {}", core.name());
            return self.fail_help(origin, message, scale_types(core));
        };
        let blocks = steps * each;
        if blocks % Selector::BYTES != 0 {
            let [_, _, k] = core.shape();
            let message = format!(
                "`{name}`: a K of {} in blocks of {}; a register holds the scales of {} blocks",
                steps * k,
                k / each,
                Selector::BYTES
            );
            let help = format!("take tiles whose K is a multiple of {}", Selector::BYTES / each * k);
            return self.fail_help(origin, message, help);
        }
        for (operand, view, lines) in
            [(Operand::ScalesOfA, &left, rows), (Operand::ScalesOfB, &right, columns)]
        {
            let wanted = Some([lines, blocks / Selector::BYTES]);
            self.fragments((core, operand), view, elem, wanted, name, origin)?;
        }
        Ok([left, right])
    }

    /// `core.store_d(&mut tile, &acc)`. Which thread holds which element depends on the shape alone, so elements of any type
    /// are stored.
    fn store_fragments(
        &mut self,
        core: TensorCore,
        mut values: Vec<StaticValue>,
        name: &str,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let accumulator = self.view(values.remove(1), name, origin)?;
        let tile = self.written(values.remove(0), name, origin)?;
        let [sums, into] = [&accumulator, &tile].map(|view| self.tables.place(view.place).elem);
        if sums != into {
            let message = format!("`{name}` of sums of {sums} to a tile of {into}");
            let help = match into {
                Elem::Bool => format!("take a tile of {sums}"),
                into => format!("convert the sums: `acc.cast::<{into}>()`"),
            };
            return self.fail_help(origin, message, help);
        }
        let shape = self.atoms_of(core, Operand::C, &tile, name, origin)?;
        self.fragments((core, Operand::C), &accumulator, sums, Some(shape), name, origin)?;
        let operation = TileOperation::StoreFragments { core, destination: tile, source: accumulator };
        self.effect(origin, StatementKind::Operation(operation))
    }

    /// The instruction whose sums are those of the accumulator, where there is one.
    fn with_sums(&self, core: TensorCore, accumulator: &View) -> TensorCore {
        core.with_sums(self.tables.place(accumulator.place).elem).unwrap_or(core)
    }

    fn mma_atom(&mut self, types: &[TypeRef], shape: StaticValue, origin: Origin) -> Outcome<StaticValue> {
        let elem = match types {
            [ty] => self.elem(*ty, origin)?,
            _ => None,
        };
        let shape = self.sizes(shape, "mma_atom", origin)?;
        if let Some(core) = elem.and_then(|elem| TensorCore::of(elem, &shape)) {
            if let Some(needed) = core.needs() {
                self.needs(&format!("mma_atom::<{}>({shape:?})", core.elem()), needed, origin)?;
            }
            return Ok(StaticValue::TensorCore(core));
        }
        let message = format!(
            "there is no matrix instruction of shape {shape:?} for {}",
            elem.map_or("no type", Elem::name)
        );
        let shapes = |elem: Elem| {
            let mut shapes: Vec<String> = Vec::new();
            for core in TensorCore::ALL.into_iter().filter(|core| core.elem() == elem) {
                let shape = format!("{:?}", core.shape());
                if !shapes.contains(&shape) {
                    shapes.push(shape);
                }
            }
            (!shapes.is_empty()).then(|| shapes.join(", "))
        };
        let help = match elem.and_then(|elem| Some((elem, shapes(elem)?))) {
            Some((elem, shapes)) => format!("the shapes for {elem} are {shapes}"),
            None => {
                let known = Elem::ALL.iter().filter_map(|elem| Some(format!("{elem} {}", shapes(*elem)?)));
                format!("there are: {}", known.collect::<Vec<_>>().join("; "))
            }
        };
        self.fail_help(origin, message, help)
    }

    fn load_fragments(
        &mut self,
        core: TensorCore,
        operand: Operand,
        mut values: Vec<StaticValue>,
        name: &str,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let source = self.view(values.remove(0), name, origin)?;
        let elem = self.tables.place(source.place).elem;
        let scales = matches!(operand, Operand::ScalesOfA | Operand::ScalesOfB);
        if scales && core.scales(elem).is_none() {
            let message = format!("`{name}` of {elem} for operands of {}", core.name());
            return self.fail_help(origin, message, scale_types(core));
        }
        if !scales && elem != core.elem() {
            let message = format!("`{name}` of {elem} for an instruction of {}", core.elem());
            let fitting = TensorCore::ALL.into_iter().find(|core| core.elem() == elem);
            return match fitting.map(TensorCore::shape) {
                Some(shape) => self.fail_help(
                    origin,
                    message,
                    format!("the instruction of {elem} is `mma_atom::<{elem}>({shape:?})`"),
                ),
                None => self.fail_help(origin, message, format!("take a tile of {}", core.elem())),
            };
        }
        let source =
            if matches!(operand, Operand::B | Operand::ScalesOfB) { source.transpose() } else { source };
        let [rows, columns] = self.atoms_of(core, operand, &source, name, origin)?;
        let shape = IntTuple::flat([rows, columns * core.values(operand)]);
        let layout = match Layout::row_major(shape) {
            Ok(layout) => StaticValue::Layout(LayoutDatum { layout, swizzle: None, swizzle_bytes: None }),
            Err(error) => return self.fail(origin, error.to_string()),
        };
        let StaticValue::View(destination) = self.allocate(layout, &[TypeRef::Elem(elem)], false, origin)?
        else {
            return Err(super::evaluator::Failed);
        };
        let operation =
            TileOperation::LoadFragments { core, operand, destination: destination.clone(), source };
        self.push(origin, StatementKind::Operation(operation));
        Ok(StaticValue::View(destination))
    }

    /// The number of the instruction's tiles in a tile, along its rows and its columns.
    fn atoms_of(
        &mut self,
        core: TensorCore,
        operand: Operand,
        tile: &View,
        name: &str,
        origin: Origin,
    ) -> Outcome<[i64; 2]> {
        let extents: Vec<Option<i64>> = tile.modes.iter().map(|mode| mode.extent.as_constant()).collect();
        let [rows, columns] = core.tile(operand);
        match extents.as_slice() {
            [Some(m), Some(n)] if tile.lanes() == 1 && m % rows == 0 && n % columns == 0 => {
                Ok([m / rows, n / columns])
            }
            _ => {
                let turned = matches!(operand, Operand::B | Operand::ScalesOfB);
                let (rows, columns) = if turned { (columns, rows) } else { (rows, columns) };
                self.fail_help(
                    origin,
                    format!("`{name}` needs a tile of multiples of {rows} x {columns}"),
                    "take a `tile` whose extents are known at compile time, without `vectorize`",
                )
            }
        }
    }

    /// The fragments of `elem` that a local tensor holds: rows of them, and the number in each row.
    fn fragments(
        &mut self,
        (core, operand): (TensorCore, Operand),
        view: &View,
        elem: Elem,
        wanted: Option<[i64; 2]>,
        name: &str,
        origin: Origin,
    ) -> Outcome<[i64; 2]> {
        let values = core.values(operand);
        let place = self.tables.place(view.place);
        let local = place.space == Space::Local && place.elem == elem && view.swizzle.is_none();
        let extents: Vec<Option<i64>> = view.modes.iter().map(|mode| mode.extent.as_constant()).collect();
        if let [Some(m), Some(n)] = extents[..]
            && local
            && view.lanes() == 1
            && n % values == 0
            // A mode of one element has stride 0.
            && (n == 1 || view.modes[1].stride == Index::constant(1))
            && wanted.is_none_or(|wanted| wanted == [m, n / values])
        {
            return Ok([m, n / values]);
        }
        let space = match place.space {
            Space::Global(_) => "in global memory",
            Space::Shared { .. } => "in shared memory",
            Space::Remote { .. } => "in another block's shared memory",
            Space::Tensor { .. } => "in tensor memory",
            Space::Local => "in registers",
        };
        let extent = |mode: &Mode| match mode.extent.as_constant() {
            Some(extent) => extent.saturating_mul(mode.lanes).to_string(),
            None => "?".to_owned(),
        };
        let shape: Vec<String> = view.modes.iter().map(extent).collect();
        let vectors = if view.lanes() == 1 { "" } else { ", in vectors" };
        let found = format!("{} {space}, of shape [{}]{vectors}", place.elem, shape.join(", "));
        let expected = match wanted {
            Some([m, n]) => format!("[{m}, {}]", n * values),
            None if values == 1 => "[rows, columns]".to_owned(),
            None => format!("[rows, a multiple of {values}]"),
        };
        let [tile_m, tile_n, _] = core.shape();
        let (letter, help) = match operand {
            Operand::A => ("A", "its fragments are `core.load_a(&tile)`".to_owned()),
            Operand::B => ("B", "its fragments are `core.load_b(&tile)`".to_owned()),
            Operand::ScalesOfA => ("the scales of A", "they are `core.load_a_scales(&tile)`".to_owned()),
            Operand::ScalesOfB => ("the scales of B", "they are `core.load_b_scales(&tile)`".to_owned()),
            Operand::C => (
                if wanted.is_some() { "D" } else { "C" },
                format!(
                    "an accumulator of M x N is `local::<{elem}>(row_major([M / {tile_m}, N / {tile_n} * {values}]))`"
                ),
            ),
        };
        let verb = if letter.len() == 1 { "is" } else { "are" };
        let message = format!(
            "`{name}`: {letter} {verb} {found}; expected {elem} in registers, contiguous, of shape {expected}"
        );
        self.fail_help(origin, message, help)
    }
}

/// The types of scales that the instruction has, in words.
fn scale_types(core: TensorCore) -> String {
    let types = [(Elem::E4m3, "`e4m3`, without a sign"), (Elem::U8, "`u8`, powers of two of ue8m0")];
    let known = types.into_iter().filter_map(|(elem, words)| {
        let [_, _, k] = core.shape();
        Some(format!("{words}, one for {} of K", k / core.scales(elem)?))
    });
    match known.collect::<Vec<_>>().join("; ") {
        none if none.is_empty() => "e4m3, e5m2 and words of e2m1 have block scales".to_owned(),
        known => format!("its scales are {known}"),
    }
}
