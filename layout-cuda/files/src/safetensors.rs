//! safetensors: a head in JSON that names tensors, their types and shapes, and their bytes.
//!
//! Law: what is loaded is inside of the file; names, types and shapes are those of its head.

use crate::error::{FileError, Wrong};
use crate::pieces::{self, Place};
use crate::progress::{self, Progress};
use crate::source::Source;
use ::safetensors::tensor::{Metadata, TensorInfo};
use ::safetensors::{Dtype, SafeTensorError, SafeTensors};
use layout_cuda::{Elem, Element, Stream, Tensor};
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

/// Bytes of the number that a file begins with: the length of its head.
const LENGTH: u64 = 8;

/// More bytes than a head may have, by the crate.
const MOST: u64 = 1 << 27;

/// An open file.
#[derive(Debug)]
pub struct Safetensors {
    file: Source,
    head: Metadata,
    /// Where the tensors' bytes begin.
    begin: u64,
}

/// The type of the file's elements that the kernel language has, too.
fn elem(dtype: Dtype) -> Option<Elem> {
    TYPES.iter().find(|(known, _)| *known == dtype).map(|(_, elem)| *elem)
}

const TYPES: [(Dtype, Elem); 15] = [
    (Dtype::BOOL, Elem::Bool),
    (Dtype::U8, Elem::U8),
    (Dtype::I8, Elem::I8),
    (Dtype::F8_E5M2, Elem::E5m2),
    (Dtype::F8_E4M3, Elem::E4m3),
    (Dtype::I16, Elem::I16),
    (Dtype::U16, Elem::U16),
    (Dtype::F16, Elem::F16),
    (Dtype::BF16, Elem::Bf16),
    (Dtype::I32, Elem::I32),
    (Dtype::U32, Elem::U32),
    (Dtype::F32, Elem::F32),
    (Dtype::F64, Elem::F64),
    (Dtype::I64, Elem::I64),
    (Dtype::U64, Elem::U64),
];

fn wrong(error: &SafeTensorError, bytes: &[u8]) -> Wrong {
    let format = |why: String| Wrong::Format { format: "safetensors", why };
    match error {
        SafeTensorError::MetadataIncompleteBuffer => format("its tensors end elsewhere than the file: it is cut off, or has more".into()),
        SafeTensorError::HeaderTooLarge | SafeTensorError::InvalidHeaderLength if bytes.starts_with(b"PK") => {
            format("it is a zip archive, as PyTorch's own `.pt` files are; save it by `safetensors.torch.save_file`".into())
        }
        SafeTensorError::HeaderTooLarge | SafeTensorError::InvalidHeaderLength | SafeTensorError::HeaderTooSmall => {
            format("its first eight bytes are no length of a head".into())
        }
        other => format(other.to_string()),
    }
}

/// Where the tensors' bytes begin, and what the head says of them: as many bytes as the file has.
fn head(file: &Source) -> Result<(u64, Metadata), FileError> {
    let first = file.first(LENGTH)?;
    let failed = |error: &SafeTensorError, bytes: &[u8]| FileError::new(&file.path, wrong(error, bytes));
    let length = first.first_chunk().map(|length| u64::from_le_bytes(*length));
    let begin = length.and_then(|length| length.checked_add(LENGTH));
    // A length beyond the file, or beyond what a head may have, is refused before anything of the kind is read.
    let bytes = match begin.filter(|begin| *begin <= file.bytes) {
        Some(begin) if begin <= MOST => file.first(begin)?,
        _ => first,
    };
    // The crate checks a head against a whole file's bytes. Of the head alone it says that the rest is missing, last of all.
    match SafeTensors::read_metadata(&bytes) {
        Ok(_) | Err(SafeTensorError::MetadataIncompleteBuffer) => {}
        Err(error) => return Err(failed(&error, &bytes)),
    }
    let text = bytes.get(LENGTH as usize..).unwrap_or_default();
    let head = serde_json::from_slice::<Metadata>(text);
    let head = head.map_err(|error| failed(&SafeTensorError::InvalidHeaderDeserialization(error), &bytes))?;
    match (bytes.len() as u64).checked_add(head.data_len() as u64) == Some(file.bytes) {
        true => Ok((bytes.len() as u64, head)),
        false => Err(failed(&SafeTensorError::MetadataIncompleteBuffer, &bytes)),
    }
}

