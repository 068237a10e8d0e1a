//! The ladder's kernels on input that is no plain matrix: numbers that are none, shapes that disagree, tensors of more
//! elements than 32 bits count.

use layout_cuda::{Device, Error, LaunchError, Tensor};
use layout_examples::programs::ladder::LADDER;
use layout_kernels::product::{Kernel, Options, Workspace, multiply};
use layout_tests::support::gpu::{gpu, gpu_required};

/// The product by a kernel, or by the fastest.
fn by(
    device: &Device,
    kernel: impl Into<Option<Kernel>>,
    a: &Tensor<f32, 2>,
    b: &Tensor<f32, 2>,
    c: &mut Tensor<f32, 2>,
) -> Result<(), Error> {
    let options = Options { kernel: kernel.into(), ..Options::default() };
    multiply(&device.stream(), options, &mut Workspace::default(), a, b, c)
}

/// Every kernel of the ladder, and the choice among them.
fn every() -> impl Iterator<Item = Option<Kernel>> {
    LADDER.into_iter().map(Some).chain([None])
}

/// The product in float64.
fn product(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Vec<f64> {
    let term = |at: usize, l: usize| f64::from(a[at / n * k + l]) * f64::from(b[l * n + at % n]);
    (0..m * n).map(|at| (0..k).map(|l| term(at, l)).sum()).collect()
}

#[test]
fn numbers_that_are_none_go_where_they_go_in_the_reference() {
    let device = Device::simulator();
    let [m, n, k] = [35, 37, 41];
    let plain = |count: usize, step: usize| (0..count).map(move |i| (i * step % 11) as f32 - 5.0);
    let (mut a, mut b): (Vec<f32>, Vec<f32>) = (plain(m * k, 3).collect(), plain(k * n, 7).collect());
    (a[k + 2], a[3 * k + 4], a[5 * k], a[6 * k + 40]) =
        (f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::from_bits(0x7fff_ffff));
    (b[4 * n + 6], b[36], b[40 * n + 8], b[11]) =
        (f32::INFINITY, f32::NAN, f32::NEG_INFINITY, f32::from_bits(0xffff_ffff));
    let wanted = product(&a, &b, [m, n, k]);
    assert!(wanted.iter().any(|x| x.is_infinite()) && wanted.iter().any(|x| x.is_finite()));
    let (a, b) = (device.upload(&a, [m, k]).expect("a"), device.upload(&b, [k, n]).expect("b"));
    for kernel in LADDER {
        let mut c = device.zeros::<f32, 2>([m, n]).expect("c");
        by(&device, kernel, &a, &b, &mut c).expect("a product");
        for (at, (found, wanted)) in c.download().expect("data").iter().zip(&wanted).enumerate() {
            // The plain numbers are small integers, whose sums are exact in every order.
            let same = f64::from(*found) == *wanted || (found.is_nan() && wanted.is_nan());
            assert!(same, "{kernel}: row {}, column {}: {found}, not {wanted}", at / n, at % n);
        }
    }
}

#[test]
fn bank_conflicts_of_a_small_product() {
    let device = Device::simulator();
    let matrix = || device.zeros::<f32, 2>([256, 256]).expect("a matrix");
    let (a, b, mut c) = (matrix(), matrix(), matrix());
    let mut table = format!("{:<24} {:>10} {:>10} {:>10}\n", "kernel", "requests", "wavefronts", "conflicts");
    for kernel in LADDER {
        let report = kernel.simulate(&a, &b, &mut c).expect("a report");
        assert!(report.clean(), "{kernel}: {:?}", report.findings);
        let counts = &report.totals;
        table.push_str(&format!(
            "{:<24} {:>10} {:>10} {:>10}\n",
            kernel.name(),
            counts.shared_requests,
            counts.shared_wavefronts,
            counts.bank_conflicts
        ));
    }
    insta::assert_snapshot!(table);
}

#[test]
fn shapes_that_disagree_start_nothing() {
    let device = Device::simulator();
    let matrix = |shape: [usize; 2]| device.zeros::<f32, 2>(shape).expect("a matrix");
    for shapes in [[[8, 5], [6, 7], [8, 7]], [[8, 5], [5, 7], [8, 6]], [[8, 5], [5, 7], [7, 8]]] {
        let ([a, b], mut c) = ([matrix(shapes[0]), matrix(shapes[1])], matrix(shapes[2]));
        for kernel in every() {
            let outcome = by(&device, kernel, &a, &b, &mut c);
            assert!(
                matches!(&outcome, Err(Error::Launch(LaunchError::Arguments { .. }))),
                "{kernel:?} of {shapes:?}: {outcome:?}"
            );
        }
    }
}

/// Rows with gaps between them: what a kernel takes is multiplied as if there were none, and the gaps of C stay; what it
/// does not take starts nothing.
#[test]
fn strided_matrices_are_multiplied_or_start_nothing() {
    let device = Device::simulator();
    let matrix =
        |row: usize| device.upload_strided(&vec![1.0_f32; 64 * 68], [64, 64], [row, 1]).expect("a matrix");
    for strided in 0..3 {
        for kernel in every() {
            let [a, b, mut c] = [0, 1, 2].map(|number| matrix(if number == strided { 68 } else { 64 }));
            let takes = match kernel {
                // The choice for a small C on an H200 is the last of these.
                Some(Kernel::SgemmFed | Kernel::SgemmSlicedFed) | None => true,
                // Rows with gaps are moved for these.
                Some(Kernel::Sgemm | Kernel::SgemmSliced) => true,
                Some(Kernel::TensorCore) => strided < 2,
                _ => false,
            };
            let outcome = by(&device, kernel, &a, &b, &mut c);
            if takes {
                outcome.unwrap_or_else(|error| panic!("{kernel:?}, matrix {strided}: {error}"));
                let ([row, _], found) = (c.strides(), c.download().expect("data"));
                let wanted = |at: usize| if at / row < 64 && at % row < 64 { 64.0 } else { 1.0 };
                assert!(
                    found.iter().enumerate().all(|(at, found)| *found == wanted(at)),
                    "{kernel:?}, matrix {strided}"
                );
            } else {
                assert!(
                    matches!(&outcome, Err(Error::Launch(LaunchError::Arguments { .. }))),
                    "{kernel:?}, matrix {strided}: {outcome:?}"
                );
            }
        }
    }
}

#[test]
fn more_elements_than_32_bits_count() {
    let Some(device) = gpu() else {
        return;
    };
    // A has 2^31 + 2^18 elements; its last rows are beyond what an `int` counts.
    let [m, n, k] = [(1 << 16) + 8, 9, 1 << 15];
    let a: Vec<f32> = (0..m * k).map(|i| ((i ^ (i >> 15)) % 5) as f32 - 2.0).collect();
    let b: Vec<f32> = (0..k * n).map(|i| (i % 3) as f32 - 1.0).collect();
    let on_a = match device.upload(&a, [m, k]) {
        Ok(tensor) => tensor,
        Err(error) => {
            let small = matches!(error, Error::OutOfMemory { .. }) && !gpu_required();
            assert!(small, "8.6 GB of A: {error}");
            return println!("skipped: {error}");
        }
    };
    let on_b = device.upload(&b, [k, n]).expect("b");
    for kernel in LADDER.into_iter().filter(|kernel| kernel.runs_on(&device)) {
        let mut c = device.zeros::<f32, 2>([m, n]).expect("c");
        c.poison().expect("poison");
        by(&device, kernel, &on_a, &on_b, &mut c).expect("a product");
        let c = c.download().expect("data");
        for row in (0..m).step_by(4099).chain(m - 9..m) {
            for column in 0..n {
                let terms = (0..k).map(|l| f64::from(a[row * k + l]) * f64::from(b[l * n + column]));
                let (found, wanted) = (f64::from(c[row * n + column]), terms.sum::<f64>());
                assert!(found == wanted, "{kernel}: row {row}, column {column}: {found}, not {wanted}");
            }
        }
    }
}
