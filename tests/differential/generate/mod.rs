//! Random kernels from a seed.
//!
//! Law: a kernel depends on its seed and family alone, and every kernel is one that the language promises a result for: each
//! thread writes what no other touches, or all meet in between.

mod cluster;
mod expression;
mod index;
mod jump;
mod meeting;
mod product;
mod scope;
mod statement;
mod views;
mod whiles;
mod whole;
mod words;

use crate::tree::*;
use crate::types::{Kind, Type};
use crate::value::{self, Value};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scope::Scope;

/// A family of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Arithmetic, control flow, variables, functions, effects in operands.
    Arithmetic,
    /// Index arithmetic, with arguments whose products leave 64 bits.
    Indices,
    /// Views of views, and copies between tensors, views and registers.
    Views,
    /// Warps and blocks: shuffles, votes, shared memory between barriers.
    Meetings,
    /// The same in clusters of blocks, which read and write each other's shared memory by rank.
    Clusters,
    /// Products of matrices on the matrix units.
    Products,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 6] = [
        Family::Arithmetic,
        Family::Indices,
        Family::Views,
        Family::Meetings,
        Family::Clusters,
        Family::Products,
    ];
}

/// The kernel of a seed.
pub(crate) fn tree(family: Family, seed: u64) -> Kernel {
    made(family, seed, false)
}

/// A kernel whose text rustc reads, but for its tensors: without views and floats of 16 bits.
pub(crate) fn plain_tree(family: Family, seed: u64) -> Kernel {
    made(family, seed, true)
}

fn made(family: Family, seed: u64, plain: bool) -> Kernel {
    let random = ChaCha8Rng::seed_from_u64(seed ^ (family as u64) << 60);
    let mut generator = Generator::new(random, family, seed);
    if plain {
        generator.views = false;
        generator.types.retain(|ty| !ty.is_half());
    }
    generator.whole();
    generator.kernel
}

/// The text of a seed's kernel.
pub fn generate(family: Family, seed: u64) -> String {
    crate::print::kernel(&tree(family, seed))
}

struct Generator {
    random: ChaCha8Rng,
    family: Family,
    kernel: Kernel,
    scope: Scope,
    /// The element types in use.
    types: Vec<Type>,
    /// Statements that may still be made.
    budget: usize,
    /// The row that the thread owns.
    row: Option<Var>,
    /// Tensors that blocks write together.
    reserved: Vec<usize>,
    /// Expressions that may still be made; then all are leaves, so that a kernel has an end.
    fuel: usize,
    /// Loops around, in which `break` means something.
    loops: usize,
    /// Whether `return` may be here: not within an expression or a function, nor where threads meet.
    returns: bool,
    /// Blocks around that may be left with a value of a type.
    labels: Vec<(usize, Type)>,
    /// How many labels there are.
    labelled: usize,
    /// What `return` gives here, in a function or a closure.
    gives: Option<Type>,
    /// Whether an effect may be here: not on the right of `&&`.
    effects: bool,
    /// Whether there may be views.
    views: bool,
    /// Whether arguments and literals may be huge.
    huge: bool,
}

impl Generator {
    fn new(random: ChaCha8Rng, family: Family, seed: u64) -> Generator {
        let kernel = Kernel {
            seed,
            vars: vec![],
            tensors: vec![],
            scalars: vec![],
            dims: vec![],
            functions: vec![],
            block: 32,
            grid: 1,
            cluster: 1,
            variant_if: None,
            body: vec![],
            opaque: false,
            references: vec![],
            naturals: vec![],
            together: matches!(family, Family::Meetings | Family::Clusters | Family::Products),
        };
        let scope = Scope::default();
        let (types, budget, row, loops) = (Type::elements(), 0, None, 0);
        let reserved = vec![];
        Generator {
            random,
            family,
            kernel,
            scope,
            types,
            budget,
            row,
            reserved,
            fuel: 400,
            loops,
            returns: false,
            labels: vec![],
            labelled: 0,
            gives: None,
            effects: true,
            views: true,
            huge: false,
        }
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.random_range(0..end.max(1))
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.random.random_range(0..100) < percent
    }

