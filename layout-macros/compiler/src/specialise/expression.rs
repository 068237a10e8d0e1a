//! Expressions: evaluated as far as their operands are known; the rest becomes code.

use super::datum::{Binding, StaticValue};
use super::element::plural;
use super::evaluator::{Evaluator, Failed, Outcome, TileStatement};
use super::registers::LValue;
use super::tile::TileAccess;
use crate::elem::{Constant, Elem, Known};
use crate::index::{Atom, Index, Range, VarId, Way, Width};
use crate::ir::{self, AssertKind, Block, ExprId, ExprKind, LocalId, Special, TypeRef, UnaryOp};
use crate::origin::Origin;
use crate::params::ParamValue;
use crate::program::{BarrierAt, Comparison, StatementKind, Value, VariableKind};
use crate::prove::Facts;
use std::collections::HashMap;
use std::rc::Rc;

/// The deepest nesting of inlined calls.
const MAX_CALLS: u32 = 32;

impl Evaluator<'_> {
    /// Evaluates an expression.
    pub(super) fn expr(&mut self, id: ExprId) -> Outcome<StaticValue> {
        let origin = self.origin(id);
        let Some(left) = self.budget.checked_sub(1) else {
            return self.fail(origin, "the kernel is too large: more than 200000 expressions once inlined");
        };
        self.budget = left;
        // The kernel outlives the evaluator's borrow of itself.
        let kernel = self.kernel;
        match &kernel.expr(id).kind {
            ExprKind::Int(value, suffix) => self.integer(*value, *suffix, origin),
            ExprKind::Float(bits, suffix) => {
                let value = StaticValue::Float(f64::from_bits(*bits));
                match suffix {
                    Some(ty) => self.cast(value, *ty, origin),
                    None => Ok(value),
                }
            }
            ExprKind::Bool(value) => Ok(StaticValue::Bool(*value)),
            ExprKind::Type(elem) => self.fail_help(
                origin,
                format!("`{elem}` is a type, not a value"),
                "compare it with a type parameter: `T == bf16`",
            ),
            ExprKind::Named(function) => self.fail_help(
                origin,
                format!("`{function}` is a function, not a value"),
                "call it, or compare a parameter with it in a `filter(..)`",
            ),
            ExprKind::Known(known, ty) => self.known_constant(*known, *ty, origin),
            ExprKind::Local(local) => self.read(*local),
            ExprKind::Parameter(number) => {
                let name = &kernel.parameters[*number as usize].name;
                match self.params.get(name) {
                    Some(ParamValue::Int(value)) => Ok(StaticValue::Index(Index::constant(value))),
                    Some(ParamValue::Bool(value)) => Ok(StaticValue::Bool(value)),
                    Some(ParamValue::Function(function)) => match kernel.function(function) {
                        Some(number) => Ok(self.function(number)),
                        None => self.fail(origin, format!("the kernel has no function `{function}`")),
                    },
                    Some(ParamValue::Type(_)) => {
                        self.fail(origin, format!("`{name}` is a type, not a value"))
                    }
                    None => self.fail(origin, format!("the parameter set has no value for `{name}`")),
                }
            }
            ExprKind::Dim(number) => Ok(StaticValue::Index(self.dims[*number as usize].clone())),
            ExprKind::Argument(number) => match self.arguments.get(*number as usize) {
                Some(datum) => Ok(datum.clone()),
                None => self.argument_of_launch(*number, origin),
            },
            ExprKind::Special(special, axis) => self.special(*special, *axis, origin),
            ExprKind::Unary(op, operand) => {
                let operand = self.expr(*operand)?;
                self.unary(*op, operand, origin)
            }
            ExprKind::Binary(op, left, right) => match self.types_compared(*op, *left, *right) {
                Some(equal) => Ok(StaticValue::Bool(equal)),
                None => {
                    let datum = self.binary_expr(*op, *left, *right, origin)?;
                    Ok(self.signed_index(id, datum))
                }
            },
            ExprKind::Cast(operand, ty) => {
                let operand = self.expr(*operand)?;
                self.cast(operand, *ty, origin)
            }
            ExprKind::Tuple(parts) => Ok(StaticValue::Tuple(self.exprs(parts)?)),
            ExprKind::Array(parts) => Ok(StaticValue::Array(self.exprs(parts)?)),
            ExprKind::Repeat(value, count) => self.repeat(*value, *count, origin),
            ExprKind::Element(array, index) => match self.spot(id, origin) {
                Some(spot) => self.spot_read(spot, origin),
                None => self.element_of(*array, *index, origin),
            },
            ExprKind::Field(operand, number) => match self.spot(id, origin) {
                Some(spot) => self.spot_read(spot, origin),
                None => self.field_of(*operand, *number, origin),
            },
            ExprKind::Len(array) => self.length_of(*array, origin),
            ExprKind::Borrow(place) => self.borrow(*place, origin),
            ExprKind::Index(view, coordinates) => self.load(*view, coordinates, origin),
            ExprKind::Intrinsic(intrinsic, types, arguments) => {
                self.intrinsic(id, (*intrinsic, types, arguments), origin)
            }
            ExprKind::Call(function, arguments) => self.call(*function, arguments, origin),
            ExprKind::Function(number) => Ok(self.function(*number)),
            ExprKind::CallValue(callee, arguments) => self.call_value(*callee, arguments, origin),
            ExprKind::Block(block) => self.block_value(block),
            ExprKind::If(condition, then, otherwise) => self.if_expr(*condition, then, otherwise, origin),
        }
    }

    fn spot_read(&mut self, spot: Outcome<LValue>, origin: Origin) -> Outcome<StaticValue> {
        let spot = spot?;
        self.read_spot(&spot, origin)
    }

    fn field_of(&mut self, operand: ExprId, number: u32, origin: Origin) -> Outcome<StaticValue> {
        match self.expr(operand)? {
            StaticValue::Tuple(mut parts) if (number as usize) < parts.len() => {
                Ok(parts.swap_remove(number as usize))
            }
            StaticValue::Unknown => Err(Failed),
            StaticValue::Tuple(parts) => {
                let help = format!("its fields are `.0` to `.{}`", parts.len().saturating_sub(1));
                self.fail_help(origin, format!("a tuple of {} has no field {number}", parts.len()), help)
            }
            other => {
                let message = format!("{} has no field {number}", other.kind());
                self.fail_help(origin, message, "tuples have fields, arrays elements: `pair.0`, `own[0]`")
            }
        }
    }

    pub(super) fn integer(
        &mut self,
        value: i128,
        suffix: Option<TypeRef>,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let index = i64::try_from(value).map(|value| StaticValue::Index(Index::constant(value)));
        let elem = match (suffix, index) {
            (None | Some(TypeRef::Usize | TypeRef::Isize), Ok(index)) => return Ok(index),
            // Of the language's types only this one has numbers so large.
            (None | Some(TypeRef::Usize | TypeRef::Isize), Err(_)) => Elem::U64,
            (Some(ty), index) => match (self.elem(ty, origin)?, index) {
                (Some(elem), _) if elem.is_integer() => elem,
                (_, Ok(index)) => return self.cast(index, ty, origin),
                (_, Err(_)) => {
                    return self.fail(origin, format!("{value} is beyond the integers of a kernel"));
                }
            },
        };
        match Constant::integer(elem, value) {
            Some(constant) => Ok(StaticValue::Scalar(Value::Constant(constant), elem)),
            None => self.does_not_fit(value, elem, origin),
        }
    }

    fn known_constant(&mut self, known: Known, ty: TypeRef, origin: Origin) -> Outcome<StaticValue> {
        let elem = self.elem(ty, origin)?;
        match elem.and_then(|elem| Constant::known(elem, known)) {
            Some(constant) => Ok(StaticValue::Scalar(Value::Constant(constant), constant.elem)),
            None => {
                let name = elem.map_or("usize", Elem::name);
                self.fail(origin, format!("`{name}` has no constant `{}`", known.name()))
            }
        }
    }

    fn read(&mut self, local: LocalId) -> Outcome<StaticValue> {
        match self.bindings.get(&local).cloned() {
            Some(binding) => self.read_binding(local, &binding),
            None => Err(Failed),
        }
    }

    pub(super) fn special(&mut self, special: Special, axis: u32, origin: Origin) -> Outcome<StaticValue> {
        let axis_index = (axis as usize).min(2);
        if self.host && matches!(special, Special::ThreadIdx | Special::BlockIdx) {
            return self
                .fail(origin, "the attribute's entries are evaluated on the host, before there are threads");
        }
        let (count, fixed) = match special {
            Special::BlockDim => {
                return Ok(StaticValue::Index(Index::constant(i64::from(self.block[axis_index]))));
            }
            Special::GridDim => match &self.grid {
                Some(grid) => return Ok(StaticValue::Index(grid[axis_index].clone())),
                None => (Range::new(1, i128::from(i32::MAX)), None),
            },
            Special::ThreadIdx => {
                let count = i128::from(self.block[axis_index]);
                (Range::new(0, (count - 1).max(0)), (count <= 1).then_some(0))
            }
            Special::BlockIdx => match &self.grid {
                Some(grid) => {
                    let high = self.tables.atoms.range(&grid[axis_index]).high.min(i128::from(i32::MAX));
                    (Range::new(0, (high - 1).max(0)), (high <= 1).then_some(0))
                }
                None => (Range::new(0, i128::from(i32::MAX) - 1), None),
            },
        };
        if let Some(value) = fixed {
            return Ok(StaticValue::Index(Index::constant(value)));
        }
        Ok(StaticValue::Index(Index::atom(self.tables.atoms.intern(
            Atom::Special(special, axis),
            count,
            1,
            None,
        ))))
    }

    /// The datum as an index.
    pub(super) fn expect_index(&mut self, datum: StaticValue, origin: Origin) -> Outcome<Index> {
        match datum {
            StaticValue::Index(index) => Ok(index),
            StaticValue::Unknown => Err(Failed),
            other => {
                let message = format!("expected an index (usize), found {}", other.kind());
                self.fail_help(origin, message, other.way_to("usize"))
            }
        }
    }

    /// A function as a value, with the names that are in force where it is.
    fn function(&self, number: u32) -> StaticValue {
        StaticValue::Function(number, Rc::new(self.bindings.clone()))
    }

    /// A call of a value: the body sees what its function saw, and leaves the caller's names as they were.
    fn call_value(&mut self, callee: ExprId, arguments: &[ExprId], origin: Origin) -> Outcome<StaticValue> {
        let (called, values) = (self.expr(callee), self.exprs(arguments));
        let (number, names) = match called? {
            StaticValue::Function(number, names) => (number, names),
            other => {
                let help = match self.kernel.expr(callee).kind {
                    ExprKind::Local(local) => {
                        let name = &self.kernel.locals[local.0 as usize].name;
                        format!(
                            "`{name}` is a local here: a word of the same name needs another name for the local"
                        )
                    }
                    _ => "a function and a closure can be called".to_owned(),
                };
                return self.fail_help(origin, format!("{} cannot be called", other.kind()), help);
            }
        };
        let own = std::mem::replace(&mut self.bindings, names.as_ref().clone());
        let result = values.and_then(|values| self.apply(number, values, origin));
        self.bindings = own;
        result
    }

    fn call(&mut self, function: u32, arguments: &[ExprId], origin: Origin) -> Outcome<StaticValue> {
        let values = self.exprs(arguments)?;
        self.apply(function, values, origin)
    }

    fn apply(&mut self, function: u32, values: Vec<StaticValue>, origin: Origin) -> Outcome<StaticValue> {
        let kernel = self.kernel;
        let function = &kernel.functions[function as usize];
        if values.len() != function.parameters.len() {
            let (given, wanted) = (values.len(), function.parameters.len());
            // No name of the kernel is `closure` where a closure is called.
            let name = match function.name.as_str() {
                "closure" => "the closure".to_owned(),
                name => format!("`{name}`"),
            };
            let were = if given == 1 { "was" } else { "were" };
            let message =
                format!("{name} takes {wanted} {}, {given} {were} given", plural(wanted, "argument"));
            return self.fail_help(origin, message, "give one value for each parameter");
        }
        if self.calls >= MAX_CALLS {
            return self.fail_help(
                origin,
                format!("calls are nested more than {MAX_CALLS} deep at `{}`", function.name),
                "functions are inlined, so they cannot be recursive",
            );
        }
        self.calls += 1;
        // A closure of this function's that calls it again leaves its own types behind.
        let outer = self.own_types.clone();
        for (place, own) in &function.type_sources {
            if let Some(elem) = values.get(*place as usize).and_then(|value| self.elem_of(value)) {
                self.own_types[*own as usize] = Some(elem);
            }
        }
        for ((local, ty), value) in function.parameters.iter().zip(&function.types).zip(values) {
            let value = self.ascribe(value, ty, origin)?;
            let binding = self.binding(*local, kernel.locals[local.0 as usize].mutable, value);
            self.bindings.insert(*local, binding);
        }
        let loops = std::mem::take(&mut self.loops);
        self.rounds += loops;
        let result = self.apart(|this| this.block(&function.body));
        self.rounds -= loops;
        self.loops = loops;
        self.calls -= 1;
        let result = result.and_then(|result| self.ascribe(result, &function.result, origin));
        self.own_types = outer;
        result
    }

    /// The element type of a view or of a value, where it has one already.
    fn elem_of(&self, value: &StaticValue) -> Option<Elem> {
        match value {
            StaticValue::View(view) => Some(self.tables.place(view.place).elem),
            StaticValue::Scalar(_, elem) => Some(*elem),
            StaticValue::Bool(_) => Some(Elem::Bool),
            StaticValue::Borrowed(binding) => match binding.as_ref() {
                Binding::Value(value) => self.elem_of(value),
                Binding::Element(var) => match self.tables.variable(*var).kind {
                    VariableKind::Elem(elem) if !self.undecided.contains_key(var) => Some(elem),
                    _ => None,
                },
                Binding::Memory(access) => Some(self.tables.place(access.view.place).elem),
                _ => None,
            },
            StaticValue::Tuple(parts) | StaticValue::Array(parts) => {
                parts.first().and_then(|part| self.elem_of(part))
            }
            _ => None,
        }
    }

    /// A variable without a name of the user's gets one.
    fn give_name(&mut self, var: VarId, name: &str) {
        let variable = &mut self.tables.variables[var.0 as usize];
        if std::mem::take(&mut variable.unnamed) {
            name.clone_into(&mut variable.name);
        }
    }

    /// A value that is evaluated once, here: it gets a variable unless it is known or is one.
    pub(super) fn hold(&mut self, name: &str, value: StaticValue, origin: Origin) -> StaticValue {
        match value {
            StaticValue::Index(index) => {
                if let Some(var) = self.tables.atoms.own_variable(&index) {
                    self.give_name(var, name);
                }
                StaticValue::Index(self.name_index(name, &index, origin))
            }
            StaticValue::Scalar(value, elem) => {
                if let Value::Variable(var) = &value
                    && !self.tables.variable(*var).mutable
                {
                    self.give_name(*var, name);
                }
                let known = match &value {
                    Value::Constant(_) | Value::Argument(..) => true,
                    Value::Variable(var) => !self.tables.variable(*var).mutable,
                    _ => false,
                };
                if known || self.host {
                    return StaticValue::Scalar(value, elem);
                }
                let var = self.variable(name, VariableKind::Elem(elem), false, origin);
                if let Value::Variable(source) = &value {
                    self.same_type(*source, var);
                }
                self.note_interval(var, &value, elem);
                if elem == Elem::Bool || elem.is_integer() {
                    self.decides(var, &[&value], &[]);
                }
                if elem == Elem::Bool {
                    self.note_compared(&value);
                    self.facts.define(var, &value);
                }
                self.push(origin, StatementKind::Let(var, Some(value)));
                StaticValue::Scalar(Value::Variable(var), elem)
            }
            StaticValue::View(view) => {
                let view = self.point(name, view, origin);
                StaticValue::View(self.settled_view(view, origin))
            }
            StaticValue::Barrier(BarrierAt { place, index }) => {
                let index = self.settled(&index, origin);
                StaticValue::Barrier(BarrierAt { place, index })
            }
            StaticValue::Barriers(place, count) => {
                if let Some(own) = self.tables.places.get_mut(place.0 as usize) {
                    own.name = name.to_owned();
                }
                StaticValue::Barriers(place, count)
            }
            StaticValue::Tuple(parts) => {
                let held = parts.into_iter().map(|part| match self.has_name(&part) {
                    true => part,
                    false => self.hold(name, part, origin),
                });
                StaticValue::Tuple(held.collect())
            }
            StaticValue::Array(parts) => {
                // Coordinates and sizes: an index among them needs a name only where it may change.
                let held = parts.into_iter().map(|part| match part {
                    StaticValue::Index(index) => StaticValue::Index(self.settled(&index, origin)),
                    other => self.hold(name, other, origin),
                });
                StaticValue::Array(held.collect())
            }
            StaticValue::Unit
            | StaticValue::Float(_)
            | StaticValue::Bool(_)
            | StaticValue::Layout(_)
            | StaticValue::Pipeline(..)
            | StaticValue::TensorCore(_)
            | StaticValue::Function(..)
            | StaticValue::Borrowed(_)
            | StaticValue::Unknown => value,
        }
    }

    /// Whether a part of a tuple has a name of its own, which the tuple's does not replace.
    pub(super) fn has_name(&self, part: &StaticValue) -> bool {
        matches!(part, StaticValue::Barriers(place, _) if self.tables.places.get(place.0 as usize).is_none_or(|own| own.name != "mbarriers"))
    }

    /// The statements and the value of a block.
    pub(super) fn block(&mut self, block: &Block) -> Outcome<StaticValue> {
        let (mut failed, mut left) = (false, false);
        let (facts, narrowed) = (self.facts.len(), self.narrowed.len());
        for statement in &block.statements {
            let before = self.out.len();
            let result = self.statement(statement);
            self.assume_stayed(before);
            self.may_have_left(before);
            left = self.out.len() > before && leaves(&self.out);
            // What has no value, since it is left, is no mistake.
            failed |= result.is_err() && !left;
            if left {
                break;
            }
        }
        let before = self.out.len();
        let value = match block.value {
            Some(value) if !left => match self.expr(value) {
                Err(Failed) if self.out.len() > before && leaves(&self.out) => Ok(StaticValue::Unknown),
                value => value,
            },
            // What follows a `break` is never reached.
            _ if left => Ok(StaticValue::Unknown),
            _ => Ok(StaticValue::Unit),
        };
        self.facts.truncate(facts);
        self.bindings.extend(self.narrowed.drain(narrowed..).rev());
        if failed { Err(Failed) } else { value }
    }

    /// The value of a block; none of one that is left.
    fn block_value(&mut self, block: &Block) -> Outcome<StaticValue> {
        let before = self.out.len();
        match self.block(block)? {
            StaticValue::Unknown if self.out.len() > before && leaves(&self.out) => Err(Failed),
            value => Ok(value),
        }
    }

    /// A condition: known, or a value of type `bool`.
    pub(super) fn condition(&mut self, id: ExprId) -> Outcome<Result<bool, Value<TileAccess>>> {
        let origin = self.origin(id);
        match self.expr(id)? {
            StaticValue::Bool(value) => Ok(Ok(value)),
            StaticValue::Scalar(value, Elem::Bool) => Ok(Err(value)),
            StaticValue::Unknown => Err(Failed),
            other => {
                let is_float = matches!(&other, StaticValue::Float(_))
                    || matches!(&other, StaticValue::Scalar(_, elem) if elem.is_float());
                let help = if is_float { "compare it: `x != 0.0`" } else { "compare it: `x != 0`" };
                self.fail_help(origin, format!("expected a condition (bool), found {}", other.kind()), help)
            }
        }
    }

    /// Evaluates where a condition holds, or does not.
    pub(super) fn under<T>(
        &mut self,
        condition: &Value<TileAccess>,
        holds: bool,
        body: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = self.facts.len();
        self.note_compared(condition);
        self.facts.assume_condition(&self.tables.atoms, condition, holds);
        let value = self.sometimes(body);
        self.facts.truncate(before);
        value
    }

    /// Behind `if c { continue; }` the condition does not hold.
    fn assume_stayed(&mut self, from: usize) {
        for statement in self.out.get(from..).unwrap_or_default() {
            if let StatementKind::If(condition, then, otherwise) = &statement.kind
                && leaves(then) != leaves(otherwise)
            {
                self.facts.assume_condition(&self.tables.atoms, condition, leaves(otherwise));
            }
        }
    }

    /// A branch: its statements and its value, an index with the interval that it has there.
    fn branch(
        &mut self,
        block: &Block,
        changed: &[VarId],
        ways: &mut Vec<HashMap<VarId, Range>>,
    ) -> (Vec<TileStatement>, Outcome<(StaticValue, Option<Range>)>) {
        let (statements, value) = self.nested(|this| this.block(block));
        if !leaves(&statements) {
            ways.push(self.present_of(changed));
        }
        let value = value.map(|value| {
            let range = match &value {
                StaticValue::Index(index) => Some(self.tight(index)),
                _ => None,
            };
            (value, range)
        });
        (statements, value)
    }

    fn if_expr(
        &mut self,
        condition: ExprId,
        then: &Block,
        otherwise: &Block,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let condition = match self.condition(condition) {
            Ok(Ok(known)) => return self.block_value(if known { then } else { otherwise }),
            Ok(Err(value)) => Ok(value),
            Err(failed) => Err(failed),
        };
        let changed = self.assigned_indices(None, &[then, otherwise]);
        let start = (self.versions.clone(), self.present.clone());
        let guard = condition.as_ref().cloned().unwrap_or(Value::Constant(Constant::bool(true)));
        let shared = self.shared_bytes;
        let mut ways = Vec::new();
        let (mut yes, first) = self.under(&guard, true, |this| this.branch(then, &changed, &mut ways));
        (self.versions, self.present) = start;
        let reached = self.shared_bytes;
        if self.excludes(&guard) {
            self.shared_bytes = shared;
        }
        let (mut no, second) = self.under(&guard, false, |this| this.branch(otherwise, &changed, &mut ways));
        self.shared_bytes = self.shared_bytes.max(reached);
        for var in changed {
            self.forget(var);
        }
        self.forget_late();
        self.joined(&ways);
        let (condition, (first, one), (second, other)) = (condition?, first?, second?);
        // A branch that leaves the loop has no value: what the other one does comes after, and its value is that of the `if`.
        let stays = match (leaves(&yes), leaves(&no)) {
            (true, true) => {
                self.push(origin, StatementKind::If(condition, yes, no));
                return Err(Failed);
            }
            (true, false) if !matches!(second, StaticValue::Unit) => {
                Some((condition.clone(), &mut yes, &mut no, &second))
            }
            (false, true) if !matches!(first, StaticValue::Unit) => {
                Some((negated(condition.clone()), &mut no, &mut yes, &first))
            }
            (left, right) if left || right => {
                self.push(origin, StatementKind::If(condition, yes, no));
                return Ok(StaticValue::Unit);
            }
            // So is one that panics.
            _ => match (&first, &second) {
                (StaticValue::Unit, value) if self.panics(then) && !matches!(value, StaticValue::Unit) => {
                    Some((condition.clone(), &mut yes, &mut no, value))
                }
                (value, StaticValue::Unit)
                    if self.panics(otherwise) && !matches!(value, StaticValue::Unit) =>
                {
                    Some((negated(condition.clone()), &mut no, &mut yes, value))
                }
                _ => None,
            },
        };
        if let Some((condition, leaving, staying, value)) = stays {
            self.push(origin, StatementKind::If(condition, std::mem::take(leaving), Vec::new()));
            self.out.append(staying);
            return Ok(value.clone());
        }
        let ends = [(first, one), (second, other)];
        let value = self.chosen(ends, [&mut yes, &mut no], &condition, origin)?;
        if yes.is_empty() && !no.is_empty() {
            self.push(origin, StatementKind::If(negated(condition), no, yes));
        } else {
            self.push(origin, StatementKind::If(condition, yes, no));
        }
        Ok(value)
    }

    /// Whether a block ends in a `panic!`.
    fn panics(&self, block: &Block) -> bool {
        let last = block.statements.last().map(|last| &last.kind);
        match block.value.map(|value| &self.kernel.expr(value).kind) {
            None => matches!(last, Some(ir::StatementKind::Assert { kind: AssertKind::Panic, .. })),
            Some(ExprKind::If(_, then, otherwise)) => self.panics(then) && self.panics(otherwise),
            Some(ExprKind::Block(block)) => self.panics(block),
            Some(_) => false,
        }
    }

    /// The value of an `if`: a variable that each branch sets, one for each part of a tuple or an array.
    fn chosen(
        &mut self,
        [(first, one), (second, other)]: [(StaticValue, Option<Range>); 2],
        [yes, no]: [&mut Vec<TileStatement>; 2],
        condition: &Value<TileAccess>,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        match (first, second) {
            (StaticValue::Unit, StaticValue::Unit) => Ok(StaticValue::Unit),
            (StaticValue::Tuple(a), StaticValue::Tuple(b)) if a.len() == b.len() => {
                let parts = a.into_iter().zip(b).map(|(a, b)| {
                    self.chosen([(a, None), (b, None)], [&mut *yes, &mut *no], condition, origin)
                });
                Ok(StaticValue::Tuple(parts.collect::<Outcome<_>>()?))
            }
            (StaticValue::Array(a), StaticValue::Array(b)) if a.len() == b.len() => {
                let parts = a.into_iter().zip(b).map(|(a, b)| {
                    self.chosen([(a, None), (b, None)], [&mut *yes, &mut *no], condition, origin)
                });
                Ok(StaticValue::Array(parts.collect::<Outcome<_>>()?))
            }
            (StaticValue::Index(_), StaticValue::Index(_)) if self.ask_condition(condition) => Err(Failed),
            (StaticValue::Index(a), StaticValue::Index(b)) => {
                let var = self.unnamed("chosen", VariableKind::Index(Width::Long), true, origin);
                self.push(origin, StatementKind::LetIndex(var, Index::constant(0)));
                self.decides(var, &[condition], &[&a, &b]);
                let assign = |index| crate::program::Statement {
                    kind: StatementKind::AssignIndex(var, index),
                    origin,
                };
                yes.push(assign(a.clone()));
                no.push(assign(b.clone()));
                let atoms = &mut self.tables.atoms;
                let natural = atoms.range(&a).union(atoms.range(&b)).beyond_i64();
                let (a, b) = (atoms.signed(&a), atoms.signed(&b));
                let range = match (one, other) {
                    (Some(one), Some(other)) if !natural => one.union(other),
                    _ => atoms.range(&a).union(atoms.range(&b)),
                };
                let divisor = crate::arith::gcd(atoms.divisor(&a), atoms.divisor(&b)).max(1);
                self.tables.variables[var.0 as usize].kind = VariableKind::Index(Width::of(range));
                let id = atoms.intern(Atom::Variable(var, 0), range, divisor, None);
                let ways = [(true, a), (false, b)].map(|(holds, value)| {
                    let mut facts = Facts::default();
                    facts.assume_condition(atoms, condition, holds);
                    Way { facts: facts.known(), value }
                });
                atoms.select(id, ways);
                let chosen = Index::atom(id);
                Ok(StaticValue::Index(if natural { atoms.natural(&chosen) } else { chosen }))
            }
            (first @ StaticValue::Borrowed(_), second @ StaticValue::Borrowed(_)) => {
                if self.ask_condition(condition) {
                    return Err(Failed);
                }
                // Which place it is is known at run time: what it holds can be read.
                let (first, second) = (self.referent(first, origin)?, self.referent(second, origin)?);
                let value = self.chosen([(first, None), (second, None)], [yes, no], condition, origin)?;
                Ok(StaticValue::Borrowed(Box::new(Binding::Value(value))))
            }
            // Views, layouts and functions are chosen at compile time only.
            (first, second) if !is_number(&first, &second) && self.ask_condition(condition) => Err(Failed),
            (first, second) => {
                let (a, b, elem) = self.unify(first, second, "if", origin)?;
                let var = self.variable("chosen", VariableKind::Elem(elem), true, origin);
                self.decides(var, &[condition, &a, &b], &[]);
                self.push(origin, StatementKind::Let(var, None));
                let assign =
                    |value| crate::program::Statement { kind: StatementKind::Assign(var, value), origin };
                yes.push(assign(a));
                no.push(assign(b));
                Ok(StaticValue::Scalar(Value::Variable(var), elem))
            }
        }
    }
}

/// Whether statements end with leaving the loop around them, or its round.
pub(super) fn leaves(statements: &[TileStatement]) -> bool {
    statements.last().is_some_and(|last| match &last.kind {
        StatementKind::Break | StatementKind::Continue => true,
        StatementKind::If(_, then, otherwise) => leaves(then) && leaves(otherwise),
        _ => false,
    })
}

fn is_number(first: &StaticValue, second: &StaticValue) -> bool {
    let number = |datum: &StaticValue| {
        matches!(
            datum,
            StaticValue::Scalar(..)
                | StaticValue::Float(_)
                | StaticValue::Bool(_)
                | StaticValue::Index(_)
                | StaticValue::Unit
        )
    };
    number(first) && number(second)
}

/// The opposite of a condition. That of a comparison of floats is no other comparison: none holds of NaN.
pub(super) fn negated(condition: Value<TileAccess>) -> Value<TileAccess> {
    match condition {
        Value::Compare(comparison) => {
            Value::Compare(Comparison { op: comparison.op.negated(), ..comparison })
        }
        Value::Unary(UnaryOp::Not, operand) => *operand,
        other => Value::Unary(UnaryOp::Not, Box::new(other)),
    }
}
