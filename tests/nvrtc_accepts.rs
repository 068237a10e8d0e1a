//! NVRTC takes every text: each variant of each kernel becomes a CUBIN without spills, local memory or warnings. What is for
//! every architecture is compiled for two in turn, and each kernel's first variant for both.
//!
//! Fails where NVRTC is missing: `tests/run.sh` installs it.

use layout_bench::kernels::measuring;
use layout_compiler::{Arch, Elem, ParamSet, Promises, compile, emit};
use layout_cuda::nvrtc;
use layout_kernels::kernels::quantized::few_rows_quantized;
use layout_kernels::kernels::{few_rows, tensor_core};
use layout_kernels::{convolution, linear, memory, pooling, product, quantized, transforms};
use layout_tests::kernels::{definitions, is_shipped};
use layout_tests::support::cubin::{Cost, arch_of, of_ptxas};
use layout_tests::support::lock::{self, Subject};
use layout_tests::support::parallel::in_parallel;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

/// The architectures of a kernel that names none.
const ARCHS: [&str; 2] = ["sm_80", "sm_90a"];

/// A text to compile.
struct Job {
    name: String,
    text: String,
    arch: String,
    flags: &'static [&'static str],
}

#[test]
fn every_variant_becomes_a_cubin() {
    let (mut jobs, mut examples) = (Vec::new(), 0);
    for definition in definitions().into_iter().chain(measuring()) {
        let kernel = definition.kernel().expect("bytes of this version");
        examples += usize::from(is_shipped(definition));
        for (number, variant) in definition.variants.iter().enumerate() {
            // The first for both, the rest of an example for the later one, those of the tests by turns.
            let wanted = |which: usize| match number {
                0 => true,
                _ if is_shipped(definition) => which == 1,
                _ => number % 2 == which,
            };
            let set = variant.parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
            let needed = arch_of(&kernel, &ParamSet(set)).unwrap_or(Arch::BASELINE);
            let turns = ARCHS.into_iter().enumerate().filter(|(which, _)| wanted(*which));
            let turns = turns.filter_map(|(_, arch)| arch.parse::<Arch>().ok());
            // What names a later architecture is compiled for that.
            let all: BTreeSet<String> =
                turns.map(|turn| if needed == Arch::BASELINE { turn } else { needed }.to_string()).collect();
            for arch in all {
                let text = variant.text.to_string();
                jobs.push(Job { name: variant.entry.to_string(), text, arch, flags: variant.flags });
            }
        }
    }
    assert!(examples > 40, "{examples} kernels of the examples");
    compile_all(&jobs);
}

#[test]
fn the_variants_that_launch_falls_back_to_become_cubins() {
    let mut jobs = Vec::new();
    for (number, definition) in definitions().into_iter().enumerate() {
        let kernel = definition.kernel().expect("bytes of this version");
        let set = kernel.parameter_sets().swap_remove(0);
        let variants = [(true, false), (false, true), (false, false)].into_iter().enumerate();
        let variants = variants.filter(|(which, _)| is_shipped(definition) || *which == number % 3);
        for (_, (narrow, aligned)) in variants {
            let promises = Promises { narrow, aligned, variant_if: None };
            let checked = compile(&kernel, &set, promises).expect("a kernel that the macro compiled");
            let source = emit(&checked);
            let arch = arch_of(&kernel, &set).unwrap_or(Arch::SM_80).to_string();
            jobs.push(Job { name: source.entry, text: source.text, arch, flags: source.flags });
        }
    }
    compile_all(&jobs);
}

