//! The table of architectures against NVRTC.
//!
//! Law: a line of a kernel is taken for an architecture exactly where NVRTC compiles its text for it. A run takes a sample of lines and
//! architectures; `ARCH_SEED=7 ARCH_PAIRS=1000` takes others and more.

use layout_compiler::{Arch, Promises, compile, emit};
use layout_cuda::{Device, Error, tiled_kernel};
use layout_tests::support::cubin::compiled;

/// A line and what it needs in the attribute.
const LINES: [(&str, &str); 26] = [
    ("y[[i]] = x[[i]] * 2.0;", ""),
    ("copy_dram_to_sram_async(&mut s, x, row_major([32])); async_copy_wait_all(); y[[i]] = s[[i]];", ""),
    ("let m = mma_atom::<f32>([16, 8, 8]); PRODUCT", "f32 [16, 8] [8, 8] [16, 8]"),
    ("let m = mma_atom::<f16>([16, 8, 16]); PRODUCT", "f16 [16, 16] [16, 8] [16, 8]"),
    ("let m = mma_atom::<f16>([16, 8, 8]); PRODUCT", "f16 [16, 8] [8, 8] [16, 8]"),
    ("let m = mma_atom::<u8>([8, 8, 16]); PRODUCT", "u8 [8, 16] [16, 8] [8, 8]"),
    ("let m = mma_atom::<bf16>([16, 8, 16]); PRODUCT", "bf16 [16, 16] [16, 8] [16, 8]"),
    ("let m = mma_atom::<i8>([16, 8, 32]); PRODUCT", "i8 [16, 32] [32, 8] [16, 8]"),
    ("let m = mma_atom::<u32>([16, 8, 8]); PRODUCT", "u32 [16, 8] [8, 8] [16, 8]"),
    ("let m = mma_atom::<e4m3>([16, 8, 32]); PRODUCT", "e4m3 [16, 32] [32, 8] [16, 8]"),
    ("let m = mma_atom::<f64>([8, 8, 4]); PRODUCT", "f64 [8, 4] [4, 8] [8, 8]"),
    ("let m = mma_atom::<f64>([16, 8, 4]); PRODUCT", "f64 [16, 4] [4, 8] [16, 8]"),
    ("let m = mma_atom::<f64>([16, 8, 8]); PRODUCT", "f64 [16, 8] [8, 8] [16, 8]"),
    ("let m = mma_atom::<f64>([16, 8, 16]); PRODUCT", "f64 [16, 16] [16, 8] [16, 8]"),
    ("y[[i]] = (x[[i]] as f16) as f32;", ""),
    ("y[[i]] = (x[[i]] as bf16) as f32;", ""),
    ("y[[i]] = (x[[i]] as e4m3) as f32;", ""),
    ("y[[i]] = (x[[i]] as e5m2) as f32;", ""),
    ("if elect_one() { y[[i]] = 1.0; }", ""),
    ("let m = mma_atom::<u32>([16, 8, 64]); SCALED", "u32 [16, 8] [8, 8] e4m3 [16, 4] [4, 8]"),
    ("let m = mma_atom::<u32>([16, 8, 64]); SCALED", "u32 [16, 16] [16, 8] u8 [16, 4] [4, 8]"),
    ("let m = mma_atom::<e4m3>([16, 8, 32]); SCALED", "e4m3 [16, 128] [128, 8] u8 [16, 4] [4, 8]"),
    ("let m = mma_atom::<e5m2>([16, 8, 32]); SCALED", "e5m2 [16, 128] [128, 8] u8 [16, 4] [4, 8]"),
    (
        "let d = tensor_memory::<f32>([128, 32]); let mut own = local::<f32>(row_major([32])).fill(1.0); \
         tcgen05_store(&mut d.slice(0), &own); tcgen05_wait_store(); tcgen05_load(&mut own, &d.slice(0)); \
         tcgen05_wait_load(); y[[i]] = own[[3]];",
        "",
    ),
    (
        "let a = shared::<i8>(row_major([128, 128]).swizzle_bytes(128)); let mut d = tensor_memory::<i32>([128, 128]); \
         let done = mbarriers(1, 1); barrier(); if i == 0 { tcgen05_mma(&mut d, &a, &a.transpose(), false); \
         tcgen05_commit(done.at(0)); } done.at(0).wait(0); y[[i]] = 1.0;",
        "",
    ),
    (
        "let a = shared::<f32>(row_major([128, 32]).swizzle_bytes(128)); let mut d = tensor_memory::<f32>([128, 128]); \
         let done = mbarriers(1, 1); barrier(); if i == 0 { tcgen05_mma(&mut d, &a, &a.transpose(), false); \
         tcgen05_commit(done.at(0)); } done.at(0).wait(0); y[[i]] = 1.0;",
        "",
    ),
];

