//! The code of Hopper's and Blackwell's kernels uses their units: what the text asks for is in the SASS, and nothing is in local
//! memory.
//!
//! Law: each PTX instruction of a text has its counterpart in the SASS. A compiler that drops or replaces one fails these
//! tests, without a GPU.

use crate::hopper::both_halves;
use crate::tensor_map::copy_boxes;
use layout_compiler::{Arch, Elem, Variant};
use layout_cuda::{Definition, ParamValue, nvrtc, tiled_kernel};
use layout_kernels::kernels::attention::attention;
use layout_kernels::kernels::gemm::gemm;
use layout_kernels::kernels::gemm_tcgen05::gemm_tcgen05;
use layout_tests::kernels::definitions;
use layout_tests::support::cubin::{arch_of_first, compiled};
use layout_tests::support::lock::{self, Subject};
use layout_tests::support::parallel::in_parallel;
use layout_tests::support::sass::{Sass, sass};
use std::sync::Mutex;

/// What a text asks for, and one of the instructions that it has to become.
const UNITS: [(&str, &[&str]); 9] = [
    ("wgmma.mma_async", &["HGMMA", "QGMMA", "IGMMA"]),
    ("setmaxnreg.", &["USETMAXREG"]),
    (".shared::cluster.global.tile", &["UTMALDG"]),
    (".multicast::cluster", &["UTMALDG.1D.MULTICAST", "UTMALDG.2D.MULTICAST", "UTMALDG.3D.MULTICAST"]),
    (".global.shared::cta.tile", &["UTMASTG"]),
    ("stmatrix.", &["STSM"]),
    ("mbarrier.try_wait", &["SYNCS.PHASECHK"]),
    ("barrier.cluster.arrive", &["UCGABAR_ARV"]),
    ("elect.sync", &["ELECT"]),
];

/// The kernels for sm_90a: of the corpus, of the examples, of the tests.
fn kernels() -> Vec<&'static Definition> {
    let mut list = vec![&gemm::DEFINITION, &copy_boxes::DEFINITION, &both_halves::DEFINITION];
    for definition in definitions() {
        let arch = arch_of_first(definition);
        if arch == Some(Arch::SM_90A) && !list.iter().any(|known| std::ptr::eq(*known, definition)) {
            list.push(definition);
        }
    }
    list
}

/// The variants without those of f16 where there are some of bf16: the same code with another type in it. nvdisasm takes
/// half a second for each.
fn of_one_type(definition: &Definition) -> impl Iterator<Item = &'static Variant> {
    let of = |elem: Elem, variant: &Variant| variant.parameters.contains(&("T", ParamValue::Type(elem)));
    let has_bf16 = definition.variants.iter().any(|variant| of(Elem::Bf16, variant));
    definition.variants.iter().filter(move |variant| !(has_bf16 && of(Elem::F16, variant)))
}

/// The first of them and the last; of the others `nvrtc_accepts` sees that nothing is slow.
fn ends(definition: &Definition) -> impl Iterator<Item = &'static Variant> {
    let list: Vec<&Variant> = of_one_type(definition).collect();
    let last = list.len().saturating_sub(1);
    (0..).zip(list).filter(move |(number, _)| *number == 0 || *number == last).map(|(_, variant)| variant)
}

