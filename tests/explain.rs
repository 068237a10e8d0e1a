//! `explain` and `deny`: what an access lost is reported at its line, with the reason and the way out.
//!
//! Kernels are texts here: the same ones are compiled with `deny` and without, and with one thing changed.

use layout_compiler::{
    Elem, Errors, Explanation, Kernel, ParamSet, Promises, RemarkKind, Transport, compile, explain,
};
use layout_cuda::Definition;
use layout_kernels::kernels::{mesh, of_attention};
use layout_tests::kernels::{definitions, is_shipped};
use std::collections::{BTreeMap, BTreeSet};

const USUAL: Promises = Promises::USUAL;

fn kernel(text: &str) -> Kernel {
    layout_text::kernel(text).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"))
}

fn explained(text: &str, promises: Promises) -> Explanation {
    let kernel = kernel(text);
    let set = kernel.parameter_sets().first().cloned().unwrap_or_default();
    explain(&compile(&kernel, &set, promises).unwrap_or_else(|errors| panic!("{errors}\n{text}")))
}

fn refused(text: &str, promises: Promises) -> Errors {
    let kernel = kernel(text);
    compile(&kernel, &ParamSet::default(), promises).expect_err(text)
}

/// A copy of rows by vectors, with what the attribute and the parts say.
fn rows(entries: &str, own: &str) -> String {
    format!(
        "#[tiled_kernel(block = [32], grid = [M]{entries})]
fn rows<const M: usize, const K: usize>(
    x: &LayoutTensor<f32, RowMajor<M, K>>, y: &mut LayoutTensor<f32, RowMajor<M, K>>, from: usize,
) {{
    for k in 0..K / 128 {{
        let mut out = y.tile([1, 128], [block_idx.x, k]).vectorize([1, 4]).distribute(row_major([1, 32]), thread_idx.x);
        let own = {own};
        out.copy_from(&own);
    }}
}}"
    )
}

const OWN: &str =
    "x.tile([1, 128], [block_idx.x, k]).vectorize([1, 4]).distribute(row_major([1, 32]), thread_idx.x)";

/// An atomic operation is one access: a load is a read, with any memory order.
#[test]
fn an_atomic_load_reads() {
    for (word, writes) in [
        ("y[[0]] = x.load_relaxed([0]);", [("x", false), ("y", true)]),
        ("y[[0]] = x.load_acquire([0]);", [("x", false), ("y", true)]),
        ("x.store_relaxed([0], y[[0]]);", [("x", true), ("y", false)]),
        ("y[[0]] = x.atomic_add([0], 1);", [("x", true), ("y", true)]),
    ] {
        let text = format!(
            "#[tiled_kernel(block = [32], grid = [1])]
fn flags(x: &mut LayoutTensor<u32, RowMajor<32>>, y: &mut LayoutTensor<u32, RowMajor<32>>) {{ {word} }}"
        );
        let accesses = explained(&text, USUAL).accesses;
        for (place, writes) in writes {
            let of = accesses.iter().filter(|access| access.tensor == place);
            let all: Vec<bool> = of.map(|access| access.writes).collect();
            assert_eq!(all, [writes], "{word}, `{place}`");
        }
    }
}

/// A loop's variable keeps what divides both its first value and its step, also where only a remainder says so.
#[test]
fn a_loop_keeps_its_place() {
    for (first, step, whole) in [
        ("from - from % 8", 8, true),
        ("from - from % 8", 24, true),
        ("from - from % 4", 8, true),
        ("from - from % 2", 8, false),
        ("from", 8, false),
    ] {
        let text = format!(
            "#[tiled_kernel(block = [32], grid = [1], require(K % 4 == 0))]
fn kept<const K: usize>(x: &LayoutTensor<f32, RowMajor<K>>, y: &mut LayoutTensor<f32, RowMajor<K>>, from: usize) {{
    let first = {first};
    for k in (first..K).step_by({step}) {{
        y.window([4], [k]).vectorize([4]).copy_from(&x.window([4], [k]).vectorize([4]));
    }}
}}"
        );
        let bytes: Vec<u32> = explained(&text, USUAL).accesses.iter().map(|access| access.bytes).collect();
        assert_eq!(bytes.iter().all(|bytes| *bytes == 16), whole, "{first}, {step}: {bytes:?}");
    }
}

/// Exact arithmetic of `f32` that takes a branch, each line once; what is short, of another type or promised away is not there.
#[test]
fn arithmetic_with_a_branch_has_a_shorter_form() {
    let of = |attribute: &str, body: &str| -> Vec<(u32, String)> {
        let text = format!(
            "#[tiled_kernel(block = [32], grid = [1]{attribute})]
fn line(x: &mut LayoutTensor<f32, RowMajor<32>>, y: &mut LayoutTensor<f64, RowMajor<32>>, n: u32) {{
    let i = thread_idx.x;
    {body}
}}"
        );
        let arithmetic = explained(&text, Promises::USUAL).arithmetic;
        arithmetic.into_iter().map(|one| (one.position.line, one.what)).collect()
    };
    let quotient = "`/` of f32 is correctly rounded: ten instructions and a branch";
    assert_eq!(of("", "x[[i]] = x[[i]] / x[[0]] + 1.0 / x[[1]];"), [(4, quotient.to_owned())]);
    assert_eq!(of("", "x[[i]] /= 3.0;"), [(4, quotient.to_owned())]);
    let root = "`sqrt` of f32 is correctly rounded: eight instructions and a branch";
    assert_eq!(of("", "x[[i]] = x[[i]].sqrt();"), [(4, root.to_owned())]);
    assert_eq!(of("", "x[[i]] = x[[i]].sin().recip();").len(), 2);
    for (attribute, body) in [
        ("", "x[[i]] = x[[i]] / 8.0 + x[[i]].div_approx(x[[0]]) + x[[i]].sqrt_approx();"),
        ("", "y[[i]] = y[[i]] / y[[0]] + y[[i]].sqrt(); x[[i]] = (n / 3) as f32;"),
        (", fast_math = true", "x[[i]] = x[[i]] / x[[0]] + x[[i]].sqrt();"),
    ] {
        assert!(of(attribute, body).is_empty(), "{body}");
    }
}

