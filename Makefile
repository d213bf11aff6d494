# Every command of the project, one target per purpose. `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CARGO ?= cargo
PREFIX ?= /usr/local
TARGET_DIR := $(abspath $(or $(CARGO_TARGET_DIR),target))
BINARIES := tidings tidings-agent
DEMO_ARGS ?=
PEERS_ARGS ?=

# The seconds each fuzz target runs, and the targets.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= wire payload roster keyring
# Coverage for libFuzzer, on the stable toolchain: what cargo-fuzz passes too.
FUZZ_FLAGS := --cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1 \
	-Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
	-Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares

.PHONY: help demo build test lint fmt clippy doc deny bench peers figure2 fuzz install clean

help: ## list the targets
	@echo "usage: make TARGET"
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  %-9s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: build ## start a cluster of real agents on this machine and watch the news spread
	@$(TARGET_DIR)/release/tidings demo $(DEMO_ARGS)

build: ## build the release binaries
	@.ci/require cargo cc
	@$(CARGO) build --release --locked --bins

test: ## install what the tests need, then run them all
	@.ci/require cargo cc python3
	$(CARGO) build --workspace --locked --bins
	@mkdir -p $(TARGET_DIR)
	TIDINGS_BIN_DIR=$(TARGET_DIR)/debug $(CARGO) test --workspace --locked --no-fail-fast \
		2>&1 | tee $(TARGET_DIR)/test.log && status=0 || status=$$?; \
	.ci/summary $(TARGET_DIR)/test.log $$status

lint: fmt clippy doc deny ## check format, lints, documentation and dependencies

fmt:
	@.ci/require cargo rustfmt
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check
	$(CARGO) fmt --manifest-path bench/peers/Cargo.toml --check

clippy:
	@.ci/require cargo clippy cc
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	@$(CARGO) metadata --manifest-path fuzz/Cargo.toml --locked --format-version=1 >/dev/null

doc:
	@.ci/require cargo cc
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

deny:
	@.ci/require cargo cc
	@.ci/deny

bench: ## measure the core: the cost of a round beside a memcpy of the same bytes
	@.ci/require cargo cc
	$(CARGO) bench --locked -p tidings-bench

peers: ## compare with chitchat, memberlist and foca on one work, into docs/results (20 minutes)
	@.ci/require cargo cc go
	$(CARGO) build --manifest-path bench/peers/Cargo.toml --locked --release \
		--target-dir $(TARGET_DIR)/peers
	go build -C bench/peers/memberlist -o $(TARGET_DIR)/peers/release/memberlist .
	$(TARGET_DIR)/peers/release/campaign --output docs/results $(PEERS_ARGS)

figure2: build ## simulate average age against window, 128 to 8,192 nodes, into docs/results
	@$(TARGET_DIR)/release/tidings sim figure2 --output docs/results

fuzz: ## run each fuzz target for FUZZ_SECONDS (60) with libFuzzer
	@.ci/require cargo cc c++
	@host=$$(rustc -vV | sed -n 's/^host: //p'); \
	RUSTFLAGS="$(FUZZ_FLAGS)" $(CARGO) build --manifest-path fuzz/Cargo.toml --locked --release \
		--target $$host --target-dir $(TARGET_DIR)/fuzz; \
	for name in $(FUZZ_TARGETS); do \
		mkdir -p fuzz/corpus/$$name fuzz/artifacts/$$name; \
		echo "== fuzz target $$name: $(FUZZ_SECONDS) s"; \
		$(TARGET_DIR)/fuzz/$$host/release/$$name -max_total_time=$(FUZZ_SECONDS) -max_len=4096 \
			-print_final_stats=1 -artifact_prefix=fuzz/artifacts/$$name/ \
			fuzz/corpus/$$name fuzz/seeds/$$name; \
	done

install: build ## copy the binaries to PREFIX/bin (PREFIX=/usr/local)
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(BINARIES:%=$(TARGET_DIR)/release/%) $(DESTDIR)$(PREFIX)/bin

clean: ## remove what was built
	$(CARGO) clean