#[test]
fn the_code_has_what_the_text_asks_for_and_no_slow_path() {
    let kernels = kernels();
    let variants: Vec<(&Definition, &Variant)> = kernels
        .iter()
        .flat_map(|definition| ends(definition).map(|variant| (*definition, variant)))
        .collect();
    let found = Mutex::new(Vec::new());
    in_parallel(&variants, |(definition, variant)| {
        let Variant { entry, text, flags, .. } = **variant;
        let subject = Subject { kind: "sass", entry, arch: "sm_90a", text, flags };
        let fact = lock::fact(subject, || instructions(definition, variant));
        if let Some((_, wrong)) = fact.split_once("; ") {
            found.lock().expect("no panic in another thread").push(format!("{entry}: {wrong}"));
        }
    });
    let found = found.into_inner().expect("no panic");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// How many instructions a variant has, followed by what its code lacks and what it should not have.
fn instructions(definition: &Definition, variant: &Variant) -> String {
    let name = variant.entry;
    let compiled = compiled(variant.text, "sm_90a", variant.flags);
    let compiled = compiled.unwrap_or_else(|error| panic!("{name}: {error}"));
    let slow = nvrtc::slow_paths(variant.text, "sm_90a", variant.flags, variant.lines, &compiled);
    let slow =
        slow.iter().map(|path| format!("{name}: {}:{}: {}", definition.file, path.rust_line, path.reason));
    let mut found: Vec<String> = slow.collect();
    let code = sass(&compiled.cubin, name);
    for (asked, wanted) in UNITS {
        if variant.text.contains(asked) && wanted.iter().all(|opcode| code.count(opcode) == 0) {
            found.push(format!("{name}: `{asked}` in the text, and no {wanted:?} in the SASS"));
        }
    }
    for local in ["LDL", "STL"] {
        if code.count(local) > 0 {
            found.push(format!("{name}: {} {local} in the SASS", code.count(local)));
        }
    }
    let count = format!("{} instructions", code.lines().len());
    [vec![count], found].concat().join("; ")
}

/// A kernel that begins before the launches ahead have ended uses no global memory before its wait, but for hints.
#[test]
fn nothing_is_used_before_the_launches_ahead_have_ended() {
    let waits = |text: &str| text.contains("griddepcontrol.wait");
    let variants: Vec<&Variant> = definitions()
        .into_iter()
        .filter_map(|definition| of_one_type(definition).find(|variant| waits(variant.text)))
        .collect();
    assert!(variants.iter().any(|variant| variant.entry.starts_with("few_rows_")));
    let found = Mutex::new(Vec::new());
    in_parallel(&variants, |variant| {
        let Variant { entry, text, flags, .. } = **variant;
        let arch = if text.contains("tcgen05") { "sm_100f" } else { "sm_90a" };
        let fact = lock::fact(Subject { kind: "waits", entry, arch, text, flags }, || {
            let compiled = compiled(text, arch, flags).expect("NVRTC takes the text");
            let code = sass(&compiled.cubin, entry);
            let wait = code.lines().iter().position(|line| line.contains("ACQBULK")).expect("a wait");
            let before = Sass::from(code.lines()[..wait].to_vec());
            let uses = ["LDG", "STG", "LDGSTS", "RED", "ATOM", "UTMALDG", "UTMASTG", "UTMAREDG"];
            let used: usize = uses.iter().map(|opcode| before.count(opcode)).sum();
            // Of shared memory, as the allocation of tensor memory has them, and of registers.
            let own = before.count("ATOMS") + before.count("REDUX");
            (used - own).to_string()
        });
        if fact != "0" {
            found.lock().expect("no panic in another thread").push(format!("{entry}: {fact}"));
        }
    });
    let found = found.into_inner().expect("no panic");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The instructions from where a warpgroup begins a group of products to its last product.
fn between_products(code: &Sass) -> Sass {
    let mut inside = false;
    let lines = code.lines().iter().filter(|line| {
        inside = (inside || line.starts_with("WARPGROUP.ARRIVE")) && !line.contains("gsb0");
        inside
    });
    Sass::from(lines.cloned().collect::<Vec<_>>())
}

#[test]
fn gemm_runs_on_the_matrix_units() {
    let bf16 = ["T", "U"].map(|name| (name, ParamValue::Type(Elem::Bf16)));
    let of_bf16 = |variant: &&Variant| bf16.iter().all(|own| variant.parameters.contains(own));
    for variant in gemm::DEFINITION.variants.iter().filter(of_bf16) {
        let compiled = compiled(variant.text, "sm_90a", variant.flags).expect("NVRTC takes the text");
        let code = sass(&compiled.cubin, variant.entry);
        let direct = variant.parameters.contains(&("DIRECT", ParamValue::Bool(true)));
        let stores = if direct { "STG.E.U16" } else { "UTMASTG.2D" };
        for opcode in ["HGMMA.64x256x16.F32", "USETMAXREG.DEALLOC", "UTMALDG.2D", stores, "STSM"] {
            assert!(code.count(opcode) > 0, "{}: no {opcode}", variant.entry);
        }
        // A warp is of one warpgroup, and the text says so: descriptors of matrices are made in uniform registers.
        let between = between_products(&code);
        assert!(between.count("HGMMA") >= 12, "{}: {:#?}", variant.entry, between.lines());
        assert_eq!(between.count("R2UR"), 0, "{}: {:#?}", variant.entry, between.lines());
    }
}

/// From its first product to its last the thread that multiplies in tensor memory has products, commits and waits, and what counts
/// stages: ten instructions for a product, which takes 128 cycles, and none that touches memory or registers of other threads.
#[test]
fn one_thread_feeds_tensor_memory() {
    for variant in of_one_type(&gemm_tcgen05::DEFINITION) {
        let Variant { entry, text, flags, .. } = *variant;
        let fact = lock::fact(Subject { kind: "feeds", entry, arch: "sm_100f", text, flags }, || {
            let code = sass(&compiled(text, "sm_100f", flags).expect("NVRTC takes the text").cubin, entry);
            let products = |line: &String| line.contains("UTCHMMA") || line.contains("UTCQMMA");
            let (first, last) =
                (code.lines().iter().position(products), code.lines().iter().rposition(products));
            let (first, last) = (first.expect("a product"), last.expect("a product"));
            let own = Sass::from(code.lines()[first..=last].to_vec());
            let count = own.lines().iter().filter(|line| products(line)).count();
            let others = ["LD", "ST", "UTMA", "ATOM", "RED", "BAR", "SHFL"].map(|opcode| own.count(opcode));
            let others: usize = others.iter().sum();
            let commits = own.count("UTCBAR");
            let few = count >= 8 && own.lines().len() <= 10 * count && commits >= count / 4 - 1;
            let fed = if few && others == 0 { "fed" } else { "not fed" };
            format!("{fed}, {count} products in {} instructions, {commits} commits", own.lines().len())
        });
        assert!(fact.starts_with("fed"), "{entry}: {fact}");
    }
}

/// The wait for the products with V is behind both rows' maxima, and what rescales the sums and rounds the weights between the
/// exponentials.
#[test]
fn attention_waits_where_it_costs_least() {
    let wanted = [("D", ParamValue::Int(128)), ("KEEP", ParamValue::Function("every"))];
    let variants = attention::DEFINITION.variants.iter();
    let mut variants = variants.filter(|variant| wanted.iter().all(|own| variant.parameters.contains(own)));
    let variant = variants.next().expect("a variant without a mask");
    let compiled = compiled(variant.text, "sm_90a", variant.flags).expect("NVRTC takes the text");
    let code = sass(&compiled.cubin, variant.entry);
    let lines = code.lines();
    let at = |what: &str, from: usize| {
        from + lines[from..].iter().position(|line| line.contains(what)).expect(what)
    };
    let scores = at("DEPBAR.LE gsb0, 0x1", 0);
    let values = at("DEPBAR.LE gsb0, 0x0", scores);
    let next = at("DEPBAR.LE gsb0, 0x0", values + 1);
    let count = |range: std::ops::Range<usize>, what: &str| {
        lines[range].iter().filter(|line| line.starts_with(what)).count()
    };
    assert!(count(scores..values, "FMNMX") >= 64 && count(scores..values, "MUFU.EX2") <= 16);
    // Each of the two rows takes the difference of its maxima here; the compiler may move one or two others.
    assert!(count(scores..values, "F2FP") + count(scores..values, "FADD") <= 4);
    let last = values
        + lines[values..next].iter().rposition(|line| line.starts_with("MUFU.EX2")).expect("exponentials");
    assert!(count(values..last, "FMUL") >= 48 && count(values..last, "F2FP") >= 20);
}

#[test]
fn hints_to_the_caches_are_in_the_code() {
    let code = |name: &str| {
        let found = definitions().into_iter().find(|definition| definition.name == name);
        let variant = &found.expect("a kernel of the corpus").variants[0];
        let compiled = compiled(variant.text, "sm_90a", &[]).expect("NVRTC takes the text");
        let code = sass(&compiled.cubin, variant.entry);
        code.lines().to_vec()
    };
    // No place in L1: `NA` in a load and in a store.
    let vectors = code("hinted_vectors");
    for opcode in ["LDG.E.NA.128", "STG.E.NA.128"] {
        assert!(vectors.iter().any(|line| line.contains(opcode)), "no {opcode} in {vectors:#?}");
    }
    // L2's policy: a box has a descriptor beside its addresses, and only then.
    let boxes = code("hinted_boxes");
    let boxes: Vec<&String> =
        boxes.iter().filter(|line| line.contains("UTMALDG") || line.contains("UTMASTG")).collect();
    assert!(boxes.len() >= 6 && boxes.iter().all(|line| line.contains("desc[")), "{boxes:#?}");
    let plain = code("transpose_by_boxes");
    assert!(!plain.iter().any(|line| line.contains("UTMALDG") && line.contains("desc[")), "{plain:#?}");
}

/// A tile as 16-bit floats.
#[tiled_kernel(
    T = [bf16, f16], THREADS = 256, arch = "sm_90a", block = [THREADS], grid = [N.div_ceil(THREADS * 8)]
)]
fn converted<T, const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<T, RowMajor<N>>) {
    let i = block_idx.x * THREADS + thread_idx.x;
    let own = x.tile([8], [i]).vectorize([4]).to_local();
    y.tile([8], [i]).vectorize([8]).copy_from(&own.cast::<T>());
}

/// One instruction makes two of them, and the pairs are stored as they are.
#[test]
fn a_whole_tile_is_converted_in_pairs() {
    for variant in converted::DEFINITION.variants {
        let compiled = compiled(variant.text, "sm_90a", variant.flags).expect("NVRTC takes the text");
        let code = sass(&compiled.cubin, variant.entry);
        assert_eq!(code.count("F2FP"), 4, "{}: {:#?}", variant.entry, code.lines());
        assert_eq!(code.count("F2F."), 0, "{}: {:#?}", variant.entry, code.lines());
        assert_eq!(code.count("STG.E.128"), 1, "{}: {:#?}", variant.entry, code.lines());
    }
}
