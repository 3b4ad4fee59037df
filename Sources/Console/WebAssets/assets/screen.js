// The screen: the open page, its refresh, and the keyboard.

const VIEWS = {
  status: statusView, providers: providersView, charts: chartsView, desk: deskView, letters: lettersView, letter: letterView, replays: replaysView,
  fanouts: fanoutsView, holds: holdsView, explain: explainView, person: personView, audit: auditView,
};
/** The page for an address without a view. */
const missingView = {
  title: "Unknown page",
  load: async () => null,
  show: () => [nothing("search", "Unknown page", "The address names no page of the console. The menu lists all pages.")],
};
const PLACES = [
  ["status", "Status", "s"], ["providers", "Providers", "v"], ["desk", "Dead letters", "d"], ["replays", "Replays", "r"], ["fanouts", "Fan-outs", "f"], ["holds", "Holds", "h"],
  ["person", "User", "p"], ["explain", "Explain", "e"], ["charts", "Charts", "c"], ["audit", "Audit", "a"],
];
/** Pages that belong to an entry of the menu. */
const HOMES = { letters: "desk", letter: "desk" };

const root = document.querySelector("#console");
let screen = null;
let visit = 0;
let clockTimer = null;
let iconTimer = null;
let refreshSoon = () => {};
/** Shows the loaded data again, for a change of the selection. */
let redraw = () => {};
let isPressing = false;

/** Whether the operator presses something or has selected text, which an update of the page would disturb. */
function isOccupied(body) {
  const selection = getSelection();
  return isPressing || (selection && !selection.isCollapsed && body.contains(selection.anchorNode));
}

/** Returns the parts of the address: a view, its subject, and its parameters. */
function address() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  let subject = "";
  try {
    subject = decodeURIComponent(rest.join("/"));
  } catch {}
  return { name: name === "" ? "status" : name, subject, params: new URLSearchParams(query ?? "") };
}

function frame() {
  const main = el("main", { id: "main", tabindex: "-1" });
  const menu = el("nav", { class: "menu", "aria-label": "Console" }, PLACES.filter(([name]) => name !== "explain" || client.isOperator).map(([name, words]) => link(`#/${name}`, [icon(name), el("span", {}, words)], { "data-place": name })));
  const { session } = client;
  fill(root, el("a", { class: "skip", href: "#main", onclick: (event) => (event.preventDefault(), main.focus()) }, "To the content"),
    el("header", { class: "top" },
      el("a", { class: "brand", href: "#/status" }, el("img", { src: "/icon.svg", alt: "", width: 28, height: 28 }), el("span", {}, "Bellhop")),
      menu,
      el("div", { class: "who" }, el("span", { class: "name" }, session.name), tag(session.role, session.role === "operator" ? "busy" : ""),
        el("button", { type: "button", class: "icon-button", "aria-label": "Keyboard shortcuts", title: "Keyboard shortcuts (?)", onclick: showKeys }, icon("keys")),
        el("button", { type: "button", class: "icon-button", "aria-label": "Sign out", title: "Sign out", onclick: () => client.signOut() }, icon("out")))),
    main, el("div", { id: "toasts", role: "status", "aria-live": "polite" }));
  return { main, menu };
}

/** The shortest pause as a multiple of the time that the last load took, so that no page loads all the time. */
const LOAD_FACTOR = 4;

/** The longest such pause in seconds: a slow load usually waits for a server that is away, and its return is news. */
const LONGEST_PAUSE = 5;

/** The pause of a hidden tab whose title shows a count, in seconds. */
const HIDDEN_PAUSE = 60;

/** Calls `look` when the tab is visible again, or after a pause if there is one. */
function rest(look, pause) {
  const again = () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", again);
    look();
  };
  const timer = pause === null ? null : setTimeout(again, pause * 1_000);
  document.addEventListener("visibilitychange", again);
}

/** Returns the message of a failed load: first what it means, then the server's words. */
function faultShown({ status, code, message }, hasData) {
  if (status !== 503 || code !== "unavailable") return el("span", {}, linked(capital(message)));
  return el("div", {}, el("p", {}, `The database is unavailable.${hasData ? " The data shown may be old." : ""}`),
    el("details", {}, el("summary", {}, "Details"), el("p", { class: "small" }, linked(message))));
}

