//! The instructions that a GPU runs: a CUBIN, disassembled by NVIDIA's `nvdisasm`.
//!
//! Looked for in `NVDISASM`, under `target/nvdisasm` (where `tests/run.sh` installs it), in `PATH` and in the CUDA
//! toolkit's folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// The instructions of a kernel, in order: `HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24`.
pub struct Sass(Vec<String>);

/// The instructions of the kernel `entry`.
///
/// # Panics
/// Where there is no `nvdisasm`, it refuses the CUBIN, or the CUBIN has no such kernel.
pub fn sass(cubin: &[u8], entry: &str) -> Sass {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = format!("layout-sass-{}-{}.cubin", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, cubin).expect("a folder for temporary files");
    let output = Command::new(disassembler()).arg("-c").arg(&file).output().expect("nvdisasm runs");
    std::fs::remove_file(&file).expect("the file is there");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "nvdisasm refuses the code of {entry}: {errors}");
    let list = instructions(&text, entry);
    assert!(!list.is_empty(), "no kernel {entry} in the code: {errors}");
    Sass(list)
}

/// The instructions in nvdisasm's text, without addresses, labels and padding.
fn instructions(text: &str, entry: &str) -> Vec<String> {
    let label = format!(".text.{entry}:");
    let body = text.lines().skip_while(|line| line.trim() != label).skip(1);
    let body = body.take_while(|line| !line.starts_with("//-----"));
    let words = body.filter_map(|line| line.trim_start().strip_prefix("/*")?.split_once("*/"));
    words.map(|(_, words)| words.trim().trim_end_matches(';').trim_end().to_string()).collect()
}

fn disassembler() -> PathBuf {
    const FILE: &str = if cfg!(windows) { "nvdisasm.exe" } else { "nvdisasm" };
    let mut places: Vec<PathBuf> = std::env::var_os("NVDISASM").map(PathBuf::from).into_iter().collect();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let current = std::env::current_dir().unwrap_or_default();
    for up in here.ancestors().chain(current.ancestors()) {
        places.push(up.join("target/nvdisasm/nvidia/cu13/bin").join(FILE));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    places.extend(std::env::split_paths(&path).map(|folder| folder.join(FILE)));
    places.push(PathBuf::from("/usr/local/cuda/bin").join(FILE));
    places.into_iter().find(|place| place.is_file()).expect(
        "nvdisasm, which tests/run.sh installs: \
         `python3 -m pip install --target target/nvdisasm nvidia-cuda-nvdisasm`",
    )
}

impl From<Vec<String>> for Sass {
    fn from(lines: Vec<String>) -> Sass {
        Sass(lines)
    }
}

impl Sass {
    /// How many instructions begin with this, behind a predicate: `UTMALDG`, `HGMMA.64x256x16`.
    pub fn count(&self, opcode: &str) -> usize {
        let operation = |line: &&String| match line.strip_prefix('@') {
            Some(guarded) => {
                guarded.split_once(' ').is_some_and(|(_, rest)| rest.trim_start().starts_with(opcode))
            }
            None => line.starts_with(opcode),
        };
        self.0.iter().filter(operation).count()
    }

    /// The instructions.
    pub fn lines(&self) -> &[String] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_two_kernels() {
        let text = "//----- .text.m\nm:\n.text.m:\n        /*0000*/  NOP;\n\n//----- .text.k\nk:\n.text.k:\n\
            \x20       /*0000*/                   LDC R1, c[0x0][0x28] ;\n.L_x_0:\n\
            \x20       /*0010*/              @!P0 BRA `(.L_x_0) ;\n        /*0020*/ LDL.64 R2, [R1] ;\n.L_x_3:\n//----- .x\n\
            \x20       /*0030*/ STL [R1], R2 ;\n";
        let sass = Sass(instructions(text, "k"));
        assert_eq!(sass.lines(), ["LDC R1, c[0x0][0x28]", "@!P0 BRA `(.L_x_0)", "LDL.64 R2, [R1]"]);
        assert_eq!(
            [sass.count("LDL"), sass.count("STL"), sass.count("BRA"), sass.count("NOP")],
            [1, 0, 1, 0]
        );
    }
}
