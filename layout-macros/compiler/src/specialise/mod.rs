//! From a kernel and a parameter set to tiles: what is known is computed, and code remains.
//!
//! This is a partial evaluator. Parameters, shapes, layouts and tiles are its values and leave no trace; indices
//! become polynomials; elements become [`super::program::Value`]s. Postcondition: no parameter, no type parameter, no
//! layout and no nested function remains.

mod array;
mod assume;
mod asynchronous;
mod attribute;
mod bitcast;
mod constant;
mod copy;
mod datum;
mod element;
mod elementwise;
mod evaluator;
mod expand;
mod expression;
mod hint;
mod induction;
mod layouts;
mod local;
mod matrix;
mod message;
mod movement;
mod numbers;
mod operator;
mod order;
mod outside;
mod place;
mod range;
mod registers;
mod remainder;
mod reshape;
mod shift;
mod statement;
mod tensor_memory;
mod threads;
mod tile;
mod tile_number;
mod tiling;
mod together;
mod trip_count;
mod variable;
mod views;
mod vocabulary;

pub(crate) use attribute::Head;
pub(super) use tile::{TileAccess, TileOperation, thread_coordinates};

use super::arch::Arch;
use super::elem::Elem;
use super::index::{Atoms, Index};
use super::intrinsic::Intrinsic;
use super::ir::{ExprKind, Kernel, LocalId, Pattern, Seen, Statement as Ast, StatementKind};
use super::launch::LaunchPlan;
use super::origin::{Errors, KernelError};
use super::params::{ParamSet, Promises};
use super::program::{Comparison, PlaceId, Space, Statement, Tables};
use super::valid::valid;
use evaluator::{Evaluator, IndexAssumption, Owner};
use outside::Outside;
use std::collections::{HashMap, HashSet};

/// A kernel without parameters, at the level of tiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Specialised {
    pub(super) head: Head,
    pub(super) plan: LaunchPlan,
    pub(super) tables: Tables,
    /// What holds everywhere: `require`, `variant_if`, the grid.
    pub(super) facts: Vec<Comparison>,
    /// The thread's number in its block.
    pub(super) thread: Index,
    pub(super) body: Vec<Statement<TileAccess, TileOperation>>,
}

/// Specialises a kernel for one parameter set and one set of promises.
///
/// # Errors
/// Everything the kernel's text does wrong for these parameters, gathered, each origin once.
pub fn specialise(kernel: &Kernel, params: &ParamSet, promises: Promises) -> Result<Specialised, Errors> {
    let general = Promises { narrow: false, variant_if: None, ..promises };
    let found = variant(kernel, params, promises, Outside::Refused);
    if promises == general || matches!(&found, Ok((_, Decided::ByNumbers))) {
        return found.map(|(kernel, _)| kernel);
    }
    // What never runs under the promises may run without them, and is outside there.
    variant(kernel, params, general, Outside::Refused)?;
    // What is outside under the promises alone is masked: a launch without them may have it inside.
    let found = found.or_else(|_| variant(kernel, params, promises, Outside::Masked));
    found.map(|(kernel, _)| kernel)
}

/// What decided the conditions that are known at compile time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decided {
    ByNumbers,
    /// The ranges of some values: another variant has other ones.
    ByRanges,
}

/// One variant of a kernel.
fn variant(
    kernel: &Kernel,
    params: &ParamSet,
    promises: Promises,
    outside: Outside,
) -> Result<(Specialised, Decided), Errors> {
    if !valid(kernel) {
        let message = "the kernel does not hold together: an id is out of range of its table".into();
        let help = Some("take the kernel of a `Definition`, which the macro made".into());
        return Err(Errors::from(KernelError { message, help, origin: super::origin::Origin(0) }));
    }
    kernel.whole(params)?;
    let (mut index_assumptions, mut modular_bounds) = (HashMap::new(), HashMap::new());
    let ((head, mut plan, facts), mut evaluator) = loop {
        let mut evaluator = evaluator(kernel, params, promises, index_assumptions.clone());
        evaluator.reach.outside = outside;
        evaluator.modular_bounds = modular_bounds.clone();
        let Ok(head) = evaluator.attribute() else { return Err(evaluator.errors) };
        evaluator.host = false;
        head.2.iter().for_each(|fact| evaluator.facts.assume(fact, true));
        // A failed body has reported its errors; one that has not is not taken for a kernel.
        let failed = evaluator.block(&kernel.body).is_err();
        let supposed = |owner: &Owner| index_assumptions.get(owner).copied().unwrap_or_default();
        let as_supposed =
            evaluator.index_assumptions.iter().all(|(owner, assumption)| *assumption == supposed(owner));
        if as_supposed && evaluator.modular_bounds == modular_bounds {
            if failed && evaluator.errors.as_slice().is_empty() {
                let message = "some code of this kernel has no value";
                let help =
                    "take what leaves a block or a loop out of its expression: `if c { return; }` before it";
                let _ = evaluator.fail_help::<()>(super::origin::Origin(0), message, help);
            }
            break (head, evaluator);
        }
        // With a closer bound the variable may be narrower as well.
        let is_closer = |owner: &Owner| {
            let now = evaluator.modular_bounds.get(owner).copied().flatten();
            now.is_some() && now != modular_bounds.get(owner).copied().flatten()
        };
        evaluator.index_assumptions.retain(|owner, _| !is_closer(owner));
        (index_assumptions, modular_bounds) = (evaluator.index_assumptions, evaluator.modular_bounds);
    };
    let thread = evaluator.linear_thread(super::origin::Origin(0)).unwrap_or_default();
    evaluator.tensor_memory_around(&thread);
    let by = if evaluator.decided_by_range { Decided::ByRanges } else { Decided::ByNumbers };
    let Evaluator { tables, errors, out, decided, later, shared_bytes, .. } = evaluator;
    let mut body = evaluator::reached(errors.propagate(out)?);
    variable::settle(&mut body, &|var| tables.variable(var).kind, &decided, &later);
    plan.shared_bytes = shared_bytes as u32;
    plan.second_types = second_types(&tables);
    Ok((Specialised { head, plan, tables, facts, thread, body }, by))
}

