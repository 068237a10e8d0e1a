//! Boxes that are stored by tensor map: no two of them have an element in common.
//!
//! Law: two stores are unordered, whatever they wait for, unless they are one instance. A tensor that is stored by boxes is accessed by
//! nothing else. A store reads shared memory until its thread has waited for its group, which it has at the kernel's end.

use super::names::{self, Common};
use super::pair::{Equation, Pair, Placed};
use super::proof;
use super::prover::Prover;
use super::search;
use crate::index::{Atom, AtomId, Index, Range};
use crate::ir::Special;
use crate::origin::Origin;
use crate::program::{Operation, Part, Space, StatementKind, TensorStore, walk};

/// A store, its statement's place, and its source.
#[derive(Clone, Copy)]
struct Store<'p, 'a> {
    store: &'a TensorStore,
    origin: Origin,
    source: Option<&'p Placed<'a, 'a>>,
}

impl<'a> Prover<'a> {
    /// Proves that stored boxes are apart, and that none is in flight at the end.
    pub(super) fn stores(&mut self, placed: &[Option<Placed<'a, 'a>>]) {
        let mut stores: Vec<Store<'_, 'a>> = Vec::new();
        walk::statements(self.checked.body(), &mut |part| {
            if let Part::Statement(line) = part
                && let StatementKind::Operation(Operation::TensorStore(store)) = &line.kind
            {
                let own = |one: &&Placed<'_, '_>| std::ptr::eq(one.site.access, &raw const store.source);
                let source = placed.iter().flatten().find(own);
                stores.push(Store { store, origin: line.origin, source });
            }
        });
        for (at, a) in stores.iter().enumerate() {
            let argument = |one: &Store<'_, '_>| {
                self.checked.plan().maps.get(one.store.map as usize).map(|map| map.argument)
            };
            let mut reason = self.is_accessed(argument(a)).then(|| {
                "a tensor that is stored by boxes and also accessed otherwise is not covered".to_owned()
            });
            if !self.counts.is_read {
                reason.get_or_insert("it is not shown that a wait for its group follows".to_owned());
            }
            if let Some(reason) = reason {
                self.unproved(true, "", (a.origin, None), reason);
                continue;
            }
            for b in stores.iter().skip(at).filter(|b| argument(b) == argument(a)) {
                match self.apart(a, b, std::ptr::eq(a.store, b.store)) {
                    Ok(rule) => *self.certificate.pairs.entry(rule).or_default() += 1,
                    Err(reason) => self.unproved(true, "", (a.origin, Some(b.origin)), reason),
                }
            }
        }
    }

    /// Whether a tensor is accessed by threads, or loaded by boxes.
    fn is_accessed(&self, argument: Option<u32>) -> bool {
        let Some(argument) = argument else { return true };
        let global =
            |place| matches!(self.tables().place(place).space, Space::Global(own) if own == argument);
        let of = |map: &u32| self.checked.plan().maps.get(*map as usize).map(|map| map.argument);
        let mut loaded = self.counts.loads.keys().filter_map(|line| self.counts.maps.get(line));
        self.sites.sites.iter().any(|site| global(site.access.place))
            || loaded.any(|map| of(map) == Some(argument))
    }

    /// The rule by which two stores write different elements.
    fn apart(&mut self, a: &Store<'_, 'a>, b: &Store<'_, 'a>, same: bool) -> Result<&'static str, String> {
        if a.store.adds && b.store.adds {
            return Ok("atomic");
        }
        let (Some(left), Some(right)) = (a.source, b.source) else {
            return Err("what a store reads is not known".to_owned());
        };
        let map = |store: &TensorStore| self.checked.plan().maps.get(store.map as usize).cloned();
        let (Some(one), Some(other)) = (map(a.store), map(b.store)) else {
            return Err("a store without a map".to_owned());
        };
        if one.modes != other.modes {
            return Err("two maps of one tensor are not covered".to_owned());
        }
        let mut rule = "digits";
        let several = self.axes.blocks != [false; 3];
        for same_block in [true, false].into_iter().filter(|same_block| *same_block || several) {
            let around = names::common(left.site, right.site);
            let unknown = vec![None; around.len()];
            let uniform = &self.uniform[usize::from(!same_block)];
            let sites = (left.site, right.site);
            let common = Common::new(&self.sites.loops, uniform, same_block, sites, &unknown);
            let axes = (0..3).flat_map(|axis| {
                let of = |special| self.names.atoms.find(&Atom::Special(special, axis));
                [of(Special::ThreadIdx), of(Special::BlockIdx)]
            });
            let axes: Vec<Index> = axes.flatten().map(Index::atom).collect();
            let sides = [a, b].map(|one| [&one.store.coordinates[..], &axes].concat());
            let made = Pair::with(&mut self.names, &common, (left, right), [&sides[0], &sides[1]]);
            let overflow = "an index leaves 64 bits";
            let (mut pair, instances) = made.ok_or(overflow)?;
            pair.equations.clear();
            let extents = one.extents.iter().zip(&other.extents);
            for ((from, to), (own, their)) in instances[0].iter().zip(&instances[1]).zip(extents) {
                let value = to.sub(from).map_err(|_| overflow)?;
                let gap = Range::new(1 - i128::from(*own), i128::from(*their) - 1);
                pair.equations.push(Equation { value, gap });
            }
            if same_block {
                match same {
                    true => pair.rounds = Some(self.all_rounds(&pair, &common)),
                    false => pair.by_the_warp = true,
                }
                self.one_thread(&mut pair, left, right);
            }
            rule = match search::search(&mut self.names.atoms, &self.axes, &pair) {
                Some(proof) => proof::rule(&proof),
                None => return Err("the boxes of two stores are not shown to be apart".to_owned()),
            };
        }
        Ok(rule)
    }

    fn all_rounds(&self, pair: &Pair, common: &Common<'_>) -> Vec<Option<AtomId>> {
        let round = |number: usize| {
            let counters = self.sites.loops[number].counters.iter();
            let mut rounds = counters.filter_map(|counter| self.names.round(counter.atom));
            rounds.find(|round| pair.differing.contains_key(round))
        };
        common.around.iter().map(|(number, _)| round(*number)).collect()
    }

    /// That both are by one thread, where they are at all their moments.
    fn one_thread(&self, pair: &mut Pair, a: &Placed<'_, '_>, b: &Placed<'_, '_>) {
        let (first, second) = (self.moments(a.site), self.moments(b.site));
        if let Some(one) = first.first()
            && first.iter().chain(second).all(|other| one.threads.are_one(&other.threads))
        {
            self.same_thread(pair, one, one);
        }
    }
}
