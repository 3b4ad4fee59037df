// Actions: each shows its effect first and requires a reason for the audit; large ones require the count to be typed.

/** The count from which it must be typed. */
const MANY = 10;

/** Shows a short message at the bottom of the window, with a button if `offer` is given: its text and its action. */
function toast(words, { isBad = false, offer = null } = {}) {
  const place = document.querySelector("#toasts");
  const shown = el("div", { class: `toast ${isBad ? "bad" : ""}` }, words,
    offer ? el("button", { type: "button", class: "button small", onclick: () => (shown.remove(), offer[1]()) }, offer[0]) : null);
  place.append(shown);
  setTimeout(() => shown.remove(), isBad || offer || shown.querySelector("a") ? 12_000 : 6_000);
}

/**
 * Performs an action immediately, without a dialog: it loses nothing, and each second counts.
 *
 * The reason can be added afterwards; `note` is the action that stores it. The button with the key has the text
 * `doing` meanwhile and cannot be pressed, also if its page is updated.
 */
async function performAtOnce({ act, note, body, says, key, doing }) {
  inProgress.set(key, doing);
  redraw();
  try {
    const answer = await client.act(act, { ...body, agreed: 1, because: "no reason given yet" });
    // The page is refreshed next; until then its button stays as it is.
    inProgress.delete(key);
    if (answer.done && answer.code === 0) {
      toast(typeof says === "function" ? says(answer.done) : says, { offer: ["Add a reason", () => addReason(note, body.items)] });
    } else {
      toast(inConsole(answer.nothing?.join(" ") ?? "Nothing was changed."));
    }
  } catch (refused) {
    inProgress.delete(key);
    redraw();
    toast(capital(inConsole(refused.message)), { isBad: true });
  }
}

/** Asks for the reason of an action that was performed without one; `note` is the action that stores it. */
function addReason(note, items) {
  return perform({
    act: note, title: "Add a reason", verb: "Add", asksForCount: false, body: () => ({ items }), says: () => "The audit has the reason.",
  }).then(refreshSoon);
}

/** Returns the button for the reason of the operator's own action, as long as none is stored; `by` is its operator. */
function reasonButton(by, note, item, kind = "small") {
  if (!client.isOperator || !by || by !== client.session.name) return null;
  return button("Add a reason", () => addReason(note, [String(item)]), { kind, key: `${note}-${item}` });
}

/** Whether an input has text, and not a choice. */
const holdsText = (input) => input.matches("textarea, input:not([type=checkbox])") && input.value.trim() !== "";

/** Closes the dialogs of a page that was left, except those into which the operator has typed. */
function leaveDialogs() {
  for (const box of document.querySelectorAll("dialog")) if (!box.querySelector("[data-typed]")) box.dispatchEvent(new Event("cancel"));
}

/** Opens a dialog; `build(close)` creates its content. Resolves when it is closed. */
function dialog(title, build) {
  return new Promise((resolve) => {
    const back = document.activeElement;
    const box = el("dialog", { class: "dialog", "aria-labelledby": "dialog-title" });
    const close = (value) => {
      box.close();
      box.remove();
      back?.isConnected && back.focus({ preventScroll: true });
      resolve(value);
    };
    box.addEventListener("cancel", (event) => (event.preventDefault(), close(null)));
    box.addEventListener("click", (event) => event.target === box && close(null));
    box.addEventListener("input", ({ target }) => target.toggleAttribute("data-typed", holdsText(target)));
    box.append(el("div", { class: "dialog-body" },
      el("div", { class: "dialog-head" }, el("h2", { id: "dialog-title" }, title),
        el("button", { type: "button", class: "icon-button", "aria-label": "Close", onclick: () => close(null) }, icon("cross"))),
      build(close)));
    document.body.append(box);
    box.showModal();
    const first = box.querySelector("[data-first]") ?? box.querySelector("[autofocus]");
    first?.focus();
    // The first key replaces a present value.
    if (first?.tagName === "INPUT") first.select();
  });
}

/** Returns a field with its label above. */
function field(label, input, hint) {
  return el("label", { class: "field" }, el("span", {}, label), input, hint ? el("small", {}, hint) : null);
}

/** Returns the values of a form's fields by their names; an unticked box is false. */
function written(form) {
  const values = {};
  for (const input of form.querySelectorAll("input[name], select[name], textarea[name]")) {
    values[input.name] = input.type === "checkbox" ? input.checked : input.value.trim();
  }
  return values;
}

