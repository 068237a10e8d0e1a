//! Statements of a checked kernel as CUDA C.
//!
//! Each statement becomes one statement, in order. The loops are the kernel's loops, unrolled by pragma. The emitter
//! adds only the declarations of local arrays ([`super::placement`]), and a copy of a loop's bound that changes in
//! the loop.

use super::accumulator::{self, Fences};
use super::alias;
use super::choice;
use super::device::Device;
use super::expression::Expression;
use super::index::{Scope, Steps};
use super::names::{Name, Names};
use super::placement;
use super::types;
use super::wrap;
use super::writer::Writer;
use crate::check::Checked;
use crate::index::{Atom, Index, VarId};
use crate::ir::BinaryOp;
use crate::origin::Origin;
use crate::program::{
    Access, Mask, Operation, Part, Participants, PlaceId, Signal, Space, Statement, StatementKind, Tables,
    Value, VariableKind, walk,
};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

type List = [Statement<Access, Operation>];

/// The text under construction.
pub(super) struct Emitter<'a> {
    pub(super) checked: &'a Checked,
    pub(super) tables: &'a Tables,
    pub(super) names: Names,
    pub(super) device: Device,
    pub(super) writer: Writer,
    /// What holds where the present statement's values are evaluated: a load's mask need not repeat it.
    pub(super) guards: Mask,
    /// Tensors that are only read and have to be read as those that change.
    pub(super) ambiguous: BTreeSet<u32>,
    /// Copies of variables, each with the variable that is read for it.
    aliases: BTreeMap<VarId, VarId>,
    /// Pointers on the way to which something is subtracted.
    pub(super) subtracted: BTreeSet<VarId>,
    /// Accumulators to fence in front of loops.
    fences: Fences,
    /// Assertions so far.
    pub(super) assertions: u32,
    rust: u32,
    /// Whether an index calls `wrapping_neg`.
    pub(super) negates: Cell<bool>,
}

impl<'a> Emitter<'a> {
    /// Nothing written yet.
    pub(super) fn new(checked: &'a Checked) -> Emitter<'a> {
        let mut words = BTreeSet::new();
        walk::statements(&checked.body, &mut |part| {
            if let Part::Word(word, _) = part {
                words.insert(word);
            }
        });
        Emitter {
            ambiguous: choice::ambiguous(checked),
            aliases: alias::copies(&checked.tables, &checked.body),
            subtracted: BTreeSet::new(),
            fences: accumulator::fences(&checked.body),
            checked,
            tables: &checked.tables,
            names: Names::beside(words),
            device: Device::default(),
            writer: Writer::default(),
            guards: Mask::new(),
            assertions: 0,
            rust: 0,
            negates: Cell::new(false),
        }
    }

    /// A line of the present statement.
    pub(super) fn line(&mut self, text: &str) {
        self.writer.line(self.rust, text);
    }

    /// Lines of the present statement, made for the room there is.
    pub(super) fn wrapped(&mut self, lines: impl FnOnce(usize) -> Vec<String>) {
        for line in lines(self.writer.room()) {
            self.line(&line);
        }
    }

    /// `left value;`, where `left` ends with its operator.
    pub(super) fn set(&mut self, left: &str, value: &Expression) {
        self.wrapped(|room| wrap::assignment(left, value, room));
    }

    /// `head (condition) {`
    pub(super) fn open(&mut self, head: &str, condition: &Expression) {
        self.wrapped(|room| wrap::head(head, condition, room));
    }

    /// The lines that follow come from here.
    pub(super) fn at(&mut self, origin: Origin) {
        self.rust = self.tables.positions.get(origin.0 as usize).map_or(0, |position| position.line);
    }

    /// The name of something declared.
    pub(super) fn name(&self, name: Name) -> Expression {
        // Everything is declared before it is used; the fallback only keeps this total.
        Expression::leaf(self.names.get(name).unwrap_or("undeclared"))
    }

    /// The name of a place.
    pub(super) fn place(&self, place: PlaceId) -> Expression {
        match self.tables.place(place).space {
            Space::Global(number) => match self.tables.memory(place) == place {
                true => self.name(Name::Argument(number)),
                false => self.name(Name::Place(place)),
            },
            Space::Shared { .. } | Space::Local => self.name(Name::Place(place)),
            Space::Tensor { base, .. } => self.name(Name::Variable(base)),
            Space::Remote { of, rank } => {
                let arguments = vec![self.place(of), self.name(Name::Variable(rank))];
                Expression::call("map_shared_rank", arguments)
            }
        }
    }

    /// Prints indices with the names of this point.
    pub(super) fn scope(&self) -> Scope<'_> {
        let narrow = self.checked.plan.promises.narrow;
        Scope { tables: self.tables, names: &self.names, narrow, negates: &self.negates }
    }

