// Every app at every provider, also while all of them work.

/** The states of an outlet, with their words and colours. */
const OUTLET_STATES = {
  accepts: ["accepts", "good"], failing: ["fails", "bad"], "breaker-open": ["breaker open", "bad"], held: ["held", "warn"], unused: ["not used yet", ""],
};

function outletState(one) {
  const [words, kind] = OUTLET_STATES[one.state] ?? [one.state, ""];
  return [tag(one.breaker ? `${words}: ${one.breaker}` : words, kind),
    one.holds.map((hold) => [" ", link("#/holds", `hold ${hold}`, { class: "kept", "data-key": `${one.app}-${one.provider}-${hold}` })])];
}

function bringForward(one) {
  return perform({
    act: "retries-bring-forward", title: `Bring retries forward: ${one.app} · ${one.provider}`, verb: "Bring forward",
    body: () => ({ options: { app: one.app, provider: one.provider } }),
    note: "They are sent now, 200 users per second, instead of at their next attempt. No attempt is lost by it. Waits that the provider has requested for a rate limit stay.",
    says: (done) => `Brought ${of(done.deliveries, "retry", "retries")} forward.`,
  }).then(refreshSoon);
}

function waitingRetries(one) {
  if (one.retriesWaiting === 0) return "–";
  const count = grouped(one.retriesWaiting);
  return [...(one.retriesWaitingIsCapped ? [`${count} or more`] : [`${count}, the last `, ago(one.lastRetryAt)]), " ",
    client.isOperator ? button("Bring forward", () => bringForward(one), { kind: "small", key: `forward-${one.app}-${one.provider}` }) : null];
}

const providersView = {
  title: "Providers",
  every: 5,
  load: () => client.ask("providers"),
  show({ providers }) {
    if (providers.length === 0) return [nothing("providers", "No provider yet", "Workers report their providers within ten seconds of their start.")];
    const time = (milliseconds) => (milliseconds === null ? "–" : UNITS.ms(milliseconds));
    return [
      el("p", { class: "lead" }, "Rates and durations are those of the last minute or two, of all workers together."),
      table(["app", "provider", "state", "#accepted per\u00a0min", "#rejected per\u00a0min", "#p50", "#p95", "last accepted", "last rejected", "waiting retries"], providers.map((one) => [
        one.app, one.provider, outletState(one), grouped(one.acceptedPerMinute), grouped(one.rejectedPerMinute), time(one.medianMilliseconds), time(one.p95Milliseconds),
        ago(one.lastAcceptedAt), one.lastRejectedAt ? [ago(one.lastRejectedAt), one.lastRejection ? el("div", { class: "small" }, breakable(one.lastRejection)) : ""] : "–", waitingRetries(one)]), { label: "providers", kind: "cards dense" }),
    ];
  },
};
