//! The instructions that a GPU runs: a CUBIN, disassembled by NVIDIA's `nvdisasm`.
//!
//! `tests/run.sh` installs it under `target/nvdisasm`.

/// The instructions of a kernel, in order: `HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24`.
pub struct Sass(Vec<String>);

/// The instructions of the kernel `entry`.
///
/// # Panics
/// Where there is no `nvdisasm`, it refuses the CUBIN, or the CUBIN has no such kernel.
pub fn sass(cubin: &[u8], entry: &str) -> Sass {
    let text = layout_cuda::code::disassemble(cubin).unwrap_or_else(|error| panic!("{entry}: {error}"));
    let list = instructions(&text, entry);
    assert!(!list.is_empty(), "no kernel {entry} in the code");
    let wrong = list.iter().find(|line| has_odd_descriptor(line));
    assert!(wrong.is_none(), "{entry}: a GPU refuses {wrong:?}");
    Sass(list)
}

/// Whether an instruction takes its 64-bit descriptor from an odd uniform register. ptxas 13.0 writes such ones for `cp.async`
/// with a cache policy, and they are illegal on an H200.
fn has_odd_descriptor(line: &str) -> bool {
    let number = |rest: &str| rest.split(']').next().and_then(|number| number.parse::<u32>().ok());
    line.split(" desc[UR").skip(1).filter_map(number).any(|number| number % 2 == 1)
}

/// The instructions in nvdisasm's text, without addresses, labels and padding.
fn instructions(text: &str, entry: &str) -> Vec<String> {
    let label = format!(".text.{entry}:");
    let body = text.lines().skip_while(|line| line.trim() != label).skip(1);
    let body = body.take_while(|line| !line.starts_with("//-----"));
    let words = body.filter_map(|line| line.trim_start().strip_prefix("/*")?.split_once("*/"));
    words.map(|(_, words)| words.trim().trim_end_matches(';').trim_end().to_string()).collect()
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
    fn an_odd_descriptor_is_found() {
        assert!(has_odd_descriptor("LDGSTS.E [R5+UR0+0x80], desc[UR1][R2.64+0x80], !P0"));
        assert!(!has_odd_descriptor("LDGSTS.E [R5], desc[UR4][R2.64]"));
    }

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
