// The dead letters, in groups and as single items.

const FILTERS = ["text", "app", "type", "reason", "provider", "user", "event", "stage", "fingerprint", "since", "until", "state"];
const STATES = ["open", "replaying", "resolved", "discarded", "all"];

/** Returns the address of a page with a filter. */
function deskAddress(page, filter) {
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value));
  return `#/${page}${query.size ? `?${query}` : ""}`;
}

/** Returns the parts of an address that belong to a filter. */
function filterOf(params) {
  return Object.fromEntries(FILTERS.map((name) => [name, params.get(name) ?? ""]).filter(([, value]) => value));
}

/** Returns the fields of a filter; the search is part of the address, so that it can be shared. */
function filterBar(page, params) {
  const input = (name, hint, attributes = {}) => el("input", { name, value: params.get(name) ?? "", placeholder: hint, "aria-label": capital(name), spellcheck: "false", autocapitalize: "off", autocomplete: "off", ...attributes });
  const state = el("select", { name: "state", "aria-label": "State" }, STATES.map((one) =>
    el("option", { value: one === "open" ? "" : one, selected: (params.get("state") ?? "") === (one === "open" ? "" : one) }, capital(one))));
  const since = el("select", { name: "since", "aria-label": "Failed within" }, [["", "Any time"], ["1h", "Last hour"], ["24h", "Last day"], ["7d", "Last week"]]
    .map(([value, words]) => el("option", { value, selected: (params.get("since") ?? "") === value }, words)));
  const more = ["type", "provider", "user", "event", "stage", "fingerprint"];
  const form = el("form", { class: "filter", role: "search" },
    el("div", { class: "search" }, icon("search"), input("text", "Search errors, events, routing keys", { type: "search", "data-search": "" })),
    input("app", "app"), input("reason", "reason"), state, since,
    el("details", { open: more.some((name) => params.get(name)) }, el("summary", {}, "More"), el("div", { class: "columns" }, more.map((name) => field(capital(name), input(name, ""))))),
    el("button", { type: "submit", class: "button main" }, "Filter"),
    params.size > 0 ? link(`#/${page}`, "Clear", { class: "button quiet" }) : null);
  const go = () => {
    location.hash = deskAddress(page, written(form));
  };
  form.addEventListener("submit", (event) => (event.preventDefault(), go()));
  form.addEventListener("change", ({ target }) => target.tagName === "SELECT" && go());
  return form;
}

/** Returns the tabs for groups and items. */
function deskTabs(page, params) {
  const filter = filterOf(params);
  return el("nav", { class: "tabs", "aria-label": "Dead letters" }, [["desk", "Groups"], ["letters", "Items"]].map(([name, words]) =>
    link(deskAddress(name, filter), words, { "aria-current": page === name ? "page" : null })));
}

/** Returns the buttons for a filter or for items; a viewer may only start a dry run. */
function actButtons(about, { state = "open", small = false, what = {}, recommended = "replay" } = {}) {
  const kind = small ? "small" : "";
  const look = (act) => (recommended === act ? "main" : "");
  const acts = state === "discarded" ? [["Restore", "restore", ""]]
    : state === "open" ? [["Replay", "replay", look("replay")], ["Discard", "discard", "danger"], ["Edit", "edit", look("edit")]] : [];
  const foresee = state === "open" ? button("Dry run", () => letterActs.forecast(about), { kind, key: `forecast-${JSON.stringify(about)}` }) : null;
  if (!client.isOperator) return [foresee];
  return [foresee, ...acts.filter(([, act]) => act !== "edit" || !about.items).map(([words, act, look]) =>
    button(words, () => letterActs[act](about, what).then(refreshSoon), { kind: `${kind} ${look}`, key: `${act}-${JSON.stringify(about)}` })),
  small ? null : button("Note", () => letterActs.note(inState(about, state), what).then(refreshSoon), { kind, key: `note-${JSON.stringify(about)}` })];
}

/** Adds the displayed state to a filter; without a state, only open items are selected. */
function inState(about, state) {
  return about.items || state === "open" ? about : { options: { ...about.options, state } };
}

function groupShown(group, params) {
  const filter = { ...filterOf(params), fingerprint: group.fingerprint };
  const state = params.get("state") || "open";
  const { state: _, ...options } = filter;
  const places = compositionWords(group);
  const place = [group.stage, group.provider, ...places].filter(Boolean);
  const what = { name: `${grouped(group.items)} × ${group.reason}`, details: [
    `${places.join(", ")}. The latest: ${ended(group.latestError)} First `, ago(group.firstSeenAt), ", last ", ago(group.lastSeenAt), "."] };
  return el("li", { class: "group" },
    el("div", { class: "group-words" },
      el("h2", {}, link(deskAddress("letters", filter), group.reason, { "data-row": "" }), el("span", { class: "muted" }, place.join(" · "))),
      el("p", { class: "error" }, group.composition.length > 1 ? el("span", { class: "muted" }, "the latest: ") : null, group.latestError),
      el("p", { class: "muted small" }, capital(inConsole(group.advice))),
      el("p", { class: "advice" }, link(deskAddress("letters", filter), group.users > 0 ? `${of(group.items, "item")} of ${of(group.users, "user")}` : of(group.items, "item"), { "data-key": `n-${group.fingerprint}` }),
        " · first ", ago(group.firstSeenAt), " · last ", ago(group.lastSeenAt))),
    el("div", { class: "group-side" }, el("b", { class: "count" }, grouped(group.items)), sparkline(group.lastDay)),
    el("div", { class: "acts" }, actButtons({ options }, { state, small: true, what, recommended: group.recommended })));
}

