//! The laws of indices and proofs, tested by brute force: random small polynomials, and every value of their atoms.

use super::index::{Atom, AtomId, Atoms, Index, Range};
use super::ir::BinaryOp;
use super::program::Comparison;
use super::prove::Facts;

/// A small generator of numbers, the same on every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % below) as i64
    }
}

/// Three atoms with small ranges, one of them a multiple of 4.
fn atoms() -> (Atoms, Vec<(AtomId, Vec<i64>)>) {
    let mut atoms = Atoms::default();
    let mut values = Vec::new();
    for (number, (low, high, divisor)) in [(0, 7, 1), (-3, 4, 1), (0, 24, 4)].into_iter().enumerate() {
        let atom = Atom::Argument(number as u32);
        let id = atoms.intern(atom, Range::new(low.into(), high.into()), divisor, None);
        values.push((id, (low..=high).filter(|v| v % divisor == 0).collect()));
    }
    (atoms, values)
}

fn polynomial(numbers: &mut Numbers, values: &[(AtomId, Vec<i64>)]) -> Index {
    let mut index = Index::constant(numbers.next(21) - 6);
    for (id, _) in values {
        let mut term = Index::atom(*id);
        if numbers.next(4) == 0 {
            term = term.mul(&Index::atom(values[numbers.next(3) as usize].0)).expect("small");
        }
        index = index.add_scaled(&term, numbers.next(13) - 4).expect("small");
    }
    index
}

/// The value of an index, atoms inside atoms included.
fn value(atoms: &Atoms, index: &Index, at: &[(AtomId, i64)]) -> i64 {
    let result = index.evaluate(&mut |id| {
        if let Some((_, value)) = at.iter().find(|(known, _)| *known == id) {
            return Some(*value);
        }
        let both = |a: &Index, b: &Index| (value(atoms, a, at), value(atoms, b, at));
        match atoms.atom(id) {
            Atom::Div(a, b) => Some(both(a, b)).map(|(a, b)| a / b),
            Atom::Rem(a, b) => Some(both(a, b)).map(|(a, b)| a % b),
            Atom::And(a, b) => Some(both(a, b)).map(|(a, b)| a & b),
            Atom::Or(a, b) => Some(both(a, b)).map(|(a, b)| a | b),
            Atom::Xor(a, b) => Some(both(a, b)).map(|(a, b)| a ^ b),
            Atom::Min(a, b) => Some(both(a, b)).map(|(a, b)| a.min(b)),
            Atom::Max(a, b) => Some(both(a, b)).map(|(a, b)| a.max(b)),
            other => panic!("no value for {other:?}"),
        }
    });
    result.expect("small numbers")
}

fn everywhere(values: &[(AtomId, Vec<i64>)], mut test: impl FnMut(&[(AtomId, i64)])) {
    for a in &values[0].1 {
        for b in &values[1].1 {
            for c in &values[2].1 {
                test(&[(values[0].0, *a), (values[1].0, *b), (values[2].0, *c)]);
            }
        }
    }
}

#[test]
fn operations_equal_arithmetic() {
    let mut numbers = Numbers(1);
    for _ in 0..1500 {
        let (mut atoms, values) = atoms();
        let a = polynomial(&mut numbers, &values);
        let b = polynomial(&mut numbers, &values);
        let d = [1, 2, 3, 4, 8, 12, -4][numbers.next(7) as usize];
        let by = Index::constant(d);
        let quotient = atoms.div(&a, &by).expect("small");
        let remainder = atoms.rem(&a, &by).expect("small");
        let again = atoms.div(&quotient, &Index::constant(3)).expect("small");
        let inner = atoms.rem(&remainder, &Index::constant(2)).expect("small");
        let least = atoms.extremum(&a, &b, false).expect("small");
        let most = atoms.extremum(&a, &b, true).expect("small");
        let natural = (atoms.range(&a).low >= 0 && atoms.range(&b).low >= 0).then(|| {
            let and = atoms.and(&a, &b).expect("small");
            let or = atoms.or(&a, &b, false).expect("small");
            let xor = atoms.or(&a, &b, true).expect("small");
            let low = atoms.and(&a, &Index::constant(7)).expect("small");
            [and, or, xor, low]
        });
        everywhere(&values, |at| {
            let v = |index: &Index| value(&atoms, index, at);
            let (x, y) = (v(&a), v(&b));
            assert_eq!(v(&quotient), x / d, "{a:?} / {d}");
            assert_eq!(v(&remainder), x % d, "{a:?} % {d}");
            assert_eq!(v(&again), x / d / 3);
            assert_eq!(v(&inner), x % d % 2);
            assert_eq!(v(&least), x.min(y));
            assert_eq!(v(&most), x.max(y));
            let mut known = vec![a.clone(), quotient.clone(), remainder.clone(), least.clone(), most.clone()];
            if let Some([and, or, xor, low]) = &natural {
                assert_eq!((v(and), v(or), v(xor), v(low)), (x & y, x | y, x ^ y, x & 7));
                known.extend([and.clone(), or.clone(), xor.clone()]);
            }
            for index in &known {
                let (value, range, divisor) = (v(index), atoms.range(index), atoms.divisor(index));
                assert!((range.low..=range.high).contains(&i128::from(value)), "{index:?} is {value}");
                assert!(if divisor == 0 { value == 0 } else { value % divisor == 0 }, "{index:?} is {value}");
            }
        });
    }
}

