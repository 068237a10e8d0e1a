//! Generic structs, and functions of them, in kernels: the same text as a function of the program and of a kernel gives the same numbers, and the text
//! of a kernel with generic structs is that of the kernel with a struct for each combination of arguments.

use super::rust::{compiled, same};
use layout_cuda::{Device, Error, LaunchConfig, ParamSet, ParamValue, tiled_kernels};

same! {
    numbers_as_parameters: |x: i32| -> i32 {
        const TWO: usize = 2;
        #[derive(Clone, Copy)]
        struct Ring<const STAGES: usize> {
            stage: usize,
            rounds: i32,
        }
        impl<const STAGES: usize> Ring<STAGES> {
            const LAST: usize = Self::COUNT - 1;
            const COUNT: usize = STAGES;
            fn new() -> Self {
                Self { stage: 0, rounds: 0 }
            }
            fn advance(&mut self) -> &mut Self {
                if self.stage == Self::LAST {
                    *self = Ring { stage: 0, rounds: self.rounds + 1 };
                } else {
                    self.stage += 1;
                }
                self
            }
        }
        impl<const N: usize> Ring<N> {
            fn value(&self) -> i32 {
                self.stage as i32 + self.rounds * N as i32 + [7; N].len() as i32
            }
            fn after(mut self, steps: i32) -> Ring<N> {
                for _ in 0..steps {
                    self.advance();
                }
                self
            }
        }
        struct Shift<const BY: u32, const LEFT: bool>;
        impl<const BY: u32, const LEFT: bool> Shift<BY, LEFT> {
            const MASK: u32 = (1 << BY) - 1;
            fn of(&self, x: i32) -> i32 {
                let moved = if LEFT { x << BY } else { x >> BY };
                moved ^ Self::MASK as i32
            }
        }
        fn three() -> Ring<3> {
            Ring::new()
        }
        fn both(one: &mut Ring<{ TWO * 2 }>, other: Ring<3>) -> i32 {
            one.advance().advance();
            one.value() * 100 + other.value()
        }
        let steps = x.rem_euclid(13);
        let mut four = Ring::<{ TWO * 2 }>::new().after(steps);
        let three = three().after(steps);
        let two: Ring<TWO> = Ring { stage: 1, ..Ring::new() };
        let mut last = Ring::<5>::new();
        last = if x > 0 { Ring { stage: 3, rounds: x } } else { Ring::new() };
        both(&mut four, three) * 7 + two.after(steps).value() + last.value()
            + Shift::<3, true>.of(x) + Shift::<2, false>.of(x)
            + Ring::<{ TWO + 7 }>::LAST as i32
    }
    types_as_parameters: |x: i32| -> i32 {
        #[derive(Clone, Copy)]
        struct Pair<T> {
            a: T,
            b: T,
        }
        impl<T: Copy + std::ops::Add<Output = T>> Pair<T> {
            fn new(a: T, b: T) -> Self {
                Pair { a, b }
            }
            fn sum(&self) -> T {
                self.a + self.b
            }
            fn turn(&mut self) {
                (self.a, self.b) = (self.b, self.a + self.b);
            }
            fn with(self, a: T) -> Pair<T> {
                Pair { a, ..self }
            }
            fn both(self) -> Pair<Pair<T>> {
                Pair { a: self, b: Pair { a: self.b, b: self.a } }
            }
        }
        struct Tagged<K, V>(K, V);
        impl<First, Second: Copy> Tagged<First, Second> {
            fn second(&self) -> Second {
                self.1
            }
        }
        let mut p = Pair::new(x, 3);
        p.turn();
        let wide = Pair { a: p.sum() as i64, b: 1 << 20 };
        let low = Pair::<u8>::new(200, 50).with(x as u8 & 1);
        let nested = p.both();
        let tagged = Tagged(low, wide);
        let Pair { a: Pair { b, .. }, .. } = nested;
        let moved = Pair::<f32>::new(0.5, 2.0).sum() as i32;
        p.sum() + (wide.sum() % 1000) as i32 + low.sum() as i32 + nested.b.sum() * 3 + b
            + (tagged.second().a % 7) as i32 + tagged.0.a as i32 + moved
    }
    functions_of_generic_structs: |x: i32| -> i32 {
        #[derive(Clone, Copy)]
        struct Ring<const STAGES: usize> {
            stage: usize,
        }
        impl<const STAGES: usize> Ring<STAGES> {
            fn next(&mut self) {
                self.stage = (self.stage + 1) % STAGES;
            }
        }
        #[derive(Clone, Copy)]
        struct Pair<T> {
            a: T,
            b: T,
        }
        fn go<const N: usize>(ring: &mut Ring<N>, steps: i32) -> i32 {
            for _ in 0..steps {
                ring.next();
            }
            (ring.stage * N) as i32
        }
        fn first<T: Copy, const N: usize>(values: [T; N]) -> Pair<T> {
            Pair { a: values[0], b: values[N - 1] }
        }
        fn turned<T: Copy>(pair: Pair<T>) -> Pair<T> {
            Pair { a: pair.b, b: pair.a }
        }
        fn ring<const N: usize>() -> Ring<N> {
            Ring { stage: N - 1 }
        }
        fn times<const BY: i32>(x: i32) -> i32 {
            x * BY
        }
        let (mut three, mut five): (Ring<3>, _) = (ring(), ring::<5>());
        let steps = x.rem_euclid(7);
        let pair = turned(first([x, 1, 2]));
        let other = turned(Pair { a: 1.5f32, b: 2.5 });
        go(&mut three, steps) + go(&mut five, steps) * 20 + go(&mut five, 2) + pair.a * 3 - pair.b
            + other.a as i32 + times::<4>(x) + times::<{ 2 + 1 }>(x)
    }
    arrays_of_both: |x: i32| -> i32 {
        #[derive(Clone, Copy)]
        struct Window<T, const N: usize> {
            items: [T; N],
            next: usize,
        }
        impl<T: Copy + Default + std::ops::AddAssign + std::ops::Add<Output = T>, const N: usize> Window<T, N> {
            fn of(x: T) -> Self {
                Self { items: [x; N], next: 0 }
            }
            fn push(&mut self, x: T) {
                self.items[self.next] = x;
                self.next = (self.next + 1) % N;
            }
            fn sum(&self, first: T) -> T {
                let mut sum = first;
                for i in 0..N {
                    sum += self.items[i];
                }
                sum
            }
        }
        #[derive(Clone, Copy)]
        struct Two<const N: usize> {
            small: Window<i32, N>,
            large: Window<i64, 3>,
        }
        impl<const N: usize> Two<N> {
            fn push(&mut self, x: i32) {
                self.small.push(x);
                self.large.push(x as i64 * 1000);
            }
        }
        let mut two = Two { small: Window::<i32, 4>::of(1), large: Window::of(x as i64) };
        for k in 0..6 {
            two.push(x * k);
        }
        let made = Window { items: [x, 2, 3], next: 1 };
        let kept = Window { items: [made.items[0]; 2], next: 0 };
        two.small.sum(0) + (two.large.sum(1) % 77) as i32 + made.sum(x) * 3 + kept.sum(1)
    }
}

