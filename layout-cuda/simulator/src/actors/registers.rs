//! Register instructions of a warp.
//!
//! Law: they change the active lanes of the destination only.

use super::elementwise;
use crate::arithmetic::{compared, doubles, float_to_integer, floats, integers};
use crate::bytecode::{Bank, LANES, Op, Register};
use crate::machine::Machine;
use crate::report::FindingKind;
use crate::state::warp::{Warp, put};
use layout_compiler::elem::Elem;
use layout_compiler::ir::BinaryOp;
use layout_compiler::small_float;

impl Machine<'_> {
    /// Executes a register instruction; false for any other.
    #[inline]
    pub(crate) fn compute(&mut self, warp: &mut Warp, op: &Op) -> bool {
        match *op {
            Op::Scalar { dst, op, a, b, site } => {
                let (a, b) = (warp.uniform(a), warp.uniform(b));
                let value = op.apply(a, b);
                if value.is_none() && warp.active != 0 {
                    self.division(warp, site, warp.active, a);
                }
                warp.scalars[dst as usize] = value.unwrap_or(0);
            }
            Op::Vector { dst, op, a, b, site } => {
                let (a, b) = (warp.lanes(a), warp.lanes(b));
                let (value, failed) = op.lanes(&a, &b);
                self.division_lanes(warp, site, failed, &a);
                put(&mut warp.int[dst as usize], &value, warp.active);
            }
            Op::Int { dst, op, a, b, elem, site } => {
                let (a, b) = (warp.lanes(a), warp.lanes(b));
                let (value, failed) = integers(op, &a, &b, elem);
                self.division_lanes(warp, site, failed, &a);
                put(&mut warp.int[dst as usize], &value, warp.active);
            }
            Op::Math { dst, function, operands, elem } => {
                elementwise::math(warp, dst, function, operands, elem);
            }
            Op::Wrap { dst, a, elem } => {
                let mut value = warp.lanes(a);
                if elem != Elem::I64 {
                    value = value.map(|value| elem.wrap(value));
                }
                put(&mut warp.int[dst as usize], &value, warp.active);
            }
            Op::ConstantF32 { dst, value } => {
                put(&mut warp.f32[dst as usize], &[value; LANES], warp.active);
            }
            Op::ConstantF64 { dst, value } => {
                put(&mut warp.f64[dst as usize], &[value; LANES], warp.active);
            }
            Op::ConstantMask { dst, value } => warp.put_mask(dst, value),
            Op::F32 { dst, op, a, b, c } => {
                let file = &warp.f32;
                let value = floats(op, &file[a as usize], &file[b as usize], &file[c as usize]);
                put(&mut warp.f32[dst as usize], &value, warp.active);
            }
            Op::F64 { dst, op, a, b, c } => {
                let file = &warp.f64;
                let value = doubles(op, &file[a as usize], &file[b as usize], &file[c as usize]);
                put(&mut warp.f64[dst as usize], &value, warp.active);
            }
            Op::Round { dst, elem } => {
                let value = warp.f32[dst as usize].map(|value| small_float::round(value, elem));
                put(&mut warp.f32[dst as usize], &value, warp.active);
            }
            Op::MaskBinary { dst, op, a, b } => {
                let (a, b) = (warp.mask[a as usize], warp.mask[b as usize]);
                let value = match op {
                    BinaryOp::BitOr => a | b,
                    BinaryOp::BitXor => a ^ b,
                    _ => a & b,
                };
                warp.put_mask(dst, value);
            }
            Op::MaskNot { dst, a } => warp.put_mask(dst, !warp.mask[a as usize]),
            Op::CompareInt { dst, op, a, b } => {
                let value = if a.uniform() && b.uniform() {
                    if op.compare(&warp.uniform(a), &warp.uniform(b)) { u32::MAX } else { 0 }
                } else {
                    compared(op, &warp.lanes(a), &warp.lanes(b))
                };
                warp.put_mask(dst, value);
            }
            Op::CompareF32 { dst, op, a, b } => {
                warp.put_mask(dst, compared(op, &warp.f32[a as usize], &warp.f32[b as usize]));
            }
            Op::CompareF64 { dst, op, a, b } => {
                warp.put_mask(dst, compared(op, &warp.f64[a as usize], &warp.f64[b as usize]));
            }
            Op::Select { dst, condition, then, otherwise } => select(warp, dst, condition, then, otherwise),
            Op::Cast { dst, from, natural, elem } => cast(warp, dst, from, natural, elem),
            Op::Poison { bank, dst } => warp.poison(bank, dst, warp.active),
            _ => return false,
        }
        true
    }

    fn division_lanes(&self, warp: &Warp, site: u32, failed: u32, a: &[i64; LANES]) {
        let failed = failed & warp.active;
        if failed != 0 {
            self.division(warp, site, failed, a[failed.trailing_zeros() as usize]);
        }
    }

    fn division(&self, warp: &Warp, site: u32, lanes: u32, dividend: i64) {
        self.report(FindingKind::DivisionByZero, site, warp.number, lanes, None, |_| {
            format!("{dividend} is divided by zero")
        });
    }
}