impl Safetensors {
    /// Opens a file and reads its head.
    ///
    /// # Errors
    /// [`Wrong::System`], [`Wrong::Format`].
    pub fn open(path: impl AsRef<Path>) -> Result<Safetensors, FileError> {
        let file = Source::open(path.as_ref())?;
        let (begin, head) = head(&file)?;
        Ok(Safetensors { file, head, begin })
    }

    /// The tensors' names, in the order of their bytes.
    pub fn names(&self) -> Vec<String> {
        self.head.offset_keys()
    }

    fn failed(&self, wrong: Wrong) -> FileError {
        FileError::new(&self.file.path, wrong)
    }

    fn info(&self, name: &str) -> Result<&TensorInfo, FileError> {
        self.head.info(name).ok_or_else(|| {
            let near = near(name, &self.names());
            self.failed(Wrong::Name { name: name.to_owned(), near })
        })
    }

    /// The shape of a tensor.
    ///
    /// # Errors
    /// [`Wrong::Name`].
    pub fn shape(&self, name: &str) -> Result<&[usize], FileError> {
        Ok(&self.info(name)?.shape)
    }

    /// The type of its elements; `None` for one that kernels do not have.
    ///
    /// # Errors
    /// [`Wrong::Name`].
    pub fn elem(&self, name: &str) -> Result<Option<Elem>, FileError> {
        Ok(elem(self.info(name)?.dtype))
    }

    /// A tensor of the stream's device.
    ///
    /// # Errors
    /// [`Wrong::Name`], [`Wrong::Type`], [`Wrong::Rank`], [`Wrong::Device`].
    pub fn load<T: Element, const R: usize>(
        &self,
        name: &str,
        stream: &Stream,
    ) -> Result<Tensor<T, R>, FileError> {
        self.load_telling(name, stream, &mut progress::silent())
    }

    /// As [`Safetensors::load`], and `progress` is called with each piece.
    ///
    /// # Errors
    /// As there.
    pub fn load_telling<T: Element, const R: usize>(
        &self,
        name: &str,
        stream: &Stream,
        progress: &mut dyn Progress,
    ) -> Result<Tensor<T, R>, FileError> {
        let info = self.info(name)?;
        self.part(info, 0..info.shape.first().copied().unwrap_or(1), stream, progress)
    }

    /// Some rows of a tensor, a row being all of one coordinate of the first mode: for one that is too large, or that several
    /// devices share.
    ///
    /// # Errors
    /// As [`Safetensors::load`], and [`Wrong::Rows`].
    pub fn load_rows<T: Element, const R: usize>(
        &self,
        name: &str,
        rows: Range<usize>,
        stream: &Stream,
    ) -> Result<Tensor<T, R>, FileError> {
        self.part(self.info(name)?, rows, stream, &mut progress::silent())
    }

    fn part<T: Element, const R: usize>(
        &self,
        info: &TensorInfo,
        rows: Range<usize>,
        stream: &Stream,
        progress: &mut dyn Progress,
    ) -> Result<Tensor<T, R>, FileError> {
        if elem(info.dtype) != Some(T::ELEM) {
            return Err(self.failed(Wrong::Type { file: format!("{:?}", info.dtype), asked: T::ELEM }));
        }
        let all = info.shape.first().copied().unwrap_or(1);
        if rows.start > rows.end || rows.end > all {
            return Err(self.failed(Wrong::Rows { asked: rows, rows: all }));
        }
        let (begin, end) = info.data_offsets;
        // The head was checked against the file when it was opened: its tensors are inside of it.
        let row = (end - begin) / all.max(1);
        let start = self.begin + (begin + rows.start * row) as u64;
        let bytes = (rows.len() * row) as u64;
        let mut shape = info.shape.clone();
        shape.iter_mut().take(1).for_each(|extent| *extent = rows.len());
        pieces::tensor(&Place { file: &self.file, start, bytes, shape: &shape }, false, stream, progress)
    }
}

