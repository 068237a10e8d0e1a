//! The same bytes under another element type: `bitcast`.
//!
//! Law: the view has every byte of the old view and no other, in the same order. A second type of an allocation is a place of
//! its own in the same memory ([`Tables::memory`](crate::program::Tables::memory)).

use super::datum::StaticValue;
use super::evaluator::{Evaluator, Outcome};
use crate::arith::gcd;
use crate::elem::Elem;
use crate::index::{Atom, AtomId, Index, IndexOverflow};
use crate::ir::{BinaryOp, TypeRef};
use crate::origin::Origin;
use crate::program::{Comparison, Place, PlaceId, Space};
use crate::view::{Bound, View};
use layout_core::Swizzle;

/// The elements of one type in an element of the other.
#[derive(Clone, Copy)]
enum Ratio {
    /// So many old elements are a new one.
    Wider(i64),
    /// An old element is so many new ones.
    Narrower(i64),
}

impl Ratio {
    fn of(old: Elem, new: Elem) -> Ratio {
        let (old, new) = (i64::from(old.bytes()), i64::from(new.bytes()));
        if new > old { Ratio::Wider(new / old) } else { Ratio::Narrower(old / new) }
    }
}

impl Evaluator<'_> {
    pub(super) fn bitcast(
        &mut self,
        value: StaticValue,
        types: &[TypeRef],
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let view = self.view(value, "bitcast", origin)?;
        let new = match types {
            [ty] => self.elem(*ty, origin)?,
            _ => None,
        };
        let Some(new) = new else {
            return self.fail(origin, "`bitcast` takes an element type of fixed width: `x.bitcast::<u32>()`");
        };
        let place = self.tables.place(view.place).clone();
        let (name, old) = (&place.name, place.elem);
        if old == new {
            return Ok(StaticValue::View(view));
        }
        if old == Elem::Bool || new == Elem::Bool {
            return self.fail_help(
                origin,
                format!(
                    "`bitcast` of `{name}` from {old} to {new}: a truth value has two of its 256 patterns"
                ),
                "compare instead: `x[[i]] != 0`",
            );
        }
        match place.space {
            Space::Global(_) | Space::Shared { .. } => {}
            Space::Local => {
                return self.fail_help(
                    origin,
                    format!("`bitcast` of `{name}`, which is in registers"),
                    "take `bitcast` of the tensor and `to_local` of that view; of one number it is `to_bits` and `from_bits`",
                );
            }
            Space::Tensor { .. } => {
                return self.fail_help(
                    origin,
                    format!("`bitcast` of `{name}`, which is in tensor memory"),
                    "load it first: `tcgen05_load(&mut registers, &d.slice(warp))`",
                );
            }
            Space::Remote { .. } => {
                return self.fail_help(
                    origin,
                    format!("`bitcast` of another block's `{name}`"),
                    "take `map_shared_rank` of the cast view",
                );
            }
        }
        if view.lanes() != 1 || view.pad.is_some() {
            let (what, word) =
                if view.pad.is_some() { ("padded", "pad") } else { ("vectorised", "vectorize") };
            let message = format!("`bitcast` of the {what} view of `{name}`");
            return self.fail_help(origin, message, format!("take `{word}` of the cast view"));
        }
        let ratio = Ratio::of(old, new);
        let swizzle = self.cast_swizzle(&view, ratio, (name, new), origin)?;
        let full = view.full_offset();
        let offset = self.index(origin, full)?;
        let unit = (0..view.rank()).rev().find(|mode| view.modes[*mode].stride.as_constant() == Some(1));
        let Some(unit) = unit else {
            return self.fail_help(
                origin,
                format!("`bitcast` of `{name}`, no mode of which is contiguous"),
                "the elements that become one, or that one becomes, follow one another along a mode of stride 1",
            );
        };
        let mut cast =
            View { place: self.second_type(view.place, new), pointer: None, offset, swizzle, ..view };
        match ratio {
            Ratio::Wider(by) => self.widened(&mut cast, unit, by, (name, new), origin)?,
            Ratio::Narrower(by) => {
                let narrowed = cast.narrowed(unit, by);
                self.index(origin, narrowed)?;
            }
        }
        Ok(StaticValue::View(cast))
    }

    /// The place of this type in the memory of a place.
    fn second_type(&mut self, of: PlaceId, elem: Elem) -> PlaceId {
        let first = self.tables.place(of).clone();
        let same = |place: &Place| place.space == first.space && place.elem == elem;
        if let Some(known) = self.tables.places.iter().position(same) {
            return PlaceId(known as u32);
        }
        let bytes = first.len * u64::from(first.elem.bytes());
        self.tables.places.push(Place {
            elem,
            len: bytes / u64::from(elem.bytes()),
            align: first.align.max(elem.bytes()),
            ..first
        });
        PlaceId(self.tables.places.len() as u32 - 1)
    }

    fn cast_swizzle(
        &mut self,
        view: &View,
        ratio: Ratio,
        (name, new): (&str, Elem),
        origin: Origin,
    ) -> Outcome<Option<Swizzle>> {
        let Some(swizzle) = view.swizzle else { return Ok(None) };
        let base = match ratio {
            Ratio::Wider(by) => swizzle.base().checked_sub(by.ilog2()),
            Ratio::Narrower(by) => Some(swizzle.base() + by.ilog2()),
        };
        match base.and_then(|base| Swizzle::new(swizzle.bits(), base, swizzle.shift()).ok()) {
            Some(swizzle) => Ok(Some(swizzle)),
            None => self.fail_help(
                origin,
                format!(
                    "`bitcast` of `{name}` to {new}, whose swizzle keeps {} elements together",
                    1u64 << swizzle.base()
                ),
                "choose a swizzle whose base is at least the logarithm of the elements that become one",
            ),
        }
    }

    /// Each `by` elements along a mode become one.
    fn widened(
        &mut self,
        view: &mut View,
        unit: usize,
        by: i64,
        (name, new): (&str, Elem),
        origin: Origin,
    ) -> Outcome<()> {
        let mut odd = None;
        let mut divide = |evaluator: &mut Self, index: &mut Index| match evaluator.quotient(index, by) {
            Ok(Some(quotient)) => {
                *index = quotient;
                Ok(())
            }
            Ok(None) => {
                odd.get_or_insert_with(|| index.clone());
                Ok(())
            }
            Err(overflow) => Err(overflow),
        };
        let mut result = divide(self, &mut view.modes[unit].extent).and(divide(self, &mut view.offset));
        for (mode, own) in view.modes.iter_mut().enumerate() {
            if mode != unit {
                result = result.and(divide(self, &mut own.stride));
            }
        }
        for Bound { base, steps, extent, .. } in &mut view.bounds {
            if steps[unit].as_constant() == Some(0) {
                continue;
            }
            result = result.and(divide(self, extent)).and(divide(self, base));
            for (mode, step) in steps.iter_mut().enumerate() {
                if mode != unit {
                    result = result.and(divide(self, step));
                }
            }
        }
        self.index(origin, result)?;
        let Some(odd) = odd else { return Ok(()) };
        // A dimension has a name; what is computed has none.
        let dim =
            odd.terms().first().filter(|(monomial, _)| monomial.len() == 1).map(|(monomial, _)| monomial[0]);
        let dim = dim.and_then(|id| match self.tables.atoms.atom(id) {
            Atom::Dim { dim, .. } => self.kernel.dims.get(*dim as usize).cloned(),
            _ => None,
        });
        let (what, help) = match dim {
            Some(dim) => (
                format!("`{dim}`"),
                format!(
                    "promise it, `require({dim} % {by} == 0)`, or test it: `if {dim} % {by} == 0 {{ .. }}`"
                ),
            ),
            None => (
                "an extent, a stride or the first element of this view".to_owned(),
                format!(
                    "take `bitcast` of the whole tensor, whose last extent is a multiple of {by}, and tiles of that"
                ),
            ),
        };
        self.fail_help(
            origin,
            format!("`bitcast` of `{name}` to {new} takes {by} elements as one, and {what} is not known to be a multiple of {by}"),
            help,
        )
    }

    /// `index / by` where every value of the index is a multiple of `by`.
    fn quotient(&mut self, index: &Index, by: i64) -> Result<Option<Index>, IndexOverflow> {
        if let Some(quotient) = index.exact_div(by) {
            return Ok(Some(quotient));
        }
        if index.offset() % by != 0 {
            return Ok(None);
        }
        let mut sum = Index::constant(index.offset() / by);
        for (monomial, coefficient) in index.terms() {
            let term = Index::product(monomial, *coefficient);
            let quotient = match term.exact_div(by) {
                Some(quotient) => quotient,
                // What a variable holds is a multiple where its definition is.
                None if self.tables.atoms.divides(&term, by) => {
                    self.tables.atoms.div(&term, &Index::constant(by))?
                }
                None => match self.guarded_quotient(monomial, *coefficient, by)? {
                    Some(quotient) => quotient,
                    None => return Ok(None),
                },
            };
            sum = sum.add(&quotient)?;
        }
        Ok(Some(sum))
    }
}