/** Returns the lines of a command: removals in red, additions in green. */
function diffLines(lines) {
  return el("pre", { class: "diff", tabindex: "0" }, lines.map((line) =>
    el("span", { class: line.startsWith("+ ") ? "added" : line.startsWith("- ") ? "removed" : "" }, `${line}\n`)));
}

/**
 * Asks for confirmation of an action and performs it; resolves with the result, or null.
 *
 * `act` is the action's name at the server, `verb` the button's text and `body()` the selection. `extra` adds fields,
 * and `isReady` returns whether their values suffice for a preview. `reasons` are usual reasons, each written by one
 * press. `about` describes the subject. `foresee(selection)` returns more details of a preview, and whether they must be
 * confirmed. `diff(values)` returns the lines of a changed text in place of the server's.
 */
function perform({ act, title, verb, body, extra = null, reasons = [], danger = false, note = null, says = null, about = null, foresee = null, diff = null, asksForCount = true, isReady = () => true }) {
  return dialog(title, (close) => {
    const shown = el("div", { class: "shown", "aria-live": "polite" });
    const fault = el("p", { class: "fault", role: "alert", hidden: true });
    const because = el("textarea", { name: "because", rows: 2, maxlength: 2_000, required: true, autofocus: true });
    const typingLabel = el("span", {}, "Type the count");
    const typed = el("input", { name: "typed", inputmode: "numeric", autocomplete: "off" });
    const typing = el("label", { class: "field typing", hidden: true }, typingLabel, typed);
    const forecast = el("div", { class: "shown", "aria-live": "polite" });
    const sure = el("input", { type: "checkbox", name: "sure" });
    const sureBox = el("label", { class: "check", hidden: true }, sure, "Do it anyway");
    const go = el("button", { type: "submit", class: `button ${danger ? "danger" : "main"}` }, verb);
    const extras = el("div", { class: "extras" }, extra);
    let question = null;
    /** The selection of the preview; only a selection that was shown is sent. */
    let previewed = null;
    let round = 0;
    /** The request for the input without which the act is not sent. */
    let missing = "";
    /** Whether a reason was chosen before its preview has arrived. */
    let isAwaited = false;
    const complain = (words) => {
      fault.hidden = words === "";
      fill(fault, linked(words));
    };
    // A link to another page leaves the dialog.
    fault.addEventListener("click", ({ target }) => target.closest("a") && close(null));
    const weigh = () => {
      const isMany = question !== null && question.count >= MANY;
      typing.hidden = !isMany;
      const isTyped = !isMany || Number(typed.value.replaceAll(/[,\s]/g, "")) === question.count;
      typingLabel.textContent = `Type ${question?.count ?? "the count"} to confirm`;
      const isSure = sureBox.hidden || sure.checked;
      const hasReason = because.value.trim() !== "";
      missing = !hasReason ? "Give a reason." : !isTyped ? `${typingLabel.textContent}.` : !isSure ? `Tick "Do it anyway".` : "";
      go.disabled = (asksForCount && question === null) || missing !== "";
      go.textContent = question === null || question.count <= 1 ? verb : `${verb} ${grouped(question.count)}`;
    };
    const show = (answer) => {
      question = answer.question ?? null;
      // A changed text is shown as it is.
      const plain = (line) => (/^[-+] /.test(line) ? line : inConsole(line));
      const lines = question && diff ? diff(written(extras)) : (question?.lines ?? answer.nothing ?? []).map(plain);
      fill(shown, question ? el("p", { class: "deed" }, `This ${question.deed}.`) : null,
        lines.length > 0 ? diffLines(lines) : null);
      weigh();
      if (isAwaited) advance();
    };
    /** Shows the forecast of a selection, if it is still the selection when the forecast arrives. */
    const look = async (wish, mine) => {
      fill(forecast, el("p", { class: "muted" }, "Predicting the outcomes …"));
      const found = await foresee(wish).catch((refused) => ({ shown: el("p", { class: "fault" }, capital(inConsole(refused.message))) }));
      if (mine !== round) return;
      fill(forecast, found?.shown ?? null);
      sureBox.hidden = !found?.isDoubtful;
      weigh();
    };
    const preview = async () => {
      if (!asksForCount) return weigh();
      complain("");
      const mine = ++round;
      const wish = body(written(extras));
      if (!isReady(written(extras))) return show({});
      try {
        const answer = await client.act(act, { ...wish, because: "" });
        if (mine !== round) return;
        previewed = wish;
        show(answer);
        if (foresee && question) look(wish, mine);
      } catch (refused) {
        if (mine !== round) return;
        question = null;
        fill(shown);
        complain(refused.message);
        weigh();
      }
    };
    const send = async (event) => {
      event.preventDefault();
      if (go.disabled) return;
      go.disabled = true;
      complain("");
      try {
        const wish = { ...(asksForCount ? previewed : body(written(extras))), because: because.value.trim() };
        if (asksForCount) Object.assign(wish, { agreed: question.count, asOf: question.asOf });
        const answer = await client.act(act, wish);
        if (answer.question) {
          show({ question: { ...answer.question, lines: [] } });
          complain("The selection has changed meanwhile. Check the new count.");
          return;
        }
        // The subject has changed since the preview, so that nothing was left to do.
        if (answer.nothing?.length > 0) toast(inConsole(answer.nothing.join(" ")));
        else if (says) toast(says(answer.done));
        close(answer.done ?? {});
      } catch (refused) {
        complain(refused.message);
        weigh();
      }
    };
    /** Moves the focus to what is still missing; without a preview, when it has arrived. */
    const advance = () => {
      isAwaited = typing.hidden && go.disabled;
      (typing.hidden ? go : typed).focus();
    };
    /** Writes a usual reason. */
    const usual = (words) => button(words, () => {
      because.value = words;
      weigh();
      advance();
    }, { kind: "small", key: `reason-${words}` });
    let pause;
    extras.addEventListener("input", () => {
      clearTimeout(pause);
      round += 1;
      question = null;
      fill(forecast);
      sureBox.hidden = true;
      weigh();
      pause = setTimeout(preview, 350);
    });
    because.addEventListener("input", () => {
      isAwaited = false;
      weigh();
    });
    sure.addEventListener("input", weigh);
    typed.addEventListener("input", () => {
      complain("");
      weigh();
    });
    because.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      if (!go.disabled) return go.form.requestSubmit();
      if (missing !== "") complain(missing);
      if (!typing.hidden && because.value.trim() !== "") typed.focus();
    });
    preview();
    return el("form", { class: "asking", onsubmit: send }, about ? el("p", { class: "muted about" }, about) : null,
      note ? el("p", { class: "muted" }, note) : null, shown, forecast, extras,
      field("Reason", because, `For the audit, with your name: ${client.session?.name ?? ""}.`),
      reasons.length > 0 ? el("div", { class: "acts", role: "group", "aria-label": "Usual reasons" }, reasons.map(usual)) : null,
      el("div", { class: "dialog-foot" }, fault, sureBox, typing, button(verb === "Cancel" ? "Back" : "Cancel", () => close(null), { kind: "quiet" }), go));
  });
}

