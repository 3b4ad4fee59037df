package import Postgres

/// An error of a statement, or of the connection that the statement needs.
///
/// The targets above Store know errors by this name and by the properties here. SQLSTATEs are read in Postgres and
/// Store only.
package typealias StoreError = PostgresError

extension StoreError {
    /// The cause of an error, as labelled in `bellhop_database_failures_total`.
    package enum Cause: String, Sendable {
        case away, connections, disk, locks, resources, rights, slow, other
        case readOnly = "read-only"
    }

    package var cause: Cause {
        switch sqlState {
        case .readOnlyTransaction?: .readOnly
        case .diskFull?: .disk
        case .tooManyConnections?: .connections
        case .serializationFailure?, .deadlock?, .lockTimeout?: .locks
        case .queryCancelled?: .slow
        case .privilegeMissing?, SQLState.Category.authorization?: .rights
        case SQLState.Category.resources?: .resources
        case .adminShutdown?, .crashShutdown?, .cannotConnectNow?, .databaseDropped?: .away
        case SQLState.Category.connection?: .away
        case nil: code == .timedOut ? .slow : .away
        default: .other
        }
    }

    /// Whether the server itself reported the error.
    package var isAnswered: Bool { sqlState != nil }

    /// Whether the server or an administrator cancelled the statement, usually because it took too long.
    package var isCancelled: Bool { sqlState == .queryCancelled }

    /// Whether the log-in lacks a privilege for the statement or for its role.
    package var isMissingPrivilege: Bool { sqlState == .privilegeMissing }

    /// Whether a session cannot be set up because the server does not know the role or another parameter.
    package var isUnknownParameter: Bool { code == .cannotConnect && sqlState == .invalidParameterValue }

    /// Whether the statement names a table or a column that the schema lacks.
    package var isSchemaMismatch: Bool { sqlState == .tableUnknown || sqlState == .columnUnknown }

    /// Whether the user of the session is erased.
    package var isErasedUser: Bool { sqlState == .erasedReader }

    /// Whether the error concerns the statement; otherwise the database is unavailable or the statement can be
    /// repeated.
    package var concernsStatement: Bool {
        switch code {
        case .server: !isTransient
        case .timedOut, .invalidParameter, .unexpectedResult: true
        case .cannotConnect, .connectionLost, .outcomeUnknown, .cancelled: false
        }
    }

    /// Whether the values themselves are at fault, so that the same statement with other values would succeed.
    ///
    /// Only the server's answer to the statement counts. A session that cannot be opened or is lost may carry any
    /// SQLSTATE, which does not concern the statement.
    package var refusesContent: Bool {
        switch code {
        case .invalidParameter: true
        case .server(let state):
            switch state {
            case SQLState.Category.data, SQLState.Category.integrityConstraint, SQLState.Category.programLimits: true
            default: false
            }
        default: false
        }
    }

    /// Whether the same statement may succeed for other items.
    package var mayPassForOthers: Bool { mayBeAboutOneItem || refusesContent }

    /// Whether the server has answered, and may answer the same statement for other items.
    ///
    /// Possible causes are a damaged row, an operator's policy or trigger, a lock, or a statement that takes too long.
    ///
    /// Deadlocks, missing resources and a server that ends or is read-only pass without any change to the statement.
    package var mayBeAboutOneItem: Bool {
        switch code {
        case .server(let state):
            switch state {
            case .serializationFailure, .deadlock, .readOnlyTransaction: false
            case .adminShutdown, .crashShutdown, .cannotConnectNow, .databaseDropped, .idleSessionTimeout: false
            case SQLState.Category.connection, SQLState.Category.resources: false
            default: true
            }
        case .timedOut: isCancelled
        case .unexpectedResult: true
        default: false
        }
    }
}
