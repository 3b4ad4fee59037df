// The only place that creates elements; text is only inserted as a text node.

/** Creates an element with attributes (`on…` are listeners, null and false are omitted) and children. */
function el(name, attributes = {}, ...children) {
  return furnish(document.createElement(name), attributes, children);
}

/** Creates the same for a drawing. */
function draw(name, attributes = {}, ...children) {
  return furnish(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function furnish(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...shownChildren(children));
  return made;
}

/** Returns the children without empty ones, with visible names in place of control characters. */
function shownChildren(children) {
  return children.flat(3).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (typeof child === "string" ? visible(child) : child));
}

/** Characters that are invisible or change the order of a text, apart from line breaks and tabs. */
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Returns the text with `⟨U+202E⟩` in place of such a character. */
function visible(text) {
  return text.replace(HIDDEN, (one) => `⟨U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** Returns names with dots between them, each in its own direction of writing. */
function dotted(names) {
  return names.filter(Boolean).flatMap((name, place) => [place > 0 ? " · " : null, el("bdi", {}, name)]);
}

/** Replaces a node's children; a focused child keeps the focus if it returns under the same `data-key`. */
function fill(parent, ...children) {
  const key = parent.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  parent.replaceChildren(...shownChildren(children));
  if (key) parent.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

const PATHS = {
  status: "M3 12h4l3-8 4 16 3-8h4",
  providers: "M4 5h16v5H4zM4 14h16v5H4zM8 7.500v.01M8 16.500v.01",
  desk: "M3 13h5l1.500 3h5l1.500-3h5M5 5h14l2 8v6H3v-6z",
  replays: "M4 4v5h5M4.500 9A8 8 0 1 1 4 13",
  fanouts: "M5 12h4m0 0 8-6m-8 6 8 6M19 5.500v.01M19 18.500v.01M13 12h6",
  holds: "M8 5v14M16 5v14",
  person: "M12 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8M4.500 20a7.500 7.500 0 0 1 15 0",
  explain: "M9.500 9.500a2.500 2.500 0 1 1 3.500 2.300c-.8.4-1 .9-1 1.700M12 17v.01M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18",
  audit: "M8 6h12M8 12h12M8 18h12M4 6v.01M4 12v.01M4 18v.01",
  charts: "M4 20V4M4 20h16M8 16l4-5 3 3 5-7",
  out: "M10 5H5v14h5M14 8l4 4-4 4M18 12H9",
  keys: "M3 7h18v10H3zM7 11v.01M11 11v.01M15 11v.01M8 14h8",
  good: "M5 12.500l4.500 4.500L19 7.500",
  bad: "M12 8v5M12 16.500v.01M12 3 2.500 20h19z",
  more: "M9 6l6 6-6 6",
  cross: "M6 6l12 12M18 6 6 18",
  search: "M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14m5 12 4 4",
};

function icon(name) {
  return draw("svg", { viewBox: "0 0 24 24", "aria-hidden": "true", class: "icon" }, draw("path", { d: PATHS[name] }));
}

/** The texts of buttons whose action is in progress, by the buttons' keys. */
const inProgress = new Map();

/** Creates a button; `kind` is `main`, `danger`, `quiet` or nothing. */
function button(words, act, { kind = "", key = words, ...attributes } = {}) {
  // A disabled button would lose the focus.
  const press = (event) => (inProgress.has(key) ? null : act(event));
  return el("button", { type: "button", class: `button ${kind}`, "data-key": key, "aria-disabled": inProgress.has(key) ? "true" : null, onclick: press, ...attributes }, inProgress.get(key) ?? words);
}

function link(href, words, attributes = {}) {
  return el("a", { href, "data-key": href, ...attributes }, words);
}

/** Creates a word in a coloured frame. */
function tag(words, kind = "") {
  return el("span", { class: `tag ${kind}` }, words);
}

/** Creates a section with a heading, and content next to the heading. */
function card(title, beside, ...children) {
  const head = title === null ? null : el("div", { class: "card-head" }, el("h2", {}, title), beside);
  return el("section", { class: "card" }, head, ...children);
}

/** Creates rows of cells under headings; the heading of a numeric column begins with `#`. */
function table(headings, rows, attributes = {}) {
  const isNumber = headings.map((heading) => heading.startsWith("#"));
  const head = headings.map((heading, place) =>
    el("th", { scope: "col", class: isNumber[place] ? "number" : null }, heading.replace("#", "")));
  const body = rows.map((cells) => el("tr", {}, cells.map((cell, place) =>
    el("td", { class: isNumber[place] ? "number" : null, "data-label": headings[place].replace("#", "") }, cell))));
  return el("div", { class: `scroller ${attributes.kind ?? ""}`, tabindex: "0", role: "region", "aria-label": attributes.label ?? "table" },
    el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)));
}

