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
PYTHON_DIR := $(TARGET_DIR)/python
PYTHON := PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=python:studies/drawing:studies/growth-mpi $(PYTHON_DIR)/bin/python
STUDIES := studies
PEERS_ARGS ?=

# What the tests need, built in one go: another selection has other features and is built again.
TESTED := --workspace --locked --lib --bins --tests --examples
# The suites beside the crates, and those of whole programs, with which short passes of the benches go.
PARTS := $(addprefix --test ,$(sort $(basename $(notdir $(wildcard crates/*/tests/*.rs)))))
WHOLE := $(addprefix --test ,$(shell sed -n 's/^name = "\([a-z_]*\)"$$/\1/p' tests/Cargo.toml))

# The seconds each fuzz target runs, and the targets.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= wire payload aggregate roster keyring control config
# Coverage for libFuzzer, on the stable toolchain: what cargo-fuzz passes too.
FUZZ_FLAGS := --cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1 \
	-Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
	-Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares

# Every target that is a word names a purpose, never a file.
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help: ## list the targets
	@echo "usage: make TARGET"
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: build ## start a cluster of real agents on this machine and watch the news spread
	@$(TARGET_DIR)/release/tidings demo $(DEMO_ARGS)

build: ## build the release binaries
	@.ci/require cargo cc
	@$(CARGO) build --release --locked --bins

test: python ## install what the tests need, then run them all
	@.ci/require cargo cc c++ python3 dpkg-deb objdump systemd-analyze man \
		prometheus promtool chromium ip nft openmpi mpich smpi gfortran hpcc lmp \
		munged slurmctld slurmd srun faketime valgrind pw.x mocassin
	$(CARGO) build $(TESTED)
	$(MAKE) --keep-going --jobs=2 test-parts test-whole && status=0 || status=$$?; \
	cat $(TARGET_DIR)/test-{parts,whole}.log >$(TARGET_DIR)/test.log; \
	.ci/summary $(TARGET_DIR)/test.log $$status

# Two lanes beside each other: what computes, and what mostly waits for processes and comes first.
test-parts:
	@.ci/lane $@ $(TARGET_DIR)/$@.log nice \
		"$(CARGO) test --workspace --locked --no-fail-fast --lib --bins --examples $(PARTS)" \
		"$(CARGO) test --workspace --locked --no-fail-fast --doc" \
		"$(PYTHON) -m pytest -q -c python/pyproject.toml --rootdir python python" \
		"$(MAKE) oldest-numpy" \
		"$(MAKE) expectations"

test-whole:
	@.ci/lane $@ $(TARGET_DIR)/$@.log env "$(CARGO) test --workspace --locked --no-fail-fast $(WHOLE) --bench '*'"

expectations: python ## count instructions of the core and the board, and hold them to scaling.toml
	@.ci/require cargo cc valgrind
	$(CARGO) build $(TESTED)
	PATH=$(TARGET_DIR)/debug:$$PATH $(PYTHON) -m tidings.scaling run --anew
	$(PYTHON) -m tidings.scaling check --no-record --strict

lint: fmt clippy doc deny ruff ## check format, lints, documentation and dependencies

fmt:
	@.ci/require cargo rustfmt
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check
	$(CARGO) fmt --manifest-path studies/peers/Cargo.toml --check

clippy:
	@.ci/require cargo clippy cc
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	@$(CARGO) metadata --manifest-path fuzz/Cargo.toml --locked --format-version=1 >/dev/null

doc:
	@.ci/require cargo cc
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

ruff: python
	cd python && $(PYTHON_DIR)/bin/python -m ruff check --no-cache --quiet
	cd python && $(PYTHON_DIR)/bin/python -m ruff format --no-cache --check --quiet
	$(PYTHON_DIR)/bin/python -m ruff check --no-cache --quiet --config python/pyproject.toml studies mpi/platforms
	$(PYTHON_DIR)/bin/python -m ruff format --no-cache --check --quiet --config python/pyproject.toml studies mpi/platforms
	cd python && $(PYTHON_DIR)/bin/python -m mypy --cache-dir $(PYTHON_DIR)/mypy tidings tests

deny:
	@.ci/require cargo cc
	@.ci/deny

bench: ## measure the core: rounds and aggregates beside a memcpy of the same bytes
	@.ci/require cargo cc
	$(CARGO) bench --locked -p tidings-bench --bench round --bench aggregate

board: ## measure the board: one entry, a snapshot beside a memcpy, the writer with readers
	@.ci/require cargo cc
	$(CARGO) bench --locked -p tidings-bench --bench board

crowded: build ## measure ages where applications want all cores, at each priority (4 minutes)
	TIDINGS_BIN_DIR=$(TARGET_DIR)/release \
		$(CARGO) bench --locked --profile release -p tidings-studies --bench crowded -- --output $(abspath $(STUDIES)/crowded)

# Minutes that real agents are watched, and hours that are simulated before.
SOAK_MINUTES ?= 10
SOAK_HOURS ?= 24

soak: build ## does memory grow? a simulated day, then ten real minutes
	TIDINGS_SOAK_HOURS=$(SOAK_HOURS) \
		$(CARGO) test --release --locked -p tidings-sim --test soak -- --nocapture
	TIDINGS_BIN_DIR=$(TARGET_DIR)/release $(CARGO) bench --locked --profile release -p tidings-studies --bench soak -- \
		--minutes $(SOAK_MINUTES) --output $(abspath $(STUDIES)/memory-growth)

peers: ## compare with chitchat, memberlist and foca on one work (25 minutes)
	@.ci/require cargo cc go
	$(CARGO) build --manifest-path studies/peers/Cargo.toml --locked --release \
		--target-dir $(TARGET_DIR)/peers
	go build -C studies/peers/memberlist -o $(TARGET_DIR)/peers/release/memberlist .
	$(TARGET_DIR)/peers/release/campaign --output $(STUDIES)/peers $(PEERS_ARGS)

mpi: ## build gossip over MPI, and the shim that hides it, into target/mpi
	@.ci/require cargo cc python3 openmpi mpich smpi
	$(CARGO) build --release --locked -p tidings-ffi
	for mpicc in mpicc.openmpi mpicc.mpich smpicc; do \
		mpi/build $$mpicc $(TARGET_DIR)/release/libtidings_node.a $(TARGET_DIR)/mpi || exit 1; \
	done

# A bench beside real MPIs.
mpi_bench = env TIDINGS_BIN_DIR=$(TARGET_DIR)/release \
	$(CARGO) bench --locked -p tidings-studies --bench $(1) -- --output $(abspath $(STUDIES)/mpi-gossip)

shim-cost: mpi ## count the instructions that the shim adds to a call
	@.ci/require valgrind
	$(call mpi_bench,shim-cost)

yielding: mpi ## measure waiting of more ranks than cores, with the library that yields and without
	$(call mpi_bench,yielding)

# Runs of overloaded gossip over MPI.
RUNS ?= 1000

overload: mpi ## ask more of gossip over MPI than can be done, RUNS (1000) times (10 to 30 minutes)
	TIDINGS_OVERLOAD_RUNS=$(RUNS) nice -n 5 $(call mpi_bench,overload)

thousands: mpi ## have one gossip process speak among 8,192 nodes over MPI, down to 0.5 ms (4 minutes)
	$(call mpi_bench,thousands)

figures: figure2 ages failures busy strategies ## redraw all tables and plots: half an hour

# What is drawn of a table: its plot, and its part of the page.
define draw
	$(PYTHON) -m tidings.plots $(1) $(STUDIES)/$(2)/$(1).csv --output $(STUDIES)/$(2)/$(1).svg
	$(PYTHON) -m tidings.tables $(1) $(STUDIES)/$(2)/$(1).csv --into $(STUDIES)/$(2)/README.md
endef

figure2: build python ## simulate average age against window, 128 to 8,192 nodes
	$(TARGET_DIR)/release/tidings sim figure2 --output $(STUDIES)/figure-2
	$(call draw,figure2,figure-2)

ages: build python ## simulate ages in seconds for the intervals of the paper
	$(TARGET_DIR)/release/tidings sim ages --output $(STUDIES)/ages
	$(call draw,ages,ages)

failures: build python ## simulate loss and dead nodes, and the time until they are noticed
	$(TARGET_DIR)/release/tidings sim failures --nodes 1024,8192 --strategy uniform,grid --output $(STUDIES)/losses
	$(call draw,failures,losses)

strategies: build python ## simulate all strategies beside each other, at equal bytes
	$(TARGET_DIR)/release/tidings sim strategies --output $(STUDIES)/freshness
	$(call draw,strategies,freshness)

model: build ## simulate what the model of tidings plan foretells, 64 to 8,192 nodes
	$(TARGET_DIR)/release/tidings sim model --output $(STUDIES)/freshness-model

busy: python ## measure the busy share of a gossip process against interval and nodes
	@.ci/require cargo cc
	$(CARGO) bench --locked -p tidings-studies --bench busy -- --output $(abspath $(STUDIES)/busy-share)
	$(call draw,busy,busy-share)

deaths: build python ## kill 20 of 48 real agents, with and without loss (root; 3 minutes), and simulate the same
	@.ci/require cargo cc ip nft
	$(TARGET_DIR)/release/tidings sim deaths --output $(STUDIES)/deaths
	TMPDIR=/dev/shm $(CARGO) bench --locked -p tidings-studies --bench deaths -- --output $(abspath $(STUDIES)/deaths)
	$(PYTHON) -m tidings.tables deaths $(STUDIES)/deaths/deaths.csv --into $(STUDIES)/deaths/README.md
	$(PYTHON) -m tidings.tables deaths-agents $(STUDIES)/deaths/deaths-agents.csv --into $(STUDIES)/deaths/README.md

starved: python ## give 16 and 48 real agents 5 % of a processor for a minute (root; 4 minutes)
	@.ci/require cargo cc ip nft
	TMPDIR=/dev/shm $(CARGO) bench --locked -p tidings-studies --bench starved -- --output $(abspath $(STUDIES)/faults)
	$(PYTHON) -m tidings.tables starved $(STUDIES)/faults/starved.csv --into $(STUDIES)/faults/README.md

# Campaigns on this machine, and those of them that have a page.
CAMPAIGNS := injected-slowdown/injected $(addprefix overhead-here/,local applications ranks mpich)
CAMPAIGN_PAGES := local applications ranks mpich

campaigns: build mpi python ## what gossip costs on this machine, and whether an injected 0.5 % is found (root; fifty minutes)
	mpicc.openmpi -O2 studies/injected-slowdown/known_length.c -o $(TARGET_DIR)/mpi/known_length
	for name in $(CAMPAIGNS); do \
		$(TARGET_DIR)/release/tidings lab overhead $(STUDIES)/$$name.toml --output $(TARGET_DIR)/campaigns/$${name#*/} || exit 1; \
		for kind in csv manifest.json; do \
			cp $(TARGET_DIR)/campaigns/$${name#*/}/results.$$kind $(STUDIES)/$$name.$$kind || exit 1; \
		done; \
	done
	$(MAKE) campaign-pages

campaign-pages: python ## draw the plots and tables of these campaigns from the CSV files that are there
	for name in $(CAMPAIGN_PAGES); do \
		$(PYTHON) -m tidings.plots overhead $(STUDIES)/overhead-here/$$name.csv --output $(STUDIES)/overhead-here/$$name.svg || exit 1; \
		$(PYTHON) -m tidings.tables overhead $(STUDIES)/overhead-here/$$name.csv --into $(STUDIES)/overhead-here/$$name.md || exit 1; \
	done

CAMPAIGNS_OF_A_RATE ?= 4
LAPS ?= 400

injected-rate: build mpi ## how often a campaign finds an injected 0.5 %, or one that is not there (root; an idle machine; an hour)
	mpicc.openmpi -O2 studies/injected-slowdown/known_length.c -o $(TARGET_DIR)/mpi/known_length
	studies/injected-slowdown/rate.py --campaigns $(CAMPAIGNS_OF_A_RATE) --laps $(LAPS) --folder $(TARGET_DIR)/rate --tidings $(TARGET_DIR)/release/tidings --output $(STUDIES)/injected-slowdown

# Nodes of the simulated torus, and what is run there. At 64 nodes a cell takes seconds:
# make reproduce NODES=64 STUDY="--name overhead-64"
NODES ?= 1024
STUDY ?= --log2 29 --parts 1 --repeats 1 --unit-ns 30

reproduce: mpi python ## simulate what gossip costs on a torus, as in Table 1 of ROSS'14 (half an hour; goes on where it was)
	studies/overhead-simulated/simulate.py --nodes $(NODES) $(STUDY) --programs $(TARGET_DIR)/mpi --output $(STUDIES)/overhead-simulated
	$(PYTHON) -m tidings.plots reproduction $(STUDIES)/overhead-simulated/overhead.csv --output $(STUDIES)/overhead-simulated/overhead.svg
	$(PYTHON) -m tidings.tables reproduction $(STUDIES)/overhead-simulated/overhead.csv --into $(STUDIES)/overhead-simulated/README.md

plots: python ## draw the plots and tables from the CSV files that are there
	$(call draw,figure2,figure-2)
	$(call draw,ages,ages)
	$(call draw,failures,losses)
	$(call draw,busy,busy-share)
	$(call draw,strategies,freshness)
	$(PYTHON) -m tidings.tables deaths $(STUDIES)/deaths/deaths.csv --into $(STUDIES)/deaths/README.md
	$(PYTHON) -m tidings.tables deaths-agents $(STUDIES)/deaths/deaths-agents.csv --into $(STUDIES)/deaths/README.md
	$(PYTHON) -m tidings.tables starved $(STUDIES)/faults/starved.csv --into $(STUDIES)/faults/README.md

python: $(PYTHON_DIR)/.ready

# The Python package's own environment, with exactly the versions that are pinned.
$(PYTHON_DIR)/.ready: python/requirements.txt
	$(environment)

# An environment in the folder of the target, with the versions of the first prerequisite.
define environment
	@.ci/require venv
	python3 -m venv --clear $(or $(realpath $(@D)),$(@D))
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
		--only-binary :all: --requirement $<
	@touch $@
endef

# The same with the oldest NumPy that the package takes.
OLDEST_DIR := $(PYTHON_DIR)-oldest
OLDEST_TESTED := bayes pairs verdict rules limits expectation measurement paper_tables readers

oldest-numpy: $(OLDEST_DIR)/.ready ## test tidings.scaling with the oldest NumPy that it takes
	PYTHONDONTWRITEBYTECODE=1 $(OLDEST_DIR)/bin/python -m pytest -q -c python/pyproject.toml --rootdir python \
		$(OLDEST_TESTED:%=python/tests/scaling/test_%.py)

$(OLDEST_DIR)/.ready: python/oldest.txt
	$(environment)

# A python that has extrap 4.2.5, for the comparison.
EXTRA_P ?= $(TARGET_DIR)/extra-p/bin/python

scaling: python ## compare the engines of tidings.scaling and Extra-P on synthetic suites and kernels (ten minutes)
	@.ci/require cc valgrind
	test -x $(EXTRA_P) || { python3 -m venv $(TARGET_DIR)/extra-p; $(EXTRA_P) -m pip install --quiet extrap==4.2.5; }
	$(PYTHON) studies/growth-engines/compare.py --suite held-out --seed 9001 --per-noise 4 --extra-p $(EXTRA_P) --output $(STUDIES)/growth-engines
	$(PYTHON) studies/growth-engines/compare.py --suite tuning --seed 77 --per-noise 2 --extra-p $(EXTRA_P) --output $(STUDIES)/growth-engines
	$(PYTHON) studies/growth-engines/compare.py --suite drawn --seed 2026 --per-noise 1 --extra-p $(EXTRA_P) --output $(STUDIES)/growth-engines
	$(PYTHON) studies/growth-engines/coverage.py --seeds 300 349 --output $(STUDIES)/growth-engines
	$(PYTHON) studies/growth-engines/kernels.py --measure --extra-p $(EXTRA_P) --output $(STUDIES)/growth-engines
	$(PYTHON) studies/growth-engines/page.py $(STUDIES)/growth-engines/README.md

# Where the MPI study keeps what it measured: one that was stopped goes on. Removed when it is done.
SCALING_RAW ?= $(TARGET_DIR)/scaling-mpi

scaling-mpi: python ## Tables 2 and 3 of the scaling paper: three simulated machines, Open MPI, MPICH (20 minutes)
	@.ci/require cc python3 openmpi mpich smpi
	for mpicc in mpicc.openmpi mpicc.mpich smpicc; do mpi/scaling/build $$mpicc $(TARGET_DIR)/mpi || exit 1; done
	$(PYTHON) studies/growth-mpi/mpi.py --programs $(TARGET_DIR)/mpi --raw $(SCALING_RAW) --output $(STUDIES)/growth-mpi
	rm -r $(SCALING_RAW)
	$(PYTHON) studies/growth-mpi/mpi_page.py $(STUDIES)/growth-mpi/README.md

scaling-mafia: python ## Table 4 of the scaling paper: kernels of a clustering by steps, instructions and time (10 minutes)
	@.ci/require cc python3 valgrind
	studies/growth-clustering/mafia/build $(TARGET_DIR)/mafia
	$(PYTHON) studies/growth-clustering/mafia.py --program $(TARGET_DIR)/mafia --output $(STUDIES)/growth-clustering
	$(PYTHON) studies/growth-clustering/mafia_page.py $(STUDIES)/growth-clustering/README.md

scaling-pages: python ## draw the tables of both studies from the CSV files that are there
	$(PYTHON) studies/growth-mpi/mpi_page.py $(STUDIES)/growth-mpi/README.md
	$(PYTHON) studies/growth-clustering/mafia_page.py $(STUDIES)/growth-clustering/README.md

colonies: build ## simulate 10^4, 10^5 and 10^6 nodes in colonies
	@$(TARGET_DIR)/release/tidings sim colonies --seed 7 --output $(STUDIES)/colonies

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

BINARIES_DIR ?= $(TARGET_DIR)/release
SHARE := $(DESTDIR)$(PREFIX)/share

install: build install-files ## copy binaries, headers, man pages and completions below PREFIX (/usr/local)

install-files:
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/man/man1 $(SHARE)/bash-completion/completions \
		$(SHARE)/zsh/vendor-completions $(SHARE)/fish/vendor_completions.d
	install -m 755 $(BINARIES:%=$(BINARIES_DIR)/%) $(DESTDIR)$(PREFIX)/bin
	$(BINARIES_DIR)/tidings manuals $(SHARE)/man/man1 >/dev/null
	$(BINARIES_DIR)/tidings-agent --manual >$(SHARE)/man/man1/tidings-agent.1
	$(BINARIES_DIR)/tidings completions bash >$(SHARE)/bash-completion/completions/tidings
	$(BINARIES_DIR)/tidings completions zsh >$(SHARE)/zsh/vendor-completions/_tidings
	$(BINARIES_DIR)/tidings completions fish >$(SHARE)/fish/vendor_completions.d/tidings.fish
	$(BINARIES_DIR)/tidings-agent --completions bash >$(SHARE)/bash-completion/completions/tidings-agent
	$(BINARIES_DIR)/tidings-agent --completions zsh >$(SHARE)/zsh/vendor-completions/_tidings-agent
	$(BINARIES_DIR)/tidings-agent --completions fish >$(SHARE)/fish/vendor_completions.d/tidings-agent.fish
	install -d $(DESTDIR)$(PREFIX)/include
	install -m 644 crates/board/include/*.h $(DESTDIR)$(PREFIX)/include

deb: build ## make a Debian package, in target/deb
	@.ci/require dpkg-deb objdump
	packaging/build-deb $(BINARIES_DIR) $(TARGET_DIR)/deb

clean: ## remove what was built
	$(CARGO) clean
