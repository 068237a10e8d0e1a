//! JSON, written: objects and arrays of strings, numbers and truth values.
//!
//! Law: what is written is JSON (RFC 8259) on one line, with the values in the order in which they were given.

use std::fmt::Write;

use layout_simulator::{Counts, Finding};

use super::{Launched, id};

/// An object that is written field by field.
pub(super) struct Object(String);

impl Object {
    /// Without fields.
    pub(super) fn new() -> Object {
        Object(String::from("{"))
    }

    /// A field whose value is JSON already.
    pub(super) fn json(mut self, name: &str, value: &str) -> Object {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0 += &text(name);
        self.0.push(':');
        self.0 += value;
        self
    }

    /// A field that is a string.
    pub(super) fn text(self, name: &str, value: &str) -> Object {
        let value = text(value);
        self.json(name, &value)
    }

    /// A field that is an integer or a truth value.
    pub(super) fn value(self, name: &str, value: impl ToString) -> Object {
        self.json(name, &value.to_string())
    }

    /// The object's text.
    pub(super) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// An array of JSON values.
pub(super) fn array(values: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", values.into_iter().collect::<Vec<_>>().join(","))
}

/// A string.
pub(super) fn text(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    for letter in value.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            control if (control as u32) < 0x20 => {
                // A `String` takes every write.
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// A place of a thread or a block.
pub(super) fn place(place: [u32; 3]) -> String {
    array(place.map(|axis| axis.to_string()))
}

/// A launch, an object a line.
pub(super) fn lines(launched: &Launched<'_>) -> String {
    let Launched { kernel, file, report } = launched;
    let mut out = String::new();
    let object = |kind: &str| Object::new().text("type", kind).text("kernel", kernel);
    out += &findings(launched);
    for (line, counts) in &report.lines {
        out += &counted(known(object("line").text("file", file), *line), counts).end();
        out.push('\n');
    }
    let all = object("launch").text("file", file).value("blocks", report.blocks);
    let all = all.value("stopped", report.stopped).value("left_out", report.left_out);
    out += &counted(all.value("findings", report.findings.len()), &report.totals).end();
    out.push('\n');
    out
}

/// The findings of a launch, an object a line.
pub(super) fn findings(launched: &Launched<'_>) -> String {
    let object = || Object::new().text("type", "finding").text("kernel", launched.kernel);
    let line = |finding| finding_fields(object(), launched.file, finding).end() + "\n";
    launched.report.findings.iter().map(line).collect()
}

fn finding_fields(object: Object, file: &str, finding: &Finding) -> Object {
    let Finding { kind, message, line, thread, block, place: tensor, index, count, other } = finding;
    let object = known(object.text("kind", &id(*kind)).text("message", message).text("file", file), *line);
    let object = object.json("thread", &place(*thread)).json("block", &place(*block)).value("count", count);
    let object = match tensor {
        Some(tensor) => object.text("place", tensor),
        None => object,
    };
    let object = match index {
        Some(index) => object.value("index", index),
        None => object,
    };
    match other {
        Some(other) => object.value("other_line", other),
        None => object,
    }
}

/// A line, where it is known.
fn known(object: Object, line: u32) -> Object {
    if line == 0 { object.json("line", "null") } else { object.value("line", line) }
}

fn counted(object: Object, counts: &Counts) -> Object {
    let Counts {
        instructions,
        flops,
        global_requests,
        global_sectors,
        global_bytes_read,
        global_bytes_written,
        shared_requests,
        shared_wavefronts,
        bank_conflicts,
        shared_bytes_read,
        shared_bytes_written,
    } = counts;
    object
        .value("instructions", instructions)
        .value("flops", flops)
        .value("global_requests", global_requests)
        .value("global_sectors", global_sectors)
        .value("global_bytes_read", global_bytes_read)
        .value("global_bytes_written", global_bytes_written)
        .value("shared_requests", shared_requests)
        .value("shared_wavefronts", shared_wavefronts)
        .value("bank_conflicts", bank_conflicts)
        .value("shared_bytes_read", shared_bytes_read)
        .value("shared_bytes_written", shared_bytes_written)
}
