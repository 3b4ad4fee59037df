# shellcheck shell=bash
# Builds, starts and stops Bellhop's processes, and waits for them. Only the environment configures them.

bellhop=$checkout/.build/release/bellhop

# Builds the release binary. On a terminal SwiftPM shows its progress; otherwise its output goes to a log.
build_bellhop() {
    local started words=(swift build --package-path "$checkout" "${release_flags[@]}" --product bellhop)
    started=$(now)
    if [[ -t 1 ]]; then
        say build "bellhop, release (the first time takes some minutes)"
        "${words[@]}" || die "building failed; see the lines above"
    else
        say build "bellhop, release (the first time takes some minutes; progress in $data/log/build.log)"
        if ! "${words[@]}" >"$data/log/build.log" 2>&1; then
            show_log build
            die "building failed; see the lines above"
        fi
    fi
    say build "done in $(seconds_since "$started")"
}

# bellhop_must WHAT ARGUMENT…: runs one command to its end. WHAT is a gerund phrase for the error message; the command's
# own error line names the cause.
bellhop_must() {
    local what=$1 code=0
    shift
    "$bellhop" "$@" >>"$data/log/commands.log" || code=$?
    ((code == 0)) || die "$what failed: 'bellhop $*' ended with $code; see the line above and $data/log/commands.log"
}

# Migrates the schema. If another release's data prevents it, the last line names the command that deletes the data.
migrate_schema() {
    local words code=0
    words=$("$bellhop" migrate 2>&1 >>"$data/log/commands.log") || code=$?
    ((code == 0)) || printf '%s\n' "$words" >&2
    if ((code == 78)) && is_running postgresql && [[ $words == *"migrating the schema"* ]]; then
        die "the data in $data belongs to another release of Bellhop; to delete it and start again, run: deploy/up --reset"
    fi
    ((code == 0)) || die "migrating the schema failed: 'bellhop migrate' ended with $code; see the line above"
}

# The running roles; `role_checks` has the addresses of their readiness checks.
declare -A role_checks=()
role_names=()

# Starts everything in one process and its children: schema, topology, workers, scheduler, inbox API and console.
start_everything() {
    local workers=$1
    start_role bellhop "$(ready_from 0 $((workers - 1))) $(ready_from 100 102)" up --workers "$workers"
    wait_for_role bellhop "schema and topology in place, workers $workers, scheduler, inbox API, console"
}

# Waits until `bellhop status` reports every process as ready: a process writes its change of state within a second of
# it. After ten seconds the status stands, since it then names a real problem.
await_status() {
    wait_until 10 status_is_settled || true
}

status_is_settled() {
    local status
    status=$("$bellhop" status --json 2>/dev/null) || true
    [[ $status == *'"processes":[{'* && $status != *'"hindrance":"'* ]]
}

# Starts only workers, as one pool. With `start_scheduler`, it serves trials that stop one of the two.
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

# ready_from FIRST LAST: prints the addresses of readiness checks, for metrics ports counted from the first worker's
# port.
ready_from() {
    local offset
    for ((offset = $1; offset <= $2; offset++)); do
        printf '%s:%s/readyz ' "$metrics_host" "$((metrics_port + offset))"
    done
}

# Sets the address of a role, API or CONSOLE: the caller's setting, or else a port that is chosen once.
settle_listen() {
    local setting=BELLHOP_$1_LISTEN
    if [[ -z ${!setting:-} || ${!setting} == "127.0.0.1:$(port_of "$1_PORT")" ]]; then
        choose_port "$1_PORT"
        printf -v "$setting" '127.0.0.1:%s' "$(port_of "$1_PORT")"
    fi
    export_line "$setting" "${!setting}"
}

