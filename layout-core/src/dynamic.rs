//! Layouts with extents that are known only at run time, but for what divides them.
//!
//! Law: an operation and then `bind` is `bind` and then the operation, for every binding that keeps the promises. An
//! operation that would need to know more refuses.

use crate::layout::Mode;
use crate::{Layout, LayoutError, Nest};
use std::fmt;

/// An integer or a run-time extent, or a product of such: a coefficient times symbols.
///
/// ```
/// use layout_core::dynamic::Extent;
///
/// let m = Extent::dynamic("M", 8)?;
/// assert_eq!(m.to_string(), "M");
/// assert_eq!(m.divided_by(4).map(|tiles| tiles.to_string()), Some("M/4".to_string()));
/// assert_eq!(m.divided_by(3), None); // nothing is known about M mod 3
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// What is known: M with the promise that 8 divides it is 8 times the symbol (M, 8), which stands for M/8.
    coefficient: i64,
    symbols: Vec<(String, i64)>,
}

impl Extent {
    /// A run-time extent that `divisor` divides.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] unless `divisor` is 1 or more.
    ///
    /// ```
    /// # use layout_core::dynamic::Extent;
    /// assert!(Extent::dynamic("M", 0).is_err());
    /// ```
    pub fn dynamic(name: &str, divisor: i64) -> Result<Self, LayoutError> {
        if divisor < 1 {
            let detail = format!("{name} divisible by {divisor}; give 1 or more");
            return Err(LayoutError::Unsupported { operation: "dynamic extent", detail });
        }
        Ok(Self { coefficient: divisor, symbols: vec![(name.to_string(), divisor)] })
    }

    /// The integer, if nothing here waits for run time.
    ///
    /// ```
    /// # use layout_core::dynamic::Extent;
    /// assert_eq!(Extent::from(4).as_static(), Some(4));
    /// ```
    pub fn as_static(&self) -> Option<i64> {
        self.symbols.is_empty().then_some(self.coefficient)
    }

    /// The quotient by an integer, if that is known to divide.
    ///
    /// ```
    /// # use layout_core::dynamic::Extent;
    /// assert_eq!(Extent::from(12).divided_by(4), Some(Extent::from(3)));
    /// ```
    pub fn divided_by(&self, divisor: i64) -> Option<Self> {
        if self.coefficient.checked_rem(divisor)? != 0 {
            return None;
        }
        Some(Self { coefficient: self.coefficient.checked_div(divisor)?, symbols: self.symbols.clone() })
    }

    /// The product, or nothing beyond 64 bits.
    ///
    /// ```
    /// # use layout_core::dynamic::Extent;
    /// let m = Extent::dynamic("M", 1)?;
    /// assert_eq!(m.times(&Extent::from(3)).map(|p| p.to_string()), Some("3*M".to_string()));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn times(&self, other: &Self) -> Option<Self> {
        let coefficient = self.coefficient.checked_mul(other.coefficient)?;
        let mut symbols = if coefficient == 0 { Vec::new() } else { self.symbols.clone() };
        if coefficient != 0 {
            symbols.extend(other.symbols.iter().cloned());
        }
        symbols.sort();
        Some(Self { coefficient, symbols })
    }

    /// The value under a binding of every symbol.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] for a name without a value; [`LayoutError::NotDivisible`] for a value that breaks
    /// the promise; [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use layout_core::dynamic::Extent;
    /// assert_eq!(Extent::dynamic("M", 8)?.bind(&[("M", 24)])?, 24);
    /// assert!(Extent::dynamic("M", 8)?.bind(&[("M", 20)]).is_err());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn bind(&self, values: &[(&str, i64)]) -> Result<i64, LayoutError> {
        let operation = "bind";
        self.symbols.iter().try_fold(self.coefficient, |product, (name, divisor)| {
            let found = values.iter().find(|(known, _)| known == name);
            let missing =
                || LayoutError::Unsupported { operation, detail: format!("{name} has no value; bind it") };
            let value = found.ok_or_else(missing)?.1;
            if value % divisor != 0 {
                let help = format!("{name} was promised to be divisible");
                return Err(LayoutError::NotDivisible { operation, mode: 0, value, divisor: *divisor, help });
            }
            let overflow =
                || LayoutError::Overflow { operation, detail: format!("{self} with {name} = {value}") };
            product.checked_mul(value / divisor).ok_or_else(overflow)
        })
    }
}

