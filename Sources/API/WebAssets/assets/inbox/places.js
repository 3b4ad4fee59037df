// The visible place – the list under a filter, the settings, or nothing – and the browser's history of it.

const QUERIES = { unread: { unread: true }, archived: { state: "archived" }, snoozed: { state: "snoozed" } };
const ROUTES = new Set(["settings", ...Object.keys(QUERIES)]);

const TAGGED = "tag/";

/** Returns the query of a filter; none for all notifications. */
function queryOf(filter) {
  return filter.startsWith(TAGGED) ? { tag: filter.slice(TAGGED.length) } : QUERIES[filter];
}

class Places {
  view = "list";
  filter = "";
  isOpen = false;

  /** `inbox` is the element; its `moved({ from, filter, wasOpen, route })` is called after each change. */
  constructor(inbox) {
    this.inbox = inbox;
  }

  /** Begins with the list, or with the settings if the element consists of them. */
  begin() {
    this.filter = "";
    this.view = this.inbox.isForm ? "settings" : "list";
  }

  get isShown() {
    return this.inbox.isPage || this.isOpen;
  }

  get isListed() {
    return this.isShown && this.view === "list";
  }

  /** Whether all notifications are shown. */
  get isWhole() {
    return this.isListed && !this.filter;
  }

  /** Whether the catalogue has the tag of a filter; one that is not known yet is taken for granted. */
  isTag(filter) {
    const { catalog, tags } = this.inbox;
    return !catalog || tags.some(({ tag }) => filter === TAGGED + tag);
  }

  /** The visible place: null, a filter ("" for all notifications), or `settings`. */
  get route() {
    return !this.isShown ? null : this.view === "settings" ? "settings" : this.filter;
  }

  /** The place at the beginning, which a page's address names. */
  get first() {
    return this.inbox.isPage ? this.addressed : this.isOpen ? "" : null;
  }

  /** The place in the browser's history. */
  get addressed() {
    const kept = history.state?.bellhop;
    if (kept) return kept.route;
    const named = this.inbox.isPage && this.inbox.hasHistory ? location.hash.replace(/^#[/]?/, "") : "";
    const isKnown = ROUTES.has(named) || (named.startsWith(TAGGED) && this.isTag(named));
    return this.inbox.isPage ? (isKnown ? named : "") : null;
  }

  /** Goes to a place; with `history`, "back" leads to the previous one. */
  go(route) {
    const from = this.route;
    if (route === from) return;
    const { isPage, hasHistory } = this.inbox;
    if (!hasHistory || !(isPage || InboxScreen.isPhone)) return this.apply(route);
    const kept = history.state?.bellhop;
    if (kept && route === null) return history.go(-kept.depth);
    if (kept?.from === route) return history.back();
    const isMove = kept && kept.route !== "settings" && route !== "settings";
    const place = isMove ? { ...kept, route } : { route, from, depth: (kept?.depth ?? 0) + 1 };
    history[isMove ? "replaceState" : "pushState"]({ ...history.state, bellhop: place }, "", isPage ? `#/${route}` : "");
    this.apply(route);
  }

  /** Shows all notifications in place of a tag that the catalogue no longer has. */
  check() {
    const { route, filter } = this;
    if (!filter.startsWith(TAGGED) || this.isTag(filter)) return;
    this.filter = "";
    this.inbox.moved({ from: route, filter, wasOpen: this.isOpen, route: this.route });
  }

  apply(route) {
    const before = { from: this.route, filter: this.filter, wasOpen: this.isOpen };
    if (!this.inbox.isForm) {
      this.isOpen = !this.inbox.isPage && route !== null;
      this.view = route === "settings" ? "settings" : "list";
      if (route !== "settings") this.filter = route ?? "";
    }
    this.inbox.moved({ ...before, route });
  }
}
