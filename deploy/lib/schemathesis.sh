# shellcheck shell=bash
# Schemathesis, which checks the running API against docs/openapi.yaml, in a separate folder.

schemathesis_version=4.32.5

# Sets BELLHOP_SCHEMATHESIS to the program. If it cannot be installed, its tests are omitted, and one line reports it.
find_schemathesis() {
    local folder="$checkout/.bellhop/schemathesis-$schemathesis_version"
    [[ -z ${BELLHOP_SCHEMATHESIS:-} ]] || return 0
    if [[ ! -x $folder/bin/schemathesis ]]; then
        rm -rf "$folder"
        if ! { python3 -m venv "$folder" && timeout 60 "$folder/bin/pip" install --quiet --disable-pip-version-check \
            "schemathesis==$schemathesis_version"; } >/dev/null 2>&1; then
            rm -rf "$folder"
            say schemathesis "not installed: requires python3's venv and Python's package index; openapi.yaml is not checked"
            return 0
        fi
    fi
    export BELLHOP_SCHEMATHESIS="$folder/bin/schemathesis"
}
