//! The law of integer arithmetic in texts: C's reading of the text, promotions to `int` included, has the program's
//! value, and no step is undefined in C. All values of 8 bits are tested, and those near the limits of the wider
//! types.

use super::build::*;
use crate::elem::{Constant, Elem};
use crate::emit::emit;
use crate::ir::{BinaryOp, UnaryOp};
use crate::math::Math;
use crate::meaning;
use crate::program::{Access, StatementKind, Value, VariableKind};

/// A value of C: its type, one of the integers, and its bits, extended.
type Number = (Elem, i64);

/// Reads an expression as C does.
struct Reader<'a> {
    rest: &'a str,
    variables: [Number; 2],
}

/// `int` where it holds the type, as C promotes operands.
fn promoted((elem, value): Number) -> Number {
    if elem.bits() < 32 { (Elem::I32, value) } else { (elem, value) }
}

fn exact(number: Number) -> i128 {
    Constant { elem: number.0, bits: number.1 as u64 & (u64::MAX >> (64 - number.0.bits())) }.as_i128()
}

fn cut(elem: Elem, value: i128) -> Number {
    (elem, elem.wrap(value as i64))
}

/// A result of signed arithmetic, which C leaves open where it does not fit.
fn fitting(elem: Elem, value: i128, what: &str) -> Number {
    let (least, most) = elem.limits();
    assert!(!elem.is_signed() || (least..=most).contains(&value), "C leaves {what} open: {value} in {elem}");
    cut(elem, value)
}

impl Reader<'_> {
    fn take(&mut self, token: &str) -> bool {
        take(&mut self.rest, token)
    }

    fn type_name(&mut self, end: char) -> Option<Elem> {
        let (name, rest) = self.rest.split_once(end)?;
        let elem = Elem::ALL.into_iter().find(|elem| elem.c_name() == name)?;
        self.rest = rest;
        Some(elem)
    }

    fn conditional(&mut self) -> Number {
        let condition = self.infix(0);
        if !self.take("?") {
            return condition;
        }
        let then = self.conditional();
        assert!(self.take(":"), "{}", self.rest);
        let otherwise = self.conditional();
        let (a, b) = usual(then, otherwise);
        if condition.1 != 0 { a } else { b }
    }

    fn infix(&mut self, level: usize) -> Number {
        const LEVELS: [&[&str]; 8] = [
            &["|"],
            &["^"],
            &["&"],
            &["==", "!="],
            &["<=", ">=", "< ", "> "],
            &["<<", ">>"],
            &["+", "-"],
            &["*", "/", "%"],
        ];
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.infix(level + 1);
        loop {
            let start = self.rest.trim_start();
            let ambiguous = level == 4 && (start.starts_with("<<") || start.starts_with(">>"));
            let Some(op) = operators.iter().find(|op| !ambiguous && self.take(op)) else { return left };
            let right = self.infix(level + 1);
            left = operate(op.trim(), left, right);
        }
    }

    fn unary(&mut self) -> Number {
        if self.take("-") {
            let operand = promoted(self.unary());
            return fitting(operand.0, -exact(operand), "a minus");
        }
        if self.take("~") {
            let operand = promoted(self.unary());
            return cut(operand.0, !exact(operand));
        }
        if self.take("(") {
            if let Some(elem) = self.type_name(')') {
                let operand = self.unary();
                return cut(elem, exact(operand));
            }
            let inner = self.conditional();
            assert!(self.take(")"), "{}", self.rest);
            return inner;
        }
        let word = word(&mut self.rest);
        match word {
            "x" => return self.variables[0],
            "y" => return self.variables[1],
            _ => {}
        }
        for (suffix, elem) in [("ULL", Elem::U64), ("LL", Elem::I64), ("u", Elem::U32), ("", Elem::I32)] {
            if let Some(Ok(value)) = word.strip_suffix(suffix).map(str::parse::<i128>) {
                assert_eq!(exact(cut(elem, value)), value, "a literal of {elem}");
                return cut(elem, value);
            }
        }
        let template = if self.take("<") { self.type_name('>') } else { None };
        assert!(self.take("("), "`{word}` before {}", self.rest);
        let mut operands = vec![self.conditional()];
        while self.take(",") {
            operands.push(self.conditional());
        }
        assert!(self.take(")"), "{}", self.rest);
        function(word, template, &operands)
    }
}

