#!/usr/bin/env bash
# Runs all that must hold before a change is merged, goes on after a failure, and ends with `N passed, M failed`.
#
# SEEDS, FRESH_SEEDS and MUTANT_SEEDS set how long the simulation runs; fresh seeds follow from the commit. The repository's own rules (xtask tidy) are one of the tests.
set -uo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
seeds=${SEEDS:-2000}
fresh_seeds=${FRESH_SEEDS:-500}
mutant_seeds=${MUTANT_SEEDS:-500}
commit=$(git rev-parse HEAD 2>/dev/null || echo 'no commit')
started=$SECONDS
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

steps='' # one line for each step: its name and how it ended
steps_failed=0

# step NAME COMMAND...: runs the command, shows its output, keeps it in a log, and remembers how it ended.
step() {
    local name=$1 from=$SECONDS result='ok'
    shift
    printf '\n==> %s: %s\n' "$name" "$*"
    "$@" 2>&1 | tee "$logs/$name"
    local status=${PIPESTATUS[0]}
    if [ "$status" -ne 0 ]; then
        result="FAILED ($status)"
        steps_failed=$((steps_failed + 1))
    fi
    steps+=$(printf '%-12s %-12s %4d s' "$name" "$result" $((SECONDS - from)))$'\n'
    return "$status"
}

# tests_counted WORD: the sum of the numbers before the word in cargo's `test result:` lines.
tests_counted() {
    awk -v word="$1" '/^test result:/ { for (i = 2; i <= NF; i++) if ($i == word ";") sum += $(i - 1) } END { print sum + 0 }' \
        "$logs/tests"
}

# simulated WORD: the number that belongs to the word in the last summary line of the simulation, as in
# `2000 seeds, 31 faults` or `seeds=2000 faults=31`; `0` when there is none.
simulated() {
    awk -v word="$1" '
        /seeds/ && /operations/ && /faults/ { line = $0 }
        END {
            while (match(line, /[0-9][,_][0-9]/)) line = substr(line, 1, RSTART) substr(line, RSTART + 2)
            gsub(/[^A-Za-z0-9]+/, " ", line)
            count = split(line, words, " ")
            for (i = 1; i <= count && !first; i++) if (words[i] ~ /^(seeds|commands|operations|faults)$/) first = i
            offset = (first > 1 && words[first - 1] ~ /^[0-9]+$/) ? -1 : 1
            for (i = 1; i <= count; i++) if (words[i] == word) found = words[i + offset]
            print found + 0
        }' "$logs/simulation"
}

step format "$cargo" fmt --all --check
# A lock file that does not fit is a failure: what was tested must be what is built elsewhere.
step clippy "$cargo" clippy --locked --workspace --all-targets -- -D warnings
step tests "$cargo" test --locked --workspace --no-fail-fast
tests_status=$?
# Chosen together with the tests, as below, so that hardly anything is built again.
programs=${CARGO_TARGET_DIR:-target}/debug
step programs "$cargo" build --locked --workspace --bins --tests
step simulation "$programs/onward-sim" --kept --seeds "$seeds" --fresh "$fresh_seeds" --commit "$commit"
simulation_status=$?
step mutants "$programs/onward-sim" --mutants --seeds "$mutant_seeds"
ONWARD=$programs/onward step schemathesis bash scripts/schemathesis.sh
step otel "$cargo" test --locked --workspace --features onward-cli/otel --test cli otel

passed=$(tests_counted passed)
failed=$(tests_counted failed)
operations=$(simulated operations)
total_failed=$((failed + steps_failed))
# Failed tests are counted one by one instead of as a step, unless there is none because the build failed.
if [ "$tests_status" -ne 0 ] && [ "$failed" -gt 0 ]; then
    total_failed=$((total_failed - 1))
fi

printf '\n==> summary\n%s' "$steps"
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
