//! The server: documents, requests, and when a text is compiled.
//!
//! Law: one thread, one message after the other. A change is compiled once no other came for the debounce's time; a request
//! about a text that is not compiled yet is answered right after it is.

use crate::actions::{TEST, actions, lenses};
use crate::analysis::Analysis;
use crate::diagnostics::{diagnostics, path_of};
use crate::hints::hints;
use crate::hover::hover;
use crate::modules::Modules;
use crate::runner;
use crate::settings::Settings;
use crate::text::Text;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::{self as lsp, Uri};
use serde_json::{Value, from_value, json};
use std::collections::HashMap;
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Serves a client until it ends the connection.
///
/// # Errors
/// A client that does not keep to the protocol, or is gone.
///
/// There is an example in the crate's own words.
pub fn serve(connection: &Connection) -> Outcome<()> {
    // Reading a file recurses as deep as its text nests.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(layout_text::STACK);
        let served = thread.spawn_scoped(scope, || run(connection))?;
        served.join().unwrap_or_else(|_| Err("the server's thread failed".into()))
    })
}

fn run(connection: &Connection) -> Outcome<()> {
    let (id, parameters) = connection.initialize_start()?;
    let answer = json!({
        "capabilities": {
            "textDocumentSync": { "openClose": true, "change": 1, "save": true },
            "hoverProvider": true,
            "inlayHintProvider": true,
            "codeActionProvider": true,
            "codeLensProvider": { "resolveProvider": false },
            "executeCommandProvider": { "commands": [TEST] },
        },
        "serverInfo": { "name": "layout-lsp", "version": env!("CARGO_PKG_VERSION") },
    });
    connection.initialize_finish(id, answer)?;
    let settings = Settings::of(parameters.get("initializationOptions").unwrap_or(&Value::Null));
    let refreshes =
        parameters.pointer("/capabilities/workspace/inlayHint/refreshSupport") == Some(&json!(true));
    let mut server = Server {
        connection,
        settings,
        refreshes,
        documents: HashMap::new(),
        modules: Modules::default(),
        waiting: Vec::new(),
        asked: 0,
    };
    loop {
        let next = server.documents.values().filter_map(|document| document.due).min();
        let message = match next {
            None => connection.receiver.recv()?,
            Some(due) => match connection.receiver.recv_deadline(due) {
                Ok(message) => message,
                Err(error) if error.is_timeout() => {
                    server.settle()?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            },
        };
        match message {
            Message::Request(request) => {
                if connection.handle_shutdown(&request)? {
                    return Ok(());
                }
                server.request(request)?;
            }
            Message::Notification(one) => server.notified(one)?,
            Message::Response(_) => {}
        }
    }
}

/// An open document.
#[derive(Debug, Default)]
struct Document {
    whole: String,
    text: Text,
    version: i32,
    analysis: Analysis,
    /// When it is compiled; `None` for one that is.
    due: Option<Instant>,
}

struct Server<'c> {
    connection: &'c Connection,
    settings: Settings,
    /// Whether the client refreshes its hints on request.
    refreshes: bool,
    documents: HashMap<Uri, Document>,
    modules: Modules,
    /// Requests about texts that are not compiled yet.
    waiting: Vec<(Uri, Request)>,
    /// Requests of the server's own.
    asked: i32,
}

