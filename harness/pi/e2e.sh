#!/usr/bin/env bash
# pi end to end against the stub model server, the trigger's extension and then the pruning one: harness/pi/e2e.sh [CACHE]
# CACHE (default target/harness) holds pi 0.73.1, the current pi and Node 22 from npm. FOLDLINE_BIN names the binary
# under test (default: target/debug/foldline). Exits 0 with a line SKIP only where npm cannot install pi.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v npm >/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get install -y -q --no-install-recommends nodejs npm >&2 || true
fi
cache=${1:-$here/../../target/harness}
python3 "$here/e2e.py" "$cache"
python3 "$here/prune_e2e.py" "$cache"
