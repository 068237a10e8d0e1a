//! A message's pieces: what two devices share along each mode, each line with each.
//!
//! Law: the pieces are disjoint, and are together what the sender holds of what the receiver will; the order of a piece is
//! that of the sender's memory.

use super::Distributed;
use super::intersection::{Free, Line, shared};
use super::reshard::{NAME, Piece};
use crate::{Layout, LayoutError, Nest};

/// The most pieces of a message.
const PIECES: usize = 1 << 16;

/// What the device at `start` holds of what the one at `end` will: the lines of the modes, each with each.
pub(super) fn pieces(
    from: &Distributed,
    start: &[i64],
    to: &Distributed,
    end: &[i64],
) -> Result<Vec<Piece>, LayoutError> {
    let mut boxes = vec![Line::default()];
    for ((a, b), extent) in from.digits().iter().zip(to.digits()).zip(from.extents()) {
        let lines = shared((a, start), (b, end), *extent)?;
        if boxes.len().saturating_mul(lines.len()) > PIECES {
            let detail = format!(
                "a message of more than {PIECES} pieces; take blocks of which one is a multiple of the other"
            );
            return Err(LayoutError::Unsupported { operation: NAME, detail });
        }
        let each = boxes.iter().flat_map(|own| {
            lines.iter().map(|line| {
                let digits = own.digits.iter().chain(&line.digits).copied().collect();
                Line { from: own.from + line.from, to: own.to + line.to, digits, ..Line::default() }
            })
        });
        boxes = each.collect();
    }
    boxes.into_iter().map(piece).collect()
}

/// The digits in the order of the sender's memory, those merged that run on in both memories.
fn piece(mut line: Line) -> Result<Piece, LayoutError> {
    line.digits.sort_by_key(|digit| (digit.from, digit.to));
    let mut merged: Vec<Free> = Vec::new();
    for digit in line.digits.into_iter().filter(|digit| digit.extent > 1) {
        match merged.last_mut() {
            Some(last) if last.from * last.extent == digit.from && last.to * last.extent == digit.to => {
                last.extent *= digit.extent;
            }
            _ => merged.push(digit),
        }
    }
    let layout = |stride: fn(&Free) -> i64| {
        let modes: Vec<(i64, i64)> = merged.iter().map(|digit| (digit.extent, stride(digit))).collect();
        let modes = match modes[..] {
            [] => Nest::leaf((1, 0)),
            [only] => Nest::leaf(only),
            _ => Nest::flat(modes),
        };
        Layout::new(modes.map(|mode| mode.0), modes.map(|mode| mode.1))
    };
    Ok(Piece {
        from: line.from,
        to: line.to,
        source: layout(|digit| digit.from)?,
        target: layout(|digit| digit.to)?,
    })
}
