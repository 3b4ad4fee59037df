import ServiceRuntime
import Store

/// The command `bellhop revoke-stale --days N [--json]`.
struct RevokeStaleCommand: Command {
    static let name = "revoke-stale"
    static let summary = "Ends subscriptions of devices that nobody has heard of for so many days."
    static let synopsis = ["revoke-stale --days N [--json]"]
    static let options = [
        Option.taking("days", "N", "how long a device may be silent, such as 90"),
        Option.json,
    ]

    private let words: Words
    private let days: Int

    init(_ words: Words) throws(CommandFailure) {
        try words.expectNoOperands(of: Self.name)
        guard let days = try words.number("days", in: 1...36_500, of: Self.name) else {
            throw .usage(of: Self.name, "--days is missing: say for how long a device may be silent, such as 90")
        }
        self.words = words
        self.days = days
    }

    func run(_ surroundings: Surroundings) async throws -> ExitCode {
        let configuration = try surroundings.configuration(words, requiring: [.databaseURL])
        let pool = try Footing(configuration: configuration).pool(
            as: .worker,
            name: Self.name,
            size: 1
        )
        do {
            var told = 0
            let count = try await Revocations(pool: pool).revokeStale(days: days) { progress in
                guard progress.looked - told >= Self.stride else { return }
                told = progress.looked
                surroundings.terminal?.show("\(progress.looked) subscriptions looked at, \(progress.changed) ended")
            }
            await pool.close()
            surroundings.print(
                words.has("json") ? JSONText.object([("revoked", .number(count))]).description : sentence(count)
            )
            return .done
        } catch {
            await pool.close()
            throw error
        }
    }

    /// Subscriptions between two words on how far it has come.
    private static let stride = 100_000

    private func sentence(_ count: Int) -> String {
        let devices = count == 1 ? "1 subscription" : "\(count) subscriptions"
        return
            "ended \(devices) not seen for \(days == 1 ? "a day" : "\(days) days"); a device that comes back lives again"
    }
}
