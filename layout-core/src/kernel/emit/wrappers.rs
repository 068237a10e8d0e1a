//! Wrappers of instructions that differ in little: each a row of a table, written into a template of `device/`.
//!
//! Law: between two `$` of a template stands a name, and its value comes there; so the order of a row's values says nothing.

const APPROXIMATE: &str = include_str!("device/approximate.cuh.template");
const ATOMIC: &str = include_str!("device/atomic.cuh.template");
const FLAG: &str = include_str!("device/flag.cuh.template");
const FLOAT8: &str = include_str!("device/float8.cuh.template");
const HINT: &str = include_str!("device/hint.cuh.template");
const TENSOR_MAP: &str = include_str!("device/tensor_map.cuh.template");
/// The product of a warpgroup, which [`super::operation`] fills.
pub(super) const WGMMA: &str = include_str!("device/wgmma.cuh.template");

/// Columns of a line.
const WIDTH: usize = 121;

/// A template with a row's values at their names.
pub(super) fn fill(template: &str, row: &[(&str, &str)]) -> String {
    let parts = template.split('$').enumerate();
    let value = |name: &str| row.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| *value);
    parts.map(|(number, part)| if number % 2 == 0 { part } else { value(part) }).collect()
}

/// The functions of a template's file, in order: its paragraphs but the first, which says what the file is.
pub(super) fn paragraphs(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split("\n\n").skip(1).map(str::trim_end)
}

