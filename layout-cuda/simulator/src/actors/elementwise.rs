//! Elementwise functions on the lanes of a warp.
//!
//! Law: the meaning is [`layout_compiler::meaning`]; floats of 16 and 8 bits are computed as `f32`, and the caller
//! rounds.

use crate::bytecode::{Bank, LANES, Register};
use crate::state::warp::{Warp, put};
use layout_compiler::elem::Elem;
use layout_compiler::math::Math;
use layout_compiler::meaning::{Float, integer};
use layout_compiler::small_float;

pub(crate) fn math(warp: &mut Warp, dst: u32, function: Math, operands: [Register; 3], elem: Elem) {
    let active = warp.active;
    let integers = |register: Register| match register {
        Register::Int(sum) => warp.lanes(sum),
        Register::F32(_) | Register::F64(_) | Register::Mask(_) => [0; LANES],
    };
    let [_, second, third] = operands;
    match (Bank::of(function.result().of(elem)), operands[0]) {
        (Bank::F32, Register::F32(_)) if function == Math::FromBits => {
            let value = integers(second).map(|bits| small_float::decode(bits as u32, elem));
            put(&mut warp.f32[dst as usize], &value, active);
        }
        (Bank::F64, Register::F64(_)) if function == Math::FromBits => {
            let value = integers(second).map(|bits| f64::from_bits(bits as u64));
            put(&mut warp.f64[dst as usize], &value, active);
        }
        (Bank::F32, Register::F32(a)) => {
            let (from, n) = ([a, number(second, a), number(third, a)], integers(second));
            floats(function, &mut warp.f32, (dst, from), &n, active);
        }
        (Bank::F64, Register::F64(a)) => {
            let (from, n) = ([a, number(second, a), number(third, a)], integers(second));
            floats(function, &mut warp.f64, (dst, from), &n, active);
        }
        (Bank::Int, Register::F32(a)) => {
            let value = warp.f32[a as usize].map(|value| small_float::held(value, elem).into());
            put(&mut warp.int[dst as usize], &value, active);
        }
        (Bank::Int, Register::F64(a)) => {
            let value = warp.f64[a as usize].map(|value| value.to_bits() as i64);
            put(&mut warp.int[dst as usize], &value, active);
        }
        (Bank::Mask, Register::F32(a)) => {
            let lanes = warp.f32[a as usize];
            warp.put_mask(dst, mask(|lane| f32::test(function, lanes[lane])));
        }
        (Bank::Mask, Register::F64(a)) => {
            let lanes = warp.f64[a as usize];
            warp.put_mask(dst, mask(|lane| f64::test(function, lanes[lane])));
        }
        (Bank::Int, Register::Int(a)) => {
            let (a, b, c) = (warp.lanes(a), integers(second), integers(third));
            let value = std::array::from_fn(|i| integer(function, elem, [a[i], b[i], c[i]]).unwrap_or(0));
            put(&mut warp.int[dst as usize], &value, active);
        }
        (Bank::Mask, Register::Int(a)) => {
            let a = warp.lanes(a);
            warp.put_mask(dst, mask(|lane| integer(function, elem, [a[lane], 0, 0]) == Some(1)));
        }
        // The compiler emits no other pair.
        (_, Register::F32(_) | Register::F64(_) | Register::Int(_) | Register::Mask(_)) => {}
    }
}

/// The number of a float register, or a default.
fn number(register: Register, otherwise: u32) -> u32 {
    match register {
        Register::F32(number) | Register::F64(number) => number,
        Register::Int(_) | Register::Mask(_) => otherwise,
    }
}

#[inline]
fn floats<T: Float>(
    function: Math,
    all: &mut [[T; LANES]],
    (dst, from): (u32, [u32; 3]),
    n: &[i64; LANES],
    active: u32,
) {
    let [a, b, c] = from.map(|register| &all[register as usize]);
    let of = |lane: usize| T::apply(function, a[lane], b[lane], c[lane], n[lane] as i32).unwrap_or(a[lane]);
    let value: [T; LANES] = std::array::from_fn(of);
    put(&mut all[dst as usize], &value, active);
}

fn mask(holds: impl Fn(usize) -> bool) -> u32 {
    (0..LANES).fold(0, |bits, lane| bits | u32::from(holds(lane)) << lane)
}
