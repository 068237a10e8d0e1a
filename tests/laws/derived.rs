//! Filters, inverses, products, recasts, slices, constructors and queries: the equation that defines each.

use super::{Digits, config, digits, signed};
use layout_core::algebra::*;
use layout_core::expr::{evaluate, explain};
use layout_core::{ComposedLayout, IdentityLayout, IntTuple, Layout, Nest, Swizzle, crd2crd};
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};

/// The offsets in order, each once.
fn image(l: &Layout) -> Vec<i64> {
    sorted(l.offsets().collect())
}

fn sorted(mut offsets: Vec<i64>) -> Vec<i64> {
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn filter_keeps_the_image(mut digits in digits()) {
        let l = digits.layout(128);
        prop_assert_eq!(image(&filter(&l)), image(&l));
        prop_assert_eq!(image(&filter_zeros(&l)), image(&l));
        prop_assert!(filter_zeros(&l).shape().congruent(&l.shape()));
        prop_assert!(filter(&l).size() == 1 || filter(&l).leaves().all(|mode| mode.stride != 0 && mode.shape != 1));
    }

    #[test]
    fn coalesce_by_profile_keeps_the_function_of_each_mode(mut digits in digits()) {
        let l = digits.layout(128);
        let count = digits.next(l.rank() as u64 + 1);
        let profile = IntTuple::flat((0..count).map(|_| 1));
        let r = coalesce_by_profile(&l, &profile);
        if l.shape().is_leaf() && count != 1 {
            prop_assert!(r.is_err());
            return Ok(());
        }
        let r = r.unwrap();
        prop_assert!(r.offsets().eq(l.offsets()), "{} by {} gave {}", l, profile, r);
        prop_assert_eq!(r.rank(), l.rank());
        for (i, (mode, whole)) in r.modes().zip(l.modes()).enumerate() {
            let expected = if i < count as usize { coalesce(&whole) } else { whole };
            prop_assert_eq!(mode, expected);
        }
    }

    #[test]
    fn right_inverse_is_undone_by_the_layout(mut digits in digits()) {
        let l = signed(&mut digits, 64);
        let r = right_inverse(&l).unwrap();
        for i in 0..r.size() {
            // `at` refuses what is no index of the layout.
            prop_assert_eq!(l.at(r.at(i).unwrap()), Ok(i), "{} gave {}", l, r);
        }
        // The longest: no mode begins at the next offset.
        prop_assert!(coalesce(&l).leaves().all(|mode| mode.stride != r.size()), "{} gave {}", l, r);
    }

    #[test]
    fn left_inverse_leads_back_to_the_offset(mut digits in digits()) {
        let l = if digits.next(4) == 0 { signed(&mut digits, 64) } else { digits.layout(64) };
        let Ok(r) = left_inverse(&l) else { return Ok(()) };
        let injective = l.is_injective().unwrap();
        for i in 0..l.size() {
            let offset = l.at(i).unwrap();
            let back = r.at_extended(offset).unwrap();
            prop_assert_eq!(l.at_extended(back).unwrap(), offset, "{} gave {}", l, r);
            prop_assert!(!injective || back == i, "{} gave {}", l, r);
        }
    }

    /// Also where extents and strides are near the end of 64 bits, at the corners of the domain.
    #[test]
    fn left_inverse_of_long_modes_fits(mut digits in digits()) {
        let mode = |digits: &mut Digits| {
            let extent = (1_i64 << digits.next(40)) + digits.pick(&[0, 0, 1, -1]);
            (extent.max(1), digits.pick(&[0, 1, 1, 1, 2, 3]) << (digits.next(2).min(1) * digits.next(40)))
        };
        let modes: Vec<(i64, i64)> = (0..1 + digits.next(3)).map(|_| mode(&mut digits)).collect();
        let flat = |part: fn(&(i64, i64)) -> i64| IntTuple::flat(modes.iter().map(part));
        let Ok(l) = Layout::new(flat(|mode| mode.0), flat(|mode| mode.1)) else { return Ok(()) };
        let Ok(r) = left_inverse(&l) else { return Ok(()) };
        for corner in 0..1_usize << modes.len() {
            let at = |leaf: usize| if corner >> leaf & 1 == 1 { modes[leaf].0 - 1 } else { 0 };
            let offset = l.crd2idx(&IntTuple::flat((0..modes.len()).map(at))).unwrap();
            let back = r.at_extended(offset);
            prop_assert!(back.is_ok(), "{} gave {}, which has no index for offset {}", l, r, offset);
            prop_assert_eq!(l.at_extended(back.unwrap()), Ok(offset), "{} gave {}", l, r);
        }
    }

    #[test]
    fn nullspace_does_not_move(mut digits in digits()) {
        let l = digits.layout(128);
        let r = nullspace(&l).unwrap();
        prop_assert!(r.offsets().all(|i| l.at(i) == Ok(0)), "{} gave {}", l, r);
        prop_assert!(r.is_injective().unwrap());
        let still: i64 = l.leaves().filter(|mode| mode.stride == 0).map(|mode| mode.shape).product();
        prop_assert_eq!(r.size(), still);
    }

    #[test]
    fn max_common_layout_is_the_identity_in_both(mut digits in digits()) {
        let a = digits.layout(64);
        let kind = digits.next(2);
        let b = if kind == 0 { digits.layout(64) } else { Layout::row_major(a.shape()).unwrap() };
        let r = max_common_layout(&a, &b).unwrap();
        for i in 0..r.size() {
            let at = r.at(i).unwrap();
            prop_assert_eq!((a.at_extended(at).unwrap(), b.at_extended(at).unwrap()), (i, i), "{} {} {}", a, b, r);
        }
        prop_assert_eq!(max_common_vector(&a, &b).unwrap(), r.size());
    }

    #[test]
    fn products_repeat_the_block(mut digits in digits()) {
        let block = if digits.next(4) == 0 { signed(&mut digits, 64) } else { digits.layout(16) };
        let tile = digits.layout(16);
        let Ok(r) = logical_product(&block, &tile) else { return Ok(()) };
        let (inner, outer) = (r.mode(0).unwrap(), r.mode(1).unwrap());
        prop_assert_eq!(&inner, &block);
        let mut rest = complement(&block, block.size() * tile.cosize()).unwrap();
        if rest.size() < tile.cosize() {
            // Of a block with gaps, the complement that goes on far enough.
            rest = complement(&block, 2 * block.cosize() * tile.cosize()).unwrap();
        }
        prop_assert!(outer.offsets().eq(tile.offsets().map(|i| rest.at_extended(i).unwrap())));
        // Copies at different offsets share nothing.
        let mut owner: HashMap<i64, i64> = HashMap::new();
        for copy in outer.offsets() {
            for offset in block.offsets() {
                prop_assert_eq!(*owner.entry(copy + offset).or_insert(copy), copy, "{} x {} gave {}", block, tile, r);
            }
        }
        let rank = block.rank().max(tile.rank());
        for product in [blocked_product(&block, &tile), raked_product(&block, &tile)] {
            // Padding can only refuse what the product of the same layouts allows where ranks differ.
            if let Ok(product) = product {
                prop_assert_eq!(product.rank(), rank);
                prop_assert_eq!(image(&product), image(&r));
            } else {
                prop_assert!(false, "{} x {}", block, tile);
            }
        }
        prop_assert!(tiled_product(&block, &tile).unwrap().offsets().eq(r.offsets()));
    }

    #[test]
    fn the_by_mode_groupings_are_one_set(mut digits in digits()) {
        let l = Layout::concat([digits.layout(6), digits.layout(6), digits.layout(2)]).unwrap();
        let tiler = [Tile::of(1 + digits.next(4) as i64).unwrap(), Tile::Layout(digits.layout(3))];
        if let Ok(r) = logical_divide_by_mode(&l, &tiler) {
            for other in [zipped_divide_by_mode, tiled_divide_by_mode, flat_divide_by_mode] {
                let other = other(&l, &tiler).unwrap();
                prop_assert_eq!(image(&other), image(&r));
                prop_assert_eq!(other.size(), r.size());
            }
            let tiles = composition_by_mode(&l, &tiler).unwrap();
            let first = zipped_divide_by_mode(&l, &tiler).unwrap().mode(0).unwrap();
            prop_assert!(tiles.same_function(&first), "{} {}", tiles, first);
        }
        if let Ok(r) = logical_product_by_mode(&l, &tiler) {
            for other in [zipped_product_by_mode, tiled_product_by_mode, flat_product_by_mode] {
                let other = other(&l, &tiler).unwrap();
                prop_assert_eq!((image(&other), other.size()), (image(&r), r.size()));
            }
        }
        let kept = [Tile::Keep, Tile::Keep];
        prop_assert!(logical_divide_by_mode(&l, &kept).unwrap().offsets().eq(l.offsets()));
    }

    #[test]
    fn flat_and_tiled_divides_regroup(mut digits in digits()) {
        let (l, tile) = (digits.layout(64), digits.layout(8));
        if let Ok(r) = logical_divide(&l, &tile) {
            prop_assert!(tiled_divide(&l, &tile).unwrap().offsets().eq(r.offsets()));
            prop_assert!(flat_divide(&l, &tile).unwrap().offsets().eq(r.offsets()));
            prop_assert_eq!(ceil_div(l.size(), &tile).unwrap(), complement(&tile, l.size()).unwrap().shape());
        }
    }

    #[test]
    fn recasts_keep_every_bit_in_place(mut digits in digits()) {
        let l = digits.layout(64);
        let count = digits.pick(&[1, 2, 3, 4, 8]);
        if let Ok(wide) = upcast(&l, count) {
            // Each narrow element is in a wide one.
            let covered: HashSet<i64> = wide.offsets().collect();
            prop_assert!(l.offsets().all(|at| covered.contains(&(at / count))), "{} by {} gave {}", l, count, wide);
        }
        if let Ok(narrow) = downcast(&l, count) {
            let parts = sorted(l.offsets().flat_map(|at| (0..count).map(move |i| at * count + i)).collect());
            prop_assert_eq!(image(&narrow), parts);
            prop_assert!(upcast(&narrow, count).unwrap().same_function(&l));
        }
        let widest = max_alignment(&l).unwrap();
        let wide = upcast(&coalesce(&l), widest);
        if let Ok(wide) = wide {
            let spread = sorted(wide.offsets().flat_map(|at| (0..widest).map(move |i| at * widest + i)).collect());
            prop_assert!(spread == image(&l), "{} aligns to {}", l, widest);
        }
    }

    #[test]
    fn slice_and_dice_split_the_coordinates(mut digits in digits()) {
        let l = digits.layout(64);
        let at = digits.next(l.size() as u64) as i64;
        let coord = l.idx2crd(at).unwrap();
        let open: Vec<bool> = coord.leaves().map(|_| digits.next(2) == 0).collect();
        let mut places = open.iter();
        let pattern = coord.map(|&i| if *places.next().unwrap() { None } else { Some(i) });
        let (part, offset) = slice(&l, &pattern).unwrap();
        let fixed = dice(&l, &pattern).unwrap();
        prop_assert_eq!(part.size() * fixed.size(), l.size());
        // The coordinate's own open places lead back to its offset.
        let inner: Vec<i64> = coord.leaves().zip(&open).filter(|(_, open)| **open).map(|(i, _)| *i).collect();
        let inner_index = part.shape().leaves().rev().zip(inner.iter().rev()).fold(0, |index, (extent, i)| index * extent + i);
        prop_assert_eq!(offset + part.at(inner_index).unwrap(), l.at(at).unwrap());
    }

    #[test]
    fn compact_layouts_are_bijections(mut digits in digits()) {
        let shape = digits.shape(128);
        let order = shape.map(|_| digits.next(5) as i64);
        for l in [
            Layout::row_major(&shape).unwrap(),
            Layout::col_major(&shape).unwrap(),
            Layout::ordered(&shape, &order).unwrap(),
        ] {
            prop_assert!(l.is_bijective() && l.is_injective().unwrap() && l.is_surjective());
            prop_assert_eq!(l.cosize(), l.size());
        }
        let ordered = Layout::ordered(&shape, &order).unwrap();
        let modes: Vec<_> = ordered.leaves().zip(order.leaves()).filter(|(mode, _)| mode.shape > 1).collect();
        for (a, b) in modes.iter().flat_map(|a| modes.iter().map(move |b| (a, b))) {
            prop_assert!(a.1 >= b.1 || a.0.stride < b.0.stride, "{} in order {}", ordered, order);
        }
        let l = digits.layout(128);
        prop_assert_eq!(image(&l.like().unwrap()).len() as i64, filter(&l).size().max(1));
        prop_assert!(l.fragment_like().unwrap().shape().product() == l.shape().product());
    }

    #[test]
    fn tile_to_shape_covers_it(mut digits in digits()) {
        let block = Layout::ordered((2, 3), (digits.next(2) as i64, digits.next(2) as i64)).unwrap();
        let shape = IntTuple::from((2 * (1 + digits.next(4) as i64), 3 * (1 + digits.next(4) as i64)));
        let order = IntTuple::from((digits.next(2) as i64, digits.next(2) as i64));
        let r = Layout::tile_to_shape(&block, &shape, Some(&order)).unwrap();
        prop_assert!(r.is_bijective());
        for (i, j) in (0..2).flat_map(|i| (0..3).map(move |j| (i, j))) {
            prop_assert_eq!(r.crd2idx(&(i, j).into()), block.crd2idx(&(i, j).into()));
        }
        prop_assert!(shape.evenly_divides(&block.shape()));
        prop_assert!(Layout::tile_to_shape(&block, (2, 4), None).is_err());
    }

    #[test]
    fn moving_modes_keeps_leaves(mut digits in digits()) {
        let l = digits.layout(64);
        prop_assert!(l.flatten().offsets().eq(l.offsets()));
        prop_assert_eq!(l.flatten().unflatten(&l.shape()).unwrap(), l.clone());
        let (a, b) = (digits.next(l.rank() as u64 + 1) as usize, digits.next(l.rank() as u64 + 1) as usize);
        let (a, b) = (a.min(b), a.max(b));
        prop_assert!(l.group(a..b).unwrap().offsets().eq(l.offsets()));
        prop_assert_eq!(l.take(a..b).unwrap().modes().collect::<Vec<_>>(), l.modes().skip(a).take(b - a).collect::<Vec<_>>());
        let mode = digits.layout(4);
        let appended = l.append(mode.clone()).unwrap();
        prop_assert_eq!(appended.mode(l.rank()), Some(mode.clone()));
        prop_assert_eq!(l.prepend(mode.clone()).unwrap().mode(0), Some(mode.clone()));
        prop_assert_eq!(l.replace(0, mode.clone()).unwrap().mode(0), Some(mode));
        let l = digits.layout(8);
        let square = Layout::concat([l.clone(), l]).unwrap();
        prop_assert_eq!(square.zip().unwrap().zip().unwrap(), square.zip().unwrap().zip().unwrap());
        prop_assert_eq!(image(&square.zip().unwrap()), image(&square));
    }

    #[test]
    fn predicates_agree_with_the_domain(mut digits in digits()) {
        let l = digits.layout(64);
        let offsets: Vec<i64> = l.offsets().collect();
        let distinct: HashSet<i64> = offsets.iter().copied().collect();
        prop_assert_eq!(l.is_injective().unwrap(), distinct.len() == offsets.len());
        prop_assert_eq!(l.is_surjective(), distinct.len() as i64 == l.cosize());
        prop_assert_eq!(l.is_bijective(), l.is_injective().unwrap() && l.is_surjective());
        prop_assert_eq!(l.is_contiguous(), offsets.iter().copied().eq(0..l.size()));
        if let Some((a, b)) = l.aliasing().unwrap() {
            prop_assert!(a != b && l.crd2idx(&a) == l.crd2idx(&b));
        }
        let other = digits.layout(64);
        prop_assert_eq!(l.same_function(&other), l.offsets().eq(other.offsets()));
        prop_assert!(l.same_function(&coalesce(&l)));
    }

    #[test]
    fn shapes_that_fit(mut digits in digits()) {
        let shape = digits.shape(64);
        let size = shape.product().unwrap();
        prop_assert!(IntTuple::from(size).compatible(&shape) && shape.compatible(&shape));
        prop_assert!(shape.weakly_compatible(&shape) && shape.weakly_congruent(&shape));
        let other = digits.shape(64);
        prop_assert!(!shape.compatible(&other) || shape.product() == other.product());
        prop_assert!(!shape.compatible(&other) || shape.weakly_compatible(&other));
        prop_assert!(!shape.weakly_compatible(&other) || shape.weakly_congruent(&other));
        prop_assert!(!(shape.compatible(&other) && other.compatible(&shape)) || shape.rank() == other.rank());
        let (a, b) = (digits.next(size as u64) as i64, digits.next(size as u64) as i64);
        let (ca, cb) = (layout_core::idx2crd(a, &shape).unwrap(), layout_core::idx2crd(b, &shape).unwrap());
        prop_assert_eq!(ca.colex_cmp(&cb), Some(a.cmp(&b)));
        prop_assert!(ca.elem_less(&shape));
        let flat = IntTuple::from(size);
        prop_assert_eq!(crd2crd(&ca, &shape, &flat).unwrap(), IntTuple::from(a));
        prop_assert_eq!(crd2crd(&IntTuple::from(a), &flat, &shape).unwrap(), ca);
    }

    #[test]
    fn composed_layouts_swizzle_the_sum(mut digits in digits()) {
        let l = digits.layout(64);
        let offset = digits.next(64) as i64;
        let shift = digits.pick(&[-3, 2, 3, 4]) as i32;
        let swizzle = Swizzle::new(digits.next(3) as u32, digits.next(3) as u32, shift).unwrap();
        let c = ComposedLayout::new(swizzle, offset, l.clone()).unwrap();
        let expected = |i: i64| swizzle.apply(offset + l.at_extended(i).unwrap());
        prop_assert!(c.offsets().eq((0..l.size()).map(expected)));
        prop_assert!(c.coalesce().offsets().eq(c.offsets()));
        prop_assert!(c.offsets().all(|at| at < c.cosize()));
        let b = digits.layout(16);
        if let Ok(r) = c.composition(&b) {
            prop_assert!(r.offsets().eq(b.offsets().map(expected)));
        }
        if let Some(plain) = c.decay() {
            prop_assert!(plain.offsets().eq(c.offsets()));
        }
        prop_assert_eq!(c.to_string().parse::<ComposedLayout>().unwrap(), c.clone());
        let all: Nest<Option<i64>> = l.shape().map(|_| None);
        prop_assert!(c.slice(&all).unwrap().offsets().eq(c.offsets()));
        if let Ok(wide) = c.recast(8, 16) {
            let units: HashSet<i64> = c.offsets().map(|at| at / 2).collect();
            // The swizzle's bits below the unit fall off; above it the units are the same.
            if swizzle.base() > 0 && l.size() % 2 == 0 && upcast(&l, 2).unwrap().size() * 2 == l.size() && offset % 2 == 0 {
                prop_assert!(units.is_superset(&wide.offsets().collect()), "{} gave {}", c, wide);
            }
        }
    }

    #[test]
    fn swizzles_recast_with_their_unit(mut digits in digits()) {
        let w = Swizzle::new(digits.next(4) as u32, digits.next(5) as u32, digits.pick(&[-3, 3, 4]) as i32).unwrap();
        let count = digits.pick(&[1, 2, 4, 8, 16]);
        let x = digits.next(1 << 16) as i64;
        prop_assert_eq!(w.downcast(count).unwrap().upcast(count).unwrap(), w);
        prop_assert_eq!(w.downcast(count).unwrap().apply(x * count), w.apply(x) * count);
        if count <= 1 << w.base() {
            prop_assert_eq!(w.upcast(count).unwrap().apply(x), w.apply(x * count) / count);
        }
        let v = Swizzle::new(digits.next(4) as u32, digits.next(5) as u32, w.shift()).unwrap();
        if let Ok(both) = w.compose(&v) {
            prop_assert_eq!(both.apply(x), w.apply(v.apply(x)), "{} {}", w, v);
        }
        prop_assert!(w.apply(x) / w.period() == x / w.period());
    }

    #[test]
    fn identity_layouts_know_their_tensor(mut digits in digits()) {
        let (m, n) = (1 + digits.next(9) as i64, 1 + digits.next(9) as i64);
        let (t0, t1) = (1 + digits.next(4) as i64, 1 + digits.next(4) as i64);
        let tiler = [Tile::of(t0).unwrap(), Tile::of(t1).unwrap()];
        let identity = IdentityLayout::new((m, n)).unwrap().zipped_divide_by_mode(&tiler).unwrap();
        let tensor = zipped_divide_by_mode(&Layout::row_major((m, n)).unwrap(), &tiler);
        let mut met = 0;
        for index in 0..identity.shape().product().unwrap() {
            let at = identity.at(&index.into()).unwrap();
            let exists = identity.exists(&index.into()).unwrap();
            prop_assert_eq!(exists, at[0] < m && at[1] < n);
            met += i64::from(exists);
            if let (true, Ok(tensor)) = (exists && m > 1 && n > 1, &tensor) {
                prop_assert_eq!(tensor.at(index).unwrap(), at[0] * n + at[1]);
            }
        }
        prop_assert_eq!(met, m * n, "each element once");
    }

    #[test]
    fn each_step_shown_is_a_call_and_its_value(mut digits in digits()) {
        let (layout, whole) = (digits.layout(32), digits.layout(8));
        let tiles: Vec<String> = (0..1 + digits.next(layout.rank() as u64)).map(|_| match digits.next(3) {
            0 => "_".into(),
            1 => digits.layout(4).to_string(),
            _ => (1 + digits.next(5)).to_string(),
        }).collect();
        let tiler = if digits.next(2) == 0 { whole.to_string() } else { format!("({})", tiles.join(",")) };
        let names = ["logical_divide", "zipped_divide", "tiled_divide", "flat_divide", "logical_product",
            "zipped_product", "tiled_product", "flat_product", "blocked_product", "raked_product"];
        let text = format!("{}({layout}, {tiler})", names[digits.next(10) as usize]);
        let Ok((value, steps)) = explain(&text) else { return Ok(()) };
        prop_assert!(steps.len() >= 3 || tiles.iter().all(|tile| tile == "_"), "{}", text);
        prop_assert_eq!(steps.last().unwrap().value.clone(), value.to_string());
        for step in steps {
            let again = evaluate(&step.call).map_or_else(|error| error.to_string(), |value| value.to_string());
            prop_assert_eq!(again, step.value, "{}", step.call);
        }
    }
}
