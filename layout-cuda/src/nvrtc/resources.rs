//! What a kernel uses, read from the lines that ptxas writes into NVRTC's log (`--ptxas-options=-v`).
//!
//! Law: a line of another form is passed over, so that a newer ptxas costs a number, never an error.

/// What one entry function uses, as ptxas counted it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// The `__global__` function.
    pub entry: String,
    /// 32-bit registers a thread.
    pub registers: u32,
    /// Bytes of stack a thread (local memory).
    pub stack: u32,
    /// Bytes of registers stored to local memory a thread, because there were too few.
    pub spill_stores: u32,
    /// Bytes of registers loaded back a thread.
    pub spill_loads: u32,
    /// Bytes of static shared memory a block.
    pub shared: u32,
    /// Named barriers a block.
    pub barriers: u32,
}

impl Resources {
    /// Whether registers went to local memory for want of room.
    pub fn spills(&self) -> bool {
        self.spill_stores > 0 || self.spill_loads > 0
    }
}

/// The entries that a log reports of, in its order.
pub fn parse(log: &str) -> Vec<Resources> {
    let mut list: Vec<Resources> = Vec::new();
    let of_ptxas = |line: &&str| line.starts_with("ptxas") || line.contains(" bytes stack frame, ");
    for line in log.lines().filter(of_ptxas) {
        if let Some(rest) = line.split("Compiling entry function '").nth(1) {
            let entry = rest.split('\'').next().unwrap_or_default().to_string();
            list.push(Resources { entry, ..Resources::default() });
        }
        let Some(last) = list.last_mut() else {
            continue;
        };
        let line = line.split_once(':').map_or(line, |(_, rest)| rest);
        for part in line.split(',') {
            let mut words =
                part.split_whitespace().skip_while(|word| !word.starts_with(|c: char| c.is_ascii_digit()));
            let Some(Ok(number)) = words.next().map(str::parse::<u32>) else {
                continue;
            };
            match words.collect::<Vec<_>>().as_slice() {
                ["registers"] => last.registers = number,
                ["barriers"] => last.barriers = number,
                ["bytes", "smem"] => last.shared = number,
                ["bytes", "stack", "frame"] => last.stack = number,
                ["bytes", "spill", "stores"] => last.spill_stores = number,
                ["bytes", "spill", "loads"] => last.spill_loads = number,
                _ => {}
            }
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_of_two_entries() {
        let log = "k.cu(2): warning #177-D: variable \"unused\" was declared, 7 registers\n\
            ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'j' for 'sm_90a'\n\
            ptxas info    : Function properties for j\n\
            ptxas         .     400 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n\
            ptxas info    : Used 32 registers, used 1 barriers, 400 bytes cumulative stack size\n\
            ptxas info    : Compile time = 38.503 ms\n\
            ptxas info    : Compiling entry function 'k' for 'sm_80'\n\
            ptxas info    : Function properties for k\n    \
                0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas info    : Used 10 registers, 1024 bytes smem, 360 bytes cmem[0]\n";
        let want = [
            Resources {
                entry: "j".into(),
                registers: 32,
                stack: 400,
                spill_stores: 8,
                spill_loads: 4,
                shared: 0,
                barriers: 1,
            },
            Resources { entry: "k".into(), registers: 10, shared: 1024, ..Resources::default() },
        ];
        assert_eq!(parse(log), want);
        assert!(want[0].spills() && !want[1].spills());
    }

    #[test]
    fn other_text_is_passed_over() {
        assert_eq!(parse(""), []);
        assert_eq!(parse("ptxas info : Used 12 registers\nptxas , , :: 99999999999999 registers"), []);
    }
}
