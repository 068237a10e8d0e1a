//! `cargo test` for kernels: a kernel, its meaning in plain Rust, and a function that tries both.
//!
//! The feature `testing` brings this module (`layout-cuda = { .., features = ["testing"] }` under `[dev-dependencies]`). After
//! writing a kernel, write its test:
//!
//! ```
//! use layout_cuda::testing::{self, Sum};
//! use layout_cuda::tiled_kernel;
//!
//! /// The sum of each row, four threads for one.
//! #[tiled_kernel(ROWS = 8, block = [ROWS * 4], grid = [M.div_ceil(ROWS)])]
//! fn row_sums<const M: usize, const N: usize>(
//!     x: &LayoutTensor<f32, RowMajor<M, N>>,
//!     y: &mut LayoutTensor<f32, RowMajor<M>>,
//! ) {
//!     let (row, own) = (block_idx.x * ROWS + thread_idx.x / 4, thread_idx.x % 4);
//!     let mut sum = 0.0;
//!     for step in 0..N.div_ceil(4) {
//!         if row < M && step * 4 + own < N {
//!             sum += x[[row, step * 4 + own]];
//!         }
//!     }
//!     sum += sum.shuffle_xor(1);
//!     sum += sum.shuffle_xor(2);
//!     if row < M && own == 0 {
//!         y[[row]] = sum;
//!     }
//! }
//!
//! // Under `#[test]`:
//! testing::kernel(&row_sums::DEFINITION).check(|case| {
//!     let (x, n) = (case.input("x"), case.size("N"));
//!     case.expect("y", |[i]| (0..n).map(|j| x[[i, j]]).sum::<Sum>());
//! });
//! ```
//!
//! [`Case::expect`] calls the closure for each element; what a row shares, such as its sum, is computed once by
//! [`Case::expect_rows`].
//!
//! What it tries: every parameter set of the attribute; sizes around every tile of the kernel (0, 1, the tile, its
//! multiples and their neighbours, primes), small ones first; of each dimension the largest that [`Test::elements`] allows, and
//! on the way there the ends of 8 and 16 bits and multiples of the kernel's own constants, as far as the simulator takes about a
//! second for all of them; tensors at aligned addresses and one element behind them,
//! padded where their layout allows that, with a guard zone around them. It runs on the simulator, with all findings, those
//! about numbers included, and on the GPU where there is one. On the simulator the second of the two runs takes the variant
//! that promises nothing. For sizes beyond 2³¹ and 2³² elements the kernel is compiled and bound, but does not run.
//!
//! What it requires: no finding; each element of each `&mut` tensor that the reference mentions within its bound ([`Sum`]),
//! every other element as it was; nothing written beside a tensor. It fails with the smallest sizes, the findings and the
//! first wrong elements:
//!
//! ```text
//! kernel `row_sums` ROWS8 in src/lib.rs fails at M = 1, N = 5, on simulator on the CPU (it was asked for), aligned tensors
//!   the smallest sizes found; 14 launches were right, seed 0
//!   1 of 1 elements of `y` are wrong:
//!     y[[0]] is 2.5, not 1.75 within 1.9e-6
//! ```
//!
//! Floats are multiples of 1/4 up to 2, integers small, unless [`Test::values`] gives a strategy of
//! [proptest](https://docs.rs/proptest); sizes come from [`Test::sizes`] where the kernel has conditions of its own. A launch that
//! the kernel refuses (`require`, a grid that is too large, what TMA cannot address) is no failure, unless all are.
//! The simulator is a package: in a user's workspace `[profile.dev.package.layout-simulator] opt-level = 2` makes it quick.

mod attempt;
mod capacity;
mod case;
mod count;
mod failure;
mod number;
mod operand;
mod replace;
mod sizes;
mod sum;
mod trial;

pub use case::{Array, Case};
pub use count::Count;
pub use failure::{Failure, Passed, WrongElement, WrongTensor};
pub use number::Number;
pub use proptest;
pub use replace::replaced;
pub(crate) use replace::taken;
pub use sizes::Sizes;
pub use sum::Sum;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use layout_compiler::{Definition, Kernel, ParamSet};
use layout_simulator::Options;
use proptest::strategy::{BoxedStrategy, Strategy};

use crate::device::Device;
use crate::report::{Launched, note};
use number::Source;
use trial::Trial;

