//! The state of a specialisation: names, tables, the statements and the errors so far.
//!
//! Invariant: a function that returns [`Failed`] has reported its error, or requested that an unrolled loop be
//! written out, so callers only propagate it. A statement that failed binds its names to [`StaticValue::Unknown`],
//! and a use of such a name fails without an error.

use super::datum::{Binding, StaticValue};
use super::expression::leaves;
use super::outside::Reach;
use super::tile::{TileAccess, TileOperation};
use crate::arch::{Arch, Feature};
use crate::elem::Elem;
use crate::index::{Atom, Index, IndexOverflow, Range, VarId, Width};
use crate::ir::{ExprId, Kernel, LocalId, TypeRef};
use crate::origin::{Errors, KernelError, Origin};
use crate::params::{NARROW_LIMIT, ParamSet, ParamValue, Promises, WIDE_LIMIT};
use crate::program::{Statement, StatementKind, Tables, Value, Variable, VariableKind};
use crate::prove::Facts;
use std::collections::{HashMap, HashSet};

/// A number beyond every tensor. An assignment may add up to [`GROWTH`]; no thread has the time for so many assignments
/// that 64 bits overflow: 2⁴⁰ of them reach 2⁵⁶.
const TAME: i64 = 1 << 51;
/// The most by which an assignment may move an index away from zero.
const GROWTH: i64 = 1 << 16;
/// A number of 32 bits beyond every dimension of a narrow variant, with room for what is added to it.
const SHORT: i64 = i32::MAX as i64 - (1 << 19);

/// A number in the value of a mutable name: a field of a structure has assumptions of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Owner {
    pub local: LocalId,
    /// Which of its numbers. Two that are one share an assumption, which then holds for both.
    part: u32,
}

impl Owner {
    pub(super) fn of(local: LocalId) -> Owner {
        Owner { local, part: 0 }
    }

    /// A part of its value.
    pub(super) fn part(self, number: usize) -> Owner {
        Owner { part: self.part.wrapping_mul(61).wrapping_add(number as u32 + 1), ..self }
    }
}

/// What is assumed of a mutable index. An assignment that breaks it takes the next weaker one; then the evaluation begins
/// anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum IndexAssumption {
    /// It is not negative, and not beyond [`SHORT`].
    #[default]
    Short,
    /// It is not negative, and not beyond 32 bits.
    Word,
    /// It is not negative, and not beyond [`TAME`].
    NonNegative,
    /// It is not further from zero than [`TAME`].
    Bounded,
    /// It may leave 64 bits, and is nowhere known to be negative: it wraps as Rust's `usize`.
    WrapsUnsigned,
    /// It may leave 64 bits, and be negative or is declared as what may be: it wraps as Rust's `isize`.
    WrapsSigned,
}

/// Either the error is reported, or the evaluation will be done again, or there is no value, since the list of statements
/// is left (`leaves`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed;

pub(super) type Outcome<T> = Result<T, Failed>;
pub(super) type TileStatement = Statement<TileAccess, TileOperation>;

/// The place of code that no statement of the user is for.
const NOWHERE: Origin = Origin(u32::MAX);

/// The statements without the marks of [`Evaluator::never_reached`] and the branches that only held one.
pub(super) fn reached(statements: Vec<TileStatement>) -> Vec<TileStatement> {
    let ends = |branch: &[TileStatement]| matches!(branch, [only] if only.origin == NOWHERE);
    let mut out = Vec::with_capacity(statements.len());
    for mut statement in statements {
        if statement.origin == NOWHERE {
            continue;
        }
        match statement.kind {
            StatementKind::If(_, then, otherwise) if ends(&then) => out.extend(reached(otherwise)),
            StatementKind::If(_, then, otherwise) if ends(&otherwise) => out.extend(reached(then)),
            StatementKind::If(condition, then, otherwise) => {
                statement.kind = StatementKind::If(condition, reached(then), reached(otherwise));
                out.push(statement);
            }
            StatementKind::While(condition, body) => {
                statement.kind = StatementKind::While(condition, reached(body));
                out.push(statement);
            }
            StatementKind::For { variable, start, end, step, unroll, reversed, body } => {
                let body = reached(body);
                statement.kind = StatementKind::For { variable, start, end, step, unroll, reversed, body };
                out.push(statement);
            }
            _ => out.push(statement),
        }
    }
    out
}

