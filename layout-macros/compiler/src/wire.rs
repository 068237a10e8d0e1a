//! Serialisation of a kernel: the macro embeds the bytes in the program.
//!
//! Law: `decode(&encode(&k)) == Ok(k)` for every kernel. The first bytes are [`VERSION`]: a program that was built by
//! another version of the macro is refused with a message. Numbers are little-endian base-128, so most nodes of a
//! kernel take one or two bytes.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The version of the encoding. Raised with every change of [`super::ir`].
pub const VERSION: u32 = 8;

/// Why bytes are not a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireError {
    /// The bytes carry another version than this library reads.
    Version {
        /// The version found.
        found: u64,
    },
    /// The bytes end early, or hold a tag or a number that no kernel has.
    Damaged {
        /// Where, counted from the end of the bytes.
        remaining: usize,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireError::Version { found } => write!(
                f,
                "the embedded kernel has version {found} and this library reads version {VERSION}; \
                 build with layout-macros and layout-core of one version"
            ),
            WireError::Damaged { remaining } => {
                write!(f, "the embedded kernel is damaged {remaining} bytes before its end")
            }
        }
    }
}

impl std::error::Error for WireError {}

/// A value that can be written to bytes and read back.
pub trait Wire: Sized {
    /// Appends the value.
    fn put(&self, out: &mut Vec<u8>);
    /// Takes the value from the front.
    fn take(input: &mut &[u8]) -> Result<Self, WireError>;
}

/// Writes `value`, with the version in front.
pub fn encode<T: Wire>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    VERSION.put(&mut out);
    value.put(&mut out);
    out
}

/// Reads what [`encode`] wrote.
pub fn decode<T: Wire>(mut bytes: &[u8]) -> Result<T, WireError> {
    let found = u64::take(&mut bytes)?;
    if found != u64::from(VERSION) {
        return Err(WireError::Version { found });
    }
    let value = T::take(&mut bytes)?;
    if bytes.is_empty() { Ok(value) } else { Err(damaged(bytes)) }
}

pub(super) fn damaged(input: &[u8]) -> WireError {
    WireError::Damaged { remaining: input.len() }
}

impl Wire for u8 {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }
    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        let (first, rest) = input.split_first().ok_or(damaged(input))?;
        *input = rest;
        Ok(*first)
    }
}

impl Wire for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        let mut rest = *self;
        while rest >= 0x80 {
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    }
    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = u8::take(input)?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(damaged(input))
    }
}

impl Wire for u32 {
    fn put(&self, out: &mut Vec<u8>) {
        u64::from(*self).put(out);
    }
    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        u32::try_from(u64::take(input)?).map_err(|_| damaged(input))
    }
}

impl Wire for i64 {
    fn put(&self, out: &mut Vec<u8>) {
        // Zigzag: small magnitudes of either sign stay short.
        (((*self << 1) ^ (*self >> 63)) as u64).put(out);
    }
    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        let raw = u64::take(input)?;
        Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }
}

impl Wire for i128 {
    fn put(&self, out: &mut Vec<u8>) {
        let mut rest = ((*self << 1) ^ (*self >> 127)) as u128;
        while rest >= 0x80 {
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    }
    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        let mut raw = 0u128;
        for shift in (0..128).step_by(7) {
            let byte = u8::take(input)?;
            raw |= u128::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok((raw >> 1) as i128 ^ -((raw & 1) as i128));
            }
        }
        Err(damaged(input))
    }
}

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        match u8::take(input)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(damaged(input)),
        }
    }
}

impl Wire for String {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        out.extend_from_slice(self.as_bytes());
    }
    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        let length = u64::take(input)? as usize;
        if length > input.len() {
            return Err(damaged(input));
        }
        let (text, rest) = input.split_at(length);
        *input = rest;
        String::from_utf8(text.to_vec()).map_err(|_| damaged(rest))
    }
}

/// A name that lives as long as the program: each is kept once, however often it is read.
impl Wire for &'static str {
    fn put(&self, out: &mut Vec<u8>) {
        (*self).to_owned().put(out);
    }
    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let name = String::take(input)?;
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(name.as_str()) {
            return Ok(known);
        }
        let kept: &'static str = name.leak();
        names.insert(kept);
        Ok(kept)
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        self.iter().for_each(|item| item.put(out));
    }
    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        let length = u64::take(input)?;
        (0..length).map(|_| T::take(input)).collect()
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }
    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        Ok(if bool::take(input)? { Some(T::take(input)?) } else { None })
    }
}

impl<T: Wire> Wire for Box<T> {
    fn put(&self, out: &mut Vec<u8>) {
        T::put(self, out);
    }
    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        Ok(Box::new(T::take(input)?))
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }
    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        Ok((A::take(input)?, B::take(input)?))
    }
}

/// Declares a type together with its [`Wire`] form: the fields, or the variant's number and its fields, in order.
macro_rules! wire {
    ($(#[$m:meta])* pub struct $name:ident { $($(#[$fm:meta])* pub $field:ident: $ty:ty,)* }) => {
        $(#[$m])* pub struct $name { $($(#[$fm])* pub $field: $ty,)* }
        impl $crate::wire::Wire for $name {
            fn put(&self, out: &mut Vec<u8>) { $($crate::wire::Wire::put(&self.$field, out);)* }
            fn take(input: &mut &[u8]) -> Result<Self, $crate::wire::WireError> {
                Ok($name { $($field: $crate::wire::Wire::take(input)?,)* })
            }
        }
    };
    ($(#[$m:meta])* pub struct $name:ident(pub $ty:ty);) => {
        $(#[$m])* pub struct $name(pub $ty);
        impl $crate::wire::Wire for $name {
            fn put(&self, out: &mut Vec<u8>) { $crate::wire::Wire::put(&self.0, out); }
            fn take(input: &mut &[u8]) -> Result<Self, $crate::wire::WireError> {
                Ok($name($crate::wire::Wire::take(input)?))
            }
        }
    };
    ($(#[$m:meta])* pub enum $name:ident { $($(#[$vm:meta])* $variant:ident
        $(($($(#[$tm:meta])* $tuple:ident: $tty:ty),+))?
        $({ $($(#[$fm:meta])* $field:ident: $fty:ty,)+ })?,)+ }) => {
        $(#[$m])* pub enum $name { $($(#[$vm])* $variant $(($($tty),+))? $({ $($(#[$fm])* $field: $fty,)+ })?,)+ }
        impl $crate::wire::Wire for $name {
            #[allow(unused_assignments)]
            fn put(&self, out: &mut Vec<u8>) {
                let mut tag = 0u8;
                $(
                    if let $name::$variant $(($($tuple),+))? $({ $($field),+ })? = self {
                        out.push(tag);
                        $($($crate::wire::Wire::put($tuple, out);)+)?
                        $($($crate::wire::Wire::put($field, out);)+)?
                        return;
                    }
                    tag += 1;
                )+
            }
            #[allow(unused_assignments)]
            fn take(input: &mut &[u8]) -> Result<Self, $crate::wire::WireError> {
                let found = <u8 as $crate::wire::Wire>::take(input)?;
                let mut tag = 0u8;
                $(
                    if found == tag {
                        $($(let $tuple: $tty = $crate::wire::Wire::take(input)?;)+)?
                        $($(let $field: $fty = $crate::wire::Wire::take(input)?;)+)?
                        return Ok($name::$variant $(($($tuple),+))? $({ $($field),+ })?);
                    }
                    tag += 1;
                )+
                Err($crate::wire::damaged(input))
            }
        }
    };
}
pub(super) use wire;
