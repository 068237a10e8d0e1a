//! A kernel of the corpus: its sizes, and a run of it with the reference beside its results.
//!
//! Law: a run launches the kernel by the functions that the macro wrote; where the device is the simulator a finding
//! is an error of the run.

use crate::support::data::{Operand, untouched};
use layout_compiler::Elem;
use layout_cuda::{Definition, Device, Element, Error, LaunchConfig, ParamSet, ParamValue, Stream};

/// A kernel, or some of its parameter sets.
pub struct Case {
    /// The kernel.
    pub definition: &'static Definition,
    /// The value of a parameter that its sets have in common, where not all are meant.
    pub only: Option<(&'static str, ParamValue)>,
    /// Its one set, where that is none of the listed ones.
    pub own: Option<ParamSet>,
    /// The sizes to run; what a number means is the run's to say.
    pub sizes: Vec<[usize; 3]>,
    /// Runs it once.
    pub run: fn(&Run<'_>) -> Result<Outcome, Error>,
}

/// One run: where, with which parameters, how large.
pub struct Run<'a> {
    /// The device.
    pub device: &'a Device,
    /// The parameter set.
    pub set: &'a ParamSet,
    /// The size.
    pub size: [usize; 3],
    /// How many elements every tensor's start is behind an aligned address.
    pub skew: usize,
}

/// What a kernel wrote, and what it should have.
pub struct Outcome {
    /// Results of the device.
    pub found: Vec<f64>,
    /// Results of the reference.
    pub wanted: Vec<f64>,
    /// The relative error that an element may have; 0 for the same number.
    pub bound: f64,
}

impl Case {
    /// A case of all sets of a kernel.
    pub fn new(
        definition: &'static Definition,
        sizes: Vec<[usize; 3]>,
        run: fn(&Run<'_>) -> Result<Outcome, Error>,
    ) -> Case {
        Case { definition, only: None, own: None, sizes, run }
    }

    /// The case of one element type.
    pub fn of(self, elem: Elem) -> Case {
        self.with("T", ParamValue::Type(elem))
    }

    /// The case of the sets with one value of a parameter.
    pub fn with(self, name: &'static str, value: ParamValue) -> Case {
        Case { only: Some((name, value)), ..self }
    }

    /// The case of one set that has these values, listed or not.
    pub fn at(self, numbers: &[(&str, usize)], others: &[(&str, ParamValue)]) -> Case {
        let kernel = self.definition.kernel().expect("bytes of this version");
        let numbers = numbers.iter().map(|(name, value)| (*name, ParamValue::Int(*value as i64)));
        let asked = numbers.chain(others.iter().copied());
        let asked = ParamSet(asked.map(|(name, value)| (name.to_owned(), value)).collect());
        let set = kernel.choose(&asked, &[]);
        let set = set.unwrap_or_else(|errors| panic!("{}: {errors}", self.definition.name));
        Case { own: Some(set), ..self }
    }

    /// The parameter sets of the case.
    pub fn sets(&self) -> Vec<ParamSet> {
        if let Some(own) = &self.own {
            return vec![own.clone()];
        }
        let kernel = self.definition.kernel().expect("bytes of this version");
        let mut sets = kernel.parameter_sets();
        sets.retain(|set| self.only.is_none_or(|(name, value)| set.get(name) == Some(value)));
        assert!(!sets.is_empty(), "{} has no set with {:?}", self.definition.name, self.only);
        sets
    }

    /// Every run on a device: each set at each size, aligned and not.
    pub fn runs(&self, device: &Device, mut each: impl FnMut(&Run<'_>, Outcome)) {
        for set in &self.sets() {
            for size in &self.sizes {
                for skew in [0, 1] {
                    let run = Run { device, set, size: *size, skew };
                    let outcome = (self.run)(&run);
                    let outcome = outcome.unwrap_or_else(|error| panic!("{}: {error}", run.name(self)));
                    each(&run, outcome);
                }
            }
        }
    }
}

impl Run<'_> {
    /// A number among the parameters.
    pub fn number(&self, name: &str) -> usize {
        match self.set.get(name) {
            Some(ParamValue::Int(value)) => usize::try_from(value).expect("no number below zero"),
            other => panic!("{name} is {other:?}"),
        }
    }

    /// What a message calls it.
    pub fn name(&self, case: &Case) -> String {
        let Run { set, size, skew, .. } = self;
        format!("{} {} at {size:?}, skew {skew}", case.definition.name, set.key())
    }

    /// The same with every tensor at the beginning of its memory: TMA addresses multiples of 16 bytes.
    pub fn aligned(&self) -> Run<'_> {
        Run { skew: 0, ..*self }
    }

    /// The default stream.
    pub fn stream(&self) -> Stream {
        self.device.stream()
    }

    /// The configuration of the launch.
    pub fn config(&self) -> LaunchConfig<'_> {
        LaunchConfig { set: Some(self.set), ..LaunchConfig::default() }
    }

    /// A row-major tensor.
    ///
    /// # Errors
    /// Those of an upload.
    pub fn tensor<T: Element, const R: usize>(
        &self,
        values: &[T],
        shape: [usize; R],
    ) -> Result<Operand<T, R>, Error> {
        let mut strides = [1; R];
        for mode in (1..R).rev() {
            strides[mode - 1] = strides[mode] * shape[mode].max(1);
        }
        Operand::new(self.device, values, self.skew, shape, strides)
    }

