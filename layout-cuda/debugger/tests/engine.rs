//! The engine on kernels that are right: what a move leads to, and what is shown there.
//!
//! Law: the state in front of a step is the same however the debugger came there.

use layout_cuda::debug::{Debugger, Launch, PauseAt, Session, TensorSpace, attach};
use layout_cuda::{Device, LaunchConfig, Options, tiled_kernel};
use layout_debugger::{Breakpoint, Engine, Focus, Move, Stop, Terminal};
use std::cell::RefCell;
use std::rc::Rc;

/// The first line of the kernels below.
const FIRST: u32 = line!() + 2;

#[tiled_kernel(block = [64], grid = [2])]
fn turned(x: &LayoutTensor<f32, RowMajor<128>>, y: &mut LayoutTensor<f32, RowMajor<128>>) {
    let mut line = shared::<f32>(row_major([8, 8]));
    let t = thread_idx.x;
    let first = block_idx.x * 64;
    line[[t / 8, t % 8]] = x[[first + t]];
    barrier();
    let mut sum = 0.0;
    for round in 0..4 {
        sum += line[[t % 8, t / 8]] * round as f32;
    }
    y[[first + t]] = sum;
}
const STORE: u32 = FIRST + 5;
const BARRIER: u32 = FIRST + 6;
const SUM: u32 = FIRST + 9;
const RESULT: u32 = FIRST + 11;

/// A debugger that is a function.
struct Test<F>(F);
impl<F: FnMut(&mut Session<'_>)> Debugger for Test<F> {
    fn launched(&mut self, _: &Launch<'_>, session: &mut Session<'_>) {
        (self.0)(session);
    }
}

/// Runs `turned` in a debugger, and gives what it wrote.
fn debugged(test: impl FnMut(&mut Session<'_>) + 'static) -> Vec<f32> {
    let (device, ran) = (Device::simulator(), Rc::new(RefCell::new(false)));
    let numbers: Vec<f32> = (0..128u16).map(f32::from).collect();
    let x = device.upload(&numbers, [128]).expect("an upload");
    let mut y = device.zeros::<f32, 1>([128]).expect("a tensor");
    let (mut test, seen) = (test, ran.clone());
    let attached = attach(Test(move |session: &mut Session<'_>| {
        test(session);
        *seen.borrow_mut() = true;
    }));
    turned::launch(&device.stream(), &x, &mut y).expect("nothing is found");
    drop(attached);
    assert!(*ran.borrow(), "the debugger was not called");
    y.download().expect("a download")
}

/// What is shown at a step.
fn shown(session: &Session<'_>) -> String {
    let moment = session.moment();
    let rows = |warp: u32| {
        let names = moment.names(warp);
        names.into_iter().map(|name| format!("{name}: {:?}\n", moment.row(warp, &name))).collect::<String>()
    };
    format!("{:?} {:?} {:?}\n{}{}", moment.warp(), moment.warps(), moment.barriers(), rows(0), rows(1))
}

#[test]
fn the_results_are_those_of_the_launch() {
    let all = debugged(|session| session.go(session.steps() / 2));
    for (number, value) in all.iter().enumerate() {
        let (block, t) = (number / 64, number % 64);
        assert_eq!(*value, 6.0 * (block * 64 + t % 8 * 8 + t / 8) as f32, "element {number}");
    }
}

#[test]
fn a_step_is_the_same_from_everywhere() {
    debugged(|session| {
        let steps = session.steps();
        assert!(steps >= 40, "{steps}");
        let forward: Vec<String> = (0..=steps)
            .map(|step| {
                session.go(step);
                assert_eq!(session.step(), step);
                shown(session)
            })
            .collect();
        let mut at = 7;
        for number in 0..200 {
            at = (at * 31 + 11) % (steps + 1);
            session.go(at);
            assert!(shown(session) == forward[at as usize], "move {number}: step {at} is another");
        }
        for step in (0..steps).rev() {
            session.go(step);
            assert!(shown(session) == forward[step as usize], "back to {step} is another");
        }
        let distinct: std::collections::HashSet<&String> = forward.iter().collect();
        assert!(distinct.len() > forward.len() / 2, "the states tell the steps apart");
    });
}

