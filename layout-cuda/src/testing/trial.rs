//! A kernel with one parameter set under test: shapes, launches, comparison, and the smallest shape that fails.
//!
//! Law: the same test gives the same launches with the same values. A failure is reported at sizes none of which can be
//! made smaller by its own strategy without the failure going away.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use layout_compiler::launch::{Extent, LaunchPlan, PlanArgument, PlanArgumentKind};
use layout_compiler::{BindError, Kernel, LaunchArgument, ParamSet};
use proptest::num::usize::BinarySearch;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::Test;
use super::attempt::{Ending, Shape};
use super::capacity::{self, Work};
use super::case::{Case, Given};
use super::failure::{Failure, Passed};
use super::operand::strides;
use super::sizes::{Sizes, around, drawn, free, shapes, tiles};
use crate::error::{Error, Result};
use crate::functions::{KernelInstance, on_simulator};
use crate::launch::{LaunchConfig, choose};
use crate::launch_error::LaunchError;

/// The sizes that are bound and not run.
const BEYOND: [usize; 3] = [1 << 31, (1 << 32) + 1, (1 << 33) + 7];

/// The reference of a test.
pub(super) type Reference<'a> = dyn FnMut(&mut Case<'_>) + 'a;

/// A kernel with one parameter set.
pub(super) struct Trial<'t> {
    pub(super) test: &'t Test<'t>,
    kernel: &'t Kernel,
    pub(super) set: ParamSet,
    pub(super) family: Arc<KernelInstance>,
    pub(super) plan: LaunchPlan,
    pub(super) names: Vec<String>,
    /// The dimensions that tensors give.
    free: Vec<usize>,
    /// The simulator's instructions of the last launch.
    pub(super) work: Cell<u64>,
}

