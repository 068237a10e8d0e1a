//! Random structured programs: each thread of a simulated warp computes the same values as a reference of one thread.
//!
//! Every thread owns eight elements of the tensor `c` and a local tensor; loops have few rounds, and a `while` loop
//! counts down a variable of its own.

use super::build::{Build, Code, Val, as_ints, at, binary, compare, i32, int, ints, load, plus, times};
use super::reference::Thread;
use layout_compiler::elem::{Constant, Elem};
use layout_compiler::index::{Atom, Index, VarId};
use layout_compiler::ir::{BinaryOp, UnaryOp};
use layout_compiler::program::{Pad, PlaceId, StatementKind, Value};
use std::collections::HashMap;

const THREADS: i64 = 40;
const OWN: i64 = 8;
const C: PlaceId = PlaceId(0);
const LOCAL: PlaceId = PlaceId(1);

/// A generator of programs; a linear congruential sequence makes its choices.
struct Random {
    state: u64,
    b: Build,
    /// Mutable `i32` variables.
    elements: Vec<VarId>,
    /// A mutable index variable, and loop variables in scope.
    indices: Vec<Index>,
    mutable: VarId,
}

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.state >> 33) % end
    }

    /// An index of small numbers, of the thread, of loop variables.
    fn index(&mut self, depth: u32) -> Index {
        let b = &mut self.b;
        let thread = b.thread(0);
        let choice = self.below(if depth == 0 { 3 } else { 8 });
        let inner = |it: &mut Random| it.index(depth.saturating_sub(1));
        match choice {
            0 => int(self.below(7) as i64 - 2),
            1 => thread,
            2 => {
                let which = self.below(self.indices.len() as u64) as usize;
                self.indices[which].clone()
            }
            3 => plus(&inner(self), &inner(self)),
            4 => times(&inner(self), &int(self.below(5) as i64 - 1)),
            5 => {
                let (a, n) = (inner(self), 1 + self.below(6) as i64);
                self.b.atom(Atom::Div(Box::new(a), Box::new(int(n))))
            }
            6 => {
                let (a, n) = (inner(self), 1 + self.below(6) as i64);
                self.b.atom(Atom::Rem(Box::new(a), Box::new(int(n))))
            }
            _ => {
                let (a, c) = (inner(self), inner(self));
                self.b.atom(Atom::Max(Box::new(a), Box::new(c)))
            }
        }
    }

    /// A number from 0 to `end - 1`.
    fn small(&mut self, end: i64) -> Index {
        let a = self.index(1);
        let square = times(&a, &a);
        self.b.atom(Atom::Rem(Box::new(square), Box::new(int(end))))
    }

    /// The end of a loop: a small number, or the mutable index itself, which the body may change.
    fn bound(&mut self) -> Index {
        if self.below(2) == 0 { self.indices[0].clone() } else { self.small(6) }
    }

    fn condition(&mut self, depth: u32) -> Val {
        match self.below(if depth == 0 { 2 } else { 5 }) {
            0 => {
                let op = [BinaryOp::Lt, BinaryOp::Ge, BinaryOp::Eq, BinaryOp::Ne][self.below(4) as usize];
                let (a, c) = (self.index(1), self.index(1));
                Value::Compare(compare(op, &a, &c))
            }
            1 => {
                let op = [BinaryOp::Lt, BinaryOp::Ge, BinaryOp::Eq, BinaryOp::Le][self.below(4) as usize];
                binary(op, self.value(1), self.value(1))
            }
            2 => binary(BinaryOp::And, self.condition(depth - 1), self.condition(depth - 1)),
            3 => binary(BinaryOp::Or, self.condition(depth - 1), self.condition(depth - 1)),
            _ => Value::Unary(UnaryOp::Not, Box::new(self.condition(depth - 1))),
        }
    }

    fn value(&mut self, depth: u32) -> Val {
        match self.below(if depth == 0 { 3 } else { 7 }) {
            0 => i32(i128::from(self.below(50)) - 20),
            1 => {
                let which = self.below(self.elements.len() as u64) as usize;
                Value::Variable(self.elements[which])
            }
            2 => {
                let index = self.index(2);
                Value::Index(index, Elem::I32)
            }
            3 => self.load(),
            4 => Value::Select(
                Box::new(self.condition(0)),
                Box::new(self.value(depth - 1)),
                Box::new(self.value(depth - 1)),
            ),
            _ => {
                let op =
                    [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::BitXor][self.below(4) as usize];
                binary(op, self.value(depth - 1), self.value(depth - 1))
            }
        }
    }

    /// An element of the thread's own, of `c` or of the local tensor, sometimes masked.
    fn access(&mut self) -> layout_compiler::program::Access {
        let own = self.small(OWN);
        let mask = if self.below(3) == 0 {
            let (a, c) = (self.index(1), self.index(1));
            vec![compare(BinaryOp::Lt, &a, &c)]
        } else {
            Vec::new()
        };
        if self.below(2) == 0 {
            return self.b.access(LOCAL, &own, &mask, 1);
        }
        let thread = self.b.thread(0);
        self.b.access(C, &plus(&times(&thread, &int(OWN)), &own), &mask, 1)
    }

    fn load(&mut self) -> Val {
        let mut access = self.access();
        access.pad = Pad::Constant(Constant { elem: Elem::I32, bits: 5 });
        load(access)
    }

    fn list(&mut self, depth: u32, in_loop: bool) -> Vec<Code> {
        let count = 1 + self.below(4);
        let known = self.indices.len();
        let mut list: Vec<Code> = Vec::new();
        for _ in 0..count {
            if self.below(4) == 0 {
                let value = self.index(1);
                let (id, index) = self.b.counter("x", false);
                self.indices.push(index);
                list.push(at(1, StatementKind::LetIndex(id, value)));
            }
            list.push(self.statement(depth, in_loop));
        }
        self.indices.truncate(known);
        if in_loop && self.below(4) == 0 {
            let leave = if self.below(2) == 0 { StatementKind::Break } else { StatementKind::Continue };
            let condition = self.condition(1);
            let at_end = self.below(2) == 0;
            let branch = at(1, StatementKind::If(condition, vec![at(1, leave)], Vec::new()));
            if at_end { list.push(branch) } else { list.insert(0, branch) }
        }
        list
    }

    fn statement(&mut self, depth: u32, in_loop: bool) -> Code {
        let kind = match self.below(if depth == 0 { 3 } else { 6 }) {
            0 => {
                let which = self.below(self.elements.len() as u64) as usize;
                StatementKind::Assign(self.elements[which], self.value(2))
            }
            1 => StatementKind::Store(self.access(), self.value(2)),
            2 => {
                let small = self.small(9);
                StatementKind::AssignIndex(self.mutable, small)
            }
            3 => {
                let otherwise = if self.below(2) == 0 { self.list(depth - 1, in_loop) } else { Vec::new() };
                StatementKind::If(self.condition(2), self.list(depth - 1, in_loop), otherwise)
            }
            4 => self.for_loop(depth),
            _ => return self.while_loop(depth),
        };
        at(1, kind)
    }

    fn for_loop(
        &mut self,
        depth: u32,
    ) -> StatementKind<layout_compiler::program::Access, layout_compiler::program::Operation> {
        let (variable, index) = self.b.counter("i", false);
        let unroll = self.below(3) == 0;
        let (start, end) = if unroll || self.below(2) == 0 {
            (int(self.below(3) as i64), int(self.below(5) as i64))
        } else {
            (self.small(3), self.bound())
        };
        let (step, reversed) = (1 + self.below(2) as i64, self.below(3) == 0);
        self.indices.push(index);
        let body = self.list(depth - 1, true);
        self.indices.pop();
        StatementKind::For { variable, start, end, step, unroll, reversed, body }
    }

    /// A loop with its own count of rounds: `if true { let n = ..; while n > 0 && .. { n -= 1; .. } }`.
    fn while_loop(&mut self, depth: u32) -> Code {
        let counter = self.b.element("n", Elem::I32);
        let rounds = self.small(5);
        let less = binary(BinaryOp::Sub, Value::Variable(counter), i32(1));
        let mut body = vec![at(1, StatementKind::Assign(counter, less))];
        body.extend(self.list(depth - 1, true));
        let more = binary(BinaryOp::Gt, Value::Variable(counter), i32(0));
        let condition = binary(BinaryOp::And, more, self.condition(1));
        let list = vec![
            at(1, StatementKind::Let(counter, Some(Value::Index(rounds, Elem::I32)))),
            at(1, StatementKind::While(condition, body)),
        ];
        let always = Value::Compare(compare(BinaryOp::Ge, &self.b.thread(0), &int(0)));
        at(1, StatementKind::If(always, list, Vec::new()))
    }
}

