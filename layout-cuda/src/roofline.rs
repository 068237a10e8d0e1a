//! The roofline: what bounds a kernel, and how near to the bound it is.
//!
//! Law: a rate that can be reached is the smaller of the arithmetic's peak and intensity times bandwidth; where the two meet is
//! the critical intensity (Williams, Waterman, Patterson: Roofline, 2009).
//!
//! ```
//! use layout_cuda::roofline::{Bound, Peaks, Work};
//! // Of an RTX 4000 Ada, and of a product of 3 x 3 matrices whose operands are loaded once.
//! let peaks = Peaks { flops: 26.7e12, bytes: 360e9 };
//! let work = Work { flops: 27.0, bytes: 108.0 };
//! assert_eq!((work.intensity(), peaks.bound(work.intensity())), (0.25, Bound::Memory));
//! assert_eq!(peaks.attainable(work.intensity()), 90e9);
//! assert_eq!((peaks.critical_intensity() * 10.0).round(), 742.0);
//! ```

use layout_compiler::Elem;
use layout_simulator::Counts;

use crate::device::Properties;

/// What a device can do at most with one kind of arithmetic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    /// Operations a second; a fused multiply-add is two.
    pub flops: f64,
    /// Bytes of its memory a second.
    pub bytes: f64,
}

/// What a kernel does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Operations.
    pub flops: f64,
    /// Bytes to and from memory.
    pub bytes: f64,
}

/// Which roof is the lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The memory's.
    Memory,
    /// The arithmetic's.
    Arithmetic,
}

/// The units that compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// Each thread's own arithmetic of a type.
    Threads(Elem),
    /// The matrix units, with operands of a type (`f32` is TF32), dense.
    Matrix(Elem),
}

/// Operations of a multiprocessor in a cycle, by compute capability; a fused multiply-add is two.
///
/// Sources: CUDA C++ Programming Guide 13.0, table of arithmetic throughput (results a cycle); the dense figures of the matrix units
/// are those of the architectures' white papers (A100, H100, Ada, Blackwell) over multiprocessors and boost clock.
fn operations_a_cycle((major, minor): (u32, u32), units: Units) -> Option<f64> {
    // f32, f64, then matrix units: f16, TF32, 8 bits, f64.
    let row = match (major, minor) {
        (8, 0) => [128.0, 64.0, 2048.0, 1024.0, 4096.0, 128.0],
        (8, 6) => [256.0, 4.0, 512.0, 256.0, 1024.0, 0.0],
        (8, _) => [256.0, 4.0, 1024.0, 512.0, 2048.0, 0.0],
        (9, 0) => [256.0, 128.0, 4096.0, 2048.0, 8192.0, 256.0],
        (10, _) => [256.0, 128.0, 8192.0, 4096.0, 16384.0, 128.0],
        (12, _) => [256.0, 4.0, 1024.0, 512.0, 2048.0, 0.0],
        _ => return None,
    };
    let at = match units {
        Units::Threads(Elem::F32) => 0,
        Units::Threads(Elem::F64) => 1,
        Units::Threads(_) => return None,
        Units::Matrix(Elem::F16 | Elem::Bf16) => 2,
        Units::Matrix(Elem::F32) => 3,
        Units::Matrix(Elem::F64) => 5,
        Units::Matrix(elem) if elem.bytes() == 1 => 4,
        Units::Matrix(_) => return None,
    };
    Some(row[at]).filter(|operations| *operations > 0.0)
}

impl Peaks {
    /// What the device's clocks and units give; `None` for units that it does not have, or that the table does not know.
    ///
    /// The clock is the highest one that the driver names: under load, and where power is short, a GPU runs below.
    pub fn of(device: &Properties, units: Units) -> Option<Peaks> {
        let a_cycle = operations_a_cycle(device.compute_capability, units)?;
        let cycles = f64::from(device.clock_khz) * 1e3;
        Some(Peaks {
            flops: a_cycle * f64::from(device.multiprocessors) * cycles,
            // Two transfers a cycle.
            bytes: 2.0 * f64::from(device.memory_clock_khz) * 1e3 * f64::from(device.memory_bus_bits) / 8.0,
        })
    }

    /// Operations a byte at which the two roofs meet.
    pub fn critical_intensity(&self) -> f64 {
        self.flops / self.bytes
    }

