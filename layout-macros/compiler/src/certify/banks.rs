//! Bank conflicts of accesses to shared memory, of the block's first warp in the first round of each loop.
//!
//! Law: lanes that the facts around an access exclude take no part. An access whose index is of a value that differs between
//! threads and is not known here is left out, so each number is that of a launch, of its first warp.

use super::names::Names;
use super::sites::{self, Site};
use super::uniform::{Uniform, uniform};
use crate::check::Checked;
use crate::index::{Atom, AtomId, Index};
use crate::ir::Special;
use crate::origin::Position;
use crate::program::{Space, Transport};
use layout_core::analysis::{BANKS, ways};

/// An access to shared memory that takes several passes.
///
/// ```
/// # use layout_compiler::{ParamSet, Promises, bank_conflicts, compile};
/// # use layout_cuda::tiled_kernel;
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn column(x: &mut LayoutTensor<f32, RowMajor<32>>) {
///     let mut tile = shared::<f32>(row_major([32, 32]));
///     tile[[thread_idx.x, 0]] = x[[thread_idx.x]];
///     barrier();
///     x[[thread_idx.x]] = tile[[0, thread_idx.x]];
/// }
/// let checked = compile(&column::DEFINITION.kernel()?, &ParamSet::default(), Promises::USUAL)?;
/// let [conflict] = &bank_conflicts(&checked)[..] else { panic!("the write") };
/// assert_eq!((conflict.tensor.as_str(), conflict.writes, conflict.ways), ("tile", true, 32));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BankConflict {
    /// Where in the kernel's Rust file.
    pub position: Position,
    /// The tensor's name.
    pub tensor: String,
    /// Whether it is written.
    pub writes: bool,
    /// Passes over the banks of the worst group of lanes that are served together.
    pub ways: i64,
}

/// The accesses of a variant that conflict, in the order of the kernel's lines, each line's worst.
///
/// ```
/// # use layout_compiler::{ParamSet, Promises, bank_conflicts, compile};
/// # use layout_cuda::tiled_kernel;
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn row(x: &mut LayoutTensor<f32, RowMajor<32>>) {
///     let mut tile = shared::<f32>(row_major([32]));
///     tile[[thread_idx.x]] = x[[thread_idx.x]];
///     x[[thread_idx.x]] = tile[[thread_idx.x]];
/// }
/// let checked = compile(&row::DEFINITION.kernel()?, &ParamSet::default(), Promises::USUAL)?;
/// assert_eq!(bank_conflicts(&checked), []);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn bank_conflicts(checked: &Checked) -> Vec<BankConflict> {
    let (tables, body) = (checked.tables(), checked.body());
    let over = [false, true].map(|grid| uniform(tables, body, grid));
    let found = sites::find(tables, &checked.facts, [&over[0], &over[1]], body);
    let warp = Warp { checked, uniform: &over[0], names: Names::new(tables, body) };
    let mut list: Vec<BankConflict> = Vec::new();
    for site in &found.sites {
        let Some(ways) = warp.ways(site).filter(|ways| *ways > 1) else { continue };
        let position = tables.positions.get(site.access.origin.0 as usize).copied().unwrap_or_default();
        let tensor = tables.place(site.access.place).name.clone();
        let one = BankConflict { position, tensor, writes: site.way.writes(), ways };
        let like = |known: &&mut BankConflict| {
            (known.position, known.writes, &known.tensor) == (one.position, one.writes, &one.tensor)
        };
        match list.iter_mut().find(like) {
            Some(known) => known.ways = known.ways.max(ways),
            None => list.push(one),
        }
    }
    list.sort_by_key(|one| one.position);
    list
}

struct Warp<'c> {
    checked: &'c Checked,
    uniform: &'c Uniform,
    names: Names,
}

impl Warp<'_> {
    /// Passes of an access; `None` where the lanes' addresses are not known, or it is not by the threads.
    fn ways(&self, site: &Site<'_>) -> Option<i64> {
        let place = self.checked.tables().place(site.access.place);
        let Space::Shared { byte_offset } = place.space else { return None };
        if !matches!(site.means, Transport::Thread | Transport::Atomic | Transport::CopyAsync) {
            return None;
        }
        let bytes = i64::from(place.elem.bytes());
        let width = Some(i64::from(site.access.width) * bytes).filter(|width| *width <= 16)?;
        let element = self.names.element(site.access)?;
        let lanes = self.lanes();
        let mut addresses = Vec::with_capacity(lanes.len());
        for lane in &lanes {
            let element = self.value(&element, (*lane, true))?;
            addresses.push(Some(element.checked_mul(bytes)?.checked_add(i64::from(byte_offset))?));
        }
        for fact in &site.facts {
            let holds =
                lanes.iter().map(|lane| self.value(fact, (*lane, false)).is_none_or(|value| value >= 0));
            addresses.iter_mut().zip(holds).filter(|(_, holds)| !holds).for_each(|(lane, _)| *lane = None);
        }
        Some(ways(&addresses, width))
    }

    /// The thread of each lane, along each axis.
    fn lanes(&self) -> Vec<[i64; 3]> {
        let [x, y, z] = self.checked.plan().block.map(i64::from);
        let place = |lane: i64| [lane % x.max(1), lane / x.max(1) % y.max(1), lane / (x * y).max(1)];
        (0..BANKS.min(x * y * z)).map(place).collect()
    }

    /// The value of an index in a lane; with `least`, of what is the same in all lanes and not known the least value, since it moves
    /// all of them alike.
    fn value(&self, index: &Index, lane: ([i64; 3], bool)) -> Option<i64> {
        index.evaluate(&mut |id| self.atom(id, lane))
    }

    fn atom(&self, id: AtomId, lane: ([i64; 3], bool)) -> Option<i64> {
        let facts = self.checked.tables().atoms.facts(id);
        let least = || lane.1.then(|| i64::try_from(facts.range.low).unwrap_or(0));
        match &facts.atom {
            Atom::Special(Special::ThreadIdx, axis) => lane.0.get(*axis as usize).copied(),
            Atom::Special(Special::BlockDim, axis) => {
                self.checked.plan().block.get(*axis as usize).map(|threads| i64::from(*threads))
            }
            Atom::Variable(variable, _) => match &facts.definition {
                Some(definition) => self.value(definition, lane),
                None => self.uniform.variable(*variable).then(least).flatten(),
            },
            Atom::Special(..) | Atom::Dim { .. } | Atom::Stride { .. } | Atom::Argument(_) => least(),
            atom => atom.evaluate(|part| self.value(part, lane)),
        }
    }
}
