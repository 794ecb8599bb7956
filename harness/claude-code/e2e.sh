#!/usr/bin/env bash
# Claude Code end to end against the stub model server: harness/claude-code/e2e.sh [CACHE]
# CACHE (default target/harness) holds the client from npm (400 MB). FOLDLINE_BIN names the binary
# under test (default: target/debug/foldline). Exits 0 with a line SKIP only where npm cannot install the client.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/e2e.py" "${1:-$here/../../target/harness}"
