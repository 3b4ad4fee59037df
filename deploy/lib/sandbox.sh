# shellcheck shell=bash
# The emulator of the push providers: `bellhop sandbox` on separate loopback ports, and the providers' file by which the
# workers reach it. Each start makes a new certificate authority and new accounts, so the file is written again, too.
# The keys that only Bellhop uses (the VAPID key, the key of unsubscribe links) are made once.

# Offsets of the sandbox's ports from SANDBOX_PORT, which serves FCM, Expo and browsers.
sandbox_control=1
sandbox_apns=2
sandbox_apns_development=3
sandbox_smtp=4
sandbox_smtps=5

# The id of Bellhop's VAPID key in subscriptions that were made with it.
vapid_key_id=deploy-up

# The files that every run of the sandbox writes again.
sandbox_files=(providers.json5 sandbox-ca.pem sandbox-account.json sandbox-apns.p8 sandbox-browser.json)

# Whether pushes go to the caller's providers, so that no sandbox is needed.
has_own_providers() {
    [[ -n ${BELLHOP_PROVIDERS:-} && $BELLHOP_PROVIDERS != "$data/providers.json5" ]]
}

# Removes the files and settings of an earlier run's sandbox, which no longer answers.
forget_sandbox() {
    local file
    for file in "${sandbox_files[@]}"; do rm -f "$data/$file"; done
    drop_line BELLHOP_SANDBOX_CONTROL
    drop_line BELLHOP_PROVIDERS
    has_own_providers || unset BELLHOP_PROVIDERS
    unset BELLHOP_SANDBOX_CONTROL
}

# Prints the address of one of the sandbox's ports: `sandbox_at "$sandbox_apns"`.
sandbox_at() {
    printf '127.0.0.1:%s' $(($(port_of SANDBOX_PORT) + ${1:-0}))
}

# Starts the sandbox and writes the providers' file; workers that start afterwards push to it.
start_sandbox() {
    if has_own_providers; then
        export_line BELLHOP_PROVIDERS "$BELLHOP_PROVIDERS"
        say sandbox "not started: BELLHOP_PROVIDERS names the providers, $BELLHOP_PROVIDERS"
        return
    fi
    choose_port SANDBOX_PORT "$sandbox_control" "$sandbox_apns" "$sandbox_apns_development" \
        "$sandbox_smtp" "$sandbox_smtps"
    make_sending_keys
    start_role sandbox "$(sandbox_at "$sandbox_control")/healthz" sandbox \
        --listen "$(sandbox_at)" --control "$(sandbox_at "$sandbox_control")" \
        --apns "$(sandbox_at "$sandbox_apns")" --apns-sandbox "$(sandbox_at "$sandbox_apns_development")" \
        --smtp "$(sandbox_at "$sandbox_smtp")" --smtps "$(sandbox_at "$sandbox_smtps")" \
        --ca-out "$data/sandbox-ca.pem" --service-account-out "$data/sandbox-account.json" \
        --apns-key "$data/sandbox-apns.p8" --apns-topics "$(apns_topics)" \
        --subscription-out "$data/sandbox-browser.json" --vapid-public-key "$(<"$data/secrets/vapid.public")"
    wait_for_role sandbox "stands in for APNs, FCM, Expo, Web Push and a mail server"
    write_providers
    export_line BELLHOP_PROVIDERS "$data/providers.json5"
    export_line BELLHOP_SANDBOX_CONTROL "http://$(sandbox_at "$sandbox_control")"
}

# Makes the keys that Bellhop needs with any provider. Browsers subscribe with the public half of the first; the second
# proves which user unsubscribes.
make_sending_keys() {
    local secrets=$data/secrets words
    if [[ ! -s $secrets/vapid.pem || ! -s $secrets/vapid.public ]]; then
        rm -f "$secrets/vapid.pem"
        words=$("$bellhop" keys vapid --out "$secrets/vapid.pem" --json) \
            || die "making a VAPID key failed; see the line above"
        sed -n 's/.*"publicKey":"\([^"]*\)".*/\1/p' <<<"$words" | write_private "$secrets/vapid.public"
    fi
    [[ -s $secrets/unsubscribe.key ]] || random_word | write_private "$secrets/unsubscribe.key"
    # The only account of the sandbox's mail server.
    printf 'sandbox-password\n' | write_private "$secrets/mail-password"
}

