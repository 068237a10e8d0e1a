//! Statements: what each thread that reaches them does, in order.
//!
//! A variable lives from its `Let` to the end of the statement list that holds it, and a loop's body starts each round
//! without its variables.

use super::{Access, AtomicChange, Collective, Comparison, Message, Scope, Signal, Value};
use crate::index::{Index, VarId};
use crate::origin::Origin;

/// A statement and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement<A, O> {
    /// What it does.
    pub kind: StatementKind<A, O>,
    /// Where in the kernel's source.
    pub origin: Origin,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind<A, O> {
    /// Declares an element variable and sets it; without a value it is uninitialised.
    Let(VarId, Option<Value<A>>),
    /// Declares an index variable, or a pointer variable (the index is the element that it points to), and sets it.
    LetIndex(VarId, Index),
    /// Sets an element variable.
    Assign(VarId, Value<A>),
    /// Sets an index variable.
    AssignIndex(VarId, Index),
    /// Writes an element.
    Store(A, Value<A>),
    /// An operation on more than one element.
    Operation(O),
    /// `for (variable = start; variable < end; variable += step)`; `step` is positive. With `unroll` the number of
    /// rounds is a number. `reversed` runs the same rounds last to first.
    For {
        /// The loop's variable, an index.
        variable: VarId,
        /// First value.
        start: Index,
        /// The bound, not reached.
        end: Index,
        /// The step.
        step: i64,
        /// Whether every round becomes its own code.
        unroll: bool,
        /// Whether the rounds run last to first.
        reversed: bool,
        /// The body.
        body: Vec<Statement<A, O>>,
    },
    /// `while (condition)`
    While(Value<A>, Vec<Statement<A, O>>),
    /// `if (condition) .. else ..`
    If(Value<A>, Vec<Statement<A, O>>, Vec<Statement<A, O>>),
    /// Leaves the innermost loop.
    Break,
    /// Goes to the next round of the innermost loop.
    Continue,
    /// Every thread of the participants waits for every other; their writes before are seen after.
    Barrier(Participants),
    /// Declares an element variable and sets it to what the threads of a warp make of their values together. Every
    /// thread of the warp takes part, else the result is unspecified and the simulator reports it. It orders no
    /// accesses to memory.
    Collective(VarId, Collective, Vec<Value<A>>),
    /// Reads an element of a global or shared place, changes it and writes it, with no access of another thread in
    /// between; relaxed (it orders no other access) unless the change says otherwise. Declares the variable, where there
    /// is one, and sets it to what was read. Atomic operations of several threads on one element are no race; their
    /// order is unspecified.
    Atomic {
        /// What becomes of the element.
        change: AtomicChange,
        /// Between which threads.
        scope: Scope,
        /// The element.
        target: A,
        /// The operands behind the element: none, one or two.
        values: Vec<Value<A>>,
        /// What was there before; where the mask does not hold, the pad.
        old: Option<VarId>,
    },
    /// By the warpgroup: from here on each of its threads has so many registers.
    SetMaxRegisters {
        /// 24 to 256, a multiple of 8.
        registers: u32,
        /// Whether that is more than at the start.
        increase: bool,
    },
    /// The program promises that this condition holds where a thread comes here: the simulator reports where it does not.
    Assume(Value<A>),
    /// Prints a text.
    Print(Message<A>),
    /// Where `fails` holds the simulator reports the message, and a GPU stops the grid.
    Assert {
        /// The opposite of the asserted condition.
        fails: Value<A>,
        /// What is reported.
        message: Message<A>,
        /// Whether only the simulator tests it, and nothing may rely on it.
        debug: bool,
    },
    /// What orders asynchronous work.
    Signal(Signal),
}

/// How control goes through a statement.
#[derive(Clone, Copy, Debug)]
pub enum Control<'a, A, O> {
    /// Any number of rounds of this list.
    Loop(&'a [Statement<A, O>]),
    /// One of these lists.
    Branch(&'a [Statement<A, O>], &'a [Statement<A, O>]),
    /// Out of the innermost loop, or to its next round.
    Leave,
    /// To the next statement.
    Straight,
}

impl<A, O> StatementKind<A, O> {
    /// How control goes through it.
    pub fn control(&self) -> Control<'_, A, O> {
        match self {
            StatementKind::For { body, .. } | StatementKind::While(_, body) => Control::Loop(body),
            StatementKind::If(_, then, otherwise) => Control::Branch(then, otherwise),
            StatementKind::Break | StatementKind::Continue => Control::Leave,
            StatementKind::Let(..)
            | StatementKind::LetIndex(..)
            | StatementKind::Assign(..)
            | StatementKind::AssignIndex(..)
            | StatementKind::Store(..)
            | StatementKind::Operation(_)
            | StatementKind::Barrier(_)
            | StatementKind::Collective(..)
            | StatementKind::Atomic { .. }
            | StatementKind::SetMaxRegisters { .. }
            | StatementKind::Assume(_)
            | StatementKind::Print(_)
            | StatementKind::Assert { .. }
            | StatementKind::Signal(_) => Control::Straight,
        }
    }

    /// The statement lists inside; empty ones where there are fewer.
    pub fn lists(&self) -> [&[Statement<A, O>]; 2] {
        match self.control() {
            Control::Loop(body) => [body, &[]],
            Control::Branch(then, otherwise) => [then, otherwise],
            Control::Leave | Control::Straight => [&[], &[]],
        }
    }

    /// The same lists, to be changed.
    pub fn lists_mut(&mut self) -> Vec<&mut Vec<Statement<A, O>>> {
        if let StatementKind::For { body, .. } | StatementKind::While(_, body) = self {
            vec![body]
        } else if let StatementKind::If(_, then, otherwise) = self {
            vec![then, otherwise]
        } else {
            Vec::new()
        }
    }

    /// Whether it may leave the loop around it, or begin its next round.
    pub fn leaves(&self) -> bool {
        match self.control() {
            Control::Leave => true,
            Control::Branch(then, otherwise) => {
                then.iter().chain(otherwise).any(|statement| statement.kind.leaves())
            }
            Control::Loop(_) | Control::Straight => false,
        }
    }
}

impl<O> StatementKind<Access, O> {
    /// The mask under which its values are evaluated: where a store or an atomic operation does nothing, nothing is read for it.
    /// The text has the values inside of the mask's `if`, and the simulator evaluates them in the lanes where the mask holds.
    pub fn guard(&self) -> &[Comparison] {
        match self {
            StatementKind::Store(target, _) | StatementKind::Atomic { target, .. } => &target.mask,
            StatementKind::Let(..)
            | StatementKind::LetIndex(..)
            | StatementKind::Assign(..)
            | StatementKind::AssignIndex(..)
            | StatementKind::Operation(_)
            | StatementKind::For { .. }
            | StatementKind::While(..)
            | StatementKind::If(..)
            | StatementKind::Break
            | StatementKind::Continue
            | StatementKind::Barrier(_)
            | StatementKind::Collective(..)
            | StatementKind::SetMaxRegisters { .. }
            | StatementKind::Assume(_)
            | StatementKind::Print(_)
            | StatementKind::Assert { .. }
            | StatementKind::Signal(_) => &[],
        }
    }
}

/// Who takes part in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Participants {
    /// One thread, each for itself.
    Thread,
    /// The 32 threads of a warp.
    Warp,
    /// Four warps, the first a multiple of four.
    Warpgroup,
    /// Every thread of the block.
    Block,
    /// Every thread of the cluster's blocks.
    Cluster,
    /// Every thread of the grid, whose blocks run at the same time.
    Grid,
}
