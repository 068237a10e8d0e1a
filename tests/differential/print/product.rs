//! Products as text.

use super::Printer;
use crate::tree::{Product, Stmt};
use crate::types::Type;

/// Whether a statement needs an instruction that only Hopper has.
pub fn wants_hopper(statement: &Stmt) -> bool {
    // Those of `f64` with 16 rows; the others run there as well.
    matches!(statement, Stmt::Product(product) if product.atom[0] == 16)
}

impl Printer<'_> {
    pub fn product(&mut self, product: &Product) {
        let Product { var, atom, tiles, depth, rounds, staged, .. } = product;
        let (factor, sum) = (self.kernel.elem(&product.factors[0]), self.kernel.elem(&product.to));
        let [left, right] = product.factors.each_ref().map(|factor| self.place(factor));
        let to = self.place(&product.to);
        let (rows, columns) = (atom[0] * tiles[0], atom[1] * tiles[1]);
        let warps = self.kernel.block / 32;
        let [m, n, k] = atom;
        let own =
            if warps == 1 { "block_idx.x".to_owned() } else { format!("block_idx.x * {warps} + warp_id()") };
        let zero = if sum == Type::I32 { "0" } else { "0.0" };
        self.line(&format!("let m{var} = mma_atom::<{}>([{m}, {n}, {k}]);", factor.name()));
        let held = format!("[{}, {}]", tiles[0], m * n / 32 * tiles[1]);
        self.line(&format!("let mut c{var} = local::<{}>(row_major({held})).fill({zero});", sum.name()));
        let all = rows * i64::from(warps);
        if let Some(padding) = staged {
            let layout = format!("layout([{all}, {depth}], [{}, 1])", depth + padding);
            self.line(&format!("let mut s{var} = shared::<{}>({layout});", factor.name()));
        }
        self.line(&format!("for k{var} in 0..{rounds} {{"));
        self.depth += 1;
        let fragment = match staged {
            None => format!("{left}.tile([{rows}, {depth}], [{own}, k{var}])"),
            Some(_) => {
                let tile = format!("{left}.tile([{all}, {depth}], [block_idx.x, k{var}])");
                let threads = format!("row_major([{}, 4])", 8 * warps);
                self.line(&format!("copy_dram_to_sram(&mut s{var}, &{tile}, {threads});"));
                self.line("barrier();");
                format!("s{var}.tile([{rows}, {depth}], [warp_id(), 0])")
            }
        };
        self.line(&format!("let a{var} = m{var}.load_a(&{fragment});"));
        self.line(&format!("let b{var} = m{var}.load_b(&{right}.tile([{depth}, {columns}], [k{var}, 0]));"));
        self.line(&format!("m{var}.mma(&mut c{var}, &a{var}, &b{var});"));
        if staged.is_some() {
            self.line("barrier();");
        }
        self.depth -= 1;
        self.line("}");
        self.line(&format!("m{var}.store_d(&mut {to}.tile([{rows}, {columns}], [{own}, 0]), &c{var});"));
    }
}