/// A test of a kernel, with everything as it usually is.
pub fn kernel(definition: &'static Definition) -> Test<'static> {
    let (definition, options) = taken(definition);
    let mut devices = vec![Device::simulator()];
    devices.extend(Some(Device::best()).filter(|device| !device.is_simulator()));
    Test {
        definition,
        sets: Vec::new(),
        sizes: BTreeMap::new(),
        values: BTreeMap::new(),
        scratch: BTreeSet::new(),
        within: BTreeMap::new(),
        grid: None,
        bounds: Vec::new(),
        cases: None,
        most: 1 << 17,
        devices,
        options: options.unwrap_or(Options { arithmetic: true, ..Options::default() }),
        seed: 0,
    }
}

/// The grid of a launch by its dimensions.
type Grid<'a> = Box<dyn Fn(&Sizes) -> [u32; 3] + 'a>;

/// A test of a kernel: made by [`kernel`], run by [`Test::check`].
pub struct Test<'a> {
    definition: &'static Definition,
    sets: Vec<ParamSet>,
    sizes: BTreeMap<String, BoxedStrategy<usize>>,
    values: BTreeMap<String, Source>,
    scratch: BTreeSet<String>,
    within: BTreeMap<String, f64>,
    grid: Option<Grid<'a>>,
    bounds: Vec<count::Bound<'a>>,
    cases: Option<usize>,
    most: usize,
    devices: Vec<Device>,
    options: Options,
    seed: u64,
}

impl<'a> Test<'a> {
    /// Values of a tensor's elements, or of a scalar, instead of the usual ones: `-1.0..1.0`, `0..100`, any strategy whose
    /// values are numbers.
    pub fn values<S>(mut self, argument: &str, strategy: S) -> Test<'a>
    where
        S: Strategy + 'static,
        S::Value: Into<Number>,
    {
        self.values.insert(argument.to_owned(), strategy.prop_map(Into::into).boxed());
        self
    }

    /// Sizes of a dimension, instead of those around the kernel's tiles. A failing one is made smaller within the strategy.
    pub fn sizes(mut self, dimension: &str, strategy: impl Strategy<Value = usize> + 'static) -> Test<'a> {
        self.sizes.insert(dimension.to_owned(), strategy.boxed());
        self
    }

    /// A tensor that the kernel writes and nobody reads afterwards: partial sums, flags. It begins as zeros, unless
    /// [`Test::values`] says otherwise.
    pub fn scratch(mut self, argument: &str) -> Test<'a> {
        self.scratch.insert(argument.to_owned());
        self
    }

