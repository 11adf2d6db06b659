# The only door: `make` alone lists what it can do.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip --quiet --disable-pip-version-check
# What `make run` needs, and what checks and tests need as well.
READY := $(VENV)/.ready
TOOLS := $(VENV)/.tools
SCANNER := .venv-scan
AUDITOR := .venv-audit
ADVISORIES := https://api.osv.dev/v1/query
JSONATA := proof/asl/node/node_modules/.package-lock.json
RELEASER := .venv-release
# The wheel and its extras alone, as a user has them: the first SBOM says what that is.
INSTALLED := .venv-installed
# The Python of the functions: their wheels are built with it.
RUNTIME = $(shell sed -n 's/^    Runtime: //p' template.yaml)
# pip checks hashes of all that one command installs, or of nothing: the clone has none of its own.
LOCKED := --no-deps --require-hashes
OURS := --no-deps --no-build-isolation -e .
# Before $(VENV) is made, which takes seconds: a folder has all wheels (PIP_FIND_LINKS), or the registry answers.
DOWNLOAD := -m pip download --dest $(VENV)/probe
IN_TIME := import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]], check=True, timeout=4)
# SAM imports cfn-lint for `sam validate --lint` alone, and with sympy it is a third of what SAM installs.
SPARE := $(addprefix --no-emit-package ,cfn-lint sympy networkx mpmath)
PIN := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-annotate --no-header --no-emit-index-url $(if $(UPGRADE),--upgrade)
export SAM_CLI_TELEMETRY := 0

.PHONY: $(shell sed -n "s|^\([a-z][a-z-]*\):.*|\1|p" Makefile)

