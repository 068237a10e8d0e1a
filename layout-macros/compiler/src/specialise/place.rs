//! Places, which are allocations: tensors in shared memory and in registers, and names for parts of them.
//!
//! Law: a place holds every offset of its layout, with or without a swizzle. The block's places follow one another,
//! each at its alignment, and fit the architecture's limit.

use super::datum::StaticValue;
use super::evaluator::{Evaluator, Outcome};
use super::tile::TileAccess;
use crate::index::{Atom, Index};
use crate::ir::{Special, TypeRef};
use crate::origin::Origin;
use crate::program::{Comparison, Place, PlaceId, Space, StatementKind, Value, VariableKind};
use crate::view::View;
use layout_core::Swizzle;

/// The most elements of a local tensor: no register file holds more.
const MAX_LOCAL_ELEMENTS: i64 = 1024;

impl Evaluator<'_> {
    pub(super) fn allocate(
        &mut self,
        layout: StaticValue,
        types: &[TypeRef],
        shared: bool,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let what = if shared { "shared" } else { "local" };
        let StaticValue::Layout(layout) = layout else {
            return self.fail_help(
                origin,
                format!("`{what}` takes a layout, not {}", layout.kind()),
                format!("`{what}::<f32>(row_major([8, 8]))`"),
            );
        };
        let elem = match types {
            [ty] => self.elem(*ty, origin)?,
            _ => None,
        };
        let Some(elem) = elem else {
            return self.fail(origin, format!("`{what}` needs its element type: `{what}::<f32>(..)`"));
        };
        let (extents, strides): (Vec<i64>, Vec<i64>) =
            layout.layout.leaves().map(|mode| (mode.shape, mode.stride)).unzip();
        if extents.contains(&0) {
            let help = "each extent of its layout is 1 or more";
            return self.fail_help(origin, format!("a {what} tensor without elements"), help);
        }
        let swizzle = match layout.swizzle_bytes {
            Some(bytes) => Swizzle::new(bytes.ilog2() - 4, 4u32.saturating_sub(elem.bytes().ilog2()), 3).ok(),
            None => layout.swizzle,
        };
        let cosize = match swizzle {
            // A swizzle permutes the offsets of a block of 2^(bits + base + shift) elements.
            Some(swizzle) => {
                let block =
                    1i64 << (swizzle.bits() + swizzle.base() + swizzle.shift().unsigned_abs()).min(40);
                layout.layout.cosize().saturating_add(block - 1) / block * block
            }
            None => layout.layout.cosize(),
        };
        let id = PlaceId(self.tables.places.len() as u32);
        // TMA takes multiples of 128, its swizzles of 1024.
        let align = match (shared && self.arch.is_some(), swizzle) {
            (true, Some(_)) => 1024,
            (true, None) => 128,
            (false, _) => 16,
        };
        let space = if shared {
            let bytes = u64::try_from(cosize).unwrap_or(u64::MAX).saturating_mul(u64::from(elem.bytes()));
            let multiple = if swizzle.is_some() { 1024 } else { u64::from(align) };
            self.shared_memory(bytes, multiple, origin)?
        } else {
            if cosize > MAX_LOCAL_ELEMENTS {
                return self.fail_help(
                    origin,
                    format!("a local tensor of {cosize} elements; a thread has 255 registers"),
                    "use `shared`, or a smaller tile for each thread",
                );
            }
            Space::Local
        };
        self.tables.places.push(Place {
            name: what.to_owned(),
            space,
            elem,
            len: cosize as u64,
            align,
            mutable: true,
            origin,
        });
        let constants = |values: &[i64]| values.iter().map(|v| Index::constant(*v)).collect();
        let mut view = View::whole(id, constants(&extents), constants(&strides), true);
        view.swizzle = swizzle;
        Ok(StaticValue::View(view))
    }

    /// Allocates the block's shared memory, aligned; the only function that does.
    pub(super) fn shared_memory(&mut self, bytes: u64, multiple: u64, origin: Origin) -> Outcome<Space> {
        let offset = self.shared_bytes.next_multiple_of(multiple);
        let (total, limit) = (offset.saturating_add(bytes), self.shared_limit);
        if total <= limit {
            self.shared_bytes = total;
            return Ok(Space::Shared { byte_offset: offset as u32 });
        }
        // Reported once: the error of each further tensor would be the same.
        self.shared_bytes = 0;
        self.fail_help(
            origin,
            format!("the block's shared memory reaches {total} bytes, the architecture has {limit}"),
            "choose smaller tiles or fewer stages",
        )
    }

    /// Whether a block takes only one of two branches, and once: then both branches' shared memory may overlap. All threads
    /// of the block must agree, no round of a loop may come back, and no other block may access this one's memory.
    pub(super) fn excludes(&self, condition: &Value<TileAccess>) -> bool {
        let alone = self.cluster.iter().all(|blocks| *blocks <= 1);
        alone && self.loops == 0 && self.rounds == 0 && self.is_of_the_block(condition)
    }

    /// Whether a value is the same in all threads of a block.
    fn is_of_the_block(&self, value: &Value<TileAccess>) -> bool {
        let both = |left, right| self.is_of_the_block(left) && self.is_of_the_block(right);
        match value {
            Value::Constant(_) | Value::Argument(..) => true,
            Value::Variable(_) | Value::Load(_) => false,
            Value::Index(index, _) => self.is_index_of_the_block(index),
            Value::Compare(Comparison { left, right, .. }) => {
                self.is_index_of_the_block(left) && self.is_index_of_the_block(right)
            }
            Value::Unary(_, operand) | Value::Cast(_, operand) => self.is_of_the_block(operand),
            Value::Binary(_, left, right) => both(left, right),
            Value::Math(_, parts) => parts.iter().all(|part| self.is_of_the_block(part)),
            Value::Select(condition, then, otherwise) => {
                self.is_of_the_block(condition) && both(then, otherwise)
            }
        }
    }

    fn is_index_of_the_block(&self, index: &Index) -> bool {
        index.atoms().all(|id| match self.tables.atoms.atom(id) {
            Atom::Special(special, _) => *special != Special::ThreadIdx,
            Atom::Dim { .. } | Atom::Stride { .. } | Atom::Argument(_) => true,
            Atom::Variable(..) => {
                let definition = &self.tables.atoms.facts(id).definition;
                definition.as_ref().is_some_and(|index| self.is_index_of_the_block(index))
            }
            compound => compound.parts().all(|part| self.is_index_of_the_block(part)),
        })
    }

    /// A named view of global or shared memory gets a pointer, so that its offset is computed once.
    pub(super) fn point(&mut self, name: &str, view: View, origin: Origin) -> View {
        let mut view = view;
        let place = &mut self.tables.places[view.place.0 as usize];
        // The first name of a new tensor is the tensor's own.
        if ["shared", "local", "tensor_memory"].contains(&place.name.as_str()) {
            place.name = name.to_owned();
            place.origin = origin;
        }
        let local = matches!(place.space, Space::Local | Space::Tensor { .. });
        let at_start = view.offset.as_constant() == Some(0) && !matches!(place.space, Space::Remote { .. });
        if local || view.swizzle.is_some() || self.host || at_start {
            return view;
        }
        let Ok(full) = view.full_offset() else { return view };
        let var = self.variable(name, VariableKind::Pointer(view.place), false, origin);
        self.push(origin, StatementKind::LetIndex(var, full.clone()));
        view.pointer = Some((var, full));
        view.offset = Index::constant(0);
        view
    }
}
