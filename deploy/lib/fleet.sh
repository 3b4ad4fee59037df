# shellcheck shell=bash
# Several servers on one machine, each in a separate folder (`at_place`): a cluster of brokers, a primary with a
# synchronous standby, and PgBouncer.

fleet_brokers=(mq1 mq2 mq3)

# Starts three nodes with one cookie, one password and one name server: those of the first node.
start_brokers() {
    local place secret
    for place in "${fleet_brokers[@]}"; do
        make_place "$place"
        [[ $place != mq1 ]] || continue
        mkdir -p "$work/$place/rabbitmq/home"
        for secret in secrets/rabbitmq rabbitmq/home/.erlang.cookie; do
            write_private "$work/$place/$secret" <"$work/mq1/$secret"
        done
        at_place "$place" remember_port EPMD_PORT "$(at_place mq1 port_of EPMD_PORT)"
        at_place "$place" start_broker
    done
}

# Starts the first node, which makes the secrets that the others copy.
start_first_broker() {
    make_place mq1
    at_place mq1 start_broker
}

start_broker() {
    rabbitmq_start
    rabbitmq_wait
}

# The nodes find each other through one name server, which keeps running when a node is killed.
rabbitmq_start_name_server() {
    local first=$data
    [[ ${data##*/} == mq1 ]] || first=
    if [[ -z $first ]] || is_running epmd; then
        return
    fi
    choose_port EPMD_PORT
    launch epmd env -i "$(command -v epmd || compgen -G '/usr/lib/erlang/erts-*/bin/epmd' | head -n 1)" \
        -port "$(port_of EPMD_PORT)" -address 127.0.0.1
    wait_until 10 port_answers "$(port_of EPMD_PORT)" || die "starting Erlang's name server failed; see $data/log/epmd.log"
}

broker_at() {
    local place=$1
    shift
    at_place "$place" rabbitmq_run "$rabbitmq_scripts/rabbitmqctl" -q "$@"
}

join_brokers() {
    local place first
    first=$(<"$work/mq1/rabbitmq/node")
    for place in mq2 mq3; do
        broker_at "$place" stop_app && broker_at "$place" reset && broker_at "$place" join_cluster "$first" \
            && broker_at "$place" start_app || die "joining $place to the cluster failed; see $work/$place/log"
    done >"$work/cluster.log" 2>&1
    wait_until 30 brokers_are 3 || die "the cluster has not reached three nodes within 30 seconds"
}

brokers_are() {
    [[ $(broker_at "$(living_broker)" cluster_status --formatter json \
        | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["running_nodes"]))') == "$1" ]]
}

living_broker() {
    local place
    for place in "${fleet_brokers[@]}"; do
        if at_place "$place" is_running rabbitmq; then
            printf '%s' "$place"
            return
        fi
    done
}

# Prints the URL of the cluster for producers and roles: amqp://user:password@host1,host2,host3
fleet_amqp_url() {
    local place hosts=()
    for place in "${fleet_brokers[@]}"; do hosts+=("127.0.0.1:$(at_place "$place" port_of AMQP_PORT)"); done
    printf 'amqp://%s:%s@%s' "$rabbitmq_user" "$(<"$work/mq1/secrets/rabbitmq")" "$(IFS=,; printf '%s' "${hosts[*]}")"
}

# Prints the place of the node that leads most queues.
leading_broker() {
    local node place
    node=$(broker_at "$(living_broker)" list_queues --no-table-headers name leader \
        | awk 'NF == 2 { count[$2]++ } END { for (n in count) if (count[n] > most) { most = count[n]; best = n } print best }')
    for place in "${fleet_brokers[@]}"; do
        [[ $(<"$work/$place/rabbitmq/node") != "$node" ]] || printf '%s' "$place"
    done
}

kill_broker() {
    kill -KILL "$(at_place "$1" pid_of rabbitmq)"
    wait_until 10 at_place "$1" is_stopped rabbitmq || die "$1 still runs after SIGKILL"
}

# Restarts a node, and waits until it has every queue's log again: until then, no other node may fail.
bring_back_broker() {
    at_place "$1" start_broker
    wait_until 60 brokers_are 3 || die "the cluster has not reached three nodes again within a minute"
    wait_until 120 no_queue_is_critical || die "queues have no spare member after two minutes"
}

no_queue_is_critical() {
    local place
    for place in "${fleet_brokers[@]}"; do
        at_place "$place" rabbitmq_run "$rabbitmq_scripts/rabbitmq-queues" -q check_if_node_is_quorum_critical >/dev/null 2>&1 \
            || return 1
    done
}

stop_brokers() {
    local place code=0
    for place in mq3 mq2 mq1; do at_place "$place" rabbitmq_stop || code=1; done
    return "$code"
}

# The places of the primary and of the standby; a failover exchanges them.
primary=pg1
standby=pg2

# Starts a primary and a synchronous standby, which must confirm every commit.
start_databases() {
    make_place pg1
    at_place pg1 postgresql_start
    at_place pg1 postgresql_wait
    make_place pg2
    write_private "$work/pg2/secrets/postgresql" <"$work/pg1/secrets/postgresql"
    start_standby
    at_place pg1 private_psql postgres -qc "alter system set synchronous_standby_names = 'ANY 1 (*)'" -c "select pg_reload_conf()" \
        >/dev/null
    wait_until 30 standby_is_synchronous || die "the standby is not synchronous after 30 seconds; see $work/pg2/log"
}

# Starts a fresh copy of the primary as its standby.
start_standby() {
    local password programs folder
    at_place "$standby" postgresql_prepare_folder
    folder=$(data=$work/$standby postgresql_folder)
    as_postgres rm -rf "$folder/data" "$folder/complete"
    password=$(<"$work/$primary/secrets/postgresql")
    programs=$(postgresql_programs)
    as_postgres env PGPASSWORD="$password" "$programs/pg_basebackup" -D "$folder/data" -R -X stream \
        -h 127.0.0.1 -p "$(at_place "$primary" port_of POSTGRESQL_PORT)" -U "$postgresql_user" --checkpoint=fast
    as_postgres touch "$folder/complete"
    at_place "$standby" postgresql_start
    at_place "$standby" postgresql_wait
}

standby_is_synchronous() {
    [[ $(at_place pg1 private_psql postgres -Atc "select count(*) from pg_stat_replication where sync_state = 'quorum'") == 1 ]]
}

fleet_database_url() {
    printf 'postgres://%s:%s@127.0.0.1:%s,127.0.0.1:%s/%s?target_session_attrs=read-write' \
        "$postgresql_user" "$(<"$work/pg1/secrets/postgresql")" "$(at_place pg1 port_of POSTGRESQL_PORT)" \
        "$(at_place pg2 port_of POSTGRESQL_PORT)" "$postgresql_database"
}

# Kills the server with all its processes, as if the machine failed.
kill_primary() {
    local pid
    pid=$(at_place "$primary" pid_of postgresql)
    # shellcheck disable=SC2046
    kill -KILL "$pid" $(pgrep -P "$pid")
    wait_until 10 at_place "$primary" is_stopped postgresql || die "the primary still runs after SIGKILL"
}

promote_standby() {
    local old=$primary
    [[ $(at_place "$standby" private_psql postgres -Atc "select pg_promote(true, 60)") == t ]] \
        || die "promoting the standby failed"
    primary=$standby
    standby=$old
}

# Ends replication: from now on the commits of the primary are lost with it.
cut_standby_off() {
    at_place "$standby" private_psql postgres -qc "alter system set primary_conninfo = ''" -c "select pg_reload_conf()" >/dev/null
    wait_until 30 standby_is_cut_off || die "the standby still receives; see $work/$standby/log"
}

standby_is_cut_off() {
    [[ $(at_place "$primary" private_psql postgres -Atc "select count(*) from pg_stat_replication") == 0 ]]
}

stop_databases() {
    local place code=0
    for place in pg2 pg1; do at_place "$place" postgresql_stop || code=1; done
    return "$code"
}

# start_pooler MODE: starts PgBouncer in front of the second server, on a fixed port.
start_pooler() {
    local folder=$work/pool/config password port
    make_place pool
    mkdir -p "$folder"
    password=$(<"$work/pg1/secrets/postgresql")
    port=$(at_place "$primary" port_of POSTGRESQL_PORT)
    at_place pool choose_port POOLER_PORT
    printf '"%s" "%s"\n' "$postgresql_user" "$password" | write_private "$folder/users"
    write_private "$folder/pgbouncer.ini" <<END
[databases]
$postgresql_database = host=127.0.0.1 port=$port dbname=$postgresql_database
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $(at_place pool port_of POOLER_PORT)
unix_socket_dir =
auth_type = scram-sha-256
auth_file = $folder/users
pool_mode = $1
default_pool_size = 60
max_client_conn = 200
END
    chown postgres: "$folder" "$folder/users" "$folder/pgbouncer.ini"
    at_place pool run_pooler
    wait_until 20 port_answers "$(at_place pool port_of POOLER_PORT)" \
        || die "PgBouncer does not listen after 20 seconds; see $folder/log"
}

run_pooler() {
    local as_postgres_words
    postgresql_identity
    launch pgbouncer "${as_postgres_words[@]}" /usr/sbin/pgbouncer "$data/config/pgbouncer.ini"
}

stop_pooler() {
    at_place pool stop pgbouncer "${1:-INT}" 10 || true
}

pooler_url() {
    printf 'postgres://%s:%s@127.0.0.1:%s/%s' "$postgresql_user" "$(<"$work/pg1/secrets/postgresql")" \
        "$(at_place pool port_of POOLER_PORT)" "$postgresql_database"
}
