# `make` lists the targets. PYTHON makes the virtual environment in VENV; both may be named on the command line.

PYTHON ?= python3
VENV ?= .venv
PORT ?= 7071
PYTEST_ARGS ?=
BENCH_ARGS ?=
# `azurite` sends wakes through a Storage queue on this machine; left out, they stay within the process.
WAKES ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-input

# A path that is not there yet is left out, because sqlfluff takes a missing path for an error.
SQL_FOLDERS = $(wildcard chokaq_core/stores/sqlite chokaq_core/stores/sqlserver)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help install run test test-deep check check-infra bench bench-peers clean test-tools

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

install: $(VENV)/.dev ## Make the virtual environment with all that development needs

run: $(VENV)/.local ## Run the app at http://localhost:7071 (PORT=8080: another port; WAKES=azurite: through a real queue)
	$(if $(filter-out azurite,$(WAKES)),$(error WAKES=$(WAKES) is not known: leave it out, or give WAKES=azurite))
	@$(if $(filter azurite,$(WAKES)),$(BIN)/python -m tests.support.azurite run --,exec) \
		$(BIN)/python -m chokaq_core.localhost --port $(PORT)

test: $(VENV)/.dev test-tools ## Run the tests; PYTEST_ARGS='-k name' narrows them
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

test-deep: $(VENV)/.dev test-tools ## Run the tests with many more generated examples and the slow ones too
	@HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest -m '' $(PYTEST_ARGS)

check: $(VENV)/.dev ## Check style, types, import contracts and SQL
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(if $(SQL_FOLDERS),$(BIN)/sqlfluff lint $(SQL_FOLDERS))

check-infra: $(VENV)/.dev ## Check the templates under infra/ alone: the part of the tests that is theirs
	@$(BIN)/python -m tests.support.checkov
	@$(BIN)/python -m tests.support.kusto
	@$(BIN)/python -m pytest tests/infra $(PYTEST_ARGS)

bench: $(VENV)-bench/.ready ## Run the benchmarks; BENCH_ARGS='--only claim' narrows them
	@$(VENV)-bench/bin/python -m bench $(BENCH_ARGS)

bench-peers: $(VENV)-bench/.ready ## Install PostgreSQL and Redis (Debian, as root), and measure beside the peers alone
	@$(VENV)-bench/bin/python -m bench.install_servers
	@$(VENV)-bench/bin/python -m bench --only peers $(BENCH_ARGS)

clean: ## Remove virtual environments, caches and build leftovers; the jobs in .chokaq stay
	rm -rf tests/azurite/node_modules tests/deck/node_modules tests/infra/kusto/node_modules .venv .venv-bench .venv-infra .venv313 $(VENV) $(VENV)-bench build dist *.egg-info .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -not -path '*/node_modules/*' -prune -exec rm -rf {} +

# What some tests need besides $(VENV): they are skipped, and say why, where it cannot be had.
test-tools: $(VENV)/.dev
	@$(BIN)/python -m tests.support.worker_library
	@$(BIN)/python -m tests.support.axe
	@$(BIN)/python -m tests.support.azurite
	@$(BIN)/python -m tests.support.checkov
	@$(BIN)/python -m tests.support.kusto

# A stamp in the environment tells which requirements it meets, so that nothing is installed twice.

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		found=$$($(PYTHON) --version 2>/dev/null) || found="not found"; \
		echo "ChokaQ needs Python 3.11 or later; $(PYTHON): $$found" >&2; \
		echo "Name another: make PYTHON=/path/to/python3.13" >&2; exit 1; }
	@echo "Making the virtual environment $(VENV) ..."
	@$(PYTHON) -m venv $(VENV) || { \
		echo "'$(PYTHON) -m venv' failed; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@touch $@

$(VENV)/.local: $(VENV)/.python requirements.txt requirements-local.txt
	@echo "Installing requirements-local.txt into $(VENV) ..."
	@$(PIP) -r requirements-local.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.python requirements.txt requirements-local.txt requirements-dev.txt
	@echo "Installing requirements-dev.txt into $(VENV) ..."
	@$(PIP) -r requirements-dev.txt
	@touch $(VENV)/.local $@

$(VENV)-bench/.ready: $(VENV)/.python requirements.txt requirements-local.txt requirements-dev.txt requirements-bench.txt
	@echo "Installing requirements-bench.txt into $(VENV)-bench ..."
	@$(PYTHON) -m venv $(VENV)-bench
	@$(VENV)-bench/bin/python -m pip install -qq --disable-pip-version-check --no-input -r requirements-bench.txt
	@touch $@
