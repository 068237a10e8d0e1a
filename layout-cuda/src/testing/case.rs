//! One launch as the reference sees it: sizes, parameters, what the arguments hold, and what the kernel is to write.
//!
//! Law: coordinates are the tensor's, however it is in memory. A tensor that the reference does not mention must stay as
//! it was.

use std::ops::Index;

use layout_compiler::{Constant, Elem, ParamSet, ParamValue};

use super::sizes::Sizes;
use super::sum::Sum;

/// An argument of one launch.
#[derive(Clone, Debug)]
pub(super) enum Given {
    Tensor { elem: Elem, mutable: bool, shape: Vec<usize>, values: Vec<Constant> },
    Scalar(Constant),
    Index(i64),
}

/// One launch as the reference sees it. What it asks for by a wrong name, type or rank ends the test with a message that
/// names what there is.
#[derive(Debug)]
pub struct Case<'a> {
    pub(super) sizes: &'a Sizes,
    pub(super) set: &'a ParamSet,
    pub(super) names: &'a [String],
    pub(super) given: &'a [Given],
    /// What each tensor is to hold afterwards, row-major, where the reference said so.
    pub(super) expected: Vec<Option<Vec<Sum>>>,
}

/// The elements of a tensor before the launch, by coordinates: `x[[i, j]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Array<V> {
    shape: Vec<usize>,
    values: Vec<V>,
}

impl<V> Array<V> {
    /// Extents.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The elements in row-major order of their coordinates.
    pub fn values(&self) -> &[V] {
        &self.values
    }
}

impl<V, const R: usize> Index<[usize; R]> for Array<V> {
    type Output = V;

    /// # Panics
    /// Where the coordinates are outside of the tensor, or of another rank.
    #[track_caller]
    fn index(&self, at: [usize; R]) -> &V {
        let inside =
            at.len() == self.shape.len() && at.iter().zip(&self.shape).all(|(at, extent)| at < extent);
        assert!(inside, "the reference reads {at:?} of a tensor of shape {:?}", self.shape);
        let place = at.iter().zip(&self.shape).fold(0, |place, (at, extent)| place * extent + at);
        &self.values[place]
    }
}

impl<V> Index<usize> for Array<V> {
    type Output = V;

    /// # Panics
    /// Where the index is outside of the tensor, or the tensor has more modes than one.
    #[track_caller]
    fn index(&self, at: usize) -> &V {
        &self[[at]]
    }
}

