//! The matrix instructions of a warp, by their thread-value layouts.
//!
//! Laws: products of floats narrower than 64 bits are exact. An element is the sum of its products and its old value,
//! rounded once; a GPU may round more often and drop low bits of small terms. TF32 operands lose their low 13 bits.
//! Products of `f64` are added along K with one rounding each. Sums of integers wrap. A product of two words of bits
//! is the number of bits that are set in both.

use super::load_store::shared_byte;
use crate::bytecode::{LANES, Sum, Target};
use crate::event::{Access, AccessKind, Event};
use crate::machine::Machine;
use crate::memory::bytes;
use crate::state::lanes::Direction;
use crate::state::warp::{Warp, each_lane};
use layout_compiler::elem::{Elem, Format};
use layout_compiler::program::{Operand, TensorCore};
use layout_compiler::small_float;
use std::sync::OnceLock;

/// The bits of a float that the matrix units read.
fn truncated(bits: u32) -> u32 {
    bits & !0x1fff
}

/// For each operand the tile index of each lane's values.
pub(super) struct Places {
    pub(super) a: Vec<[usize; LANES]>,
    pub(super) b: Vec<[usize; LANES]>,
    pub(super) c: Vec<[usize; LANES]>,
}

pub(super) fn places(core: TensorCore) -> &'static Places {
    static PLACES: [OnceLock<Places>; TensorCore::ALL.len()] =
        [const { OnceLock::new() }; TensorCore::ALL.len()];
    PLACES[core as usize].get_or_init(|| {
        let of = |operand: Operand| {
            let layout = core.layout(operand);
            let at = |lane: i64, value: i64| {
                let index = layout.as_ref().and_then(|layout| layout.crd2idx(&(lane, value).into()).ok());
                index.unwrap_or(0) as usize
            };
            (0..core.values(operand))
                .map(|value| std::array::from_fn(|lane| at(lane as i64, value)))
                .collect()
        };
        Places { a: of(Operand::A), b: of(Operand::B), c: of(Operand::C) }
    })
}

/// An operand's tile from consecutive registers.
pub(super) fn tile<T: Copy, W: Copy + Default>(
    registers: &[[T; LANES]],
    first: u32,
    places: &[[usize; LANES]],
    seen: impl Fn(T) -> W,
) -> Vec<W> {
    let mut tile = vec![W::default(); places.len() * LANES];
    for (value, places) in places.iter().enumerate() {
        let register = &registers[first as usize + value];
        places.iter().zip(register).for_each(|(place, element)| tile[*place] = seen(*element));
    }
    tile
}

/// `d += a b`, of consecutive registers.
pub(crate) fn mma(warp: &mut Warp, core: TensorCore, [d, a, b]: [u32; 3]) {
    let [m, n, _] = core.shape().map(|extent| extent as usize);
    let places = places(core);
    let active = warp.active;
    let own = |value: usize| d as usize + value;
    match core {
        _ if core.sums() == Elem::I32 => {
            let (a, b) = (tile(&warp.int, a, &places.a, |v| v), tile(&warp.int, b, &places.b, |v| v));
            let sums = product(vec![0; m * n], (&a, &b), [m, n], |sum, left, right| match core {
                TensorCore::Bits => sum + i64::from(((left & right) as u32).count_ones()),
                _ => sum + left * right,
            });
            for (value, places) in places.c.iter().enumerate() {
                for lane in each_lane(active) {
                    let element = &mut warp.int[own(value)][lane];
                    *element = Elem::I32.wrap(element.wrapping_add(sums[places[lane]]));
                }
            }
        }
        _ if core.sums() == Elem::F64 => {
            let (a, b) = (tile(&warp.f64, a, &places.a, |v| v), tile(&warp.f64, b, &places.b, |v| v));
            let c = tile(&warp.f64, d, &places.c, |v| v);
            let sums = product(c, (&a, &b), [m, n], |sum, left, right| left.mul_add(right, sum));
            for (value, places) in places.c.iter().enumerate() {
                each_lane(active).for_each(|lane| warp.f64[own(value)][lane] = sums[places[lane]]);
            }
        }
        _ => {
            let seen = |value: f32| match core {
                TensorCore::Tf32 => f64::from(f32::from_bits(truncated(value.to_bits()))),
                _ => f64::from(value),
            };
            let (a, b) = (tile(&warp.f32, a, &places.a, seen), tile(&warp.f32, b, &places.b, seen));
            let sums = product(vec![-0.0; m * n], (&a, &b), [m, n], |sum, left, right| sum + left * right);
            for (value, places) in places.c.iter().enumerate() {
                for lane in each_lane(active) {
                    let element = &mut warp.f32[own(value)][lane];
                    let sum = f64::from(*element) + sums[places[lane]];
                    *element = match core.sums() {
                        Elem::F32 => sum as f32,
                        narrower => small_float::round(small_float::to_odd(sum), narrower),
                    };
                }
            }
        }
    }
}