/// A program and its tensor before and after.
fn program(seed: u64) -> Build {
    let mut b = Build::new([THREADS as u32, 1, 1], [1; 3], &[]);
    b.tensor("c", Elem::I32, true);
    b.local("l", Elem::I32, OWN as u64);
    let (mutable, index) = b.counter("m", true);
    let elements: Vec<VarId> = (0..3).map(|_| b.element("v", Elem::I32)).collect();
    let mut random = Random { state: seed, b, elements, indices: vec![index.clone()], mutable };
    for element in 0..OWN {
        let first = random.b.store(1, LOCAL, &int(element), i32(element.into()));
        random.b.body.push(first);
    }
    random.b.body.push(at(1, StatementKind::LetIndex(mutable, int(1))));
    for number in 0..3 {
        let value = random.index(1);
        let id = random.elements[number];
        random.b.body.push(at(1, StatementKind::Let(id, Some(Value::Index(value, Elem::I32)))));
    }
    let list = random.list(4, false);
    random.b.body.extend(list);
    let thread = random.b.thread(0);
    for number in 0..3 {
        let own = plus(&times(&thread, &int(OWN)), &int(number));
        let value = Value::Variable(random.elements[number as usize]);
        let sum = binary(BinaryOp::Add, random.b.load(C, &own), value);
        let store = random.b.store(1, C, &own, sum);
        random.b.body.push(store);
    }
    random.b
}

#[test]
fn warps_compute_what_threads_compute() {
    for seed in 0..600 {
        let b = program(seed);
        let start: Vec<i32> = (0..(THREADS * OWN) as i32).map(|i| i * 37 % 101 - 50).collect();
        let mut places = vec![start.clone(), Vec::new()];
        for thread in 0..THREADS {
            places[1] = vec![0; OWN as usize];
            let (tables, variables) = (&b.tables, HashMap::new());
            Thread { tables, thread, places: &mut places, variables }.run(&b.body);
        }
        let mut tensors = [ints(start)];
        let report = b.run(&mut tensors).expect("it runs");
        assert!(report.clean(), "seed {seed}: {report}");
        assert_eq!(as_ints(&tensors[0]), places[0], "seed {seed}: {:#?}", b.body);
    }
}
