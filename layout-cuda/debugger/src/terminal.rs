//! The debugger on a terminal: a line in is a command, text comes out.
//!
//! Law: every command has an answer, and no input stops the program; the end of the input detaches.

use crate::condition::Condition;
use crate::draw;
use crate::engine::{Breakpoint, Engine, Focus, Move, Stop, lanes_where};
use layout_cuda::debug::{Debugger, Launch, Session, Status};
use std::fmt::{self, Write as _};
use std::io::{BufRead, BufReader, Stdin, Stdout, Write};

const HELP: &str = "\
  s, next, wait, finding, c     step a statement of any warp, a line of this warp, until it waits, to the next finding, to a breakpoint
  bs, bnext, bwait, bfinding, bc     the same backward
  go N                          to step N
  b LINE [if CONDITION], d LINE set a breakpoint, delete it; `b 12 if i == 3 && lane < 4`
  w WARP [LANE]                 choose a warp of the cluster, and a lane
  p [NAME or CONDITION]         the variables of the lane; one; the value of an expression
  row NAME                      a variable in each lane of the warp
  t [NAME [COORDINATES]]        the tensors; a window of one
  who NAME [COORDINATES]        the same, with who wrote each element last; `readers` with who read it last
  warps, barriers, copies       who waits for whom; mbarriers; asynchronous copies in flight
  findings                      what was found, with its step
  list                          the text around the line
  q                             end: the program goes on
";

/// A front end that reads commands and writes their answers.
pub struct Terminal<R, W> {
    input: R,
    output: W,
    only_findings: bool,
}

impl<R, W> fmt::Debug for Terminal<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal").field("only_findings", &self.only_findings).finish_non_exhaustive()
    }
}

impl Terminal<BufReader<Stdin>, Stdout> {
    /// On standard input and output.
    #[must_use]
    pub fn stdio() -> Terminal<BufReader<Stdin>, Stdout> {
        Terminal::new(BufReader::new(std::io::stdin()), std::io::stdout())
    }
}

impl<R: BufRead, W: Write> Terminal<R, W> {
    /// On any input and output.
    #[must_use]
    pub fn new(input: R, output: W) -> Terminal<R, W> {
        Terminal { input, output, only_findings: false }
    }

    /// Passes over launches in which nothing was found.
    #[must_use]
    pub fn only_findings(self) -> Terminal<R, W> {
        Terminal { only_findings: true, ..self }
    }
}

impl<R: BufRead, W: Write> Debugger for Terminal<R, W> {
    fn launched(&mut self, launch: &Launch<'_>, session: &mut Session<'_>) {
        if self.only_findings && session.findings().is_empty() {
            return;
        }
        let source = std::fs::read_to_string(launch.file).unwrap_or_default();
        let (steps, found) = (session.steps(), session.findings().len());
        let _ = writeln!(
            self.output,
            "kernel `{}` in {}: {steps} steps, {found} findings; `help` lists commands",
            launch.kernel, launch.file
        );
        let mut commands = Commands { engine: Engine::new(session), source };
        loop {
            // An output that is closed ends the session, as an input does.
            if write!(self.output, "(layout) ").and_then(|()| self.output.flush()).is_err() {
                return;
            }
            let mut line = String::new();
            if !matches!(self.input.read_line(&mut line), Ok(1..)) {
                return;
            }
            match commands.answer(line.trim()) {
                Some(answer) => {
                    if self.output.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
                None => return,
            }
        }
    }
}

struct Commands<'s, 'a> {
    engine: Engine<'s, 'a>,
    source: String,
}

impl Commands<'_, '_> {
    /// The answer to a command; `None` where it ends the session.
    fn answer(&mut self, line: &str) -> Option<String> {
        let (word, rest) = line.split_once(' ').map_or((line, ""), |(word, rest)| (word, rest.trim()));
        let (back, name) = match word {
            "bs" | "bnext" | "bwait" | "bfinding" | "bc" => (true, &word[1..]),
            other => (false, other),
        };
        let to = match name {
            "s" | "step" => Some(Move::Statement),
            "next" | "n" => Some(Move::Line),
            "wait" => Some(Move::Wait),
            "finding" => Some(Move::Finding),
            "c" | "continue" => Some(Move::Breakpoint),
            _ => None,
        };
        if let Some(to) = to {
            let stop = self.engine.go(to, back);
            return Some(format!("{}{}", words(&stop), self.place()));
        }
        Some(match word {
            "q" | "quit" => return None,
            "" => String::new(),
            "help" | "h" => HELP.to_owned(),
            "go" => match rest.parse() {
                Ok(step) => {
                    self.engine.session().go(step);
                    self.place()
                }
                Err(_) => "`go N`: N is a step\n".to_owned(),
            },
            "b" | "d" => self.breakpoint(word == "d", rest),
            "w" => self.choose(rest),
            "p" => self.print(rest),
            "row" => self.row(rest),
            "t" => self.tensors(None, rest),
            "who" => self.tensors(Some(true), rest),
            "readers" => self.tensors(Some(false), rest),
            "warps" => self.warps(),
            "barriers" => self.barriers(),
            "copies" => self.copies(),
            "findings" => self.findings(),
            "list" | "l" => self.list(),
            other => format!("there is no command `{other}`: `help` lists them\n"),
        })
    }

