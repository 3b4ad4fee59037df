# shellcheck shell=bash
# How `deploy/test` runs the tests: building, running, measuring, and what it reports of failures.

tests_pid=
busy_pids=()

build_flags=(
    --package-path "$checkout"
    --explicit-target-dependency-import-check error
    -Xswiftc -warnings-as-errors
)

# Flags are part of what SwiftPM compares before it builds again: with a folder of their own, neither a plain
# `swift build` nor this script undoes the other's work.
scratch=$checkout/.build/checked

build_tests() {
    local started
    started=$(now)
    swift build --scratch-path "$scratch" "${build_flags[@]}" --build-tests || return 1
    build_time=$(seconds_since "$started")
}

# run_tests LOG ARGUMENT…: in a session of its own, so that it can be ended as a whole; `wait` lets signals through to this
# script at once.
run_tests() {
    local log=$1 code=0
    shift
    # The tests themselves decide how many run at a time (Tests/TestSupport/InTurn.swift), also with releases of Swift
    # Testing that do not read this.
    export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH="${SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH:-512}"
    # Should a test crash, the backtracer of Swift 6.0 takes gigabytes and many minutes to say where.
    if ((swift_major == 6 && swift_minor == 0)); then
        export SWIFT_BACKTRACE="${SWIFT_BACKTRACE:-enable=no}"
    fi
    # By way of a file, and not of a pipe: that would stay open for as long as anything does that a test has left behind.
    setsid swift test --scratch-path "$scratch" "${build_flags[@]}" --skip-build --parallel "$@" \
        </dev/null &>"$log" 7>&- 8>&- 9>&- &
    tests_pid=$!
    tail -f -n +1 -s 0.2 --pid="$tests_pid" "$log" 7>&- 8>&- 9>&- &
    wait "$tests_pid" || code=$?
    wait $!
    tests_pid=
    return "$code"
}

# Ends a run of tests that goes on, and everything that it has started.
end_tests() {
    [[ $tests_pid ]] || return 0
    pkill -TERM -s "$tests_pid" 2>/dev/null || true
    wait_until 5 no_session "$tests_pid" || pkill -KILL -s "$tests_pid" 2>/dev/null || true
}

no_session() {
    ! pgrep -s "$1" >/dev/null
}

# Four processes that use all the processor time they get, for `--busy`.
keep_busy() {
    local number
    for number in 1 2 3 4; do
        bash -c 'while :; do :; done' </dev/null &>/dev/null 7>&- 8>&- 9>&- &
        busy_pids+=($!)
    done
    say busy "four processes use all processor time beside the tests"
}

end_busy() {
    ((${#busy_pids[@]} == 0)) || kill -KILL "${busy_pids[@]}" 2>/dev/null || true
    busy_pids=()
}

# Seconds of processor time that all processes of this machine have used since it started.
processor_seconds() {
    awk -v ticks="$(getconf CLK_TCK)" '$1 == "cpu" { print ($2 + $3 + $4 + $7 + $8) / ticks }' /proc/stat
}

# Seconds of processor time of a server of this run, with all that it has started.
server_seconds() {
    local pid total=0
    pid=$(pid_of "$1")
    [[ $pid ]] || { printf 0 && return; }
    for pid in "$pid" $(pgrep -P "$pid"); do
        total=$((total + $(awk '{ sub(/.*\) /, ""); print $12 + $13 + $14 + $15 }' "/proc/$pid/stat" 2>/dev/null || echo 0)))
    done
    awk -v total="$total" -v ticks="$(getconf CLK_TCK)" 'BEGIN { print total / ticks }'
}

# say_times SECONDS PROCESSOR: what the tests took, and whose processor time it was.
say_times() {
    awk -v took="$1" -v used="$2" -v cores="$(nproc)" -v database="$(server_seconds postgresql)" \
        -v broker="$(server_seconds rabbitmq)" 'BEGIN {
            printf "%-11s %.0f s; processors busy %.0f%% of it: PostgreSQL %.0f s, RabbitMQ %.0f s, all else %.0f s\n",
                "times", took, 100 * used / (took * cores), database, broker, used - database - broker }' >&2
}

# summarise LOG: each failed test with its first issue and the folder of its evidence. In the log they are far up by now.
summarise() {
    local log=$1
    awk '
        / recorded an issue / { inside = 1; print; next }
        inside && /^(  |[^A-Za-z]*↳)/ { print; next }
        { inside = 0 }
        / Test .* failed after / && !/ Test run with / { names = names $0 "\n" }
        END { printf "%s", names }
    ' "$log" | cut -c1-1000 | tee "$failures/issues.txt"
    local folder
    for folder in "$failures"/*/; do
        [[ ! -f $folder/condition.txt ]] || say evidence "$folder: $(head -c 300 "$folder/condition.txt" | head -n 1)"
    done
}

# repeat_tests TIMES ARGUMENT…: the same tests again until they fail; the log of the failure is kept.
repeat_tests() {
    local times=$1 round
    shift
    for ((round = 1; round <= times; round++)); do
        if ! run_tests "$tests_log" "$@" >/dev/null; then
            cp "$tests_log" "$data/log/repeat-$round.log"
            summarise "$tests_log" >&2
            say repeat "failed in round $round of $times; the log is $data/log/repeat-$round.log" >&2
            return 1
        fi
        say repeat "round $round of $times: $(grep -a 'Test run with' "$tests_log" | tail -n 1 | sed 's|^[^T]*||')" >&2
    done
}
