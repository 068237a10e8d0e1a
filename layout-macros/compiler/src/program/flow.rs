//! Forward dataflow over the structured program: the state before each statement, on every path or on some path.
//!
//! ```text
//!            ┌───────────────── continue, end of the body ◄─┐
//! before ──► head ──► body ─────────────────────────────────┘
//!              └─ no round left ──► after ◄── break
//! ```
//!
//! Law: the state before a statement is the join of the states at the ends of all paths to it, and `None` where there
//! is no path. Paths join after an `if`, at a loop's head, and after a loop. The states of the heads are kept from
//! one pass over the program to the next, until no head changes. So a pass is linear, however deep the loops are
//! nested.

use super::{Access, Control, Operation, Statement, StatementKind, Value};
use std::collections::HashMap;

type List = [Statement<Access, Operation>];

/// States, with what holds where two paths meet.
pub trait Lattice: Clone + PartialEq {
    /// Takes in what holds on another path.
    fn join(&mut self, other: &Self);
}

/// What holds on some path: the union.
impl<T: Ord + Clone> Lattice for std::collections::BTreeSet<T> {
    fn join(&mut self, other: &Self) {
        self.extend(other.iter().cloned());
    }
}

/// A forward analysis.
pub trait Analysis {
    /// What is known at a point. Chains of joins end, and [`Analysis::transfer`] is monotone.
    type State: Lattice;

    /// What a statement itself does, without the lists inside of it: of an `if` and a `while` its condition does, of a `for` its
    /// variable.
    fn transfer(&self, statement: &Statement<Access, Operation>, state: &mut Self::State);
}

/// Looks at every statement that some path reaches, once and in order, with what holds before it. Gives what holds at the end.
pub fn solve<A: Analysis>(
    analysis: &A,
    list: &List,
    entry: A::State,
    mut look: impl FnMut(&Statement<Access, Operation>, &A::State),
) -> Option<A::State> {
    let mut solver = Solver { analysis, heads: HashMap::new(), changed: true, left: Left::default() };
    while std::mem::take(&mut solver.changed) {
        solver.list(list, Some(entry.clone()), &mut |_, _| {});
    }
    solver.list(list, Some(entry), &mut look)
}

type Look<'l, S> = &'l mut dyn FnMut(&Statement<Access, Operation>, &S);

struct Solver<'a, A: Analysis> {
    analysis: &'a A,
    /// What holds at the head of each loop, so far.
    heads: HashMap<*const Statement<Access, Operation>, A::State>,
    /// Whether a head changed in this pass.
    changed: bool,
    /// The paths that have left the innermost loop's body.
    left: Left<A::State>,
}

/// What holds where `break` and `continue` are.
struct Left<S> {
    broken: Option<S>,
    continued: Option<S>,
}

impl<S> Default for Left<S> {
    fn default() -> Left<S> {
        Left { broken: None, continued: None }
    }
}

impl<A: Analysis> Solver<'_, A> {
    fn list(
        &mut self,
        list: &List,
        mut state: Option<A::State>,
        look: Look<'_, A::State>,
    ) -> Option<A::State> {
        for statement in list {
            state = self.statement(statement, state?, look);
        }
        state
    }

    fn statement(
        &mut self,
        statement: &Statement<Access, Operation>,
        mut state: A::State,
        look: Look<'_, A::State>,
    ) -> Option<A::State> {
        let control = statement.kind.control();
        if let Control::Loop(body) = control {
            return self.rounds(statement, body, state, look);
        }
        look(statement, &state);
        self.analysis.transfer(statement, &mut state);
        match control {
            Control::Branch(then, otherwise) => {
                let taken = self.list(then, Some(state.clone()), look);
                join(taken, self.list(otherwise, Some(state), look))
            }
            Control::Leave => {
                let ends = matches!(statement.kind, StatementKind::Break);
                let left = if ends { &mut self.left.broken } else { &mut self.left.continued };
                *left = join(left.take(), Some(state));
                None
            }
            Control::Loop(_) | Control::Straight => Some(state),
        }
    }

    /// A loop.
    fn rounds(
        &mut self,
        statement: &Statement<Access, Operation>,
        body: &List,
        before: A::State,
        look: Look<'_, A::State>,
    ) -> Option<A::State> {
        let outside = std::mem::take(&mut self.left);
        let mut head = self.head(statement, Some(before))?;
        look(statement, &head);
        self.analysis.transfer(statement, &mut head);
        let end = self.list(body, Some(head.clone()), look);
        let inside = std::mem::replace(&mut self.left, outside);
        let again = join(end, inside.continued);
        self.head(statement, again.clone());
        let leaves = match trips(&statement.kind) {
            Trips::Any => Some(head),
            // The last round goes on behind the loop.
            Trips::AtLeastOne => again,
            Trips::UntilBreak => None,
        };
        join(leaves, inside.broken)
    }

    /// Joins a state into a loop's head; gives the head's.
    fn head(
        &mut self,
        statement: &Statement<Access, Operation>,
        state: Option<A::State>,
    ) -> Option<A::State> {
        let key = std::ptr::from_ref(statement);
        let known = self.heads.get(&key).cloned();
        let joined = join(known.clone(), state);
        if let Some(joined) = &joined
            && known.as_ref() != Some(joined)
        {
            self.changed = true;
            self.heads.insert(key, joined.clone());
        }
        joined
    }
}

fn join<S: Lattice>(a: Option<S>, b: Option<S>) -> Option<S> {
    match (a, b) {
        (Some(mut a), Some(b)) => {
            a.join(&b);
            Some(a)
        }
        (a, b) => a.or(b),
    }
}

/// Whether a loop has a round in any case, so that what is behind it is behind a round's end and not behind its header.
pub fn at_least_once(kind: &StatementKind<Access, Operation>) -> bool {
    matches!(trips(kind), Trips::AtLeastOne)
}

/// The loop's trip count, as far as its header says.
enum Trips {
    /// Perhaps none.
    Any,
    AtLeastOne,
    /// As many as there are until a `break`.
    UntilBreak,
}

fn trips(kind: &StatementKind<Access, Operation>) -> Trips {
    if let StatementKind::For { start, end, .. } = kind
        && let (Some(start), Some(end)) = (start.as_constant(), end.as_constant())
        && start < end
    {
        return Trips::AtLeastOne;
    }
    if let StatementKind::While(Value::Constant(condition), _) = kind
        && condition.bits != 0
    {
        return Trips::UntilBreak;
    }
    Trips::Any
}
