//! Products in tensor memory and moves of it, as calls of wrappers that are made for their types and columns.

use super::cuda_c::Emitter;
use super::expression::Expression;
use super::names::Name;
use super::types;
use super::wrap;
use super::wrappers::{self, TCGEN05};
use crate::elem::Elem;
use crate::ir::BinaryOp;
use crate::program::tensor_memory::packed;
use crate::program::{LeftMatrix, TensorAt, TensorMove, TensorProduct};

impl Emitter<'_> {
    /// `tensor_memory + 64`
    fn tensor(&self, at: &TensorAt) -> Expression {
        let base = self.name(Name::Variable(at.base));
        match at.address.as_constant() {
            Some(0) => base,
            _ => Expression::infix(BinaryOp::Add, base, self.index(&at.address)),
        }
    }

    fn define_tcgen05(&mut self, number: usize, row: &[(&str, &str)]) {
        let text = wrappers::paragraphs(TCGEN05).nth(number).unwrap_or_default();
        self.device.define(wrappers::fill(text, row) + "\n");
    }

    /// `tcgen05_mma_f16(tensor_memory, a, b, 0x8200490, accumulate);`
    pub(super) fn tensor_product(&mut self, product: &TensorProduct) {
        let kind = TensorProduct::kind(product.elem).unwrap_or("f16");
        let [suffix, ty, operand, constraint] = match &product.a {
            LeftMatrix::Shared(_) => ["", "unsigned long long", "%1", "l"],
            LeftMatrix::Tensor(_) => ["_tensor", "unsigned int", "[%1]", "r"],
        };
        let row = [("suffix", suffix), ("type", ty), ("left", operand), ("constraint", constraint)];
        self.define_tcgen05(0, &[&[("kind", kind)], &row[..]].concat());
        let a = match &product.a {
            LeftMatrix::Shared(matrix) => self.descriptor(matrix, "tcgen05_descriptor"),
            LeftMatrix::Tensor(at) => self.tensor(at),
        };
        let b = self.descriptor(&product.b, "tcgen05_descriptor");
        let instruction = Expression::leaf(format!("{:#x}", product.descriptor()));
        let arguments = vec![self.tensor(&product.d), a, b, instruction, self.value(&product.accumulate)];
        let head = format!("tcgen05_mma_{kind}{suffix}");
        self.wrapped(|room| wrap::call(&head, &arguments, room));
    }

    /// `tcgen05_load_x32(&acc[32], tensor_memory + 32);`
    pub(super) fn tensor_move(&mut self, moved: &TensorMove) {
        let columns = moved.columns;
        let lines = |each: &[String], of: usize, between: &str| {
            each.chunks(of).map(|row| row.join(", ")).collect::<Vec<_>>().join(between)
        };
        // The address is behind the registers where they are read too.
        let places: Vec<String> = (0..columns).map(|number| format!("%{number}")).collect();
        let (constraint, number) = if moved.stores { ("", 2) } else { ("=", 1) };
        // Elements of fewer bits are put together, the first one lowest.
        let elem = self.tables.place(moved.registers.place).elem;
        let (each, bits) = (packed(elem) as u32, 8 * elem.bytes());
        let own = |column: u32| {
            // What is signed would fill the bits of its neighbours.
            let bare = if elem == Elem::I8 { "(unsigned char)" } else { "" };
            let part = |at: u32| match at {
                0 => format!("{bare}registers[{}]", each * column),
                _ => format!("(unsigned int){bare}registers[{}] << {}", each * column + at, bits * at),
            };
            (0..each).map(part).collect::<Vec<_>>().join(" | ")
        };
        let held = if elem == Elem::F32 { "f" } else { "r" };
        let operands: Vec<String> =
            (0..columns).map(|column| format!("\"{constraint}{held}\"({})", own(column))).collect();
        let (of, ty) = match elem {
            Elem::F32 => (String::new(), "float".to_owned()),
            _ => (format!("{elem}_"), types::scalar(elem).to_owned()),
        };
        let begin = if moved.stores { "          " } else { "        : " };
        let row = [
            ("columns", &*columns.to_string()),
            ("of", &*of),
            ("type", &*ty),
            ("last", &columns.to_string()),
            ("places", &format!("        \"{}\"", lines(&places, 16, ", \"\n        \""))),
            ("operands", &format!("{begin}{}", lines(&operands, 4 / each as usize, ",\n          "))),
        ];
        self.define_tcgen05(number, &row);
        let head = format!("tcgen05_{}_{of}x{columns}", if moved.stores { "store" } else { "load" });
        let arguments = [self.address(&moved.registers), self.tensor(&moved.tensor)];
        self.wrapped(|room| wrap::call(&head, &arguments, room));
    }
}
