//! `struct` items and their `impl` blocks: what each struct is, and what belongs to it.
//!
//! Law: a struct is the tuple of its fields in the order of their declaration (scalar replacement of aggregates), and a method
//! is a nested function whose first parameter is `self`. Both are so from here on: no later stage knows structs.

use super::arguments::Known;
use super::constants::{Constant, names};
use super::functions::Declared;
use super::generics::{Generic, Pending, Template};
use super::scope::{Binding, Found};
use super::shape::Shape;
use super::type_annotations::{Ty, written};
use super::{Lowering, suggest};
use crate::signature::type_ref;
use crate::span::Place;
use layout_compiler::ir::{Annotation, ExprId, LocalId};
use proc_macro2::Ident;
use quote::ToTokens;
use std::borrow::Cow;
use std::collections::HashMap;
use syn::ext::IdentExt;
use syn::{
    Attribute, Fields, FnArg, Generics, ImplItem, ImplItemFn, Item, ItemFn, ItemImpl, ItemStruct, Pat,
    PatIdent, PatType, Path, ReceiverKind, Stmt, Type, parse_quote_spanned,
};

/// The most values of a struct, and structs within one another.
pub(super) const MAX_VALUES: usize = 256;
pub(super) const MAX_DEPTH: usize = 8;

/// A struct.
pub(super) struct Struct {
    pub name: String,
    /// The names of the fields: of numbered ones their numbers.
    pub fields: Vec<String>,
    /// Whether it is written `Name { .. }`.
    pub named: bool,
    /// What is known of each field.
    pub shapes: Vec<Shape>,
    /// As a tuple, in the words of a parameter's type.
    pub annotation: Annotation,
    /// As a tuple, for the types of literals.
    pub ty: Ty,
    pub members: HashMap<String, Member>,
    /// How many values it is, an array counted as one element; and how many structs are within one another.
    pub size: (usize, usize),
    /// What it has to do with parameters.
    pub generic: Option<Generic>,
}

/// What an `impl` block holds.
#[derive(Clone, Copy)]
pub(super) enum Member {
    Function(u32),
    Constant(LocalId),
    /// A constant of an instance.
    Value(ExprId),
    /// One of a generic struct that is not lowered yet: its `impl` block, its place there, whether it is a function.
    Open {
        block: u32,
        item: u32,
        function: bool,
    },
}

/// The structs of a kernel, and which values are of them.
#[derive(Default)]
pub(super) struct Structs {
    /// Each by its number.
    pub all: Vec<Struct>,
    /// What `Self` means.
    pub own: Option<u32>,
    /// What is known of locals, and of what functions give.
    pub locals: HashMap<LocalId, Shape>,
    pub results: HashMap<u32, Shape>,
    /// Expressions that are of a struct.
    pub made: HashMap<ExprId, u32>,
    /// The declarations of generic structs, and the functions of their instances that are still to be lowered.
    pub templates: Vec<Template>,
    pub pending: Vec<Pending>,
    /// What names of type parameters mean.
    pub types: Vec<Known>,
    /// How many instances are being declared.
    pub nesting: usize,
}

impl Structs {
    /// The one struct for which this holds, if there is one and no other.
    pub fn only(&self, holds: impl Fn(&Struct) -> bool) -> Option<u32> {
        let bare = |own: &Struct| matches!(own.generic, Some(Generic::Bare(_)));
        let all = (0..).zip(&self.all).filter(|(_, own)| !bare(own));
        let mut found = all.filter(|(_, known)| holds(known)).map(|(number, _)| number);
        found.next().filter(|_| found.next().is_none())
    }
}

/// The name of the struct that an `impl` block is for.
pub fn owner(item: &ItemImpl) -> Option<&Ident> {
    match &*item.self_ty {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last().map(|last| &last.ident),
        _ => None,
    }
}

