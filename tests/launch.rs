//! Launches that are refused before anything runs, and machines that lack something: each an error, never a panic.
//!
//! What no typed launch can express is asked of `LaunchPlan::bind`, which every launch goes through.

use layout_compiler::{
    BindError, Definition, Elem, LaunchArgument, ParamSet, Promises, ViolatedPromise, compile,
};
use layout_cuda::{Device, Error, LaunchConfig, LaunchError, Tensor, TensorError, nvrtc};
use layout_examples::kernels::{tiled, vector_add};
use layout_tests::kernels::{copy_rows, grid_of_the_launch, horner, scale_pitched};
use std::process::Command;

fn zeros<const R: usize>(shape: [usize; R]) -> Tensor<f32, R> {
    Device::simulator().zeros(shape).expect("a tensor")
}

/// What `bind` said of a launch, and the whole message.
fn refused(outcome: Result<(), Error>) -> (BindError, String) {
    match outcome.expect_err("a refusal") {
        Error::Launch(LaunchError::Arguments { kernel, error }) => {
            let text = Error::from(LaunchError::Arguments { kernel, error: error.clone() }).to_string();
            (error, text)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn shapes_that_disagree_are_named_with_both_numbers() {
    let stream = Device::simulator().stream();
    let (a, b, mut c) = (zeros([4, 5]), zeros([6, 7]), zeros([4, 7]));
    let (error, text) = refused(tiled::launch(&stream, &a, &b, &mut c));
    let dim = Some(("K".to_string(), "a".to_string()));
    assert_eq!(error, BindError::Extent { argument: "b".into(), mode: 0, found: 6, expected: 5, dim });
    assert!(text.contains("kernel `tiled`") && text.contains("`b`") && text.contains('6'), "{text}");
    let (error, _) = refused(tiled::launch(&stream, &a, &zeros([5, 7]), &mut zeros([4, 8])));
    assert!(matches!(error, BindError::Extent { argument, mode: 1, .. } if argument == "c"));
}

#[test]
fn a_broken_require_is_reported_with_the_values() {
    let stream = Device::simulator().stream();
    let (error, text) = refused(horner::launch(&stream, &zeros([0]), &zeros([3]), &mut zeros([3])));
    assert!(
        matches!(&error, BindError::Require { condition, .. } if condition.contains("C > 0")),
        "{error:?}"
    );
    assert!(text.contains("C = 0") && text.contains("N = 3"), "{text}");
}

#[test]
fn strides_that_the_layout_does_not_allow() -> Result<(), Error> {
    let stream = Device::simulator().stream();
    let long = zeros([300]);
    let every_second = long.part(0, [10], [2])?;
    let (error, text) = refused(vector_add::launch(&stream, &every_second, &zeros([10]), &mut zeros([10])));
    assert!(
        matches!(error, BindError::Stride { mode: 0, found: 2, expected: 1, layout: "RowMajor", .. }),
        "{text}"
    );
    let columns_apart = long.part(0, [4, 10], [30, 3])?;
    let (error, text) = refused(scale_pitched::launch(&stream, 1.0, &columns_apart, &mut zeros([4, 10])));
    assert!(
        matches!(error, BindError::Stride { mode: 1, found: 3, expected: 1, layout: "Pitched", .. }),
        "{text}"
    );
    Ok(())
}

#[test]
fn what_is_written_may_not_overlap_and_what_is_read_may() -> Result<(), Error> {
    let stream = Device::simulator().stream();
    let (whole, mut written) = (zeros([100]), zeros([100]));
    let rows_over_each_other = whole.part(0, [4, 10], [5, 1])?;
    let mut apart = written.part_mut(0, [4, 10], [12, 1])?;
    scale_pitched::launch(&stream, 1.0, &rows_over_each_other, &mut apart)?;
    let mut over = written.part_mut(0, [4, 10], [5, 1])?;
    let (error, text) = refused(scale_pitched::launch(&stream, 1.0, &rows_over_each_other, &mut over));
    assert_eq!(error, BindError::Overlap { argument: "b".into() }, "{text}");
    let error = written.part_mut(90, [4, 10], [5, 1]).map(|_| ()).expect_err("past the end");
    assert!(matches!(error, Error::Tensor(TensorError::Reach { .. })), "{error}");
    Ok(())
}

#[test]
fn indices_and_grids_that_are_too_large() -> Result<(), Error> {
    let stream = Device::simulator().stream();
    let mut y = Device::simulator().zeros::<i32, 1>([8])?;
    let config = LaunchConfig { grid: Some([1, 1, 1]), ..LaunchConfig::default() };
    for from in [usize::MAX, 1 << 60] {
        let (error, text) = refused(grid_of_the_launch::launch_with(config, &stream, from, &mut y));
        assert!(matches!(error, BindError::IndexTooLarge { .. }), "{text}");
        assert!(text.contains("the argument `from` is ") && text.contains("2^48"), "{text}");
        assert_eq!(text.contains(" or more"), from == usize::MAX, "{text}");
    }
    // Beyond 32 bits another variant is right.
    grid_of_the_launch::launch_with(config, &stream, 1 << 40, &mut y)?;
    assert_eq!(y.download()?, [0; 8]);
    let (error, text) = refused(grid_of_the_launch::launch(&stream, 0, &mut y));
    assert!(matches!(error, BindError::NoGrid { .. }), "{text}");
    assert!(
        text.contains("in tests/")
            && text.contains(
                "it names `grid_dim`, so that its loops take any number of blocks; write `grid = ["
            ),
        "{text}"
    );
    let config = LaunchConfig { grid: Some([1, 70_000, 1]), ..config };
    let (error, text) = refused(grid_of_the_launch::launch_with(config, &stream, 0, &mut y));
    assert_eq!(error, BindError::Grid { axis: 1, found: 70_000, most: 65_535 }, "{text}");
    Ok(())
}

#[test]
fn a_parameter_set_that_the_kernel_does_not_allow() {
    let stream = Device::simulator().stream();
    let set = |key: &str, value| ParamSet(vec![(key.to_string(), layout_cuda::ParamValue::Int(value))]);
    for set in [set("BLOCK", 4096), set("BLOCK", 0), set("BLOCK", -1), set("OTHER", 1)] {
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let outcome = vector_add::launch_with(config, &stream, &zeros([3]), &zeros([3]), &mut zeros([3]));
        let error = outcome.expect_err("a set that cannot be");
        assert!(matches!(error, Error::Launch(LaunchError::Parameters { .. })), "{}: {error}", set.key());
    }
}

/// What `bind` says of arguments under the usual promises.
fn bind(
    definition: &Definition,
    promises: Promises,
    arguments: &[LaunchArgument<'_>],
) -> Result<(), BindError> {
    let kernel = definition.kernel().expect("bytes of this version");
    let set = kernel.parameter_sets().swap_remove(0);
    let checked = compile(&kernel, &set, promises).expect("a kernel that the macro compiled");
    checked.plan().bind(arguments, None).map(|_| ())
}

fn tensor<'a>(shape: &'a [usize], strides: &'a [usize], address: u64) -> LaunchArgument<'a> {
    LaunchArgument::Tensor { elem: Elem::F32, shape, strides, address, len: usize::MAX }
}

#[test]
fn ranks_types_and_counts() {
    let usual = |arguments: &[LaunchArgument<'_>]| bind(&vector_add::DEFINITION, Promises::USUAL, arguments);
    let (vector, matrix) = (tensor(&[4], &[1], 0), tensor(&[4, 1], &[1, 1], 0));
    assert_eq!(usual(&[vector; 3]), Ok(()));
    assert_eq!(usual(&[vector; 2]), Err(BindError::Count { expected: 3, found: 2 }));
    let rank = BindError::Rank { argument: "b".into(), expected: 1, found: 2 };
    assert_eq!(usual(&[vector, matrix, vector]), Err(rank));
    let whole = LaunchArgument::Tensor { elem: Elem::I32, shape: &[4], strides: &[1], address: 0, len: 4 };
    assert!(
        matches!(usual(&[vector, vector, whole]), Err(BindError::Type { argument, .. }) if argument == "c")
    );
    let scalar = LaunchArgument::Scalar(Elem::F32, 0);
    assert!(
        matches!(usual(&[vector, scalar, vector]), Err(BindError::Type { argument, .. }) if argument == "b")
    );
    let short = LaunchArgument::Tensor { elem: Elem::F32, shape: &[4], strides: &[1], address: 0, len: 3 };
    let span = BindError::Span { argument: "a".into(), needed: 4, found: 3 };
    assert_eq!(usual(&[short, vector, vector]), Err(span));
    let huge = tensor(&[1 << 50], &[1], 0);
    assert_eq!(usual(&[huge; 3]), Err(BindError::TooLarge { argument: "a".into() }));
    for index in [i64::MIN, i64::MAX] {
        let arguments = [
            LaunchArgument::Index(index),
            LaunchArgument::Tensor { elem: Elem::I32, shape: &[4], strides: &[1], address: 0, len: 4 },
        ];
        let error = bind(&grid_of_the_launch::DEFINITION, Promises::USUAL, &arguments);
        assert_eq!(error, Err(BindError::IndexTooLarge { argument: "from".into(), value: index }));
    }
}

#[test]
fn promises_that_do_not_hold_pick_another_variant() {
    let promises = |narrow, aligned, variant_if| Promises { narrow, aligned, variant_if };
    let of = |broken| Err(BindError::Promise(broken));
    let rows = [
        (promises(true, true, Some(0)), [8, 12], [12, 1], 0, Ok(())),
        (promises(true, true, Some(0)), [8, 11], [12, 1], 0, of(ViolatedPromise::VariantIf)),
        (promises(true, true, None), [8, 11], [12, 1], 0, Ok(())),
        (promises(true, true, None), [8, 11], [12, 1], 4, of(ViolatedPromise::Aligned)),
        (promises(true, true, None), [8, 11], [11, 1], 0, of(ViolatedPromise::Aligned)),
        (promises(true, false, None), [8, 11], [11, 1], 4, Ok(())),
        (promises(true, false, None), [1 << 16, 1 << 16], [1 << 16, 1], 0, of(ViolatedPromise::Narrow)),
        (promises(false, false, None), [1 << 16, 1 << 16], [1 << 16, 1], 0, Ok(())),
    ];
    for (promises, shape, strides, address, wanted) in rows {
        let argument = tensor(&shape, &strides, address);
        let found = bind(&copy_rows::DEFINITION, promises, &[argument, argument]);
        assert_eq!(found, wanted, "{promises:?}, {shape:?} by {strides:?} at {address}");
    }
    let odd = bind(&vector_add::DEFINITION, promises(false, false, None), &[tensor(&[4], &[1], 2); 3]);
    assert!(
        matches!(odd, Err(BindError::Type { .. })),
        "no variant reads a float at an odd address: {odd:?}"
    );
}

/// Runs one test of this binary in a process of its own, with these variables.
fn alone(test: &str, variables: &[(&str, &str)]) {
    let program = std::env::current_exe().expect("the test binary");
    let mut command = Command::new(program);
    command.args([test, "--exact", "--nocapture"]).env("LAYOUT_TEST_ALONE", "1");
    command.envs(variables.iter().copied());
    let output = command.output().expect("the test binary runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{out}\n{err}");
}

fn is_alone() -> bool {
    std::env::var_os("LAYOUT_TEST_ALONE").is_some()
}

#[test]
fn without_nvrtc() {
    if !is_alone() {
        let empty = std::env::temp_dir().join(format!("layout-no-nvrtc-{}", std::process::id()));
        std::fs::create_dir_all(&empty).expect("an empty folder");
        alone("launch::without_nvrtc", &[("LAYOUT_NVRTC", &empty.to_string_lossy())]);
        std::fs::remove_dir(&empty).expect("the folder is still empty");
        return;
    }
    let error = nvrtc::compile(vector_add::SOURCE, "sm_80", &[]).expect_err("no NVRTC");
    let nvrtc::NvrtcError::NotAtNamedPlace { place, .. } = &error else { panic!("{error}") };
    assert!(
        error.to_string().contains("LAYOUT_NVRTC") && error.to_string().contains(&*place.to_string_lossy())
    );
    let device = Device::best();
    assert!(device.is_simulator(), "a GPU without NVRTC is of no use: {}", device.describe());
    let (a, mut c) = (device.upload(&[1.0f32; 3], [3]).expect("a"), zeros([3]));
    vector_add::launch(&device.stream(), &a, &a, &mut c).expect("the simulator needs no NVRTC");
    assert_eq!(c.download().expect("data"), [2.0; 3]);
}

#[test]
fn without_a_gpu() {
    if !is_alone() {
        // Also on a machine that has one.
        return alone("launch::without_a_gpu", &[("CUDA_VISIBLE_DEVICES", "-1")]);
    }
    let error = Device::gpu(0).expect_err("no GPU is visible");
    assert!(matches!(error, Error::Driver(_)), "{error}");
    assert!(Device::best().is_simulator());
    assert!(Device::best().describe().contains("simulator"), "{}", Device::best().describe());
}
