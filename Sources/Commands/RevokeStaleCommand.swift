import ServiceRuntime
import Store

/// The command `bellhop revoke-stale --days N [--json]`.
enum RevokeStaleCommand: Command {
    static let name = "revoke-stale"
    static let summary = "Ends subscriptions of devices that nobody has heard of for so many days."
    static let synopsis = ["revoke-stale --days N [--json]"]
    static let options = [
        Option.taking("days", "N", "how long a device may be silent, such as 90"),
        Option.json,
    ]

    static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        guard let days = try call.words.number("days", in: 1...36_500) else {
            throw call.words.misuse("--days is missing: say for how long a device may be silent, such as 90")
        }
        let terminal = call.surroundings.terminal
        let count = try await call.footing(requiring: [.databaseURL]).withPool(as: .worker, name: name) { pool in
            var told = 0
            return try await Revocations(pool: pool).revokeStale(days: days) { progress in
                guard progress.looked - told >= stride else { return }
                told = progress.looked
                terminal?.show("\(progress.looked) subscriptions looked at, \(progress.changed) ended")
            }
        }
        call.answer(.object([("revoked", .number(count))]), sentence(count, days))
        return .done
    }

    /// Subscriptions between two words on how far it has come.
    private static let stride = 100_000

    private static func sentence(_ count: Int, _ days: Int) -> String {
        let devices = count == 1 ? "1 subscription" : "\(count) subscriptions"
        return
            "ended \(devices) not seen for \(days == 1 ? "a day" : "\(days) days"); a device that comes back lives again"
    }
}
