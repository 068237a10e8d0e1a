//! The order of accesses to tensor memory: products, loads and stores, which are all asynchronous.
//!
//! ```text
//! product ─ commit ─► mbarrier ─ wait, fence after ─► load, store, product of another form
//! load, store ─ wait, fence before ─► arrival ─ wait, fence after ─► load, store, product of another warp
//! ```
//! Law: an access of a cell (32 lanes of a column) that conflicts with an earlier one is reported unless it is after it by such
//! a chain. In order without one are products of one warp of equal shape and types into the same columns. A warp's own loads
//! and stores need the wait only. A fence counts for its warp: an instruction that moves is the whole warp's.

use crate::bytecode::LANES;
use crate::event::{Event, OTHERS, TensorAccess, TensorSync, TensorUse};
use crate::findings::Message;
use crate::machine::{Analysis, Machine, Observer};
use crate::memory::vector_clock::VectorClock;
use crate::report::FindingKind;
use crate::state::warp::Warp;
use layout_compiler::elem::Elem;
use layout_compiler::program::tensor_memory::COLUMNS;

pub(crate) struct TensorMemory;

impl Analysis for TensorMemory {
    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(Order::default())
    }
}

/// Rows, columns and operands of a product.
type Form = (u32, u32, Elem);

/// An access before.
#[derive(Clone, Copy, PartialEq)]
struct Before {
    site: u32,
    by: By,
}

#[derive(Clone, Copy, PartialEq)]
enum By {
    /// A product, by its engine and the engine's time.
    Product { engine: usize, time: u32, form: Form },
    /// The move of this number among the warp's loads, or stores.
    Move { warp: usize, stores: bool, number: u32 },
}

#[derive(Clone, Default)]
struct Cell {
    written: Option<Before>,
    reads: Vec<Before>,
}

/// What a warp has done.
#[derive(Clone, Default)]
struct Own {
    /// Its loads, and its stores.
    moves: [u32; 2],
    /// For each wait the moves that it waits for, and its time.
    waits: [Vec<(u32, u32)>; 2],
    /// The times of its fences before a synchronisation.
    before: Vec<u32>,
    /// The lanes and the clocks of the fences after one.
    after: Vec<(u32, VectorClock)>,
}

/// What is missing between two accesses.
#[derive(Clone, Copy, PartialEq)]
enum Missing {
    /// A wait for an mbarrier with the commit.
    Commit,
    /// The same; products of one thread that are not in order.
    Form,
    /// The wait of the warp that moved.
    Wait,
    /// A synchronisation.
    Order,
    FenceBefore,
    FenceAfter,
}

#[derive(Default)]
struct Order {
    cells: Vec<Cell>,
    warps: Vec<Own>,
}

impl Observer for Order {
    fn interests(&self) -> u8 {
        OTHERS
    }

    fn on_event(&mut self, event: &Event<'_>, machine: &Machine<'_>) {
        match event {
            Event::Start => {
                self.cells.clear();
                self.warps.clear();
                self.warps.resize(machine.count, Own::default());
            }
            Event::TensorSync { warp, what } => self.sync(warp, *what, machine),
            Event::TensorAccess { warp, access } => self.access(warp, access, machine),
            _ => {}
        }
    }
}

impl Order {
    fn sync(&mut self, warp: &Warp, what: TensorSync, machine: &Machine<'_>) {
        let lanes = &machine.clocks.warps[warp.number as usize];
        let own = &mut self.warps[warp.number as usize];
        match what {
            TensorSync::Wait { stores } => {
                let count = own.moves[usize::from(stores)];
                own.waits[usize::from(stores)].push((count, lanes.time()));
            }
            TensorSync::Fence { after: false } => own.before.push(lanes.time()),
            TensorSync::Fence { after: true } => {
                own.after.iter_mut().for_each(|(open, _)| *open &= !warp.active);
                own.after.retain(|(open, _)| *open != 0);
                for group in lanes.groups(warp.active) {
                    own.after.push((group, lanes.of(group.trailing_zeros() as usize).clone()));
                }
            }
        }
    }

