//! The rules of tensor memory, on small kernels from text: descriptors, refusals, what is in order and what is not, and the
//! statements that allocate and free.

use layout_compiler::{Checked, Elem, LaunchArgument, Promises, compile, emit};
use layout_simulator::{FindingKind, Options, SimulatorArgument, simulate};

fn compiled(text: &str) -> Result<Checked, String> {
    let kernel = layout_text::kernel(text).map_err(|errors| format!("{errors:?}"))?;
    compile(&kernel, &Default::default(), Promises::USUAL).map_err(|errors| errors.to_string())
}

/// The bits of a descriptor in shared memory by the device function of the text, and where the table has each field.
fn fields(start: u64, leading: u64, stride: u64, swizzle: u64) -> [u64; 6] {
    // `tcgen05_descriptor`, as it is in C.
    let low = (start & 0x3ffff) >> 4 | leading >> 4 << 16;
    let bits = low | (stride >> 4 | 1 << 14) << 32 | swizzle << 62;
    let field = |first: u32, count: u32| bits >> first & ((1 << count) - 1);
    // What is in no field is 0.
    assert_eq!([field(14, 2), field(30, 2), field(49, 3), field(52, 1), field(53, 8)], [0; 5]);
    [field(0, 14), field(16, 14), field(32, 14), field(46, 3), field(61, 3), bits]
}

/// The numbers of each descriptor of a text, and the units of 16 bytes that are added to it.
fn descriptors(text: &str) -> Vec<[u64; 4]> {
    let calls = text.match_indices("= ").count();
    assert!(calls > 0);
    let mut found = Vec::new();
    for part in text.split("tcgen05_descriptor(shared_address(").skip(1) {
        let (_, rest) = part.split_once("), ").expect("an address");
        let (numbers, rest) = rest.split_once(')').expect("three numbers");
        let mut numbers = numbers.split(", ").map(|number| number.parse().expect("a number"));
        let mut next = || numbers.next().expect("a number");
        let units = rest.strip_prefix(" + ").map_or(0, |rest| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().expect("units")
        });
        found.push([next(), next(), next(), units]);
    }
    found
}

/// Element `(i, k)` of an operand as the matrix units find it by a descriptor is where the layout has it, over every layout
/// that is accepted: each type, each swizzle, each order of the modes, each step of 32 bytes of `k`.
#[test]
fn a_descriptor_is_its_layout() {
    let mut seen = 0;
    for (elem, size) in [(Elem::Bf16, 2), (Elem::F16, 2), (Elem::F32, 4), (Elem::E4m3, 1), (Elem::E5m2, 1)] {
        for span in [32u64, 64, 128] {
            let row = span / size;
            for k_major in [true, false] {
                // Of the other order there are 16-bit types only, and A has as many rows as a slab.
                if !k_major && (size != 2 || row != 64) {
                    continue;
                }
                let (rows, depth) = if k_major { (64, row) } else { (row, 16) };
                let (shape, view) = match k_major {
                    true => (format!("[{rows}, {depth}]"), ""),
                    false => (format!("[{depth}, {rows}]"), ".transpose()"),
                };
                let kernel = format!(
                    "#[tiled_kernel(arch = \"sm_100f\", block = [32], grid = [1])]
fn one(y: &mut LayoutTensor<f32, RowMajor<1>>) {{
    let a = shared::<{elem}>(row_major({shape}).swizzle_bytes({span}));
    let mut d = tensor_memory::<f32>([64, 64]);
    if thread_idx.x == 0 {{
        tcgen05_mma(&mut d, &a{view}, &a{other}, false);
    }}
    y[[0]] = 0.0;
}}",
                    other = if k_major { ".transpose()" } else { "" }
                );
                let checked = compiled(&kernel).unwrap_or_else(|errors| panic!("{errors}\n{kernel}"));
                let found = descriptors(&emit(&checked).text);
                assert_eq!(found.len() as u64, 2 * depth * size / 32, "{kernel}");
                for (number, [leading, stride, swizzle, units]) in found.into_iter().enumerate() {
                    let [start, leading, stride, version, mode, _] = fields(0, leading, stride, swizzle);
                    assert_eq!((start, leading, version), (0, 1, 1));
                    assert_eq!(
                        mode,
                        match span {
                            128 => 2,
                            64 => 4,
                            _ => 6,
                        }
                    );
                    let first = number as u64 / 2 * 32 / size;
                    for (i, k) in (0..rows).flat_map(|i| (0..32 / size).map(move |k| (i, k))) {
                        // PTX ISA, "Shared memory matrix layout": the units before the swizzle, then the swizzle.
                        let plain = units * 16
                            + match k_major {
                                true => i % 8 * span + i / 8 * (stride * 16) + k * size,
                                false => i * size + k % 8 * span + k / 8 * (stride * 16),
                            };
                        let swizzled = plain ^ (plain >> 7 & (span / 16 - 1)) << 4;
                        let (high, low) = if k_major { (i, first + k) } else { (first + k, i) };
                        let wanted = (high * row + low) * size;
                        let layout = wanted ^ (wanted >> 7 & (span / 16 - 1)) << 4;
                        assert_eq!(swizzled, layout, "{elem} over {span} bytes, ({i}, {k}) of step {number}");
                        seen += 1;
                    }
                }
            }
        }
    }
    assert!(seen > 10_000, "{seen}");
}