/// The name that is most similar, where one differs in few letters.
fn near(name: &str, names: &[String]) -> Option<String> {
    let distance = |other: &str| {
        let other: Vec<char> = other.chars().collect();
        let mut row: Vec<usize> = (0..=other.len()).collect();
        for (i, a) in name.chars().enumerate() {
            let mut before = std::mem::replace(&mut row[0], i + 1);
            for (j, b) in other.iter().enumerate() {
                let changed = before + usize::from(a != *b);
                before = row[j + 1];
                row[j + 1] = changed.min(row[j] + 1).min(before + 1);
            }
        }
        row[other.len()]
    };
    let all = names.iter().map(|other| (distance(other), other)).min();
    all.filter(|(far, _)| *far <= 1 + name.chars().count() / 4).map(|(_, other)| other.clone())
}

/// A tensor that a file takes, whatever its type and rank.
pub trait Saved {
    /// The type of its elements.
    fn elem(&self) -> Elem;
    /// Its shape.
    fn shape(&self) -> Vec<usize>;
    /// Its elements, row after row, as little-endian bytes.
    ///
    /// # Errors
    /// [`Wrong::Strided`], [`Wrong::Device`].
    fn bytes(&self) -> Result<Vec<u8>, Wrong>;
}

impl<T: Element, const R: usize> Saved for Tensor<T, R> {
    fn elem(&self) -> Elem {
        T::ELEM
    }
    fn shape(&self) -> Vec<usize> {
        Tensor::shape(self).to_vec()
    }
    fn bytes(&self) -> Result<Vec<u8>, Wrong> {
        let (shape, strides) = (Tensor::shape(self), self.strides());
        let mut packed = 1;
        for mode in (0..R).rev() {
            // The stride of a single coordinate leads nowhere.
            if shape[mode] > 1 && strides[mode] != packed {
                return Err(Wrong::Strided { shape: shape.to_vec(), strides: strides.to_vec() });
            }
            packed *= shape[mode];
        }
        let mut values = self.download().map_err(|error| Wrong::Device(Box::new(error)))?;
        values.truncate(packed);
        let bytes =
            values.iter().flat_map(|value| value.to_bits().to_le_bytes().into_iter().take(size_of::<T>()));
        Ok(bytes.collect())
    }
}

/// A tensor on its way into a file.
struct Leaving {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl ::safetensors::View for &Leaving {
    fn dtype(&self) -> Dtype {
        self.dtype
    }
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }
    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// Writes tensors into a file, and waits for what was to be done with them before.
///
/// # Errors
/// [`Wrong::Strided`], [`Wrong::Device`], [`Wrong::System`]; [`Wrong::Format`] of two tensors of one name, and of the name `__metadata__`.
pub fn save_safetensors(path: impl AsRef<Path>, tensors: &[(&str, &dyn Saved)]) -> Result<(), FileError> {
    let path = path.as_ref();
    let mut leaving: Vec<(&str, Leaving)> = vec![];
    for (name, tensor) in tensors {
        let failed = |wrong| FileError::new(path, wrong);
        let why = match *name {
            "__metadata__" => Some(
                "`__metadata__` is no tensor's name: the format has it for what describes the file"
                    .to_owned(),
            ),
            name if leaving.iter().any(|(known, _)| *known == name) => {
                Some(format!("two tensors are `{name}`"))
            }
            _ => None,
        };
        if let Some(why) = why {
            return Err(failed(Wrong::Format { format: "safetensors", why }));
        }
        let row = TYPES.iter().find(|(_, known)| *known == tensor.elem());
        let (dtype, _) =
            row.ok_or_else(|| failed(Wrong::Type { file: "of another kind".into(), asked: tensor.elem() }))?;
        let bytes = tensor.bytes().map_err(failed)?;
        leaving.push((*name, Leaving { dtype: *dtype, shape: tensor.shape(), bytes }));
    }
    let written =
        ::safetensors::serialize_to_file(leaving.iter().map(|(name, tensor)| (*name, tensor)), None, path);
    written.map_err(|error| FileError::new(path, Wrong::System { why: error.to_string() }))
}
