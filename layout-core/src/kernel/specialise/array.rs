//! Arrays: tables of values, and registers with numbers.
//!
//! Law: an array is a value, as in Rust. One that is bound by `let mut` lies in registers; read as a whole it is a copy. An index is
//! shown to be in range, or refused: Rust would stop there, and a kernel cannot.

use super::datum::{Binding, Datum, LayoutDatum};
use super::evaluator::{Evaluator, Failed, Outcome};
use super::tile::TileAccess;
use crate::kernel::elem::Elem;
use crate::kernel::index::Index;
use crate::kernel::ir::{BinaryOp, ExprId, TypeRef};
use crate::kernel::origin::Origin;
use crate::kernel::program::{Comparison, StatementKind, Value};
use crate::kernel::view::View;
use crate::{IntTuple, Layout};

/// Elements of an array at most: an index known at run time compares with each.
const MAX_ELEMENTS: i64 = 64;

impl Evaluator<'_> {
    /// `[value; count]`
    pub(super) fn repeat(&mut self, value: ExprId, count: ExprId, origin: Origin) -> Outcome<Datum> {
        let (value, count) = (self.expr(value), self.expr(count)?);
        let count = self.expect_index(count, origin)?;
        match count.as_constant() {
            Some(count @ 0..=MAX_ELEMENTS) => {
                let value = self.hold("element", value?, origin);
                Ok(Datum::Array(vec![value; count as usize]))
            }
            Some(count) => self.too_long(count, origin),
            None if self.ask(&[&count]) => Err(Failed),
            None => self.fail_help(
                origin,
                "the length of an array is not known at compile time",
                "take it from a number or a parameter of the attribute",
            ),
        }
    }

    fn too_long<T>(&mut self, count: i64, origin: Origin) -> Outcome<T> {
        self.fail_help(
            origin,
            format!("an array of {count} elements; at most {MAX_ELEMENTS} are kept in registers"),
            "pass a table as a tensor, or fill a `shared::<T>(row_major([n]))`",
        )
    }

    /// `array[index]`
    pub(super) fn element_of(&mut self, array: ExprId, index: ExprId, origin: Origin) -> Outcome<Datum> {
        if self.mutable_array(array).is_some() {
            let index = self.expr(index)?;
            let (access, elem) = self.array_place(array, index, origin)?;
            return Ok(Datum::Scalar(Value::Load(Box::new(access)), elem));
        }
        let mut operands = self.exprs(&[array, index])?.into_iter();
        let (array, index) = (operands.next().ok_or(Failed)?, operands.next().ok_or(Failed)?);
        let index = self.expect_index(index, origin)?;
        let parts = match array {
            Datum::Array(parts) => parts,
            Datum::View(view) => {
                let rank = view.rank();
                return self.fail_help(
                    origin,
                    format!("an element of a view of rank {rank} is named by all of its coordinates at once"),
                    "write `a[[row, column]]`, for a tensor of rank 1 `a[[i]]`",
                );
            }
            other => return self.fail(origin, format!("{} has no elements", other.kind())),
        };
        self.in_range(&index, parts.len(), origin)?;
        if let Some(number) = index.as_constant() {
            return parts.get(number as usize).cloned().ok_or(Failed);
        }
        if self.ask(&[&index]) {
            return Err(Failed);
        }
        self.chosen_of(parts, &index, origin)
    }

    /// The element at an index known at run time: one comparison for each element but the last.
    fn chosen_of(&mut self, parts: Vec<Datum>, index: &Index, origin: Origin) -> Outcome<Datum> {
        if parts.len() as i64 > MAX_ELEMENTS {
            return self.too_long(parts.len() as i64, origin);
        }
        // Of arrays within: element by element.
        let inner = |part: &Datum| match part {
            Datum::Array(inner) => Some(inner.len()),
            _ => None,
        };
        if let Some(len) = parts.first().and_then(inner)
            && parts.iter().all(|part| inner(part) == Some(len))
        {
            let column = |at: usize| {
                let of = |part: &Datum| match part {
                    Datum::Array(inner) => inner[at].clone(),
                    other => other.clone(),
                };
                parts.iter().map(of).collect::<Vec<Datum>>()
            };
            let columns: Vec<Vec<Datum>> = (0..len).map(column).collect();
            let chosen = columns.into_iter().map(|column| self.chosen_of(column, index, origin));
            return Ok(Datum::Array(chosen.collect::<Outcome<Vec<Datum>>>()?));
        }
        let indices = parts.iter().all(|part| matches!(part, Datum::Index(_)));
        let mut rest = None;
        for (number, part) in parts.into_iter().enumerate().rev() {
            let part = match part {
                Datum::Index(part) if indices => Datum::Scalar(Value::Index(part, Elem::I64), Elem::I64),
                part => part,
            };
            rest = Some(match rest {
                None => part,
                Some(rest) => {
                    let (then, otherwise, elem) = self.unify(part, rest, "elements", origin)?;
                    let right = Index::constant(number as i64);
                    let comparison = Comparison { op: BinaryOp::Eq, left: index.clone(), right };
                    let condition = Box::new(Value::Compare(comparison));
                    Datum::Scalar(Value::Select(condition, Box::new(then), Box::new(otherwise)), elem)
                }
            });
        }
        match rest {
            Some(Datum::Scalar(value, elem)) if indices => {
                Ok(Datum::Index(self.index_from_value(value, elem, origin)))
            }
            Some(chosen) => Ok(chosen),
            None => Err(Failed),
        }
    }

    fn in_range(&mut self, index: &Index, len: usize, origin: Origin) -> Outcome<()> {
        if self.is_within(index, len as i64) {
            return Ok(());
        }
        if index.as_constant().is_none() && self.ask(&[index]) {
            return Err(Failed);
        }
        let message = match index.as_constant() {
            Some(at) => format!("element {at} of an array of {len}"),
            None => format!("an index of an array of {len} that may lie outside"),
        };
        self.fail_help(
            origin,
            message,
            format!("Rust would stop there; take it modulo the length: `a[i % {len}]`"),
        )
    }

    /// The registers of a mutable array that an expression names.
    fn mutable_array(&self, array: ExprId) -> Option<View> {
        match self.named(array) {
            Some((_, Binding::Array(view))) => Some(view.clone()),
            _ => None,
        }
    }

    /// An element of a mutable array.
    pub(super) fn array_place(
        &mut self,
        array: ExprId,
        index: Datum,
        origin: Origin,
    ) -> Outcome<(TileAccess, Elem)> {
        let Some(view) = self.mutable_array(array) else {
            // Of a name whose own error is told nothing more is.
            self.expr(array)?;
            return self.fail_help(
                origin,
                "this cannot be assigned",
                "assign an element of a `let mut` array, or `view[[i, j]]`",
            );
        };
        let index = self.expect_index(index, origin)?;
        let len = view.modes[0].extent.as_constant().unwrap_or(0);
        self.in_range(&index, len as usize, origin)?;
        if index.as_constant().is_none() && self.ask(&[&index]) {
            return Err(Failed);
        }
        let elem = self.tables.place(view.place).elem;
        Ok((TileAccess { view, coordinates: vec![index], origin }, elem))
    }

    /// Registers for the elements of a `let mut` array.
    pub(super) fn array_binding(&mut self, name: &str, parts: Vec<Datum>, origin: Origin) -> Binding {
        match self.registers(name, parts, origin) {
            Ok(view) => Binding::Array(view),
            Err(Failed) => Binding::Value(Datum::Unknown),
        }
    }

    fn registers(&mut self, name: &str, parts: Vec<Datum>, origin: Origin) -> Outcome<View> {
        let mut elem = None;
        for part in &parts {
            elem = match part {
                Datum::Scalar(_, elem) => Some(*elem),
                Datum::Bool(_) => Some(Elem::Bool),
                Datum::Float(_) => elem.or(Some(Elem::F32)),
                other => {
                    return self.fail_help(
                        origin,
                        format!("a `let mut` array of elements that are {}", other.kind()),
                        "say of which type they are: `[0u32; 4]`, `let mut a: [f32; 4] = ..`",
                    );
                }
            };
        }
        let (Some(elem), len) = (elem, parts.len() as i64) else {
            return self.fail(origin, "an array without elements cannot change");
        };
        if len > MAX_ELEMENTS {
            return self.too_long(len, origin);
        }
        let layout = match Layout::row_major(IntTuple::flat(vec![len])) {
            Ok(layout) => Datum::Layout(LayoutDatum { layout, swizzle: None, swizzle_bytes: None }),
            Err(error) => return self.fail(origin, error.to_string()),
        };
        let Datum::View(view) = self.allocate(layout, &[TypeRef::Elem(elem)], false, origin)? else {
            return Err(Failed);
        };
        let view = self.point(name, view, origin);
        self.assign_array(view.clone(), Datum::Array(parts), origin)?;
        Ok(view)
    }

    /// `array = [..]`
    pub(super) fn assign_array(&mut self, view: View, value: Datum, origin: Origin) -> Outcome<()> {
        let elem = self.tables.place(view.place).elem;
        let Datum::Array(parts) = value else {
            return self.fail(origin, format!("an array is assigned {}", value.kind()));
        };
        // All are read before the first is written.
        let values: Vec<Value<TileAccess>> = parts
            .into_iter()
            .map(|part| {
                let value = self.coerce(part, elem, origin)?;
                match self.hold("element", Datum::Scalar(value, elem), origin) {
                    Datum::Scalar(value, _) => Ok(value),
                    _ => Err(Failed),
                }
            })
            .collect::<Outcome<_>>()?;
        for (number, value) in values.into_iter().enumerate() {
            let coordinates = vec![Index::constant(number as i64)];
            let access = TileAccess { view: view.clone(), coordinates, origin };
            self.push(origin, StatementKind::Store(access, value));
        }
        Ok(())
    }

    /// A mutable array as a value: a copy of its elements now.
    pub(super) fn whole_array(&mut self, view: &View) -> Outcome<Datum> {
        let place = self.tables.place(view.place).clone();
        let len = view.modes[0].extent.as_constant().unwrap_or(0);
        let parts = (0..len).map(|number| {
            let coordinates = vec![Index::constant(number)];
            let access = TileAccess { view: view.clone(), coordinates, origin: place.origin };
            self.hold("element", Datum::Scalar(Value::Load(Box::new(access)), place.elem), place.origin)
        });
        Ok(Datum::Array(parts.collect()))
    }
}