#[test]
fn a_breakpoint_stops_where_its_condition_holds() {
    debugged(|session| {
        let mut engine = Engine::new(session);
        let condition = "round == 2 && t == 37 && block_idx.x == 1".parse().expect("a condition");
        let known = engine.set_breakpoints(vec![
            Breakpoint { line: SUM, condition: Some(condition) },
            Breakpoint { line: FIRST + 1000, condition: None },
        ]);
        assert_eq!(known, [true, false]);
        assert_eq!(engine.go(Move::Breakpoint, false), Stop::Breakpoint(SUM));
        assert_eq!(engine.focus(), Focus { warp: 1, lane: 5 });
        let value = |engine: &Engine<'_, '_>, name: &str| {
            let Focus { warp, lane } = engine.focus();
            engine.moment().row(warp, name).map(|row| row[lane as usize].number())
        };
        assert_eq!(value(&engine, "sum"), Some(f64::from(64 + 37 % 8 * 8 + 37 / 8)));
        let here = engine.session().step();
        assert_eq!(engine.go(Move::Breakpoint, false), Stop::End);
        assert_eq!(engine.go(Move::Breakpoint, true), Stop::Breakpoint(SUM));
        assert_eq!((engine.session().step(), engine.focus()), (here, Focus { warp: 1, lane: 5 }));
        assert_eq!(engine.go(Move::Breakpoint, true), Stop::Start);
        assert_eq!(engine.session().step(), 0);
    });
}

#[test]
fn steps_back_show_the_earlier_value() {
    debugged(|session| {
        let mut engine = Engine::new(session);
        engine.set_breakpoints(vec![Breakpoint { line: RESULT, condition: None }]);
        assert_eq!(engine.go(Move::Breakpoint, false), Stop::Breakpoint(RESULT));
        let sum = |engine: &Engine<'_, '_>| engine.moment().row(0, "sum").map(|row| row[9].number());
        let whole = 6.0 * 9.0;
        assert_eq!(sum(&engine), Some(whole));
        engine.set_breakpoints(Vec::new());
        assert_eq!(engine.go(Move::Line, true), Stop::Step);
        assert_eq!(engine.moment().line(0), SUM);
        assert_eq!(sum(&engine), Some(whole / 2.0));
        assert_eq!(engine.go(Move::Line, false), Stop::Step);
        assert_eq!(sum(&engine), Some(whole));
    });
}

#[test]
fn a_warp_runs_to_its_wait() {
    debugged(|session| {
        let mut engine = Engine::new(session);
        assert_eq!(engine.go(Move::Wait, false), Stop::Step);
        let warps = engine.moment().warps();
        assert_eq!((warps[0].line, engine.focus().warp), (BARRIER, 0));
        assert!(format!("{:?}", warps[0].status).contains("at a barrier of the block"), "{:?}", warps[0]);
        assert!(engine.moment().is_ready(1));
    });
}

