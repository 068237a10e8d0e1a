//! What a kernel gives, by an interpreter of the tree that knows nothing of the compiler.
//!
//! Threads run one after the other, from one barrier to the next. Law: an element outside of its tensor reads as the pad, 0
//! without one, and is not written; operands are evaluated from left to right, each effect where it is.

mod product;
mod view;
mod whole;

use crate::tree::*;
use crate::types::Type;
use crate::value::{self, Value};
use crate::words::WORDS;
use std::collections::HashMap;
use view::View;

/// The most steps of a launch.
const STEPS: u64 = 4_000_000;

/// What a launch leaves.
pub struct Outcome {
    /// The elements of each tensor, the last coordinate fastest.
    pub tensors: Vec<Vec<Value>>,
    /// Whether an index left 64 bits, so that only the bounds are promised.
    pub left_64_bits: bool,
    /// Whether an element outside of its tensor was named: where the text names the tensor itself, the simulator says so.
    pub outside: bool,
}

/// Why there is no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// The launch takes more steps than anybody waits for.
    TooLong,
    /// The generator should not have made this kernel.
    Wrong(String),
}

/// Runs a kernel.
pub fn interpret(kernel: &Kernel) -> Result<Outcome, Stuck> {
    let tensors = kernel.tensors.iter().enumerate();
    let memories = tensors.map(|(number, tensor)| Memory {
        extents: kernel.shape(number),
        elem: tensor.elem,
        elements: tensor.data.iter().copied().map(Some).collect(),
    });
    let mut machine = Machine {
        kernel,
        memories: memories.collect(),
        shared: HashMap::new(),
        carried: None,
        closures: HashMap::new(),
        left_64_bits: false,
        outside: false,
        steps: 0,
    };
    // The blocks of a cluster run together.
    for first in (0..kernel.grid).step_by(kernel.cluster.max(1) as usize) {
        machine.shared.clear();
        let threads = |block: u32| (0..kernel.block).map(move |thread| Thread::new(kernel, thread, block));
        let mut threads: Vec<Thread> = (first..first + kernel.cluster).flat_map(threads).collect();
        machine.together(&kernel.body, &mut threads).map_err(|stop| match stop {
            Stop::Stuck(stuck) => stuck,
            Stop::Jump(_) => Stuck::Wrong("a jump out of where threads meet".to_owned()),
        })?;
    }
    let tensors = machine.memories.into_iter().take(kernel.tensors.len());
    let zeroed = tensors.map(|memory| {
        let zero = value::zero(memory.elem);
        memory.elements.into_iter().map(|element| element.unwrap_or(zero)).collect()
    });
    Ok(Outcome { tensors: zeroed.collect(), left_64_bits: machine.left_64_bits, outside: machine.outside })
}

/// The elements of a tensor; `None` before the first write.
struct Memory {
    extents: Vec<i64>,
    elem: Type,
    elements: Vec<Option<Value>>,
}

struct Thread {
    thread: u32,
    block: u32,
    vars: Vec<Option<Slot>>,
    /// Whether it has returned.
    ended: bool,
}

#[derive(Clone)]
enum Slot {
    Scalar(Value),
    Pair(Vec<Value>),
    View(View),
}

impl Thread {
    fn new(kernel: &Kernel, thread: u32, block: u32) -> Thread {
        Thread { thread, block, vars: vec![None; kernel.vars.len()], ended: false }
    }

    fn set(&mut self, var: Var, value: Value) {
        self.vars[var] = Some(Slot::Scalar(value));
    }
}

/// How a list of statements ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    /// Out of so many loops.
    Break(usize),
    /// To the next round of the loop that is so far out.
    Continue(usize),
    /// The thread is at its end.
    Return,
    /// Out of a block or a `loop` of this label, with the value that the machine holds.
    Leave(usize),
    /// Out of a function or a closure, likewise.
    Give,
}

/// Why an expression has no value.
enum Stop {
    Stuck(Stuck),
    /// It is left.
    Jump(Flow),
}

