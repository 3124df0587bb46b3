#!/bin/bash
# The suite on a busy machine: `make test` several times beside busy loops, twice as many as there are cores; says how each run ended.
# `make test-busy`, or .ci/busy.sh [runs] [pattern of test files]
set -u
cd "$(dirname "$0")/.."
runs=${1:-3}
pattern=${2:-}
loops=$((2 * $(getconf _NPROCESSORS_ONLN)))
pids=()
# With it each PostgreSQL backend, a session of its own, gets as much as the tests and all loops together.
autogroup=/proc/sys/kernel/sched_autogroup_enabled
grouped=$(cat "$autogroup" 2>/dev/null || echo 0)
stop() {
  ((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null
  ((grouped == 0)) || echo "$grouped" >"$autogroup"
}
trap stop EXIT
trap 'exit 130' INT TERM
((grouped == 0)) || echo 0 2>/dev/null >"$autogroup" || { echo "$autogroup is $grouped, which only root can change: the loops take from the tests alone" >&2; grouped=0; }
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
