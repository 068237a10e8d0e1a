//! Tensors over several devices: who holds which element, and which messages a change of distribution needs.
//!
//! | what | law | file |
//! |---|---|---|
//! | [`Mesh`] | a bijection between the coordinates of named axes and the ranks | `axes.rs` |
//! | [`Distributed`] | `layout(device, term, value)` is an element of the padded tensor, as a thread-value layout's is of a tile | `distributed.rs` |
//! | [`Reshard`] | every element that a rank holds afterwards arrives once, from an owner | `reshard.rs` |
//! | [`Collective`] | what the messages are together | `collective.rs` |
//!
//! ```
//! use layout_core::mesh::{Collective, Distributed, Mesh, Reshard};
//!
//! let mesh = Mesh::new([("gpu", 4)])?;
//! let rows = Distributed::new(&mesh, [8, 8])?.split(0, ["gpu"])?;
//! let columns = Distributed::new(&mesh, [8, 8])?.split(1, ["gpu"])?;
//! let plan = Reshard::new(&rows, &columns)?;
//! assert_eq!((plan.collective(), plan.rounds()), (Collective::AllToAll, 3));
//! // Rank 0 gives rank 1 a block of 2 by 2: its columns 2 and 3 become rows 0 and 1 of what rank 1 holds.
//! let message = plan.between(0, 1).expect("rank 0 holds some of rank 1's columns");
//! assert_eq!(message.to_string(), "0 -> 1: 2 + (2,2):(1,8) -> 0 + (2,2):(1,2)");
//! # Ok::<(), layout_core::LayoutError>(())
//! ```

mod axes;
mod collective;
mod digits;
mod distributed;
mod intersection;
#[cfg(test)]
mod laws;
mod pieces;
mod reshard;
mod show;
mod verify;

pub use axes::Mesh;
pub use collective::Collective;
pub use distributed::Distributed;
pub use reshard::{Piece, Reshard, Transfer};
