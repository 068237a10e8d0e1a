//! Indices as sums of registers. Each is computed once and reused until one of its variables changes.
//!
//! Law: the sum is the polynomial's value modulo 2⁶⁴ in every active lane.

use super::{ArgumentValue, Compiler, Result, malformed};
use crate::bytecode::{Bank, IndexOp, Op, Register, Sum};
use layout_compiler::elem::Elem;
use layout_compiler::index::{Atom, AtomId, Index, VarId};
use layout_compiler::ir::{BinaryOp, Special};
use layout_compiler::program::Comparison;
use std::collections::{BTreeSet, HashMap};

/// A computed index (without its constant) or comparison.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Index(Index),
    Comparison(Comparison),
}

/// Valid values and the variables that they depend on.
#[derive(Default)]
pub(super) struct Cache {
    known: HashMap<Key, (Sum, BTreeSet<VarId>)>,
    log: Vec<Key>,
}

impl Cache {
    /// Invalidates the values of a variable.
    pub(super) fn forget(&mut self, variable: VarId) {
        self.known.retain(|_, (_, variables)| !variables.contains(&variable));
    }

    pub(super) fn mark(&self) -> usize {
        self.log.len()
    }

    /// Removes values that were added after the mark: their code does not dominate what follows, or their registers are
    /// free.
    pub(super) fn rewind(&mut self, mark: usize) {
        for key in self.log.drain(mark..) {
            self.known.remove(&key);
        }
    }

    fn get(&self, key: &Key) -> Option<Sum> {
        self.known.get(key).map(|(sum, _)| *sum)
    }

    fn insert(&mut self, key: Key, sum: Sum, variables: BTreeSet<VarId>) {
        self.log.push(key.clone());
        self.known.insert(key, (sum, variables));
    }
}

