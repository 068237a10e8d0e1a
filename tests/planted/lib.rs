//! Mistakes of the kinds that NVIDIA's compute-sanitizer looks for, one a kernel: what it finds on a GPU is held beside
//! what the simulator finds.
//!
//! Law: each ends by itself, or is marked as one that hangs; the simulator finds each (`tests/planted/test.rs`).
//! All take `x` and `y` of 1024 numbers and 64 flags that begin as zeros.

// The kernels have one signature, whatever they use of it.
#![allow(unused_variables)]

mod asynchronous;
mod global;
mod meeting;
mod shared;

use layout_cuda::{Device, Error, FindingKind, Options, Report, Tensor};

/// A mistake.
pub struct Planted {
    /// The kernel's name.
    pub name: &'static str,
    /// What it does, in words.
    pub what: &'static str,
    /// The tool of compute-sanitizer whose subject it is.
    pub tool: &'static str,
    /// What the simulator finds, among what follows from it.
    pub kind: FindingKind,
    /// Whether a GPU may never end it.
    pub hangs: bool,
    launch: fn(&Device, &mut Memory) -> Result<(), Error>,
    simulate: fn(&mut Memory) -> Result<Report, Error>,
}

/// What every kernel here works on.
pub struct Memory {
    x: Tensor<f32, 1>,
    y: Tensor<f32, 1>,
    flags: Tensor<u32, 1>,
}

impl Memory {
    /// On a device.
    ///
    /// # Errors
    /// Those of an upload.
    pub fn new(device: &Device) -> Result<Memory, Error> {
        let x: Vec<f32> = (0..1024u16).map(|i| f32::from(i % 97) / 4.0).collect();
        Ok(Memory { x: device.upload(&x, [1024])?, y: device.zeros([1024])?, flags: device.zeros([64])? })
    }
}

impl Planted {
    /// Launches it on a GPU, and waits.
    ///
    /// # Errors
    /// What the driver says of it.
    pub fn launch(&self, device: &Device) -> Result<(), Error> {
        (self.launch)(device, &mut Memory::new(device)?)?;
        device.stream().synchronize()
    }

    /// Runs it on the simulator.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn simulate(&self) -> Result<Report, Error> {
        (self.simulate)(&mut Memory::new(&Device::simulator())?)
    }
}

/// How far the simulator goes: a wait in vain is reported soon.
fn options() -> Options {
    Options { max_steps: 1 << 20, ..Options::default() }
}

/// The kernels of a file, each with the tool whose subject its mistake is, and what the simulator finds; what it does is its
/// comment. They take the same three tensors, and so their parameters need no types.
macro_rules! planted {
    ($(
        $(#[doc = $what:literal])+
        #[found($tool:literal, $kind:ident $(, $hangs:ident)?)]
        #[tiled_kernel($($attribute:tt)*)]
        fn $kernel:ident($x:ident, $y:ident, $flags:ident) { $($body:tt)* }
    )*) => {
        $(
            $(#[doc = $what])+
            #[tiled_kernel($($attribute)*)]
            fn $kernel(
                $x: &LayoutTensor<f32, RowMajor<1024>>,
                $y: &mut LayoutTensor<f32, RowMajor<1024>>,
                $flags: &mut LayoutTensor<u32, RowMajor<64>>,
            ) {
                $($body)*
            }
        )*

        /// The mistakes of this file.
        pub fn all() -> Vec<crate::Planted> {
            vec![$(crate::Planted {
                name: stringify!($kernel),
                what: concat!($($what),+).trim().trim_end_matches('.'),
                tool: $tool,
                kind: layout_cuda::FindingKind::$kind,
                hangs: !<[&str]>::is_empty(&[$(stringify!($hangs))?]),
                launch: |device, memory| {
                    let config = layout_cuda::LaunchConfig { allow_slow_paths: true, ..Default::default() };
                    $kernel::launch_with(config, &device.stream(), &memory.x, &mut memory.y, &mut memory.flags)
                },
                simulate: |memory| {
                    let config = layout_cuda::LaunchConfig::default();
                    $kernel::simulate_with(
                        config,
                        &crate::options(),
                        &memory.x,
                        &mut memory.y,
                        &mut memory.flags,
                    )
                },
            }),*]
        }
    };
}
use planted;

/// Every mistake.
pub fn all() -> Vec<Planted> {
    [shared::all(), meeting::all(), global::all(), asynchronous::all()].into_iter().flatten().collect()
}