impl Case<'_> {
    /// A dimension: `case.size("N")`.
    #[track_caller]
    pub fn size(&self, name: &str) -> usize {
        let found = self.sizes.get(name).or_else(|| usize::try_from(self.parameter(name)?).ok());
        found.unwrap_or_else(|| panic!("the kernel has no dimension `{name}`, it has {}", self.sizes))
    }

    /// A parameter of the attribute that is a number, where the kernel has it.
    pub fn parameter(&self, name: &str) -> Option<i64> {
        match self.set.get(name) {
            Some(ParamValue::Int(value)) => Some(value),
            _ => None,
        }
    }

    /// The parameters of the attribute.
    pub fn parameters(&self) -> &ParamSet {
        self.set
    }

    /// What a tensor holds before the launch, as doubles.
    #[track_caller]
    pub fn input(&self, name: &str) -> Array<f64> {
        self.array(name, Constant::as_f64)
    }

    /// What a tensor of integers or truth values holds before the launch.
    #[track_caller]
    pub fn integers(&self, name: &str) -> Array<i128> {
        self.array(name, |constant| {
            assert!(!constant.elem.is_float(), "`{name}` is of {}: take `input`", constant.elem);
            constant.as_i128()
        })
    }

    #[track_caller]
    fn array<V>(&self, name: &str, value: impl Fn(Constant) -> V) -> Array<V> {
        let Given::Tensor { shape, values, .. } = &self.given[self.place(name)] else {
            panic!("`{name}` is no tensor: take `scalar` or `index`");
        };
        Array { shape: shape.clone(), values: values.iter().copied().map(value).collect() }
    }

    /// A scalar argument, as a double; an integer likewise.
    #[track_caller]
    pub fn scalar(&self, name: &str) -> f64 {
        match &self.given[self.place(name)] {
            Given::Scalar(constant) => constant.as_f64(),
            Given::Index(value) => *value as f64,
            Given::Tensor { .. } => panic!("`{name}` is a tensor: take `input`"),
        }
    }

    /// An integer argument: of an element type, `usize` or `isize`.
    #[track_caller]
    pub fn index(&self, name: &str) -> i128 {
        match &self.given[self.place(name)] {
            Given::Scalar(constant) if !constant.elem.is_float() => constant.as_i128(),
            Given::Index(value) => i128::from(*value),
            Given::Scalar(_) | Given::Tensor { .. } => panic!("`{name}` is no integer"),
        }
    }

    /// What a tensor is to hold afterwards: each element by its coordinates, a number or a [`Sum`].
    ///
    /// It is called for each element: what a row shares is computed once by [`Case::expect_rows`].
    #[track_caller]
    pub fn expect<const R: usize, S: Into<Sum>>(
        &mut self,
        name: &str,
        mut element: impl FnMut([usize; R]) -> S,
    ) {
        let (place, shape) = self.written(name);
        assert!(shape.len() == R, "`{name}` has {} modes, the reference {R} coordinates", shape.len());
        self.expected[place] = Some(coordinates(&shape).map(|at| element(at).into()).collect());
    }

    /// The same by rows: by the coordinates but the last one, all elements along that one.
    ///
    /// ```
    /// # use layout_cuda::testing::{self, Case};
    /// # use layout_cuda::{Device, tiled_kernel};
    /// /// Each row divided by its largest element, a thread for a row.
    /// #[tiled_kernel(block = [32], grid = [M.div_ceil(32)])]
    /// fn scaled<const M: usize, const N: usize>(x: &mut LayoutTensor<f32, RowMajor<M, N>>) {
    ///     let i = 32 * block_idx.x + thread_idx.x;
    ///     let mut most = 0.0f32;
    ///     for j in 0..N {
    ///         if i < M {
    ///             most = most.max(x[[i, j]].abs());
    ///         }
    ///     }
    ///     for j in 0..N {
    ///         if i < M && most > 0.0 {
    ///             x[[i, j]] = x[[i, j]] / most;
    ///         }
    ///     }
    /// }
    /// let test = testing::kernel(&scaled::DEFINITION).cases(8).devices(&[Device::simulator()]);
    /// test.check(|case: &mut Case<'_>| {
    ///     let (x, n) = (case.input("x"), case.size("N"));
    ///     case.expect_rows("x", |[i]| {
    ///         let row: Vec<f64> = (0..n).map(|j| x[[i, j]]).collect();
    ///         let most = row.iter().fold(0.0, |most, x| x.abs().max(most));
    ///         row.into_iter().map(move |x| if most > 0.0 { x / most } else { x })
    ///     });
    /// });
    /// ```
    ///
    /// # Panics
    /// Where a row is not as long as the tensor's, beside what ends the test elsewhere.
    #[track_caller]
    pub fn expect_rows<const P: usize, S: Into<Sum>, V: IntoIterator<Item = S>>(
        &mut self,
        name: &str,
        mut row: impl FnMut([usize; P]) -> V,
    ) {
        let (place, shape) = self.written(name);
        let modes = shape.len();
        let Some((len, before)) = shape.split_last().filter(|_| modes == P + 1) else {
            panic!(
                "`{name}` has {modes} modes, the reference {P} coordinates of a row: there has to be one less"
            );
        };
        let mut sums = Vec::new();
        for at in coordinates(before) {
            let from = sums.len();
            sums.extend(row(at).into_iter().map(Into::into));
            let found = sums.len() - from;
            assert!(found == *len, "row {at:?} of `{name}` has {len} elements, the reference {found}");
        }
        self.expected[place] = Some(sums);
    }

    /// A tensor that the kernel writes: its place, its shape.
    #[track_caller]
    fn written(&self, name: &str) -> (usize, Vec<usize>) {
        let place = self.place(name);
        let Given::Tensor { shape, mutable, .. } = &self.given[place] else {
            panic!("`{name}` is no tensor: a kernel does not write it");
        };
        assert!(mutable, "`{name}` is `&`, not `&mut`: a kernel does not write it");
        (place, shape.clone())
    }

    #[track_caller]
    fn place(&self, name: &str) -> usize {
        let place = self.names.iter().position(|known| known == name);
        place.unwrap_or_else(|| {
            panic!("the kernel has no argument `{name}`, it has {}", self.names.join(", "))
        })
    }
}

/// All coordinates of a shape of so many modes, the last one the fastest.
fn coordinates<const R: usize>(shape: &[usize]) -> impl Iterator<Item = [usize; R]> {
    (0..shape.iter().product::<usize>()).map(move |mut rest| {
        let mut at = [0; R];
        for (at, extent) in at.iter_mut().zip(shape).rev() {
            *at = rest % extent;
            rest /= extent;
        }
        at
    })
}
