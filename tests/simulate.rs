//! Every kernel on the simulator: its results are the reference's, and there is nothing to find.
//!
//! Law: for each kernel, parameter set, size and alignment `launch` is `Ok`, which means no finding, and every element
//! is within the case's bound of the reference.

use layout_core::kernel::intrinsic::Intrinsic;
use layout_core::kernel::ir::ExprKind;
use layout_cuda::Device;
use layout_tests::kernels::{cases, definitions};
use layout_tests::support::case::Case;

#[test]
fn results_are_those_of_the_reference() {
    let device = Device::simulator();
    each(&cases(), |case| case.runs(&device, |run, outcome| outcome.check(&run.name(case))));
}

/// Runs a check of each case, the cases shared among the machine's cores.
fn each(cases: &[Case], check: impl Fn(&Case) + Sync) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    check(case);
                }
            });
        }
    });
}

#[test]
fn the_corpus_has_a_size_for_each_kind() {
    for case in cases() {
        let name = case.definition.name;
        assert!(case.sizes.len() >= 2, "{name}");
    }
    assert!(definitions().len() >= 35, "{}", definitions().len());
}

#[test]
fn the_corpus_uses_every_member_of_the_vocabulary() {
    let mut unused = Intrinsic::ALL.to_vec();
    // No kernel of the corpus has these.
    let clusters = [Intrinsic::ArriveRemote, Intrinsic::TmaLoadMulticast, Intrinsic::BulkWaitGroup];
    unused.retain(|member| !clusters.contains(member));
    for definition in definitions() {
        for expr in definition.kernel().expect("bytes of this version").exprs {
            if let ExprKind::Intrinsic(used, ..) = expr.kind {
                unused.retain(|member| *member != used);
            }
        }
    }
    assert!(unused.is_empty(), "no kernel of tests/kernels uses {unused:?}");
}
