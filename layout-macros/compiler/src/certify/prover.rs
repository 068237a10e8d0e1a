//! The pairs and the accesses of a program, one after the other.
//!
//! Law: each pair of accesses that may be to the same memory, one a write, is proved in every relation in which both may be unordered, or
//! is in the list of what is not proved.

use super::bounds::Bounds;
use super::counts::Counts;
use super::flights::Flights;
use super::names::{self, Common, Names};
use super::pair::{Pair, Placed};
use super::phases::{self, Phases, Relation};
use super::proof::{self, Axes};
use super::search;
use super::sites::{Line, Site, Sites};
use super::uniform::Uniform;
use super::{Certificate, Unproved};
use crate::check::Checked;
use crate::index::{Atom, AtomId, Index};
use crate::ir::{BinaryOp, Special};
use crate::origin::Origin;
use crate::program::{Comparison, Operation, Part, Signal, Space, StatementKind, Tables, Transport, walk};

/// A copy that is open.
const IN_STAGES: &str = "`cp.async` in flight at the end of a round of its loop, or of the kernel,";

/// The most pairs that are looked at.
const MOST_PAIRS: usize = 20_000;

pub(super) fn axes(checked: &Checked) -> Axes {
    let plan = checked.plan();
    let several = |axis: usize| match &plan.grid {
        Some(grid) if !plan.open_grid => checked.tables().atoms.range(&grid[axis]).high > 1,
        _ => true,
    };
    Axes { threads: plan.block.map(i64::from), blocks: [0, 1, 2].map(several) }
}

pub(super) struct Prover<'a> {
    pub checked: &'a Checked,
    pub uniform: &'a [Uniform; 2],
    pub sites: &'a Sites<'a>,
    pub flights: Flights,
    pub counts: Counts,
    pub names: Names,
    pub axes: Axes,
    pub certificate: Certificate,
    /// Barriers that are left out.
    pub without: Vec<Origin>,
}

