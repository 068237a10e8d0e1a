//! Convolutions (cross-correlations) of two modes, NHWC: strides, dilation, padding with zeros, groups, a bias, an activation.
//!
//! Law: `out[n, i, j, k] = f(bias[k] + sum of x[n, i stride + r dilation - padding, .., c] filters[k, r, s, c])`, sums in float32, rounded once.
//! What is outside of the image is 0. Where the tensors are in memory changes nothing but the speed: tensors that the kernels cannot take
//! are copied first.
//!
//! Elements of one column and one row, neither stride, padding, bias nor activation: that is [`multiply`]. Else by TMA and warpgroup
//! products on Hopper with a stride of 1, and by `mma.sync` everywhere else. As many groups as channels and filters: one launch that is bound
//! by memory.

use crate::kernels::convolution as kernels;
use crate::movement::pad;
use crate::product::{Machine, Options, Workspace, multiply};
use crate::{is_unaligned, refused, same, separate, set};
use layout_cuda::{
    Arch, Definition, Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, TensorArg,
    TensorArgMut, TensorView, TensorViewMut, bf16,
};

/// What is done to a sum and its bias.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// Nothing.
    #[default]
    None,
    /// `max(x, 0)`
    Relu,
    /// `x / (1 + exp(-x))`
    Silu,
}

/// The kernels of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// TMA and warpgroup products: Hopper; with another stride than 1 it is `Warps`.
    Warpgroups,
    /// `mma.sync`: sm_80 and later.
    Warps,
}

/// A convolution but for its tensors; pairs are of rows and of columns. By default the filters stay inside of the image.
#[derive(Clone, Copy, Debug)]
pub struct Convolution<'a, T: Element> {
    /// Elements from the patch of a pixel to that of the next one.
    pub stride: [usize; 2],
    /// Elements from one of a patch to the next one.
    pub dilation: [usize; 2],
    /// Rows and columns of zeros on either side of the image.
    pub padding: [usize; 2],
    /// Parts of the channels, each with filters of its own.
    pub groups: usize,
    /// Added to the sums, one for each filter.
    pub bias: Option<&'a Tensor<T, 1>>,
    /// What becomes of that.
    pub activation: Activation,
    /// The kernel; the faster one that the device has where it is `None`.
    pub kernel: Option<Kernel>,
}

impl<T: Element> Default for Convolution<'_, T> {
    fn default() -> Self {
        Convolution {
            stride: [1; 2],
            dilation: [1; 2],
            padding: [0; 2],
            groups: 1,
            bias: None,
            activation: Activation::None,
            kernel: None,
        }
    }
}

/// Filters of a tile on Hopper, and stages.
const WIDTHS: [(usize, usize); 3] = [(256, 4), (128, 6), (64, 8)];

/// What tiles of warps change: for most outputs, for few filters, for few pixels.
const TILES: [&[(&str, usize)]; 3] =
    [&[], &[("BN", 64), ("WN", 32)], &[("BM", 64), ("BN", 64), ("WM", 32), ("WN", 32)]];

/// The sets that a convolution of `bf16` picks, with SiLU, which takes the most registers; boxes of pixels change no register.
#[doc(hidden)]
pub fn picked() -> Vec<(&'static Definition, ParamSet)> {
    let silu = Convolution::<bf16> { activation: Activation::Silu, ..Convolution::default() };
    let wide = WIDTHS.map(|(wide, stages)| {
        let set = silu.set(&[("BN", wide), ("STAGES", stages)]).with("DIRECT", ParamValue::Bool(false));
        (&kernels::convolution::DEFINITION, set)
    });
    let by_warps = TILES.map(|numbers| (&kernels::convolution_mma::DEFINITION, silu.set(numbers)));
    let by_channels = [(7, 4, 2), (4, 1, 1)].map(|(wide, pixels, stride)| {
        let numbers = [("V", 8), ("GROUP", 8), ("WIDE", wide), ("PIXELS", pixels), ("STRIDE", stride)];
        (&kernels::depthwise::DEFINITION, silu.set(&numbers))
    });
    wide.into_iter().chain(by_warps).chain(by_channels).collect()
}

