# Short entry points; the scripts in scripts/ do the work.

.DEFAULT_GOAL := help
.PHONY: help install-packages build demo test test-dashboard test-servers bench-servers trials trials-long contact-sheet completions man deb test-packages test-units lint format sanitize bench clean

help: ## Print this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## See it work: drop files, kill the agent, all files arrive (KEEP=1 leaves agent and receiver running)
	@KEEP="$(KEEP)" scripts/demo.sh

test: ## Run all checks: style, build, unit, conformance and end-to-end tests, quick trials
	@scripts/test.sh

test-servers: ## Try the agent on real servers: SeaweedFS, Ceph, rclone, moto, tus (ARGS="--only seaweedfs,moto")
	@scripts/test-servers.sh $(ARGS)

test-dashboard: ## Click through the dashboard in headless Chromium, after a build (ARGS="names of tests")
	@scripts/dashboard/test.py $(ARGS)

trials: ## Run the trials: kills, bad servers, odd writers, full disks (ARGS="--only R5 --seed 42")
	@scripts/trials.sh $(ARGS)

trials-long: ## Run the trials with full counts, for hours
	@scripts/trials.sh --long $(ARGS)

build: install-packages ## Build the programs for release, in .build/release
	@scripts/build.sh

bench: ## Build for release and run the benchmarks (ARGS="…" for outbox-bench)
	@scripts/bench.sh $(ARGS)

bench-servers: ## Measure uploads to real S3 and tus servers against rclone and tuspy (ARGS="--only rclone -- --pairs 3")
	@scripts/bench-servers.sh $(ARGS)

contact-sheet: build ## Draw all styles of pictures over three grounds, into .build/contact-sheet.png (needs libvips-tools)
	@scripts/contact-sheet.sh

completions: ## Write completion scripts for bash, zsh and fish to .build/completions (needs `make build` first)
	@scripts/completions.sh

man: ## Write the man pages to .build/man (needs `make build` first)
	@scripts/man.py .build/release .build/man

deb: build ## Build packages for Debian and Ubuntu, in .build/deb
	@scripts/deb.sh

test-packages: ## Try the packages of .build/deb in a clean Debian root (needs root, debootstrap, lintian)
	@scripts/test-packages.sh

test-units: ## Try the packages' units under systemd in a container (needs root, debootstrap, systemd-container)
	@scripts/test-units.sh

lint: ## Check the style
	@scripts/lint.sh

format: ## Format all Swift sources
	swift format --in-place --recursive --parallel Package.swift Sources Tests

sanitize: install-packages ## Run the unit tests under the Thread Sanitizer, in .build-tsan
	OUTBOX_WALK_EVENTS=20000 TSAN_OPTIONS="suppressions=$(CURDIR)/scripts/tsan-suppressions.txt halt_on_error=1" \
	swift test --sanitize=thread --scratch-path .build-tsan --no-parallel --skip EndToEndTests \
		--skip MediaWorkerTests --skip RealWorkerTests --skip MediaExaminerTests # the sanitizer exceeds the workers' memory limits

install-packages: ## Install missing packages with apt-get
	@scripts/packages.sh

clean: ## Remove all build products
	rm -rf .build .build-tsan
