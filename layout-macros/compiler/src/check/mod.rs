//! From tiles to elements: every view becomes a place, an index and a mask. An access that is proved in bounds has no
//! mask.

mod access;
mod accumulator_hazards;
mod asynchronous;
mod dependency;
mod finish;
mod fragments;
mod lower;
mod matrix;
mod mbarrier_init;
mod movement;
mod redundant_barriers;
mod remote;
mod tensor_map;
mod tensor_memory;
mod vectors;
mod versioning;

use super::arch::Arch;
use super::index::Index;
use super::ir::{BinaryOp, RemarkKind};
use super::launch::{LaunchPlan, PlanArgument};
use super::origin::Errors;
use super::origin::Origin;
use super::program::{
    Access, Comparison, Message, Operation, Part, Statement, StatementKind, Tables, TensorMap, Value, walk,
};
use super::prove::Facts;
use super::specialise::{Head, Specialised};
use std::collections::HashSet;

/// A kernel for one parameter set and one set of promises, down to single elements and vectors: what `emit` and
/// `simulate` read. After this stage nothing can fail on the kernel's account.
///
/// Its invariants, which both rely on: every id is in range of its table; operands of an operator agree in type; every
/// index of a local place is a number once the unrolled loops around it are; `width` is a power of two and the access
/// is aligned for it; an access without a mask is in range; a shared or local place is large enough; loops with
/// `unroll` have constant bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    pub(super) head: Head,
    pub(super) plan: LaunchPlan,
    pub(super) tables: Tables,
    /// What holds in every launch.
    pub(super) facts: Vec<Comparison>,
    pub(super) body: Vec<Statement<Access, Operation>>,
}

impl Checked {
    /// A program of these parts that nothing has checked: for tests of what takes a checked one.
    #[doc(hidden)]
    pub fn unchecked(plan: LaunchPlan, tables: Tables, body: Vec<Statement<Access, Operation>>) -> Checked {
        Checked {
            head: Head { entry: "kernel".into(), ..Head::default() },
            plan,
            tables,
            facts: Vec::new(),
            body,
        }
    }
    /// The name of the CUDA function: the kernel's name and the variant's key, `matmul_BM64_BN64`.
    pub fn entry(&self) -> &str {
        &self.head.entry
    }
    /// The only architecture the kernel is for, where it names one.
    pub fn arch(&self) -> Option<Arch> {
        self.head.arch
    }
    /// What a launch needs to know.
    pub fn plan(&self) -> &LaunchPlan {
        &self.plan
    }
    /// Blocks that a multiprocessor holds at least, where the kernel says it.
    #[doc(hidden)]
    pub fn min_blocks(&self) -> Option<u32> {
        self.head.min_blocks
    }
    /// What accesses may not lose.
    pub fn denied(&self) -> &[RemarkKind] {
        &self.head.deny
    }
    /// Whether the access of this origin may not lose this.
    pub fn denies(&self, kind: RemarkKind, origin: Origin) -> bool {
        self.denied().contains(&kind) && !self.head.allow.iter().any(|allowed| allowed.holds(kind, origin))
    }
    /// Variables, places, atoms, positions.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }
    /// The assertions that a GPU tests, in the order of the text: the line of each, and its message.
    pub fn assertions(&self) -> Vec<(u32, &Message<Access>)> {
        let mut found = Vec::new();
        walk::statements(&self.body, &mut |part| {
            if let Part::Statement(Statement {
                kind: StatementKind::Assert { message, debug: false, .. },
                origin,
            }) = part
            {
                let position = self.tables.positions.get(origin.0 as usize);
                found.push((position.map_or(0, |position| position.line), message));
            }
        });
        found
    }
    /// The statements.
    pub fn body(&self) -> &[Statement<Access, Operation>] {
        &self.body
    }
}

/// Checks a specialised kernel and lowers it to elements.
///
/// It proves, or else reports: the index of every local tensor is a number after unrolling and in range; every other
/// access is in range or masked; vectors are aligned and cross no edge, or are moved element by element. What
/// [`specialise`](super::specialise::specialise) has shown already: types agree, ranks agree, the block has at most
/// 1024 threads, shared memory fits.
///
/// # Errors
/// Gathered, each origin once.
pub fn check(specialised: &Specialised) -> Result<Checked, Errors> {
    let mut facts = Facts::default();
    specialised.facts.iter().for_each(|fact| facts.assume(fact, true));
    let mut lower = lower::Lower {
        tables: specialised.tables.clone(),
        facts,
        errors: Errors::new(),
        unrolled: HashSet::new(),
        prologue: Vec::new(),
        maps: Vec::new(),
        tf32: Vec::new(),
        ranks: specialised.plan.arguments.iter().map(PlanArgument::rank).collect(),
        thread: specialised.thread.clone(),
        threads: specialised.plan.block.iter().map(|n| i64::from(*n)).product(),
        narrow: specialised.plan.promises.narrow,
        loops: 0,
        cut: false,
    };
    let mut body = lower.statements(&specialised.body);
    let lower::Lower { tables, mut errors, prologue, maps, tf32, .. } = lower;
    accumulator_hazards::check(&tables, &body, &mut errors);
    mbarrier_init::check(&tables, &body, &mut errors);
    let dependent = dependency::check(&tables, &body, &mut errors);
    // TMA reads a map from memory first; the block's first thread sends for them at once.
    if !maps.is_empty() {
        let origin = super::origin::Origin(0);
        let hint = |map: usize| StatementKind::Operation(Operation::PrefetchMap(map as u32));
        let hints = (0..maps.len()).map(|map| Statement { kind: hint(map), origin }).collect();
        let first =
            Comparison { op: BinaryOp::Eq, left: specialised.thread.clone(), right: Index::constant(0) };
        let kind = StatementKind::If(Value::Compare(first), hints, Vec::new());
        body.insert(0, Statement { kind, origin });
    }
    let mut body = [prologue, errors.propagate(body)?].concat();
    redundant_barriers::remove(&tables, &mut body);
    finish::prune(&tables, &mut body);
    let mut plan = specialised.plan.clone();
    plan.dependent = dependent;
    // What the matrix units read as tf32 is rounded on the way, to nearest; they themselves would cut bits off.
    plan.maps =
        maps.into_iter().map(|(map, place)| TensorMap { round_tf32: tf32.contains(&place), ..map }).collect();
    plan.parameters = finish::parameters(&tables, &plan.arguments, &body);
    plan.divisors = finish::divisors(&tables);
    let (head, facts) = (specialised.head.clone(), specialised.facts.clone());
    Ok(Checked { head, plan, tables, facts, body })
}
