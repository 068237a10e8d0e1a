//! Extents of run time: an operation and then `bind` is `bind` and then the operation.

use super::{Digits, config, digits};
use layout_core::algebra::*;
use layout_core::dynamic::{DynamicLayout, Extent};
use layout_core::{Layout, LayoutError, Nest};
use proptest::prelude::*;

/// What each symbol is promised to be divided by, and is.
struct Binding {
    names: [&'static str; 3],
    divisors: [i64; 3],
    values: [i64; 3],
}

impl Binding {
    fn new(digits: &mut Digits) -> Self {
        let divisors = [1, 2, 3].map(|_| digits.pick(&[1, 2, 3, 4, 6, 8, 12]));
        let values = divisors.map(|divisor| divisor * (1 + digits.next(4) as i64));
        Self { names: ["M", "N", "pitch"], divisors, values }
    }

    fn extent(&self, symbol: usize) -> Extent {
        Extent::dynamic(self.names[symbol], self.divisors[symbol]).expect("a divisor above 0")
    }

    fn values(&self) -> [(&str, i64); 3] {
        [0, 1, 2].map(|symbol| (self.names[symbol], self.values[symbol]))
    }
}

/// Two to three modes, compact in some order or with a pitch, static and dynamic.
fn dynamic(digits: &mut Digits, binding: &Binding) -> DynamicLayout {
    let mut extents = vec![binding.extent(0), binding.extent(1)];
    let more = digits.next(4) as usize;
    if more < 3 {
        extents.insert(more, Extent::from(digits.pick(&[1, 2, 3, 4, 8])));
    }
    match digits.next(3) {
        0 => DynamicLayout::row_major(&extents).expect("small"),
        1 => DynamicLayout::col_major(&extents).expect("small"),
        _ => {
            let stride = |i: usize| match i {
                0 => binding.extent(2),
                1 => Extent::from(1),
                _ => Extent::from(-5),
            };
            let strides: Vec<Extent> = (0..extents.len()).map(stride).collect();
            DynamicLayout::new(&extents, &strides).expect("as many strides")
        }
    }
}

fn tiler(digits: &mut Digits, rank: usize) -> Vec<Tile> {
    let tile = |_| match digits.next(5) {
        0 => Tile::Keep,
        1 => Tile::Layout(digits.layout(6)),
        2 => Layout::new(1 + digits.next(4) as i64, 1 + digits.next(3) as i64).expect("small").into(),
        _ => Tile::of(digits.pick(&[1, 2, 3, 4, 6, 8])).expect("an extent"),
    };
    (0..rank).map(tile).collect()
}

type Dynamic = fn(&DynamicLayout, &[Tile]) -> Result<DynamicLayout, LayoutError>;
type Static = fn(&Layout, &[Tile]) -> Result<Layout, LayoutError>;
const BY_MODE: [(Dynamic, Static); 5] = [
    (DynamicLayout::composition_by_mode, composition_by_mode),
    (DynamicLayout::logical_divide_by_mode, logical_divide_by_mode),
    (DynamicLayout::zipped_divide_by_mode, zipped_divide_by_mode),
    (DynamicLayout::tiled_divide_by_mode, tiled_divide_by_mode),
    (DynamicLayout::flat_divide_by_mode, flat_divide_by_mode),
];

/// The same function, and the same sizes of the top-level modes.
fn same(a: &Layout, b: &Layout) -> bool {
    a.same_function(b) && a.modes().map(|mode| mode.size()).eq(b.modes().map(|mode| mode.size()))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn tiles_of_run_time(mut digits in digits()) {
        let binding = Binding::new(&mut digits);
        let mut layout = dynamic(&mut digits, &binding);
        let mut bound = layout.bind(&binding.values()).unwrap();
        // A tile of a tile as well.
        for _ in 0..2 {
            let (dynamic, fixed) = BY_MODE[digits.next(5) as usize];
            let tiler = tiler(&mut digits, layout.rank());
            let Ok(tiled) = dynamic(&layout, &tiler) else { break };
            let expected = fixed(&bound, &tiler);
            prop_assert!(expected.is_ok(), "{} by {:?} gave {}, and {} {:?}", layout, tiler, tiled, bound, expected);
            let (expected, found) = (expected.unwrap(), tiled.bind(&binding.values()).unwrap());
            prop_assert!(same(&found, &expected), "{} by {:?} gave {}: {} is not {}", layout, tiler, tiled, found, expected);
            (layout, bound) = (tiled, found);
        }
    }

    #[test]
    fn tiles_known_to_divide_are_not_refused(mut digits in digits()) {
        let binding = Binding::new(&mut digits);
        let layout = dynamic(&mut digits, &binding);
        let divides = |tile: i64, divisor: i64| divisor % tile == 0;
        let tile = digits.pick(&[1, 2, 3, 4, 6, 8]);
        let first = layout.mode(0).unwrap();
        let single = DynamicLayout::row_major(&[binding.extent(0)]).unwrap();
        prop_assert_eq!(single.zipped_divide_by_mode(&[Tile::of(tile).unwrap()]).is_ok(), divides(tile, binding.divisors[0]));
        prop_assert!(first.composition_by_mode(&[Tile::of(tile).unwrap()]).is_ok());
        prop_assert!(layout.bind(&[("M", 12)]).is_err());
        let broken = [("M", binding.values[0] + 1), ("N", binding.values[1]), ("pitch", binding.values[2])];
        prop_assert_eq!(layout.bind(&broken).is_err(), binding.divisors[0] > 1);
    }

    #[test]
    fn sizes_slices_and_products_of_run_time(mut digits in digits()) {
        let binding = Binding::new(&mut digits);
        let (layout, values) = (dynamic(&mut digits, &binding), binding.values());
        let bound = layout.bind(&values).unwrap();
        prop_assert_eq!(layout.size().unwrap().bind(&values).unwrap(), bound.size());
        prop_assert_eq!(layout.cosize().unwrap().bind(&values).unwrap(), bound.cosize(), "{}", layout);
        let coalesced = layout.coalesce().bind(&values).unwrap();
        prop_assert!(coalesced.same_function(&bound), "{} gave {}", layout, coalesced);

        let pattern: Vec<Option<i64>> =
            (0..layout.rank()).map(|_| Some(digits.next(6) as i64).filter(|_| digits.next(2) == 0)).collect();
        let pattern: Pattern = Nest::flat(pattern);
        if let Ok((open, offset)) = layout.slice(&pattern) {
            let (expected, at) = slice(&bound, &pattern).unwrap();
            prop_assert_eq!((open.bind(&values).unwrap(), offset.bind(&values).unwrap()), (expected, at));
        } else {
            let below = pattern.leaves().zip(layout.bind(&[("M", binding.divisors[0]), ("N", binding.divisors[1]), ("pitch", binding.divisors[2])]).unwrap().leaves().copied().collect::<Vec<_>>())
                .all(|(place, mode)| place.is_none_or(|at| at < mode.shape));
            prop_assert!(!below, "{} at {}", layout, pattern.map(|place| place.unwrap_or(-1)));
        }

        let tiler = digits.layout(12);
        let from = DynamicLayout::from(&tiler);
        prop_assert_eq!(from.bind(&[]).unwrap(), tiler.clone());
        match layout.logical_product(&from) {
            Ok(product) => {
                let expected = logical_product(&bound, &tiler).unwrap();
                prop_assert!(same(&product.bind(&values).unwrap(), &expected), "{} by {}", layout, tiler);
            }
            Err(_) => prop_assert!(layout.to_string().contains("pitch"), "{}", layout),
        }
    }
}

/// Symbols multiply, divide and print.
#[test]
fn extents_are_products() {
    let (m, n) = (Extent::dynamic("M", 8).unwrap(), Extent::dynamic("N", 1).unwrap());
    let product = m.times(&n).unwrap();
    assert_eq!(product.to_string(), "M*N");
    assert_eq!(product.over(&n), Some(m.clone()));
    assert_eq!(product.over(&m).map(|rest| rest.to_string()), Some("N".into()));
    assert_eq!((m.over(&n), m.divided_by(0), m.divided_by(16)), (None, None, None));
    assert!(m.bind(&[("M", -8)]).is_err() && m.bind(&[("M", 12)]).is_err() && m.bind(&[]).is_err());
    assert!(Extent::from(i64::MAX).times(&2.into()).is_none());
}