/// What a loop does with what its body ends in: whether it goes on, or how the statement ends.
fn after(flow: Flow) -> Option<Flow> {
    match flow {
        Flow::Next | Flow::Continue(1) => None,
        Flow::Break(1) => Some(Flow::Next),
        Flow::Break(out) => Some(Flow::Break(out - 1)),
        Flow::Continue(out) => Some(Flow::Continue(out - 1)),
        Flow::Return | Flow::Leave(_) | Flow::Give => Some(flow),
    }
}

struct Machine<'a> {
    kernel: &'a Kernel,
    memories: Vec<Memory>,
    /// The shared tensors of the cluster, by block and variable.
    shared: HashMap<(u32, Var), usize>,
    /// What a jump carries.
    carried: Option<Value>,
    /// The closures that were made: what they are is where they are.
    closures: HashMap<Var, (&'a [Var], &'a Body)>,
    left_64_bits: bool,
    outside: bool,
    steps: u64,
}

type Run<T> = Result<T, Stop>;

fn stuck<T>(what: &str) -> Run<T> {
    Err(Stop::Stuck(Stuck::Wrong(what.to_owned())))
}

/// Whether threads meet in it.
fn meets(statement: &Stmt) -> bool {
    match statement {
        Stmt::Barrier(_) | Stmt::Together { .. } | Stmt::Product(_) => true,
        Stmt::For { body, .. } => body.iter().any(meets),
        _ => false,
    }
}

