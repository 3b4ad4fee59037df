# shellcheck shell=bash
# Makes images without a registry: podman with a separate storage, and a base that debootstrap makes.

containers=/var/cache/bellhop/containers
release=trixie
base_image=localhost/bellhop-debian
swift_image=localhost/bellhop-swift
image=localhost/bellhop
rabbitmq_image=localhost/bellhop-rabbitmq
postgres_image=localhost/bellhop-postgres
# The size limit of the image, without its base.
most_megabytes=90

install_podman() {
    local tool missing=()
    for tool in podman runc buildah netavark aardvark-dns iptables catatonit debootstrap; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$tool" 2>/dev/null) == installed ]] || missing+=("$tool")
    done
    ((${#missing[@]} == 0)) || apt_install "${missing[@]}"
    mkdir -p "$containers/bin"
    # Some machines do not allow higher limits, and systemd may not be running.
    cat >"$containers/containers.conf" <<'END'
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
END
}

# Makes a program `podman` that uses this storage, in a separate folder that also podman-compose has in its PATH.
find_driver() {
    local driver
    export CONTAINERS_CONF=$containers/containers.conf
    for driver in overlay vfs; do
        write_podman "$driver"
        if podman info >/dev/null 2>&1; then
            PATH=$containers/bin:$PATH
            return
        fi
    done
    podman info >/dev/null || die "podman cannot run here; see the line above"
}

write_podman() {
    cat >"$containers/bin/podman" <<END
#!/bin/sh
exec /usr/bin/podman --storage-driver=$1 --root=$containers/storage --runroot=$containers/run "\$@"
END
    chmod 755 "$containers/bin/podman"
    hash -r
    PATH=$containers/bin:${PATH#"$containers/bin:"}
}

# Runs a long step with its output in a log, and shows the end of the log if the step fails.
step() {
    local what=$1 started
    shift
    started=$(now)
    if ! "$@" >"$work/step.log" 2>&1; then
        tail -n 30 "$work/step.log" >&2
        die "$what failed; see the lines above"
    fi
    say containers "$what: $(seconds_since "$started")"
}

make_base() {
    podman image exists "$base_image" && return
    step "making the base, Debian $release" debootstrap --variant=minbase "$release" "$work/base"
    step "importing it" import_base
    rm -rf "$work/base"
}

import_base() {
    rm -rf "$work/base"/var/cache/apt/archives/*.deb "$work/base"/var/lib/apt/lists/*
    tar -C "$work/base" -c . | podman import - "$base_image"
}

# make_stand_in TARGET IMAGE
make_stand_in() {
    podman image exists "$2" || step "building $2" podman build --network=host --target "$1" \
        --build-arg DEBIAN_IMAGE="$base_image" --tag "$2" "$checkout/deploy/container/stand-ins"
}

make_images() {
    make_stand_in swift "$swift_image"
    make_stand_in rabbitmq "$rabbitmq_image"
    make_stand_in postgres "$postgres_image"
    step "building the image from deploy/Dockerfile" nice podman build --network=host --format docker \
        --build-arg SWIFT_IMAGE="$swift_image" --build-arg DEBIAN_IMAGE="$base_image" \
        --file "$checkout/deploy/Dockerfile" --tag "$image" "$checkout"
}

megabytes_of() {
    echo $(($(podman image inspect --format '{{.Size}}' "$1") / 1000000))
}

check_image() {
    local whole base user libraries
    whole=$(megabytes_of "$image") base=$(megabytes_of "$base_image")
    user=$(podman image inspect --format '{{.Config.User}}' "$image")
    [[ $user == bellhop ]] || die "the image runs as '$user'; it must run as bellhop"
    libraries=$(podman run --rm --network=none --entrypoint ldd "$image" /usr/local/bin/bellhop 2>/dev/null) || true
    [[ $libraries != *"not found"* && $libraries == *"libjemalloc.so.2 => /"* ]] \
        || { printf '%s\n' "$libraries" >&2; die "the image lacks libraries, or jemalloc; see the lines above"; }
    ((whole - base <= most_megabytes)) \
        || die "the image has $((whole - base)) MB in addition to its base of $base MB; the limit is $most_megabytes MB"
    say containers "the image: $((whole - base)) MB in addition to its base of $base MB, memory from jemalloc"
}

# Removes the image of this checkout and keeps the images that take minutes to make.
remove_built() {
    podman image rm --force --ignore "$image" >/dev/null
    podman image prune --force >/dev/null
}

remove_images() {
    [[ -d $containers ]] || return 0
    if [[ -x $containers/bin/podman ]]; then
        CONTAINERS_CONF=$containers/containers.conf "$containers/bin/podman" system reset --force >/dev/null 2>&1 || true
    fi
    # The content of the Dockerfile's cache mount, which podman keeps outside its storage.
    rm -rf "${TMPDIR:-/var/tmp}"/buildah-cache*/bellhop-build
    rm -rf "$containers" || die "removing $containers failed; see the lines above"
    say containers "images removed"
}