#[test]
fn the_sets_that_host_functions_pick_become_cubins() {
    let mut picked = vec![(&tensor_core::DEFINITION, product::small_tiles())];
    for (m, k) in [(1, 2048), (1, 8192), (16, 2048), (16, 8192), (24, 2048), (32, 2048)] {
        let set = product::few_rows([m, 2048, k], product::Machine::OF_HOPPER);
        picked.push((&few_rows::DEFINITION, set));
    }
    for ([m, n], format) in
        [[1, 2048], [1, 32768], [16, 2048], [16, 8192], [16, 32768], [64, 2048], [64, 32768]]
            .into_iter()
            .flat_map(|shape| {
                [quantized::Format::INT4, quantized::Format::INT8].map(|format| (shape, format))
            })
    {
        let set = quantized::few_rows(format, Elem::Bf16, [m, n], product::Machine::OF_HOPPER);
        picked.push((&few_rows_quantized::DEFINITION, set));
    }
    // Few rows and many, of every length that changes a set.
    let lengths = (16..=1 << 18).step_by(16).chain(((1 << 18) + 4..=1 << 19).step_by(4096)).chain([1 << 19]);
    let shapes = lengths.flat_map(|n| [[1, n], [100_000, n]]);
    let mut known = HashSet::new();
    for (definition, set) in shapes.flat_map(|[m, n]| memory::picked(m, n)) {
        if known.insert((definition.name, set.key())) {
            picked.push((definition, set));
        }
    }
    picked.extend(convolution::picked());
    picked.extend(linear::picked());
    picked.extend(pooling::picked());
    picked.extend(transforms::picked());
    picked.extend(product::grouped_picked());
    // Tensor memory: wide tiles and narrow ones, each of them with rows that threads store.
    for shape in [[4096, 4096], [4096, 4095], [1024, 1024], [1024, 1023]] {
        let b200 = product::Machine { multiprocessors: 148, arch: Arch::SM_100F };
        let rows = |shape: [usize; 2]| product::Matrix { shape, strides: [shape[1], 1] };
        let [m, n] = shape;
        let product = product::Product {
            a: rows([m, 64]),
            b: rows([64, n]),
            c: rows(shape),
            operand: Elem::Bf16,
            result: Elem::Bf16,
            precision: product::Precision::Float32,
        };
        let plan = product::Plan::of(&product, b200, Some(product::Kernel::GemmTcgen05), None);
        let sets = plan.parts.into_iter().filter_map(|part| Some((part.kernel.definition(), part.set?)));
        picked.extend(sets);
    }
    let mut jobs = Vec::new();
    for (definition, set) in picked {
        let kernel = definition.kernel().expect("bytes of this version");
        for variant_if in (0..kernel.variant_if.len() as u32).map(Some).chain([None]) {
            let set = kernel.choose(&set, &[]).expect("its parameters");
            let checked = compile(&kernel, &set, Promises { variant_if, ..Promises::USUAL });
            let source = emit(&checked.expect("a set of the kernel"));
            // By turns, where a kernel is for both.
            let arch = arch_of(&kernel, &set)
                .map_or_else(|| ARCHS[jobs.len() % 2].to_string(), |arch| arch.to_string());
            jobs.push(Job { name: source.entry, text: source.text, arch, flags: source.flags });
        }
    }
    compile_all(&jobs);
}

/// Compiles all.
fn compile_all(jobs: &[Job]) {
    in_parallel(jobs, accepted);
}