    /// How far an element of this tensor may be from the reference, as a part of the sum of its terms' absolute
    /// values, instead of what follows from its type: 1e-3 for products that round their operands to tf32.
    pub fn within(mut self, argument: &str, relative: f64) -> Test<'a> {
        self.within.insert(argument.to_owned(), relative);
        self
    }

    /// The grid, of a kernel whose attribute gives none.
    pub fn grid(mut self, grid: impl Fn(&Sizes) -> [u32; 3] + 'a) -> Test<'a> {
        self.grid = Some(Box::new(grid));
        self
    }

    /// What each launch on the simulator may count at most, by the dimensions; of aligned tensors, since others take more sectors. A
    /// launch that counts more fails, with the lines that count most. [`Options::counters`] has to be on.
    ///
    /// ```
    /// use layout_cuda::testing::{self, Count};
    /// use layout_cuda::tiled_kernel;
    ///
    /// /// The transpose of a tile; a column of 33 elements leaves each bank to one thread.
    /// #[tiled_kernel(block = [32, 32], grid = [1])]
    /// fn turned(x: &LayoutTensor<f32, RowMajor<32, 32>>, y: &mut LayoutTensor<f32, RowMajor<32, 32>>) {
    ///     let mut held = shared::<f32>(layout([32, 32], [33, 1]));
    ///     held[[thread_idx.y, thread_idx.x]] = x[[thread_idx.y, thread_idx.x]];
    ///     barrier();
    ///     y[[thread_idx.y, thread_idx.x]] = held[[thread_idx.x, thread_idx.y]];
    /// }
    ///
    /// testing::kernel(&turned::DEFINITION)
    ///     .at_most(Count::BankConflicts, |_| 0)
    ///     .at_most(Count::GlobalSectors, |_| 2 * 32 * 32 * 4 / 32)
    ///     .check(|case| {
    ///         let x = case.input("x");
    ///         case.expect("y", |[i, j]| x[[j, i]]);
    ///     });
    /// ```
    pub fn at_most(mut self, count: Count, most: impl Fn(&Sizes) -> u64 + 'a) -> Test<'a> {
        self.bounds.push((count, Box::new(most)));
        self
    }

    /// This parameter set, one that the attribute lists or not, instead of all that it lists. May be said several times.
    pub fn set(mut self, set: ParamSet) -> Test<'a> {
        self.sets.push(set);
        self
    }

    /// How many sizes are tried, of all sets together, but at least 8 of each: those around the tiles first, then random ones
    /// up to twelve tiles. Unless said, those around the tiles, and no more than 64. Sizes far beyond the tiles come on top.
    pub fn cases(mut self, cases: usize) -> Test<'a> {
        self.cases = Some(cases);
        self
    }

    /// The most elements of a tensor that is run: sizes that take more are not tried. 2¹⁷ unless said.
    pub fn elements(mut self, most: usize) -> Test<'a> {
        self.most = most;
        self
    }

    /// The devices, instead of the simulator and the first GPU.
    pub fn devices(mut self, devices: &[Device]) -> Test<'a> {
        self.devices = devices.to_vec();
        self
    }

    /// How the simulator runs: with an eye on numbers ([`Options::arithmetic`]), unless said. What is written
    /// is the reference's to say.
    pub fn options(mut self, options: Options) -> Test<'a> {
        self.options = options;
        self
    }

    /// Other values; the same seed gives the same ones.
    pub fn seed(mut self, seed: u64) -> Test<'a> {
        self.seed = seed;
        self
    }

    /// Runs the test and says what was tried.
    ///
    /// # Panics
    /// Where the kernel is wrong, with all that [`Failure`] says; where the reference asks for what is not there.
    #[track_caller]
    pub fn check(self, reference: impl FnMut(&mut Case<'_>)) {
        match self.run(reference) {
            Ok(passed) => println!("{}: {passed}", self.definition.name),
            Err(failure) => {
                let Failure { kernel, file, report, .. } = &*failure;
                report.iter().for_each(|report| note(&Launched { kernel, file, report }));
                panic!("{failure}")
            }
        }
    }

    /// Runs the test.
    ///
    /// # Errors
    /// The smallest failure. So is a test that names what the kernel does not have, and one whose launches were all
    /// refused.
    pub fn run(&self, mut reference: impl FnMut(&mut Case<'_>)) -> Result<Passed, Box<Failure>> {
        let kernel = self.definition.kernel().map_err(|error| self.failure(error.to_string()))?;
        self.names(&kernel)?;
        let mut sets = Vec::new();
        for set in &self.sets {
            sets.push(kernel.choose(set, &[]).map_err(|errors| self.failure(errors.to_string()))?);
        }
        if sets.is_empty() {
            sets = kernel.listed().map_err(|errors| self.failure(errors.to_string()))?;
        }
        let counts = self.options.counters && self.devices.iter().any(Device::is_simulator);
        if !self.bounds.is_empty() && !counts {
            let why = "`at_most` needs the simulator among the devices, and `Options::counters`";
            return Err(self.failure(why.to_owned()));
        }
        let devices = self.devices.iter().map(Device::describe).collect();
        let mut passed = Passed { devices, ..Passed::default() };
        let cases = (self.cases.unwrap_or(64) / sets.len().max(1)).max(8);
        let work = capacity::WORK / sets.len().max(1) as u64;
        for set in sets {
            let trial = Trial::new(self, &kernel, set).map_err(|error| self.failure(error.to_string()))?;
            trial.run((cases, self.cases.is_some()), work, &mut reference, &mut passed)?;
        }
        if passed.launches == 0 {
            let reasons = passed.refused.join("; ");
            let why =
                format!("no launch was run: {reasons}. `.sizes(..)` gives dimensions that the kernel takes");
            return Err(self.failure(why));
        }
        Ok(passed)
    }

    /// Refuses a test that speaks of what the kernel does not have.
    fn names(&self, kernel: &Kernel) -> Result<(), Box<Failure>> {
        let own: Vec<&str> = kernel.arguments.iter().map(|argument| argument.name.as_str()).collect();
        let mut said = self.values.keys().chain(&self.scratch).chain(self.within.keys());
        if let Some(name) = said.find(|name| !own.contains(&name.as_str())) {
            let known = own.join(", ");
            return Err(
                self.failure(format!("the test speaks of `{name}`, the kernel has the arguments {known}"))
            );
        }
        if let Some(name) = self.sizes.keys().find(|name| !kernel.dims.contains(name)) {
            let known = kernel.dims.join(", ");
            return Err(
                self.failure(format!("the test speaks of `{name}`, the kernel has the dimensions {known}"))
            );
        }
        Ok(())
    }

    /// A failure without sizes.
    fn failure(&self, error: String) -> Box<Failure> {
        Box::new(Failure {
            kernel: self.definition.name.to_owned(),
            file: self.definition.file.to_owned(),
            set: String::new(),
            sizes: Sizes::default(),
            device: "any device".to_owned(),
            error: Some(error),
            report: None,
            blocks: None,
            wrong: Vec::new(),
            beside: Vec::new(),
            right: 0,
            seed: self.seed,
        })
    }
}

impl fmt::Debug for Test<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Test").field("kernel", &self.definition.name).field("cases", &self.cases).finish()
    }
}
