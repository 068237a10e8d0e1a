//! Vectors that an edge may cut: of rows that begin anywhere, and of the last ones of rows that end anywhere.
//!
//! ```text
//! for each vector { if (it lies inside) { it, whole } else { its pieces, with their masks } }      Edges::Each
//!
//! for each vector { its pads; if (it lies inside) { it, whole } }                                  Edges::Whole
//! for each vector { if (an edge cuts it) { its pieces, with their masks } }                        Edges::Cut
//! ```
//!
//! Law: both forms move the same elements to the same places. In the second one no branch stands between whole vectors, so
//! that all of a thread are under way at once; an edge cuts one vector of a thread or none, and that one comes behind them.
//! It takes more registers, and is for rows that begin anywhere: of others the last tile alone has edges.

use super::hoist::ends_only;
use super::lower::{Edges, Failed, Lower, Out};
use super::movement::condition;
use crate::kernel::index::Index;
use crate::kernel::ir::{BinaryOp, UnaryOp};
use crate::kernel::origin::Origin;
use crate::kernel::program::{
    Access, Comparison, Loss, Mask, Reason, Space, Statement, StatementKind, Value,
};
use crate::kernel::view::View;

/// What a copy consists of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pieces {
    /// How many there are at most.
    pub most: i64,
    /// Whether the near edge may cut its vectors: they are of rows that begin anywhere.
    pub ragged: bool,
}

/// Where a vector lies.
struct Inside {
    /// What must hold for every element to exist.
    whole: Mask,
    /// What must hold for some element to exist.
    touched: Mask,
}

impl Inside {
    /// Whether some elements exist and others do not.
    fn cut(&self) -> Option<Value<Access>> {
        let rest: Mask = self.whole.iter().filter(|own| !self.touched.contains(own)).cloned().collect();
        let not_whole = condition(&rest).map(|whole| Value::Unary(UnaryOp::Not, Box::new(whole)));
        match (condition(&self.touched), not_whole) {
            (Some(touched), Some(not_whole)) => {
                Some(Value::Binary(BinaryOp::And, Box::new(touched), Box::new(not_whole)))
            }
            (_, not_whole) => not_whole,
        }
    }
}

impl Lower {
    /// Moves the vector at a coordinate, in the widest pieces that both sides allow. One that an edge may cut is moved whole where
    /// it lies inside, and in pieces where it does not.
    pub(super) fn vector(
        &mut self,
        destination: (&View, &[Index]),
        source: (&View, &[Index]),
        asynchronous: bool,
        losses: &[Loss; 2],
        origin: Origin,
        out: &mut Out,
    ) -> Result<Pieces, Failed> {
        let (steps, narrowed) = self.pieces(destination, source, origin)?;
        if let Some((wanted, Reason::Edge { .. })) = narrowed
            && !asynchronous
            && self.edges != Edges::Pieces
            && let Some(inside) = self.vectors_inside([destination, source], origin)?
        {
            let whole = &inside.whole;
            let (wide, cut) = self.knowing(whole, |this| this.pieces(destination, source, origin))?;
            if cut.is_none() && wide.iter().product::<i64>() == i64::from(wanted) {
                let under = losses.clone().map(|mut loss| {
                    loss.guards.extend(whole.clone());
                    loss
                });
                let (mut vector, mut parts) = (Vec::new(), Vec::new());
                self.knowing(whole, |this| {
                    this.in_pieces(destination, source, asynchronous, (&wide, &under), origin, &mut vector)
                })?;
                let known = if self.edges == Edges::Cut { &inside.touched[..] } else { &[] };
                let most = self.knowing(&known.to_vec(), |this| {
                    this.in_pieces(destination, source, asynchronous, (&steps, losses), origin, &mut parts)
                })?;
                match self.edges {
                    Edges::Each | Edges::Pieces => Lower::branch(whole, vector, parts, origin, out),
                    Edges::Whole => {
                        self.pads(destination, source, origin, out)?;
                        Lower::branch(whole, vector, Vec::new(), origin, out);
                    }
                    Edges::Cut => out.extend(
                        inside
                            .cut()
                            .map(|cut| Statement { kind: StatementKind::If(cut, parts, Vec::new()), origin }),
                    ),
                }
                return Ok(Pieces { most, ragged: !ends_only(whole) });
            }
        }
        let losses = losses.clone().map(|mut loss| {
            loss.narrowed = loss.narrowed.or(narrowed.clone());
            loss
        });
        let most = self.in_pieces(destination, source, asynchronous, (&steps, &losses), origin, out)?;
        Ok(Pieces { most, ragged: false })
    }

    /// What registers hold of a vector that is not there.
    fn pads(
        &mut self,
        (destination, to): (&View, &[Index]),
        (source, from): (&View, &[Index]),
        origin: Origin,
        out: &mut Out,
    ) -> Result<(), Failed> {
        if self.tables.place(destination.place).space != Space::Local {
            return Ok(());
        }
        let pad = self.access(source, from, &vec![0; source.rank()], origin)?.pad.value();
        let lanes: Vec<i64> = destination.modes.iter().map(|mode| mode.lanes).collect();
        for number in 0..lanes.iter().product() {
            let mut rest = number;
            let lane: Vec<i64> = lanes
                .iter()
                .map(|lanes| {
                    let own = rest % lanes;
                    rest /= lanes;
                    own
                })
                .collect();
            let write = self.access(destination, to, &lane, origin)?;
            out.push(Statement { kind: StatementKind::Store(write, pad.clone()), origin });
        }
        Ok(())
    }

    /// What must hold, beyond what is known, for every element and for some element of both sides' vectors to exist; nothing where
    /// that cannot be said.
    fn vectors_inside(
        &mut self,
        sides: [(&View, &[Index]); 2],
        origin: Origin,
    ) -> Result<Option<Inside>, Failed> {
        let mut inside = Inside { whole: Mask::new(), touched: Mask::new() };
        for (view, at) in sides {
            let element = view.element(at, &vec![0; view.rank()]);
            let (_, edges) = self.index(origin, element)?;
            for (bound, (first, extent)) in view.bounds.iter().zip(edges) {
                let mut last = first.clone();
                for (step, mode) in
                    bound.lane_steps.iter().zip(&view.modes).filter(|(_, mode)| mode.lanes > 1)
                {
                    if step.as_constant().is_none_or(|step| step < 0) {
                        return Ok(None);
                    }
                    let sum = last.add_scaled(step, mode.lanes - 1);
                    last = self.index(origin, sum)?;
                }
                for mask in [&mut inside.whole, &mut inside.touched] {
                    for end in [&first, &last] {
                        self.computed(end, mask, origin)?;
                    }
                }
                let above = |left: &Index| Comparison {
                    op: BinaryOp::Ge,
                    left: left.clone(),
                    right: Index::constant(0),
                };
                let below =
                    |left: &Index| Comparison { op: BinaryOp::Lt, left: left.clone(), right: extent.clone() };
                let asked = [
                    (&mut inside.whole, [above(&first), below(&last)]),
                    (&mut inside.touched, [above(&last), below(&first)]),
                ];
                for (mask, comparisons) in asked {
                    for comparison in comparisons {
                        if !mask.contains(&comparison) && !self.facts.holds(&self.tables.atoms, &comparison) {
                            mask.push(comparison);
                        }
                    }
                }
            }
        }
        Ok((!inside.whole.is_empty()).then_some(inside))
    }
}
