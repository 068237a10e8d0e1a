//! From tiles to elements: every view becomes a place, an index and a mask; what can be proved in range has no mask.

use super::launch::LaunchPlan;
use super::program::{Access, Operation, Statement, Tables};

/// A kernel for one parameter set and one set of promises, down to single elements and vectors: what `emit` and
/// `simulate` read. After this stage nothing can fail on the kernel's account.
///
/// Its invariants, which both rely on: every id is in range of its table; operands of an operator agree in type; every
/// index of a local place is a number once the unrolled loops around it are; `width` is a power of two and the access
/// is aligned for it; an access without a mask is in range; a shared or local place is large enough; loops with
/// `unroll` have constant bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    pub(super) entry: String,
    pub(super) arch: Option<String>,
    pub(super) min_blocks: Option<u32>,
    pub(super) plan: LaunchPlan,
    pub(super) tables: Tables,
    pub(super) body: Vec<Statement<Access, Operation>>,
}

impl Checked {
    /// The name of the CUDA function: the kernel's name and the variant's key, `matmul_BM64_BN64`.
    pub fn entry(&self) -> &str {
        &self.entry
    }
    /// The only architecture the kernel is for, where it names one.
    pub fn arch(&self) -> Option<&str> {
        self.arch.as_deref()
    }
    /// How many blocks an SM must be able to hold, where the attribute says.
    pub fn min_blocks(&self) -> Option<u32> {
        self.min_blocks
    }
    /// What a launch needs to know.
    pub fn plan(&self) -> &LaunchPlan {
        &self.plan
    }
    /// Variables, places, atoms, positions.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }
    /// The statements.
    pub fn body(&self) -> &[Statement<Access, Operation>] {
        &self.body
    }
}
