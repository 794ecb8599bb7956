#!/usr/bin/env bash
# pi end to end against the stub model server: harness/pi/e2e.sh [CACHE]
# CACHE (default target/harness) holds pi 0.73.1, the current pi and Node 22 from npm. FOLDLINE_BIN names the binary
# under test (default: target/debug/foldline). Exits 0 with a line SKIP only where npm cannot install pi.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v npm >/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get install -y -q --no-install-recommends nodejs npm >&2 || true
fi
exec python3 "$here/e2e.py" "${1:-$here/../../target/harness}"
