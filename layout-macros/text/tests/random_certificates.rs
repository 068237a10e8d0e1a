//! Random kernels with and without races: where the simulator finds a race, the certificate proves none.
//!
//! `CERTIFICATES_SEED` and `CERTIFICATES_KERNELS` choose the first seed and how many.

use layout_compiler::{Certificate, Kernel, LaunchArgument, ParamSet, Promises, certify, compile};
use layout_compiler::{Checked, Elem};
use layout_simulator::{FindingKind, Options, SimulatorArgument, simulate};
use std::fmt::Write;

/// A small generator of numbers, the same on every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    fn of<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list[self.next(list.len() as u64) as usize]
    }
}

/// A kernel being written.
struct Text {
    numbers: Numbers,
    text: String,
    counters: Vec<String>,
    names: u32,
    budget: u32,
    /// Of so many lines one has no barrier behind it.
    care: u64,
    /// Whether threads differ in whether they come here: a barrier is mostly wrong.
    divergent: bool,
}

const GUARDS: [&str; 12] = [
    "t == 0",
    "t < 16",
    "t >= 16",
    "t % 2 == 0",
    "b == 0",
    "t / 32 == 0",
    "lane_id() == 0",
    "N > 40",
    "t < 8 && b < 1",
    "t % 4 == 1",
    "t != 3",
    "warp_id() == 1",
];
const PERMUTED: [&str; 7] =
    ["t", "t", "63 - t", "(t + 1) % 64", "t ^ 1", "(t * 5 + 3) % 64", "t % 8 * 8 + t / 8"];
const OF_THREADS: [&str; 20] = [
    "t",
    "t",
    "t",
    "t",
    "63 - t",
    "(t + 1) % 64",
    "t ^ 1",
    "t / 2",
    "t % 32",
    "t * 2 % 64",
    "t / 8 * 8 + (t + 3) % 8",
    "t & 31",
    "0",
    "5",
    "t / 32",
    "lane_id()",
    "32 + t % 32",
    "(t * 5 + 3) % 64",
    "t % 8 * 8 + t / 8",
    "t | 8",
];

impl Text {
    fn counter(&mut self) -> Option<String> {
        let count = self.counters.len() as u64;
        (count > 0).then(|| self.counters[self.numbers.next(count) as usize].clone())
    }

    fn index(&mut self, written: bool) -> String {
        let own = match written && self.numbers.next(12) > 0 {
            true => self.numbers.of(&PERMUTED).to_owned(),
            false => self.numbers.of(&OF_THREADS).to_owned(),
        };
        match (self.numbers.next(4), self.counter()) {
            (0, Some(k)) => format!("({own} + {k}) % 64"),
            (1, Some(k)) => format!("({own}) % 32 + 32 * ({k} % 2)"),
            (2, Some(k)) => format!("({own} + 64 - {k} % 64) % 64"),
            _ => own,
        }
    }

    fn element(&mut self, written: bool) -> String {
        let index = self.index(written);
        match self.numbers.next(12) {
            0 if self.numbers.next(4) == 0 => format!("y[[{index}]]"),
            0 | 1 => format!("y[[b * 64 + {index}]]"),
            2 => format!("w[[({index}) / 8, ({index}) % 8]]"),
            3 => {
                let second = if written { index.clone() } else { self.index(false) };
                format!("w[[({second}) % 8, ({index}) / 8]]")
            }
            4 => {
                let stage = self.counter().unwrap_or("0".to_owned());
                format!("r[[{stage} % 3, {index}]]")
            }
            _ => format!("s[[{index}]]"),
        }
    }

    /// A line, mostly with a barrier behind it.
    fn step(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
        if !self.divergent && self.numbers.next(self.care) > 0 {
            self.text.push_str("barrier();\n");
        }
    }

    fn list(&mut self, depth: u32) {
        for _ in 0..1 + self.numbers.next(4) {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            self.line(depth);
        }
    }

    fn line(&mut self, depth: u32) {
        match self.numbers.next(16) {
            0..=7 => {
                let (to, from) = (self.element(true), self.element(false));
                match self.numbers.next(3) {
                    0 => self.step(&format!("acc += {from};")),
                    1 => self.step(&format!("{to} = acc;")),
                    _ => {
                        self.step(&format!("acc = {from};"));
                        self.step(&format!("{to} = acc;"));
                    }
                }
            }
            8 => {
                let at = self.index(false);
                self.step(&format!("c.atomic_add([{at}], 1);"));
            }
            9 => {
                let to = self.element(true);
                let guard = self.numbers.of(&GUARDS);
                self.step(&format!("if {guard} {{ {to} = acc; }}"));
            }
            10 => self.text.push_str("barrier();\n"),
            11..=13 if depth < 3 => {
                let guard = self.numbers.of(&GUARDS);
                let _ = writeln!(self.text, "if {guard} {{");
                let before = self.divergent;
                self.divergent |= !["N > 40", "b == 0"].contains(&guard) && self.numbers.next(20) > 0;
                self.list(depth + 1);
                if self.numbers.next(3) == 0 {
                    self.text.push_str("} else {\n");
                    self.list(depth + 1);
                }
                self.text.push_str("}\n");
                self.divergent = before;
                self.step("");
            }
            14 | 15 if depth < 3 => self.rounds(depth),
            _ => self.step(""),
        }
    }

