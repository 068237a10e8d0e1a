//! Names and paths: what each means.

use super::scope::{Binding, Found};
use super::shape::Shape;
use super::structs::Member;
use super::{Lowering, Site, suggest};
use crate::span::Place;
use layout_compiler::intrinsic::{Form, Intrinsic};
use layout_compiler::ir::{ExprId, ExprKind, Special, TypeRef};
use layout_compiler::{Constant, Elem, Known};
use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::{Expr, ExprPath};

/// Constants that the attribute and the signature may name, through each other.
const MAX_INLINED: usize = 1000;

/// The special value of this name.
pub fn special(name: &str) -> Option<Special> {
    match name {
        "thread_idx" => Some(Special::ThreadIdx),
        "block_idx" => Some(Special::BlockIdx),
        "block_dim" => Some(Special::BlockDim),
        "grid_dim" => Some(Special::GridDim),
        _ => None,
    }
}

impl Lowering<'_> {
    /// A path as a value.
    pub(super) fn path(&mut self, node: &ExprPath, wanted: &Shape) -> ExprId {
        let place = Place::of(&node.path);
        if node.qself.is_none()
            && let Some(number) = self.struct_at(&node.path)
        {
            return self.unit_struct(place, number, wanted);
        }
        match node.path.get_ident() {
            Some(name) if node.qself.is_none() => self.name(name),
            _ => match (self.member_at(&node.path), self.limit(node)) {
                (Some((number, name)), _) => match self.member(number, name) {
                    Ok(Member::Constant(local)) => self.add(place, ExprKind::Local(local)),
                    Ok(Member::Value(id)) => id,
                    Ok(Member::Open { .. }) => self.nothing(place),
                    Ok(Member::Function(number)) => {
                        self.calls.push((self.site, number, place));
                        self.add(place, ExprKind::Function(number))
                    }
                    Err(refused) => refused,
                },
                (None, Some(kind)) => self.add(place, kind),
                (None, None) => self.path_elsewhere(node, place),
            },
        }
    }

    /// A path that names nothing of the body: in the attribute a constant of a struct.
    fn path_elsewhere(&mut self, node: &ExprPath, place: Place) -> ExprId {
        if let Some(number) = self.constant_of_a_struct(node) {
            return self.constant_in_attribute(number, place);
        }
        if let Some(value) = self.constant_of_generic(&node.path) {
            return self.inlined(&value, place);
        }
        if node.path.segments.len() == 2
            && node.path.segments.iter().map(|part| part.ident.to_string()).eq(["usize", "MAX"])
        {
            return self.refuse(
                place,
                "`usize::MAX`: a `usize` of the kernel language is a number of 63 bits",
                "take the end that is meant: an extent, `u32::MAX as usize`, `i64::MAX as usize`",
            );
        }
        self.refuse(
            place,
            "a kernel cannot name items of the program around it",
            "bind the value in the attribute (`SIZE = 64`), pass it as an argument, or write the function inside \
             the kernel; of the types' constants there are `f32::INFINITY`, `i32::MAX` and the like",
        )
    }

    /// A plain name as a value.
    pub(super) fn name(&mut self, name: &Ident) -> ExprId {
        let (text, place) = (name.unraw().to_string(), Place::token(name.span()));
        match self.scopes.find(&text) {
            Found::Binding(Binding::Local(local) | Binding::Constant(local)) => {
                return self.add(place, ExprKind::Local(local));
            }
            Found::Binding(Binding::Argument(number)) => return self.add(place, ExprKind::Argument(number)),
            Found::Binding(Binding::Function(number)) => {
                // Who is given it may call it.
                self.calls.push((self.site, number, place));
                return self.add(place, ExprKind::Function(number));
            }
            Found::Binding(Binding::Struct(number)) => {
                return self.unit_struct(place, number, &Shape::Other);
            }
            Found::Binding(Binding::Value(id)) => {
                // Each use is an expression of its own.
                return self.add(place, self.kernel.exprs[id.0 as usize].kind.clone());
            }
            Found::Binding(Binding::Generic(_)) => {
                return self.refuse(
                    place,
                    format!("which `{text}` this is follows from its arguments"),
                    format!("call it, or write a closure that does: `|x| {text}(x)`"),
                );
            }
            Found::Binding(Binding::Type(_)) => {
                return self.refuse(
                    place,
                    format!("`{text}` is a type"),
                    format!("a value of it is `{text}::ZERO`, `{text}::ONE`, or a literal"),
                );
            }
            Found::Outside => {
                return self.refuse(
                    place,
                    format!("a nested function does not see `{text}` of the kernel around it"),
                    format!("pass it: add a parameter for `{text}` to the nested function"),
                );
            }
            Found::Nothing => {}
        }
        if let Some(number) = self.kernel.parameters.iter().position(|parameter| parameter.name == text) {
            self.used_parameters[number] = true;
            return self.add(place, ExprKind::Parameter(number as u32));
        }
        if let Some(number) = self.kernel.dims.iter().position(|dim| *dim == text) {
            return match self.site {
                Site::Constant => self.refuse(
                    place,
                    format!("a `const` item cannot name `{text}`, which is known at launch"),
                    format!("use `let`, or bind `{text}` in the attribute"),
                ),
                Site::Function(_) => self.refuse(
                    place,
                    format!("a nested function does not see the dimension `{text}` of the kernel around it"),
                    format!(
                        "pass it: add a parameter `{}: usize` to the nested function",
                        text.to_lowercase()
                    ),
                ),
                Site::Body | Site::Attribute => self.add(place, ExprKind::Dim(number as u32)),
            };
        }
        if self.site == Site::Attribute {
            if let Some(number) = self.scalars.iter().position(|(known, _)| *known == text) {
                return self.scalar_in_attribute(number, place);
            }
            if let Some(elem) = Elem::from_name(&text) {
                return self.add(place, ExprKind::Type(elem));
            }
            if self.functions_at_the_head.iter().any(|known| known == name) {
                return self.add(place, ExprKind::Named(text.leak()));
            }
            if let Some(constant) = self.constants.iter().position(|(known, _)| *known == text) {
                return self.constant_in_attribute(constant, place);
            }
        }
        if special(&text).is_some() {
            let help = format!("name an axis: `{text}.x`, `{text}.y` or `{text}.z`");
            return self.refuse(place, format!("`{text}` is no number"), help);
        }
        if Intrinsic::from_name(&text, Form::Function).is_some() {
            return self.refuse(
                place,
                format!("`{text}` is a function"),
                format!("call it: `{}`", suggest::member(&text).unwrap_or(text.clone())),
            );
        }
        self.unknown(name)
    }

    /// An argument that is a number, in the attribute: a launch has the indices among them.
    fn scalar_in_attribute(&mut self, number: usize, place: Place) -> ExprId {
        let (name, ty) = self.scalars[number].clone();
        match ty {
            Some(TypeRef::Usize | TypeRef::Isize) if self.at_launch => {
                self.add(place, ExprKind::Argument(number as u32))
            }
            Some(TypeRef::Usize | TypeRef::Isize) => self.refuse(
                place,
                format!("`{name}` is known at launch, and this is needed at compile time"),
                "`grid`, `require` and `variant_if` may name it; else bind a parameter in the attribute",
            ),
            _ => self.refuse(
                place,
                format!("`{name}` has no value in the attribute"),
                format!("make it an index, `{name}: usize`: of the arguments the attribute may name indices"),
            ),
        }
    }

    /// `Point::SIZE` in the attribute: its place among the constants.
    fn constant_of_a_struct(&self, node: &ExprPath) -> Option<usize> {
        let text = suggest::text_of(&node.path);
        self.constants.iter().position(|(known, _)| *known == text).filter(|_| self.site == Site::Attribute)
    }

    /// A `const` item of the body or of the module in the attribute: its value is where its name does.
    fn constant_in_attribute(&mut self, number: usize, place: Place) -> ExprId {
        let value = self.constants[number].1.clone();
        self.inlined(&value, place)
    }

    fn inlined(&mut self, value: &Expr, place: Place) -> ExprId {
        self.inlined += 1;
        if self.inlined > MAX_INLINED {
            return self.refuse(
                place,
                format!("the attribute names constants more than {MAX_INLINED} times, through each other"),
                "write their numbers",
            );
        }
        self.expr(value)
    }

    /// Refuses `thread_idx.y` of a block of one axis, which is always 0.
    pub(super) fn absent_axis(&mut self, place: Place, special: Special, axis: usize) -> Option<ExprId> {
        let (entry, base, written) = match special {
            Special::ThreadIdx => ("block", "thread_idx", self.kernel.block.len()),
            Special::BlockIdx => ("grid", "block_idx", self.kernel.grid.as_ref().map_or(0, Vec::len)),
            Special::BlockDim | Special::GridDim => return None,
        };
        let names = ["x", "y", "z"];
        if !matches!(self.site, Site::Body) || written == 0 || axis < written {
            return None;
        }
        let (name, axes) =
            (names[axis], if written == 1 { "1 axis".to_owned() } else { format!("{written} axes") });
        let help = format!(
            "give `{entry}` the axis, `{entry} = [{}]`, or leave `{base}.{name}` out",
            names[..=axis].join(", ")
        );
        Some(self.refuse(place, format!("`{base}.{name}` is always 0: `{entry}` has {axes}"), help))
    }

    /// A name that means nothing.
    pub(super) fn unknown(&mut self, name: &Ident) -> ExprId {
        let (text, place) = (name.unraw().to_string(), Place::token(name.span()));
        if let Some(way) = suggest::constant(&text) {
            return self.refuse(place, format!("cannot find `{text}` in this kernel"), way);
        }
        let other_case = |known: &String| *known != text && known.eq_ignore_ascii_case(&text);
        let near = suggest::place(&text).map(str::to_owned).or_else(|| self.nearest(&text));
        let upper_case = text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        if upper_case && !near.as_ref().is_some_and(other_case) {
            return self.refuse(
                place,
                format!("`{text}` is neither bound in the attribute nor a const generic"),
                format!(
                    "bind it (`#[tiled_kernel({text} = 64)]`), make it a dimension (`const {text}: usize`), or write the \
                     constant inside of the kernel, or beside it in a module under `#[tiled_kernels]`: a macro sees nothing \
                     of the program around its item"
                ),
            );
        }
        let help = match near {
            Some(near) => format!("is `{near}` meant?"),
            None if matches!(self.site, Site::Function(_)) => format!(
                "a nested function sees its parameters and the `const` items around it: add a parameter for `{text}`, or \
                 write a closure, `|v| ..`, behind the `let`"
            ),
            None => "a kernel sees its arguments, dimensions, parameters, locals and the vocabulary; \
                     pass other values as arguments"
                .to_owned(),
        };
        self.refuse(place, format!("cannot find `{text}` in this kernel"), help)
    }

    /// A known name that is spelled nearly so.
    fn nearest(&self, text: &str) -> Option<String> {
        let functions =
            Intrinsic::ALL.iter().filter(|known| known.form() == Form::Function).map(|known| known.name());
        let kernel = &self.kernel;
        let known = (self.scopes.names())
            .chain(kernel.parameters.iter().map(|parameter| parameter.name.as_str()))
            .chain(kernel.dims.iter().map(String::as_str))
            .chain(functions)
            .chain(["thread_idx", "block_idx", "block_dim", "grid_dim"]);
        suggest::nearest(text, known).map(str::to_owned)
    }
}

