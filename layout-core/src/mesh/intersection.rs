//! What two devices share of one mode: the coordinates that one holds before and the other after.
//!
//! Law: the lines of [`shared`] are disjoint, and together are every coordinate below the extent that both devices hold.
//!
//! Where each step of one split divides the next one of the other, the digits of both are cut at all these steps. A digit
//! that an axis counts is fixed by the device; one that two axes count must be the same number; one that memory counts on
//! both sides is free: together one layout. From the first step on that does not divide, the rest is runs of neighbours,
//! which are intersected pairwise and gathered where they repeat.

use super::digits::{Digit, Holder};
use crate::LayoutError;

/// The most runs of one device along one mode.
const MOST: i64 = 1 << 16;

/// A free digit: an extent, and the steps of the coordinate and of both memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Free {
    pub(super) extent: i64,
    pub(super) step: i64,
    pub(super) from: i64,
    pub(super) to: i64,
}

/// Coordinates at regular steps, with their offsets in both memories. The digits nest: each steps past those before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) at: i64,
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) digits: Vec<Free>,
}

impl Line {
    pub(super) fn size(&self) -> i64 {
        self.digits.iter().map(|digit| digit.extent).product()
    }

    /// Steps on along a digit that is fixed.
    fn go(&mut self, times: i64, along: Free) {
        self.at += times * along.step;
        self.from += times * along.from;
        self.to += times * along.to;
    }
}

/// How many coordinates below `extent` the device at `at` holds.
pub(super) fn held(digits: &[Digit], at: &[i64], extent: i64) -> i64 {
    let all = [Digit { holder: Holder::Memory, extent, step: 1, stride: 1 }];
    // Every step divides: the other side has none.
    shared((digits, at), (&all, &[]), extent).map_or(0, |lines| lines.iter().map(Line::size).sum())
}

/// One side: the digits of the mode, and the device's coordinate on the mesh.
type Side<'a> = (&'a [Digit], &'a [i64]);

/// What one side says of the coordinate's part at `step`: a number that the device fixes, or a stride of its memory.
enum Part {
    Fixed(i64),
    Free(i64),
}

/// The part from `step` on, below `extent` where the part is not the last.
fn part((digits, at): Side<'_>, step: i64, extent: Option<i64>) -> Part {
    // The first digit has step 1, so there is one.
    let digit = digits.iter().rfind(|digit| digit.step <= step).unwrap_or(&digits[0]);
    let below = step / digit.step;
    match digit.holder {
        Holder::Memory => Part::Free(digit.stride * below),
        Holder::Axis(axis) => {
            let above = at[axis] / below;
            Part::Fixed(extent.map_or(above, |extent| above % extent))
        }
    }
}

/// The coordinates below `extent` that both hold.
pub(super) fn shared(a: Side<'_>, b: Side<'_>, extent: i64) -> Result<Vec<Line>, LayoutError> {
    // A digit past the extent counts nothing that exists: its device holds something at 0 only.
    let outside = |(digits, at): Side<'_>| {
        digits
            .iter()
            .any(|digit| digit.step >= extent && matches!(digit.holder, Holder::Axis(axis) if at[axis] != 0))
    };
    if outside(a) || outside(b) {
        return Ok(Vec::new());
    }
    let mut cuts: Vec<i64> = a.0.iter().chain(b.0).map(|digit| digit.step).collect();
    cuts.retain(|cut| *cut < extent);
    cuts.sort_unstable();
    cuts.dedup();
    // The steps up to the last one that all beyond are multiples of, and that divide one another.
    let divides = |number: usize| {
        let (cut, after) = (cuts[number], &cuts[number..]);
        after.iter().all(|after| after % cut == 0)
    };
    let chain = (0..cuts.len()).take_while(|number| divides(*number)).count();
    let whole = chain == cuts.len();
    let below = if whole { chain } else { chain - 1 };
    let mut line = Line::default();
    for (number, step) in cuts[..below].iter().enumerate() {
        let next = cuts.get(number + 1);
        let size = next.map_or((extent - 1) / step + 1, |next| next / step);
        let inside = next.map(|_| size);
        let along = |from, to| Free { extent: size, step: *step, from, to };
        match (part(a, *step, inside), part(b, *step, inside)) {
            (Part::Fixed(one), Part::Fixed(other)) if one != other => return Ok(Vec::new()),
            (Part::Fixed(number), _) | (_, Part::Fixed(number)) if number >= size => return Ok(Vec::new()),
            (Part::Fixed(number), Part::Fixed(_)) => line.go(number, along(0, 0)),
            (Part::Fixed(number), Part::Free(to)) => line.go(number, along(0, to)),
            (Part::Free(from), Part::Fixed(number)) => line.go(number, along(from, 0)),
            (Part::Free(from), Part::Free(to)) => line.digits.push(along(from, to)),
        }
    }
    let mut lines = Vec::new();
    if whole {
        clip(line, extent, &mut lines);
        return Ok(lines);
    }
    let unit = cuts[below];
    let both = meet(&runs(a, unit, extent)?, &runs(b, unit, extent)?);
    for (first, run, more) in gathered(&both) {
        let mut own = line.clone();
        let along = |extent| Free { extent, step: unit, from: run.from_step, to: run.to_step };
        own.go(first.at, Free { from: 0, to: 0, ..along(1) });
        (own.from, own.to) = (own.from + first.from, own.to + first.to);
        own.digits.push(along(run.len));
        own.digits.extend(more.map(|more| Free { step: more.step * unit, ..more }));
        clip(own, extent, &mut lines);
    }
    Ok(lines)
}

