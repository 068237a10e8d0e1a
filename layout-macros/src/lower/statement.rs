//! Statements and blocks.

use super::constants::constants_in_order;
use super::expression::binary_op;
use super::scope::{Binding, Found};
use super::sequence::sequence;
use super::shape::Shape;
use super::tiles::tiles;
use super::{Lowering, macros, refuse, suggest};
use crate::signature::type_ref;
use crate::span::Place;
use layout_compiler::ir::{
    Annotation, BinaryOp, Block, ExprId, ExprKind, LocalId, Pattern, Statement, StatementKind, TypeRef,
};
use proc_macro2::Ident;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{Expr, ExprForLoop, Item, Pat, RangeLimits, Stmt, Type};

/// The range of a `for`.
struct Range {
    start: ExprId,
    end: ExprId,
    closed: bool,
    step: Option<ExprId>,
    unroll: bool,
    reversed: bool,
}

/// Types of values that are no numbers, whose names say nothing that is not known.
const OPAQUE: [&str; 7] =
    ["View", "LayoutTensor", "Layout", "Mbarrier", "Mbarriers", "PipelineState", "TensorCore"];

impl Lowering<'_> {
    /// A block: its items first, as in Rust, then its statements.
    pub(super) fn block(&mut self, block: &syn::Block) -> Block {
        let mark = self.scopes.enter();
        let lowered = self.open_block(block);
        self.scopes.leave(mark);
        lowered
    }

    /// A block whose names stay in scope for the caller to leave.
    pub(super) fn open_block(&mut self, block: &syn::Block) -> Block {
        let mut out = Block::default();
        let place = Place { start: block.brace_token.span.open(), end: block.brace_token.span.close() };
        if !self.descend(place) {
            self.ascend();
            return out;
        }
        let wanted = std::mem::take(&mut self.wanted);
        let (first, mut constants) = (self.structs.templates.len(), constants_in_order(block));
        let functions = self.declare_items(block, &mut constants);
        for item in &constants {
            out.statements.extend(self.constant(item));
        }
        self.close_templates(first);
        self.define_functions(functions);
        let last = block.stmts.len().saturating_sub(1);
        for (number, statement) in block.stmts.iter().enumerate() {
            self.with_allowed(|own| match statement {
                Stmt::Local(local) => out.statements.extend(own.let_statement(local)),
                Stmt::Item(Item::Const(_) | Item::Fn(_) | Item::Struct(_) | Item::Impl(_)) => {}
                Stmt::Item(item) => {
                    let (what, help) = refuse::item(item);
                    own.errors.push(Place::of(item), format!("a kernel cannot hold {what}"), help);
                }
                Stmt::Macro(node) => {
                    own.no_attributes(&node.attrs);
                    let given = node.semi_token.is_none() && number == last && macros::has_value(&node.mac);
                    match given {
                        true => out.value = Some(own.macro_value(Place::of(node), &node.mac)),
                        false => out.statements.extend(own.macro_statement(Place::of(node), &node.mac)),
                    }
                }
                Stmt::Expr(expr, semicolon) => {
                    own.no_attributes(first_attributes(expr));
                    if semicolon.is_none() && number == last && is_value(expr) {
                        out.value = Some(own.given_as(expr, wanted.clone()));
                    } else {
                        out.statements.extend(own.expr_statement(expr));
                    }
                }
            });
        }
        self.define_instances(first);
        self.ascend();
        out
    }

    /// A statement that is an expression; a tuple assigned, or a loop with ways out, is several.
    pub(super) fn expr_statement(&mut self, expr: &Expr) -> Vec<Statement> {
        let place = Place::of_expr(expr);
        let kind = match expr {
            Expr::Assign(node) => match &*node.left {
                Expr::Tuple(parts) => return self.assign_tuple(place, parts, &node.right),
                Expr::Infer(_) => Some(StatementKind::Expr(self.expr(&node.right))),
                left => self.assign(left, None, &node.right),
            },
            Expr::Binary(node) if matches!(binary_op(&node.op), Some((_, true))) => {
                binary_op(&node.op).and_then(|(op, _)| self.assign(&node.left, Some(op), &node.right))
            }
            Expr::Binary(node) if binary_op(&node.op).is_some() => {
                let help = match binary_op(&node.op) {
                    Some((BinaryOp::Eq, _)) => "an assignment is `=`",
                    _ => "bind it, `let y = ..;`, or leave it out",
                };
                self.errors.push(
                    place,
                    format!("`{}` does nothing: its value is not used", text(expr)),
                    help,
                );
                None
            }
            Expr::ForLoop(node) => return self.for_loop(place, node),
            Expr::While(node) => {
                self.no_attributes(&node.attrs);
                if super::jumps::jumps(&node.cond) {
                    // The jump leaves from within the loop.
                    let (label, condition, body) = (&node.label, &node.cond, &node.body);
                    let whole = syn::parse_quote_spanned!(node.while_token.span=>
                        #label loop { if #condition #body else { break; } });
                    return self.endless(place, &whole).0;
                }
                let condition = self.expr(&node.cond);
                return self.loop_with(&node.label, place, &node.body, |_, body| {
                    Some(StatementKind::While { condition, body })
                });
            }
            Expr::Loop(node) => return self.endless(place, node).0,
            Expr::Break(node) => {
                let mut out = vec![];
                if let Some(value) = &node.expr {
                    out.extend(self.loop_value(place, node.label.as_ref(), value));
                }
                out.extend(self.leave(place, false, node.label.as_ref()));
                return out;
            }
            Expr::Continue(node) => return self.leave(place, true, node.label.as_ref()),
            Expr::Return(node) => return self.returned(place, node),
            Expr::Macro(node) => return self.macro_statement(place, &node.mac),
            other => Some(StatementKind::Expr(self.expr(other))),
        };
        kind.map(|kind| self.statement(place, kind)).into_iter().collect()
    }

    /// `(a, b) = (b, a);`: every value first, then the places from left to right.
    fn assign_tuple(&mut self, place: Place, parts: &syn::ExprTuple, value: &Expr) -> Vec<Statement> {
        let mut out = vec![];
        let value = self.expr(value);
        let name = Ident::new("value", place.start);
        let values: Vec<LocalId> = parts.elems.iter().map(|_| self.local(&name, false)).collect();
        let pattern = Pattern::Tuple(values.iter().map(|local| Pattern::Local(*local)).collect());
        out.push(self.bound(place, pattern, value));
        for (target, local) in parts.elems.iter().zip(values) {
            let value = self.add(place, ExprKind::Local(local));
            let kind = match target {
                Expr::Infer(_) => None,
                target => self.assign_value(target, None, value),
            };
            out.extend(kind.map(|kind| self.statement(place, kind)));
        }
        out
    }

    fn assign(&mut self, target: &Expr, op: Option<BinaryOp>, value: &Expr) -> Option<StatementKind> {
        let wanted = self.shape_of_place(target);
        let value = self.expr_as(value, wanted);
        self.assign_value(target, op, value)
    }

    fn assign_value(&mut self, target: &Expr, op: Option<BinaryOp>, value: ExprId) -> Option<StatementKind> {
        let before = self.errors.len();
        let place = self.expr(target);
        let sound = self.errors.len() == before;
        if sound && !self.through_reference(target, place) {
            return None;
        }
        let is_place = match &self.kernel.exprs[place.0 as usize].kind {
            ExprKind::Local(local_id) => {
                let local = &self.kernel.locals[local_id.0 as usize];
                if !local.mutable {
                    let name = &local.name;
                    let help = match self.counters.contains(local_id) {
                        true => format!(
                            "a `for` gives `{name}` its values: another step is `.step_by(2)`, else a `while`"
                        ),
                        false => format!("declare it as `let mut {name}`"),
                    };
                    let message = format!("`{}` is assigned and is not `mut`", local.name);
                    self.errors.push(Place::of_expr(target), message, help);
                    return None;
                }
                true
            }
            ExprKind::Index(..) => true,
            ExprKind::Element(of, _) | ExprKind::Field(of, _) => {
                let mut of = *of;
                while let ExprKind::Field(inner, _) | ExprKind::Element(inner, _) =
                    self.kernel.exprs[of.0 as usize].kind
                {
                    of = inner;
                }
                if let ExprKind::Local(local) = self.kernel.exprs[of.0 as usize].kind
                    && self.struct_of(of).is_some()
                    && !self.kernel.locals[local.0 as usize].mutable
                {
                    let name = self.kernel.locals[local.0 as usize].name.clone();
                    let help = match name.as_str() {
                        "self" => "take it as `&mut self`".to_owned(),
                        _ => format!("declare it as `let mut {name}`, or as a parameter `{name}: &mut ..`"),
                    };
                    let message = format!("a field of `{name}` is assigned and `{name}` is not `mut`");
                    self.errors.push(Place::of_expr(target), message, help);
                    return None;
                }
                matches!(self.kernel.exprs[of.0 as usize].kind, ExprKind::Local(_) | ExprKind::Argument(_))
            }
            _ => false,
        };
        if !is_place {
            if !sound {
                return None;
            }
            self.errors.push(
                Place::of_expr(target),
                match self.kernel.exprs[place.0 as usize].kind {
                    ExprKind::Dim(_) => {
                        "a dimension cannot be assigned: it is an extent of the launch's tensors"
                    }
                    ExprKind::Parameter(_) => "a parameter of the attribute cannot be assigned",
                    _ => "this cannot be assigned",
                },
                match self.kernel.exprs[place.0 as usize].kind {
                    ExprKind::Argument(number) => {
                        let name = &self.kernel.arguments[number as usize].name;
                        format!("copy it first: `let mut {name} = {name};`")
                    }
                    _ => {
                        "assign a `let mut` local, a part of a tuple, or an element: `c[[row, column]] = x;`"
                            .to_owned()
                    }
                },
            );
            return None;
        }
        if let ExprKind::Local(local) = self.kernel.exprs[place.0 as usize].kind {
            // Behind a `*` it is what a reference refers to.
            self.assigned.extend(matches!(target, Expr::Path(_)).then_some(place));
            let shape = self.shape_of(value);
            self.shaped(local, shape);
        }
        Some(StatementKind::Assign { place, op, value })
    }

    /// `let x;`
    fn declare(&mut self, place: Place, pat: &Pat, ty: Annotation) -> Option<Statement> {
        let Pat::Ident(ident) = pat else {
            self.errors.push(
                Place::of(pat),
                "a pattern without a value",
                "declare each name by itself: `let a; let b;`",
            );
            self.pattern(pat);
            return None;
        };
        // Its one value is an assignment.
        let local = self.bind(&ident.ident, true);
        Some(self.statement(place, StatementKind::Declare { local, ty }))
    }

    fn let_statement(&mut self, node: &syn::Local) -> Option<Statement> {
        // What `returns.rs` declares.
        let left = node.attrs.iter().any(|own| own.path().is_ident("left"));
        if !left {
            self.no_attributes(&node.attrs);
        }
        let place = Place { start: node.let_token.span, end: node.semi_token.span };
        let (pat, ty) = match &node.pat {
            Pat::Type(typed) => (&*typed.pat, self.annotation(&typed.ty)),
            other => (other, Annotation::Any),
        };
        let written = match &node.pat {
            Pat::Type(typed) => self.shape_of_type(&typed.ty),
            _ => Shape::Other,
        };
        let Some(init) = &node.init else {
            let declared = self.declare(place, pat, ty)?;
            if let StatementKind::Declare { local, .. } = declared.kind {
                self.shaped(local, written);
                self.kernel.locals[local.0 as usize].left = left;
            }
            return Some(declared);
        };
        if let Some((_, otherwise)) = &init.diverge {
            self.errors.push(
                Place::of(otherwise),
                "`let .. else`",
                "a kernel has no enums: write a plain `let`",
            );
        }
        if !matches!(pat, Pat::Wild(_)) && !self.has_value(pat, &init.expr) {
            self.pattern(pat);
            return None;
        }
        let value = self.given_as(&init.expr, written.clone());
        let pattern = self.pattern(pat);
        self.typed_like(&pattern, value);
        let references = self.references_in(value);
        self.refer_like(&pattern, &references);
        self.shape_like(&pattern, &written);
        let shape = self.shape_of(value);
        self.shape_like(&pattern, &shape);
        Some(self.statement(place, StatementKind::Let { pattern, ty, value, constant: false }))
    }

    /// Whether what a `let` binds is a value; what has none is refused where that is seen.
    fn has_value(&mut self, pat: &Pat, value: &Expr) -> bool {
        let (branch, alone) = match value {
            Expr::If(node) => (&node.then_branch, node.else_branch.is_none()),
            Expr::Block(node) if node.label.is_none() => (&node.block, false),
            _ => return true,
        };
        if is_value(value) {
            return true;
        }
        let name = suggest::text_of(pat);
        let (place, message, help) = match branch.stmts.last() {
            _ if alone => (
                Place::of_expr(value),
                format!("`{name}` is an `if` without `else`, which has no value"),
                "give it one, `else { .. }`, or assign: `let mut x = ..; if c { x = ..; }`".to_owned(),
            ),
            Some(Stmt::Expr(last, Some(end))) if is_value(last) => {
                let (place, text) = (Place::of_expr(last).to(Place::token(end.span)), text(last));
                (
                    place,
                    format!("`{name}` has no value: its block ends in `{text};`"),
                    format!("leave the `;` out after `{text}`"),
                )
            }
            _ => return true,
        };
        self.errors.push(place, message, help);
        false
    }

    /// What a written type says of a value; a type that the language does not have is refused.
    pub(super) fn annotation(&mut self, ty: &Type) -> Annotation {
        if let Some(ty) = self.written_type(ty) {
            return Annotation::Type(ty);
        }
        match ty {
            Type::Group(inner) => self.annotation(&inner.elem),
            Type::Paren(inner) => self.annotation(&inner.elem),
            Type::Reference(inner) => match self.annotation(&inner.elem) {
                // A view is a value that knows where its elements are.
                Annotation::Any => Annotation::Any,
                ty if inner.mutability.is_some() => Annotation::Mutable(Box::new(ty)),
                ty => ty,
            },
            Type::Tuple(tuple) if tuple.elems.is_empty() => Annotation::Any,
            Type::Tuple(tuple) => {
                Annotation::Tuple(tuple.elems.iter().map(|part| self.annotation(part)).collect())
            }
            Type::Array(array) => Annotation::Array(Box::new(self.annotation(&array.elem))),
            Type::Path(path) if path.qself.is_none() => {
                if let Some(known) = self.type_at(&path.path) {
                    return known.annotation;
                }
                let first = path.path.segments.first().map(|segment| segment.ident.to_string());
                let first = first.unwrap_or_default();
                if !OPAQUE.contains(&first.as_str()) && !self.generics.iter().any(|known| *known == first) {
                    self.no_type(ty);
                }
                Annotation::Any
            }
            // `impl Tensor`, `_`: rustc's to check.
            _ => Annotation::Any,
        }
    }

    /// The element or index type that a type names.
    pub(super) fn written_type(&mut self, ty: &Type) -> Option<TypeRef> {
        let found = self.type_named(ty);
        if let Some(ty) = found {
            self.use_type(ty);
        }
        found
    }

    /// The same, without a use of it.
    pub(super) fn type_named(&self, ty: &Type) -> Option<TypeRef> {
        if let Type::Path(path) = ty
            && let Some(name) = path.path.get_ident()
            && !self.structs.types.is_empty()
            && let Found::Binding(Binding::Type(number)) = self.scopes.find(&name.unraw().to_string())
        {
            return match self.structs.types[number as usize].annotation {
                Annotation::Type(ty) => Some(ty),
                _ => None,
            };
        }
        type_ref(ty, &self.types)
    }

    /// Binds a local from here on.
    pub(super) fn bind(&mut self, name: &Ident, mutable: bool) -> LocalId {
        self.free(name);
        let local = self.local(name, mutable);
        self.bound.push((local, name.clone()));
        self.scopes.bind(name.unraw().to_string(), Binding::Local(local));
        local
    }

    /// Refuses to bind a name that has a meaning everywhere in the kernel.
    pub(super) fn free(&mut self, name: &Ident) {
        let text = name.unraw().to_string();
        let taken = if self.kernel.parameters.iter().any(|parameter| parameter.name == text) {
            "a parameter of the attribute"
        } else if self.kernel.dims.contains(&text) {
            "a dimension"
        } else if super::name::special(&text).is_some() {
            "a word of the kernel language"
        } else {
            return;
        };
        self.errors.push(
            Place::token(name.span()),
            format!("`{text}` is {taken} and cannot be bound again"),
            "choose another name",
        );
    }

    fn for_loop(&mut self, place: Place, node: &ExprForLoop) -> Vec<Statement> {
        self.no_attributes(&node.attrs);
        if let Some(tiles) = tiles(&node.expr) {
            return self.for_tiles(place, node, &tiles);
        }
        if let Some(sequence) = sequence(&node.expr) {
            return self.for_each(place, node, &sequence);
        }
        let range = self.range(&node.expr);
        let mark = self.scopes.enter();
        let local = match &*node.pat {
            Pat::Ident(ident)
                if ident.by_ref.is_none() && ident.subpat.is_none() && ident.mutability.is_none() =>
            {
                let local = self.bind(&ident.ident, false);
                self.counters.push(local);
                local
            }
            Pat::Wild(wild) => self.local(&Ident::new("round", wild.underscore_token.span), false),
            other => {
                // Of what is no range the error is reported; the body has the names in any case.
                if range.is_some() {
                    self.errors.push(
                        Place::of(other),
                        "the variable of a `for` is one plain name",
                        "write `for i in 0..n`; it cannot be changed in the body",
                    );
                }
                self.pattern(other);
                self.local(&Ident::new("round", proc_macro2::Span::call_site()), false)
            }
        };
        let out = self.loop_with(&node.label, place, &node.body, |_, body| {
            let Range { start, end, closed, step, unroll, reversed } = range?;
            Some(StatementKind::For { local, start, end, closed, step, unroll, reversed, body })
        });
        self.scopes.leave(mark);
        out
    }

    /// `a..b`, `a..=b`, with `unroll(..)`, `.step_by(n)` and `.rev()` around it.
    fn range(&mut self, expr: &Expr) -> Option<Range> {
        match expr {
            Expr::Paren(node) => self.range(&node.expr),
            Expr::Group(node) => self.range(&node.expr),
            Expr::Range(node) => {
                let place = Place::of(node);
                let (Some(start), Some(end)) = (&node.start, &node.end) else {
                    self.errors.push(place, "the range of a `for` has both ends", "write `0..n`");
                    return None;
                };
                let start = self.expr(start);
                let end = self.expr(end);
                let closed = matches!(node.limits, RangeLimits::Closed(_));
                Some(Range { start, end, closed, step: None, unroll: false, reversed: false })
            }
            Expr::Call(node) if matches!(&*node.func, Expr::Path(path) if path.path.is_ident("unroll")) => {
                let (Some(inner), 1) = (node.args.first(), node.args.len()) else {
                    self.errors.push(
                        Place::of_expr(expr),
                        "`unroll` takes one range",
                        "write `unroll(0..BK)`",
                    );
                    return None;
                };
                self.range(inner).map(|range| Range { unroll: true, ..range })
            }
            Expr::MethodCall(node) if node.method == "rev" && node.args.is_empty() => {
                self.range(&node.receiver).map(|range| Range { reversed: !range.reversed, ..range })
            }
            Expr::MethodCall(node) if node.method == "step_by" && node.args.len() == 1 => {
                let range = self.range(&node.receiver)?;
                let step = self.expr(&node.args[0]);
                if range.step.is_some() || range.reversed {
                    let (message, help) = match range.step.is_some() {
                        true => ("`step_by` of what has a step", "write one step: `(a..b).step_by(6)`"),
                        false => (
                            "`step_by` behind `rev`",
                            "count the rounds: `for k in 0..(b - a + n - 1) / n { let i = b - 1 - k * n; .. }`; \
                             `(a..b).step_by(n).rev()` is another sequence, from the last number that `step_by` reaches",
                        ),
                    };
                    self.errors.push(Place::token(node.method.span()), message, help);
                    return None;
                }
                Some(Range { step: Some(step), ..range })
            }
            other => {
                let word = match other {
                    Expr::MethodCall(node) => node.method.to_string(),
                    _ => String::new(),
                };
                let way = match word.as_str() {
                    "filter" | "filter_map" | "skip_while" => {
                        "test it in the loop: `for i in 0..n { if i % 2 == 0 { .. } }`"
                    }
                    "map" | "inspect" | "scan" => {
                        "compute it in the loop: `for i in 0..n { let x = f(i); .. }`"
                    }
                    "skip" | "take" | "take_while" => {
                        "write the ends: `for i in a + 2..b`, and `break` where it ends earlier"
                    }
                    "chain" => "write one loop after the other",
                    "zip" => &zipped(other),
                    "chunks" | "chunks_exact" => {
                        "count them: `for k in 0..n / 2 { let (a, b) = (x[2 * k], x[2 * k + 1]); .. }`"
                    }
                    "windows" => "count them: `for k in 0..n - 1 { let (a, b) = (x[k], x[k + 1]); .. }`",
                    _ => {
                        "write `for i in 0..n`, `(0..n).step_by(2)`, `(0..n).rev()`, `unroll(0..BK)` or `for x in all`"
                    }
                };
                let message = match way.starts_with("write `for") {
                    true => "a `for` runs over a range, or over the elements of an array".to_owned(),
                    false => format!(
                        "a `for` over `.{word}(..)`: it runs over a range, or over the elements of an array"
                    ),
                };
                self.errors.push(Place::of_expr(other), message, way);
                None
            }
        }
    }
}

