#!/usr/bin/env bash
# Builds the package into a virtual environment and tests it: with NumPy, and with PyTorch where `pip` has it (2 GB).
#   PYTHON=python3.12   another interpreter
#   TORCH=0             without PyTorch
set -euo pipefail
cd "$(dirname "$0")"
venv="${VENV:-target/venv}"
[ -e "$venv" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check "maturin>=1.9.4,<2" numpy pytest
[ "${TORCH:-1}" = 0 ] || "$venv/bin/pip" install --quiet --disable-pip-version-check "torch>=2.10"
source "$venv/bin/activate"
maturin develop --release --quiet
# Without the package the import fails, so that no run passes that has tested nothing.
python -m pytest --quiet tests

# The template in another folder, as a user copies it.
elsewhere=$(mktemp -d)
trap 'rm -rf "$elsewhere"' EXIT
cp -r template/. Cargo.lock "$elsewhere"
sed -i "s|\.\./\.\./\.\.|$(cd ../.. && pwd)|" "$elsewhere/Cargo.toml"
(cd "$elsewhere" && CARGO_TARGET_DIR="$OLDPWD/target" maturin develop --release --quiet && python -m pytest --quiet)
echo "the template: builds and passes elsewhere"
