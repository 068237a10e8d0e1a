//! Every kernel on the simulator: its results are the reference's, and there is nothing to find.
//!
//! Law: for each kernel, parameter set, size and alignment `launch` is `Ok`, which means no finding, and every element
//! is within the case's bound of the reference.

use layout_compiler::intrinsic::{Form, Intrinsic};
use layout_compiler::ir::ExprKind;
use layout_cuda::Device;
use layout_tests::kernels::{cases, definitions, tested};
use layout_tests::support::case::Case;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

#[test]
fn results_are_those_of_the_reference() {
    let device = Device::simulator();
    let name = |case: &Case| case.definition.name.to_string();
    each(&cases(), name, |case| case.runs(&device, |run, outcome| outcome.check(&run.name(case))));
}

#[test]
fn tests_as_users_write_them() {
    let device = Device::simulator();
    each(&tested(), |test| test.definition.name.to_string(), |test| test.check(&device));
}

/// Runs a check of each case, the cases shared among the machine's cores. A case that panics ends no other: all are run,
/// and then the failed ones are named.
fn each<T: Sync>(cases: &[T], name: impl Fn(&T) -> String, check: impl Fn(&T) + Sync) {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Relaxed);
                    let Some(case) = cases.get(number) else { break };
                    // The words of the panic are printed where it happens.
                    if catch_unwind(AssertUnwindSafe(|| check(case))).is_err() {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).push(number);
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.sort_unstable();
    let names: Vec<String> = failed.into_iter().map(|number| name(&cases[number])).collect();
    assert!(names.is_empty(), "{} of {} cases failed: {}", names.len(), cases.len(), names.join(", "));
}

#[test]
fn every_case_is_run_and_every_failed_one_is_named() {
    let seen = AtomicUsize::new(0);
    let all: Vec<usize> = (0..40).collect();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        each(&all, usize::to_string, |number| {
            seen.fetch_add(1, Relaxed);
            assert!(number % 10 != 3, "case {number} fails on purpose");
        });
    }));
    let said = outcome.expect_err("four cases fail").downcast::<String>().expect("words");
    assert_eq!(*said, "4 of 40 cases failed: 3, 13, 23, 33");
    assert_eq!(seen.into_inner(), 40);
}

#[test]
fn the_corpus_has_a_size_for_each_kind() {
    for case in cases() {
        let name = case.definition.name;
        // A kernel without dimensions has one size.
        let kernel = case.definition.kernel().expect("bytes of this version");
        assert!(case.sizes.len() >= 2 || kernel.dims.is_empty(), "{name}");
    }
    assert!(definitions().len() >= 35, "{}", definitions().len());
}

#[test]
fn the_corpus_uses_every_member_of_the_vocabulary() {
    let mut unused = Intrinsic::ALL.to_vec();
    // No kernel of the corpus has it.
    unused.retain(|member| *member != Intrinsic::BulkWaitGroup);
    // The examples of these run; a kernel of several blocks takes `fence_device`.
    unused.retain(|member| !matches!(member, Intrinsic::FenceBlock | Intrinsic::FenceSystem));
    // No kernel can name these.
    unused.retain(|member| member.form() != Form::Internal);
    for definition in definitions() {
        for expr in definition.kernel().expect("bytes of this version").exprs {
            if let ExprKind::Intrinsic(used, ..) = expr.kind {
                unused.retain(|member| *member != used);
            }
        }
    }
    assert!(unused.is_empty(), "no kernel of tests/kernels uses {unused:?}");
}
