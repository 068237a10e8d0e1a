//! How long the operations of the algebra take: the goal is under a microsecond each for layouts of rank 2 and 4.
//!
//! The same cases run in pycute by `benchmarks/pycute_cases.py`, for the ratio. Records are in `benchmarks/record/`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use layout_core::algebra::{coalesce, complement, composition, logical_divide};
use layout_core::{ComposedLayout, Layout};
use std::hint::black_box;

fn layout(text: &str) -> Layout {
    text.parse().expect("a layout")
}

fn operations(criterion: &mut Criterion) {
    for (rank, a, b, sparse, tile) in [
        (2, "(64,32):(32,1)", "(16,8):(1,64)", "(4,8):(2,64)", "8:1"),
        (4, "(8,4,16,2):(4,1,64,32)", "(8,2,4,2):(1,8,32,128)", "(2,4,2,2):(1,4,32,128)", "(2,4):(1,8)"),
    ] {
        let (a, b, sparse, tile) = (layout(a), layout(b), layout(sparse), layout(tile));
        let mut group = criterion.benchmark_group(format!("rank {rank}"));
        group.bench_function("coalesce", |bench| bench.iter(|| coalesce(black_box(&a))));
        group.bench_function("composition", |bench| {
            bench.iter(|| composition(black_box(&a), black_box(&b)).expect("exact"));
        });
        group.bench_function("complement", |bench| {
            bench.iter(|| complement(black_box(&sparse), black_box(4096)).expect("exact"));
        });
        group.bench_function("logical_divide", |bench| {
            bench.iter(|| logical_divide(black_box(&a), black_box(&tile)).expect("exact"));
        });
        group.finish();
    }
}

fn offsets(criterion: &mut Criterion) {
    let composed: ComposedLayout = "Sw<3,4,3> o 0 o (4096,4096):(4096,1)".parse().expect("a layout");
    let size = composed.layout().size();
    let mut group = criterion.benchmark_group("offsets of 4096 x 4096");
    group.throughput(Throughput::Elements(size.unsigned_abs())).sample_size(10);
    group.bench_function("swizzled", |bench| {
        bench.iter(|| {
            black_box(&composed).offsets().fold(0_i64, |sum, offset| sum.wrapping_add(black_box(offset)))
        });
    });
    group.finish();
}

criterion_group!(benches, operations, offsets);
criterion_main!(benches);
