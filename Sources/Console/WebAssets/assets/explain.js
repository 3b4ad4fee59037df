// The reasons why a user did or did not receive a notification.

function explainForm(params) {
  const input = (name, hint, attributes) => el("input", { name, value: params.get(name) ?? "", placeholder: hint, required: true, spellcheck: "false", autocapitalize: "off", ...attributes });
  const form = el("form", { class: "filter explain" }, field("App", input("app", "drop", { "data-search": "", ...(params.get("app") ? {} : { "data-first": "" }) })), field("User", input("user", "ada")),
    field("Event, or notification", input("what", "the latest ones", { required: false, value: params.get("event") ?? params.get("notification") ?? "" })),
    el("button", { type: "submit", class: "button main" }, "Explain"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { app, user, what } = written(form);
    if (what === "") {
      location.hash = personAddress(app, user);
      return;
    }
    const key = /^noti_[0-9a-f]{16}$/.test(what) ? "notification" : "event";
    location.hash = `#/explain?${new URLSearchParams({ app, user, [key]: what })}`;
  });
  return form;
}

function ruleShown(rule) {
  const words = typeof rule === "string" ? rule : Object.entries(rule).filter(([, value]) => value !== null).map(([name, value]) =>
    `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(" · ");
  return el("li", {}, words);
}

function explanationShown(found) {
  const rules = found.now?.rules ?? [];
  return [
    el("section", { class: "card answer" }, found.answer.map((words, place) => el("p", { class: place === 0 ? "big" : "" }, linked(words)))),
    el("div", { class: "two" },
      found.notification ? card("The notification", null, facts([["Title", found.notification.title], ["Type", found.notification.eventType],
        ["Priority", found.notification.priority], ["Recorded", ago(found.notification.recordedAt)], ["Read", found.notification.readAt && ago(found.notification.readAt)],
        ["Expires", found.notification.expiresAt && clock(found.notification.expiresAt)], ["Id", el("code", {}, found.notificationId)]])) : null,
      found.deliveries.length > 0 ? card("Deliveries", null, el("ul", { class: "plain" }, found.deliveries.map((one) => el("li", {},
        tag(one.state ?? "unknown", stateKind(one.state)), " ", linked(one.words))))) : null,
      found.found || found.userKnown ? card("The user", null, facts([["Zone", found.timezone], ["Language", found.settings.locale], ["Push", found.settings.pushEnabled ? "on" : "off"],
        ["Mail", found.settings.emailEnabled ? (found.settings.hasEmail ? "on" : "on, no address") : "off"],
        ["Types", capital(found.settings.types)],
        ["Quiet hours", found.settings.quietHours?.enabled ? `${found.settings.quietHours.startHour} to ${found.settings.quietHours.endHour}` : "none"],
        ["Devices", found.settings.devices.map((device) => `${device.platform} through ${device.provider}${device.revokedAt ? ", ended" : ""}`).join("; ") || "none"]])) : null,
      found.deadLetters.length > 0 ? card("Dead letters", null, el("ul", { class: "plain" }, found.deadLetters.map((one) => el("li", {},
        link(`#/letter/${encodeURIComponent(one.deadId)}`, letterTitle(one)), " ", tag(one.state, stateKind(one.state)), ` ${one.error}`)))) : null),
    found.timeline.length > 0 ? card("What happened", null, el("ol", { class: "timeline" }, found.timeline.map((one) =>
      el("li", {}, ago(one.at), el("div", {}, one.what, one.local ? el("p", { class: "muted" }, `${one.local} there`) : null))))) : null,
    rules.length > 0 ? card("Rules evaluated now", null, el("ol", { class: "rules" }, rules.map(ruleShown))) : null,
  ];
}

const explainView = {
  title: "Explain",
  controls: (params) => [explainForm(params)],
  async load(params) {
    const [app, user, event, notification] = ["app", "user", "event", "notification"].map((name) => params.get(name) ?? "");
    if (!app || !user || !(event || notification)) return null;
    // The texts of notifications are for operators.
    if (!client.isOperator) return { outcomes: personAddress(app, user) };
    return client.ask("explain", { app, user, event }, notification ? [notification] : []);
  },
  show(found) {
    if (found?.outcomes) return [nothing("explain", "For operators", ["Explain shows texts of notifications. ", link(found.outcomes, "The page of the user"), " has the outcomes."])];
    return found === null ? [nothing("explain", "Explain a notification", "Name the app and the user, and the event or the notification. Without an event, the page shows the user's latest ones.")] : explanationShown(found);
  },
};
