//! Launches of a small kernel on every device there is, and all that a launch refuses.

use layout_compiler::emit::CudaSource;
use layout_compiler::{BindError, Definition, ParamSet, ParamValue, Promises, Variant};

use crate::argument::Argument;
use crate::cache::Cache;
use crate::functions::on_simulator;
use crate::launch::{LaunchConfig, choose, launch};
use crate::test_folder::TestFolder;
use crate::test_gpu::{devices, gpu};
use crate::test_kernels::{LENGTHS, REFUSED, scale_add, unguarded};
use crate::view::{TensorArg, TensorArgMut};
use crate::{Device, Error, FindingKind, LaunchError, Options, Result, Stream, prepare, simulate};

/// What a generated `launch` does.
fn run(
    stream: &Stream,
    config: LaunchConfig<'_>,
    a: &impl TensorArg<f32, 1>,
    b: &impl TensorArg<f32, 1>,
    c: &mut impl TensorArgMut<f32, 1>,
    scale: f32,
) -> Result<()> {
    let (a, b, mut c) = (a.view(), b.view(), c.view_mut());
    let mut arguments =
        [Argument::read(&a), Argument::read(&b), Argument::write(&mut c), Argument::scalar(scale)];
    launch(scale_add(), stream, config, &mut arguments)
}

fn input(len: usize, seed: f32) -> Vec<f32> {
    (0..len).map(|i| (i as f32 * 0.25 + seed) % 17.0).collect()
}

/// Exact: the numbers are small multiples of a quarter.
fn expected(a: &[f32], b: &[f32], scale: f32) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a * scale + b).collect()
}

#[test]
fn results() {
    let wide = ParamSet(vec![("THREADS".to_string(), ParamValue::Int(256))]);
    let unlisted = ParamSet(vec![("THREADS".to_string(), ParamValue::Int(64))]);
    for device in devices() {
        let stream = device.stream();
        for set in [None, Some(&wide), Some(&unlisted)] {
            for len in LENGTHS {
                let (a, b) = (input(len, 1.0), input(len, 3.0));
                let up = |data: &[f32]| device.upload(data, [len]).expect("a tensor");
                let (on_a, on_b, mut c) = (up(&a), up(&b), up(&b));
                c.poison().expect("poisoned");
                let config = LaunchConfig { set, ..LaunchConfig::default() };
                run(&stream, config, &on_a, &on_b, &mut c, 2.0).expect("a launch");
                let what = format!("{}, {set:?}, {len} elements", device.describe());
                assert_eq!(c.download().expect("data"), expected(&a, &b, 2.0), "{what}");
            }
        }
    }
}

#[test]
fn views_and_misaligned_parts() {
    for device in devices() {
        let stream = device.stream();
        let (a, b) = (input(103, 1.0), input(103, 3.0));
        let (on_a, on_b) = (device.upload(&a, [103]).expect("a"), device.upload(&b, [103]).expect("b"));
        let mut c = device.zeros::<f32, 1>([103]).expect("c");
        for (start, len) in [(1, 100), (2, 101), (3, 100)] {
            c.write(&[-1.0; 103]).expect("written");
            let part = |tensor: &crate::Tensor<f32, 1>| {
                let view = tensor.part(start, [len], [1]).expect("a part");
                stream.download(&view).expect("data")[..len].to_vec()
            };
            let (view_a, view_b) = (on_a.part(start, [len], [1]), on_b.part(start, [len], [1]));
            let mut view_c = c.part_mut(start, [len], [1]).expect("a part");
            let (view_a, view_b) = (view_a.expect("a part"), view_b.expect("a part"));
            run(&stream, LaunchConfig::default(), &view_a, &view_b, &mut view_c, 3.0).expect("a launch");
            let whole = c.download().expect("data");
            assert_eq!(whole[start..start + len], expected(&part(&on_a), &part(&on_b), 3.0));
            assert!(whole[..start].iter().chain(&whole[start + len..]).all(|value| *value == -1.0));
        }
    }
}

#[test]
fn variant_by_promises() {
    let family = on_simulator().family(scale_add(), None, &[]).expect("the kernel");
    let promises = |narrow, aligned, variant_if| Promises { narrow, aligned, variant_if };
    let rows = [
        (100, [0, 0, 0], promises(true, true, Some(0))),
        (101, [0, 0, 0], promises(true, true, None)),
        (100, [0, 16, 32], promises(true, true, Some(0))),
        (100, [0, 4, 0], promises(true, false, None)),
        (101, [8, 0, 0], promises(true, false, None)),
        (3_000_000_000, [0, 0, 0], promises(false, true, Some(0))),
        (3_000_000_001, [0, 0, 0], promises(false, true, None)),
        (3_000_000_000, [0, 0, 4], promises(false, false, None)),
    ];
    for (len, addresses, want) in rows {
        let shape = [len];
        let tensor = |address| layout_compiler::LaunchArgument::Tensor {
            elem: layout_compiler::Elem::F32,
            shape: &shape,
            strides: &[1],
            address,
            len,
        };
        let scalar = layout_compiler::LaunchArgument::Scalar(layout_compiler::Elem::F32, 0);
        let [a, b, c] = addresses.map(tensor);
        let (candidate, bound) =
            choose(&family, LaunchConfig::default(), &[a, b, c, scalar]).expect("a variant");
        assert_eq!(candidate.promises, want, "{len} elements at {addresses:?}");
        assert_eq!(bound.grid, [len.div_ceil(128) as u32, 1, 1]);
    }
}