/// The way out of `a.iter().zip(b)`.
fn zipped(expr: &Expr) -> String {
    let both = match expr {
        Expr::MethodCall(node) if node.args.len() == 1 => {
            [iterated(&node.receiver), iterated(&node.args[0])].map(text)
        }
        _ => ["x", "y"].map(str::to_owned),
    };
    let [x, y] = if both.iter().any(|one| one.contains("..")) { ["x", "y"].map(str::to_owned) } else { both };
    format!("take both by one index: `for i in 0..{x}.len() {{ let (a, b) = ({x}[i], {y}[i]); .. }}`")
}

/// What an iterator runs over: `x` of `x.iter()`, `&x`.
fn iterated(expr: &Expr) -> &Expr {
    match expr {
        Expr::Reference(node) => iterated(&node.expr),
        Expr::Paren(node) => iterated(&node.expr),
        Expr::MethodCall(node) if node.method.to_string().contains("iter") || node.method == "copied" => {
            iterated(&node.receiver)
        }
        other => other,
    }
}

/// Whether a block's last expression is the block's value; a loop, an assignment or an `if` of statements is not.
pub(super) fn is_value(expr: &Expr) -> bool {
    match expr {
        Expr::ForLoop(_) | Expr::While(_) | Expr::Assign(_) => false,
        Expr::Macro(node) => macros::has_value(&node.mac),
        Expr::Loop(node) => super::jumps::has_value(node),
        Expr::Break(_) | Expr::Continue(_) | Expr::Return(_) => false,
        Expr::Tuple(node) if node.elems.is_empty() => false,
        Expr::Binary(node) => !matches!(binary_op(&node.op), Some((_, true))),
        Expr::If(node) => match &node.else_branch {
            None => false,
            Some((_, otherwise)) => block_has_value(&node.then_branch) || is_value(otherwise),
        },
        Expr::Match(node) => node.arms.iter().any(|arm| is_value(&arm.body)),
        Expr::Block(node) => {
            block_has_value(&node.block) || node.label.is_some() && super::jumps::gives_value(&node.block)
        }
        Expr::Paren(node) => is_value(&node.expr),
        Expr::Group(node) => is_value(&node.expr),
        _ => true,
    }
}

