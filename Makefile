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

<<<<<<< HEAD
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
=======
# What exact mode costs, how fast heads are proved and formulas evaluated; the first needs LOGICLENS_DATA.
bench-exact: setup
	$(BIN)/python benchmarks/exact_accuracy.py
	$(BIN)/python benchmarks/million.py
	$(BIN)/python benchmarks/throughput.py
	$(BIN)/python benchmarks/minimiser.py

# The defaults beside trees on small tables (needs LOGICLENS_DATA), growth with rows, the report, import times.
bench-table: setup
	$(BIN)/python benchmarks/defaults.py
	$(BIN)/python benchmarks/sight.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/startup.py

# Planted formulas: is the truth found? And is there a table on which a simple peer dominates our rules? Both need
# LOGICLENS_DATA and go on where they were stopped.
bench-planted: setup
	$(BIN)/python benchmarks/planted.py --seeds-from 500 --json benchmarks/results/planted.json
	$(BIN)/python benchmarks/truth_page.py

bench-domination: setup
	$(BIN)/python benchmarks/domination.py --json benchmarks/results/domination.json
	$(BIN)/python benchmarks/truth_page.py

# Each part of the defaults changed alone, into benchmarks/results and docs/ablation.md (needs LOGICLENS_DATA).
# It goes on where it was stopped.
bench-ablation: setup
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/ablation.py --json benchmarks/results/ablation.json
	$(BIN)/python benchmarks/ablation_page.py

# Five other ways to explain a table beside ours, into benchmarks/results and docs/why.md (needs LOGICLENS_DATA).
bench-side-by-side: setup
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/side_by_side.py
	$(BIN)/python benchmarks/why_page.py

# Counting in engines beside a plain GROUP BY, pandas and polars, into benchmarks/results and docs/scale.md; an hour, and 4 GB of disk.
bench-scale: setup
	$(BIN)/python benchmarks/scale.py --few 1e6 1e7 1e8 --measured 1e6 1e7 --worst 1e6 --spark 1e6 1e7 1e8 \
	  --json benchmarks/results/scale.json
	$(BIN)/python benchmarks/scale_page.py

# Changes of the checker and of storage, one place at a time: do their tests notice? Into benchmarks/results/mutation.json.
bench-mutation: setup
	$(BIN)/python benchmarks/mutation.py src/logiclens/verify/*.py --tests tests/verify src/logiclens/verify --slowest 0.15
	$(BIN)/python benchmarks/mutation.py src/logiclens/storage.py --tests tests/test_storage.py src/logiclens/storage.py

# The paper's tables and figures beside every peer, into benchmarks/results (needs LOGICLENS_DATA; images need a GPU).
# It goes on where it was stopped; a new run needs an empty folder.
RESULTS ?= benchmarks/results
bench-paper: setup reference
	$(BIN)/logiclens bench --protocol both --limit 600 --out $(RESULTS)
	$(BIN)/logiclens bench sweep vdem --protocol both --out $(RESULTS)
	$(BIN)/logiclens bench toy --protocol both --out $(RESULTS)
	$(BIN)/logiclens bench report $(RESULTS)
	$(BIN)/python benchmarks/results_page.py

# Everything about speed beside torch_explain, trees and rule learners, into benchmarks/results/speed.{json,md,svg,png};
# real tables need LOGICLENS_DATA, images among them their predicted concepts: CONCEPTS=folder.
bench-speed: setup reference
	$(BIN)/python benchmarks/bench_speed.py $(if $(CONCEPTS),--concepts $(CONCEPTS))

# Instructions of six fixed jobs beside the committed baseline: fails where one grew by more than 10% (needs valgrind).
bench-check: setup
	$(BIN)/python benchmarks/instructions.py

bench-baseline: setup
	$(BIN)/python benchmarks/instructions.py --write
>>>>>>> wD

clean:
	rm -rf $(VENV) $(REFERENCE) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache docs/_build docs/generated
