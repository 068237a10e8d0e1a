//! `Distributed`: who holds which element of a tensor, as a layout over devices, terms and memory.
//!
//! Law: `layout(device, term, value)` is the index of an element of the padded tensor, leftmost mode fastest, as a
//! thread-value layout is of a tile. An axis of stride 0 among the devices holds copies; one among the terms holds terms
//! whose sum is the element. What is past the tensor's extents does not exist: it is neither read nor sent. A device's
//! memory has the same extents on every rank.

use super::Mesh;
use super::digits::{Digit, Holder, count, local, padded};
use crate::{IntTuple, Layout, LayoutError, Nest};

const NAME: &str = "distributed";

/// A tensor over a mesh. Axes that nothing is said of hold copies.
///
/// ```
/// use layout_core::mesh::{Distributed, Mesh};
///
/// let mesh = Mesh::new([("data", 2), ("model", 4)])?;
/// let weights = Distributed::new(&mesh, [8, 12])?.split(1, ["model"])?;
/// // Devices (2,4), of which those along `data` hold the same; no terms; each has 8 by 3 in memory.
/// assert_eq!(weights.to_string(), "((2,4),(),(8,3)):((0,24),(),(1,8)) over data=2,model=4");
/// assert_eq!((weights.local_shape(), weights.holders(&[0, 4])?), (vec![8, 3], vec![1, 5]));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distributed {
    mesh: Mesh,
    extents: Vec<i64>,
    /// Of each mode, the fastest first.
    digits: Vec<Vec<Digit>>,
    /// Of each axis, whether it holds terms of sums.
    partial: Vec<bool>,
    /// Of each mode, in a device's memory.
    strides: Vec<i64>,
    layout: Layout,
}

fn refuse<T>(detail: String) -> Result<T, LayoutError> {
    Err(LayoutError::Unsupported { operation: NAME, detail })
}

fn overflow(extents: &[i64]) -> LayoutError {
    LayoutError::Overflow { operation: NAME, detail: format!("a tensor of {extents:?} with its padding") }
}

/// The strides of a compact tensor whose last mode is contiguous.
fn compact(extents: &[i64]) -> Option<Vec<i64>> {
    let mut step = 1_i64;
    let mut strides = vec![0; extents.len()];
    for (stride, extent) in strides.iter_mut().zip(extents).rev() {
        *stride = step;
        step = step.checked_mul(*extent)?;
    }
    Some(strides)
}

