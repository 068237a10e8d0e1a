//! Rust as people write it: the same text as a function of the program and as a function of a kernel, on the simulator.

use layout_cuda::{Device, Error, LaunchConfig, ParamSet, ParamValue, tiled_kernel, tiled_kernels};
use layout_simulator::FindingKind;
use layout_tests::support::lock::{self, Subject};

/// A function of the program, and a kernel that calls the same text for each element.
macro_rules! same {
    ($($name:ident: |$x:ident: $from:ident| -> $to:ident { $($body:tt)* })*) => {
        $(mod $name {
            #[allow(dead_code)]
            fn unroll<T>(range: T) -> T {
                range
            }

            #[allow(clippy::all, unused)]
            pub fn on_the_host($x: $from) -> $to { $($body)* }

            #[layout_cuda::tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
            pub fn on_the_device<const N: usize>(
                x: &LayoutTensor<$from, RowMajor<N>>, y: &mut LayoutTensor<$to, RowMajor<N>>,
            ) {
                fn body($x: $from) -> $to { $($body)* }
                let i = block_idx.x * 64 + thread_idx.x;
                if i < N {
                    y[[i]] = body(x[[i]]);
                }
            }
        })*

        #[test]
        fn the_same_text_gives_the_same_numbers() -> Result<(), Error> {
            let mut texts = vec![];
            $({
                let device = Device::simulator();
                let x: Vec<$from> = (-70..70).map(|i| i as $from).collect();
                let mut y = device.zeros::<$to, 1>([x.len()])?;
                $name::on_the_device::launch(&device.stream(), &device.upload(&x, [x.len()])?, &mut y)?;
                for (x, found) in x.into_iter().zip(y.download()?) {
                    assert_eq!(found, $name::on_the_host(x), "{} of {x}", stringify!($name));
                }
                texts.push((stringify!($name), $name::on_the_device::SOURCE));
            })*
            compiled(&texts);
            Ok(())
        }
    };
}

pub(crate) use same;

/// NVRTC takes the texts.
pub(crate) fn compiled(texts: &[(&str, &str)]) {
    for (name, text) in texts {
        let subject = Subject { kind: "accepted", entry: name, arch: "sm_80", text, flags: &[] };
        lock::fact(subject, || match layout_cuda::nvrtc::compile(text, "sm_80", &[]) {
            Ok(compiled) => format!("{} registers", compiled.resources[0].registers),
            Err(error) => panic!("{name}: {error}\n{text}"),
        });
    }
}

