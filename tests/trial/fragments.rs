//! Fragments of matrix instructions: every instruction by value, from each place that its operands may be in, and what is
//! refused with a help that works.

use super::{run, wrong};

/// An element type whose small whole numbers are written down here, and its shapes.
struct Atom {
    elem: &'static str,
    sums: &'static str,
    shape: [usize; 3],
    arch: &'static str,
}

const ATOMS: [Atom; 6] = [
    Atom { elem: "f64", sums: "f64", shape: [8, 8, 4], arch: "sm_80" },
    Atom { elem: "f64", sums: "f64", shape: [16, 8, 4], arch: "sm_90" },
    Atom { elem: "f64", sums: "f64", shape: [16, 8, 8], arch: "sm_90" },
    Atom { elem: "f64", sums: "f64", shape: [16, 8, 16], arch: "sm_90" },
    Atom { elem: "f32", sums: "f32", shape: [16, 8, 8], arch: "sm_80" },
    Atom { elem: "i8", sums: "i32", shape: [16, 8, 32], arch: "sm_80" },
];

fn bytes(elem: &str, values: &[i64]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| match elem {
            "f64" => (*value as f64).to_le_bytes().to_vec(),
            "f32" => (*value as f32).to_le_bytes().to_vec(),
            "i32" => (*value as i32).to_le_bytes().to_vec(),
            _ => (*value as i8).to_le_bytes().to_vec(),
        })
        .collect()
}

fn values(count: usize, seed: i64) -> Vec<i64> {
    (0..count as i64).map(|i| (i * 37 + seed * i % 11 + seed) % 7 - 3).collect()
}

/// A product of one warp: `rows` x `columns` x `depth` of the instruction's tiles a step, the operands read by way of `a` and `b`.
fn product(atom: &Atom, [rows, columns, depth]: [usize; 3], [a, b]: [&str; 2]) -> String {
    let Atom { elem, sums, shape: [m, n, k], arch } = atom;
    let (bm, bn, bk) = (m * rows, n * columns, k * depth);
    let held = m * n / 32;
    format!(
        "#[tiled_kernel(arch = \"{arch}\", BM = {bm}, BN = {bn}, BK = {bk}, block = [32], grid = [N.div_ceil(BN), M.div_ceil(BM)])]
fn product<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<{elem}, RowMajor<M, K>>, b: &LayoutTensor<{elem}, RowMajor<K, N>>, c: &mut LayoutTensor<{sums}, RowMajor<M, N>>,
) {{
    let mma = mma_atom::<{elem}>([{m}, {n}, {k}]);
    let mut acc = local::<{sums}>(row_major([{rows}, {columns} * {held}]));
    acc.fill(0 as {sums});
    for block in 0..K.div_ceil(BK) {{
        let (a_tile, b_tile) = (a.tile([BM, BK], [block_idx.y, block]), b.tile([BK, BN], [block, block_idx.x]));
        let a_part = {a};
        let b_part = {b};
        mma.mma(&mut acc, &mma.load_a(&a_part), &mma.load_b(&b_part));
        barrier();
    }}
    mma.store_d(&mut c.tile([BM, BN], [block_idx.y, block_idx.x]), &acc);
}}"
    )
}

/// A copy of the tile in shared memory.
fn shared(elem: &str, layout: &str, tile: &str) -> String {
    format!(
        "{{ let mut own = shared::<{elem}>({layout}); \
         copy_dram_to_sram(&mut own, &{tile}, row_major([4, 8])); barrier(); own }}"
    )
}

/// Each instruction by value: a tile of one fragment, whose last mode is a single element for some operands, and of
/// several; from global memory, and from shared memory by rows, by longer rows, by columns.
#[test]
fn every_instruction_by_value() {
    for atom in &ATOMS {
        let in_shared = |rows: &str, columns: &str, tile: &str| {
            [
                tile.to_owned(),
                shared(atom.elem, &format!("row_major([{rows}, {columns}])"), tile),
                shared(atom.elem, &format!("layout([{rows}, {columns}], [{columns} + 16, 1])"), tile),
                shared(atom.elem, &format!("col_major([{rows}, {columns}])"), tile),
            ]
        };
        let (a, b) = (in_shared("BM", "BK", "a_tile"), in_shared("BK", "BN", "b_tile"));
        for (tiles, size) in [([1, 1, 1], [19, 21, 35]), ([2, 3, 2], [33, 25, 67]), ([1, 1, 1], [8, 8, 4])] {
            for (a, b) in a.iter().zip(&b) {
                let text = product(atom, tiles, [a, b]);
                let [m, n, k] = size;
                let (left, right) = (values(m * k, 3), values(k * n, 5));
                let mut out = bytes(atom.sums, &vec![99; m * n]);
                let given = [
                    (atom.elem, &[m, k][..], bytes(atom.elem, &left)),
                    (atom.elem, &[k, n][..], bytes(atom.elem, &right)),
                ];
                run(&text, &given, (atom.sums, &[m, n], &mut out));
                let exact = |at: usize| {
                    (0..k).map(|step| left[at / n * k + step] * right[step * n + at % n]).sum::<i64>()
                };
                let wanted: Vec<i64> = (0..m * n).map(exact).collect();
                assert!(out == bytes(atom.sums, &wanted), "{size:?}\n{text}");
            }
        }
    }
}

