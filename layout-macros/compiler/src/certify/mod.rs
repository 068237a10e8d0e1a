//! A certificate of a variant: no two accesses of different threads meet unordered at one byte, one of them a write, and each access is
//! inside of its tensor or masked, at every size that a launch may have.
//!
//! | what | file |
//! |---|---|
//! | accesses, and what holds where they happen | `sites.rs` |
//! | values that all threads agree on | `uniform.rs` |
//! | barrier intervals | `phases.rs` |
//! | asynchronous copies of threads | `flights.rs` |
//! | ghost counters, and the program followed by them | `counters.rs`, `replay.rs`, `values.rs`, `loops.rs`, `guess.rs` |
//! | what orders, by those counters | `events.rs`, `order.rs` |
//! | rings: positions, mbarriers | `positions.rs`, `mbarriers.rs` |
//! | boxes that are stored | `stores.rs` |
//! | which threads take a branch | `threads.rs` |
//! | what is in flight, and its pairs | `counts.rs`, `asynchronous.rs` |
//! | two instances over one set of atoms | `names.rs`, `pair.rs` |
//! | the checker of proofs | `proof.rs`, `enumerate.rs` |
//! | the search for proofs | `search.rs` |
//! | variables that a loop adds to | `inductions.rs` |
//! | the pairs, one after the other | `prover.rs` |
//! | proofs at random | `damage.rs` |
//! | bounds | `bounds.rs` |
//! | the text | `show.rs` |
//! | bank conflicts of the same sites | `banks.rs` |
//!
//! Law: an access or a pair of a kind that is not covered is not proved, never skipped. Covered are the accesses of threads, atomic
//! operations, matrix loads and stores of a warp, and `cp.async`, ordered by barriers of the block, the cluster and the grid; and in
//! shared memory loads by tensor map and the reads of `wgmma`, ordered by waits, fences, and mbarriers that are rings of one block.

mod asynchronous;
mod banks;
mod bounds;
mod counters;
mod counts;
mod damage;
mod enumerate;
mod events;
mod flights;
mod guess;
mod inductions;
mod loops;
mod mbarriers;
mod names;
mod order;
mod pair;
mod phases;
mod positions;
mod proof;
mod prover;
mod replay;
mod search;
mod show;
mod sites;
mod stores;
mod threads;
mod uniform;
mod values;

use super::check::{Checked, check};
use super::ir::{Kernel, RemarkKind};
use super::origin::{Errors, KernelError, Origin, Position};
use super::params::{ParamSet, Promises};
use super::program::{Part, Participants, StatementKind, Transport, walk};
use super::specialise::specialise;
pub use banks::{BankConflict, bank_conflicts};
use names::Names;
use prover::Prover;
use std::collections::BTreeMap;

/// What is proved of a variant, and what is not.
///
/// ```
/// # use layout_compiler::{ParamSet, ParamValue, Promises, certify, compile};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
/// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
/// let certificate = certify(&compile(&double::DEFINITION.kernel()?, &set, Promises::USUAL)?);
/// assert!(certificate.races() && certificate.bounds(), "{certificate}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The variant: the name of its CUDA function.
    pub entry: String,
    /// The pairs of accesses that are proved, by rule.
    pub pairs: BTreeMap<&'static str, usize>,
    /// The accesses that are proved to be inside, by rule.
    pub accesses: BTreeMap<&'static str, usize>,
    /// What is not proved, in the order of the kernel's lines.
    pub unproved: Vec<Unproved>,
}

/// What a certificate does not prove.
///
/// ```
/// # use layout_compiler::{ParamSet, Promises, certify, compile};
/// # use layout_cuda::tiled_kernel;
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn turned(x: &mut LayoutTensor<f32, RowMajor<32>>) {
///     let mut line = shared::<f32>(row_major([32]));
///     line[[thread_idx.x]] = x[[thread_idx.x]];
///     x[[thread_idx.x]] = line[[31 - thread_idx.x]];
/// }
/// let certificate = certify(&compile(&turned::DEFINITION.kernel()?, &ParamSet::default(), Promises::USUAL)?);
/// let race = &certificate.unproved[0];
/// assert_eq!((race.tensor.as_str(), race.race), ("line", true));
/// assert_eq!(race.second.map(|second| second.line), Some(race.first.line + 1), "{certificate}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unproved {
    /// Whether it is about order; else about bounds.
    pub race: bool,
    /// The tensor's name; empty where it is about none.
    pub tensor: String,
    /// Where in the kernel's Rust file.
    pub first: Position,
    /// The other access of a pair.
    pub second: Option<Position>,
    /// Why not.
    pub reason: String,
    pub(super) origin: Origin,
}

impl Certificate {
    /// Adds what is not proved of another variant.
    pub(super) fn restrict(&mut self, other: Certificate) {
        for one in other.unproved {
            if !self.unproved.contains(&one) {
                self.unproved.push(one);
            }
        }
    }

    /// Whether the order of all accesses is proved.
    ///
    /// ```
    /// # use layout_compiler::{ParamSet, ParamValue};
    /// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
    /// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
    /// assert!(double::DEFINITION.certificate(&set)?.races());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn races(&self) -> bool {
        !self.unproved.iter().any(|one| one.race)
    }

    /// Whether every access is proved to be inside of its tensor, or is masked.
    ///
    /// ```
    /// # use layout_compiler::{ParamSet, ParamValue};
    /// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
    /// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
    /// assert!(double::DEFINITION.certificate(&set)?.bounds());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bounds(&self) -> bool {
        self.unproved.iter().all(|one| one.race)
    }
}