#[test]
fn what_is_whole_lost_nothing() {
    for entries in [
        ", require(K % 128 == 0)",
        ", require(K % 4 == 0)",
        ", require(K == 128 * M)",
        ", require(3 * K == 12 * M)",
        ", require(K + 8 == 4 * M)",
        ", require(M % 2 == 0, K == 2 * M)",
        ", require((K + 4) % 8 == 0)",
    ] {
        for deny in ["", ", deny(narrowed, masked, synchronous)"] {
            let explanation = explained(&rows(&format!("{entries}{deny}"), OWN), USUAL);
            let bytes: Vec<u32> = explanation.accesses.iter().map(|access| access.bytes).collect();
            assert_eq!(bytes, [16, 16], "{entries}: {explanation}");
        }
    }
}

/// Elements from where a number in memory says.
fn shifted(from: &str) -> String {
    format!(
        "#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
fn shifted<const N: usize>(
    at: &LayoutTensor<u32, RowMajor<N>>, far: &LayoutTensor<i64, RowMajor<N>>,
    x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>,
) {{
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {{
        let from = {from};
        y[[i]] = x[[from]];
    }}
}}"
    )
}

#[test]
fn planted_degradations_are_explained_and_refused_in_the_same_words() {
    let cases = [
        // A divisor forgotten, or hidden.
        (
            rows("", OWN),
            "narrowed",
            "4 bytes move at once where 16 could: `K * block_idx.x` is not known to be a multiple of 4",
        ),
        (rows(", require(K >= 128 * M)", OWN), "narrowed", "is not known to be a multiple of 4"),
        (rows(", require(K % 2 == 0)", OWN), "narrowed", "8 bytes move at once where 16 could"),
        // A first element at any place.
        (
            rows(
                ", require(K % 4 == 0)",
                &OWN.replace("tile([1, 128], [block_idx.x, k])", "window([1, 128], [block_idx.x, from])"),
            ),
            "narrowed",
            "`from` is not known to be a multiple of 4",
        ),
        (
            rows(
                ", require(K % 4 == 0)",
                &OWN.replace(
                    "tile([1, 128], [block_idx.x, k])",
                    "window([1, 128], [block_idx.x, 128 * k + 1])",
                ),
            ),
            "narrowed",
            "1 is no multiple of 4",
        ),
        // An edge that nothing keeps out of a vector.
        (
            rows(", require(K % 4 == 0)", &OWN.replace("[block_idx.x, k]", "[block_idx.x, k + from]")),
            "masked",
            "< K` is not proved",
        ),
        (
            "#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
            fn doubled<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
                let i = block_idx.x * 32 + thread_idx.x;
                x[[i]] = 2.0;
            }"
            .to_owned(),
            "masked",
            "`i < N` is not proved",
        ),
        // Rows of a transposed tensor are no vectors.
        (
            "#[tiled_kernel(block = [32], grid = [1])]
            fn turned(x: &LayoutTensor<f32, ColMajor<32, 4>>, y: &mut LayoutTensor<f32, RowMajor<32, 4>>) {
                let mut out = y.vectorize([1, 4]).distribute(row_major([32, 1]), thread_idx.x);
                out.copy_from(&x.vectorize([1, 4]).distribute(row_major([32, 1]), thread_idx.x));
            }"
            .to_owned(),
            "narrowed",
            "elements of a vector of `x` are `32` apart",
        ),
        // A swizzle of single elements.
        (
            "#[tiled_kernel(block = [32], grid = [1])]
            fn mixed(y: &mut LayoutTensor<f32, RowMajor<32, 4>>) {
                let held = shared::<f32>(row_major([32, 4]).swizzle(2, 0, 3));
                held.distribute(row_major([32, 1]), thread_idx.x).fill(1.0);
                let mut out = y.vectorize([1, 4]).distribute(row_major([32, 1]), thread_idx.x);
                out.copy_from(&held.vectorize([1, 4]).distribute(row_major([32, 1]), thread_idx.x));
            }"
            .to_owned(),
            "narrowed",
            "the swizzle of `held` keeps 1 elements together",
        ),
        // Asynchronous copies: bytes, a pad, and a divisor.
        (
            staged("K % 4 == 0", "x.tile([64, 64], [block_idx.x, 0])"),
            "synchronous",
            "`cp.async` moves 4, 8 or 16 bytes, here it is 2",
        ),
        (
            staged("K % 8 == 0", "x.pad(1.0).tile([64, 64], [block_idx.x, 0]).vectorize([1, 8])"),
            "synchronous",
            "the `pad` is another number",
        ),
        (
            staged("K >= 64", "x.tile([64, 64], [block_idx.x, 0]).vectorize([1, 8])"),
            "synchronous",
            "`K` is not known to be a multiple of 8",
        ),
        (shifted("i - at[[i]] as usize"), "wide", "`from` is made of 64 bits, from -4294967295 to "),
        (shifted("i + far[[i]] as usize"), "wide", "`from` is made of 64 bits, any number of them"),
    ];
    for (text, what, words) in cases {
        let what = RemarkKind::from_name(what).expect("a word of `deny`");
        let explanation = explained(&text, USUAL);
        let (access, lost) = explanation
            .accesses
            .iter()
            .find_map(|access| {
                let lost = access.degraded.iter().find(|lost| lost.what == what)?;
                lost.reason.contains(words).then_some((access, lost))
            })
            .unwrap_or_else(|| panic!("{words}\n{explanation}\n{text}"));
        assert!(!lost.help.is_empty() && access.position.line > 2, "{explanation}");
        let denying = text.replacen("grid =", &format!("deny({what}), grid ="), 1);
        let errors = refused(&denying, USUAL);
        let found = errors.as_slice().iter().find(|error| error.message.contains(words));
        let found = found.unwrap_or_else(|| panic!("{errors}\n{text}"));
        assert!(found.message.starts_with(&format!("`{}` is {what}: ", access.tensor)), "{errors}");
        assert_eq!(found.help.as_deref(), Some(lost.help.as_str()));
        assert_eq!(kernel(&denying).position(found.origin).line, access.position.line, "{errors}");
        // The others are not refused by this word.
        for other in RemarkKind::ALL.into_iter().filter(|other| *other != what) {
            if explanation.accesses.iter().all(|access| access.degraded.iter().all(|lost| lost.what != other))
            {
                explained(&text.replacen("grid =", &format!("deny({other}), grid ="), 1), USUAL);
            }
        }
    }
}