/// The architectures of the table, with every suffix that they have.
fn architectures() -> Vec<Arch> {
    let numbers = [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121];
    let names = numbers.iter().flat_map(|number| ["", "a", "f"].map(|suffix| format!("sm_{number}{suffix}")));
    names.filter_map(|name| name.parse().ok()).filter(|arch: &Arch| arch.is_known()).collect()
}

/// A kernel of a line for an architecture. A product's operands are zeros, in registers.
fn kernel(arch: Arch, line: &str, product: &str) -> String {
    let mut body = line.to_owned();
    if let Some((elem, shapes)) = product.split_once(' ') {
        let shapes: Vec<&str> = shapes.split_inclusive(']').map(str::trim).collect();
        let sums = match elem {
            "i8" | "u8" | "u32" => "i32",
            "f64" => "f64",
            _ => "f32",
        };
        let [m, n] = [shapes[2].trim_start_matches('[').split(',').next().unwrap_or_default(), "8"];
        let of = format!(
            "let mut a = shared::<{elem}>(row_major({})); let b = shared::<{elem}>(row_major({})); \
             let mut acc = local::<{sums}>(row_major([1, {m} * {n} / 32])); acc.fill(0 as {sums}); \
             m.mma(&mut acc, &m.load_a(&a), &m.load_b(&b)); y[[i]] = acc[[0, 0]] as f32;",
            shapes[0], shapes[1]
        );
        body = body.replace("PRODUCT", &of);
        if let [a, b, scales, other] = shapes[..]
            && let Some((scale, x)) = scales.split_once(' ')
        {
            let scaled = format!(
                "let a = shared::<{elem}>(row_major({a})); let b = shared::<{elem}>(row_major({b})); \
                 let s = shared::<{scale}>(row_major({x})); let t = shared::<{scale}>(row_major({other})); \
                 let mut acc = local::<f32>(row_major([1, 4])); acc.fill(0.0); m.mma_scaled(&mut acc, &m.load_a(&a), \
                 &m.load_b(&b), &m.load_a_scales(&s), &m.load_b_scales(&t)); y[[i]] = acc[[0, 0]];"
            );
            body = body.replace("SCALED", &scaled);
        }
    }
    format!(
        "#[tiled_kernel(arch = \"{arch}\", block = [32], grid = [1])]
fn line(x: &LayoutTensor<f32, RowMajor<32>>, y: &mut LayoutTensor<f32, RowMajor<32>>) {{
    let i = thread_idx.x;
    let mut s = shared::<f32>(row_major([32]));
    {body}
}}"
    )
}

/// The text for an architecture, or why it is refused.
fn text(arch: Arch, line: &str, product: &str) -> Result<(String, &'static [&'static str]), String> {
    let source = kernel(arch, line, product);
    let kernel = layout_text::kernel(&source).unwrap_or_else(|errors| panic!("{errors:#?}\n{source}"));
    let set = kernel.parameter_sets().into_iter().next().unwrap_or_default();
    let checked = compile(&kernel, &set, Promises::USUAL).map_err(|errors| errors.to_string())?;
    let source = emit(&checked);
    Ok((source.text, source.flags))
}

