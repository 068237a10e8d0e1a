//! The kernel as a whole: attribute, signature and body together.

use super::attribute_constants::{constants_at_the_head, of_generics};
use super::scope::{Binding, Scopes};
use super::{Lowered, Lowering, Site};
use crate::attr::{Attribute, Bound, Written};
use crate::report::Errors;
use crate::signature::{Kind, LayoutType, Signature};
use crate::span::Place;
use layout_compiler::ir::{
    Argument, ArgumentKind, ArgumentLayout, Block, ExprId, ExprKind, Kernel, LocalId, Parameter,
    StatementKind, TypeRef, VariantIf,
};
use layout_compiler::{Missing, ParamSet, ParamValue, follow};
use proc_macro2::Ident;
use std::collections::{HashMap, HashSet};
use syn::ext::IdentExt;
use syn::{Expr, Item, ItemFn, Stmt};

/// Lowers a kernel; what is wrong goes to `errors`, and the result is then of no use.
pub fn lower(
    attribute: &Attribute,
    signature: &Signature,
    function: &ItemFn,
    errors: &mut Errors,
) -> Lowered {
    let kernel = Kernel {
        name: function.sig.ident.unraw().to_string(),
        parameters: vec![],
        filter: vec![],
        dims: signature.dims.iter().map(Ident::to_string).collect(),
        types: signature.types.iter().map(Ident::to_string).collect(),
        own_types: vec![],
        arguments: vec![],
        block: vec![],
        grid: None,
        open_grid: false,
        cluster: vec![],
        arch: None,
        min_blocks: None,
        opt_level: None,
        fast_math: None,
        deny: attribute.deny.clone(),
        cooperative: None,
        require: vec![],
        allow: vec![],
        variant_if: vec![],
        functions: vec![],
        body: Block::default(),
        locals: vec![],
        exprs: vec![],
        signed: vec![],
        positions: vec![],
    };
    let mut lowering = Lowering {
        kernel,
        places: vec![],
        errors,
        scopes: Scopes::default(),
        counters: vec![],
        types: signature.types.clone(),
        constants: constants_at_the_head(function),
        of_generics: of_generics(function),
        functions_at_the_head: functions_at_the_head(function),
        inlined: 0,
        generics: vec![],
        used_parameters: vec![false; attribute.parameters.len()],
        depth: 0,
        too_deep: false,
        around: vec![],
        written: HashMap::new(),
        returns: HashMap::new(),
        references: HashMap::new(),
        structs: Default::default(),
        wanted: Default::default(),
        own: Place::token(function.sig.fn_token.span),
        site: Site::Attribute,
        scalars: scalars(signature),
        allowed: vec![],
        at_launch: false,
        bound: vec![],
        assigned: vec![],
        calls: vec![],
    };
    lowering.parameters(attribute);
    lowering.kinds(attribute, signature);
    lowering.attribute(attribute);
    lowering.arguments(signature);
    lowering.dims_in_tensors(signature);
    lowering.site = Site::Body;
    lowering.body(function);
    let small_floats = lowering.infer_literals();
    lowering.no_recursion();
    let configuration = lowering.configuration(attribute, function);
    if !lowering.kernel.block.is_empty() {
        // An entry that is missing may be what a parameter is for.
        lowering.all_used(attribute);
    }
    let unused = lowering.never_read();
    Lowered { kernel: lowering.kernel, places: lowering.places, configuration, small_floats, unused }
}

/// The arguments, by number, each with the type of one that is a number.
fn scalars(signature: &Signature) -> Vec<(String, Option<TypeRef>)> {
    let one = |argument: &crate::signature::Argument| {
        let ty = match argument.kind {
            Kind::Scalar(ty) => Some(ty),
            Kind::Tensor { .. } | Kind::Unknown => None,
        };
        (argument.name.unraw().to_string(), ty)
    };
    signature.arguments.iter().map(one).collect()
}

/// The functions of the body's outermost block.
fn functions_at_the_head(function: &ItemFn) -> Vec<Ident> {
    let own = |statement: &Stmt| match statement {
        Stmt::Item(Item::Fn(item)) => Some(item.sig.ident.clone()),
        _ => None,
    };
    function.block.stmts.iter().filter_map(own).collect()
}

