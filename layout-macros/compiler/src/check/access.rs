//! An access to an element of a view: its place, its index, and a mask for each edge that is not proved to be in
//! bounds.

use super::lower::{Failed, Lower};
use crate::elem::Constant;
use crate::index::{Index, IndexOverflow, Monomial};
use crate::ir::BinaryOp;
use crate::origin::Origin;
use crate::program::{Access, Claim, Comparison, Mask, MissedOptimization, Pad, Space};
use crate::specialise::TileAccess;
use crate::view::View;
use layout_core::Swizzle;

/// A term of a coordinate that may exceed this needs a test; all smaller ones together stay within 64 bits.
const FAR: i128 = 1 << 56;

impl Lower {
    /// The access that the user wrote as `view[[i, j]]`.
    pub(super) fn element(&mut self, access: &TileAccess) -> Result<Access, Failed> {
        let lanes = vec![0; access.view.rank()];
        let mut found = self.access(&access.view, &access.coordinates, &lanes, access.origin)?;
        // Of a tile the edge of the tensor is a tail, which is masked by meaning; of the tensor itself it is a mistake.
        found.direct = access.view.modes.iter().all(|mode| mode.bounded);
        if !found.direct {
            for (mode, coordinate) in access.view.modes.iter().zip(&access.coordinates) {
                self.claim(&mut found.claims, &Claim { at: coordinate.clone(), end: mode.extent.clone() });
            }
        }
        Ok(found)
    }

    /// Adds a claim that is not proved.
    fn claim(&self, claims: &mut Vec<Claim>, claim: &Claim) {
        let above = Comparison { op: BinaryOp::Ge, left: claim.at.clone(), right: Index::constant(0) };
        let below = Comparison { op: BinaryOp::Lt, left: claim.at.clone(), right: claim.end.clone() };
        if [above, below].iter().any(|comparison| !self.facts.holds(&self.tables.atoms, comparison)) {
            claims.push(claim.clone());
        }
    }

    /// The access to lane `lanes` of vector `coordinates`.
    pub(super) fn access(
        &mut self,
        view: &View,
        coordinates: &[Index],
        lanes: &[i64],
        origin: Origin,
    ) -> Result<Access, Failed> {
        if let Space::Tensor { .. } = self.tables.place(view.place).space {
            let name = self.tables.place(view.place).name.clone();
            return self.fail(
                origin,
                format!("an element of `{name}`, which is in tensor memory"),
                "threads reach it by `tcgen05_load(&mut registers, &d.slice(warp))` and `tcgen05_store`",
            );
        }
        let element = view.element(coordinates, lanes);
        let (offset, edges) = self.index(origin, element)?;
        let place = self.tables.place(view.place).clone();
        let mut mask = Mask::new();
        let known = edges.iter().map(|(at, end)| Claim { at: at.clone(), end: end.clone() }).collect();
        for (at, extent) in edges {
            // A number as it is takes no step on the way, and is compared in the type that it has.
            if at.as_atom().is_none() {
                self.computed(&at, &mut mask, origin)?;
            }
            let above = Comparison { op: BinaryOp::Ge, left: at.clone(), right: Index::constant(0) };
            let below = Comparison { op: BinaryOp::Lt, left: at, right: extent };
            for comparison in [above, below] {
                if !mask.contains(&comparison) && !self.facts.holds(&self.tables.atoms, &comparison) {
                    mask.push(comparison);
                }
            }
        }
        if place.space == Space::Local {
            if !self.is_unrolled(&offset) {
                return self.fail(
                    origin,
                    format!("the index of the local tensor `{}` is not known at compile time", place.name),
                    "registers have no addresses: put the loop's range into `unroll(..)`, take an array (`let mut own = [0.0; 4]`), \
                     whose elements an index is compared with, or use `shared`",
                );
            }
            if !mask.is_empty() {
                return self.fail(
                    origin,
                    format!("the index leaves the local tensor `{}` of {} elements", place.name, place.len),
                    "a tile of a local tensor must be within its bounds",
                );
            }
        }
        let mut claims = Vec::new();
        // Beyond the edge of a tensor a tile is masked by meaning.
        if !matches!(place.space, Space::Global(_)) {
            view.claims.iter().for_each(|claim| self.claim(&mut claims, claim));
        }
        let index = self.swizzled(view, offset, origin)?;
        let fits = self.tables.atoms.range(&index).fits_i32();
        let wide = !self.narrow && matches!(place.space, Space::Global(_)) && !fits;
        Ok(Access {
            place: view.place,
            pointer: view.pointer.as_ref().map(|(var, _)| *var),
            index,
            width: 1,
            unaligned: false,
            mask,
            pad: view.pad.unwrap_or(Pad::Constant(Constant::zero(place.elem))),
            direct: false,
            claims,
            edges: known,
            wide,
            hint: view.hint,
            loss: MissedOptimization::default(),
            origin,
        })
    }