/// Proves what it can of a variant.
///
/// ```
/// # use layout_compiler::{ParamSet, ParamValue, Promises, certify, compile};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
/// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
/// println!("{}", certify(&compile(&double::DEFINITION.kernel()?, &set, Promises::USUAL)?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn certify(checked: &Checked) -> Certificate {
    with_prover(checked, |mut prover| {
        prover.uncovered();
        prover.barriers();
        let placed = prover.bounds();
        prover.pairs(&placed);
        prover.stores(&placed);
        prover.certificate.unproved.sort_by_key(|one| (one.first, one.second));
        prover.certificate
    })
}

/// Proves what it can of all variants of a parameter set. The proofs that are counted are those of the usual variant.
///
/// # Errors
/// Those of the compilation.
///
/// ```
/// # use layout_compiler::{ParamSet, ParamValue, certify_set};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
/// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
/// assert_eq!(certify_set(&double::DEFINITION.kernel()?, &set)?, double::DEFINITION.certificate(&set)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn certify_set(kernel: &Kernel, set: &ParamSet) -> Result<Certificate, Errors> {
    let of = |promises| Ok::<_, Errors>(certify(&check(&specialise(kernel, set, promises)?)?));
    let mut all = of(Promises::USUAL)?;
    let conditions = (0..kernel.variant_if.len() as u32).map(|number| (true, true, Some(number)));
    let plain = [(true, false, None), (false, true, None), (false, false, None)];
    for (narrow, aligned, variant_if) in plain.into_iter().chain(conditions) {
        all.restrict(of(Promises { narrow, aligned, variant_if })?);
    }
    Ok(all)
}

/// The most barriers that are left out, one after the other.
const MOST_BARRIERS: usize = 24;

fn with_prover<T>(checked: &Checked, work: impl FnOnce(Prover<'_>) -> T) -> T {
    let (tables, body) = (checked.tables(), checked.body());
    let uniform = [false, true].map(|grid| uniform::uniform(tables, body, grid));
    let facts = [&checked.facts[..], &prover::of_the_grid(tables)].concat();
    let sites = sites::find(tables, &facts, [&uniform[0], &uniform[1]], body);
    let certificate = Certificate {
        entry: checked.entry().to_owned(),
        pairs: BTreeMap::new(),
        accesses: BTreeMap::new(),
        unproved: Vec::new(),
    };
    let (mut names, axes) = (Names::new(tables, body), prover::axes(checked));
    let flights = flights::flights(&sites, body);
    let counts = counts::count(checked, &mut names, &sites, axes.threads);
    let (uniform, sites, without) = (&uniform, &sites, Vec::new());
    work(Prover { checked, uniform, sites, flights, counts, names, axes, certificate, without })
}

/// Barriers of the block without which, all left out, no race is possible either, at any size: of a variant without races. None where
/// there are atomic operations, fences or signals: what they order no pair of accesses shows.
pub(super) fn redundant_barriers(checked: &Checked) -> Vec<Origin> {
    let (mut barriers, mut is_plain) = (Vec::new(), true);
    walk::statements(checked.body(), &mut |part| {
        let Part::Statement(line) = part else { return };
        is_plain &= match &line.kind {
            StatementKind::Atomic { .. } | StatementKind::Signal(_) => false,
            StatementKind::Operation(operation) => operation.means() != Transport::Tma,
            _ => true,
        };
        let is_barrier = matches!(line.kind, StatementKind::Barrier(Participants::Block));
        if is_barrier && !barriers.contains(&line.origin) {
            barriers.push(line.origin);
        }
    });
    if barriers.is_empty() || barriers.len() > MOST_BARRIERS || !is_plain {
        return Vec::new();
    }
    with_prover(checked, |mut prover| {
        prover.uncovered();
        prover.barriers();
        if !prover.certificate.races() {
            return Vec::new();
        }
        let placed = prover.bounds();
        let mut is_ordered = |without: Vec<Origin>| {
            prover.without = without;
            prover.certificate.unproved.clear();
            prover.pairs(&placed);
            prover.certificate.races()
        };
        let mut redundant = Vec::new();
        if is_ordered(Vec::new()) {
            for barrier in barriers {
                if is_ordered([&redundant[..], &[barrier]].concat()) {
                    redundant.push(barrier);
                }
            }
        }
        redundant
    })
}

/// Refuses a variant of which its kernel demands more than is proved.
pub(super) fn refuse(checked: &Checked) -> Result<(), Errors> {
    let demands = |kind: RemarkKind| checked.denied().contains(&kind);
    let mut errors = Errors::new();
    if !demands(RemarkKind::Races) && !demands(RemarkKind::Bounds) {
        return Ok(());
    }
    for one in certify(checked).unproved {
        let (kind, what) = match one.race {
            true => (RemarkKind::Races, "free of races"),
            false => (RemarkKind::Bounds, "inside of its tensor"),
        };
        if !demands(kind) {
            continue;
        }
        let with = one.second.map_or(String::new(), |second| format!(", with that of line {},", second.line));
        let message = match one.tensor.as_str() {
            "" => format!("this is not proved to be {what}: {}", one.reason),
            tensor => format!("this access of `{tensor}`{with} is not proved to be {what}: {}", one.reason),
        };
        let help = match one.race {
            true => "separate them by `barrier()`, make both atomic, or leave `certified` out",
            false => "guard the access, state the bound by `require(..)`, or leave `certified` out",
        };
        errors.push(KernelError { message, help: Some(help.to_owned()), origin: one.origin });
    }
    errors.propagate(())
}

#[doc(hidden)]
pub use damage::{Damage, damaged};
