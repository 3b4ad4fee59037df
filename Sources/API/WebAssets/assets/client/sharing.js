// The service worker's data, for a page that has its own settings in place of the notification centre's.

/**
 * Leaves the data with which the service worker decides about pushes. Call it at every start and after every change of
 * settings, if the signed-in user has turned push on in this browser.
 */
async function shareWithWorker(client, { lang } = {}) {
  const token = await client.token();
  const [settings, catalog, preferences] = await Promise.all([client.settings(), client.catalog(), client.preferences()]);
  const [user, language] = [userOf(token), lang ?? settings.locale ?? catalog.language];
  const facts = mirrorOf(client.base, token, user, language, { settings, catalog, preferences });
  await writeMirror({ ...facts, owner: user });
}
