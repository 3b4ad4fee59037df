import TestSupport
import Testing
import Workbench

/// What runs in a browser, one test after the other, since there is but one.
@Suite(
    "In a browser",
    .serialized,
    .inTurn,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .enabled(if: BrowserProgram.isThere, "needs chromium and chromium-driver"),
    .timeLimit(.ofTest)
)
enum BrowserTests {}
