// The known part of a user's inbox, and its presentation on the page.

class InboxModel {
  /** The maximum number of notifications held while the user does not scroll below the first page. */
  static most = 300;

  /** `isBelow()` returns whether the user has scrolled below the first page; `query` narrows the list. */
  constructor(client, changed, isBelow = () => false, query = null) {
    this.client = client;
    this.query = query;
    this.changed = changed;
    this.isBelow = isBelow;
    this.items = new Map();
    /** Ids in the order of the list: the latest to arrive or to return from snooze first. */
    this.order = [];
    /** Ids that stay at the top during this viewing, read or not. */
    this.pinned = [];
    /** Ids marked as read in this viewing; their dots stay until the user returns. */
    this.viewed = new Set();
    this.unread = 0;
    this.next = null;
    /** The position in the stream that the list belongs to. */
    this.lastEventId = null;
    this.isLoaded = false;
    this.wishes = 0;
    /** Ids that arrived while a page is loaded, with the number of the request at their arrival. */
    this.arrivals = new Map();
    /** The number of changes of the count, so that a page that was read earlier does not restore an old count. */
    this.counts = 0;
  }

  /** Whether the number of unread notifications includes an unread one of its type. */
  isCounted = () => true;
  /** Whether the bell's number includes an unseen one of its type. */
  isNews = () => true;

  /** Whether the user sees a notification as unread. */
  isNew(item) {
    return !item.read || this.viewed.has(item.id);
  }

  /**
   * The number for a bell that counts only what no screen has shown. If this is all that is known, older ones may be
   * unseen too.
   */
  get unseen() {
    const fresh = this.order.filter((id) => isUnseen(this.items.get(id)) && this.isNews(this.items.get(id))).length;
    return fresh === this.order.length && this.next ? Math.max(fresh, this.unread) : fresh;
  }

  /**
   * Reads the first page again, and repeats this if an update arrived meanwhile that the page may not contain. While
   * updates keep arriving, it does so after pauses.
   */
  load() {
    clearTimeout(this.later);
    this.wishes += 1;
    this.loading ??= this.readFirst().finally(() => (this.loading = null));
    return this.loading;
  }

  async readFirst() {
    this.arrivals.clear();
    let page, wish, counts;
    for (let round = 0; wish !== this.wishes && round < 3; round += 1) {
      [wish, counts] = [this.wishes, this.counts];
      page = await this.client.list({ ...this.query });
    }
    const unread = counts === this.counts ? page.unreadCount : this.unread;
    if (this.isRecalled) [this.order, this.pinned, this.isRecalled] = [[], [], false];
    this.fit(page, [...this.arrivals].filter(([, when]) => when > wish).map(([id]) => id));
    this.unread = unread;
    if (wish !== this.wishes) this.later = setTimeout(() => this.load().catch(() => {}), 1_000);
    this.changed();
  }

  /** The beginning of the list, as a page of the server. */
  get page() {
    const of = (ids) => ids.slice(0, 30).map((id) => this.items.get(id));
    return { data: of(this.order), pinned: of(this.pinned), unreadCount: this.unread, next: null };
  }

  /** Shows a page of an earlier start, until the first page is loaded. */
  recall(page) {
    this.fit(page, []);
    this.isRecalled = true;
    this.unread = page.unreadCount;
    this.changed();
  }

  get isTooLong() {
    return this.order.length > InboxModel.most && !this.isBelow();
  }

  /** Merges the first page into the list; `late` are ids that arrived after it was requested. */
  fit(page, late) {
    const ids = page.data.map(({ id }) => id);
    const fresh = this.order.filter((id) => late.includes(id) && !ids.includes(id));
    const older = page.next === null || this.isTooLong ? [] : this.below(ids, fresh);
    if (older.length === 0) this.next = page.next;
    this.order = [...fresh, ...ids, ...older];
    const pinned = this.query ? [] : page.pinned;
    for (const item of [...page.data, ...pinned]) {
      this.items.set(item.id, { ...item, read: item.read || this.viewed.has(item.id) });
    }
    const pins = pinned.map(({ id }) => id);
    const stay = this.pinned.filter((id) => !pins.includes(id) && this.order.includes(id));
    this.pinned = [...pins, ...stay];
    this.lastEventId = page.lastEventId ?? null;
    this.forgetOthers();
    this.isLoaded = true;
  }

