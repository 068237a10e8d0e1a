//! How the multipliers read the register file: without a GPU, from the SASS.
//!
//! Law: a product `FFMA d, a, b, c` reads the registers that the product before did not leave at the same operand (`.reuse`).
//! A bank, odd or even registers, gives one a cycle, and a product may wait one for the other: two in a row that read one bank
//! more than twice cost a cycle. The shares are those of the ptxas of NVRTC 13.0.88.

use layout_compiler::{Arch, Promises, compile, emit};
use layout_cuda::{Elem, ParamValue, Variant};
use layout_kernels::kernels::gemm_mma::gemm_mma;
use layout_kernels::kernels::{sgemm, sgemm_fed};
use layout_kernels::product::{self, Machine, Matrix, Plan, Precision, Product};
use layout_tests::support::cubin::{Cost, compiled, of_ptxas};
use layout_tests::support::lock::{self, Subject};
use layout_tests::support::parallel::in_parallel;
use layout_tests::support::sass::{Sass, sass};
use std::collections::BTreeMap;

/// The registers that the sources of a product name, each with whether it stays: `R4.reuse`, `-R7`.
fn sources(operands: &str) -> Vec<Option<(u32, bool)>> {
    let register = |text: &str| {
        let name = text.trim().trim_start_matches('-').strip_prefix('R')?;
        let (number, reuse) =
            name.split_once('.').map_or((name, false), |(number, rest)| (number, rest == "reuse"));
        Some((number.parse().ok()?, reuse))
    };
    operands.split(',').skip(1).map(register).collect()
}

/// The share of products that, with the one before, read one bank more than twice.
fn crowded(code: &Sass) -> f64 {
    let (mut products, mut crowded) = (0, 0);
    let mut held = [None; 3];
    let mut before = [0; 2];
    for line in code.lines() {
        let Some(operands) = line.strip_prefix("FFMA ") else {
            // What another instruction reads first takes the place of what was held there.
            held[0] = None;
            continue;
        };
        let sources = sources(operands);
        let mut reads = [0; 2];
        for (slot, source) in sources.iter().enumerate().take(3) {
            if let Some((number, _)) = source
                && held[slot] != Some(*number)
            {
                reads[(number % 2) as usize] += 1;
            }
            held[slot] = source.filter(|(_, reuse)| *reuse).map(|(number, _)| number);
        }
        products += 1;
        crowded += usize::from((0..2).any(|bank| before[bank] + reads[bank] > 2));
        before = reads;
    }
    crowded as f64 / f64::from(products.max(1))
}

/// The share in a variant's code, by its row in `tests/nvrtc.lock`.
fn crowded_in(variant: &Variant, flags: &[&str]) -> f64 {
    let (entry, text, arch) = (variant.entry, variant.text, "sm_90a");
    let fact = lock::fact(Subject { kind: "crowded", entry, arch, text, flags }, || {
        let compiled = compiled(text, arch, flags).expect("NVRTC takes the text");
        format!("{:.3}", crowded(&sass(&compiled.cubin, entry)))
    });
    fact.parse().expect("a share")
}

#[test]
fn what_is_held_is_not_read() {
    let code = |lines: &[&str]| Sass::from(lines.iter().map(|line| line.to_string()).collect::<Vec<_>>());
    // Two even and one odd, then one of each: three of the even bank.
    assert_eq!(crowded(&code(&["FFMA R0, R2, R4, R1", "FFMA R3, R6, R5, RZ"])), 0.5);
    assert_eq!(crowded(&code(&["FFMA R0, R2.reuse, R5, RZ", "FFMA R3, R2, R7, R4"])), 0.0);
    assert_eq!(crowded(&code(&["FFMA R0, R2.reuse, R4, R1", "LDS R9, [R8]", "FFMA R3, R2, R7, R4"])), 0.5);
    assert_eq!(crowded(&code(&["MOV R0, R2"])), 0.0);
}

