//! Views as affine maps into a memory's coordinates: what a tile, a window or a vector's element names.

use super::{Machine, Memory, Run, Slot, Thread, stuck};
use crate::tree::*;
use crate::types::Type;
use crate::value::{self, Value};

/// Elements of a memory: the affine map from a view's coordinates to the memory's.
#[derive(Clone, Debug)]
pub struct View {
    pub memory: usize,
    /// The memory's coordinate of the first element.
    origin: Vec<i128>,
    /// Each mode: its extent, and the step in the memory's coordinates.
    pub modes: Vec<(i128, Vec<i128>)>,
    /// The modes of a vector.
    pub vector: Vec<(i128, Vec<i128>)>,
    pad: Option<Value>,
}

impl View {
    /// Every coordinate, the vector's modes behind.
    pub fn elements(&self) -> Vec<Vec<i128>> {
        let mut all = vec![vec![]];
        for (extent, _) in self.modes.iter().chain(&self.vector) {
            let longer =
                |at: &Vec<i128>| (0..*extent).map(|i| [at.as_slice(), &[i]].concat()).collect::<Vec<_>>();
            all = all.iter().flat_map(longer).collect();
        }
        all
    }

    /// Moves the first element by so many steps of each mode.
    fn advance(&mut self, counts: &[i128]) {
        for ((_, step), count) in self.modes.iter().zip(counts) {
            for (origin, step) in self.origin.iter_mut().zip(step) {
                *origin = origin.saturating_add(step.saturating_mul(*count));
            }
        }
    }

    fn cut(&mut self, extents: &[i64]) {
        self.modes.iter_mut().zip(extents).for_each(|(mode, extent)| mode.0 = (*extent).into());
    }
}

impl<'a> Machine<'a> {
    pub fn allocate(&mut self, extents: &[i64], elem: Type) -> usize {
        let count = extents.iter().product::<i64>() as usize;
        self.memories.push(Memory { extents: extents.to_vec(), elem, elements: vec![None; count] });
        self.memories.len() - 1
    }

    pub fn whole(&self, memory: usize) -> View {
        let extents = &self.memories[memory].extents;
        let unit = |mode: usize| (0..extents.len()).map(|other| i128::from(other == mode)).collect();
        View {
            memory,
            origin: vec![0; extents.len()],
            modes: extents.iter().enumerate().map(|(mode, extent)| ((*extent).into(), unit(mode))).collect(),
            vector: vec![],
            pad: None,
        }
    }

    pub fn view(&mut self, place: &'a Place, thread: &mut Thread) -> Run<View> {
        let mut view = match place.base {
            Base::Tensor(number) => self.whole(number),
            Base::View(var) => match &thread.vars[var] {
                Some(Slot::View(view)) => view.clone(),
                _ => return stuck("a view without a value"),
            },
        };
        for step in &place.steps {
            match step {
                Step::Tile(extents, at) => {
                    let at = self.coordinates(at, thread)?;
                    let start: Vec<i128> = at
                        .iter()
                        .zip(extents)
                        .map(|(at, extent)| at.saturating_mul((*extent).into()))
                        .collect();
                    self.left_64_bits |= start.iter().any(|start| i64::try_from(*start).is_err());
                    view.advance(&start);
                    view.cut(extents);
                }
                Step::Window(extents, at) => {
                    let at = self.coordinates(at, thread)?;
                    view.advance(&at);
                    view.cut(extents);
                }
                Step::Slice(at) => {
                    let at = self.index(at, thread)?;
                    view.advance(&[at]);
                    view.modes.remove(0);
                }
                Step::Rank(rank) => {
                    let (rank, cluster) = (self.index(rank, thread)?, self.kernel.cluster);
                    let first = thread.block - thread.block % cluster;
                    let block = u32::try_from(rank).ok().filter(|rank| *rank < cluster);
                    let (Some(rank), Base::View(var)) = (block, place.base) else {
                        return stuck("a rank beyond the cluster");
                    };
                    match self.shared.get(&(first + rank, var)) {
                        Some(memory) => view.memory = *memory,
                        None => return stuck("a tensor that no other block has"),
                    }
                }
                Step::Transpose => view.modes.reverse(),
                Step::Vectorize(extents) => {
                    for (mode, extent) in view.modes.iter_mut().zip(extents) {
                        let extent = i128::from(*extent);
                        view.vector.push((extent, mode.1.clone()));
                        mode.0 /= extent;
                        mode.1.iter_mut().for_each(|step| *step *= extent);
                    }
                }
                Step::Distribute { threads, columns, thread: number } => {
                    let mut number = self.index(number, thread)?;
                    let mut at = vec![0; threads.len()];
                    let mut order: Vec<usize> = (0..threads.len()).collect();
                    if !columns {
                        order.reverse();
                    }
                    for mode in order {
                        at[mode] = number % i128::from(threads[mode]);
                        number /= i128::from(threads[mode]);
                    }
                    view.advance(&at);
                    for (mode, count) in view.modes.iter_mut().zip(threads) {
                        mode.0 /= i128::from(*count);
                        mode.1.iter_mut().for_each(|step| *step *= i128::from(*count));
                    }
                }
                Step::Pad(value) => view.pad = Some(*value),
            }
        }
        Ok(view)
    }

    pub fn copied(&mut self, view: &View) -> Run<View> {
        let modes: Vec<i64> = view.modes.iter().chain(&view.vector).map(|mode| mode.0 as i64).collect();
        let memory = self.allocate(&modes, self.memories[view.memory].elem);
        let mut local = self.whole(memory);
        for at in view.elements() {
            let value = self.load(view, &at)?;
            self.store(&local, &at, value);
        }
        local.vector = local.modes.split_off(view.modes.len());
        Ok(local)
    }

    /// The number of an element in its memory; `None` outside.
    fn offset(&self, view: &View, at: &[i128]) -> Option<usize> {
        let extents = &self.memories[view.memory].extents;
        let mut offset: usize = 0;
        for (mode, extent) in extents.iter().enumerate() {
            let steps = view.modes.iter().chain(&view.vector).zip(at);
            let moved = steps.fold(view.origin[mode], |sum, ((_, step), at)| {
                sum.saturating_add(step[mode].saturating_mul(*at))
            });
            let inside = (0..i128::from(*extent)).contains(&moved);
            offset = offset * *extent as usize + inside.then_some(moved as usize)?;
        }
        Some(offset)
    }

    pub fn load(&mut self, view: &View, at: &[i128]) -> Run<Value> {
        let offset = self.offset(view, at);
        self.outside |= offset.is_none();
        let memory = &self.memories[view.memory];
        match offset {
            Some(offset) => match memory.elements[offset] {
                Some(value) => Ok(value),
                None => stuck("read before it is written"),
            },
            None => Ok(view.pad.unwrap_or(value::zero(memory.elem))),
        }
    }

    pub fn store(&mut self, view: &View, at: &[i128], value: Value) {
        match self.offset(view, at) {
            Some(offset) => self.memories[view.memory].elements[offset] = Some(value),
            None => self.outside = true,
        }
    }
}
