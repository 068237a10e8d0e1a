//! What `layout_cuda::testing` finds in kernels that are wrong, and that it finds nothing in right ones.
//!
//! Law: a kernel with a parameter `FLAW` is right where that is 0; of every other value the failure is reported at the
//! smallest sizes that show it.

use layout_cuda::testing::{self, Case, Failure, Passed, Sum};
use layout_cuda::{Definition, Device, ParamSet, ParamValue, tiled_kernel};

/// A test of one flaw on the simulator.
fn run(
    kernel: &'static Definition,
    flaw: i64,
    reference: impl FnMut(&mut Case<'_>),
) -> Result<Passed, Box<Failure>> {
    let set = ParamSet::default().with("FLAW", ParamValue::Int(flaw));
    testing::kernel(kernel).set(set).cases(40).devices(&[Device::simulator()]).run(reference)
}

fn sizes(failure: &Failure) -> String {
    failure.sizes.to_string()
}

/// `y = a x + y`, eight elements for a thread.
#[tiled_kernel(FLAW = [0, 1, 2, 3, 4], BLOCK = 64, block = [BLOCK], grid = [N.div_ceil(BLOCK)])]
fn axpy<const N: usize>(a: f32, x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let i = block_idx.x * BLOCK + thread_idx.x;
    if FLAW == 1 {
        if i + 1 < N {
            y[[i]] += a * x[[i]];
        }
    } else if FLAW == 2 {
        if block_idx.x == 0 && i < N {
            y[[i]] += a * x[[i]];
        }
    } else if FLAW == 3 {
        if i < N {
            y[[i]] += a * x[[N - 1 - i]];
        }
    } else if FLAW == 4 {
        y[[i]] += a * x[[i + 1]];
    } else if i < N {
        y[[i]] += a * x[[i]];
    }
}

/// Without a block for the last elements: `/` rounds down.
#[tiled_kernel(FLAW = [0, 1], BLOCK = 64, block = [BLOCK], grid = [(N + (1 - FLAW) * (BLOCK - 1)) / BLOCK])]
fn doubled<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let i = block_idx.x * BLOCK + thread_idx.x;
    if i < N {
        y[i] = 2.0 * x[i];
    }
}

#[test]
fn a_grid_that_is_too_small_is_named() {
    let reference = |case: &mut Case<'_>| {
        let x = case.input("x");
        case.expect("y", |[i]| Sum::from(2.0 * x[[i]]));
    };
    run(&doubled::DEFINITION, 0, reference).unwrap_or_else(|failure| panic!("{failure}"));
    let failure = run(&doubled::DEFINITION, 1, reference).expect_err("the last elements are left");
    assert_eq!(sizes(&failure), "N = 1");
    let text = failure.to_string();
    let named = "the launch, of 0 blocks, changed none of them: does `grid` have a thread for each element?";
    assert!(text.contains(named), "{text}");
}

#[test]
fn a_wrong_bound_is_reported_at_the_smallest_size() {
    let reference = |case: &mut Case<'_>| {
        let (a, x, y) = (case.scalar("a"), case.input("x"), case.input("y"));
        case.expect("y", |[i]| Sum::from(y[[i]]) + a * x[[i]]);
    };
    let passed = run(&axpy::DEFINITION, 0, reference).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(passed.launches >= 20 && passed.bound == 3, "{passed}");
    assert!(passed.refused.is_empty(), "{passed}");
    let wanted = [(1, "N = 1"), (2, "N = 65"), (3, "N = 2"), (4, "N = 1")];
    for (flaw, smallest) in wanted {
        let failure = run(&axpy::DEFINITION, flaw, reference).expect_err("it is wrong");
        assert_eq!(sizes(&failure), smallest, "FLAW = {flaw}: {failure}");
        let text = failure.to_string();
        assert!(text.contains("kernel `axpy` FLAW") && text.contains(smallest), "{text}");
    }
    // What the simulator found comes first, at its line.
    let failure = run(&axpy::DEFINITION, 4, reference).expect_err("it is wrong");
    let text = failure.to_string();
    let line = include_str!("testing.rs")
        .lines()
        .position(|line| line.contains("x[[i + 1]]"))
        .map_or(0, |at| at + 1);
    assert!(text.contains(&format!("testing.rs:{line}, thread (")), "{text}");
    let failure = run(&axpy::DEFINITION, 2, reference).expect_err("it is wrong");
    assert!(failure.to_string().contains("1 of 65 elements of `y` are wrong:\n    y[[64]] is "), "{failure}");
}

