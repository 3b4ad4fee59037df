// Actions: each shows its effect first and requires a reason for the audit; large ones require the count to be typed.

/** The count from which it must be typed. */
const MANY = 10;

/** Shows a short message at the bottom of the window. */
function toast(words, isBad = false) {
  const place = document.querySelector("#toasts");
  const shown = el("div", { class: `toast ${isBad ? "bad" : ""}` }, words);
  place.append(shown);
  setTimeout(() => shown.remove(), isBad ? 12_000 : 6_000);
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
    box.append(el("div", { class: "dialog-body" },
      el("div", { class: "dialog-head" }, el("h2", { id: "dialog-title" }, title),
        el("button", { type: "button", class: "icon-button", "aria-label": "Close", onclick: () => close(null) }, icon("cross"))),
      build(close)));
    document.body.append(box);
    box.showModal();
    (box.querySelector("[data-first]") ?? box.querySelector("[autofocus]"))?.focus();
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
 * and `isReady` returns whether their values suffice for a preview.
 */
function perform({ act, title, verb, body, extra = null, danger = false, note = null, says = null, asksForCount = true, isReady = () => true }) {
  return dialog(title, (close) => {
    const shown = el("div", { class: "shown", "aria-live": "polite" });
    const fault = el("p", { class: "fault", role: "alert", hidden: true });
    const because = el("textarea", { name: "because", rows: 2, maxlength: 2_000, required: true, autofocus: true });
    const typed = el("input", { name: "typed", inputmode: "numeric", autocomplete: "off" });
    const typing = el("div", { hidden: true }, field("Type the count to go on", typed));
    const go = el("button", { type: "submit", class: `button ${danger ? "danger" : "main"}` }, verb);
    const extras = el("div", { class: "extras" }, extra);
    let question = null;
    /** The selection of the preview; only a selection that was shown is sent. */
    let previewed = null;
    let round = 0;
    const complain = (words) => {
      fault.hidden = words === "";
      fault.textContent = words;
    };
    const weigh = () => {
      const isMany = question !== null && question.count >= MANY;
      typing.hidden = !isMany;
      const isTyped = !isMany || Number(typed.value.replaceAll(/[,\s]/g, "")) === question.count;
      go.disabled = (asksForCount && question === null) || !isTyped || because.value.trim() === "";
      go.textContent = question === null || question.count === 1 ? verb : `${verb} ${grouped(question.count)}`;
    };
    const show = (answer) => {
      question = answer.question ?? null;
      const lines = question?.lines ?? answer.nothing ?? [];
      fill(shown, question ? el("p", { class: "deed" }, `This ${question.deed}.`) : null,
        lines.length > 0 ? diffLines(lines) : null);
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
          complain("The selection has changed; reload.");
          return;
        }
        if (says) toast(says(answer.done));
        close(answer.done ?? {});
      } catch (refused) {
        complain(refused.message);
        weigh();
      }
    };
    let pause;
    extras.addEventListener("input", () => {
      clearTimeout(pause);
      round += 1;
      question = null;
      weigh();
      pause = setTimeout(preview, 350);
    });
    because.addEventListener("input", weigh);
    typed.addEventListener("input", weigh);
    because.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) go.form.requestSubmit();
    });
    preview();
    return el("form", { class: "asking", onsubmit: send }, note ? el("p", { class: "muted" }, note) : null, shown, extras,
      field("Because", because, `For the audit, with your name: ${client.session?.name ?? ""}.`), typing, fault,
      el("div", { class: "dialog-foot" }, button("Cancel", () => close(null), { kind: "quiet" }), go));
  });
}

