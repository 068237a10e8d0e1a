//! Expressions: literals, operators, tuples, arrays, indexing, `if` and blocks.

use super::name::special;
use super::scope::Found;
use super::shape::Shape;
use super::statement::text;
use super::{Lowering, refuse, suggest};
use crate::signature::elements;
use crate::span::Place;
use layout_compiler::intrinsic::{Form, Intrinsic};
use layout_compiler::ir::{BinaryOp, Block, ExprId, ExprKind, TypeRef, UnaryOp};
use layout_compiler::{Constant, Elem};
use syn::{BinOp, Expr, ExprField, ExprIf, ExprIndex, ExprLit, Lit, Member, Type, UnOp};

impl Lowering<'_> {
    /// An expression; where it is an error, what represents it.
    pub(super) fn expr(&mut self, expr: &Expr) -> ExprId {
        let wanted = std::mem::take(&mut self.wanted);
        if !self.descend(Place::of_expr(expr)) {
            self.ascend();
            return self.nothing(Place::of_expr(expr));
        }
        let id = self.expr_within(expr, wanted);
        self.ascend();
        id
    }

    /// `wanted` is what is known of the place that the value is for.
    fn expr_within(&mut self, expr: &Expr, wanted: Shape) -> ExprId {
        match expr {
            Expr::Lit(node) => self.literal(node),
            Expr::Path(node) => self.path(node, &wanted),
            Expr::Paren(node) => self.expr_as(&node.expr, wanted),
            Expr::Group(node) => self.expr_as(&node.expr, wanted),
            Expr::Reference(node) => self.reference(expr, node, wanted),
            Expr::Unary(node) => match &node.op {
                UnOp::Deref(_) => self.dereference(expr, &node.expr),
                UnOp::Neg(_) => self.unary(expr, UnaryOp::Neg, &node.expr),
                UnOp::Not(_) => self.unary(expr, UnaryOp::Not, &node.expr),
                _ => self.refuse(Place::of(expr), "this operator", "the prefix operators are `-` and `!`"),
            },
            Expr::Binary(node) => match binary_op(&node.op) {
                Some((op, false)) => {
                    if let Some((other, _)) = nan(node).filter(|_| matches!(op, BinaryOp::Eq | BinaryOp::Ne))
                    {
                        let (value, not) = if op == BinaryOp::Eq { ("false", "") } else { ("true", "!") };
                        return self.refuse(
                            Place::of_expr(expr),
                            format!(
                                "`{}` is always {value}: NaN equals no number, not even NaN",
                                text(expr).replace(" :: ", "::")
                            ),
                            format!("write `{not}{}.is_nan()`", text(other)),
                        );
                    }
                    let (left, right) = (self.expr(&node.left), self.expr(&node.right));
                    self.add(Place::of_expr(expr), ExprKind::Binary(op, left, right))
                }
                _ => self.refuse(
                    Place::of_expr(expr),
                    "an assignment is no value",
                    "assign in a statement of its own",
                ),
            },
            Expr::Cast(node) => match self.written_type(&node.ty) {
                Some(ty) => {
                    let operand = self.expr(&node.expr);
                    self.add(Place::of(expr), ExprKind::Cast(operand, ty))
                }
                None => self.no_type(&node.ty),
            },
            Expr::Tuple(node) => {
                let parts: Vec<ExprId> = node
                    .elems
                    .iter()
                    .enumerate()
                    .map(|(at, part)| self.given_as(part, self.part(&wanted, at)))
                    .collect();
                self.add(Place::of_expr(expr), ExprKind::Tuple(parts))
            }
            Expr::Array(node) => {
                let mut wanted = self.part(&wanted, 0);
                let mut parts: Vec<ExprId> = vec![];
                for part in &node.elems {
                    parts.push(self.expr_as(part, wanted.clone()));
                    if wanted == Shape::Other {
                        wanted = self.shape_of(parts[0]);
                    }
                }
                self.add(Place::of_expr(expr), ExprKind::Array(parts))
            }
            Expr::Repeat(node) => {
                let value = self.expr_as(&node.expr, self.part(&wanted, 0));
                let count = self.expr(&node.len);
                self.add(Place::of_expr(expr), ExprKind::Repeat(value, count))
            }
            Expr::Field(node) => self.field(expr, node),
            Expr::Index(node) => self.index(expr, node),
            Expr::Call(node) => self.call(expr, node, &wanted),
            Expr::MethodCall(node) => self.method(expr, node),
            Expr::Block(node) => {
                self.no_attributes(&node.attrs);
                self.wanted = wanted;
                let block = match node.label {
                    None => self.block(&node.block),
                    Some(_) => self.labelled(Place::of_expr(expr), node),
                };
                self.add(Place::of_expr(expr), ExprKind::Block(block))
            }
            Expr::Loop(node) => {
                let place = Place::of_expr(expr);
                let (statements, value) = self.endless(place, node);
                let value = value.map(|local| self.add(place, ExprKind::Local(local)));
                self.add(place, ExprKind::Block(Block { statements, value }))
            }
            Expr::If(node) => self.if_else(expr, node, &wanted),
            Expr::Match(node) => self.match_expr(expr, node, &wanted),
            Expr::Closure(node) => self.closure(expr, node),
            Expr::Struct(node) => self.struct_literal(expr, node, &wanted),
            Expr::Macro(node) => self.macro_value(Place::of_expr(expr), &node.mac),
            other => {
                let (what, help) = refuse::expression(other);
                self.refuse(Place::of(other), format!("the kernel language does not have {what}"), help)
            }
        }
    }

    fn unary(&mut self, expr: &Expr, op: UnaryOp, operand: &Expr) -> ExprId {
        if let (UnaryOp::Neg, Some(number)) = (op, negative_integer(operand)) {
            return self.add(Place::of(expr), number);
        }
        let operand = self.expr(operand);
        self.add(Place::of(expr), ExprKind::Unary(op, operand))
    }

    /// Refuses what is where an element type or an index type belongs.
    pub(super) fn no_type(&mut self, ty: &Type) -> ExprId {
        self.refuse(
            Place::of(ty),
            format!("`{}` is no element type and no index type", suggest::text_of(ty)),
            suggest::type_advice(&suggest::text_of(ty)).map_or_else(
                || {
                    format!(
                        "the types are {}, usize, isize, the kernel's type parameters, and structs inside of the kernel or beside it \
                         in a module under `#[tiled_kernels]`",
                        elements()
                    )
                },
                str::to_owned,
            ),
        )
    }

    fn literal(&mut self, node: &ExprLit) -> ExprId {
        let place = Place::token(node.lit.span());
        match &node.lit {
            Lit::Bool(value) => self.add(place, ExprKind::Bool(value.value)),
            Lit::Int(value) => {
                let suffix = match suffix(value.suffix()) {
                    Ok(suffix) => suffix,
                    Err(()) => return self.wrong_suffix(place, value.suffix()),
                };
                match (value.base10_parse::<i128>(), suffix) {
                    (Ok(number), Some(TypeRef::Elem(elem))) if elem.is_float() => {
                        self.add(place, ExprKind::Float((number as f64).to_bits(), suffix))
                    }
                    (Ok(number), _) if fits(number, suffix) => self.add(place, ExprKind::Int(number, suffix)),
                    (Ok(number), Some(TypeRef::Elem(elem))) => {
                        let (least, most) = elem.limits();
                        self.refuse(
                            place,
                            format!("{number} does not fit {elem}"),
                            format!("its numbers are {least} to {most}: take a wider type"),
                        )
                    }
                    (_, suffix) => {
                        let most = if suffix.is_some() { i64::MAX as u64 } else { u64::MAX };
                        self.refuse(
                            place,
                            format!("{} is beyond the integers of a kernel", value.base10_digits()),
                            format!("the largest is {most}"),
                        )
                    }
                }
            }
            Lit::Float(value) => {
                let suffix = match suffix(value.suffix()) {
                    Ok(suffix) => suffix,
                    Err(()) => return self.wrong_suffix(place, value.suffix()),
                };
                match value.base10_parse::<f64>() {
                    Ok(number) if number.is_finite() => {
                        self.add(place, ExprKind::Float(number.to_bits(), suffix))
                    }
                    _ => self.refuse(
                        place,
                        format!("{} is beyond the doubles", value.base10_digits()),
                        "infinity is `f32::INFINITY` or `f64::INFINITY`",
                    ),
                }
            }
            Lit::Byte(value) => {
                self.add(place, ExprKind::Int(value.value().into(), Some(TypeRef::Elem(Elem::U8))))
            }
            Lit::Str(_) | Lit::ByteStr(_) | Lit::CStr(_) | Lit::Char(_) => self.refuse(
                place,
                "a kernel has no text",
                "numbers and truth values are the literals; the text of an `assert!` is its second argument",
            ),
            _ => {
                self.refuse(place, "a kernel does not have this literal", "write a number, `true` or `false`")
            }
        }
    }

    fn wrong_suffix(&mut self, place: Place, suffix: &str) -> ExprId {
        self.refuse(
            place,
            format!("`{suffix}` is no type of the kernel language"),
            "the suffixes are f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, usize and isize",
        )
    }

    fn field(&mut self, expr: &Expr, node: &ExprField) -> ExprId {
        let place = Place::of(expr);
        if let (Expr::Path(base), Member::Named(axis)) = (&*node.base, &node.member)
            && let Some(special) = base.path.get_ident().and_then(|name| special(&name.to_string()))
        {
            return match ["x", "y", "z"].iter().position(|known| axis == known) {
                Some(axis) => match self.absent_axis(place, special, axis) {
                    Some(refused) => refused,
                    None => self.add(place, ExprKind::Special(special, axis as u32)),
                },
                None => self.refuse(
                    Place::token(axis.span()),
                    format!("there is no axis `{axis}`"),
                    "the axes are `x`, `y` and `z`",
                ),
            };
        }
        match &node.member {
            Member::Unnamed(number) => {
                let operand = self.expr(&node.base);
                self.add(place, ExprKind::Field(operand, number.index))
            }
            Member::Named(name) => {
                if let Some(found) = self.struct_field(place, &node.base, name) {
                    return found;
                }
                let base = match &*node.base {
                    Expr::Path(base) => base.path.get_ident().map(ToString::to_string),
                    _ => None,
                };
                if let Expr::Call(call) = &*node.base
                    && let Expr::Path(called) = &*call.func
                    && let Some(place) =
                        called.path.get_ident().filter(|place| special(&place.to_string()).is_some())
                {
                    return self.refuse(
                        Place::of_expr(&node.base),
                        format!("`{place}` is no function"),
                        format!("it is a field without brackets: `{place}.{name}`"),
                    );
                }
                let base = base.unwrap_or_default();
                let text = name.to_string();
                let other = suggest::place(&base).map(|own| format!("it is `{own}.{text}` here"));
                let other = other.or_else(|| suggest::advice(&base).map(str::to_owned));
                if let Some(way) = other.filter(|_| matches!(self.scopes.find(&base), Found::Nothing)) {
                    return self.refuse(
                        Place::of_expr(&node.base),
                        format!("cannot find `{base}` in this kernel"),
                        way,
                    );
                }
                if let Some(root) = super::name::root(&node.base)
                    && matches!(self.scopes.find(&root.to_string()), Found::Nothing)
                    && special(&root.to_string()).is_none()
                {
                    return self.unknown(root);
                }
                let help = if let Some(way) = suggest::advice(&text) {
                    way.to_owned()
                } else if Intrinsic::from_name(&text, Form::Method).is_some() && text != "dim" {
                    format!("it is a method: `{}`", suggest::called(&text))
                } else if text == "dim" {
                    "the extent of a mode is `x.dim(0)`".to_owned()
                } else {
                    "fields are of `thread_idx`, `block_idx`, `block_dim`, `grid_dim` (`.x`), of tuples (`.0`), and of the kernel's structs"
                        .to_owned()
                };
                self.refuse(
                    Place::token(name.span()),
                    format!("there is no field `{name}` in a kernel"),
                    help,
                )
            }
        }
    }

    fn index(&mut self, expr: &Expr, node: &ExprIndex) -> ExprId {
        let coordinates = match &*node.index {
            Expr::Array(array) => &array.elems,
            Expr::Tuple(tuple) if tuple.elems.len() > 1 => {
                let (tensor, at) = (suggest::text_of(&node.expr), suggest::text_of(&tuple.elems));
                return self.refuse(
                    Place::of_expr(&node.index),
                    "the coordinates of an element in round brackets",
                    format!("write `{tensor}[[{at}]]`", at = at.replace(" ,", ",")),
                );
            }
            // Of an array, not of a tensor.
            Expr::Range(range) => {
                let array = self.expr(&node.expr);
                let place = Place::of_expr(&node.index);
                if matches!(self.kernel.exprs[array.0 as usize].kind, ExprKind::Argument(_)) {
                    return self.range_of_elements(place);
                }
                let name = text(&node.expr);
                let start = range.start.as_ref().map_or("0".to_owned(), |start| text(start));
                let end = range.end.as_ref().map_or(format!("{name}.len()"), |end| text(end));
                let equal = if matches!(range.limits, syn::RangeLimits::Closed(_)) { "=" } else { "" };
                return self.refuse(
                    place,
                    format!("a range of indices of `{name}`"),
                    format!(
                        "of an array count its elements, `for k in {start}..{equal}{end} {{ .. {name}[k] .. }}`; a part of a tensor is \
                         `{name}.tile([4], [k])`, `{name}.slice(row)`"
                    ),
                );
            }
            other => {
                let (array, at) = (self.expr(&node.expr), self.expr(other));
                return self.add(Place::of_expr(expr), ExprKind::Element(array, at));
            }
        };
        let view = self.expr(&node.expr);
        if let Some(range) = coordinates.iter().find(|coordinate| matches!(coordinate, Expr::Range(_))) {
            return self.range_of_elements(Place::of_expr(range));
        }
        for (mode, coordinate) in coordinates.iter().enumerate() {
            if let Expr::Unary(syn::ExprUnary { op: UnOp::Neg(_), expr: number, .. }) = coordinate
                && let Some(ExprKind::Int(number, None)) = negative_integer(number)
            {
                let name = text(&node.expr);
                return self.refuse(
                    Place::of_expr(coordinate),
                    format!("element {number} in mode {mode} of `{name}`"),
                    format!("coordinates count from 0: the last one is `{name}.dim({mode}) - 1`, a neighbour `i - 1` where `i > 0`"),
                );
            }
        }
        let coordinates = coordinates.iter().map(|coordinate| self.expr(coordinate)).collect();
        self.add(Place::of_expr(expr), ExprKind::Index(view, coordinates))
    }

    fn range_of_elements(&mut self, place: Place) -> ExprId {
        self.refuse(
            place,
            "a range among the coordinates of an element",
            "a part of a tensor is a view: `x.tile([1, 4], [row, 0])`, `x.window([1, 4], [row, 2])`, `x.slice(row)`",
        )
    }

    fn if_else(&mut self, expr: &Expr, node: &ExprIf, wanted: &Shape) -> ExprId {
        self.no_attributes(&node.attrs);
        let condition = self.expr(&node.cond);
        let then = match &*node.cond {
            // Refused above; its block has names that its pattern binds.
            Expr::Let(_) => Block::default(),
            _ => self.block_as(&node.then_branch, wanted),
        };
        let otherwise = match &node.else_branch {
            None => Block::default(),
            Some((_, branch)) => match &**branch {
                Expr::Block(block) => self.block_as(&block.block, wanted),
                other => Block { statements: vec![], value: Some(self.given_as(other, wanted.clone())) },
            },
        };
        self.add(Place::of_expr(expr), ExprKind::If(condition, then, otherwise))
    }
}

