//! Coverage of writes: elements that no thread writes, that two threads write, and that are added to before they are
//! set.
//!
//! Law: if a thread writes an element of a tensor by an ordinary store, every element must be written; the first that
//! is not is reported at the store of its neighbour. If the kernel writes a tensor, does not read it, and leaves it
//! unchanged, the first store to it is reported. A value that another thread overwrites without a read is lost; an
//! equal value is not lost, and neither is an atomic update. An element is unset if the tensor held only zeros and
//! nothing in the launch has written it. An addition to it relies on zeros that a launch does not provide.

use crate::async_op::AsyncOp;
use crate::bytecode::{LANES, Op, Program, Site, Target};
use crate::event::{ACCESSES, Access, AccessKind, BoxCopy, Event, OTHERS};
use crate::findings::{Findings, Message};
use crate::machine::Machine;
use crate::machine::{Analysis, Observer};
use crate::memory::bytes;
use crate::memory::tensor_map::PIECE;
use crate::report::{Finding, FindingKind};
use crate::state::warp::{Warp, each_lane};
use layout_compiler::program::AtomicChange;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The elements of a tensor. A word: block (32 bits), thread of the block (10), site (19), flags (3).
pub(crate) struct Coverage {
    words: Vec<AtomicU64>,
    /// Whether the tensor held only zeros.
    zeros: bool,
    /// Extent and stride of each mode.
    modes: Vec<(u64, u64)>,
}

/// The element has been read since its last write.
const READ: u64 = 1;
/// An atomic operation has changed it.
const CHANGED: u64 = 2;
/// It has been written.
const WRITTEN: u64 = 4;
const SITE: u64 = 0x7_ffff;

/// The last access of an element.
fn word(block: u64, thread: u64, site: u32, flags: u64) -> u64 {
    block << 32 | (thread & 1023) << 22 | (u64::from(site) & SITE) << 3 | flags
}

fn site(word: u64) -> u32 {
    (word >> 3 & SITE) as u32
}

enum Fault {
    /// Another thread wrote the element at this site, and no thread has read it.
    Twice(u32),
    /// The thread read the unset element at this site.
    Unset(u32),
}

impl Coverage {
    /// `None` if there is not enough memory.
    pub(crate) fn new(elements: usize, bytes: &[u8], modes: Vec<(u64, u64)>) -> Option<Coverage> {
        let mut words = Vec::new();
        words.try_reserve_exact(elements).ok()?;
        words.resize_with(elements, AtomicU64::default);
        Some(Coverage { words, zeros: bytes.iter().all(|byte| *byte == 0), modes })
    }

    fn write(&self, element: usize, (block, thread): (u64, u64), at: u32, equal: bool) -> Option<Fault> {
        let new = word(block, thread, at, WRITTEN);
        let old = self.words.get(element)?.swap(new, SeqCst);
        let same = old >> 22 == new >> 22;
        match old & WRITTEN {
            0 if old & READ != 0 && same && self.zeros => Some(Fault::Unset(site(old))),
            0 => None,
            _ if !same && !equal && old & (READ | CHANGED) == 0 => Some(Fault::Twice(site(old))),
            _ => None,
        }
    }

    fn read(&self, element: usize, (block, thread): (u64, u64), at: u32) {
        let Some(cell) = self.words.get(element) else { return };
        let read =
            |old: u64| Some(if old & WRITTEN == 0 { word(block, thread, at, READ) } else { old | READ });
        // The closure always returns `Some`.
        let _ = cell.fetch_update(SeqCst, SeqCst, read);
    }

    fn changed(&self, element: usize, at: u32) {
        let Some(cell) = self.words.get(element) else { return };
        let changed = |old: u64| {
            let new = if old & WRITTEN == 0 { word(0, 0, at, 0) } else { old };
            Some(new | CHANGED | READ | WRITTEN)
        };
        let _ = cell.fetch_update(SeqCst, SeqCst, changed);
    }

    /// The number of elements, the number of unwritten ones, the first of them, and the site of a neighbour's store.
    fn holes(&self) -> Option<(u64, u64, usize, u32)> {
        let plain = |word: u64| word & (WRITTEN | CHANGED) == WRITTEN;
        if !self.words.iter().any(|word| plain(word.load(SeqCst))) {
            return None;
        }
        let (mut all, mut missing, mut neighbour, mut first) = (0u64, 0u64, 0, None);
        // Counts through the modes, the fastest first.
        let mut modes: Vec<(u64, u64)> = self.modes.clone();
        modes.sort_by_key(|(_, stride)| *stride);
        let mut at = vec![0u64; modes.len()];
        let mut done = modes.iter().any(|(extent, _)| *extent == 0);
        while !done {
            let element: u64 = at.iter().zip(&modes).map(|(digit, (_, stride))| digit * stride).sum();
            let word = self.words.get(element as usize).map_or(0, |word| word.load(SeqCst));
            all += 1;
            if word & WRITTEN == 0 {
                missing += 1;
                first = first.or(Some(element as usize));
            } else if neighbour == 0 || first.is_none() {
                neighbour = site(word);
            }
            let mut carry = at.iter_mut().zip(&modes);
            done = !carry.any(|(digit, (extent, _))| {
                *digit = if *digit + 1 < *extent { *digit + 1 } else { 0 };
                *digit != 0
            });
        }
        first.map(|first| (all, missing, first, neighbour))
    }

