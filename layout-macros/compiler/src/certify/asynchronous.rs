//! Pairs with an access that is in flight until a wait: by TMA, by the matrix units, or by `cp.async` from round to round.
//!
//! Law: such a pair is proved at each two moments of its accesses: one comes before the other by a counter, or what holds where neither
//! does makes their elements differ. A site without a moment is proved of nothing.

use super::bounds::row_start;
use super::names::Common;
use super::order::{At, Fact};
use super::pair::{Equation, Pair, Placed};
use super::proof;
use super::prover::Prover;
use super::replay::Moment;
use super::search;
use super::sites::Site;
use crate::arith::gcd;
use crate::index::{Atom, AtomId, Index, Range};
use crate::ir::Special;
use crate::program::Transport;
use crate::prove::Facts;

/// The most pairs of moments of two accesses.
const MOST_MOMENTS: usize = 256;

impl<'a> Prover<'a> {
    /// Whether a site's access is in flight for longer than its statement, and not by [`super::flights`].
    pub(super) fn is_counted(&self, site: &Site<'_>) -> bool {
        match site.means {
            Transport::Tma | Transport::MatrixUnits => true,
            Transport::CopyAsync => self.flights.is_open(site.statement),
            Transport::Thread | Transport::Atomic | Transport::Matrix | Transport::RemoteShared => false,
        }
    }

    /// Elements that a box or a matrix touches, and of a row that it begins with; `None` of another one.
    pub(super) fn flown(&self, site: &Site<'_>) -> Option<(i64, i64)> {
        if let Some(map) = self.counts.maps.get(&site.statement) {
            let map = self.checked.plan().maps.get(*map as usize)?;
            return Some((i64::from(map.bytes() / map.elem.bytes().max(1)), 1));
        }
        let size = i64::from(self.checked.tables().place(site.access.place).elem.bytes().max(1));
        let (bytes, swizzle) = self.counts.products.get(&std::ptr::from_ref(site.access))?;
        Some((bytes / size, (swizzle / size).max(1)))
    }

    /// The element from which on an access touches memory: of a matrix the first one of its row of the swizzle.
    fn from(&self, site: &Site<'_>, element: Index) -> Option<Index> {
        match self.flown(site) {
            Some((_, row)) if row > 1 => row_start(&self.names.atoms, &element, row),
            _ => Some(element),
        }
    }

    /// When a site's access happens; never where that is not known.
    pub(super) fn moments(&self, site: &Site<'_>) -> &[Moment] {
        let number = self.sites.sites.iter().position(|one| std::ptr::eq(one, site));
        number.and_then(|number| self.counts.moments.get(&number)).map_or(&[], Vec::as_slice)
    }

    /// The round of an unrolled loop.
    fn bound(&self, number: usize, moment: &Moment) -> Option<i64> {
        let counters = &self.sites.loops[number].counters;
        let own = |atom: AtomId| moment.bound.iter().find(|(bound, _)| *bound == atom);
        counters.iter().find_map(|counter| own(counter.atom)).map(|(_, round)| *round)
    }

    /// The rounds of so many loops around both accesses that may differ.
    fn open_rounds(
        &self,
        pair: &Pair,
        common: &Common<'_>,
        moment: &Moment,
        depth: usize,
    ) -> Vec<Option<AtomId>> {
        let round = |number: usize| {
            if self.bound(number, moment).is_some() {
                return None;
            }
            let counters = self.sites.loops[number].counters.iter();
            let mut rounds = counters.filter_map(|counter| self.names.round(counter.atom));
            Some(rounds.find(|round| pair.differing.contains_key(round)))
        };
        common.around.iter().take(depth).filter_map(|(number, _)| round(*number)).collect()
    }

