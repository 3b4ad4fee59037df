# shellcheck shell=bash
# A few events of the payments app, published at the end of `deploy/up` as the proof that all of it works.

samples=$checkout/deploy/samples/drop.jsonl

# Publishes the samples under ids of this run and waits until each is in its user's inbox.
publish_samples() {
    local run started count
    has_command publish || return 0
    run=sample-$(date +%s)
    started=$(now)
    count=$(grep -c . "$samples")
    sed "s/\"id\": *\"sample-/\"id\": \"$run-/" "$samples" | bellhop_must "publishing $samples" publish -
    if ! wait_until 60 samples_arrived "$run" "$count"; then
        die "$count events were published, but only $(arrived_samples "$run") are in an inbox after 60 s; see $data/log/"
    fi
    say samples "$count events published, all in their users' inboxes after $(seconds_since "$started"):"
    inbox_query "select '  ' || user_id || '  ' || type || '  ' || title from NAMESPACE.notifications
        where app = 'drop' and event_id like '$run-%' order by event_id"
}

samples_arrived() {
    [[ $(arrived_samples "$1") == "$2" ]]
}

arrived_samples() {
    inbox_query "select count(*) from NAMESPACE.notifications where app = 'drop' and event_id like '$1-%'"
}

inbox_query() {
    psql_at "$BELLHOP_DATABASE_URL" -Atc "${1//NAMESPACE/\"${BELLHOP_NAMESPACE:-bellhop}\"}"
}
