//! The pictures, rendered: every label present and inside its cell, colours by thread, nothing cut off, the committed
//! files up to date.

use layout_core::atoms::MmaAtom;
use layout_core::draw::Cell as Drawn;
use layout_core::draw::{Grid, grids_svg, layout_svg, layout_table, mma_svg, swizzle_svg, thread_value_svg};
use layout_core::{ComposedLayout, Layout, LayoutTensor};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::roxmltree::{Document, Node};
use resvg::usvg::{Options, Tree};

/// A cell as the document has it: its box, colour and lines of text.
pub struct Cell {
    x: f32,
    y: f32,
    wide: f32,
    fill: String,
    lines: Vec<String>,
}

/// The height of every cell.
const HIGH: f32 = 40.0;

fn number(node: &Node, name: &str) -> f32 {
    node.attribute(name)
        .and_then(|value| value.parse().ok())
        .unwrap_or_else(|| panic!("no `{name}` in {node:?}"))
}

/// Renders the picture and checks what holds for all: every text fits its cell or the page, every cell's colour is
/// what the pixels show, and the outermost pixels are empty.
pub fn check(svg: &str) -> Vec<Cell> {
    let tree = Tree::from_str(svg, &Options::default()).expect("an SVG document");
    let (width, height) = (tree.size().width(), tree.size().height());
    let mut pixels = Pixmap::new(width as u32, height as u32).expect("a picture of some size");
    resvg::render(&tree, Transform::default(), &mut pixels.as_mut());

    let document = Document::parse(svg).expect("XML");
    let mut cells: Vec<Cell> = Vec::new();
    for node in document.descendants() {
        match node.tag_name().name() {
            "rect" => {
                let (x, y, wide) = (number(&node, "x"), number(&node, "y"), number(&node, "width"));
                assert!(wide >= HIGH && number(&node, "height") == HIGH);
                let fill = node.attribute("fill").expect("a colour").to_string();
                assert!(x >= 1.0 && y >= 1.0 && x + wide < width && y + HIGH < height, "a cell is cut off");
                // A corner that no text covers.
                let pixel = pixels.pixel(x as u32 + 3, y as u32 + 3).expect("inside").demultiply();
                let shown = format!("#{:02x}{:02x}{:02x}", pixel.red(), pixel.green(), pixel.blue());
                assert_eq!((shown, pixel.alpha()), (fill.clone(), 255));
                // Dark text on it has a contrast of at least 7.
                let channel = |value: u8| (f32::from(value) / 255.0).powf(2.2);
                let light = 0.2126 * channel(pixel.red())
                    + 0.7152 * channel(pixel.green())
                    + 0.0722 * channel(pixel.blue());
                assert!((light + 0.05) / 0.056 >= 7.0, "text is hard to read on {fill}");
                cells.push(Cell { x, y, wide, fill, lines: Vec::new() });
            }
            "text" => {
                let (x, y) = (number(&node, "x"), number(&node, "y"));
                let text = node.text().unwrap_or_default().to_string();
                assert!(!text.is_empty());
                let class = node.attribute("class").expect("a class");
                if class == "layout-cell" {
                    let cell = cells.last_mut().expect("a text follows its cell");
                    let size = number(&node, "font-size");
                    let half = text.chars().count() as f32 * size * 0.6 / 2.0;
                    assert!(size >= 9.0, "{text} is too small to read");
                    let centred = (x - cell.x - cell.wide / 2.0).abs() <= 0.5;
                    assert!(half <= cell.wide / 2.0 && centred, "{text} is wider than its cell");
                    assert!(y - size * 0.8 >= cell.y && y <= cell.y + HIGH - 1.0, "{text} leaves its cell");
                    cell.lines.push(text);
                } else {
                    let size = if class == "layout-title" { 13.0 } else { 11.0 };
                    let wide = text.chars().count() as f32 * size * 0.6;
                    let (left, right) = if class == "layout-title" {
                        (x, x + wide)
                    } else {
                        (x - wide / 2.0, x + wide / 2.0)
                    };
                    assert!(
                        left >= 0.0 && right <= width && y >= size * 0.8 && y <= height,
                        "{text} is cut off"
                    );
                }
            }
            _ => {}
        }
    }
    for x in 0..pixels.width() {
        for y in [0, pixels.height() - 1] {
            assert_eq!(pixels.pixel(x, y).expect("inside").alpha(), 0, "something is cut off");
        }
    }
    assert!(svg.contains("prefers-color-scheme: dark"));
    cells
}

