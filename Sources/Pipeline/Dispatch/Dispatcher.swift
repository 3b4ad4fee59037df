import BellhopRules
import Push

/// Sends parcels, each through its own provider's window, and says what came of each.
struct Dispatcher: Sendable {
    let senders: SenderDirectory

    /// What a window cannot start in this time goes back: a slow provider must not hold what belongs to the others.
    private static let patience = Duration.seconds(1)

    /// The arrivals are in the order of `parcels`.
    func send(_ parcels: [Parcel], lane: Lane) async -> [Arrival] {
        let groups = Dictionary(grouping: parcels.indices) { index in
            Group(app: parcels[index].app, provider: parcels[index].message.device.provider)
        }
        var arrivals = Array(repeating: Arrival.notStarted, count: parcels.count)
        await withTaskGroup(of: [(Int, Arrival)].self) { tasks in
            for (group, indices) in groups {
                guard let outlet = senders.outlet(for: group.app, group.provider) else { continue }
                tasks.addTask { await send(indices, of: parcels, through: outlet, lane) }
            }
            for await part in tasks {
                for (index, arrival) in part { arrivals[index] = arrival }
            }
        }
        return arrivals
    }

    private struct Group: Hashable {
        let app: AppID
        let provider: PushProvider
    }

    private func send(
        _ indices: [Int],
        of parcels: [Parcel],
        through outlet: SenderDirectory.Outlet,
        _ lane: Lane
    ) async -> [(Int, Arrival)] {
        await withTaskGroup(of: [(Int, Arrival)].self) { tasks in
            var rest = indices[...]
            let deadline = ContinuousClock.now + Self.patience
            while !rest.isEmpty {
                let granted = await outlet.window.acquire(upTo: rest.count, for: lane, within: deadline - .now)
                guard granted > 0 else { break }
                let part = rest.prefix(granted)
                rest = rest.dropFirst(granted)
                tasks.addTask {
                    let verdicts = await outlet.sender.send(part.map { parcels[$0].message })
                    outlet.window.release(granted)
                    return zip(part, verdicts).map { ($0, .answered($1)) }
                }
            }
            return await tasks.reduce(into: []) { $0 += $1 }
        }
    }
}
