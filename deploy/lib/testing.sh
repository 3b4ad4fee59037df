# shellcheck shell=bash
# The functions by which `deploy/test` builds, runs and measures the tests and reports failures.

tests_pid=
busy_pids=()

build_flags=(
    --package-path "$checkout"
    --explicit-target-dependency-import-check error
    -Xswiftc -warnings-as-errors
)

# SwiftPM builds everything again if the flags differ. Therefore these flags have a separate folder, so that a plain
# `swift build` and this script do not undo each other's work.
scratch=$checkout/.build/checked

build_tests() {
    local started
    started=$(now)
    swift build --scratch-path "$scratch" "${build_flags[@]}" --build-tests || return 1
    build_time=$(seconds_since "$started")
}

# run_tests LOG ARGUMENT…: runs the tests in a separate session, so that all their processes can be stopped together.
# During `wait`, this script handles signals immediately.
run_tests() {
    local log=$1 code=0
    shift
    # The tests decide how many run at a time (Tests/TestSupport/LimitedConcurrency.swift), also with releases of Swift
    # Testing that do not read this.
    export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH="${SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH:-512}"
    # After a crash, the backtracer of Swift 6.0 uses gigabytes and many minutes to print the place.
    if ((swift_major == 6 && swift_minor == 0)); then
        export SWIFT_BACKTRACE="${SWIFT_BACKTRACE:-enable=no}"
    fi
    # The output goes to a file: a pipe would stay open until the last process ends that a test has left behind.
    setsid swift test --scratch-path "$scratch" "${build_flags[@]}" --skip-build --parallel "$@" \
        </dev/null &>"$log" 7>&- 8>&- 9>&- &
    tests_pid=$!
    tail -f -n +1 -s 0.2 --pid="$tests_pid" "$log" 7>&- 8>&- 9>&- &
    wait "$tests_pid" || code=$?
    wait $!
    tests_pid=
    return "$code"
}

# Stops the current run of tests and all its processes.
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
    # Then the proofs do not wait for most of their time.
    export BELLHOP_PROOFS_AT_A_TIME=1
    say busy "four processes use all processor time during the tests"
}

end_busy() {
    ((${#busy_pids[@]} == 0)) || kill -KILL "${busy_pids[@]}" 2>/dev/null || true
    busy_pids=()
}

# Prints the seconds of processor time that all processes of this machine have used since its start.
processor_seconds() {
    awk -v ticks="$(getconf CLK_TCK)" '$1 == "cpu" { print ($2 + $3 + $4 + $7 + $8) / ticks }' /proc/stat
}

# Prints the seconds of processor time of one of this run's servers, with its child processes.
server_seconds() {
    local pid total=0
    pid=$(pid_of "$1")
    [[ $pid ]] || { printf 0 && return; }
    for pid in "$pid" $(pgrep -P "$pid"); do
        total=$((total + $(awk '{ sub(/.*\) /, ""); print $12 + $13 + $14 + $15 }' "/proc/$pid/stat" 2>/dev/null || echo 0)))
    done
    awk -v total="$total" -v ticks="$(getconf CLK_TCK)" 'BEGIN { print total / ticks }'
}

# say_times SECONDS PROCESSOR: prints the duration of the tests and the use of processor time.
say_times() {
    awk -v took="$1" -v used="$2" -v cores="$(nproc)" -v database="$(server_seconds postgresql)" \
        -v broker="$(server_seconds rabbitmq)" 'BEGIN {
            printf "%-11s %.0f s; processors busy %.0f%% of it: PostgreSQL %.0f s, RabbitMQ %.0f s, all else %.0f s\n",
                "times", took, 100 * used / (took * cores), database, broker, used - database - broker }' >&2
}

# summarise LOG: prints each failed test with its issues and the folder of its evidence. In the log they are far above.
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

# repeat_tests TIMES ARGUMENT…: runs the same tests until they fail, at most TIMES times, and keeps the log of the
# failure.
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