/// The arguments that are also read as a wider type.
fn second_types(tables: &Tables) -> Vec<(u32, Elem)> {
    let places = (0..).zip(&tables.places).filter_map(|(id, place)| {
        let Space::Global(argument) = place.space else { return None };
        let own = tables.place(tables.memory(PlaceId(id))).elem;
        (place.elem.bytes() > own.bytes()).then_some((argument, place.elem))
    });
    places.collect()
}

/// Whether an expression makes or names registers: then loops over known numbers may have to be written out.
fn in_registers(expr: &ExprKind) -> bool {
    use Intrinsic::{Local, ToLocal};
    matches!(expr, ExprKind::Element(..) | ExprKind::Intrinsic(Local | ToLocal, ..))
}

/// The locals that closures change, or hand on to be changed, but for those that are their own.
fn captured(kernel: &Kernel) -> Vec<LocalId> {
    let mut out = Vec::new();
    for function in kernel.functions.iter().filter(|function| function.name == "closure") {
        let (mut changed, mut own) = (Vec::new(), Vec::new());
        kernel.each_statement(&function.body, &mut |seen| {
            changed.extend(seen.changed().and_then(|place| kernel.local_of(place)));
            if let Seen::Statement(Ast { kind: StatementKind::Let { pattern, .. }, .. }) = seen {
                locals(pattern, &mut own);
            }
            true
        });
        out.extend(changed.into_iter().filter(|local| !own.contains(local)));
    }
    out
}

/// The names that a pattern binds.
fn locals(pattern: &Pattern, out: &mut Vec<LocalId>) {
    match pattern {
        Pattern::Local(local) => out.push(*local),
        Pattern::Tuple(parts) => parts.iter().for_each(|part| locals(part, out)),
        Pattern::Wildcard => {}
    }
}

fn evaluator<'k>(
    kernel: &'k Kernel,
    params: &'k ParamSet,
    promises: Promises,
    index_assumptions: HashMap<Owner, IndexAssumption>,
) -> Evaluator<'k> {
    Evaluator {
        kernel,
        params,
        promises,
        arch: None,
        tables: Tables {
            variables: Vec::new(),
            places: Vec::new(),
            atoms: Atoms::default(),
            positions: kernel.positions.clone(),
            named: Vec::new(),
            scratch: Vec::new(),
        },
        errors: Errors::new(),
        out: Vec::new(),
        bindings: HashMap::new(),
        versions: HashMap::new(),
        last_version: 0,
        bounded: HashMap::new(),
        owners: HashMap::new(),
        intervals: HashMap::new(),
        present: HashMap::new(),
        modular_bounds: HashMap::new(),
        heads: Vec::new(),
        index_assumptions,
        ranges: HashMap::new(),
        declared_signed: HashSet::new(),
        written: HashSet::new(),
        deciding: HashMap::new(),
        facts: super::prove::Facts::default(),
        narrowed: Vec::new(),
        undecided: HashMap::new(),
        copies: Vec::new(),
        decided: Vec::new(),
        later: HashMap::new(),
        dim_divisors: vec![1; kernel.dims.len()],
        dims: Vec::new(),
        arguments: Vec::new(),
        computed: Vec::new(),
        block: [1; 3],
        cluster: [1; 3],
        cooperative: false,
        grid: None,
        shared_bytes: 0,
        shared_limit: Arch::MOST_SHARED_BYTES,
        unrolled: Vec::new(),
        unrolls: Vec::new(),
        captured: captured(kernel),
        own_types: vec![None; kernel.own_types.len()],
        has_elements: kernel.exprs.iter().any(|expr| in_registers(&expr.kind)),
        asked: None,
        loops: 0,
        calls: 0,
        rounds: 0,
        reach: outside::Reach::default(),
        decided_by_range: false,
        host: true,
        budget: 200_000,
    }
}