/// A kernel of one block around statements that use `d`, `a` and `b`.
fn small(head: &str, before: &str, statements: &str) -> String {
    format!(
        "#[tiled_kernel({head}, grid = [1])]
fn small(y: &mut LayoutTensor<f32, RowMajor<256>>) {{
    let mut a = shared::<bf16>(row_major([128, 64]).swizzle_bytes(128));
    {before}
    let done = mbarriers(2, 1);
    a.distribute(row_major([2, 64]), thread_idx.x % 128).fill(bf16::ONE);
    fence_async_proxy();
    barrier();
    let mut row = local::<f32>(row_major([64])).fill(1.0);
{statements}
    y[[thread_idx.x]] = row[[63]];
}}"
    )
}

const HEAD: &str = "arch = \"sm_100f\", block = [128]";
const WITH_D: &str = "let mut d = tensor_memory::<f32>([128, 64]);";

const WITH_BYTES: &str = "let mut d = tensor_memory::<i32>([128, 64]); let e = shared::<i8>(row_major([128, 128]).swizzle_bytes(128));";
/// The same, and a left operand in tensor memory.
const WITH_P: &str =
    "let mut d = tensor_memory::<f32>([128, 64]); let mut p = tensor_memory::<bf16>([128, 64]);
    let mut own = local::<bf16>(row_major([64])).fill(bf16::ONE);";

