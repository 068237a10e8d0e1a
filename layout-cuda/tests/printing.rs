//! What kernels print and assert on the simulator, against Rust's own `format!`; and NVRTC takes their texts.

use layout_cuda::nvrtc;
use layout_cuda::{Device, Error, FindingKind, LaunchConfig, Options, bf16, f16, tiled_kernel};

#[tiled_kernel(block = [8], grid = [1])]
fn numbers(
    x: &LayoutTensor<f32, RowMajor<8>>,
    h: &LayoutTensor<f16, RowMajor<8>>,
    b: &LayoutTensor<bf16, RowMajor<8>>,
    d: &LayoutTensor<f64, RowMajor<8>>,
    k: &LayoutTensor<i64, RowMajor<8>>,
) {
    let i = thread_idx.x;
    println!(
        "{} {:?} {:+.3} {:e} {:10.2}|{:<8}|{:08.1}",
        x[[i]],
        x[[i]],
        x[[i]],
        x[[i]],
        x[[i]],
        x[[i]],
        x[[i]]
    );
    println!("{} {:?} {} {:.1} {d} {:.4E}", h[[i]], h[[i]], b[[i]], b[[i]], d[[i]], d = d[[i]]);
    let (n, m, byte) = (k[[i]], k[[i]] as u64, k[[i]] as i8);
    println!("{n} {m} {byte} {n:x} {m:#X} {byte:#06x} {byte:o} {n:+} {m:>22} {0}", k[[i]] as u16);
    println!("{} {:?} {i} {i:>4} {{}} 100% {:6}|", n > 0, n < 0, n == 0);
    println!("{:?} {:?} {:.1?}", (n, i), [byte, 1], [x[[i]], 2.0]);
    println!("{:#?} {:?}", [(byte, true)], (byte,));
}

#[test]
fn values_are_written_as_rust_writes_them() -> Result<(), Error> {
    let device = Device::simulator();
    let x = [0.0f32, -0.0, 1.0, 0.1, -2.5, 1e20, f32::NAN, f32::NEG_INFINITY];
    let k = [0i64, 1, -1, 127, -128, i64::MIN, i64::MAX, 300];
    let (h, b) = (x.map(f16::from_f32), x.map(bf16::from_f32));
    let d = x.map(|x| f64::from(x) / 3.0);
    let report = numbers::simulate(
        &device.upload(&x, [8])?,
        &device.upload(&h, [8])?,
        &device.upload(&b, [8])?,
        &device.upload(&d, [8])?,
        &device.upload(&k, [8])?,
    )?;
    let mut wanted = String::new();
    for i in 0..8 {
        let (x, h, b, d, n) = (x[i], h[i], b[i], d[i], k[i]);
        let (m, byte) = (n as u64, n as i8);
        wanted += &format!("{} {:?} {:+.3} {:e} {:10.2}|{:<8}|{:08.1}\n", x, x, x, x, x, x, x);
        wanted += &format!("{} {:?} {} {:.1} {d} {:.4E}\n", h, h, b, b.to_f32(), d, d = d);
        wanted += &format!("{n} {m} {byte} {n:x} {m:#X} {byte:#06x} {byte:o} {n:+} {m:>22} {0}\n", n as u16);
        wanted += &format!("{} {:?} {i} {i:>4} {{}} 100% {:6}|\n", n > 0, n < 0, n == 0);
        wanted += &format!("{:?} {:?} {:.1?}\n", (n, i), [byte, 1], [x, 2.0]);
        wanted += &format!("{:#?} {:?}\n", [(byte, true)], (byte,));
    }
    assert_eq!(report.output(), wanted);
    assert!(report.clean() && report.unprinted == 0);
    Ok(())
}

#[tiled_kernel(block = [64], grid = [3])]
fn ordered(x: &mut LayoutTensor<i32, RowMajor<192>>) {
    let i = 64 * block_idx.x + thread_idx.x;
    print!("{i} ");
    barrier();
    if thread_idx.x >= 62 {
        x[[i]] = dbg!(i as i32 + 1);
    }
}

#[test]
fn texts_are_in_the_order_of_blocks_threads_and_the_program() -> Result<(), Error> {
    let mut x = Device::simulator().zeros::<i32, 1>([192])?;
    for threads in [1, 3] {
        let options = Options { threads, ..Options::default() };
        let report = ordered::simulate_with(LaunchConfig::default(), &options, &mut x)?;
        let mut wanted = String::new();
        for i in 0..192 {
            wanted += &format!("{i} ");
            if i % 64 >= 62 {
                let (file, line) = (file!(), report.printed[63].line);
                wanted += &format!("[{file}:{line}] i as i32 + 1 = {}\n", i + 1);
            }
        }
        assert_eq!(report.output(), wanted);
        let last = report.printed.last().expect("texts");
        assert_eq!((last.block, last.thread), ([2, 0, 0], [63, 0, 0]));
        assert!(format!("{last:#}").contains("thread (63, 0, 0) of block (2, 0, 0)] ["));
    }
    assert_eq!(x.download()?[191], 192);
    Ok(())
}

#[tiled_kernel(block = [1], grid = [1])]
fn views(x: &LayoutTensor<f32, RowMajor<4, 6>>) {
    println!("{}", x.tile([2, 3], [1, 1]));
    println!("{:.1}", x.tile([2, 3], [0, 0]).transpose());
    let mut own = local::<i32>(row_major([3]));
    own.fill(4);
    own[[1]] = 5;
    println!("own = {own:3}");
    let mut array = [1, 2];
    array[0] = 7;
    println!("{array:?}");
}

