//! Hazards as findings: their kinds and messages.

use super::{Hazard, RaceState};
use crate::bytecode::{LANES, Target};
use crate::findings::Message;
use crate::machine::Machine;
use crate::memory::tensor_map::PIECE;
use crate::report::FindingKind;
use crate::state::cluster;
use crate::state::lanes::Direction;
use crate::state::warp::{Warp, coordinates};

impl RaceState<'_> {
    /// Reports a hazard of lanes at a site; `equal` if they write the value that was there.
    pub(super) fn report_hazard(
        &mut self,
        (warp, number): (&Warp, u32),
        (lanes, index): (u32, i64),
        hazard: Hazard,
        (direction, equal): (Direction, bool),
        machine: &Machine<'_>,
    ) {
        let program = machine.launch.program;
        let site = &program.sites[number as usize];
        let byte = match site.target {
            Target::Shared(base) => i64::from(warp.shared + base) + index * i64::from(site.bytes),
            Target::Global(_) | Target::Local { .. } | Target::None => 0,
        };
        // The index of another block's element counts through the cluster.
        let index = match site.rank {
            Some(_) => index.rem_euclid(i64::from(cluster::stride(program) / site.bytes)),
            None => index,
        };
        let name = program.names.get(site.place as usize);
        let name = name.map_or("", String::as_str);
        // The writer is not reported among lanes that access the element together.
        let lanes = match hazard {
            Hazard::Writer { thread, .. } | Hazard::Reader { thread: Some(thread) }
                if thread / LANES as u32 == warp.number && lanes & (lanes - 1) != 0 =>
            {
                lanes & !(1 << (thread % LANES as u32))
            }
            _ => lanes,
        };
        if matches!(site.target, Target::Shared(_)) {
            self.causes((warp, number), (lanes, index, byte), hazard, direction, machine);
        }
        let what = match (direction, hazard) {
            (Direction::Read, _) => "read",
            // An atomic operation.
            (_, Hazard::Uninitialised) => "update",
            (Direction::Write, _) => "write",
        };
        let written = if equal { FindingKind::EqualWrites } else { FindingKind::WriteWriteRace };
        let race = if direction == Direction::Read { FindingKind::ReadWriteRace } else { written };
        if let Hazard::Narrow { .. } | Hazard::OtherBlock { .. } = hazard {
            machine.diagnostics.borrow_mut().crossed = true;
        }
        let access = format!("{what} of element {index} of `{name}`");
        if let Some((found, mut message)) = describe(hazard, &access, race, machine) {
            if let Hazard::InFlight = hazard
                && machine.diagnostics.borrow().uncommitted.contains(&site.place)
            {
                message +=
                    "; it was not committed before the wait: `async_copy_commit_group()` after the copies";
            }
            let message = Message::with_line(message, other_line(hazard, machine));
            machine.report(found, number, warp.number, lanes, Some(index), |_| message);
        }
    }

    /// Records reads and atomic operations of uninitialised elements. A later write that is not ordered with one of
    /// them is its cause: on a GPU the write may be first.
    fn causes(
        &mut self,
        (warp, number): (&Warp, u32),
        (lanes, index, byte): (u32, i64, i64),
        hazard: Hazard,
        direction: Direction,
        machine: &Machine<'_>,
    ) {
        /// The maximum number of records of a cluster.
        const MOST: usize = 4096;
        let program = machine.launch.program;
        let known = &program.sites[number as usize];
        match hazard {
            Hazard::Uninitialised if self.uninitialised_reads.len() < MOST => {
                self.uninitialised_reads.entry(byte).or_insert(number);
            }
            Hazard::Reader { .. } | Hazard::Writer { .. } if direction == Direction::Write => {
                let Some(uninitialised_reads) = self.uninitialised_reads.get(&byte).copied() else { return };
                let (what, race) = match hazard {
                    // Only the recorded operation itself.
                    Hazard::Writer { site, .. } if site != uninitialised_reads => return,
                    Hazard::Writer { .. } => ("write", FindingKind::WriteWriteRace),
                    _ => ("read", FindingKind::ReadWriteRace),
                };
                self.uninitialised_reads.remove(&byte);
                let name = program.names.get(known.place as usize).map_or("", String::as_str);
                let message = format!(
                    "{what} of element {index} of `{name}`, which {} writes in line {}; no barrier between them",
                    machine.actor(warp.number * LANES as u32 + lanes.trailing_zeros().min(31)),
                    known.line
                );
                machine.diagnostics.borrow_mut().findings.explain(
                    (FindingKind::Uninitialised, uninitialised_reads),
                    race,
                    Message::with_line(message, known.line),
                );
            }
            _ => {}
        }
    }

    /// Reports a hazard of the asynchronous proxy; `what` names the operation.
    pub(super) fn report_proxy_hazard(
        &mut self,
        warp: &Warp,
        site: u32,
        (address, writes): (u64, bool),
        hazard: Hazard,
        what: &str,
        machine: &Machine<'_>,
    ) {
        let program = machine.launch.program;
        let known = &program.sites[site as usize];
        let name = program.names.get(known.place as usize).cloned().unwrap_or_default();
        let Target::Shared(base) = known.target else { return };
        let byte = address as i64;
        let address = byte % i64::from(cluster::stride(program).max(1));
        let index = (address - i64::from(base)).div_euclid(i64::from(known.bytes.max(1)));
        let verb = if writes { "writes" } else { "reads" };
        let line = |site: u32| match program.sites.get(site as usize) {
            Some(site) if site.line > 0 => format!(" in line {}", site.line),
            _ => String::new(),
        };
        if hazard == Hazard::Uninitialised {
            for element in (byte..byte + PIECE as i64).step_by(known.bytes.max(1) as usize) {
                self.uninitialised_reads.entry(element).or_insert(site);
            }
        }
        let begin = format!("{what} {verb} the 16 bytes at element {index} of `{name}`");
        let (kind, message) = match hazard {
            Hazard::Uninitialised => {
                (FindingKind::Uninitialised, format!("{begin}, which nothing has written"))
            }
            Hazard::InFlight => {
                (FindingKind::MissingWait, format!("{begin} while a copy to it is in flight"))
            }
            Hazard::Writer { thread, site } => (
                if writes { FindingKind::Overwritten } else { FindingKind::ReadWriteRace },
                format!("{begin}, which {} writes{}; nothing orders them", machine.actor(thread), line(site)),
            ),
            Hazard::Unfenced { thread, site } => (
                FindingKind::MissingFence,
                format!(
                    "{begin}, which {} writes{} without `fence_async_proxy()` after it",
                    machine.actor(thread),
                    line(site)
                ),
            ),
            Hazard::Unread { thread } => (
                FindingKind::MissingFence,
                format!(
                    "{begin}, which {} of the same warp reads; nothing waits for that read: `fence_async_proxy()` after it does",
                    machine.actor(thread)
                ),
            ),
            Hazard::Reader { thread } => {
                let accessor =
                    thread.map_or_else(|| "several threads".to_owned(), |thread| machine.actor(thread));
                let verb = if thread.is_some() { "reads" } else { "read" };
                (FindingKind::Overwritten, format!("{begin}, which {accessor} {verb}; nothing orders them"))
            }
            // Hazards of global memory.
            Hazard::OtherBlock { .. }
            | Hazard::Narrow { .. }
            | Hazard::Hidden { .. }
            | Hazard::PendingRead { .. } => {
                return;
            }
        };
        let lanes = 1 << warp.active.trailing_zeros().min(31);
        let message = Message::with_line(message, other_line(hazard, machine));
        machine.report(kind, site, warp.number, lanes, Some(index), |_| message);
    }
}