    /// The step, the warp and the line.
    fn place(&mut self) -> String {
        let Focus { warp, lane } = self.engine.focus();
        let (step, steps) = (self.engine.session().step(), self.engine.session().steps());
        let moment = self.engine.moment();
        let line = moment.line(warp);
        let text = self.source.lines().nth((line as usize).wrapping_sub(1)).unwrap_or_default().trim();
        format!(
            "step {step} of {steps}, block {}, warp {warp}, lane {lane}, line {line}\n  | {text}\n",
            moment.block(warp)
        )
    }

    fn breakpoint(&mut self, delete: bool, rest: &str) -> String {
        let (line, condition) =
            rest.split_once(" if ").map_or((rest, None), |(line, text)| (line, Some(text)));
        let Ok(line) = line.trim().parse::<u32>() else { return "`b LINE [if CONDITION]`\n".to_owned() };
        let condition = match condition.map(str::parse::<Condition>).transpose() {
            Ok(condition) => condition,
            Err(error) => return format!("{error}\n"),
        };
        let mut all = self.engine.breakpoints().to_vec();
        all.retain(|one| one.line != line);
        if !delete {
            all.push(Breakpoint { line, condition });
        }
        let known = self.engine.set_breakpoints(all);
        match known.last() {
            Some(false) if !delete => format!("no statement begins at line {line}\n"),
            _ => String::new(),
        }
    }

    fn choose(&mut self, rest: &str) -> String {
        let mut numbers = rest.split_whitespace().map(str::parse::<u32>);
        let (Some(Ok(warp)), lane) = (numbers.next(), numbers.next().unwrap_or(Ok(0)).unwrap_or(u32::MAX))
        else {
            return "`w WARP [LANE]`\n".to_owned();
        };
        match self.engine.choose(Focus { warp, lane }) {
            true => self.place(),
            false => format!(
                "there is no thread in lane {lane} of warp {warp} of {}\n",
                self.engine.moment().warps().len()
            ),
        }
    }

    fn print(&self, rest: &str) -> String {
        let (Focus { warp, lane }, moment) = (self.engine.focus(), self.engine.moment());
        if rest.is_empty() {
            let variables = moment.variables(warp, lane).into_iter();
            return variables.map(|(name, value)| format!("  {name} = {value}\n")).collect();
        }
        if let Some(row) = moment.row(warp, rest) {
            return row.get(lane as usize).map_or_else(String::new, |value| format!("  {rest} = {value}\n"));
        }
        match rest.parse::<Condition>() {
            Ok(condition) => {
                let of = |name: &str| moment.row(warp, name)?.get(lane as usize).map(|value| value.number());
                match condition.evaluate(&of) {
                    Some(value) => {
                        let lanes = lanes_where(&condition, &moment, warp);
                        format!("  {rest} = {value}; not 0 in the active lanes {lanes:?}\n")
                    }
                    None => format!("a name in `{rest}` has no value here: `p` lists those that have\n"),
                }
            }
            Err(error) => format!("{error}\n"),
        }
    }

    fn row(&self, name: &str) -> String {
        let (warp, moment) = (self.engine.focus().warp, self.engine.moment());
        let Some(row) = moment.row(warp, name) else { return format!("`{name}` has no value here\n") };
        let active = moment.active(warp);
        let mut out = String::new();
        for (lane, value) in row.iter().enumerate() {
            let mark = if active >> lane & 1 != 0 { ' ' } else { '-' };
            let end = if lane % 8 == 7 { '\n' } else { ' ' };
            let _ = write!(out, "{lane:>4}{mark}{:<12}{end}", value.to_string());
        }
        out
    }