    pub(super) fn index(&self, index: &Index) -> Expression {
        self.scope().index(index, Steps::Proved).expression
    }

    /// A statement list with the local arrays that are used nowhere else.
    pub(super) fn list(&mut self, list: &List, locals: Vec<PlaceId>) {
        let mut waiting = locals;
        for (i, statement) in list.iter().enumerate() {
            self.at(statement.origin);
            if let StatementKind::Signal(Signal::MatrixFence) = statement.kind {
                self.register_fences(&list[i + 1..]);
            }
            let (first, later): (Vec<PlaceId>, Vec<PlaceId>) =
                waiting.into_iter().partition(|place| placement::uses(statement, *place, self.tables));
            waiting = later;
            let mut inner = [Vec::new(), Vec::new()];
            for place in first {
                let alone = !list[i + 1..].iter().any(|next| placement::uses(next, place, self.tables));
                let nested = if alone { placement::inner_list(statement, place, self.tables) } else { None };
                match nested {
                    Some(number) => inner[number].push(place),
                    None => self.declare_local(place),
                }
            }
            self.statement(statement, inner);
        }
    }

    /// A nested list, one level deeper, with its own names.
    fn nested(&mut self, list: &List, locals: Vec<PlaceId>) {
        let line = self.rust;
        self.names.enter();
        self.writer.indent();
        self.list(list, locals);
        self.writer.dedent();
        self.names.leave();
        self.rust = line; // the closing brace is the statement's again
    }

    fn declare_local(&mut self, place: PlaceId) {
        let facts = self.tables.place(place);
        let name = self.names.declare(Name::Place(place), &facts.name);
        let needed = placement::alignment(&self.checked.body, place, self.tables);
        let align = alignment(needed, facts.elem.bytes());
        let text = format!("{align}{} {name}[{}];", types::scalar(facts.elem), facts.len.max(1));
        let line = self.rust;
        self.at(facts.origin);
        self.line(&text);
        self.rust = line;
    }

