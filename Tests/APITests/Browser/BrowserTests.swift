import IntegrationSupport
import TestSupport
import Testing

/// Tests that run in a browser.
///
/// They run one after another, since there is only one browser.
@Suite(
    "In a browser",
    .serialized,
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .enabled(if: BrowserProgram.isThere, "needs chromium and chromium-driver"),
    .timeLimit(.ofTest)
)
enum BrowserTests {}
