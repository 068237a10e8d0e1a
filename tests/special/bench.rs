//! Where a kernel is run over special rows, and what is said of its results.
//!
//! Law: an element is held against its exact value in float64, by kind: NaN is NaN, an infinity is that infinity, and a finite
//! one is within its room. Nothing is promised of less than the least normal float32.

use layout_cuda::{Definition, Device, Elem, Error, LaunchConfig, ParamSet, ParamValue, Stream};
use layout_tests::support::data::Operand;
use layout_tests::support::special::{Float, Kind, Rows};
use std::cell::RefCell;

/// What an element is to be.
#[derive(Clone, Copy, Debug)]
pub enum Want {
    /// The exact value, and how far off it the element may be. Beyond the type's greatest number it is an infinity.
    Near(f64, f64),
    /// The same where a sum on the way may leave the type: an element that is finite is right.
    Loose(f64, f64),
    /// No finite number.
    NotFinite,
}

impl Want {
    /// Exactly this.
    pub fn exact(value: f64) -> Want {
        Want::Near(value, 0.0)
    }

    /// A sum of terms, each of them rounded, within so many units in the last place of the sum of their sizes; `by` is a term's.
    pub fn sum(terms: impl IntoIterator<Item = f64>, units: f64) -> Want {
        let (mut sum, mut size, mut count) = (0.0, 0.0, 0.0);
        for term in terms {
            sum += term;
            size += if term.is_finite() { term.abs() } else { 0.0 };
            count += 1.0;
        }
        Want::of(sum, size, units * size * 2f64.powi(-24) + 2e-45 * count)
    }

    /// A value made of finite terms of this size in all, within this room: an infinity on the way where they leave float32.
    pub fn of(exact: f64, size: f64, room: f64) -> Want {
        if size > f64::from(f32::MAX) { Want::Loose(exact, room) } else { Want::Near(exact, room) }
    }

    fn takes<T: Float>(self, found: T) -> bool {
        let found = found.wide();
        let near = |exact: f64, room: f64| {
            if found.is_infinite() {
                return found.signum() == exact.signum() && exact.abs() + room > T::GREATEST;
            }
            found.is_nan() && exact.is_nan() || exact.is_finite() && (found - exact).abs() <= room
        };
        match self {
            Want::Near(exact, room) => near(exact, room),
            Want::Loose(exact, room) => !found.is_finite() || near(exact, room),
            Want::NotFinite => !found.is_finite(),
        }
    }
}

/// A device, what was run on it, and what failed.
pub struct Bench<'a> {
    /// The device.
    pub device: &'a Device,
    /// The kinds of rows of each type that were asked for.
    pub kinds: RefCell<Vec<(Elem, Kind)>>,
    /// What failed, in words.
    pub failures: RefCell<Vec<String>>,
}

impl Bench<'_> {
    /// A bench on a device.
    pub fn on(device: &Device) -> Bench<'_> {
        Bench { device, kinds: RefCell::default(), failures: RefCell::default() }
    }

    /// A row of a kind.
    pub fn row<T: Float>(&self, kind: Kind, n: usize, seed: u64) -> Vec<T> {
        self.kinds.borrow_mut().push((T::ELEM, kind));
        kind.row(n, seed)
    }

    /// A matrix of every kind.
    pub fn rows<T: Float>(&self, n: usize) -> Rows<T> {
        self.kinds.borrow_mut().extend(Kind::ALL.map(|kind| (T::ELEM, kind)));
        Rows::new(n)
    }

    /// The default stream.
    pub fn stream(&self) -> Stream {
        self.device.stream()
    }

    /// A row-major tensor, guarded at both ends.
    pub fn tensor<T: Float, const R: usize>(
        &self,
        values: &[T],
        shape: [usize; R],
    ) -> Result<Operand<T, R>, Error> {
        self.pitched(values, shape, 1)
    }

    /// The same whose rows begin at multiples of so many elements, as TMA wants them.
    pub fn pitched<T: Float, const R: usize>(
        &self,
        values: &[T],
        shape: [usize; R],
        multiple: usize,
    ) -> Result<Operand<T, R>, Error> {
        let mut strides = [1; R];
        for mode in (1..R).rev() {
            strides[mode - 1] = (strides[mode] * shape[mode].max(1)).next_multiple_of(multiple);
        }
        Operand::new(self.device, values, 0, shape, strides)
    }

    /// A tensor to be written, full of NaN.
    pub fn output<T: Float, const R: usize>(&self, shape: [usize; R]) -> Result<Operand<T, R>, Error> {
        self.tensor(&vec![T::rounded(f64::NAN); shape.iter().product()], shape)
    }

    /// Holds elements against what they are to be; `place` names one.
    pub fn check<T: Float>(
        &self,
        kernel: &str,
        found: &[T],
        wanted: impl IntoIterator<Item = Want>,
        place: impl Fn(usize) -> String,
    ) {
        let wanted: Vec<Want> = wanted.into_iter().collect();
        assert_eq!(found.len(), wanted.len(), "{kernel}: the number of elements");
        let mut said = String::new();
        for (at, (found, want)) in found.iter().zip(wanted).enumerate() {
            let place = place(at);
            if !want.takes(*found) && place != said {
                let found = found.wide();
                self.failures
                    .borrow_mut()
                    .push(format!("{kernel}, {place}, element {at}: {found:e}, not {want:?}"));
                said = place;
            }
        }
    }

    /// A failure in words of its own.
    pub fn check_that(&self, is: bool, what: impl Fn() -> String) {
        if !is {
            self.failures.borrow_mut().push(what());
        }
    }
}

/// The set of a kernel that has these values, listed or not.
pub fn set_of(definition: &Definition, numbers: &[(&str, usize)], others: &[(&str, ParamValue)]) -> ParamSet {
    let kernel = definition.kernel().expect("bytes of this version");
    let numbers = numbers.iter().map(|(name, value)| (*name, ParamValue::Int(*value as i64)));
    let asked = numbers.chain(others.iter().copied());
    let asked = ParamSet(asked.map(|(name, value)| (name.to_owned(), value)).collect());
    kernel.choose(&asked, &[]).unwrap_or_else(|errors| panic!("{}: {errors}", definition.name))
}

/// The launch of a set.
pub fn with(set: &ParamSet) -> LaunchConfig<'_> {
    LaunchConfig { set: Some(set), ..LaunchConfig::default() }
}
