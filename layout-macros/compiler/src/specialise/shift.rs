//! Shifts: their counts, and shifts of indices by counts known only at run time.
//!
//! Law: a count has any integer type, and is taken modulo the width of the shifted value, as in Rust's release mode.

use super::datum::StaticValue;
use super::evaluator::{Evaluator, Outcome};
use super::tile::TileAccess;
use crate::elem::Elem;
use crate::index::{Index, Range};
use crate::ir::BinaryOp;
use crate::origin::Origin;
use crate::program::Value;

impl Evaluator<'_> {
    /// The count of a shift, of any integer type: only its lowest bits count, and a conversion keeps them.
    pub(super) fn shift_count(
        &mut self,
        count: StaticValue,
        elem: Elem,
        origin: Origin,
    ) -> Outcome<Value<TileAccess>> {
        match count {
            StaticValue::Scalar(value, from) if from.is_integer() && from != elem => {
                Ok(Value::Cast(elem, Box::new(value)))
            }
            StaticValue::Index(index) if index.as_constant().is_none() => Ok(Value::Index(index, elem)),
            other => self.coerce(other, elem, origin),
        }
    }

    /// The count of a shift that is a number.
    pub(super) fn known_count(&self, count: &StaticValue) -> Option<Index> {
        let StaticValue::Scalar(Value::Constant(constant), _) = count else { return None };
        i64::try_from(constant.as_i128()).ok().map(Index::constant)
    }

    /// `a << count` and `a >> count` of an index where the count is known at run time only: an integer in a register, which
    /// the index then is.
    pub(super) fn shifted(
        &mut self,
        op: BinaryOp,
        a: &Index,
        count: StaticValue,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let range = self.tables.atoms.range(a);
        let counts = match &count {
            StaticValue::Index(count) => self.tables.atoms.range(count),
            StaticValue::Scalar(value, elem) => self.value_range(value, *elem),
            _ => Range::new(0, 63),
        };
        let short = counts.low >= 0 && counts.high < 31;
        let most = if op == BinaryOp::Shl && short { range.high << counts.high } else { range.high };
        let elem = match range.low >= 0 {
            true if short && most <= i128::from(i32::MAX) => Elem::I32,
            true => Elem::U64,
            false => Elem::I64,
        };
        let value = StaticValue::Scalar(Value::Index(a.clone(), elem), elem);
        match self.binary(op, value, count, origin)? {
            StaticValue::Scalar(value, elem) => {
                Ok(StaticValue::Index(self.index_from_value(value, elem, origin)))
            }
            other => Ok(other),
        }
    }
}
