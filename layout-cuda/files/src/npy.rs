//! `.npy`: a magic number, a head that is a Python dictionary of three keys, the elements.
//!
//! ```text
//! \x93NUMPY 1 0 <length of the head, 2 bytes; 4 from version 2 on>
//! {'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }   spaces up to a line's end
//! <elements, row after row, or column after column in Fortran's order>
//! ```
//!
//! The head is read here: the crates for it bring a parser of all of Python's literals for these three keys.
//!
//! Law: a head of any other form is refused with what is wrong in it.

use crate::error::{FileError, Wrong};
use crate::pieces::{self, Place};
use crate::progress::{self, Progress};
use crate::safetensors::Saved;
use crate::source::Source;
use layout_cuda::{Elem, Element, Stream, Tensor};
use std::path::Path;

const MAGIC: &[u8] = b"\x93NUMPY";
/// The longest head that is read, bytes; NumPy itself refuses a hundredth of it.
const LONGEST: usize = 1 << 20;

/// NumPy's words for element types, little-endian. It has none for bf16 and 8-bit floats.
const TYPES: [(&str, Elem); 12] = [
    ("|b1", Elem::Bool),
    ("|u1", Elem::U8),
    ("|i1", Elem::I8),
    ("<u2", Elem::U16),
    ("<i2", Elem::I16),
    ("<f2", Elem::F16),
    ("<u4", Elem::U32),
    ("<i4", Elem::I32),
    ("<f4", Elem::F32),
    ("<u8", Elem::U64),
    ("<i8", Elem::I64),
    ("<f8", Elem::F64),
];

/// An open file.
#[derive(Debug)]
pub struct Npy {
    file: Source,
    head: Head,
}

/// What the head says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Head {
    descr: String,
    fortran: bool,
    shape: Vec<usize>,
    /// Where the elements begin.
    begin: usize,
}

fn format<T>(why: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong::Format { format: ".npy", why: why.into() })
}

/// The length of the head's text, and where it begins, of what is behind the magic number.
fn lengths(rest: &[u8]) -> Option<(usize, usize)> {
    match rest {
        [1, _, a, b, ..] => Some((usize::from(u16::from_le_bytes([*a, *b])), 10)),
        [2 | 3, _, a, b, c, d, ..] => Some((u32::from_le_bytes([*a, *b, *c, *d]) as usize, 12)),
        _ => None,
    }
}

/// The first bytes of a file, as far as the head reaches.
fn first(file: &Source) -> Result<Vec<u8>, FileError> {
    let bytes = file.first(12)?;
    match bytes.strip_prefix(MAGIC).and_then(lengths) {
        Some((length, before)) => file.first((before + length).min(LONGEST) as u64),
        None => Ok(bytes),
    }
}

fn head(bytes: &[u8]) -> Result<Head, Wrong> {
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return match bytes.starts_with(b"PK") {
            true => format("it is a zip archive, as `.npz` is; unpack it, or save one array by `np.save`"),
            false => format("it does not begin with NumPy's magic number"),
        };
    };
    let (length, before) = match (lengths(rest), rest) {
        (Some(lengths), _) => lengths,
        (None, [version, ..]) if *version > 3 => {
            return format(format!("its version is {version}, and 1 to 3 are known"));
        }
        _ => return format("it ends within its head"),
    };
    let begin = before + length;
    let Some(text) = bytes.get(before..begin).and_then(|text| std::str::from_utf8(text).ok()) else {
        return format("it ends within its head, or the head is no text");
    };
    let field = |name: &str| {
        let at = [format!("'{name}'"), format!("\"{name}\"")]
            .iter()
            .find_map(|key| Some(text.find(key)? + key.len()));
        at.and_then(|at| text[at..].trim_start().strip_prefix(':')).map(str::trim_start)
    };
    let Some(descr) = field("descr").and_then(|rest| {
        let quote = rest.chars().next().filter(|c| ['\'', '"'].contains(c))?;
        rest[1..].split_once(quote).map(|(word, _)| word.to_owned())
    }) else {
        return format("its head has no plain `descr`; arrays of records are none of one type");
    };
    let fortran = match field("fortran_order") {
        Some(rest) if rest.starts_with("False") => false,
        Some(rest) if rest.starts_with("True") => true,
        _ => return format("its head has no `fortran_order`"),
    };
    let shape = field("shape").and_then(|rest| rest.strip_prefix('(')?.split_once(')'));
    let numbers = shape.map(|(inner, _)| inner.split(',').map(str::trim).filter(|word| !word.is_empty()));
    let shape = numbers.map(|words| words.map(str::parse).collect::<Result<Vec<usize>, _>>());
    match shape {
        Some(Ok(shape)) => Ok(Head { descr, fortran, shape, begin }),
        Some(Err(error)) => format(format!("its head's `shape` is none: {error}")),
        None => format("its head has no `shape`"),
    }
}

impl Npy {
    /// Opens a file and reads its head.
    ///
    /// # Errors
    /// [`Wrong::System`], [`Wrong::Format`], [`Wrong::Length`].
    pub fn open(path: impl AsRef<Path>) -> Result<Npy, FileError> {
        let file = Source::open(path.as_ref())?;
        let failed = |wrong| FileError::new(&file.path, wrong);
        let head = head(&first(&file)?).map_err(failed)?;
        if let Some(elem) = elem(&head.descr) {
            let size = elem.bytes() as usize;
            let needed =
                pieces::elements(&head.shape, size).and_then(|count| head.begin.checked_add(count * size));
            let (needed, found) = (needed.unwrap_or(usize::MAX) as u64, file.bytes);
            if needed != found {
                return Err(failed(Wrong::Length { needed, found }));
            }
        }
        Ok(Npy { file, head })
    }