/// Where a thread's own vectors of more than four elements may begin at any element, they are whole, and what that costs is a remark that
/// `deny` refuses.
#[test]
fn unaligned_vectors_are_whole() {
    let rows = [
        ("u8", 4, [1, 1]),
        ("u8", 8, [8, 8]),
        ("u8", 16, [16, 16]),
        ("bf16", 2, [2, 2]),
        ("bf16", 4, [2, 2]),
        ("bf16", 8, [16, 16]),
        ("f32", 2, [4, 4]),
        ("f32", 4, [4, 4]),
        ("f64", 2, [8, 8]),
    ];
    let widths = BTreeMap::from([("u8", 1), ("bf16", 2), ("f32", 4), ("f64", 8)]);
    for (elem, vector, bytes) in rows {
        let text = |entries: &str| {
            format!(
                "#[tiled_kernel(block = [32], grid = [N.div_ceil(32 * {vector}), M]{entries})]
fn copied<const M: usize, const N: usize>(
    x: &LayoutTensor<{elem}, RowMajor<M, N>>, y: &mut LayoutTensor<{elem}, RowMajor<M, N>>,
) {{
    let first = (block_idx.x * 32 + thread_idx.x) * {vector};
    let own = x.slice(block_idx.y).window([{vector}], [first]).vectorize([{vector}]).to_local();
    y.slice(block_idx.y).window([{vector}], [first]).vectorize([{vector}]).copy_from(&own.vectorize([{vector}]));
}}"
            )
        };
        let widest = |writes: bool| {
            let explanation = explained(&text(""), USUAL);
            let own = explanation.accesses.iter().filter(|access| access.writes == writes);
            own.max_by_key(|access| access.bytes).cloned().unwrap_or_else(|| panic!("{explanation}"))
        };
        for (writes, bytes) in [false, true].into_iter().zip(bytes) {
            let access = widest(writes);
            assert_eq!(access.bytes, bytes, "{elem} by {vector}, {writes}");
            let lost = access.degraded.iter().find(|lost| lost.what == RemarkKind::Narrowed).expect(elem);
            let whole = bytes > widths[elem];
            assert_eq!(lost.reason.contains("at any address"), whole, "{}", lost.reason);
            assert_eq!(
                lost.help,
                format!("promise it: `require(N % {vector} == 0)`, or `variant_if(N % {vector} == 0)`")
            );
        }
        let errors = refused(&text(", deny(narrowed)"), USUAL);
        assert!(errors.to_string().contains("is narrowed: "), "{errors}");
        explained(&text(&format!(", deny(narrowed), require(N % {vector} == 0)")), USUAL);
    }
}