    fn statement(&mut self, statement: &Statement<Access, Operation>, locals: [Vec<PlaceId>; 2]) {
        let [first, second] = locals;
        self.accumulator_fences(statement);
        let mask = self.mask(statement.kind.guard());
        self.guards.extend_from_slice(statement.kind.guard());
        match &statement.kind {
            StatementKind::Let(variable, value) => {
                let value = value.as_ref().map(|value| self.value(value));
                let scalar = types::scalar(self.variable_elem(*variable));
                let name = self.declare(*variable);
                match value {
                    Some(value) => self.set(&format!("{scalar} {name} ="), &value),
                    None => self.line(&format!("{scalar} {name};")),
                }
            }
            StatementKind::LetIndex(variable, index) => self.let_index(*variable, index),
            StatementKind::Assign(variable, value) => {
                let target = self.name(Name::Variable(*variable));
                let same = |left: &Value<Access>| *left == Value::Variable(*variable);
                self.assign(target, self.variable_elem(*variable), value, same);
            }
            StatementKind::AssignIndex(variable, index) => self.assign_index(*variable, index),
            StatementKind::Store(target, value) => self.under(mask, |this| this.store(target, value)),
            StatementKind::Operation(operation) => self.operation(operation),
            StatementKind::For { variable, start, end, step, unroll, reversed, body } => {
                // A compiler unrolls short loops unasked; of copies that only moves addresses into registers.
                let rolled = !unroll && start.as_constant().and(end.as_constant()).is_some() && copies(body);
                let (start, end) = self.bounds(*variable, start, end, body);
                self.names.enter();
                let name = self.declare(*variable);
                let kind = self.index_type(*variable);
                if *unroll {
                    self.line("#pragma unroll");
                } else if rolled {
                    self.line("#pragma unroll 1");
                }
                let (from, goes_on, by) = match reversed {
                    true => (last_round(start.clone(), end, *step), (BinaryOp::Ge, start), -step),
                    false => (start, (BinaryOp::Lt, end), *step),
                };
                let goes_on = Expression::infix(goes_on.0, Expression::leaf(&name), goes_on.1);
                self.line(&format!("for ({kind} {name} = {from}; {goes_on}; {}) {{", advance(&name, by)));
                self.nested(body, first);
                self.line("}");
                self.names.leave();
            }
            StatementKind::While(condition, body) => {
                let condition = self.value(condition);
                self.open("while", &condition);
                self.nested(body, first);
                self.line("}");
            }
            StatementKind::If(condition, then, otherwise) => {
                let condition = self.value(condition);
                self.open("if", &condition);
                self.branches(then, otherwise, first, second);
            }
            StatementKind::Break => self.line("break;"),
            StatementKind::Continue => self.line("continue;"),
            StatementKind::Barrier(participants) => match participants {
                Participants::Thread => {}
                Participants::Warp => self.line("__syncwarp();"),
                Participants::Block => self.line("__syncthreads();"),
                Participants::Warpgroup => self.statement_call("warpgroup_barrier", "warpgroup_barrier();"),
                Participants::Grid => {
                    let counter = self.name(Name::GridCounter);
                    self.statement_call("grid_barrier", &format!("grid_barrier({counter});"));
                }
                Participants::Cluster => self.statement_call("cluster_barrier", "cluster_barrier();"),
            },
            StatementKind::Collective(variable, collective, parts) => {
                self.collective(*variable, *collective, parts);
            }
            StatementKind::Atomic { change, scope, target, values, old } => {
                self.atomic(mask, (*change, *scope), target, values, *old);
            }
            StatementKind::SetMaxRegisters { registers, increase } => {
                let head = if *increase { "registers_up" } else { "registers_down" };
                self.wrapper(head, &format!("<{registers}>"), &[]);
            }
            StatementKind::Assume(condition) => {
                let condition = self.value(condition);
                self.wrapped(|room| wrap::call("__builtin_assume", &[condition], room));
            }
            StatementKind::Print(message) => self.print(message),
            StatementKind::Assert { debug: true, .. } => {}
            StatementKind::Assert { fails, message, debug: false } => self.assertion(fails, message),
            StatementKind::Signal(signal) => self.signal(signal),
        }
        self.guards.clear();
    }

    /// Fixes the place of what was written to accumulators before a loop.
    fn accumulator_fences(&mut self, statement: &Statement<Access, Operation>) {
        let places = self.fences.get(&std::ptr::from_ref(statement)).cloned().unwrap_or_default();
        for place in places {
            let sums = types::scalar(self.tables.place(place).elem);
            self.device.call(format!("accumulator_fence({sums}"));
            let accumulator = self.place(place);
            self.line(&format!("accumulator_fence({accumulator});"));
        }
    }

    /// The branches of an `if` whose head is written; `else { if .. }` becomes `else if`.
    fn branches(&mut self, then: &List, otherwise: &List, first: Vec<PlaceId>, second: Vec<PlaceId>) {
        let line = self.rust;
        self.nested(then, first);
        if let [Statement { kind: StatementKind::If(condition, then, otherwise), origin }] = otherwise
            && second.is_empty()
        {
            self.at(*origin);
            let condition = self.value(condition);
            self.open("} else if", &condition);
            return self.branches(then, otherwise, Vec::new(), Vec::new());
        }
        if !otherwise.is_empty() {
            self.line("} else {");
            self.nested(otherwise, second);
        }
        self.rust = line;
        self.line("}");
    }

    pub(super) fn statement_call(&mut self, function: &str, line: &str) {
        self.device.call(format!("{function}("));
        self.line(line);
    }

    pub(super) fn declare(&mut self, variable: VarId) -> String {
        let wanted = &self.tables.variable(variable).name;
        self.names.declare(Name::Variable(variable), wanted)
    }

