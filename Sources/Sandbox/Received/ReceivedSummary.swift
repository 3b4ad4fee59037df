import BellhopRules

/// Counts of received requests and their outcomes.
///
/// They are updated on arrival, so that reading them is cheap during a large run.
package struct ReceivedSummary: Sendable, Equatable {
    /// The counts of one provider.
    package struct Counts: Sendable, Equatable {
        package fileprivate(set) var received = 0
        /// Answers by status.
        package fileprivate(set) var answers: [Int: Int] = [:]
        /// Requests that were invalid themselves.
        package fileprivate(set) var refused = 0
        /// Requests whose connection was dropped instead of an answer.
        package fileprivate(set) var dropped = 0
    }

    package private(set) var total = 0
    package private(set) var providers: [ProviderName: Counts] = [:]
    /// Requests for paths that belong to no provider.
    package private(set) var strays = 0
    /// Requests that are still kept completely.
    package internal(set) var kept = 0

    mutating func add(_ request: ReceivedRequest) {
        total += 1
        guard let provider = request.provider else {
            strays += 1
            return
        }
        var counts = providers[provider] ?? Counts()
        counts.received += 1
        if request.refused != nil { counts.refused += 1 }
        if let answer = request.answer {
            counts.answers[answer.status, default: 0] += 1
        } else {
            counts.dropped += 1
        }
        providers[provider] = counts
    }

    var json: JSONValue {
        let members = ProviderName.allCases.compactMap { name in
            providers[name].map { (name.rawValue, $0.json) }
        }
        return [
            "total": .whole(total), "kept": .whole(kept), "evicted": .whole(total - kept), "strays": .whole(strays),
            "providers": .object(JSONObject(members)),
        ]
    }
}

extension ReceivedSummary.Counts {
    fileprivate var json: JSONValue {
        let byStatus = answers.sorted { $0.key < $1.key }.map { (String($0.key), JSONValue.whole($0.value)) }
        return [
            "received": .whole(received), "answers": .object(JSONObject(byStatus)), "refused": .whole(refused),
            "dropped": .whole(dropped),
        ]
    }
}

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