/// What a remark proposes to promise takes the loss that it is about, and a part of it does not.
#[test]
fn a_proposed_promise_helps() {
    let copies = |grid: &str, at: &str, rank: &str| {
        format!(
            "#[tiled_kernel(block = [16], grid = [{grid}])]
fn copied<const R: usize, const B: usize, const K: usize>(
    x: &LayoutTensor<f32, RowMajor<R, B, K>>, y: &mut LayoutTensor<f32, RowMajor<R, B, K>>,
) {{
    let mut own = y.tile([{rank}], [{at}]).distribute(row_major([{ones}]), thread_idx.x);
    own.copy_from(&x.tile([{rank}], [{at}]).distribute(row_major([{ones}]), thread_idx.x));
}}",
            ones = rank.replace("64", "16").replace('8', "1"),
        )
    };
    let rows = |index: &str| {
        format!(
            "#[tiled_kernel(block = [16], grid = [R])]
fn rows<const R: usize, const B: usize, const K: usize>(
    x: &LayoutTensor<f32, RowMajor<{{R * B * K}}>>, y: &mut LayoutTensor<f32, RowMajor<16, 4>>,
    _extents: &LayoutTensor<f32, RowMajor<R, B, K>>,
) {{
    y.tile([1, 4], [thread_idx.x, 0]).vectorize([1, 4]).copy_from(&x.window([4], [{index}]).vectorize([4]));
}}"
        )
    };
    for (text, what, promise) in [
        (copies("R.div_ceil(8), B", "block_idx.x, block_idx.y, 0", "8, 1, 64"), "masked", None),
        (
            copies("R.div_ceil(8), B, K.div_ceil(64)", "block_idx.x, block_idx.y, block_idx.z", "8, 1, 64"),
            "masked",
            Some("K % 64 == 0, R % 8 == 0"),
        ),
        (
            copies("R, B, K.div_ceil(64)", "block_idx.x, block_idx.y, block_idx.z", "1, 1, 64"),
            "masked",
            Some("K % 64 == 0"),
        ),
        (rows("block_idx.x * K"), "narrowed", Some("K % 4 == 0")),
        (rows("block_idx.x * B * K"), "narrowed", Some("K % 4 == 0")),
        (rows("block_idx.x * K + thread_idx.x * B"), "narrowed", Some("B % 4 == 0, K % 4 == 0")),
        (rows("block_idx.x * K * B + thread_idx.x * B"), "narrowed", Some("B % 4 == 0")),
        (rows("block_idx.x * K + thread_idx.x"), "narrowed", None),
    ] {
        let what = RemarkKind::from_name(what).expect("a word of `deny`");
        let lost = |text: &str| {
            let explanation = explained(text, USUAL);
            let all = explanation.accesses.into_iter().flat_map(|access| access.degraded);
            all.filter(|lost| lost.what == what).map(|lost| lost.help).collect::<Vec<_>>()
        };
        let helps = lost(&text);
        let found = helps.iter().find_map(|help| help.split_once("require(")?.1.split_once(")`"));
        let found = found.map(|(found, _)| {
            let mut parts: Vec<&str> = found.split(", ").collect();
            parts.sort_unstable();
            parts
        });
        assert_eq!(found.as_ref().map(|parts| parts.join(", ")).as_deref(), promise, "{helps:?}\n{text}");
        let Some(parts) = found else { continue };
        let with =
            |parts: &[&str]| text.replacen("grid =", &format!("require({}), grid =", parts.join(", ")), 1);
        assert_eq!(lost(&with(&parts)), Vec::<String>::new(), "{text}");
        for part in &parts {
            let others: Vec<&str> = parts.iter().filter(|other| *other != part).copied().collect();
            assert!(others.is_empty() || !lost(&with(&others)).is_empty(), "{others:?}\n{text}");
        }
    }
}

/// A value that the program has no name for is shown as what it is.
#[test]
fn remarks_show_the_programs_own_names() {
    for (line, shown) in [
        ("y[[x[[i]] as usize]] = 1;", "`x[[..]] < N`"),
        ("let at = x[[i]] as usize; y[[at]] = 1;", "`at < N`"),
        ("y[[x[[i]] as usize * 2 + i]] = 1;", "`thread_idx.x + 2 * x[[..]] < N`"),
        ("y[[if x[[i]] > 3 { i } else { s }]] = 1;", "`(if .. { thread_idx.x } else { s }) < N`"),
        ("let at = if x[[i]] > 3 { i } else { s }; y[[at]] = 1;", "`at < N`"),
        ("let k = x[[i]] as i32; y[[k as usize]] = 1;", "`(k as usize) < N`"),
        ("y[[(s + 1) * (s + 2)]] = 1;", "< N`"),
        ("let mut own = y.tile([16], [s]); own.copy_from(&x.tile([16], [s]));", "`16 * s + 15 < N`"),
    ] {
        let text = format!(
            "#[tiled_kernel(block = [32], grid = [1])]
fn line<const N: usize>(x: &LayoutTensor<u32, RowMajor<N>>, y: &mut LayoutTensor<u32, RowMajor<N>>, s: usize) {{
    let i = thread_idx.x;
    {line}
}}"
        );
        let explanation = explained(&text, USUAL);
        assert!(explanation.to_string().contains(shown), "{line}: {shown}\n{explanation}");
        if let Some(name) = unknown_names(&kernel(&text), &explanation) {
            panic!("`{name}`: {explanation}");
        }
    }
}

/// The words that remarks are made of besides a kernel's own.
const WORDS: &str = "thread_idx block_idx block_dim grid_dim x y z min max as usize if else require variant_if vectorize pad \
                     to_local cast cp async copy_dram_to_sram Pitched Contiguous stride assume";