    fn index_type(&self, variable: VarId) -> &'static str {
        types::scalar(self.variable_elem(variable))
    }

    fn let_index(&mut self, variable: VarId, index: &Index) {
        if let Some(source) = self.aliases.get(&variable) {
            return self.names.alias(Name::Variable(variable), Name::Variable(*source));
        }
        if let VariableKind::Pointer(place) = self.tables.variable(variable).kind {
            let facts = self.tables.place(place);
            let constness = if facts.mutable { "" } else { "const " };
            let address = self.pointer(place, index);
            // The widest vector is of 16 bytes.
            if self.subtracts(index, i64::from(16 / facts.elem.bytes().clamp(1, 16))) {
                self.subtracted.insert(variable);
            }
            let name = self.declare(variable);
            let scalar = types::scalar(facts.elem);
            return self.set(&format!("{constness}{scalar}* {name} ="), &address);
        }
        let value = match index.as_atom().map(|atom| self.tables.atoms.atom(atom)) {
            // The conversion to a signed integer is the declaration's.
            Some(Atom::Special(special, axis)) => Expression::leaf(super::names::register(*special, *axis)),
            _ => self.index(index),
        };
        let kind = self.index_type(variable);
        let name = self.declare(variable);
        self.set(&format!("{kind} {name} ="), &value);
    }

    /// The address of an element: `place + index`, or counted from the pointer in the index.
    fn pointer(&self, place: PlaceId, index: &Index) -> Expression {
        let pointer = |id| match self.tables.atoms.atom(id) {
            Atom::Variable(variable, _) => {
                matches!(self.tables.variable(*variable).kind, VariableKind::Pointer(_)).then_some(*variable)
            }
            _ => None,
        };
        let found = index.terms().iter().find_map(|(monomial, coefficient)| {
            match (monomial.as_slice(), coefficient) {
                ([id], 1) => pointer(*id).map(|variable| (*id, variable)),
                _ => None,
            }
        });
        let (base, rest) = match found {
            Some((id, variable)) => {
                let (_, rest) = index.partition(|monomial, _| monomial.as_slice() == [id]);
                (self.name(Name::Variable(variable)), rest)
            }
            None => (self.place(place), index.clone()),
        };
        offset(base, &rest, self.index(&rest))
    }

    fn assign_index(&mut self, variable: VarId, index: &Index) {
        let target = self.name(Name::Variable(variable));
        let own = |monomial: &[crate::index::AtomId]| match monomial {
            [id] => matches!(self.tables.atoms.atom(*id), Atom::Variable(own, _) if *own == variable),
            _ => false,
        };
        let (mine, rest) = index.partition(|monomial, coefficient| coefficient == 1 && own(monomial));
        let line = if mine.terms().len() == 1 {
            match rest.as_constant() {
                Some(step) => format!("{};", advance(&target.to_string(), step)),
                None => format!("{target} += {};", self.index(&rest)),
            }
        } else if let VariableKind::Pointer(place) = self.tables.variable(variable).kind {
            format!("{target} = {};", self.pointer(place, index))
        } else {
            format!("{target} = {};", self.index(index))
        };
        self.line(&line);
    }

    /// Lines that run where a mask holds.
    pub(super) fn under(&mut self, mask: Option<Expression>, lines: impl FnOnce(&mut Self)) {
        let Some(mask) = mask else { return lines(self) };
        self.open("if", &mask);
        self.writer.indent();
        lines(self);
        self.writer.dedent();
        self.line("}");
    }

    fn store(&mut self, target: &Access, value: &Value<Access>) {
        let same = |left: &Value<Access>| match left {
            Value::Load(source) => {
                (source.place, source.pointer, &source.index, &source.mask, source.hint)
                    == (target.place, target.pointer, &target.index, &Vec::new(), None)
            }
            _ => false,
        };
        match target.hint {
            Some(hint) => {
                let value = self.value(value);
                let address = self.address(target);
                self.hinted_store(address, value, hint);
            }
            None => {
                let element = self.element(target);
                self.assign(element, self.tables.place(target.place).elem, value, same);
            }
        }
    }

    /// `target = value;`, or `target += rest;` where the value's left operand is the target.
    fn assign(
        &mut self,
        target: Expression,
        elem: crate::elem::Elem,
        value: &Value<Access>,
        same: impl Fn(&Value<Access>) -> bool,
    ) {
        let operator = match value {
            Value::Cast(to, operator) if *to == elem && self.elem(operator) == elem => operator,
            value => value,
        };
        let (op, value) = match operator {
            Value::Binary(op, left, right) if same(left) && self.has_compound(*op, elem) => {
                (op.symbol(), self.value(right))
            }
            _ => ("", self.value(value)),
        };
        self.set(&format!("{target} {op}="), &value);
    }

    /// The bounds of a loop. Rust evaluates them once; where C's loop would see them change they get a name first.
    fn bounds(
        &mut self,
        variable: VarId,
        start: &Index,
        end: &Index,
        body: &List,
    ) -> (Expression, Expression) {
        let changed = walk::changed(body);
        let bound = |emitter: &mut Self, index: &Index, what: &str| {
            let mut varies = false;
            emitter.tables.atoms.each(index, &mut |id| {
                if let Atom::Variable(variable, _) = emitter.tables.atoms.atom(id) {
                    varies |= changed.contains(variable);
                }
            });
            let text = emitter.index(index);
            if !varies {
                return text;
            }
            let wanted = format!("{}_{what}", emitter.tables.variable(variable).name);
            let name = emitter.names.fresh(&wanted);
            let kind = emitter.index_type(variable);
            emitter.line(&format!("{kind} {name} = {text};"));
            Expression::leaf(name)
        };
        (bound(self, start, "start"), bound(self, end, "end"))
    }
}