/// The method as a function whose first parameter is called `self`.
pub(super) fn as_function(method: &ImplItemFn) -> ItemFn {
    let mut sig = method.sig.clone();
    for input in &mut sig.inputs {
        let FnArg::Receiver(receiver) = input else { continue };
        let span = receiver.self_token.span;
        let ty: Type = match &receiver.kind {
            ReceiverKind::Reference(_, _, None) => parse_quote_spanned!(span=> &Self),
            ReceiverKind::Reference(..) => parse_quote_spanned!(span=> &mut Self),
            ReceiverKind::Typed(_, ty) => (**ty).clone(),
            _ => parse_quote_spanned!(span=> Self),
        };
        let by_value = !matches!(ty, Type::Reference(_));
        let pat = PatIdent {
            attrs: vec![],
            by_ref: None,
            mutability: receiver.mutability.filter(|_| by_value),
            ident: Ident::new("self", span),
            subpat: None,
        };
        *input = FnArg::Typed(PatType {
            attrs: vec![],
            pat: Box::new(Pat::Ident(pat)),
            colon_token: syn::Token![:](span),
            ty: Box::new(ty),
        });
    }
    let (attrs, vis, block) = (method.attrs.clone(), method.vis.clone(), Box::new(method.block.clone()));
    ItemFn { attrs, vis, modifiers: Default::default(), sig, block }
}

