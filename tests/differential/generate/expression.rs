//! Expressions of every type, with effects in operands.

use super::Generator;
use super::index::{binary, number};
use super::scope::KnownKind;
use crate::tree::*;
use crate::types::{Kind, Type};
use crate::value::{self, Value};

/// Types that atomic operations are promised for, and whose results do not depend on flushed denormals.
const ATOMIC: [Type; 2] = [Type::I32, Type::U32];

impl Generator {
    /// An expression of a type.
    pub fn expr(&mut self, ty: Type, depth: usize) -> Expr {
        if ty == Type::Index {
            return self.index(depth);
        }
        let depth = self.depth(depth);
        if depth == 0 {
            return self.leaf(ty);
        }
        match self.below(31) {
            26 => self.labelled_value(ty, depth - 1),
            27 => self.closure(ty, depth - 1),
            28 | 29 => self.part(ty),
            30 => self.loop_value(ty, depth - 1),
            22 | 23 => self.word(ty, depth - 1),
            24 => self.match_value(ty, depth - 1),
            25 => self.array_element(ty),
            20 | 21 => self.overtaken(ty, depth - 1),
            0..=6 => self.arithmetic(ty, depth - 1),
            7 | 8 => self.converted(ty, depth - 1),
            9 => self.unary_of(ty, depth - 1),
            10 => self.math(ty, depth - 1),
            11 => Expr::Select(Box::new([
                self.expr(Type::Bool, depth - 1),
                self.expr(ty, depth - 1),
                self.expr(ty, depth - 1),
            ])),
            12 => self.branches(ty, depth - 1),
            13 => self.with_effect(ty, depth - 1),
            14 => self.atomic(ty, depth - 1),
            15 | 16 => self.call(ty, depth - 1),
            17 => self.load(ty),
            _ => self.leaf(ty),
        }
    }

    pub fn leaf(&mut self, ty: Type) -> Expr {
        if self.chance(60)
            && let Some(known) = self.known(ty)
        {
            return known;
        }
        if self.fuel > 0 && self.chance(40) {
            return self.load(ty);
        }
        self.literal(ty)
    }

    /// A variable or an argument of a type.
    pub fn known(&mut self, ty: Type) -> Option<Expr> {
        let mut all = vec![];
        for (var, _) in &self.scope.vars {
            match &self.kernel.vars[*var] {
                VarType::Scalar(own) if *own == ty => all.push(Expr::Var(*var)),
                VarType::Pair(parts) => {
                    let parts = parts.iter().enumerate().filter(|(_, own)| **own == ty);
                    all.extend(parts.map(|(part, _)| Expr::Field(*var, part)));
                }
                _ => {}
            }
        }
        if self.row.is_some() {
            let arguments = self.kernel.scalars.iter().enumerate().filter(|(_, (own, _))| *own == ty);
            all.extend(arguments.map(|(number, _)| Expr::Argument(number)));
        }
        if all.is_empty() { None } else { Some(all.swap_remove(self.below(all.len()))) }
    }

    pub fn literal(&mut self, ty: Type) -> Expr {
        let value = match ty.kind() {
            Kind::Index => return number(self.between(-9, 20)),
            Kind::Bool => Value::Bool(self.chance(50)),
            Kind::Float(_) => {
                let raw = self.pick(&[0.0, 1.0, -1.0, 0.5, 2.0, 3.75, -7.25, 100.0, 1e-3, 1e4, -0.0]);
                value::cast(Type::F64, ty, Value::Float(raw))
            }
            Kind::Integer(bits, signed) => {
                let (_, most) = ty.limits();
                let most = most.min(i64::MAX.into());
                let raw = match self.below(5) {
                    0 => most - i128::from(self.between(0, 2)),
                    1 => 1 << self.between(0, i64::from(bits.min(63)) - 2),
                    _ => self.between(0, 100).into(),
                };
                Value::Int(if signed && self.chance(30) { -raw } else { raw })
            }
        };
        Expr::Literal { ty, value, bare: false }
    }