/// A place in a ring, once for each number of stages and once as a struct of its own for each.
#[tiled_kernels]
mod rings {
    const DEPTH: usize = 2;

    #[derive(Clone, Copy)]
    struct Place<T, const STAGES: usize> {
        stage: usize,
        kept: [T; STAGES],
    }

    impl<T: Number + Constants + std::ops::Add<Output = T>, const STAGES: usize> Place<T, STAGES> {
        const COUNT: usize = STAGES;

        fn new() -> Self {
            Self { stage: 0, kept: [T::ZERO; STAGES] }
        }

        fn push(&mut self, x: T) {
            self.kept[self.stage] = x;
            self.stage = if self.stage == Self::COUNT - 1 { 0 } else { self.stage + 1 };
        }

        fn sum(&self) -> T {
            let mut sum = T::ZERO;
            for i in unroll(0..STAGES) {
                sum = sum + self.kept[i];
            }
            sum
        }
    }

    #[tiled_kernel(STAGES = [3, 5], block = [Place::<f32, { DEPTH * 16 }>::COUNT], grid = [1])]
    pub fn generic<const N: usize>(
        x: &LayoutTensor<f32, RowMajor<N, 32>>,
        y: &mut LayoutTensor<f32, RowMajor<2, 32>>,
    ) {
        let mut some = Place::<f32, STAGES>::new();
        let mut others: Place<i32, { DEPTH * 2 }> = Place::new();
        for row in 0..N {
            some.push(x[[row, thread_idx.x]]);
            others.push(row as i32);
        }
        y[[0, thread_idx.x]] = some.sum();
        y[[1, thread_idx.x]] = others.sum() as f32;
    }

