//! Statements.

use super::array::MAX_COMPARED;
use super::constant;
use super::datum::{Binding, StaticValue};
use super::evaluator::{Evaluator, Failed, Outcome, TileStatement};
use super::expression::leaves;
use super::induction::Induction;
use crate::arith::gcd;
use crate::elem::{Constant, Elem};
use crate::index::{Atom, Atoms, Index, Range, VarId, Width};
use crate::ir::{
    Annotation, Block, ExprId, LocalId, Pattern, Statement, StatementKind as Ast, TypeRef, UnaryOp,
};
use crate::origin::Origin;
use crate::program::{StatementKind, Value, VariableKind};

/// The most rounds of an `unroll`.
const MAX_UNROLL: i64 = 4096;

/// The rounds of a loop.
fn rounds(first: i64, last: i64, step: i64) -> i64 {
    let span = last.saturating_sub(first).max(0);
    span / step + i64::from(span % step != 0)
}

/// Whether a loop's body ends with `break`, and leaves its round nowhere else.
fn once(body: &[TileStatement]) -> bool {
    fn stays(statement: &TileStatement) -> bool {
        match &statement.kind {
            StatementKind::Break | StatementKind::Continue => false,
            StatementKind::If(_, then, otherwise) => then.iter().chain(otherwise).all(stays),
            // Those of loops inside are their own.
            _ => true,
        }
    }
    match body.split_last() {
        Some((last, rest)) => matches!(last.kind, StatementKind::Break) && rest.iter().all(stays),
        None => false,
    }
}

/// Whether a `break` of the loop is in its body.
fn breaks(body: &[TileStatement]) -> bool {
    body.iter().any(|statement| match &statement.kind {
        StatementKind::Break => true,
        StatementKind::If(_, then, otherwise) => breaks(then) || breaks(otherwise),
        // Those of loops inside are their own.
        _ => false,
    })
}

/// Whether the length of `first..last` is a number of 64 bits though it be negative, and what is below `last` is one too.
fn wide_enough(first: Range, last: Range) -> bool {
    (last.low - first.high.max(0)) > i128::from(i64::MIN)
}

/// What divides each value of a loop's variable: of the step that which divides the first value, too.
fn kept(atoms: &Atoms, first: &Index, step: i64) -> i64 {
    // The largest of the number, its half, the half of that..
    let half = |of: i64| {
        let mut parts = std::iter::successors(Some(of), |part| (part % 2 == 0).then_some(part / 2));
        parts.find(|part| *part > 1 && atoms.divides(first, *part)).unwrap_or(1)
    };
    // .. and the same of its largest power of two: 24 keeps 8 where 24, 12, 6 and 3 do not divide.
    let (of_step, of_power) = (half(step), half(step & step.wrapping_neg()));
    let both = of_step / gcd(of_step, of_power) * of_power;
    both.max(gcd(atoms.divisor(first), step))
}

/// A loop that counts its rounds: its step is known at launch, or its counter might leave 64 bits.
struct Counted<'k> {
    local: LocalId,
    of: Option<Elem>,
    body: &'k Block,
    reversed: bool,
    /// Of the loop's variable.
    range: Range,
    /// What the body assigns, and what is assumed of it at the loop's head.
    changed: Vec<VarId>,
    modular_bounds: Vec<(VarId, i64)>,
    inductions: Vec<Induction>,
}

