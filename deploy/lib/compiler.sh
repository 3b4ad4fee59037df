# shellcheck shell=bash
# Finds the Swift compiler: in PATH, else in its usual folder, else in the distribution's package.

# The flags of a release build. Only debug builds and the tests check that accesses to memory do not overlap.
release_flags=(-c release -Xswiftc -enforce-exclusivity=unchecked)

# Makes `swift` (6.0 or later) callable in this script; sets `swift_major` and `swift_minor`. If the toolchain has
# Swift's libraries in their static form, a release build contains them. If it has LLVM's linker, the table of the
# addresses that the loader corrects is packed.
find_swift() {
    local version program
    if ! command -v swift >/dev/null && [[ -x /opt/swift/usr/bin/swift ]]; then
        PATH=/opt/swift/usr/bin:$PATH
    fi
    if ! command -v swift >/dev/null; then
        distribution_has swiftlang \
            || die "the Swift compiler is missing; install Swift 6 for this distribution and put it on PATH"
        apt_install swiftlang
        hash -r
    fi
    version=$(swift --version 2>&1) || die "asking swift for its version failed: ${version%%$'\n'*}; install Swift 6"
    [[ $version =~ Swift\ version\ ([0-9]+)\.([0-9]+) ]] \
        || die "swift --version printed '${version%%$'\n'*}'; install Swift 6"
    swift_major=${BASH_REMATCH[1]} swift_minor=${BASH_REMATCH[2]}
    ((swift_major >= 6)) || die "this is Swift $swift_major.$swift_minor; install the Swift 6 toolchain and put it on PATH"
    program=$(readlink -f "$(command -v swift)")
    if [[ -d ${program%/bin/*}/lib/swift_static ]]; then release_flags+=(--static-swift-stdlib); fi
    if [[ -x ${program%/*}/ld.lld ]]; then
        release_flags+=(-Xswiftc -use-ld=lld -Xlinker -z -Xlinker pack-relative-relocs)
    fi
}

# Whether apt can install a package here. If the lists are empty, it updates them from the mirror once.
distribution_has() {
    command -v apt-cache >/dev/null || return 1
    if ! apt-cache show "$1" >/dev/null 2>&1 && ! compgen -G '/var/lib/apt/lists/*Packages*' >/dev/null; then
        as_root apt-get update >/dev/null 2>&1 || true
    fi
    apt-cache show "$1" 2>/dev/null | grep -q '^Version: *6\.'
}
