//! From the syntax tree to [`Kernel`]: names resolved, everything else refused with its place and the way out.
//!
//! Law: every [`layout_compiler::Origin`] of the kernel is an index into [`Lowered::places`]. Nothing is
//! evaluated here; what a kernel means is settled by `specialise`.

mod arguments;
mod attribute_constants;
mod call;
mod closure;
mod constants;
mod expression;
mod fields;
mod format;
mod functions;
mod generic_functions;
mod generics;
mod infer;
mod jumps;
mod kernel;
mod macros;
mod matches;
mod name;
mod patterns;
mod reference;
mod refuse;
mod scope;
mod sequence;
mod settle;
mod shape;
mod statement;
mod structs;
mod suggest;
mod tiles;
mod type_annotations;

use crate::depth;
use crate::report::Errors;
use crate::span::Place;
use layout_compiler::Origin;
use layout_compiler::ir::{
    Allowed, Expr, ExprId, ExprKind, Kernel, Local, LocalId, RemarkKind, Statement, StatementKind, TypeRef,
};
use proc_macro2::{Ident, Span};
use std::collections::HashMap;
use syn::ext::IdentExt;

pub use kernel::lower;
pub use structs::owner;
pub use suggest::{nearest, type_advice};

/// A kernel and where its parts are.
pub struct Lowered {
    /// The kernel.
    pub kernel: Kernel,
    /// The place of each origin.
    pub places: Vec<Place>,
    /// The entries of the attribute that follow from the body, as text.
    pub configuration: Option<String>,
    /// What rustc does not take as it is written.
    pub small_floats: SmallFloats,
    /// Names that the body binds and never reads.
    pub unused: Vec<Ident>,
}

/// Literals and conversions of element types, some of which Rust lacks.
#[derive(Default)]
pub struct SmallFloats {
    /// Where the literal is, and its type.
    pub literals: Vec<(Span, TypeRef)>,
    /// Where the type of `x as T` is, the type of `x` where it is known, and `T`.
    pub casts: Vec<(Span, Option<TypeRef>, TypeRef)>,
}

/// A kernel in the making.
struct Lowering<'a> {
    kernel: Kernel,
    places: Vec<Place>,
    errors: &'a mut Errors,
    scopes: scope::Scopes,
    /// The variables of `for` loops.
    counters: Vec<LocalId>,
    /// The type parameters of the function.
    types: Vec<Ident>,
    /// The `const` items at the head of the body, which the attribute and the signature may name.
    constants: Vec<(String, syn::Expr)>,
    /// The constants of generic structs there.
    of_generics: Vec<attribute_constants::OfGeneric>,
    /// The functions at the head of the body, which the attribute may name.
    functions_at_the_head: Vec<Ident>,
    /// How many constants were put where they are named.
    inlined: usize,
    /// The type parameters of the nested functions around: of views, and of closures.
    generics: Vec<Ident>,
    /// For each parameter of the attribute, whether something names it.
    used_parameters: Vec<bool>,
    /// How many expressions and blocks are around.
    depth: usize,
    /// Whether that was already too many.
    too_deep: bool,
    /// The loops around, within the function, the outermost first.
    around: Vec<jumps::Around>,
    /// The types that are written of locals, and of what functions give.
    written: HashMap<LocalId, type_annotations::Ty>,
    returns: HashMap<u32, type_annotations::Ty>,
    /// Locals that represent places of others, or hold such: `&mut` parameters, and what `let r = &mut x;` binds.
    references: HashMap<LocalId, reference::References>,
    /// The structs in scope, and what is of them.
    structs: structs::Structs,
    /// What is known of the place that a value is for.
    wanted: shape::Shape,
    /// The kernel's `fn`, in the file that its definition names.
    own: Place,
    /// What is being lowered: where a name may not mean everything.
    site: Site,
    /// The arguments, which the attribute names before the body does, each with the type of one that is a number.
    scalars: Vec<(String, Option<TypeRef>)>,
    /// What the attributes of the statement that is being lowered allow.
    allowed: Vec<RemarkKind>,
    /// Whether this is an entry of the attribute that a launch evaluates.
    at_launch: bool,
    /// The names that the body binds, and the places of assignments.
    bound: Vec<(LocalId, Ident)>,
    assigned: Vec<ExprId>,
    /// Each call of a nested function: from where, which, and its place.
    calls: Vec<(Site, u32, Place)>,
}

