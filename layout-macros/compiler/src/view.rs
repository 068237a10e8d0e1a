//! Views: an affine map from coordinates to the elements of a place, and the conditions under which they exist.
//!
//! A view keeps its tensor. Next to the memory offset it carries, for each edge that its coordinates may cross, the
//! same affine map to that edge's coordinate (CuTe's identity tensor): [`Bound`]. So a mask is exact after any chain
//! of tiles, vectors and distributions, and a mask that is proved true disappears.
//!
//! Law: element `c` of a view exists iff every bound holds at `c`; then `offset + Σ c·stride` is in the place.

use super::index::{Index, IndexOverflow, VarId};
use super::program::{Claim, Hint, Pad, PlaceId, Scope};
use layout_core::Swizzle;

/// A view of a place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct View {
    /// The place.
    pub place: PlaceId,
    /// A pointer variable for the part of the offset that has a name, and that part.
    pub pointer: Option<(VarId, Index)>,
    /// The offset of element zero, elements, from the pointer.
    pub offset: Index,
    /// The modes.
    pub modes: Vec<Mode>,
    /// The edges that coordinates might cross.
    pub bounds: Vec<Bound>,
    /// Over the place's element offsets.
    pub swizzle: Option<Swizzle>,
    /// What an element beyond an edge reads as, where the user said.
    pub pad: Option<Pad>,
    /// Whether it may be written.
    pub mutable: bool,
    /// The scope of its atomic operations, where the user said one.
    pub scope: Option<Scope>,
    /// How the caches are to keep its elements, where the user said so; of an argument only.
    pub hint: Option<Hint>,
    /// What its tiles, windows and slices promise: that each of them is inside of what it is of.
    pub claims: Vec<Claim>,
}

/// A mode of a view: `extent` vectors, each of `lanes` elements.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mode {
    /// How many vectors (elements where `lanes` is 1).
    pub extent: Index,
    /// Elements from one vector to the next.
    pub stride: Index,
    /// Elements of a vector along this mode.
    pub lanes: i64,
    /// Elements from one lane to the next.
    pub lane_stride: Index,
    /// Whether a bound catches a coordinate beyond `extent`.
    pub bounded: bool,
}

/// `0 <= base + Σ c·step + Σ l·lane_step < extent`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bound {
    /// The edge's coordinate of element zero.
    pub base: Index,
    /// For each mode the edge's coordinate from one vector to the next.
    pub steps: Vec<Index>,
    /// For each mode the edge's coordinate from one lane to the next.
    pub lane_steps: Vec<Index>,
    /// The edge.
    pub extent: Index,
}

type Fallible<T> = Result<T, IndexOverflow>;

impl View {
    /// The whole of a place whose modes have these extents and strides.
    pub(crate) fn whole(place: PlaceId, extents: Vec<Index>, strides: Vec<Index>, mutable: bool) -> View {
        let rank = extents.len();
        let unit = |mode: usize| (0..rank).map(|i| Index::constant(i64::from(i == mode))).collect::<Vec<_>>();
        let zero = vec![Index::constant(0); rank];
        let bounds = extents
            .iter()
            .enumerate()
            .map(|(mode, extent)| Bound {
                base: Index::constant(0),
                steps: unit(mode),
                lane_steps: zero.clone(),
                extent: extent.clone(),
            })
            .collect();
        let modes = extents
            .into_iter()
            .zip(strides)
            .map(|(extent, stride)| Mode {
                extent,
                stride,
                lanes: 1,
                lane_stride: Index::constant(0),
                bounded: true,
            })
            .collect();
        View {
            place,
            pointer: None,
            offset: Index::constant(0),
            modes,
            bounds,
            swizzle: None,
            pad: None,
            mutable,
            scope: None,
            hint: None,
            claims: Vec::new(),
        }
    }

    /// The number of modes.
    pub(crate) fn rank(&self) -> usize {
        self.modes.len()
    }

    /// Elements of a vector of the view.
    pub(crate) fn lanes(&self) -> i64 {
        self.modes.iter().map(|mode| mode.lanes).product()
    }

    /// The offset from the place's first element: the pointer's part and the rest.
    pub(crate) fn full_offset(&self) -> Fallible<Index> {
        match &self.pointer {
            Some((_, index)) => index.add(&self.offset),
            None => Ok(self.offset.clone()),
        }
    }

    /// Shows every index that its elements depend on.
    pub(crate) fn indices<'v>(&'v self, see: &mut impl FnMut(&'v Index)) {
        see(&self.offset);
        self.pointer.iter().for_each(|(_, index)| see(index));
        for mode in &self.modes {
            [&mode.extent, &mode.stride, &mode.lane_stride].into_iter().for_each(&mut *see);
        }
        for bound in &self.bounds {
            [&bound.base, &bound.extent].into_iter().for_each(&mut *see);
            bound.steps.iter().chain(&bound.lane_steps).for_each(&mut *see);
        }
        for claim in &self.claims {
            see(&claim.at);
            see(&claim.end);
        }
    }

