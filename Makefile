# Everything a newcomer needs. Each target sets up what it needs first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DEV    := $(VENV)/.ready-dev
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# What Python compiled once is kept: the tests start some hundred processes.
export PYTHONDONTWRITEBYTECODE =

# The newest Python that is here, and the fast half of the tests: rooms that need no service and no long searches.
NEWEST ?= $(shell ls /usr/bin/python3.?? /usr/local/bin/python3.?? $(HOME)/.pyenv/versions/*/bin/python3.?? 2>/dev/null \
  | awk -F/ '{ print $$NF, $$0 }' | sort -V | tail -n 1 | cut -d ' ' -f 2)
FAST := $(addprefix tests/,domain noise query policy certificate gate ledger)

.PHONY: demo test test-newest test-fast check bench bench-peers bench-check reproduce docs clean help

help:
	@echo "make demo    set up, release the bundled data, print where the report is"
	@echo "make test    set up, install Java, Postgres and Chromium if they are missing, run all tests"
	@echo "make test-newest   the same with the newest Python that is here, for the tests that need no service"
	@echo "make check   set up, run ruff, mypy and the documentation checks"
	@echo "make bench   set up, install Java if it is missing, run the benchmarks"
	@echo "make bench-peers   set up, run the same work in other libraries, each in an environment of its own"
	@echo "make bench-check   set up, run the benchmarks, fail where a figure is a third worse than the committed one"
	@echo "make reproduce     set up, make the papers' figures again; QUICK=1 only checks what must hold"
	@echo "make docs    set up, build the documentation site into site/"

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Tetraodon needs Python 3.11 or newer. Fix: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes --requirement requirements.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $(READY)

$(DEV): $(READY) requirements-dev.lock
	$(PIP) --require-hashes --requirement requirements-dev.lock
	@touch $(DEV)

demo: $(READY)
	$(BIN)/tetraodon demo --out demo --force
	@echo "To go on with tetraodon from here: . $(BIN)/activate"

test: $(DEV)
	$(BIN)/python -m scripts.services
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadscope --no-loadscope-reorder

test-newest:
	$(MAKE) test-fast VENV=.venv-newest PYTHON=$(or $(NEWEST),$(PYTHON))

test-fast: $(DEV)
	$(BIN)/python --version
	TETRAODON_SKIP=postgres,spark,browser OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadscope $(FAST)

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m mkdocs build --strict --quiet

bench: $(DEV)
	TETRAODON_SKIP=postgres,browser $(BIN)/python -m scripts.services
	$(BIN)/python -m benchmarks

bench-peers: $(DEV)
	TETRAODON_SKIP=postgres,browser $(BIN)/python -m scripts.services
	$(BIN)/python -m benchmarks.peers

bench-check: $(DEV)
	TETRAODON_SKIP=postgres,browser $(BIN)/python -m scripts.services
	$(BIN)/python -m benchmarks --check

reproduce: $(DEV)
	$(BIN)/python -m reproduce $(if $(QUICK),--quick)

docs: $(DEV)
	$(BIN)/python -m mkdocs build --strict --quiet
	@echo "The site is in site/index.html"

clean:
	rm -rf $(VENV) .venv-newest .peers site demo build dist
