// Fan-outs: events to large audiences.

function fanoutWords(one) {
  const about = one.usersEstimated === null ? grouped(one.users) : `${grouped(one.users)} of about ${grouped(one.usersEstimated)}`;
  return `${about} users${one.state === "cancelled" ? " on complete pages" : ""}${one.usersLeftIsCapped ? `, more than ${grouped(one.usersLeft)} left` : ""}`;
}

function fanoutShare(one) {
  if (one.finishedAt) return 1;
  const all = one.usersEstimated ?? one.users + one.usersLeft;
  return all > 0 ? one.users / all : 0;
}

function fanoutControls(one, small = true) {
  if (!client.isOperator) return [];
  const items = [String(one.fanout)];
  const [pauseKey, stopKey] = [`pause-${one.fanout}`, `stop-${one.fanout}`];
  const pause = button("Pause", () => performAtOnce({
    act: "fanout-pause", note: "fanout-note", body: { items }, key: pauseKey, doing: "Pausing …", says: `Fan-out ${one.fanout} is paused. Recorded pushes are still sent, unless a hold stops them.`,
  }).then(refreshSoon), { kind: small ? "small" : "", key: pauseKey });
  const stop = button("Stop this campaign", () => performAtOnce({
    act: "fanout-stop", note: "fanout-note", body: { items }, key: stopKey, doing: "Stopping …", says: (done) => done.tooLate ?? `${done.words} Hold ${done.hold.hold} stops all pushes of ${one.app} ${one.type}; requests in flight still go out. ${done.results?.goneWords ?? ""}`,
  }).then(refreshSoon), { kind: `${small ? "small" : ""} danger`, key: stopKey });
  const act = (verb, danger) => button(capital(verb), () => perform({
    act: `fanout-${verb}`, reasons: verb === "resume" ? REASONS.release : [], title: `${capital(verb)} fan-out ${one.fanout}`, verb: capital(verb), danger,
    body: () => ({ items: [String(one.fanout)] }),
    note: verb === "cancel" ? "Recorded notifications stay, and pages in progress may still be recorded. No further users are reached. This cannot be undone."
      : one.holds?.length > 0 ? `The fan-out continues, and its notifications are recorded. ${keptBack(one.holds)}` : null,
    says: (done) => (done.fanouts > 0
      ? `${verb === "cancel" ? "Cancelled" : "Resumed"} fan-out ${one.fanout}.${done.holds?.length > 0 ? ` ${keptBack(done.holds)}` : ""}`
      : `Nothing was changed: fan-out ${one.fanout} has ended or changed its state meanwhile.`),
  }).then(refreshSoon), { kind: `${small ? "small" : ""} ${danger ? "danger" : ""}`, key: `${verb}-${one.fanout}` });
  const reason = reasonButton(one.unexplainedBy, "fanout-note", one.fanout, small ? "small" : "");
  if (one.state === "running") return [stop, pause, ...holdReleases(one, small), reason, act("cancel", true)];
  // A hold on the whole type means that a campaign whose fan-out does not run is stopped already.
  const next = one.typeHold ? stoppedControls(one, small) : [stop];
  if (one.state === "paused") return [act("resume"), ...next, reason, act("cancel", true)];
  // Of a fan-out that has ended, only pushes that wait are left to stop. A list does not count them.
  const waits = small ? one.pushesWait : one.typeHold || one.results.waiting > 0 || !one.results.isComplete;
  return waits ? [...next, reason] : small ? [] : [reason];
}

/** Returns the effect of holds on the pushes of a fan-out that goes on. */
function keptBack(holds) {
  const named = holds.map(({ hold, covers }) => `${hold} (${covers})`).join(" and ");
  return holds.length === 1 ? `Hold ${named} still keeps its pushes back: a release sends them.` : `Holds ${named} still keep its pushes back: a release sends them.`;
}

/** The limit of buttons for holds on one card. */
const MOST_HOLDS = 3;

/** Returns the buttons that release the holds on a fan-out. */
function holdReleases(one, small) {
  return (one.holds ?? []).slice(0, MOST_HOLDS).map(({ hold, covers }) =>
    button(`Release hold ${hold}`, () => releaseHold(hold, `hold ${hold}: ${covers}`), { kind: small ? "small" : "", key: `release-${hold}-${one.fanout}` }));
}

/** Returns the buttons that end or send the deliveries of a stopped campaign; both are final. A list has no counts. */
function stoppedControls(one, small) {
  // Deliveries that are being sent have no reason, and a discard does not reach them.
  const waiting = Object.values(one.results?.waitingReasons ?? {}).reduce((sum, count) => sum + count, 0);
  const discard = waiting > 0 ? `Discard the ${grouped(waiting)} that wait` : small && one.held ? "Discard what waits" : null;
  const kind = small ? "small" : "";
  return [
    discard ? button(discard, () => discardHeld(one.typeHold, `Discard held deliveries of ${one.event}`, { event: one.event }), { kind: `${kind} danger`, key: `discard-${one.typeHold}-${one.fanout}` }) : null,
    button(`Release hold ${one.typeHold}`, () => releaseHold(one.typeHold, `hold ${one.typeHold}: ${one.app}, type ${one.type}`), { kind, key: `release-${one.typeHold}-${one.fanout}` }),
  ];
}

