//! Statements: bindings, assignments, stores, branches, loops, functions.

use super::index::{binary, number};
use super::{Family, Generator};
use crate::tree::*;
use crate::types::{Kind, Type};

impl Generator {
    /// Statements of a block of their own.
    pub fn block(&mut self, depth: usize) -> Vec<Stmt> {
        let mark = self.scope.mark();
        let mut out = vec![];
        let count = 2 + self.below(6);
        for _ in 0..count {
            self.statement(&mut out, depth);
        }
        self.observe(&mut out);
        self.scope.leave(mark);
        out
    }

    /// Stores of what variables hold, so that nothing is lost unseen.
    fn observe(&mut self, out: &mut Vec<Stmt>) {
        for _ in 0..2 {
            if let Some((place, at)) = self.own_element(None) {
                let ty = self.kernel.elem(&place);
                let value = self.expr(ty, 1);
                out.push(Stmt::Store(place, at, None, value));
            }
        }
    }

    pub fn statement(&mut self, out: &mut Vec<Stmt>, depth: usize) {
        if self.budget == 0 {
            return;
        }
        self.budget -= 1;
        if self.family == Family::Views && self.chance(65) {
            return self.view_statement(out);
        }
        match self.below(20) {
            16 | 17 => self.whole_statement(out, depth),
            18 if depth > 0 => self.counted_loop(out, depth - 1),
            19 => self.jump_statement(out),
            12 if depth > 0 => self.match_statement(out, depth - 1),
            13 => self.array(out),
            14 => self.set_element(out),
            15 if self.returns && self.chance(30) => {
                let condition = self.expr(Type::Bool, 2);
                out.push(Stmt::If(condition, vec![Stmt::Return], vec![]));
            }
            0 | 1 if depth > 0 => {
                let condition = self.expr(Type::Bool, 2);
                let then = self.block(depth - 1);
                let otherwise = if self.chance(50) { self.block(depth - 1) } else { vec![] };
                out.push(Stmt::If(condition, then, otherwise));
            }
            2 | 3 if depth > 0 => self.for_loop(out, depth - 1),
            4 if depth > 0 => match self.below(3) {
                0 => self.search(out, depth - 1),
                1 => self.sweep(out, depth - 1),
                _ => self.while_loop(out, depth - 1),
            },
            5 if self.loops > 0 => {
                let condition = self.expr(Type::Bool, 2);
                let loops = 1 + self.below(self.loops);
                let leave = if self.chance(50) { Stmt::Break(loops) } else { Stmt::Continue(loops) };
                out.push(Stmt::If(condition, vec![leave], vec![]));
            }
            6 if self.views && self.chance(30) => self.view_statement(out),
            _ => self.simple(out, 3),
        }
    }

    /// A statement without statements in it.
    pub fn simple(&mut self, out: &mut Vec<Stmt>, depth: usize) {
        if self.fuel == 0 {
            return;
        }
        match self.below(11) {
            10 => self.set_part(out, depth),
            9 => {
                let ty = self.pick(&[Type::I32, Type::U32]);
                let expr = self.atomic(ty, depth.min(1));
                if matches!(expr, Expr::Atomic(..)) {
                    out.push(Stmt::Expr(expr));
                }
            }
            0 | 1 => {
                let ty = self.value_type();
                let value = self.expr(ty, depth);
                self.bind(out, ty, value);
            }
            2 => {
                // A copy of a variable, which must stay what it was when the variable changes.
                let mutable: Vec<Var> = self.mutable();
                if mutable.is_empty() {
                    return;
                }
                let var = self.pick(&mutable);
                self.bind(out, self.kernel.scalar_type(var), Expr::Var(var));
                self.assign(out, var, depth);
            }
            3 => {
                let types = [self.value_type(), self.value_type()];
                let values: Vec<Expr> = types.iter().map(|ty| self.expr(*ty, depth)).collect();
                if self.chance(50) {
                    let var = self.var(VarType::Pair(types.to_vec()));
                    self.scope.declare(var, false);
                    out.push(Stmt::LetPair(var, values));
                } else {
                    let vars: Vec<Var> = types.iter().map(|ty| self.var(VarType::Scalar(*ty))).collect();
                    vars.iter().for_each(|var| self.scope.declare(*var, false));
                    out.push(Stmt::LetParts(vars, values));
                }
            }
            4..=6 => {
                let mutable = self.mutable();
                if !mutable.is_empty() {
                    let var = self.pick(&mutable);
                    self.assign(out, var, depth);
                }
            }
            _ => {
                if let Some((place, at)) = self.own_element(None) {
                    let ty = self.kernel.elem(&place);
                    let op = if self.chance(30) { self.compound(ty) } else { None };
                    let value = self.expr(ty, depth);
                    out.push(Stmt::Store(place, at, op, value));
                }
            }
        }
    }

