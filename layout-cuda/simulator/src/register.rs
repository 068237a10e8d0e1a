//! Registers of a warp: four banks of 32 lanes, and sums of integer registers.

use layout_compiler::elem::{Elem, Format};

/// Threads of a warp.
pub(crate) const LANES: usize = 32;

/// Every lane active.
pub(crate) const FULL: u32 = u32::MAX;

/// `vector + scalar + constant`, of mathematical integers; the sum wraps at 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Sum {
    /// An integer register, one value a lane.
    pub vector: Option<u32>,
    /// A scalar register, one value for the warp.
    pub scalar: Option<u32>,
    /// A number.
    pub constant: i64,
}

impl Sum {
    /// A number.
    pub(crate) const fn constant(constant: i64) -> Sum {
        Sum { vector: None, scalar: None, constant }
    }
    /// An integer register.
    pub(crate) const fn vector(register: u32) -> Sum {
        Sum { vector: Some(register), scalar: None, constant: 0 }
    }
    /// A scalar register.
    pub(crate) const fn scalar(register: u32) -> Sum {
        Sum { vector: None, scalar: Some(register), constant: 0 }
    }
    /// The number, where it is nothing else.
    pub(crate) fn as_constant(self) -> Option<i64> {
        (self.vector.is_none() && self.scalar.is_none()).then_some(self.constant)
    }
    /// Whether all lanes have the same value.
    pub(crate) fn uniform(self) -> bool {
        self.vector.is_none()
    }
}

/// A value: a register of one of the four banks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Register {
    /// 32 single-precision floats.
    F32(u32),
    /// 32 double-precision floats.
    F64(u32),
    /// 32 integers of any type, sign- or zero-extended to 64 bits.
    Int(Sum),
    /// 32 truth values, a bit each.
    Mask(u32),
}

impl Register {
    /// The one so many further of its bank; of integers that are no register itself.
    pub(crate) fn after(self, count: u32) -> Register {
        match self {
            Register::F32(number) => Register::F32(number + count),
            Register::F64(number) => Register::F64(number + count),
            Register::Int(sum) => Register::Int(Sum { vector: sum.vector.map(|at| at + count), ..sum }),
            Register::Mask(number) => Register::Mask(number + count),
        }
    }
}

/// Which bank an element type lives in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Bank {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// Integers.
    Int,
    /// Truth values.
    Mask,
}

impl Bank {
    /// The bank of an element type; the small floats are kept as `f32`.
    pub(crate) fn of(elem: Elem) -> Bank {
        match elem.format() {
            Format::Float if elem == Elem::F64 => Bank::F64,
            Format::Float | Format::SmallFloat(_) => Bank::F32,
            Format::Signed | Format::Unsigned => Bank::Int,
            Format::Truth => Bank::Mask,
        }
    }

    /// Register `number` of the bank.
    pub(crate) fn register(self, number: u32) -> Register {
        match self {
            Bank::F32 => Register::F32(number),
            Bank::F64 => Register::F64(number),
            Bank::Int => Register::Int(Sum::vector(number)),
            Bank::Mask => Register::Mask(number),
        }
    }
}
