// Parts of the component that are loaded when they are first needed, as scripts from the place of the first one.

const OWN_SCRIPT = document.currentScript;
const SCRIPT = OWN_SCRIPT?.src || location.href;

/** The parts that are loaded or on their way, by name. */
const parts = new Map();
/** Functions that build a part from the component's own functions, by the name and version that a script states. */
const arrivedParts = new Map();

/** Called by the script of a part. */
function addPart(name, version, build) {
  arrivedParts.set(`${name} ${version}`, build);
}

/** Returns a part; a failed request is repeated by the next call. */
function part(name, base) {
  if (!parts.has(name)) {
    const loading = within(20_000, loadPart(name, base));
    parts.set(name, loading);
    loading.catch(() => parts.delete(name));
  }
  return parts.get(name);
}

async function loadPart(name, base) {
  const file = `bellhop-inbox-${name}.js`;
  const script = document.createElement("script");
  script.src = trustedScript(OWN_SCRIPT?.src ? new URL(file, SCRIPT).href : addressAt(base, `/${file}`));
  if (OWN_SCRIPT?.nonce) script.nonce = OWN_SCRIPT.nonce;
  const answered = new Promise((resolve, fail) => {
    script.addEventListener("load", resolve);
    script.addEventListener("error", () => fail(new CallError(0)));
  });
  document.head.append(script);
  try {
    await answered;
  } finally {
    script.remove();
  }
  // A page that was open during an update has another version than the server, and must be loaded again.
  const build = arrivedParts.get(`${name} ${PARTS_VERSION}`);
  if (!build) throw new CallError(0);
  return build({ WORDS, element, drawing, readingOf, pauseTime, soonAfter, keyBytes, trustedScript });
}

const sheets = new Map();

/** Returns a style sheet, which all elements share. */
function sheetOf(styles) {
  if (!sheets.has(styles)) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(styles);
    sheets.set(styles, sheet);
  }
  return sheets.get(styles);
}

/** Returns a promise's value, or fails if it takes too long. */
function within(milliseconds, promise) {
  let timer;
  const late = new Promise((_, fail) => (timer = setTimeout(() => fail(new CallError(0)), milliseconds)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