impl From<i64> for Extent {
    fn from(value: i64) -> Self {
        Self { coefficient: value, symbols: Vec::new() }
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Whole symbols first: the coefficient over what the symbols have been divided by.
        let whole =
            self.symbols.iter().try_fold(1_i64, |product, (_, divisor)| product.checked_mul(*divisor));
        let names: Vec<&str> = self.symbols.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join("*");
        match whole.filter(|_| !names.is_empty()) {
            None if names.is_empty() => write!(f, "{}", self.coefficient),
            Some(whole) if self.coefficient == whole => f.write_str(&names),
            Some(whole) if self.coefficient % whole == 0 => write!(f, "{}*{names}", self.coefficient / whole),
            Some(whole) if self.coefficient != 0 && whole % self.coefficient == 0 => {
                write!(f, "{names}/{}", whole / self.coefficient)
            }
            Some(whole) => write!(f, "{}*{names}/{whole}", self.coefficient),
            None => write!(f, "{}*{names}/..", self.coefficient),
        }
    }
}

/// One mode of a [`DynamicLayout`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct DynamicMode {
    shape: Extent,
    stride: Extent,
}

/// A layout some of whose extents and strides are known only at run time.
///
/// ```
/// use layout_core::dynamic::{DynamicLayout, Extent};
///
/// let a = DynamicLayout::row_major(&[Extent::dynamic("M", 64)?, Extent::dynamic("K", 8)?])?;
/// assert_eq!(a.to_string(), "(M,K):(K,1)");
/// let tiles = a.zipped_divide_by_mode(&[64, 8])?;
/// assert_eq!(tiles.to_string(), "((64,8),(M/64,K/8)):((K,1),(64*K,8))");
/// assert_eq!(tiles.bind(&[("M", 128), ("K", 24)])?.to_string(), "((64,8),(2,3)):((24,1),(1536,8))");
/// assert!(a.zipped_divide_by_mode(&[64, 16]).is_err()); // 16 is not known to divide K
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DynamicLayout {
    modes: Nest<DynamicMode>,
}

