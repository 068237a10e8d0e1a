//! SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format"): one log of one run, a rule for each kind of finding.
//!
//! Law: a result names its rule by id and by number, a region only where the line is known, and a file relative to the
//! source root unless its path is absolute.

use layout_simulator::{Finding, FindingKind};

use super::json::{Object, array, place};
use super::{Launched, id};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// What a log begins with.
pub(super) const BEGIN: &str = "{\"$schema\":";

/// What is behind the last result.
pub(super) const END: &str = "]}]}\n";

/// The log of these launches: its results come last.
pub(super) fn log(launches: &[Launched<'_>]) -> String {
    let words = |words: &str| Object::new().text("text", words).end();
    let rules = FindingKind::ALL.iter().map(|kind| {
        let rule = Object::new().text("id", &id(*kind)).text("name", &pascal(kind.name()));
        let rule = rule.json("shortDescription", &words(kind.name()));
        let rule = rule.json("fullDescription", &words(kind.description()));
        let (more, link) = help(*kind);
        rule.json("help", &Object::new().text("text", &more).text("markdown", &link).end()).end()
    });
    let driver =
        Object::new().text("name", "layout simulator").text("semanticVersion", env!("CARGO_PKG_VERSION"));
    let driver = driver.json("rules", &array(rules)).end();
    let run = Object::new().json("tool", &Object::new().json("driver", &driver).end());
    let run = run.text("columnKind", "unicodeCodePoints").json("results", &array(results(launches))).end();
    let log = Object::new().text("$schema", SCHEMA).text("version", "2.1.0");
    log.json("runs", &array([run])).end() + "\n"
}

/// Where a rule is explained, plain and as Markdown: a chapter of the book with its section, and the item of the documentation. Both
/// are made from the repository and have no public address, so a rule has `help` and no `helpUri`.
fn help(kind: FindingKind) -> (String, String) {
    use FindingKind as Kind;
    let (chapter, section) = match kind {
        Kind::OutOfBounds => ("Finding bugs", "Beyond the end"),
        Kind::AssertionFailed | Kind::FalseAssumption => ("Finding bugs", "Printing and asserting"),
        Kind::Uninitialised | Kind::Unwritten | Kind::Unset => ("Finding bugs", "Uninitialised memory"),
        Kind::WriteWriteRace
        | Kind::EqualWrites
        | Kind::ReadWriteRace
        | Kind::DivergentBarrier
        | Kind::MissingWait
        | Kind::WrittenTwice
        | Kind::LostUpdate
        | Kind::ScheduleDependent => ("Finding bugs", "Races"),
        Kind::StepLimit | Kind::Deadlock | Kind::NotResident => ("Finding bugs", "In your own tests"),
        Kind::MissingFence
        | Kind::Overwritten
        | Kind::TransactionBytes
        | Kind::Arrivals
        | Kind::InFlightAtEnd
        | Kind::EndedBlock
        | Kind::NotBegun => ("Hopper", "One TMA load"),
        Kind::Misaligned => ("Vectors", "Who says that 16 divides the address"),
        Kind::DivisionByZero
        | Kind::IndexOverflow
        | Kind::Overflow
        | Kind::LossyCast
        | Kind::ShiftTooFar
        | Kind::NotFinite => ("Numbers and precision", "Numbers and precision"),
    };
    let item = format!("layout_cuda::FindingKind::{kind:?}");
    let plain = format!("The book, chapter \"{chapter}\", section \"{section}\". The documentation: {item}");
    let marked = format!("The book, chapter *{chapter}*, section *{section}*. The documentation: `{item}`");
    (plain, marked)
}

/// A result for each finding.
pub(super) fn results(launches: &[Launched<'_>]) -> Vec<String> {
    let mut all = Vec::new();
    for launched in launches {
        all.extend(launched.report.findings.iter().map(|finding| result(launched, finding)));
    }
    all
}

fn result(launched: &Launched<'_>, finding: &Finding) -> String {
    let Finding { kind, message, line, thread, block, place: tensor, index, count, other } = finding;
    let kernel = Object::new().text("name", launched.kernel).text("kind", "function").end();
    let rule = FindingKind::ALL.iter().position(|own| own == kind).unwrap_or_default();
    let physical = |line: u32| {
        let place = Object::new().json("artifactLocation", &artifact(launched.file));
        let region = Object::new().value("startLine", line).end();
        let place = if line == 0 { place } else { place.json("region", &region) };
        Object::new().json("physicalLocation", &place.end())
    };
    let location = physical(*line).json("logicalLocations", &array([kernel])).end();
    let related = other.map(|line| {
        let words = Object::new().text("text", "the other access").end();
        physical(line).value("id", 0).json("message", &words).end()
    });
    let properties = Object::new().json("thread", &place(*thread)).json("block", &place(*block));
    let properties = match tensor {
        Some(tensor) => properties.text("place", tensor),
        None => properties,
    };
    let properties = match index {
        Some(index) => properties.value("index", index),
        None => properties,
    };
    let words = format!("{message} (kernel `{}`, thread {thread:?} of block {block:?})", launched.kernel);
    let message = Object::new().text("text", &words).end();
    let result = Object::new().text("ruleId", &id(*kind)).value("ruleIndex", rule).text("level", "error");
    let result = result.json("message", &message).json("locations", &array([location]));
    let result = match related {
        Some(related) => result.json("relatedLocations", &array([related])),
        None => result,
    };
    result.value("occurrenceCount", (*count).max(1)).json("properties", &properties.end()).end()
}

/// A file as a URI.
fn artifact(file: &str) -> String {
    let path = file.replace('\\', "/");
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' | b':' => {
                uri.push(byte as char)
            }
            other => uri += &format!("%{other:02X}"),
        }
    }
    let drive = path.as_bytes().get(1) == Some(&b':');
    match path.starts_with('/') || drive {
        true => Object::new().text("uri", &format!("file://{}{uri}", if drive { "/" } else { "" })).end(),
        false => Object::new().text("uri", &uri).text("uriBaseId", "%SRCROOT%").end(),
    }
}

/// `missing wait` as `MissingWait`.
fn pascal(words: &str) -> String {
    let word = |word: &str| match word.split_at_checked(1) {
        Some((first, rest)) => first.to_ascii_uppercase() + rest,
        None => String::new(),
    };
    words.split([' ', '-']).map(word).collect()
}
