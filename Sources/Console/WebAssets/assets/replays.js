// Replays: their progress and their results.

/** Returns the state: a replay is stored as running before its start time, too. */
function replayState({ state, scheduled }) {
  return scheduled ? "scheduled" : state;
}

/** Outcomes that are shown as failures. */
const BAD = ["failed", "refused", "too-old"];

/** Returns the buttons of a replay that has not ended; `small` is for a row of a list, which has no counts. */
function replayControls(replay, small = false) {
  if (!client.isOperator || replay.finishedAt) return [];
  const own = small ? "small " : "";
  const rateField = (isFirst) => field("Rate, items per second", el("input", { name: "rate", inputmode: "numeric", "data-first": isFirst, value: replay.rate ?? "", placeholder: "as fast as possible" }));
  const rate = () => perform({
    act: "replay-rate", title: `Rate of replay ${replay.replay}`, verb: "Change the rate", asksForCount: false, extra: rateField(true),
    body: (extra) => ({ items: [String(replay.replay)], options: extra }), says: (done) => `Changed the rate of replay ${replay.replay} to ${grouped(done.rate)} per second.`,
  }).then(refreshSoon);
  const pauseKey = `pause-replay-${replay.replay}`;
  const pause = () => performAtOnce({
    act: "replay-pause", note: "replay-note", body: { items: [String(replay.replay)] }, key: pauseKey, doing: "Pausing …", says: `Paused replay ${replay.replay}.`,
  }).then(refreshSoon);
  const control = (verb, words, danger) => button(words, () => perform({
    act: `replay-${verb}`, title: `${words} replay ${replay.replay}`, verb: words, danger, asksForCount: false,
    extra: verb === "resume" ? rateField(false) : null, body: (extra) => ({ items: [String(replay.replay)], options: extra }),
    note: verb === "cancel" ? `${small ? "The items" : grouped(replay.waiting ?? 0)} that wait open again; what has gone out comes to its end.` : null,
    // It names the act and not the state, since it outlasts the state of a replay that ends soon.
    says: () => `${verb === "cancel" ? "Cancelled" : "Resumed"} replay ${replay.replay}.`,
  }).then(refreshSoon), { kind: `${own}${danger ? "danger" : ""}`, key: `${verb}-${replay.replay}` });
  const cancel = control("cancel", "Cancel", true);
  const change = small ? null : button("Rate …", rate, { key: "rate" });
  if (replay.state === "paused") return [control("resume", "Resume"), change, cancel];
  return replay.state === "running" ? [button("Pause", pause, { kind: small ? "small" : "main", key: pauseKey }), change, cancel] : [];
}

/** Outcomes after which the users have what was replayed. */
const GOOD = ["delivered", "recorded", "fanned-out", "already-recorded", "already-delivered"];

/** Whether a replay has ended, and each of its items has reached its users. */
function isGood(replay) {
  return replay.state === "done" && replay.reach?.users !== 0 && Object.keys(replay.outcomes).every((name) => GOOD.includes(name));
}

/** Returns the items of a replay that ended without a message for their users, by outcome and reason. */
function unsentShown(unsent) {
  if (unsent.length === 0) return null;
  const letters = (items) => items.flatMap((id, place) => [place > 0 ? ", " : null, link(`#/letter/${encodeURIComponent(id)}`, id.slice(0, 12))]);
  return card("Not sent", el("span", { class: "muted" }, of(unsent.reduce((sum, { count }) => sum + count, 0), "item")),
    table(["outcome", "reason", "#items", "which"], unsent.map((one) =>
      [tag(one.outcome), one.reason ?? "–", grouped(one.count), [letters(one.items), one.count > one.items.length ? ", …" : ""]]), { label: "not sent" }));
}

/** Returns the deliveries of a replay that had to wait in the ledger, by reason, with the holds that stop them. */
function deferredShown(deferred) {
  if (deferred.length === 0) return null;
  return card("Waiting in the ledger", el("span", { class: "muted" }, of(deferred.reduce((sum, { count }) => sum + count, 0), "item")),
    table(["reason", "#items", "behind"], deferred.map((one) =>
      [one.reason ?? "–", grouped(one.count), one.holds.length > 0 ? link("#/holds", one.holds.map((hold) => `hold ${hold}`).join(", ")) : "–"]), { label: "waiting in the ledger" }));
}

