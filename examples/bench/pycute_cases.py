"""The cases of algebra.rs in pycute: prints the median of each in nanoseconds.

Run with pycute importable: pip install nvidia-cutlass==4.2.0, then python3 examples/bench/pycute_cases.py
"""

import statistics
import timeit

from pycute import Layout, coalesce, complement, composition, logical_divide

CASES = {
    2: (
        Layout((64, 32), (32, 1)),
        Layout((16, 8), (1, 64)),
        Layout((4, 8), (2, 64)),
        Layout(8, 1),
    ),
    4: (
        Layout((8, 4, 16, 2), (4, 1, 64, 32)),
        Layout((8, 2, 4, 2), (1, 8, 32, 128)),
        Layout((2, 4, 2, 2), (1, 4, 32, 128)),
        Layout((2, 4), (1, 8)),
    ),
}


def nanoseconds(function, number=200, rounds=15):
    """The median over rounds of the mean time of a call."""
    return statistics.median(timeit.repeat(function, number=number, repeat=rounds)) / number * 1e9


for rank, (a, b, sparse, tile) in CASES.items():
    for name, function in {
        "coalesce": lambda: coalesce(a),
        "composition": lambda: composition(a, b),
        "complement": lambda: complement(sparse, 4096),
        "logical_divide": lambda: logical_divide(a, tile),
    }.items():
        print(f"rank {rank}/{name}: {nanoseconds(function):.0f} ns")
