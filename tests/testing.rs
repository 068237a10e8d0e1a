//! Tests as a user writes them: kernels of the ladder against the definition of a product.

use layout_cuda::testing::{self, Case, Count, Sum};
use layout_cuda::{Options, ParamSet, ParamValue};
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
fn counts_are_bounded() {
    let bounded = |less: u64| {
        testing::kernel(&vector_add::DEFINITION)
            .at_most(Count::BankConflicts, |_| 0)
            .at_most(Count::GlobalSectors, move |sizes| {
                let n = sizes.get("N").unwrap_or(0) as u64;
                (3 * n.div_ceil(8)).saturating_sub(less)
            })
            .run(|case| {
                let (a, b) = (case.input("a"), case.input("b"));
                case.expect("c", |[i]| a[[i]] + b[[i]]);
            })
    };
    bounded(0).expect("three tensors are moved once");
    let failure = bounded(1).expect_err("a sector less");
    assert_eq!(failure.sizes.get("N"), Some(1));
    let error = failure.error.as_deref().unwrap_or_default();
    assert!(error.starts_with("3 sectors of global memory, at most 2 are allowed\n"), "{error}");
    let lines = error.lines().skip(1);
    assert!(lines.clone().count() >= 1 && lines.clone().all(|line| line.contains(".rs:")), "{error}");
    let unbounded = testing::kernel(&vector_add::DEFINITION).at_most(Count::BankConflicts, |_| 0);
    let options = Options { counters: false, ..Options::default() };
    let failure = unbounded.options(options).run(|_| {}).expect_err("nothing is counted");
    assert!(failure.to_string().contains("`Options::counters`"), "{failure}");
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
