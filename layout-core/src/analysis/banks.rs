//! Bank conflicts of shared memory.
//!
//! Law: a group of lanes served together takes as many wavefronts as the fullest bank has distinct words; the warp's
//! conflicts are its wavefronts beyond one a group.

use super::access::Access;
use crate::{ComposedLayout, Layout, LayoutError, Swizzle};
use std::collections::{BTreeMap, BTreeSet};

/// The number of banks of shared memory.
///
/// ```
/// assert_eq!(layout_core::analysis::BANKS * layout_core::analysis::BANK_BYTES, 128);
/// ```
pub const BANKS: i64 = 32;
/// The width of a bank, in bytes.
///
/// ```
/// assert_eq!(layout_core::analysis::BANK_BYTES, 4);
/// ```
pub const BANK_BYTES: i64 = 4;

/// One bank that lanes of a group want different words of.
///
/// ```
/// use layout_core::{Layout, analysis::{Access, bank_conflicts}};
/// let column = Access::new(Layout::row_major((4, 32))?, Layout::new(4, 1)?, 1, 4)?;
/// let conflict = &bank_conflicts(&column)?.conflicts[0];
/// assert_eq!((conflict.bank, conflict.words, conflict.lanes.as_slice()), (0, 4, [0, 1, 2, 3].as_slice()));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The request.
    pub request: i64,
    /// The bank.
    pub bank: i64,
    /// The number of distinct words of it that the group wants.
    pub words: i64,
    /// The lanes that want them.
    pub lanes: Vec<i64>,
}

/// What a warp's accesses cost.
///
/// ```
/// use layout_core::{Layout, analysis::{Access, bank_conflicts}};
/// let column = Access::new(Layout::row_major((32, 32))?, Layout::new(32, 1)?, 1, 4)?;
/// let report = bank_conflicts(&column)?;
/// assert_eq!((report.wavefronts, report.ideal, report.excess()), (32, 1, 31));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BankReport {
    /// Passes over the banks, all requests together.
    pub wavefronts: i64,
    /// The passes that the width alone would take.
    pub ideal: i64,
    /// Every bank that is wanted more than once in a pass.
    pub conflicts: Vec<Conflict>,
}

impl BankReport {
    /// Wavefronts beyond the ideal: what the hardware's conflict counter counts.
    ///
    /// ```
    /// use layout_core::analysis::BankReport;
    /// assert_eq!(BankReport { wavefronts: 4, ideal: 1, conflicts: vec![] }.excess(), 3);
    /// ```
    pub fn excess(&self) -> i64 {
        self.wavefronts - self.ideal
    }
}

/// Each bank that lanes served together want: its distinct words, and the lanes by their places in the group.
fn wanted(addresses: &[i64], width: i64) -> BTreeMap<i64, (BTreeSet<i64>, Vec<i64>)> {
    let mut banks: BTreeMap<i64, (BTreeSet<i64>, Vec<i64>)> = BTreeMap::new();
    for (lane, address) in (0..).zip(addresses) {
        let word = address.div_euclid(BANK_BYTES);
        for word in word..word + words_each(width) {
            let (words, lanes) = banks.entry(word.rem_euclid(BANKS)).or_default();
            words.insert(word);
            lanes.push(lane);
        }
    }
    banks
}

fn words_each(width: i64) -> i64 {
    (width / BANK_BYTES).clamp(1, BANKS)
}

/// How many passes over the banks the worst group of lanes takes that are served together: 1 is without conflict, 32 is a
/// 32-way conflict. Each lane is the byte at which it moves `width` bytes, 1 to 16; `None` takes no part.
///
/// ```
/// use layout_core::analysis::ways;
/// let column: Vec<Option<i64>> = (0..32).map(|lane| Some(128 * lane)).collect();
/// assert_eq!(ways(&column, 4), 32);
/// let padded: Vec<Option<i64>> = (0..32).map(|lane| Some(132 * lane)).collect();
/// assert_eq!(ways(&padded, 4), 1);
/// ```
pub fn ways(lanes: &[Option<i64>], width: i64) -> i64 {
    let group = (BANKS / words_each(width)) as usize;
    let most = lanes.chunks(group).map(|group| {
        let open: Vec<i64> = group.iter().flatten().copied().collect();
        wanted(&open, width).values().map(|(words, _)| words.len() as i64).max().unwrap_or(1)
    });
    most.max().unwrap_or(1)
}

