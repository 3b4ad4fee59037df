import Testing

@testable import AMQP

@Suite("Matching confirms with messages")
struct ConfirmWindowTests {
    private let start = ContinuousClock.now

    @Test("single and multiple answers close the messages that they name")
    func answers() {
        var window = filled(5)
        expect(&window, answer: 2, multiple: false, closes: [2])
        expect(&window, answer: 4, multiple: true, closes: [1, 3, 4])
        #expect(window.count == 1)
        expect(&window, answer: 4, multiple: true, closes: [])
        expect(&window, answer: 2, multiple: false, closes: [])
        expect(&window, answer: 0, multiple: true, closes: [5])
        #expect(window.count == 0)
        expect(&window, answer: 0, multiple: true, closes: [])
    }

    @Test("an answer for a number that was never assigned is a fault", arguments: [0, 6, UInt64.max])
    func unknownNumbers(number: UInt64) {
        var window = filled(5)
        expect(&window, answer: number, multiple: false, closes: nil)
        if number > 0 { expect(&window, answer: number, multiple: true, closes: nil) }
        #expect(window.count == 5)
    }

    @Test("a return marks the oldest open match once")
    func returns() {
        var window = filled(4)
        window.markReturned("first") { $0 % 2 == 0 }
        window.markReturned("second") { $0 % 2 == 0 }
        window.markReturned("nobody") { $0 > 10 }
        let answered = window.answer(4, multiple: true)
        #expect(answered?.map(\.returned) == [nil, "first", nil, "second"])
    }

    @Test("an overdue message is closed and its late answer is ignored")
    func expiry() {
        var window = filled(3)
        window.add(4, at: start + .seconds(10))
        let expired = window.expire(.seconds(5), at: start + .seconds(6))
        #expect(expired.map(\.item) == [1, 2, 3])
        expect(&window, answer: 2, multiple: false, closes: [])
        expect(&window, answer: 4, multiple: true, closes: [4])
    }

    @Test("numbers continue after long use and after all messages were taken")
    func longRun() {
        var window = ConfirmWindow<Int>()
        for number in 1...10_000 {
            window.add(number, at: start)
            guard number % 7 == 0 else { continue }
            expect(&window, answer: UInt64(number), multiple: true, closes: Array(number - 6...number))
        }
        let rest = window.takeAll()
        #expect(rest.map(\.item) == Array(9997...10_000))
        window.add(10_001, at: start)
        expect(&window, answer: 10_001, multiple: false, closes: [10_001])
    }

    private func filled(_ count: Int) -> ConfirmWindow<Int> {
        var window = ConfirmWindow<Int>()
        for number in 1...count { window.add(number, at: start) }
        return window
    }

    private func expect(
        _ window: inout ConfirmWindow<Int>,
        answer number: UInt64,
        multiple: Bool,
        closes items: [Int]?,
        at location: SourceLocation = #_sourceLocation
    ) {
        let answered = window.answer(number, multiple: multiple)
        #expect(answered?.map(\.item) == items, sourceLocation: location)
    }
}