pub fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn nvrtc_takes_what_the_table_says() {
    let (seed, pairs) = (number("ARCH_SEED", u64::from(std::process::id())), number("ARCH_PAIRS", 60));
    let all = architectures();
    assert_eq!(all.len(), 12 + 6 + 5, "{all:?}");
    // Between them they have everything of the lines.
    let newest = ["sm_120a", "sm_100a"].map(|name| name.parse().expect("an architecture"));
    for at in 0..pairs {
        let random = (seed.wrapping_mul(1000) + at).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let (line, product) = LINES[random as usize % LINES.len()];
        let arch = all[random as usize / LINES.len() % all.len()];
        // Of what is refused, the text is the one for an architecture that has it.
        let own = text(arch, line, product);
        let mut others = newest.iter().filter_map(|arch| text(*arch, line, product).ok());
        let (text, flags) =
            own.clone().ok().or_else(|| others.next()).expect("one of the newest has each of these");
        let found = compiled(&text, &arch.to_string(), flags);
        assert_eq!(
            own.is_ok(),
            found.is_ok(),
            "{arch}: {line}\n{:?}\n{:?}\nARCH_SEED={seed}",
            own.err(),
            found.err()
        );
    }
}

/// A product with a ring of two stages, for a card whose threads copy by ordinary loads and stores. Its entries follow from the body.
#[tiled_kernel(BM = 16, BN = 16, BK = 8, arch = "sm_75")]
fn ring<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let (row, col) = (thread_idx.x / BN, thread_idx.x % BN);
    let mut own = c.tile([BM, BN], [block_idx.y, block_idx.x]);
    let mut on_a = shared::<f32>(row_major([2, BM, BK]));
    let mut on_b = shared::<f32>(row_major([2, BK, BN]));
    let mut sum = 0.0;
    copy_dram_to_sram_async(&mut on_a.slice(0), &a.tile([BM, BK], [block_idx.y, 0]), row_major([BM, BK]));
    copy_dram_to_sram_async(&mut on_b.slice(0), &b.tile([BK, BN], [0, block_idx.x]), row_major([BK, BN]));
    async_copy_commit_group();
    for step in 0..K.div_ceil(BK) {
        let next = (step + 1) % 2;
        copy_dram_to_sram_async(
            &mut on_a.slice(next),
            &a.tile([BM, BK], [block_idx.y, step + 1]),
            row_major([BM, BK]),
        );
        copy_dram_to_sram_async(
            &mut on_b.slice(next),
            &b.tile([BK, BN], [step + 1, block_idx.x]),
            row_major([BK, BN]),
        );
        async_copy_commit_group();
        async_copy_wait_group(1);
        barrier();
        for k in unroll(0..BK) {
            sum += on_a[[step % 2, row, k]] * on_b[[step % 2, k, col]];
        }
        barrier();
    }
    own[[row, col]] = sum;
}

#[test]
fn asynchronous_copies_are_right_where_there_are_none() -> Result<(), Error> {
    assert!(!ring::SOURCE.contains("cp_async") && !ring::SOURCE.contains("cp.async"), "{}", ring::SOURCE);
    let [m, n, k] = [37, 21, 19];
    let device = Device::simulator();
    let number = |count: usize| (0..count).map(|i| (i * 7 % 11) as f32).collect::<Vec<f32>>();
    let (a, b) = (number(m * k), number(k * n));
    let (on_a, on_b) = (device.upload(&a, [m, k])?, device.upload(&b, [k, n])?);
    let mut c = device.zeros::<f32, 2>([m, n])?;
    ring::launch(&device.stream(), &on_a, &on_b, &mut c)?;
    let wanted = |i: usize, j: usize| (0..k).map(|at| a[i * k + at] * b[at * n + j]).sum::<f32>();
    let wanted: Vec<f32> = (0..m * n).map(|at| wanted(at / n, at % n)).collect();
    assert_eq!(c.download()?, wanted);
    let report = ring::simulate(&on_a, &on_b, &mut c)?;
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    Ok(())
}