/// The bank conflicts of a warp's accesses to shared memory.
///
/// # Errors
/// None for an access that exists.
///
/// ```
/// use layout_core::{ComposedLayout, Layout, analysis::{Access, bank_conflicts}};
///
/// let swizzled: ComposedLayout = "Sw<5,0,5> o 0 o (32,32):(32,1)".parse()?;
/// let column = Access::new(swizzled, Layout::new(32, 1)?, 1, 4)?;
/// assert_eq!(bank_conflicts(&column)?.excess(), 0);
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn bank_conflicts(access: &Access) -> Result<BankReport, LayoutError> {
    let mut report = BankReport::default();
    // Lanes are served together as long as their words fit the banks.
    let group = BANKS / words_each(access.width());
    for request in 0..access.requests() {
        for first in (0..access.lanes()).step_by(group as usize) {
            let addresses = (first..(first + group).min(access.lanes()))
                .map(|lane| access.address(lane, request))
                .collect::<Result<Vec<i64>, _>>()?;
            let banks = wanted(&addresses, access.width());
            report.ideal += 1;
            report.wavefronts += banks.values().map(|(words, _)| words.len() as i64).max().unwrap_or(1);
            let conflicts = banks.into_iter().filter(|(_, (words, _))| words.len() > 1);
            report.conflicts.extend(conflicts.map(|(bank, (words, lanes))| Conflict {
                request,
                bank,
                words: words.len() as i64,
                lanes: lanes.into_iter().map(|lane| first + lane).collect(),
            }));
        }
    }
    Ok(report)
}

/// Accesses with known costs, each with a name: to be run on a GPU and held against its counters. All are one request
/// of 32 lanes, or one of fewer words, over a tile that fits 48 KiB.
///
/// # Errors
/// None; the layouts are fixed.
///
/// ```
/// use layout_core::analysis::{bank_conflicts, reference_cases};
/// for (name, access) in reference_cases()? {
///     println!("{name}: {} conflicts", bank_conflicts(&access)?.excess());
/// }
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn reference_cases() -> Result<Vec<(&'static str, Access)>, LayoutError> {
    let lanes = |text: &str| text.parse::<Layout>();
    let square = Layout::row_major((32, 32))?;
    let padded: Layout = "(32,32):(33,1)".parse()?;
    let swizzled = |bits, base, shift, layout: &str| -> Result<ComposedLayout, LayoutError> {
        ComposedLayout::new(Swizzle::new(bits, base, shift)?, 0, layout.parse()?)
    };
    Ok(vec![
        ("row of floats", Access::new(square.clone(), lanes("32:32")?, 1, 4)?),
        ("column of floats", Access::new(square.clone(), lanes("32:1")?, 1, 4)?),
        ("column of floats, rows padded by 1", Access::new(padded, lanes("32:1")?, 1, 4)?),
        (
            "column of floats, Sw<5,0,5>",
            Access::new(swizzled(5, 0, 5, "(32,32):(32,1)")?, lanes("32:1")?, 1, 4)?,
        ),
        ("one float for all", Access::new(square.clone(), lanes("32:0")?, 1, 4)?),
        ("every second float", Access::new(lanes("64:1")?, lanes("32:2")?, 1, 4)?),
        ("every fourth float", Access::new(lanes("128:1")?, lanes("32:4")?, 1, 4)?),
        ("every third float", Access::new(lanes("96:1")?, lanes("32:3")?, 1, 4)?),
        ("rows of 4 floats a lane", Access::new(lanes("128:1")?, lanes("32:4")?, 4, 4)?),
        ("column of 4 floats a lane", Access::new(square.clone(), lanes("32:1")?, 4, 4)?),
        ("column of 2 floats a lane", Access::new(square, lanes("32:1")?, 2, 4)?),
        (
            "8 rows of 64 halves, 8 halves a lane",
            Access::new(lanes("(8,64):(64,1)")?, lanes("(8,4):(1,64)")?, 8, 2)?,
        ),
        (
            "the same, Sw<3,3,3> (128 bytes)",
            Access::new(swizzled(3, 3, 3, "(8,64):(64,1)")?, lanes("(8,4):(1,64)")?, 8, 2)?,
        ),
    ])
}
