# Two commands for a newcomer: `make demo` and `make test`. Each sets up what it needs: the demo the product alone,
# the tests the developer tools as well.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
REFERENCE := .venv-reference
PRODUCT := $(VENV)/.product
READY := $(VENV)/.ready
PIP := $(BIN)/pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt
# A process for each core; files stay whole, because they share what they set up. One thread each: networks are tiny.
PARALLEL := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile
# Python keeps what it compiled, whatever the machine says: otherwise each process compiles torch and pandas again.
export PYTHONDONTWRITEBYTECODE :=
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.PHONY: setup postgres reference demo test test-fuzz test-slow test-browser test-all docs lint format paper clean

setup: $(READY)

# torch first: the constraint then keeps its CPU build, whatever another package asks for.
$(PRODUCT): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) torch
	$(PIP) -e .
	touch $(PRODUCT)

$(READY): $(PRODUCT)
	$(PIP) -e '.[dev]'
	touch $(READY)

demo: $(PRODUCT)
	$(BIN)/logiclens explain

test: setup
	$(PARALLEL) -m "not slow" --ignore tests/browser

# The server that exported SQL is executed in: Debian's, installed where it is missing. Its tests are skipped without it.
postgres:
	command -v initdb || ls /usr/lib/postgresql/*/bin/initdb || $(AS_ROOT) apt-get install -y -qq postgresql \
	  || { $(AS_ROOT) apt-get update -qq && $(AS_ROOT) apt-get install -y -qq postgresql; }

# The documentation in docs/_build/html, its notebooks run; a warning fails it. Pages of names that are gone are removed first.
docs: setup
	rm -rf docs/_build docs/generated
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -n -q -E docs docs/_build/html

# The report and the documentation in a real browser: Debian's Chromium, installed where it is missing.
test-browser: setup docs
	command -v chromium || command -v chromium-browser || $(AS_ROOT) apt-get install -y -qq chromium \
	  || { $(AS_ROOT) apt-get update -qq && $(AS_ROOT) apt-get install -y -qq chromium; }
	LOGICLENS_BROWSER=required $(BIN)/python -m pytest tests/browser

# Every example of the property tests, of which `make test` draws a part.
test-fuzz: setup
	$(PARALLEL) -m "hypothesis and not slow" --hypothesis-profile=full --ignore tests/browser

# Spark, and workers that are killed.
test-slow: setup
	$(PARALLEL) -m slow --ignore tests/browser

test-all: test test-fuzz test-browser test-slow

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The library we compare with gets an environment of its own.
reference: $(REFERENCE)/.ready

$(REFERENCE)/.ready: constraints.txt
	test -x $(REFERENCE)/bin/python || $(PYTHON) -m venv $(REFERENCE)
	$(REFERENCE)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(REFERENCE)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt torch_explain==1.5.1
	touch $(REFERENCE)/.ready

# The paper's tables and figures beside every peer, and every page with figures, from lab/results (data files in the folder
# that LOGICLENS_DATA names; images need a GPU). It goes on where it was stopped; lab/README.md lists each experiment alone.
paper: setup reference
	$(BIN)/python -m lab paper --protocol both --limit 600
	$(BIN)/python -m lab planted
	$(BIN)/python -m lab domination --limit 600
	$(BIN)/python -m lab ablation
	$(BIN)/python -m lab side-by-side
	$(BIN)/python -m lab speed
	$(BIN)/python -m lab pages

clean:
	rm -rf $(VENV) $(REFERENCE) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache docs/_build docs/generated
