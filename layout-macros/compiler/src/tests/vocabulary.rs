//! The page of the vocabulary, `layout_core::lang::vocabulary`, is made from the tables: no word is missing.

use crate::Elem;
use crate::intrinsic::{Form, Intrinsic};
use crate::math::Math;
use crate::precision::MaxError;
use std::fmt::Write;

/// What words are for, in the order of the page, and the words; `@Float` are the elementwise ones of that domain.
const PURPOSES: [(&str, &str); 25] = [
    ("Layouts", "row_major col_major layout swizzle swizzle_bytes"),
    ("Places", "shared local"),
    (
        "Views",
        "tile window vectorize distribute transpose permute squeeze reshape bitcast pad slice dim bytes",
    ),
    ("Movement", "fill copy_from to_local copy_dram_to_sram outer_product_acc"),
    (
        "Asynchronous copies of a thread",
        "copy_from_async copy_dram_to_sram_async async_copy_commit_group async_copy_wait_group async_copy_wait_all",
    ),
    ("Position of a thread", "lane_id warp_id warp_group cluster_rank"),
    (
        "Waiting for others",
        "barrier sync_warp named_barrier named_barrier_arrive cluster_barrier grid_barrier",
    ),
    (
        "Lanes of a warp",
        "shuffle shuffle_up shuffle_down shuffle_xor ballot any all match_any match_all elect_one",
    ),
    (
        "Sums, extremes and bits of a warp",
        "warp_sum warp_max warp_min warp_and warp_or warp_xor warp_prefix_sum",
    ),
    ("Sums and extremes of a block", "block_sum block_max block_min block_prefix_sum"),
    (
        "Atomic operations",
        "atomic_add atomic_max atomic_min atomic_and atomic_or atomic_xor atomic_exchange atomic_compare_exchange",
    ),
    (
        "Flags, their scopes, and fences",
        "load_relaxed load_acquire store_relaxed store_release block_scope system_scope fence_block fence_device \
         fence_system",
    ),
    ("Hints to the caches", "evict_first evict_last no_allocate prefetch"),
    ("Floats", "@Float"),
    ("Floats, by one instruction", "@Single"),
    ("Promises", "assume"),
    ("Numbers of every kind", "@Number @Signed select div_euclid rem_euclid size_of"),
    (
        "Integers",
        "@Integer @Natural div_ceil wrapping_add wrapping_sub wrapping_mul wrapping_div wrapping_rem wrapping_shl \
         wrapping_shr wrapping_neg",
    ),
    ("Bytes and pairs of words", "@Word @Bytes"),
    (
        "Matrix instructions of a warp",
        "mma_atom load_a load_b mma load_a_scales load_b_scales mma_scaled store_d",
    ),
    (
        "Matrix products of a warpgroup",
        "accumulator accumulator_of wgmma wgmma_commit_group wgmma_wait_group store_matrix set_max_registers",
    ),
    (
        "Tensor memory, matrix products of one thread",
        "tensor_memory tcgen05_mma tcgen05_commit tcgen05_load tcgen05_store tcgen05_wait_load tcgen05_wait_store \
         tcgen05_fence_before_thread_sync tcgen05_fence_after_thread_sync",
    ),
    (
        "Mbarriers and rings of stages",
        "mbarriers at arrive arrive_expect arrive_remote wait pipeline_state stage phase advance",
    ),
    (
        "TMA",
        "tma_load tma_load_multicast tma_store tma_add bulk_commit_group bulk_wait_group bulk_wait_group_read \
         fence_async_proxy fence_async_proxy_global",
    ),
    ("Other blocks and other launches", "map_shared_rank store_async grid_dependency_wait launch_dependents"),
];

/// How a word is called, and what it does.
fn row(word: Intrinsic) -> (String, String) {
    let Intrinsic::Math(math) = word else {
        let (call, rest) = word.summary().split_once(": ").unwrap_or((word.summary(), ""));
        return (call.to_owned(), rest.to_owned());
    };
    let name = math.name();
    let others = ["y", "z"][..math.arity() - 1].join(", ");
    let call = match (math.form(), math) {
        (Form::Associated, _) => format!("`f32::{name}(bits)`"),
        (Form::Function, _) => format!("`{name}({})`", ["a", "b", "c"][..math.arity()].join(", ")),
        (_, Math::Powi | Math::Pow | Math::RotateLeft | Math::RotateRight) => format!("`x.{name}(n)`"),
        _ => format!("`x.{name}({others})`"),
    };
    let (single, double) = (math.error(Elem::F32), math.error(Elem::F64));
    let error = match single == double {
        _ if single == MaxError::Exact || !math.applies_to(Elem::F32) => String::new(),
        true => format!(" Error at most {single}."),
        false => format!(" Error at most {single} as `f32`, {double} as `f64`."),
    };
    (call, format!("{}{error}", math.summary()))
}

/// The words of a name, or of a domain.
fn called(name: &str) -> Vec<Intrinsic> {
    let meant = |word: &&Intrinsic| match (name.strip_prefix('@'), word) {
        (Some(domain), Intrinsic::Math(math)) => format!("{:?}", math.domain()) == domain,
        (Some(_), _) => false,
        (None, word) => word.name() == name,
    };
    let words = Intrinsic::ALL.iter().filter(|word| word.form() != Form::Internal).filter(meant);
    let words: Vec<Intrinsic> = words.copied().collect();
    assert!(!words.is_empty(), "there is no `{name}`");
    words
}

fn page() -> String {
    let mut page = "Each word's own page has its types, its errors and an example: this is where to look for what there is.\n".to_owned();
    let mut named = Vec::new();
    for (purpose, words) in PURPOSES {
        let _ = write!(page, "\n# {purpose}\n\n| word | what it does |\n|---|---|\n");
        for word in words.split_whitespace().flat_map(called) {
            let (call, rest) = row(word);
            let needs = word.needs().map(|feature| format!(" ({})", feature.first())).unwrap_or_default();
            let _ = writeln!(page, "| {} | {}{needs} |", call.replace('|', "\\|"), rest.replace('|', "\\|"));
            named.push(word);
        }
    }
    for word in Intrinsic::ALL.iter().filter(|word| word.form() != Form::Internal) {
        let count = named.iter().filter(|one| *one == word).count();
        assert_eq!(count, 1, "`{}` occurs {count} times in the page", word.name());
    }
    page + include_str!("../../../../layout-core/src/lang/besides.md")
}

#[test]
fn the_page_is_made_of_the_tables() {
    let (page, path) =
        (page(), concat!(env!("CARGO_MANIFEST_DIR"), "/../../layout-core/src/lang/vocabulary.md"));
    if std::env::var("UPDATE_PAGES").is_ok_and(|value| value == "1") {
        std::fs::write(path, &page).expect("a file of this crate");
    }
    let found = std::fs::read_to_string(path).expect("a file of this crate");
    assert!(
        found == page,
        "vocabulary.md is not what the tables say: UPDATE_PAGES=1 cargo test -p layout-compiler the_page"
    );
}
