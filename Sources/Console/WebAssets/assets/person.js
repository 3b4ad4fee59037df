// One user: settings, devices, holds, and the latest notifications with the outcome of each delivery.

/** Returns the address of a user's page. */
function personAddress(app, user) {
  return `#/person/${encodeURIComponent(app)}/${encodeURIComponent(user)}`;
}

function personForm(subject) {
  const [app = "", user = ""] = personParts(subject);
  const input = (name, hint, value) => el("input", { name, value, placeholder: hint, required: true, spellcheck: "false", autocapitalize: "off" });
  const form = el("form", { class: "filter person" }, field("App", input("app", "drop", app)), field("User", input("user", "ada", user)),
    el("button", { type: "submit", class: "button main" }, "Show"));
  form.querySelector("[name=app]").dataset.search = "";
  if (app === "") form.querySelector("[name=app]").dataset.first = "";
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const values = written(form);
    location.hash = personAddress(values.app, values.user);
  });
  return form;
}

/** Returns the app and the user of an address; the id of a user may contain slashes. */
function personParts(subject) {
  const place = subject.indexOf("/");
  return place < 0 ? [] : [subject.slice(0, place), subject.slice(place + 1)];
}

function settingsShown(found) {
  const { settings } = found;
  const quiet = settings.quietHours?.enabled ? `${settings.quietHours.startHour} to ${settings.quietHours.endHour}` : "off";
  return card("Settings", null, facts([
    ["Clock", found.localTime ? `${found.localTime}, ${found.timezone}` : "unknown"], ["Language", settings.locale ?? "the app's"],
    ["Push", settings.pushEnabled ? "on" : "off for all devices"],
    ["E-mail", settings.emailEnabled ? (settings.hasEmail ? "on" : "on, but no address") : "off"],
    ["Types", capital(settings.types)],
    ["Paused", settings.pausedUntil ? tag(`until ${clock(settings.pausedUntil)}`, "warn") : "no"],
    ["Quiet hours", found.quietUntil ? [quiet, " ", tag(`now, until ${clock(found.quietUntil)}`, "warn")] : quiet],
    ["Erased", found.erasure && clock(found.erasure.erasedAt)]]));
}

function devicesShown(devices) {
  if (devices.length === 0) return card("Devices", null, el("p", { class: "muted" }, "No device is registered, so no push can be sent."));
  return card("Devices", null, el("ul", { class: "plain" }, devices.map((device) => el("li", {},
    tag(device.revokedAt ? "ended" : "active", device.revokedAt ? "" : "good"), ` ${device.platform} through ${device.provider}, `,
    device.revokedAt ? ["ended ", ago(device.revokedAt), device.revokeReason ? `: ${device.revokeReason}` : ""]
      : [device.permission ? `permission ${device.permission}, ` : "", "seen ", ago(device.lastSeenAt)]))));
}

function notificationShown(one, found) {
  const detail = new URLSearchParams({ app: found.app, user: found.user, notification: one.notificationId });
  const name = one.eventType ?? "unknown type";
  return el("li", { class: "item" }, el("div", { class: "item-words" },
    el("h2", {}, client.isOperator ? link(`#/explain?${detail}`, name, { "data-row": "" }) : name, one.eventId ? el("code", {}, one.eventId) : null),
    el("ul", { class: "plain small" }, one.deliveries.length === 0 ? el("li", { class: "muted" }, "In the app only.")
      : one.deliveries.map((line) => el("li", {}, tag(line.state ?? "unknown", stateKind(line.state)),
        ` ${line.channel === "email" ? "e-mail" : [line.platform, line.provider].filter(Boolean).join(" through ") || "push"}: `, linked(line.words))))),
  el("div", { class: "item-side muted" }, ago(one.recordedAt), el("span", {}, one.readAt ? "read" : "unread")));
}

/** Returns the topics that the user follows, the muted ones first. */
function followsShown({ topics, count, isCapped }) {
  if (topics.length === 0) return card("Topics", null, el("p", { class: "muted" }, "The user follows no topic."));
  const others = count - topics.length;
  return card("Topics", el("span", { class: "muted" }, `${isCapped ? "at least " : ""}${grouped(count)}`), el("ul", { class: "plain" },
    topics.map((one) => el("li", {}, tag(one.muted ? "muted" : "follows", one.muted ? "warn" : "good"), " ", el("bdi", {}, one.topic),
      one.role ? ` as ${one.role}` : "", one.someDevices ? ", some devices only" : "")),
    others > 0 ? el("li", { class: "muted" }, `and ${grouped(others)} more`) : null));
}

/** Returns an event that names the user and is published later. */
function keptShown(one, found) {
  const detail = new URLSearchParams({ app: found.app, user: found.user, event: one.eventId });
  const name = one.eventType ?? "unknown type";
  return el("li", { class: "item" },
    el("div", { class: "item-words" }, el("h2", {}, client.isOperator ? link(`#/explain?${detail}`, name, { "data-row": "" }) : name, el("code", {}, one.eventId))),
    el("div", { class: "item-side muted" }, el("span", {}, `due ${clock(one.dueAt)}`)));
}

const personView = {
  title: "User",
  controls: (params, subject) => [personForm(subject)],
  async load(params, subject) {
    const [app, user] = personParts(subject);
    return app && user ? client.ask("user", { app, user }) : null;
  },
  show(found) {
    if (found === null) return [nothing("explain", "A user", "Name the app and the user. The page shows devices, settings and the latest notifications.")];
    if (!found.found && found.unknownApp) return [nothing("search", "Unknown app", found.unknownApp)];
    if (!found.found) return [nothing("search", "Unknown user", `Nothing is stored about ${found.user} of ${found.app}: no settings, device, topic, notification, event for later or dead letter.${found.unseen ? ` ${found.unseen}` : ""}`)];
    return [
      ...[found.unknownApp, found.unannounced, found.unseen].map((sentence) => sentence && el("p", { class: "lead" }, sentence)),
      found.holds.length > 0 ? el("ul", { class: "problems" }, found.holds.map((hold) => el("li", { class: "problem on-purpose" }, icon("holds"),
        el("span", {}, `${[found.app, hold.type && `type ${hold.type}`, hold.provider && `through ${hold.provider}`].filter(Boolean).join(", ")} is held: ${hold.because}`),
        link("#/holds", "Open", { class: "button small" })))) : null,
      el("div", { class: "two" }, settingsShown(found), el("div", { class: "stack" }, devicesShown(found.settings.devices), followsShown(found.follows))),
      card(found.notifications.length === 0 ? "No notification is recorded" : "Latest notifications", null,
        found.notifications.length === 0 ? null : el("ul", { class: "items" }, found.notifications.map((one) => notificationShown(one, found)))),
      found.kept.length === 0 ? null : card("Stored for later", null, el("ul", { class: "items" }, found.kept.map((one) => keptShown(one, found)))),
      found.deadLetters.length === 0 ? null : card("Dead letters that name the user", null, el("ul", { class: "plain" }, found.deadLetters.map((one) => el("li", {},
        link(`#/letter/${encodeURIComponent(one.deadId)}`, letterTitle(one)), " ", tag(one.state, stateKind(one.state)), ` ${one.error}`)))),
    ];
  },
};
