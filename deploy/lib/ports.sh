# shellcheck shell=bash
# Loopback ports: chosen once, stored in $data/ports, and chosen again only if another program uses one meanwhile.

port_answers() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

port_is_free() {
    ! port_answers "$1"
}

# Prints the stored port of a name; nothing if there is none.
port_of() {
    [[ ! -f $data/ports ]] || sed -n "s/^$1=\([0-9]\{1,5\}\)\$/\1/p" "$data/ports"
}

remember_port() {
    touch "$data/ports"
    { grep -v "^$1=" "$data/ports" || true; } >"$data/ports.new"
    printf '%s=%s\n' "$1" "$2" >>"$data/ports.new"
    mv -f "$data/ports.new" "$data/ports"
}

# choose_port NAME [OFFSET…]: keeps the stored port if it is free now or within five seconds, and otherwise stores a new
# one. The ports at the offsets from it are free, too. They are below 32768, where the kernel takes none for outgoing
# connections. The wait is for the processes that a killed server has left behind: they may hold its port a little
# longer, and clients know no other port.
choose_port() {
    local name=$1 port attempt
    shift
    port=$(port_of "$name")
    [[ -z $port ]] || wait_until 5 ports_are_free "$port" "$@" || true
    for attempt in {1..200}; do
        if [[ -n $port ]] && ports_are_free "$port" "$@" && ! port_has_other_name "$name" "$port"; then
            remember_port "$name" "$port"
            return
        fi
        port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    done
    die "finding a free loopback port for $name failed after $attempt attempts; list the used ports with: ss -ltn"
}

ports_are_free() {
    local base=$1 offset
    shift
    for offset in 0 "$@"; do
        port_is_free $((base + offset)) || return 1
    done
}

# Whether another name in this folder already has the port, even if its server is stopped.
port_has_other_name() {
    [[ -f $data/ports ]] && grep -v "^$1=" "$data/ports" | grep -q "=$2\$"
}
