#!/usr/bin/env bash
# Measures every scenario on each store that is named, one after the other, and shows all bars together at the end.
#
# Ends with 1 when a bar was missed or a scenario failed on any of them. BARS_OPTIONS are options of `onward bench all`
# instead of the ones that are chosen here, such as --quick to see that everything works.
set -uo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
missed=''

for store in "$@"; do
    case $store in
    sqlite | postgres | valkey | redis | cluster) ;;
    *)
        echo "bars: $store is none of sqlite, postgres, valkey, redis and cluster" >&2
        exit 2
        ;;
    esac
done

for store in "$@"; do
    # A million executions would take hours to write to a server, or more memory than many machines have.
    address="$store:" options='--finished 100000 --waiting 10000'
    [ "$store" != sqlite ] || address=sqlite:onward.db options=''
    read -ra options <<<"${BARS_OPTIONS:-$options}"
    echo "bars: $store" >&2
    $cargo run --release -q -p onward-cli --features bench -- --store "$address" bench all "${options[@]}" >"$results/$store"
    code=$?
    [ "$code" -eq 0 ] || missed+=" $store (exit code $code)"
done

for store in "$@"; do
    printf '\n%s\n' "$store"
    cat "$results/$store"
done
if [ -n "$missed" ]; then
    printf '\nNot all is met:%s\n' "$missed"
    exit 1
fi
printf '\nEvery bar is met.\n'