#[test]
fn a_view_is_printed_by_its_coordinates() -> Result<(), Error> {
    let x: Vec<f32> = (0..24).map(|i| i as f32 / 2.0).collect();
    let report = views::simulate(&Device::simulator().upload(&x, [4, 6])?)?;
    assert_eq!(
        report.output(),
        "[[7.5, 8, 8.5],\n [10.5, 11, 11.5]]\n[[0.0, 3.0],\n [0.5, 3.5],\n [1.0, 4.0]]\nown = [  4,   5,   4]\n[7, 2]\n"
    );
    Ok(())
}

#[tiled_kernel(block = [8], grid = [1])]
fn asserted<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>, y: &LayoutTensor<i32, RowMajor<8>>) {
    let i = thread_idx.x;
    assert!(i < N, "{i} of {N}");
    let k = y[[i]];
    assert_eq!(k % 2, 0, "of {}", k);
    assert_ne!(k, 6);
    debug_assert!(k >= 0);
    x[[i]] = 1.0;
    if k == 8 {
        panic!("{:?}", (k, true));
    }
}

#[test]
fn an_assertion_that_fails_is_a_finding() -> Result<(), Error> {
    let device = Device::simulator();
    let y = device.upload(&[0, 2, 3, 4, 6, -2, 5, 8], [8])?;
    let report = asserted::simulate(&mut device.zeros::<f32, 1>([8])?, &y)?;
    let found: Vec<_> = report
        .findings
        .iter()
        .map(|one| (one.kind, one.message.as_str(), one.thread[0], one.count))
        .collect();
    let kind = FindingKind::AssertionFailed;
    assert_eq!(
        found,
        [
            (kind, "of 3: k % 2 == 0, left: 1, right: 0", 2, 2),
            (kind, "k != 6, left: 6, right: 6", 4, 1),
            (kind, "k >= 0", 5, 1),
            (kind, "(8, true)", 7, 1),
        ]
    );
    let short = asserted::simulate(&mut device.zeros::<f32, 1>([5])?, &y)?;
    assert_eq!((short.findings[0].message.as_str(), short.findings[0].count), ("5 of 5", 3));
    let launched = asserted::launch(&device.stream(), &mut device.zeros::<f32, 1>([8])?, &y);
    assert!(launched.expect_err("a finding").to_string().contains("assertion failed: of 3"));
    Ok(())
}

#[tiled_kernel(block = [8], grid = [N.div_ceil(8)])]
fn debugged<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
    let i = 8 * block_idx.x + thread_idx.x;
    debug_assert!(i < N);
    x[[i]] = 1.0;
}

#[test]
fn an_assertion_is_a_fact_and_a_debug_assertion_is_none() {
    let text = asserted::SOURCE;
    assert!(!text.contains("? x[") && text.contains("\n    x[") && !text.contains("k >= 0"), "{text}");
    assert!(text.contains("unsigned long long* failure") && !text.contains("printf"), "{text}");
    let text = debugged::SOURCE;
    assert!(text.contains("< N) {\n        x[") && !text.contains("assertion_failed"), "{text}");
}

#[test]
fn nvrtc_takes_what_prints_and_asserts() {
    let definitions = [&numbers::DEFINITION, &ordered::DEFINITION, &views::DEFINITION, &asserted::DEFINITION];
    for variant in definitions.into_iter().flat_map(|definition| definition.variants) {
        for arch in ["sm_80", "sm_90a"] {
            let compiled = nvrtc::compile(variant.text, arch, variant.flags);
            let compiled = compiled.unwrap_or_else(|error| panic!("{error}\n{}", variant.text));
            assert!(!compiled.log.contains("warning"), "{}\n{}", compiled.log, variant.text);
        }
    }
}

#[test]
fn a_gpu_prints_and_stops_at_an_assertion() -> Result<(), Error> {
    const CHILD: &str = "LAYOUT_PRINTING_CHILD";
    let device = match Device::gpu(0) {
        Ok(device) => device,
        Err(error) => {
            let required = std::env::var("REQUIRE_GPU").is_ok_and(|value| value == "1");
            assert!(!required, "REQUIRE_GPU=1, and {error}");
            println!("skipped: no device");
            return Ok(());
        }
    };
    if std::env::var_os(CHILD).is_some() {
        let stream = device.stream();
        ordered::launch(&stream, &mut device.zeros::<i32, 1>([192])?)?;
        stream.synchronize()?;
        let y = device.upload(&[0, 2, 3, 4, -2, 2, 0, 2], [8])?;
        let launched = asserted::launch(&stream, &mut device.zeros::<f32, 1>([8])?, &y);
        println!("{}", launched.and_then(|()| stream.synchronize()).expect_err("thread 2 fails"));
        return Ok(());
    }
    // The assertion ends the process's context.
    let own = std::env::current_exe().expect("the test program");
    let own = std::process::Command::new(own)
        .args(["--exact", "a_gpu_prints_and_stops_at_an_assertion", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .expect("a process");
    let text = String::from_utf8_lossy(&own.stdout);
    assert!(text.contains("] i as i32 + 1 = 192\n") && text.contains("191 "), "{text}");
    let failed = "kernel `asserted`: assertion failed: of 3: k % 2 == 0, left: 1, right: 0\n";
    assert!(text.contains(failed) && text.contains("thread (2, 0, 0) of block (0, 0, 0)"), "{text}");
    Ok(())
}
