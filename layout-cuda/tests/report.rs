//! Reports that other programs read: each line is JSON, and the log is SARIF.
//!
//! Law: a JSON parser gives back what the report says, whatever a message, a file or a tensor is called.

use layout_cuda::report::{Format, Launched, render};
use layout_cuda::{Counts, Device, Finding, FindingKind, Report, tiled_kernel};
use serde_json::Value;

#[tiled_kernel(block = [64], grid = [2])]
fn reverse(x: &mut LayoutTensor<i32, RowMajor<64>>) {
    let mut held = shared::<i32>(row_major([64]));
    held[[thread_idx.x]] = thread_idx.x as i32;
    x[[thread_idx.x]] = held[[63 - thread_idx.x]];
}

fn report() -> Report {
    let mut x = Device::simulator().zeros::<i32, 1>([64]).expect("a tensor");
    reverse::simulate(&mut x).expect("it runs")
}

/// A finding whose words are hard to write.
fn strange() -> Report {
    let finding = Finding {
        kind: FindingKind::EqualWrites,
        message: "a \"b\" \\ c\nd\te\u{1}\u{7f} é 𝄞 \u{2028}".into(),
        line: 0,
        thread: [u32::MAX, 0, 1],
        block: [0; 3],
        place: Some("x\"".into()),
        index: Some(i64::MIN),
        count: 0,
        other: None,
    };
    let totals = Counts { instructions: u64::MAX, ..Counts::default() };
    Report {
        findings: vec![finding],
        left_out: 3,
        printed: vec![],
        unprinted: 0,
        totals,
        lines: vec![(0, totals)],
        blocks: 1,
        stopped: true,
    }
}

#[test]
fn each_line_is_json() {
    let (own, strange) = (report(), strange());
    let launches = [
        Launched { kernel: "reverse", file: reverse::DEFINITION.file, report: &own },
        Launched { kernel: "r#odd", file: "C:\\a b\\ü.rs", report: &strange },
    ];
    let text = render(Format::JsonLines, &launches);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |kind: &str, kernel: &str| -> Vec<&Value> {
        lines.iter().filter(|line| line["type"] == kind && line["kernel"] == kernel).collect()
    };
    let found = of("finding", "reverse");
    assert_eq!(found.len(), own.findings.len());
    for (line, finding) in found.iter().zip(&own.findings) {
        assert_eq!(line["kind"], finding.kind.name().replace(' ', "-"));
        assert_eq!(line["message"], finding.message.as_str());
        assert_eq!(line["line"], finding.line);
        assert_eq!(line["thread"], serde_json::json!(finding.thread));
        assert_eq!(line["count"], finding.count);
    }
    let launch = of("launch", "reverse");
    assert_eq!(launch[0]["instructions"], own.totals.instructions);
    assert_eq!((launch[0]["blocks"].as_u64(), launch[0]["stopped"].as_bool()), (Some(2), Some(false)));
    assert_eq!(of("line", "reverse").len(), own.lines.len());
    let odd = of("finding", "r#odd");
    assert_eq!(odd[0]["message"], strange.findings[0].message.as_str());
    assert_eq!((&odd[0]["line"], &odd[0]["index"]), (&Value::Null, &Value::from(i64::MIN)));
    assert_eq!(of("launch", "r#odd")[0]["instructions"], u64::MAX);
    // Nothing is reported twice, and every field of the counts is there.
    assert_eq!(lines.len(), own.findings.len() + own.lines.len() + 1 + 3);
    assert_eq!(launch[0].as_object().expect("an object").len(), 18);
}

#[test]
fn the_log_is_sarif() {
    let (own, strange) = (report(), strange());
    let launches = [
        Launched { kernel: "reverse", file: reverse::DEFINITION.file, report: &own },
        Launched { kernel: "odd", file: "C:\\a b\\ü.rs", report: &strange },
        Launched { kernel: "odd", file: "/a b.rs", report: &strange },
    ];
    let text = render(Format::Sarif, &launches);
    let log: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    assert!(log["$schema"].as_str().is_some_and(|schema| schema.ends_with("sarif-schema-2.1.0.json")));
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), own.findings.len() + 2);
    for result in results {
        let rule = &rules[result["ruleIndex"].as_u64().expect("a number") as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(["error", "warning", "note", "none"].contains(&result["level"].as_str().expect("a level")));
        assert!(result["message"]["text"].as_str().is_some_and(|text| !text.is_empty()));
        assert!(result["occurrenceCount"].as_u64().is_some_and(|count| count >= 1));
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().expect("a URI");
        assert!(!uri.contains([' ', '\\']) && uri.is_ascii(), "{uri}");
        // A region begins with line 1 at the earliest.
        assert!(
            place["region"].is_null() || place["region"]["startLine"].as_u64().is_some_and(|line| line >= 1)
        );
    }
    let place = |result: &Value| result["locations"][0]["physicalLocation"]["artifactLocation"].clone();
    assert_eq!(results[0]["locations"][0]["physicalLocation"]["region"]["startLine"], own.findings[0].line);
    assert_eq!(place(&results[0])["uriBaseId"], "%SRCROOT%");
    assert_eq!(place(&results[results.len() - 2])["uri"], "file:///C:/a%20b/%C3%BC.rs");
    assert_eq!(place(&results[results.len() - 1])["uri"], "file:///a%20b.rs");
    let equal = &rules[results.last().expect("a result")["ruleIndex"].as_u64().expect("a number") as usize];
    assert_eq!(equal["name"], "WriteWriteRaceOfEqualValues");
    assert_eq!(rules.len(), FindingKind::ALL.len());
    let words = rules[0]["fullDescription"]["text"].as_str();
    assert_eq!(words, Some("An access outside its tensor; no memory was accessed."));
    for rule in rules {
        let (plain, marked) = (rule["help"]["text"].as_str(), rule["help"]["markdown"].as_str());
        assert_eq!(plain.map(|text| text.replace('"', "")), marked.map(|text| text.replace(['*', '`'], "")));
        let parts: Vec<&str> = plain.expect("a help").split('"').collect();
        assert!(is_in_the_book(parts[1], parts[3]), "{parts:?}");
        let name = parts[4].rsplit("::").next().expect("an item");
        assert!(FindingKind::ALL.iter().any(|kind| format!("{kind:?}") == name && name.len() > 3), "{name}");
    }
    let race = own.findings.iter().position(|finding| finding.kind == FindingKind::ReadWriteRace);
    let race = race.expect("a race");
    let other = &results[race]["relatedLocations"][0]["physicalLocation"];
    assert_eq!(
        other["region"]["startLine"],
        own.findings[race].line - 1,
        "the write, a line before the read"
    );
    assert_eq!(other["artifactLocation"], place(&results[race]));
    assert!(results.last().expect("a result")["relatedLocations"].is_null());
    // Without findings it is a log all the same.
    let none: Value = serde_json::from_str(&render(Format::Sarif, &[])).expect("JSON");
    assert_eq!(none["runs"][0]["results"], serde_json::json!([]));
}

