# What can be done here. `make` alone lists the verbs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DATA ?= ../shared/data
QUESTIONS ?= evaluation/groundwork_docs

.DEFAULT_GOAL := help

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(INSTALLED): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' \
		|| { echo "Groundwork needs Python 3.11 to 3.14: make PYTHON=/path/to/python3.13"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[dev]'
	@touch $(INSTALLED)

setup: $(INSTALLED) ## build .venv with everything in the lock

run: $(INSTALLED) ## migrate and serve on http://127.0.0.1:8000 (HOST, PORT, DATA_DIR)
	@exec $(BIN)/groundwork serve

test: $(INSTALLED) ## the whole test suite
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

test-postgres: $(INSTALLED) ## what touches the database, on PostgreSQL (DATABASE_URL; else it starts one)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[postgres]'
	$(BIN)/python -m tests.postgres_server

test-slow: $(INSTALLED) ## what takes longer: kills, full disks, fuzzing
	$(BIN)/python -m pytest -m slow

chaos: $(INSTALLED) ## kill -9 at every step and at random, nothing may be lost (CHAOS_KILLS=200, CHAOS_SEED)
	CHAOS_KILLS=$${CHAOS_KILLS:-200} $(BIN)/python -m pytest -m slow tests/chaos/test_kills.py \
		-o log_cli=true --log-cli-level=INFO --log-disable=httpx

load: $(INSTALLED) ## ten minutes of sixteen clients: no failure, no growth, no stall (LOAD_SECONDS=600)
	$(BIN)/python -m benchmarks.mixed_load --seconds $${LOAD_SECONDS:-600}

check: $(INSTALLED) ## format, lint, types, import order, parity of docs and code
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest tests/test_parity.py

fix: $(INSTALLED) ## format, and mend what the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(INSTALLED) ## measure on real documents, into reports/bench (DATA=folder, ARGS=--txtai PYTHON …)
	$(BIN)/python -m benchmarks $(DATA) $(ARGS)

eval: $(INSTALLED) ## search quality on a question set (QUESTIONS=folder as docs/evaluation.md says; else our own)
	$(BIN)/groundwork eval $(QUESTIONS)

snapshots: $(INSTALLED) ## write .env.example and the OpenAPI snapshot after a deliberate change
	$(BIN)/python -m app.settings > .env.example
	$(BIN)/groundwork openapi > tests/openapi.json

lock: $(INSTALLED) ## pin the newest versions that pyproject.toml allows
	$(BIN)/python -m pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --upgrade --extra dev --extra postgres --strip-extras --no-header \
		--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-annotate \
		--output-file requirements.lock pyproject.toml
	sed -i.old -e "s/+cpu$$//" -e "/^# /d" requirements.lock && rm requirements.lock.old

.PHONY: help setup run test test-postgres test-slow chaos load check fix bench eval snapshots lock
