//! Registers of a warp: four banks of 32 lanes, and sums of integer registers.

use layout_compiler::elem::{Elem, Format};

/// Threads of a warp.
pub(crate) const LANES: usize = 32;

/// The mask of all lanes.
pub(crate) const FULL: u32 = u32::MAX;

/// `vector + scalar + constant`, modulo 2⁶⁴.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Sum {
    /// An integer register with a value for each lane.
    pub vector: Option<u32>,
    /// A scalar register with a value for the warp.
    pub scalar: Option<u32>,
    pub constant: i64,
}

impl Sum {
    pub(crate) const fn constant(constant: i64) -> Sum {
        Sum { vector: None, scalar: None, constant }
    }
    pub(crate) const fn vector(register: u32) -> Sum {
        Sum { vector: Some(register), scalar: None, constant: 0 }
    }
    pub(crate) const fn scalar(register: u32) -> Sum {
        Sum { vector: None, scalar: Some(register), constant: 0 }
    }
    /// The constant, if there is no register.
    pub(crate) fn as_constant(self) -> Option<i64> {
        (self.vector.is_none() && self.scalar.is_none()).then_some(self.constant)
    }
    pub(crate) fn uniform(self) -> bool {
        self.vector.is_none()
    }
}

/// A value: a register of one of the four banks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Register {
    F32(u32),
    F64(u32),
    /// Integers of any type, sign- or zero-extended to 64 bits.
    Int(Sum),
    /// One bit for each lane.
    Mask(u32),
}

impl Register {
    /// The register `count` positions later.
    pub(crate) fn after(self, count: u32) -> Register {
        match self {
            Register::F32(number) => Register::F32(number + count),
            Register::F64(number) => Register::F64(number + count),
            Register::Int(sum) => Register::Int(Sum { vector: sum.vector.map(|at| at + count), ..sum }),
            Register::Mask(number) => Register::Mask(number + count),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Bank {
    F32,
    F64,
    Int,
    Mask,
}

impl Bank {
    /// The bank of an element type; small floats are stored as `f32`.
    pub(crate) fn of(elem: Elem) -> Bank {
        match elem.format() {
            Format::Float if elem == Elem::F64 => Bank::F64,
            Format::Float | Format::SmallFloat(_) => Bank::F32,
            Format::Signed | Format::Unsigned => Bank::Int,
            Format::Truth => Bank::Mask,
        }
    }

    pub(crate) fn register(self, number: u32) -> Register {
        match self {
            Bank::F32 => Register::F32(number),
            Bank::F64 => Register::F64(number),
            Bank::Int => Register::Int(Sum::vector(number)),
            Bank::Mask => Register::Mask(number),
        }
    }
}