#[test]
fn every_candidate_compiles() {
    let family = on_simulator().family(scale_add(), None, &[]).expect("the kernel");
    assert_eq!(family.candidates.len(), 6);
    for candidate in &family.candidates {
        let checked = family.checked(candidate).expect("checked");
        let source = layout_compiler::emit(checked);
        assert_eq!(source.text.lines().count(), source.lines.len());
        for arch in ["sm_80", "sm_90a"] {
            let compiled = family.compile(checked, arch, &Cache::off());
            let built = compiled.expect("NVRTC takes the text");
            let [resources] = built.compiled.resources.as_slice() else { panic!("{built:?}") };
            assert_eq!(built.slow_paths, []);
            assert_eq!(resources.entry, checked.entry());
            assert!(!resources.spills(), "{resources:?}");
        }
    }
}

/// A text of two lines in the place of the kernel's own.
fn source(body: &str) -> CudaSource {
    let text = format!("extern \"C\" __global__ void scale_add() {{\n    {body};\n}}\n");
    CudaSource { entry: "scale_add".into(), text, lines: vec![7, 9, 0], flags: &[] }
}

#[test]
fn slow_code_of_hoppers_units_is_refused_with_the_rust_line() {
    let slow = source("asm volatile(\"setmaxnreg.dec.sync.aligned.u32 24;\")");
    let family = on_simulator().family(scale_add(), None, &[]).expect("the kernel");
    let folder = TestFolder::new("slow");
    // The second error comes from the cache and is the same.
    for _ in 0..2 {
        let built = family.compile_text(&slow, &[], "sm_90a", &Cache::at(folder.path()));
        let error =
            family.refuse_slow(&built.expect("code").slow_paths).expect_err("set_max_registers is dropped");
        let text = error.to_string();
        assert!(text.contains("\n  src/kernels.rs:9: C7508: "), "{text}");
        assert!(text.contains("allow_slow_paths"), "{text}");
    }
}

#[test]
fn what_nvrtc_refuses_is_reported_with_the_rust_line() {
    let family = on_simulator().family(scale_add(), None, &[]).expect("the kernel");
    let error = family.compile_text(&source("oops"), &[], "sm_80", &Cache::off()).expect_err("oops");
    let Error::Launch(LaunchError::Compile { log, .. }) = &error else {
        panic!("{error}");
    };
    assert!(
        log.starts_with("src/kernels.rs:9: kernel.cu(2): error: identifier \"oops\" is undefined"),
        "{log}"
    );
}

/// Anybody can write a [`Definition`] in safe Rust, with any text beside the bytes of a checked kernel.
#[test]
fn a_text_that_is_not_the_kernels_is_never_compiled() {
    let planted =
        "extern \"C\" __global__ void scale_add_THREADS128_narrow_aligned() { *(float*)0x10 = 1.0f; }\n";
    let variant = |promises, parameters| Variant {
        key: "THREADS128",
        parameters,
        promises,
        entry: "scale_add_THREADS128",
        text: planted,
        lines: &[1],
        flags: &["-DPLANTED=1"],
        block: [1024, 1, 1],
        shared_bytes: 1 << 30,
    };
    let own: &'static [(&str, ParamValue)] = &[("THREADS", ParamValue::Int(128))];
    let promises = [Promises::USUAL, Promises { narrow: false, aligned: false, variant_if: None }];
    let variants: Vec<Variant> =
        promises.into_iter().flat_map(|promises| [variant(promises, own), variant(promises, &[])]).collect();
    let Definition { name, file, bytes, .. } = *scale_add();
    let forged = Definition { name, file, bytes, variants: variants.leak() };
    let forged: &'static Definition = Box::leak(Box::new(forged));
    for promises in promises {
        let [code, honest] = [forged, scale_add()].map(|definition| {
            crate::code::Code::of(definition, None, promises, "sm_80").expect("the kernel's own code")
        });
        assert!(!code.text.contains("0x10"), "{}", code.text);
        assert_eq!((&code.text, &code.ptx, &code.cubin), (&honest.text, &honest.ptx, &honest.cubin));
    }
    let recipe = crate::bundle::Recipe::new(&["sm_80"]).expect("an architecture").kernel(forged);
    let bundle = recipe.build().expect("a bundle");
    assert!(!bundle.windows(8).any(|bytes| bytes == b"PLANTED="), "no flag of the variant");
    let honest = crate::bundle::Recipe::new(&["sm_80"]).expect("an architecture").kernel(scale_add());
    assert_eq!(bundle, honest.build().expect("a bundle"));
}

