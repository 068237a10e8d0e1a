//! The report of a simulated launch: findings and counts.
//!
//! Law: equal programs with equal arguments give equal reports, for any number of host threads.

use std::fmt;

/// The kinds from a table: a description, a name in Rust, a name in messages.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal,)+) => {
        /// A kind of mistake.
        ///
        /// ```
        /// # use layout_simulator::FindingKind;
        /// # use layout_cuda::{Device, tiled_kernel};
        /// #[tiled_kernel(block = [2], grid = [1])]
        /// fn race(x: &mut LayoutTensor<i32, RowMajor<1>>) {
        ///     x[[0]] = thread_idx.x as i32;
        /// }
        /// let mut x = Device::simulator().zeros::<i32, 1>([1])?;
        /// assert_eq!(race::simulate(&mut x)?.findings[0].kind, FindingKind::WriteWriteRace);
        /// # Ok::<(), layout_cuda::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum FindingKind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl FindingKind {
            /// All kinds.
            ///
            /// ```
            /// use layout_simulator::FindingKind;
            /// assert_eq!(FindingKind::ALL[0].name(), "out of bounds");
            /// ```
            pub const ALL: [FindingKind; [$($name),+].len()] = [$(FindingKind::$kind),+];

            /// The name of the kind in messages.
            ///
            /// ```
            /// use layout_simulator::FindingKind;
            /// assert_eq!(FindingKind::MissingWait.name(), "missing wait");
            /// ```
            pub fn name(self) -> &'static str {
                match self {
                    $(FindingKind::$kind => $name,)+
                }
            }

            /// What the kind is, in a sentence or two of Markdown.
            ///
            /// ```
            /// use layout_simulator::FindingKind;
            /// assert_eq!(FindingKind::IndexOverflow.description(), "An index overflows 64 bits.");
            /// ```
            pub fn description(self) -> &'static str {
                match self {
                    $(FindingKind::$kind => concat!($($doc),+).trim_start(),)+
                }
            }
        }
    };
}

kinds! {
    /// An access outside its tensor; no memory was accessed.
    OutOfBounds = "out of bounds",
    /// The condition of an `assert!` does not hold, or a thread comes to a `panic!`.
    AssertionFailed = "assertion failed",
    /// The condition of an `assume` does not hold.
    FalseAssumption = "false assumption",
    /// A read of a shared or local element or of a variable before any write.
    Uninitialised = "uninitialised read",
    /// Two threads write different values to one element without synchronisation.
    WriteWriteRace = "write-write race",
    /// Two threads write the same value to one element without synchronisation.
    EqualWrites = "write-write race of equal values",
    /// One thread reads an element that another writes, without synchronisation.
    ReadWriteRace = "read-write race",
    /// Not every thread reaches a barrier, or not the same one.
    DivergentBarrier = "divergent barrier",
    /// Memory is used while an asynchronous copy to it is in flight.
    MissingWait = "missing wait",
    /// The asynchronous proxy accesses an element that a thread wrote without `fence_async_proxy` or
    /// `fence_async_proxy_global` after it. Or TMA overwrites an element that the issuing warp reads, and nothing waits
    /// for the read. Or a thread uses tensor memory after another one, without `tcgen05_fence_before_thread_sync` before
    /// what orders them or `tcgen05_fence_after_thread_sync` after it.
    MissingFence = "missing proxy fence",
    /// The asynchronous proxy writes memory that is still in use.
    Overwritten = "overwritten in use",
    /// A phase of an mbarrier expects another number of bytes than its copies report.
    TransactionBytes = "wrong count of bytes",
    /// More arrivals at an mbarrier than its phase expects.
    Arrivals = "surplus arrival",
    /// A block ends while copies or products are in flight, or in the middle of a phase.
    InFlightAtEnd = "work in flight at the end",
    /// A block accesses the shared memory of another block of its cluster that may have ended.
    EndedBlock = "use of an ended block",
    /// A block accesses the shared memory of another block of its cluster that may not have started.
    NotBegun = "use of a block that has not started",
    /// A vector access whose address is not a multiple of its bytes.
    Misaligned = "misaligned access",
    /// An integer division or remainder by zero.
    DivisionByZero = "division by zero",
    /// A warp took more steps than the options allow; the launch was stopped.
    StepLimit = "step limit",
    /// Every warp waits for an event that cannot happen; the launch was stopped.
    Deadlock = "deadlock",
    /// A block waits for one that may not be resident at the same time; the launch was stopped.
    NotResident = "wait for a block that may not be resident",
    /// A lost update: a thread writes a value computed from an element, and another thread wrote the element in
    /// between.
    LostUpdate = "lost update",
    /// An index overflows 64 bits.
    IndexOverflow = "index beyond 64 bits",
    /// An element that no thread wrote, while others of its tensor were written ([`crate::Options::coverage`]).
    Unwritten = "element left unwritten",
    /// Two threads write different values to one element without a read in between ([`crate::Options::coverage`]).
    WrittenTwice = "written twice",
    /// A read of an element of a tensor of zeros before any write ([`crate::Options::coverage`]).
    Unset = "update of an unset element",
    /// An integer overflows its type ([`crate::Options::arithmetic`]).
    Overflow = "integer overflow",
    /// A conversion to a type that cannot represent the value ([`crate::Options::arithmetic`]).
    LossyCast = "lossy conversion",
    /// A shift by a negative count, or by the width of its type or more ([`crate::Options::arithmetic`]).
    ShiftTooFar = "shift too far",
    /// A stored infinity made of finite numbers, or a stored NaN made of operands that are not NaN
    /// ([`crate::Options::arithmetic`]).
    NotFinite = "NaN or infinity",
    /// Another schedule gives another result ([`crate::Options::schedules`]).
    ScheduleDependent = "schedule-dependent result",
}

