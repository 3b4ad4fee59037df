// The holds: apps, event types and providers that send nothing.

/** Releases a hold by its number. */
function releaseHold(hold, name) {
  return perform({
    act: "hold-release", title: `Release ${name}`, verb: "Release", reasons: REASONS.release, body: () => ({ items: [String(hold)] }),
    note: "The deliveries are sent immediately, within the providers' limits. A release cannot be taken back.",
    says: () => `Released hold ${hold}.`,
  }).then(refreshSoon);
}

/** Discards deliveries behind a hold, of one event if the operator chooses one from the list. */
function discardHeld(hold, title, { event = "" } = {}) {
  const items = [String(hold)];
  const only = el("input", { name: "event", value: event, "data-first": event === "", placeholder: "every event", spellcheck: "false", autocapitalize: "off" });
  const choices = el("div", { class: "acts", role: "group", "aria-label": "Events that wait" });
  const choose = (id) => {
    only.value = id;
    only.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const choice = ({ event: id, waiting }) => button([el("bdi", {}, id), `: ${grouped(waiting)}`], () => choose(id), { kind: "small", key: `event-${id}` });
  // A list that cannot be read leaves the field for typing.
  if (event === "") client.ask("hold-events", {}, items).then(({ events }) => fill(choices, events.map(choice)), () => null);
  return perform({
    act: "hold-discard", title, verb: "Discard", danger: true, reasons: REASONS.discard,
    extra: [field("Only of this event", only, event === "" ? "The events with the most deliveries are below. Without an event, all deliveries are discarded." : null), choices],
    body: (extra) => ({ items, options: extra }), note: "The discarded deliveries are never sent, which cannot be undone. Notifications stay in the app. The hold remains.",
    says: (done) => `Discarded ${of(done.discarded, "delivery", "deliveries")}. If a worker was killed, those that it was sending come back, usually within ten minutes: those of a named event end as discarded, and others wait behind the hold.`,
  }).then(refreshSoon);
}

function holdCard(one) {
  const scope = [one.app, one.type && `type ${one.type}`, one.provider && `through ${one.provider}`].filter(Boolean).join(" · ");
  return el("li", { class: "group" },
    el("div", { class: "group-words" }, el("h2", {}, scope, tag("held", "warn")),
      el("p", {}, one.because), el("p", { class: "muted small" }, `${one.by}, `, ago(one.placedAt), ` · hold ${one.hold}`)),
    el("div", { class: "group-side" }, el("b", { class: "count" }, `${grouped(one.waiting)}${one.waitingIsCapped || one.mayWaitAmong.length > 0 ? "+" : ""}`), el("span", { class: "muted small" }, "wait")),
    el("div", { class: "acts" }, client.isOperator ? [
      button("Release", () => releaseHold(one.hold, scope), { kind: "small", key: `release-${one.hold}` }),
      button("Discard held deliveries", () => discardHeld(one.hold, `Discard held deliveries: ${scope}`), { kind: "small danger", key: `discard-${one.hold}` }),
      reasonButton(one.unexplainedBy, "hold-note", one.hold),
    ] : null));
}

/** Asks for the target of a new hold. */
function addHold() {
  const input = (name, hint, attributes) => el("input", { name, placeholder: hint, spellcheck: "false", autocapitalize: "off", ...attributes });
  return perform({
    act: "hold-add", title: "Hold", verb: "Hold", danger: true, asksForCount: false,
    note: "The answer comes when all workers observe it, or after five seconds. New notifications are recorded in the app and keep their place until a release.",
    extra: el("div", { class: "columns" }, field("App", input("app", "drop", { "data-first": "" })), field("Type", input("type", "every type")),
      field("Provider", el("select", { name: "provider" }, el("option", { value: "" }, "every provider"), ["apns", "fcm", "expo", "webpush", "email"].map((name) => el("option", { value: name }, name))))),
    body: (extra) => ({ options: extra }),
    says: ({ added, hold, workers }) => [
      added ? `Hold ${hold.hold} is active.` : "It is held already.",
      workers.unconfirmed.length > 0 ? `${workers.unconfirmed.join(", ")} did not confirm it, and may still send.` : "",
    ].join(" ").trim(),
  }).then(refreshSoon);
}

const holdsView = {
  title: "Holds",
  every: 5,
  controls: () => (client.isOperator ? [el("div", { class: "bar" }, el("span", { class: "spring" }), button("Add a hold", addHold, { kind: "danger" }))] : []),
  load: () => client.ask("holds"),
  show(found) {
    if (found.holds.length === 0) return [nothing("good", "Nothing is held", "A hold stops sends for an app, type or provider.")];
    return [el("ul", { class: "groups" }, found.holds.map(holdCard))];
  },
};
