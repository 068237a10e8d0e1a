//! Records of measurements: one JSON object a line, and the table that a person reads.

use std::io::Write;
use std::path::Path;
use std::process::Command;

/// One measurement.
#[derive(Clone, Debug)]
pub struct Record {
    /// What was done: `matmul`.
    pub workload: &'static str,
    /// By which kernel.
    pub kernel: String,
    /// Where: `gpu`, `simulator`; empty for a peer, whose name says it.
    pub place: &'static str,
    /// On which elements.
    pub dtype: &'static str,
    /// The sizes, `[M, N, K]`.
    pub shape: Vec<usize>,
    /// The median time, milliseconds.
    pub ms: f64,
    /// Calls that were timed.
    pub iters: usize,
    /// Operations (or bytes) of one call.
    pub work: f64,
    /// Elements of the result.
    pub elements: f64,
    /// `TFLOP/s` or `GB/s`.
    pub unit: &'static str,
    /// The peer in the same run and its median time, where there is one.
    pub peer: Option<(String, f64)>,
    /// Elements out of bound.
    pub wrong: usize,
    /// The largest error over the element's magnitude.
    pub max_rel_err: f64,
}

/// Where and when the records were made.
#[derive(Clone, Debug)]
pub struct Occasion {
    /// The device, as it describes itself.
    pub device: String,
    /// `2026-01-31`
    pub date: String,
    /// The commit, or `unknown`.
    pub commit: String,
}

impl Occasion {
    /// Here and now; the commit as given, or as git tells.
    pub fn now(device: String, commit: Option<String>) -> Occasion {
        let git = || {
            let output = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output().ok()?;
            let text = String::from_utf8(output.stdout).ok()?;
            output.status.success().then(|| text.trim().to_owned())
        };
        let date = time::OffsetDateTime::now_utc().date();
        Occasion { device, date: date.to_string(), commit: commit.or_else(git).unwrap_or("unknown".into()) }
    }
}

impl Record {
    /// The rate in its unit.
    pub fn rate(&self) -> f64 {
        let scale = if self.unit == "TFLOP/s" { 1e-9 } else { 1e-6 };
        self.work / self.ms * scale
    }

    /// Our rate over the peer's.
    pub fn ratio(&self) -> Option<f64> {
        self.peer.as_ref().map(|(_, peer_ms)| peer_ms / self.ms)
    }

    fn json(&self, occasion: &Occasion) -> serde_json::Value {
        let (peer, peer_ms) = self.peer.clone().unzip();
        serde_json::json!({
            "workload": self.workload,
            "kernel": self.kernel,
            "place": self.place,
            "dtype": self.dtype,
            "shape": self.shape,
            "ms": self.ms,
            "rate": self.rate(),
            "unit": self.unit,
            "peer": peer,
            "peer_ms": peer_ms,
            "ratio": self.ratio(),
            "wrong": self.wrong,
            "max_rel_err": self.max_rel_err,
            "device": occasion.device,
            "date": occasion.date,
            "commit": occasion.commit,
        })
    }
}

/// Appends the records to a file.
///
/// # Errors
/// What the file system says.
pub fn append(path: &Path, records: &[Record], occasion: &Occasion) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    for record in records {
        writeln!(file, "{}", record.json(occasion))?;
    }
    Ok(())
}

/// The table's head.
pub fn table_head() -> String {
    let line = "-".repeat(110);
    format!(
        "{line}\n| {:<32} | {:>12} | {:>6} | {:>12} | {:>12} | {:>7} | {:<7} |\n{line}",
        "name", "met (ms)", "iters", "GFLOPS/s", "GElems/s", "x peer", "checked"
    )
}

/// A row of the table.
pub fn table_row(record: &Record) -> String {
    let checked = if record.wrong == 0 { "ok".to_owned() } else { format!("{} wrong", record.wrong) };
    let ratio = record.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
    let separator = if record.place.is_empty() { "" } else { "/" };
    let name = format!("{}{separator}{}", record.place, record.kernel);
    format!(
        "| {:<32} | {:>12.6} | {:>6} | {:>12.3} | {:>12.6} | {:>7} | {:<7} |",
        name,
        record.ms,
        record.iters,
        record.work / record.ms * 1e-6,
        record.elements / record.ms * 1e-6,
        ratio,
        checked
    )
}