/// A product by tiles; the scratch holds what no one reads.
#[tiled_kernel(FLAW = [0, 1, 2, 3], T = [f32, bf16], BM = 16, BN = 16, BK = 8, block = [256], grid = [N.div_ceil(BN), M.div_ceil(BM)])]
fn product<T, const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<T, Pitched<M, K>>,
    b: &LayoutTensor<T, Strided<K, N>>,
    c: &mut LayoutTensor<T, Pitched<M, N>>,
    rounds: &mut LayoutTensor<u32, RowMajor<1>>,
) {
    let (row, col) = (thread_idx.x / BN, thread_idx.x % BN);
    let mut a_tile = shared::<T>(row_major([BM, BK]));
    let mut b_tile = shared::<T>(row_major([BK, BN]));
    let mut dst = c.tile([BM, BN], [block_idx.y, block_idx.x]);
    let mut sum = 0.0f32;
    for block in 0..if FLAW == 1 { K / BK } else { K.div_ceil(BK) } {
        if thread_idx.x < BM * BK {
            a_tile[[thread_idx.x / BK, thread_idx.x % BK]] =
                a.tile([BM, BK], [block_idx.y, block])[[thread_idx.x / BK, thread_idx.x % BK]];
            b_tile[[thread_idx.x / BN, thread_idx.x % BN]] =
                b.tile([BK, BN], [block, block_idx.x])[[thread_idx.x / BN, thread_idx.x % BN]];
        }
        barrier();
        for k in unroll(0..BK) {
            sum += a_tile[[row, k]] as f32 * b_tile[[k, col]] as f32;
        }
        if FLAW != 2 {
            barrier();
        }
    }
    if FLAW == 3 {
        c[[0, 0]] = 7.0 as T;
    }
    dst[[row, col]] = sum as T;
    if thread_idx.x == 0 {
        rounds.atomic_add([0], 1);
    }
}

#[test]
fn a_product_is_tried_in_three_dimensions() {
    let test = |flaw, elem| {
        let set = ParamSet::default().with("FLAW", ParamValue::Int(flaw)).with("T", ParamValue::Type(elem));
        let test = testing::kernel(&product::DEFINITION).set(set).scratch("rounds").cases(24);
        test.devices(&[Device::simulator()]).run(|case| {
            let (a, b, k) = (case.input("a"), case.input("b"), case.size("K"));
            case.expect("c", |[i, j]| (0..k).map(|k| a[[i, k]] * b[[k, j]]).sum::<Sum>());
        })
    };
    for elem in [layout_cuda::Elem::F32, layout_cuda::Elem::Bf16] {
        let passed = test(0, elem).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(passed.launches >= 40, "{passed}");
        // Two billion rows are more blocks than a grid has along y; as many columns, and as many terms, are bound.
        assert!(passed.bound == 6 && passed.refused.len() == 3, "{passed}");
        assert!(passed.refused[0].contains("M = 2147483648"), "{passed}");
    }
    let failure = test(1, layout_cuda::Elem::F32).expect_err("K is rounded down");
    assert_eq!(sizes(&failure), "M = 1, N = 1, K = 1", "{failure}");
    let failure = test(2, layout_cuda::Elem::F32).expect_err("a barrier is missing");
    assert_eq!(sizes(&failure), "M = 1, N = 1, K = 9", "{failure}");
    assert!(failure.to_string().contains("race"), "{failure}");
    assert!(test(3, layout_cuda::Elem::F32).is_err());
}

/// A matrix with one row more than the other, and a grid that the launch gives.
#[tiled_kernel(FLAW = [0, 1], block = [32], require(N % 4 == 0))]
fn shifted<const M: usize, const N: usize>(
    x: &LayoutTensor<i32, RowMajor<{ M + 1 }, N>>,
    down: usize,
    y: &mut LayoutTensor<i32, ColMajor<M, N>>,
    kept: &mut LayoutTensor<i32, RowMajor<M>>,
) {
    let mut i = block_idx.x * 32 + thread_idx.x;
    while i < M * N {
        y[[i / N, i % N]] = x[[i / N + down % 2, i % N]];
        if FLAW == 1 && i == 0 {
            kept[[M - 1]] = 99;
        }
        i += grid_dim.x * 32;
    }
}

#[test]
fn conditions_grids_and_integers() {
    let test = |flaw| {
        let set = ParamSet::default().with("FLAW", ParamValue::Int(flaw));
        let test = testing::kernel(&shifted::DEFINITION).set(set).devices(&[Device::simulator()]);
        test.sizes("N", (0usize..20).prop_map(|n| 4 * n))
            .values("x", -1000i32..1000)
            .grid(|sizes| [sizes["M"] as u32 / 7 + 1, 1, 1])
    };
    use testing::proptest::strategy::Strategy as _;
    let reference = |case: &mut Case<'_>| {
        let (x, down) = (case.integers("x"), case.index("down") as usize % 2);
        case.expect("y", |[i, j]| x[[i + down, j]]);
    };
    let passed = test(0).run(reference).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(passed.launches >= 60, "{passed}");
    // The reference does not speak of `kept`: it is to stay as it was. N is a multiple of 4 in the failure, too.
    let failure = test(1).run(reference).expect_err("`kept` is written");
    assert_eq!(sizes(&failure), "M = 1, N = 4", "{failure}");
    assert!(failure.to_string().contains("which it was before"), "{failure}");
}