impl<'a> Prover<'a> {
    pub(super) fn tables(&self) -> &'a Tables {
        self.checked.tables()
    }

    pub(super) fn unproved(
        &mut self,
        race: bool,
        tensor: &str,
        at: (Origin, Option<Origin>),
        reason: impl Into<String>,
    ) {
        let position = |origin: Origin| self.tables().positions.get(origin.0 as usize).copied();
        let one = Unproved {
            race,
            tensor: tensor.to_owned(),
            first: position(at.0).unwrap_or_default(),
            second: at.1.map(|origin| position(origin).unwrap_or_default()),
            reason: reason.into(),
            origin: at.0,
        };
        let like = |known: &Unproved| {
            (known.race, &known.tensor, known.first, known.second)
                == (one.race, &one.tensor, one.first, one.second)
        };
        if !self.certificate.unproved.iter().any(like) {
            self.certificate.unproved.push(one);
        }
    }

    /// Reports what no rule covers: mbarriers that are no ring, stores by tensor map, memory of other blocks.
    pub(super) fn uncovered(&mut self) {
        let mut found: Vec<(Origin, String)> = Vec::new();
        walk::statements(self.checked.body(), &mut |part| {
            let Part::Statement(line) = part else { return };
            let what = match &line.kind {
                StatementKind::Signal(Signal::TensorAllocate { .. } | Signal::TensorFree { .. }) => {
                    Some("tensor memory is not covered".to_owned())
                }
                StatementKind::Signal(signal) => signal.parts().0.and_then(|barrier| {
                    let place = barrier.place.0;
                    if self.counts.arrays.iter().any(|(array, _)| *array == place) {
                        return None;
                    }
                    let wrong = self.counts.wrong.get(&place).copied().unwrap_or("it is never made");
                    Some(format!("this mbarrier orders nothing that is proved: {wrong}"))
                }),
                StatementKind::Operation(operation) => self.uncovered_operation(line, operation),
                _ => None,
            };
            found.extend(what.map(|what| (line.origin, what)));
        });
        for (origin, what) in found {
            self.unproved(true, "", (origin, None), what);
        }
    }

    fn uncovered_operation(&self, line: &Line, operation: &Operation) -> Option<String> {
        let key = std::ptr::from_ref(line);
        match operation.means() {
            Transport::Tma => match self.counts.maps.get(&key) {
                Some(_) if !self.counts.loads.contains_key(&key) => None,
                Some(map) => {
                    let argument = self.checked.plan().maps.get(*map as usize)?.argument;
                    let mut places = self.tables().places.iter();
                    let is_written =
                        places.any(|place| place.space == Space::Global(argument) && place.mutable);
                    is_written.then(|| {
                        "a copy by tensor map from a tensor that is written is not covered".to_owned()
                    })
                }
                // A hint.
                None => None,
            },
            Transport::RemoteShared => Some("a store to another block is not covered".to_owned()),
            Transport::MatrixUnits if matches!(operation, Operation::TensorProduct(_)) => {
                Some("a product in tensor memory is not covered".to_owned())
            }
            Transport::Thread
            | Transport::Atomic
            | Transport::Matrix
            | Transport::MatrixUnits
            | Transport::CopyAsync => None,
        }
    }

    /// Reports barriers that not all threads come to alike: then nothing is ordered by them.
    pub(super) fn barriers(&mut self) {
        let mut found = Vec::new();
        let (tables, body) = (self.tables(), self.checked.body());
        self.uniform.iter().for_each(|level| level.divergent(tables, body, true, &mut found));
        for origin in found {
            let reason = "not all threads are known to come to this barrier equally often";
            self.unproved(true, "", (origin, None), reason);
        }
    }

    pub(super) fn bounds(&mut self) -> Vec<Option<Placed<'a, 'a>>> {
        let sites = self.sites;
        let mut placed = Vec::with_capacity(sites.sites.len());
        for site in &sites.sites {
            let flown = self.flown(site);
            let mut bounds = Bounds {
                flown,
                checked: self.checked,
                loops: &sites.loops,
                uniform: &self.uniform[0],
                names: &mut self.names,
                threads: self.axes.threads,
            };
            let (rule, place) = bounds.site(site);
            match rule {
                Ok(rule) => *self.certificate.accesses.entry(rule).or_default() += 1,
                Err(reason) => {
                    let tensor = self.tables().place(site.access.place).name.clone();
                    self.unproved(false, &tensor, (site.access.origin, None), reason);
                }
            }
            placed.push(place);
        }
        placed
    }

    pub(super) fn phases(&self) -> [Phases; 2] {
        [false, true].map(|grid| phases::phases(self.sites, self.checked.body(), grid, &self.without))
    }

    pub(super) fn pairs(&mut self, placed: &[Option<Placed<'a, 'a>>]) {
        let phases = self.phases();
        let sites = &self.sites.sites;
        let mut count = 0;
        for (at, a) in sites.iter().enumerate() {
            for (other, b) in sites.iter().enumerate().skip(at) {
                if !a.way.writes() && !b.way.writes() || !self.meet(a, b) {
                    continue;
                }
                count += 1;
                if count > MOST_PAIRS {
                    self.unproved(true, "", (a.access.origin, None), format!("more than {MOST_PAIRS} pairs"));
                    return;
                }
                let proved = match self.uncovered_pair(a, b) {
                    Some(reason) => Err(reason),
                    None => match (&placed[at], &placed[other]) {
                        (Some(left), Some(right)) => self.pair(&phases, left, right),
                        _ => Err("the element of an access is not known".to_owned()),
                    },
                };
                match proved {
                    Ok(rule) => *self.certificate.pairs.entry(rule).or_default() += 1,
                    Err(reason) => {
                        let tensor = self.tables().place(a.access.place).name.clone();
                        let mut lines = [a.access.origin, b.access.origin];
                        lines.sort_by_key(|origin| self.tables().positions.get(origin.0 as usize));
                        self.unproved(true, &tensor, (lines[0], Some(lines[1])), reason);
                    }
                }
            }
        }
    }

    /// Whether two accesses are to memory that may be the same. Arguments that are written overlap no other one: a launch borrows
    /// them mutably.
    pub(super) fn meet(&self, a: &Site<'_>, b: &Site<'_>) -> bool {
        match [a, b].map(|site| self.tables().place(site.access.place).space) {
            [Space::Global(a), Space::Global(b)] => a == b,
            [Space::Global(_), _] | [_, Space::Global(_)] => false,
            [Space::Local | Space::Tensor { .. }, _] | [_, Space::Local | Space::Tensor { .. }] => false,
            [Space::Remote { .. }, _] | [_, Space::Remote { .. }] => true,
            [Space::Shared { .. }, Space::Shared { .. }] => {
                let [(from, to), (other, end)] = [a, b].map(|site| self.bytes(site));
                from < end && other < to
            }
        }
    }

    /// The bytes of a shared place.
    fn bytes(&self, site: &Site<'_>) -> (u64, u64) {
        let place = self.tables().place(site.access.place);
        let from = match place.space {
            Space::Shared { byte_offset } => u64::from(byte_offset),
            Space::Global(_) | Space::Remote { .. } | Space::Tensor { .. } | Space::Local => 0,
        };
        (from, from.saturating_add(place.len.saturating_mul(u64::from(place.elem.bytes()))))
    }

    /// Why no rule covers a pair.
    pub(super) fn uncovered_pair(&self, a: &Site<'_>, b: &Site<'_>) -> Option<String> {
        for site in [a, b] {
            let place = self.tables().place(site.access.place);
            if matches!(place.space, Space::Remote { .. }) {
                return Some("memory of another block is not covered".to_owned());
            }
            let is_global = matches!(place.space, Space::Global(_));
            match site.means {
                Transport::CopyAsync if is_global && self.flights.is_open(site.statement) => {
                    return Some(format!("{IN_STAGES} from a tensor that is written, is not covered"));
                }
                Transport::Tma | Transport::MatrixUnits if self.flown(site).is_none() => {
                    return Some(format!("an access {} is not covered", site.means));
                }
                Transport::Thread
                | Transport::Atomic
                | Transport::Matrix
                | Transport::CopyAsync
                | Transport::Tma
                | Transport::MatrixUnits => {}
                Transport::RemoteShared => return Some("a store to another block is not covered".to_owned()),
            }
        }
        None
    }

    /// The rule that proves a pair.
    fn pair(
        &mut self,
        phases: &[Phases; 2],
        a: &Placed<'a, 'a>,
        b: &Placed<'a, 'a>,
    ) -> Result<&'static str, String> {
        let shared = matches!(self.tables().place(a.site.access.place).space, Space::Shared { .. });
        if self.is_counted(a.site) || self.is_counted(b.site) {
            return self.counted(a, b);
        }
        self.synchronous(phases, a, b).or_else(|reason| match shared && self.counts.is_any() {
            true => self.counted(a, b).map_err(|_| reason),
            false => Err(reason),
        })
    }

    /// The rule that proves a pair by barriers alone.
    fn synchronous(
        &mut self,
        phases: &[Phases; 2],
        a: &Placed<'a, 'a>,
        b: &Placed<'a, 'a>,
    ) -> Result<&'static str, String> {
        let mut rule = "barriers";
        for (grid, relation) in self.cases(phases, a.site, b.site) {
            let Some(pair) = self.instances(grid, &relation, a, b) else {
                return Err("an index leaves 64 bits".to_owned());
            };
            rule = match search::search(&mut self.names.atoms, &self.axes, &pair) {
                Some(proof) => proof::rule(&proof),
                None if grid => {
                    return Err(
                        "threads of different blocks are not shown to access different elements".to_owned()
                    );
                }
                None if pair.rounds.is_some() || self.in_flight(a.site, b.site) => {
                    return Err(
                        "the copy may be in flight at the other access: wait for it before".to_owned()
                    );
                }
                None => {
                    return Err(
                        "threads of one block are not shown to access different elements, and no barrier \
                                separates them"
                            .to_owned(),
                    );
                }
            };
        }
        Ok(rule)
    }

    /// The relations in which two accesses may be unordered: of one block, and of different blocks.
    pub(super) fn cases(&self, phases: &[Phases; 2], a: &Site<'_>, b: &Site<'_>) -> Vec<(bool, Relation)> {
        let global = matches!(self.tables().place(a.access.place).space, Space::Global(_));
        let around = names::common(a, b);
        let several = global && self.axes.blocks != [false; 3];
        let of = |grid: bool| {
            let lines = [a, b].map(|site| self.flights.of(site.statement));
            let relations = phases[usize::from(grid)].relations(&lines[0], &lines[1], &around);
            relations.into_iter().map(move |relation| (grid, relation))
        };
        let own = of(false);
        own.chain(several.then(|| of(true)).into_iter().flatten()).collect()
    }

    /// Both accesses in such a relation.
    pub(super) fn instances(
        &mut self,
        grid: bool,
        relation: &Relation,
        a: &Placed<'_, '_>,
        b: &Placed<'_, '_>,
    ) -> Option<Pair> {
        let uniform = &self.uniform[usize::from(grid)];
        let common = Common::new(&self.sites.loops, uniform, !grid, (a.site, b.site), relation);
        let mut pair = Pair::new(&mut self.names, &common, (a, b))?;
        let (left, right) = (a.site.statement, b.site.statement);
        if std::ptr::eq(a.site, b.site) {
            // A thread's own copies of different rounds.
            pair.rounds = self.flights.holds(left, right).then(|| self.rounds(&pair, &common));
        } else {
            pair.by_the_warp |= self.in_flight(a.site, b.site);
        }
        Some(pair)
    }

    /// Whether one of two accesses is in the flight of the other one's copy.
    fn in_flight(&self, a: &Site<'_>, b: &Site<'_>) -> bool {
        self.flights.holds(a.statement, b.statement) || self.flights.holds(b.statement, a.statement)
    }

    /// The rounds of the loops around both that may differ; `None` of one whose round the elements do not depend on.
    fn rounds(&self, pair: &Pair, common: &Common<'_>) -> Vec<Option<AtomId>> {
        let unknown = common.around.iter().filter(|(_, shift)| shift.is_none());
        let round = |(number, _): &(usize, Option<i64>)| {
            let counters = self.sites.loops[*number].counters.iter();
            let mut rounds = counters.filter_map(|counter| self.names.round(counter.atom));
            rounds.find(|round| pair.differing.contains_key(round))
        };
        unknown.map(round).collect()
    }
}

/// That a block's index is below the grid's extent, where the program has both.
pub(super) fn of_the_grid(tables: &Tables) -> Vec<Comparison> {
    let index = |special, axis| tables.atoms.find(&Atom::Special(special, axis)).map(Index::atom);
    (0..3)
        .filter_map(|axis| {
            let (left, right) = (index(Special::BlockIdx, axis)?, index(Special::GridDim, axis)?);
            Some(Comparison { op: BinaryOp::Lt, left, right })
        })
        .collect()
}
