# shellcheck shell=bash
# Puts a load on separate roles and checks its outcome. deploy/check-fleet, deploy/check-faults and deploy/check-restore
# share this file.
#
# A script that sources it sets `trial` to its name and calls `open_trial`. Before `prepare_servers`, it sets
# BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL, and `trial_database`, the URL of the database's owner.

trial_users=200
# Events per call of `bellhop publish`. A call that is not fully confirmed is repeated with the same ids.
trial_slice=250
trial_sent=0
# The number of messages that must become dead letters.
trial_letters=0
publishing=

# open_trial: creates the folder for the trial's servers and roles, which is removed at the end.
open_trial() {
    bellhop=${BELLHOP_PROGRAM:-$bellhop}
    if [[ ! -x $bellhop ]]; then
        find_swift
        open_data_folder "$checkout/.bellhop"
        build_bellhop
    fi
    work=$(mktemp -d "${TMPDIR:-/var/tmp}/bellhop-$trial.XXXXXX")
    chmod 755 "$work"
    printf '0\n' >"$work/repeats"
    open_data_folder "$work/roles"
    forget_private_urls "$checkout/.bellhop"
    unset BELLHOP_AMQP_URL BELLHOP_DATABASE_URL BELLHOP_LISTEN_URL BELLHOP_PROVIDERS BELLHOP_NAMESPACE
    export BELLHOP_CATALOGS=$checkout/deploy/catalogs BELLHOP_RETRY_DELAYS=10s,15s BELLHOP_RETRY_LIMIT=20 BELLHOP_LEASE=10s
}

# at_place NAME COMMAND…: runs a command with that folder in place of the roles' folder, for separate servers.
at_place() {
    (
        data=$work/$1
        shift
        "$@"
    )
}

make_place() {
    (open_data_folder "$work/$1")
}

# start_trial_roles WORKERS: starts the sandbox, a pool and a scheduler, and publishes users with one device each.
start_trial_roles() {
    local offsets
    mapfile -t offsets < <(seq 1 "$1")
    choose_port METRICS_PORT "${offsets[@]}" 100
    metrics_host=127.0.0.1
    metrics_port=$(port_of METRICS_PORT)
    export BELLHOP_METRICS_LISTEN=$metrics_host:$metrics_port
    start_sandbox
    # shellcheck source=/dev/null
    . "$data/env"
    start_workers "$1"
    start_scheduler
    publish_users
}

prepare_servers() {
    BELLHOP_DATABASE_URL=$trial_database migrate_schema
    BELLHOP_DATABASE_URL=$trial_database bellhop_must "applying the topology" topology apply
}

publish_users() {
    awk -v users="$trial_users" 'BEGIN { for (u = 1; u <= users; u++) {
        printf "{\"app\":\"drop\",\"eventType\":\"subscription.upserted\",\"userId\":\"u%d\",\"token\":\"trial-device-%04d-0123456789\",\"platform\":\"android\",\"provider\":\"fcm\"}\n", u, u } }' >"$work/users.jsonl"
    bellhop_must "publishing the users" publish "$work/users.jsonl"
    wait_until 60 trial_says 'select count(*) from bellhop.push_subscriptions' "$trial_users" \
        || die "the users were published, but not all are stored after a minute; see $data/log"
}

# publish_more COUNT: publishes in the background until every event is confirmed; `await_published` waits for the end.
publish_more() {
    [[ -z $publishing ]] || await_published
    publish_slices $((trial_sent + 1)) $((trial_sent + $1)) 8>&- &
    publishing=$!
    trial_sent=$((trial_sent + $1))
}

publish_slices() {
    local first last words repeats=0
    for ((first = $1; first <= $2; first += trial_slice)); do
        last=$((first + trial_slice - 1 < $2 ? first + trial_slice - 1 : $2))
        awk -v first="$first" -v last="$last" -v users="$trial_users" 'BEGIN { for (e = first; e <= last; e++)
            printf "{\"id\":\"t%d\",\"app\":\"drop\",\"eventType\":\"%s\",\"to\":{\"user\":\"u%d\"},\"title\":\"%d\",\"body\":\"Trial\"}\n",
                e, e % 3 ? "transaction_complete" : "security", e % users + 1, e }' >"$work/slice.jsonl"
        until words=$("$bellhop" publish "$work/slice.jsonl" 2>&1); do
            printf '%s\n' "$words" >>"$data/log/publish.log"
            repeats=$((repeats + 1))
            ((repeats < 200)) || { printf '%s\n' "$words" >&2; return 1; }
            sleep 0.2
        done
    done
    printf '%s\n' "$repeats" >"$work/repeats"
}

