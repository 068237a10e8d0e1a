//! A polynomial over symbols as an entry of the attribute: as expressions of the kernel, and as a user writes it.

use super::polynomial::{Atom, Atoms, Kind, Polynomial};
use crate::intrinsic::Intrinsic;
use crate::ir::{BinaryOp, Expr, ExprId, ExprKind, Kernel, TypeRef};
use crate::origin::Origin;

/// The axes of an entry as expressions of the kernel, and as text.
pub(super) fn entries(
    kernel: &mut Kernel,
    atoms: &Atoms,
    axes: &[Polynomial],
    origin: Origin,
) -> (Vec<ExprId>, String) {
    let texts: Vec<String> = axes.iter().map(|axis| text(kernel, atoms, axis)).collect();
    let ids = axes.iter().map(|axis| expression(kernel, atoms, axis, origin)).collect();
    (ids, format!("[{}]", texts.join(", ")))
}

/// Adds an entry to the kernel's expressions.
fn expression(kernel: &mut Kernel, atoms: &Atoms, of: &Polynomial, origin: Origin) -> ExprId {
    let mut sum: Option<ExprId> = None;
    // A difference begins with what is positive.
    for (product, coefficient) in ordered(of) {
        let mut term: Option<ExprId> = None;
        let number = coefficient.unsigned_abs() as i128;
        if number != 1 || product.is_empty() {
            term = Some(add(kernel, ExprKind::Int(number, Some(TypeRef::Usize)), origin));
        }
        for atom in product {
            let factor = symbol(kernel, atoms, *atom, origin);
            term = Some(match term {
                Some(term) => add(kernel, ExprKind::Binary(BinaryOp::Mul, term, factor), origin),
                None => factor,
            });
        }
        let Some(term) = term else { continue };
        let op = if coefficient < 0 { BinaryOp::Sub } else { BinaryOp::Add };
        sum = Some(match sum {
            Some(sum) => add(kernel, ExprKind::Binary(op, sum, term), origin),
            None => term,
        });
    }
    sum.unwrap_or_else(|| add(kernel, ExprKind::Int(0, Some(TypeRef::Usize)), origin))
}

fn ordered(of: &Polynomial) -> impl Iterator<Item = (&Vec<Atom>, i128)> {
    let signed = |negative: bool| of.0.iter().filter(move |(_, coefficient)| (**coefficient < 0) == negative);
    signed(false).chain(signed(true)).map(|(product, coefficient)| (product, *coefficient))
}

fn add(kernel: &mut Kernel, kind: ExprKind, origin: Origin) -> ExprId {
    kernel.exprs.push(Expr { kind, origin });
    ExprId(kernel.exprs.len() as u32 - 1)
}

fn symbol(kernel: &mut Kernel, atoms: &Atoms, atom: Atom, origin: Origin) -> ExprId {
    let mut pair = |a: &Polynomial, b: &Polynomial| {
        (expression(kernel, atoms, a, origin), expression(kernel, atoms, b, origin))
    };
    let kind = match atoms.kind(atom) {
        Kind::Parameter(number) => ExprKind::Parameter(*number),
        Kind::Dim(number) => ExprKind::Dim(*number),
        Kind::Argument(number) => ExprKind::Argument(*number),
        Kind::SizeOf(ty) => ExprKind::Intrinsic(Intrinsic::SizeOf, vec![*ty], vec![]),
        Kind::Div(a, b) => {
            let (a, b) = pair(a, b);
            ExprKind::Binary(BinaryOp::Div, a, b)
        }
        Kind::Rem(a, b) => {
            let (a, b) = pair(a, b);
            ExprKind::Binary(BinaryOp::Rem, a, b)
        }
        Kind::DivCeil(a, b) => {
            let (a, b) = pair(a, b);
            ExprKind::Intrinsic(Intrinsic::DivCeil, vec![], vec![a, b])
        }
        // No entry names a variable; `Solved` takes symbols alone.
        _ => ExprKind::Int(1, Some(TypeRef::Usize)),
    };
    add(kernel, kind, origin)
}