    pub fn mutable(&self) -> Vec<Var> {
        self.scope.vars.iter().filter(|(_, mutable)| *mutable).map(|(var, _)| *var).collect()
    }

    /// `let v = value;`
    fn bind(&mut self, out: &mut Vec<Stmt>, ty: Type, value: Expr) {
        let var = self.var(VarType::Scalar(ty));
        let (mutable, written) = (self.chance(55), self.chance(70));
        self.scope.declare(var, mutable);
        out.push(Stmt::Let { var, mutable, written, value });
    }

    pub fn assign(&mut self, out: &mut Vec<Stmt>, var: Var, depth: usize) {
        let ty = self.kernel.scalar_type(var);
        let op = if self.chance(40) { self.compound(ty) } else { None };
        let value = match op {
            Some(BinaryOp::Mul) if ty == Type::Index && !self.huge => number(self.between(-3, 3)),
            _ => self.expr(ty, depth),
        };
        out.push(Stmt::Assign(var, op, value));
    }

    pub fn compound(&mut self, ty: Type) -> Option<BinaryOp> {
        use BinaryOp::*;
        Some(match ty.kind() {
            Kind::Bool => self.pick(&[BitAnd, BitOr, Xor]),
            // A product here would be contracted with a sum on a GPU: see `opaque`.
            Kind::Float(4..) => self.pick(&[Add, Sub, Div]),
            Kind::Float(_) => self.pick(&[Add, Sub, Mul, Div]),
            Kind::Index => self.pick(&[Add, Sub, Mul]),
            Kind::Integer(..) => self.pick(&[Add, Sub, Mul, BitAnd, BitOr, Xor, Shl, Shr]),
        })
    }

    fn for_loop(&mut self, out: &mut Vec<Stmt>, depth: usize) {
        let unroll = self.chance(25);
        let rounds = self.between(0, if unroll { 4 } else { 6 });
        let start = if unroll { 0 } else { self.between(-2, 3) };
        let end = match self.below(3) {
            0 if !unroll => binary(BinaryOp::Rem, self.index(1), number(5)),
            1 if !unroll => Expr::Math(Math::Min, vec![self.index(1), number(start + rounds)]),
            _ => number(start + rounds),
        };
        let step = self.chance(30).then(|| self.between(1, 3));
        let reversed = self.chance(25);
        let var = self.var(VarType::Scalar(Type::Index));
        let mark = self.scope.mark();
        self.scope.declare(var, false);
        if unroll {
            self.scope.unrolled.push((var, start + rounds));
        }
        self.loops += 1;
        let body = self.block(depth);
        self.loops -= 1;
        self.scope.leave(mark);
        out.push(Stmt::For { var, start: number(start), end, step, reversed, unroll, body });
    }

    /// A function that later code calls; it sees its parameters alone.
    pub fn function(&mut self) {
        let scope = std::mem::take(&mut self.scope);
        let returns = std::mem::take(&mut self.returns);
        let types: Vec<Type> = (0..1 + self.below(3)).map(|_| self.value_type()).collect();
        let parameters: Vec<Var> = types.iter().map(|ty| self.var(VarType::Scalar(*ty))).collect();
        for var in &parameters {
            let lent = self.chance(30);
            self.kernel.references.extend(lent.then_some(*var));
            self.scope.declare(*var, lent);
        }
        let result = self.value_type();
        self.gives = Some(result);
        self.budget = 4;
        let mut statements = vec![];
        for _ in 0..self.below(4) {
            self.statement(&mut statements, 1);
        }
        let value = self.expr(result, 2);
        self.scope = scope;
        (self.returns, self.gives) = (returns, None);
        self.kernel.functions.push(Function { parameters, result, body: Body { statements, value } });
    }
}
