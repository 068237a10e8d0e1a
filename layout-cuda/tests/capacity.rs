//! Kernels with a fixed capacity that no size around their tiles exceeds: `layout_cuda::testing` finds each.
//!
//! Law: a kernel with a parameter `FLAW` is right where that is 0; of every other value the failure is reported at the smallest size
//! beyond its capacity.

use layout_cuda::testing::{self, Case, Failure, Passed, Sum};
use layout_cuda::{Definition, Device, ParamSet, ParamValue, tiled_kernel};

fn run(
    kernel: &'static Definition,
    flaw: i64,
    reference: impl FnMut(&mut Case<'_>),
) -> Result<Passed, Box<Failure>> {
    let set = ParamSet::default().with("FLAW", ParamValue::Int(flaw));
    testing::kernel(kernel).set(set).devices(&[Device::simulator()]).run(reference)
}

/// `y = 2 x`. 1: sixteen blocks; 2, 3: an index of 16 or 8 bits; 4: a thousand elements; 5: eight rounds of one block.
#[tiled_kernel(
    FLAW = [0, 1, 2, 3, 4, 5], BLOCK = 64, MOST = if FLAW == 1 { 16 } else if FLAW == 5 { 1 } else { 1 << 24 }, block = [BLOCK],
    grid = [N.div_ceil(BLOCK).min(MOST)],
)]
fn doubled<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let own = block_idx.x * BLOCK + thread_idx.x;
    let rounds = if FLAW == 5 { 8 } else { 1 };
    for round in 0..rounds {
        let i = own + round * BLOCK;
        let at = if FLAW == 2 {
            i % 65536
        } else if FLAW == 3 {
            i % 256
        } else {
            i
        };
        let end = if FLAW == 4 { N.min(1000) } else { N };
        if at < end {
            y[[at]] = 2.0 * x[[at]];
        }
    }
}

/// The sum of each row by a warp. 1: 512 elements of a row; 2: 256 rounds; 3: a hundred rows.
#[tiled_kernel(FLAW = [0, 1, 2, 3], block = [32], grid = [M])]
fn row_sums<const M: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, N>>,
    y: &mut LayoutTensor<f32, RowMajor<M>>,
) {
    let (row, lane) = (block_idx.x, thread_idx.x);
    let rounds = if FLAW == 1 {
        16
    } else if FLAW == 2 {
        N.div_ceil(32).min(256)
    } else {
        N.div_ceil(32)
    };
    let mut sum = 0.0;
    for round in 0..rounds {
        if round * 32 + lane < N {
            sum += x[[row, round * 32 + lane]];
        }
    }
    for far in [16, 8, 4, 2, 1] {
        sum += sum.shuffle_xor(far);
    }
    if lane == 0 && (FLAW != 3 || row < 100) {
        y[[row]] = sum;
    }
}

#[test]
fn a_capacity_of_one_dimension_is_exceeded() {
    let reference = |case: &mut Case<'_>| {
        let x = case.input("x");
        case.expect("y", |[i]| 2.0 * x[[i]]);
    };
    let begun = std::time::Instant::now();
    let passed = run(&doubled::DEFINITION, 0, reference).unwrap_or_else(|failure| panic!("{failure}"));
    println!("{passed}, {:?}", begun.elapsed());
    assert!(passed.refused.is_empty(), "{passed}");
    let wanted = [(1, "N = 1025"), (2, "N = 65537"), (3, "N = 257"), (4, "N = 1001"), (5, "N = 513")];
    for (flaw, smallest) in wanted {
        let failure = run(&doubled::DEFINITION, flaw, reference).expect_err("it is wrong");
        assert_eq!(failure.sizes.to_string(), smallest, "FLAW = {flaw}: {failure}");
    }
}

#[test]
fn a_capacity_of_each_of_two_dimensions_is_exceeded() {
    let reference = |case: &mut Case<'_>| {
        let (x, n) = (case.input("x"), case.size("N"));
        case.expect("y", |[i]| (0..n).map(|j| x[[i, j]]).sum::<Sum>());
    };
    let begun = std::time::Instant::now();
    let passed = run(&row_sums::DEFINITION, 0, reference).unwrap_or_else(|failure| panic!("{failure}"));
    println!("{passed}, {:?}", begun.elapsed());
    // One element of 8193 may be within the bound of the sum, so of FLAW 2 a larger size may be the first that fails.
    let far = ["M = 1, N = 8193", "M = 1, N = 8365"];
    for (flaw, smallest) in [(1, &["M = 1, N = 513"][..]), (2, &far[..]), (3, &["M = 101, N = 0"][..])] {
        let failure = run(&row_sums::DEFINITION, flaw, reference).expect_err("it is wrong");
        assert!(smallest.contains(&failure.sizes.to_string().as_str()), "FLAW = {flaw}: {failure}");
    }
}

/// More cases are more sizes.
#[test]
fn cases_add_sizes() {
    let reference = |case: &mut Case<'_>| {
        let x = case.input("x");
        case.expect("y", |[i]| 2.0 * x[[i]]);
    };
    let launches = |cases| {
        let set = ParamSet::default().with("FLAW", ParamValue::Int(0));
        let test = testing::kernel(&doubled::DEFINITION).set(set).cases(cases).elements(2048);
        test.devices(&[Device::simulator()])
            .run(reference)
            .unwrap_or_else(|failure| panic!("{failure}"))
            .launches
    };
    let (few, many) = (launches(10), launches(100));
    assert!(few < many && many >= 200, "{few} and {many} launches");
}
