# shellcheck shell=bash
# Bellhop's own processes: built, started, waited for, stopped. Configured by the environment alone.

bellhop=$checkout/.build/release/bellhop

# Builds the release binary. On a terminal SwiftPM shows its progress; elsewhere its words go to a log.
build_bellhop() {
    local started words=(swift build --package-path "$checkout" -c release --product bellhop)
    started=$(now)
    say build "bellhop, release (the first time takes some minutes)"
    if [[ -t 1 ]]; then
        "${words[@]}" || die "building failed; see the lines above"
    elif ! "${words[@]}" >"$data/log/build.log" 2>&1; then
        show_log build
        die "building failed; see the lines above"
    fi
    say build "done in $(seconds_since "$started")"
}

# Whether this release has a command.
has_command() {
    "$bellhop" "$1" --help >/dev/null 2>&1
}

# bellhop_must WHAT ARGUMENT…: runs one command to its end; its own error line says what is wrong.
bellhop_must() {
    local what=$1 code=0
    shift
    "$bellhop" "$@" >>"$data/log/bellhop.log" || code=$?
    ((code == 0)) || die "'bellhop $*' ended with $code, so $what is not done; see the line above and $data/log/bellhop.log"
}

# Starts every role that this release has; what listens where for /readyz is in `role_names` and `role_ports`.
start_roles() {
    local workers=$1 number
    role_names=() role_ports=() roles_started=$(now)
    if has_command pool; then
        start_role pool "$metrics_port" pool --workers "$workers"
    elif has_command worker; then
        for ((number = 0; number < workers; number++)); do
            BELLHOP_METRICS_LISTEN=$metrics_host:$((metrics_port + number)) \
                start_role "worker-$((number + 1))" $((metrics_port + number)) worker
        done
    fi
    if has_command scheduler; then
        start_role scheduler $((metrics_port + 100)) scheduler
    fi
}

# start_role NAME PORT ARGUMENT…
start_role() {
    local name=$1 port=$2
    shift 2
    : >"$data/log/$name.log"
    launch "$name" "$bellhop" "$@"
    role_names+=("$name")
    role_ports+=("$port")
}

# Waits until every started role consumes and its servers answer.
wait_for_roles() {
    local index name
    for index in "${!role_names[@]}"; do
        name=${role_names[index]}
        if ! wait_until 60 role_ready_or_ended "$name" "${role_ports[index]}" || is_stopped "$name"; then
            show_log "$name"
            die "starting $name failed: http://$metrics_host:${role_ports[index]}/readyz does not say 200; see the lines above"
        fi
        say "$name" "ready in $(seconds_since "$roles_started"), metrics on http://$metrics_host:${role_ports[index]}/metrics"
    done
}

role_ready_or_ended() {
    is_stopped "$1" || says_ok "$metrics_host" "$2" /readyz
}

# Whether GET on a plain HTTP server answers 200.
says_ok() {
    local status=
    {
        exec 3<>"/dev/tcp/$1/$2" \
            && printf 'GET %s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\n\r\n' "$3" "$1" "$2" >&3 \
            && read -r -t 5 -u 3 status
        exec 3>&-
    } 2>/dev/null || return 1
    [[ $status == HTTP/1.?\ 200\ * ]]
}

# Asks every role that runs by this folder's records to drain and end; all are asked first, so that they drain together.
stop_roles() {
    local name pid started names=() code=0
    started=$(now)
    for name in $(recorded_roles); do
        pid=$(pid_of "$name")
        if [[ -n $pid ]]; then
            names+=("$name")
            kill -TERM "$pid" 2>/dev/null || true
        fi
    done
    for name in $(recorded_roles); do
        (stop_draining "$name") || code=1
    done
    ((${#names[@]} == 0)) || say roles "${names[*]} stopped in $(seconds_since "$started")"
    return "$code"
}

# Waits for a role that has been asked to end, without asking again: a second signal may mean "at once".
stop_draining() {
    wait_until 40 is_stopped "$1" || true
    stop "$1" TERM 5 || true
}

# The names under which roles are recorded here; servers and deploy/up itself are none.
recorded_roles() {
    local file
    for file in "$data"/run/*; do
        case "${file##*/}" in
            '*' | *.lock | rabbitmq | epmd | postgresql | up) ;;
            *) printf '%s\n' "${file##*/}" ;;
        esac
    done
}
