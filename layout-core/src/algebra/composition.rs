//! `composition`: the layout that is one layout after another.
//!
//! Law: `R(c) == A(B(c))` for all c in B, and every coordinate of B is a coordinate of R.
//!
//! How it is decided, without walking the domain. By its places (see `places.rs`) A is a sum of floors, so A after B
//! is a layout exactly when each `floor(B(c) / p)` is (jumps of different places that cancel are not looked for):
//! 1. each leaf `s:d` of B is cut into digits: with `r = d mod p`, c times d stays in step with p for
//!    `c < ceil(p / r)`, so the first digit has the least such extent n over all places, and n must divide s; the
//!    rest `s/n : d*n` is cut the same way;
//! 2. the digits of all leaves together must not carry: the sum of `r * (n - 1)` stays below p, for each place.
//!
//! Step 1 gives the only candidate, step 2 is the law at its largest coordinate; so the verdict is exact.

use super::places::Places;
use super::tile::{Tile, by_mode};
use crate::layout::Mode;
use crate::nest::Node;
use crate::{Layout, LayoutError, Nest};

const NAME: &str = "composition";

/// The layout R with `R(c) == A(B(c))`, nested like B where A's modes do not cut B's further.
///
/// A is taken to go on past its domain in its last mode ([`Layout::at_extended`]).
///
/// # Errors
/// [`LayoutError::NotDivisible`] or [`LayoutError::Carry`] where no layout is that function;
/// [`LayoutError::Overflow`]; [`LayoutError::Unsupported`] for an empty A.
///
/// Source: CuTe's `composition`, which gives a wrong layout where this refuses.
///
/// ```
/// use layout_core::{Layout, algebra::composition};
///
/// let a: Layout = "(6,2):(8,2)".parse()?;
/// assert_eq!(composition(&a, &"(4,3):(3,1)".parse()?)?.to_string(), "((2,2),3):((24,2),8)");
///
/// let error = composition(&"(4,6,8):(2,3,5)".parse()?, &"6:3".parse()?).unwrap_err();
/// assert!(error.to_string().starts_with("composition: mode 0: 3 is not divisible by 2"), "{error}");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn composition(a: &Layout, b: &Layout) -> Result<Layout, LayoutError> {
    if b.size() == 0 {
        return Ok(Layout::trusted(b.modes_nest().map(|mode| Mode { stride: 0, ..*mode })));
    }
    let places = Places::new(a, NAME)?;
    let mut nodes = Vec::with_capacity(2 * b.nodes().len());
    let (mut leaf, mut digits) = (0, Vec::with_capacity(8));
    for node in b.nodes() {
        match node {
            Node::Tuple(n) => nodes.push(Node::Tuple(*n)),
            Node::Leaf(mode) => {
                let first = digits.len();
                cut(&places, *mode, leaf, &mut digits)?;
                if digits.len() > first + 1 {
                    nodes.push(Node::Tuple(digits.len() - first));
                }
                for digit in &digits[first..] {
                    let stride = match places.at(digit.stride) {
                        Some(stride) => stride,
                        None if digit.shape == 1 => 0,
                        None => return Err(overflow(a, b)),
                    };
                    nodes.push(Node::Leaf(Mode { stride, ..*digit }));
                }
                leaf += 1;
            }
        }
    }
    check_carries(&places, &digits, 0)?;
    Layout::from_modes(Nest::from_nodes(nodes), NAME)
}

/// The layout of `i -> layout(start + i) - layout(start)` for `0 <= i < extent`, all inside the domain.
pub(crate) fn run(layout: &Layout, start: i64, extent: i64) -> Result<Layout, LayoutError> {
    let line = Mode { shape: extent, stride: 1 };
    let mut digits = Vec::new();
    let places = Places::new(layout, NAME)?;
    cut(&places, line, 0, &mut digits)?;
    check_carries(&places, &digits, start)?;
    composition(layout, &Layout::trusted(Nest::leaf(line)))
}

