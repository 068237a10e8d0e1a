//! An abstract interpreter of the body: what its indices are as polynomials, which parts of arguments it writes, and what it says of
//! the threads of a block.
//!
//! Law: what is not understood is [`Value::Unknown`]. A variable that the body changes is, and so is what is read from memory.

use super::cover::Known;
use super::polynomial::{Atoms, Polynomial};
use super::view::View;
use crate::ir::{Block, ExprId, ExprKind, Kernel, LocalId, Pattern, Seen, Statement, StatementKind};
use std::collections::{HashMap, HashSet};

/// What an expression is.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Number(Polynomial),
    View(View),
    /// A tuple or an array.
    Parts(Vec<Value>),
    /// A layout, with the product of its shape.
    Layout(Option<Polynomial>),
    Function(u32),
    Condition(Guard),
    /// What is not understood: `a coordinate {..}`.
    Unknown(&'static str),
}

/// What a condition says of the code under it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Guard {
    /// The axes of `block_idx` that are 0 where it holds.
    pub zero: [bool; 3],
    /// Whether it leaves out none but threads beyond an extent of the launch: where it holds, and where it does not.
    pub edge: [bool; 2],
}

/// What the body says of the threads of a block.
#[derive(Default)]
pub(super) struct Threads {
    /// The axes of `thread_idx` that it names.
    pub used: [bool; 3],
    /// Whether it names the lane or the warp.
    pub warps: bool,
    pub block_dim: bool,
    /// Whether a warp multiplies matrices.
    pub matrices: bool,
    /// Counts that follow: of an axis, or of all threads.
    pub exact: Vec<(Option<u32>, Polynomial)>,
    /// Thread layouts, which a block has at least.
    pub at_least: Vec<Polynomial>,
}

pub(super) struct Interpreter<'k> {
    pub kernel: &'k Kernel,
    pub atoms: Atoms,
    pub known: Known,
    pub locals: HashMap<LocalId, Value>,
    /// Locals that change, and locals of which there is a reference.
    pub assigned: HashSet<LocalId>,
    pub borrowed: HashSet<LocalId>,
    pub threads: Threads,
    /// The axes of `block_idx` that the body names.
    pub blocks: [bool; 3],
    /// Whether the body is too long to be looked through.
    pub given_up: bool,
    /// What of the body takes any grid.
    pub any_grid: Option<&'static str>,
    /// Parts of arguments that it writes, with the axes of `block_idx` that are 0 there.
    pub written: Vec<(View, [bool; 3])>,
    pub guard: Guard,
    pub steps: u32,
    pub calls: u32,
}

impl<'k> Interpreter<'k> {
    pub(super) fn new(kernel: &'k Kernel) -> Interpreter<'k> {
        let (mut assigned, mut borrowed) = (HashSet::new(), HashSet::new());
        let bodies = kernel.functions.iter().map(|function| &function.body).chain([&kernel.body]);
        for body in bodies {
            kernel.each_statement(body, &mut |seen| {
                match seen {
                    Seen::Borrow(place) => borrowed.extend(kernel.local_of(place)),
                    Seen::Statement(Statement { kind: StatementKind::Declare { local, .. }, .. }) => {
                        assigned.insert(*local);
                    }
                    Seen::Statement(_) => {
                        assigned.extend(seen.changed().and_then(|place| kernel.local_of(place)))
                    }
                }
                true
            });
        }
        Interpreter {
            kernel,
            atoms: Atoms::default(),
            known: Known { block: None, at_most: vec![] },
            locals: HashMap::new(),
            assigned,
            borrowed,
            threads: Threads::default(),
            blocks: [false; 3],
            given_up: false,
            any_grid: None,
            written: vec![],
            guard: Guard { edge: [true; 2], ..Guard::default() },
            steps: 0,
            calls: 0,
        }
    }

    /// Goes through the body anew.
    pub(super) fn run(&mut self) {
        (self.threads, self.blocks, self.any_grid) = (Threads::default(), [false; 3], None);
        self.written.clear();
        self.locals.clear();
        self.steps = 0;
        let kernel = self.kernel;
        self.block(&kernel.body);
    }

    pub(super) fn text(&self, of: &Polynomial) -> String {
        super::entry::text(self.kernel, &self.atoms, of)
    }

    pub(super) fn block(&mut self, block: &Block) -> Value {
        block.statements.iter().for_each(|statement| self.statement(statement));
        block.value.map_or(Value::Unknown("has no value"), |value| self.expr(value))
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Let { pattern, value, .. } => {
                let value = self.expr(*value);
                self.bind(pattern, value);
            }
            StatementKind::Assign { place, value, .. } => {
                self.expr(*value);
                self.write(*place);
            }
            StatementKind::Expr(value) => drop(self.expr(*value)),
            StatementKind::For { local, start, end, closed, step, reversed: _, unroll: _, body } => {
                let (start, end) = (self.expr(*start), self.expr(*end));
                let step = step.map(|step| self.expr(step));
                let variable = match (start, end) {
                    (Value::Number(start), Value::Number(end)) => self.round(&start, &end, *closed, step),
                    _ => Value::Unknown("is a loop's variable between bounds that the body changes or reads"),
                };
                self.locals.insert(*local, variable);
                self.block(body);
            }
            StatementKind::While { condition, body } => {
                let guard = self.condition(*condition);
                self.under(Guard { zero: guard.zero, edge: [guard.edge[0]; 2] }, body);
            }
            StatementKind::Print(_) | StatementKind::Assert { .. } | StatementKind::Declare { .. } => {}
            StatementKind::Break | StatementKind::Continue => {}
        }
    }

