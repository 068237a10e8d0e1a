//! Coalescing of global memory: the sectors that a warp's requests touch.
//!
//! Law: a request costs as many sectors as there are distinct 32-byte blocks among the bytes of its lanes.

use super::access::Access;
use crate::LayoutError;
use std::collections::BTreeSet;

/// The unit in which global memory is moved, in bytes.
///
/// ```
/// assert_eq!(128 / layout_core::analysis::SECTOR_BYTES, 4); // four to a line
/// ```
pub const SECTOR_BYTES: i64 = 32;

/// What a warp's requests to global memory move.
///
/// ```
/// use layout_core::{Layout, analysis::{Access, sectors}};
/// let column = Access::new(Layout::row_major((32, 32))?, Layout::new(32, 1)?, 1, 4)?;
/// let report = sectors(&column)?;
/// assert_eq!((report.sectors, report.ideal), (32, 4));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SectorReport {
    /// Sectors touched, all requests together.
    pub sectors: i64,
    /// The fewest sectors that hold as many distinct bytes.
    pub ideal: i64,
    /// The number of requests.
    pub requests: i64,
}

/// The sectors that a warp's accesses touch, the tile beginning at a sector's start.
///
/// # Errors
/// None for an access that exists.
///
/// ```
/// use layout_core::{Layout, analysis::{Access, sectors}};
/// let row = Access::new(Layout::row_major((32, 32))?, Layout::new(32, 32)?, 1, 4)?;
/// assert_eq!(sectors(&row)?.sectors, 4);
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn sectors(access: &Access) -> Result<SectorReport, LayoutError> {
    let mut report = SectorReport { requests: access.requests(), ..SectorReport::default() };
    for request in 0..access.requests() {
        let (mut touched, mut starts) = (BTreeSet::new(), BTreeSet::new());
        for lane in 0..access.lanes() {
            let address = access.address(lane, request)?;
            starts.insert(address);
            // Widths divide a sector and addresses are aligned, so an access is in one sector.
            touched.insert(address.div_euclid(SECTOR_BYTES));
        }
        report.sectors += touched.len() as i64;
        report.ideal += (starts.len() as i64 * access.width() + SECTOR_BYTES - 1) / SECTOR_BYTES;
    }
    Ok(report)
}
