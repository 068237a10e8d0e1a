//! The planted mistakes: at most five steps of the debugger show the cause of each.
//!
//! Law: a step is one command; what is seen is more than the finding says: the write that came too early, the warp that is missing, the
//! copy in flight, the index.

use layout_cuda::FindingKind as Kind;
use layout_cuda::debug::{Access, Debugger, Launch, Session, Status, attach};
use layout_debugger::{Engine, Move, Stop};
use layout_planted::all;
use std::cell::RefCell;
use std::rc::Rc;

/// The most steps.
const MOST: u32 = 5;

struct Test<F>(F);
impl<F: FnMut(&mut Session<'_>)> Debugger for Test<F> {
    fn launched(&mut self, _: &Launch<'_>, session: &mut Session<'_>) {
        (self.0)(session);
    }
}

/// The cause of a finding of this kind, in words, and the number of steps to it.
fn cause(session: &mut Session<'_>, kind: Kind) -> Result<(String, u32), String> {
    let mut engine = Engine::new(session);
    let (finding, mut steps) = loop {
        match engine.go(Move::Finding, false) {
            Stop::Finding(finding) if finding.kind == kind => break (finding, 1),
            Stop::Finding(_) => {}
            other => return Err(format!("{other:?} in place of a finding")),
        }
    };
    let (warp, lane) = (engine.focus().warp, engine.focus().lane);
    steps += 1;
    match kind {
        Kind::ReadWriteRace | Kind::WriteWriteRace | Kind::MissingFence | Kind::EqualWrites => {
            // The element's last writer is another thread, or the finding's thread is about to write what the other line read.
            let (place, index) = (finding.place.clone().unwrap_or_default(), finding.index.unwrap_or(0));
            let tensors = engine.moment().tensors(warp, lane);
            let tensor = tensors.iter().find(|tensor| tensor.name == place).cloned();
            let tensor = tensor.ok_or_else(|| format!("no tensor `{place}` is in scope"))?;
            let written = engine.session().writers(&tensor, index, index).remove(&index);
            let line = engine.moment().line(warp);
            let block = engine.moment().block(warp);
            let other = |one: &Access| (one.block, one.warp, one.lane) != (block, warp, Some(lane));
            let mut accessed = written.filter(other);
            if accessed.is_none() && finding.other.is_none() {
                // The statement itself reads what it writes.
                engine.go(Move::Statement, false);
                steps += 2;
                accessed = engine.session().readers(&tensor, index, index).remove(&index).filter(other);
            }
            match (accessed, finding.other) {
                (Some(one), _) => Ok((
                    format!(
                        "`{place}[{index}]` was accessed last by {one}, which line {line} has no order with"
                    ),
                    steps,
                )),
                (None, Some(other)) => Ok((format!("line {line} writes what line {other} uses"), steps)),
                (None, None) => Err(format!("the last write is {written:?}")),
            }
        }
        Kind::MissingWait | Kind::Overwritten => {
            let own = engine.moment().warps().into_iter().map(|warp| warp.copies.len()).sum::<usize>();
            let copies = own + engine.moment().copies().len();
            (copies > 0)
                .then(|| (format!("{copies} copies are in flight"), steps))
                .ok_or_else(|| "no copy is in flight".into())
        }
        Kind::OutOfBounds => {
            let index = finding.index.unwrap_or(0);
            let place = finding.place.clone().unwrap_or_default();
            let tensors = engine.moment().tensors(warp, lane);
            let tensor = tensors.iter().find(|tensor| tensor.name == place).ok_or("no tensor")?;
            let extent: i64 = tensor.modes.iter().map(|(extent, _)| *extent).product();
            let variables = engine.moment().variables(warp, lane);
            let named = variables.iter().any(|(_, value)| (value.number() - index as f64).abs() <= 1.0);
            (named && !(0..extent).contains(&index))
                .then(|| (format!("element {index} of {extent}, of {variables:?}"), steps))
                .ok_or_else(|| format!("{index} of {extent}, {variables:?}"))
        }
        Kind::DivergentBarrier => {
            let warps = engine.moment().warps();
            let partial = warps.iter().find(|warp| warp.active != warp.live && warp.active != 0);
            let waits = warps.iter().filter(|warp| matches!(warp.status, Status::Waiting(_))).count();
            match partial {
                Some(warp) => Ok((
                    format!("lanes {:08x} of {:08x} are at line {}", warp.active, warp.live, warp.line),
                    steps,
                )),
                None if waits > 0 => Ok((format!("{waits} warps wait: {:?}", warps[0].status), steps)),
                None => Err(format!("{warps:?}")),
            }
        }
        Kind::Deadlock | Kind::StepLimit | Kind::NotResident => {
            let barriers = engine.moment().barriers();
            let stuck = barriers.iter().find(|one| one.pending > 0 && !one.waiting.is_empty());
            let warps = engine.moment().warps();
            match stuck {
                Some(one) => Ok((
                    format!(
                        "`{}` lacks {} of {} arrivals, {:?} wait",
                        one.name, one.pending, one.arrivals, one.waiting
                    ),
                    steps,
                )),
                None if warps.iter().all(|warp| warp.status != Status::Ended) => {
                    Ok((format!("{:?}", warps[0]), steps))
                }
                None => Err(format!("{warps:?}")),
            }
        }
        Kind::Uninitialised => {
            let Some(index) = finding.index else {
                return Err(format!("line {} reads a variable without a value", finding.line));
            };
            let place = finding.place.clone().unwrap_or_default();
            let tensors = engine.moment().tensors(warp, lane);
            let Some(tensor) = tensors.iter().find(|tensor| tensor.name == place).cloned() else {
                return Err(format!("registers `{place}`"));
            };
            let by = engine.session().writers(&tensor, index, index);
            by.is_empty()
                .then(|| (format!("no one wrote `{place}[{index}]`"), steps))
                .ok_or_else(|| format!("{by:?}"))
        }
        other => Err(format!("no steps are known for {}: {}", other.name(), finding.message)),
    }
}

#[test]
fn five_steps_show_the_cause() {
    let (mut failed, mut seen) = (Vec::new(), 0);
    for mistake in all() {
        let found = Rc::new(RefCell::new(None));
        let (result, kind) = (found.clone(), mistake.kind);
        let attached = attach(Test(move |session: &mut Session<'_>| {
            *result.borrow_mut() = Some(cause(session, kind));
        }));
        let report = mistake.simulate();
        drop(attached);
        match found.borrow_mut().take() {
            Some(Ok((words, steps))) if steps <= MOST => {
                println!("{}: {steps} steps: {words}", mistake.name);
                seen += 1;
            }
            other => failed.push(format!("{} ({}): {other:?}\n{report:?}", mistake.name, mistake.what)),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(seen >= 20, "{seen}");
}

#[test]
fn the_report_is_that_of_the_launch() {
    for mistake in all() {
        let plain = mistake.simulate();
        let attached = attach(Test(|session: &mut Session<'_>| session.go(session.steps() / 3)));
        let debugged = mistake.simulate();
        drop(attached);
        match (plain, debugged) {
            (Ok(plain), Ok(debugged)) => {
                assert_eq!(plain, debugged, "{}", mistake.name);
            }
            (plain, debugged) => {
                assert_eq!(format!("{plain:?}"), format!("{debugged:?}"), "{}", mistake.name)
            }
        }
    }
}