/** Returns the state, and whether a hold affects a part of the fan-out. */
function fanoutTags(one) {
  const state = one.stalled ? "stalled" : one.state;
  const failures = one.results?.failureWords;
  return [tag(state, failures && state === "finished" ? "warn" : stateKind(state)), failures ? tag(failures, "warn") : "", one.held ? tag("held", stateKind("held")) : one.pushesWait ? tag("pushes wait", "warn") : ""];
}

/** Returns an action on the fan-out, or on its held deliveries. */
function fanoutAct(act) {
  if (act.discarded === null) return act.act.replace("fanout-", "");
  return `discard of ${of(act.discarded, "held delivery", "held deliveries")}`;
}

/** Returns the rate and the time left, or the reason why there are none. */
function fanoutPace(one) {
  if (one.state === "running" && !one.hasWorker) return ["no worker runs"];
  if (one.stillSeconds) return [`no page complete for ${span(one.stillSeconds)}`];
  return [one.usersPerSecond ? `${short(one.usersPerSecond)} per second` : "", one.secondsLeft ? `about ${span(one.secondsLeft)} left` : ""].filter(Boolean);
}

function fanoutCard(one) {
  return el("li", { class: "group" },
    el("div", { class: "group-words" },
      el("h2", {}, link(`#/fanouts/${one.fanout}`, `${one.app} · ${one.type}`, { "data-row": "" }), fanoutTags(one), el("span", { class: "muted" }, one.everyone ? "to everyone" : `to ${one.topic}`), el("code", {}, one.event)),
      progressBar(fanoutShare(one), fanoutWords(one), one.stalled || one.trouble ? "bad" : one.state === "paused" ? "warn" : ""),
      el("p", { class: "muted small" }, [fanoutWords(one), ...fanoutPace(one)].join(" · "), " · begun ", ago(one.startedAt), one.trouble ? ` · ${one.trouble}` : "")),
    el("div", { class: "acts" }, fanoutControls(one)));
}

/** Returns the counted outcomes of the deliveries. */
function resultWords({ hasWorker, results: { sent, usersSent, waiting, discarded, notSent, isComplete, waitingReasons, notSentReasons, mayHaveArrived, beingSent } }) {
  const parts = [[waiting, "still waiting", waitingReasons], [discarded, "discarded", {}], [notSent, "not sent", notSentReasons]];
  const others = parts.filter(([count]) => count > 0).map(([count, words, reasons]) => {
    const why = Object.entries(reasons).slice(0, 5).map(([reason, its]) => `${grouped(its)} ${reason}`);
    // A delivery that is being sent is not among the reasons.
    if (words === "still waiting" && beingSent > 0) why.push(`${grouped(beingSent)} ${hasWorker ? "being sent" : "taken by a worker that no longer runs"}`);
    return `${grouped(count)} ${words}${why.length > 0 ? ` (${why.join(", ")}${Object.keys(reasons).length > 5 ? ", …" : ""})` : ""}`;
  });
  const unanswered = mayHaveArrived > 0 ? `; ${grouped(mayHaveArrived)} of the unsent may have arrived: a send without an answer preceded` : "";
  return `${isComplete ? "" : "at least "}${[`${grouped(sent)} sent to ${of(usersSent, "user")}`, ...others].join(", ")}${unanswered}`;
}

/** Returns the users with a record, if they are more than the complete pages have counted. */
function inAppWords({ recorded, results: { users, isComplete } }) {
  return users > recorded ? `; ${isComplete ? "" : "at least "}${of(users, "user has", "users have")} one in the app` : "";
}

