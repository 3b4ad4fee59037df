// The registration of a browser's subscription at the server, used by the page and by the service worker.

/** Returns the body of `POST /api/push-token`; `previous` is the browser's previous address. */
function registrationOf(subscription, previous, permission) {
  const { endpoint, keys } = subscription.toJSON();
  return {
    token: endpoint,
    platform: "web",
    permission,
    subscription: { endpoint, keys },
    ...(previous && previous !== endpoint ? { replaces: previous } : {}),
  };
}
