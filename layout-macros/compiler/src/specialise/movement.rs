//! The meaning of the words for copies and other operations on whole views.

use super::datum::StaticValue;
use super::evaluator::{Evaluator, Outcome};
use super::tile::TileOperation;
use super::vocabulary::Call;
use crate::arch::{Arch, Feature};
use crate::intrinsic::Intrinsic;
use crate::program::{Signal, StatementKind};

impl Evaluator<'_> {
    /// Whether threads copy asynchronously. Elsewhere such a copy is an ordinary one: it lands where it is issued, which is one of the
    /// moments at which an asynchronous one may, and there is nothing to wait for.
    fn copies_asynchronously(&self) -> bool {
        self.arch.unwrap_or(Arch::BASELINE).has(Feature::AsyncCopy)
    }

    pub(super) fn movement_word(&mut self, call: Call<'_>) -> Outcome<StaticValue> {
        let Call { word: intrinsic, mut values, origin, .. } = call;
        let name = intrinsic.name();
        match intrinsic {
            Intrinsic::Fill => {
                let value = values.remove(1);
                let destination = self.written(values.remove(0), name, origin)?;
                let elem = self.tables.place(destination.place).elem;
                let value = self.coerce(value, elem, origin)?;
                self.push(
                    origin,
                    StatementKind::Operation(TileOperation::Fill { destination: destination.clone(), value }),
                );
                Ok(StaticValue::View(destination))
            }
            Intrinsic::CopyFrom => {
                let source = self.view(values.remove(1), name, origin)?;
                let destination = self.written(values.remove(0), name, origin)?;
                self.copy(destination, source, None, false, origin)
            }
            Intrinsic::CopyFromAsync => {
                let source = self.view(values.remove(1), name, origin)?;
                let source = self.unhinted_source(source, name, origin)?;
                let destination = self.written(values.remove(0), name, origin)?;
                self.only_to_shared(&destination, &source, name, origin)?;
                let asynchronous = self.copies_asynchronously();
                self.copy(destination, source, None, asynchronous, origin)
            }
            Intrinsic::ToLocal => {
                let source = self.view(values.remove(0), name, origin)?;
                self.copy_to_local(source, None, origin)
            }
            Intrinsic::CopyDramToSram | Intrinsic::CopyDramToSramAsync => {
                let threads = self.thread_layout(values.remove(2), name, origin)?;
                let asynchronous = intrinsic == Intrinsic::CopyDramToSramAsync;
                let source = self.view(values.remove(1), name, origin)?;
                let source = if asynchronous { self.unhinted_source(source, name, origin)? } else { source };
                let destination = self.written(values.remove(0), name, origin)?;
                self.only_to_shared(&destination, &source, name, origin)?;
                let asynchronous = asynchronous && self.copies_asynchronously();
                self.copy(destination, source, Some(threads), asynchronous, origin)
            }
            Intrinsic::AsyncCopyCommitGroup | Intrinsic::AsyncCopyWaitAll
                if !self.copies_asynchronously() =>
            {
                Ok(StaticValue::Unit)
            }
            Intrinsic::AsyncCopyCommitGroup => self.effect(origin, StatementKind::Signal(Signal::CopyCommit)),
            Intrinsic::AsyncCopyWaitGroup => {
                let groups = self.expect_index(values.remove(0), origin)?;
                match groups.as_constant().and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= 64) {
                    Some(_) if !self.copies_asynchronously() => Ok(StaticValue::Unit),
                    Some(groups) => self.effect(origin, StatementKind::Signal(Signal::CopyWait(groups))),
                    None => {
                        self.fail(origin, "the number of groups must be known at compile time, from 0 to 64")
                    }
                }
            }
            Intrinsic::AsyncCopyWaitAll => {
                self.push(origin, StatementKind::Signal(Signal::CopyCommit));
                self.effect(origin, StatementKind::Signal(Signal::CopyWait(0)))
            }
            Intrinsic::OuterProductAcc => self.outer_product(values, origin),
            _ => self.meaningless(name, origin),
        }
    }
}
