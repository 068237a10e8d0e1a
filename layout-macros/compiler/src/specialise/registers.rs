//! Mutable arrays: numbered registers.
//!
//! Law: a `let mut` array is in registers, with one place for each number of its element type: an array of tuples is
//! a tuple of arrays, and an array of arrays has a mode for each. Registers have no addresses: an index known only at
//! run time is compared with each position.

use super::array::MAX_COMPARED;
use super::datum::{Binding, LayoutDatum, StaticValue};
use super::evaluator::{Evaluator, Failed, Outcome, Owner};
use super::tile::TileAccess;
use crate::elem::Elem;
use crate::index::Index;
use crate::ir::{BinaryOp, ExprId, ExprKind, TypeRef};
use crate::origin::Origin;
use crate::program::{Comparison, StatementKind, Value};
use crate::view::View;
use layout_core::{IntTuple, Layout};

/// The most registers of an array: a thread has 255.
const MAX_REGISTERS: i64 = 256;

/// The numbers of an array, or of a part of one.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// Numbers of the place's type; the view has a mode for each array around.
    Number(View),
    /// Indices, as `i64`: what is assumed holds for all of them.
    Index(View, Owner),
    Tuple(Vec<Part>),
    Array(i64, Box<Part>),
}

/// A place in a mutable array: what is there, and the way to it, an index and a length for each array.
#[derive(Clone, Debug)]
pub(super) struct LValue {
    pub part: Part,
    pub at: Vec<(Index, i64)>,
}

/// A step from an array to a place within.
enum Step {
    At(ExprId),
    Field(u32),
}