#[test]
fn the_order_of_products_reaches_the_code() {
    let kernels = [(&sgemm::DEFINITION, 1, 0.25), (&sgemm::DEFINITION, 8, 0.22)];
    let fed = [1, 8].map(|slices| (&sgemm_fed::DEFINITION, slices, 0.22));
    for (definition, slices, most) in kernels.into_iter().chain(fed) {
        let own = ("SLICES", ParamValue::Int(slices));
        let variants = definition.variants.iter().filter(|variant| variant.parameters.contains(&own));
        let variants: Vec<&Variant> = variants.collect();
        assert!(!variants.is_empty(), "{} of {slices} slices", definition.name);
        for variant in &variants {
            let found = crowded_in(variant, variant.flags);
            println!("{}: {found:.3}", variant.entry);
            let ptxas = of_ptxas();
            assert!(found < most, "{}: {found:.3} of the products, at most {most}: {ptxas}", variant.entry);
        }
        // At the compiler's own level the same text loses its order: the flag is what keeps it.
        let first = variants[0];
        let own = crowded_in(first, &[]);
        assert!(own > most, "{}: {own:.3} at the default level", first.entry);
    }
}

/// The product of every card: of no architecture has it spills, a stack or a warning, where operands begin at 16 bytes. (Others are copied
/// element by element, and spill up to 64 bytes.)
#[test]
fn products_of_warps_have_no_spills_anywhere() {
    let archs = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"];
    let is_fast = |variant: &&Variant| variant.entry.contains("_Tbf16") && variant.entry.contains("_if");
    let variants = gemm_mma::DEFINITION.variants.iter().filter(is_fast);
    let jobs: Vec<_> = variants.flat_map(|variant| archs.map(|arch| (variant, arch))).collect();
    assert!(jobs.len() >= 24, "{} variants", jobs.len());
    in_parallel(&jobs, |(variant, arch)| {
        let cost = Cost::of(variant.entry, variant.text, arch, variant.flags);
        assert_eq!(
            (cost.spills, cost.stack, cost.warns),
            (0, 0, false),
            "{} for {arch}: {cost}",
            variant.entry
        );
    });
}

/// So have the sets that a plan picks by a card's shared memory and by the size of C.
#[test]
fn what_plans_pick_for_products_of_warps_has_no_spills() {
    let kernel = gemm_mma::DEFINITION.kernel().expect("bytes of this version");
    let mut jobs = BTreeMap::new();
    for arch in ["sm_75", "sm_80", "sm_86", "sm_90a", "sm_100a"] {
        let arch: Arch = arch.parse().expect("an architecture");
        let operand = if arch == Arch::SM_75 { Elem::F16 } else { Elem::Bf16 };
        for [m, n, k] in [[64, 4096, 8192], [1024, 1024, 1024], [4096, 4096, 4096]] {
            let rows = |shape: [usize; 2]| Matrix { shape, strides: [shape[1], 1] };
            let product = Product {
                a: rows([m, k]),
                b: rows([k, n]),
                c: rows([m, n]),
                operand,
                result: operand,
                precision: Precision::Float32,
            };
            let machine = Machine { multiprocessors: 108, arch };
            let plan = Plan::of(&product, machine, Some(product::Kernel::GemmMma), None);
            let set = plan.parts[0].set.as_ref().expect("a set");
            let kernel = kernel.clone().for_arch(arch);
            let set = kernel.choose(set, &[]).expect("its parameters");
            let promises = Promises { variant_if: Some(0), ..Promises::USUAL };
            let source = emit(&compile(&kernel, &set, promises).expect("a set of the kernel"));
            jobs.insert((source.entry.clone(), arch.to_string()), source);
        }
    }
    assert!(jobs.len() >= 10, "{:?}", jobs.keys());
    let jobs: Vec<_> = jobs.into_iter().collect();
    in_parallel(&jobs, |((entry, arch), source)| {
        let cost = Cost::of(entry, &source.text, arch, source.flags);
        assert_eq!((cost.spills, cost.stack, cost.warns), (0, 0, false), "{entry} for {arch}: {cost}");
    });
}
