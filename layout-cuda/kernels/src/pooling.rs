//! Pooling of two modes, NHWC: the largest number of each window with its place, or the mean.
//!
//! Law: what is outside of the image is left out. Elements are `f32`, `bf16`, `f16`, sums float32, rounded once. Nothing has run where the
//! arguments do not fit.

use crate::compact::compact_mut;
use crate::kernels::pooling as kernels;
use crate::{Real, same, set};
use layout_cuda::{
    Definition, Elem, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, TensorArg, TensorArgMut,
    TensorViewMut,
};

/// Windows; pairs are of rows and of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Elements of a window.
    pub window: [usize; 2],
    /// Elements from one window to the next one.
    pub stride: [usize; 2],
    /// Rows and columns on either side of the image, up to half of a window.
    pub padding: [usize; 2],
}

impl Pool {
    /// The extents of the output; no pixel where a window is larger than the image and its padding.
    ///
    /// ```
    /// use layout_kernels::pooling::Pool;
    /// let pool = Pool { window: [3, 3], stride: [2, 2], padding: [1, 1] };
    /// assert_eq!(pool.shape([8, 112, 112, 64]), [8, 56, 56, 64]);
    /// ```
    pub fn shape(&self, [n, h, w, c]: [usize; 4]) -> [usize; 4] {
        let pixels = |mode: usize, extent: usize| {
            let all = self.padding[mode].saturating_mul(2).saturating_add(extent);
            all.checked_sub(self.window[mode]).map_or(0, |left| left / self.stride[mode].max(1) + 1)
        };
        [n, pixels(0, h), pixels(1, w), c]
    }

    /// `out`: the largest number of each window of `x`, NaN where one is; `indices`, where they are wanted: its place `row W + column` in the
    /// image, that of the first of equal numbers, of the last NaN. Channels of `x` are contiguous, pixels of `out` without gaps. Asynchronous.
    ///
    /// # Errors
    /// A window or stride of 0, padding of more than half a window, reaches of 2³⁰ elements or more, extents that disagree, channels that are
    /// not contiguous, gaps, 2³² - 1024 results or more, and those of a launch.
    ///
    /// ```
    /// use layout_kernels::pooling::Pool;
    ///
    /// let device = layout_cuda::Device::simulator();
    /// let x = device.upload(&[1.0f32, 7.0, 3.0, 4.0, 5.0, 6.0], [1, 2, 3, 1])?;
    /// let pool = Pool { window: [2, 2], stride: [1, 1], padding: [0, 0] };
    /// let (mut out, mut indices) = (device.zeros([1, 1, 2, 1])?, device.zeros([1, 1, 2, 1])?);
    /// pool.maximum(&device.stream(), &x, &mut out, Some(&mut indices))?;
    /// assert_eq!((out.download()?, indices.download()?), (vec![7.0, 7.0], vec![1, 1]));
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn maximum<T: Real>(
        &self,
        stream: &Stream,
        x: &impl TensorArg<T, 4>,
        out: &mut impl TensorArgMut<T, 4>,
        indices: Option<&mut Tensor<u32, 4>>,
    ) -> Result<(), Error> {
        let shape @ [n, p, q, c] = out.view_mut().shape();
        match indices {
            Some(indices) => {
                let mut indices = indices.view_mut();
                let mut indices = compact_mut("pool", "indices", &mut indices, shape)?;
                self.run(stream, x, out, &mut indices.part_mut(0, [n * p * q, c], [c, 1])?, true, 0.0)
            }
            None => self.run(stream, x, out, &mut stream.zeros([0, c])?.view_mut(), true, 0.0),
        }
    }

