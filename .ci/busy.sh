#!/bin/bash
# The suite on a busy machine: `make test` several times beside busy loops, twice as many as there are cores; says how each run ended.
# `make test-busy`, or .ci/busy.sh [runs] [pattern of test files]
set -u
cd "$(dirname "$0")/.."
runs=${1:-3}
pattern=${2:-}
loops=$((2 * $(getconf _NPROCESSORS_ONLN)))
pids=()
stop() { ((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null; }
trap stop EXIT
trap 'exit 130' INT TERM
mkdir -p .run
for ((i = 0; i < loops; i++)); do
  # Ends by itself where this script is killed.
  (while kill -0 $$ 2>/dev/null; do for ((n = 0; n < 200000; n++)); do :; done; done) &
  pids+=($!)
done
echo "$runs runs beside $loops busy loops on $(getconf _NPROCESSORS_ONLN) cores"
failures=0
for ((run = 1; run <= runs; run++)); do
  began=$SECONDS
  make test ARGS="$pattern" >".run/busy-$run.log" 2>&1
  status=$?
  ((status == 0)) || failures=$((failures + 1))
  load=$(cut -d ' ' -f 1 /proc/loadavg 2>/dev/null || echo unknown)
  echo "run $run: exit status $status after $((SECONDS - began)) s, load $load: $(grep '^Tests:' ".run/busy-$run.log" || echo 'no test ran')"
  grep '●.*›\|^FAIL' ".run/busy-$run.log" | sort -u
done
((failures == 0))
