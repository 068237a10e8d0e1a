//! Collectives of a warp, and atomic operations on an element.
//!
//! A collective names all 32 lanes, since its meaning requires all of them. Sums of signed integers wrap, so they are
//! computed in unsigned types. Types narrower than 32 bits are combined in 32 bits, for which there is one
//! instruction.

use super::cuda_c::Emitter;
use super::expression::Expression;
use super::types;
use crate::elem::{Constant, Elem};
use crate::index::VarId;
use crate::ir::BinaryOp;
use crate::program::{Access, AtomicChange, Collective, Ordering, Scope, Value};

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
            Collective::MatchAny => Err("__match_any_sync"),
            Collective::MatchAll => Ok("match_all"),
            Collective::Sum
            | Collective::Max
            | Collective::Min
            | Collective::And
            | Collective::Or
            | Collective::Xor
            | Collective::PrefixSum => Ok(collective.name()),
        };
        let mut call = match helper {
            Ok(helper) => {
                let of = combined_as(collective, elem);
                let one = of.bits() == 32 && of.is_integer() && collective != Collective::PrefixSum;
                let parameter = match collective {
                    Collective::ElectOne => ")",
                    Collective::MatchAll => "T ",
                    _ if one => &format!("{} ", types::scalar(of)),
                    _ => "T ",
                };
                self.device.call(format!("{helper}({parameter}"));
                match values.pop() {
                    Some(value) if of != elem => {
                        let all = Expression::call(helper, vec![Expression::cast(types::scalar(of), value)]);
                        Expression::cast(types::scalar(elem), all)
                    }
                    value => Expression::call(helper, value.into_iter().collect()),
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
        mask: Option<Expression>,
        (change, scope): (AtomicChange, Scope),
        target: &Access,
        values: &[Value<Access>],
        old: Option<VarId>,
    ) {
        let elem = self.tables.place(target.place).elem;
        let function = match (change, elem.is_float()) {
            (AtomicChange::Add, _) if elem == Elem::I64 => "atomic_add",
            (AtomicChange::Add, _) => "atomicAdd",
            (AtomicChange::And, _) if elem == Elem::I64 => "atomic_and",
            (AtomicChange::And, _) => "atomicAnd",
            (AtomicChange::Or, _) if elem == Elem::I64 => "atomic_or",
            (AtomicChange::Or, _) => "atomicOr",
            (AtomicChange::Xor, _) if elem == Elem::I64 => "atomic_xor",
            (AtomicChange::Xor, _) => "atomicXor",
            (AtomicChange::Max, false) => "atomicMax",
            (AtomicChange::Min, false) => "atomicMin",
            (AtomicChange::Max, true) => "atomic_max",
            (AtomicChange::Min, true) => "atomic_min",
            (AtomicChange::Exchange, _) if matches!(elem, Elem::I64 | Elem::F64) => "atomic_exchange",
            (AtomicChange::Exchange, _) => "atomicExch",
            (AtomicChange::CompareExchange, _) if matches!(elem, Elem::I32 | Elem::U32 | Elem::U64) => {
                "atomicCAS"
            }
            (AtomicChange::CompareExchange, _) => "atomic_compare_exchange",
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
        let values: Vec<Expression> = values.iter().map(|value| self.value(value)).collect();
        let mut arguments = vec![self.address(target)];
        arguments.extend(values);
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
            None => self.under(mask, |this| this.line(&format!("{call};"))),
        }
    }
}

/// The type in which the values of a warp are combined.
fn combined_as(collective: Collective, elem: Elem) -> Elem {
    let signed = match collective {
        Collective::Max | Collective::Min => elem.is_signed(),
        Collective::Sum | Collective::PrefixSum | Collective::And | Collective::Or | Collective::Xor => false,
        _ => return elem,
    };
    match (elem.is_integer(), elem.bits(), signed) {
        (false, ..) => elem,
        (true, 64, true) => Elem::I64,
        (true, 64, false) => Elem::U64,
        (true, _, true) => Elem::I32,
        (true, _, false) => Elem::U32,
    }
}
