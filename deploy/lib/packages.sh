# shellcheck shell=bash
# The packages that Bellhop needs from the distribution. There is no other list.
#
# Each line has the Debian package, and a file (pattern) that proves its presence, whatever its origin. A server that
# was built manually, or another variant of libcurl's headers, replaces the package.
needed_packages=(
    "rabbitmq-server         /usr/lib/rabbitmq/bin/rabbitmq-server"
    "postgresql              /usr/lib/postgresql/*/bin/initdb"
    "postgresql-client       /usr/lib/postgresql/*/bin/psql"
    "librabbitmq-dev         /usr/include/amqp.h"
    "libpq-dev               /usr/include/postgresql/libpq-fe.h"
    "libcurl4-openssl-dev    /usr/include/*/curl/curl.h"
    "libssl-dev              /usr/include/openssl/ssl.h"
    "libmicrohttpd-dev       /usr/include/microhttpd.h"
    "libnghttp2-dev          /usr/include/nghttp2/nghttp2.h"
    "zlib1g-dev              /usr/include/zlib.h"
    "libjemalloc-dev         /usr/include/jemalloc/jemalloc.h"
    "pkg-config              /usr/bin/pkg-config"
    "g++                     /usr/include/c++/*/string"
    "libc6-dev               /usr/include/stdio.h"
    "libncurses6             /usr/lib/*/libncurses.so.6"
    "libsqlite3-0            /usr/lib/*/libsqlite3.so.0"
    "git                     /usr/bin/git"
    "nghttp2-server          /usr/sbin/nghttpd"
    "amqp-tools              /usr/bin/amqp-publish"
    "curl                    /usr/bin/curl"
    "openssl                 /usr/bin/openssl"
    "ca-certificates         /etc/ssl/certs/ca-certificates.crt"
    "tzdata                  /usr/share/zoneinfo/Europe/Oslo"
    "python3                 /usr/bin/python3"
    "python3-venv            /usr/lib/python3.*/ensurepip/__init__.py"
    "python3-cryptography    /usr/lib/python3/dist-packages/cryptography/__init__.py"
    "procps                  /usr/bin/pkill"
)

# The tests' additional packages: a browser and a font for the notification centre, pip for axe-core from Python's
# package index, Prometheus's tool for checking metrics and alerts, and a producer that does not use Swift.
test_packages=(
    "chromium                /usr/bin/chromium"
    "chromium-driver         /usr/bin/chromedriver"
    "fonts-dejavu-core       /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"
    "python3-pip             /usr/bin/pip3"
    "prometheus              /usr/bin/promtool"
    "python3-pika            /usr/lib/python3/dist-packages/pika/__init__.py"
)

# Prints the packages of the list whose file is missing, one per line.
missing_packages() {
    local line package proof
    for line in "${needed_packages[@]}"; do
        read -r package proof <<<"$line"
        compgen -G "$proof" >/dev/null || printf '%s\n' "$package"
    done
}

# Installs missing packages. If none is missing, it does nothing and prints nothing.
install_packages() {
    local missing started
    mapfile -t missing < <(missing_packages)
    if ((${#missing[@]} > 0)); then
        apt_install "${missing[@]}"
        mapfile -t missing < <(missing_packages)
        ((${#missing[@]} == 0)) || die "the installation ended, but these packages are still missing: ${missing[*]}"
    elif [[ -e /usr/sbin/policy-rc.d ]] && grep -qs "$install_mark" /usr/sbin/policy-rc.d; then
        as_root bash "$checkout/deploy/lib/apt-install" --repair
    fi
}

# The line by which deploy/lib/apt-install recognises its own policy-rc.d.
install_mark="placed by Bellhop for the time of an installation"

apt_install() {
    local started
    command -v apt-get >/dev/null \
        || die "these packages are missing: $*; apt-get is not available, so install them with this system's own tools"
    started=$(now)
    say packages "installing $*"
    as_root bash "$checkout/deploy/lib/apt-install" "$@" || die "installing $* failed; see the lines above"
    say packages "installed in $(seconds_since "$started")"
}
