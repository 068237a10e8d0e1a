//! Variables: declarations by `let`, and assignments.
//!
//! Law: a mutable name is one variable of the kernel for each number in its value. `let x;` declares variables whose
//! types the first assignment decides; they are declared at the `let`, so their scope is that of Rust.

use super::datum::{Binding, StaticValue};
use super::evaluator::{Evaluator, Failed, Outcome, Owner, TileStatement};
use super::tile::TileAccess;
use crate::elem::{Constant, Elem};
use crate::index::{Index, VarId};
use crate::ir::{Annotation, BinaryOp, ExprId, ExprKind, LocalId, TypeRef};
use crate::origin::Origin;
use crate::program::{MessagePart, Named, NamedValue, Statement, StatementKind, Value, VariableKind};
use std::collections::HashMap;

impl Evaluator<'_> {
    /// Binds a name, from its `let` on.
    pub(super) fn binding(&mut self, id: LocalId, mutable: bool, datum: StaticValue) -> Binding {
        self.part_binding(Owner::of(id), mutable, datum)
    }

    fn part_binding(&mut self, owner: Owner, mutable: bool, datum: StaticValue) -> Binding {
        let kernel = self.kernel;
        let local = &kernel.locals[owner.local.0 as usize];
        if !mutable {
            return Binding::Value(match datum {
                StaticValue::Float(value) => StaticValue::Float(value),
                StaticValue::Borrowed(binding) => return *binding,
                StaticValue::Tuple(parts) if parts.iter().any(StaticValue::refers) => {
                    return Binding::Tuple(
                        parts.into_iter().map(|part| self.part_binding(owner, false, part)).collect(),
                    );
                }
                other => self.hold(&local.name, other, local.origin),
            });
        }
        match datum {
            StaticValue::Index(index) => {
                let width = self.supposed_width(owner);
                let var = self.variable(&local.name, VariableKind::Index(width), true, local.origin);
                self.supposed(owner, var);
                let index = self.taken(owner, &index);
                let range = self.tight(&index);
                self.push(local.origin, StatementKind::LetIndex(var, index));
                self.forget(var);
                self.present.insert(var, range);
                Binding::Index(var)
            }
            StaticValue::Scalar(value, elem) => self.element(&local.name, Some(value), elem, local.origin),
            StaticValue::Bool(value) => {
                let value = Value::Constant(Constant::bool(value));
                self.element(&local.name, Some(value), Elem::Bool, local.origin)
            }
            StaticValue::Float(value) => {
                let first = Constant::float(Elem::F32, value).map(Value::Constant);
                let binding = self.element(&local.name, first, Elem::F32, local.origin);
                if let Binding::Element(var) = binding {
                    self.undecided.insert(var, Some(value));
                }
                binding
            }
            StaticValue::Array(parts) => self.array_binding(owner, parts),
            StaticValue::Borrowed(binding) => *binding,
            StaticValue::Tuple(parts) => {
                let bind = |(number, part)| match self.has_name(&part) {
                    true => Binding::Value(part),
                    false => self.part_binding(owner.part(number), true, part),
                };
                Binding::Tuple(parts.into_iter().enumerate().map(bind).collect())
            }
            other => Binding::Value(self.hold(&local.name, other, local.origin)),
        }
    }

    /// Notes a name that leaves no statement, for what shows a run.
    pub(super) fn note_name(&mut self, id: LocalId, binding: &Binding) {
        let value = match binding {
            Binding::Value(StaticValue::Index(index)) => NamedValue::Index(index.clone()),
            Binding::Value(StaticValue::View(view)) => {
                let Ok(offset) = view.full_offset() else { return };
                let modes =
                    view.modes.iter().map(|mode| [mode.extent.clone(), mode.stride.clone()]).collect();
                let lanes = view.modes.iter().filter(|mode| mode.lanes > 1);
                let vector =
                    lanes.map(|mode| [Index::constant(mode.lanes), mode.lane_stride.clone()]).collect();
                NamedValue::View { place: view.place, offset, modes, vector, swizzle: view.swizzle }
            }
            _ => return,
        };
        let local = &self.kernel.locals[id.0 as usize];
        let (name, origin) = (local.name.clone(), local.origin);
        self.tables.named.push(Named { name, origin, value });
    }

    fn element(
        &mut self,
        name: &str,
        value: Option<Value<TileAccess>>,
        elem: Elem,
        origin: Origin,
    ) -> Binding {
        let var = self.variable(name, VariableKind::Elem(elem), true, origin);
        if let Some(Value::Variable(source)) = &value {
            self.same_type(*source, var);
        }
        self.push(origin, StatementKind::Let(var, value));
        Binding::Element(var)
    }

    /// `let x;`, `let x: f32;`
    pub(super) fn declare(&mut self, local: LocalId, ty: &Annotation, origin: Origin) -> Outcome<()> {
        let name = &self.kernel.locals[local.0 as usize].name;
        let marker = self.variable(name, VariableKind::Elem(Elem::F32), true, origin);
        self.push(origin, StatementKind::Let(marker, None));
        self.later.insert(marker, Vec::new());
        let binding = match ty {
            Annotation::Type(ty) => {
                if *ty == TypeRef::Isize {
                    self.declared_signed.insert(local);
                }
                let elem = self.elem(*ty, origin)?;
                self.late_variable(Owner::of(local), marker, elem, origin)
            }
            Annotation::Any | Annotation::Tuple(_) | Annotation::Array(_) | Annotation::Mutable(_) => {
                Binding::Later(marker)
            }
        };
        self.bindings.insert(local, binding);
        Ok(())
    }

    /// A variable that is declared at a marker: of an element type, or an index.
    fn late_variable(&mut self, owner: Owner, marker: VarId, elem: Option<Elem>, origin: Origin) -> Binding {
        let name = &self.kernel.locals[owner.local.0 as usize].name;
        let kind = elem.map_or(VariableKind::Index(self.supposed_width(owner)), VariableKind::Elem);
        let var = self.variable(name, kind, true, origin);
        self.later.entry(marker).or_default().push(var);
        match elem {
            Some(_) => Binding::Element(var),
            None => {
                self.supposed(owner, var);
                self.forget(var);
                Binding::Index(var)
            }
        }
    }

    /// Binds `let x;`, once its first value is known.
    fn late_binding(
        &mut self,
        owner: Owner,
        marker: VarId,
        value: &StaticValue,
        origin: Origin,
    ) -> Outcome<Binding> {
        let elem = match value {
            StaticValue::Index(_) => None,
            StaticValue::Scalar(_, elem) => Some(*elem),
            StaticValue::Bool(_) => Some(Elem::Bool),
            StaticValue::Float(_) => Some(Elem::F32),
            StaticValue::Tuple(parts) => {
                let parts = parts.iter().enumerate();
                let parts =
                    parts.map(|(number, part)| self.late_binding(owner.part(number), marker, part, origin));
                return Ok(Binding::Tuple(parts.collect::<Outcome<_>>()?));
            }
            StaticValue::Unit => return Ok(Binding::Value(StaticValue::Unit)),
            StaticValue::Unknown => return Err(Failed),
            other => {
                let name = &self.kernel.locals[owner.local.0 as usize].name;
                return self.fail_help(
                    origin,
                    format!("`{name}` is declared without a value and becomes {}", other.kind()),
                    "numbers and truth values, and tuples of them, may come later; bind others where they are known",
                );
            }
        };
        let binding = self.late_variable(owner, marker, elem, origin);
        if let Binding::Element(var) = binding {
            match value {
                StaticValue::Float(_) => drop(self.undecided.insert(var, None)),
                StaticValue::Scalar(Value::Variable(source), _) => self.same_type(*source, var),
                _ => {}
            }
        }
        Ok(binding)
    }

    /// After a branch or a loop that may have given a late index its value nothing is known of it.
    pub(super) fn forget_late(&mut self) {
        let late: Vec<VarId> = self.later.values().flatten().copied().collect();
        for var in late {
            if matches!(self.tables.variable(var).kind, VariableKind::Index(_)) {
                self.forget(var);
            }
        }
    }

    /// The present value of a name.
    pub(super) fn read_binding(&mut self, local: LocalId, binding: &Binding) -> Outcome<StaticValue> {
        let local = &self.kernel.locals[local.0 as usize];
        let (name, origin) = (&local.name, local.origin);
        match binding {
            Binding::Later(_) if local.left => {
                self.never_reached();
                Err(Failed)
            }
            Binding::Later(_) => {
                let message = format!("`{name}` is read before it has a value");
                self.fail_help(origin, message, format!("give it one: `let mut {name} = 0;`"))
            }
            place => self.read_place(place, origin),
        }
    }

    /// What a reference refers to, by value.
    pub(super) fn referent(&mut self, datum: StaticValue, origin: Origin) -> Outcome<StaticValue> {
        match datum {
            StaticValue::Borrowed(place) => self.read_place(&place, origin),
            value => Ok(value),
        }
    }

    fn read_place(&mut self, place: &Binding, origin: Origin) -> Outcome<StaticValue> {
        match place {
            Binding::Value(StaticValue::Unknown) => Err(Failed),
            // Its type may have been found since.
            Binding::Value(StaticValue::Scalar(Value::Variable(var), _)) | Binding::Element(var) => {
                match self.tables.variable(*var).kind {
                    VariableKind::Elem(elem) => Ok(StaticValue::Scalar(Value::Variable(*var), elem)),
                    VariableKind::Index(_) | VariableKind::Pointer(_) => Err(Failed),
                }
            }
            Binding::Value(datum) => Ok(datum.clone()),
            Binding::Index(var) => Ok(StaticValue::Index(self.read_index(*var))),
            Binding::Array(spot) => self.copy_of_spot(spot, origin),
            Binding::Memory(access) => {
                let elem = self.tables.place(access.view.place).elem;
                self.load_of(access.clone(), elem, origin)
            }
            Binding::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.read_place(part, origin));
                Ok(StaticValue::Tuple(parts.collect::<Outcome<_>>()?))
            }
            Binding::Later(_) => Err(Failed),
        }
    }

    /// The variable, or the part of one, that an expression names.
    pub(super) fn named(&self, place: ExprId) -> Option<(LocalId, &Binding)> {
        match &self.kernel.expr(place).kind {
            ExprKind::Local(local) => Some((*local, self.bindings.get(local)?)),
            ExprKind::Field(of, number) => match self.named(*of)? {
                (local, Binding::Tuple(parts)) => Some((local, parts.get(*number as usize)?)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The name without `mut` that a place is a part of.
    fn root(&self, place: ExprId) -> Option<String> {
        match &self.kernel.expr(place).kind {
            ExprKind::Local(local) => {
                let own = &self.kernel.locals[local.0 as usize];
                (!own.mutable).then(|| own.name.clone())
            }
            ExprKind::Field(of, _) | ExprKind::Element(of, _) => self.root(*of),
            _ => None,
        }
    }

    pub(super) fn assign(
        &mut self,
        place: ExprId,
        op: Option<BinaryOp>,
        value: ExprId,
        origin: Origin,
    ) -> Outcome<()> {
        let kernel = self.kernel;
        match &kernel.expr(place).kind {
            ExprKind::Local(_) | ExprKind::Field(..) | ExprKind::Element(..) => {
                if let Some(spot) = self.spot_behind(value, place, origin) {
                    let (value, spot) = spot?;
                    return self.assign_spot(&spot, op, value, origin);
                }
                let complemented = op.and_then(|op| self.complemented(op, value));
                let value = self.expr(complemented.unwrap_or(value))?;
                let value = match op {
                    Some(op) => {
                        let old = self.expr(place)?;
                        match complemented {
                            Some(_) => self.and_not(old, value, origin)?,
                            None => self.binary(op, old, value, origin)?,
                        }
                    }
                    None => value,
                };
                match self.named(place).map(|(local, binding)| (local, binding.clone())) {
                    Some((local, Binding::Later(marker))) => {
                        let binding = self.late_binding(Owner::of(local), marker, &value, origin)?;
                        self.bindings.insert(local, binding.clone());
                        self.assign_to(local, &binding, value, origin)
                    }
                    Some((local, binding)) => self.assign_to(local, &binding, value, origin),
                    None => {
                        // Of a name whose own error is reported nothing more is.
                        self.expr(place)?;
                        match self.root(place) {
                            Some(name) => self.fail_help(
                                origin,
                                format!("`{name}` is not mutable, so no part of it can be assigned"),
                                format!("declare it as `let mut {name}`"),
                            ),
                            None => self.fail_help(
                                origin,
                                "this cannot be assigned",
                                "bind a new name: `let next = ..;`",
                            ),
                        }
                    }
                }
            }
            ExprKind::Index(view, coordinates) => {
                // As in Rust: the value first, then the place.
                let from = value;
                let mut operands = self.exprs(&[&[value, *view], &coordinates[..]].concat())?.into_iter();
                let value = operands.next().unwrap_or(StaticValue::Unknown);
                let view = operands.next().unwrap_or(StaticValue::Unknown);
                let (access, elem) = self.place(view, (coordinates, operands.collect()), origin)?;
                // What runs after all is refused where the access is checked.
                self.runs_in_registers(&access)?;
                let value = match op {
                    None => StaticValue::Scalar(self.coerce(value, elem, self.origin(from))?, elem),
                    Some(_) => value,
                };
                self.store((access, elem), op, value, origin)
            }
            _ => {
                self.fail_help(origin, "this cannot be assigned", "assign a `let mut` name or `view[[i, j]]`")
            }
        }
    }

    /// Gives the variables of a name their next values.
    fn assign_to(
        &mut self,
        local: LocalId,
        binding: &Binding,
        value: StaticValue,
        origin: Origin,
    ) -> Outcome<()> {
        let name = &self.kernel.locals[local.0 as usize].name;
        match (binding, value) {
            (Binding::Element(var), value) => {
                let var = *var;
                let VariableKind::Elem(elem) = self.tables.variable(var).kind else {
                    return Err(Failed);
                };
                let value = match (value, self.undecided.contains_key(&var)) {
                    // A literal decides nothing; `settle` gives it the type that is found.
                    (StaticValue::Float(literal), true) => match Constant::float(Elem::F64, literal) {
                        Some(literal) => Value::Constant(literal),
                        None => return Err(Failed),
                    },
                    (value, true) => {
                        let elem = match &value {
                            StaticValue::Scalar(_, found) if found.is_float() => *found,
                            _ => elem,
                        };
                        self.decide(var, elem);
                        self.coerce(value, elem, origin)?
                    }
                    (value, false) => self.coerce(value, elem, origin)?,
                };
                self.push(origin, StatementKind::Assign(var, value));
                Ok(())
            }
            (Binding::Index(var), value) => {
                let index = self.expect_index(value, origin)?;
                // That of a `&mut` is another's.
                let owner = self.owners.get(var).copied().unwrap_or(Owner::of(local));
                let index = self.taken(owner, &index);
                let range = self.tight(&index);
                self.push(origin, StatementKind::AssignIndex(*var, index));
                self.forget(*var);
                self.present.insert(*var, range);
                Ok(())
            }
            (Binding::Array(spot), value) => self.assign_spot(spot, None, value, origin),
            (Binding::Memory(access), value) => {
                let elem = self.tables.place(access.view.place).elem;
                self.runs_in_registers(access)?;
                self.store((access.clone(), elem), None, value, origin)
            }
            (Binding::Value(StaticValue::Unit), StaticValue::Unit) => Ok(()),
            (Binding::Tuple(parts), StaticValue::Tuple(values)) if parts.len() == values.len() => {
                // Every value is read before the first part changes.
                let values: Vec<StaticValue> =
                    values.into_iter().map(|value| self.hold(name, value, origin)).collect();
                for (part, value) in parts.iter().zip(values) {
                    self.assign_to(local, part, value, origin)?;
                }
                Ok(())
            }
            (_, StaticValue::Unknown) | (Binding::Value(StaticValue::Unknown) | Binding::Later(_), _) => {
                Err(Failed)
            }
            (Binding::Tuple(parts), value) => {
                let message =
                    format!("`{name}` is a tuple of {} and cannot be {}", parts.len(), value.kind());
                self.fail_help(origin, message, "assign a tuple of as many parts, or one part: `pair.0 = x;`")
            }
            (Binding::Value(datum), _) => {
                let message = format!("`{name}` is {} and cannot be assigned", datum.kind());
                let help = "bind a new name, or write through an index: `view[[i, j]] = x`";
                self.fail_help(origin, message, help)
            }
        }
    }

    /// `place = value`, `place += value` of an element.
    pub(super) fn store(
        &mut self,
        (access, elem): (TileAccess, Elem),
        op: Option<BinaryOp>,
        value: StaticValue,
        origin: Origin,
    ) -> Outcome<()> {
        let place = self.tables.place(access.view.place).name.clone();
        if !access.view.mutable {
            return self.fail_help(
                origin,
                format!("`{place}` is not mutable"),
                format!("make the argument `&mut`: `{place}: &mut LayoutTensor<..>`"),
            );
        }
        let value = match op {
            Some(op) => {
                let old = StaticValue::Scalar(Value::Load(Box::new(access.clone())), elem);
                self.binary(op, old, value, origin)?
            }
            None => value,
        };
        let value = self.coerce(value, elem, origin)?;
        self.push(origin, StatementKind::Store(access, value));
        Ok(())
    }

    /// Settles the type of a float variable whose first value was a literal, and of those that are its copies or whose copy
    /// it is.
    pub(super) fn decide(&mut self, var: VarId, elem: Elem) {
        let mut found = vec![var];
        while let Some(var) = found.pop() {
            let Some(first) = self.undecided.remove(&var) else { continue };
            self.tables.variables[var.0 as usize].kind = VariableKind::Elem(elem);
            self.decided.extend(first.map(|first| (var, first, elem)));
            for (source, copy) in &self.copies {
                match var {
                    _ if var == *source => found.push(*copy),
                    _ if var == *copy => found.push(*source),
                    _ => {}
                }
            }
        }
    }

    /// `copy` has the type of `source`, once that is known.
    pub(super) fn same_type(&mut self, source: VarId, copy: VarId) {
        if self.undecided.contains_key(&source) {
            self.undecided.insert(copy, None);
            self.copies.push((source, copy));
        }
    }
}

/// Places what was decided late: literals get the type of their variable, and `let x;` its declarations.
pub(super) fn settle(
    body: &mut Vec<TileStatement>,
    kinds: &impl Fn(VarId) -> VariableKind,
    decided: &[(VarId, f64, Elem)],
    later: &HashMap<VarId, Vec<VarId>>,
) {
    let mut out = Vec::with_capacity(body.len());
    for mut statement in std::mem::take(body) {
        let origin = statement.origin;
        match &mut statement.kind {
            StatementKind::Let(marker, None) if later.contains_key(marker) => {
                out.extend(later[marker].iter().map(|var| {
                    let kind = match kinds(*var) {
                        VariableKind::Elem(_) => StatementKind::Let(*var, None),
                        VariableKind::Index(_) | VariableKind::Pointer(_) => {
                            StatementKind::LetIndex(*var, Index::constant(0))
                        }
                    };
                    Statement { kind, origin }
                }));
                continue;
            }
            StatementKind::Let(var, value) => {
                if let Some((_, first, elem)) = decided.iter().find(|(known, ..)| known == var) {
                    *value = Constant::float(*elem, *first).map(Value::Constant);
                }
            }
            StatementKind::Assign(var, Value::Constant(constant)) => {
                if let VariableKind::Elem(elem) = kinds(*var)
                    && elem != constant.elem
                    && let Some(settled) = Constant::float(elem, constant.as_f64())
                {
                    *constant = settled;
                }
            }
            StatementKind::Print(message) | StatementKind::Assert { message, .. } => {
                for part in &mut message.parts {
                    if let MessagePart::Value(Value::Variable(var), elem, _) = part
                        && let VariableKind::Elem(settled) = kinds(*var)
                    {
                        *elem = settled;
                    }
                }
            }
            StatementKind::For { body, .. } | StatementKind::While(_, body) => {
                settle(body, kinds, decided, later);
            }
            StatementKind::If(_, then, otherwise) => {
                settle(then, kinds, decided, later);
                settle(otherwise, kinds, decided, later);
            }
            _ => {}
        }
        out.push(statement);
    }
    *body = out;
}
