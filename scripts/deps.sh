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

echo "deps: installing$packages with apt-get"
# The variables hold lists of words.
# shellcheck disable=SC2086
{
    $as_root apt-get -qq update || echo 'deps: the package lists could not be renewed; trying with those at hand' >&2
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $packages
} || give_up 'apt-get could not install them'