function fanoutDetail(one) {
  return [
    el("p", { class: "crumbs" }, link("#/fanouts", "Fan-outs")),
    el("div", { class: "headline" }, el("h2", {}, `${one.app} · ${one.type}`), fanoutTags(one), el("code", {}, one.event)),
    progressBar(fanoutShare(one), fanoutWords(one), one.stalled ? "bad" : one.state === "paused" ? "warn" : ""),
    el("p", { class: "lead" }, el("b", {}, fanoutWords(one)), ...fanoutPace(one).map((words) => `, ${words}`)),
    one.waits.length > 0 ? el("ul", { class: "problems" }, one.waits.map((words) => el("li", { class: `problem ${one.stalled ? "" : "degraded"}` }, icon("bad"), el("span", {}, linked(words))))) : null,
    el("div", { class: "acts" }, fanoutControls(one, false)),
    el("div", { class: "two" },
      card("Facts", null, facts([["To", one.everyone ? "everyone" : one.topic], ["Lane", one.lane], ["Everyone", one.everyoneWords && `${capital(one.everyoneWords)}.`],
        ["New notifications", `${grouped(one.recorded)}${one.state === "finished" ? "" : ", on complete pages"}${inAppWords(one)}`],
        ["Deliveries", `${resultWords(one)}${one.finishedAt && one.openPages.length === 0 ? "" : ", pages in progress included"}`], ["Pages", one.finishedAt ? `${grouped(one.pages)} complete` : `${grouped(one.pages)} complete of ${grouped(one.pagesPlanned)} planned so far`],
        ["Users", [link(fanoutUsersAddress(one.fanout, { sent: true }), "those it was sent to"), ", ", link(fanoutUsersAddress(one.fanout), "all")]],
        ["Begun", ago(one.startedAt)], ["Last page", one.workedAt && ago(one.workedAt)], ["Paused", one.pausedAt && ago(one.pausedAt)], ["Ended", one.finishedAt && ago(one.finishedAt)]])),
      one.openPages.length === 0 ? null : card("Unfinished pages", null, table(["page", "released", "taken"], one.openPages.map((page) =>
        [grouped(page.page), ago(page.handedOverAt), ago(page.takenAt)]), { label: "pages" }))),
    one.acts.length === 0 ? null : card("What operators did", null, el("ol", { class: "timeline" }, one.acts.map((act) =>
      el("li", {}, ago(act.at), el("div", {}, el("b", {}, fanoutAct(act)), ` by ${act.by}`, el("p", {}, act.because)))))),
  ];
}

/** Returns the address of the list of a fan-out's users: of those to whom a push was sent, or of all. */
function fanoutUsersAddress(number, { sent = false, after = null } = {}) {
  return `#/fanouts/${number}?${new URLSearchParams({ users: sent ? "sent" : "all", ...(after ? { after } : {}) })}`;
}

/** Returns the reason of an outcome; what was sent needs none. */
function outcomeReason({ sent, waiting, mayHaveArrived, reason }) {
  if (sent > 0) return "";
  return [mayHaveArrived > 0 && waiting > 0 ? "still waiting" : null, reason].filter(Boolean).join(", ");
}

function fanoutUsers(found, params) {
  const sent = params.get("users") === "sent";
  const rows = found.users.map((one) => [link(personAddress(found.app, one.user), one.user, { "data-row": "" }),
    [one.outcome, one.sent > 1 ? `, ${grouped(one.sent)} deliveries` : ""], outcomeReason(one), ago(one.recordedAt), one.readAt ? ago(one.readAt) : "–"]);
  return [
    el("p", { class: "crumbs" }, link("#/fanouts", "Fan-outs"), " › ", link(`#/fanouts/${found.fanout}`, `${found.app} · ${found.type}`), " ", el("code", {}, found.event)),
    el("p", { class: "lead" }, sent ? "Users to whom a push was sent, or may have been. " : "Users who have the notification in the app. ",
      link(fanoutUsersAddress(found.fanout, { sent: !sent }), sent ? "Show all" : "Show only the sent ones")),
    rows.length === 0 ? nothing("fanouts", found.next ? "None in this part" : "No users", found.next ? "More users of the app follow." : null)
      : table(["user", "outcome", "reason", "in the app", "read"], rows, { label: "users" }),
    el("div", { class: "acts" }, params.get("after") ? link(fanoutUsersAddress(found.fanout, { sent }), "First users", { class: "button" }) : null,
      found.next ? link(fanoutUsersAddress(found.fanout, { sent, after: found.next }), "Next users", { class: "button" }) : null),
  ];
}

const fanoutsView = {
  title: "Fan-outs",
  // One fan-out's page counts up to 100,000 users at each call, and a list reads as many deliveries if some wait.
  pace: (found) => ("next" in found ? 0 : (found.fanouts ?? [found]).some(({ state }) => state === "running") ? 2 : found.fanouts ? 3 : 10),
  load(params, number) {
    if (number && params.get("users")) return client.ask("fanout-users", { sent: params.get("users") === "sent", after: params.get("after") }, [number]);
    return number ? client.ask("fanout", {}, [number]) : client.ask("fanouts");
  },
  show(found, params) {
    if (params.get("users")) return fanoutUsers(found, params);
    if (found.fanout) return fanoutDetail(found);
    if (found.count === 0) return [nothing("fanouts", "No fan-outs", "Events for a topic or for everyone show here while they are on their way, and after.")];
    const { entries, isSorted } = inPlace(found.fanouts, ({ fanout }) => fanout, { isNewFirst: true });
    return [
      el("p", { class: "lead" }, el("b", {}, of(found.count, "fan-out")), isSorted ? ", running and paused ones first." : ", in their order when the page was opened; new ones are above."),
      el("ul", { class: "groups" }, entries.map(fanoutCard)),
    ];
  },
};
