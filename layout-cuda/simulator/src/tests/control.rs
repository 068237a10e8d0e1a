//! Control flow and arithmetic: what each lane computes where lanes diverge.

use super::build::{Build, Code, Val, as_ints, at, binary, compare, i32, int, ints, load, plus, times};
use crate::{Report, SimulateError};
use layout_compiler::elem::{Constant, Elem};
use layout_compiler::index::Atom;
use layout_compiler::ir::{BinaryOp, UnaryOp};
use layout_compiler::math::Math;
use layout_compiler::program::{PlaceId, StatementKind, Value};

const C: PlaceId = PlaceId(0);

/// Runs a block of 40 threads over one tensor of 40 `i32`.
fn check(build: impl FnOnce(&mut Build)) -> Vec<i32> {
    let mut b = Build::new([40, 1, 1], [1; 3], &[]);
    b.tensor("c", Elem::I32, true);
    build(&mut b);
    let mut tensors = [ints(0..40)];
    let report = b.run(&mut tensors).expect("it runs");
    assert!(report.clean(), "{report}");
    as_ints(&tensors[0])
}

fn expected(function: impl Fn(i32) -> i32) -> Vec<i32> {
    (0..40).map(function).collect()
}

fn add(a: Val, b: Val) -> Val {
    binary(BinaryOp::Add, a, b)
}

#[test]
fn nested_branches_part_and_join() {
    let out = check(|b| {
        let t = b.thread(0);
        let v = b.element("v", Elem::I32);
        let below = |n| Value::Compare(compare(BinaryOp::Lt, &t, &int(n)));
        let set = |n| at(3, StatementKind::Assign(v, add(Value::Variable(v), i32(n))));
        let inner = at(3, StatementKind::If(below(10), vec![set(1)], vec![set(2)]));
        b.body.push(at(1, StatementKind::Let(v, Some(i32(100)))));
        b.body.push(at(2, StatementKind::If(below(20), vec![inner, set(10)], vec![set(20)])));
        b.body.push(set(1000));
        b.body.push(b.store(4, C, &t, Value::Variable(v)));
    });
    assert_eq!(
        out,
        expected(|t| 1100
            + if t < 10 {
                11
            } else if t < 20 {
                12
            } else {
                20
            })
    );
}

/// `for i in start..end { if i == leave { break or continue } sum += i }` with bounds that may differ between lanes.
fn loop_of(
    b: &mut Build,
    per_lane: bool,
    reversed: bool,
    unroll: bool,
    leave: StatementKind<layout_compiler::program::Access, layout_compiler::program::Operation>,
) -> Vec<Code> {
    let t = b.thread(0);
    let v = b.element("v", Elem::I32);
    let (id, i) = b.counter("i", false);
    let condition = Value::Compare(compare(BinaryOp::Eq, &i, &int(5)));
    let body = vec![
        at(3, StatementKind::If(condition, vec![at(3, leave)], Vec::new())),
        at(
            4,
            StatementKind::Assign(
                v,
                add(binary(BinaryOp::Mul, Value::Variable(v), i32(3)), Value::Index(i, Elem::I32)),
            ),
        ),
    ];
    let end = if per_lane { t.clone() } else { int(11) };
    vec![
        at(1, StatementKind::Let(v, Some(i32(0)))),
        at(2, StatementKind::For { variable: id, start: int(1), end, step: 2, unroll, reversed, body }),
        b.store(5, C, &t, Value::Variable(v)),
    ]
}

#[test]
fn loops_with_bounds_of_each_lane() {
    for reversed in [false, true] {
        for per_lane in [false, true] {
            for unroll in [false, true] {
                for (leave, leaves) in [(StatementKind::Break, true), (StatementKind::Continue, false)] {
                    let out = check(|b| {
                        let code = loop_of(b, per_lane, reversed, unroll, leave.clone());
                        b.body.extend(code);
                    });
                    let all = expected(|t| {
                        let mut rounds: Vec<i32> = (1..if per_lane { t } else { 11 }).step_by(2).collect();
                        if reversed {
                            rounds.reverse();
                        }
                        let mut sum = 0i32;
                        for i in rounds {
                            if i == 5 {
                                if leaves { break } else { continue }
                            }
                            sum = sum.wrapping_mul(3).wrapping_add(i);
                        }
                        sum
                    });
                    assert_eq!(out, all, "reversed {reversed}, per lane {per_lane}, unroll {unroll}");
                }
            }
        }
    }
}

