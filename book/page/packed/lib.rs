//! What the page loads first: an LZMA decoder of a few kilobytes, since browsers unpack gzip alone, and that is a third larger.
//!
//! ```text
//! room(bytes) -> address     where the page writes what is packed
//! unpack()    -> address     of the module; unpacked_bytes() is its size, 0 where the bytes are no LZMA file
//! ```

use lzma_rust2::{LzmaReader, Read};
use std::sync::Mutex;

static PACKED: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static MODULE: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Makes room for so many packed bytes; the address in the instance's memory.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> usize {
    let Ok(mut packed) = PACKED.lock() else { return 0 };
    packed.resize(bytes, 0);
    packed.as_mut_ptr() as usize
}

/// Unpacks them; the address of the module.
#[unsafe(no_mangle)]
pub extern "C" fn unpack() -> usize {
    let (Ok(packed), Ok(mut module)) = (PACKED.lock(), MODULE.lock()) else { return 0 };
    *module = unpacked(&packed).unwrap_or_default();
    module.as_ptr() as usize
}

/// The bytes of the module.
#[unsafe(no_mangle)]
pub extern "C" fn unpacked_bytes() -> usize {
    MODULE.lock().map_or(0, |module| module.len())
}

/// The content of an LZMA file; `None` where the bytes are none.
pub fn unpacked(packed: &[u8]) -> Option<Vec<u8>> {
    // The header: properties, the size of the dictionary, and from byte 5 on that of the content.
    let size = u64::from_le_bytes(packed.get(5..13)?.try_into().ok()?);
    let mut content = Vec::new();
    content.try_reserve_exact(usize::try_from(size).ok()?).ok()?;
    content.resize(size as usize, 0);
    LzmaReader::new_mem_limit(packed, u32::MAX, None).ok()?.read_exact(&mut content).ok()?;
    Some(content)
}

#[cfg(test)]
mod tests {
    use super::{room, unpack, unpacked, unpacked_bytes};

    #[test]
    fn what_is_no_file_is_empty() {
        for bytes in [&[][..], &[0; 12], &[0; 13], &[255; 40], &[93, 0, 0, 128, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1]]
        {
            assert!(unpacked(bytes).is_none_or(|content| content.is_empty()), "{bytes:?}");
        }
        assert!(room(3) != 0 && unpack() != 0 && unpacked_bytes() == 0);
    }
}