#[test]
fn what_the_tables_lack_is_refused_in_words() {
    let product = "tcgen05_mma(&mut d, &a, &a.tile([64, 64], [0, 0]).transpose(), false);";
    let load = "tcgen05_load(&mut row, &d.slice(warp_id()));";
    let bytes = "tcgen05_mma(&mut d, &e, &e.tile([64, 128], [0, 0]).transpose(), false);";
    for (head, before, statements, words) in [
        (HEAD, WITH_D, product, ""),
        (HEAD, WITH_D, load, ""),
        ("arch = \"sm_120f\", block = [128]", WITH_D, product, "sm_100f or sm_110f"),
        ("arch = \"sm_90a\", block = [128]", WITH_D, product, "sm_100f or sm_110f"),
        ("arch = \"sm_100\", block = [128]", WITH_D, product, "sm_100f or sm_110f"),
        ("arch = \"sm_100f\", block = [120]", WITH_D, load, "the block has 120 threads"),
        (HEAD, "let mut d = tensor_memory::<f32>([32, 64]);", "", "64 or 128 rows"),
        (HEAD, "let mut d = tensor_memory::<i16>([128, 64]);", "", "sums, which are of f32"),
        (HEAD, "let mut d = tensor_memory::<i32>([128, 64]);", product, "of bf16 into `d`, which is of i32"),
        (HEAD, WITH_BYTES, bytes, "sm_100a or sm_110a"),
        ("arch = \"sm_103a\", block = [128]", WITH_BYTES, bytes, "sm_100a or sm_110a"),
        ("arch = \"sm_100a\", block = [128]", WITH_BYTES, bytes, ""),
        (
            "arch = \"sm_100a\", block = [128]",
            "let mut d = tensor_memory::<i32>([64, 24]); let e = shared::<i8>(row_major([64, 128]).swizzle_bytes(128));",
            "tcgen05_mma(&mut d, &e, &e.tile([24, 128], [0, 0]).transpose(), false);",
            "into 64 rows of 24 columns",
        ),
        (
            HEAD,
            "let d = tensor_memory::<f32>([128, 500]); let e = tensor_memory::<f32>([64, 16]);",
            "",
            "reaches 516 columns",
        ),
        (HEAD, "let mut p = tensor_memory::<bf16>([128, 3]);", "", "rows of 3 elements of bf16"),
        (
            HEAD,
            "let d = tensor_memory::<f32>([128, 500]); let p = tensor_memory::<bf16>([128, 26]);",
            "",
            "reaches 513",
        ),
        (HEAD, WITH_P, "tcgen05_mma(&mut d, &p, &a.tile([64, 64], [0, 0]).transpose(), false);", ""),
        (
            HEAD,
            WITH_P,
            "tcgen05_mma(&mut p, &a, &a.tile([64, 64], [0, 0]).transpose(), false);",
            "which is of bf16",
        ),
        (HEAD, WITH_P, "tcgen05_load(&mut row, &p.slice(warp_id()));", "`p`, which is of bf16"),
        (HEAD, WITH_P, "tcgen05_store(&mut p.slice(warp_id()), &row);", "of 64 columns with `row`"),
        (
            HEAD,
            "let mut d = tensor_memory::<f32>([64, 64]); let mut p = tensor_memory::<bf16>([64, 64]);",
            "tcgen05_mma(&mut d, &p, &a.tile([64, 64], [0, 0]).transpose(), false);",
            "`p` of extents [4, 16, 64]",
        ),
        (
            HEAD,
            "let mut d = tensor_memory::<f32>([128, 64]); let mut p = tensor_memory::<f16>([128, 64]);",
            "tcgen05_mma(&mut d, &p, &a.tile([64, 64], [0, 0]).transpose(), false);",
            "of two element types",
        ),
        (
            HEAD,
            WITH_P,
            "let b = shared::<bf16>(row_major([64, 64]).swizzle_bytes(128)); tcgen05_mma(&mut d, &p.tile([4, 32, 8], [0, 0, 0]), \
             &b.tile([8, 64], [0, 0]), false);",
            "of (128, 8) by",
        ),
        (
            HEAD,
            WITH_P,
            "let own = local::<bf16>(row_major([3])); tcgen05_store(&mut p.slice(warp_id()).tile([32, 3], [0, 1]), &own);",
            "may begin within a column",
        ),
        (HEAD, WITH_D, "row[[0]] = d[[0, 0, 0]];", "`d`, which is in tensor memory"),
        (HEAD, WITH_D, "d.fill(0.0);", "`d`, which is in tensor memory"),
        (HEAD, WITH_D, "tcgen05_mma(&mut d, &a, &a.transpose(), false);", "into (128, 64)"),
        (
            HEAD,
            "let mut d = tensor_memory::<f32>([128, 8]);",
            "tcgen05_mma(&mut d, &a, &a.tile([8, 64], [0, 0]).transpose(), false);",
            "into 128 rows of 8 columns",
        ),
        (HEAD, WITH_D, "tcgen05_mma(&mut row, &a, &a, false);", "`row`, which is not in tensor memory"),
        (
            HEAD,
            WITH_D,
            "tcgen05_mma(&mut d, &a.tile([64, 64], [0, 0]), &a.tile([64, 64], [0, 0]).transpose(), false);",
            "of (64, 64) by (64, 64)",
        ),
        (
            HEAD,
            WITH_D,
            "tcgen05_load(&mut row, &d.slice(warp_id()).tile([32, 32], [0, 1]));",
            "of 32 columns with `row`",
        ),
        (
            HEAD,
            WITH_D,
            "tcgen05_load(&mut row, &d.slice(warp_id()).tile([16, 64], [0, 0]).transpose());",
            "tcgen05_load",
        ),
        (HEAD, WITH_D, "tcgen05_load(&mut row, &d.slice(lane_id()));", "may be out of bounds"),
        (HEAD, WITH_D, "if warp_id() == 1 { tcgen05_load(&mut row, &d.slice(0)); }", "another warp's"),
        (HEAD, WITH_D, "tcgen05_load(&mut row, &a);", "`a`, which is not in tensor memory"),
    ] {
        let text = small(head, before, statements);
        let found = compiled(&text).err().unwrap_or_default();
        assert!(found.contains(words) && found.is_empty() == words.is_empty(), "{words}: {found}\n{text}");
    }
}

