//! The plan held against the layouts, element by element: the test of the law of resharding.

use super::reshard::{NAME, places};
use super::{Distributed, Reshard, Transfer, digits};
use crate::{IntTuple, LayoutError, Nest};

impl Reshard {
    /// Holds the plan against the two layouts, element by element: each place that exists receives each of its terms once, from
    /// a rank whose own layout says that it has it.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] that names the first element and rank where that is not so; for more than 2^22 places.
    ///
    /// ```
    /// use layout_core::mesh::{Distributed, Mesh, Reshard};
    /// let mesh = Mesh::new([("gpu", 3)])?;
    /// let blocks = Distributed::new(&mesh, [10])?.split(0, ["gpu"])?; // 4, 4 and 2
    /// let dealt = Distributed::new(&mesh, [10])?.deal(0, ["gpu"], 1)?; // 4, 3 and 3
    /// Reshard::new(&blocks, &dealt)?.verify()?;
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn verify(&self) -> Result<(), LayoutError> {
        let refuse = |detail| Err(LayoutError::Unsupported { operation: NAME, detail });
        let places = self.source().memory().cosize().max(self.target().memory().cosize());
        if places.saturating_mul(self.source().mesh().size() as i64) > 1 << 22 {
            return refuse(format!("{places} places on each rank; up to 2^22 in all are verified"));
        }
        let (before, after) = (elements(self.source())?, elements(self.target())?);
        let (holding, ending) = (self::places(self.source())?, self::places(self.target())?);
        let mut arrived: Vec<Vec<Vec<i64>>> = after.iter().map(|places| vec![vec![]; places.len()]).collect();
        for Transfer { from, to, adds, pieces } in self.transfers() {
            for piece in pieces {
                for (source, target) in piece.source.offsets().zip(piece.target.offsets()) {
                    let (source, target) = ((piece.from + source) as usize, (piece.to + target) as usize);
                    let (sent, kept) = (before[*from].get(source), after[*to].get(target));
                    if sent != kept || !matches!(sent, Some(Some(_))) {
                        return refuse(format!(
                            "rank {from} sends {sent:?} from {source}; rank {to} has {kept:?} at {target}"
                        ));
                    }
                    let terms = &mut arrived[*to][target];
                    if *adds == terms.is_empty() {
                        return refuse(format!(
                            "rank {to} adds to nothing, or writes over a term, at {target}"
                        ));
                    }
                    terms.push(holding[*from].term);
                }
            }
        }
        for (rank, (places, arrived)) in after.iter().zip(arrived).enumerate() {
            let terms =
                (0..self.source().terms()).filter(|term| term % self.target().terms() == ending[rank].term);
            let terms: Vec<i64> = terms.collect();
            if terms.is_empty() != self.zeroed().contains(&rank) {
                return refuse(format!(
                    "rank {rank} has the terms {terms:?}, and the zeroed ranks are {:?}",
                    self.zeroed()
                ));
            }
            for (place, (element, arrived)) in places.iter().zip(arrived).enumerate() {
                if element.is_some() && arrived != terms || element.is_none() && !arrived.is_empty() {
                    return refuse(format!(
                        "rank {rank} has {element:?} at {place}: of the terms {terms:?} come {arrived:?}"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Of each rank and place in its memory the coordinate of the element there, by the layout alone.
fn elements(tensor: &Distributed) -> Result<Vec<Vec<Option<Vec<i64>>>>, LayoutError> {
    let (layout, memory) = (tensor.layout(), tensor.memory());
    let padded: Vec<i64> = tensor.digits().iter().map(|digits| digits::padded(digits)).collect();
    let partial: Vec<&str> = tensor.partial_axes().collect();
    let mut all = Vec::new();
    for rank in 0..tensor.mesh().size() {
        let at = tensor.mesh().coordinate(rank)?;
        let (terms, devices): (Vec<_>, Vec<_>) =
            tensor.mesh().axes().zip(at).partition(|((name, _), _)| partial.contains(name));
        let numbers = |axes: Vec<((&str, i64), i64)>| IntTuple::flat(axes.into_iter().map(|(_, at)| at));
        let (devices, terms) = (numbers(devices), numbers(terms));
        let mut places = vec![None; memory.cosize() as usize];
        for (value, place) in memory.offsets().enumerate() {
            let coordinate = Nest::tuple([devices.clone(), terms.clone(), Nest::leaf(value as i64)]);
            let mut rest = layout.crd2idx(&coordinate)?;
            let digit = |extent: &i64| {
                let digit = rest % extent;
                rest /= extent;
                digit
            };
            let element: Vec<i64> = padded.iter().map(digit).collect();
            let exists = element.iter().zip(tensor.extents()).all(|(at, extent)| at < extent);
            places[place as usize] = exists.then_some(element);
        }
        all.push(places);
    }
    Ok(all)
}
