//! Arguments of generic structs that are not written: `Ring::new()`, `Pair { a: x, b: y }`.
//!
//! Law: they follow from the type that the place of the value has, or from the types of the values that the struct is made of,
//! as far as these are known where the struct is. Otherwise the struct is refused, and its arguments are to be written.

use super::arguments::{Argument, Known, What, arguments_at, name_of, of_block, parameters};
use super::constants::names;
use super::scope::{Binding, Found};
use super::shape::Shape;
use super::type_annotations::Ty;
use super::{Lowering, fields};
use crate::span::Place;
use layout_compiler::ir::{Annotation, Block, ExprId, ExprKind, Pattern, TypeRef};
use proc_macro2::Ident;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{Expr, GenericArgument, ImplItem, Type, TypeParamBound, UnOp};

/// What is known of a value.
pub(super) struct Value {
    pub ty: Ty,
    pub shape: Shape,
    pub id: Option<ExprId>,
}

/// Parameters by their names, as far as they are known.
pub(super) struct Inferred<'n> {
    names: Vec<&'n Ident>,
    pub arguments: Vec<Option<Argument>>,
}

impl Lowering<'_> {
    /// Lowers a value whose place has this shape.
    pub(super) fn expr_as(&mut self, expr: &Expr, wanted: Shape) -> ExprId {
        self.wanted = wanted;
        self.expr(expr)
    }

    /// The same of a value that is handed on.
    pub(super) fn given_as(&mut self, expr: &Expr, wanted: Shape) -> ExprId {
        self.wanted = wanted;
        self.given(expr)
    }

    /// The same of a block's value.
    pub(super) fn block_as(&mut self, block: &syn::Block, wanted: &Shape) -> Block {
        self.wanted = wanted.clone();
        self.block(block)
    }

    /// The struct of a literal: of its own where it has no arguments to be inferred.
    pub(super) fn settle_literal(
        &mut self,
        number: u32,
        wanted: &Shape,
        parts: &[Option<ExprId>],
        place: Place,
    ) -> Result<u32, ExprId> {
        let Some(template) = self.template_at(number) else { return Ok(number) };
        let item = self.structs.templates[template as usize].item.clone();
        let types = item.fields.iter().map(|field| &field.ty);
        let given = types.zip(parts).filter_map(|(ty, part)| Some((ty, (*part)?)));
        let names = parameters(&item.generics).collect();
        self.settle(number, wanted, names, given.collect(), place)
    }

    /// The struct whose function is called, by the arguments of the function.
    pub(super) fn settle_call(
        &mut self,
        number: u32,
        wanted: &Shape,
        (block, item): (u32, u32),
        given: &[ExprId],
        place: Place,
    ) -> Result<u32, ExprId> {
        let Some(template) = self.template_at(number) else { return Ok(number) };
        let block = self.structs.templates[template as usize].block(block);
        let names = of_block(&block).collect();
        let ImplItem::Fn(method) = &block.items[item as usize] else { return Ok(number) };
        let own = &block.self_ty;
        let types = method.sig.inputs.iter().map(|input| match input {
            syn::FnArg::Typed(typed) => &*typed.ty,
            syn::FnArg::Receiver(_) => own,
        });
        let given = types.zip(given.iter().copied()).collect();
        self.settle(number, wanted, names, given, place)
    }

    fn settle(
        &mut self,
        number: u32,
        wanted: &Shape,
        names: Vec<&Ident>,
        given: Vec<(&Type, ExprId)>,
        place: Place,
    ) -> Result<u32, ExprId> {
        let Some(template) = self.template_at(number) else { return Ok(number) };
        if self.arguments_of(wanted, template).is_some()
            && let Shape::Struct(wanted) = wanted
        {
            return Ok(*wanted);
        }
        let mut found = Inferred::of(names);
        for (ty, id) in given {
            let value = Value { ty: self.type_of(id), shape: self.shape_of(id), id: Some(id) };
            self.match_type(ty, value, &mut found);
        }
        let open = found.arguments.iter().position(Option::is_none);
        let Some(open) = open else {
            let arguments = found.arguments.into_iter().flatten().collect();
            return match self.instance(number, arguments, place) {
                Some(number) => Ok(number),
                None => Err(self.nothing(place)),
            };
        };
        if !self.errors.is_empty() {
            // It may follow from what is refused.
            return Err(self.nothing(place));
        }
        let (name, own) = (found.names[open].to_string(), self.structs.all[number as usize].name.clone());
        let all = found.names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        Err(self.refuse(
            place,
            format!("which `{name}` this `{own}` has is not known here"),
            format!("write it, `{own}::<{all}>`, or the type of the place that it is for: `let name: {own}<{all}> = ..`"),
        ))
    }

    /// Takes from a value what its type says of the parameters.
    pub(super) fn match_type(&mut self, ty: &Type, value: Value, found: &mut Inferred<'_>) {
        match ty {
            Type::Group(inner) => self.match_type(&inner.elem, value, found),
            Type::Paren(inner) => self.match_type(&inner.elem, value, found),
            Type::Reference(inner) => self.match_type(&inner.elem, value, found),
            Type::Array(array) => {
                let (length, first) = self.length(value.id);
                if let (Expr::Path(path), Some(length)) = (&array.len, length)
                    && let Some(name) = path.path.get_ident()
                {
                    found.set(name, length);
                }
                let ty = if let Ty::Array(of) = value.ty { *of } else { Ty::Other };
                let shape = if let Shape::Array(of) = value.shape { *of } else { Shape::Other };
                self.match_type(&array.elem, Value { ty, shape, id: first }, found);
            }
            Type::Tuple(tuple) => {
                for (place, part) in tuple.elems.iter().enumerate() {
                    let ty = match &value.ty {
                        Ty::Tuple(parts) => parts.get(place).cloned().unwrap_or(Ty::Other),
                        _ => Ty::Other,
                    };
                    let shape = match &value.shape {
                        Shape::Tuple(parts) => parts.get(place).cloned().unwrap_or(Shape::Other),
                        _ => Shape::Other,
                    };
                    let id = value.id.and_then(|id| match &self.kernel.exprs[id.0 as usize].kind {
                        ExprKind::Tuple(parts) => parts.get(place).copied(),
                        _ => None,
                    });
                    self.match_type(part, Value { ty, shape, id }, found);
                }
            }
            Type::ImplTrait(bounds) => {
                let arguments = bounds.bounds.iter().filter_map(|bound| match bound {
                    TypeParamBound::Trait(bound) => arguments_at(&bound.path),
                    _ => None,
                });
                for argument in arguments.flat_map(|all| &all.args) {
                    if let (GenericArgument::AssocType(elem), Ty::View(of)) = (argument, &value.ty)
                        && elem.ident == "Elem"
                    {
                        let value = Value { ty: (**of).clone(), shape: Shape::Other, id: None };
                        self.match_type(&elem.ty, value, found);
                    }
                }
            }
            Type::Path(path) if path.qself.is_none() => self.match_path(&path.path, value, found),
            _ => {}
        }
    }

    fn match_path(&mut self, path: &syn::Path, value: Value, found: &mut Inferred<'_>) {
        let Some(given) = arguments_at(path) else {
            if let Some(name) = path.get_ident()
                && let Some((known, text)) = self.known(&value.ty, &value.shape)
            {
                found.set(name, Argument { what: What::Type(known), text });
            }
            return;
        };
        let named = path.segments.first().and_then(|first| self.struct_named(&first.ident));
        let Some(template) = named.and_then(|number| self.template_at(number)) else {
            if let (Some(GenericArgument::Type(elem)), Ty::View(of)) = (given.args.first(), value.ty) {
                self.match_type(elem, Value { ty: *of, shape: Shape::Other, id: None }, found);
            }
            return;
        };
        let Some(arguments) = self.arguments_of(&value.shape, template).map(<[Argument]>::to_vec) else {
            return;
        };
        for (own, argument) in given.args.iter().zip(arguments) {
            match (own, &argument.what) {
                (own, _) if name_of(own).is_some_and(|name| found.names.contains(&name)) => {
                    name_of(own).into_iter().for_each(|name| found.set(name, argument.clone()));
                }
                (GenericArgument::Type(ty), What::Type(known)) => {
                    let value = Value { ty: known.ty.clone(), shape: known.shape.clone(), id: None };
                    self.match_type(ty, value, found);
                }
                _ => {}
            }
        }
    }

    /// How many elements an array that is written out has, and its first one.
    fn length(&mut self, id: Option<ExprId>) -> (Option<Argument>, Option<ExprId>) {
        let Some(id) = id else { return (None, None) };
        let expr = &self.kernel.exprs[id.0 as usize];
        let (kind, origin) = (expr.kind.clone(), expr.origin);
        match kind {
            ExprKind::Repeat(value, count) => {
                (Some(Argument { what: What::Value(count), text: "_".to_owned() }), Some(value))
            }
            ExprKind::Array(parts) => {
                let place = self.places[origin.0 as usize];
                let count = self.add(place, ExprKind::Int(parts.len() as i128, None));
                let text = parts.len().to_string();
                (Some(Argument { what: What::Value(count), text }), parts.first().copied())
            }
            _ => (None, None),
        }
    }

    /// A type that follows from a value, and its text; `None` where something of it is open.
    fn known(&self, ty: &Ty, shape: &Shape) -> Option<(Known, String)> {
        if let Shape::Struct(number) = shape {
            let own = &self.structs.all[*number as usize];
            let known =
                Known { annotation: own.annotation.clone(), ty: own.ty.clone(), shape: shape.clone() };
            return Some((known, own.name.clone()));
        }
        let (annotation, text) = match ty {
            Ty::Number(ty) => (Annotation::Type(*ty), self.name_of_type(*ty)),
            Ty::View(of) => (Annotation::Any, format!("View<{}, _>", self.known(of, &Shape::Other)?.1)),
            Ty::Function(..) => (Annotation::Any, "_".to_owned()),
            Ty::Array(of) => {
                let shape = if let Shape::Array(shape) = shape { &**shape } else { &Shape::Other };
                let (known, text) = self.known(of, shape)?;
                (Annotation::Array(Box::new(known.annotation)), format!("[{text}; _]"))
            }
            Ty::Tuple(parts) => {
                let shape = |at: usize| match shape {
                    Shape::Tuple(parts) => parts.get(at).unwrap_or(&Shape::Other),
                    _ => &Shape::Other,
                };
                let parts = parts.iter().enumerate().map(|(at, part)| self.known(part, shape(at)));
                let parts: Vec<(Known, String)> = parts.collect::<Option<_>>()?;
                let texts: Vec<String> = parts.iter().map(|(_, text)| text.clone()).collect();
                let parts = parts.into_iter().map(|(known, _)| known.annotation).collect();
                (Annotation::Tuple(parts), format!("({})", texts.join(", ")))
            }
            Ty::Open(_) | Ty::Other => return None,
        };
        Some((Known { annotation, ty: ty.clone(), shape: shape.clone() }, text))
    }

    fn name_of_type(&self, ty: TypeRef) -> String {
        match ty {
            TypeRef::Elem(elem) => elem.name().to_owned(),
            TypeRef::Usize => "usize".to_owned(),
            TypeRef::Isize => "isize".to_owned(),
            TypeRef::Parameter(number) => {
                self.types.get(number as usize).map_or_else(|| "_".to_owned(), ToString::to_string)
            }
        }
    }

    /// What is known of a place before it is lowered.
    pub(super) fn shape_of_place(&self, place: &Expr) -> Shape {
        match place {
            Expr::Paren(node) => self.shape_of_place(&node.expr),
            Expr::Group(node) => self.shape_of_place(&node.expr),
            Expr::Unary(node) if matches!(node.op, UnOp::Deref(_)) => self.shape_of_place(&node.expr),
            Expr::Index(node) => match self.shape_of_place(&node.expr) {
                Shape::Array(element) => *element,
                _ => Shape::Other,
            },
            Expr::Field(node) => {
                let whole = self.shape_of_place(&node.base);
                let name = fields::text_of(&node.member);
                let at = match &whole {
                    Shape::Struct(number) => self.structs.all[*number as usize].field(&name),
                    _ => name.parse().ok(),
                };
                at.map_or(Shape::Other, |at| self.part(&whole, at))
            }
            Expr::Path(node) => {
                match node.path.get_ident().map(|name| self.scopes.find(&name.unraw().to_string())) {
                    Some(Found::Binding(Binding::Local(local))) => {
                        self.structs.locals.get(&local).cloned().unwrap_or(Shape::Other)
                    }
                    _ => Shape::Other,
                }
            }
            _ => Shape::Other,
        }
    }

    /// What a field is; of a declaration without arguments where its type names no parameter.
    pub(super) fn shape_of_field(&mut self, number: u32, field: usize) -> Shape {
        let Some(template) = self.template_at(number) else {
            return self.part(&Shape::Struct(number), field);
        };
        let item = self.structs.templates[template as usize].item.clone();
        let Some(field) = item.fields.iter().nth(field) else { return Shape::Other };
        let open = parameters(&item.generics).any(|own| names(field.ty.to_token_stream(), own));
        match open {
            true => Shape::Other,
            false => self.within(template, vec![], None, |this| this.shape_of_type(&field.ty)),
        }
    }

    /// What a parameter of a function is.
    pub(super) fn shape_of_parameter(&self, function: u32, place: usize) -> Shape {
        let local = self.kernel.functions[function as usize].parameters.get(place);
        local.and_then(|local| self.structs.locals.get(local)).cloned().unwrap_or(Shape::Other)
    }

    /// Keeps the types of what a `let` binds, where arguments may follow from them.
    pub(super) fn typed_like(&mut self, pattern: &Pattern, value: ExprId) {
        if self.structs.templates.is_empty() {
            return;
        }
        let ty = self.type_of(value);
        self.typed(pattern, &ty);
    }

    fn typed(&mut self, pattern: &Pattern, ty: &Ty) {
        match (pattern, ty) {
            (Pattern::Local(local), ty) if ty.is_closed() => {
                self.written.entry(*local).or_insert_with(|| ty.clone());
            }
            (Pattern::Tuple(parts), Ty::Tuple(types)) => {
                parts.iter().zip(types).for_each(|(part, ty)| self.typed(part, ty));
            }
            _ => {}
        }
    }
}

impl<'n> Inferred<'n> {
    /// Parameters of which nothing is known.
    pub(super) fn of(names: Vec<&'n Ident>) -> Inferred<'n> {
        let arguments = vec![None; names.len()];
        Inferred { names, arguments }
    }

    /// Whether the parameter of this name has no argument yet.
    pub(super) fn is_open(&self, name: &Ident) -> bool {
        let own = self.names.iter().zip(&self.arguments);
        own.into_iter().any(|(known, argument)| *known == name && argument.is_none())
    }

    fn set(&mut self, name: &Ident, argument: Argument) {
        let own = self.names.iter().position(|known| *known == name);
        if let Some(open @ None) = own.map(|own| &mut self.arguments[own]) {
            *open = Some(argument);
        }
    }
}