/// Images or filters where a kernel can take them: channels contiguous, in vectors of so many.
fn in_place<'t, T: Element>(
    stream: &Stream,
    tensor: &TensorView<'t, T, 4>,
    (compact, multiple): (bool, usize),
    own: &'t mut Option<Tensor<T, 4>>,
) -> Result<TensorView<'t, T, 4>, Error> {
    let ([n, h, w, c], strides) = (tensor.shape(), tensor.strides());
    let merged = strides[2] == c && strides[1] == w * c && strides[0] == h * w * c;
    let whole = strides[..3].iter().chain([&c]).all(|extent| extent.is_multiple_of(multiple));
    if strides[3] == 1 && whole && (merged || !compact) {
        return tensor.part(0, tensor.shape(), strides);
    }
    let own = own.insert(stream.zeros([n, h, w, c.next_multiple_of(multiple)])?);
    pad(stream, [0; 4], T::from_bits(0), tensor, own)?;
    Ok(own.view())
}

/// Pixels of a tensor as rows of a matrix, where one follows the other.
fn rows([n, h, w, c]: [usize; 4], strides: [usize; 4]) -> Option<([usize; 2], [usize; 2])> {
    let follows = (h == 1 || strides[1] == w * strides[2]) && (n == 1 || strides[0] == h * w * strides[2]);
    (follows && strides[3] == 1).then_some(([n * h * w, c], [strides[2], 1]))
}

/// The box of pixels of a tile of 128, of which the fewest cover the output; the squarest of those: rows, columns.
fn box_of([n, p, q, _]: [usize; 4]) -> (usize, usize) {
    let boxes = (0..8).flat_map(|tall| (0..8 - tall).map(move |broad| (1 << tall, 1 << broad)));
    let tiles = |(tall, broad): (usize, usize)| {
        let count = [n.div_ceil(128 / (tall * broad)), p.div_ceil(tall), q.div_ceil(broad)];
        (count.into_iter().fold(1, usize::saturating_mul), tall.abs_diff(broad), 128 / (tall * broad))
    };
    boxes.min_by_key(|shape| tiles(*shape)).unwrap_or((8, 8))
}

