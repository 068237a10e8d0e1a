//! Validation of a kernel that was read from bytes, so that the stages may index its tables.
//!
//! Law: in a valid kernel every id is in range, every expression's operands precede it in the arena (so no expression
//! contains itself), and every tensor has one to five extents. The macro's lowering makes only valid kernels.

use super::ir::{
    Annotation, ArgumentKind, ArgumentLayout, Block, ExprId, ExprKind, Format, Kernel, LocalId, Pattern,
    Piece, StatementKind, TypeRef,
};

/// Tests a kernel.
pub(super) fn valid(kernel: &Kernel) -> bool {
    let check = Check { kernel, depth: MAX_DEPTH };
    let all = |ids: &[ExprId]| ids.iter().all(|id| check.expr(*id, u32::MAX));
    let attribute = all(&kernel.block)
        && kernel.grid.iter().all(|grid| all(grid))
        && all(&kernel.cluster)
        && kernel
            .arch
            .iter()
            .chain(&kernel.min_blocks)
            .chain(&kernel.opt_level)
            .chain(&kernel.fast_math)
            .chain(&kernel.cooperative)
            .all(|id| check.expr(*id, u32::MAX))
        && all(&kernel.require)
        && all(&kernel.filter)
        && kernel.parameters.iter().all(|own| own.computed.iter().all(|id| check.expr(*id, u32::MAX)))
        && kernel.variant_if.iter().all(|own| all(&own.conditions));
    let arguments = kernel.arguments.iter().all(|argument| match &argument.kind {
        ArgumentKind::Tensor { elem, extents, layout, .. } => {
            let layout = match layout {
                ArgumentLayout::Contiguous(mode) => check.expr(*mode, u32::MAX),
                _ => true,
            };
            check.ty(*elem) && (1..=5).contains(&extents.len()) && all(extents) && layout
        }
        ArgumentKind::Scalar(ty) => check.ty(*ty),
    });
    let functions = kernel.functions.iter().all(|function| {
        function.parameters.iter().all(|local| check.local(*local))
            && function.types.len() == function.parameters.len()
            && function.types.iter().all(|ty| check.annotation(ty, MAX_DEPTH))
            && function.type_sources.iter().all(|(place, own)| {
                (*place as usize) < function.parameters.len() && (*own as usize) < kernel.own_types.len()
            })
            && check.annotation(&function.result, MAX_DEPTH)
            && check.block(&function.body, u32::MAX)
    });
    let expressions = (0..kernel.exprs.len() as u32).all(|id| check.parts(ExprId(id)));
    let signed = kernel.signed.iter().all(|id| check.expr(*id, u32::MAX));
    attribute && arguments && functions && expressions && signed && check.block(&kernel.body, u32::MAX)
}

/// Blocks inside blocks, beyond what the macro lets through.
const MAX_DEPTH: u32 = 1024;

struct Check<'k> {
    kernel: &'k Kernel,
    depth: u32,
}

