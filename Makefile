# Everything runs in .venv, which is made on first use. Needed beforehand: Python 3.11 or later, and make.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
# Stamps: lycosa with what it needs, and what its developers need on top of that.
RUNS := .venv/.runs
READY := .venv/.ready
# Hundreds of processes are started by the tests: none of them shall compile lycosa's modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo wheels check test test-hostile test-sites fuzz coverage lint docs bench bench-guard bench-guard-keep clean

help:
	@echo "make demo    crawl a simulated web without a network, and compare with its truth"
	@echo "make check   style, types and the tests that start no process, but for the longest: in a minute"
	@echo "make test    all checks: style, types, all tests"
	@echo "make test-hostile  everything hostile, the long tests too, as one table of guarantees (half an hour)"
	@echo "make test-sites  183 made-up sites, good and endless, crawled by the real command (five minutes, or thirty on a busy machine)"
	@echo "make fuzz    random input for the compiled parts, guided by coverage, for two minutes"
	@echo "make coverage  the tests once more, with the lines and branches they reach (three times as long)"
	@echo "make lint    style and types only"
	@echo "make docs    write docs/commands.md, docs/settings.md and src/lycosa/keywords.py anew"
	@echo "make bench   measure lycosa beside other crawlers"
	@echo "make bench-guard  what each stage of a page costs, against bench/guard.json: in a minute (bench-guard-keep writes it)"
	@echo "make wheels  build wheels for Linux x86-64 and arm64, without docker (four minutes)"
	@echo "make clean   remove what was made"

COMPILED := $(shell find src -name '*.[ch]')

$(RUNS): pyproject.toml $(COMPILED)
	@echo "1. An environment for lycosa alone, in .venv"
	$(PYTHON) -m venv .venv
	@echo "2. lycosa and what it needs into it; its C parts are compiled (half a minute, and downloads of 140 MB once)"
	$(PIP) install -e .
	@touch $@

# Not ".[dev]", which would compile once more. Nothing to do again when only C has changed.
$(READY): pyproject.toml | $(RUNS)
	@echo "3. What lycosa's developers need: tests, types, servers to test against"
	@$(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['dev'], sep='\n')" > .venv/dev.txt
	$(PIP) install -r .venv/dev.txt
	@touch $@

demo: $(RUNS)
	$(BIN)/lycosa demo

check: lint
	LYCOSA_FUZZ_EXAMPLES=20 $(BIN)/pytest -n 2 --dist worksteal -m "not process and not long and not full" --no-processes \
		--hypothesis-profile=quick --named-skips-only

# Most tests wait for processes and servers of their own, so four at a time fit on two cores.
test: lint
	$(BIN)/pytest -n 4 --dist worksteal --named-skips-only

test-hostile: $(READY)
	$(BIN)/python -m tests.hostile.table --full

test-sites: $(READY)
	$(BIN)/python -m tests.site.web.run

fuzz: $(READY)
	$(BIN)/python -m tests.fuzz.guided --seconds 60
	$(BIN)/python -m tests.fuzz.hrefs --seconds 60

coverage: $(READY)
	$(BIN)/pytest --cov --cov-report=term

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(RUNS)
	$(BIN)/python -m lycosa.cli.reference docs
	$(BIN)/python tools/rooms.py docs/rooms.svg

bench: $(RUNS)
	$(BIN)/lycosa bench

GUARD := $(BIN)/python -m lycosa.bench.guard --figures bench/guard.json --others tests/data/extraction

bench-guard: $(RUNS)
	$(GUARD)

bench-guard-keep: $(RUNS)
	$(GUARD) --keep

clean:
	rm -rf .venv .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# zig builds for both architectures; with docker, `pipx run cibuildwheel` does the same (docs/install.md).
wheels:
	$(PYTHON) tools/wheels.py