same! {
    bytes_of_text: |x: i32| -> i32 {
        let first = b'a';
        let digit = b'0' + ((x & 7) as u8);
        (first as i32) * 1000 + digit as i32
    }
    matched: |x: i32| -> i32 {
        const SEVEN: i32 = 7;
        let kind = match x {
            0 => 1,
            1 | 2 | 3 => 2,
            SEVEN => 30,
            4..=9 => 3,
            -5..0 => 4,
            n if n % 2 == 0 && n > 40 => n,
            n @ 10..=20 => n + 1,
            -2147483648i32..=-60 => 77,
            ..-50 => 5,
            _ => 6,
        };
        match (x > 0, kind) {
            (true, 6) => -1,
            (true, _) => kind * 10,
            (false, 4 | 5) => 100 + kind,
            (false, _other @ 1) => 3,
            (_, other) if other == 6 && x < -65 => other + 1,
            _ => kind,
        }
    }
    matched_statements: |x: i32| -> i32 {
        let mut sum = 0i32;
        for k in 0..10i32 {
            match (x + k) % 4 {
                0 => continue,
                1 => sum += k,
                2 | 3 => {
                    let twice = 2 * k;
                    sum -= twice;
                }
                _ => break,
            }
        }
        match x > 3 {
            true => sum,
            false => -sum,
        }
    }
    returned: |x: i32| -> i32 {
        if x < -20 {
            return 0;
        }
        let y = x * 2;
        if y > 60 {
            if y > 100 {
                return 100;
            } else {
                return y + 1;
            }
        } else if y == 8 {
            return -8;
        }
        match y {
            0 => return 5,
            1..=9 => {
                let y = 3;
                if x == 1 {
                    return y;
                }
                return y + 1;
            }
            _ => {}
        }
        y
    }
    labels: |x: i32| -> i32 {
        let mut found = 0i32;
        'outer: for i in 0..8i32 {
            let mut k = 0i32;
            'middle: while k < 8 {
                k += 1;
                for j in 0..8i32 {
                    if i * k * j > 60 + x {
                        break 'outer;
                    }
                    if j > k + i {
                        continue 'outer;
                    }
                    if j == 5 {
                        continue 'middle;
                    }
                    if i == 3 && j == 2 {
                        break 'middle;
                    }
                    found += i + 10 * j + 100 * k;
                }
                found += 1;
            }
            found += 1000;
        }
        found
    }
    loop_values: |x: i32| -> i32 {
        let mut k = 0;
        let first = loop {
            if k * k > x {
                break k;
            }
            k += 1;
        };
        let (a, b) = 'outer: loop {
            for j in 0..9 {
                if j * first > 20 {
                    break 'outer (j, 0.5f32);
                }
            }
            if x < 0 {
                break (-1, 1.5);
            }
            k += 1;
            if k > 12 {
                break (k, 2.5);
            }
        };
        loop {
            k -= 1;
            if k < 0 {
                break;
            }
        }
        first * 100 + a * 10 + (b * 2.0) as i32
    }
    returned_from_loops: |x: i32| -> i32 {
        fn root(x: i32) -> i32 {
            for k in 0..64 {
                if k * k == x {
                    return k;
                }
                let mut j = 0;
                while j < k {
                    if j * k == x + 1 {
                        return -j;
                    }
                    j += 1;
                }
            }
            let mut z = x;
            loop {
                z += 3;
                match z {
                    0..=9 => return z,
                    n if n > 100 => return 7,
                    _ => {}
                }
            }
        }
        root(x) * 2
    }
    given_later: |x: i32| -> i32 {
        let sign;
        if x < 0 {
            sign = -1;
        } else {
            sign = 1;
        }
        let mut best = (0, 0.0);
        for k in 0..5 {
            let near = if k == 3 { continue } else { x * k % 7 };
            let next = match near {
                0 => continue,
                n if n > 5 => break,
                n => n as f32,
            };
            if next > best.1 {
                best = (k, next);
            }
            best.0 += 1;
        }
        let mut counts = [0; 3];
        for k in unroll(0..3) {
            counts[k] += k as i32 * 2;
        }
        sign * 1000 + best.0 * 10 + best.1 as i32 + counts[2] + counts[0]
    }
    tuples: |x: i32| -> i32 {
        let (mut a, mut b) = (1i32, 1i32);
        let mut c = 0i32;
        for _ in 0..5 {
            (a, b) = (b, a + b + x);
            (c, _) = (a - c, 1);
        }
        a * 3 + b + c
    }
    arrays: |x: i32| -> i32 {
        const TAPS: [i32; 3] = [5, -7, 11];
        const GRID: [[i32; 2]; 2] = [[1, 2], [3, 4]];
        let own = [x, x + 1, x * x];
        let mut sums = [0; 4];
        let mut sum = 0;
        for k in 0..3 {
            sum += TAPS[k] * own[2 - k] + GRID[k % 2][1];
        }
        for k in unroll(0..3) {
            sums[k] += own[k] * TAPS[k];
            sums[k + 1] -= 1;
        }
        let before = sums;
        sums[0] = 1000;
        sums = [sums[1], sums[0], before[0], sums[3]];
        let twice = [[x; 2]; 2];
        sum + sums[0] + 3 * sums[1] + 7 * sums[2] + sums[3] + before[1] + twice[1][0]
    }
    tables: |x: u32| -> f32 {
        const WEIGHTS: [f32; 4] = [0.25, 0.5, -1.0, 3.0];
        let mut sums = [0.0; 2];
        for k in unroll(0..4) {
            sums[k % 2] += WEIGHTS[(x as usize + k) % 4];
        }
        sums[0] * 10.0 + sums[1]
    }
    literals: |x: i32| -> i32 {
        let mut last = -1;
        let mut steps = 0;
        let count = if x > 0 { 1 } else { 2 };
        for k in 0..10 {
            if k * 3 > x {
                last = k;
                break;
            }
            steps += 1;
        }
        let pair = (3, if last == -1 { 5 } else { -2147483648i32 });
        if last == x { 7 } else { (x / count + steps * 100 + last - pair.0).max(-1000) + pair.1 % 10 }
    }
    flags: |count: u32| -> u32 {
        let base = 4;
        let top = count | (if count % 2 == 0 { 0x80000000 } else { 0x40000000 });
        let mask = (1 << base) - 1;
        top ^ (count & mask) ^ !7
    }
    bytes: |x: u8| -> i32 {
        let mut sum = 0;
        for k in 250..=255 {
            if k > x {
                sum += k as i32;
            }
        }
        for k in (10..x).step_by(7) {
            sum -= k as i32;
        }
        sum
    }
    arrays_of_arrays: |x: i32| -> i32 {
        let mut grid = [[0; 3]; 4];
        let mut pairs = [(0, 0.5); 3];
        let mut deep = [([1i64; 2], [true; 2]); 2];
        for i in 0..4 {
            for j in 0..3 {
                grid[i][j] = x * i as i32 + j as i32;
            }
        }
        grid[1][2] += grid[2][1];
        let row = grid[3];
        grid[0] = row;
        grid[(x & 3) as usize][((x >> 2) & 1) as usize] -= 7;
        for k in 0..3 {
            pairs[k].0 = grid[k][2 - k];
            pairs[k].1 *= k as f32;
        }
        pairs[1] = (pairs[0].0 + 1, 2.5);
        (pairs[0], pairs[2]) = (pairs[2], pairs[0]);
        deep[1].0[0] += x as i64;
        deep[(x & 1) as usize].1[1] = x > 3;
        let (a, b) = pairs[(x & 1) as usize + 1];
        let mut sum = a * 3 + (b * 4.0) as i32;
        for i in 0..4 {
            for j in 0..3 {
                sum = sum * 3 + grid[i][j];
            }
        }
        sum + deep[1].0[0] as i32 + deep[0].1[1] as i32 * 100 + deep[1].1[1] as i32 * 1000
    }
    arrays_of_indices: |x: i32| -> i32 {
        let mut order = [0; 4];
        let mut stack = [[0usize; 2]; 3];
        for k in 0..4 {
            order[k] = 3 - k;
        }
        stack[1][0] = order[(x & 3) as usize] + 5;
        stack[2] = [stack[1][0], order[1]];
        order.swap(0, (x & 3) as usize);
        let table = [10, 20, 30, 40];
        let mut sum = 0;
        for k in 0..4 {
            sum = sum * 10 + table[order[k] % 4];
        }
        sum + stack[2][0] as i32 * 7 + stack[2][1] as i32
    }
    iterated: |x: i32| -> i32 {
        let mut own = [x, x + 1, 7, -x];
        let mut pairs = [(1, 2.0f32), (3, 4.0)];
        let mut sum = 0;
        for value in own {
            sum = sum * 3 + value;
        }
        for step in [16, 8, 4] {
            sum += x / step;
        }
        for (k, value) in own.iter().enumerate() {
            sum += k as i32 * value;
        }
        for value in &mut own {
            *value += 1;
            if *value > 60 {
                continue;
            }
            *value *= 2;
        }
        for (k, value) in own.iter_mut().enumerate() {
            *value -= k as i32;
        }
        for (a, b) in &mut pairs {
            *a += x;
            *b *= 0.5;
        }
        for &(a, _) in &pairs {
            sum += a;
        }
        let [first, _, last] = [own[0], 5, own[3]];
        let [a, b] = pairs;
        for value in own.into_iter() {
            if value == 9 {
                break;
            }
            sum -= value;
        }
        sum + first + last * own.len() as i32 + a.0 + b.1 as i32
    }
    borrowed: |x: i32| -> i32 {
        fn bump(of: &mut i32, by: i32) {
            *of += by;
        }
        fn twice(of: &mut i32) {
            bump(of, 1);
            bump(of, *of);
        }
        fn sort(of: &mut [i32; 3]) {
            for _ in 0..3 {
                for j in 0..2 {
                    if of[j] > of[j + 1] {
                        of.swap(j, j + 1);
                    }
                }
            }
        }
        fn clamped(mut x: i32) -> i32 {
            if x > 10 {
                x = 10;
            }
            x += 1;
            x
        }
        let mut own = [x, 3, -x];
        let mut rows = [[1, 2, 0], [x, 0, 9]];
        let mut pair = (x, 1.5f32);
        let mut count = 0;
        sort(&mut own);
        sort(&mut rows[1]);
        twice(&mut own[2]);
        bump(&mut pair.0, 4);
        let other = &mut pair.1;
        *other *= 2.0;
        let at = &mut rows[0][2];
        for k in 0..3 {
            *at += k;
            bump(&mut count, k);
        }
        own[0] * 3 + own[1] * 5 + own[2] * 7 + rows[1][0] + rows[1][2] * 2 + rows[0][2] + pair.0 + pair.1 as i32
            + count + clamped(x)
    }
    borrowed_indices: |x: i32| -> i32 {
        fn next(of: &mut usize) -> usize {
            let before = *of;
            *of = (*of + 3) % 7;
            before
        }
        let table = [1, 10, 100, 1000, 10000, 100000, 1000000];
        let mut at = 0;
        let mut sum = 0;
        for k in 0..5 {
            if x > k {
                sum += table[next(&mut at) % 7];
            }
        }
        sum + table[at % 7]
    }
    changed_by_closures: |x: i32| -> i32 {
        let (mut sum, mut at) = (0, 0usize);
        let mut own = [0; 3];
        let mut add = |y: i32| {
            sum += y;
            own[at % 3] += y;
            at += 1;
            at as i32
        };
        for k in 0..4 {
            let number = add(x + k);
            add(number);
        }
        sum * 100 + own[0] * 10 + own[1] + own[2] * 3 + at as i32
    }
    returned_within: |x: i32| -> i32 {
        fn root(x: i32) -> (i32, bool) {
            let mut k = 0;
            let found = loop {
                let square = if k > 20 { return (-1, false) } else { k * k };
                match square - x {
                    0 => break k,
                    n if n > 0 => return (k, false),
                    _ => {}
                }
                k += 1;
            };
            (found, true)
        }
        let start = match x {
            ..-60 => return -3,
            -60..0 => -x,
            n if n % 3 == 0 => return n * 2,
            n => n,
        };
        let mut sum = 0;
        for k in 0..start {
            let (near, exact) = root(k);
            sum += if exact { near } else if near > 6 { return sum } else { 1 };
            for j in 0..3 {
                let value = if j * k == 44 { return -sum } else { j };
                sum += value;
            }
        }
        let odd = |y: i32| if y % 2 == 0 { return 0 } else { y };
        sum + odd(x)
    }
    left_within_operands: |x: i32| -> i32 {
        let mut sum = 0;
        let mut own = [0; 3];
        for k in 0..6 {
            let near = x + if k == 4 { break } else { k };
            sum += near * (if near % 5 == 0 { continue } else { 2 });
            own[if sum > 40 { break } else { 1 }] += k;
            let pair = (sum, if sum < -900 { return sum } else { near });
            sum -= (pair.1 > 3 && if k == 3 { break } else { pair.0 > 7 }) as i32;
        }
        sum + own[1] * 1000
    }
    left_within_conditions: |x: i32| -> i32 {
        fn first(x: i32) -> i32 {
            let mut k = 0;
            while {
                if k > x {
                    return -k;
                }
                k < 10
            } {
                k += 3;
            }
            k
        }
        let mut sum = first(x);
        'outer: for i in 0..4 {
            while if i == 2 && x > 0 { break 'outer } else { sum < 20 * i } {
                sum += 7;
            }
            sum += 1;
        }
        sum
    }
    known_ways: |x: i32| -> i32 {
        const EARLY: bool = false;
        const LATE: bool = true;
        fn chosen(x: i32) -> i32 {
            if EARLY {
                if x > 3 {
                    return 5;
                }
            }
            let y = match LATE {
                true => x * 2,
                false => return 1,
            };
            y + 1
        }
        let mut sum = chosen(x);
        'rounds: for k in 0..3 {
            let value = 'found: {
                if LATE {
                    if EARLY {
                        break 'found 1;
                    }
                    sum += k;
                    continue 'rounds;
                }
                2
            };
            sum += value;
        }
        let third = {
            const THIRD: f32 = 1.0 / 3.0;
            const BACK: i32 = -7 / 2;
            (THIRD * 300.0) as i32 + BACK
        };
        sum + third
    }
    chosen_tuples: |x: i32| -> i32 {
        let own = [x, 3, x * 2, 7];
        let (a, (b, c)) = if x > 4 { (x, (2.5f32, true)) } else { (own[2], (x as f32, x < -3)) };
        let pair = match x % 3 {
            0 => [x, 1],
            1 => [own[1], own[3]],
            _ => [a, 5],
        };
        let mut sum = 0;
        for value in own.iter().rev() {
            sum = sum * 3 + *value;
        }
        for (k, value) in own.iter().rev().enumerate() {
            sum += k as i32 * value;
        }
        for (k, value) in own.into_iter().enumerate().rev() {
            sum = sum * 2 - k as i32 * value;
        }
        sum + a + (b * 2.0) as i32 + c as i32 * 100 + pair[0] * 7 + pair[1] + (b.abs() as usize % 9) as i32
    }
    come_round: |x: i32| -> i32 {
        let table = [3, 5, 7];
        let mut stage = 0;
        let mut sum = 0;
        for k in 0..7 {
            sum = sum * 2 + table[stage] * (x + k);
            stage += 1;
            if stage == 3 {
                stage = 0;
            }
        }
        // Behind the loop it is still one of three.
        sum + table[stage]
    }
    labelled_blocks: |x: i32| -> i32 {
        let mut sum = 0;
        let kind = 'found: {
            if x < -30 {
                break 'found 1;
            }
            for k in 0..8 {
                if k * k == x {
                    break 'found 10 + k;
                }
                sum += k;
            }
            let next = 'inner: {
                if x % 2 == 0 {
                    break 'inner x / 2;
                }
                if x % 5 == 0 {
                    break 'found 7;
                }
                3
            };
            next + 100
        };
        'rows: for k in 0..5 {
            'skip: {
                if k == x % 5 {
                    break 'skip;
                }
                if k == 3 {
                    continue 'rows;
                }
                if sum > 1000 {
                    break 'rows;
                }
                sum += 10;
            }
            sum += kind;
        }
        sum
    }
    closures: |x: i32| -> i32 {
        fn fold(from: i32, to: i32, start: i32, f: impl Fn(i32, i32) -> i32) -> i32 {
            let mut all = start;
            let mut k = from;
            while k < to {
                all = f(all, k);
                k += 1;
            }
            all
        }
        fn largest(a: i32, b: i32) -> i32 {
            if a < b { b } else { a }
        }
        fn twice<F: Fn(i32) -> i32>(f: F, x: i32) -> i32 {
            f(f(x))
        }
        let scale = x + 3;
        let inner = |k| fold(0, 3, k, |all, j| all + j * scale + k);
        let sum = fold(1, 5, 0, |all, k| { let own = all * 2; own + inner(k) });
        sum + fold(0, 4, -100, largest) + twice(|y| twice(|z| z + scale, y) * 2, x) + (|a: i32, _: i32| a - 1)(x, 2)
    }
}