#[test]
fn what_divides_is_seen_behind_remainders() {
    let mut numbers = Numbers(7);
    let mut found = 0;
    for _ in 0..2000 {
        let (mut atoms, values) = atoms();
        let (a, b) = (polynomial(&mut numbers, &values), polynomial(&mut numbers, &values));
        let d = [2, 4, 6, 8, 12, -4][numbers.next(6) as usize];
        let by = [2, 3, 4, 8][numbers.next(4) as usize];
        let remainder = atoms.rem(&a, &Index::constant(d)).expect("small");
        let named = atoms.intern(
            Atom::Variable(super::index::VarId(9), 0),
            atoms.range(&remainder),
            1,
            Some(remainder.clone()),
        );
        let aligned = a.sub(&Index::atom(named)).expect("small");
        assert!(atoms.divides(&aligned, d.abs()), "{d} divides {a:?} - {a:?} % {d}");
        // Some that are divided, and many that are not.
        let scaled = b.scale(by).expect("small");
        let mixed = aligned.add_scaled(&scaled, numbers.next(5)).expect("small");
        let mixed = mixed.add_scaled(&Index::atom(named), numbers.next(7) - 3).expect("small");
        for index in [&aligned, &mixed] {
            let divided = atoms.divides(index, by);
            found += usize::from(divided);
            everywhere(&values, |at| {
                let at: Vec<_> = at.iter().copied().chain([(named, value(&atoms, &remainder, at))]).collect();
                assert!(!divided || value(&atoms, index, &at) % by == 0, "{by} does not divide {index:?}");
            });
        }
    }
    assert!((1000..3900).contains(&found), "{found} of 4000");
}

/// Whether a guard that holds, or does not, allows these values.
fn met(atoms: &Atoms, guard: &Comparison, holds: bool, at: &[(AtomId, i64)]) -> bool {
    guard.op.compare(&value(atoms, &guard.left, at), &value(atoms, &guard.right, at)) == holds
}

