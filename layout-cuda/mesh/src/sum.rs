//! What ranks make together of their elements, and how the simulator computes it.
//!
//! Law: terms are taken in the order of the ranks, each rounded to the type: the same result on every run. NCCL takes its own
//! order.

use layout_cuda::{Elem, bf16, f16};

/// What is made of the elements at one place on all ranks.
///
/// ```
/// assert_eq!(layout_mesh::Reduction::Sum.to_string(), "sum");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// The least.
    Min,
    /// The greatest.
    Max,
}

impl std::fmt::Display for Reduction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Reduction::Sum => "sum",
            Reduction::Min => "min",
            Reduction::Max => "max",
        })
    }
}

fn of<T: Copy + PartialOrd>(how: Reduction, sum: impl Fn(T, T) -> T) -> impl Fn(T, T) -> T {
    move |a, b| match how {
        Reduction::Sum => sum(a, b),
        Reduction::Min if b < a => b,
        Reduction::Max if b > a => b,
        Reduction::Min | Reduction::Max => a,
    }
}

/// Takes `other` into `own`, element by element; nothing where there are no such sums.
pub(crate) fn reduce(elem: Elem, how: Reduction, own: &mut [u8], other: &[u8]) -> Option<()> {
    macro_rules! each {
        ($type:ty, $sum:expr) => {{
            const SIZE: usize = size_of::<$type>();
            let combine = of::<$type>(how, $sum);
            for (own, other) in own.chunks_exact_mut(SIZE).zip(other.chunks_exact(SIZE)) {
                let (mut a, mut b) = ([0; SIZE], [0; SIZE]);
                a.copy_from_slice(own);
                b.copy_from_slice(other);
                own.copy_from_slice(
                    &combine(<$type>::from_ne_bytes(a), <$type>::from_ne_bytes(b)).to_ne_bytes(),
                );
            }
        }};
    }
    match elem {
        Elem::F64 => each!(f64, |a, b| a + b),
        Elem::F32 => each!(f32, |a, b| a + b),
        Elem::F16 => each!(f16, |a, b| f16::from_f32(a.to_f32() + b.to_f32())),
        Elem::Bf16 => each!(bf16, |a, b| bf16::from_f32(a.to_f32() + b.to_f32())),
        Elem::I64 => each!(i64, i64::wrapping_add),
        Elem::I32 => each!(i32, i32::wrapping_add),
        Elem::I8 => each!(i8, i8::wrapping_add),
        Elem::U64 => each!(u64, u64::wrapping_add),
        Elem::U32 => each!(u32, u32::wrapping_add),
        Elem::U8 => each!(u8, u8::wrapping_add),
        _ => return None,
    }
    Some(())
}