    /// A row-major tensor to be written.
    ///
    /// # Errors
    /// Those of an upload.
    pub fn output<T: Element, const R: usize>(&self, shape: [usize; R]) -> Result<Operand<T, R>, Error> {
        self.tensor(&vec![untouched(); shape.iter().product()], shape)
    }
}

/// What a kernel writes: of row-major inputs, `output_of!(run, add(x: [n], y: [n]) -> [n])`, or with its output first,
/// `output_of!(run, add(-> [n], x: [n], y: [n]))`.
macro_rules! output_of {
    ($run:expr, $kernel:ident(-> $to:expr $(, $input:ident: $shape:expr)*)) => {{
        $(let $input = $run.tensor(&$input, $shape)?;)*
        let mut out = $run.output($to)?;
        $kernel::launch_with($run.config(), &$run.stream(), &mut out.view_mut()?, $(&$input.view()?),*)?;
        out.read()?
    }};
    ($run:expr, $kernel:ident($($input:ident: $shape:expr),*) -> $to:expr) => {{
        $(let $input = $run.tensor(&$input, $shape)?;)*
        let mut out = $run.output($to)?;
        $kernel::launch_with($run.config(), &$run.stream(), $(&$input.view()?,)* &mut out.view_mut()?)?;
        out.read()?
    }};
}
pub(crate) use output_of;

impl Outcome {
    /// Results that a mutant is to have in common with the kernel itself, whose other tests say that they are right.
    pub fn own<T: Element>(found: Vec<T>) -> Outcome {
        Outcome::within(0.0, found, [])
    }

    /// Results that are exact.
    pub fn exact<T: Element>(found: Vec<T>, wanted: impl IntoIterator<Item = T>) -> Outcome {
        Outcome::within(0.0, found, wanted.into_iter().map(number))
    }

    /// Results within a relative error.
    pub fn within<T: Element>(bound: f64, found: Vec<T>, wanted: impl IntoIterator<Item = f64>) -> Outcome {
        Outcome {
            found: found.into_iter().map(number).collect(),
            wanted: wanted.into_iter().collect(),
            bound,
        }
    }

    /// The results of both, one after the other.
    pub fn and(mut self, other: Outcome) -> Outcome {
        self.found.extend(other.found);
        self.wanted.extend(other.wanted);
        self.bound = self.bound.max(other.bound);
        self
    }

    /// Fails where an element is out of its bound.
    pub fn check(&self, name: &str) {
        differ(&self.found, &self.wanted, self.bound, name);
    }
}

/// Fails where two lists differ by more than `bound` times the second's element.
pub fn differ(found: &[f64], wanted: &[f64], bound: f64, name: &str) {
    assert_eq!(found.len(), wanted.len(), "{name}: the number of elements");
    if let Some(place) = unlike(found, wanted, bound) {
        panic!("{name}: element {place} is {}, not {}", found[place], wanted[place]);
    }
}

/// The first place where two lists differ by more than `bound` times the second's element, or where one ends.
pub fn unlike(found: &[f64], wanted: &[f64], bound: f64) -> Option<usize> {
    let differ = |(found, wanted): (&f64, &f64)| {
        let same = found == wanted || (found.is_nan() && wanted.is_nan());
        // A distance that is no number is none within the bound.
        !same && !matches!((found - wanted).abs(), distance if distance <= bound * wanted.abs())
    };
    let shorter = (found.len() != wanted.len()).then_some(found.len().min(wanted.len()));
    found.iter().zip(wanted).position(differ).or(shorter)
}

fn number<T: Element>(value: T) -> f64 {
    value.constant().as_f64()
}

/// Sizes around a tile of one mode: empty, one, around one tile and several.
pub fn around(tile: usize) -> Vec<[usize; 3]> {
    let mut sizes: Vec<usize> = vec![0, 1, tile - 1, tile, tile + 1, 2 * tile, 3 * tile + 1];
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter().map(|size| [size, 1, 1]).collect()
}

/// The tile of C, and of K, that a kernel's parameters name `BM`, `BN` and `BK`; 4 of K where it has none.
pub fn tile_of(definition: &Definition) -> [usize; 3] {
    let own = definition.variants.first().expect("a variant").parameters;
    ["BM", "BN", "BK"].map(|name| match own.iter().find(|(known, _)| *known == name) {
        Some((_, ParamValue::Int(extent))) => usize::try_from(*extent).expect("an extent"),
        _ => 4,
    })
}

/// Sizes around a tile of three modes (an extent of 1 for a mode that is not there): divisible, one around the tile in
/// each mode, all odd, one element, and empty in each mode.
pub fn around_tile(tile: [usize; 3]) -> Vec<[usize; 3]> {
    let twice = tile.map(|extent| if extent > 1 { 2 * extent } else { 1 });
    let mut sizes = vec![[1, 1, 1], tile, twice, twice.map(|extent| if extent > 1 { extent + 1 } else { 1 })];
    for mode in (0..3).filter(|mode| tile[*mode] > 1) {
        for extent in [0, 1, tile[mode] - 1, tile[mode] + 1] {
            let mut size = tile;
            size[mode] = extent;
            sizes.push(size);
        }
    }
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}
