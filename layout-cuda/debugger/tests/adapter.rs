//! The Debug Adapter Protocol, by a client that sends what an editor sends.
//!
//! Law: each request has one response; what is shown after a step back is what was shown before the step.

use layout_cuda::debug::attach;
use layout_cuda::{Device, tiled_kernel};
use layout_debugger::Adapter;
use serde_json::{Value as Json, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

/// The first line of the kernel below.
const FIRST: u32 = line!() + 2;

#[tiled_kernel(arch = "sm_90a", block = [64], grid = [2])]
fn staged(x: &LayoutTensor<f32, RowMajor<128>>, y: &mut LayoutTensor<f32, RowMajor<128>>) {
    let mut line = shared::<f32>(row_major([64]));
    let full = mbarriers(1, 1);
    barrier();
    if thread_idx.x == 0 {
        full.at(0).arrive_expect(256);
        tma_load(&mut line, &x.tile([64], [block_idx.x]), full.at(0));
    }
    full.at(0).wait(0);
    let t = thread_idx.x;
    let value = line[[63 - t]];
    let more = value + 1.0;
    y[[block_idx.x * 64 + t]] = more;
}
const LOAD: u32 = FIRST + 7;
const WAIT: u32 = FIRST + 9;
const MORE: u32 = FIRST + 12;
const STORE: u32 = FIRST + 13;

struct Client {
    input: BufReader<TcpStream>,
    output: TcpStream,
    sent: i64,
    events: Vec<Json>,
}

impl Client {
    /// A client, and the launch that it debugs on a thread of its own.
    fn start() -> (Client, JoinHandle<Vec<f32>>) {
        // A port that was free a moment ago.
        let free =
            TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
        let launch = std::thread::spawn(move || {
            let attached = attach(Adapter::listen(free).expect("a client"));
            let device = Device::simulator();
            let numbers: Vec<f32> = (0..128u16).map(f32::from).collect();
            let x = device.upload(&numbers, [128]).expect("an upload");
            let mut y = device.zeros::<f32, 1>([128]).expect("a tensor");
            staged::launch(&device.stream(), &x, &mut y).expect("nothing is found");
            drop(attached);
            y.download().expect("a download")
        });
        let mut waits = 0;
        let output = loop {
            match TcpStream::connect(free) {
                Ok(output) => break output,
                Err(error) if waits == 500 => panic!("{error}"),
                Err(_) => std::thread::sleep(std::time::Duration::from_millis(10)),
            }
            waits += 1;
        };
        let input = BufReader::new(output.try_clone().expect("a second handle"));
        (Client { input, output, sent: 0, events: Vec::new() }, launch)
    }

    fn message(&mut self) -> Json {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.input.read_line(&mut line).expect("a line") > 0, "the server is gone");
            match line.trim().strip_prefix("Content-Length: ") {
                Some(number) => length = number.parse().expect("a number"),
                None => break,
            }
        }
        let mut text = vec![0; length];
        self.input.read_exact(&mut text).expect("a message");
        serde_json::from_slice(&text).expect("JSON")
    }

    /// The response to a request.
    fn ask(&mut self, command: &str, arguments: Json) -> Json {
        self.sent += 1;
        let text = json!({"seq": self.sent, "type": "request", "command": command, "arguments": arguments})
            .to_string();
        write!(self.output, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("a request");
        loop {
            let message = self.message();
            if message["type"] == "response" {
                assert_eq!(
                    (&message["request_seq"], &message["command"]),
                    (&json!(self.sent), &json!(command))
                );
                return message;
            }
            self.events.push(message);
        }
    }

    /// The body of a response.
    fn get(&mut self, command: &str, arguments: Json) -> Json {
        let response = self.ask(command, arguments);
        assert_eq!(response["success"], true, "{response}");
        response["body"].clone()
    }

    /// The next event of this name.
    fn event(&mut self, name: &str) -> Json {
        loop {
            let known = self.events.iter().position(|event| event["event"] == name);
            if let Some(at) = known {
                return self.events.remove(at)["body"].clone();
            }
            let message = self.message();
            self.events.push(message);
        }
    }

    /// A move, and the reason for which it stops.
    fn go(&mut self, command: &str, thread: i64) -> (Json, i64) {
        self.get(command, json!({"threadId": thread}));
        let stopped = self.event("stopped");
        (stopped["reason"].clone(), stopped["threadId"].as_i64().expect("a thread"))
    }

    fn line(&mut self, thread: i64) -> u32 {
        let frames = self.get("stackTrace", json!({"threadId": thread}));
        frames["stackFrames"][0]["line"].as_u64().expect("a line") as u32
    }

    /// The values in a scope of a thread, by its name's beginning.
    fn scope(&mut self, thread: i64, name: &str) -> Vec<(String, String, u64)> {
        let scopes = self.get("scopes", json!({"frameId": thread}));
        let all = scopes["scopes"].as_array().expect("scopes");
        let scope = all.iter().find(|scope| scope["name"].as_str().is_some_and(|own| own.starts_with(name)));
        let reference = scope.expect("the scope")["variablesReference"].clone();
        self.children(&reference)
    }

    fn children(&mut self, reference: &Json) -> Vec<(String, String, u64)> {
        let variables = self.get("variables", json!({"variablesReference": reference}));
        let text = |one: &Json, field: &str| one[field].as_str().expect("text").to_owned();
        let one = |one: &Json| {
            (text(one, "name"), text(one, "value"), one["variablesReference"].as_u64().expect("a number"))
        };
        variables["variables"].as_array().expect("variables").iter().map(one).collect()
    }

    fn value(&mut self, thread: i64, expression: &str) -> String {
        let body =
            self.get("evaluate", json!({"frameId": thread, "expression": expression, "context": "watch"}));
        body["result"].as_str().expect("text").to_owned()
    }

    fn set(&mut self, breakpoints: Json) -> Json {
        self.get("setBreakpoints", json!({"source": {"path": file!()}, "breakpoints": breakpoints}))["breakpoints"].clone()
    }
}

