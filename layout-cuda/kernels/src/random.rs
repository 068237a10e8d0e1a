//! Random numbers, dropout and sampling. The numbers are Philox4x32-10's: element `i` of a stream under a seed is always the same one, on
//! every device, whatever else is drawn.
//!
//! Law: uniform numbers and what dropout keeps are the same bits everywhere; normal numbers are within 4e-6 deviations. Elements are
//! `f32`, `bf16` or `f16`, made in float32 and rounded once.

use crate::Real;
use crate::kernels::random as kernels;
use layout_cuda::{Error, LaunchConfig, ParamSet, ParamValue, Stream, TensorArg, TensorArgMut};

/// Where numbers come from: a seed, and the number of a stream, which launches that are to differ have of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Source {
    /// The key.
    pub seed: u64,
    /// The upper half of the counter.
    pub stream: u64,
}

/// `out[i]`: uniform number `i` from `low` on to below `high`, of 24 bits; rounding may give `high`. Asynchronous.
///
/// # Errors
/// Those of a launch.
///
/// ```
/// use layout_kernels::random::{Source, uniform};
///
/// let device = layout_cuda::Device::simulator();
/// let mut out = device.zeros::<f32, 1>([4])?;
/// uniform(&device.stream(), Source { seed: 7, stream: 0 }, 0.0, 1.0, &mut out)?;
/// assert!(out.download()?.iter().all(|x| (0.0..1.0).contains(x)));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn uniform<T: Real>(
    stream: &Stream,
    source: Source,
    low: f32,
    high: f32,
    out: &mut impl TensorArgMut<T, 1>,
) -> Result<(), Error> {
    of(stream, "uniform", source, [low, high - low], out)
}

/// `out[i]`: normal number `i` around a mean, by Box and Muller; within 6.7 deviations of it. Asynchronous.
///
/// # Errors
/// Those of a launch.
///
/// ```
/// use layout_kernels::random::{Source, normal};
///
/// let device = layout_cuda::Device::simulator();
/// let mut out = device.zeros::<f32, 1>([1000])?;
/// normal(&device.stream(), Source { seed: 7, stream: 0 }, 5.0, 1.0, &mut out)?;
/// let mean = out.download()?.iter().sum::<f32>() / 1000.0;
/// assert!((mean - 5.0).abs() < 0.1);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn normal<T: Real>(
    stream: &Stream,
    source: Source,
    mean: f32,
    deviation: f32,
    out: &mut impl TensorArgMut<T, 1>,
) -> Result<(), Error> {
    of(stream, "normal", source, [mean, deviation], out)
}

fn of<T: Real>(
    stream: &Stream,
    name: &'static str,
    source: Source,
    [a, b]: [f32; 2],
    out: &mut impl TensorArgMut<T, 1>,
) -> Result<(), Error> {
    let set = ParamSet::default().with("F", ParamValue::Function(name));
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::random::launch_with(config, stream, out, source.seed, source.stream, a, b)
}

/// `out[i] = x[i] / (1 - p)`, but 0 with the probability `p`: where uniform number `i` of the source is below it. The same source and `p`
/// drop the same elements again, as going back needs it. Asynchronous.
///
/// # Errors
/// Those of a launch.
///
/// ```
/// use layout_kernels::random::{Source, dropout};
///
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[1.0f32; 1000], [1000])?, device.zeros([1000])?);
/// dropout(&device.stream(), Source::default(), 0.5, &x, &mut out)?;
/// let kept = out.download()?.iter().filter(|x| **x == 2.0).count();
/// assert!((400..600).contains(&kept));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn dropout<T: Real>(
    stream: &Stream,
    source: Source,
    p: f32,
    x: &impl TensorArg<T, 1>,
    out: &mut impl TensorArgMut<T, 1>,
) -> Result<(), Error> {
    kernels::dropout::launch(stream, x, out, source.seed, source.stream, p)
}

/// Which columns [`sample`] draws from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// What logits are divided by, above 0: the smaller, the more often the largest is drawn.
    pub temperature: f32,
    /// So many of the largest logits, 1 at least.
    pub k: u32,
    /// Of these the largest that together have this share of the weight, 1 for all.
    pub p: f32,
}

impl Default for Sampling {
    /// From all, as they are.
    fn default() -> Sampling {
        Sampling { temperature: 1.0, k: u32::MAX, p: 1.0 }
    }
}

/// `out[i]`: a column of row `i`, drawn by `numbers[i]` in [0, 1): the first at which the weights so far exceed that share of all.
/// Weights are `e^(logit / temperature)`; a logit that equals the least of those that are in is in, too. NaN and minus infinity are drawn
/// never, of a row of nothing else column 0 is. With `k` 1 it is the largest. Asynchronous.
///
/// # Errors
/// Those of a launch.
///
/// ```
/// use layout_kernels::random::{Sampling, sample};
///
/// let device = layout_cuda::Device::simulator();
/// let logits = device.upload(&[1.0f32, 3.0, 2.0, 3.0, 1.0, 0.0], [2, 3])?;
/// let (numbers, mut out) = (device.upload(&[0.9f32, 0.1], [2])?, device.zeros([2])?);
/// sample(&device.stream(), Sampling { k: 1, ..Sampling::default() }, &logits, &numbers, &mut out)?;
/// assert_eq!(out.download()?, [1, 0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn sample<T: Real>(
    stream: &Stream,
    Sampling { temperature, k, p }: Sampling,
    logits: &impl TensorArg<T, 2>,
    numbers: &impl TensorArg<f32, 1>,
    out: &mut impl TensorArgMut<u32, 1>,
) -> Result<(), Error> {
    kernels::sample::launch(stream, logits, numbers, out, temperature, k, p)
}
