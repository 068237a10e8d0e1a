//! Kernels with mbarriers, TMA, `wgmma` and copies in flight, each with the ways to get it wrong: no wrong one is certified.
//!
//! Law: a wrong kernel is the right one with one piece of its text exchanged, so that what is refused is the mistake.

use layout_compiler::{Certificate, Promises, certify, compile, damaged};

/// A kernel that is right, and its mistakes: each a name, what is exchanged, and for what.
struct Planted {
    name: &'static str,
    text: &'static str,
    wrong: &'static [(&'static str, &'static str, &'static str)],
}

/// A warp fills two stages by TMA, two warps read them.
const ROLES: Planted = Planted {
    name: "a ring of two roles",
    text: "#[tiled_kernel(arch = \"sm_90a\", block = [96], grid = [1])]
fn one<const M: usize>(x: &LayoutTensor<f32, RowMajor<M, 64>>, y: &mut LayoutTensor<f32, RowMajor<64>>) {
    let stages = shared::<f32>(row_major([2, 1, 64]));
    let (full, empty) = (mbarriers(2, 1), mbarriers(2, 64));
    let t = thread_idx.x;
    barrier();
    if t == 64 {
        let (mut stage, mut phase) = (0, 0);
        for row in 0..M {
            empty.at(stage).wait(1 - phase);
            let mut to = stages.slice(stage);
            full.at(stage).arrive_expect(256);
            tma_load(&mut to, &x.tile([1, 64], [row, 0]), full.at(stage));
            if stage == 1 { stage = 0; phase = 1 - phase; } else { stage += 1; }
        }
    } else if t < 64 {
        let mut acc = 0.0f32;
        let (mut stage, mut phase) = (0, 0);
        for round in 0..M {
            full.at(stage).wait(phase);
            acc += stages.slice(stage)[[0, 63 - t]];
            empty.at(stage).arrive();
            if stage == 2 - 1 { stage = 0; phase = 1 - phase; } else { stage += 1; }
        }
        y[[t]] = acc;
    }
}
",
    wrong: &[
        ("the producer does not wait", "empty.at(stage).wait(1 - phase);", ""),
        (
            "the producer waits for the other parity",
            "empty.at(stage).wait(1 - phase)",
            "empty.at(stage).wait(phase)",
        ),
        (
            "the producer waits after its load",
            "empty.at(stage).wait(1 - phase);\n            let mut to = stages.slice(stage);\n            full.at(stage).arrive_expect(256);",
            "let mut to = stages.slice(stage);\n            full.at(stage).arrive_expect(256);",
        ),
        ("the consumer does not wait", "full.at(stage).wait(phase);", ""),
        (
            "the consumer waits for the other parity",
            "full.at(stage).wait(phase)",
            "full.at(stage).wait(1 - phase)",
        ),
        ("one warp of two waits", "full.at(stage).wait(phase);", "if t < 32 { full.at(stage).wait(phase); }"),
        (
            "it waits after its read",
            "full.at(stage).wait(phase);\n            acc += stages.slice(stage)[[0, 63 - t]];",
            "acc += stages.slice(stage)[[0, 63 - t]];\n            full.at(stage).wait(phase);",
        ),
        (
            "it gives back before its read",
            "acc += stages.slice(stage)[[0, 63 - t]];\n            empty.at(stage).arrive();",
            "empty.at(stage).arrive();\n            acc += stages.slice(stage)[[0, 63 - t]];",
        ),
        ("half the arrivals count", "mbarriers(2, 64)", "mbarriers(2, 32)"),
        ("one arrival less counts", "mbarriers(2, 64)", "mbarriers(2, 63)"),
        ("half the bytes are expected", "arrive_expect(256)", "arrive_expect(128)"),
        ("it reads the other stage", "acc += stages.slice(stage)", "acc += stages.slice(1 - stage)"),
        ("it gives back the other stage", "empty.at(stage).arrive()", "empty.at(1 - stage).arrive()"),
        ("it waits for the other stage", "full.at(stage).wait", "full.at(1 - stage).wait"),
        (
            "the load reports to the other stage",
            "[row, 0]), full.at(stage))",
            "[row, 0]), full.at(1 - stage))",
        ),
        ("two threads produce", "if t == 64 {", "if t == 64 || t == 65 {"),
        ("parity by rounds, not by stages", "full.at(stage).wait(phase)", "full.at(stage).wait(round % 2)"),
        ("a consumer produces", "if t == 64 {", "if t == 32 {"),
        (
            "it arrives twice",
            "empty.at(stage).arrive();",
            "empty.at(stage).arrive(); empty.at(stage).arrive();",
        ),
        ("it arrives by data", "empty.at(stage).arrive();", "if acc > 0.0 { empty.at(stage).arrive(); }"),
        (
            "every other round waits",
            "for row in 0..M {\n            empty.at(stage).wait(1 - phase);",
            "for row in 0..M {\n            if row % 2 == 0 { empty.at(stage).wait(1 - phase); }",
        ),
        (
            "a write to what TMA fills",
            "acc += stages.slice(stage)[[0, 63 - t]];",
            "acc += stages.slice(stage)[[0, 63 - t]]; let mut own = stages.slice(stage); own[[0, t]] = 0.0;",
        ),
        (
            "a third warp that only reads",
            "if t == 64 {",
            "if t > 64 { y[[t - 65]] = stages.slice(0)[[0, 0]]; }\n    if t == 64 {",
        ),
    ],
};

