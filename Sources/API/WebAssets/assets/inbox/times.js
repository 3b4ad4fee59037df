// The time texts of a list. The server's `TimeWords` gives the same texts; one table contains both.

const TIME_WORDS = {
  nb: {
    today: "I dag",
    yesterday: "I går",
    at: "kl.",
    date: ({ day, month, year }) => `${day}.${month}.${year}`,
  },
  sv: {
    today: "I dag",
    yesterday: "I går",
    at: "kl.",
    date: ({ day, month, year }) => `${year}-${month}-${day}`,
  },
  en: {
    today: "Today",
    yesterday: "Yesterday",
    at: "at",
    date: ({ day, month, year }) => `${Number(day)} ${ENGLISH_MONTHS[Number(month) - 1]} ${year}`,
  },
};
const ENGLISH_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Runs a function soon after a time in milliseconds, or earlier: timers hold at most 24 days. Returns the timer. */
function soonAfter(time, run) {
  return setTimeout(run, Math.min(time + 500, 2e9));
}

/** Returns `{day: "I DAG", time: "I dag kl. 14:32"}`: the heading of the group, and the time. */
function timeWords(instant, now, zones, tag) {
  const words = TIME_WORDS[wordsFor(tag).tag];
  const then = readingOf(instant, zones);
  const age = readingOf(now, zones).number - then.number;
  const date = age === 0 ? words.today : age === 1 ? words.yesterday : words.date(then);
  return {
    day: age === 0 || age === 1 ? date.toUpperCase() : date,
    time: `${date} ${words.at} ${then.hour}:${then.minute}`,
  };
}
