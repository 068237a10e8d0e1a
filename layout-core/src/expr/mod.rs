//! Expressions of the algebra as text: `logical_divide((4,8):(8,1), (2,4))`.
//!
//! Law: `evaluate(text)` is the function of the same name on the parsed arguments, and a value's text evaluates to
//! that value. Any text is taken: an error or a value, never a panic.

mod ops;
mod parse;
mod steps;
mod value;

pub use ops::{OPERATIONS, Operation};
pub use value::Value;

use crate::LayoutError;

/// One call and what it gave, innermost calls first.
///
/// ```
/// use layout_core::expr::explain;
/// let (_, steps) = explain("size(coalesce((2,4):(1,2)))")?;
/// assert_eq!(steps[0].to_string(), "coalesce((2,4):(1,2)) = 8:1");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The call with its arguments evaluated.
    pub call: String,
    /// Its value, as text.
    pub value: String,
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} = {}", self.call, self.value)
    }
}

/// The value of an expression: a call of one of [`OPERATIONS`], or a value as it is written.
///
/// # Errors
/// [`LayoutError::Parse`], what the operations refuse, and [`LayoutError::Unsupported`] for an operation that is not
/// there or arguments of the wrong kind.
///
/// ```
/// use layout_core::expr::evaluate;
///
/// assert_eq!(evaluate("logical_divide((4,8):(8,1), (2,4))")?.to_string(), "((2,2),(4,2)):((8,16),(1,4))");
/// assert_eq!(evaluate("is_injective((3,4):(3,2))")?.to_string(), "false");
/// assert_eq!(evaluate("slice((4,8):(8,1), (1,_))")?.to_string(), "(8):(1) at 8");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn evaluate(text: &str) -> Result<Value, LayoutError> {
    Ok(explain(text)?.0)
}

/// The value of an expression and the steps that lead to it; a divide or a product shows its complement and its
/// composition.
///
/// # Errors
/// As [`evaluate`].
///
/// ```
/// use layout_core::expr::explain;
///
/// let (value, steps) = explain("logical_divide(24:1, 3:2)")?;
/// assert_eq!(value.to_string(), "(3,(2,4)):(2,(1,6))");
/// let steps: Vec<String> = steps.iter().map(|step| step.to_string()).collect();
/// assert_eq!(steps, [
///     "complement(3:2, 24) = (2,4):(1,6)",
///     "composition(24:1, (3,(2,4)):(2,(1,6))) = (3,(2,4)):(2,(1,6))",
///     "logical_divide(24:1, 3:2) = (3,(2,4)):(2,(1,6))",
/// ]);
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn explain(text: &str) -> Result<(Value, Vec<Step>), LayoutError> {
    let mut steps = Vec::new();
    let value = parse::expression(text, &mut steps)?;
    Ok((value, steps))
}

/// Calls an operation by name.
///
/// # Errors
/// As [`evaluate`].
///
/// ```
/// use layout_core::{Layout, expr::{Value, call}};
/// let l = Value::Layout(Layout::row_major((4, 8))?);
/// assert_eq!(call("size", &[l])?, Value::Int(32));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn call(name: &str, arguments: &[Value]) -> Result<Value, LayoutError> {
    ops::find(name)?.call(arguments)
}
