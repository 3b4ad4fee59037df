# shellcheck shell=bash
# $data/env: the file that another shell sources to use these servers. It has passwords, so only its owner can read it.

# export_line NAME VALUE [as-is]: sets one line and keeps the others. With as-is, VALUE is already quoted for the shell.
export_line() {
    local name=$1 value=$2
    if [[ ${3:-} != as-is && ! $value =~ ^[A-Za-z0-9_@%+=:,./-]*$ ]]; then
        value="'${value//\'/\'\\\'\'}'"
    fi
    {
        [[ ! -f $data/env ]] || grep -v "^export $name=" "$data/env" || true
        printf 'export %s=%s\n' "$name" "$value"
    } | write_private "$data/env"
}

# Removes one line.
drop_line() {
    [[ -f $data/env ]] || return 0
    { grep -v "^export $1=" "$data/env" || true; } | write_private "$data/env"
}

# Reads a secret that is set as NAME_FILE into NAME.
read_secret_file() {
    local file_name="$1_FILE" value
    if [[ -z ${!1:-} && -n ${!file_name:-} ]]; then
        value=$(<"${!file_name}") || die "reading $file_name=${!file_name} failed; check the path and its permissions"
        export "$1=$value"
    fi
}

# Unsets the servers' URLs that this shell has from the env file of FOLDER: they name private servers and must not count
# as the caller's own servers. The password in a URL shows its origin.
forget_private_urls() {
    local folder=$1 server name secret
    for server in rabbitmq:BELLHOP_AMQP_URL postgresql:BELLHOP_DATABASE_URL; do
        name=${server#*:}
        secret=$folder/secrets/${server%%:*}
        if [[ -n ${!name:-} && -r $secret && ${!name} == *":$(<"$secret")@127.0.0.1:"* ]]; then
            unset "$name"
        fi
    done
}

# Unsets every other name whose value equals that in the env file of FOLDER.
forget_exports() {
    local folder=$1 name value
    [[ -r $folder/env ]] || return 0
    while IFS= read -r name; do
        # shellcheck source=/dev/null
        value=$(unset "$name" && . "$folder/env" && printf '%s' "${!name:-}")
        if [[ ${!name:-} == "$value" && $name != BELLHOP_AMQP_URL && $name != BELLHOP_DATABASE_URL ]]; then
            unset "$name"
        fi
    done < <(sed -n 's/^export \(BELLHOP_[A-Z_]*\)=.*/\1/p' "$folder/env")
}
