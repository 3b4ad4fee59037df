# shellcheck shell=bash
# Starts docker-compose.yml with podman-compose, tests it under load, and removes it.
#
# podman leaves health checks to systemd, which may be missing here. Therefore `await_health` runs them, and `bring_up`
# starts the services in the order of `depends_on`.

project=bellhop-check
users=400
events_of_a_user=50
events=$((users * events_of_a_user))

copy_composition() {
    mkdir -p "$work/checkout"
    git -c safe.directory="$checkout" -C "$checkout" ls-files -z docker-compose.yml deploy \
        | (cd "$checkout" && tar --null --files-from=- -cf -) | tar -C "$work/checkout" -xf -
    "$work/checkout/deploy/container/secrets" >/dev/null
    export RABBITMQ_IMAGE=$rabbitmq_image POSTGRES_IMAGE=$postgres_image
    choose_free AMQP_PORT SANDBOX_PORT API_PORT CONSOLE_PORT
}

# Chooses loopback ports of the host, for this run only.
choose_free() {
    local name port
    for name in "$@"; do
        until port=$((20000 + RANDOM % 12000)) && port_is_free "$port"; do :; done
        export "$name=$port"
    done
}

compose() {
    (cd "$work/checkout" && "$tools/bin/podman-compose" --project-name "$project" "$@") 8>&-
}

# containers_of SERVICE: prints the names of its running containers.
containers_of() {
    podman ps --format '{{.Names}}' --filter "label=com.docker.compose.service=$1" \
        --filter "label=com.docker.compose.project=$project"
}

start_service() {
    compose up --detach --no-deps --no-recreate "$@" >>"$work/compose.log" 2>&1 \
        || { tail -n 20 "$work/compose.log" >&2; die "starting ${*: -1} failed; see the lines above"; }
}

is_healthy() {
    local name names
    names=$(containers_of "$1")
    [[ -n $names && $(wc -w <<<"$names") -eq ${2:-1} ]] || return 1
    for name in $names; do podman healthcheck run "$name" >/dev/null 2>&1 || return 1; done
}

# await_health SERVICE [HOW MANY]
await_health() {
    wait_until 120 is_healthy "$@" || die "$1 is not healthy after two minutes; see its log"
    say containers "$1 is healthy"
}

bring_up() {
    local service name
    for service in rabbitmq postgres sandbox; do start_service "$service"; done
    for service in rabbitmq postgres sandbox; do await_health "$service"; done
    start_service setup
    name=$(podman ps --all --format '{{.Names}}' --filter "label=com.docker.compose.service=setup" | head -n 1)
    [[ $(podman wait "$name") == 0 ]] || { podman logs "$name" >&2; die "setup failed; see the lines above"; }
    say containers "setup brought schema and topology up to date"
    for service in worker scheduler api console; do start_service "$service"; done
    for service in worker scheduler api console; do await_health "$service"; done
}

# publish_file FILE: publishes a file from a separate container.
publish_file() {
    compose run --rm -T --no-deps setup 'bellhop publish -' <"$1" >"$work/publish.log" 2>&1 \
        || { tail -n 5 "$work/publish.log" >&2; die "publishing failed; see the lines above"; }
}

# Publishes users with one device each, then their events, while workers are added and killed.
publish_events() {
    local victim
    awk -v users="$users" 'BEGIN { for (u = 1; u <= users; u++) {
        printf "{\"app\":\"drop\",\"eventType\":\"recipient.upserted\",\"userId\":\"u%d\",\"locale\":\"nb\",\"timezone\":\"UTC\"}\n", u
        printf "{\"app\":\"drop\",\"eventType\":\"subscription.upserted\",\"userId\":\"u%d\",\"token\":\"check-device-%04d-0123456789\",\"platform\":\"android\",\"provider\":\"fcm\",\"permission\":\"granted\"}\n", u, u } }' >"$work/users.jsonl"
    awk -v users="$users" -v each="$events_of_a_user" 'BEGIN { for (e = 1; e <= each; e++) for (u = 1; u <= users; u++)
        printf "{\"id\":\"e%d-%d\",\"app\":\"drop\",\"eventType\":\"security\",\"to\":{\"user\":\"u%d\"},\"data\":{\"device\":\"iPhone %d\",\"place\":\"Oslo\"}}\n", u, e, u, e }' >"$work/events.jsonl"
    publish_file "$work/users.jsonl"
    wait_until 60 query_says 'select count(*) from bellhop.push_subscriptions' "$users" \
        || die "the users were published, but not all are stored after a minute"
    say containers "$users users with a device each"
    start_service --scale worker=3 worker
    await_health worker 3
    victim=$(containers_of worker | head -n 1)
    publish_file "$work/events.jsonl" &
    wait_until 60 something_arrived || die "no event arrived within a minute"
    podman kill --signal KILL "$victim" >/dev/null || die "killing $victim failed; see the line above"
    say containers "$victim was killed, with $(query 'select count(*) from bellhop.notifications') of $events notifications recorded"
    wait "$!" || die "publishing failed; see the lines above"
}

something_arrived() {
    (($(query 'select count(*) from bellhop.notifications') > 0))
}

query() {
    podman exec "$(containers_of postgres)" psql -U bellhop -Atc "$1"
}

query_says() {
    [[ $(query "$1" 2>/dev/null) == "$2" ]]
}