help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@/ { printf "\n\033[1m%s\033[0m\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  \033[36m%-15s\033[0m %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Try it, with nothing but Python and make

setup: $(TOOLS) ## Create .venv with everything pinned in requirements.lock
	@echo "Ready. Try it: make run"

run: $(READY) ## Send the example stream through the real template on a local stack
	$(BIN)/once run

dev: $(READY) ## Open a console on a local stack while the example story comes in
	$(BIN)/once dev --demo

##@ Work on it

jsonata: $(JSONATA) ## Install the reference JSONata, if there are node and npm and a registry answers

browser: ## Install the Chromium that the console's tests drive, if apt-get can
	@command -v chromium chromium-browser google-chrome >/dev/null || \
		$$([ "$$(id -u)" = 0 ] || echo sudo -n) apt-get install -y --no-install-recommends chromium >/dev/null || \
		echo "Chromium was not installed: the console's tests in a browser will be skipped."

# Without bytecode on disk each process would compile all it imports again.
test test-fast test-stack: export PYTHONDONTWRITEBYTECODE :=

test: $(TOOLS) ## Run every test; the slow ones mostly wait for the local stack, so four at once
	$(BIN)/pytest -n 4 --dist worksteal

test-fast: $(TOOLS) ## Run the quick tests: no local stack, no long walk of the simulator
	$(BIN)/pytest -n 3 --dist worksteal -m "not local and not thorough"

test-stack: $(READY) ## Run the tests that share one local stack
	$(BIN)/pytest -n 2 -m local

sim: $(TOOLS) ## Walk the deployed machine and functions through 2,000 worlds with every fault (hours)
	$(BIN)/python -m bench.simulator walks
	$(BIN)/python -m bench.simulator outage

first-hour: $(TOOLS) ## Type each command that README and program print, in a new clone (ten minutes)
	$(BIN)/python -m tests.first_hour

schemas: $(TOOLS) ## Write what follows from the models: schemas, examples, docs/families.md
	$(BIN)/python -m schemas

check: check-code check-template check-machine check-schemas check-documents ## Check code, template, state machine, schemas, documents

check-code: $(TOOLS)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

check-template: export AWS_DEFAULT_REGION ?= us-east-1
check-template: $(TOOLS)
	$(BIN)/sam validate --lint
	$(BIN)/python -m proof.template

check-machine: $(TOOLS)
	$(BIN)/python -m proof.definition.lint
	$(BIN)/python -m proof.definition.diagram --check

check-schemas: $(TOOLS)
	$(BIN)/python -m schemas --check

check-documents: $(TOOLS)
	$(BIN)/python -m bench.numbers --check
	$(BIN)/python -m bench.sources

check-release: check-records ## Fail if a release would name a repository that nobody has
	@! grep -ns 'github.com/OWNER/' pyproject.toml README.md template.yaml || { \
		echo "Name the repository, so that people can install from it: CONTRIBUTING.md, Release."; exit 1; }

check-records: $(TOOLS) ## Fail if a record in bench/results was made from what has changed since
	$(BIN)/python -m bench.sources --strict

scan: $(SCANNER) ## Look for what checkov, a scanner of templates, finds unsafe
	$(SCANNER)/bin/checkov --config-file .checkov.yaml

audit: $(AUDITOR) ## Look for known vulnerabilities in all that is pinned; 75 if no advisory source answers
	@curl --fail --silent --show-error --output /dev/null --max-time 30 \
		--data '{"commit": "6879efc2c1596d11a6a6ad296f80063b558d5e0f"}' $(ADVISORIES) || { \
		echo "Skipped: $(ADVISORIES) does not answer, so nothing was audited."; exit 75; }
	@for pins in requirements.lock requirements-dev.lock .ci/locks/*.lock functions/*/requirements.txt; do echo "$$pins"; \
		$(AUDITOR)/bin/pip-audit --requirement "$$pins" --no-deps --disable-pip --progress-spinner off \
			--vulnerability-service osv --osv-url $(ADVISORIES) || found=1; done; [ -z "$$found" ]

format: $(TOOLS) ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: ## Pin what pyproject.toml names, with hashes (needs uv); UPGRADE=1 takes the newest
	$(PIN) pyproject.toml --extra local --group build $(SPARE) -o requirements.lock
	$(PIN) pyproject.toml --extra local --group build --group dev -c requirements.lock -o requirements-dev.lock
	$(PIN) --group scan -o .ci/locks/scan.lock
	$(PIN) --group audit -o .ci/locks/audit.lock
	$(PIN) --group release -o .ci/locks/release.lock

##@ Measure it, and write the numbers into the documents

bench: $(TOOLS) ## Measure speed, cost and scale
	$(BIN)/python -m bench

compare: $(TOOLS) ## Compare with a Redis key, an if-exists, FIFO, Powertools and others
	$(BIN)/python -m bench.compare

fields: $(TOOLS) ## Write the fields that `once routes check` knows, from the pinned Genesys SDK
	$(BIN)/python -m tests.enrichment.topic_fields

drift: $(TOOLS) ## Compare the topics of the newest Genesys SDK with those of the one that is pinned
	rm -rf .once/sdk
	$(BIN)/python -m pip install --quiet --no-deps --target .once/sdk PureCloudPlatformClientV2
	$(BIN)/python -m tests.enrichment.drift .once/sdk
	PYTHONPATH=.once/sdk $(BIN)/pytest tests/enrichment/test_topics.py

differential: $(TOOLS) $(JSONATA) ## Compare both JSONata engines over more than 100,000 evaluations
	$(BIN)/python -m bench.jsonata

mutate: $(TOOLS) ## Do the tests notice wrong code? SAMPLE=60 changes of each package in 15 minutes
	$(BIN)/python -m proof.mutation $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))

##@ Put it on AWS