#[test]
fn lanes_leave_a_while_loop_one_by_one() {
    // Collatz steps of t + 1, with `continue` on odd values and `break` beyond 60 steps.
    let out = check(|b| {
        let t = b.thread(0);
        let (n, steps) = (b.element("n", Elem::I32), b.element("steps", Elem::I32));
        let var = |id| Value::Variable(id);
        let odd = binary(BinaryOp::Eq, binary(BinaryOp::Rem, var(n), i32(2)), i32(1));
        let body = vec![
            at(3, StatementKind::Assign(steps, add(var(steps), i32(1)))),
            at(
                4,
                StatementKind::If(
                    binary(BinaryOp::Gt, var(steps), i32(60)),
                    vec![at(4, StatementKind::Break)],
                    Vec::new(),
                ),
            ),
            at(
                5,
                StatementKind::If(
                    odd,
                    vec![
                        at(5, StatementKind::Assign(n, add(binary(BinaryOp::Mul, var(n), i32(3)), i32(1)))),
                        at(5, StatementKind::Continue),
                    ],
                    Vec::new(),
                ),
            ),
            at(6, StatementKind::Assign(n, binary(BinaryOp::Div, var(n), i32(2)))),
        ];
        b.body.push(at(1, StatementKind::Let(n, Some(Value::Index(plus(&t, &int(1)), Elem::I32)))));
        b.body.push(at(1, StatementKind::Let(steps, Some(i32(0)))));
        b.body.push(at(2, StatementKind::While(binary(BinaryOp::Gt, var(n), i32(1)), body)));
        b.body.push(b.store(7, C, &t, var(steps)));
    });
    let all = expected(|t| {
        let (mut n, mut steps) = (t + 1, 0);
        while n > 1 {
            steps += 1;
            if steps > 60 {
                break;
            }
            if n % 2 == 1 {
                n = n * 3 + 1;
                continue;
            }
            n /= 2;
        }
        steps
    });
    assert_eq!(out, all);
}

#[test]
fn an_index_variable_that_is_assigned_is_computed_again() {
    let out = check(|b| {
        let t = b.thread(0);
        let (id, i) = b.counter("i", true);
        let (_, v) = (b.element("unused", Elem::I32), b.element("v", Elem::I32));
        let four = times(&i, &int(4));
        let use_it =
            at(3, StatementKind::Assign(v, add(Value::Variable(v), Value::Index(four.clone(), Elem::I32))));
        let next = at(4, StatementKind::AssignIndex(id, plus(&i, &int(1))));
        let (round, _) = b.counter("round", false);
        b.body.push(at(1, StatementKind::LetIndex(id, t.clone())));
        b.body.push(at(1, StatementKind::Let(v, Some(i32(0)))));
        b.body.push(use_it.clone());
        b.body.push(at(
            2,
            StatementKind::For {
                variable: round,
                start: int(0),
                end: int(3),
                step: 1,
                unroll: false,
                reversed: false,
                body: vec![use_it.clone(), next, use_it],
            },
        ));
        b.body.push(b.store(5, C, &t, Value::Variable(v)));
    });
    assert_eq!(out, expected(|t| 4 * t + (0..3).map(|r| 4 * (t + r) + 4 * (t + r + 1)).sum::<i32>()));
}

#[test]
fn a_lazy_operator_loads_only_where_it_matters() {
    let out = check(|b| {
        let t = b.thread(0);
        let inside = Value::Compare(compare(BinaryOp::Lt, &plus(&t, &int(8)), &int(40)));
        // Past the end for the last threads, were it loaded.
        let big = binary(BinaryOp::Gt, load(b.access(C, &plus(&t, &int(8)), &[], 2)), i32(20));
        let both = binary(BinaryOp::And, inside, big);
        let v = b.element("v", Elem::I32);
        b.body.push(at(1, StatementKind::Let(v, Some(i32(0)))));
        b.body
            .push(at(2, StatementKind::If(both, vec![at(2, StatementKind::Assign(v, i32(1)))], Vec::new())));
        b.body.push(at(3, StatementKind::Barrier(layout_compiler::program::Participants::Block)));
        b.body.push(b.store(4, C, &t, Value::Variable(v)));
    });
    assert_eq!(out, expected(|t| i32::from(t + 8 < 40 && t + 8 > 20)));
}

