//! The types of integer literals, found as rustc finds them, from their context.
//!
//! Law: a literal without a suffix gets the element type that rustc gives it, where that follows from operators,
//! assignments, branches, loops, calls and views. Where nothing follows it stays an index, as in shapes and coordinates. An
//! expression that is not understood here constrains nothing. An index alone, `x[i]`, is a coordinate where `x` is a view.

use super::structs::Structs;
use super::type_annotations::Ty;
use super::{Lowering, SmallFloats};
use crate::span::Place;
use layout_compiler::intrinsic::Intrinsic;
use layout_compiler::ir::Annotation;
use layout_compiler::ir::{
    ArgumentKind, BinaryOp, Block, ExprId, ExprKind, Format, Kernel, LocalId, Pattern, StatementKind,
    TypeRef, UnaryOp,
};
use layout_compiler::{Elem, ParamValue};
use proc_macro2::Span;
use std::collections::HashMap;

/// Elements within elements of a type that is looked into.
const MAX_DEPTH: u32 = 16;

impl Lowering<'_> {
    fn inference(&self, shallow: bool) -> Inference<'_> {
        Inference {
            kernel: &self.kernel,
            returns: &self.returns,
            structs: &self.structs,
            locals: self.written.clone(),
            known: vec![],
            literals: vec![],
            arrays: vec![],
            shifted: vec![],
            cast: vec![],
            sums: vec![],
            elements: vec![],
            done: HashMap::new(),
            shallow,
        }
    }

    /// The type of an expression, as far as it is known before the rest of the kernel is.
    pub(super) fn type_of(&self, id: ExprId) -> Ty {
        let mut inference = self.inference(true);
        let ty = inference.expr(id);
        inference.whole(&ty, MAX_DEPTH)
    }

    /// Gives the literals of the kernel their types; and what is written of floats that Rust may lack.
    pub(super) fn infer_literals(&mut self) -> SmallFloats {
        let mut inference = self.inference(false);
        inference.block(&self.kernel.body);
        // Those that nothing calls.
        for number in 0..self.kernel.functions.len() {
            inference.function(number as u32);
        }
        // Registers have an element type: where nothing says which, it is rustc's, i32.
        for elem in std::mem::take(&mut inference.arrays) {
            inference.default_to_i32(&elem, MAX_DEPTH);
        }
        // So is what was shifted, where it is converted and no index: `(1 << 31) as u64` is negative first.
        let shifted: Vec<Ty> = inference.shifted.iter().map(|ty| resolve(&inference.known, ty)).collect();
        for (_, ty) in inference.cast.clone() {
            let ty = resolve(&inference.known, &ty);
            if shifted.contains(&ty) {
                inference.default_to_i32(&ty, MAX_DEPTH);
            }
        }
        let Inference { known, literals, cast, sums, elements, .. } = inference;
        let signed = |ty: &Ty| resolve(&known, ty) == Ty::Number(TypeRef::Isize);
        let mut signed: Vec<ExprId> =
            sums.iter().filter(|(_, operands)| operands.iter().any(signed)).map(|(id, _)| *id).collect();
        let typed: Vec<(ExprId, TypeRef)> = literals
            .into_iter()
            .filter_map(|(id, variable)| match resolve(&known, &Ty::Open(variable)) {
                Ty::Number(ty @ (TypeRef::Elem(_) | TypeRef::Parameter(_))) => Some((id, ty)),
                _ => None,
            })
            .collect();
        let number = |ty: &Ty| match resolve(&known, ty) {
            Ty::Number(ty) => Some(ty),
            _ => None,
        };
        let small_floats = SmallFloats {
            literals: self.literals_of(&typed),
            casts: cast.iter().filter_map(|(id, from)| self.conversion(*id, number(from))).collect(),
        };
        for (id, ty) in typed {
            match &mut self.kernel.exprs[id.0 as usize].kind {
                ExprKind::Int(_, suffix @ None) => *suffix = Some(ty),
                // Of the others the value takes the type of what it meets.
                ExprKind::Float(_, suffix @ None) if ty == TypeRef::Elem(Elem::F64) => *suffix = Some(ty),
                _ => {}
            }
        }
        for id in elements {
            let kind = &mut self.kernel.exprs[id.0 as usize].kind;
            if let ExprKind::Element(view, at) = *kind {
                *kind = ExprKind::Index(view, vec![at]);
            }
        }
        signed.sort_unstable();
        self.kernel.signed = signed;
        small_floats
    }

    /// The literals of elements, with their places: those of a suffix, and those that have a type by inference.
    fn literals_of(&self, typed: &[(ExprId, TypeRef)]) -> Vec<(Span, TypeRef)> {
        let suffixed = self.kernel.exprs.iter().enumerate().filter_map(|(id, expr)| match expr.kind {
            ExprKind::Float(_, Some(ty)) => Some((ExprId(id as u32), ty)),
            _ => None,
        });
        let all = typed.iter().copied().chain(suffixed);
        all.map(|(id, ty)| (self.place_of(id).start, ty)).collect()
    }

    /// The place of the type of `x as T`, what `x` is, and `T`.
    fn conversion(&self, id: ExprId, from: Option<TypeRef>) -> Option<(Span, Option<TypeRef>, TypeRef)> {
        match self.kernel.exprs[id.0 as usize].kind {
            ExprKind::Cast(_, to) => Some((self.place_of(id).end, from, to)),
            _ => None,
        }
    }

    fn place_of(&self, id: ExprId) -> Place {
        let origin = self.kernel.exprs[id.0 as usize].origin;
        self.places.get(origin.0 as usize).copied().unwrap_or(self.own)
    }
}

