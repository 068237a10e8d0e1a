//! Host threads: each runs clusters, and their findings and counts are merged.
//!
//! Law: the merged report does not depend on the number of host threads.

use crate::bytecode;
use crate::findings::Findings;
use crate::machine::{Launch, Machine};
use crate::options::Options;
use crate::printed::Printing;
use crate::progress::Clock;
use crate::report::{Counts, Report};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

/// The merged results of the host threads.
#[derive(Default)]
pub(crate) struct Outcome {
    pub findings: Findings,
    pub printing: Printing,
    pub sites: Vec<Counts>,
    pub runs: Vec<[u64; 2]>,
    pub blocks: u64,
    pub stopped: bool,
    /// Whether the order of blocks matters.
    pub ordered: bool,
}

/// Runs every cluster on `workers` host threads.
pub(crate) fn run(launch: &Launch<'_>, clusters: u64, workers: usize) -> Outcome {
    let (next, halt, clock) = (AtomicU64::new(0), AtomicBool::new(false), Clock::new());
    let work = || {
        let mut machine = Machine::new(launch);
        let (mut count, mut stopped) = (0, false);
        if launch.program.waits {
            count = clusters * machine.ranks() as u64;
            stopped = !machine.run_together(clusters);
            halt.store(true, SeqCst);
        }
        while !halt.load(SeqCst) {
            let block = next.fetch_add(1, SeqCst);
            if block >= clusters {
                break;
            }
            count += machine.ranks() as u64;
            let done = machine.run_cluster(machine.policy.cluster(block, clusters));
            stopped |= !done;
            let ranks = machine.ranks() as u64;
            clock.done(launch.kernel, (block + 1) * ranks, clusters * ranks);
            if !done || workers > 1 && machine.diagnostics.get_mut().crossed {
                halt.store(true, SeqCst);
            }
        }
        let diagnostics = machine.diagnostics.into_inner();
        let ordered = stopped || diagnostics.crossed;
        Outcome {
            findings: diagnostics.findings,
            printing: diagnostics.printing,
            sites: diagnostics.counts,
            runs: machine.runs,
            blocks: count,
            stopped,
            ordered,
        }
    };
    if workers == 1 {
        return work();
    }
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let mut all = Outcome::default();
        for handle in handles {
            match handle.join() {
                Ok(outcome) => all.merge(outcome),
                // A panic in a worker is a bug of the simulator; the run on one thread shows it.
                Err(_) => all.ordered = true,
            }
        }
        all
    })
}

impl Outcome {
    fn merge(&mut self, other: Outcome) {
        self.findings.merge(other.findings);
        self.printing.merge(other.printing);
        self.sites.resize(self.sites.len().max(other.sites.len()), Counts::default());
        self.sites.iter_mut().zip(&other.sites).for_each(|(sum, counts)| sum.add(counts));
        self.runs.resize(self.runs.len().max(other.runs.len()), [0; 2]);
        for (sum, runs) in self.runs.iter_mut().zip(&other.runs) {
            sum[0] += runs[0];
            sum[1] += runs[1];
        }
        self.blocks += other.blocks;
        self.stopped |= other.stopped;
        self.ordered |= other.ordered;
    }

    pub(crate) fn report(self, program: &bytecode::Program, options: &Options) -> Report {
        let mut lines: BTreeMap<u32, Counts> = BTreeMap::new();
        for (number, [runs, lanes]) in self.runs.iter().enumerate().filter(|(_, [runs, _])| *runs > 0) {
            let flops = match program.code[number] {
                bytecode::Op::F32 { op, .. } | bytecode::Op::F64 { op, .. } => op.flops(),
                bytecode::Op::Math { function, elem, .. } if elem.is_float() => function.flops(),
                bytecode::Op::Mma { core, .. } => core.flops(),
                _ => 0,
            };
            if program.code[number].is_instrumentation() {
                continue;
            }
            let counts = lines.entry(program.lines[number]).or_default();
            counts.instructions += runs;
            counts.flops += lanes * flops;
        }
        for (site, counts) in program.sites.iter().zip(&self.sites) {
            if *counts != Counts::default() {
                lines.entry(site.line).or_default().add(counts);
            }
        }
        let mut totals = Counts::default();
        lines.values().for_each(|counts| totals.add(counts));
        let (findings, left_out) = self.findings.finish(options.max_findings);
        let (printed, unprinted) = self.printing.finish();
        Report {
            findings,
            left_out,
            printed,
            unprinted,
            totals,
            lines: lines.into_iter().collect(),
            blocks: self.blocks,
            stopped: self.stopped,
        }
    }
}
