import HTTPServer

/// The console's files for browsers: one page, one style sheet and one script.
///
/// The files in `assets` are compiled into the program. The script is the concatenation of its files, in the scope of
/// one module.
enum ConsolePages {
    static let all = [
        StaticAsset("/", type: "text/html; charset=utf-8", PackageResources.console_html, headers: pageHeaders),
        StaticAsset("/console.css", type: "text/css; charset=utf-8", PackageResources.console_css),
        StaticAsset("/console.js", type: "text/javascript; charset=utf-8", script),
        StaticAsset("/icon.svg", type: "image/svg+xml", PackageResources.icon_svg),
        StaticAsset("/icon-bad.svg", type: "image/svg+xml", PackageResources.icon_bad_svg),
    ]

    /// Blocks inline scripts, inline styles and other origins, and prevents text from becoming a script or markup.
    private static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ].joined(separator: "; ")

    private static let pageHeaders = [("Content-Security-Policy", policy)]

    /// Adds the headers that every answer has.
    static func guardHeaders(_ response: inout HTTPResponse) {
        let headers = [
            ("Cache-Control", "no-store"), ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
            ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"),
            ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
        ]
        for (name, value) in headers where response.headers[name] == nil { response.headers[name] = value }
    }

    private static let script: [UInt8] = [
        PackageResources.elements_js, PackageResources.words_js, PackageResources.client_js, PackageResources.charts_js,
        PackageResources.asking_js, PackageResources.status_js,
        PackageResources.providers_js, PackageResources.desk_js, PackageResources.letter_js,
        PackageResources.replays_js, PackageResources.fanouts_js, PackageResources.holds_js,
        PackageResources.explain_js, PackageResources.person_js, PackageResources.audit_js, PackageResources.screen_js,
    ].joined(separator: [0x0A]).map { $0 }
}
