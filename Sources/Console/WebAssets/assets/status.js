// The status: problems first, with the required actions.

/** The severities of problems, in their order, with their headings. */
const SEVERITIES = { broken: "Broken", degraded: "Degraded", "to-do": "To do", "on-purpose": "Stopped on purpose" };

/** Returns a problem with its page; the text after its last colon or semicolon is the required action. */
function problemShown({ severity, text, page }) {
  return el("li", { class: `problem ${severity}` }, icon(severity === "on-purpose" ? "holds" : severity === "to-do" ? "desk" : "bad"), el("span", {}, documented(inConsole(text))),
    page ? link(`#/${page}`, "Open", { class: "button small" }) : null);
}

/** Returns the problems of each severity under their heading. */
function problemsShown(problems) {
  return Object.entries(SEVERITIES).map(([severity, heading]) => {
    const those = problems.filter((one) => one.severity === severity);
    return those.length === 0 ? null : el("div", {}, el("h3", { class: "muted small" }, heading), el("ul", { class: "problems" }, those.map(problemShown)));
  });
}

/** Returns a figure in large digits with a label below; a link if there are details. */
function figure(number, words, href, kind = "") {
  const inside = [el("b", {}, number === null || number === undefined ? "–" : grouped(number)), el("span", {}, words)];
  return href ? link(href, inside, { class: `figure ${kind}` }) : el("div", { class: `figure ${kind}` }, inside);
}

function figuresShown(status) {
  const owed = status.deliveries;
  const ready = status.lanes?.map((lane) => lane.ready ?? 0).reduce((sum, one) => sum + one, 0) ?? null;
  const backlogged = (status.backlogs ?? []).reduce((sum, { waiting }) => sum + waiting, 0);
  const crew = status.processes?.filter(({ role, drainingSince }) => role === "worker" && !drainingSince).length ?? null;
  return el("div", { class: "figures" },
    figure(crew, crew === 1 ? "worker" : "workers", null, crew === 0 ? "bad" : ""),
    figure(status.database.reached ? ready : null, "ready in lanes"),
    figure(owed ? owed.owed + backlogged : null, "not yet delivered", null, owed?.overdue > 0 ? "warn" : ""),
    figure(status.deadLetters?.open ?? null, "dead letters open", "#/desk", status.deadLetters?.open > 0 ? "bad" : ""),
    figure(status.fanouts ? status.fanouts.running + status.fanouts.paused : null, "fan-outs", "#/fanouts", status.fanouts?.paused > 0 ? "warn" : ""),
    figure(status.holds?.length ?? null, "holds", "#/holds", status.holds?.length > 0 ? "warn" : ""));
}

function lanesShown(status) {
  if (!status.lanes) return null;
  const cell = (number) => (number === null || number === undefined ? "–" : grouped(number));
  const rows = status.lanes.map((lane) => [lane.lane, cell(lane.ready), cell(lane.unacked),
    lane.oldestAgeSeconds === null ? "–" : span(lane.oldestAgeSeconds), cell(lane.consumers)]);
  const others = [["resume", status.resumes], ["retry", status.retries]].flatMap(([name, queues]) => (queues ?? [])
    .filter(({ ready }) => ready > 0).map((queue) => [`${name} ${queue.lane ?? queue.tier}`, cell(queue.ready), cell(queue.unacked), "–", cell(queue.consumers)]));
  const left = status.retryLeftovers ?? 0;
  return card("Lanes", null, table(["lane", "#ready", "#unacked", "#oldest", "#consumers"], [...rows, ...others], { label: "lanes" }),
    left > 0 ? el("p", { class: "muted small" }, `${of(left, "retry message")} ${left === 1 ? "belongs" : "belong"} to no waiting retry (brought forward or ended) and will have no effect.`) : null);
}

function owedShown(status) {
  const groups = status.deliveries?.groups ?? [];
  if (groups.length === 0) return null;
  return card("Not yet delivered", null, table(["state", "reason", "#count", "first due"], groups.map((group) =>
    [tag(group.state, stateKind(group.state)), group.reason ?? "–", grouped(group.count), ago(group.oldestDueAt)]), { label: "not yet delivered" }));
}

function backlogsShown(status) {
  const backlogs = status.backlogs ?? [];
  if (backlogs.length === 0) return null;
  return card("Backlogs", null, table(["outlet", "#waiting", "oldest", "#per second", "#left"], backlogs.map((one) =>
    [one.outlet, `${grouped(one.waiting)}${one.waitingIsCapped ? " or more" : ""}`, ago(one.oldestAt), one.perSecond ?? "–", one.secondsLeft ? `about ${span(one.secondsLeft)}` : "–"]), { label: "backlogs" }));
}

function providersShown(status) {
  const rows = [
    ...(status.breakers ?? []).map((one) => [one.app, one.provider, tag(breakable(one.reason), "bad"), ago(one.openSince), `${grouped(one.waiting)}${one.waitingIsCapped ? " or more" : ""} wait, next try in ${span(one.nextProbeInSeconds)}`]),
    ...(status.failingProviders ?? []).map((one) => [one.app, one.provider, tag(one.word, "warn"), ago(one.since), [of(one.answers, "answer"), ", the last ", ago(one.latestAt)]]),
  ];
  if (rows.length === 0) return null;
  return card("Providers in trouble", null, table(["app", "provider", "says", "since", "more"], rows, { label: "providers in trouble" }));
}