impl<'t> Trial<'t> {
    /// The kernel, made for a set.
    pub(super) fn new(test: &'t Test<'t>, kernel: &'t Kernel, set: ParamSet) -> Result<Trial<'t>> {
        let family = on_simulator().family(test.definition, Some(&set), &[])?;
        // Its arguments are those of every variant.
        let plan = family.unpromised()?.plan().clone();
        let names = plan.arguments.iter().map(|argument| argument.name.clone()).collect();
        let free = free(&plan);
        Ok(Trial { test, kernel, set, family, plan, names, free, work: Cell::new(0) })
    }

    /// Runs every shape, and finds the smallest where one fails. `more` says that there are to be as many as `cases`; `work`
    /// is what sizes far beyond the tiles may take.
    pub(super) fn run(
        &self,
        (cases, more): (usize, bool),
        work: u64,
        reference: &mut Reference<'_>,
        passed: &mut Passed,
    ) -> std::result::Result<(), Box<Failure>> {
        let tiles = tiles(self.kernel, &self.set, &self.plan);
        let lists: std::result::Result<Vec<Vec<usize>>, Box<Failure>> = (self.free.iter())
            .map(|dim| match self.draws(*dim, cases) {
                Some(draws) => draws.map(|draws| draws.iter().map(|draw| draw.current()).collect()),
                None => Ok(around(&tiles[*dim])),
            })
            .collect();
        let lists = lists?;
        let mut state = self.test.seed;
        let mut all = shapes(&lists, usize::MAX, |below| mix(&mut state) as usize % below);
        let fit = |sizes: &Vec<usize>| self.extents(sizes).is_none_or(|extents| self.fits(&extents));
        all.retain(fit);
        if more && !lists.is_empty() {
            let mut random = |below| mix(&mut state) as usize % below;
            let wanted = (0..cases.saturating_sub(all.len())).map(|_| drawn(&lists, &mut random));
            let drawn: Vec<Vec<usize>> = wanted.filter(fit).collect();
            all.extend(drawn);
        }
        all.truncate(cases.max(1));
        // Small ones first: the first to fail is nearly the smallest.
        all.sort_by_key(|sizes| sizes.iter().fold(1usize, |product, size| product.saturating_mul(size + 1)));
        for sizes in all {
            if let Some(failure) = self.attempt(&sizes, reference, passed) {
                return Err(self.smallest(sizes, cases, failure, reference));
            }
        }
        self.capacities(&lists, &tiles, work, reference, passed)
            .map_err(|(sizes, failure)| self.smallest(sizes, cases, failure, reference))?;
        self.beyond(&lists, passed)
    }

    /// Runs sizes far beyond the tiles, one dimension at a time; of one that fails the sizes.
    #[allow(clippy::type_complexity)]
    fn capacities(
        &self,
        lists: &[Vec<usize>],
        tiles: &[BTreeSet<usize>],
        work: u64,
        reference: &mut Reference<'_>,
        passed: &mut Passed,
    ) -> std::result::Result<(), (Vec<usize>, Box<Failure>)> {
        let constants = capacity::constants(self.kernel, &self.set);
        for (place, dim) in self.free.iter().enumerate() {
            if self.test.sizes.contains_key(&self.plan.dims[*dim]) {
                continue;
            }
            let mut work = Work::new(work / self.free.len().max(1) as u64);
            let least = |list: &Vec<usize>| list.iter().copied().filter(|size| *size > 0).min().unwrap_or(1);
            let mut sizes: Vec<usize> = lists.iter().map(least).collect();
            let from = lists[place].iter().copied().max().unwrap_or(1);
            let fits = |size: usize| {
                let mut sizes = sizes.clone();
                sizes[place] = size;
                self.extents(&sizes).is_some_and(|extents| self.fits(&extents))
            };
            let largest = largest(from, self.test.most, fits);
            for size in capacity::beyond(&tiles[*dim], &constants, from, largest) {
                if !work.allows(size) {
                    break;
                }
                sizes[place] = size;
                self.work.set(0);
                if let Some(failure) = self.attempt(&sizes, reference, passed) {
                    return Err((sizes, failure));
                }
                work.took(size, self.work.get());
            }
        }
        Ok(())
    }

    /// The sizes that a dimension's own strategy draws, where it has one: each time the same.
    #[allow(clippy::type_complexity)]
    fn draws(
        &self,
        dim: usize,
        cases: usize,
    ) -> Option<std::result::Result<Vec<Box<dyn ValueTree<Value = usize>>>, Box<Failure>>> {
        let name = &self.plan.dims[dim];
        let strategy = self.test.sizes.get(name)?;
        let mut runner = runner(self.test.seed);
        let draws = (0..cases.clamp(1, 256)).map(|_| strategy.new_tree(&mut runner));
        let draws: std::result::Result<_, _> = draws.collect();
        Some(
            draws.map_err(|reason| {
                self.failure(Sizes::default(), format!("the strategy of `{name}`: {reason}"))
            }),
        )
    }

    /// Makes each size smaller as long as the kernel fails there.
    fn smallest(
        &self,
        mut sizes: Vec<usize>,
        cases: usize,
        mut failure: Box<Failure>,
        reference: &mut Reference<'_>,
    ) -> Box<Failure> {
        let mut unheard = Passed::default();
        for place in (0..sizes.len()).chain(0..sizes.len()) {
            let tree = match self.draws(self.free[place], cases) {
                Some(Ok(draws)) => draws.into_iter().find(|draw| draw.current() == sizes[place]),
                Some(Err(_)) => None,
                None => Some(Box::new(BinarySearch::new(sizes[place])) as Box<dyn ValueTree<Value = usize>>),
            };
            let Some(mut tree) = tree else { continue };
            let mut best = sizes[place];
            let mut further = tree.simplify();
            while further {
                sizes[place] = tree.current();
                further = match self.attempt(&sizes, reference, &mut unheard) {
                    Some(smaller) => {
                        (best, failure) = (sizes[place], smaller);
                        tree.simplify()
                    }
                    None => tree.complicate(),
                };
            }
            sizes[place] = best;
        }
        failure
    }

    /// The shape of each tensor at these sizes; `None` where an extent has no value.
    fn extents(&self, sizes: &[usize]) -> Option<Vec<Vec<usize>>> {
        let size = |dim: u32| {
            let place = self.free.iter().position(|known| *known == dim as usize);
            place.and_then(|place| sizes.get(place)).copied().unwrap_or(0)
        };
        let mut computed = false;
        let mut all = Vec::with_capacity(self.plan.arguments.len());
        for argument in &self.plan.arguments {
            let PlanArgumentKind::Tensor { extents, .. } = &argument.kind else {
                all.push(Vec::new());
                continue;
            };
            let extent = |extent: &Extent| match extent {
                Extent::Dim(dim) => Some(size(*dim)),
                Extent::Static(extent) => usize::try_from(*extent).ok(),
                Extent::Computed(_) => Some(0),
            };
            computed |= extents.iter().any(|extent| matches!(extent, Extent::Computed(_)));
            all.push(extents.iter().map(extent).collect::<Option<Vec<usize>>>()?);
        }
        // A binding says what an extent that is an expression should be, one after the other.
        for _ in 0..if computed { 64 } else { 0 } {
            let (layouts, sizes) = (self.layouts(&all), self.named(sizes));
            let Err(BindError::Computed { argument, mode, expected, .. }) =
                self.plan.bind(&self.descriptors(&all, &layouts, &[]), self.grid(&sizes))
            else {
                break;
            };
            let place = self.names.iter().position(|name| *name == argument)?;
            *all.get_mut(place)?.get_mut(mode)? = usize::try_from(expected?).ok()?;
        }
        Some(all)
    }

    /// Strides of compact tensors of these shapes.
    fn layouts(&self, shapes: &[Vec<usize>]) -> Vec<Vec<usize>> {
        let of = |(argument, shape): (&PlanArgument, &Vec<usize>)| match argument.kind {
            PlanArgumentKind::Tensor { elem, layout, .. } => strides(layout, shape, elem, false),
            PlanArgumentKind::Scalar(_) | PlanArgumentKind::Index => Vec::new(),
        };
        self.plan.arguments.iter().zip(shapes).map(of).collect()
    }

    /// The arguments without memory, as a binding sees them.
    fn descriptors<'a>(
        &self,
        shapes: &'a [Vec<usize>],
        strides: &'a [Vec<usize>],
        given: &[Given],
    ) -> Vec<LaunchArgument<'a>> {
        let face = |(place, argument): (usize, &PlanArgument)| match argument.kind {
            PlanArgumentKind::Tensor { elem, .. } => {
                let (shape, strides) = (&shapes[place][..], &strides[place][..]);
                LaunchArgument::Tensor { elem, shape, strides, address: 0, len: usize::MAX }
            }
            PlanArgumentKind::Scalar(elem) => LaunchArgument::Scalar(elem, 0),
            PlanArgumentKind::Index => match given.get(place) {
                Some(Given::Index(value)) => LaunchArgument::Index(*value),
                _ => LaunchArgument::Index(0),
            },
        };
        self.plan.arguments.iter().enumerate().map(face).collect()
    }

    fn fits(&self, shapes: &[Vec<usize>]) -> bool {
        let count =
            |shape: &Vec<usize>| shape.iter().fold(1usize, |count, extent| count.saturating_mul(*extent));
        shapes.iter().all(|shape| count(shape) <= self.test.most)
    }

    fn named(&self, sizes: &[usize]) -> Sizes {
        let names = self.free.iter().map(|dim| self.plan.dims[*dim].clone());
        Sizes(names.zip(sizes.iter().copied()).collect())
    }

    pub(super) fn grid(&self, sizes: &Sizes) -> Option<[u32; 3]> {
        self.test.grid.as_ref().map(|grid| grid(sizes))
    }

    /// Makes and binds the kernel for sizes beyond 32 bits, one dimension at a time.
    fn beyond(&self, lists: &[Vec<usize>], passed: &mut Passed) -> std::result::Result<(), Box<Failure>> {
        for place in (0..self.free.len())
            .filter(|place| !self.test.sizes.contains_key(&self.plan.dims[self.free[*place]]))
        {
            for size in BEYOND {
                let mut sizes: Vec<usize> =
                    lists.iter().map(|list| list.first().copied().unwrap_or(1)).collect();
                sizes[place] = size;
                let (Some(shapes), named) = (self.extents(&sizes), self.named(&sizes)) else { continue };
                let strides = self.layouts(&shapes);
                let config = LaunchConfig { grid: self.grid(&named), ..LaunchConfig::default() };
                match choose(&self.family, config, &self.descriptors(&shapes, &strides, &[])) {
                    Ok(_) => passed.bound += 1,
                    Err(Error::Launch(LaunchError::Arguments { error, .. })) => {
                        passed.refuse(format!("at {named}: {error}"));
                    }
                    Err(error) => return Err(self.failure(named, error.to_string())),
                }
            }
        }
        Ok(())
    }

    /// Runs the kernel at some sizes on every device, aligned and not.
    fn attempt(
        &self,
        sizes: &[usize],
        reference: &mut Reference<'_>,
        passed: &mut Passed,
    ) -> Option<Box<Failure>> {
        let named = self.named(sizes);
        let Some(shapes) = self.extents(sizes) else {
            passed.refuse(format!("at {named}: an extent has no value"));
            return None;
        };
        let given = match self.given(&shapes) {
            Ok(given) => given,
            Err(error) => return Some(self.failure(named, error)),
        };
        let mut shape = Shape { sizes: named, given, expected: None };
        for device in &self.test.devices {
            for skewed in [false, true] {
                match self.launch(&mut shape, device, skewed, reference) {
                    Ending::Right => passed.launches += 1,
                    Ending::Refused(reason) => passed.refuse(reason),
                    Ending::Wrong(mut failure) => {
                        failure.right = passed.launches;
                        return Some(failure);
                    }
                }
            }
        }
        None
    }

    /// A failure of this kernel and set.
    pub(super) fn failure(&self, sizes: Sizes, error: String) -> Box<Failure> {
        let mut failure = self.test.failure(error);
        (failure.sizes, failure.set) = (sizes, self.set.key());
        failure
    }
}

impl Passed {
    /// Remembers why a launch was refused.
    fn refuse(&mut self, reason: String) {
        // Of many sizes that are refused for one reason a few say enough.
        let few = self.refused.len() < 8;
        if few && !self.refused.contains(&reason) {
            self.refused.push(reason);
        }
    }
}

/// The largest size from `from` to `most` that fits, where all below it fit.
fn largest(from: usize, most: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (from, most.saturating_add(1).max(from));
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    low
}

/// A runner that draws the same each time.
pub(super) fn runner(seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// The next of a sequence of numbers (SplitMix64).
pub(super) fn mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
