#!/bin/sh
# Makes sure that everything the tests need beside Rust is there, and installs only what is missing.
set -eu

packages=''

# need COMMAND PACKAGES: the command comes with these Debian packages.
need() {
    command -v "$1" >/dev/null 2>&1 || packages="$packages $2"
}

need cc 'gcc libc6-dev' # SQLite is compiled from its source
need strace strace      # the crash tests record writes and syncs
need redis-server redis-server
need curl curl          # the tests run what docs/http.md shows
need jq jq              # and of an example
need python3 python3    # and a worker in another language
python3 -c 'import ensurepip, venv' 2>/dev/null || need ensurepip python3-venv # schemathesis gets a place of its own
need node nodejs        # a client in TypeScript is generated and used
need npm npm
need openssl openssl    # the tests of encrypted connections make certificates
# Debian keeps the programs of each version of Postgres in a directory of their own.
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || need postgres postgresql
need valkey-server 'valkey-server valkey-tools'
need faketime faketime  # `make chaos` lets the wall clock of one process jump

if ! command -v cargo >/dev/null 2>&1; then
    echo 'deps: cargo is missing; install Rust as https://rustup.rs says, then run this again' >&2
    exit 1
fi

if ! { cargo fmt --version && cargo clippy --version; } >/dev/null 2>&1; then
    if ! command -v rustup >/dev/null 2>&1; then
        echo 'deps: cargo fmt or cargo clippy is missing; install the rustfmt and clippy that belong to your cargo' >&2
        exit 1
    fi
    echo 'deps: adding the Rust components rustfmt and clippy'
    rustup component add rustfmt clippy
fi

if [ -z "$packages" ]; then
    echo 'deps: nothing is missing'
    exit 0
fi

# give_up REASON: says exactly what is left to do.
give_up() {
    echo "deps: $1; install these Debian packages (or what your system calls them), then run this again:" >&2
    echo "    apt-get install$packages" >&2
    exit 1
}

command -v apt-get >/dev/null 2>&1 || give_up 'there is no apt-get here'

if [ "$(id -u)" -eq 0 ]; then
    as_root=''
elif command -v sudo >/dev/null 2>&1; then
    as_root='sudo'
else
    give_up 'neither root nor sudo is at hand'
fi

# add_backports: lets apt find packages of the release's backports, by copying the machine's own source with that suite.
add_backports() {
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    [ -n "$codename" ] || give_up 'this release has no code name, so its backports cannot be found'
    suite="$codename-backports"
    grep -qs "$suite" /etc/apt/sources.list /etc/apt/sources.list.d/* && return
    for source in /etc/apt/sources.list.d/*.sources; do
        [ -e "$source" ] || continue
        # The first paragraph that names the release itself, with its suites replaced and its remarks left out.
        copy=$(awk -v RS='' -v code="$codename" '$0 ~ "(^|\n)Suites:[^\n]* ?" code "( |\n|$)" { print; exit }' "$source" |
            sed -e '/^#/d' -e "s/^Suites:.*/Suites: $suite/")
        [ -n "$copy" ] || continue
        echo "deps: adding the suite $suite to the package sources"
        printf '%s\n' "$copy" | $as_root tee /etc/apt/sources.list.d/onward-backports.sources >/dev/null
        return
    done
    copy=$(awk -v code="$codename" '$1 == "deb" { for (i = 2; i <= NF; i++) if ($i == code) { print; exit } }' \
        /etc/apt/sources.list 2>/dev/null | sed "s/ $codename / $suite /")
    [ -n "$copy" ] || give_up "no package source of $codename was found to copy for its backports"
    echo "deps: adding the suite $suite to the package sources"
    printf '%s\n' "$copy" | $as_root tee /etc/apt/sources.list.d/onward-backports.list >/dev/null
}

# install PACKAGES...: installs them.
install() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@"
}

echo "deps: installing$packages with apt-get"
renew='the package lists could not be renewed; trying with those at hand'
$as_root apt-get -qq update || echo "deps: $renew" >&2
from=''
case "$packages" in
*valkey*)
    if ! apt-cache show valkey-server >/dev/null 2>&1; then
        add_backports
        from="-t $suite"
        $as_root apt-get -qq update || echo "deps: $renew" >&2
    fi
    ;;
esac
# The variables hold lists of words.
# shellcheck disable=SC2086
install $from $packages || give_up 'apt-get could not install them'

# Tests start servers of their own; those that came with the packages are not needed.
for service in postgresql valkey-server redis-server; do
    case "$packages" in
    *"$service"*) $as_root service "$service" stop >/dev/null 2>&1 || true ;;
    esac
done
