//! Binding a launch plan to the tensors of one launch: checks that extents agree, layouts fit and promises hold.
//!
//! Law: the checked kernel is correct for every launch that [`LaunchPlan::bind`] accepts.

use super::bind_error::{BindError, ViolatedPromise};
use super::elem::Elem;
use super::index::{Atom, AtomId, Index, Size};
use super::launch::{Extent, KernelParameter, LaunchPlan, PlanArgumentKind, PlanLayout};
use super::params::{NARROW_LIMIT, WIDE_LIMIT};
use super::program::{Comparison, TensorMap};

/// An argument of one launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LaunchArgument<'a> {
    /// A tensor: extents, strides in elements, the address of its first element, the elements behind that address.
    Tensor {
        /// Of what.
        elem: Elem,
        /// Extents.
        shape: &'a [usize],
        /// Strides, elements.
        strides: &'a [usize],
        /// The address, for its alignment.
        address: u64,
        /// The elements that may be reached from there.
        len: usize,
    },
    /// A scalar of an element type: 8 bytes, little-endian, zero-extended.
    Scalar(Elem, u64),
    /// An index.
    Index(i64),
}

/// A launch, ready: the values of everything in [`LaunchPlan::parameters`] but addresses and scalars.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// Blocks of the grid. A zero means that there is nothing to do.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// The value of each dimension.
    pub dims: Vec<i64>,
    /// The value of each entry of [`LaunchPlan::parameters`]; 0 for pointers, tensor maps and scalars.
    pub values: Vec<i64>,
    /// What each entry of [`LaunchPlan::maps`] is made of.
    pub maps: Vec<BoundMap>,
    /// Argument, extent and stride, in elements, of each mode of each tensor; none after [`LaunchPlan::bind_into`].
    pub modes: Vec<(usize, u64, u64)>,
}

impl Bound {
    /// Lists the modes of the launch's tensors.
    pub fn list_modes(&mut self, arguments: &[LaunchArgument<'_>]) {
        self.modes.clear();
        for (number, argument) in arguments.iter().enumerate() {
            if let LaunchArgument::Tensor { shape, strides, .. } = argument {
                let both = shape.iter().zip(*strides);
                self.modes.extend(both.map(|(extent, stride)| (number, *extent as u64, *stride as u64)));
            }
        }
    }

    /// Extent and stride, in elements, of each mode of an argument; none for an argument that is no tensor.
    pub fn modes(&self, argument: usize) -> impl Iterator<Item = (u64, u64)> {
        let own = self.modes.iter().filter(move |(number, ..)| *number == argument);
        own.map(|(_, extent, stride)| (*extent, *stride))
    }
}

/// A tensor as a tensor map describes it, the contiguous mode first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoundMap {
    /// The extent of each mode, 1 to 2³².
    pub extents: Vec<u64>,
    /// Bytes from one element to the next along each mode after the first; multiples of 16 below 2⁴⁰.
    pub strides: Vec<u64>,
}

/// The most blocks of a grid along each axis.
const MAX_GRID: [i64; 3] = [i32::MAX as i64, 65535, 65535];

