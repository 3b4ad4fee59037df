// What becomes of a push: the server's rules for a browser, asked again when it arrives. One table of cases holds both.

/** What the user wants, made whole as the server does: what is missing or wrong is the app's default. */
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

/** A number loses its fraction and is moved to the nearer end; anything else is not said. */
function hourOf(value, usual) {
  return typeof value === "number" && !Number.isNaN(value) ? Math.trunc(Math.min(23, Math.max(0, value))) : usual;
}

/** Whether an hour is inside the window, which may go past midnight; a window that ends where it starts is none. */
function isQuiet({ enabled, startHour, endHour }, hour) {
  if (!enabled || startHour === endHour) return false;
  return startHour <= endHour ? hour >= startHour && hour < endHour : hour >= startHour || hour < endHour;
}

/** `show`, or the reason why not, as the server names it: the first rule that says no decides. */
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