/** Returns the apps and types of a group, with their counts if there are several. */
function compositionWords({ composition, otherItems }) {
  const name = ({ app, eventType }) => (app ? `${app} ${eventType ?? "without a type"}` : "no app");
  if (composition.length === 1 && otherItems === 0) return [name(composition[0])];
  return [...composition.map((part) => `${name(part)} ${grouped(part.items)}`), otherItems > 0 ? `others ${grouped(otherItems)}` : null].filter(Boolean);
}

const deskView = {
  title: "Dead letters",
  every: 5,
  controls: (params) => [deskTabs("desk", params), filterBar("desk", params)],
  load: (params) => client.ask("groups", filterOf(params)),
  show(found, params) {
    if (found.items === 0) {
      return [params.size > 0 ? nothing("search", "Nothing matches", "No dead letters are like this.")
        : nothing("good", "No dead letters", "No accepted event needs attention.")];
    }
    const { entries: groups, isSorted } = inPlace(found.groups, ({ fingerprint }) => fingerprint);
    return [
      el("p", { class: "lead" }, el("b", {}, of(found.items, "item")), ` in ${of(found.groupCount, "group")}, `,
        isSorted ? "those with the most users first." : "in their order when the page was opened; new groups are below.",
        found.groups.length < found.groupCount ? ` The first ${found.groups.length} are shown; a filter shows others.` : ""),
      el("ul", { class: "groups" }, groups.map((group) => groupShown(group, params))),
    ];
  },
};

/** The ids of the ticked items on the displayed page. */
const ticked = new Set();

/** Returns the reason; a corrected copy that has not failed has none, and its error names its original. */
const letterTitle = ({ stage, reason }) => (stage === "desk" ? "corrected copy" : reason);

function itemShown(item) {
  const tick = el("input", { type: "checkbox", "aria-label": `Choose ${item.id}`, "data-key": `t-${item.id}`, checked: ticked.has(item.id),
    onchange: ({ target }) => (target.checked ? ticked.add(item.id) : ticked.delete(item.id), redraw()) });
  return el("li", { class: `item ${ticked.has(item.id) ? "ticked" : ""}` }, el("span", { class: "tick" }, tick),
    el("div", { class: "item-words" },
      el("h2", {}, link(`#/letter/${encodeURIComponent(item.id)}`, letterTitle(item), { "data-row": item.id }), tag(item.state, stateKind(item.state)),
        item.deaths > 1 ? tag(`died ${of(item.deaths, "time")}`, "warn") : null),
      el("p", { class: "error" }, item.error),
      el("p", { class: "muted small" }, item.app || item.user || item.provider ? dotted([item.app, item.eventType, item.user && `user ${item.user}`, item.provider]) : "of no app")),
    el("div", { class: "item-side muted" }, item.stage === "desk" ? "corrected " : "", ago(item.lastFailedAt), el("code", {}, item.id.slice(0, 12))));
}

const lettersView = {
  title: "Dead letters",
  every: 5,
  controls: (params) => [deskTabs("letters", params), filterBar("letters", params)],
  load: (params) => client.ask("letters", { ...filterOf(params), limit: params.get("limit") ?? "50", sort: params.get("sort") ?? "" }),
  show(found, params) {
    if (found.count === 0) return [nothing("search", "Nothing matches", "No dead letters are like this.")];
    const shown = new Set(found.items.map(({ id }) => id));
    for (const id of ticked) if (!shown.has(id)) ticked.delete(id);
    const state = params.get("state") || "open";
    const { state: _, ...options } = filterOf(params);
    const about = ticked.size > 0 ? { items: [...ticked] }
      : { options: Object.keys(options).length > 0 ? options : { all: true } };
    const states = new Set(found.items.filter(({ id }) => ticked.has(id)).map((item) => item.state));
    const own = ticked.size === 0 ? state : states.size === 1 ? [...states][0] : "several";
    const sorts = [["", "newest first"], ["oldest", "oldest first"], ["deaths", "most deaths first"]];
    const sort = el("select", { "aria-label": "Order", "data-key": "sort", onchange: ({ target }) => {
      const next = new URLSearchParams(params);
      target.value ? next.set("sort", target.value) : next.delete("sort");
      location.hash = `#/letters?${next}`;
    } }, sorts.map(([value, words]) => el("option", { value, selected: (params.get("sort") ?? "") === value }, words)));
    const isFiltered = Object.keys(options).length > 0;
    const what = { name: ticked.size > 0 ? of(ticked.size, "chosen item")
      : `${isFiltered ? "the" : "all"} ${grouped(found.count)} ${state === "all" ? "" : `${state} `}dead letters${isFiltered ? " that match" : ""}` };
    const next = new URLSearchParams(params);
    next.set("limit", String(Math.min(1_000, found.items.length * 2)));
    return [
      el("div", { class: "bar" }, el("p", { class: "lead" }, el("b", {}, ticked.size > 0 ? `${grouped(ticked.size)} chosen` : of(found.count, "item")),
        ticked.size === 0 && found.items.length < found.count ? `, ${grouped(found.items.length)} shown` : ""), sort,
      ticked.size > 0 ? button("Clear selection", () => (ticked.clear(), redraw()), { kind: "quiet" })
        : button("Choose all shown", () => (found.items.forEach(({ id }) => ticked.add(id)), redraw()), { kind: "quiet" }),
      el("span", { class: "spring" }), el("div", { class: "acts" }, actButtons(about, { state: own, what }))),
      el("ul", { class: "items" }, found.items.map(itemShown)),
      found.items.length < Math.min(1_000, found.count) ? el("p", { class: "center" }, link(`#/letters?${next}`, "Show more", { class: "button" })) : null,
    ];
  },
};