impl<T: Element> Convolution<'_, T> {
    /// The extents of the output; no pixel where a filter is larger than the image.
    ///
    /// ```
    /// use layout_cuda::bf16;
    /// use layout_kernels::convolution::Convolution;
    /// let halves = Convolution::<bf16> { stride: [2, 2], padding: [1, 1], ..Convolution::default() };
    /// assert_eq!(halves.shape([8, 56, 56, 64], [128, 3, 3, 64]), [8, 28, 28, 128]);
    /// ```
    pub fn shape(&self, [n, h, w, _]: [usize; 4], [k, r, s, _]: [usize; 4]) -> [usize; 4] {
        let pixels = |mode: usize, extent: usize, filter: usize| {
            let reach = self.dilation[mode].saturating_mul(filter.saturating_sub(1)).saturating_add(1);
            let all = self.padding[mode].saturating_mul(2).saturating_add(extent);
            all.checked_sub(reach).map_or(0, |left| left / self.stride[mode].max(1) + 1)
        };
        [n, pixels(0, h, r), pixels(1, w, s), k]
    }

    /// Whether the tensors are those of one convolution.
    fn agree(&self, x: [usize; 4], filters: [usize; 4], out: [usize; 4]) -> Result<(), Error> {
        let Convolution { stride, dilation, padding, groups, .. } = *self;
        if stride.contains(&0) || dilation.contains(&0) || groups == 0 {
            let values = format!("stride {stride:?}, dilation {dilation:?}, groups {groups}");
            return refused("convolution", "stride, dilation and groups are 1 or more", values);
        }
        if !x[3].is_multiple_of(groups) || !filters[0].is_multiple_of(groups) {
            let values = format!("{} channels, {} filters, groups {groups}", x[3], filters[0]);
            return refused("convolution", "groups divide channels and filters", values);
        }
        // Coordinates and steps of the kernels have 32 bits.
        let reach = |mode: usize| {
            let all = padding[mode].saturating_mul(2).saturating_add(x[mode + 1]);
            dilation[mode].saturating_mul(filters[mode + 1]).saturating_add(all).saturating_add(stride[mode])
        };
        if reach(0).max(reach(1)) >= 1 << 30 {
            let values =
                format!("image {x:?}, filters {filters:?}, padding {padding:?}, dilation {dilation:?}");
            return refused(
                "convolution",
                "image, padding, stride and filter reach less than 2^30 elements",
                values,
            );
        }
        same("convolution", "filters", 3, filters[3], ("channels of a group", "x"), x[3] / groups)?;
        for (mode, expected) in self.shape(x, filters).into_iter().enumerate() {
            same("convolution", "out", mode, out[mode], ("the extent", "x and filters"), expected)?;
        }
        match self.bias {
            Some(bias) => same("convolution", "bias", 0, bias.shape()[0], ("K", "filters"), filters[0]),
            None => Ok(()),
        }
    }

    /// `out` `[N, P, Q, K]` of images `x` `[N, H, W, C]` and `filters` `[K, R, S, C / groups]`, P and Q as [`Convolution::shape`] says.
    /// Asynchronous. Elements are `bf16` or `f16`. The groups are one launch each, but for groups of one channel and one filter: one launch.
    ///
    /// Channels that are no multiple of 8 or not contiguous, and an output whose pixels do not follow one another, take a copy, of which the
    /// memory is this call's.
    ///
    /// # Errors
    /// Extents that disagree, a stride, dilation or number of groups that is 0, groups that do not divide the channels and the filters, other
    /// types, a device before sm_80 or without memory for copies, and those of a launch. Nothing has run where the arguments do not fit.
    ///
    /// ```
    /// use layout_cuda::{Device, bf16};
    /// use layout_kernels::convolution::{Activation, Convolution};
    ///
    /// let device = Device::simulator();
    /// let of = |value: f32, len: usize| vec![bf16::from_f32(value); len];
    /// let x = device.upload(&of(1.0, 4 * 5 * 3), [1, 4, 5, 3])?;
    /// let filters = device.upload(&of(1.0, 2 * 9 * 3), [2, 3, 3, 3])?;
    /// let bias = device.upload(&of(-20.0, 2), [2])?;
    /// let description = Convolution {
    ///     padding: [1, 1],
    ///     bias: Some(&bias),
    ///     activation: Activation::Relu,
    ///     ..Convolution::default()
    /// };
    /// let mut out = device.zeros::<bf16, 4>([1, 4, 5, 2])?;
    /// description.run(&device.stream(), &x, &filters, &mut out)?;
    /// let found = out.download()?;
    /// // A corner sees four pixels, the middle nine.
    /// assert_eq!([found[0].to_f32(), found[2 * (5 + 1)].to_f32()], [0.0, 7.0]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn run(
        &self,
        stream: &Stream,
        x: &impl TensorArg<T, 4>,
        filters: &impl TensorArg<T, 4>,
        out: &mut impl TensorArgMut<T, 4>,
    ) -> Result<(), Error> {
        let (x, filters, mut out) = (x.view(), filters.view(), out.view_mut());
        self.agree(x.shape(), filters.shape(), out.shape())?;
        if out.shape().contains(&0) {
            return Ok(());
        }
        separate("convolution", "out", &out)?;
        let (shape, strides) = (out.shape(), out.strides());
        if rows(shape, strides).is_none() {
            let mut own = stream.zeros(shape)?;
            self.of_groups(stream, &x, &filters, &mut own.view_mut())?;
            return pad(stream, [0; 4], T::from_bits(0), &own, &mut out);
        }
        self.of_groups(stream, &x, &filters, &mut out)
    }

    /// Group by group.
    fn of_groups(
        &self,
        stream: &Stream,
        x: &TensorView<'_, T, 4>,
        filters: &TensorView<'_, T, 4>,
        out: &mut TensorViewMut<'_, T, 4>,
    ) -> Result<(), Error> {
        let ([n, h, w, c], [k, r, s, own]) = (x.shape(), filters.shape());
        let ([_, p, q, _], to, filters_of) = (out.shape(), out.strides(), k / self.groups);
        let none = stream.zeros::<T, 1>([0])?;
        let with_gaps = self.bias.filter(|bias| k > 1 && bias.strides() != [1]);
        let without_gaps = match with_gaps {
            Some(bias) => {
                let mut own = stream.zeros([k])?;
                pad(stream, [0], T::from_bits(0), bias, &mut own)?;
                Some(own)
            }
            None => None,
        };
        let bias = without_gaps.as_ref().or(self.bias);
        if [k, own, self.groups] == [c, 1, c] && self.kernel.is_none() && size_of::<T>() == 2 {
            return self.depthwise(stream, x, filters, &bias.map_or(none.view(), Tensor::view), out);
        }
        for group in 0..self.groups {
            let x = x.part(group * (c / self.groups) * x.strides()[3], [n, h, w, own], x.strides())?;
            let first = group * filters_of;
            let shape = [filters_of, r, s, own];
            let filters = filters.part(first * filters.strides()[0], shape, filters.strides())?;
            let bias = match bias {
                Some(bias) => bias.part(first, [filters_of], [1])?,
                None => none.view(),
            };
            let mut out = out.part_mut(first, [n, p, q, filters_of], to)?;
            self.of_one(stream, &x, &filters, &bias, &mut out)?;
        }
        Ok(())
    }

    /// One group, of an output that is a matrix of pixels and filters.
    fn of_one(
        &self,
        stream: &Stream,
        x: &TensorView<'_, T, 4>,
        filters: &TensorView<'_, T, 4>,
        bias: &TensorView<'_, T, 1>,
        out: &mut TensorViewMut<'_, T, 4>,
    ) -> Result<(), Error> {
        let (shape @ [k, r, s, _], of_filters) = (filters.shape(), filters.strides());
        let plain = [self.stride, [r, s]] == [[1; 2]; 2] && self.padding == [0; 2];
        let bare = self.bias.is_none() && self.activation == Activation::None && self.kernel.is_none();
        let matrices = (rows(x.shape(), x.strides()), rows(out.shape(), out.strides()));
        if let (Some((a, of_a)), Some((c, of_c))) = matrices
            && plain
            && bare
            && of_filters[3] == 1
        {
            let (a, b) = (x.part(0, a, of_a)?, filters.part(0, [shape[3], k], [1, of_filters[0]])?);
            let mut c = out.part_mut(0, c, of_c)?;
            return multiply(stream, Options::default(), &mut Workspace::default(), &a, &b, &mut c);
        }
        let (mut own_x, mut own_filters) = (None, None);
        let x = in_place(stream, x, (false, 8), &mut own_x)?;
        let filters = in_place(stream, filters, (true, 8), &mut own_filters)?;
        let hopper = Machine::of(stream.device()).arch.includes(Arch::SM_90A);
        let empty = x.shape().contains(&0) || filters.shape().contains(&0);
        let boxes =
            self.stride == [1; 2] && !empty && self.kernel.map_or(hopper, |of| of == Kernel::Warpgroups);
        if boxes {
            match self.by_warpgroups(stream, &x, &filters, bias, out) {
                done if is_unaligned(&done) => {}
                done => return done,
            }
        }
        self.by_warps(stream, &x, &filters, bias, out)
    }

    /// What both kernels have in common.
    fn set(&self, numbers: &[(&str, usize)]) -> ParamSet {
        let activation = match self.activation {
            Activation::None => kernels::NONE,
            Activation::Relu => kernels::RELU,
            Activation::Silu => kernels::SILU,
        };
        set(numbers)
            .with("T", ParamValue::Type(T::ELEM))
            .with("ACTIVATION", ParamValue::Int(activation as i64))
    }

    fn by_warpgroups(
        &self,
        stream: &Stream,
        x: &TensorView<'_, T, 4>,
        filters: &TensorView<'_, T, 4>,
        bias: &TensorView<'_, T, 1>,
        out: &mut TensorViewMut<'_, T, 4>,
    ) -> Result<(), Error> {
        let ([k, r, s, c], (tall, broad)) = (filters.shape(), box_of(out.shape()));
        // The fewest columns beyond the filters, then the widest tile.
        let wide = WIDTHS.into_iter().min_by_key(|(wide, _)| k.next_multiple_of(*wide));
        let (wide, stages) = wide.unwrap_or(WIDTHS[1]);
        let sms = Machine::of(stream.device()).multiprocessors;
        let direct = !out.strides()[..3].iter().chain([&k]).all(|extent| extent.is_multiple_of(8));
        let numbers = [("BN", wide), ("TALL", tall), ("BROAD", broad), ("STAGES", stages), ("SMS", sms)];
        let set = self.set(&numbers).with("DIRECT", ParamValue::Bool(direct));
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let filters = filters.part(0, [k, r * s, c], [r * s * c, c, 1])?;
        let [padding_h, padding_w] = self.padding.map(|padding| padding as isize);
        let [dilation_h, dilation_w] = self.dilation.map(|dilation| dilation as isize);
        kernels::convolution::launch_with(
            config, stream, x, &filters, bias, out, r, s, padding_h, padding_w, dilation_h, dilation_w,
        )
    }

    fn by_warps(
        &self,
        stream: &Stream,
        x: &TensorView<'_, T, 4>,
        filters: &TensorView<'_, T, 4>,
        bias: &TensorView<'_, T, 1>,
        out: &mut TensorViewMut<'_, T, 4>,
    ) -> Result<(), Error> {
        let ([k, r, s, c], [n, p, q, _], pitch) = (filters.shape(), out.shape(), out.strides()[2]);
        let pixels = n * p * q;
        let tiles = pixels.div_ceil(128).saturating_mul(k.div_ceil(128));
        // Narrow tiles for few filters, small ones for few pixels.
        let numbers = if tiles < Machine::of(stream.device()).multiprocessors {
            TILES[2]
        } else if k <= 64 {
            TILES[1]
        } else {
            TILES[0]
        };
        let set = self.set(numbers);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let filters = filters.part(0, [k, r * s * c], [r * s * c, 1])?;
        let mut out = out.part_mut(0, [pixels, k], [pitch, 1])?;
        let whole = |of: [usize; 2]| of.map(|of| of as i32);
        let ([stride_h, stride_w], [padding_h, padding_w]) = (whole(self.stride), whole(self.padding));
        // Of a filter without columns none is looked for.
        let ([dilation_h, dilation_w], [high, wide]) = (whole(self.dilation), whole([r, s.max(1)]));
        kernels::convolution_mma::launch_with(
            config, stream, x, &filters, bias, &mut out, p as u32, q as u32, high, wide, stride_h, stride_w,
            padding_h, padding_w, dilation_h, dilation_w,
        )
    }

    /// A filter for each channel.
    fn depthwise(
        &self,
        stream: &Stream,
        x: &TensorView<'_, T, 4>,
        filters: &TensorView<'_, T, 4>,
        bias: &TensorView<'_, T, 1>,
        out: &mut TensorViewMut<'_, T, 4>,
    ) -> Result<(), Error> {
        let (mut own_x, mut own_filters) = (None, None);
        let x = in_place(stream, x, (false, 1), &mut own_x)?;
        let [c, r, s, _] = filters.shape();
        let ([a, b, d, _], shape) = (filters.strides(), [c, r, s, 1]);
        let filters = filters.part(0, shape, [a, b, d, 1])?;
        let filters = in_place(stream, &filters, (true, 1), &mut own_filters)?;
        let filters = filters.part(0, [c, r * s], [r * s, 1])?;
        let pitches = [&x.strides()[..3], &out.strides()[..3], &[c]].concat();
        let v = if pitches.iter().all(|pitch| pitch.is_multiple_of(8)) { 8 } else { 1 };
        // Up to 64 channels are a block's, of which the fewest are beyond the last one.
        let (vectors, most) = (c.div_ceil(v), 64 / v);
        let group = (most / 2 + 1..=most).rev().min_by_key(|group| vectors.next_multiple_of(*group));
        let group = group.filter(|_| vectors > most).unwrap_or(vectors.min(most));
        let [pixels, step, longest] = match (self.stride[1], self.dilation[1]) {
            (step @ (1 | 2), 1) => [4, step, 7],
            _ => [1, 1, 4],
        };
        let wide = (1..=longest).rev().find(|wide| s.is_multiple_of(*wide)).unwrap_or(1);
        let set =
            self.set(&[("V", v), ("GROUP", group), ("WIDE", wide), ("PIXELS", pixels), ("STRIDE", step)]);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let [[stride_h, stride_w], [padding_h, padding_w], [dilation_h, dilation_w]] =
            [self.stride, self.padding, self.dilation].map(|of| of.map(|of| of as i32));
        kernels::depthwise::launch_with(
            config, stream, &x, &filters, bias, out, s, stride_h, stride_w, padding_h, padding_w, dilation_h,
            dilation_w,
        )
    }
}