impl Evaluator<'_> {
    /// The place in a mutable array that an expression names; `None` where it names none.
    pub(super) fn spot(&mut self, place: ExprId, origin: Origin) -> Option<Outcome<LValue>> {
        let (root, steps) = self.way(place)?;
        let indices: Vec<ExprId> = steps.iter().filter_map(Step::index).collect();
        Some(self.exprs(&indices).and_then(|indices| self.follow(root, &steps, indices, origin)))
    }

    /// The same, behind `first`, which is evaluated before the indices of the place.
    pub(super) fn spot_behind(
        &mut self,
        first: ExprId,
        place: ExprId,
        origin: Origin,
    ) -> Option<Outcome<(StaticValue, LValue)>> {
        let (root, steps) = self.way(place)?;
        let ids: Vec<ExprId> = std::iter::once(first).chain(steps.iter().filter_map(Step::index)).collect();
        Some(self.exprs(&ids).and_then(|mut values| {
            let first = values.remove(0);
            Ok((first, self.follow(root, &steps, values, origin)?))
        }))
    }

    /// The array that an expression begins at, and the steps from there.
    fn way(&self, place: ExprId) -> Option<(LValue, Vec<Step>)> {
        if let Some((_, Binding::Array(spot))) = self.named(place) {
            return Some((spot.clone(), Vec::new()));
        }
        let (of, step) = match &self.kernel.expr(place).kind {
            ExprKind::Element(of, index) => (*of, Step::At(*index)),
            ExprKind::Field(of, number) => (*of, Step::Field(*number)),
            _ => return None,
        };
        let (root, mut steps) = self.way(of)?;
        steps.push(step);
        Some((root, steps))
    }

    fn follow(
        &mut self,
        mut spot: LValue,
        steps: &[Step],
        indices: Vec<StaticValue>,
        origin: Origin,
    ) -> Outcome<LValue> {
        let mut indices = indices.into_iter();
        for step in steps {
            spot.part = match (step, spot.part) {
                (Step::At(_), Part::Array(len, of)) => {
                    let index = self.expect_index(indices.next().unwrap_or(StaticValue::Unknown), origin)?;
                    self.in_range(&index, len as usize, origin)?;
                    if index.as_constant().is_none() && self.request_unroll_of_element(&index) {
                        return Err(Failed);
                    }
                    spot.at.push((index, len));
                    *of
                }
                (Step::Field(number), Part::Tuple(mut parts)) if (*number as usize) < parts.len() => {
                    parts.swap_remove(*number as usize)
                }
                (Step::At(_), part) => {
                    return self.fail(origin, format!("{} has no elements", part.kind()));
                }
                (Step::Field(number), part) => {
                    return self.fail(origin, format!("{} has no field {number}", part.kind()));
                }
            };
        }
        Ok(spot)
    }

    /// The registers of a place, read where they are used.
    pub(super) fn read_spot(&mut self, spot: &LValue, origin: Origin) -> Outcome<StaticValue> {
        let read = self.registers_of(&spot.part, &spot.at, origin)?;
        Ok(self.with_indices(&spot.part, read, origin))
    }

    /// A place as a value: a copy of it now.
    pub(super) fn copy_of_spot(&mut self, spot: &LValue, origin: Origin) -> Outcome<StaticValue> {
        let read = self.registers_of(&spot.part, &spot.at, origin)?;
        let copy = self.hold("element", read, origin);
        Ok(self.with_indices(&spot.part, copy, origin))
    }

    /// The registers, those of indices as numbers.
    fn registers_of(&mut self, part: &Part, at: &[(Index, i64)], origin: Origin) -> Outcome<StaticValue> {
        let open = at.iter().position(|(index, _)| index.as_constant().is_none());
        if let Some(place) = open {
            let (index, len) = at[place].clone();
            let mut fixed = at.to_vec();
            let parts = (0..len).map(|number| {
                fixed[place].0 = Index::constant(number);
                self.registers_of(part, &fixed, origin)
            });
            let parts = parts.collect::<Outcome<Vec<StaticValue>>>()?;
            return self.chosen_of(parts, &index, origin);
        }
        let within = |number: i64, len: i64| [at, &[(Index::constant(number), len)]].concat();
        match part {
            Part::Number(view) | Part::Index(view, _) => {
                let (access, elem) = self.register(view, at, origin);
                Ok(StaticValue::Scalar(Value::Load(Box::new(access)), elem))
            }
            Part::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.registers_of(part, at, origin));
                Ok(StaticValue::Tuple(parts.collect::<Outcome<_>>()?))
            }
            Part::Array(len, of) => {
                let parts = (0..*len).map(|number| self.registers_of(of, &within(number, *len), origin));
                Ok(StaticValue::Array(parts.collect::<Outcome<_>>()?))
            }
        }
    }

    /// The indices among what was read as indices.
    fn with_indices(&mut self, part: &Part, read: StaticValue, origin: Origin) -> StaticValue {
        match (part, read) {
            (Part::Index(_, owner), StaticValue::Scalar(value, _)) => {
                StaticValue::Index(self.index_of_register(value, *owner, origin))
            }
            (Part::Tuple(parts), StaticValue::Tuple(read)) => StaticValue::Tuple(
                parts.iter().zip(read).map(|(part, read)| self.with_indices(part, read, origin)).collect(),
            ),
            (Part::Array(_, of), StaticValue::Array(read)) => {
                StaticValue::Array(read.into_iter().map(|read| self.with_indices(of, read, origin)).collect())
            }
            (_, read) => read,
        }
    }

    /// One register.
    fn register(&self, view: &View, at: &[(Index, i64)], origin: Origin) -> (TileAccess, Elem) {
        let coordinates = at.iter().map(|(index, _)| index.clone()).collect();
        (TileAccess { view: view.clone(), coordinates, origin }, self.tables.place(view.place).elem)
    }

    /// `place = value`, `place += value`.
    pub(super) fn assign_spot(
        &mut self,
        spot: &LValue,
        op: Option<BinaryOp>,
        value: StaticValue,
        origin: Origin,
    ) -> Outcome<()> {
        let value = match op {
            Some(op) => {
                let old = self.read_spot(spot, origin)?;
                self.binary(op, old, value, origin)?
            }
            None => value,
        };
        let value = self.as_part(&spot.part, value, origin)?;
        let plain = matches!(value, StaticValue::Scalar(..))
            && spot.at.iter().all(|(index, _)| index.as_constant().is_some());
        // All are read before the first is written.
        let value = if plain { value } else { self.hold("element", value, origin) };
        self.write(&spot.part, &spot.at, value, origin)
    }

    /// The value with the types of what it is assigned to.
    fn as_part(&mut self, part: &Part, value: StaticValue, origin: Origin) -> Outcome<StaticValue> {
        match (part, value) {
            (Part::Number(view), value) => {
                let elem = self.tables.place(view.place).elem;
                Ok(StaticValue::Scalar(self.coerce(value, elem, origin)?, elem))
            }
            (Part::Index(_, owner), value) => {
                let index = self.expect_index(value, origin)?;
                let held = self.taken(*owner, &index);
                Ok(StaticValue::Scalar(Value::Index(held, Elem::I64), Elem::I64))
            }
            (Part::Tuple(parts), StaticValue::Tuple(values)) if parts.len() == values.len() => {
                let values = parts.iter().zip(values).map(|(part, value)| self.as_part(part, value, origin));
                Ok(StaticValue::Tuple(values.collect::<Outcome<_>>()?))
            }
            (Part::Array(len, of), StaticValue::Array(values)) if values.len() as i64 == *len => {
                let values = values.into_iter().map(|value| self.as_part(of, value, origin));
                Ok(StaticValue::Array(values.collect::<Outcome<_>>()?))
            }
            (_, StaticValue::Unknown) => Err(Failed),
            (part, value) => {
                let message = format!("{} is assigned {}", part.kind(), value.kind());
                self.fail(origin, message)
            }
        }
    }

    fn write(&mut self, part: &Part, at: &[(Index, i64)], value: StaticValue, origin: Origin) -> Outcome<()> {
        let within = |number: i64, len: i64| [at, &[(Index::constant(number), len)]].concat();
        match (part, value) {
            (Part::Tuple(parts), StaticValue::Tuple(values)) => {
                parts.iter().zip(values).try_for_each(|(part, value)| self.write(part, at, value, origin))
            }
            (Part::Array(len, of), StaticValue::Array(values)) => (0..)
                .zip(values)
                .try_for_each(|(number, value)| self.write(of, &within(number, *len), value, origin)),
            (Part::Number(view) | Part::Index(view, _), StaticValue::Scalar(value, _)) => {
                self.write_number(view, at, value, origin)
            }
            _ => Err(Failed),
        }
    }

    /// At indices known at run time each register takes the value or keeps its own.
    fn write_number(
        &mut self,
        view: &View,
        at: &[(Index, i64)],
        value: Value<TileAccess>,
        origin: Origin,
    ) -> Outcome<()> {
        let open: Vec<usize> = (0..at.len()).filter(|place| at[*place].0.as_constant().is_none()).collect();
        let all: i64 = open.iter().map(|place| at[*place].1).product();
        if all > MAX_COMPARED {
            return self.too_many_compared(all, origin);
        }
        let mut fixed = at.to_vec();
        for number in 0..all {
            let mut rest = number;
            let mut condition: Option<Value<TileAccess>> = None;
            for place in open.iter().rev() {
                let (index, len) = &at[*place];
                let right = Index::constant(rest % len);
                rest /= len;
                fixed[*place].0 = right.clone();
                let same = Value::Compare(Comparison { op: BinaryOp::Eq, left: index.clone(), right });
                condition = Some(match condition {
                    None => same,
                    Some(others) => Value::Binary(BinaryOp::And, Box::new(same), Box::new(others)),
                });
            }
            let (access, _) = self.register(view, &fixed, origin);
            let next = match condition {
                None => value.clone(),
                Some(condition) => {
                    let own = Value::Load(Box::new(access.clone()));
                    Value::Select(Box::new(condition), Box::new(value.clone()), Box::new(own))
                }
            };
            self.push(origin, StatementKind::Store(access, next));
        }
        Ok(())
    }

    /// Registers for a `let mut` array.
    pub(super) fn array_binding(&mut self, owner: Owner, parts: Vec<StaticValue>) -> Binding {
        let whole = StaticValue::Array(parts);
        let origin = self.kernel.locals[owner.local.0 as usize].origin;
        let made = self.part_like(owner, &mut Vec::new(), &[&whole], origin).and_then(|part| {
            let spot = LValue { part, at: Vec::new() };
            self.assign_spot(&spot, None, whole, origin)?;
            Ok(spot)
        });
        match made {
            Ok(spot) => Binding::Array(spot),
            Err(Failed) => Binding::Value(StaticValue::Unknown),
        }
    }

    /// Registers for values like these, within arrays of these lengths.
    fn part_like(
        &mut self,
        owner: Owner,
        around: &mut Vec<i64>,
        samples: &[&StaticValue],
        origin: Origin,
    ) -> Outcome<Part> {
        match samples.first() {
            None => self.fail(origin, "an array without elements cannot change"),
            Some(StaticValue::Array(first)) => {
                let len = first.len();
                let mut inner = Vec::new();
                for sample in samples {
                    match sample {
                        StaticValue::Array(parts) if parts.len() == len => inner.extend(parts),
                        other => return self.not_alike(other, origin),
                    }
                }
                around.push(len as i64);
                let part = self.part_like(owner, around, &inner, origin);
                around.pop();
                Ok(Part::Array(len as i64, Box::new(part?)))
            }
            Some(StaticValue::Tuple(first)) => {
                let mut parts = Vec::new();
                for number in 0..first.len() {
                    let mut column = Vec::new();
                    for sample in samples {
                        match sample {
                            StaticValue::Tuple(parts) if parts.len() == first.len() => {
                                column.push(&parts[number])
                            }
                            other => return self.not_alike(other, origin),
                        }
                    }
                    parts.push(self.part_like(owner.part(number), around, &column, origin)?);
                }
                Ok(Part::Tuple(parts))
            }
            Some(_) => self.numbers_like(owner, around, samples, origin),
        }
    }

    fn not_alike(&mut self, other: &StaticValue, origin: Origin) -> Outcome<Part> {
        if matches!(other, StaticValue::Unknown) {
            return Err(Failed);
        }
        self.fail(origin, format!("the elements of an array are of one type; one is {}", other.kind()))
    }

    fn numbers_like(
        &mut self,
        owner: Owner,
        around: &[i64],
        samples: &[&StaticValue],
        origin: Origin,
    ) -> Outcome<Part> {
        let mut elem = None;
        let mut indices = 0;
        for sample in samples {
            elem = match sample {
                StaticValue::Scalar(_, elem) => Some(*elem),
                StaticValue::Bool(_) => Some(Elem::Bool),
                StaticValue::Float(_) => elem.or(Some(Elem::F32)),
                StaticValue::Index(_) => {
                    indices += 1;
                    elem
                }
                StaticValue::Unknown => return Err(Failed),
                other => {
                    return self.fail_help(
                        origin,
                        format!("a `let mut` array of elements that are {}", other.kind()),
                        "a mutable array holds numbers, truth values, and tuples and arrays of them; \
                         use views without storing them",
                    );
                }
            };
        }
        let all: i64 = around.iter().product();
        if all > MAX_REGISTERS {
            return self.fail_help(
                origin,
                format!("an array of {all} elements; at most {MAX_REGISTERS} are kept in registers"),
                "pass a table as a tensor, or fill a `shared::<T>(row_major([n]))`",
            );
        }
        let layout = match Layout::row_major(IntTuple::flat(around.to_vec())) {
            Ok(layout) => StaticValue::Layout(LayoutDatum { layout, swizzle: None, swizzle_bytes: None }),
            Err(error) => return self.fail(origin, error.to_string()),
        };
        let of_indices = indices == samples.len();
        let elem = if of_indices { Elem::I64 } else { elem.unwrap_or(Elem::I64) };
        let StaticValue::View(view) = self.allocate(layout, &[TypeRef::Elem(elem)], false, origin)? else {
            return Err(Failed);
        };
        let name = self.kernel.locals[owner.local.0 as usize].name.clone();
        let view = self.point(&name, view, origin);
        Ok(if of_indices { Part::Index(view, owner) } else { Part::Number(view) })
    }
}