/// All threads wait; barriers give stages back.
const BARRIERS: Planted = Planted {
    name: "a ring by barriers",
    text: "#[tiled_kernel(arch = \"sm_90a\", block = [64], grid = [1])]
fn one<const M: usize>(x: &LayoutTensor<f32, RowMajor<M, 64>>, y: &mut LayoutTensor<f32, RowMajor<64>>) {
    let stages = shared::<f32>(row_major([3, 1, 64]));
    let full = mbarriers(3, 1);
    let t = thread_idx.x;
    let mut acc = 0.0f32;
    barrier();
    if t == 0 {
        for ahead in unroll(0..2) {
            if ahead < M {
                let mut to = stages.slice(ahead);
                full.at(ahead).arrive_expect(256);
                tma_load(&mut to, &x.tile([1, 64], [ahead, 0]), full.at(ahead));
            }
        }
    }
    for k in 0..M {
        barrier();
        let later = k + 2;
        if t == 0 && later < M {
            let mut to = stages.slice(later % 3);
            full.at(later % 3).arrive_expect(256);
            tma_load(&mut to, &x.tile([1, 64], [later, 0]), full.at(later % 3));
        }
        full.at(k % 3).wait(k / 3 % 2);
        acc += stages.slice(k % 3)[[0, 63 - t]];
    }
    y[[t]] = acc;
}
",
    wrong: &[
        ("no barrier", "for k in 0..M {\n        barrier();", "for k in 0..M {"),
        ("the parity of rounds", "wait(k / 3 % 2)", "wait(k % 2)"),
        ("the other parity", "wait(k / 3 % 2)", "wait(1 - k / 3 % 2)"),
        ("no wait", "full.at(k % 3).wait(k / 3 % 2);", ""),
        ("one waits", "full.at(k % 3).wait(k / 3 % 2);", "if t == 0 { full.at(k % 3).wait(k / 3 % 2); }"),
        ("three ahead", "let later = k + 2;", "let later = k + 3;"),
        ("two stages", "let mut to = stages.slice(later % 3);", "let mut to = stages.slice(later % 2);"),
        ("the stage before is read", "stages.slice(k % 3)[[", "stages.slice((k + 2) % 3)[["),
        ("every thread loads", "if t == 0 && later < M {", "if later < M {"),
        (
            "more bytes than are expected",
            "full.at(later % 3).arrive_expect(256);",
            "full.at(later % 3).arrive_expect(192);",
        ),
        (
            "a barrier every other round",
            "for k in 0..M {\n        barrier();",
            "for k in 0..M {\n        if k % 2 == 0 { barrier(); }",
        ),
    ],
};