    /// A store to a tensor that the launch left unchanged, if the kernel does not read the tensor.
    fn untouched(&self, argument: u32, program: &Program) -> Option<u32> {
        if self.words.len() < 2 || self.words.iter().any(|word| word.load(SeqCst) != 0) {
            return None;
        }
        let own = |site: u32| program.sites[site as usize].target == Target::Global(argument);
        let reads = |op: &Op| match op {
            Op::Load { site, .. } | Op::Atomic { site, .. } => own(*site),
            Op::CopyAsync { source_site, .. } => own(*source_site),
            _ => false,
        };
        let boxes = program.async_ops.list.iter();
        if program.code.iter().any(reads)
            || boxes.clone().any(|work| match work {
                AsyncOp::Load { copy, .. } => own(copy.global_site),
                AsyncOp::Store { copy } => copy.adds.is_some() && own(copy.global_site),
                _ => false,
            })
        {
            return None;
        }
        let plain = program.code.iter().filter_map(|op| match op {
            Op::Store { site, .. } => Some(*site),
            _ => None,
        });
        let stored = boxes.filter_map(|work| match work {
            AsyncOp::Store { copy } => Some(copy.global_site),
            _ => None,
        });
        plain.chain(stored).find(|site| own(*site))
    }

    /// Reports unwritten elements at the end of the launch.
    pub(crate) fn finish(&self, argument: u32, program: &Program, findings: &mut Findings) {
        let untouched = self.untouched(argument, program).map(|site| {
            let all = self.words.len() as u64;
            (all, all, 0, site)
        });
        let Some((all, missing, first, neighbour)) = untouched.or_else(|| self.holes()) else { return };
        let Some(known) = program.sites.get(neighbour as usize) else { return };
        let name = program.names.get(known.place as usize).cloned().unwrap_or_default();
        let message = match missing {
            _ if untouched.is_some() => {
                format!(
                    "no thread writes any of the {all} elements of `{name}`: no thread reaches this store, or its \
                    condition never holds"
                )
            }
            1 => {
                format!("no thread writes element {first} of `{name}`, but the other {} are written", all - 1)
            }
            _ => format!(
                "no thread writes {missing} of the {all} elements of `{name}`, the first of them element {first}; \
                the others are written"
            ),
        };
        let index = Some(first as i64);
        findings.add(FindingKind::Unwritten, neighbour, missing, || Finding {
            kind: FindingKind::Unwritten,
            message,
            line: known.line,
            thread: [0; 3],
            block: [0; 3],
            place: Some(name),
            index,
            count: missing,
            other: None,
        });
    }
}

/// The analysis: the coverage of each written argument.
pub(crate) struct WriteCoverage(pub Vec<Option<Coverage>>);

impl Analysis for WriteCoverage {
    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(CoverageObserver(self))
    }

    fn close(&self, program: &Program, findings: &mut Findings) {
        for (argument, coverage) in (0..).zip(&self.0) {
            if let Some(coverage) = coverage {
                coverage.finish(argument, program, findings);
            }
        }
    }
}

struct CoverageObserver<'j>(&'j WriteCoverage);

impl Observer for CoverageObserver<'_> {
    fn interests(&self) -> u8 {
        ACCESSES | OTHERS
    }

    fn on_event(&mut self, event: &Event<'_>, machine: &Machine<'_>) {
        match event {
            Event::Access(access) => self.access(access, machine),
            Event::BoxRead { warp, copy, .. } => {
                let Some(coverage) = self.boxed(copy, machine) else { return };
                self.elements(copy, machine, |element, _| {
                    coverage.read(element as usize, writer(warp, copy.lane, machine), copy.sites.1);
                });
            }
            Event::BoxStoreCompleted { warp, copy, data, .. } => self.box_written(warp, copy, data, machine),
            _ => {}
        }
    }
}

/// A thread: its block, and its number in the block.
fn writer(warp: &Warp, lane: usize, machine: &Machine<'_>) -> (u64, u64) {
    (warp.block, (machine.inside(warp.number as usize) * LANES + lane) as u64)
}