    fn tensors(&mut self, writes: Option<bool>, rest: &str) -> String {
        let Focus { warp, lane } = self.engine.focus();
        let all = self.engine.moment().tensors(warp, lane);
        let mut words = rest.split([' ', ',', '[', ']']).filter(|word| !word.is_empty());
        let Some(name) = words.next() else {
            let line = |tensor: &layout_cuda::debug::Tensor| {
                let shape: Vec<String> =
                    tensor.modes.iter().map(|(extent, stride)| format!("{extent}:{stride}")).collect();
                format!("  {}: {} ({}) {:?}\n", tensor.name, tensor.elem, shape.join(", "), tensor.space)
            };
            return all.iter().map(line).collect();
        };
        let from: Vec<i64> = words.map_while(|word| word.parse().ok()).collect();
        match all.iter().find(|tensor| tensor.name == name) {
            Some(tensor) => draw::tensor(&mut self.engine, tensor, &from, writes),
            None => format!("no tensor `{name}` is in scope: `t` lists them\n"),
        }
    }

    fn warps(&self) -> String {
        let line = |warp: layout_cuda::debug::WarpState| {
            let status = match &warp.status {
                Status::Ready => "ready".to_owned(),
                Status::Waiting(what) => format!("waits {what}"),
                Status::Exhausted => "never leaves a loop".to_owned(),
                Status::Ended => "has ended".to_owned(),
                _ => String::new(),
            };
            let copies: u32 = warp.copies.iter().map(|(_, bytes)| bytes).sum();
            let copies =
                if copies > 0 { format!(", {copies} bytes of cp.async in flight") } else { String::new() };
            format!(
                "  warp {} (block {:?}), line {}, lanes {:08x}: {status}{copies}\n",
                warp.number, warp.block_idx, warp.line, warp.active
            )
        };
        self.engine.moment().warps().into_iter().map(line).collect()
    }

    fn barriers(&self) -> String {
        let line = |one: layout_cuda::debug::Barrier| match one.arrivals {
            0 => format!("  {}[{}] of rank {}: not initialised\n", one.name, one.index, one.rank),
            arrivals => format!(
                "  {}[{}] of rank {}: phase {}, {} of {arrivals} arrivals, {} bytes pending, warps {:?} wait\n",
                one.name,
                one.index,
                one.rank,
                one.phase,
                arrivals - one.pending.min(arrivals),
                one.bytes,
                one.waiting
            ),
        };
        self.engine.moment().barriers().into_iter().map(line).collect()
    }

    fn copies(&self) -> String {
        let line = |one: layout_cuda::debug::Copying| {
            let (warp, lane) = one.thread;
            let phase = one
                .barrier
                .map_or_else(String::new, |(at, phase)| format!(", for phase {phase} of mbarrier {at}"));
            format!(
                "  {} of {} bytes by warp {warp} lane {lane}, line {}{phase}\n",
                one.what, one.bytes, one.line
            )
        };
        self.engine.moment().copies().into_iter().map(line).collect()
    }

    fn findings(&mut self) -> String {
        let one = |(step, finding): &(u64, layout_cuda::Finding)| format!("step {step}: {finding}\n");
        self.engine.session().findings().iter().map(one).collect()
    }

    fn list(&self) -> String {
        let here = self.engine.moment().line(self.engine.focus().warp) as usize;
        let lines = self.source.lines().enumerate().skip(here.saturating_sub(6)).take(11);
        let mark = |number: usize| if number == here { '>' } else { ' ' };
        lines.map(|(number, text)| format!("{}{:>5}  {text}\n", mark(number + 1), number + 1)).collect()
    }
}

/// Why a move ended, in words.
pub(crate) fn words(stop: &Stop) -> String {
    match stop {
        Stop::Step => String::new(),
        Stop::Breakpoint(line) => format!("breakpoint at line {line}: "),
        Stop::Finding(finding) => format!("{finding}\n"),
        Stop::Start => "at the start: ".to_owned(),
        Stop::End => "at the end: ".to_owned(),
    }
}
