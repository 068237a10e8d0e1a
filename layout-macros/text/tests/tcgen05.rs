//! Products in tensor memory, from the text of a kernel: the results, the schedules, the mistakes and the refusals.

use layout_compiler::{Checked, Elem, LaunchArgument, ParamSet, ParamValue, Promises, compile, small_float};
use layout_simulator::{FindingKind, Options, Report, SimulatorArgument, simulate};

/// `c = a bᵀ`: a producer fills a ring by TMA, one thread multiplies, four warps store the tile; `T`, `BM`, `BN` and `BK` are parameters of the
/// text, `FLAW` of the kernel.
const MATMUL: &str = "#[tiled_kernel(FLAW = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14], BM = {BM}, BN = {BN}, BK = {BK}, STAGES = 2,
    arch = \"{ARCH}\", block = [192], grid = [N.div_ceil(BN), 1])]
fn matmul<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<{T}, Pitched<M, K>>,
    b: &LayoutTensor<{T}, Pitched<N, K>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let a_smem = shared::<{T}>(row_major([STAGES, BM, BK]).swizzle_bytes({SWIZZLE}));
    let b_smem = shared::<{T}>(row_major([STAGES, BN, BK]).swizzle_bytes({SWIZZLE}));
    let mut d = tensor_memory::<f32>([BM, BN]); // here: allocates
    let (full, empty) = (mbarriers(STAGES, 1), mbarriers(STAGES, 1));
    let (done, free) = (mbarriers(1, 1), mbarriers(1, 128));
    barrier();
    let warp = warp_id();
    let tiles = M.div_ceil(BM);
    if warp == 4 {
        if elect_one() {
            let mut next = pipeline_state(STAGES);
            for tile in 0..tiles {
                for block in 0..K.div_ceil(BK) {
                    let stage = next.stage();
                    let (mut a_stage, mut b_stage) = (a_smem.slice(stage), b_smem.slice(stage));
                    empty.at(stage).wait(1 - next.phase());
                    full.at(stage).arrive_expect(a_stage.bytes() + b_stage.bytes());
                    tma_load(&mut a_stage, &a.tile([BM, BK], [tile, block]), full.at(stage)); // here: fills
                    tma_load(&mut b_stage, &b.tile([BN, BK], [block_idx.x, block]), full.at(stage));
                    next.advance();
                }
            }
        }
    } else if warp == 5 {
        if FLAW == 11 || elect_one() {
            let mut next = pipeline_state(STAGES);
            for tile in 0..tiles {
                if FLAW != 6 {
                    free.at(0).wait((tile + 1) % 2);
                }
                if FLAW != 7 {
                    tcgen05_fence_after_thread_sync();
                }
                for block in 0..K.div_ceil(BK) {
                    let stage = next.stage();
                    if FLAW != 8 {
                        full.at(stage).wait(next.phase());
                    }
                    if FLAW == 5 {
                        tcgen05_commit(empty.at(stage));
                    }
                    let add = FLAW == 9 || block > 0;
                    tcgen05_mma(&mut d, &a_smem.slice(stage), &b_smem.slice(stage).transpose(), add); // here: multiplies
                    if FLAW != 10 && FLAW != 5 {
                        tcgen05_commit(empty.at(stage));
                    }
                    next.advance();
                }
                if FLAW != 1 {
                    tcgen05_commit(done.at(0)); // here: commits
                }
            }
        }
    } else {
        let mut row = local::<f32>(row_major([BN]));
        for tile in 0..tiles {
            if FLAW != 2 {
                done.at(0).wait(tile % 2); // here: waits
            }
            if FLAW != 3 {
                tcgen05_fence_after_thread_sync();
            }
            tcgen05_load(&mut row, &d.slice({WARP})); // here: loads
            if FLAW == 13 {
                tcgen05_fence_before_thread_sync();
                free.at(0).arrive(); // here: releases
            }
            if FLAW != 4 {
                tcgen05_wait_load();
            }
            if FLAW != 12 {
                tcgen05_fence_before_thread_sync();
            }
            if FLAW != 13 {
                free.at(0).arrive();
            }
            let own = {ROW};
            if {HOLDS} {
                c.tile([BM, BN], [tile, block_idx.x]).tile([1, BN], [own, 0]).squeeze(0).copy_from(&row); // here: stores
            }
            if FLAW == 4 {
                tcgen05_wait_load();
            }
            if FLAW == 14 {
                tcgen05_load(&mut row, &d.slice(warp % 4));
                tcgen05_wait_load();
            }
        }
    }
}";