impl Compiler<'_> {
    pub(super) fn variables_of(&self, index: &Index) -> BTreeSet<VarId> {
        let known = index.atoms().filter_map(|atom| self.dependencies.get(atom.0 as usize));
        known.flatten().copied().collect()
    }

    pub(super) fn index(&mut self, index: &Index) -> Result<Sum> {
        if let Some(constant) = index.as_constant() {
            return Ok(Sum::constant(constant));
        }
        let (terms, _) = index.partition(|_, _| true);
        let mut sum = self.terms(&terms, self.loops.len())?;
        sum.constant = sum.constant.wrapping_add(index.offset());
        Ok(sum)
    }

    /// An index without its constant; the part that varies in the innermost of `depth` loops is added last.
    fn terms(&mut self, index: &Index, depth: usize) -> Result<Sum> {
        let key = Key::Index(index.clone());
        if let Some(sum) = self.cache.get(&key) {
            return Ok(sum);
        }
        let mut sum = Sum::default();
        let mut rest = index.clone();
        if let Some(inner) = depth.checked_sub(1) {
            let (variant, invariant) = self.split(index, inner);
            if !invariant.terms().is_empty() {
                sum = self.terms(&invariant, inner)?;
            }
            rest = variant;
        }
        for (monomial, coefficient) in rest.terms() {
            let mut product = Sum::constant(*coefficient);
            for atom in monomial {
                let factor = self.atom(*atom)?;
                product = self.multiply(product, factor);
            }
            sum = self.add(sum, product);
        }
        let variables = self.variables_of(index);
        self.cache.insert(key, sum, variables);
        Ok(sum)
    }

    /// The variant and the invariant part of an index in loop `level`.
    pub(super) fn split(&self, index: &Index, level: usize) -> (Index, Index) {
        let changed = &self.loops[level];
        index.partition(|monomial, _| {
            monomial.iter().any(|atom| {
                let own = self.dependencies.get(atom.0 as usize);
                own.is_some_and(|own| !own.is_disjoint(changed))
            })
        })
    }

    pub(super) fn add(&mut self, a: Sum, b: Sum) -> Sum {
        let vector = match (a.vector, b.vector) {
            (Some(x), Some(y)) => {
                let dst = self.take(Bank::Int, 1);
                let site = self.site;
                self.emit(Op::Vector { dst, op: IndexOp::Add, a: Sum::vector(x), b: Sum::vector(y), site });
                Some(dst)
            }
            (x, y) => x.or(y),
        };
        let scalar = match (a.scalar, b.scalar) {
            (Some(x), Some(y)) => {
                let dst = self.take_scalar();
                let site = self.site;
                self.emit(Op::Scalar { dst, op: IndexOp::Add, a: Sum::scalar(x), b: Sum::scalar(y), site });
                Some(dst)
            }
            (x, y) => x.or(y),
        };
        Sum { vector, scalar, constant: a.constant.wrapping_add(b.constant) }
    }

    /// `a * b`; a uniform factor keeps the uniform part uniform.
    fn multiply(&mut self, a: Sum, b: Sum) -> Sum {
        match (a.as_constant(), b.as_constant()) {
            (Some(x), Some(y)) => return Sum::constant(x.wrapping_mul(y)),
            (Some(0), _) | (_, Some(0)) => return Sum::default(),
            (Some(1), _) => return b,
            (_, Some(1)) => return a,
            _ => {}
        }
        let (varying, factor) = if b.uniform() { (a, b) } else { (b, a) };
        if !factor.uniform() {
            return self.binary(IndexOp::Mul, a, b);
        }
        let rest = Sum { vector: None, ..varying };
        let rest = match (rest.as_constant(), factor.as_constant()) {
            (Some(x), Some(y)) => Sum::constant(x.wrapping_mul(y)),
            (Some(0), _) => Sum::default(),
            (Some(1), _) => factor,
            _ => self.binary(IndexOp::Mul, rest, factor),
        };
        match varying.vector {
            None => rest,
            Some(register) => {
                let product = self.binary(IndexOp::Mul, Sum::vector(register), factor);
                self.add(product, rest)
            }
        }
    }

    pub(super) fn binary(&mut self, op: IndexOp, a: Sum, b: Sum) -> Sum {
        let site = self.site;
        if a.uniform() && b.uniform() {
            let dst = self.take_scalar();
            self.emit(Op::Scalar { dst, op, a, b, site });
            Sum::scalar(dst)
        } else {
            let dst = self.take(Bank::Int, 1);
            self.emit(Op::Vector { dst, op, a, b, site });
            Sum::vector(dst)
        }
    }

    fn atom(&mut self, id: AtomId) -> Result<Sum> {
        if id.0 as usize >= self.dependencies.len() {
            return Err(malformed(format!("there is no atom {}", id.0)));
        }
        let tables = self.tables;
        let natural = |a: &Index, b: &Index| [a, b].iter().any(|side| tables.atoms.range(side).beyond_i64());
        let (op, a, b) = match tables.atoms.atom(id) {
            Atom::Special(special, axis) => return self.special(*special, *axis),
            Atom::Dim { dim, divisor } => return self.dim(*dim, *divisor).map(Sum::constant),
            Atom::Stride { argument, mode, divisor } => {
                let stride = self.strides.get(&(*argument, *mode)).copied();
                return stride.map(|stride| Sum::constant(stride / (*divisor).max(1))).ok_or_else(|| {
                    malformed(format!("stride {mode} of argument {argument} is no parameter"))
                });
            }
            Atom::Argument(number) => {
                return match self.arguments.get(*number as usize) {
                    Some(ArgumentValue::Index(value)) => Ok(Sum::constant(*value)),
                    _ => Err(malformed(format!("argument {number} is no index"))),
                };
            }
            Atom::Variable(variable, _) => return self.variable_index(*variable),
            // The register holds the index modulo 2⁶⁴; the use determines the sign.
            Atom::Wrapped { index, signed } => {
                let key = Key::Index(Index::atom(id));
                if let Some(sum) = self.cache.get(&key) {
                    return Ok(sum);
                }
                if !tables.atoms.is_meant(id) {
                    self.check_index(index, *signed)?;
                }
                let sum = self.index(index)?;
                let variables = self.dependencies[id.0 as usize].clone();
                self.cache.insert(key, sum, variables);
                return Ok(sum);
            }
            Atom::Div(a, b) if natural(a, b) => (IndexOp::DivNatural, a, b),
            Atom::Rem(a, b) if natural(a, b) => (IndexOp::RemNatural, a, b),
            Atom::Min(a, b) if natural(a, b) => (IndexOp::MinNatural, a, b),
            Atom::Max(a, b) if natural(a, b) => (IndexOp::MaxNatural, a, b),
            Atom::Div(a, b) => (IndexOp::Div, a, b),
            Atom::Rem(a, b) => (IndexOp::Rem, a, b),
            Atom::Xor(a, b) => (IndexOp::Xor, a, b),
            Atom::And(a, b) => (IndexOp::And, a, b),
            Atom::Or(a, b) => (IndexOp::Or, a, b),
            Atom::Min(a, b) => (IndexOp::Min, a, b),
            Atom::Max(a, b) => (IndexOp::Max, a, b),
        };
        let key = Key::Index(Index::atom(id));
        if let Some(sum) = self.cache.get(&key) {
            return Ok(sum);
        }
        // An overflow in an operand of `/`, `%` or a bit operator is wrong in every use.
        let placing = std::mem::replace(&mut self.placing, false);
        let sides = (self.index(a), self.index(b));
        self.placing = placing;
        let (a, b) = (sides.0?, sides.1?);
        let folded = match (a.as_constant(), b.as_constant()) {
            (Some(x), Some(y)) => op.apply(x, y),
            _ => None,
        };
        let sum = match folded {
            Some(value) => Sum::constant(value),
            None => self.binary(op, a, b),
        };
        let variables = self.dependencies[id.0 as usize].clone();
        self.cache.insert(key, sum, variables);
        Ok(sum)
    }

    fn special(&self, special: Special, axis: u32) -> Result<Sum> {
        let at = axis as usize;
        let (Some(block), Some(grid)) = (self.bound.block.get(at), self.bound.grid.get(at)) else {
            return Err(malformed(format!("there is no axis {axis}")));
        };
        Ok(match special {
            Special::ThreadIdx if *block == 1 => Sum::default(),
            Special::ThreadIdx => Sum::vector(axis),
            Special::BlockIdx if *grid == 1 => Sum::default(),
            Special::BlockIdx => Sum::scalar(axis),
            Special::BlockDim => Sum::constant(i64::from(*block)),
            Special::GridDim => Sum::constant(i64::from(*grid)),
        })
    }

    fn dim(&self, dim: u32, divisor: i64) -> Result<i64> {
        let value = self.bound.dims.get(dim as usize).copied();
        let value = value.ok_or_else(|| malformed(format!("there is no dimension {dim}")))?;
        Ok(value / divisor.max(1))
    }

    fn variable_index(&mut self, variable: VarId) -> Result<Sum> {
        let binding = self.variable(variable)?;
        self.check_initialised(binding.slot, self.site);
        match binding.register {
            Register::Int(sum) => Ok(sum),
            from @ Register::Mask(_) => {
                let dst = self.take(Bank::Int, 1);
                self.emit(Op::Cast { dst, from, natural: false, elem: Elem::I64 });
                Ok(Sum::vector(dst))
            }
            Register::F32(_) | Register::F64(_) => {
                Err(malformed(format!("variable {} is a float in an index", variable.0)))
            }
        }
    }

    /// The lanes in which a comparison holds; `Ok(Err(value))` for a constant.
    pub(super) fn comparison(&mut self, comparison: &Comparison) -> Result<std::result::Result<u32, bool>> {
        let key = Key::Comparison(comparison.clone());
        if let Some(Sum { vector: Some(mask), .. }) = self.cache.get(&key) {
            return Ok(Ok(mask));
        }
        let (mut a, mut b) = (self.index(&comparison.left)?, self.index(&comparison.right)?);
        let sides = [&comparison.left, &comparison.right];
        if sides.iter().any(|side| self.tables.atoms.range(side).beyond_i64()) {
            // A flipped sign bit turns the unsigned order into the signed one.
            let bit = Sum::constant(i64::MIN);
            (a, b) = (self.binary(IndexOp::Xor, a, bit), self.binary(IndexOp::Xor, b, bit));
        }
        if let (Some(x), Some(y)) = (a.as_constant(), b.as_constant()) {
            return Ok(Err(comparison.op.compare(&x, &y)));
        }
        let dst = self.take(Bank::Mask, 1);
        self.emit(Op::CompareInt { dst, op: comparison.op, a, b });
        let mut variables = self.variables_of(&comparison.left);
        variables.extend(self.variables_of(&comparison.right));
        self.cache.insert(key, Sum::vector(dst), variables);
        Ok(Ok(dst))
    }

    /// The value of a comparison that is constant here.
    pub(super) fn fixed_comparison(&self, comparison: &Comparison) -> Option<bool> {
        let beyond = |side: &Index| self.tables.atoms.range(side).beyond_i64();
        if beyond(&comparison.left) || beyond(&comparison.right) {
            return None;
        }
        let (a, b) = (self.constant_of(&comparison.left)?, self.constant_of(&comparison.right)?);
        Some(comparison.op.compare(&a, &b))
    }

    fn constant_of(&self, index: &Index) -> Option<i64> {
        index.evaluate(&mut |id| match self.tables.atoms.atom(id) {
            Atom::Variable(variable, _) => {
                match self.variables.get(variable.0 as usize).copied().flatten()?.register {
                    Register::Int(sum) => sum.as_constant(),
                    Register::F32(_) | Register::F64(_) | Register::Mask(_) => None,
                }
            }
            Atom::Dim { dim, divisor } => self.dim(*dim, *divisor).ok(),
            other => other.evaluate(|part| self.constant_of(part)),
        })
    }

    /// Computes the index of an access, or a comparison that guards one.
    pub(super) fn placed<T>(&mut self, compute: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.placing, true);
        let value = compute(self);
        self.placing = before;
        value
    }

    /// The lanes in which all comparisons hold; `None` for all lanes.
    pub(super) fn mask(&mut self, mask: &[Comparison]) -> Result<Option<u32>> {
        let mut all: Option<u32> = None;
        for comparison in mask {
            let one = match self.placed(|compiler| compiler.comparison(comparison))? {
                Err(true) => continue,
                Err(false) => {
                    let dst = self.take(Bank::Mask, 1);
                    self.emit(Op::ConstantMask { dst, value: 0 });
                    return Ok(Some(dst));
                }
                Ok(one) => one,
            };
            all = Some(match all {
                None => one,
                Some(known) => {
                    let dst = self.take(Bank::Mask, 1);
                    self.emit(Op::MaskBinary { dst, op: BinaryOp::BitAnd, a: known, b: one });
                    dst
                }
            });
        }
        Ok(all)
    }
}
