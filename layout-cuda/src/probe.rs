//! What a launch would start: found by asking for the launch, and starting nothing.
//!
//! Law: the probe sees what the launch itself computes; there is no second way to a grid.

use std::cell::RefCell;

use layout_compiler::Promises;
use layout_simulator::Counts;

/// What a launch takes and does.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// What the arguments let the kernel rely on.
    pub promises: Promises,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// The extents of all tensors, one argument after the other.
    pub shape: Vec<usize>,
    /// What the simulator counted, where it ran.
    pub counts: Option<Counts>,
}

impl Planned {
    /// Blocks of the launch.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|blocks| u64::from(*blocks)).product()
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }
}

/// Watches a launch: hand it over in [`LaunchConfig::probe`](crate::LaunchConfig).
///
/// ```
/// use layout_cuda::{Device, LaunchConfig, Probe, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
/// fn ones<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
///     x[[32 * block_idx.x + thread_idx.x]] = 1.0;
/// }
/// let device = Device::simulator();
/// let mut x = device.zeros::<f32, 1>([100])?;
/// let probe = Probe::dry_run();
/// ones::launch_with(LaunchConfig { probe: Some(&probe), ..LaunchConfig::default() }, &device.stream(), &mut x)?;
/// assert_eq!(probe.planned().map(|planned| planned.blocks()), Some(4));
/// assert_eq!(x.download()?, [0.0; 100]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Probe {
    starts: bool,
    seen: RefCell<Option<Planned>>,
}

impl Probe {
    /// The launch checks its arguments, says what it would start, and starts nothing.
    pub fn dry_run() -> Probe {
        Probe::default()
    }

    /// The launch runs, and says what it started.
    pub fn watching() -> Probe {
        Probe { starts: true, seen: RefCell::new(None) }
    }

    /// What the last launch said; `None` where it was refused before.
    pub fn planned(&self) -> Option<Planned> {
        self.seen.borrow().clone()
    }

    /// Whether the launch runs.
    pub fn starts(&self) -> bool {
        self.starts
    }

    pub(crate) fn see(&self, planned: Planned) {
        *self.seen.borrow_mut() = Some(planned);
    }
}
