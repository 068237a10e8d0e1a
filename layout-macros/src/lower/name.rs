//! What a name or a path means.

use super::scope::{Binding, Found};
use super::{Lowering, Site, near};
use crate::place::Place;
use layout_core::kernel::Elem;
use layout_core::kernel::intrinsic::{Form, Intrinsic};
use layout_core::kernel::ir::{ExprId, ExprKind, Special, TypeRef};
use proc_macro2::Ident;
use syn::ExprPath;
use syn::ext::IdentExt;

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
    pub(super) fn path(&mut self, node: &ExprPath) -> ExprId {
        let place = Place::of(&node.path);
        match node.path.get_ident() {
            Some(name) if node.qself.is_none() => self.name(name),
            _ => match limit(node, &self.types) {
                Some(kind) => self.add(place, kind),
                None => self.refuse(
                    place,
                    "a kernel cannot name items of the program around it",
                    "bind the value in the attribute (`SIZE = 64`), pass it as an argument, or write the function inside \
                     the kernel; of the types' constants there are `f32::INFINITY`, `i32::MAX` and the like",
                ),
            },
        }
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
            if let Some(elem) = Elem::from_name(&text) {
                return self.add(place, ExprKind::Type(elem));
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
            return self.refuse(place, format!("`{text}` is a function"), format!("call it: `{text}(..)`"));
        }
        self.unknown(name)
    }

    /// A `const` item of the body or of the module in the attribute: its value stands where its name does.
    fn constant_in_attribute(&mut self, number: usize, place: Place) -> ExprId {
        self.inlined += 1;
        if self.inlined > MAX_INLINED {
            return self.refuse(
                place,
                format!("the attribute names constants more than {MAX_INLINED} times, through each other"),
                "write their numbers",
            );
        }
        let value = self.constants[number].1.clone();
        self.expr(&value)
    }

    /// A name that means nothing.
    pub(super) fn unknown(&mut self, name: &Ident) -> ExprId {
        let (text, place) = (name.unraw().to_string(), Place::token(name.span()));
        let upper_case = text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        if upper_case {
            return self.refuse(
                place,
                format!("`{text}` is neither bound in the attribute nor a const generic"),
                format!(
                    "bind it (`#[tiled_kernel({text} = 64)]`), make it a dimension (`const {text}: usize`), or put a \
                     constant and the kernel into one module under `#[tiled_kernels]`: a macro sees nothing of the \
                     program around its item"
                ),
            );
        }
        let meant = near::place(&text).map(str::to_owned).or_else(|| self.nearest(&text));
        let help = match meant {
            Some(near) => format!("is `{near}` meant?"),
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
        near::nearest(text, known).map(str::to_owned)
    }
}

/// `f32::INFINITY`, `i32::MAX`: constants of the element types.
fn limit(node: &ExprPath, types: &[Ident]) -> Option<ExprKind> {
    if node.qself.is_some() || node.path.segments.len() != 2 {
        return None;
    }
    let ty = node.path.segments[0].ident.to_string();
    let name = node.path.segments[1].ident.to_string();
    if let Some(number) = types.iter().position(|known| *known == ty) {
        // What every float type has; the others' values depend on the type.
        let value = match name.as_str() {
            "INFINITY" => f64::INFINITY,
            "NEG_INFINITY" => f64::NEG_INFINITY,
            "NAN" => f64::NAN,
            "ZERO" => 0.0,
            "ONE" => 1.0,
            _ => return None,
        };
        return Some(ExprKind::Float(value.to_bits(), Some(TypeRef::Parameter(number as u32))));
    }
    let elem = Elem::from_name(&ty)?;
    let suffix = Some(TypeRef::Elem(elem));
    if elem.is_float() {
        let value = match (elem, name.as_str()) {
            (Elem::E4m3 | Elem::E5m2, "INFINITY" | "NEG_INFINITY" | "NAN") => return None,
            (_, "INFINITY") => f64::INFINITY,
            (_, "NEG_INFINITY") => f64::NEG_INFINITY,
            (_, "NAN") => f64::NAN,
            (Elem::F32 | Elem::F64, "ZERO" | "ONE") => return None,
            (_, "ZERO") => 0.0,
            (_, "ONE") => 1.0,
            (Elem::F16, "MAX") => 65504.0,
            (Elem::F16, "MIN") => -65504.0,
            (Elem::Bf16, "MAX") => f64::from(f32::from_bits(0x7f7f_0000)),
            (Elem::Bf16, "MIN") => f64::from(f32::from_bits(0xff7f_0000)),
            (Elem::E4m3, "MAX") => 448.0,
            (Elem::E4m3, "MIN") => -448.0,
            (Elem::E5m2, "MAX") => 57344.0,
            (Elem::E5m2, "MIN") => -57344.0,
            (Elem::F32, "MAX") => f64::from(f32::MAX),
            (Elem::F32, "MIN") => f64::from(f32::MIN),
            (Elem::F32, "EPSILON") => f64::from(f32::EPSILON),
            (Elem::F32, "MIN_POSITIVE") => f64::from(f32::MIN_POSITIVE),
            (Elem::F64, "MAX") => f64::MAX,
            (Elem::F64, "MIN") => f64::MIN,
            (Elem::F64, "EPSILON") => f64::EPSILON,
            (Elem::F64, "MIN_POSITIVE") => f64::MIN_POSITIVE,
            _ => return None,
        };
        return Some(ExprKind::Float(value.to_bits(), suffix));
    }
    let (least, most) = match elem {
        Elem::I64 => (i64::MIN, i64::MAX),
        Elem::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        Elem::U32 => (0, i64::from(u32::MAX)),
        Elem::I8 => (i64::from(i8::MIN), i64::from(i8::MAX)),
        Elem::U8 => (0, i64::from(u8::MAX)),
        _ => return None,
    };
    match name.as_str() {
        "MIN" => Some(ExprKind::Int(least, suffix)),
        "MAX" => Some(ExprKind::Int(most, suffix)),
        _ => None,
    }
}
