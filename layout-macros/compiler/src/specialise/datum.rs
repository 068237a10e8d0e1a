//! The values of the partial evaluator.

use super::registers::LValue;
use super::tile::TileAccess;
use crate::elem::Elem;
use crate::index::{Index, VarId};
use crate::ir::LocalId;
use crate::program::{BarrierAt, PlaceId, TensorCore, Value};
use crate::view::View;
use layout_core::{Layout, Swizzle};
use std::collections::HashMap;
use std::rc::Rc;

/// A value known now, or the code that makes it later.
#[derive(Clone, Debug)]
pub(super) enum StaticValue {
    /// `()`
    Unit,
    /// An index; a number where all of it is known.
    Index(Index),
    /// A float literal whose type is not known yet.
    Float(f64),
    /// A truth value known now.
    Bool(bool),
    /// A value of a thread.
    Scalar(Value<TileAccess>, Elem),
    /// `(a, b)`
    Tuple(Vec<StaticValue>),
    /// `[a, b]`
    Array(Vec<StaticValue>),
    /// A view.
    View(View),
    /// A layout: shape, strides, swizzle.
    Layout(LayoutDatum),
    /// An array of mbarriers and how many they are.
    Barriers(PlaceId, i64),
    /// The stage and the phase of a ring of so many stages: two mutable index variables.
    Pipeline(VarId, VarId, i64),
    /// An mbarrier.
    Barrier(BarrierAt),
    /// A matrix instruction.
    TensorCore(TensorCore),
    /// A function of this number, with the names that it sees.
    Function(u32, Rc<HashMap<LocalId, Binding>>),
    /// `&mut x`: what a name represents, handed on.
    Borrowed(Box<Binding>),
    /// What could not be evaluated; its error is already reported.
    Unknown,
}

/// A layout known now, with a swizzle over its offsets.
#[derive(Clone, Debug)]
pub(super) struct LayoutDatum {
    /// The layout, of one level.
    pub layout: Layout,
    /// The swizzle, in elements.
    pub swizzle: Option<Swizzle>,
    /// The swizzle over so many bytes, in elements once their size is known.
    pub swizzle_bytes: Option<u32>,
}

impl StaticValue {
    /// Whether it is a reference, or a tuple that holds one.
    pub(super) fn refers(&self) -> bool {
        match self {
            StaticValue::Borrowed(_) => true,
            StaticValue::Tuple(parts) => parts.iter().any(StaticValue::refers),
            _ => false,
        }
    }

    /// How a number of the type `to` is made of it.
    pub(super) fn way_to(&self, to: &str) -> String {
        match self {
            StaticValue::View(_) => "name an element: `x[[i]]`, one coordinate for each mode".into(),
            StaticValue::Array(_) => "name an element: `x[i]`".into(),
            StaticValue::Tuple(_) => "name a part: `x.0`".into(),
            StaticValue::Borrowed(_) => "name what it refers to: `*x`".into(),
            StaticValue::Function(..) => "call it: `f(x)`".into(),
            StaticValue::Unit => {
                "end the block in a value, without a `;`; an `if` with a value has an `else`".into()
            }
            StaticValue::Float(_) if to == "usize" => "write an integer, without a point".into(),
            _ => format!("convert it: `x as {to}`"),
        }
    }

    /// What a message calls it.
    pub(super) fn kind(&self) -> String {
        match self {
            StaticValue::Unit => "nothing".into(),
            StaticValue::Index(_) => "an index (usize)".into(),
            StaticValue::Float(_) => "a float literal".into(),
            StaticValue::Bool(_) | StaticValue::Scalar(_, Elem::Bool) => "a bool".into(),
            StaticValue::Scalar(_, elem) => format!("a value of type {elem}"),
            StaticValue::Tuple(_) => "a tuple".into(),
            StaticValue::Array(_) => "an array".into(),
            StaticValue::View(_) => "a tensor".into(),
            StaticValue::Layout(_) => "a layout".into(),
            StaticValue::Barriers(..) => "an array of mbarriers".into(),
            StaticValue::Barrier(_) => "an mbarrier".into(),
            StaticValue::Pipeline(..) => "a state of a pipeline".into(),
            StaticValue::TensorCore(_) => "a matrix instruction".into(),
            StaticValue::Function(..) => "a function".into(),
            StaticValue::Borrowed(_) => "a `&mut`".into(),
            StaticValue::Unknown => "an expression with an error".into(),
        }
    }
}

/// What a local name is for.
#[derive(Clone, Debug)]
pub(super) enum Binding {
    /// A value that does not change.
    Value(StaticValue),
    /// A mutable element variable.
    Element(VarId),
    /// A mutable index variable.
    Index(VarId),
    /// A mutable array, or a place in one: registers.
    Array(LValue),
    /// An element of a view that `&mut` borrowed.
    Memory(TileAccess),
    /// A mutable tuple: each part is a variable of its own.
    Tuple(Vec<Binding>),
    /// `let x;`: what it holds is known at its first assignment. Its declaration is that of this variable.
    Later(VarId),
}

impl Binding {
    /// The mutable index variables of a name.
    pub(super) fn indices(&self, out: &mut Vec<VarId>) {
        match self {
            Binding::Index(var) => out.push(*var),
            Binding::Tuple(parts) => parts.iter().for_each(|part| part.indices(out)),
            Binding::Value(_)
            | Binding::Element(_)
            | Binding::Array(_)
            | Binding::Memory(_)
            | Binding::Later(_) => {}
        }
    }
}