/** Returns the number of items that ended without a message, except those that a cancellation left, for a summary. */
function unsentWords({ unsent }) {
  const count = unsent.reduce((sum, one) => sum + (one.outcome === "cancelled" ? 0 : one.count), 0);
  return count > 0 ? `, ${grouped(count)} not sent` : "";
}

/** Returns the parts of an address that explain a dead letter; `null` if it does not name a user and an event. */
function explained({ app, user, eventId, notificationId }) {
  if (!app || !user || !(eventId || notificationId)) return null;
  return notificationId ? { app, user, notification: notificationId } : { app, user, event: eventId };
}

/** Returns the words for what a user has of an event: in the app, and of each delivery. */
function possession({ answer, notification, deliveries }) {
  if (!notification) return `: ${answer[0]}`;
  const { recordedAt, readAt, supersededBy } = notification;
  const place = ({ channel, platform, provider }) => (channel === "email" ? "E-mail" : platform ? `Push to ${platform} through ${provider}` : "Push");
  return [
    ` has it in the app since ${clock(recordedAt)}, ${readAt ? `read at ${clock(readAt)}` : "not read"}.`,
    supersededBy ? `${supersededBy} has taken its place.` : "",
    deliveries.length === 0 ? "No push or e-mail was planned." : "",
    ...deliveries.map((one) => `${place(one)}: ${one.words}.`),
  ].filter(Boolean).join(" ");
}

/**
 * Returns what the user of a replayed item has now, or `null` if Bellhop has no record of it.
 *
 * It is without the instant of the request, so that an unchanged page is not drawn again.
 */
async function whatUserHas(letter) {
  const about = explained(letter);
  if (!about || !client.isOperator) return null;
  const { notification, ...event } = about;
  const found = await client.ask("explain", event, notification ? [notification] : []).catch(() => null);
  if (!found?.found) return null;
  return { words: possession(found), isOpen: found.deliveries.some(({ state }) => ["pending", "sending"].includes(state)) };
}

/** Returns what the user of the only item of a replay has now, with links to the item and to the details. */
function replayedLetter(letter, userHas) {
  const about = explained(letter);
  const address = about && (client.isOperator ? `#/explain?${new URLSearchParams(about)}` : personAddress(about.app, about.user));
  const user = () => el("bdi", {}, letter.user);
  return [
    userHas ? el("p", { class: "has-now" }, el("b", {}, user()), linked(userHas.words)) : null,
    el("p", { class: "acts" }, link(`#/letter/${encodeURIComponent(letter.id)}`, "The item", { class: "button small" }),
      address ? link(address, el("span", {}, "What ", user(), " has now"), { class: "button small" }) : null),
  ];
}