struct Form {
    elem: Elem,
    rows: i64,
    columns: i64,
    swizzle: i64,
    arch: &'static str,
}

const USUAL: Form = Form { elem: Elem::Bf16, rows: 128, columns: 32, swizzle: 128, arch: "sm_100f" };

fn text(form: &Form) -> String {
    let depth = form.swizzle / i64::from(form.elem.bytes());
    let (row, holds) = match form.rows {
        128 => ("32 * warp + lane_id()", "true"),
        _ => ("16 * warp + lane_id() % 16", "lane_id() < 16"),
    };
    (MATMUL.replace("{T}", &form.elem.to_string()).replace("{BM}", &form.rows.to_string()))
        .replace("{BN}", &form.columns.to_string())
        .replace("{BK}", &depth.to_string())
        .replace("{SWIZZLE}", &form.swizzle.to_string())
        .replace("{ARCH}", form.arch)
        .replace("{ROW}", row)
        .replace("{HOLDS}", holds)
        .replace("{WARP}", "warp % 4")
}

fn compiled(text: &str, flaw: i64) -> Result<Checked, String> {
    let kernel = layout_text::kernel(text).map_err(|errors| format!("{errors:?}"))?;
    let of = |set: &ParamSet| set.get("FLAW").is_none_or(|value| value == ParamValue::Int(flaw));
    let set = kernel.parameter_sets().into_iter().find(of).unwrap_or_default();
    compile(&kernel, &set, Promises::USUAL).map_err(|errors| errors.to_string())
}

/// Small whole numbers, and their bytes.
fn numbers(count: usize, elem: Elem, salt: usize) -> (Vec<f32>, Vec<u8>) {
    let values: Vec<f32> = (0..count).map(|i| ((i * 7 + i / 13 + salt) % 5) as f32 - 2.0).collect();
    let bytes = values.iter().flat_map(|value| match elem {
        Elem::F32 => value.to_le_bytes().to_vec(),
        small => small_float::encode(*value, small).to_le_bytes()[..small.bytes() as usize].to_vec(),
    });
    let bytes = bytes.collect();
    (values, bytes)
}

/// The report of a launch, and how many results are wrong.
fn run(checked: &Checked, elem: Elem, [m, n, k]: [usize; 3], options: &Options) -> (Report, usize) {
    // Rows begin at multiples of 16 bytes.
    let pitch = k.next_multiple_of(16);
    let (a, a_bytes) = numbers(m * pitch, elem, 1);
    let (b, b_bytes) = numbers(n * pitch, elem, 3);
    let (a_shape, b_shape, c_shape) = ([m, k], [n, k], [m, n]);
    let (pitched, plain) = ([pitch, 1], [n, 1]);
    let arguments = [
        LaunchArgument::Tensor { elem, shape: &a_shape, strides: &pitched, address: 1 << 20, len: m * pitch },
        LaunchArgument::Tensor { elem, shape: &b_shape, strides: &pitched, address: 1 << 21, len: n * pitch },
        LaunchArgument::Tensor {
            elem: Elem::F32,
            shape: &c_shape,
            strides: &plain,
            address: 1 << 22,
            len: m * n,
        },
    ];
    let bound = checked.plan().bind(&arguments, None).expect("it fits");
    let mut c = vec![0u8; m * n * 4];
    let mut memory = [
        SimulatorArgument::Read(&a_bytes),
        SimulatorArgument::Read(&b_bytes),
        SimulatorArgument::Write(&mut c),
    ];
    let report = simulate(checked, &bound, &mut memory, options).expect("it runs");
    let wrong = (0..m * n).filter(|at| {
        let (i, j) = (at / n, at % n);
        let sum: f32 = (0..k).map(|k| a[i * pitch + k] * b[j * pitch + k]).sum();
        c[4 * at..4 * at + 4] != sum.to_le_bytes()
    });
    let wrong = wrong.count();
    (report, wrong)
}

