//! Index polynomials: order, factors, signs, widths.

use super::build::*;
use super::check;
use crate::elem::Elem;
use crate::emit::index::{Scope, Steps};
use crate::emit::names::{Name, Names};
use crate::index::{Atom, Index};
use crate::ir::{BinaryOp, Special};
use crate::program::{StatementKind, VariableKind};
use std::cell::Cell;

/// The texts of indices over `row`, `col` (below 1000), `big` (below 2³¹), `M`, `K` (a multiple of 8) and `block_x`.
fn texts(narrow: bool, steps: Steps, make: impl Fn(&mut Build, [Index; 6]) -> Vec<Index>) -> Vec<String> {
    let mut b = Build::new(narrow, [256, 1, 1]);
    let (row_variable, row) = b.index("row", 0, 999);
    let (col_variable, col) = b.index("col", 0, 999);
    let (big_variable, big) = b.index("big", 0, i32::MAX.into());
    let (m, k) = (b.dim("M", 1), b.dim("K", 8));
    let block = b.special(Special::BlockIdx, 0);
    let made = make(&mut b, [row, col, big, m, k, block]);
    let mut names = Names::new();
    for (variable, name) in [(row_variable, "row"), (col_variable, "col"), (big_variable, "big")] {
        names.declare(Name::Variable(variable), name);
    }
    names.declare(Name::Dim(0), "M");
    names.declare(Name::Dim(1), "K");
    let scope = Scope { tables: &b.tables, names: &names, narrow, negates: &Cell::new(false) };
    made.iter().map(|index| scope.index(index, steps).expression.to_string()).collect()
}

fn sum(parts: &[&Index]) -> Index {
    parts.iter().fold(number(0), |sum, part| plus(&sum, part))
}

/// The address of `x[i][(row - col) * far]`: it fits where `row` is `col`, its parts do not.
#[test]
fn what_is_taken_away_again_is_wide_in_a_promised_whole() {
    let found = texts(true, Steps::Promised, |_, [row, col, big, m, _, _]| {
        let apart = |far: i64| plus(&times(&row, &number(far)), &times(&col, &number(-far)));
        vec![
            plus(&times(&row, &number(8)), &apart(2_147_483_645)),
            apart(3_000_000),
            apart(1000),
            times(&plus(&row, &times(&col, &number(-1))), &m),
            plus(&big, &times(&big, &number(-3))),
            plus(&row, &times(&big, &number(-2))),
        ]
    });
    assert_eq!(
        found,
        [
            "row * 2147483653LL - (long long)col * 2147483645",
            "(long long)row * 3000000 - (long long)col * 3000000",
            "row * 1000 - col * 1000",
            "(row - col) * M",
            "-((long long)big * 2)",
            "row - (long long)big * 2",
        ]
    );
}

#[test]
fn terms_are_written_as_a_person_writes_them() {
    let found = texts(true, Steps::Promised, |b, [row, col, _, m, k, block]| {
        let eighth = k.exact_div(8).expect("a multiple");
        let quotient = b.atom(Atom::Div(Box::new(row.clone()), Box::new(number(8))), 0, 124);
        let rest = b.atom(Atom::Rem(Box::new(row.clone()), Box::new(number(8))), 0, 7);
        let xor = b.atom(Atom::Xor(Box::new(row.clone()), Box::new(col.clone())), 0, 1023);
        let least = b.atom(Atom::Min(Box::new(row.clone()), Box::new(k.clone())), 0, 999);
        let ceil = b.atom(Atom::Div(Box::new(plus(&m, &number(63))), Box::new(number(64))), 0, 1 << 26);
        vec![
            number(0),
            number(-5),
            plus(&times(&row, &k), &col),
            sum(&[&col, &times(&block, &number(64)), &number(3)]),
            plus(&times(&plus(&times(&block, &number(64)), &row), &k), &col),
            times(&plus(&row, &number(1)), &k),
            times(&row, &eighth),
            times(&eighth, &number(16)),
            plus(&row, &number(-1)),
            plus(&number(5), &times(&row, &number(-2))),
            times(&row, &number(-1)),
            plus(&m, &times(&times(&row, &k), &number(-1))),
            plus(&times(&quotient, &number(4)), &rest),
            times(&plus(&xor, &number(1)), &number(4)),
            plus(&least, &ceil),
            times(&times(&row, &m), &times(&k, &number(2))),
            plus(&times(&plus(&times(&row, &m), &col), &k), &number(7)),
        ]
    });
    let expected = [
        "0",
        "-5",
        "row * K + col",
        "(int)blockIdx.x * 64 + col + 3",
        "((int)blockIdx.x * 64 + row) * K + col",
        "(row + 1) * K",
        "row * (K / 8)",
        "2 * K",
        "row - 1",
        "5 - row * 2",
        "-row",
        "M - row * K",
        "(row / 8) * 4 + row % 8",
        "(row ^ col) * 4 + 4",
        "min(row, K) + (M + 63) / 64",
        "row * 2 * M * K",
        "(row * M + col) * K + 7",
    ];
    assert_eq!(found, expected);
}

