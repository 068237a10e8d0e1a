//! Addresses of vector stores.
//!
//! ```text
//! *reinterpret_cast<float4*>(&to[i * 4])     counted in elements
//! reinterpret_cast<float4*>(to)[i]           counted in vectors
//! ```
//!
//! Law: both forms have the same address. They differ where the subtrahend of an index is not a whole number of
//! vectors, as in a row that begins at any address. There NVRTC splits a store in the first form into one for each
//! element, and keeps the second whole (seen in the PTX of 13.0; loads are whole in both). Elsewhere the first form
//! is used: a stride counted in vectors takes a division, and registers that attention does not have.

use super::cuda_c::Emitter;
use super::expression::Expression;
use crate::index::Index;
use crate::program::{Access, Space};

impl Emitter<'_> {
    /// The vector of this type at an access.
    pub(super) fn stored_vector(&self, access: &Access, kind: &str) -> Expression {
        let cast = |address| Expression::call(format!("reinterpret_cast<{kind}*>"), vec![address]);
        match self.in_vectors(access) {
            Some((first, index)) => {
                let index = self.offset(&Access { index, ..access.clone() });
                Expression::subscript(cast(self.address(&Access { index: first, ..access.clone() })), index)
            }
            None => Expression::prefix("*", cast(self.address(access))),
        }
    }

    /// The element from which an access counts in vectors, and how many; nothing where elements do as well.
    fn in_vectors(&self, access: &Access) -> Option<(Index, Index)> {
        let subtracted = access.pointer.is_some_and(|pointer| self.subtracted.contains(&pointer));
        let local = self.tables.place(access.place).space == Space::Local;
        let width = i64::from(access.width);
        if local || !(subtracted || self.subtracts(&access.index, width)) {
            return None;
        }
        let (whole, first) = access.index.partition(|_, coefficient| coefficient % width == 0);
        // Of a number what is no multiple of the width stays with the elements.
        let odd = access.index.offset() % width;
        let whole = whole.plus(access.index.offset() - odd).ok()?;
        let first = first.plus(odd - first.offset()).ok()?;
        (whole.as_constant() != Some(0)).then_some((first, whole.exact_div(width)?))
    }

    /// Whether an index, names looked through, has something taken from it that is neither a number nor a multiple of so many elements.
    pub(super) fn subtracts(&self, index: &Index, width: i64) -> bool {
        let expanded = self.tables.atoms.expand(index);
        expanded.is_ok_and(|index| {
            index.terms().iter().any(|(_, coefficient)| *coefficient < 0 && coefficient % width != 0)
        })
    }
}
