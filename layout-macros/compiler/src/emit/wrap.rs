//! Line breaks of statements that are too long for one line.
//!
//! ```text
//! copy(            if (a            *target =
//!     a,               && b) {          value;
//!     b
//! );
//! ```
//!
//! Law: the lines, joined, are the statement's text on one line, except for spaces.

use super::expression::Expression;
use crate::ir::BinaryOp;

/// `left = value;`, where `left` ends with the operator. `room` is the longest line.
pub(super) fn assignment(left: &str, value: &Expression, room: usize) -> Vec<String> {
    let whole = format!("{left} {value};");
    if whole.len() <= room { vec![whole] } else { vec![left.to_owned(), format!("    {value};")] }
}

/// `function(a, b);`
pub(super) fn call(function: &str, arguments: &[Expression], room: usize) -> Vec<String> {
    let texts: Vec<String> = arguments.iter().map(Expression::to_string).collect();
    let whole = format!("{function}({});", texts.join(", "));
    if whole.len() <= room {
        return vec![whole];
    }
    let last = texts.len().saturating_sub(1);
    let mut lines = vec![format!("{function}(")];
    lines.extend(texts.iter().enumerate().map(|(i, text)| {
        let comma = if i < last { "," } else { "" };
        format!("    {text}{comma}")
    }));
    lines.push(");".to_owned());
    lines
}

/// `head (condition) {`
pub(super) fn head(head: &str, condition: &Expression, room: usize) -> Vec<String> {
    let whole = format!("{head} ({condition}) {{");
    if whole.len() <= room || !matches!(condition, Expression::Infix(BinaryOp::And, ..)) {
        return vec![whole];
    }
    let mut parts = Vec::new();
    conjuncts(condition, &mut parts);
    let last = parts.len() - 1;
    let lines = parts.iter().enumerate().map(|(i, part)| {
        let open = if i == 0 { format!("{head} (") } else { "    && ".to_owned() };
        let close = if i == last { ") {" } else { "" };
        format!("{open}{part}{close}")
    });
    lines.collect()
}

/// The operands of the outermost `&&`s, each as it is there.
fn conjuncts(condition: &Expression, out: &mut Vec<String>) {
    if let Expression::Infix(BinaryOp::And, left, right) = condition {
        conjuncts(left, out);
        out.push(match **right {
            Expression::Infix(BinaryOp::And | BinaryOp::Or, ..) | Expression::Conditional(..) => {
                format!("({right})")
            }
            _ => right.to_string(),
        });
    } else if out.is_empty()
        && matches!(condition, Expression::Infix(BinaryOp::Or, ..) | Expression::Conditional(..))
    {
        out.push(format!("({condition})"));
    } else {
        out.push(condition.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_statements_break_and_keep_their_text() {
        let name = |text: &str| Expression::leaf(text);
        let and = |a, b| Expression::infix(BinaryOp::And, a, b);
        let or = |a, b| Expression::infix(BinaryOp::Or, a, b);
        assert_eq!(assignment("a +=", &name("b"), 80), ["a += b;"]);
        assert_eq!(assignment("a +=", &name("b"), 5), ["a +=", "    b;"]);
        assert_eq!(call("f", &[name("a"), name("b")], 80), ["f(a, b);"]);
        assert_eq!(call("f", &[name("a"), name("b")], 5), ["f(", "    a,", "    b", ");"]);
        let all = and(and(name("a"), or(name("b"), name("c"))), and(name("d"), name("e")));
        assert_eq!(head("if", &all, 80), ["if (a && (b || c) && (d && e)) {"]);
        assert_eq!(head("if", &all, 5), ["if (a", "    && (b || c)", "    && (d && e)) {"]);
        let either = and(or(name("a"), name("b")), name("c"));
        assert_eq!(head("while", &either, 5), ["while ((a || b)", "    && c) {"]);
        assert_eq!(head("if", &or(name("a"), name("b")), 1), ["if (a || b) {"]);
    }
}
