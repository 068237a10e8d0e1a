//! A kernel for the tests of this crate, built without the macro: `c = a * scale + b` over vectors.
//!
//! ```text
//! #[tiled_kernel(THREADS = [128, 256], block = [THREADS], grid = [(N + THREADS - 1) / THREADS],
//!                require(N != 13), variant_if(N % 4 == 0))]
//! fn scale_add<const N: usize>(a: &LayoutTensor<f32, RowMajor<N>>, b: &.., c: &mut .., scale: f32) {
//!     let i = block_idx.x * THREADS + thread_idx.x;
//!     if i < N { c[[i]] = a[[i]] * scale + b[[i]]; }
//! }
//! ```

use std::sync::OnceLock;

use layout_compiler::ir::{
    Annotation, Argument, ArgumentKind, ArgumentLayout, BinaryOp, Block, Expr, ExprId, ExprKind, Kernel,
    Local, LocalId, Parameter, Pattern, Special, Statement, StatementKind, TypeRef, VariantIf,
};
use layout_compiler::{Definition, Elem, Origin, ParamValue, Position, wire};

/// The element counts to try: none, fewer than a block, just a block, and odd ones.
pub const LENGTHS: [usize; 6] = [0, 1, 100, 128, 1000, 1001];

/// The length that the kernel's `require` refuses.
pub const REFUSED: usize = 13;

/// The kernel, as a program holds it. Every call gives the same value.
pub fn scale_add() -> &'static Definition {
    static DEFINITION: OnceLock<Definition> = OnceLock::new();
    DEFINITION.get_or_init(|| definition("scale_add", true))
}

/// The same kernel without its `if`, which reaches past the end of its tensors.
pub fn unguarded() -> &'static Definition {
    static DEFINITION: OnceLock<Definition> = OnceLock::new();
    DEFINITION.get_or_init(|| definition("unguarded", false))
}

fn definition(name: &'static str, guarded: bool) -> Definition {
    let bytes = Vec::leak(wire::encode(&kernel(name, guarded)));
    Definition { name, file: "src/kernels.rs", bytes, variants: &[] }
}

#[derive(Default)]
struct Arena(Vec<Expr>);

impl Arena {
    fn add(&mut self, kind: ExprKind) -> ExprId {
        self.0.push(Expr { kind, origin: Origin(0) });
        ExprId(self.0.len() as u32 - 1)
    }
    fn int(&mut self, value: i64) -> ExprId {
        self.add(ExprKind::Int(value.into(), None))
    }
    fn binary(&mut self, op: BinaryOp, left: ExprId, right: ExprId) -> ExprId {
        self.add(ExprKind::Binary(op, left, right))
    }
}

fn kernel(name: &str, guarded: bool) -> Kernel {
    let mut arena = Arena::default();
    let threads = arena.add(ExprKind::Parameter(0));
    let n = arena.add(ExprKind::Dim(0));
    let one = arena.int(1);
    let sum = arena.binary(BinaryOp::Add, n, threads);
    let less = arena.binary(BinaryOp::Sub, sum, one);
    let blocks = arena.binary(BinaryOp::Div, less, threads);
    let refused = arena.int(REFUSED as i64);
    let require = arena.binary(BinaryOp::Ne, n, refused);
    let four = arena.int(4);
    let remainder = arena.binary(BinaryOp::Rem, n, four);
    let zero = arena.int(0);
    let divisible = arena.binary(BinaryOp::Eq, remainder, zero);

    let block_idx = arena.add(ExprKind::Special(Special::BlockIdx, 0));
    let thread_idx = arena.add(ExprKind::Special(Special::ThreadIdx, 0));
    let first = arena.binary(BinaryOp::Mul, block_idx, threads);
    let index = arena.binary(BinaryOp::Add, first, thread_idx);
    let i = arena.add(ExprKind::Local(LocalId(0)));
    let inside = arena.binary(BinaryOp::Lt, i, n);
    let [a, b, c, scale] = [0, 1, 2, 3].map(|number| arena.add(ExprKind::Argument(number)));
    let [a, b, c] = [a, b, c].map(|view| arena.add(ExprKind::Index(view, vec![i])));
    let scaled = arena.binary(BinaryOp::Mul, a, scale);
    let value = arena.binary(BinaryOp::Add, scaled, b);

    let statement = |kind| Statement { kind, origin: Origin(0) };
    let store = statement(StatementKind::Assign { place: c, op: None, value });
    let last = match guarded {
        true => {
            let then = Block { statements: vec![store], value: None };
            statement(StatementKind::Expr(arena.add(ExprKind::If(inside, then, Block::default()))))
        }
        false => store,
    };
    let body = vec![
        statement(StatementKind::Let {
            pattern: Pattern::Local(LocalId(0)),
            ty: Annotation::Any,
            value: index,
            constant: false,
        }),
        last,
    ];
    let tensor = |name: &str, mutable| Argument {
        name: name.to_string(),
        kind: ArgumentKind::Tensor {
            elem: TypeRef::Elem(Elem::F32),
            layout: ArgumentLayout::RowMajor,
            extents: vec![n],
            mutable,
        },
        origin: Origin(0),
    };
    let scalar = Argument {
        name: "scale".to_string(),
        kind: ArgumentKind::Scalar(TypeRef::Elem(Elem::F32)),
        origin: Origin(0),
    };
    Kernel {
        name: name.to_string(),
        parameters: vec![Parameter {
            name: "THREADS".to_string(),
            values: vec![ParamValue::Int(128), ParamValue::Int(256)],
            computed: None,
            origin: Origin(0),
        }],
        filter: Vec::new(),
        dims: vec!["N".to_string()],
        types: Vec::new(),
        own_types: Vec::new(),
        arguments: vec![tensor("a", false), tensor("b", false), tensor("c", true), scalar],
        block: vec![threads],
        grid: Some(vec![blocks]),
        open_grid: false,
        cluster: Vec::new(),
        arch: None,
        min_blocks: None,
        opt_level: None,
        fast_math: None,
        deny: Vec::new(),
        cooperative: None,
        require: vec![require],
        allow: vec![],
        variant_if: vec![VariantIf { conditions: vec![divisible], deny: vec![] }],
        functions: Vec::new(),
        body: Block { statements: body, value: None },
        locals: vec![Local { name: "i".to_string(), mutable: false, left: false, origin: Origin(0) }],
        exprs: arena.0,
        signed: Vec::new(),
        positions: vec![Position { line: 7, column: 5 }],
    }
}
