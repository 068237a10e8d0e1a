//! Release records: the clocks that an acquire of an element joins.
//!
//! Law: a record counts between two threads only if the scopes of release and acquire both contain both.

use super::vector_clock::RemoteClocks;
use layout_compiler::program::Scope;
use std::collections::HashMap;

/// The address of a release: the argument, or the block of the shared memory, and the byte.
pub(crate) type ByteAddress = (u64, usize);

/// The clock of a release, or of a fence before an atomic write.
#[derive(Clone, Debug)]
pub(crate) struct ReleaseRecord {
    pub known: RemoteClocks,
    pub scope: Scope,
    pub block: u64,
}

impl ReleaseRecord {
    /// The same through an operation of this scope.
    pub(crate) fn within(&self, scope: Scope) -> ReleaseRecord {
        ReleaseRecord { scope: self.scope.min(scope), ..self.clone() }
    }

    /// Joins it to the record of the same scope.
    pub(crate) fn add_to(self, list: &mut Vec<ReleaseRecord>) {
        let same = |one: &&mut ReleaseRecord| {
            one.scope == self.scope && (one.block == self.block || self.scope != Scope::Block)
        };
        match list.iter_mut().find(same) {
            Some(one) => one.known.join(&self.known),
            None => list.push(self),
        }
    }
}

/// The last release of each element.
#[derive(Clone, Debug, Default)]
pub(crate) struct Releases(pub HashMap<ByteAddress, Vec<ReleaseRecord>>);

/// The fences of a warp's lanes.
///
/// ```text
/// write, fence, atomic write of x        released[lane] at the fence, and to x
///     atomic read of x, fence, read      observed[lane] at the atomic, acquired at the fence
/// ```
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneFences {
    /// For each lane the clock of its last fence, which its atomic writes release.
    pub released: Vec<(usize, ReleaseRecord)>,
    /// For each lane the releases that its atomic reads observed since its last fence.
    pub observed: Vec<(usize, Vec<ReleaseRecord>)>,
}

impl LaneFences {
    /// A lane's last fence, through an operation of this scope.
    pub(crate) fn released(&self, lane: usize, scope: Scope) -> Option<ReleaseRecord> {
        self.released.iter().find(|(own, _)| *own == lane).map(|(_, released)| released.within(scope))
    }

    /// A lane's atomic read observes releases.
    pub(crate) fn observe(&mut self, lane: usize, released: &[ReleaseRecord], scope: Scope) {
        if released.is_empty() {
            return;
        }
        let place = self.observed.iter().position(|(own, _)| *own == lane).unwrap_or_else(|| {
            self.observed.push((lane, Vec::new()));
            self.observed.len() - 1
        });
        released.iter().for_each(|one| one.within(scope).add_to(&mut self.observed[place].1));
    }
}
