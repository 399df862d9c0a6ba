#!/usr/bin/env bash
# Runs everything that must hold before a change is merged, goes on after a failure, and ends with `N passed, M failed`.
#
# SEEDS, FRESH_SEEDS and MUTANT_SEEDS set how long the simulation runs; fresh seeds follow from the commit. With QUICK=1 only
# tests that need no server run, and no step that needs other tools. The repository's own rules (xtask tidy) are one of the tests.
set -uo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
quick=${QUICK:-}
seeds=${SEEDS:-2000}
fresh_seeds=${FRESH_SEEDS:-500}
mutant_seeds=${MUTANT_SEEDS:-500}
commit=$(git rev-parse HEAD 2>/dev/null || echo 'no commit')
programs=${CARGO_TARGET_DIR:-target}/debug
started=$SECONDS
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

steps='' # one line for each step: its name and how it ended
steps_failed=0

# finished NAME STATUS SECONDS: remembers how a step ended.
finished() {
    local result='ok'
    if [ "$2" -ne 0 ]; then
        result="FAILED ($2)"
        steps_failed=$((steps_failed + 1))
    fi
    steps+=$(printf '%-12s %-12s %4d s' "$1" "$result" "$3")$'\n'
}

# step NAME COMMAND...: runs the command, shows its output, keeps it in a log, and remembers how it ended.
step() {
    local name=$1 from=$SECONDS
    shift
    printf '\n==> %s: %s\n' "$name" "$*"
    "$@" 2>&1 | tee "$logs/$name"
    local status=${PIPESTATUS[0]}
    finished "$name" "$status" $((SECONDS - from))
    return "$status"
}

# counted WORD: the number before the word in the line in which the suite sums up.
counted() {
    sed -n "s/^tests: .*\b\([0-9][0-9]*\) $1\b.*/\1/p" "$logs/tests" | tail -n 1 | grep . || echo 0
}

# simulated WORD: the number before the word in the last line in which the simulation sums up.
simulated() {
    sed -n "s/^\(.*[^0-9]\)\{0,1\}\([0-9][0-9]*\) $1,.*/\2/p" "$logs/simulation" | tail -n 1 | grep . || echo 0
}

step format bash scripts/format.sh --check
# A lock file that does not fit is a failure: what was tested must be what is built elsewhere.
step clippy "$cargo" clippy --locked --workspace --all-targets --all-features -- -D warnings
step tests "$cargo" run --locked -q -p xtask -- suite ${quick:+--serverless}
tests_status=$?
step simulation "$programs/onward-sim" --kept --seeds "$seeds" --fresh "$fresh_seeds" --commit "$commit"
simulation_status=$?
if [ -z "$quick" ]; then
    step mutants "$programs/onward-sim" --mutants --seeds "$mutant_seeds"
    ONWARD=$programs/onward step schemathesis bash scripts/schemathesis.sh
    ONWARD=$programs/onward step clients bash scripts/clients.sh
    # What `make demo` builds: without servers, HTTP and encryption.
    step lean "$cargo" check --locked -p onward-cli --no-default-features
fi

passed=$(counted passed)
failed=$(counted failed)
operations=$(simulated operations)
total_failed=$((failed + steps_failed))
# Failed tests are counted one by one instead of as a step, unless there is none because the build failed.
if [ "$tests_status" -ne 0 ] && [ "$failed" -gt 0 ]; then
    total_failed=$((total_failed - 1))
fi

printf '\n==> summary\n%s' "$steps"
sed -n '/^slowest tests:/,/^$/p' "$logs/tests"
# A run that did nothing proves nothing.
if [ "$simulation_status" -eq 0 ] && [ "$operations" -eq 0 ]; then
    echo 'simulation   FAILED: it reported no operations'
    total_failed=$((total_failed + 1))
fi
if [ "$tests_status" -eq 0 ] && [ "$passed" -eq 0 ]; then
    echo 'tests        FAILED: none ran'
    total_failed=$((total_failed + 1))
fi
printf 'simulated    %s seeds, %s operations, %s faults\n' "$(simulated seeds)" "$operations" "$(simulated faults)"
printf 'wall time    %d min %d s\n\n' $(((SECONDS - started) / 60)) $(((SECONDS - started) % 60))
printf '%d passed, %d failed\n' "$passed" "$total_failed"
[ "$total_failed" -eq 0 ]