impl Lowering<'_> {
    /// Puts the structs and the functions of a block in scope.
    pub(super) fn declare_items<'b>(
        &mut self,
        block: &'b syn::Block,
        constants: &mut [Constant<'b>],
    ) -> Vec<Declared<'b>> {
        let first = self.structs.templates.len();
        let items = || {
            block.stmts.iter().filter_map(|statement| match statement {
                Stmt::Item(item) => Some(item),
                _ => None,
            })
        };
        let structs = items().filter_map(|item| match item {
            Item::Struct(item) => Some(item),
            _ => None,
        });
        let open = self.name_structs(structs.collect());
        if self.structs.templates.len() > first {
            // An argument in a type may name them.
            constants.iter_mut().for_each(|constant| self.name_constant(constant));
            self.close_templates(first);
        }
        self.declare_structs(open);
        let mut declared = vec![];
        for item in items() {
            match item {
                Item::Fn(item) if self.keep_function(item) => {}
                Item::Fn(item) => declared.push(self.declare_function(Cow::Borrowed(item), None)),
                Item::Impl(item) => declared.extend(self.declare_methods(item)),
                _ => {}
            }
        }
        self.close_templates(first);
        declared
    }

    /// Puts the names of structs in scope.
    fn name_structs<'i>(&mut self, items: Vec<&'i ItemStruct>) -> Vec<(u32, &'i ItemStruct)> {
        let mut open = vec![];
        for item in items {
            self.free(&item.ident);
            self.no_word(&item.ident);
            self.only_known_attributes(&item.attrs);
            let generic = self.declare_template(item);
            let number = self.structs.all.len() as u32;
            let names = item.fields.iter().enumerate().map(|(place, field)| match &field.ident {
                Some(name) => name.unraw().to_string(),
                None => place.to_string(),
            });
            let name = item.ident.unraw().to_string();
            self.scopes.bind(name.clone(), Binding::Struct(number));
            self.structs.all.push(Struct {
                name,
                fields: names.collect(),
                named: matches!(item.fields, Fields::Named(_)),
                shapes: vec![],
                annotation: Annotation::Any,
                ty: Ty::Other,
                members: HashMap::new(),
                size: (1, 1),
                generic,
            });
            open.push((number, item));
        }
        open
    }

    /// The fields: each struct behind those that it contains.
    fn declare_structs(&mut self, mut open: Vec<(u32, &ItemStruct)>) {
        while !open.is_empty() {
            let holds = |item: &ItemStruct, name: &Ident| {
                item.fields.iter().any(|field| names(field.ty.to_token_stream(), name))
            };
            let next =
                open.iter().position(|(_, item)| !open.iter().any(|(_, other)| holds(item, &other.ident)));
            if next.is_none() {
                let name = &open[0].1.ident;
                self.errors.push(
                    Place::token(name.span()),
                    format!("`{name}` contains itself"),
                    "a struct is its fields, side by side in registers: keep the index of the other one",
                );
            }
            let (number, item) = open.remove(next.unwrap_or(0));
            // Those of a generic one are declared with its arguments.
            if self.template_at(number).is_none() {
                self.declare_fields(number, &item.fields);
            }
        }
    }

    pub(super) fn declare_fields(&mut self, number: u32, fields: &Fields) {
        let (mut annotations, mut types, mut shapes) = (vec![], vec![], vec![]);
        for field in fields {
            self.no_attributes(field.attrs.iter().filter(|known| !known.path().is_ident("doc")));
            if matches!(&field.ty, Type::Reference(_)) {
                self.errors.push(
                    Place::of(&field.ty),
                    "a field that is a reference",
                    "a tensor is held as `View<f32, Read>` or `View<f32, Write>`, a number as itself; what is to change is \
                     passed to the method: `fn step(&mut self, x: &mut f32)`",
                );
            }
            shapes.push(self.shape_of_type(&field.ty));
        }
        let size = self.size(&Shape::Tuple(shapes.clone()));
        let own = &mut self.structs.all[number as usize];
        own.size = (size.0, size.1 + 1);
        if own.size.0 > MAX_VALUES || own.size.1 > MAX_DEPTH {
            own.size = (1, 1);
            let message =
                format!("`{}` is {} values, {} structs within one another", own.name, size.0, size.1 + 1);
            let help = format!(
                "at most {MAX_VALUES} values and {MAX_DEPTH} structs within one another: each is a register"
            );
            self.errors.push(Place::of(fields), message, help);
            return;
        }
        for field in fields {
            annotations.push(self.annotation(&field.ty));
            types.push(self.written_type_of(&field.ty, None));
        }
        let own = &mut self.structs.all[number as usize];
        (own.annotation, own.ty, own.shapes) = (Annotation::Tuple(annotations), Ty::Tuple(types), shapes);
    }

    pub(super) fn size(&self, shape: &Shape) -> (usize, usize) {
        match shape {
            Shape::Struct(number) => self.structs.all[*number as usize].size,
            Shape::Tuple(parts) => {
                let sizes = parts.iter().map(|part| self.size(part));
                sizes.fold((0, 0), |(values, deep), (more, own)| (values + more, deep.max(own)))
            }
            Shape::Array(element) => self.size(element),
            Shape::Other | Shape::Function(_) => (1, 0),
        }
    }

    /// Refuses a struct with the name of a type of the language.
    fn no_word(&mut self, name: &Ident) {
        let ty: Type = parse_quote_spanned!(name.span()=> #name);
        if type_ref(&ty, &self.types).is_some() {
            self.errors.push(
                Place::token(name.span()),
                format!("`{name}` is a type of the kernel language and cannot be defined again"),
                "choose another name",
            );
        }
    }

    /// Puts the functions of an `impl` block into the table.
    fn declare_methods<'b>(&mut self, item: &'b ItemImpl) -> Vec<Declared<'b>> {
        if let Some((path, _)) = &item.trait_ {
            self.errors.push(
                Place::of(path),
                "a kernel has no traits of its own",
                "write the functions in a plain block: `impl Name { fn add(self, other: Name) -> Name { .. } }`",
            );
            return vec![];
        }
        let number = match owner(item).map(|name| self.scopes.find(&name.unraw().to_string())) {
            Some(Found::Binding(Binding::Struct(number))) => number,
            _ => {
                self.errors.push(
                    Place::of(&item.self_ty),
                    format!(
                        "`impl` of `{}`, which is no struct of this kernel",
                        suggest::text_of(&item.self_ty)
                    ),
                    "write the `struct` beside it",
                );
                return vec![];
            }
        };
        if self.keep_block(number, item) {
            return vec![];
        }
        if let Some(first) = item.generics.params.first() {
            self.errors.push(
                Place::of(first),
                format!("`{}` has no parameters", self.structs.all[number as usize].name),
                "a parameter of an `impl` is one of its struct: `struct Ring<const STAGES: usize> { .. }`",
            );
        }
        let outer = self.structs.own.replace(number);
        let mut declared = vec![];
        for own in &item.items {
            match own {
                ImplItem::Fn(method) => {
                    declared.push(self.declare_function(Cow::Owned(as_function(method)), Some(number)));
                }
                ImplItem::Const(_) => {}
                other => self.no_member(other),
            }
        }
        self.structs.own = outer;
        declared
    }

    /// Documentation, and derives that say what holds in any case.
    fn only_known_attributes(&mut self, attributes: &[Attribute]) {
        for attribute in attributes.iter().filter(|known| !known.path().is_ident("doc")) {
            let mut other = !attribute.path().is_ident("derive");
            if !other {
                let parsed = attribute.parse_nested_meta(|meta| {
                    other |= !["Clone", "Copy", "Debug"].iter().any(|known| meta.path.is_ident(known));
                    Ok(())
                });
                other |= parsed.is_err();
            }
            if other {
                self.errors.push(
                    Place::of(attribute),
                    "this attribute has no meaning for a struct of a kernel",
                    "`#[derive(Clone, Copy)]` and documentation are kept; write what else is derived as a method",
                );
            }
        }
    }

    pub(super) fn no_member(&mut self, item: &ImplItem) {
        self.errors.push(
            Place::of(item),
            "an `impl` block holds functions and constants",
            "write `fn name(&self) -> f32 { .. }` or `const NAME: usize = 4;`",
        );
    }

    /// The struct that a path names, of itself or as `Self`.
    pub(super) fn struct_named(&self, name: &Ident) -> Option<u32> {
        if name == "Self" {
            return self.structs.own;
        }
        if self.structs.all.is_empty() {
            return None;
        }
        match self.scopes.find(&name.unraw().to_string()) {
            Found::Binding(Binding::Struct(number)) => Some(number),
            _ => None,
        }
    }

    /// The same of a path of one name, which may have arguments.
    pub(super) fn struct_at(&mut self, path: &Path) -> Option<u32> {
        if path.segments.len() != 1 || path.leading_colon.is_some() {
            return None;
        }
        let number = self.struct_named(&path.segments.first()?.ident)?;
        Some(self.with_arguments(number, path))
    }

    /// The struct and the rest of `Point::new`, `Self::SIZE`, `Ring::<4>::new`.
    pub(super) fn member_at<'p>(&mut self, path: &'p Path) -> Option<(u32, &'p Ident)> {
        match path.segments.iter().collect::<Vec<_>>()[..] {
            [of, name] => {
                let number = self.struct_named(&of.ident)?;
                Some((self.with_arguments(number, path), &name.ident))
            }
            _ => None,
        }
    }

    /// What a path means that is a type: a struct, or a type parameter of one.
    pub(super) fn type_at(&mut self, path: &Path) -> Option<Known> {
        if let Some(name) = path.get_ident()
            && !self.structs.types.is_empty()
            && let Found::Binding(Binding::Type(number)) = self.scopes.find(&name.unraw().to_string())
        {
            return Some(self.structs.types[number as usize].clone());
        }
        let number = self.struct_of_type(path)?;
        let own = &self.structs.all[number as usize];
        // Arguments that are left open follow from a value.
        let shape = if self.template_at(number).is_some() { Shape::Other } else { Shape::Struct(number) };
        Some(Known { annotation: own.annotation.clone(), ty: own.ty.clone(), shape })
    }

    /// The type that is written, as far as literals follow from it.
    pub(super) fn written_type_of(&mut self, ty: &Type, generics: Option<&Generics>) -> Ty {
        let types = std::mem::take(&mut self.types);
        let found = written(ty, &types, generics, &mut |path| {
            let own = std::mem::replace(&mut self.types, types.clone());
            let found = self.type_at(path).map(|known| known.ty);
            self.types = own;
            found
        });
        self.types = types;
        found
    }
}
