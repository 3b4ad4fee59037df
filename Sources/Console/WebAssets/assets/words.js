// The formats of figures, time spans and instants.

const grouped = (number) => Number(number).toLocaleString("en-GB");

/** Returns `1 item`, `12,431 items`. */
function of(count, one, many = `${one}s`) {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** Returns `119 s`, `3 min`, `2 h`, `4 d`; two minutes are the first, because `1 min` would stand for almost two. */
function span(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 120) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} min`;
  if (whole < 86_400) return `${Math.floor(whole / 3_600)} h`;
  return `${Math.floor(whole / 86_400)} d`;
}

/** Returns `3 min ago`, with the instant as a tooltip; a dash for none. */
function ago(instant, now = Date.now()) {
  return instant ? el("time", { datetime: instant, title: clock(instant) }, agoWords(instant, now)) : el("span", {}, "–");
}

function agoWords(instant, now) {
  const seconds = (now - Date.parse(instant)) / 1_000;
  return seconds >= 1 ? `${span(seconds)} ago` : seconds > -1 ? "now" : `in ${span(-seconds)}`;
}

/** Shows the present ages of an element whose data have not changed. */
function renewAges(parent) {
  for (const one of parent.querySelectorAll("time")) {
    const words = agoWords(one.dateTime, Date.now());
    if (one.textContent !== words) one.textContent = words;
  }
}

/** Returns `2026-11-21 03:12:04 UTC`. */
function clock(instant) {
  return instant ? `${new Date(instant).toISOString().slice(0, 19).replace("T", " ")} UTC` : "–";
}

/** Returns a number for a chart's axis: `1.2k`, `340`, `0.4`. */
function short(number) {
  if (number >= 1e6) return `${trimmed(number / 1e6)}M`;
  if (number >= 1e4) return `${trimmed(number / 1e3)}k`;
  return number >= 100 ? grouped(Math.round(number)) : trimmed(number);
}

function trimmed(number) {
  return number >= 100 ? String(Math.round(number)) : String(Math.round(number * 10) / 10);
}

/** Formats of numbers with their units, for charts. */
const UNITS = {
  "/s": (number) => `${short(number)}/s`,
  ms: (number) => (number >= 1_000 ? `${trimmed(number / 1_000)} s` : `${short(number)} ms`),
  s: (number) => (number < 1 ? "0 s" : span(number)),
  "": short,
};

/** Returns the text with a capital. */
function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns the text as a sentence: with a full stop, unless it has an end already. */
function ended(text) {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

/** Returns the colour of a state. */
function stateKind(state) {
  if (["open", "failed", "stalled", "cancelled"].includes(state)) return state === "cancelled" ? "" : "bad";
  if (["running", "replaying", "sending"].includes(state)) return "busy";
  if (["paused", "deferred", "retrying", "pending", "held"].includes(state)) return "warn";
  return ["resolved", "delivered", "done", "finished", "accepted"].includes(state) ? "good" : "";
}
