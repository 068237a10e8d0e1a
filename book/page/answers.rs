//! The requests: `examples`, `layout`, `compile`, `run`, `timeline`, `check`.

use crate::{examples, layouts, sizes};
use layout_compiler::{Explained, Kernel, emit, explain};
use layout_simulator::{Arrow, Counts, Finding, Options, Timeline, Track};
use layout_workbench::exercises::{self, Verdict};
use layout_workbench::{Given, Mistake, Prepared, prepare_knowing, read};
use serde_json::{Value, json};

/// Instructions of a warp after which a launch counts as endless; the page ends a worker earlier where somebody asks.
const STEPS: u64 = 1 << 24;

/// Characters of what a kernel prints that an answer shows.
const PRINTED: usize = 20_000;

/// Schedules of which the first one with findings is drawn.
const SCHEDULES: u32 = 16;

/// Instructions of a warp after which a timeline ends.
const DRAWN: u64 = 1 << 18;

/// Elements of a tensor that an answer shows.
const SHOWN: usize = 64;

/// The answer to a request.
pub fn answer(request: &Value) -> Value {
    let text = request["text"].as_str().unwrap_or_default();
    match request["ask"].as_str() {
        Some("examples") => examples::list(),
        Some("layout") => layouts::layout(request),
        Some("compile") => {
            ready(text, request).map_or_else(|refused| refused, |(_, prepared, _)| compiled(&prepared))
        }
        Some("run") => {
            ready(text, request).map_or_else(|refused| refused, |(_, prepared, given)| run(&prepared, &given))
        }
        Some("timeline") => ready(text, request)
            .map_or_else(|refused| refused, |(_, prepared, given)| timelines(&prepared, &given)),
        Some("check") => check(request["name"].as_str().unwrap_or_default(), text),
        _ => json!({ "error": "there are examples, layout, compile, run, timeline and check" }),
    }
}

fn mistakes(list: &[Mistake]) -> Value {
    let one = |mistake: &Mistake| {
        json!({
            "line": mistake.start.line, "column": mistake.start.column,
            "end_line": mistake.end.line, "end_column": mistake.end.column, "message": mistake.message,
        })
    };
    json!({ "mistakes": list.iter().map(one).collect::<Vec<_>>() })
}

/// The kernel, the variant that a launch of these sizes takes, and its arguments.
fn ready(text: &str, request: &Value) -> Result<(Kernel, Prepared, Vec<Given>), Value> {
    let error_answer = |message: String| json!({ "error": message });
    let sizes = sizes::table(request["sizes"].as_str().unwrap_or_default()).map_err(error_answer)?;
    let kernel = read(text).map_err(|list| mistakes(&list))?;
    let set = kernel.parameter_sets().into_iter().next().unwrap_or_default();
    let plan = sizes::any_variant(&kernel, &set);
    let given = match &plan {
        Some(checked) => sizes::arguments(checked.plan(), &sizes).map_err(error_answer)?,
        // It does not compile: preparing says why.
        None => vec![],
    };
    let grid = [sizes.get("GRID").map_or(1, |blocks| *blocks as u32), 1, 1];
    let known = plan.as_ref().map(|checked| (&set, checked));
    let prepared =
        prepare_knowing(&kernel, None, &given, Some(grid), known).map_err(|list| mistakes(&list))?;
    Ok((kernel, prepared, given))
}

fn compiled(prepared: &Prepared) -> Value {
    let source = emit(&prepared.checked);
    let plan = prepared.checked.plan();
    json!({
        "cuda": source.text, "lines": source.lines, "entry": source.entry,
        "variant": variant(prepared), "grid": prepared.bound.grid, "block": prepared.bound.block,
        "shared_bytes": plan.shared_bytes,
        "accesses": explain(&prepared.checked).accesses.iter().map(access).collect::<Vec<_>>(),
    })
}

/// What an access moves at once, and what it lost: `explain`'s words, with the line of the kernel.
fn access(access: &Explained) -> Value {
    let lost = access
        .degraded
        .iter()
        .map(|lost| json!({ "what": lost.what.to_string(), "reason": lost.reason, "help": lost.help }));
    json!({
        "line": access.position.line, "column": access.position.column, "tensor": access.tensor,
        "space": if access.shared { "shared" } else { "global" }, "writes": access.writes,
        "bytes": access.bytes, "means": access.means.to_string(), "lost": lost.collect::<Vec<_>>(),
    })
}