impl Server<'_> {
    fn send(&self, message: impl Into<Message>) -> Outcome<()> {
        Ok(self.connection.sender.send(message.into())?)
    }

    fn notified(&mut self, one: Notification) -> Outcome<()> {
        let Notification { method, params } = one;
        match method.as_str() {
            "textDocument/didOpen" => {
                if let Ok(lsp::DidOpenTextDocumentParams { text_document: opened }) = from_value(params) {
                    self.changed(opened.uri, opened.version, opened.text);
                }
            }
            "textDocument/didChange" => {
                let Ok(lsp::DidChangeTextDocumentParams { text_document, content_changes }) =
                    from_value(params)
                else {
                    return Ok(());
                };
                // The whole text, as the capabilities say.
                if let Some(change) = content_changes.into_iter().next_back() {
                    self.changed(text_document.uri, text_document.version, change.text);
                }
            }
            "textDocument/didSave" => {
                // Other documents may take functions of this one.
                self.modules.forget();
                self.all_due();
            }
            "textDocument/didClose" => {
                if let Ok(lsp::DidCloseTextDocumentParams { text_document }) = from_value(params) {
                    self.documents.remove(&text_document.uri);
                    self.publish(&text_document.uri)?;
                    self.answer(&text_document.uri)?;
                }
            }
            "workspace/didChangeConfiguration" => {
                self.settings = Settings::of(params.get("settings").unwrap_or(&Value::Null));
                // A set is no part of a kernel's text.
                self.documents.values_mut().for_each(|document| document.analysis.kernels.clear());
                self.all_due();
            }
            "$/cancelRequest" => {
                let id = params.get("id").and_then(|id| from_value::<RequestId>(id.clone()).ok());
                let mut cancelled = self.waiting.iter();
                if let Some(at) = cancelled.position(|(_, request)| Some(&request.id) == id.as_ref()) {
                    let (_, request) = self.waiting.remove(at);
                    let code = ErrorCode::RequestCanceled as i32;
                    self.send(Response::new_err(request.id, code, "cancelled".into()))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn changed(&mut self, uri: Uri, version: i32, whole: String) {
        let document = self.documents.entry(uri).or_default();
        document.text = Text::new(&whole);
        (document.whole, document.version) = (whole, version);
        document.due = Some(Instant::now() + self.settings.debounce);
    }

    fn all_due(&mut self) {
        let due = Instant::now();
        self.documents.values_mut().for_each(|document| document.due = document.due.or(Some(due)));
    }

    /// Compiles what is due, and answers what waits for it.
    fn settle(&mut self) -> Outcome<()> {
        let now = Instant::now();
        let due = |document: &Document| document.due.is_some_and(|due| due <= now);
        let uris: Vec<Uri> =
            self.documents.iter().filter(|(_, document)| due(document)).map(|(uri, _)| uri.clone()).collect();
        let path = |(uri, document): (&Uri, &Document)| Some((path_of(uri)?, document.whole.clone()));
        let open: HashMap<PathBuf, String> = self.documents.iter().filter_map(path).collect();
        for uri in &uris {
            let Some(document) = self.documents.get_mut(uri) else { continue };
            let (modules, from) = (&mut self.modules, path_of(uri));
            let mut other = |name: &str| modules.find(from.as_deref()?, name, &open);
            let earlier = std::mem::take(&mut document.analysis);
            document.analysis = Analysis::of(&document.whole, &self.settings, earlier, &mut other);
            document.due = None;
            self.publish(uri)?;
            self.answer(uri)?;
        }
        if self.refreshes && !uris.is_empty() {
            self.asked += 1;
            let id = RequestId::from(self.asked);
            self.send(Request::new(id, "workspace/inlayHint/refresh".into(), Value::Null))?;
        }
        Ok(())
    }

    /// Sends the diagnostics of a document; none of one that is closed.
    fn publish(&self, uri: &Uri) -> Outcome<()> {
        let document = self.documents.get(uri);
        let diagnostics = document.map(|document| diagnostics(&document.analysis, &document.text));
        let version = document.map(|document| document.version);
        let parameters =
            lsp::PublishDiagnosticsParams::new(uri.clone(), diagnostics.unwrap_or_default(), version);
        self.send(Notification::new("textDocument/publishDiagnostics".into(), parameters))
    }

    /// Answers the requests that wait for a document.
    fn answer(&mut self, uri: &Uri) -> Outcome<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let (now, later) = waiting.into_iter().partition(|(about, _)| about == uri);
        self.waiting = later;
        let now: Vec<(Uri, Request)> = now;
        now.into_iter().try_for_each(|(uri, request)| self.reply(&uri, request))
    }

    fn request(&mut self, request: Request) -> Outcome<()> {
        let document = request.params.pointer("/textDocument/uri").and_then(Value::as_str);
        match (request.method.as_str(), document.and_then(|uri| uri.parse::<Uri>().ok())) {
            (
                "textDocument/inlayHint"
                | "textDocument/hover"
                | "textDocument/codeAction"
                | "textDocument/codeLens",
                Some(uri),
            ) => {
                if self.documents.get(&uri).is_some_and(|document| document.due.is_some()) {
                    self.waiting.push((uri, request));
                    return Ok(());
                }
                self.reply(&uri, request)
            }
            ("workspace/executeCommand", _) => {
                let argument =
                    |number| request.params.pointer(&format!("/arguments/{number}")).and_then(Value::as_str);
                let path = argument(0).and_then(|uri| path_of(&uri.parse().ok()?));
                let named =
                    argument(1).filter(|name| name.chars().all(|one| one.is_alphanumeric() || one == '_'));
                match (request.params["command"].as_str(), path, named) {
                    (Some(TEST), Some(path), Some(name)) => {
                        let sender = self.connection.sender.clone();
                        // Who is gone reads no message.
                        runner::test(path, name.to_owned(), move |message| drop(sender.send(message)));
                    }
                    _ => {
                        let code = ErrorCode::InvalidParams as i32;
                        let message = format!("the command is `{TEST}` with a file and a kernel's name");
                        return self.send(Response::new_err(request.id, code, message));
                    }
                }
                self.send(Response::new_ok(request.id, Value::Null))
            }
            (method, _) => {
                let message = format!("there is no answer to `{method}` of these parameters");
                self.send(Response::new_err(request.id, ErrorCode::MethodNotFound as i32, message))
            }
        }
    }

    /// The answer to a request about a document that is compiled; `null` about one that is not open.
    fn reply(&self, uri: &Uri, request: Request) -> Outcome<()> {
        let Some(Document { text, analysis, .. }) = self.documents.get(uri) else {
            return self.send(Response::new_ok(request.id, Value::Null));
        };
        let range = || from_value::<lsp::Range>(request.params["range"].clone()).unwrap_or_default();
        let at = || from_value::<lsp::Position>(request.params["position"].clone()).unwrap_or_default();
        let answer = match request.method.as_str() {
            "textDocument/inlayHint" => json!(hints(analysis, text, range())),
            "textDocument/hover" => json!(hover(analysis, text, at())),
            "textDocument/codeAction" => json!(actions(analysis, text, uri, range())),
            _ => json!(lenses(analysis, text, uri)),
        };
        self.send(Response::new_ok(request.id, answer))
    }
}
