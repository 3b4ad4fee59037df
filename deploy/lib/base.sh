# shellcheck shell=bash
# The base of every script: the checkout's path, output, and errors.
# Sourced, never run. A script sets `set -euo pipefail` itself.

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)

# Prints one line about the state of a thing: `say rabbitmq "ready on …"`.
say() {
    printf '%-11s %s\n' "$1" "$2" 2>/dev/null || exec >/dev/null
}

# For a script that must finish its work even if the reader of its output ends (`deploy/up --detach | head`).
outlive_reader() {
    trap '' PIPE
}

# Ends the script with one line: the action, the error, and the next step.
die() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    exit "${2:-1}"
}

# Ends the script with exit code 64 and a reference to the usage text.
die_usage() {
    die "$1; see ${0##*/} --help" 64
}

# Prints the usage text: the comment block at the top of the running script.
print_usage() {
    sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"
}

# Prints the seconds since the epoch, with a fraction, for `seconds_since`.
now() {
    printf '%s' "${EPOCHREALTIME/,/.}"
}

# Prints the time since an earlier `now`, such as "4.1 s".
seconds_since() {
    awk -v from="$1" -v to="$(now)" 'BEGIN { printf "%.1f s", to - from }'
}

# wait_until SECONDS COMMAND…: returns 0 as soon as the command succeeds, and 1 when the time is over.
wait_until() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < deadline)) || return 1
        sleep 0.1
    done
}

# Runs a command with root's rights.
as_root() {
    if ((EUID == 0)); then
        "$@"
    elif ! command -v sudo >/dev/null; then
        die "running '$1' requires root, and sudo is missing; run this script as root"
    elif [[ -t 0 ]]; then
        sudo -- "$@"
    else
        sudo -n -- "$@" || return $?
    fi
}

# Writes stdin to a file that only its owner can read. Readers never see a partial file.
write_private() {
    local file=$1
    (umask 077 && cat >"$file.new")
    chmod 600 "$file.new"
    mv -f "$file.new" "$file"
}

# Prints a random string of lower-case letters and digits (default: 32 of them, 165 bits).
random_word() {
    local word
    word=$(head -c 512 /dev/urandom | LC_ALL=C tr -dc 'a-z0-9')
    printf '%s' "${word:0:${1:-32}}"
}

# Creates the folder for servers, logs and records. Other users may enter it, since PostgreSQL's user must; the folders
# with secrets inside are closed. Sets `data`.
open_data_folder() {
    mkdir -p "$1" 2>/dev/null || die "creating $1 failed; use a folder that you can write to, or --data DIR"
    data=$(cd "$1" && pwd -P)
    # Another user cannot stop the owner's processes or rewrite the files, and root would change the files' owner.
    [[ -O $data ]] || die "$data belongs to $(stat -c %U "$data"), and this runs as $(id -un); run it as that user"
    mkdir -p "$data/log" "$data/run" "$data/secrets"
    chmod 755 "$data"
    chmod 700 "$data/log" "$data/run" "$data/secrets"
}

# hold_lock NUMBER FILE WHAT [SECONDS]: takes a lock, so that only this script does WHAT here until it ends. It waits
# for at most SECONDS (default: 0). NUMBER is the lock's descriptor; `launch` closes descriptors 7 to 9 in servers, so
# that a lock ends with its script.
hold_lock() {
    eval "exec $1>\"\$2\""
    flock -w "${4:-0}" "$1" || die "$3 is already running for $data; stop it first, or wait if it ends by itself"
}