# A claim of the killed worker is valid for BELLHOP_LEASE, a minute. On a busy machine a provider may not answer in
# time; such a delivery is retried after up to ten minutes.
await_events() {
    local open="select (select count(*) from bellhop.notifications) || ' ' || (select count(*) from bellhop.deliveries
        where channel = 'push' and state in ('pending', 'sending', 'deferred', 'retrying'))"
    wait_until 900 query_says "$open" "$events 0" \
        || die "of $events notifications and 0 open pushes, $(query "$open") are present after a quarter of an hour"
}

# Checks that each event has one notification and each notification has one delivered push. A provider may have received
# a push twice only if the ledger marks it as possibly repeated.
check_counts() {
    local delivered repeats received distinct dead
    query_says "select count(distinct (user_id, event_id)) from bellhop.notifications" "$events" \
        || die "duplicate events were recorded"
    delivered=$(query "select count(*) from bellhop.deliveries where channel = 'push' and state = 'delivered'")
    ((delivered == events)) || die "$delivered pushes of $events are delivered"
    repeats=$(query "select coalesce(sum(unknown_sends), 0) from bellhop.deliveries")
    received=$(curl -fsS "http://127.0.0.1:$SANDBOX_PORT/received/summary" \
        | sed -n 's/.*"fcm":{"answers":{[^}]*},"dropped":[0-9]*,"received":\([0-9]*\).*/\1/p')
    ((received >= events && received <= events + repeats)) \
        || die "the sandbox received $received pushes for $events events; the ledger has $repeats possible repeats"
    dead=$(query 'select count(*) from bellhop.dead_letters')
    ((dead == 0)) || die "$dead events became dead letters"
    say containers "$events events and notifications, $received pushes received ($repeats may be repeats), no dead letters"
}

# ask_console PATH [OPTION OF curl…]: prints the console's answer to a browser on this host, whose cookie is in `work`.
ask_console() {
    curl -sS --max-time 30 --cookie "$work/cookie" --cookie-jar "$work/cookie" "${@:2}" "http://127.0.0.1:$CONSOLE_PORT$1"
}

# Uses the console as an operator does: the page, a wrong token, the token from setup, the status.
check_console() {
    local token status sign_in=(--header 'Content-Type: application/json' --write-out '%{http_code}' --output "$work/answer")
    : >"$work/cookie"
    { ask_console / --fail >"$work/answer" && grep -q "<title>" "$work/answer"; } || die "the console shows no page"
    [[ $(ask_console /api/status --output "$work/answer" --write-out '%{http_code}') == 401 ]] \
        || die "the console shows its status without a sign-in"
    [[ $(ask_console /api/sign-in "${sign_in[@]}" --data '{"token":"nobody"}') == 401 ]] \
        || die "the console accepts an unknown token"
    token=$(podman exec "$(containers_of console)" cat /var/lib/bellhop/operators/console-token \
        | sed -n 's/^token of .*: //p')
    [[ $token && $(ask_console /api/sign-in "${sign_in[@]}" --data "{\"token\":\"$token\"}") == 200 ]] \
        || { cat "$work/answer" >&2; die "the console rejects its operator; see the line above"; }
    status=$(ask_console /api/status --fail) || die "the console shows no status to its operator"
    [[ $status =~ \"broker\":\{[^}]*\"reached\":true && $status =~ \"database\":\{[^}]*\"reached\":true ]] \
        || { printf '%.600s\n' "$status" >&2; die "the console does not reach broker and database; see the line above"; }
    say containers "the console signs in only its operator, and reaches broker and database"
}

# The killed worker may have been restarted by its restart policy or not; every container that runs must be healthy.
check_health() {
    local service name left
    for service in scheduler api console sandbox; do await_health "$service"; done
    left=$(containers_of worker)
    for name in $left; do wait_until 60 podman healthcheck run "$name" >/dev/null || die "$name is not healthy"; done
    for name in $left $(containers_of scheduler) $(containers_of api) $(containers_of console); do
        [[ $(podman exec "$name" id -u) == 10001 ]] || die "$name does not run as user 10001"
        ! podman exec "$name" touch /etc/bellhop/written 2>/dev/null || die "$name can write to its file system"
    done
    say containers "$(wc -w <<<"$left") workers are running, all roles run as user 10001 on a read-only file system"
}

show_containers() {
    local name
    podman ps --all --filter "label=com.docker.compose.project=$project" || return 0
    for name in $(podman ps --all --format '{{.Names}}' --filter "label=com.docker.compose.project=$project"); do
        printf '%s\n' "--- the last lines of $name"
        podman logs --tail 8 "$name" 2>&1 || true
    done
}

# Workers drain first. podman-compose stops only the containers that the file names, and none that scaling has added.
take_down() {
    local ours=(--filter "label=com.docker.compose.project=$project")
    [[ -d $work/checkout ]] || return 0
    {
        podman ps --quiet "${ours[@]}" | xargs -r podman stop --time 30
        podman ps --all --quiet "${ours[@]}" | xargs -r podman rm --force
        compose down --volumes
        podman volume ls --quiet "${ours[@]}" | xargs -r podman volume rm --force
    } >>"$work/compose.log" 2>&1 || true
    [[ -z $(podman ps --all --quiet "${ours[@]}") ]] || die "not all containers were removed; see podman ps --all"
    say containers "removed"
}
