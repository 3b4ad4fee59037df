// One user's time at the page: what is known of the user, and the connection that keeps it current.

class Session {
  /** `inbox` is the element; without a token nobody is signed in. */
  constructor(inbox, token) {
    this.inbox = inbox;
    this.token = token;
    this.status = token ? "loading" : "signed-out";
    this.catalog = this.settings = this.preferences = null;
    /** The list of a filter, beside the list of all notifications. */
    this.side = null;
    this.pushedAt = -Infinity;
    // Calls in flight for a previous user do not get the next user's token.
    const own = (value) => (this.isOver ? null : value);
    this.client = new InboxClient({
      base: inbox.base,
      token: () => own(this.token),
      renew: async (refused) => own(own(refused) && (await this.renew(refused))),
    });
    const changed = () => inbox.render();
    this.model = new InboxModel(this.client, changed, () => inbox.list.shows(this.model.order.slice(30)));
    this.model.isCounted = (item) => inbox.typeOf(item)?.badge !== false;
    // In an app without a number on its icon, the bell still shows what is new.
    this.model.isNews = (item) => this.model.isCounted(item) || !this.catalog.types.some(({ badge }) => badge);
    this.device = new PushDevice(this.client, inbox.getAttribute("worker") || "/sw.js", userOf(token));
  }

  /** Whether another user, or none, is signed in by now. */
  get isOver() {
    return this.inbox.session !== this;
  }

  end() {
    clearTimeout(this.owed);
    this.live?.stop();
    this.live = null;
  }

  async start() {
    const { inbox, model } = this;
    this.live = new LiveConnection(this.client, {
      event: (type, data) => this.hear(type, data),
      catchUp: () => this.catchUp(),
      failed: (error) => (error.status === 0 || error.status === 401) && this.fail(error),
      resting: () => this.count(),
      connected: () => this.answered(),
      since: () => model.lastEventId,
    });
    this.useLastLanguage();
    try {
      await Promise.all([this.reportClock().then(() => this.learn()), inbox.isForm || model.load()]);
    } catch (error) {
      if (error.status === 0) await this.recall();
      this.fail(error);
    }
    if (this.isOver || !this.token) return;
    if ((model.isLoaded && this.status === "loading") || (inbox.isForm && this.preferences)) {
      this.answered();
      this.sweep(({ id }) => model.items.get(id)?.read);
    }
    this.live?.start();
    if (this.catalog) this.device.sayAlive().catch(() => {});
  }

  // The knowledge about the user

  /** Uses the language of the last visit until the settings are known. */
  async useLastLanguage() {
    const { user, lang } = await readMirror();
    if (user !== this.device.user) await keptList(this.device.user);
    if (this.isOver || this.settings || user !== this.device.user) return;
    this.usual = lang;
    this.inbox.render();
  }

  /** Shows the last list, for a start without a network. */
  async recall() {
    const kept = await keptList(this.device.user);
    if (!kept || this.isOver || this.model.isLoaded) return;
    const { page, settings, catalog, preferences } = kept;
    Object.assign(this, { settings, catalog, preferences });
    this.model.recall(page);
  }

  /** Fetches the app's settings and the user's preferences, for the page and for the service worker. */
  async learn() {
    const { client, inbox } = this;
    const { form } = inbox;
    const { edits } = form;
    const [settings, catalog, preferences] = await Promise.all([client.settings(), client.catalog(), client.preferences()]);
    if (this.isOver) return;
    // A change was stored meanwhile, or is on its way.
    if (edits !== form.edits) return form.saving.then(() => this.learn());
    Object.assign(this, { settings, catalog, preferences });
    const { tag, title } = inbox.words;
    inbox.emit("language", { language: tag, title });
    if (inbox.isForm) form.update(inbox.facts);
    inbox.places.check();
    inbox.render();
    this.mirror();
  }

  /** Stores a change of the user's settings or preferences, and never under a user who has signed in since. */
  async save(kind, change) {
    const { client } = this;
    const kept = await (kind === "settings" ? client.changeSettings(change) : client.changePreferences(change));
    if (this.isOver) return kept;
    this[kind] = kept;
    await this.mirror();
    return kept;
  }

  /** Reports the browser's time zone and language when they change; what the user has set stays. */
  async reportClock() {
    const [lang, { user }] = [this.inbox.getAttribute("lang"), this.device];
    const clock = { ...deviceClock(), ...(lang ? { locale: lang } : {}), user };
    const told = (await readMirror()).clock;
    if ((user && JSON.stringify(told) === JSON.stringify(clock)) || this.isOver) return;
    try {
      await this.client.reportClock({ timezone: clock.timezone, locale: clock.locale });
      await writeMirror({ clock });
    } catch {
      // The next start reports it.
    }
  }

  mirror() {
    return writeMirror(mirrorOf(this.client.base, this.token, this.device.user, this.inbox.words.tag, this));
  }

  // The token

  /** Returns a newer token in place of a rejected one; concurrent callers share it. Null if no user is signed in. */
  async renew(refused) {
    if (refused !== this.token) return this.token;
    const mine = (this.renewal ??= this.askForToken(refused));
    try {
      return await mine;
    } finally {
      if (this.renewal === mine) this.renewal = null;
    }
  }

