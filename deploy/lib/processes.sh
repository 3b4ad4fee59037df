# shellcheck shell=bash
# Starts and stops processes that outlive the script, and never stops any other process.
#
# A record ($data/run/NAME) holds: pid, start time in clock ticks since boot, boot id, data folder. The process writes
# it itself before it becomes the server, so it never runs unrecorded. If start time or boot differ, the pid belongs to
# another process. If the folder differs, the record was copied with its checkout.

# Prints the start time of a pid; nothing if the process is gone or a zombie.
start_time_of() {
    local line fields
    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 0
    read -ra fields <<<"${line##*) }"
    [[ ${fields[0]} == [ZX] ]] || printf '%s' "${fields[19]}"
}

# Prints the pid of a recorded process of this folder that still runs; otherwise nothing.
pid_of() {
    local pid ticks boot folder
    { read -r pid ticks boot folder <"$data/run/$1"; } 2>/dev/null || return 0
    [[ $pid =~ ^[0-9]+$ && $folder == "$data" && $boot == "$(</proc/sys/kernel/random/boot_id)" ]] || return 0
    [[ $(start_time_of "$pid") != "$ticks" ]] || printf '%s' "$pid"
}

is_running() {
    [[ -n $(pid_of "$1") ]]
}

is_stopped() {
    [[ -z $(pid_of "$1") ]]
}

# record NAME PID: writes the record of a running process.
record() {
    printf '%s %s %s %s\n' "$2" "$(start_time_of "$2")" "$(</proc/sys/kernel/random/boot_id)" "$data" >"$data/run/$1"
}

# The name that `launch` is starting. An interrupted script waits for its record before it concludes that nothing runs.
launching=

# launch NAME COMMAND…: starts a server in a new session, so that Ctrl-C in this terminal does not reach it. Its output
# goes to $data/log/NAME.log. Descriptors 7 to 9 hold locks, which end with the script and not with its servers.
launch() {
    local name=$1
    shift
    rm -f "$data/run/$name"
    launching=$name
    (
        cd /
        trap - PIPE
        raise_file_limit
        exec 7>&- 8>&- 9>&- </dev/null >>"$data/log/$name.log" 2>&1
        exec setsid bash -c "$(declare -f start_time_of record)"'
            data=$1 name=$2 && shift 2 && record "$name" $$ && exec "$@"' launch "$data" "$name" "$@"
    ) &
    disown "$!"
    wait_until 5 test -s "$data/run/$name" || die "starting $name failed; see $data/log/$name.log"
    launching=
}

# Raises the limit of open files to the hard limit, at most 65536: Erlang sizes its tables by the limit.
raise_file_limit() {
    local limit
    limit=$(ulimit -Hn)
    if [[ $limit == unlimited ]] || ((limit > 65536)); then
        limit=65536
    fi
    ulimit -Sn "$limit"
}

# stop NAME SIGNAL SECONDS: sends the process the signal, and kills its session if it still runs after SECONDS.
# Returns 1 if no recorded process ran.
stop() {
    local name=$1 signal=$2 patience=$3 pid
    [[ $launching != "$name" ]] || wait_until 5 test -s "$data/run/$name" || true
    pid=$(pid_of "$name")
    if [[ -z $pid ]]; then
        rm -f "$data/run/$name"
        return 1
    fi
    kill "-$signal" "$pid" 2>/dev/null || [[ -z $(pid_of "$name") ]] \
        || die "stopping $name (pid $pid): permission denied; run as the user who started it, or with sudo"
    if ! wait_until "$patience" is_stopped "$name"; then
        say "$name" "did not stop within $patience s, killed"
        kill -KILL "$pid" 2>/dev/null || true
        wait_until 5 is_stopped "$name" || die "killing $name (pid $pid) failed; inspect it with: ps -fp $pid"
    fi
    # Kills the processes that the server has left behind: its session contains no other ones.
    pkill -KILL -s "$pid" 2>/dev/null || true
    rm -f "$data/run/$name"
}

# Prints the last lines of a server's log, after an error.
show_log() {
    printf '%s\n' "--- the last lines of $data/log/$1.log" >&2
    tail -n 15 "$data/log/$1.log" >&2 || true
}
