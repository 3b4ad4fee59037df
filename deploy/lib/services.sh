# shellcheck shell=bash
# The functions for both servers that `deploy/services`, `deploy/test` and `deploy/up` share.

# Whether a start is unfinished: a script that is interrupted meanwhile stops the servers that it has started.
services_unfinished=no

# Starts both servers, except a server that a URL in the environment names, and writes the env file.
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
        say rabbitmq "not started: BELLHOP_AMQP_URL names the server"
        export_line BELLHOP_AMQP_URL "$BELLHOP_AMQP_URL"
    else
        rabbitmq_wait
        say rabbitmq "$(readiness "$rabbitmq_started" "$(port_of AMQP_PORT)")"
        export_line BELLHOP_AMQP_URL "$(private_amqp_url)"
    fi
}

database_up() {
    if [[ -n ${BELLHOP_DATABASE_URL:-} ]]; then
        say postgresql "not started: BELLHOP_DATABASE_URL names the server"
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

# Stops exactly the recorded servers of this folder, and returns 0 even if none runs. If one server cannot be stopped,
# the other one is stopped anyway.
services_down() {
    local code=0
    hold_lock 9 "$data/run/services.lock" "starting or stopping servers" 120
    (rabbitmq_stop) || code=1
    (postgresql_stop) || code=1
    exec 9>&-
    return "$code"
}

# Deletes the servers' files here, except their logs. The servers must be stopped. A link in a copied checkout is also
# deleted, but not the other checkout's data behind it.
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
