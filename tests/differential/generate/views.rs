//! Views of views of random shapes, and copies between tensors, views and registers.

use super::Generator;
use super::index::number;
use super::scope::{Known, KnownKind};
use crate::tree::*;
use crate::types::Type;

impl Generator {
    pub fn view_statement(&mut self, out: &mut Vec<Stmt>) {
        if self.row.is_none() {
            return;
        }
        match self.below(8) {
            0..=2 => {
                if let Some((place, known)) = self.view_of_any() {
                    self.declare_view(out, place, known, false);
                    // The view stays where it was made when an index changes.
                    let mutable = self.mutable();
                    let indices: Vec<Var> = mutable
                        .into_iter()
                        .filter(|var| self.kernel.scalar_type(*var) == Type::Index)
                        .collect();
                    if !indices.is_empty() && self.chance(50) {
                        let var = self.pick(&indices);
                        self.assign(out, var, 1);
                    }
                }
            }
            3 => {
                if let Some((place, known)) = self.view_of_any() {
                    self.declare_view(out, place, Known { kind: KnownKind::Local, ..known }, true);
                }
            }
            4 => self.registers(out),
            5 => {
                let known = self.writable();
                if let Some(known) = known {
                    let value = if known.elem.is_half() {
                        self.literal(known.elem)
                    } else {
                        self.expr(known.elem, 1)
                    };
                    out.push(Stmt::Fill(Place { base: Base::View(known.var), steps: vec![] }, value));
                }
            }
            _ => self.copy(out),
        }
    }

    fn declare_view(&mut self, out: &mut Vec<Stmt>, place: Place, known: Known, local: bool) {
        let var = self.var(VarType::View(known.elem));
        self.scope.views.push(Known { var, ..known });
        out.push(Stmt::LetView { var, place, local });
    }

    fn registers(&mut self, out: &mut Vec<Stmt>) {
        let elem = self.element_type();
        let extents: Vec<i64> = (0..1 + self.below(2)).map(|_| self.between(1, 4)).collect();
        let var = self.var(VarType::View(elem));
        let layout = AllocationLayout { extents: extents.clone(), columns: self.chance(30), swizzle: None };
        out.push(Stmt::LetTensor { var, elem, layout, shared: false });
        let value = self.literal(elem);
        out.push(Stmt::Fill(Place { base: Base::View(var), steps: vec![] }, value));
        self.scope.views.push(Known {
            var,
            elem,
            extents: extents.clone(),
            vectors: false,
            kind: KnownKind::Local,
        });
        let at = self.register(&extents);
        let value = self.expr(elem, 1);
        out.push(Stmt::Store(Place { base: Base::View(var), steps: vec![] }, at, None, value));
    }

    fn writable(&mut self) -> Option<Known> {
        let known: Vec<Known> =
            self.scope.views.iter().filter(|view| view.kind != KnownKind::Read).cloned().collect();
        if known.is_empty() { None } else { Some(known[self.below(known.len())].clone()) }
    }

    /// A copy between two views of one shape: one of them is made to fit.
    fn copy(&mut self, out: &mut Vec<Stmt>) {
        let Some(to) = self.writable() else { return };
        if to.vectors {
            return;
        }
        let fits = |view: &&Known| {
            view.elem == to.elem
                && view.extents == to.extents
                && !view.vectors
                && view.kind == KnownKind::Read
        };
        let known = self
            .scope
            .views
            .iter()
            .find(fits)
            .map(|view| Place { base: Base::View(view.var), steps: vec![] });
        let inputs: Vec<usize> = (0..self.kernel.tensors.len())
            .filter(|number| {
                let tensor = &self.kernel.tensors[*number];
                !tensor.mutable && tensor.elem == to.elem && tensor.extents.len() == to.extents.len()
            })
            .collect();
        let from = match known {
            Some(known) if inputs.is_empty() || self.chance(50) => known,
            _ if !inputs.is_empty() => {
                let tensor = self.pick(&inputs);
                let shape = self.kernel.shape(tensor);
                let at = shape.iter().map(|extent| self.coordinate(extent / 2)).collect();
                let step = if self.chance(50) {
                    Step::Tile(to.extents.clone(), at)
                } else {
                    Step::Window(to.extents.clone(), at)
                };
                Place { base: Base::Tensor(tensor), steps: vec![step] }
            }
            _ => return,
        };
        out.push(Stmt::Copy { to: Place { base: Base::View(to.var), steps: vec![] }, from });
    }