/// What is being lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Site {
    /// The kernel's body.
    Body,
    /// The nested function of this number.
    Function(u32),
    /// The value of a `const` item.
    Constant,
    /// `block`, `grid`, a condition, or an extent of an argument.
    Attribute,
}

impl Lowering<'_> {
    /// A new origin.
    fn origin(&mut self, place: Place) -> Origin {
        let origin = Origin(self.places.len() as u32);
        self.places.push(place);
        // A function of another file has the kernel's place: a position is a line of one file.
        let own = place.start.file() == self.own.start.file();
        self.kernel.positions.push(if own { place } else { self.own }.position());
        origin
    }

    /// Adds an expression to the arena.
    fn add(&mut self, place: Place, kind: ExprKind) -> ExprId {
        let origin = self.origin(place);
        let id = ExprId(self.kernel.exprs.len() as u32);
        self.kernel.exprs.push(Expr { kind, origin });
        id
    }

    /// What represents an expression that is an error; nothing reads it.
    fn nothing(&mut self, place: Place) -> ExprId {
        self.add(place, ExprKind::Bool(false))
    }

    /// Reports an error and gives what represents the expression.
    fn refuse(&mut self, place: Place, message: impl AsRef<str>, help: impl AsRef<str>) -> ExprId {
        self.errors.push(place, message, help);
        self.nothing(place)
    }

    fn statement(&mut self, place: Place, kind: StatementKind) -> Statement {
        Statement { origin: self.origin(place), kind }
    }

    /// A new local, not yet in scope.
    fn local(&mut self, name: &Ident, mutable: bool) -> LocalId {
        let origin = self.origin(Place::token(name.span()));
        let id = LocalId(self.kernel.locals.len() as u32);
        self.kernel.locals.push(Local { name: name.unraw().to_string(), mutable, left: false, origin });
        id
    }

    /// Goes one level down, or says that it is too deep.
    fn descend(&mut self, place: Place) -> bool {
        self.depth += 1;
        if self.depth > depth::EXPRESSIONS {
            if std::mem::replace(&mut self.too_deep, true) {
                return false;
            }
            self.errors.push(
                place,
                format!("more than {} expressions within one another", depth::EXPRESSIONS),
                "bind parts of it with `let`",
            );
            return false;
        }
        true
    }

    fn ascend(&mut self) {
        self.depth -= 1;
    }

    /// `#[allow(narrowed)]` of a statement; other attributes are refused inside of a kernel.
    fn no_attributes<'a>(&mut self, attributes: impl IntoIterator<Item = &'a syn::Attribute>) {
        for attribute in attributes {
            match allowed_kinds(attribute) {
                Some(kinds) => self.allowed.extend(kinds),
                None => {
                    let help = match attribute.path().is_ident("unroll") {
                        true => "a loop is unrolled by its range: `for k in unroll(0..4)`",
                        false => {
                            "leave it out; a compile-time choice is `if` over a parameter, and `#[allow(narrowed)]` excepts a statement \
                             from `deny`"
                        }
                    };
                    self.errors.push(Place::of(attribute), "an attribute inside of a kernel", help);
                }
            }
        }
    }

    /// Lowers a statement; what its attributes allow is allowed at each origin in it.
    fn with_allowed<T>(&mut self, lower: impl FnOnce(&mut Self) -> T) -> T {
        let (around, first) = (std::mem::take(&mut self.allowed), Origin(self.places.len() as u32));
        let lowered = lower(self);
        let kinds = std::mem::replace(&mut self.allowed, around);
        if !kinds.is_empty() {
            let end = Origin(self.places.len() as u32);
            self.kernel.allow.push(Allowed { kinds, first, end });
        }
        lowered
    }
}

/// The words of `#[allow(narrowed, masked)]`; `None` where a word is no remark or it is another attribute.
pub(crate) fn allowed_kinds(attribute: &syn::Attribute) -> Option<Vec<RemarkKind>> {
    let words = attribute.path().is_ident("allow").then(|| {
        attribute.parse_args_with(syn::punctuated::Punctuated::<Ident, syn::Token![,]>::parse_terminated)
    });
    words?.ok()?.iter().map(|word| RemarkKind::from_name(&word.to_string())).collect()
}