/// An identifier in back-quotes of a kernel's remarks that neither the kernel nor the language has.
fn unknown_names(kernel: &Kernel, explanation: &Explanation) -> Option<String> {
    let locals = kernel.locals.iter().map(|local| local.name.as_str());
    let arguments = kernel.arguments.iter().map(|argument| argument.name.as_str());
    let own: BTreeSet<&str> = locals
        .chain(arguments)
        .chain(kernel.dims.iter().map(String::as_str))
        .chain(WORDS.split_whitespace())
        .chain(Elem::ALL.iter().map(|elem| elem.name()))
        .collect();
    let texts = explanation
        .accesses
        .iter()
        .flat_map(|access| &access.degraded)
        .flat_map(|lost| [&lost.reason, &lost.help]);
    let is_sign = |c: char| !c.is_alphanumeric() && c != '_';
    let mut names =
        texts.flat_map(|text| text.split('`').skip(1).step_by(2)).flat_map(|code| code.split(is_sign));
    let unknown = names.find(|name| name.starts_with(|c: char| !c.is_ascii_digit()) && !own.contains(name));
    unknown.map(str::to_owned)
}

/// A tile of bf16 staged in shared memory.
fn staged(require: &str, own: &str) -> String {
    let vectors = if own.contains("vectorize") { ".vectorize([1, 8])" } else { "" };
    let threads = if own.contains("vectorize") { "[16, 8]" } else { "[2, 64]" };
    format!(
        "#[tiled_kernel(block = [128], grid = [M.div_ceil(64)], require({require}))]
        fn staged<const M: usize, const K: usize>(
            x: &LayoutTensor<bf16, RowMajor<M, K>>, y: &mut LayoutTensor<bf16, RowMajor<64, 64>>,
        ) {{
            let mut tile = shared::<bf16>(row_major([64, 64]));
            copy_dram_to_sram_async(tile{vectors}, {own}, row_major({threads}));
            async_copy_wait_all();
            barrier();
            y[[thread_idx.x / 2, 0]] = tile[[thread_idx.x / 2, 0]];
        }}"
    )
}

#[test]
fn a_staged_copy_is_asynchronous() {
    let text = staged("K % 8 == 0", "x.tile([64, 64], [block_idx.x, 0]).vectorize([1, 8])");
    let text = text.replacen("grid =", "deny(synchronous, narrowed), grid =", 1);
    let explanation = explained(&text, USUAL);
    let copies = explanation.accesses.iter().filter(|access| access.means == Transport::CopyAsync);
    assert_eq!(copies.map(|access| access.bytes).collect::<Vec<_>>(), [16, 16], "{explanation}");
}

#[test]
fn deny_speaks_of_the_variant_that_keeps_every_promise() {
    let text = rows(", variant_if(K % 4 == 0), deny(narrowed)", OWN);
    let promised = Promises { variant_if: Some(0), ..USUAL };
    for promises in [USUAL, promised, Promises { narrow: false, ..promised }] {
        explained(&text, promises);
    }
    // Tensors that begin anywhere have a variant of their own, whose accesses are single ones.
    let explanation = explained(&text, Promises { aligned: false, ..promised });
    let lost = &explanation.accesses[0].degraded[0];
    assert!(lost.reason.contains("is aligned to 4 bytes, not to 16"), "{explanation}");
    // Without the condition of a variant the usual one is meant.
    let errors = refused(&rows(", deny(narrowed)", OWN), USUAL);
    assert_eq!(errors.as_slice().len(), 1, "{errors}");
}

#[test]
fn a_variant_denies_beside_a_variant_that_loses() {
    let text =
        rows(", variant_if(K % 4 == 0, deny(narrowed)), variant_if(K % 2 == 0), deny(synchronous)", OWN);
    let of = |number| Promises { variant_if: Some(number), ..USUAL };
    for promises in [USUAL, of(0), of(1)] {
        explained(&text, promises);
    }
    let text = text.replacen("K % 2 == 0", "K % 2 == 0, deny(narrowed)", 1);
    let errors = refused(&text, of(1));
    assert!(errors.as_slice()[0].message.contains("narrowed"), "{errors}");
    let empty = rows(", variant_if(deny(narrowed))", OWN);
    let errors = layout_text::kernel(&empty).expect_err("no condition");
    assert!(errors[0].message.contains("without a condition"), "{errors:?}");
}

#[test]
fn what_a_statement_allows_deny_does_not_refuse() {
    let attribute =
        |text: &str, name: &str| text.replacen("out.copy_from", &format!("{name} out.copy_from"), 1);
    let text = rows(", deny(narrowed)", OWN);
    let lost = &refused(&text, USUAL).as_slice()[0].message.clone();
    assert!(lost.contains("`x` is narrowed") || lost.contains("`y` is narrowed"), "{lost}");
    explained(&attribute(&text, "#[allow(narrowed)]"), USUAL);
    explained(&attribute(&text, "#[allow(masked, narrowed)]"), USUAL);
    // Of the loop around it, of a block, and of the left side of an assignment.
    explained(&text.replacen("for k", "#[allow(narrowed)] for k", 1), USUAL);
    let block = text.replacen("out.copy_from(&own);", "#[allow(narrowed)] { out.copy_from(&own); }", 1);
    explained(&block, USUAL);
    let one = text.replacen("out.copy_from(&own);", "#[allow(masked)] y[[block_idx.x, k]] = 0.0;", 1);
    explained(&one.replacen("deny(narrowed)", "deny(masked)", 1), USUAL);
    // The next statement is refused still, and another word too.
    let two = text.replacen(
        "out.copy_from(&own);",
        "#[allow(narrowed)] out.copy_from(&own); out.copy_from(&own);",
        1,
    );
    refused(&two, USUAL);
    refused(&attribute(&text, "#[allow(masked)]"), USUAL);
    for unknown in ["#[allow(slow)]", "#[inline]", "#[allow(narrowed, slow)]"] {
        let errors = layout_text::kernel(&attribute(&text, unknown)).expect_err(unknown);
        assert!(errors[0].message.contains("attribute inside of a kernel"), "{errors:?}");
    }
}

