//! Calls: the vocabulary, and the nested functions.

use super::scope::{Binding, Found};
use super::shape::Shape;
use super::structs::Member;
use super::{Lowering, suggest};
use crate::span::Place;
use layout_compiler::intrinsic::{Form, Intrinsic};
use layout_compiler::ir::{ArgumentKind, ExprId, ExprKind, TypeRef};
use layout_compiler::{Elem, Known};
use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::{AngleBracketedGenericArguments, Expr, ExprCall, ExprMethodCall, GenericArgument, PathArguments};

impl Lowering<'_> {
    /// `name(..)`, `name::<T>(..)`.
    pub(super) fn call(&mut self, expr: &Expr, node: &ExprCall, wanted: &Shape) -> ExprId {
        let place = Place::of_expr(expr);
        if let Some(found) = self.of_a_type(place, node) {
            return found;
        }
        let path = match &*node.func {
            // `(|x| x + 1)(y)`
            Expr::Paren(inner) => return self.call_value(place, &inner.expr, node),
            Expr::Path(path) if path.qself.is_none() && path.path.segments.len() == 1 => {
                if let Some(number) = self.struct_at(&path.path) {
                    let arguments = node.args.iter().collect::<Vec<_>>();
                    return self.tuple_struct(place, number, &arguments, wanted);
                }
                &path.path.segments[0]
            }
            Expr::Path(path) => match self.member_at(&path.path) {
                Some((number, name)) => return self.call_member(place, (number, name), node, wanted),
                None => return self.no_path(node),
            },
            _ => return self.no_path(node),
        };
        let (name, text) = (&path.ident, path.ident.unraw().to_string());
        if let Found::Binding(Binding::Function(number)) = self.scopes.find(&text) {
            return self.call_function(place, name, number, node);
        }
        if let Found::Binding(Binding::Generic(template)) = self.scopes.find(&text) {
            return self.call_generic(place, (template, path), node, wanted);
        }
        let local = matches!(self.scopes.find(&text), Found::Binding(Binding::Local(_)));
        if local || self.kernel.parameters.iter().any(|parameter| parameter.name == text) {
            return self.call_value(place, &node.func, node);
        }
        let function = Intrinsic::from_name(&text, Form::Function);
        let Some(intrinsic) =
            function.or_else(|| Intrinsic::from_name(&text, Form::Method).filter(|word| word.is_free()))
        else {
            return self.no_function(name);
        };
        let turbofish = match &path.arguments {
            PathArguments::AngleBracketed(arguments) => Some(arguments),
            _ => None,
        };
        let types = self.types_of(intrinsic, name, turbofish);
        let arguments: Vec<ExprId> = node.args.iter().map(|argument| self.expr(argument)).collect();
        self.intrinsic((place, name), intrinsic, types, arguments, 0)
    }

    /// `f32::from_bits(x)`, and `f32::max(a, b)` for `a.max(b)`.
    fn of_a_type(&mut self, place: Place, node: &ExprCall) -> Option<ExprId> {
        let Expr::Path(path) = &*node.func else { return None };
        let [ty, name] = path.path.segments.iter().collect::<Vec<_>>()[..] else { return None };
        let written =
            syn::Type::Path(syn::TypePath { attrs: vec![], qself: None, path: ty.ident.clone().into() });
        let ty = self.type_named(&written).filter(|_| path.qself.is_none())?;
        let (text, name) = (name.ident.unraw().to_string(), &name.ident);
        let associated = Intrinsic::from_name(&text, Form::Associated);
        let Some(word) = associated.or_else(|| Intrinsic::from_name(&text, Form::Method)) else {
            return Some(self.no_method(name, None));
        };
        self.use_type(ty);
        let zero = associated.map(|_| self.add(place, ExprKind::Known(Known::Zero, ty)));
        let arguments = node.args.iter().map(|argument| self.expr(argument)).collect::<Vec<_>>();
        let arguments = zero.into_iter().chain(arguments).collect();
        Some(self.intrinsic((place, name), word, vec![], arguments, usize::from(associated.is_some())))
    }

    /// `receiver.name(..)`
    pub(super) fn method(&mut self, expr: &Expr, node: &ExprMethodCall) -> ExprId {
        let (place, text) = (Place::of_expr(expr), node.method.to_string());
        let receiver = match self.struct_method(place, node) {
            Some(Ok(found)) => return found,
            Some(Err(receiver)) => Some(receiver),
            None => None,
        };
        if text == "cast" {
            return self.cast(place, node);
        }
        if matches!(text.as_str(), "step_by" | "rev") {
            return self.refuse(
                Place::token(node.method.span()),
                format!("`{text}` belongs to the range of a `for`"),
                "write `for i in (0..n).step_by(2)` or `for i in (0..n).rev()`",
            );
        }
        let Some(intrinsic) = Intrinsic::from_name(&text, Form::Method) else {
            return match self.short_for(place, node) {
                Some(found) => found,
                None => self.no_method(&node.method, Some(&node.receiver)),
            };
        };
        let types = self.types_of(intrinsic, &node.method, node.turbofish.as_ref());
        let mut arguments = vec![receiver.unwrap_or_else(|| self.expr(&node.receiver))];
        arguments.extend(node.args.iter().map(|argument| self.expr(argument)).collect::<Vec<ExprId>>());
        self.intrinsic((place, &node.method), intrinsic, types, arguments, 1)
    }

    /// A word with its arguments; the first ones, `receiver` of them, are before its brackets.
    fn intrinsic(
        &mut self,
        (place, name): (Place, &Ident),
        intrinsic: Intrinsic,
        types: Vec<TypeRef>,
        arguments: Vec<ExprId>,
        receiver: usize,
    ) -> ExprId {
        let (least, most) = intrinsic.arity();
        if arguments.len() < least || arguments.len() > most {
            let takes = if least == most {
                counted(least - receiver)
            } else {
                format!("{} to {}", least - receiver, counted(most - receiver))
            };
            return self.refuse(
                Place::token(name.span()),
                format!("`{name}` takes {takes}, {} given", were(arguments.len() - receiver)),
                match suggest::advice(intrinsic.name()) {
                    Some(way) => way.to_owned(),
                    None if matches!(intrinsic, Intrinsic::Math(_)) => {
                        format!("it is `{}`", suggest::called(intrinsic.name()))
                    }
                    None => format!("it is {}", intrinsic.summary().trim_end_matches('.')),
                },
            );
        }
        self.add(place, ExprKind::Intrinsic(intrinsic, types, arguments))
    }

    /// The types between `::<` and `>`: one for `shared` and `local`, else none.
    fn types_of(
        &mut self,
        intrinsic: Intrinsic,
        name: &Ident,
        turbofish: Option<&AngleBracketedGenericArguments>,
    ) -> Vec<TypeRef> {
        let takes_type = matches!(
            intrinsic,
            Intrinsic::Shared
                | Intrinsic::Local
                | Intrinsic::Bitcast
                | Intrinsic::SizeOf
                | Intrinsic::MmaAtom
                | Intrinsic::AccumulatorOf
                | Intrinsic::TensorMemory
        );
        match turbofish {
            None if takes_type => {
                self.errors.push(
                    Place::token(name.span()),
                    format!("`{name}` needs its element type"),
                    format!("write `{name}::<f32>(..)`"),
                );
                vec![]
            }
            None => vec![],
            Some(arguments) if !takes_type => {
                self.errors.push(
                    Place::of(arguments),
                    format!("`{name}` takes no type"),
                    "leave the brackets out; a conversion is `.cast::<f32>()`",
                );
                vec![]
            }
            Some(arguments) => self.one_type(arguments).into_iter().collect(),
        }
    }

    fn one_type(&mut self, arguments: &AngleBracketedGenericArguments) -> Option<TypeRef> {
        match arguments.args.first() {
            Some(GenericArgument::Type(ty)) if arguments.args.len() == 1 => {
                let found = self.written_type(ty);
                if found.is_none() {
                    self.no_type(ty);
                }
                found
            }
            _ => {
                self.errors.push(
                    Place::of(arguments),
                    "one element type is wanted here",
                    "write it between the brackets: `::<f32>`",
                );
                None
            }
        }
    }

    fn cast(&mut self, place: Place, node: &ExprMethodCall) -> ExprId {
        let ty = node.turbofish.as_ref().and_then(|arguments| self.one_type(arguments));
        if !node.args.is_empty() || node.turbofish.is_none() {
            return self.refuse(
                Place::token(node.method.span()),
                "`cast` takes one type and no argument",
                "write `x.cast::<f32>()`",
            );
        }
        let operand = self.expr(&node.receiver);
        match ty {
            Some(ty) => self.add(place, ExprKind::Cast(operand, ty)),
            None => self.nothing(place),
        }
    }

    /// `Point::new(..)`, `Ring::<4>::new(..)`
    fn call_member(
        &mut self,
        place: Place,
        (number, name): (u32, &Ident),
        node: &ExprCall,
        wanted: &Shape,
    ) -> ExprId {
        let own = &self.structs.all[number as usize];
        let mut given = None;
        let mut number = number;
        if let Some(Member::Open { block, item, function: true }) =
            own.members.get(&name.unraw().to_string()).copied()
            && self.template_at(number).is_some()
        {
            let arguments: Vec<ExprId> = node.args.iter().map(|argument| self.given(argument)).collect();
            number = match self.settle_call(number, wanted, (block, item), &arguments, Place::of(&node.func))
            {
                Ok(number) => number,
                Err(refused) => return refused,
            };
            given = Some(arguments);
        }
        match (self.member(number, name), given) {
            (Ok(Member::Function(number)), Some(given)) => self.apply(place, name, number, given, 0),
            (Ok(Member::Function(number)), None) => self.call_function(place, name, number, node),
            (Ok(_), _) => self.call_value(place, &node.func, node),
            (Err(refused), _) => refused,
        }
    }

    fn call_function(&mut self, place: Place, name: &Ident, number: u32, node: &ExprCall) -> ExprId {
        let mut arguments = vec![];
        for (at, argument) in node.args.iter().enumerate() {
            let wanted = self.shape_of_parameter(number, at);
            arguments.push(self.given_as(argument, wanted));
        }
        self.apply(place, name, number, arguments, 0)
    }

    /// A nested function with its arguments; `receiver` of them are in front of its name.
    pub(super) fn apply(
        &mut self,
        place: Place,
        name: &Ident,
        number: u32,
        arguments: Vec<ExprId>,
        receiver: usize,
    ) -> ExprId {
        let wanted = self.kernel.functions[number as usize].parameters.len();
        if arguments.len() != wanted {
            return self.refuse(
                Place::token(name.span()),
                format!(
                    "`{name}` takes {}, {} given",
                    counted(wanted.saturating_sub(receiver)),
                    were(arguments.len() - receiver)
                ),
                "give one value for each parameter of the nested function",
            );
        }
        self.calls.push((self.site, number, Place::token(name.span())));
        self.add(place, ExprKind::Call(number, arguments))
    }

    fn no_function(&mut self, name: &Ident) -> ExprId {
        let text = name.to_string();
        if self.scalars.iter().any(|(known, ty)| *known == text && ty.is_none())
            && let Found::Binding(Binding::Argument(number)) = self.scopes.find(&text)
            && matches!(self.kernel.arguments[number as usize].kind, ArgumentKind::Scalar(_))
        {
            // Its type is reported.
            return self.nothing(Place::token(name.span()));
        }
        let help = if Intrinsic::from_name(&text, Form::Method).is_some() {
            format!("it is a method: `{}`", suggest::called(&text))
        } else if matches!(self.scopes.find(&text), Found::Binding(Binding::Argument(_))) {
            format!("an element of a tensor is `{text}[[i]]`, with one coordinate for each mode")
        } else if matches!(text.as_str(), "thread_idx" | "block_idx" | "block_dim" | "grid_dim") {
            format!("its axes are fields: `{text}.x`")
        } else if text == "unroll" {
            "it marks the range of a `for`: `for k in unroll(0..BK)`".to_owned()
        } else if let Some(meant) = suggest::synonym(&text) {
            format!("it is `{meant}` here")
        } else if let Some(way) = suggest::advice(&text).filter(|_| text.len() > 1) {
            // A function of the program may have the name, too.
            let own = if !text.starts_with(char::is_lowercase) {
                String::new()
            } else {
                format!("; one's own is written inside of the kernel, `fn {text}(..) {{ .. }}`")
            };
            format!("{way}{own}")
        } else if let Some(near) = nearest(&text, Form::Function) {
            format!("is `{near}` meant?")
        } else {
            format!(
                "write it inside of the kernel, `fn {text}(..) {{ .. }}`, or beside it in a module under `#[tiled_kernels]`: a \
                 macro sees nothing of the program around its item"
            )
        };
        self.refuse(Place::token(name.span()), format!("there is no function `{text}` in a kernel"), help)
    }

    fn no_method(&mut self, name: &Ident, receiver: Option<&Expr>) -> ExprId {
        let text = name.to_string();
        let help = if Intrinsic::from_name(&text, Form::Function).is_some() {
            format!("it is a function: `{text}(..)`")
        } else if matches!(
            text.as_str(),
            "iter"
                | "map"
                | "collect"
                | "len"
                | "push"
                | "to_vec"
                | "into_iter"
                | "enumerate"
                | "zip"
                | "sum"
                | "for_each"
                | "fold"
                | "filter"
                | "chunks"
                | "windows"
        ) {
            "a kernel has no collections and no iterators: write a `for` over indices; an extent is `x.dim(0)`".to_owned()
        } else if text == "log" {
            "logarithms are `x.ln()`, `x.log2()`, `x.log10()`; to a base `x.ln() / base.ln()`".to_owned()
        } else if let Some(meant) = suggest::synonym(&text) {
            format!("it is `{meant}` here")
        } else if let Some(way) = suggest::advice(&text) {
            way.to_owned()
        } else if matches!(text.as_str(), "x" | "y" | "z") {
            format!("the place of a thread is a field: `thread_idx.{text}`, without brackets")
        } else if let Some(near) = self.nearest_method(&text) {
            format!("is `{near}` meant?")
        } else {
            "the methods of views and numbers are listed in `layout_cuda::lang`".to_owned()
        };
        let help = match receiver {
            Some(Expr::Path(path)) => match path.path.get_ident() {
                Some(receiver) => suggest::of(&receiver.to_string(), &help),
                None => help,
            },
            _ => help,
        };
        self.refuse(Place::token(name.span()), format!("there is no method `{text}` in a kernel"), help)
    }

    /// A method of the structs or of the language that is spelled nearly so.
    fn nearest_method(&self, text: &str) -> Option<&str> {
        let own = self.structs.all.iter().flat_map(|known| known.members.keys().map(String::as_str));
        suggest::nearest(text, own).or_else(|| nearest(text, Form::Method))
    }

    /// `f32::max(a, b)`, `crate::helper(x)`: a path that is called.
    fn no_path(&mut self, node: &ExprCall) -> ExprId {
        let place = Place::of(&node.func);
        if let Expr::Path(path) = &*node.func
            && let Some(last) = path.path.segments.last().filter(|_| path.path.segments.len() == 2)
            && let Some(ty) = path.path.segments.first().map(|first| first.ident.to_string())
            && (Elem::from_name(&ty).is_some() || self.types.iter().any(|known| *known == ty))
        {
            let text = last.ident.to_string();
            let help = match Intrinsic::from_name(&text, Form::Method) {
                Some(_) => format!("write it as a method: `x.{text}(..)`"),
                None => "the methods of numbers are listed in `layout_cuda::lang`".to_owned(),
            };
            return self.refuse(place, format!("`{ty}::{text}` is not called so in a kernel"), help);
        }
        let named = suggest::text_of(&node.func);
        if let Some(way) = suggest::type_advice(&named) {
            return self.refuse(place, format!("there is no `{named}` in a kernel"), way);
        }
        if let Expr::Path(path) = &*node.func
            && let Some(last) = path.path.segments.last().map(|last| last.ident.to_string())
            && let Some(known) = suggest::member(&last)
                .or_else(|| suggest::synonym(&last))
                .map(|member| format!("it is `{member}` here"))
                .or_else(|| suggest::advice(&last).map(str::to_owned))
        {
            return self.refuse(place, format!("there is no `{named}` in a kernel"), known);
        }
        self.refuse(
            place,
            "a kernel cannot call functions of the program around it",
            "write the function inside of the kernel, `fn name(x: f32) -> f32 { .. }`, or beside it in a module under \
             `#[tiled_kernels]`",
        )
    }
}

fn nearest(text: &str, form: Form) -> Option<&'static str> {
    suggest::nearest(
        text,
        Intrinsic::ALL.iter().filter(|known| known.form() == form).map(|known| known.name()),
    )
}

fn counted(number: usize) -> String {
    match number {
        0 => "no arguments".to_owned(),
        1 => "1 argument".to_owned(),
        more => format!("{more} arguments"),
    }
}

fn were(number: usize) -> String {
    if number == 1 { "1 was".to_owned() } else { format!("{number} were") }
}
