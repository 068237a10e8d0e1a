//! Timing of launches: warm-up, a cold L2 cache where wanted, events, the median.
//!
//! Law: the time is the device's work between two events of one stream, without the host's time to submit it. On the
//! simulator it is the host's clock, and [`Timing::clock`] says so.

use std::fmt;
use std::time::Instant;

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaEvent, CudaStream};

use crate::device::Stream;
use crate::driver::{self, DriverError, check};
use crate::error::{Error, Result};

/// The first driver whose event clock cudarc's bindings call.
const EVENT_CLOCK: (u32, u32) = (12, 8);

/// How to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Calls that are not timed, before those that are. None on the simulator, which has nothing to warm.
    pub warm_up: usize,
    /// Timed samples; at least one is taken.
    pub samples: usize,
    /// Calls in one sample, one after the other; at least one is made. Above 1 for kernels of a few microseconds.
    pub calls: usize,
    /// Whether twice the L2 cache is overwritten before each sample, so that inputs come from memory.
    pub flush_l2: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { warm_up: 3, samples: 20, calls: 1, flush_l2: true }
    }
}

/// Which clock a time is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Events in the GPU's stream.
    Events,
    /// The host's clock.
    Host,
}

/// The times of one call, milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    sorted_ms: Vec<f64>,
    /// The clock.
    pub clock: Clock,
}

impl Timing {
    fn new(mut times: Vec<f64>, clock: Clock) -> Timing {
        times.sort_by(f64::total_cmp);
        Timing { sorted_ms: times, clock }
    }

    /// The median; of an even number of samples the mean of the middle two.
    pub fn median_ms(&self) -> f64 {
        let middle = self.sorted_ms.len() / 2;
        match self.sorted_ms.len() {
            0 => f64::NAN,
            len if len % 2 == 1 => self.sorted_ms[middle],
            _ => (self.sorted_ms[middle - 1] + self.sorted_ms[middle]) / 2.0,
        }
    }

    /// The samples, shortest first.
    pub fn sorted_ms(&self) -> &[f64] {
        &self.sorted_ms
    }

    /// 10¹² operations a second, for a call that does this many: at the median.
    pub fn tera_per_second(&self, operations: f64) -> f64 {
        operations / self.median_ms() * 1e-9
    }

    /// 10⁹ bytes or elements a second, for a call that moves this many: at the median.
    pub fn giga_per_second(&self, bytes: f64) -> f64 {
        bytes / self.median_ms() * 1e-6
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.sorted_ms.first(), self.sorted_ms.last());
        let (shortest, longest) = (first.copied().unwrap_or(f64::NAN), last.copied().unwrap_or(f64::NAN));
        let (median, samples) = (self.median_ms(), self.sorted_ms.len());
        write!(f, "{median:.4} ms (median of {samples}, {shortest:.4} to {longest:.4})")
    }
}

/// Times `call`, which gives work to `stream`.
///
/// # Errors
/// The first error of `call`, or of the driver.
///
/// ```
/// use layout_cuda::{Device, bench};
///
/// let device = Device::simulator();
/// let timing = bench::time(&device.stream(), &bench::Options::default(), || {
///     device.upload(&[1.0f32; 1000], [1000]).map(drop)
/// })?;
/// assert_eq!((timing.sorted_ms().len(), timing.clock), (20, bench::Clock::Host));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn time<E: From<Error>>(
    stream: &Stream,
    options: &Options,
    mut call: impl FnMut() -> std::result::Result<(), E>,
) -> std::result::Result<Timing, E> {
    time_after(stream, options, &mut (), |()| Ok(()), |()| call())
}

