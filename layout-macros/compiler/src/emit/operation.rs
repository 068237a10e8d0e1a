//! Operations on more than one element, and their synchronisation, as calls of wrappers.

use super::cuda_c::Emitter;
use super::expression::Expression;
use super::names::Name;
use super::types;
use super::wrap;
use super::wrappers::{self, WGMMA};
use crate::elem::Elem;
use crate::ir::BinaryOp;
use crate::program::tensor_memory::allocated;
use crate::program::{
    Access, BarrierAt, MatrixSource, Operation, SharedMatrix, Signal, Space, Statement, StatementKind,
    StoreMatrix, Value, Wgmma,
};

impl Emitter<'_> {
    /// `head(arguments);`, and the wrapper is taken.
    pub(super) fn wrapper(&mut self, head: &str, template: &str, arguments: &[Expression]) {
        self.device.call(format!("{head}("));
        let function = format!("{head}{template}");
        self.wrapped(|room| wrap::call(&function, arguments, room));
    }

    /// `shared_address(full, stage)`
    fn barrier(&mut self, barrier: &BarrierAt) -> Expression {
        let array = self.name(Name::Place(barrier.place));
        let index = (barrier.index.as_constant() != Some(0)).then(|| self.index(&barrier.index));
        self.shared_element(array, index)
    }

    /// What orders asynchronous work.
    pub(super) fn signal(&mut self, signal: &Signal) {
        match signal {
            Signal::BarrierInit { barrier, arrivals } => {
                let arguments = [self.barrier(barrier), types::integer(i64::from(*arrivals))];
                self.wrapper("mbarrier_init", "", &arguments);
            }
            Signal::BarrierInitFence => self.wrapper("mbarrier_init_fence", "", &[]),
            Signal::BarrierArrive { barrier, expect: 0, rank: None } => {
                let barrier = self.barrier(barrier);
                self.wrapper("mbarrier_arrive", "", &[barrier]);
            }
            Signal::BarrierArrive { barrier, rank: Some(rank), .. } => {
                let arguments = [self.barrier(barrier), self.index(rank)];
                self.wrapper("mbarrier_arrive_remote", "", &arguments);
            }
            Signal::BarrierArrive { barrier, expect, rank: None } => {
                let arguments = [self.barrier(barrier), types::integer(i64::from(*expect))];
                self.wrapper("mbarrier_arrive_expect", "", &arguments);
            }
            Signal::BarrierWait { barrier, parity } => {
                let arguments = [self.barrier(barrier), self.index(parity)];
                self.wrapper("mbarrier_wait", "", &arguments);
            }
            Signal::CopyCommit => self.statement_call("copy_async_commit", "copy_async_commit();"),
            Signal::CopyWait(groups) => {
                self.statement_call("copy_async_wait", &format!("copy_async_wait<{groups}>();"));
            }
            Signal::DependencyWait => self.wrapper("grid_dependency_wait", "", &[]),
            Signal::LaunchDependents => self.wrapper("launch_dependents", "", &[]),
            Signal::MemoryFence(scope) => self.line(&format!("__threadfence{}();", scope.suffix())),
            Signal::AsyncProxyFence { global: false } => self.wrapper("fence_async_proxy", "", &[]),
            Signal::AsyncProxyFence { global: true } => self.wrapper("fence_async_proxy_global", "", &[]),
            Signal::BulkCommit => self.wrapper("bulk_commit", "", &[]),
            Signal::BulkWait { groups, read: false } => {
                self.wrapper("bulk_wait", &format!("<{groups}>"), &[])
            }
            Signal::BulkWait { groups, read: true } => {
                self.wrapper("bulk_wait_read", &format!("<{groups}>"), &[]);
            }
            Signal::MatrixFence => self.wrapper("wgmma_fence", "", &[]),
            Signal::MatrixCommit => self.wrapper("wgmma_commit", "", &[]),
            Signal::MatrixWait(groups) => self.wrapper("wgmma_wait", &format!("<{groups}>"), &[]),
            Signal::TensorAllocate { columns, address } => {
                let address = self.barrier(address);
                self.wrapper("tcgen05_allocate", &format!("<{}>", allocated(*columns)), &[address]);
            }
            Signal::TensorFree { columns, base } => {
                let base = self.name(Name::Variable(*base));
                self.wrapper("tcgen05_free", &format!("<{}>", allocated(*columns)), &[base]);
            }
            Signal::TensorCommit { barrier } => {
                let barrier = self.barrier(barrier);
                self.wrapper("tcgen05_commit", "", &[barrier]);
            }
            Signal::TensorFence { after: false } => {
                self.wrapper("tcgen05_fence_before_thread_sync", "", &[]);
            }
            Signal::TensorFence { after: true } => {
                self.wrapper("tcgen05_fence_after_thread_sync", "", &[]);
            }
            Signal::TensorWait { stores: false } => self.wrapper("tcgen05_wait_load", "", &[]),
            Signal::TensorWait { stores: true } => self.wrapper("tcgen05_wait_store", "", &[]),
            Signal::NamedBarrier { barrier, threads, waits } => {
                let arguments = [self.index(barrier), types::integer(i64::from(*threads))];
                let head = if *waits { "named_barrier" } else { "named_barrier_arrive" };
                self.wrapper(head, "", &arguments);
            }
        }
    }

    /// An operation on more than one element.
    pub(super) fn operation(&mut self, operation: &Operation) {
        match operation {
            Operation::Move { destination, source } => self.moved(destination, source),
            Operation::AsyncCopy { destination, source } => self.copied_async(destination, source),
            Operation::Mma(mma) => self.mma(mma),
            Operation::LoadMatrix(load) => self.load_matrix(load),
            Operation::Prefetch(line) => {
                let mask = self.mask(&line.mask);
                self.under(mask, |this| {
                    let address = this.address(line);
                    this.wrapper("prefetch_l2", "", &[address]);
                });
            }
            Operation::PrefetchMap(map) => {
                self.device.call("TensorMap {");
                let map = self.name(Name::Map(*map));
                self.wrapper("tensor_map_prefetch", "", &[map]);
            }
            Operation::TensorLoad(load) => {
                self.device.call("TensorMap {");
                let mut arguments = vec![
                    self.shared_address(&load.destination),
                    self.name(Name::Map(load.map)),
                    self.barrier(&load.barrier),
                ];
                let head = match load.multicast {
                    None => "tensor_load",
                    Some(blocks) => {
                        arguments.push(types::integer(i64::from(blocks)));
                        "tensor_load_multicast"
                    }
                };
                let hinted = self.with_policy(&mut arguments, load.hint);
                arguments.extend(load.coordinates.iter().map(|at| self.index(at)));
                self.wrapper(&format!("{head}{hinted}_{}d", load.coordinates.len()), "", &arguments);
            }
            Operation::RemoteStore(store) => {
                let Space::Remote { rank, .. } = self.tables.place(store.destination.place).space else {
                    return;
                };
                let head = format!("store_async_{}", 4 * store.destination.width);
                let mut arguments = vec![
                    self.address(&store.destination),
                    self.barrier(&store.barrier),
                    self.name(Name::Variable(rank)),
                ];
                for lane in 0..i64::from(store.source.width) {
                    let Ok(index) = store.source.index.plus(lane) else { return };
                    arguments.push(self.element(&Access { index, ..store.source.clone() }));
                }
                self.wrapper(&head, "", &arguments);
            }
            Operation::TensorStore(store) => {
                self.device.call("TensorMap {");
                let mut arguments = vec![self.name(Name::Map(store.map)), self.shared_address(&store.source)];
                let head = if store.adds { "tensor_add" } else { "tensor_store" };
                let hinted = self.with_policy(&mut arguments, store.hint);
                arguments.extend(store.coordinates.iter().map(|at| self.index(at)));
                self.wrapper(&format!("{head}{hinted}_{}d", store.coordinates.len()), "", &arguments);
            }
            Operation::Wgmma(product) => self.product(product),
            Operation::TensorProduct(product) => self.tensor_product(product),
            Operation::TensorMove(moved) => self.tensor_move(moved),
            Operation::StoreMatrix(store) => self.store_matrix(store),
        }
    }

    /// The words of operands in registers, of the products that follow a fence: what packs their elements comes before it, or the
    /// compiler puts a fence of its own between the products.
    pub(super) fn register_fences(&mut self, next: &[Statement<Access, Operation>]) {
        for statement in next {
            let StatementKind::Operation(Operation::Wgmma(product)) = &statement.kind else { return };
            let MatrixSource::Registers(words) = &product.a else { continue };
            if product.elem != Elem::F32 {
                for word in words {
                    let first = self.address(word);
                    self.wrapper("register_fence", "", &[first]);
                }
            }
        }
    }

    /// The descriptor by the function of this name, of `wgmma` or of `tcgen05`.
    pub(super) fn descriptor(&mut self, matrix: &SharedMatrix, function: &str) -> Expression {
        self.device.call(format!("{function}("));
        let swizzle = match matrix.swizzle_bytes {
            128 => 1,
            64 => 2,
            32 => 3,
            _ => 0,
        };
        // One 16-byte piece where the hardware reads no leading distance.
        let leading = i64::from(matrix.leading_bytes.max(16));
        // What is known now is added to the descriptor, in its units: the rest is the same for all parts of a stage.
        let bytes = i64::from(self.tables.place(matrix.first.place).elem.bytes());
        let known = matrix.first.index.offset();
        let (units, first) = match matrix.first.index.plus(-known) {
            Ok(index) if known > 0 && known * bytes % 16 == 0 => {
                (known * bytes / 16, Access { index, ..matrix.first.clone() })
            }
            _ => (0, matrix.first.clone()),
        };
        let arguments = vec![
            self.shared_address(&first),
            types::integer(leading),
            types::integer(i64::from(matrix.stride_bytes)),
            types::integer(swizzle),
        ];
        let descriptor = Expression::call(function, arguments);
        match units {
            0 => descriptor,
            units => Expression::infix(BinaryOp::Add, descriptor, types::integer(units)),
        }
    }

    fn product(&mut self, product: &Wgmma) {
        let sixteen = product.elem.bytes() == 2;
        let (depth, kind, name) = match product.elem {
            Elem::F16 => (16, "f16", "f16"),
            Elem::Bf16 => (16, "bf16", "bf16"),
            Elem::E4m3 => (32, "e4m3", "e4m3"),
            Elem::E5m2 => (32, "e5m2", "e5m2"),
            Elem::I8 => (32, "s8", "s8"),
            Elem::U8 => (32, "u8", "u8"),
            _ => (8, "tf32", "tf32"),
        };
        let half = product.n / 2;
        let registers: Vec<String> = (0..half).map(|number| format!("%{number}")).collect();
        let rows: Vec<String> = registers.chunks(16).map(|row| row.join(", ")).collect();
        let registers = rows.join(", \"\n        \"");
        let sums = Wgmma::sums(product.elem);
        // Of integers there is neither a factor nor a transposed operand.
        let (sum, constraint, factors) = match sums {
            Elem::I32 => ("s32", 'r', ""),
            _ => ("f32", 'f', ", 1, 1"),
        };
        let operands: Vec<String> =
            (0..half).map(|number| format!("\"+{constraint}\"(d[{number}])")).collect();
        let operands: Vec<String> = operands.chunks(8).map(|row| row.join(", ")).collect();
        // Registers of A take four places where a descriptor takes one.
        let in_registers = matches!(product.a, MatrixSource::Registers(_));
        let more = if in_registers { 3 } else { 0 };
        let next = |step: u32| (half + if step == 0 { 0 } else { step + more }).to_string();
        let (left, left_operands, left_place) = match in_registers {
            true => {
                let registers: Vec<String> = (0..4).map(|part| format!("%{}", half + part)).collect();
                let (parameters, [before, after]) = match product.elem {
                    Elem::F32 => ("float a0, float a1, float a2, float a3", ["__float_as_uint(", ")"]),
                    _ => ("unsigned int a0, unsigned int a1, unsigned int a2, unsigned int a3", ["", ""]),
                };
                let bits: Vec<String> = (0..4).map(|part| format!("\"r\"({before}a{part}{after})")).collect();
                (parameters, bits.join(", "), format!("{{{}}}", registers.join(", ")))
            }
            false => ("unsigned long long a", "\"l\"(a)".to_owned(), format!("%{}", next(0))),
        };
        let name = if in_registers { format!("{name}_registers") } else { name.to_owned() };
        let (template, transposed, majors) = match (sixteen, in_registers) {
            (true, true) => {
                ("template <int b_transposed>\n", format!(", %{}", next(3)), ", \"n\"(b_transposed)")
            }
            (true, false) => (
                "template <int a_transposed, int b_transposed>\n",
                format!(", %{}, %{}", next(3), next(4)),
                ", \"n\"(a_transposed), \"n\"(b_transposed)",
            ),
            (false, _) => ("", String::new(), ""),
        };
        let row = [
            ("template", template),
            ("columns", &product.n.to_string()),
            ("depth", &depth.to_string()),
            ("name", &name),
            ("half", &half.to_string()),
            ("left", left),
            ("type", kind),
            ("sums", types::scalar(sums)),
            ("sum", sum),
            ("factors", factors),
            ("registers", &format!("        \"{registers}\"")),
            ("a", &left_place),
            ("b", &format!("%{}", next(1))),
            ("accumulate", &format!("%{}", next(2))),
            ("transposed", &transposed),
            ("operands", &format!("        : {}", operands.join(",\n          "))),
            ("left_operands", &left_operands),
            ("majors", majors),
        ];
        let text = wrappers::paragraphs(WGMMA).map(|text| wrappers::fill(text, &row)).collect();
        self.device.define(text);
        let a = match &product.a {
            MatrixSource::Shared(matrix) => vec![self.descriptor(matrix, "matrix_descriptor")],
            MatrixSource::Registers(parts) if product.elem == Elem::F32 => {
                parts.iter().map(|part| self.value(&Value::Load(Box::new(part.clone())))).collect()
            }
            MatrixSource::Registers(parts) => {
                self.device.call("register_word(");
                parts
                    .iter()
                    .map(|first| Expression::call("register_word", vec![self.address(first)]))
                    .collect()
            }
        };
        let transposed = |matrix: &SharedMatrix| u32::from(!matrix.k_major);
        let template = match (&product.a, sixteen) {
            (_, false) => String::new(),
            (MatrixSource::Shared(matrix), true) => {
                format!("<{}, {}>", transposed(matrix), transposed(&product.b))
            }
            (MatrixSource::Registers(_), true) => format!("<{}>", transposed(&product.b)),
        };
        let b = self.descriptor(&product.b, "matrix_descriptor");
        let accumulate = self.value(&product.accumulate);
        let accumulator = self.place(product.accumulator.place);
        let head = format!("wgmma_m64n{}k{depth}_{name}{template}", product.n);
        let mut arguments = vec![accumulator];
        arguments.extend(a);
        arguments.extend([b, accumulate]);
        self.wrapped(|room| wrap::call(&head, &arguments, room));
    }

    fn store_matrix(&mut self, store: &StoreMatrix) {
        let pack = match self.tables.place(store.destination.place).elem {
            Elem::F16 => "pack_f16",
            _ => "pack_bf16",
        };
        self.device.call(format!("{pack}("));
        let mut arguments = vec![self.shared_address(&store.destination)];
        for pair in store.values.chunks(2) {
            let halves = pair.iter().map(|value| self.value(value)).collect();
            arguments.push(Expression::call(pack, halves));
        }
        self.wrapper("store_matrix", "", &arguments);
    }
}
