# shellcheck shell=bash
# The two servers together: what `deploy/services`, `deploy/test` and `deploy/up` share.

# Whether a start has begun and not come to its end: a script that is interrupted meanwhile stops what it started.
services_unfinished=no

# Brings both servers up, except those that a URL in the environment already names, and writes the env file.
services_up() {
    read_secret_file BELLHOP_AMQP_URL
    read_secret_file BELLHOP_DATABASE_URL
    forget_private_urls "$data"
    hold_lock 9 "$data/run/services.lock" "starting or stopping servers" 120
    services_unfinished=yes
    [[ -n ${BELLHOP_AMQP_URL:-} ]] || rabbitmq_start
    [[ -n ${BELLHOP_DATABASE_URL:-} ]] || postgresql_start
    database_up
    broker_up
    export_line BELLHOP_CATALOGS "${BELLHOP_CATALOGS:-$checkout/deploy/catalogs}"
    services_unfinished=no
    exec 9>&-
}

broker_up() {
    if [[ -n ${BELLHOP_AMQP_URL:-} ]]; then
        say rabbitmq "the one of BELLHOP_AMQP_URL, nothing started"
        export_line BELLHOP_AMQP_URL "$BELLHOP_AMQP_URL"
    else
        rabbitmq_wait
        say rabbitmq "$(readiness "$rabbitmq_started" "$(port_of AMQP_PORT)")"
        export_line BELLHOP_AMQP_URL "$(private_amqp_url)"
    fi
}

database_up() {
    if [[ -n ${BELLHOP_DATABASE_URL:-} ]]; then
        say postgresql "the one of BELLHOP_DATABASE_URL, nothing started"
        export_line BELLHOP_DATABASE_URL "$BELLHOP_DATABASE_URL"
    else
        postgresql_wait
        say postgresql "$(readiness "$postgresql_started" "$(port_of POSTGRESQL_PORT)")"
        export_line BELLHOP_DATABASE_URL "$(private_database_url)"
    fi
}

readiness() {
    if [[ -n $1 ]]; then
        printf 'ready on 127.0.0.1:%s in %s' "$2" "$(seconds_since "$1")"
    else
        printf 'was already running on 127.0.0.1:%s' "$2"
    fi
}

# Ends exactly what runs by this folder's records; returns 0 also where nothing does. A server that cannot be ended does not
# keep the other one running.
services_down() {
    local code=0
    hold_lock 9 "$data/run/services.lock" "starting or stopping servers" 120
    (rabbitmq_stop) || code=1
    (postgresql_stop) || code=1
    exec 9>&-
    return "$code"
}

# Removes everything that the servers keep here, except their logs. They must be down.
# A link that came along with a copied checkout goes, too, but not the other checkout's data behind it.
services_wipe() {
    local away
    away=$(postgresql_folder_away)
    if [[ $(readlink "$data/postgresql") == "$away" ]]; then
        rm -rf "$away"
        rmdir /var/lib/bellhop 2>/dev/null || true
    fi
    rm -rf "$data/postgresql" "$data/rabbitmq" "$data/secrets" "$data/env" "$data/ports"
    mkdir -m 700 "$data/secrets"
}
