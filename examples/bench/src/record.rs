//! Records of measurements: one JSON object a line, and a row of the table that a person reads.

use super::peaks::Roofs;
use layout_cuda::Elem;
use layout_cuda::roofline::{Bound, Peaks, Units, Work};
use std::process::Command;

/// One measurement.
#[derive(Clone, Debug)]
pub struct Record {
    /// What was done: `matmul`.
    pub workload: &'static str,
    /// By which kernel.
    pub kernel: String,
    /// Where: `gpu`, `simulator`, `cpu`; empty for a peer, whose name says it.
    pub place: &'static str,
    /// On which elements; `tf32` where the product rounds to it.
    pub dtype: &'static str,
    /// The sizes, `[M, N, K]`.
    pub shape: Vec<usize>,
    /// The median time, milliseconds.
    pub ms: f64,
    /// Calls that were timed.
    pub iters: usize,
    /// Operations, and the bytes that the tensors have: each read or written once.
    pub work: Work,
    /// Elements of the result, or of the input where that is longer.
    pub elements: f64,
    /// `TFLOP/s` or `GB/s`: what the record's rate is.
    pub unit: &'static str,
    /// The peer in the same run and its median time, where there is one.
    pub peer: Option<(String, f64)>,
    /// The median times of the first step of a ladder and of the step before, where there are steps.
    pub steps: Option<[f64; 2]>,
    /// Elements out of bound.
    pub wrong: usize,
    /// The first of them.
    pub first_wrong: Option<usize>,
    /// The largest error over the element's magnitude.
    pub max_rel_err: f64,
    /// The longest round over the shortest, less one; `None` of one round.
    pub spread: Option<f64>,
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

/// A record beside the roofs of its device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roofed {
    /// The roofs.
    pub peaks: Peaks,
    /// The lower one at the record's intensity.
    pub bound: Bound,
    /// The share of it that was reached.
    pub share: f64,
}

impl Occasion {
    /// Here and now; the commit as given, or as git reports.
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
        match self.unit {
            "TFLOP/s" => self.work.flops / self.ms * 1e-9,
            _ => self.work.bytes / self.ms * 1e-6,
        }
    }

    /// Our rate over the peer's.
    pub fn ratio(&self) -> Option<f64> {
        self.peer.as_ref().map(|(_, peer_ms)| peer_ms / self.ms)
    }

    /// The units that a kernel for these elements keeps busy at best.
    fn units(&self) -> Units {
        match (self.unit, self.dtype) {
            ("TFLOP/s", "bf16") => Units::Matrix(Elem::Bf16),
            ("TFLOP/s", "e4m3") => Units::Matrix(Elem::E4m3),
            ("TFLOP/s", "i8") => Units::Matrix(Elem::I8),
            ("TFLOP/s", "tf32") => Units::Matrix(Elem::F32),
            ("TFLOP/s", "f64") => Units::Matrix(Elem::F64),
            _ => Units::Threads(Elem::F32),
        }
    }

    /// What the table calls it. Above a product's table are its sizes; of other work they follow the name.
    fn name(&self) -> String {
        let Record { place, kernel, workload, .. } = self;
        let separator = if place.is_empty() { "" } else { "/" };
        if self.unit == "TFLOP/s" {
            return format!("{place}{separator}{kernel}");
        }
        let kernel = if kernel.starts_with(workload) { kernel } else { &format!("{workload} {kernel}") };
        let sizes: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        format!("{place}{separator}{kernel} {}", sizes.join(" x "))
    }

    /// How near to its roof it came. What the CPU did is under no roof of the device.
    pub fn roofed(&self, roofs: &Roofs) -> Option<Roofed> {
        let peaks = roofs.of(self.units()).filter(|_| self.place != "cpu")?;
        let bound = peaks.bound(self.work.intensity());
        Some(Roofed { peaks, bound, share: peaks.share(self.work, self.ms) })
    }

    /// As a line of the file.
    pub fn json(&self, occasion: &Occasion, roofs: &Roofs) -> serde_json::Value {
        let (peer, peer_ms) = self.peer.clone().unzip();
        let roofed = self.roofed(roofs);
        let bound = |roofed: Roofed| match roofed.bound {
            Bound::Memory => "memory",
            Bound::Arithmetic => "arithmetic",
        };
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
            "flops": self.work.flops,
            "bytes": self.work.bytes,
            "intensity": self.work.intensity(),
            "critical_intensity": roofed.map(|roofed| roofed.peaks.critical_intensity()),
            "bound": roofed.map(bound),
            "share_of_bound": roofed.map(|roofed| roofed.share),
            "wrong": self.wrong,
            "max_rel_err": self.max_rel_err,
            "device": occasion.device,
            "date": occasion.date,
            "commit": occasion.commit,
        })
    }
}

/// The columns of the table: their widths and names.
const COLUMNS: [(usize, &str); 10] = [
    (11, "met (ms)"),
    (5, "iters"),
    (10, "rate"),
    (9, "GElems/s"),
    (6, "x peer"),
    (7, "x first"),
    (8, "x before"),
    (7, "% bound"),
    (7, "error"),
    (7, "checked"),
];
/// The width of the names.
const NAME: usize = 32;

