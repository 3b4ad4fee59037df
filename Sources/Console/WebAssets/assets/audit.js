// The audit: actions with their operators and reasons.

function undo(entry) {
  return perform({
    act: "undo", title: `Undo act ${entry.number}`, verb: "Undo", body: () => ({ items: [String(entry.number)] }),
    note: `Takes back what act ${entry.number} (${entry.act}) did, as far as nobody has touched it since.`,
    says: (done) => `Taken back for ${of(done.items, "item")}.`,
  }).then(refreshSoon);
}

/** Returns the first item of a list and the count, because an action stores only some of its items with their total. */
function listWords(list, count = list.length) {
  return count > 1 ? `${list[0]} and ${grouped(count - 1)} more` : list.join("");
}

/**
 * Returns a filter's conditions; a fingerprint is a link to its items with the group's name, since it says nothing by
 * itself. The filter of an undo is the act that it reverts, and of a result the act that has it.
 */
function filterShown({ itemCount, ...filter }, { isResult = false, group = null, undoes = null, resultOf = null, none = "–" } = {}) {
  const other = resultOf ?? undoes;
  if (filter.act) return [`${isResult ? "result of" : "undoes"} act ${filter.act}`, other ? [": ", el("bdi", {}, other)] : ""];
  const value = (name, one) => (name === "items" ? listWords(one, itemCount) : Array.isArray(one) ? one.join(", ") : typeof one === "object" ? JSON.stringify(one) : String(one));
  const parts = Object.entries(filter).map(([name, one]) => (name === "fingerprint"
    ? link(`#/letters?${new URLSearchParams({ fingerprint: one, state: "all" })}`, group ? [el("bdi", {}, group), el("code", {}, ` ${one.slice(0, 8)}`)] : `fingerprint ${one}`) : el("bdi", {}, `${name} ${value(name, one)}`)));
  return parts.length === 0 ? none : parts.flatMap((part, place) => [place > 0 ? ", " : null, part]);
}

/** Returns the changed places of an edit with their values. */
function changesShown(changes) {
  return changes.map((one) => [el("br", {}), el("code", {}, el("bdi", {}, one))]);
}

/** Returns the button that gives an own act its reason. */
function reasonOf(entry) {
  const { fanout, hold } = entry.filter;
  if (fanout) return reasonButton(entry.by, "fanout-note", fanout);
  if (entry.replay) return reasonButton(entry.by, "replay-note", entry.replay);
  return hold ? reasonButton(entry.by, "hold-note", hold) : null;
}

/** Returns the age of an instant with its time, and its date if it is not today. */
function agoAt(instant) {
  const [date, time] = clock(instant).split(/ (.*)/);
  return [ago(instant), el("div", { class: "muted small kept" }, date === clock(Date.now()).slice(0, 10) ? time : `${date} ${time}`)];
}

/** The conditions of the audit's filter, which are part of the address. */
const AUDIT_FILTERS = ["by", "act", "text"];

/** The names of all acts, which the audit's filter offers. */
const ACTS = [
  "discard", "restore", "note", "edit", "reveal", "export", "import", "delete", "export-user", "replay", "pause", "resume", "rate", "cancel", "replay-note",
  "hold-add", "hold-release", "hold-discard", "hold-discarded", "hold-note", "fanout-stop", "fanout-pause", "fanout-resume", "fanout-cancel", "fanout-note",
  "retries-bring-forward", "retries-brought-forward", "provider-probe",
];

function auditFilter(params) {
  const input = (name, attributes = {}) => el("input", { name, value: params.get(name) ?? "", spellcheck: "false", autocapitalize: "off", autocomplete: "off", ...attributes });
  const form = el("form", { class: "filter audit", role: "search" },
    field("Operator", input("by", { placeholder: "any operator" })), field("Act", input("act", { placeholder: "any act", list: "acts" })),
    field("Text", input("text", { type: "search", placeholder: "in reasons, filters and changes", "data-search": "" })),
    el("datalist", { id: "acts" }, ACTS.map((name) => el("option", { value: name }))),
    el("div", { class: "acts" }, el("button", { type: "submit", class: "button main" }, "Filter"), params.size > 0 ? link("#/audit", "Clear", { class: "button quiet" }) : null));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = deskAddress("audit", written(form));
  });
  return form;
}

/** Returns the replay of an entry, the button that undoes it, or the act that has undone it. */
function entryMore(entry) {
  if (entry.replay) return [link(`#/replays/${entry.replay}`, `Replay ${entry.replay}`, { class: "kept" }), " ", entry.lacksReason ? reasonOf(entry) : null];
  if (entry.undoneBy !== null) return el("span", { class: "muted kept" }, `Undone by act ${entry.undoneBy}`);
  const reason = entry.lacksReason ? reasonOf(entry) : null;
  if (reason) return reason;
  return client.isOperator && entry.canUndo ? button("Undo", () => undo(entry), { kind: "small", key: `undo-${entry.number}` }) : "";
}

const auditView = {
  title: "Audit",
  every: 10,
  controls: (params) => [auditFilter(params)],
  load: (params) => client.ask("audit", { ...Object.fromEntries(AUDIT_FILTERS.map((name) => [name, params.get(name) ?? ""])), limit: "200" }),
  show({ acts: entries }, params) {
    if (entries.length === 0 && params.size > 0) return [nothing("search", "Nothing matches", "No act is like this.")];
    if (entries.length === 0) return [nothing("audit", "No actions yet", "Each act is kept here with who did it, and why.")];
    return [table(["#act", "when", "who", "what", "#items", "about", "because", "more"], entries.map((entry) => [
      String(entry.number), agoAt(entry.at), entry.by, el("b", { class: "kept" }, entry.act), grouped(entry.items), [filterShown(entry.filter, entry), changesShown(entry.changes)], entry.because, entryMore(entry)]), { label: "audit", kind: "cards" })];
  },
};