fn select(warp: &mut Warp, dst: u32, condition: u32, then: Register, otherwise: Register) {
    let (taken, active) = (warp.mask[condition as usize], warp.active);
    fn pick<T: Copy>(mut value: [T; LANES], other: &[T; LANES], taken: u32) -> [T; LANES] {
        put(&mut value, other, !taken);
        value
    }
    match (then, otherwise) {
        (Register::F32(a), Register::F32(b)) => {
            let value = pick(warp.f32[a as usize], &warp.f32[b as usize], taken);
            put(&mut warp.f32[dst as usize], &value, active);
        }
        (Register::F64(a), Register::F64(b)) => {
            let value = pick(warp.f64[a as usize], &warp.f64[b as usize], taken);
            put(&mut warp.f64[dst as usize], &value, active);
        }
        (Register::Int(a), Register::Int(b)) => {
            let value = pick(warp.lanes(a), &warp.lanes(b), taken);
            put(&mut warp.int[dst as usize], &value, active);
        }
        (Register::Mask(a), Register::Mask(b)) => {
            let (a, b) = (warp.mask[a as usize], warp.mask[b as usize]);
            warp.put_mask(dst, a & taken | b & !taken);
        }
        // The compiler gives both the same bank.
        (Register::F32(_) | Register::F64(_) | Register::Int(_) | Register::Mask(_), _) => {}
    }
}

fn cast(warp: &mut Warp, dst: u32, from: Register, natural: bool, elem: Elem) {
    let active = warp.active;
    let bank = Bank::of(elem);
    let integers = match from {
        Register::Int(sum) => warp.lanes(sum),
        Register::Mask(mask) => {
            let mask = warp.mask[mask as usize];
            std::array::from_fn(|lane| i64::from(mask >> lane & 1))
        }
        Register::F32(_) | Register::F64(_) => {
            let wide: [f64; LANES] = match from {
                Register::F32(a) => warp.f32[a as usize].map(f64::from),
                Register::F64(a) => warp.f64[a as usize],
                Register::Int(_) | Register::Mask(_) => [0.0; LANES],
            };
            match bank {
                Bank::F32 => {
                    // Rounded to odd, since the result is rounded again to 16 or 8 bits.
                    let single = if elem == Elem::F32 { |value| value as f32 } else { small_float::to_odd };
                    put(&mut warp.f32[dst as usize], &wide.map(single), active);
                    return;
                }
                Bank::F64 => {
                    put(&mut warp.f64[dst as usize], &wide, active);
                    return;
                }
                Bank::Int | Bank::Mask => wide.map(|value| float_to_integer(value, elem)),
            }
        }
    };
    match bank {
        Bank::F32 => {
            let whole =
                integers.map(|value| if natural { i128::from(value as u64) } else { i128::from(value) });
            let single = if elem == Elem::F32 { |value| value as f32 } else { small_float::integer_to_odd };
            put(&mut warp.f32[dst as usize], &whole.map(single), active);
        }
        Bank::F64 => {
            let value = integers.map(|value| if natural { value as u64 as f64 } else { value as f64 });
            put(&mut warp.f64[dst as usize], &value, active);
        }
        Bank::Int => {
            put(&mut warp.int[dst as usize], &integers.map(|value| elem.wrap(value)), active);
        }
        Bank::Mask => {
            let value = compared(BinaryOp::Ne, &integers, &[0; LANES]);
            warp.put_mask(dst, value);
        }
    }
}
