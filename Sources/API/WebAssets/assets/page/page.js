// Signs in with the token in the address, and removes it before other code can read it.
(() => {
  "use strict";
  const kept = "bellhop-token";
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given !== null) {
    history.replaceState(history.state, "", location.pathname + location.search);
    // Kept for a reload of this tab; it ends with the tab.
    sessionStorage.setItem(kept, given);
  }
  let title = document.title;
  let count = 0;
  const name = () => (document.title = count > 0 ? `(${count}) ${title}` : title);
  const token = given ?? sessionStorage.getItem(kept);

  document.addEventListener("DOMContentLoaded", () => {
    const inbox = document.querySelector("bellhop-inbox");
    inbox.addEventListener("bellhop-unread", (event) => {
      count = event.detail.count;
      name();
    });
    inbox.addEventListener("bellhop-language", ({ detail }) => {
      document.documentElement.lang = detail.language;
      title = detail.title;
      name();
    });
    inbox.addEventListener("bellhop-sign-in", () => sessionStorage.removeItem(kept));
    inbox.token = token;
  });

  // A second link in the same tab signs in as the user that it names.
  addEventListener("hashchange", () => {
    const other = new URLSearchParams(location.hash.slice(1)).get("token");
    if (other === null) return;
    history.replaceState(history.state, "", location.pathname + location.search);
    sessionStorage.setItem(kept, other);
    document.querySelector("bellhop-inbox").token = other;
  });
})();
