//! What the operations of expressions do not reach: queries, searches, swizzles of bytes, matrix atoms, layouts of run time,
//! tensors. Any value is taken: an error or a value, never a panic, and at once.

use super::bad_input::{NUMBERS, wild_layout, wild_tuple};
use super::{Digits, config};
use layout_core::algebra::Tile;
use layout_core::analysis::{Access, conflict_free_padding, conflict_free_swizzle};
use layout_core::atoms::{MatrixCopy, MmaAtom};
use layout_core::draw::{mma_svg, swizzle_svg};
use layout_core::dynamic::{DynamicLayout, Extent};
use layout_core::{
    ByteSwizzle, ComposedLayout, IdentityLayout, IntTuple, Layout, LayoutTensor, Nest, Swizzle,
};
use layout_core::{crd2crd, tensor::View};
use proptest::prelude::*;

/// A coordinate or an open place for each leaf.
fn pattern(digits: &mut Digits, of: &IntTuple) -> Nest<Option<i64>> {
    of.map(|_| if digits.next(2) == 0 { None } else { Some(digits.pick(&NUMBERS)) })
}

fn queries(a: &Layout, b: &Layout, tuple: &IntTuple, digits: &mut Digits) {
    let other = b.shape();
    let _ = (tuple.compatible(&other), tuple.weakly_compatible(&other), tuple.weakly_congruent(&other));
    let _ = (tuple.evenly_divides(&other), tuple.elem_less(&other));
    let _ = (tuple.lex_cmp(&other), tuple.colex_cmp(&other), crd2crd(tuple, &a.shape(), &other));
    let (from, to) = (digits.next(6) as usize, digits.next(6) as usize);
    let _ = (a.group(from..to), a.take(from..to), a.select(&[from, to]), a.replace(from, b.clone()), a.zip());
    let _ = (a.append(b.clone()), a.prepend(b.clone()), a.unflatten(tuple), a.mode(from), a.range());
    let _ = (Layout::ordered(tuple, &other), a.like(), a.fragment_like(), a.with_shape(tuple));
    let _ = (Layout::tile_to_shape(a, tuple, Some(&other)), Layout::domain_distribute(tuple, b.size()));
    if a.size() <= 4096 {
        let _ = (a.is_injective(), a.aliasing(), a.is_surjective(), a.is_bijective(), a.is_contiguous());
        let _ = a.same_function(b);
    }
}

fn swizzles(a: &Layout, b: &Layout, digits: &mut Digits) {
    let (bits, base, shift) = (digits.next(8) as u32, digits.next(70) as u32, digits.pick(&NUMBERS) as i32);
    let number = digits.pick(&NUMBERS);
    let Ok(swizzle) = Swizzle::new(bits, base, shift).or_else(|_| Swizzle::new(bits.min(3), 1, 3)) else {
        return;
    };
    let bytes = ByteSwizzle::of_swizzle(&swizzle, number);
    let _ =
        bytes.map(|bytes| (bytes.of_elements(number), bytes.span(), bytes.apply(number), bytes.to_string()));
    let _ = (swizzle.compose(&swizzle), swizzle.period(), swizzle.source_mask(), swizzle.target_mask());
    let Ok(composed) = ComposedLayout::new(swizzle, number, a.clone()) else { return };
    let tiler = [Tile::Layout(b.clone()), Tile::Keep];
    let _ = (composed.at(number), composed.crd2idx(&b.shape()), composed.cosize(), composed.coalesce());
    let _ = (composed.composition_by_mode(&tiler), composed.logical_divide(b), composed.decay());
    let _ = (composed.logical_divide_by_mode(&tiler), composed.zipped_divide_by_mode(&tiler));
    let _ = composed.slice(&pattern(digits, &a.shape()));
    if a.size() <= 4096 {
        let _ = swizzle_svg(&composed, number);
    }
}

fn atoms_and_searches(a: &Layout, b: &Layout, digits: &mut Digits) {
    let (n, bits) = (digits.pick(&NUMBERS), digits.pick(&NUMBERS));
    for atom in [MmaAtom::wgmma(n, bits), MmaAtom::wgmma_register_a(n, bits)].into_iter().flatten() {
        let _ = mma_svg(&atom);
    }
    let _ = (MmaAtom::all(n), MatrixCopy::ldmatrix(n, true), MatrixCopy::stmatrix(bits, false));
    // A search tries some hundreds of layouts: small ones, in one case of sixteen.
    if let (0, Ok(access)) = (digits.next(16), Access::new(a.clone(), b.clone(), 1, 4))
        && b.size() <= 64
    {
        let accesses = [access];
        let _ = (conflict_free_swizzle(&accesses), conflict_free_padding(&accesses));
    }
}