#[test]
fn local_tensors_at_indices_known_late() {
    let out = check(|b| {
        let t = b.thread(0);
        let l = b.local("l", Elem::I32, 5);
        let (id, i) = b.counter("i", false);
        let fill = b.store(2, l, &i, Value::Index(times(&i, &int(10)), Elem::I32));
        b.body.push(at(
            2,
            StatementKind::For {
                variable: id,
                start: int(0),
                end: int(5),
                step: 1,
                unroll: false,
                reversed: false,
                body: vec![fill],
            },
        ));
        let which = b.atom(Atom::Rem(Box::new(t.clone()), Box::new(int(5))));
        b.body.push(b.store(3, C, &t, b.load(l, &which)));
    });
    assert_eq!(out, expected(|t| t % 5 * 10));
}

#[test]
fn arithmetic_is_rusts() {
    let index = |b: &mut Build| Value::Index(b.thread(0), Elem::I32);
    let run = |value: fn(&mut Build, Val) -> Val| {
        check(|b| {
            let t = b.thread(0);
            let own = index(b);
            let value = value(b, own);
            b.body.push(b.store(1, C, &t, value));
        })
    };
    let out = run(|_, t| binary(BinaryOp::Mul, t, i32(0x1234_5678)));
    assert_eq!(out, expected(|t| t.wrapping_mul(0x1234_5678)));
    let out = run(|_, t| binary(BinaryOp::Shr, i32(-1000), t));
    assert_eq!(out, expected(|t| (-1000i32).wrapping_shr(t as u32)));
    let out = run(|_, t| Value::Unary(UnaryOp::Not, Box::new(t)));
    assert_eq!(out, expected(|t| !t));
    let out = run(|_, t| Value::Math(Math::Max, vec![t, i32(17)]));
    assert_eq!(out, expected(|t| t.max(17)));
    let out = run(|_, t| {
        let byte = Value::Cast(Elem::I8, Box::new(binary(BinaryOp::Mul, t, i32(9))));
        Value::Cast(Elem::I32, Box::new(byte))
    });
    assert_eq!(out, expected(|t| i32::from((t * 9) as i8)));
    let out = run(|_, t| {
        let float = Value::Cast(Elem::F32, Box::new(t));
        let huge = Value::Constant(Constant { elem: Elem::F32, bits: u64::from(1e9f32.to_bits()) });
        Value::Cast(Elem::I32, Box::new(binary(BinaryOp::Mul, float, huge)))
    });
    assert_eq!(out, expected(|t| (t as f32 * 1e9f32) as i32));
    let out = run(|_, t| {
        let condition = binary(BinaryOp::Lt, t.clone(), i32(5));
        Value::Select(Box::new(condition), Box::new(t), Box::new(i32(-1)))
    });
    assert_eq!(out, expected(|t| if t < 5 { t } else { -1 }));
}

#[test]
fn scalars_and_wrong_arguments() {
    let run = |tensors: &mut [Vec<u8>]| -> Result<Report, SimulateError> {
        let mut b = Build::new([32, 1, 1], [1; 3], &[]);
        let c = b.tensor("c", Elem::I32, true);
        let alpha = b.scalar("alpha", Elem::I32);
        let t = b.thread(0);
        b.body.push(b.store(1, c, &t, alpha));
        b.run(tensors)
    };
    let mut tensors = [ints(vec![0; 32]), 7i32.to_le_bytes().to_vec()];
    assert!(run(&mut tensors).expect("it runs").clean());
    assert_eq!(as_ints(&tensors[0]), vec![7; 32]);
    let error = run(&mut [vec![0; 7], vec![0; 4]]);
    assert_eq!(error, Err(SimulateError::Bytes { argument: "c".into(), found: 7, elem: 4 }));
    assert_eq!(run(&mut [vec![0; 8]]), Err(SimulateError::Count { expected: 2, found: 1 }));
}

