//! Wrappers of instructions that report their bytes to an mbarrier or to a bulk group: boxes by TMA, stores to
//! another block.

use super::{fill, paragraph, paragraphs};

const REMOTE: &str = include_str!("../device/remote.cuh.template");
const TENSOR_MAP: &str = include_str!("../device/tensor_map.cuh.template");

/// Columns of a line.
const WIDTH: usize = 121;

/// Stores to another block, then copies of boxes.
pub(in super::super) fn asynchronous() -> Vec<String> {
    [to_another_block(), boxes()].concat()
}

/// Stores of 4, 8 and 16 bytes to shared memory of another block.
fn to_another_block() -> Vec<String> {
    let rows: [(_, _, &[&str]); 3] =
        [("4", "", &["a"]), ("8", ".v2", &["a", "b"]), ("16", ".v4", &["a", "b", "c", "d"])];
    let made = rows.map(|(bytes, vector, names)| {
        let list = |each: &dyn Fn(usize, &str) -> String| {
            names.iter().enumerate().map(|(at, name)| each(at, name)).collect::<Vec<_>>().join(", ")
        };
        let places = list(&|at, _| format!("%{}", at + 3));
        let places = if names.len() == 1 { places } else { format!("{{{places}}}") };
        let parameters = list(&|_, name| format!("T {name}"));
        let operands = list(&|_, name| format!("\"r\"(reinterpret_cast<const unsigned int&>({name}))"));
        let row = [
            ("bytes", bytes),
            ("vector", vector),
            ("places", &places),
            ("parameters", &parameters),
            ("operands", &operands),
        ];
        fill(paragraph(REMOTE, 0), &row)
    });
    made.to_vec()
}

/// Copies of boxes by TMA, of one to five modes; what is beside them is in the template as it is.
fn boxes() -> Vec<String> {
    let mut all: Vec<String> = paragraphs(TENSOR_MAP).take(2).map(str::to_owned).collect();
    let to_shared = "Starts the copy of a box to shared memory";
    for (doc, multicast, hinted) in [
        (format!("{to_shared}; it reports its bytes to the barrier."), false, false),
        (
            "The same to every block of the cluster that the mask names; the bytes are reported to each block's own barrier."
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
        all.extend((1..=5).map(|rank| tensor_store(&doc, false, hinted, rank)));
    }
    for (by, hinted) in [("", false), (" by L2's policy", true)] {
        let doc =
            format!("Starts to add a box in shared memory to the tensor{by}, in the thread's bulk group.");
        all.extend((1..=5).map(|rank| tensor_store(&doc, true, hinted, rank)));
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
        &format!(
            "unsigned int shared, const TensorMap& map, unsigned int barrier, {blocks}{policy}{parameters}"
        ),
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
    let operands = format!("\"l\"(&map), \"r\"(barrier), {blocks}{operands}{policy}");
    let assembly = assembly(&format!("{instruction};"), &operands, false);
    fill(paragraph(TENSOR_MAP, 2), &[("doc", doc), ("head", &head), ("assembly", &assembly)])
}

fn tensor_store(doc: &str, adds: bool, hinted: bool, rank: usize) -> String {
    let (parameters, operands, places) = coordinates(rank, 2);
    let (hint, policy) = if hinted { ("_hinted", "unsigned long long policy, ") } else { ("", "") };
    let head = head(
        &format!("{}{hint}_{rank}d", if adds { "tensor_add" } else { "tensor_store" }),
        &format!("const TensorMap& map, unsigned int shared, {policy}{parameters}"),
    );
    let (copy, add) = if adds { ("cp.reduce.async", ".add") } else { ("cp.async", "") };
    let mut instruction = format!("{copy}.bulk.tensor.{rank}d.global.shared::cta{add}.tile.bulk_group");
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

/// An instruction whose first operand is `shared`, broken as clang-format breaks it; `near` begins beside `asm volatile(`
/// where there is room.
fn assembly(instruction: &str, operands: &str, near: bool) -> String {
    const FIRST: &str = " ::\"r\"(shared),";
    let beside = format!("    asm volatile(\"{instruction}\"{FIRST}");
    if near && beside.len() <= WIDTH {
        let indent = " ".repeat(17);
        return format!("{beside}\n{indent}{operands}\n{indent}: \"memory\");");
    }
    let mut lines = vec!["    asm volatile(".to_owned()];
    let whole = format!("        \"{instruction}\" ::\"r\"(");
    if whole.len() <= WIDTH {
        lines.extend([whole, "            shared),".to_owned()]);
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