/// The line of the conflicting access; 0 if it is unknown.
fn other_line(hazard: Hazard, machine: &Machine<'_>) -> u32 {
    match hazard {
        Hazard::Writer { site, .. } | Hazard::Unfenced { site, .. } if site != 0 => {
            machine.launch.program.sites.get(site as usize).map_or(0, |site| site.line)
        }
        Hazard::Writer { .. }
        | Hazard::Unfenced { .. }
        | Hazard::Uninitialised
        | Hazard::InFlight
        | Hazard::Unread { .. }
        | Hazard::Reader { .. }
        | Hazard::OtherBlock { .. }
        | Hazard::Narrow { .. }
        | Hazard::Hidden { .. }
        | Hazard::PendingRead { .. } => 0,
    }
}

/// The kind and message of a hazard of threads; `race` is the kind of an unordered pair. `None` for hazards that only
/// the asynchronous proxy has.
fn describe(
    hazard: Hazard,
    access: &str,
    race: FindingKind,
    machine: &Machine<'_>,
) -> Option<(FindingKind, String)> {
    let sites = &machine.launch.program.sites;
    let line = |site: u32| sites.get(site as usize).map_or(0, |site| site.line);
    let thread = |number: u32| machine.actor(number);
    let engine = |number: u32| number as usize / LANES >= machine.count;
    Some(match hazard {
        Hazard::Uninitialised => {
            (FindingKind::Uninitialised, format!("{access}, which no thread has written"))
        }
        Hazard::InFlight => {
            (FindingKind::MissingWait, format!("{access} while an asynchronous copy to it is in flight"))
        }
        Hazard::Writer { thread: other, site } if engine(other) => {
            let (accessor, line) = (thread(other), line(site));
            let message =
                format!("{access}, which {accessor} writes in line {line}; no wait for it in between");
            (FindingKind::MissingWait, message)
        }
        Hazard::Reader { thread: Some(other) } if engine(other) => {
            let accessor = thread(other);
            let message =
                format!("{access}, which {accessor} may not have read yet; no wait for it in between");
            (FindingKind::MissingWait, message)
        }
        Hazard::PendingRead { thread: other } => {
            let message = format!(
                "{access}, which an asynchronous copy of {} may not have read yet; no wait of that thread in \
                between",
                thread(other)
            );
            (FindingKind::MissingWait, message)
        }
        Hazard::Narrow { block } => {
            let message = format!(
                "an atomic {access}, which {} accesses atomically as well; one of the two has block scope, which \
                does not order blocks: use device scope",
                block_name(machine, block)
            );
            (race, message)
        }
        // Only the proxy has this one.
        Hazard::Unfenced { .. } => return None,
        Hazard::Unread { thread: other } => {
            let message = format!(
                "{access} by TMA, which {} of the same warp reads; nothing waits for that read: `fence_async_proxy_global()` \
                 after it does",
                thread(other)
            );
            (FindingKind::MissingFence, message)
        }
        Hazard::Hidden { block } => {
            let message = format!(
                "{access} by TMA, which a thread of {} writes without `fence_async_proxy_global()` after it",
                block_name(machine, Some(block))
            );
            (FindingKind::MissingFence, message)
        }
        Hazard::Writer { thread: other, site } => {
            let place = if site != 0 { format!(" in line {}", line(site)) } else { String::new() };
            let message = format!("{access}, which {} writes{place}; no barrier between them", thread(other));
            (race, message)
        }
        Hazard::Reader { thread: other } => {
            let accessor = other.map_or_else(|| "several threads".to_owned(), thread);
            let verb = if other.is_some() { "reads" } else { "read" };
            let message = format!("{access}, which {accessor} {verb}; no barrier between them");
            (FindingKind::ReadWriteRace, message)
        }
        Hazard::OtherBlock { block, wrote } => {
            let (accessor, ending) = (block_name(machine, block), if block.is_some() { "s" } else { "" });
            let verb = if wrote { "write" } else { "read" };
            let found = if wrote { race } else { FindingKind::ReadWriteRace };
            (found, format!("{access}, which {accessor} {verb}{ending}; nothing orders the blocks"))
        }
    })
}

fn block_name(machine: &Machine<'_>, block: Option<u64>) -> String {
    block.map_or_else(
        || "other blocks".to_owned(),
        |block| {
            let [x, y, z] = coordinates(block, machine.launch.grid);
            format!("block ({x}, {y}, {z})")
        },
    )
}
