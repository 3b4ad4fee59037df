// Every app at every provider, also while all of them work.

/** The states of an outlet, with their words and colours. */
const OUTLET_STATES = {
  accepts: ["accepts", "good"], rejects: ["rejects", "warn"], failing: ["fails", "bad"], "breaker-open": ["breaker open", "bad"], held: ["held", "warn"], unused: ["nothing sent", ""],
};

/** Returns the period of which the latest worker has reported. */
function reportedSeconds(one) {
  return (Date.parse(one.reportedAt) - Date.parse(one.reportedSince)) / 1_000;
}

/** Returns whether a worker has reported more than its start. */
function hasReport(one) {
  return one.reportedSince !== null && reportedSeconds(one) >= 5;
}

function outletState(one) {
  const [words, kind] = one.state === "unused" && !hasReport(one) ? ["no report yet", ""] : OUTLET_STATES[one.state] ?? [one.state, ""];
  return [tag(one.breaker ? [`${words}: `, el("wbr"), breakable(one.breaker)] : words, kind),
    one.holds.map((hold) => [" ", link("#/holds", `hold ${hold}`, { class: "kept", "data-key": `${one.app}-${one.provider}-${hold}` })])];
}

function bringForward(one) {
  return perform({
    act: "retries-bring-forward", title: `Bring retries forward: ${one.app} · ${one.provider}`, verb: "Bring forward",
    body: () => ({ options: { app: one.app, provider: one.provider } }),
    note: "They are sent now, 200 users per second, instead of at their next attempt. Waits that the provider has requested for a rate limit stay.",
    says: (done) => `Brought ${of(done.deliveries, "retry", "retries")} forward.`,
  }).then(refreshSoon);
}

/** Sends one delivery to a provider behind an open breaker, without waiting for the next probe. */
function tryNow(one) {
  return perform({
    act: "provider-probe", title: `Try ${one.provider} for ${one.app}`, verb: "Try now", asksForCount: false, reasons: REASONS.replay,
    body: () => ({ options: { app: one.app, provider: one.provider } }),
    note: "One of the deliveries that wait is sent. If the provider accepts it, the breaker closes and the others follow; no attempt is counted if not."
      + (one.breaker === "mass-death" ? " For ten minutes afterwards, every device that the provider reports as gone ends: correct our settings first, if they are the cause." : ""),
    says: (done) => done.words,
  }).then(refreshSoon);
}

/** Returns the number behind an open breaker with the time of the next try, and the button that does not wait for it. */
function behindBreaker(one) {
  if (!one.breaker) return null;
  const when = Date.parse(one.nextProbeAt) > Date.now() ? `next try at ${clock(one.nextProbeAt).slice(11)}` : one.behindBreaker > 0 ? "the next one is sent as a try" : "next try with the next delivery";
  return el("div", {}, `${grouped(one.behindBreaker)}${one.behindBreakerIsCapped ? " or more" : ""} behind the breaker, ${when} `,
    client.isOperator ? button("Try now", () => tryNow(one), { kind: "small", key: `probe-${one.app}-${one.provider}` }) : null);
}

function waitingRetries(one) {
  if (one.retriesWaiting === 0) return null;
  const count = grouped(one.retriesWaiting);
  return el("div", {}, one.retriesWaitingIsCapped ? `${count} or more` : [`${count}, the last `, ago(one.lastRetryAt)], " ",
    client.isOperator ? button("Bring forward", () => bringForward(one), { kind: "small", key: `forward-${one.app}-${one.provider}` }) : null);
}

/** Returns all deliveries that wait, by what they wait for; their number if that is more than one thing. */
function waitingShown(one) {
  const parts = [
    waitingRetries(one), one.otherRetriesWaiting > 0 ? el("div", {}, `${grouped(one.otherRetriesWaiting)}${one.otherRetriesWaitingIsCapped ? " or more" : ""} for a rate limit or after another response`) : null,
    one.retriesDue > 0 ? el("div", {}, `${grouped(one.retriesDue)}${one.retriesDueIsCapped ? " or more" : ""} due now`) : null, behindBreaker(one),
    one.behindHolds > 0 ? el("div", {}, `${grouped(one.behindHolds)} behind ${one.holds.length === 1 ? `hold ${one.holds[0]}` : "holds"}`) : null,
    one.inBacklog > 0 ? el("div", {}, `${grouped(one.inBacklog)} in the backlog`) : null,
  ].filter(Boolean);
  if (parts.length === 0) return "–";
  const all = parts.length > 1 || one.waitingIsCapped ? el("b", {}, `${grouped(one.waiting)}${one.waitingIsCapped ? " or more" : ""}`) : null;
  return [all, ...parts];
}

const providersView = {
  title: "Providers",
  every: 5,
  load: () => client.ask("providers"),
  show({ providers, absence }) {
    const away = absence ? notice(absence, "broken") : null;
    if (providers.length === 0) return absence ? [away] : [nothing("providers", "No provider yet", "Workers report their providers within ten seconds of their start.")];
    // A worker reports nothing from before its start.
    const none = (one) => hasReport(one) ? el("span", { class: "muted", title: `since the latest start of a worker, ${clock(one.reportedSince)}` }, `none in ${span(reportedSeconds(one))}`) : "–";
    const time = (milliseconds) => (milliseconds === null ? "–" : UNITS.ms(milliseconds).replace(" ", "\u00a0"));
    return [
      away,
      el("p", { class: "lead" }, "Rates and times are those of the last minute or two, of all workers together; p50 and p95 count until the last answer to the pushes that are sent together, which is longer than one request. Workers report every ten seconds what they have sent since their start: “none in 12 min” is the period of the latest worker’s reports."),
      table(["app", "provider", "state", "#accepted per\u00a0min", "#rejected per\u00a0min", "#p50", "#p95", "last accepted", "last rejected", "waiting"], providers.map((one) => [
        one.app, one.provider, outletState(one), grouped(one.acceptedPerMinute), grouped(one.rejectedPerMinute), time(one.medianMilliseconds), time(one.p95Milliseconds),
        one.lastAcceptedAt ? ago(one.lastAcceptedAt) : none(one), one.lastRejectedAt ? [ago(one.lastRejectedAt), one.lastRejection ? el("div", { class: "small" }, breakable(one.lastRejection)) : ""] : none(one), waitingShown(one)]), { label: "providers", kind: "cards dense" }),
    ];
  },
};
