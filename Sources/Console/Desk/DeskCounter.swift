import Synchronization

/// Where questions are put: so many at a time, and no queue before it.
struct DeskCounter: Sendable {
    private final class Places: Sendable {
        let taken = Mutex(0)
    }

    private let desk: Desk
    private let places = Places()
    private let most: Int

    init(_ desk: @escaping Desk, most: Int = 16) {
        self.desk = desk
        self.most = most
    }

    func ask(_ question: DeskQuestion) async throws(ConsoleFault) -> DeskAnswer {
        let hasRoom = places.taken.withLock { taken in
            guard taken < most else { return false }
            taken += 1
            return true
        }
        guard hasRoom else { throw .busy }
        let answer = await desk(question)
        places.taken.withLock { $0 -= 1 }
        return answer
    }
}
