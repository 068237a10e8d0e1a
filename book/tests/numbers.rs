//! Every number with a unit has a source: `64<!-- = rows global_sectors --> sectors` is checked against a launch on the
//! simulator, `1.85<!-- = h200 naive 4096 --> TFLOP/s` against the records. `BOOK=write` writes them anew.
//!
//! ```text
//! = LAUNCH COUNT             a count of a launch of launches.rs
//! = LAUNCH COUNT / COUNT     a quotient of two; also `/ LAUNCH COUNT`
//! = h200 KERNEL EXTENTS      the rate in the latest record of that kernel: `4096` for a cube or a square, `1024x512x2048`
//! = h200ms KERNEL EXTENTS    its milliseconds; `h100` and `h100ms` are those of an H100
//! = h100% KERNEL EXTENTS     the rate's share of 3300 GB/s in percent, as the transposition's post counts it
//! = theirs                   what a tutorial prints, listed in others.rs
//! = sheet WHAT               NVIDIA's data sheet, in others.rs; `sheet WHAT / WHAT` the quotient of two
//! = attention keys           the size of a launch of launches.rs
//! ```
//!
//! A number needs its source where it has a decimal point, three digits or a unit behind it, or is in a table; but in
//! code, in a name such as H200, and as an extent, `64 × 64`.

use super::launches::{LENGTH, counts, root, text};
use super::others::{SHEET, THEIRS};
use layout_simulator::Counts;
use serde_json::Value;
use std::collections::BTreeMap;

/// Words that a number is not before without its source.
const UNITS: [&str; 17] = [
    "TFLOP/s",
    "GFLOP/s",
    "GB/s",
    "TB/s",
    "GB",
    "MB",
    "ms",
    "µs",
    "%",
    "percent",
    "times",
    "sectors",
    "conflicts",
    "requests",
    "wavefronts",
    "flops",
    "instructions",
];

fn field(counts: &Counts, name: &str) -> f64 {
    let value = match name {
        "global_sectors" => counts.global_sectors,
        "global_requests" => counts.global_requests,
        "global_bytes_read" => counts.global_bytes_read,
        "shared_requests" => counts.shared_requests,
        "shared_wavefronts" => counts.shared_wavefronts,
        "bank_conflicts" => counts.bank_conflicts,
        "instructions" => counts.instructions,
        "flops" => counts.flops,
        other => panic!("no count is called `{other}`"),
    };
    value as f64
}

fn sheet(name: &str) -> f64 {
    let known = SHEET.iter().find(|(known, _)| *known == name);
    known.unwrap_or_else(|| panic!("the data sheet has no `{name}`")).1
}

/// The rate of the latest record of an H200.
pub fn record(kernel: &str, extents: &str) -> f64 {
    field_of_record("h200", kernel, extents, "rate")
}

/// Of a card's more special file first; of one day the later line.
pub fn field_of_record(card: &str, kernel: &str, extents: &str, field: &str) -> f64 {
    let value = recorded(card, kernel, extents, field);
    value.unwrap_or_else(|| panic!("no record of {kernel} at {extents:?} on an {card}"))
}

/// The same, where there is a record.
pub fn recorded(card: &str, kernel: &str, extents: &str, field: &str) -> Option<f64> {
    let extents: Vec<u64> = extents.split('x').map(|extent| extent.parse().expect("an extent")).collect();
    let shaped = |shape: &[Value]| match extents.as_slice() {
        [one] => shape.iter().all(|extent| extent == *one),
        all => shape.len() == all.len() && shape.iter().zip(all).all(|(extent, wanted)| extent == *wanted),
    };
    let own = |record: &Value| {
        let float = record["dtype"] == "f32" || record["dtype"] == "tf32";
        float && record["kernel"] == kernel && record["shape"].as_array().is_some_and(|shape| shaped(shape))
    };
    let files = match card {
        "h100" => ["h100_tutorials.jsonl", "h100_memory.jsonl"],
        _ => ["h200_ladder.jsonl", "h200.jsonl"],
    };
    let latest = |file: &str| {
        let lines = std::fs::read_to_string(root().join("tests/records").join(file)).unwrap_or_default();
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("a record"));
        lines.filter(own).max_by_key(|record| record["date"].as_str().unwrap_or_default().to_owned())
    };
    files.iter().find_map(|file| latest(file)).and_then(|record| record[field].as_f64())
}

/// The times of every set of a search of `kernel`, by the set; milliseconds.
pub fn searched(card: &str, kernel: &str) -> BTreeMap<String, f64> {
    let lines = text(&format!("tests/records/{card}_tune.jsonl"));
    let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("a record"));
    let own = records.filter(|record| record["kernel"] == kernel && record["fate"] == "timed");
    // Of one set the last line counts.
    own.filter_map(|record| Some((record["set"].to_string(), record["ms"].as_f64()?))).collect()
}

