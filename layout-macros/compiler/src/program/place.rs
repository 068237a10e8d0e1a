//! Variables, which belong to a thread, and places: the allocations (memory objects) of elements, each in an address
//! space.

use crate::elem::Elem;
use crate::index::{VarId, Width};
use crate::origin::Origin;

/// A place that holds elements, by its number in `places`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaceId(pub u32);

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The user's name for it, or one made of the user's names; not unique, and not yet legal in C.
    pub name: String,
    /// What it holds.
    pub kind: VariableKind,
    /// Whether the name is made for the text: the user's program has no name for the value.
    pub unnamed: bool,
    /// Whether it is assigned after its declaration.
    pub mutable: bool,
    /// Where it is bound.
    pub origin: Origin,
}

/// What a variable holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariableKind {
    /// An element.
    Elem(Elem),
    /// An index.
    Index(Width),
    /// The element of a place from which a view's offsets count.
    Pointer(PlaceId),
}

/// Where elements live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// A tensor argument, by number.
    Global(u32),
    /// Shared memory of the block, at this byte offset.
    Shared {
        /// Bytes from the start of the block's shared memory.
        byte_offset: u32,
    },
    /// The shared memory of another block of the cluster.
    Remote {
        /// The same place in this block's.
        of: PlaceId,
        /// The index variable that holds the other block's rank.
        rank: VarId,
    },
    /// Tensor memory: 128 lanes of 512 columns, which only `tcgen05` reaches.
    Tensor {
        /// The variable that holds the address of all that the block allocates.
        base: VarId,
        /// The first column, from there.
        column: u32,
    },
    /// Registers of the thread: every index is a number once its loops are unrolled.
    Local,
}

/// An array of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The user's name for it.
    pub name: String,
    /// Where.
    pub space: Space,
    /// Of what.
    pub elem: Elem,
    /// How many elements; of an argument not known here (0).
    pub len: u64,
    /// The alignment of its first element that may be relied on, bytes.
    pub align: u32,
    /// Whether it may be written.
    pub mutable: bool,
    /// Where it is declared.
    pub origin: Origin,
}