    /// Adds the conditions under which 64 bits hold a coordinate and every step on the way to it. Where one does not hold,
    /// the coordinate is beyond its edge.
    pub(super) fn computed(&mut self, at: &Index, mask: &mut Mask, origin: Origin) -> Result<(), Failed> {
        let atoms = &self.tables.atoms;
        if atoms.range(at).fits_i64() {
            return Ok(());
        }
        let far = |monomial: &Monomial, coefficient: i64| {
            let range = atoms.range(&Index::product(monomial, coefficient));
            range.low < -FAR || range.high > FAR
        };
        let (terms, _) = at.partition(far);
        let count = terms.terms().len().max(1) as i64;
        for (monomial, coefficient) in terms.terms() {
            let term = Index::product(monomial, 1);
            let range = self.tables.atoms.range(&term);
            if !range.fits_i64() && term.as_atom().is_none() {
                return self.fail(
                    origin,
                    "a coordinate that is a product beyond 64 bits",
                    "compute the product in a `let` first",
                );
            }
            let most = (1i64 << 61) / count / coefficient.saturating_abs().max(1);
            let above = Comparison { op: BinaryOp::Ge, left: term.clone(), right: Index::constant(-most) };
            let below = Comparison { op: BinaryOp::Le, left: term, right: Index::constant(most) };
            for comparison in [above, below] {
                if !mask.contains(&comparison) && !self.facts.holds(&self.tables.atoms, &comparison) {
                    mask.push(comparison);
                }
            }
        }
        Ok(())
    }

    fn swizzled(&mut self, view: &View, offset: Index, origin: Origin) -> Result<Index, Failed> {
        let Some(swizzle) = view.swizzle else { return Ok(offset) };
        let split = self.split(&swizzle, &offset);
        if let Some(index) = self.index(origin, split)? {
            return Ok(index);
        }
        let source = Index::constant(swizzle.source_mask());
        let by = Index::constant(1i64 << swizzle.shift().unsigned_abs().min(40));
        let atoms = self.atoms();
        let moved = atoms
            .and(&offset, &source)
            .and_then(|bits| if swizzle.shift() < 0 { bits.mul(&by) } else { atoms.div(&bits, &by) })
            .and_then(|moved| atoms.or(&offset, &moved, true));
        self.index(origin, moved)
    }

    /// `rows + (inside ^ moved)`, where an offset is known to split into rows, whose number decides `moved`, and a position
    /// in one. So little of the address depends on the position, as a person would write it.
    fn split(&mut self, swizzle: &Swizzle, offset: &Index) -> Result<Option<Index>, IndexOverflow> {
        let (bits, base, shift) = (swizzle.bits(), swizzle.base(), swizzle.shift());
        if shift <= 0 || bits + base + shift.unsigned_abs() > 40 {
            return Ok(None);
        }
        let row = 1i64 << (base + shift.unsigned_abs());
        let atoms = &self.tables.atoms;
        let whole = |monomial: &Monomial, coefficient: i64| {
            let product = monomial.iter().fold(coefficient.unsigned_abs(), |product, id| {
                product.saturating_mul(atoms.divisor(&Index::atom(*id)).unsigned_abs().max(1))
            });
            product % row as u64 == 0
        };
        let (rows, inside) = offset.partition(whole);
        let constant = inside.offset().div_euclid(row) * row;
        let (rows, inside) = (rows.plus(constant)?, inside.plus(-constant)?);
        let range = atoms.range(&inside);
        if range.low < 0 || range.high >= i128::from(row) || atoms.range(&rows).low < 0 {
            return Ok(None);
        }
        let atoms = self.atoms();
        let number = atoms.div(&rows, &Index::constant(row))?;
        let moved = atoms.rem(&number, &Index::constant(1 << bits))?.scale(1 << base)?;
        rows.add(&atoms.or(&inside, &moved, true)?).map(Some)
    }
}