    #[derive(Clone, Copy)]
    struct Some {
        stage: usize,
        kept: [f32; STAGES],
    }

    impl Some {
        fn push(&mut self, x: f32) {
            self.kept[self.stage] = x;
            self.stage = if self.stage == STAGES - 1 { 0 } else { self.stage + 1 };
        }

        fn sum(&self) -> f32 {
            let mut sum = 0.0;
            for i in unroll(0..STAGES) {
                sum += self.kept[i];
            }
            sum
        }
    }

    #[derive(Clone, Copy)]
    struct Others {
        stage: usize,
        kept: [i32; 4],
    }

    impl Others {
        fn push(&mut self, x: i32) {
            self.kept[self.stage] = x;
            self.stage = if self.stage == 3 { 0 } else { self.stage + 1 };
        }

        fn sum(&self) -> i32 {
            let mut sum = 0;
            for i in unroll(0..4) {
                sum += self.kept[i];
            }
            sum
        }
    }

    #[tiled_kernel(STAGES = [3, 5], block = [32], grid = [1])]
    pub fn written<const N: usize>(
        x: &LayoutTensor<f32, RowMajor<N, 32>>,
        y: &mut LayoutTensor<f32, RowMajor<2, 32>>,
    ) {
        let mut some = Some { stage: 0, kept: [0.0; STAGES] };
        let mut others = Others { stage: 0, kept: [0; 4] };
        for row in 0..N {
            some.push(x[[row, thread_idx.x]]);
            others.push(row as i32);
        }
        y[[0, thread_idx.x]] = some.sum();
        y[[1, thread_idx.x]] = others.sum() as f32;
    }
}

#[test]
fn the_text_is_that_of_a_struct_for_each_combination() -> Result<(), Error> {
    let renamed = |text: &str, name: &str| text.replace(name, "kernel");
    assert_eq!(renamed(rings::generic::SOURCE, "generic"), renamed(rings::written::SOURCE, "written"));
    let device = Device::simulator();
    let x: Vec<f32> = (0..7 * 32).map(|i| (i % 23) as f32).collect();
    let on_device = device.upload(&x, [7, 32])?;
    for stages in [3, 5] {
        let set = ParamSet::default().with("STAGES", ParamValue::Int(stages));
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let mut y = device.zeros::<f32, 2>([2, 32])?;
        rings::generic::launch_with(config, &device.stream(), &on_device, &mut y)?;
        let last = |column: usize| (7 - stages as usize..7).map(|row| x[row * 32 + column]).sum::<f32>();
        let wanted: Vec<f32> = (0..32).map(last).chain(std::iter::repeat_n(18.0, 32)).collect();
        assert_eq!(y.download()?, wanted, "{stages}");
    }
    compiled(&[("generic_STAGES3", rings::generic::SOURCE)]);
    Ok(())
}