#[test]
fn a_tile_shows_who_wrote_it() {
    debugged(|session| {
        let mut engine = Engine::new(session);
        engine.set_breakpoints(vec![Breakpoint { line: SUM, condition: None }]);
        engine.go(Move::Breakpoint, false);
        let tensors = engine.moment().tensors(0, 0);
        let line = tensors.iter().find(|tensor| tensor.name == "line").expect("the tile").clone();
        assert!(matches!(line.space, TensorSpace::Shared(_)) && line.modes == [(8, 8), (8, 1)], "{line:?}");
        let writers = engine.session().writers(&line, 0, 63);
        assert_eq!(writers.len(), 64);
        for (element, written) in writers {
            let thread = written.warp * 32 + written.lane.expect("a thread");
            assert_eq!((i64::from(thread), written.line), (element, STORE), "element {element}");
        }
        let value = engine.moment().element(&line, 0, &[3, 4]).expect("an element");
        assert_eq!(value.number(), 28.0);
        let y = tensors.iter().find(|tensor| tensor.name == "y").expect("an argument").clone();
        assert!(engine.session().writers(&y, 0, 127).is_empty(), "no one wrote `y` yet");
        engine.set_breakpoints(Vec::new());
        assert_eq!(engine.go(Move::Breakpoint, false), Stop::End);
        let writers = engine.session().writers(&y, 0, 127);
        assert_eq!(writers.len(), 128);
        assert!(writers.iter().all(|(element, written)| i64::from(written.warp * 32)
            + (written.block * 64) as i64
            + i64::from(written.lane.expect("a thread"))
            == *element
            && written.line == RESULT));
    });
}

#[test]
fn each_statement_pauses_once() {
    debugged(|session| {
        let steps = session.steps();
        session.go(0);
        let mut seen = vec![0];
        while session.forward(PauseAt::Every, &mut |_| true) {
            seen.push(session.step());
        }
        assert_eq!(seen, (0..steps).collect::<Vec<_>>());
    });
}

#[test]
fn schedules_are_numbers_of_runs() {
    let device = Device::simulator();
    let x = device.zeros::<f32, 1>([128]).expect("a tensor");
    for seed in 0..6 {
        let steps = Rc::new(RefCell::new(Vec::new()));
        for _ in 0..2 {
            let seen = steps.clone();
            let attached = attach(Test(move |session: &mut Session<'_>| {
                let mut order = Vec::new();
                session.go(0);
                order.extend(session.moment().warp());
                while session.forward(PauseAt::Every, &mut |_| true) {
                    order.extend(session.moment().warp());
                }
                seen.borrow_mut().push(order);
            }));
            let mut y = device.zeros::<f32, 1>([128]).expect("a tensor");
            let options = Options { seed, ..Options::default() };
            let report =
                turned::simulate_with(LaunchConfig::default(), &options, &x, &mut y).expect("a launch");
            assert!(report.clean(), "{report}");
            drop(attached);
        }
        let steps = steps.borrow();
        assert_eq!(steps[0], steps[1], "seed {seed}");
    }
}

/// Memory that a test reads after the terminal has it.
#[derive(Clone, Default)]
struct Output(Rc<RefCell<Vec<u8>>>);
impl std::io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_terminal_answers_each_command() {
    let output = Output::default();
    let commands = format!(
        "help\nb {SUM} if t == 40\nc\np\np t + 1\nrow t\nt\nt line\nwho line 3 4\nwarps\nbarriers\ncopies\nfindings\nlist\nreaders line\nbs\nbnext\nbwait\nbc\n\
         s\nnext\nwait\nfinding\nb x\nb {SUM} if (\nd {SUM}\nw 9\nw 1 3\ngo 5\ngo x\np nothing\nwho nothing\nwhat\n\nq\nnever\n"
    );
    let device = Device::simulator();
    let x = device.zeros::<f32, 1>([128]).expect("a tensor");
    let mut y = device.zeros::<f32, 1>([128]).expect("a tensor");
    let attached = attach(Terminal::new(std::io::Cursor::new(commands), output.clone()));
    turned::launch(&device.stream(), &x, &mut y).expect("nothing is found");
    drop(attached);
    let text = String::from_utf8(output.0.borrow().clone()).expect("text");
    for part in [
        format!("breakpoint at line {SUM}: "),
        "  t = 40\n".into(),
        "  t + 1 = 41; not 0".into(),
        format!("w0.28:{STORE}"),
        "line: f32 (8:8, 8:1), shared".into(),
        "there is no command `what`".into(),
        "there is no thread in lane 0 of warp 9 of 2".into(),
        "step 5 of ".into(),
        "no tensor `nothing`".into(),
        "`(`".into(),
    ] {
        assert!(text.contains(&part), "{part:?} is not in\n{text}");
    }
    assert!(!text.contains("never"));
}

