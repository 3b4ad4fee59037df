import BellhopRules
import ServiceRuntime
import Synchronization

/// The arrival times of requests whose bodies contain a given word.
///
/// A benchmark publishes with a unique word and finds its requests here.
///
/// A mark is the text between the word and the next quotation mark. The first four million marks are kept.
final class ArrivalLog: Sendable {
    private let word: [UInt8]
    private let time: any TimeSource
    private let arrivals = Mutex<[(mark: String, at: Instant)]>([])

    private static let most = 4_000_000
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

    func removeAll() { arrivals.withLock { $0 = [] } }

    var all: [(mark: String, at: Instant)] { arrivals.withLock { $0 } }

    /// `[["mark", microseconds since 1970], …]`, in order of arrival.
    var json: [UInt8] { Self.json(all) }

    /// Returns the same and removes the arrivals.
    func takeJSON() -> [UInt8] {
        Self.json(
            arrivals.withLock { arrivals in
                defer { arrivals = [] }
                return arrivals
            }
        )
    }

    private static func json(_ arrivals: [(mark: String, at: Instant)]) -> [UInt8] {
        var output: [UInt8] = [UInt8(ascii: "[")]
        for (index, arrival) in arrivals.enumerated() {
            output.append(contentsOf: "\(index > 0 ? "," : "")[".utf8)
            JSONWriter.write(arrival.mark, into: &output)
            output.append(contentsOf: ",\(arrival.at.microseconds)]".utf8)
        }
        output.append(UInt8(ascii: "]"))
        return output
    }
}

extension [UInt8] {
    /// Returns the index after the first occurrence of a word; `nil` if it does not occur.
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
