# shellcheck shell=bash
# The private RabbitMQ: one node with a separate cookie, home, name server (epmd) and ports, on loopback only.
# Works the same with 3.10 and 4.x, as root or as any user. It neither reads nor writes anything under /etc or /var.

rabbitmq_scripts=/usr/lib/rabbitmq/bin
rabbitmq_user=bellhop

private_amqp_url() {
    printf 'amqp://%s:%s@127.0.0.1:%s' "$rabbitmq_user" "$(<"$data/secrets/rabbitmq")" "$(port_of AMQP_PORT)"
}

# Starts the broker unless it runs; `rabbitmq_wait` follows. Sets `rabbitmq_started` to the time if it started one.
rabbitmq_start() {
    rabbitmq_started=
    if is_running rabbitmq; then
        return
    fi
    [[ -x $rabbitmq_scripts/rabbitmq-server ]] \
        || die "$rabbitmq_scripts/rabbitmq-server is missing; install the package rabbitmq-server"
    rabbitmq_started=$(now)
    choose_port AMQP_PORT
    choose_port RABBITMQ_DIST_PORT
    rabbitmq_configure
    rabbitmq_start_name_server
    : >"$data/log/rabbitmq.log"
    rabbitmq_run launch rabbitmq "$rabbitmq_scripts/rabbitmq-server"
}

# Writes the broker's configuration. Password, cookie and node name never change, since the broker's data depends on
# them.
rabbitmq_configure() {
    local folder=$data/rabbitmq
    # An interrupted first start can leave a database without Bellhop's user, which the broker would not detect.
    [[ -e $folder/complete ]] || rm -rf "$folder/mnesia"
    mkdir -p "$folder/home" "$folder/mnesia" "$folder/config"
    chmod 700 "$folder"
    [[ -s $data/secrets/rabbitmq ]] || random_word | write_private "$data/secrets/rabbitmq"
    [[ -s $folder/home/.erlang.cookie ]] || random_word | write_private "$folder/home/.erlang.cookie"
    [[ -s $folder/node ]] || printf 'bellhop-%s@localhost' "$(random_word 8)" >"$folder/node"
    printf '[].\n' >"$folder/plugins"
    # The message counts of quorum queues are updated with this tick, for which rabbitmq.conf has no setting.
    printf '[{rabbit, [{quorum_tick_interval, 1000}]}].\n' >"$folder/advanced.config"
    write_private "$folder/rabbitmq.conf" <<END
listeners.tcp.1 = 127.0.0.1:$(port_of AMQP_PORT)
default_user = $rabbitmq_user
default_pass = $(<"$data/secrets/rabbitmq")
collect_statistics_interval = 1000
# Below this, the broker accepts no messages.
disk_free_limit.absolute = 200MB
# Quorum queues also keep their write-ahead log in memory; the default, half a gigabyte, is too much for a small
# machine.
raft.wal_max_size_bytes = 134217728
log.console = true
log.connection.level = warning
END
}

# rabbitmq_run COMMAND…: runs a command in the node's environment, without that of the caller.
# `launch` is a function, so its name precedes `env`.
rabbitmq_run() {
    local folder=$data/rabbitmq before=()
    if [[ $1 == launch ]]; then
        before=(launch "$2")
        shift 2
    fi
    # RUNNING_UNDER_SYSTEMD makes the script become the Erlang machine instead of waiting for it: one process, one pid.
    "${before[@]}" env -i \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        LANG=C.UTF-8 \
        HOME="$folder/home" \
        ERL_EPMD_ADDRESS=127.0.0.1 \
        ERL_EPMD_PORT="$(port_of EPMD_PORT)" \
        RUNNING_UNDER_SYSTEMD=true \
        RABBITMQ_NODENAME="$(<"$folder/node")" \
        RABBITMQ_DIST_PORT="$(port_of RABBITMQ_DIST_PORT)" \
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1}' \
        RABBITMQ_CTL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1}' \
        RABBITMQ_CONF_ENV_FILE=/dev/null \
        RABBITMQ_CONFIG_FILE="$folder/rabbitmq.conf" \
        RABBITMQ_ADVANCED_CONFIG_FILE="$folder/advanced.config" \
        RABBITMQ_GENERATED_CONFIG_DIR="$folder/config" \
        RABBITMQ_ENABLED_PLUGINS_FILE="$folder/plugins" \
        RABBITMQ_MNESIA_BASE="$folder/mnesia" \
        RABBITMQ_PID_FILE="$folder/pid" \
        RABBITMQ_LOG_BASE="$data/log" \
        RABBITMQ_LOGS=- \
        "$@"
}

# Starts a separate epmd, Erlang's name server, on a separate port. No other node uses it, so it can stop with the
# broker. If the broker started it, epmd would run in the background and stay after the broker's end.
rabbitmq_start_name_server() {
    local epmd
    if is_running epmd; then
        return
    fi
    epmd=$(command -v epmd || compgen -G '/usr/lib/erlang/erts-*/bin/epmd' | head -n 1) \
        || die "epmd is not in PATH; install the package erlang-base"
    choose_port EPMD_PORT
    launch epmd env -i "$epmd" -port "$(port_of EPMD_PORT)" -address 127.0.0.1
    wait_until 10 port_answers "$(port_of EPMD_PORT)" || {
        show_log epmd
        die "starting Erlang's name server on port $(port_of EPMD_PORT) failed; see the lines above"
    }
}

# Waits until the broker speaks AMQP. If another program has taken one of the ports, starts it again on other ports.
rabbitmq_wait() {
    local attempt
    for attempt in 1 2 3; do
        if wait_until 120 rabbitmq_answered_or_ended && is_running rabbitmq; then
            touch "$data/rabbitmq/complete"
            return
        fi
        if ((attempt < 3)) && ! is_running rabbitmq \
            && grep -qE 'eaddrinuse|dist_port_already_used' "$data/log/rabbitmq.log"; then
            say rabbitmq "another program has taken a port, starting again on other ports"
            rabbitmq_start
            continue
        fi
        show_log rabbitmq
        rabbitmq_stop >&2
        die "starting RabbitMQ on 127.0.0.1:$(port_of AMQP_PORT) failed; see the lines above"
    done
}

rabbitmq_answered_or_ended() {
    is_stopped rabbitmq || speaks_amqp "$(port_of AMQP_PORT)"
}

# Whether a broker answers the protocol's greeting: its first frame is of type 1. The listener opens last of all.
speaks_amqp() {
    local first=
    {
        exec 3<>"/dev/tcp/127.0.0.1/$1" && printf 'AMQP\0\0\x09\x01' >&3 && read -r -N 1 -t 5 -u 3 first
        exec 3>&-
    } 2>/dev/null || return 1
    [[ $first == $'\x01' ]]
}

# Stops the broker with SIGTERM, an orderly shutdown of the Erlang machine: it closes the queues, so the next start
# needs no recovery. A starting Erlang machine may miss the signal, so a broker that is still starting gets it again.
rabbitmq_stop() {
    local started pid
    started=$(now)
    pid=$(pid_of rabbitmq)
    if [[ -n $pid ]] && ! speaks_amqp "$(port_of AMQP_PORT)"; then
        kill -TERM "$pid" 2>/dev/null || true
        wait_until 3 is_stopped rabbitmq || true
    fi
    if [[ -n $pid ]]; then
        stop rabbitmq TERM 60 || true
        say rabbitmq "stopped in $(seconds_since "$started")"
    fi
    stop epmd TERM 5 || true
}
