/// A column of a result, by its index (from 0) or by its name in the statement's spelling.
package enum Column: Sendable, Hashable, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    case index(Int)
    case name(String)

    package init(integerLiteral index: Int) {
        self = .index(index)
    }

    package init(stringLiteral name: String) {
        self = .name(name)
    }
}

extension Column: CustomStringConvertible {
    package var description: String {
        switch self {
        case .index(let index): "\(index)"
        case .name(let name): "\"\(name)\""
        }
    }
}
