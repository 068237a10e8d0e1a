//! A language server for kernels, beside rust-analyzer: errors, layouts and costs of `#[tiled_kernel]` while it is typed.
//!
//! ```text
//! editor ──LSP──► server ──text──► analysis ──► diagnostics
//!                   ▲                 └───────► hints, hover, actions: answers to requests
//!                   └── settings
//! ```
//!
//! Law: what is said of a kernel is what the macro, `explain` and the emitter say of the same text; nothing is computed here.
//! No text makes a panic: a request has an answer, whatever is in the file.
//!
//! ```
//! use lsp_server::{Connection, Message, Notification, Request};
//! let (server, client) = Connection::memory();
//! let running = std::thread::spawn(move || layout_lsp::serve(&server).is_ok());
//! let ask = |id: i32, method: &str| Message::Request(Request::new(id.into(), method.into(), serde_json::json!({ "capabilities": {} })));
//! let tell = |method: &str| Message::Notification(Notification::new(method.into(), serde_json::json!({})));
//! for message in [ask(1, "initialize"), tell("initialized"), ask(2, "shutdown"), tell("exit")] {
//!     client.sender.send(message)?;
//! }
//! assert!(running.join().is_ok_and(|fine| fine));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod actions;
mod analysis;
mod diagnostics;
mod hints;
mod hover;
mod modules;
mod runner;
mod server;
mod settings;
mod text;
mod words;

pub use server::serve;