    /// Changes them.
    pub(crate) fn map_indices(&mut self, change: &mut impl FnMut(&mut Index)) {
        change(&mut self.offset);
        self.pointer.iter_mut().for_each(|(_, index)| change(index));
        for mode in &mut self.modes {
            [&mut mode.extent, &mut mode.stride, &mut mode.lane_stride].into_iter().for_each(&mut *change);
        }
        for bound in &mut self.bounds {
            [&mut bound.base, &mut bound.extent].into_iter().for_each(&mut *change);
            bound.steps.iter_mut().chain(&mut bound.lane_steps).for_each(&mut *change);
        }
        for claim in &mut self.claims {
            change(&mut claim.at);
            change(&mut claim.end);
        }
    }

    /// Moves element zero by `count` vectors along `mode`.
    fn shift(&mut self, mode: usize, count: &Index) -> Fallible<()> {
        self.offset = self.offset.add(&count.mul(&self.modes[mode].stride)?)?;
        for bound in &mut self.bounds {
            bound.base = bound.base.add(&count.mul(&bound.steps[mode])?)?;
        }
        Ok(())
    }

    /// Adds the edge `c < extent` of a mode that no bound catches.
    pub(crate) fn close(&mut self, mode: usize) {
        if self.modes[mode].bounded {
            return;
        }
        let zeros = vec![Index::constant(0); self.rank()];
        let mut steps = zeros.clone();
        steps[mode] = Index::constant(1);
        let extent = self.modes[mode].extent.clone();
        self.bounds.push(Bound { base: Index::constant(0), steps, lane_steps: zeros, extent });
        self.modes[mode].bounded = true;
    }

    /// Whether `size` divides the extent of a mode, for all that is known.
    fn divides(&self, mode: usize, size: i64) -> bool {
        self.modes[mode].extent.as_constant().is_some_and(|extent| extent % size == 0)
    }

    /// Tile `coordinates` of extents `sizes`.
    pub(crate) fn tile(&self, sizes: &[i64], coordinates: &[Index]) -> Fallible<View> {
        let mut view = self.clone();
        for (mode, (size, coordinate)) in sizes.iter().zip(coordinates).enumerate() {
            if !self.divides(mode, *size) {
                view.close(mode);
            }
            if let Some(extent) = self.modes[mode].extent.as_constant() {
                view.claims
                    .push(Claim { at: coordinate.clone(), end: Index::constant(extent / size.max(&1)) });
            }
            view.shift(mode, &coordinate.scale(*size)?)?;
            view.modes[mode].extent = Index::constant(*size);
            view.modes[mode].bounded = false;
        }
        Ok(view)
    }

    /// The `sizes` vectors from vector `start` on, which may reach past every edge.
    pub(crate) fn window(&self, sizes: &[i64], start: &[Index]) -> Fallible<View> {
        let mut view = self.clone();
        for (mode, (size, start)) in sizes.iter().zip(start).enumerate() {
            view.close(mode);
            let end = self.modes[mode].extent.plus(1 - size)?;
            view.claims.push(Claim { at: start.clone(), end });
            view.shift(mode, start)?;
            view.modes[mode].extent = Index::constant(*size);
            view.modes[mode].bounded = false;
        }
        Ok(view)
    }

    /// The view of vectors of these extents.
    pub(crate) fn vectorize(
        &self,
        lanes: &[i64],
        ceil: &mut impl FnMut(&Index, i64) -> Fallible<Index>,
    ) -> Fallible<View> {
        let mut view = self.clone();
        for (mode, lanes) in lanes.iter().enumerate() {
            if *lanes == 1 {
                continue;
            }
            if !self.divides(mode, *lanes) {
                view.close(mode);
            }
            let old = &self.modes[mode];
            view.modes[mode] = Mode {
                extent: ceil(&old.extent, *lanes)?,
                stride: old.stride.scale(*lanes)?,
                lanes: *lanes,
                lane_stride: old.stride.clone(),
                bounded: view.modes[mode].bounded,
            };
            for bound in &mut view.bounds {
                bound.lane_steps[mode] = bound.steps[mode].clone();
                bound.steps[mode] = bound.steps[mode].scale(*lanes)?;
            }
        }
        Ok(view)
    }

