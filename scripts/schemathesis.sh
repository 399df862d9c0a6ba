#!/usr/bin/env bash
# Has schemathesis call every route of a real server as its description allows and does not allow: the server must answer
# as it describes itself, never with 5xx, and must not forget to ask for the key.
#
# ONWARD is the program to try, which is built when none is named. BUDGET is the number of examples for each route. The tool
# is installed into target/schemathesis the first time.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
version=4.32.5
tool=$PWD/target/schemathesis
if [ "$("$tool/bin/schemathesis" --version 2>/dev/null)" != "schemathesis, version $version" ]; then
    echo "schemathesis: installing version $version into target/schemathesis" >&2
    rm -rf "$tool"
    python3 -m venv "$tool"
    "$tool/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$version"
fi

onward=${ONWARD:-}
if [ -z "$onward" ]; then
    $cargo build -q -p onward-cli
    onward=target/debug/onward
fi
onward=$(realpath "$onward")
place=$(mktemp -d)
export ONWARD_STORE="sqlite:$place/onward.db"
key=$("$onward" key create --name schemathesis --role admin)
other=$("$onward" key create --name revoker --role admin)
"$onward" serve --bind 127.0.0.1:0 --require-keys --longest-wait 10ms --json >"$place/said" 2>"$place/log" &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$place"' EXIT
for _ in $(seq 100); do
    [ -s "$place/said" ] && break
    sleep 0.1
done
url=$(sed 's/.*"url":"\([^"]*\)".*/\1/' "$place/said")

# It keeps notes where it runs.
cd "$place"

# call KEY OPTIONS...: calls the routes that the options choose.
call() {
    local with=$1
    shift
    "$tool/bin/schemathesis" --no-color run "$url/v1/openapi.json" --header "Authorization: Bearer $with" "$@" \
        --max-examples "${BUDGET:-30}" --seed 1 --generation-database none \
        --request-timeout 30 --suppress-health-check all \
        --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,ignored_auth
}

# The stream of events never ends by itself, and the tests of the server read it. A key that is revoked calls nothing more.
call "$key" --phases fuzzing,stateful --exclude-path /v1/events/stream --exclude-path '/v1/keys/{id}'
call "$other" --phases fuzzing --include-path '/v1/keys/{id}'

kill -TERM "$server"
wait "$server"