impl Lowering<'_> {
    /// [`limit`], of what is a type here.
    fn limit(&mut self, node: &ExprPath) -> Option<ExprKind> {
        let first = node.path.segments.first()?.ident.clone();
        let ty = self.type_named(&syn::Type::Path(syn::TypePath {
            attrs: vec![],
            qself: None,
            path: first.into(),
        }));
        limit(node, ty)
    }
}

/// `f32::INFINITY`, `T::MAX`: constants of the element types; `consts::PI` of `f32`, `std::f64::consts::PI`.
fn limit(node: &ExprPath, first: Option<TypeRef>) -> Option<ExprKind> {
    if node.qself.is_some() {
        return None;
    }
    let segments: Vec<String> = node.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let (elem, name) = match segments.as_slice() {
        [ty, name] if *ty != "consts" => {
            let known = Known::from_name(name)?;
            let ty = match first {
                Some(known @ (TypeRef::Parameter(_) | TypeRef::Elem(_))) => known,
                _ => TypeRef::Elem(Elem::from_name(ty)?),
            };
            if let TypeRef::Elem(elem) = ty {
                Constant::known(elem, known)?;
            }
            return Some(ExprKind::Known(known, ty));
        }
        ["consts", name] => (Elem::F32, name),
        ["f32", "consts", name] | ["std" | "core", "f32", "consts", name] => (Elem::F32, name),
        ["f64", "consts", name] | ["std" | "core", "f64", "consts", name] => (Elem::F64, name),
        _ => return None,
    };
    // As a double: the nearest `f32` of it is Rust's, which a test compares.
    let (_, value) = CONSTANTS.iter().find(|(known, _)| known == name)?;
    Some(ExprKind::Float(value.to_bits(), Some(TypeRef::Elem(elem))))
}