/// `__align__(16) ` where an array must be better aligned than its elements.
pub(super) fn alignment(align: u32, element: u32) -> String {
    if align > element { format!("__align__({align}) ") } else { String::new() }
}

/// `base + offset`, `base - 4`, or `base`.
fn offset(base: Expression, index: &Index, text: Expression) -> Expression {
    match (index.as_constant(), text) {
        (Some(0), _) => base,
        (_, Expression::Prefix("-", positive)) => Expression::infix(BinaryOp::Sub, base, *positive),
        (_, text) => sum(base, text),
    }
}

/// `base + (a + b)` without the parentheses. Right for a pointer: each step is one of an address.
fn sum(base: Expression, addend: Expression) -> Expression {
    match addend {
        Expression::Infix(op @ (BinaryOp::Add | BinaryOp::Sub), left, right) => {
            Expression::infix(op, sum(base, *left), *right)
        }
        other => Expression::infix(BinaryOp::Add, base, other),
    }
}

/// `++k`, `k -= 8`
fn advance(name: &str, step: i64) -> String {
    match step {
        1 => format!("++{name}"),
        -1 => format!("--{name}"),
        _ if step < 0 => format!("{name} -= {}", types::integer(step.saturating_neg())),
        _ => format!("{name} += {}", types::integer(step)),
    }
}

/// The last value of a loop from `start` to `end`, or one below `start` where there is no round.
fn last_round(start: Expression, end: Expression, step: i64) -> Expression {
    use BinaryOp::{Add, Div, Mul, Sub};
    let parsed = |text: &str| text.trim_end_matches("LL").parse::<i64>().ok();
    let number = |expression: &Expression| match expression {
        Expression::Leaf(text) => parsed(text),
        Expression::Prefix("-", inner) => match &**inner {
            Expression::Leaf(text) => parsed(text).map(|value| -value),
            _ => None,
        },
        _ => None,
    };
    let step_of = || types::integer(step);
    match (number(&start), number(&end)) {
        (Some(start), Some(end)) => {
            let rounds = (i128::from(end) - i128::from(start) + i128::from(step) - 1) / i128::from(step);
            let last = i128::from(start) + (rounds - 1) * i128::from(step);
            types::integer(i64::try_from(last).unwrap_or(start.saturating_sub(1)))
        }
        (_, Some(end)) if step == 1 => types::integer(end.saturating_sub(1)),
        (_, None) if step == 1 => Expression::infix(Sub, end, types::integer(1)),
        (low, _) => {
            let from_zero = low == Some(0);
            let length = if from_zero { end } else { Expression::infix(Sub, end, start.clone()) };
            let raised = Expression::infix(Add, length, types::integer(step - 1));
            let rounds = Expression::infix(Div, raised, step_of());
            let past = Expression::infix(Mul, rounds, step_of());
            let past = if from_zero { past } else { Expression::infix(Add, start, past) };
            Expression::infix(Sub, past, step_of())
        }
    }
}

/// Whether a loop's body is asynchronous copies and the loops and guards around them.
fn copies(body: &[Statement<Access, Operation>]) -> bool {
    body.iter().all(|statement| {
        if let StatementKind::For { body, .. } | StatementKind::If(_, body, _) = &statement.kind {
            return copies(body);
        }
        matches!(statement.kind, StatementKind::Operation(Operation::AsyncCopy { .. }))
    })
}