#[test]
fn products_of_every_kind_are_right_at_odd_sizes() {
    for elem in [Elem::Bf16, Elem::F16, Elem::F32, Elem::E4m3, Elem::E5m2] {
        for (rows, columns, swizzle) in [(128, 32, 128), (64, 24, 64), (128, 48, 32)] {
            let form = Form { elem, rows, columns, swizzle, ..USUAL };
            let checked = compiled(&text(&form), 0).unwrap_or_else(|errors| panic!("{errors}"));
            for sizes in [[1, 1, 1], [130, 37, 97], [200, 32, 64]] {
                let (report, wrong) = run(&checked, elem, sizes, &Options::default());
                assert!(
                    report.clean() && wrong == 0,
                    "{elem} {rows} {columns} {sizes:?}: {wrong} wrong\n{report}"
                );
            }
        }
    }
}

#[test]
fn every_schedule_gives_the_same_and_no_finding() {
    let checked = compiled(&text(&USUAL), 0).unwrap_or_else(|errors| panic!("{errors}"));
    let options = Options { schedules: 100, ..Options::default() };
    let (report, wrong) = run(&checked, Elem::Bf16, [130, 37, 150], &options);
    assert!(report.clean() && wrong == 0, "{wrong} wrong\n{report}");
}

/// Whether a finding of this kind and these words is the first one, at the line that ends so.
fn expect(text: &str, flaw: i64, kind: FindingKind, mark: &str, words: &str) -> String {
    let checked = compiled(text, flaw).unwrap_or_else(|errors| panic!("{errors}"));
    let (report, _) = run(&checked, Elem::Bf16, [300, 32, 300], &Options::default());
    let line =
        text.lines().position(|line| line.ends_with(&format!("// here: {mark}"))).map_or(0, |at| at + 1);
    let first = report.findings.first();
    let found = first.is_some_and(|found| {
        found.kind == kind && found.line == line as u32 && found.message.contains(words)
    });
    if found { String::new() } else { format!("flaw {flaw}: {kind:?} in line {line}\n{report}") }
}

/// The mistakes that people made with tensor memory, each found with its cause first.
#[test]
fn mistakes_are_found_with_their_cause_first() {
    use FindingKind::{
        Deadlock, DivergentBarrier, InFlightAtEnd, MissingFence, MissingWait, OutOfBounds, Overwritten,
        Uninitialised,
    };
    let usual = text(&USUAL);
    let mut missed = String::new();
    for (flaw, kind, mark, words) in [
        (1, Deadlock, "waits", "of `done`, which is in phase 0 with 1 of 1 arrivals"),
        (2, Uninitialised, "loads", "no wait before it for an mbarrier with a `tcgen05_commit`"),
        (3, MissingFence, "loads", "without `tcgen05_fence_after_thread_sync()`"),
        (4, MissingWait, "stores", "no `tcgen05_wait_load()`"),
        (5, Overwritten, "fills", "a product that warp 5 issues"),
        (6, MissingWait, "loads", "while the product in line 50 is in flight"),
        (7, MissingFence, "multiplies", "without `tcgen05_fence_after_thread_sync()`"),
        (8, MissingWait, "multiplies", "while a copy to it is in flight"),
        (9, Uninitialised, "multiplies", "which nothing has written"),
        (10, Deadlock, "waits", ""),
        (11, DivergentBarrier, "multiplies", "32 threads"),
        (12, MissingFence, "multiplies", "no `tcgen05_fence_before_thread_sync()`"),
        (13, Overwritten, "multiplies", "the load of warp"),
    ] {
        missed.push_str(&expect(&usual, flaw, kind, mark, words));
    }
    let never = usual.replace("if FLAW != 10 && FLAW != 5 {", "if false {");
    missed += &expect(&never, 1, InFlightAtEnd, "multiplies", "never committed");
    let other = usual.replace("d.slice(warp % 4)); // here", "d.slice((warp + 1) % 4)); // here");
    missed += &expect(&other, 0, OutOfBounds, "loads", "which reaches 0 to 31 only");
    assert!(missed.is_empty(), "{missed}");
}
