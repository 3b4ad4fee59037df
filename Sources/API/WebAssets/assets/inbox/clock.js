// The clocks of time zones, from the browser's tz database.

const clocks = new Map();

/** Returns the clock of a zone; nothing if the browser does not support the zone. */
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

/** Returns the local time in the first zone of a list that the browser supports, or in UTC if it supports none. */
function readingOf(instant, zones) {
  const known = zones.filter(Boolean).map(clockOf).find(Boolean) ?? clockOf("UTC");
  const reading = {};
  for (const { type, value } of known.formatToParts(instant)) reading[type] = value;
  reading.number = Date.UTC(Number(reading.year), Number(reading.month) - 1, Number(reading.day)) / 86_400_000;
  return reading;
}