/// Each block adds its part, and all read the sum behind a barrier of the grid; a flag is polled before.
#[tiled_kernel(cooperative = true, block = [32], grid = [4])]
fn together(flags: &mut LayoutTensor<u32, RowMajor<4>>, y: &mut LayoutTensor<u32, RowMajor<4>>) {
    let own = block_idx.x;
    if lane_id() == 0 {
        if own > 0 {
            while flags.load_acquire([own - 1]) == 0 {}
        }
        flags.store_release([own], own as u32 + 1);
    }
    grid_barrier();
    if lane_id() == 0 {
        y[[own]] = flags.load_relaxed([3 - own]);
    }
}

#[test]
fn blocks_that_wait_for_each_other_go_back_too() {
    let device = Device::simulator();
    for seed in 0..7 {
        let options = Options { seed, ..Options::default() };
        let ran = Rc::new(RefCell::new(0));
        let seen = ran.clone();
        let attached = attach(Test(move |session: &mut Session<'_>| {
            let steps = session.steps();
            let forward: Vec<String> = (0..=steps)
                .map(|step| {
                    session.go(step);
                    shown(session)
                })
                .collect();
            for step in (0..steps).rev() {
                session.go(step);
                assert!(shown(session) == forward[step as usize], "seed {seed}: back to {step} is another");
            }
            *seen.borrow_mut() = steps;
        }));
        let mut flags = device.zeros::<u32, 1>([4]).expect("a tensor");
        let mut y = device.zeros::<u32, 1>([4]).expect("a tensor");
        let debugged =
            together::simulate_with(LaunchConfig::default(), &options, &mut flags, &mut y).expect("a launch");
        drop(attached);
        assert_eq!(y.download().expect("a download"), [4, 3, 2, 1], "seed {seed}: {debugged}");
        let mut flags = device.zeros::<u32, 1>([4]).expect("a tensor");
        let plain =
            together::simulate_with(LaunchConfig::default(), &options, &mut flags, &mut y).expect("a launch");
        assert_eq!(plain, debugged, "seed {seed}");
        assert!(*ran.borrow() > 30, "seed {seed}: {}", ran.borrow());
    }
}

#[test]
fn a_launch_under_the_variables() {
    let _attached = layout_debugger::from_env().expect("a front end");
    let device = Device::simulator();
    let x = device.zeros::<f32, 1>([128]).expect("a tensor");
    let mut y = device.zeros::<f32, 1>([128]).expect("a tensor");
    turned::launch(&device.stream(), &x, &mut y).expect("nothing is found");
}

#[test]
fn variables_name_the_front_end_and_the_timeline() {
    let path =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-run.json", std::process::id()));
    let run = |debug: &str| {
        let own = std::env::current_exe().expect("the test's own path");
        let run = std::process::Command::new(own)
            .args(["--exact", "a_launch_under_the_variables", "--nocapture"])
            .env("LAYOUT_DEBUG", debug)
            .env("LAYOUT_TIMELINE", &path)
            .stdin(std::process::Stdio::null())
            .output()
            .expect("a process");
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        assert!(run.status.success() && text.contains("1 passed"), "{text}");
        text
    };
    assert!(run("all,1").contains("(layout) "));
    assert!(!run("1").contains("(layout) "), "nothing is found");
    assert!(!run("0").contains("(layout) "));
    let trace = std::fs::read_to_string(&path).expect("a trace");
    std::fs::remove_file(&path).expect("the trace");
    let trace: serde_json::Value = serde_json::from_str(&trace).expect("JSON");
    assert!(trace["traceEvents"].as_array().is_some_and(|events| events.len() > 50), "{trace}");
}
