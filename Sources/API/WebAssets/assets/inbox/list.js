// The list: groups by day, with a card for each notification.

class ListView {
  /** `actions`: `open(item, event)`, `viewed(ids)`, `more()`, `retry()`. */
  constructor(actions) {
    this.actions = actions;
    this.cards = new Map();
    this.groups = new Map();
    this.visible = new Set();
    this.sections = element("div", { class: "groups" });
    this.more = element("button", { type: "button", class: "quiet-button more", part: "more", onclick: () => this.showMore() });
    this.notice = element("div", { class: "notice", hidden: true });
    this.node = element("div", { class: "list", part: "list" }, this.notice, this.sections, this.more);
    this.node.addEventListener("keydown", (event) => this.moveFocus(event));
    this.watch = new IntersectionObserver((entries) => this.see(entries), { threshold: 0.6 });
    this.onReturn = () => !document.hidden && this.markSoon();
    document.addEventListener("visibilitychange", this.onReturn);
  }

  end() {
    this.watch.disconnect();
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.onReturn);
  }

  render(model, facts) {
    this.facts = facts;
    const { words, now, zones, status } = facts;
    const groups = model.groups(now, zones, words);
    const used = new Set();
    const days = new Map();
    arrange(
      this.sections,
      groups.map(({ day, items }) => {
        // A snoozed notification returns above newer ones, so that a day may appear twice.
        days.set(day, (days.get(day) ?? 0) + 1);
        return this.group(day, days.get(day), items, used, model, facts);
      })
    );
    this.forget(used);
    this.more.hidden = model.next === null || !model.isLoaded;
    setText(this.more, words.more);
    this.showNotice(model, words, status);
    this.node.setAttribute("aria-busy", String(!model.isLoaded && status === "loading"));
  }

  group(day, turn, items, used, model, { words, level }) {
    const key = `${turn} ${day}`;
    let group = this.groups.get(key);
    if (!group) {
      const id = `day-${(ListView.count = (ListView.count ?? 0) + 1)}`;
      const list = element("ul", { role: "list", "aria-labelledby": id });
      group = { list, node: element("section", { class: "group" }, element(`h${level + 1}`, { id, class: "day", part: "day" }, day), list) };
      this.groups.set(key, group);
    }
    group.node.classList.toggle("important", day === words.important);
    arrange(
      group.list,
      items.map((item) => {
        used.add(item.id);
        return this.card(item, model);
      })
    );
    group.inUse = true;
    return group.node;
  }

  card(item, model) {
    let card = this.cards.get(item.id);
    if (!card) {
      card = this.makeCard(item);
      this.cards.set(item.id, card);
      this.watch.observe(card.node);
    }
    this.fill(card, item, model);
    return card.node;
  }

  makeCard(item) {
    const parts = {
      icon: element("span", { class: "icon", part: "icon", "aria-hidden": "true" }),
      title: element("span", { class: "title", part: "title", dir: "auto" }),
      body: element("span", { class: "body", part: "body", dir: "auto" }),
      time: element("time", { class: "time", part: "time" }),
      dot: element("span", { class: "dot", part: "dot", role: "img" }),
    };
    const words = element("span", { class: "words" }, parts.title, parts.body, parts.time);
    const link = element("a", { class: "card", part: "card" }, parts.icon, words, parts.dot);
    link.addEventListener("click", (event) => this.actions.open(link.item, event));
    const node = element("li", { "data-id": item.id, part: "item" }, link);
    node.dataset.id = item.id;
    return { ...parts, link, node };
  }

  fill(card, item, model) {
    const { words, now, zones, addressOf, types } = this.facts;
    const look = types.get(item.type) ?? {};
    const isNew = model.isNew(item);
    card.link.item = item;
    const address = addressOf(item);
    if (address) card.link.href = address;
    else card.link.removeAttribute("href");
    card.link.className = `card${isNew ? " unread" : ""}${item.priority === "high" ? " high" : ""}`;
    this.paint(card, item.icon ?? look.icon, item.color ?? look.color, item.background ?? look.background);
    setText(card.title, item.title);
    setText(card.body, item.body);
    card.body.hidden = item.body === "";
    card.time.dateTime = item.createdAt;
    setText(card.time, timeWords(Date.parse(item.createdAt), now, zones, words.tag).time);
    card.dot.hidden = !isNew;
    card.dot.setAttribute("aria-label", words.unread);
  }

  /** Applies the catalogue's colours, which are used in styles only as values of properties. */
  paint(card, icon, color, background) {
    if (card.icon.dataset.icon !== String(icon)) {
      card.icon.dataset.icon = String(icon);
      card.icon.replaceChildren(...[drawing(icon)].filter(Boolean));
    }
    for (const [name, value] of [["--icon-color", color], ["--icon-background", background]]) {
      if (/^#[0-9a-f]{6}$/i.test(value ?? "")) card.icon.style.setProperty(name, value);
      else card.icon.style.removeProperty(name);
    }
  }

  forget(used) {
    for (const [id, card] of this.cards) {
      if (used.has(id)) continue;
      this.watch.unobserve(card.node);
      this.visible.delete(id);
      this.cards.delete(id);
    }
    for (const [key, group] of this.groups) {
      if (!group.inUse) this.groups.delete(key);
      group.inUse = false;
    }
  }

  /** Shows the notice in place of a list: skeletons, an empty inbox, or no answer. */
  showNotice(model, words, status) {
    const isEmpty = this.cards.size === 0;
    const kind = !isEmpty ? "none" : model.isLoaded ? "empty" : status;
    if (this.noticeKind !== kind + words.tag) {
      this.noticeKind = kind + words.tag;
      this.notice.replaceChildren(...this.noticeFor(kind, words));
      this.notice.className = `notice ${kind}`;
    }
    this.notice.hidden = kind === "none";
  }

  noticeFor(kind, words) {
    const big = (title, hint) => [
      element("span", { class: "big-icon", "aria-hidden": "true" }, drawing("Bell")),
      element("p", { class: "notice-title", part: "empty" }, title),
      hint && element("p", { class: "notice-hint" }, hint),
    ].filter(Boolean);
    if (kind === "empty") return big(words.empty, words.emptyHint);
    if (kind === "signed-out") return big(words.signedOut, words.signedOutHint);
    if (kind === "failed" || kind === "offline") {
      const retry = element("button", { type: "button", class: "quiet-button", onclick: () => this.actions.retry() }, words.retry);
      return [...big(kind === "offline" ? words.offline : words.failed), retry];
    }
    if (kind !== "loading") return [];
    const bones = () => element("div", { class: "bone" }, element("i"), element("b"), element("s"));
    return [element("p", { class: "spoken" }, words.loading), bones(), bones(), bones()];
  }

  // Marking notifications that were on the screen

  see(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.visible.add(target.dataset.id);
      else this.visible.delete(target.dataset.id);
    }
    this.markSoon();
  }

  /** Marks after a short delay, so that notifications that only scrolled past stay unread. */
  markSoon() {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      if (!document.hidden) this.actions.viewed([...this.visible]);
    }, 800);
  }

  /** Whether any of these notifications is on the screen. */
  shows(ids) {
    return ids.some((id) => this.visible.has(id));
  }

  async showMore() {
    this.more.disabled = true;
    const last = [...this.cards.values()].at(-1);
    await this.actions.more();
    this.more.disabled = false;
    if (this.more.hidden) last?.link.focus();
  }

  moveFocus(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    const links = [...this.sections.querySelectorAll("a[href]")];
    const place = links.indexOf(this.node.getRootNode().activeElement);
    if (links.length === 0 || place < 0) return;
    event.preventDefault();
    links[Math.min(links.length - 1, Math.max(0, place + step))].focus();
  }
}