/// The composition of each top-level mode of `a` with its own tile; modes beyond the tiler are dropped, as in CuTe.
///
/// # Errors
/// As [`composition`], and [`LayoutError::Rank`] if there are more tiles than modes.
///
/// ```
/// use layout_core::{Layout, algebra::{composition_by_mode, Tile}};
///
/// let a = Layout::row_major((8, 16))?;
/// let tile = composition_by_mode(&a, &[Tile::Keep, Layout::new(4, 2)?.into()])?;
/// assert_eq!(tile.to_string(), "(8,4):(16,2)");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn composition_by_mode(a: &Layout, tiler: &[Tile]) -> Result<Layout, LayoutError> {
    let modes = by_mode(a, tiler, NAME, |mode, tile| match tile {
        Tile::Keep => Ok(mode),
        Tile::Layout(tile) => composition(&mode, tile),
    })?;
    Layout::from_modes(Nest::tuple(modes.into_iter().take(tiler.len()).map(Layout::into_modes)), NAME)
}

/// Step 1: appends the digits of one leaf of B.
fn cut(places: &Places, mode: Mode, leaf: usize, digits: &mut Vec<Mode>) -> Result<(), LayoutError> {
    let Mode { mut shape, mut stride } = mode;
    loop {
        // The longest run that stays in step with every place.
        let mut run = shape;
        if shape > 1 {
            for place in places.iter() {
                let remainder = remainder(stride, place.size);
                if remainder > 0 {
                    run = run.min((place.size - 1) / remainder + 1);
                }
            }
        }
        if run == shape {
            digits.push(Mode { shape, stride });
            return Ok(());
        }
        if shape % run != 0 {
            let padded = (shape / run + 1).saturating_mul(run);
            let help = format!(
                "{}:{} meets a border of the left layout every {run} steps of {stride}; \
                 pad {shape} to {padded}, or divide by mode",
                mode.shape, mode.stride
            );
            return Err(LayoutError::NotDivisible {
                operation: NAME,
                mode: leaf,
                value: shape,
                divisor: run,
                help,
            });
        }
        digits.push(Mode { shape: run, stride });
        shape /= run;
        // run <= shape/2 of the leaf, so this is one of its offsets, which fit.
        stride *= run;
    }
}

/// Step 2: no coordinate of the digits, counted from `start`, carries over a place.
fn check_carries(places: &Places, digits: &[Mode], start: i64) -> Result<(), LayoutError> {
    let negative = |mode: &&Mode| mode.stride < 0 && mode.shape > 1;
    let positive = |mode: &&Mode| mode.stride > 0 && mode.shape > 1;
    let mixed = digits.iter().any(|mode| negative(&mode)) && digits.iter().any(|mode| positive(&mode));
    for place in places.iter().filter(|place| place.size > 1) {
        let steps = |m: &Mode| i128::from(remainder(m.stride, place.size)) * i128::from(m.shape - 1);
        let reach = i128::from(start % place.size) + digits.iter().map(steps).sum::<i128>();
        let mut carries = reach >= i128::from(place.size);
        if mixed && reach > 0 {
            // Strides of both signs: in step only if neither sign ever reaches the place.
            let span = |m: &Mode| i128::from(m.stride).abs() * i128::from(m.shape - 1);
            let up: i128 = digits.iter().filter(positive).map(span).sum();
            let down: i128 = digits.iter().filter(negative).map(span).sum();
            carries = up.max(down) >= i128::from(place.size);
        }
        if carries {
            return Err(LayoutError::Carry {
                operation: NAME,
                border: place.size,
                reach: i64::try_from(reach).unwrap_or(i64::MAX),
                help: "compose by mode, or choose strides that divide the left layout's extents".into(),
            });
        }
    }
    Ok(())
}

/// `|stride| mod place`, in 64 bits since the place is.
fn remainder(stride: i64, place: i64) -> i64 {
    (stride % place).abs()
}

fn overflow(a: &Layout, b: &Layout) -> LayoutError {
    LayoutError::Overflow { operation: NAME, detail: format!("a stride of {a} after {b}") }
}
