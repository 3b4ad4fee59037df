# shellcheck shell=bash
# Starting and ending processes that outlive the script, so that exactly these are ended and never a stranger.
#
# A record ($data/run/NAME) holds: pid, start time in clock ticks since boot, boot id, data folder. The process writes it
# itself before it becomes the server, so there is no moment at which it runs unrecorded. A pid whose start time or boot
# differs belongs to somebody else, and a record copied along with a checkout speaks of another folder.

# The start time of a pid; empty where it is gone or only waits to be collected.
start_time_of() {
    local line fields
    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 0
    read -ra fields <<<"${line##*) }"
    [[ ${fields[0]} == [ZX] ]] || printf '%s' "${fields[19]}"
}

# The pid of a process that this folder started and that still runs; empty otherwise.
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

# record NAME PID: takes note of a running process.
record() {
    printf '%s %s %s %s\n' "$2" "$(start_time_of "$2")" "$(</proc/sys/kernel/random/boot_id)" "$data" >"$data/run/$1"
}

# The name that `launch` is just starting: an interrupted script waits for its record before it concludes that nothing runs.
launching=

# launch NAME COMMAND…: starts a server in a session of its own (Ctrl-C in this terminal does not reach it), its output in
# $data/log/NAME.log. Descriptors 7 to 9 hold locks, which end with the script and not with its servers.
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

# As many open files as a server may have here, within reason: Erlang sizes its tables by the limit.
raise_file_limit() {
    local limit
    limit=$(ulimit -Hn)
    if [[ $limit == unlimited ]] || ((limit > 65536)); then
        limit=65536
    fi
    ulimit -Sn "$limit"
}

# stop NAME SIGNAL SECONDS: asks the process to end, and where it has not after SECONDS, ends its session.
# Returns 1 where nothing of ours ran.
stop() {
    local name=$1 signal=$2 patience=$3 pid
    [[ $launching != "$name" ]] || wait_until 5 test -s "$data/run/$name" || true
    pid=$(pid_of "$name")
    if [[ -z $pid ]]; then
        rm -f "$data/run/$name"
        return 1
    fi
    kill "-$signal" "$pid" 2>/dev/null || [[ -z $(pid_of "$name") ]] \
        || die "stopping $name (pid $pid) is not allowed; run as the user who started it, or with sudo"
    if ! wait_until "$patience" is_stopped "$name"; then
        say "$name" "did not stop within $patience s, ended by force"
        kill -KILL "$pid" 2>/dev/null || true
        wait_until 5 is_stopped "$name" || die "ending $name (pid $pid) failed; look at it with: ps -fp $pid"
    fi
    # What the server started and left behind: its session is ours alone.
    pkill -KILL -s "$pid" 2>/dev/null || true
    rm -f "$data/run/$name"
}

# The last lines of a server's log, to follow an error.
show_log() {
    printf '%s\n' "--- the last lines of $data/log/$1.log" >&2
    tail -n 15 "$data/log/$1.log" >&2 || true
}
