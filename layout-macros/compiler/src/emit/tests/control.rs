//! Loops, conditions, barriers, scopes of names, places.

use super::build::*;
use super::check;
use crate::elem::{Constant, Elem};
use crate::emit::{dynamic_shared_bytes, emit};
use crate::index::Atom;
use crate::ir::{BinaryOp, Special};
use crate::program::{Participants, StatementKind, Value, VariableKind};

#[test]
fn loops_run_their_rounds_in_order_or_reversed() {
    let mut b = Build::new(true, [32, 1, 1]);
    let out = b.tensor("out", Elem::F32, true);
    let n = b.dim("N", 1);
    let (k, index) = b.index("k", 0, 1 << 20);
    let (low, low_index) = b.index("low", -8, 8);
    let thread = b.special(Special::ThreadIdx, 0);
    let some_bits = b.atom(Atom::And(Box::new(n.clone()), Box::new(thread)), 0, 31);
    let mut body = vec![b.line(StatementKind::LetIndex(low, number(-3)))];
    let rows = [
        (number(0), number(8), 1, true, false),
        (number(0), number(8), 1, true, true),
        (number(1), number(9), 3, false, true),
        (number(5), number(5), 3, false, true),
        (number(0), n.clone(), 1, false, true),
        (number(0), n.clone(), 4, false, false),
        (number(0), n.clone(), 4, false, true),
        (low_index.clone(), n.clone(), 4, false, true),
        (low_index.clone(), number(7), 1, false, true),
        // C's `<` binds tighter than `&`.
        (number(0), some_bits.clone(), 1, false, false),
        (some_bits, n.clone(), 1, false, true),
    ];
    for (start, end, step, unroll, reversed) in rows {
        let store = b.line(StatementKind::Store(b.at(out, &index), float(1.0)));
        let body_of = vec![store];
        body.push(b.line(StatementKind::For {
            variable: k,
            start,
            end,
            step,
            unroll,
            reversed,
            body: body_of,
        }));
    }
    check("loops", &b.finish("loops", body));
}

#[test]
fn a_bound_that_changes_in_the_loop_is_read_once() {
    let mut b = Build::new(true, [32, 1, 1]);
    let out = b.tensor("out", Elem::F32, true);
    let (n, n_index) = b.index("n", 0, 1 << 20);
    let (k, index) = b.index("k", 0, 1 << 20);
    let more = plus(&b.atom(Atom::Variable(n, 1), 0, 1 << 20), &number(-2));
    let twice = times(&n_index, &number(2));
    let inner = vec![
        b.line(StatementKind::Store(b.at(out, &index), float(1.0))),
        b.line(StatementKind::AssignIndex(n, more)),
        b.line(StatementKind::AssignIndex(n, twice)),
        b.line(StatementKind::AssignIndex(n, plus(&n_index, &index))),
    ];
    let first = b.count(k, 0, &n_index, false, inner.clone());
    let declared = b.line(StatementKind::LetIndex(n, number(100)));
    let body = vec![declared, first, b.count(k, 0, &n_index, false, inner)];
    check("changing_bound", &b.finish("changing_bound", body));
}

#[test]
fn conditions_chain_and_barriers_have_their_participants() {
    let mut b = Build::new(true, [128, 2, 1]);
    b.plan.cluster = [2, 1, 1];
    let out = b.tensor("out", Elem::I32, true);
    let thread = b.special(Special::ThreadIdx, 0);
    let below = |most: i64| Value::Compare(compare(BinaryOp::Lt, &thread, &number(most)));
    let store = |b: &mut Build, value: i32| {
        let constant = Constant { elem: Elem::I32, bits: u64::from(value as u32) };
        b.line(StatementKind::Store(b.at(out, &thread), Value::Constant(constant)))
    };
    let (one, two, three) = (store(&mut b, 1), store(&mut b, -2), store(&mut b, i32::MIN));
    let last = b.line(StatementKind::If(below(64), vec![two], vec![three]));
    let both = binary(BinaryOp::And, below(32), binary(BinaryOp::Or, below(3), below(4)));
    let first = b.line(StatementKind::If(both, vec![one], vec![last]));
    let leave = b.line(StatementKind::Break);
    let next = b.line(StatementKind::Continue);
    let choice = b.line(StatementKind::If(below(5), vec![leave], Vec::new()));
    let endless = b.line(StatementKind::While(Value::Constant(Constant::bool(true)), vec![choice, next]));
    let mut body = vec![first, endless];
    for participants in [
        Participants::Thread,
        Participants::Warp,
        Participants::Warpgroup,
        Participants::Block,
        Participants::Cluster,
    ] {
        body.push(b.line(StatementKind::Barrier(participants)));
    }
    let mut checked = b.finish("conditions", body);
    checked.head.min_blocks = Some(2);
    check("conditions", &checked);
}

