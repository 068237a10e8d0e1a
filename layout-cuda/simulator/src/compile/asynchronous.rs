//! Instructions of the asynchronous proxy and their synchronisation.

use super::access::Located;
use super::{Compiler, Result, malformed};
use crate::async_op::{AsyncOp, BarrierOperand, BoxOperand, LeftOperand, MatrixOperand, WgmmaOperands};
use crate::bytecode::{Bank, Op, Register, Target};
use crate::memory::tensor_map::BoxPlan;
use layout_compiler::elem::{Constant, Elem};
use layout_compiler::index::Index;
use layout_compiler::program::{
    Access, BarrierAt, MatrixSource, MissedOptimization, Operation, Pad, Part, PlaceId, RemoteStore,
    SharedMatrix, Signal, Space, Statement, StatementKind, StoreMatrix, TensorLoad, TensorStore, Wgmma, walk,
};
use std::collections::BTreeSet;

impl Compiler<'_> {
    pub(super) fn emit_async(&mut self, work: AsyncOp) {
        let number = self.program.async_ops.list.len() as u32;
        self.program.async_ops.list.push(work);
        self.emit(Op::Asynchronous { work: number });
    }

    pub(super) fn signal(&mut self, signal: &Signal) -> Result {
        let site = self.site;
        let work = match signal {
            Signal::BarrierInit { barrier, arrivals } => {
                AsyncOp::Init { barrier: self.barrier(barrier)?, arrivals: (*arrivals).max(1) }
            }
            Signal::CopyCommit => {
                self.emit(Op::Commit);
                return Ok(());
            }
            Signal::CopyWait(groups) => {
                self.emit(Op::Wait { groups: *groups });
                return Ok(());
            }
            Signal::BarrierInitFence => AsyncOp::InitFence,
            Signal::BarrierArrive { barrier, expect, rank } => {
                let barrier = self.barrier(barrier)?;
                let rank = rank.as_ref().map(|rank| self.index(rank)).transpose()?;
                AsyncOp::Arrive { barrier, expect: *expect, rank }
            }
            Signal::BarrierWait { barrier, parity } => {
                AsyncOp::Wait { barrier: self.barrier(barrier)?, parity: self.index(parity)? }
            }
            Signal::MemoryFence(scope) => {
                self.program.waits = true;
                self.program.ordered = true;
                AsyncOp::Fence { scope: *scope }
            }
            Signal::AsyncProxyFence { global } => AsyncOp::ProxyFence { global: *global },
            Signal::BulkCommit => AsyncOp::BulkCommit,
            Signal::BulkWait { groups, read } => AsyncOp::BulkWait { groups: *groups, read: *read },
            // Registers are in order here, and a launch starts after the end of the previous one.
            Signal::MatrixFence | Signal::DependencyWait | Signal::LaunchDependents => return Ok(()),
            Signal::MatrixCommit => AsyncOp::MatrixCommit { site },
            Signal::MatrixWait(groups) => AsyncOp::MatrixWait { groups: *groups, site },
            Signal::TensorAllocate { address, .. } => {
                let access = self.plain(address.place, &address.index);
                let site = self.site(Some(&access))?;
                let known = &self.program.sites[site as usize];
                if !matches!(known.target, Target::Shared(_)) || known.elem != Elem::U32 || known.len < 1 {
                    return Err(malformed("an address of tensor memory that is no shared `u32`"));
                }
                AsyncOp::TensorAllocate { src: self.take(Bank::Int, 1), site }
            }
            Signal::TensorFree { .. } => AsyncOp::TensorFree { site },
            Signal::TensorCommit { barrier } => AsyncOp::TensorCommit { barrier: self.barrier(barrier)? },
            Signal::TensorFence { after } => AsyncOp::TensorFence { after: *after, site },
            Signal::TensorWait { stores } => AsyncOp::TensorWait { stores: *stores, site },
            Signal::NamedBarrier { barrier, threads, waits } => {
                let (barrier, threads) = (self.index(barrier)?, (*threads).max(32));
                AsyncOp::Named { barrier, threads, waits: *waits, site }
            }
        };
        self.emit_async(work);
        Ok(())
    }

    pub(super) fn operation(&mut self, operation: &Operation) -> Result {
        match operation {
            Operation::Move { destination, source } => {
                let floats = (self.taken.f32, self.taken.f64);
                self.vector_move(destination, source)?;
                (self.taken.f32, self.taken.f64) = floats;
                Ok(())
            }
            Operation::AsyncCopy { destination, source } => self.copy_async(destination, source),
            Operation::Mma(mma) => self.mma(mma),
            Operation::LoadMatrix(load) => self.load_matrix(load),
            // A prefetch has no effect here.
            Operation::Prefetch(_) | Operation::PrefetchMap(_) => Ok(()),
            Operation::TensorLoad(load) => self.tensor_load(load),
            Operation::TensorStore(store) => self.tensor_store(store),
            Operation::RemoteStore(store) => self.remote_store(store),
            Operation::Wgmma(product) => self.product(product),
            Operation::TensorProduct(product) => self.tensor_product(product),
            Operation::TensorMove(moved) => self.tensor_move(moved),
            Operation::StoreMatrix(store) => self.store_matrix(store),
        }
    }

    pub(super) fn registers(&mut self, registers: u32) {
        self.emit_async(AsyncOp::Registers { registers, site: self.site });
    }

    fn barrier(&mut self, barrier: &BarrierAt) -> Result<BarrierOperand> {
        let place = self.place(barrier.place)?;
        let (shared, len) = (matches!(place.space, Space::Shared { .. }), place.len);
        if !shared || place.elem.bytes() != 8 || len > 1024 {
            return Err(malformed(format!("`{}` is no array of mbarriers", place.name)));
        }
        let number = barrier.place.0;
        let known = self.program.async_ops.barrier_names.iter().position(|(place, _)| *place == number);
        let first = known.unwrap_or_else(|| {
            let names = &mut self.program.async_ops.barrier_names;
            let first = names.len();
            names.extend((0..len as u32).map(|index| (number, index)));
            first
        });
        self.program.async_ops.barriers = self.program.async_ops.barrier_names.len() as u32;
        let access = self.plain(barrier.place, &barrier.index);
        let site = self.site(Some(&access))?;
        Ok(BarrierOperand { first: first as u32, index: self.index(&barrier.index)?, site })
    }

    pub(super) fn plain(&self, place: PlaceId, index: &Index) -> Access {
        Access {
            place,
            pointer: None,
            index: index.clone(),
            width: 1,
            unaligned: false,
            mask: Vec::new(),
            pad: Pad::Constant(Constant::zero(
                self.tables.places.get(place.0 as usize).map_or(Elem::U8, |place| place.elem),
            )),
            direct: false,
            claims: Vec::new(),
            edges: Vec::new(),
            wide: true,
            hint: None,
            loss: MissedOptimization::default(),
            origin: self.origin,
        }
    }

    fn copied_box(&mut self, map: u32, shared: &Access, coordinates: &[Index]) -> Result<BoxOperand> {
        let (Some(known), Some(bound)) = (self.maps.get(map as usize), self.bound.maps.get(map as usize))
        else {
            return Err(malformed(format!("there is no tensor map {map}")));
        };
        let plan = BoxPlan::new(known, bound).map_err(malformed)?;
        let (argument, elem) = (known.argument, known.elem);
        let place = self.tables.places.iter().position(|place| place.space == Space::Global(argument));
        let Some(place) = place.map(|place| PlaceId(place as u32)) else {
            return Err(malformed(format!("tensor map {map} is of no tensor")));
        };
        let (from, to) = (self.place(place)?.elem, self.place(shared.place)?.elem);
        if from != elem || to != elem || coordinates.len() != plan.rank() || !shared.mask.is_empty() {
            return Err(malformed(format!("a box of {elem} of a tensor of {from} and {to}")));
        }
        let tensor = self.plain(place, &Index::constant(0));
        let (global_site, shared_site) = (self.site(Some(&tensor))?, self.site(Some(shared))?);
        if !matches!(self.program.sites[shared_site as usize].target, Target::Shared(_)) {
            return Err(malformed("a box that is not in shared memory"));
        }
        let coordinates = coordinates.iter().map(|at| self.index(at)).collect::<Result<Vec<_>>>()?;
        let first = self.element(shared)?;
        self.program.async_ops.boxes.push(plan);
        let plan = self.program.async_ops.boxes.len() as u32 - 1;
        Ok(BoxOperand { plan, shared: first, shared_site, global_site, coordinates, adds: None })
    }

    fn tensor_load(&mut self, load: &TensorLoad) -> Result {
        let copy = self.copied_box(load.map, &load.destination, &load.coordinates)?;
        let barrier = self.barrier(&load.barrier)?;
        self.emit_async(AsyncOp::Load { copy, barrier, multicast: load.multicast });
        Ok(())
    }

    fn tensor_store(&mut self, store: &TensorStore) -> Result {
        let copy = self.copied_box(store.map, &store.source, &store.coordinates)?;
        let elem = self.place(store.source.place)?.elem;
        self.emit_async(AsyncOp::Store { copy: BoxOperand { adds: store.adds.then_some(elem), ..copy } });
        Ok(())
    }

    fn remote_store(&mut self, store: &RemoteStore) -> Result {
        let (to, from) = (self.place(store.destination.place)?.elem, self.place(store.source.place)?.elem);
        let width = store.source.width;
        let (read, site) = (self.site(Some(&store.source))?, self.site(Some(&store.destination))?);
        let known = self.program.sites[site as usize].rank.is_some()
            && to == from
            && from.bytes() == 4
            && matches!(width, 1 | 2 | 4)
            && store.destination.width == width
            && store.destination.mask.is_empty();
        let Located::Registers { first, slot } = self.locate(&store.source, read)? else {
            return Err(malformed("an asynchronous store of no registers"));
        };
        if !known {
            return Err(malformed(format!("an asynchronous store of {width} elements of {from}")));
        }
        (0..width).for_each(|number| self.check_initialised(Some(slot + number), read));
        let address = self.element(&store.destination)?;
        let barrier = self.barrier(&store.barrier)?;
        self.emit_async(AsyncOp::RemoteStore {
            src: first,
            floats: Bank::of(from) == Bank::F32,
            address,
            site,
            barrier,
        });
        Ok(())
    }

    pub(super) fn matrix(&mut self, matrix: &SharedMatrix, elem: Elem) -> Result<MatrixOperand> {
        let site = self.site(Some(&matrix.first))?;
        let known = &self.program.sites[site as usize];
        let shared = matches!(known.target, Target::Shared(_));
        if !shared || known.elem != elem || !matches!(matrix.swizzle_bytes, 32 | 64 | 128) {
            return Err(malformed(format!("an operand of {elem} of a product")));
        }
        Ok(MatrixOperand {
            first: self.element(&matrix.first)?,
            site,
            k_major: matrix.k_major,
            swizzle_bytes: matrix.swizzle_bytes,
            leading_bytes: matrix.leading_bytes,
            stride_bytes: matrix.stride_bytes,
        })
    }

    fn product(&mut self, product: &Wgmma) -> Result {
        let (n, elem) = (product.n, product.elem);
        let site = self.site(Some(&product.accumulator))?;
        let known = &self.program.sites[site as usize];
        let (target, len) = (known.target, known.len);
        let first = product.accumulator.index.as_constant().unwrap_or(-1);
        let sums = known.elem;
        let (Target::Local { register, slot }, true) = (target, sums == Wgmma::sums(elem)) else {
            return Err(malformed(format!("an accumulator of {sums} that is no local tensor")));
        };
        let multiplied = matches!(
            elem,
            Elem::F32 | Elem::F16 | Elem::Bf16 | Elem::E4m3 | Elem::E5m2 | Elem::I8 | Elem::U8
        );
        if !multiplied || !Wgmma::has_columns(elem, n.into()) || first < 0 || first + i64::from(n / 2) > len {
            return Err(malformed(format!("a product of {n} columns of {elem}")));
        }
        let a = match &product.a {
            MatrixSource::Shared(matrix) => LeftOperand::Shared(self.matrix(matrix, elem)?),
            MatrixSource::Registers(parts) => {
                let mut registers = Vec::new();
                let elements = parts.iter().flat_map(|word| {
                    let lanes = 0..i64::from(word.width);
                    lanes.filter_map(|lane| {
                        Some(Access { index: word.index.plus(lane).ok()?, width: 1, ..word.clone() })
                    })
                });
                for part in elements {
                    match self.load(&part)? {
                        (Register::F32(register), found) if found == elem => registers.push(register),
                        (_, found) => {
                            return Err(malformed(format!("an operand of {found} for {elem}")));
                        }
                    }
                }
                LeftOperand::Registers(registers)
            }
        };
        let b = self.matrix(&product.b, elem)?;
        let accumulate = self.condition(&product.accumulate)?;
        let (register, slot) = (register + first as u32, slot + first as u32);
        self.emit_async(AsyncOp::Product(Box::new(WgmmaOperands {
            n,
            elem,
            register,
            slot,
            site,
            a,
            b,
            accumulate,
        })));
        Ok(())
    }

    fn store_matrix(&mut self, store: &StoreMatrix) -> Result {
        let site = self.site(Some(&store.destination))?;
        let known = &self.program.sites[site as usize];
        let fits = matches!(known.target, Target::Shared(_)) && known.elem.bytes() == 2 && known.width == 8;
        if !fits || store.values.len() != 8 || !store.destination.mask.is_empty() {
            return Err(malformed("a store of matrices that are not 8 x 8 of 2 bytes".to_owned()));
        }
        let floats = (self.taken.f32, self.taken.f64);
        let (src, dst) = (self.take(Bank::F32, 8), self.take(Bank::F32, 8));
        for (number, value) in store.values.iter().enumerate() {
            self.assign(Register::F32(src + number as u32), value)?;
        }
        let address = self.element(&store.destination)?;
        self.emit_async(AsyncOp::StoreMatrix { src, dst, address, site });
        (self.taken.f32, self.taken.f64) = floats;
        Ok(())
    }

    /// Checks accesses to accumulators, which may be in flight.
    pub(super) fn check_accumulator(&mut self, place: PlaceId, slot: u32, width: u32, site: u32) {
        if self.program.findings && self.accumulators.contains(&place) {
            self.emit_async(AsyncOp::Touched { slot, width, site });
        }
    }
}

/// The accumulators of wgmmas, and the registers of moves of tensor memory.
pub(super) fn accumulators(body: &[Statement<Access, Operation>]) -> BTreeSet<PlaceId> {
    let mut places = BTreeSet::new();
    walk::statements(body, &mut |part| {
        if let Part::Statement(statement) = part
            && let StatementKind::Operation(operation) = &statement.kind
        {
            if let Operation::Wgmma(product) = operation {
                places.insert(product.accumulator.place);
            } else if let Operation::TensorMove(moved) = operation {
                places.insert(moved.registers.place);
            }
        }
    });
    places
}
