//! coalesce, composition, complement and the divides: the equation that defines each.

use super::{config, digits, signed};
use layout_core::algebra::{
    Tile, coalesce, complement, composition, left_inverse, logical_divide, right_inverse, zipped_divide,
    zipped_divide_by_mode,
};
use layout_core::{IntTuple, Layout, Nest, Swizzle, idx2crd};
use proptest::prelude::*;
use std::collections::HashSet;

/// A and B joined as two modes.
fn pair(a: &Layout, b: &Layout) -> Layout {
    Layout::new(Nest::tuple([a.shape(), b.shape()]), Nest::tuple([a.stride(), b.stride()])).expect("small")
}

/// Whether every coordinate of `coarse` is a coordinate of `fine`.
fn refines(coarse: &IntTuple, fine: &IntTuple) -> bool {
    match coarse.as_int() {
        Some(extent) => fine.product() == Ok(extent),
        None => {
            !fine.is_leaf()
                && coarse.rank() == fine.rank()
                && coarse.modes().zip(fine.modes()).all(|(coarse, fine)| refines(&coarse, &fine))
        }
    }
}

/// Whether some layout that nests inside `b` is the function `values` on its coordinates: found by trying, one leaf
/// after another, the longest straight run as the leaf's first digit, and checking the result over the domain.
fn some_layout_is(b: &Layout, f: impl Fn(i64) -> i64) -> bool {
    let mut modes: Vec<(i64, i64)> = Vec::new();
    for mode in b.leaves() {
        let (mut extent, mut step) = (mode.shape, mode.stride);
        while extent > 1 {
            let slope = f(step);
            let run = (1..extent).find(|&c| f(c * step) != c * slope).unwrap_or(extent);
            if extent % run != 0 {
                return false;
            }
            modes.push((run, slope));
            extent /= run;
            step *= run;
        }
    }
    let flat = |part: fn(&(i64, i64)) -> i64| IntTuple::flat(modes.iter().map(part));
    let candidate = Layout::new(flat(|mode| mode.0), flat(|mode| mode.1)).expect("small");
    candidate.offsets().eq(b.offsets().map(f))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn coordinates(mut digits in digits()) {
        let l = digits.layout(64);
        let mut offsets = l.offsets();
        for index in 0..l.size() {
            let coord = l.idx2crd(index).unwrap();
            prop_assert_eq!(idx2crd(index, &l.shape()).unwrap(), coord.clone());
            let offset = l.crd2idx(&coord).unwrap();
            prop_assert_eq!(l.at(index).unwrap(), offset);
            prop_assert_eq!(l.at_extended(index).unwrap(), offset);
            prop_assert_eq!(offsets.next(), Some(offset));
        }
        prop_assert_eq!(offsets.next(), None);
        prop_assert!(l.at(l.size()).is_err() && l.at(-1).is_err());
        prop_assert_eq!(l.offsets().max().unwrap() + 1, l.cosize());
        prop_assert_eq!(l.to_string().parse::<Layout>().unwrap(), l);
    }

    #[test]
    fn coalesce_is_the_same_function_in_fewest_modes(mut digits in digits()) {
        let l = digits.layout(512);
        let r = coalesce(&l);
        prop_assert!(r.offsets().eq(l.offsets()), "{} gave {}", l, r);
        prop_assert!(r.depth() <= 1 && r.leaves().all(|mode| mode.shape != 1 || r.size() == 1));
        let modes: Vec<_> = r.leaves().collect();
        prop_assert!(modes.windows(2).all(|pair| pair[0].shape * pair[0].stride != pair[1].stride));
    }

    #[test]
    fn composition_is_exact_or_refused(mut digits in digits()) {
        let (a, b) = (digits.layout(128), digits.layout(64));
        let f = |index| a.at_extended(index).unwrap();
        match composition(&a, &b) {
            Ok(r) => {
                prop_assert!(r.offsets().eq(b.offsets().map(f)), "{} o {} gave {}", a, b, r);
                prop_assert!(refines(&b.shape(), &r.shape()), "{} o {} gave {}", a, b, r);
            }
            // Jumps that cancel each other are not looked for, which takes three modes of `a`.
            Err(e) => prop_assert!(a.leaves().count() > 2 || !some_layout_is(&b, f), "{} o {}: {}", a, b, e),
        }
    }

    /// Modes `1:0` at the end change no answer, and no refusal either.
    #[test]
    fn trailing_modes_of_stride_zero_change_nothing(mut digits in digits()) {
        let (l, tile) = (digits.layout(64), digits.layout(16));
        let still = if digits.next(2) == 0 { Layout::new(1, 0) } else { Layout::new((1, 1), (0, 0)) };
        let longer = l.append(still.unwrap()).unwrap();
        let index = digits.next(1 << 10) as i64 - (1 << 9);
        prop_assert_eq!(longer.at_extended(index), l.at_extended(index));
        prop_assert_eq!(composition(&longer, &tile), composition(&l, &tile));
        prop_assert_eq!(logical_divide(&longer, &tile), logical_divide(&l, &tile));
        prop_assert_eq!(zipped_divide(&longer, &tile), zipped_divide(&l, &tile));
        prop_assert_eq!(right_inverse(&longer), right_inverse(&l));
        let (with, without) = (left_inverse(&longer), left_inverse(&l));
        prop_assert_eq!(with.is_ok(), without.is_ok());
        prop_assert!(with.is_err() || with == without);
    }

    #[test]
    fn complement_fills_what_the_layout_leaves(mut digits in digits()) {
        let l = if digits.next(4) == 0 { signed(&mut digits, 64) } else { digits.layout(64) };
        let cotarget = digits.next(200) as i64;
        if let Ok(r) = complement(&l, cotarget) {
            let image: HashSet<i64> = l.offsets().collect();
            let rest: Vec<i64> = r.offsets().collect();
            prop_assert!(rest.windows(2).all(|pair| pair[0] < pair[1]), "{} gave {}", l, r);
            prop_assert!(rest[1..].iter().all(|offset| !image.contains(offset)), "{} gave {}", l, r);
            prop_assert!(pair(&l, &r).cosize() >= cotarget, "{} gave {}", l, r);
        } else {
            // Refused only where offsets meet, or where a gap is no whole number of repeats.
            let moving = l.leaves().filter(|mode| mode.stride != 0 && mode.shape > 1);
            let mut modes: Vec<_> = moving.map(|mode| (mode.stride.abs(), mode.shape)).collect();
            modes.sort_unstable();
            let whole = modes.windows(2).all(|pair| pair[1].0 % (pair[0].0 * pair[0].1) == 0);
            prop_assert!(!whole, "{} by {}", l, cotarget);
        }
    }

    #[test]
    fn logical_divide_walks_the_tile_then_the_rest(mut digits in digits()) {
        let (l, tile) = (digits.layout(128), digits.layout(16));
        if let Ok(r) = logical_divide(&l, &tile) {
            let rest = complement(&tile, l.size()).unwrap();
            let both = pair(&tile, &rest);
            prop_assert!(r.offsets().eq(both.offsets().map(|index| l.at_extended(index).unwrap())));
            prop_assert!(refines(&both.shape(), &r.shape()) && r.rank() == 2);
            prop_assert_eq!(zipped_divide(&l, &tile).unwrap(), r);
        }
    }

    #[test]
    fn zipped_divide_by_mode_tiles_each_mode(mut digits in digits()) {
        let l = pair(&digits.layout(16), &digits.layout(16));
        let (t0, t1) = (1 + digits.next(8) as i64, 1 + digits.next(8) as i64);
        let tiler = [Tile::of(t0).unwrap(), Tile::of(t1).unwrap()];
        let Ok(r) = zipped_divide_by_mode(&l, &tiler) else { return Ok(()) };
        let (rest0, rest1) = (r.mode(1).unwrap().mode(0).unwrap(), r.mode(1).unwrap().mode(1).unwrap());
        let (m0, m1) = (l.mode(0).unwrap(), l.mode(1).unwrap());
        for (j0, j1) in (0..rest0.size()).flat_map(|j0| (0..rest1.size()).map(move |j1| (j0, j1))) {
            for (i0, i1) in (0..t0).flat_map(|i0| (0..t1).map(move |i1| (i0, i1))) {
                let at = r.crd2idx(&((i0, i1), (j0, j1)).into()).unwrap();
                let there = m0.at_extended(j0 * t0 + i0).unwrap() + m1.at_extended(j1 * t1 + i1).unwrap();
                prop_assert_eq!(at, there, "{} by {}, {} gave {}", l, t0, t1, r);
            }
        }
    }

    #[test]
    fn swizzle_is_its_own_inverse(mut digits in digits()) {
        let (bits, base) = (digits.next(5) as u32, digits.next(6) as u32);
        let shift = digits.pick(&[-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5]) as i32;
        let Ok(w) = Swizzle::new(bits, base, shift) else {
            prop_assert!(shift.unsigned_abs() < bits);
            return Ok(());
        };
        let x = digits.next(1 << 20) as i64;
        let mask = (1_i64 << bits) - 1;
        let (from, to) = if shift >= 0 { (base as i32 + shift, base as i32) } else { (base as i32, base as i32 - shift) };
        prop_assert_eq!(w.apply(x), x ^ ((x >> from & mask) << to));
        prop_assert_eq!(w.apply(w.apply(x)), x);
    }
}
