//! The IR after specialisation, at both of its levels.
//!
//! [`super::specialise::Specialised`] and [`super::check::Checked`] share control flow and arithmetic. They differ in
//! the two type parameters of this IR. `A` is the operand of a load or a store: a coordinate of a view; or a place,
//! an index and a mask. `O` is an operation on more than one element: a tile copy or an outer product; or a vector
//! move or an asynchronous copy.
//!
//! | what | file |
//! |---|---|
//! | values of one thread, comparisons | `value.rs` |
//! | statements and their participants | `statement.rs` |
//! | collectives of a warp | `collective.rs` |
//! | atomic operations, their order and scope | `atomic.rs` |
//! | variables, and allocations of memory | `place.rs` |
//! | one access to memory | `access.rs` |
//! | missed optimisations of an access | `loss.rs` |
//! | operations on more than one element | `operation.rs` |
//! | waits, commits, fences | `signal.rs` |
//! | copies of boxes by TMA | `tensor_map.rs` |
//! | matrix instructions of a warp | `matrix.rs` |
//! | formatted text | `message.rs` |
//! | names that leave no statement | `named.rs` |
//! | matrix products of a warpgroup | `wgmma.rs` |
//! | tensor memory, matrix products of one thread | `tensor_memory.rs` |
//! | the walk over a program | `walk.rs` |
//! | names that a piece of code uses | `uses.rs` |
//! | forward dataflow | `flow.rs` |

mod access;
mod atomic;
mod collective;
pub mod flow;
mod loss;
mod matrix;
pub mod message;
mod named;
mod operation;
mod place;
mod signal;
mod statement;
mod tensor_map;
pub mod tensor_memory;
mod uses;
mod value;
pub mod walk;
mod wgmma;

pub use access::*;
pub use atomic::*;
pub use collective::*;
pub use loss::*;
pub use matrix::*;
pub use message::{Message, MessagePart};
pub use named::*;
pub use operation::Transport;
pub use operation::*;
pub use place::*;
pub use signal::*;
pub use statement::*;
pub use tensor_map::*;
pub use tensor_memory::{LeftMatrix, TensorAt, TensorMove, TensorProduct};
pub use uses::*;
pub use value::*;
pub use walk::Part;
pub use wgmma::*;

use super::elem::Elem;
use super::index::{Atoms, VarId};
use super::ir::BinaryOp;
use super::origin::Position;

/// What both levels hold besides statements.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    /// Variables.
    pub variables: Vec<Variable>,
    /// Places; the tensor arguments first.
    pub places: Vec<Place>,
    /// Atoms of the indices.
    pub atoms: Atoms,
    /// Line and column of each origin.
    pub positions: Vec<Position>,
    /// Names of views and of indices, in the order of the text.
    pub named: Vec<Named>,
    /// The shared memory of the block's collectives, each of one: `x.block_sum()`.
    pub scratch: Vec<PlaceId>,
}

impl Tables {
    /// The variable of an id.
    pub fn variable(&self, id: VarId) -> &Variable {
        &self.variables[id.0 as usize]
    }
    /// The place of an id.
    pub fn place(&self, id: PlaceId) -> &Place {
        &self.places[id.0 as usize]
    }

    /// The type of a value.
    pub fn elem(&self, value: &Value<Access>) -> Elem {
        match value {
            Value::Constant(constant) => constant.elem,
            Value::Argument(_, elem) | Value::Index(_, elem) | Value::Cast(elem, _) => *elem,
            Value::Variable(variable) => self.variable_elem(*variable),
            Value::Compare(_) => Elem::Bool,
            Value::Load(access) => self.place(access.place).elem,
            Value::Unary(_, operand) => self.elem(operand),
            Value::Binary(op, ..) if op.is_comparison() || matches!(op, BinaryOp::And | BinaryOp::Or) => {
                Elem::Bool
            }
            Value::Binary(_, left, _) => self.elem(left),
            Value::Math(function, arguments) => {
                function.result().of(arguments.first().map_or(Elem::F32, |first| self.elem(first)))
            }
            Value::Select(_, then, _) => self.elem(then),
        }
    }

    /// The type of a variable; of a pointer its elements'.
    pub fn variable_elem(&self, variable: VarId) -> Elem {
        match self.variable(variable).kind {
            VariableKind::Elem(elem) => elem,
            VariableKind::Index(width) => width.elem(),
            VariableKind::Pointer(place) => self.place(place).elem,
        }
    }

    /// The first place of the same memory: an argument or an allocation that is also read as another type is several places.
    /// Allocations of branches that exclude each other may overlap; they are not one.
    pub fn memory(&self, id: PlaceId) -> PlaceId {
        let own = self.place(id);
        let first = match own.space {
            Space::Global(_) => self.places.iter().position(|place| place.space == own.space),
            Space::Shared { .. } => {
                self.places.iter().position(|place| place.space == own.space && place.origin == own.origin)
            }
            Space::Remote { .. } | Space::Tensor { .. } | Space::Local => None,
        };
        first.map_or(id, |first| PlaceId(first as u32))
    }
}
