//! Slow paths that the compiler takes without an error: registers in local memory, and the warnings C75xx, by which
//! warpgroup products are serialised or `setmaxnreg` is dropped.
//!
//! Law: [`slow_paths`] looks only at kernels that ask for Hopper's units, since these units are worth nothing on a slow
//! path, and not at one that prints, since `printf` has its values in local memory. For each reason it names the line of the text, where the compiler makes it known.

use std::fmt;

use super::{Compiled, nvrtc};

/// What makes a text one that asks for these units: products of a warpgroup, its registers, copies by tensor map.
const UNITS: [&str; 3] = ["wgmma.mma_async", "setmaxnreg.", "cp.async.bulk.tensor"];

/// One slow path of a kernel's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowPath {
    /// What it is.
    pub reason: SlowReason,
    /// The line of the text, from 1; 0 where it is the whole kernel's.
    pub line: usize,
    /// The line of the Rust file; 0 where the table has none at all.
    pub rust_line: u32,
}

/// What makes code slow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SlowReason {
    /// Registers were stored to local memory for want of room.
    Spills {
        /// Bytes stored, a thread.
        stores: u32,
        /// Bytes loaded back, a thread.
        loads: u32,
    },
    /// Arrays are in local memory, mostly because an index is not known at compile time.
    Stack {
        /// Bytes a thread.
        bytes: u32,
    },
    /// ptxas says so.
    Warning {
        /// The number, such as 7510.
        code: u32,
        /// Its words.
        text: String,
    },
}

impl fmt::Display for SlowReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SlowReason::Spills { stores, loads } => write!(
                f,
                "{stores} bytes of registers a thread are stored to local memory and {loads} loaded back; take smaller \
                 tiles, fewer threads, or more registers for the warpgroup"
            ),
            SlowReason::Stack { bytes } => write!(
                f,
                "{bytes} bytes a thread are in local memory; index registers by what is known at compile time (`unroll`)"
            ),
            SlowReason::Warning { code, text } => write!(f, "C{code}: {text}"),
        }
    }
}

/// The slow paths of a compiled text, for a table of the Rust line of each of its lines (0 for none). Empty where the
/// text does not ask for Hopper's units, or prints. Where there are some and NVRTC is there, the text is compiled once more with the
/// same `flags`, to learn their lines.
///
/// ```
/// use layout_cuda::nvrtc::{compile, slow_paths};
///
/// let text = r#"extern "C" __global__ void copy(float* x) { x[threadIdx.x] = x[threadIdx.x + 32]; }"#;
/// let compiled = compile(text, "sm_90a", &[])?;
/// assert!(slow_paths(text, "sm_90a", &[], &[], &compiled).is_empty());
/// # Ok::<(), layout_cuda::nvrtc::NvrtcError>(())
/// ```
pub fn slow_paths(
    text: &str,
    arch: &str,
    flags: &[&str],
    lines: &[u32],
    compiled: &Compiled,
) -> Vec<SlowPath> {
    if !UNITS.iter().any(|unit| text.contains(unit)) || text.contains(" printf(") {
        return Vec::new();
    }
    let mut list = reasons(compiled);
    if list.is_empty() {
        return Vec::new();
    }
    let second = nvrtc().and_then(|nvrtc| nvrtc.ptx_with_lines(text, arch, flags)).ok();
    let second = second.map(|(ptx, log)| (ptx, reasons(&Compiled { log, ..compiled.clone() })));
    let same = |again: &[(SlowReason, usize)]| again.iter().map(|(r, _)| r).eq(list.iter().map(|(r, _)| r));
    match second.filter(|(_, again)| same(again)) {
        Some((ptx, again)) => {
            list = again;
            let ptx: Vec<&str> = ptx.lines().collect();
            for (reason, line) in &mut list {
                *line = place(reason, *line, text, &ptx, lines);
            }
        }
        // Without NVRTC, which a kernel from the cache does not need, or where its log reports of other things, the
        // lines stay unknown: those of the first log are of a PTX that is not here.
        None => list.iter_mut().for_each(|(_, line)| *line = 0),
    }
    let rust = |line: usize| lines.get(line.wrapping_sub(1)).copied().unwrap_or(0);
    let first = lines.iter().copied().find(|line| *line != 0).unwrap_or(0);
    let found = list.into_iter().map(|(reason, line)| {
        let rust_line = if rust(line) == 0 { first } else { rust(line) };
        SlowPath { reason, line, rust_line }
    });
    found.collect()
}

