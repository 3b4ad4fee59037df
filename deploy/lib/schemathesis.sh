# shellcheck shell=bash
# Schemathesis, which holds the running API against docs/openapi.yaml, in a folder of its own.

schemathesis_version=4.32.5

# Sets BELLHOP_SCHEMATHESIS to the program; without it the tests that need it are left out, and one line says so.
find_schemathesis() {
    local folder="$checkout/.bellhop/schemathesis-$schemathesis_version"
    [[ -z ${BELLHOP_SCHEMATHESIS:-} ]] || return 0
    if [[ ! -x $folder/bin/schemathesis ]]; then
        rm -rf "$folder"
        if ! { python3 -m venv "$folder" && timeout 60 "$folder/bin/pip" install --quiet --disable-pip-version-check \
            "schemathesis==$schemathesis_version"; } >/dev/null 2>&1; then
            rm -rf "$folder"
            say schemathesis "not there: this needs python3's venv and PyPI; docs/openapi.yaml is not tried out"
            return 0
        fi
    fi
    export BELLHOP_SCHEMATHESIS="$folder/bin/schemathesis"
}