#[test]
fn no_step_overflows_where_steps_are_proved() {
    let rows = |b: &mut Build, [row, col, big, m, k, _]: [Index; 6]| {
        let quotient = b.atom(Atom::Div(Box::new(plus(&big, &number(3))), Box::new(number(4))), 0, 1 << 29);
        let least = b.atom(Atom::Min(Box::new(m.clone()), Box::new(number(64))), 0, 64);
        vec![
            plus(&times(&row, &number(1000)), &col),
            times(&row, &k),
            plus(&big, &number(1)),
            plus(&times(&big, &number(4)), &row),
            plus(&plus(&big, &row), &m),
            quotient,
            least,
            number(1 << 40),
        ]
    };
    let narrow = [
        "row * 1000 + col",
        "(long long)row * K",
        "(long long)big + 1",
        "(long long)big * 4 + row",
        "(long long)row + big + M",
        "((long long)big + 3) >> 2",
        "min(M, 64)",
        "1099511627776LL",
    ];
    let wide = [
        "row * 1000 + col",
        "row * K",
        "(long long)big + 1",
        "(long long)big * 4 + row",
        "(long long)row + big + M",
        "((long long)big + 3) >> 2",
        "min(M, 64LL)",
        "1099511627776LL",
    ];
    assert_eq!(texts(true, Steps::Proved, rows), narrow);
    assert_eq!(texts(false, Steps::Proved, rows), wide);
}

#[test]
fn pointers_count_from_their_place_or_from_a_pointer() {
    let mut b = Build::new(true, [32, 1, 1]);
    let (a, c) = (b.tensor("a", Elem::F32, false), b.tensor("c", Elem::F32, true));
    let k = b.dim("K", 1);
    let (row, row_index) = b.index("row", 0, i32::MAX.into());
    let a_tile = b.variable("tile", VariableKind::Pointer(a));
    let c_tile = b.variable("tile", VariableKind::Pointer(c));
    let a_next = b.variable("next", VariableKind::Pointer(a));
    let a_base = b.atom(Atom::Variable(a_tile, 0), 0, 1 << 30);
    let c_base = b.atom(Atom::Variable(c_tile, 0), 0, 1 << 30);
    let thread = b.special(Special::ThreadIdx, 0);
    let (mut source, mut target) = (b.at(a, &plus(&times(&row_index, &k), &thread)), b.at(c, &thread));
    (source.pointer, target.pointer) = (Some(a_next), Some(c_tile));
    let lines = [
        StatementKind::LetIndex(row, thread.clone()),
        StatementKind::LetIndex(a_tile, plus(&times(&row_index, &k), &number(4))),
        StatementKind::LetIndex(c_tile, number(0)),
        StatementKind::LetIndex(a_next, sum(&[&a_base, &thread, &number(-1)])),
        StatementKind::AssignIndex(c_tile, plus(&c_base, &k)),
        StatementKind::AssignIndex(c_tile, plus(&c_base, &number(8))),
        StatementKind::Store(target, load(source)),
    ];
    let body = lines.into_iter().map(|line| b.line(line)).collect();
    check("pointers", &b.finish("pointers", body));
}

#[test]
fn a_comparison_never_overflows() {
    let mut b = Build::new(true, [32, 1, 1]);
    let out = b.tensor("out", Elem::F32, true);
    let n = b.dim("N", 1);
    let (i, index) = b.index("i", -4, i32::MAX.into());
    let thread = b.special(Special::ThreadIdx, 0);
    let mut target = b.at(out, &plus(&index, &number(2)));
    target.mask = vec![
        compare(BinaryOp::Ge, &plus(&index, &number(2)), &number(0)),
        compare(BinaryOp::Lt, &plus(&index, &number(2)), &n),
    ];
    let body = vec![
        b.line(StatementKind::LetIndex(i, plus(&thread, &number(-4)))),
        b.line(StatementKind::Store(target, float(-1.5))),
    ];
    check("comparison", &b.finish("comparison", body));
}
