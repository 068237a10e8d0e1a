#!/usr/bin/env bash
# The algebra and pycute on the same cases in one run; pycute comes from PyPI into target/pycute.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -d target/pycute ] || python3 -m pip install --quiet --disable-pip-version-check --no-deps --target target/pycute nvidia-cutlass==4.2.0
cargo bench --quiet -p layout-bench --bench algebra -- --warm-up-time 0.5 --measurement-time 1 2>/dev/null | grep -E "time:|thrpt:|^[a-z0-9 /]+$" || true
PYTHONPATH=target/pycute python3 examples/bench/pycute_cases.py
