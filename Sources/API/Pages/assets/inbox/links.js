// Where a notification may lead. Links are chosen by whoever publishes, so each is checked before it is followed.

/**
 * The address that a link stands for: on the page's own origin, or of one of the catalogue's own schemes; else the home
 * page. `javascript:`, `data:` and other sites never come out of it.
 */
function safeAddress(link, origin, schemes = []) {
  const home = new URL("/", origin).href;
  if (typeof link !== "string" || link === "") return home;
  let address;
  try {
    address = new URL(link, home);
  } catch {
    return home;
  }
  if (address.origin === new URL(home).origin && /^https?:$/.test(address.protocol)) return address.href;
  const scheme = address.protocol.slice(0, -1);
  return isOwnScheme(scheme) && schemes.includes(scheme) ? address.href : home;
}

/** Whether a scheme can be an app's own: none that browsers act upon themselves. */
function isOwnScheme(scheme) {
  const browsers = ["javascript", "data", "vbscript", "blob", "file", "filesystem", "about", "http", "https", "view-source"];
  return /^[a-z][a-z0-9+.-]*$/.test(scheme) && !browsers.includes(scheme);
}
