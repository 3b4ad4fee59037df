import BellhopRules
import Foundation
import HTTPTransfer
import Push
import ServiceRuntime
import TestSupport
import Testing

/// Service accounts that Google does not have.
enum Accounts {
    /// The file's members, with a key that protects nothing.
    static let members: JSONObject = [
        "type": "service_account", "project_id": "bellhop-test", "private_key_id": "key-1",
        "private_key": .string(TestKey.pem), "client_email": "sender@bellhop-test.iam.gserviceaccount.com",
        "token_uri": "https://oauth2.example/token", "client_id": "1",
    ]

    static func file(_ change: (inout JSONObject) -> Void = { _ in }) -> [UInt8] {
        var members = members
        change(&members)
        return JSONWriter.canonicalBytes(of: .object(members))
    }

    static func read() throws -> ServiceAccount {
        try ServiceAccount.read(file()).get()
    }

    /// Returns a source of tokens with the endpoint `transport`; its jitter is always the same.
    static func source(
        _ transport: any HTTPTransport,
        time: any TimeSource,
        log: CapturedLog = CapturedLog()
    ) throws -> AccessTokenSource {
        AccessTokenSource(
            exchange: TokenExchange(account: try read()),
            transport: transport,
            time: time,
            logger: Logger(label: "push", level: .debug, sink: log, time: time),
            generator: SeededChance(7)
        )
    }
}

/// A folder that is deleted after the test.
struct TemporaryFolder: ~Copyable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "bellhop-push-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Writes a file and returns its path.
    func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        let file = path + "/" + name
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        return file
    }
}