    /// What is missing between an access before and the next step of a lane.
    fn missing(&self, before: By, warp: &Warp, form: Option<Form>, machine: &Machine<'_>) -> Option<Missing> {
        let lane = warp.active.trailing_zeros() as usize % LANES;
        let now = machine.clocks.warps[warp.number as usize].of(lane);
        let own = &self.warps[warp.number as usize].after;
        let fenced = own.iter().find(|(lanes, _)| lanes >> lane & 1 != 0).map(|(_, clock)| clock);
        match before {
            By::Product { engine, time, form: its } => {
                let is_own = engine == machine.proxy.tensor_engine(warp.number as usize);
                if is_own && form == Some(its) {
                    return None;
                }
                let done = |clock: &VectorClock| {
                    clock.engines.get(engine - machine.count).is_some_and(|known| time < *known)
                };
                match (done(now), fenced.is_some_and(done)) {
                    (false, _) if is_own && form.is_some() => Some(Missing::Form),
                    (false, _) => Some(Missing::Commit),
                    (true, false) => Some(Missing::FenceAfter),
                    (true, true) => None,
                }
            }
            By::Move { warp: other, stores, number } => {
                let its = &self.warps[other];
                let mut waits = its.waits[usize::from(stores)].iter();
                let Some((_, waited)) = waits.find(|(count, _)| number < *count) else {
                    return Some(Missing::Wait);
                };
                if other == warp.number as usize {
                    return None;
                }
                let live = machine.clocks.warps[other].live();
                let known = |clock: &VectorClock, time: u32| clock.clock.unknown(other, live, time) != live;
                let mut fences = its.before.iter().filter(|fence| *fence >= waited && known(now, **fence));
                if !known(now, *waited) {
                    Some(Missing::Order)
                } else if fences.clone().next().is_none() {
                    Some(Missing::FenceBefore)
                } else if !fences.any(|fence| fenced.is_some_and(|clock| known(clock, *fence))) {
                    Some(Missing::FenceAfter)
                } else {
                    None
                }
            }
        }
    }

    fn access(&mut self, warp: &Warp, access: &TensorAccess, machine: &Machine<'_>) {
        let number = warp.number as usize;
        let rank = machine.rank(number);
        self.cells.resize(self.cells.len().max((rank + 1) * 4 * COLUMNS as usize), Cell::default());
        let (form, own) = match access.what {
            TensorUse::Product { engine, time, form, .. } => {
                (Some(form), Some(By::Product { engine, time, form }))
            }
            // In order before no product.
            TensorUse::Operand { engine, time } => {
                (None, Some(By::Product { engine, time, form: (0, 0, Elem::F32) }))
            }
            TensorUse::Load | TensorUse::Store => {
                let stores = access.what == TensorUse::Store;
                let count = &mut self.warps[number].moves[usize::from(stores)];
                *count += 1;
                (None, Some(By::Move { warp: number, stores, number: *count - 1 }))
            }
            TensorUse::Free => (None, None),
        };
        let writes = !matches!(access.what, TensorUse::Load | TensorUse::Operand { .. });
        let reads = !writes || matches!(access.what, TensorUse::Product { adds: true, .. });
        let mut found: Option<(Option<(Before, Missing)>, u32)> = None;
        let cells = access.quarters.clone().flat_map(|quarter| {
            access.columns.clone().map(move |column| (column, (rank as u32 * 4 + quarter) * COLUMNS + column))
        });
        let cells: Vec<(u32, usize)> = cells.map(|(column, cell)| (column, cell as usize)).collect();
        // Cells of one access are alike: what came before is looked at once.
        let mut known: Vec<(Before, Option<Missing>)> = Vec::new();
        for (column, at) in &cells {
            if found.is_some() {
                break;
            }
            let cell = &self.cells[*at];
            let others = if writes { &cell.reads[..] } else { &[] };
            for before in cell.written.iter().chain(others) {
                let missing = match known.iter().find(|(one, _)| one == before) {
                    Some((_, missing)) => *missing,
                    None => {
                        let missing = self.missing(before.by, warp, form, machine);
                        known.push((*before, missing));
                        missing
                    }
                };
                found = found.or(missing.map(|missing| (Some((*before, missing)), *column)));
            }
            if reads && cell.written.is_none() {
                found = found.or(Some((None, *column)));
            }
        }
        if let Some(by) = own {
            let before = Before { site: access.site, by };
            for (_, at) in cells {
                let cell = &mut self.cells[at];
                if writes {
                    *cell = Cell { written: Some(before), reads: Vec::new() };
                } else {
                    // A wait for a later load of the warp waits for the earlier ones, one for a later product for earlier products.
                    cell.reads.retain(|one| match (one.by, by) {
                        (By::Move { warp: its, .. }, By::Move { warp, .. }) => its != warp,
                        (By::Product { engine: its, .. }, By::Product { engine, .. }) => its != engine,
                        _ => true,
                    });
                    cell.reads.push(before);
                }
            }
        }
        if let Some((why, column)) = found {
            report(warp, access, why, column, machine);
        }
    }
}