    /// `out`: the mean of each window of `x`, over how many elements are inside of the image, or, where the padding counts as zeros, over all of
    /// the window. Tensors are as those of [`Pool::maximum`]. The error is as many units in the last place of float32 as a window has elements, then a rounding.
    /// Asynchronous.
    ///
    /// # Errors
    /// As [`Pool::maximum`].
    ///
    /// ```
    /// use layout_kernels::pooling::Pool;
    ///
    /// let device = layout_cuda::Device::simulator();
    /// let (x, mut out) = (device.upload(&[4.0f32, 8.0], [1, 1, 2, 1])?, device.zeros([1, 1, 2, 1])?);
    /// let pool = Pool { window: [1, 2], stride: [1, 2], padding: [0, 1] };
    /// pool.average(&device.stream(), true, &x, &mut out)?;
    /// assert_eq!(out.download()?, [2.0, 4.0]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn average<T: Real>(
        &self,
        stream: &Stream,
        counts_padding: bool,
        x: &impl TensorArg<T, 4>,
        out: &mut impl TensorArgMut<T, 4>,
    ) -> Result<(), Error> {
        let ([.., c], [high, wide]) = (out.view_mut().shape(), self.window);
        let count = if counts_padding { high.saturating_mul(wide) as f32 } else { 0.0 };
        self.run(stream, x, out, &mut stream.zeros([0, c])?.view_mut(), false, count)
    }

    fn run<T: Real>(
        &self,
        stream: &Stream,
        x: &impl TensorArg<T, 4>,
        out: &mut impl TensorArgMut<T, 4>,
        indices: &mut TensorViewMut<'_, u32, 2>,
        maximum: bool,
        count: f32,
    ) -> Result<(), Error> {
        let (x, mut out) = (x.view(), out.view_mut());
        let (Pool { window, stride, padding }, shape) = (*self, x.shape());
        let reach = |mode: usize| {
            [shape[mode + 1], window[mode], stride[mode], 2 * padding[mode].min(window[mode])]
                .into_iter()
                .fold(0, usize::saturating_add)
        };
        let fits = |mode: usize| {
            window[mode] > 0 && stride[mode] > 0 && padding[mode] <= window[mode] / 2 && reach(mode) < 1 << 30
        };
        if !fits(0) || !fits(1) {
            let condition =
                "window and stride are 1 or more, padding is half a window at most, all reach less than 2^30";
            let values = format!("{self:?}, image {shape:?}");
            return crate::refused("pool", condition, values);
        }
        for (mode, expected) in self.shape(shape).into_iter().enumerate() {
            same("pool", "out", mode, out.shape()[mode], ("the extent", "x and windows"), expected)?;
        }
        if out.shape().contains(&0) {
            return Ok(());
        }
        let to @ [n, p, q, c] = out.shape();
        let mut out = compact_mut("pool", "out", &mut out, to)?;
        let mut out = out.part_mut(0, [n * p * q, c], [c, 1])?;
        let whole = 16 / size_of::<T>();
        let [a, b, d, _] = x.strides();
        let v = if [a, b, d, c].iter().all(|pitch| pitch.is_multiple_of(whole)) { whole } else { 1 };
        let set = self.set(T::ELEM, maximum, v);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let [[stride_h, stride_w], [padding_h, padding_w]] =
            [stride, padding].map(|of| of.map(|of| of as i32));
        let [high, wide] = window;
        kernels::pool::launch_with(
            config, stream, &x, &mut out, indices, p as u32, q as u32, high, wide, stride_h, stride_w,
            padding_h, padding_w, count,
        )
    }

    fn set(&self, elem: Elem, maximum: bool, v: usize) -> ParamSet {
        let wide = (1..=4).rev().find(|wide| self.window[1].is_multiple_of(*wide)).unwrap_or(1);
        let set = set(&[("V", v), ("WIDE", wide)]).with("T", ParamValue::Type(elem));
        set.with("MAXIMUM", ParamValue::Bool(maximum))
    }
}

/// Sets of other windows.
#[doc(hidden)]
pub fn picked() -> Vec<(&'static Definition, ParamSet)> {
    let of = |wide| Pool { window: [wide; 2], stride: [2; 2], padding: [0; 2] }.set(Elem::Bf16, true, 8);
    [2, 4].map(|wide| (&kernels::pool::DEFINITION, of(wide))).to_vec()
}
