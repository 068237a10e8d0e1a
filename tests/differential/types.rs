//! The types of the generated kernels, as data: a new one is a row of the table.

use layout_compiler::Elem;

/// A type of the kernel language. The order is that of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    F64,
    F32,
    F16,
    Bf16,
    I64,
    U64,
    I32,
    U32,
    I16,
    U16,
    I8,
    U8,
    Bool,
    /// `isize`: an index of 64 bits, with a sign.
    Index,
}

/// What kind of number it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// With so many bytes.
    Float(usize),
    /// With so many bits, and whether it has a sign.
    Integer(u32, bool),
    Bool,
    Index,
}

use Type::*;

/// Each type, its name, and its kind.
const TABLE: [(Type, &str, Kind); 14] = [
    (F64, "f64", Kind::Float(8)),
    (F32, "f32", Kind::Float(4)),
    (F16, "f16", Kind::Float(2)),
    (Bf16, "bf16", Kind::Float(2)),
    (I64, "i64", Kind::Integer(64, true)),
    (U64, "u64", Kind::Integer(64, false)),
    (I32, "i32", Kind::Integer(32, true)),
    (U32, "u32", Kind::Integer(32, false)),
    (I16, "i16", Kind::Integer(16, true)),
    (U16, "u16", Kind::Integer(16, false)),
    (I8, "i8", Kind::Integer(8, true)),
    (U8, "u8", Kind::Integer(8, false)),
    (Bool, "bool", Kind::Bool),
    (Index, "isize", Kind::Index),
];

impl Type {
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    pub fn kind(self) -> Kind {
        TABLE[self as usize].2
    }

    /// The language's own word for it; `None` for an index, and for a type that the language lacks.
    pub fn elem(self) -> Option<Elem> {
        Elem::from_name(self.name())
    }

    /// The element types in use.
    pub fn elements() -> Vec<Type> {
        TABLE.iter().map(|row| row.0).filter(|ty| ty.elem().is_some()).collect()
    }

    /// The unsigned integer of as many bits.
    pub fn unsigned(self) -> Type {
        match self.bytes() {
            1 => U8,
            2 => U16,
            4 => U32,
            _ => U64,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float(_))
    }

    pub fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Integer(..))
    }

    pub fn is_signed(self) -> bool {
        match self.kind() {
            Kind::Float(_) | Kind::Index => true,
            Kind::Integer(_, signed) => signed,
            Kind::Bool => false,
        }
    }

    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self.kind() {
            Kind::Float(bytes) => bytes,
            Kind::Integer(bits, _) => bits as usize / 8,
            Kind::Bool => 1,
            Kind::Index => 8,
        }
    }

    /// Whether Rust itself has no such type, so that `.cast::<T>()` converts and not `as`.
    pub fn is_half(self) -> bool {
        matches!(self, F16 | Bf16)
    }

    /// The least and the largest value of an integer type.
    pub fn limits(self) -> (i128, i128) {
        match self.kind() {
            Kind::Integer(bits, true) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            Kind::Integer(bits, false) => (0, (1 << bits) - 1),
            Kind::Bool => (0, 1),
            Kind::Float(_) | Kind::Index => (i128::from(i64::MIN), i128::from(i64::MAX)),
        }
    }
}
