//! Arrays: tables of values.
//!
//! Law: an array is a value, as in Rust. One that is bound by `let mut` lies in registers (`registers.rs`); read as a whole
//! it is a copy. An index is proved to be in range, or refused: Rust would panic there, and a kernel cannot.

use super::datum::Datum;
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
    pub(super) fn repeat(&mut self, value: ExprId, count: ExprId, origin: Origin) -> Outcome<Datum> {
        let (value, count) = (self.expr(value), self.expr(count)?);
        let count = self.expect_index(count, origin)?;
        match count.as_constant() {
            Some(count @ 0..=MAX_ELEMENTS) => {
                let value = self.hold("element", value?, origin);
                Ok(Datum::Array(vec![value; count as usize]))
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
    pub(super) fn element_of(&mut self, array: ExprId, index: ExprId, origin: Origin) -> Outcome<Datum> {
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
            other => {
                let message = format!("{} has no elements", other.kind());
                return self.fail_help(origin, message, "`own[i]` is of an array, `x[[i, j]]` of a tensor");
            }
        };
        self.in_range(&index, parts.len(), origin)?;
        if let Some(number) = index.as_constant() {
            return parts.get(number as usize).cloned().ok_or(Failed);
        }
        if self.ask_element(&index) {
            return Err(Failed);
        }
        self.chosen_of(parts, &index, origin)
    }

    /// `array.len()`
    pub(super) fn length_of(&mut self, array: ExprId, origin: Origin) -> Outcome<Datum> {
        let len = match self.spot(array, origin) {
            Some(spot) => spot?.len(),
            None => match self.expr(array)? {
                Datum::Array(parts) => Some(parts.len() as i64),
                Datum::View(_) => {
                    return self.fail_help(
                        origin,
                        "a tensor is no array: it has an extent for each mode",
                        "an extent is `x.dim(0)`, an element `x[[i]]`: `for i in 0..x.dim(0) { .. x[[i]] .. }`",
                    );
                }
                Datum::Unknown => return Err(Failed),
                other => return self.fail(origin, format!("{} has no elements", other.kind())),
            },
        };
        match len {
            Some(len) => Ok(Datum::Index(Index::constant(len))),
            None => self.fail(origin, "only an array has a length"),
        }
    }

    /// The element at an index known at run time: one comparison for each element but the last.
    pub(super) fn chosen_of(&mut self, parts: Vec<Datum>, index: &Index, origin: Origin) -> Outcome<Datum> {
        if parts.len() as i64 > MAX_COMPARED {
            return self.too_many_compared(parts.len() as i64, origin);
        }
        let tuples = matches!(parts.first(), Some(Datum::Tuple(_)));
        // Of arrays and tuples within: element by element.
        let inner = |part: &Datum| match part {
            Datum::Array(inner) if !tuples => Some(inner.len()),
            Datum::Tuple(inner) if tuples => Some(inner.len()),
            _ => None,
        };
        if let Some(len) = parts.first().and_then(inner)
            && parts.iter().all(|part| inner(part) == Some(len))
        {
            let column = |at: usize| {
                let of = |part: &Datum| match part {
                    Datum::Array(inner) | Datum::Tuple(inner) => inner[at].clone(),
                    other => other.clone(),
                };
                parts.iter().map(of).collect::<Vec<Datum>>()
            };
            let columns: Vec<Vec<Datum>> = (0..len).map(column).collect();
            let chosen = columns.into_iter().map(|column| self.chosen_of(column, index, origin));
            let chosen = chosen.collect::<Outcome<Vec<Datum>>>()?;
            return Ok(if tuples { Datum::Tuple(chosen) } else { Datum::Array(chosen) });
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

    pub(super) fn in_range(&mut self, index: &Index, len: usize, origin: Origin) -> Outcome<()> {
        if self.is_within(index, len as i64) {
            return Ok(());
        }
        if index.as_constant().is_none()
            && (self.ask_element(index) || self.ask_to_come_round(index, len as i64))
        {
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
}
