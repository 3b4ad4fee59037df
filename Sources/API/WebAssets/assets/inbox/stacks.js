// Stacks: of alike notifications that follow one another, the list shows the latest, and the others on request.

class Stacks {
  /** The fewest notifications that are put behind another one. */
  static fewest = 3;

  /** The ids of notifications that the user has unfolded. */
  opened = new Set();
  /** The ids of notifications that stay on the screen in this viewing, so that none disappears while it is looked at. */
  single = new Set();

  /** Begins a new viewing, in which what stood alone may be in a stack. */
  begin() {
    this.single.clear();
  }

  /**
   * Divides the notifications of a day into rows: `{ item }`, or `{ key, items, hidden, isOpen }` for a stack's button,
   * below those that are shown in any case. `isHeld(id)` returns whether the user is at a notification.
   */
  rows(items, isHeld) {
    return runsOf(items).flatMap((run) => this.rowsOf(run, isHeld));
  }

  rowsOf(run, isHeld) {
    const opened = run.findIndex(({ id }, place) => place > 0 && this.opened.has(id));
    const isOpen = opened > 0;
    const stays = ({ id }, place) => place > 0 && (this.single.has(id) || isHeld(id));
    const first = isOpen ? opened : Math.max(1, run.findLastIndex(stays) + 1);
    const isStack = run.length - first >= Stacks.fewest;
    const [shown, hidden] = isStack ? [run.slice(0, first), run.slice(first)] : [run, []];
    for (const { id } of shown.slice(1)) this.single.add(id);
    const rows = shown.map((item) => ({ item }));
    if (!isStack) return rows;
    rows.push({ key: `stack ${run.at(-1).id}`, items: run, hidden, isOpen });
    if (!isOpen) return rows;
    for (const { id } of hidden) this.opened.add(id);
    return rows.concat(hidden.map((item) => ({ item })));
  }

  toggle({ hidden, isOpen }) {
    for (const { id } of hidden) this.opened[isOpen ? "delete" : "add"](id);
  }
}

/** Returns the runs of alike notifications: of one type, and about the same thing if they name one. */
function runsOf(items) {
  const runs = [];
  for (const item of items) {
    const last = runs.at(-1)?.[0];
    const isAlike = last && last.type === item.type && (last.targetId ?? null) === (item.targetId ?? null);
    if (isAlike) runs.at(-1).push(item);
    else runs.push([item]);
  }
  return runs;
}

/** The row of a stack: a button that unfolds it, and a menu for all of its notifications. */
class StackRow {
  /** `list` is the view that shows it. */
  constructor(list, key) {
    this.list = list;
    const toggle = () => this.toggle();
    this.count = element("span");
    this.fresh = element("span", { class: "fresh" });
    this.about = element("span", { class: "spoken" });
    this.button = element("button", { class: "fold", part: "stack", onclick: toggle }, drawing("Down"), this.count, this.fresh, this.about);
    this.menu = menuButton(() => list.actions.menu(this.items, this.menu));
    this.node = element("li", { class: "stack", "data-id": key }, this.button, element("span", { class: "tools" }, this.menu));
  }

  fill(stack, model) {
    const { words, types } = this.list.facts;
    const { items, hidden, isOpen } = stack;
    this.stack = stack;
    const unread = hidden.filter((item) => model.isNew(item)).length;
    setText(this.count, isOpen ? words.fewer : words.others(hidden.length));
    setText(this.fresh, isOpen || unread === 0 ? "" : words.unreadFilter(unread));
    setText(this.about, `, ${types.get(items[0].type)?.label ?? items[0].title}`);
    this.button.setAttribute("aria-expanded", String(isOpen));
    this.menu.ariaLabel = words.actionsFor(words.allOf(items.length));
  }

  get items() {
    return this.stack.items;
  }

  toggle() {
    this.list.stacks.toggle(this.stack);
    this.list.renderAgain();
  }

  /** Does what a key means, to all notifications of the stack. */
  pressKey(key) {
    const { actions, archiving } = this.list;
    const unread = this.items.filter(({ read }) => !read);
    if (key === "e") actions.act(this.items, archiving);
    else if (key === "u" && unread.length > 0) actions.act(unread, "read");
    else return false;
    return true;
  }
}