#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
fn guarded<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let i = block_idx.x * 64 + thread_idx.x;
    if i >= N {
        return;
    }
    y[[i]] = x[[i]] + 1.0;
    for k in 0..4 {
        if x[[i]] > 50.0 + k as f32 {
            return;
        }
        y[[i]] += 10.0;
    }
    y[[i]] += 100.0;
}

#[test]
fn a_kernel_may_return_early() -> Result<(), Error> {
    let device = Device::simulator();
    let x: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let mut y = device.zeros::<f32, 1>([100])?;
    guarded::launch(&device.stream(), &device.upload(&x, [100])?, &mut y)?;
    for (x, found) in x.into_iter().zip(y.download()?) {
        let rounds = (0..4).take_while(|k| x <= 50.0 + *k as f32).count();
        assert_eq!(found, x + 1.0 + 10.0 * rounds as f32 + if rounds == 4 { 100.0 } else { 0.0 });
    }
    compiled(&[("guarded", guarded::SOURCE)]);
    Ok(())
}

#[tiled_kernel(EPILOGUE = [identity, square], BLOCK = 32, block = [BLOCK], grid = [N.div_ceil(BLOCK)])]
fn finished<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
    fn identity(x: f32) -> f32 {
        x
    }
    fn square(x: f32) -> f32 {
        x * x
    }
    fn negated(x: f32) -> f32 {
        -x
    }
    fn applied(x: f32, f: impl Fn(f32) -> f32) -> f32 {
        f(EPILOGUE(x))
    }
    let i = block_idx.x * BLOCK + thread_idx.x;
    if i < N {
        x[[i]] = EPILOGUE(x[[i]] + 1.0) + applied(x[[i]], EPILOGUE);
    }
}

