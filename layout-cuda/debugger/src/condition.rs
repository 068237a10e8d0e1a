//! Conditions: expressions over a lane's scalars, with the operators of Rust.
//!
//! ```text
//! or ─► and ("||" and)*    and ─► comparison ("&&" comparison)*    comparison ─► sum (("<" | "==" ..) sum)?
//! sum ─► product (("+" | "-") product)*    product ─► unary (("*" | "/" | "%") unary)*
//! unary ─► ("-" | "!") unary | number | name | "(" or ")"
//! ```
//! Law: numbers are f64, truth is 1 and 0, a division truncates where both sides are whole. A name without a value has no result.

use std::fmt;

/// An expression that was read.
///
/// ```
/// use layout_debugger::Condition;
/// let condition: Condition = "i % 2 == 1 && sum > 0.5".parse().unwrap();
/// let of = |name: &str| match name { "i" => Some(3.0), "sum" => Some(1.0), _ => None };
/// assert_eq!(condition.evaluate(&of), Some(1.0));
/// assert!("i <".parse::<Condition>().unwrap_err().to_string().contains("ends"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    root: Node,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Name(String),
    Unary(&'static str, Box<Node>),
    Binary(&'static str, Box<[Node; 2]>),
}

/// Why a text is no condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionError {
    text: String,
    at: usize,
    what: &'static str,
}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = self.text.split_at_checked(self.at).unwrap_or((&self.text, ""));
        write!(f, "`{before}` {}", self.what)?;
        if !after.is_empty() {
            write!(f, " before `{}`", after.trim())?;
        }
        write!(f, ": a condition is like `i < 4 && sum != 0.0`")
    }
}

impl std::error::Error for ConditionError {}

/// The binary operators by precedence, the loosest first; a longer one before its beginning.
const LEVELS: [&[&str]; 5] =
    [&["||"], &["&&"], &["==", "!=", "<=", ">=", "<", ">"], &["+", "-"], &["*", "/", "%"]];

/// The deepest nesting.
const DEEPEST: u32 = 64;

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: u32,
}

impl Reader<'_> {
    fn rest(&mut self) -> &str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }

    fn fail<T>(&self, what: &'static str) -> Result<T, ConditionError> {
        Err(ConditionError { text: self.text.to_owned(), at: self.at, what })
    }

    fn binary(&mut self, level: usize) -> Result<Node, ConditionError> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        loop {
            let rest = self.rest();
            let Some(operator) = operators.iter().find(|operator| rest.starts_with(**operator)) else {
                return Ok(left);
            };
            self.at += operator.len();
            left = Node::Binary(operator, Box::new([left, self.binary(level + 1)?]));
        }
    }

    fn unary(&mut self) -> Result<Node, ConditionError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.fail("nests too deep");
        }
        let node = self.atom();
        self.depth -= 1;
        node
    }

    fn atom(&mut self) -> Result<Node, ConditionError> {
        let rest = self.rest();
        let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let length = rest.find(|c: char| !word(c)).unwrap_or(rest.len());
        let (first, taken) = (rest.chars().next(), rest[..length].to_owned());
        match first {
            Some('-' | '!') => {
                let operator = if first == Some('-') { "-" } else { "!" };
                self.at += 1;
                Ok(Node::Unary(operator, Box::new(self.unary()?)))
            }
            Some('(') => {
                self.at += 1;
                let inside = self.binary(0)?;
                if !self.rest().starts_with(')') {
                    return self.fail("has no `)`");
                }
                self.at += 1;
                Ok(inside)
            }
            Some(digit) if digit.is_ascii_digit() => match taken.replace('_', "").parse() {
                Ok(number) => {
                    self.at += length;
                    Ok(Node::Number(number))
                }
                Err(_) => self.fail("has no number"),
            },
            Some(_) if length > 0 => {
                self.at += length;
                Ok(match taken.as_str() {
                    "true" => Node::Number(1.0),
                    "false" => Node::Number(0.0),
                    _ => Node::Name(taken),
                })
            }
            Some(_) => self.fail("has no value"),
            None => self.fail("ends where a value is missing"),
        }
    }
}

impl std::str::FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Condition, ConditionError> {
        let mut reader = Reader { text, at: 0, depth: 0 };
        let root = reader.binary(0)?;
        match reader.rest().is_empty() {
            true => Ok(Condition { text: text.to_owned(), root }),
            false => reader.fail("is a whole expression"),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Condition {
    /// The value where the names have these; `None` where one has none.
    pub fn evaluate(&self, of: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        self.root.evaluate(of)
    }
}

impl Node {
    fn evaluate(&self, of: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        let truth = |holds: bool| f64::from(u8::from(holds));
        Some(match self {
            Node::Number(value) => *value,
            Node::Name(name) => of(name)?,
            Node::Unary("-", value) => -value.evaluate(of)?,
            Node::Unary(_, value) => truth(value.evaluate(of)? == 0.0),
            Node::Binary("&&", sides) => match sides[0].evaluate(of)? {
                0.0 => 0.0,
                _ => truth(sides[1].evaluate(of)? != 0.0),
            },
            Node::Binary("||", sides) => match sides[0].evaluate(of)? {
                0.0 => truth(sides[1].evaluate(of)? != 0.0),
                _ => 1.0,
            },
            Node::Binary(operator, sides) => {
                let (left, right) = (sides[0].evaluate(of)?, sides[1].evaluate(of)?);
                match *operator {
                    "==" => truth(left == right),
                    "!=" => truth(left != right),
                    "<=" => truth(left <= right),
                    ">=" => truth(left >= right),
                    "<" => truth(left < right),
                    ">" => truth(left > right),
                    "+" => left + right,
                    "-" => left - right,
                    "*" => left * right,
                    "%" => left % right,
                    _ if left.fract() == 0.0 && right.fract() == 0.0 => (left / right).trunc(),
                    _ => left / right,
                }
            }
        })
    }
}