fn variant(prepared: &Prepared) -> String {
    let promises = prepared.checked.plan().promises;
    let mut words = vec![prepared.set.key()];
    words.extend(promises.variant_if.map(|number| format!("variant_if {number} holds")));
    words.push(if promises.narrow { "32-bit offsets" } else { "64-bit offsets" }.to_owned());
    words.push(if promises.aligned { "16-byte aligned" } else { "not aligned" }.to_owned());
    words.retain(|word| !word.is_empty());
    words.join(", ")
}

fn counts(counts: &Counts) -> Value {
    json!({
        "instructions": counts.instructions, "flops": counts.flops,
        "global_requests": counts.global_requests, "global_sectors": counts.global_sectors,
        "shared_requests": counts.shared_requests, "bank_conflicts": counts.bank_conflicts,
    })
}

fn run(prepared: &Prepared, given: &[Given]) -> Value {
    let options = Options { max_steps: STEPS, threads: 1, ..Options::default() };
    let outcome = match prepared.run(given, &options) {
        Ok(outcome) => outcome,
        Err(list) => return mistakes(&list),
    };
    let report = &outcome.report;
    let findings: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| {
            json!({
                "kind": finding.kind.name(), "message": finding.message, "line": finding.line,
                "thread": finding.thread, "block": finding.block, "count": finding.count,
            })
        })
        .collect();
    let lines: Vec<Value> = report
        .lines
        .iter()
        .map(|(line, own)| {
            let mut row = counts(own);
            row["line"] = (*line).into();
            row
        })
        .collect();
    let arguments = prepared.checked.plan().arguments.iter().zip(&outcome.tensors);
    let tensors: Vec<Value> = arguments.filter_map(|(argument, tensor)| {
        let tensor = tensor.as_ref()?;
        let some: Vec<String> = tensor.values.iter().take(SHOWN).map(f64::to_string).collect();
        Some(json!({ "name": argument.name, "shape": tensor.shape, "values": some, "of": tensor.values.len() }))
    }).collect();
    let printed: String = report.output().chars().take(PRINTED).collect();
    json!({
        "printed": printed, "findings": findings, "lines": lines, "totals": counts(&report.totals), "blocks": report.blocks,
        "stopped": report.stopped, "tensors": tensors, "variant": variant(prepared),
    })
}

/// The first schedule, and the first one with findings; steps and numbers of tracks as arrays.
fn timelines(prepared: &Prepared, given: &[Given]) -> Value {
    let options =
        Options { max_steps: DRAWN, threads: 1, schedules: SCHEDULES, counters: false, ..Options::default() };
    let timelines = match prepared.timelines(given, &options) {
        Ok(timelines) => timelines,
        Err(list) => return mistakes(&list),
    };
    json!({ "timelines": timelines.iter().map(timeline).collect::<Vec<_>>() })
}

fn timeline(timeline: &Timeline) -> Value {
    let track = |track: &Track| {
        let spans = track.spans.iter().map(|span| json!([span.begin, span.end, span.name]));
        json!({ "block": track.block, "name": track.name, "spans": spans.collect::<Vec<_>>() })
    };
    let arrow = |arrow: &Arrow| json!([arrow.from.0, arrow.from.1, arrow.to.0, arrow.to.1]);
    let finding = |(step, finding): &(u64, Finding)| {
        json!({
            "step": step, "kind": finding.kind.name(), "message": finding.message, "line": finding.line,
        })
    };
    json!({
        "schedule": timeline.schedule, "steps": timeline.steps, "cut": timeline.cut,
        "tracks": timeline.tracks.iter().map(track).collect::<Vec<_>>(),
        "arrows": timeline.arrows.iter().map(arrow).collect::<Vec<_>>(),
        "findings": timeline.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}

fn check(name: &str, text: &str) -> Value {
    let Some(exercise) = exercises::find(name) else {
        return json!({ "error": format!("there is no exercise `{name}`") });
    };
    let verdict = exercises::check(exercise, text);
    let mut answer = match &verdict {
        Verdict::Refused(list) => mistakes(list),
        Verdict::Findings { report, .. } => {
            let lines: Vec<Value> = report.findings.iter().map(|finding| {
                json!({ "line": finding.line, "kind": finding.kind.name(), "message": finding.message })
            }).collect();
            json!({ "findings": lines })
        }
        Verdict::Wrong { .. } | Verdict::Costly { .. } | Verdict::Right(_) => json!({}),
    };
    answer["right"] = matches!(verdict, Verdict::Right(_)).into();
    answer["said"] = verdict.to_string().into();
    answer
}
