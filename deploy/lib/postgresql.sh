# shellcheck shell=bash
# The private PostgreSQL: a separate cluster, TCP on loopback only, a password for every user.
# PostgreSQL does not run as root, so root starts it as the user postgres. Any other user starts it as themselves.

postgresql_user=bellhop
postgresql_database=bellhop
# Additional options of the server, which callers may set before the start.
postgresql_options=()
# Variables of its environment, NAME=VALUE; for callers to set.
postgresql_environment=()

private_database_url() {
    printf 'postgres://%s:%s@127.0.0.1:%s/%s' \
        "$postgresql_user" "$(<"$data/secrets/postgresql")" "$(port_of POSTGRESQL_PORT)" "${1:-$postgresql_database}"
}

# Prints the real path of the data: PostgreSQL's user may not be able to follow the link.
postgresql_folder() {
    readlink -f "$data/postgresql"
}

# Prints the path for the data if PostgreSQL's user cannot enter this folder.
postgresql_folder_away() {
    local hash
    hash=$(printf '%s' "$data" | sha256sum)
    printf '/var/lib/bellhop/%s' "${hash:0:16}"
}

# Prints the folder of the newest server's programs.
postgresql_programs() {
    local newest
    newest=$(compgen -G '/usr/lib/postgresql/*/bin/postgres' | sort -V | tail -n 1)
    [[ -n $newest ]] || die "/usr/lib/postgresql/*/bin/postgres is missing; install the package postgresql"
    printf '%s' "${newest%/postgres}"
}

# Prints the folder of the programs for existing data: those of its major version, not the newest.
postgresql_programs_for_data() {
    local version programs
    version=$(as_postgres cat "$(postgresql_folder)/data/PG_VERSION")
    programs=/usr/lib/postgresql/$version/bin
    [[ -x $programs/postgres ]] \
        || die "the data in $data/postgresql belongs to PostgreSQL $version, which is not installed; install postgresql-$version, or start over with deploy/up --reset"
    printf '%s' "$programs"
}

# Sets the words that precede a command that must run as PostgreSQL's user.
postgresql_identity() {
    if ((EUID == 0)); then
        as_postgres_words=(setpriv --reuid=postgres --regid=postgres --init-groups --)
    else
        as_postgres_words=()
    fi
}

as_postgres() {
    local as_postgres_words
    postgresql_identity
    (cd / && "${as_postgres_words[@]}" env -i LANG=C.UTF-8 PATH=/usr/bin:/bin "$@")
}

# Starts the server unless it runs; `postgresql_wait` follows. Sets `postgresql_started` to the time if it started one.
postgresql_start() {
    local as_postgres_words programs folder
    postgresql_started=
    if is_running postgresql; then
        return
    fi
    postgresql_started=$(now)
    postgresql_prepare_folder
    folder=$(postgresql_folder)
    if as_postgres test -e "$folder/complete"; then
        programs=$(postgresql_programs_for_data)
        postgresql_clear_stale_lock "$folder/data"
        is_stopped postgresql || return 0
    else
        programs=$(postgresql_programs)
        postgresql_create_cluster "$programs" "$folder"
    fi
    choose_port POSTGRESQL_PORT
    : >"$data/log/postgresql.log"
    postgresql_identity
    launch postgresql "${as_postgres_words[@]}" env -i LANG=C.UTF-8 PATH=/usr/bin:/bin "${postgresql_environment[@]}" \
        "$programs/postgres" -D "$folder/data" -p "$(port_of POSTGRESQL_PORT)" \
        -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200 \
        -c min_wal_size=1GB -c max_wal_size=4GB "${postgresql_options[@]}"
}

# Makes $data/postgresql a folder that PostgreSQL's user owns and can enter. If that user cannot enter the checkout (a
# home directory that is closed to others), the folder moves to /var/lib/bellhop/<hash of its path>, and a link stays.
postgresql_prepare_folder() {
    local link=$data/postgresql folder away
    if [[ -L $link && ! -d $link ]]; then
        rm -f "$link"
    fi
    mkdir -p "$link"
    ((EUID == 0)) || return 0
    id -u postgres >/dev/null 2>&1 || die "the user postgres is missing; install the package postgresql"
    folder=$(postgresql_folder)
    chown postgres: "$folder"
    chmod 700 "$folder"
    if as_postgres test -w "$folder"; then
        return
    fi
    away=$(postgresql_folder_away)
    [[ ! -e $away ]] \
        || die "moving PostgreSQL's data out of the closed folder $data failed: $away exists; remove it if its data is not needed"
    mkdir -p /var/lib/bellhop
    chmod 755 /var/lib/bellhop
    mv "$folder" "$away"
    ln -sfnT "$away" "$link"
    say postgresql "data is in $away: its user cannot enter $data"
}