/// The function of this number.
fn paragraph(text: &'static str, number: usize) -> &'static str {
    paragraphs(text).nth(number).unwrap_or_default()
}

/// The hardware's approximations.
pub(super) fn approximations() -> Vec<String> {
    let rows = [
        ("exp2", "2 to the power a.", "ex2.approx.ftz.f32"),
        ("log2", "Logarithm to base 2.", "lg2.approx.ftz.f32"),
        ("sin", "Sine.", "sin.approx.ftz.f32"),
        ("cos", "Cosine.", "cos.approx.ftz.f32"),
        ("tanh", "Hyperbolic tangent (sm_75 and later).", "tanh.approx.f32"),
        ("rsqrt", "1 / sqrt(a).", "rsqrt.approx.ftz.f32"),
        ("recip", "1 / a.", "rcp.approx.ftz.f32"),
    ];
    let one = rows.map(|(name, doc, instruction)| {
        fill(paragraph(APPROXIMATE, 0), &[("name", name), ("doc", doc), ("instruction", instruction)])
    });
    one.into_iter().chain([paragraph(APPROXIMATE, 1).to_owned()]).collect()
}

/// `atomic_max`, `atomic_min` of floats, which CUDA does not have: between the device's threads, or the system's.
pub(super) fn atomic_extremes(suffix: &str, also: &str) -> Vec<String> {
    let rows = [("max", "larger", "fmaxf"), ("min", "smaller", "fminf")];
    let made = rows.map(|(name, which, function)| {
        let row =
            [("name", name), ("which", which), ("function", function), ("suffix", suffix), ("also", also)];
        fill(paragraph(ATOMIC, 0), &row)
    });
    made.to_vec()
}

/// `atomic_add` of 64-bit integers with a sign; exchanges of the types that CUDA's own do not take.
pub(super) fn atomic_bits() -> Vec<String> {
    let rows = [
        ("", "gpu", ""),
        ("_block", "cta", ", between the threads of the block"),
        ("_system", "sys", ", between all threads of the system"),
    ];
    let each = rows.into_iter().flat_map(|(suffix, scope, between)| {
        let row = [("suffix", suffix), ("scope", scope), ("between", between)];
        [1, 2, 3].map(|number| fill(paragraph(ATOMIC, number), &row))
    });
    each.collect()
}

/// Undivided loads and stores with and without an order, by the threads between which they are so.
pub(super) fn flags() -> Vec<String> {
    let rows = [
        (
            ["", "gpu"],
            [
                "An element as it is in memory now.",
                "The same; what stands after it sees what was written before the release that wrote the value.",
                "Writes an element.",
                "The same, after all that this thread did before.",
            ],
        ),
        (
            ["_block", "cta"],
            [
                "An element as it is now; undivided between the threads of the block.",
                "The same; what stands after it sees what a thread of the block wrote before the release that wrote the value.",
                "Writes an element, undivided between the threads of the block.",
                "The same, after all that this thread did before, for the threads of the block.",
            ],
        ),
        (
            ["_system", "sys"],
            [
                "An element as it is now; undivided between the threads of the system, the host included.",
                "The same; what stands after it sees what a thread of the system, the host included wrote before the release that wrote the value.",
                "Writes an element, undivided between the threads of the system, the host included.",
                "The same, after all that this thread did before, for the threads of the system, the host included.",
            ],
        ),
    ];
    let orders = [(0, "relaxed"), (0, "acquire"), (1, "relaxed"), (1, "release")];
    let each = rows.into_iter().flat_map(|([suffix, scope], docs)| {
        docs.into_iter().zip(orders).map(move |(doc, (number, order))| {
            let row = [("doc", doc), ("order", order), ("suffix", suffix), ("scope", scope)];
            fill(paragraph(FLAG, number), &row)
        })
    });
    each.collect()
}

/// Conversions of 8-bit floats.
pub(super) fn float8() -> Vec<String> {
    let types = ["e4m3", "e5m2"].into_iter();
    types.flat_map(|name| paragraphs(FLOAT8).map(move |text| fill(text, &[("type", name)]))).collect()
}

/// Accesses with a hint to the caches.
pub(super) fn hints() -> Vec<String> {
    const MEMORY: &str = "\n                     : \"memory\");";
    let policy = |name: &str, when: &str| fill(paragraph(HINT, 0), &[("name", name), ("when", when)]);
    let load = |constant: bool, hinted: bool| {
        let doc = match (constant, hinted) {
            (true, _) => "The same of what no thread of the kernel writes.",
            (false, true) => "An element, or a vector, by L2's policy.",
            (false, false) => "An element, or a vector, that gets no place in L1.",
        };
        let shared = [("doc", doc), ("memory", if constant { ");" } else { MEMORY })];
        let suffix = [
            ("constant", if constant { "_constant" } else { "" }),
            ("nc", if constant { ".nc" } else { "" }),
        ];
        let hint = match hinted {
            true => [
                ("name", "hinted"),
                ("parameter", ", unsigned long long policy"),
                ("hint", "L2::cache_hint"),
                ("4", ", %5"),
                ("2", ", %3"),
                ("1", ", %2"),
                ("operand", ", \"l\"(policy)"),
            ],
            false => [
                ("name", "no_allocate"),
                ("parameter", ""),
                ("hint", "L1::no_allocate"),
                ("4", ""),
                ("2", ""),
                ("1", ""),
                ("operand", ""),
            ],
        };
        fill(paragraph(HINT, 1), &[&shared[..], &suffix, &hint].concat())
    };
    let store = |number: usize| paragraph(HINT, number).to_owned();
    let copy = |bytes: &str, past: &str, cache: &str| {
        fill(paragraph(HINT, 4), &[("bytes", bytes), ("past", past), ("cache", cache)])
    };
    vec![
        policy("evict_first", "before"),
        policy("evict_last", "after"),
        load(false, true),
        load(true, true),
        store(2),
        load(false, false),
        load(true, false),
        store(3),
        copy("4", "through", "ca"),
        copy("8", "through", "ca"),
        copy("16", "past", "cg"),
    ]
}

/// Copies of boxes by TMA, of one to five modes; what is beside them stands in the template as it is.
pub(super) fn tensor_maps() -> Vec<String> {
    let mut all: Vec<String> = paragraphs(TENSOR_MAP).take(2).map(str::to_owned).collect();
    let to_shared = "Starts the copy of a box to shared memory";
    for (doc, multicast, hinted) in [
        (format!("{to_shared}; it reports its bytes to the barrier."), false, false),
        (
            "The same to every block of the cluster that the mask names, each told at its own barrier."
                .to_owned(),
            true,
            false,
        ),
        (format!("{to_shared} by L2's policy; it reports its bytes to the barrier."), false, true),
        ("The same by L2's policy.".to_owned(), true, true),
    ] {
        all.extend((1..=5).map(|rank| tensor_load(&doc, multicast, hinted, rank)));
    }
    for (by, hinted) in [("", false), (" by L2's policy", true)] {
        let doc = format!("Starts the copy of a box from shared memory{by}, in the thread's bulk group.");
        all.extend((1..=5).map(|rank| tensor_store(&doc, hinted, rank)));
    }
    all.extend(paragraphs(TENSOR_MAP).skip(4).map(str::to_owned));
    all
}

/// The coordinates of a box as parameters and as operands, and the places of its operands from one on.
fn coordinates(rank: usize, first: usize) -> (String, String, String) {
    let names = &["x", "y", "z", "w", "v"][..rank];
    let joined =
        |each: &dyn Fn(&str) -> String| names.iter().map(|name| each(name)).collect::<Vec<_>>().join(", ");
    let places: Vec<String> = (first..first + rank).map(|place| format!("%{place}")).collect();
    (joined(&|name| format!("int {name}")), joined(&|name| format!("\"r\"({name})")), places.join(", "))
}

fn tensor_load(doc: &str, multicast: bool, hinted: bool, rank: usize) -> String {
    let first = if multicast { 4 } else { 3 };
    let (parameters, operands, places) = coordinates(rank, first);
    let (multi, hint) = (if multicast { "_multicast" } else { "" }, if hinted { "_hinted" } else { "" });
    let blocks = if multicast { "unsigned short blocks, " } else { "" };
    let policy = if hinted { "unsigned long long policy, " } else { "" };
    let head = head(
        &format!("tensor_load{multi}{hint}_{rank}d"),
        &format!("void* shared, const TensorMap& map, long long* barrier, {blocks}{policy}{parameters}"),
    );
    let more =
        [if multicast { ".multicast::cluster" } else { "" }, if hinted { ".L2::cache_hint" } else { "" }];
    let mut instruction = format!(
        "cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{} [%0], [%1, {{{places}}}], [%2]",
        more.concat()
    );
    if multicast {
        instruction += ", %3";
    }
    if hinted {
        instruction += &format!(", %{}", first + rank);
    }
    let blocks = if multicast { "\"h\"(blocks), " } else { "" };
    let policy = if hinted { ", \"l\"(policy)" } else { "" };
    let operands = format!("\"l\"(&map), \"r\"(told), {blocks}{operands}{policy}");
    let assembly = assembly(&format!("{instruction};"), &operands, false);
    fill(paragraph(TENSOR_MAP, 2), &[("doc", doc), ("head", &head), ("assembly", &assembly)])
}

fn tensor_store(doc: &str, hinted: bool, rank: usize) -> String {
    let (parameters, operands, places) = coordinates(rank, 2);
    let (hint, policy) = if hinted { ("_hinted", "unsigned long long policy, ") } else { ("", "") };
    let head = head(
        &format!("tensor_store{hint}_{rank}d"),
        &format!("const TensorMap& map, const void* shared, {policy}{parameters}"),
    );
    let mut instruction = format!("cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group");
    if hinted {
        instruction += ".L2::cache_hint";
    }
    instruction += &format!(" [%1, {{{places}}}], [%0]");
    let mut operands = format!("\"l\"(&map), {operands}");
    if hinted {
        instruction += &format!(", %{}", 2 + rank);
        operands += ", \"l\"(policy)";
    }
    let assembly = assembly(&format!("{instruction};"), &operands, true);
    fill(paragraph(TENSOR_MAP, 3), &[("doc", doc), ("head", &head), ("assembly", &assembly)])
}

/// The first line of a function without a result, broken behind its parenthesis where it is too long.
fn head(name: &str, parameters: &str) -> String {
    let line = format!("__device__ __forceinline__ void {name}({parameters}) {{");
    match line.len() <= WIDTH {
        true => line,
        false => format!("__device__ __forceinline__ void {name}(\n    {parameters}) {{"),
    }
}

/// An instruction whose first operand is `address`, broken as clang-format breaks it; `near` begins beside `asm volatile(`
/// where there is room.
fn assembly(instruction: &str, operands: &str, near: bool) -> String {
    const FIRST: &str = " ::\"r\"(address),";
    let beside = format!("    asm volatile(\"{instruction}\"{FIRST}");
    if near && beside.len() <= WIDTH {
        let indent = " ".repeat(17);
        return format!("{beside}\n{indent}{operands}\n{indent}: \"memory\");");
    }
    let mut lines = vec!["    asm volatile(".to_owned()];
    let whole = format!("        \"{instruction}\" ::\"r\"(");
    if whole.len() <= WIDTH {
        lines.extend([whole, "            address),".to_owned()]);
    } else {
        // Behind the last space that there is room for; without one, behind the last sign.
        let room = &instruction[..instruction.len().min(WIDTH - 10)];
        let cut = room.rfind(' ').or_else(|| room.rfind(|c: char| !c.is_alphanumeric()));
        let (line, rest) = instruction.split_at(cut.map_or(0, |cut| cut + 1));
        lines.extend([format!("        \"{line}\""), format!("        \"{rest}\"{FIRST}")]);
    }
    lines.extend([format!("        {operands}"), "        : \"memory\");".to_owned()]);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_where_their_names_stand() {
        let text = "$a$ and $b$, not a b";
        assert_eq!(fill(text, &[("b", "$a$"), ("a", "1")]), "1 and $a$, not a b");
        assert_eq!(fill(text, &[("a", "1"), ("b", "$a$")]), "1 and $a$, not a b");
    }

    #[test]
    fn no_name_is_left_and_none_is_missing() {
        let all =
            [flags(), float8(), hints(), tensor_maps(), atomic_bits(), atomic_extremes("", "")].concat();
        assert!(all.len() > 40);
        for text in all {
            let opens = text.matches('{').count() == text.matches('}').count();
            let holes =
                ["( ", "__ (", "::\"\"", "ld..", "st..", "[];"].iter().any(|hole| text.contains(hole));
            assert!(!text.contains('$') && opens && !holes && text.starts_with("// "), "{text}");
        }
    }
}