/// The part of a line below `extent`: whole where it ends below, else what fits of its last digit and what fits of the next.
fn clip(mut line: Line, extent: i64, lines: &mut Vec<Line>) {
    line.digits.retain(|digit| digit.extent > 1);
    loop {
        let reach =
            |digits: &[Free]| -> i64 { digits.iter().map(|digit| (digit.extent - 1) * digit.step).sum() };
        if line.at >= extent {
            return;
        }
        if line.at + reach(&line.digits) < extent {
            lines.push(line);
            return;
        }
        // It reaches further than where it is, so it has a digit.
        let Some(last) = line.digits.pop() else { return };
        let room = extent - 1 - line.at - reach(&line.digits);
        let fits = if room < 0 { 0 } else { room / last.step + 1 };
        if fits > 0 {
            let mut whole = line.clone();
            whole.digits.push(Free { extent: fits, ..last });
            whole.digits.retain(|digit| digit.extent > 1);
            lines.push(whole);
        }
        line.go(fits, last);
    }
}

/// Neighbouring units that a device holds, at an offset of its memory and a step.
#[derive(Clone, Copy, Debug)]
struct Run {
    at: i64,
    len: i64,
    offset: i64,
    step: i64,
}

/// The runs of a device in units of so many coordinates, in order.
fn runs((digits, at): Side<'_>, unit: i64, extent: i64) -> Result<Vec<Run>, LayoutError> {
    let units = (extent - 1) / unit + 1;
    let kept = digits.iter().rposition(|digit| digit.step <= unit).unwrap_or(0);
    let upper: Vec<Digit> = digits[kept..].iter().filter(|digit| digit.step < extent).copied().collect();
    let mut runs = vec![Run { at: 0, len: 1, offset: 0, step: 0 }];
    // From the slowest on. A digit in memory that is not the fastest repeats what is below it.
    for (number, digit) in upper.iter().enumerate().rev() {
        let below = (unit / digit.step).max(1);
        let step = (digit.step / unit).max(1);
        let extent = match upper.get(number + 1) {
            Some(next) => next.step / digit.step.max(unit),
            None => (units - 1) / step + 1,
        };
        let stride = digit.stride * below;
        match digit.holder {
            Holder::Axis(axis) => runs.iter_mut().for_each(|run| run.at += at[axis] / below * step),
            Holder::Memory if number == 0 => {
                runs.iter_mut().for_each(|run| (run.len, run.step) = (extent, stride));
            }
            Holder::Memory => {
                if (runs.len() as i64).checked_mul(extent).is_none_or(|runs| runs > MOST) {
                    let detail = format!(
                        "a device holds more than {MOST} runs of one mode, whose splits do not divide one another at {unit}; \
                         take blocks of which one is a multiple of the other"
                    );
                    return Err(LayoutError::Unsupported { operation: "reshard", detail });
                }
                let all = runs.iter().flat_map(|run| {
                    (0..extent).map(|i| Run {
                        at: run.at + i * step,
                        offset: run.offset + i * stride,
                        ..*run
                    })
                });
                runs = all.collect();
            }
        }
    }
    runs.retain(|run| run.at < units);
    runs.iter_mut().for_each(|run| run.len = run.len.min(units - run.at));
    Ok(runs)
}

/// Units that both hold.
#[derive(Clone, Copy, Debug)]
struct Both {
    at: i64,
    len: i64,
    from: i64,
    from_step: i64,
    to: i64,
    to_step: i64,
}

fn meet(a: &[Run], b: &[Run]) -> Vec<Both> {
    let (mut i, mut j, mut both) = (0, 0, Vec::new());
    while let (Some(one), Some(other)) = (a.get(i), b.get(j)) {
        let (at, end) = (one.at.max(other.at), (one.at + one.len).min(other.at + other.len));
        if at < end {
            let (from, to) =
                (one.offset + (at - one.at) * one.step, other.offset + (at - other.at) * other.step);
            both.push(Both { at, len: end - at, from, from_step: one.step, to, to_step: other.step });
        }
        if one.at + one.len <= other.at + other.len {
            i += 1;
        } else {
            j += 1;
        }
    }
    both
}

/// Runs that follow one another at one distance in all three: the first, what a run is, and the digit that repeats it, if any.
fn gathered(runs: &[Both]) -> Vec<(&Both, &Both, Option<Free>)> {
    let (mut all, mut rest) = (Vec::new(), runs);
    while let [first, others @ ..] = rest {
        let like = |run: &Both| {
            run.len == first.len && run.from_step == first.from_step && run.to_step == first.to_step
        };
        let next = others.first().filter(|next| like(next));
        let digit = next.map(|next| {
            let (step, from, to) = (next.at - first.at, next.from - first.from, next.to - first.to);
            let follows = |(number, run): &(i64, &Both)| {
                let at = |start: i64, step: i64| start + (number + 1) * step;
                like(run)
                    && (run.at, run.from, run.to)
                        == (at(first.at, step), at(first.from, from), at(first.to, to))
            };
            let more = (0..).zip(others).take_while(follows).count();
            Free { extent: more as i64 + 1, step, from, to }
        });
        rest = &rest[digit.map_or(1, |digit| digit.extent as usize)..];
        all.push((first, first, digit));
    }
    all
}