impl<'a> Machine<'a> {
    /// Statements that every thread of the block runs: one thread after the other, up to where they meet.
    fn together(&mut self, statements: &'a [Stmt], threads: &mut [Thread]) -> Run<()> {
        for statement in statements {
            match statement {
                Stmt::Barrier(_) => {}
                Stmt::Product(product) => self.product(product, threads)?,
                Stmt::For { var, start, end, step, reversed, body, .. } if meets(statement) => {
                    let first = &mut threads[0];
                    let (start, end) = (self.index(start, first)?, self.index(end, first)?);
                    for round in rounds(start, end, *step, *reversed) {
                        self.step()?;
                        threads.iter_mut().for_each(|thread| thread.set(*var, Value::Int(round)));
                        self.together(body, threads)?;
                    }
                }
                Stmt::Together { var, what, value, number } => {
                    let ty = self.kernel.type_of(value);
                    let (mut values, mut numbers) = (vec![], vec![]);
                    for thread in threads.iter_mut() {
                        values.push(self.eval(value, thread)?);
                        numbers.push(match number {
                            Some(number) => self.index(number, thread)?,
                            None => 0,
                        });
                    }
                    let block = self.kernel.block as usize;
                    let blocks = values.chunks(block).zip(numbers.chunks(block));
                    let results = blocks.flat_map(|(values, numbers)| meeting(*what, ty, values, numbers));
                    threads.iter_mut().zip(results).for_each(|(thread, result)| thread.set(*var, result));
                }
                _ => {
                    for thread in threads.iter_mut().filter(|thread| !thread.ended) {
                        match self.ending(statement, thread)? {
                            Flow::Next => {}
                            Flow::Return => thread.ended = true,
                            _ => return stuck("a jump out of nothing"),
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn list(&mut self, statements: &'a [Stmt], thread: &mut Thread) -> Run<Flow> {
        for statement in statements {
            let flow = self.ending(statement, thread)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn step(&mut self) -> Run<()> {
        self.steps += 1;
        if self.steps > STEPS { Err(Stop::Stuck(Stuck::TooLong)) } else { Ok(()) }
    }

    /// How a statement ends; a jump out of an expression in it is its own.
    fn ending(&mut self, statement: &'a Stmt, thread: &mut Thread) -> Run<Flow> {
        match self.statement(statement, thread) {
            Err(Stop::Jump(flow)) => Ok(flow),
            other => other,
        }
    }

    fn statement(&mut self, statement: &'a Stmt, thread: &mut Thread) -> Run<Flow> {
        self.step()?;
        match statement {
            Stmt::Let { var, value, .. } => {
                let value = self.eval(value, thread)?;
                thread.set(*var, value);
            }
            Stmt::LetParts(vars, values) => {
                let values = self.evals(values, thread)?;
                vars.iter().zip(values).for_each(|(var, value)| thread.set(*var, value));
            }
            Stmt::LetPair(var, values) => {
                let values = self.evals(values, thread)?;
                thread.vars[*var] = Some(Slot::Pair(values));
            }
            Stmt::Assign(var, op, value) => {
                let ty = self.kernel.scalar_type(*var);
                let new = match op {
                    // Rust evaluates the right side of `a op= b` first where both are numbers.
                    Some(op) => {
                        let right = self.eval(value, thread)?;
                        let left = self.scalar(*var, thread)?;
                        self.binary(*op, ty, left, right)?
                    }
                    None => self.eval(value, thread)?,
                };
                if thread.vars[*var].is_none() {
                    return stuck("assigned before its `let`");
                }
                thread.set(*var, new);
            }
            Stmt::Store(place, coordinates, op, value) => {
                let ty = self.kernel.elem(place);
                // The value first, then the place, as Rust does.
                let right = self.eval(value, thread)?;
                let view = self.view(place, thread)?;
                let at = self.coordinates(coordinates, thread)?;
                let new = match op {
                    Some(op) => {
                        let left = self.load(&view, &at)?;
                        self.binary(*op, ty, left, right)?
                    }
                    None => right,
                };
                self.store(&view, &at, new);
            }
            Stmt::If(condition, then, otherwise) => {
                let chosen = if self.eval(condition, thread)?.truth() { then } else { otherwise };
                return self.list(chosen, thread);
            }
            Stmt::For { var, start, end, step, reversed, body, .. } => {
                let (start, end) = (self.index(start, thread)?, self.index(end, thread)?);
                for round in rounds(start, end, *step, *reversed) {
                    self.step()?;
                    thread.set(*var, Value::Int(round));
                    if let Some(flow) = after(self.list(body, thread)?) {
                        return Ok(flow);
                    }
                }
            }
            Stmt::While(condition, body) => {
                while self.eval(condition, thread)?.truth() {
                    self.step()?;
                    if let Some(flow) = after(self.list(body, thread)?) {
                        return Ok(flow);
                    }
                }
            }
            Stmt::Break(out) => return Ok(Flow::Break(*out)),
            Stmt::Continue(out) => return Ok(Flow::Continue(*out)),
            Stmt::Return => return Ok(Flow::Return),
            Stmt::Match(value, arms, otherwise) => {
                let value = self.eval(value, thread)?;
                let body = self.arm(arms, value, thread)?.unwrap_or(otherwise);
                return self.list(body, thread);
            }
            Stmt::LetArray { var, count, values } => {
                let mut values = self.evals(values, thread)?;
                if let [one] = values[..] {
                    values = vec![one; *count];
                }
                thread.vars[*var] = Some(Slot::Pair(values));
            }
            Stmt::SetElement(var, at, op, value) => {
                let ty = self.kernel.scalar_type(*var);
                let right = self.eval(value, thread)?;
                let at = self.index(at, thread)?;
                let new = match op {
                    Some(op) => {
                        let left = self.element(*var, at, thread)?;
                        self.binary(*op, ty, left, right)?
                    }
                    None => right,
                };
                match &mut thread.vars[*var] {
                    Some(Slot::Pair(values)) if (at as usize) < values.len() => values[at as usize] = new,
                    _ => return stuck("an element outside of its array"),
                }
            }
            Stmt::Expr(expr) => {
                self.eval(expr, thread)?;
            }
            Stmt::LetView { var, place, local } => {
                let mut view = self.view(place, thread)?;
                if *local {
                    view = self.copied(&view)?;
                }
                thread.vars[*var] = Some(Slot::View(view));
            }
            Stmt::LetTensor { var, elem, layout, shared } => {
                let memory = match self.shared.get(&(thread.block, *var)) {
                    Some(memory) if *shared => *memory,
                    _ => self.allocate(&layout.extents, *elem),
                };
                if *shared {
                    self.shared.insert((thread.block, *var), memory);
                }
                thread.vars[*var] = Some(Slot::View(self.whole(memory)));
            }
            Stmt::Fill(place, value) => {
                let view = self.view(place, thread)?;
                let value = self.eval(value, thread)?;
                for at in view.elements() {
                    self.store(&view, &at, value);
                }
            }
            Stmt::Copy { to, from } => {
                let (to, from) = (self.view(to, thread)?, self.view(from, thread)?);
                let extents = |view: &View| -> Vec<i128> {
                    view.modes.iter().chain(&view.vector).map(|mode| mode.0).collect()
                };
                if extents(&to) != extents(&from) {
                    return stuck("a copy of other extents");
                }
                for at in to.elements() {
                    let value = self.load(&from, &at)?;
                    self.store(&to, &at, value);
                }
            }
            Stmt::Barrier(_) | Stmt::Together { .. } | Stmt::Product(_) => {
                return stuck("threads meet where not all are");
            }
            Stmt::Leave(label, value) => {
                self.carried = Some(self.eval(value, thread)?);
                return Ok(Flow::Leave(*label));
            }
            Stmt::Give(value) => {
                self.carried = Some(self.eval(value, thread)?);
                return Ok(Flow::Give);
            }
            Stmt::LetClosure { var, parameters, body } => {
                self.closures.insert(*var, (parameters, body));
            }
            Stmt::LetWhole(..)
            | Stmt::SetWhole(..)
            | Stmt::SetPart(..)
            | Stmt::SetParts(..)
            | Stmt::Swap(..)
            | Stmt::ForEach { .. } => return self.whole_statement(statement, thread),
        }
        Ok(Flow::Next)
    }

    fn evals(&mut self, exprs: &'a [Expr], thread: &mut Thread) -> Run<Vec<Value>> {
        exprs.iter().map(|expr| self.eval(expr, thread)).collect()
    }

    fn index(&mut self, expr: &'a Expr, thread: &mut Thread) -> Run<i128> {
        self.eval(expr, thread).map(Value::int)
    }

    fn coordinates(&mut self, exprs: &'a [Expr], thread: &mut Thread) -> Run<Vec<i128>> {
        exprs.iter().map(|expr| self.index(expr, thread)).collect()
    }

    fn scalar(&self, var: Var, thread: &Thread) -> Run<Value> {
        match thread.vars[var] {
            Some(Slot::Scalar(value)) => Ok(value),
            _ => stuck("a variable without a value"),
        }
    }

    fn binary(&mut self, op: BinaryOp, ty: Type, left: Value, right: Value) -> Run<Value> {
        let Some(value) = value::binary(op, ty, left, right) else { return stuck("a division by zero") };
        if !op.compares() {
            self.left_64_bits |= value::leaves_64_bits(ty, value);
        }
        Ok(value)
    }

    fn element(&self, array: Var, at: i128, thread: &Thread) -> Run<Value> {
        match &thread.vars[array] {
            Some(Slot::Pair(values)) if at >= 0 && at < values.len() as i128 => Ok(values[at as usize]),
            _ => stuck("an element outside of its array"),
        }
    }

    fn body(&mut self, body: &'a Body, thread: &mut Thread) -> Run<Value> {
        match self.list(&body.statements, thread)? {
            Flow::Next => self.eval(&body.value, thread),
            flow => Err(Stop::Jump(flow)),
        }
    }

    /// The arm of a `match` for a value.
    fn arm<B>(&mut self, arms: &'a [(Arm, B)], value: Value, thread: &mut Thread) -> Run<Option<&'a B>> {
        for (arm, body) in arms {
            let within = |(least, most): &(Value, Value)| (least.int()..=most.int()).contains(&value.int());
            if !arm.patterns.is_empty() && !arm.patterns.iter().any(within) {
                continue;
            }
            if let Some(bound) = arm.bound {
                thread.set(bound, value);
            }
            match &arm.guard {
                Some(guard) if !self.eval(guard, thread)?.truth() => {}
                _ => return Ok(Some(body)),
            }
        }
        Ok(None)
    }

    /// What a function's or a closure's body gives.
    fn result(&mut self, body: &'a Body, thread: &mut Thread) -> Run<Value> {
        match self.body(body, thread) {
            Err(Stop::Jump(Flow::Give)) => self.taken(),
            other => other,
        }
    }

    fn taken(&mut self) -> Run<Value> {
        self.carried.take().map_or_else(|| stuck("a jump without a value"), Ok)
    }

    fn eval(&mut self, expr: &'a Expr, thread: &mut Thread) -> Run<Value> {
        self.step()?;
        Ok(match expr {
            Expr::Literal { value, .. } => *value,
            Expr::Var(var) => self.scalar(*var, thread)?,
            Expr::Field(var, part) => match &thread.vars[*var] {
                Some(Slot::Pair(values)) => values[*part],
                _ => return stuck("no pair"),
            },
            Expr::Argument(number) => self.kernel.scalars[*number].1,
            Expr::Thread => Value::Int(thread.thread.into()),
            Expr::Block => Value::Int(thread.block.into()),
            Expr::Rank => Value::Int((thread.block % self.kernel.cluster).into()),
            Expr::Dim(number) => Value::Int(self.kernel.dims[*number].0.into()),
            Expr::Unary(op, operand) => {
                let ty = self.kernel.type_of(operand);
                let value = value::unary(*op, ty, self.eval(operand, thread)?);
                self.left_64_bits |= value::leaves_64_bits(ty, value);
                value
            }
            Expr::Binary(op, sides) => {
                let ty = self.kernel.type_of(&sides[0]);
                let left = self.eval(&sides[0], thread)?;
                match (op, left.truth()) {
                    (BinaryOp::And, false) | (BinaryOp::Or, true) => return Ok(left),
                    _ => {}
                }
                let right = self.eval(&sides[1], thread)?;
                self.binary(*op, ty, left, right)?
            }
            Expr::Cast(to, operand) => {
                let from = self.kernel.type_of(operand);
                value::cast(from, *to, self.eval(operand, thread)?)
            }
            Expr::Math(function, arguments) => {
                let ty = self.kernel.type_of(&arguments[0]);
                let values = self.evals(arguments, thread)?;
                value::math(*function, ty, &values)
            }
            Expr::Word(word, ty, arguments) => {
                let values = self.evals(arguments, thread)?;
                WORDS[*word].apply(*ty, &values)
            }
            Expr::Match(value, arms, otherwise) => {
                let value = self.eval(value, thread)?;
                let body = self.arm(arms, value, thread)?.unwrap_or(otherwise);
                self.body(body, thread)?
            }
            Expr::Part(target) => self.part(target, thread)?,
            Expr::Reference(_) => return stuck("a reference is no value"),
            Expr::Jump(_, jump) => match self.ending(jump, thread)? {
                Flow::Next => return stuck("no jump"),
                flow => return Err(Stop::Jump(flow)),
            },
            Expr::Labelled(label, body) => match self.body(body, thread) {
                Err(Stop::Jump(Flow::Leave(out))) if out == *label => self.taken()?,
                other => other?,
            },
            Expr::Loop(label, _, body) => loop {
                self.step()?;
                match self.list(body, thread)? {
                    Flow::Leave(out) if out == *label => break self.taken()?,
                    // A plain `break` gives no value.
                    Flow::Break(1) => return stuck("a loop without its value"),
                    flow => {
                        if let Some(flow) = after(flow) {
                            return Err(Stop::Jump(flow));
                        }
                    }
                }
            },
            Expr::Invoke(var, arguments) => {
                let values = self.evals(arguments, thread)?;
                let Some((parameters, body)) = self.closures.get(var).copied() else {
                    return stuck("no closure");
                };
                parameters.iter().zip(values).for_each(|(var, value)| thread.set(*var, value));
                self.result(body, thread)?
            }
            Expr::Element(var, at) => {
                let at = self.index(at, thread)?;
                self.element(*var, at, thread)?
            }
            Expr::Select(parts) => {
                let values = self.evals(&parts[..], thread)?;
                if values[0].truth() { values[1] } else { values[2] }
            }
            Expr::If(condition, then, otherwise) => {
                let chosen = if self.eval(condition, thread)?.truth() { then } else { otherwise };
                self.body(chosen, thread)?
            }
            Expr::Body(body) => self.body(body, thread)?,
            Expr::Load(place, coordinates) => {
                let view = self.view(place, thread)?;
                let at = self.coordinates(coordinates, thread)?;
                self.load(&view, &at)?
            }
            Expr::Atomic(op, place, coordinates, value) => {
                let ty = self.kernel.elem(place);
                let view = self.view(place, thread)?;
                let at = self.coordinates(coordinates, thread)?;
                let value = self.eval(value, thread)?;
                let old = self.load(&view, &at)?;
                let new = match op {
                    AtomicOp::Add => self.binary(BinaryOp::Add, ty, old, value)?,
                    AtomicOp::And => self.binary(BinaryOp::BitAnd, ty, old, value)?,
                    AtomicOp::Or => self.binary(BinaryOp::BitOr, ty, old, value)?,
                    AtomicOp::Xor => self.binary(BinaryOp::Xor, ty, old, value)?,
                    AtomicOp::Max => value::math(Math::Max, ty, &[old, value]),
                    AtomicOp::Min => value::math(Math::Min, ty, &[old, value]),
                };
                self.store(&view, &at, new);
                old
            }
            Expr::Call(function, arguments) => self.call(*function, arguments, thread)?,
        })
    }
}

/// The values of a range, which may have more of them than can be counted out.
fn rounds(start: i128, end: i128, step: Option<i64>, reversed: bool) -> impl Iterator<Item = i128> {
    let step = i128::from(step.unwrap_or(1));
    let count = if start < end { (end - start - 1) / step + 1 } else { 0 };
    (0..count).map(move |round| start + step * if reversed { count - 1 - round } else { round })
}

/// What each thread of a block gets where all meet.
fn meeting(what: Together, ty: Type, values: &[Value], numbers: &[i128]) -> Vec<Value> {
    use Together::*;
    let add = |a, b| value::binary(BinaryOp::Add, ty, a, b).unwrap_or(a);
    let least = |a, b| value::math(Math::Min, ty, &[a, b]);
    let most = |a, b| value::math(Math::Max, ty, &[a, b]);
    let bits = |op: BinaryOp| move |a, b| value::binary(op, ty, a, b).unwrap_or(a);
    let each = |thread: usize| {
        let (lane, first) = (thread % 32, thread - thread % 32);
        let warp = &values[first..first + 32];
        let count = (numbers[thread].rem_euclid(32)) as usize;
        let fold = |values: &[Value], f: &dyn Fn(Value, Value) -> Value| {
            values[1..].iter().fold(values[0], |all, value| f(all, *value))
        };
        match what {
            Shuffle => warp[count],
            ShuffleUp => warp[if lane >= count { lane - count } else { lane }],
            ShuffleDown => warp[if lane + count < 32 { lane + count } else { lane }],
            ShuffleXor => warp[lane ^ count],
            WarpMin => fold(warp, &least),
            WarpMax => fold(warp, &most),
            WarpSum => fold(warp, &add),
            WarpPrefixSum => fold(&warp[..=lane], &add),
            WarpAnd => fold(warp, &bits(BinaryOp::BitAnd)),
            WarpOr => fold(warp, &bits(BinaryOp::BitOr)),
            WarpXor => fold(warp, &bits(BinaryOp::Xor)),
            MatchAny => {
                let same = warp.iter().enumerate().filter(|(_, value)| value.same(warp[lane]));
                Value::Int(same.map(|(lane, _)| 1 << lane).sum())
            }
            MatchAll => Value::Bool(warp.iter().all(|value| value.same(warp[0]))),
            BlockMin => fold(values, &least),
            BlockMax => fold(values, &most),
            BlockSum => fold(values, &add),
            BlockPrefixSum => fold(&values[..=thread], &add),
            Ballot => {
                let bits = warp.iter().enumerate().map(|(lane, value)| i128::from(value.truth()) << lane);
                Value::Int(bits.sum())
            }
            Any => Value::Bool(warp.iter().any(|value| value.truth())),
            All => Value::Bool(warp.iter().all(|value| value.truth())),
        }
    };
    (0..values.len()).map(each).collect()
}