impl Distributed {
    /// A tensor of these extents of which every device holds all, the last mode contiguous.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] for no mode, or an extent below 1; [`LayoutError::Overflow`].
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh};
    /// let all = Distributed::new(&Mesh::new([("gpu", 2)])?, [3])?;
    /// assert_eq!(all.holders(&[2])?, [0, 1]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn new(mesh: &Mesh, extents: impl Into<Vec<i64>>) -> Result<Self, LayoutError> {
        let extents = extents.into();
        if extents.is_empty() || extents.iter().any(|extent| *extent < 1) {
            return refuse(format!("a tensor of extents {extents:?}; give one or more, each at least 1"));
        }
        let digits = extents.iter().map(|extent| vec![Digit::new(Holder::Memory, *extent)]).collect();
        let partial = vec![false; mesh.extents().len()];
        let layout = Layout::new(1, 0)?;
        let mesh = mesh.clone();
        Self { mesh, digits, partial, strides: vec![], layout, extents }.counted(None)
    }

    /// With steps, strides and the layout counted anew.
    fn counted(mut self, strides: Option<Vec<i64>>) -> Result<Self, LayoutError> {
        let too_large = overflow(&self.extents);
        let mut size = Some(1_i64);
        for digits in &mut self.digits {
            count(digits, 1).ok_or_else(|| too_large.clone())?;
            size = size.and_then(|size| size.checked_mul(padded(digits)));
        }
        size.ok_or_else(|| too_large.clone())?;
        self.strides = match strides {
            Some(strides) => strides,
            None => compact(&self.local_shape()).ok_or_else(|| too_large.clone())?,
        };
        for (digits, stride) in self.digits.iter_mut().zip(&self.strides) {
            count(digits, *stride).ok_or_else(|| too_large.clone())?;
        }
        self.layout = self.devices_terms_values()?;
        Ok(self)
    }

    /// Shape and strides of the layout, from the digits.
    fn devices_terms_values(&self) -> Result<Layout, LayoutError> {
        let mut axes = vec![0_i64; self.partial.len()];
        let (mut values, mut below) = (Vec::new(), 1_i64);
        for digits in &self.digits {
            let mut own = Vec::new();
            for digit in digits {
                let stride = if digit.extent == 1 { 0 } else { digit.step * below };
                match digit.holder {
                    Holder::Axis(axis) => axes[axis] = stride,
                    Holder::Memory => own.push((digit.extent, stride)),
                }
            }
            values.push(match own[..] {
                [] => Nest::leaf((1, 0)),
                [only] => Nest::leaf(only),
                _ => Nest::flat(own),
            });
            below *= padded(digits);
        }
        let axes = |partial: bool| {
            let of_kind = self.partial.iter().zip(self.mesh.extents()).zip(&axes);
            let of_kind = of_kind.filter(move |((own, _), _)| **own == partial);
            Nest::flat(of_kind.map(|((_, extent), stride)| (*extent, *stride)).collect::<Vec<_>>())
        };
        let all = Nest::tuple([axes(false), axes(true), Nest::tuple(values)]);
        let (shape, stride): (IntTuple, IntTuple) = (all.map(|mode| mode.0), all.map(|mode| mode.1));
        Layout::new(shape, stride)
    }

    /// The axes of these names, none of which says anything yet.
    fn free<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Vec<usize>, LayoutError> {
        let mut axes = Vec::new();
        for name in names {
            let axis = self.mesh.axis(name)?;
            let used = self.digits.iter().flatten().any(|digit| digit.holder == Holder::Axis(axis));
            if used || self.partial[axis] || axes.contains(&axis) {
                return refuse(format!(
                    "axis `{name}` splits the tensor already, or holds terms; an axis does one thing"
                ));
            }
            axes.push(axis);
        }
        match axes.is_empty() {
            true => refuse("a split over no axis; name one".into()),
            false => Ok(axes),
        }
    }

    /// Splits a mode in as many blocks as the axes together have devices, the first axis outermost: device d holds the d-th
    /// block. Where the extent is no multiple, blocks are rounded up and the last devices hold less, or nothing.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] for a mode or an axis that is not there, or an axis that is taken;
    /// [`LayoutError::NotDivisible`] where the mode is split already and its block is no multiple.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh};
    /// let tensor = Distributed::new(&Mesh::new([("gpu", 4)])?, [10])?.split(0, ["gpu"])?;
    /// assert_eq!(tensor.to_string(), "((4),(),(3)):((3),(),(1)) over gpu=4");
    /// assert_eq!((tensor.holders(&[9])?, tensor.held(3)), (vec![3], 1)); // 3, 3, 3 and 1
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn split<'a>(
        self,
        mode: usize,
        axes: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, LayoutError> {
        self.divide(mode, axes, None)
    }

    /// Splits a mode in blocks of this many coordinates and deals them to the axes' devices, around and around; with a block
    /// of 1 that is a cyclic split, with one as long as the mode all of it is device 0's.
    ///
    /// # Errors
    /// As [`Distributed::split`], and [`LayoutError::Unsupported`] for a block below 1 or longer than the mode.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh};
    /// let tensor = Distributed::new(&Mesh::new([("gpu", 2)])?, [12])?.deal(0, ["gpu"], 2)?;
    /// assert_eq!(tensor.to_string(), "((2),(),((2,3))):((2),(),((1,4))) over gpu=2");
    /// assert_eq!((tensor.holders(&[5])?, tensor.holders(&[6])?), (vec![0], vec![1]));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn deal<'a>(
        self,
        mode: usize,
        axes: impl IntoIterator<Item = &'a str>,
        block: i64,
    ) -> Result<Self, LayoutError> {
        self.divide(mode, axes, Some(block))
    }

    fn divide<'a>(
        mut self,
        mode: usize,
        axes: impl IntoIterator<Item = &'a str>,
        block: Option<i64>,
    ) -> Result<Self, LayoutError> {
        let axes = self.free(axes)?;
        let rank = self.digits.len();
        let Some(digits) = self.digits.get_mut(mode) else {
            return refuse(format!("mode {mode} of a tensor of {rank}"));
        };
        let devices: i64 = axes.iter().map(|axis| self.mesh.extents()[*axis]).product();
        // The slowest digit in memory: blocks of blocks are within a block. There is always one, if of extent 1.
        let slowest = digits.iter().rposition(|digit| digit.holder == Holder::Memory).unwrap_or(0);
        let extent = digits[slowest].extent;
        let block = block.unwrap_or((extent - 1) / devices + 1);
        if !(1..=extent).contains(&block) {
            return refuse(format!("blocks of {block} of a mode that has {extent}; give 1 to {extent}"));
        }
        let around = block.checked_mul(devices).ok_or_else(|| overflow(&self.extents))?;
        if slowest + 1 < digits.len() && extent % around != 0 {
            let help = format!(
                "mode {mode} is split already, and blocks within a block fill it: split over both axes at once, or pad"
            );
            return Err(LayoutError::NotDivisible {
                operation: NAME,
                mode,
                value: extent,
                divisor: around,
                help,
            });
        }
        let rest = (extent - 1) / around + 1;
        let inner = [Digit::new(Holder::Memory, block)].into_iter();
        // The last axis named is the fastest.
        let dealt = axes.iter().rev().map(|axis| Digit::new(Holder::Axis(*axis), self.mesh.extents()[*axis]));
        let outer = (rest > 1).then(|| Digit::new(Holder::Memory, rest));
        digits.splice(slowest..=slowest, inner.chain(dealt).chain(outer));
        self.counted(None)
    }

    /// Makes the devices along the axes hold terms: the element is the sum of what they have.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] for an axis that is not there or taken.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh};
    /// let sums = Distributed::new(&Mesh::new([("gpu", 4)])?, [6])?.partial(["gpu"])?;
    /// assert_eq!(sums.to_string(), "((),(4),(6)):((),(0),(1)) over gpu=4");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn partial<'a>(mut self, axes: impl IntoIterator<Item = &'a str>) -> Result<Self, LayoutError> {
        for axis in self.free(axes)? {
            self.partial[axis] = true;
        }
        let strides = self.strides.clone();
        self.counted(Some(strides))
    }

    /// Lays a device's part out with these strides, a number a mode, in elements. A split that follows makes it compact again.
    ///
    /// # Errors
    /// [`LayoutError::Rank`]; [`LayoutError::NotInjective`] where two elements may be in one place.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh};
    /// let rows = Distributed::new(&Mesh::new([("gpu", 2)])?, [8, 6])?.split(0, ["gpu"])?;
    /// assert_eq!(rows.memory().to_string(), "(4,6):(6,1)");
    /// assert_eq!(rows.with_strides([1, 4])?.memory().to_string(), "(4,6):(1,4)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn with_strides(self, strides: impl Into<Vec<i64>>) -> Result<Self, LayoutError> {
        let (strides, shape) = (strides.into(), self.local_shape());
        let (expected, found) = (shape.len(), strides.len());
        if expected != found {
            return Err(LayoutError::Rank { operation: NAME, what: "the list of strides", expected, found });
        }
        let memory = Layout::new(shape.clone(), strides.clone())?;
        let mut modes: Vec<(i64, i64)> = strides.iter().copied().zip(shape).collect();
        modes.retain(|(_, extent)| *extent > 1);
        modes.sort_unstable();
        let mut beyond = 1_i64;
        for (stride, extent) in modes {
            if stride < beyond {
                let detail = format!("the mode of stride {stride} overlaps smaller modes of span {beyond}");
                let layout = memory.to_string();
                return Err(LayoutError::NotInjective { operation: NAME, layout, detail });
            }
            // Bounded by the cosize, which the layout has seen to fit.
            beyond += stride * (extent - 1);
        }
        self.counted(Some(strides))
    }

    /// The mesh.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh};
    /// let mesh = Mesh::new([("gpu", 2)])?;
    /// assert_eq!(Distributed::new(&mesh, [3])?.mesh(), &mesh);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// The tensor's extents.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh};
    /// assert_eq!(Distributed::new(&Mesh::new([("gpu", 2)])?, [3, 5])?.extents(), [3, 5]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn extents(&self) -> &[i64] {
        &self.extents
    }

    /// (devices, terms, values) to the element of the padded tensor: the axes that split or copy, those that hold terms, and
    /// each mode of a device's memory.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh};
    /// let rows = Distributed::new(&Mesh::new([("gpu", 2)])?, [4, 6])?.split(0, ["gpu"])?;
    /// assert_eq!(rows.layout().to_string(), "((2),(),(2,6)):((2),(),(1,4))");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The extents of a device's memory, the same on each.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh};
    /// let rows = Distributed::new(&Mesh::new([("gpu", 4)])?, [10, 6])?.split(0, ["gpu"])?;
    /// assert_eq!(rows.local_shape(), [3, 6]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn local_shape(&self) -> Vec<i64> {
        self.digits.iter().map(|digits| local(digits)).collect()
    }

    /// The layout of a device's memory.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh};
    /// assert_eq!(Distributed::new(&Mesh::new([("gpu", 4)])?, [2, 6])?.memory().to_string(), "(2,6):(6,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn memory(&self) -> Layout {
        let modes = self.local_shape().into_iter().zip(&self.strides);
        let modes = modes.map(|(shape, stride)| crate::Mode { shape, stride: *stride });
        // Strides were given as a layout, or are compact.
        Layout::trusted(Nest::flat(modes))
    }

    /// How many elements of the tensor this rank holds; none for a rank that is not in the mesh.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh};
    /// let rows = Distributed::new(&Mesh::new([("gpu", 4)])?, [5])?.split(0, ["gpu"])?;
    /// assert_eq!([0, 1, 2, 3].map(|rank| rows.held(rank)), [2, 2, 1, 0]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn held(&self, rank: usize) -> i64 {
        let Ok(at) = self.mesh.coordinate(rank) else { return 0 };
        let modes = self.digits.iter().zip(&self.extents);
        modes.map(|(digits, extent)| super::intersection::held(digits, &at, *extent)).product()
    }

    /// The ranks that hold an element, copies or terms of it.
    ///
    /// # Errors
    /// [`LayoutError::Rank`], [`LayoutError::Coordinate`] for a coordinate outside the tensor.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh};
    /// let rows = Distributed::new(&Mesh::new([("a", 2), ("b", 2)])?, [4, 4])?.split(0, ["a"])?;
    /// assert_eq!(rows.holders(&[3, 0])?, [2, 3]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn holders(&self, coordinate: &[i64]) -> Result<Vec<usize>, LayoutError> {
        self.inside(coordinate)?;
        let mut asked: Vec<Option<i64>> = vec![None; self.partial.len()];
        for (digits, at) in self.digits.iter().zip(coordinate) {
            for digit in digits {
                if let Holder::Axis(axis) = digit.holder {
                    asked[axis] = Some(at / digit.step % digit.extent);
                }
            }
        }
        let mut holders = Vec::new();
        for rank in 0..self.mesh.size() {
            let at = self.mesh.coordinate(rank)?;
            if at.iter().zip(&asked).all(|(at, asked)| asked.is_none_or(|asked| asked == *at)) {
                holders.push(rank);
            }
        }
        Ok(holders)
    }

    /// The offset of an element in the memory of those that hold it: the same on each.
    ///
    /// # Errors
    /// As [`Distributed::holders`].
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh};
    /// let rows = Distributed::new(&Mesh::new([("gpu", 2)])?, [4, 4])?.split(0, ["gpu"])?;
    /// assert_eq!((rows.holders(&[3, 1])?, rows.place(&[3, 1])?), (vec![1], 5));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn place(&self, coordinate: &[i64]) -> Result<i64, LayoutError> {
        self.inside(coordinate)?;
        let digits =
            self.digits.iter().zip(coordinate).flat_map(|(digits, at)| digits.iter().map(move |d| (d, at)));
        Ok(digits.map(|(digit, at)| at / digit.step % digit.extent * digit.stride).sum())
    }

    /// Refuses what is no coordinate of the tensor.
    fn inside(&self, coordinate: &[i64]) -> Result<(), LayoutError> {
        let (expected, found) = (self.extents.len(), coordinate.len());
        if expected != found {
            return Err(LayoutError::Rank { operation: NAME, what: "the coordinate", expected, found });
        }
        let mut modes = self.extents.iter().zip(coordinate).enumerate();
        match modes.find(|(_, (extent, at))| !(0..**extent).contains(*at)) {
            Some((mode, (extent, at))) => {
                Err(LayoutError::Coordinate { mode, coordinate: *at, extent: *extent })
            }
            None => Ok(()),
        }
    }

    pub(super) fn digits(&self) -> &[Vec<Digit>] {
        &self.digits
    }

    /// The coordinate along the axes that hold copies, and the number of the term, of a rank at `at`.
    pub(super) fn copy_and_term(&self, at: &[i64]) -> (Vec<i64>, i64) {
        let (mut copy, mut term, mut below) = (Vec::new(), 0, 1);
        for (axis, (&at, &extent)) in at.iter().zip(self.mesh.extents()).enumerate() {
            let splits = self.digits.iter().flatten().any(|digit| digit.holder == Holder::Axis(axis));
            if self.partial[axis] {
                term += at * below;
                below *= extent;
            } else if !splits {
                copy.push(at);
            }
        }
        (copy, term)
    }

    /// How many terms each element has.
    pub(crate) fn terms(&self) -> i64 {
        let extents = self.partial.iter().zip(self.mesh.extents());
        extents.filter(|(partial, _)| **partial).map(|(_, extent)| extent).product()
    }

    /// The axes of the mesh that hold terms.
    pub(super) fn partial_axes(&self) -> impl Iterator<Item = &str> {
        self.mesh.axes().zip(&self.partial).filter(|(_, partial)| **partial).map(|((name, _), _)| name)
    }
}