#[test]
fn a_test_that_is_wrong_itself_says_so() {
    let simulator = [Device::simulator()];
    let nothing = |_: &mut Case<'_>| {};
    let set = || ParamSet::default().with("FLAW", ParamValue::Int(0));
    let test = |kernel| testing::kernel(kernel).devices(&simulator).set(set());
    let said = |result: Result<Passed, Box<Failure>>| result.expect_err("it is refused").to_string();
    let text = said(test(&axpy::DEFINITION).values("z", 0..3).run(nothing));
    assert!(text.contains("speaks of `z`, the kernel has the arguments a, x, y"), "{text}");
    let text = said(test(&axpy::DEFINITION).sizes("M", 0usize..3).run(nothing));
    assert!(text.contains("speaks of `M`, the kernel has the dimensions N"), "{text}");
    let text = said(test(&shifted::DEFINITION).run(nothing));
    assert!(text.contains(".grid("), "{text}");
    let text = said(test(&shifted::DEFINITION).grid(|_| [1; 3]).sizes("N", 5usize..8).run(nothing));
    assert!(text.contains("no launch was run") && text.contains("N % 4 == 0"), "{text}");
    let text = said(test(&axpy::DEFINITION).values("x", 0.0..1.0).values("a", 1..2).run(nothing));
    assert!(text.contains("which it was before"), "{text}");
    let text = said(test(&shifted::DEFINITION).grid(|_| [1; 3]).values("x", 0.5..1.0).run(nothing));
    assert!(text.contains("argument `x`: ") && text.contains("is no value of i32"), "{text}");
}

/// Each row with its sum added, a thread for a row.
#[tiled_kernel(FLAW = [0, 1], block = [32], grid = [M.div_ceil(32), B])]
fn plus_sum<const B: usize, const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<B, M, N>>,
    y: &mut LayoutTensor<f32, RowMajor<B, M, N>>,
) {
    let (b, i) = (block_idx.y, 32 * block_idx.x + thread_idx.x);
    if i < M {
        let mut sum = 0.0;
        for j in 0..N {
            sum += x[[b, i, j]];
        }
        for j in 0..N {
            if FLAW == 0 || j == 0 {
                y[[b, i, j]] = x[[b, i, j]] + sum;
            }
        }
    }
}

#[test]
fn a_reference_may_be_by_rows() {
    let reference = |case: &mut Case<'_>| {
        let (x, n) = (case.input("x"), case.size("N"));
        case.expect_rows("y", |[b, i]| {
            let row: Vec<f64> = (0..n).map(|j| x[[b, i, j]]).collect();
            let sum: Sum = row.iter().copied().sum();
            row.into_iter().map(move |x| sum + x)
        });
    };
    let passed = run(&plus_sum::DEFINITION, 0, reference).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(passed.launches > 10, "{passed}");
    let failure = run(&plus_sum::DEFINITION, 1, reference).expect_err("it is wrong");
    assert_eq!(sizes(&failure), "B = 1, M = 1, N = 2", "{failure}");
    // Rows of another length, and of another rank, end the test in words.
    for (by, words) in [(0, "elements, the reference 2"), (1, "there has to be one less")] {
        let ended = std::panic::catch_unwind(|| {
            run(&plus_sum::DEFINITION, 0, |case| match by {
                0 => case.expect_rows("y", |[_, _]| [1.0; 2]),
                _ => case.expect_rows("y", |[_]| [1.0]),
            })
        });
        let said = match ended {
            Ok(run) => run.expect_err("a wrong reference").to_string(),
            Err(words) => words.downcast_ref::<String>().cloned().unwrap_or_default(),
        };
        assert!(said.contains(words), "{said}");
    }
}

/// The sum of each row by a thread; of a flaw it forgets what is beyond 256 elements of a row, or beyond 256 blocks.
#[tiled_kernel(FLAW = [0, 1, 2], block = [32], grid = [M])]
fn row_sums<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    y: &mut LayoutTensor<f32, RowMajor<M>>,
) {
    let row = block_idx.x;
    if thread_idx.x == 0 && (FLAW != 2 || row < 256) {
        let mut sum = 0.0;
        for k in 0..if FLAW == 1 { N.min(256) } else { N } {
            sum += x[[row, k]];
        }
        y[[row]] = sum;
    }
}

#[test]
fn a_fixed_capacity_is_exceeded() {
    let reference = |case: &mut Case<'_>| {
        let (x, n) = (case.input("x"), case.size("N"));
        case.expect("y", |[i]| (0..n).map(|k| x[[i, k]]).sum::<Sum>());
    };
    run(&row_sums::DEFINITION, 0, reference).unwrap_or_else(|failure| panic!("{failure}"));
    for (flaw, smallest) in [(1, "M = 1, N = 257"), (2, "M = 257, N = 0")] {
        let failure = run(&row_sums::DEFINITION, flaw, reference).expect_err("it is wrong");
        assert_eq!(sizes(&failure), smallest, "{failure}");
    }
}