#[test]
fn a_function_may_be_a_parameter_of_a_kernel() -> Result<(), Error> {
    let keys: Vec<&str> = finished::variants().iter().map(|variant| variant.key).collect();
    assert_eq!(keys, ["EPILOGUEidentity_BLOCK32", "EPILOGUEsquare_BLOCK32"]);
    let device = Device::simulator();
    let run = |name: &'static str| {
        let set = ParamSet::default().with("EPILOGUE", ParamValue::Function(name));
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let mut x = device.upload(&[2.0f32; 40], [40])?;
        finished::launch_with(config, &device.stream(), &mut x)?;
        x.download()
    };
    assert_eq!(run("identity")?, [5.0; 40]);
    assert_eq!(run("square")?, [25.0; 40]);
    assert_eq!(run("negated")?, [-1.0; 40]); // not listed
    let error = run("sine").expect_err("no such function").to_string();
    assert!(error.contains("no function of that name") && error.contains("`negated`"), "{error}");
    Ok(())
}

/// A branch that assigns an index and reads it says nothing of the other branch's.
#[tiled_kernel(block = [16], grid = [1])]
fn two_branches<const M: usize>(x: &mut LayoutTensor<i32, RowMajor<M, 8, 4>>) {
    let i = thread_idx.x;
    let mut at = 1;
    if i != 0 && i != 4 {
        at -= i;
    }
    if i == 3 {
        at = 1;
        x[[0, at, 3]] = 5;
    } else {
        x[[i, at, 1]] = 7;
    }
}

