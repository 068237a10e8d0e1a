//! What a rank calls, announced to the others before anything is sent.
//!
//! Law: calls agree exactly if NCCL, given them, would come back on every rank with every byte from where its receiver expects
//! it.

use crate::error::MeshError;
use std::fmt;

/// One rank's part in something that several do together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// All do the same, with as many elements each.
    Collective {
        /// Its name.
        name: String,
        /// The type of the elements; none where nothing is moved.
        elem: String,
        /// Elements of this rank.
        count: u64,
        /// What else must be the same: the operation, or the root.
        how: String,
    },
    /// Messages between pairs: (peer, elements), in order.
    Exchange { elem: String, sends: Vec<(u64, u64)>, receives: Vec<(u64, u64)> },
    /// This rank has seen that its arguments do not fit.
    Refused { why: String },
}

impl Call {
    /// The elements that come with it from a simulator; none beyond what can be counted.
    pub(crate) fn elements(&self) -> Option<usize> {
        let number = |count: u64| usize::try_from(count).ok();
        match self {
            Call::Collective { count, .. } => number(*count),
            Call::Exchange { sends, .. } => {
                sends.iter().try_fold(0, |sum: usize, (_, count)| sum.checked_add(number(*count)?))
            }
            Call::Refused { .. } => Some(0),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Call::Collective { name, elem, count, how } => {
                write!(f, "{name}")?;
                if !elem.is_empty() {
                    write!(f, " of {count} {elem}")?;
                }
                write!(f, "{}{how}", if how.is_empty() { "" } else { ", " })
            }
            Call::Exchange { elem, sends, receives } => {
                let list = |list: &[(u64, u64)]| {
                    let peers = list.iter().map(|(peer, count)| format!("{count} with {peer}"));
                    peers.collect::<Vec<_>>().join(", ")
                };
                write!(f, "exchange of {elem}: sends [{}], receives [{}]", list(sends), list(receives))
            }
            Call::Refused { why } => write!(f, "nothing: {why}"),
        }
    }
}

/// Whether the calls of these ranks, in the order of the group, fit together.
pub(crate) fn agree(ranks: &[usize], calls: &[&Call]) -> Result<(), MeshError> {
    let refused = ranks.iter().zip(calls).find_map(|(rank, call)| match call {
        Call::Refused { why } => Some((*rank, why.clone())),
        Call::Collective { .. } | Call::Exchange { .. } => None,
    });
    if let Some((rank, why)) = refused {
        return Err(MeshError::Refused { rank, why });
    }
    let differ = |why: String| {
        let calls = ranks.iter().zip(calls).map(|(rank, call)| (*rank, call.to_string())).collect();
        Err(MeshError::Differ { calls, why })
    };
    let exchanges: Vec<_> = calls
        .iter()
        .filter_map(|call| match call {
            Call::Exchange { elem, sends, receives } => Some((elem, sends, receives)),
            Call::Collective { .. } | Call::Refused { .. } => None,
        })
        .collect();
    if exchanges.is_empty() {
        return match calls.iter().position(|call| *call != calls[0]) {
            Some(other) => differ(format!("rank {} and rank {} differ", ranks[0], ranks[other])),
            None => Ok(()),
        };
    }
    if exchanges.len() < calls.len() {
        return differ("some exchange messages and some do not".into());
    }
    if exchanges.iter().any(|(elem, _, _)| *elem != exchanges[0].0) {
        return differ("they exchange other elements".into());
    }
    let to = |list: &[(u64, u64)], peer: usize| -> Vec<u64> {
        list.iter().filter(|(own, _)| *own == peer as u64).map(|(_, count)| *count).collect()
    };
    for (one, (_, sends, _)) in exchanges.iter().enumerate() {
        for (other, (_, _, receives)) in exchanges.iter().enumerate() {
            let (sent, received) = (to(sends, other), to(receives, one));
            if sent != received {
                let (one, other) = (ranks[one], ranks[other]);
                return differ(format!(
                    "rank {one} sends {sent:?} to rank {other}, which receives {received:?} of it"
                ));
            }
        }
    }
    Ok(())
}

/// Bytes of a call, for a rank in another process.
pub(crate) fn encode(call: &Call) -> Vec<u8> {
    let mut out = Vec::new();
    let text = |out: &mut Vec<u8>, text: &str| {
        out.extend((text.len() as u64).to_le_bytes());
        out.extend(text.as_bytes());
    };
    let pairs = |out: &mut Vec<u8>, list: &[(u64, u64)]| {
        out.extend((list.len() as u64).to_le_bytes());
        list.iter().for_each(|(peer, count)| {
            out.extend(peer.to_le_bytes());
            out.extend(count.to_le_bytes());
        });
    };
    match call {
        Call::Collective { name, elem, count, how } => {
            out.push(0);
            [name, elem, how].iter().for_each(|part| text(&mut out, part));
            out.extend(count.to_le_bytes());
        }
        Call::Exchange { elem, sends, receives } => {
            out.push(1);
            text(&mut out, elem);
            [sends, receives].iter().for_each(|list| pairs(&mut out, list));
        }
        Call::Refused { why } => {
            out.push(2);
            text(&mut out, why);
        }
    }
    out
}

/// Reads what [`encode`] wrote; nothing from bytes that are no call.
pub(crate) fn decode(bytes: &[u8]) -> Option<Call> {
    let mut reader = Reader(bytes);
    let call = match reader.take(1)?[0] {
        0 => {
            let (name, elem, how) = (reader.text()?, reader.text()?, reader.text()?);
            Call::Collective { name, elem, how, count: reader.number()? }
        }
        1 => Call::Exchange { elem: reader.text()?, sends: reader.pairs()?, receives: reader.pairs()? },
        2 => Call::Refused { why: reader.text()? },
        _ => return None,
    };
    reader.0.is_empty().then_some(call)
}

/// Reads from the front, nothing past the end.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (own, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(own)
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// So many bytes as a number in front says.
    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        self.take(len)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    fn pairs(&mut self) -> Option<Vec<(u64, u64)>> {
        let count = self.number()?;
        (0..count).map(|_| Some((self.number()?, self.number()?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let calls = [
            Call::Collective { name: "all-reduce".into(), elem: "f32".into(), count: 7, how: "sum".into() },
            Call::Exchange { elem: "bf16".into(), sends: vec![(1, 2), (3, 4)], receives: vec![] },
            Call::Refused { why: "a shape".into() },
        ];
        for call in calls {
            let bytes = encode(&call);
            assert_eq!(decode(&bytes), Some(call));
            assert!((0..bytes.len()).all(|end| decode(&bytes[..end]).is_none()), "no part is a call");
        }
        assert_eq!(decode(&[3]), None);
    }

    #[test]
    fn messages_fit_by_pair_and_order() {
        let exchange = |sends: &[(u64, u64)], receives: &[(u64, u64)]| Call::Exchange {
            elem: "f32".into(),
            sends: sends.to_vec(),
            receives: receives.to_vec(),
        };
        let both = [exchange(&[(1, 4), (1, 5)], &[(1, 2)]), exchange(&[(0, 2)], &[(0, 4), (0, 5)])];
        assert_eq!(agree(&[0, 1], &[&both[0], &both[1]]), Ok(()));
        let turned = exchange(&[(0, 2)], &[(0, 5), (0, 4)]);
        assert!(agree(&[0, 1], &[&both[0], &turned]).is_err());
    }
}
