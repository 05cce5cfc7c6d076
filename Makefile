# The few commands a person needs; each one is a script of the same name under scripts/.
.PHONY: help demo test check bench bench-jobs bench-delegate bench-queue bench-scale bench-dashboard bench-peers bench-instructions build clean

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Fetch a real URL with a running service: make demo [URL=https://…]
	@scripts/demo $(if $(URL),'$(URL)')

test: ## Run all tests, installing what they need
	@scripts/test

check: ## Everything CI checks, the tests last
	@scripts/check

bench: ## Measure against the C limits; writes bench.json (make bench QUICK=1 for a short run)
	@scripts/bench $(if $(QUICK),--quick)

bench-jobs: ## Measure what jobs cost beside the transfers they make; writes bench-jobs.json (QUICK=1 for a short run)
	@scripts/bench-jobs $(if $(QUICK),--quick)

bench-delegate: ## Measure what questions and answers cost; writes bench-delegate.json (QUICK=1 for a short run)
	@scripts/bench-delegate $(if $(QUICK),--quick)

bench-queue: ## Measure whether the database stays healthy; writes bench-queue.json (QUICK=1 for a short run)
	@scripts/bench-queue $(if $(QUICK),--quick)

bench-scale: ## Measure several nodes and servers beside one; writes bench-scale.json (QUICK=1 for a short run)
	@scripts/bench-scale $(if $(QUICK),--quick)

bench-dashboard: ## Measure the dashboard beside 10 million jobs; writes bench-dashboard.json (QUICK=1 for a short run)
	@scripts/bench-dashboard $(if $(QUICK),--quick)

bench-peers: ## Measure the engine beside other clients; writes bench-peers.json (QUICK=1 for a short run)
	@scripts/bench-peers $(if $(QUICK),--quick)

bench-instructions: ## Count the instructions of a job and of a fetch, and whose they are; writes bench-instructions.json
	@scripts/bench-instructions

build: ## Build the release binary
	@scripts/build-release

clean: ## Remove everything a build made
	rm -rf .build .venv bench.json bench-jobs.json bench-delegate.json bench-queue.json bench-scale.json bench-dashboard.json bench-peers.json bench-instructions.json
