//! Kernels with one mistake: one statement that orders something is gone, elsewhere, or weaker.
//!
//! Law: each edit of a kernel changes one statement, and says which: the number of its word in the order of the text, nested
//! functions after the body. What it changes is the kernel as the macro made it, so that every later stage takes part.

use layout_compiler::intrinsic::Intrinsic;
use layout_compiler::ir::{Block, ExprId, ExprKind, Statement, StatementKind};
use layout_compiler::{Kernel, Position};
use std::collections::BTreeMap;
use std::fmt;

/// What is done to the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// It is gone.
    Deleted,
    /// It is before the last statement in front of it that touches something.
    Earlier,
    /// It is behind the next statement that touches something.
    Later,
    /// A wait lets one more group be in flight; a release or an acquire orders nothing.
    Weaker,
}

/// A mistake: which statement, and what is done to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edit {
    /// The statement's word: `barrier`.
    pub word: &'static str,
    /// Which statement of this word, from 1.
    pub number: usize,
    /// What is done to it.
    pub change: Change,
    /// Where: the number of the block, and of the statement in it.
    place: (usize, usize),
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let change = match self.change {
            Change::Deleted => "deleted",
            Change::Earlier => "earlier",
            Change::Later => "later",
            Change::Weaker => "weaker",
        };
        write!(f, "{} {} {change}", self.word, self.number)
    }
}

/// The words that order something, where they are as a statement of their own.
const ORDERING: [Intrinsic; 28] = [
    Intrinsic::Barrier,
    Intrinsic::SyncWarp,
    Intrinsic::NamedBarrier,
    Intrinsic::NamedBarrierArrive,
    Intrinsic::ClusterBarrier,
    Intrinsic::GridBarrier,
    Intrinsic::FenceBlock,
    Intrinsic::FenceDevice,
    Intrinsic::FenceSystem,
    Intrinsic::GridDependencyWait,
    Intrinsic::LaunchDependents,
    Intrinsic::Arrive,
    Intrinsic::ArriveExpect,
    Intrinsic::ArriveRemote,
    Intrinsic::Wait,
    Intrinsic::AsyncCopyCommitGroup,
    Intrinsic::AsyncCopyWaitGroup,
    Intrinsic::AsyncCopyWaitAll,
    Intrinsic::BulkCommitGroup,
    Intrinsic::BulkWaitGroup,
    Intrinsic::BulkWaitGroupRead,
    Intrinsic::FenceAsyncProxy,
    Intrinsic::FenceAsyncProxyGlobal,
    Intrinsic::Tcgen05Commit,
    Intrinsic::Tcgen05WaitLoad,
    Intrinsic::Tcgen05WaitStore,
    Intrinsic::Tcgen05FenceBefore,
    Intrinsic::Tcgen05FenceAfter,
];
/// The words that touch memory or another thread, beside those and `view[[..]]`.
const TOUCHING: [Intrinsic; 50] = [
    Intrinsic::Fill,
    Intrinsic::CopyFrom,
    Intrinsic::CopyFromAsync,
    Intrinsic::ToLocal,
    Intrinsic::CopyDramToSram,
    Intrinsic::CopyDramToSramAsync,
    Intrinsic::OuterProductAcc,
    Intrinsic::Shuffle,
    Intrinsic::ShuffleUp,
    Intrinsic::ShuffleDown,
    Intrinsic::ShuffleXor,
    Intrinsic::WarpSum,
    Intrinsic::WarpMax,
    Intrinsic::WarpMin,
    Intrinsic::WarpAnd,
    Intrinsic::WarpOr,
    Intrinsic::WarpXor,
    Intrinsic::WarpPrefixSum,
    Intrinsic::BlockSum,
    Intrinsic::BlockMax,
    Intrinsic::BlockMin,
    Intrinsic::BlockPrefixSum,
    Intrinsic::Ballot,
    Intrinsic::Any,
    Intrinsic::All,
    Intrinsic::MatchAny,
    Intrinsic::MatchAll,
    Intrinsic::AtomicExchange,
    Intrinsic::AtomicCompareExchange,
    Intrinsic::AtomicAdd,
    Intrinsic::AtomicMax,
    Intrinsic::AtomicMin,
    Intrinsic::LoadRelaxed,
    Intrinsic::LoadAcquire,
    Intrinsic::StoreRelaxed,
    Intrinsic::StoreRelease,
    Intrinsic::TmaLoad,
    Intrinsic::TmaLoadMulticast,
    Intrinsic::TmaStore,
    Intrinsic::StoreAsync,
    Intrinsic::Wgmma,
    Intrinsic::Tcgen05Mma,
    Intrinsic::Tcgen05Load,
    Intrinsic::Tcgen05Store,
    Intrinsic::StoreMatrix,
    Intrinsic::LoadA,
    Intrinsic::LoadB,
    Intrinsic::LoadAScales,
    Intrinsic::LoadBScales,
    Intrinsic::StoreD,
];
const PRODUCTS: [Intrinsic; 2] = [Intrinsic::WgmmaCommitGroup, Intrinsic::WgmmaWaitGroup];