#[test]
fn a_branch_knows_nothing_of_the_other() -> Result<(), Error> {
    let device = Device::simulator();
    let mut x = device.zeros::<i32, 3>([16, 8, 4])?;
    // The simulator says so of the other threads, and writes nothing for them.
    let report = two_branches::simulate(&mut x)?;
    assert!(
        report.findings.iter().all(|finding| finding.kind == FindingKind::OutOfBounds) && !report.clean()
    );
    assert!(two_branches::SOURCE.contains("at >= 0"), "{}", two_branches::SOURCE);
    let wanted = |[i, at, e]: [usize; 3]| match [i, at, e] {
        [0, 1, 3] => 5,
        // Of the other threads the index is below zero: as Rust's `usize` it is far beyond the edge.
        [0 | 4, 1, 1] | [1, 0, 1] => 7,
        _ => 0,
    };
    for (place, found) in x.download()?.into_iter().enumerate() {
        assert_eq!(found, wanted([place / 32, place / 4 % 8, place % 4]), "element {place}");
    }
    Ok(())
}

/// Parameters that are functions are compared by name in the attribute, and those of nested functions are taken apart in place.
#[tiled_kernel(
    KEEP = [every, first], BOTH = [sum, most], PLAIN = KEEP == every, filter(KEEP == every || BOTH != most),
    block = [32], grid = [1],
)]
fn chosen(x: &mut LayoutTensor<f32, RowMajor<32>>) {
    fn every(_i: usize) -> bool {
        true
    }
    fn first(i: usize) -> bool {
        i < 16
    }
    fn sum((a, b): (f32, f32)) -> f32 {
        a + b
    }
    fn most((a, b): (f32, f32)) -> f32 {
        a.max(b)
    }
    fn stored((mut to, i): (View<f32, Write>, usize), (value, (plain, _)): (f32, (bool, i32))) {
        to[[i]] = if plain { value } else { -value };
    }
    let i = thread_idx.x;
    if KEEP(i) {
        let own = x[[i]];
        stored((x.tile([32], [0]), i), (BOTH((own, 10.0)), (PLAIN, 1)));
    }
}

#[test]
fn functions_are_compared_in_the_attribute_and_tuples_are_parameters() -> Result<(), Error> {
    let keys: Vec<&str> = chosen::variants().iter().map(|variant| variant.key).collect();
    let wanted =
        ["KEEPevery_BOTHsum_PLAINtrue", "KEEPevery_BOTHmost_PLAINtrue", "KEEPfirst_BOTHsum_PLAINfalse"];
    assert_eq!(keys, wanted);
    let device = Device::simulator();
    let run = |keep: &'static str, both: &'static str| {
        let set = ParamSet::default().with("KEEP", ParamValue::Function(keep));
        let set = set.with("BOTH", ParamValue::Function(both));
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let mut x = device.upload(&[2.0f32; 32], [32])?;
        chosen::launch_with(config, &device.stream(), &mut x)?;
        x.download()
    };
    assert_eq!(run("every", "sum")?, [12.0; 32]);
    assert_eq!(run("every", "most")?, [10.0; 32]);
    assert_eq!(run("first", "sum")?, [[-12.0; 16], [2.0; 16]].concat());
    compiled(&[("chosen", chosen::SOURCE)]);
    Ok(())
}

#[tiled_kernels]
mod epilogues {
    fn relu(x: f32) -> f32 {
        x.max(0.0)
    }
    fn gelu(x: f32) -> f32 {
        x * 0.5 * (1.0 + (x * 0.79788456 * (1.0 + 0.044715 * x * x)).tanh())
    }

    #[tiled_kernel(EPILOGUE = [relu, gelu], block = [32], grid = [N.div_ceil(32)])]
    pub fn applied<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
        let i = block_idx.x * 32 + thread_idx.x;
        if i < N {
            x[[i]] = EPILOGUE(x[[i]]);
        }
    }
}