/// A product of what threads write, and of what they write next.
const PRODUCTS: Planted = Planted {
    name: "products of what threads write",
    text: "#[tiled_kernel(arch = \"sm_90a\", block = [128], grid = [1])]
fn one<const M: usize>(a: &LayoutTensor<i8, RowMajor<M, 128>>, y: &mut LayoutTensor<i32, RowMajor<128>>) {
    let mut left = shared::<i8>(row_major([64, 128]).swizzle_bytes(128));
    let mut right = shared::<i8>(row_major([24, 128]).swizzle_bytes(128));
    let t = thread_idx.x;
    let mut sum = 0;
    for k in 0..M {
        for i in 0..64 { left[[i, t]] = a[[k, t]]; }
        for i in 0..24 { right[[i, t]] = a[[k, t]]; }
        fence_async_proxy();
        barrier();
        let mut acc = accumulator_of::<i32>([64, 24]);
        wgmma(&mut acc, &left, &right.transpose(), false);
        wgmma_commit_group();
        wgmma_wait_group(0);
        barrier();
        sum += acc[[0, 0]];
    }
    y[[t]] = sum;
}
",
    wrong: &[
        ("no fence", "fence_async_proxy();", ""),
        (
            "the fence is before a write",
            "for i in 0..24 { right[[i, t]] = a[[k, t]]; }\n        fence_async_proxy();",
            "fence_async_proxy();\n        for i in 0..24 { right[[i, t]] = a[[k, t]]; }",
        ),
        ("half the threads fence", "fence_async_proxy();", "if t < 64 { fence_async_proxy(); }"),
        ("no barrier before the product", "fence_async_proxy();\n        barrier();", "fence_async_proxy();"),
        ("no barrier after it", "wgmma_wait_group(0);\n        barrier();", "wgmma_wait_group(0);"),
    ],
};

/// Copies in flight from round to round.
const COPIES: Planted = Planted {
    name: "copies from round to round",
    text: "#[tiled_kernel(block = [64], grid = [1])]
fn one<const M: usize>(x: &LayoutTensor<f32, RowMajor<M, 64>>, y: &mut LayoutTensor<f32, RowMajor<64>>) {
    let stages = shared::<f32>(row_major([3, 1, 64]));
    let t = thread_idx.x;
    let mut acc = 0.0f32;
    for ahead in unroll(0..2) {
        copy_dram_to_sram_async(&mut stages.slice(ahead), &x.tile([1, 64], [ahead, 0]), row_major([1, 64]));
        async_copy_commit_group();
    }
    for k in 0..M {
        async_copy_wait_group(1);
        barrier();
        let next = (k + 2) % 3;
        copy_dram_to_sram_async(&mut stages.slice(next), &x.tile([1, 64], [k + 2, 0]), row_major([1, 64]));
        async_copy_commit_group();
        acc += stages.slice(k % 3)[[0, 63 - t]];
    }
    async_copy_wait_all();
    y[[t]] = acc;
}
",
    wrong: &[
        ("no wait", "async_copy_wait_group(1);", ""),
        ("a weaker wait", "async_copy_wait_group(1);", "async_copy_wait_group(2);"),
        (
            "the wait is after the barrier",
            "async_copy_wait_group(1);\n        barrier();",
            "barrier();\n        async_copy_wait_group(1);",
        ),
        ("no barrier", "async_copy_wait_group(1);\n        barrier();", "async_copy_wait_group(1);"),
        ("the stage that is read is filled", "let next = (k + 2) % 3;", "let next = k % 3;"),
        ("the next stage is filled", "let next = (k + 2) % 3;", "let next = (k + 1) % 3;"),
        (
            "two copies a group",
            "async_copy_commit_group();\n        acc",
            "if k % 2 == 0 { async_copy_commit_group(); }\n        acc",
        ),
        ("the next stage is read", "stages.slice(k % 3)[[", "stages.slice((k + 1) % 3)[["),
        ("half wait", "async_copy_wait_group(1);", "if t < 32 { async_copy_wait_group(1); }"),
    ],
};

/// A copy that its own thread reads.
const OWN: Planted = Planted {
    name: "a thread's own copy",
    text: "#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
fn one<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let stage = shared::<f32>(row_major([64]));
    let t = thread_idx.x;
    let own = stage.distribute(row_major([64]), t);
    own.copy_from_async(&x.tile([64], [block_idx.x]).distribute(row_major([64]), t));
    async_copy_wait_all();
    y.tile([64], [block_idx.x]).distribute(row_major([64]), t).copy_from(&own);
}
",
    wrong: &[
        ("no wait", "async_copy_wait_all();", ""),
        (
            "a wait for all but one",
            "async_copy_wait_all();",
            "async_copy_commit_group(); async_copy_wait_group(1);",
        ),
        (
            "a wait after the read",
            "async_copy_wait_all();\n    y.tile([64], [block_idx.x]).distribute(row_major([64]), t).copy_from(&own);",
            "y.tile([64], [block_idx.x]).distribute(row_major([64]), t).copy_from(&own);\n    async_copy_wait_all();",
        ),
    ],
};