impl LaunchPlan {
    /// Binds the plan to arguments, and to a grid where the kernel has none of its own.
    ///
    /// # Errors
    /// The first thing that does not fit; [`BindError::Promise`] where another variant of the kernel would do.
    pub fn bind(&self, arguments: &[LaunchArgument<'_>], grid: Option<[u32; 3]>) -> Result<Bound, BindError> {
        let mut bound = Bound::default();
        self.bind_into(arguments, grid, &mut bound)?;
        bound.list_modes(arguments);
        Ok(bound)
    }

    /// As [`LaunchPlan::bind`], into the lists of an earlier launch, so that nothing is allocated, and without the modes, which a GPU's
    /// launch does not need. After an error they hold nothing of use.
    ///
    /// # Errors
    /// As [`LaunchPlan::bind`].
    pub fn bind_into(
        &self,
        arguments: &[LaunchArgument<'_>],
        grid: Option<[u32; 3]>,
        bound: &mut Bound,
    ) -> Result<(), BindError> {
        if arguments.len() != self.arguments.len() {
            return Err(BindError::Count { expected: self.arguments.len(), found: arguments.len() });
        }
        let Bound { grid: blocks, block, dims, values: parameters, maps, modes } = bound;
        modes.clear();
        dims.clear();
        dims.resize(self.dims.len(), -1);
        for number in 0..arguments.len() {
            self.extents(number, arguments, dims)?;
        }
        dims.iter_mut().for_each(|dim| *dim = (*dim).max(0));
        let values = Values { dims, arguments };
        if !self.computed.is_empty() {
            self.computed_extents(arguments, &values)?;
        }
        for (number, argument) in arguments.iter().enumerate() {
            self.memory(number, argument)?;
        }
        // First: where a variant's conditions do not hold, what it makes of the others' dimensions is no number of theirs.
        if !self.variant_if.iter().all(|condition| values.holds(self, condition)) {
            return Err(BindError::Promise(ViolatedPromise::VariantIf));
        }
        for (condition, text) in &self.require {
            if !values.holds(self, condition) {
                let dims = self.dims.iter().zip(values.dims.iter().copied());
                let named = (0u32..).zip(&self.arguments);
                let indices =
                    named.filter_map(|(number, argument)| Some(&argument.name).zip(values.argument(number)));
                let parts = dims.chain(indices).map(|(name, value)| format!("{name} = {value}"));
                let parts: Vec<String> = parts.collect();
                return Err(BindError::Require { condition: text.clone(), values: parts.join(", ") });
            }
        }
        for axis in 0..3 {
            let count = match (&self.grid, grid) {
                (Some(_), Some(_)) if !self.open_grid => return Err(BindError::GridTwice),
                (Some(extents), None) => values.index(self, &extents[axis]).unwrap_or(i64::MAX),
                (_, Some(given)) => i64::from(given[axis]),
                (None, None) => {
                    return Err(BindError::NoGrid {
                        why: "; write `grid = [..]`, or use `launch_with` and give one".to_owned(),
                    });
                }
            };
            if !(0..=MAX_GRID[axis]).contains(&count) {
                return Err(BindError::Grid { axis, found: count, most: MAX_GRID[axis] });
            }
            let cluster = self.cluster[axis].max(1);
            if cluster > 1 && count % i64::from(cluster) != 0 {
                return Err(BindError::Cluster { axis, found: count, cluster });
            }
            blocks[axis] = count as u32;
        }
        let is_zero = |divisor: &Size| match *divisor {
            Size::Dim(dim) => values.dims.get(dim as usize) == Some(&0),
            Size::Argument(number) => values.argument(number) == Some(0),
        };
        if self.promises.narrow && !blocks.contains(&0) && self.divisors.iter().any(is_zero) {
            return Err(BindError::Promise(ViolatedPromise::Divisor));
        }
        *block = self.block;
        parameters.clear();
        parameters.extend(self.parameters.iter().map(|parameter| match *parameter {
            KernelParameter::Pointer(_)
            | KernelParameter::TensorMap(_)
            | KernelParameter::GridCounter
            | KernelParameter::Failure
            | KernelParameter::Scalar(_) => 0,
            KernelParameter::Index(number) => values.argument(number).unwrap_or(0),
            KernelParameter::Dim(dim) => values.dims.get(dim as usize).copied().unwrap_or(0),
            KernelParameter::Stride { argument, mode } => values.stride(argument, mode).unwrap_or(0),
        }));
        maps.resize_with(self.maps.len(), BoundMap::default);
        for (map, bound) in self.maps.iter().zip(maps) {
            self.map(map, arguments, bound)?;
        }
        Ok(())
    }

    /// A tensor for TMA, which asks for addresses and pitches that are multiples of 16 bytes.
    fn map(
        &self,
        map: &TensorMap,
        arguments: &[LaunchArgument<'_>],
        bound: &mut BoundMap,
    ) -> Result<(), BindError> {
        let number = map.argument as usize;
        let name = || self.arguments.get(number).map(|argument| argument.name.clone()).unwrap_or_default();
        let Some(LaunchArgument::Tensor { shape, strides, address, .. }) = arguments.get(number) else {
            return Err(BindError::Map { argument: name(), reason: "it is no tensor".into() });
        };
        let refuse = |reason: String| Err(BindError::Map { argument: name(), reason });
        if !address.is_multiple_of(16) {
            return refuse(format!("its address {address:#x} is no multiple of 16"));
        }
        let bytes = u64::from(map.elem.bytes());
        let BoundMap { extents, strides: pitches } = bound;
        extents.clear();
        pitches.clear();
        for (step, mode) in map.modes.iter().map(|mode| *mode as usize).enumerate() {
            let (Some(whole), Some(stride)) = (shape.get(mode), strides.get(mode)) else {
                return refuse(format!("it has no mode {mode}"));
            };
            // A tensor of no elements is never read; the driver takes none.
            let extent = (*whole).max(1) as u64;
            // Coordinates have 32 bits, and those beyond the tensor are taken to the end of them.
            if extent > NARROW_LIMIT as u64 {
                return refuse(format!("extent {extent} of mode {mode} is above {NARROW_LIMIT}"));
            }
            extents.push(extent);
            if step == 0 {
                let row = extent.saturating_mul(bytes);
                if map.stored && *whole > 0 && !row.is_multiple_of(16) {
                    return refuse(format!("it writes whole 16 bytes, and the rows end after {row}"));
                }
                continue;
            }
            let pitch = (*stride as u64).saturating_mul(bytes);
            // The pitch of a mode of one element is never used.
            let pitch =
                if extent == 1 { pitch.next_multiple_of(16).clamp(16, (1 << 40) - 16) } else { pitch };
            if !pitch.is_multiple_of(16) || pitch >= 1 << 40 {
                return refuse(format!(
                    "{pitch} bytes from one element to the next along mode {mode} are no multiple of 16"
                ));
            }
            pitches.push(pitch);
        }
        Ok(())
    }

    /// Kind, rank and extents of an argument.
    fn extents(
        &self,
        number: usize,
        arguments: &[LaunchArgument<'_>],
        dims: &mut [i64],
    ) -> Result<(), BindError> {
        let plan = &self.arguments[number];
        let wrong = |expected: String, found: String| BindError::Type {
            argument: plan.name.clone(),
            expected,
            found,
        };
        match (&plan.kind, &arguments[number]) {
            (
                PlanArgumentKind::Tensor { elem, extents, .. },
                LaunchArgument::Tensor { elem: found, shape, strides, .. },
            ) => {
                if elem != found {
                    return Err(wrong(format!("a tensor of {elem}"), format!("a tensor of {found}")));
                }
                if shape.len() != extents.len() || strides.len() != shape.len() {
                    let (argument, expected, found) = (plan.name.clone(), extents.len(), shape.len());
                    return Err(BindError::Rank { argument, expected, found });
                }
                for (mode, (extent, found)) in extents.iter().zip(*shape).enumerate() {
                    let value = i64::try_from(*found).ok().filter(|value| *value <= WIDE_LIMIT);
                    let Some(value) = value else {
                        return Err(BindError::TooLarge { argument: plan.name.clone() });
                    };
                    let (expected, dim) = match *extent {
                        Extent::Static(expected) => (expected, None),
                        Extent::Dim(dim) => {
                            let Some(known) = dims.get_mut(dim as usize) else {
                                let known = format!("one of {} dimensions", self.dims.len());
                                return Err(wrong(known, format!("dimension {dim}")));
                            };
                            if *known < 0 {
                                *known = value;
                            }
                            (*known, Some(dim))
                        }
                        // Once every dimension is known.
                        Extent::Computed(_) => continue,
                    };
                    if expected != value {
                        let dim = dim.map(|dim| (self.dims[dim as usize].clone(), self.giver(dim)));
                        let argument = plan.name.clone();
                        return Err(BindError::Extent { argument, mode, found: *found, expected, dim });
                    }
                }
                Ok(())
            }
            (PlanArgumentKind::Scalar(elem), LaunchArgument::Scalar(found, _)) if elem == found => Ok(()),
            (PlanArgumentKind::Index, LaunchArgument::Index(value)) => {
                if value.unsigned_abs() > WIDE_LIMIT as u64 {
                    return Err(BindError::IndexTooLarge { argument: plan.name.clone(), value: *value });
                }
                if self.promises.narrow && value.unsigned_abs() > NARROW_LIMIT as u64 {
                    return Err(BindError::Promise(ViolatedPromise::Narrow));
                }
                Ok(())
            }
            (kind, found) => {
                let expected = match kind {
                    PlanArgumentKind::Tensor { elem, .. } => format!("a tensor of {elem}"),
                    PlanArgumentKind::Scalar(elem) => format!("a value of {elem}"),
                    PlanArgumentKind::Index => "an index".into(),
                };
                let found = match found {
                    LaunchArgument::Tensor { elem, .. } => format!("a tensor of {elem}"),
                    LaunchArgument::Scalar(elem, _) => format!("a value of {elem}"),
                    LaunchArgument::Index(_) => "an index".into(),
                };
                Err(wrong(expected, found))
            }
        }
    }

    /// Extents that are expressions over dimensions.
    fn computed_extents(
        &self,
        arguments: &[LaunchArgument<'_>],
        values: &Values<'_>,
    ) -> Result<(), BindError> {
        for (plan, argument) in self.arguments.iter().zip(arguments) {
            let (PlanArgumentKind::Tensor { extents, .. }, LaunchArgument::Tensor { shape, .. }) =
                (&plan.kind, argument)
            else {
                continue;
            };
            for (mode, (extent, found)) in extents.iter().zip(*shape).enumerate() {
                let Extent::Computed(number) = extent else { continue };
                let Some((index, text)) = self.computed.get(*number as usize) else { continue };
                let expected = values.index(self, index);
                if expected != i64::try_from(*found).ok() {
                    let (argument, extent) = (plan.name.clone(), text.clone());
                    return Err(BindError::Computed { argument, mode, found: *found, extent, expected });
                }
            }
        }
        Ok(())
    }

    /// The first argument that has a dimension.
    fn giver(&self, dim: u32) -> String {
        let has = |kind: &PlanArgumentKind| match kind {
            PlanArgumentKind::Tensor { extents, .. } => extents.contains(&Extent::Dim(dim)),
            _ => false,
        };
        self.arguments.iter().find(|argument| has(&argument.kind)).map(|a| a.name.clone()).unwrap_or_default()
    }

    /// Strides, span and address of a tensor.
    fn memory(&self, number: usize, argument: &LaunchArgument<'_>) -> Result<(), BindError> {
        let plan = &self.arguments[number];
        let name = || plan.name.clone();
        let (
            PlanArgumentKind::Tensor { elem, mutable, layout, .. },
            LaunchArgument::Tensor { shape, strides, address, len, .. },
        ) = (&plan.kind, argument)
        else {
            return Ok(());
        };
        if self.promises.narrow && shape.iter().any(|extent| *extent as u64 > NARROW_LIMIT as u64) {
            return Err(BindError::Promise(ViolatedPromise::Narrow));
        }
        if shape.contains(&0) {
            return Ok(());
        }
        let rank = shape.len();
        let mut compact = 1u64;
        let mut reach = 0u64;
        for step in 0..rank {
            let mode = if *layout == PlanLayout::ColMajor { step } else { rank - 1 - step };
            let (extent, stride) = (shape[mode] as u64, strides[mode] as u64);
            let wanted = if matches!(layout, PlanLayout::Contiguous(_)) { 1 } else { compact };
            if !layout.is_free(mode) && extent > 1 && stride != wanted {
                let (found, expected) = (strides[mode], wanted as usize);
                return Err(BindError::Stride {
                    argument: name(),
                    mode,
                    found,
                    expected,
                    layout: layout_name(*layout, rank),
                });
            }
            reach = reach.saturating_add((extent - 1).saturating_mul(stride));
            compact = compact.saturating_mul(extent);
        }
        // What leaves 64 bits stays at their end, and is too large.
        let span = reach.saturating_add(1);
        if span > WIDE_LIMIT as u64 {
            return Err(BindError::TooLarge { argument: name() });
        }
        if span > *len as u64 {
            return Err(BindError::Span { argument: name(), needed: span, found: *len as u64 });
        }
        if self.promises.narrow && span > NARROW_LIMIT as u64 {
            return Err(BindError::Promise(ViolatedPromise::Narrow));
        }
        // Compact modes share no address.
        let compact = matches!(layout, PlanLayout::RowMajor | PlanLayout::ColMajor);
        if *mutable && !compact && overlaps(shape, strides) {
            return Err(BindError::Overlap { argument: name() });
        }
        let bytes = u64::from(elem.bytes());
        let second = self.second_types.iter().filter(|(of, _)| *of as usize == number).map(|(_, elem)| *elem);
        let widest = second.max_by_key(|elem| elem.bytes()).unwrap_or(*elem);
        let needed = u64::from(widest.bytes());
        if !self.promises.aligned && !address.is_multiple_of(needed) {
            let reason =
                if widest == *elem { String::new() } else { format!(", for `bitcast::<{widest}>()`") };
            return Err(BindError::Type {
                argument: name(),
                expected: format!("at an address divisible by {needed}{reason}"),
                found: format!("address {address:#x}"),
            });
        }
        if self.promises.aligned {
            let pitched = matches!(layout, PlanLayout::Contiguous(_))
                && (0..rank).filter(|mode| layout.is_free(*mode)).any(|mode| {
                    shape[mode] > 1 && !(strides[mode] as u64).wrapping_mul(bytes).is_multiple_of(16)
                });
            if !address.is_multiple_of(16) || pitched {
                return Err(BindError::Promise(ViolatedPromise::Aligned));
            }
        }
        Ok(())
    }
}

fn layout_name(layout: PlanLayout, rank: usize) -> &'static str {
    match layout {
        PlanLayout::RowMajor => "RowMajor",
        PlanLayout::ColMajor => "ColMajor",
        PlanLayout::Contiguous(mode) if mode + 1 == rank => "Pitched",
        PlanLayout::Contiguous(_) => "Contiguous",
        PlanLayout::Strided => "Strided",
    }
}

/// Whether two coordinates may share an address: a stride is inside the reach of the smaller ones.
///
/// ```
/// assert!(layout_compiler::overlaps(&[2, 3], &[2, 1]) && !layout_compiler::overlaps(&[2, 3], &[3, 1]));
/// ```
pub fn overlaps(shape: &[usize], strides: &[usize]) -> bool {
    let mut reach = 0u128;
    let mut done = 0u64;
    // Modes by stride; ranks are at most 5, so a search for the next one each time is cheap.
    for _ in 0..shape.len() {
        let next = (0..shape.len().min(64))
            .filter(|mode| done >> mode & 1 == 0 && shape[*mode] > 1)
            .min_by_key(|mode| strides[*mode]);
        let Some(mode) = next else { return false };
        if strides[mode] as u128 <= reach {
            return true;
        }
        reach += (shape[mode] as u128 - 1) * strides[mode] as u128;
        done |= 1 << mode;
    }
    false
}

/// The values that the atoms of a plan have at one launch.
struct Values<'a> {
    dims: &'a [i64],
    arguments: &'a [LaunchArgument<'a>],
}

impl Values<'_> {
    fn argument(&self, number: u32) -> Option<i64> {
        match self.arguments.get(number as usize)? {
            LaunchArgument::Index(value) => Some(*value),
            _ => None,
        }
    }

    fn stride(&self, argument: u32, mode: u32) -> Option<i64> {
        match self.arguments.get(argument as usize)? {
            LaunchArgument::Tensor { strides, .. } => i64::try_from(*strides.get(mode as usize)?).ok(),
            _ => None,
        }
    }

    fn atom(&self, plan: &LaunchPlan, id: AtomId) -> Option<i64> {
        match plan.atoms.atom(id) {
            Atom::Dim { dim, divisor } => Some(self.dims.get(*dim as usize)? / divisor),
            Atom::Stride { argument, mode, divisor } => Some(self.stride(*argument, *mode)? / divisor),
            Atom::Argument(number) => self.argument(*number),
            Atom::Special(..) | Atom::Variable(..) => None,
            compound => compound.evaluate(|index| self.index(plan, index)),
        }
    }

    fn index(&self, plan: &LaunchPlan, index: &Index) -> Option<i64> {
        match index.as_constant() {
            Some(value) => Some(value),
            None => index.evaluate(&mut |id| self.atom(plan, id)),
        }
    }

    fn holds(&self, plan: &LaunchPlan, comparison: &Comparison) -> bool {
        let (Some(left), Some(right)) =
            (self.index(plan, &comparison.left), self.index(plan, &comparison.right))
        else {
            return false;
        };
        comparison.op.compare(&left, &right)
    }
}
