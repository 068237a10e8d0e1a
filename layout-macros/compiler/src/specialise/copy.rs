//! The operands of copies of views and of outer products.
//!
//! Law: both sides have the same elements, mode by mode; modes of one element are ignored. Where only one side is
//! vectorised, the other side takes the same vectors.

use super::datum::StaticValue;
use super::evaluator::{Evaluator, Failed, Outcome};
use super::tile::TileOperation;
use crate::elem::Elem;
use crate::index::Index;
use crate::ir::TypeRef;
use crate::origin::Origin;
use crate::program::{Space, StatementKind};
use crate::view::View;
use layout_core::Layout;

impl Evaluator<'_> {
    /// `destination = source`, by each thread or by all of them together.
    pub(super) fn copy(
        &mut self,
        destination: View,
        source: View,
        threads: Option<Layout>,
        asynchronous: bool,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let (destination, source) = self.alike(destination, source, origin)?;
        self.same_shape(&destination, &source, origin)?;
        if let Some(threads) = &threads {
            let (size, block) = (threads.size(), self.block.iter().map(|n| i64::from(*n)).product::<i64>());
            if threads.rank() != destination.rank() {
                let message = format!(
                    "a thread layout of rank {} for tiles of rank {}",
                    threads.rank(),
                    destination.rank()
                );
                return self.fail(origin, message);
            }
            if size > block || size == 0 {
                return self.fail_help(
                    origin,
                    format!("the copy is laid out for {size} threads and the block has {block}"),
                    "the product of the thread layout's extents is at most the block's threads",
                );
            }
        }
        self.push(
            origin,
            StatementKind::Operation(TileOperation::Copy {
                destination: destination.clone(),
                source,
                threads,
                asynchronous,
            }),
        );
        Ok(StaticValue::View(destination))
    }

    /// Both sides in the same vectors, where one side of a copy is vectorised and the other, of as many elements, is not.
    fn alike(&mut self, destination: View, source: View, origin: Origin) -> Outcome<(View, View)> {
        let elements = |view: &View| -> Option<Vec<(usize, i64, i64)>> {
            let all = view.modes.iter().enumerate().map(|(number, mode)| {
                Some((number, mode.extent.as_constant()?.checked_mul(mode.lanes)?, mode.lanes))
            });
            Some(all.collect::<Option<Vec<_>>>()?.into_iter().filter(|(_, count, _)| *count != 1).collect())
        };
        let (Some(to), Some(from)) = (elements(&destination), elements(&source)) else {
            return Ok((destination, source));
        };
        let same = to.len() == from.len() && to.iter().zip(&from).all(|(a, b)| a.1 == b.1);
        let vectors = |view: &View, own: &[(usize, i64, i64)], other: &[(usize, i64, i64)]| {
            let mut lanes = vec![1; view.rank()];
            own.iter().zip(other).for_each(|(own, other)| lanes[own.0] = other.2);
            view.vectorize(&lanes, &mut |extent, by| extent.exact_div(by).ok_or(crate::index::IndexOverflow))
        };
        match (same, destination.lanes(), source.lanes()) {
            (true, 1, 2..) => {
                let destination = vectors(&destination, &to, &from);
                Ok((self.index(origin, destination)?, source))
            }
            (true, 2.., 1) => {
                let source = vectors(&source, &from, &to);
                Ok((destination, self.index(origin, source)?))
            }
            _ => Ok((destination, source)),
        }
    }

    fn same_shape(&mut self, destination: &View, source: &View, origin: Origin) -> Outcome<()> {
        let (to, from) =
            (self.tables.place(destination.place).clone(), self.tables.place(source.place).clone());
        if to.elem != from.elem {
            return self.fail_help(
                origin,
                format!("a copy from `{}` of {} to `{}` of {}", from.name, from.elem, to.name, to.elem),
                format!(
                    "a copy converts nothing: convert each element, `to[[i]] = from[[i]].cast::<{}>()`",
                    to.elem
                ),
            );
        }
        // Modes of one element do not count, as a row of a tile is as good as a list.
        let extents = |view: &View| -> Vec<(Index, i64)> {
            let all = view.modes.iter().map(|mode| (mode.extent.clone(), mode.lanes));
            all.filter(|(extent, lanes)| extent.as_constant() != Some(1) || *lanes != 1).collect()
        };
        let (a, b) = (extents(destination), extents(source));
        if a != b {
            let show = |list: &[(Index, i64)]| -> String {
                let parts: Vec<String> = list
                    .iter()
                    .map(|(extent, lanes)| match extent.as_constant() {
                        Some(extent) if *lanes == 1 => extent.to_string(),
                        Some(extent) => format!("{extent} vectors of {lanes}"),
                        None => self.dims.iter().position(|dim| dim == extent).map_or_else(
                            || "an extent of the launch".into(),
                            |number| self.kernel.dims[number].clone(),
                        ),
                    })
                    .collect();
                format!("({})", parts.join(", "))
            };
            return self.fail_help(
                origin,
                format!("`{}` has extents {} and `{}` has {}", to.name, show(&a), from.name, show(&b)),
                "both sides of a copy need the same tile and the same `vectorize`",
            );
        }
        if a.iter().any(|(extent, _)| extent.as_constant().is_none()) {
            return self.fail_help(
                origin,
                "a copy of an extent that is not known at compile time",
                "take a `tile` of both sides first",
            );
        }
        Ok(())
    }

    /// A local tensor with the elements of a view, converted to `elem`.
    pub(super) fn copy_to_local(
        &mut self,
        source: View,
        elem: Option<Elem>,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let (space, own) = {
            let place = self.tables.place(source.place);
            (place.space, place.elem)
        };
        let one = Index::constant(1);
        let vectors = source.lanes() > 1
            || source.modes.iter().any(|mode| mode.stride == one && mode.extent.as_constant() != Some(1));
        if space != Space::Local && elem.is_some_and(|elem| elem != own) && vectors {
            // Loaded by vectors first, then converted in registers.
            let loaded = self.copy_to_local(source, None, origin)?;
            let StaticValue::View(loaded) = loaded else { return Err(Failed) };
            return self.copy_to_local(loaded, elem, origin);
        }
        let mut shape = Vec::new();
        for mode in &source.modes {
            let extent = mode.extent.as_constant().and_then(|extent| extent.checked_mul(mode.lanes));
            match extent {
                Some(extent) => shape.push(extent),
                None => {
                    return self.fail_help(
                        origin,
                        "`to_local` of an extent that is not known at compile time",
                        "take a `tile` first",
                    );
                }
            }
        }
        let layout = self.compact(shape, true, origin)?;
        let elem = elem.unwrap_or(self.tables.place(source.place).elem);
        let StaticValue::View(whole) = self.allocate(layout, &[TypeRef::Elem(elem)], false, origin)? else {
            return Err(Failed);
        };
        let lanes: Vec<i64> = source.modes.iter().map(|mode| mode.lanes).collect();
        let destination = whole.vectorize(&lanes, &mut |extent, lanes| {
            extent.exact_div(lanes).ok_or(crate::index::IndexOverflow)
        });
        let destination = self.index(origin, destination)?;
        let copy = TileOperation::Copy { destination, source, threads: None, asynchronous: false };
        self.push(origin, StatementKind::Operation(copy));
        Ok(StaticValue::View(whole))
    }

    pub(super) fn outer_product(
        &mut self,
        mut values: Vec<StaticValue>,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let name = "outer_product_acc";
        let right = self.view(values.remove(2), name, origin)?;
        let left = self.view(values.remove(1), name, origin)?;
        let accumulator = self.written(values.remove(0), name, origin)?;
        let elems = |view: &View, this: &Self| this.tables.place(view.place).elem;
        if elems(&left, self) != elems(&accumulator, self) || elems(&right, self) != elems(&accumulator, self)
        {
            return self.fail(origin, format!("`{name}` of tensors of different element types"));
        }
        let count = |view: &View| -> Option<i64> {
            if view.lanes() != 1
                || view.modes.iter().filter(|m| m.extent.as_constant() != Some(1)).count() > 1
            {
                return None;
            }
            view.modes.iter().map(|mode| mode.extent.as_constant()).product()
        };
        let rows_columns: Option<Vec<i64>> =
            accumulator.modes.iter().map(|mode| mode.extent.as_constant()).collect();
        let sides = (count(&left), count(&right));
        match (rows_columns.as_deref(), sides) {
            (Some([m, n]), (Some(a), Some(b))) if *m == a && *n == b && accumulator.lanes() == 1 => {}
            (shape, (a, b)) => {
                let message = format!(
                    "`{name}` of shape {:?} with lists of {:?} and {:?} elements",
                    shape.unwrap_or(&[]),
                    a.unwrap_or(0),
                    b.unwrap_or(0)
                );
                return self.fail_help(origin, message, "`acc` has rank 2: as many rows as the first list has elements, as many columns as the second");
            }
        }
        let operation = TileOperation::OuterProduct { accumulator, left, right };
        self.effect(origin, StatementKind::Operation(operation))
    }
}