/** The usual reasons of acts that many perform at night, when every key counts. */
const REASONS = {
  replay: ["the provider works again", "the cause is fixed"],
  discard: ["no longer needed", "test data"],
  release: ["the cause is fixed"],
};

/** Returns the fields of a replay other than its items. */
function paceFields() {
  return [field("Rate, items per second", el("input", { name: "rate", inputmode: "numeric", "data-first": "", placeholder: "as fast as possible" })),
    el("details", {}, el("summary", {}, "More limits"), el("div", { class: "columns" },
    field("Begin at", el("input", { name: "at", placeholder: "now; 2h, or an instant" })),
    field("Pause if more than … % fail", el("input", { name: "pause-at", inputmode: "numeric", placeholder: "20" })),
    field("Skip items replayed … times or more", el("input", { name: "cap", inputmode: "numeric", placeholder: "5" })),
    el("label", { class: "check" }, el("input", { type: "checkbox", name: "ramp" }), "Ramp up: 1, then 2, 5, 10, …")))];
}

/** The fields of a selection that belong to the pace of a replay. */
const PACE = ["rate", "at", "pause-at", "ramp"];

/** Returns the forecast of a replay; it is doubtful if no item would be recorded or sent. */
async function replayForecast({ items, options = {} }) {
  const filter = Object.fromEntries(Object.entries(options).filter(([name]) => name !== "all" && !PACE.includes(name)));
  const found = await client.ask("forecast", filter, items);
  const lost = found.predictions.filter(({ prediction }) => prediction === "invalid-still").reduce((sum, { count }) => sum + count, 0);
  const isDoubtful = found.count > 0 && lost === found.count;
  return { isDoubtful, shown: [
    isDoubtful ? el("p", { class: "fault" }, `None of ${of(found.count, "item")} would be accepted; all would fail again.`) : null,
    forecastShown(found, "If you replayed them now:"),
  ] };
}