/// What a kernel of one block is found to do wrong first.
fn first(text: &str, change: impl FnOnce(Checked) -> Checked) -> (Option<FindingKind>, String) {
    let checked = change(compiled(text).unwrap_or_else(|errors| panic!("{errors}\n{text}")));
    let tensor =
        LaunchArgument::Tensor { elem: Elem::F32, shape: &[256], strides: &[1], address: 256, len: 256 };
    let bound = checked.plan().bind(&[tensor], None).expect("it fits");
    let mut bytes = vec![0; 1024];
    let report = simulate(&checked, &bound, &mut [SimulatorArgument::Write(&mut bytes)], &Options::default());
    let report = report.expect("it runs");
    (report.findings.first().map(|found| found.kind), report.to_string())
}

#[test]
fn what_is_not_in_order_is_found_and_what_is_is_not() {
    use FindingKind::{MissingFence, MissingWait, Uninitialised};
    let one = "tcgen05_mma(&mut d, &a, &a.tile([64, 64], [0, 0]).transpose(), false);";
    let other =
        "tcgen05_mma(&mut d.tile([4, 32, 32], [0, 0, 1]), &a, &a.tile([32, 64], [0, 0]).transpose(), true);";
    let (commit, wait) =
        ("tcgen05_commit(done.at(0));", "done.at(0).wait(0); tcgen05_fence_after_thread_sync();");
    let (load, loaded) = ("tcgen05_load(&mut row, &d.slice(warp_id()));", "tcgen05_wait_load();");
    let (store, stored) = ("tcgen05_store(&mut d.slice(warp_id()), &row);", "tcgen05_wait_store();");
    let by_one = |list: &[&str]| format!("if thread_idx.x == 0 {{ {} }}", list.join(" "));
    let before = "tcgen05_fence_before_thread_sync();";
    for (statements, wanted) in [
        // Two products of one form are in order, of two forms they are not, nor are those of two warps.
        (vec![by_one(&[one, one, commit]), wait.into(), load.into(), loaded.into()], None),
        (vec![by_one(&[one, other, commit]), wait.into(), load.into(), loaded.into()], Some(MissingWait)),
        (
            vec![
                by_one(&[one, commit, wait, other, "tcgen05_commit(done.at(1));"]),
                "done.at(1).wait(0);".into(),
                wait.into(),
                load.into(),
                loaded.into(),
            ],
            None,
        ),
        (
            vec![format!("if lane_id() == 0 {{ {one} {commit} }}"), wait.into(), load.into(), loaded.into()],
            Some(MissingWait),
        ),
        // A warp's own moves need the wait and no fence; those of another warp both fences.
        (vec![store.into(), stored.into(), load.into(), loaded.into()], None),
        (vec![store.into(), load.into(), loaded.into(), stored.into()], Some(MissingWait)),
        (vec![load.into(), loaded.into()], Some(Uninitialised)),
        (vec![load.into(), "row.fill(0.0);".into(), loaded.into()], Some(Uninitialised)),
        (
            vec![store.into(), stored.into(), load.into(), "row[[0]] += 1.0;".into(), loaded.into()],
            Some(MissingWait),
        ),
        (
            vec![
                store.into(),
                stored.into(),
                "barrier();".into(),
                by_one(&[one, commit]),
                wait.into(),
                load.into(),
                loaded.into(),
            ],
            Some(MissingFence),
        ),
        (
            vec![
                store.into(),
                stored.into(),
                before.into(),
                "barrier();".into(),
                by_one(&["tcgen05_fence_after_thread_sync();", one, commit]),
                wait.into(),
                load.into(),
                loaded.into(),
            ],
            None,
        ),
        (
            vec![
                store.into(),
                stored.into(),
                before.into(),
                by_one(&["tcgen05_fence_after_thread_sync();", one, commit]),
                wait.into(),
                load.into(),
                loaded.into(),
            ],
            Some(MissingWait),
        ),
        // An operand that threads write.
        (
            vec![
                "a[[thread_idx.x, 0]] = bf16::ZERO; barrier();".into(),
                by_one(&[one, commit]),
                wait.into(),
                load.into(),
                loaded.into(),
            ],
            Some(MissingFence),
        ),
        (
            vec![
                by_one(&[one, commit]),
                "a[[thread_idx.x, 0]] = bf16::ZERO;".into(),
                wait.into(),
                load.into(),
                loaded.into(),
            ],
            Some(MissingWait),
        ),
        // Nothing waits for the product before the end frees its columns.
        (vec![by_one(&[one, commit])], Some(MissingWait)),
    ] {
        let text = small(HEAD, WITH_D, &statements.join("\n"));
        let (found, report) = first(&text, |checked| checked);
        assert_eq!(found, wanted, "{text}\n{report}");
    }
}

