//! Which values are structs, so that `.field` and `.method()` have a meaning when they are lowered.
//!
//! Law: what is said here of a value follows from a struct literal, from a declared type, or from what names or holds such a
//! value. Where nothing follows, a field or a method that one struct alone has decides: rustc has checked that the value has
//! it. Otherwise the type is asked for.

use super::Lowering;
use layout_compiler::ir::{Block, ExprId, ExprKind, LocalId, Pattern};
use syn::{ReturnType, Type, TypeParamBound};

/// What is known of a value, as far as structs go.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Shape {
    /// Nothing, or a number, a view and the like.
    #[default]
    Other,
    /// The struct of this number.
    Struct(u32),
    Tuple(Vec<Shape>),
    Array(Box<Shape>),
    /// A function, and what it gives.
    Function(Box<Shape>),
}

impl Lowering<'_> {
    /// What a written type says.
    pub(super) fn shape_of_type(&mut self, ty: &Type) -> Shape {
        if self.structs.all.is_empty() {
            return Shape::Other;
        }
        match ty {
            Type::Group(group) => self.shape_of_type(&group.elem),
            Type::Paren(paren) => self.shape_of_type(&paren.elem),
            Type::Reference(reference) => self.shape_of_type(&reference.elem),
            Type::Tuple(tuple) => {
                Shape::Tuple(tuple.elems.iter().map(|part| self.shape_of_type(part)).collect())
            }
            Type::Array(array) => Shape::Array(Box::new(self.shape_of_type(&array.elem))),
            Type::ImplTrait(bounds) => {
                let result = bounds.bounds.iter().find_map(|bound| match bound {
                    TypeParamBound::Trait(bound) => match &bound.path.segments.last()?.arguments {
                        syn::PathArguments::Parenthesized(called) => match &called.output {
                            ReturnType::Type(_, ty) => Some(self.shape_of_type(ty)),
                            ReturnType::Default => None,
                        },
                        _ => None,
                    },
                    _ => None,
                });
                result.map_or(Shape::Other, |result| Shape::Function(Box::new(result)))
            }
            Type::Path(path) if path.qself.is_none() => {
                self.type_at(&path.path).map_or(Shape::Other, |known| known.shape)
            }
            _ => Shape::Other,
        }
    }

    /// What is known of an expression's value.
    pub(super) fn shape_of(&self, id: ExprId) -> Shape {
        if self.structs.all.is_empty() {
            return Shape::Other;
        }
        if let Some(number) = self.structs.made.get(&id) {
            return Shape::Struct(*number);
        }
        let of_block = |block: &Block| block.value.map_or(Shape::Other, |value| self.shape_of(value));
        match &self.kernel.exprs[id.0 as usize].kind {
            ExprKind::Local(local) => self.structs.locals.get(local).cloned().unwrap_or(Shape::Other),
            ExprKind::Borrow(of) => self.shape_of(*of),
            ExprKind::Field(of, number) => self.part(&self.shape_of(*of), *number as usize),
            ExprKind::Element(of, _) => match self.shape_of(*of) {
                Shape::Array(element) => *element,
                _ => Shape::Other,
            },
            ExprKind::Tuple(parts) => Shape::Tuple(parts.iter().map(|part| self.shape_of(*part)).collect()),
            ExprKind::Array(parts) => {
                Shape::Array(Box::new(parts.first().map_or(Shape::Other, |part| self.shape_of(*part))))
            }
            ExprKind::Repeat(value, _) => Shape::Array(Box::new(self.shape_of(*value))),
            ExprKind::Call(function, _) => {
                self.structs.results.get(function).cloned().unwrap_or(Shape::Other)
            }
            ExprKind::Function(function) => {
                Shape::Function(Box::new(match self.structs.results.get(function) {
                    Some(written) => written.clone(),
                    None => of_block(&self.kernel.functions[*function as usize].body),
                }))
            }
            ExprKind::CallValue(callee, _) => match self.shape_of(*callee) {
                Shape::Function(result) => *result,
                _ => Shape::Other,
            },
            ExprKind::Block(block) => of_block(block),
            ExprKind::If(_, then, otherwise) => match of_block(then) {
                Shape::Other => of_block(otherwise),
                known => known,
            },
            _ => Shape::Other,
        }
    }

    /// A part of a tuple, of a struct, or of an array that is taken apart.
    pub(super) fn part(&self, whole: &Shape, number: usize) -> Shape {
        let parts = match whole {
            Shape::Tuple(parts) => parts,
            Shape::Struct(of) => &self.structs.all[*of as usize].shapes,
            Shape::Array(element) => return (**element).clone(),
            Shape::Other | Shape::Function(_) => return Shape::Other,
        };
        parts.get(number).cloned().unwrap_or(Shape::Other)
    }

    /// The names of a pattern are what the parts of its value are.
    pub(super) fn shape_like(&mut self, pattern: &Pattern, shape: &Shape) {
        if *shape == Shape::Other {
            return;
        }
        match pattern {
            Pattern::Local(local) => self.shaped(*local, shape.clone()),
            Pattern::Tuple(parts) => {
                for (number, part) in parts.iter().enumerate() {
                    let shape = self.part(shape, number);
                    self.shape_like(part, &shape);
                }
            }
            Pattern::Wildcard => {}
        }
    }

    /// A local is of this shape, where nothing else is known of it.
    pub(super) fn shaped(&mut self, local: LocalId, shape: Shape) {
        if shape != Shape::Other {
            self.structs.locals.entry(local).or_insert(shape);
        }
    }

    /// The struct of an expression's value.
    pub(super) fn struct_of(&self, id: ExprId) -> Option<u32> {
        match self.shape_of(id) {
            Shape::Struct(number) => Some(number),
            _ => None,
        }
    }

    /// The struct of a value whose field or method only one struct has.
    pub(super) fn decided(&mut self, id: ExprId, number: u32) {
        if let ExprKind::Local(local) = self.kernel.exprs[id.0 as usize].kind {
            self.shaped(local, Shape::Struct(number));
        }
        self.structs.made.insert(id, number);
    }
}