    /// The depth that an expression may have.
    fn depth(&mut self, depth: usize) -> usize {
        self.fuel = self.fuel.saturating_sub(1);
        if self.fuel == 0 { 0 } else { depth }
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.random.random_range(0..list.len())]
    }

    fn between(&mut self, least: i64, most: i64) -> i64 {
        self.random.random_range(least..=most)
    }

    fn var(&mut self, ty: VarType) -> Var {
        self.kernel.vars.push(ty);
        self.kernel.vars.len() - 1
    }

    fn element_type(&mut self) -> Type {
        let types = self.types.clone();
        self.pick(&types)
    }

    /// A type of values: an element's or an index.
    fn value_type(&mut self) -> Type {
        if self.chance(if self.family == Family::Indices { 70 } else { 18 }) {
            Type::Index
        } else {
            self.element_type()
        }
    }

    fn whole(&mut self) {
        self.huge = self.family == Family::Indices && self.chance(50);
        let rows = if self.chance(10) { self.between(100, 300) } else { self.between(1, 70) };
        let bound = self.chance(25);
        self.kernel.dims.push((rows, bound));
        if self.chance(40) {
            let (extent, bound) = (self.between(1, 20), self.chance(30));
            self.kernel.dims.push((extent, bound));
        }
        self.kernel.block = match self.kernel.together {
            true => self.pick(&[32, 64, 96, 128]),
            false => self.pick(&[1, 7, 16, 32, 33, 64]),
        };
        let blocks = (rows as u32).div_ceil(self.kernel.block);
        self.kernel.grid = if self.chance(80) { blocks } else { blocks + 1 };
        if self.family == Family::Clusters {
            self.kernel.cluster = self.pick(&[2, 2, 4]);
            self.kernel.grid = self.kernel.grid.next_multiple_of(self.kernel.cluster);
        }
        if self.chance(20) {
            let (dim, by) = (self.below(self.kernel.dims.len()), self.pick(&[2, 4]));
            self.kernel.variant_if = (!self.kernel.dims[dim].1).then_some((dim, by));
        }
        for _ in 0..1 + self.below(3) {
            self.input();
        }
        for _ in 0..1 + self.below(3) {
            self.output();
        }
        for _ in 0..self.below(5) {
            let ty = self.value_type();
            let value = self.data(ty);
            self.kernel.scalars.push((ty, value));
        }
        if self.family != Family::Views {
            for _ in 0..self.below(3) {
                self.function();
            }
        }
        self.body();
    }

    /// A tensor that is read, of any rank.
    fn input(&mut self) {
        let rank = 1 + self.below(3);
        let extents: Vec<Extent> = (0..rank).map(|_| self.extent(12)).collect();
        self.tensor(extents, false);
    }

    /// A tensor whose first mode is the threads' rows.
    fn output(&mut self) {
        let mut extents = vec![Extent::Dim(0)];
        let first = self.kernel.dims.len() > 1 && !self.kernel.tensors.iter().any(|tensor| tensor.mutable);
        if first {
            // A launch takes every dimension from a tensor.
            extents.push(Extent::Dim(1));
        }
        for _ in usize::from(first)..1 + self.below(2) {
            let extent = self.extent(8);
            // A row is never as long as a tensor of rows.
            extents.push(if extent == Extent::Dim(0) { Extent::Static(5) } else { extent });
        }
        self.tensor(extents, true);
    }

    fn extent(&mut self, most: i64) -> Extent {
        match self.below(4) {
            0 => Extent::Dim(self.below(self.kernel.dims.len())),
            1 => Extent::Static(self.pick(&[4, 8])),
            _ => Extent::Static(self.between(1, most)),
        }
    }

    fn tensor(&mut self, extents: Vec<Extent>, mutable: bool) {
        let elem = self.element_type();
        let layout = match self.below(6) {
            0 => TensorLayout::ColMajor,
            1 if extents.len() == 2 => TensorLayout::Pitched(self.between(0, 5)),
            2 => TensorLayout::Strided(self.between(1, 3)),
            _ => TensorLayout::RowMajor,
        };
        let count: i64 = extents.iter().map(|extent| self.kernel.extent(*extent)).product();
        let data = (0..count).map(|_| self.data(elem)).collect();
        let aligned = self.chance(80);
        self.kernel.tensors.push(Tensor { elem, extents, layout, mutable, data, aligned });
    }

    /// A value of a tensor or of an argument.
    fn data(&mut self, ty: Type) -> Value {
        match ty.kind() {
            Kind::Bool => Value::Bool(self.chance(50)),
            Kind::Float(_) => {
                let raw = match self.below(12) {
                    0 => self.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0]),
                    1 => {
                        self.pick(&[1e-40, -3e-42, 1e300, 65504.0, 3e38, -1e-8, 6e-8, 2147483648.0, -9.3e18])
                    }
                    2 | 3 => f64::from_bits(self.random.random()),
                    4 | 5 => self.between(-200, 200) as f64 / 8.0,
                    6 => self.between(-70000, 70000) as f64,
                    _ => self.between(-9, 9) as f64,
                };
                value::cast(Type::F64, ty, Value::Float(raw))
            }
            Kind::Integer(..) => {
                let (least, most) = ty.limits();
                let raw = match self.below(6) {
                    0 => self.pick(&[least, most, least + 1, most - 1]),
                    1 => i128::from(self.random.random::<i64>()),
                    _ => i128::from(self.between(-20, 100)),
                };
                Value::Int(value::wrap(raw, ty))
            }
            Kind::Index => {
                let raw = match self.below(6) {
                    0 if self.huge => self.pick(&[
                        2_000_000_000,
                        3_037_000_500,
                        i32::MAX.into(),
                        1 << 31,
                        -(1 << 31),
                        4_294_967_295,
                        1 << 32,
                        1 << 40,
                        -(1 << 33),
                        // A launch refuses larger ones.
                        1 << 48,
                        -(1 << 48),
                    ]),
                    1 if self.huge => self.random.random::<i64>() >> self.between(17, 40),
                    2 => self.between(-9, 0),
                    _ => self.between(0, 30),
                };
                Value::Int(raw.into())
            }
        }
    }

    fn body(&mut self) {
        let row = self.var(VarType::Scalar(Type::Index));
        let block = i128::from(self.kernel.block);
        let size = Expr::Literal { ty: Type::Index, value: Value::Int(block), bare: true };
        let first = Expr::Binary(BinaryOp::Mul, Box::new([Expr::Block, size]));
        let value = Expr::Binary(BinaryOp::Add, Box::new([first, Expr::Thread]));
        let mut body = vec![Stmt::Let { var: row, mutable: false, written: false, value }];
        self.row = Some(row);
        self.scope.declare(row, false);
        self.budget = 6 + self.below(16);
        if self.kernel.together {
            self.meetings(&mut body);
            self.kernel.body = body;
            return;
        }
        self.returns = true;
        if self.chance(60) {
            let end = Expr::Dim(0);
            let inside = Expr::Binary(BinaryOp::Lt, Box::new([Expr::Var(row), end]));
            let inner = self.block(3);
            body.push(Stmt::If(inside, inner, vec![]));
        } else {
            // The masks guard what is behind the last row.
            body.extend(self.block(3));
        }
        self.kernel.body = body;
    }
}