    /// Operations a second that a kernel of this intensity can reach.
    pub fn attainable(&self, intensity: f64) -> f64 {
        self.flops.min(intensity * self.bytes)
    }

    /// What bounds a kernel of this intensity.
    pub fn bound(&self, intensity: f64) -> Bound {
        if intensity < self.critical_intensity() { Bound::Memory } else { Bound::Arithmetic }
    }

    /// The shortest time for the work, milliseconds.
    pub fn least_ms(&self, work: Work) -> f64 {
        (work.flops / self.flops).max(work.bytes / self.bytes) * 1e3
    }

    /// The share of its bound that work reaches in so many milliseconds.
    pub fn share(&self, work: Work, ms: f64) -> f64 {
        self.least_ms(work) / ms
    }
}

impl Work {
    /// What the simulator counted: its operations, and the bytes of the sectors that its requests touch. Caches are not part of
    /// it, so that these are more bytes than reach the memory.
    pub fn of(counts: &Counts) -> Work {
        Work { flops: counts.flops as f64, bytes: counts.global_sectors as f64 * 32.0 }
    }

    /// A product of an M x K and a K x N matrix, each element of A, B and C moved once.
    pub fn product([m, n, k]: [usize; 3], elem: Elem) -> Work {
        let [m, n, k] = [m, n, k].map(|extent| extent as f64);
        Work { flops: 2.0 * m * n * k, bytes: (m * k + k * n + m * n) * elem.bytes() as f64 }
    }

    /// Operations a byte.
    pub fn intensity(&self) -> f64 {
        self.flops / self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn h200() -> Properties {
        Properties {
            name: "NVIDIA H200".into(),
            compute_capability: (9, 0),
            arch: "sm_90a".into(),
            multiprocessors: 132,
            shared_bytes_per_block: 232_448,
            l2_bytes: 60 << 20,
            driver: (13, 0),
            clock_khz: 1_980_000,
            memory_clock_khz: 3_201_000,
            memory_bus_bits: 6144,
        }
    }

    #[test]
    fn the_peaks_of_an_h200() {
        let peaks = |units| Peaks::of(&h200(), units).map(|peaks| (peaks.flops / 1e12).round());
        assert_eq!(peaks(Units::Threads(Elem::F32)), Some(67.0));
        assert_eq!(peaks(Units::Matrix(Elem::Bf16)), Some(1071.0));
        assert_eq!(peaks(Units::Matrix(Elem::E4m3)), Some(2141.0));
        assert_eq!(peaks(Units::Threads(Elem::U8)), None);
        let memory = Peaks::of(&h200(), Units::Threads(Elem::F32)).map(|peaks| (peaks.bytes / 1e9).round());
        assert_eq!(memory, Some(4917.0));
    }

    /// The estimates of the tutorial for a product of 3 x 3 matrices on an RTX 4000 Ada. It counts a fused multiply-add as one
    /// operation.
    #[test]
    fn the_tutorials_estimates() {
        let peaks = Peaks { flops: 26.7e12, bytes: 360e9 };
        let naive = Work { flops: 27.0, bytes: 36.0 + 36.0 + 36.0 };
        let shared = Work { flops: 27.0, bytes: (36.0 + 36.0) / 3.0 + 36.0 };
        assert_eq!((naive.intensity(), shared.intensity()), (0.25, 0.45));
        assert_eq!(peaks.attainable(naive.intensity()), 90e9);
        assert_eq!((peaks.attainable(shared.intensity()) / 1e9).round(), 162.0);
        assert_eq!(format!("{:.1}", peaks.critical_intensity()), "74.2");
        // I = N / 4 for a naive N x N product, which crosses 74 near N = 300.
        let crossing = (1..).find(|n| peaks.bound(f64::from(*n) / 4.0) == Bound::Arithmetic);
        assert_eq!(crossing, Some(297));
        // By our count, with two operations for a fused multiply-add and every operand once, it is twice that.
        assert_eq!(Work::product([3, 3, 3], Elem::F32), Work { flops: 54.0, bytes: 108.0 });
    }

    #[test]
    fn a_share_of_the_bound() {
        let peaks = Peaks { flops: 1e12, bytes: 1e9 };
        let work = Work { flops: 1e9, bytes: 2e6 };
        assert_eq!((peaks.least_ms(work), peaks.share(work, 4.0)), (2.0, 0.5));
    }
}
