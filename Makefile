# Two commands: `make demo` and `make test`. Each sets up what it needs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint setup bench docs clean

demo: $(READY)
	$(BIN)/rcpomdp problems
	@echo
	@echo "Always drive into tunnel A: the best a C-POMDP can do, at twice the price in half of the runs."
	$(BIN)/rcpomdp simulate --problem ce --policy blind:tunnel-A
	@echo
	@echo "Take tunnel B at once: the best that never promises more than the budget."
	$(BIN)/rcpomdp simulate --problem ce --policy blind:tunnel-B
	@echo
	@echo "Solve, verify and simulate; kernels are compiled first, once per installation."
	$(BIN)/python examples/demo.py
	@echo
	@echo "Every solver on small problems; what was run before is not run again."
	@mkdir -p demo
	$(BIN)/rcpomdp reproduce smoke --workers 2 --store demo/runs.db
	$(BIN)/rcpomdp report --store demo/runs.db --out demo/report.html
	@echo "Open demo/report.html in a browser."

test: lint
	$(BIN)/python -m pytest -n auto

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

setup: $(READY)

# The site, offline and without warnings: build/docs/index.html
docs: $(VENV)/.docs-ready
	$(BIN)/python -m sphinx -q -E -W --keep-going -b html docs build/docs

bench: $(READY)
	$(BIN)/python benchmarks/ground.py
	$(BIN)/python benchmarks/belief_graph.py
	$(BIN)/python benchmarks/arcs.py
	$(BIN)/python benchmarks/noisy.py
	$(BIN)/python benchmarks/cpomdp.py
	$(BIN)/python benchmarks/files.py
	$(BIN)/python benchmarks/explorer.py
	$(BIN)/python benchmarks/small.py

# Recreated from nothing if a first attempt was cut short: the mark is made last.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rcpomdp needs Python 3.11 or later")'
	@echo "Setting up $(VENV): one to two minutes."
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

$(VENV)/.docs-ready: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) build dist src/rcpomdp.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis demo