/** The actions on dead letters; `about` is `{ items }` or `{ options }`, and `what` names the items with details. */
const letterActs = {
  async replay(about, what = {}) {
    const done = await perform({
      act: "replay", title: titled("Replay", what), verb: "Replay", about: what.details, extra: paceFields(), reasons: REASONS.replay, foresee: replayForecast,
      body: (extra) => ({ ...about, options: { ...about.options, ...extra } }),
    });
    if (done?.replay) location.hash = `#/replays/${done.replay}`;
    return done;
  },
  discard: (about, what = {}) => perform({
    act: "discard", title: titled("Discard", what), verb: "Discard", danger: true, about: what.details, reasons: REASONS.discard, body: () => about,
    note: "Discarded items stay in the table and can be restored; a new failure reopens them.",
    says: (done) => `Discarded ${of(done.items, "item")}.${done.act ? ` Act ${done.act} can be undone in the audit.` : ""}`,
  }),
  restore: (about, what = {}) => perform({
    act: "restore", title: titled("Restore", what), verb: "Restore", about: what.details, body: () => about, says: (done) => `Restored ${of(done.items, "item")}.`,
  }),
  note: (about, what = {}) => perform({
    act: "note", title: titled("Add a note to", what), verb: "Add", about: what.details, body: () => about, note: "The reason is the note.",
    says: (done) => `Noted on ${of(done.items, "item")}.`,
  }),
  edit(about, what = {}) {
    const places = el("textarea", { name: "set", rows: 3, "data-first": "", placeholder: "/to={\"user\":\"u1\"}", spellcheck: "false", autocapitalize: "off" });
    return perform({
      act: "edit", title: titled("Edit", what), verb: "Edit", about: what.details,
      note: "One change for all of them: a corrected copy goes out in the place of each; what would be refused again stays.",
      extra: [
        field("Places and values, one a line", places, "A place such as /id or /data/amount, then =, then the value."),
        field("Routing key", el("input", { name: "routing-key", placeholder: "as it is", spellcheck: "false", autocapitalize: "off" })),
        field("At most this many items", el("input", { name: "limit", inputmode: "numeric", placeholder: "all, if they are at most 1,000" })),
        field("Rate, items per second", el("input", { name: "rate", inputmode: "numeric", placeholder: "as fast as possible" })),
      ],
      body: ({ set = "", ...extra }) => ({ ...about, options: { ...about.options, ...extra, set: set.split("\n").filter(Boolean) } }),
      isReady: (extra) => extra.set !== "" || extra["routing-key"] !== "",
      says: (done) => [`Edited ${of(done.items, "item")}.`, done.replay ? [" ", link(`#/replays/${done.replay}`, `Replay ${done.replay}`), " sends the copies."] : ""],
    });
  },
  async forecast(about) {
    await dialog("Dry run", (close) => {
      const shown = el("div", { class: "shown", "aria-live": "polite" }, el("p", { class: "muted" }, "Asking the rules and tables as they are …"));
      const { all: _, ...filter } = about.options ?? {};
      client.ask("forecast", filter, about.items).then((found) => fill(shown, forecastShown(found)),
        (refused) => fill(shown, el("p", { class: "fault" }, capital(inConsole(refused.message)))));
      return el("div", {}, shown, el("div", { class: "dialog-foot" }, button("Close", () => close(null), { kind: "quiet" })));
    });
  },
};

/** Returns the title of a dialog: the action and its subject. */
function titled(verb, { name = "" }) {
  return name === "" ? verb : `${verb} ${name}`;
}

function forecastShown(found, words = `If you replayed ${of(found.count, "item")} now; nothing was changed.`) {
  const left = [["too old to be replayed", found.tooOld], ["replayed too often", found.tooOften], ["only the beginning of the body is left", found.bodyCut]]
    .filter(([, count]) => count > 0);
  return [
    found.warning ? el("p", { class: "fault" }, `${capital(inConsole(found.warning))}.`) : null,
    el("p", { class: "deed" }, words),
    table(["prediction", "#items"], found.predictions.map(({ prediction, detail, count, until }) =>
      [`${detail ? `${prediction}: ${detail}` : prediction}${until ? `, the last at ${clock(until)}` : ""}`, grouped(count)]), { label: "predictions" }),
    left.map(([words, count]) => el("p", { class: "muted" }, `${of(count, "item")} stay: ${words}.`)),
    found.ahead.map(({ outlet, waiting }) => el("p", { class: "muted" }, `${grouped(waiting)} wait in the backlog of ${outlet}: what is sent there goes behind them.`)),
  ];
}