# Prints the apps of the caller's own catalogues, one per line; the five samples' apps are left out.
other_apps() {
    local file app
    for file in "$BELLHOP_CATALOGS"/*.json "$BELLHOP_CATALOGS"/*.json5; do
        [[ -f $file ]] || continue
        app=$(sed -n 's/^ *["'"'"']\{0,1\}app["'"'"']\{0,1\} *: *["'"'"']\([a-z0-9_-]*\)["'"'"'].*/\1/p' "$file" | head -n 1)
        [[ -z $app || " drop safe venues padel daily " == *" $app "* ]] || printf '%s\n' "$app"
    done
}

apns_topics() {
    local app topics=com.example.padel,com.example.daily
    for app in $(other_apps); do topics+=,com.example.$app; done
    printf '%s' "$topics"
}

# Writes each app's providers as its catalogue lists them under `providers`; daily lists none and gets several. An app
# that is not among the samples gets all of them.
write_providers() {
    local fcm expo webpush
    fcm="fcm: { serviceAccount: \"sandbox-account.json\", endpoint: \"https://$(sandbox_at)\", caFile: \"sandbox-ca.pem\" }"
    expo="expo: { endpoint: \"https://$(sandbox_at)\", caFile: \"sandbox-ca.pem\" }"
    webpush=$(webpush_section)
    write_private "$data/providers.json5" <<JSON5
// Written by deploy/up at each start: the pushes and mails of all apps go to the sandbox on this machine.
{
  drop: {
    $expo,
    $webpush,
    $fcm,
    $(email_section Drop no-reply@drop.example),
  },
  safe: {
    $fcm,
  },
  venues: {
    $fcm,
  },
  padel: {
    $(apns_section com.example.padel),
    $webpush,
  },
  daily: {
    $(apns_section com.example.daily),
    $expo,
    $webpush,
    $fcm,
  },
$(for app in $(other_apps); do other_section "$app"; done)
}
JSON5
}

# Uses the `fcm`, `expo` and `webpush` of write_providers.
other_section() {
    cat <<JSON5
  "$1": {
    $(apns_section "com.example.$1"),
    $expo,
    $webpush,
    $fcm,
    $(email_section "$1" "no-reply@$1.example"),
  },
JSON5
}

# email_section NAME ADDRESS: mails from that sender through the sandbox's mail server.
email_section() {
    cat <<JSON5
email: {
      server: "smtps://$(sandbox_at "$sandbox_smtps")",
      user: "bellhop",
      passwordFile: "secrets/mail-password",
      from: "$1 <$2>",
      linkBase: "https://${2#*@}",
      unsubscribe: { url: "https://${2#*@}/u", keyFile: "secrets/unsubscribe.key" },
      caFile: "sandbox-ca.pem",
    }
JSON5
}

apns_section() {
    cat <<JSON5
apns: {
      key: "sandbox-apns.p8",
      keyID: "SANDBOXKEY",
      teamID: "BELLHOPDEV",
      topic: "$1",
      endpoint: "https://$(sandbox_at "$sandbox_apns")",
      sandboxEndpoint: "https://$(sandbox_at "$sandbox_apns_development")",
      caFile: "sandbox-ca.pem",
    }
JSON5
}

# Allows endpoints on this machine, where the sandbox has them; real endpoints are never local.
webpush_section() {
    cat <<JSON5
webpush: {
      subject: "mailto:ops@bellhop.example",
      keys: [{ id: "$vapid_key_id", privateKeyFile: "secrets/vapid.pem" }],
      allowedHosts: ["localhost"],
      endpointPort: $(port_of SANDBOX_PORT),
      allowPrivateAddresses: true,
      caFile: "sandbox-ca.pem",
    }
JSON5
}

# Prints the sandbox's count of received messages per provider since its start: `apns 3, fcm 7`, or `nothing`.
received_by_provider() {
    local summary name count found=()
    summary=$(http_body 127.0.0.1 $(($(port_of SANDBOX_PORT) + sandbox_control)) /received/summary) || return 0
    for name in apns fcm expo webpush email; do
        count=$(sed -n "s/.*\"$name\":{\"answers\":{[^}]*},\"dropped\":[0-9]*,\"received\":\([0-9]*\).*/\1/p" <<<"$summary")
        [[ -z $count ]] || found+=("$name $count")
    done
    ((${#found[@]} > 0)) || found=(nothing)
    (IFS=,; printf '%s' "${found[*]}") | sed 's/,/, /g'
}
