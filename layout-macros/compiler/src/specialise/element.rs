//! An element of a view: `view[[i, j]]` as a value, as the target of an assignment, and as the operand of `&mut`.
//!
//! Law: a view of rank `n` takes `n` coordinates, and the offset that they give stays within 64 bits. A
//! coordinate that is outside in every launch is refused (`outside.rs`). A reference keeps the element of the time at which it was
//! made.

use super::datum::{Binding, StaticValue};
use super::evaluator::{Evaluator, Failed, Outcome};
use super::tile::TileAccess;
use crate::elem::Elem;
use crate::index::Index;
use crate::ir::{ExprId, ExprKind};
use crate::origin::Origin;
use crate::params::WIDE_LIMIT;
use crate::program::Value;
use crate::view::View;

impl Evaluator<'_> {
    /// `&mut place`: a place is handed on; so is a value that nothing can be assigned to.
    pub(super) fn borrow(&mut self, place: ExprId, origin: Origin) -> Outcome<StaticValue> {
        if let ExprKind::Index(view, coordinates) = &self.kernel.expr(place).kind {
            let (mut access, _) = self.access_of(*view, coordinates, origin)?;
            // The place is that of now.
            access.view = self.settled_view(access.view, origin);
            for index in &mut access.coordinates {
                *index = self.settled(index, origin);
            }
            return Ok(StaticValue::Borrowed(Box::new(Binding::Memory(access))));
        }
        if let Some(spot) = self.spot(place, origin) {
            let mut spot = spot?;
            // The place is that of now.
            for (index, _) in &mut spot.at {
                *index = self.settled(index, origin);
            }
            return Ok(StaticValue::Borrowed(Box::new(Binding::Array(spot))));
        }
        match self.named(place).map(|(_, binding)| binding.clone()) {
            Some(Binding::Value(_) | Binding::Later(_)) | None => match self.expr(place)? {
                // A view is a value that says where its elements are.
                number @ (StaticValue::Index(_)
                | StaticValue::Float(_)
                | StaticValue::Bool(_)
                | StaticValue::Scalar(..)
                | StaticValue::Array(_)) => Ok(StaticValue::Borrowed(Box::new(Binding::Value(number)))),
                other => Ok(other),
            },
            Some(binding) => Ok(StaticValue::Borrowed(Box::new(binding))),
        }
    }

    /// The view, its coordinates checked against its rank.
    pub(super) fn place(
        &mut self,
        view: StaticValue,
        (written, coordinates): (&[ExprId], Vec<StaticValue>),
        origin: Origin,
    ) -> Outcome<(TileAccess, Elem)> {
        let view = match view {
            StaticValue::View(view) => view,
            StaticValue::Unknown => return Err(Failed),
            other => return self.fail(origin, format!("{} cannot be indexed by coordinates", other.kind())),
        };
        let view = self.without_scope(view, "an element", origin)?;
        if coordinates.len() != view.rank() {
            let place = self.tables.place(view.place).name.clone();
            let (given, rank) = (coordinates.len(), view.rank());
            return self.fail_help(
                origin,
                format!("{given} {} for a view of `{place}` of rank {rank}", plural(given, "coordinate")),
                match ["i", "j", "k", "l"].get(..rank) {
                    Some(names) if rank > 0 => format!("write one for each mode: `[[{}]]`", names.join(", ")),
                    _ => format!("write {rank} {}: one for each mode", plural(rank, "coordinate")),
                },
            );
        }
        for (id, datum) in written.iter().zip(&coordinates) {
            if !matches!(datum, StaticValue::Index(_)) {
                // The error is of the coordinate, not of the element.
                self.expect_index(datum.clone(), self.origin(*id))?;
            }
        }
        let coordinates = self.coordinates(&view, coordinates, &[], origin)?;
        self.not_outside(&view, written, &coordinates, origin)?;
        let (view, coordinates) = self.by_elements(view, coordinates, origin)?;
        let elem = self.tables.place(view.place).elem;
        Ok((TileAccess { view, coordinates, origin }, elem))
    }

    /// An element of a vectorised view is named by its position among the elements, as before `vectorize`: an element of a
    /// product's accumulator by its row and column among the thread's own.
    fn by_elements(
        &mut self,
        view: View,
        coordinates: Vec<Index>,
        origin: Origin,
    ) -> Outcome<(View, Vec<Index>)> {
        if view.lanes() == 1 {
            return Ok((view, coordinates));
        }
        let (mut vectors, mut lanes) = (Vec::new(), Vec::new());
        for (mode, at) in view.modes.iter().zip(&coordinates) {
            let by = Index::constant(mode.lanes);
            let atoms = &mut self.tables.atoms;
            let (vector, lane) = (atoms.div(at, &by), atoms.rem(at, &by));
            vectors.push(self.index(origin, vector)?);
            lanes.push(self.index(origin, lane)?);
        }
        let element = view.at_element(&vectors, &lanes);
        let coordinates = vec![Index::constant(0); view.rank()];
        Ok((self.index(origin, element)?, coordinates))
    }

    pub(super) fn load(
        &mut self,
        view: ExprId,
        coordinates: &[ExprId],
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let (access, elem) = self.access_of(view, coordinates, origin)?;
        self.load_of(access, elem, origin)
    }

    /// The element's value.
    pub(super) fn load_of(&mut self, access: TileAccess, elem: Elem, origin: Origin) -> Outcome<StaticValue> {
        match self.runs_in_registers(&access)? {
            true => self.register_of(access, elem, origin),
            false => Ok(StaticValue::Scalar(Value::Load(Box::new(access)), elem)),
        }
    }

    /// The element of a view that `view[[i, j]]` names.
    pub(super) fn access_of(
        &mut self,
        view: ExprId,
        coordinates: &[ExprId],
        origin: Origin,
    ) -> Outcome<(TileAccess, Elem)> {
        if let ExprKind::Array(_) | ExprKind::Tuple(_) = self.kernel.expr(view).kind {
            return self.fail(origin, "arrays are indexed at no place of the language");
        }
        let mut operands = self.exprs(&[&[view], coordinates].concat())?.into_iter();
        let view = operands.next().unwrap_or(StaticValue::Unknown);
        self.place(view, (coordinates, operands.collect()), origin)
    }

    /// The datums as coordinates of a view with these numbers of elements: an offset made of them stays within 64 bits.
    pub(super) fn coordinates(
        &mut self,
        view: &View,
        datums: Vec<StaticValue>,
        sizes: &[i64],
        origin: Origin,
    ) -> Outcome<Vec<Index>> {
        let mut coordinates = Vec::with_capacity(datums.len());
        for (mode, datum) in datums.into_iter().enumerate() {
            let index = self.expect_index(datum, origin)?;
            let stride = view.modes.get(mode).and_then(|mode| mode.stride.as_constant()).unwrap_or(1);
            let size = sizes.get(mode).copied().unwrap_or(1);
            let step = stride.saturating_abs().max(1).saturating_mul(size.saturating_abs().max(1));
            // Beyond every tensor, from each of its ends, is far enough.
            let farthest = (2 * WIDE_LIMIT).min((1 << 60) / step).max(1);
            let far = |number: i64| number.saturating_abs() > farthest;
            coordinates.push(match index.as_constant() {
                Some(number) => Index::constant(number.clamp(-farthest, farthest)),
                None if far(index.offset()) || index.terms().iter().any(|(_, factor)| far(*factor)) => {
                    self.unnamed_index("far", &index, origin)
                }
                None => index,
            });
        }
        if sizes.is_empty() {
            self.suppose_inside(view, &coordinates);
        }
        Ok(coordinates)
    }
}

pub(super) fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}
