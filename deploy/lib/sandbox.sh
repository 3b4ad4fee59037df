# shellcheck shell=bash
# The stand-in for the push providers: `bellhop sandbox` on loopback ports of its own, and the providers' file that leads
# the workers to it. Each start makes a new certificate authority and a new account, so the file is written anew, too.

# Whether pushes go where the caller says, and no sandbox is wanted.
has_own_providers() {
    [[ -n ${BELLHOP_PROVIDERS:-} && $BELLHOP_PROVIDERS != "$data/providers.json5" ]]
}

# What the sandbox of an earlier run left: nobody answers there any more.
forget_sandbox() {
    rm -f "$data/providers.json5" "$data/sandbox-ca.pem" "$data/sandbox-account.json"
    drop_line BELLHOP_SANDBOX_CONTROL
    drop_line BELLHOP_PROVIDERS
    has_own_providers || unset BELLHOP_PROVIDERS
    unset BELLHOP_SANDBOX_CONTROL
}

# Starts the sandbox and writes what leads to it; workers that start from here on push to it.
start_sandbox() {
    local port
    if has_own_providers; then
        export_line BELLHOP_PROVIDERS "$BELLHOP_PROVIDERS"
        say sandbox "not started: pushes go where BELLHOP_PROVIDERS says, $BELLHOP_PROVIDERS"
        return
    fi
    has_command sandbox || return 0
    choose_port SANDBOX_PORT 1
    port=$(port_of SANDBOX_PORT)
    start_role sandbox "127.0.0.1:$((port + 1))/healthz" sandbox \
        --listen "127.0.0.1:$port" --control "127.0.0.1:$((port + 1))" \
        --ca-out "$data/sandbox-ca.pem" --service-account-out "$data/sandbox-account.json"
    wait_for_role sandbox "stands in for FCM on https://127.0.0.1:$port"
    write_private "$data/providers.json5" <<JSON5
// Written by deploy/up at each start: pushes of the app drop go to the sandbox.
{
  drop: {
    fcm: {
      serviceAccount: "sandbox-account.json",
      endpoint: "https://127.0.0.1:$port",
      caFile: "sandbox-ca.pem",
    },
  },
}
JSON5
    export_line BELLHOP_PROVIDERS "$data/providers.json5"
    export_line BELLHOP_SANDBOX_CONTROL "http://127.0.0.1:$((port + 1))"
}

# How many pushes the sandbox has got since it started; token requests do not count.
pushes_received() {
    http_body 127.0.0.1 $(($(port_of SANDBOX_PORT) + 1)) /received/summary \
        | sed -n 's/.*"fcm":{"answers":{[^}]*},"dropped":[0-9]*,"received":\([0-9]*\).*/\1/p'
}
