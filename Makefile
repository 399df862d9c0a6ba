# `make` lists what can be asked for. Everything works in a fresh clone; only cargo is needed beforehand.

.DEFAULT_GOAL := help
.PHONY: help demo deps test quick check bench chaos upgrade fuzz sim sim-mutants soak bars

CARGO ?= cargo
SEEDS ?= 2000
FRESH_SEEDS ?= 500
MINUTES ?= 10
MUTANT_SEEDS ?= 500
CASES ?= 100000
FUZZED = onward-fuzz onward-core onward-store onward-engine onward onward-server onward-cli
STORES ?= sqlite postgres valkey cluster

help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

# The demo needs the embedded store alone. Building first shows progress; the second call then starts without cargo's own lines.
demo: ## Show durable work surviving a crash, in a minute
	@$(CARGO) build -p onward-cli --no-default-features
	@$(CARGO) run -q -p onward-cli --no-default-features -- demo

deps: ## Install the Debian packages that the tests need, if any is missing
	@sh scripts/deps.sh

test: deps ## Run all that must hold: format, lints, tests, simulation, mutants
	@SEEDS=$(SEEDS) FRESH_SEEDS=$(FRESH_SEEDS) MUTANT_SEEDS=$(MUTANT_SEEDS) CARGO='$(CARGO)' bash scripts/test.sh

quick: ## Run format, lints, all tests that need no server, and 200 seeds; for the daily loop
	@QUICK=1 SEEDS=200 FRESH_SEEDS=0 CARGO='$(CARGO)' bash scripts/test.sh

check: ## Check format, lints and the repository's own rules, without running tests
	@bash scripts/format.sh --check
	@$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings
	@$(CARGO) run -q -p xtask -- tidy

bench: ## Measure the life of an execution with 64 callers
	@$(CARGO) build --release -p onward-cli --features bench
	@$(CARGO) run --release -q -p onward-cli --features bench -- bench lifecycle --callers 64

sim: ## Run the engine in a broken world: SEEDS=2000, every seed that ever failed, and FRESH_SEEDS=500 of the commit
	@$(CARGO) build -p onward-sim
	@$(CARGO) run -q -p onward-sim -- --kept --seeds $(SEEDS) --fresh $(FRESH_SEEDS) --commit "$$(git rev-parse HEAD)"

sim-mutants: ## Plant faults in the engine; the simulation must find each one
	@$(CARGO) build -p onward-sim
	@$(CARGO) run -q -p onward-sim -- --mutants --seeds $(MUTANT_SEEDS)

soak: ## Run fresh seeds for MINUTES=10 and write a line into docs/ledger.md
	@$(CARGO) build --release -p onward-sim
	@$(CARGO) run --release -q -p onward-sim -- --soak $(MINUTES) --ledger docs/ledger.md \
	  --date "$$(date -u +%F)" --commit "$$(git describe --always --dirty --exclude '*')"

# Fuzz tests have names that start with `fuzz`; those of public parsers are in a test program of that name.
fuzz: ## Give every parser CASES=100000 hostile inputs
	@PROPTEST_CASES=$(CASES) $(CARGO) test --no-fail-fast $(FUZZED:%=-p %) --lib --bins --test fuzz fuzz

chaos: deps ## Kill processes and break servers under load for about 20 minutes, and have the history judged
	@$(CARGO) build -p onward-chaos -p onward-checker
	@$(CARGO) run -q -p onward-chaos -- all

upgrade: deps ## Let this build and an earlier one share a store under load, then leave it to the earlier one
	@CARGO='$(CARGO)' bash scripts/upgrade.sh

bars: ## Measure every scenario on STORES="sqlite postgres valkey cluster" and compare it with its bar
	@$(CARGO) build --release -p onward-cli --features bench
	@CARGO='$(CARGO)' bash scripts/bars.sh $(STORES)
