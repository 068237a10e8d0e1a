//! The meaning of the words for conversions between values and sizes, and for choices.

use super::datum::StaticValue;
use super::evaluator::{Evaluator, Outcome};
use super::vocabulary::Call;
use crate::index::Index;
use crate::intrinsic::Intrinsic;

/// The way out where a divisor is zero in this parameter set.
pub(super) const NOT_ZERO: &str = "divide by another number; where a parameter may be 0, leave 0 out of its values, or divide inside of an `if` that excludes it";

impl Evaluator<'_> {
    pub(super) fn number_word(&mut self, call: Call<'_>) -> Outcome<StaticValue> {
        let Call { word: intrinsic, types, mut values, origin } = call;
        let name = intrinsic.name();
        match intrinsic {
            Intrinsic::DivCeil => {
                let by = self.expect_index(values.remove(1), origin)?;
                let index = self.expect_index(values.remove(0), origin)?;
                if by.as_constant() == Some(0) {
                    return self.fail_help(origin, "`div_ceil` by zero", NOT_ZERO);
                }
                let result = self.tables.atoms.div_ceil(&index, &by);
                let result = self.index(origin, result)?;
                Ok(StaticValue::Index(self.tables.atoms.wrapped(result)))
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
}