impl DynamicLayout {
    /// The flat layout of these extents and strides.
    ///
    /// # Errors
    /// [`LayoutError::NotCongruent`] for different numbers of them.
    ///
    /// ```
    /// # use layout_core::dynamic::{DynamicLayout, Extent};
    /// let pitched = DynamicLayout::new(&[Extent::dynamic("M", 1)?, 32.into()], &[Extent::dynamic("pitch", 4)?, 1.into()])?;
    /// assert_eq!(pitched.to_string(), "(M,32):(pitch,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn new(shape: &[Extent], stride: &[Extent]) -> Result<Self, LayoutError> {
        if shape.len() != stride.len() {
            let text = |part: &[Extent]| Nest::flat(part.iter().map(ToString::to_string)).to_string();
            return Err(LayoutError::NotCongruent { shape: text(shape), stride: text(stride) });
        }
        let modes = shape.iter().cloned().zip(stride.iter().cloned());
        Ok(Self { modes: Nest::flat(modes.map(|(shape, stride)| DynamicMode { shape, stride })) })
    }

    /// The compact layout in which the last mode runs fastest.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use layout_core::dynamic::{DynamicLayout, Extent};
    /// assert_eq!(DynamicLayout::row_major(&[2.into(), Extent::dynamic("N", 1)?, 3.into()])?.to_string(), "(2,N,3):(3*N,3,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn row_major(shape: &[Extent]) -> Result<Self, LayoutError> {
        let mut strides = compact(shape.iter().rev())?;
        strides.reverse();
        Self::new(shape, &strides)
    }

    /// The compact layout in which the first mode runs fastest.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use layout_core::dynamic::{DynamicLayout, Extent};
    /// assert_eq!(DynamicLayout::col_major(&[2.into(), Extent::dynamic("N", 1)?])?.to_string(), "(2,N):(1,2)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn col_major(shape: &[Extent]) -> Result<Self, LayoutError> {
        Self::new(shape, &compact(shape.iter())?)
    }

    /// The same function with fewer modes, where that is known for every binding.
    ///
    /// ```
    /// # use layout_core::dynamic::{DynamicLayout, Extent};
    /// let l = DynamicLayout::col_major(&[Extent::dynamic("M", 1)?, 4.into(), 2.into()])?;
    /// assert_eq!(l.coalesce().to_string(), "(8*M):(1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn coalesce(&self) -> Self {
        let mut merged: Vec<DynamicMode> = Vec::new();
        for mode in self.modes.leaves().filter(|mode| mode.shape.as_static() != Some(1)) {
            match merged.last_mut() {
                Some(last) if last.shape.times(&last.stride).as_ref() == Some(&mode.stride) => {
                    match last.shape.times(&mode.shape) {
                        Some(shape) => last.shape = shape,
                        None => merged.push(mode.clone()),
                    }
                }
                _ => merged.push(mode.clone()),
            }
        }
        if merged.is_empty() {
            merged.push(DynamicMode { shape: 1.into(), stride: 0.into() });
        }
        Self { modes: Nest::flat(merged) }
    }

    /// `((tile0, ..), (rest0, ..))` for static tile extents that are known to divide.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] unless there is one extent for each mode; [`LayoutError::Unsupported`] where an extent is
    /// not known to divide; [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use layout_core::dynamic::{DynamicLayout, Extent};
    /// let l = DynamicLayout::col_major(&[Extent::dynamic("M", 4)?])?.zipped_divide_by_mode(&[4])?;
    /// assert_eq!(l.to_string(), "((4),(M/4)):((1),(4))");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn zipped_divide_by_mode(&self, tile: &[i64]) -> Result<Self, LayoutError> {
        let operation = "zipped_divide";
        if tile.len() != self.modes.rank() || self.modes.depth() != 1 {
            let (expected, found) = (self.modes.rank(), tile.len());
            return Err(LayoutError::Rank { operation, what: "the tiler of a flat layout", expected, found });
        }
        let (mut tiles, mut rests) = (Vec::new(), Vec::new());
        for (number, (mode, &extent)) in self.modes.leaves().zip(tile).enumerate() {
            let rest = mode.shape.divided_by(extent).filter(|_| extent > 0).ok_or_else(|| {
                LayoutError::Unsupported {
                    operation,
                    detail: format!(
                        "mode {number}: {extent} is not known to divide {}; promise it, or pad",
                        mode.shape
                    ),
                }
            })?;
            let stride = mode.stride.times(&extent.into()).ok_or_else(|| LayoutError::Overflow {
                operation,
                detail: format!("{extent} times {}", mode.stride),
            })?;
            tiles.push(DynamicMode { shape: extent.into(), stride: mode.stride.clone() });
            rests.push(DynamicMode { shape: rest, stride });
        }
        Ok(Self { modes: Nest::tuple([Nest::flat(tiles), Nest::flat(rests)]) })
    }

    /// The layout under a binding of every symbol.
    ///
    /// # Errors
    /// As [`Extent::bind`] and [`Layout::new`].
    ///
    /// ```
    /// # use layout_core::dynamic::{DynamicLayout, Extent};
    /// let l = DynamicLayout::row_major(&[Extent::dynamic("M", 1)?, Extent::dynamic("N", 1)?])?;
    /// assert_eq!(l.bind(&[("M", 3), ("N", 5)])?.to_string(), "(3,5):(5,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn bind(&self, values: &[(&str, i64)]) -> Result<Layout, LayoutError> {
        let mut refused = None;
        let mut value = |extent: &Extent| match extent.bind(values) {
            Ok(value) => value,
            Err(error) => {
                refused.get_or_insert(error);
                0
            }
        };
        let modes = self.modes.map(|mode| Mode { shape: value(&mode.shape), stride: value(&mode.stride) });
        refused.map_or_else(|| Layout::from_modes(modes, "bind"), Err)
    }
}

/// The strides of a compact layout whose extents come in this order from the fastest on.
fn compact<'a>(shape: impl Iterator<Item = &'a Extent>) -> Result<Vec<Extent>, LayoutError> {
    let mut step = Some(Extent::from(1));
    let strides = shape.map(|extent| {
        let overflow =
            || LayoutError::Overflow { operation: "compact", detail: format!("a stride over {extent}") };
        let here = step.clone().ok_or_else(overflow)?;
        step = here.times(extent);
        Ok(here)
    });
    strides.collect()
}

impl fmt::Display for DynamicLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}",
            self.modes.map(|mode| mode.shape.clone()),
            self.modes.map(|mode| mode.stride.clone())
        )
    }
}
