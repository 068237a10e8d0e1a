//! DLPack's words for element types.
//!
//! Law: a type has one word, and a word one type.

use dlpark::ffi::DLDataType;
use layout_cuda::Elem;

const TYPES: [(Elem, DLDataType); 15] = [
    (Elem::Bool, DLDataType::BOOL),
    (Elem::U8, DLDataType::U8),
    (Elem::I8, DLDataType::I8),
    (Elem::E4m3, DLDataType::F8E4M3FN),
    (Elem::E5m2, DLDataType::F8E5M2),
    (Elem::U16, DLDataType::U16),
    (Elem::I16, DLDataType::I16),
    (Elem::F16, DLDataType::F16),
    (Elem::Bf16, DLDataType::BF16),
    (Elem::U32, DLDataType::U32),
    (Elem::I32, DLDataType::I32),
    (Elem::F32, DLDataType::F32),
    (Elem::U64, DLDataType::U64),
    (Elem::I64, DLDataType::I64),
    (Elem::F64, DLDataType::F64),
];

/// DLPack's word.
pub(crate) fn word(elem: Elem) -> Option<DLDataType> {
    TYPES.iter().find(|(known, _)| *known == elem).map(|(_, word)| *word)
}

/// The type of a word, where kernels have it.
pub(crate) fn elem(word: DLDataType) -> Option<Elem> {
    let same =
        |known: &DLDataType| (known.code, known.bits, known.lanes) == (word.code, word.bits, word.lanes);
    TYPES.iter().find(|(_, known)| same(known)).map(|(elem, _)| *elem)
}