/// Every edit of a kernel, in the order of its text.
pub fn edits(kernel: &Kernel) -> Vec<Edit> {
    type Site = (Position, &'static str, Vec<Change>, (usize, usize));
    let mut sites: Vec<Site> = Vec::new();
    let mut blocks = kernel.clone();
    each_block(&mut blocks, &mut |number, block| {
        for (at, statement) in block.statements.iter().enumerate() {
            let position = kernel.position(statement.origin);
            let mut add = |word, changes| sites.push((position, word, changes, (number, at)));
            for weak in weakened(kernel, statement) {
                add(weak.name(), vec![Change::Weaker]);
            }
            let Some(word) = ordering(kernel, statement) else { continue };
            let mut changes = vec![Change::Deleted];
            if neighbour(kernel, block, at, true).is_some() {
                changes.push(Change::Earlier);
            }
            if neighbour(kernel, block, at, false).is_some() {
                changes.push(Change::Later);
            }
            if group(kernel, statement).is_some() {
                changes.push(Change::Weaker);
            }
            add(word, changes);
        }
    });
    sites.sort_by_key(|(position, .., place)| (position.line, position.column, *place));
    let mut numbers: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (_, word, changes, place) in sites {
        let number = numbers.entry(word).or_default();
        *number += 1;
        found.extend(changes.into_iter().map(|change| Edit { word, number: *number, change, place }));
    }
    found
}

/// The kernel with an edit.
pub fn edited(kernel: &Kernel, edit: &Edit) -> Kernel {
    let mut changed = kernel.clone();
    let (number, at) = edit.place;
    let mut weak = None;
    each_block(&mut changed, &mut |own, block| {
        if own != number || at >= block.statements.len() {
            return;
        }
        match edit.change {
            Change::Deleted => {
                block.statements.remove(at);
            }
            Change::Earlier | Change::Later => {
                if let Some(to) = neighbour(kernel, block, at, edit.change == Change::Earlier) {
                    let statement = block.statements.remove(at);
                    block.statements.insert(to, statement);
                }
            }
            Change::Weaker => weak = Some(block.statements[at].clone()),
        }
    });
    if let Some(statement) = weak {
        weaken(&mut changed, &statement, edit);
    }
    changed
}

/// The word of a statement that orders something.
fn ordering(kernel: &Kernel, statement: &Statement) -> Option<&'static str> {
    match &statement.kind {
        StatementKind::Expr(value) => match kernel.exprs.get(value.0 as usize).map(|expr| &expr.kind) {
            Some(ExprKind::Intrinsic(word, ..)) if ORDERING.contains(word) || PRODUCTS.contains(word) => {
                Some(word.name())
            }
            _ => None,
        },
        // A wait for a flag.
        StatementKind::While { condition, body } if body.statements.is_empty() && body.value.is_none() => {
            let waits = |kind: &ExprKind| {
                matches!(kind, ExprKind::Intrinsic(Intrinsic::LoadAcquire | Intrinsic::LoadRelaxed, ..))
            };
            any(kernel, *condition, &waits).then_some("while")
        }
        _ => None,
    }
}

/// The number of groups that a wait lets be in flight.
fn group(kernel: &Kernel, statement: &Statement) -> Option<ExprId> {
    let StatementKind::Expr(value) = &statement.kind else { return None };
    match kernel.exprs.get(value.0 as usize).map(|expr| &expr.kind) {
        Some(ExprKind::Intrinsic(
            Intrinsic::AsyncCopyWaitGroup
            | Intrinsic::BulkWaitGroup
            | Intrinsic::BulkWaitGroupRead
            | Intrinsic::WgmmaWaitGroup,
            _,
            arguments,
        )) => arguments.first().copied(),
        _ => None,
    }
}

