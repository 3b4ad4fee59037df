import BellhopRules

/// How many pages of fan-outs a worker reads, decides and records at once for each lane, however many have arrived.
///
/// A page is as much work as hundreds of other messages. While its pushes are under way it holds no place here.
struct PageGates: Sendable {
    private let gates: [Lane: Gate]

    init(atOnce: Int = 2) {
        gates = Dictionary(uniqueKeysWithValues: Lane.allCases.map { ($0, Gate(places: atOnce)) })
    }

    /// Does a page's first half when it is its turn.
    func pass<Value>(_ lane: Lane, _ work: () async -> Value) async -> Value {
        await gates[lane]?.enter()
        defer { gates[lane]?.leave() }
        return await work()
    }
}
