#!/usr/bin/env bash
# Prints the version of this package. Sources/System/Versions is the only place that says it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=$(sed -n 's/.*static let current = "\([0-9][^"]*\)"/\1/p' Sources/System/Versions/ProgramVersion.swift)
[[ -n $version ]] || die "Sources/System/Versions/ProgramVersion.swift names no version."
say "$version"