/// Files of kernels that show what is slow, or how to learn.
const SHOWN: [&str; 3] = ["puzzles/", "matmul.rs", "banks.rs"];

/// Every remark on a kernel of the corpus.
#[test]
fn remarks_name_nothing_that_no_source_has() {
    let (mut unknown, mut count) = (BTreeSet::new(), 0);
    for definition in definitions().into_iter().chain(of_attention()) {
        let kernel = definition.kernel().expect("a kernel");
        let set = kernel.parameter_sets().into_iter().next().unwrap_or_default();
        for promises in [USUAL, Promises::default()] {
            let explanation = explain(&compile(&kernel, &set, promises).expect("a variant"));
            count += explanation.accesses.iter().map(|access| access.degraded.len()).sum::<usize>();
            unknown.extend(
                unknown_names(&kernel, &explanation).map(|name| format!("{}: {name}", definition.name)),
            );
        }
    }
    assert!(count >= 500, "{count} remarks");
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// What none of a kernel's sets loses, `deny` names: so no later change loses it in silence.
#[test]
fn every_fast_kernel_denies_what_it_does_not_lose() {
    let is_fast = |definition: &&Definition| {
        is_shipped(definition) && !SHOWN.iter().any(|shown| definition.file.contains(shown))
    };
    let all = definitions().into_iter().chain(of_attention());
    let all = all.chain([&mesh::add_onto::DEFINITION, &mesh::rectify::DEFINITION]);
    let fast = all.filter(is_fast);
    let (mut missing, mut count) = (vec![], 0);
    for definition in fast {
        let kernel = definition.kernel().expect("a kernel");
        let promises = Promises { variant_if: (!kernel.variant_if.is_empty()).then_some(0), ..USUAL };
        let compiled = kernel.parameter_sets().into_iter().map(|set| compile(&kernel, &set, promises));
        let explained: Vec<_> = compiled.map(|checked| explain(&checked.expect("a variant"))).collect();
        let accesses = || explained.iter().flat_map(|one| &one.accesses);
        let asynchronous =
            accesses().any(|access| matches!(access.means, Transport::CopyAsync | Transport::Tma));
        let concerns =
            [(RemarkKind::Narrowed, accesses().next().is_some()), (RemarkKind::Synchronous, asynchronous)];
        for (what, _) in concerns.into_iter().filter(|(_, concerned)| *concerned) {
            let is_lost = accesses().any(|access| access.degraded.iter().any(|lost| lost.what == what));
            if !is_lost && !kernel.deny.contains(&what) {
                missing.push(format!("{}: {what} ({})", definition.name, definition.file));
            }
        }
        count += 1;
    }
    assert!(count >= 50, "{count} kernels");
    assert!(
        missing.is_empty(),
        "deny(..) of these does not name what they do not lose:\n{}",
        missing.join("\n")
    );
}

#[test]
fn a_word_that_deny_does_not_know_is_refused() {
    let text = rows(", deny(slow)", OWN);
    let errors = layout_text::kernel(&text).expect_err("no such word");
    assert!(errors[0].message.contains("narrowed, masked, synchronous, wide"), "{errors:?}");
    assert!(layout_text::kernel(&rows(", deny = true", OWN)).is_err());
}

/// A sum over a tree, as CUDA's guides write it.
const HALVED: &str = "let mut t = shared::<f32>(row_major([64])); t[[thread_idx.x]] = 1.0; let mut stride = 32; while stride > 0 {
    barrier(); if thread_idx.x < stride { t[[thread_idx.x]] += t[[thread_idx.x + stride]]; } stride /= 2; }";

/// The place of a number in a sorted table.
const SEARCHED: &str = "let mut t = shared::<f32>(row_major([64])); t[[thread_idx.x]] = 1.0; barrier(); let (mut low, mut high) = (0, 64);
    while low < high { let middle = (low + high) / 2; if t[[middle]] < 0.5 { low = middle + 1; } else { high = middle; } }";

/// A sum over a tree and back, by distances that grow.
const SWEPT: &str = "let mut t = shared::<f32>(row_major([64])); let own = thread_idx.x; t[[own]] = 1.0;
    let (mut count, mut reach) = (32, 1);
    while count > 0 {
        barrier();
        if own < count { let to = reach * (2 * own + 2) - 1; if to < 64 { t[[to]] += 1.0; } }
        reach *= 2;
        count /= 2;
    }
    let mut all = shared::<f32>(row_major([65]));
    all[[reach]] = 1.0;";

/// A function whose own names have other values in the second call.
const CALLED_TWICE: &str = "fn walk(mut t: View<f32, Write>, by: usize) {
        let (mut at, mut k) = (0, 0);
        while k < 4 { let step = by; t[[at]] = 1.0; at += step; k += 1; }
    }
    let t = shared::<f32>(row_major([4]));
    walk(t, 1);
    walk(t, 5);";