#[test]
fn a_layout_shows_every_offset_in_its_place() {
    for text in
        ["(4,8):(8,1)", "((2,2),(4,2)):((8,16),(1,4))", "5:3", "(2,3,4):(1,2,6)", "(3,2):(-1000000,1)", "1:0"]
    {
        let layout: Layout = text.parse().unwrap();
        let cells = check(&layout_svg(&layout).unwrap());
        assert_eq!(cells.len() as i64, layout.size());
        let rows = layout.mode(0).unwrap().size() as usize;
        let columns = cells.len() / rows;
        let offsets: Vec<i64> = layout.offsets().collect();
        for (i, cell) in cells.iter().enumerate() {
            let offset = offsets[i / columns + i % columns * rows];
            assert_eq!(cell.lines, [offset.to_string()]);
            let same = cells.iter().zip(0..).find(|(other, _)| other.lines == cell.lines).unwrap().0;
            assert_eq!(same.fill, cell.fill);
        }
        assert!(layout_table(&layout).contains(&offsets[0].to_string()));
    }
    assert!(layout_svg(&Layout::row_major((1000, 1000)).unwrap()).is_err());
}

#[test]
fn a_view_shows_its_own_offsets() {
    let tensor = LayoutTensor::new(vec![0; 35], Layout::row_major((5, 7)).unwrap()).unwrap();
    for (row, column) in (0..3).flat_map(|row| (0..2).map(move |column| (row, column))) {
        let tile = tensor.tile(&[2, 4], &[row, column]).unwrap();
        let cells = check(&layout_svg(&tile).unwrap());
        assert_eq!(cells.len(), 8);
        let mut numbers = Vec::new();
        for (at, cell) in (0..).zip(&cells) {
            let (i, j) = (2 * row + at / 4, 4 * column + at % 4);
            let offset = (i < 5 && j < 7).then(|| (7 * i + j).to_string());
            assert_eq!(cell.lines, Vec::from_iter(offset.clone()), "tile ({row},{column}), element {at}");
            numbers.extend(offset);
        }
        // The table has the same numbers in the same order, behind the heads of its rows.
        let table = layout_table(tile.view());
        let rows = table.lines().filter(|line| line.contains('|'));
        let cells = rows.flat_map(|line| line.split('|').skip(1)).map(str::trim);
        assert!(cells.filter(|cell| !cell.is_empty()).eq(numbers), "{table}");
    }
    let pair = [
        Grid::new("a & b", 2, 3, |i, j| Drawn::new(10 * i + j)),
        Grid::new("one", 1, 1, |_, _| Drawn::new("x\ny\nz")),
    ];
    let cells = check(&grids_svg(&[&pair, &pair[1..]]).unwrap());
    assert_eq!((cells.len(), &cells[4].lines[0], cells[6].lines.len()), (8, &"11".to_owned(), 2));
    let large = [Grid::new("", 200, 100, |_, _| Drawn::default())];
    assert!(grids_svg(&[&large]).unwrap_err().to_string().contains("20000 cells"));
}

