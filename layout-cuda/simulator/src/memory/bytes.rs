//! The bytes of tensors, and of shared memory.
//!
//! Law: only bytes inside a buffer are accessed; callers have checked the index. A written tensor is stored as atomic
//! words, so that blocks run on several host threads without `unsafe`. An element of 4 bytes is one word, a smaller one
//! is a part of a word, one of 8 bytes is two words.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A tensor's bytes during a launch.
pub(crate) enum Global<'a> {
    /// The argument is not a tensor.
    None,
    /// Read only.
    Read(&'a [u8]),
    /// Read and written.
    Write(Vec<AtomicU32>),
}

impl<'a> Global<'a> {
    /// The words of a written tensor; the last one is padded.
    pub(crate) fn writable(bytes: &[u8]) -> Global<'a> {
        let word = |chunk: &[u8]| {
            let mut word = [0; 4];
            word[..chunk.len()].copy_from_slice(chunk);
            AtomicU32::new(u32::from_le_bytes(word))
        };
        Global::Write(bytes.chunks(4).map(word).collect())
    }

    pub(crate) fn into_words(self) -> Option<Global<'static>> {
        match self {
            Global::Write(words) => Some(Global::Write(words)),
            Global::None | Global::Read(_) => None,
        }
    }

    /// Its length in bytes, a whole number of words if it is written.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Global::None => 0,
            Global::Read(bytes) => bytes.len(),
            Global::Write(words) => 4 * words.len(),
        }
    }

    /// The words of a written tensor; none of another argument.
    pub(crate) fn words(&self) -> Vec<u32> {
        match self {
            Global::Write(words) => words.iter().map(|word| word.load(Relaxed)).collect(),
            Global::None | Global::Read(_) => Vec::new(),
        }
    }

    /// Writes all words of a written tensor.
    pub(crate) fn set_words(&self, from: &[u32]) {
        if let Global::Write(words) = self {
            words.iter().zip(from).for_each(|(word, value)| word.store(*value, Relaxed));
        }
    }

    pub(crate) fn copy_to(&self, bytes: &mut [u8]) {
        if let Global::Write(words) = self {
            for (chunk, word) in bytes.chunks_mut(4).zip(words) {
                let length = chunk.len();
                chunk.copy_from_slice(&word.load(Relaxed).to_le_bytes()[..length]);
            }
        }
    }

    /// The element of `size` bytes at a byte offset, zero-extended.
    pub(crate) fn read(&self, byte: usize, size: u32) -> u64 {
        match self {
            Global::None => 0,
            Global::Read(bytes) => read(bytes, byte, size),
            Global::Write(words) => {
                let word = |at: usize| u64::from(words.get(at).map_or(0, |word| word.load(Relaxed)));
                match size {
                    8 => word(byte / 4) | word(byte / 4 + 1) << 32,
                    4 => word(byte / 4),
                    2 => word(byte / 4) >> (8 * (byte % 4)) & 0xffff,
                    _ => word(byte / 4) >> (8 * (byte % 4)) & 0xff,
                }
            }
        }
    }

    /// Updates the element of 4 or 8 bytes at a byte offset and returns the old value. An update of 4 bytes is atomic;
    /// launches that update 8 bytes run on one host thread.
    pub(crate) fn update(&self, byte: usize, size: u32, change: impl Fn(u64) -> u64) -> u64 {
        match self {
            Global::Write(words) if size == 4 => {
                let Some(word) = words.get(byte / 4) else { return 0 };
                let changed = |old: u32| Some(change(u64::from(old)) as u32);
                // The closure always returns `Some`, so both variants hold the old value.
                u64::from(word.fetch_update(Relaxed, Relaxed, changed).unwrap_or_else(|old| old))
            }
            Global::Write(_) | Global::Read(_) | Global::None => {
                let old = self.read(byte, size);
                self.write(byte, size, change(old));
                old
            }
        }
    }

    /// Writes the element of `size` bytes at a byte offset.
    pub(crate) fn write(&self, byte: usize, size: u32, value: u64) {
        let Global::Write(words) = self else { return };
        let Some(word) = words.get(byte / 4) else { return };
        match size {
            8 => {
                word.store(value as u32, Relaxed);
                if let Some(upper) = words.get(byte / 4 + 1) {
                    upper.store((value >> 32) as u32, Relaxed);
                }
            }
            4 => word.store(value as u32, Relaxed),
            _ => {
                let shift = 8 * (byte % 4) as u32;
                let part = if size == 2 { 0xffff } else { 0xff } << shift;
                let new = ((value as u32) << shift) & part;
                // The closure always returns `Some`.
                let _ = word.fetch_update(Relaxed, Relaxed, |old| Some(old & !part | new));
            }
        }
    }
}

/// The element of `size` bytes at a byte offset, zero-extended.
#[inline]
pub(crate) fn read(bytes: &[u8], byte: usize, size: u32) -> u64 {
    fn array<const N: usize>(bytes: &[u8], byte: usize) -> [u8; N] {
        bytes.get(byte..byte + N).and_then(|part| part.try_into().ok()).unwrap_or([0; N])
    }
    match size {
        8 => u64::from_le_bytes(array(bytes, byte)),
        4 => u64::from(u32::from_le_bytes(array(bytes, byte))),
        2 => u64::from(u16::from_le_bytes(array(bytes, byte))),
        _ => u64::from(array::<1>(bytes, byte)[0]),
    }
}

/// Writes the element of `size` bytes at a byte offset.
pub(crate) fn write(bytes: &mut [u8], byte: usize, size: u32, value: u64) {
    let size = size as usize;
    if let Some(part) = bytes.get_mut(byte..byte + size) {
        part.copy_from_slice(&value.to_le_bytes()[..size]);
    }
}