    /// The variable of a loop. The threads of a block, or its warps, that step over a range by their number have it once.
    fn round(&mut self, start: &Polynomial, end: &Polynomial, closed: bool, step: Option<Value>) -> Value {
        let end = if closed { end.add(&Polynomial::constant(1), 1) } else { Some(end.clone()) };
        let Some(end) = end.filter(|end| self.atoms.is_symbolic(end) || step.is_none()) else {
            return Value::Unknown("is a loop's variable between bounds that depend on the thread");
        };
        match step {
            None => match end.add(start, -1).filter(|count| self.atoms.is_symbolic(count)) {
                Some(count) => {
                    let round = self.atoms.round(Some(count));
                    start.add(&round, 1).map_or(Value::Unknown("is too long"), Value::Number)
                }
                None => Value::Unknown("is a loop's variable between bounds that depend on the thread"),
            },
            Some(Value::Number(step)) if self.atoms.is_symbolic(&step) => {
                let of = start.as_atom().and_then(|atom| self.atoms.thread_of(atom));
                let Some((axis, divisors)) = of else {
                    let unknown = self.atoms.round(None);
                    let steps = unknown.mul(&step).and_then(|steps| start.add(&steps, 1));
                    return steps.map_or(Value::Unknown("is too long"), Value::Number);
                };
                let total = divisors.iter().try_fold(step, |total, by| total.mul(by));
                if let Some(total) = total.filter(|total| self.guard.edge[0] && self.atoms.is_static(total)) {
                    self.threads.exact.push((axis, total));
                }
                Value::Number(self.atoms.round(Some(end)))
            }
            Some(_) => Value::Unknown("is a loop's variable whose step the body changes or reads"),
        }
    }

    fn bind(&mut self, pattern: &Pattern, value: Value) {
        match (pattern, value) {
            (Pattern::Local(local), value) => {
                self.locals.insert(*local, value);
            }
            (Pattern::Tuple(patterns), Value::Parts(parts)) => {
                patterns.iter().zip(parts).for_each(|(pattern, part)| self.bind(pattern, part));
            }
            (Pattern::Tuple(patterns), _) => {
                patterns.iter().for_each(|pattern| {
                    self.bind(pattern, Value::Unknown("is part of a value that the body reads"))
                });
            }
            (Pattern::Wildcard, _) => {}
        }
    }

    /// What is under a condition.
    pub(super) fn under(&mut self, guard: Guard, block: &Block) -> Value {
        let outer = self.guard;
        let zero = [0, 1, 2].map(|axis| outer.zero[axis] || guard.zero[axis]);
        self.guard = Guard { zero, edge: [outer.edge[0] && guard.edge[0]; 2] };
        let value = self.block(block);
        self.guard = outer;
        value
    }

    pub(super) fn condition(&mut self, id: ExprId) -> Guard {
        match self.expr(id) {
            Value::Condition(guard) => guard,
            _ => Guard::default(),
        }
    }

    /// A place that is assigned.
    pub(super) fn write(&mut self, place: ExprId) {
        let kernel = self.kernel;
        match &kernel.expr(place).kind {
            ExprKind::Index(view, coordinates) => {
                let (view, at) = (self.expr(*view), self.exprs(coordinates));
                self.write_at(view, &at);
            }
            ExprKind::Local(_) => {}
            ExprKind::Field(of, _) => self.write(*of),
            ExprKind::Element(of, index) => {
                self.expr(*index);
                self.write(*of);
            }
            _ => drop(self.expr(place)),
        }
    }

    /// An element that is written.
    pub(super) fn write_at(&mut self, view: Value, at: &[Value]) {
        match view {
            Value::View(view) => {
                let element = self.select(view, None, &[], at);
                self.writes(Value::View(element), None);
            }
            other => self.writes(other, None),
        }
    }

    /// A view that is written, by a word that has another reason to take any grid.
    pub(super) fn writes(&mut self, view: Value, unclear: Option<&str>) {
        let mut view = match view {
            Value::View(view) => view,
            _ => View {
                argument: Some(u32::MAX),
                unclear: Some("it writes a view that it chooses as it runs".to_owned()),
                ..View::default()
            },
        };
        if view.argument.is_none() {
            return;
        }
        if let Some(why) = unclear {
            view.unclear = Some(format!("`{}` {why}", self.name_of(&view)));
        }
        if self.guard.edge[0] {
            let known = view.threads.iter().filter(|(_, count)| self.atoms.is_static(count)).cloned();
            self.threads.exact.extend(known);
        }
        self.written.push((view, self.guard.zero));
    }

    /// Whether a word takes any grid, once.
    pub(super) fn takes_any_grid(&mut self, why: &'static str) {
        self.any_grid = self.any_grid.or(Some(why));
    }
}
