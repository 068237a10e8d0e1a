//! A kernel launched by layout-cuda, on a GPU or its simulator, against the simulator's bits.
//!
//! Law: each tensor is between guard zones of its own memory; they are whole afterwards, and what the launch leaves is
//! bit for bit what the simulator leaves (NaN is NaN). Products of floats are written so that no compiler contracts them with a
//! sum ([`Kernel::opaque`]).

use crate::interpret::interpret;
use crate::run::{Failure, Stored, Trial, Verdict, bits};
use crate::tree::Kernel;
use crate::types::Type;
use layout_compiler::wire;
use layout_cuda::{
    Argument, Definition, Element, Error, LaunchConfig, LaunchError, Stream, bf16, f16, launch_slice,
};

/// Bytes of a guard zone: a multiple of every alignment.
const GUARD: usize = 1 << 12;

/// A tensor in a device's memory, between its guard zones.
trait Memory {
    /// What a launch takes.
    fn with(&mut self) -> Result<Box<dyn View + '_>, Error>;
    /// The bytes of the tensor, and whether the guard zones are whole.
    fn bytes(&self) -> Result<(Vec<u8>, bool), Error>;
}

/// A view that is an argument.
trait View {
    fn argument(&mut self) -> Argument<'_>;
}

impl<T: Element, const R: usize> View for layout_cuda::TensorView<'_, T, R> {
    fn argument(&mut self) -> Argument<'_> {
        Argument::read(self)
    }
}

impl<T: Element, const R: usize> View for layout_cuda::TensorViewMut<'_, T, R> {
    fn argument(&mut self) -> Argument<'_> {
        Argument::write(self)
    }
}

struct Guarded<T: Element, const R: usize> {
    tensor: layout_cuda::Tensor<T, 1>,
    /// The number of the tensor's first element, and how many it reaches.
    start: usize,
    len: usize,
    shape: [usize; R],
    strides: [usize; R],
    mutable: bool,
}

/// The byte that a guard zone is made of: also a `bool`.
const PATTERN: u64 = 0x0101_0101_0101_0101;

impl<T: Element, const R: usize> Guarded<T, R> {
    fn upload(
        stream: &Stream,
        stored: &Stored,
        mutable: bool,
        aligned: bool,
    ) -> Result<Box<dyn Memory>, Error> {
        let size = size_of::<T>();
        let zone = GUARD / size;
        let start = zone + usize::from(!aligned);
        let len = stored.bytes.len() / size;
        let mut values = vec![T::from_bits(PATTERN); start + len + zone];
        for (value, bytes) in values[start..].iter_mut().zip(stored.bytes.chunks(size)) {
            let mut word = [0; 8];
            word[..size].copy_from_slice(bytes);
            *value = T::from_bits(u64::from_le_bytes(word));
        }
        let tensor = stream.upload(&values, [values.len()])?;
        let shape: [usize; R] = std::array::from_fn(|mode| stored.shape[mode]);
        let strides: [usize; R] = std::array::from_fn(|mode| stored.strides[mode]);
        Ok(Box::new(Guarded { tensor, start, len, shape, strides, mutable }))
    }
}

impl<T: Element, const R: usize> Memory for Guarded<T, R> {
    fn with(&mut self) -> Result<Box<dyn View + '_>, Error> {
        Ok(match self.mutable {
            true => Box::new(self.tensor.part_mut(self.start, self.shape, self.strides)?),
            false => Box::new(self.tensor.part(self.start, self.shape, self.strides)?),
        })
    }

    fn bytes(&self) -> Result<(Vec<u8>, bool), Error> {
        let values = self.tensor.download()?;
        let own = self.start..self.start + self.len;
        let pattern = T::from_bits(PATTERN).to_bits();
        let mut zones = values[..own.start].iter().chain(&values[own.end..]);
        let whole = zones.all(|value| value.to_bits() == pattern);
        let bytes =
            values[own].iter().flat_map(|value| value.to_bits().to_le_bytes()[..size_of::<T>()].to_vec());
        Ok((bytes.collect(), whole))
    }
}

/// A tensor by its type and rank.
fn upload(stream: &Stream, stored: &Stored, mutable: bool, aligned: bool) -> Result<Box<dyn Memory>, Error> {
    macro_rules! of {
        ($type:ty) => {
            match stored.shape.len() {
                1 => Guarded::<$type, 1>::upload(stream, stored, mutable, aligned),
                2 => Guarded::<$type, 2>::upload(stream, stored, mutable, aligned),
                _ => Guarded::<$type, 3>::upload(stream, stored, mutable, aligned),
            }
        };
    }
    match stored.elem {
        Type::F64 => of!(f64),
        Type::F32 => of!(f32),
        Type::F16 => of!(f16),
        Type::Bf16 => of!(bf16),
        Type::I32 => of!(i32),
        Type::U32 => of!(u32),
        Type::I8 => of!(i8),
        Type::U8 => of!(u8),
        Type::Bool => of!(bool),
        Type::I64 | Type::Index => of!(i64),
        Type::U64 => of!(u64),
        Type::I16 => of!(i16),
        Type::U16 => of!(u16),
    }
}

