# Everything here needs only make and a Python from 3.11 on: `make demo PYTHON=python3.12`.
PYTHON ?= python3
VENV ?= .venv
DEMO ?= .demo
BIN = $(abspath $(VENV))/bin
STAMP = $(VENV)/.installed

# The demo keeps its answers in its own folder, whatever store is in use otherwise.
unexport HARNESS_STORE

.PHONY: demo test lint fuzz perf pacing clean

demo: $(STAMP)
	@mkdir -p $(DEMO)
	@touch $(DEMO)/harness.toml
	@cd $(DEMO) && $(BIN)/python $(abspath tools/demo.py)

test: $(STAMP)
	$(BIN)/python -m pytest -n 3 --dist loadfile

perf: $(STAMP)
	$(BIN)/python -m perf

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy

# A minute a target by default: `make fuzz TARGETS=extraction FUZZ_SECONDS=600`.
TARGETS ?= $(basename $(notdir $(wildcard tests/fuzz/corpus/*.jsonl)))
FUZZ_SECONDS ?= 60

fuzz: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable '.[fuzz]'
	@for target in $(TARGETS); do \
		$(BIN)/python tests/fuzz/run_atheris.py $$target --seconds $(FUZZ_SECONDS) --keep || exit 1; done

pacing: $(STAMP)
	$(BIN)/python tests/pacing_table.py

clean:
	rm -rf $(DEMO) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find harness tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Installed once per lock file; a virtual environment that is already there is kept.
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: $(PYTHON) is older than 3.11; try make PYTHON=python3.12" >&2; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(STAMP)