#[test]
fn half_precision_is_rounded_after_each_operation() {
    let mut b = Build::new([4, 1, 1], [1; 3], &[]);
    let (a, c) = (b.tensor("a", Elem::F16, false), b.tensor("c", Elem::F16, true));
    let (s, l) = (b.shared("s", Elem::F16, 4), b.local("l", Elem::F16, 4));
    let t = b.thread(0);
    // 1 + 2^-11 is no half: the sum falls back to 1, and times 2048 it is 2048, not 2049.
    let half = |bits: u64| Value::Constant(Constant { elem: Elem::F16, bits });
    let sum = binary(BinaryOp::Add, b.load(a, &t), half(0x1000));
    b.body.push(b.store(1, s, &t, binary(BinaryOp::Mul, sum, half(0x6800))));
    b.body.push(b.store(2, l, &int(1), b.load(s, &t)));
    b.body.push(b.store(3, c, &t, b.load(l, &int(1))));
    let halves = |values: [u16; 4]| values.into_iter().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let mut tensors = [halves([0x3c00, 0xbc00, 0x4000, 0]), halves([0; 4])];
    let report = b.run(&mut tensors).expect("it runs");
    assert!(report.clean(), "{report}");
    // -1 + 2^-11 is a half: -2047. 2 becomes 4096, 0 becomes 1.
    assert_eq!(tensors[1], halves([0x6800, 0xe7ff, 0x6c00, 0x3c00]));
}

#[test]
fn bytes_of_neighbouring_threads_stay_apart() {
    let mut b = Build::new([32, 1, 1], [4, 1, 1], &[]);
    let c = b.tensor("c", Elem::U8, true);
    let (t, block) = (b.thread(0), b.block(0));
    let index = plus(&times(&block, &int(32)), &t);
    let next = binary(BinaryOp::Add, b.load(c, &index), Value::Index(index.clone(), Elem::U8));
    b.body.push(b.store(1, c, &index, next));
    let mut tensors = [vec![200u8; 128]];
    let report = b.run(&mut tensors).expect("it runs");
    assert!(report.clean(), "{report}");
    assert_eq!(tensors[0], (0..128).map(|i| 200u8.wrapping_add(i)).collect::<Vec<u8>>());
}

#[test]
fn vectors_move_through_registers() {
    use layout_compiler::program::Operation;
    let mut b = Build::new([16, 1, 1], [1; 3], &[]);
    let (a, c) = (b.tensor("a", Elem::I32, false), b.tensor("c", Elem::I32, true));
    let (s, l) = (b.shared("s", Elem::I32, 64), b.local("l", Elem::I32, 8));
    let t = b.thread(0);
    let four = times(&t, &int(4));
    let moves = [
        (b.vector(s, &four, 4, 1), b.vector(a, &four, 4, 1)),
        (b.vector(l, &int(4), 4, 2), b.vector(s, &four, 4, 2)),
        (b.vector(l, &int(0), 2, 3), b.vector(l, &int(6), 2, 3)),
        (b.vector(c, &four, 4, 4), b.vector(l, &int(0), 4, 4)),
    ];
    b.body.push(b.store(1, l, &int(2), i32(-2)));
    b.body.push(b.store(1, l, &int(3), i32(-3)));
    for (line, (destination, source)) in (1..).zip(moves) {
        b.body.push(at(line, StatementKind::Operation(Operation::Move { destination, source })));
    }
    let mut tensors = [ints(0..64), ints(vec![0; 64])];
    let report = b.run(&mut tensors).expect("it runs");
    assert!(report.clean(), "{report}");
    let own = |t: i32| [4 * t + 2, 4 * t + 3, -2, -3];
    assert_eq!(as_ints(&tensors[1]), (0..16).flat_map(own).collect::<Vec<i32>>());
    // 16 bytes a thread: half a warp of them is two quarters, no conflict.
    assert_eq!((report.totals.shared_wavefronts, report.totals.bank_conflicts), (4, 0));
    assert_eq!(report.totals.global_sectors, 2 * 64 * 4 / 32);
}
