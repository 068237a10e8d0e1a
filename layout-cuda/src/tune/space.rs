//! The sets that a tuner tries.
//!
//! Law: each set once, in the order in which they were named: the first one is the default.

use layout_compiler::{Definition, ParamSet, ParamValue};

use crate::error::Result;
use crate::launch_error::LaunchError;

/// Parameter sets to choose among.
///
/// ```
/// use layout_cuda::tune::Space;
/// let space = Space::of("BM", [32, 64]).and("BN", [32, 64]).filter(|set| set.get("BM") >= set.get("BN"));
/// assert!(space.sets().iter().map(|set| set.key()).eq(["BM32_BN32", "BM64_BN32", "BM64_BN64"]));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Space(Vec<ParamSet>);

impl Space {
    /// What the attribute's lists and filters span.
    ///
    /// # Errors
    /// An attribute whose expressions have no value.
    pub fn listed(definition: &'static Definition) -> Result<Space> {
        let name = || definition.name.to_string();
        let kernel = definition.kernel().map_err(|error| LaunchError::Embedded { kernel: name(), error })?;
        let sets = kernel.listed().map_err(|errors| LaunchError::Parameters {
            kernel: name(),
            set: String::new(),
            file: definition.file,
            lines: errors.as_slice().iter().map(|error| kernel.position(error.origin).line).collect(),
            errors,
        })?;
        Ok(Space(sets))
    }

    /// One parameter's values.
    pub fn of(name: &str, values: impl IntoIterator<Item = impl Into<ParamValue>>) -> Space {
        Space(vec![ParamSet::default()]).and(name, values)
    }

    /// Every set with each of these values of one more parameter, the last parameter fastest.
    pub fn and(self, name: &str, values: impl IntoIterator<Item = impl Into<ParamValue>>) -> Space {
        let values: Vec<ParamValue> = values.into_iter().map(Into::into).collect();
        let each =
            |set: &ParamSet| values.iter().map(|value| set.clone().with(name, *value)).collect::<Vec<_>>();
        Space(self.0.iter().flat_map(each).collect())
    }

    /// The sets that a condition holds for.
    pub fn filter(mut self, condition: impl Fn(&ParamSet) -> bool) -> Space {
        self.0.retain(condition);
        self
    }

    /// These sets and those of another, each once.
    pub fn or(mut self, other: Space) -> Space {
        for set in other.0 {
            if !self.0.contains(&set) {
                self.0.push(set);
            }
        }
        self
    }

    /// The sets.
    pub fn sets(&self) -> &[ParamSet] {
        &self.0
    }
}

impl FromIterator<ParamSet> for Space {
    fn from_iter<I: IntoIterator<Item = ParamSet>>(sets: I) -> Space {
        Space::default().or(Space(sets.into_iter().collect()))
    }
}
