//! Arrays and tuples within each other, and calls with `&mut`.
//!
//! Law: a whole is the list of its values, each at its number; an index is evaluated once, where Rust evaluates it.

use super::{Flow, Machine, Run, Slot, Thread, after, stuck};
use crate::tree::*;
use crate::value::Value;
use std::ops::Range;

impl<'a> Machine<'a> {
    /// Where a target's values are in its variable.
    fn place_of(&mut self, target: &'a Target, thread: &mut Thread) -> Run<Range<usize>> {
        let whole = Target { var: target.var, parts: vec![] };
        let Some(mut shape) = self.kernel.shape_of(&whole) else { return stuck("no whole") };
        let mut first = 0;
        for part in &target.parts {
            shape = match (shape, part) {
                (Shape::Array(of, count), Part::At(at)) => {
                    let at = self.index(at, thread)?;
                    if at < 0 || at >= count as i128 {
                        return stuck("an element outside of its array");
                    }
                    first += at as usize * of.leaves().len();
                    *of
                }
                (Shape::Tuple(parts), Part::Field(number)) if *number < parts.len() => {
                    first += parts[..*number].iter().map(|part| part.leaves().len()).sum::<usize>();
                    parts[*number].clone()
                }
                _ => return stuck("no such part"),
            };
        }
        Ok(first..first + shape.leaves().len())
    }

    fn values(&self, var: Var, at: Range<usize>, thread: &Thread) -> Run<Vec<Value>> {
        match &thread.vars[var] {
            Some(Slot::Scalar(value)) => Ok(vec![*value]),
            Some(Slot::Pair(values)) if at.end <= values.len() => Ok(values[at].to_vec()),
            _ => stuck("a variable without a value"),
        }
    }

    fn put(&self, var: Var, at: Range<usize>, new: Vec<Value>, thread: &mut Thread) -> Run<()> {
        match &mut thread.vars[var] {
            Some(Slot::Scalar(value)) if new.len() == 1 => *value = new[0],
            Some(Slot::Pair(values)) if at.end <= values.len() && at.len() == new.len() => {
                values[at].copy_from_slice(&new);
            }
            _ => return stuck("assigned before its `let`"),
        }
        Ok(())
    }

    /// A part that is one value.
    pub fn part(&mut self, target: &'a Target, thread: &mut Thread) -> Run<Value> {
        let at = self.place_of(target, thread)?;
        match self.values(target.var, at, thread)?[..] {
            [value] => Ok(value),
            _ => stuck("no single value"),
        }
    }

    fn whole_values(&mut self, whole: &'a Whole, thread: &mut Thread) -> Run<Vec<Value>> {
        Ok(match whole {
            Whole::One(value) => vec![self.eval(value, thread)?],
            Whole::List(parts) | Whole::Tuple(parts) => {
                let mut all = vec![];
                for part in parts {
                    all.extend(self.whole_values(part, thread)?);
                }
                all
            }
            Whole::Filled(part, count) => self.whole_values(part, thread)?.repeat(*count),
            Whole::Copy(target) => {
                let at = self.place_of(target, thread)?;
                self.values(target.var, at, thread)?
            }
        })
    }

    /// A statement about wholes.
    pub fn whole_statement(&mut self, statement: &'a Stmt, thread: &mut Thread) -> Run<Flow> {
        match statement {
            Stmt::LetWhole(var, value) => {
                let values = self.whole_values(value, thread)?;
                thread.vars[*var] = Some(Slot::Pair(values));
            }
            Stmt::SetWhole(target, value) => {
                let values = self.whole_values(value, thread)?;
                let at = self.place_of(target, thread)?;
                self.put(target.var, at, values, thread)?;
            }
            Stmt::SetPart(target, op, value) => {
                let right = self.eval(value, thread)?;
                let at = self.place_of(target, thread)?;
                let new = match op {
                    Some(op) => {
                        let left = self.values(target.var, at.clone(), thread)?;
                        self.binary(*op, self.kernel.part_type(target), left[0], right)?
                    }
                    None => right,
                };
                self.put(target.var, at, vec![new], thread)?;
            }
            Stmt::SetParts(targets, values) => {
                let values = self.evals(values, thread)?;
                for (target, value) in targets.iter().zip(values) {
                    let at = self.place_of(target, thread)?;
                    self.put(target.var, at, vec![value], thread)?;
                }
            }
            Stmt::Swap(target, i, j) => {
                let (i, j) = (self.index(i, thread)?, self.index(j, thread)?);
                let at = self.place_of(target, thread)?;
                let Some(Shape::Array(of, count)) = self.kernel.shape_of(target) else {
                    return stuck("no array");
                };
                if i.min(j) < 0 || i.max(j) >= count as i128 {
                    return stuck("an element outside of its array");
                }
                let size = of.leaves().len();
                let each =
                    |number: i128| at.start + number as usize * size..at.start + (number as usize + 1) * size;
                let (one, other) =
                    (self.values(target.var, each(i), thread)?, self.values(target.var, each(j), thread)?);
                self.put(target.var, each(i), other, thread)?;
                self.put(target.var, each(j), one, thread)?;
            }
            Stmt::ForEach { var, number, of, changed, body } => {
                return self.each_element((*var, *number, *of, *changed), body, thread);
            }
            _ => return stuck("no statement about wholes"),
        }
        Ok(Flow::Next)
    }

    fn each_element(
        &mut self,
        (var, number, of, changed): (Var, Option<Var>, Var, bool),
        body: &'a [Stmt],
        thread: &mut Thread,
    ) -> Run<Flow> {
        let whole = Target { var: of, parts: vec![] };
        let Some(Shape::Array(_, count)) = self.kernel.shape_of(&whole) else { return stuck("no array") };
        // What the loop goes over is what the array held before.
        let before = self.values(of, 0..count, thread)?;
        for (round, value) in before.into_iter().enumerate() {
            self.step()?;
            thread.set(var, value);
            if let Some(number) = number {
                thread.set(number, Value::Int(round as i128));
            }
            let flow = self.list(body, thread)?;
            if changed {
                let new = self.scalar(var, thread)?;
                self.put(of, round..round + 1, vec![new], thread)?;
            }
            if let Some(flow) = after(flow) {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    /// What a function gives; what it was lent with `&mut` holds what the parameter does at the end.
    pub fn call(&mut self, number: usize, arguments: &'a [Expr], thread: &mut Thread) -> Run<Value> {
        let (mut values, mut lent) = (vec![], vec![]);
        let function = &self.kernel.functions[number];
        for (argument, parameter) in arguments.iter().zip(&function.parameters) {
            values.push(match argument {
                Expr::Reference(target) => {
                    let at = self.place_of(target, thread)?;
                    lent.push((target.var, at.clone(), *parameter));
                    self.values(target.var, at, thread)?[0]
                }
                argument => self.eval(argument, thread)?,
            });
        }
        function.parameters.iter().zip(values).for_each(|(var, value)| thread.set(*var, value));
        let result = self.result(&function.body, thread)?;
        for (var, at, parameter) in lent {
            let new = self.scalar(parameter, thread)?;
            self.put(var, at, vec![new], thread)?;
        }
        Ok(result)
    }
}
