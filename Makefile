# Everything here is a line or two; the work is in scripts/.

.DEFAULT_GOAL := help
.PHONY: help install-packages build demo test trials trials-long contact-sheet completions lint format sanitize bench clean

help: ## This list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## See it work: files dropped, agent killed, all arrives (KEEP=1 leaves it running)
	@KEEP="$(KEEP)" scripts/demo.sh

test: ## Prove everything: style, build, unit, conformance and end-to-end tests
	@scripts/test.sh

trials: ## Show that nothing is lost: kills, bad servers, odd writers, full disks (ARGS="--only R5 --seed 42")
	@scripts/trials.sh $(ARGS)

trials-long: ## The same with full counts, for hours
	@scripts/trials.sh --long $(ARGS)

build: install-packages ## The programs, for release, in .build/release
	@scripts/build.sh

bench: ## Benchmarks, for release (ARGS="…" for outbox-bench)
	@scripts/bench.sh $(ARGS)

contact-sheet: build ## All styles of pictures over three grounds, in .build/contact-sheet.png (needs libvips-tools)
	@scripts/contact-sheet.sh

completions: ## What shells need to complete `outbox` commands, in .build/completions (needs `make build` first)
	@scripts/completions.sh

lint: ## Style alone
	@scripts/lint.sh

format: ## Format all Swift sources
	swift format --in-place --recursive --parallel Package.swift Sources Tests

sanitize: install-packages ## Unit tests under the Thread Sanitizer, in .build-tsan
	OUTBOX_WALK_EVENTS=20000 TSAN_OPTIONS="suppressions=$(CURDIR)/scripts/tsan-suppressions.txt halt_on_error=1" \
	swift test --sanitize=thread --scratch-path .build-tsan --no-parallel --skip EndToEndTests \
		--skip MediaWorkerTests --skip RealWorkerTests --skip MediaExaminerTests # memory limits leave no room for it

install-packages: ## What the build needs, with apt-get, if it is missing
	@scripts/packages.sh

clean: ## Remove what was built
	rm -rf .build .build-tsan