/// The usual arithmetic conversions.
fn usual(a: Number, b: Number) -> (Number, Number) {
    let (a, b) = (promoted(a), promoted(b));
    let rank = |elem: Elem| (elem.bits(), !elem.is_signed());
    let common = if rank(a.0) >= rank(b.0) { a.0 } else { b.0 };
    (cut(common, exact(a)), cut(common, exact(b)))
}

fn operate(op: &str, left: Number, right: Number) -> Number {
    if matches!(op, "<<" | ">>") {
        let (left, count) = (promoted(left), exact(right));
        assert!((0..i128::from(left.0.bits())).contains(&count), "C leaves a shift by {count} open");
        return match op {
            "<<" => fitting(left.0, exact(left) << count, "a shift"),
            _ => cut(left.0, exact(left) >> count),
        };
    }
    let (left, right) = usual(left, right);
    let (a, b) = (exact(left), exact(right));
    let truth = |value: bool| (Elem::I32, i64::from(value));
    match op {
        "+" => fitting(left.0, a + b, "a sum"),
        "-" => fitting(left.0, a - b, "a difference"),
        // Of the product of two `u64` the lower bits are enough.
        "*" => fitting(left.0, a.checked_mul(b).unwrap_or_else(|| a.wrapping_mul(b)), "a product"),
        "/" => fitting(left.0, a / b, "a quotient"),
        "%" => {
            fitting(left.0, a / b, "a quotient");
            cut(left.0, a % b)
        }
        "&" => cut(left.0, a & b),
        "|" => cut(left.0, a | b),
        "^" => cut(left.0, a ^ b),
        "==" => truth(a == b),
        "!=" => truth(a != b),
        "<=" => truth(a <= b),
        ">=" => truth(a >= b),
        "<" => truth(a < b),
        _ => truth(a > b),
    }
}

/// What the functions of `device/` promise.
fn function(name: &str, template: Option<Elem>, operands: &[Number]) -> Number {
    if let Some(elem) = template {
        let word = Math::ALL.into_iter().find(|word| {
            use crate::math::Spelling::{Bits, Template};
            matches!(word.spelling().1, Template(known) | Bits(known) if known == name)
        });
        let word = word.expect("a word of this spelling");
        let mut of = [0; 3];
        for (n, (of, operand)) in of.iter_mut().zip(operands).enumerate() {
            let ty = if n == 0 { elem } else { word.operands()[n - 1].of(elem) };
            *of = cut(ty, exact(*operand)).1;
        }
        let value = meaning::integer(word, elem, of).expect("of integers");
        let wide = name == "abs_diff";
        return (if wide { Elem::U64 } else { word.result().of(elem) }, value);
    }
    let a = promoted(operands[0]);
    let b = operands.get(1).copied().unwrap_or(a);
    let (x, y) = (exact(a), exact(b));
    let min_max = |larger: bool| {
        let (p, q) = usual(a, b);
        assert_eq!(promoted(a).0, promoted(b).0, "`{name}` of two types is ambiguous");
        if (exact(p) < exact(q)) != larger { p } else { q }
    };
    match name {
        "min" => min_max(false),
        "max" => min_max(true),
        "wrapping_add" => cut(a.0, x + y),
        "wrapping_sub" => cut(a.0, x - y),
        "wrapping_mul" => cut(a.0, x * y),
        "wrapping_div" => cut(a.0, x / y),
        "wrapping_rem" => cut(a.0, x % y),
        "wrapping_shl" => cut(a.0, x << y),
        "wrapping_neg" => cut(a.0, -x),
        "wrapping_abs" => cut(a.0, x.abs()),
        "sign_mask" => cut(a.0, x >> 127),
        other => packed(other, cut(Elem::U32, x).1 as u32, cut(Elem::U32, y).1 as u32),
    }
}