  /**
   * Returns the ids below a page, after its last row. If that cannot be determined, it returns none, and they are
   * requested again.
   *
   * A snoozed notification returns higher in the page than before, so only rows that are also adjacent here count. If
   * others are missing just before the last row, either they are deleted or it was snoozed.
   */
  below(ids, fresh) {
    const page = new Set(ids);
    const order = this.order.filter((id) => !fresh.includes(id));
    const places = [];
    for (const place of ids.map((id) => order.indexOf(id)).reverse()) {
      if (place >= 0 && !(places.at(-1) < place)) places.push(place);
    }
    const [last, before = -1] = places;
    if (last === undefined || order.slice(before + 1, last).some((id) => !page.has(id))) return [];
    return order.slice(last + 1).filter((id) => !page.has(id));
  }

  async more() {
    const before = this.next;
    if (before === null) return;
    const page = await this.client.list({ before, ...this.query });
    if (this.next !== before) return;
    for (const item of page.data) {
      this.items.set(item.id, item);
      if (!this.order.includes(item.id)) this.order.push(item.id);
    }
    this.next = page.next;
    this.tellCount(page.unreadCount);
    this.changed();
  }

  tellCount(unread) {
    if (!Number.isInteger(unread)) return;
    this.counts += 1;
    this.unread = unread;
  }

  /**
   * Adds a notification that has arrived or returned from snooze, above all earlier ones. Returns false if it was
   * known.
   */
  arrive(item, unread) {
    this.wishes += 1;
    if (this.loading) this.arrivals.set(item.id, this.wishes);
    const isNew = !this.items.has(item.id);
    this.items.set(item.id, item);
    this.order = [item.id, ...this.order.filter((id) => id !== item.id)];
    if (item.priority === "high" && !item.read && !this.pinned.includes(item.id)) this.pinned.unshift(item.id);
    this.tellCount(unread);
    this.changed();
    // A page may stay open for weeks: the first page is read again, and older notifications are loaded on request.
    if (this.isTooLong) this.load().catch(() => {});
    return isNew;
  }

  /** Returns the notifications above all known ones. */
  above(known) {
    const end = this.order.findIndex((id) => known.has(id));
    return this.order.slice(0, end < 0 ? this.order.length : end).map((id) => this.items.get(id));
  }

  /** Applies the user's actions on other devices or a moment ago on this one. */
  setRead({ ids, all, unreadCount }) {
    this.wishes += 1;
    for (const id of all ? this.order : (ids ?? [])) this.alter(id, { read: true, seen: true });
    this.tellCount(unreadCount);
    this.changed();
  }

  setSeen(ids) {
    for (const id of ids ?? this.order) this.alter(id, { seen: true });
    this.changed();
  }

  /** Marks notifications that were on the screen as seen; a failure changes only the bell's number. */
  markSeen(ids) {
    const fresh = ids.filter((id) => isUnseen(this.items.get(id)));
    if (fresh.length === 0) return;
    this.setSeen(fresh);
    for (const some of portions(fresh)) this.client.mark(some, "seen").catch(() => {});
  }

