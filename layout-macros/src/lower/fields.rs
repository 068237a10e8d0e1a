//! What is done with structs: literals, fields, methods.
//!
//! Law: a literal evaluates its fields in the order in which they are written, and then what `..` takes the rest of, as Rust
//! does.

use super::expression::binary_op;
use super::shape::Shape;
use super::structs::{Member, Struct};
use super::{Lowering, suggest};
use crate::span::Place;
use layout_compiler::intrinsic::{Form, Intrinsic};
use layout_compiler::ir::{Block, ExprId, ExprKind, Pattern, Statement};
use proc_macro2::{Ident, Span};
use quote::format_ident;
use syn::ext::IdentExt;
use syn::{Expr, ExprMethodCall, ExprStruct, Member as FieldName, Path};

/// The name of a field, or its number.
pub(super) fn text_of(name: &FieldName) -> String {
    match name {
        FieldName::Named(name) => name.unraw().to_string(),
        FieldName::Unnamed(number) => number.index.to_string(),
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

impl Struct {
    pub(super) fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|known| known == name)
    }

    /// Whether it has a function of this name.
    pub(super) fn has_method(&self, name: &str) -> bool {
        matches!(self.members.get(name), Some(Member::Function(_) | Member::Open { function: true, .. }))
    }

    /// What to write instead of a field that is none.
    pub(super) fn near(&self, name: &str) -> String {
        match suggest::nearest(name, self.fields.iter().map(String::as_str)) {
            Some(near) => format!("is `{near}` meant?"),
            None if self.has_method(name) => format!("it is a method: `.{name}(..)`"),
            None if self.fields.is_empty() => format!("`{}` has no fields", self.name),
            None => format!("the fields of `{}` are {}", self.name, quoted(&self.fields)),
        }
    }
}