/// CUDA's functions of packed words, by the parts of their names: `__vmins4` is the smaller of four bytes with a sign each.
fn packed(name: &str, x: u32, y: u32) -> Number {
    let parts = name.strip_prefix("__v").and_then(|rest| Some((rest.strip_suffix(['2', '4'])?, rest)));
    let (does, whole) = parts.unwrap_or_else(|| panic!("`{name}` is not known here"));
    let bits = if whole.ends_with('4') { 8 } else { 16 };
    let mask = (1i64 << bits) - 1;
    let lane = |word: u32, at: u32| {
        let value = i64::from(word >> at) & mask;
        if does.ends_with('s') && value > mask / 2 { value - mask - 1 } else { value }
    };
    let lanes = (0..32).step_by(bits).map(|at| {
        let (a, b) = (lane(x, at), lane(y, at));
        let value = match does {
            "minu" | "mins" => a.min(b),
            "maxu" | "maxs" => a.max(b),
            "add" => a + b,
            "sub" => a - b,
            "cmpgtu" | "cmpgts" => -i64::from(a > b),
            "cmpeq" => -i64::from(a == b),
            _ => panic!("`{name}` is not known here"),
        };
        (value & mask) << at
    });
    cut(Elem::U32, lanes.sum::<i64>().into())
}

/// Every operation of a type, and what it means of two values; none where it divides by zero.
type Operation = (Value<Access>, Box<dyn Fn(i64, i64) -> Option<i64>>);

fn operations(elem: Elem, x: &Value<Access>, y: &Value<Access>) -> Vec<Operation> {
    let wrap = move |value: i128| Some(elem.wrap(value as i64));
    let of = move |value: i64| exact((elem, value));
    let count = move |b: i64| (of(b) & i128::from(elem.bits() - 1)) as u32;
    use BinaryOp as B;
    let mut list: Vec<Operation> = Vec::new();
    let mut infix = |op: B, means: Box<dyn Fn(i64, i64) -> Option<i64>>| {
        list.push((binary(op, x.clone(), y.clone()), means));
    };
    infix(B::Add, Box::new(move |a, b| wrap(of(a) + of(b))));
    infix(B::Sub, Box::new(move |a, b| wrap(of(a) - of(b))));
    infix(B::Mul, Box::new(move |a, b| wrap(of(a).wrapping_mul(of(b)))));
    infix(B::Div, Box::new(move |a, b| of(a).checked_div(of(b)).and_then(wrap)));
    infix(B::Rem, Box::new(move |a, b| of(a).checked_rem(of(b)).and_then(wrap)));
    infix(B::BitAnd, Box::new(move |a, b| wrap(of(a) & of(b))));
    infix(B::BitOr, Box::new(move |a, b| wrap(of(a) | of(b))));
    infix(B::BitXor, Box::new(move |a, b| wrap(of(a) ^ of(b))));
    infix(B::Shl, Box::new(move |a, b| wrap(of(a) << count(b))));
    infix(B::Shr, Box::new(move |a, b| wrap(of(a) >> count(b))));
    let not = Value::Unary(UnaryOp::Not, Box::new(binary(B::Add, x.clone(), y.clone())));
    list.push((not, Box::new(move |a, b| wrap(!(of(a) + of(b))))));
    if elem.is_signed() {
        let minus = Value::Unary(UnaryOp::Neg, Box::new(binary(B::Sub, x.clone(), y.clone())));
        list.push((minus, Box::new(move |a, b| wrap(of(b) - of(a)))));
    }
    // A step that wraps, and one that shows it.
    let seven = Value::Constant(Constant::integer(elem, 7).expect("small"));
    let product = binary(B::Mul, binary(B::Add, x.clone(), y.clone()), x.clone());
    let shown = binary(B::Div, product, seven);
    let sum = move |a: i64, b: i64| of(elem.wrap((of(a) + of(b)) as i64));
    list.push((
        shown,
        Box::new(move |a, b| {
            let product = of(elem.wrap(sum(a, b).wrapping_mul(of(a)) as i64));
            wrap(product / 7)
        }),
    ));
    for word in Math::ALL.into_iter().filter(|word| word.domain().holds(elem)) {
        let same = |n: usize| word.operands()[n - 1].of(elem) == elem;
        let parts: Vec<Value<Access>> = match word.arity() {
            1 => vec![binary(B::Add, x.clone(), y.clone())],
            2 if same(1) => vec![x.clone(), y.clone()],
            2 => vec![x.clone(), Value::Cast(Elem::U32, Box::new(y.clone()))],
            _ => continue,
        };
        let result = word.result().of(elem);
        if result == Elem::Bool {
            continue;
        }
        let both = word.arity() == 1;
        let means = move |a: i64, b: i64| {
            let first = if both { elem.wrap((of(a) + of(b)) as i64) } else { a };
            let second = if same_type(word, elem) { b } else { Elem::U32.wrap(b) };
            meaning::integer(word, elem, [first, second, 0]).map(|value| elem.wrap(value))
        };
        // As a value of the type, so that all results are of one.
        let value = Value::Math(word, parts);
        let value = if result == elem { value } else { Value::Cast(elem, Box::new(value)) };
        list.push((value, Box::new(means)));
    }
    list
}