    /// Of each mode every `threads[mode]`-th vector, from `own[mode]` on.
    pub(crate) fn distribute(
        &self,
        threads: &[i64],
        own: &[Index],
        ceil: &mut impl FnMut(&Index, i64) -> Fallible<Index>,
    ) -> Fallible<View> {
        let mut view = self.clone();
        for (mode, (threads, own)) in threads.iter().zip(own).enumerate() {
            if *threads == 1 {
                continue;
            }
            if !self.divides(mode, *threads) {
                view.close(mode);
            }
            view.shift(mode, own)?;
            let old = &self.modes[mode];
            view.modes[mode].extent = ceil(&old.extent, *threads)?;
            view.modes[mode].stride = old.stride.scale(*threads)?;
            for bound in &mut view.bounds {
                bound.steps[mode] = bound.steps[mode].scale(*threads)?;
            }
        }
        Ok(view)
    }

    /// The one element at a lane of a vector, as a view of single elements: each mode has one.
    pub(crate) fn at_element(&self, vectors: &[Index], lanes: &[Index]) -> Fallible<View> {
        let mut view = self.clone();
        for mode in 0..self.rank() {
            view.close(mode);
        }
        for (mode, (vector, lane)) in vectors.iter().zip(lanes).enumerate() {
            view.shift(mode, vector)?;
            view.offset = view.offset.add(&lane.mul(&self.modes[mode].lane_stride)?)?;
            for bound in &mut view.bounds {
                bound.base = bound.base.add(&lane.mul(&bound.lane_steps[mode])?)?;
                bound.lane_steps[mode] = Index::constant(0);
            }
            let own = &mut view.modes[mode];
            (own.extent, own.lanes, own.lane_stride) = (Index::constant(1), 1, Index::constant(0));
        }
        Ok(view)
    }

    /// Element `coordinate` of the first mode, without that mode.
    pub(crate) fn slice(&self, coordinate: &Index) -> Fallible<View> {
        let mut view = self.clone();
        view.close(0);
        view.claims.push(Claim { at: coordinate.clone(), end: self.modes[0].extent.clone() });
        view.shift(0, coordinate)?;
        view.modes.remove(0);
        for bound in &mut view.bounds {
            bound.steps.remove(0);
            bound.lane_steps.remove(0);
        }
        Ok(view)
    }

    /// Other modes over the same elements: element zero moves by `shift[m]` along mode `m`, and the new mode `i` has
    /// `modes[i].0` elements, each `modes[i].1[m]` further along mode `m`. Of a view without vectors, whose elements
    /// named by the new modes are all among its own.
    pub(crate) fn rearrange(&self, shift: &[Index], modes: &[(i64, Vec<i64>)]) -> Fallible<View> {
        let mut view = self.clone();
        for (mode, count) in shift.iter().enumerate() {
            view.shift(mode, count)?;
        }
        let along = |steps: &[i64], of: &dyn Fn(usize) -> Index| -> Fallible<Index> {
            let mut sum = Index::constant(0);
            for (mode, step) in steps.iter().enumerate() {
                sum = sum.add_scaled(&of(mode), *step)?;
            }
            Ok(sum)
        };
        view.modes = modes
            .iter()
            .map(|(extent, steps)| {
                Ok(Mode {
                    extent: Index::constant(*extent),
                    stride: along(steps, &|mode| self.modes[mode].stride.clone())?,
                    lanes: 1,
                    lane_stride: Index::constant(0),
                    bounded: false,
                })
            })
            .collect::<Fallible<Vec<Mode>>>()?;
        for (bound, old) in view.bounds.iter_mut().zip(&self.bounds) {
            bound.lane_steps = vec![Index::constant(0); modes.len()];
            bound.steps = modes
                .iter()
                .map(|(_, steps)| along(steps, &|mode| old.steps[mode].clone()))
                .collect::<Fallible<Vec<Index>>>()?;
        }
        Ok(view)
    }

    /// The modes in reverse order.
    pub(crate) fn transpose(&self) -> View {
        let mut view = self.clone();
        view.modes.reverse();
        for bound in &mut view.bounds {
            bound.steps.reverse();
            bound.lane_steps.reverse();
        }
        view
    }

    /// The offset of an element from the pointer, and the edge coordinate with its extent for each bound.
    pub(crate) fn element(
        &self,
        coordinates: &[Index],
        lanes: &[i64],
    ) -> Fallible<(Index, Vec<(Index, Index)>)> {
        let mut offset = self.offset.clone();
        for ((mode, coordinate), lane) in self.modes.iter().zip(coordinates).zip(lanes) {
            offset = offset.add(&coordinate.mul(&mode.stride)?)?.add_scaled(&mode.lane_stride, *lane)?;
        }
        let mut edges = Vec::with_capacity(self.bounds.len());
        for bound in &self.bounds {
            let mut at = bound.base.clone();
            for (i, coordinate) in coordinates.iter().enumerate() {
                at = at.add(&coordinate.mul(&bound.steps[i])?)?.add_scaled(&bound.lane_steps[i], lanes[i])?;
            }
            edges.push((at, bound.extent.clone()));
        }
        Ok((offset, edges))
    }
}
