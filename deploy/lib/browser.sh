# shellcheck shell=bash
# Fetches the part of the browser tests' tools that the distribution does not package.

# Fetches axe-core, which finds accessibility faults of a page, from Python's package index, and keeps it in .bellhop.
# The wheel must have the hash in axe.txt. It is not a part of Bellhop (MPL 2.0). Sets BELLHOP_AXE. If the download
# fails, the test is omitted, and one line reports it.
fetch_axe() {
    local folder=$checkout/.bellhop/axe
    axe=$folder/axe_playwright_python/axe.min.js
    [[ ! -s $axe ]] || {
        export BELLHOP_AXE=$axe
        return 0
    }
    rm -rf "$folder"
    mkdir -p "$folder"
    if python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
        --dest "$folder" --requirement "$checkout/deploy/lib/axe.txt" >&2 \
        && python3 -m zipfile -e "$folder"/axe_playwright_python-*.whl "$folder"; then
        export BELLHOP_AXE=$axe
        say axe "fetched axe-core"
    else
        say axe "download failed, see the lines above; accessibility is not checked" >&2
    fi
}
