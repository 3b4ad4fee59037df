// The element itself: it signs in, fetches, and selects the visible view.

const SCRIPT = document.currentScript?.src || location.href;

/** A notification centre; `docs/inbox.md` lists its attributes, properties, events, parts and colours. */
class BellhopInbox extends HTMLElement {
  static observedAttributes = ["api", "lang", "layout"];

  static addIcon(name, path) {
    ICONS.set(String(name), String(path));
  }

  /** Returns the time words of an instant, as the server's rules define them. */
  static timeWords(instant, now, zone, tag) {
    return timeWords(Date.parse(instant), Date.parse(now), [zone], tag);
  }

  static safeAddress(link, origin, schemes) {
    return safeAddress(link, origin, schemes);
  }

  #token = null;
  #view = "list";
  #isOpen = false;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLES);
    root.adoptedStyleSheets = [sheet];
    this.catalog = null;
    this.settings = null;
    this.preferences = null;
    this.status = "signed-out";
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

  connectedCallback() {
    if (!this.#token && this.hasOwnProperty("token")) {
      const early = this.token;
      delete this.token;
      this.#token = early;
    }
    this.#build();
    this.#begin();
    this.onOutside = (event) => this.#isOpen && !event.composedPath().includes(this) && this.close();
    document.addEventListener("pointerdown", this.onOutside);
    this.onReturn = () => !document.hidden && this.model?.beginViewing();
    document.addEventListener("visibilitychange", this.onReturn);
    this.onMessage = ({ data }) => data?.bellhop === "push" && this.#catchUp();
    navigator.serviceWorker?.addEventListener("message", this.onMessage);
    this.onNetwork = () => (navigator.onLine ? this.#catchUp() : this.#failed(new CallError(0)));
    addEventListener("online", this.onNetwork);
    addEventListener("offline", this.onNetwork);
    // "I dag" becomes "I går" without an event.
    this.minute = setInterval(() => this.#render(), 60_000);
  }

  disconnectedCallback() {
    this.#end();
    this.screen?.end();
    clearInterval(this.minute);
    document.removeEventListener("pointerdown", this.onOutside);
    document.removeEventListener("visibilitychange", this.onReturn);
    navigator.serviceWorker?.removeEventListener("message", this.onMessage);
    removeEventListener("online", this.onNetwork);
    removeEventListener("offline", this.onNetwork);
  }

  attributeChangedCallback(name, before, after) {
    if (!this.isConnected || !this.screen || before === after) return;
    if (name === "api") this.#begin();
    if (name === "layout") this.#build();
    this.#render();
  }

  /** Opens the bell's panel. */
  open() {
    if (this.#isPage || this.#isOpen) return;
    this.#isOpen = true;
    this.model?.beginViewing();
    this.#render();
    this.screen.heading.focus();
  }

  close() {
    if (this.#isPage || !this.#isOpen) return;
    this.#isOpen = false;
    this.#view = "list";
    this.#render();
    this.screen.bell.focus();
  }

  /** Unsubscribes this browser and forgets the user, for an app that signs out. */
  async signOut() {
    await this.device?.turnOff().catch(() => {});
    this.token = null;
    await forgetMirror();
  }

  get #isPage() {
    return this.getAttribute("layout") === "page";
  }

  get #isShown() {
    return this.#isPage || this.#isOpen;
  }

  get #words() {
    return wordsFor(this.getAttribute("lang") || this.settings?.locale || this.catalog?.language || navigator.language);
  }

  get #zones() {
    return [this.settings?.timezone, this.catalog?.timezone];
  }

