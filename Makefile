# Needs python3 (3.11 or later, with venv) and make. Everything else is installed into .venv.

PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin

# Some machines advertise AMX and trap on it: oneDNN must not use it. torch reads this when it starts.
export ONEDNN_MAX_CPU_ISA ?= AVX512_CORE_BF16

MINUTES ?= 10
FUZZ_SEED := $(or $(SEED),$(shell $(PYTHON) -c "import random; print(random.randrange(1 << 40))"))

.PHONY: demo test test-all fuzz check format bench docs report-ui dist clean

demo: .venv/.installed
	$(BIN)/python bench/demo.py

test: check
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal -m "not slow" tests

test-all: check .venv/.installed-peers .venv/.installed-docs
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal tests

# From a fresh seed (SEED= repeats one): the properties of the mathematics on examples that `make test` does
# not draw, then random programs from PyTorch's op schemas; reproducers of those go to fuzz-findings/.
fuzz: .venv/.installed
	@echo "seed $(FUZZ_SEED)"
	$(BIN)/pytest -q -n $(WORKERS) --hypothesis-profile=fresh --hypothesis-seed=$(FUZZ_SEED) tests/unit/properties
	$(BIN)/python -m tests.fuzz.schemas --minutes $(MINUTES) --workers $(WORKERS) --seed $(FUZZ_SEED)

check: .venv/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: .venv/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Every measurement, each side by side with what it is compared to, into bench/RESULTS.md.
bench: .venv/.installed-bench
	$(BIN)/python bench/results.py

# The documentation as a site in site/; a broken link or an unknown page is an error.
docs: .venv/.installed-docs
	$(BIN)/mkdocs build --strict --quiet

# The page of the visual report, bundled from report-ui/; needs Node 20 or later. The result is checked in.
report-ui:
	cd report-ui && npm ci --no-audit --no-fund && npm run check && npm run build

# A wheel and a source archive in dist/.
dist: .venv/.installed-dist
	rm -rf build dist
	$(BIN)/python -m build --outdir dist .

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

.venv/.installed-docs: .venv/.installed
	$(BIN)/python -m pip install --quiet --editable ".[dev,hf,docs]"
	touch $@

.venv/.installed-dist: .venv/.installed
	$(BIN)/python -m pip install --quiet --editable ".[dev,hf,dist]"
	touch $@

clean:
	rm -rf build dist site .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