/** Shows the red icon in the browser's tab, or the usual one. */
function showIcon(isBad) {
  const icon = document.querySelector("link[rel=icon]");
  const href = isBad ? "/icon-bad.svg" : "/icon.svg";
  if (icon.getAttribute("href") !== href) icon.setAttribute("href", href);
}

/** Looks at the status once a minute for the icon of the tab, also while the tab is hidden or shows another page. */
async function watchIcon() {
  clearTimeout(iconTimer);
  if (!client.session) return showIcon(false);
  const here = address().name;
  if (here !== "status") await client.ask("status").then(isBroken, () => true).then((isBad) => client.session && showIcon(isBad));
  iconTimer = setTimeout(watchIcon, HIDDEN_PAUSE * 1_000);
}

/** Opens the view that the address names, and refreshes it while it is open and visible. */
async function open() {
  const here = ++visit;
  const { name, subject, params } = address();
  const view = Object.hasOwn(VIEWS, name) ? VIEWS[name] : missingView;
  const title = subject && view !== missingView && !["letter", "person"].includes(name) ? `${view.title} ${subject}` : view.title;
  document.title = `${title} · Bellhop`;
  for (const item of screen.menu.children) {
    if (item.dataset.place === (HOMES[name] ?? name)) {
      item.setAttribute("aria-current", "page");
      item.scrollIntoView({ block: "nearest", inline: "center" });
    } else item.removeAttribute("aria-current");
  }
  const body = el("div", { class: "body", "aria-busy": "true" });
  const fault = el("div", { class: "away", role: "alert", hidden: true });
  const age = el("span", { class: "age", role: "status", hidden: true });
  fill(screen.main, el("div", { class: "title" }, el("h1", {}, view.title), age), fault, el("div", { class: "controls" }, view.controls?.(params, subject) ?? []), body);
  body.append(el("div", { class: "loading" }, el("i"), el("i"), el("i")));
  scrollTo(0, 0);
  // The focused element is gone, so the focus moves to the new page.
  const first = screen.main.querySelector("[data-first]");
  if (first) first.focus({ preventScroll: true });
  else if (document.activeElement === document.body) screen.main.focus({ preventScroll: true });
  places = [];
  let before = null;
  let last = null;
  let loadedAt = Date.now();
  /** The pause before the next refresh, in seconds; zero for a page that is not refreshed. */
  let usual = view.every ?? 0;
  let timer = null;
  clearInterval(clockTimer);
  clockTimer = setInterval(() => {
    const seconds = (Date.now() - loadedAt) / 1_000;
    const isOld = last !== null && usual > 0 && seconds > 2 * usual + 3 && !document.hidden;
    age.hidden = !isOld;
    if (isOld) age.textContent = `${span(seconds)} old`;
    if (!document.hidden && !isOccupied(body)) renewAges(body);
  }, 1_000);
  let isLooking = false;
  const look = async () => {
    clearTimeout(timer);
    if (here !== visit || isLooking) return;
    isLooking = true;
    let pause = view.every ?? 0;
    const begun = Date.now();
    try {
      const found = await view.load(params, subject);
      if (here !== visit) return;
      fault.hidden = true;
      body.classList.remove("stale");
      loadedAt = Date.now();
      const mark = JSON.stringify(found);
      const pace = view.every ?? view.pace?.(found) ?? 0;
      usual = pace > 0 ? Math.max(pace, Math.min(LONGEST_PAUSE, (LOAD_FACTOR * (loadedAt - begun)) / 1_000)) : 0;
      pause = usual;
      if (before !== null && mark !== before && isOccupied(body)) {
        pause = Math.min(pause || 1, 1);
      } else {
        last = found;
        if (mark !== before) fill(body, view.show(found, params));
        before = mark;
      }
      if (view.isBroken) showIcon(view.isBroken(found));
      const count = view.count?.(found) ?? 0;
      document.title = `${count > 0 ? `(${count}) ` : ""}${title} · Bellhop`;
    } catch (refused) {
      if (here !== visit || !client.session) return;
      fault.hidden = false;
      if (view.isBroken) showIcon(true);
      fill(fault, icon("bad"), faultShown(refused, last !== null));
      if (last === null) fill(body, nothing("bad", "Not available", refused.status === 503 || refused.status === 0 ? "It is looked for again every few seconds." : null));
      else body.classList.add("stale");
      pause = Math.max(pause, 3);
    } finally {
      isLooking = false;
    }
    body.ariaBusy = "false";
    if (pause > 0) timer = setTimeout(() => (document.hidden ? rest(look, view.count ? HIDDEN_PAUSE : null) : look()), pause * 1_000);
  };
  redraw = () => last !== null && here === visit && fill(body, view.show(last, params));
  refreshSoon = (done) => {
    before = null;
    look();
    return done;
  };
  await look();
}

