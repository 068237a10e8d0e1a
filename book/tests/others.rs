//! What other tutorials print: quoted, with where from. Law: each quote is in the book with ours beside it; and where
//! the tutorials' texts are at hand (`LAYOUT_TUTORIALS` names their folder, else `../shared/seeds`), they are quoted right.

use super::chapters::all;
use super::launches::{root, text};
use std::path::PathBuf;

/// Number, tutorial, and the words around it there.
type Quote = (&'static str, usize, &'static str);

/// Numbers that a chapter quotes, rounded or as they are printed there.
pub const THEIRS: &[Quote] = &[
    // Modular's recipe, an A100 at 4096³, GFLOP/s.
    ("292", 3, "| naive                  | 292 "),
    ("2936", 3, "| coalescing             | 2936 "),
    ("3943", 3, "| tiled                  | 3943 "),
    ("7078", 3, "| tiled_register         | 7078 "),
    ("10661", 3, "| block_tiled            | 10661 "),
    ("10663", 3, "| block_tiled_vectorized | 10663 "),
    // Modular's guide, an A10G, GFLOP/s.
    ("764", 0, "| 422   | 764.0569378680037 "),
    ("1983", 0, "| 1000  | 1982.8659792606384 "),
    ("2212", 0, "| 1000  | 2212.48874427279 "),
    ("5535", 0, "| 3058  | 5534.977195518529 "),
    ("5675", 0, "| 3135  | 5675.141033565811 "),
    ("5893", 0, "| 3255  | 5893.447739370804 "),
    ("11949", 0, "| 6602  | 11949.266252072646 "),
    ("1.318", 0, "| 2     | 1.3183084343256959 "),
    // simons blog, an H100, GB/s.
    ("1056.08", 1, "a bandwidth of 1056.08 GB/s"),
    ("875.46", 1, "the 875.46 GB/s"),
    ("1437.55", 1, "archives 1437.55 GB/s"),
    ("1251.76", 1, "the 1251.76 GB/s"),
    ("2775.49", 1, "a bandwidth of 2775.49 GB/s"),
    ("2771.35", 1, "the 2771.35 GB/s"),
    // TVM: GEMM GPU Optimization, a T4, ms.
    ("84.52", 2, "runs at 84.52 ms"),
    ("36.98", 2, "to 36.98 ms"),
    ("35.50", 2, "to 35.50 ms"),
    ("8.11", 2, "to 8.11 ms"),
    ("42.56", 2, "running at 42.56 ms"),
    ("74.95", 2, "NumPy (CPU)74.95"),
    ("18.74", 2, "PyTorch CPU18.74"),
    ("0.70", 2, "PyTorch CUDA0.70"),
];

/// Numbers of NVIDIA's data sheet of the H200: terabytes a second, trillions of operations a second.
pub const SHEET: [(&str, f64); 2] = [("bandwidth", 4.8), ("f32", 67.0)];

/// The puzzles' text: the command, what it prints.
pub const PRINTED: [(&str, &str); 9] = [
    ("p09", "[11.0, 11.0, 11.0, 11.0, 11.0, 11.0, 11.0, 11.0]"),
    (
        "p11 --block-boundary",
        "[14.0, 20.0, 26.0, 32.0, 38.0, 44.0, 50.0, 56.0, 62.0, 68.0, 74.0, 80.0, 41.0, 14.0, 0.0]",
    ),
    (
        "p11 --conv-2d",
        "[9.0, 9.0, 9.0, 9.0, 9.0,...,6.0, 3.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 4.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 2.0, 1.0]",
    ),
    ("p12 --simple", "[0.0, 1.0, 3.0, 6.0, 10.0, 15.0, 21.0, 28.0]"),
    ("p12 --blelloch", "[0.0, 1.0, 3.0, 6.0, 10.0, 15.0, 21.0, 28.0]"),
    (
        "p12",
        "[0.0, 1.0, 3.0, 6.0, 10.0, 15.0, 21.0, 28.0, 36.0, 45.0, 55.0, 66.0, 78.0, 91.0, 105.0, 28.0, 77.0]",
    ),
    ("p14 --naive", "[4.0, 6.0, 12.0, 22.0]"),
    ("p14 --naive, shared", "[4.0, 6.0, 12.0, 22.0]"),
    (
        "p14 --tiled",
        "[2240.0, 2296.0, 2352.0, 2408.0, 2464.0, 2520.0, 2576.0, 2632.0, 5824.0, 6008.0, 6192.0, 6376.0, 6560.0, 6744.0, 6928.0, 7112.0, 9408.0, 9720.0, 10032.0, 10344.0, 10656.0, 10968.0, 11280.0, 11592.0, 12992.0, 13432.0, 13872.0, 14312.0, 14752.0, 15192.0, 15632.0, 16072.0, 16576.0, 17144.0, 17712.0, 18280.0, 18848.0, 19416.0, 19984.0, 20552.0, 20160.0, 20856.0, 21552.0, 22248.0, 22944.0, 23640.0, 24336.0, 25032.0, 23744.0, 24568.0, 25392.0, 26216.0, 27040.0, 27864.0, 28688.0, 29512.0, 27328.0, 28280.0, 29232.0, 30184.0, 31136.0, 32088.0, 33040.0, 33992.0]",
    ),
];