impl Lowering<'_> {
    /// The names first: an expression of one may name another.
    fn parameters(&mut self, attribute: &Attribute) {
        for bound in &attribute.parameters {
            let origin = self.origin(Place::token(bound.name.span()));
            let known = bound.values.iter().filter_map(|value| match value {
                Written::Known(value) => Some(*value),
                Written::Open(_) => None,
            });
            let (name, values) = (bound.name.to_string(), known.collect());
            self.kernel.parameters.push(Parameter { name, values, computed: None, origin });
        }
        for (number, bound) in attribute.parameters.iter().enumerate() {
            if bound.values.iter().any(|value| matches!(value, Written::Open(_))) {
                self.open_values(number, bound);
            }
            self.values(number, bound);
        }
    }

    /// The values of a parameter that name something: numbers by now, or one expression over other parameters.
    fn open_values(&mut self, number: usize, bound: &Bound) {
        let mut values = vec![];
        for value in &bound.values {
            let expr = match value {
                Written::Known(value) => {
                    values.push(*value);
                    continue;
                }
                Written::Open(expr) => expr,
            };
            if let Expr::Path(path) = &**expr
                && let Some(name) = path.path.get_ident()
                && self.functions_at_the_head.iter().any(|known| name == known)
            {
                let name: &'static str = name.unraw().to_string().leak();
                values.push(ParamValue::Function(name));
                continue;
            }
            let (errors, before) = (self.errors.len(), self.kernel.exprs.len());
            let id = self.expr(expr);
            if self.errors.len() > errors {
                continue;
            }
            let names_one = self.kernel.exprs[before..].iter().any(|expr| match &expr.kind {
                ExprKind::Parameter(_) => true,
                ExprKind::Intrinsic(_, types, _) => {
                    types.iter().any(|ty| matches!(ty, TypeRef::Parameter(_)))
                }
                _ => false,
            });
            match self.kernel.constant(id, &ParamSet::default()) {
                Ok(value) => values.push(value),
                Err(_) if names_one && !bound.list => self.kernel.parameters[number].computed = Some(id),
                Err(_) if names_one => self.errors.push(
                    Place::of_expr(expr),
                    format!("a value of the list of `{}` depends on another parameter", bound.name),
                    "give an expression over parameters alone, not in a list: `BM = 64 * WARPS`; list the values of its parameters",
                ),
                Err(error) => self.errors.stage(&error, &self.places),
            }
        }
        self.kernel.parameters[number].values = values;
    }

    /// All of one kind, each once.
    fn values(&mut self, number: usize, bound: &Bound) {
        let Parameter { values, computed, .. } = &mut self.kernel.parameters[number];
        let name = &bound.name;
        let first = std::mem::discriminant(values.first().unwrap_or(&ParamValue::Int(1)));
        let (message, help) = if values.iter().any(|other| std::mem::discriminant(other) != first) {
            (
                format!("the values of `{name}` are of several kinds"),
                "a list holds integers, truth values, element types or functions",
            )
        } else if let Some(twice) = (1..values.len()).find(|i| values[..*i].contains(&values[*i])) {
            (
                format!("`{name}` has the value {} twice", values[twice]),
                "each value makes a variant: name it once",
            )
        } else {
            if values.is_empty() && computed.is_none() {
                values.push(ParamValue::Int(1)); // its error is reported
            }
            return;
        };
        self.errors.push(Place::token(name.span()), message, help);
    }

    fn kinds(&mut self, attribute: &Attribute, signature: &Signature) {
        for (number, bound) in attribute.parameters.iter().enumerate() {
            let name = bound.name.to_string();
            let place = Place::token(bound.name.span());
            let is_type = matches!(self.kernel.parameters[number].values.first(), Some(ParamValue::Type(_)));
            let help = if signature.dims.contains(&bound.name) && is_type {
                format!("`{name}` is a dimension: bind it to an integer")
            } else if signature.types.contains(&bound.name) && !is_type {
                format!("`{name}` is a type: bind it to an element type, `{name} = f32`")
            } else if is_type && !signature.types.contains(&bound.name) {
                format!("make it a type parameter of the function: `fn {}<{name}, ..>`", self.kernel.name)
            } else {
                continue;
            };
            self.errors.push(
                place,
                format!("`{name}` is bound to a value of another kind than it has"),
                help,
            );
        }
        for name in &signature.types {
            if !attribute.parameters.iter().any(|bound| bound.name == *name) {
                self.errors.push(
                    Place::token(name.span()),
                    format!("type parameter `{name}` is not bound"),
                    format!("bind it in the attribute: `{name} = f32`, or `{name} = [f32, f64]` for a variant of each"),
                );
            }
        }
        for names in [&signature.dims, &signature.types] {
            for (number, name) in names.iter().enumerate() {
                if names[..number].contains(name) {
                    self.errors.push(
                        Place::token(name.span()),
                        format!("`{name}` is declared twice"),
                        "rename one",
                    );
                }
            }
        }
    }

    fn attribute(&mut self, attribute: &Attribute) {
        if let Some((_, axes)) = &attribute.block {
            self.kernel.block = self.exprs(axes);
        }
        self.at_launch = true;
        if let Some((_, axes)) = &attribute.grid {
            self.kernel.grid = Some(self.exprs(axes));
        }
        self.at_launch = false;
        if let Some((_, axes)) = &attribute.cluster {
            self.kernel.cluster = self.exprs(axes);
        }
        if let Some((_, value)) = &attribute.arch {
            self.kernel.arch = Some(self.expr(value));
        }
        if let Some((_, value)) = &attribute.min_blocks {
            self.kernel.min_blocks = Some(self.expr(value));
        }
        if let Some((_, value)) = &attribute.opt_level {
            self.kernel.opt_level = Some(self.expr(value));
        }
        self.kernel.filter = self.exprs(&attribute.filter);
        if let Some((_, value)) = &attribute.fast_math {
            self.kernel.fast_math = Some(self.expr(value));
        }
        if let Some((_, value)) = &attribute.cooperative {
            self.kernel.cooperative = Some(self.expr(value));
        }
        self.at_launch = true;
        self.kernel.require = self.exprs(&attribute.require);
        for (conditions, deny) in &attribute.variant_if {
            let conditions = self.exprs(conditions);
            self.kernel.variant_if.push(VariantIf { conditions, deny: deny.clone() });
        }
        self.at_launch = false;
    }

    fn exprs(&mut self, exprs: &[Expr]) -> Vec<ExprId> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    fn arguments(&mut self, signature: &Signature) {
        for argument in &signature.arguments {
            self.free(&argument.name);
            let kind = match &argument.kind {
                Kind::Tensor { elem, layout, extents, mutable } => {
                    self.use_type(*elem);
                    let layout = match layout {
                        LayoutType::Named(layout) => *layout,
                        LayoutType::Contiguous(mode) => ArgumentLayout::Contiguous(self.expr(mode)),
                    };
                    let extents = extents.iter().map(|extent| self.extent(&argument.name, extent)).collect();
                    ArgumentKind::Tensor { elem: *elem, layout, extents, mutable: *mutable }
                }
                Kind::Scalar(ty) => {
                    self.use_type(*ty);
                    ArgumentKind::Scalar(*ty)
                }
                // Reported where the signature was read; the name stays known to the body.
                Kind::Unknown => ArgumentKind::Scalar(TypeRef::Usize),
            };
            let origin = self.origin(Place::token(argument.name.span()));
            self.kernel.arguments.push(Argument { name: argument.name.unraw().to_string(), kind, origin });
        }
        // After every extent is resolved: an extent is no argument.
        for (number, argument) in signature.arguments.iter().enumerate() {
            self.scopes.bind(argument.name.unraw().to_string(), Binding::Argument(number as u32));
        }
    }

    /// The names of the body that nothing reads: rustc's lint is for them. A function that is lowered several times has each several times.
    fn never_read(&self) -> Vec<Ident> {
        let reads = self.kernel.exprs.iter().enumerate().filter_map(|(id, expr)| match expr.kind {
            ExprKind::Local(local) if !self.assigned.contains(&ExprId(id as u32)) => Some(local),
            _ => None,
        });
        let read: HashSet<LocalId> = reads.collect();
        // Spans have no equality on a stable compiler.
        let place = |name: &Ident| format!("{:?}", name.span());
        let (used, other): (Vec<_>, Vec<_>) = self.bound.iter().partition(|(local, _)| read.contains(local));
        let used: HashSet<String> = used.iter().map(|(_, name)| place(name)).collect();
        let unused = other.into_iter().map(|(_, name)| name.clone());
        unused.filter(|name| !name.to_string().starts_with('_') && !used.contains(&place(name))).collect()
    }

    /// An extent of a tensor. A name that is no dimension is meant as one.
    fn extent(&mut self, tensor: &Ident, extent: &Expr) -> ExprId {
        if let Expr::Path(path) = extent
            && let Some(name) = path.path.get_ident().map(Ident::to_string)
        {
            let argument = self.scalars.iter().any(|(known, ty)| *known == name && ty.is_some());
            let constant = self.constants.iter().any(|(known, _)| *known == name);
            let known = self.kernel.dims.contains(&name)
                || constant
                || self.kernel.parameters.iter().any(|parameter| parameter.name == name);
            if !known && (argument || name.chars().any(char::is_lowercase)) {
                let (dim, kernel) = (name.to_uppercase(), self.kernel.name.clone());
                let what = if argument { "an argument, known at launch" } else { "no dimension" };
                return self.refuse(
                    Place::of_expr(extent),
                    format!("an extent of `{tensor}` is `{name}`, which is {what}"),
                    format!(
                        "make it a dimension, `fn {kernel}<const {dim}: usize>(..)`, and write `{dim}` here: each launch takes it from \
                         the tensor"
                    ),
                );
            }
        }
        self.expr(extent)
    }

    /// Counts a type parameter as used.
    pub(super) fn use_type(&mut self, ty: TypeRef) {
        let TypeRef::Parameter(number) = ty else { return };
        // A nested function's own is none of the attribute's.
        let Some(name) = self.kernel.types.get(number as usize) else { return };
        if let Some(number) = self.kernel.parameters.iter().position(|parameter| parameter.name == *name) {
            self.used_parameters[number] = true;
        }
    }

    /// Every dimension is found in some tensor, else launch could not know it.
    fn dims_in_tensors(&mut self, signature: &Signature) {
        for (number, name) in signature.dims.iter().enumerate() {
            let bound = self.kernel.parameters.iter().position(|parameter| name == &parameter.name);
            if let Some(parameter) = bound {
                self.used_parameters[parameter] = true;
                continue;
            }
            let known = self.kernel.arguments.iter().any(|argument| match &argument.kind {
                ArgumentKind::Tensor { extents, .. } => extents
                    .iter()
                    .any(|id| self.kernel.exprs[id.0 as usize].kind == ExprKind::Dim(number as u32)),
                ArgumentKind::Scalar(_) => false,
            });
            let understood =
                signature.arguments.iter().all(|argument| !matches!(argument.kind, Kind::Unknown));
            if !known && understood {
                self.errors.push(
                    Place::token(name.span()),
                    format!("dimension `{name}` is the extent of no tensor, so launch cannot know it"),
                    format!(
                        "name it in a tensor's type, bind it in the attribute, or pass it as `{}: usize`",
                        { name.to_string().to_lowercase() }
                    ),
                );
            }
        }
    }

    fn body(&mut self, function: &ItemFn) {
        let mut body = self.function_body(&function.block);
        // The kernel returns nothing: what is last is a statement like every other.
        if let Some(value) = body.value.take() {
            let origin = self.kernel.exprs[value.0 as usize].origin;
            let place = self.places[origin.0 as usize];
            let statement = self.statement(place, StatementKind::Expr(value));
            body.statements.push(statement);
        }
        self.kernel.body = body;
    }

    /// The entries that follow from the body, as text. A kernel with neither entry has both; one with a `block` may leave its grid to the
    /// launch.
    fn configuration(&mut self, attribute: &Attribute, function: &ItemFn) -> Option<String> {
        let place = Place::token(function.sig.ident.span());
        let open = attribute.block.is_none();
        if !self.errors.is_empty() {
            // An error of the body may be why nothing follows.
            return None;
        }
        let origin = self.origin(place);
        let entries = follow(&mut self.kernel, origin);
        self.kernel.open_grid = !open && matches!(entries[1], Some(Ok(_)));
        let mut texts = vec![];
        for (name, what, entry) in [
            ("block", "how many threads a block has", &entries[0]),
            ("grid", "how many blocks the grid has", &entries[1]),
        ] {
            match entry {
                Some(Ok(text)) => texts.push(format!("`{name} = {text}`")),
                Some(Err(Missing { found, help })) if open => {
                    let message = format!("neither the attribute nor the body says {what}: {found}");
                    self.errors.push(place, message, help);
                    return None;
                }
                Some(Err(_)) | None => {}
            }
        }
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    fn all_used(&mut self, attribute: &Attribute) {
        for (bound, used) in attribute.parameters.iter().zip(self.used_parameters.clone()) {
            if !used {
                self.errors.push(
                    Place::token(bound.name.span()),
                    format!("parameter `{}` is not used", bound.name),
                    "leave it out, or use it in the kernel, in `block`, `grid`, `require` or `variant_if`",
                );
            }
        }
    }
}
