#!/bin/sh
# A worker with nothing but curl and jq.
#
#     sh examples/worker.sh http://127.0.0.1:8700
#
# It serves the lane `shell` until it is interrupted: `count` answers how many words its input has. An attempt must be over
# within its lease of a minute; a worker that needs longer renews it meanwhile, as worker.py does. ONWARD_API_KEY holds its
# key when the server requires one.
set -eu

url=${1:?usage: worker.sh URL}
lease=1m

# call PATH BODY [CURL OPTIONS...]: one call, with the options of curl that say whether it is repeated.
call() {
    path=$1 body=$2
    shift 2
    curl -fsS -X POST "$url$path" -H 'content-type: application/json' \
        ${ONWARD_API_KEY:+-H "authorization: Bearer $ONWARD_API_KEY"} --data-raw "$body" "$@"
}

while true; do
    # A claim is not repeated by itself: it would take more work. Whoever gets none asks again.
    claim="{\"worker\":\"shell-$$\",\"lanes\":[\"shell\"],\"kinds\":[\"count\"],\"lease\":\"$lease\",\"wait\":\"30s\"}"
    if ! work=$(call /v1/work/claim "$claim" --max-time 60); then
        sleep 1
        continue
    fi
    [ "$(printf '%s' "$work" | jq '.executions | length')" -gt 0 ] || continue
    token=$(printf '%s' "$work" | jq '.executions[0].lease')
    # The same key makes a report that is sent again the same report.
    key="Idempotency-Key: $(printf '%s' "$token" | tr -d '"')-end"
    words=$(printf '%s' "$work" | jq -r '.executions[0].input' | wc -w)
    call /v1/work/complete "{\"lease\":$token,\"result\":$((words))}" -H "$key" \
        --retry 10 --retry-delay 1 --retry-all-errors --max-time 60 >/dev/null ||
        echo "not reported: the lease runs out, and the execution is run again" >&2
done