    /// A literal beside something of its type: it needs no type of its own.
    fn beside(&mut self, ty: Type) -> Expr {
        match self.literal(ty) {
            Expr::Literal { ty, value, .. } => {
                Expr::Literal { ty, value, bare: self.chance(60) && !ty.is_half() }
            }
            other => other,
        }
    }

    pub fn arithmetic(&mut self, ty: Type, depth: usize) -> Expr {
        use BinaryOp::*;
        let op = match ty.kind() {
            Kind::Bool => return self.condition(depth),
            // A function does not see the argument that keeps a product from being contracted.
            Kind::Float(4..) if self.row.is_none() => self.pick(&[Add, Sub, Div]),
            Kind::Float(_) => self.pick(&[Add, Sub, Mul, Div, Rem]),
            _ => self.pick(&[Add, Add, Sub, Mul, Mul, Div, Rem, BitAnd, BitOr, Xor, Shl, Shr]),
        };
        let left = self.expr(ty, depth);
        let right = match op {
            Div | Rem if !ty.is_float() => match self.literal(ty) {
                // Odd, so not 0.
                _ if self.chance(50) => {
                    let one = Expr::Literal { ty, value: Value::Int(1), bare: false };
                    binary(BitOr, self.expr(ty, depth), one)
                }
                Expr::Literal { ty, value, .. } if value.int() != 0 => {
                    Expr::Literal { ty, value, bare: true }
                }
                _ => Expr::Literal { ty, value: Value::Int(7), bare: true },
            },
            _ if self.chance(25) => self.beside(ty),
            _ => self.expr(ty, depth),
        };
        binary(op, left, right)
    }

    /// A truth value.
    fn condition(&mut self, depth: usize) -> Expr {
        use BinaryOp::*;
        match self.below(8) {
            0 | 1 => {
                let op = self.pick(&[And, Or, And, Or, Xor, BitAnd, BitOr, Eq, Ne]);
                let left = self.expr(Type::Bool, depth);
                let effects = self.effects;
                self.effects &= !matches!(op, And | Or);
                let right = self.expr(Type::Bool, depth);
                self.effects = effects;
                binary(op, left, right)
            }
            2 => Expr::Unary(UnaryOp::Not, Box::new(self.expr(Type::Bool, depth))),
            _ => {
                let ty = self.value_type();
                let op = if ty == Type::Bool {
                    self.pick(&[Eq, Ne])
                } else {
                    self.pick(&[Eq, Ne, Lt, Le, Gt, Ge])
                };
                binary(op, self.expr(ty, depth), self.expr(ty, depth))
            }
        }
    }

    fn converted(&mut self, ty: Type, depth: usize) -> Expr {
        let from = self.value_type();
        let fits = match (from.kind(), ty.kind()) {
            (_, Kind::Bool) | (Kind::Bool, Kind::Float(_)) => false,
            _ => from != ty,
        };
        if !fits {
            return self.leaf(ty);
        }
        Expr::Cast(ty, Box::new(self.expr(from, depth)))
    }

    fn unary_of(&mut self, ty: Type, depth: usize) -> Expr {
        let op = match ty.kind() {
            Kind::Bool => UnaryOp::Not,
            Kind::Float(_) => UnaryOp::Neg,
            Kind::Integer(_, true) => self.pick(&[UnaryOp::Neg, UnaryOp::Not]),
            Kind::Integer(_, false) => UnaryOp::Not,
            Kind::Index => UnaryOp::Neg,
        };
        Expr::Unary(op, Box::new(self.expr(ty, depth)))
    }

    fn math(&mut self, ty: Type, depth: usize) -> Expr {
        if ty == Type::Bool {
            return self.condition(depth);
        }
        if !ty.is_float() {
            let function = if ty.is_signed() {
                self.pick(&[Math::Min, Math::Max, Math::Abs])
            } else {
                self.pick(&[Math::Min, Math::Max])
            };
            let count = if function == Math::Abs { 1 } else { 2 };
            return Expr::Math(function, (0..count).map(|_| self.expr(ty, depth)).collect());
        }
        match self.pick(&[Math::Min, Math::Max, Math::Abs, Math::Sqrt, Math::MulAdd]) {
            function @ (Math::Min | Math::Max) => {
                // Which zero comes of two of other signs is open: adding 0.0 makes it the positive one.
                let extremum = Expr::Math(function, vec![self.expr(ty, depth), self.expr(ty, depth)]);
                let zero = Expr::Literal { ty, value: Value::Float(0.0), bare: false };
                binary(BinaryOp::Add, extremum, zero)
            }
            Math::MulAdd => Expr::Math(
                Math::MulAdd,
                vec![self.expr(ty, depth), self.expr(ty, depth), self.expr(ty, depth)],
            ),
            function => Expr::Math(function, vec![self.expr(ty, depth)]),
        }
    }

