//! `pack FROM TO`: a file by LZMA. What it wrote is unpacked again and compared.

use lzma_rust2::{LzmaOptions, LzmaWriter, Write};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = &names[..] else { return Err("there are two files: `pack FROM TO`".into()) };
    let content = std::fs::read(from)?;
    let failed = |error: lzma_rust2::Error| format!("{from}: {error:?}");
    // Instructions of WebAssembly begin at any byte.
    let options = LzmaOptions { lc: 4, pb: 0, ..LzmaOptions::with_preset(9) };
    let mut writer =
        LzmaWriter::new_use_header(Vec::new(), &options, Some(content.len() as u64)).map_err(failed)?;
    writer.write_all(&content).map_err(failed)?;
    let packed = writer.finish().map_err(failed)?;
    if layout_packed::unpacked(&packed).as_ref() != Some(&content) {
        return Err(format!("{from} is another one when it is unpacked").into());
    }
    Ok(std::fs::write(to, packed)?)
}
