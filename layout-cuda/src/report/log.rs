//! The findings of a whole run, in the file that `LAYOUT_REPORT` names.
//!
//! Law: the file is a whole log after each addition, whatever processes and threads add to it; a line of a kernel is added once for
//! each kind and process.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, Once, PoisonError};

use layout_simulator::Report;

use super::{Format, Launched, json, sarif};

/// The variable that names the file.
const VARIABLE: &str = "LAYOUT_REPORT";

/// Adds the findings of a launch to the log, if there is one.
pub(crate) fn note(launched: &Launched<'_>) {
    static SEEN: Mutex<BTreeSet<(String, &'static str, u32)>> = Mutex::new(BTreeSet::new());
    static FAILED: Once = Once::new();
    let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) else { return };
    // The set is whole even if a holder of the lock panicked.
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut findings = launched.report.findings.clone();
    findings.retain(|finding| seen.insert((launched.file.to_owned(), finding.kind.name(), finding.line)));
    let report = Report { findings, ..Report::default() };
    if let Err(error) = add(Path::new(&path), &Launched { report: &report, ..*launched }) {
        FAILED.call_once(|| eprintln!("{VARIABLE}={}: {error}", path.display()));
    }
}

fn add(path: &Path, launched: &Launched<'_>) -> Result<(), Error> {
    let format = match path.extension().and_then(|ending| ending.to_str()) {
        Some("sarif") => Format::Sarif,
        Some("json" | "jsonl") => Format::JsonLines,
        _ => return Err(Error::new(ErrorKind::InvalidInput, "the name has to end in `.sarif` or `.json`")),
    };
    if launched.report.findings.is_empty() {
        return Ok(());
    }
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    // Other processes wait here; the lock ends with the file.
    file.lock()?;
    match format {
        Format::Sarif => splice(&mut file, launched),
        Format::JsonLines | Format::Text => {
            file.seek(SeekFrom::End(0))?;
            file.write_all(json::findings(launched).as_bytes())
        }
    }
}

/// Puts results behind those of the log in a file.
fn splice(file: &mut File, launched: &Launched<'_>) -> Result<(), Error> {
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    if text.is_empty() {
        return file.write_all(sarif::log(&[*launched]).as_bytes());
    }
    let Some(before) = text.strip_suffix(sarif::END).filter(|before| before.starts_with(sarif::BEGIN)) else {
        let words = "it is no log of this library's; remove it, or take another name";
        return Err(Error::new(ErrorKind::InvalidData, words));
    };
    let comma = if before.ends_with('[') { "" } else { "," };
    let added = format!("{comma}{}{}", sarif::results(&[*launched]).join(","), sarif::END);
    file.seek(SeekFrom::Start(before.len() as u64))?;
    file.write_all(added.as_bytes())
}