impl LValue {
    /// The number of elements, of an array.
    pub(super) fn len(&self) -> Option<i64> {
        match &self.part {
            Part::Array(len, _) => Some(*len),
            Part::Number(_) | Part::Index(..) | Part::Tuple(_) => None,
        }
    }

    /// The parts of a tuple, or the elements of an array.
    pub(super) fn parts(self) -> Vec<LValue> {
        let LValue { part, at } = self;
        match part {
            Part::Tuple(parts) => parts.into_iter().map(|part| LValue { part, at: at.clone() }).collect(),
            Part::Array(len, of) => {
                let within = |number| [&at[..], &[(Index::constant(number), len)]].concat();
                (0..len).map(|number| LValue { part: (*of).clone(), at: within(number) }).collect()
            }
            part @ (Part::Number(_) | Part::Index(..)) => vec![LValue { part, at }],
        }
    }
}

impl Step {
    fn index(&self) -> Option<ExprId> {
        match self {
            Step::At(index) => Some(*index),
            Step::Field(_) => None,
        }
    }
}

impl Part {
    /// What a message calls it.
    fn kind(&self) -> &'static str {
        match self {
            Part::Number(_) => "a number",
            Part::Index(..) => "an index (usize)",
            Part::Tuple(_) => "a tuple",
            Part::Array(..) => "an array",
        }
    }
}