    /// `if c { .. } else { .. }` as a value.
    pub fn branches(&mut self, ty: Type, depth: usize) -> Expr {
        let condition = self.expr(Type::Bool, depth);
        let (then, otherwise) = match self.below(2) {
            0 => (self.body_or_jump(ty, depth), self.body_of(ty, depth)),
            _ => (self.body_of(ty, depth), self.body_or_jump(ty, depth)),
        };
        Expr::If(Box::new(condition), Box::new(then), Box::new(otherwise))
    }

    /// `{ k = 5; k }`
    fn with_effect(&mut self, ty: Type, depth: usize) -> Expr {
        Expr::Body(Box::new(self.body_of(ty, depth)))
    }

    /// `k * 100 + { k = 5; k }`: the left side is what it was before the right side's effect.
    pub fn overtaken(&mut self, ty: Type, depth: usize) -> Expr {
        let mutable = self.mutable();
        let own: Vec<Var> = mutable.into_iter().filter(|var| self.kernel.scalar_type(*var) == ty).collect();
        if !self.effects || own.is_empty() {
            return self.with_effect(ty, depth);
        }
        let var = self.pick(&own);
        let value = self.expr(ty, depth.min(1));
        let body = Body { statements: vec![Stmt::Assign(var, None, value)], value: Expr::Var(var) };
        let after = Expr::Body(Box::new(body));
        match (self.below(3), ty.kind()) {
            (0, _) => Expr::Select(Box::new([self.expr(Type::Bool, depth), Expr::Var(var), after])),
            (_, Kind::Bool) => {
                binary(self.pick(&[BinaryOp::Xor, BinaryOp::BitAnd, BinaryOp::And]), Expr::Var(var), after)
            }
            _ => binary(self.pick(&[BinaryOp::Add, BinaryOp::Sub]), Expr::Var(var), after),
        }
    }

    /// A block with a value, and sometimes an effect on a variable outside.
    pub fn body_of(&mut self, ty: Type, depth: usize) -> Body {
        let mark = self.scope.mark();
        let mut statements = vec![];
        if self.effects && self.chance(60) {
            for _ in 0..1 + self.below(2) {
                self.simple(&mut statements, depth.min(1));
            }
        }
        let value = self.expr(ty, depth);
        self.scope.leave(mark);
        Body { statements, value }
    }

    /// An atomic operation on an element of the thread's own row.
    pub fn atomic(&mut self, ty: Type, depth: usize) -> Expr {
        if !self.effects || !ATOMIC.contains(&ty) {
            return self.arithmetic(ty, depth);
        }
        let Some((place, at)) = self.own_element(Some(ty)) else { return self.leaf(ty) };
        use AtomicOp::{Add, And, Max, Min, Or, Xor};
        let op = self.pick(&[Add, Max, Min, And, Or, Xor]);
        let value = self.expr(ty, depth);
        Expr::Atomic(op, place, at, Box::new(value))
    }

