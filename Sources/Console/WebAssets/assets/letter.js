// One dead letter with all its recorded data.

/** Returns JSON in a readable form. */
function jsonShown(value) {
  return el("pre", { class: "code", tabindex: "0" }, typeof value === "string" ? value : JSON.stringify(value, null, 2));
}

/** The revealed body, kept only while its page is open. */
const revealed = { id: null, letter: null };

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

/** Returns the text of a body: JSON over several lines, any other text unchanged. */
function bodyText(origin) {
  const text = new TextDecoder().decode(bytesOf(origin.bodyBase64 ?? ""));
  return origin.body === null ? text : laidOut(text);
}

/** Returns JSON text over several lines without parsing it, because parsing would change long numbers. */
function laidOut(text) {
  let [shown, depth, isNew] = ["", 0, false];
  const line = () => `\n${"  ".repeat(depth)}`;
  for (const [word] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s"[\]{},:]+/g)) {
    const [opens, ends] = ["[{".includes(word), "]}".includes(word)];
    if (ends) depth -= 1;
    if (ends ? !isNew : isNew) shown += line();
    if (opens) depth += 1;
    shown += word === "," ? `,${line()}` : word === ":" ? ": " : word;
    isNew = opens;
  }
  return shown;
}

async function reveal(id) {
  const done = await perform({
    act: "reveal", title: "Show personal data", verb: "Show", asksForCount: false, body: () => ({ items: [id] }),
    note: "This is recorded in the audit.",
  });
  if (done?.id) Object.assign(revealed, { id: done.id, letter: done });
  return done;
}

/** Asks for a corrected copy of one message: the current text, its changes, and then the reason. */
async function rewrite(id) {
  if (revealed.id !== id && !(await reveal(id))?.id) return null;
  const text = el("textarea", { name: "text", rows: 14, "data-first": "", class: "code", spellcheck: "false", autocapitalize: "off", "aria-label": "Body" });
  text.value = bodyText(revealed.letter.origin);
  const before = text.value.trim();
  const key = el("input", { name: "routing-key", value: revealed.letter.origin.routingKey, spellcheck: "false", autocapitalize: "off" });
  const was = revealed.letter.origin.routingKey;
  const done = await perform({
    act: "rewrite", title: "Edit", verb: "Send the copy",
    note: "A corrected copy goes out in its place, once the rules would take it in.",
    extra: [field("Body", text), field("Routing key", key)],
    isReady: (extra) => extra.text !== before || extra["routing-key"] !== was,
    body: (extra) => ({ items: [id], text: extra.text, options: extra["routing-key"] === was ? {} : { "routing-key": extra["routing-key"] } }),
  });
  if (done?.replay) location.hash = `#/replays/${done.replay}`;
  return done;
}

function messageShown(letter) {
  const { origin } = letter;
  const words = letter.revealed ? bodyText(origin) : origin.body === null ? `${of(origin.bytes, "byte")} that are not JSON` : origin.body;
  return card("The message", letter.revealed ? tag("revealed, the audit notes it", "warn") : client.isOperator
    ? button("Reveal", () => reveal(letter.id).then(refreshSoon), { kind: "small" }) : tag("what is personal is masked"),
  facts([["Published to", origin.exchange || "no exchange"], ["Routing key", el("code", {}, origin.routingKey)], ["Size", of(origin.bytes, "byte")],
    ["Cut", origin.bodyCut ? "only the beginning is left" : null]]), jsonShown(words),
  el("details", {}, el("summary", {}, "Properties and headers"), jsonShown({ properties: origin.properties, headers: origin.headers })));
}

function historyShown(history) {
  if (history.length === 0) return null;
  return card("What happened", null, el("ol", { class: "timeline" }, history.map((one) =>
    el("li", {}, ago(one.at), el("div", {}, el("b", {}, one.kind), one.by ? ` by ${one.by}` : "", el("p", {}, one.words))))));
}

function letterButtons(letter) {
  const about = { items: [letter.id] };
  const canEdit = client.isOperator && letter.state === "open" && !letter.notificationId;
  return el("div", { class: "acts" }, actButtons(about, { state: letter.state, recommended: letter.recommended, what: {
      name: `1 × ${letter.reason}`, details: `${[letter.app, letter.eventType, letter.user && `user ${letter.user}`].filter(Boolean).join(" · ")}: ${letter.error}` } }),
    canEdit ? button("Edit", () => rewrite(letter.id).then(refreshSoon)) : null,
    letter.state === "replaying" && client.isOperator ? button("Note", () => letterActs.note(about).then(refreshSoon)) : null);
}

const letterView = {
  title: "Dead letter",
  every: 10,
  async load(params, id) {
    const letter = await client.ask("letter", {}, [id]);
    if (revealed.id !== letter.id) return letter;
    return { ...letter, revealed: true, origin: revealed.letter.origin };
  },
  show(letter) {
    const explain = letter.app && letter.user && letter.eventId
      ? link(`#/explain?${new URLSearchParams({ app: letter.app, user: letter.user, event: letter.eventId })}`, letter.eventId) : letter.eventId;
    return [
      el("p", { class: "crumbs" }, link("#/desk", "Dead letters"), " / ", link(`#/letters?fingerprint=${encodeURIComponent(letter.fingerprint)}`, letter.reason)),
      el("div", { class: "headline" }, el("h2", {}, letterTitle(letter)), tag(letter.state, stateKind(letter.state)), el("code", {}, letter.id)),
      el("p", { class: "error big" }, letter.error),
      el("p", { class: "advice" }, el("b", {}, "Action: "), letter.advice, el("span", { class: "muted" }, ` (${letter.runbook})`)),
      letterButtons(letter),
      el("div", { class: "two" },
        card("Facts", null, facts([
          ["App", letter.app], ["Type", letter.eventType], ["Event", explain], ["User", letter.user],
          ["Stage", [letter.stage, letter.provider].filter(Boolean).join(", ")], ["Place", letter.pointer],
          ["Notification", letter.notificationId], ["Channel", letter.channel && `${letter.channel} ${letter.target ?? ""}`],
          ["Ledger", letter.ledger && `${letter.ledger.state}${letter.ledger.reason ? `, ${letter.ledger.reason}` : ""}, ${of(letter.ledger.attempts, "attempt")}`],
          ["First failed", ago(letter.firstFailedAt)], ["Last failed", ago(letter.lastFailedAt)],
          ["Attempts", grouped(letter.attempts)], ["Died", of(letter.deaths, "time")], ["Seen", letter.copies > 1 ? of(letter.copies, "time") : null],
          ["Replayed", letter.replays > 0 ? of(letter.replays, "time") : null],
          ["Replay", letter.replay && link(`#/replays/${letter.replay}`, String(letter.replay))], ["Resolution", letter.resolution],
          ["Copy of", letter.editedFrom && link(`#/letter/${letter.editedFrom}`, letter.editedFrom)],
          ["Edited into", letter.editedInto && link(`#/letter/${letter.editedInto}`, letter.editedInto)],
          ["Differs at", letter.conflict?.length ? letter.conflict.join(", ") : null],
        ])),
        letter.notificationId ? null : messageShown(letter)),
      historyShown(letter.history),
    ];
  },
};
