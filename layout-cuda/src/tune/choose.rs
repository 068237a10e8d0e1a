//! Which set a launch takes by records.
//!
//! Law: the same records, device and shapes give the same set. A shape that nobody measured takes the set of the nearest
//! measured one; a kernel or a device without records takes the attribute's first set.

use std::path::Path;

use layout_compiler::{LaunchArgument, ParamSet};

use super::record::{RecordError, Records};

/// The best set of each kernel, device and shape.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tuned(Vec<Choice>);

#[derive(Clone, Debug, PartialEq)]
struct Choice {
    kernel: String,
    device: String,
    shape: Vec<usize>,
    set: ParamSet,
    ms: f64,
}

impl Tuned {
    /// Of records.
    ///
    /// # Errors
    /// [`RecordError::Line`]
    pub fn parse(text: &str) -> Result<Tuned, RecordError> {
        Records::parse(text).map(|records| Tuned::of(&records))
    }

    /// Of a file of records.
    ///
    /// # Errors
    /// [`RecordError`]
    pub fn read(path: &Path) -> Result<Tuned, RecordError> {
        Records::read(path).map(|records| Tuned::of(&records))
    }

    /// The best of each kernel, device and shape. A set that is slower than the default it was measured beside is never chosen.
    pub fn of(records: &Records) -> Tuned {
        let mut best: Vec<Choice> = vec![];
        for record in records.all().iter().filter(|record| record.fate == "timed") {
            let Some(ms) = record.ms.filter(|ms| record.default_ms.is_none_or(|default| *ms <= default))
            else {
                continue;
            };
            let choice = Choice {
                kernel: record.kernel.clone(),
                device: record.device.clone(),
                shape: record.shape.clone(),
                set: record.set.clone(),
                ms,
            };
            let same = |known: &&mut Choice| {
                (&known.kernel, &known.device, &known.shape)
                    == (&choice.kernel, &choice.device, &choice.shape)
            };
            match best.iter_mut().find(same) {
                // Of two of one time the one whose name comes first, whatever the order of the records.
                Some(known) if (choice.ms, choice.set.key()) < (known.ms, known.set.key()) => *known = choice,
                Some(_) => {}
                None => best.push(choice),
            }
        }
        best.sort_by(|a, b| (&a.kernel, &a.device, &a.shape).cmp(&(&b.kernel, &b.device, &b.shape)));
        Tuned(best)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The set for a kernel on a device and these extents of all tensors, one after the other.
    pub fn choose(&self, kernel: &str, device: &str, shape: &[usize]) -> Option<&ParamSet> {
        let known = self.0.iter().filter(|choice| {
            choice.kernel == kernel && choice.device == device && choice.shape.len() == shape.len()
        });
        let far = |choice: &&Choice| choice.shape.iter().zip(shape).map(|(a, b)| apart(*a, *b)).sum::<f64>();
        known.min_by(|a, b| far(a).total_cmp(&far(b))).map(|choice| &choice.set)
    }

    pub(crate) fn for_launch(
        &self,
        kernel: &str,
        device: &str,
        arguments: &[LaunchArgument<'_>],
    ) -> Option<&ParamSet> {
        self.choose(kernel, device, &extents(arguments))
    }
}

/// How far two extents are apart: the difference of their logarithms.
fn apart(a: usize, b: usize) -> f64 {
    ((a as f64 + 1.0).log2() - (b as f64 + 1.0).log2()).abs()
}

/// The extents of all tensors.
pub(crate) fn extents(arguments: &[LaunchArgument<'_>]) -> Vec<usize> {
    let each = |argument: &LaunchArgument<'_>| match argument {
        LaunchArgument::Tensor { shape, .. } => shape.to_vec(),
        LaunchArgument::Scalar(..) | LaunchArgument::Index(_) => vec![],
    };
    arguments.iter().flat_map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(shape: usize, block: i64, ms: f64, fate: &str) -> String {
        format!(
            r#"{{"kernel":"k","text":"1","device":"d","driver":"","compiler":"","shape":[{shape}],"set":{{"B":{block}}},"fate":"{fate}","ms":{ms},"default_ms":2.0,"why":"","date":"2026-01-31"}}"#
        )
    }

    #[test]
    fn the_nearest_shape_and_never_a_wrong_or_slower_set() {
        let lines = [
            line(1000, 32, 1.5, "timed"),
            line(1000, 64, 1.0, "timed"),
            line(1000, 128, 0.5, "wrong"),
            line(100_000, 256, 1.9, "timed"),
            line(100_000, 512, 2.5, "timed"),
        ];
        let tuned = Tuned::parse(&lines.join("\n")).expect("records");
        let key = |shape: usize| tuned.choose("k", "d", &[shape]).map(|set| set.key());
        assert_eq!(key(1000).as_deref(), Some("B64"));
        assert_eq!(key(3000).as_deref(), Some("B64"));
        assert_eq!(key(50_000).as_deref(), Some("B256"));
        assert_eq!((tuned.choose("k", "other", &[1000]), tuned.choose("k", "d", &[1, 1])), (None, None));
        // The order of the lines makes no difference.
        let reversed: Vec<String> = lines.into_iter().rev().collect();
        assert_eq!(Tuned::parse(&reversed.join("\n")).expect("records"), tuned);
    }
}
