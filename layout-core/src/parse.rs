//! Text to tuples and layouts: `FromStr` reads exactly what `Display` writes, with spaces allowed.
//!
//! Law: `x.to_string().parse() == Ok(x)`. No recursion, so any depth of nesting is read.

use crate::nest::Node;
use crate::{ComposedLayout, IntTuple, Layout, LayoutError, Nest, Swizzle};
use std::str::FromStr;

/// A cursor over the text; every reader leaves it after what it has read.
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(crate) fn error(&self, expected: &'static str) -> LayoutError {
        LayoutError::Parse { at: self.at, expected }
    }

    fn skip_spaces(&mut self) {
        self.at += self.text[self.at..].len() - self.text[self.at..].trim_start().len();
    }

    /// The next character that is no space, not consumed.
    pub(crate) fn peek(&mut self) -> Option<char> {
        self.skip_spaces();
        self.text[self.at..].chars().next()
    }

    /// Consumes `token` if it comes next.
    pub(crate) fn eat(&mut self, token: &str) -> bool {
        self.skip_spaces();
        let found = self.text[self.at..].starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    pub(crate) fn expect(&mut self, token: &str, expected: &'static str) -> Result<(), LayoutError> {
        if self.eat(token) { Ok(()) } else { Err(self.error(expected)) }
    }

    pub(crate) fn end(&mut self) -> Result<(), LayoutError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error("the end of the text")),
        }
    }

    /// The letters, digits and underscores that come next.
    pub(crate) fn name(&mut self) -> &'a str {
        self.skip_spaces();
        let rest = &self.text[self.at..];
        let name = &rest[..rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count()];
        self.at += name.len();
        name
    }

    pub(crate) fn integer(&mut self) -> Result<i64, LayoutError> {
        self.skip_spaces();
        let rest = &self.text[self.at..];
        let sign = usize::from(rest.starts_with('-'));
        let digits = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Err(self.error("an integer"));
        }
        let value = rest[..sign + digits].parse().map_err(|_| self.error("an integer of 64 bits"))?;
        self.at += sign + digits;
        Ok(value)
    }

    /// A nest whose leaves `leaf` reads.
    pub(crate) fn nest<T>(
        &mut self,
        mut leaf: impl FnMut(&mut Self) -> Result<T, LayoutError>,
    ) -> Result<Nest<T>, LayoutError> {
        let mut nodes = Vec::new();
        // The place of each open tuple's head and the modes counted in it.
        let mut open: Vec<(usize, usize)> = Vec::new();
        loop {
            if self.eat("(") {
                nodes.push(Node::Tuple(0));
                open.push((nodes.len() - 1, 0));
                if !self.eat(")") {
                    continue;
                }
                open.pop();
            } else {
                nodes.push(Node::Leaf(leaf(self)?));
            }
            // A nest has ended.
            loop {
                let Some((head, count)) = open.last_mut() else {
                    return Ok(Nest::from_nodes(nodes));
                };
                *count += 1;
                nodes[*head] = Node::Tuple(*count);
                if self.eat(",") {
                    break;
                }
                self.expect(")", "`,` or `)`")?;
                open.pop();
            }
        }
    }

    pub(crate) fn int_tuple(&mut self) -> Result<IntTuple, LayoutError> {
        self.nest(Self::integer)
    }

    pub(crate) fn layout(&mut self) -> Result<Layout, LayoutError> {
        let shape = self.int_tuple()?;
        self.expect(":", "`:` and a stride")?;
        Layout::new(shape, self.int_tuple()?)
    }

    /// `Sw<3,4,3>`.
    pub(crate) fn swizzle(&mut self) -> Result<Swizzle, LayoutError> {
        self.expect("Sw<", "`Sw<`")?;
        let bits = self.integer()?;
        self.expect(",", "`,`")?;
        let base = self.integer()?;
        self.expect(",", "`,`")?;
        let shift = self.integer()?;
        self.expect(">", "`>`")?;
        let small = (u32::try_from(bits), u32::try_from(base), i32::try_from(shift));
        let (Ok(bits), Ok(base), Ok(shift)) = small else {
            return Err(self.error("bits, base and shift below 63"));
        };
        Swizzle::new(bits, base, shift)
    }

    /// `Sw<3,4,3> o 0 o (8,64):(64,1)`.
    pub(crate) fn composed(&mut self) -> Result<ComposedLayout, LayoutError> {
        let swizzle = self.swizzle()?;
        self.expect("o", "`o` and an offset")?;
        let offset = self.integer()?;
        self.expect("o", "`o` and a layout")?;
        ComposedLayout::new(swizzle, offset, self.layout()?)
    }
}

/// A value that is the whole text.
pub(crate) fn whole<'a, T>(
    text: &'a str,
    read: impl FnOnce(&mut Cursor<'a>) -> Result<T, LayoutError>,
) -> Result<T, LayoutError> {
    let mut cursor = Cursor::new(text);
    let value = read(&mut cursor)?;
    cursor.end()?;
    Ok(value)
}

impl FromStr for IntTuple {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        whole(text, Cursor::int_tuple)
    }
}

impl FromStr for Layout {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        whole(text, Cursor::layout)
    }
}
