# Every command of the project, one target per purpose. `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CARGO ?= cargo
PREFIX ?= /usr/local
TARGET_DIR := $(abspath $(or $(CARGO_TARGET_DIR),target))
BINARIES := tidings tidings-agent
LIBRARIES := libtidings_tasks_c.a libtidings_node.a
DEMO_ARGS ?=
PYTHON_DIR := $(TARGET_DIR)/python
PYTHON := PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=python:studies $(PYTHON_DIR)/bin/python

# What the tests need, built in one go: another selection has other features and is built again.
TESTED := --workspace --locked --lib --bins --tests --examples
# The suites beside the crates, and those of whole programs, with which short passes of the benches go.
# A suite is a file, or a folder with a main.rs.
PARTS := $(addprefix --test ,$(sort $(basename $(notdir \
	$(wildcard crates/*/tests/*.rs) $(patsubst %/main.rs,%,$(wildcard crates/*/tests/*/main.rs))))))
# What `make check` leaves out of them: those that simulate for long, and those that need another program.
LONG := campaigns catching_up colonies compact full predicted_ages simulation soak steady_state strategies
FOREIGN := active etcd etcd_spaces killed_calls
QUICK := $(addprefix --test ,$(filter-out --test $(LONG) $(FOREIGN),$(PARTS)))
WHOLE := $(addprefix --test ,$(shell sed -n 's/^name = "\([a-z_]*\)"$$/\1/p' tests/Cargo.toml))

# What the tests download into the folder of the target, beside Cargo: Python's packages (python/requirements.txt,
# python/oldest.txt), MPIs of PyPI, and applications for them.
DOWNLOADED := python python-oldest $(shell sed -n 's/.*made_by("[a-z./-]*", "\([a-z0-9.-]*\)").*/\1/p' \
	crates/experiment/src/mpi/programs.rs)

# The seconds each fuzz target runs, and the targets.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= wire payload aggregate delta roster keyring control config requests records seals
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
	@$(CARGO) build --release --locked -p tidings-cli -p tidings-agent -p tidings-tasks-ffi -p tidings-ffi

test: ## install what the tests need, listed first (not with TIDINGS_INSTALL=no), then run them all
	@missing=$$(for made in $(DOWNLOADED); do [ -e $(TARGET_DIR)/$$made/.ready ] || echo "$(TARGET_DIR)/$$made"; done); \
	status=0; \
	[ -z "$$missing" ] || .ci/download $$missing || status=$$?; \
	.ci/require cargo cc fabric c++ python3 venv dpkg-deb objdump systemd-analyze man \
		lintian rpmbuild rpmlint buildah prometheus promtool chromium ip nft openmpi mpich smpi gfortran hpcc lmp \
		munged slurmctld slurmd srun faketime strace valgrind zsh fish nginx openssl pw.x mocassin etcd etcdctl cpython-tests || status=$$?; \
	exit $$status
	@$(MAKE) --jobs=2 python native
	$(call lanes,test-parts test-whole test-python)

# Lanes beside each other, and what their tests came to.
define lanes
	$(MAKE) --keep-going --jobs $(1) && status=0 || status=$$?; \
	cat $(foreach lane,$(1),$(TARGET_DIR)/$(lane).log) >$(TARGET_DIR)/$@.log; \
	.ci/summary $(TARGET_DIR)/$@.log $$status
endef

# All tests of Rust, compiled.
tested:
	$(CARGO) build $(TESTED)

# The native module of tidings.tasks, where Python looks for it; not writing into one that is in use.
native: tested
	install -m 755 $(TARGET_DIR)/debug/libtidings_tasks_native.so python/tidings/tasks/_native.abi3.so

# Three lanes beside each other: two that compute, and what mostly waits for processes and comes first.
test-parts:
	@.ci/lane $@ $(TARGET_DIR)/$@.log nice \
		"$(CARGO) test --workspace --locked --no-fail-fast --lib --bins --examples $(PARTS)" \
		".ci/limit $(CARGO) test --workspace --locked --no-fail-fast --doc" \
		"$(MAKE) expectations"

test-python:
	@.ci/lane $@ $(TARGET_DIR)/$@.log nice \
		"$(PYTHON) -m pytest -q -c python/pyproject.toml --rootdir python python studies" \
		"$(MAKE) oldest-numpy"

test-whole:
	@.ci/lane $@ $(TARGET_DIR)/$@.log env "$(CARGO) test --workspace --locked --no-fail-fast $(WHOLE) --bench '*'"

check: ## the quick half: the tests of the crates and of Python that need no other program
	@.ci/require cargo cc fabric python3 venv
	@$(MAKE) --jobs=2 python native
	$(call lanes,check-crates check-python)

check-crates:
	@.ci/lane $@ $(TARGET_DIR)/$@.log env \
		"$(CARGO) test --workspace --locked --no-fail-fast --lib --bins --examples $(QUICK)"

check-python:
	@.ci/lane $@ $(TARGET_DIR)/$@.log env \
		"$(PYTHON) -m pytest -q -c python/pyproject.toml --rootdir python -m 'not foreign' python studies"

expectations: python ## count what the core, the board and stealing do, and hold it to scaling.toml
	@.ci/require cargo cc valgrind
	@$(MAKE) tested
	PATH=$(TARGET_DIR)/debug:$(TARGET_DIR)/debug/examples:$$PATH $(PYTHON) -m tidings.scaling run --anew
	$(PYTHON) -m tidings.scaling check --no-record --strict

lint: fmt clippy doc deny ruff book ## check format, lints, documentation and dependencies

fmt:
	@.ci/require cargo rustfmt
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check
	$(CARGO) fmt --manifest-path studies/peers/Cargo.toml --check
	$(CARGO) fmt --manifest-path mpi/rust/Cargo.toml --check

clippy:
	@.ci/require cargo clippy cc mpich
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	MPICC=mpicc.mpich CARGO_TARGET_DIR=$(TARGET_DIR)/mpi-rust $(CARGO) clippy --manifest-path mpi/rust/Cargo.toml \
		--all-targets --locked -- -D warnings
	@$(CARGO) metadata --manifest-path fuzz/Cargo.toml --locked --format-version=1 >/dev/null

doc:
	@.ci/require cargo cc
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

book: ## build the site of the documentation into target/book/html
	@.ci/require cargo cc python3
	@.ci/book

ruff: python
	cd python && $(PYTHON_DIR)/bin/python -m ruff check --no-cache --quiet
	cd python && $(PYTHON_DIR)/bin/python -m ruff format --no-cache --check --quiet
	$(PYTHON_DIR)/bin/python -m ruff check --no-cache --quiet --config python/pyproject.toml studies mpi/platforms examples .ci/limit
	$(PYTHON_DIR)/bin/python -m ruff format --no-cache --check --quiet --config python/pyproject.toml studies mpi/platforms examples .ci/limit
	cd python && $(PYTHON_DIR)/bin/python -m mypy --cache-dir $(PYTHON_DIR)/mypy tidings tests ../studies/drawing
	cd python && for drawn in ../studies/*/draw.py; do \
		$(PYTHON_DIR)/bin/python -m mypy --cache-dir $(PYTHON_DIR)/mypy "$$drawn" || exit 1; done

deny:
	@.ci/require cargo cc
	@.ci/deny

bench: ## measure the core: rounds and aggregates beside a memcpy of the same bytes
	@.ci/require cargo cc
	$(CARGO) bench --locked -p tidings-bench --bench round --bench aggregate

mpi: ## build gossip over MPI, and the shim that hides it, into target/mpi
	@.ci/require cargo cc python3 openmpi mpich smpi
	$(CARGO) build --release --locked -p tidings-ffi
	for mpicc in mpicc.openmpi mpicc.mpich smpicc; do \
		mpi/build $$mpicc $(TARGET_DIR)/release/libtidings_node.a $(TARGET_DIR)/mpi || exit 1; \
		mpi/characterize/build $$mpicc $(TARGET_DIR)/mpi || exit 1; \
	done

python: $(PYTHON_DIR)/.ready

# The Python package's own environment, with exactly the versions that are pinned.
$(PYTHON_DIR)/.ready: python/requirements.txt
	$(environment)

# An environment in the folder of the target, with the versions of the first prerequisite.
define environment
	@.ci/require venv
	@.ci/download $$(sed 's/ *#.*//; s/ *;.*//' $<)
	python3 -m venv --clear $(or $(realpath $(@D)),$(@D))
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
		--only-binary :all: --requirement $<
	@touch $@
endef

# The same with the oldest NumPy that the package takes, and its tests with it; a part of `make test`.
OLDEST_DIR := $(PYTHON_DIR)-oldest
OLDEST_TESTED := bayes pairs verdict rules limits expectation measurement paper_tables readers

oldest-numpy: $(OLDEST_DIR)/.ready
	PYTHONDONTWRITEBYTECODE=1 $(OLDEST_DIR)/bin/python -m pytest -q -c python/pyproject.toml --rootdir python \
		$(OLDEST_TESTED:%=python/tests/scaling/test_%.py)

$(OLDEST_DIR)/.ready: python/oldest.txt
	$(environment)

studies: ## list the studies with their questions; each runs by itself: studies/NAME/run
	@for run in studies/*/run; do \
		printf '  %-19s %s\n' "$$(basename "$$(dirname "$$run")")" "$$(sed -n '2s/^# //p' "$$run")"; \
	done

tasks-peers: ## measure durable tasks beside Ray, Dask, HyperQueue and NATS: 14 minutes on an idle machine
	@studies/tasks-peers/run

# The targets that became studies, and the folder of each.
MOVED := ages:ages board:board busy:busy-share campaign-pages:overhead-here campaigns:overhead-here colonies:colonies \
	crowded:crowded deaths:deaths failures:losses figure2:figure-2 figures:QUESTION injected-rate:injected-slowdown \
	model:freshness-model overload:mpi-gossip peers:peers plots:QUESTION reproduce:overhead-simulated \
	scaling:growth-engines scaling-mafia:growth-clustering scaling-mpi:growth-mpi scaling-pages:growth-mpi \
	shim-cost:mpi-gossip soak:memory-growth starved:faults strategies:freshness thousands:mpi-gossip yielding:mpi-gossip
MOVED_TARGETS := $(foreach one,$(MOVED),$(firstword $(subst :, ,$(one))))
.PHONY: $(MOVED_TARGETS)

$(MOVED_TARGETS):
	@echo "make $@: now studies/$(patsubst $@:%,%,$(filter $@:%,$(MOVED)))/run (--draw only draws, --help says more); 'make studies' lists all" >&2
	@exit 2

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
LIBDIR ?= $(PREFIX)/lib
SHARE := $(DESTDIR)$(PREFIX)/share

install: build install-files ## copy stripped binaries, headers, libraries, man pages and completions below PREFIX (/usr/local)

install-files:
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/man/man1 $(SHARE)/bash-completion/completions \
		$(SHARE)/zsh/vendor-completions $(SHARE)/fish/vendor_completions.d
	install -s -m 755 $(BINARIES:%=$(BINARIES_DIR)/%) $(DESTDIR)$(PREFIX)/bin
	$(BINARIES_DIR)/tidings manuals $(SHARE)/man/man1 >/dev/null
	$(BINARIES_DIR)/tidings-agent --manual >$(SHARE)/man/man1/tidings-agent.1
	$(BINARIES_DIR)/tidings completions bash >$(SHARE)/bash-completion/completions/tidings
	$(BINARIES_DIR)/tidings completions zsh >$(SHARE)/zsh/vendor-completions/_tidings
	$(BINARIES_DIR)/tidings completions fish >$(SHARE)/fish/vendor_completions.d/tidings.fish
	$(BINARIES_DIR)/tidings-agent --completions bash >$(SHARE)/bash-completion/completions/tidings-agent
	$(BINARIES_DIR)/tidings-agent --completions zsh >$(SHARE)/zsh/vendor-completions/_tidings-agent
	$(BINARIES_DIR)/tidings-agent --completions fish >$(SHARE)/fish/vendor_completions.d/tidings-agent.fish
	install -d $(DESTDIR)$(PREFIX)/include
	install -m 644 crates/board/include/*.h crates/ffi/include/*.h crates/tasks-ffi/include/*.h \
		crates/tasks-ffi/fortran/*.f90 $(DESTDIR)$(PREFIX)/include
	install -d $(DESTDIR)$(LIBDIR)
	install -m 644 $(LIBRARIES:%=$(BINARIES_DIR)/%) $(DESTDIR)$(LIBDIR)
	strip --strip-debug --remove-section=.comment --enable-deterministic-archives \
		$(LIBRARIES:%=$(DESTDIR)$(LIBDIR)/%)

deb: build ## make a Debian package, in target/deb
	@.ci/require dpkg-deb objdump
	packaging/build-deb $(BINARIES_DIR) $(TARGET_DIR)/deb

rpm: build ## make RPM packages, in target/rpm
	@.ci/require rpmbuild objdump
	packaging/build-rpm $(BINARIES_DIR) $(TARGET_DIR)/rpm

image: build ## make a container image, tidings, by buildah
	@.ci/require buildah
	packaging/build-image $(BINARIES_DIR) tidings

clean: ## remove what was built
	$(CARGO) clean
