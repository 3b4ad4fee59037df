// The place of the settings: it loads their part, and shows that they are on their way or did not come.

class SettingsPlace {
  /** `actions`: those of the view, and `retry()`, `load()`, which returns the part, and `adopt(styles)`. */
  constructor(actions) {
    this.actions = actions;
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

  /** Shows that the settings are on their way, or did not come. */
  wait(words, isFailed) {
    this.wanted = null;
    this.view?.clear();
    const retry = element("button", { type: "button", class: "quiet-button", onclick: () => this.actions.retry() }, words.retry);
    const bones = () => element("div", { class: "bone" }, element("b"), element("s"));
    const failed = [element("p", { class: "notice-title" }, words.settingsFailed), retry];
    const notice = isFailed ? failed : [element("p", { class: "spoken" }, words.loading), bones(), bones(), bones()];
    this.node.replaceChildren(element("div", { class: `notice ${isFailed ? "failed" : "loading"}` }, ...notice));
  }

  /** Shows the settings anew, when the user comes to them. */
  show(facts) {
    return this.view ? this.view.render(facts) : this.update(facts);
  }

  /** Shows facts, as described at the view; what the user sees stays if nothing has changed. */
  async update(facts) {
    if (this.view) return this.view.update(facts);
    if (!this.wanted) this.wait(facts.words);
    const isFirst = !this.wanted;
    this.wanted = facts;
    if (!isFirst) return;
    try {
      await this.load();
    } catch {
      if (this.wanted) this.wait(this.wanted.words, true);
      return;
    }
    const { wanted } = this;
    this.wanted = null;
    if (wanted) this.view.update(wanted);
  }

  async load() {
    const { SettingsView, STYLES } = await this.actions.load();
    if (this.view) return;
    this.actions.adopt(STYLES);
    this.view = new SettingsView(this.actions, this.node);
  }

  /** Ignores the results of pending changes, which do not concern the next user. */
  forget() {
    this.view?.forget();
  }
}
