//! Sizes far beyond the tiles: where a fixed capacity of a kernel is exceeded.
//!
//! Law: of each dimension the largest size that the budget of elements allows is tried, while the other dimensions are small,
//! and some sizes on the way there: the ends of 8 and 16 bits, and the neighbours of each constant of the kernel's text times
//! each tile. A size whose launch the simulator would need too many instructions for is left out; how many it needs is
//! estimated from the sizes before, so the same test has the same launches.

use std::collections::BTreeSet;

use layout_compiler::{Kernel, ParamSet, ParamValue};

/// The largest constant that counts.
const LARGEST: usize = 4096;
/// How many sizes of a dimension are tried at most.
const MOST: usize = 8;
/// The simulator's instructions that the sizes of one test may take together: about a second where it is optimised.
pub(super) const WORK: u64 = 1 << 20;
/// The ends of 8 and of 16 bits.
const ENDS: [usize; 2] = [1 << 8, 1 << 16];

/// The constants of a kernel's text, parameters among them.
pub(super) fn constants(kernel: &Kernel, set: &ParamSet) -> BTreeSet<usize> {
    let ids = (0u32..).zip(&kernel.exprs).map(|(number, _)| layout_compiler::ir::ExprId(number));
    let known = ids.filter_map(|id| match kernel.constant(id, set) {
        Ok(ParamValue::Int(value)) => usize::try_from(value).ok(),
        _ => None,
    });
    known.filter(|value| (2..=LARGEST).contains(value)).collect()
}

/// The sizes to try beyond `from`, in ascending order, `largest` among them.
pub(super) fn beyond(
    tiles: &BTreeSet<usize>,
    constants: &BTreeSet<usize>,
    from: usize,
    largest: usize,
) -> Vec<usize> {
    let mut ends: BTreeSet<usize> = BTreeSet::new();
    let units: BTreeSet<usize> = tiles.iter().copied().chain([1]).collect();
    for unit in &units {
        for count in constants.iter().chain(&ENDS) {
            ends.insert(unit.saturating_mul(*count));
        }
    }
    ends.retain(|end| *end >= from && *end < largest);
    // Of many some, from the first to the last.
    let ends: Vec<usize> = ends.into_iter().collect();
    let few = (MOST - 2) / 2;
    let picked = |place: usize| ends[place * (ends.len() - 1) / (few - 1).max(1)];
    let ends: BTreeSet<usize> =
        if ends.len() > few { (0..few).map(picked).collect() } else { ends.iter().copied().collect() };
    // A kernel with a condition on its sizes takes the multiple.
    let last = [largest - largest % 128, largest].into_iter().filter(|size| *size > from);
    let around = ends.into_iter().flat_map(|end| [end, end + 1]);
    around.chain(last).filter(|size| *size > from).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The work of launches along one dimension, from which that of a larger size is estimated.
#[derive(Debug)]
pub(super) struct Work {
    left: u64,
    /// The last two sizes with their instructions.
    last: Vec<(usize, u64)>,
}

impl Work {
    /// With so many instructions to spend.
    pub(super) fn new(left: u64) -> Work {
        Work { left, last: Vec::new() }
    }

    /// Whether a launch of this size is within what is left.
    pub(super) fn allows(&self, size: usize) -> bool {
        let Some((before, work)) = self.last.last().copied() else { return true };
        // Before there are two it may be a product of the dimension with itself.
        let power = match self.last[..] {
            [(first, less), (second, more)] if second > first && less > 0 => {
                ((more as f64 / less as f64).ln() / (second as f64 / first as f64).ln()).clamp(1.0, 3.0)
            }
            _ => 2.0,
        };
        let expected = work as f64 * (size as f64 / before.max(1) as f64).powf(power);
        expected <= self.left as f64
    }

    /// A launch of this size took so many.
    pub(super) fn took(&mut self, size: usize, work: u64) {
        // Without the simulator's counters the size is all that is known.
        let work = work.max(size as u64);
        self.left = self.left.saturating_sub(work);
        // Of neighbours the growth says nothing: one block more may be all of it.
        if self.last.last().is_some_and(|(before, _)| size < 2 * before) {
            return;
        }
        if self.last.len() == 2 {
            self.last.remove(0);
        }
        self.last.push((size, work));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_bits_and_the_multiples_of_constants_are_among_few() {
        let sizes = beyond(&[64].into(), &[16].into(), 193, 1 << 17);
        assert!(sizes.len() <= MOST && sizes.is_sorted(), "{sizes:?}");
        assert!([256, 257, 1 << 17].iter().all(|size| sizes.contains(size)), "{sizes:?}");
        assert_eq!(beyond(&BTreeSet::new(), &BTreeSet::new(), 40, 100), [100]);
        assert!(beyond(&[64].into(), &[16].into(), 193, 193).is_empty());
    }

    #[test]
    fn work_is_estimated_by_its_growth() {
        let mut linear = Work::new(1000);
        assert!(linear.allows(1 << 20), "nothing is known yet");
        linear.took(10, 10);
        assert!(linear.allows(90) && !linear.allows(1000), "at worst a square");
        linear.took(20, 20);
        assert!(linear.allows(900) && !linear.allows(1000));
        let mut square = Work::new(100_000);
        square.took(10, 100);
        square.took(20, 400);
        square.took(21, 800);
        assert!(square.allows(300) && !square.allows(400));
    }
}
