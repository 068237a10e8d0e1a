//! What a layout costs on the hardware: bank conflicts, sectors, and whether a copy meets each element once.
//!
//! Everything here counts; nothing is estimated. The model of shared memory: 32 banks of 4 bytes, a warp's accesses of
//! 8 or 16 bytes a lane served half or a quarter of the warp at a time. Of global memory: sectors of 32 bytes.

mod access;
mod banks;
mod coverage;
mod search;
mod sectors;

pub use access::{Access, Offsets};
pub use banks::{BANK_BYTES, BANKS, BankReport, Conflict, bank_conflicts, reference_cases, ways};
pub use coverage::{Coverage, coverage};
pub use search::{conflict_free_padding, conflict_free_swizzle};
pub use sectors::{SECTOR_BYTES, SectorReport, sectors};
