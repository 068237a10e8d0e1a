//! Numbers for kernels, and tensors that show when something beside them was written.
//!
//! Law: the numbers are small multiples of powers of two, so that sums and products of them are exact in float32 and a
//! kernel's result can be compared bit for bit.

use layout_cuda::{Device, Element, Error, Tensor, TensorView, TensorViewMut};

/// Reproducible noise.
pub fn noise(count: usize, seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678;
    (0..count).map(move |_| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 29)
    })
}

/// Integers from `-range` to `range`.
pub fn integers(count: usize, seed: u64, range: i64) -> Vec<i64> {
    noise(count, seed)
        .map(|bits| (bits >> 20) as i64 % (range + 1) * if bits & 1 == 0 { 1 } else { -1 })
        .collect()
}

/// Multiples of 1/4 from -2 to 2.
pub fn floats(count: usize, seed: u64) -> Vec<f32> {
    integers(count, seed, 8).into_iter().map(|value| value as f32 / 4.0).collect()
}

/// The same as doubles.
pub fn doubles(count: usize, seed: u64) -> Vec<f64> {
    floats(count, seed).into_iter().map(f64::from).collect()
}

/// What an element holds that no kernel may touch, and an output before the kernel ran.
pub fn untouched<T: Element>() -> T {
    T::from_bits(0x5a5a_5a5a_5a5a_5a5a)
}

/// A tensor inside a larger storage: skewed to a misaligned start, with any strides.
pub struct Operand<T: Element, const R: usize> {
    memory: Tensor<T, 1>,
    /// What the storage held before the launch.
    before: Vec<T>,
    start: usize,
    shape: [usize; R],
    strides: [usize; R],
}

impl<T: Element, const R: usize> Operand<T, R> {
    /// The elements `values`, in row-major order of their coordinates, at `start` and these strides.
    ///
    /// # Errors
    /// Those of an upload.
    pub fn new(
        device: &Device,
        values: &[T],
        start: usize,
        shape: [usize; R],
        strides: [usize; R],
    ) -> Result<Operand<T, R>, Error> {
        let places = places(shape, strides);
        assert_eq!(places.len(), values.len(), "one value for each element of {shape:?}");
        let reach = places.iter().max().map_or(0, |last| last + 1);
        let mut before = vec![untouched(); start + reach + 3];
        for (place, value) in places.iter().zip(values) {
            before[start + place] = *value;
        }
        let memory = device.upload(&before, [before.len()])?;
        Ok(Operand { memory, before, start, shape, strides })
    }

    /// What a kernel reads.
    ///
    /// # Errors
    /// Those of a view.
    pub fn view(&self) -> Result<TensorView<'_, T, R>, Error> {
        self.memory.part(self.start, self.shape, self.strides)
    }

    /// What a kernel writes.
    ///
    /// # Errors
    /// Those of a view.
    pub fn view_mut(&mut self) -> Result<TensorViewMut<'_, T, R>, Error> {
        self.memory.part_mut(self.start, self.shape, self.strides)
    }

    /// The elements in row-major order of their coordinates, after a look at what is between them.
    ///
    /// # Errors
    /// Those of a download.
    pub fn read(&self) -> Result<Vec<T>, Error> {
        let after = self.memory.download()?;
        let own: Vec<usize> =
            places(self.shape, self.strides).iter().map(|place| self.start + place).collect();
        let mut inside = vec![false; after.len()];
        own.iter().for_each(|place| inside[*place] = true);
        for (place, (now, then)) in after.iter().zip(&self.before).enumerate() {
            let same = now.to_bits() == then.to_bits();
            assert!(inside[place] || same, "element {place} of the storage is no part of the tensor");
        }
        Ok(own.into_iter().map(|place| after[place]).collect())
    }
}

/// The offset of every element, in row-major order of the coordinates.
fn places<const R: usize>(shape: [usize; R], strides: [usize; R]) -> Vec<usize> {
    let count: usize = shape.iter().product();
    let offset = |mut number: usize| {
        let mut sum = 0;
        for mode in (0..R).rev() {
            sum += number % shape[mode] * strides[mode];
            number /= shape[mode];
        }
        sum
    };
    (0..count).map(offset).collect()
}
