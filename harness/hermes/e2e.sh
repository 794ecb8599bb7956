#!/usr/bin/env bash
# Hermes end to end against the stub model server: harness/hermes/e2e.sh [CACHE]
# CACHE (default target/harness) holds a virtual environment with the packages. FOLDLINE_BIN names the binary under test
# (default: target/debug/foldline). Exits 0 with a line SKIP only where the packages cannot be installed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/e2e.py" "${1:-$here/../../target/harness}"