build: $(READY) ## Build the functions for the runtime named in template.yaml
	@$(RUNTIME) --version >/dev/null 2>&1 || { echo "sam build needs $(RUNTIME), which template.yaml names under" \
		"Globals, on your PATH. Install it, or name yours there."; exit 1; }
	@for file in functions/enrichment/*.toml; do $(BIN)/once routes check "$$file" || [ $$? = 3 ] || exit 1; done
	$(BIN)/sam build

# boto3 and SAM read AWS_DEFAULT_REGION alone, the AWS CLI and people AWS_REGION as well.
ifneq ($(AWS_REGION),)
aws-account deploy: export AWS_DEFAULT_REGION := $(AWS_REGION)
endif
aws-account: $(READY)
	@account=$$($(BIN)/python -c 'import boto3; print("Deploying to account", \
		boto3.client("sts").get_caller_identity()["Account"], "in", boto3.Session().region_name)' 2>&1) && \
		echo "$$account" || { echo "$${account##*$$'\n'}"; echo "Name a region and credentials that AWS accepts," \
		"for example: export AWS_REGION=eu-central-1 AWS_PROFILE=yours"; exit 1; }

deploy: aws-account build ## Deploy to AWS. PARAMETERS="Name=value ..." and TAGS="Key=value ..."; CONFIRM=no does not ask
	$(BIN)/sam deploy $(if $(filter no,$(CONFIRM)),--no-confirm-changeset) \
		$(if $(TAGS),--tags "$(TAGS)") \
		$(if $(PARAMETERS),--parameter-overrides "$(PARAMETERS)")

release: build $(RELEASER) ## Build what a release holds to dist/: wheel, template, SBOMs, checksums
	rm -rf dist
	$(BIN)/python -m hatchling build -t wheel
	tar -czf dist/genesys-once-template.tar.gz .aws-sam/build statemachine samconfig.toml
	$(BIN)/python -m venv --clear --without-pip $(INSTALLED)
	sed 's/ \\$$//; /^ /d' requirements.lock > $(INSTALLED)/pins.txt
	$(BIN)/python -m pip --python $(INSTALLED)/bin/python install --quiet --disable-pip-version-check \
		--constraint $(INSTALLED)/pins.txt "$$(echo dist/*.whl)[local,console]"
	$(RELEASER)/bin/cyclonedx-py environment $(INSTALLED)/bin/python -o dist/genesys-once.cdx.json
	cat functions/*/requirements.txt | \
		$(RELEASER)/bin/cyclonedx-py requirements - -o dist/genesys-once-functions.cdx.json
	cd dist && sha256sum * > SHA256SUMS

##@ Tidy up

clean: ## End the local stack of this folder, and remove what was built and installed
	-@[ ! -x $(BIN)/once ] || $(BIN)/once down
	rm -rf $(VENV) $(SCANNER) $(AUDITOR) $(RELEASER) $(INSTALLED) $(dir $(JSONATA)) dist .aws-sam .once .mypy_cache .ruff_cache .pytest_cache .hypothesis

# Without it the tests that need it are skipped, and say so.
$(JSONATA): proof/asl/node/package-lock.json
	@npm ci --prefix proof/asl/node --no-audit --no-fund --fetch-retries 1 --fetch-timeout 20000 || \
		echo "The reference JSONata was not installed: its tests will be skipped."

.venv-%: .ci/locks/%.lock
	"$(PYTHON)" -m venv --clear $@
	$@/bin/python -m pip install --quiet --disable-pip-version-check $(LOCKED) -r $<

$(READY): requirements.lock pyproject.toml
	@"$(PYTHON)" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null || { \
		echo "genesys-once needs Python 3.11 to 3.14, and '$(PYTHON)' is $$("$(PYTHON)" --version 2>/dev/null || echo "not on your PATH")."; \
		echo "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Installing what requirements.lock pins into $(VENV); it takes about half a minute."
	@python="$(PYTHON)"; "$(PYTHON)" -c 'import pip' 2>/dev/null || { \
		"$(PYTHON)" -m venv --clear $(VENV) && python=$(BIN)/python || exit 1; }; \
	export PIP_REQUIRE_VIRTUALENV=0; \
	if "$$python" $(DOWNLOAD) --no-index $(LOCKED) -r requirements.lock >/dev/null 2>&1; then index=--no-index; \
	elif ! "$$python" -c '$(IN_TIME)' $(DOWNLOAD) --no-deps --no-input --retries 0 --timeout 2 six >/dev/null 2>&1; then \
		echo "Python's package registry does not answer. Connect to it, or name yours (PIP_INDEX_URL), and run make again."; \
		exit 1; \
	fi; \
	[ "$$python" = $(BIN)/python ] || "$(PYTHON)" -m venv --clear $(VENV) && \
	$(PIP) install $$index $(LOCKED) -r requirements.lock
	@$(PIP) install $(OURS)
	@rm -rf $(VENV)/probe && touch $(READY)

$(TOOLS): $(READY) requirements-dev.lock
	@echo "Installing what tests and checks need as well (requirements-dev.lock); it takes about half a minute."
	@$(PIP) install $(LOCKED) -r requirements-dev.lock
	@touch $(TOOLS)
