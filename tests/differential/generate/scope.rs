//! What the generator knows of the variables in sight.

use crate::tree::{Shape, Var};
use crate::types::Type;

/// A view in sight.
#[derive(Clone, Debug)]
pub struct Known {
    pub var: Var,
    pub elem: Type,
    pub extents: Vec<i64>,
    /// Whether its elements are vectors, so that only copies and fills take it.
    pub vectors: bool,
    pub kind: KnownKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownKind {
    /// Of a tensor that nobody writes.
    Read,
    /// Of the thread's own row.
    Own,
    /// In registers: its indices are numbers.
    Local,
}

#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Variables, and whether they may be assigned.
    pub vars: Vec<(Var, bool)>,
    pub views: Vec<Known>,
    /// Variables of unrolled loops, and the end of their range.
    pub unrolled: Vec<(Var, i64)>,
    /// Arrays of the thread, and how many elements they have.
    pub arrays: Vec<(Var, Type, usize)>,
    /// Arrays and tuples within each other.
    pub wholes: Vec<(Var, Shape)>,
    /// Indices that stay below a number, though they change.
    pub counters: Vec<(Var, i64)>,
}

/// What was in sight.
#[derive(Clone, Copy)]
pub struct Mark([usize; 6]);

impl Scope {
    pub fn declare(&mut self, var: Var, mutable: bool) {
        self.vars.push((var, mutable));
    }

    pub fn mark(&self) -> Mark {
        Mark([
            self.vars.len(),
            self.views.len(),
            self.unrolled.len(),
            self.arrays.len(),
            self.wholes.len(),
            self.counters.len(),
        ])
    }

    pub fn leave(&mut self, mark: Mark) {
        let [vars, views, unrolled, arrays, wholes, counters] = mark.0;
        self.vars.truncate(vars);
        self.views.truncate(views);
        self.unrolled.truncate(unrolled);
        self.arrays.truncate(arrays);
        self.wholes.truncate(wholes);
        self.counters.truncate(counters);
    }
}
