//! The debugger for editors: a server of the Debug Adapter Protocol.
//!
//! A warp is a thread of the protocol, with one frame; its scopes are the chosen lane, the warp's rows, tensors, mbarriers, copies
//! and findings. Each launch stops at its start; a `continue` at the end of one leads to the next.
//!
//! Law: each request has one response, with its number, in order; a request that fails changes nothing and says why.

use crate::condition::Condition;
use crate::draw;
use crate::engine::{Breakpoint, Engine, Focus, Move, Stop};
use crate::terminal::words;
use crate::wire;
use layout_cuda::debug::{Debugger, Launch, Session, Status, Tensor};
use serde_json::{Value as Json, json};
use std::fmt;
use std::io::{BufRead, BufReader, Error, Write};
use std::net::{TcpListener, ToSocketAddrs};

/// A server of the Debug Adapter Protocol for one client.
pub struct Adapter {
    input: Box<dyn BufRead>,
    output: Box<dyn Write>,
    sent: i64,
    configured: bool,
    /// Whether the client is gone: the launches run on.
    gone: bool,
    breakpoints: Vec<Breakpoint>,
    /// Whether `continue` stops at findings.
    at_findings: bool,
    only_findings: bool,
}

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adapter").field("configured", &self.configured).finish_non_exhaustive()
    }
}

impl Adapter {
    /// On any stream.
    #[must_use]
    pub fn new(input: impl BufRead + 'static, output: impl Write + 'static) -> Adapter {
        Adapter {
            input: Box::new(input),
            output: Box::new(output),
            sent: 0,
            configured: false,
            gone: false,
            breakpoints: Vec::new(),
            at_findings: true,
            only_findings: false,
        }
    }

    /// Passes over launches in which nothing was found.
    #[must_use]
    pub fn only_findings(self) -> Adapter {
        // A part is not moved out of a type that has an end of its own.
        let mut own = self;
        own.only_findings = true;
        own
    }

    /// On the first connection to an address: `Adapter::listen("127.0.0.1:4711")`, and the editor's `debugServer` is 4711.
    ///
    /// # Errors
    /// Those of the network.
    pub fn listen(address: impl ToSocketAddrs) -> Result<Adapter, Error> {
        let (stream, _) = TcpListener::bind(address)?.accept()?;
        Ok(Adapter::new(BufReader::new(stream.try_clone()?), stream))
    }

    fn send(&mut self, mut message: Json) {
        self.sent += 1;
        message["seq"] = self.sent.into();
        // A client that is gone misses nothing.
        self.gone |= wire::write(&mut *self.output, &message).is_err();
    }

    fn event(&mut self, event: &str, body: Json) {
        self.send(json!({"type": "event", "event": event, "body": body}));
    }

    fn stopped(&mut self, engine: &Engine<'_, '_>, reason: &str, text: &str) {
        let thread = engine.focus().warp + 1;
        let body = json!({"reason": reason, "threadId": thread, "allThreadsStopped": true, "description": text, "text": text});
        self.event("stopped", body);
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        if !self.gone {
            self.event("terminated", json!({}));
        }
    }
}

impl Debugger for Adapter {
    fn launched(&mut self, launch: &Launch<'_>, session: &mut Session<'_>) {
        if self.gone || self.only_findings && session.findings().is_empty() {
            return;
        }
        let mut engine = Engine::new(session);
        engine.set_breakpoints(self.breakpoints.clone());
        if self.configured {
            self.stopped(&engine, "entry", launch.kernel);
        }
        let mut served = Served { engine, launch: *launch, ends: false };
        while !self.gone && !served.ends {
            let Ok(Some(request)) = wire::read(&mut *self.input) else {
                self.gone = true;
                return;
            };
            let command = request["command"].as_str().unwrap_or_default().to_owned();
            let arguments = &request["arguments"];
            let answer = match self.setting(&command, arguments, &mut served) {
                Some(answer) => Ok(answer),
                None => served.answer(&command, arguments),
            };
            let mut response = json!({"type": "response", "request_seq": request["seq"], "command": command});
            response["success"] = answer.is_ok().into();
            match answer {
                Ok(body) => response["body"] = body,
                Err(words) => response["message"] = words.into(),
            }
            let ok = response["success"] == true;
            self.send(response);
            if ok {
                self.after(&command, arguments, &mut served);
            }
        }
    }
}

