/// A value of a log field, which keeps its type until it is rendered.
package enum LogValue: Sendable, Equatable {
    case text(String)
    case integer(Int)
    case number(Double)
    case flag(Bool)
    case span(Duration)

    /// Returns the description of an error as one value.
    package static func error(_ error: any Error) -> LogValue {
        .text(String(describing: error))
    }
}

extension LogValue: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByFloatLiteral
{
    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .flag(value) }
    package init(floatLiteral value: Double) { self = .number(value) }
}

/// Named values in the order in which they were written; a repeated name takes the later value.
package struct LogFields: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    package private(set) var pairs: [(name: String, value: LogValue)] = []

    package init(dictionaryLiteral elements: (String, LogValue)...) {
        for (name, value) in elements {
            self[name] = value
        }
    }

    package subscript(name: String) -> LogValue? {
        get { pairs.first { $0.name == name }?.value }
        set {
            pairs.removeAll { $0.name == name }
            if let newValue { pairs.append((name, newValue)) }
        }
    }

    /// Returns these fields followed by the others.
    package func merging(_ others: LogFields) -> LogFields {
        var merged = self
        for (name, value) in others.pairs {
            merged[name] = value
        }
        return merged
    }

    package static func == (left: LogFields, right: LogFields) -> Bool {
        left.pairs.elementsEqual(right.pairs) { $0.name == $1.name && $0.value == $1.value }
    }
}