#[test]
fn refusals() {
    for device in devices() {
        let stream = device.stream();
        let up = |len: usize| device.upload(&input(len, 0.0), [len]).expect("a tensor");
        let launched = |a: usize, b: usize, c: usize| {
            run(&stream, LaunchConfig::default(), &up(a), &up(b), &mut up(c), 1.0).expect_err("a refusal")
        };
        let error = launched(100, 101, 100);
        assert!(matches!(bind_error(&error), Some(BindError::Extent { .. })), "{error}");
        assert!(error.to_string().starts_with("kernel `scale_add`: tensor `b`"), "{error}");
        let error = launched(REFUSED, REFUSED, REFUSED);
        assert!(matches!(bind_error(&error), Some(BindError::Require { .. })), "{error}");

        let bad = ParamSet(vec![("THREADS".to_string(), ParamValue::Int(2048))]);
        let config = LaunchConfig { set: Some(&bad), ..LaunchConfig::default() };
        let error = run(&stream, config, &up(8), &up(8), &mut up(8), 1.0).expect_err("too many threads");
        assert!(matches!(&error, Error::Launch(LaunchError::Parameters { .. })), "{error}");

        let reversed = device.upload_strided(&input(30, 0.0), [10], [3]).expect("a tensor");
        let error = run(&stream, LaunchConfig::default(), &reversed, &up(10), &mut up(10), 1.0);
        let error = error.expect_err("not compact");
        assert!(matches!(bind_error(&error), Some(BindError::Stride { .. })), "{error}");

        let a = up(8);
        let a = a.view();
        let error = launch(scale_add(), &stream, LaunchConfig::default(), &mut [Argument::read(&a)]);
        let error = error.expect_err("too few arguments");
        assert!(matches!(bind_error(&error), Some(BindError::Count { expected: 4, found: 1 })), "{error}");
        let mut arguments =
            [Argument::read(&a), Argument::index(3), Argument::scalar(1.0f32), Argument::scalar(1i32)];
        let error = launch(scale_add(), &stream, LaunchConfig::default(), &mut arguments);
        let error = error.expect_err("other kinds");
        assert!(matches!(bind_error(&error), Some(BindError::Type { .. })), "{error}");
    }
}

fn bind_error(error: &Error) -> Option<&BindError> {
    match error {
        Error::Launch(LaunchError::Arguments { error, .. }) => Some(error),
        _ => None,
    }
}

#[test]
fn findings_are_an_error_of_a_launch_and_the_result_of_a_simulation() {
    let device = Device::simulator();
    let up = || device.upload(&input(100, 0.0), [100]).expect("a tensor");
    let (a, b, mut c) = (up(), up(), up());
    let (a, b) = (a.view(), b.view());
    let mut c = c.view_mut();
    let mut arguments =
        [Argument::read(&a), Argument::read(&b), Argument::write(&mut c), Argument::scalar(1.0f32)];
    let config = LaunchConfig::default();
    let report = simulate(unguarded(), config, &mut arguments, &Options::default()).expect("a report");
    let kinds =
        |report: &crate::Report| report.findings.iter().map(|finding| finding.kind).collect::<Vec<_>>();
    assert!(kinds(&report).contains(&FindingKind::OutOfBounds), "{report}");

    let error = launch(unguarded(), &device.stream(), config, &mut arguments).expect_err("findings");
    assert!(error.to_string().contains("src/kernels.rs"), "{error}");
    match error {
        Error::Launch(LaunchError::Findings { report: again, .. }) => {
            assert_eq!(kinds(&report), kinds(&again))
        }
        other => panic!("{other}"),
    }
}

#[test]
fn tensors_of_another_device() {
    let Some(device) = gpu() else {
        return;
    };
    let simulator = Device::simulator();
    let here = |device: &Device| device.upload(&input(8, 0.0), [8]).expect("a tensor");
    for (stream, other) in [(device.stream(), &simulator), (simulator.stream(), &device)] {
        let mut c = here(stream.device());
        let error =
            run(&stream, LaunchConfig::default(), &here(stream.device()), &here(other), &mut c, 1.0).err();
        let is_other = matches!(error, Some(Error::Launch(LaunchError::OtherDevice { argument: 1, .. })));
        assert!(is_other, "{error:?}");
        stream.synchronize().expect("nothing is left behind");
    }
}

#[test]
fn prepared_kernels_report_their_resources() {
    for device in devices() {
        let prepared = prepare(scale_add(), &device, None, Promises::USUAL).expect("a kernel");
        assert_eq!(prepared.promises(), Promises::USUAL);
        assert!(prepared.text().expect("the text").contains("scale_add"));
        let resources = prepared.resources().expect("counted");
        assert_eq!(resources.is_some(), !device.is_simulator());
        assert_eq!(prepared.cache_note(), Ok(None));
    }
}

#[test]
fn threads_share_what_is_ready() {
    for device in devices() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let stream = device.stream();
                    let up = || stream.upload(&input(64, 2.0), [64]).expect("a tensor");
                    let (a, b, mut c) = (up(), up(), up());
                    run(&stream, LaunchConfig::default(), &a, &b, &mut c, 1.0).expect("a launch");
                    let twice: Vec<f32> = input(64, 2.0).iter().map(|value| value * 2.0).collect();
                    assert_eq!(c.download().expect("data"), twice);
                });
            }
        });
    }
}
