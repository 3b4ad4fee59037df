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

/** The longest texts that are compared line by line, as the product of their numbers of lines. */
const MOST_COMPARED = 1_000_000;

/** Returns the lines that differ between two texts, in their order, each with `- ` or `+ ` before it. */
function lineDiff(before, after) {
  let [old, fresh] = [before.split("\n"), after.split("\n")];
  const most = Math.min(old.length, fresh.length);
  let [start, end] = [0, 0];
  while (start < most && old[start] === fresh[start]) start += 1;
  while (end < most - start && old.at(-1 - end) === fresh.at(-1 - end)) end += 1;
  [old, fresh] = [old.slice(start, old.length - end), fresh.slice(start, fresh.length - end)];
  const all = (sign, lines) => lines.map((line) => `${sign} ${line}`);
  if (old.length * fresh.length > MOST_COMPARED) return [...all("-", old), ...all("+", fresh)];
  // The length of the longest common part of the lines from each pair of places on.
  const common = Array.from({ length: old.length + 1 }, () => new Uint32Array(fresh.length + 1));
  for (let one = old.length - 1; one >= 0; one -= 1) {
    for (let other = fresh.length - 1; other >= 0; other -= 1) {
      common[one][other] = old[one] === fresh[other] ? common[one + 1][other + 1] + 1 : Math.max(common[one + 1][other], common[one][other + 1]);
    }
  }
  const lines = [];
  let [one, other] = [0, 0];
  while (one < old.length || other < fresh.length) {
    if (one < old.length && other < fresh.length && old[one] === fresh[other]) [one, other] = [one + 1, other + 1];
    else if (other >= fresh.length || (one < old.length && common[one + 1][other] >= common[one][other + 1])) lines.push(`- ${old[one++]}`);
    else lines.push(`+ ${fresh[other++]}`);
  }
  return lines;
}

function isJSON(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the changed lines of a body: of JSON in one form, whatever its line breaks; of any other text as written. */
function bodyDiff(before, after) {
  return [before, after].every(isJSON) ? lineDiff(laidOut(before), laidOut(after)) : lineDiff(before, after);
}

/** What operators were writing when their session ended, by operator and item. */
const drafts = new Map();

async function reveal(id) {
  const done = await perform({
    act: "reveal", title: "Show personal data", verb: "Show", asksForCount: false, body: () => ({ items: [id] }),
    note: "This is recorded in the audit.",
  });
  if (done?.id) Object.assign(revealed, { id: done.id, letter: done });
  return done;
}

/** Asks for a corrected copy of one message; showing its text is part of the edit, and the audit has both. */
async function rewrite(id) {
  if (revealed.id !== id) {
    try {
      const { done } = await client.act("reveal", { items: [id], agreed: 1, because: "to edit it" });
      Object.assign(revealed, { id: done.id, letter: done });
    } catch (refused) {
      toast(capital(inConsole(refused.message)), { isBad: true });
      return null;
    }
  }
  const draft = `${client.session?.name} ${id}`;
  const text = el("textarea", { name: "text", rows: 12, "data-first": "", class: "code", spellcheck: "false", autocapitalize: "off", "aria-label": "Body", "data-typed": drafts.has(draft) });
  text.value = bodyText(revealed.letter.origin);
  const before = text.value.trim();
  text.value = drafts.get(draft) ?? text.value;
  text.addEventListener("input", () => drafts.set(draft, text.value));
  const key = el("input", { name: "routing-key", value: revealed.letter.origin.routingKey, spellcheck: "false", autocapitalize: "off" });
  const was = revealed.letter.origin.routingKey;
  const done = await perform({
    act: "rewrite", title: "Edit", verb: "Send the copy",
    note: drafts.has(draft) ? "This is your text from before; the message itself is unchanged." : "A corrected copy is sent in its place, if the rules accept it.",
    diff: (extra) => bodyDiff(before, extra.text),
    extra: [field("Body", text), field("Routing key", key)],
    isReady: (extra) => extra.text !== before || extra["routing-key"] !== was,
    body: (extra) => ({ items: [id], text: extra.text, options: extra["routing-key"] === was ? {} : { "routing-key": extra["routing-key"] } }),
  });
  // The end of a session removes the dialog before this, so that the text is kept.
  drafts.delete(draft);
  if (done?.replay) location.hash = `#/replays/${done.replay}`;
  return done;
}

function messageShown(letter) {
  const { origin } = letter;
  const words = letter.revealed ? bodyText(origin) : origin.body === null ? `${of(origin.bytes, "byte")} that are not JSON` : origin.body;
  return card("The message", letter.revealed ? tag("revealed, the audit notes it", "warn") : client.isOperator
    ? button("Reveal", () => reveal(letter.id).then(refreshSoon), { kind: "small" }) : tag("what is personal is masked"),
  facts([["Published to", origin.exchange || "no exchange"], ["Routing key", [el("code", {}, origin.routingKey), " ", copyButton(origin.routingKey, "routing key")]], ["Size", of(origin.bytes, "byte")],
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
      name: `1 × ${letterTitle(letter)}`, details: `${[letter.app, letter.eventType, letter.user && `user ${letter.user}`].filter(Boolean).join(" · ")}: ${letter.error}` } }),
    canEdit ? button("Edit", () => rewrite(letter.id).then(refreshSoon)) : null,
    letter.state === "replaying" && client.isOperator ? button("Note", () => letterActs.note(about).then(refreshSoon)) : null);
}

/** Returns the action of a letter; the dialog of a single letter has its whole body in place of places and values. */
function ownAdvice(letter) {
  return inConsole(letter.advice).replaceAll("“Places and values”", "“Body”");
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
      el("div", { class: "headline" }, el("h2", {}, letterTitle(letter)), tag(letter.state, stateKind(letter.state)), el("code", {}, letter.id), copyButton(letter.id, "id")),
      el("div", { class: "beside" }, el("p", { class: "error big" }, letter.error), copyButton(letter.error, "error")),
      // A settled item needs no action.
      ["open", "replaying"].includes(letter.state) ? el("p", { class: "advice" }, el("b", {}, "Action: "), ownAdvice(letter), el("span", { class: "muted" }, " (", documented(letter.runbook), ")")) : null,
      letterButtons(letter),
      el("div", { class: "two" },
        card("Facts", null, facts([
          ["App", letter.app], ["Type", letter.eventType], ["Event", explain], ["User", letter.user],
          ["Stage", [letter.stage, letter.provider].filter(Boolean).join(", ")], ["Place", letter.pointer],
          ["Notification", letter.notificationId], ["Channel", letter.channel && `${letter.channel} ${letter.target ?? ""}`],
          ["Ledger", letter.ledger && `${letter.ledger.state}${letter.ledger.reason ? `, ${letter.ledger.reason}` : ""}, ${of(letter.ledger.attempts, "attempt")}${letter.ledger.holds.map((hold) => `, behind hold ${hold}`).join("")}`],
          ...letter.stage === "desk" ? [["Original failed", ago(letter.firstFailedAt)], ["Corrected", ago(letter.lastFailedAt)]]
            : [["First failed", ago(letter.firstFailedAt)], ["Last failed", ago(letter.lastFailedAt)]],
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