/// Whether the book has a chapter of this title with a section, or the title itself, of that name.
fn is_in_the_book(chapter: &str, section: &str) -> bool {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../book/src");
    let pages = std::fs::read_dir(folder).expect("the book").filter_map(|page| {
        let page = page.expect("an entry").path();
        page.extension()
            .is_some_and(|end| end == "md")
            .then(|| std::fs::read_to_string(page).expect("a page"))
    });
    let has = |page: &str, title: &str| {
        page.lines().any(|line| line.trim_start_matches('#') == format!(" {title}"))
    };
    let mut pages = pages.filter(|page| page.starts_with(&format!("# {chapter}\n")));
    pages.any(|page| has(&page, section))
}

#[test]
fn a_finding_has_its_line() {
    let device = Device::simulator();
    let mut x = device.zeros::<i32, 1>([64]).expect("a tensor");
    let error = reverse::launch(&device.stream(), &mut x).expect_err("a race");
    let (line, text) = (own_line("held[[63 - thread_idx.x]];"), error.to_string());
    let place = format!("\n  {}:{line}, thread (", reverse::DEFINITION.file);
    assert!(text.contains(&place), "{text}");
    assert!(text.contains("\n  | x[[thread_idx.x]] = held[[63 - thread_idx.x]];\n"), "{text}");
    assert_eq!(format!("{error:?}"), text, "what `fn main() -> Result<..>` prints");
    let launched = Launched::of(&error).expect("findings");
    assert!(render(Format::Text, &[launched]).contains(&place));
}

/// The first line of this file that ends so.
fn own_line(end: &str) -> usize {
    1 + include_str!("report.rs").lines().position(|line| line.ends_with(end)).expect("a line")
}

/// Run by itself, and by the test below in processes that have a log.
#[test]
fn launches_are_noted() {
    let device = Device::simulator();
    for _ in 0..2 {
        let mut x = device.zeros::<i32, 1>([64]).expect("a tensor");
        reverse::launch(&device.stream(), &mut x).expect_err("a race");
    }
}

#[test]
fn a_variable_names_a_log_of_all_processes() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let run = |path: &std::path::Path| {
        let own = std::env::current_exe().expect("the test's own path");
        let run = std::process::Command::new(own)
            .args(["--exact", "launches_are_noted", "--nocapture"])
            .env("LAYOUT_REPORT", path)
            .output()
            .expect("a process");
        let [out, err] = [run.stdout, run.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(run.status.success() && out.contains("1 passed"), "{out}{err}");
        err
    };
    let own = report();
    for (name, each) in [("log.sarif", 0), ("log.json", 1)] {
        let path = folder.join(format!("{}-{name}", std::process::id()));
        // Two at once, and one that finds their log.
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| assert_eq!(run(&path), ""));
            }
        });
        assert_eq!(run(&path), "");
        let text = std::fs::read_to_string(&path).expect("a log");
        std::fs::remove_file(&path).expect("the log");
        let found = match each {
            0 => {
                let log: Value = serde_json::from_str(&text).expect("JSON");
                assert_eq!(log["runs"].as_array().map(Vec::len), Some(1));
                log["runs"][0]["results"].as_array().expect("results").clone()
            }
            _ => text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect(),
        };
        assert_eq!(found.len(), 3 * own.findings.len(), "{text}");
    }
    // What is no log stays as it is, and the run goes on.
    let path = folder.join(format!("{}-other.sarif", std::process::id()));
    std::fs::write(&path, "{}").expect("a file");
    assert!(run(&path).contains("it is no log of this library's"));
    assert_eq!(std::fs::read_to_string(&path).expect("the file"), "{}");
    std::fs::remove_file(&path).expect("the file");
    assert!(run(&folder.join("findings.txt")).contains("has to end in `.sarif` or `.json`"));
}
