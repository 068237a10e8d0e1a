//! `Extent` and `Sum`: numbers of run time, as far as they are known.
//!
//! Law: `bind` takes each to the integer that it is under a binding, and no operation here changes what that is. A
//! symbol is never negative, and what was promised to divide it does; `bind` refuses values for which that is not so.

use crate::LayoutError;
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
    /// What is known: M with the promise that 8 divides it is 8 times the symbol (M, 8), which represents M/8.
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

    /// The quotient by another extent, if that is known to divide.
    ///
    /// ```
    /// # use layout_core::dynamic::Extent;
    /// let m = Extent::dynamic("M", 1)?;
    /// let four = m.times(&Extent::from(4)).and_then(|product| product.over(&m));
    /// assert_eq!(four, Some(Extent::from(4)));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn over(&self, other: &Self) -> Option<Self> {
        let mut quotient = self.divided_by(other.coefficient)?;
        for symbol in &other.symbols {
            let at = quotient.symbols.iter().position(|own| own == symbol)?;
            quotient.symbols.remove(at);
        }
        Some(quotient)
    }

    /// The least value but 0 that this can have under a binding; a static extent's own.
    ///
    /// ```
    /// # use layout_core::dynamic::Extent;
    /// assert_eq!(Extent::dynamic("M", 8)?.least(), 8);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn least(&self) -> i64 {
        self.coefficient
    }

    /// The value under a binding of every symbol.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] for a name without a value; [`LayoutError::NotDivisible`] for a value that breaks
    /// the promise, [`LayoutError::NegativeExtent`] for one below 0; [`LayoutError::Overflow`].
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
            if value < 0 {
                return Err(LayoutError::NegativeExtent { operation, extent: value });
            }
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

/// A sum of products of extents: an offset or a cosize of run time.
///
/// ```
/// use layout_core::dynamic::{DynamicLayout, Extent};
///
/// let pitched = DynamicLayout::new(&[4.into(), 32.into()], &[Extent::dynamic("pitch", 4)?, 1.into()])?;
/// assert_eq!(pitched.cosize()?.to_string(), "32 + 3*pitch");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sum {
    /// Of different symbols each, sorted by them; none is 0.
    terms: Vec<Extent>,
}

impl Sum {
    /// The sum with `count` times `extent` added, or nothing beyond 64 bits.
    pub(super) fn plus(mut self, extent: &Extent, count: i64) -> Option<Self> {
        let term = extent.times(&count.into())?;
        match self.terms.binary_search_by(|own| own.symbols.cmp(&term.symbols)) {
            Ok(at) => {
                let sum = self.terms[at].coefficient.checked_add(term.coefficient)?;
                self.terms[at].coefficient = sum;
                if sum == 0 {
                    self.terms.remove(at);
                }
            }
            Err(at) if term.coefficient != 0 => self.terms.insert(at, term),
            Err(_) => {}
        }
        Some(self)
    }

    /// The integer, if nothing here waits for run time.
    ///
    /// ```
    /// # use layout_core::{Layout, dynamic::DynamicLayout};
    /// assert_eq!(DynamicLayout::from(&Layout::row_major((4, 8))?).cosize()?.as_static(), Some(32));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn as_static(&self) -> Option<i64> {
        match &self.terms[..] {
            [] => Some(0),
            [only] => only.as_static(),
            _ => None,
        }
    }

    /// The value under a binding of every symbol.
    ///
    /// # Errors
    /// As [`Extent::bind`].
    ///
    /// ```
    /// # use layout_core::dynamic::{DynamicLayout, Extent};
    /// let l = DynamicLayout::new(&[4.into(), 32.into()], &[Extent::dynamic("pitch", 4)?, 1.into()])?;
    /// assert_eq!(l.cosize()?.bind(&[("pitch", 40)])?, 152);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn bind(&self, values: &[(&str, i64)]) -> Result<i64, LayoutError> {
        let operation = "bind";
        self.terms.iter().try_fold(0_i64, |sum, term| {
            let overflow = || LayoutError::Overflow { operation, detail: self.to_string() };
            sum.checked_add(term.bind(values)?).ok_or_else(overflow)
        })
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.is_empty() {
            return f.write_str("0");
        }
        for (i, term) in self.terms.iter().enumerate() {
            let negative = term.coefficient < 0 && i > 0;
            let positive = term.coefficient.checked_neg().filter(|_| negative);
            let shown = Extent { coefficient: positive.unwrap_or(term.coefficient), ..term.clone() };
            f.write_str(if i == 0 {
                ""
            } else if positive.is_some() {
                " - "
            } else {
                " + "
            })?;
            write!(f, "{shown}")?;
        }
        Ok(())
    }
}
