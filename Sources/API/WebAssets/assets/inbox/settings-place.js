// The place of the settings: it loads their part, shows that they are on their way or did not come, and keeps them
// current.

class SettingsPlace {
  /** `inbox` is the element. */
  constructor(inbox) {
    this.inbox = inbox;
    /** Whether the part did not come. It is loaded again when the user asks for it, and not by news of the settings. */
    this.isMissing = false;
    this.node = element("div", { class: "settings", part: "settings" });
  }

  /** The number of changes, so that an answer from before a change does not undo it. */
  get edits() {
    return this.view?.edits ?? 0;
  }

  /** The changes that are on their way. */
  get saving() {
    return this.view?.saving;
  }

  /** Shows the settings, when the user comes to them. */
  open() {
    const { inbox } = this;
    this.isMissing = false;
    if (inbox.preferences) this.show(inbox.facts);
    else this.wait(inbox.words);
    this.refresh();
  }

  retry() {
    this.isMissing = false;
    if (this.inbox.preferences) this.update(this.inbox.facts);
    return this.refresh();
  }

  /** Reads the settings again that were changed elsewhere. */
  changed() {
    if (this.inbox.places.view === "settings") return this.refresh();
    return this.inbox.session.learn().catch(() => {});
  }

  async refresh() {
    const { inbox } = this;
    const { session } = inbox;
    try {
      await session.learn();
    } catch (error) {
      if (session.isOver) return;
      if (!session.preferences) this.wait(inbox.words, true);
      else inbox.acts.sayFailed(error, () => this.refresh());
      return;
    }
    if (!session.isOver && inbox.places.view === "settings") this.update(inbox.facts);
  }

  /** Shows that the settings are on their way, or did not come. */
  wait(words, isFailed) {
    this.wanted = null;
    this.view?.clear();
    const kind = isFailed ? "failed" : "loading";
    const notice = noticeFor(kind, { ...words, failed: words.settingsFailed }, "", () => this.retry());
    this.node.replaceChildren(element("div", { class: `notice ${kind}` }, ...notice));
  }

  show(facts) {
    return this.view ? this.view.render(facts) : this.update(facts);
  }

  /** Shows facts, as described at the view; what the user sees stays if nothing has changed. */
  async update(facts) {
    if (this.view) return this.view.update(facts);
    if (this.isMissing) return;
    if (!this.wanted) this.wait(facts.words);
    const isFirst = !this.wanted;
    this.wanted = facts;
    if (!isFirst) return;
    try {
      await this.load();
    } catch {
      this.isMissing = true;
      if (this.wanted) this.wait(this.wanted.words, true);
      return;
    }
    const { wanted } = this;
    this.wanted = null;
    if (wanted) this.view.update(wanted);
  }

  async load() {
    const { inbox } = this;
    const { SettingsView, STYLES } = await part("settings", inbox.base);
    if (this.view) return;
    inbox.adopt(STYLES);
    const actions = { say: (text, options) => inbox.screen.say(text, options), device: () => inbox.device };
    this.view = new SettingsView(actions, this.node);
  }

  /** Ignores the results of pending changes, which do not concern the next user. */
  forget() {
    this.isMissing = false;
    this.view?.forget();
  }
}
