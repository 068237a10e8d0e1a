//! Arrays and tuples within each other, and indices that come round.

use super::Generator;
use super::index::{binary, number};
use crate::tree::*;
use crate::types::Type;

impl Generator {
    fn shape(&mut self, depth: usize) -> Shape {
        match self.below(if depth == 0 { 1 } else { 3 }) {
            0 => Shape::One(self.value_type()),
            1 => Shape::Tuple((0..2).map(|_| self.shape(depth - 1)).collect()),
            _ => Shape::Array(Box::new(self.shape(depth - 1)), 1 + self.below(3)),
        }
    }

    /// A whole of a shape: made of values, or a copy.
    fn made(&mut self, shape: &Shape) -> Whole {
        match shape {
            Shape::One(ty) => Whole::One(self.expr(*ty, 1)),
            _ if self.chance(25) && !self.targets(shape).is_empty() => {
                let all = self.targets(shape);
                let (var, path) = all[self.below(all.len())].clone();
                Whole::Copy(self.aimed(var, &path))
            }
            Shape::Array(of, count) if self.chance(40) => Whole::Filled(Box::new(self.made(of)), *count),
            Shape::Array(of, count) => Whole::List((0..*count).map(|_| self.made(of)).collect()),
            Shape::Tuple(parts) => Whole::Tuple(parts.iter().map(|part| self.made(part)).collect()),
        }
    }

    /// Where a shape is to be found: the variable, and its steps, -1 for an element.
    fn targets(&self, wanted: &Shape) -> Vec<(Var, Vec<i64>)> {
        fn search(shape: &Shape, wanted: &Shape, path: &mut Vec<i64>, found: &mut Vec<Vec<i64>>) {
            if shape == wanted {
                return found.push(path.clone());
            }
            match shape {
                Shape::One(_) => {}
                Shape::Array(of, count) => {
                    path.push(-(*count as i64));
                    search(of, wanted, path, found);
                    path.pop();
                }
                Shape::Tuple(parts) => {
                    for (number, part) in parts.iter().enumerate() {
                        path.push(number as i64);
                        search(part, wanted, path, found);
                        path.pop();
                    }
                }
            }
        }
        let mut all = vec![];
        for (var, shape) in &self.scope.wholes {
            let mut found = vec![];
            search(shape, wanted, &mut vec![], &mut found);
            all.extend(found.into_iter().map(|path| (*var, path)));
        }
        all
    }

    /// A target with indices; they do not name the variable itself.
    fn aimed(&mut self, var: Var, path: &[i64]) -> Target {
        let wholes = self.scope.wholes.clone();
        self.scope.wholes.retain(|(own, _)| *own != var);
        let each = |step: &i64| match *step {
            field @ 0.. => Part::Field(field as usize),
            count => Part::At(self.place_in(-count as usize)),
        };
        let parts = path.iter().map(each).collect();
        self.scope.wholes = wholes;
        Target { var, parts }
    }

    /// Something of a type that may be changed: a variable, or a part of a whole.
    pub fn target(&mut self, ty: Type) -> Option<Target> {
        let all = self.targets(&Shape::One(ty));
        let own: Vec<Var> =
            self.mutable().into_iter().filter(|var| self.kernel.scalar_type(*var) == ty).collect();
        if !own.is_empty() && (all.is_empty() || self.chance(50)) {
            return Some(Target { var: self.pick(&own), parts: vec![] });
        }
        if all.is_empty() {
            return None;
        }
        let (var, path) = all[self.below(all.len())].clone();
        Some(self.aimed(var, &path))
    }

    /// A part of a whole, of a type.
    pub fn part(&mut self, ty: Type) -> Expr {
        let all = self.targets(&Shape::One(ty));
        if all.is_empty() {
            return self.leaf(ty);
        }
        let (var, path) = all[self.below(all.len())].clone();
        Expr::Part(self.aimed(var, &path))
    }

    /// `v[i].0 += x;`
    pub fn set_part(&mut self, out: &mut Vec<Stmt>, depth: usize) {
        let wholes: Vec<(Var, Shape)> = self.scope.wholes.clone();
        if wholes.is_empty() || !self.effects {
            return;
        }
        let (_, shape) = &wholes[self.below(wholes.len())];
        let ty = self.pick(&shape.leaves());
        if let Some(target) = self.target(ty) {
            let op = if self.chance(40) { self.compound(ty) } else { None };
            let value = match op {
                Some(BinaryOp::Mul) if ty == Type::Index && !self.huge => number(self.between(-3, 3)),
                _ => self.expr(ty, depth.min(2)),
            };
            out.push(Stmt::SetPart(target, op, value));
        }
    }

