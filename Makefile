# Needs python3 (3.11 or later, with venv) and make. Everything else is installed into .venv.

PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin

# Some machines advertise AMX and trap on it: oneDNN must not use it. torch reads this when it starts.
export ONEDNN_MAX_CPU_ISA ?= AVX512_CORE_BF16

.PHONY: demo test test-all check format bench clean

demo: .venv/.installed
	$(BIN)/python bench/demo.py

test: check
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal -m "not slow" tests

test-all: check
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal tests

check: .venv/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: .venv/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The demo first, then every measurement that is there, each side by side with what it is compared to.
BENCHES := bench/demo.py $(wildcard $(addprefix bench/,kernels.py models.py compile_time.py export_time.py launch.py))

bench: .venv/.installed-bench
	set -e; for script in $(BENCHES); do echo "== $$script"; $(BIN)/python $$script; done

.venv/.installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[dev,hf]"
	touch $@

.venv/.installed-bench: .venv/.installed
	$(BIN)/python -m pip install --quiet --editable ".[dev,hf,bench]"
	touch $@

clean:
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