/// A mistake at one line of the kernel: its first occurrence (by lowest block, then by order of execution) and its number
/// of occurrences.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [4], grid = [1])]
/// fn past(x: &mut LayoutTensor<i32, RowMajor<3>>) {
///     x[[thread_idx.x]] = 1; // thread 3 has no element
/// }
/// let mut x = Device::simulator().zeros::<i32, 1>([3])?;
/// let finding = past::simulate(&mut x)?.findings.remove(0);
/// assert_eq!((finding.thread, finding.place.as_deref(), finding.index), ([3, 0, 0], Some("x"), Some(3)));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// The description, with the numbers.
    pub message: String,
    /// The line in the kernel's Rust file, 0 if unknown.
    pub line: u32,
    /// `thread_idx`
    pub thread: [u32; 3],
    /// `block_idx`
    pub block: [u32; 3],
    /// The tensor, if there is one.
    pub place: Option<String>,
    /// The element of the tensor, counted from its first, if there is one.
    pub index: Option<i64>,
    /// The number of threads with this finding, in all blocks.
    pub count: u64,
    /// The line of the access that this one conflicts with, where it is known.
    pub other: Option<u32>,
}

impl Finding {
    /// The finding with its place as `file:line`, which editors follow, and that line of the source below it. Without a file the
    /// place is `line 7`; what the source does not have is left out.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [4], grid = [1])]
    /// fn past(x: &mut LayoutTensor<i32, RowMajor<3>>) {
    ///     x[[thread_idx.x]] = 1;
    /// }
    /// let mut x = Device::simulator().zeros::<i32, 1>([3])?;
    /// let mut finding = past::simulate(&mut x)?.findings.remove(0);
    /// finding.line = 2;
    /// let text = finding.in_file("past.rs", "fn past() {\n    x[[thread_idx.x]] = 1;\n}").to_string();
    /// assert!(text.contains("\n  past.rs:2, thread (3, 0, 0)") && text.ends_with("\n  | x[[thread_idx.x]] = 1;"));
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn in_file<'a>(&'a self, file: &'a str, source: &'a str) -> impl fmt::Display + 'a {
        InFile { what: self, file, source }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.in_file("", "").fmt(f)
    }
}

/// A finding or a report, and where its lines are.
struct InFile<'a, T> {
    what: &'a T,
    /// Empty for none.
    file: &'a str,
    source: &'a str,
}

impl fmt::Display for InFile<'_, Finding> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InFile { what: Finding { kind, message, line, thread, block, count, .. }, file, source } = self;
        write!(f, "{}: {message}", kind.name())?;
        match (file, line) {
            (&"", _) => write!(f, "\n  line {line}")?,
            (file, 0) => write!(f, "\n  {file}")?,
            (file, line) => write!(f, "\n  {file}:{line}")?,
        }
        let ([tx, ty, tz], [bx, by, bz]) = (thread, block);
        write!(f, ", thread ({tx}, {ty}, {tz}) of block ({bx}, {by}, {bz})")?;
        if *count > 1 {
            write!(f, ", {count} times in all")?;
        }
        let text = (*line as usize).checked_sub(1).and_then(|line| source.lines().nth(line));
        text.map_or(Ok(()), |text| write!(f, "\n  | {}", text.trim()))
    }
}

