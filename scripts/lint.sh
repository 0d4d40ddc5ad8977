#!/usr/bin/env bash
# Checks style, and rules that the compiler doesn't check.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly longest_file=500
failed=0

swift format lint --strict --recursive --parallel Package.swift Sources Tests || failed=1

if command -v shellcheck >/dev/null; then
    shellcheck --external-sources --source-path=SCRIPTDIR scripts/*.sh examples/*.sh .ci/run || failed=1
else
    note "shellcheck is not installed; the scripts were not checked."
fi

while read -r lines file; do
    if [[ $file != total ]] && ((lines > longest_file)); then
        warn "$file: $lines lines; at most $longest_file"
        failed=1
    fi
done < <(find Sources -name '*.swift' -exec wc -l {} +)

# An agent that runs for months must not end itself over bad input.
if grep -rnE --include='*.swift' '(\btry!|\bfatalError\()' Sources; then
    warn "try! and fatalError( have no place in Sources: throw an error that says what to do."
    failed=1
fi

scripts/walls.py || failed=1
scripts/links.py || failed=1

exit "$failed"
