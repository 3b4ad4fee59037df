// The outcome of a push: the server's rules for a browser, evaluated again on arrival. One table of cases tests both.

/** Completes the user's preferences as the server does: a missing or wrong value becomes the app's default. */
function wholePreferences(document, { types = {}, quietHours = {} }) {
  const said = isObject(document) ? document : {};
  const toggles = isObject(said.eventToggles) ? said.eventToggles : {};
  const hours = isObject(said.quietHours) ? said.quietHours : {};
  const usual = { enabled: false, startHour: 22, endHour: 7, ...quietHours };
  return {
    enabled: said.enabled !== false,
    wants: (type) => {
      const own = Object.hasOwn(toggles, type) ? toggles[type] : undefined;
      if (typeof own === "boolean") return own;
      return Object.hasOwn(types, type) ? types[type].isOn : true;
    },
    quietHours: {
      enabled: typeof hours.enabled === "boolean" ? hours.enabled : usual.enabled,
      startHour: hourOf(hours.startHour, usual.startHour),
      endHour: hourOf(hours.endHour, usual.endHour),
    },
  };
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a number without its fraction, clamped to 0 to 23; any other value is replaced by the default. */
function hourOf(value, usual) {
  return typeof value === "number" && !Number.isNaN(value) ? Math.trunc(Math.min(23, Math.max(0, value))) : usual;
}

/** Whether an hour is inside the window, which may cross midnight; a window that ends where it starts is empty. */
function isQuiet({ enabled, startHour, endHour }, hour) {
  if (!enabled || startHour === endHour) return false;
  return startHour <= endHour ? hour >= startHour && hour < endHour : hour >= startHour || hour < endHour;
}

/**
 * Returns `show`, or the server's name of the reason against it; the first rule that applies decides.
 *
 * A pause is left to the server: the mirror may be from before an early end, and the push would be lost here.
 */
function verdictOf(push, mirror, now) {
  if (push.expiresAt && Date.parse(push.expiresAt) <= now) return "expired";
  const preferences = wholePreferences(mirror.preferences, mirror);
  const type = Object.hasOwn(mirror.types ?? {}, push.type) ? mirror.types[push.type] : {};
  if (!type.mandatory) {
    if (!preferences.enabled) return "muted";
    if (!preferences.wants(push.type)) return "type-muted";
  }
  if (mirror.pushEnabled === false) return "push-disabled";
  const passes = type.quiet ? type.quiet === "bypass" : push.priority === "high";
  const hour = Number(readingOf(now, mirror.zones ?? []).hour);
  return !passes && isQuiet(preferences.quietHours, hour) ? "quiet-hours" : "show";
}
