/// PostgreSQL's five-character code of an outcome: a class of two characters and a condition of three.
///
/// Messages are translated and reworded between versions. This code is stable, so that decisions use it alone.
package struct SQLState: Sendable, Hashable, CustomStringConvertible {
    package let code: String

    /// Accepts exactly five digits or capital letters.
    package init?(_ code: String) {
        let characters = code.utf8
        guard characters.count == 5, characters.allSatisfy(Self.isAllowed) else { return nil }
        self.code = code
    }

    init(known code: String) { self.code = code }

    package var description: String { code }

    /// The class of the condition: its first two characters.
    package var category: Category { Category(prefix: String(code.prefix(2))) }

    /// Lets a `switch` match a whole class: `case SQLState.Category.integrityConstraint:`.
    package static func ~= (category: Category, state: SQLState) -> Bool {
        state.category == category
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }
}

extension SQLState {
    /// The first two characters of a code.
    package struct Category: Sendable, Hashable {
        package let prefix: String

        package static let connection = Category(prefix: "08")
        package static let data = Category(prefix: "22")
        package static let integrityConstraint = Category(prefix: "23")
        package static let authorization = Category(prefix: "28")
        package static let resources = Category(prefix: "53")
        /// A value that is larger than the server can handle, such as an index entry beyond a third of a page.
        package static let programLimits = Category(prefix: "54")
    }

    package static let transactionResolutionUnknown = SQLState(known: "08007")
    package static let featureNotSupported = SQLState(known: "0A000")
    package static let invalidParameterValue = SQLState(known: "22023")
    package static let readOnlyTransaction = SQLState(known: "25006")
    package static let idleInTransactionTimeout = SQLState(known: "25P03")
    package static let statementNameUnknown = SQLState(known: "26000")
    package static let serializationFailure = SQLState(known: "40001")
    package static let statementCompletionUnknown = SQLState(known: "40003")
    package static let deadlock = SQLState(known: "40P01")
    package static let privilegeMissing = SQLState(known: "42501")
    package static let columnUnknown = SQLState(known: "42703")
    package static let tableUnknown = SQLState(known: "42P01")
    package static let lockTimeout = SQLState(known: "55P03")
    package static let diskFull = SQLState(known: "53100")
    package static let tooManyConnections = SQLState(known: "53300")
    package static let queryCancelled = SQLState(known: "57014")
    package static let adminShutdown = SQLState(known: "57P01")
    package static let crashShutdown = SQLState(known: "57P02")
    package static let cannotConnectNow = SQLState(known: "57P03")
    package static let databaseDropped = SQLState(known: "57P04")
    package static let idleSessionTimeout = SQLState(known: "57P05")
}

extension SQLState {
    /// Whether the same statement may succeed later without any change.
    ///
    /// This includes a cancelled statement (57014: `statement_timeout`, an administrator) and a write to a server that
    /// is still read-only after a failover (25006). Neither is caused by the statement.
    package var isTransient: Bool {
        switch self {
        case .serializationFailure, .deadlock, .lockTimeout, .queryCancelled, .readOnlyTransaction: true
        case .adminShutdown, .crashShutdown, .cannotConnectNow, .databaseDropped, .idleSessionTimeout: true
        case .idleInTransactionTimeout: true
        default: category == .resources || category == .connection
        }
    }
}