impl Lowering<'_> {
    /// Whether an expression only reads, so that it may be evaluated earlier or later.
    fn only_reads(&self, expr: &Expr) -> bool {
        let reads = |expr: &Expr| self.only_reads(expr);
        match expr {
            Expr::Lit(_) | Expr::Path(_) => true,
            Expr::Paren(node) => reads(&node.expr),
            Expr::Group(node) => reads(&node.expr),
            Expr::Field(node) => reads(&node.base),
            Expr::Unary(node) => reads(&node.expr),
            Expr::Cast(node) => reads(&node.expr),
            Expr::Binary(node) => {
                matches!(binary_op(&node.op), Some((_, false))) && reads(&node.left) && reads(&node.right)
            }
            Expr::Index(node) => reads(&node.expr) && reads(&node.index),
            Expr::Array(node) => node.elems.iter().all(reads),
            Expr::Tuple(node) => node.elems.iter().all(reads),
            Expr::Repeat(node) => reads(&node.expr) && reads(&node.len),
            Expr::Struct(node) => {
                node.fields.iter().all(|field| reads(&field.expr)) && node.rest.as_deref().is_none_or(reads)
            }
            Expr::Call(node) => match &*node.func {
                Expr::Path(path) if path.path.segments.len() == 1 => {
                    let name = &path.path.segments[0].ident;
                    self.struct_named(name).is_some() && node.args.iter().all(reads)
                }
                _ => false,
            },
            _ => false,
        }
    }

    pub(super) fn no_struct(&mut self, path: &Path) -> ExprId {
        self.refuse(
            Place::of(path),
            format!("cannot find the struct `{}` in this kernel", suggest::text_of(path)),
            "write the `struct` inside of the kernel, or beside it in a module under `#[tiled_kernels]`: a macro sees nothing of \
             the program around its item",
        )
    }

    /// `Point { x: 1.0, y, ..base }`
    pub(super) fn struct_literal(&mut self, expr: &Expr, node: &ExprStruct, wanted: &Shape) -> ExprId {
        let place = Place::of_expr(expr);
        let Some(number) = self.struct_at(&node.path).filter(|_| node.qself.is_none()) else {
            return self.no_struct(&node.path);
        };
        let own = &self.structs.all[number as usize];
        let mut order: Vec<usize> = vec![];
        for field in &node.fields {
            let name = text_of(&field.member);
            let Some(found) = own.field(&name) else {
                let (message, help) = (format!("`{}` has no field `{name}`", own.name), own.near(&name));
                return self.refuse(Place::of(&field.member), message, help);
            };
            order.push(found);
        }
        let missing: Vec<usize> = (0..own.fields.len()).filter(|number| !order.contains(number)).collect();
        if node.rest.is_none() && !missing.is_empty() {
            let names: Vec<String> = missing.iter().map(|number| own.fields[*number].clone()).collect();
            let message = format!("a `{}` without {}", own.name, quoted(&names));
            let help = format!("write `{}: ..`, or take the rest of another one: `..other`", names[0]);
            return self.refuse(Place::of(&node.path), message, help);
        }
        // Two values of one field are rustc's error.
        let (mut parts, known) = (vec![None; own.fields.len()], self.expected(number, wanted));
        let sorted = order.is_sorted() && node.rest.is_none();
        let free = node.fields.iter().all(|field| self.only_reads(&field.expr));
        let mut before = vec![];
        for (field, number) in node.fields.iter().zip(order) {
            let wanted = self.shape_of_field(known, number);
            let value = self.given_as(&field.expr, wanted);
            parts[number] = Some(match sorted || free {
                true => value,
                false => self.before(&mut before, &text_of(&field.member), value, place),
            });
        }
        let mut wanted = wanted.clone();
        if let Some(rest) = &node.rest {
            let whole = self.rest(rest, known, &mut parts, &mut before);
            if wanted == Shape::Other {
                wanted = self.shape_of(whole);
            }
        }
        let number = match self.settle_literal(known, &wanted, &parts, Place::of(&node.path)) {
            Ok(number) => number,
            Err(refused) => return refused,
        };
        let parts = parts.into_iter().map(|part| part.unwrap_or_else(|| self.nothing(place))).collect();
        self.made(place, number, parts, before)
    }

    /// The fields that a literal takes of another value.
    fn rest(
        &mut self,
        rest: &Expr,
        number: u32,
        parts: &mut [Option<ExprId>],
        before: &mut Vec<Statement>,
    ) -> ExprId {
        let place = Place::of_expr(rest);
        let value = self.expr_as(rest, Shape::Struct(number));
        if self.template_at(number).is_none() {
            self.structs.made.insert(value, number);
        }
        let whole = match self.is_place(value) && self.only_reads(rest) {
            true => None,
            false => Some(self.before(before, "rest", value, place)),
        };
        for (field, part) in parts.iter_mut().enumerate().filter(|(_, part)| part.is_none()) {
            // Each use of a place is an expression of its own.
            let of = match whole {
                Some(local) => self.add(place, self.kernel.exprs[local.0 as usize].kind.clone()),
                None => self.expr(rest),
            };
            *part = Some(self.add(place, ExprKind::Field(of, field as u32)));
        }
        value
    }

    /// Names a value where it is evaluated.
    fn before(&mut self, before: &mut Vec<Statement>, name: &str, value: ExprId, place: Place) -> ExprId {
        let local = self.local(&field_name(name, place.start), false);
        let statement = self.bound(place, Pattern::Local(local), value);
        before.push(statement);
        self.add(place, ExprKind::Local(local))
    }

    fn made(&mut self, place: Place, number: u32, parts: Vec<ExprId>, before: Vec<Statement>) -> ExprId {
        let tuple = self.add(place, ExprKind::Tuple(parts));
        self.structs.made.insert(tuple, number);
        match before.is_empty() {
            true => tuple,
            false => self.add(place, ExprKind::Block(Block { statements: before, value: Some(tuple) })),
        }
    }

    /// `Point(1.0, 2.0)`
    pub(super) fn tuple_struct(
        &mut self,
        place: Place,
        number: u32,
        arguments: &[&Expr],
        wanted: &Shape,
    ) -> ExprId {
        let own = &self.structs.all[number as usize];
        let (count, name) = (own.fields.len(), own.name.clone());
        if own.named {
            let help = format!("write `{name} {{ {} }}`", own.fields.join(": .., ") + ": ..");
            return self.refuse(place, format!("the fields of `{name}` have names"), help);
        }
        if arguments.len() != count {
            let message = format!("`{name}` has {count} fields, {} were given", arguments.len());
            return self.refuse(place, message, "give one value for each field");
        }
        let known = self.expected(number, wanted);
        let mut parts = vec![];
        for (number, argument) in arguments.iter().enumerate() {
            let wanted = self.shape_of_field(known, number);
            parts.push(Some(self.given_as(argument, wanted)));
        }
        match self.settle_literal(known, wanted, &parts, place) {
            Ok(number) => self.made(place, number, parts.into_iter().flatten().collect(), vec![]),
            Err(refused) => refused,
        }
    }

    /// The struct that a literal is of, as far as that is known before its fields are.
    fn expected(&self, number: u32, wanted: &Shape) -> u32 {
        let template = self.template_at(number);
        match wanted {
            Shape::Struct(own) if template.is_some_and(|of| self.arguments_of(wanted, of).is_some()) => *own,
            _ => number,
        }
    }

    /// A struct's name as a value: one without fields.
    pub(super) fn unit_struct(&mut self, place: Place, number: u32, wanted: &Shape) -> ExprId {
        let own = &self.structs.all[number as usize];
        if own.fields.is_empty() {
            return match self.settle_literal(number, wanted, &[], place) {
                Ok(number) => self.made(place, number, vec![], vec![]),
                Err(refused) => refused,
            };
        }
        let (name, form) = (&own.name, if own.named { " { .. }" } else { "(..)" });
        let (message, help) = (format!("`{name}` is a struct"), format!("give its fields: `{name}{form}`"));
        self.refuse(place, message, help)
    }

    /// `value.name` of a struct; `None` where no struct of the kernel has anything to do with it.
    pub(super) fn struct_field(&mut self, place: Place, base: &Expr, name: &Ident) -> Option<ExprId> {
        let text = name.unraw().to_string();
        let any = self.structs.all.iter().any(|known| known.field(&text).is_some());
        if self.structs.all.is_empty() || !any && !matches!(base, Expr::Path(_) | Expr::Field(_)) {
            return None;
        }
        let before = self.errors.len();
        let id = self.expr(base);
        if self.errors.len() > before {
            return Some(id);
        }
        let known = self.struct_of(id);
        let number = match known.or_else(|| self.structs.only(|known| known.field(&text).is_some())) {
            Some(number) => number,
            None if any => return Some(self.which_struct(Place::token(name.span()), base, &text)),
            None => return None,
        };
        let own = &self.structs.all[number as usize];
        let Some(field) = own.field(&text) else {
            let (message, help) = (format!("`{}` has no field `{text}`", own.name), own.near(&text));
            return Some(self.refuse(Place::token(name.span()), message, help));
        };
        self.decided(id, number);
        Some(self.add(place, ExprKind::Field(id, field as u32)))
    }

    fn which_struct(&mut self, place: Place, base: &Expr, name: &str) -> ExprId {
        let having = |own: &Struct| own.field(name).is_some() || own.has_method(name);
        let mut found: Vec<String> = vec![];
        for number in (0..self.structs.all.len()).filter(|number| having(&self.structs.all[*number])) {
            let named = self.impl_of(number as u32);
            // Each instance by its declaration.
            if !found.contains(&named) {
                found.push(named);
            }
        }
        let having = found;
        if having.len() == 1 && !self.errors.is_empty() {
            return self.nothing(place);
        }
        let base = suggest::text_of(base);
        let plain = base.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        let (of, bound) = if plain { (base.as_str(), base.as_str()) } else { ("this", "value") };
        self.refuse(
            place,
            format!("which struct `{of}` is, of {}, is not known here", quoted(&having)),
            format!("annotate the type: `let {bound}: {} = ..`, `|{bound}: &{}| ..`", having[0], having[0]),
        )
    }

    /// `value.name(..)` of a struct, or the receiver where it is none; `None` where no struct has such a method.
    pub(super) fn struct_method(
        &mut self,
        place: Place,
        node: &ExprMethodCall,
    ) -> Option<Result<ExprId, ExprId>> {
        let text = node.method.unraw().to_string();
        let any = self.structs.all.iter().any(|known| known.has_method(&text));
        // What is derived.
        let cloned = text == "clone" && node.args.is_empty() && !self.structs.all.is_empty();
        if !any && !cloned {
            return None;
        }
        let receiver = self.expr(&node.receiver);
        let known = self.struct_of(receiver);
        if !any {
            return known.map(|_| Ok(receiver));
        }
        let short = matches!(text.as_str(), "len" | "swap" | "sin_cos" | "cast");
        let word = short || Intrinsic::from_name(&text, Form::Method).is_some();
        let alone = || self.structs.only(|known| known.has_method(&text)).filter(|_| !word);
        let number = match known.or_else(alone) {
            Some(number) => number,
            None if word => return Some(Err(receiver)),
            None => {
                return Some(Ok(self.which_struct(Place::token(node.method.span()), &node.receiver, &text)));
            }
        };
        let own = &self.structs.all[number as usize];
        if !own.has_method(&text) {
            let message = format!("`{}` has no method `{text}`", own.name);
            return Some(Ok(self.refuse(
                Place::token(node.method.span()),
                message,
                self.other_member(number, &text),
            )));
        }
        let function = match self.member(number, &node.method) {
            Ok(Member::Function(function)) => function,
            Ok(_) => return Some(Ok(self.nothing(place))),
            Err(refused) => return Some(Ok(refused)),
        };
        self.decided(receiver, number);
        let first = self.kernel.functions[function as usize].parameters.first();
        let mutable = first.is_some_and(|own| self.refers_whole(*own));
        let receiver = match mutable && self.is_place(receiver) {
            true => self.add(Place::of_expr(&node.receiver), ExprKind::Borrow(receiver)),
            false => receiver,
        };
        let mut arguments = vec![receiver];
        for (at, argument) in node.args.iter().enumerate() {
            let wanted = self.shape_of_parameter(function, at + 1);
            arguments.push(self.given_as(argument, wanted));
        }
        Some(Ok(self.apply(place, &node.method, function, arguments, 1)))
    }

    /// What to write instead of a function or a constant that a struct does not have.
    fn other_member(&self, number: u32, name: &str) -> String {
        let own = &self.structs.all[number as usize];
        match suggest::nearest(name, own.members.keys().map(String::as_str)) {
            Some(near) => format!("is `{near}` meant?"),
            None => format!("write it in a block of the struct: `impl {} {{ .. }}`", self.impl_of(number)),
        }
    }

    /// `Point::new`, `Self::SIZE`: what the name is.
    pub(super) fn member(&mut self, number: u32, name: &Ident) -> Result<Member, ExprId> {
        let own = &self.structs.all[number as usize];
        let text = name.unraw().to_string();
        match own.members.get(&text).copied() {
            Some(Member::Open { block, item, .. }) => {
                let place = Place::token(name.span());
                match self.open_member(number, block, item, place) {
                    Some(member) => Ok(member),
                    None => Err(self.without_arguments(number, name)),
                }
            }
            Some(member) => Ok(member),
            None => {
                let message = format!("`{}` has no function and no constant `{text}`", own.name);
                let help = self.other_member(number, &text);
                Err(self.refuse(Place::token(name.span()), message, help))
            }
        }
    }
}

/// The name of a local for a field; a numbered one gets a letter in front.
fn field_name(name: &str, span: Span) -> Ident {
    match name.starts_with(|first: char| first.is_ascii_digit()) {
        true => format_ident!("part_{name}", span = span),
        false => Ident::new(name, span),
    }
}