fn block_has_value(block: &syn::Block) -> bool {
    matches!(block.stmts.last(), Some(Stmt::Expr(expr, None)) if is_value(expr))
}

/// The text of a condition as it is written.
pub(super) fn text(expr: &Expr) -> String {
    let mut out = String::new();
    for part in expr.to_token_stream().to_string().split_whitespace() {
        let called = out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let tight = part.starts_with([')', ']', ',', '.', ';']) || (called && part.starts_with(['(', '[']));
        if !tight && !out.is_empty() && !out.ends_with(['(', '[', '.', '!']) {
            out.push(' ');
        }
        out.push_str(part);
    }
    out
}

/// The attributes of a statement that is an expression: they are of its first operand. Loops, blocks and closures look at
/// theirs themselves.
fn first_attributes(expr: &Expr) -> &[syn::Attribute] {
    match expr {
        Expr::Assign(node) => first_attributes(&node.left),
        Expr::Binary(node) => first_attributes(&node.left),
        Expr::Cast(node) => first_attributes(&node.expr),
        Expr::MethodCall(node) => &node.attrs,
        Expr::Index(node) => &node.attrs,
        Expr::Call(node) => &node.attrs,
        Expr::If(node) => &node.attrs,
        Expr::Path(node) => &node.attrs,
        Expr::Unary(node) => &node.attrs,
        _ => &[],
    }
}