fn report(
    warp: &Warp,
    access: &TensorAccess,
    why: Option<(Before, Missing)>,
    column: u32,
    machine: &Machine<'_>,
) {
    let program = machine.launch.program;
    let place = program.sites[access.site as usize].place;
    let name = program.names.get(place as usize).map_or("tensor memory", String::as_str);
    let what = match access.what {
        TensorUse::Product { .. } => format!("a product into column {column} of tensor memory, in `{name}`,"),
        TensorUse::Operand { .. } => {
            format!("a product that reads column {column} of tensor memory, in `{name}`,")
        }
        TensorUse::Load => format!("a load of column {column} of tensor memory, of `{name}`,"),
        TensorUse::Store => format!("a store to column {column} of tensor memory, in `{name}`,"),
        TensorUse::Free => format!("the end of the kernel, which frees column {column} of tensor memory,"),
    };
    let lanes = warp.active;
    let Some((before, missing)) = why else {
        let message = format!(
            "{what} which nothing has written yet: no wait before it for an mbarrier with a `tcgen05_commit`, and no store"
        );
        return machine
            .report(FindingKind::Uninitialised, access.site, warp.number, lanes, None, |_| message);
    };
    let line = program.sites.get(before.site as usize).map_or(0, |site| site.line);
    let (other, wait) = match before.by {
        By::Product { .. } => (format!("the product in line {line}"), "tcgen05_commit"),
        By::Move { warp, stores: false, .. } => {
            (format!("the load of warp {warp} in line {line}"), "tcgen05_wait_load")
        }
        By::Move { warp, stores: true, .. } => {
            (format!("the store of warp {warp} in line {line}"), "tcgen05_wait_store")
        }
    };
    let (kind, text) = match missing {
        Missing::Commit => (
            FindingKind::MissingWait,
            format!("{what} while {other} is in flight: no wait for an mbarrier with its `{wait}`"),
        ),
        Missing::Form => (
            FindingKind::MissingWait,
            format!(
                "{what} while {other} is in flight, which has another shape or other types: only equal ones are in order, \
                 so wait for an mbarrier with its `{wait}`"
            ),
        ),
        Missing::Wait => {
            (FindingKind::MissingWait, format!("{what} while {other} is in flight: no `{wait}()` after it"))
        }
        Missing::Order => (
            if matches!(access.what, TensorUse::Load | TensorUse::Operand { .. }) {
                FindingKind::ReadWriteRace
            } else {
                FindingKind::Overwritten
            },
            format!("{what} and {other}: nothing orders them"),
        ),
        Missing::FenceBefore => (
            FindingKind::MissingFence,
            format!(
                "{what} after {other}, which no `tcgen05_fence_before_thread_sync()` follows before the synchronisation"
            ),
        ),
        Missing::FenceAfter => (
            FindingKind::MissingFence,
            format!(
                "{what} after {other}, without `tcgen05_fence_after_thread_sync()` behind the wait for it"
            ),
        ),
    };
    let message = Message::with_line(text, line);
    machine.report(kind, access.site, warp.number, lanes, None, |_| message);
}
