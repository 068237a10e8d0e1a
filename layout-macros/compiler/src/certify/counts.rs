//! What a program has in flight for longer than a statement, and the ghost counters of its accesses.
//!
//! Law: a program without anything asynchronous has no counters. Mbarriers whose memory is also accessed otherwise order nothing.

use super::counters::{Key, State, apart};
use super::mbarriers;
use super::names::Names;
use super::replay::{Moment, Replay};
use super::sites::{Line, Sites};
use super::threads::Threads;
use crate::check::Checked;
use crate::index::Index;
use crate::program::{
    Access, MatrixSource, Operation, Part, SharedMatrix, Signal, Space, StatementKind, Transport, walk,
};
use std::collections::{BTreeMap, HashMap};

/// What is in flight, and what is counted.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub moments: HashMap<usize, Vec<Moment>>,
    /// The arrays of mbarriers that order, with the threads that arrive.
    pub arrays: Vec<(u32, Threads)>,
    /// Pairs of arrays: what the first one's wait orders, an arrival at the second one does.
    pub handed: Vec<(u32, u32)>,
    /// Why others do not.
    pub wrong: BTreeMap<u32, &'static str>,
    /// The loads by tensor map, each with its array.
    pub loads: HashMap<*const Line, u32>,
    /// The tensor maps of loads and stores.
    pub maps: HashMap<*const Line, u32>,
    /// Whether all stores have read shared memory at the kernel's end.
    pub is_read: bool,
    /// Bytes of each matrix in shared memory that the matrix units read, and of a row of its swizzle.
    pub products: HashMap<*const Access, (i64, i64)>,
}

/// Bytes of a matrix in shared memory, from its first element's on, the whole of the last row of a swizzle.
fn span(matrix: &SharedMatrix, rows: u32, size: u32) -> i64 {
    let (swizzle, size) = (i64::from(matrix.swizzle_bytes), i64::from(size.max(1)));
    let (stride, leading) = (i64::from(matrix.stride_bytes), i64::from(matrix.leading_bytes));
    let (rows, last) = (i64::from(rows), |count: i64, each: i64| (count - 1).div_euclid(each.max(1)));
    match matrix.k_major {
        true => last(rows, 8) * stride + 8 * swizzle,
        false => last(rows, swizzle / size) * leading + last(32 / size, 8) * stride + 8 * swizzle,
    }
}

