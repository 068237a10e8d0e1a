//! Structs with parameters of their own: `struct Ring<const STAGES: usize>`, `struct Pair<T>`.
//!
//! Law: the struct with its arguments is a struct like any other, an instance. Its fields, functions and constants are those of
//! the declaration, lowered in the scope of the declaration, where each parameter is a name of its argument. The argument is
//! resolved where it is written. A function or a constant of an instance is lowered once something names it.

use super::arguments::{Argument, What, arguments_at, name_of, names, of_block, parameters};
use super::functions::Declared;
use super::scope::{Binding, Scopes};
use super::shape::Shape;
use super::structs::{MAX_DEPTH, MAX_VALUES, Member, Struct, as_function};
use super::type_annotations::Ty;
use super::{Lowering, Site, suggest};
use crate::span::Place;
use layout_compiler::ir::{Annotation, Block, ExprId, ExprKind, LocalId, Pattern, StatementKind};
use proc_macro2::Ident;
use std::borrow::Cow;
use std::rc::Rc;
use syn::ext::IdentExt;
use syn::{
    Fields, Generics, ImplItem, ImplItemConst, ItemFn, ItemImpl, ItemStruct, Path, PathArguments, Type,
};

/// The most structs that a kernel's generic structs become.
const MAX_INSTANCES: usize = 256;

/// What is written of a generic struct or function.
pub(super) struct Written {
    pub ident: Ident,
    pub generics: Generics,
    pub fields: Fields,
    /// The function, where it is one.
    pub function: Option<ItemFn>,
}

/// A generic struct or function.
pub(super) struct Template {
    pub item: Rc<Written>,
    /// The functions that a generic function became, with their arguments.
    pub made: Vec<(Vec<Option<Argument>>, u32)>,
    blocks: Vec<Rc<ItemImpl>>,
    /// The names in scope where it is declared.
    scope: Scopes,
    /// What types mean there.
    types: Vec<Ident>,
    generics: Vec<Ident>,
}

impl Template {
    /// One that is declared where types mean this.
    pub fn of(written: Written, types: Vec<Ident>, generics: Vec<Ident>) -> Template {
        let (item, scope) = (Rc::new(written), Scopes::default());
        Template { item, made: vec![], blocks: vec![], scope, types, generics }
    }

    /// The `impl` block of this number.
    pub fn block(&self, number: u32) -> Rc<ItemImpl> {
        self.blocks[number as usize].clone()
    }
}

/// What a struct has to do with parameters.
pub(super) enum Generic {
    /// The declaration of this number, without arguments.
    Bare(u32),
    /// The declaration of this number with these arguments.
    Instance(u32, Vec<Argument>),
}

/// A function of an instance that is named and not lowered yet.
pub(super) struct Pending {
    template: u32,
    names: Vec<(String, What)>,
    declared: Declared<'static>,
}

impl Pending {
    /// A function of an instance, under the names of its arguments.
    pub fn of(template: u32, names: Vec<(String, What)>, declared: Declared<'static>) -> Pending {
        Pending { template, names, declared }
    }
}

impl Struct {
    /// The name without arguments.
    pub(super) fn plain_name(&self) -> &str {
        self.name.split('<').next().unwrap_or(&self.name)
    }
}

