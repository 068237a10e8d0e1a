//! Tests as a user writes them: kernels of the ladder against the definition of a product.

use layout_cuda::testing::{self, Case, Sum};
use layout_cuda::{ParamSet, ParamValue};
use layout_examples::kernels::{block_tiled, naive, tiled, vector_add};

/// `c[i, j] = sum over k of a[i, k] b[k, j]`
fn product(case: &mut Case<'_>) {
    let (a, b, k) = (case.input("a"), case.input("b"), case.size("K"));
    case.expect("c", |[i, j]| (0..k).map(|k| a[[i, k]] * b[[k, j]]).sum::<Sum>());
}

#[test]
fn vectors() {
    testing::kernel(&vector_add::DEFINITION).values("b", -1.0..1.0f32).check(|case| {
        let (a, b) = (case.input("a"), case.input("b"));
        case.expect("c", |[i]| a[[i]] + b[[i]]);
    });
}

#[test]
fn one_thread_for_each_element() {
    testing::kernel(&naive::DEFINITION).check(product);
}

#[test]
fn tiles_in_shared_memory() {
    // The tile of the README, and a small one that no launch of the program takes.
    testing::kernel(&tiled::DEFINITION).cases(24).check(product);
    let small = [("BM", 8), ("BN", 8), ("BK", 16)];
    let small =
        small.iter().fold(ParamSet::default(), |set, (name, value)| set.with(name, ParamValue::Int(*value)));
    testing::kernel(&tiled::DEFINITION).set(small).check(product);
}

#[test]
fn tiles_in_registers() {
    testing::kernel(&block_tiled::DEFINITION).cases(12).check(product);
}
