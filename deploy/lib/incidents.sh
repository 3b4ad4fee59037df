# shellcheck shell=bash
# The incidents of deploy/check-incidents: each function causes one, ends it, and compares the sets.

fake_clock_library='/usr/lib/*/faketime/libfaketime.so.1'
# Users whose pushes go to APNs, which stays healthy while FCM does not.
healthy_users=50
healthy_sent=0
topic_followers=200000

start_servers() {
    make_place mq
    make_place pg
    at_place mq rabbitmq_start
    at_place pg postgresql_start
    at_place mq rabbitmq_wait
    at_place pg postgresql_wait
    BELLHOP_AMQP_URL=$(at_place mq private_amqp_url)
    trial_database=$(at_place pg private_database_url)
    BELLHOP_DATABASE_URL=$trial_database
    export BELLHOP_AMQP_URL BELLHOP_DATABASE_URL
    prepare_servers
    say "$trial" "a broker and a database"
}

end_servers() {
    at_place mq rabbitmq_stop || return 1
    at_place pg postgresql_stop || return 1
    ! mountpoint -q "$work/small" || umount "$work/small"
}

publish_healthy_users() {
    awk -v users="$healthy_users" 'BEGIN { for (u = 1; u <= users; u++)
        printf "{\"app\":\"daily\",\"eventType\":\"subscription.upserted\",\"userId\":\"h%d\",\"token\":\"%064x\",\"platform\":\"ios\",\"provider\":\"apns\"}\n", u, u + 4096 }' >"$work/healthy.jsonl"
    bellhop_must "the users of the healthy provider" publish "$work/healthy.jsonl"
    wait_until 60 trial_says "select count(*) from bellhop.push_subscriptions where app = 'daily'" "$healthy_users" \
        || die "the users of the healthy provider were published, but not all are stored after a minute; see $data/log"
}

publish_healthy() {
    awk -v first=$((healthy_sent + 1)) -v count="$1" -v users="$healthy_users" 'BEGIN { for (e = first; e < first + count; e++)
        printf "{\"id\":\"h%d\",\"app\":\"daily\",\"eventType\":\"daily_reminder\",\"to\":{\"user\":\"h%d\"},\"title\":\"%d\",\"body\":\"Trial\"}\n", e, e % users + 1, e }' >"$work/healthy.jsonl"
    bellhop_must "events for the healthy provider" publish "$work/healthy.jsonl"
    healthy_sent=$((healthy_sent + $1))
}

healthy_delivered="select count(*) from bellhop.deliveries where app = 'daily' and state = 'delivered'"

worker_pids() {
    pgrep -P "$(pid_of pool)"
}

# A worker's rows of one user cannot be written, as behind a damaged page.
cause_damaged_user() {
    local usual
    record_others
    usual=$others_took
    trial_query "create function bellhop.damage() returns trigger language plpgsql as \$\$ begin
            if new.person = (select number from bellhop.people where app = 'drop' and user_id = 'u7') then
                raise exception 'invalid page in block 7' using errcode = 'XX001';
            end if;
            return new; end \$\$;
        create trigger damage before insert on bellhop.inbox for each row execute function bellhop.damage()" >/dev/null
    record_others
    say "$trial" "a user who cannot be written: 199 events of others are recorded after $others_took ms, and after $usual ms without"
    ((others_took <= usual + 1000)) || die "others wait for more than a second longer than usual"
    trial_query "drop trigger damage on bellhop.inbox; drop function bellhop.damage()" >/dev/null
    settle_account "a user who cannot be written"
}

# One event for each user; `others_took` is the milliseconds from the confirm until those of all users but u7 are recorded.
record_others() {
    local first=$((trial_sent + 1)) started
    publish_more "$trial_users"
    await_published
    started=$(now)
    wait_until 60 trial_says "select count(*) from bellhop.notifications where event_id ~ '^t[0-9]+\$'
        and substr(event_id, 2)::integer >= $first and user_id <> 'u7'" $((trial_users - 1)) \
        || die "others are not recorded after a minute; see $data/log"
    others_took=$(awk -v from="$started" -v to="$(now)" 'BEGIN { printf "%d", (to - from) * 1000 }')
}

