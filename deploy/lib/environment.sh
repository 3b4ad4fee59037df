# shellcheck shell=bash
# $data/env: what another shell sources to reach what runs here. It holds passwords, so only its owner reads it.

# export_line NAME VALUE [as-is]: sets one line, keeps the others. as-is: VALUE is shell text already.
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

# Takes one line out again.
drop_line() {
    [[ -f $data/env ]] || return 0
    { grep -v "^export $1=" "$data/env" || true; } | write_private "$data/env"
}

# A secret may come as NAME_FILE; from here on it is in NAME.
read_secret_file() {
    local file_name="$1_FILE" value
    if [[ -z ${!1:-} && -n ${!file_name:-} ]]; then
        value=$(<"${!file_name}") || die "reading $file_name=${!file_name} failed; check the path and its rights"
        export "$1=$value"
    fi
}

# Forgets a server's URL that this shell has from sourcing the env file of FOLDER: it names a private server, and must
# not pass for one that somebody else runs. The password in it is the proof.
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

# Forgets every other name that has the very value which the env file of FOLDER gives it.
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