#[test]
fn what_they_print_is_in_the_book_next_to_ours() {
    let tables: String = all().into_iter().map(|(_, chapter)| chapter).collect();
    let made = ["tvm", "tutorial_ladder"].map(|name| text(&format!("book/src/outputs/{name}.md")));
    let tables = format!("{tables}\n{}", made.join("\n"));
    for (number, ..) in THEIRS {
        // In a row of a table that has a number of ours, too; the table of records is made of both.
        let row =
            |line: &&str| line.starts_with('|') && line.contains(&format!(" {number}<!-- = theirs -->"));
        let row = tables.lines().find(row).unwrap_or_else(|| panic!("{number} is in no table"));
        assert!(
            row.replace("<!-- = theirs", "").contains("<!-- = "),
            "the row of {number} has no number of ours: {row}"
        );
    }
    let printed = text("book/src/outputs/puzzles.txt");
    for (name, theirs) in PRINTED {
        let beside = format!("{name}\n  theirs {theirs}\n  ours   [");
        assert!(printed.contains(&beside), "{name} is not printed with ours beside it");
    }
}

#[test]
fn they_are_quoted_right() {
    let folder =
        std::env::var("LAYOUT_TUTORIALS").map_or_else(|_| root().join("../shared/seeds"), PathBuf::from);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("skipped: the tutorials' texts are not in {}", folder.display());
        assert!(std::env::var("LAYOUT_TUTORIALS").is_err(), "{} cannot be read", folder.display());
        return;
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let texts: Vec<String> =
        files.iter().map(|file| std::fs::read_to_string(file).expect("a text")).collect();
    for (number, tutorial, words) in THEIRS {
        assert!(texts[*tutorial].contains(words), "{} does not say `{words}`", files[*tutorial].display());
        let decimals = number.split_once('.').map_or(0, |(_, rest)| rest.len());
        let mut said = words.split([' ', '|']).filter_map(|word| word.parse::<f64>().ok());
        // The columns of one table have nothing between them.
        assert!(
            said.any(|said| format!("{said:.decimals$}") == *number) || words.ends_with(number),
            "{number}: `{words}`"
        );
    }
    // None is left out: every output of the puzzles, every bandwidth of the transposition, every step of both tables.
    let outputs: Vec<&str> =
        texts[4].lines().filter_map(|line| line.strip_prefix("# out: HostBuffer(")).collect();
    assert_eq!(outputs.len(), PRINTED.len());
    for (said, (name, theirs)) in outputs.iter().zip(PRINTED) {
        assert!(said.starts_with(theirs), "{name}: {said}");
    }
    // Both tables of offsets, character by character up to the ends of the lines.
    let bare = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    for file in ["print_layout", "print_tile"] {
        let ours = text(&format!("book/src/outputs/{file}.txt"));
        let (_, table) = ours.split_once('\n').expect("the layout's text above its table");
        assert!(bare(&texts[3]).contains(&bare(table)), "{file}:\n{table}");
    }
    let quoted = |number: &str| THEIRS.iter().any(|(known, ..)| *known == number);
    for before in texts[1].rsplit(" GB/s").skip(1) {
        let number = before.rsplit(' ').next().unwrap_or_default();
        assert!(quoted(number), "{number} GB/s is not quoted");
    }
    let steps = [
        "naive",
        "coalescing",
        "tiled",
        "tiled_register",
        "block_tiled",
        "block_tiled_vectorized",
        "tensor_core",
    ];
    let found = steps.iter().flat_map(|step| {
        texts.iter().flat_map(move |text| {
            text.lines().filter(move |line| {
                line.split('|').nth(1).is_some_and(|cell| cell.trim().trim_start_matches("gpu/") == *step)
            })
        })
    });
    let found = found.filter(|line| THEIRS.iter().any(|(_, _, words)| line.contains(words))).count();
    assert_eq!(found, 6 + 6 + 7, "the steps of the recipe, in both texts, and of the guide");
    for step in [
        "Naive",
        "v1 (1D Threads)",
        "v2 (2D Threads)",
        "v3 (Shared Memory)",
        "AutoTVM",
        "NumPy (CPU)",
        "PyTorch CPU",
        "PyTorch CUDA",
    ] {
        let quoted =
            |row: &str| THEIRS.iter().any(|(number, tutorial, _)| *tutorial == 2 && row.starts_with(number));
        assert!(texts[2].split(step).skip(1).any(quoted), "{step}");
    }
}
