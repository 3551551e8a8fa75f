# Every target installs what it needs into .venv first; a stamp makes the second call fast.
PYTHON ?= python3
BIN := .venv/bin
GO ?= $(or $(shell command -v go),$(wildcard /usr/local/go/bin/go))
CODE := instrumentation collector dashboards alerts tests benchmarks
BENCHMARKS := $(notdir $(basename $(wildcard benchmarks/intake.py benchmarks/tick.py benchmarks/shim.py benchmarks/alerts.py benchmarks/dashboards.py benchmarks/page.py)))
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: adapters golang soak help install fmt check test bench tick faults pictures demo clean

help: ## say what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP) ## put everything that is needed into .venv

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "headcount needs Python 3.11 or newer; $(PYTHON) is older. Name another: make PYTHON=python3.12"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all]' --group dev
	@sh .ci/browser
	@sh .ci/alertmanager
	@touch $@

fmt: $(STAMP) ## write the code in the one format, and repair what can be
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

check: $(STAMP) ## lint, format and types
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy

test: check ## check, then every test, with branch coverage
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2 --dist loadfile
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

bench: $(STAMP) ## print the figures of intake, tick, shim, alerts, dashboards and page, with the machine described
	for name in $(BENCHMARKS); do $(BIN)/python -m benchmarks.$$name || exit 1; done

tick: $(STAMP) ## print what a tick costs beside CLOSED closed runs (1000000)
	$(BIN)/python -m benchmarks.tick --closed $(or $(CLOSED),1000000)

faults: $(STAMP) ## print which faults of the suite are found, how late, and what was called a fault and was none
	$(BIN)/python -m benchmarks.faults

adapters: $(STAMP) ## build the environments of the adapters' tests; ADAPTERS=all for every one
	$(BIN)/python -m tests.adapters.environments $(ADAPTERS)

golang: ## build an OpenTelemetry Collector and a ClickHouse client in Go for the tests that want real ones
	@test -n "$(GO)" || { echo "go is not installed: what it would build is not tested here"; exit 1; }
	cd tests/collector/golang && $(GO) build -ldflags='-s -w' -o $(CURDIR)/.golang/ ./otelcol ./clickhouse

pictures: $(STAMP) ## make the pictures of page and dashboards in docs/pictures anew
	HEADCOUNT_PICTURES=docs/pictures $(BIN)/python -m pytest -q -k pictures tests/collector/test_page_browser.py
	$(BIN)/python -m tests.dashboards.pictures

soak: $(STAMP) ## an hour of steady load, with memory and waits over time (MINUTES=60)
	$(BIN)/python -m benchmarks.soak $(or $(MINUTES),60)

demo: $(STAMP) ## start a throw-away collector and play the known incidents
	$(BIN)/headcount demo

clean: ## remove .venv and everything made
	rm -rf .venv .golang build dist .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis
