//! The tests of a kernel: `cargo test NAME` beside the file, on a thread of its own.
//!
//! Law: the editor gets the whole output as its log, and each test's result, or cargo's last line, as a message.

use lsp_server::{Message, Notification};
use lsp_types::MessageType;
use serde_json::json;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Runs the tests whose names contain the kernel's.
pub fn test(path: PathBuf, name: String, send: impl Fn(Message) + Send + 'static) {
    std::thread::spawn(move || {
        let mut cargo = Command::new("cargo");
        cargo.args(["test", &name]).current_dir(path.parent().unwrap_or(&path)).stdin(Stdio::null());
        let (kind, text) = match cargo.output() {
            Ok(output) => {
                let kind = if output.status.success() { MessageType::INFO } else { MessageType::ERROR };
                (kind, String::from_utf8_lossy(&[output.stderr, output.stdout].concat()).into_owned())
            }
            Err(error) => (MessageType::ERROR, format!("it does not start: {error}")),
        };
        let results: Vec<&str> = text.lines().filter(|line| line.starts_with("test ")).collect();
        let short = match results.is_empty() {
            true => text.lines().last().unwrap_or_default().to_owned(),
            false => results.join("\n"),
        };
        for (method, message) in [("window/logMessage", &text), ("window/showMessage", &short)] {
            let parameters = json!({ "type": kind, "message": format!("cargo test {name}\n{message}") });
            send(Notification::new(method.into(), parameters).into());
        }
    });
}
