import BellhopRules

/// How many pages of fan-outs a worker has in hand for each lane, whatever number of them has arrived: a page is as much work
/// as hundreds of other messages, and what is recorded of it waits for its pushes.
struct PageGates: Sendable {
    private let hands: [Lane: Gate]
    private let pens: [Lane: Gate]

    /// `inHand` pages at a time, of which `writing` are being recorded: while the pushes of one are under way, the next is
    /// written.
    init(inHand: Int = 4, writing: Int = 2) {
        hands = Self.gates(inHand)
        pens = Self.gates(writing)
    }

    private static func gates(_ places: Int) -> [Lane: Gate] {
        Dictionary(uniqueKeysWithValues: Lane.allCases.map { ($0, Gate(places: places)) })
    }

    /// Lets the work on a page begin when it is its turn.
    func hold<Value>(_ lane: Lane, _ work: () async -> Value) async -> Value {
        await Self.inside(hands[lane], work)
    }

    /// Lets a page be recorded when it is its turn.
    func write<Value>(_ lane: Lane, _ work: () async -> Value) async -> Value {
        await Self.inside(pens[lane], work)
    }

    private static func inside<Value>(_ gate: Gate?, _ work: () async -> Value) async -> Value {
        await gate?.enter()
        defer { gate?.leave() }
        return await work()
    }
}