# Creates a cluster that requires a password of every user, also on loopback: other users' processes can reach it there.
postgresql_create_cluster() {
    local programs=$1 folder=$2
    [[ -s $data/secrets/postgresql ]] || random_word | write_private "$data/secrets/postgresql"
    # Removes the files of a creation that was interrupted.
    as_postgres rm -rf "$folder/data" "$folder/password"
    as_postgres bash -c 'umask 077 && cat >"$1"' bash "$folder/password" <"$data/secrets/postgresql"
    if ! (as_postgres "$programs/initdb" -D "$folder/data" -U "$postgresql_user" --pwfile="$folder/password" \
        --auth=scram-sha-256 -E UTF8 --locale=C.UTF-8) >"$data/log/initdb.log" 2>&1; then
        show_log initdb
        die "creating PostgreSQL's data folder $folder/data failed; see the lines above"
    fi
    as_postgres rm -f "$folder/password"
    as_postgres touch "$folder/complete"
}

# After a crash, postmaster.pid names a pid that may belong to another process by now, and the server would not start.
# If the pid is that of a server on the same data, whose record was lost, this function writes the record again.
postgresql_clear_stale_lock() {
    local lock=$1/postmaster.pid pid arguments
    pid=$(as_postgres head -n 1 "$lock" 2>/dev/null) || return 0
    arguments=$({ tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null) || true
    if [[ $arguments == */postgres\ -D\ "$1 "* ]]; then
        record postgresql "$pid"
    else
        as_postgres rm -f "$lock"
    fi
}

# Waits until the server accepts connections, and creates the database if it is missing.
postgresql_wait() {
    local programs attempt
    programs=$(postgresql_programs_for_data)
    for attempt in 1 2 3; do
        if wait_until 60 postgresql_answered_or_ended "$programs" && is_running postgresql; then
            postgresql_create_database "$programs"
            return
        fi
        if ((attempt < 3)) && grep -q "could not bind" "$data/log/postgresql.log" && ! is_running postgresql; then
            say postgresql "another program has taken its port, starting again on another port"
            postgresql_start
            continue
        fi
        show_log postgresql
        postgresql_stop >&2
        die "starting PostgreSQL on 127.0.0.1:$(port_of POSTGRESQL_PORT) failed; see the lines above"
    done
}

postgresql_answered_or_ended() {
    is_stopped postgresql || "$1/pg_isready" -q -h 127.0.0.1 -p "$(port_of POSTGRESQL_PORT)"
}

postgresql_create_database() {
    local answer
    answer=$(private_psql postgres -Atc "select 1 from pg_database where datname = '$postgresql_database'") \
        || die "asking PostgreSQL for its databases failed; see $data/log/postgresql.log"
    [[ $answer == 1 ]] || private_psql postgres -qc "create database $postgresql_database" \
        || die "creating the database $postgresql_database failed; see $data/log/postgresql.log"
}

# private_psql DATABASE ARGUMENT…: runs psql on this folder's server.
private_psql() {
    local database=$1
    shift
    psql_at "$(private_database_url "$database")" "$@"
}

# psql_at URL ARGUMENT…: runs psql with the password in the environment, since every user can read a command line.
psql_at() {
    local url=$1 password=
    shift
    if [[ $url =~ ^([a-z]+://[^:/@?]+):([^@]*)@(.*)$ ]]; then
        url=${BASH_REMATCH[1]}@${BASH_REMATCH[3]}
        password=${BASH_REMATCH[2]//\\/\\\\}
        printf -v password '%b' "${password//%/\\x}"
    fi
    PGPASSWORD=$password PGCONNECT_TIMEOUT=10 "$(postgresql_programs)/psql" -X -v ON_ERROR_STOP=1 -d "$url" "$@"
}

# Stops the server with SIGINT, PostgreSQL's fast shutdown: it ends all connections and writes everything to disk.
postgresql_stop() {
    local started
    started=$(now)
    if stop postgresql INT 60; then
        say postgresql "stopped in $(seconds_since "$started")"
    fi
}