#[test]
fn names_are_free_again_outside_of_their_scope() {
    let mut b = Build::new(true, [32, 1, 1]);
    let out = b.tensor("float", Elem::F32, true);
    let mut body = Vec::new();
    for _ in 0..2 {
        let (k, index) = b.index("k", 0, 7);
        let (inner, inner_index) = b.index("k", 0, 7);
        let value = b.variable("k_2", VariableKind::Elem(Elem::F32));
        let lines = vec![
            b.line(StatementKind::Let(value, Some(Value::Index(plus(&index, &inner_index), Elem::F32)))),
            b.line(StatementKind::Store(b.at(out, &index), Value::Variable(value))),
        ];
        let nested = b.count(inner, 0, &number(8), false, lines);
        body.push(b.count(k, 0, &number(8), false, vec![nested]));
    }
    check("scopes", &b.finish("main", body));
}

#[test]
fn lines_lead_back_to_the_kernel() {
    let mut b = Build::new(true, [32, 1, 1]);
    let out = b.tensor("out", Elem::F32, true);
    let (k, index) = b.index("k", 0, 7);
    let store = b.line(StatementKind::Store(b.at(out, &index), float(1.0)));
    let body = vec![b.count(k, 0, &number(8), true, vec![store])];
    let source = emit(&b.finish("lines", body));
    // Head, pragma, `for`, store, two braces.
    assert_eq!(source.lines, [0, 2, 2, 1, 2, 0]);
    assert_eq!(source.entry, "lines");
}

#[test]
fn much_shared_memory_is_asked_for_at_launch() {
    let mut b = Build::new(true, [32, 1, 1]);
    let out = b.tensor("out", Elem::F32, true);
    let (first, second) = (b.shared("a_smem", Elem::F32, 8192), b.shared("shared_memory", Elem::F64, 8192));
    let thread = b.special(Special::ThreadIdx, 0);
    let wide = load(b.at(second, &thread));
    let sum = binary(BinaryOp::Add, load(b.at(first, &thread)), Value::Cast(Elem::F32, Box::new(wide)));
    let body = vec![b.line(StatementKind::Store(b.at(out, &thread), sum))];
    let checked = b.finish("dynamic_shared", body);
    assert_eq!(dynamic_shared_bytes(&checked), 8192 * 12);
    check("dynamic_shared", &checked);
}

#[test]
fn a_register_tile_that_lives_across_rounds_is_declared_outside() {
    let mut b = Build::new(true, [32, 1, 1]);
    let out = b.tensor("out", Elem::F32, true);
    let (kept, fresh, branch) =
        (b.local("kept", Elem::F32, 2), b.local("fresh", Elem::F32, 2), b.local("branch", Elem::F32, 1));
    let thread = b.special(Special::ThreadIdx, 0);
    let (k, index) = b.index("k", 0, 7);
    let (i, i_index) = b.index("i", 0, 1);
    // `kept` is read in its second element before that is written.
    let lines = [
        StatementKind::Store(b.at(kept, &number(0)), float(1.0)),
        StatementKind::Store(b.at(out, &thread), load(b.at(kept, &number(1)))),
        StatementKind::Store(b.at(kept, &number(1)), float(2.0)),
    ];
    let mut inner: Vec<Line> = lines.into_iter().map(|line| b.line(line)).collect();
    // `fresh` is written whole by an unrolled loop.
    let fill = b.line(StatementKind::Store(b.at(fresh, &i_index), float(3.0)));
    inner.push(b.count(i, 0, &number(2), true, vec![fill]));
    inner.push(b.line(StatementKind::Store(b.at(out, &index), load(b.at(fresh, &number(1))))));
    // `branch` is used in one branch only.
    let one = b.line(StatementKind::Store(b.at(branch, &number(0)), float(4.0)));
    let two = b.line(StatementKind::Store(b.at(out, &index), load(b.at(branch, &number(0)))));
    let condition = Value::Compare(compare(BinaryOp::Eq, &index, &thread));
    inner.push(b.line(StatementKind::If(condition, vec![one, two], Vec::new())));
    let body = vec![b.count(k, 0, &number(8), false, inner)];
    check("local_places", &b.finish("local_places", body));
}