    /// The extents.
    pub fn shape(&self) -> &[usize] {
        &self.head.shape
    }

    /// The type of its elements; `None` for one that kernels do not have.
    pub fn elem(&self) -> Option<Elem> {
        elem(&self.head.descr)
    }

    /// A tensor of the stream's device, column-major where the file is.
    ///
    /// # Errors
    /// [`Wrong::Type`], [`Wrong::Rank`], [`Wrong::Device`].
    pub fn load<T: Element, const R: usize>(&self, stream: &Stream) -> Result<Tensor<T, R>, FileError> {
        self.load_telling(stream, &mut progress::silent())
    }

    /// As [`Npy::load`], and `progress` is called with each piece.
    ///
    /// # Errors
    /// As there.
    pub fn load_telling<T: Element, const R: usize>(
        &self,
        stream: &Stream,
        progress: &mut dyn Progress,
    ) -> Result<Tensor<T, R>, FileError> {
        if self.elem() != Some(T::ELEM) {
            let wrong = Wrong::Type { file: format!("`{}`", self.head.descr), asked: T::ELEM };
            return Err(FileError::new(&self.file.path, wrong));
        }
        let start = self.head.begin as u64;
        let bytes = self.file.bytes.saturating_sub(start);
        let place = Place { file: &self.file, start, bytes, shape: &self.head.shape };
        pieces::tensor(&place, self.head.fortran, stream, progress)
    }
}

fn elem(descr: &str) -> Option<Elem> {
    // One byte has no order, and some writers say one.
    let same = |known: &str| known == descr || known.starts_with('|') && known[1..] == descr[1..];
    TYPES
        .iter()
        .find(|(known, _)| descr.len() == known.len() && descr.is_ascii() && same(known))
        .map(|(_, elem)| *elem)
}

/// Writes a tensor into a file, and waits for what was to be done with it before.
///
/// # Errors
/// [`Wrong::Type`] for what NumPy has no word for: bf16 and 8-bit floats; [`Wrong::Strided`], [`Wrong::Device`],
/// [`Wrong::System`].
pub fn save_npy(path: impl AsRef<Path>, tensor: &dyn Saved) -> Result<(), FileError> {
    let path = path.as_ref();
    let failed = |wrong| FileError::new(path, wrong);
    let Some((descr, _)) = TYPES.iter().find(|(_, elem)| *elem == tensor.elem()) else {
        return Err(failed(Wrong::Type {
            file: "of NumPy's, which has no such type".to_owned(),
            asked: tensor.elem(),
        }));
    };
    let extents: String = tensor.shape().iter().map(|extent| format!("{extent}, ")).collect();
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", extents.trim_end());
    // The elements begin at a multiple of 64.
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = [MAGIC, &[1, 0], &(length as u16).to_le_bytes()].concat();
    bytes.extend_from_slice(format!("{text:<width$}\n", width = length - 1).as_bytes());
    bytes.extend(tensor.bytes().map_err(failed)?);
    std::fs::write(path, bytes).map_err(|error| FileError::system(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_every_kind() {
        let file = |version: u8, text: &str| {
            let length = text.len() as u32;
            let number = if version == 1 {
                (length as u16).to_le_bytes().to_vec()
            } else {
                length.to_le_bytes().to_vec()
            };
            [MAGIC, &[version, 0], &number, text.as_bytes()].concat()
        };
        let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }\n";
        let wanted = Head { descr: "<f4".into(), fortran: false, shape: vec![3, 2], begin: 10 + good.len() };
        assert_eq!(head(&file(1, good)), Ok(wanted.clone()));
        assert_eq!(head(&file(3, good)), Ok(Head { begin: 12 + good.len(), ..wanted.clone() }));
        let turned = "{\"shape\":(7,),\"fortran_order\":True,\"descr\":\"|b1\"}";
        let found = head(&file(1, turned)).expect("a head");
        assert_eq!((found.shape, found.fortran, elem(&found.descr)), (vec![7], true, Some(Elem::Bool)));
        for (text, why) in [
            ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}", "`descr`"),
            ("{'descr': '<f4', 'shape': (3,)}", "`fortran_order`"),
            ("{'descr': '<f4', 'fortran_order': False}", "`shape`"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (3, x)}", "`shape` is none"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "`shape` is none"),
        ] {
            let error = head(&file(1, text)).expect_err(text).to_string();
            assert!(error.contains(why), "{error}");
        }
        assert!(head(&file(9, good)).expect_err("version 9").to_string().contains("version is 9"));
        assert!(head(b"PK\x03\x04").expect_err("a zip").to_string().contains("np.save"));
        let whole = file(1, good);
        for cut in 0..whole.len() {
            assert!(head(&whole[..cut]).is_err(), "{cut}");
        }
        // Any byte changed: a head or an error, no panic.
        for at in 0..whole.len() {
            for value in [0, 39, 40, 255] {
                let mut other = whole.clone();
                other[at] = value;
                let _ = head(&other).map(|head| elem(&head.descr));
            }
        }
    }
}