/// The reasons in a log and the counts, each with the line of the PTX that the log reports, or 0.
fn reasons(compiled: &Compiled) -> Vec<(SlowReason, usize)> {
    let mut list = Vec::new();
    for resources in &compiled.resources {
        let (stores, loads, bytes) = (resources.spill_stores, resources.spill_loads, resources.stack);
        if resources.spills() {
            list.push((SlowReason::Spills { stores, loads }, 0));
        } else if bytes > 0 {
            list.push((SlowReason::Stack { bytes }, 0));
        }
    }
    for line in compiled.log.lines().filter(|line| line.starts_with("ptxas")) {
        let Some((code, words)) = line.split_once("(C75").and_then(|(_, rest)| rest.split_once(')')) else {
            continue;
        };
        let Ok(code) = code.parse::<u32>() else {
            continue;
        };
        let mut at = 0;
        let mut text = words.trim().to_string();
        if let Some((before, rest)) = words.split_once("in around line ") {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            at = rest[..digits].parse().unwrap_or(0);
            text = format!("{}{}", before.trim_start(), rest[digits..].trim_start());
        }
        list.push((SlowReason::Warning { code: 7500 + code, text }, at));
    }
    list
}

/// The line of the text that a reason is about, 0 for the whole kernel. `at` is the line of the PTX that the log names.
fn place(reason: &SlowReason, at: usize, text: &str, ptx: &[&str], lines: &[u32]) -> usize {
    let in_body = |(number, line): (usize, &str), words: &[&str]| {
        let known = lines.is_empty() || lines.get(number).is_some_and(|rust| *rust != 0);
        (known && words.iter().any(|word| line.contains(word))).then_some(number + 1)
    };
    match reason {
        SlowReason::Spills { .. } => 0,
        SlowReason::Stack { .. } => {
            let local = |line: &&str| {
                let line = line.trim_start();
                line.starts_with("st.local") || line.starts_with("ld.local")
            };
            ptx.iter().position(local).map_or(0, |found| text_line(ptx, found + 1, lines))
        }
        SlowReason::Warning { text: words, .. } if words.contains("setmaxnreg") => {
            let wanted = ["registers_up<", "registers_down<", "setmaxnreg."];
            text.lines().enumerate().find_map(|line| in_body(line, &wanted)).unwrap_or(0)
        }
        SlowReason::Warning { .. } if at == 0 => 0,
        SlowReason::Warning { .. } => text_line(ptx, at, lines),
    }
}

