// Reading: a person reads a notification by looking at it for long enough, or by opening it.

class Reading {
  /** `inbox` is the element. */
  constructor(inbox) {
    this.inbox = inbox;
  }

  /** Marks as read what a person has looked at; returns whether something needs a longer look. */
  looked(times) {
    const { places, session, catalog } = this.inbox;
    if (!places.isListed) return false;
    const atSight = catalog?.readOnView;
    const needed = atSight ? ListView.glance : BellhopInbox.reading;
    const open = times.filter(([id]) => {
      const item = session.shown.items.get(id);
      // Important ones are read when they are opened.
      return item && !item.read && (atSight || item.priority !== "high");
    });
    this.read(open.filter(([, time]) => time >= needed).map(([id]) => id));
    return open.some(([, time]) => time < needed);
  }

  read(ids) {
    const { session } = this.inbox;
    session.shown.markViewed(ids);
    if (session.side) session.model.setRead({ ids });
  }

  /** Lets the surrounding page open the notification or its button: a page that cancels the event has done so. */
  open(item, event, action) {
    this.read([item.id]);
    const { inbox } = this;
    if (inbox.emit("open", { notification: item, url: inbox.addressOf(action ?? item), action })) event.preventDefault();
  }
}