function processesShown(status) {
  const processes = status.processes ?? [];
  if (processes.length === 0) return null;
  return card("Processes", null, table(["role", "where", "version", "catalogues", "runs for", "heard"], processes.map((one) => [
    one.drainingSince ? [one.role, " ", tag(`draining for ${span((Date.now() - Date.parse(one.drainingSince)) / 1_000)}`, "warn")] : one.role, `${one.host} [${one.process}]`, one.version, el("code", {}, one.catalogs.slice(0, 12)),
    span((Date.now() - Date.parse(one.startedAt)) / 1_000), ago(one.seenAt)]), { label: "processes" }));
}

function sightShown(status) {
  const parts = [["Broker", status.broker], ["Database", status.database]];
  return el("ul", { class: "sights" }, parts.map(([name, sight]) => el("li", { class: sight.reached ? "good" : "bad" },
    el("i", { class: "lamp" }), el("span", {}, `${name} ${sight.reached ? "answers" : "is away"}`))),
    el("li", { class: status.schema === "current" ? "good" : "bad" }, el("i", { class: "lamp" }), el("span", {}, `Schema ${status.schema ?? "unknown"}`)),
    el("li", { class: status.topology === "differs" ? "bad" : status.topology ? "good" : "" }, el("i", { class: "lamp" }), el("span", {}, `Topology ${status.topology ?? "unknown"}`)));
}

/** Returns the servers that the status did not reach. */
const unavailable = (status) => [["the broker", status.broker], ["the database", status.database]].filter(([, { reached }]) => !reached).map(([name]) => name);

/** Whether something is broken, as opposed to slow, waiting for an operator, or stopped on purpose. */
const isBroken = (status) => status.problemDetails.some(({ severity }) => severity === "broken");

const statusView = {
  title: "Status",
  /** The number in the title of the tab, which shows problems of a hidden tab, too. */
  count: (status) => status.problems.length,
  isBroken,
  every: 5,
  load: () => client.ask("status"),
  show(status) {
    const problems = status.problems.length === 0
      ? el("section", { class: "card calm" }, nothing("good", "All is well", `Looked at ${clock(status.at)}, namespace ${status.namespace}.`))
      : card(of(status.problems.length, "problem"), el("span", { class: "muted" }, clock(status.at)), problemsShown(status.problemDetails));
    return [problems, sightShown(status), figuresShown(status),
      el("div", { class: "two" }, lanesShown(status), owedShown(status), backlogsShown(status), providersShown(status)), processesShown(status)];
  },
};

const CHARTS = [
  ["Throughput", "/s", [["recorded", "recorded", 1], ["delivered", "delivered", 2], ["retrying", "retrying", 3], ["failed", "failed", 4]]],
  ["Time to record a batch", "ms", [["p50", "storedMedian", 1], ["p95", "storedSlow", 3]]],
  ["Time of providers, for a batch of pushes", "ms", [["p50", "pushedMedian", 1], ["p95", "pushedSlow", 3]]],
  ["Age of the oldest in a backlog", "s", [["age", "backlogAge", 4]]],
  ["Waiting in lanes", "", [["urgent", "urgent", 4], ["normal", "normal", 1], ["bulk", "bulk", 2]]],
  ["Deliveries", "", [["owed", "owed", 1], ["overdue", "overdue", 4], ["in backlogs", "backlog", 3]]],
  ["Dead letters open", "", [["open", "deadLetters", 4]]],
  ["Workers", "", [["workers", "workers", 2]]],
];

const chartsView = {
  title: "Charts",
  every: 10,
  async load() {
    const [data, { acts }, status] = await Promise.all([client.ask("figures"), client.ask("audit", { limit: "200" }).catch(() => ({ acts: [] })), client.ask("status")]);
    return { ...data, away: unavailable(status), marks: acts.map(({ at, act, by, number }) => ({ at: Date.parse(at), words: `${act} by ${by}, act ${number}` })) };
  },
  show(data) {
    const length = data.points.length > 1 ? `The last ${span((data.points.at(-1)[0] - data.points[0][0]) / 1_000)}, one` : "One";
    return [
      data.away.length === 0 ? null : notice(`${capital(data.away.join(" and "))} ${data.away.length === 1 ? "is" : "are"} unavailable: the lines end, and present values are unknown.`,
        "broken", link("#/status", "Open", { class: "button small" })),
      el("p", { class: "lead" }, `${length} point every ${data.seconds} seconds, from what the workers and the database say themselves; kept by this console for three hours. Times are UTC; a dashed line marks an operator's act.`),
      el("div", { class: "charts" }, CHARTS.map(([title, unit, series]) =>
        chart(title, unit, series.map(([name, column, colour]) => ({ name, column, colour })), data))),
    ];
  },
};