/// Times `call` after `before`, which is outside of the clock: it restores what the call changes. It is made once before each
/// sample, and each warm-up; so `calls` is 1 where each call needs it.
///
/// # Errors
/// The first error of `before` or `call`, or of the driver.
///
/// ```
/// use layout_cuda::{Device, Error, bench};
///
/// let device = Device::simulator();
/// let mut sums = device.upload(&[1.0f32; 1000], [1000])?;
/// let options = bench::Options { samples: 5, ..Default::default() };
/// let timing = bench::time_after(&device.stream(), &options, &mut sums,
///     |sums| { *sums = device.zeros([1000])?; Ok(()) },
///     |sums| { sums.download()?; Ok::<(), Error>(()) },
/// )?;
/// assert_eq!(timing.sorted_ms().len(), 5);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn time_after<S, E: From<Error>>(
    stream: &Stream,
    options: &Options,
    state: &mut S,
    mut before: impl FnMut(&mut S) -> std::result::Result<(), E>,
    mut call: impl FnMut(&mut S) -> std::result::Result<(), E>,
) -> std::result::Result<Timing, E> {
    let calls = options.calls.max(1);
    let mut sample = |state: &mut S| (0..calls).try_for_each(|_| call(state));
    let Some(cuda) = stream.cuda() else {
        let mut times = Vec::new();
        for _ in 0..options.samples.max(1) {
            before(state)?;
            let start = Instant::now();
            sample(state)?;
            times.push(start.elapsed().as_secs_f64() * 1e3 / calls as f64);
        }
        return Ok(Timing::new(times, Clock::Host));
    };
    let version = driver::version().map_err(Error::from)?;
    if version < EVENT_CLOCK {
        return Err(Error::from(DriverError::TooOld { version, needed: EVENT_CLOCK }).into());
    }
    let l2_bytes = stream.device().properties().map_or(0, |properties| properties.l2_bytes as usize);
    let mut scratch = match options.flush_l2 {
        true => Some(stream.zeros::<u8, 1>([2 * l2_bytes.max(1 << 20)])?),
        false => None,
    };
    for _ in 0..options.warm_up {
        before(state)?;
        sample(state)?;
    }
    let mut events = Vec::new();
    for _ in 0..options.samples.max(1) {
        before(state)?;
        if let Some(scratch) = &mut scratch {
            scratch.poison()?;
        }
        let start = record(cuda)?;
        sample(state)?;
        events.push((start, record(cuda)?));
    }
    stream.synchronize()?;
    let elapsed = |(start, end): &(CudaEvent, CudaEvent)| {
        let ms = check("cuEventElapsedTime", start.elapsed_ms(end))?;
        Ok(f64::from(ms) / calls as f64)
    };
    let times = events.iter().map(elapsed).collect::<Result<Vec<f64>>>()?;
    Ok(Timing::new(times, Clock::Events))
}

fn record(stream: &CudaStream) -> Result<CudaEvent> {
    Ok(check("cuEventRecord", stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT)))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_gpu::devices;

    #[test]
    fn statistics() {
        let timing = Timing::new(vec![4.0, 1.0, 2.0], Clock::Events);
        assert_eq!((timing.median_ms(), timing.sorted_ms()), (2.0, [1.0, 2.0, 4.0].as_slice()));
        assert_eq!(timing.tera_per_second(4e9), 2.0);
        assert_eq!(timing.giga_per_second(4e6), 2.0);
        assert_eq!(timing.to_string(), "2.0000 ms (median of 3, 1.0000 to 4.0000)");
        assert_eq!(Timing::new(vec![4.0, 1.0], Clock::Host).median_ms(), 2.5);
    }

    #[test]
    fn every_call_is_made() {
        for device in devices() {
            let stream = device.stream();
            let mut tensor = stream.zeros::<f32, 1>([1 << 16]).expect("a tensor");
            let options = Options { warm_up: 2, samples: 5, calls: 3, flush_l2: true };
            let mut count = 0;
            let timing = time(&stream, &options, || {
                count += 1;
                tensor.poison()
            })
            .expect("times");
            let warm_up = if device.is_simulator() { 0 } else { 2 * 3 };
            assert_eq!((count, timing.sorted_ms().len()), (warm_up + 5 * 3, 5));
            assert!(timing.sorted_ms().iter().all(|ms| *ms >= 0.0), "{timing}");
        }
    }

    #[test]
    fn what_comes_before_is_made_once_a_sample() {
        for device in devices() {
            let stream = device.stream();
            let options = Options { warm_up: 2, samples: 5, calls: 3, flush_l2: false };
            let mut order = String::new();
            let timing = time_after(
                &stream,
                &options,
                &mut order,
                |order| {
                    order.push('b');
                    Ok(())
                },
                |order| {
                    order.push('c');
                    Ok::<(), Error>(())
                },
            );
            let samples = if device.is_simulator() { 5 } else { 7 };
            assert_eq!(
                (order, timing.map(|timing| timing.sorted_ms().len())),
                ("bccc".repeat(samples), Ok(5))
            );
        }
    }

    #[test]
    fn errors_come_through() {
        let stream = crate::Device::simulator().stream();
        let error = time(&stream, &Options::default(), || stream.upload(&[1u8], [2]).map(drop));
        assert!(matches!(error, Err(crate::Error::Tensor(_))), "{error:?}");
    }
}
