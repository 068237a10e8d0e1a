//! Reports of the simulator for other programs: lines of JSON, and SARIF 2.1.0, which editors and CI services show at the lines.
//!
//! ```
//! use layout_cuda::report::{Format, Launched, render};
//! use layout_cuda::{Device, tiled_kernel};
//!
//! #[tiled_kernel(block = [64], grid = [1])]
//! fn reverse(x: &mut LayoutTensor<i32, RowMajor<64>>) {
//!     let mut held = shared::<i32>(row_major([64]));
//!     held[[thread_idx.x]] = x[[thread_idx.x]];
//!     x[[thread_idx.x]] = held[[63 - thread_idx.x]]; // no barrier before
//! }
//! let mut x = Device::simulator().zeros::<i32, 1>([64])?;
//! let report = reverse::simulate(&mut x)?;
//! let launched = [Launched { kernel: "reverse", file: reverse::DEFINITION.file, report: &report }];
//! assert!(render(Format::Text, &launched).contains("in the same block") || !report.clean());
//! assert!(render(Format::JsonLines, &launched).contains(r#""type":"finding","kernel":"reverse""#));
//! assert!(render(Format::Sarif, &launched).contains(r#""version":"2.1.0""#));
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! Without a call: `LAYOUT_REPORT=findings.sarif cargo test` adds what launches on the simulator and `testing` find to that file,
//! each line of a kernel once for each kind and process; so does a name that ends in `.json`, with lines of JSON. The file is added to,
//! so that it holds those of all processes of a run.
//!
//! `LAYOUT_TIMELINE=run.json cargo test NAME` writes what the launches do, step by step, as a Chrome trace, which Perfetto shows: see
//! [`chrome_trace`]. Of a test's launches it holds the first schedule of each, and the first one that finds a mistake.
//!
//! A line of JSON is an object whose `type` is `finding` (kind, message, file, line, thread, block, count; place, index and the line of the other access where
//! there are), `line` (the counts of a line of the kernel) or `launch` (blocks, whether it was stopped, what was left out, the counts
//! in all), each with its `kernel`. A line of the source that is not known is `null`.

mod json;
mod log;
mod sarif;
mod source;
mod timeline;

use std::fmt;
use std::str::FromStr;

use layout_simulator::{FindingKind, Report};

use crate::error::Error;
use crate::launch_error::LaunchError;

pub(crate) use log::note;
pub(crate) use source::source;
pub use timeline::chrome_trace;
pub(crate) use timeline::trace;

/// How reports are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Format {
    /// As [`Report`] displays itself.
    #[default]
    Text,
    /// An object a line.
    JsonLines,
    /// One SARIF log of all launches.
    Sarif,
}

impl FromStr for Format {
    type Err = String;

    /// `text`, `json` or `sarif`.
    fn from_str(name: &str) -> Result<Format, String> {
        match name {
            "text" => Ok(Format::Text),
            "json" => Ok(Format::JsonLines),
            "sarif" => Ok(Format::Sarif),
            other => Err(format!("`{other}`: a report is `text`, `json` or `sarif`")),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Text => "text",
            Format::JsonLines => "json",
            Format::Sarif => "sarif",
        })
    }
}

/// A launch on the simulator with its report.
#[derive(Clone, Copy, Debug)]
pub struct Launched<'a> {
    /// The kernel.
    pub kernel: &'a str,
    /// The Rust file that the report's lines are of: [`Definition::file`](crate::Definition::file).
    pub file: &'a str,
    /// The report.
    pub report: &'a Report,
}

impl<'a> Launched<'a> {
    /// The launch that an error reports, where it is one with findings.
    ///
    /// ```
    /// # use layout_cuda::{Device, report::Launched, tiled_kernel};
    /// #[tiled_kernel(block = [2], grid = [1])]
    /// fn race(x: &mut LayoutTensor<i32, RowMajor<1>>) {
    ///     x[[0]] = thread_idx.x as i32;
    /// }
    /// let device = Device::simulator();
    /// let mut x = device.zeros::<i32, 1>([1])?;
    /// let error = race::launch(&device.stream(), &mut x).unwrap_err();
    /// assert_eq!(Launched::of(&error).map(|launched| launched.kernel), Some("race"));
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn of(error: &'a Error) -> Option<Launched<'a>> {
        match error {
            Error::Launch(LaunchError::Findings { kernel, file, report }) => {
                Some(Launched { kernel, file, report })
            }
            _ => None,
        }
    }
}

/// The reports of some launches.
pub fn render(format: Format, launches: &[Launched<'_>]) -> String {
    match format {
        Format::Text => {
            let text = |launched: &Launched<'_>| {
                let Launched { kernel, file, report } = launched;
                format!("kernel `{kernel}` in {file}:\n{}", report.in_file(file, &source(file, kernel)))
            };
            launches.iter().map(text).collect()
        }
        Format::JsonLines => launches.iter().map(json::lines).collect(),
        Format::Sarif => sarif::log(launches),
    }
}

/// What rules and lines call a kind: `missing-wait`.
fn id(kind: FindingKind) -> String {
    kind.name().replace(' ', "-")
}
