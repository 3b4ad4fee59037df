/// What one session has prepared.
struct Plans {
    struct Plan {
        let name: String
        /// The types that the server inferred for `$1`, `$2`, ….
        let parameters: [ServerType]
    }

    private var plans: [Statement: Plan] = [:]
    private var lastNumber = 0

    /// More than a program writes down; a program that makes texts at run time must not fill the server's memory.
    static let limit = 512

    var isFull: Bool { plans.count >= Self.limit }

    subscript(statement: Statement) -> Plan? { plans[statement] }

    /// A name that this session has not used before, since a forgotten plan keeps its own until the session ends.
    mutating func newName() -> String {
        lastNumber += 1
        return "b\(lastNumber)"
    }

    mutating func keep(_ plan: Plan, for statement: Statement) {
        plans[statement] = plan
    }

    /// The server no longer knows the plan, or a migration has changed what it returns.
    mutating func forget(_ statement: Statement) {
        plans[statement] = nil
    }

    mutating func forgetAll() {
        plans.removeAll()
    }
}
