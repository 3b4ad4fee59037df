// The permitted destinations of notifications. Producers choose the links, so each is checked before it is followed.

/**
 * Returns the address of a link, if it is on the page's own origin or has one of the catalogue's schemes, and otherwise
 * the home page. It never returns `javascript:`, `data:` or another site.
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

/** Whether a scheme can belong to an app, which excludes all schemes that browsers handle themselves. */
function isOwnScheme(scheme) {
  const browsers = ["javascript", "data", "vbscript", "blob", "file", "filesystem", "about", "http", "https", "view-source"];
  return /^[a-z][a-z0-9+.-]*$/.test(scheme) && !browsers.includes(scheme);
}

/** Whether an address is one from which pictures are shown. */
function isPicture(address) {
  return typeof address === "string" && /^https:\/\//i.test(address) && URL.canParse(address);
}
