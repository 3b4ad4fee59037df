# shellcheck shell=bash
# A few users, devices and events of every app, which `deploy/up` publishes at its end to show that everything works.
# Their ids are always the same, so a second run adds nothing. Only the first run feeds users and devices: an update
# counts as new when it arrives, and would override later changes.

samples=$checkout/deploy/samples

# The number of notifications of the events: one per event and user. The payment to a Safe makes two, the event to a
# venue's followers four, and the announcement to everyone in the club two. daily has only a reminder.
sample_apps=(drop safe venues padel)
sample_notifications=18
# Whether the users of the samples exist: set by publish_samples.
have_samples=

publish_samples() {
    local before started
    if has_own_providers || [[ $BELLHOP_CATALOGS != "$checkout/deploy/catalogs" ]]; then
        say samples "none published, since you use your own providers or catalogues"
        return
    fi
    have_samples=yes
    started=$(now)
    before=$(sample_query "$count_notifications")
    ((before > 0)) || publish_people
    ! is_running sandbox || publish_browser
    publish_events "$before"
    publish_reminder
    # The same id with other content is rejected once the first event is stored. One such dead letter is enough.
    sample_query_says "$count_dead_letters" 1 || publish_broken "$before"
    if ((before > 0)); then
        say samples "here since an earlier run; published again under the same ids, they added nothing:"
    else
        say samples "published; everything had arrived after $(seconds_since "$started"):"
    fi
    show_samples
}