    /// An element of the thread's own row, of a type or of any.
    pub fn own_element(&mut self, ty: Option<Type>) -> Option<(Place, Vec<Expr>)> {
        let row = self.row?;
        let fits = |elem: Type| ty.is_none_or(|ty| ty == elem);
        let views: Vec<_> =
            self.scope.views.iter().filter(|view| view.kind == KnownKind::Own).cloned().collect();
        let views: Vec<_> = views.into_iter().filter(|view| fits(view.elem) && !view.vectors).collect();
        if !views.is_empty() && self.chance(40) {
            let view = &views[self.below(views.len())];
            let at = view.extents.iter().map(|extent| self.inside(*extent)).collect();
            return Some((Place { base: Base::View(view.var), steps: vec![] }, at));
        }
        let tensors = 0..self.kernel.tensors.len();
        let own: Vec<usize> = tensors
            .filter(|number| !self.reserved.contains(number))
            .filter(|number| self.kernel.tensors[*number].mutable && fits(self.kernel.tensors[*number].elem))
            .collect();
        if own.is_empty() {
            return None;
        }
        let tensor = self.pick(&own);
        let mut at = vec![Expr::Var(row)];
        for extent in &self.kernel.shape(tensor)[1..] {
            at.push(self.coordinate(*extent));
        }
        Some((Place { base: Base::Tensor(tensor), steps: vec![] }, at))
    }

    /// An element of a type, of what may be read: inputs, the own row, views, registers.
    pub fn load(&mut self, ty: Type) -> Expr {
        if self.row.is_none() {
            return self.literal(ty);
        }
        let views: Vec<_> =
            self.scope.views.iter().filter(|view| view.elem == ty && !view.vectors).cloned().collect();
        if !views.is_empty() && self.chance(60) {
            let view = &views[self.below(views.len())];
            let at = match view.kind {
                KnownKind::Local => self.register_read(&view.extents),
                KnownKind::Own | KnownKind::Read => {
                    view.extents.iter().map(|extent| self.inside(*extent)).collect()
                }
            };
            return Expr::Load(Place { base: Base::View(view.var), steps: vec![] }, at);
        }
        if self.chance(25)
            && let Some((place, at)) = self.own_element(Some(ty))
        {
            return Expr::Load(place, at);
        }
        let tensors: Vec<usize> = (0..self.kernel.tensors.len())
            .filter(|number| !self.kernel.tensors[*number].mutable && self.kernel.tensors[*number].elem == ty)
            .collect();
        if tensors.is_empty() {
            return self.literal(ty);
        }
        let tensor = self.pick(&tensors);
        let at = self.kernel.shape(tensor).iter().map(|extent| self.coordinate(*extent)).collect();
        Expr::Load(Place { base: Base::Tensor(tensor), steps: vec![] }, at)
    }

    /// Coordinates of a register: numbers, or the variables of unrolled loops.
    pub fn register(&mut self, extents: &[i64]) -> Vec<Expr> {
        let each = |extent: &i64| {
            let inside: Vec<Var> =
                self.scope.unrolled.iter().filter(|(_, end)| end <= extent).map(|(var, _)| *var).collect();
            if !inside.is_empty() && self.chance(60) {
                let var = self.pick(&inside);
                if self.chance(30) {
                    return binary(BinaryOp::Sub, number(extent - 1), Expr::Var(var));
                }
                return Expr::Var(var);
            }
            number(self.between(0, extent - 1))
        };
        extents.iter().map(each).collect()
    }

    /// Coordinates of a register that is read: few enough are found at run time.
    fn register_read(&mut self, extents: &[i64]) -> Vec<Expr> {
        let mut at = self.register(extents);
        if extents.iter().product::<i64>() <= 64 && self.chance(25) {
            let mode = self.below(extents.len());
            at[mode] = self.inside(extents[mode]);
        }
        at
    }

    /// A call of a function with this result.
    pub fn call(&mut self, ty: Type, depth: usize) -> Expr {
        let fitting: Vec<usize> = (0..self.kernel.functions.len())
            .filter(|number| self.kernel.functions[*number].result == ty)
            .collect();
        if fitting.is_empty() {
            return if ty == Type::Index { self.index_leaf() } else { self.arithmetic(ty, depth) };
        }
        let function = self.pick(&fitting);
        let parameters = self.kernel.functions[function].parameters.clone();
        if parameters.iter().any(|var| self.kernel.references.contains(var)) {
            return self.lending_call(ty, function, depth);
        }
        let arguments =
            parameters.iter().map(|var| self.expr(self.kernel.scalar_type(*var), depth)).collect();
        Expr::Call(function, arguments)
    }
}
