//! Graphs of launches: what each node uses, in the order of the chain.
//!
//! Law: a replay uses what the nodes did when the graph was made ready, or last updated.

use crate::world::{Answer, INVALID_HANDLE, World};
use std::collections::BTreeMap;

/// What a launch uses: addresses, and whether it writes there.
pub type Uses = (String, Vec<(u64, bool)>);

/// Graphs that grow, and those that are ready, by handle.
#[derive(Default)]
pub struct Graphs {
    pub growing: BTreeMap<usize, Vec<Uses>>,
    pub ready: BTreeMap<usize, Vec<Uses>>,
}

impl World {
    /// What a launch with these parameters uses.
    ///
    /// # Safety
    /// - `parameters` points to at least as many values of eight bytes as `stub_kernel` has letters for the kernel.
    pub unsafe fn uses(&mut self, function: usize, parameters: *const *const u64) -> Result<Uses, u32> {
        let name = self.functions.get(&function).cloned().ok_or(INVALID_HANDLE)?;
        let known = self.kernels.iter().find(|(known, _)| name.starts_with(known.as_str()));
        let Some((_, letters)) = known else {
            self.findings.push(format!("no `stub_kernel` for the kernel {name}"));
            return Err(INVALID_HANDLE);
        };
        let mut uses = Vec::new();
        for (number, letter) in letters.chars().enumerate().filter(|(_, letter)| "rw".contains(*letter)) {
            // SAFETY: as the caller promises.
            let address = unsafe { **parameters.add(number) };
            uses.push((address, letter == 'w'));
        }
        Ok((name, uses))
    }

    /// A launch, on a stream.
    pub fn launch(&mut self, (name, uses): &Uses, stream: usize, context: usize) -> Answer {
        let at = self.step(stream, context)?;
        for (address, writes) in uses {
            let what = format!("a {} of {name}", if *writes { "write" } else { "read" });
            self.access(*address, &at, *writes, &what)?;
        }
        Ok(())
    }
}