pub(super) struct Evaluator<'k> {
    pub kernel: &'k Kernel,
    pub params: &'k ParamSet,
    pub promises: Promises,
    /// The architecture that the attribute names.
    pub arch: Option<Arch>,
    pub tables: Tables,
    pub errors: Errors,
    /// The statement list being filled.
    pub out: Vec<TileStatement>,
    pub bindings: HashMap<LocalId, Binding>,
    /// How often each mutable index variable was assigned so far.
    pub versions: HashMap<VarId, u32>,
    /// The last version that was given out.
    pub last_version: u32,
    /// Mutable index variables that stay between 0 and a number.
    pub bounded: HashMap<VarId, i64>,
    /// The index_assumptions of mutable indices that are not [`IndexAssumption::Short`]. They are found one by one; the evaluation begins
    /// anew with each.
    pub index_assumptions: HashMap<Owner, IndexAssumption>,
    /// The range of each mutable index variable, and whether it holds the bits of a `usize`.
    pub ranges: HashMap<VarId, (Range, bool)>,
    /// Those that are declared as `isize`.
    pub declared_signed: HashSet<LocalId>,
    /// The indices that each variable's value is computed of, where it is of nothing else.
    pub deciding: HashMap<VarId, Vec<Index>>,
    /// Names of numbers as they are written.
    pub written: HashSet<LocalId>,
    /// The intervals of element variables that do not change, where they are less than their type's.
    pub intervals: HashMap<VarId, Range>,
    /// The interval of each mutable index as it is now, where it is known.
    pub present: HashMap<VarId, Range>,
    /// For mutable indices that wrap around, the number below which they stay at the heads of loops; `None` where they do
    /// not. They are found one by one; the evaluation begins anew with each.
    pub modular_bounds: HashMap<Owner, Option<i64>>,
    /// For each loop around, the indices that are assumed to wrap around at its head.
    pub heads: Vec<Vec<(VarId, i64)>>,
    /// What each mutable index variable was made for.
    pub owners: HashMap<VarId, Owner>,
    /// What the type parameters of the nested functions around represent, by their places in [`Kernel::own_types`].
    pub own_types: Vec<Option<Elem>>,
    /// Whether the kernel names elements of arrays at all.
    pub has_elements: bool,
    /// The locals that closures change.
    pub captured: Vec<LocalId>,
    /// What the conditions around say of indices.
    pub facts: Facts,
    /// The names that `assume` gave another value in the blocks around, with their value before.
    pub narrowed: Vec<(LocalId, Binding)>,
    /// Float variables whose type is still open, with their first value where it is a literal.
    pub undecided: HashMap<VarId, Option<f64>>,
    /// Those of one type: the second is a copy of the first.
    pub copies: Vec<(VarId, VarId)>,
    /// Those whose type was found, with their first value.
    pub decided: Vec<(VarId, f64, Elem)>,
    /// For each `let x;` the variables that it became: they are declared where it is.
    pub later: HashMap<VarId, Vec<VarId>>,
    /// A promised divisor of each dimension.
    pub dim_divisors: Vec<i64>,
    /// Each dimension as an index.
    pub dims: Vec<Index>,
    pub arguments: Vec<StaticValue>,
    /// The extents of arguments that are expressions over dimensions, with their text.
    pub computed: Vec<(Index, String)>,
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    /// Whether all blocks of the grid run at the same time.
    pub cooperative: bool,
    pub grid: Option<[Index; 3]>,
    pub shared_bytes: u64,
    /// The most that the architecture has.
    pub shared_limit: u64,
    /// The variables of the unrolled loops around that are still variables, the outermost first; and of those that an
    /// element of an array may ask to unroll.
    pub unrolled: Vec<(VarId, bool)>,
    /// The variables of the loops around under `unroll`, also of those that a `break` leaves.
    pub unrolls: Vec<VarId>,
    /// The one of them that must be a number: its loop is written out.
    pub asked: Option<VarId>,
    /// Loops around the current statement, and nested calls.
    pub loops: u32,
    pub calls: u32,
    /// Loops around the calls.
    pub rounds: u32,
    pub reach: Reach,
    /// Whether the range of a value decided a comparison of the body.
    pub decided_by_range: bool,
    /// Whether the current code is outside the kernel's body (attribute entries): nothing may be emitted.
    pub host: bool,
    /// The number of evaluated expressions: a limit for kernels that grow without bound.
    pub budget: u32,
}