#[test]
fn proofs_are_never_wrong_and_often_found() {
    let mut numbers = Numbers(2);
    let (mut proved, mut needed_facts, mut narrowed) = (0, 0, 0);
    for _ in 0..3000 {
        let (mut atoms, values) = atoms();
        let a = polynomial(&mut numbers, &values);
        let named =
            atoms.intern(Atom::Variable(super::index::VarId(9), 0), atoms.range(&a), 1, Some(a.clone()));
        let ops = [BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge, BinaryOp::Eq, BinaryOp::Ne];
        let guard = Comparison {
            op: ops[numbers.next(6) as usize],
            left: a.clone(),
            right: polynomial(&mut numbers, &values),
        };
        let holds = numbers.next(2) == 0;
        // The goal is near the guard, so that the guard helps now and then.
        let goal = guard.left.sub(&guard.right).and_then(|d| d.scale([1, -1, 2][numbers.next(3) as usize]));
        let goal = goal.and_then(|g| g.plus(numbers.next(9) - 2)).expect("small");
        let goal = if numbers.next(2) == 0 {
            goal
        } else {
            goal.add(&Index::atom(named)).and_then(|g| g.sub(&a)).expect("small")
        };
        let mut facts = Facts::default();
        let alone = facts.prove(&atoms, &goal);
        facts.assume(&guard, holds);
        let intervals: Vec<Range> = values.iter().map(|(id, _)| facts.interval(&atoms, *id)).collect();
        let closer = values.iter().zip(&intervals).any(|((id, _), range)| *range != atoms.facts(*id).range);
        narrowed += i32::from(closer);
        everywhere(&values, |at| {
            let inside = |((_, value), range): (&(AtomId, i64), &Range)| {
                (range.low..=range.high).contains(&i128::from(*value))
            };
            assert!(!met(&atoms, &guard, holds, at) || at.iter().zip(&intervals).all(inside), "{guard:?}");
        });
        if !facts.prove(&atoms, &goal) {
            assert!(!alone);
            continue;
        }
        proved += 1;
        needed_facts += i32::from(!alone);
        everywhere(&values, |at| {
            let mut at = at.to_vec();
            at.push((named, value(&atoms, &a, &at)));
            if met(&atoms, &guard, holds, &at) {
                assert!(value(&atoms, &goal, &at) >= 0, "{goal:?} from {guard:?}");
            }
        });
    }
    assert!(proved > 300 && needed_facts > 100, "{proved} proved, {needed_facts} by the guard");
    assert!(narrowed > 300, "{narrowed} intervals are closer by the guard");
}

#[test]
fn a_remainder_is_below_a_divisor_that_is_known_to_be_positive() {
    let mut numbers = Numbers(3);
    let mut proved = 0;
    for _ in 0..3000 {
        let (mut atoms, values) = atoms();
        let (n, d) = (polynomial(&mut numbers, &values), polynomial(&mut numbers, &values));
        if d.as_constant().is_some() {
            continue;
        }
        let remainder = atoms.rem(&n, &d).expect("small");
        let goal = d.sub(&remainder).and_then(|goal| goal.plus(numbers.next(5) - 3)).expect("small");
        let least = numbers.next(3);
        let guard = Comparison { op: BinaryOp::Ge, left: d.clone(), right: Index::constant(least) };
        let mut facts = Facts::default();
        facts.assume(&guard, true);
        if !facts.prove(&atoms, &goal) {
            continue;
        }
        proved += 1;
        everywhere(&values, |at| {
            let divisor = value(&atoms, &d, at);
            // A quotient by zero is nothing.
            if divisor >= least && divisor != 0 {
                assert!(value(&atoms, &goal, at) >= 0, "{goal:?} from {guard:?}");
            }
        });
    }
    assert!(proved > 100, "{proved} proved");
}

#[test]
fn a_minimum_is_one_of_its_operands() {
    let mut numbers = Numbers(4);
    let (mut proved, mut by_facts) = (0, 0);
    for _ in 0..4000 {
        let (mut atoms, values) = atoms();
        let [a, b, c] = std::array::from_fn(|_| polynomial(&mut numbers, &values));
        let inner = atoms.extremum(&a, &b, numbers.next(2) == 0).expect("small");
        let outer = atoms.extremum(&inner, &c, numbers.next(2) == 0).expect("small");
        let about = [&a, &b, &c, &inner][numbers.next(4) as usize];
        let goal = about.sub(&outer).and_then(|goal| goal.scale([1, -1][numbers.next(2) as usize]));
        let goal = goal.and_then(|goal| goal.plus(numbers.next(7) - 2)).expect("small");
        let (left, right) = [(&a, &b), (&outer, &a), (&b, &inner), (&c, &a)][numbers.next(4) as usize];
        let guard = Comparison { op: BinaryOp::Le, left: left.clone(), right: right.clone() };
        let mut facts = Facts::default();
        let alone = facts.prove(&atoms, &goal);
        facts.assume(&guard, true);
        if !facts.prove(&atoms, &goal) {
            assert!(!alone);
            continue;
        }
        proved += 1;
        by_facts += i32::from(!alone);
        everywhere(&values, |at| {
            if value(&atoms, left, at) <= value(&atoms, right, at) {
                assert!(value(&atoms, &goal, at) >= 0, "{goal:?} from {guard:?}");
            }
        });
    }
    assert!(proved > 500 && by_facts > 50, "{proved} proved, {by_facts} by the guard");
}
