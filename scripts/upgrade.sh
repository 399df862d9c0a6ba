#!/usr/bin/env bash
# Lets this build and an earlier one share a store under load, then leaves it to the earlier one, and has the history judged.
#
# PREVIOUS is the commit of the earlier build; by default the newest tag, or the one that scripts/previous names: the first
# line that is not a comment. OPTIONS are
# options of `onward-chaos run upgrades`.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
previous=${PREVIOUS:-$(git describe --tags --abbrev=0 2>/dev/null || sed -n '/^[0-9a-f]/{p;q}' scripts/previous)}
place=target/previous
mkdir -p "$place"
source=$(mktemp -d)
trap 'rm -rf "$source"' EXIT

echo "upgrade: building the earlier build, $previous"
git archive "$previous" | tar -x -C "$source"
# What it reads; whatever is newer it must leave alone.
formats=$(sed -n 's/^pub const FORMAT: u32 = \([0-9]*\);$/\1/p' "$source/crates/core/src/record/format.rs")
$cargo build --manifest-path "$source/Cargo.toml" --target-dir "$place" --locked -p onward-chaos
$cargo build --locked -p onward-chaos -p onward-checker
# shellcheck disable=SC2086
$cargo run -q --locked -p onward-chaos -- run upgrades --previous "$place/debug/onward-chaos" --previous-formats "${formats:?}" \
    ${OPTIONS:-}
