import Cryptography
import HTTPServer
import ServiceRuntime

/// The files of the notification centre for browsers: the page, its web component and the service worker.
///
/// The files in `assets` are compiled into the program. A script is the concatenation of its files, in one scope, without
/// their comments and indentation. No build tool is involved, and each file can be read separately.
enum InboxPages {
    static let all = [
        StaticAsset("/", type: "text/html; charset=utf-8", PackageResources.index_html, headers: pageHeaders),
        StaticAsset("/inbox.css", type: "text/css; charset=utf-8", PackageResources.page_css),
        StaticAsset("/inbox.js", type: script, PackageResources.page_js),
        StaticAsset("/bellhop-inbox.js", type: script, component, headers: shared),
        StaticAsset("/bellhop-inbox-settings.js", type: script, settings, headers: shared),
        StaticAsset("/bellhop-client.js", type: script, client, headers: shared),
        StaticAsset("/bellhop-client.d.ts", type: plain, PackageResources.client_d_ts, headers: shared),
        StaticAsset("/sw.js", type: script, worker, headers: shared + [("Content-Security-Policy", workerPolicy)]),
        StaticAsset("/icon.svg", type: "image/svg+xml", PackageResources.icon_svg),
        StaticAsset("/icon.png", type: "image/png", PackageResources.icon_png, headers: shared),
        StaticAsset("/badge.png", type: "image/png", PackageResources.badge_png, headers: shared),
        StaticAsset("/manifest.json", type: "application/manifest+json", PackageResources.manifest_json),
    ]

    private static let plain = "text/plain; charset=utf-8"
    private static let script = "text/javascript; charset=utf-8"

    /// Blocks inline scripts, inline styles and other origins, and prevents text from becoming a script or markup.
    ///
    /// Pictures of notifications may come from any site, over https.
    private static let pagePolicy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' https:", "connect-src 'self'",
        "worker-src 'self'", "manifest-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'", "trusted-types bellhop-inbox",
    ].joined(separator: "; ")

    /// Pictures of notifications come from other sites, icons from this one.
    ///
    /// The browser fetches them under the worker's policy.
    private static let workerPolicy = "default-src 'none'; connect-src 'self'; img-src 'self' https:"

    private static let pageHeaders = [
        ("Content-Security-Policy", pagePolicy), ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
    ]

    /// Pages of other origins may embed the script, since it contains no data.
    private static let shared = [("Cross-Origin-Resource-Policy", "cross-origin")]

    /// The files of the component, in the order in which they compress best: none uses another one while it is loaded.
    private static let component = joined(
        "(() => {\n\"use strict\";\nconst PARTS_VERSION = \(version);\nconst STYLES = \(style(PackageResources.inbox_css));\n",
        [
            PackageResources.words_js, PackageResources.icons_js, PackageResources.clock_js,
            PackageResources.times_js, PackageResources.card_js, PackageResources.elements_js,
            PackageResources.menu_js, PackageResources.model_js, PackageResources.list_js,
            PackageResources.stacks_js, PackageResources.screen_js, PackageResources.client_js,
            PackageResources.stream_js, PackageResources.attention_js, PackageResources.reading_js,
            PackageResources.acts_js, PackageResources.parts_js, PackageResources.settings_place_js,
            PackageResources.places_js, PackageResources.links_js, PackageResources.push_js,
            PackageResources.registration_js, PackageResources.mirror_js, PackageResources.shelf_js,
            PackageResources.session_js, PackageResources.inbox_js,
        ],
        "})();\n"
    )

    /// The functions of the component that the settings use.
    private static let given = "{ WORDS, element, drawing, readingOf, pauseTime, soonAfter, keyBytes, trustedScript }"

    /// The settings, which the component loads when they are first needed.
    private static let settings = joined(
        "\"use strict\";\nBellhopInbox.addPart(\"settings\", \(version), (\(given)) => {\n",
        settingsFiles,
        "});\n"
    )

    private static let settingsFiles = [
        Array("const STYLES = \(style(PackageResources.settings_css));\n".utf8), PackageResources.settings_words_js,
        PackageResources.device_js, PackageResources.settings_js, PackageResources.part_js,
    ]

    /// A string literal that differs whenever the settings do, so that a page that was loaded before an update of the
    /// server does not use a later part.
    private static let version = Base64URL.encode(
        Array(SHA256.digest(of: Array(settingsFiles.joined())).bytes.prefix(9))
    ).asJSONString

    /// Returns a style sheet as a string literal.
    private static func style(_ sheet: [UInt8]) -> String {
        String(decoding: ScriptCondenser.style(sheet), as: UTF8.self).asJSONString
    }

    private static let worker = joined(
        "\"use strict\";\n",
        [
            PackageResources.clock_js, PackageResources.links_js, PackageResources.client_js,
            PackageResources.mirror_js, PackageResources.registration_js, PackageResources.rules_js,
            PackageResources.worker_js,
        ],
        ""
    )

    /// The client library: the files that the component and the worker also contain, and the rest of the API.
    private static let client = joined(
        "",
        [
            PackageResources.client_js, PackageResources.stream_js, PackageResources.machines_js,
            PackageResources.bellhop_client_js, PackageResources.mirror_js, PackageResources.registration_js,
            PackageResources.sharing_js,
        ],
        """

        export {
          BellhopClient, CallError, PermissionState, SubscriptionState, deviceClock, shareWithWorker,
          forgetMirror as forgetWorkerData, registrationOf as browserDevice,
        };

        """
    )

    private static func joined(_ beginning: String, _ files: [[UInt8]], _ end: String) -> [UInt8] {
        let scripts = files.map(ScriptCondenser.script)
        return Array(beginning.utf8) + scripts.joined(separator: [0x0A]) + Array(end.utf8)
    }
}