/** Returns a provider's word such as `DeviceNotRegistered`, which may be broken between its parts. */
function breakable(word) {
  return word.split(/(?<=[a-z])(?=[A-Z])/).flatMap((part, place) => [place > 0 ? el("wbr") : null, part]);
}

/** Creates a button that copies a text. */
function copyButton(text, what) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      toast("Copied.");
    } catch {
      // The browser denies it, or the page has no clipboard, since its connection is not secure.
      toast("The browser does not allow copying.", { isBad: true });
    }
  };
  return button("Copy", copy, { kind: "small quiet", key: `copy-${what}`, "aria-label": `Copy the ${what}` });
}

/** A command of a message that corresponds to a page: its words, the page's address, and the link's text. */
const COMMAND_PAGES = [
  [/bellhop dead-letters (cancel|resume) (\d+)/, (verb, number) => [`#/replays/${number}`, `“${capital(verb)}” of replay ${number}`]],
  [/bellhop dead-letters replays (\d+)/, (number) => [`#/replays/${number}`, `replay ${number}`]],
  [/bellhop dead-letters replays/, () => ["#/replays", "the page Replays"]],
  [/bellhop dead-letters audit/, () => ["#/audit", "the page Audit"]],
  [/bellhop dead-letters undo (\d+)/, (number) => ["#/audit", `“Undo” of act ${number}`]],
  [/bellhop dead-letters show ([\w-]+)/, (id) => [`#/letter/${encodeURIComponent(id)}`, `dead letter ${id}`]],
  [/bellhop dead-letters (?:list|groups)(?: --\w+ [^\s;,)]+)*/, () => ["#/desk", "the page Dead letters"]],
  [/bellhop fanouts resume (\d+) --release continues it and releases (?:its hold|hold \d+)/, (number) => [`#/fanouts/${number}`, `“Resume” of fan-out ${number} continues it, “Release” of its hold sends its pushes`]],
  [/bellhop fanouts (stop|pause|resume|cancel) (\d+)/, (verb, number) => [`#/fanouts/${number}`, `“${capital(verb)}” of fan-out ${number}`]],
  [/bellhop fanouts(?: show| list-users)? (\d+)/, (number) => [`#/fanouts/${number}`, `fan-out ${number}`]],
  [/bellhop fanouts(?: list| show)?\b/, () => ["#/fanouts", "the page Fan-outs"]],
  [/bellhop providers probe --app \S+ --provider \w+/, () => ["#/providers", "“Try now”"]],
  [/bellhop providers/, () => ["#/providers", "the page Providers"]],
  [/bellhop retries bring-forward --app \S+ --provider \w+/, () => ["#/providers", "“Bring forward”"]],
  [/bellhop hold release (\d+)/, (number) => ["#/holds", `“Release” of hold ${number}`]],
  [/bellhop hold discard (\d+)(?: --event [^\s;,)]+)?/, (number) => ["#/holds", `“Discard held deliveries” of hold ${number}`]],
  [/bellhop hold add(?: --app \S+)?(?: --type \S+)?(?: --provider \w+)?/, () => ["#/holds", "“Add a hold”"]],
  [/bellhop hold(?: list| show)?\b/, () => ["#/holds", "the page Holds"]],
  [/bellhop status/, () => ["#/status", "the page Status"]],
];