/// The line of the text that line `at` of the PTX comes from: the last one named before it that has a Rust line, which
/// is not inside a device function.
fn text_line(ptx: &[&str], at: usize, lines: &[u32]) -> usize {
    let known = |line: &usize| lines.is_empty() || lines.get(*line - 1).is_some_and(|rust| *rust != 0);
    let before = ptx[..at.min(ptx.len())].iter().rev();
    // Not beyond the function that it is in.
    let before = before.take_while(|line| !line.contains(".entry "));
    let named = before.filter_map(|line| line.trim_start().strip_prefix(".loc"));
    let mut candidates = named.flat_map(|place| {
        let number =
            |words: &str| words.split_whitespace().nth(1).and_then(|word| word.parse::<usize>().ok());
        let caller = place.split_once("inlined_at").and_then(|(_, caller)| number(caller));
        [caller, number(place)].into_iter().flatten().filter(|line| *line > 0)
    });
    candidates.find(known).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvrtc::compile;

    /// A product of a warpgroup with eight columns, and what belongs to it.
    const DEVICE: &str = r#"__device__ __forceinline__ void product(float (&d)[4], unsigned long long a) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a) : "memory");
}
__device__ __forceinline__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }
__device__ __forceinline__ void registers_down() { asm volatile("setmaxnreg.dec.sync.aligned.u32 24;"); }
"#;

    /// The kernel `k` of a body, whose every line has the Rust line 100 more than its own, from 1.
    fn found(bounds: &str, body: &str) -> Vec<SlowPath> {
        found_by(&[], bounds, body)
    }

    /// The same, compiled by `flags`.
    fn found_by(flags: &[&str], bounds: &str, body: &str) -> Vec<SlowPath> {
        let head =
            format!("extern \"C\" __global__ void {bounds} k(float* x, unsigned long long a, int n) {{\n");
        let text = format!("{DEVICE}{head}{body}}}\n");
        let before = DEVICE.lines().count() + 1;
        let after = (1..=body.lines().count() as u32).map(|line| 100 + line);
        let lines: Vec<u32> = std::iter::repeat_n(0, before).chain(after).chain([0]).collect();
        let compiled = compile(&text, "sm_90a", flags).expect("NVRTC takes the text");
        slow_paths(&text, "sm_90a", flags, &lines, &compiled)
    }

    const BOUNDS: &str = "__launch_bounds__(128, 1)";

    #[test]
    fn clean() {
        let body = "float d[4] = {x[0], x[1], x[2], x[3]};\nfence();\nproduct(d, a);\ncommit();\nwait();\n\
            for (int i = 0; i < 4; i++) x[threadIdx.x * 4 + i] = d[i];\n";
        assert_eq!(found(BOUNDS, body), []);
    }

    #[test]
    fn a_product_that_is_serialised() {
        let body = "float d[4] = {x[0], x[1], x[2], x[3]};\nfence();\nproduct(d, a);\nd[0] += 1.0f;\nproduct(d, a);\n\
            commit();\nwait();\nfor (int i = 0; i < 4; i++) x[threadIdx.x * 4 + i] = d[i];\n";
        // At ptxas's own level and at another: the lines are those of the compile that the log reports of.
        for flags in [&[][..], &["--ptxas-options=-O1"]] {
            serialised(found_by(flags, BOUNDS, body));
        }
    }

    fn serialised(list: Vec<SlowPath>) {
        let codes: Vec<u32> = list
            .iter()
            .filter_map(|path| match &path.reason {
                SlowReason::Warning { code, .. } => Some(*code),
                _ => None,
            })
            .collect();
        assert!(codes.iter().any(|code| (7509..=7516).contains(code)), "{list:?}");
        let injected =
            list.iter().find(|path| path.reason.to_string().contains("warpgroup.wait is injected"));
        let injected = injected.unwrap_or_else(|| panic!("{list:?}"));
        assert_eq!(injected.rust_line, 104, "the sum between the products: {list:?}");
        assert!(!injected.reason.to_string().contains("around line"), "{list:?}");
    }

    #[test]
    fn set_max_registers_that_is_dropped() {
        let list = found("", "x[0] = 1.0f;\nregisters_down();\nx[1] = n;\n");
        assert_eq!(list.len(), 1, "{list:?}");
        assert!(matches!(list[0].reason, SlowReason::Warning { code: 7508, .. }), "{list:?}");
    }

    #[test]
    fn spills() {
        let loads: String = (0..64).map(|i| format!("float r{i} = x[{i} * n];\n")).collect();
        let stores: String = (0..64).map(|i| format!("x[{i} * n] = r{i} * r{};\n", 63 - i)).collect();
        let body = format!("registers_down();\n{loads}__syncthreads();\n{stores}");
        let list = found("__launch_bounds__(1024, 2)", &body);
        let [SlowPath { reason: SlowReason::Spills { stores, loads }, line: 0, rust_line: 101 }] = list[..]
        else {
            panic!("{list:?}")
        };
        assert!(stores > 0 && loads > 0);
    }

    /// An array whose index only the run knows, begun at line 2.
    const ARRAY: &str = "float r[64], sum = 0.0f;
for (int i = 0; i < 64; i++) r[i] = x[i * n];
for (int i = 0; i < n; i++) sum += r[i * n & 63];
x[0] = sum;
";

    #[test]
    fn an_array_in_local_memory() {
        let list = found(BOUNDS, &format!("registers_down();\n{ARRAY}"));
        let [SlowPath { reason: SlowReason::Stack { bytes: 256 }, rust_line, .. }] = list[..] else {
            panic!("{list:?}")
        };
        assert_eq!(rust_line, 103, "where it is first written");
    }

    #[test]
    fn other_kernels_may() {
        let text = format!("extern \"C\" __global__ void k(float* x, int n) {{\n{ARRAY}}}\n");
        let compiled = compile(&text, "sm_90a", &[]).expect("NVRTC takes the text");
        assert_eq!(compiled.resources[0].stack, 256);
        assert_eq!(slow_paths(&text, "sm_90a", &[], &[], &compiled), []);
    }
}
