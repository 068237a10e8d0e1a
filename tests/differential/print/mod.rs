//! A tree as text of the kernel language.
//!
//! Law: every operation has its parentheses, so that the text means what the tree does whatever binds tighter.

use crate::tree::*;
use crate::types::{Kind, Type};
use crate::value::Value;
use crate::words::{Form, WORDS};
use std::fmt::Write;

/// The text of a kernel: the attribute and the function.
pub fn kernel(kernel: &Kernel) -> String {
    let mut printer = Printer { kernel, out: String::new(), depth: 0, loops: 0, plain: false };
    printer.whole();
    printer.out
}

/// The function as plain Rust: an index is an `isize`, and tensors are those of `plain/prelude.rs`.
pub fn plain_rust(kernel: &Kernel) -> String {
    let mut printer = Printer { kernel, out: String::new(), depth: 0, loops: 0, plain: true };
    let tensors =
        kernel.tensors.iter().enumerate().map(|(n, tensor)| format!("t{n}: &Tensor<{}>", tensor.elem.name()));
    let scalars = kernel.scalars.iter().enumerate().map(|(n, (ty, _))| format!("s{n}: {}", ty.name()));
    printer.line(&format!("fn random({}) {{", list(tensors.chain(scalars), |one| one)));
    printer.inside();
    printer.out
}

struct Printer<'a> {
    kernel: &'a Kernel,
    out: String,
    depth: usize,
    /// Loops around.
    loops: usize,
    /// Whether rustc reads it.
    plain: bool,
}

/// Whether a jump in it, with so many loops of the label's own and within around it, names the outermost of these.
fn leaves(statement: &Stmt, loops: usize) -> bool {
    let any = |list: &[Stmt], loops: usize| list.iter().any(|one| leaves(one, loops));
    match statement {
        Stmt::Break(out) | Stmt::Continue(out) => *out == loops && loops > 1,
        Stmt::If(_, then, otherwise) => any(then, loops) || any(otherwise, loops),
        Stmt::Match(_, arms, otherwise) => {
            arms.iter().any(|(_, body)| any(body, loops)) || any(otherwise, loops)
        }
        Stmt::For { body, .. } | Stmt::While(_, body) => any(body, loops + 1),
        _ => false,
    }
}

fn list<T>(items: impl IntoIterator<Item = T>, each: impl FnMut(T) -> String) -> String {
    items.into_iter().map(each).collect::<Vec<_>>().join(", ")
}