cause_crash_loop() {
    local round began
    stop pool TERM 60
    publish_more 3000
    await_published
    # The lock ends with its session.
    trial_query "begin; lock table bellhop.inbox in access exclusive mode; select pg_sleep(40)" >/dev/null 2>&1 &
    local lock=$!
    began=$(now)
    for ((round = 1; round <= 22; round++)); do
        BELLHOP_METRICS_LISTEN=127.0.0.1:0 launch "worker$round" "$bellhop" worker
        sleep 1
        kill -KILL "$(pid_of "worker$round")"
    done
    say "$trial" "22 workers were killed in $(seconds_since "$began")"
    wait "$lock" || true
    start_workers "$trial_workers"
    settle_account "22 kills with a locked table"
}

cause_alarm() {
    local usual
    push_under_alarm '[]'
    usual=$healthy_rate
    push_under_alarm '[{"provider": "fcm", "status": 503}]'
    say "$trial" "under a memory alarm: $healthy_rate pushes of the healthy provider per second with 503 from the other, $usual without"
    ((healthy_rate * 2 >= usual)) || die "that is less than half"
    settle_account "503 under a memory alarm"
}

# push_under_alarm FAULTS: 3,000 messages of the faulty provider wait in the lane, and 3,000 of the healthy one behind them;
# `healthy_rate` is the rate of the latter from the workers' first record on.
push_under_alarm() {
    local count=3000 began before
    before=$(trial_query "$healthy_delivered")
    stop pool TERM 60
    publish_more "$count"
    await_published
    publish_healthy "$count"
    broker set_vm_memory_high_watermark absolute 1MB
    set_faults "$1"
    began=$(trial_query "select clock_timestamp()")
    start_role pool "$(ready_from 0 $((trial_workers - 1)))" pool --workers "$trial_workers"
    wait_until 120 trial_says "$healthy_delivered" $((before + count)) || die "the healthy provider's pushes are stalled"
    healthy_rate=$(trial_query "select round($count / extract(epoch from
        (select max(updated_at) from bellhop.deliveries where app = 'daily')
        - (select min(created_at) from bellhop.notifications where created_at >= '$began')))")
    broker set_vm_memory_high_watermark 0.6
    set_faults '[]'
    settle_account "a memory alarm"
}

