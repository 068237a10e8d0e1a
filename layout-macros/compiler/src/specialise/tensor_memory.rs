//! Allocations in tensor memory, and what every kernel with one does before and after its own statements.
//!
//! ```text
//! warp 0: allocate, address to shared memory        the kernel's statements
//! fence | barrier | fence                           fence | barrier | fence
//! every thread reads the address                    warp 0: free
//! ```
//! Law: the columns of the allocations follow one another; all of them are allocated once, for the whole kernel.

use super::datum::StaticValue;
use super::evaluator::{Evaluator, Outcome, TileStatement};
use super::tile::{TileAccess, TileOperation};
use super::vocabulary::Call;
use crate::arch::Feature;
use crate::elem::Elem;
use crate::index::{Index, VarId};
use crate::intrinsic::Intrinsic;
use crate::ir::{BinaryOp, TypeRef};
use crate::origin::Origin;
use crate::program::tensor_memory::{self, COLUMNS, LANE, LANES};
use crate::program::{
    BarrierAt, Comparison, Participants, Place, PlaceId, Signal, Space, Statement, StatementKind,
    TensorProduct, Value, VariableKind, WARP,
};
use crate::view::View;

impl Evaluator<'_> {
    /// A word about tensor memory.
    pub(super) fn tensor_word(&mut self, call: Call<'_>) -> Outcome<StaticValue> {
        let Call { word: intrinsic, types, values, origin } = call;
        let name = intrinsic.name();
        let mut values = values.into_iter();
        let mut next = || values.next().unwrap_or(StaticValue::Unknown);
        let signal = match intrinsic {
            Intrinsic::TensorMemory => {
                let extents = self.sizes(next(), name, origin)?;
                return self.tensor_memory(&extents, types, origin);
            }
            Intrinsic::Tcgen05Mma => {
                let d = self.written(next(), name, origin)?;
                let (a, b) = (self.view(next(), name, origin)?, self.view(next(), name, origin)?);
                let elem = self.tables.place(b.place).elem;
                if elem.is_integer() {
                    self.needs(&format!("{name}` of `{elem}"), Feature::Tcgen05Integers, origin)?;
                }
                let accumulate = self.coerce(next(), Elem::Bool, origin)?;
                let product = TileOperation::TensorProduct { d, a, b, accumulate };
                return self.effect(origin, StatementKind::Operation(product));
            }
            Intrinsic::Tcgen05Load | Intrinsic::Tcgen05Store => {
                let to = self.written(next(), name, origin)?;
                let from = self.view(next(), name, origin)?;
                let stores = intrinsic == Intrinsic::Tcgen05Store;
                let (tensor, registers) = if stores { (to, from) } else { (from, to) };
                let moved = TileOperation::TensorMove { stores, tensor, registers };
                return self.effect(origin, StatementKind::Operation(moved));
            }
            Intrinsic::Tcgen05Commit => Signal::TensorCommit { barrier: self.barrier(next(), name, origin)? },
            Intrinsic::Tcgen05FenceBefore => Signal::TensorFence { after: false },
            Intrinsic::Tcgen05FenceAfter => Signal::TensorFence { after: true },
            Intrinsic::Tcgen05WaitLoad => Signal::TensorWait { stores: false },
            Intrinsic::Tcgen05WaitStore => Signal::TensorWait { stores: true },
            _ => return self.meaningless(name, origin),
        };
        self.effect(origin, StatementKind::Signal(signal))
    }

    /// `tensor_memory::<f32>([m, n])`: modes of the warps of a warpgroup, of a warp's rows, and of columns.
    fn tensor_memory(&mut self, extents: &[i64], types: &[TypeRef], origin: Origin) -> Outcome<StaticValue> {
        let elem = match types {
            [ty] => self.elem(*ty, origin)?,
            _ => None,
        };
        let known = |elem: &Elem| *elem == Elem::I32 || TensorProduct::kind(*elem).is_some();
        let Some(elem) = elem.filter(known) else {
            let message = "tensor memory holds sums, which are of f32 or i32, and left operands of f16, bf16, e4m3, e5m2, i8 and u8";
            return self.fail_help(origin, message, "`tensor_memory::<f32>([128, 64])`");
        };
        let shape = <[i64; 2]>::try_from(extents).ok();
        let Some([rows, columns]) = shape.filter(|[m, n]| matches!(m, 64 | 128) && *n > 0) else {
            let message = format!("tensor memory of extents {extents:?}");
            let help = "a product has 64 or 128 rows, and columns: `tensor_memory::<f32>([128, 64])`";
            return self.fail_help(origin, message, help);
        };
        let packed = tensor_memory::packed(elem);
        if columns % packed != 0 {
            let message = format!("tensor memory of rows of {columns} elements of {elem}");
            let help = format!("a column has 32 bits: give a row a multiple of {packed} elements");
            return self.fail_help(origin, message, &help);
        }
        let threads: i64 = self.block.iter().map(|extent| i64::from(*extent)).product();
        if threads % WARP != 0 {
            return self.fail_help(
                origin,
                format!("a warp allocates tensor memory and the block has {threads} threads"),
                "make the block a multiple of 32 threads",
            );
        }
        let (base, first) = self.tensor_columns().unwrap_or((None, 0));
        let total = i64::from(first).saturating_add(columns / packed);
        if total > i64::from(COLUMNS) {
            return self.fail_help(
                origin,
                format!("the block's tensor memory reaches {total} columns, a multiprocessor has {COLUMNS}"),
                "choose fewer columns, or fewer accumulators",
            );
        }
        let base = match base {
            Some(base) => base,
            None => self.unnamed("tensor_memory", VariableKind::Elem(Elem::U32), false, origin),
        };
        let id = PlaceId(self.tables.places.len() as u32);
        self.tables.places.push(Place {
            name: "tensor_memory".to_owned(),
            space: Space::Tensor { base, column: first },
            elem,
            len: u64::from(LANES) * columns as u64,
            align: 4,
            mutable: true,
            origin,
        });
        let numbers = |list: [i64; 3]| list.map(Index::constant).to_vec();
        // In elements: the check divides addresses by those of a column.
        let lane = LANE * packed;
        let (extents, strides) = (numbers([4, rows / 4, columns]), numbers([32 * lane, lane, 1]));
        Ok(StaticValue::View(View::whole(id, extents, strides, true)))
    }

    /// The variable of the address and the columns in use, where there are any.
    fn tensor_columns(&self) -> Option<(Option<VarId>, u32)> {
        let mut found = self.tables.places.iter().filter_map(|place| match place.space {
            Space::Tensor { base, column } => {
                let columns = place.len / u64::from(LANES) / tensor_memory::packed(place.elem) as u64;
                Some((Some(base), column + columns as u32))
            }
            Space::Global(_) | Space::Shared { .. } | Space::Remote { .. } | Space::Local => None,
        });
        found.next_back()
    }

    /// Allocates before the kernel's statements what they use, and frees it after them.
    pub(super) fn tensor_memory_around(&mut self, thread: &Index) {
        let Some((Some(base), columns)) = self.tensor_columns() else { return };
        let origin = self.tables.variables[base.0 as usize].origin;
        let Ok(space) = self.shared_memory(4, 4, origin) else { return };
        let place = PlaceId(self.tables.places.len() as u32);
        self.tables.places.push(Place {
            name: "tensor_memory_address".to_owned(),
            space,
            elem: Elem::U32,
            len: 1,
            align: 4,
            mutable: true,
            origin,
        });
        let statement = |kind| Statement { kind, origin };
        let one_warp = |signal: Signal| -> TileStatement {
            let own = vec![statement(StatementKind::Signal(signal))];
            let first = Comparison { op: BinaryOp::Lt, left: thread.clone(), right: Index::constant(WARP) };
            statement(StatementKind::If(Value::Compare(first), own, Vec::new()))
        };
        let fence = |after| statement(StatementKind::Signal(Signal::TensorFence { after }));
        let barrier = || statement(StatementKind::Barrier(Participants::Block));
        let number = Index::constant;
        let view = View::whole(place, vec![number(1)], vec![number(1)], true);
        let address = TileAccess { view, coordinates: vec![number(0)], origin };
        let read = StatementKind::Let(base, Some(Value::Load(Box::new(address))));
        let address = BarrierAt { place, index: number(0) };
        let before = [
            one_warp(Signal::TensorAllocate { columns, address }),
            fence(false),
            barrier(),
            fence(true),
            statement(read),
        ];
        self.out.splice(0..0, before);
        let after = [fence(false), barrier(), fence(true), one_warp(Signal::TensorFree { columns, base })];
        self.out.extend(after);
    }
}