#[test]
fn an_editor_debugs_a_launch() {
    let (mut client, launch) = Client::start();
    let able = client.get("initialize", json!({"adapterID": "layout"}));
    assert_eq!(
        (&able["supportsStepBack"], &able["supportsConditionalBreakpoints"]),
        (&json!(true), &json!(true))
    );
    client.event("initialized");
    client.get("attach", json!({}));
    let known = client.set(json!([
        {"line": MORE, "condition": "t == 40 && block_idx.x == 1"},
        {"line": 1},
        {"line": MORE, "condition": "t =="},
    ]));
    assert_eq!([&known[0]["verified"], &known[1]["verified"], &known[2]["verified"]], [true, false, false]);
    assert!(
        known[2]["message"].as_str().is_some_and(|words| words.contains("a value is missing")),
        "{known}"
    );
    client.get("setExceptionBreakpoints", json!({"filters": ["findings"]}));
    client.get("configurationDone", json!({}));
    assert_eq!(client.event("stopped")["reason"], "entry");
    let threads = client.get("threads", json!({}));
    assert_eq!(threads["threads"].as_array().map(Vec::len), Some(2));

    // A breakpoint is hit; the lane's variables, and the warp's.
    let (reason, thread) = client.go("continue", 1);
    assert_eq!((reason, thread, client.line(2)), (json!("breakpoint"), 2, MORE));
    let lane = client.scope(2, "Lane 8");
    let named = |all: &[(String, String, u64)], name: &str| {
        all.iter().find(|(own, ..)| own == name).map(|(_, value, _)| value.clone())
    };
    let value = 64 + 63 - 40;
    assert_eq!((named(&lane, "t"), named(&lane, "value")), (Some("40".into()), Some(value.to_string())));
    assert_eq!(named(&lane, "more"), None, "`more` is not in scope yet");
    let row = named(&client.scope(2, "Warp"), "value").expect("a row");
    let wanted: Vec<String> = (32..64).map(|t| (64 + 63 - t).to_string()).collect();
    assert_eq!(row, wanted.join(" "));

    // A step forward, and back: the earlier state.
    assert_eq!(client.go("next", 2), (json!("step"), 2));
    assert_eq!((client.line(2), client.value(2, "more")), (STORE, (value + 1).to_string()));
    assert_eq!(client.go("stepBack", 2), (json!("breakpoint"), 2));
    assert_eq!(client.line(2), MORE);
    assert_eq!(client.value(2, "value * 2 + t"), (value * 2 + 40).to_string());
    assert_eq!(client.value(2, "lane 3"), "lane 3 of warp 1");
    assert_eq!(client.value(2, "t"), "35");

    // A tile of shared memory, and who wrote it.
    let tensors = client.scope(2, "Tensors");
    let (_, shape, reference) = tensors.iter().find(|(name, ..)| name == "line").expect("the tile").clone();
    assert_eq!(shape, "f32 (64:1)");
    let elements = client.children(&json!(reference));
    assert_eq!(elements.len(), 8, "a window");
    assert!(elements[5].1.starts_with(&format!("69 (a copy, line {LOAD}, step ")), "{elements:?}");
    assert!(client.value(2, "line[[63 - t]]").starts_with("92 (a copy"), "an index is an expression");
    assert!(client.value(2, "y[[1]]").starts_with(&format!("63 (warp 0 lane 1, line {STORE}, step ")));

    // The mbarrier, in front of the wait and behind it.
    let barriers = client.scope(2, "Mbarriers");
    assert!(barriers[0].1.starts_with("phase 1, pending 1 of 1 arrivals, 0 bytes"), "{barriers:?}");
    client.set(json!([{"line": WAIT}]));
    let (reason, thread) = client.go("reverseContinue", 2);
    assert_eq!((reason, client.line(thread)), (json!("breakpoint"), WAIT));
    let barriers = client.scope(thread, "Mbarriers");
    assert!(barriers[0].1.starts_with("phase 0, pending 0 of 1 arrivals, 256 bytes"), "{barriers:?}");
    let copies = client.scope(thread, "Copies");
    assert_eq!(copies[0].1, "a tensor load of 256 bytes by warp 0 lane 0");

    // What is wrong is refused in words, and changes nothing.
    for (command, arguments) in [
        ("stackTrace", json!({"threadId": 99})),
        ("variables", json!({"variablesReference": 1999})),
        ("variables", json!({"variablesReference": "x"})),
        ("evaluate", json!({"expression": "nothing"})),
        ("evaluate", json!({"expression": "nothing[[0]]"})),
        ("evaluate", json!({"expression": "line[["})),
        ("flyAway", json!({})),
    ] {
        let response = client.ask(command, arguments);
        assert!(response["success"] == false && response["message"].is_string(), "{response}");
    }

    // To the end, and on.
    client.set(json!([]));
    assert_eq!(client.go("continue", 1).0, "pause");
    client.get("continue", json!({"threadId": 1}));
    client.event("terminated");
    let results = launch.join().expect("the launch");
    for (number, value) in results.iter().enumerate() {
        assert_eq!(*value, (number / 64 * 64 + 63 - number % 64 + 1) as f32);
    }
}

#[test]
fn a_client_that_leaves_lets_the_launch_go_on() {
    for message in ["", "Content-Length: 5\r\n\r\n{}{}}", "Content-Length: 999\r\n\r\n{}"] {
        let (mut client, launch) = Client::start();
        client.output.write_all(message.as_bytes()).expect("a message");
        drop(client);
        assert_eq!(launch.join().expect("the launch")[0], 64.0);
    }
    let (mut client, launch) = Client::start();
    client.get("initialize", json!({}));
    client.get("disconnect", json!({}));
    assert_eq!(launch.join().expect("the launch")[127], 65.0);
}