/// The releases and acquires in a statement itself, not in the blocks inside of it.
fn weakened(kernel: &Kernel, statement: &Statement) -> Vec<Intrinsic> {
    let mut list = Vec::new();
    for root in roots(statement) {
        collect(kernel, root, &mut |_, kind| {
            if let ExprKind::Intrinsic(word @ (Intrinsic::StoreRelease | Intrinsic::LoadAcquire), ..) = kind {
                list.push(*word);
            }
        });
    }
    list
}

fn weaken(kernel: &mut Kernel, statement: &Statement, edit: &Edit) {
    if let Some(count) = group(kernel, statement) {
        if let Some(ExprKind::Int(value, _)) =
            kernel.exprs.get_mut(count.0 as usize).map(|expr| &mut expr.kind)
        {
            *value += 1;
        } else if let Some(expr) = kernel.exprs.get(count.0 as usize).cloned() {
            // `n` becomes `n + 1`, in the place of the first of three new expressions.
            let next = kernel.exprs.len() as u32;
            let origin = expr.origin;
            let of = |kind| layout_compiler::ir::Expr { kind, origin };
            kernel.exprs.push(expr);
            kernel.exprs.push(of(ExprKind::Int(1, None)));
            let sum = layout_compiler::ir::BinaryOp::Add;
            kernel.exprs[count.0 as usize] = of(ExprKind::Binary(sum, ExprId(next), ExprId(next + 1)));
        }
        return;
    }
    let mut found = Vec::new();
    for root in roots(statement) {
        collect(kernel, root, &mut |id, kind| {
            if matches!(kind, ExprKind::Intrinsic(word, ..) if word.name() == edit.word) {
                found.push(id);
            }
        });
    }
    for id in found {
        if let ExprKind::Intrinsic(word, ..) = &mut kernel.exprs[id.0 as usize].kind {
            *word = match word {
                Intrinsic::StoreRelease => Intrinsic::StoreRelaxed,
                _ => Intrinsic::LoadRelaxed,
            };
        }
    }
}

/// Where a statement goes: past the next one that touches something, and past all that touch nothing before that.
fn neighbour(kernel: &Kernel, block: &Block, at: usize, earlier: bool) -> Option<usize> {
    let touches = |place: &usize| touches(kernel, &block.statements[*place]);
    let list = &block.statements;
    // What a name is bound to cannot be used before it is.
    let binds = |place: &usize| {
        matches!(list[*place].kind, StatementKind::Let { .. } | StatementKind::Declare { .. })
    };
    if earlier {
        let to = (0..at).rev().find(touches)?;
        (to..at).all(|place| !binds(&place) || !needs(kernel, &list[at])).then_some(to)
    } else {
        (at + 1..list.len()).find(touches)
    }
}

/// Whether a statement names a local.
fn needs(kernel: &Kernel, statement: &Statement) -> bool {
    let local = |kind: &ExprKind| matches!(kind, ExprKind::Local(_));
    roots(statement).into_iter().any(|root| any(kernel, root, &local))
}

/// Whether a statement may touch memory, or order anything itself.
fn touches(kernel: &Kernel, statement: &Statement) -> bool {
    let touching = |kind: &ExprKind| match kind {
        ExprKind::Index(..) | ExprKind::Call(..) | ExprKind::CallValue(..) => true,
        ExprKind::Intrinsic(word, ..) => {
            TOUCHING.contains(word) || ORDERING.contains(word) || PRODUCTS.contains(word)
        }
        _ => false,
    };
    let inside = |block: &Block| {
        block.statements.iter().any(|statement| self::touches(kernel, statement))
            || block.value.is_some_and(|value| any(kernel, value, &touching))
    };
    roots(statement).into_iter().any(|root| any(kernel, root, &touching))
        || match &statement.kind {
            StatementKind::For { body, .. } | StatementKind::While { body, .. } => inside(body),
            _ => false,
        }
}

/// The expressions of a statement.
fn roots(statement: &Statement) -> Vec<ExprId> {
    match &statement.kind {
        StatementKind::Let { value, .. } | StatementKind::Expr(value) => vec![*value],
        StatementKind::Assign { place, value, .. } => vec![*place, *value],
        StatementKind::For { start, end, step, .. } => {
            [Some(*start), Some(*end), *step].into_iter().flatten().collect()
        }
        StatementKind::While { condition, .. } => vec![*condition],
        StatementKind::Print(format) => format.values.clone(),
        StatementKind::Assert { condition, message, .. } => [&[*condition], &message.values[..]].concat(),
        StatementKind::Declare { .. } | StatementKind::Break | StatementKind::Continue => Vec::new(),
    }
}

