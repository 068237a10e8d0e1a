//! Jumps with values, arrays and tuples within each other, closures, and the arms of a `match`, as text.

use super::{Printer, list, plain};
use crate::tree::*;
use crate::types::Type;

impl Printer<'_> {
    /// A variable; one that is lent, as what it refers to.
    pub fn name(&self, var: Var) -> String {
        if self.kernel.references.contains(&var) { format!("(*v{var})") } else { format!("v{var}") }
    }

    /// `v3[i].0`
    pub fn target(&mut self, target: &Target) -> String {
        let mut text = self.name(target.var);
        for part in &target.parts {
            text += &match part {
                Part::At(at) => format!("[{}]", self.array_index(at)),
                Part::Field(number) => format!(".{number}"),
            };
        }
        text
    }

    fn made(&mut self, whole: &Whole) -> String {
        match whole {
            Whole::One(value) => self.expr(value),
            Whole::List(parts) => format!("[{}]", list(parts, |part| self.made(part))),
            Whole::Filled(part, count) => format!("[{}; {count}]", self.made(part)),
            Whole::Tuple(parts) => format!("({})", list(parts, |part| self.made(part))),
            Whole::Copy(of) => self.target(of),
        }
    }

    /// `1 | 3..=5 if c`
    pub fn arm(&mut self, ty: Type, arm: &Arm) -> String {
        let one = |(least, most): &(_, _)| match (plain(ty, *least), plain(ty, *most)) {
            (least, most) if least == most => least,
            (least, most) => format!("{least}..={most}"),
        };
        let patterns = arm.patterns.iter().map(one).collect::<Vec<_>>().join(" | ");
        let mut text = match (arm.bound, arm.patterns.is_empty()) {
            (None, true) => "_".to_owned(),
            (None, false) => patterns,
            (Some(bound), true) => format!("v{bound}"),
            (Some(bound), false) => format!("v{bound} @ {patterns}"),
        };
        if let Some(guard) = &arm.guard {
            text += &format!(" if {}", self.expr(guard));
        }
        text
    }

    /// A statement without its end, in the place of a value.
    pub fn jump(&mut self, jump: &Stmt) -> String {
        let out = std::mem::take(&mut self.out);
        self.statement(jump);
        let text = std::mem::replace(&mut self.out, out);
        text.trim().trim_end_matches(';').to_owned()
    }

    /// `('b1: loop { .. })`
    pub fn loop_value(&mut self, label: usize, body: &[Stmt]) -> String {
        let out = std::mem::take(&mut self.out);
        // The jumps of its own name its label; those that count loops need one where it is.
        let labelled = std::mem::replace(&mut self.labelled, true);
        self.loops += 1;
        self.nested(body);
        self.loops -= 1;
        self.labelled = labelled;
        let body = std::mem::replace(&mut self.out, out);
        format!("('b{label}: loop {{\n{body}{:end$}}})", "", end = 4 * self.depth)
    }

    pub fn whole_statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Leave(label, value) => {
                let value = self.expr(value);
                self.line(&format!("break 'b{label} {value};"));
            }
            Stmt::Give(value) => {
                let value = self.expr(value);
                self.line(&format!("return {value};"));
            }
            Stmt::LetWhole(var, value) => {
                let ty = match &self.kernel.vars[*var] {
                    VarType::Whole(shape) => format!(": {}", shape.name()),
                    _ => String::new(),
                };
                let value = self.made(value);
                self.line(&format!("let mut v{var}{ty} = {value};"));
            }
            Stmt::SetWhole(target, value) => {
                let (value, target) = (self.made(value), self.target(target));
                self.line(&format!("{target} = {value};"));
            }
            Stmt::SetPart(target, op, value) => {
                let (value, target) = (self.expr(value), self.target(target));
                self.line(&format!("{target} {}= {value};", op.map_or("", BinaryOp::symbol)));
            }
            Stmt::SetParts(targets, values) => {
                let values = self.exprs(values);
                let targets = list(targets, |target| self.target(target));
                self.line(&format!("({targets}) = ({values});"));
            }
            Stmt::Swap(target, i, j) => {
                let (target, i, j) = (self.target(target), self.array_index(i), self.array_index(j));
                self.line(&format!("{target}.swap({i}, {j});"));
            }
            Stmt::ForEach { var, number, of, changed, body } => {
                self.each(*var, *number, (*of, *changed), body)
            }
            Stmt::LetClosure { var, parameters, body } => {
                let kernel = self.kernel;
                let parameters =
                    list(parameters, |var| format!("v{var}: {}", kernel.scalar_type(*var).name()));
                let labelled = std::mem::take(&mut self.labelled);
                let body = self.body(body);
                self.labelled = labelled;
                let result = kernel.scalar_type(*var).name();
                self.line(&format!("let mut v{var} = |{parameters}| -> {result} {body};"));
            }
            _ => unreachable!("another statement"),
        }
    }

    fn each(&mut self, var: Var, number: Option<Var>, (of, changed): (Var, bool), body: &[Stmt]) {
        // Rust counts in `usize`; here an index is an `isize`.
        let counted = |number: Var, elements: &str| match self.plain {
            true => format!("for (v{number}, v{var}) in (0isize..).zip(v{of}.{elements}())"),
            false => format!("for (v{number}, v{var}) in v{of}.{elements}().enumerate()"),
        };
        let head = match (number, changed) {
            (None, false) => format!("for v{var} in v{of}"),
            (None, true) => format!("for v{var} in &mut v{of}"),
            (Some(number), false) => counted(number, "into_iter"),
            (Some(number), true) => counted(number, "iter_mut"),
        };
        self.looped(&head, body);
    }
}
