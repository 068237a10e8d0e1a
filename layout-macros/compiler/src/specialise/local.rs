//! Elements of tensors in registers: `own[[i]]` of a `local` or of `.to_local()`.
//!
//! Law: registers have no addresses. The loops whose variables make an index are written out where their bounds are
//! known, as for an array's element. An element that is read at an index known only at run time is selected by a
//! comparison with each position, and the index must be proved to be in bounds.

use super::array::MAX_COMPARED;
use super::datum::StaticValue;
use super::evaluator::{Evaluator, Failed, Outcome};
use super::tile::TileAccess;
use crate::elem::Elem;
use crate::index::Index;
use crate::origin::Origin;
use crate::program::{Space, Value};

impl Evaluator<'_> {
    /// Whether some coordinate of an element in registers is no number; asks for the loops that would make each of them one.
    pub(super) fn runs_in_registers(&mut self, access: &TileAccess) -> Outcome<bool> {
        if self.tables.place(access.view.place).space != Space::Local {
            return Ok(false);
        }
        let open = |index: &&Index| index.as_constant().is_none();
        let indices: Vec<&Index> = access.coordinates.iter().filter(open).collect();
        // Loops that are unrolled stay loops: the compiler writes them out.
        if indices.iter().all(|index| self.is_made_of_unrolled(index)) {
            return Ok(false);
        }
        match indices.iter().all(|index| self.request_unroll_of_element(index)) {
            true => Err(Failed),
            false => Ok(true),
        }
    }

    /// The element of registers at coordinates known at run time: one comparison for each position but the last.
    pub(super) fn register_of(
        &mut self,
        access: TileAccess,
        elem: Elem,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let open = |index: &Index| index.as_constant().is_none() && !self.is_made_of_unrolled(index);
        let Some(mode) = access.coordinates.iter().position(open) else {
            return Ok(StaticValue::Scalar(Value::Load(Box::new(access)), elem));
        };
        let index = access.coordinates[mode].clone();
        let place = self.tables.place(access.view.place);
        let (name, all) = (place.name.clone(), place.len as i64);
        let Some(extent) = access.view.modes[mode].extent.as_constant().filter(|extent| *extent <= all)
        else {
            return Err(Failed);
        };
        if all > MAX_COMPARED {
            return self.too_many_compared(all, origin);
        }
        if !self.is_within(&index, extent) {
            if self.request_unroll_of_element(&index) || self.require_below(&index, extent) {
                return Err(Failed);
            }
            return self.fail_help(
                origin,
                format!("an index into the {extent} registers of `{name}` that may be out of bounds"),
                format!(
                    "registers have no addresses, it is compared with each; take it modulo their number: `i % {extent}`"
                ),
            );
        }
        let mut parts = Vec::new();
        for at in 0..extent {
            let mut own = access.clone();
            own.coordinates[mode] = Index::constant(at);
            parts.push(self.register_of(own, elem, origin)?);
        }
        self.chosen_of(parts, &index, origin)
    }
}
