// The parts around the list: bell, panel, header and announcements.

class InboxScreen {
  /** `actions`: `bell()`, `list()`, `settings()`, `markAll()`, `close()`, `escape()`. */
  constructor(isPage, actions, list, form) {
    this.isPage = isPage;
    this.actions = actions;
    this.list = list;
    this.form = form;
    this.badge = element("span", { class: "badge", part: "badge", "aria-hidden": "true" });
    const bell = { type: "button", class: "bell", part: "bell", "aria-controls": isPage ? null : "panel", onclick: actions.bell };
    this.bell = element("button", bell, drawing("Bell"), this.badge);
    this.heading = element(isPage ? "h1" : "h2", { class: "heading", part: "heading", tabindex: "-1", id: "heading" });
    this.header = element("div", { class: "header", part: "header" });
    this.away = element("div", { class: "away", part: "notice", role: "status" });
    this.voice = element("div", { class: "spoken", role: "status", "aria-live": "polite" });
    this.toast = element("div", { class: "toast", part: "toast", "aria-hidden": "true" });
    this.content = element("div", { class: "content" });
    const panel = {
      class: "panel",
      part: "panel",
      id: "panel",
      role: isPage ? null : "dialog",
      "aria-labelledby": isPage ? null : "heading",
    };
    this.panel = element("div", panel, this.header, this.away, this.content, this.toast);
    const inside = isPage ? [this.voice, this.panel] : [this.voice, this.bell, this.panel];
    this.node = element("div", { class: isPage ? "frame page" : "frame popover" }, ...inside);
    this.node.addEventListener("keydown", (event) => {
      const isElsewhere = event.defaultPrevented || event.target.closest?.("dialog, select");
      if (event.key === "Escape" && !isElsewhere) actions.escape();
    });
  }

  end() {
    this.list.end();
    clearTimeout(this.toastTimer);
  }

  /** `state`: `words`, `view`, `isOpen`, `status`, `model`, `look`. */
  render(state) {
    const { words, view, status, model, look } = state;
    const isShown = this.isPage || state.isOpen;
    this.node.lang = words.tag;
    this.panel.hidden = !isShown;
    this.renderBell(words, model.unread, state.isOpen);
    this.renderHeader(words, view, model.unread, status);
    const isAway = status === "offline" && model.isLoaded;
    this.away.hidden = !isAway;
    setText(this.away, isAway ? words.offline : "");
    const isList = view === "list";
    arrange(this.content, [isList ? this.list.node : this.form.node]);
    if (isList && isShown) this.list.render(model, look);
  }

  renderBell(words, count, isOpen) {
    setText(this.badge, count > 99 ? "99+" : String(count));
    this.badge.hidden = count === 0;
    this.bell.setAttribute("aria-label", words.unreadCount(count));
    if (!this.isPage) this.bell.setAttribute("aria-expanded", String(isOpen));
  }

  renderHeader(words, view, count, status) {
    const isList = view === "list";
    setText(this.heading, isList ? words.title : words.settings);
    if (this.language !== words.tag) {
      this.language = words.tag;
      const { list, markAll, settings, close } = this.actions;
      this.back = iconButton("Back", words.back, { onclick: list, part: "back" });
      this.markAll = iconButton("Check", words.markAll, { onclick: markAll, part: "mark-all" });
      this.gear = iconButton("Gear", words.settings, { onclick: settings, part: "settings-button" });
      this.cross = iconButton("Close", words.close, { onclick: close, part: "close" });
    }
    const last = this.isPage ? this.bell : this.cross;
    arrange(this.header, isList ? [this.heading, this.markAll, this.gear, last] : [this.back, this.heading, last]);
    this.markAll.hidden = count === 0;
    this.gear.hidden = status === "signed-out";
  }

  /** Announces notifications that arrived without an event, too. */
  sayArrivals(fresh, unread, { arrived, unreadCount }) {
    if (fresh.length > 1) this.say(unreadCount(unread), { isShown: false });
    else if (fresh[0]?.read === false) this.say(arrived(fresh[0].title), { isShown: false });
  }

  /** Announces a text to screen readers; it is also shown for a moment if it answers an action of the user. */
  say(text, { isShown = true, isFault = false } = {}) {
    setText(this.voice, text);
    if (!isShown) return;
    setText(this.toast, text);
    this.toast.classList.toggle("fault", isFault);
    this.toast.classList.add("shown");
    clearTimeout(this.toastTimer);
    this.toastTimer = setTimeout(() => this.toast.classList.remove("shown"), 3_000);
  }
}