# Every delivery that the dead worker had claimed is sent within ten seconds of the end of its lease.
cause_killed_worker() {
    local victim claimed
    [[ -z ${BELLHOP_TRIAL_STORED:-} ]] || store_settled "$BELLHOP_TRIAL_STORED"
    set_faults '[{"provider": "fcm", "delayMs": 20000}]'
    publish_more 2000
    wait_until 60 claims_are_above 500 || die "the workers claim nothing; see $data/log"
    victim=$(worker_pids | head -n 1)
    trial_query "create table bellhop.claimed as select person, id, target, claim, updated_at from bellhop.ledger where state = 's'" >/dev/null
    kill -KILL "$victim"
    set_faults '[]'
    publish_more 500
    settle_account "kill -9 of a worker that waits for a provider"
    claimed=$(trial_query "select count(*) || ' deliveries were claimed at the kill; those of the dead worker were sent '
            || round(extract(epoch from max(l.updated_at - c.updated_at) - interval '60 s')) || ' s after the end of their lease'
        from bellhop.claimed c join bellhop.ledger l using (person, id, target) where l.claim is distinct from c.claim")
    say "$trial" "$claimed"
    [[ $(trial_query "select count(*) from bellhop.claimed c join bellhop.ledger l using (person, id, target)
        where l.updated_at > c.updated_at + interval '70 s'") == 0 ]] || die "some were sent later than that"
    trial_query "drop table bellhop.claimed" >/dev/null
}

claims_are_above() {
    (($(trial_query "select count(*) from bellhop.ledger where state = 's'") > $1))
}

# store_settled COUNT: notifications of earlier days with one delivered push each, for 100,000 other users.
store_settled() {
    local started
    started=$(now)
    trial_query "insert into bellhop.inbox (person, id, created_at, urgency, content_hash, event_id, type, title, body)
        select 1000000000 + i % 100000, i, now() - interval '20 days' + i * interval '1 s' / 10, 1, '\\x00', 's' || i,
            'transaction_complete', 'Stored', 'Stored' from generate_series(1, $1::bigint) i" >/dev/null
    trial_query "insert into bellhop.ledger (person, id, target, updated_at, attempts, state)
        select 1000000000 + i % 100000, i, 7, now() - interval '20 days', 1, 'd' from generate_series(1, $1::bigint) i" >/dev/null
    trial_query "analyze bellhop.inbox; analyze bellhop.ledger" >/dev/null
    say "$trial" "$1 settled notifications were stored in $(seconds_since "$started")"
}

cause_slow_end() {
    local left
    set_faults '[{"provider": "fcm", "delayMs": 28000}]'
    publish_more 200
    await_published
    wait_until 60 claims_are_above 150 || die "the workers claim nothing; see $data/log"
    stop pool TERM 60
    left=$(trial_query "select count(*) from bellhop.ledger where state = 's'")
    say "$trial" "after SIGTERM with answers that take 28 s: $left deliveries are still claimed"
    ((left == 0)) || die "the workers ended without settling them"
    set_faults '[]'
    start_workers "$trial_workers"
    settle_account "SIGTERM with a slow provider"
}

# follow_topic TOPIC: followers with no device, so that a fan-out is records alone.
follow_topic() {
    trial_query "insert into bellhop.follows (app, user_id, topic, since, followed_at, source_time)
        select 'drop', 'f' || i, '$1', now() - interval '30 days', now() - interval '30 days', now() - interval '30 days'
        from generate_series(1, $topic_followers) i on conflict do nothing" >/dev/null
}

publish_to_topic() {
    printf '{"id":"%s","app":"drop","eventType":"system","to":{"topic":"%s"},"title":"All","body":"Trial"}\n' "$1" "$2" >"$work/topic.jsonl"
    bellhop_must "an event for a topic" publish "$work/topic.jsonl"
}

recorded_followers() {
    trial_query "select count(*) from bellhop.notifications where event_id = '$1'"
}

followers_are_above() {
    (($(recorded_followers "$1") > $2))
}

expect_all_followers() {
    wait_until 300 trial_says "select count(*) || ' ' || count(distinct user_id) from bellhop.notifications where event_id = '$1'" \
        "$topic_followers $topic_followers" || die "$(recorded_followers "$1") of $topic_followers followers have a record; see $data/log"
    say "$trial" "$2: each of $topic_followers followers has one record"
}

# The tables on a small file system that other data fills while pages are recorded.
cause_full_fan_out() {
    follow_topic full
    move_tables_to_small_disk
    publish_to_topic full1 full
    wait_until 60 followers_are_above full1 2000 || die "the fan-out does not begin; see $data/log"
    dd if=/dev/zero of="$work/small/ballast" bs=64k 2>/dev/null || true
    wait_until 60 role_has_refusals || die "the full disk does not show in a metric; see $data/log"
    say "$trial" "the disk is full with $(recorded_followers full1) of $topic_followers recorded"
    rm "$work/small/ballast"
    expect_all_followers full1 "a full disk in the middle of a fan-out"
    settle_account "a full disk in the middle of a fan-out"
}

move_tables_to_small_disk() {
    local folder=$work/small
    mkdir -p "$folder"
    mount -t tmpfs -o "size=400m" bellhop-incidents "$folder"
    mkdir "$folder/space"
    chown postgres: "$folder/space"
    trial_query "create tablespace small location '$folder/space'" >/dev/null
    trial_query "alter table bellhop.inbox set tablespace small" >/dev/null
    trial_query "alter index bellhop.inbox_pkey set tablespace small" >/dev/null
}

role_has_refusals() {
    metric_is_above 'bellhop_database_failures_total{reason="disk"}' 0
}

# Pages wait for days: neither retention nor a sweeper may end them.
cause_paused_fan_out() {
    local kept
    follow_topic paused
    publish_to_topic paused1 paused
    wait_until 60 followers_are_above paused1 0 || die "the fan-out does not begin; see $data/log"
    bellhop_must "the pause" fanouts pause --event paused1 --yes --by trial --because trial
    wait_until 60 trial_says "select count(*) from bellhop.fanout_pages p join bellhop.fanouts f on f.number = p.fanout
        where f.event_id = 'paused1' and p.taken_at is not null" 0 || die "pages do not end; see $data/log"
    kept=$(recorded_followers paused1)
    trial_query "update bellhop.events set created_at = created_at - interval '3 days', planned_at = planned_at - interval '3 days',
            handed_over_at = handed_over_at - interval '3 days' where id = 'paused1';
        update bellhop.fanouts set started_at = started_at - interval '3 days', worked_at = worked_at - interval '3 days',
            paused_at = paused_at - interval '3 days', resumed_at = resumed_at - interval '3 days' where event_id = 'paused1';
        update bellhop.inbox set created_at = created_at - interval '3 days' where event_id = 'paused1'" >/dev/null
    # A scheduler that starts runs each of its duties once.
    stop scheduler TERM 60
    start_scheduler
    publish_more 200
    settle_account "three days of a pause"
    say "$trial" "paused with $kept of $topic_followers followers recorded, $(recorded_followers paused1) after three days"
    bellhop_must "the end of the pause" fanouts resume --event paused1 --yes --by trial --because trial
    expect_all_followers paused1 "a fan-out that was paused for three days"
}

# Gathered notifications fall due while no role runs: each user gets one digest when the roles are back.
cause_lost_digest() {
    local users=50 events=400 before
    awk -v users="$users" 'BEGIN { for (u = 1; u <= users; u++) {
        printf "{\"app\":\"drop\",\"eventType\":\"subscription.upserted\",\"userId\":\"d%d\",\"token\":\"ExponentPushToken[%022d]\",\"platform\":\"ios\",\"provider\":\"expo\"}\n", u, u
        printf "{\"app\":\"drop\",\"eventType\":\"recipient.upserted\",\"userId\":\"d%d\",\"preferences\":{\"eventToggles\":{\"rate_update\":true}}}\n", u } }' >"$work/digest.jsonl"
    bellhop_must "the users of a digest" publish "$work/digest.jsonl"
    wait_until 60 trial_says "select count(*) from bellhop.notification_preferences where profile_id ~ '^d[0-9]+\$'" "$users" \
        || die "the users of a digest are not stored after a minute; see $data/log"
    awk -v events="$events" -v users="$users" 'BEGIN { for (e = 1; e <= events; e++)
        printf "{\"id\":\"d%d\",\"app\":\"drop\",\"eventType\":\"rate_update\",\"to\":{\"user\":\"d%d\"},\"title\":\"%d\",\"body\":\"Trial\"}\n", e, e % users + 1, e }' >"$work/digest.jsonl"
    bellhop_must "events for a digest" publish "$work/digest.jsonl"
    wait_until 60 trial_says "select count(*) from bellhop.deliveries where reason = 'digest' and state = 'deferred'" "$events" \
        || die "the events are not gathered after a minute; see $data/log"
    before=$(pushes_of expo)
    stop scheduler TERM 60
    stop pool TERM 60
    trial_query "update bellhop.ledger set due_at = past.due, decision = jsonb_build_object('until', past.name, 'digest', past.name)
        from (select due, to_char(due at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.000\"Z\"') as name
            from (select date_trunc('hour', now()) - interval '2 hours') as d(due)) as past
        where reason = 'digest' and state = 'w'" >/dev/null
    start_workers "$trial_workers"
    start_scheduler
    settle_account "a digest whose time passed while no role ran"
    say "$trial" "$events gathered notifications of $users users were $(($(pushes_of expo) - before)) pushes"
    (($(pushes_of expo) - before == users)) || die "each user is to get one digest; see $data/log"
}

# Expo accepts pushes and never has their receipts. The hours between two requests pass in the rows.
cause_lost_receipts() {
    local users=50 accepted="state = 'accepted' and app = 'drop'" sent age
    awk -v users="$users" 'BEGIN { for (u = 1; u <= users; u++)
        printf "{\"app\":\"drop\",\"eventType\":\"subscription.upserted\",\"userId\":\"r%d\",\"token\":\"ExponentPushToken[silent-%d]\",\"platform\":\"ios\",\"provider\":\"expo\"}\n", u, u }' >"$work/receipts.jsonl"
    bellhop_must "the users without receipts" publish "$work/receipts.jsonl"
    wait_until 60 trial_says "select count(*) from bellhop.push_subscriptions where profile_id ~ '^r[0-9]+\$'" "$users" \
        || die "the users without receipts are not stored after a minute; see $data/log"
    sent=$(pushes_of expo)
    awk -v users="$users" 'BEGIN { for (u = 1; u <= users; u++)
        printf "{\"id\":\"r%d\",\"app\":\"drop\",\"eventType\":\"security\",\"to\":{\"user\":\"r%d\"},\"title\":\"%d\",\"body\":\"Trial\"}\n", u, u, u }' >"$work/receipts.jsonl"
    bellhop_must "events without receipts" publish "$work/receipts.jsonl"
    wait_until 60 trial_says "select count(*) from bellhop.deliveries where $accepted" "$users" \
        || die "the pushes without receipts are not accepted after a minute; see $data/log"
    for age in '16 min' '31 min' '61 min' '2 hours' '4 hours' '8 hours' '16 hours'; do
        trial_query "update bellhop.ledger set due_at = now(), sent_at = now() - interval '$age'
            where state = 'a' and sent_at is not null" >/dev/null
        wait_until 60 trial_says "select count(*) from bellhop.deliveries where $accepted and due_at > now() + interval '11 min'" "$users" \
            || die "after $age the receipts are not requested, or not put off; see $data/log"
    done
    publish_more 200
    settle_account "receipts that never come"
    trial_query "update bellhop.ledger set due_at = now(), sent_at = now() - interval '25 hours'
        where state = 'a' and sent_at is not null" >/dev/null
    wait_until 60 trial_says "select count(*) from bellhop.deliveries where state = 'unknown' and reason = 'receipt-missing'" "$users" \
        || die "deliveries without a receipt do not end as unknown; see $data/log"
    say "$trial" "$users pushes without receipts ended as unknown after a day, $(($(pushes_of expo) - sent)) requests to Expo in all"
}