    /// The rule that proves a pair of one block by counters.
    pub(super) fn counted(&mut self, a: &Placed<'a, 'a>, b: &Placed<'a, 'a>) -> Result<&'static str, String> {
        let mut rule = "order";
        for pair in self.unordered(a, b)? {
            let unordered = "no barrier, fence or wait is shown to order it with the other access";
            let proof = search::search(&mut self.names.atoms, &self.axes, &pair).ok_or(unordered)?;
            rule = proof::rule(&proof);
        }
        Ok(rule)
    }

    /// The accesses at each two moments of which neither comes before the other.
    pub(super) fn unordered(&mut self, a: &Placed<'a, 'a>, b: &Placed<'a, 'a>) -> Result<Vec<Pair>, String> {
        let (left, right) = (self.moments(a.site).to_vec(), self.moments(b.site).to_vec());
        if left.is_empty() || right.is_empty() {
            return Err("it is not known when the accesses happen".to_owned());
        }
        if left.len() * right.len() > MOST_MOMENTS {
            return Err("the accesses happen in too many rounds of unrolled loops".to_owned());
        }
        let mut pairs = Vec::new();
        let same = std::ptr::eq(a.site, b.site);
        for (at, first) in left.iter().enumerate() {
            for (other, second) in right.iter().enumerate().skip(if same { at } else { 0 }) {
                pairs.extend(self.at_moments((a, first), (b, second), same.then_some(at == other))?);
            }
        }
        Ok(pairs)
    }

    /// Both accesses at two moments, of one site with itself `same` says whether they are one; `None` where one comes before the other.
    pub(super) fn at_moments(
        &mut self,
        (a, first): (&Placed<'a, 'a>, &Moment),
        (b, second): (&Placed<'a, 'a>, &Moment),
        same: Option<bool>,
    ) -> Result<Option<Pair>, String> {
        let array = |site: &Site<'_>| self.counts.loads.get(&site.statement).copied();
        let left = At { site: a.site, moment: first, array: array(a.site) };
        let right = At { site: b.site, moment: second, array: array(b.site) };
        let (there, back) = (left.not_before(&right, &self.counts), right.not_before(&left, &self.counts));
        let around = super::names::common(a.site, b.site);
        // Of the rounds of an unrolled loop it is known which they are.
        let shift = |number: &usize| {
            let bound = |moment: &Moment| self.bound(*number, moment);
            (bound(first)? == bound(second)?).then_some(0)
        };
        let relation: Vec<Option<i64>> = around.iter().map(shift).collect();
        let common = Common::new(&self.sites.loops, &self.uniform[0], true, (a.site, b.site), &relation);
        let placed = |one: &Placed<'a, 'a>, moment: &Moment| {
            Some(Placed {
                site: one.site,
                element: self.from(one.site, moment.element.clone()?)?,
                width: one.width,
                coordinates: None,
                contiguous: 0,
            })
        };
        let overflow = || "an index leaves 64 bits".to_owned();
        let unplaced = || "the first element of an access is not known".to_owned();
        let (left, right) = placed(a, first).zip(placed(b, second)).ok_or_else(unplaced)?;
        let axes: Vec<AtomId> = (0..3)
            .filter_map(|axis| self.names.atoms.find(&Atom::Special(Special::ThreadIdx, axis)))
            .collect();
        let sides = |of: fn(&Fact) -> &Index, other: fn(&Fact) -> &Index, moment: &Moment| {
            let mut list: Vec<Index> = there.iter().map(of).chain(back.iter().map(other)).cloned().collect();
            list.extend(moment.bound.iter().map(|(atom, _)| Index::atom(*atom)));
            // So that threads are named on both sides.
            list.extend(axes.iter().map(|axis| Index::atom(*axis)));
            list
        };
        let others =
            [sides(|fact| &fact.0, |fact| &fact.1, first), sides(|fact| &fact.1, |fact| &fact.0, second)];
        let made = Pair::with(&mut self.names, &common, (&left, &right), [&others[0], &others[1]]);
        let (mut pair, instances) = made.ok_or_else(overflow)?;
        for (at, (own, other)) in
            instances[0].iter().zip(&instances[1]).enumerate().take(there.len() + back.len())
        {
            let (more, less) = if at < there.len() { (own, other) } else { (other, own) };
            let fact = more.sub(less).map_err(|_| overflow())?;
            if fact.as_constant().is_some_and(|number| number < 0) {
                return Ok(None);
            }
            pair.facts.add(rounded(&fact));
        }
        let mut numbers: Vec<(AtomId, Index)> = Vec::new();
        for (moment, side) in [(first, 0), (second, 1)] {
            let images = instances[side].iter().skip(there.len() + back.len());
            for (image, (_, number)) in images.zip(&moment.bound) {
                let rest = image.sub(&Index::constant(*number)).map_err(|_| overflow())?;
                match rest.terms() {
                    [(monomial, 1)] if monomial.len() == 1 => {
                        let value = rest.offset().checked_neg().ok_or_else(overflow)?;
                        numbers.push((monomial[0], Index::constant(value)));
                    }
                    _ => return Err("a round of an unrolled loop is not named".to_owned()),
                }
            }
            self.of_threads(&mut pair, moment, side);
        }
        self.bind(&mut pair, &numbers).ok_or_else(overflow)?;
        self.same_thread(&mut pair, first, second);
        // What is in flight is unordered with its own thread, too.
        pair.in_flight = [a, b].iter().any(|one| is_in_flight(one.site));
        if pair.in_flight {
            // A thread is in one branch of an `if` in one round of the loops around it.
            let once = match same {
                Some(same) => same.then_some(around.len()),
                None if first.bound == second.bound => branches(a.site, b.site),
                None => None,
            };
            match once {
                Some(depth) => pair.rounds = Some(self.open_rounds(&pair, &common, first, depth)),
                None => pair.by_the_warp = true,
            }
        }
        Ok(Some(pair))
    }

    /// Puts numbers in the places of atoms.
    fn bind(&mut self, pair: &mut Pair, numbers: &[(AtomId, Index)]) -> Option<()> {
        if numbers.is_empty() {
            return Some(());
        }
        let atoms = &mut self.names.atoms;
        for one in &mut pair.equations {
            one.value = atoms.replace(&one.value, numbers).ok()?;
        }
        for side in &mut pair.own_facts {
            for fact in side {
                *fact = atoms.replace(fact, numbers).ok()?;
            }
        }
        let mut facts = Facts::default();
        for fact in std::mem::take(&mut pair.facts).known() {
            facts.add(atoms.replace(&fact, numbers).ok()?);
        }
        pair.facts = facts;
        Some(())
    }

    /// Between which numbers the threads of a moment are, in a block along one axis.
    fn of_threads(&self, pair: &mut Pair, moment: &Moment, side: usize) {
        let [_, 1, 1] = self.axes.threads else { return };
        let set = &moment.threads.set;
        let (Some(low), Some(high)) = (set.iter().position(|own| *own), set.iter().rposition(|own| *own))
        else {
            return;
        };
        // Of a warp any lane may be elected.
        let (low, high) = match moment.threads.elected || moment.threads.mixed {
            true => (low / 32 * 32, high / 32 * 32 + 31),
            false => (low, high),
        };
        let Some(own) = self.names.atoms.find(&Atom::Special(Special::ThreadIdx, 0)) else { return };
        let image = if side == 0 { Some(own) } else { pair.differing.get(&own).copied() };
        let Some(image) = image.map(Index::atom) else { return };
        let above = image.plus(-(low as i64));
        let below = image.scale(-1).and_then(|image| image.plus(high as i64));
        for fact in [above, below].into_iter().flatten() {
            pair.own_facts[side].push(fact.clone());
            pair.facts.add(fact);
        }
    }

    /// That a thread is the same one, where both moments are of that one alone.
    pub(super) fn same_thread(&self, pair: &mut Pair, first: &Moment, second: &Moment) {
        if !first.threads.are_one(&second.threads) {
            return;
        }
        for axis in 0..3 {
            let own = self.names.atoms.find(&Atom::Special(Special::ThreadIdx, axis));
            let Some((own, other)) = own.and_then(|own| Some((own, *pair.differing.get(&own)?))) else {
                continue;
            };
            if let Ok(value) = Index::atom(other).sub(&Index::atom(own)) {
                pair.equations.push(Equation { value, gap: Range::of(0) });
            }
        }
    }
}

/// How many loops are around an `if` whose two branches have an access each.
fn branches(a: &Site<'_>, b: &Site<'_>) -> Option<usize> {
    let mut both = a.branches.iter().zip(&b.branches).take_while(|(a, b)| a.number == b.number);
    both.find(|(a, b)| a.holds != b.holds).map(|(a, _)| a.depth)
}

/// Whether an access goes on after its statement.
fn is_in_flight(site: &Site<'_>) -> bool {
    match site.means {
        Transport::Tma | Transport::MatrixUnits | Transport::CopyAsync | Transport::RemoteShared => true,
        Transport::Thread | Transport::Atomic | Transport::Matrix => false,
    }
}

/// A fact with its number rounded down to a multiple of what all factors have in common.
fn rounded(fact: &Index) -> Index {
    let common = fact.terms().iter().fold(0, |all, (_, factor)| gcd(all, *factor));
    if common <= 1 {
        return fact.clone();
    }
    let down = fact.offset().div_euclid(common).checked_mul(common);
    let whole = down.and_then(|down| fact.plus(down.checked_sub(fact.offset())?).ok());
    whole.and_then(|whole| whole.exact_div(common)).unwrap_or_else(|| fact.clone())
}