    fn rounds(&mut self, depth: u32) {
        self.names += 1;
        let name = format!("k{}", self.names);
        let head = match self.numbers.next(6) {
            0 => format!("for {name} in 0..3 {{"),
            1 => format!("for {name} in (0..7).step_by(2) {{"),
            2 => format!("for {name} in 0..N / 32 {{"),
            3 => format!("for {name} in (t % 4..9).step_by(4) {{"),
            4 => format!("for {name} in (0..4).rev() {{"),
            _ => format!("let mut {name} = 32; while {name} > 0 {{"),
        };
        let before = self.divergent;
        self.divergent |= head.contains("t % 4");
        let halves = head.contains("while");
        self.text.push_str(&head);
        self.text.push('\n');
        self.counters.push(name.clone());
        self.list(depth + 1);
        if halves {
            if self.numbers.next(2) == 0 {
                let _ =
                    writeln!(self.text, "if t < {name} {{ s[[t]] = s[[t]] + s[[t + {name}]]; }}\nbarrier();");
            }
            let _ = writeln!(self.text, "{name} /= 2;");
        }
        if self.numbers.next(4) == 0 {
            let last = self.numbers.next(3);
            let _ = writeln!(self.text, "if {name} == {last} {{ break; }}");
        }
        self.divergent = before;
        self.counters.pop();
        self.text.push_str("}\n");
    }
}

fn text(seed: u64) -> String {
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..8).for_each(|_| {
        numbers.next(2);
    });
    let (budget, care) = (2 + numbers.next(9) as u32, 2 + numbers.next(30));
    let mut text =
        Text { numbers, text: String::new(), counters: Vec::new(), names: 0, budget, care, divergent: false };
    while text.budget > 0 {
        text.list(0);
    }
    format!(
        "#[tiled_kernel(block = [64], grid = [2])]
fn random<const N: usize>(y: &mut LayoutTensor<f32, RowMajor<N>>, c: &mut LayoutTensor<u32, RowMajor<64>>) {{
let mut s = shared::<f32>(row_major([64]));
let mut w = shared::<f32>(row_major([8, 8]));
let mut r = shared::<f32>(row_major([3, 64]));
let t = thread_idx.x;
let b = block_idx.x;
let mut acc = 0.0f32;
s[[t]] = 1.0;
w[[t / 8, t % 8]] = 2.0;
for i in 0..3 {{ r[[i, t]] = 3.0; }}
barrier();
{}barrier();
y[[b * 64 + t]] = acc;
}}",
        text.text
    )
}

/// The races that the simulator finds, for one size.
fn races(checked: &Checked) -> Vec<String> {
    let (mut y, mut c) = (vec![0u8; 128 * 4], vec![0u8; 64 * 4]);
    let tensor = |elem, shape: &'static [usize], len| LaunchArgument::Tensor {
        elem,
        shape,
        strides: &[1],
        address: 256,
        len,
    };
    let launch = [tensor(Elem::F32, &[128], 128), tensor(Elem::U32, &[64], 64)];
    let bound = checked.plan().bind(&launch, None).expect("it fits");
    let options = Options { counters: false, max_steps: 1 << 20, threads: 1, ..Options::default() };
    let mut arguments = [SimulatorArgument::Write(&mut y), SimulatorArgument::Write(&mut c)];
    let report = simulate(checked, &bound, &mut arguments, &options).expect("it runs");
    use FindingKind::{EqualWrites, ReadWriteRace, WriteWriteRace};
    let race = |kind| matches!(kind, EqualWrites | ReadWriteRace | WriteWriteRace);
    report.findings.iter().filter(|found| race(found.kind)).map(ToString::to_string).collect()
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn what_races_is_not_certified() {
    let (first, count) = (number("CERTIFICATES_SEED", 1), number("CERTIFICATES_KERNELS", 400));
    let (mut refused, mut racing, mut certified) = (0, 0, 0);
    for seed in first..first + count {
        let text = text(seed);
        let kernel: Kernel = layout_text::kernel(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
        let Ok(checked) = compile(&kernel, &ParamSet::default(), Promises::USUAL) else {
            refused += 1;
            continue;
        };
        let certificate: Certificate = certify(&checked);
        let found = races(&checked);
        racing += usize::from(!found.is_empty());
        certified += usize::from(certificate.races());
        assert!(found.is_empty() || !certificate.races(), "seed {seed}:\n{text}\n{certificate}\n{found:#?}");
        if std::env::var("CERTIFICATES_SHOW").is_ok() && found.is_empty() && !certificate.races() {
            println!("seed {seed}:\n{text}\n{certificate}");
        }
    }
    println!("{count} kernels: {refused} refused, {racing} race, {certified} certified");
    assert!(
        racing * 8 > count as usize && certified * 8 > count as usize,
        "{racing} race, {certified} certified"
    );
}