/// Counts of work, of a line or of a launch.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn square(x: &mut LayoutTensor<f32, RowMajor<32>>) {
///     x[[thread_idx.x]] = x[[thread_idx.x]] * x[[thread_idx.x]];
/// }
/// let mut x = Device::simulator().zeros::<f32, 1>([32])?;
/// let counts = square::simulate(&mut x)?.totals;
/// assert_eq!((counts.flops, counts.global_bytes_written), (32, 128));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    /// Executed instructions of the simulator, counted once for a warp.
    pub instructions: u64,
    /// Floating-point operations. A fused multiply-add counts as two, and so does each of a matrix product, of integers
    /// as well.
    pub flops: u64,
    /// Loads and stores of global memory, counted once for a warp.
    pub global_requests: u64,
    /// 32-byte sectors of these requests.
    pub global_sectors: u64,
    /// Bytes that threads read from global memory.
    pub global_bytes_read: u64,
    /// Bytes that threads wrote to global memory.
    pub global_bytes_written: u64,
    /// Loads and stores of shared memory, counted once for a warp.
    pub shared_requests: u64,
    /// Passes of these requests through the 32 banks of 4 bytes.
    pub shared_wavefronts: u64,
    /// Passes in addition to those of a conflict-free access of the same width.
    pub bank_conflicts: u64,
    /// Bytes that threads read from shared memory.
    pub shared_bytes_read: u64,
    /// Bytes that threads wrote to shared memory.
    pub shared_bytes_written: u64,
}

impl Counts {
    /// Adds another's counts.
    ///
    /// ```
    /// use layout_simulator::Counts;
    /// let mut sum = Counts { flops: 2, ..Counts::default() };
    /// sum.add(&Counts { flops: 3, global_sectors: 4, ..Counts::default() });
    /// assert_eq!((sum.flops, sum.global_sectors), (5, 4));
    /// ```
    pub fn add(&mut self, other: &Counts) {
        self.instructions = self.instructions.saturating_add(other.instructions);
        self.flops = self.flops.saturating_add(other.flops);
        self.global_requests = self.global_requests.saturating_add(other.global_requests);
        self.global_sectors = self.global_sectors.saturating_add(other.global_sectors);
        self.global_bytes_read = self.global_bytes_read.saturating_add(other.global_bytes_read);
        self.global_bytes_written = self.global_bytes_written.saturating_add(other.global_bytes_written);
        self.shared_requests = self.shared_requests.saturating_add(other.shared_requests);
        self.shared_wavefronts = self.shared_wavefronts.saturating_add(other.shared_wavefronts);
        self.bank_conflicts = self.bank_conflicts.saturating_add(other.bank_conflicts);
        self.shared_bytes_read = self.shared_bytes_read.saturating_add(other.shared_bytes_read);
        self.shared_bytes_written = self.shared_bytes_written.saturating_add(other.shared_bytes_written);
    }
}

/// The result of a simulated launch besides its tensors.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [2])]
/// fn ones(x: &mut LayoutTensor<f32, RowMajor<64>>) {
///     x[[32 * block_idx.x + thread_idx.x]] = 1.0;
/// }
/// let mut x = Device::simulator().zeros::<f32, 1>([64])?;
/// let report = ones::simulate(&mut x)?;
/// assert_eq!((report.blocks, report.totals.global_requests), (2, 2));
/// println!("{report}");
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Report {
    /// In the order of their first occurrence.
    pub findings: Vec<Finding>,
    /// The number of findings omitted because of [`crate::Options::max_findings`].
    pub left_out: u64,
    /// What the threads printed, in the order of blocks, then of threads, then of the program.
    pub printed: Vec<Printed>,
    /// The number of texts that were left out: a launch keeps 262144, a block 65536.
    pub unprinted: u64,
    /// The counts of the launch; zero without [`crate::Options::counters`].
    pub totals: Counts,
    /// The counts of each line that has any, by line.
    pub lines: Vec<(u32, Counts)>,
    /// The number of blocks that ran.
    pub blocks: u64,
    /// Whether the launch was stopped before its end (step limit, deadlock).
    pub stopped: bool,
}