  async askForToken(refused) {
    const { inbox } = this;
    const token = await within(20_000, inbox.renewToken?.(refused));
    if (this.isOver || refused !== this.token) return this.token;
    const { user } = this.device;
    if (token && token !== refused) {
      // A token of another user, or of an unnamed one, starts again.
      if (!user || userOf(token) !== user) return (inbox.token = token);
      this.token = token;
      writeMirror((kept) => (kept.user === user ? { token } : null));
      return token;
    }
    // No calls are made until there is another token.
    this.token = null;
    this.end();
    this.status = "signed-out";
    this.askToSignIn();
    inbox.render();
    return null;
  }

  askToSignIn() {
    this.inbox.emit("sign-in");
  }

  async signIn() {
    const { inbox } = this;
    const token = await within(20_000, inbox.renewToken?.(null)).catch(() => null);
    if (token && !inbox.token) inbox.token = token;
    else this.askToSignIn();
  }

  // Staying current

  async catchUp() {
    clearTimeout(this.owed);
    const { inbox, model } = this;
    if (!this.token) return;
    if (inbox.isForm) return inbox.form.refresh();
    const known = model.isLoaded ? new Set(model.order) : null;
    try {
      await model.load();
      this.side?.load().catch(() => {});
      if (this.isOver) return;
      this.sweep(({ id }) => model.items.get(id)?.read);
      if (known) inbox.screen.sayArrivals(model.above(known), model.unread, inbox.words);
      if (!this.catalog) await this.learn();
      this.answered();
    } catch (error) {
      this.fail(error);
      if (!this.isOver) this.catchUpLater(error);
    }
  }

  /** Repeats a failed load later, because a stream does not report its updates again. */
  catchUpLater(error) {
    if (!this.token || error.status === 401) return;
    clearTimeout(this.owed);
    const wait = Math.max(10_000, (error.retryAfter ?? 0) * 1_000);
    this.owed = setTimeout(() => this.catchUp(), wait * (1 + Math.random() / 2));
  }

  /** Repeats what the page says has failed. */
  retry() {
    if (this.side?.status === "failed") return this.loadSide();
    if (!this.model.isLoaded) this.status = "loading";
    this.inbox.render();
    return this.catchUp();
  }

  /** Asks for the number alone, for a page in the background. */
  async count() {
    const answer = await this.client.unreadCount().catch(() => null);
    if (answer && !this.isOver) this.model.setCount(answer);
  }

  answered() {
    if (this.isOver) return;
    const { inbox, model, settings, catalog, preferences } = this;
    const wasAway = this.status === "offline" && model.isLoaded;
    this.status = "ready";
    if (wasAway) inbox.screen.say(inbox.words.online);
    if (model.isLoaded && settings) keepList({ user: this.device.user, page: model.page, settings, catalog, preferences });
    inbox.render();
  }

  fail(error) {
    if (this.isOver) return;
    const { inbox } = this;
    if (error.status === 401 || !this.token) this.status = "signed-out";
    else if (error.status === 0) this.status = "offline";
    else this.status = "failed";
    if (inbox.isForm && !this.preferences) inbox.form.wait(inbox.words, true);
    inbox.render();
  }

  hear(type, data) {
    const { inbox, model } = this;
    this.status = "ready";
    if (type === "settings") return inbox.form.changed();
    if (inbox.isForm) return;
    const ids = new Set(data?.ids);
    const isGone = ({ id }) => (data.all ? true : ids.has(id));
    if (type === "read" || ["archived", "snoozed"].includes(data?.state)) this.sweep(isGone);
    if (type === "notification" && data?.id) {
      const { unreadCount, ...item } = data;
      if (model.arrive(item, unreadCount)) inbox.screen.say(inbox.words.arrived(item.title), { isShown: false });
    } else if (type === "read") model.setRead(data);
    else if (type === "badge") model.setCount(data);
    else if (type === "state" && data?.state === "seen") model.setSeen(data.all ? null : data.ids);
    else if (type === "resync" || type === "state") this.catchUp();
    if (type === "notification") this.side?.load().catch(() => {});
  }

  // The list of a filter

  get shown() {
    return this.side ?? this.model;
  }

  /** Begins the list of a filter; without a query, there is only the list of all notifications. */
  narrow(query) {
    this.side = query ? new InboxModel(this.client, () => this.inbox.render(), () => false, query) : null;
    if (this.side && this.token) this.loadSide();
  }

  async loadSide() {
    const { inbox, side } = this;
    side.status = "loading";
    inbox.render();
    try {
      await side.load();
      side.status = "ready";
    } catch {
      side.status = "failed";
    }
    inbox.render();
  }

  // The service worker

  /** Closes what the service worker has shown and the user has dealt with, or what belongs to another user. */
  sweep(isOver) {
    const { user } = this.device;
    // Chrome forgets a notification that is listed before it is on the screen, so a push comes first.
    if (performance.now() - this.pushedAt < 5_000) return;
    this.device.sweep((data) => data.user !== user || isOver(data)).catch(() => {});
  }

  /** Answers the service worker: whether this page shows a push, and whether it opens a notification. */
  async answerWorker({ data, ports: [port] }) {
    const { inbox, model } = this;
    if (data?.bellhop === "push") {
      this.pushedAt = performance.now();
      await this.catchUp();
      const isShown = inbox.places.isWhole && this.status === "ready" && model.items.has(data.id);
      port?.postMessage({ isShown, user: this.device.user });
    } else if (data?.bellhop === "open" && this.token) {
      const detail = { notification: model.items.get(data.id) ?? { id: data.id }, url: data.url };
      port?.postMessage({ isTaken: inbox.emit("open", detail), isInbox: inbox.isPage });
    }
  }
}
