# shellcheck shell=bash
# What the tests in a browser need that is no package of the distribution.

# axe-core, which finds what keeps people from using a page: fetched from PyPI, where the wheel must be this very one, and
# kept in .bellhop. It is not a part of Bellhop (MPL 2.0). Sets BELLHOP_AXE; where it cannot be fetched, its test is left out and
# one line says so.
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
        say axe "could not be fetched, see the lines above: accessibility is not checked" >&2
    fi
}
