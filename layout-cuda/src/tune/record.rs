//! Records: a line of JSON for each set that was tried, for people to read, merge and commit.
//!
//! Law: the union of two files is what both found; of two records of one trial the later one stays. A line that is no
//! record is an error that names the line.

use std::fmt;
use std::io::Write;
use std::path::Path;

use layout_compiler::{Elem, ParamSet, ParamValue};
use serde_json::{Map, Value, json};

/// What became of one set on one device for one problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The kernel.
    pub kernel: String,
    /// A hash of the CUDA C: another text is another kernel. 0 where none was made.
    pub text: u64,
    /// The device, as the driver names it, or `simulator`.
    pub device: String,
    /// The driver's CUDA version, `13.0`; empty on the simulator.
    pub driver: String,
    /// The compiler: NVRTC's version; empty on the simulator.
    pub compiler: String,
    /// The extents of all tensors of the launch, one after the other.
    pub shape: Vec<usize>,
    /// The parameters.
    pub set: ParamSet,
    /// `timed`, `wrong`, `refused`, `failed`.
    pub fate: String,
    /// Milliseconds, where it was timed.
    pub ms: Option<f64>,
    /// Milliseconds of the default set in the same run, where both were timed.
    pub default_ms: Option<f64>,
    /// Why it is not timed, or lost.
    pub why: String,
    /// `2026-01-31`
    pub date: String,
}

/// A file of records that cannot be read.
#[non_exhaustive]
pub enum RecordError {
    /// What the file system says.
    File(std::io::Error),
    /// A line that is no record, counted from 1, and why.
    Line {
        /// The line.
        line: usize,
        /// What it lacks.
        why: String,
    },
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::File(error) => write!(f, "the file of records: {error}"),
            RecordError::Line { line, why } => write!(f, "line {line} of the records: {why}"),
        }
    }
}

crate::error::debug_by_display! { RecordError }

impl std::error::Error for RecordError {}

impl From<std::io::Error> for RecordError {
    fn from(error: std::io::Error) -> RecordError {
        RecordError::File(error)
    }
}

impl Record {
    /// Whether another record is of the same trial.
    pub fn same_trial(&self, other: &Record) -> bool {
        (&self.kernel, self.text, &self.device, &self.shape, &self.set)
            == (&other.kernel, other.text, &other.device, &other.shape, &other.set)
    }

    /// The line of JSON.
    pub fn to_line(&self) -> String {
        let set: Map<String, Value> =
            self.set.0.iter().map(|(name, value)| (name.clone(), json_of(*value))).collect();
        json!({
            "kernel": self.kernel, "text": format!("{:016x}", self.text), "device": self.device, "driver": self.driver,
            "compiler": self.compiler, "shape": self.shape, "set": set, "fate": self.fate, "ms": self.ms,
            "default_ms": self.default_ms, "why": self.why, "date": self.date,
        })
        .to_string()
    }

    /// The record of a line; `Err` says what it lacks.
    fn of_line(line: &str) -> Result<Record, String> {
        let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let text = |name: &str| {
            let text = value.get(name).and_then(Value::as_str);
            text.map(str::to_owned).ok_or_else(|| format!("no text `{name}`"))
        };
        let shape = value.get("shape").and_then(Value::as_array).ok_or("no list `shape`")?;
        let extent = |value: &Value| value.as_u64().and_then(|extent| usize::try_from(extent).ok());
        let shape: Option<Vec<usize>> = shape.iter().map(extent).collect();
        let set = value.get("set").and_then(Value::as_object).ok_or("no object `set`")?;
        let values: Option<Vec<(String, ParamValue)>> =
            set.iter().map(|(name, value)| Some((name.clone(), value_of(value)?))).collect();
        Ok(Record {
            kernel: text("kernel")?,
            text: u64::from_str_radix(&text("text")?, 16).map_err(|error| format!("`text`: {error}"))?,
            device: text("device")?,
            driver: text("driver")?,
            compiler: text("compiler")?,
            shape: shape.ok_or("`shape` is no list of extents")?,
            set: ParamSet(values.ok_or("`set` has a value that is no parameter")?),
            fate: text("fate")?,
            ms: value.get("ms").and_then(Value::as_f64),
            default_ms: value.get("default_ms").and_then(Value::as_f64),
            why: text("why")?,
            date: text("date")?,
        })
    }
}

