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

# bellhop_must WHAT ARGUMENT…: runs one command to its end; its own error line says what is wrong.
bellhop_must() {
    local what=$1 code=0
    shift
    "$bellhop" "$@" >>"$data/log/commands.log" || code=$?
    ((code == 0)) || die "'bellhop $*' ended with $code, so $what is not done; see the line above and $data/log/commands.log"
}

# The schema. Where another release's data is in the way, the last line says how to part with it.
migrate_schema() {
    local words code=0
    words=$("$bellhop" migrate 2>&1 >>"$data/log/commands.log") || code=$?
    ((code == 0)) || printf '%s\n' "$words" >&2
    if ((code == 78)) && is_running postgresql && [[ $words == *"migrating the schema"* ]]; then
        die "the data in $data comes from another release of Bellhop; to throw it away and start over: deploy/up --reset"
    fi
    ((code == 0)) || die "'bellhop migrate' ended with $code, so the schema is not done; see the line above"
}

# The roles that run; where each says that it is ready is in `role_checks`.
declare -A role_checks=()
role_names=()

# Everything in one process and its children: schema, topology, workers, scheduler, inbox API and console.
start_everything() {
    local workers=$1
    start_role bellhop "$(ready_from 0 $((workers - 1))) $(ready_from 100 102)" up --workers "$workers"
    wait_for_role bellhop "schema and topology in place, workers $workers, scheduler, inbox API, console"
}

# Workers alone, as one pool, and a scheduler alone, for trials that stop one of them.
start_workers() {
    local workers=$1
    start_role pool "$(ready_from 0 $((workers - 1)))" pool --workers "$workers"
    wait_for_role pool "workers $workers, $(metrics_from_to "$metrics_port" $((metrics_port + workers - 1)))"
}

start_scheduler() {
    local port=$((metrics_port + 100))
    start_role scheduler "$(ready_from 100 100)" scheduler
    wait_for_role scheduler "$(metrics_from_to "$port" "$port")"
}

# ready_from FIRST LAST: where the roles of these metrics ports, counted from the first worker's, say that they are ready.
ready_from() {
    local offset
    for ((offset = $1; offset <= $2; offset++)); do
        printf '%s:%s/readyz ' "$metrics_host" "$((metrics_port + offset))"
    done
}

# Where a role, API or CONSOLE, listens: where the caller has said so, or else on a port that is chosen once.
settle_listen() {
    local setting=BELLHOP_$1_LISTEN
    if [[ -z ${!setting:-} || ${!setting} == "127.0.0.1:$(port_of "$1_PORT")" ]]; then
        choose_port "$1_PORT"
        printf -v "$setting" '127.0.0.1:%s' "$(port_of "$1_PORT")"
    fi
    export_line "$setting" "${!setting}"
}

# What the inbox API needs, and a token for ada of the app drop: the key that signs it is made here once and stays here, and
# this API alone trusts it. Where the caller has a key set, their own sign-in makes the tokens.
settle_api() {
    local keys=$data/token-keys.json secrets=$data/secrets token
    if [[ -z ${BELLHOP_JWT_KEYS:-} || $BELLHOP_JWT_KEYS == "$keys" ]]; then
        if [[ ! -s $secrets/token.pem || ! -s $keys ]]; then
            rm -f "$secrets/token.pem" "$keys"
            bellhop_must "a key for tokens" keys tokens --out "$secrets/token.pem" --set "$keys"
        fi
        token=$("$bellhop" token --key "$secrets/token.pem" --app drop --user ada --valid 30d) \
            || die "making a token for the inbox API failed; see the line above"
        export_line BELLHOP_API_TOKEN "$token"
    else
        keys=$BELLHOP_JWT_KEYS
        drop_line BELLHOP_API_TOKEN
    fi
    export_line BELLHOP_JWT_KEYS "$keys"
    settle_listen API
    export_line BELLHOP_API_URL "http://$BELLHOP_API_LISTEN"
}

# What the console needs, and a token for an operator called admin, made here once. Where the caller has a file of operators,
# theirs sign in.
settle_console() {
    local operators=$data/operators.json token
    if [[ -z ${BELLHOP_OPERATORS:-} || $BELLHOP_OPERATORS == "$operators" ]]; then
        if [[ ! -s $operators || -z ${BELLHOP_CONSOLE_TOKEN:-} ]]; then
            rm -f "$operators"
            token=$("$bellhop" keys operator --name admin --set "$operators" --json | sed -n 's/.*"token":"\([^"]*\)".*/\1/p')
            [[ -n $token ]] || die "making a token for the console failed; see the line above"
            export_line BELLHOP_CONSOLE_TOKEN "$token"
        fi
    else
        operators=$BELLHOP_OPERATORS
        drop_line BELLHOP_CONSOLE_TOKEN
    fi
    export_line BELLHOP_OPERATORS "$operators"
    settle_listen CONSOLE
}

metrics_from_to() {
    printf 'metrics on http://%s:%s/metrics' "$metrics_host" "$1"
    (($1 == $2)) || printf ' to :%s' "$2"
}

# start_role NAME CHECKS ARGUMENT…: CHECKS are host:port/path, with blanks between, that say 200 once the role is ready.
start_role() {
    local name=$1
    role_checks[$name]=$2
    shift 2
    : >"$data/log/$name.log"
    role_started=$(now)
    launch "$name" "$bellhop" "$@"
    role_names+=("$name")
}

# wait_for_role NAME WORDS: until it consumes and its servers answer.
wait_for_role() {
    local name=$1
    if ! wait_until 60 role_ready_or_ended "$name" || is_stopped "$name"; then
        show_log "$name"
        die "starting $name failed: ${role_checks[$name]} does not say 200; see the lines above"
    fi
    say "$name" "ready in $(seconds_since "$role_started"), $2"
}

role_ready_or_ended() {
    local check address
    is_stopped "$1" || for check in ${role_checks[$1]}; do
        address=${check%%/*}
        says_ok "${address%:*}" "${address##*:}" "/${check#*/}" || return 1
    done
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

# http_body HOST PORT PATH: what GET on a plain HTTP server answers, without the headers.
http_body() {
    {
        exec 3<>"/dev/tcp/$1/$2"
        printf 'GET %s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\n\r\n' "$3" "$1" "$2" >&3
        timeout 10 sed '1,/^\r$/d' <&3
        exec 3>&-
    } 2>/dev/null
}

# Asks every role that runs by this folder's records to drain and end; all are asked first, so that they drain together.
# The sandbox goes after the others: who drains may still push.
stop_roles() {
    local name names=() started code=0
    started=$(now)
    for name in $(recorded_roles); do
        [[ -z $(pid_of "$name") ]] || names+=("$name")
    done
    stop_each $(recorded_roles | grep -vx sandbox) || code=1
    stop_each $(recorded_roles | grep -x sandbox) || code=1
    ((${#names[@]} == 0)) || say roles "${names[*]} stopped in $(seconds_since "$started")"
    return "$code"
}

stop_each() {
    local name pid code=0
    for name in "$@"; do
        pid=$(pid_of "$name")
        [[ -z $pid ]] || kill -TERM "$pid" 2>/dev/null || true
    done
    for name in "$@"; do
        (stop_draining "$name") || code=1
    done
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