/// A sort by a network of comparisons.
const DOUBLED: &str =
    "let mut t = shared::<f32>(row_major([64])); let own = thread_idx.x; t[[own]] = 1.0; let mut size = 2;
    while size <= 64 {
        let mut stride = size / 2;
        while stride > 0 {
            let low = 2 * own - (own & (stride - 1));
            if low + stride < 64 { let high = t[[low + stride]]; barrier(); t[[low]] = high; }
            barrier();
            stride /= 2;
        }
        size *= 2;
    }";

/// Kernels with these bodies compile under `deny(masked)`, or are refused.
fn have_masks(masked: bool, bodies: &[(&str, &str)]) {
    for (entries, body) in bodies {
        let text = format!(
            "#[tiled_kernel(block = [64]{entries}, deny(masked))]
            fn kernel<const N: usize>(
                x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>, n: usize, s: isize,
            ) {{
                let i = block_idx.x * 64 + thread_idx.x;
                {body}
            }}"
        );
        if masked {
            let errors = refused(&text, USUAL);
            assert!(errors.to_string().contains("is masked: "), "{errors}");
        } else {
            compile(&kernel(&text), &ParamSet::default(), USUAL)
                .unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        }
    }
}

#[test]
fn masks_go_where_the_page_says_so() {
    let by_ceil = ", grid = [N.div_ceil(64)]";
    let shown = [
        (by_ceil, "if i < N { y[[i]] = x[[i]]; }"),
        (by_ceil, "if i >= N { return; } y[[i]] = x[[i]];"),
        (by_ceil, "if !(i < N && n < N) { return; } y[[i]] = x[[n]];"),
        (by_ceil, "for k in 0..4 { let j = k * 64 + i; if j >= N { continue; } y[[j]] = x[[j]]; }"),
        (by_ceil, "for k in 0..4 { let j = k * 64 + i; if j >= N { break; } y[[j]] = x[[j]]; }"),
        (
            by_ceil,
            "for k in 0..4 { let j = match k * 64 + i { j if j < N => j, _ => continue }; y[[j]] = x[[j]]; }",
        ),
        (by_ceil, "for k in i..N { y[[k]] = x[[k]]; }"),
        (by_ceil, "for k in i..N.min(i + 8) { y[[k]] = x[[k]]; }"),
        (by_ceil, "if i < N { y[[i]] = x[[(i + n) % N]]; }"),
        (by_ceil, "if i < N { y[[i]] = x[[i.max(n).min(N - 1)]]; }"),
        (by_ceil, "if i < N { y[[i]] = x[[i.min(N - 1).max(0)]]; }"),
        (by_ceil, "if i < N { y[[i]] = x[[(i as isize + s).max(0).min(N as isize - 1)]]; }"),
        (by_ceil, "if i < N { y[[i]] = x[[(i as isize + s).min(N as isize - 1).max(0)]]; }"),
        (by_ceil, "if i < N { y[[i]] = x[[(i as isize - s).clamp(0, N as isize - 1)]]; }"),
        (by_ceil, "let inside = i < N; if inside { y[[i]] = x[[i]]; }"),
        (by_ceil, "let outside = i >= N; if outside { return; } y[[i]] = x[[i]];"),
        (by_ceil, "let both = i < N && n < N; let same = both; if same { y[[i]] = x[[n]]; }"),
        (by_ceil, "let either = i >= N || n >= N; if !either { y[[i]] = x[[n]]; }"),
        (by_ceil, "let mut j = i; let inside = j < N; if inside { y[[j]] = x[[j]]; } j += 1;"),
        (", grid = [1]", HALVED),
        (
            ", grid = [1]",
            "let mut t = shared::<f32>(row_major([64])); let mut at = 0; for _ in 0..n { t[[at]] = 1.0; at = (at + 1) % 64; }",
        ),
        (
            ", grid = [1]",
            "let mut t = shared::<f32>(row_major([64])); let mut best = 0; for k in 0..64 { if k * n > 7 { best = k; } } t[[best]] = 1.0;",
        ),
        (", grid = [N / 64], require(N % 64 == 0)", "y[[i]] = x[[i]];"),
        (", grid = [N / 64], require(N % 64 == 0)", "y.tile([64], [block_idx.x])[[thread_idx.x]] = x[[i]];"),
    ];
    have_masks(false, &shown);
    let too_far = HALVED.replace("= 32", "= 64");
    let masked = [
        (by_ceil, "y[[i]] = 1.0;"),
        (by_ceil, "if i <= N { y[[i]] = 1.0; }"),
        (by_ceil, "if i < N || n < N { y[[i]] = 1.0; }"),
        (by_ceil, "for k in 0..4 { let j = k * 64 + i; if j >= N && n > 3 { continue; } y[[j]] = 1.0; }"),
        (by_ceil, "for k in i..N.max(i + 8) { y[[k]] = 1.0; }"),
        (by_ceil, "let mut j = i; let inside = j < N; j += 1; if inside { y[[j]] = 1.0; }"),
        (by_ceil, "let either = i < N || n < N; if either { y[[i]] = 1.0; }"),
        (by_ceil, "let both = i < N && n < 5; if !both { y[[i]] = 1.0; }"),
        (by_ceil, "let mut inside = i < N; if n > 3 { inside = true; } if inside { y[[i]] = 1.0; }"),
        (
            by_ceil,
            "for k in 0..4 { let inside = k * 64 + i < N; if inside { y[[(k + 1) * 64 + i]] = 1.0; } }",
        ),
        // In shared memory, where it comes of more than the thread's number.
        (", grid = [1]", "let mut t = shared::<f32>(row_major([64])); t[[n]] = 1.0;"),
        (", grid = [1]", &too_far),
        (
            ", grid = [1]",
            "let mut t = shared::<f32>(row_major([64])); let mut at = 0; for _ in 0..n { t[[at]] = 1.0; at = (at + 1) % 65; }",
        ),
        // Of nothing no element is in range.
        (", grid = [1]", "y[[i.min(N - 1)]] = 1.0;"),
        (", grid = [1]", "y[[i % N]] = 1.0;"),
    ];
    have_masks(true, &masked);
}

