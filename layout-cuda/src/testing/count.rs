//! Bounds of what a launch counts on the simulator.
//!
//! Law: a bound is compared with every launch on the simulator of aligned tensors, at each of the sizes that are run.

use layout_simulator::{Counts, Report};

use super::Sizes;

/// How many lines of a kernel are listed with a bound that is exceeded.
const LISTED: usize = 4;

/// What [`Test::at_most`](super::Test::at_most) bounds, by its meaning in [`Counts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Count {
    /// Passes through the banks of shared memory beyond those of an access without conflicts.
    BankConflicts,
    /// Loads and stores of global memory, each counted once for a warp.
    GlobalRequests,
    /// Sectors of 32 bytes of these.
    GlobalSectors,
    /// Loads and stores of shared memory, each counted once for a warp.
    SharedRequests,
}

impl Count {
    /// The number of it.
    fn of(self, counts: &Counts) -> u64 {
        match self {
            Count::BankConflicts => counts.bank_conflicts,
            Count::GlobalRequests => counts.global_requests,
            Count::GlobalSectors => counts.global_sectors,
            Count::SharedRequests => counts.shared_requests,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Count::BankConflicts => "bank conflicts",
            Count::GlobalRequests => "requests to global memory",
            Count::GlobalSectors => "sectors of global memory",
            Count::SharedRequests => "requests to shared memory",
        }
    }
}

/// A bound by the dimensions.
pub(super) type Bound<'a> = (Count, Box<dyn Fn(&Sizes) -> u64 + 'a>);

/// The first bound that a launch exceeds: both numbers, and the lines that count most.
pub(super) fn exceeded(bounds: &[Bound<'_>], sizes: &Sizes, report: &Report, file: &str) -> Option<String> {
    let (count, most) = bounds.iter().find_map(|(count, most)| {
        let most = most(sizes);
        (count.of(&report.totals) > most).then_some((*count, most))
    })?;
    let mut lines: Vec<(u32, u64)> =
        report.lines.iter().map(|(line, counts)| (*line, count.of(counts))).filter(|(_, n)| *n > 0).collect();
    lines.sort_by_key(|(line, n)| (std::cmp::Reverse(*n), *line));
    let mut text = format!("{} {}, at most {most} are allowed", count.of(&report.totals), count.name());
    for (line, number) in lines.iter().take(LISTED) {
        text.push_str(&format!("\n    {file}:{line}: {number}"));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_count_most_are_listed() {
        let counts = |bank_conflicts| Counts { bank_conflicts, ..Counts::default() };
        let report = Report {
            totals: counts(9),
            lines: vec![(3, counts(2)), (5, counts(0)), (7, counts(7))],
            ..Report::default()
        };
        let bounds: [Bound<'_>; 2] =
            [(Count::GlobalSectors, Box::new(|_| 0)), (Count::BankConflicts, Box::new(|_| 8))];
        let text = exceeded(&bounds, &Sizes::default(), &report, "k.rs");
        assert_eq!(
            text.as_deref(),
            Some("9 bank conflicts, at most 8 are allowed\n    k.rs:7: 7\n    k.rs:3: 2")
        );
        let bounds: [Bound<'_>; 1] = [(Count::BankConflicts, Box::new(|_| 9))];
        assert_eq!(exceeded(&bounds, &Sizes::default(), &report, "k.rs"), None);
    }
}
