//! Arrays: tables of values.
//!
//! Law: an array is a value, as in Rust. One that `let mut` binds is in registers (`registers.rs`), and reading it as
//! a whole copies it. An index that is not proved to be in range is an error: Rust would panic there, and a kernel
//! cannot.

use super::datum::StaticValue;
use super::evaluator::{Evaluator, Failed, Outcome};
use crate::elem::Elem;
use crate::index::Index;
use crate::ir::{BinaryOp, ExprId};
use crate::origin::Origin;
use crate::program::{Comparison, Value};

/// The most elements of an array.
const MAX_ELEMENTS: i64 = 1024;
/// Elements that an index known at run time may be compared with.
pub(super) const MAX_COMPARED: i64 = 64;

impl Evaluator<'_> {
    /// `[value; count]`
    pub(super) fn repeat(&mut self, value: ExprId, count: ExprId, origin: Origin) -> Outcome<StaticValue> {
        let (value, count) = (self.expr(value), self.expr(count)?);
        let count = self.expect_index(count, origin)?;
        match count.as_constant() {
            Some(count @ 0..=MAX_ELEMENTS) => {
                let value = self.hold("element", value?, origin);
                Ok(StaticValue::Array(vec![value; count as usize]))
            }
            Some(count) => self.fail_help(
                origin,
                format!("an array of {count} elements; at most {MAX_ELEMENTS} are known at compile time"),
                "pass a table as a tensor, or fill a `shared::<T>(row_major([n]))`",
            ),
            None if self.ask(&[&count]) => Err(Failed),
            None => self.fail_help(
                origin,
                "the length of an array is not known at compile time",
                "take it from a number or a parameter of the attribute",
            ),
        }
    }

    pub(super) fn too_many_compared<T>(&mut self, count: i64, origin: Origin) -> Outcome<T> {
        self.fail_help(
            origin,
            format!(
                "an index known at run time into {count} registers; it is compared with each, and with {MAX_COMPARED} at most"
            ),
            "pass a table as a tensor, fill a `shared::<T>(row_major([n]))`, or count by `for k in unroll(0..n)`",
        )
    }

    /// `array[index]`
    pub(super) fn element_of(
        &mut self,
        array: ExprId,
        index: ExprId,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let mut operands = self.exprs(&[array, index])?.into_iter();
        let (array, index) = (operands.next().ok_or(Failed)?, operands.next().ok_or(Failed)?);
        let index = self.expect_index(index, origin)?;
        let parts = match array {
            StaticValue::Array(parts) => parts,
            StaticValue::View(view) => {
                let rank = view.rank();
                return self.fail_help(
                    origin,
                    format!("an element of a view of rank {rank} is named by all of its coordinates at once"),
                    "write `a[[row, column]]`, of one mode `a[[i]]`",
                );
            }
            other => {
                let message = format!("{} has no elements", other.kind());
                return self.fail_help(origin, message, "`own[i]` is of an array, `x[[i, j]]` of a tensor");
            }
        };
        self.in_range(&index, parts.len(), origin)?;
        if let Some(number) = index.as_constant() {
            return parts.get(number as usize).cloned().ok_or(Failed);
        }
        if self.request_unroll_of_element(&index) {
            return Err(Failed);
        }
        self.chosen_of(parts, &index, origin)
    }

    /// `array.len()`
    pub(super) fn length_of(&mut self, array: ExprId, origin: Origin) -> Outcome<StaticValue> {
        let len = match self.spot(array, origin) {
            Some(spot) => spot?.len(),
            None => match self.expr(array)? {
                StaticValue::Array(parts) => Some(parts.len() as i64),
                StaticValue::View(_) => {
                    return self.fail_help(
                        origin,
                        "a tensor is no array: it has an extent for each mode",
                        "an extent is `x.dim(0)`, an element `x[[i]]`: `for i in 0..x.dim(0) { .. x[[i]] .. }`",
                    );
                }
                StaticValue::Unknown => return Err(Failed),
                other => return self.fail(origin, format!("{} has no elements", other.kind())),
            },
        };
        match len {
            Some(len) => Ok(StaticValue::Index(Index::constant(len))),
            None => self.fail(origin, "only an array has a length"),
        }
    }

    /// The element at an index known at run time: one comparison for each element but the last.
    pub(super) fn chosen_of(
        &mut self,
        parts: Vec<StaticValue>,
        index: &Index,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        if parts.len() as i64 > MAX_COMPARED {
            return self.too_many_compared(parts.len() as i64, origin);
        }
        let tuples = matches!(parts.first(), Some(StaticValue::Tuple(_)));
        // Of arrays and tuples within: element by element.
        let inner = |part: &StaticValue| match part {
            StaticValue::Array(inner) if !tuples => Some(inner.len()),
            StaticValue::Tuple(inner) if tuples => Some(inner.len()),
            _ => None,
        };
        if let Some(len) = parts.first().and_then(inner)
            && parts.iter().all(|part| inner(part) == Some(len))
        {
            let column = |at: usize| {
                let of = |part: &StaticValue| match part {
                    StaticValue::Array(inner) | StaticValue::Tuple(inner) => inner[at].clone(),
                    other => other.clone(),
                };
                parts.iter().map(of).collect::<Vec<StaticValue>>()
            };
            let columns: Vec<Vec<StaticValue>> = (0..len).map(column).collect();
            let chosen = columns.into_iter().map(|column| self.chosen_of(column, index, origin));
            let chosen = chosen.collect::<Outcome<Vec<StaticValue>>>()?;
            return Ok(if tuples { StaticValue::Tuple(chosen) } else { StaticValue::Array(chosen) });
        }
        let indices = parts.iter().all(|part| matches!(part, StaticValue::Index(_)));
        let mut rest = None;
        for (number, part) in parts.into_iter().enumerate().rev() {
            let part = match part {
                StaticValue::Index(part) if indices => {
                    StaticValue::Scalar(Value::Index(part, Elem::I64), Elem::I64)
                }
                part => part,
            };
            rest = Some(match rest {
                None => part,
                Some(rest) => {
                    let (then, otherwise, elem) = self.unify(part, rest, "elements", origin)?;
                    let right = Index::constant(number as i64);
                    let comparison = Comparison { op: BinaryOp::Eq, left: index.clone(), right };
                    let condition = Box::new(Value::Compare(comparison));
                    StaticValue::Scalar(Value::Select(condition, Box::new(then), Box::new(otherwise)), elem)
                }
            });
        }
        match rest {
            Some(StaticValue::Scalar(value, elem)) if indices => {
                Ok(StaticValue::Index(self.index_from_value(value, elem, origin)))
            }
            Some(chosen) => Ok(chosen),
            None => Err(Failed),
        }
    }

    pub(super) fn in_range(&mut self, index: &Index, len: usize, origin: Origin) -> Outcome<()> {
        if self.is_within(index, len as i64) {
            return Ok(());
        }
        if index.as_constant().is_none()
            && (self.request_unroll_of_element(index) || self.require_below(index, len as i64))
        {
            return Err(Failed);
        }
        let message = match index.as_constant() {
            Some(at) => format!("element {at} of an array of {len}"),
            None => format!("an index of an array of {len} that may be out of bounds"),
        };
        let help = format!(
            "Rust would stop there: test the index, `if i < {len} {{ .. }}`, or keep it inside, `a[i.min({})]`, `a[i % {len}]`",
            len.saturating_sub(1)
        );
        self.fail_help(origin, message, help)
    }
}