impl<'j> CoverageObserver<'j> {
    fn coverage(&self, site: &Site) -> Option<&'j Coverage> {
        let Target::Global(argument) = site.target else { return None };
        self.0.0.get(argument as usize)?.as_ref()
    }

    fn boxed(&self, copy: &BoxCopy<'_>, machine: &Machine<'_>) -> Option<&'j Coverage> {
        self.coverage(&machine.launch.program.sites[copy.sites.1 as usize])
    }

    /// The elements of a box inside the tensor, each with its piece and position.
    fn elements(&self, copy: &BoxCopy<'_>, machine: &Machine<'_>, mut visit: impl FnMut(i64, (usize, u32))) {
        let plan = &machine.launch.program.async_ops.boxes[copy.plan as usize];
        let mut number = 0;
        plan.each(copy.shared, copy.coordinates, |piece| {
            for element in piece.start..piece.end {
                visit(piece.global / i64::from(plan.size) + i64::from(element), (number, element));
            }
            number += 1;
        });
    }

    fn access(&self, access: &Access<'_>, machine: &Machine<'_>) {
        let Access { warp, site, number, elements, .. } = *access;
        let Some(coverage) = self.coverage(site) else { return };
        let Target::Global(argument) = site.target else { return };
        let parts = machine.launch.program.parts.get(argument as usize).map_or(1, |parts| i64::from(*parts));
        let range = |lane: usize| {
            let cells = site.cells(elements.index[lane]);
            cells.start / parts..(cells.end + parts - 1) / parts
        };
        match access.kind {
            AccessKind::Load(_) | AccessKind::AsyncRead => {
                for lane in each_lane(elements.active) {
                    let by = writer(warp, lane, machine);
                    range(lane).for_each(|element| coverage.read(element as usize, by, number));
                }
            }
            // A part of an element, by a narrower type.
            AccessKind::Store(..) if i64::from(site.cells) < parts => {
                each_lane(elements.active).for_each(|lane| {
                    range(lane).for_each(|element| coverage.changed(element as usize, number))
                });
            }
            AccessKind::Store(_, equal) => {
                // A race on the same access is reported instead.
                let raced = machine.diagnostics.borrow().findings_of_event > 0;
                for lane in each_lane(elements.active) {
                    for element in range(lane) {
                        let at = (site, number, element);
                        self.write(coverage, (warp, lane), at, (equal >> lane & 1 != 0, raced), machine);
                    }
                }
            }
            AccessKind::Atomic(atomic) if !matches!(atomic.change, AtomicChange::Load(_)) => {
                each_lane(elements.active).for_each(|lane| {
                    range(lane).for_each(|element| coverage.changed(element as usize, number))
                });
            }
            AccessKind::Atomic(_)
            | AccessKind::AsyncWrite
            | AccessKind::RemoteWrite
            | AccessKind::BarrierInit => {}
        }
    }

    fn box_written(&self, warp: &Warp, copy: &BoxCopy<'_>, data: &[[u8; PIECE]], machine: &Machine<'_>) {
        let Some(coverage) = self.boxed(copy, machine) else { return };
        let program = machine.launch.program;
        let plan = &program.async_ops.boxes[copy.plan as usize];
        let (global, size) = (&machine.launch.globals[plan.argument as usize], plan.size);
        if copy.adds {
            self.elements(copy, machine, |element, _| coverage.changed(element as usize, copy.sites.1));
            return;
        }
        let raced = machine.diagnostics.borrow().findings_of_event > 0;
        let (site, number) = (&program.sites[copy.sites.1 as usize], copy.sites.1);
        self.elements(copy, machine, |element, (piece, at)| {
            let Some(bytes) = data.get(piece) else { return };
            let value = bytes::read(bytes, (at * size) as usize, size);
            let equal = global.read(element as usize * size as usize, size) == value;
            self.write(coverage, (warp, copy.lane), (site, number, element), (equal, raced), machine);
        });
    }

    /// A lane writes an element; `equal` if the value was there already, `raced` if the access is a race.
    fn write(
        &self,
        coverage: &Coverage,
        (warp, lane): (&Warp, usize),
        (site, number, element): (&Site, u32, i64),
        (equal, raced): (bool, bool),
        machine: &Machine<'_>,
    ) {
        let wrong = coverage.write(element as usize, writer(warp, lane, machine), number, equal);
        let Some(wrong) = wrong.filter(|_| !raced) else { return };
        let program = machine.launch.program;
        let name = program.names.get(site.place as usize).cloned().unwrap_or_default();
        let (kind, number, message) = match wrong {
            Fault::Twice(before) => {
                let line = program.sites.get(before as usize).map_or(0, |site| site.line);
                let message = format!(
                    "write of element {element} of `{name}`, which another thread wrote in line {line}: no thread \
                    read that value"
                );
                (FindingKind::WrittenTwice, number, Message::with_line(message, line))
            }
            Fault::Unset(read) => {
                let message = format!(
                    "element {element} of `{name}` is read and written before anything sets it: the tensor held \
                    only zeros, which the kernel does not write"
                );
                (FindingKind::Unset, read, message.into())
            }
        };
        machine.report(kind, number, warp.number, 1 << lane, Some(element), |_| message);
    }
}