impl Adapter {
    /// The answer to a request that is about the connection.
    fn setting(&mut self, command: &str, arguments: &Json, served: &mut Served<'_, '_, '_>) -> Option<Json> {
        Some(match command {
            "initialize" => json!({
                "supportsConfigurationDoneRequest": true,
                "supportsConditionalBreakpoints": true,
                "supportsEvaluateForHovers": true,
                "supportsStepBack": true,
                "supportsSteppingGranularity": true,
                "exceptionBreakpointFilters": [{"filter": "findings", "label": "Findings", "default": true}],
            }),
            "attach" | "launch" | "configurationDone" | "disconnect" | "terminate" | "pause" => json!({}),
            "setExceptionBreakpoints" => {
                let filters = arguments["filters"].as_array();
                self.at_findings = filters.is_some_and(|all| all.iter().any(|filter| filter == "findings"));
                json!({})
            }
            "setBreakpoints" => {
                let wanted = arguments["breakpoints"].as_array().cloned().unwrap_or_default();
                let (mut all, mut errors) = (Vec::new(), Vec::new());
                for one in &wanted {
                    let line = one["line"].as_u64().and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
                    let condition = one["condition"].as_str().filter(|text| !text.trim().is_empty());
                    let condition = condition.map(str::parse::<Condition>).transpose();
                    errors.push(condition.as_ref().err().map(ToString::to_string));
                    // One whose condition is wrong stops nowhere.
                    let line = if condition.is_err() { 0 } else { line };
                    all.push(Breakpoint { line, condition: condition.unwrap_or(None) });
                }
                self.breakpoints.clone_from(&all);
                let known = served.engine.set_breakpoints(all);
                let answers = wanted.iter().zip(known).zip(errors).map(|((one, known), error)| {
                    let words = error.unwrap_or_else(|| "no statement begins at this line".into());
                    match known {
                        true => json!({"verified": true, "line": one["line"]}),
                        false => json!({"verified": false, "line": one["line"], "message": words}),
                    }
                });
                json!({"breakpoints": answers.collect::<Vec<_>>()})
            }
            _ => return None,
        })
    }

    /// What follows a response: events.
    fn after(&mut self, command: &str, arguments: &Json, served: &mut Served<'_, '_, '_>) {
        let (to, back) = match command {
            "initialize" => return self.event("initialized", json!({})),
            "configurationDone" => {
                self.configured = true;
                return self.stopped(&served.engine, "entry", served.launch.kernel);
            }
            "disconnect" | "terminate" => {
                self.gone = true;
                return;
            }
            "continue" => (Move::Breakpoint, false),
            "reverseContinue" => (Move::Breakpoint, true),
            "next" => (Move::Line, false),
            "stepIn" => (Move::Statement, false),
            "stepOut" => (Move::Wait, false),
            "stepBack" if arguments["granularity"] == "instruction" => (Move::Statement, true),
            "stepBack" => (Move::Line, true),
            _ => return,
        };
        if command == "continue" && served.engine.moment().warp().is_none() {
            served.ends = true;
            return;
        }
        let stop = match (to, self.at_findings) {
            (Move::Breakpoint, true) => served.either(back),
            _ => served.engine.go(to, back),
        };
        let reason = match &stop {
            Stop::Step => "step",
            Stop::Breakpoint(_) => "breakpoint",
            Stop::Finding(_) => "exception",
            Stop::Start => "entry",
            Stop::End => "pause",
        };
        self.stopped(&served.engine, reason, words(&stop).trim());
    }
}

/// A launch that is served.
struct Served<'s, 'a, 'l> {
    engine: Engine<'s, 'a>,
    launch: Launch<'l>,
    ends: bool,
}

/// The scopes of a frame, by number.
const SCOPES: [&str; 6] = ["Lane", "Warp", "Tensors", "Mbarriers", "Copies", "Findings"];
/// References of a warp's scopes and tensors.
const EACH: u64 = 1000;
/// The first reference of its tensors.
const FIRST_TENSOR: u64 = 100;