  // Signing in and connecting
  #begin() {
    this.#end();
    this.catalog = this.settings = this.preferences = null;
    const base = new URL(this.getAttribute("api") || SCRIPT, location.href);
    this.renewal = null;
    this.form?.forget();
    // A client belongs to one user: calls in flight for the previous user do not get the new user's token.
    const own = (token) => (client === this.client ? token : null);
    const client = new InboxClient(base, () => own(this.#token), async (refused) => own(own(refused) && (await this.#renew(refused))));
    this.client = client;
    const model = new InboxModel(client, () => this.#render(), () => this.list.shows(model.order.slice(30)));
    this.model = model;
    this.device = new PushDevice(client, this.getAttribute("worker") || "/sw.js", userOf(this.#token));
    this.#view = "list";
    if (!this.#token) {
      this.status = "signed-out";
      return this.#render();
    }
    this.status = "loading";
    this.#render();
    this.live = new LiveConnection(this.client, {
      event: (type, data) => this.#heard(type, data),
      catchUp: () => this.#catchUp(),
      failed: (error) => this.#failed(error, model),
      connected: () => this.#answered(),
      since: () => model.lastEventId,
    });
    this.#start(model);
  }

  #end() {
    clearTimeout(this.owed);
    this.live?.stop();
    this.live = null;
  }

  async #start(model) {
    try {
      await Promise.all([this.#learn(model), model.load()]);
    } catch (error) {
      this.#failed(error, model);
    }
    if (model !== this.model || !this.#token) return;
    if (model.isLoaded) this.#answered();
    this.live?.start();
    if (this.catalog) this.device.sayAlive().catch(() => {});
  }

  /** Fetches the app's settings and the user's preferences, for the page and for the service worker. */
  async #learn(model = this.model) {
    const [settings, catalog, preferences] = await Promise.all([
      this.client.call("GET", "/api/settings"),
      this.client.call("GET", "/api/catalog"),
      this.client.call("GET", "/api/preferences"),
    ]);
    if (model !== this.model) return;
    Object.assign(this, { settings, catalog, preferences });
    this.dispatchEvent(new CustomEvent("bellhop-language", { detail: { language: this.#words.tag, title: this.#words.title } }));
    this.#render();
    this.#mirror();
  }

  #mirror() {
    return writeMirror(mirrorOf(this.client.base.href, this.#token, this.device.user, this));
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
    const token = await this.renewToken?.(refused);
    if (refused !== this.#token) return this.#token;
    const { user } = this.device;
    if (token && token !== refused) {
      // A token of another user starts again.
      if (userOf(token) !== user) return (this.token = token);
      this.#token = token;
      writeMirror((kept) => (kept.user === user ? { token } : null));
      return token;
    }
    // No calls are made until there is another token.
    this.#token = null;
    this.#end();
    this.status = "signed-out";
    this.dispatchEvent(new CustomEvent("bellhop-sign-in", { bubbles: true, composed: true }));
    this.#render();
    return null;
  }

  async #catchUp() {
    clearTimeout(this.owed);
    if (!this.#token) return;
    const model = this.model;
    const known = model.isLoaded ? new Set(model.order) : null;
    try {
      await model.load();
      if (model !== this.model) return;
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
    const wasAway = this.status === "offline";
    this.status = "ready";
    if (wasAway) this.screen.say(this.#words.online);
    this.#render();
  }

  #failed(error, model = this.model) {
    if (model !== this.model) return;
    if (error.status === 401 || !this.#token) this.status = "signed-out";
    else if (error.status === 0) this.status = "offline";
    else if (this.status === "loading") this.status = "failed";
    this.#render();
  }

  #heard(type, data) {
    this.status = "ready";
    if (type === "notification" && data?.id) {
      const { unreadCount, ...item } = data;
      if (this.model.arrive(item, unreadCount)) this.screen.say(this.#words.arrived(item.title), { isShown: false });
    } else if (type === "read") this.model.setRead(data);
    else if (type === "badge") this.model.setCount(data);
    else if (type === "resync" || (type === "state" && data?.state !== "seen")) this.#catchUp();
  }

  // The visible views

  #build() {
    this.screen?.end();
    this.list = new ListView({
      open: (item, event) => this.#open(item, event),
      viewed: (ids) => this.#isShown && this.#view === "list" && this.model.markViewed(ids),
      more: () => this.#attempt((model) => model.more()),
      retry: () => {
        this.status = "loading";
        this.#catchUp();
      },
    });
    this.form = new SettingsView({
      reload: () => this.#showSettings(),
      say: (text, isFault) => this.screen.say(text, { isFault }),
      device: () => this.device,
    });
    const actions = {
      bell: () => this.#bellPressed(),
      list: () => this.#showList(),
      settings: () => this.#showSettings(),
      markAll: () => this.#markAll(),
      close: () => this.close(),
      escape: () => (this.#view === "settings" ? this.#showList() : this.close()),
    };
    this.screen = new InboxScreen(this.#isPage, actions, this.list, this.form);
    this.shadowRoot.replaceChildren(this.screen.node);
  }

  #render() {
    if (!this.screen || !this.model) return;
    const words = this.#words;
    // No text is shown until the user's language and zone are known.
    const model = this.settings ? this.model : (this.blank ??= new InboxModel());
    this.screen.render({
      words,
      view: this.#view,
      isOpen: this.#isOpen,
      status: this.status,
      model,
      look: {
        words,
        status: this.status,
        now: Date.now(),
        zones: this.#zones,
        level: this.#isPage ? 1 : 2,
        types: new Map((this.catalog?.types ?? []).map((type) => [type.type, type])),
        addressOf: (item) => this.#addressOf(item),
      },
    });
    this.#tellCount(model.unread);
  }

  /** Returns the address of a notification; null if it has no link. */
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

  #bellPressed() {
    if (!this.#isPage) return this.#isOpen ? this.close() : this.open();
    this.#showList();
    scrollTo({ top: 0 });
  }

  #showList() {
    const wasElsewhere = this.#view !== "list";
    this.#view = "list";
    this.#render();
    (wasElsewhere ? this.screen.gear : this.screen.heading).focus();
  }

  async #showSettings() {
    if (!(await this.#attempt((model) => this.#learn(model)))) return;
    const { model, catalog, settings, preferences } = this;
    const facts = { catalog, settings, preferences, save: (kind, change) => this.#save(model, kind, change) };
    const zone = this.#zones.find((name) => name && clockOf(name)) ?? "UTC";
    this.form.render({ words: this.#words, level: this.#isPage ? 1 : 2, zone, ...facts });
    if (this.#view === "settings") return;
    this.#view = "settings";
    this.#render();
    this.screen.heading.focus();
  }

  /** Stores a change of the model's user, and never under a user who has signed in since. */
  async #save(model, kind, change) {
    const kept = await model.client.call(kind === "preferences" ? "PUT" : "PATCH", `/api/${kind}`, change);
    if (model !== this.model) return kept;
    this[kind] = kept;
    await this.#mirror();
    return kept;
  }

  async #attempt(work) {
    const { model } = this;
    try {
      await work(model);
      return model === this.model;
    } catch (error) {
      this.#failed(error, model);
    }
  }

  async #markAll() {
    if (!(await this.#attempt((model) => model.markAll()))) return;
    this.screen.say(this.#words.allRead);
    this.screen.heading.focus();
  }

  /** Lets the surrounding page open the notification: a page that cancels the event has done so. */
  #open(item, event) {
    this.model.markViewed([item.id]);
    const detail = { notification: item, url: this.#addressOf(item) };
    const wish = { detail, bubbles: true, composed: true, cancelable: true };
    if (!this.dispatchEvent(new CustomEvent("bellhop-open", wish))) event.preventDefault();
  }
}

if (!customElements.get("bellhop-inbox")) customElements.define("bellhop-inbox", BellhopInbox);
globalThis.BellhopInbox ??= BellhopInbox;