impl Lowering<'_> {
    /// Whether a struct is a declaration without its arguments, and which.
    pub(super) fn template_at(&self, number: u32) -> Option<u32> {
        match self.structs.all[number as usize].generic {
            Some(Generic::Bare(template)) => Some(template),
            _ => None,
        }
    }

    /// The arguments of an instance of this declaration.
    pub(super) fn arguments_of(&self, shape: &Shape, template: u32) -> Option<&[Argument]> {
        let Shape::Struct(number) = shape else { return None };
        match &self.structs.all[*number as usize].generic {
            Some(Generic::Instance(of, arguments)) if *of == template => Some(arguments),
            _ => None,
        }
    }

    /// `Ring::new()` and `Ring::SIZE` of no ring in particular.
    pub(super) fn without_arguments(&mut self, number: u32, member: &Ident) -> ExprId {
        let place = Place::token(member.span());
        let Some(template) = self.template_at(number).filter(|_| self.errors.is_empty()) else {
            return self.nothing(place);
        };
        let names: Vec<String> = parameters(&self.structs.templates[template as usize].item.generics)
            .map(Ident::to_string)
            .collect();
        let (own, names) = (self.structs.all[number as usize].name.clone(), names.join(", "));
        self.refuse(
            place,
            format!("of which `{own}` this `{member}` is, is not known here"),
            format!("write its arguments: `{own}::<{names}>::{member}`"),
        )
    }

    /// How an `impl` block of a struct begins, behind the word.
    pub(super) fn impl_of(&self, number: u32) -> String {
        let own = &self.structs.all[number as usize];
        let (Some(Generic::Bare(template)) | Some(Generic::Instance(template, _))) = &own.generic else {
            return own.name.clone();
        };
        let names: Vec<String> = parameters(&self.structs.templates[*template as usize].item.generics)
            .map(Ident::to_string)
            .collect();
        format!("{}<{}>", own.plain_name(), names.join(", "))
    }

    /// Keeps a declaration. Gives what its struct is without arguments.
    pub(super) fn declare_template(&mut self, item: &ItemStruct) -> Option<Generic> {
        if let Some(lifetime) = item.generics.lifetimes().next() {
            self.errors.push(
                Place::of(lifetime),
                format!("`{}` has a lifetime", item.ident.unraw()),
                "leave it out: a view is held as `View<T, Read>`, which has none",
            );
        }
        parameters(&item.generics).next()?;
        let (ident, generics) = (item.ident.clone(), item.generics.clone());
        let written = Written { ident, generics, fields: item.fields.clone(), function: None };
        self.structs.templates.push(Template::of(written, self.types.clone(), self.generics.clone()));
        Some(Generic::Bare(self.structs.templates.len() as u32 - 1))
    }

    /// From here on the declarations from this one on have the names in scope that are so now.
    pub(super) fn close_templates(&mut self, first: usize) {
        for own in self.structs.templates.iter_mut().skip(first) {
            own.scope = self.scopes.clone();
        }
    }

    /// Keeps an `impl` block of a generic struct: `false` where it is of a struct without parameters.
    pub(super) fn keep_block(&mut self, number: u32, item: &ItemImpl) -> bool {
        let Some(template) = self.template_at(number) else { return false };
        let own = &self.structs.templates[template as usize].item;
        let (name, count) = (own.ident.unraw().to_string(), parameters(&own.generics).count());
        let declared: Vec<&Ident> = parameters(&item.generics).collect();
        let given = match &*item.self_ty {
            Type::Path(path) => arguments_at(&path.path),
            _ => None,
        };
        let given: Vec<Option<&Ident>> = given.iter().flat_map(|given| &given.args).map(name_of).collect();
        let plain = given.len() == count
            && (0..count).all(|at| {
                given[at].is_some_and(|own| declared.contains(&own)) && !given[..at].contains(&given[at])
            });
        if !plain {
            let parameters = suggest::text_of(&own.generics.params).replace(" :", ":");
            let names: Vec<String> = self::parameters(&own.generics).map(Ident::to_string).collect();
            self.errors.push(
                Place::of(&item.self_ty),
                format!("an `impl` of `{}` alone, not of each `{name}`", suggest::text_of(&item.self_ty)),
                format!(
                    "write `impl<{parameters}> {name}<{}> {{ .. }}`; what one of them does otherwise is an `if` over its parameters",
                    names.join(", ")
                ),
            );
            return true;
        }
        let block = self.structs.templates[template as usize].blocks.len() as u32;
        self.structs.templates[template as usize].blocks.push(Rc::new(item.clone()));
        for (place, own) in item.items.iter().enumerate() {
            let (name, function) = match own {
                ImplItem::Fn(method) => (&method.sig.ident, true),
                ImplItem::Const(constant) => (&constant.ident, false),
                other => {
                    self.no_member(other);
                    continue;
                }
            };
            let member = Member::Open { block, item: place as u32, function };
            self.structs.all[number as usize].members.insert(name.unraw().to_string(), member);
        }
        true
    }

    /// The struct at a path with arguments; the declaration where they are left to be inferred.
    pub(super) fn with_arguments(&mut self, number: u32, path: &Path) -> u32 {
        let Some(template) = self.template_at(number) else { return number };
        let Some(PathArguments::AngleBracketed(given)) = path.segments.first().map(|own| &own.arguments)
        else {
            return number;
        };
        let found = self.resolved(template, Some(given));
        let place = Place::of(path);
        found.and_then(|arguments| self.instance(number, arguments, place)).unwrap_or(number)
    }

    /// The struct at a path that is a type: its defaults take the place of arguments that are not written.
    pub(super) fn struct_of_type(&mut self, path: &Path) -> Option<u32> {
        let number = self.struct_at(path)?;
        let Some(template) = self.template_at(number) else { return Some(number) };
        if arguments_at(path).is_some() {
            return Some(number);
        }
        let found = self.resolved(template, None);
        let place = Place::of(path);
        Some(found.and_then(|arguments| self.instance(number, arguments, place)).unwrap_or(number))
    }

    pub(super) fn constant_block(
        &mut self,
        place: Place,
        local: LocalId,
        ty: Annotation,
        value: ExprId,
    ) -> ExprId {
        let pattern = Pattern::Local(local);
        let statement = self.statement(place, StatementKind::Let { pattern, ty, value, constant: true });
        let named = self.add(place, ExprKind::Local(local));
        self.add(place, ExprKind::Block(Block { statements: vec![statement], value: Some(named) }))
    }

    /// The struct of a declaration with these arguments.
    pub(super) fn instance(&mut self, number: u32, arguments: Vec<Argument>, place: Place) -> Option<u32> {
        let template = self.template_at(number)?;
        let same = |own: &Struct| match &own.generic {
            Some(Generic::Instance(of, known)) => *of == template && self.are_same(known, &arguments),
            _ => false,
        };
        if let Some(known) = self.structs.all.iter().position(same) {
            return Some(known as u32);
        }
        let item = self.structs.templates[template as usize].item.clone();
        let sizes = arguments.iter().map(|argument| match &argument.what {
            What::Type(known) => self.size(&known.shape).0,
            What::Value(_) => 1,
        });
        let large = sizes.sum::<usize>() > MAX_VALUES || self.structs.nesting > MAX_DEPTH;
        if large || self.structs.all.len() >= MAX_INSTANCES {
            if !self.errors.is_empty() {
                // It may follow from what is refused.
                return None;
            }
            self.errors.push(
                place,
                format!("`{}` becomes too many or too large structs", item.ident.unraw()),
                format!(
                    "at most {MAX_INSTANCES} structs, of {MAX_VALUES} values and {MAX_DEPTH} structs within one another: each \
                     combination of arguments is one"
                ),
            );
            return None;
        }
        let texts: Vec<&str> = arguments.iter().map(|argument| argument.text.as_str()).collect();
        let own = &self.structs.all[number as usize];
        let instance = Struct {
            name: format!("{}<{}>", own.name, texts.join(", ")),
            fields: own.fields.clone(),
            named: own.named,
            shapes: vec![],
            annotation: Annotation::Any,
            ty: Ty::Other,
            members: own.members.clone(),
            size: (1, 1),
            generic: None,
        };
        let names = names(parameters(&item.generics), &arguments);
        let own = self.structs.all.len() as u32;
        self.structs.all.push(instance);
        self.structs.all[own as usize].generic = Some(Generic::Instance(template, arguments));
        self.structs.nesting += 1;
        self.within(template, names, Some(own), |this| this.declare_fields(own, &item.fields));
        self.structs.nesting -= 1;
        Some(own)
    }

    /// Lowers something as if it were where a generic struct is declared, under these names.
    pub(super) fn within<R>(
        &mut self,
        template: u32,
        names: Vec<(String, What)>,
        own: Option<u32>,
        lower: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let declared = &self.structs.templates[template as usize];
        let (scope, types, generics) =
            (declared.scope.clone(), declared.types.clone(), declared.generics.clone());
        let outer = (
            std::mem::replace(&mut self.scopes, scope),
            std::mem::replace(&mut self.types, types),
            std::mem::replace(&mut self.generics, generics),
            std::mem::replace(&mut self.structs.own, own),
            std::mem::take(&mut self.around),
            std::mem::take(&mut self.wanted),
        );
        for (name, what) in names {
            let binding = match what {
                What::Value(id) => Binding::Value(id),
                What::Type(known) => {
                    self.structs.types.push(known);
                    Binding::Type(self.structs.types.len() as u32 - 1)
                }
            };
            self.scopes.bind(name, binding);
        }
        let lowered = lower(self);
        (self.scopes, self.types, self.generics, self.structs.own, self.around, self.wanted) = outer;
        lowered
    }

    /// A function or a constant of an instance, which is lowered here or has its name from here on.
    pub(super) fn open_member(&mut self, number: u32, block: u32, item: u32, place: Place) -> Option<Member> {
        let Some(Generic::Instance(template, arguments)) = &self.structs.all[number as usize].generic else {
            return None;
        };
        let template = *template;
        let block = self.structs.templates[template as usize].block(block);
        let names = names(of_block(&block), arguments);
        match &block.items[item as usize] {
            ImplItem::Fn(method) => {
                let function = Cow::Owned(as_function(method));
                let declared = self.within(template, names.clone(), Some(number), |this| {
                    this.declare_function(function, Some(number))
                });
                self.structs.pending.push(Pending { template, names, declared });
                let name = method.sig.ident.unraw().to_string();
                self.structs.all[number as usize].members.get(&name).copied()
            }
            ImplItem::Const(constant) => {
                Some(Member::Value(
                    self.within(template, names, Some(number), |this| this.constant_of(constant, place)),
                ))
            }
            _ => None,
        }
    }

    fn constant_of(&mut self, constant: &ImplItemConst, place: Place) -> ExprId {
        let ty = self.annotation(&constant.ty);
        let shape = self.shape_of_type(&constant.ty);
        let site = std::mem::replace(&mut self.site, Site::Constant);
        let value = self.expr_as(&constant.expr, shape.clone());
        self.site = site;
        let local = self.local(&constant.ident, false);
        self.shaped(local, shape);
        self.constant_block(place, local, ty, value)
    }

    /// Lowers the functions of the instances of the declarations from this one on.
    pub(super) fn define_instances(&mut self, first: usize) {
        while let Some(at) = self.structs.pending.iter().position(|own| own.template as usize >= first) {
            let Pending { template, names, declared } = self.structs.pending.remove(at);
            self.within(template, names, None, |this| this.define_functions(vec![declared]));
        }
    }
}
