//! Bounds: every access is inside of its tensor or masked, and its coordinates are those of its element.
//!
//! Law: the coordinates are used only where their products with the tensor's strides are the element, as polynomials. A tensor of a
//! launch has its elements at different addresses (a launch refuses one that is written and has not), so equal elements have equal
//! coordinates.

use super::enumerate::inside;
use super::names::{Common, Instance, Names, Side};
use super::pair::Placed;
use super::sites::{Loop, Site};
use super::uniform::Uniform;
use crate::check::Checked;
use crate::index::{Atom, AtomFacts, AtomId, Atoms, Index};
use crate::launch::{Extent, PlanArgument, PlanArgumentKind, PlanLayout};
use crate::program::{Space, Transport};
use crate::prove::Facts;

pub(super) struct Bounds<'b, 'a> {
    pub checked: &'a Checked,
    pub loops: &'b [Loop],
    pub uniform: &'b Uniform,
    pub names: &'b mut Names,
    pub threads: [i64; 3],
    /// The elements of a box, or of a matrix that the matrix units read, and of a row that it begins with.
    pub flown: Option<(i64, i64)>,
}

/// Coordinates with their ends, and the mode whose elements follow one another.
type Modes = (Vec<(Index, Index)>, Option<usize>);

impl<'a> Bounds<'_, 'a> {
    /// The rule by which a site is inside, or why that is not proved; and its place in memory.
    pub(super) fn site<'s>(
        &mut self,
        site: &'s Site<'a>,
    ) -> (Result<&'static str, String>, Option<Placed<'s, 'a>>) {
        let place = self.checked.tables().place(site.access.place);
        match (site.means, place.space) {
            (Transport::Tma | Transport::MatrixUnits, _) if self.flown.is_some() => {}
            (Transport::Tma | Transport::MatrixUnits | Transport::RemoteShared, _)
            | (_, Space::Remote { .. }) => {
                return (Err(format!("an access {} is not covered", site.means)), None);
            }
            (Transport::Thread | Transport::Atomic | Transport::CopyAsync | Transport::Matrix, _) => {}
        }
        let Some(element) = self.names.element(site.access) else {
            return (Err("its pointer is assigned more than once".to_owned()), None);
        };
        let around = Vec::new();
        let common =
            Common { loops: self.loops, uniform: self.uniform, same_block: true, rounds: false, around };
        let mut instance = Instance::new(self.names, &common, Side::A);
        let facts: Vec<Index> = site.facts.iter().filter_map(|fact| instance.index(fact).ok()).collect();
        let edges: Option<Vec<(Index, Index)>> = site
            .access
            .edges
            .iter()
            .map(|edge| Some((instance.index(&edge.at).ok()?, instance.index(&edge.end).ok()?)))
            .collect();
        let Ok(own) = instance.index(&element) else {
            return (Err("its index leaves 64 bits".to_owned()), None);
        };
        let mut known = Facts::default();
        facts.iter().for_each(|fact| known.add(fact.clone()));
        let (width, row) = self.flown.unwrap_or_else(|| (width(site, place.elem.bytes()), 1));
        let mut placed = Placed { site, element, width, coordinates: None, contiguous: 0 };
        let rank = self.rank(place.space);
        let rule = match place.space {
            Space::Global(argument) => match self.coordinates(argument, &own, edges.unwrap_or_default()) {
                Some((_, None)) if width > 1 => Err("a vector along no contiguous mode".to_owned()),
                Some((modes, contiguous)) => {
                    let contiguous = contiguous.unwrap_or(0);
                    placed.contiguous = contiguous;
                    let rule = self.modes(&known, &modes, contiguous, width);
                    // One coordinate for several modes is the element itself.
                    if rule.is_ok() && modes.len() == rank {
                        let edges = site.access.edges.iter().take(modes.len());
                        placed.coordinates = Some(edges.map(|edge| edge.at.clone()).collect());
                    }
                    rule
                }
                None => Err("its coordinates are not those of its element".to_owned()),
            },
            _ if row > 1 => match row_start(&self.names.atoms, &own, row) {
                Some(own) => {
                    self.elements(&known, &facts, &own, i64::try_from(place.len).unwrap_or(0) - width)
                }
                None => Err("the first row of a matrix is not known".to_owned()),
            },
            _ => self.elements(&known, &facts, &own, i64::try_from(place.len).unwrap_or(0) - width),
        };
        let masked = !site.access.mask.is_empty();
        (rule.map(|rule| if masked { "masked" } else { rule }), Some(placed))
    }

    fn rank(&self, space: Space) -> usize {
        match space {
            Space::Global(argument) => {
                self.checked.plan().arguments.get(argument as usize).map_or(0, PlanArgument::rank)
            }
            Space::Shared { .. } | Space::Remote { .. } | Space::Tensor { .. } | Space::Local => 0,
        }
    }

    /// The coordinates with their ends, where they are those of the argument's element, and the mode whose elements follow one another.
    fn coordinates(&mut self, argument: u32, element: &Index, edges: Vec<(Index, Index)>) -> Option<Modes> {
        let plan = self.checked.plan();
        let PlanArgumentKind::Tensor { layout, extents, .. } = &plan.arguments.get(argument as usize)?.kind
        else {
            return None;
        };
        let end = |mode: usize| edges.get(mode).map(|(_, end)| end);
        let found: Option<Vec<Index>> =
            extents.iter().enumerate().map(|(mode, extent)| self.extent(extent, end(mode))).collect();
        let found = found?;
        let compact = |inner: std::ops::Range<usize>| {
            found.get(inner)?.iter().try_fold(Index::constant(1), |product, end| product.mul(end).ok())
        };
        let rank = extents.len();
        // All modes of a compact tensor as one.
        if matches!(layout, PlanLayout::RowMajor | PlanLayout::ColMajor) {
            let whole = compact(0..rank)?;
            if let Some(flat) = edges.iter().find(|(at, end)| at == element && *end == whole) {
                return Some((vec![flat.clone()], Some(0)));
            }
        }
        let modes: Vec<(Index, Index)> = edges.into_iter().take(rank).collect();
        if !modes.iter().map(|(_, end)| end).eq(&found) {
            return None;
        }
        let mut strides = Vec::new();
        for mode in 0..rank {
            strides.push(match layout {
                PlanLayout::RowMajor => compact(mode + 1..rank)?,
                PlanLayout::ColMajor => compact(0..mode)?,
                PlanLayout::Contiguous(own) if *own == mode => Index::constant(1),
                PlanLayout::Contiguous(_) | PlanLayout::Strided => self.stride(argument, mode as u32)?,
            });
        }
        let coordinates: Vec<Index> = modes.iter().map(|(at, _)| at.clone()).collect();
        let contiguous = match layout {
            PlanLayout::RowMajor => Some(rank.saturating_sub(1)),
            PlanLayout::ColMajor => Some(0),
            PlanLayout::Contiguous(own) => Some(*own),
            PlanLayout::Strided => None,
        };
        (dot(&coordinates, &strides)? == *element).then_some((modes, contiguous))
    }

    fn stride(&self, argument: u32, mode: u32) -> Option<Index> {
        let (id, facts) = self.names.atoms.iter().find(|(_, facts)| {
            matches!(facts.atom, Atom::Stride { argument: own, mode: other, .. } if (own, other) == (argument, mode))
        })?;
        let Atom::Stride { divisor, .. } = facts.atom else { return None };
        Index::atom(id).scale(divisor).ok()
    }

    /// An extent of an argument; as it is said in `known`, where that is the extent.
    fn extent(&self, extent: &Extent, known: Option<&Index>) -> Option<Index> {
        let plan = self.checked.plan();
        match extent {
            Extent::Static(number) => Some(Index::constant(*number)),
            Extent::Dim(dim) => {
                let whole = |(id, facts): (AtomId, &AtomFacts)| match facts.atom {
                    Atom::Dim { dim: own, divisor } if own == *dim => Index::atom(id).scale(divisor).ok(),
                    _ => None,
                };
                // A dimension may be several atoms, by what divides it.
                let mut all = self.names.atoms.iter().filter_map(whole);
                let first = all.next()?;
                let said = known.filter(|known| **known == first || all.any(|other| other == **known));
                Some(said.unwrap_or(&first).clone())
            }
            Extent::Computed(number) => {
                let (index, _) = plan.computed.get(*number as usize)?;
                // The plan's atoms are the first of the program's.
                let same = |id: AtomId| {
                    plan.atoms.iter().nth(id.0 as usize).map(|(_, facts)| &facts.atom)
                        == Some(self.names.atoms.atom(id))
                };
                index.atoms().all(same).then(|| index.clone())
            }
        }
    }

    /// Whether all lanes are inside along each mode.
    fn modes(
        &self,
        facts: &Facts,
        modes: &[(Index, Index)],
        contiguous: usize,
        width: i64,
    ) -> Result<&'static str, String> {
        let atoms = &self.names.atoms;
        for (mode, (at, end)) in modes.iter().enumerate() {
            let lanes = if mode == contiguous { width } else { 1 };
            // A vector at a multiple of its width that begins before an end at one is inside.
            let whole = atoms.divides(at, lanes) && atoms.divides(end, lanes);
            let last = end.sub(at).and_then(|left| left.plus(if whole { -1 } else { -lanes }));
            if !facts.prove(atoms, at) {
                return Err(format!("its coordinate along mode {mode} may be negative"));
            }
            if !last.is_ok_and(|last| facts.prove(atoms, &last)) {
                return Err(format!("its coordinate along mode {mode} may be beyond the tensor"));
            }
        }
        Ok("prover")
    }

    /// Whether the elements are inside of an allocation.
    fn elements(
        &self,
        facts: &Facts,
        list: &[Index],
        own: &Index,
        most: i64,
    ) -> Result<&'static str, String> {
        let atoms = &self.names.atoms;
        let last = Index::constant(most).sub(own);
        if facts.prove(atoms, own) && last.is_ok_and(|last| facts.prove(atoms, &last)) {
            return Ok("prover");
        }
        match inside(atoms, self.threads, list, own, most) {
            true => Ok("enumeration"),
            false => Err("its element may be outside of the allocation".to_owned()),
        }
    }
}

/// The first element of the row of so many that an element is in, where its number in the row is known.
pub(super) fn row_start(atoms: &Atoms, element: &Index, row: i64) -> Option<Index> {
    let whole = element.terms().iter().all(|(monomial, factor)| {
        let mut divisors = monomial.iter().map(|id| atoms.facts(*id).divisor);
        let product = divisors.try_fold(*factor, |product: i64, one| product.checked_mul(one));
        product.unwrap_or(*factor) % row == 0
    });
    whole.then(|| element.plus(-element.offset().rem_euclid(row)).ok())?
}

/// Elements that an access touches from its first one on.
fn width(site: &Site<'_>, bytes: u32) -> i64 {
    let rows = if site.means == Transport::Matrix { 16 / bytes.max(1) } else { 1 };
    i64::from(site.access.width.max(rows))
}

/// The sum of products.
fn dot(left: &[Index], right: &[Index]) -> Option<Index> {
    let mut sum = Index::constant(0);
    for (a, b) in left.iter().zip(right) {
        sum = sum.add(&a.mul(b).ok()?).ok()?;
    }
    Some(sum)
}
