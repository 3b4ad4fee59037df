import Synchronization

/// The processes of one measurement.
final class ChildRoster: Sendable {
    private let children = Mutex<[BenchChild]>([])

    func add(_ child: BenchChild) {
        children.withLock { $0.append(child) }
    }

    /// Ends the processes in the reverse order of their start, so that the clients of an emulator end before it.
    func endAll() async {
        for child in children.withLock({ Array($0.reversed()) }) { await child.end() }
    }
}
