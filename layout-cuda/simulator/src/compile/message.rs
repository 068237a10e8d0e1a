//! `println!` and assertions: their values in registers, and a text by number.

use super::{Compiler, Result};
use crate::bytecode::{MessagePiece, Op};
use layout_compiler::program::{Access, Message, MessagePart, Value};

impl Compiler<'_> {
    pub(super) fn print(&mut self, message: &Message<Access>) -> Result {
        let floats = (self.taken.f32, self.taken.f64);
        let (number, site) = (self.message(message)?, self.site);
        self.emit(Op::Print { number, site });
        (self.taken.f32, self.taken.f64) = floats;
        Ok(())
    }

    /// Only the lanes that fail evaluate the message.
    pub(super) fn assertion(&mut self, fails: &Value<Access>, message: &Message<Access>) -> Result {
        if !self.program.findings || self.known(fails)? == Some(false) {
            return Ok(());
        }
        let floats = (self.taken.f32, self.taken.f64);
        let mask = self.condition(fails)?;
        let (test, mark) = (self.emit(Op::If { mask, otherwise: 0 }), self.mark());
        let (number, site) = (self.message(message)?, self.site);
        self.emit(Op::Fail { number, site });
        self.rewind(mark);
        self.program.code[test] = Op::If { mask, otherwise: self.here() };
        self.emit(Op::EndIf);
        (self.taken.f32, self.taken.f64) = floats;
        Ok(())
    }

    fn message(&mut self, message: &Message<Access>) -> Result<u32> {
        let mut pieces = Vec::with_capacity(message.parts.len());
        for part in &message.parts {
            pieces.push(match part {
                MessagePart::Text(text) => MessagePiece::Text(text.clone()),
                MessagePart::Value(value, elem, spec) => {
                    MessagePiece::Value(self.value(value)?.0, *elem, *spec)
                }
            });
        }
        self.program.messages.push(pieces);
        Ok(self.program.messages.len() as u32 - 1)
    }
}
