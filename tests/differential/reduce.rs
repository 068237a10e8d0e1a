//! A failing kernel made small: statements go, expressions become their operands or numbers, shapes shrink.
//!
//! Law: the small kernel fails in the same way. Each change makes the tree smaller or plainer, so this ends.

use crate::tree::*;
use crate::types::{Kind, Type};
use crate::value::{self, Value};
use crate::walk::{Node, walk};

/// The smallest kernel that still fails, of those that one change after the other reaches.
pub fn reduce(kernel: &Kernel, most: usize, fails: &mut dyn FnMut(&Kernel) -> bool) -> Kernel {
    let mut small = kernel.clone();
    let mut trials = 0;
    loop {
        let mut changed = false;
        for change in [whole as fn(&Kernel, usize) -> Change, within] {
            let mut number = 0;
            loop {
                let candidate = match change(&small, number) {
                    Change::End => break,
                    Change::Nothing => {
                        number += 1;
                        continue;
                    }
                    Change::Made(candidate) => *candidate,
                };
                trials += 1;
                if trials > most {
                    return small;
                }
                if fails(&candidate) {
                    small = candidate;
                    changed = true;
                } else {
                    number += 1;
                }
            }
        }
        if !changed {
            return small;
        }
    }
}

/// What a change makes of a kernel.
enum Change {
    /// There are no more.
    End,
    /// It does not apply here.
    Nothing,
    Made(Box<Kernel>),
}

/// The kernel after change `number` within its body.
fn within(kernel: &Kernel, number: usize) -> Change {
    let mut out = kernel.clone();
    let mut left = number;
    let mut nothing = false;
    let found = walk(&mut out, &mut |node| match node {
        Node::Statements(list) => {
            let count = list.len();
            // Halves and quarters of the list first.
            let parts = [2, 4].map(|parts| if count >= parts { parts } else { 0 });
            for parts in parts {
                if left < parts {
                    list.drain(count * left / parts..count * (left + 1) / parts);
                    return true;
                }
                left -= parts;
            }
            if left < count {
                list.remove(left);
                return true;
            }
            left -= count;
            if left < count {
                let inner = inside(&list[left]);
                if let Some(inner) = inner {
                    list.splice(left..=left, inner);
                    return true;
                }
                nothing = true;
                return true;
            }
            left -= count;
            false
        }
        Node::Expr(expr) => {
            let mut options = simpler(kernel, expr);
            if left < options.len() {
                *expr = options.swap_remove(left);
                return true;
            }
            left -= options.len();
            false
        }
        Node::Place(place) => {
            if left < place.steps.len() {
                place.steps.remove(left);
                return true;
            }
            left -= place.steps.len();
            false
        }
    });
    match found {
        _ if nothing => Change::Nothing,
        true => Change::Made(Box::new(out)),
        false => Change::End,
    }
}

/// The statements of a statement.
fn inside(statement: &Stmt) -> Option<Vec<Stmt>> {
    match statement {
        Stmt::If(_, then, otherwise) => Some(if then.is_empty() { otherwise.clone() } else { then.clone() }),
        Stmt::While(_, body) => Some(body.clone()),
        Stmt::Match(_, _, otherwise) => Some(otherwise.clone()),
        Stmt::ForEach { body, .. } => Some(body.clone()),
        Stmt::For { var, start, body, .. } => {
            let first = Stmt::Let { var: *var, mutable: false, written: false, value: start.clone() };
            Some([&[first], body.as_slice()].concat())
        }
        _ => None,
    }
}

/// What may represent an expression: parts of it of its type, and numbers.
fn simpler(kernel: &Kernel, expr: &Expr) -> Vec<Expr> {
    let ty = kernel.type_of(expr);
    let mut out = vec![];
    match expr {
        Expr::Literal { value, .. } => {
            let plain = matches!(value.float(), 0.0 | 1.0) && !value.float().is_sign_negative();
            return if plain { vec![] } else { vec![literal(ty, 1), literal(ty, 0)] };
        }
        Expr::Unary(_, operand) | Expr::Cast(_, operand) => out.push((**operand).clone()),
        Expr::Binary(_, sides) => out.extend(sides.iter().cloned()),
        Expr::Select(parts) => out.extend(parts.iter().cloned()),
        Expr::Labelled(_, body) => out.push(Expr::Body(body.clone())),
        Expr::Reference(_) => return vec![],
        Expr::Match(_, arms, otherwise) => {
            out.extend(
                arms.iter()
                    .map(|(_, body)| body)
                    .chain([&**otherwise])
                    .map(|body| Expr::Body(Box::new(body.clone()))),
            );
        }
        Expr::Math(_, arguments)
        | Expr::Word(_, _, arguments)
        | Expr::Call(_, arguments)
        | Expr::Invoke(_, arguments) => {
            out.extend(arguments.iter().filter(|one| !matches!(one, Expr::Reference(_))).cloned())
        }
        Expr::If(_, then, otherwise) => {
            out.extend([Expr::Body(then.clone()), Expr::Body(otherwise.clone())]);
        }
        Expr::Body(body) => out.push(body.value.clone()),
        Expr::Atomic(_, _, _, value) => out.push((**value).clone()),
        _ => {}
    }
    out.retain(|part| kernel.type_of(part) == ty);
    out.push(literal(ty, 1));
    if !matches!(expr, Expr::Thread | Expr::Block | Expr::Rank) {
        out.push(literal(ty, 0));
    }
    out
}