/** Returns the fields of a replay other than its items. */
function paceFields() {
  return el("details", {}, el("summary", {}, "Pace and limits"), el("div", { class: "columns" },
    field("Maximum rate (items per second)", el("input", { name: "rate", inputmode: "numeric", placeholder: "as fast as it goes" })),
    field("Begin at", el("input", { name: "at", placeholder: "now; 2h, or an instant" })),
    field("Pause at failure rate (percent)", el("input", { name: "pause-at", inputmode: "numeric", placeholder: "20" })),
    field("Leave out what was replayed so often", el("input", { name: "cap", inputmode: "numeric", placeholder: "5" })),
    el("label", { class: "check" }, el("input", { type: "checkbox", name: "ramp" }), "Ramp up: 1, then 2, 5, 10, …")));
}

/** The actions on dead letters; `about` is `{ items }` or `{ options }`. */
const letterActs = {
  async replay(about) {
    const done = await perform({
      act: "replay", title: "Replay", verb: "Replay", extra: paceFields(),
      body: (extra) => ({ ...about, options: { ...about.options, ...extra } }),
    });
    if (done?.replay) location.hash = `#/replays/${done.replay}`;
    return done;
  },
  discard: (about) => perform({
    act: "discard", title: "Discard", verb: "Discard", danger: true, body: () => about,
    note: "Discarded items stay in the table and can be restored; a new failure reopens them.",
    says: (done) => `Discarded ${of(done.items, "item")}.${done.act ? ` Act ${done.act} can be undone in the audit.` : ""}`,
  }),
  restore: (about) => perform({
    act: "restore", title: "Restore", verb: "Restore", body: () => about, says: (done) => `Restored ${of(done.items, "item")}.`,
  }),
  note: (about) => perform({
    act: "note", title: "Add a note", verb: "Add", body: () => about, note: "The reason is the note.",
    says: (done) => `Noted on ${of(done.items, "item")}.`,
  }),
  edit(about) {
    const places = el("textarea", { name: "set", rows: 3, "data-first": "", placeholder: "/to={\"user\":\"u1\"}", spellcheck: "false", autocapitalize: "off" });
    return perform({
      act: "edit", title: "Edit", verb: "Edit",
      note: "One change for all of them: a corrected copy goes out in the place of each; what would be refused again stays.",
      extra: [
        field("Places and values, one a line", places, "A place such as /id or /data/amount, then =, then the value."),
        field("Another routing key", el("input", { name: "routing-key", spellcheck: "false", autocapitalize: "off" })),
      ],
      body: ({ set = "", ...extra }) => ({ ...about, options: { ...about.options, ...extra, set: set.split("\n").filter(Boolean) } }),
      isReady: (extra) => extra.set !== "" || extra["routing-key"] !== "",
      says: (done) => `${of(done.items, "copy", "copies")} on the way, replay ${done.replay ?? "–"}.`,
    });
  },
  async forecast(about) {
    await dialog("Dry run", (close) => {
      const shown = el("div", { class: "shown", "aria-live": "polite" }, el("p", { class: "muted" }, "Asking the rules and tables as they are …"));
      const { all: _, ...filter } = about.options ?? {};
      client.ask("forecast", filter, about.items).then((found) => fill(shown, forecastShown(found)),
        (refused) => fill(shown, el("p", { class: "fault" }, refused.message)));
      return el("div", {}, shown, el("div", { class: "dialog-foot" }, button("Close", () => close(null), { kind: "quiet" })));
    });
  },
};

function forecastShown(found) {
  const left = [["too old to be replayed", found.tooOld], ["replayed too often", found.tooOften], ["only the beginning of the body is left", found.bodyCut]]
    .filter(([, count]) => count > 0);
  return [
    el("p", { class: "deed" }, `A replay of ${of(found.count, "item")} at this moment; nothing was changed.`),
    table(["prediction", "#items"], found.predictions.map(({ prediction, detail, count }) => [detail ? `${prediction}: ${detail}` : prediction, grouped(count)]), { label: "predictions" }),
    left.map(([words, count]) => el("p", { class: "muted" }, `${of(count, "item")} stay: ${words}.`)),
    found.ahead.map(({ outlet, waiting }) => el("p", { class: "muted" }, `${grouped(waiting)} wait in the backlog of ${outlet}: what is sent there goes behind them.`)),
  ];
}
