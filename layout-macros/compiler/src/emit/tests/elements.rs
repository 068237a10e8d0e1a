//! Every operation on every element type.

use super::build::*;
use super::check;
use crate::check::Checked;
use crate::elem::{Constant, Elem};
use crate::ir::{BinaryOp, Special, UnaryOp};
use crate::math::Math;
use crate::program::{StatementKind, Value, VariableKind};

const ARITHMETIC: [BinaryOp; 5] = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Rem];
const BITS: [BinaryOp; 5] =
    [BinaryOp::BitAnd, BinaryOp::BitOr, BinaryOp::BitXor, BinaryOp::Shl, BinaryOp::Shr];
const ORDER: [BinaryOp; 2] = [BinaryOp::Lt, BinaryOp::Eq];
const FLOAT: [Math; 6] = [Math::Sqrt, Math::Exp, Math::Exp2, Math::Ln, Math::Tanh, Math::Abs];

/// `out[n] = op(in[0], in[1])` for each operation that the type has, and casts to every other type.
fn every_operation(elem: Elem) -> Checked {
    let mut b = Build::new(true, [32, 1, 1]);
    let source = b.tensor("source", elem, false);
    let out = b.tensor("out", elem, true);
    let truth = b.tensor("truth", Elem::Bool, true);
    let thread = b.special(Special::ThreadIdx, 0);
    let (x, y) = (b.variable("x", VariableKind::Elem(elem)), b.variable("y", VariableKind::Elem(elem)));
    let (mut values, mut truths) = (Vec::new(), Vec::new());
    let x_value = || Value::Variable(x);
    let y_value = || Value::Variable(y);
    let one = Constant::integer(elem, 1).or(Constant::float(elem, 1.5)).unwrap_or(Constant::zero(elem));
    if elem != Elem::Bool {
        values.extend(ARITHMETIC.map(|op| binary(op, x_value(), y_value())));
        values.push(binary(BinaryOp::Sub, x_value(), Value::Constant(one)));
        values.extend([Math::Min, Math::Max].map(|f| Value::Math(f, vec![x_value(), y_value()])));
        values.push(Value::Index(thread.clone(), elem));
    }
    if elem.is_float() || matches!(elem, Elem::I64 | Elem::I32 | Elem::I8) {
        values.push(Value::Unary(UnaryOp::Neg, Box::new(x_value())));
        values.push(Value::Math(Math::Abs, vec![x_value()]));
    }
    if elem.is_float() {
        values.extend(FLOAT.map(|f| Value::Math(f, vec![x_value()])));
        values.push(Value::Math(Math::MulAdd, vec![x_value(), y_value(), Value::Constant(one)]));
    } else {
        values.push(Value::Unary(UnaryOp::Not, Box::new(x_value())));
        values.extend(BITS[..3].iter().map(|op| binary(*op, x_value(), y_value())));
    }
    if elem.is_integer() {
        values.extend(BITS[3..].iter().map(|op| binary(*op, x_value(), y_value())));
        let count = Constant::integer(elem, 3).unwrap_or(one);
        values.extend(BITS[3..].iter().map(|op| binary(*op, x_value(), Value::Constant(count))));
    }
    let less = binary(BinaryOp::Lt, x_value(), y_value());
    values.push(Value::Select(Box::new(less), Box::new(x_value()), Box::new(Value::Constant(one))));
    truths.extend(ORDER.map(|op| binary(op, x_value(), y_value())));
    for other in Elem::ALL {
        // 8-bit floats need sm_89: they stay out of the other types' texts.
        let float8 = |elem: Elem| matches!(elem, Elem::E4m3 | Elem::E5m2);
        let cast = other != Elem::Bool
            && (elem != Elem::Bool || other.is_integer())
            && (float8(elem) || !float8(other));
        if cast {
            let there = Value::Cast(other, Box::new(x_value()));
            truths.push(binary(BinaryOp::Ne, there.clone(), Value::Constant(Constant::zero(other))));
        }
    }

    let mut body = Vec::new();
    for (i, variable) in [x, y].into_iter().enumerate() {
        let value = load(b.at(source, &number(i as i64)));
        body.push(b.line(StatementKind::Let(variable, Some(value))));
    }
    for (place, values) in [(out, values), (truth, truths)] {
        for (i, value) in values.into_iter().enumerate() {
            let target = b.at(place, &number(i as i64));
            body.push(b.line(StatementKind::Store(target, value)));
        }
    }
    b.finish(&format!("every_operation_{elem}"), body)
}

/// One type of each kind; the words of every type are kernels of the corpus, whose texts `tests/nvrtc.lock` has by hash.
#[test]
fn every_operation_of_every_kind_of_type() {
    for elem in [Elem::F32, Elem::Bf16, Elem::E4m3, Elem::I32, Elem::I8, Elem::U32, Elem::U64, Elem::Bool] {
        check(&format!("every_operation_{elem}"), &every_operation(elem));
    }
}

#[test]
fn compound_assignment_only_where_c_means_the_same() {
    let mut b = Build::new(true, [32, 1, 1]);
    let mut body = Vec::new();
    for elem in [Elem::F32, Elem::U32, Elem::I32, Elem::U8] {
        let out = b.tensor(&format!("out_{elem}"), elem, true);
        let sum = b.variable("sum", VariableKind::Elem(elem));
        let at = b.at(out, &number(0));
        let one = || Value::Constant(Constant { elem, bits: 1 });
        body.push(b.line(StatementKind::Let(sum, Some(load(at.clone())))));
        for op in [BinaryOp::Add, BinaryOp::Sub] {
            body.push(b.line(StatementKind::Assign(sum, binary(op, Value::Variable(sum), one()))));
        }
        // `1 - sum` is no compound assignment.
        body.push(b.line(StatementKind::Assign(sum, binary(BinaryOp::Sub, one(), Value::Variable(sum)))));
        body.push(
            b.line(StatementKind::Store(at.clone(), binary(BinaryOp::Add, load(at), Value::Variable(sum)))),
        );
    }
    check("compound_assignment", &b.finish("compound", body));
}

#[test]
fn vectors_of_every_type_move_in_one_access() {
    let mut b = Build::new(true, [32, 1, 1]);
    let thread = b.special(Special::ThreadIdx, 0);
    let mut body = Vec::new();
    for elem in Elem::ALL {
        for bytes in [2, 4, 8, 16] {
            if bytes > elem.bytes() {
                let width = bytes / elem.bytes();
                let source = b.tensor(&format!("source_{elem}_{width}"), elem, false);
                let out = b.tensor(&format!("out_{elem}_{width}"), elem, true);
                let index = times(&thread, &number(i64::from(width)));
                let (mut destination, mut source) = (b.at(out, &index), b.at(source, &index));
                (destination.width, source.width) = (width, width);
                body.push(move_line(&mut b, destination, source));
            }
        }
    }
    check("vectors", &b.finish("vectors", body));
}

fn move_line(b: &mut Build, destination: crate::program::Access, source: crate::program::Access) -> Line {
    b.line(StatementKind::Operation(crate::program::Operation::Move { destination, source }))
}