impl Evaluator<'_> {
    /// `factor * monomial / by` where a guard says that an atom of the monomial is a multiple: `if N % 4 == 0`.
    fn guarded_quotient(
        &mut self,
        monomial: &[AtomId],
        factor: i64,
        by: i64,
    ) -> Result<Option<Index>, IndexOverflow> {
        let needed = by / gcd(by, factor.saturating_abs());
        let number = Index::constant(needed);
        for (at, id) in monomial.iter().enumerate() {
            let left = self.tables.atoms.rem(&Index::atom(*id), &number)?;
            let multiple = Comparison { op: BinaryOp::Le, left, right: Index::constant(0) };
            if !self.facts.holds(&self.tables.atoms, &multiple) {
                continue;
            }
            let mut rest = monomial.to_vec();
            rest.remove(at);
            let rest = Index::product(&rest, factor / (by / needed));
            return Ok(Some(self.tables.atoms.div(&Index::atom(*id), &number)?.mul(&rest)?));
        }
        Ok(None)
    }
}

impl View {
    /// Each element along a mode becomes `by`.
    fn narrowed(&mut self, unit: usize, by: i64) -> Result<(), IndexOverflow> {
        self.offset = self.offset.scale(by)?;
        for (mode, own) in self.modes.iter_mut().enumerate() {
            match mode == unit {
                true => own.extent = own.extent.scale(by)?,
                false => own.stride = own.stride.scale(by)?,
            }
        }
        for Bound { base, steps, extent, .. } in &mut self.bounds {
            if steps[unit].as_constant() == Some(0) {
                continue;
            }
            (*base, *extent) = (base.scale(by)?, extent.scale(by)?);
            for (_, step) in steps.iter_mut().enumerate().filter(|(mode, _)| *mode != unit) {
                *step = step.scale(by)?;
            }
        }
        Ok(())
    }
}