/// A box that TMA stores.
const STORES: Planted = Planted {
    name: "a stored box",
    text: "#[tiled_kernel(arch = \"sm_90a\", block = [64], grid = [M.div_ceil(2)])]
fn one<const M: usize>(y: &mut LayoutTensor<f32, RowMajor<M, 64>>) {
    let mut row = shared::<f32>(row_major([1, 64]));
    let t = thread_idx.x;
    for k in 0..2 {
        row[[0, 63 - t]] = (t + k) as f32;
        fence_async_proxy();
        barrier();
        if t == 0 {
            tma_store(&mut y.tile([1, 64], [2 * block_idx.x + k, 0]), &row);
            bulk_commit_group();
            bulk_wait_group_read(0);
        }
        barrier();
    }
}
",
    wrong: &[
        ("no fence", "fence_async_proxy();", ""),
        (
            "the fence is before the write",
            "row[[0, 63 - t]] = (t + k) as f32;\n        fence_async_proxy();",
            "fence_async_proxy();\n        row[[0, 63 - t]] = (t + k) as f32;",
        ),
        ("no barrier before the store", "fence_async_proxy();\n        barrier();", "fence_async_proxy();"),
        (
            "no barrier after the wait",
            "bulk_wait_group_read(0);\n        }\n        barrier();",
            "bulk_wait_group_read(0);\n        }",
        ),
        ("no wait", "bulk_wait_group_read(0);", ""),
        ("a weaker wait", "bulk_wait_group_read(0);", "bulk_wait_group_read(1);"),
        ("no commit", "bulk_commit_group();", ""),
        (
            "another thread waits",
            "bulk_wait_group_read(0);\n        }",
            "}\n        if t == 32 { bulk_wait_group_read(0); }",
        ),
        ("every thread stores", "if t == 0 {", "if t >= 0 {"),
        ("all blocks store one box", "[2 * block_idx.x + k, 0]", "[k, 0]"),
        ("neighbours store one box", "[2 * block_idx.x + k, 0]", "[block_idx.x + k, 0]"),
        ("a thread also writes it", "tma_store(&mut y", "y[[0, 0]] = 1.0; tma_store(&mut y"),
    ],
};

const ALL: [&Planted; 6] = [&ROLES, &BARRIERS, &PRODUCTS, &COPIES, &OWN, &STORES];

/// The certificate of a text; `None` where the compiler refuses it.
fn certificate(text: &str) -> Option<Certificate> {
    let kernel = layout_text::kernel(text).ok()?;
    let set = kernel.parameter_sets().first().cloned().unwrap_or_default();
    compile(&kernel, &set, Promises::USUAL).ok().map(|checked| certify(&checked))
}

#[test]
fn what_is_right_is_certified() {
    for Planted { name, text, .. } in ALL {
        let certificate = certificate(text).unwrap_or_else(|| panic!("{name} is refused"));
        assert!(certificate.races() && certificate.bounds(), "{name}:\n{certificate}");
    }
}

#[test]
fn what_is_wrong_is_not_certified() {
    let mut refused = Vec::new();
    for Planted { name, text, wrong } in ALL {
        for (mistake, from, to) in *wrong {
            assert!(text.contains(from), "{name}, {mistake}: no such text");
            match certificate(&text.replacen(from, to, 1)) {
                Some(certificate) => assert!(!certificate.races(), "{name}, {mistake}:\n{certificate}"),
                None => refused.push(format!("{name}, {mistake}")),
            }
        }
    }
    assert!(refused.is_empty(), "these are refused: {refused:#?}");
}

/// No proof at random holds where a pair is not proved.
#[test]
fn damaged_proofs_are_refused() {
    let mut tried = 0;
    for Planted { name, text, wrong } in ALL {
        for (mistake, from, to) in *wrong {
            let kernel = layout_text::kernel(&text.replacen(from, to, 1))
                .unwrap_or_else(|_| panic!("{name}, {mistake}"));
            let set = kernel.parameter_sets().first().cloned().unwrap_or_default();
            let Ok(checked) = compile(&kernel, &set, Promises::USUAL) else { continue };
            let damage = damaged(&checked, 5, 40);
            assert_eq!(damage.wrong, 0, "{name}, {mistake}: {damage:?}");
            tried += damage.of_unproved;
        }
    }
    assert!(tried > 1_000, "{tried} tried");
}