impl Evaluator<'_> {
    /// Reports an error.
    pub(super) fn fail<T>(&mut self, origin: Origin, message: impl Into<String>) -> Outcome<T> {
        self.errors.push(KernelError { message: message.into(), help: None, origin });
        Err(Failed)
    }

    /// Reports an error with a way out.
    pub(super) fn fail_help<T>(
        &mut self,
        origin: Origin,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Outcome<T> {
        self.errors.push(KernelError { message: message.into(), help: Some(help.into()), origin });
        Err(Failed)
    }

    /// The result of index arithmetic, or its error.
    pub(super) fn index<T>(&mut self, origin: Origin, result: Result<T, IndexOverflow>) -> Outcome<T> {
        match result {
            Ok(value) => Ok(value),
            Err(IndexOverflow) => self.fail(origin, "index arithmetic leaves the range of 64 bits"),
        }
    }

    pub(super) fn origin(&self, id: ExprId) -> Origin {
        self.kernel.expr(id).origin
    }

    /// Adds a statement; behind one that leaves the list nothing is added.
    pub(super) fn push(&mut self, origin: Origin, kind: StatementKind<TileAccess, TileOperation>) {
        if !leaves(&self.out) {
            self.out.push(Statement { kind, origin });
        }
    }

    /// Marks that the code behind is never reached, by a `break` that [`reached`] removes.
    pub(super) fn never_reached(&mut self) {
        self.push(NOWHERE, StatementKind::Break);
    }

    /// Runs `body` with an empty statement list, and gives the filled list.
    pub(super) fn nested<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> (Vec<TileStatement>, T) {
        let outer = std::mem::take(&mut self.out);
        let value = body(self);
        (std::mem::replace(&mut self.out, outer), value)
    }

    pub(super) fn variable(
        &mut self,
        name: &str,
        kind: VariableKind,
        mutable: bool,
        origin: Origin,
    ) -> VarId {
        let id = VarId(self.tables.variables.len() as u32);
        self.tables.variables.push(Variable { name: name.to_owned(), kind, mutable, origin, unnamed: false });
        id
    }

    /// A variable for a value that the user's program has no name for; a `let` may give it one.
    pub(super) fn unnamed(&mut self, name: &str, kind: VariableKind, mutable: bool, origin: Origin) -> VarId {
        let var = self.variable(name, kind, mutable, origin);
        self.tables.variables[var.0 as usize].unnamed = true;
        var
    }

    /// An index as it is now, which the user's program has no name for.
    pub(super) fn unnamed_index(&mut self, name: &str, index: &Index, origin: Origin) -> Index {
        let first = self.tables.variables.len();
        let copy = self.name_index(name, index, origin);
        self.tables.variables[first..].iter_mut().for_each(|variable| variable.unnamed = true);
        copy
    }

    /// The largest dimension of this variant.
    pub(super) fn limit(&self) -> i64 {
        if self.promises.narrow { NARROW_LIMIT } else { WIDE_LIMIT }
    }

    /// Whether a type is a nested function's own of which no argument determines what it is.
    pub(super) fn is_open(&self, ty: TypeRef) -> bool {
        let TypeRef::Parameter(number) = ty else { return false };
        let own = (number as usize).checked_sub(self.kernel.types.len());
        own.is_some_and(|own| matches!(self.own_types.get(own), Some(None)))
    }

    /// The element type that a type is for; `None` for `usize` and `isize`. An architecture that the kernel names has
    /// its conversions.
    pub(super) fn elem(&mut self, ty: TypeRef, origin: Origin) -> Outcome<Option<Elem>> {
        let elem = self.named_elem(ty, origin)?;
        if let (Some(elem), Some(_)) = (elem, self.arch)
            && let Some(feature) = Feature::of(elem)
        {
            self.needs(elem.name(), feature, origin)?;
        }
        Ok(elem)
    }

    fn named_elem(&mut self, ty: TypeRef, origin: Origin) -> Outcome<Option<Elem>> {
        match ty {
            TypeRef::Elem(elem) => Ok(Some(elem)),
            TypeRef::Usize | TypeRef::Isize => Ok(None),
            TypeRef::Parameter(number) if number as usize >= self.kernel.types.len() => {
                let own = number as usize - self.kernel.types.len();
                match self.own_types.get(own) {
                    Some(Some(elem)) => Ok(Some(*elem)),
                    _ => {
                        let name = self.kernel.own_types.get(own).cloned().unwrap_or_default();
                        self.fail_help(
                            origin,
                            format!("no argument determines the type `{name}`"),
                            format!(
                                "write a parameter of its elements: `x: View<{name}, Read>` or `x: {name}`"
                            ),
                        )
                    }
                }
            }
            TypeRef::Parameter(number) => {
                let name = self.kernel.types.get(number as usize).cloned().unwrap_or_default();
                match self.params.get(&name) {
                    Some(ParamValue::Type(elem)) => Ok(Some(elem)),
                    _ => self.fail_help(
                        origin,
                        format!("type parameter `{name}` is not bound to an element type"),
                        format!("bind it in the attribute: `{name} = f32`"),
                    ),
                }
            }
        }
    }

    /// A name for an index: an atom with that definition, and its `LetIndex`. A number needs none, nor does a name for
    /// something that does not change.
    pub(super) fn name_index(&mut self, name: &str, index: &Index, origin: Origin) -> Index {
        let atoms = &self.tables.atoms;
        let plain = index.as_atom().is_some_and(|id| atoms.atom(id).is_leaf() && !atoms.may_be_assigned(id));
        if self.host || index.as_constant().is_some() || plain {
            return index.clone();
        }
        // A variable is signed: what is beyond is read from it as natural again.
        let held = self.tables.atoms.signed(index);
        let range = self.tables.atoms.range(&held);
        let divisor = self.tables.atoms.divisor(&held);
        let kind = VariableKind::Index(Width::of(range));
        let var = self.variable(name, kind, false, origin);
        self.push(origin, StatementKind::LetIndex(var, held.clone()));
        let atoms = &mut self.tables.atoms;
        let natural = held != *index;
        let atom = Index::atom(atoms.intern(Atom::Variable(var, 0), range, divisor.max(1), Some(held)));
        if natural { atoms.natural(&atom) } else { atom }
    }

    /// The present value of a mutable index variable.
    pub(super) fn read_index(&mut self, var: VarId) -> Index {
        let version = self.versions.get(&var).copied().unwrap_or(0);
        let (range, natural) = match self.bounded.get(&var) {
            Some(last) => (Range::new(0, i128::from(*last)), false),
            None => self.ranges.get(&var).copied().unwrap_or((Range::signed(), false)),
        };
        let range = match self.present.get(&var) {
            Some(present) => Range::new(range.low.max(present.low), range.high.min(present.high)),
            None => range,
        };
        let atom = Index::atom(self.tables.atoms.intern(Atom::Variable(var, version), range, 1, None));
        if natural { self.tables.atoms.natural(&atom) } else { atom }
    }

    /// Whether an index is one of `0..count`, by its interval or by the conditions around.
    pub(super) fn is_within(&self, index: &Index, count: i64) -> bool {
        let range = self.tables.atoms.range(index);
        let shown = |rest: Result<Index, IndexOverflow>| {
            rest.is_ok_and(|rest| self.facts.prove(&self.tables.atoms, &rest))
        };
        (range.low >= 0 || shown(Ok(index.clone())))
            && (range.high < i128::from(count)
                || shown(index.scale(-1).and_then(|rest| rest.plus(count - 1))))
    }

    /// The value that a mutable index takes, as the variable holds it.
    pub(super) fn taken(&mut self, owner: Owner, index: &Index) -> Index {
        let (range, most) = (self.tables.atoms.range(index), TAME + GROWTH);
        let within = |bound: bool, rest: Result<Index, IndexOverflow>| {
            bound || rest.is_ok_and(|rest| self.facts.prove(&self.tables.atoms, &rest))
        };
        let below = |most: i64| {
            within(range.high <= i128::from(most), index.scale(-1).and_then(|rest| rest.plus(most)))
        };
        let natural = within(range.low >= 0, Ok(index.clone()));
        let near = || below(most) && within(range.low >= -i128::from(most), index.plus(most));
        let assumption = match natural {
            true if below(SHORT) => IndexAssumption::Short,
            true if below(u32::MAX.into()) => IndexAssumption::Word,
            true if below(most) => IndexAssumption::NonNegative,
            true => IndexAssumption::WrapsUnsigned,
            false if near() => IndexAssumption::Bounded,
            false => IndexAssumption::WrapsSigned,
        };
        let known = self.index_assumptions.entry(owner).or_default();
        *known = match (assumption, *known) {
            // What wraps and may be negative.
            (IndexAssumption::WrapsUnsigned, IndexAssumption::Bounded)
            | (IndexAssumption::Bounded, IndexAssumption::WrapsUnsigned) => IndexAssumption::WrapsSigned,
            (IndexAssumption::WrapsUnsigned, _) if self.declared_signed.contains(&owner.local) => {
                IndexAssumption::WrapsSigned
            }
            _ => assumption.max(*known),
        };
        self.tables.atoms.signed(index)
    }

    /// Notes what is assumed of a mutable index variable.
    pub(super) fn supposed(&mut self, owner: Owner, var: VarId) {
        let supposed = self.supposed_of(owner);
        self.ranges.insert(var, supposed);
        self.owners.insert(var, owner);
    }

    /// The machine type of a mutable index.
    pub(super) fn supposed_width(&self, owner: Owner) -> Width {
        Width::of(self.supposed_of(owner).0)
    }

    /// The interval of a mutable index, and whether it holds the bits of a `usize`.
    fn supposed_of(&self, owner: Owner) -> (Range, bool) {
        let most = i128::from(TAME);
        let natural = |most: i64| (Range::new(0, most.into()), false);
        match self.index_assumptions.get(&owner).copied().unwrap_or_default() {
            IndexAssumption::Short => natural(SHORT),
            IndexAssumption::Word => natural(u32::MAX.into()),
            IndexAssumption::NonNegative => natural(TAME),
            IndexAssumption::Bounded => (Range::new(-most, most), false),
            IndexAssumption::WrapsUnsigned => (Range::signed(), true),
            IndexAssumption::WrapsSigned => (Range::signed(), false),
        }
    }

    /// After an assignment nothing that was known of the variable holds.
    pub(super) fn forget(&mut self, var: VarId) {
        // Never used twice, not even by a branch whose versions are taken back: an atom keeps the interval that it was made with.
        self.last_version += 1;
        self.versions.insert(var, self.last_version);
        self.present.remove(&var);
    }

    /// A value of a thread as an index: it gets a name, since it may change later.
    pub(super) fn index_from_value(&mut self, value: Value<TileAccess>, elem: Elem, origin: Origin) -> Index {
        if let Value::Variable(var) = &value
            && let Some(index) = self.index_of_variable(*var)
        {
            return index;
        }
        // A variable is signed: what of a `u64` is beyond is read from it as natural again.
        let known = self.value_range(&value, elem);
        let (low, high) = Elem::I64.limits();
        let natural = elem == Elem::U64 && known.high > high;
        let range = if natural { Range::new(low, high) } else { known };
        let held = Width::of(range).elem();
        let value = if held == elem { value } else { Value::Cast(held, Box::new(value)) };
        let var = self.unnamed("position", VariableKind::Elem(held), false, origin);
        self.decides(var, &[&value], &[]);
        self.push(origin, StatementKind::Let(var, Some(value)));
        let index = Index::atom(self.tables.atoms.intern(Atom::Variable(var, 0), range, 1, None));
        if natural { self.tables.atoms.natural(&index) } else { index }
    }

    /// A variable of an integer type that does not change, as an index: what a condition says of it holds for the index.
    pub(super) fn index_of_variable(&mut self, var: VarId) -> Option<Index> {
        let facts = self.tables.variable(var);
        let VariableKind::Elem(elem) = facts.kind else { return None };
        if facts.mutable || !elem.is_integer() {
            return None;
        }
        // Wherever it is used: without what the conditions around say.
        let (low, high) = elem.limits();
        let range = self.intervals.get(&var).copied().unwrap_or(Range::new(low, high));
        let atom = |this: &mut Self| this.tables.atoms.intern(Atom::Variable(var, 0), range, 1, None);
        range.fits_i64().then(|| Index::atom(atom(self)))
    }

    /// The integer variables that a condition compares become known as indices.
    pub(super) fn note_compared(&mut self, condition: &Value<TileAccess>) {
        match condition {
            Value::Binary(_, left, right) => {
                [left, right].into_iter().for_each(|side| self.note_compared(side))
            }
            Value::Unary(_, inner) => self.note_compared(inner),
            Value::Variable(var) => drop(self.index_of_variable(*var)),
            Value::Constant(_)
            | Value::Argument(..)
            | Value::Index(..)
            | Value::Compare(_)
            | Value::Load(_)
            | Value::Cast(..)
            | Value::Math(..)
            | Value::Select(..) => {}
        }
    }

    /// What registers hold of a mutable index, as far as it is assumed.
    pub(super) fn index_of_register(
        &mut self,
        value: Value<TileAccess>,
        owner: Owner,
        origin: Origin,
    ) -> Index {
        let (range, natural) = self.supposed_of(owner);
        let var = self.unnamed("position", VariableKind::Elem(Elem::I64), false, origin);
        self.push(origin, StatementKind::Let(var, Some(value)));
        let index = Index::atom(self.tables.atoms.intern(Atom::Variable(var, 0), range, 1, None));
        if natural { self.tables.atoms.natural(&index) } else { index }
    }
}