await_published() {
    [[ -n $publishing ]] || return 0
    wait "$publishing" || die "publishing failed; see the line above"
    publishing=
}

# await_recorded COUNT: waits until this number of events is recorded.
await_recorded() {
    wait_until 300 recorded_are "$1" || die "of $1 events only $(trial_query "$count_recorded") were recorded after five minutes; see $data/log"
}

recorded_are() {
    local count
    count=$(trial_query "$count_recorded" 2>/dev/null) && ((count >= $1))
}

count_recorded="select count(*) from bellhop.notifications where event_id ~ '^t[0-9]+\$'"
count_owed="select count(*) from bellhop.deliveries where state in ('pending', 'sending', 'deferred', 'retrying')"

trial_query() {
    psql_at "$trial_database" -Atc "$1"
}

trial_says() {
    [[ $(trial_query "$1" 2>/dev/null) == "$2" ]]
}

# settle_account WHAT: waits until all confirmed events are recorded and pushed, and checks the following. No event was
# lost or recorded twice. The number of dead letters is as expected. A push was repeated only if the ledger has an
# unknown outcome for it.
settle_account() {
    local what=$1 dead=$trial_letters lost doubled repeats received died
    await_published
    wait_until 300 trial_says "select (${count_recorded}) || ' ' || (${count_owed})" "$trial_sent 0" || true
    lost=$(trial_query "select count(*) from generate_series(1, $trial_sent) e
        where not exists (select from bellhop.notifications n where n.event_id = 't' || e)")
    doubled=$(trial_query "select count(*) - count(distinct (user_id, event_id)) from bellhop.notifications")
    repeats=$(trial_query "select coalesce(sum(unknown_sends), 0) from bellhop.deliveries")
    received=$(pushes_of fcm)
    wait_until 60 trial_says 'select count(*) from bellhop.dead_letters' "$dead" || true
    died=$(trial_query 'select count(*) from bellhop.dead_letters')
    say "$trial" "$what: sent $trial_sent, lost $lost, doubled $doubled, dead $died; pushes $received, of them at most $repeats repeats; published again $(<"$work/repeats")"
    trial_says "$count_owed" 0 || die "$(trial_query "$count_owed") deliveries are still open after five minutes; see $data/log"
    ((lost == 0 && doubled == 0)) || die "events were lost or doubled; see $data/log"
    ((died == dead)) || die "$died messages are dead letters; expected $dead; see $data/log"
    ((received >= trial_sent && received <= trial_sent + repeats)) || die "the pushes do not agree with the ledger; see $data/log"
}

# broker ARGUMENT…: runs rabbitmqctl on the broker of the place mq.
broker() {
    at_place mq rabbitmq_run "$rabbitmq_scripts/rabbitmqctl" -q "$@" >/dev/null
}

# set_faults JSON: sets the sandbox's faults; `[]` ends all of them.
set_faults() {
    curl -fsS -o /dev/null -X PUT -d "$1" "$BELLHOP_SANDBOX_CONTROL/faults"
}

# pushes_of PROVIDER: prints the number of requests that the sandbox has accepted.
pushes_of() {
    local count
    count=$(http_body 127.0.0.1 $(($(port_of SANDBOX_PORT) + sandbox_control)) /received/summary \
        | sed -n "s/.*\"$1\":{\"answers\":{\"200\":\([0-9]*\).*/\1/p")
    printf '%s' "${count:-0}"
}

# role_metric NAME: prints the sum of a metric over all workers and the scheduler.
role_metric() {
    local port
    for port in $(seq "$metrics_port" $((metrics_port + trial_workers - 1))) $((metrics_port + 100)); do
        http_body "$metrics_host" "$port" /metrics 2>/dev/null || true
    done | awk -v name="$1" 'index($0, name) == 1 { sum += $NF } END { print sum + 0 }'
}

metric_is_above() {
    awk -v value="$(role_metric "$1")" -v limit="$2" 'BEGIN { exit !(value > limit) }'
}

role_said() {
    grep -qs -- "$1" "$data"/log/pool.log "$data"/log/scheduler.log
}

# Stops the trial's processes; the script's own `end_servers` stops the servers.
close_trial() {
    local code=$?
    trap - EXIT
    trap '' INT TERM HUP
    [[ -z $publishing ]] || kill "$publishing" 2>/dev/null || true
    if [[ -n ${work:-} && -d $work ]]; then
        stop_roles >&2 || true
        end_servers >&2 || code=1
        if ((code == 0)); then
            rm -rf "$work"
        else
            say "$trial" "the logs are in $work/*/log" >&2
        fi
    fi
    exit "$code"
}
