import BellhopRules

/// Counts how often the kept requests name each device or each tag.
package struct ReceivedCount: Sendable, Equatable {
    /// The property to count.
    package enum Key: String, Sendable, CaseIterable {
        case token
        case tag
    }

    package let counts: [String: Int]
    /// The number of requests without the property.
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

    /// The number of devices or tags that occur more than once.
    package var repeated: Int { counts.values.count { $0 > 1 } }

    /// The JSON, written manually because the rules' JSON objects search their members linearly, and there are many
    /// here.
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
