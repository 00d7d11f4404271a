# Everything runs in .venv, which is made on first use. Needed beforehand: Python 3.11 or later, and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help demo test test-hostile coverage lint docs bench clean

help:
	@echo "make demo    crawl a simulated web without a network, and compare with its truth"
	@echo "make test    all checks: style, types, tests"
	@echo "make test-hostile  everything hostile, the long tests too, as one table of guarantees (half an hour)"
	@echo "make coverage  the tests once more, with the lines and branches they reach (three times as long)"
	@echo "make lint    style and types only"
	@echo "make docs    write docs/commands.md, docs/settings.md and src/lycosa/keywords.py anew"
	@echo "make bench   measure"
	@echo "make clean   remove what was made"

COMPILED := $(shell find src -name '*.[ch]')

$(READY): pyproject.toml $(COMPILED)
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@

demo: $(READY)
	$(BIN)/lycosa demo

# Most tests wait for processes and servers of their own, so four at a time fit on two cores.
test: lint
	$(BIN)/pytest -n 4 --dist worksteal

test-hostile: $(READY)
	$(BIN)/python -m tests.hostile.table --full

coverage: $(READY)
	$(BIN)/pytest --cov --cov-report=term

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(READY)
	$(BIN)/python -m lycosa.cli.reference docs
	$(BIN)/python tools/rooms.py docs/rooms.svg

bench: $(READY)
	$(BIN)/lycosa bench

clean:
	rm -rf .venv .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
