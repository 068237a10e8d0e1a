//! Wrappers of one thread's accesses to memory: atomic operations, atomic loads and stores, accesses with a cache hint.

use super::{fill, paragraph};

const ATOMIC: &str = include_str!("../device/atomic.cuh.template");
const FLAG: &str = include_str!("../device/flag.cuh.template");
const HINT: &str = include_str!("../device/hint.cuh.template");

/// `atomic_max`, `atomic_min` of floats, which CUDA does not have: between the device's threads, or the system's.
pub(in super::super) fn atomic_extremes(suffix: &str, also: &str) -> Vec<String> {
    let rows = [("max", "larger", "fmaxf"), ("min", "smaller", "fminf")];
    let made = rows.map(|(name, which, function)| {
        let row =
            [("name", name), ("which", which), ("function", function), ("suffix", suffix), ("also", also)];
        fill(paragraph(ATOMIC, 0), &row)
    });
    made.to_vec()
}

/// Changes of 64-bit integers with a sign; exchanges of the types that CUDA's own do not take.
pub(in super::super) fn atomic_bits() -> Vec<String> {
    let rows = [
        ("", "gpu", ""),
        ("_block", "cta", ", between the threads of the block"),
        ("_system", "sys", ", between all threads of the system"),
    ];
    let each = rows.into_iter().flat_map(|(suffix, scope, between)| {
        let row = [("suffix", suffix), ("scope", scope), ("between", between)];
        let changes = [
            ("add", "atomicAdd", "Adds modulo 2^64"),
            ("and", "atomicAnd", "Keeps the bits that `value` has"),
            ("or", "atomicOr", "Sets the bits of `value`"),
            ("xor", "atomicXor", "Flips the bits of `value`"),
        ];
        let change = |(name, function, does)| {
            let own = [("name", name), ("function", function), ("Does", does)];
            fill(paragraph(ATOMIC, 1), &[&row[..], &own[..]].concat())
        };
        changes.map(change).into_iter().chain([2, 3].map(|number| fill(paragraph(ATOMIC, number), &row)))
    });
    each.collect()
}

/// Undivided loads and stores with and without an order, by the threads between which they are so.
pub(in super::super) fn flags() -> Vec<String> {
    let rows = [
        (
            ["", "gpu"],
            [
                "An element as it is in memory now.",
                "The same; what follows it sees what was written before the release that wrote the value.",
                "Writes an element.",
                "The same, after all that this thread did before.",
            ],
        ),
        (
            ["_block", "cta"],
            [
                "An element as it is now; undivided between the threads of the block.",
                "The same; what follows it sees what a thread of the block wrote before the release that wrote the value.",
                "Writes an element, undivided between the threads of the block.",
                "The same, after all that this thread did before, for the threads of the block.",
            ],
        ),
        (
            ["_system", "sys"],
            [
                "An element as it is now; undivided between the threads of the system, the host included.",
                "The same; what follows it sees what a thread of the system, the host included, wrote before the release that wrote the value.",
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

/// Accesses with a hint to the caches.
pub(in super::super) fn hints() -> Vec<String> {
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
    vec![
        policy("evict_first", "before"),
        policy("evict_last", "after"),
        load(false, true),
        load(true, true),
        store(2),
        load(false, false),
        load(true, false),
        store(3),
    ]
}