impl Check<'_> {
    /// In range, and before `limit`.
    fn expr(&self, id: ExprId, limit: u32) -> bool {
        (id.0 as usize) < self.kernel.exprs.len() && id.0 < limit
    }

    fn local(&self, local: LocalId) -> bool {
        (local.0 as usize) < self.kernel.locals.len()
    }

    fn ty(&self, ty: TypeRef) -> bool {
        match ty {
            TypeRef::Parameter(number) => {
                (number as usize) < self.kernel.types.len() + self.kernel.own_types.len()
            }
            TypeRef::Elem(_) | TypeRef::Usize | TypeRef::Isize => true,
        }
    }

    fn annotation(&self, annotation: &Annotation, depth: u32) -> bool {
        match annotation {
            Annotation::Any => true,
            Annotation::Type(ty) => self.ty(*ty),
            Annotation::Tuple(parts) => {
                depth > 0 && parts.iter().all(|part| self.annotation(part, depth - 1))
            }
            Annotation::Array(of) | Annotation::Mutable(of) => depth > 0 && self.annotation(of, depth - 1),
        }
    }

    fn pattern(&self, pattern: &Pattern, depth: u32) -> bool {
        match pattern {
            Pattern::Local(local) => self.local(*local),
            Pattern::Tuple(parts) => depth > 0 && parts.iter().all(|part| self.pattern(part, depth - 1)),
            Pattern::Wildcard => true,
        }
    }

    /// The parts of an expression: in range, and before it.
    fn parts(&self, id: ExprId) -> bool {
        let expr = |part: &ExprId| self.expr(*part, id.0);
        let kernel = self.kernel;
        match &kernel.expr(id).kind {
            ExprKind::Int(_, suffix) | ExprKind::Float(_, suffix) => suffix.iter().all(|ty| self.ty(*ty)),
            ExprKind::Bool(_) | ExprKind::Type(_) => true,
            ExprKind::Named(function) => kernel.function(function).is_some(),
            ExprKind::Known(_, ty) => self.ty(*ty),
            ExprKind::Local(local) => self.local(*local),
            ExprKind::Parameter(number) => (*number as usize) < kernel.parameters.len(),
            ExprKind::Dim(number) => (*number as usize) < kernel.dims.len(),
            ExprKind::Argument(number) => (*number as usize) < kernel.arguments.len(),
            ExprKind::Special(_, axis) => *axis < 3,
            ExprKind::Unary(_, operand)
            | ExprKind::Field(operand, _)
            | ExprKind::Borrow(operand)
            | ExprKind::Len(operand) => expr(operand),
            ExprKind::Cast(operand, ty) => expr(operand) && self.ty(*ty),
            ExprKind::Binary(_, left, right)
            | ExprKind::Repeat(left, right)
            | ExprKind::Element(left, right) => expr(left) && expr(right),
            ExprKind::Tuple(parts) | ExprKind::Array(parts) => parts.iter().all(expr),
            ExprKind::Index(view, coordinates) => expr(view) && coordinates.iter().all(expr),
            ExprKind::Intrinsic(_, types, arguments) => {
                types.iter().all(|ty| self.ty(*ty)) && arguments.iter().all(expr)
            }
            ExprKind::Call(function, arguments) => {
                (*function as usize) < kernel.functions.len() && arguments.iter().all(expr)
            }
            ExprKind::Function(function) => (*function as usize) < kernel.functions.len(),
            ExprKind::CallValue(callee, arguments) => expr(callee) && arguments.iter().all(expr),
            ExprKind::Block(block) => self.block(block, id.0),
            ExprKind::If(condition, then, otherwise) => {
                expr(condition) && self.block(then, id.0) && self.block(otherwise, id.0)
            }
        }
    }

    /// Every value in range, and every piece's number.
    fn format(&self, format: &Format, limit: u32) -> bool {
        let piece = |piece: &Piece| match piece {
            Piece::Text(_) => true,
            Piece::Value(number, _) => (*number as usize) < format.values.len(),
        };
        format.values.iter().all(|id| self.expr(*id, limit)) && format.pieces.iter().all(piece)
    }

    fn block(&self, block: &Block, limit: u32) -> bool {
        let Some(depth) = self.depth.checked_sub(1) else { return false };
        let inner = Check { kernel: self.kernel, depth };
        let expr = |id: &ExprId| self.expr(*id, limit);
        let statements = block.statements.iter().all(|statement| match &statement.kind {
            StatementKind::Let { pattern, ty, value, .. } => {
                self.pattern(pattern, MAX_DEPTH) && self.annotation(ty, MAX_DEPTH) && expr(value)
            }
            StatementKind::Declare { local, ty } => self.local(*local) && self.annotation(ty, MAX_DEPTH),
            StatementKind::Assign { place, value, .. } => expr(place) && expr(value),
            StatementKind::Expr(value) => expr(value),
            StatementKind::For { local, start, end, step, body, .. } => {
                self.local(*local)
                    && expr(start)
                    && expr(end)
                    && step.iter().all(expr)
                    && inner.block(body, limit)
            }
            StatementKind::While { condition, body } => expr(condition) && inner.block(body, limit),
            StatementKind::Print(format) => self.format(format, limit),
            StatementKind::Assert { condition, message, .. } => {
                expr(condition) && self.format(message, limit)
            }
            StatementKind::Break | StatementKind::Continue => true,
        });
        statements && block.value.iter().all(expr)
    }
}