/// A line as wide as the table.
pub fn table_line() -> String {
    "-".repeat(NAME + 4 + COLUMNS.iter().map(|(width, _)| width + 3).sum::<usize>())
}

/// The table's head, with the unit of its rates. `x first` and `x before` are speed-ups against the first step of a ladder and the step before; `% bound` is
/// the share of the lower roof, `M` the memory's or `A` the arithmetic's.
pub fn table_head(rates: &str) -> String {
    let names: Vec<String> = COLUMNS
        .iter()
        .map(|(width, name)| format!("{:>width$} |", if *name == "rate" { rates } else { *name }))
        .collect();
    format!("{0}\n| {1:<NAME$} | {2}\n{0}", table_line(), "name", names.join(" "))
}

/// A row of the table.
pub fn table_row(record: &Record, roofs: &Roofs) -> String {
    let absent = || "-".to_owned();
    let ratio = |ratio: Option<f64>| ratio.map_or_else(absent, |ratio| format!("{ratio:.3}"));
    let share = record.roofed(roofs).map_or_else(absent, |roofed| {
        let letter = if roofed.bound == Bound::Memory { 'M' } else { 'A' };
        format!("{:.1} {letter}", 100.0 * roofed.share)
    });
    let per_ms = |amount: f64| amount / record.ms * 1e-6;
    let values = [
        format!("{:.6}", record.ms),
        record.iters.to_string(),
        format!("{:.3}", per_ms(if record.unit == "GB/s" { record.work.bytes } else { record.work.flops })),
        format!("{:.6}", per_ms(record.elements)),
        ratio(record.ratio()),
        ratio(record.steps.map(|[first, _]| first / record.ms)),
        ratio(record.steps.map(|[_, before]| before / record.ms)),
        share,
        format!("{:.1e}", record.max_rel_err),
        if record.wrong == 0 { "ok".to_owned() } else { format!("{} wrong", record.wrong) },
    ];
    let cells: Vec<String> =
        COLUMNS.iter().zip(values).map(|((width, _), value)| format!("{value:>width$} |")).collect();
    let name = record.name();
    let spread = record.spread.map_or(String::new(), |spread| format!(" rounds differ by {spread:.3}"));
    let first = record.first_wrong.map_or(String::new(), |first| format!(" first wrong: element {first}"));
    format!("| {name:<NAME$} | {}{spread}{first}", cells.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::h200;

    fn roofs() -> Roofs {
        Roofs { device: Some(h200()), measured: None }
    }

    fn record() -> Record {
        Record {
            workload: "matmul",
            kernel: "tiled".into(),
            place: "gpu",
            dtype: "f32",
            shape: vec![4096; 3],
            ms: 4.0,
            iters: 20,
            work: Work::product([4096; 3], Elem::F32),
            elements: 4096.0 * 4096.0,
            unit: "TFLOP/s",
            peer: Some(("cublas".into(), 2.0)),
            steps: Some([40.0, 8.0]),
            wrong: 0,
            first_wrong: None,
            max_rel_err: 1e-7,
            spread: Some(0.01),
        }
    }

    #[test]
    fn a_row_is_as_wide_as_the_head() {
        let head = table_head("GFLOPS/s");
        let widths: Vec<usize> = head.lines().map(str::len).collect();
        let row = table_row(&record(), &roofs());
        assert_eq!((widths[0], widths[1]), (table_line().len(), table_line().len()));
        assert_eq!(row.find(" rounds differ"), Some(table_line().len()), "{row}");
        assert!(row.contains(" 0.500 |  10.000 |    2.000 |"), "{row}");
    }

    /// 2 x 4096^3 operations in 4 ms are 34.4 TFLOP/s of 66.9; a cube of that size is far beyond the critical intensity.
    #[test]
    fn a_product_under_its_roof() {
        let roofed = record().roofed(&roofs()).expect("an H200 is in the table");
        assert_eq!((roofed.bound, (1000.0 * roofed.share).round()), (Bound::Arithmetic, 514.0));
        let sum = Record { unit: "GB/s", work: Work { flops: 1.0, bytes: 4.0 }, ..record() };
        assert_eq!(sum.roofed(&roofs()).map(|roofed| roofed.bound), Some(Bound::Memory));
        assert_eq!(Record { place: "cpu", ..record() }.roofed(&roofs()), None);
        assert_eq!(record().roofed(&Roofs::default()), None);
    }

    #[test]
    fn a_line_of_the_file_says_its_bound() {
        let occasion = Occasion { device: "an H200".into(), date: "2026-01-31".into(), commit: "abc".into() };
        let json = record().json(&occasion, &roofs());
        assert_eq!((json["bound"].as_str(), json["unit"].as_str()), (Some("arithmetic"), Some("TFLOP/s")));
        assert_eq!(json["ratio"].as_f64(), Some(0.5));
        assert!(record().json(&occasion, &Roofs::default())["share_of_bound"].is_null());
    }
}
