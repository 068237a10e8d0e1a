//! Atomic operations: the operation on the element, the memory order, and the scope.

/// What an atomic operation makes of an element and its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicChange {
    /// The sum; of `i32 u32 i64 u64 f32 f64`, integers wrap.
    Add,
    /// The larger; of `i32 u32 i64 u64 f32`, of floats the number where the other is NaN.
    Max,
    /// The smaller, likewise.
    Min,
    /// The bits that both have; of `i32 u32 i64 u64`.
    And,
    /// The bits that either has, likewise.
    Or,
    /// The bits that one of them has, likewise.
    Xor,
    /// The operand; of `i32 u32 f32 i64 u64 f64`.
    Exchange,
    /// The second operand where the first one's bits are there, else itself; of every type of 2 to 8 bytes.
    CompareExchange,
    /// Itself: it is only read. Of `i32 u32 f32 i64 u64 f64`; there is no operand.
    Load(Ordering),
    /// The operand: it is only written, and what was there before is not known. Of the same types.
    Store(Ordering),
}

impl AtomicChange {
    /// Whether a thread may wait by it for what another one writes: a flag, a lock.
    pub fn may_wait(self) -> bool {
        matches!(self, AtomicChange::Load(_) | AtomicChange::Exchange | AtomicChange::CompareExchange)
    }
}

/// What an atomic load or store orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ordering {
    /// Nothing.
    Relaxed,
    /// A load acquires, a store releases: what a thread accessed before a release is ordered before what another one
    /// accesses after an acquire that reads the released value, where the scope of each holds the other thread.
    Synchronising,
}

/// The threads for which an atomic operation is atomic and orders. Operations of threads that are not in each
/// other's scopes are to each other as ordinary accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Those of the block.
    Block,
    /// Those of the device.
    #[default]
    Device,
    /// Those of the device, the host's and those of other devices.
    System,
}

impl Scope {
    /// What is put behind the name of an operation; nothing for the device.
    pub fn suffix(self) -> &'static str {
        match self {
            Scope::Block => "_block",
            Scope::Device => "",
            Scope::System => "_system",
        }
    }
}
