//! `layout_cuda::code::check_all`: every variant of some kernels through NVRTC, as a table and against a budget.

use layout_cuda::code::{Budget, check_all};
use layout_cuda::tiled_kernel;

#[tiled_kernel(B = [64, 128], block = [B], grid = [N.div_ceil(B)], variant_if(N % B == 0))]
fn ones<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
    x.tile([B], [block_idx.x])[[thread_idx.x]] = 1.0;
}

/// 128 values live at once in each of 1,024 threads, of which two blocks are to fit.
#[tiled_kernel(COUNT = 128, block = [1024], min_blocks = 2, grid = [1])]
fn hungry<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
    let mut held = local::<f32>(row_major([COUNT]));
    for i in unroll(0..COUNT) {
        held[[i]] = x[[i * 1024 + thread_idx.x]];
    }
    barrier();
    for i in unroll(0..COUNT) {
        x[[i * 1024 + thread_idx.x]] = held[[i]] * held[[COUNT - 1 - i]];
    }
}

/// For one architecture alone.
#[tiled_kernel(arch = "sm_90a", block = [32], grid = [1])]
fn own(x: &mut LayoutTensor<f32, RowMajor<32>>) {
    x[[thread_idx.x]] = 2.0;
}

/// For sm_80 and later, by name.
#[tiled_kernel(arch = "sm_80", block = [32], grid = [1])]
fn amperes(x: &mut LayoutTensor<f32, RowMajor<32>>) {
    x[[thread_idx.x]] = 3.0;
}

/// An ordinary copy on sm_75, an asynchronous one on later cards.
#[tiled_kernel(block = [32], grid = [1])]
fn copied(x: &LayoutTensor<f32, RowMajor<32>>, y: &mut LayoutTensor<f32, RowMajor<32>>) {
    let mut held = shared::<f32>(row_major([32]));
    copy_dram_to_sram_async(&mut held, x, row_major([32]));
    async_copy_wait_all();
    barrier();
    y[[thread_idx.x]] = held[[31 - thread_idx.x]];
}

#[test]
fn a_kernel_has_rows_for_what_includes_its_architecture() {
    let table = check_all(&[&amperes::DEFINITION, &copied::DEFINITION], &["sm_75", "sm_86", "sm_90a"])
        .expect("NVRTC");
    let of = |entry: &str| {
        let rows = table.rows.iter().filter(|row| row.entry.starts_with(entry));
        let mut archs: Vec<&str> = rows.map(|row| row.arch.as_str()).collect();
        archs.sort_unstable();
        archs.dedup();
        archs
    };
    assert_eq!((of("amperes"), of("copied")), (vec!["sm_86", "sm_90a"], vec!["sm_75", "sm_86", "sm_90a"]));
    assert!(table.rows.iter().all(|row| row.refused.is_none()), "{table}");
}

#[test]
fn kernels_are_within_their_budget() {
    let table = check_all(&[&ones::DEFINITION], &["sm_80", "sm_90"]).expect("NVRTC compiles the kernels");
    table.assert(Budget::new().registers(32));
}

#[test]
fn every_variant_has_a_row_for_each_architecture() {
    let table = check_all(&[&ones::DEFINITION, &own::DEFINITION], &["sm_80", "sm_90"]).expect("NVRTC");
    let of = |entry: &str, arch: &str| {
        table.rows.iter().filter(|row| row.entry.starts_with(entry) && row.arch == arch).count()
    };
    let variants = of("ones_B64", "sm_80");
    assert!(variants >= 2, "{table}");
    assert_eq!((of("ones_B64", "sm_90"), of("ones_B128", "sm_90")), (variants, variants), "{table}");
    assert!(of("own", "sm_90a") >= 1 && of("own", "sm_90") == 0, "{table}");
    table.assert(Budget::new().registers(32));
    let text = table.to_string();
    assert!(text.starts_with("variant ") && text.lines().count() == table.rows.len() + 1, "{text}");
    println!("{table}");
}

#[test]
fn what_exceeds_a_budget_is_reported_by_variant() {
    let table = check_all(&[&hungry::DEFINITION, &ones::DEFINITION], &["sm_80"]).expect("NVRTC");
    let over = table.over(Budget::new());
    assert!(!over.is_empty() && over.iter().all(|line| line.starts_with("`hungry_COUNT128")), "{over:#?}");
    assert!(over.iter().any(|line| line.contains("bytes of spills a thread, the budget is 0")), "{over:#?}");
    table.assert(Budget::new().spills(4096));
    let over = table.over(Budget::new().spills(4096).registers(1));
    assert!(
        over.len() == table.rows.len() && over[0].contains("registers a thread, the budget is 1"),
        "{over:#?}"
    );
    let failed = std::panic::catch_unwind(|| table.assert(Budget::new())).expect_err("it spills");
    let words = failed.downcast_ref::<String>().expect("words");
    assert!(words.contains("variants:\n  `hungry_") && words.contains("Budget::new()"), "{words}");
    assert!(
        std::panic::catch_unwind(|| check_all(&[], &["sm_80"]).expect("a table").assert(Budget::new()))
            .is_err()
    );
    // No NVRTC makes code for it.
    assert!(check_all(&[&ones::DEFINITION], &["sm_12"]).is_err());
}
