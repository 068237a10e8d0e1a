//! Every public operation takes any value: an error or a value, never a panic.

use super::{Digits, config};
use layout_core::algebra::{
    Tile, coalesce, complement, composition, composition_by_mode, logical_divide, logical_divide_by_mode,
    zipped_divide_by_mode,
};
use layout_core::analysis::{Access, bank_conflicts, coverage, sectors};
use layout_core::draw::{layout_svg, layout_table, thread_value_svg};
use layout_core::dynamic::Extent;
use layout_core::tensor::View;
use layout_core::{ComposedLayout, IdentityLayout, IntTuple, Layout, LayoutTensor, Nest, Swizzle, idx2crd};
use proptest::prelude::*;

pub const NUMBERS: [i64; 16] =
    [0, 1, -1, 2, 3, -3, 4, 7, 8, 64, 1 << 20, 1 << 31, 1 << 40, i64::MAX, i64::MIN, i64::MAX / 2];

/// What layouts are written with, most of it twice, and what they are not.
const CHARACTERS: [char; 20] = [
    '(',
    ')',
    ',',
    ':',
    '1',
    '2',
    '0',
    '-',
    ' ',
    '(',
    ')',
    ',',
    ':',
    '4',
    'S',
    '<',
    'o',
    '\u{e9}',
    '\u{2f800}',
    '\0',
];

pub fn wild_tuple(digits: &mut Digits) -> IntTuple {
    let leaves: Vec<i64> = (0..1 + digits.next(4)).map(|_| digits.pick(&NUMBERS)).collect();
    digits.nest(&leaves)
}

pub fn wild_layout(digits: &mut Digits) -> Option<Layout> {
    let shape = wild_tuple(digits);
    let strides: Vec<i64> = shape.leaves().map(|_| digits.pick(&NUMBERS)).collect();
    Layout::new(shape.clone(), IntTuple::flat(strides).unflatten(&shape).ok()?).ok()
}

/// Everything beside the algebra, on values of any size.
fn views_and_pictures(a: &Layout, b: &Layout, tuple: &IntTuple, number: i64) {
    let sizes: Vec<i64> = tuple.leaves().copied().collect();
    let view = View::new(a.clone());
    let _ = (view.valid_shape(), view.coordinates(number, 0), view.position(number, number));
    let _ = (view.transpose(), view.coalesce(), view.reshape(b.clone()), view.split(number, 0, 1));
    for view in [view.tile(&sizes, &vec![0; sizes.len()]), view.vectorize(&sizes), view.distribute(b, 0)]
        .into_iter()
        .flatten()
    {
        let _ = (view.valid_shape(), view.position(0, 0), view.distribute_along(b, 0, number));
    }
    let _ = LayoutTensor::new(vec![0_u8; 64], a.clone()).map(|tensor| tensor.get(tuple));
    let _ = IdentityLayout::new(tuple).map(|identity| (identity.at(tuple), identity.to_string()));
    if a.size() <= 4096 {
        let _ = (
            layout_table(a),
            layout_svg(a),
            thread_value_svg("a", a, number, 8),
            coverage(a, number.min(4096)),
        );
    }
    if let Ok(access) = Access::new(a.clone(), b.clone(), 1, 4) {
        let _ = (bank_conflicts(&access), sectors(&access));
    }
    let swizzle = Swizzle::new(2, 1, 3).unwrap();
    let _ = (
        swizzle.upcast(number),
        swizzle.downcast(number),
        swizzle.apply(number),
        Swizzle::of_masks(number, 3),
    );
    let composed = ComposedLayout::new(swizzle, number, a.clone());
    let _ = composed.map(|composed| (composed.cosize(), composed.recast(8, number), composed.composition(b)));
    let extent = Extent::dynamic("M", number);
    let _ = extent.map(|extent| (extent.divided_by(3), extent.times(&extent), extent.bind(&[("M", number)])));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_value_is_taken(seed in any::<u128>(), more in any::<u128>()) {
        let (mut digits, mut others) = (Digits::new(seed), Digits::new(more));
        let tuple = wild_tuple(&mut digits);
        let number = digits.pick(&NUMBERS);
        let _ = (tuple.product(), idx2crd(number, &tuple), Layout::row_major(&tuple), Layout::col_major(&tuple));
        let (Some(a), Some(b)) = (wild_layout(&mut digits), wild_layout(&mut others)) else { return Ok(()) };
        let tiler = [Tile::Layout(b.clone()), Tile::Keep];
        let _ = (a.size(), a.cosize(), a.at(number), a.at_extended(number), a.crd2idx(&tuple), a.offsets().next());
        let _ = (coalesce(&a), complement(&a, number), composition(&a, &b), logical_divide(&a, &b));
        let _ = (composition_by_mode(&a, &tiler), logical_divide_by_mode(&a, &tiler));
        let _ = zipped_divide_by_mode(&a, &tiler);
        views_and_pictures(&a, &b, &tuple, number);
        prop_assert_eq!(a.to_string().parse::<Layout>().unwrap(), a);
    }

    #[test]
    fn any_text_is_taken(seed in any::<u128>()) {
        let (mut digits, mut text) = (Digits::new(seed), String::new());
        for _ in 0..digits.next(24) {
            let at = digits.next(CHARACTERS.len() as u64) as usize;
            text.push(CHARACTERS[at]);
        }
        if let Ok(layout) = text.parse::<Layout>() {
            prop_assert_eq!(layout.to_string().parse::<Layout>().unwrap(), layout);
        }
        let _ = text.parse::<IntTuple>();
    }
}

