//! The matrix instructions of a warp, by the instructions' thread-value layouts.
//!
//! Laws: products are exact, and each element is the sum of its products and of what was there, rounded once; a GPU
//! may round more often and drop low bits of small terms. Of what feeds TF32 the last 13 bits do not count.

use super::bytecode::{LANES, Sum, Target};
use super::machine::Machine;
use super::memory;
use super::touch::Kind;
use super::warp::{Warp, each_lane};
use crate::kernel::elem::Elem;
use crate::kernel::program::{Operand, TensorCore};
use crate::kernel::small_float;
use std::sync::OnceLock;

/// What the matrix units see of a float's bits.
fn truncated(bits: u32) -> u32 {
    bits & !0x1fff
}

/// For each operand the index in its tile of each lane's each value.
struct Places {
    a: Vec<[usize; LANES]>,
    b: Vec<[usize; LANES]>,
    c: Vec<[usize; LANES]>,
}

fn places(core: TensorCore) -> &'static Places {
    static PLACES: [OnceLock<Places>; 5] = [const { OnceLock::new() }; 5];
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

/// `d += a b`, of consecutive registers from these on.
pub(super) fn mma(warp: &mut Warp, core: TensorCore, [d, a, b]: [u32; 3]) {
    let [m, n, k] = core.shape().map(|extent| extent as usize);
    let places = places(core);
    let seen = |value: f32| match core {
        TensorCore::Tf32 => f64::from(f32::from_bits(truncated(value.to_bits()))),
        TensorCore::F16 | TensorCore::Bf16 | TensorCore::E4m3 | TensorCore::E5m2 => f64::from(value),
    };
    let tile = |first: u32, places: &[[usize; LANES]], size: usize| {
        let mut tile = vec![0.0; size];
        for (value, places) in places.iter().enumerate() {
            let register = &warp.f32[first as usize + value];
            places.iter().zip(register).for_each(|(place, element)| tile[*place] = seen(*element));
        }
        tile
    };
    let (a, b) = (tile(a, &places.a, m * k), tile(b, &places.b, n * k));
    for (value, places) in places.c.iter().enumerate() {
        for lane in each_lane(warp.active) {
            let (row, column) = (places[lane] % m, places[lane] / m);
            let sum: f64 = (0..k).map(|step| a[row + m * step] * b[column + n * step]).sum();
            let element = &mut warp.f32[d as usize + value][lane];
            *element = (f64::from(*element) + sum) as f32;
        }
    }
}

impl Machine<'_> {
    /// Matrices from shared memory to consecutive registers from `dst` on.
    pub(super) fn load_matrix(
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
        // What the lanes beyond the matrices' rows name is not read.
        warp.active &= u32::MAX >> (32 - 8 * count.clamp(1, 4));
        let touch = self.ready(warp, address, None, number, Kind::Read);
        self.watch_reads(warp, site, number, &touch);
        self.count(site, number, &touch, Kind::Read);
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
                    if touch.open >> source & 1 == 0 {
                        continue;
                    }
                    let byte = base as usize + (touch.index[source] as usize + element) * size as usize;
                    let bits = memory::read(&self.shared, byte, size) as u32;
                    warp.f32[register][lane] = match site.elem {
                        Elem::F32 => f32::from_bits(bits),
                        small => small_float::decode(bits, small),
                    };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::kernel::meaning::round_tf32;

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
