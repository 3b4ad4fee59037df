import BellhopRules
import ServiceRuntime
import Synchronization

/// When requests came whose bodies hold a word: what a benchmark publishes under a word of its own, it can find here.
///
/// A mark is what stands behind the word up to the next quotation mark. The first million is kept.
final class NotedArrivals: Sendable {
    private let word: [UInt8]
    private let time: any TimeSource
    private let arrivals = Mutex<[(mark: String, at: Instant)]>([])

    private static let most = 1_000_000
    private static let longestMark = 64

    init(word: String, time: any TimeSource) {
        self.word = Array(word.utf8)
        self.time = time
    }

    func look(at body: [UInt8]) {
        guard let end = body.end(of: word) else { return }
        let mark = body[end...].prefix(Self.longestMark).prefix { $0 != UInt8(ascii: "\"") }
        let arrival = (String(decoding: mark, as: UTF8.self), time.now())
        arrivals.withLock { if $0.count < Self.most { $0.append(arrival) } }
    }

    func removeAll() {
        arrivals.withLock { $0 = [] }
    }

    /// `[["mark", microseconds since 1970], …]`, in the order in which they came.
    var json: [UInt8] {
        var output: [UInt8] = [UInt8(ascii: "[")]
        for (index, arrival) in arrivals.withLock({ $0 }).enumerated() {
            output.append(contentsOf: "\(index > 0 ? "," : "")[".utf8)
            JSONWriter.write(arrival.mark, into: &output)
            output.append(contentsOf: ",\(arrival.at.microseconds)]".utf8)
        }
        output.append(UInt8(ascii: "]"))
        return output
    }
}

extension [UInt8] {
    /// The place behind the first occurrence of a word; nil where it does not occur.
    fileprivate func end(of word: [UInt8]) -> Int? {
        guard let first = word.first, count >= word.count else { return nil }
        var start = startIndex
        while let place = self[start...].firstIndex(of: first), place + word.count <= endIndex {
            if self[place..<place + word.count].elementsEqual(word) { return place + word.count }
            start = place + 1
        }
        return nil
    }
}
