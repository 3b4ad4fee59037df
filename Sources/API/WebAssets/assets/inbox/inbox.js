// The element itself: it signs in, fetches, and selects the visible view.

/** A notification centre; `docs/inbox.md` lists its attributes, properties, events, parts and colours. */
class BellhopInbox extends HTMLElement {
  static observedAttributes = ["api", "base", "href", "lang", "layout"];

  static addIcon(name, path) {
    ICONS.set(String(name), String(path));
  }

  /** Returns the time words of an instant, as the server's rules define them. */
  static timeWords(instant, now, zone, tag) {
    return timeWords(Date.parse(instant), Date.parse(now), [zone], tag);
  }

  static addPart = addPart;

  static safeAddress(link, origin, schemes) {
    return safeAddress(link, origin, schemes);
  }

  /** The time of looking after which a notification counts as read, if the app does not mark at sight. */
  static reading = 5_000;

  #token = null;
  #places = new Places(this.#navigator());

  constructor() {
    super();
    this.attachShadow({ mode: "open" });
    this.#adopt(STYLES);
    this.catalog = null;
    this.settings = null;
    this.preferences = null;
    this.status = "signed-out";
    this.pushedAt = -Infinity;
  }

  /** The token of the signed-in user; setting it starts again as that user, and null signs out. */
  get token() {
    return this.#token;
  }

  set token(token) {
    this.#token = token || null;
    if (this.isConnected) this.#begin();
  }

  /** A function, which may be asynchronous, that returns a newer token after the current one has expired. */
  renewToken = null;

  get unreadCount() {
    return this.model?.unread ?? 0;
  }

  /** The number of unread notifications that no screen has shown. */
  get unseenCount() {
    return this.model?.unseen ?? 0;
  }

  connectedCallback() {
    if (!this.#token && this.hasOwnProperty("token")) {
      const early = this.token;
      delete this.token;
      this.#token = early;
    }
    this.attention = new Attention(() => this.list.markSoon());
    this.#build();
    this.#begin();
    this.onOutside = (event) => this.#places.isOpen && !event.composedPath().includes(this) && this.close();
    document.addEventListener("pointerdown", this.onOutside);
    this.onReturn = () => !document.hidden && this.#returned();
    document.addEventListener("visibilitychange", this.onReturn);
    this.onRoute = () => this.hasAttribute("history") && this.#places.apply(this.#places.addressed);
    addEventListener("popstate", this.onRoute);
    this.onMessage = (event) => this.#told(event);
    navigator.serviceWorker?.addEventListener("message", this.onMessage);
    this.onNetwork = () => (navigator.onLine ? this.#catchUp() : this.#failed(new CallError(0)));
    addEventListener("online", this.onNetwork);
    addEventListener("offline", this.onNetwork);
    // "I dag" becomes "I går" without an event.
    this.minute = setInterval(() => this.#render(), 60_000);
  }

  disconnectedCallback() {
    this.#end();
    this.attention.end();
    this.screen?.end();
    clearInterval(this.minute);
    removeEventListener("popstate", this.onRoute);
    document.removeEventListener("pointerdown", this.onOutside);
    document.removeEventListener("visibilitychange", this.onReturn);
    navigator.serviceWorker?.removeEventListener("message", this.onMessage);
    removeEventListener("online", this.onNetwork);
    removeEventListener("offline", this.onNetwork);
  }

  attributeChangedCallback(name, before, after) {
    if (!this.isConnected || !this.screen || before === after) return;
    if (name === "layout" || name === "href") this.#build();
    if (["api", "base", "layout"].includes(name) && (name !== "layout" || [before, after].includes("settings"))) this.#begin();
    this.#render();
    if (name === "layout" && this.#view === "settings") this.#refreshSettings();
  }

  /** Opens the bell's panel. */
  open() {
    if (!this.#isPage && !this.#places.isOpen) this.#places.go("");
  }

  close() {
    if (!this.#isPage && this.#places.isOpen) this.#places.go(null);
  }

  /** Unsubscribes this browser and forgets the user, for an app that signs out. */
  async signOut() {
    await this.device?.turnOff().catch(() => {});
    await this.device?.sweep(() => true).catch(() => {});
    this.token = null;
    await forgetMirror();
  }

  get #isPage() {
    return this.getAttribute("layout") === "page" || this.#isForm;
  }

  /** Whether the element consists of the settings only. */
  get #isForm() {
    return this.getAttribute("layout") === "settings";
  }

  /** The address in front of `/api/…`: without attributes, the server from which the script was loaded. */
  get #base() {
    const base = this.getAttribute("base");
    return base === null ? new URL(this.getAttribute("api") || SCRIPT, location.href).origin : new URL(base, location.href).href;
  }

  get #view() {
    return this.#places.view;
  }

  get #filter() {
    return this.#places.filter;
  }

