// The parts around the list: bell, panel, header, filters and announcements.

class InboxScreen {
  /**
   * `actions`: `bell()`, `go(route)`, `markAll()`, `close()`, `escape()`, `leave()`, `notice()`, `prepare()`,
   * `endPause()`.
   */
  /** With `href`, the bell is a link to that address. */
  constructor(isPage, actions, list, form, href) {
    this.isPage = isPage;
    this.actions = actions;
    this.list = list;
    this.form = form;
    this.menu = new RowMenu();
    this.badge = element("span", { class: "badge", part: "badge", "aria-hidden": "true" });
    const isLink = !isPage && href !== null;
    const place = isLink ? { href } : { "aria-controls": isPage ? null : "panel" };
    const bell = { ...place, class: isPage ? "chip" : "bell", part: "bell", onclick: actions.bell };
    this.bell = element(isLink ? "a" : "button", bell, ...(isPage ? [] : [drawing("Bell"), this.badge]));
    /** The app's own way back, in front of the heading. */
    this.wayBack = element("slot", { name: "back" });
    this.heading = element(isPage ? "h1" : "h2", { class: "heading", part: "heading", tabindex: "-1", id: "heading" });
    this.header = element("div", { class: "header", part: "header" });
    this.filters = element("div", { class: "filters", part: "filters", role: "group" });
    this.awayText = element("span", { role: "status" });
    this.awayAct = element("button", { class: "link", onclick: actions.notice });
    this.away = element("div", { class: "away", part: "notice" }, this.awayText, this.awayAct);
    this.pauseText = element("span", {});
    this.pauseAct = element("button", { class: "link", onclick: actions.endPause });
    this.pause = element("div", { class: "away offline", part: "pause" }, drawing("Mute"), this.pauseText, this.pauseAct);
    this.voice = element("div", { class: "spoken", role: "status", "aria-live": "polite" });
    this.toastText = element("span", { dir: "auto" });
    this.toastAct = element("button", { part: "undo", onclick: () => this.undo() });
    this.toast = element("div", { class: "toast", part: "toast" }, this.toastText, this.toastAct);
    for (const name of ["pointerenter", "focusin"]) this.toast.addEventListener(name, () => clearTimeout(this.toastTimer));
    for (const name of ["pointerleave", "focusout"]) this.toast.addEventListener(name, () => this.hideToastLater(4_000));
    this.content = element("div", { class: "content" });
    const about = { class: "panel", part: "panel", id: "panel" };
    const panel = isPage ? about : { ...about, popover: "manual", "aria-labelledby": "heading" };
    this.panel = element(isPage ? "div" : "dialog", panel, this.header, this.filters, this.away, this.pause, this.content, this.toast, this.menu.node);
    const inside = isPage ? [this.voice, this.panel] : [this.voice, this.bell, this.panel];
    this.node = element("div", { class: isPage ? "frame page" : "frame popover" }, ...inside);
    this.node.addEventListener("keydown", (event) => {
      const isElsewhere = event.defaultPrevented || event.target.closest?.(".explanation, select, .menu");
      if (event.key !== "Escape" || isElsewhere) return;
      event.preventDefault();
      actions.escape();
    });
    // A phone's gesture for "back".
    this.panel.addEventListener("cancel", (event) => {
      if (event.target !== this.panel) return;
      event.preventDefault();
      actions.escape();
    });
    this.ending = new AbortController();
    const options = { capture: true, passive: true, signal: this.ending.signal };
    for (const name of ["resize", "scroll"]) addEventListener(name, () => this.place(), options);
  }

  end() {
    this.list.end();
    clearTimeout(this.toastTimer);
    this.ending.abort();
  }

  static get isPhone() {
    return matchMedia("(max-width: 560px)").matches;
  }

