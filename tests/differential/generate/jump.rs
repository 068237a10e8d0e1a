//! What is left with a value: blocks and loops with labels, functions, closures; and jumps where a value is.

use super::Generator;
use super::index::{binary, number};
use crate::tree::*;
use crate::types::Type;

impl Generator {
    /// A jump that may be here.
    fn jump(&mut self) -> Option<Stmt> {
        if !self.effects {
            return None;
        }
        let mut all: Vec<Stmt> =
            (1..=self.loops).flat_map(|out| [Stmt::Break(out), Stmt::Continue(out)]).collect();
        if self.returns {
            all.push(Stmt::Return);
        }
        if let Some(ty) = self.gives {
            all.push(Stmt::Give(self.expr(ty, 1)));
        }
        for (label, ty) in self.labels.clone() {
            all.push(Stmt::Leave(label, self.expr(ty, 1)));
        }
        if all.is_empty() { None } else { Some(all.swap_remove(self.below(all.len()))) }
    }

    /// `if c { break 'b1 x; }`
    pub fn jump_statement(&mut self, out: &mut Vec<Stmt>) {
        let condition = self.expr(Type::Bool, 2);
        if let Some(jump) = self.jump() {
            out.push(Stmt::If(condition, vec![jump], vec![]));
        }
    }

    /// A body with a value, or one that ends in a jump: the other branch has the value.
    pub fn body_or_jump(&mut self, ty: Type, depth: usize) -> Body {
        if self.chance(80) {
            return self.body_of(ty, depth);
        }
        match self.jump() {
            None => self.body_of(ty, depth),
            Some(jump) => Body { statements: vec![], value: Expr::Jump(ty, Box::new(jump)) },
        }
    }

    fn label(&mut self, ty: Type) -> usize {
        self.labelled += 1;
        self.labels.push((self.labelled, ty));
        self.labelled
    }

    /// `'b1: { if c { break 'b1 x; } .. y }`
    pub fn labelled_value(&mut self, ty: Type, depth: usize) -> Expr {
        if !self.effects {
            return self.leaf(ty);
        }
        let mark = self.scope.mark();
        let label = self.label(ty);
        let mut statements = vec![];
        for _ in 0..1 + self.below(3) {
            if self.chance(40) {
                self.jump_statement(&mut statements);
            } else {
                self.statement(&mut statements, depth.min(1));
            }
        }
        let value = self.expr(ty, depth);
        self.labels.pop();
        self.scope.leave(mark);
        Expr::Labelled(label, Box::new(Body { statements, value }))
    }

    /// `{ let mut k = 0; 'b1: loop { k += 1; if k > 3 { break 'b1 x; } .. } }`
    pub fn loop_value(&mut self, ty: Type, depth: usize) -> Expr {
        if !self.effects {
            return self.leaf(ty);
        }
        let mark = self.scope.mark();
        let count = self.var(VarType::Scalar(Type::Index));
        let first = Stmt::Let { var: count, mutable: true, written: true, value: number(0) };
        // A plain `break` gives no value, and loops around are left by their labels only.
        let loops = std::mem::take(&mut self.loops);
        self.scope.declare(count, false);
        let label = self.label(ty);
        let past = binary(BinaryOp::Gt, Expr::Var(count), number(self.between(0, 4)));
        let last = Stmt::Leave(label, self.expr(ty, depth.min(1)));
        let mut body =
            vec![Stmt::Assign(count, Some(BinaryOp::Add), number(1)), Stmt::If(past, vec![last], vec![])];
        for _ in 0..1 + self.below(2) {
            if self.chance(40) {
                self.jump_statement(&mut body);
            } else {
                self.statement(&mut body, depth.min(1));
            }
        }
        self.labels.pop();
        self.loops = loops;
        self.scope.leave(mark);
        let value = Expr::Loop(label, ty, body);
        Expr::Body(Box::new(Body { statements: vec![first], value }))
    }

    /// `{ let mut f = |x: i32| -> i32 { k += x; k }; let a = f(1); a + f(y) }`, which borrows `k` up to its last call.
    pub fn closure(&mut self, ty: Type, depth: usize) -> Expr {
        if !self.effects {
            return self.leaf(ty);
        }
        let mark = self.scope.mark();
        let types: Vec<Type> = (0..1 + self.below(2)).map(|_| self.value_type()).collect();
        let parameters: Vec<Var> = types.iter().map(|ty| self.var(VarType::Scalar(*ty))).collect();
        parameters.iter().for_each(|var| self.scope.declare(*var, false));
        let (loops, returns) = (std::mem::take(&mut self.loops), std::mem::take(&mut self.returns));
        let labels = std::mem::take(&mut self.labels);
        let gives = self.gives.replace(ty);
        let mut statements = vec![];
        for _ in 0..self.below(3) {
            self.statement(&mut statements, depth.min(1));
        }
        let value = self.expr(ty, depth);
        (self.loops, self.returns, self.labels, self.gives) = (loops, returns, labels, gives);
        self.scope.leave(mark);
        let var = self.var(VarType::Closure(ty));
        let mut all = vec![Stmt::LetClosure { var, parameters, body: Body { statements, value } }];
        // What may be changed is borrowed while the closure lives.
        let (scope, effects) = (self.scope.clone(), std::mem::take(&mut self.effects));
        self.scope.vars.retain(|(_, mutable)| !mutable);
        self.scope.arrays.clear();
        self.scope.wholes.clear();
        let mut results = vec![];
        for _ in 0..1 + self.below(2) {
            let arguments = types.iter().map(|ty| self.expr(*ty, 1)).collect();
            let result = self.var(VarType::Scalar(ty));
            let value = Expr::Invoke(var, arguments);
            all.push(Stmt::Let { var: result, mutable: false, written: false, value });
            results.push(Expr::Var(result));
        }
        (self.scope, self.effects) = (scope, effects);
        let value = match results.len() {
            2 if ty != Type::Bool => binary(BinaryOp::Sub, results.swap_remove(0), results.swap_remove(0)),
            _ => results.swap_remove(0),
        };
        Expr::Body(Box::new(Body { statements: all, value }))
    }

    /// A call with `&mut`: what is lent is not named by the other arguments.
    pub fn lending_call(&mut self, ty: Type, function: usize, depth: usize) -> Expr {
        let scope = self.scope.clone();
        let parameters = self.kernel.functions[function].parameters.clone();
        let mut targets = vec![None; parameters.len()];
        for (parameter, target) in parameters.iter().zip(&mut targets) {
            if !self.kernel.references.contains(parameter) {
                continue;
            }
            let Some(own) = self.target(self.kernel.scalar_type(*parameter)).filter(|_| self.effects) else {
                self.scope = scope;
                return if ty == Type::Index { self.index_leaf() } else { self.leaf(ty) };
            };
            self.scope.vars.retain(|(var, _)| *var != own.var);
            self.scope.arrays.retain(|(var, ..)| *var != own.var);
            self.scope.wholes.retain(|(var, _)| *var != own.var);
            *target = Some(own);
        }
        let each = |(parameter, target): (&Var, Option<Target>)| match target {
            Some(target) => Expr::Reference(target),
            None => self.expr(self.kernel.scalar_type(*parameter), depth),
        };
        let arguments = parameters.iter().zip(targets).map(each).collect();
        self.scope = scope;
        Expr::Call(function, arguments)
    }
}