/// What is between the back-quotes of the help of the only error, piece by piece.
fn helps(text: &str) -> Vec<String> {
    let found = wrong(text);
    let help =
        found.first().and_then(|message| message.split_once("help: ")).map(|(_, help)| help.to_owned());
    let help = help.unwrap_or_else(|| panic!("no help: {found:#?}\n{text}"));
    help.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A store of sums to a tile of any type: what is refused is taken with the conversion that the help names.
#[test]
fn the_help_of_a_store_works() {
    let text = |(elem, sums, shape, held): (&str, &str, &str, usize), into: &str, stored: &str| {
        format!(
            "#[tiled_kernel(arch = \"sm_90\", block = [32], grid = [1])]
fn line(x: &LayoutTensor<{sums}, RowMajor<4>>, c: &mut LayoutTensor<{into}, RowMajor<16, 8>>) {{
    let mma = mma_atom::<{elem}>({shape});
    let mut acc = local::<{sums}>(row_major([16 * 8 / 32 / {held}, {held}]));
    acc.fill(x[[1]]);
    mma.store_d(&mut c.tile([16, 8], [0, 0]), &{stored});
}}"
        )
    };
    let mut tried = 0;
    for atom in [
        ("bf16", "f32", "[16, 8, 16]", 4),
        ("f16", "f16", "[16, 8, 16]", 4),
        ("i8", "i32", "[16, 8, 32]", 4),
        ("f64", "f64", "[8, 8, 4]", 2),
        ("f64", "f64", "[16, 8, 16]", 4),
        ("e4m3", "f32", "[16, 8, 32]", 4),
    ] {
        for into in [
            "f64", "f32", "f16", "bf16", "e4m3", "e5m2", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8",
        ] {
            if into == atom.1 {
                assert!(wrong(&text(atom, into, "acc")).is_empty());
                continue;
            }
            let plain = text(atom, into, "acc");
            assert!(wrong(&plain)[0].contains(&format!("to a tile of {into}")), "{:#?}", wrong(&plain));
            let [stored] = &helps(&plain)[..] else { panic!("one way out: {plain}") };
            let mended = text(atom, into, stored);
            assert!(wrong(&mended).is_empty(), "{:#?}\n{mended}", wrong(&mended));
            tried += 1;
        }
    }
    assert!(tried > 70);
    let truth = text(("bf16", "f32", "[16, 8, 16]", 4), "bool", "acc");
    assert!(wrong(&truth)[0].contains("take a tile of f32"), "{:#?}", wrong(&truth));
    // By value: 2.75 as a bf16, and -3 as a byte.
    let stored = text(("bf16", "f32", "[16, 8, 16]", 4), "bf16", "acc.cast::<bf16>()");
    let x: Vec<u8> = [0.0f32, 2.75, 1.0, 1.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut out = vec![0xff; 256];
    run(&stored, &[("f32", &[4], x)], ("bf16", &[16, 8], &mut out));
    assert!(out == [0x30, 0x40].repeat(128), "{out:?}");
    let stored = text(("i8", "i32", "[16, 8, 32]", 4), "i8", "acc.cast::<i8>()");
    let mut out = vec![0; 128];
    run(&stored, &[("i32", &[4], bytes("i32", &[0, -3, 1, 1]))], ("i8", &[16, 8], &mut out));
    assert!(out == [0xfd; 128], "{out:?}");
}

/// A kernel around lines about fragments.
fn line(body: &str) -> String {
    format!(
        "#[tiled_kernel(arch = \"sm_90\", block = [32], grid = [1])]
fn line(a: &LayoutTensor<bf16, RowMajor<32, 32>>, x: &LayoutTensor<f32, RowMajor<32, 32>>, b: &LayoutTensor<bf16, RowMajor<32, 32>>, c: &mut LayoutTensor<f32, RowMajor<32, 32>>) {{
    let mma = mma_atom::<bf16>([16, 8, 16]);
    let mut acc = local::<f32>(row_major([2, 16]));
    acc.fill(0.0);
    {body}
    mma.store_d(&mut c.tile([32, 32], [0, 0]), &acc);
}}"
    )
}

/// Which operand does not fit, what it is, and what was expected.
#[test]
fn the_message_names_the_operand() {
    for (body, said, expected) in [
        (
            "mma.mma(&mut acc, &x.tile([2, 16], [0, 0]).to_local(), &mma.load_b(&b));",
            "`mma`: A is f32 in registers, of shape [2, 16]",
            "expected bf16 in registers, contiguous, of shape [rows, a multiple of 8]",
        ),
        (
            "mma.mma(&mut acc, &a, &mma.load_b(&b));",
            "`mma`: A is bf16 in global memory, of shape [32, 32]",
            "`core.load_a(&tile)`",
        ),
        (
            "let s = shared::<bf16>(row_major([4, 4])); mma.mma(&mut acc, &mma.load_a(&a), &s);",
            "`mma`: B is bf16 in shared memory, of shape [4, 4]",
            "`core.load_b(&tile)`",
        ),
        (
            "let r = local::<bf16>(row_major([4, 6])).fill(0.0); mma.mma(&mut acc, &mma.load_a(&a), &r);",
            "`mma`: B is bf16 in registers, of shape [4, 6]",
            "of shape [rows, a multiple of 4]",
        ),
        (
            "let mut d = local::<f32>(row_major([2, 6])).fill(0.0); mma.mma(&mut d, &mma.load_a(&a), &mma.load_b(&b));",
            "`mma`: C is f32 in registers, of shape [2, 6]",
            "`local::<f32>(row_major([M / 16, N / 8 * 4]))`",
        ),
        (
            "let d = local::<f32>(row_major([2, 4])).fill(0.0); mma.store_d(&mut c.tile([32, 32], [0, 0]), &d);",
            "`store_d`: D is f32 in registers, of shape [2, 4]",
            "of shape [2, 16]",
        ),
        (
            "mma.mma(&mut acc, &mma.load_a(&a), &mma.load_b(&b.tile([16, 32], [0, 0])));",
            "A of 32 x 32 and B of 16 x 32 for an accumulator of 32 x 32",
            "B is K x N",
        ),
    ] {
        let found = wrong(&line(body));
        assert!(
            found.iter().any(|message| message.contains(said) && message.contains(expected)),
            "{body}: {found:#?}"
        );
    }
}

/// The instruction, the shape, the accumulator that a help names are taken.
#[test]
fn other_helps_about_fragments_work() {
    // An operand of another type: its own instruction.
    for elem in ["f64", "f32", "f16", "e4m3", "e5m2", "i8", "u8", "u32"] {
        let text = |atom: &str| {
            format!(
                "#[tiled_kernel(arch = \"sm_120a\", block = [32], grid = [1])]
fn line(a: &LayoutTensor<{elem}, RowMajor<32, 32>>, y: &mut LayoutTensor<i32, RowMajor<1>>) {{
    let mma = {atom};
    let (left, right) = (mma.load_a(a), mma.load_b(a));
    y[[0]] = left.dim(0) as i32 + right.dim(0) as i32;
}}"
            )
        };
        let plain = text("mma_atom::<bf16>([16, 8, 16])");
        let [atom] = &helps(&plain)[..] else { panic!("one way out: {plain}") };
        assert!(wrong(&text(atom)).is_empty(), "{atom}: {:#?}", wrong(&text(atom)));
        // A shape that there is not: those that there are.
        let odd = text(&format!("mma_atom::<{elem}>([8, 8, 8])"));
        let found = wrong(&odd);
        let shapes = found[0].split_once(" are ").map(|(_, shapes)| shapes.trim()).expect("shapes");
        for shape in shapes.trim_end_matches(']').split("], ") {
            let atom = format!("mma_atom::<{elem}>({shape}])");
            assert!(wrong(&text(&atom)).is_empty(), "{atom}: {:#?}", wrong(&text(&atom)));
        }
    }
    // No instruction at all of this type.
    let none = line("let other = mma_atom::<i64>([16, 8, 8]);");
    assert!(
        wrong(&none)[0].contains("f64 [8, 8, 4], [16, 8, 4], [16, 8, 8], [16, 8, 16]"),
        "{:#?}",
        wrong(&none)
    );
    // An accumulator of another shape.
    let text = |acc: &str| {
        line(&format!("let mut d = {acc}; d.fill(0.0); mma.mma(&mut d, &mma.load_a(&a), &mma.load_b(&b));"))
    };
    let plain = text("local::<f32>(row_major([2, 6]))");
    let [acc] = &helps(&plain)[..] else { panic!("one way out: {plain}") };
    let mended = text(&acc.replace(['M', 'N'], "32"));
    assert!(wrong(&mended).is_empty(), "{:#?}\n{mended}", wrong(&mended));
}
