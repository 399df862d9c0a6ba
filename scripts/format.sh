#!/usr/bin/env bash
# Formats every Rust file, or checks with --check that it is formatted. `cargo fmt` does not see modules that a macro declares.
set -euo pipefail
cd "$(dirname "$0")/.."
find crates xtask -name '*.rs' -not -path '*/target/*' -print0 | xargs -0 rustfmt --edition 2024 "$@"