impl Evaluator<'_> {
    pub(super) fn statement(&mut self, statement: &Statement) -> Outcome<()> {
        let origin = statement.origin;
        match &statement.kind {
            Ast::Let { pattern, ty, value, constant } => {
                if let (Pattern::Local(local), Annotation::Type(TypeRef::Isize)) = (pattern, ty) {
                    self.declared_signed.insert(*local);
                }
                let of_value = self.origin(*value);
                let datum = self.expr(*value).and_then(|datum| self.ascribe(datum, ty, of_value));
                let datum = match datum {
                    Ok(datum) if *constant => self.require_constant(datum, origin),
                    other => other,
                };
                if let Pattern::Local(local) = pattern
                    && !self.kernel.locals[local.0 as usize].mutable
                    && self.is_written(*value)
                {
                    self.written.insert(*local);
                }
                let failed = datum.is_err();
                self.bind(pattern, datum.unwrap_or(StaticValue::Unknown), origin);
                if failed { Err(Failed) } else { Ok(()) }
            }
            Ast::Declare { local, ty } => self.declare(*local, ty, origin),
            Ast::Assign { place, op, value } => self.assign(*place, *op, *value, origin),
            Ast::Expr(value) => self.expr(*value).map(|_| ()),
            Ast::For { local, start, end, closed, step, unroll, reversed, body } => {
                self.for_loop(*local, (*start, *end, *closed, *step), *unroll, *reversed, body, origin)
            }
            Ast::While { condition, body } => self.while_loop(*condition, body, origin),
            Ast::Break | Ast::Continue if self.loops == 0 => {
                self.fail(origin, "`break` and `continue` must be in a loop of the same function")
            }
            Ast::Break => {
                self.push(origin, StatementKind::Break);
                Ok(())
            }
            Ast::Continue => {
                let modular_bounds = self.heads.last().cloned().unwrap_or_default();
                self.check_back_edge(&modular_bounds);
                self.push(origin, StatementKind::Continue);
                Ok(())
            }
            Ast::Print(format) => {
                let message = self.message(format, origin)?;
                self.push(origin, StatementKind::Print(message));
                Ok(())
            }
            Ast::Assert { kind, condition, message } => self.asserted(*kind, *condition, message, origin),
        }
    }

    /// The datum as the type that is written.
    pub(super) fn ascribe(
        &mut self,
        datum: StaticValue,
        ty: &Annotation,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let ty = match (ty, datum) {
            (Annotation::Any, datum) => return Ok(datum),
            (Annotation::Type(ty), datum) => return self.ascribe_type(datum, *ty, origin),
            (Annotation::Tuple(types), StaticValue::Tuple(parts)) if types.len() == parts.len() => {
                let parts = parts.into_iter().zip(types).map(|(part, ty)| self.ascribe(part, ty, origin));
                return Ok(StaticValue::Tuple(parts.collect::<Outcome<_>>()?));
            }
            (Annotation::Array(ty), StaticValue::Array(parts)) => {
                let parts = parts.into_iter().map(|part| self.ascribe(part, ty, origin));
                return Ok(StaticValue::Array(parts.collect::<Outcome<_>>()?));
            }
            (Annotation::Mutable(_) | Annotation::Tuple(_), StaticValue::Borrowed(binding)) => {
                return Ok(StaticValue::Borrowed(binding));
            }
            (Annotation::Mutable(_), StaticValue::View(view)) => return Ok(StaticValue::View(view)),
            (Annotation::Tuple(_) | Annotation::Array(_) | Annotation::Mutable(_), StaticValue::Unknown) => {
                return Err(Failed);
            }
            (Annotation::Mutable(_), other) => {
                let message = format!("a `&mut` is expected, found {}", other.kind());
                return self.fail_help(
                    origin,
                    message,
                    "declare it as `let mut x` and hand it on as `&mut x`",
                );
            }
            (Annotation::Tuple(_), other) => (other, "a tuple"),
            (Annotation::Array(_), other) => (other, "an array"),
        };
        self.fail(origin, format!("expected {}, found {}", ty.1, ty.0.kind()))
    }

    fn ascribe_type(&mut self, datum: StaticValue, ty: TypeRef, origin: Origin) -> Outcome<StaticValue> {
        if self.is_open(ty) {
            return Ok(datum);
        }
        match (self.elem(ty, origin)?, datum) {
            (_, StaticValue::View(view)) => Ok(StaticValue::View(view)),
            (None, datum) => Ok(StaticValue::Index(self.expect_index(datum, origin)?)),
            (Some(Elem::Bool), datum @ StaticValue::Bool(_)) => Ok(datum),
            (Some(elem), datum) => Ok(StaticValue::Scalar(self.coerce(datum, elem, origin)?, elem)),
        }
    }

    fn require_constant(&mut self, datum: StaticValue, origin: Origin) -> Outcome<StaticValue> {
        let datum = match datum {
            StaticValue::Scalar(value, elem) => {
                let known = constant::known(&value);
                StaticValue::Scalar(known.map_or(value, Value::Constant), elem)
            }
            datum => datum,
        };
        let known = match &datum {
            StaticValue::Index(index) => index.as_constant().is_some(),
            StaticValue::Scalar(value, _) => matches!(value, Value::Constant(_)),
            StaticValue::Float(_) | StaticValue::Bool(_) | StaticValue::Layout(_) | StaticValue::Unknown => {
                true
            }
            StaticValue::Tuple(_)
            | StaticValue::Array(_)
            | StaticValue::TensorCore(_)
            | StaticValue::Function(..) => true,
            StaticValue::Unit
            | StaticValue::View(_)
            | StaticValue::Barriers(..)
            | StaticValue::Barrier(_)
            | StaticValue::Pipeline(..)
            | StaticValue::Borrowed(_) => false,
        };
        match &datum {
            _ if known => return Ok(datum),
            StaticValue::Index(index) if self.ask(&[index]) => return Err(Failed),
            _ => {}
        }
        self.fail_help(origin, "the value of a `const` is not known at compile time", "use `let`")
    }

    fn bind(&mut self, pattern: &Pattern, datum: StaticValue, origin: Origin) {
        match (pattern, datum) {
            (Pattern::Wildcard, _) => {}
            (Pattern::Local(local), datum) => {
                let mutable = self.kernel.locals[local.0 as usize].mutable;
                let binding = self.binding(*local, mutable, datum);
                self.note_name(*local, &binding);
                self.bindings.insert(*local, binding);
            }
            (Pattern::Tuple(patterns), StaticValue::Tuple(parts) | StaticValue::Array(parts))
                if patterns.len() == parts.len() =>
            {
                for (pattern, part) in patterns.iter().zip(parts) {
                    self.bind(pattern, part, origin);
                }
            }
            (Pattern::Tuple(patterns), StaticValue::Borrowed(binding)) => {
                let parts = match *binding {
                    Binding::Tuple(parts) => parts,
                    Binding::Array(spot) => spot.parts().into_iter().map(Binding::Array).collect(),
                    other => vec![other],
                };
                let parts = parts.into_iter().map(|part| StaticValue::Borrowed(Box::new(part)));
                self.bind(&Pattern::Tuple(patterns.clone()), StaticValue::Tuple(parts.collect()), origin);
            }
            (Pattern::Tuple(patterns), datum) => {
                if !matches!(datum, StaticValue::Unknown) {
                    let parts = match &datum {
                        StaticValue::Tuple(parts) | StaticValue::Array(parts) => {
                            format!(" of {}", parts.len())
                        }
                        _ => String::new(),
                    };
                    let message =
                        format!("a pattern of {} names for {}{parts}", patterns.len(), datum.kind());
                    let help = "name each part, or `_`: `let (a, _) = pair;`";
                    let _ = self.fail_help::<()>(origin, message, help);
                }
                for pattern in patterns {
                    self.bind(pattern, StaticValue::Unknown, origin);
                }
            }
        }
    }

    fn for_loop(
        &mut self,
        local: LocalId,
        (start, end, closed, step): (ExprId, ExprId, bool, Option<ExprId>),
        unroll: bool,
        reversed: bool,
        body: &Block,
        origin: Origin,
    ) -> Outcome<()> {
        // The element type of a range such as `0..n` with an `n` of type i32.
        let mut of = None;
        let header = self.header((start, end, closed, step), unroll, &mut of, origin);
        // A step that is known at launch: the loop counts rounds.
        let mut stride = header.as_ref().ok().and_then(|header| header.3.clone());
        let (first, last, step) = match &header {
            Ok((s, e, step, _)) => (s.clone(), e.clone(), *step),
            // The body is still evaluated, for its own errors.
            Err(Failed) => (Index::constant(0), Index::constant(1), 1),
        };
        let changed = self.assigned_indices(None, &[body]);
        let atoms = &mut self.tables.atoms;
        let (first, mut last) = (atoms.signed(&first), atoms.signed(&last));
        let far = !wide_enough(atoms.range(&first), atoms.range(&last));
        if !unroll && stride.is_none() && self.leaves_64_bits(&first, &last, step, reversed) {
            stride = Some(Index::constant(step));
        }
        if far && reversed && stride.is_none() {
            // Rounds are counted from the end: not where the end is far below the start.
            let end = self.tables.atoms.extremum(&last, &first, true);
            last = self.index(origin, end)?;
        }
        let (modular_bounds, inductions) = self.enter_counted(&changed, body, (&first, &last, step));
        let atoms = &self.tables.atoms;
        let (low, end) = (atoms.range(&first).low, atoms.range(&last).high);
        let mut high = end - 1;
        if first.as_constant().is_some() && high > low {
            // The last round of `(0..32).step_by(8)` is 24.
            high -= (high - low) % i128::from(step);
        }
        let range = Range::new(low, high.max(low));
        if let Some(stride) = stride {
            header?;
            let counted = Counted { local, of, body, reversed, range, changed, modular_bounds, inductions };
            return self.strided_loop(counted, (first, last, stride), origin);
        }
        let divisor = kept(atoms, &first, step);
        let kernel = self.kernel;
        let name = kernel.locals[local.0 as usize].name.clone();
        let width = Width::of(self.held(&first, &last, step, reversed).union(range));
        let var = self.variable(&name, VariableKind::Index(width), false, origin);
        let atom = Index::atom(self.tables.atoms.intern(Atom::Variable(var, 0), range, divisor, None));
        let facts = self.assume_counted(&atom, &first, &last);
        let counted = match of {
            None => StaticValue::Index(atom),
            Some(elem) => StaticValue::Scalar(Value::Index(atom, elem), elem),
        };
        self.bindings.insert(local, Binding::Value(counted));
        self.loops += 1;
        self.unrolls.extend(unroll.then_some(var));
        self.heads.push(modular_bounds.clone());
        let known = match (first.as_constant(), last.as_constant()) {
            _ if end <= low => Some(0),
            (Some(first), Some(last)) if !self.leaves(body) => Some(rounds(first, last, step)),
            _ => None,
        };
        let evaluated = match (first.as_constant(), last.as_constant()) {
            (Some(first), Some(last))
                if header.is_ok()
                    && (unroll || self.has_elements && rounds(first, last, step) <= MAX_COMPARED) =>
            {
                let count = rounds(first, last, step);
                let place = move |round: i64| first + step * if reversed { count - 1 - round } else { round };
                let head = (local, var, of, unroll);
                self.rounds_of_loop(var, known, |this| this.unrolled_body(head, body, (0..count).map(place)))
            }
            _ => self.rounds_of_loop(var, known, |this| Some(this.round(body))),
        };
        self.loops -= 1;
        self.facts.truncate(facts);
        self.unrolls.retain(|known| *known != var);
        self.heads.pop();
        self.forget_late();
        // Behind rounds that are written out everything is as the last one left it.
        if evaluated.is_some() {
            changed.iter().for_each(|var| self.forget(*var));
        }
        header?;
        let Some((body, result)) = evaluated else { return Ok(()) };
        result?;
        self.behind(&modular_bounds, &inductions, &body);
        let kind =
            StatementKind::For { variable: var, start: first, end: last, step, unroll, reversed, body };
        self.push(origin, kind);
        Ok(())
    }

    /// The ends of a range, its step, and a step that is known at launch.
    fn header(
        &mut self,
        (start, end, closed, step): (ExprId, ExprId, bool, Option<ExprId>),
        unroll: bool,
        of: &mut Option<Elem>,
        origin: Origin,
    ) -> Outcome<(Index, Index, i64, Option<Index>)> {
        let bounds: Vec<ExprId> = [Some(start), Some(end), step].into_iter().flatten().collect();
        let mut bounds = self.exprs(&bounds)?.into_iter();
        let mut next = || bounds.next().unwrap_or(StaticValue::Unknown);
        let (s, e) = (next(), next());
        if let (StaticValue::Scalar(_, elem), _) | (_, StaticValue::Scalar(_, elem)) = (&s, &e)
            && elem.is_integer()
        {
            *of = Some(*elem);
        }
        let s = self.bound((start, s), *of, origin)?;
        let e = self.bound((end, e), *of, origin)?;
        let e = match closed {
            true => {
                let behind = self.index(origin, e.plus(1))?;
                self.tables.atoms.wrapped(behind)
            }
            false => e,
        };
        let (step, stride) = match step.map(|_| next()) {
            None => (1, None),
            Some(step) => self.step(step, unroll, origin)?,
        };
        if unroll {
            self.few_rounds(&s, &e, step, origin)?;
        }
        Ok((s, e, step, stride))
    }

    /// The body of a loop that stays one.
    pub(super) fn round(&mut self, body: &Block) -> (Vec<TileStatement>, Outcome<StaticValue>) {
        self.nested(|this| {
            let result = this.block(body);
            this.ended();
            result
        })
    }

    /// Behind a loop that ends at its head only the facts of the head hold still, and what its rounds may have added.
    fn behind(&mut self, modular_bounds: &[(VarId, i64)], inductions: &[Induction], body: &[TileStatement]) {
        if !breaks(body) {
            for (var, count) in modular_bounds {
                self.present.insert(*var, Range::new(0, i128::from(*count) - 1));
            }
        }
        self.behind_inductions(inductions);
    }

    /// At the end of a loop's body.
    fn ended(&mut self) {
        if !leaves(&self.out) {
            let modular_bounds = self.heads.last().cloned().unwrap_or_default();
            self.check_back_edge(&modular_bounds);
        }
    }

    /// The step of a loop: a number, or 1 and what is known at launch.
    fn step(&mut self, step: StaticValue, unroll: bool, origin: Origin) -> Outcome<(i64, Option<Index>)> {
        let step = self.expect_index(step, origin)?;
        match step.as_constant() {
            Some(step) if step > 0 => Ok((step, None)),
            None if self.ask(&[&step]) => Err(Failed),
            None if !unroll => Ok((1, Some(step))),
            Some(step) => self.fail_help(
                origin,
                format!("the step of this loop is {step}; it must be 1 or more"),
                "a loop runs backwards by `(0..n).rev()`",
            ),
            None => self.fail_help(
                origin,
                "the step of this loop must be a positive number known at compile time",
                "leave `unroll` away, or take the step from a parameter of the attribute",
            ),
        }
    }

    /// What a loop's counter holds beside the numbers of its rounds: the bound that it begins at, and the number at which it
    /// ends.
    fn held(&self, first: &Index, last: &Index, step: i64, reversed: bool) -> Range {
        let (first, last) = (self.tables.atoms.range(first), self.tables.atoms.range(last));
        match reversed {
            true => first.add(Range::of(-step)).union(last.add(Range::of(-1))),
            false => first.union(last.add(Range::of(step - 1))),
        }
    }

    /// What `unroll` asks of a range.
    fn few_rounds(&mut self, first: &Index, last: &Index, step: i64, origin: Origin) -> Outcome<()> {
        let (Some(first), Some(last)) = (first.as_constant(), last.as_constant()) else {
            if self.ask(&[first, last]) {
                return Err(Failed);
            }
            return self.fail_help(
                origin,
                "the range of `unroll` is not known at compile time",
                "leave `unroll` away, or take the bound from a parameter of the attribute",
            );
        };
        match (last.saturating_sub(first)).max(0) / step {
            rounds if rounds > MAX_UNROLL => {
                self.fail(origin, format!("`unroll` of {rounds} rounds, at most {MAX_UNROLL} are unrolled"))
            }
            _ => Ok(()),
        }
    }

    /// Whether what a loop's counter holds beside the numbers of its rounds, or what finds the last round, may have more than
    /// 64 bits: then rounds are counted. No launch lives to see 2⁴⁰ of them.
    fn leaves_64_bits(&self, first: &Index, last: &Index, step: i64, reversed: bool) -> bool {
        let (first, last) = (self.tables.atoms.range(first), self.tables.atoms.range(last));
        if step == 1 {
            // Its counter ends at `last`, or below `first`.
            return reversed && first.low == i128::from(i64::MIN);
        }
        let step = i128::from(step);
        !match reversed {
            true => Range::new(first.low - step, last.high.max(last.high - first.low + step - 1)).fits_i64(),
            false => (first.high + (step << 40)).min(last.high + step - 1) <= i128::from(i64::MAX),
        }
    }

    /// `for local in (first..last).step_by(stride)` with a stride of the launch: a loop over rounds.
    fn strided_loop(
        &mut self,
        counted: Counted<'_>,
        (first, last, stride): (Index, Index, Index),
        origin: Origin,
    ) -> Outcome<()> {
        let Counted { local, of, body, reversed, range, changed, modular_bounds, inductions } = counted;
        // Rust stops at a step of zero.
        let stride = self.tables.atoms.extremum(&stride, &Index::constant(1), true);
        let stride = self.index(origin, stride)?;
        let stride = self.unnamed_index("step", &stride, origin);
        let length = |atoms: &Atoms| atoms.range(&last).add(atoms.range(&first).mul(Range::of(-1)));
        let is_far = !length(&self.tables.atoms).fits_i64();
        let all = self.rounds_of((&first, &last, &stride), is_far, origin)?;
        // Of such a length the rounds are counted from the loop's own end.
        let turned = is_far && reversed;
        let all = if turned { self.unnamed_index("rounds", &all, origin) } else { all };
        let rounds = if self.tables.atoms.range(&all).beyond_i64() {
            // No launch lives to see more.
            let rounds = self.tables.atoms.extremum(&all, &Index::constant(i64::MAX), false);
            self.index(origin, rounds)?
        } else {
            all.clone()
        };
        let high = self.tables.atoms.range(&rounds).high;
        let count = Range::new(0, (high - 1).max(0));
        let name = self.kernel.locals[local.0 as usize].name.clone();
        let round = self.unnamed("round", VariableKind::Index(Width::of(count)), false, origin);
        let at = Index::atom(self.tables.atoms.intern(Atom::Variable(round, 0), count, 1, None));
        let place = if is_far {
            // The products leave 64 bits on the way to a number that does not.
            let atoms = &mut self.tables.atoms;
            let count = match turned {
                true => atoms.sum(&all, &at.plus(1).unwrap_or_default(), -1),
                false => Ok(at),
            };
            let place = count.and_then(|count| atoms.product(&count, &stride));
            place.and_then(|place| atoms.sum(&first, &place, 1)).map(|place| atoms.signed(&place))
        } else {
            at.mul(&stride).and_then(|place| first.add(&place))
        };
        let place = self.index(origin, place)?;
        self.loops += 1;
        self.heads.push(modular_bounds.clone());
        let (inside, result) = self.nested(|this| {
            let var = this.variable(&name, VariableKind::Index(Width::of(range)), false, origin);
            this.push(origin, StatementKind::LetIndex(var, place.clone()));
            let atom = Index::atom(this.tables.atoms.intern(Atom::Variable(var, 0), range, 1, None));
            let value = match of {
                None => StaticValue::Index(atom),
                Some(elem) => StaticValue::Scalar(Value::Index(atom, elem), elem),
            };
            this.bindings.insert(local, Binding::Value(value));
            let result = this.sometimes(|this| this.block(body));
            this.ended();
            result
        });
        self.heads.pop();
        self.loops -= 1;
        self.forget_late();
        changed.iter().for_each(|var| self.forget(*var));
        result?;
        self.behind(&modular_bounds, &inductions, &inside);
        let kind = StatementKind::For {
            variable: round,
            start: Index::constant(0),
            end: rounds,
            step: 1,
            unroll: false,
            reversed: reversed && !turned,
            body: inside,
        };
        self.push(origin, kind);
        Ok(())
    }

    /// How many rounds `(first..last).step_by(stride)` has; of a length that no `i64` holds as a number without a sign.
    fn rounds_of(
        &mut self,
        (first, last, stride): (&Index, &Index, &Index),
        is_far: bool,
        origin: Origin,
    ) -> Outcome<Index> {
        let atoms = &mut self.tables.atoms;
        let end = if is_far { atoms.extremum(last, first, true) } else { Ok(last.clone()) };
        let end = self.index(origin, end)?;
        let span = self.tables.atoms.sum(&end, first, -1);
        let span = self.index(origin, span)?;
        let span = match is_far {
            true => self.tables.atoms.natural(&span),
            false => {
                let span = self.tables.atoms.extremum(&span, &Index::constant(0), true);
                self.index(origin, span)?
            }
        };
        let rounds = self.tables.atoms.div_ceil(&span, stride);
        let rounds = self.index(origin, rounds)?;
        // Added to, a quotient is a number with a sign: of that many rounds it is none.
        let atoms = &mut self.tables.atoms;
        Ok(if atoms.range(&rounds).beyond_i64() { atoms.natural(&rounds) } else { rounds })
    }

    /// An end of a loop's range; of an element type where the other end is of one.
    fn bound(
        &mut self,
        (id, datum): (ExprId, StaticValue),
        of: Option<Elem>,
        origin: Origin,
    ) -> Outcome<Index> {
        match (datum, of) {
            (StaticValue::Scalar(Value::Constant(constant), elem), Some(of)) if elem == of => {
                let value = i64::try_from(constant.as_i128()).ok();
                match value {
                    Some(value) => Ok(Index::constant(value)),
                    None => self.fail(origin, "this number is beyond the indices"),
                }
            }
            (datum @ StaticValue::Scalar(..), Some(of)) => {
                let value = self.coerce(datum, of, origin)?;
                Ok(self.index_from_value(value, of, origin))
            }
            (datum, _) => self.expect_index(datum, self.origin(id)),
        }
    }

    fn while_loop(&mut self, condition: ExprId, body: &Block, origin: Origin) -> Outcome<()> {
        let changed = self.assigned_indices(Some(condition), &[body]);
        let (modular_bounds, inductions) = self.enter_while(&changed, (condition, body));
        let (extra, condition) = self.nested(|this| this.condition(condition));
        self.enter_body(&inductions);
        self.loops += 1;
        self.heads.push(modular_bounds.clone());
        let (body, result) = match &condition {
            Ok(Err(value)) => self.under(value, true, |this| this.round(body)),
            Ok(Ok(false)) => self.never(|this| this.round(body)),
            // What a `break` leaves out is left out of this loop alone.
            _ => self.apart(|this| this.round(body)),
        };
        self.heads.pop();
        self.loops -= 1;
        self.forget_late();
        changed.iter().for_each(|var| self.forget(*var));
        let value = match condition? {
            // One round that ends by leaving, and leaves nowhere else, is no loop.
            Ok(true) if once(&body) => {
                result?;
                self.out.extend(extra);
                self.out.extend(body.into_iter().rev().skip(1).rev());
                return Ok(());
            }
            // What it does besides happens once.
            Ok(false) => {
                self.out.extend(extra);
                return Ok(());
            }
            Ok(true) => Value::Constant(Constant::bool(true)),
            Err(value) => value,
        };
        result?;
        if extra.is_empty() {
            self.behind(&modular_bounds, &inductions, &body);
            self.push(origin, StatementKind::While(value, body));
            return Ok(());
        }
        // What the condition does beside its value is done again each round: `loop { extra; if !value { break; } body }`.
        let leave = vec![crate::program::Statement { kind: StatementKind::Break, origin }];
        let test = StatementKind::If(Value::Unary(UnaryOp::Not, Box::new(value)), leave, Vec::new());
        let test = crate::program::Statement { kind: test, origin };
        let round = [extra, vec![test], body].concat();
        self.push(origin, StatementKind::While(Value::Constant(Constant::bool(true)), round));
        Ok(())
    }
}
