# make demo and make test are all that a fresh machine needs: Python 3.11 or newer, a POSIX shell, any GNU make from 3.81.

PYTHON  ?= python3
# More options for pip, such as an index of CPU-only torch: make demo PIP_ARGS="--extra-index-url URL"
PIP_ARGS ?=
# More options for pytest, such as a folder or -k WORD: make test PYTEST_ARGS="tests/domain -x"
PYTEST_ARGS ?=
# pytest starts one worker a core, at most this many
WORKERS ?= 4

# Where the sets of questions lie that recall is measured on
BENCH_DATA ?= ../shared/data
# make bench BENCH=short: the same tables in minutes, from a sample of the questions and from small workspaces
BENCH ?= full
full.scale    := --most 1000000
short.recall  := --sample 100
short.speed   := --sizes 1000
short.upkeep  := --sizes 1000 --questions 20
short.serving := --clients 20 --seconds 10
short.scale   := --quick

VENV := .venv
BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt $(PIP_ARGS)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-long lint bench format clean

help:  ## these lines
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' Makefile
	@echo 'Variables, as in make test WORKERS=2: PYTHON, PIP_ARGS, PYTEST_ARGS, WORKERS, BENCH=full|short, BENCH_DATA'

demo: $(VENV)/.semantic  ## install and run the main job on an example, each step explained
	@$(BIN)/tht demo

test: $(VENV)/.test  ## the whole test suite, with the contract on the direction of imports (tests/test_layers.py)
	$(BIN)/python -m pytest -n auto --maxprocesses $(WORKERS) $(PYTEST_ARGS)

test-long: $(VENV)/.test  ## kills at every single step of writing, 300 rounds of the storm, all 762 sessions on PostgreSQL, each Python at hand
	CRASH_EVERY_STEP=1 $(BIN)/python -m pytest -n auto --maxprocesses $(WORKERS) --dist worksteal tests/crash tests/faults tests/packaging tests/server $(PYTEST_ARGS)

lint: $(VENV)/.test  ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.test  ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.test  ## measure quality, speed and growth into build/*.json and build/bench.md: two hours; BENCH=short
	@test -n "$(filter full short,$(BENCH))" || { echo 'BENCH is full or short' >&2; exit 1; }
	@test -d $(BENCH_DATA) || { echo 'no $(BENCH_DATA): name the folder of question sets, make bench BENCH_DATA=FOLDER' >&2; exit 1; }
	@mkdir -p build
	$(BIN)/python tests/benchmarks/recall.py --data $(BENCH_DATA) --json build/recall.json $($(BENCH).recall)
	$(BIN)/python tests/benchmarks/speed.py --json build/speed.json $($(BENCH).speed)
	$(BIN)/python tests/benchmarks/upkeep.py --json build/upkeep.json $($(BENCH).upkeep)
	$(BIN)/python tests/benchmarks/serving.py $($(BENCH).serving) > build/serving.json
	$(BIN)/python tests/benchmarks/scale.py --json build/scale.json $($(BENCH).scale)
	$(BIN)/python tests/benchmarks/page.py build

clean:  ## remove all that make made, the .venv too
	rm -rf try-it before.jsonl after.jsonl
	rm -rf $(VENV) build dist thoth_memory.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	find domain projections adapters cli tests -name __pycache__ -type d -prune -exec rm -rf {} +

# What is installed is stamped, so that a second run installs nothing until one of these files changes.
$(VENV)/.semantic: pyproject.toml constraints.txt $(VENV)/pyvenv.cfg
	@echo "Installing thoth-memory[semantic] into $(VENV): some minutes the first time"
	@$(PIP) --editable '.[semantic]'
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt $(VENV)/pyvenv.cfg
	@echo "Installing thoth-memory[semantic,multilingual,serve,postgres,test] into $(VENV): some minutes the first time"
	@$(PIP) --editable '.[semantic,multilingual,serve,postgres,test]'
	@touch $@ $(VENV)/.semantic

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "tht needs Python 3.11 or newer; $(PYTHON) is: $$($(PYTHON) --version 2>&1)."; \
	  echo "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; } >&2
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