/// Whether an integer fits the type of its suffix; without one, some type of the language.
fn fits(number: i128, suffix: Option<TypeRef>) -> bool {
    match suffix {
        None => (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&number),
        Some(TypeRef::Elem(elem)) => Constant::integer(elem, number).is_some(),
        Some(TypeRef::Usize | TypeRef::Isize | TypeRef::Parameter(_)) => i64::try_from(number).is_ok(),
    }
}

/// A negative integer literal: one number, of the type that its place asks for.
fn negative_integer(operand: &Expr) -> Option<ExprKind> {
    let Expr::Lit(ExprLit { lit: Lit::Int(value), .. }) = operand else { return None };
    let suffix = suffix(value.suffix()).ok()?;
    let number = value.base10_parse::<i128>().ok()?;
    let is_float = matches!(suffix, Some(TypeRef::Elem(elem)) if elem.is_float());
    (!is_float && suffix != Some(TypeRef::Usize) && fits(-number, suffix))
        .then_some(ExprKind::Int(-number, suffix))
}

/// What is compared with NaN, and the NaN.
fn nan(node: &syn::ExprBinary) -> Option<(&Expr, &Expr)> {
    let is_nan = |expr: &Expr| matches!(expr, Expr::Path(path) if path.path.segments.len() > 1 && path.path.segments.last().is_some_and(|last| last.ident == "NAN"));
    let (left, right) = (&*node.left, &*node.right);
    if is_nan(right) { Some((left, right)) } else { is_nan(left).then_some((right, left)) }
}