/// `c` and the products of `a` and `b`, added in the order of K. Tiles are by columns, of `m` rows, or `n` of B.
fn product<T: Copy>(
    mut c: Vec<T>,
    (a, b): (&[T], &[T]),
    [m, n]: [usize; 2],
    add: impl Fn(T, T, T) -> T,
) -> Vec<T> {
    for (a, b) in a.chunks_exact(m).zip(b.chunks_exact(n)) {
        for (c, right) in c.chunks_exact_mut(m).zip(b) {
            c.iter_mut().zip(a).for_each(|(c, left)| *c = add(*c, *left, *right));
        }
    }
    c
}

impl Machine<'_> {
    /// `ldmatrix` to consecutive registers.
    pub(crate) fn load_matrix(
        &mut self,
        warp: &mut Warp,
        dst: u32,
        address: Sum,
        (count, transposed): (u32, bool),
        number: u32,
    ) {
        let program = self.launch.program;
        let site = &program.sites[number as usize];
        let Target::Shared(base) = site.target else { return };
        let active = warp.active;
        // Lanes beyond the rows of the matrices give no address.
        warp.active &= u32::MAX >> (32 - 8 * count.clamp(1, 4));
        let elements = self.ready(warp, address, None, number, Direction::Read);
        self.notify(&Event::Access(Access {
            warp,
            site,
            number,
            elements: &elements,
            kind: AccessKind::Load(None),
        }));
        warp.active = active;
        let size = site.bytes;
        let each = (4 / size.max(1)) as usize;
        for matrix in 0..count as usize {
            for part in 0..each {
                let register = dst as usize + matrix * each + part;
                for lane in each_lane(active) {
                    let (row, element) = match transposed {
                        false => (lane / 4, lane % 4 * each + part),
                        true => (lane % 4 * each + part, lane / 4),
                    };
                    let source = matrix * 8 + row;
                    if elements.active >> source & 1 == 0 {
                        continue;
                    }
                    let byte = shared_byte(warp, base, elements.index[source] + element as i64, size);
                    let bits = bytes::read(&self.shared, byte, size);
                    match site.elem.format() {
                        Format::Float => warp.f32[register][lane] = f32::from_bits(bits as u32),
                        Format::SmallFloat(_) => {
                            warp.f32[register][lane] = small_float::decode(bits as u32, site.elem);
                        }
                        _ => warp.int[register][lane] = site.elem.wrap(bits as i64),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use layout_compiler::meaning::round_tf32;

    #[test]
    fn tf32_rounds_to_the_nearest_and_ties_to_even() {
        let ulp = 2f32.powi(-10);
        assert_eq!(round_tf32(1.0 + ulp / 2.0), 1.0);
        assert_eq!(round_tf32(-1.0 - 1.5 * ulp), -1.0 - 2.0 * ulp);
        assert_eq!(round_tf32((1.0 + ulp / 2.0).next_up()), 1.0 + ulp);
        assert_eq!(round_tf32((1.0 + ulp / 2.0).next_down()), 1.0);
        assert_eq!(round_tf32(f32::INFINITY), f32::INFINITY);
        assert_eq!(round_tf32(f32::MAX), f32::INFINITY);
        assert!(round_tf32(f32::NAN).is_nan());
    }
}
