# shellcheck shell=bash
# What every script starts from: where the checkout is, how to speak, how to fail.
# Sourced, never run. A script sets `set -euo pipefail` itself.

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)

# One calm line about a thing and what became of it: `say rabbitmq "ready on …"`.
say() {
    printf '%-11s %s\n' "$1" "$2" 2>/dev/null || exec >/dev/null
}

# For a script whose work counts more than its words: who reads them may go away (`deploy/up --detach | head`), and what was
# begun is still done.
outlive_reader() {
    trap '' PIPE
}

# Ends the script with one line: what was attempted, what came back, what to do.
die() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    exit "${2:-1}"
}

# Exit code 64 and a pointer to the usage text.
die_usage() {
    die "$1; try: ${0##*/} --help" 64
}

# The comment block at the top of the script that runs is its usage text.
print_usage() {
    sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"
}

# Seconds since the epoch with a fraction, for `seconds_since`.
now() {
    printf '%s' "${EPOCHREALTIME/,/.}"
}

# "4.1 s" since an earlier `now`.
seconds_since() {
    awk -v from="$1" -v to="$(now)" 'BEGIN { printf "%.1f s", to - from }'
}

# wait_until SECONDS COMMAND… : 0 as soon as the command succeeds, 1 when the time is over.
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
        die "running '$1' needs root and there is no sudo; run this script as root"
    elif [[ -t 0 ]]; then
        sudo -- "$@"
    else
        sudo -n -- "$@" || return $?
    fi
}

# Writes stdin to a file that only its owner can read; a reader never sees half of it.
write_private() {
    local file=$1
    (umask 077 && cat >"$file.new")
    chmod 600 "$file.new"
    mv -f "$file.new" "$file"
}

# A random word of lower-case letters and digits (32 of them: 165 bits).
random_word() {
    local word
    word=$(head -c 512 /dev/urandom | LC_ALL=C tr -dc 'a-z0-9')
    printf '%s' "${word:0:${1:-32}}"
}

# The folder that holds servers, logs and records. Others may pass through it (PostgreSQL's user has to), secrets inside
# are closed one by one. Sets `data`.
open_data_folder() {
    mkdir -p "$1" 2>/dev/null || die "creating $1 failed; use a folder that you can write to, or --data DIR"
    data=$(cd "$1" && pwd -P)
    # What one user started and wrote, another cannot stop and rewrite, or, being root, would take away from its owner.
    [[ -O $data ]] || die "$data belongs to $(stat -c %U "$data"), and this runs as $(id -un); run it as that user"
    mkdir -p "$data/log" "$data/run" "$data/secrets"
    chmod 755 "$data"
    chmod 700 "$data/log" "$data/run" "$data/secrets"
}

# hold_lock NUMBER FILE WHAT: this script alone does WHAT here until it ends. NUMBER is the descriptor that holds the
# lock; `launch` closes descriptors 7 to 9 in servers, so that a lock ends with its script.
hold_lock() {
    eval "exec $1>\"\$2\""
    flock -w "${4:-0}" "$1" || die "$3 is already going on for $data; wait for it, or stop it first"
}