# Prints the app of the caller's own catalogues: the first one that the checkout does not have, or else the first.
own_app() {
    local file first=APP app
    for file in "$BELLHOP_CATALOGS"/*.json5; do
        app=$(basename "$file" .json5)
        [[ -f $file ]] || continue
        if [[ ! -f $checkout/deploy/catalogs/$app.json5 ]]; then
            printf '%s' "$app"
            return
        fi
        [[ $first != APP ]] || first=$app
    done
    printf '%s' "$first"
}

# type_of APP: prints the first type of an app's catalogue, or TYPE if its file has an unusual form.
type_of() {
    local type
    # The member `types` of the outermost object: texts have as many opening as closing braces.
    type=$(awk '
        {
            gsub(/(^|[[:space:]])\/\/.*/, " ")
            text = text " " $0
        }
        END {
            while (match(text, /[{}]|[A-Za-z0-9_.-]+["'\'']?[[:space:]]*:/)) {
                word = substr(text, RSTART, RLENGTH)
                text = substr(text, RSTART + RLENGTH)
                sub(/["'\'']?[[:space:]]*:$/, "", word)
                if (word == "{") depth++
                else if (word == "}") depth--
                else if (depth == 2 && inside) { print word; exit }
                if (depth == 1) inside = word == "types"
            }
        }' "$BELLHOP_CATALOGS/$1.json5" 2>/dev/null) || true
    printf '%s' "${type:-TYPE}"
}

# In padel, ada's quiet hours include the next seven hours.
publish_people() {
    local count hour people=$data/run/people.jsonl
    hour=$((10#$(TZ=Europe/Stockholm date +%H)))
    {
        cat "$samples/people.jsonl"
        printf '{"app":"padel","eventType":"recipient.upserted","userId":"ada","locale":"sv","timezone":"Europe/Stockholm",'
        printf '"preferences":{"quietHours":{"enabled":true,"startHour":%d,"endHour":%d}}}\n' "$hour" "$(((hour + 8) % 24))"
    } >"$people"
    count=$(grep -c . "$people")
    bellhop_must "setting up the users of $samples/people.jsonl" publish "$people"
    rm -f "$people"
    await_samples 0 "$count_people" "$count" "users, their devices, follows and reminders are not stored"
}

# Sets a reminder for dan in daily that fires within two minutes, in place of that of an earlier run.
publish_reminder() {
    local former id time
    former=$(sample_query "select id from NAMESPACE.reminders
        where app = 'daily' and user_id = 'dan' and id like 'sample-%' and removed_at is null")
    time=$(date -u -d '+2 minutes' +%H:%M)
    {
        [[ -z $former ]] || while IFS= read -r id; do
            printf '{"app":"daily","eventType":"reminder.removed","userId":"dan","id":"%s"}\n' "$id"
        done <<<"$former"
        printf '{"app":"daily","eventType":"reminder.set","userId":"dan","id":"sample-%s","localTime":"%s","timezone":"UTC",' \
            "$(date -u +%s)" "$time"
        printf '"title":"Time for today\u0027s page","body":"Ten minutes are enough."}\n'
    } >"$data/run/reminder.jsonl"
    bellhop_must "setting a reminder" publish "$data/run/reminder.jsonl"
    rm -f "$data/run/reminder.jsonl"
    await_samples 0 "$count_unplanned_reminders" 0 "the reminders have no next time"
}

# Registers the sandbox's browser for bo in padel. Browsers of earlier sandboxes no longer exist, so bo revokes them.
publish_browser() {
    local browser endpoint former
    browser=$(<"$data/sandbox-browser.json")
    endpoint=$(sed -n 's/.*"endpoint":"\([^"]*\)".*/\1/p' <<<"$browser")
    former=$(sample_query "$registered_browsers")
    {
        [[ -z $former ]] || while IFS= read -r token; do
            printf '{"app":"padel","eventType":"subscription.revoked","userId":"bo","token":"%s"}\n' "$token"
        done <<<"$former"
        printf '{"app":"padel","eventType":"subscription.upserted","userId":"bo","token":"%s","platform":"web",' "$endpoint"
        printf '"provider":"webpush","permission":"granted","subscription":%s}\n' \
            "${browser/%\}/,\"vapidKeyID\":\"$vapid_key_id\"\}}"
    } >"$data/run/browser.jsonl"
    bellhop_must "registering the sandbox's browser" publish "$data/run/browser.jsonl"
    rm -f "$data/run/browser.jsonl"
    wait_until 60 sample_query_says "$registered_browsers" "$endpoint" \
        || die "the sandbox's browser was published, but is not stored after 60 s; see $data/log/"
}

publish_events() {
    local app
    for app in "${sample_apps[@]}"; do
        bellhop_must "publishing $samples/$app.jsonl" publish "$samples/$app.jsonl"
    done
    await_samples "$1" "$count_notifications" "$sample_notifications" "not all notifications are in the inboxes"
    await_samples "$1" "$count_open_fanouts" 0 "the fan-outs to followers and to everyone have not finished"
    await_samples "$1" "$count_open_deliveries" 0 "all notifications are in the inboxes, but pushes are still open"
}

publish_broken() {
    bellhop_must "publishing $samples/broken.jsonl" publish "$samples/broken.jsonl"
    await_samples "$1" "$count_dead_letters" 1 "the broken event is not a dead letter"
}

# await_samples BEFORE QUERY ANSWER WORDS: waits for this answer, which a first run must reach. Before a later run, a
# user may have been erased or a device registered again, so then another answer is accepted.
await_samples() {
    if (($1 > 0)); then
        wait_until 5 sample_query_says "$2" "$3" || true
    else
        wait_until 60 sample_query_says "$2" "$3" || die "the samples were published, but after 60 s $4; see $data/log/"
    fi
}

# Prints each user's notifications with their events and providers, then the rejected event.
show_samples() {
    local order
    order=$(IFS=,; printf '%s' "${sample_apps[*]}")
    sample_query "select '  ' || rpad(n.app, 8) || rpad(n.user_id, 6) || rpad(n.event_id, 10) || rpad(n.type, 22) || rpad(n.title, 38)
            || coalesce('through ' || string_agg(coalesce(s.provider, d.channel), ', ' order by s.provider)
                    filter (where d.state in ('delivered', 'accepted')),
                string_agg(case when d.state = 'suppressed' then 'no push: ' || d.reason
                        when d.due_at is null then 'push ' || d.state
                        else 'push at ' || to_char(d.due_at at time zone 'UTC', 'HH24:MI') || ' UTC: ' || d.reason end,
                    ', ' order by d.target) filter (where d.channel = 'push'), '')
        from NAMESPACE.notifications n
            left join NAMESPACE.deliveries d on (d.app, d.user_id, d.notification_id) = (n.app, n.user_id, n.id)
            left join NAMESPACE.push_subscriptions s on (s.app, s.profile_id, s.id) = (d.app, d.user_id, d.target)
        where n.event_id like 'sample-_'
        group by n.app, n.user_id, n.id, n.type, n.title, n.event_id
        order by array_position('{$order}'::text[], n.app), n.user_id, n.event_id"
    sample_query "select '  ' || rpad(f.app, 8) || rpad(coalesce(regexp_replace(f.topic, '^(.{25}).{2,}', '\1…'), 'everyone'), 28)
            || 'one event to ' || f.users || ' users, ' || f.state || '; bellhop fanouts shows more'
        from NAMESPACE.fanouts f where f.event_id like 'sample-_' order by f.number"
    sample_query "select '  ' || rpad(app, 8) || rpad(user_id, 6) || 'reminder at ' || local_time || ', next on '
            || to_char(next_fire_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC'
        from NAMESPACE.reminders where app = 'daily' and user_id = 'dan' and removed_at is null order by next_fire_at"
    ! is_running sandbox || say sandbox "received since it started: $(received_by_provider)"
    sample_query "select 'dead letter ' || 'broken on purpose: ' || event_id || ' again, with another amount; refused as '
            || reason || ', kept in dead_letters' || case state when 'open' then '' else ', ' || state end
        from NAMESPACE.dead_letters where app = 'drop' and event_id = 'sample-1' order by filed_at limit 1"
}

count_people="select (select count(*) from NAMESPACE.recipients
        where app = 'drop' and user_id in ('ada', 'bo', 'cleo', 'dan') or app = 'padel' and user_id in ('ada', 'bo'))
    + (select count(*) from NAMESPACE.follows where app = 'venues' and topic = 'venue:42' or app = 'safe' and topic like 'safe:%:0x5afe%')
    + (select count(*) from NAMESPACE.reminders where app = 'daily' and user_id = 'dan' and id = 'morning')
    + (select count(*) from NAMESPACE.push_subscriptions
        where device_token ~ '^(sample-device-of-|ExponentPushToken.sample-phone-of-|....1c7e9f0d2468ace013579bdf0)')"
registered_browsers="select device_token from NAMESPACE.push_subscriptions where app = 'padel' and profile_id = 'bo'
    and provider = 'webpush' and revoked_at is null and device_token like 'https://localhost:%/wp/%'"
count_notifications="select count(*) from NAMESPACE.notifications where event_id like 'sample-_'"
count_open_fanouts="select count(*) from NAMESPACE.fanouts where event_id like 'sample-_' and state = 'running'"
count_open_deliveries="select count(*) from NAMESPACE.deliveries d join NAMESPACE.notifications n
        on (d.app, d.user_id, d.notification_id) = (n.app, n.user_id, n.id)
    where n.event_id like 'sample-_'
        and d.state in ('pending', 'sending', 'deferred', 'retrying')
        and coalesce(d.reason, '') not in ('quiet-hours', 'digest')"
count_unplanned_reminders="select count(*) from NAMESPACE.reminders
    where app = 'daily' and user_id = 'dan' and removed_at is null and next_fire_at is null"
count_dead_letters="select least(count(*), 1) from NAMESPACE.dead_letters where app = 'drop' and event_id = 'sample-1'"

sample_query_says() {
    [[ $(sample_query "$1") == "$2" ]]
}

sample_query() {
    psql_at "$BELLHOP_DATABASE_URL" -Atc "${1//NAMESPACE/\"${BELLHOP_NAMESPACE:-bellhop}\"}"
}