/// Counts what a program has in flight; nothing where it has nothing.
pub(super) fn count<'a>(
    checked: &'a Checked,
    names: &mut Names,
    sites: &Sites<'a>,
    block: [i64; 3],
) -> Counts {
    let (mut found, mut any) = (Counts::default(), false);
    walk::statements(checked.body(), &mut |part| {
        let Part::Statement(line) = part else { return };
        let key = std::ptr::from_ref(line);
        if let StatementKind::Operation(operation) = &line.kind {
            match operation {
                Operation::TensorLoad(load) => {
                    found.loads.insert(key, load.barrier.place.0);
                    found.maps.insert(key, load.map);
                }
                Operation::TensorStore(store) => drop(found.maps.insert(key, store.map)),
                Operation::Wgmma(product) => {
                    let size = product.elem.bytes();
                    let mut add = |matrix: &SharedMatrix, rows| {
                        let own = (span(matrix, rows, size), i64::from(matrix.swizzle_bytes));
                        found.products.insert(std::ptr::from_ref(&matrix.first), own);
                    };
                    add(&product.b, product.n);
                    if let MatrixSource::Shared(matrix) = &product.a {
                        add(matrix, 64);
                    }
                }
                _ => {}
            }
            any |= !matches!(operation.means(), Transport::Thread | Transport::Matrix | Transport::Atomic);
        }
        any |= matches!(&line.kind, StatementKind::Signal(signal) if signal.parts().0.is_some());
    });
    if !any {
        return found;
    }
    let (tables, body) = (checked.tables(), checked.body());
    let mut replay = Replay::new(names, tables, sites, (block, &checked.plan().maps), body);
    let mut arrays: Vec<u32> = Vec::new();
    walk::statements(body, &mut |part| {
        if let Part::Statement(line) = part
            && let StatementKind::Signal(Signal::BarrierInit { barrier, .. }) = &line.kind
            && !arrays.contains(&barrier.place.0)
        {
            arrays.push(barrier.place.0);
        }
    });
    // One array's first number is found by a run, at most.
    for _ in 0..=arrays.len() {
        replay.moments.clear();
        replay.arrays.clear();
        replay.storing.clear();
        let end = replay.list(body, begins(&arrays, &replay.starts));
        let end = end.and_then(|end| {
            let in_flight = apart(end.get(Key::Stores)?, end.get(Key::StoresRead)?)?;
            Some(in_flight + end.get(Key::StoresOpen)?.as_constant()?)
        });
        // By the same threads everywhere: then one's count is that of each.
        let mut storing = replay.storing.iter();
        found.is_read = end == Some(0) && storing.all(|own| !own.mixed) && replay.storing.len() <= 1;
        let wanted = std::mem::take(&mut replay.wanted);
        if wanted.is_empty() {
            break;
        }
        replay.starts.extend(wanted);
    }
    overlapping(&mut replay);
    let (arrays, moments) = (replay.arrays, replay.moments);
    for (place, verdict) in mbarriers::judge(&names.atoms, &arrays) {
        match verdict {
            Ok(()) => found.arrays.extend(arrays[&place].threads.iter().map(|set| (place, set.clone()))),
            Err(reason) => drop(found.wrong.insert(place, reason)),
        }
    }
    found.handed = mbarriers::handed(&names.atoms, &arrays);
    found.moments = moments;
    found
}

/// Mbarriers in memory that is also accessed otherwise order nothing.
fn overlapping(replay: &mut Replay<'_, '_>) {
    let tables = replay.tables;
    let bytes = |place: u32| {
        let place = tables.places.get(place as usize)?;
        match place.space {
            Space::Shared { byte_offset } => {
                let from = u64::from(byte_offset);
                Some((from, from.saturating_add(place.len.saturating_mul(u64::from(place.elem.bytes())))))
            }
            _ => None,
        }
    };
    let all: Vec<u32> = replay.sites.sites.iter().map(|site| site.access.place.0).collect();
    let arrays: Vec<u32> = replay.arrays.keys().copied().collect();
    for (place, array) in &mut replay.arrays {
        let own = bytes(*place);
        let mut others = all.iter().chain(arrays.iter().filter(|other| *other != place));
        let meets = |other: &u32| match (own, bytes(*other)) {
            (Some((from, to)), Some((other, end))) => from < end && other < to,
            _ => false,
        };
        if own.is_none() || others.any(meets) {
            array.refuse("its memory is also accessed otherwise");
        }
    }
}

fn begins(arrays: &[u32], starts: &BTreeMap<u32, i64>) -> State {
    let mut state = State::default();
    let mut set = |key, value| state.set(key, Some(Index::constant(value)));
    for key in [
        Key::Barriers,
        Key::Commits,
        Key::Done,
        Key::DoneAll,
        Key::Fences,
        Key::FencesAll,
        Key::BarriersFenced,
        Key::Products,
        Key::ProductsDone,
        Key::ProductsDoneAll,
        Key::Stores,
        Key::StoresRead,
        Key::StoresReadAll,
        Key::StoresOpen,
    ] {
        set(key, 0);
    }
    for array in arrays {
        let start = starts.get(array).copied().unwrap_or(0);
        set(Key::Waits(*array), start);
        set(Key::Seen(*array), start);
        set(Key::Arrivals(*array), 0);
        set(Key::Bytes(*array), 0);
    }
    state
}

impl Counts {
    pub(super) fn is_any(&self) -> bool {
        !self.moments.is_empty()
    }
}
