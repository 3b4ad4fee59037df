package import BellhopJSON
import TestSupport

/// A session of the WebDriver protocol: HTTP and JSON, one command at a time.
package struct WebDriver: Sendable {
    private let port: UInt16
    private let session: String

    /// Opens the one window.
    static func begin(at port: UInt16, binary: String) async throws -> WebDriver {
        // Without a sandbox it runs as root too, and with a pipe it ends with chromedriver.
        let arguments: [JSONValue] = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
            "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--hide-scrollbars", "--disable-extensions", "--mute-audio", "--lang=nb", "--accept-lang=nb",
            "--window-size=1200,900",
        ]
        let wanted: JSONValue = [
            "capabilities": [
                "alwaysMatch": [
                    "browserName": "chrome", "goog:loggingPrefs": ["browser": "ALL"],
                    "timeouts": ["script": 60_000, "pageLoad": 120_000],
                    "unhandledPromptBehavior": "ignore",
                    "goog:chromeOptions": ["binary": .string(binary), "args": .array(arguments)],
                ]
            ]
        ]
        let answer = try await send("POST", port, "/session", wanted)
        guard let id = answer["sessionId"]?.string else { throw BrowserFailure("chromedriver gave no session") }
        return WebDriver(port: port, session: id)
    }

    /// Runs a command of the protocol, such as `url`, and returns its value.
    @discardableResult
    package func call(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> JSONValue {
        try await Self.send(method, port, "/session/\(session)/\(path)", body)
    }

    /// Runs a command of the DevTools protocol.
    @discardableResult
    package func tell(_ command: String, _ parameters: JSONValue = [:]) async throws -> JSONValue {
        try await call("POST", "goog/cdp/execute", ["cmd": .string(command), "params": parameters])
    }

    /// Sets the display of the pages: the window's size, a light or dark scheme, and reduced motion.
    package func resize(width: Int, height: Int, isDark: Bool = false, isStill: Bool = false) async throws {
        try await tell(
            "Emulation.setDeviceMetricsOverride",
            [
                "width": .number(JSONNumber(Int64(width))), "height": .number(JSONNumber(Int64(height))),
                "deviceScaleFactor": 1, "mobile": .bool(width < 600),
            ]
        )
        let features: [JSONValue] = [
            ["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"],
            ["name": "prefers-reduced-motion", "value": isStill ? "reduce" : "no-preference"],
        ]
        try await tell("Emulation.setEmulatedMedia", ["features": .array(features)])
    }

    package func go(to url: String) async throws {
        try await call("POST", "url", ["url": .string(url)])
    }

    /// Runs the body of a function in the page, and waits for a promise that it returns.
    @discardableResult
    package func run(_ script: String, _ arguments: [JSONValue] = []) async throws -> JSONValue {
        try await call("POST", "execute/sync", ["script": .string(script), "args": .array(arguments)])
    }

    /// Presses keys in turn, in the focused element.
    package func press(_ keys: [Key]) async throws {
        let actions = keys.flatMap { key -> [JSONValue] in
            let value = JSONValue.string(key.rawValue)
            return [["type": "keyDown", "value": value], ["type": "keyUp", "value": value]]
        }
        let source: JSONValue = ["type": "key", "id": "keyboard", "actions": .array(actions)]
        try await call("POST", "actions", ["actions": [source]])
    }

    /// Types a text into the focused element.
    package func type(_ text: String) async throws {
        let actions = text.map { letter -> [JSONValue] in
            let value = JSONValue.string(String(letter))
            return [["type": "keyDown", "value": value], ["type": "keyUp", "value": value]]
        }
        let source: JSONValue = ["type": "key", "id": "keyboard", "actions": .array(actions.flatMap { $0 })]
        try await call("POST", "actions", ["actions": [source]])
    }

    /// Keys by their characters in the protocol.
    package enum Key: String {
        case tab = "\u{E004}"
        case enter = "\u{E007}"
        case escape = "\u{E00C}"
        case space = " "
        case down = "\u{E015}"
        case end = "\u{E010}"
    }

    /// Returns the errors in the page's console since the last call.
    package func complaints() async throws -> [String] {
        let entries = try await call("POST", "se/log", ["type": "browser"])
        return (entries.array ?? []).filter { $0["level"] == "SEVERE" }.compactMap { $0["message"]?.string }
    }

    private static func send(_ method: String, _ port: UInt16, _ path: String, _ body: JSONValue?) async throws
        -> JSONValue
    {
        let bytes = body.map { JSONWriter.canonicalBytes(of: $0) } ?? []
        let answer = try await PlainCall(method, port: port, path: path, body: bytes).answer()
        let parser = JSONParser(limits: JSONParser.Limits(bytes: 64 << 20, depth: 64))
        let json = try parser.parse(answer.body).get()
        guard answer.status == 200, let value = json["value"] else {
            let message = json["value"]?["message"]?.string ?? "no message"
            throw BrowserFailure("\(method) \(path): \(message.prefix(1_000))")
        }
        return value
    }
}