fn source(key: &str, known: &mut BTreeMap<String, Counts>) -> f64 {
    let words: Vec<&str> = key.split_whitespace().collect();
    match words.as_slice() {
        [card @ ("h100" | "h200"), kernel @ .., extent] => {
            field_of_record(card, &kernel.join(" "), extent, "rate")
        }
        [card @ ("h100ms" | "h200ms"), kernel @ .., extent] => {
            field_of_record(card.trim_end_matches("ms"), &kernel.join(" "), extent, "ms")
        }
        ["h100%", kernel, extent] => field_of_record("h100", kernel, extent, "rate") / 33.0,
        ["sheet", one] => sheet(one),
        ["sheet", one, "/", other] => sheet(one) / sheet(other),
        ["attention", "queries" | "keys"] => LENGTH as f64,
        [launch, count, rest @ ..] => {
            let own = known.entry((*launch).to_owned()).or_insert_with(|| {
                counts(launch).unwrap_or_else(|| panic!("no launch is called `{launch}`"))
            });
            match rest {
                [] => field(own, count),
                ["/", other] => field(own, count) / field(own, other),
                ["/", beside, other] => {
                    let beside = counts(beside).unwrap_or_else(|| panic!("no launch is called `{beside}`"));
                    field(own, count) / field(&beside, other)
                }
                _ => panic!("`{key}`: a launch and a count"),
            }
        }
        _ => panic!("`{key}`: a launch and a count"),
    }
}

/// The prose of a chapter, line by line: no listings, no code, no comment, no target of a link. What a number with its
/// source leaves behind is `sourced`.
fn prose(chapter: &str) -> Vec<String> {
    let text = chapter.split("\n```").step_by(2).collect::<Vec<_>>().join("\n");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['`', '<', '{', ']']) {
        let here = &rest[at..];
        let ends = [("`", "`"), ("<!--", "-->"), ("{{", "}}"), ("](", ")")];
        let skipped = ends.iter().find_map(|(begin, end)| {
            let inner = here.strip_prefix(begin)?;
            Some((begin.len() + inner.find(end)? + end.len(), *begin))
        });
        out.push_str(&rest[..at]);
        match skipped {
            Some((bytes, begin)) => {
                if begin == "<!--" && here.starts_with("<!-- = ") {
                    let number = |c: char| c.is_ascii_digit() || c == '.';
                    out.truncate(out.trim_end_matches(number).len());
                    out.push_str("sourced");
                }
                rest = &here[bytes..];
            }
            None => {
                out.push_str(&here[..1]);
                rest = &here[1..];
            }
        }
    }
    out.push_str(rest);
    out.lines().map(str::to_owned).collect()
}

/// The numbers of the prose that need a source and have none, each with what is around it.
fn unsourced(chapter: &str) -> Vec<String> {
    let mut found = vec![];
    for line in prose(chapter) {
        let words: Vec<&str> = line.split(' ').collect();
        for (at, word) in words.iter().enumerate() {
            let number = word.trim_matches(|c: char| c.is_ascii_punctuation());
            let digits = number.chars().filter(char::is_ascii_digit).count();
            let plain = number.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ',') && digits > 0;
            let near =
                |step: isize| at.checked_add_signed(step).and_then(|at| words.get(at)).copied().unwrap_or("");
            if !plain || near(1) == "×" || near(-1) == "×" {
                continue;
            }
            let unit = near(1).trim_matches([',', '.', ':', ';', '|']);
            let wanted = digits > 2 || number.contains('.') || line.starts_with('|') || UNITS.contains(&unit);
            if wanted || word.contains('%') {
                found.push(format!("`{} {word} {}`", near(-1), near(1)));
            }
        }
    }
    found
}

#[test]
fn a_number_without_a_source_is_found() {
    for wrong in
        ["It makes 7 % more.", "| naive | 84.52 | 1 |", "about 100 of them", "in 3.5 ms", "5 times", "30%"]
    {
        assert!(!unsourced(wrong).is_empty(), "{wrong}");
    }
    let right = "The 32 threads of an H200 make `100` of 4096 × 4096, 7<!-- = naive global_sectors --> sectors, [a](100.md).\n```\n1.5\n```\nEnd";
    assert_eq!(unsourced(right), Vec::<String>::new());
}

#[test]
fn every_number_has_its_source() {
    let (mut known, mut wrong, mut checked) = (BTreeMap::new(), vec![], 0);
    for (file, chapter) in super::chapters::all() {
        // The chapter with the numbers of their sources.
        let (mut current, mut copied) = (String::new(), 0);
        for (at, _) in chapter.match_indices("<!-- = ") {
            let key = chapter[at + 7..].split(" -->").next().unwrap_or_default();
            let before = &chapter[..at];
            let start = before.rfind(|c: char| !c.is_ascii_digit() && c != '.').map_or(0, |place| place + 1);
            let written = &before[start..];
            checked += 1;
            if key == "theirs" {
                if !THEIRS.iter().any(|(known, ..)| *known == written) {
                    wrong.push(format!("{file}: {written} is no number of a tutorial in others.rs"));
                }
                continue;
            }
            let decimals = written.split_once('.').map_or(0, |(_, rest)| rest.len());
            let found = format!("{:.*}", decimals, source(key, &mut known));
            if found != written {
                wrong.push(format!("{file}: `{key}` is {found}, the chapter says {written}"));
            }
            current = current + &chapter[copied..start] + &found;
            copied = at;
        }
        if super::outputs::writes() {
            super::outputs::same("", &file, &(current + &chapter[copied..]));
        }
        wrong.extend(unsourced(&chapter).into_iter().map(|number| format!("{file}: no source for {number}")));
    }
    assert!(wrong.is_empty(), "numbers:\n  {}", wrong.join("\n  "));
    assert!(checked > 20, "only {checked} numbers were checked");
}
