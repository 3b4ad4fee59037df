# shellcheck shell=bash
# Tools that Debian does not package, from Python's package index, in a separate folder: the system does not change.

tools=$checkout/.bellhop/tools

# find_tools PACKAGE…: installs what is missing into `tools`.
find_tools() {
    local package missing=()
    if [[ ! -x $tools/bin/pip ]]; then
        python3 -c 'import ensurepip' 2>/dev/null || apt_install python3-venv
        mkdir -p "$checkout/.bellhop"
        python3 -m venv "$tools" || die "making $tools failed; see the lines above"
    fi
    for package in "$@"; do
        "$tools/bin/pip" show -q "$package" 2>/dev/null || missing+=("$package")
    done
    ((${#missing[@]} > 0)) || return 0
    say tools "installing ${missing[*]}"
    "$tools/bin/pip" install -q --disable-pip-version-check "${missing[@]}" \
        || die "installing ${missing[*]} from Python's package index failed; see the lines above"
}
