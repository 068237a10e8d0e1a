//! Kernels as a new user writes them, from the documentation alone: Rust as rustc takes it, at odd sizes, every element against plain
//! Rust, on the simulator, and on a GPU where there is one. NVRTC takes every variant.

use layout_tests::kernels::strangers::cases;
use layout_tests::support::cubin::Cost;
use layout_tests::support::gpu::devices;

#[test]
fn what_strangers_write_is_right() {
    for device in devices() {
        for case in cases() {
            case.runs(&device, |run, outcome| outcome.check(&run.name(&case)));
        }
    }
}

#[test]
fn nvrtc_takes_what_strangers_write() {
    for case in cases() {
        for variant in case.definition.variants {
            Cost::of(variant.entry, variant.text, "sm_80", variant.flags);
        }
    }
    for definition in layout_bench::strangers::definitions() {
        for variant in definition.variants {
            Cost::of(variant.entry, variant.text, "sm_90a", variant.flags);
        }
    }
}