fn accepted(Job { name, text, arch, flags }: &Job) {
    let cost = Cost::of(name, text, arch, flags);
    assert!(!cost.warns, "NVRTC warns of {name} for {arch}\n{text}");
    // The longest rows fill the registers of tensors that TMA takes; of others the host takes another kernel, see `host::memory`.
    let is_longest = name.starts_with("softmax_staged_") || name.starts_with("layer_norm_staged_");
    if is_longest && (name.contains("_wide") || name.contains("_unaligned")) {
        return;
    }
    assert!(cost.slow.is_empty(), "{name} for {arch}: {cost:?}");
    // Offsets of 64 bits in the scan of more than 2^31 elements: two registers too many for sm_80, by name and number, for
    // the ptxas of NVRTC 13.0.88.
    let known = if name.starts_with("scan_") && name.contains("_wide") && arch == "sm_80" { 8 } else { 0 };
    // One register too many, for the same ptxas, in two sets of rows that begin anywhere: 32 and 48 elements a thread.
    let is_full = [
        "layer_norm_GROUP32_ROUNDS8_ODDtrue",
        "layer_norm_in_parts_PARTS16_THREADS512_ROUNDS12_ROWS1_KEPTfalse_ODDtrue_if",
    ]
    .iter()
    .any(|set| name.starts_with(set));
    let known = if is_full { 4 } else { known };
    // Two tiles of 16 queries of 128 elements fill the registers of a warp: see `Attention::set_of_warps`.
    let known = if name.starts_with("attention_mma_") { 160 } else { known };
    // Lines at any address are copied element by element, many at once, beside a warp's sums and its next fragments. A large product's
    // operands are moved to lines of vectors first: `Planner::by_warps`.
    let is_of_warps = name.starts_with("gemm_mma_") || name.starts_with("convolution_mma_");
    let known = if is_of_warps && !name.contains("_if") { 64 } else { known };
    // Images of more than 2^31 elements at an odd address, too.
    let is_far = name.starts_with("convolution_mma_") && name.contains("_wide_unaligned");
    let known = if is_far { 80 } else { known };
    // Two registers too many for the same ptxas, of systems of more than 2^31 elements, rows by way of a list.
    let is_far = name.starts_with("triangular_") && name.contains("MOVEDtrue_wide") && arch == "sm_80";
    let known = if is_far { 8 } else { known };
    // Groups of matrices of more than 2^31 elements: each of those copies has an offset of 64 bits of its own.
    let known = if name.starts_with("grouped_gemm_mma_") && name.contains("_wide") { 368 } else { known };
    assert!(cost.spills <= known, "{name} for {arch}: {cost:?}; {}", of_ptxas());
    // CUDA's own reduction of a large angle keeps its words on the stack.
    let angles = ["sinf(", "cosf(", "tanf(", "sin(", "cos(", "tan("].iter().any(|call| text.contains(call));
    let known = if angles { 64 } else { known.next_multiple_of(8) };
    assert!(cost.stack <= known, "{name} for {arch} has a stack: {cost:?}; {}", of_ptxas());
}

#[test]
fn every_wrapper_of_an_instruction_compiles_alone() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../layout-macros/compiler/src/emit/device");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).expect("the folder of device functions") {
        let path = entry.expect("an entry").path();
        // The text of a product is made for its shape, which the kernels' variants cover.
        if path.extension().is_none_or(|extension| extension != "cuh") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a device file");
        let mut paragraphs = text.split("\n\n");
        let head = paragraphs.next().expect("a comment on the file");
        for paragraph in paragraphs {
            count += 1;
            // Of those of a family of Blackwell the first card that has it.
            for arch in if head.contains("sm_100") { ["sm_100a", "sm_110a"] } else { ARCHS } {
                let later = ["sm_89 and later", "sm_90 and later"];
                if arch == "sm_80"
                    && later.iter().any(|later| head.contains(later) || paragraph.contains(later))
                {
                    continue;
                }
                // Inlined where it is used, a function would be left out: here nothing uses it.
                let names = [("f16", "short"), ("bf16", "short"), ("e4m3", "char"), ("e5m2", "char")];
                let mut alone: String =
                    names.iter().map(|(name, bits)| format!("typedef unsigned {bits} {name};\n")).collect();
                // What a file declares its functions may use.
                let declared =
                    text.split("\n\n").filter(|other| other.contains("\nstruct ") && *other != paragraph);
                declared.for_each(|other| alone.push_str(&format!("{other}\n")));
                alone.push_str(&paragraph.replace("__forceinline__ ", ""));
                if let Some((_, rest)) =
                    paragraph.split_once("template <int groups>\n__device__ __forceinline__ ")
                {
                    let head = rest.split('(').next().expect("a name");
                    alone.push_str(&format!("\ntemplate __device__ {head}<3>();\n"));
                }
                let entry = paragraph.split_once("__device__ ").map_or(&*alone, |(_, rest)| rest);
                let entry = entry.split('(').next().and_then(|head| head.split_whitespace().last());
                let (entry, flags) = (entry.unwrap_or_default(), ["--relocatable-device-code=true"]);
                lock::fact(Subject { kind: "alone", entry, arch, text: &alone, flags: &flags }, || {
                    let compiled = nvrtc::compile(&alone, arch, &flags);
                    let compiled =
                        compiled.unwrap_or_else(|error| panic!("{}: {error}\n{alone}", path.display()));
                    assert_eq!(&compiled.cubin[..4], b"\x7fELF");
                    assert!(!compiled.log.contains("warning"), "{}\n{alone}", compiled.log);
                    "taken".to_owned()
                });
            }
        }
    }
    assert!(count >= 20, "{count} device functions in {}", folder.display());
}