# Two years ahead for a minute: nothing is deleted, planned, sent early or ended, and `status` names the clock.
cause_clock() {
    local before status
    publish_more 500
    printf '{"id":"planned1","app":"drop","eventType":"system","to":{"user":"u1"},"title":"Later","body":"Trial","deliverAt":"%s"}\n' \
        "$(date -u -d '+30 days' +%Y-%m-%dT%H:%M:%SZ)" >"$work/planned.jsonl"
    bellhop_must "an event for later" publish "$work/planned.jsonl"
    settle_account "the state before"
    wait_until 60 trial_says "select count(*) from bellhop.events where id = 'planned1'" 1 || die "the event for later is not planned"
    before=$(stored_state)
    stop scheduler TERM 60
    restart_database "$(compgen -G "$fake_clock_library")"
    say "$trial" "the database's clock says $(trial_query 'select now()')"
    start_role scheduler "$(ready_from 100 100)" scheduler
    sleep 30
    status=$("$bellhop" status 2>&1 | grep -i clock) || die "\`bellhop status\` does not name the clock"
    say "$trial" "status: $(head -n 1 <<<"$status" | sed 's/^ *//')"
    sleep 30
    restart_database
    say "$trial" "the database's clock says $(trial_query 'select now()')"
    wait_for_role scheduler "the clock is right again"
    publish_more 500
    settle_account "a clock that was two years ahead for a minute"
    sleep 5
    printf '%s\n' "$before" >"$work/before"
    stored_state 500 >"$work/after"
    cmp -s "$work/before" "$work/after" || { diff "$work/before" "$work/after" >&2; die "the wrong clock changed what is stored"; }
}

# Prints the rows that a wrong clock may delete, end or plan, without those of the last COUNT events.
stored_state() {
    trial_query "select 'notifications ' || count(*) from bellhop.notifications where event_id !~ '^t[0-9]+\$' or substr(event_id, 2)::integer <= $((trial_sent - ${1:-0}))
        union all select 'devices ' || count(*) from bellhop.push_subscriptions where revoked_at is null
        union all select 'retired ' || kind from bellhop.retired where up_to > now()
        union all select 'planned ' || id || ' ' || planned_at || ' ' || coalesce(handed_over_at::text, '-') from bellhop.events
            where id = 'planned1'
        union all select 'in the future ' || count(*) from bellhop.ledger where updated_at > now() + interval '1 day'
            or due_at > now() + interval '60 days'"
}

# restart_database [LIBRARY]: with a library that gives its processes another clock.
restart_database() {
    at_place pg postgresql_stop
    postgresql_environment=()
    [[ -z ${1:-} ]] || postgresql_environment=("LD_PRELOAD=$1" FAKETIME=+2y DONT_FAKE_MONOTONIC=1 FAKETIME_DONT_FAKE_MONOTONIC=1)
    at_place pg postgresql_start
    at_place pg postgresql_wait
}