/// The names of `std::f32::consts` and `std::f64::consts`.
const CONSTANTS: [(&str, f64); 19] = {
    use std::f64::consts as c;
    [
        ("E", c::E),
        ("FRAC_1_PI", c::FRAC_1_PI),
        ("FRAC_1_SQRT_2", c::FRAC_1_SQRT_2),
        ("FRAC_2_PI", c::FRAC_2_PI),
        ("FRAC_2_SQRT_PI", c::FRAC_2_SQRT_PI),
        ("FRAC_PI_2", c::FRAC_PI_2),
        ("FRAC_PI_3", c::FRAC_PI_3),
        ("FRAC_PI_4", c::FRAC_PI_4),
        ("FRAC_PI_6", c::FRAC_PI_6),
        ("FRAC_PI_8", c::FRAC_PI_8),
        ("LN_2", c::LN_2),
        ("LN_10", c::LN_10),
        ("LOG2_10", c::LOG2_10),
        ("LOG2_E", c::LOG2_E),
        ("LOG10_2", c::LOG10_2),
        ("LOG10_E", c::LOG10_E),
        ("PI", c::PI),
        ("SQRT_2", c::SQRT_2),
        ("TAU", c::TAU),
    ]
};

/// The name that an expression of fields begins with.
pub(super) fn root(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Path(path) => path.path.get_ident(),
        Expr::Field(field) => root(&field.base),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_constant_rounded_to_f32_is_rusts() {
        use std::f32::consts as c;
        let rust = [
            c::E,
            c::FRAC_1_PI,
            c::FRAC_1_SQRT_2,
            c::FRAC_2_PI,
            c::FRAC_2_SQRT_PI,
            c::FRAC_PI_2,
            c::FRAC_PI_3,
            c::FRAC_PI_4,
            c::FRAC_PI_6,
            c::FRAC_PI_8,
            c::LN_2,
            c::LN_10,
            c::LOG2_10,
            c::LOG2_E,
            c::LOG10_2,
            c::LOG10_E,
            c::PI,
            c::SQRT_2,
            c::TAU,
        ];
        assert_eq!(super::CONSTANTS.map(|(_, value)| value as f32), rust);
    }
}