/// An empty layout of many rows has an empty picture, at once.
#[test]
fn empty_pictures() {
    for text in ["(1099511627776,0):(1,0)", "(0,1099511627776):(1,0)", "((1099511627776,0),2):((1,0),1)"] {
        let layout: Layout = text.parse().unwrap();
        assert!(!layout_svg(&layout).unwrap().contains("<rect"), "{text}");
        assert!(layout_table(&layout).len() < 100, "{text}");
    }
}

/// Nesting a hundred thousand deep is read, written, compared and dropped.
#[test]
fn deep_nesting() {
    let depth = 100_000;
    let mut tuple = IntTuple::from(1);
    for _ in 0..100 {
        tuple = Nest::tuple([tuple]);
    }
    assert_eq!(tuple.depth(), 100);
    let text =
        format!("{}7{}:{}1{}", "(".repeat(depth), ")".repeat(depth), "(".repeat(depth), ")".repeat(depth));
    let layout: Layout = text.parse().unwrap();
    assert_eq!((layout.depth(), layout.size(), layout.to_string() == text), (depth, 7, true));
    assert_eq!(coalesce(&layout).to_string(), "7:1");
    assert_eq!(composition(&layout, &layout).unwrap().cosize(), 7);
}

/// A random expression: calls of any operation on arguments of any kind, some of them cut off.
fn expression(digits: &mut Digits, depth: u64) -> String {
    let operations = layout_core::expr::OPERATIONS;
    match digits.next(if depth == 0 { 6 } else { 9 }) {
        0 => digits.pick(&NUMBERS).to_string(),
        1 => wild_tuple(digits).to_string(),
        2 => "(_,2)".into(),
        3 => format!("Sw<{},{},{}>", digits.next(6), digits.next(80), digits.pick(&NUMBERS)),
        4 => format!("Sw<2,1,3> o {} o {}", digits.next(9), digits.layout(64)),
        5 => digits.layout(64).to_string(),
        6 => wild_layout(digits).map_or_else(String::new, |layout| layout.to_string()),
        _ => {
            let operation = &operations[digits.next(operations.len() as u64) as usize];
            let arguments: Vec<String> =
                operation.arguments.iter().map(|_| expression(digits, depth - 1)).collect();
            format!("{}({})", operation.name, arguments.join(","))
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_expression_is_taken(seed in any::<u128>(), more in any::<u128>()) {
        let mut digits = Digits::new(seed ^ more.rotate_left(64));
        let operations = layout_core::expr::OPERATIONS;
        let operation = &operations[digits.next(operations.len() as u64) as usize];
        let mut others = Digits::new(more);
        let arguments: Vec<String> =
            operation.arguments.iter().map(|_| expression(&mut others, 1)).collect();
        let mut text = format!("{}({})", operation.name, arguments.join(","));
        if digits.next(8) == 0 {
            let cut = digits.next(text.len() as u64) as usize;
            text.truncate(cut);
        }
        if let Ok((value, steps)) = layout_core::expr::explain(&text) {
            prop_assert_eq!(steps.last().map(|step| step.value.clone()), Some(value.to_string()));
            let _ = value.offsets().map(|mut offsets| offsets.next());
        }
    }
}

/// Parentheses without end are an error, not an overflow of the stack.
#[test]
fn deep_expressions() {
    for text in ["(".repeat(100_000), "size(".repeat(100_000), "Sw<0,0,0> o 0 o ".repeat(10_000)] {
        assert!(layout_core::expr::evaluate(&text).is_err());
    }
}