impl Served<'_, '_, '_> {
    /// To the nearer of the next breakpoint and the next finding.
    fn either(&mut self, back: bool) -> Stop {
        let here = self.engine.session().step();
        let found = self.engine.go(Move::Finding, back);
        let finding = self.engine.session().step();
        self.engine.session().go(here);
        let stop = self.engine.go(Move::Breakpoint, back);
        let breakpoint = self.engine.session().step();
        let nearer = if back { breakpoint >= finding } else { breakpoint <= finding };
        if matches!(stop, Stop::Breakpoint(_)) && nearer || !matches!(found, Stop::Finding(_)) {
            return stop;
        }
        self.engine.session().go(here);
        self.engine.go(Move::Finding, back)
    }

    fn answer(&mut self, command: &str, arguments: &Json) -> Result<Json, String> {
        let number = |name: &str| arguments[name].as_u64().unwrap_or(0);
        match command {
            "threads" => Ok(json!({"threads": self.threads()})),
            "stackTrace" => {
                let warp = self.warp(number("threadId"))?;
                let file = self.launch.file;
                let name =
                    std::path::Path::new(file).file_name().map(|name| name.to_string_lossy().into_owned());
                let frame = json!({"id": warp + 1, "name": self.launch.kernel, "line": self.engine.moment().line(warp), "column": 1,
                    "source": {"name": name, "path": file}});
                Ok(json!({"stackFrames": [frame], "totalFrames": 1}))
            }
            "scopes" => {
                let warp = self.warp(number("frameId"))?;
                let lane = self.engine.focus().lane;
                let scope = |(number, name): (usize, &&str)| {
                    let name = if number == 0 { format!("Lane {lane}") } else { (*name).to_owned() };
                    json!({"name": name, "variablesReference": (u64::from(warp) + 1) * EACH + number as u64, "expensive": number > 1})
                };
                Ok(json!({"scopes": SCOPES.iter().enumerate().map(scope).collect::<Vec<_>>()}))
            }
            "variables" => {
                let reference = number("variablesReference");
                let warp = self.warp(reference / EACH)?;
                Ok(json!({"variables": self.variables(warp, reference % EACH)?}))
            }
            "evaluate" => {
                let frame = arguments["frameId"].as_u64().unwrap_or(u64::from(self.engine.focus().warp) + 1);
                let warp = self.warp(frame)?;
                let result =
                    self.evaluate(warp, arguments["expression"].as_str().unwrap_or_default().trim())?;
                Ok(json!({"result": result, "variablesReference": 0}))
            }
            "continue" => Ok(json!({"allThreadsContinued": true})),
            "next" | "stepIn" | "stepOut" | "stepBack" => {
                let warp = self.warp(number("threadId"))?;
                if warp != self.engine.focus().warp {
                    self.engine.choose(Focus { warp, lane: 0 });
                }
                Ok(json!({}))
            }
            "reverseContinue" => Ok(json!({})),
            other => Err(format!("there is no request `{other}` here")),
        }
    }

    /// The warp of a thread's or a frame's number.
    fn warp(&self, number: u64) -> Result<u32, String> {
        let warps = self.engine.moment().warps().len() as u64;
        match number.checked_sub(1).filter(|warp| *warp < warps) {
            Some(warp) => Ok(warp as u32),
            None => Err(format!("there is no thread {number}: the cluster's warps are 1 to {warps}")),
        }
    }

    fn threads(&self) -> Vec<Json> {
        let name = |warp: layout_cuda::debug::WarpState| {
            let status = match warp.status {
                Status::Waiting(what) => format!(", waits {what}"),
                Status::Ended => ", has ended".to_owned(),
                _ => String::new(),
            };
            json!({"id": warp.number + 1, "name": format!("block {:?} warp {}{status}", warp.block_idx, warp.inside)})
        };
        self.engine.moment().warps().into_iter().map(name).collect()
    }

    fn variables(&mut self, warp: u32, which: u64) -> Result<Vec<Json>, String> {
        let lane = self.engine.focus().lane;
        let plain =
            |name: String, value: String| json!({"name": name, "value": value, "variablesReference": 0});
        let moment = self.engine.moment();
        Ok(match which {
            0 => moment
                .variables(warp, lane)
                .into_iter()
                .map(|(name, value)| plain(name, value.to_string()))
                .collect(),
            1 => {
                let row = |name: String| {
                    let row = moment.row(warp, &name)?;
                    Some(plain(name, row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")))
                };
                moment.names(warp).into_iter().filter_map(row).collect()
            }
            2 => {
                let tensor = |(number, tensor): (usize, Tensor)| {
                    let shape: Vec<String> =
                        tensor.modes.iter().map(|(extent, stride)| format!("{extent}:{stride}")).collect();
                    let reference = (u64::from(warp) + 1) * EACH + FIRST_TENSOR + number as u64;
                    json!({"name": tensor.name, "value": format!("{} ({})", tensor.elem, shape.join(", ")), "variablesReference": reference})
                };
                moment.tensors(warp, lane).into_iter().enumerate().map(tensor).collect()
            }
            3 => {
                let barrier = |one: layout_cuda::debug::Barrier| {
                    let value = match one.arrivals {
                        0 => "not initialised".to_owned(),
                        all => format!(
                            "phase {}, pending {} of {all} arrivals, {} bytes, waiting warps {:?}",
                            one.phase, one.pending, one.bytes, one.waiting
                        ),
                    };
                    plain(format!("{}[{}] of rank {}", one.name, one.index, one.rank), value)
                };
                moment.barriers().into_iter().map(barrier).collect()
            }
            4 => {
                let copy = |one: layout_cuda::debug::Copying| {
                    let (warp, lane) = one.thread;
                    plain(
                        format!("line {}", one.line),
                        format!("{} of {} bytes by warp {warp} lane {lane}", one.what, one.bytes),
                    )
                };
                let own = moment.warps().into_iter().flat_map(|warp| {
                    warp.copies.into_iter().map(move |(line, bytes)| (line, bytes, warp.number))
                });
                let own = own.map(|(line, bytes, warp)| {
                    plain(format!("line {line}"), format!("cp.async of {bytes} bytes by warp {warp}"))
                });
                own.chain(moment.copies().into_iter().map(copy)).collect()
            }
            5 => {
                let all = self.engine.session().findings().iter();
                all.map(|(step, finding)| plain(format!("step {step}"), finding.to_string())).collect()
            }
            other => {
                let tensors = moment.tensors(warp, lane);
                let tensor = other.checked_sub(FIRST_TENSOR).and_then(|number| tensors.get(number as usize));
                let tensor = tensor.cloned().ok_or_else(|| "this tensor is no longer in scope".to_owned())?;
                let cells = draw::window(&mut self.engine, warp, &tensor, &[], Some(true));
                cells.into_iter().map(|cell| plain(cell.name(), cell.text())).collect()
            }
        })
    }

    /// A name's value, an element with its writer, a condition, or `lane N`, which chooses one.
    fn evaluate(&mut self, warp: u32, text: &str) -> Result<String, String> {
        if let Some(lane) = text.strip_prefix("lane ").and_then(|lane| lane.trim().parse().ok()) {
            return match self.engine.choose(Focus { warp, lane }) {
                true => Ok(format!("lane {lane} of warp {warp}")),
                false => Err(format!("warp {warp} has no lane {lane}")),
            };
        }
        let lane = self.engine.focus().lane;
        if let Some((name, rest)) = text.split_once("[[") {
            let all = self.engine.moment().tensors(warp, lane);
            let tensor = all.into_iter().find(|tensor| tensor.name == name.trim());
            let tensor = tensor.ok_or_else(|| format!("no tensor `{name}` is in scope"))?;
            let moment = self.engine.moment();
            let mut at = Vec::new();
            for coordinate in rest.trim_end_matches("]]").split(',') {
                let condition: Condition = coordinate.parse().map_err(|error| format!("{error}"))?;
                let of = |name: &str| moment.row(warp, name)?.get(lane as usize).map(|value| value.number());
                at.push(condition.evaluate(&of).ok_or_else(|| format!("`{coordinate}` has no value here"))?
                    as i64);
            }
            let cell = draw::cell(&mut self.engine, warp, &tensor, &at);
            return Ok(cell.text());
        }
        let moment = self.engine.moment();
        if let Some(value) = moment.row(warp, text).as_ref().and_then(|row| row.get(lane as usize)) {
            return Ok(value.to_string());
        }
        let condition: Condition = text.parse().map_err(|error| format!("{error}"))?;
        let of = |name: &str| moment.row(warp, name)?.get(lane as usize).map(|value| value.number());
        let value = condition.evaluate(&of);
        value.map(|value| value.to_string()).ok_or_else(|| format!("a name in `{text}` has no value here"))
    }
}
