# Needs python3 (3.11 or later, with venv) and make. Everything else is installed into .venv.

PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin

# Some machines advertise AMX and trap on it: oneDNN must not use it. torch reads this when it starts.
export ONEDNN_MAX_CPU_ISA ?= AVX512_CORE_BF16

MINUTES ?= 10

.PHONY: demo test test-all fuzz check format bench clean

demo: .venv/.installed
	$(BIN)/python bench/demo.py

test: check
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal -m "not slow" tests

test-all: check .venv/.installed-peers
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal tests

# Random programs from PyTorch's op schemas, from a fresh seed (SEED= repeats one); reproducers go to fuzz-findings/.
fuzz: .venv/.installed
	$(BIN)/python -m tests.fuzz.schemas --minutes $(MINUTES) --workers $(WORKERS) $(if $(SEED),--seed $(SEED))

check: .venv/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: .venv/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Every measurement, each side by side with what it is compared to, into bench/RESULTS.md.
bench: .venv/.installed-bench
	$(BIN)/python bench/results.py

.venv/.installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[dev,hf]"
	touch $@

.venv/.installed-peers: .venv/.installed
	$(BIN)/python -m pip install --quiet --editable ".[dev,hf,peers,iree]"
	touch $@

.venv/.installed-bench: .venv/.installed
	$(BIN)/python -m pip install --quiet --editable ".[dev,hf,bench]"
	touch $@

clean:
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