/// A text that a thread prints by one `println!`, `print!` or `dbg!`. `{}` is the text, `{:#}` begins with the thread and the
/// line.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// #[tiled_kernel(block = [2], grid = [1])]
/// fn halves(x: &LayoutTensor<f32, RowMajor<2>>) {
///     let i = thread_idx.x;
///     println!("x[{i}] / 2 = {}", x[[i]] / 2.0);
/// }
/// let x = Device::simulator().upload(&[1.0f32, 5.0], [2])?;
/// let mut printed = halves::simulate(&x)?.printed;
/// assert_eq!(printed[1].text, "x[1] / 2 = 2.5\n");
/// printed[1].line = 4;
/// assert_eq!(format!("{:#}", printed[1]), "[line 4, thread (1, 0, 0) of block (0, 0, 0)] x[1] / 2 = 2.5\n");
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// The text, with the end of its line where it has one.
    pub text: String,
    /// The line in the kernel's Rust file, 0 if unknown.
    pub line: u32,
    /// `thread_idx`
    pub thread: [u32; 3],
    /// `block_idx`
    pub block: [u32; 3],
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            let ([tx, ty, tz], [bx, by, bz]) = (self.thread, self.block);
            write!(f, "[line {}, thread ({tx}, {ty}, {tz}) of block ({bx}, {by}, {bz})] ", self.line)?;
        }
        f.write_str(&self.text)
    }
}

impl Report {
    /// What the threads printed, as one text.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [3], grid = [1])]
    /// fn hello(_x: &LayoutTensor<f32, RowMajor<1>>) {
    ///     print!("{} ", thread_idx.x);
    /// }
    /// let x = Device::simulator().zeros::<f32, 1>([1])?;
    /// assert_eq!(hello::simulate(&x)?.output(), "0 1 2 ");
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn output(&self) -> String {
        self.printed.iter().map(|printed| printed.text.as_str()).collect()
    }

    /// Whether there are no findings.
    ///
    /// ```
    /// use layout_simulator::Report;
    /// assert!(Report::default().clean());
    /// ```
    pub fn clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// The first finding of a kind.
    ///
    /// ```
    /// # use layout_simulator::FindingKind;
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [64], grid = [1])]
    /// fn reverse(x: &mut LayoutTensor<i32, RowMajor<64>>) {
    ///     let mut held = shared::<i32>(row_major([64]));
    ///     held[[thread_idx.x]] = x[[thread_idx.x]];
    ///     x[[thread_idx.x]] = held[[63 - thread_idx.x]]; // no barrier before
    /// }
    /// let mut x = Device::simulator().zeros::<i32, 1>([64])?;
    /// let report = reverse::simulate(&mut x)?;
    /// assert!(!report.clean() && report.find(FindingKind::OutOfBounds).is_none());
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn find(&self, kind: FindingKind) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.kind == kind)
    }

    /// The report with its findings as [`Finding::in_file`] has them.
    ///
    /// ```
    /// use layout_simulator::Report;
    /// assert_eq!(Report::default().in_file("a.rs", "").to_string(), "0 blocks done, 0 lines with findings\n");
    /// ```
    pub fn in_file<'a>(&'a self, file: &'a str, source: &'a str) -> impl fmt::Display + 'a {
        InFile { what: self, file, source }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.in_file("", "").fmt(f)
    }
}

impl fmt::Display for InFile<'_, Report> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InFile { what: report, file, source } = self;
        for finding in &report.findings {
            writeln!(f, "{}", finding.in_file(file, source))?;
        }
        if report.left_out > 0 {
            writeln!(f, "{} further findings left out", report.left_out)?;
        }
        let state = if report.stopped { "stopped" } else { "done" };
        let of = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let (blocks, lines) = (of(report.blocks, "block"), of(report.findings.len() as u64, "line"));
        writeln!(f, "{blocks} {state}, {lines} with findings")?;
        if report.totals == Counts::default() {
            return Ok(());
        }
        writeln!(
            f,
            "{:>6} {:>12} {:>12} {:>12} {:>12} {:>12} {:>10}",
            "line", "instructions", "flops", "gl. requests", "gl. sectors", "sh. requests", "conflicts"
        )?;
        let mut row = |name: &str, c: &Counts| {
            writeln!(
                f,
                "{name:>6} {:>12} {:>12} {:>12} {:>12} {:>12} {:>10}",
                c.instructions,
                c.flops,
                c.global_requests,
                c.global_sectors,
                c.shared_requests,
                c.bank_conflicts
            )
        };
        for (line, counts) in &report.lines {
            row(&line.to_string(), counts)?;
        }
        row("all", &report.totals)
    }
}