fn scalar(ty: Type, bits: u64) -> Argument<'static> {
    match ty {
        Type::F64 => Argument::scalar(f64::from_bits(bits)),
        Type::F32 => Argument::scalar(<f32 as Element>::from_bits(bits)),
        Type::F16 => Argument::scalar(<f16 as Element>::from_bits(bits)),
        Type::Bf16 => Argument::scalar(<bf16 as Element>::from_bits(bits)),
        Type::I64 => Argument::scalar(bits as i64),
        Type::U64 => Argument::scalar(bits),
        Type::I16 => Argument::scalar(bits as i16),
        Type::U16 => Argument::scalar(bits as u16),
        Type::I32 => Argument::scalar(bits as i32),
        Type::U32 => Argument::scalar(bits as u32),
        Type::I8 => Argument::scalar(bits as i8),
        Type::U8 => Argument::scalar(bits as u8),
        Type::Bool => Argument::scalar(bits != 0),
        Type::Index => Argument::index(bits as i64),
    }
}

impl Trial {
    /// The kernel on a stream's device against the simulator. It is [`Trial::opaque`] where that is a GPU.
    ///
    /// A kernel that the interpreter or the simulator fails with is left out: that is what [`Trial::simulated`] says.
    pub fn on_device(&self, stream: &Stream) -> Verdict {
        let outside = match interpret(&self.kernel) {
            Ok(outcome) => outcome.outside || outcome.left_64_bits,
            Err(stuck) => return stuck.into(),
        };
        let variants = match self.variants() {
            Ok(variants) => variants,
            Err(verdict) => return verdict,
        };
        // A launch takes the first variant whose promises hold, and so does this.
        let mut wanted = None;
        for variant in &variants {
            match self.launch(variant, outside) {
                Ok(None) => {}
                Ok(Some(tensors)) => {
                    wanted = Some(tensors);
                    break;
                }
                Err(failure) => return Verdict::Failed(failure),
            }
        }
        let Some(wanted) = wanted else { return Verdict::Stuck("no variant fits".to_owned()) };
        match self.launched(stream, &wanted, outside) {
            Ok(None) => Verdict::Passed(1),
            Ok(Some(failure)) => Verdict::Failed(failure),
            Err(error) => Verdict::Failed(Failure::new("the device refuses it", error.to_string())),
        }
    }

    fn launched(&self, stream: &Stream, wanted: &[Stored], outside: bool) -> Result<Option<Failure>, Error> {
        let Kernel { tensors, scalars, .. } = &self.kernel;
        let uploads = tensors.iter().enumerate().map(|(number, tensor)| {
            upload(stream, &Stored::of(&self.kernel, number), tensor.mutable, tensor.aligned)
        });
        let mut memories = uploads.collect::<Result<Vec<_>, Error>>()?;
        let mut views = memories.iter_mut().map(|memory| memory.with()).collect::<Result<Vec<_>, Error>>()?;
        let mut arguments: Vec<Argument<'_>> = views.iter_mut().map(|view| view.argument()).collect();
        arguments.extend(scalars.iter().map(|(ty, value)| scalar(*ty, bits(*ty, *value))));
        let Some(definition) = self.definition() else { return Ok(None) };
        match launch_slice(definition, stream, LaunchConfig::default(), &mut arguments) {
            // The device is the simulator, and an element outside was named, as in the reference.
            Err(Error::Launch(LaunchError::Findings { .. })) if outside => {}
            other => other?,
        }
        stream.synchronize()?;
        drop(views);
        for (number, (memory, wanted)) in memories.iter().zip(wanted).enumerate() {
            let (bytes, whole) = memory.bytes()?;
            if !whole {
                return Ok(Some(Failure::new(
                    "something outside of a tensor is written",
                    format!("beside t{number}"),
                )));
            }
            let found = Stored { bytes, ..wanted.clone() };
            if let Some(difference) = found.difference(&wanted.values()) {
                let detail = format!("t{number}{difference}");
                return Ok(Some(Failure::new("the device differs from the simulator", detail)));
            }
        }
        Ok(None)
    }

    /// The kernel as a program holds it. It stays for good, as layout-cuda asks of a definition.
    fn definition(&self) -> Option<&'static Definition> {
        let kernel = layout_text::kernel(&self.text()).ok()?;
        let bytes = Vec::leak(wire::encode(&kernel));
        Some(Box::leak(Box::new(Definition { name: "random", file: "random.rs", bytes, variants: &[] })))
    }

    /// The same made small, where a device shows the failure.
    pub fn reduced_on_device(&self, stream: &Stream, failure: &Failure, most: usize) -> Trial {
        let mut fails = |kernel: &Kernel| match (Trial { kernel: kernel.clone() }).on_device(stream) {
            Verdict::Failed(found) => found.kind == failure.kind,
            Verdict::Passed(_) | Verdict::Refused(_) | Verdict::Stuck(_) => false,
        };
        Trial { kernel: crate::reduce::reduce(&self.kernel, most, &mut fails) }
    }
}