fn same_type(word: Math, elem: Elem) -> bool {
    word.operands().first().is_some_and(|ty| ty.of(elem) == elem)
}

fn domain(elem: Elem) -> Vec<i64> {
    if elem.bits() == 8 {
        return (0..256).map(|value| elem.wrap(value)).collect();
    }
    let (least, most) = elem.limits();
    let near = [least, least + 1, most, most - 1, 0, 1, 2, 3, 7, 63, 255, 256, most / 2, most / 3, least / 5];
    let powers = (0..elem.bits() - 1).step_by(3).flat_map(|n| [1i128 << n, -(1i128 << n) + 1]);
    near.into_iter().chain(powers).map(|value| elem.wrap(value as i64)).collect()
}

#[test]
fn the_text_of_integer_arithmetic_has_its_value() {
    let mut read = 0;
    for elem in Elem::ALL.into_iter().filter(|elem| elem.is_integer()) {
        let mut b = Build::new(true, [32, 1, 1]);
        let source = b.tensor("source", elem, false);
        let out = b.tensor("out", elem, true);
        let (x, y) = (b.variable("x", VariableKind::Elem(elem)), b.variable("y", VariableKind::Elem(elem)));
        let mut body = Vec::new();
        for (i, variable) in [x, y].into_iter().enumerate() {
            let value = load(b.at(source, &number(i as i64)));
            body.push(b.line(StatementKind::Let(variable, Some(value))));
        }
        let operations = operations(elem, &Value::Variable(x), &Value::Variable(y));
        for (i, (value, _)) in operations.iter().enumerate() {
            let target = b.at(out, &number(i as i64));
            body.push(b.line(StatementKind::Store(target, value.clone())));
        }
        let text = emit(&b.finish("arithmetic", body)).text;
        for (i, (_, means)) in operations.iter().enumerate() {
            let head = if i == 0 { "out[0] =".to_owned() } else { format!("out[{i}] =") };
            let (_, rest) = text.split_once(&head).expect("the statement");
            let (expression, _) = rest.split_once(';').expect("its end");
            for a in domain(elem) {
                for b in domain(elem) {
                    let Some(wanted) = means(a, b) else { continue };
                    let mut reader = Reader { rest: expression, variables: [(elem, a), (elem, b)] };
                    let found = reader.conditional();
                    assert!(reader.rest.is_empty(), "left over of{expression}: {}", reader.rest);
                    // Stored in a place of the type, what is wider is cut.
                    assert_eq!(elem.wrap(found.1), wanted, "{elem}:{expression} of {a} and {b}");
                    read += 1;
                }
            }
        }
    }
    assert!(read > 1_000_000, "{read} values");
}