#[test]
fn the_functions_of_a_module_may_be_parameters() -> Result<(), Error> {
    let device = Device::simulator();
    let mut x = device.upload(&[-1.0f32, 3.0], [2])?;
    epilogues::applied::launch(&device.stream(), &mut x)?;
    assert_eq!(x.download()?, [0.0, 3.0]);
    let set = ParamSet::default().with("EPILOGUE", ParamValue::Function("gelu"));
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    epilogues::applied::launch_with(config, &device.stream(), &mut x)?;
    assert!((x.download()?[1] - 2.9964).abs() < 1e-3);
    Ok(())
}

#[tiled_kernel(block = [32], grid = [1])]
fn unrolled(
    x: &LayoutTensor<f32, RowMajor<4, 32>>,
    z: &LayoutTensor<f32, RowMajor<4, 32>>,
    y: &mut LayoutTensor<f32, RowMajor<4, 32>>,
    bits: &mut LayoutTensor<u32, RowMajor<32>>,
) {
    let lane = thread_idx.x;
    let mut keys = local::<f32>(row_major([1, 4]));
    let mut all = 0;
    for which in unroll(0..4) {
        // A view is chosen where the variable is a number.
        let held = if which % 2 == 0 { x } else { z };
        keys[[0, which]] = held[[which, lane]];
        all += (1 << which) * (16 >> which);
    }
    for r in unroll(0..4) {
        let near = if r < 2 { 1 } else { 2 };
        y[[r, lane]] = keys[[0, r ^ near]] + all as f32;
    }
    bits[[lane]] = (1u32 << lane) | (0x80u32 >> (lane % 8));
}

#[test]
fn what_unrolled_variables_choose_is_chosen_at_compile_time() -> Result<(), Error> {
    let device = Device::simulator();
    let x = device.upload(&(0..128).map(|i| i as f32).collect::<Vec<_>>(), [4, 32])?;
    let z = device.upload(&(0..128).map(|i| -i as f32).collect::<Vec<_>>(), [4, 32])?;
    let mut y = device.zeros::<f32, 2>([4, 32])?;
    let mut bits = device.zeros::<u32, 1>([32])?;
    unrolled::launch(&device.stream(), &x, &z, &mut y, &mut bits)?;
    for (i, found) in y.download()?.into_iter().enumerate() {
        let (row, lane) = (i / 32, i % 32);
        let from = row ^ if row < 2 { 1 } else { 2 };
        let held = (from * 32 + lane) as f32 * if from % 2 == 0 { 1.0 } else { -1.0 };
        assert_eq!(found, held + 64.0, "{row}, {lane}");
    }
    let wanted: Vec<u32> = (0..32).map(|lane| (1u32 << lane) | (0x80u32 >> (lane % 8))).collect();
    assert_eq!(bits.download()?, wanted);
    compiled(&[("unrolled", unrolled::SOURCE)]);
    Ok(())
}

#[tiled_kernel(block = [32], grid = [1])]
fn strided<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<3>>,
    step: usize,
) {
    let (mut sum, mut count, mut last) = (0.0, 0.0, -1.0);
    for i in (2..N).step_by(step) {
        if i == 5 {
            continue;
        }
        sum += x[[i]];
        count += 1.0;
    }
    for i in (0..N).step_by(step).rev() {
        last = x[[i]];
        if i < 4 {
            break;
        }
    }
    if thread_idx.x == 0 {
        y[[0]] = sum;
        y[[1]] = count;
        y[[2]] = last;
    }
}

#[test]
fn a_step_may_be_known_at_launch() -> Result<(), Error> {
    let device = Device::simulator();
    for (n, step) in [(40, 3), (1, 7), (41, 1), (40, 1000)] {
        let x: Vec<f32> = (0..n).map(|i| (i * i) as f32).collect();
        let mut y = device.zeros::<f32, 1>([3])?;
        strided::launch(&device.stream(), &device.upload(&x, [n])?, &mut y, step)?;
        let taken: Vec<f32> = (2..n).step_by(step).filter(|i| *i != 5).map(|i| x[i]).collect();
        let last = (0..n).step_by(step).rev().find(|i| *i < 4).map_or(-1.0, |i| x[i]);
        assert_eq!(y.download()?, [taken.iter().sum(), taken.len() as f32, last], "{n}, {step}");
    }
    compiled(&[("strided", strided::SOURCE)]);
    Ok(())
}

#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
fn largest<const N: usize>(x: &LayoutTensor<bf16, RowMajor<N>>, y: &mut LayoutTensor<bf16, RowMajor<1>>) {
    let own = x.pad(f32::NEG_INFINITY).tile([32], [block_idx.x]);
    let top = own[[thread_idx.x]].cast::<f32>().warp_max();
    if thread_idx.x == 0 {
        y[[0]] = top.cast::<bf16>();
    }
}

#[test]
fn a_pad_may_be_of_another_float_type() -> Result<(), Error> {
    let device = Device::simulator();
    let x = [-3.0f32, -2.0, -5.0].map(layout_cuda::bf16::from_f32);
    let mut y = device.zeros::<layout_cuda::bf16, 1>([1])?;
    largest::launch(&device.stream(), &device.upload(&x, [3])?, &mut y)?;
    assert_eq!(y.download()?[0].to_f32(), -2.0);
    Ok(())
}

