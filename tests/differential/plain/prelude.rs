//! What the text of a random kernel needs to be a program of plain Rust: one thread after the other.

use std::cell::Cell;

thread_local! {
    static THREAD: Cell<[isize; 2]> = const { Cell::new([0; 2]) };
}

/// `thread_idx.x`
pub fn thread() -> isize {
    THREAD.get()[0]
}

/// `block_idx.x`
pub fn block() -> isize {
    THREAD.get()[1]
}

/// Runs a kernel's threads.
pub fn run(grid: isize, block: isize, kernel: impl Fn()) {
    for number in 0..grid * block {
        THREAD.set([number % block, number / block]);
        kernel();
    }
}

/// A tensor, the last coordinate fastest. What is outside reads as 0 and is not written.
pub struct Tensor<T> {
    extents: Vec<isize>,
    elements: Vec<Cell<T>>,
}

impl<T: Copy + Default> Tensor<T> {
    pub fn new(extents: &[isize], bytes: &mut &[u8], of: fn(&[u8]) -> T) -> Tensor<T> {
        let count = extents.iter().product::<isize>() as usize * size_of::<T>();
        let (own, rest) = bytes.split_at(count);
        *bytes = rest;
        let elements = own.chunks(size_of::<T>()).map(|bytes| Cell::new(of(bytes))).collect();
        Tensor { extents: extents.to_vec(), elements }
    }

    fn element<const N: usize>(&self, at: [isize; N]) -> Option<&Cell<T>> {
        let mut number = 0;
        for (at, extent) in at.into_iter().zip(&self.extents) {
            if at < 0 || at >= *extent {
                return None;
            }
            number = number * extent + at;
        }
        self.elements.get(number as usize)
    }

    pub fn at<const N: usize>(&self, at: [isize; N]) -> T {
        self.element(at).map_or(T::default(), Cell::get)
    }

    pub fn put<const N: usize>(&self, at: [isize; N], value: T) {
        if let Some(element) = self.element(at) {
            element.set(value);
        }
    }

    pub fn elements(&self) -> impl Iterator<Item = T> + '_ {
        self.elements.iter().map(Cell::get)
    }
}

macro_rules! atomics {
    ($($ty:ty)*) => {$(
        impl Tensor<$ty> {
            pub fn atomic_add<const N: usize>(&self, at: [isize; N], value: $ty) -> $ty {
                let old = self.at(at);
                self.put(at, old.wrapping_add(value));
                old
            }
            pub fn atomic_max<const N: usize>(&self, at: [isize; N], value: $ty) -> $ty {
                let old = self.at(at);
                self.put(at, old.max(value));
                old
            }
            pub fn atomic_min<const N: usize>(&self, at: [isize; N], value: $ty) -> $ty {
                let old = self.at(at);
                self.put(at, old.min(value));
                old
            }
            pub fn atomic_and<const N: usize>(&self, at: [isize; N], value: $ty) -> $ty {
                let old = self.at(at);
                self.put(at, old & value);
                old
            }
            pub fn atomic_or<const N: usize>(&self, at: [isize; N], value: $ty) -> $ty {
                let old = self.at(at);
                self.put(at, old | value);
                old
            }
            pub fn atomic_xor<const N: usize>(&self, at: [isize; N], value: $ty) -> $ty {
                let old = self.at(at);
                self.put(at, old ^ value);
                old
            }
        }
    )*};
}
atomics!(i32 u32);

pub fn select<T>(condition: bool, yes: T, no: T) -> T {
    if condition { yes } else { no }
}

pub fn unroll<I>(range: I) -> I {
    range
}

/// The least number of steps of `by` that reach a number that is not negative.
pub fn div_ceil(number: isize, by: isize) -> isize {
    // Without `number + by - 1`, which is no number near the end of the range.
    number / by + isize::from(number % by > 0)
}

pub fn byte_perm(a: u32, b: u32, selector: u32) -> u32 {
    let eight = [a.to_le_bytes(), b.to_le_bytes()].concat();
    u32::from_le_bytes([0, 4, 8, 12].map(|digit| eight[(selector >> digit & 7) as usize]))
}

pub fn funnel_shift_left(high: u32, low: u32, n: u32) -> u32 {
    ((u64::from(high) << 32 | u64::from(low)) << (n % 32) >> 32) as u32
}

pub fn funnel_shift_right(high: u32, low: u32, n: u32) -> u32 {
    ((u64::from(high) << 32 | u64::from(low)) >> (n % 32)) as u32
}

/// Four bytes each.
pub trait Bytes: Copy {
    fn bytes(self) -> [i32; 4];
    fn plus(self, sum: i32) -> Self;
}

impl Bytes for i32 {
    fn bytes(self) -> [i32; 4] {
        self.to_le_bytes().map(|byte| i32::from(byte as i8))
    }
    fn plus(self, sum: i32) -> i32 {
        self.wrapping_add(sum)
    }
}

impl Bytes for u32 {
    fn bytes(self) -> [i32; 4] {
        self.to_le_bytes().map(i32::from)
    }
    fn plus(self, sum: i32) -> u32 {
        self.wrapping_add(sum as u32)
    }
}

pub fn dot4<T: Bytes>(a: T, b: T, c: T) -> T {
    c.plus(a.bytes().into_iter().zip(b.bytes()).map(|(a, b)| a * b).sum())
}