  get #words() {
    const { catalog, settings } = this;
    const tag = settings?.locale || catalog?.language || this.usual || navigator.language;
    // A language that only the browser has reported must not surround the app's labels in another one.
    const isChosen = settings?.locale && settings.locale.toLowerCase() !== navigator.language.toLowerCase();
    const isOffered = !catalog?.languages || catalog.languages.some((one) => wordsFor(one) === wordsFor(tag));
    return wordsFor(this.getAttribute("lang") || (isChosen || isOffered ? tag : catalog.language));
  }

  /** The time by the server's clock, because a device's may be wrong. */
  get #now() {
    return Date.now() + this.client.ahead;
  }

  get #zones() {
    return [this.settings?.timezone, deviceClock().timezone, this.catalog?.timezone];
  }

  // Signing in and connecting
  #begin() {
    this.#end();
    this.catalog = this.settings = this.preferences = null;
    const base = this.#base;
    this.renewal = null;
    this.form?.forget();
    // A client belongs to one user: calls in flight for the previous user do not get the new user's token.
    const own = (token) => (client === this.client ? token : null);
    const client = new InboxClient({
      base,
      token: () => own(this.#token),
      renew: async (refused) => own(own(refused) && (await this.#renew(refused))),
    });
    this.client = client;
    const model = new InboxModel(client, () => this.#render(), () => this.list.shows(model.order.slice(30)));
    model.isCounted = (item) => this.#typeOf(item)?.badge !== false;
    // In an app without a number on its icon, the bell still shows what is new.
    model.isNews = (item) => model.isCounted(item) || !this.catalog.types.some(({ badge }) => badge);
    this.model = model;
    const previous = this.device?.user;
    this.device = new PushDevice(client, this.getAttribute("worker") || "/sw.js", userOf(this.#token));
    // The next user begins with the list.
    if (previous && previous !== this.device.user && history.state?.bellhop) history.replaceState(null, "", location.pathname + location.search);
    this.#places.begin();
    this.attention.touch();
    this.side = null;
    if (this.#isForm) this.form.wait(this.#words);
    if (!this.#token) {
      this.status = "signed-out";
      return this.#render();
    }
    this.status = "loading";
    this.#startIn(model);
    this.#places.apply(this.#places.first);
    this.live = new LiveConnection(this.client, {
      event: (type, data) => this.#heard(type, data),
      catchUp: () => this.#catchUp(),
      failed: (error) => (error.status === 0 || error.status === 401) && this.#failed(error, model),
      resting: () => this.#count(model),
      connected: () => this.#answered(),
      since: () => model.lastEventId,
    });
    this.#start(model);
  }

  /** Uses the language of the last visit until the settings are known. */
  async #startIn(model) {
    const { user, lang } = await readMirror();
    if (user !== this.device.user) await keptList(this.device.user);
    if (model !== this.model || this.settings || user !== this.device.user) return;
    this.usual = lang;
    this.#render();
  }

  /** Asks for the number alone, for a page in the background. */
  async #count(model) {
    const answer = await model.client.unreadCount().catch(() => null);
    if (answer && model === this.model) model.setCount(answer);
  }

  #end() {
    clearTimeout(this.owed);
    this.live?.stop();
    this.live = null;
  }

  async #start(model) {
    try {
      await Promise.all([this.#reportClock(model).then(() => this.#learn(model)), this.#isForm || model.load()]);
    } catch (error) {
      if (error.status === 0) await this.#recall(model);
      this.#failed(error, model);
    }
    if (model !== this.model || !this.#token) return;
    if ((model.isLoaded && this.status === "loading") || (this.#isForm && this.preferences)) {
      this.#answered();
      this.#sweep(({ id }) => model.items.get(id)?.read);
    }
    this.live?.start();
    if (this.catalog) this.device.sayAlive().catch(() => {});
  }

  /** Shows the last list, for a start without a network. */
  async #recall(model) {
    const kept = await keptList(this.device.user);
    if (!kept || model !== this.model || model.isLoaded) return;
    const { page, settings, catalog, preferences } = kept;
    Object.assign(this, { settings, catalog, preferences });
    model.recall(page);
  }

  /** Fetches the app's settings and the user's preferences, for the page and for the service worker. */
  async #learn(model = this.model) {
    const { edits } = this.form;
    const { client } = model;
    const [settings, catalog, preferences] = await Promise.all([client.settings(), client.catalog(), client.preferences()]);
    if (model !== this.model) return;
    // A change was stored meanwhile, or is on its way.
    if (edits !== this.form.edits) return this.form.saving.then(() => this.#learn(model));
    Object.assign(this, { settings, catalog, preferences });
    this.dispatchEvent(new CustomEvent("bellhop-language", { detail: { language: this.#words.tag, title: this.#words.title } }));
    if (this.#isForm) this.form.update(this.#facts());
    this.#places.check();
    this.#render();
    this.#mirror();
  }

  /** Reports the browser's time zone and language when they change; what the user has set stays. */
  async #reportClock(model) {
    const [lang, { user }] = [this.getAttribute("lang"), this.device];
    const clock = { ...deviceClock(), ...(lang ? { locale: lang } : {}), user };
    const told = (await readMirror()).clock;
    if ((user && JSON.stringify(told) === JSON.stringify(clock)) || model !== this.model) return;
    try {
      await model.client.reportClock({ timezone: clock.timezone, locale: clock.locale });
      await writeMirror({ clock });
    } catch {
      // The next start reports it.
    }
  }

  #mirror() {
    return writeMirror(mirrorOf(this.client.base, this.#token, this.device.user, this.#words.tag, this));
  }

  /** Returns a newer token in place of a rejected one; concurrent callers share it. Null if no user is signed in. */
  async #renew(refused) {
    if (refused !== this.#token) return this.#token;
    const mine = (this.renewal ??= this.#askForToken(refused));
    try {
      return await mine;
    } finally {
      if (this.renewal === mine) this.renewal = null;
    }
  }

  async #askForToken(refused) {
    const token = await within(20_000, this.renewToken?.(refused));
    if (refused !== this.#token) return this.#token;
    const { user } = this.device;
    if (token && token !== refused) {
      // A token of another user, or of an unnamed one, starts again.
      if (!user || userOf(token) !== user) return (this.token = token);
      this.#token = token;
      writeMirror((kept) => (kept.user === user ? { token } : null));
      return token;
    }
    // No calls are made until there is another token.
    this.#token = null;
    this.#end();
    this.status = "signed-out";
    this.#askToSignIn();
    this.#render();
    return null;
  }

  #askToSignIn() {
    this.dispatchEvent(new CustomEvent("bellhop-sign-in", { bubbles: true, composed: true }));
  }

  async #catchUp() {
    clearTimeout(this.owed);
    if (!this.#token) return;
    if (this.#isForm) return this.#refreshSettings();
    const model = this.model;
    const known = model.isLoaded ? new Set(model.order) : null;
    try {
      await model.load();
      this.side?.load().catch(() => {});
      if (model !== this.model) return;
      this.#sweep(({ id }) => model.items.get(id)?.read);
      if (known) this.screen.sayArrivals(model.above(known), model.unread, this.#words);
      if (!this.catalog) await this.#learn(model);
      this.#answered();
    } catch (error) {
      this.#failed(error, model);
      if (model === this.model) this.#catchUpLater(error);
    }
  }

  /** Repeats a failed load later, because a stream does not report its updates again. */
  #catchUpLater(error) {
    if (!this.#token || error.status === 401) return;
    clearTimeout(this.owed);
    const wait = Math.max(10_000, (error.retryAfter ?? 0) * 1_000);
    this.owed = setTimeout(() => this.#catchUp(), wait * (1 + Math.random() / 2));
  }

  #answered() {
    const wasAway = this.status === "offline" && this.model.isLoaded;
    this.status = "ready";
    if (wasAway) this.screen.say(this.#words.online);
    const { model, settings, catalog, preferences } = this;
    if (model.isLoaded && settings) keepList({ user: this.device.user, page: model.page, settings, catalog, preferences });
    this.#render();
  }

  #failed(error, model = this.model) {
    if (model !== this.model) return;
    if (error.status === 401 || !this.#token) this.status = "signed-out";
    else if (error.status === 0) this.status = "offline";
    else this.status = "failed";
    if (this.#isForm && !this.preferences) this.form.wait(this.#words, true);
    this.#render();
  }

  /** Closes what the service worker has shown and the user has dealt with, or what belongs to another user. */
  #sweep(isOver) {
    const { user } = this.device;
    // Chrome forgets a notification that is listed before it is on the screen, so a push comes first.
    if (performance.now() - this.pushedAt < 5_000) return;
    this.device.sweep((data) => data.user !== user || isOver(data)).catch(() => {});
  }

  #returned() {
    this.attention.touch();
    this.model?.beginViewing();
    this.side?.load().catch(() => {});
    if (this.#view === "settings") this.#refreshSettings();
  }

  /** Answers the service worker: whether this page shows a push, and whether it opens a notification. */
  async #told({ data, ports: [port] }) {
    if (data?.bellhop === "push") {
      this.pushedAt = performance.now();
      await this.#catchUp();
      const isShown = this.#places.isShown && this.#view === "list" && !this.#filter && this.status === "ready" && this.model.items.has(data.id);
      port?.postMessage({ isShown, user: this.device.user });
    } else if (data?.bellhop === "open" && this.#token) {
      const detail = { notification: this.model.items.get(data.id) ?? { id: data.id }, url: data.url };
      port?.postMessage({ isTaken: this.#offer(detail), isInbox: this.#isPage });
    }
  }

  #heard(type, data) {
    this.status = "ready";
    if (type === "settings") return this.#settingsChanged();
    if (this.#isForm) return;
    const ids = new Set(data?.ids);
    const isGone = ({ id }) => (data.all ? true : ids.has(id));
    if (type === "read" || ["archived", "snoozed"].includes(data?.state)) this.#sweep(isGone);
    if (type === "notification" && data?.id) {
      const { unreadCount, ...item } = data;
      if (this.model.arrive(item, unreadCount)) this.screen.say(this.#words.arrived(item.title), { isShown: false });
    } else if (type === "read") this.model.setRead(data);
    else if (type === "badge") this.model.setCount(data);
    else if (type === "state" && data?.state === "seen") this.model.setSeen(data.all ? null : data.ids);
    else if (type === "resync" || type === "state") this.#catchUp();
    if (type === "notification") this.side?.load().catch(() => {});
  }

  // The visible views

  #adopt(styles) {
    const sheet = sheetOf(styles);
    const { adoptedStyleSheets } = this.shadowRoot;
    if (!adoptedStyleSheets.includes(sheet)) adoptedStyleSheets.push(sheet);
  }

  #build() {
    this.screen?.end();
    const acts = new RowActs(this.#context());
    this.list = new ListView({
      open: (item, event, action) => this.#open(item, event, action),
      opened: (item) => this.#read([item.id]),
      seen: (ids) => this.#places.isListed && this.#shown.markSeen(ids),
      isLooking: () => this.attention.isHere,
      looked: (times) => this.#looked(times),
      act: (item, state) => acts.act(item, state),
      menu: (item, anchor) => acts.openMenu(item, anchor),
      snooze: (item, anchor) => acts.openSnooze(item, anchor),
      more: () => this.#attempt(() => this.#shown.more(), () => this.list.showMore()),
      retry: () => this.#retry(),
    });
    this.form = new SettingsPlace({
      retry: () => this.#retrySettings(),
      load: () => part("settings", this.#base),
      adopt: (styles) => this.#adopt(styles),
      say: (text, options) => this.screen.say(text, options),
      device: () => this.device,
    });
    const actions = {
      bell: (event) => this.#bellPressed(event),
      go: (route) => this.#places.go(route),
      // The settings will probably be opened.
      prepare: () => void this.form.load().catch(() => {}),
      leave: () => this.#places.go(this.#filter),
      markAll: () => this.#markAll(),
      close: () => this.close(),
      escape: () => (this.#view === "settings" && !this.#isForm ? this.#places.go(this.#filter) : this.close()),
      notice: () => (this.status === "signed-out" ? this.#signIn() : this.#retry()),
    };
    this.screen = new InboxScreen(this.#isPage, actions, this.list, this.form, this.getAttribute("href"));
    this.shadowRoot.replaceChildren(this.screen.node);
  }

  /** The parts of the element that acts use. */
  #context() {
    const own = {
      words: () => this.#words,
      now: () => this.#now,
      zones: () => this.#zones,
      sayFailed: () => (error, again) => this.#sayFailed(error, again),
      attempt: () => (work, again) => this.#attempt(work, again),
      catchUp: () => () => this.#catchUp(),
      save: () => (model, kind, change) => this.#save(model, kind, change),
    };
    for (const name of ["model", "side", "list", "screen", "catalog", "preferences"]) own[name] = () => this[name];
    return Object.defineProperties({}, Object.fromEntries(Object.entries(own).map(([name, get]) => [name, { get }])));
  }

  #render() {
    if (!this.screen || !this.model) return;
    const words = this.#words;
    // No text is shown until the user's language and zone are known.
    const model = this.settings ? this.model : (this.blank ??= new InboxModel());
    this.screen.render({
      words,
      view: this.#view,
      filter: this.#filter,
      tags: this.#tags,
      isOpen: this.#places.isOpen,
      isForm: this.#isForm,
      status: this.status,
      model,
      shown: (this.settings && this.side) || model,
      count: this.catalog && !this.catalog.readOnView ? "unseen" : "unread",
      canSignIn: Boolean(this.renewToken),
      look: {
        words,
        filter: this.#filter,
        status: this.side?.status ?? this.status,
        now: this.#now,
        zones: this.#zones,
        level: this.#isPage ? 1 : 2,
        types: new Map((this.catalog?.types ?? []).map((type) => [type.type, type])),
        addressOf: (item) => this.#addressOf(item),
      },
    });
    if (!this.#isForm) this.#tellCount(model.unread);
  }

  get #tags() {
    return this.catalog?.tags ?? [];
  }

  #typeOf({ type }) {
    return this.catalog?.types.find((one) => one.type === type);
  }

  /** Returns the address of a notification or of one of its buttons; null if it has no link. */
  #addressOf(item) {
    return item.link ? safeAddress(item.link.web, location.origin, this.catalog?.schemes) : null;
  }

  #tellCount(count) {
    if (this.told === count) return;
    this.told = count;
    this.dispatchEvent(new CustomEvent("bellhop-unread", { detail: { count }, bubbles: true, composed: true }));
    if (count > 0) navigator.setAppBadge?.(count).catch(() => {});
    else navigator.clearAppBadge?.().catch(() => {});
  }

  #bellPressed(event) {
    if (!this.#isPage && !this.dispatchEvent(new CustomEvent("bellhop-bell", { bubbles: true, composed: true, cancelable: true })))
      return event.preventDefault();
    if (this.hasAttribute("href")) return;
    if (this.#isPage) this.#places.go(this.#filter === "unread" ? "" : "unread");
    else if (this.#places.isOpen) this.close();
    else this.open();
  }

  /** What the places need of the element. */
  #navigator() {
    return Object.defineProperties({ moved: (move) => this.#moved(move) }, {
      isPage: { get: () => this.#isPage },
      isForm: { get: () => this.#isForm },
      hasHistory: { get: () => this.hasAttribute("history") },
      isTag: { value: (filter) => !this.catalog || this.#tags.some(({ tag }) => filter === TAGGED + tag) },
    });
  }

  #moved({ from, filter, wasOpen, route }) {
    if (this.#isForm) return this.#render();
    const { isOpen } = this.#places;
    if (this.#filter !== filter || !this.side !== !this.#filter) this.#narrow();
    if (isOpen && !wasOpen) {
      this.attention.touch();
      this.model?.beginViewing();
    }
    if (route === "settings" && from !== route) this.#showSettings();
    this.#render();
    if (from === route) return;
    if (route === null) this.screen.bell.focus();
    else if (from === "settings") this.screen.gear.focus();
    else if (from === null || route === "settings") this.screen.heading.focus();
    this.list.markSoon();
  }

  /** Begins the list of a filter, beside the list of all notifications. */
  #narrow() {
    const query = queryOf(this.#filter);
    this.side = query ? new InboxModel(this.client, () => this.#render(), () => false, query) : null;
    if (this.side && this.#token) this.#loadSide(this.side);
  }

  async #loadSide(side) {
    side.status = "loading";
    this.#render();
    try {
      await side.load();
      side.status = "ready";
    } catch {
      side.status = "failed";
    }
    this.#render();
  }

  get #shown() {
    return this.side ?? this.model;
  }

  #showSettings() {
    if (this.preferences) this.form.show(this.#facts());
    else this.form.wait(this.#words);
    this.#refreshSettings();
  }

  #retrySettings() {
    if (this.preferences) this.form.update(this.#facts());
    return this.#refreshSettings();
  }

  /** Reads the settings again that were changed elsewhere. */
  #settingsChanged() {
    if (this.#view === "settings") return this.#refreshSettings();
    return this.#learn().catch(() => {});
  }

  async #refreshSettings() {
    const { model } = this;
    try {
      await this.#learn(model);
    } catch (error) {
      if (model !== this.model) return;
      if (!this.preferences) this.form.wait(this.#words, true);
      else this.#sayFailed(error, () => this.#refreshSettings());
      return;
    }
    if (model === this.model && this.#view === "settings") this.form.update(this.#facts());
  }

  #facts() {
    const { model, catalog, settings, preferences } = this;
    const zone = this.#zones.find((name) => name && clockOf(name)) ?? "UTC";
    return {
      words: this.#words,
      level: this.#isPage ? 1 : 2,
      zone,
      catalog,
      settings,
      preferences,
      save: (kind, change) => this.#save(model, kind, change),
      stored: (kind) => this[kind],
    };
  }

  /** Stores a change of the model's user, and never under a user who has signed in since. */
  async #save(model, kind, change) {
    const kept = await (kind === "settings" ? model.client.changeSettings(change) : model.client.changePreferences(change));
    if (model !== this.model) return kept;
    this[kind] = kept;
    await this.#mirror();
    return kept;
  }

  async #attempt(work, again) {
    const { model } = this;
    try {
      await work(model);
      return model === this.model;
    } catch (error) {
      if (model === this.model) this.#sayFailed(error, again);
    }
  }

  /** Says that an act of the user failed, and offers to repeat it. */
  #sayFailed(error, again) {
    const words = this.#words;
    if (error.status === 401 || !this.#token) return this.#failed(error);
    const text = error.status === 0 ? words.noAnswer : words.notDone;
    this.screen.say(text, { isFault: true, act: { label: words.retry, run: again } });
  }

  #retry() {
    if (this.side?.status === "failed") return this.#loadSide(this.side);
    if (!this.model.isLoaded) this.status = "loading";
    this.#render();
    return this.#catchUp();
  }

  async #signIn() {
    const token = await within(20_000, this.renewToken?.(null)).catch(() => null);
    if (token && !this.#token) this.token = token;
    else this.#askToSignIn();
  }

  async #markAll() {
    if (!(await this.#attempt((model) => model.markAll(), () => this.#markAll()))) return;
    this.side?.load().catch(() => {});
    this.screen.say(this.#words.allRead);
    this.screen.heading.focus();
  }

  // Reading and opening

  /** Marks as read what a person has looked at; returns whether something needs a longer look. */
  #looked(times) {
    if (!this.#places.isListed) return false;
    const atSight = this.catalog?.readOnView;
    const needed = atSight ? ListView.glance : BellhopInbox.reading;
    const open = times.filter(([id]) => {
      const item = this.#shown.items.get(id);
      // Important ones are read when they are opened.
      return item && !item.read && (atSight || item.priority !== "high");
    });
    this.#read(open.filter(([, time]) => time >= needed).map(([id]) => id));
    return open.some(([, time]) => time < needed);
  }

  #read(ids) {
    this.#shown.markViewed(ids);
    if (this.side) this.model.setRead({ ids });
  }

  /** Lets the surrounding page open the notification or its button: a page that cancels the event has done so. */
  #open(item, event, action) {
    this.#read([item.id]);
    if (this.#offer({ notification: item, url: this.#addressOf(action ?? item), action })) event.preventDefault();
  }

  #offer(detail) {
    return !this.dispatchEvent(new CustomEvent("bellhop-open", { detail, bubbles: true, composed: true, cancelable: true }));
  }
}

if (!customElements.get("bellhop-inbox")) customElements.define("bellhop-inbox", BellhopInbox);
globalThis.BellhopInbox ??= BellhopInbox;
