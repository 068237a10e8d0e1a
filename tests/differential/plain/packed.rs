//! The words of bytes and of 16-bit halves in plain Rust: a part of the text of random kernels, and what tests hold the language against.

macro_rules! packed {
    ($($name:ident: $ty:ident, |$a:ident, $b:ident| $lane:expr;)*) => {
        $(pub fn $name(a: u32, b: u32) -> u32 {
            let lane = |$a: $ty, $b: $ty| -> u32 { $lane };
            let mask = u32::MAX >> (u32::BITS - $ty::BITS);
            let lanes = (0..u32::BITS).step_by($ty::BITS as usize);
            lanes.map(|at| (lane((a >> at) as $ty, (b >> at) as $ty) & mask) << at).sum()
        })*

        /// The word of this name.
        pub fn packed(name: &str) -> Option<fn(u32, u32) -> u32> {
            match name {
                $(stringify!($name) => Some($name),)*
                _ => None,
            }
        }
    };
}

packed! {
    min_u8x4: u8, |a, b| a.min(b) as u32;
    min_i8x4: i8, |a, b| a.min(b) as u32;
    min_u16x2: u16, |a, b| a.min(b) as u32;
    min_i16x2: i16, |a, b| a.min(b) as u32;
    max_u8x4: u8, |a, b| a.max(b) as u32;
    max_i8x4: i8, |a, b| a.max(b) as u32;
    max_u16x2: u16, |a, b| a.max(b) as u32;
    max_i16x2: i16, |a, b| a.max(b) as u32;
    add_u8x4: u8, |a, b| a.wrapping_add(b) as u32;
    add_u16x2: u16, |a, b| a.wrapping_add(b) as u32;
    sub_u8x4: u8, |a, b| a.wrapping_sub(b) as u32;
    sub_u16x2: u16, |a, b| a.wrapping_sub(b) as u32;
    gt_u8x4: u8, |a, b| if a > b { u32::MAX } else { 0 };
    gt_i8x4: i8, |a, b| if a > b { u32::MAX } else { 0 };
    gt_u16x2: u16, |a, b| if a > b { u32::MAX } else { 0 };
    gt_i16x2: i16, |a, b| if a > b { u32::MAX } else { 0 };
    eq_u8x4: u8, |a, b| if a == b { u32::MAX } else { 0 };
    eq_u16x2: u16, |a, b| if a == b { u32::MAX } else { 0 };
}