function signInPage(words = "") {
  visit += 1;
  document.title = "Sign in · Bellhop";
  const fault = el("p", { class: "fault", role: "alert", hidden: words === "" }, words);
  const token = el("input", { type: "password", name: "token", autocomplete: "current-password", required: true, autofocus: true, spellcheck: "false" });
  const form = el("form", { class: "sign-in" }, el("img", { src: "/icon.svg", alt: "", width: 52, height: 52 }), el("h1", {}, "Bellhop console"),
    field("Operator token", token, "bellhop keys operator makes one."), fault, el("button", { type: "submit", class: "button main wide" }, "Sign in"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await client.signIn(token.value.trim());
      begin();
    } catch (refused) {
      fault.hidden = false;
      fault.textContent = refused.code === "wrong-token" ? "Unknown token." : capital(refused.message);
      token.select();
    }
  });
  fill(root, el("main", { id: "main" }, form));
  token.focus();
}

const SHORTCUTS = [
  ...PLACES.map(([, words, key]) => [`g ${key}`, words]), ["/", "Search"], ["j  k", "Next and previous row"], ["Enter", "Open the row"],
  ["x", "Choose the row"], ["u", "One page up"], ["?", "This list"], ["Esc", "Close"],
];

function showKeys() {
  return dialog("Keyboard", () => el("dl", { class: "keys" }, SHORTCUTS.map(([keys, words]) =>
    el("div", {}, el("dt", {}, keys.split(/ +/).map((key) => el("kbd", {}, key))), el("dd", {}, words)))));
}

let isGoing = false;

function moveRow(step) {
  const rows = [...screen.main.querySelectorAll("[data-row]")];
  const place = rows.indexOf(document.activeElement.closest?.("li, tr")?.querySelector("[data-row]") ?? null);
  const next = rows[Math.min(rows.length - 1, Math.max(0, place + step))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

const KEYS = {
  "?": showKeys,
  "/": () => screen.main.querySelector("[data-search]")?.focus(),
  j: () => moveRow(1),
  k: () => moveRow(-1),
  x: () => document.activeElement.closest?.("li")?.querySelector("input[type=checkbox]")?.click(),
  u: () => { location.hash = `#/${HOMES[address().name] ?? address().name}`; },
};

function typed(event) {
  const isWriting = event.target.matches?.("input:not([type=checkbox]), textarea, select");
  // Without a field's focus, letters are shortcuts again.
  if (isWriting && event.key === "Escape" && !document.querySelector("dialog[open]")) event.target.blur();
  if (!client.session || isWriting || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const place = isGoing && PLACES.find(([, , key]) => key === event.key);
  isGoing = event.key === "g" && !isGoing;
  if (place) location.hash = `#/${place[0]}`;
  else if (!isGoing && Object.hasOwn(KEYS, event.key)) KEYS[event.key]();
  else return;
  event.preventDefault();
}

function begin() {
  screen = frame();
  open();
  watchIcon();
}

client.onSignedOut = (words) => {
  ticked.clear();
  Object.assign(revealed, { id: null, letter: null });
  document.querySelectorAll("dialog").forEach((box) => box.remove());
  signInPage(words);
  showIcon(false);
};
addEventListener("hashchange", () => {
  if (!client.session) return;
  leaveDialogs();
  if (address().name !== "letters") ticked.clear();
  if (address().name !== "letter") Object.assign(revealed, { id: null, letter: null });
  open();
});
addEventListener("keydown", typed);
addEventListener("pointerdown", () => { isPressing = true; });
for (const end of ["pointerup", "pointercancel", "blur"]) addEventListener(end, () => { isPressing = false; });
client.restore().then(() => (client.session ? begin() : signInPage()), (refused) => signInPage(capital(refused.message)));