pub fn numbers(values: &[i64]) -> String {
    list(values, i64::to_string)
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:width$}{text}", "", width = 4 * self.depth);
    }

    fn whole(&mut self) {
        let kernel = self.kernel;
        let mut entries = vec![];
        let bound =
            |(number, (extent, bound)): (usize, &(i64, bool))| bound.then(|| format!("D{number} = {extent}"));
        entries.extend(kernel.dims.iter().enumerate().filter_map(bound));
        entries.push(format!("block = [{}], grid = [{}]", kernel.block, kernel.grid));
        entries.extend(kernel.variant_if.map(|(dim, by)| format!("variant_if(D{dim} % {by} == 0)")));
        self.line(&format!("#[tiled_kernel({})]", entries.join(", ")));
        let dims = list(0..kernel.dims.len(), |number| format!("const D{number}: usize"));
        let mut arguments: Vec<String> =
            kernel.tensors.iter().enumerate().map(|(number, tensor)| argument(number, tensor)).collect();
        arguments.extend(kernel.scalars.iter().enumerate().map(|(n, (ty, value))| {
            // A `usize` is never negative; what is computed of it may be.
            let natural =
                *ty == Type::Index && value.int() >= 0 && (kernel.seed as usize + n).is_multiple_of(2);
            format!("s{n}: {}", if natural { "usize" } else { ty.name() })
        }));
        self.line(&format!("fn random<{dims}>({}) {{", arguments.join(", ")));
        self.inside();
    }

    /// Functions, statements, and the end.
    fn inside(&mut self) {
        let kernel = self.kernel;
        self.depth += 1;
        for (number, function) in kernel.functions.iter().enumerate() {
            self.function(number, function);
        }
        self.statements(&kernel.body);
        self.depth -= 1;
        self.line("}");
    }

    fn function(&mut self, number: usize, function: &Function) {
        let parameters =
            list(&function.parameters, |var| format!("v{var}: {}", self.kernel.scalar_type(*var).name()));
        self.line(&format!("fn f{number}({parameters}) -> {} {{", function.result.name()));
        self.depth += 1;
        self.statements(&function.body.statements);
        let value = self.expr(&function.body.value);
        self.line(&value);
        self.depth -= 1;
        self.line("}");
    }

    fn statements(&mut self, statements: &[Stmt]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn nested(&mut self, statements: &[Stmt]) {
        self.depth += 1;
        self.statements(statements);
        self.depth -= 1;
    }

    fn looped(&mut self, body: &[Stmt]) {
        self.loops += 1;
        self.nested(body);
        self.loops -= 1;
    }

    /// The label of a loop that begins here, where a jump within another loop in it needs one.
    fn label(&self, body: &[Stmt]) -> String {
        if body.iter().any(|statement| leaves(statement, 1)) {
            format!("'l{}: ", self.loops + 1)
        } else {
            String::new()
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Let { var, mutable, written, value } => {
                let value = self.expr(value);
                let ty = match written {
                    true => format!(": {}", self.kernel.scalar_type(*var).name()),
                    false => String::new(),
                };
                let mutable = if *mutable { "mut " } else { "" };
                self.line(&format!("let {mutable}v{var}{ty} = {value};"));
            }
            Stmt::LetParts(vars, values) => {
                let values = self.exprs(values);
                self.line(&format!("let ({}) = ({values});", list(vars, |var| format!("v{var}"))));
            }
            Stmt::LetPair(var, values) => {
                let values = self.exprs(values);
                self.line(&format!("let v{var} = ({values});"));
            }
            Stmt::Assign(var, op, value) => {
                let value = self.expr(value);
                self.line(&format!("v{var} {}= {value};", op.map_or("", BinaryOp::symbol)));
            }
            Stmt::Store(place, coordinates, op, value) if self.plain => {
                // The value first, then the place, as of `t[[i]] = x`.
                let (place, at, value) = (self.place(place), self.exprs(coordinates), self.expr(value));
                let new = op.map_or("value".to_owned(), |op| format!("{place}.at(at) {} value", op.symbol()));
                self.line(&format!("let (value, at) = ({value}, [{at}]);"));
                self.line(&format!("{place}.put(at, {new});"));
            }
            Stmt::Store(place, coordinates, op, value) => {
                let (target, value) = (self.element(place, coordinates), self.expr(value));
                self.line(&format!("{target} {}= {value};", op.map_or("", BinaryOp::symbol)));
            }
            Stmt::If(condition, then, otherwise) => {
                let condition = self.expr(condition);
                self.line(&format!("if {condition} {{"));
                self.nested(then);
                if !otherwise.is_empty() {
                    self.line("} else {");
                    self.nested(otherwise);
                }
                self.line("}");
            }
            Stmt::For { var, start, end, step, reversed, unroll, body } => {
                let mut range = format!("{}..{}", self.expr(start), self.expr(end));
                if step.is_some() || *reversed {
                    range = format!("({range})");
                }
                if let Some(step) = step {
                    range += &format!(".step_by({step})");
                }
                if *reversed {
                    range += ".rev()";
                }
                if *unroll {
                    range = format!("unroll({range})");
                }
                let label = self.label(body);
                self.line(&format!("{label}for v{var} in {range} {{"));
                self.looped(body);
                self.line("}");
            }
            Stmt::While(condition, body) => {
                let condition = self.expr(condition);
                let label = self.label(body);
                self.line(&format!("{label}while {condition} {{"));
                self.looped(body);
                self.line("}");
            }
            Stmt::Break(1) => self.line("break;"),
            Stmt::Continue(1) => self.line("continue;"),
            Stmt::Break(out) => self.line(&format!("break 'l{};", self.loops + 1 - out)),
            Stmt::Continue(out) => self.line(&format!("continue 'l{};", self.loops + 1 - out)),
            Stmt::Return => self.line("return;"),
            Stmt::Match(value, arms, otherwise) => {
                let ty = self.kernel.type_of(value);
                let value = self.expr(value);
                self.line(&format!("match {value} {{"));
                self.depth += 1;
                for (patterns, body) in arms {
                    self.line(&format!("{} => {{", alternatives(ty, patterns)));
                    self.nested(body);
                    self.line("}");
                }
                self.line("_ => {");
                self.nested(otherwise);
                self.line("}");
                self.depth -= 1;
                self.line("}");
            }
            Stmt::LetArray { var, count, values } => {
                let ty = self.kernel.scalar_type(*var).name();
                let filled = values.len() == 1;
                let values = self.exprs(values);
                let values = if filled { format!("{values}; {count}") } else { values };
                self.line(&format!("let mut v{var}: [{ty}; {count}] = [{values}];"));
            }
            Stmt::SetElement(var, at, op, value) => {
                let (at, value) = (self.array_index(at), self.expr(value));
                self.line(&format!("v{var}[{at}] {}= {value};", op.map_or("", BinaryOp::symbol)));
            }
            Stmt::Expr(expr) => {
                let expr = self.expr(expr);
                self.line(&format!("{expr};"));
            }
            Stmt::LetView { var, place, local } => {
                let place = self.place(place);
                let end = if *local { ".to_local()" } else { "" };
                self.line(&format!("let mut v{var} = {place}{end};"));
            }
            Stmt::LetTensor { var, elem, lying, shared } => {
                let word = if *shared { "shared" } else { "local" };
                let order = if lying.columns { "col_major" } else { "row_major" };
                let swizzle =
                    lying.swizzle.map_or(String::new(), |[a, b, c]| format!(".swizzle({a}, {b}, {c})"));
                let layout = format!("{order}([{}]){swizzle}", numbers(&lying.extents));
                self.line(&format!("let mut v{var} = {word}::<{}>({layout});", elem.name()));
            }
            Stmt::Fill(place, value) => {
                let (place, value) = (self.place(place), self.expr(value));
                self.line(&format!("{place}.fill({value});"));
            }
            Stmt::Copy { to, from } => {
                let (to, from) = (self.place(to), self.place(from));
                self.line(&format!("{to}.copy_from(&{from});"));
            }
            Stmt::Barrier => self.line("barrier();"),
            Stmt::Together { var, what, value, number } => {
                let value = self.expr(value);
                let name = what.name();
                let text = match number {
                    _ if what.votes() => format!("{name}({value})"),
                    Some(number) => format!("{value}.{name}({})", self.expr(number)),
                    None => format!("{value}.{name}()"),
                };
                self.line(&format!("let v{var} = {text};"));
            }
        }
    }

    fn exprs(&mut self, exprs: &[Expr]) -> String {
        list(exprs, |expr| self.expr(expr))
    }

    fn body(&mut self, body: &Body) -> String {
        let out = std::mem::take(&mut self.out);
        self.nested(&body.statements);
        let statements = std::mem::replace(&mut self.out, out);
        self.depth += 1;
        let value = self.expr(&body.value);
        self.depth -= 1;
        if statements.is_empty() {
            return format!("{{ {value} }}");
        }
        let (inner, end) = (4 * self.depth + 4, 4 * self.depth);
        format!("{{\n{statements}{:inner$}{value}\n{:end$}}}", "", "")
    }

    fn array_index(&mut self, at: &Expr) -> String {
        let index = self.expr(at);
        if self.plain { format!("({index}) as usize") } else { index }
    }

    fn element(&mut self, place: &Place, coordinates: &[Expr]) -> String {
        if self.plain {
            return format!("{}.at([{}])", self.place(place), self.exprs(coordinates));
        }
        format!("{}[[{}]]", self.place(place), self.exprs(coordinates))
    }

    fn place(&mut self, place: &Place) -> String {
        let mut text = match place.base {
            Base::Tensor(number) => format!("t{number}"),
            Base::View(var) => format!("v{var}"),
        };
        for step in &place.steps {
            text += &match step {
                Step::Tile(extents, at) => format!(".tile([{}], [{}])", numbers(extents), self.exprs(at)),
                Step::Window(extents, at) => format!(".window([{}], [{}])", numbers(extents), self.exprs(at)),
                Step::Slice(at) => format!(".slice({})", self.expr(at)),
                Step::Transpose => ".transpose()".to_owned(),
                Step::Vectorize(extents) => format!(".vectorize([{}])", numbers(extents)),
                Step::Distribute { threads, columns, thread } => {
                    let order = if *columns { "col_major" } else { "row_major" };
                    format!(".distribute({order}([{}]), {})", numbers(threads), self.expr(thread))
                }
                Step::Pad(value) => {
                    let ty = self.kernel.elem(place);
                    format!(".pad({})", plain(ty, *value))
                }
            };
        }
        text
    }

    pub fn expr(&mut self, expr: &Expr) -> String {
        match expr {
            Expr::Literal { ty: Type::Index, value, .. } if self.plain => {
                format!("({}isize)", value.int() as i64)
            }
            Expr::Literal { ty, value, bare } => literal(*ty, *value, *bare),
            Expr::Thread if self.plain => "thread()".to_owned(),
            Expr::Block if self.plain => "block()".to_owned(),
            Expr::Math(Math::DivCeil, arguments) if self.plain => {
                format!("div_ceil({})", self.exprs(arguments))
            }
            Expr::Var(var) => format!("v{var}"),
            Expr::Field(var, part) => format!("v{var}.{part}"),
            Expr::Argument(number) => format!("s{number}"),
            Expr::Thread => "thread_idx.x".to_owned(),
            Expr::Block => "block_idx.x".to_owned(),
            Expr::Dim(number) => format!("D{number}"),
            Expr::Unary(op, operand) => {
                format!("({}{})", if *op == UnaryOp::Neg { "-" } else { "!" }, self.expr(operand))
            }
            Expr::Binary(op, sides) => {
                let ty = self.kernel.type_of(&sides[0]);
                let [left, right] = sides.each_ref().map(|side| self.expr(side));
                match (op, ty) {
                    (BinaryOp::Mul, Type::F32 | Type::F64) if self.kernel.opaque => {
                        let zero = self.kernel.scalars.len() - if ty == Type::F32 { 2 } else { 1 };
                        format!("{left}.mul_add({right}, s{zero})")
                    }
                    _ => format!("({left} {} {right})", op.symbol()),
                }
            }
            Expr::Cast(to, operand) => {
                let half = to.is_half() || self.kernel.type_of(operand).is_half();
                let operand = self.expr(operand);
                if half {
                    format!("{operand}.cast::<{}>()", to.name())
                } else {
                    format!("({operand} as {})", to.name())
                }
            }
            Expr::Math(function, arguments) => {
                let receiver = self.expr(&arguments[0]);
                format!("{receiver}.{}({})", function.name(), self.exprs(&arguments[1..]))
            }
            Expr::Word(word, ty, arguments) => {
                let word = &WORDS[*word];
                match word.form {
                    Form::Method => {
                        let receiver = self.expr(&arguments[0]);
                        format!("{receiver}.{}({})", word.name, self.exprs(&arguments[1..]))
                    }
                    Form::Function => format!("{}({})", word.name, self.exprs(arguments)),
                    Form::Associated => format!("{}::{}({})", ty.name(), word.name, self.exprs(arguments)),
                }
            }
            Expr::Match(value, arms, otherwise) => {
                let ty = self.kernel.type_of(value);
                let mut text = format!("(match {} {{ ", self.expr(value));
                for (patterns, body) in arms {
                    text += &format!("{} => {}, ", alternatives(ty, patterns), self.body(body));
                }
                text + &format!("_ => {} }})", self.body(otherwise))
            }
            Expr::Element(var, at) => format!("v{var}[{}]", self.array_index(at)),
            Expr::Select(parts) => format!("select({})", self.exprs(&parts[..])),
            Expr::If(condition, then, otherwise) => {
                let condition = self.expr(condition);
                let (then, otherwise) = (self.body(then), self.body(otherwise));
                format!("(if {condition} {then} else {otherwise})")
            }
            // In parentheses: a block at the start of a statement is one of its own.
            Expr::Body(body) => format!("({})", self.body(body)),
            Expr::Load(place, coordinates) => self.element(place, coordinates),
            Expr::Atomic(op, place, coordinates, value) => {
                let name = match op {
                    AtomicOp::Add => "atomic_add",
                    AtomicOp::Max => "atomic_max",
                    AtomicOp::Min => "atomic_min",
                };
                let (place, coordinates) = (self.place(place), self.exprs(coordinates));
                format!("{place}.{name}([{coordinates}], {})", self.expr(value))
            }
            Expr::Call(function, arguments) => format!("f{function}({})", self.exprs(arguments)),
        }
    }
}

