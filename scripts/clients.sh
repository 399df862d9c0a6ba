#!/usr/bin/env bash
# Generates clients in Python and TypeScript from the description that a real server gives, without a warning, and lets an
# execution live through each.
#
# ONWARD is the program to try, which is built when none is named. The tools are installed into target/clients the first
# time.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
python_tools='openapi-python-client==0.29.1'
node_tools='openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3 @types/node@20'
tools=$PWD/target/clients
wanted="$python_tools $node_tools"
if [ "$(cat "$tools/installed" 2>/dev/null)" != "$wanted" ]; then
    echo "clients: installing $wanted into target/clients" >&2
    rm -rf "$tools"
    mkdir -p "$tools/node"
    python3 -m venv "$tools/python"
    "$tools/python/bin/pip" install --quiet --disable-pip-version-check "$python_tools"
    # shellcheck disable=SC2086 # several packages
    (cd "$tools/node" && echo '{"private":true,"type":"module"}' >package.json && npm install --silent --no-fund --no-audit $node_tools)
    echo "$wanted" >"$tools/installed"
fi

onward=${ONWARD:-}
if [ -z "$onward" ]; then
    $cargo build -q -p onward-cli
    onward=target/debug/onward
fi
onward=$(realpath "$onward")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export ONWARD_STORE="sqlite:$place/onward.db"
key=$("$onward" key create --name clients --role admin)
"$onward" serve --bind 127.0.0.1:0 --require-keys --json >"$place/said" 2>"$place/log" &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$place"' EXIT
for _ in $(seq 100); do
    [ -s "$place/said" ] && break
    sleep 0.1
done
url=$(sed 's/.*"url":"\([^"]*\)".*/\1/' "$place/said")
[ -n "$url" ] || { echo 'clients: the server did not start' >&2; cat "$place/log" >&2; exit 1; }

# quiet NAME COMMAND...: runs a generator, which must say nothing of what it had to leave out.
quiet() {
    local name=$1
    shift
    "$@" >"$place/$name" 2>&1 || { cat "$place/$name"; return 1; }
    if grep -i 'warning\|unsupported\|omitted\|error' "$place/$name"; then
        echo "clients: $name left something out" >&2
        return 1
    fi
}

# The text of metrics is none of the types that the generator knows.
printf 'content_type_overrides:\n  application/openmetrics-text: text/plain\n' >"$place/python.yml"
PATH=$tools/python/bin:$PATH quiet python "$tools/python/bin/openapi-python-client" generate \
    --url "$url/v1/openapi.json" --config "$place/python.yml" --meta none --output-path "$place/python-client/onward_client"
PYTHONPATH=$place/python-client "$tools/python/bin/python" scripts/clients/life.py "$url" "$key"

source=$tools/node/src
rm -rf "$source"
mkdir -p "$source"
cp scripts/clients/life.ts "$source/"
quiet typescript "$tools/node/node_modules/.bin/openapi-typescript" "$url/v1/openapi.json" -o "$source/onward.ts"
(cd "$tools/node" && ./node_modules/.bin/tsc --strict --noUncheckedIndexedAccess --target es2022 --module nodenext \
    --moduleResolution nodenext --skipLibCheck --outDir built src/life.ts)
node "$tools/node/built/life.js" "$url" "$key"

kill -TERM "$server"
wait "$server"