  /** Opens the panel in the top layer; on a phone it is modal. */
  show(isShown) {
    if (this.isPage || this.panel.hidden === !isShown) return;
    this.panel.hidden = !isShown;
    if (!isShown) {
      this.menu.close();
      if (this.panel.open) this.panel.close();
      else if (this.panel.matches(":popover-open")) this.panel.hidePopover();
      this.node.prepend(this.voice);
      return;
    }
    if (InboxScreen.isPhone) {
      this.panel.showModal();
      // Only what is inside a modal dialog is announced.
      this.panel.prepend(this.voice);
    } else this.panel.showPopover();
    this.place();
  }

  /** Places the panel next to the bell in browsers that have no anchor positioning. */
  place() {
    if (this.panel.open) this.panel.removeAttribute("style");
    if (this.isPage || this.panel.hidden || this.panel.open || CSS.supports("position-area", "block-end")) return;
    this.panel.classList.add("measured");
    const bell = this.bell.getBoundingClientRect();
    const [width, below, above] = [this.panel.offsetWidth, innerHeight - bell.bottom - 16, bell.top - 16];
    const isBelow = below >= 320 || below >= above;
    const isStart = getComputedStyle(this.panel).direction === "rtl";
    const fitting = (left) => left >= 8 && left + width <= innerWidth - 8;
    const places = isStart ? [bell.left, bell.right - width] : [bell.right - width, bell.left];
    const left = places.find(fitting) ?? Math.max(8, Math.min(places[0], innerWidth - width - 8));
    const style = {
      left: `${left}px`,
      top: isBelow ? `${bell.bottom + 8}px` : "auto",
      bottom: isBelow ? "auto" : `${innerHeight - bell.top + 8}px`,
      "max-height": `${Math.min(620, isBelow ? below : above)}px`,
    };
    for (const [name, value] of Object.entries(style)) this.panel.style.setProperty(name, value);
  }

  /** `state`: `words`, `view`, `filter`, `tags`, `isOpen`, `status`, `model`, `shown`, `count`, `canSignIn`, `pause`, `look`. */
  render(state) {
    const { words, view, shown, look } = state;
    const isShown = this.isPage || state.isOpen;
    this.node.lang = words.tag;
    this.show(isShown);
    this.renderBell(state);
    this.renderHeader(state);
    this.renderFilters(state);
    this.renderAway(state);
    this.pause.hidden = !state.pause || view !== "list" || state.status === "signed-out";
    setText(this.pauseText, state.pause ? words.paused(state.pause) : "");
    setText(this.pauseAct, words.endPause);
    const isList = view === "list";
    arrange(this.content, [isList ? this.list.node : this.form.node]);
    if (isList && isShown) this.list.render(shown, look);
  }

  renderBell({ words, model, count, isOpen, filter }) {
    if (this.isPage) {
      setText(this.bell, words.unreadFilter(model.unread));
      this.bell.setAttribute("aria-label", words.unreadCount(model.unread));
      this.bell.setAttribute("aria-pressed", String(filter === "unread"));
      return;
    }
    const number = count === "unseen" ? model.unseen : model.unread;
    setText(this.badge, number > 99 ? "99+" : String(number));
    this.badge.hidden = number === 0;
    this.bell.setAttribute("aria-label", words[`${count}Count`](number));
    if (!this.bell.href) this.bell.setAttribute("aria-expanded", String(isOpen));
  }

  renderHeader({ words, view, model, status, isForm }) {
    const isList = view === "list";
    setText(this.heading, isList ? words.title : words.settings);
    if (this.language !== words.tag) {
      this.language = words.tag;
      const { go, leave, markAll, close, prepare } = this.actions;
      this.back = iconButton("Back", words.back, { onclick: leave, part: "back" });
      this.markAll = iconButton("Check", words.markAll, { onclick: markAll, part: "mark-all", class: "icon-button wide" });
      this.markAll.append(element("span", { class: "label-text" }, words.markAll));
      this.gear = iconButton("Gear", words.settings, {
        onclick: () => go("settings"),
        onpointerenter: prepare,
        onfocus: prepare,
        part: "settings-button",
      });
      this.cross = iconButton("Close", words.close, { onclick: close, part: "close" });
      this.chips = new Map(this.isPage ? [["unread", this.bell]] : []);
      this.filters.setAttribute("aria-label", words.filters);
    }
    const last = this.isPage ? [] : [this.cross];
    const first = isList || isForm ? this.wayBack : this.back;
    const tools = isList ? [this.markAll, this.gear] : [];
    arrange(this.header, [first, this.heading, ...tools, ...last]);
    this.markAll.hidden = !model.hasUnread || status === "signed-out";
    this.gear.hidden = status === "signed-out";
  }