/// The entry as a user writes it: `N.div_ceil(BN)`.
pub(super) fn text(kernel: &Kernel, atoms: &Atoms, of: &Polynomial) -> String {
    let mut out = String::new();
    for (product, coefficient) in ordered(of) {
        if !out.is_empty() {
            out.push_str(if coefficient < 0 { " - " } else { " + " });
        }
        let number = coefficient.unsigned_abs();
        let mut factors: Vec<String> = product
            .iter()
            .map(|atom| factor(kernel, atoms, *atom, product.len() > 1 || number != 1))
            .collect();
        if number != 1 || factors.is_empty() {
            factors.insert(0, number.to_string());
        }
        out.push_str(&factors.join(" * "));
    }
    if out.is_empty() { "0".to_owned() } else { out }
}

fn factor(kernel: &Kernel, atoms: &Atoms, atom: Atom, within: bool) -> String {
    let binary = |a: &Polynomial, op: &str, b: &Polynomial| {
        let text = format!("{} {op} {}", operand(kernel, atoms, a, true), operand(kernel, atoms, b, false));
        if within { format!("({text})") } else { text }
    };
    let named = |name: Option<&String>| name.cloned().unwrap_or_default();
    let axis = |word: &str, axis: u32| format!("{word}.{}", ['x', 'y', 'z'][axis.min(2) as usize]);
    match atoms.kind(atom) {
        Kind::Parameter(number) => {
            named(kernel.parameters.get(*number as usize).map(|parameter| &parameter.name))
        }
        Kind::Dim(number) => named(kernel.dims.get(*number as usize)),
        Kind::Argument(number) => {
            named(kernel.arguments.get(*number as usize).map(|argument| &argument.name))
        }
        Kind::BlockDim(number) => axis("block_dim", *number),
        Kind::SizeOf(ty) => format!("size_of::<{}>()", type_text(kernel, *ty)),
        Kind::Div(a, b) => binary(a, "/", b),
        Kind::Rem(a, b) => binary(a, "%", b),
        Kind::DivCeil(a, b) => {
            format!("{}.div_ceil({})", operand(kernel, atoms, a, false), text(kernel, atoms, b))
        }
        Kind::Thread(number) => axis("thread_idx", *number),
        Kind::Block(number) => axis("block_idx", *number),
        Kind::Warp => "warp_id()".to_owned(),
        Kind::Lane => "lane_id()".to_owned(),
        Kind::Quotient(inner, by) => binary(&Polynomial::atom(*inner), "/", by),
        Kind::Remainder(inner, by) => binary(&Polynomial::atom(*inner), "%", by),
        Kind::Loop(..) => "a loop's variable".to_owned(),
    }
}

/// In brackets where it is a sum, or a product that does not come first.
fn operand(kernel: &Kernel, atoms: &Atoms, of: &Polynomial, first: bool) -> String {
    let text = text(kernel, atoms, of);
    let simple = match of.as_atom() {
        Some(atom) => {
            let kind = atoms.kind(atom);
            !matches!(kind, Kind::Div(..) | Kind::Rem(..) | Kind::Quotient(..) | Kind::Remainder(..))
        }
        None => of.as_constant().is_some_and(|number| number >= 0),
    };
    let term = first && of.0.len() == 1 && of.0.values().all(|number| *number > 0);
    if simple || term { text } else { format!("({text})") }
}

fn type_text(kernel: &Kernel, ty: TypeRef) -> String {
    match ty {
        TypeRef::Elem(elem) => elem.name().to_owned(),
        TypeRef::Parameter(number) => kernel.types.get(number as usize).cloned().unwrap_or_default(),
        TypeRef::Usize => "usize".to_owned(),
        TypeRef::Isize => "isize".to_owned(),
    }
}
