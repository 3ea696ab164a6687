#!/bin/sh
# Runs every check, then writes the reward, a CTRF test report and metrics.json.
report=/app/report.csv
out=/logs/verifier
checks=0 passed=0 entries=

now_ms() {
    date +%s%3N
}

check() {
    name=$1
    shift
    began=$(now_ms)
    if "$@"; then
        outcome=passed
        passed=$((passed + 1))
    else
        outcome=failed
    fi
    checks=$((checks + 1))
    entries="$entries${entries:+,}{\"name\":\"$name\",\"status\":\"$outcome\",\"duration\":$(($(now_ms) - began))}"
    echo "$outcome  $name"
}

has_header() { [ "$(head -n 1 "$report" 2>/dev/null)" = 'city,parcels,late' ]; }
has_line() { grep -qx "$1" "$report" 2>/dev/null; }
names_each_city_once() { [ "$(tail -n +2 "$report" 2>/dev/null | cut -d, -f1 | sort | xargs)" = 'Braga Lisbon Porto' ]; }
is_sorted() { [ "$(tail -n +2 "$report" 2>/dev/null | cut -d, -f3 | xargs)" = '20 5 4' ]; }

start=$(now_ms)
check 'the header is right' has_header
check 'each city is there once' names_each_city_once
check 'Lisbon is summed' has_line 'Lisbon,345,20'
check 'Porto is summed' has_line 'Porto,215,4'
check 'Braga is summed' has_line 'Braga,76,5'
check 'most late parcels come first' is_sorted
stop=$(now_ms)

cat > "$out/ctrf.json" <<JSON
{
  "reportFormat": "CTRF",
  "specVersion": "0.0.0",
  "results": {
    "tool": { "name": "test.sh" },
    "summary": {
      "tests": $checks, "passed": $passed, "failed": $((checks - passed)),
      "pending": 0, "skipped": 0, "other": 0, "start": $start, "stop": $stop
    },
    "tests": [$entries]
  }
}
JSON

bytes=0
[ -f "$report" ] && bytes=$(wc -c < "$report")
cat > "$out/metrics.json" <<JSON
{ "schema_version": 1, "checks_passed": $passed, "checks_total": $checks, "report_bytes": $((bytes)) }
JSON

if [ "$passed" -eq "$checks" ]; then echo 1; else echo 0; fi > "$out/reward.txt"