struct Inference<'k> {
    kernel: &'k Kernel,
    /// The written type of a function's result.
    returns: &'k HashMap<u32, Ty>,
    structs: &'k Structs,
    locals: HashMap<LocalId, Ty>,
    /// What each variable represents, once it is known.
    known: Vec<Option<Ty>>,
    /// The literals, with their variables.
    literals: Vec<(ExprId, usize)>,
    /// The elements of arrays that may be assigned.
    arrays: Vec<Ty>,
    /// What is shifted to the left.
    shifted: Vec<Ty>,
    /// The conversions, with the type of what is converted.
    cast: Vec<(ExprId, Ty)>,
    /// Sums, differences, products and shifts, with their operands.
    sums: Vec<(ExprId, [Ty; 2])>,
    /// What `x[i]` is of a view.
    elements: Vec<ExprId>,
    done: HashMap<u32, Ty>,
    /// Whether the bodies of functions whose results are written are left out.
    shallow: bool,
}

/// What a type represents so far.
fn resolve(known: &[Option<Ty>], ty: &Ty) -> Ty {
    let mut ty = ty;
    while let Ty::Open(variable) = ty {
        match known.get(*variable) {
            Some(Some(next)) => ty = next,
            _ => break,
        }
    }
    ty.clone()
}

impl Inference<'_> {
    fn open(&mut self) -> Ty {
        self.known.push(None);
        Ty::Open(self.known.len() - 1)
    }

    /// A type with what is known in place of variables.
    fn whole(&self, ty: &Ty, depth: u32) -> Ty {
        let Some(depth) = depth.checked_sub(1) else { return Ty::Other };
        let of = |ty: &Ty| self.whole(ty, depth);
        match resolve(&self.known, ty) {
            Ty::View(elem) => Ty::View(Box::new(of(&elem))),
            Ty::Array(elem) => Ty::Array(Box::new(of(&elem))),
            Ty::Tuple(parts) => Ty::Tuple(parts.iter().map(of).collect()),
            Ty::Function(parts, result) => {
                Ty::Function(parts.iter().map(of).collect(), Box::new(of(&result)))
            }
            plain @ (Ty::Open(_) | Ty::Number(_) | Ty::Other) => plain,
        }
    }

    fn unify(&mut self, a: &Ty, b: &Ty) {
        self.unify_within(a, b, MAX_DEPTH);
    }

    fn unify_within(&mut self, a: &Ty, b: &Ty, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else { return };
        match (resolve(&self.known, a), resolve(&self.known, b)) {
            (Ty::Open(a), Ty::Open(b)) if a == b => {}
            // Nothing follows from `Other`; a later meeting may say more.
            (Ty::Open(_), Ty::Other) | (Ty::Other, Ty::Open(_)) => {}
            (Ty::Open(variable), ty) | (ty, Ty::Open(variable)) => self.known[variable] = Some(ty),
            (Ty::View(a), Ty::View(b)) | (Ty::Array(a), Ty::Array(b)) => self.unify_within(&a, &b, depth),
            (Ty::Tuple(a), Ty::Tuple(b)) => {
                a.iter().zip(&b).for_each(|(a, b)| self.unify_within(a, b, depth));
            }
            (Ty::Function(a, from), Ty::Function(b, to)) => {
                a.iter().zip(&b).for_each(|(a, b)| self.unify_within(a, b, depth));
                self.unify_within(&from, &to, depth);
            }
            // Two numbers that differ: rustc's to refuse, or `usize` beside `isize`, which are one here.
            _ => {}
        }
    }

    /// What is open of an array's element is rustc's default.
    fn default_to_i32(&mut self, elem: &Ty, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else { return };
        match resolve(&self.known, elem) {
            open @ Ty::Open(_) => self.unify(&open, &Ty::Number(TypeRef::Elem(Elem::I32))),
            Ty::Array(elem) => self.default_to_i32(&elem, depth),
            Ty::Tuple(parts) => parts.iter().for_each(|part| self.default_to_i32(part, depth)),
            Ty::Number(_) | Ty::View(_) | Ty::Function(..) | Ty::Other => {}
        }
    }

    /// The type of a function as a value; its body is looked through once.
    fn function(&mut self, number: u32) -> Ty {
        if let Some(known) = self.done.get(&number) {
            return known.clone();
        }
        let kernel = self.kernel;
        let Some(function) = kernel.functions.get(number as usize) else { return Ty::Other };
        let parameters: Vec<Ty> = function.parameters.iter().map(|local| self.local(*local)).collect();
        let result = match self.returns.get(&number) {
            Some(written) => written.clone(),
            None => self.open(),
        };
        let ty = Ty::Function(parameters, Box::new(result.clone()));
        self.done.insert(number, ty.clone());
        if self.shallow && self.returns.contains_key(&number) {
            return ty;
        }
        let value = self.block(&function.body);
        self.unify(&value, &result);
        ty
    }

    fn local(&mut self, local: LocalId) -> Ty {
        if let Some(known) = self.locals.get(&local) {
            return known.clone();
        }
        let open = self.open();
        self.locals.insert(local, open.clone());
        open
    }

    fn annotated(&mut self, annotation: &Annotation) -> Ty {
        match annotation {
            Annotation::Any => self.open(),
            Annotation::Type(ty) => Ty::Number(*ty),
            Annotation::Tuple(parts) => Ty::Tuple(parts.iter().map(|part| self.annotated(part)).collect()),
            Annotation::Array(of) => Ty::Array(Box::new(self.annotated(of))),
            Annotation::Mutable(of) => self.annotated(of),
        }
    }

    fn bind(&mut self, pattern: &Pattern, ty: &Ty) {
        match pattern {
            Pattern::Local(local) => {
                let own = self.local(*local);
                self.unify(&own, ty);
                if let Ty::Array(elem) = resolve(&self.known, ty)
                    && self.kernel.locals[local.0 as usize].mutable
                {
                    self.arrays.push(*elem);
                }
            }
            Pattern::Tuple(parts) => match resolve(&self.known, ty) {
                Ty::Tuple(types) => parts.iter().zip(&types).for_each(|(part, ty)| self.bind(part, ty)),
                Ty::Array(elem) => parts.iter().for_each(|part| self.bind(part, &elem)),
                _ => {}
            },
            Pattern::Wildcard => {}
        }
    }

    fn format(&mut self, format: &Format) {
        format.values.iter().for_each(|value| drop(self.expr(*value)));
    }

    fn block(&mut self, block: &Block) -> Ty {
        for statement in &block.statements {
            match &statement.kind {
                StatementKind::Let { pattern, ty, value, .. } => {
                    let mut found = self.expr(*value);
                    if *ty != Annotation::Any {
                        let written = self.annotated(ty);
                        self.unify(&found, &written);
                        found = written;
                    }
                    self.bind(pattern, &found);
                }
                StatementKind::Declare { local, ty } => {
                    let (own, written) = (self.local(*local), self.annotated(ty));
                    self.unify(&own, &written);
                }
                StatementKind::Assign { place, op, value } => {
                    let (place, value) = (self.expr(*place), self.expr(*value));
                    if !matches!(op, Some(BinaryOp::Shl | BinaryOp::Shr)) {
                        self.unify(&place, &value);
                    }
                }
                StatementKind::Expr(value) => drop(self.expr(*value)),
                StatementKind::For { local, start, end, step, body, .. } => {
                    let (start, end) = (self.expr(*start), self.expr(*end));
                    step.iter().for_each(|step| drop(self.expr(*step)));
                    self.unify(&start, &end);
                    let own = self.local(*local);
                    self.unify(&own, &start);
                    self.block(body);
                }
                StatementKind::While { condition, body } => {
                    self.expr(*condition);
                    self.block(body);
                }
                StatementKind::Print(format) => self.format(format),
                StatementKind::Assert { condition, message, .. } => {
                    self.expr(*condition);
                    self.format(message);
                }
                StatementKind::Break | StatementKind::Continue => {}
            }
        }
        block.value.map_or(Ty::Other, |value| self.expr(value))
    }

    fn exprs(&mut self, ids: &[ExprId]) -> Vec<Ty> {
        ids.iter().map(|id| self.expr(*id)).collect()
    }

    fn expr(&mut self, id: ExprId) -> Ty {
        let ty = self.expr_within(id);
        if let Some(number) = self.structs.made.get(&id) {
            self.unify(&ty, &self.structs.all[*number as usize].ty.clone());
        }
        ty
    }

    fn expr_within(&mut self, id: ExprId) -> Ty {
        let kernel = self.kernel;
        let index = Ty::Number(TypeRef::Usize);
        match &kernel.exprs[id.0 as usize].kind {
            ExprKind::Int(_, Some(ty)) | ExprKind::Float(_, Some(ty)) | ExprKind::Known(_, ty) => {
                Ty::Number(*ty)
            }
            ExprKind::Int(_, None) => {
                let open = self.open();
                if let Ty::Open(variable) = open {
                    self.literals.push((id, variable));
                }
                open
            }
            ExprKind::Float(..) => {
                let open = self.open();
                if let Ty::Open(variable) = open {
                    self.literals.push((id, variable));
                }
                open
            }
            ExprKind::Bool(_) | ExprKind::Type(_) | ExprKind::Named(_) => Ty::Other,
            ExprKind::Local(local) => self.local(*local),
            ExprKind::Parameter(number) => match kernel.parameters[*number as usize].values.first() {
                Some(ParamValue::Function(name)) => {
                    match kernel.functions.iter().position(|own| own.name == *name) {
                        Some(function) => self.function(function as u32),
                        None => Ty::Other,
                    }
                }
                _ => index,
            },
            ExprKind::Dim(_) | ExprKind::Special(..) => index,
            ExprKind::Len(array) => {
                self.expr(*array);
                index
            }
            ExprKind::Argument(number) => match &kernel.arguments[*number as usize].kind {
                ArgumentKind::Tensor { elem, .. } => Ty::View(Box::new(Ty::Number(*elem))),
                ArgumentKind::Scalar(ty) => Ty::Number(*ty),
            },
            // What is negated is no `usize`.
            ExprKind::Unary(UnaryOp::Neg, operand) => match self.expr(*operand) {
                ty if resolve(&self.known, &ty) == index => Ty::Number(TypeRef::Isize),
                ty => ty,
            },
            ExprKind::Unary(_, operand) | ExprKind::Borrow(operand) => self.expr(*operand),
            ExprKind::Binary(op, left, right) => self.binary(id, *op, *left, *right),
            ExprKind::Cast(operand, ty) => {
                let operand = self.expr(*operand);
                self.cast.push((id, operand.clone()));
                match resolve(&self.known, &operand) {
                    Ty::View(_) => Ty::View(Box::new(Ty::Number(*ty))),
                    _ => Ty::Number(*ty),
                }
            }
            ExprKind::Tuple(parts) => Ty::Tuple(self.exprs(parts)),
            ExprKind::Array(parts) => {
                let parts = self.exprs(parts);
                let elem = self.open();
                parts.iter().for_each(|part| self.unify(&elem, part));
                Ty::Array(Box::new(elem))
            }
            ExprKind::Repeat(value, count) => {
                let (value, count) = (self.expr(*value), self.expr(*count));
                self.unify(&count, &index);
                Ty::Array(Box::new(value))
            }
            ExprKind::Element(array, at) => {
                let (array, at) = (self.expr(*array), self.expr(*at));
                self.unify(&at, &index);
                self.element_of(id, &array)
            }
            ExprKind::Field(operand, number) => {
                let operand = self.expr(*operand);
                match resolve(&self.known, &operand) {
                    Ty::Tuple(parts) => parts.get(*number as usize).cloned().unwrap_or(Ty::Other),
                    _ => Ty::Other,
                }
            }
            ExprKind::Index(view, coordinates) => {
                let view = self.expr(*view);
                for coordinate in self.exprs(coordinates) {
                    self.unify(&coordinate, &index);
                }
                self.element(&view)
            }
            ExprKind::Intrinsic(intrinsic, types, arguments) => {
                let arguments = self.exprs(arguments);
                if let (true, Some(a), Some(b)) = (has_ends(*intrinsic), arguments.first(), arguments.last())
                {
                    self.sums.push((id, [a.clone(), b.clone()]));
                }
                self.word(*intrinsic, types, &arguments)
            }
            ExprKind::Call(function, arguments) => {
                let (function, arguments) = (self.function(*function), self.exprs(arguments));
                self.called(&function, &arguments)
            }
            ExprKind::Function(function) => self.function(*function),
            ExprKind::CallValue(callee, arguments) => {
                let (callee, arguments) = (self.expr(*callee), self.exprs(arguments));
                self.called(&callee, &arguments)
            }
            ExprKind::Block(block) => self.block(block),
            ExprKind::If(condition, then, otherwise) => {
                self.expr(*condition);
                let (then, otherwise) = (self.block(then), self.block(otherwise));
                self.unify(&then, &otherwise);
                if then == Ty::Other { otherwise } else { then }
            }
        }
    }

    fn binary(&mut self, id: ExprId, op: BinaryOp, left: ExprId, right: ExprId) -> Ty {
        let (left, right) = (self.expr(left), self.expr(right));
        if matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl) {
            self.sums.push((id, [left.clone(), right.clone()]));
        }
        match op {
            BinaryOp::Shl => {
                self.shifted.push(left.clone());
                left
            }
            BinaryOp::Shr => left,
            BinaryOp::And | BinaryOp::Or => Ty::Other,
            op => {
                self.unify(&left, &right);
                let isize = |ty: &Ty| resolve(&self.known, ty) == Ty::Number(TypeRef::Isize);
                match left {
                    _ if op.is_comparison() => Ty::Other,
                    Ty::Other => right,
                    _ if isize(&right) => right,
                    left => left,
                }
            }
        }
    }

    fn called(&mut self, function: &Ty, arguments: &[Ty]) -> Ty {
        match resolve(&self.known, function) {
            Ty::Function(parameters, result) => {
                parameters.iter().zip(arguments).for_each(|(own, given)| self.unify(own, given));
                *result
            }
            _ => Ty::Other,
        }
    }

    /// `x[i]`
    fn element_of(&mut self, id: ExprId, whole: &Ty) -> Ty {
        match resolve(&self.known, whole) {
            Ty::Array(elem) => *elem,
            Ty::View(elem) => {
                self.elements.push(id);
                *elem
            }
            _ => Ty::Other,
        }
    }

    fn element(&self, view: &Ty) -> Ty {
        match resolve(&self.known, view) {
            Ty::View(elem) => *elem,
            _ => Ty::Other,
        }
    }

    /// What follows from a member of the vocabulary; from one that is not named here, nothing.
    fn word(&mut self, word: Intrinsic, types: &[TypeRef], arguments: &[Ty]) -> Ty {
        let first = arguments.first().cloned().unwrap_or(Ty::Other);
        if let Intrinsic::Math(word) = word {
            let (operands, result) = word.follow_the_first();
            for (other, _) in arguments.iter().skip(1).zip(operands).filter(|(_, same)| *same) {
                self.unify(&first, other);
            }
            let known = match resolve(&self.known, &first) {
                Ty::Number(TypeRef::Elem(elem)) => Some(elem),
                _ => None,
            };
            return match word.result_of(known) {
                _ if result => first,
                Some(elem) => Ty::Number(TypeRef::Elem(elem)),
                None => Ty::Other,
            };
        }
        let index = Ty::Number(TypeRef::Usize);
        match word.name() {
            "shared" | "local" | "bitcast" => {
                Ty::View(Box::new(types.first().map_or(Ty::Other, |ty| Ty::Number(*ty))))
            }
            "tile" | "window" | "vectorize" | "distribute" | "transpose" | "permute" | "squeeze"
            | "reshape" | "slice" | "to_local" | "copy_from" | "block_scope" | "system_scope"
            | "evict_first" | "evict_last" | "no_allocate" | "map_shared_rank" => first,
            "pad" | "fill" => {
                let elem = self.element(&first);
                arguments.iter().skip(1).for_each(|value| self.unify(value, &elem));
                first
            }
            "load_relaxed" | "load_acquire" => self.element(&first),
            "store_relaxed"
            | "store_release"
            | "atomic_add"
            | "atomic_max"
            | "atomic_min"
            | "atomic_and"
            | "atomic_or"
            | "atomic_xor"
            | "atomic_exchange"
            | "atomic_compare_exchange" => {
                let elem = self.element(&first);
                arguments.iter().skip(2).for_each(|value| self.unify(value, &elem));
                elem
            }
            "div_ceil" | "wrapping_add" | "wrapping_sub" | "wrapping_mul" | "wrapping_div"
            | "wrapping_rem" | "div_euclid" | "rem_euclid" => {
                arguments.iter().skip(1).for_each(|other| self.unify(&first, other));
                first
            }
            "select" => {
                let chosen = arguments.get(1).cloned().unwrap_or(Ty::Other);
                arguments.iter().skip(2).for_each(|other| self.unify(&chosen, other));
                chosen
            }
            "shuffle" | "shuffle_up" | "shuffle_down" | "shuffle_xor" => {
                arguments.iter().skip(1).for_each(|lane| self.unify(lane, &index));
                first
            }
            "warp_sum" | "warp_max" | "warp_min" | "warp_and" | "warp_or" | "warp_xor"
            | "warp_prefix_sum" | "block_sum" | "block_max" | "block_min" | "block_prefix_sum"
            | "wrapping_shl" | "wrapping_shr" | "wrapping_neg" => first,
            "ballot" | "match_any" => Ty::Number(TypeRef::Elem(Elem::U32)),
            "lane_id" | "warp_id" | "warp_group" | "cluster_rank" | "dim" | "size_of" | "bytes" | "stage"
            | "phase" => index,
            _ => Ty::Other,
        }
    }
}

/// Whether a word's result on indices depends on the ends of their type.
fn has_ends(word: Intrinsic) -> bool {
    use Intrinsic::{WrappingAdd, WrappingMul, WrappingNeg, WrappingSub};
    matches!(word, WrappingAdd | WrappingSub | WrappingMul | WrappingNeg)
        || matches!(word, Intrinsic::Math(function) if function.saturates())
}
