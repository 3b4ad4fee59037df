// How a browser's subscription is told to the server, by the page as by the service worker.

/** The body of `POST /api/push-token`; `previous` is the address that the browser had before. */
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
