// The client for apps: it also has the calls that the notification centre does not need.

class BellhopClient extends InboxClient {
  /** Writes a whole document of preferences, such as a client's earlier one; only if there is none, with `onlyNew`. */
  replacePreferences(document, { onlyNew = false } = {}) {
    const headers = onlyNew ? { "If-None-Match": "*" } : {};
    return this.call("PUT", "/api/preferences", document, { headers });
  }

  async follows() {
    return (await this.call("GET", "/api/follows")).data;
  }

  /** Follows a topic. A toggle of the user changes `muted`, which keeps the role; `unfollow` removes it. */
  follow(topic, members) {
    return this.call("PUT", placeOf("follows", topic), members);
  }

  unfollow(topic) {
    return this.call("DELETE", placeOf("follows", topic));
  }

  async reminders() {
    return (await this.call("GET", "/api/reminders")).data;
  }

  addReminder(reminder) {
    return this.call("POST", "/api/reminders", reminder);
  }

  /** Creates or replaces a reminder; a repeat has no effect. */
  setReminder(id, reminder) {
    return this.call("PUT", placeOf("reminders", id), reminder);
  }

  changeReminder(id, members) {
    return this.call("PATCH", placeOf("reminders", id), members);
  }

  removeReminder(id) {
    return this.call("DELETE", placeOf("reminders", id));
  }
}

function placeOf(kind, name) {
  return `/api/${kind}/${encodeURIComponent(name)}`;
}