/// The type of a literal's suffix; `Err` where it is none of the language.
fn suffix(text: &str) -> Result<Option<TypeRef>, ()> {
    match text {
        "" => Ok(None),
        "usize" => Ok(Some(TypeRef::Usize)),
        "isize" => Ok(Some(TypeRef::Isize)),
        "e4m3" | "e5m2" | "bool" => Err(()),
        other => Elem::from_name(other).map(|elem| Some(TypeRef::Elem(elem))).ok_or(()),
    }
}

/// The operator, and whether it assigns.
pub fn binary_op(op: &BinOp) -> Option<(BinaryOp, bool)> {
    Some(match op {
        BinOp::Add(_) => (BinaryOp::Add, false),
        BinOp::Sub(_) => (BinaryOp::Sub, false),
        BinOp::Mul(_) => (BinaryOp::Mul, false),
        BinOp::Div(_) => (BinaryOp::Div, false),
        BinOp::Rem(_) => (BinaryOp::Rem, false),
        BinOp::And(_) => (BinaryOp::And, false),
        BinOp::Or(_) => (BinaryOp::Or, false),
        BinOp::BitXor(_) => (BinaryOp::BitXor, false),
        BinOp::BitAnd(_) => (BinaryOp::BitAnd, false),
        BinOp::BitOr(_) => (BinaryOp::BitOr, false),
        BinOp::Shl(_) => (BinaryOp::Shl, false),
        BinOp::Shr(_) => (BinaryOp::Shr, false),
        BinOp::Eq(_) => (BinaryOp::Eq, false),
        BinOp::Lt(_) => (BinaryOp::Lt, false),
        BinOp::Le(_) => (BinaryOp::Le, false),
        BinOp::Ne(_) => (BinaryOp::Ne, false),
        BinOp::Ge(_) => (BinaryOp::Ge, false),
        BinOp::Gt(_) => (BinaryOp::Gt, false),
        BinOp::AddAssign(_) => (BinaryOp::Add, true),
        BinOp::SubAssign(_) => (BinaryOp::Sub, true),
        BinOp::MulAssign(_) => (BinaryOp::Mul, true),
        BinOp::DivAssign(_) => (BinaryOp::Div, true),
        BinOp::RemAssign(_) => (BinaryOp::Rem, true),
        BinOp::BitXorAssign(_) => (BinaryOp::BitXor, true),
        BinOp::BitAndAssign(_) => (BinaryOp::BitAnd, true),
        BinOp::BitOrAssign(_) => (BinaryOp::BitOr, true),
        BinOp::ShlAssign(_) => (BinaryOp::Shl, true),
        BinOp::ShrAssign(_) => (BinaryOp::Shr, true),
        _ => return None,
    })
}