/// Whether an expression, or one inside of it, blocks too, is of this kind.
fn any(kernel: &Kernel, root: ExprId, test: &dyn Fn(&ExprKind) -> bool) -> bool {
    let Some(expr) = kernel.exprs.get(root.0 as usize) else { return false };
    let block = |block: &Block| {
        block.value.is_some_and(|value| any(kernel, value, test))
            || block.statements.iter().any(|statement| statement_has(kernel, statement, test))
    };
    test(&expr.kind)
        || match &expr.kind {
            ExprKind::Block(inside) => block(inside),
            ExprKind::If(condition, then, otherwise) => {
                any(kernel, *condition, test) || block(then) || block(otherwise)
            }
            kind => parts(kind).into_iter().any(|part| any(kernel, part, test)),
        }
}

fn statement_has(kernel: &Kernel, statement: &Statement, test: &dyn Fn(&ExprKind) -> bool) -> bool {
    roots(statement).into_iter().any(|root| any(kernel, root, test))
        || match &statement.kind {
            StatementKind::For { body, .. } | StatementKind::While { body, .. } => {
                body.value.is_some_and(|value| any(kernel, value, test))
                    || body.statements.iter().any(|statement| statement_has(kernel, statement, test))
            }
            _ => false,
        }
}

/// Shows an expression and those inside of it, without blocks.
fn collect(kernel: &Kernel, root: ExprId, see: &mut dyn FnMut(ExprId, &ExprKind)) {
    let Some(expr) = kernel.exprs.get(root.0 as usize) else { return };
    see(root, &expr.kind);
    let inside = match &expr.kind {
        ExprKind::If(condition, ..) => vec![*condition],
        kind => parts(kind),
    };
    inside.into_iter().for_each(|part| collect(kernel, part, see));
}

/// The operands of an expression; blocks apart.
fn parts(kind: &ExprKind) -> Vec<ExprId> {
    match kind {
        ExprKind::Unary(_, operand)
        | ExprKind::Cast(operand, _)
        | ExprKind::Field(operand, _)
        | ExprKind::Borrow(operand)
        | ExprKind::Len(operand) => vec![*operand],
        ExprKind::Binary(_, left, right) | ExprKind::Repeat(left, right) | ExprKind::Element(left, right) => {
            vec![*left, *right]
        }
        ExprKind::Tuple(parts) | ExprKind::Array(parts) => parts.clone(),
        ExprKind::Index(view, parts) | ExprKind::CallValue(view, parts) => {
            [std::slice::from_ref(view), &parts[..]].concat()
        }
        ExprKind::Intrinsic(_, _, parts) | ExprKind::Call(_, parts) => parts.clone(),
        ExprKind::Int(..)
        | ExprKind::Float(..)
        | ExprKind::Bool(_)
        | ExprKind::Type(_)
        | ExprKind::Named(_)
        | ExprKind::Known(..)
        | ExprKind::Local(_)
        | ExprKind::Parameter(_)
        | ExprKind::Dim(_)
        | ExprKind::Argument(_)
        | ExprKind::Special(..)
        | ExprKind::Function(_)
        | ExprKind::Block(_)
        | ExprKind::If(..) => Vec::new(),
    }
}

/// Shows every block of a kernel with its number.
fn each_block(kernel: &mut Kernel, see: &mut dyn FnMut(usize, &mut Block)) {
    let mut number = 0;
    inside(&mut kernel.body, &mut number, see);
    for function in &mut kernel.functions {
        inside(&mut function.body, &mut number, see);
    }
    for expr in &mut kernel.exprs {
        match &mut expr.kind {
            ExprKind::Block(block) => inside(block, &mut number, see),
            ExprKind::If(_, then, otherwise) => {
                inside(then, &mut number, see);
                inside(otherwise, &mut number, see);
            }
            _ => {}
        }
    }
}

fn inside(block: &mut Block, number: &mut usize, see: &mut dyn FnMut(usize, &mut Block)) {
    // Those inside first: what is done to this one would move them.
    for statement in &mut block.statements {
        if let StatementKind::For { body, .. } | StatementKind::While { body, .. } = &mut statement.kind {
            inside(body, number, see);
        }
    }
    see(*number, block);
    *number += 1;
}
