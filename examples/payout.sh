#!/bin/sh
# Two of three reviewers approve a payout by links, on a server of its own that ends with the script.
#
#     sh examples/payout.sh
#
# It needs curl, and the program `onward` on the PATH or named by ONWARD.
set -eu
onward=${ONWARD:-onward}
folder=$(mktemp -d)
export ONWARD_STORE="sqlite:$folder/onward.db"
"$onward" serve --bind 127.0.0.1:0 --json >"$folder/server" 2>/dev/null &
server=$!
trap 'kill "$server"; wait "$server" || true; rm -rf "$folder"' EXIT
until grep -q '"url"' "$folder/server"; do sleep 0.1; done
url=$(sed 's/.*"url":"\([^"]*\)".*/\1/' "$folder/server")

# post PATH BODY: calls the server.
post() {
    curl -fsS -X POST "$url$1" -H 'content-type: application/json' -d "$2"
}

# field NAME: the text of a field of the JSON on standard input.
field() {
    sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/"
}

payout=$(post /v1/executions '{"kind": "payout", "input": {"to": "supplier 7", "cents": 125000}}' | field id)
echo "submitted $payout"

# The worker asks before it does anything: what stands before a wait runs again.
lease=$(post /v1/work/claim '{"worker": "payouts-1", "kinds": ["payout"], "wait": "10s"}' | field lease)
post /v1/work/suspend "{\"lease\": \"$lease\", \"timeout\": \"3d\", \"on_timeout\": \"cancel\",
    \"reason\": \"Pay 1,250.00 to supplier 7?\",
    \"condition\": {\"type\": \"count\", \"n\": 2, \"distinct\": \"actors\", \"waits\": [\"review\"], \"names\": [\"approved\"]}}" >/dev/null
"$onward" why "$payout"

for person in ada bob eve; do
    "$onward" token mint "$payout" review --for "$person@example.com" --name approved --name rejected --link "$url" >"$folder/$person"
done
echo 'made three links'

# A click on the page behind the link does this. Opening the link does nothing.
answer() {
    post /v1/signals "{\"token\": \"$(sed 's/.*#//' "$folder/$1")\", \"name\": \"$2\"}" | field effect
}

curl -fsS "$(sed 's/#.*//' "$folder/ada")" >/dev/null
echo "ada approves: $(answer ada approved)"
echo "ada approves again: $(answer ada approved)"
echo "bob rejects: $(answer bob rejected)"
echo "eve approves: $(answer eve approved)"

claimed=$(post /v1/work/claim '{"worker": "payouts-1", "kinds": ["payout"], "wait": "10s"}')
lease=$(echo "$claimed" | field lease)
echo "the same attempt goes on: $(echo "$claimed" | sed 's/.*"attempt":\([0-9]*\).*/attempt \1/')"
post /v1/work/complete "{\"lease\": \"$lease\", \"result\": \"paid\"}" >/dev/null
"$onward" result "$payout"
