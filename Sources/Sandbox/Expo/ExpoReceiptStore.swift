import BellhopRules
import Foundation
import ServiceRuntime
import Synchronization

/// The receipts of accepted messages.
///
/// Each becomes available after a delay and expires after a day.
final class ExpoReceiptStore: Sendable {
    private struct Entry {
        let receipt: JSONValue
        let readyAt: Instant
    }

    private struct State {
        var entries: [String: Entry] = [:]
        /// The tickets in the order of issue, so that the oldest can be removed.
        var order = Queue<String>()
    }

    private let delay: Duration
    private let state = Mutex(State())

    /// The maximum number of receipts kept.
    private static let capacity = 200_000
    private static let lifetime = Duration.seconds(86_400)

    init(delay: Duration) { self.delay = delay }

    /// Issues a unique ticket; `receipt` is `nil` for a message that never gets a receipt.
    func issue(_ receipt: JSONValue?, now: Instant, late: Duration = .zero) -> String {
        let ticket = UUID().uuidString.lowercased()
        guard let receipt else { return ticket }
        state.withLock { state in
            state.entries[ticket] = Entry(receipt: receipt, readyAt: now + delay + late)
            state.order.append(ticket)
            guard state.order.count > Self.capacity, let oldest = state.order.popFirst() else { return }
            state.entries[oldest] = nil
        }
        return ticket
    }

    /// Returns the available receipts of the tickets, each once.
    func receipts(of tickets: [String], now: Instant) -> [(String, JSONValue)] {
        state.withLock { state in
            Set(tickets).compactMap { ticket in
                guard let entry = state.entries[ticket], entry.readyAt <= now else { return nil }
                return entry.readyAt + Self.lifetime > now ? (ticket, entry.receipt) : nil
            }
        }
    }
}