    /// A view of an input, of the own row, or of another view.
    fn view_of_any(&mut self) -> Option<(Place, Known)> {
        let bases: Vec<Known> =
            self.scope.views.iter().filter(|view| view.kind != KnownKind::Local).cloned().collect();
        let (mut place, mut known) = if !bases.is_empty() && self.chance(35) {
            let known = bases[self.below(bases.len())].clone();
            (Place { base: Base::View(known.var), steps: vec![] }, known)
        } else {
            let tensor = self.below(self.kernel.tensors.len());
            if self.reserved.contains(&tensor) {
                return None;
            }
            let shape = self.kernel.shape(tensor);
            let mutable = self.kernel.tensors[tensor].mutable;
            let mut extents: Vec<i64> =
                shape.iter().map(|extent| self.between(1, 6.min(extent + 1))).collect();
            let mut at: Vec<Expr> = shape.iter().map(|extent| self.coordinate(*extent)).collect();
            let kind = if mutable { KnownKind::Own } else { KnownKind::Read };
            if mutable {
                (extents[0], at[0]) = (1, Expr::Var(self.row?));
            }
            let step = if self.chance(60) {
                Step::Tile(extents.clone(), at)
            } else {
                Step::Window(extents.clone(), at)
            };
            let elem = self.kernel.tensors[tensor].elem;
            let place = Place { base: Base::Tensor(tensor), steps: vec![step] };
            (place, Known { var: 0, elem, extents, vectors: false, kind })
        };
        for _ in 0..self.below(3) {
            self.view_step(&mut place, &mut known);
        }
        Some((place, known))
    }

    /// One more step, where the shape allows it.
    fn view_step(&mut self, place: &mut Place, known: &mut Known) {
        if known.vectors {
            return;
        }
        let extents = &mut known.extents;
        let divisor = |this: &mut Generator, extent: i64| {
            let all: Vec<i64> = (1..=extent).filter(|part| extent % part == 0).collect();
            this.pick(&all)
        };
        match self.below(7) {
            0 | 1 => {
                let parts: Vec<i64> = extents.iter().map(|extent| divisor(self, *extent)).collect();
                let at =
                    extents.iter().zip(&parts).map(|(extent, part)| self.inside(extent / part)).collect();
                *extents = parts.clone();
                place.steps.push(Step::Tile(parts, at));
            }
            2 if extents.len() > 1 => {
                extents.reverse();
                place.steps.push(Step::Transpose);
            }
            3 if extents.len() > 1 => {
                let first = extents.remove(0);
                let at = self.inside(first);
                place.steps.push(Step::Slice(at));
            }
            4 => {
                let threads: Vec<i64> = extents.iter().map(|extent| divisor(self, *extent)).collect();
                let count = threads.iter().product::<i64>();
                let thread = if self.chance(50) {
                    number(self.between(0, count - 1))
                } else {
                    super::index::binary(BinaryOp::Rem, Expr::Thread, number(count))
                };
                extents.iter_mut().zip(&threads).for_each(|(extent, count)| *extent /= count);
                place.steps.push(Step::Distribute { threads, columns: self.chance(40), thread });
            }
            5 if known.kind == KnownKind::Read => {
                if let Expr::Literal { value, .. } = self.literal(known.elem) {
                    place.steps.push(Step::Pad(value));
                }
            }
            6 => {
                let mut vector = vec![1; extents.len()];
                let mode = self.below(extents.len());
                vector[mode] = self.pick(&[1, 2, 4]);
                if extents[mode] % vector[mode] == 0 {
                    extents[mode] /= vector[mode];
                    known.vectors = true;
                    place.steps.push(Step::Vectorize(vector));
                }
            }
            _ => {}
        }
    }
}
