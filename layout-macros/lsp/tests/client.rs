//! A client in the process: it sends what an editor sends.
//!
//! Law: a server that sends nothing for a minute hangs, and one that does not end without an error is wrong.

use lsp_server::{Connection, Message, Notification, Request};
use serde_json::{Value, json};
use std::thread::JoinHandle;
use std::time::Duration;

/// An editor with one server.
pub struct Client {
    connection: Connection,
    server: Option<JoinHandle<bool>>,
    asked: i32,
    /// Diagnostics as they came, with their document.
    pub published: Vec<(String, Value)>,
}

impl Client {
    /// A server with these settings.
    pub fn new(settings: Value) -> Client {
        let (server, connection) = Connection::memory();
        let server = Some(std::thread::spawn(move || layout_lsp::serve(&server).is_ok()));
        let mut client = Client { connection, server, asked: 0, published: vec![] };
        client.ask("initialize", json!({ "capabilities": {}, "initializationOptions": settings }));
        client.tell("initialized", json!({}));
        client
    }

    /// Sends a notification.
    pub fn tell(&self, method: &str, params: Value) {
        let message = Message::Notification(Notification::new(method.into(), params));
        self.connection.sender.send(message).expect("a server");
    }

    /// The answer to a request; an error is its code.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.connection.sender.send(Request::new(id.into(), method.into(), params).into()).expect("a server");
        loop {
            match self.next() {
                Message::Response(one) if one.id == id.into() => {
                    return one.response_result.unwrap_or_else(|error| json!(error.code));
                }
                _ => continue,
            }
        }
    }

    /// The next message.
    fn next(&mut self) -> Message {
        let message =
            self.connection.receiver.recv_timeout(Duration::from_secs(60)).expect("no message for a minute");
        if let Message::Notification(one) = &message
            && one.method == "textDocument/publishDiagnostics"
        {
            let uri = one.params["uri"].as_str().unwrap_or_default().to_owned();
            self.published.push((uri, one.params.clone()));
        }
        message
    }

    /// The diagnostics of a version of a document.
    pub fn diagnostics(&mut self, uri: &str, version: i32) -> Vec<Value> {
        loop {
            let found = self.published.iter().find(|(of, one)| of == uri && one["version"] == version);
            if let Some((_, one)) = found {
                return one["diagnostics"].as_array().cloned().unwrap_or_default();
            }
            self.next();
        }
    }

    /// The next message to the person.
    pub fn shown(&mut self) -> String {
        loop {
            if let Message::Notification(one) = self.next()
                && one.method == "window/showMessage"
            {
                return one.params["message"].as_str().unwrap_or_default().to_owned();
            }
        }
    }

    /// Opens a document, or changes it.
    pub fn write(&self, uri: &str, version: i32, text: &str) {
        match version {
            1 => self.tell(
                "textDocument/didOpen",
                json!({ "textDocument": { "uri": uri, "languageId": "rust", "version": 1, "text": text } }),
            ),
            _ => self.tell(
                "textDocument/didChange",
                json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": [{ "text": text }] }),
            ),
        }
    }

    /// The inlay hints of a document, as `line: label`, lines from 0.
    pub fn hints(&mut self, uri: &str) -> Vec<String> {
        let whole =
            json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 100_000, "character": 0 } });
        let hints =
            self.ask("textDocument/inlayHint", json!({ "textDocument": { "uri": uri }, "range": whole }));
        let line = |hint: &Value| format!("{}{}", hint["position"]["line"], label(hint));
        hints.as_array().expect("hints").iter().map(line).collect()
    }

    /// What hover says, in Markdown.
    pub fn hover(&mut self, uri: &str, line: u32, character: u32) -> String {
        let params =
            json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": character } });
        let hover = self.ask("textDocument/hover", params);
        hover["contents"]["value"].as_str().unwrap_or_default().to_owned()
    }

    /// The code actions at a line.
    pub fn actions(&mut self, uri: &str, line: u32) -> Vec<Value> {
        let at = json!({ "line": line, "character": 0 });
        let params = json!({
            "textDocument": { "uri": uri }, "range": { "start": at, "end": at }, "context": { "diagnostics": [] },
        });
        self.ask("textDocument/codeAction", params).as_array().cloned().expect("actions")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.ask("shutdown", Value::Null);
        self.tell("exit", Value::Null);
        let ended = self.server.take().map(JoinHandle::join);
        assert!(ended.is_some_and(|ended| ended.is_ok_and(|fine| fine)), "the server ends without an error");
    }
}

fn label(hint: &Value) -> &str {
    hint["label"].as_str().unwrap_or_default()
}

/// The text behind an action's one edit.
pub fn applied(text: &str, action: &Value, uri: &str) -> String {
    let edit = &action["edit"]["changes"][uri][0];
    let offset = |place: &Value| {
        let number = |name: &str| place[name].as_u64().expect("a number") as usize;
        let before: usize = text.split_inclusive('\n').take(number("line")).map(str::len).sum();
        let units: Vec<u16> = text[before..].encode_utf16().take(number("character")).collect();
        before + String::from_utf16(&units).expect("whole characters").len()
    };
    let (start, end) = (offset(&edit["range"]["start"]), offset(&edit["range"]["end"]));
    format!("{}{}{}", &text[..start], edit["newText"].as_str().expect("a text"), &text[end..])
}
