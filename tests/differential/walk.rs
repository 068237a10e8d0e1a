//! Every place of a tree that may be changed: lists of statements, expressions, views.

use crate::tree::*;

/// A place of a tree.
pub enum Node<'a> {
    Statements(&'a mut Vec<Stmt>),
    Expr(&'a mut Expr),
    Place(&'a mut Place),
}

/// Visits each place, the outer before the inner, until one says that this is enough.
pub fn walk(kernel: &mut Kernel, visit: &mut dyn FnMut(Node<'_>) -> bool) -> bool {
    if statements(&mut kernel.body, visit) {
        return true;
    }
    kernel.functions.iter_mut().any(|function| body(&mut function.body, visit))
}

type Visit<'v> = &'v mut dyn FnMut(Node<'_>) -> bool;

fn body(body: &mut Body, visit: Visit<'_>) -> bool {
    statements(&mut body.statements, visit) || expr(&mut body.value, visit)
}

fn statements(list: &mut Vec<Stmt>, visit: Visit<'_>) -> bool {
    visit(Node::Statements(list)) || list.iter_mut().any(|one| statement(one, visit))
}

fn exprs(list: &mut [Expr], visit: Visit<'_>) -> bool {
    list.iter_mut().any(|one| expr(one, visit))
}

fn statement(one: &mut Stmt, visit: Visit<'_>) -> bool {
    match one {
        Stmt::Let { value, .. } | Stmt::Assign(_, _, value) | Stmt::Expr(value) => expr(value, visit),
        Stmt::LetParts(_, values) | Stmt::LetPair(_, values) => exprs(values, visit),
        Stmt::Store(at, coordinates, _, value) => {
            expr(value, visit) || place(at, visit) || exprs(coordinates, visit)
        }
        Stmt::If(condition, then, otherwise) => {
            expr(condition, visit) || statements(then, visit) || statements(otherwise, visit)
        }
        Stmt::For { start, end, body, .. } => {
            expr(start, visit) || expr(end, visit) || statements(body, visit)
        }
        Stmt::While(condition, body) => expr(condition, visit) || statements(body, visit),
        Stmt::Match(value, arms, otherwise) => {
            expr(value, visit)
                || arms.iter_mut().any(|(arm, own)| guard(arm, visit) || statements(own, visit))
                || statements(otherwise, visit)
        }
        Stmt::Leave(_, value) | Stmt::Give(value) => expr(value, visit),
        Stmt::LetWhole(_, value) => whole(value, visit),
        Stmt::SetWhole(to, value) => whole(value, visit) || target(to, visit),
        Stmt::SetPart(to, _, value) => expr(value, visit) || target(to, visit),
        Stmt::SetParts(to, values) => exprs(values, visit) || to.iter_mut().any(|one| target(one, visit)),
        Stmt::Swap(of, i, j) => target(of, visit) || expr(i, visit) || expr(j, visit),
        Stmt::ForEach { body, .. } => statements(body, visit),
        Stmt::LetClosure { body: own, .. } => body(own, visit),
        Stmt::LetArray { values, .. } => exprs(values, visit),
        Stmt::SetElement(_, at, _, value) => expr(value, visit) || expr(at, visit),
        Stmt::LetView { place: at, .. } => place(at, visit),
        Stmt::Fill(at, value) => place(at, visit) || expr(value, visit),
        Stmt::Copy { to, from } => place(to, visit) || place(from, visit),
        Stmt::Together { value, number, .. } => {
            expr(value, visit) || number.as_mut().is_some_and(|number| expr(number, visit))
        }
        Stmt::Product(product) => {
            product.factors.iter_mut().any(|factor| place(factor, visit)) || place(&mut product.to, visit)
        }
        Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return | Stmt::Barrier(_) | Stmt::LetTensor { .. } => {
            false
        }
    }
}

fn guard(arm: &mut Arm, visit: Visit<'_>) -> bool {
    arm.guard.as_mut().is_some_and(|guard| expr(guard, visit))
}

fn target(one: &mut Target, visit: Visit<'_>) -> bool {
    one.parts.iter_mut().any(|part| match part {
        Part::At(at) => expr(at, visit),
        Part::Field(_) => false,
    })
}

fn whole(one: &mut Whole, visit: Visit<'_>) -> bool {
    match one {
        Whole::One(value) => expr(value, visit),
        Whole::List(parts) | Whole::Tuple(parts) => parts.iter_mut().any(|part| whole(part, visit)),
        Whole::Filled(part, _) => whole(part, visit),
        Whole::Copy(of) => target(of, visit),
    }
}

fn place(one: &mut Place, visit: Visit<'_>) -> bool {
    visit(Node::Place(one))
        || one.steps.iter_mut().any(|step| match step {
            Step::Tile(_, at) | Step::Window(_, at) => exprs(at, visit),
            Step::Slice(at) | Step::Rank(at) | Step::Distribute { thread: at, .. } => expr(at, visit),
            Step::Transpose | Step::Vectorize(_) | Step::Pad(_) => false,
        })
}

fn expr(one: &mut Expr, visit: Visit<'_>) -> bool {
    if visit(Node::Expr(one)) {
        return true;
    }
    match one {
        Expr::Unary(_, operand) | Expr::Cast(_, operand) => expr(operand, visit),
        Expr::Binary(_, sides) => exprs(&mut sides[..], visit),
        Expr::Select(parts) => exprs(&mut parts[..], visit),
        Expr::Math(_, arguments)
        | Expr::Word(_, _, arguments)
        | Expr::Call(_, arguments)
        | Expr::Invoke(_, arguments) => exprs(arguments, visit),
        Expr::Part(of) | Expr::Reference(of) => target(of, visit),
        Expr::Jump(_, jump) => statement(jump, visit),
        Expr::Labelled(_, inner) => body(inner, visit),
        Expr::Loop(_, _, list) => statements(list, visit),
        Expr::Match(value, arms, otherwise) => {
            expr(value, visit)
                || arms.iter_mut().any(|(arm, own)| guard(arm, visit) || body(own, visit))
                || body(otherwise, visit)
        }
        Expr::Element(_, at) => expr(at, visit),
        Expr::If(condition, then, otherwise) => {
            expr(condition, visit) || body(then, visit) || body(otherwise, visit)
        }
        Expr::Body(inner) => body(inner, visit),
        Expr::Load(at, coordinates) => place(at, visit) || exprs(coordinates, visit),
        Expr::Atomic(_, at, coordinates, value) => {
            place(at, visit) || exprs(coordinates, visit) || expr(value, visit)
        }
        Expr::Literal { .. }
        | Expr::Var(_)
        | Expr::Field(..)
        | Expr::Argument(_)
        | Expr::Thread
        | Expr::Block
        | Expr::Rank
        | Expr::Dim(_) => false,
    }
}