#[test]
fn threads_have_their_colours() {
    for atom in MmaAtom::all(16).unwrap() {
        let (m, n, k) = atom.shape;
        let cells = check(&thread_value_svg("C", &atom.c, m, n).unwrap());
        assert_eq!(cells.len() as i64, m * n);
        let mut colours = std::collections::BTreeMap::new();
        for cell in &cells {
            assert!(cell.lines[0].starts_with('T') && cell.lines[1].starts_with('V'), "{:?}", cell.lines);
            let colour = colours.entry(cell.lines[0].clone()).or_insert(cell.fill.clone());
            assert_eq!(*colour, cell.fill, "one colour for a thread");
        }
        assert_eq!(colours.len() as i64, atom.threads);
        let different: std::collections::BTreeSet<_> = colours.values().collect();
        assert_eq!(different.len(), 32, "32 threads have different colours");
        let all = check(&mma_svg(&atom).unwrap());
        assert_eq!(all.len() as i64, m * n + m * k + k * n);
    }
}

#[test]
fn a_swizzle_shows_its_banks() {
    let composed: ComposedLayout = "Sw<3,2,3> o 0 o (8,32):(32,1)".parse().unwrap();
    let cells = check(&swizzle_svg(&composed, 4).unwrap());
    for (i, cell) in cells.iter().enumerate() {
        let offset = composed.crd2idx(&(i as i64 / 32, i as i64 % 32).into()).unwrap();
        assert_eq!(cell.lines, [offset.to_string(), format!("b{}", offset % 32)]);
    }
    // Down a column, in groups of four, the banks are all different.
    let column: std::collections::BTreeSet<_> = cells.iter().step_by(32).map(|cell| &cell.fill).collect();
    assert_eq!(column.len(), 8);
    assert!(swizzle_svg(&composed, 0).is_err());
}

#[test]
fn the_committed_pictures_are_pictures() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../layout-core/pictures");
    let page = std::fs::read_to_string(folder.join("../ARCHITECTURE.md")).expect("the page");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).expect("pictures") {
        let path = entry.expect("a file").path();
        check(&std::fs::read_to_string(&path).expect("text"));
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        assert!(page.contains(&format!("pictures/{name}")), "{name} is on no page");
        seen += 1;
    }
    let atom = MmaAtom::m16n8k8_tf32().unwrap();
    assert_eq!(std::fs::read_to_string(folder.join("mma.svg")).ok(), mma_svg(&atom).ok());
    assert_eq!(seen, 10);
}

#[test]
fn the_pictures_of_the_records_are_up_to_date() {
    use layout_bench::{peaks::Roofs, plot};
    use layout_examples::programs::{analysis::of_the_text, roofline::OF_THE_TEXT};
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("records");
    let read = |name: &str| {
        std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let all = plot::read(&format!("{}\n{}", read("h200.jsonl"), read("h200_ladder.jsonl"))).expect("records");
    let roofs = plot::named(&Roofs { device: Some(plot::h200()), measured: None });
    let roofline = plot::roofline("NVIDIA H200", &roofs, &plot::points(&all));
    for picture in [plot::ladder(&all), roofline, plot::sizes(&all)] {
        let picture = picture.expect("a picture");
        let command = "cargo run -p layout-bench --bin plot -- tests/records/h200.jsonl tests/records/h200_ladder.jsonl --out tests/records";
        assert!(
            read(picture.name) == picture.svg,
            "{} is not what the records give: {command}",
            picture.name
        );
        assert!(Tree::from_str(&picture.svg, &Options::default()).is_ok(), "{} is no SVG", picture.name);
    }
    let three =
        plot::roofline("RTX 4000 Ada", &[("float32", OF_THE_TEXT)], &of_the_text()).expect("a picture");
    let command = "cargo run -p layout-bench --bin plot -- --card 'RTX 4000 Ada' --peaks 26700,360 --point 'Naive 3×3=0.25' --point 'Shared 3×3=0.45'";
    let known = read("../../book/src/figures/roofline_3x3.svg");
    assert!(known == three.svg, "roofline_3x3.svg is not what this gives: {command}");
}