  chip(name) {
    return element("button", { class: "chip", part: "filter", name: name || "all", dir: "auto", onclick: () => this.actions.go(name) });
  }

  renderFilters({ words, view, filter, tags, model, status }) {
    const names = { "": words.all, unread: words.unreadFilter(model.unread) };
    for (const { tag, label } of tags) names[TAGGED + tag] = label ?? tag;
    Object.assign(names, { snoozed: words.snoozed, archived: words.archive });
    for (const name of Object.keys(names)) if (!this.chips.has(name)) this.chips.set(name, this.chip(name));
    arrange(this.filters, Object.keys(names).map((name) => this.chips.get(name)));
    this.filters.hidden = view !== "list" || (status === "signed-out" && !model.isLoaded) || status === "loading";
    for (const [name, text] of Object.entries(names)) {
      const chip = this.chips.get(name);
      setText(chip, text);
      chip.setAttribute("aria-pressed", String(filter === name));
    }
    const chosen = this.chips.get(filter);
    // The catalogue, which names the tags, may not be there yet.
    if (!chosen || this.filters.hidden || this.filter === filter) return;
    this.filter = filter;
    this.bringIntoView(chosen);
  }

  /** Scrolls the filters, and not the page, to one of them. */
  bringIntoView(chip) {
    const [bar, place] = [this.filters, chip].map((node) => node.getBoundingClientRect());
    const after = Math.max(0, place.right - bar.right + 24);
    this.filters.scrollLeft += after || Math.min(0, place.left - bar.left - 24);
  }

  /** Says above the list why it is not current. */
  renderAway({ words, status, model, canSignIn, isForm }) {
    const text = (model.isLoaded || isForm) && { offline: words.offline, failed: words.notUpdated, "signed-out": words.ended }[status];
    const act = { failed: words.retry, "signed-out": canSignIn ? words.signIn : null }[status];
    this.away.hidden = !text;
    this.away.className = `away ${status}`;
    setText(this.awayText, text || "");
    this.awayAct.hidden = !act;
    setText(this.awayAct, act || "");
  }

  /** Announces notifications that arrived without an event, too. */
  sayArrivals(fresh, unread, { arrived, unreadCount }) {
    if (fresh.length > 1) this.say(unreadCount(unread), { isShown: false });
    else if (fresh[0]?.read === false) this.say(arrived(fresh[0].title), { isShown: false });
  }

  /**
   * Announces a text to screen readers; it is also shown for a moment if it answers an action of the user. `act` is a
   * button in it: `{label, run}`.
   */
  say(text, { isShown = true, isFault = false, act = null } = {}) {
    setText(this.voice, text);
    if (!isShown) return;
    setText(this.toastText, text);
    this.act = act;
    this.toastAct.hidden = !act;
    setText(this.toastAct, act?.label ?? "");
    this.toast.classList.toggle("fault", isFault);
    this.toast.classList.add("shown");
    this.hideToastLater(act ? 10_000 : 3_000);
  }

  hideToastLater(wait) {
    clearTimeout(this.toastTimer);
    this.toastTimer = setTimeout(() => this.toast.classList.remove("shown"), wait);
  }

  undo() {
    const { act } = this;
    this.heading.focus({ preventScroll: true });
    this.hideToastLater(0);
    act?.run();
  }
}
