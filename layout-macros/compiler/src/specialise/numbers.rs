//! The meaning of the words for conversions between values and sizes, and for choices.

use super::datum::StaticValue;
use super::evaluator::{Evaluator, Outcome};
use super::vocabulary::Call;
use crate::index::Index;
use crate::intrinsic::Intrinsic;
use crate::ir::BinaryOp;
use crate::origin::Origin;

/// The way out where a divisor is zero in this parameter set.
pub(super) const NOT_ZERO: &str = "divide by another number; where a parameter may be 0, leave 0 out of its values, or divide inside of an `if` that excludes it";

impl Evaluator<'_> {
    pub(super) fn number_word(&mut self, call: Call<'_>) -> Outcome<StaticValue> {
        let Call { word: intrinsic, types, mut values, origin } = call;
        let name = intrinsic.name();
        match intrinsic {
            Intrinsic::DivCeil => {
                let by = values.remove(1);
                self.div_ceil(values.remove(0), by, origin)
            }
            Intrinsic::SizeOf => {
                let elem = match types {
                    [ty] => self.elem(*ty, origin)?,
                    _ => None,
                };
                match elem {
                    Some(elem) => Ok(StaticValue::Index(Index::constant(i64::from(elem.bytes())))),
                    None => self.fail(origin, "`size_of` of an element type: `size_of::<f32>()`"),
                }
            }
            Intrinsic::Select => {
                let (b, a) = (values.remove(2), values.remove(1));
                self.choice(values.remove(0), a, b, name, origin)
            }
            _ => self.meaningless(name, origin),
        }
    }

    fn div_ceil(&mut self, a: StaticValue, b: StaticValue, origin: Origin) -> Outcome<StaticValue> {
        let unsigned = |value: &StaticValue| matches!(value, StaticValue::Scalar(_, elem) if elem.is_integer() && !elem.is_signed());
        if !unsigned(&a) && !unsigned(&b) {
            let (a, by) = (self.expect_index(a, origin)?, self.expect_index(b, origin)?);
            if by.as_constant() == Some(0) {
                return self.fail_help(origin, "`div_ceil` by zero", NOT_ZERO);
            }
            let result = self.tables.atoms.div_ceil(&a, &by);
            let result = self.index(origin, result)?;
            return Ok(StaticValue::Index(self.tables.atoms.wrapped(result)));
        }
        let (a, b, elem) = self.unify(a, b, "div_ceil", origin)?;
        let a = self.hold("dividend", StaticValue::Scalar(a, elem), origin);
        let b = self.hold("divisor", StaticValue::Scalar(b, elem), origin);
        let rest = self.binary(BinaryOp::Rem, a.clone(), b.clone(), origin)?;
        let whole = self.binary(BinaryOp::Div, a, b, origin)?;
        let number = |value| StaticValue::Index(Index::constant(value));
        let left = self.binary(BinaryOp::Ne, rest, number(0), origin)?;
        let more = self.binary(BinaryOp::Add, whole.clone(), number(1), origin)?;
        self.choice(left, more, whole, "div_ceil", origin)
    }
}
