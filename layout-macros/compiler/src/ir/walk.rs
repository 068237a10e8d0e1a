//! A walk over a kernel's expressions and statements.
//!
//! Law: nothing is skipped. Expressions contain statements, too: in blocks that are operands, in arguments of calls,
//! in conditions and bounds.

use super::{Block, ExprId, ExprKind, Kernel, LocalId, Statement, StatementKind};

/// What the walk comes to.
pub enum Seen<'k> {
    /// A statement; what is inside of it comes next where the answer says so.
    Statement(&'k Statement),
    /// `&mut place`
    Borrow(ExprId),
}

impl Seen<'_> {
    /// The place that this changes, or hands on to be changed.
    pub fn changed(&self) -> Option<ExprId> {
        match self {
            Seen::Statement(Statement { kind: StatementKind::Assign { place, .. }, .. }) => Some(*place),
            Seen::Borrow(place) => Some(*place),
            Seen::Statement(_) => None,
        }
    }
}

/// Blocks and expressions within each other that are looked through; the macro refuses deeper ones.
const MAX_DEPTH: u32 = 4096;

impl Kernel {
    /// The local that a place is, or is a part of.
    pub fn local_of(&self, place: ExprId) -> Option<LocalId> {
        let mut place = place;
        loop {
            match self.expr(place).kind {
                ExprKind::Local(local) => return Some(local),
                ExprKind::Field(of, _) | ExprKind::Element(of, _) => place = of,
                _ => return None,
            }
        }
    }

    /// Shows each statement of a block, in order, then what is inside of it where `see` says so.
    pub fn each_statement<'k>(&'k self, block: &'k Block, see: &mut impl FnMut(Seen<'k>) -> bool) {
        self.in_block(block, MAX_DEPTH, see);
    }

    /// Likewise of the statements inside of an expression.
    pub fn each_statement_in<'k>(&'k self, id: ExprId, see: &mut impl FnMut(Seen<'k>) -> bool) {
        self.in_expr(id, MAX_DEPTH, see);
    }

    fn in_block<'k>(&'k self, block: &'k Block, depth: u32, see: &mut impl FnMut(Seen<'k>) -> bool) {
        let Some(depth) = depth.checked_sub(1) else { return };
        for statement in &block.statements {
            if !see(Seen::Statement(statement)) {
                continue;
            }
            match &statement.kind {
                StatementKind::Let { value, .. } | StatementKind::Expr(value) => {
                    self.in_expr(*value, depth, see)
                }
                StatementKind::Assign { place, value, .. } => {
                    self.in_expr(*value, depth, see);
                    self.in_expr(*place, depth, see);
                }
                StatementKind::For { start, end, step, body, .. } => {
                    [Some(*start), Some(*end), *step]
                        .into_iter()
                        .flatten()
                        .for_each(|id| self.in_expr(id, depth, see));
                    self.in_block(body, depth, see);
                }
                StatementKind::While { condition, body } => {
                    self.in_expr(*condition, depth, see);
                    self.in_block(body, depth, see);
                }
                StatementKind::Print(format) => {
                    format.values.iter().for_each(|id| self.in_expr(*id, depth, see));
                }
                StatementKind::Assert { condition, message, .. } => {
                    self.in_expr(*condition, depth, see);
                    message.values.iter().for_each(|id| self.in_expr(*id, depth, see));
                }
                StatementKind::Declare { .. } | StatementKind::Break | StatementKind::Continue => {}
            }
        }
        block.value.iter().for_each(|value| self.in_expr(*value, depth, see));
    }

    fn in_expr<'k>(&'k self, id: ExprId, depth: u32, see: &mut impl FnMut(Seen<'k>) -> bool) {
        let Some(depth) = depth.checked_sub(1) else { return };
        match &self.expr(id).kind {
            ExprKind::Int(..)
            | ExprKind::Float(..)
            | ExprKind::Bool(_)
            | ExprKind::Type(_)
            | ExprKind::Named(_)
            // A function is looked through by itself, and so is a closure.
            | ExprKind::Function(_)
            | ExprKind::Known(..)
            | ExprKind::Local(_)
            | ExprKind::Parameter(_)
            | ExprKind::Dim(_)
            | ExprKind::Argument(_)
            | ExprKind::Special(..) => {}
            ExprKind::Borrow(place) => {
                see(Seen::Borrow(*place));
                self.in_expr(*place, depth, see);
            }
            ExprKind::Unary(_, operand) | ExprKind::Cast(operand, _) | ExprKind::Field(operand, _) | ExprKind::Len(operand) => {
                self.in_expr(*operand, depth, see);
            }
            ExprKind::Binary(_, left, right)
            | ExprKind::Repeat(left, right)
            | ExprKind::Element(left, right) => {
                self.in_expr(*left, depth, see);
                self.in_expr(*right, depth, see);
            }
            ExprKind::Tuple(parts)
            | ExprKind::Array(parts)
            | ExprKind::Intrinsic(_, _, parts)
            | ExprKind::Call(_, parts) => parts.iter().for_each(|part| self.in_expr(*part, depth, see)),
            ExprKind::Index(view, coordinates) | ExprKind::CallValue(view, coordinates) => {
                self.in_expr(*view, depth, see);
                coordinates.iter().for_each(|part| self.in_expr(*part, depth, see));
            }
            ExprKind::Block(block) => self.in_block(block, depth, see),
            ExprKind::If(condition, then, otherwise) => {
                self.in_expr(*condition, depth, see);
                self.in_block(then, depth, see);
                self.in_block(otherwise, depth, see);
            }
        }
    }
}
