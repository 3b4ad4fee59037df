import BellhopJSON
import Foundation
import FoundationNetworking

/// A session of the WebDriver protocol: HTTP and JSON, one command at a time.
struct WebDriver: Sendable {
    private let address: URL
    private let client: URLSession

    /// Opens the one window.
    static func begin(at driver: URL, binary: String) async throws -> WebDriver {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 180
        let client = URLSession(configuration: configuration)
        // Without a sandbox it runs as root too, and with a pipe it ends with chromedriver.
        let arguments: [JSONValue] = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
            "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--hide-scrollbars", "--disable-extensions", "--mute-audio", "--lang=en-GB", "--window-size=1200,900",
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
        let answer = try await send("POST", driver.appendingPathComponent("session"), wanted, client)
        guard let id = answer["sessionId"]?.string else { throw BrowserFailure("chromedriver gave no session") }
        return WebDriver(address: driver.appendingPathComponent("session/\(id)"), client: client)
    }

    /// A command of the protocol, such as `url`; its value comes back.
    @discardableResult
    func call(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> JSONValue {
        try await Self.send(method, address.appendingPathComponent(path), body, client)
    }

    /// A command of the DevTools protocol.
    @discardableResult
    func tell(_ command: String, _ parameters: JSONValue = [:]) async throws -> JSONValue {
        try await call("POST", "goog/cdp/execute", ["cmd": .string(command), "params": parameters])
    }

    func go(to url: String) async throws {
        try await call("POST", "url", ["url": .string(url)])
    }

    /// Runs the body of a function in the page; a promise that it returns is waited for.
    @discardableResult
    func run(_ script: String, _ arguments: [JSONValue] = []) async throws -> JSONValue {
        try await call("POST", "execute/sync", ["script": .string(script), "args": .array(arguments)])
    }

    /// Presses keys, one after the other, wherever the focus is.
    func press(_ keys: [Key]) async throws {
        let actions = keys.flatMap { key -> [JSONValue] in
            let value = JSONValue.string(key.rawValue)
            return [["type": "keyDown", "value": value], ["type": "keyUp", "value": value]]
        }
        let source: JSONValue = ["type": "key", "id": "keyboard", "actions": .array(actions)]
        try await call("POST", "actions", ["actions": [source]])
    }

    /// Keys by the characters that the protocol has for them.
    enum Key: String {
        case tab = "\u{E004}"
        case enter = "\u{E007}"
        case escape = "\u{E00C}"
        case space = " "
        case down = "\u{E015}"
        case end = "\u{E010}"
    }

    /// What the console got since the last question, errors only.
    func complaints() async throws -> [String] {
        let entries = try await call("POST", "se/log", ["type": "browser"])
        return (entries.array ?? []).filter { $0["level"] == "SEVERE" }.compactMap { $0["message"]?.string }
    }

    private static func send(
        _ method: String,
        _ url: URL,
        _ body: JSONValue?,
        _ client: URLSession
    ) async throws -> JSONValue {
        var request = URLRequest(url: url)
        request.httpMethod = method
        if let body {
            request.httpBody = Data(JSONWriter.canonicalBytes(of: body))
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        let (data, response) = try await client.data(for: request)
        let parser = JSONParser(limits: JSONParser.Limits(bytes: 64 << 20, depth: 64))
        let answer = try parser.parse([UInt8](data)).get()
        guard (response as? HTTPURLResponse)?.statusCode == 200, let value = answer["value"] else {
            let message = answer["value"]?["message"]?.string ?? "no message"
            throw BrowserFailure("\(method) \(url.lastPathComponent): \(message.prefix(1_000))")
        }
        return value
    }
}
