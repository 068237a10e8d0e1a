//! One access to memory: its elements, its mask, and its claims.

use super::{Mask, MissedOptimization, PlaceId, Value};
use crate::elem::{Constant, Elem};
use crate::index::{Index, VarId};
use crate::origin::Origin;

/// The scalar level's access: elements `index .. index + width` of a place, counted from a pointer where there is one.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The place.
    pub place: PlaceId,
    /// The pointer variable that `index` counts from; the place's first element without one.
    pub pointer: Option<VarId>,
    /// The (first) element. A multiple of `width`, together with the pointer's, unless the access is unaligned.
    pub index: Index,
    /// Elements moved at once: 1, or a power of two of at most 16 bytes; above 1 only in an `Operation`. Of a fragment
    /// its elements, however many bytes.
    pub width: u32,
    /// Whether a vector of global memory may begin at any element: it is loaded by the one or two aligned vectors that hold it,
    /// and stored by words.
    pub unaligned: bool,
    /// Where it does not hold, a load gives `pad` and a store does nothing.
    pub mask: Mask,
    /// What a masked load gives.
    pub pad: Pad,
    /// Whether the user wrote this very element (`a[[i, j]]`): out of range is then a finding, where the tail of a
    /// tile, a vector or a copy is masked by meaning.
    pub direct: bool,
    /// What its view and its coordinates promise and what is not proved; no part of the text.
    pub claims: Vec<Claim>,
    /// The coordinate of each edge that the view has, those of its tensor's modes first; no part of the text. The mask and what is proved
    /// are about them.
    pub edges: Vec<Claim>,
    /// Whether `index` takes 64-bit arithmetic.
    pub wide: bool,
    /// How the caches are to keep it, of an argument's elements.
    pub hint: Option<Hint>,
    /// What it could have been and is not; no part of the text.
    pub loss: MissedOptimization,
    /// Where in the kernel's source.
    pub origin: Origin,
}

/// What represents an element beyond an edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pad {
    /// A number.
    Constant(Constant),
    /// The scalar argument of this number, of the elements' type.
    Argument(u32, Elem),
}

impl Pad {
    pub fn value<A>(self) -> Value<A> {
        match self {
            Pad::Constant(constant) => Value::Constant(constant),
            Pad::Argument(number, elem) => Value::Argument(number, elem),
        }
    }
}

/// `0 <= at < end`: no mask, but what the simulator holds the kernel to.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// A coordinate.
    pub at: Index,
    /// Its end.
    pub end: Index,
}

/// How the caches are to keep what is moved from or to global memory. It changes no value and orders nothing, so the
/// simulator has no meaning for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hint {
    /// L2 gives it up before what has no hint.
    EvictFirst,
    /// L2 gives it up after what has no hint.
    EvictLast,
    /// It gets no place in L1.
    NoAllocate,
}

impl Hint {
    /// The name in the kernel language.
    pub fn name(self) -> &'static str {
        match self {
            Hint::EvictFirst => "evict_first",
            Hint::EvictLast => "evict_last",
            Hint::NoAllocate => "no_allocate",
        }
    }
}