fn json_of(value: ParamValue) -> Value {
    match value {
        ParamValue::Int(value) => value.into(),
        ParamValue::Bool(value) => value.into(),
        ParamValue::Type(elem) => elem.to_string().into(),
        ParamValue::Function(name) => format!("fn {name}").into(),
    }
}

fn value_of(value: &Value) -> Option<ParamValue> {
    match value {
        Value::Bool(value) => Some(ParamValue::Bool(*value)),
        Value::Number(value) => value.as_i64().map(ParamValue::Int),
        Value::String(text) => match text.strip_prefix("fn ") {
            // A parameter's name lives as long as the program; a file of records is read once.
            Some(name) => Some(ParamValue::Function(String::leak(name.to_owned()))),
            None => Elem::from_name(text).map(ParamValue::Type),
        },
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Records, each trial once.
///
/// ```
/// use layout_cuda::tune::Records;
/// let line = r#"{"kernel": "k", "text": "0", "device": "d", "driver": "13.0", "compiler": "n", "shape": [8],
///     "set": {"B": 32, "T": "bf16"}, "fate": "timed", "ms": 1.5, "default_ms": 2.0, "why": "", "date": "2026-01-31"}"#;
/// let line = line.replace('\n', "");
/// let records = Records::parse(&line)?;
/// assert_eq!(records.all()[0].set.key(), "B32_Tbf16");
/// assert_eq!(Records::parse(&records.to_string())?, records);
/// # Ok::<(), layout_cuda::tune::RecordError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records(Vec<Record>);

impl Records {
    /// The records of a text, a line each.
    ///
    /// # Errors
    /// [`RecordError::Line`]
    pub fn parse(text: &str) -> Result<Records, RecordError> {
        let mut records = Records::default();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let record = Record::of_line(line).map_err(|why| RecordError::Line { line: number + 1, why })?;
            records.add(record);
        }
        Ok(records)
    }

    /// The records of a file; none where there is no file. A last line that was cut off, as of a run that was killed, is left
    /// out.
    ///
    /// # Errors
    /// [`RecordError`]
    pub fn read(path: &Path) -> Result<Records, RecordError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Records::default()),
            Err(error) => return Err(error.into()),
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        Records::parse(whole)
    }

    /// Appends a record to a file, at once.
    ///
    /// # Errors
    /// What the file system says.
    pub fn append(path: &Path, record: &Record) -> std::io::Result<()> {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).read(true).open(path)?;
        // What a killed run has cut off goes.
        let text = std::fs::read(path)?;
        let open = text.last().is_some_and(|last| *last != b'\n');
        if open {
            let kept = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            file.set_len(kept as u64)?;
        }
        writeln!(file, "{}", record.to_line())
    }

    /// Adds a record, or puts it in the place of an earlier one of its trial: the later day's stays, then the one that was
    /// measured beside the default, then the shorter time.
    pub fn add(&mut self, record: Record) {
        let rank = |record: &Record| {
            (record.date.clone(), record.default_ms.is_some(), -record.ms.unwrap_or(f64::MAX))
        };
        match self.0.iter_mut().find(|known| known.same_trial(&record)) {
            Some(known) if rank(known) < rank(&record) => *known = record,
            Some(_) => {}
            None => self.0.push(record),
        }
    }

    /// Those of both.
    pub fn union(mut self, other: Records) -> Records {
        other.0.into_iter().for_each(|record| self.add(record));
        self
    }

    /// All of them.
    pub fn all(&self) -> &[Record] {
        &self.0
    }
}

impl fmt::Display for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|record| writeln!(f, "{}", record.to_line()))
    }
}
