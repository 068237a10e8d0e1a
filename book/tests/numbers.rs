//! Every number with a unit has a source: `64<!-- = rows global_sectors --> sectors` is checked against a launch on the
//! simulator, `1.85<!-- = h200 naive 4096 --> TFLOP/s` against the records.
//!
//! ```text
//! = LAUNCH COUNT             a count of a launch of launches.rs
//! = LAUNCH COUNT / COUNT     a quotient of two
//! = h200 KERNEL EXTENTS      the rate in the latest record of that kernel: `4096` for a cube or a square, `1024x512x2048`
//! = h200ms KERNEL EXTENTS    its milliseconds
//! = theirs                   what a tutorial prints: it stands in others.rs
//! ```

use super::launches::{counts, text};
use super::others::THEIRS;
use layout_core::kernel::simulate::Counts;
use serde_json::Value;
use std::collections::BTreeMap;

/// Words that a number does not stand before without its source.
const UNITS: [&str; 9] =
    ["TFLOP/s", "GFLOP/s", "GB/s", "TB/s", "sectors", "conflicts", "requests", "wavefronts", "flops"];

fn field(counts: &Counts, name: &str) -> f64 {
    let value = match name {
        "global_sectors" => counts.global_sectors,
        "global_requests" => counts.global_requests,
        "global_bytes_read" => counts.global_bytes_read,
        "shared_requests" => counts.shared_requests,
        "shared_wavefronts" => counts.shared_wavefronts,
        "bank_conflicts" => counts.bank_conflicts,
        "flops" => counts.flops,
        other => panic!("no count is called `{other}`"),
    };
    value as f64
}

/// The rate of the latest record.
pub fn record(kernel: &str, extents: &str) -> f64 {
    field_of_record(kernel, extents, "rate")
}

/// Of the ladder's own file first; of one day the later line.
fn field_of_record(kernel: &str, extents: &str, field: &str) -> f64 {
    let extents: Vec<u64> = extents.split('x').map(|extent| extent.parse().expect("an extent")).collect();
    let shaped = |shape: &[Value]| match extents.as_slice() {
        [one] => shape.iter().all(|extent| extent == *one),
        all => shape.len() == all.len() && shape.iter().zip(all).all(|(extent, wanted)| extent == *wanted),
    };
    let own = |record: &Value| {
        let float = record["dtype"] == "f32" || record["dtype"] == "tf32";
        float && record["kernel"] == kernel && record["shape"].as_array().is_some_and(|shape| shaped(shape))
    };
    let latest = |file: &str| {
        let lines = text(file);
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("a record"));
        lines.filter(own).max_by_key(|record| record["date"].as_str().unwrap_or_default().to_owned())
    };
    let found = latest("tests/records/h200_ladder.jsonl").or_else(|| latest("tests/records/h200.jsonl"));
    let value = found.and_then(|record| record[field].as_f64());
    value.unwrap_or_else(|| panic!("no record of {kernel} at {extents:?}"))
}

fn source(key: &str, known: &mut BTreeMap<String, Counts>) -> f64 {
    let words: Vec<&str> = key.split_whitespace().collect();
    match words.as_slice() {
        ["h200", kernel, extent] => record(kernel, extent),
        ["h200ms", kernel, extent] => field_of_record(kernel, extent, "ms"),
        [launch, count, rest @ ..] => {
            let own = known.entry((*launch).to_owned()).or_insert_with(|| {
                counts(launch).unwrap_or_else(|| panic!("no launch is called `{launch}`"))
            });
            match rest {
                [] => field(own, count),
                ["/", other] => field(own, count) / field(own, other),
                _ => panic!("`{key}`: a launch and a count"),
            }
        }
        _ => panic!("`{key}`: a launch and a count"),
    }
}

/// The prose of a chapter: no listings.
fn prose(chapter: &str) -> String {
    chapter.split("\n```").step_by(2).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_number_has_its_source() {
    let (mut known, mut wrong, mut checked) = (BTreeMap::new(), vec![], 0);
    for (file, chapter) in super::chapters::all() {
        for (at, _) in chapter.match_indices("<!-- = ") {
            let key = chapter[at + 7..].split(" -->").next().unwrap_or_default();
            let before = &chapter[..at];
            let start = before.rfind(|c: char| !c.is_ascii_digit() && c != '.').map_or(0, |place| place + 1);
            let written = &before[start..];
            checked += 1;
            if key == "theirs" {
                if !THEIRS.contains(&written) {
                    wrong.push(format!("{file}: {written} is no number of a tutorial in others.rs"));
                }
                continue;
            }
            let decimals = written.split_once('.').map_or(0, |(_, rest)| rest.len());
            let found = format!("{:.*}", decimals, source(key, &mut known));
            if found != written {
                wrong.push(format!("{file}: `{key}` is {found}, the chapter says {written}"));
            }
        }
        for unit in UNITS {
            for (at, _) in prose(&chapter).match_indices(&format!(" {unit}")) {
                let prose = prose(&chapter);
                if prose[..at].ends_with(|c: char| c.is_ascii_digit()) {
                    let line = prose[..at].rsplit('\n').next().unwrap_or_default();
                    wrong.push(format!("{file}: no source for `{line} {unit}`"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "numbers:\n  {}", wrong.join("\n  "));
    assert!(checked > 20, "only {checked} numbers were checked");
}
