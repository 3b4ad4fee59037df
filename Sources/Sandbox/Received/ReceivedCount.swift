import BellhopRules

/// How often each device, or each tag, was named by the requests that are kept.
package struct ReceivedCount: Sendable, Equatable {
    /// What is counted.
    package enum Key: String, Sendable, CaseIterable {
        case token
        case tag
    }

    package let counts: [String: Int]
    /// Requests that name none.
    package let without: Int

    init(_ requests: [ReceivedRequest], by key: Key) {
        var counts: [String: Int] = [:]
        var without = 0
        for request in requests {
            guard let name = key == .token ? request.token : request.tag else {
                without += 1
                continue
            }
            counts[name, default: 0] += 1
        }
        self.counts = counts
        self.without = without
    }

    /// Names that came more than once.
    package var repeated: Int { counts.values.count { $0 > 1 } }

    /// Written by hand: an object of the rules' JSON looks through its members one after the other, and here are many.
    var json: [UInt8] {
        var output = Array(
            "{\"distinct\":\(counts.count),\"repeated\":\(repeated),\"without\":\(without),\"counts\":{".utf8
        )
        for (index, entry) in counts.sorted(by: { $0.key < $1.key }).enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            JSONWriter.write(entry.key, into: &output)
            output.append(contentsOf: ":\(entry.value)".utf8)
        }
        output.append(contentsOf: "}}".utf8)
        return output
    }
}