fn argument(number: usize, tensor: &Tensor) -> String {
    let extents = list(&tensor.extents, |extent| match extent {
        Extent::Dim(number) => format!("D{number}"),
        Extent::Static(extent) => extent.to_string(),
    });
    let layout = match tensor.layout {
        TensorLayout::RowMajor => "RowMajor",
        TensorLayout::ColMajor => "ColMajor",
        TensorLayout::Pitched(_) => "Pitched",
        TensorLayout::Strided(_) => "Strided",
    };
    let mutable = if tensor.mutable { "mut " } else { "" };
    format!("t{number}: &{mutable}LayoutTensor<{}, {layout}<{extents}>>", tensor.elem.name())
}

/// `1 | -2`
fn alternatives(ty: Type, patterns: &[Value]) -> String {
    patterns.iter().map(|value| plain(ty, *value)).collect::<Vec<_>>().join(" | ")
}

/// A literal without a type.
fn plain(ty: Type, value: Value) -> String {
    match ty.kind() {
        Kind::Float(_) => format!("{:?}", value.float()),
        Kind::Bool => value.truth().to_string(),
        Kind::Integer(..) | Kind::Index => value.int().to_string(),
    }
}

fn literal(ty: Type, value: Value, bare: bool) -> String {
    let text = plain(ty, value);
    let text = match ty.kind() {
        Kind::Float(_) if ty.is_half() => return format!("({text}f32).cast::<{}>()", ty.name()),
        Kind::Float(_) | Kind::Integer(..) if !bare => text + ty.name(),
        _ => text,
    };
    if text.starts_with('-') { format!("({text})") } else { text }
}