/** The options of commands that messages name, with the words of the console's fields and buttons. */
const OPTION_WORDS = [
  [/bring-forward --app (\S+) --provider (\w+)/, (app, provider) => `“Bring forward” of ${app} at ${provider}`],
  [/probe --app (\S+) --provider (\w+)/, (app, provider) => `“Try now” of ${app} at ${provider}`],
  [/edit --set '?([^\s']+)'?/, (value) => `edit with ${value} in “Places and values”`],
  [/edit --routing-key (\S+?)(?=[,;]|\s|$)/, (key) => `edit the routing key to ${key}`],
  [/--set '?(\/[^\s']*)'?/, (value) => `${value} in “Places and values”`],
  [/--set\b/, () => "“Places and values”"],
  [/--routing-key\b/, () => "“Routing key”"],
  [/(?:hand in )?(?:a|the) whole body with --file/, () => "edit the whole body on the item's page"],
  [/edit --file a whole one/, () => "edit the whole body on the item's page"],
  [/add --limit/, () => "enter a number in “At most this many items”"],
  [/, with --limit/, () => ", by “At most this many items”"],
  [/replay --limit 1\b/, () => "replay one item"],
  [/replay --dry-run/, () => "“Dry run”"],
  [/replay --ramp/, () => "“Replay” with “Ramp up”"],
  [/--cap N/, () => "“Skip items replayed … times or more”"],
  [/, or --all\b/, () => ""],
  [/add --app/, () => "name the app"],
  [/--event\b/, () => "the event"],
  [/, cancel \d+ (ends it|reopens them)/, (effect) => `, “Cancel” ${effect}`],
];

/** Returns a message of the server in the console's words: its pages, buttons and fields in place of commands. */
function inConsole(words) {
  const replaced = (text, table, name) => table.reduce((text, [command, page]) =>
    text.replaceAll(new RegExp(command, "g"), (...found) => name(page(...found.slice(1, -2)))), text);
  // The dialog or the button names the operation already.
  const cause = words.replace(/^(?:(?:fanout|hold|replay|retries|provider)-[a-z-]+|edit items): /, "");
  return replaced(replaced(cause, COMMAND_PAGES, ([, name]) => name), OPTION_WORDS, (name) => name);
}

/** Returns a text with links in place of pages of the documentation, if the console has their address. */
function documented(words) {
  const base = client.session?.docs;
  if (!base) return words === "" ? [] : [words];
  return words.split(/(docs\/[\w/-]+\.md(?:#[\w-]+)?)/).filter(Boolean).map((part) =>
    (/^docs\/[\w/-]+\.md(#|$)/.test(part) ? link(`${base}/${part}`, part, { target: "_blank", rel: "noreferrer" }) : part));
}

/** Returns a message of the server with links in place of commands that have a page. */
function linked(words) {
  for (const [command, page] of COMMAND_PAGES) {
    const found = command.exec(words);
    if (!found) continue;
    const [href, name] = page(...found.slice(1));
    return [...linked(words.slice(0, found.index)), link(href, name), ...linked(words.slice(found.index + found[0].length))];
  }
  return documented(inConsole(words));
}

/** Returns a message above the data of a page, with links in place of commands; `severity` is `broken` or `degraded`. */
function notice(words, severity, act = null) {
  return el("ul", { class: "problems" }, el("li", { class: `problem ${severity}` }, icon("bad"), el("span", {}, linked(words)), act));
}

/** The keys of the open page's cards in their displayed order. */
let places = [];

/**
 * Returns the entries in the order that the open page has shown, so that no card moves under the pointer, and whether it
 * is still the server's order. New entries come last, or first.
 */
function inPlace(found, keyOf, { isNewFirst = false } = {}) {
  const fresh = found.map(keyOf).filter((key) => !places.includes(key));
  places = isNewFirst ? [...fresh, ...places] : [...places, ...fresh];
  const entries = [...found].sort((one, other) => places.indexOf(keyOf(one)) - places.indexOf(keyOf(other)));
  return { entries, isSorted: entries.every((one, place) => one === found[place]) };
}

/** Creates the message for an empty list. */
function nothing(sign, title, words) {
  return el("div", { class: "nothing" }, el("div", { class: `sign ${sign}` }, icon(sign)), el("p", { class: "big" }, title),
    words ? el("p", { class: "muted" }, words) : null);
}

/** Creates names with their values, without empty values. */
function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}
