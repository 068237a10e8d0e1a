//! Two instances of accesses of different threads: what must hold where they meet at one byte.
//!
//! Law: where both touch a byte, every equation holds, the gap of each in its range, and no fact is negative.

use super::names::{Common, Instance, Names, Side};
use super::sites::{Site, Way};
use crate::index::{AtomId, Index, Range};
use crate::program::{Scope, Transport};
use crate::prove::Facts;
use std::collections::{BTreeMap, BTreeSet};

/// `value + gap = 0`, for a gap of this range.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Equation {
    pub value: Index,
    pub gap: Range,
}

/// Both instances.
pub(super) struct Pair {
    /// Of the coordinates where both are of the tensor's own modes; else of the elements.
    pub equations: Vec<Equation>,
    /// What is not negative: common and both sides' facts.
    pub facts: Facts,
    /// Of each side, without the other's.
    pub own_facts: [Vec<Index>; 2],
    /// The leaves that are each side's own.
    pub own: [BTreeSet<AtomId>; 2],
    /// The first side's leaves that differ, and the second one's.
    pub differing: BTreeMap<AtomId, AtomId>,
    pub same_block: bool,
    /// Whether a thread may meet itself: an access is by the whole warp, or the other one is in an asynchronous copy's flight.
    pub by_the_warp: bool,
    /// Of an asynchronous copy and itself: the rounds in which a thread must be the same one; `None` of one that says nothing.
    pub rounds: Option<Vec<Option<AtomId>>>,
    /// Whether an access is in flight: then facts of its order mostly decide, and an enumeration of threads does not.
    pub in_flight: bool,
    pub atomic: bool,
    /// Whether the branches around exclude each other.
    pub exclusive: bool,
}

/// A site with the coordinates of its tensor's modes, where they are shown to be those of the element.
pub(super) struct Placed<'s, 'a> {
    pub site: &'s Site<'a>,
    pub element: Index,
    /// Elements that it touches from there on.
    pub width: i64,
    pub coordinates: Option<Vec<Index>>,
    /// The mode whose elements follow one another.
    pub contiguous: usize,
}

fn differences(
    (a, b): (&[Index], &[Index]),
    (width, other, aligned): (i64, i64, bool),
    contiguous: usize,
) -> Option<Vec<Equation>> {
    // Aligned vectors are at multiples of their widths: two of one width meet at their first elements.
    let gap = match width == other && (aligned || width == 1) {
        true => Range::of(0),
        false => Range::new(1 - i128::from(width), i128::from(other) - 1),
    };
    let one = |(mode, (a, b)): (usize, (&Index, &Index))| {
        let gap = if mode == contiguous { gap } else { Range::of(0) };
        Some(Equation { value: b.sub(a).ok()?, gap })
    };
    a.iter().zip(b).enumerate().map(one).collect()
}

impl Pair {
    /// `None` where an index leaves 64 bits.
    pub(super) fn new(
        names: &mut Names,
        common: &Common<'_>,
        pair: (&Placed<'_, '_>, &Placed<'_, '_>),
    ) -> Option<Pair> {
        Pair::with(names, common, pair, [&[], &[]]).map(|(pair, _)| pair)
    }

    /// The same, and the instances of other indices of each side.
    pub(super) fn with(
        names: &mut Names,
        common: &Common<'_>,
        (a, b): (&Placed<'_, '_>, &Placed<'_, '_>),
        others: [&[Index]; 2],
    ) -> Option<(Pair, [Vec<Index>; 2])> {
        let coordinates = a.coordinates.as_ref().zip(b.coordinates.as_ref());
        let (left, right) = match coordinates {
            Some((left, right)) => (left.clone(), right.clone()),
            None => (vec![a.element.clone()], vec![b.element.clone()]),
        };
        let contiguous = if coordinates.is_some() { a.contiguous } else { 0 };
        let mut side = |indices: &[Index], facts: &[Index], others: &[Index], side: Side| {
            let mut instance = Instance::new(names, common, side);
            let indices: Option<Vec<Index>> =
                indices.iter().map(|index| instance.index(index).ok()).collect();
            // A fact that is not expressed is left out.
            let facts: Vec<Index> = facts.iter().filter_map(|fact| instance.index(fact).ok()).collect();
            let others: Option<Vec<Index>> = others.iter().map(|index| instance.index(index).ok()).collect();
            Some((indices?, facts, others?, instance.own, instance.differing))
        };
        let (left, facts_a, others_a, own_a, mut differing) = side(&left, &a.site.facts, others[0], Side::A)?;
        let (right, facts_b, others_b, own_b, more) = side(&right, &b.site.facts, others[1], Side::B)?;
        differing.extend(more);
        let mut facts = Facts::default();
        facts_a.iter().chain(&facts_b).for_each(|fact| facts.add(fact.clone()));
        let aligned = [a, b].iter().all(|one| !one.site.access.unaligned);
        let widths = (a.width, b.width, aligned);
        // Of two allocations at one place only their branches are compared.
        let one_place = a.site.access.place == b.site.access.place;
        let equations =
            if one_place { differences((&left, &right), widths, contiguous)? } else { Vec::new() };
        let pair = Pair {
            equations,
            facts,
            own_facts: [facts_a, facts_b],
            own: [own_a, own_b],
            differing,
            same_block: common.same_block,
            // A warp's stores by one statement are in order.
            by_the_warp: !std::ptr::eq(a.site, b.site)
                && [a, b].iter().any(|one| one.site.means == Transport::Matrix),
            rounds: None,
            in_flight: false,
            atomic: one_place && atomic(a.site.way, b.site.way, common.same_block),
            exclusive: exclusive(common, a.site, b.site),
        };
        Some((pair, [others_a, others_b]))
    }
}

/// Whether both are atomic operations, each in the other's scope.
fn atomic(a: Way, b: Way, same_block: bool) -> bool {
    let covers = |way: Way| matches!(way, Way::Atomic { scope, .. } if same_block || scope != Scope::Block);
    covers(a) && covers(b)
}

/// Whether they are in the two branches of an `if` that all threads decide alike, in one round of the loops around it.
fn exclusive(common: &Common<'_>, a: &Site<'_>, b: &Site<'_>) -> bool {
    a.branches.iter().zip(&b.branches).take_while(|(a, b)| a.number == b.number).any(|(a, b)| {
        a.holds != b.holds
            && a.uniform[usize::from(!common.same_block)]
            && common.around.iter().take(a.depth).filter(|(_, shift)| *shift == Some(0)).count() == a.depth
    })
}
