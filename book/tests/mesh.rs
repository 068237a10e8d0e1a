//! The pictures and texts of the chapter on several GPUs.

use super::outputs::{output, same};
use layout_core::LayoutError;
use layout_core::draw::mesh_svg;
use layout_core::mesh::{Distributed, Mesh, Reshard};
use layout_kernels::mesh::Heads;
use layout_mesh::{Reduction, World};
use std::fmt::Write;

#[test]
fn who_holds_what() -> Result<(), LayoutError> {
    let square = Mesh::new([("row", 2), ("column", 2)])?;
    let line = Mesh::new([("gpu", 4)])?;
    let tiles = Distributed::new(&square, [8, 8])?.split(0, ["row"])?.split(1, ["column"])?;
    let dealt = Distributed::new(&Mesh::new([("gpu", 3)])?, [2, 10])?.deal(1, ["gpu"], 2)?;
    for (name, tensor) in [("mesh_tiles", &tiles), ("mesh_dealt", &dealt)] {
        same("figures", &format!("{name}.svg"), &mesh_svg(tensor)?);
    }
    let kinds = [
        ("tiles", tiles),
        ("copies along `row`", Distributed::new(&square, [8, 8])?.split(1, ["column"])?),
        ("terms along `row`", Distributed::new(&square, [8, 8])?.split(1, ["column"])?.partial(["row"])?),
        ("ten over four", Distributed::new(&line, [10])?.split(0, ["gpu"])?),
    ];
    let mut text = String::new();
    for (name, tensor) in kinds {
        writeln!(text, "{name:20}{tensor}").expect("text");
    }
    output("mesh_layouts.txt", &text);
    let (rows, columns) = (
        Distributed::new(&line, [8, 8])?.split(0, ["gpu"])?,
        Distributed::new(&line, [8, 8])?.split(1, ["gpu"])?,
    );
    let plan = Reshard::new(&rows, &columns)?;
    plan.verify()?;
    let text = plan.to_string();
    let lines: Vec<&str> = text.lines().take(6).collect();
    output("mesh_plan.txt", &format!("{}\n..\n", lines.join("\n")));
    Ok(())
}

#[test]
fn a_mistake_of_ranks() {
    let result = World::simulators(3).expect("a world").run(|member| {
        let stream = member.device().stream();
        let (own, mut sum) = (stream.upload(&[1.0f32; 4], [4])?, stream.zeros::<f32, 1>([4])?);
        match member.rank() {
            1 => member.broadcast(&stream, 0, &own, &mut sum),
            _ => member.all_reduce(&stream, Reduction::Sum, &own, &mut sum),
        }
    });
    output("mesh_mistake.txt", &format!("{}\n", result.expect_err("a mistake")));
}

#[test]
fn which_rank_has_which_heads() -> Result<(), LayoutError> {
    let (line, square) = (Mesh::new([("gpu", 2)])?, Mesh::new([("group", 2), ("part", 2)])?);
    let kinds = [
        ("12 on 3 over gpu=2", Heads::new(&line, [12, 3], ["gpu"], [])?),
        ("8 on 2 over group=2,part=2", Heads::new(&square, [8, 2], ["group"], ["part"])?),
    ];
    let mut text = String::new();
    for (name, heads) in kinds {
        writeln!(text, "{name}: queries {}, keys {}", heads.queries().layout(), heads.keys().layout())
            .expect("text");
        for rank in 0..heads.ranks() {
            let own = heads.of(rank)?;
            writeln!(text, "  rank {rank}: queries {:?} read keys {:?}", own.queries, own.keys)
                .expect("text");
        }
    }
    output("mesh_heads.txt", &text);
    Ok(())
}

#[test]
fn the_program_turns_a_matrix() {
    let held = layout_book::by_columns(&World::simulators(2).expect("a world")).expect("columns");
    for (rank, columns) in held.iter().enumerate() {
        let want: Vec<f32> = (0..32).map(|at| (8 * (at / 4) + 4 * rank + at % 4) as f32 / 63.0).collect();
        assert_eq!(*columns, want, "rank {rank}");
    }
    assert_eq!(World::simulators(2).expect("a world").to_string(), "2 simulators");
    layout_book::turned_on_several().expect("GPUs, or simulators");
}