/// A left operand in tensor memory is read by the product, from its issue to its commit's arrival.
#[test]
fn a_left_operand_is_in_order() {
    use FindingKind::{MissingFence, MissingWait, Overwritten, Uninitialised};
    let (store, stored) = ("tcgen05_store(&mut p.slice(warp_id()), &own);", "tcgen05_wait_store();");
    let (before, after) = ("tcgen05_fence_before_thread_sync();", "tcgen05_fence_after_thread_sync();");
    let product = "tcgen05_mma(&mut d, &p, &a.tile([64, 64], [0, 0]).transpose(), false);";
    let issue =
        |fence: &str| format!("if thread_idx.x == 0 {{ {fence} {product} tcgen05_commit(done.at(0)); }}");
    let end = format!(
        "done.at(0).wait(0); {after} tcgen05_load(&mut row, &d.slice(warp_id())); tcgen05_wait_load();"
    );
    let barrier = "barrier();";
    for (statements, wanted) in [
        (vec![store, stored, before, barrier, &issue(after), &end], None),
        (vec![before, barrier, &issue(after), &end], Some(Uninitialised)),
        (vec![store, before, barrier, &issue(after), stored, &end], Some(MissingWait)),
        (vec![store, stored, barrier, &issue(after), &end], Some(MissingFence)),
        (vec![store, stored, before, barrier, &issue(""), &end], Some(MissingFence)),
        (vec![store, stored, before, barrier, &issue(after), store, stored, &end], Some(MissingWait)),
        (vec![store, stored, before, barrier, &issue(after), &end, store, stored], None),
    ] {
        let text = small(HEAD, WITH_P, &statements.join("\n"));
        let (found, report) = first(&text, |checked| checked);
        let same = found == wanted || wanted == Some(MissingWait) && found == Some(Overwritten);
        assert!(same, "{wanted:?}: {text}\n{report}");
    }
}

/// The statements around a kernel's own, each deleted.
#[test]
fn what_allocates_and_frees_is_held_to_the_same_rules() {
    use FindingKind::{InFlightAtEnd, MissingFence, ReadWriteRace, Uninitialised};
    let statements = "tcgen05_store(&mut d.slice(warp_id()), &row); tcgen05_wait_store();
        tcgen05_load(&mut row, &d.slice(warp_id())); tcgen05_wait_load();";
    let text = small(HEAD, WITH_D, statements);
    let whole = compiled(&text).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(first(&text, |checked| checked).0, None);
    let last = whole.body().len() - 1;
    // Allocate, fence, barrier, fence, read the address; fence, barrier, fence, free. The fences around the allocation order
    // nothing that the address does not.
    for (deleted, wanted) in [
        (0, Uninitialised),
        (2, ReadWriteRace),
        (last - 3, MissingFence),
        (last - 2, ReadWriteRace),
        (last - 1, MissingFence),
        (last, InFlightAtEnd),
    ] {
        let (found, report) = first(&text, |checked| {
            let mut body = checked.body().to_vec();
            body.remove(deleted);
            Checked::unchecked(checked.plan().clone(), checked.tables().clone(), body)
        });
        assert!(
            found == Some(wanted) || wanted == ReadWriteRace && found.is_some(),
            "{deleted}: {found:?}\n{report}"
        );
    }
}