#[tiled_kernel(arch = "sm_90a", block = [256], grid = [1])]
fn rings(y: &mut LayoutTensor<f32, RowMajor<2, 2>>) {
    let full = mbarriers(3, 256);
    let turn = mbarriers(1, 128);
    let stages = shared::<f32>(row_major([2, 32]));
    barrier();
    let mut k = 0usize;
    for _ in 0..7 {
        full.at(k % 3).arrive();
        full.at(k % 3).wait(k / 3 % 2);
        k += 1;
    }
    let mut stage = 0;
    let mut round = 0;
    for _ in 0..5 {
        if thread_idx.x == 0 {
            stages.slice(stage)[[round]] = 1.0;
        }
        stage += 1;
        if stage == 2 {
            stage = 0;
            round += 1;
        }
    }
    if warp_group() == 0 {
        if thread_idx.x == 0 {
            y[[0, 0]] = 1.0;
        }
    } else {
        turn.at(warp_group() - 1).arrive();
        turn.at(warp_group() - 1).wait(0);
    }
    if thread_idx.x == 0 {
        y[[1, 0]] = stages[[0, 2]] + k as f32;
    }
}

#[test]
fn indices_that_come_round_stay_in_range() -> Result<(), Error> {
    let device = Device::simulator();
    let mut y = device.zeros::<f32, 2>([2, 2])?;
    rings::launch(&device.stream(), &mut y)?;
    assert_eq!(y.download()?[2], 8.0);
    Ok(())
}

#[tiled_kernel(block = [32], grid = [1])]
fn viewed(x: &LayoutTensor<f32, RowMajor<32>>, y: &mut LayoutTensor<f32, RowMajor<32>>) {
    fn doubled(from: View<f32, Read>, mut to: View<f32, Write>) {
        to[[thread_idx.x]] = from[[thread_idx.x]] * 2.0;
    }
    fn sum(of: impl Tensor<Elem = f32>) -> f32 {
        of[[0]] + of[[1]] + of.tile([2], [1])[[1]]
    }
    fn last<V: Tensor<Elem = f32>>(of: &V) -> f32 {
        of[[31]]
    }
    fn raise(mut of: impl Tensor<Elem = f32, Access = Write>, by: f32) {
        of[[thread_idx.x]] += by;
    }
    doubled(x, &mut *y);
    let staged = shared::<f32>(row_major([32]));
    doubled(x, staged);
    barrier();
    let by = sum(x) + sum(x.tile([4], [2])) + sum(staged) + last(&x);
    raise(&mut *y, by);
}

#[test]
fn a_tensor_will_do_where_a_view_is_asked_for() -> Result<(), Error> {
    let device = Device::simulator();
    let x: Vec<f32> = (0..32).map(|i| i as f32).collect();
    let mut y = device.zeros::<f32, 1>([32])?;
    viewed::launch(&device.stream(), &device.upload(&x, [32])?, &mut y)?;
    let by = (0.0 + 1.0 + 3.0) + (8.0 + 9.0 + 11.0) + 2.0 * (0.0 + 1.0 + 3.0) + 31.0;
    assert_eq!(y.download()?, x.iter().map(|x| 2.0 * x + by).collect::<Vec<_>>());
    compiled(&[("viewed", viewed::SOURCE)]);
    Ok(())
}

#[tiled_kernel(block = [32], grid = [1])]
fn filled_up<const N: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>,
    y: &mut LayoutTensor<f32, RowMajor<3, 32>>,
    last: f32,
) {
    let own = x.pad(last).tile([32], [0]);
    y[[0, thread_idx.x]] = own[[thread_idx.x]];
    let tile = shared::<f32>(row_major([32]));
    copy_dram_to_sram(tile.vectorize([4]), own.vectorize([4]), row_major([8]));
    barrier();
    y[[1, thread_idx.x]] = tile[[thread_idx.x]];
    // The same numbers, although `cp.async` fills with zeros.
    copy_dram_to_sram_async(tile, own, row_major([32]));
    async_copy_wait_all();
    barrier();
    y[[2, thread_idx.x]] = tile[[thread_idx.x]];
}

#[test]
fn a_pad_may_be_an_argument() -> Result<(), Error> {
    let device = Device::simulator();
    for n in [0, 5, 8, 32] {
        let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let mut y = device.zeros::<f32, 2>([3, 32])?;
        filled_up::launch(&device.stream(), &device.upload(&x, [n])?, &mut y, -2.5)?;
        let row: Vec<f32> = (0..32).map(|i| x.get(i).copied().unwrap_or(-2.5)).collect();
        assert_eq!(y.download()?, row.repeat(3), "{n}");
    }
    compiled(&[("filled_up", filled_up::SOURCE)]);
    Ok(())
}

#[tiled_kernel(block = [64], grid = [M])]
fn one_of_two<const M: usize>(x: &mut LayoutTensor<f32, RowMajor<M, 64>>) {
    let (row, own) = (block_idx.x, thread_idx.x);
    if row % 2 == 0 {
        let mut whole = shared::<f32>(row_major([4096]));
        whole[[own]] = x[[row, own]];
        barrier();
        x[[row, own]] = whole[[63 - own]];
    } else if row % 3 == 0 {
        let mut counts = shared::<i32>(row_major([4096]));
        counts[[own]] = own as i32;
        barrier();
        x[[row, own]] = counts[[63 - own]] as f32;
    }
    // Threads of one block part: both places are in use at once.
    if own < 32 {
        let mut low = shared::<f32>(row_major([32]));
        low[[own]] = 0.25;
        sync_warp();
        x[[row, own]] += low[[31 - own]];
    } else {
        let mut high = shared::<f32>(row_major([32]));
        high[[own - 32]] = 0.5;
        sync_warp();
        x[[row, own]] += high[[63 - own]];
    }
}

