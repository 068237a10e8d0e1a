//! What threads do together: collectives of a warp, atomic operations on an element.
//!
//! A collective names all 32 lanes, as its meaning asks for all of them. Sums of signed integers wrap, so they are made
//! of unsigned ones.

use super::cuda_c::Emitter;
use super::expression::Expression;
use super::types;
use crate::kernel::elem::{Constant, Elem};
use crate::kernel::index::VarId;
use crate::kernel::ir::BinaryOp;
use crate::kernel::program::{Access, AtomicChange, Collective, Ordering, Scope, Value};

impl Emitter<'_> {
    /// `float sum = warp_sum(value);`
    pub(super) fn collective(&mut self, variable: VarId, collective: Collective, parts: &[Value<Access>]) {
        let elem = parts.first().map_or(Elem::F32, |first| self.elem(first));
        let mut values: Vec<Expression> = parts.iter().map(|part| self.value(part)).collect();
        let helper = match collective {
            Collective::Shuffle => Err("__shfl_sync"),
            Collective::ShuffleUp => Err("__shfl_up_sync"),
            Collective::ShuffleDown => Err("__shfl_down_sync"),
            Collective::ShuffleXor => Err("__shfl_xor_sync"),
            Collective::Ballot => Err("__ballot_sync"),
            Collective::Any => Err("__any_sync"),
            Collective::All => Err("__all_sync"),
            Collective::ElectOne => {
                values.clear();
                Ok("elect_one")
            }
            Collective::Sum => Ok("warp_sum"),
            Collective::Max => Ok("warp_max"),
            Collective::Min => Ok("warp_min"),
            Collective::PrefixSum => Ok("warp_prefix_sum"),
        };
        let mut call = match helper {
            Ok(helper) => {
                self.device.call(format!("{helper}("));
                let unsigned = match (collective, elem) {
                    (Collective::Sum | Collective::PrefixSum, Elem::I32) => Some("unsigned int"),
                    (Collective::Sum | Collective::PrefixSum, Elem::I64) => Some("unsigned long long"),
                    _ => None,
                };
                match (unsigned, values.pop()) {
                    (Some(unsigned), Some(value)) => {
                        let sum = Expression::call(helper, vec![Expression::cast(unsigned, value)]);
                        Expression::cast(types::scalar(elem), sum)
                    }
                    (_, value) => Expression::call(helper, value.into_iter().collect()),
                }
            }
            Err(intrinsic) => {
                values.insert(0, Expression::leaf("0xffffffff"));
                Expression::call(intrinsic, values)
            }
        };
        if matches!(collective, Collective::Any | Collective::All) {
            call = Expression::infix(BinaryOp::Ne, call, types::literal(Constant::zero(Elem::I32)));
        }
        let scalar = types::scalar(self.variable_elem(variable));
        let name = self.declare(variable);
        self.set(&format!("{scalar} {name} ="), &call);
    }

    /// `atomicAdd(&counts[i], 1);`, with the mask around it and the variable before it.
    pub(super) fn atomic(
        &mut self,
        (change, scope): (AtomicChange, Scope),
        target: &Access,
        value: &Value<Access>,
        old: Option<VarId>,
    ) {
        let elem = self.tables.place(target.place).elem;
        let function = match (change, elem.is_float()) {
            (AtomicChange::Add, _) if elem == Elem::I64 => "atomic_add",
            (AtomicChange::Add, _) => "atomicAdd",
            (AtomicChange::Max, false) => "atomicMax",
            (AtomicChange::Min, false) => "atomicMin",
            (AtomicChange::Max, true) => "atomic_max",
            (AtomicChange::Min, true) => "atomic_min",
            (AtomicChange::Load(Ordering::Relaxed), _) => "load_relaxed",
            (AtomicChange::Load(Ordering::Synchronising), _) => "load_acquire",
            (AtomicChange::Store(Ordering::Relaxed), _) => "store_relaxed",
            (AtomicChange::Store(Ordering::Synchronising), _) => "store_release",
        };
        let function = match (function, scope) {
            // Made of steps of the device's scope, which holds the block's.
            ("atomic_max" | "atomic_min", Scope::Block) => function.to_owned(),
            _ => format!("{function}{}", scope.suffix()),
        };
        // What CUDA has itself is in camel case.
        if !function.contains(char::is_uppercase) {
            self.device.call(format!("{function}("));
        }
        let mask = self.mask(&target.mask);
        // What the mask says need not be said again by the loads of the operand; with a variable it is one expression.
        if mask.is_some() {
            self.guards.clone_from(&target.mask);
        }
        let value = self.value(value);
        self.guards.clear();
        let mut arguments = vec![self.address(target)];
        if !matches!(change, AtomicChange::Load(_)) {
            arguments.push(value);
        }
        let call = Expression::call(&function, arguments);
        match old {
            Some(old) => {
                let name = self.declare(old);
                let call = match mask {
                    Some(mask) => Expression::conditional(mask, call, self.value(&target.pad.value())),
                    None => call,
                };
                self.set(&format!("{} {name} =", types::scalar(elem)), &call);
            }
            None => {
                if let Some(mask) = &mask {
                    self.open("if", mask);
                    self.writer.indent();
                }
                self.line(&format!("{call};"));
                if mask.is_some() {
                    self.writer.dedent();
                    self.line("}");
                }
            }
        }
    }
}