function replayShown(replay) {
  const settled = Object.values(replay.outcomes).reduce((sum, one) => sum + one, 0);
  const failed = BAD.map((name) => replay.outcomes[name] ?? 0).reduce((sum, one) => sum + one, 0);
  // The unsent items of a cancelled replay are settled without progress.
  const sent = settled - replay.left;
  const share = replay.items > 0 ? sent / replay.items : 1;
  const words = replay.state === "cancelled" ? `${grouped(replay.items - replay.left)} of ${of(replay.items, "item")} replayed, ${grouped(replay.left)} left unsent`
    : `${grouped(settled)} of ${of(replay.items, "item")} settled`;
  return [
    el("p", { class: "crumbs" }, link("#/replays", "Replays")),
    el("div", { class: "headline" }, el("h2", {}, `Replay ${replay.replay}`), tag(replayState(replay), isGood(replay) ? "good" : replay.state === "done" ? "" : stateKind(replayState(replay))),
      replay.pauseReason && replay.state === "paused" ? tag(replay.pauseReason, "warn") : null),
    el("p", { class: "lead" }, `By ${replay.by}, ${replay.scheduled ? "created" : "begun"} `, ago(replay.startedAt), replay.scheduled ? [", starts ", ago(replay.notBefore)] : "", `: ${replay.because}`),
    progressBar(share, words, replay.state === "paused" ? "warn" : "", replay.items > 0 ? failed / replay.items : 0),
    el("p", { class: "lead" }, el("b", {}, words), failed > 0 ? `, ${grouped(failed)} failed` : "", unsentWords(replay), replay.reach ? `, fanned out ${replay.reach.words}` : "", replay.underWay > 0 ? `, ${grouped(replay.underWay)} under way` : "",
      replay.secondsLeft ? `, about ${span(replay.secondsLeft)} left` : replay.stillSeconds ? `, nothing settled for ${span(replay.stillSeconds)}` : "", replay.notBefore && !replay.finishedAt ? `, from ${clock(replay.notBefore)} on` : ""),
    replay.obstacle ? notice(replay.obstacle, "degraded") : null,
    replay.letter ? replayedLetter(replay.letter, replay.userHas) : null,
    el("div", { class: "acts" }, replayControls(replay)),
    el("div", { class: "two" },
      card("Outcomes", null, table(["outcome", "#items"], [
        ...[["waiting", replay.waiting], ["under way", replay.underWay]].filter(([, count]) => count > 0),
        ...Object.entries(replay.outcomes),
      ].map(([name, count]) => [tag(name, BAD.includes(name) ? "bad" : ["waiting", "under way"].includes(name) ? "busy" : name === "delivered" ? "good" : ""), grouped(count)]), { label: "outcomes" })),
      card("How", null, facts([["Rate", replay.rate ? `${grouped(replay.rate)}/s` : "as fast as it goes"], ["Ramp", replay.ramp ? "yes" : "no"],
        ["Pauses at", `${replay.pauseAt} % failed`], ["Ended", replay.finishedAt && clock(replay.finishedAt)],
        ["Filter", filterShown(replay.filter, { group: replay.group, none: "all open items" })]]))),
    unsentShown(replay.unsent),
    deferredShown(replay.deferred),
    replay.failures.length === 0 ? null : card("What failed last", null, table(["item", "outcome", "reason", "error", "when"], replay.failures.map((one) =>
      [link(`#/letter/${encodeURIComponent(one.id)}`, one.id.slice(0, 12)), one.outcome, one.reason, one.error, ago(one.at)]), { label: "failures" })),
  ];
}

const replaysView = {
  title: "Replays",
  async load(params, number) {
    const found = await client.ask("replays", {}, number ? [number] : []);
    const { items } = found.filter ?? {};
    if (items?.length !== 1) return found;
    const letter = await client.ask("letter", {}, items).catch(() => null);
    return { ...found, letter, userHas: letter && found.finishedAt ? await whatUserHas(letter) : null };
  },
  /** A running replay is polled every second, a list that has one every two seconds. */
  pace(found) {
    if (found.replays) return found.replays.some((one) => replayState(one) === "running") ? 2 : 5;
    return found.scheduled || found.userHas?.isOpen ? 5 : found.finishedAt ? 30 : 1;
  },
  show(found) {
    if (!found.replays) return replayShown(found);
    if (found.replays.length === 0) return [nothing("replays", "No replays yet", "Start a replay from dead letters; it runs in the background.")];
    const settled = (one) => (one.left > 0 ? `${grouped(one.settled - one.left)}, ${grouped(one.left)} left` : grouped(one.settled));
    const buttons = (one) => (one.finishedAt ? "" : el("div", { class: "acts" }, replayControls(one, true)));
    const acts = (one) => (client.isOperator ? [buttons(one)] : []);
    return [table(["replay", "state", "begun", "by", "#items", "#settled", "because", ...client.isOperator ? ["acts"] : []], found.replays.map((one) => [
      link(`#/replays/${one.replay}`, `Replay ${one.replay}`, { "data-row": "" }), tag(replayState(one), stateKind(replayState(one))), ago(one.scheduled ? one.notBefore : one.startedAt), one.by, grouped(one.items), settled(one), one.because, ...acts(one)]), { label: "replays", kind: "cards" })];
  },
};
