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
//! | matrix products of a warpgroup | `wgmma.rs` |
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
mod operation;
mod place;
mod signal;
mod statement;
mod tensor_map;
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
pub use operation::Transport;
pub use operation::*;
pub use place::*;
pub use signal::*;
pub use statement::*;
pub use tensor_map::*;
pub use uses::*;
pub use value::*;
pub use walk::Part;
pub use wgmma::*;

use super::index::{Atoms, VarId};
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
}