  /** Applies an action of the user before the server has; returns a function that reverts it for some of the ids. */
  apply(ids, state) {
    const isMark = state === "read" || state === "unread";
    const places = new Map(this.order.map((id, place) => [id, place]));
    const before = ids.filter((id) => this.items.has(id)).map((id) => {
      const item = this.items.get(id);
      const left = state === "unarchived" || item.read || this.query ? 0 : -1;
      const difference = isMark ? Number(item.read) - Number(state === "read") : left;
      return { item, place: places.get(id), isPinned: this.pinned.includes(id), wasViewed: this.viewed.delete(id), difference };
    });
    const count = (some, sign) => {
      const sum = some.reduce((total, { item, difference }) => total + (this.isCounted(item) ? difference : 0), 0);
      if (some.length > 0) this.tellCount(Math.max(0, this.unread + sign * sum));
      this.changed();
    };
    if (isMark) for (const { item } of before) this.alter(item.id, { read: state === "read", seen: true });
    else {
      const gone = new Set(ids);
      this.order = this.order.filter((id) => !gone.has(id));
      this.pinned = this.pinned.filter((id) => !gone.has(id));
    }
    count(before, 1);
    return (some) => {
      const reverted = before.filter(({ item }) => some.includes(item.id)).sort((one, other) => one.place - other.place);
      for (const { item, place, isPinned, wasViewed } of reverted) {
        this.items.set(item.id, item);
        if (wasViewed) this.viewed.add(item.id);
        if (place !== undefined && !this.order.includes(item.id)) this.order.splice(place, 0, item.id);
        if (isPinned && !this.pinned.includes(item.id)) this.pinned.push(item.id);
      }
      count(reverted, -1);
    };
  }

  setCount({ unreadCount }) {
    this.tellCount(unreadCount);
    this.changed();
  }

  alter(id, change) {
    const item = this.items.get(id);
    if (item) this.items.set(id, { ...item, ...change });
  }

  /** Marks notifications that were on the screen; a failure is not shown to the user. */
  markViewed(ids) {
    const fresh = ids.filter((id) => this.items.get(id)?.read === false);
    if (fresh.length === 0) return;
    for (const id of fresh) {
      this.viewed.add(id);
      this.alter(id, { read: true, seen: true });
    }
    this.tellCount(Math.max(0, this.unread - this.countOf(fresh)));
    this.changed();
    for (const some of portions(fresh)) this.client.mark(some).catch(() => this.unmark(some));
  }

  /** Reverts marks that did not reach the server; the next viewing marks them again. */
  unmark(ids) {
    for (const id of ids) {
      this.viewed.delete(id);
      this.alter(id, { read: false });
    }
    this.tellCount(this.unread + this.countOf(ids));
    this.changed();
  }

  countOf(ids) {
    return ids.filter((id) => this.isCounted(this.items.get(id) ?? {})).length;
  }

  /** Whether the list has something to mark as read, counted or not. */
  get hasUnread() {
    return this.unread > 0 || this.order.some((id) => !this.items.get(id).read);
  }

  async markAll() {
    await this.client.markAll();
    this.viewed.clear();
    this.setRead({ all: true, unreadCount: 0 });
    await this.load();
  }

  /** Starts a new viewing, in which earlier marks no longer count as new. */
  beginViewing() {
    this.viewed.clear();
    this.pinned = this.pinned.filter((id) => this.items.get(id)?.read === false);
    this.changed();
  }

  /** Returns the groups of the page: `[{day, items}]`, pinned ones first. */
  groups(now, zones, words) {
    const groups = [];
    const pinned = new Set(this.pinned);
    if (pinned.size > 0) groups.push({ day: words.important, items: this.pinned.map((id) => this.items.get(id)) });
    for (const item of this.order.filter((id) => !pinned.has(id)).map((id) => this.items.get(id))) {
      const { day } = timeWords(Date.parse(item.createdAt), now, zones, words.tag);
      if (groups.at(-1)?.day !== day) groups.push({ day, items: [] });
      groups.at(-1).items.push(item);
    }
    return groups;
  }

  forgetOthers() {
    const kept = new Set([...this.order, ...this.pinned]);
    for (const id of this.items.keys()) if (!kept.has(id)) this.items.delete(id);
  }
}

function isUnseen(item) {
  return Boolean(item) && !item.read && !item.seen;
}

/** Divides ids into portions of at most the number that a request may name. */
function portions(ids, most = 100) {
  return ids.length === 0 ? [] : [ids.slice(0, most), ...portions(ids.slice(most))];
}
