//! Functions as values: closures, names of nested functions, and calls of what they are bound to.
//!
//! Law: a closure is a nested function that sees the names and the variables around it. An assignment in it changes the
//! variable where the closure is.

use super::Lowering;
use super::reference::{References, references_of};
use super::statement::is_value;
use crate::returns::holds_return;
use crate::span::Place;
use layout_compiler::ir::{Annotation, Block, ExprId, ExprKind, Function, LocalId, Pattern, Statement};
use proc_macro2::Ident;
use syn::{Expr, ExprCall, ExprClosure, Pat, Type};

impl Lowering<'_> {
    /// `|a, b| a + b`
    pub(super) fn closure(&mut self, expr: &Expr, node: &ExprClosure) -> ExprId {
        let place = Place::of(expr);
        self.no_attributes(&node.attrs);
        if let Some(word) = &node.capture {
            return self.refuse(
                Place::of(word),
                "a closure that moves what it sees",
                "leave `move` out: a closure of a kernel is inlined where it is called, within the code around it",
            );
        }
        let number = self.kernel.functions.len() as u32;
        let name = "closure".to_owned();
        let (types, result) = (vec![], Annotation::Any);
        self.kernel.functions.push(Function {
            name,
            parameters: vec![],
            types,
            type_sources: vec![],
            result,
            body: Block::default(),
        });
        let mark = self.scopes.enter();
        let around = std::mem::take(&mut self.around);
        let types = node.inputs.iter().map(|input| match input {
            Pat::Type(typed) => self.annotation(&typed.ty),
            _ => Annotation::Any,
        });
        let types: Vec<Annotation> = types.collect();
        let mut apart = vec![];
        let parameters =
            node.inputs.iter().map(|input| self.closure_parameter(input, None, &mut apart)).collect();
        let mut body = match &*node.body {
            Expr::Block(block) if block.label.is_none() => self.function_body(&block.block),
            body if holds_return(body) => {
                let within: syn::Block = syn::parse_quote!({ #body });
                self.function_body(&within)
            }
            body if is_value(body) => Block { statements: vec![], value: Some(self.given(body)) },
            body => Block { statements: self.expr_statement(body), value: None },
        };
        body.statements.splice(0..0, apart);
        self.around = around;
        self.scopes.leave(mark);
        let function = &mut self.kernel.functions[number as usize];
        (function.parameters, function.types, function.body) = (parameters, types, body);
        self.add(place, ExprKind::Function(number))
    }

    fn closure_parameter(&mut self, input: &Pat, ty: Option<&Type>, apart: &mut Vec<Statement>) -> LocalId {
        let local = match input {
            Pat::Type(typed) => return self.closure_parameter(&typed.pat, Some(&typed.ty), apart),
            Pat::Ident(ident) if ident.by_ref.is_none() && ident.subpat.is_none() => {
                self.bind(&ident.ident, ident.mutability.is_some())
            }
            Pat::Wild(wild) => self.local(&Ident::new("unused", wild.underscore_token.span), false),
            Pat::Tuple(_) | Pat::Struct(_) | Pat::TupleStruct(_) => {
                self.local(&Ident::new("parameter", Place::of(input).start), false)
            }
            other => {
                self.errors.push(
                    Place::of(other),
                    "a parameter of a closure is a name, a tuple or a struct",
                    "take it apart in its body: `|pair| pair.0 + pair.1`",
                );
                self.local(&Ident::new("parameter", proc_macro2::Span::call_site()), false)
            }
        };
        let references = ty.map_or(References::None, references_of);
        self.refer_like(&Pattern::Local(local), &references);
        if let Some(ty) = ty {
            let written = self.written_type_of(ty, None);
            self.written.insert(local, written);
            let shape = self.shape_of_type(ty);
            self.shaped(local, shape);
        }
        if matches!(input, Pat::Tuple(_) | Pat::Struct(_) | Pat::TupleStruct(_)) {
            // In front of the body.
            let place = Place::of(input);
            let value = self.add(place, ExprKind::Local(local));
            let value =
                if references == References::None { value } else { self.add(place, ExprKind::Borrow(value)) };
            let pattern = self.pattern(input);
            self.refer_like(&pattern, &references);
            apart.push(self.bound(place, pattern, value));
        }
        local
    }

    /// A call of a value that is a function.
    pub(super) fn call_value(&mut self, place: Place, callee: &Expr, node: &ExprCall) -> ExprId {
        let callee = self.expr(callee);
        let arguments = node.args.iter().map(|argument| self.given(argument)).collect();
        self.add(place, ExprKind::CallValue(callee, arguments))
    }
}