    pub fn whole_statement(&mut self, out: &mut Vec<Stmt>, depth: usize) {
        let wholes = self.scope.wholes.clone();
        if wholes.is_empty() {
            return self.let_whole(out);
        }
        let (var, shape) = wholes[self.below(wholes.len())].clone();
        match (self.below(6), &shape) {
            (0, _) => self.let_whole(out),
            (1, Shape::Array(of, count)) => {
                let target = self.aimed(var, &[-(*count as i64)]);
                let value = self.made(of);
                out.push(Stmt::SetWhole(target, value));
            }
            (2, Shape::Array(_, count)) => {
                let (i, j) = (self.place_in(*count), self.place_in(*count));
                out.push(Stmt::Swap(Target { var, parts: vec![] }, i, j));
            }
            (3 | 4, Shape::Array(of, _)) if depth > 0 && matches!(**of, Shape::One(_)) => {
                self.each(out, (var, of.leaves()[0]), depth - 1);
            }
            (5, _) => {
                let types = [self.value_type(), self.value_type()];
                let targets: Vec<Target> = types.iter().filter_map(|ty| self.target(*ty)).collect();
                if targets.len() == 2 && targets[0].var != targets[1].var {
                    let values = types.iter().map(|ty| self.expr(*ty, 2)).collect();
                    out.push(Stmt::SetParts(targets, values));
                }
            }
            _ => self.set_part(out, 2),
        }
    }

    fn let_whole(&mut self, out: &mut Vec<Stmt>) {
        let shape = match self.below(3) {
            0 => Shape::Tuple((0..2).map(|_| self.shape(2)).collect()),
            _ => Shape::Array(Box::new(self.shape(1)), 1 + self.below(4)),
        };
        let value = self.made(&shape);
        let var = self.var(VarType::Whole(shape.clone()));
        self.scope.wholes.push((var, shape));
        out.push(Stmt::LetWhole(var, value));
    }

    /// A loop over an array: over a copy, or changing its elements.
    fn each(&mut self, out: &mut Vec<Stmt>, (of, ty): (Var, Type), depth: usize) {
        let changed = self.chance(50);
        let var = self.var(VarType::Scalar(ty));
        let mark = self.scope.mark();
        let number = self.chance(40).then(|| self.var(VarType::Scalar(Type::Index)));
        number.into_iter().for_each(|number| self.scope.declare(number, false));
        let wholes = self.scope.wholes.clone();
        if changed {
            self.kernel.references.push(var);
            self.scope.wholes.retain(|(own, _)| *own != of);
        }
        self.scope.declare(var, changed);
        self.loops += 1;
        let body = self.block(depth);
        self.loops -= 1;
        self.scope.leave(mark);
        self.scope.wholes = wholes;
        out.push(Stmt::ForEach { var, number, of, changed, body });
    }

    /// A counter that is below a number at most this, if there is one.
    pub fn counter_below(&mut self, end: i64) -> Option<Expr> {
        let all: Vec<Var> =
            self.scope.counters.iter().filter(|(_, most)| *most <= end).map(|(var, _)| *var).collect();
        if all.is_empty() || self.chance(40) {
            return None;
        }
        Some(Expr::Var(self.pick(&all)))
    }

    /// A loop with an index that comes round, by `%` or by a reset.
    pub fn counted_loop(&mut self, out: &mut Vec<Stmt>, depth: usize) {
        let end = self.between(1, 4);
        let counter = self.var(VarType::Scalar(Type::Index));
        if self.chance(60) {
            self.kernel.naturals.push(counter);
        }
        let first = match self.below(3) {
            0 => binary(BinaryOp::Rem, self.natural(1), number(end)),
            _ => number(self.between(0, end - 1)),
        };
        out.push(Stmt::Let { var: counter, mutable: true, written: true, value: first });
        self.scope.declare(counter, false);
        self.scope.counters.push((counter, end));
        let var = self.var(VarType::Scalar(Type::Index));
        let (mark, by) = (self.scope.mark(), self.between(1, 3));
        self.scope.declare(var, false);
        let own = || Expr::Var(counter);
        let mut step = match self.below(4) {
            0 => {
                let next = binary(BinaryOp::Add, own(), number(1));
                let reset = Stmt::Assign(counter, None, number(0));
                let reached = binary(BinaryOp::Eq, own(), number(end));
                let past = binary(BinaryOp::Ge, own(), number(end));
                let reached = if self.chance(50) { reached } else { past };
                vec![Stmt::Assign(counter, None, next), Stmt::If(reached, vec![reset], vec![])]
            }
            1 => {
                let last = binary(BinaryOp::Eq, own(), number(0));
                let back = Stmt::Assign(counter, Some(BinaryOp::Sub), number(1));
                let round = Stmt::Assign(counter, None, number(end - 1));
                vec![Stmt::If(last, vec![round], vec![back])]
            }
            2 => {
                let turned = binary(BinaryOp::Sub, number(end - 1), own());
                vec![Stmt::Assign(counter, None, turned)]
            }
            _ => {
                let next = binary(BinaryOp::Add, own(), number(by));
                vec![Stmt::Assign(counter, None, binary(BinaryOp::Rem, next, number(end)))]
            }
        };
        self.loops += 1;
        let mut body = self.block(depth);
        self.loops -= 1;
        self.scope.leave(mark);
        let at = if self.chance(50) { 0 } else { body.len() };
        body.splice(at..at, step.drain(..));
        let (start, end) = (number(0), number(self.between(1, 6)));
        let unroll = self.chance(15);
        out.push(Stmt::For { var, start, end, step: None, reversed: false, unroll, body });
    }
}
