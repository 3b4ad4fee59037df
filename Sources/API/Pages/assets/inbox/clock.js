// What the clocks of a zone show, by the browser's own tz database.

const clocks = new Map();

/** The clock of a zone; nothing where the browser does not know the zone. */
function clockOf(zone) {
  if (!clocks.has(zone)) {
    let clock;
    try {
      clock = new Intl.DateTimeFormat("en-GB", {
        timeZone: zone,
        year: "numeric",
        month: "2-digit",
        day: "2-digit",
        hour: "2-digit",
        minute: "2-digit",
        hourCycle: "h23",
      });
    } catch {
      clock = undefined;
    }
    clocks.set(zone, clock);
  }
  return clocks.get(zone);
}

/** What the clocks of a zone show; of the first zone of a list that the browser knows, UTC where it knows none. */
function readingOf(instant, zones) {
  const known = zones.filter(Boolean).map(clockOf).find(Boolean) ?? clockOf("UTC");
  const reading = {};
  for (const { type, value } of known.formatToParts(instant)) reading[type] = value;
  reading.number = Date.UTC(Number(reading.year), Number(reading.month) - 1, Number(reading.day)) / 86_400_000;
  return reading;
}
