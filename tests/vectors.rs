//! What the text stores as a vector, the compiler stores as a vector: read in the PTX, at the store's line.
//!
//! Law: no store of a statement `vector = ..` moves fewer bytes than the vector has. NVRTC takes such a store apart where something is
//! subtracted on the way to its address, unless the address is counted in vectors (`layout-macros/compiler/src/emit/vector.rs`).

use layout_compiler::{Arch, Promises, compile, emit};
use layout_cuda::nvrtc::nvrtc;
use layout_kernels::memory;
use layout_tests::kernels::{definitions, is_shipped};
use layout_tests::support::cubin::arch_of_first;
use layout_tests::support::lock::{self, Subject};
use layout_tests::support::parallel::in_parallel;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Bytes of a type of vectors.
fn bytes(kind: &str) -> Option<u32> {
    let scalar = kind.trim_end_matches(|c: char| c.is_ascii_digit());
    let of_scalar = match scalar {
        "float" | "int" | "uint" => 4,
        "double" | "longlong" => 8,
        _ => return None,
    };
    kind[scalar.len()..].parse::<u32>().ok().map(|count| count * of_scalar)
}

/// For each line of a text the bytes of the vector that its statement stores, registers aside.
fn stored(text: &str) -> BTreeMap<usize, u32> {
    let locals = || text.lines().map(str::trim).filter(|line| line.starts_with("__align__"));
    let is_local = |name: &str| locals().any(|line| line.contains(&format!(" {name}[")));
    let mut found = BTreeMap::new();
    let mut open = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let target = line.strip_prefix('*').unwrap_or(line).strip_prefix("reinterpret_cast<");
        if let Some((kind, address)) = target.and_then(|target| target.split_once("*>")) {
            let name = address.trim_start_matches(['(', '&']).split(['[', ')']).next().unwrap_or_default();
            open = bytes(kind).filter(|_| !is_local(name));
        }
        open.and_then(|bytes| found.insert(number + 1, bytes));
        if line.ends_with(';') {
            open = None;
        }
    }
    found
}

/// Bytes of a store of PTX: `st.global.v4.f32` has 16.
fn width(instruction: &str) -> u32 {
    let parts = instruction.split('.').filter_map(|part| {
        let digits = part.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        digits.parse::<u32>().ok().map(|number| if part.starts_with('v') { number } else { number / 8 })
    });
    parts.product()
}

/// The stores that are narrower than their statement's vector, and how many are not.
fn narrower(text: &str, ptx: &str) -> (Vec<String>, usize) {
    let lines = stored(text);
    let (mut found, mut whole, mut at) = (Vec::new(), 0, 0);
    for line in ptx.lines().map(str::trim) {
        if let Some(place) = line.strip_prefix(".loc") {
            at = place.split_whitespace().nth(1).and_then(|line| line.parse().ok()).unwrap_or(0);
        }
        let instruction = line.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default();
        let memory = ["st.global", "st.shared"].iter().any(|store| instruction.starts_with(store));
        match lines.get(&at) {
            Some(bytes) if memory && width(instruction) < *bytes => found.push(format!("line {at}: {line}")),
            Some(_) if memory => whole += 1,
            _ => {}
        }
    }
    (found, whole)
}

/// The texts of the examples' kernels, and those of the sets that host functions pick for rows of odd and even length. Of the tests' kernels
/// one store is known that NVRTC takes apart all the same, one of six in `wgmma_of_integers`, whose address is a pointer without an index.
fn texts() -> Vec<(String, String, &'static [&'static str], String)> {
    let mut list = Vec::new();
    for definition in definitions().into_iter().filter(|definition| is_shipped(definition)) {
        let arch = arch_of_first(definition);
        let arch = arch.filter(|arch| !Arch::SM_90A.includes(*arch)).unwrap_or(Arch::SM_90A).to_string();
        for variant in definition.variants {
            list.push((variant.entry.to_owned(), variant.text.to_owned(), variant.flags, arch.clone()));
        }
    }
    for n in [1021, 65521, 65524] {
        for (definition, set) in memory::picked(4096, n) {
            let kernel = definition.kernel().expect("bytes of this version");
            for variant_if in (0..kernel.variant_if.len() as u32).map(Some).chain([None]) {
                let checked = compile(&kernel, &set, Promises { variant_if, ..Promises::USUAL });
                let source = emit(&checked.expect("a set of the kernel"));
                list.push((source.entry, source.text, source.flags, "sm_90a".to_owned()));
            }
        }
    }
    list.sort();
    list.dedup();
    list
}

/// Of these NVRTC takes the first of four vectors apart, the one whose address is a pointer without an index.
const KNOWN: [&str; 1] = ["dequantize_"];

#[test]
fn a_vector_is_stored_whole() {
    let texts: Vec<_> = texts().into_iter().filter(|(_, text, ..)| !stored(text).is_empty()).collect();
    let found = Mutex::new((Vec::new(), 0));
    in_parallel(&texts, |(name, text, flags, arch)| {
        let subject = Subject { kind: "vectors", entry: name, arch, text, flags };
        let fact = lock::fact(subject, || {
            let compiled = nvrtc().and_then(|nvrtc| nvrtc.ptx_with_lines(text, arch, flags));
            let (ptx, _) = compiled.unwrap_or_else(|error| panic!("{name}: {error}"));
            let (narrow, whole) = narrower(text, &ptx);
            format!("{whole} {}", narrow.join("; "))
        });
        let (whole, narrow) = fact.split_once(' ').expect("a number and the narrow stores");
        let mut found = found.lock().expect("no panic in another thread");
        if KNOWN.iter().any(|kernel| name.starts_with(kernel)) {
            assert!(!narrow.is_empty(), "{name} is stored whole: it is no exception any more");
        } else if !narrow.is_empty() {
            found.0.push(format!("{name}: {narrow}"));
        }
        found.1 += whole.parse::<usize>().expect("the whole vectors");
    });
    let (narrow, whole) = found.into_inner().expect("no panic");
    assert!(narrow.is_empty(), "{}", narrow.join("\n"));
    assert!(whole > 60, "{whole} vectors in {} texts", texts.len());
}

/// The check itself: of the form that is taken apart it says so.
#[test]
fn a_store_taken_apart_is_found() {
    let head = "extern \"C\" __global__ void k(float* __restrict__ out, float v, int m, int n) {\n";
    let store = |to: &str| {
        format!(
            "{head}    float* to = out + m - n % 4;\n    {to} = make_float4(v, v + 1, v + 2, v + 3);\n}}\n"
        )
    };
    let elements = store("*reinterpret_cast<float4*>(&to[threadIdx.x * 4])");
    let vectors = store("reinterpret_cast<float4*>(to)[threadIdx.x]");
    let of = |text: &str| {
        let (ptx, _) = nvrtc().and_then(|nvrtc| nvrtc.ptx_with_lines(text, "sm_90a", &[])).expect("PTX");
        narrower(text, &ptx)
    };
    assert_eq!(of(&elements).0.len(), 4);
    assert_eq!(of(&vectors), (Vec::new(), 1));
}