fn literal(ty: Type, value: i64) -> Expr {
    let number = match ty.kind() {
        Kind::Float(_) => Value::Float(value as f64),
        Kind::Bool => Value::Bool(value != 0),
        Kind::Integer(..) | Kind::Index => Value::Int(value.into()),
    };
    Expr::Literal { ty, value: number, bare: ty == Type::Index }
}

/// The kernel after change `number` of its shapes and arguments.
fn whole(kernel: &Kernel, number: usize) -> Change {
    let mut out = kernel.clone();
    let mut left = number;
    let mut chosen = |count: usize| {
        let hit = left < count;
        let at = left;
        left = if hit { usize::MAX } else { left.wrapping_sub(count) };
        hit.then_some(at)
    };
    if let Some(unused) = chosen(kernel.tensors.len()) {
        drop_tensor(&mut out, unused);
    } else if let Some(unused) = chosen(kernel.scalars.len()) {
        drop_scalar(&mut out, unused);
    } else if let Some(unused) = chosen(kernel.functions.len()) {
        drop_function(&mut out, unused);
    } else if let Some(option) = chosen(4) {
        match option {
            0 if kernel.variant_if.is_some() => out.variant_if = None,
            1 if kernel.grid > kernel.cluster => out.grid = kernel.cluster,
            2 if kernel.block > 32 => out.block = 32,
            3 if kernel.block > 1 && !kernel.together => out.block = 1,
            _ => out.seed = u64::MAX,
        }
    } else if let Some(dim) = chosen(kernel.dims.len()) {
        let half = kernel.dims[dim].0 / 2;
        if half > 0 { resize(&mut out, dim, half) } else { out.seed = u64::MAX }
    } else if let Some(tensor) = chosen(kernel.tensors.len()) {
        let own = &mut out.tensors[tensor];
        if own.layout == TensorLayout::RowMajor && own.aligned {
            out.seed = u64::MAX
        }
        (own.layout, own.aligned) = (TensorLayout::RowMajor, true);
    } else if let Some(tensor) = chosen(kernel.tensors.len()) {
        let own = &mut out.tensors[tensor];
        let plain = value::cast(Type::I32, own.elem, Value::Int(1));
        if own.data.iter().all(|value| value.same(plain)) {
            out.seed = u64::MAX
        }
        own.data.fill(plain);
    } else if let Some(scalar) = chosen(kernel.scalars.len()) {
        let (ty, own) = &mut out.scalars[scalar];
        let plain = value::cast(Type::I32, *ty, Value::Int(1));
        if own.same(plain) || kernel.opaque && scalar + 2 >= kernel.scalars.len() {
            out.seed = u64::MAX
        }
        *own = plain;
    } else {
        return Change::End;
    }
    // What changes nothing says so by a seed that no kernel has.
    if out.seed == u64::MAX { Change::Nothing } else { Change::Made(Box::new(out)) }
}

/// Cuts a dimension: each tensor keeps the elements that it still has room for.
fn resize(kernel: &mut Kernel, dim: usize, extent: i64) {
    let old: Vec<Vec<i64>> = (0..kernel.tensors.len()).map(|tensor| kernel.shape(tensor)).collect();
    kernel.dims[dim].0 = extent;
    for (tensor, old) in old.iter().enumerate() {
        let new = kernel.shape(tensor);
        let count: i64 = new.iter().product();
        let data = (0..count).map(|number| {
            let (mut rest, mut offset, mut size) = (number, 0, 1);
            for (new, old) in new.iter().zip(old).rev() {
                offset += rest % new * size;
                (rest, size) = (rest / new, size * old);
            }
            kernel.tensors[tensor].data[offset as usize]
        });
        let data = data.collect();
        kernel.tensors[tensor].data = data;
    }
}

fn drop_tensor(kernel: &mut Kernel, number: usize) {
    let mut used = kernel.tensors.len() == 1;
    walk(kernel, &mut |node| {
        if let Node::Place(place) = node {
            used |= place.base == Base::Tensor(number);
        }
        false
    });
    if used {
        return kernel.seed = u64::MAX;
    }
    kernel.tensors.remove(number);
    walk(kernel, &mut |node| {
        if let Node::Place(Place { base: Base::Tensor(other), .. }) = node
            && *other > number
        {
            *other -= 1;
        }
        false
    });
}

fn drop_scalar(kernel: &mut Kernel, number: usize) {
    let mut used = kernel.opaque && number + 2 >= kernel.scalars.len();
    walk(kernel, &mut |node| {
        used |= matches!(&node, Node::Expr(Expr::Argument(own)) if *own == number);
        false
    });
    if used {
        return kernel.seed = u64::MAX;
    }
    kernel.scalars.remove(number);
    walk(kernel, &mut |node| {
        if let Node::Expr(Expr::Argument(other)) = node
            && *other > number
        {
            *other -= 1;
        }
        false
    });
}

fn drop_function(kernel: &mut Kernel, number: usize) {
    let mut used = false;
    walk(kernel, &mut |node| {
        used |= matches!(&node, Node::Expr(Expr::Call(own, _)) if *own == number);
        false
    });
    if used {
        return kernel.seed = u64::MAX;
    }
    kernel.functions.remove(number);
    walk(kernel, &mut |node| {
        if let Node::Expr(Expr::Call(other, _)) = node
            && *other > number
        {
            *other -= 1;
        }
        false
    });
}
