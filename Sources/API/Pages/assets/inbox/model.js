// What is known of a user's inbox, and what the page shows of it.

class InboxModel {
  constructor(client, changed) {
    this.client = client;
    this.changed = changed;
    this.items = new Map();
    /** Ids, the newest first. */
    this.order = [];
    /** Ids that stay at the top for as long as the reader looks, read or not. */
    this.pinned = [];
    /** What was marked as read in this viewing: its dot stays until the reader comes back. */
    this.viewed = new Set();
    this.unread = 0;
    this.next = null;
    /** The place in the stream that the list belongs to. */
    this.lastEventId = null;
    this.isLoaded = false;
    this.wishes = 0;
  }

  /** What the reader sees as unread. */
  isNew(item) {
    return !item.read || this.viewed.has(item.id);
  }

  /** Reads the first page again, and once more where something has happened meanwhile that it may not have seen. */
  load() {
    this.wishes += 1;
    this.loading ??= this.readFirst().finally(() => (this.loading = null));
    return this.loading;
  }

  async readFirst() {
    let page;
    for (let round = 0, wish = -1; wish !== this.wishes && round < 3; round += 1) {
      wish = this.wishes;
      page = await this.client.list();
    }
    this.fit(page);
  }

  /** Fits the first page to what is there. */
  fit(page) {
    const known = new Set(this.order);
    const ids = page.data.map(({ id }) => id);
    const oldest = page.data.at(-1)?.createdAt ?? "";
    const overlaps = page.next !== null && ids.some((id) => known.has(id));
    const older = overlaps
      ? this.order.filter((id) => !ids.includes(id) && this.items.get(id).createdAt < oldest)
      : [];
    if (older.length === 0) this.next = page.next;
    this.order = [...ids, ...older];
    for (const item of [...page.data, ...page.pinned]) {
      this.items.set(item.id, { ...item, read: item.read || this.viewed.has(item.id) });
    }
    const pins = page.pinned.map(({ id }) => id);
    const stay = this.pinned.filter((id) => !pins.includes(id) && this.order.includes(id));
    this.pinned = [...pins, ...stay];
    this.unread = page.unreadCount;
    this.lastEventId = page.lastEventId ?? null;
    this.forgetOthers();
    this.isLoaded = true;
    this.changed();
  }

  async more() {
    const before = this.next;
    if (before === null) return;
    const page = await this.client.list(before);
    if (this.next !== before) return;
    for (const item of page.data) {
      this.items.set(item.id, item);
      if (!this.order.includes(item.id)) this.order.push(item.id);
    }
    this.next = page.next;
    this.unread = page.unreadCount;
    this.changed();
  }

  /** One that has just come; false for one that is known. */
  arrive(item, unread) {
    this.wishes += 1;
    const isNew = !this.items.has(item.id);
    this.items.set(item.id, item);
    this.order = this.order.filter((id) => id !== item.id);
    const place = this.order.findIndex((id) => this.items.get(id).createdAt <= item.createdAt);
    this.order.splice(place < 0 ? this.order.length : place, 0, item.id);
    if (item.priority === "high" && !item.read && !this.pinned.includes(item.id)) this.pinned.unshift(item.id);
    if (Number.isInteger(unread)) this.unread = unread;
    this.changed();
    return isNew;
  }

  /** What stands above everything that was known. */
  above(known) {
    const end = this.order.findIndex((id) => known.has(id));
    return this.order.slice(0, end < 0 ? this.order.length : end).map((id) => this.items.get(id));
  }

  /** What the user did elsewhere, or here a moment ago. */
  setRead({ ids, all, unreadCount }) {
    this.wishes += 1;
    for (const id of all ? this.order : (ids ?? [])) this.alter(id, { read: true, seen: true });
    if (Number.isInteger(unreadCount)) this.unread = unreadCount;
    this.changed();
  }

  setCount({ unreadCount }) {
    if (Number.isInteger(unreadCount)) this.unread = unreadCount;
    this.changed();
  }

  alter(id, change) {
    const item = this.items.get(id);
    if (item) this.items.set(id, { ...item, ...change });
  }

  /** Marks what was on the screen; whether it arrives is no concern of the reader's. */
  markViewed(ids) {
    const fresh = ids.filter((id) => this.items.get(id)?.read === false);
    if (fresh.length === 0) return;
    for (const id of fresh) {
      this.viewed.add(id);
      this.alter(id, { read: true, seen: true });
    }
    this.unread = Math.max(0, this.unread - fresh.length);
    this.changed();
    for (let start = 0; start < fresh.length; start += 100) {
      this.client.mark(fresh.slice(start, start + 100)).catch(() => this.unmark(fresh.slice(start, start + 100)));
    }
  }

  /** Nobody was told: the next look marks them again. */
  unmark(ids) {
    for (const id of ids) {
      this.viewed.delete(id);
      this.alter(id, { read: false });
    }
    this.unread += ids.length;
    this.changed();
  }

  async markAll() {
    await this.client.call("PATCH", "/api/notifications", { all: true });
    this.viewed.clear();
    this.setRead({ all: true, unreadCount: 0 });
    await this.load();
  }

  /** The reader comes back: what was marked before is old by now. */
  beginViewing() {
    this.viewed.clear();
    this.pinned = this.pinned.filter((id) => this.items.get(id)?.read === false);
    this.changed();
  }

  /** Groups as they stand on the page: `[{day, items}]`, what is pinned first. */
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