/// In shared memory, of one block.
#[test]
fn indices_of_loops_stay_below_their_limits() {
    let shown = [
        (", grid = [1]", DOUBLED),
        (
            ", grid = [1]",
            "let mut t = shared::<f32>(row_major([97])); let mut k = 1; while k <= 32 { k = 3 * k; } t[[k]] = 1.0;",
        ),
        (
            ", grid = [1]",
            "let mut t = shared::<f32>(row_major([8])); let (mut k, mut at) = (0, 0); while k < 64 { t[[at]] = 1.0; at += 1; k += 8; }",
        ),
        (
            ", grid = [1]",
            "let mut t = shared::<f32>(row_major([26])); let c = n as u8; if c >= 97 && c <= 122 { t[[(c - 97) as usize]] = 1.0; }",
        ),
        (
            ", grid = [1]",
            "let mut t = shared::<f32>(row_major([64])); t[[thread_idx.x & n]] = 1.0; t[[thread_idx.x & !3]] = 1.0;",
        ),
        (
            ", grid = [1]",
            "let mut t = shared::<f32>(row_major([2])); let mut now = 0; for _ in 0..n { t[[1 - now]] = t[[now]]; now = 1 - now; }",
        ),
        (", grid = [1]", SEARCHED),
        (", grid = [1]", SWEPT),
        (
            ", grid = [1]",
            "struct Ring { stage: usize, phase: usize } let mut t = shared::<f32>(row_major([4])); let mut ring = Ring { stage: 0, phase: 0 }; \
             for _ in 0..n { t[[ring.stage]] = 1.0; ring.stage += 1; if ring.stage == 4 { ring.stage = 0; ring.phase += 1; } }",
        ),
    ];
    have_masks(false, &shown);
    let changed = [
        DOUBLED.replace("low + stride < 64", "low + stride < 65"),
        SEARCHED.replace("middle + 1", "middle + 2"),
        SEARCHED.replace("0, 64", "0, 65"),
        SWEPT.replace("(32, ", "(64, "),
    ];
    let masked: [(&str, &str); 15] = [
        (", grid = [1]", &changed[0]),
        (", grid = [1]", &changed[1]),
        (", grid = [1]", &changed[2]),
        (", grid = [1]", &changed[3]),
        (
            ", grid = [1]",
            "let mut t = shared::<f32>(row_major([2])); let mut now = 0; for _ in 0..n { t[[1 - now]] = t[[now]]; now = 2 - now; }",
        ),
        (
            ", grid = [1]",
            "let mut t = shared::<f32>(row_major([96])); let mut k = 1; while k <= 32 { k = 3 * k; } t[[k]] = 1.0;",
        ),
        (
            ", grid = [1]",
            "let mut t = shared::<f32>(row_major([8])); let (mut k, mut at) = (0, 0); while k < 65 { t[[at]] = 1.0; at += 1; k += 8; }",
        ),
        // Below zero there are rounds as well.
        (
            ", grid = [1]",
            "let mut t = shared::<f32>(row_major([8])); let (mut d, mut at) = (s.min(0), 0); while d != 0 { t[[at]] = 1.0; at += 1; d /= 2; }",
        ),
        // A step that has another value in each call.
        (", grid = [1]", CALLED_TWICE),
        // A round that leaves out its step.
        (
            ", grid = [1]",
            "let mut t = shared::<f32>(row_major([8])); let (mut k, mut at) = (0, 0); while k < 64 { t[[at]] = 1.0; at += 1; if at == n { continue; } k += 8; }",
        ),
        (
            ", grid = [1]",
            "let mut t = shared::<f32>(row_major([8])); let (mut k, mut at) = (0, 0); while k < 64 { t[[at]] = 1.0; at += 1; if at == n { k += 8; } }",
        ),
        // One that goes back.
        (
            ", grid = [1]",
            "let mut t = shared::<f32>(row_major([8])); let (mut k, mut at) = (0, 0); while k < 64 { t[[at]] = 1.0; at += 1; k += 8; if at == n { k = 0; } }",
        ),
        // A limit that the loop moves.
        (
            ", grid = [1]",
            "let mut t = shared::<f32>(row_major([8])); let (mut k, mut last) = (0, 7); while k < last { t[[k]] = 1.0; k += 1; last += 2; }",
        ),
        (
            ", grid = [1]",
            "let mut t = shared::<f32>(row_major([26])); let c = n as u8; if c >= 96 && c <= 122 { t[[(c - 96) as usize]] = 1.0; }",
        ),
        (
            ", grid = [1]",
            "let mut t = shared::<f32>(row_major([26])); let c = n as u8; if c >= 97 && c <= 122 { y[[0]] = 1.0; } t[[(c - 97) as usize]] = 1.0;",
        ),
    ];
    have_masks(true, &masked);
}
