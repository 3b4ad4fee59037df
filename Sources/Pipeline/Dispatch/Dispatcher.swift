import BellhopRules
import Push

/// Sends parcels, each through its own provider's window, and tells part by part what came of them.
struct Dispatcher: Sendable {
    let senders: SenderDirectory

    /// What came of some parcels, by their positions among those that were handed over.
    typealias Part = [(position: Int, arrival: Arrival)]

    /// What a window cannot start in this time goes back: a slow provider must not hold what belongs to the others.
    private static let patience = Duration.seconds(1)

    /// Calls `ended` for each part as soon as it has come to its end, several at a time, and returns after the last.
    ///
    /// Parts that wait for their provider hold no others up: neither those of other providers nor those that their own
    /// provider could not start.
    func send(_ parcels: [Parcel], lane: Lane, _ ended: @escaping @Sendable (Part) async -> Void) async {
        let groups = Dictionary(grouping: parcels.indices) { index in
            Group(app: parcels[index].app, provider: parcels[index].message.device.provider)
        }
        await withDiscardingTaskGroup { tasks in
            for (group, positions) in groups {
                tasks.addTask {
                    guard let outlet = senders.outlet(for: group.app, group.provider) else {
                        return await ended(positions.map { ($0, .notStarted) })
                    }
                    let byMessage = positions.sorted { (parcels[$0].index, $0) < (parcels[$1].index, $1) }
                    await send(parcels, at: byMessage, through: outlet, lane, ended)
                }
            }
        }
    }

    private struct Group: Hashable {
        let app: AppID
        let provider: PushProvider
    }

    private func send(
        _ parcels: [Parcel],
        at positions: [Int],
        through outlet: SenderDirectory.Outlet,
        _ lane: Lane,
        _ ended: @escaping @Sendable (Part) async -> Void
    ) async {
        await withDiscardingTaskGroup { tasks in
            var rest = positions[...]
            let deadline = ContinuousClock.now + Self.patience
            while !rest.isEmpty {
                let grant = await outlet.window.acquire(
                    rest.map { parcels[$0].index },
                    for: lane,
                    until: deadline,
                    patience: Self.patience
                )
                guard grant != .none else { break }
                let part = rest.prefix(grant.pushes)
                rest = rest.dropFirst(grant.pushes)
                tasks.addTask {
                    let verdicts = await outlet.sender.send(part.map { parcels[$0].message })
                    outlet.window.release(grant, of: lane)
                    await ended(zip(part, verdicts).map { ($0, .answered($1)) })
                }
            }
            guard !rest.isEmpty else { return }
            await ended(rest.map { ($0, .notStarted) })
        }
    }
}
