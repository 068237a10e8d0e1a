//! The matrix instructions of a warp: which tiles and accumulators go together.

use super::datum::{Datum, LayoutDatum};
use super::evaluator::{Evaluator, Outcome};
use super::tile::TileOperation;
use super::vocabulary::Call;
use crate::kernel::elem::Elem;
use crate::kernel::index::Index;
use crate::kernel::intrinsic::Intrinsic;
use crate::kernel::ir::TypeRef;
use crate::kernel::origin::Origin;
use crate::kernel::program::{Operand, Space, StatementKind, TensorCore, WARP};
use crate::kernel::view::View;
use crate::{IntTuple, Layout};

impl Evaluator<'_> {
    /// A word about a warp's matrix instruction.
    pub(super) fn matrix(&mut self, call: Call<'_>) -> Outcome<Datum> {
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
        let Datum::TensorCore(core) = values.remove(0) else {
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
            Intrinsic::StoreD => {
                let accumulator = self.view(values.remove(1), name, origin)?;
                let tile = self.written(values.remove(0), name, origin)?;
                let core = self.with_sums(core, &accumulator);
                let found = self.tables.place(tile.place).elem;
                if found != core.sums() {
                    let message = format!("`{name}` of sums of {} to a tile of {found}", core.sums());
                    return self.fail_help(origin, message, "convert the sums: `acc.cast::<bf16>()`");
                }
                let shape = self.atoms_of(core, Operand::C, &tile, name, origin)?;
                self.fragments(core, Operand::C, &accumulator, Some(shape), name, origin)?;
                let operation =
                    TileOperation::StoreFragments { core, destination: tile, source: accumulator };
                self.effect(origin, StatementKind::Operation(operation))
            }
            _ => {
                let right = self.view(values.remove(2), name, origin)?;
                let left = self.view(values.remove(1), name, origin)?;
                let accumulator = self.written(values.remove(0), name, origin)?;
                let core = self.with_sums(core, &accumulator);
                let [m, n] = self.fragments(core, Operand::C, &accumulator, None, name, origin)?;
                let [rows, steps] = self.fragments(core, Operand::A, &left, None, name, origin)?;
                let [columns, same] = self.fragments(core, Operand::B, &right, None, name, origin)?;
                if [m, n, steps] != [rows, columns, same] {
                    let [tile_m, tile_n, tile_k] = core.shape();
                    return self.fail(
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
                    );
                }
                let operation = TileOperation::Mma { core, accumulator, left, right };
                self.effect(origin, StatementKind::Operation(operation))
            }
        }
    }

    /// The instruction whose sums are those of the accumulator, where there is one.
    fn with_sums(&self, core: TensorCore, accumulator: &View) -> TensorCore {
        core.with_sums(self.tables.place(accumulator.place).elem).unwrap_or(core)
    }

    fn mma_atom(&mut self, types: &[TypeRef], shape: Datum, origin: Origin) -> Outcome<Datum> {
        let elem = match types {
            [ty] => self.elem(*ty, origin)?,
            _ => None,
        };
        let shape = self.sizes(shape, "mma_atom", origin)?;
        let known = "f64 [8, 8, 4], f32 and u32 [16, 8, 8], f16 and bf16 [16, 8, 16], \
                     i8, u8, e4m3 and e5m2 [16, 8, 32]";
        match elem.and_then(TensorCore::of) {
            Some(core) if core.shape() == *shape => Ok(Datum::TensorCore(core)),
            _ => {
                let elem = elem.map_or("no type", Elem::name);
                let message = format!("there is no matrix instruction of shape {shape:?} for {elem}");
                self.fail_help(origin, message, format!("there are: {known}"))
            }
        }
    }

    fn load_fragments(
        &mut self,
        core: TensorCore,
        operand: Operand,
        mut values: Vec<Datum>,
        name: &str,
        origin: Origin,
    ) -> Outcome<Datum> {
        let source = self.view(values.remove(0), name, origin)?;
        let elem = self.tables.place(source.place).elem;
        if elem != core.elem() {
            return self.fail(origin, format!("`{name}` of {elem} for an instruction of {}", core.elem()));
        }
        let source = if operand == Operand::B { source.transpose() } else { source };
        let [rows, columns] = self.atoms_of(core, operand, &source, name, origin)?;
        let shape = IntTuple::flat([rows, columns * core.values(operand)]);
        let layout = match Layout::row_major(shape) {
            Ok(layout) => Datum::Layout(LayoutDatum { layout, swizzle: None, swizzle_bytes: None }),
            Err(error) => return self.fail(origin, error.to_string()),
        };
        let Datum::View(destination) = self.allocate(layout, &[TypeRef::Elem(elem)], false, origin)? else {
            return Err(super::evaluator::Failed);
        };
        let operation =
            TileOperation::LoadFragments { core, operand, destination: destination.clone(), source };
        self.push(origin, StatementKind::Operation(operation));
        Ok(Datum::View(destination))
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
                let (rows, columns) = if operand == Operand::B { (columns, rows) } else { (rows, columns) };
                self.fail_help(
                    origin,
                    format!("`{name}` needs a tile of multiples of {rows} x {columns}"),
                    "take a `tile` whose extents are known at compile time, without `vectorize`",
                )
            }
        }
    }

    /// The fragments that a local tensor holds: rows of them, and the number in each row.
    fn fragments(
        &mut self,
        core: TensorCore,
        operand: Operand,
        view: &View,
        wanted: Option<[i64; 2]>,
        name: &str,
        origin: Origin,
    ) -> Outcome<[i64; 2]> {
        let elem = if operand == Operand::C { core.sums() } else { core.elem() };
        let values = core.values(operand);
        let place = self.tables.place(view.place);
        let local = place.space == Space::Local && place.elem == elem && view.swizzle.is_none();
        let extents: Vec<Option<i64>> = view.modes.iter().map(|mode| mode.extent.as_constant()).collect();
        if let [Some(m), Some(n)] = extents[..]
            && local
            && view.lanes() == 1
            && n % values == 0
            && view.modes[1].stride == Index::constant(1)
            && wanted.is_none_or(|wanted| wanted == [m, n / values])
        {
            return Ok([m, n / values]);
        }
        let shape = match wanted {
            Some([m, n]) => format!("[{m}, {}]", n * values),
            None => format!("[.., multiple of {values}]"),
        };
        self.fail_help(
            origin,
            format!("`{name}` needs a local tensor of {elem} of shape {shape}"),
            format!(
                "an accumulator of M x N is `local::<{}>(row_major([M / {}, N / 8 * {}]))`",
                core.sums(),
                core.shape()[0],
                core.values(Operand::C)
            ),
        )
    }
}