#[test]
fn branches_of_the_whole_block_share_their_memory() -> Result<(), Error> {
    let bytes = one_of_two::variants()[0].shared_bytes;
    assert_eq!(bytes, 4 * 4096 + 2 * 4 * 32);
    let device = Device::simulator();
    let x: Vec<f32> = (0..6 * 64).map(|i| i as f32).collect();
    let mut y = device.upload(&x, [6, 64])?;
    let report = one_of_two::simulate(&mut y)?;
    assert!(report.findings.is_empty(), "{report:?}");
    for (at, found) in y.download()?.into_iter().enumerate() {
        let (row, own) = (at / 64, at % 64);
        let wanted = match row {
            row if row % 2 == 0 => (row * 64 + 63 - own) as f32,
            3 => (63 - own) as f32,
            _ => at as f32,
        };
        assert_eq!(found, wanted + if own < 32 { 0.25 } else { 0.5 }, "{row}, {own}");
    }
    compiled(&[("one_of_two", one_of_two::SOURCE)]);
    Ok(())
}

#[tiled_kernel(block = [32], grid = [1])]
fn by_elements(x: &LayoutTensor<f32, RowMajor<2, 256>>, y: &mut LayoutTensor<f32, RowMajor<2, 256>>) {
    let own = x.vectorize([1, 4]).distribute(row_major([1, 32]), thread_idx.x);
    let mut out = y.vectorize([1, 4]).distribute(row_major([1, 32]), thread_idx.x);
    // Each thread has two vectors of four in each row.
    for row in unroll(0..2) {
        for k in unroll(0..8) {
            out[[row, k]] = own[[row, 7 - k]] + own.tile([1, 1], [row, k / 4])[[0, k % 4]];
        }
    }
}

#[test]
fn elements_of_a_vectorised_view_are_named_by_their_place() -> Result<(), Error> {
    let device = Device::simulator();
    let x: Vec<f32> = (0..512).map(|i| i as f32).collect();
    let mut y = device.zeros::<f32, 2>([2, 256])?;
    by_elements::launch(&device.stream(), &device.upload(&x, [2, 256])?, &mut y)?;
    let place = |row: usize, thread: usize, k: usize| row * 256 + k / 4 * 128 + thread * 4 + k % 4;
    let y = y.download()?;
    for (row, thread, k) in (0..512).map(|at| (at / 256, at % 256 / 8, at % 8)) {
        let wanted = x[place(row, thread, 7 - k)] + x[place(row, thread, k)];
        assert_eq!(y[place(row, thread, k)], wanted, "{row}, {thread}, {k}");
    }
    compiled(&[("by_elements", by_elements::SOURCE)]);
    Ok(())
}

/// A function's own type parameter represents the elements of what it is given, in its body as well: another type a call.
#[tiled_kernel(T = [f32, bf16, i32], block = [32], grid = [1])]
fn in_any_type<T>(
    x: &LayoutTensor<T, RowMajor<64>>,
    y: &mut LayoutTensor<T, RowMajor<64>>,
    counts: &mut LayoutTensor<u8, RowMajor<64>>,
) {
    fn doubled<E: Element + std::ops::Add<Output = E>>(from: View<E, Read>, lane: usize) -> View<E, Write> {
        let mut own = local::<E>(row_major([2]));
        for i in unroll(0..2) {
            let twice: E = from[[i * 32 + lane]] + from[[i * 32 + lane]];
            own[[i]] = twice;
        }
        own
    }
    fn above<E: Constants + PartialOrd>(value: E, than: impl Fn(E) -> E) -> u8 {
        if value > than(E::ONE) { E::ONE.cast::<u8>() } else { size_of::<E>() as u8 }
    }
    let of_x = doubled(x.tile([64], [0]), thread_idx.x);
    let mut bytes = shared::<u8>(row_major([64]));
    for i in unroll(0..2) {
        let at = i * 32 + thread_idx.x;
        y[[at]] = of_x[[i]];
        // Within the call another one, of another type.
        bytes[[at]] = above(x[[at]], |one| if above(at as i32, |_| 31) == 1 { one + one } else { one });
    }
    sync_warp();
    let of_bytes = doubled(bytes.tile([64], [0]), thread_idx.x);
    for i in unroll(0..2) {
        counts[[i * 32 + thread_idx.x]] = of_bytes[[i]];
    }
}

#[test]
fn a_functions_own_type_is_that_of_its_elements() -> Result<(), Error> {
    fn run<T: layout_cuda::Element + PartialEq>(of: fn(i32) -> T, bytes: u8) -> Result<(), Error> {
        let (device, numbers) = (Device::simulator(), -30..34);
        let x = device.upload(&numbers.clone().map(of).collect::<Vec<_>>(), [64])?;
        let (mut y, mut counts) = (device.zeros::<T, 1>([64])?, device.zeros::<u8, 1>([64])?);
        in_any_type::launch(&device.stream(), &x, &mut y, &mut counts)?;
        assert_eq!(y.download()?, numbers.clone().map(|i| of(2 * i)).collect::<Vec<_>>());
        let wanted =
            numbers.enumerate().map(|(at, i)| if i > 1 + i32::from(at > 31) { 2 } else { 2 * bytes });
        assert_eq!(counts.download()?, wanted.collect::<Vec<_>>());
        Ok(())
    }
    run(|i| i as f32, 4)?;
    run(|i| i, 4)?;
    run(|i| layout_cuda::bf16::from_f32(i as f32), 2)
}