fn run_time(digits: &mut Digits) {
    let mut extent = || match digits.next(3) {
        0 => Extent::from(digits.pick(&NUMBERS)),
        _ => Extent::dynamic("M", digits.pick(&NUMBERS)).unwrap_or_else(|_| Extent::from(4)),
    };
    let (m, n, s) = (extent(), extent(), extent());
    let _ = (m.over(&n), m.times(&n), m.least());
    let Ok(layout) = DynamicLayout::new(&[m.clone(), n.clone()], &[s, Extent::from(1)]) else { return };
    let tile = |digits: &mut Digits| Tile::of(digits.pick(&NUMBERS)).unwrap_or(Tile::Keep);
    let tiler = [tile(digits), tile(digits)];
    let _ = (layout.size(), layout.cosize(), layout.coalesce(), layout.mode(1));
    let _ = (layout.composition_by_mode(&tiler), layout.logical_divide_by_mode(&tiler));
    let _ = (layout.tiled_divide_by_mode(&tiler), layout.flat_divide_by_mode(&tiler));
    let bound = [("M", digits.pick(&NUMBERS))];
    let _ = layout.zipped_divide_by_mode(&tiler).map(|tiles| (tiles.bind(&bound), tiles.to_string()));
    let open = Nest::tuple([Nest::leaf(None), Nest::leaf(Some(digits.pick(&NUMBERS)))]);
    let _ = layout.slice(&open).map(|(part, offset)| (part.bind(&bound), offset.bind(&bound)));
    let rows = DynamicLayout::row_major(&[m, n]);
    let _ = rows.and_then(|rows| layout.logical_product(&rows)).map(|product| product.bind(&bound));
}

fn tensors(a: &Layout, b: &Layout, tuple: &IntTuple, digits: &mut Digits) {
    let sizes: Vec<i64> = tuple.leaves().copied().collect();
    let number = digits.pick(&NUMBERS);
    let view = View::new(a.clone());
    let ranges: Vec<_> = sizes.iter().map(|&from| from..number).collect();
    let swizzle = Swizzle::new(2, 0, 3).expect("a swizzle");
    let _ =
        (view.slice(&ranges), view.distribute_swizzled(b, swizzle, number), view.split(number, 9, number));
    if let Ok(identity) = IdentityLayout::new(tuple) {
        let tiler = [Tile::Layout(b.clone()), Tile::Keep];
        let _ = (identity.exists(&b.shape()), identity.composition(b), identity.composition_by_mode(&tiler));
        let _ = (identity.logical_divide_by_mode(&tiler), identity.zipped_divide_by_mode(&tiler));
    }
    let Ok(mut tensor) = LayoutTensor::new(vec![1_u8; 4096], a.clone()) else { return };
    let _ = (tensor.set(tuple, 2), tensor.get(tuple), tensor.load_part(tuple, number));
    let _ = tensor.tiles(&sizes, &sizes, digits.next(5) as usize).map(|mut tiles| tiles.next().is_some());
    if a.size() <= 4096 {
        tensor.fill(3);
        let owned = tensor.to_owned(0).map(|owned| owned.iter().count());
        assert_eq!(owned, Ok(a.size() as usize));
        // A tile larger than the tensor is whole and masked; walking it takes as long as it is large.
        if sizes.iter().all(|size| *size <= 64) {
            let tiled = tensor.tile_mut(&sizes, &vec![0; sizes.len()]);
            let _ = tiled.map(|mut tile| (tile.vectorize_mut(&sizes).map(|mut vectors| vectors.fill(1)), ()));
        }
        let copy = LayoutTensor::new(vec![4_u8; 4096], b.clone());
        let _ = copy.map(|copy| tensor.copy_from(&copy, 0));
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_method_takes_any_value(seed in any::<u128>(), more in any::<u128>(), rest in any::<u128>()) {
        let (mut digits, mut others) = (Digits::new(seed), Digits::new(more));
        let tuple = wild_tuple(&mut digits);
        let layout = |digits: &mut Digits| match digits.next(2) {
            0 => wild_layout(digits),
            _ => Some(digits.layout(64)),
        };
        let (Some(a), Some(b)) = (layout(&mut digits), layout(&mut others)) else { return Ok(()) };
        let mut digits = Digits::new(rest);
        match digits.next(5) {
            0 => queries(&a, &b, &tuple, &mut digits),
            1 => swizzles(&a, &b, &mut digits),
            2 => atoms_and_searches(&a, &b, &mut digits),
            3 => run_time(&mut digits),
            _ => tensors(&a, &b, &tuple, &mut digits),
        }
    }
}
