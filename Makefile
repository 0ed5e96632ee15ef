# Every target sets up what it needs: Python 3.11 or newer, make, gcc and node are enough.
PYTHON ?= python3
VENV   := .venv
RUN    := $(VENV)/bin/
STAMP  := $(VENV)/.synced

.PHONY: help demo agent test test-slow test-again test-all e2e drift test-ray differential frameworks bench check fix coverage docs guards-table stubs picture redteam-table clean

help:           ## what can be made
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 14

$(STAMP): pyproject.toml uv.lock hatch_build.py src/anyhook/worker/client.c
	@test -x $(RUN)python || { \
	  echo "setting up $(VENV) (once)"; \
	  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "anyhook needs Python 3.11 or newer; say which with: make PYTHON=python3.12 ..."; exit 1; }; \
	  $(PYTHON) -m venv $(VENV); }
	@$(RUN)python -m pip install --quiet --disable-pip-version-check 'uv>=0.9'
	@VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(RUN)uv sync --quiet --frozen --active --group agents
	@touch $@

demo: $(STAMP)  ## hooks of a real settings file decide real events
	@$(RUN)python examples/demo.py

agent: $(STAMP) ## an agent whose tools those hooks guard, without a key
	@$(RUN)python examples/agent.py

test: $(STAMP)  ## what a change needs, in four minutes on two cores
	@# Tests wait for processes: two workers leave a sixth of two cores unused.
	@$(RUN)python -m pytest -n 4 --dist worksteal -m "not slow"

test-slow: $(STAMP)  ## the tests that `test` leaves out
	@$(RUN)python -m pytest -n 3 --dist worksteal -m slow

test-again: $(STAMP) ## the tests that failed last time, one after the other
	@$(RUN)python -m pytest --last-failed --last-failed-no-failures none

test-ray: $(STAMP) ## backtests on a cluster of two nodes; fetches Ray
	@VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(RUN)uv sync --quiet --frozen --active --group agents --group cluster
	@$(RUN)python -m pytest tests/backtest/test_on_ray.py

test-all: test test-slow  ## all tests

# Releases: make e2e CLAUDE_VERSION=latest GEMINI_VERSION="0.61.0 0.62.0"
e2e: $(STAMP)   ## hooks inside real agents, fetched from npm once
	@ANYHOOK_E2E=1 $(RUN)python -m pytest tests/e2e

differential: $(STAMP) ## random hooks here and in Gemini CLI's own code, fetched from npm once
	@ANYHOOK_DIFFERENTIAL=1 $(RUN)python -m pytest tests/differential

# One of them, or one bound: make frameworks FRAMEWORKS="adk langchain:lowest"
frameworks: $(STAMP) ## the integrations with the lowest and newest frameworks that they allow
	@$(RUN)python -m tools.frameworks $(FRAMEWORKS)

# A release: make drift AGENTS="qwen gemini", make drift DRIFT=--json, make drift DRIFT=--no-runs
drift: $(STAMP) ## what the newest releases of the agents do differently
	@$(RUN)python -m tools.drift $(AGENTS) $(DRIFT)

coverage: $(STAMP)  ## all tests, with the lines and branches they miss
	@rm -f .coverage .coverage.*
	@$(RUN)coverage run -m pytest && $(RUN)coverage combine -q && $(RUN)coverage report

# What got worse: cp benchmarks/.cache/ratios.json before.json, then make bench AGAINST=before.json
bench: $(STAMP) ## every figure of the README, measured here
	@$(RUN)python -m benchmarks $(if $(AGAINST),--against $(AGAINST))

check: $(STAMP) ## lint and types
	@$(RUN)ruff check . && $(RUN)ruff format --check . && $(RUN)mypy

fix: $(STAMP)   ## format, and repair what the linter can
	@$(RUN)ruff check --fix . ; $(RUN)ruff format .

docs: $(STAMP)   ## the tables of docs/capabilities.md and docs/json.md, from the code
	@$(RUN)python docs/tables.py
	@$(RUN)python tools/capability_tables.py
	@$(RUN)python tools/json_page.py
	@$(RUN)python tools/telemetry_page.py

stubs: $(STAMP)  ## the types of lazily imported names, what shells complete, and the help, from the code
	@$(RUN)python tools/stubs.py
	@$(RUN)python tools/completion.py
	@$(RUN)python tools/help_text.py

# Another set of benign calls, some guards: make guards-table CORPUS=DIR GUARDS="files git"
guards-table: $(STAMP)  ## the measurements in docs/guards.md
	@$(RUN)python -m tools.guards_table $(if $(CORPUS),--corpus $(CORPUS)) $(GUARDS)

picture: $(STAMP) ## draw the pictures in docs/ from real runs; the page needs chromium
	@$(RUN)python examples/demo.py --svg docs/demo.svg
	@$(RUN)python -m tools.panel_picture docs/panel.svg
	@$(RUN)python tools/page_picture.py docs/ui.png

# Guards of registries are installed below a directory: make redteam-table CORPUS=/tmp/guards
redteam-table: $(STAMP) ## what gets past public guards, for docs/redteam.md
	@$(RUN)python tools/redteam_table.py $(CORPUS)

clean:          ## back to a fresh clone
	rm -rf $(VENV) .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache benchmarks/.cache