# Sets up the inbox API, and makes a token for ada of the app drop. The key that signs the token is made here once and
# stays here, and only this API trusts it. If the caller has a key set, the caller's sign-in issues the tokens.
settle_api() {
    local keys=$data/token-keys.json secrets=$data/secrets token
    if [[ -z ${BELLHOP_JWT_KEYS:-} || $BELLHOP_JWT_KEYS == "$keys" ]]; then
        if [[ ! -s $secrets/token.pem || ! -s $keys ]]; then
            rm -f "$secrets/token.pem" "$keys"
            bellhop_must "making a key for tokens" keys tokens --out "$secrets/token.pem" --set "$keys"
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

# Sets up the console, with a token for an operator called admin.
settle_console() {
    settle_token BELLHOP_OPERATORS BELLHOP_CONSOLE_TOKEN "$data/operators.json" operator --name admin
    settle_listen CONSOLE
}

# Sets up a publisher of the app drop, so that programs can publish by HTTP.
settle_publishers() {
    settle_token BELLHOP_PUBLISHERS BELLHOP_PUBLISHER_TOKEN "$data/publishers.json" publisher --name sample --app drop
}

# settle_token FILE_SETTING TOKEN_SETTING FILE ARGUMENT…: exports a file of token hashes, and the token that
# 'bellhop keys ARGUMENT…' has written to it once. If the caller has another file, only the tokens of that one are valid.
settle_token() {
    local file_setting=$1 token_setting=$2 file=$3 token
    shift 3
    if [[ -z ${!file_setting:-} || ${!file_setting} == "$file" ]]; then
        if [[ ! -s $file || -z ${!token_setting:-} ]]; then
            rm -f "$file"
            token=$("$bellhop" keys "$@" --set "$file" --json | sed -n 's/.*"token":"\([^"]*\)".*/\1/p')
            [[ -n $token ]] || die "making a token of $1 failed; see the line above"
            export_line "$token_setting" "$token"
        fi
    else
        file=${!file_setting}
        drop_line "$token_setting"
    fi
    export_line "$file_setting" "$file"
}

metrics_from_to() {
    printf 'metrics on http://%s:%s/metrics' "$metrics_host" "$1"
    (($1 == $2)) || printf ' to :%s' "$2"
}

# start_role NAME CHECKS ARGUMENT…: starts a role. CHECKS are addresses (host:port/path, separated by blanks) that
# answer 200 when the role is ready.
start_role() {
    local name=$1
    role_checks[$name]=$2
    shift 2
    : >"$data/log/$name.log"
    role_started=$(now)
    launch "$name" "$bellhop" "$@"
    role_names+=("$name")
}

# wait_for_role NAME WORDS: waits until the role consumes and its servers answer, and prints a line with WORDS.
wait_for_role() {
    local name=$1
    if ! wait_until 60 role_ready_or_ended "$name" || is_stopped "$name"; then
        show_log "$name"
        die "starting $name failed: ${role_checks[$name]} does not answer 200; see the lines above"
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

# http_body HOST PORT PATH: prints the body of a plain HTTP server's answer to GET.
http_body() {
    {
        exec 3<>"/dev/tcp/$1/$2"
        printf 'GET %s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\n\r\n' "$3" "$1" "$2" >&3
        timeout 10 sed '1,/^\r$/d' <&3
        exec 3>&-
    } 2>/dev/null
}

# Stops every recorded role of this folder. All get SIGTERM first, so that they drain at the same time. The sandbox
# stops after the others, since a draining role may still push.
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

# Waits for a role that already has the signal. It sends no second one, since that may mean an immediate exit.
stop_draining() {
    wait_until 40 is_stopped "$1" || true
    stop "$1" TERM 5 || true
}

# Prints the names of the recorded roles, without servers and deploy/up itself.
recorded_roles() {
    local file
    for file in "$data"/run/*; do
        case "${file##*/}" in
            '*' | *.lock | rabbitmq | epmd | postgresql | up) ;;
            *) printf '%s\n' "${file##*/}" ;;
        esac
    done
}
